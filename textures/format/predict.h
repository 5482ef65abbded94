/* Predictive coding of tiles: texels are stored as differences from predictions, which zlib compresses better.
 *
 *   texels --predict_tile--> residuals, one method a tile --zlib--> payload --> --unpredict_tile--> texels
 *
 * A component is predicted from its neighbours in the same channel: left (a), above (b), and above left (c); in the first
 * row from a, in the first column from b, and the very first as 0. Components are treated as unsigned numbers of one, two
 * or four bytes, and all sums wrap around. docs/reference/texture-file.md specifies the methods as stored on disk. */
#ifndef SORT_TEXTURES_FORMAT_PREDICT_H
#define SORT_TEXTURES_FORMAT_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

/* Method numbers on disk. */
enum {
    PREDICT_NOTHING,
    PREDICT_LEFT,     /* a */
    PREDICT_ABOVE,    /* b */
    PREDICT_MEAN,     /* (a + b) / 2 */
    PREDICT_MEDIAN,   /* median of a, b and a + b - c [Weinberger2000] */
    PREDICT_GRADIENT, /* a + b - c */
    PREDICT_COUNT,
    /* Flag: before prediction, the second of three or more channels was subtracted from the first and the
     * third. */
    PREDICT_BY_SECOND = 8,
    PREDICT_METHODS_ALL = 15
};

typedef struct PredictShape {
    uint32_t width, height; /* in texels, at least 1 */
    uint32_t channel_count, component_bytes;
} PredictShape;

bool predict_is_method(const PredictShape *shape, uint32_t method);
/* Chooses the method with the least sum of residuals, deterministically, and writes the residuals to `out`.
 * `scratch` and `out` are as large as the tile. Residuals of several bytes, and those of channels that were
 * subtracted, are stored in planes: all first bytes of all first channels, and so on. Returns the method. */
uint32_t predict_tile(const PredictShape *shape, const uint8_t *texels, uint8_t *scratch,
                      uint8_t *out);
/* Inverts predict_tile(). `residuals` and `out_texels` are as large as the tile and do not overlap. */
void unpredict_tile(const PredictShape *shape, uint32_t method, const uint8_t *residuals,
                    uint8_t *out_texels);

#endif
