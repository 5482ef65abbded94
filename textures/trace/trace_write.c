/* Each thread fills its own block and writes it under the writer's lock when it is full. Threads share
 * only one other thing, the counter that numbers all events. Reads are few and have one stream, guarded
 * by its own lock. Lock order: reads_lock, lock. */
#include "textures/trace/trace_write.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct TraceWriter {
    _Atomic uint64_t next_order;
    uint64_t start_ns;
    Mutex lock;
    FileReplace file;  /* lock */
    Error first_error; /* guarded by the lock; after an error nothing more is written */
    TraceEnd end;      /* lock */
    uint32_t stream_count;
    _Atomic uint32_t texture_count;
    Mutex reads_lock;
    TraceStream reads;
};

/* --- blocks ------------------------------------------------------------------------------- */

/* Under the lock. */
static void write_bytes(TraceWriter *w, const void *data, size_t size_bytes)
{
    if (w->first_error.code == STATUS_OK &&
        fwrite(data, 1, size_bytes, w->file.stream) != size_bytes) {
        Status status = error_set_at(&w->first_error, STATUS_IO, w->file.path,
                                     "the trace cannot be written: %s", strerror(errno));
        SORT_UNUSED(status);
    }
}

/* Under the lock. */
static void write_block(TraceWriter *w, TraceBlock block, const void *payload)
{
    block.magic = TRACE_BLOCK_MAGIC;
    block.payload_crc = crc32c(0, payload, block.payload_bytes);
    block.crc = crc32c(0, &block, offsetof(TraceBlock, crc));
    write_bytes(w, &block, sizeof block);
    write_bytes(w, payload, block.payload_bytes);
}

static void flush(TraceStream *s)
{
    TraceWriter *w = s->writer;
    if (s->record_count == 0)
        return;
    TraceBlock block = {.kind = (uint32_t)s->kind,
                        .stream = s->number,
                        .record_count = s->record_count,
                        .payload_bytes = s->used_bytes,
                        .first_order = s->first_order,
                        .begin_ns = s->begin_ns};
    mutex_lock(&w->lock);
    write_block(w, block, s->payload);
    w->end.request_count += s->request_count;
    w->end.tile_count += s->tile_count;
    if (s->kind == TRACE_BLOCK_READS)
        w->end.read_count += s->record_count;
    mutex_unlock(&w->lock);
    s->used_bytes = s->record_count = 0;
    s->request_count = s->tile_count = 0;
}

/* --- records ------------------------------------------------------------------------------ */

static void put(TraceStream *s, uint64_t value)
{
    while (value >= 0x80) {
        s->payload[s->used_bytes++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    s->payload[s->used_bytes++] = (uint8_t)value;
}

/* Makes room for a record and gives it the next order. */
static void begin_record(TraceStream *s)
{
    if (s->used_bytes > TRACE_PAYLOAD_MAX - TRACE_RECORD_BYTES_MAX)
        flush(s);
    uint64_t order = atomic_fetch_add_explicit(&s->writer->next_order, 1, memory_order_relaxed);
    if (s->record_count++ == 0) {
        s->first_order = s->last_order = order;
        s->begin_ns = clock_now_ns() - s->writer->start_ns;
        s->last_texture = UINT32_MAX;
        s->last_tile = 0;
    }
    put(s, order - s->last_order);
    s->last_order = order;
}

static uint64_t zigzag(int64_t value)
{
    return value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
}

void trace_add_request(TraceStream *s, uint32_t texture, uint32_t depth, bool is_continued,
                       const uint32_t *tiles, const uint32_t *taps, uint32_t count)
{
    ASSERT(count >= 1 && count <= TEX_TRACE_TILES_MAX);
    begin_record(s);
    bool has_texture = texture != s->last_texture;
    put(s,
        depth | (has_texture ? TRACE_HAS_TEXTURE : 0u) | (is_continued ? TRACE_IS_CONTINUED : 0u));
    if (has_texture)
        put(s, texture);
    put(s, count);
    for (uint32_t i = 0; i < count; ++i) {
        put(s, zigzag((int64_t)tiles[i] - (int64_t)s->last_tile) << 1 | (taps[i] > 1));
        if (taps[i] > 1)
            put(s, taps[i] - 2);
        s->last_tile = tiles[i];
        s->tile_count += taps[i];
    }
    s->last_texture = texture;
    ++s->request_count;
}

void trace_add_read(TraceWriter *w, uint32_t texture, uint32_t tile, TexTraceOutcome outcome,
                    uint64_t duration_us)
{
    mutex_lock(&w->reads_lock);
    begin_record(&w->reads);
    put(&w->reads, texture);
    put(&w->reads, (uint64_t)tile << 2 | (uint64_t)outcome);
    put(&w->reads, duration_us);
    mutex_unlock(&w->reads_lock);
}

/* --- streams and textures ----------------------------------------------------------------- */

TraceStream *trace_stream_create(TraceWriter *w)
{
    TraceStream *s = MEM_NEW(TraceStream);
    if (!s)
        return NULL;
    s->writer = w;
    s->kind = TRACE_BLOCK_REQUESTS;
    mutex_lock(&w->lock);
    s->number = ++w->stream_count;
    mutex_unlock(&w->lock);
    return s;
}

void trace_stream_destroy(TraceStream *s)
{
    if (s)
        flush(s);
    mem_free(s);
}

uint32_t trace_number_texture(TraceWriter *w)
{
    return atomic_fetch_add(&w->texture_count, 1);
}

void trace_write_texture(TraceWriter *w, uint32_t number, const TraceTexture *texture,
                         const char *path)
{
    uint8_t payload[sizeof(TraceTexture) + PATH_BYTES];
    TraceTexture head = *texture;
    size_t path_bytes = strlen(path);
    head.path_bytes = path_bytes < PATH_BYTES ? (uint32_t)path_bytes : PATH_BYTES;
    memcpy(payload, &head, sizeof head);
    memcpy(payload + sizeof head, path, head.path_bytes);
    TraceBlock block = {.kind = TRACE_BLOCK_TEXTURE,
                        .stream = number,
                        .payload_bytes = (uint32_t)sizeof head + head.path_bytes};
    mutex_lock(&w->lock);
    write_block(w, block, payload);
    ++w->end.texture_count;
    mutex_unlock(&w->lock);
}

/* --- the file ----------------------------------------------------------------------------- */

static void writer_free(TraceWriter *w)
{
    mutex_destroy(&w->lock);
    mutex_destroy(&w->reads_lock);
    mem_free(w);
}

Status trace_writer_begin(const char *path, uint64_t budget_bytes, uint32_t io_thread_count,
                          TraceWriter **out_writer, Error *err)
{
    *out_writer = NULL;
    TraceWriter *w = MEM_NEW(TraceWriter);
    if (!w)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory for a trace");
    mutex_init(&w->lock);
    mutex_init(&w->reads_lock);
    Status status = file_replace_begin(path, &w->file, err);
    if (status != STATUS_OK) {
        writer_free(w);
        return status;
    }
    w->start_ns = clock_now_ns();
    w->reads.writer = w;
    w->reads.kind = TRACE_BLOCK_READS;
    TraceHeader header = {.version = TEX_TRACE_VERSION,
                          .header_bytes = sizeof header,
                          .budget_bytes = budget_bytes,
                          .io_thread_count = io_thread_count};
    memcpy(header.magic, TRACE_MAGIC, sizeof header.magic);
    header.crc = crc32c(0, &header, offsetof(TraceHeader, crc));
    write_bytes(w, &header, sizeof header);
    *out_writer = w;
    return STATUS_OK;
}

Status trace_writer_end(TraceWriter *w, uint64_t table_bytes, Error *err)
{
    flush(&w->reads);
    w->end.order_count = atomic_load(&w->next_order);
    w->end.table_bytes = table_bytes;
    w->end.duration_ns = clock_now_ns() - w->start_ns;
    TraceBlock block = {.kind = TRACE_BLOCK_END, .payload_bytes = sizeof w->end};
    write_block(w, block, &w->end);
    Status status = w->first_error.code;
    if (status == STATUS_OK) {
        status = file_replace_commit(&w->file, err);
    } else {
        file_replace_abandon(&w->file);
        if (err)
            *err = w->first_error;
    }
    writer_free(w);
    return status;
}

void trace_writer_abandon(TraceWriter *w)
{
    file_replace_abandon(&w->file);
    writer_free(w);
}
