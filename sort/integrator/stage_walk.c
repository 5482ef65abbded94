/* Random walks of paths inside translucent bodies [Chiang2016]. Each pass of the wave is one flight, and its ray is as
 * long as the free distance that was drawn for it. If the ray meets nothing, the path scatters at its end. If it meets
 * the body's own surface, the path leaves by a diffuse lobe (stage_surface.c). Other surfaces inside the body are shaded
 * as they would be outside.
 *
 * Each colour channel has its own extinction. One channel is drawn, by its throughput, to sample the distance, and most of the flights
 * go towards where the path came in and pass more easily that way, as light does that gets out of a half-space [Krivanek2014]. The
 * balance heuristic over all channels and both ways keeps the throughput of each bounded. */
#include "sort/integrator/wave_state.h"

#include "sort/sampling/warp.h"
#include "ssl/rt/rt.h"
#include <float.h>

/* The greatest albedo whose diffusion is asked for: that of 1 is endless. */
#define ALBEDO_MOST 0.9999f

/* Returns how far light diffuses in free paths by the albedo of one scatter: nearly the positive root of Case's equation, for isotropic
 * scattering [Krivanek2014]. */
static float diffusion_length(float albedo)
{
    float a = clampf(albedo, 0.1f, ALBEDO_MOST);
    float power = 2.44294f - 0.0215813f * a + 0.578637f / a;
    return 1.0f / sqrtf(1.0f - rt_pow(a, power));
}

/* Returns the share of flights that are drawn towards the surface. */
static float guided_share(const Path *path)
{
    return 0.7f * (1.0f - fabsf(path->medium.g));
}

/* The density by which such a flight in one channel has its cosine to the way out, per solid angle: the further it goes out of itself, the
 * more [Krivanek2014]. */
static float guided_pdf(float cosine, float length)
{
    return SORT_INV_2PI / (rt_log((length + 1.0f) / (length - 1.0f)) * (length - cosine));
}

static float guided_cosine(float u, float length)
{
    float cosine = length - (length + 1.0f) * rt_pow((length - 1.0f) / (length + 1.0f), u);
    return clampf(cosine, -1.0f, 1.0f);
}

/* And it meets so much less on the way out. */
static float guided_extinction(const Path *path, int channel)
{
    return path->medium.sigma_t.c[channel] *
           (1.0f - path->walk.cosine / path->walk.length.c[channel]);
}

/* Returns the probability of each channel to be drawn. */
static Spectrum channel_chances(const Path *path)
{
    Spectrum chance;
    float sum = 0.0f;
    SPECTRUM_EACH(i) sum += chance.c[i] = fabsf(path->beta.c[i] * path->medium.albedo.c[i]);
    if (!(sum > 0.0f))
        return spectrum_splat(1.0f / (float)SPECTRUM_CHANNELS);
    return spectrum_scale(chance, 1.0f / sum);
}

/* Draws the channel of a flight by a random number; *out_u becomes what is left of it, in [0, 1). */
static int draw_channel(const Path *path, float u, float *out_u)
{
    Spectrum chance = channel_chances(path);
    int channel = 0;
    while (channel + 1 < SPECTRUM_CHANNELS && u >= chance.c[channel])
        u -= chance.c[channel++];
    *out_u = minf(u / maxf(chance.c[channel], FLT_MIN), 1.0f);
    return channel;
}

/* Sends a path on, as far as the extinction lets it by the random number v. */
static void fly(Wave *w, uint32_t i, float3 origin, float3 direction, float t_min, float extinction,
                float v)
{
    ASSERT(v < 1.0f && extinction >= 0.0f);
    Ray ray = {.origin = origin,
               .direction = direction,
               .t_min = t_min,
               .t_max = -rt_log1p(-v) / extinction,
               .time = w->rays.time[i]};
    ray_batch_set(&w->rays, i, &ray);
}

void wave_walk_begin(Wave *w, uint32_t i, const SurfaceHit *hit, float3 direction, float t_min)
{
    Path *path = &w->paths[i];
    const Sampler *sampler = &w->shared->sampler;
    float unused;
    path->walk = (Walk){.out = hit->Ng};
    SPECTRUM_EACH(c) path->walk.length.c[c] = diffusion_length(path->medium.albedo.c[c]);
    float u = sampler_1d(sampler, path->key, sample_dimension(path->event, SAMPLE_MEDIUM_CHANNEL));
    float v = sampler_1d(sampler, path->key, sample_dimension(path->event, SAMPLE_MEDIUM_DISTANCE));
    int channel = draw_channel(path, u, &unused);
    fly(w, i, hit->P, direction, t_min, path->medium.sigma_t.c[channel], v);
}

/* Multiplies the throughput by transmittance over density, for a flight of t metres that ends in a scatter or at a
 * surface. */
static void attenuate(Path *path, float t, bool scatters)
{
    const Walk *walk = &path->walk;
    Spectrum chance = channel_chances(path), through;
    bool is_drawn = walk->phase > 0.0f;
    float guided = is_drawn ? guided_share(path) : 0.0f, phase = is_drawn ? walk->phase : 1.0f;
    ASSERT(t >= 0.0f);
    float pdf = 0.0f;
    SPECTRUM_EACH(i)
    {
        float sigma_t = path->medium.sigma_t.c[i];
        through.c[i] = phase * rt_exp(-sigma_t * t);
        pdf += chance.c[i] * (1.0f - guided) * through.c[i] * (scatters ? sigma_t : 1.0f);
        if (guided > 0.0f) {
            float sigma = guided_extinction(path, i);
            pdf += chance.c[i] * guided * guided_pdf(walk->cosine, walk->length.c[i]) *
                   rt_exp(-sigma * t) * (scatters ? sigma : 1.0f);
        }
        if (scatters)
            through.c[i] *= sigma_t * path->medium.albedo.c[i];
    }
    if (pdf > 0.0f)
        path->beta = spectrum_scale(spectrum_mul(path->beta, through), 1.0f / pdf);
    else
        path->flags |= PATH_DEAD;
}

static float3 around(float3 axis, float cosine, float turn)
{
    float3 s, t;
    float sine = sqrtf(maxf(1.0f - cosine * cosine, 0.0f));
    float2 c = warp_circle(turn);
    f3_frame(axis, &s, &t);
    return f3_normalize(warp_to_frame(f3(sine * c.x, sine * c.y, cosine), s, t, axis));
}

/* Paths that scatter inside bodies, and the random numbers by which they do. */
typedef struct WalkBlock {
    uint32_t path[SSL_BLOCK];
    uint32_t count;
    alignas(64) WideRow direction[2];
    WideRow channel, distance; /* of the next flight */
} WalkBlock;

static void draw_numbers(const Wave *w, WalkBlock *block)
{
    const Sampler *sampler = &w->shared->sampler;
    const SampleKey *keys[SSL_BLOCK];
    uint32_t directions[SSL_BLOCK], channels[SSL_BLOCK], distances[SSL_BLOCK];
    uint16_t live = (uint16_t)((1u << block->count) - 1u);
    for (uint32_t k = 0; k < block->count; ++k) {
        const Path *path = &w->paths[block->path[k]];
        keys[k] = &path->key;
        directions[k] = sample_dimension(path->event, SAMPLE_MEDIUM_UV);
        channels[k] = sample_dimension(path->event + 1, SAMPLE_MEDIUM_CHANNEL);
        distances[k] = sample_dimension(path->event + 1, SAMPLE_MEDIUM_DISTANCE);
    }
    sampler_2d_points(sampler, keys, directions, live, block->direction);
    sampler_1d_points(sampler, keys, channels, live, block->channel);
    sampler_1d_points(sampler, keys, distances, live, block->distance);
}

/* Scatters the path of a lane, and sends it on. */
static void scatter(Wave *w, const WalkBlock *block, uint32_t k)
{
    uint32_t i = block->path[k];
    Path *path = &w->paths[i];
    Ray ray = ray_batch_get(&w->rays, i);
    float3 at = f3_madd(ray.origin, ray.t_max, ray.direction), direction;
    float2 u = f2(block->direction[0][k], block->direction[1][k]);
    attenuate(path, ray.t_max, true);
    ++path->event;
    if (++path->walk_steps >= WAVE_WALK_MAX)
        path->flags |= PATH_DEAD;
    float left;
    int channel = draw_channel(path, block->channel[k], &left);
    bool is_guided = left < guided_share(path);
    if (is_guided)
        direction = around(path->walk.out, guided_cosine(u.y, path->walk.length.c[channel]), u.x);
    else
        direction = around(ray.direction, warp_henyey_greenstein(u.y, path->medium.g), u.x);
    path->walk.cosine = clampf(f3_dot(direction, path->walk.out), -1.0f, 1.0f);
    path->walk.phase = warp_henyey_greenstein_pdf(f3_dot(direction, ray.direction), path->medium.g);
    fly(w, i, at, direction, 0.0f,
        is_guided ? guided_extinction(path, channel) : path->medium.sigma_t.c[channel],
        block->distance[k]);
}

/* Scatters all paths of a block, and empties it. */
static void scatter_block(Wave *w, WalkBlock *block)
{
    if (block->count == 0)
        return;
    draw_numbers(w, block);
    for (uint32_t k = 0; k < block->count; ++k)
        scatter(w, block, k);
    block->count = 0;
}

static void leave(Wave *w, uint32_t i)
{
    Path *path = &w->paths[i];
    ASSERT(path->flags & PATH_INSIDE);
    attenuate(path, w->hits.t[i], false);
    path->flags &= ~(uint32_t)PATH_INSIDE;
    ++path->event;
    if (w->hits.shape[i] == path->body)
        path->flags |= PATH_LEAVING;
    else
        path->flags |= PATH_SPECULAR; /* no light was sampled on the way */
}

void stage_walk(Wave *w)
{
    uint32_t count = w->has_walks ? w->count : 0;
    WalkBlock block = {.count = 0};
    w->has_walks = false;
    for (uint32_t i = 0; i < count; ++i) {
        if (!(w->paths[i].flags & PATH_INSIDE))
            continue;
        w->has_walks = true;
        if (w->hits.shape[i] != HIT_NONE)
            leave(w, i);
        else
            block.path[block.count++] = i;
        if (block.count == SSL_BLOCK)
            scatter_block(w, &block);
    }
    scatter_block(w, &block);
}
