/* Starts the paths of a job: samples the pixel filter, the lens and the shutter, makes camera rays, or rays to the points of a table,
 * with their differentials, and finds what they hit. */
#include "sort/integrator/bake.h"
#include "sort/integrator/guiding.h"

#include <stddef.h>
#include <string.h>

/* A square of pixels whose samples start together: that of a corner at multiples of SIDE in the frame. Their rays search
 * the scene as one bundle, and what one meets may depend on the others: so all that get this sample are traced, also
 * those that other jobs start. */
enum { SIDE = WAVE_BUNDLE_SIDE };
_Static_assert(SIDE *SIDE == (int)SSL_BLOCK && SIDE * SIDE == (int)RAY_BUNDLE,
               "a square is a block of lanes");
typedef struct PixelBlock {
    uint32_t x, y;         /* of the corner */
    uint32_t sample;       /* which of each pixel's */
    uint16_t live, inside; /* pixels that get the sample; those of them that the job starts */
    SampleKey key[SSL_BLOCK];
    SamplerRows filter; /* for the numbers of SAMPLE_PIXEL */
    CameraRows camera;
} PixelBlock;

static uint32_t pixel_x(const PixelBlock *block, uint32_t lane)
{
    return block->x + lane % SIDE;
}

static uint32_t pixel_y(const PixelBlock *block, uint32_t lane)
{
    return block->y + lane / SIDE;
}

static void list_keys(const PixelBlock *block, const SampleKey *out_keys[SSL_BLOCK])
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out_keys[k] = &block->key[k];
}

/* Draws the place in the pixel filter, on the lens and in the shutter for each pixel. */
static void draw_camera(const Wave *w, PixelBlock *block, WideRow out_filter[2])
{
    CameraRows *camera = &block->camera;
    const Sampler *sampler = &w->shared->sampler;
    const SampleKey *keys[SSL_BLOCK];
    uint32_t lens[SSL_BLOCK], time[SSL_BLOCK];
    list_keys(block, keys);
    sampler_2d_next(sampler, keys, SAMPLE_PIXEL, block->live, &block->filter, out_filter);
    memset(camera->lens_u, 0, sizeof camera->lens_u);
    memset(camera->time, 0, sizeof camera->time);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        lens[k] = SAMPLE_LENS, time[k] = SAMPLE_TIME;
    if (w->shared->camera.lens_radius_m > 0.0f)
        sampler_2d_points(sampler, keys, lens, block->live, camera->lens_u);
    if (w->reads.time)
        sampler_1d_points(sampler, keys, time, block->live, camera->time);
}

static void start_sample(Wave *w, uint32_t index)
{
    FilmSample *sample = wave_sample(w, index);
    if (w->keeps_aovs)
        *sample = (FilmSample){.aov = {[FILM_AT_DEPTH] = FILM_NO_DEPTH,
                                       [FILM_AT_VECTOR] = FILM_NO_DEPTH,
                                       [FILM_AT_MIP] = FILM_UNKNOWN,
                                       [FILM_AT_ROUGHNESS] = FILM_UNKNOWN,
                                       [FILM_AT_MIST] = 1.0f},
                               .is_odd = w->pixels[index].sample & 1};
    else
        memset(sample, 0, offsetof(FilmSample, caught));
    if (w->path_kinds)
        w->path_kinds[index] = (LightKinds){0};
    if (w->guides)
        w->guides[index] = (SampleGuide){.tint = spectrum_splat(1.0f)};
    if (w->lessons)
        lessons_begin(w, index);
}

/* Makes the rays of all pixels. Returns those at which something is seen (not outside the circle of a fisheye); of a table, with
 * what they hit. */
static uint16_t make_rays(const Wave *w, PixelBlock *block, BakeHits *out_hits)
{
    CameraRows *camera = &block->camera;
    alignas(64) WideRow u[2] = {{0}}, offset[2];
    draw_camera(w, block, u);
    for (uint32_t axis = 0; axis < 2; ++axis)
        pixel_filter_sample(&w->shared->filter, u[axis], offset[axis]);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        camera->film_px[0][k] = (float)pixel_x(block, k) + 0.5f + offset[0][k];
        camera->film_px[1][k] = (float)pixel_y(block, k) + 0.5f + offset[1][k];
    }
    if (!w->shared->bake)
        return camera_rays(&w->shared->camera, w->reads.path_footprints, block->live, camera);
    uint32_t x[SSL_BLOCK], y[SSL_BLOCK];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        x[k] = pixel_x(block, k), y[k] = pixel_y(block, k);
    return bake_rays(w->shared, x, y, block->live, camera, out_hits);
}

_Static_assert(offsetof(Path, diff) == (size_t)2 * SORT_CACHE_LINE, "a path begins with two lines");

/* Clears what all paths have, line by line: of what is longer compilers make a string instruction, which begins slowly. */
static void clear_lines(Path *path)
{
    unsigned char *at = (unsigned char *)path;
    memset(at, 0, SORT_CACHE_LINE);
    memset(at + SORT_CACHE_LINE, 0, SORT_CACHE_LINE);
}

/* Starts the path of pixel k, if the camera sees something there. */
static void start_path(Wave *w, const PixelBlock *block, uint32_t k, bool is_seen)
{
    const CameraRows *camera = &block->camera;
    uint32_t index = w->sample_count++;
    ASSERT(w->count < w->capacity);
    Path *path = &w->paths[w->count];
    clear_lines(path);
    path->key = block->key[k];
    path->beta = spectrum_splat(1.0f);
    path->eta_scale = 1.0f;
    path->history.least_pdf = INFINITY;
    /* The camera's rays find what shines on it, and no other light, where that is traced from lamps. */
    path->flags = PATH_SPECULAR | (w->shared->view == WAVE_VIEW_LIGHT ? PATH_LAST : 0);
    path->history.kind = RAY_CAMERA;
    path->sample = index;
    w->pixels[index] = (SamplePixel){pixel_x(block, k), pixel_y(block, k), block->sample};
    start_sample(w, index);
    if (!is_seen)
        return;
    if (w->reads.path_footprints)
        path->diff = camera->diff[k];
    wave_sample(w, index)->alpha = 1.0f;
    if (w->keeps_aovs)
        wave_sample(w, index)->aov[FILM_AT_DEPTH] = 0.0f;
    path->from = wide_get3(camera->origin, k);
    ASSERT(f3_is_unit(wide_get3(camera->direction, k)));
    ++w->count;
}

/* Starts the rays of the lanes `begun` at the places `to`; those of all lanes have places one after the other. */
static void start_rays(Wave *w, const RayBundle *rays, uint16_t begun, const uint32_t to[SSL_BLOCK])
{
    if (SORT_LIKELY(begun == UINT16_MAX)) {
        ray_batch_start_bundle(&w->rays, to[0], rays);
        return;
    }
    WIDE_EACH(k, begun)
    {
        ray_batch_start(&w->rays, to[k], wide_get3(rays->origin, k), wide_get3(rays->direction, k),
                        rays->t_max[k], rays->time[k]);
        w->rays.t_min[to[k]] = rays->t_min[k];
    }
}

/* Starts the paths of the pixels inside, and finds what they meet. */
static void start_paths(Wave *w, PixelBlock *block)
{
    const CameraRows *camera = &block->camera;
    uint32_t to[SSL_BLOCK] = {0};
    BakeHits hits;
    RayBundle rays;
    uint16_t seen = make_rays(w, block, &hits);
    memcpy(rays.origin, camera->origin, sizeof rays.origin);
    memcpy(rays.direction, camera->direction, sizeof rays.direction);
    memcpy(rays.t_min, camera->t_min, sizeof rays.t_min);
    memcpy(rays.t_max, camera->t_max, sizeof rays.t_max);
    memcpy(rays.time, camera->time, sizeof rays.time);
    rays.is_apart = w->reads.apart;
    WIDE_EACH(k, block->inside)
    {
        to[k] = w->count;
        start_path(w, block, k, seen >> k & 1);
    }
    start_rays(w, &rays, seen & block->inside, to);
    if (!w->shared->bake)
        accel_intersect_bundle(w->shared->accel, &rays, seen, seen & block->inside,
                               SCENE_RAYS_CAMERA, &w->hits, to);
    else
        WIDE_EACH(k, seen & block->inside) bake_set_hit(w->shared, &hits, k, &w->hits, to[k]);
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
}

/* Finds the keys of the block's first sample, for pixels outside the film, too. */
static void find_keys(const Wave *w, PixelBlock *block)
{
    const WaveShared *s = w->shared;
    const SampleKey *keys[SSL_BLOCK];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        block->key[k] = sampler_key(&s->sampler, pixel_x(block, k), pixel_y(block, k),
                                    block->sample, s->seed, s->samples);
    list_keys(block, keys);
    sampler_2d_begin(keys, SAMPLE_PIXEL, block->live, &block->filter);
}

/* Goes on to the next sample. */
static void next_sample(PixelBlock *block)
{
    ++block->sample;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        ++block->key[k].index;
}

void stage_camera(Wave *w)
{
    const WaveJob *job = &w->job;
    PixelBlock block;
    w->count = w->sample_count = 0;
    for (block.y = job->y / SIDE * SIDE; block.y < job->y + job->height; block.y += SIDE)
        for (block.x = job->x / SIDE * SIDE; block.x < job->x + job->width; block.x += SIDE) {
            find_pixels(w, &block);
            block.sample = job->sample;
            if (!block.inside)
                continue;
            find_keys(w, &block);
            for (; block.sample < job->sample_end; next_sample(&block))
                start_paths(w, &block);
        }
    w->counters.paths += w->sample_count;
    w->counters.rays += w->count;
}
