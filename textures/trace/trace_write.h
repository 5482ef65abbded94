/* Records a trace: a cache has one writer, and each thread one stream. */
#ifndef SORT_TEXTURES_TRACE_TRACE_WRITE_H
#define SORT_TEXTURES_TRACE_TRACE_WRITE_H

#include "base/file.h"
#include "base/thread.h"
#include "textures/trace/trace_format.h"

typedef struct TraceWriter TraceWriter;

/* The records of one thread that are not written yet. */
typedef struct TraceStream {
    TraceWriter *writer; /* borrowed */
    uint32_t number;
    TraceBlockKind kind;
    uint32_t used_bytes, record_count;
    uint64_t first_order, last_order, begin_ns;
    uint64_t request_count, tile_count; /* counted since the last block */
    uint32_t last_texture, last_tile;
    uint8_t payload[TRACE_PAYLOAD_MAX];
} TraceStream;

/* Begins a trace, whose file appears when it ends. On success *out_writer is the caller's: trace_writer_end or
 * trace_writer_abandon. */
Status trace_writer_begin(const char *path, uint64_t budget_bytes, uint32_t io_thread_count,
                          TraceWriter **out_writer, Error *err) SORT_MUST_CHECK;
/* Completes the file and frees the writer. All streams are destroyed before. Returns the first error of all
 * writes. */
Status trace_writer_end(TraceWriter *w, uint64_t table_bytes, Error *err) SORT_MUST_CHECK;
void trace_writer_abandon(TraceWriter *w);

/* Returns the number of a new texture, counted from 0. Any thread. */
uint32_t trace_number_texture(TraceWriter *w);
/* Writes the description of a texture. Any thread. */
void trace_write_texture(TraceWriter *w, uint32_t number, const TraceTexture *texture,
                         const char *path);

/* Creates a stream, or returns NULL when out of memory. One thread uses it; any thread may create or destroy
 * it. */
TraceStream *trace_stream_create(TraceWriter *w);
void trace_stream_destroy(TraceStream *s); /* writes pending records; NULL is allowed */
/* Records a request. count: 1 to TEX_TRACE_TILES_MAX. A full block is written. */
void trace_add_request(TraceStream *s, uint32_t texture, uint32_t depth, bool is_continued,
                       const uint32_t *tiles, const uint32_t *taps, uint32_t count);
/* Records a read. Any thread, until trace_writer_end. */
void trace_add_read(TraceWriter *w, uint32_t texture, uint32_t tile, TexTraceOutcome outcome,
                    uint64_t duration_us);

#endif
