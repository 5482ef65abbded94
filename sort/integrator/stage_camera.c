/* Starts the paths of a job: samples the pixel filter, the lens and the shutter, and makes camera rays with their
 * differentials. */
#include "sort/integrator/wave_state.h"

#include <stddef.h>
#include <string.h>

/* Pixels whose samples start together. */
typedef struct PixelBlock {
    uint32_t count;
    uint32_t index[SSL_BLOCK], x[SSL_BLOCK], y[SSL_BLOCK];
    SampleKey key[SSL_BLOCK];
    alignas(64) WideRow filter[2];
    WideRow lens[2], time;
} PixelBlock;

/* Draws the place in the pixel filter, on the lens and in the shutter for each pixel. */
static void draw_camera(const Wave *w, PixelBlock *block)
{
    const Sampler *sampler = &w->shared->sampler;
    const SampleKey *keys[SSL_BLOCK];
    uint32_t pixel[SSL_BLOCK], lens[SSL_BLOCK], time[SSL_BLOCK];
    uint16_t live = (uint16_t)((1u << block->count) - 1u);
    for (uint32_t k = 0; k < block->count; ++k) {
        keys[k] = &block->key[k];
        pixel[k] = SAMPLE_PIXEL, lens[k] = SAMPLE_LENS, time[k] = SAMPLE_TIME;
    }
    sampler_2d_points(sampler, keys, pixel, live, block->filter);
    memset(block->lens, 0, sizeof block->lens);
    memset(block->time, 0, sizeof block->time);
    if (w->shared->camera.lens_radius_m > 0.0f)
        sampler_2d_points(sampler, keys, lens, live, block->lens);
    if (w->reads.time)
        sampler_1d_points(sampler, keys, time, live, block->time);
}

static void start_sample(Wave *w, uint32_t index)
{
    FilmSample *sample = &w->samples[index];
    if (w->keeps_aovs)
        *sample = (FilmSample){.aov = {[FILM_AT_DEPTH] = FILM_NO_DEPTH,
                                       [FILM_AT_MIP] = FILM_UNKNOWN,
                                       [FILM_AT_MIST] = 1.0f}};
    else
        memset(sample, 0, offsetof(FilmSample, caught));
    if (w->path_kinds)
        w->path_kinds[index] = (LightKinds){0};
}

/* Starts the path of pixel k, unless the camera sees nothing there (outside the circle of a fisheye). */
static void start_path(Wave *w, const PixelBlock *block, uint32_t k)
{
    const WaveShared *s = w->shared;
    uint32_t index = block->index[k];
    ASSERT(w->count < w->capacity);
    Path *path = &w->paths[w->count];
    memset(path, 0, offsetof(Path, diff));
    path->key = block->key[k];
    path->beta = spectrum_splat(1.0f);
    path->eta_scale = 1.0f;
    path->least_pdf = INFINITY;
    path->flags = PATH_SPECULAR;
    path->history.kind = RAY_CAMERA;
    path->sample = index;
    start_sample(w, index);
    float2 offset = pixel_filter_sample(&s->filter, f2(block->filter[0][k], block->filter[1][k]));
    float2 film_px = f2((float)block->x[k] + 0.5f + offset.x, (float)block->y[k] + 0.5f + offset.y);
    Ray ray;
    RayDiff *diff = w->reads.path_footprints ? &path->diff : NULL;
    if (!camera_ray(&s->camera, film_px, f2(block->lens[0][k], block->lens[1][k]), block->time[k],
                    &ray, diff))
        return;
    w->samples[index].alpha = 1.0f;
    if (w->keeps_aovs)
        w->samples[index].aov[FILM_AT_DEPTH] = 0.0f;
    ASSERT(f3_is_unit(ray.direction));
    path->from = ray.origin;
    ray_batch_set(&w->rays, w->count++, &ray);
}

static void start_paths(Wave *w, PixelBlock *block)
{
    draw_camera(w, block);
    for (uint32_t k = 0; k < block->count; ++k)
        start_path(w, block, k);
    block->count = 0;
}

void stage_camera(Wave *w)
{
    const WaveJob *job = &w->job;
    const WaveShared *s = w->shared;
    PixelBlock block;
    uint32_t sample = 0;
    w->count = block.count = 0;
    for (uint32_t y = job->y; y < job->y + job->height; ++y)
        for (uint32_t x = job->x; x < job->x + job->width; ++x) {
            if (!wave_samples_pixel(s, x, y))
                continue;
            uint32_t k = block.count++;
            block.index[k] = sample++, block.x[k] = x, block.y[k] = y;
            block.key[k] = sampler_key(&s->sampler, x, y, job->sample, s->seed, s->samples);
            if (block.count == SSL_BLOCK)
                start_paths(w, &block);
        }
    start_paths(w, &block);
    w->counters.paths += sample;
}
