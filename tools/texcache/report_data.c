#include "tools/texcache/texture_report.h"

#include "base/alloc.h"
#include "base/check.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int by_loads(const void *a, const void *b)
{
    const ReportMap *x = a, *y = b;
    if (x->load_count != y->load_count)
        return x->load_count > y->load_count ? -1 : 1;
    return x->request_count > y->request_count ? -1 : x->request_count < y->request_count;
}

static const char *name_of(const StatsFile *f, const char *path)
{
    for (uint32_t i = 0; i < f->texture_count; ++i) {
        if (strcmp(f->textures[i].path, path) == 0)
            return f->textures[i].name;
    }
    return path;
}

static Status make_maps(Report *r, Error *err)
{
    uint32_t count = tex_trace_summary(r->trace)->texture_count;
    const TexTraceTexture *textures = tex_trace_textures(r->trace);
    r->maps = MEM_ARRAY(ReportMap, count + 1);
    if (!r->maps)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    r->map_count = count;
    for (uint32_t i = 0; i < count; ++i) {
        ReportMap *map = &r->maps[i];
        *map = (ReportMap){.texture = &textures[i], .name = name_of(&r->stats, textures[i].path)};
        map->loads = MEM_ARRAY(uint32_t, textures[i].tile_count + 1);
        map->requests = MEM_ARRAY(uint32_t, textures[i].tile_count + 1);
        if (!map->loads || !map->requests)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    return STATUS_OK;
}

static Status count_tiles(Report *r, Error *err)
{
    TexTraceEvent event;
    bool more;
    tex_trace_rewind(r->trace);
    for (;;) {
        TRY(tex_trace_next(r->trace, &event, &more, err));
        if (!more)
            return STATUS_OK;
        ASSERT(event.texture < r->map_count);
        ReportMap *map = &r->maps[event.texture];
        if (event.kind == TEX_TRACE_READ) {
            ++map->loads[event.tiles[0]];
            ++map->load_count;
            continue;
        }
        for (uint32_t i = 0; i < event.tile_count; ++i) {
            ++map->requests[event.tiles[i]];
            ++map->request_count;
        }
    }
}

static Status load_trace(Report *r, const char *path, Error *err)
{
    TRY(tex_trace_open(path, &r->trace, err));
    const TexTraceSummary *s = tex_trace_summary(r->trace);
    if (s->tile_count != r->stats.stats.tile_requests ||
        s->budget_bytes != r->stats.stats.budget_bytes)
        return error_set_at(err, STATUS_INVALID, path,
                            "is of another render than the statistics: %" PRIu64
                            " tiles were asked for in the one, %" PRIu64 " in the other",
                            s->tile_count, r->stats.stats.tile_requests);
    TRY(tex_replay_curve(r->trace, &r->curve, err));
    for (uint32_t i = 0; i < REPORT_REPLAYS; ++i) /* an eighth of the budget to twice of it */
        r->replays[i].budget_bytes =
            i % 2 == 0 ? (s->budget_bytes << i / 2) >> 3 : (3 * s->budget_bytes << i / 2) >> 4;
    TRY(tex_replay(r->trace, r->replays, REPORT_REPLAYS, err));
    TRY(make_maps(r, err));
    TRY(count_tiles(r, err));
    qsort(r->maps, r->map_count, sizeof *r->maps, by_loads);
    return STATUS_OK;
}

Status report_load(const char *stats_path, const char *trace_path, Report *out, Error *err)
{
    *out = (Report){0};
    TRY(stats_file_read(stats_path, &out->stats, err));
    return trace_path ? load_trace(out, trace_path, err) : STATUS_OK;
}

void report_free(Report *r)
{
    for (uint32_t i = 0; i < r->map_count; ++i) {
        mem_free(r->maps[i].loads);
        mem_free(r->maps[i].requests);
    }
    mem_free(r->maps);
    tex_trace_close(r->trace);
    stats_file_free(&r->stats);
    *r = (Report){0};
}
