#include "plugins/oiio/color_tag.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t u16_at(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t u32_at(const unsigned char *at)
{
    return u16_at(at) << 16 | u16_at(at + 2);
}

ColorTag color_tag_of_gamma(double gamma)
{
    if (gamma > 0.99 && gamma < 1.01)
        return COLOR_TAG_LINEAR;
    return gamma > 1.7 && gamma < 2.6 ? COLOR_TAG_ENCODED : COLOR_TAG_OTHER;
}

/* Classifies a curve by the light of its middle value. */
static ColorTag tag_of_middle(double light)
{
    return light > 0.0 && light < 1.0 ? color_tag_of_gamma(log(light) / log(0.5)) : COLOR_TAG_OTHER;
}

/* --- ICC profiles -------------------------------------------------------------------------- */

/* Classifies a curve given by samples, by one exponent, or as the identity if it has neither. */
static ColorTag tag_of_table(const unsigned char *curve, size_t size_bytes)
{
    if (size_bytes < 12)
        return COLOR_TAG_OTHER;
    uint32_t count = u32_at(curve + 8);
    if (count == 0)
        return COLOR_TAG_LINEAR;
    if (count > (size_bytes - 12) / 2)
        return COLOR_TAG_OTHER;
    if (count == 1)
        return color_tag_of_gamma(u16_at(curve + 12) / 256.0);
    const unsigned char *low = curve + 12 + (size_t)((count - 1) / 2) * 2,
                        *high = curve + 12 + (size_t)(count / 2) * 2;
    return tag_of_middle((u16_at(low) + u16_at(high)) / (2.0 * 65535.0));
}

/* Classifies the curve y = (a x + b)^g + e, above x = d. */
static ColorTag tag_of_formula(const unsigned char *curve, size_t size_bytes)
{
    enum { KINDS = 5, NUMBERS_MAX = 7 };
    static const uint32_t number_counts[KINDS] = {1, 3, 4, 5, 7};
    uint32_t kind = size_bytes >= 12 ? u16_at(curve + 8) : KINDS;
    if (kind >= KINDS || (size_bytes - 12) / 4 < number_counts[kind])
        return COLOR_TAG_OTHER;
    double n[NUMBERS_MAX] = {0};
    for (uint32_t i = 0; i < number_counts[kind]; ++i)
        n[i] = (int32_t)u32_at(curve + 12 + (size_t)i * 4) / 65536.0;
    double a = kind == 0 ? 1.0 : n[1], b = n[2], begin = kind >= 3 ? n[4] : 0.0;
    double added = kind == 2 ? n[3] : n[5];
    if (begin > 0.5 || a * 0.5 + b <= 0.0)
        return COLOR_TAG_OTHER;
    return tag_of_middle(pow(a * 0.5 + b, n[0]) + added);
}

ColorTag color_tag_of_icc(const void *profile, size_t size_bytes)
{
    enum { HEADER = 128, RECORD = 12, TAGS_MAX = 1000 };
    const unsigned char *bytes = profile;
    uint32_t count = size_bytes >= HEADER + 4 ? u32_at(bytes + HEADER) : 0;
    for (uint32_t i = 0; i < count && i < TAGS_MAX; ++i) {
        size_t at = HEADER + 4 + (size_t)i * RECORD;
        if (at + RECORD > size_bytes)
            break;
        const unsigned char *record = bytes + at;
        size_t offset = u32_at(record + 4), length = u32_at(record + 8);
        bool is_curve = memcmp(record, "rTRC", 4) == 0 || memcmp(record, "kTRC", 4) == 0;
        if (!is_curve || offset > size_bytes || length > size_bytes - offset || length < 4)
            continue;
        if (memcmp(bytes + offset, "curv", 4) == 0)
            return tag_of_table(bytes + offset, length);
        if (memcmp(bytes + offset, "para", 4) == 0)
            return tag_of_formula(bytes + offset, length);
    }
    return COLOR_TAG_OTHER;
}

/* --- PNG ----------------------------------------------------------------------------------- */

/* Classifies the transfer characteristics that cICP names by number [ITU2021]. */
static ColorTag tag_of_transfer(unsigned transfer)
{
    switch (transfer) {
    case 8:
        return COLOR_TAG_LINEAR;
    case 1:  /* television */
    case 4:  /* gamma 2.2 */
    case 6:  /* television */
    case 13: /* sRGB */
    case 14: /* television */
    case 15: /* television */
        return COLOR_TAG_ENCODED;
    default:
        return COLOR_TAG_OTHER;
    }
}

ColorTag color_tag_of_png(const char *path, bool *out_is_cicp)
{
    enum { CHUNKS_MAX = 1000 };
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    unsigned char start[8] = {0}, head[8], data[4];
    ColorTag by_gamma = COLOR_TAG_NONE, tag = COLOR_TAG_NONE;
    *out_is_cicp = false;
    FILE *file = fopen(path, "rb");
    if (!file)
        return COLOR_TAG_NONE;
    bool is_open = fread(start, sizeof start, 1, file) == 1 && memcmp(start, signature, 8) == 0;
    for (int i = 0; is_open && i < CHUNKS_MAX && fread(head, sizeof head, 1, file) == 1; ++i) {
        uint32_t length = u32_at(head);
        if (memcmp(head + 4, "IDAT", 4) == 0)
            break;
        bool has_data = length >= sizeof data && fread(data, sizeof data, 1, file) == 1;
        if (has_data && memcmp(head + 4, "cICP", 4) == 0) {
            tag = tag_of_transfer(data[1]);
            *out_is_cicp = true;
            break;
        }
        if (memcmp(head + 4, "sRGB", 4) == 0)
            tag = COLOR_TAG_ENCODED;
        uint32_t gamma = has_data && memcmp(head + 4, "gAMA", 4) == 0 ? u32_at(data) : 0;
        if (gamma > 0) /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): it is not, as tested */
            by_gamma = color_tag_of_gamma(1e5 / gamma);
        /* includes the check sum */
        long rest = (long)length - (has_data ? (long)sizeof data : 0) + 4;
        is_open = fseek(file, rest, SEEK_CUR) == 0;
    }
    fclose(file);
    return tag != COLOR_TAG_NONE ? tag : by_gamma;
}
