#include "textures/stex_format.h"
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

uint32_t stex_tile_bytes(const StexHeader *h)
{
    return stex_texel_bytes(h) << (2 * h->tile_log2);
}

bool stex_layout(StexHeader *h)
{
    uint32_t texel_bytes = stex_texel_bytes(h);
    h->tile_log2 = texel_bytes <= 4 ? 6 : 5;
    uint32_t tile_size = 1u << h->tile_log2;
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
        if (width <= tile_size && height <= tile_size) {
            level->tail_offset = h->tail_bytes;
            h->tail_bytes += (uint64_t)width * height * texel_bytes;
        } else {
            h->first_tail_level = h->level_count;
            level->tiles_x = (width + tile_size - 1) >> h->tile_log2;
            level->tiles_y = (height + tile_size - 1) >> h->tile_log2;
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
        level++;
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
    out_info->tile_size = 1u << h->tile_log2;
    out_info->level_count = h->level_count;
    out_info->first_tail_level = h->first_tail_level;
    out_info->tail_texels = (uint32_t)(h->tail_bytes / stex_texel_bytes(h));
    out_info->tile_count = h->tile_count;
    out_info->file_bytes = h->file_bytes;
    memcpy(out_info->average_rgba, h->average_rgba, sizeof h->average_rgba);
    memcpy(out_info->source_digest, h->source_digest, sizeof h->source_digest);
    for (uint32_t i = 0; i < h->level_count; i++) {
        out_info->levels[i].width = h->levels[i].width;
        out_info->levels[i].height = h->levels[i].height;
        out_info->levels[i].tiles_x = h->levels[i].tiles_x;
        out_info->levels[i].tiles_y = h->levels[i].tiles_y;
    }
}
