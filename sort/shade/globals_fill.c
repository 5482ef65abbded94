#include "sort/shade/globals_fill.h"

#include "base/hash.h"
#include <string.h>

/* A block of globals, and the rows that are written. */
typedef struct Writer {
    float *block;
    const SslGlobalsLayout *layout;
    uint64_t value, derivs;
} Writer;

static float *row_at(const Writer *w, GlobalRow row)
{
    return w->block + w->layout->offset_floats[row];
}

static void write_rows(const Writer *w, GlobalRow row, const void *rows, uint32_t count)
{
    if (w->value >> row & 1)
        memcpy(row_at(w, row), rows, count * sizeof(WideRow));
}

/* Writes derivatives of a global of `count` rows, which lie after its value. */
static void write_derivs(const Writer *w, GlobalRow row, const WideRow *dx, const WideRow *dy,
                         uint32_t count)
{
    float *at = row_at(w, row);
    if (!(w->derivs >> row & 1))
        return;
    memcpy(at + (size_t)count * SSL_BLOCK, dx, count * sizeof *dx);
    memcpy(at + (size_t)2 * count * SSL_BLOCK, dy, count * sizeof *dy);
}

static void write_point(const Writer *w, GlobalRow row, const WideRow rows[3], const WideRow dx[3],
                        const WideRow dy[3])
{
    write_rows(w, row, rows, 3);
    write_derivs(w, row, dx, dy, 3);
}

/* Writes texture coordinates as a vector whose third component is 0. */
static void write_uvw(const Writer *w, const SurfaceBlock *b)
{
    static const WideRow zero;
    WideRow uvw[3], dx[3], dy[3];
    if (!((w->value | w->derivs) >> GLOBAL_uvw & 1))
        return;
    for (int c = 0; c < 3; ++c) {
        memcpy(uvw[c], c < 2 ? b->uv[c] : zero, sizeof zero);
        memcpy(dx[c], c < 2 ? b->duvdx[c] : zero, sizeof zero);
        memcpy(dy[c], c < 2 ? b->duvdy[c] : zero, sizeof zero);
    }
    write_point(w, GLOBAL_uvw, uvw, dx, dy);
}

static void write_history(const Writer *w, const SurfaceBlock *b)
{
    static const GlobalRow rows[] = {GLOBAL_ray_kind,          GLOBAL_diffuse_depth,
                                     GLOBAL_glossy_depth,      GLOBAL_transmission_depth,
                                     GLOBAL_transparent_depth, GLOBAL_portal_depth};
    WideInts values[SORT_COUNT_OF(rows)];
    uint64_t any = 0;
    for (uint32_t r = 0; r < SORT_COUNT_OF(rows); ++r)
        any |= w->value >> rows[r] & 1;
    if (!any)
        return;
    for (uint32_t k = 0; k < b->count; ++k) {
        const PathHistory *h = &b->history[k];
        values[0][k] = (int32_t)h->kind;
        values[1][k] = h->diffuse, values[2][k] = h->glossy;
        values[3][k] = h->transmission, values[4][k] = h->transparent;
        values[5][k] = h->portal;
    }
    for (uint32_t r = 0; r < SORT_COUNT_OF(rows); ++r)
        write_rows(w, rows[r], values[r], 1);
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

static void write_object_random(const Writer *w, const Scene *scene, const SurfaceBlock *b)
{
    if (!(w->value >> GLOBAL_object_random & 1))
        return;
    for (uint32_t k = 0; k < b->count; ++k)
        if (b->instance[k] != (int32_t)HIT_NO_INSTANCE)
            row_at(w, GLOBAL_object_random)[k] =
                object_random(scene, surface_instance((SurfaceLane){b, k}));
}

void globals_fill(const Scene *scene, const SurfaceBlock *surfaces, uint32_t block_count,
                  uint64_t value, uint64_t derivs, const SslGlobalsLayout *layout, void *blocks)
{
    static const WideRow zero[3];
    for (uint32_t i = 0; i < block_count; ++i) {
        const SurfaceBlock *b = &surfaces[i];
        float *block = (float *)((char *)blocks + (size_t)i * layout->stride_bytes);
        const Writer w = {block, layout, value, derivs};
        write_uvw(&w, b);
        write_point(&w, GLOBAL_position, b->P, b->dPdx, b->dPdy);
        write_point(&w, GLOBAL_normal, b->N, b->dNdx, b->dNdy);
        write_point(&w, GLOBAL_gnormal, b->Ng, zero, zero);
        write_point(&w, GLOBAL_I, b->I, b->dIdx, b->dIdy);
        write_point(&w, GLOBAL_tangent, b->T, b->dTdx, b->dTdy);
        write_rows(&w, GLOBAL_tangent_sign, b->tangent_sign, 1);
        write_rows(&w, GLOBAL_backfacing, b->is_backfacing, 1);
        write_rows(&w, GLOBAL_path_depth, b->depth, 1);
        write_rows(&w, GLOBAL_ray_length, b->length_m, 1);
        write_history(&w, b);
        write_object_random(&w, scene, b);
    }
}
