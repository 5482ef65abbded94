/* The public API of libsort-texcache in terms of the internal one: it checks what hosts give and blocks threads while tiles are
 * read. No logic of the cache is here. */
#include "textures/api/sort_texcache.h"
#include "base/alloc.h"
#include "textures/texcache.h"
#include <stdio.h>
#include <string.h>

/* clang-format off */
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is " #theirs)
SAME(SORT_TEXCACHE_OK, STATUS_OK); SAME(SORT_TEXCACHE_INVALID, STATUS_INVALID);
SAME(SORT_TEXCACHE_NOT_FOUND, STATUS_NOT_FOUND); SAME(SORT_TEXCACHE_IO, STATUS_IO);
SAME(SORT_TEXCACHE_FORMAT, STATUS_FORMAT); SAME(SORT_TEXCACHE_UNSUPPORTED, STATUS_UNSUPPORTED);
SAME(SORT_TEXCACHE_LIMIT, STATUS_LIMIT); SAME(SORT_TEXCACHE_NO_MEMORY, STATUS_NO_MEMORY);
SAME(SORT_TEXCACHE_SOURCE, STATUS_SOURCE); SAME(SORT_TEXCACHE_CANCELLED, STATUS_CANCELLED);
SAME(SORT_TEXCACHE_INTERNAL, STATUS_INTERNAL);
SAME(SORT_TEXCACHE_LOG_ERROR, LOG_LEVEL_ERROR); SAME(SORT_TEXCACHE_LOG_WARNING, LOG_LEVEL_WARNING);
SAME(SORT_TEXCACHE_LOG_INFO, LOG_LEVEL_INFO); SAME(SORT_TEXCACHE_LOG_DEBUG, LOG_LEVEL_DEBUG);
SAME(SORT_TEXCACHE_WRAP_FILE, TEX_WRAP_FILE); SAME(SORT_TEXCACHE_WRAP_PERIODIC, TEX_WRAP_PERIODIC);
SAME(SORT_TEXCACHE_WRAP_CLAMP, TEX_WRAP_CLAMP); SAME(SORT_TEXCACHE_WRAP_MIRROR, TEX_WRAP_MIRROR);
SAME(SORT_TEXCACHE_WRAP_BLACK, TEX_WRAP_BLACK);
SAME(SORT_TEXCACHE_TEXEL_U8, SORT_TEXEL_U8); SAME(SORT_TEXCACHE_TEXEL_U16, SORT_TEXEL_U16);
SAME(SORT_TEXCACHE_TEXEL_HALF, SORT_TEXEL_HALF); SAME(SORT_TEXCACHE_TEXEL_FLOAT, SORT_TEXEL_FLOAT);
SAME(SORT_TEXCACHE_COLOR_UNKNOWN, SORT_COLOR_UNKNOWN); SAME(SORT_TEXCACHE_COLOR_SRGB, SORT_COLOR_SRGB);
SAME(SORT_TEXCACHE_COLOR_LINEAR, SORT_COLOR_LINEAR); SAME(SORT_TEXCACHE_COLOR_RAW, SORT_COLOR_RAW);
SAME(SORT_TEXCACHE_FILTER_DEFAULT, TEX_FILTER_DEFAULT); SAME(SORT_TEXCACHE_FILTER_CLOSEST, TEX_FILTER_CLOSEST);
SAME(SORT_TEXCACHE_FILTER_BILINEAR, TEX_FILTER_BILINEAR); SAME(SORT_TEXCACHE_FILTER_TRILINEAR, TEX_FILTER_TRILINEAR);
SAME(SORT_TEXCACHE_FILTER_ANISO, TEX_FILTER_ANISO); SAME(SORT_TEXCACHE_FILTER_STOCHASTIC, TEX_FILTER_STOCHASTIC);
SAME(SORT_TEXCACHE_FILTER_CATMULL_ROM, TEX_FILTER_CATMULL_ROM); SAME(SORT_TEXCACHE_FILTER_BSPLINE, TEX_FILTER_BSPLINE);
SAME(SORT_TEXCACHE_MAX_LANES, TEX_MAX_LANES); SAME(SORT_TEXCACHE_MAX_LEVELS, TEX_MAX_LEVELS);
/* clang-format on */

struct SortTexcache {
    _Atomic uint32_t holders; /* the host and each reader */
    TexCache *cache;
    Log log;
    SortTexcacheLog write;
    void *user;
};

struct SortTexcacheReader {
    SortTexcache *cache; /* held */
    TexThread *thread;
    Waiter *waiter;
    TexCaller caller;
};

const char *sort_texcache_version(void)
{
    return SORT_VERSION;
}

/* --- errors and sizes ----------------------------------------------------------------------- */

static SortTexcacheStatus give_error(Status status, const Error *from, SortTexcacheError *err)
{
    if (status != STATUS_OK && err) {
        err->status = (SortTexcacheStatus)status;
        (void)error_format(from, err->text, sizeof err->text);
    }
    return (SortTexcacheStatus)status;
}

SORT_PRINTF(3, 4)
static SortTexcacheStatus refuse(SortTexcacheError *err, Status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = (SortTexcacheStatus)status;
        (void)vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return (SortTexcacheStatus)status;
}

static SortTexcacheStatus refuse_null(SortTexcacheError *err, const char *what)
{
    return refuse(err, STATUS_INVALID, "%s is NULL", what);
}

/* A struct of the host's, whose first member is its size, as this library knows it: a later host's is refused, since what it
 * asks for would be left out. */
static SortTexcacheStatus check_size(const void *given, size_t least, size_t ours, const char *type,
                                     SortTexcacheError *err)
{
    size_t size_bytes;
    memcpy(&size_bytes, given, sizeof size_bytes);
    if (size_bytes >= least && size_bytes <= ours)
        return SORT_TEXCACHE_OK;
    return refuse(err, STATUS_INVALID,
                  "size_bytes of %s is %zu; this library (%s) knows %zu to %zu", type, size_bytes,
                  SORT_VERSION, least, ours);
}

#define TRY_TEXCACHE(expression)                                                                   \
    do {                                                                                           \
        SortTexcacheStatus try_texcache = (expression);                                            \
        if (try_texcache != SORT_TEXCACHE_OK)                                                      \
            return try_texcache;                                                                   \
    } while (0)

/* `own` becomes what the host gave; what its version does not have stays zero. */
#define TAKE(own, given, type, err)                                                                \
    do {                                                                                           \
        TRY_TEXCACHE(check_size(given, sizeof(type), sizeof(type), #type, err));                   \
        memcpy(own, given, (given)->size_bytes);                                                   \
    } while (0)

/* --- cache ---------------------------------------------------------------------------------- */

static void write_log(void *data, LogLevel level, const char *text)
{
    const SortTexcache *cache = data;
    cache->write(cache->user, (SortTexcacheLogLevel)level, text);
}

SortTexcacheStatus sort_texcache_create(const SortTexcacheDesc *desc, SortTexcache **out_cache,
                                        SortTexcacheError *err)
{
    if (!out_cache)
        return refuse_null(err, "out_cache");
    *out_cache = NULL;
    SortTexcacheDesc own = {.size_bytes = sizeof own};
    if (desc)
        TAKE(&own, desc, SortTexcacheDesc, err);
    if ((uint32_t)own.log_level > SORT_TEXCACHE_LOG_DEBUG)
        return refuse(err, STATUS_INVALID, "%d is no SortTexcacheLogLevel", (int)own.log_level);
    SortTexcache *cache = MEM_NEW(SortTexcache);
    if (!cache)
        return refuse(err, STATUS_NO_MEMORY, "out of memory");
    cache->write = own.log;
    cache->user = own.log_user;
    cache->log = (Log){(LogLevel)own.log_level, write_log, cache};
    TexCacheDesc inner = {.size_bytes = sizeof inner,
                          .budget_bytes = own.budget_bytes,
                          .io_thread_count = own.io_thread_count,
                          .max_open_files = own.max_open_files,
                          .log = own.log ? &cache->log : NULL};
    Error error = {0};
    Status status = texcache_create(&inner, &cache->cache, &error);
    if (status != STATUS_OK) {
        mem_free(cache);
        return give_error(status, &error, err);
    }
    atomic_init(&cache->holders, 1);
    *out_cache = cache;
    return SORT_TEXCACHE_OK;
}

void sort_texcache_destroy(SortTexcache *cache)
{
    if (!cache || atomic_fetch_sub_explicit(&cache->holders, 1, memory_order_acq_rel) != 1)
        return;
    texcache_destroy(cache->cache);
    mem_free(cache);
}

/* --- textures ------------------------------------------------------------------------------- */

SortTexcacheStatus sort_texcache_open(SortTexcache *cache, const char *path,
                                      SortTexcacheTexture *out_texture, SortTexcacheError *err)
{
    if (!out_texture)
        return refuse_null(err, "out_texture");
    out_texture->id = 0;
    if (!cache || !path)
        return refuse_null(err, cache ? "path" : "cache");
    TexId id = {0};
    Error error = {0};
    Status status = texcache_open(
        cache->cache, &(TexOpenDesc){.size_bytes = sizeof(TexOpenDesc), .path = path}, &id, &error);
    if (status == STATUS_OK)
        out_texture->id = id.id;
    return give_error(status, &error, err);
}

SortTexcacheStatus sort_texcache_close(SortTexcache *cache, SortTexcacheTexture texture,
                                       SortTexcacheError *err)
{
    if (!cache)
        return refuse_null(err, "cache");
    TexInfo info;
    Error error = {0};
    Status status = texcache_info(cache->cache, (TexId){texture.id}, &info, &error);
    if (status == STATUS_OK)
        texcache_close(cache->cache, (TexId){texture.id});
    return give_error(status, &error, err);
}

SortTexcacheStatus sort_texcache_info(const SortTexcache *cache, SortTexcacheTexture texture,
                                      SortTexcacheInfo *out, SortTexcacheError *err)
{
    if (!cache || !out)
        return refuse_null(err, cache ? "out" : "cache");
    TRY_TEXCACHE(check_size(out, sizeof *out, sizeof *out, "SortTexcacheInfo", err));
    TexInfo info;
    Error error = {0};
    Status status = texcache_info(cache->cache, (TexId){texture.id}, &info, &error);
    if (status != STATUS_OK)
        return give_error(status, &error, err);
    SortTexcacheInfo all = {.size_bytes = out->size_bytes,
                            .width = info.width,
                            .height = info.height,
                            .channel_count = info.channel_count,
                            .texel = (SortTexcacheTexel)info.type,
                            .color = (SortTexcacheColor)info.color_space,
                            .is_premultiplied = info.is_premultiplied,
                            .wrap_s = (SortTexcacheWrap)info.wrap_s,
                            .wrap_t = (SortTexcacheWrap)info.wrap_t,
                            .tile_width = info.tile_width,
                            .tile_height = info.tile_height,
                            .level_count = info.level_count,
                            .tile_count = info.tile_count,
                            .file_bytes = info.file_bytes};
    memcpy(all.average_rgba, info.average_rgba, sizeof all.average_rgba);
    memcpy(out, &all, out->size_bytes);
    return SORT_TEXCACHE_OK;
}

/* --- lookups -------------------------------------------------------------------------------- */

SortTexcacheStatus sort_texcache_reader_create(SortTexcache *cache, SortTexcacheReader **out_reader,
                                               SortTexcacheError *err)
{
    if (!out_reader)
        return refuse_null(err, "out_reader");
    *out_reader = NULL;
    if (!cache)
        return refuse_null(err, "cache");
    SortTexcacheReader *reader = MEM_NEW(SortTexcacheReader);
    if (!reader)
        return refuse(err, STATUS_NO_MEMORY, "out of memory");
    Error error = {0};
    Status status = waiter_create_for_thread(&reader->waiter, &error);
    if (status == STATUS_OK) {
        status = texcache_thread_create(cache->cache, &reader->thread, &error);
        if (status != STATUS_OK)
            waiter_destroy_for_thread(reader->waiter);
    }
    if (status != STATUS_OK) {
        mem_free(reader);
        return give_error(status, &error, err);
    }
    texcache_caller_init(&reader->caller, reader->thread, reader->waiter);
    atomic_fetch_add_explicit(&cache->holders, 1, memory_order_relaxed);
    reader->cache = cache;
    *out_reader = reader;
    return SORT_TEXCACHE_OK;
}

void sort_texcache_reader_destroy(SortTexcacheReader *reader)
{
    if (!reader)
        return;
    texcache_thread_destroy(reader->thread);
    waiter_destroy_for_thread(reader->waiter);
    sort_texcache_destroy(reader->cache);
    mem_free(reader);
}

static SortTexcacheStatus take_options(const SortTexcacheOptions *given, TexOptions *out,
                                       SortTexcacheError *err)
{
    SortTexcacheOptions own = {0};
    TAKE(&own, given, SortTexcacheOptions, err);
    if ((uint32_t)own.wrap_s > SORT_TEXCACHE_WRAP_BLACK ||
        (uint32_t)own.wrap_t > SORT_TEXCACHE_WRAP_BLACK)
        return refuse(err, STATUS_INVALID, "%d, %d: one is no SortTexcacheWrap", (int)own.wrap_s,
                      (int)own.wrap_t);
    if ((uint32_t)own.filter > SORT_TEXCACHE_FILTER_BSPLINE)
        return refuse(err, STATUS_INVALID, "%d is no SortTexcacheFilter", (int)own.filter);
    if (!(own.mip_bias >= -64.0f && own.mip_bias <= 64.0f))
        return refuse(err, STATUS_INVALID, "a mip_bias of %g; -64 to 64 are possible",
                      (double)own.mip_bias);
    *out = (TexOptions){.wrap_s = (TexWrap)own.wrap_s,
                        .wrap_t = (TexWrap)own.wrap_t,
                        .filter = (TexFilter)own.filter,
                        .mip_bias = own.mip_bias,
                        .has_missing_color = own.has_missing_color};
    memcpy(out->missing_color, own.missing_color, sizeof out->missing_color);
    return SORT_TEXCACHE_OK;
}

static SortTexcacheStatus take_request(const SortTexcacheRequest *given, TexOptions *options,
                                       TexRequest *out, SortTexcacheError *err)
{
    SortTexcacheRequest own = {0};
    TAKE(&own, given, SortTexcacheRequest, err);
    if (own.lane_count == 0 || own.lane_count > SORT_TEXCACHE_MAX_LANES)
        return refuse(err, STATUS_INVALID, "%u lanes; 1 to %d are possible", own.lane_count,
                      SORT_TEXCACHE_MAX_LANES);
    if (!own.coord)
        return refuse_null(err, "coord");
    if (own.options)
        TRY_TEXCACHE(take_options(own.options, options, err));
    *out = (TexRequest){.texture = {own.texture.id},
                        .options = options,
                        .lane_count = own.lane_count,
                        .lane_mask = own.lane_mask,
                        .with_derivs = own.with_derivs,
                        .coord = own.coord,
                        .random = own.random};
    return SORT_TEXCACHE_OK;
}

SortTexcacheStatus sort_texcache_lookup(SortTexcacheReader *reader,
                                        const SortTexcacheRequest *request, float *out_result,
                                        uint32_t *out_missing, SortTexcacheError *err)
{
    if (!reader || !request || !out_result)
        return refuse_null(err, !reader ? "reader" : !request ? "request" : "out_result");
    TexOptions options = {0};
    TexRequest inner;
    TRY_TEXCACHE(take_request(request, &options, &inner, err));
    uint32_t missing = texcache_lookup(&reader->caller, &inner, out_result);
    if (out_missing)
        *out_missing = missing;
    return SORT_TEXCACHE_OK;
}

SortTexcacheStatus sort_texcache_prefetch(SortTexcacheReader *reader,
                                          const SortTexcacheRequest *request,
                                          SortTexcacheError *err)
{
    if (!reader || !request)
        return refuse_null(err, reader ? "request" : "reader");
    TexOptions options = {0};
    TexRequest inner;
    TRY_TEXCACHE(take_request(request, &options, &inner, err));
    texcache_touch(&reader->caller, &inner);
    return SORT_TEXCACHE_OK;
}

typedef struct Visiting {
    SortTexcacheVisit visit;
    void *user;
} Visiting;

static void visit_tap(void *data, const TexTap *tap)
{
    const Visiting *v = data;
    SortTexcacheTap out = {.size_bytes = sizeof out, .lane = tap->lane, .level = tap->level};
    memcpy(out.x, tap->x, sizeof out.x);
    memcpy(out.y, tap->y, sizeof out.y);
    memcpy(out.weights, tap->weights, sizeof out.weights);
    memcpy(out.slopes_s, tap->slopes_s, sizeof out.slopes_s);
    memcpy(out.slopes_t, tap->slopes_t, sizeof out.slopes_t);
    v->visit(v->user, &out);
}

SortTexcacheStatus sort_texcache_taps(SortTexcacheReader *reader,
                                      const SortTexcacheRequest *request, SortTexcacheVisit visit,
                                      void *user, SortTexcacheError *err)
{
    if (!reader || !request || !visit)
        return refuse_null(err, !reader ? "reader" : !request ? "request" : "visit");
    TexOptions options = {0};
    TexRequest inner;
    TRY_TEXCACHE(take_request(request, &options, &inner, err));
    Visiting visiting = {visit, user};
    if (texcache_taps(reader->cache->cache, &inner, visit_tap, &visiting))
        return SORT_TEXCACHE_OK;
    SortTexcacheInfo info = {.size_bytes = sizeof info};
    TRY_TEXCACHE(sort_texcache_info(reader->cache, request->texture, &info, err));
    return refuse(err, STATUS_UNSUPPORTED, "the taps of a UDIM set cannot be listed");
}

/* --- statistics ----------------------------------------------------------------------------- */

SortTexcacheStatus sort_texcache_stats(SortTexcache *cache, SortTexcacheStats *out,
                                       SortTexcacheError *err)
{
    if (!cache || !out)
        return refuse_null(err, cache ? "out" : "cache");
    TRY_TEXCACHE(check_size(out, sizeof *out, sizeof *out, "SortTexcacheStats", err));
    TexStats stats;
    texcache_stats(cache->cache, &stats);
    SortTexcacheStats all = {.size_bytes = out->size_bytes,
                             .lookups = stats.lookups,
                             .missing = stats.missing,
                             .bad_lookups = stats.bad_lookups,
                             .probes = stats.probes,
                             .tile_requests = stats.tile_requests,
                             .tile_hits = stats.tile_hits,
                             .tile_misses = stats.tile_misses,
                             .waits = stats.waits,
                             .wait_ns = stats.wait_ns,
                             .loads = stats.loads,
                             .evictions = stats.evictions,
                             .failed_tiles = stats.failed_tiles,
                             .resident_tiles = stats.resident_tiles,
                             .bytes_read = stats.bytes_read,
                             .bytes_loaded = stats.bytes_loaded,
                             .bytes_unique = stats.bytes_unique,
                             .bytes_now = stats.bytes_now,
                             .bytes_peak = stats.bytes_peak,
                             .bytes_tables = stats.bytes_tables,
                             .budget_bytes = stats.budget_bytes};
    memcpy(out, &all, out->size_bytes);
    return SORT_TEXCACHE_OK;
}
