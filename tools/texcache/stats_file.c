#include "tools/texcache/stats_file.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/path.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATS_FILE_BYTES_MAX = 64 << 20, TEXTURES_MAX = 1 << 20, SAMPLES_MAX = 100000 };

static Status read_count(JsonCursor *object, const char *name, uint64_t *out, Error *err)
{
    int64_t value = 0;
    TRY(json_get_int(object, name, JSON_REQUIRED, 0, INT64_MAX, &value, err));
    *out = (uint64_t)value;
    return STATUS_OK;
}

static Status read_texture(JsonCursor *object, TexTextureStats *t, Error *err)
{
    TRY(json_as_object(object, err));
    TRY(json_get_string(object, "name", JSON_REQUIRED, &t->name, err));
    TRY(json_get_string(object, "path", JSON_REQUIRED, &t->path, err));
    TRY(json_get_u32(object, "width", JSON_REQUIRED, 1, UINT32_MAX, &t->width, err));
    TRY(json_get_u32(object, "height", JSON_REQUIRED, 1, UINT32_MAX, &t->height, err));
    TRY(read_count(object, "tiles", &t->tile_count, err));
    TRY(read_count(object, "tile_bytes", &t->tile_bytes, err));
    TRY(read_count(object, "lookups", &t->lookups, err));
    TRY(read_count(object, "loads", &t->loads, err));
    TRY(read_count(object, "unique_loads", &t->unique_loads, err));
    TRY(read_count(object, "constants", &t->constants, err));
    TRY(read_count(object, "failed_tiles", &t->failed_tiles, err));
    TRY(read_count(object, "bytes_loaded", &t->bytes_loaded, err));
    TRY(read_count(object, "bytes_unique", &t->bytes_unique, err));
    TRY(read_count(object, "read_ns", &t->read_ns, err));
    TRY(read_count(object, "waits", &t->waits, err));
    return read_count(object, "wait_ns", &t->wait_ns, err);
}

static int by_bytes_loaded(const void *a, const void *b)
{
    const TexTextureStats *x = a, *y = b;
    if (x->bytes_loaded != y->bytes_loaded)
        return x->bytes_loaded > y->bytes_loaded ? -1 : 1;
    return x->lookups > y->lookups ? -1 : x->lookups < y->lookups;
}

/* Leaves out of all names the folders that they share. */
static void shorten_names(StatsFile *f)
{
    if (f->texture_count == 0)
        return;
    const char *first = f->textures[0].name;
    size_t shared = (size_t)(path_basename(first) - first);
    for (uint32_t i = 1; i < f->texture_count; ++i) {
        size_t same = 0;
        while (same < shared && f->textures[i].name[same] == first[same])
            ++same;
        while (same > 0 && first[same - 1] != '/')
            --same;
        shared = same;
    }
    f->folder_bytes = (uint32_t)shared;
    for (uint32_t i = 0; i < f->texture_count; ++i)
        f->textures[i].name += shared;
}

static Status read_textures(JsonCursor *textures, StatsFile *f, Error *err)
{
    JsonCursor list, item;
    TRY(texcache_stats_read(textures, &f->stats, err));
    TRY(json_get_array(textures, "by_texture", JSON_OPTIONAL, &list, err));
    if (!json_exists(&list))
        return STATUS_OK;
    uint32_t count = json_count(&list);
    if (count > TEXTURES_MAX)
        return json_fail(&list, err, "more than %d textures", TEXTURES_MAX);
    f->textures = MEM_ARRAY(TexTextureStats, count + 1);
    if (!f->textures)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&list, i, &item);
        TRY(read_texture(&item, &f->textures[i], err));
    }
    f->texture_count = count;
    shorten_names(f);
    qsort(f->textures, count, sizeof *f->textures, by_bytes_loaded);
    return STATUS_OK;
}

static Status read_column(JsonCursor *timeline, const char *name, uint32_t count, double **out,
                          Error *err)
{
    JsonCursor column, item;
    TRY(json_get_array(timeline, name, JSON_REQUIRED, &column, err));
    if (json_count(&column) != count)
        return json_fail(&column, err, "%u samples are expected", count);
    *out = MEM_ARRAY(double, count + 1);
    if (!*out)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&column, i, &item);
        TRY(json_as_double(&item, 0, HUGE_VAL, &(*out)[i], err));
    }
    return STATUS_OK;
}

static Status read_timeline(JsonCursor *root, StatsTimeline *t, Error *err)
{
    JsonCursor timeline, times;
    TRY(json_get_object(root, "timeline", JSON_OPTIONAL, &timeline, err));
    if (!json_exists(&timeline))
        return STATUS_OK;
    TRY(json_get_array(&timeline, "time_s", JSON_REQUIRED, &times, err));
    t->count = json_count(&times);
    if (t->count > SAMPLES_MAX)
        return json_fail(&times, err, "more than %d samples", SAMPLES_MAX);
    TRY(read_column(&timeline, "time_s", t->count, &t->time_s, err));
    TRY(read_column(&timeline, "lookups", t->count, &t->lookups, err));
    TRY(read_column(&timeline, "tile_requests", t->count, &t->tile_requests, err));
    TRY(read_column(&timeline, "tile_misses", t->count, &t->tile_misses, err));
    TRY(read_column(&timeline, "loads", t->count, &t->loads, err));
    TRY(read_column(&timeline, "bytes_loaded", t->count, &t->bytes_loaded, err));
    return read_column(&timeline, "bytes_now", t->count, &t->bytes_now, err);
}

static Status read_root(StatsFile *f, Error *err)
{
    JsonCursor root, textures, seconds, fibers, rays;
    f->scene = "";
    TRY(json_root_object(f->doc, &root, err));
    TRY(json_get_string(&root, "scene", JSON_OPTIONAL, &f->scene, err));
    TRY(json_get_object(&root, "textures", JSON_REQUIRED, &textures, err));
    TRY(read_textures(&textures, f, err));
    TRY(json_get_u32(&root, "threads", JSON_REQUIRED, 1, UINT32_MAX, &f->thread_count, err));
    TRY(json_get_object(&root, "seconds", JSON_REQUIRED, &seconds, err));
    TRY(json_get_double(&seconds, "render", JSON_REQUIRED, 0, HUGE_VAL, &f->render_s, err));
    TRY(json_get_object(&root, "fibers", JSON_REQUIRED, &fibers, err));
    TRY(json_get_double(&fibers, "idle_seconds", JSON_REQUIRED, 0, HUGE_VAL, &f->idle_s, err));
    TRY(json_get_u32(&fibers, "peak_parked", JSON_OPTIONAL, 0, UINT32_MAX, &f->fiber_count, err));
    TRY(json_get_u32(&fibers, "limit", JSON_OPTIONAL, 0, UINT32_MAX, &f->fiber_limit, err));
    TRY(json_get_object(&root, "rays", JSON_OPTIONAL, &rays, err));
    if (json_exists(&rays)) {
        TRY(read_count(&rays, "paths", &f->paths, err));
        TRY(read_count(&rays, "closest_hit", &f->rays, err));
    }
    return read_timeline(&root, &f->timeline, err);
}

Status stats_file_read(const char *path, StatsFile *out, Error *err)
{
    *out = (StatsFile){0};
    TRY(json_read_file(path, STATS_FILE_BYTES_MAX, &out->doc, err));
    return read_root(out, err);
}

void stats_file_free(StatsFile *f)
{
    StatsTimeline *t = &f->timeline;
    double *columns[] = {t->time_s, t->lookups,      t->tile_requests, t->tile_misses,
                         t->loads,  t->bytes_loaded, t->bytes_now};
    for (size_t i = 0; i < SORT_COUNT_OF(columns); ++i)
        mem_free(columns[i]);
    mem_free(f->textures);
    json_destroy(f->doc);
    *f = (StatsFile){0};
}

uint64_t stats_sufficient_budget(const TexStats *s)
{
    return s->bytes_tables + s->bytes_unique + s->bytes_unique / 32 + (1 << 20);
}

StatsFibers stats_advise_fibers(const StatsFile *f, uint32_t *out_per_thread)
{
    enum { FEWEST = 2, MOST = 64 };
    /* The bytes that the tiles of a fiber take: with less, measured fibers evicted each other's tiles; with twice as much they
     * did not. */
    const double crowded_bytes = 4.0 * 1048576.0, roomy_bytes = 2.0 * 1048576.0;
    const TexStats *s = &f->stats;
    double tile_bytes = (double)s->budget_bytes - (double)s->bytes_tables;
    double threads = (double)f->thread_count, waited = ceil((double)f->fiber_count / threads);
    double limit = f->fiber_limit > 0 ? (double)f->fiber_limit : waited;
    bool is_idle = s->waits > 0 && f->idle_s > 0.1 * f->render_s * threads;
    *out_per_thread = 0;
    if (f->fiber_count == 0 || tile_bytes <= 0.0)
        return STATS_FIBERS_RIGHT;
    if (s->evictions > 0 && texcache_stats_pressure(s) >= 1.5) {
        double fitting = fmax(FEWEST, floor(tile_bytes / (crowded_bytes * threads)));
        if (fitting >= fmin(waited, limit))
            return STATS_FIBERS_RIGHT;
        ASSERT(fitting >= FEWEST);
        *out_per_thread = (uint32_t)fitting;
        return STATS_FIBERS_FEWER;
    }
    double room = fmin(MOST, floor(tile_bytes / (roomy_bytes * threads)));
    double more = s->evictions == 0 ? fmin(MOST, 2.0 * waited) : fmin(room, 2.0 * waited);
    if (!is_idle || more <= fmax(waited, limit) ||
        (s->evictions > 0 && texcache_stats_pressure(s) >= 1.2))
        return STATS_FIBERS_RIGHT;
    ASSERT(more > 0.0 && more <= MOST);
    *out_per_thread = (uint32_t)more;
    return STATS_FIBERS_MORE;
}

double stats_latency_us(const uint64_t buckets[TEX_LATENCY_BUCKETS], double share)
{
    double all = 0.0, sum = 0.0;
    ASSERT(share > 0.0 && share <= 1.0);
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS; ++i)
        all += (double)buckets[i];
    for (uint32_t i = 0; i < TEX_LATENCY_BUCKETS && all > 0.0; ++i) {
        sum += (double)buckets[i];
        if (sum >= share * all)
            return exp2((double)i);
    }
    return 0.0;
}
