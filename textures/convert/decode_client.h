/* The cache's side of decoder processes. They are started on demand and serve one request at a time each. A
 * process that crashes, hangs or sends an invalid answer fails the request it was serving and is replaced. Any
 * thread may call; a request waits for a free process and blocks the thread, not only the fiber (I/O threads
 * call this). */
#ifndef SORT_TEXTURES_CONVERT_DECODE_CLIENT_H
#define SORT_TEXTURES_CONVERT_DECODE_CLIENT_H

#include "base/process.h"
#include "base/thread.h"
#include "textures/convert/decode_wire.h"

enum { DECODERS_MAX = 16, DECODE_TIMEOUT_MS = 60000 };

typedef struct DecodePool {
    Mutex lock;
    Cond changed;
    const char *const *command; /* borrowed; NULL if there are no decoders */
    uint32_t limit;
    uint32_t started;
    Process *idle[DECODERS_MAX];
    uint32_t idle_count;
} DecodePool;

/* command: the program and its arguments, NULL-terminated; borrowed for the pool's life. limit: the greatest
 * number of processes at once. */
void decode_pool_init(DecodePool *p, const char *const *command, uint32_t limit);
void decode_pool_destroy(DecodePool *p); /* no request may be in progress */

/* Describes a file; its level sizes have been checked to be above 0. Errors: STATUS_UNSUPPORTED if it cannot be
 * read tile by tile or there are no decoders; STATUS_NOT_FOUND, STATUS_IO, STATUS_FORMAT. */
Status decode_describe(DecodePool *p, const char *path, DecodeFile *out_file,
                       Error *err) SORT_MUST_CHECK;

typedef struct DecodeRegion {
    uint32_t level, x, y, width, height;
} DecodeRegion;

/* Reads texels of one level, row by row, into `bytes` bytes. Returns false on failure; *out_failure holds the
 * reason. */
bool decode_read(DecodePool *p, const char *path, const StexStamp *stamp,
                 const DecodeRegion *region, void *out_texels, size_t bytes,
                 TileFailure *out_failure) SORT_MUST_CHECK;

#endif
