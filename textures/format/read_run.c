#include "textures/format/read_run.h"

uint32_t read_run_limit(uint32_t tile_bytes)
{
    uint32_t fitting = RUN_BYTES_MAX / tile_bytes;
    return fitting < RUN_TILES_MAX ? fitting : RUN_TILES_MAX;
}

void read_run_clear(ReadRun *run)
{
    run->tile_count = 0;
}

bool read_run_has(const ReadRun *run, uint64_t tile)
{
    return tile >= run->first_tile && tile - run->first_tile < run->tile_count;
}

/* Finds the extent of the payloads of the first tiles, as many as fit. Returns their number. */
static uint32_t find_extent(ReadRun *run, const StexHeader *h, uint64_t first_tile,
                            uint32_t tile_count)
{
    uint64_t begin = UINT64_MAX, end = 0;
    uint32_t count = 0;
    for (; count < tile_count; ++count) {
        const StexTile *r = &run->records[count];
        TileFailure failure;
        if (!stex_check_record(h, first_tile + count, r, &failure))
            break;
        if (r->flags & STEX_TILE_CONSTANT)
            continue;
        uint64_t first = r->offset < begin ? r->offset : begin;
        uint64_t last = r->offset + r->stored_bytes > end ? r->offset + r->stored_bytes : end;
        if (last - first > RUN_BYTES_MAX) /* tiles of other levels lie between them */
            break;
        begin = first;
        end = last;
    }
    run->offset = begin;
    run->size_bytes = end > 0 ? (size_t)(end - begin) : 0;
    return count;
}

void read_run_fill(ReadRun *run, int fd, const StexHeader *h, uint64_t first_tile,
                   uint32_t tile_count)
{
    run->tile_count = 0;
    run->first_tile = first_tile;
    if (!stex_read_bytes(fd, run->records, tile_count * sizeof *run->records,
                         h->index_offset + first_tile * sizeof(StexTile)))
        return;
    uint32_t count = find_extent(run, h, first_tile, tile_count);
    if (stex_read_bytes(fd, run->bytes, run->size_bytes, run->offset))
        run->tile_count = count;
}

bool read_run_record(const ReadRun *run, const StexHeader *h, uint64_t tile, StexTile *out_record,
                     TileFailure *out_failure)
{
    *out_record = run->records[tile - run->first_tile];
    return stex_check_record(h, tile, out_record, out_failure);
}

bool read_run_payload(const ReadRun *run, const StexHeader *h, const StexTile *record,
                      StexInflater *z, void *out_texels, TileFailure *out_failure)
{
    return stex_unpack_payload(h, record, run->bytes + (record->offset - run->offset), z,
                               out_texels, out_failure);
}
