/* texcache replay: what a recorded render would have loaded under other budgets. */
#include "base/check.h"
#include "base/json_write.h"
#include "textures/tex_replay.h"
#include "tools/texcache/texcache_commands.h"
#include <inttypes.h>
#include <stdio.h>

enum { DEFAULT_BUDGETS = 7 };

/* Sets budgets from a sixteenth to four times of the recorded one, for when none is named. */
static uint32_t default_budgets(uint64_t recorded_bytes, TexReplay *out)
{
    for (uint32_t i = 0; i < DEFAULT_BUDGETS; ++i)
        out[i] = (TexReplay){.budget_bytes = (recorded_bytes << i) >> 4};
    return DEFAULT_BUDGETS;
}

static Status named_budgets(const CliTextList *names, TexReplay *out, Error *err)
{
    for (uint32_t i = 0; i < names->count; ++i) {
        out[i] = (TexReplay){0};
        Status status = cli_parse_size(names->items[i], &out[i].budget_bytes, err);
        if (status != STATUS_OK) {
            error_prefix(err, "option '--budget': ");
            return status;
        }
    }
    return STATUS_OK;
}

static double times(uint64_t loads, uint64_t unique)
{
    return unique > 0 ? (double)loads / (double)unique : 0.0;
}

static void print_summary(const TexTraceSummary *s, const TexCurve *curve)
{
    char budget[32], unique[32], tables[32];
    printf("%" PRIu64 " requests of %" PRIu32 " textures, %" PRIu64
           " tiles asked for, in %.2f s under %s; %" PRIu64 " reads\n",
           s->request_count, s->texture_count, s->tile_count, (double)s->duration_ns * 1e-9,
           cli_format_size(s->budget_bytes, budget), s->read_count);
    printf("%" PRIu64 " different tiles, %s; %s of tables and small levels beside them\n",
           curve->unique_loads, cli_format_size(curve->bytes_unique, unique),
           cli_format_size(curve->overhead_bytes, tables));
}

static void print_table(const TexReplay *replays, uint32_t count, const TexCurve *curve)
{
    printf("%12s %12s %12s %14s %14s %14s\n", "budget", "loads", "loaded", "loads a tile",
           "LRU would", "at best");
    for (uint32_t i = 0; i < count; ++i) {
        const TexReplay *r = &replays[i];
        char budget[32], loaded[32], least[32];
        cli_format_size(r->budget_bytes, budget);
        if (!r->is_workable) {
            printf("%12s  too small: %s are needed\n", budget,
                   cli_format_size(r->least_bytes, least));
            continue;
        }
        uint64_t lru = tex_curve_loads(curve, r->budget_bytes, NULL);
        printf("%12s %12" PRIu64 " %12s %14.2f %14.2f %14.2f\n", budget, r->loads,
               cli_format_size(r->bytes_loaded, loaded), times(r->loads, r->unique_loads),
               times(lru, curve->unique_loads), times(r->best_loads, r->unique_loads));
    }
}

static void print_advice(const TexCurve *curve)
{
    static const double goals[] = {1.1, 2.0};
    char text[32];
    if (curve->unique_loads == 0)
        return;
    for (uint32_t i = 0; i < SORT_COUNT_OF(goals); ++i)
        printf("%s are enough for %.1f loads a tile.\n",
               cli_format_size(tex_curve_budget_for(curve, goals[i]), text), goals[i]);
}

static void print_json(const TexTraceSummary *s, const TexReplay *replays, uint32_t count,
                       const TexCurve *curve)
{
    StrBuf text = {0};
    JsonWriter w = json_writer(&text, JSON_INDENTED);
    json_write_object(&w, NULL);
    json_write_u64(&w, "budget_bytes", s->budget_bytes);
    json_write_u64(&w, "requests", s->request_count);
    json_write_u64(&w, "tile_requests", s->tile_count);
    json_write_u64(&w, "reads", s->read_count);
    json_write_u64(&w, "unique_loads", curve->unique_loads);
    json_write_u64(&w, "bytes_unique", curve->bytes_unique);
    json_write_array(&w, "replays");
    for (uint32_t i = 0; i < count; ++i) {
        json_write_object(&w, NULL);
        json_write_u64(&w, "budget_bytes", replays[i].budget_bytes);
        json_write_bool(&w, "workable", replays[i].is_workable);
        json_write_u64(&w, "least_bytes", replays[i].least_bytes);
        json_write_u64(&w, "loads", replays[i].loads);
        json_write_u64(&w, "evictions", replays[i].evictions);
        json_write_u64(&w, "bytes_loaded", replays[i].bytes_loaded);
        json_write_u64(&w, "lru_loads", tex_curve_loads(curve, replays[i].budget_bytes, NULL));
        json_write_u64(&w, "best_loads", replays[i].best_loads);
        json_write_end(&w);
    }
    json_write_end(&w);
    json_write_array(&w, "curve"); /* where it falls */
    uint64_t last = UINT64_MAX;
    for (uint32_t i = 0; i < TEX_CURVE_OCTAVES * TEX_CURVE_STEPS; ++i) {
        uint64_t budget = curve->overhead_bytes + (uint64_t)tex_curve_bin_bytes(i) + 1, bytes;
        uint64_t loads = tex_curve_loads(curve, budget, &bytes);
        if (loads == last)
            continue;
        last = loads;
        json_write_object(&w, NULL);
        json_write_u64(&w, "budget_bytes", budget);
        json_write_u64(&w, "loads", loads);
        json_write_u64(&w, "bytes_loaded", bytes);
        json_write_end(&w);
    }
    json_write_end(&w);
    json_write_end(&w);
    puts(strbuf_text(&text));
    strbuf_free(&text);
}

static Status replay(const char *path, const CliTextList *names, bool wants_json, Error *err)
{
    static TexCurve curve;
    TexReplay replays[TEX_REPLAY_BUDGETS_MAX];
    _Static_assert((int)TEX_REPLAY_BUDGETS_MAX >= (int)CLI_LIST_MAX &&
                       (int)TEX_REPLAY_BUDGETS_MAX >= (int)DEFAULT_BUDGETS,
                   "every --budget has a place");
    TexTraceReader *trace;
    TRY(named_budgets(names, replays, err));
    TRY(tex_trace_open(path, &trace, err));
    const TexTraceSummary *s = tex_trace_summary(trace);
    uint32_t count = names->count ? names->count : default_budgets(s->budget_bytes, replays);
    ASSERT(count > 0 && count <= TEX_REPLAY_BUDGETS_MAX);
    Status status = tex_replay(trace, replays, count, err);
    if (status == STATUS_OK)
        status = tex_replay_best(trace, replays, count, err);
    if (status == STATUS_OK)
        status = tex_replay_curve(trace, &curve, err);
    if (status == STATUS_OK && wants_json) {
        print_json(s, replays, count, &curve);
    } else if (status == STATUS_OK) {
        print_summary(s, &curve);
        print_table(replays, count, &curve);
        print_advice(&curve);
    }
    tex_trace_close(trace);
    return status;
}

int texcache_run_replay(int argc, char **argv)
{
    CliTextList budgets = {0};
    bool wants_json = false;
    const CliOption options[] = {
        {.name = "budget",
         .short_name = 'b',
         .kind = CLI_TEXT_LIST,
         .out = &budgets,
         .value_name = "SIZE",
         .help = "a budget to replay, such as 256M; may be repeated; by default a sixteenth to "
                 "four times the recorded one"},
        {.name = "json", .kind = CLI_FLAG, .out = &wants_json, .help = "print JSON"},
    };
    static const char *const examples[] = {"sort-render scene.sort -o a.exr --trace a.trace",
                                           "records",
                                           "texcache replay a.trace",
                                           "what other budgets would have loaded",
                                           "texcache replay a.trace -b 64M -b 256M --json",
                                           "two budgets and the whole curve, as JSON",
                                           NULL};
    const CliProgram program = {
        .name = "texcache replay",
        .usage = "[options] TRACE",
        .summary = "Replays the texture requests of a recorded render with other budgets: with the "
                   "cache's own eviction and with optimal eviction for each given budget, and with "
                   "least-recently-used eviction for all budgets at once.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 1, "TRACE"),
        .examples = examples};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    Error err = {0};
    if (replay(parsed.args[0], &budgets, wants_json, &err) != STATUS_OK)
        return tool_fail(&err, err.code == STATUS_INVALID ? TOOL_USAGE : TOOL_FAILED);
    return TOOL_DONE;
}
