#include "textures/format/predict.h"
#include "base/check.h"
#include "base/compiler.h"
#include <string.h>

/* --- components of one, two or four bytes -------------------------------------------------- */

SORT_ALWAYS_INLINE uint32_t get(const uint8_t *at, uint32_t bytes)
{
    uint16_t two;
    uint32_t four;
    switch (bytes) {
    case 1:
        return *at;
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    default:
        memcpy(&four, at, sizeof four);
        return four;
    }
}

SORT_ALWAYS_INLINE void put(uint8_t *at, uint32_t bytes, uint32_t value)
{
    uint16_t two = (uint16_t)value;
    switch (bytes) {
    case 1:
        *at = (uint8_t)value;
        break;
    case 2:
        memcpy(at, &two, sizeof two);
        break;
    default:
        memcpy(at, &value, sizeof value);
        break;
    }
}

SORT_ALWAYS_INLINE uint32_t expected(uint32_t predictor, uint32_t a, uint32_t b, uint32_t c)
{
    switch (predictor) {
    case PREDICT_LEFT:
        return a;
    case PREDICT_ABOVE:
        return b;
    case PREDICT_MEAN:
        return (uint32_t)(((uint64_t)a + b) / 2);
    case PREDICT_MEDIAN: {
        uint32_t least = a < b ? a : b, most = a < b ? b : a;
        return c >= most ? least : c <= least ? most : a + b - c;
    }
    case PREDICT_GRADIENT:
        return a + b - c;
    default:
        UNREACHABLE();
    }
}

/* --- there --------------------------------------------------------------------------------- */

/* Measures a residual for the choice of a method: its distance from 0 for one byte, the number of its bits for
 * several. */
SORT_ALWAYS_INLINE uint32_t size_of(uint32_t residual, uint32_t bytes)
{
    uint32_t shift = 32 - 8 * bytes;
    int32_t value = (int32_t)(residual << shift) >> shift;
    uint32_t distance = value < 0 ? ~(uint32_t)value : (uint32_t)value;
    return bytes == 1 ? distance : 32 - (uint32_t)__builtin_clz(distance | 1);
}

/* Sums the residuals of every predictor, over the texels that have all three neighbours. */
SORT_ALWAYS_INLINE void measure(const PredictShape *s, const uint8_t *texels, uint32_t bytes,
                                uint64_t out_sums[PREDICT_COUNT])
{
    size_t step = (size_t)s->channel_count * bytes, row = s->width * step;
    memset(out_sums, 0, PREDICT_COUNT * sizeof *out_sums);
    for (uint32_t y = 1; y < s->height; ++y) {
        for (size_t i = step; i < row; i += bytes) {
            const uint8_t *at = texels + y * row + i;
            uint32_t value = get(at, bytes), a = get(at - step, bytes);
            uint32_t b = get(at - row, bytes), c = get(at - row - step, bytes);
            for (uint32_t k = PREDICT_LEFT; k < PREDICT_COUNT; ++k)
                out_sums[k] += size_of(value - expected(k, a, b, c), bytes);
        }
    }
}

static void measure_any(const PredictShape *s, const uint8_t *texels,
                        uint64_t out_sums[PREDICT_COUNT])
{
    if (s->component_bytes == 1)
        measure(s, texels, 1, out_sums);
    else if (s->component_bytes == 2)
        measure(s, texels, 2, out_sums);
    else
        measure(s, texels, 4, out_sums);
}

/* Subtracts the second channel from the first and the third, or adds it back. */
static void combine(const PredictShape *s, uint8_t *texels, bool is_added)
{
    uint32_t bytes = s->component_bytes;
    const size_t third = (size_t)2 * bytes;
    size_t step = (size_t)s->channel_count * bytes, count = (size_t)s->width * s->height;
    for (size_t i = 0; i < count; ++i) {
        uint8_t *at = texels + i * step;
        uint32_t second = get(at + bytes, bytes);
        uint32_t other = is_added ? second : 0u - second;
        put(at, bytes, get(at, bytes) + other);
        put(at + third, bytes, get(at + third, bytes) + other);
    }
}

static bool has_planes(const PredictShape *s, uint32_t method)
{
    return s->component_bytes > 1 || (method & PREDICT_BY_SECOND) != 0;
}

/* Returns the index of the least sum, the first of several. */
static uint32_t least_of(const uint64_t sums[PREDICT_COUNT])
{
    uint32_t best = PREDICT_LEFT;
    for (uint32_t k = best + 1; k < PREDICT_COUNT; ++k)
        best = sums[k] < sums[best] ? k : best;
    return best;
}

SORT_ALWAYS_INLINE void write_residuals(const PredictShape *s, uint32_t predictor,
                                        const uint8_t *texels, uint32_t bytes, bool is_planar,
                                        uint8_t *out)
{
    size_t step = (size_t)s->channel_count * bytes, row = s->width * step;
    size_t count = (size_t)s->width * s->height;
    for (uint32_t y = 0; y < s->height; ++y) {
        for (uint32_t x = 0; x < s->width; ++x) {
            for (uint32_t k = 0; k < s->channel_count; ++k) {
                const uint8_t *at = texels + y * row + x * step + (size_t)k * bytes;
                uint32_t guess = x > 0 && y > 0
                                     ? expected(predictor, get(at - step, bytes),
                                                get(at - row, bytes), get(at - row - step, bytes))
                                 : x > 0 ? get(at - step, bytes)
                                 : y > 0 ? get(at - row, bytes)
                                         : 0;
                uint32_t residual = get(at, bytes) - guess;
                size_t place = (size_t)y * s->width + x;
                for (uint32_t n = 0; n < bytes; ++n) {
                    size_t plane = k * bytes + n;
                    out[is_planar ? plane * count + place : place * step + plane] =
                        (uint8_t)(residual >> 8 * n);
                }
            }
        }
    }
}

uint32_t predict_tile(const PredictShape *shape, const uint8_t *texels, uint8_t *scratch,
                      uint8_t *out)
{
    size_t size =
        (size_t)shape->width * shape->height * shape->channel_count * shape->component_bytes;
    uint64_t plain[PREDICT_COUNT], by_second[PREDICT_COUNT];
    measure_any(shape, texels, plain);
    uint32_t method = least_of(plain);
    const uint8_t *from = texels;
    if (shape->channel_count >= 3) {
        memcpy(scratch, texels, size);
        combine(shape, scratch, false);
        measure_any(shape, scratch, by_second);
        uint32_t other = least_of(by_second);
        if (by_second[other] < plain[method]) {
            method = other | PREDICT_BY_SECOND;
            from = scratch;
        }
    }
    uint32_t predictor = method & ~(uint32_t)PREDICT_BY_SECOND;
    bool is_planar = has_planes(shape, method);
    if (shape->component_bytes == 1)
        write_residuals(shape, predictor, from, 1, is_planar, out);
    else if (shape->component_bytes == 2)
        write_residuals(shape, predictor, from, 2, is_planar, out);
    else
        write_residuals(shape, predictor, from, 4, is_planar, out);
    return method;
}

/* --- and back ------------------------------------------------------------------------------ */

bool predict_is_method(const PredictShape *shape, uint32_t method)
{
    uint32_t predictor = method & ~(uint32_t)PREDICT_BY_SECOND;
    if (method & PREDICT_BY_SECOND)
        return predictor != PREDICT_NOTHING && predictor < PREDICT_COUNT &&
               shape->channel_count >= 3;
    return predictor < PREDICT_COUNT;
}

/* Reassembles components from byte planes. */
static void gather(const PredictShape *s, const uint8_t *planes, uint8_t *out)
{
    size_t step = (size_t)s->channel_count * s->component_bytes;
    size_t count = (size_t)s->width * s->height;
    for (size_t plane = 0; plane < step; ++plane) {
        const uint8_t *from = planes + plane * count;
        for (size_t i = 0; i < count; ++i)
            out[i * step + plane] = from[i];
    }
}

/* Restores one row except its first texel; all neighbours exist. */
SORT_ALWAYS_INLINE void restore_row(uint8_t *row, size_t row_bytes, size_t step, uint32_t predictor,
                                    uint32_t bytes)
{
    for (size_t i = step; i < row_bytes; i += bytes) {
        uint8_t *at = row + i;
        put(at, bytes,
            get(at, bytes) + expected(predictor, get(at - step, bytes), get(at - row_bytes, bytes),
                                      get(at - row_bytes - step, bytes)));
    }
}

SORT_ALWAYS_INLINE void restore(const PredictShape *s, uint32_t predictor, uint32_t bytes,
                                uint8_t *texels)
{
    size_t step = (size_t)s->channel_count * bytes, row_bytes = s->width * step;
    for (size_t i = step; i < row_bytes; i += bytes)
        put(texels + i, bytes, get(texels + i, bytes) + get(texels + i - step, bytes));
    for (uint32_t y = 1; y < s->height; ++y) {
        uint8_t *row = texels + y * row_bytes;
        for (size_t i = 0; i < step; i += bytes)
            put(row + i, bytes, get(row + i, bytes) + get(row + i - row_bytes, bytes));
        switch (predictor) { /* each predictor has its own loop */
        case PREDICT_LEFT:
            restore_row(row, row_bytes, step, PREDICT_LEFT, bytes);
            break;
        case PREDICT_ABOVE:
            restore_row(row, row_bytes, step, PREDICT_ABOVE, bytes);
            break;
        case PREDICT_MEAN:
            restore_row(row, row_bytes, step, PREDICT_MEAN, bytes);
            break;
        case PREDICT_MEDIAN:
            restore_row(row, row_bytes, step, PREDICT_MEDIAN, bytes);
            break;
        default:
            restore_row(row, row_bytes, step, PREDICT_GRADIENT, bytes);
            break;
        }
    }
}

void unpredict_tile(const PredictShape *shape, uint32_t method, const uint8_t *residuals,
                    uint8_t *out_texels)
{
    uint32_t predictor = method & ~(uint32_t)PREDICT_BY_SECOND;
    if (has_planes(shape, method))
        gather(shape, residuals, out_texels);
    else
        memcpy(out_texels, residuals, (size_t)shape->width * shape->height * shape->channel_count);
    if (shape->component_bytes == 1)
        restore(shape, predictor, 1, out_texels);
    else if (shape->component_bytes == 2)
        restore(shape, predictor, 2, out_texels);
    else
        restore(shape, predictor, 4, out_texels);
    if (method & PREDICT_BY_SECOND)
        combine(shape, out_texels, true);
}
