/* Starts the paths of a job: samples the pixel filter, the lens and the shutter, makes camera rays with their
 * differentials, and finds what they hit. */
#include "sort/integrator/guiding.h"

#include <stddef.h>
#include <string.h>

/* A square of pixels whose samples start together: that of a corner at multiples of SIDE in the frame. Their rays search
 * the scene as one bundle, and what one meets may depend on the others: so all that get this sample are traced, also
 * those that other jobs start. */
enum { SIDE = 4 };
_Static_assert(SIDE *SIDE == (int)SSL_BLOCK && SIDE * SIDE == (int)RAY_BUNDLE,
               "a square is a block of lanes");
typedef struct PixelBlock {
    uint32_t x, y;         /* of the corner */
    uint16_t live, inside; /* pixels that get the sample; those of them that the job starts */
    SampleKey key[SSL_BLOCK];
    alignas(64) WideRow filter[2];
    WideRow lens[2], time;
    RayBundle rays;
} PixelBlock;

static uint32_t pixel_x(const PixelBlock *block, uint32_t lane)
{
    return block->x + lane % SIDE;
}

static uint32_t pixel_y(const PixelBlock *block, uint32_t lane)
{
    return block->y + lane / SIDE;
}

/* Draws the place in the pixel filter, on the lens and in the shutter for each pixel. */
static void draw_camera(const Wave *w, PixelBlock *block)
{
    const Sampler *sampler = &w->shared->sampler;
    const SampleKey *keys[SSL_BLOCK];
    uint32_t pixel[SSL_BLOCK], lens[SSL_BLOCK], time[SSL_BLOCK];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        keys[k] = &block->key[k];
        pixel[k] = SAMPLE_PIXEL, lens[k] = SAMPLE_LENS, time[k] = SAMPLE_TIME;
    }
    sampler_2d_points(sampler, keys, pixel, block->live, block->filter);
    memset(block->lens, 0, sizeof block->lens);
    memset(block->time, 0, sizeof block->time);
    if (w->shared->camera.lens_radius_m > 0.0f)
        sampler_2d_points(sampler, keys, lens, block->live, block->lens);
    if (w->reads.time)
        sampler_1d_points(sampler, keys, time, block->live, block->time);
}

static void start_sample(Wave *w, uint32_t index)
{
    FilmSample *sample = &w->samples[index];
    if (w->keeps_aovs)
        *sample = (FilmSample){.aov = {[FILM_AT_DEPTH] = FILM_NO_DEPTH,
                                       [FILM_AT_MIP] = FILM_UNKNOWN,
                                       [FILM_AT_MIST] = 1.0f},
                               .is_odd = w->job.sample & 1};
    else
        memset(sample, 0, offsetof(FilmSample, caught));
    if (w->path_kinds)
        w->path_kinds[index] = (LightKinds){0};
    if (w->guides)
        w->guides[index] = (SampleGuide){.tint = spectrum_splat(1.0f)};
    if (w->lessons)
        lessons_begin(w, index);
}

/* Makes the ray of pixel k. False: the camera sees nothing there (outside the circle of a fisheye). */
static bool make_ray(const WaveShared *s, PixelBlock *block, uint32_t k, RayDiff *out_diff)
{
    Ray ray;
    RayBundle *rays = &block->rays;
    float2 offset = pixel_filter_sample(&s->filter, f2(block->filter[0][k], block->filter[1][k]));
    float2 film_px =
        f2((float)pixel_x(block, k) + 0.5f + offset.x, (float)pixel_y(block, k) + 0.5f + offset.y);
    if (!camera_ray(&s->camera, film_px, f2(block->lens[0][k], block->lens[1][k]), block->time[k],
                    &ray, out_diff))
        return false;
    ASSERT(f3_is_unit(ray.direction));
    wide_set3(rays->origin, k, ray.origin);
    wide_set3(rays->direction, k, ray.direction);
    rays->t_min[k] = ray.t_min, rays->t_max[k] = ray.t_max, rays->time[k] = ray.time;
    return true;
}

/* Starts the path of pixel k. Returns false if the camera sees nothing there. */
static bool start_path(Wave *w, PixelBlock *block, uint32_t k)
{
    uint32_t index = w->sample_count++;
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
    w->pixels[index] = (SamplePixel){pixel_x(block, k), pixel_y(block, k)};
    if (!make_ray(w->shared, block, k, w->reads.path_footprints ? &path->diff : NULL))
        return false;
    w->samples[index].alpha = 1.0f;
    if (w->keeps_aovs)
        w->samples[index].aov[FILM_AT_DEPTH] = 0.0f;
    path->from = wide_get3(block->rays.origin, k);
    ray_batch_start(&w->rays, w->count, path->from, wide_get3(block->rays.direction, k),
                    block->rays.t_max[k], block->rays.time[k]);
    w->rays.t_min[w->count++] = block->rays.t_min[k];
    return true;
}

/* Starts the paths of the pixels inside, and finds what they meet. */
static void start_paths(Wave *w, PixelBlock *block)
{
    uint32_t to[SSL_BLOCK] = {0};
    uint16_t seen = 0, started = 0;
    draw_camera(w, block);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        to[k] = w->count;
        uint16_t lane = (uint16_t)(1u << k);
        if (block->inside & lane && start_path(w, block, k))
            started |= lane;
        else if (block->live & ~block->inside & lane && make_ray(w->shared, block, k, NULL))
            seen |= lane;
    }
    accel_intersect_bundle(w->shared->accel, &block->rays, seen | started, started,
                           SCENE_RAYS_CAMERA, &w->hits, to);
}

/* Returns the lanes of pixels in a rectangle of the frame. */
static uint16_t lanes_in(const PixelBlock *block, uint32_t x, uint32_t y, uint32_t width,
                         uint32_t height)
{
    uint16_t columns = 0, lanes = 0;
    for (uint32_t i = 0; i < SIDE; ++i)
        columns |= (uint16_t)((block->x + i - x < width) << i);
    for (uint32_t i = 0; i < SIDE; ++i)
        lanes |= (uint16_t)((block->y + i - y < height ? columns : 0) << SIDE * i);
    return lanes;
}

/* Finds the pixels of a block: those outside the film's crop are part of it as those inside are. */
static void find_pixels(const Wave *w, PixelBlock *block)
{
    const WaveShared *s = w->shared;
    const WaveJob *job = &w->job;
    const FilmDesc *film = film_desc(s->film);
    uint16_t cropped = lanes_in(block, film->x, film->y, film->crop_width, film->crop_height);
    block->live = lanes_in(block, 0, 0, film->width, film->height);
    for (uint32_t k = 0; s->skips_done && k < SSL_BLOCK; ++k)
        if (cropped >> k & 1 && film_is_done(s->film, pixel_x(block, k), pixel_y(block, k)))
            block->live &= (uint16_t)~(1u << k);
    block->inside = block->live & lanes_in(block, job->x, job->y, job->width, job->height);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        if (block->live >> k & 1)
            block->key[k] = sampler_key(&s->sampler, pixel_x(block, k), pixel_y(block, k),
                                        job->sample, s->seed, s->samples);
}

void stage_camera(Wave *w)
{
    const WaveJob *job = &w->job;
    PixelBlock block;
    w->count = w->sample_count = 0;
    for (block.y = job->y / SIDE * SIDE; block.y < job->y + job->height; block.y += SIDE)
        for (block.x = job->x / SIDE * SIDE; block.x < job->x + job->width; block.x += SIDE) {
            find_pixels(w, &block);
            if (block.inside)
                start_paths(w, &block);
        }
    w->counters.paths += w->sample_count;
    w->counters.rays += w->count;
}
