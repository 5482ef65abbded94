#include "textures/format/texel.h"
#include "base/check.h"
#include "base/half.h"
#include "base/srgb.h"
#include <string.h>

SortColorSpace texel_source_color_space(const SortLevelInfo *info, SortColorSpace wanted)
{
    if (wanted != SORT_COLOR_UNKNOWN)
        return wanted;
    if (info->color_space != SORT_COLOR_UNKNOWN)
        return info->color_space;
    return info->type == SORT_TEXEL_U8 ? SORT_COLOR_SRGB : SORT_COLOR_LINEAR;
}

TexWrap texel_source_wrap(SortWrap in_file, TexWrap wanted)
{
    static const TexWrap wraps[] = {[SORT_WRAP_UNKNOWN] = TEX_WRAP_PERIODIC,
                                    [SORT_WRAP_PERIODIC] = TEX_WRAP_PERIODIC,
                                    [SORT_WRAP_CLAMP] = TEX_WRAP_CLAMP,
                                    [SORT_WRAP_MIRROR] = TEX_WRAP_MIRROR,
                                    [SORT_WRAP_BLACK] = TEX_WRAP_BLACK};
    if (wanted != TEX_WRAP_FILE)
        return wanted;
    return (uint32_t)in_file < SORT_COUNT_OF(wraps) ? wraps[in_file] : TEX_WRAP_PERIODIC;
}

void texel_tables_fill(TexelTables *t)
{
    for (int i = 0; i < 256; ++i) {
        t->unorm8[i] = (float)i / 255.0f;
        t->srgb8[i] = srgb_to_linear((float)i / 255.0f);
        t->srgb8_threshold[i] = i == 0 ? 0.0f : srgb_to_linear(((float)i - 0.5f) / 255.0f);
    }
    int code = 0;
    for (int i = 0; i <= 4096; ++i) {
        while (code < 255 && t->srgb8_threshold[code + 1] <= (float)i / 4096.0f)
            ++code;
        t->srgb8_start[i] = (uint8_t)code;
    }
}

static bool is_alpha(uint32_t channel, uint32_t channel_count)
{
    return (channel_count == 2 && channel == 1) || channel == 3;
}

static float unorm16(uint16_t v)
{
    return (float)(v * (1.0 / 65535.0));
}

/* Decodes floats that are sRGB-encoded; the curve continues beyond 1. */
static void decode_wide_srgb(TexelFormat format, float *values, size_t count)
{
    for (uint32_t c = 0; format.is_srgb && c < format.channel_count; ++c) {
        if (is_alpha(c, format.channel_count))
            continue;
        for (size_t i = c; i < count * format.channel_count; i += format.channel_count)
            values[i] = fminf(srgb_to_linear(values[i]), TEXEL_MAX);
    }
}

void texel_decode_row(const TexelTables *tables, TexelFormat format, const void *native,
                      size_t count, float *out)
{
    uint32_t channels = format.channel_count;
    size_t value_count = count * channels;
    switch (format.type) {
    case SORT_TEXEL_U8: {
        const uint8_t *in = native;
        for (uint32_t c = 0; c < channels; ++c) {
            bool is_encoded = format.is_srgb && !is_alpha(c, channels);
            const float *table = is_encoded ? tables->srgb8 : tables->unorm8;
            for (size_t i = c; i < value_count; i += channels)
                out[i] = table[in[i]];
        }
        return;
    }
    case SORT_TEXEL_U16: {
        const uint16_t *in = native;
        for (uint32_t c = 0; c < channels; ++c) {
            bool is_encoded = format.is_srgb && !is_alpha(c, channels);
            for (size_t i = c; i < value_count; i += channels)
                out[i] = is_encoded ? srgb_to_linear(unorm16(in[i])) : unorm16(in[i]);
        }
        return;
    }
    case SORT_TEXEL_HALF:
        half_to_float_array(native, value_count, out);
        decode_wide_srgb(format, out, count);
        return;
    case SORT_TEXEL_FLOAT:
        memcpy(out, native, value_count * sizeof(float));
        decode_wide_srgb(format, out, count);
        return;
    }
    UNREACHABLE();
}

static uint8_t encode_srgb8(const TexelTables *tables, float linear)
{
    float clamped = fminf(fmaxf(linear, 0.0f), 1.0f);
    uint32_t code = tables->srgb8_start[(uint32_t)(clamped * 4096.0f)];
    while (code < 255 && tables->srgb8_threshold[code + 1] <= clamped)
        ++code;
    return (uint8_t)code;
}

void texel_encode_row(const TexelTables *tables, TexelFormat format, const float *values,
                      size_t count, void *out_native)
{
    uint32_t channels = format.channel_count;
    size_t value_count = count * channels;
    switch (format.type) {
    case SORT_TEXEL_U8: {
        uint8_t *out = out_native;
        for (uint32_t c = 0; c < channels; ++c) {
            bool is_encoded = format.is_srgb && !is_alpha(c, channels);
            for (size_t i = c; i < value_count; i += channels) {
                float clamped = fminf(fmaxf(values[i], 0.0f), 1.0f);
                float rounded = clamped * 255.0f + 0.5f;
                out[i] = is_encoded ? encode_srgb8(tables, clamped) : (uint8_t)rounded;
            }
        }
        return;
    }
    case SORT_TEXEL_U16: {
        uint16_t *out = out_native;
        for (uint32_t c = 0; c < channels; ++c) {
            bool is_encoded = format.is_srgb && !is_alpha(c, channels);
            for (size_t i = c; i < value_count; i += channels) {
                float linear = fminf(fmaxf(values[i], 0.0f), 1.0f);
                float v = is_encoded ? srgb_from_linear(linear) : linear;
                out[i] = (uint16_t)((double)v * 65535.0 + 0.5);
            }
        }
        return;
    }
    case SORT_TEXEL_HALF: {
        half *out = out_native;
        for (size_t i = 0; i < value_count; ++i)
            out[i] = half_from_float(fminf(fmaxf(values[i], -HALF_MAX), HALF_MAX));
        return;
    }
    case SORT_TEXEL_FLOAT:
        memcpy(out_native, values, value_count * sizeof(float));
        return;
    }
    UNREACHABLE();
}

void texel_expand(const float *values, uint32_t channel_count, float out_rgba[4])
{
    bool is_color = channel_count >= 3;
    out_rgba[0] = values[0];
    out_rgba[1] = is_color ? values[1] : values[0];
    out_rgba[2] = is_color ? values[2] : values[0];
    out_rgba[3] = channel_count == 2 ? values[1] : channel_count == 4 ? values[3] : 1.0f;
}
