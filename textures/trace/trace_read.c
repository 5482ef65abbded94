/* Reads traces. Opening reads all block headers and keeps an entry for each block, sorted by its first
 * event; events are then merged from the blocks that overlap in time. Since the events are numbered
 * 0, 1, 2 ..., the number of the next one is known, and a gap is damage. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "textures/trace/trace_format.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OVERLAPPING_MAX = 1024 };

typedef struct BlockEntry {
    uint64_t offset; /* file offset of the payload */
    TraceBlock block;
} BlockEntry;

/* A block whose records are being read. */
typedef struct BlockCursor {
    const BlockEntry *entry;
    uint8_t *payload; /* owned */
    uint32_t at, records_left;
    uint64_t order; /* order of the next record */
    uint32_t last_texture, last_tile;
} BlockCursor;

struct TexTraceReader {
    FILE *file;
    char *path;
    TexTraceSummary summary;
    TexTraceTexture *textures; /* owned, by number */
    BlockEntry *entries;       /* owned; blocks of requests and reads, sorted */
    uint32_t entry_count, entry_capacity;
    BlockCursor *cursors; /* owned; [OVERLAPPING_MAX] */
    uint32_t cursor_count, current;
    uint32_t next_entry;
    uint64_t next_order;
    uint64_t requests_seen, reads_seen, tiles_seen;
};

#define DAMAGED(r, offset, err, ...)                                                               \
    error_set_offset((err), STATUS_FORMAT, (r)->path, (offset), __VA_ARGS__)

/* --- the frame ---------------------------------------------------------------------------- */

static Status read_at(TexTraceReader *r, uint64_t offset, void *out, size_t size_bytes,
                      const char *what, Error *err)
{
    if (offset > r->summary.file_bytes || size_bytes > r->summary.file_bytes - offset)
        return DAMAGED(r, offset, err, "the trace ends inside %s: it was cut off", what);
    if (fseeko(r->file, (off_t)offset, SEEK_SET) != 0 ||
        fread(out, 1, size_bytes, r->file) != size_bytes)
        return error_set_offset(err, STATUS_IO, r->path, offset, "%s cannot be read: %s", what,
                                errno ? strerror(errno) : "the file has become shorter");
    return STATUS_OK;
}

static Status read_header(TexTraceReader *r, Error *err)
{
    TraceHeader h;
    TRY(read_at(r, 0, &h, sizeof h, "its header", err));
    if (memcmp(h.magic, TRACE_MAGIC, sizeof h.magic) != 0)
        return DAMAGED(r, 0, err, "is no trace of texture lookups");
    if (h.version != TEX_TRACE_VERSION)
        return error_set_at(err, STATUS_UNSUPPORTED, r->path,
                            "is a trace of version %" PRIu32 "; this program reads version %d",
                            h.version, TEX_TRACE_VERSION);
    if (h.crc != crc32c(0, &h, offsetof(TraceHeader, crc)) || h.header_bytes != sizeof h)
        return DAMAGED(r, 0, err, "the trace's header is damaged: its check sum does not agree");
    r->summary.budget_bytes = h.budget_bytes;
    r->summary.io_thread_count = h.io_thread_count;
    return STATUS_OK;
}

static bool are_levels_sound(const TraceTexture *t)
{
    uint64_t tiles = 0;
    if (t->level_count < 1 || t->level_count > TEX_MAX_LEVELS ||
        t->tile_count > STEX_TILE_COUNT_MAX || t->tile_bytes < 1024 ||
        t->tile_bytes > STEX_TILE_BYTES_MAX || t->tail_count > TEX_TRACE_TAILS_MAX ||
        t->tail_count > t->tile_count)
        return false;
    for (uint32_t i = 0; i < t->tail_count; ++i) {
        if (t->tail_bytes[i] < 1 || t->tail_bytes[i] > STEX_TILE_BYTES_MAX)
            return false;
    }
    for (uint32_t i = 0; i < t->level_count; ++i) {
        const TexTraceLevel *l = &t->levels[i];
        if (l->width < 1 || l->width > STEX_SIZE_MAX || l->height < 1 ||
            l->height > STEX_SIZE_MAX || l->tiles_x > l->width || l->tiles_y > l->height)
            return false;
        if (l->tiles_x == 0 || l->tiles_y == 0)
            continue;
        if (l->first_tile != tiles)
            return false;
        tiles += (uint64_t)l->tiles_x * l->tiles_y;
    }
    return tiles + t->tail_count == t->tile_count;
}

static Status keep_texture(TexTraceReader *r, uint32_t number, const TraceTexture *t,
                           const char *path, uint64_t offset, Error *err)
{
    if (number >= TEX_TRACE_TEXTURES_MAX)
        return DAMAGED(r, offset, err, "a texture has the number %" PRIu32, number);
    uint32_t count = r->summary.texture_count;
    if (number >= count) {
        TexTraceTexture *grown = mem_realloc(r->textures, (size_t)number + 1, sizeof *grown);
        if (!grown)
            return error_set_at(err, STATUS_NO_MEMORY, r->path, "out of memory");
        memset(grown + count, 0, (size_t)(number + 1 - count) * sizeof *grown);
        r->textures = grown;
        r->summary.texture_count = number + 1;
    }
    TexTraceTexture *texture = &r->textures[number];
    if (texture->path)
        return DAMAGED(r, offset, err, "texture %" PRIu32 " is told twice", number);
    texture->path = mem_strdup(path);
    if (!texture->path)
        return error_set_at(err, STATUS_NO_MEMORY, r->path, "out of memory");
    texture->tile_bytes = t->tile_bytes;
    texture->tile_count = t->tile_count;
    texture->tail_count = t->tail_count;
    memcpy(texture->tail_bytes, t->tail_bytes, sizeof texture->tail_bytes);
    texture->level_count = t->level_count;
    memcpy(texture->levels, t->levels, sizeof texture->levels);
    return STATUS_OK;
}

static Status read_texture(TexTraceReader *r, const TraceBlock *b, uint64_t offset, Error *err)
{
    uint8_t payload[sizeof(TraceTexture) + PATH_BYTES];
    char path[PATH_BYTES];
    TraceTexture t;
    if (b->payload_bytes < sizeof t || b->payload_bytes >= sizeof payload)
        return DAMAGED(r, offset, err, "the block of a texture has %" PRIu32 " bytes",
                       b->payload_bytes);
    TRY(read_at(r, offset, payload, b->payload_bytes, "the block of a texture", err));
    if (crc32c(0, payload, b->payload_bytes) != b->payload_crc)
        return DAMAGED(r, offset, err,
                       "the block of a texture is damaged: its check sum does not "
                       "agree");
    memcpy(&t, payload, sizeof t);
    if (t.path_bytes != b->payload_bytes - sizeof t || !are_levels_sound(&t))
        return DAMAGED(r, offset, err, "the levels of texture %" PRIu32 " contradict each other",
                       b->stream);
    memcpy(path, payload + sizeof t, t.path_bytes);
    path[t.path_bytes] = 0;
    return keep_texture(r, b->stream, &t, path, offset, err);
}

static Status read_end(TexTraceReader *r, const TraceBlock *b, uint64_t offset, Error *err)
{
    TraceEnd end;
    if (b->payload_bytes != sizeof end)
        return DAMAGED(r, offset, err, "the end record has %" PRIu32 " bytes", b->payload_bytes);
    TRY(read_at(r, offset, &end, sizeof end, "the end record", err));
    if (crc32c(0, &end, sizeof end) != b->payload_crc)
        return DAMAGED(r, offset, err, "the end record is damaged: its check sum does not agree");
    if (offset + sizeof end != r->summary.file_bytes)
        return DAMAGED(r, offset + sizeof end, err, "something follows the end of the trace");
    TexTraceSummary *s = &r->summary;
    uint64_t records = 0;
    for (uint32_t i = 0; i < r->entry_count; ++i)
        records += r->entries[i].block.record_count;
    bool has_all = s->texture_count == end.texture_count && records == end.order_count;
    for (uint32_t i = 0; has_all && i < s->texture_count; ++i)
        has_all = r->textures[i].path != NULL;
    if (!has_all)
        return DAMAGED(r, offset, err,
                       "blocks are missing: %" PRIu64 " events and %" PRIu32
                       " textures are there, %" PRIu64 " and %" PRIu32 " were written",
                       records, s->texture_count, end.order_count, end.texture_count);
    s->order_count = end.order_count;
    s->request_count = end.request_count;
    s->read_count = end.read_count;
    s->tile_count = end.tile_count;
    s->table_bytes = end.table_bytes;
    s->duration_ns = end.duration_ns;
    return STATUS_OK;
}

static Status keep_block(TexTraceReader *r, const TraceBlock *b, uint64_t offset, Error *err)
{
    if (b->payload_bytes > TRACE_PAYLOAD_MAX || b->record_count == 0 ||
        b->record_count > b->payload_bytes)
        return DAMAGED(r, offset, err,
                       "a block of %" PRIu32 " bytes says that it holds %" PRIu32 " events",
                       b->payload_bytes, b->record_count);
    if (r->entry_count == r->entry_capacity) {
        uint32_t capacity = r->entry_capacity ? 2 * r->entry_capacity : 256;
        BlockEntry *grown = mem_realloc(r->entries, capacity, sizeof *grown);
        if (!grown)
            return error_set_at(err, STATUS_NO_MEMORY, r->path, "out of memory");
        r->entries = grown;
        r->entry_capacity = capacity;
    }
    r->entries[r->entry_count++] = (BlockEntry){.offset = offset, .block = *b};
    return STATUS_OK;
}

static int compare_entries(const void *a, const void *b)
{
    uint64_t x = ((const BlockEntry *)a)->block.first_order,
             y = ((const BlockEntry *)b)->block.first_order;
    return x < y ? -1 : x > y;
}

static Status read_frame(TexTraceReader *r, Error *err)
{
    TRY(read_header(r, err));
    uint64_t at = sizeof(TraceHeader);
    for (bool is_end = false; !is_end;) {
        TraceBlock b;
        if (at == r->summary.file_bytes)
            return DAMAGED(r, at, err, "the trace has no end record: it was cut off");
        TRY(read_at(r, at, &b, sizeof b, "the header of a block", err));
        if (b.magic != TRACE_BLOCK_MAGIC || b.crc != crc32c(0, &b, offsetof(TraceBlock, crc)))
            return DAMAGED(r, at, err, "a block's header is expected here and is damaged");
        uint64_t payload = at + sizeof b;
        if (b.payload_bytes > r->summary.file_bytes - payload)
            return DAMAGED(r, payload, err, "the trace ends inside a block: it was cut off");
        is_end = b.kind == TRACE_BLOCK_END;
        if (is_end)
            TRY(read_end(r, &b, payload, err));
        else if (b.kind == TRACE_BLOCK_TEXTURE)
            TRY(read_texture(r, &b, payload, err));
        else if (b.kind == TRACE_BLOCK_REQUESTS || b.kind == TRACE_BLOCK_READS)
            TRY(keep_block(r, &b, payload, err));
        else
            return DAMAGED(r, at, err, "a block is of the unknown kind %" PRIu32, b.kind);
        at = payload + b.payload_bytes;
    }
    if (r->entry_count > 0)
        qsort(r->entries, r->entry_count, sizeof *r->entries, compare_entries);
    return STATUS_OK;
}

Status tex_trace_open(const char *path, TexTraceReader **out_reader, Error *err)
{
    *out_reader = NULL;
    TexTraceReader *r = MEM_NEW(TexTraceReader);
    if (r) {
        r->path = mem_strdup(path);
        r->cursors = MEM_ARRAY(BlockCursor, OVERLAPPING_MAX);
    }
    Status status = STATUS_OK;
    if (!r || !r->path || !r->cursors)
        status = error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    if (status == STATUS_OK)
        status = file_size(path, &r->summary.file_bytes, err);
    if (status == STATUS_OK && !(r->file = fopen(path, "rb")))
        status = error_set_at(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, path,
                              "cannot be opened: %s", strerror(errno));
    if (status == STATUS_OK)
        status = read_frame(r, err);
    if (status != STATUS_OK) {
        tex_trace_close(r);
        return status;
    }
    *out_reader = r;
    return STATUS_OK;
}

void tex_trace_close(TexTraceReader *r)
{
    if (!r)
        return;
    if (r->cursors)
        tex_trace_rewind(r);
    for (uint32_t i = 0; i < r->summary.texture_count; ++i)
        mem_free(r->textures[i].path);
    if (r->file)
        fclose(r->file);
    mem_free(r->textures);
    mem_free(r->entries);
    mem_free(r->cursors);
    mem_free(r->path);
    mem_free(r);
}

const TexTraceSummary *tex_trace_summary(const TexTraceReader *r)
{
    return &r->summary;
}

const TexTraceTexture *tex_trace_textures(const TexTraceReader *r)
{
    return r->textures;
}

uint32_t tex_trace_tile_bytes(const TexTraceTexture *t, uint32_t tile)
{
    uint32_t paged_count = t->tile_count - t->tail_count;
    return tile < paged_count ? t->tile_bytes : t->tail_bytes[tile - paged_count];
}

uint32_t tex_trace_tile_place(const TexTraceTexture *t, uint32_t tile, uint32_t *out_x,
                              uint32_t *out_y)
{
    ASSERT(tile < t->tile_count);
    uint32_t level = 0, paged_count = t->tile_count - t->tail_count;
    if (tile >= paged_count) {
        while (level + 1 < t->level_count && t->levels[level].tiles_x > 0)
            ++level;
        *out_x = *out_y = 0;
        return level + (tile - paged_count) < t->level_count ? level + (tile - paged_count) : level;
    }
    while (tile - t->levels[level].first_tile >=
           t->levels[level].tiles_x * t->levels[level].tiles_y)
        ++level;
    uint32_t at = tile - t->levels[level].first_tile;
    *out_x = at % t->levels[level].tiles_x;
    *out_y = at / t->levels[level].tiles_x;
    return level;
}

/* --- records ------------------------------------------------------------------------------ */

static Status spoilt(const TexTraceReader *r, const BlockCursor *c, const char *what, Error *err)
{
    return DAMAGED(r, c->entry->offset + c->at, err, "event %" PRIu64 ": %s", c->order, what);
}

static bool get(BlockCursor *c, uint64_t *out_value)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64 && c->at < c->entry->block.payload_bytes; shift += 7) {
        uint8_t byte = c->payload[c->at++];
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

static bool get_u32(BlockCursor *c, uint32_t *out_value)
{
    uint64_t value;
    if (!get(c, &value) || value > UINT32_MAX)
        return false;
    *out_value = (uint32_t)value;
    return true;
}

/* Reads the order of the next record. */
static Status peek(const TexTraceReader *r, BlockCursor *c, Error *err)
{
    uint64_t step;
    bool is_first = c->records_left == c->entry->block.record_count;
    if (!get(c, &step) || (is_first ? step != 0 : step == 0) || step > UINT64_MAX - c->order)
        return spoilt(r, c, "its place in the order makes no sense", err);
    c->order += step;
    return STATUS_OK;
}

static Status read_tiles(const TexTraceReader *r, BlockCursor *c, TexTraceEvent *out, Error *err)
{
    uint32_t tile_count = r->textures[out->texture].tile_count;
    for (uint32_t i = 0; i < out->tile_count; ++i) {
        uint64_t packed, more = 0;
        if (!get(c, &packed) || ((packed & 1) && !get(c, &more)))
            return spoilt(r, c, "is cut off", err);
        uint64_t steps = packed >> 1;
        /* The sum wraps around, as when it was written; a result out of range is refused. */
        uint64_t step = steps & 1 ? ~(steps >> 1) : steps >> 1;
        uint64_t tile = c->last_tile + step;
        if (tile >= tile_count)
            return spoilt(r, c, "names a tile that its texture does not have", err);
        if (more > UINT32_MAX - 2)
            return spoilt(r, c, "counts too many taps", err);
        out->tiles[i] = c->last_tile = (uint32_t)tile;
        out->taps[i] = packed & 1 ? (uint32_t)more + 2 : 1;
    }
    return STATUS_OK;
}

static Status read_request(TexTraceReader *r, BlockCursor *c, TexTraceEvent *out, Error *err)
{
    uint64_t flags;
    if (!get(c, &flags) || flags > TRACE_FLAGS_ALL)
        return spoilt(r, c, "has unknown flags", err);
    if ((flags & TRACE_HAS_TEXTURE) && !get_u32(c, &c->last_texture))
        return spoilt(r, c, "is cut off", err);
    out->texture = c->last_texture;
    if (out->texture >= r->summary.texture_count)
        return spoilt(r, c, "names a texture that the trace does not have", err);
    if (!get_u32(c, &out->tile_count) || out->tile_count < 1 ||
        out->tile_count > TEX_TRACE_TILES_MAX)
        return spoilt(r, c, "has no tiles, or too many", err);
    out->depth = (uint32_t)flags & TRACE_DEPTH_MASK;
    out->is_continued = (flags & TRACE_IS_CONTINUED) != 0;
    TRY(read_tiles(r, c, out, err));
    ++r->requests_seen;
    for (uint32_t i = 0; i < out->tile_count; ++i)
        r->tiles_seen += out->taps[i];
    return STATUS_OK;
}

static Status read_read(TexTraceReader *r, BlockCursor *c, TexTraceEvent *out, Error *err)
{
    uint64_t packed;
    if (!get_u32(c, &out->texture) || !get(c, &packed) || !get(c, &out->duration_us))
        return spoilt(r, c, "is cut off", err);
    if (out->texture >= r->summary.texture_count ||
        packed >> 2 >= r->textures[out->texture].tile_count || (packed & 3) > TEX_TRACE_FAILED)
        return spoilt(r, c, "is the read of a tile that does not exist", err);
    out->tile_count = 1;
    out->tiles[0] = (uint32_t)(packed >> 2);
    out->taps[0] = 0;
    out->outcome = (TexTraceOutcome)(packed & 3);
    ++r->reads_seen;
    return STATUS_OK;
}

/* --- merging ------------------------------------------------------------------------------ */

static void drop_cursor(TexTraceReader *r, uint32_t i)
{
    uint8_t *payload = r->cursors[i].payload;
    r->cursors[i] = r->cursors[--r->cursor_count];
    mem_free(payload);
}

static Status open_block(TexTraceReader *r, const BlockEntry *entry, Error *err)
{
    if (r->cursor_count == OVERLAPPING_MAX)
        return DAMAGED(r, entry->offset, err, "more than %d blocks overlap", OVERLAPPING_MAX);
    BlockCursor *c = &r->cursors[r->cursor_count];
    const TraceBlock *b = &entry->block;
    *c = (BlockCursor){.entry = entry,
                       .records_left = b->record_count,
                       .order = b->first_order,
                       .last_texture = UINT32_MAX};
    c->payload = mem_alloc(b->payload_bytes, 1);
    if (!c->payload)
        return error_set_at(err, STATUS_NO_MEMORY, r->path, "out of memory");
    ++r->cursor_count;
    TRY(read_at(r, entry->offset, c->payload, b->payload_bytes, "a block", err));
    if (crc32c(0, c->payload, b->payload_bytes) != b->payload_crc)
        return DAMAGED(r, entry->offset, err,
                       "a block is damaged: its check sum does not agree (%08" PRIx32
                       " is recorded, %08" PRIx32 " found)",
                       b->payload_crc, crc32c(0, c->payload, b->payload_bytes));
    return peek(r, c, err);
}

/* Makes `current` the cursor with the next event. */
static Status find_next(TexTraceReader *r, Error *err)
{
    if (r->current < r->cursor_count && r->cursors[r->current].order == r->next_order)
        return STATUS_OK;
    while (r->next_entry < r->entry_count &&
           r->entries[r->next_entry].block.first_order <= r->next_order)
        TRY(open_block(r, &r->entries[r->next_entry++], err));
    for (r->current = 0; r->current < r->cursor_count; ++r->current) {
        if (r->cursors[r->current].order == r->next_order)
            return STATUS_OK;
    }
    uint64_t place = r->cursor_count > 0 ? r->cursors[0].entry->offset : r->summary.file_bytes;
    return DAMAGED(r, place, err, "event %" PRIu64 " is missing", r->next_order);
}

static Status check_totals(const TexTraceReader *r, Error *err)
{
    const TexTraceSummary *s = &r->summary;
    if (r->requests_seen != s->request_count || r->reads_seen != s->read_count ||
        r->tiles_seen != s->tile_count)
        return DAMAGED(r, s->file_bytes - sizeof(TraceEnd), err,
                       "the end record does not agree with the events: %" PRIu64
                       " requests, %" PRIu64 " reads, %" PRIu64 " tiles are there",
                       r->requests_seen, r->reads_seen, r->tiles_seen);
    return STATUS_OK;
}

Status tex_trace_next(TexTraceReader *r, TexTraceEvent *out, bool *out_more, Error *err)
{
    *out_more = false;
    if (r->next_order == r->summary.order_count)
        return check_totals(r, err);
    TRY(find_next(r, err));
    BlockCursor *c = &r->cursors[r->current];
    const TraceBlock *b = &c->entry->block;
    out->order = c->order;
    out->time_ns = b->begin_ns;
    out->stream = b->stream;
    if (b->kind == TRACE_BLOCK_REQUESTS) {
        out->kind = TEX_TRACE_REQUEST;
        TRY(read_request(r, c, out, err));
    } else {
        out->kind = TEX_TRACE_READ;
        TRY(read_read(r, c, out, err));
    }
    if (--c->records_left > 0)
        TRY(peek(r, c, err));
    else if (c->at != b->payload_bytes)
        return spoilt(r, c, "is followed by bytes that are no event", err);
    else
        drop_cursor(r, r->current);
    ++r->next_order;
    *out_more = true;
    return STATUS_OK;
}

void tex_trace_rewind(TexTraceReader *r)
{
    while (r->cursor_count > 0)
        drop_cursor(r, r->cursor_count - 1);
    r->current = r->next_entry = 0;
    r->next_order = r->requests_seen = r->reads_seen = r->tiles_seen = 0;
}
