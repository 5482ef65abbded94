/* One loader of four texels and one blender of taps for each format, generated from one reader for each type. A texel
 * is a vector of four floats, so that its channels are decoded and blended together. */
#include "base/check.h"
#include "base/half.h"
#include "textures/format/texel.h"

/* --- readers: a texel of 1 to 4 channels as linear values; `channels` is constant where they are inlined ----- */

/* What the fourth is with 1 or 3 channels does not matter, nor the second and third with 1: see complete(). */
SORT_ALWAYS_INLINE f32x4 values_of(float x, float y, float z, float w, uint32_t channels)
{
    switch (channels) {
    case 1:
        return (f32x4){x};
    case 2:
        return (f32x4){x, x, x, y};
    default:
        return (f32x4){x, y, z, w};
    }
}

/* Makes the values of a texel, or a blend of such, rgba. */
SORT_ALWAYS_INLINE f32x4 complete(f32x4 values, uint32_t channels)
{
    const i32x4 is_color = {-1, -1, -1, 0};
    const f32x4 opaque = {0.0f, 0.0f, 0.0f, 1.0f};
    if (channels == 2 || channels == 4)
        return values;
    if (channels == 1)
        values = f32x4_splat(values[0]);
    return (f32x4)(((i32x4)values & is_color) | (i32x4)opaque);
}

/* Reads no byte beyond the texel, since another thread may be writing the next one. */
#define VALUES_OF(read, channels)                                                                  \
    values_of(read(0), (channels) >= 2 ? read(1) : 0.0f, (channels) >= 3 ? read(2) : 0.0f,         \
              (channels) >= 4 ? read(3) : 0.0f, channels)

SORT_ALWAYS_INLINE f32x4 read_u8(const TexelTables *t, const uint8_t *p, uint32_t channels)
{
    /* i / 255 = i (257 / 65536 + ...): this gives the table's value, correctly rounded, for all bytes */
    if (channels == 4) {
        f32x4 v = f32x4_from_u8(p);
        return v * f32x4_splat(0x1.01p-8f) + v * f32x4_splat(0x1.010102p-24f);
    }
#define VALUE(i) t->unorm8[p[i]]
    return VALUES_OF(VALUE, channels);
#undef VALUE
}

SORT_ALWAYS_INLINE f32x4 read_srgb8(const TexelTables *t, const uint8_t *p, uint32_t channels)
{
    uint32_t alpha = channels == 2 ? 1 : 3;
#define VALUE(i) ((i) == alpha ? t->unorm8[p[i]] : t->srgb8[p[i]])
    return VALUES_OF(VALUE, channels);
#undef VALUE
}

SORT_ALWAYS_INLINE f32x4 read_u16(const TexelTables *t, const uint8_t *p, uint32_t channels)
{
    SORT_UNUSED(t);
    uint16_t values[4];
    memcpy(values, p, channels * sizeof *values);
#define VALUE(i) (float)(values[i] * (1.0 / 65535.0))
    return VALUES_OF(VALUE, channels);
#undef VALUE
}

/* Converts finite halves, whatever the thread does to subnormal floats: none occurs in the computation. */
SORT_ALWAYS_INLINE f32x4 f32x4_from_half(const void *halves)
{
    i32x4 bits = i32x4_from_u16(halves);
    i32x4 magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16;
    i32x4 shifted = magnitude << 13;
    i32x4 normal = shifted + (112 << 23); /* the exponent with the new bias */
    i32x4 above = shifted + (113 << 23);  /* 2^-14 (1 + m), for a subnormal 2^-14 m */
    f32x4 subnormal = f32x4_load(&above) - f32x4_splat(0x1p-14f);
    i32x4 subnormal_bits, is_subnormal = magnitude < 0x400;
    memcpy(&subnormal_bits, &subnormal, sizeof subnormal_bits);
    i32x4 result = sign | (is_subnormal & subnormal_bits) | (~is_subnormal & normal);
    return f32x4_load(&result);
}

/* The four halves are put together in a register: a load of what was stored in smaller pieces would stall. */
SORT_ALWAYS_INLINE f32x4 read_half(const TexelTables *t, const uint8_t *p, uint32_t channels)
{
    SORT_UNUSED(t);
    const uint64_t grey = 0x100010001u; /* times x: x in three channels */
    uint64_t values = 0;
    uint32_t pair = 0;
    uint16_t x = 0;
    if (channels == 4) {
        memcpy(&values, p, sizeof values);
    } else if (channels == 3) {
        memcpy(&pair, p, sizeof pair);
        memcpy(&x, p + sizeof pair, sizeof x);
        values = pair | (uint64_t)x << 32;
    } else {
        memcpy(&x, p, sizeof x);
        values = x * grey;
        if (channels == 2) {
            memcpy(&x, p + sizeof x, sizeof x);
            values |= (uint64_t)x << 48;
        }
    }
    return f32x4_from_half(&values);
}

SORT_ALWAYS_INLINE f32x4 read_float(const TexelTables *t, const uint8_t *p, uint32_t channels)
{
    SORT_UNUSED(t);
    float values[4] = {0};
    memcpy(values, p, channels * sizeof *values);
#define VALUE(i) values[i]
    return VALUES_OF(VALUE, channels);
#undef VALUE
}

/* --- loaders and blenders --------------------------------------------------------------------------------- */

enum { bytes_u8 = 1, bytes_srgb8 = 1, bytes_u16 = 2, bytes_half = 2, bytes_float = 4 };

#define LOADER(type, channels)                                                                     \
    static void load_##type##channels(const TexelTables *t, const uint8_t *const texels[4],        \
                                      float out[4][4])                                             \
    {                                                                                              \
        for (int k = 0; k < 4; ++k)                                                                \
            f32x4_store(complete(read_##type(t, texels[k], channels), channels), out[k]);          \
    }                                                                                              \
    static uint32_t blend_##type##channels(const TexelTables *t, const uint8_t *const *tiles,      \
                                           const TexelTap *taps, uint32_t count, f32x4 *out,       \
                                           uint16_t *out_left)                                     \
    {                                                                                              \
        uint32_t left_count = 0;                                                                   \
        for (uint32_t k = 0; k < count; ++k) {                                                     \
            const TexelTap *tap = &taps[k];                                                        \
            const uint8_t *upper = tiles[tap->tile];                                               \
            if (SORT_UNLIKELY(upper == NULL)) {                                                    \
                out_left[left_count++] = (uint16_t)k;                                              \
                continue;                                                                          \
            }                                                                                      \
            const ptrdiff_t bytes = (ptrdiff_t)bytes_##type * (channels);                          \
            ptrdiff_t right = tap->right * bytes;                                                  \
            upper += tap->offset * bytes;                                                          \
            const uint8_t *lower = upper + tap->down * bytes;                                      \
            f32x4 blend = texel_blend4(                                                            \
                read_##type(t, upper, channels), read_##type(t, upper + right, channels),          \
                read_##type(t, lower, channels), read_##type(t, lower + right, channels),          \
                tap->fraction_x, tap->fraction_y);                                                 \
            out[k] = complete(blend, channels);                                                    \
        }                                                                                          \
        return left_count;                                                                         \
    }
#define LOADERS(type) LOADER(type, 1) LOADER(type, 2) LOADER(type, 3) LOADER(type, 4)

LOADERS(u8)
LOADERS(srgb8)
LOADERS(u16)
LOADERS(half)
LOADERS(float)

#define BY_CHANNELS(prefix) {prefix##1, prefix##2, prefix##3, prefix##4}
enum { SRGB8_ROW = SORT_TEXEL_FLOAT + 1 };

/* Returns the row of the tables below: the type, or sRGB bytes. */
static uint32_t row_of(TexelFormat format)
{
    ASSERT(format.channel_count >= 1 && format.channel_count <= 4);
    ASSERT(!format.is_srgb || format.type == SORT_TEXEL_U8); /* other types are stored linear */
    return format.is_srgb ? SRGB8_ROW : (uint32_t)format.type;
}

TexelLoadQuad texel_quad_loader(TexelFormat format)
{
    static const TexelLoadQuad loaders[][4] = {
        [SORT_TEXEL_U8] = BY_CHANNELS(load_u8),     [SORT_TEXEL_U16] = BY_CHANNELS(load_u16),
        [SORT_TEXEL_HALF] = BY_CHANNELS(load_half), [SORT_TEXEL_FLOAT] = BY_CHANNELS(load_float),
        [SRGB8_ROW] = BY_CHANNELS(load_srgb8),
    };
    return loaders[row_of(format)][format.channel_count - 1];
}

TexelBlendTaps texel_taps_blender(TexelFormat format)
{
    static const TexelBlendTaps blenders[][4] = {
        [SORT_TEXEL_U8] = BY_CHANNELS(blend_u8),     [SORT_TEXEL_U16] = BY_CHANNELS(blend_u16),
        [SORT_TEXEL_HALF] = BY_CHANNELS(blend_half), [SORT_TEXEL_FLOAT] = BY_CHANNELS(blend_float),
        [SRGB8_ROW] = BY_CHANNELS(blend_srgb8),
    };
    return blenders[row_of(format)][format.channel_count - 1];
}
