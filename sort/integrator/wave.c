#include "sort/integrator/wave_state.h"

#include "base/clock.h"
#include <string.h>

const char *wave_stage_name(WaveStage stage)
{
    static const char *const names[] = {"camera",  "intersect", "escape",
                                        "surface", "shadow",    "advance"};
    return names[stage];
}

Status wave_create(const WaveShared *shared, ShadeContext *shade, uint32_t capacity, Arena *arena,
                   Wave **out_wave, Error *err)
{
    Wave *w = ARENA_NEW(arena, Wave);
    if (!w)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    *w = (Wave){.shared = shared, .shade = shade, .capacity = capacity};
    TRY(ray_batch_create(arena, capacity, &w->rays, err));
    TRY(hit_batch_create(arena, capacity, &w->hits, err));
    TRY(shadow_batch_create(arena, capacity, &w->shadow, err));
    w->paths = ARENA_ARRAY(arena, Path, capacity);
    w->surfaces = ARENA_ARRAY(arena, SurfaceHit, capacity);
    w->light = ARENA_ARRAY(arena, Spectrum, capacity);
    w->light_diff = ARENA_ARRAY(arena, RayDiff, capacity);
    w->order = ARENA_ARRAY(arena, uint32_t, 2 * (size_t)capacity);
    w->bucket = ARENA_ARRAY(arena, uint32_t, shared->scene->material_count + 2);
    w->mesh_lights = ARENA_ARRAY(arena, MeshLightSample, capacity);
    if (!w->paths || !w->surfaces || !w->light || !w->light_diff || !w->order || !w->bucket ||
        !w->mesh_lights)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    *out_wave = w;
    return STATUS_OK;
}

static bool is_cancelled(const Wave *w)
{
    return atomic_load_explicit(w->shared->cancel, memory_order_relaxed);
}

static void stage_intersect(Wave *w)
{
    accel_intersect(w->shared->accel, &w->rays, w->count, &w->hits);
    w->counters.rays += w->count;
}

/* Runs a stage and books its time. */
static void timed(Wave *w, WaveStage stage, void (*run)(Wave *w))
{
    uint64_t start = clock_now_ns();
    run(w);
    w->counters.stage_ns[stage] += clock_now_ns() - start;
}

bool wave_run(Wave *w, const WaveJob *job)
{
    uint64_t start = clock_now_ns();
    stage_camera(w, job);
    w->counters.stage_ns[WAVE_STAGE_CAMERA] += clock_now_ns() - start;
    while (w->count > 0) {
        if (is_cancelled(w)) {
            w->count = 0;
            return false;
        }
        timed(w, WAVE_STAGE_INTERSECT, stage_intersect);
        timed(w, WAVE_STAGE_ESCAPE, stage_escape);
        timed(w, WAVE_STAGE_SURFACE, stage_surface);
        timed(w, WAVE_STAGE_SHADOW, stage_shadow);
        timed(w, WAVE_STAGE_ADVANCE, stage_advance);
    }
    return true;
}

WaveCounters wave_counters(const Wave *w)
{
    WaveCounters counters = w->counters;
    counters.shade = shade_counters(w->shade);
    return counters;
}

void wave_group(Wave *w, const uint32_t *members, uint32_t count)
{
    uint32_t materials = w->shared->scene->material_count;
    memset(w->bucket, 0, (materials + 2) * sizeof *w->bucket);
    /* bucket[m + 1] becomes the start of m while filling, and so bucket[m] afterwards. */
    for (uint32_t i = 0; i < count; ++i)
        ++w->bucket[w->surfaces[members[i]].material + 2];
    for (uint32_t m = 2; m < materials + 2; ++m)
        w->bucket[m] += w->bucket[m - 1];
    for (uint32_t i = 0; i < count; ++i)
        w->order[w->bucket[w->surfaces[members[i]].material + 1]++] = members[i];
}

uint32_t wave_chunk(const Wave *w, uint32_t begin, uint32_t end, const SurfaceHit **out_hits)
{
    uint32_t n = 0;
    while (begin + n < end && n < SHADE_CHUNK) {
        const SurfaceHit *hit = &w->surfaces[w->order[begin + n]];
        if (n > 0 && hit->material != out_hits[0]->material)
            break;
        out_hits[n++] = hit;
    }
    return n;
}

void path_add(Path *path, Spectrum value)
{
    float3 rgb = spectrum_to_rgb(spectrum_mul(path->beta, value));
    path->film.rgb[0] += rgb.x;
    path->film.rgb[1] += rgb.y;
    path->film.rgb[2] += rgb.z;
}
