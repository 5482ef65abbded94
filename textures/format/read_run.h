/* Adjacent tiles of a file, read together: their index records with one read, their payloads with another. The
 * data stay here unchecked until each tile in turn has its slot, so a thread that reads a run holds one slot at
 * a time, as if it read tile by tile. */
#ifndef SORT_TEXTURES_FORMAT_READ_RUN_H
#define SORT_TEXTURES_FORMAT_READ_RUN_H

#include "textures/format/stex_read.h"

enum { RUN_TILES_MAX = 8, RUN_BYTES_MAX = 32 * 1024 };

/* Each I/O thread has one run. An empty run is all zeros. */
typedef struct ReadRun {
    uint64_t first_tile;
    uint32_t tile_count; /* 0 if the run is empty */
    StexTile records[RUN_TILES_MAX];
    uint64_t offset; /* file offset of the payloads */
    size_t size_bytes;
    uint8_t *bytes; /* owned by the I/O thread; [RUN_BYTES_MAX] */
} ReadRun;

/* Returns how many tiles of that size a run may have. */
uint32_t read_run_limit(uint32_t tile_bytes);

/* Reads tiles [first_tile, first_tile + tile_count), or a prefix of them: the run ends before a tile whose
 * payload lies too far away or whose record is damaged, and is empty if the read fails. The remaining tiles are
 * read one by one, which reports their errors. */
void read_run_fill(ReadRun *run, int fd, const StexHeader *h, uint64_t first_tile,
                   uint32_t tile_count);
void read_run_clear(ReadRun *run);
bool read_run_has(const ReadRun *run, uint64_t tile);
/* Returns the record and payload of a tile of the run, checked as if it had been read alone; out_texels is as
 * for stex_read_payload(). */
bool read_run_record(const ReadRun *run, const StexHeader *h, uint64_t tile, StexTile *out_record,
                     TileFailure *out_failure) SORT_MUST_CHECK;
bool read_run_payload(const ReadRun *run, const StexHeader *h, const StexTile *record,
                      StexInflater *z, void *out_texels, TileFailure *out_failure) SORT_MUST_CHECK;

#endif
