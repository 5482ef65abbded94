/* Native texels to linear floats and back.
 *
 * Alpha is never sRGB-encoded: of 2 channels the second, of 4 the fourth is alpha. */
#ifndef SORT_TEXTURES_FORMAT_TEXEL_H
#define SORT_TEXTURES_FORMAT_TEXEL_H

#include "base/simd.h"
#include "textures/texcache.h"

/* What an image's texels mean: an explicit wish, else the file's word, else by custom sRGB for bytes and
 * linear for the rest. */
SortColorSpace texel_source_color_space(const SortLevelInfo *info, SortColorSpace wanted);
/* A recorded wrap: what is wanted, else what the file says, else periodic. */
TexWrap texel_source_wrap(SortWrap in_file, TexWrap wanted);

typedef struct TexelFormat {
    SortTexelType type;
    uint32_t channel_count; /* 1 to 4 */
    bool is_srgb;           /* colour channels */
} TexelFormat;

/* Tables that a converter or cache keeps; read-only once filled. */
typedef struct TexelTables {
    float unorm8[256];          /* i / 255 */
    float srgb8[256];           /* the same decoded to linear */
    float srgb8_threshold[256]; /* the least linear value that is encoded as i */
    uint8_t srgb8_start[4097];  /* a code not above that of linear value i / 4096 */
} TexelTables;

void texel_tables_fill(TexelTables *out_tables);

/* `count` texels; channels stay as they are. Integers map to [0, 1]. */
void texel_decode_row(const TexelTables *tables, TexelFormat format, const void *native,
                      size_t count, float *out_values);
/* Integers are clamped to [0, 1] and rounded to the nearest code; halves are clamped to their finite
 * range. Values are finite. */
void texel_encode_row(const TexelTables *tables, TexelFormat format, const float *values,
                      size_t count, void *out_native);
/* A row of half or float texels and what lies about it. */
typedef struct TexelRow {
    TexelFormat format;
    size_t width;
    const void *above; /* the row before, repaired; NULL: there is none */
    void *texels;
    const void *below; /* [below_count][width]; the rows behind it, the next one first */
    uint32_t below_count;
} TexelRow;

/* Makes a row's texels such that filtering them cannot overflow. What is no finite number becomes the mean of
 * the finite ones among its up to eight neighbours, of which those before it have been repaired; where there is
 * none, the first finite number further on in its row and the rows below, else 0: each channel by itself. What
 * is beyond TEXEL_MAX becomes that. Returns how many texels were changed; always 0 for integers. */
#define TEXEL_MAX 1e30f
size_t texel_repair_row(const TexelRow *row);
/* The same for a picture; rows follow each other. */
size_t texel_repair(TexelFormat format, void *texels, uint32_t width, uint32_t height,
                    size_t texel_bytes);

/* Four texels, wherever they are, to linear rgba: 1 channel (v,v,v,1), 2 (v,v,v,a), 3 (r,g,b,1). */
typedef void (*TexelLoadQuad)(const TexelTables *tables, const uint8_t *const texels[4],
                              float out_rgba[4][4]);
TexelLoadQuad texel_quad_loader(TexelFormat format);
/* The same, blended: a with b and c with d by fraction_x, those by fraction_y. Bit for bit texel_blend() of
 * what the loader gives. */
typedef f32x4 (*TexelBlendQuad)(const TexelTables *tables, const uint8_t *a, const uint8_t *b,
                                const uint8_t *c, const uint8_t *d, float fraction_x,
                                float fraction_y);
TexelBlendQuad texel_quad_blender(TexelFormat format);
/* Differences, not weights, so that equal texels give themselves. */
static inline float texel_blend(float a, float b, float c, float d, float fraction_x,
                                float fraction_y)
{
    float upper = a + fraction_x * (b - a), lower = c + fraction_x * (d - c);
    return upper + fraction_y * (lower - upper);
}
static inline f32x4 texel_blend4(f32x4 a, f32x4 b, f32x4 c, f32x4 d, float fraction_x,
                                 float fraction_y)
{
    f32x4 upper = a + fraction_x * (b - a), lower = c + fraction_x * (d - c);
    return upper + fraction_y * (lower - upper);
}
/* The same expansion for one texel that has been decoded. */
void texel_expand(const float *values, uint32_t channel_count, float out_rgba[4]);

#endif
