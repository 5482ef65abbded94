#include "textures/convert/decoded_source.h"
#include "base/check.h"
#include <inttypes.h>
#include <string.h>

/* Checks that the levels are those of stex_layout(): each half of the one before, rounded down. */
static Status check_levels(const char *path, const StexHeader *h, const DecodeFile *file,
                           Error *err)
{
    if (file->info.level_count != h->level_count) {
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "has %" PRIu32 " mip levels; down to one texel there would be %d",
                            file->info.level_count, h->level_count);
    }
    for (uint32_t i = 0; i < h->level_count; ++i) {
        if (file->widths[i] != h->levels[i].width || file->heights[i] != h->levels[i].height) {
            return error_set_at(err, STATUS_UNSUPPORTED, path,
                                "its mip level %" PRIu32 " is %" PRIu32 " x %" PRIu32
                                " and not half of the one before, rounded down",
                                i, file->widths[i], file->heights[i]);
        }
    }
    return STATUS_OK;
}

Status decoded_open(DecodePool *pool, const char *path, SortColorSpace color_space,
                    StexHeader *out_header, StexStamp *out_stamp, Error *err)
{
    DecodeFile file;
    TRY(decode_describe(pool, path, &file, err));
    const SortLevelInfo *info = &file.info;
    if (info->width > STEX_SIZE_MAX || info->height > STEX_SIZE_MAX) {
        return error_set_at(err, STATUS_LIMIT, path,
                            "is %" PRIu32 " x %" PRIu32 " pixels; textures go up to %d an axis",
                            info->width, info->height, STEX_SIZE_MAX);
    }
    color_space = texel_source_color_space(info, color_space);
    if (color_space == SORT_COLOR_SRGB && info->type != SORT_TEXEL_U8) {
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "is sRGB in more than 8 bits, which lookups do not decode");
    }
    uint32_t last = info->channel_count - 1;
    bool has_alpha = (last == 1 || last == 3) && info->alpha_channel == (int32_t)last;
    *out_header = (StexHeader){
        .version = STEX_VERSION,
        .width = info->width,
        .height = info->height,
        .channel_count = (uint8_t)info->channel_count,
        .texel_type = (uint8_t)info->type,
        .color_space = (uint8_t)color_space,
        .wrap_s = (uint8_t)texel_source_wrap(info->wrap_s, TEX_WRAP_FILE),
        .wrap_t = (uint8_t)texel_source_wrap(info->wrap_t, TEX_WRAP_FILE),
        .flags = has_alpha && info->is_premultiplied ? (uint32_t)STEX_PREMULTIPLIED : 0u,
        .file_bytes = file.stamp.size_bytes,
    };
    *out_stamp = file.stamp;
    if (!stex_layout(out_header))
        return error_set_at(err, STATUS_LIMIT, path, "has too many tiles");
    return check_levels(path, out_header, &file, err);
}

bool decoded_read_levels(const DecodedFile *file, uint32_t first, uint32_t end, void *out_texels,
                         TileFailure *out_failure)
{
    const StexHeader *h = file->header;
    uint32_t texel_bytes = stex_texel_bytes(h);
    for (uint32_t i = first; i < end; ++i) {
        const StexLevel *level = &h->levels[i];
        size_t texels = (size_t)level->width * level->height;
        uint8_t *out = (uint8_t *)out_texels + (level->tail_offset - h->levels[first].tail_offset);
        DecodeRegion region = {.level = i, .width = level->width, .height = level->height};
        if (!decode_read(file->pool, file->path, file->stamp, &region, out, texels * texel_bytes,
                         out_failure))
            return false;
        texel_repair(file->format, out, level->width, level->height, texel_bytes);
    }
    return true;
}

/* Spreads consecutive rows of `width` texels to the row pitch of a tile, in place, repeating the last column
 * and row. The loop runs from the last row up, since a row's new place never lies before its old one. */
static void spread_rows(uint8_t *texels, uint32_t width, uint32_t height, uint32_t tile_width,
                        uint32_t tile_height, uint32_t texel_bytes)
{
    ASSERT(width >= 1 && width <= tile_width && height >= 1 && height <= tile_height);
    size_t row_bytes = (size_t)width * texel_bytes, tile_row = (size_t)tile_width * texel_bytes;
    for (uint32_t y = height; y-- > 0;) {
        uint8_t *row = texels + y * tile_row;
        memmove(row, texels + y * row_bytes, row_bytes);
        for (uint32_t x = width; x < tile_width; ++x)
            memcpy(row + (size_t)x * texel_bytes, row + row_bytes - texel_bytes, texel_bytes);
    }
    for (uint32_t y = height; y < tile_height; ++y)
        memcpy(texels + y * tile_row, texels + (height - 1) * tile_row, tile_row);
}

bool decoded_read_tile(const DecodedFile *file, uint64_t tile, void *out_texels,
                       TileFailure *out_failure)
{
    const StexHeader *h = file->header;
    uint32_t tile_width = 1u << stex_tile_width_log2(h), texel_bytes = stex_texel_bytes(h);
    uint32_t tile_height = 1u << stex_tile_height_log2(h);
    DecodeRegion region;
    stex_tile_place(h, tile, &region.level, &region.x, &region.y);
    ASSERT(tile < h->tile_count);
    const StexLevel *level = &h->levels[region.level];
    region.x <<= stex_tile_width_log2(h);
    region.y <<= stex_tile_height_log2(h);
    region.width = level->width - region.x < tile_width ? level->width - region.x : tile_width;
    region.height = level->height - region.y < tile_height ? level->height - region.y : tile_height;
    size_t texels = (size_t)region.width * region.height;
    if (!decode_read(file->pool, file->path, file->stamp, &region, out_texels, texels * texel_bytes,
                     out_failure))
        return false;
    texel_repair(file->format, out_texels, region.width, region.height, texel_bytes);
    if (region.width < tile_width || region.height < tile_height)
        spread_rows(out_texels, region.width, region.height, tile_width, tile_height, texel_bytes);
    return true;
}
