/* texcache stats: what the texture cache did during a render, from the file that
 * `sort-render --stats FILE` wrote, as a table and in plain words. */
#include "base/check.h"
#include "base/str.h"
#include "tools/texcache/stats_file.h"
#include "tools/texcache/texcache_commands.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* --- the table ---------------------------------------------------------------------------- */

/* "12,345,678" */
static const char *grouped(uint64_t value, char out[32])
{
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%" PRIu64, value), at = 0;
    for (int i = 0; i < count; ++i) {
        if (i > 0 && (count - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    ASSERT(at < 32);
    out[at] = 0;
    return out;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

static void print_count(const char *name, uint64_t value)
{
    char text[32];
    printf("  %-26s %18s\n", name, grouped(value, text));
}

static void print_share(const char *name, uint64_t value, uint64_t whole)
{
    char text[32];
    printf("  %-26s %18s  %9.4f %%\n", name, grouped(value, text), percent(value, whole));
}

static void print_size(const char *name, uint64_t size_bytes)
{
    char text[32];
    printf("  %-26s %18s\n", name, cli_format_size(size_bytes, text));
}

static void print_latency(const char *name, const uint64_t *buckets)
{
    printf("  %-26s %15.0f us  half of them; %.0f us 99 of 100\n", name,
           stats_latency_us(buckets, 0.5), stats_latency_us(buckets, 0.99));
}

static void print_table(const StatsFile *r)
{
    const TexStats *s = &r->stats;
    char text[32];
    puts("lookups");
    print_count("lookups", s->lookups);
    print_share("without a place", s->bad_lookups, s->lookups);
    print_share("in the missing colour", s->missing, s->lookups);
    printf("  %-26s %18s  %9.4f a lookup\n", "probes", grouped(s->probes, text),
           s->lookups ? (double)s->probes / (double)s->lookups : 0.0);
    puts("tiles asked for");
    print_count("requests", s->tile_requests);
    print_share("hits", s->tile_hits, s->tile_requests);
    print_share("misses", s->tile_misses, s->tile_requests);
    print_share("  that began a read", s->reads_awaited, s->tile_misses);
    print_share("  that joined a read", s->coalesced, s->tile_misses);
    print_share("  of tiles known to fail", s->failed_fast, s->tile_misses);
    print_count("waits", s->waits);
    puts("storage");
    uint64_t reads = s->loads + s->constants + s->failed_tiles;
    print_count("reads", reads);
    print_count("not done yet", s->reads_pending);
    print_share("ahead of need", s->reads_ahead, reads);
    print_share("of one colour", s->constants, reads);
    print_share("with the tile before", s->reads_merged, reads);
    print_share("failed", s->failed_tiles, reads);
    print_count("tries repeated", s->retries);
    print_count("tiles had after failing", s->recovered_tiles);
    print_size("read", s->bytes_read);
    printf("  %-26s %15.1f us\n", "time of a read",
           reads ? (double)s->read_ns * 1e-3 / (double)reads : 0.0);
    print_latency("reads", s->read_latency);
    print_latency("waits", s->wait_latency);
    print_count("files opened", s->file_opens);
    puts("memory");
    print_size("budget", s->budget_bytes);
    print_size("peak", s->bytes_peak);
    print_size("  tables and small levels", s->bytes_tables);
    print_count("tiles loaded", s->loads);
    print_count("tiles evicted", s->evictions);
    print_size("loaded", s->bytes_loaded);
    print_size("loaded, each tile once", s->bytes_unique);
    printf("  %-26s %18.3f\n", "pressure", texcache_stats_pressure(s));
    puts("threads");
    double thread_s = r->render_s * r->thread_count;
    printf("  %-26s %16.2f s\n", "render", r->render_s);
    printf("  %-26s %16.2f s  %9.4f %%\n", "idle, summed", r->idle_s,
           thread_s > 0 ? 100.0 * r->idle_s / thread_s : 0.0);
}

/* Rows: path depths; columns: levels, in percent of the row. */
static void print_histogram(const TexStats *s)
{
    uint32_t level_count = 1;
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l) {
            if (s->mip_probes[d][l] > 0 && l >= level_count)
                level_count = l + 1;
        }
    }
    printf("probes by level, in percent of those at a path depth\n  depth %16s", "probes");
    for (uint32_t l = 0; l < level_count; ++l)
        printf(" %5" PRIu32, l);
    putchar('\n');
    for (uint32_t d = 0; d < TEX_DEPTH_BUCKETS; ++d) {
        uint64_t sum = 0;
        for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l)
            sum += s->mip_probes[d][l];
        if (sum == 0)
            continue;
        char text[32];
        printf("  %4" PRIu32 "%c %16s", d, d + 1 == TEX_DEPTH_BUCKETS ? '+' : ' ',
               grouped(sum, text));
        for (uint32_t l = 0; l < level_count; ++l) {
            if (s->mip_probes[d][l] > 0)
                printf(" %5.1f", percent(s->mip_probes[d][l], sum));
            else
                fputs("     .", stdout);
        }
        putchar('\n');
    }
}

static void print_textures(const StatsFile *f)
{
    enum { SHOWN_MAX = 12 };
    uint32_t count = f->texture_count < SHOWN_MAX ? f->texture_count : SHOWN_MAX;
    printf("textures that loaded most, of %" PRIu32 "\n  %12s %10s %8s %10s %16s\n",
           f->texture_count, "loaded", "loads", "a tile", "waits", "lookups");
    for (uint32_t i = 0; i < count; ++i) {
        const TexTextureStats *t = &f->textures[i];
        char loaded[32], lookups[32], name[1024];
        printf("  %12s %10" PRIu64 " %8.2f %8.2f s %16s  %s\n",
               cli_format_size(t->bytes_loaded, loaded), t->loads,
               t->unique_loads ? (double)t->loads / (double)t->unique_loads : 0.0,
               (double)t->wait_ns * 1e-9, grouped(t->lookups, lookups),
               str_printable(str_from(t->name), name, sizeof name));
    }
}

/* --- in words ----------------------------------------------------------------------------- */

static void judge_budget(const TexStats *s)
{
    char enough[32], budget[32];
    double pressure = texcache_stats_pressure(s);
    cli_format_size(s->budget_bytes, budget);
    if (s->evictions == 0) {
        printf("The budget of %s held every tile that was touched; %s would have.\n", budget,
               cli_format_size(s->bytes_peak, enough));
        return;
    }
    cli_format_size(stats_sufficient_budget(s), enough);
    if (pressure < 1.1) {
        printf("The budget of %s is right: tiles were evicted, but hardly any was wanted again "
               "(each was read %.2f times).\n",
               budget, pressure);
    } else if (pressure < 2.0) {
        printf("The budget of %s is tight: each tile was read %.2f times. %s would hold all that "
               "was touched.\n",
               budget, pressure, enough);
    } else {
        printf("Budget too small: each tile was read %.1f times. %s was given; %s would hold all "
               "that was touched.\n",
               pressure, budget, enough);
    }
}

static void judge_waits(const StatsFile *r)
{
    double idle = r->idle_s / fmax(r->render_s * r->thread_count, 1e-9);
    uint32_t fibers;
    StatsFibers advice = stats_advise_fibers(r, &fibers);
    if (advice == STATS_FIBERS_FEWER)
        printf("Fibers throw out each other's tiles: %" PRIu32
               " waited at once. Fewer load less: try --fibers %" PRIu32 ", or a larger budget.\n",
               r->fiber_count, fibers);
    if (r->stats.waits == 0 || idle <= 0.1)
        return;
    printf("Storage is the bottleneck: threads had nothing to run for %.0f %% of the time. ",
           100.0 * idle);
    if (texcache_stats_pressure(&r->stats) > 1.5)
        puts("A larger budget would help most; then faster storage.");
    else if (advice == STATS_FIBERS_MORE)
        printf("More fibers (--fibers %" PRIu32 "), or faster storage would help.\n", fibers);
    else
        puts("Faster storage would help.");
}

/* False: something is wrong with the picture, or with the counters. */
static bool judge(const StatsFile *r)
{
    const TexStats *s = &r->stats;
    bool is_sound = true;
    puts("verdict");
    if (s->lookups == 0)
        puts("No texture was looked up.");
    else
        judge_budget(s);
    judge_waits(r);
    if (s->bad_lookups > 0) {
        char text[32];
        printf("%s lookups had coordinates or derivatives that are no numbers: a shader divides by "
               "zero or takes the root of something negative.\n",
               grouped(s->bad_lookups, text));
    }
    if (s->failed_tiles > 0) {
        char failed[32], missing[32];
        printf("The picture is not what it should be: %s reads failed, and %s lookups show the "
               "missing colour. The render's log names files and tiles; `texcache verify` checks "
               "whole files.\n",
               grouped(s->failed_tiles, failed), grouped(s->missing, missing));
        is_sound = false;
    } else if (s->retries > 0) {
        char text[32];
        printf("Storage faltered: %s reads had to be repeated. The picture is right.\n",
               grouped(s->retries, text));
    }
    TexIdentity identities[TEX_IDENTITY_COUNT];
    texcache_stats_identities(s, identities);
    for (uint32_t i = 0; i < TEX_IDENTITY_COUNT; ++i) {
        if (identities[i].left == identities[i].right)
            continue;
        printf("The counters contradict each other: %s, but %" PRIu64 " is not %" PRIu64 ".\n",
               identities[i].text, identities[i].left, identities[i].right);
        is_sound = false;
    }
    return is_sound;
}

int texcache_run_stats(int argc, char **argv)
{
    bool is_brief = false;
    const CliOption options[] = {
        {.name = "brief",
         .short_name = 'b',
         .kind = CLI_FLAG,
         .out = &is_brief,
         .help = "print only the conclusions"},
    };
    static const char *const examples[] = {"sort-render scene.sort -o a.exr --stats a.json",
                                           "writes it", "texcache stats a.json", "explains it",
                                           NULL};
    const CliProgram program = {
        .name = "texcache stats",
        .usage = "[options] FILE.json",
        .summary =
            "Shows what the texture cache did during a render, checks that its counters agree, and "
            "suggests changes. The exit code is 1 if tiles failed or counters disagree.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 1, "FILE.json"),
        .examples = examples};
    CliResult parsed;
    int code;
    if (!tool_parse(&program, argc, argv, &parsed, &code))
        return code;
    StatsFile file;
    Error err = {0};
    code = TOOL_FAILED;
    if (stats_file_read(parsed.args[0], &file, &err) != STATUS_OK) {
        tool_fail(&err, TOOL_FAILED);
    } else {
        if (!is_brief) {
            print_table(&file);
            print_histogram(&file.stats);
            print_textures(&file);
        }
        code = judge(&file) ? TOOL_DONE : TOOL_FAILED;
    }
    stats_file_free(&file);
    return code;
}
