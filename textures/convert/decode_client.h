/* Decoder processes, seen from the cache: started when they are wanted, one request at a time each. A
 * process that crashes, hangs or talks nonsense costs the request that it was at, and is replaced. Any
 * thread; requests wait for a free process (the thread, not a fiber: I/O threads call this). */
#ifndef SORT_TEXTURES_CONVERT_DECODE_CLIENT_H
#define SORT_TEXTURES_CONVERT_DECODE_CLIENT_H

#include "base/process.h"
#include "base/thread.h"
#include "textures/convert/decode_wire.h"

enum { DECODERS_MAX = 16, DECODE_TIMEOUT_MS = 60000 };

typedef struct DecodePool {
    Mutex lock;
    Cond changed;
    const char *const *command; /* borrowed; NULL: there are no decoders */
    uint32_t limit;
    uint32_t started;
    Process *idle[DECODERS_MAX];
    uint32_t idle_count;
} DecodePool;

/* command: the program and its arguments, NULL-terminated; kept. limit: processes at once. */
void decode_pool_init(DecodePool *p, const char *const *command, uint32_t limit);
void decode_pool_destroy(DecodePool *p); /* no request is under way */

/* What a file is. STATUS_UNSUPPORTED: nothing that can be read tile by tile, or there are no decoders;
 * STATUS_NOT_FOUND, STATUS_IO, STATUS_FORMAT. The level sizes have been checked to be above 0. */
Status decode_describe(DecodePool *p, const char *path, DecodeFile *out_file,
                       Error *err) SORT_MUST_CHECK;

typedef struct DecodeRegion {
    uint32_t level, x, y, width, height;
} DecodeRegion;

/* Texels of one level, row by row, into `bytes` bytes. False: *out_failure says why. */
bool decode_read(DecodePool *p, const char *path, const StexStamp *stamp,
                 const DecodeRegion *region, void *out_texels, size_t bytes,
                 TileFailure *out_failure) SORT_MUST_CHECK;

#endif
