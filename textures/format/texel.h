/* Converts native texels to linear floats and back.
 *
 * Alpha, the second of 2 channels or the fourth of 4, is never sRGB-encoded. */
#ifndef SORT_TEXTURES_FORMAT_TEXEL_H
#define SORT_TEXTURES_FORMAT_TEXEL_H

#include "base/simd.h"
#include "textures/texcache.h"

/* Resolves the colour space of an image: an explicit choice, else the one stated in the file, else sRGB for
 * bytes and linear for the rest. */
SortColorSpace texel_source_color_space(const SortLevelInfo *info, SortColorSpace wanted);
/* Resolves the wrap to record: an explicit choice, else the one stated in the file, else periodic. */
TexWrap texel_source_wrap(SortWrap in_file, TexWrap wanted);

typedef struct TexelFormat {
    SortTexelType type;
    uint32_t channel_count; /* 1 to 4 */
    bool is_srgb;           /* applies to the colour channels */
} TexelFormat;

/* Decoding tables that a converter or cache keeps; read-only once filled. */
typedef struct TexelTables {
    float unorm8[256];          /* i / 255 */
    float srgb8[256];           /* i / 255 decoded to linear */
    float srgb8_threshold[256]; /* the least linear value that is encoded as i */
    uint8_t srgb8_start[4097];  /* a code not above the code of the linear value i / 4096 */
} TexelTables;

void texel_tables_fill(TexelTables *t);

/* Decodes `count` texels; the number of channels stays the same. Integers map to [0, 1]. */
void texel_decode_row(const TexelTables *tables, TexelFormat format, const void *native,
                      size_t count, float *out_values);
/* Encodes `count` texels of finite values. For integers, values are clamped to [0, 1] and rounded to the
 * nearest code; for halves, they are clamped to the finite range. */
void texel_encode_row(const TexelTables *tables, TexelFormat format, const float *values,
                      size_t count, void *out_native);
/* A row of half or float texels and the rows around it. */
typedef struct TexelRow {
    TexelFormat format;
    size_t width;
    const void *above; /* the previous row, repaired; NULL if there is none */
    void *texels;
    const void *below; /* [below_count][width]; the rows below, from the next one down */
    uint32_t below_count;
} TexelRow;

/* Repairs a row so that filtering cannot overflow; each channel by itself. A value that is not finite becomes
 * the mean of the finite values among its up to eight neighbours, of which the previous ones have been
 * repaired; if there are none, the next finite value in its row or the rows below, else 0. Values beyond
 * +-TEXEL_MAX become +-TEXEL_MAX. Returns how many texels were changed; always 0 for integers. */
#define TEXEL_MAX 1e30f
size_t texel_repair_row(const TexelRow *row);
/* Repairs a whole picture of consecutive rows. Returns how many texels were changed. */
size_t texel_repair(TexelFormat format, void *texels, uint32_t width, uint32_t height,
                    size_t texel_bytes);

/* Loads four texels from any addresses as linear rgba: 1 channel (v,v,v,1), 2 (v,v,v,a), 3 (r,g,b,1). */
typedef void (*TexelLoadQuad)(const TexelTables *tables, const uint8_t *const texels[4],
                              float out_rgba[4][4]);
TexelLoadQuad texel_quad_loader(TexelFormat format);
/* Four texels of a tile to be blended, two in a row and two in another: in either row the first with the second by fraction_x, and
 * the two results by fraction_y. */
typedef struct TexelTap {
    uint32_t tile;       /* an index into the tiles of the call */
    uint32_t offset;     /* of the first texel of the first row in the tile's memory, in texels */
    int32_t right, down; /* from a row's first to its second, and from row to row, in texels */
    float fraction_x, fraction_y;
} TexelTap;
/* Loads and blends the texels of `count` taps: out[k] has the bits of texel_blend() applied to the loaded texels of taps[k]. tiles:
 * the tiles' memory, NULL where it is not at hand; out_left gets the indices of taps in such tiles. Returns how many these are. */
typedef uint32_t (*TexelBlendTaps)(const TexelTables *tables, const uint8_t *const *tiles,
                                   const TexelTap *taps, uint32_t count, f32x4 *out,
                                   uint16_t *out_left);
TexelBlendTaps texel_taps_blender(TexelFormat format);
/* Blending by differences instead of weights reproduces equal texels exactly. */
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
/* Expands one decoded texel to rgba like TexelLoadQuad. */
void texel_expand(const float *values, uint32_t channel_count, float out_rgba[4]);

#endif
