/* Whole files, without a cache: the implementation of `texcache info`, `texcache verify` and `texcache view`.
 * Any thread may call; each call opens the file. */
#include "base/alloc.h"
#include "textures/format/stex_read.h"
#include "textures/format/texel.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

Status texcache_file_header(const char *path, TexInfo *out_info, Error *err)
{
    int fd;
    TRY(stex_open(path, &fd, err));
    StexHeader h;
    uint64_t file_bytes;
    Status status = stex_read_header(fd, path, &h, &file_bytes, err);
    if (status == STATUS_OK)
        stex_describe(&h, out_info);
    stex_close(fd);
    return status;
}

Status texcache_file_info(const char *path, TexInfo *out_info, Error *err)
{
    int fd;
    TRY(stex_open(path, &fd, err));
    StexHeader h;
    uint64_t file_bytes;
    Status status = stex_read_header(fd, path, &h, &file_bytes, err);
    if (status == STATUS_OK) {
        stex_describe(&h, out_info);
        uint32_t level = 0;
        for (uint64_t i = 0; i < h.tile_count && status == STATUS_OK; ++i) {
            while (level + 1u < h.first_tail_level && i >= h.levels[level + 1].first_tile)
                ++level;
            StexTile record;
            TileFailure failure;
            if (stex_read_record(fd, &h, i, &record, &failure)) {
                out_info->levels[level].constant_tiles += (record.flags & STEX_TILE_CONSTANT) != 0;
                out_info->levels[level].stored_bytes += record.stored_bytes;
            } else {
                char reason[256];
                status = error_set_offset(err, STATUS_FORMAT, path, failure.offset,
                                          "tile %" PRIu64 ": %s", i,
                                          stex_failure_text(&failure, reason, sizeof reason));
            }
        }
    }
    stex_close(fd);
    return status;
}

/* --- verify ------------------------------------------------------------------------------- */

typedef struct Verify {
    const StexHeader *header;
    void (*on_damage)(void *data, const TexDamage *damage);
    void *data;
    TexVerifyReport report;
} Verify;

static void note_damage(Verify *v, TexDamagePlace place, uint64_t tile, const TileFailure *failure)
{
    char text[256];
    TexDamage damage = {.place = place,
                        .offset = failure->offset,
                        .has_crc = failure->expected_crc != failure->found_crc,
                        .expected_crc = failure->expected_crc,
                        .found_crc = failure->found_crc,
                        .text = stex_failure_text(failure, text, sizeof text)};
    if (place == TEX_DAMAGE_TILE) {
        stex_tile_place(v->header, tile, &damage.level, &damage.x, &damage.y);
        ++v->report.damaged_tiles;
    }
    ++v->report.damages;
    if (v->on_damage)
        v->on_damage(v->data, &damage);
}

static void verify_length(Verify *v, uint64_t file_bytes)
{
    uint64_t expected = v->header->file_bytes;
    if (file_bytes == expected)
        return;
    char text[128];
    snprintf(text, sizeof text, "the file has %" PRIu64 " bytes, and should have %" PRIu64,
             file_bytes, expected);
    TexDamage damage = {.place = TEX_DAMAGE_LENGTH,
                        .offset = file_bytes < expected ? file_bytes : expected,
                        .text = text};
    ++v->report.damages;
    if (v->on_damage)
        v->on_damage(v->data, &damage);
}

static Status verify_tail(Verify *v, int fd, const char *path, Error *err)
{
    void *tail = mem_alloc(1, (size_t)v->header->tail_bytes);
    if (!tail)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    TileFailure failure;
    if (!stex_check_tail(fd, v->header, tail, &failure))
        note_damage(v, TEX_DAMAGE_TAIL, 0, &failure);
    mem_free(tail);
    return STATUS_OK;
}

static Status verify_tiles(Verify *v, int fd, const char *path, Error *err)
{
    StexInflater *z = stex_inflater_create();
    uint8_t *texels = mem_alloc(1, STEX_TILE_BYTES_MAX);
    bool has_memory = z && texels;
    v->report.tiles = v->header->tile_count;
    for (uint64_t i = 0; i < v->header->tile_count && has_memory; ++i) {
        StexTile record;
        TileFailure failure;
        bool ok = stex_read_record(fd, v->header, i, &record, &failure);
        if (ok && (record.flags & STEX_TILE_CONSTANT)) {
            ++v->report.constant_tiles;
        } else if (ok) {
            v->report.payload_bytes += record.stored_bytes;
            ok = stex_read_payload(fd, v->header, &record, z, texels, &failure);
        }
        if (!ok)
            note_damage(v, TEX_DAMAGE_TILE, i, &failure);
    }
    stex_inflater_destroy(z);
    mem_free(texels);
    return has_memory ? STATUS_OK : error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
}

Status texcache_file_verify(const char *path,
                            void (*on_damage)(void *data, const TexDamage *damage), void *data,
                            TexVerifyReport *out_report, Error *err)
{
    *out_report = (TexVerifyReport){0};
    int fd;
    TRY(stex_open(path, &fd, err));
    StexHeader h;
    uint64_t file_bytes;
    Verify v = {.header = &h, .on_damage = on_damage, .data = data};
    Status status = stex_read_header(fd, path, &h, &file_bytes, err);
    if (status == STATUS_OK) {
        verify_length(&v, file_bytes);
        status = verify_tail(&v, fd, path, err);
    }
    if (status == STATUS_OK)
        status = verify_tiles(&v, fd, path, err);
    stex_close(fd);
    *out_report = v.report;
    return status;
}

/* --- read --------------------------------------------------------------------------------- */

typedef struct RegionReader {
    int fd;
    StexHeader header;
    TexelFormat format;
    TexelTables tables;
    StexInflater *inflater; /* owned */
    uint8_t *texels;        /* owned; the tail or one tile */
    const TexRegion *region;
    float *rgba;
    uint64_t damaged_tiles;
} RegionReader;

/* Copies the part of the region that lies in a block of texels. (x0, y0) is the block's upper left texel in the
 * level, and its rows are `stride` texels long. If `texels` is NULL, the part becomes magenta. */
static void copy_block(RegionReader *r, const uint8_t *texels, uint32_t stride, uint32_t x0,
                       uint32_t y0, uint32_t width, uint32_t height)
{
    static const float missing[4] = {1.0f, 0.0f, 1.0f, 1.0f};
    const TexRegion *g = r->region;
    uint32_t channels = r->header.channel_count, texel_bytes = stex_texel_bytes(&r->header);
    uint32_t x_end = x0 + width < g->x + g->width ? x0 + width : g->x + g->width;
    uint32_t y_end = y0 + height < g->y + g->height ? y0 + height : g->y + g->height;
    for (uint32_t y = y0 > g->y ? y0 : g->y; y < y_end; ++y) {
        for (uint32_t x = x0 > g->x ? x0 : g->x; x < x_end; ++x) {
            float *to = r->rgba + ((size_t)(y - g->y) * g->width + (x - g->x)) * 4;
            if (!texels) {
                memcpy(to, missing, sizeof missing);
                continue;
            }
            float values[4];
            const uint8_t *from = texels + ((size_t)(y - y0) * stride + (x - x0)) * texel_bytes;
            texel_decode_row(&r->tables, r->format, from, 1, values);
            texel_expand(values, channels, to);
        }
    }
}

static bool read_tile(RegionReader *r, uint64_t tile)
{
    StexTile record;
    TileFailure failure;
    if (!stex_read_record(r->fd, &r->header, tile, &record, &failure))
        return false;
    if (!(record.flags & STEX_TILE_CONSTANT))
        return stex_read_payload(r->fd, &r->header, &record, r->inflater, r->texels, &failure);
    uint32_t tile_bytes = stex_tile_bytes(&r->header), texel_bytes = stex_texel_bytes(&r->header);
    for (uint32_t at = 0; at < tile_bytes; at += texel_bytes)
        memcpy(r->texels + at, record.constant, texel_bytes);
    return true;
}

static void read_tiles(RegionReader *r)
{
    const TexRegion *g = r->region;
    const StexLevel *level = &r->header.levels[g->level];
    uint32_t log2_x = stex_tile_width_log2(&r->header), width = 1u << log2_x;
    uint32_t log2_y = stex_tile_height_log2(&r->header), height = 1u << log2_y;
    for (uint32_t y = g->y >> log2_y; y <= (g->y + g->height - 1) >> log2_y; ++y) {
        for (uint32_t x = g->x >> log2_x; x <= (g->x + g->width - 1) >> log2_x; ++x) {
            bool ok = read_tile(r, level->first_tile + (uint64_t)y * level->tiles_x + x);
            r->damaged_tiles += !ok;
            copy_block(r, ok ? r->texels : NULL, width, x << log2_x, y << log2_y, width, height);
        }
    }
}

static Status read_region(RegionReader *r, const char *path, Error *err)
{
    const StexHeader *h = &r->header;
    const TexRegion *g = r->region;
    uint64_t file_bytes;
    TRY(stex_read_header(r->fd, path, &r->header, &file_bytes, err));
    if (g->level >= h->level_count) {
        return error_set_at(err, STATUS_INVALID, path,
                            "has no level %" PRIu32 "; the last one is %d", g->level,
                            h->level_count - 1);
    }
    const StexLevel *level = &h->levels[g->level];
    if (g->width == 0 || g->height == 0 || g->width > level->width || g->height > level->height ||
        g->x > level->width - g->width || g->y > level->height - g->height) {
        return error_set_at(err, STATUS_INVALID, path,
                            "level %" PRIu32 " has %" PRIu32 " x %" PRIu32
                            " texels, and not those that are wanted",
                            g->level, level->width, level->height);
    }
    r->format = (TexelFormat){(SortTexelType)h->texel_type, h->channel_count,
                              h->color_space == SORT_COLOR_SRGB && h->texel_type == SORT_TEXEL_U8};
    texel_tables_fill(&r->tables);
    bool is_packed = g->level >= h->first_tail_level;
    r->inflater = stex_inflater_create();
    r->texels = mem_alloc(1, is_packed ? (size_t)h->tail_bytes : STEX_TILE_BYTES_MAX);
    if (!r->inflater || !r->texels)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    if (!is_packed) {
        read_tiles(r);
        return STATUS_OK;
    }
    TRY(stex_read_tail(r->fd, path, h, r->texels, err));
    copy_block(r, r->texels + level->tail_offset, level->width, 0, 0, level->width, level->height);
    return STATUS_OK;
}

Status texcache_file_read(const char *path, const TexRegion *region, float *out_rgba,
                          uint64_t *out_damaged_tiles, Error *err)
{
    *out_damaged_tiles = 0;
    RegionReader *r = MEM_NEW(RegionReader);
    if (!r)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    r->region = region;
    r->rgba = out_rgba;
    Status status = stex_open(path, &r->fd, err);
    if (status == STATUS_OK) {
        status = read_region(r, path, err);
        stex_close(r->fd);
        stex_inflater_destroy(r->inflater);
        mem_free(r->texels);
    }
    *out_damaged_tiles = r->damaged_tiles;
    mem_free(r);
    return status;
}
