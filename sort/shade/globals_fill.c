#include "sort/shade/globals_fill.h"

#include "base/hash.h"
#include <string.h>

typedef struct LaneWriter {
    float *block; /* of the lane: block + lane */
    const SslGlobalsLayout *layout;
    uint64_t value, derivs;
} LaneWriter;

static const size_t line = SSL_BLOCK;

static void store(float *at, float3 v, uint32_t components)
{
    at[0] = v.x;
    if (components > 1) {
        at[line] = v.y;
        at[2 * line] = v.z;
    }
}

static void write3(const LaneWriter *w, GlobalRow row, float3 v, float3 dx, float3 dy)
{
    float *at = w->block + w->layout->offset_floats[row];
    if (w->value >> row & 1)
        store(at, v, 3);
    if (w->derivs >> row & 1) {
        store(at + 3 * line, dx, 3);
        store(at + 6 * line, dy, 3);
    }
}

static void write_float(const LaneWriter *w, GlobalRow row, float v)
{
    if (w->value >> row & 1)
        w->block[w->layout->offset_floats[row]] = v;
}

static void write_int(const LaneWriter *w, GlobalRow row, int32_t v)
{
    if (w->value >> row & 1)
        memcpy(&w->block[w->layout->offset_floats[row]], &v, sizeof v);
}

/* From the name, so that it stays when instances are reordered. */
static float object_random(const Scene *scene, uint32_t instance)
{
    const char *name = scene->instances[instance].name;
    uint64_t h = 0;
    for (; *name; ++name)
        h = hash_mix64(h ^ (uint8_t)*name);
    return (float)(h >> 40) * 0x1p-24f;
}

void globals_fill(const Scene *scene, const SurfaceHit *const *hits, uint32_t count, uint64_t value,
                  uint64_t derivs, const SslGlobalsLayout *layout, void *blocks)
{
    const float3 zero = {0, 0, 0};
    for (uint32_t i = 0; i < count; ++i) {
        const SurfaceHit *h = hits[i];
        float *block = (float *)((char *)blocks + (size_t)(i / SSL_BLOCK) * layout->stride_bytes);
        LaneWriter w = {block + i % SSL_BLOCK, layout, value, derivs};
        write3(&w, GLOBAL_uvw, f3(h->uv.x, h->uv.y, 0), f3(h->duvdx.x, h->duvdx.y, 0),
               f3(h->duvdy.x, h->duvdy.y, 0));
        write3(&w, GLOBAL_position, h->P, h->dPdx, h->dPdy);
        write3(&w, GLOBAL_normal, h->N, h->dNdx, h->dNdy);
        write3(&w, GLOBAL_gnormal, h->Ng, zero, zero);
        write3(&w, GLOBAL_I, h->I, h->dIdx, h->dIdy);
        write3(&w, GLOBAL_tangent, h->T, h->dTdx, h->dTdy);
        write_float(&w, GLOBAL_tangent_sign, h->tangent_sign);
        write_int(&w, GLOBAL_backfacing, h->is_backfacing);
        write_int(&w, GLOBAL_path_depth, (int32_t)h->depth);
        write_int(&w, GLOBAL_ray_kind, (int32_t)h->history.kind);
        write_float(&w, GLOBAL_ray_length, h->length_m);
        write_int(&w, GLOBAL_diffuse_depth, h->history.diffuse);
        write_int(&w, GLOBAL_glossy_depth, h->history.glossy);
        write_int(&w, GLOBAL_transmission_depth, h->history.transmission);
        write_int(&w, GLOBAL_transparent_depth, h->history.transparent);
        if (value >> GLOBAL_object_random & 1 && h->instance != HIT_NO_INSTANCE)
            write_float(&w, GLOBAL_object_random, object_random(scene, h->instance));
    }
}
