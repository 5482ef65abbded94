/* A paged level collects rows in its band (one row of tiles, padded to whole tiles). A full band is
 * cut into tiles, a group at a time, on all threads; the payloads are then appended to the file in
 * order, and their index records written to their place near the front. Memory therefore does not
 * grow with the height of the image. */
#include "textures/format/stex_write.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/thread.h"
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

typedef struct LevelBand {
    uint8_t *texels; /* owned; tiles_x tiles wide, one high; NULL in the tail */
    uint32_t rows_fed;
} LevelBand;

enum { GROUP_TILES = 64, WRITER_THREADS_MAX = 64 };

/* A group of a band's tiles that are cut and packed together. */
typedef struct TileGroup {
    const uint8_t *band;
    size_t band_row_bytes;
    uint32_t first_x, count;
    _Atomic uint32_t next;
    /* owned; GROUP_TILES tiles each; `packed` only if the file is compressed */
    uint8_t *texels, *packed;
    StexTile records[GROUP_TILES]; /* flags, constant, stored_bytes and payload_crc */
} TileGroup;

/* A thread's state for compression. */
typedef struct TilePacker {
    z_stream deflate;
    uint8_t *buffers; /* owned; PACKER_BUFFERS tiles: scratch, residuals, and deflated output */
} TilePacker;
enum { PACKER_BUFFERS = 3 };

struct StexWriter {
    StexHeader header;
    FileReplace file;
    uint64_t end; /* file offset of the next payload */
    uint64_t constant_tiles;
    LevelBand bands[TEX_MAX_LEVELS];
    uint8_t *tail; /* owned; header.tail_bytes */
    TileGroup group;
    uint32_t thread_count;
    uint32_t packer_count; /* one for each thread; 0 if nothing is compressed */
    TilePacker packers[WRITER_THREADS_MAX];
};

static void writer_free(StexWriter *w)
{
    for (uint32_t i = 0; i < TEX_MAX_LEVELS; ++i)
        mem_free(w->bands[i].texels);
    mem_free(w->tail);
    mem_free(w->group.texels);
    mem_free(w->group.packed);
    for (uint32_t i = 0; i < w->packer_count; ++i) {
        deflateEnd(&w->packers[i].deflate);
        mem_free(w->packers[i].buffers);
    }
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

/* Allocates the bands, the tail and scratch memory. */
static bool writer_allocate(StexWriter *w)
{
    const StexHeader *h = &w->header;
    uint32_t tile_bytes = stex_tile_bytes(h);
    bool ok = true;
    for (uint32_t i = 0; i < h->first_tail_level; ++i) {
        w->bands[i].texels = mem_alloc(h->levels[i].tiles_x, tile_bytes);
        ok = ok && w->bands[i].texels;
    }
    w->tail = mem_alloc(1, (size_t)h->tail_bytes);
    w->group.texels = mem_alloc(GROUP_TILES, tile_bytes);
    ok = ok && w->tail && w->group.texels;
    if (h->flags & STEX_COMPRESSED) {
        w->group.packed = mem_alloc(GROUP_TILES, tile_bytes);
        ok = ok && w->group.packed;
        while (ok && w->packer_count < w->thread_count) {
            TilePacker *packer = &w->packers[w->packer_count];
            packer->buffers = mem_alloc(PACKER_BUFFERS, tile_bytes);
            ok = packer->buffers && deflateInit(&packer->deflate, Z_DEFAULT_COMPRESSION) == Z_OK;
            if (!ok)
                mem_free(packer->buffers);
            w->packer_count += ok;
        }
    }
    return ok;
}

Status stex_writer_begin(const char *path, const StexHeader *format, uint32_t thread_count,
                         StexWriter **out_writer, Error *err)
{
    ASSERT(thread_count > 0);
    *out_writer = NULL;
    StexWriter *w = MEM_NEW(StexWriter);
    if (!w)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    StexHeader *h = &w->header;
    *h = *format;
    h->version = STEX_VERSION;
    if (!stex_layout(h)) {
        mem_free(w);
        return error_set_at(err, STATUS_LIMIT, path,
                            "a texture of %" PRIu32 " x %" PRIu32 " texels has more than %d tiles",
                            format->width, format->height, STEX_TILE_COUNT_MAX);
    }
    memcpy(h->magic, STEX_MAGIC, sizeof h->magic);
    w->end = h->data_offset;
    w->thread_count = thread_count < WRITER_THREADS_MAX ? thread_count : WRITER_THREADS_MAX;
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
    ASSERT(w->packer_count > 0 && level >= 1 && level <= 9);
    for (uint32_t i = 0; i < w->packer_count; ++i) /* no deflation is in progress */
        (void)deflateParams(&w->packers[i].deflate, (int)level, Z_DEFAULT_STRATEGY);
}

const StexHeader *stex_writer_header(const StexWriter *w)
{
    return &w->header;
}

static bool is_constant(const uint8_t *texels, uint32_t texel_bytes, uint32_t tile_bytes)
{
    /* A constant tile equals itself shifted by one texel. */
    return memcmp(texels, texels + texel_bytes, tile_bytes - texel_bytes) == 0;
}

/* Deflates into at most `room` bytes. Returns the size, or 0 if it does not fit. */
static uint32_t deflate_tile(z_stream *z, uint8_t *bytes, uint32_t count, uint8_t *out,
                             uint32_t room)
{
    deflateReset(z);
    z->next_in = bytes;
    z->avail_in = count;
    z->next_out = out;
    z->avail_out = room;
    return deflate(z, Z_FINISH) == Z_STREAM_END ? (uint32_t)z->total_out : 0;
}

/* Deflates a tile with and without prediction and keeps the smaller result in `out`; *out_method names it.
 * Returns its size, or 0 if the saving does not justify the time to inflate it. */
static uint32_t compress_tile(const StexHeader *h, TilePacker *packer, uint8_t *texels,
                              uint8_t *out, uint32_t *out_method)
{
    uint32_t tile_bytes = stex_tile_bytes(h), room = tile_bytes - tile_bytes / 16;
    PredictShape shape = stex_tile_shape(h);
    uint8_t *scratch = packer->buffers, *residuals = scratch + tile_bytes,
            *predicted = residuals + tile_bytes;
    *out_method = 0;
    uint32_t plain_bytes = deflate_tile(&packer->deflate, texels, tile_bytes, out, room);
    if (plain_bytes > 0)
        room = plain_bytes - 1;
    uint32_t method = predict_tile(&shape, texels, scratch, residuals);
    uint32_t bytes = deflate_tile(&packer->deflate, residuals, tile_bytes, predicted, room);
    if (bytes == 0)
        return plain_bytes;
    memcpy(out, predicted, bytes);
    *out_method = method;
    return bytes;
}

/* Cuts tile i of the group out of the band and fills its record except for the offset. A packer of NULL means
 * no compression. */
static void pack_tile(StexWriter *w, uint32_t i, TilePacker *packer)
{
    const StexHeader *h = &w->header;
    TileGroup *g = &w->group;
    uint32_t tile_bytes = stex_tile_bytes(h), texel_bytes = stex_texel_bytes(h);
    size_t tile_row_bytes = (size_t)texel_bytes << stex_tile_width_log2(h);
    uint8_t *texels = g->texels + (size_t)i * tile_bytes;
    const uint8_t *from = g->band + (g->first_x + i) * tile_row_bytes;
    for (uint32_t y = 0; y < 1u << stex_tile_height_log2(h); ++y)
        memcpy(texels + y * tile_row_bytes, from + y * g->band_row_bytes, tile_row_bytes);

    StexTile *record = &g->records[i];
    *record = (StexTile){0};
    if (is_constant(texels, texel_bytes, tile_bytes)) {
        record->flags = STEX_TILE_CONSTANT;
        memcpy(record->constant, texels, texel_bytes);
        return;
    }
    const uint8_t *payload = texels;
    record->stored_bytes = tile_bytes;
    if (packer) {
        uint8_t *packed = g->packed + (size_t)i * tile_bytes;
        uint32_t method, packed_bytes = compress_tile(h, packer, texels, packed, &method);
        if (packed_bytes > 0) {
            record->flags = STEX_TILE_ZLIB | method << STEX_TILE_METHOD_SHIFT;
            record->stored_bytes = packed_bytes;
            payload = packed;
        }
    }
    record->payload_crc = crc32c(0, payload, record->stored_bytes);
}

/* Packs one thread's part of a group. */
static void pack_tiles(void *writer, uint32_t thread)
{
    StexWriter *w = writer;
    TilePacker *packer = w->packer_count > 0 ? &w->packers[thread] : NULL;
    uint32_t i;
    while ((i = atomic_fetch_add(&w->group.next, 1)) < w->group.count)
        pack_tile(w, i, packer);
}

/* Appends the payloads to the file and writes the records to their places. */
static Status write_group(StexWriter *w, uint64_t first_tile, Error *err)
{
    const StexHeader *h = &w->header;
    TileGroup *g = &w->group;
    uint32_t tile_bytes = stex_tile_bytes(h);
    for (uint32_t i = 0; i < g->count; ++i) {
        StexTile *record = &g->records[i];
        if (record->flags & STEX_TILE_CONSTANT) {
            ++w->constant_tiles;
        } else {
            const uint8_t *from = record->flags & STEX_TILE_ZLIB ? g->packed : g->texels;
            if (w->packer_count == 0)
                w->end = size_align(w->end, STEX_PAGE_BYTES);
            record->offset = w->end;
            TRY(write_at(w, w->end, from + (size_t)i * tile_bytes, record->stored_bytes, err));
            w->end += record->stored_bytes;
        }
        record->record_crc = stex_record_crc(record, first_tile + i);
    }
    return write_at(w, h->index_offset + first_tile * sizeof(StexTile), g->records,
                    g->count * sizeof(StexTile), err);
}

/* Cuts the band, which holds row `tile_y` of the level's tiles, into tiles. */
static Status flush_band(StexWriter *w, uint32_t level_index, uint32_t tile_y, Error *err)
{
    const StexHeader *h = &w->header;
    const StexLevel *level = &h->levels[level_index];
    TileGroup *g = &w->group;
    g->band = w->bands[level_index].texels;
    g->band_row_bytes = ((size_t)stex_texel_bytes(h) << stex_tile_width_log2(h)) * level->tiles_x;
    uint64_t first = level->first_tile + (uint64_t)tile_y * level->tiles_x;
    for (uint32_t x = 0; x < level->tiles_x; x += GROUP_TILES) {
        g->first_x = x;
        g->count = level->tiles_x - x < GROUP_TILES ? level->tiles_x - x : GROUP_TILES;
        atomic_store(&g->next, 0);
        /* Copying alone does not justify other threads. */
        uint32_t threads = w->packer_count > 0 ? w->packer_count : 1;
        parallel_for(threads, threads < g->count ? threads : g->count, pack_tiles, w);
        TRY(write_group(w, first + x, err));
    }
    return STATUS_OK;
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

    /* Pads to the right with the last texel. */
    uint32_t height_log2 = stex_tile_height_log2(h), tile_height = 1u << height_log2;
    size_t band_row_bytes = ((size_t)level->tiles_x << stex_tile_width_log2(h)) * texel_bytes;
    uint8_t *to = band->texels + (row & (tile_height - 1)) * band_row_bytes;
    memcpy(to, texels, row_bytes);
    for (size_t at = row_bytes; at < band_row_bytes; at += texel_bytes)
        memcpy(to + at, to + row_bytes - texel_bytes, texel_bytes);

    bool is_last = band->rows_fed == level->height;
    if (is_last) { /* pads downwards with the last row */
        for (uint32_t y = (row & (tile_height - 1)) + 1; y < tile_height; ++y)
            memcpy(band->texels + y * band_row_bytes, to, band_row_bytes);
    }
    if (is_last || (band->rows_fed & (tile_height - 1)) == 0)
        return flush_band(w, level_index, row >> height_log2, err);
    return STATUS_OK;
}

Status stex_writer_finish(StexWriter *w, const float average_rgba[4], const uint8_t digest[16],
                          const char *notes, uint64_t *out_constant_tiles, uint64_t *out_file_bytes,
                          Error *err)
{
    StexHeader *h = &w->header;
    for (uint32_t i = 0; i < h->level_count; ++i)
        ASSERT(w->bands[i].rows_fed == h->levels[i].height);
    memcpy(h->average_rgba, average_rgba, sizeof h->average_rgba);
    memcpy(h->source_digest, digest, sizeof h->source_digest);
    snprintf(h->notes, sizeof h->notes, "%s", notes);
    h->tail_crc = crc32c(0, w->tail, (size_t)h->tail_bytes);
    h->file_bytes = w->end;
    h->header_crc = stex_header_crc(h);
    *out_constant_tiles = w->constant_tiles;
    *out_file_bytes = h->file_bytes;

    uint8_t page[STEX_PAGE_BYTES] = {0};
    memcpy(page, h, sizeof *h);
    /* The tables end at data_offset. A file without payloads is padded up to there. */
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
