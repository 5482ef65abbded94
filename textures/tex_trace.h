/* Traces: every tile that the lookups of a render asked for, in order, as a file.
 *
 *   TexCacheDesc.trace_path --a thread's block of 64 KiB when it is full--> file --TexTraceReader--> events
 *
 * A trace says what was asked, not what the cache made of it, so that it can be replayed against any
 * budget (tex_replay.h). What storage was read is in it too, for comparison and for times. Reading
 * needs memory for an entry a block and for the blocks that overlap in time, one a thread.
 *
 * A file is untrusted: everything is checked, and an error names the byte where sense ended. */
#ifndef SORT_TEXTURES_TEX_TRACE_H
#define SORT_TEXTURES_TEX_TRACE_H

#include "textures/texcache.h"

enum {
    TEX_TRACE_VERSION = 2,
    TEX_TRACE_TAILS_MAX = 2, /* tiles of a texture that hold small levels */
    TEX_TRACE_TEXTURES_MAX = 1 << 18,
    TEX_TRACE_TILES_MAX = 256 /* of one event; larger requests are several events */
};

typedef struct TexTraceSummary {
    uint64_t file_bytes;
    uint64_t budget_bytes, table_bytes; /* of the recorded cache; tables at the end */
    uint32_t io_thread_count;
    uint32_t texture_count;
    uint64_t order_count; /* events: requests and reads */
    uint64_t request_count, read_count;
    uint64_t tile_count; /* TexStats.tile_requests of the same time */
    uint64_t duration_ns;
} TexTraceSummary;

typedef struct TexTraceLevel {
    uint32_t width, height;
    uint32_t tiles_x, tiles_y; /* 0: in the tail */
    uint32_t first_tile;
} TexTraceLevel;

typedef struct TexTraceTexture {
    char *path; /* owned by the reader */
    uint32_t tile_bytes, tile_count, level_count;
    uint32_t tail_count,
        tail_bytes[TEX_TRACE_TAILS_MAX]; /* the last tiles: those of small levels */
    TexTraceLevel levels[TEX_MAX_LEVELS];
} TexTraceTexture;

typedef enum TexTraceKind { TEX_TRACE_REQUEST, TEX_TRACE_READ } TexTraceKind;
typedef enum TexTraceOutcome {
    TEX_TRACE_LOADED,
    TEX_TRACE_CONSTANT, /* of one colour: takes no memory from then on */
    TEX_TRACE_FAILED
} TexTraceOutcome;

typedef struct TexTraceEvent {
    TexTraceKind kind;
    uint64_t order;   /* 0, 1, 2 ...: the n-th of all threads together */
    uint64_t time_ns; /* since the trace began; that of the block it stands in */
    uint32_t stream;  /* a thread */
    uint32_t texture; /* index into the reader's textures */
    /* REQUEST: the different tiles of one texcache_lookup in the order in which it asked for them, and
     * how many of its taps did. is_continued: it goes on with the event before of this stream. */
    uint32_t depth;
    bool is_continued;
    uint32_t tile_count;
    uint32_t tiles[TEX_TRACE_TILES_MAX], taps[TEX_TRACE_TILES_MAX];
    /* READ: of tiles[0]. */
    TexTraceOutcome outcome;
    uint64_t duration_us;
} TexTraceEvent;

typedef struct TexTraceReader TexTraceReader;

/* Reads the file's frame: header, place of each block, textures. STATUS_FORMAT: no trace, or a damaged
 * one; STATUS_UNSUPPORTED: a later version. *out_reader is the caller's (tex_trace_close). */
Status tex_trace_open(const char *path, TexTraceReader **out_reader, Error *err) SORT_MUST_CHECK;
void tex_trace_close(TexTraceReader *r); /* NULL is fine */
const TexTraceSummary *tex_trace_summary(const TexTraceReader *r);
/* tex_trace_summary()->texture_count of them. Borrowed. */
const TexTraceTexture *tex_trace_textures(const TexTraceReader *r);
/* The next event in order; *out_more is false at the end. After an error only rewinding or closing
 * makes sense. */
Status tex_trace_next(TexTraceReader *r, TexTraceEvent *out_event, bool *out_more,
                      Error *err) SORT_MUST_CHECK;
void tex_trace_rewind(TexTraceReader *r);
/* Bytes of a tile in memory. */
uint32_t tex_trace_tile_bytes(const TexTraceTexture *t, uint32_t tile);
/* The level of a tile of the texture, and its column and row; of small levels, the first one that is in it. */
uint32_t tex_trace_tile_place(const TexTraceTexture *t, uint32_t tile, uint32_t *out_x,
                              uint32_t *out_y);

#endif
