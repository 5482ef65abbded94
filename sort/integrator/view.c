#include "sort/integrator/wave_state.h"

#include "base/hash.h"
#include "sort/sampling/warp.h"
#include "sort/shade/footprint_ray.h"
#include "ssl/rt/rt.h"
#include <string.h>

const WaveViewInfo *wave_view_info(WaveView view)
{
    static const WaveViewInfo infos[WAVE_VIEW_COUNT] = {
        {"path", "light, by path tracing"},
#define WAVE_VIEW(id, name, doc) {#name, doc},
#include "sort/integrator/views.inc"
#undef WAVE_VIEW
    };
    return (unsigned)view < WAVE_VIEW_COUNT ? &infos[view] : NULL;
}

/* --- mip levels ------------------------------------------------------------------------------------- */

static void watch_lookup(void *data, const TextureProbeLookup *lookup)
{
    LevelWatch *watch = data;
    TexExplain explain;
    if (!lookup->program || !watch->is_on)
        return;
    texcache_explain(watch->cache, lookup->request, lookup->lane, &explain);
    ASSERT(lookup->point < SHADE_CHUNK);
    float *level = &watch->levels[lookup->point];
    if (explain.texel_count > 0 && (*level < 0.0f || explain.level < *level))
        *level = explain.level;
}

LevelWatch *level_watch_create(const TexCache *cache, Arena *arena)
{
    LevelWatch *watch = ARENA_NEW(arena, LevelWatch);
    float *levels = ARENA_ARRAY(arena, float, SHADE_CHUNK);
    if (!watch || !levels)
        return NULL;
    *watch = (LevelWatch){cache, {watch_lookup, watch}, levels, false};
    return watch;
}

void level_watch_begin(LevelWatch *watch)
{
    for (uint32_t i = 0; i < SHADE_CHUNK; ++i)
        watch->levels[i] = FILM_UNKNOWN;
    watch->is_on = true;
}

void level_watch_end(LevelWatch *watch)
{
    watch->is_on = false;
}

static float3 level_color(float level)
{
    static const float3 palette[] = {
        {0.9f, 0.1f, 0.1f},  {0.95f, 0.5f, 0.05f}, {0.9f, 0.85f, 0.1f}, {0.15f, 0.75f, 0.2f},
        {0.1f, 0.75f, 0.8f}, {0.15f, 0.3f, 0.9f},  {0.55f, 0.2f, 0.8f}, {0.5f, 0.5f, 0.5f}};
    const uint32_t last = SORT_COUNT_OF(palette) - 1;
    if (level < 0.0f)
        return f3(0, 0, 0);
    if (level >= (float)last)
        return palette[last];
    uint32_t k = (uint32_t)level;
    return f3_lerp(palette[k], palette[k + 1], level - (float)k);
}

/* --- the others ------------------------------------------------------------------------------------- */

/* Returns a colour made from the name alone, so that it is the same in every scene. */
static float3 name_color(const char *name)
{
    uint64_t h = hash128_low64(hash128(name, strlen(name)));
    return f3(0.15f + 0.8f * (float)(h & 255) / 255.0f,
              0.15f + 0.8f * (float)(h >> 8 & 255) / 255.0f,
              0.15f + 0.8f * (float)(h >> 16 & 255) / 255.0f);
}

/* Returns the length on a logarithmic scale from 2^-16, which becomes 0, to 1. */
static float on_log_scale(float2 v)
{
    float length = f2_length(v);
    return length > 0.0f ? clampf(1.0f + rt_log2(length) / 16.0f, 0.0f, 1.0f) : 0.0f;
}

/* Returns 1 where an edge of the triangle is within half a pixel, and less up to 0 at one and a half. Curves have no
 * edges. */
static float edge_coverage(const Wave *w, uint32_t i, const SurfaceHit *hit)
{
    float3 p[3];
    float nearest = INFINITY, pixel = footprint_width(hit);
    const Scene *scene = w->shared->scene;
    if (scene->meshes[scene->instances[hit->instance].mesh].curves)
        return 0.0f;
    scene_triangle_at(scene, hit->instance, hit->triangle, w->rays.time[i], p);
    for (int k = 0; k < 3; ++k) {
        float3 edge = f3_sub(p[(k + 1) % 3], p[k]), to = f3_sub(hit->P, p[k]);
        float distance = f3_length(f3_cross(edge, to)) / f3_length(edge);
        nearest = minf(distance, nearest);
    }
    return clampf(1.5f - nearest / maxf(pixel, 1e-30f), 0.0f, 1.0f);
}

static float3 view_color(const Wave *w, uint32_t i, const SurfaceHit *hit, uint32_t point)
{
    const Scene *scene = w->shared->scene;
    float facing = fabsf(f3_dot(hit->N, hit->I));
    switch (w->shared->view) {
    case WAVE_VIEW_NORMAL:
        return f3_scale(f3_add(hit->N, f3_splat(1.0f)), 0.5f);
    case WAVE_VIEW_UV:
        return f3(hit->uv.x - floorf(hit->uv.x), hit->uv.y - floorf(hit->uv.y), 0.0f);
    case WAVE_VIEW_DERIVATIVE:
        return f3(on_log_scale(hit->duvdx), on_log_scale(hit->duvdy), 0.0f);
    case WAVE_VIEW_MIP:
        return f3_scale(level_color(w->levels->levels[point]), 0.3f + 0.7f * facing);
    case WAVE_VIEW_WIREFRAME:
        return f3_splat(0.1f + 0.3f * facing + 0.6f * edge_coverage(w, i, hit));
    case WAVE_VIEW_MATERIAL:
        return f3_scale(name_color(scene->materials[hit->material].name), 0.3f + 0.7f * facing);
    case WAVE_VIEW_OBJECT:
        return f3_scale(name_color(scene->instances[hit->instance].name), 0.3f + 0.7f * facing);
    default:
        return f3(0, 0, 0);
    }
}

void wave_show(Wave *w, uint32_t i, SurfaceLane surface, uint32_t point)
{
    SurfaceHit hit = surface_get(surface);
    if (w->shared->view == WAVE_VIEW_AO)
        occlusion_send(w, &w->shadow, i, &hit, hit.N, spectrum_splat(1.0f));
    else
        wave_add_light(w, &w->paths[i], spectrum_from_rgb(view_color(w, i, &hit, point)),
                       (LightArrival){.is_met = true});
    w->paths[i].flags |= PATH_DEAD;
}
