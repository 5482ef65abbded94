/* Starts the paths of a job: samples the pixel filter, the lens and the shutter, and makes camera rays with their
 * differentials. */
#include "sort/integrator/wave_state.h"

/* Starts the path of sample `index`, unless the camera sees nothing there (outside the circle of a fisheye). */
static void start_path(Wave *w, uint32_t index, uint32_t x, uint32_t y, uint32_t sample)
{
    const WaveShared *s = w->shared;
    ASSERT(w->count < w->capacity);
    Path *path = &w->paths[w->count];
    *path = (Path){.key = sampler_key(&s->sampler, x, y, sample, s->seed, s->samples),
                   .beta = spectrum_splat(1.0f),
                   .eta_scale = 1.0f,
                   .least_pdf = INFINITY,
                   .flags = PATH_SPECULAR,
                   .history.kind = RAY_CAMERA,
                   .sample = index};
    w->samples[index] = (FilmSample){
        .aov = {
            [FILM_AT_DEPTH] = FILM_NO_DEPTH, [FILM_AT_MIP] = FILM_UNKNOWN, [FILM_AT_MIST] = 1.0f}};
    if (w->path_kinds)
        w->path_kinds[index] = (LightKinds){0};
    float2 offset =
        pixel_filter_sample(&s->filter, sampler_2d(&s->sampler, path->key, SAMPLE_PIXEL));
    float2 film_px = f2((float)x + 0.5f + offset.x, (float)y + 0.5f + offset.y);
    float2 lens = {0, 0};
    if (s->camera.lens_radius_m > 0.0f)
        lens = sampler_2d(&s->sampler, path->key, SAMPLE_LENS);
    float time = 0.0f;
    if (w->reads.time)
        time = sampler_1d(&s->sampler, path->key, SAMPLE_TIME);
    Ray ray;
    RayDiff *diff = w->reads.path_footprints ? &path->diff : NULL;
    if (!camera_ray(&s->camera, film_px, lens, time, &ray, diff))
        return;
    w->samples[index].alpha = 1.0f;
    w->samples[index].aov[FILM_AT_DEPTH] = 0.0f;
    ASSERT(f3_is_unit(ray.direction));
    path->from = ray.origin;
    ray_batch_set(&w->rays, w->count++, &ray);
}

void stage_camera(Wave *w)
{
    const WaveJob *job = &w->job;
    uint32_t sample = 0;
    w->count = 0;
    for (uint32_t y = job->y; y < job->y + job->height; ++y)
        for (uint32_t x = job->x; x < job->x + job->width; ++x)
            if (wave_samples_pixel(w->shared, x, y))
                start_path(w, sample++, x, y, job->sample);
    w->counters.paths += sample;
}
