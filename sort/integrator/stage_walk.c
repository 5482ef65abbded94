/* Random walks of paths inside translucent bodies [Chiang2016]. Each pass of the wave is one flight, and its ray is as
 * long as the free distance that was drawn for it. If the ray meets nothing, the path scatters at its end. If it meets
 * the body's own surface, the path leaves by a diffuse lobe (stage_surface.c). Other surfaces inside the body are shaded
 * as they would be outside.
 *
 * Each colour channel has its own extinction. One channel is drawn, by its throughput, to sample the distance, and the
 * balance heuristic over all channels keeps the throughput of each bounded. */
#include "sort/integrator/wave_state.h"

#include "sort/sampling/warp.h"
#include "ssl/rt/rt.h"

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

static float free_distance(const WaveShared *s, const Path *path)
{
    float u =
        sampler_1d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_MEDIUM_CHANNEL));
    float v =
        sampler_1d(&s->sampler, path->key, sample_dimension(path->event, SAMPLE_MEDIUM_DISTANCE));
    Spectrum chance = channel_chances(path);
    int channel = 0;
    while (channel + 1 < SPECTRUM_CHANNELS && u >= chance.c[channel])
        u -= chance.c[channel++];
    ASSERT(v < 1.0f && path->medium.sigma_t.c[channel] >= 0.0f);
    return -rt_log1p(-v) / path->medium.sigma_t.c[channel];
}

void wave_walk(Wave *w, uint32_t i, float3 origin, float3 direction, float t_min)
{
    Ray ray = {.origin = origin,
               .direction = direction,
               .t_min = t_min,
               .t_max = free_distance(w->shared, &w->paths[i]),
               .time = w->rays.time[i]};
    ray_batch_set(&w->rays, i, &ray);
}

/* Multiplies the throughput by transmittance over density, for a flight of t metres that ends in a scatter or at a
 * surface. */
static void attenuate(Path *path, float t, bool scatters)
{
    Spectrum chance = channel_chances(path), through;
    ASSERT(t >= 0.0f);
    float pdf = 0.0f;
    SPECTRUM_EACH(i)
    {
        float sigma_t = path->medium.sigma_t.c[i];
        through.c[i] = rt_exp(-sigma_t * t);
        pdf += chance.c[i] * through.c[i] * (scatters ? sigma_t : 1.0f);
        if (scatters)
            through.c[i] *= sigma_t * path->medium.albedo.c[i];
    }
    if (pdf > 0.0f)
        path->beta = spectrum_scale(spectrum_mul(path->beta, through), 1.0f / pdf);
    else
        path->flags |= PATH_DEAD;
}

static void scatter(Wave *w, uint32_t i)
{
    Path *path = &w->paths[i];
    Ray ray = ray_batch_get(&w->rays, i);
    float3 at = f3_madd(ray.origin, ray.t_max, ray.direction), s, t;
    float2 u =
        sampler_2d(&w->shared->sampler, path->key, sample_dimension(path->event, SAMPLE_MEDIUM_UV));
    attenuate(path, ray.t_max, true);
    ++path->event;
    if (++path->walk_steps >= WAVE_WALK_MAX)
        path->flags |= PATH_DEAD;
    float cosine = warp_henyey_greenstein(u.y, path->medium.g),
          sine = sqrtf(1.0f - cosine * cosine);
    float2 turn = warp_circle(u.x);
    f3_frame(ray.direction, &s, &t);
    float3 direction = warp_to_frame(f3(sine * turn.x, sine * turn.y, cosine), s, t, ray.direction);
    wave_walk(w, i, at, f3_normalize(direction), 0.0f);
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
    w->has_walks = false;
    for (uint32_t i = 0; i < count; ++i) {
        if (!(w->paths[i].flags & PATH_INSIDE))
            continue;
        w->has_walks = true;
        if (w->hits.shape[i] == HIT_NONE)
            scatter(w, i);
        else
            leave(w, i);
    }
}
