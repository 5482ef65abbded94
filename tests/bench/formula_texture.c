#include "tests/bench/formula_texture.h"
#include "base/alloc.h"
#include "base/hash.h"
#include <inttypes.h>
#include <stdio.h>

/* What the name of a picture says: the decoder has no other data of its own. */
#define NAME_FORMAT "formula %" PRIu32 " %" PRIu32 " %" PRIu32
#define NAME_SCAN   "formula %" SCNu32 " %" SCNu32 " %" SCNu32

typedef struct Formula {
    uint32_t size, channel_count, number;
} Formula;

static SortResult formula_open(const SortHostApi *api, const char *path, SortImage **out_image,
                               SortFailure *why)
{
    Formula *f = MEM_NEW(Formula);
    SORT_UNUSED(api);
    if (!f) {
        snprintf(why->text, sizeof why->text, "out of memory");
        return SORT_ERROR_NO_MEMORY;
    }
    if (sscanf(path, NAME_SCAN, &f->size, &f->channel_count, &f->number) != 3) {
        snprintf(why->text, sizeof why->text, "no formula has this name");
        mem_free(f);
        return SORT_ERROR_FORMAT;
    }
    *out_image = (SortImage *)(void *)f;
    return SORT_OK;
}

static SortResult formula_level(SortImage *image, uint32_t subimage, uint32_t level,
                                SortLevelInfo *out_info, SortFailure *why)
{
    const Formula *f = (const Formula *)(const void *)image;
    SORT_UNUSED(subimage);
    SORT_UNUSED(level);
    SORT_UNUSED(why);
    *out_info = (SortLevelInfo){.size_bytes = sizeof *out_info,
                                .width = f->size,
                                .height = f->size,
                                .channel_count = f->channel_count,
                                .type = SORT_TEXEL_U8,
                                .level_count = 1,
                                .subimage_count = 1,
                                .color_space = SORT_COLOR_RAW,
                                .alpha_channel = -1,
                                .format_name = "formula"};
    return SORT_OK;
}

static SortResult formula_read(SortImage *image, const SortRegion *region, void *out_texels,
                               size_t out_bytes, SortFailure *why)
{
    const Formula *f = (const Formula *)(const void *)image;
    uint8_t *out = out_texels;
    SORT_UNUSED(out_bytes);
    SORT_UNUSED(why);
    uint32_t hue = (uint32_t)hash_mix64(f->number);
    for (uint32_t y = region->y; y < region->y + region->height; ++y) {
        for (uint32_t x = region->x; x < region->x + region->width; ++x) {
            uint32_t noise = (x * 0x9e3779b1u ^ y * 0x85ebca77u ^ hue) * 0xc2b2ae3du;
            uint32_t wave = (x >> 3 ^ y >> 4) + (hue >> 8);
            for (uint32_t c = 0; c < f->channel_count; ++c)
                *out++ = (uint8_t)(64 + ((hue >> 8 * c) & 63) + ((wave << c) & 63) +
                                   (noise >> (26 + c)));
        }
    }
    return SORT_OK;
}

static void formula_close(SortImage *image)
{
    mem_free(image);
}

Status formula_texture_write(const char *path, uint32_t size, uint32_t channel_count,
                             uint32_t number, Error *err)
{
    static const char *const no_suffixes[] = {NULL};
    static const SortImageDecoder decoder = {.size_bytes = sizeof decoder,
                                             .name = "formula",
                                             .suffixes = no_suffixes,
                                             .open = formula_open,
                                             .level = formula_level,
                                             .read = formula_read,
                                             .close = formula_close};
    char name[64];
    snprintf(name, sizeof name, NAME_FORMAT, size, channel_count, number);
    TexConvertDesc desc = {
        .size_bytes = sizeof desc, .decoder = &decoder, .source_path = name, .output_path = path};
    return texcache_convert(&desc, NULL, err);
}
