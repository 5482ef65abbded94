/* Tiles as differences from what their neighbours let one expect: what zlib then makes of them is smaller.
 *
 *   texels --predict_tile--> residuals, one method a tile --zlib--> payload --> --unpredict_tile--> texels
 *
 * A component is expected to be as its neighbours to the left (a), above (b) and above to the left (c), in the same channel, say;
 * in the first row as a, in the first column as b, the first of all as 0. Components are unsigned numbers of one, two or four bytes,
 * whatever they mean, and all sums wrap around. docs/reference/texture-file.md has the methods as they are on disk. */
#ifndef SORT_TEXTURES_FORMAT_PREDICT_H
#define SORT_TEXTURES_FORMAT_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers on disk. */
enum {
    PREDICT_NOTHING,
    PREDICT_LEFT,     /* a */
    PREDICT_ABOVE,    /* b */
    PREDICT_MEAN,     /* (a + b) / 2 */
    PREDICT_MEDIAN,   /* of a, b and a + b - c [Weinberger2000] */
    PREDICT_GRADIENT, /* a + b - c */
    PREDICT_COUNT,
    /* Added: before that the second of three channels or more was subtracted from the first and the third. */
    PREDICT_BY_SECOND = 8,
    PREDICT_METHODS_ALL = 15
};

typedef struct PredictShape {
    uint32_t width, height; /* texels, at least 1 */
    uint32_t channel_count, component_bytes;
} PredictShape;

bool predict_is_method(const PredictShape *shape, uint32_t method);
/* Chooses a method, the same for the same texels, by the least sum of residuals, and writes what it makes of them. `scratch` and
 * `out`: as large as the tile. Residuals of several bytes, and those of channels that were subtracted, are in planes: all first bytes
 * of all first channels, and so on. */
uint32_t predict_tile(const PredictShape *shape, const uint8_t *texels, uint8_t *scratch,
                      uint8_t *out);
/* The other way; residuals and out_texels are as large as the tile and do not overlap. */
void unpredict_tile(const PredictShape *shape, uint32_t method, const uint8_t *residuals,
                    uint8_t *out_texels);

#endif
