#include "sort/denoise/nfor_planes.h"

#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/thread.h"
#include <string.h>

static uint32_t tiles_of(uint32_t size, uint32_t tile)
{
    return (size + tile - 1) / tile;
}

NforGrid nfor_grid(uint32_t width, uint32_t height)
{
    ASSERT(width > 0 && height > 0);
    NforGrid g = {.width = width,
                  .height = height,
                  .tiles_x = tiles_of(width, NFOR_TILE_WIDTH),
                  .tiles_y = tiles_of(height, NFOR_TILE_HEIGHT)};
    g.stride = (size_t)g.tiles_x * NFOR_TILE_WIDTH + (size_t)2 * NFOR_BORDER_X;
    g.float_count = g.stride * ((size_t)g.tiles_y * NFOR_TILE_HEIGHT + (size_t)2 * NFOR_BORDER_Y);
    return g;
}

float *nfor_planes(const NforGrid *g, size_t count)
{
    return mem_alloc(count * g->float_count, sizeof(float));
}

/* --- rows ------------------------------------------------------------------------------------- */

enum { ROWS_AT_ONCE = 16 };

typedef struct RowWork {
    const NforGrid *g;
    void (*body)(void *data, uint32_t y);
    void *data;
} RowWork;

static void run_rows(void *data, uint32_t index)
{
    const RowWork *work = data;
    uint32_t end = (index + 1) * ROWS_AT_ONCE;
    thread_flush_denormals();
    for (uint32_t y = index * ROWS_AT_ONCE; y < end && y < work->g->height; ++y)
        work->body(work->data, y);
}

void nfor_each_row(const NforGrid *g, uint32_t thread_count, void (*body)(void *data, uint32_t y),
                   void *data)
{
    RowWork work = {g, body, data};
    parallel_for(thread_count, tiles_of(g->height, ROWS_AT_ONCE), run_rows, &work);
}

/* --- borders ---------------------------------------------------------------------------------- */

typedef struct Extension {
    const NforGrid *g;
    float *planes;
} Extension;

static void extend_row(const NforGrid *g, float *row)
{
    size_t right = g->stride - NFOR_BORDER_X - g->width;
    for (size_t i = 1; i <= NFOR_BORDER_X; ++i)
        row[-(ptrdiff_t)i] = row[0];
    for (size_t i = 0; i < right; ++i)
        row[g->width + i] = row[g->width - 1];
}

static void extend_plane(void *data, uint32_t index)
{
    const Extension *e = data;
    const NforGrid *g = e->g;
    float *plane = e->planes + index * g->float_count;
    for (uint32_t y = 0; y < g->height; ++y)
        extend_row(g, plane + nfor_at(g, 0, (int32_t)y));
    const float *first = plane + NFOR_BORDER_Y * g->stride;
    const float *last = plane + (NFOR_BORDER_Y + (size_t)g->height - 1) * g->stride;
    for (uint32_t y = 0; y < NFOR_BORDER_Y; ++y)
        memcpy(plane + y * g->stride, first, g->stride * sizeof *plane);
    for (float *at = plane + (NFOR_BORDER_Y + (size_t)g->height) * g->stride;
         at < plane + g->float_count; at += g->stride)
        memcpy(at, last, g->stride * sizeof *plane);
}

void nfor_extend(const NforGrid *g, float *planes, size_t count, uint32_t thread_count)
{
    Extension extension = {g, planes};
    parallel_for(thread_count, (uint32_t)count, extend_plane, &extension);
}

/* --- means ------------------------------------------------------------------------------------ */

typedef struct Blur {
    const NforGrid *g;
    const float *from;
    float *to;
    ptrdiff_t step; /* between the pixels of a sum */
    int32_t radius;
} Blur;

static void blur_row(void *data, uint32_t y)
{
    const Blur *b = data;
    size_t at = nfor_at(b->g, 0, (int32_t)y);
    float *to = b->to + at, scale = 1.0f / (float)(2 * b->radius + 1);
    const float *first = b->from + at - b->radius * b->step;
    for (uint32_t x = 0; x < b->g->width; ++x)
        to[x] = first[x];
    for (int32_t k = 1; k <= 2 * b->radius; ++k)
        for (uint32_t x = 0; x < b->g->width; ++x)
            to[x] += first[(ptrdiff_t)x + k * b->step];
    for (uint32_t x = 0; x < b->g->width; ++x)
        to[x] *= scale;
}

void nfor_blur(const NforGrid *g, float *plane, float *spare, int32_t radius, uint32_t thread_count)
{
    Blur across = {g, plane, spare, 1, radius};
    Blur down = {g, spare, plane, (ptrdiff_t)g->stride, radius};
    ASSERT(radius >= 0 && radius <= NFOR_BORDER_Y);
    _Static_assert(NFOR_BORDER_Y <= NFOR_BORDER_X, "sums across stay in the border, too");
    nfor_extend(g, plane, 1, 1);
    nfor_each_row(g, thread_count, blur_row, &across);
    nfor_extend(g, spare, 1, 1);
    nfor_each_row(g, thread_count, blur_row, &down);
}
