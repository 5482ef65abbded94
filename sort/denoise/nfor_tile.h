/* Inside sort/denoise/: the arithmetic on tiles of planes, which is compiled for each class of CPUs (nfor_rows.inl).
 *
 * A plane is a picture of one channel with a border of copies of its edge, so that no loop asks where the edge is. Its sides are
 * rounded up to whole tiles. */
#ifndef SORT_DENOISE_NFOR_TILE_H
#define SORT_DENOISE_NFOR_TILE_H

#include "base/compiler.h"

enum {
    NFOR_TILE_WIDTH = 64,
    NFOR_TILE_HEIGHT = 32,
    NFOR_BORDER_X = 32, /* a window, a patch, and what vectors read beyond */
    NFOR_BORDER_Y = 16,
    NFOR_RADIUS = 9,       /* of the window of a regression */
    NFOR_PATCH_RADIUS = 3, /* of the surroundings that are compared */
    NFOR_SIDE = 2 * NFOR_RADIUS + 1,
    NFOR_OFFSETS = NFOR_SIDE * NFOR_SIDE,
    NFOR_GUIDES = 7,              /* albedo, normal, nearness */
    NFOR_TERMS = NFOR_GUIDES + 3, /* a constant, and the place */
    NFOR_BANDWIDTHS = 2,
    /* What a tile predicts: of its own pixels and of those around it. */
    NFOR_OUT_WIDTH = 96,
    NFOR_OUT_HEIGHT = NFOR_TILE_HEIGHT + 2 * NFOR_RADIUS
};
/* Tiles that are two apart predict no pixel in common. */
_Static_assert(NFOR_TILE_WIDTH >= 2 * NFOR_RADIUS && NFOR_TILE_HEIGHT >= 2 * NFOR_RADIUS &&
                   NFOR_OUT_WIDTH >= NFOR_TILE_WIDTH + 2 * NFOR_RADIUS &&
                   NFOR_BORDER_Y >= NFOR_RADIUS + NFOR_PATCH_RADIUS,
               "tiles of one phase may be computed at the same time");

/* Distance of pixels that take no part. */
#define NFOR_FAR 1e9f

/* Where pixel (x, y) lies in a plane. */
typedef struct NforGrid {
    uint32_t width, height; /* of the picture */
    uint32_t tiles_x, tiles_y;
    size_t stride, float_count; /* of a plane */
} NforGrid;

static inline size_t nfor_at(const NforGrid *g, int32_t x, int32_t y)
{
    return (size_t)(y + NFOR_BORDER_Y) * g->stride + (size_t)(x + NFOR_BORDER_X);
}

/* Pixels are compared by these planes; variance has a floor, so that it is never 0. */
typedef struct NforLook {
    const float *value[3], *variance[3];
    uint32_t channel_count; /* 1 to 3 */
    const float *hole;      /* 0, or NFOR_FAR where the pixel takes no part */
    int32_t radius, patch_radius;
} NforLook;

/* A filter by the weighted mean. */
typedef struct NforMean {
    NforLook look;
    const float *from[3];
    float *to[3];
    float bandwidth;
} NforMean;

typedef struct NforRegression {
    NforLook look;
    const float *color[3];
    const float *guide[NFOR_GUIDES];
    float bandwidth[NFOR_BANDWIDTHS]; /* rising */
} NforRegression;

/* What a thread works with. */
typedef struct NforScratch {
    float distance[NFOR_OFFSETS][NFOR_TILE_HEIGHT][NFOR_TILE_WIDTH];
    float squares[NFOR_TILE_HEIGHT + 2 * NFOR_PATCH_RADIUS][NFOR_OUT_WIDTH];
    float sums[4][NFOR_TILE_HEIGHT][NFOR_TILE_WIDTH];
    /* Sums of predictions by colour, and of their weights. */
    float out[NFOR_BANDWIDTHS][4][NFOR_OUT_HEIGHT][NFOR_OUT_WIDTH];
} NforScratch;

/* The code for one class of CPUs. Both work on the tile at (x, y); regress leaves its predictions in scratch->out. */
typedef struct NforCode {
    void (*mean)(const NforGrid *g, const NforMean *f, int32_t x, int32_t y, NforScratch *scratch);
    void (*regress)(const NforGrid *g, const NforRegression *f, int32_t x, int32_t y,
                    NforScratch *scratch);
} NforCode;
extern const NforCode nfor_rows, nfor_rows_v3, nfor_rows_v4;

#endif
