/* Traces: files that record, in order, every tile that the lookups of a render requested.
 *
 *   TexCacheDesc.trace_path --a thread's block of 64 KiB when it is full--> file --TexTraceReader--> events
 *
 * A trace records the requests, not the cache's response, so that it can be replayed against any budget
 * (tex_replay.h). It also records the reads, for comparison and for timing. Reading takes memory for one
 * entry for each block, and for the blocks that overlap in time, one for each thread.
 *
 * A file is untrusted: everything is validated, and an error names the offset of the first invalid byte.
 *
 * Thread rule: one thread at a time uses a reader. */
#ifndef SORT_TEXTURES_TEX_TRACE_H
#define SORT_TEXTURES_TEX_TRACE_H

#include "textures/texcache.h"

enum {
    TEX_TRACE_VERSION = 2,
    TEX_TRACE_TAILS_MAX = 2, /* greatest number of a texture's tiles that hold small levels */
    TEX_TRACE_TEXTURES_MAX = 1 << 18,
    TEX_TRACE_TILES_MAX = 256 /* tiles of one event; larger requests become several events */
};

typedef struct TexTraceSummary {
    uint64_t file_bytes;
    /* the recorded cache's budget, and the bytes of its tables at the end */
    uint64_t budget_bytes, table_bytes;
    uint32_t io_thread_count;
    uint32_t texture_count;
    uint64_t order_count; /* number of events: requests and reads */
    uint64_t request_count, read_count;
    uint64_t tile_count; /* TexStats.tile_requests of the recorded time */
    uint64_t duration_ns;
} TexTraceSummary;

typedef struct TexTraceLevel {
    uint32_t width, height;
    uint32_t tiles_x, tiles_y; /* 0 if the level is in the tail */
    uint32_t first_tile;
} TexTraceLevel;
_Static_assert(sizeof(TexTraceLevel) == 20, "on disk");

typedef struct TexTraceTexture {
    char *path; /* owned by the reader */
    uint32_t tile_bytes, tile_count, level_count;
    uint32_t tail_count,
        tail_bytes[TEX_TRACE_TAILS_MAX]; /* bytes of the last tiles, which hold the small levels */
    TexTraceLevel levels[TEX_MAX_LEVELS];
} TexTraceTexture;

typedef enum TexTraceKind { TEX_TRACE_REQUEST, TEX_TRACE_READ } TexTraceKind;
typedef enum TexTraceOutcome {
    TEX_TRACE_LOADED,
    TEX_TRACE_CONSTANT, /* the tile has one colour and takes no memory from then on */
    TEX_TRACE_FAILED
} TexTraceOutcome;

typedef struct TexTraceEvent {
    TexTraceKind kind;
    uint64_t order;   /* 0, 1, 2 ...: the event's number among those of all threads */
    uint64_t time_ns; /* time since the trace began, at the resolution of blocks */
    uint32_t stream;  /* the number of the thread */
    uint32_t texture; /* index into the reader's textures */
    /* REQUEST: the distinct tiles of one texcache_lookup in the order of their requests, and for each the
     * number of taps that requested it. is_continued: the event continues the previous one of its stream. */
    uint32_t depth;
    bool is_continued;
    uint32_t tile_count;
    uint32_t tiles[TEX_TRACE_TILES_MAX], taps[TEX_TRACE_TILES_MAX];
    /* READ: the outcome and duration of the read of tiles[0]. */
    TexTraceOutcome outcome;
    uint64_t duration_us;
} TexTraceEvent;

typedef struct TexTraceReader TexTraceReader;

/* Opens a trace: reads the header, the place of each block, and the textures. On success *out_reader is the
 * caller's (tex_trace_close). Errors: STATUS_FORMAT if the file is no trace or damaged; STATUS_UNSUPPORTED for
 * a later version; STATUS_NOT_FOUND, STATUS_IO, STATUS_NO_MEMORY. */
Status tex_trace_open(const char *path, TexTraceReader **out_reader, Error *err) SORT_MUST_CHECK;
void tex_trace_close(TexTraceReader *r); /* NULL is fine */
const TexTraceSummary *tex_trace_summary(const TexTraceReader *r);
/* Returns the textures, tex_trace_summary()->texture_count of them; borrowed from the reader. */
const TexTraceTexture *tex_trace_textures(const TexTraceReader *r);
/* Reads the next event in order; *out_more is false at the end. After an error only rewinding or closing is
 * allowed. */
Status tex_trace_next(TexTraceReader *r, TexTraceEvent *out_event, bool *out_more,
                      Error *err) SORT_MUST_CHECK;
void tex_trace_rewind(TexTraceReader *r);
/* Returns the bytes of a tile in memory. */
uint32_t tex_trace_tile_bytes(const TexTraceTexture *t, uint32_t tile);
/* Returns the level of a tile, and its column and row. For a tile of several small levels it is the first of
 * them. */
uint32_t tex_trace_tile_place(const TexTraceTexture *t, uint32_t tile, uint32_t *out_x,
                              uint32_t *out_y);

#endif
