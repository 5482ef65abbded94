/* Texels that are not numbers are replaced by the mean of their neighbours. A firefly of a renderer, or a sun
 * that a camera could not record, is a single texel, and an invented number would change the average of the
 * picture. */
#include "base/check.h"
#include "base/half.h"
#include "textures/format/texel.h"
#include <math.h>

/* Reads a value as a float. Only for half and float texels. */
static float value_at(SortTexelType type, const void *texels, size_t i)
{
    return type == SORT_TEXEL_HALF ? half_to_float(((const half *)texels)[i])
                                   : ((const float *)texels)[i];
}

static void set_value(SortTexelType type, void *texels, size_t i, float value)
{
    if (type == SORT_TEXEL_HALF)
        ((half *)texels)[i] = half_from_float(fminf(fmaxf(value, -HALF_MAX), HALF_MAX));
    else
        ((float *)texels)[i] = value;
}

static float limited(float value)
{
    return fminf(fmaxf(value, -TEXEL_MAX), TEXEL_MAX);
}

/* Adds the finite values of up to three texels of a row around column x. */
static void add_neighbours(const TexelRow *r, const void *texels, size_t x, uint32_t channel,
                           double *sum, uint32_t *count)
{
    if (!texels)
        return;
    for (size_t at = x > 0 ? x - 1 : 0; at <= x + 1 && at < r->width; ++at) {
        float value = value_at(r->format.type, texels, at * r->format.channel_count + channel);
        if (!isfinite(value))
            continue;
        *sum += (double)limited(value);
        ++*count;
    }
}

/* Returns the first finite value of a channel from column x on, in this row and those below; 0 if there is
 * none. */
static float next_finite(const TexelRow *r, size_t x, uint32_t channel)
{
    const uint32_t channels = r->format.channel_count;
    for (uint32_t row = 0; row <= r->below_count; ++row) {
        for (size_t at = row == 0 ? x : 0; at < r->width; ++at) {
            const void *texels = row == 0 ? r->texels : r->below;
            size_t first = row == 0 ? 0 : (size_t)(row - 1) * r->width;
            float value = value_at(r->format.type, texels, (first + at) * channels + channel);
            if (isfinite(value))
                return limited(value);
        }
    }
    return 0.0f;
}

static float mean_of_neighbours(const TexelRow *r, size_t x, uint32_t channel)
{
    double sum = 0.0;
    uint32_t count = 0;
    add_neighbours(r, r->above, x, channel, &sum, &count);
    add_neighbours(r, r->texels, x, channel, &sum, &count);
    add_neighbours(r, r->below_count > 0 ? r->below : NULL, x, channel, &sum, &count);
    ASSERT(count <= 8 && isfinite(sum));
    return count > 0 ? (float)(sum / count) : next_finite(r, x, channel);
}

size_t texel_repair_row(const TexelRow *r)
{
    const TexelFormat format = r->format;
    ASSERT(format.channel_count >= 1 && format.channel_count <= 4);
    ASSERT(r->below_count == 0 || r->below);
    size_t repaired = 0;
    if (format.type != SORT_TEXEL_HALF && format.type != SORT_TEXEL_FLOAT)
        return 0;
    for (size_t x = 0; x < r->width; ++x) {
        bool is_broken = false;
        for (uint32_t c = 0; c < format.channel_count; ++c) {
            size_t i = x * format.channel_count + c;
            float value = value_at(format.type, r->texels, i);
            if (SORT_LIKELY(fabsf(value) <= TEXEL_MAX))
                continue;
            set_value(format.type, r->texels, i,
                      isfinite(value) ? limited(value) : mean_of_neighbours(r, x, c));
            is_broken = true;
        }
        repaired += is_broken;
    }
    return repaired;
}

size_t texel_repair(TexelFormat format, void *texels, uint32_t width, uint32_t height,
                    size_t texel_bytes)
{
    size_t repaired = 0, row_bytes = width * texel_bytes;
    for (uint32_t y = 0; y < height; ++y) {
        uint8_t *row = (uint8_t *)texels + y * row_bytes;
        repaired += texel_repair_row(&(TexelRow){.format = format,
                                                 .width = width,
                                                 .above = y > 0 ? row - row_bytes : NULL,
                                                 .texels = row,
                                                 .below = row + row_bytes,
                                                 .below_count = height - 1 - y});
    }
    return repaired;
}
