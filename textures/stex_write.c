/* A paged level collects rows in its band (one row of tiles, padded to whole tiles). A full band is
 * cut into tiles, which go to the end of the file; their index records are written to their place
 * near the front right away, so that memory does not grow with the image. */
#include "textures/stex_write.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/crc32c.h"
#include "base/file.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

typedef struct LevelBand {
    uint8_t *texels; /* owned; tiles_x * tile_size columns, tile_size rows; NULL in the tail */
    uint32_t rows_fed;
} LevelBand;

struct StexWriter {
    StexHeader header;
    FileReplace file;
    uint64_t end; /* where the next payload goes */
    uint64_t constant_tiles;
    LevelBand bands[TEX_MAX_LEVELS];
    uint8_t *tail;     /* owned; header.tail_bytes */
    StexTile *records; /* owned; one row of tiles of level 0 */
    uint8_t *tile;     /* owned; one tile */
    bool has_deflate;
    z_stream deflate;
    uint8_t packed[STEX_TILE_BYTES_MAX];
};

static void writer_free(StexWriter *w)
{
    for (uint32_t i = 0; i < TEX_MAX_LEVELS; i++)
        mem_free(w->bands[i].texels);
    mem_free(w->tail);
    mem_free(w->records);
    mem_free(w->tile);
    if (w->has_deflate)
        deflateEnd(&w->deflate);
    mem_free(w);
}

static Status write_at(StexWriter *w, uint64_t offset, const void *data, size_t size_bytes,
                       Error *err)
{
    if (fseeko(w->file.stream, (off_t)offset, SEEK_SET) != 0 ||
        fwrite(data, 1, size_bytes, w->file.stream) != size_bytes)
        return error_set_at(err, STATUS_IO, w->file.path, "cannot be written: %s", strerror(errno));
    return STATUS_OK;
}

/* Memory for bands, tail and scratch. */
static bool writer_allocate(StexWriter *w)
{
    const StexHeader *h = &w->header;
    uint32_t tile_bytes = stex_tile_bytes(h);
    bool ok = true;
    for (uint32_t i = 0; i < h->first_tail_level; i++) {
        w->bands[i].texels = mem_alloc(h->levels[i].tiles_x, tile_bytes);
        ok = ok && w->bands[i].texels;
    }
    w->tail = mem_alloc(1, (size_t)h->tail_bytes);
    w->tile = mem_alloc(1, tile_bytes);
    w->records = MEM_ARRAY(StexTile, h->levels[0].tiles_x + 1);
    ok = ok && w->tail && w->tile && w->records;
    if (ok && (h->flags & STEX_COMPRESSED)) {
        w->has_deflate = deflateInit(&w->deflate, Z_DEFAULT_COMPRESSION) == Z_OK;
        ok = w->has_deflate;
    }
    return ok;
}

Status stex_writer_begin(const char *path, const StexHeader *format, StexWriter **out_writer,
                         Error *err)
{
    *out_writer = NULL;
    StexWriter *w = MEM_NEW(StexWriter);
    if (!w)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    StexHeader *h = &w->header;
    *h = *format;
    if (!stex_layout(h)) {
        mem_free(w);
        return error_set_at(err, STATUS_LIMIT, path,
                            "a texture of %" PRIu32 " x %" PRIu32 " texels has more than %d tiles",
                            format->width, format->height, STEX_TILE_COUNT_MAX);
    }
    memcpy(h->magic, STEX_MAGIC, sizeof h->magic);
    h->version = STEX_VERSION;
    w->end = h->data_offset;
    if (!writer_allocate(w)) {
        writer_free(w);
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    }
    Status status = file_replace_begin(path, &w->file, err);
    if (status != STATUS_OK) {
        writer_free(w);
        return status;
    }
    *out_writer = w;
    return STATUS_OK;
}

void stex_writer_set_level(StexWriter *w, uint32_t level)
{
    ASSERT(w->has_deflate && level >= 1 && level <= 9);
    (void)deflateParams(&w->deflate, (int)level, Z_DEFAULT_STRATEGY); /* nothing is under way */
}

const StexHeader *stex_writer_header(const StexWriter *w)
{
    return &w->header;
}

static bool is_constant(const uint8_t *texels, uint32_t texel_bytes, uint32_t tile_bytes)
{
    /* Equal to itself shifted by one texel. */
    return memcmp(texels, texels + texel_bytes, tile_bytes - texel_bytes) == 0;
}

/* Appends the payload of w->tile and describes it. */
static Status write_tile(StexWriter *w, uint64_t tile, StexTile *out_record, Error *err)
{
    const StexHeader *h = &w->header;
    uint32_t tile_bytes = stex_tile_bytes(h), texel_bytes = stex_texel_bytes(h);
    StexTile record = {0};
    if (is_constant(w->tile, texel_bytes, tile_bytes)) {
        record.flags = STEX_TILE_CONSTANT;
        memcpy(record.constant, w->tile, texel_bytes);
        w->constant_tiles++;
    } else {
        const uint8_t *payload = w->tile;
        record.stored_bytes = tile_bytes;
        if (w->has_deflate) {
            deflateReset(&w->deflate);
            w->deflate.next_in = w->tile;
            w->deflate.avail_in = tile_bytes;
            w->deflate.next_out = w->packed;
            w->deflate.avail_out =
                tile_bytes - tile_bytes / 16; /* else it is not worth inflating */
            if (deflate(&w->deflate, Z_FINISH) == Z_STREAM_END) {
                record.flags = STEX_TILE_ZLIB;
                record.stored_bytes = (uint32_t)w->deflate.total_out;
                payload = w->packed;
            }
        } else {
            w->end = size_align(w->end, STEX_PAGE_BYTES);
        }
        record.offset = w->end;
        record.payload_crc = crc32c(0, payload, record.stored_bytes);
        TRY(write_at(w, w->end, payload, record.stored_bytes, err));
        w->end += record.stored_bytes;
    }
    record.record_crc = stex_record_crc(&record, tile);
    *out_record = record;
    return STATUS_OK;
}

/* Cuts the band, which holds row `tile_y` of the level's tiles, into tiles. */
static Status flush_band(StexWriter *w, uint32_t level_index, uint32_t tile_y, Error *err)
{
    const StexHeader *h = &w->header;
    const StexLevel *level = &h->levels[level_index];
    uint32_t tile_size = 1u << h->tile_log2;
    size_t tile_row_bytes = (size_t)stex_texel_bytes(h) << h->tile_log2;
    size_t band_row_bytes = tile_row_bytes * level->tiles_x;
    uint64_t first = level->first_tile + (uint64_t)tile_y * level->tiles_x;
    for (uint32_t x = 0; x < level->tiles_x; x++) {
        for (uint32_t y = 0; y < tile_size; y++) {
            memcpy(w->tile + y * tile_row_bytes,
                   w->bands[level_index].texels + y * band_row_bytes + x * tile_row_bytes,
                   tile_row_bytes);
        }
        TRY(write_tile(w, first + x, &w->records[x], err));
    }
    return write_at(w, h->index_offset + first * sizeof(StexTile), w->records,
                    level->tiles_x * sizeof(StexTile), err);
}

Status stex_writer_row(StexWriter *w, uint32_t level_index, const void *texels, Error *err)
{
    const StexHeader *h = &w->header;
    const StexLevel *level = &h->levels[level_index];
    LevelBand *band = &w->bands[level_index];
    ASSERT(level_index < h->level_count && band->rows_fed < level->height);
    uint32_t texel_bytes = stex_texel_bytes(h);
    size_t row_bytes = (size_t)level->width * texel_bytes;
    uint32_t row = band->rows_fed++;
    if (level_index >= h->first_tail_level) {
        memcpy(w->tail + level->tail_offset + row * row_bytes, texels, row_bytes);
        return STATUS_OK;
    }

    /* Pad to the right with the last texel. */
    uint32_t tile_size = 1u << h->tile_log2;
    size_t band_row_bytes = (size_t)level->tiles_x * tile_size * texel_bytes;
    uint8_t *to = band->texels + (row & (tile_size - 1)) * band_row_bytes;
    memcpy(to, texels, row_bytes);
    for (size_t at = row_bytes; at < band_row_bytes; at += texel_bytes)
        memcpy(to + at, to + row_bytes - texel_bytes, texel_bytes);

    bool is_last = band->rows_fed == level->height;
    if (is_last) { /* pad downwards with the last row */
        for (uint32_t y = (row & (tile_size - 1)) + 1; y < tile_size; y++)
            memcpy(band->texels + y * band_row_bytes, to, band_row_bytes);
    }
    if (is_last || (band->rows_fed & (tile_size - 1)) == 0)
        return flush_band(w, level_index, row >> h->tile_log2, err);
    return STATUS_OK;
}

Status stex_writer_finish(StexWriter *w, const float average_rgba[4], const uint8_t digest[16],
                          uint64_t *out_constant_tiles, uint64_t *out_file_bytes, Error *err)
{
    StexHeader *h = &w->header;
    for (uint32_t i = 0; i < h->level_count; i++)
        ASSERT(w->bands[i].rows_fed == h->levels[i].height);
    memcpy(h->average_rgba, average_rgba, sizeof h->average_rgba);
    memcpy(h->source_digest, digest, sizeof h->source_digest);
    h->tail_crc = crc32c(0, w->tail, (size_t)h->tail_bytes);
    h->file_bytes = w->end;
    h->header_crc = stex_header_crc(h);
    *out_constant_tiles = w->constant_tiles;
    *out_file_bytes = h->file_bytes;

    uint8_t page[STEX_PAGE_BYTES] = {0};
    memcpy(page, h, sizeof *h);
    /* The tables end at data_offset; pad up to there, for a file without payloads. */
    uint64_t tail_end = h->tail_offset + h->tail_bytes;
    static const uint8_t zeros[STEX_PAGE_BYTES];
    Status status = write_at(w, 0, page, sizeof page, err);
    if (status == STATUS_OK)
        status = write_at(w, h->tail_offset, w->tail, (size_t)h->tail_bytes, err);
    if (status == STATUS_OK && h->data_offset > tail_end)
        status = write_at(w, tail_end, zeros, (size_t)(h->data_offset - tail_end), err);
    if (status == STATUS_OK)
        status = file_replace_commit(&w->file, err);
    else
        file_replace_abandon(&w->file);
    writer_free(w);
    return status;
}

void stex_writer_abandon(StexWriter *w)
{
    if (!w)
        return;
    file_replace_abandon(&w->file);
    writer_free(w);
}
