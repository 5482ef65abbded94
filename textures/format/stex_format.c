#include "textures/format/stex_format.h"
#include "base/cast.h"
#include "base/crc32c.h"
#include <string.h>

uint32_t stex_component_bytes(SortTexelType type)
{
    switch (type) {
    case SORT_TEXEL_U8:
        return 1;
    case SORT_TEXEL_U16:
    case SORT_TEXEL_HALF:
        return 2;
    case SORT_TEXEL_FLOAT:
        return 4;
    }
    UNREACHABLE();
}

uint32_t stex_texel_bytes(const StexHeader *h)
{
    return h->channel_count * stex_component_bytes((SortTexelType)h->texel_type);
}

uint32_t stex_tile_width_log2(const StexHeader *h)
{
    return h->version == 1 ? h->tile_log2 : h->tile_log2 & 15u;
}

uint32_t stex_tile_height_log2(const StexHeader *h)
{
    return h->version == 1 ? h->tile_log2 : h->tile_log2 >> 4;
}

uint32_t stex_tile_bytes(const StexHeader *h)
{
    return stex_texel_bytes(h) << (stex_tile_width_log2(h) + stex_tile_height_log2(h));
}

PredictShape stex_tile_shape(const StexHeader *h)
{
    return (PredictShape){.width = 1u << stex_tile_width_log2(h),
                          .height = 1u << stex_tile_height_log2(h),
                          .channel_count = h->channel_count,
                          .component_bytes = stex_component_bytes((SortTexelType)h->texel_type)};
}

/* Returns the number of texels of level 0 when padded to whole tiles of that size. */
static uint64_t padded_texels(const StexHeader *h, uint32_t width_log2, uint32_t height_log2)
{
    uint64_t across = (((uint64_t)h->width - 1) >> width_log2) + 1;
    uint64_t down = (((uint64_t)h->height - 1) >> height_log2) + 1;
    return across * down << (width_log2 + height_log2);
}

/* Chooses the shape of tiles of 2^area_log2 texels: the most square one with at most a fifth of its texels
 * beyond the edges, or where none satisfies that, the one with the fewest beyond. Thin textures therefore have
 * thin tiles. */
static void choose_tile_shape(StexHeader *h, uint32_t area_log2)
{
    uint64_t texels = (uint64_t)h->width * h->height, best = UINT64_MAX;
    uint32_t side = area_log2 / 2;
    for (uint32_t stretch = 0; stretch <= side; ++stretch) {
        for (uint32_t is_tall = 0; is_tall < 2; ++is_tall) {
            uint32_t width_log2 = is_tall ? side - stretch : side + stretch;
            uint64_t padded = padded_texels(h, width_log2, area_log2 - width_log2);
            if (padded < best) {
                best = padded;
                h->tile_log2 = (uint8_t)(width_log2 | (area_log2 - width_log2) << 4);
            }
        }
        if (4 * best <= 5 * texels)
            return;
    }
}

bool stex_layout(StexHeader *h)
{
    uint32_t texel_bytes = stex_texel_bytes(h);
    uint32_t side_log2 = texel_bytes <= 4 ? 6 : 5;
    h->tile_log2 = (uint8_t)side_log2;
    if (h->version > 1)
        choose_tile_shape(h, 2 * side_log2);
    uint32_t width_log2 = stex_tile_width_log2(h), height_log2 = stex_tile_height_log2(h);
    memset(h->levels, 0, sizeof h->levels);
    h->tile_count = 0;
    h->tail_bytes = 0;
    h->level_count = 0;
    h->first_tail_level = 0;

    uint32_t width = h->width, height = h->height;
    for (;;) {
        ASSERT(h->level_count < TEX_MAX_LEVELS);
        StexLevel *level = &h->levels[h->level_count++];
        level->width = width;
        level->height = height;
        if (width <= 1u << width_log2 && height <= 1u << height_log2) {
            level->tail_offset = h->tail_bytes;
            h->tail_bytes += (uint64_t)width * height * texel_bytes;
        } else {
            h->first_tail_level = h->level_count;
            level->tiles_x = ((width - 1) >> width_log2) + 1;
            level->tiles_y = ((height - 1) >> height_log2) + 1;
            level->first_tile = h->tile_count;
            h->tile_count += (uint64_t)level->tiles_x * level->tiles_y;
        }
        if (width == 1 && height == 1)
            break;
        width = width > 1 ? width / 2 : 1;
        height = height > 1 ? height / 2 : 1;
    }
    if (h->tile_count > STEX_TILE_COUNT_MAX)
        return false;
    h->index_offset = STEX_PAGE_BYTES;
    h->tail_offset = h->index_offset + h->tile_count * sizeof(StexTile);
    h->data_offset = size_align(h->tail_offset + h->tail_bytes, STEX_PAGE_BYTES);
    return true;
}

void stex_shorten(const StexHeader *h, StexBrief *out_brief)
{
    memcpy(out_brief, h, sizeof *out_brief);
}

void stex_restore(const StexBrief *brief, StexHeader *out_header)
{
    *out_header = (StexHeader){0};
    memcpy(out_header, brief, sizeof *brief);
    CHECK(stex_layout(out_header));
}

uint32_t stex_header_crc(const StexHeader *h)
{
    uint8_t page[STEX_PAGE_BYTES] = {0};
    memcpy(page, h, sizeof *h);
    memset(page + offsetof(StexHeader, header_crc), 0, sizeof h->header_crc);
    return crc32c(0, page, sizeof page);
}

uint32_t stex_record_crc(const StexTile *t, uint64_t tile)
{
    uint32_t crc = crc32c(0, t, offsetof(StexTile, record_crc));
    return crc32c(crc, &tile, sizeof tile);
}

void stex_tile_place(const StexHeader *h, uint64_t tile, uint32_t *out_level, uint32_t *out_x,
                     uint32_t *out_y)
{
    uint32_t level = 0;
    while (level + 1u < h->first_tail_level && tile >= h->levels[level + 1].first_tile)
        ++level;
    uint64_t index = tile - h->levels[level].first_tile;
    *out_level = level;
    *out_x = (uint32_t)(index % h->levels[level].tiles_x);
    *out_y = (uint32_t)(index / h->levels[level].tiles_x);
}

void stex_describe(const StexHeader *h, TexInfo *out_info)
{
    memset(out_info, 0, sizeof *out_info);
    out_info->width = h->width;
    out_info->height = h->height;
    out_info->channel_count = h->channel_count;
    out_info->type = (SortTexelType)h->texel_type;
    out_info->color_space = (SortColorSpace)h->color_space;
    out_info->is_premultiplied = (h->flags & STEX_PREMULTIPLIED) != 0;
    out_info->is_compressed = (h->flags & STEX_COMPRESSED) != 0;
    out_info->wrap_s = (TexWrap)h->wrap_s;
    out_info->wrap_t = (TexWrap)h->wrap_t;
    out_info->tile_width = 1u << stex_tile_width_log2(h);
    out_info->tile_height = 1u << stex_tile_height_log2(h);
    out_info->level_count = h->level_count;
    out_info->first_tail_level = h->first_tail_level;
    out_info->tail_texels = (uint32_t)(h->tail_bytes / stex_texel_bytes(h));
    out_info->tile_count = h->tile_count;
    out_info->file_bytes = h->file_bytes;
    memcpy(out_info->average_rgba, h->average_rgba, sizeof h->average_rgba);
    memcpy(out_info->source_digest, h->source_digest, sizeof h->source_digest);
    for (uint32_t i = 0; i < h->level_count; ++i) {
        out_info->levels[i].width = h->levels[i].width;
        out_info->levels[i].height = h->levels[i].height;
        out_info->levels[i].tiles_x = h->levels[i].tiles_x;
        out_info->levels[i].tiles_y = h->levels[i].tiles_y;
    }
    memcpy(out_info->notes, h->notes, sizeof h->notes);
}
