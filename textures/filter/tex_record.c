/* Records the requests of lookups and the reads of I/O threads in the cache's trace. */
#include "textures/filter/tex_taps.h"
#include <string.h>

/* The distinct tiles of one request. */
typedef struct RequestTiles {
    TraceStream *stream;
    const Texture *texture;
    uint32_t depth;
    bool is_continued;
    uint32_t count, last; /* last: the index of the previous tap's tile */
    uint32_t tiles[TEX_TRACE_TILES_MAX], taps[TEX_TRACE_TILES_MAX];
} RequestTiles;

static void record(RequestTiles *q)
{
    if (q->count > 0)
        trace_add_request(q->stream, q->texture->trace_number, q->depth, q->is_continued, q->tiles,
                          q->taps, q->count);
    q->is_continued = true;
    q->count = q->last = 0;
}

static void count_tile(RequestTiles *q, uint32_t tile)
{
    uint32_t i = q->last;
    if (i >= q->count || q->tiles[i] != tile) {
        for (i = q->count; i > 0 && q->tiles[i - 1] != tile; --i)
            ;
        if (i == 0) {
            if (q->count == TEX_TRACE_TILES_MAX)
                record(q);
            i = q->count++;
            q->tiles[i] = tile;
            q->taps[i] = 0;
        } else {
            --i;
        }
    }
    q->last = i;
    ++q->taps[i];
}

static void count_tap(void *data, const TexTap *tap)
{
    RequestTiles *q = data;
    uint32_t tiles[4];
    uint32_t tile_count = tap_tiles(q->texture, tap, tiles);
    for (uint32_t k = 0; k < tile_count; ++k)
        count_tile(q, tiles[k]);
}

void cache_record_request(TexThread *thread, Texture *texture, const TexRequest *r)
{
    uint32_t depth = r->depths && r->lane_mask ? r->depths[__builtin_ctz(r->lane_mask)] : r->depth;
    RequestTiles q = {.stream = thread->trace,
                      .texture = texture,
                      .depth = depth < TEX_DEPTH_BUCKETS ? depth : TEX_DEPTH_BUCKETS - 1};
    taps_visit(texture, r, 0, count_tap, &q);
    record(&q);
}

void cache_record_texture(TexCache *c, const Texture *texture)
{
    StexHeader h;
    stex_restore(&texture->header, &h);
    TraceTexture t = {.tile_bytes = texture->tile_bytes,
                      .tile_count = texture_tile_count(texture),
                      .level_count = texture->level_count,
                      .tail_count = texture->tail_count};
    memcpy(t.tail_bytes, texture->tail_bytes, sizeof t.tail_bytes);
    for (uint32_t i = 0; i < texture->level_count; ++i) {
        bool is_paged = i < h.first_tail_level;
        t.levels[i] = (TexTraceLevel){.width = h.levels[i].width,
                                      .height = h.levels[i].height,
                                      .tiles_x = is_paged ? h.levels[i].tiles_x : 0,
                                      .tiles_y = is_paged ? h.levels[i].tiles_y : 0,
                                      .first_tile = is_paged ? texture->levels[i].first_tile : 0};
    }
    trace_write_texture(c->trace, texture->trace_number, &t, texture->path);
}
