/* Hot texture lookups per second against OpenImageIO's TextureSystem: the same files (which its own
 * maketx code makes, and ours reads through a decoder process), the same filters, tiles all in memory, in the same run. The working sets are those
 * that `testtex --threadtimes` of OpenImageIO measures, under the same numbers:
 *
 *   1 one place, by handle          2 the same, by name (ours: by id as always)
 *   3 one file, coherent, all threads at the same places     4 the same, each thread at its own
 *   5 many files, coherent, all threads in the same ones     6 the same, each thread in its own
 *   7 many files, threads share half of theirs
 *
 * and one more, r: one file, places at random. Ours twice: a lane a call, as scalar shaders ask, and
 * sixteen lanes a call. Best of several rounds, in turn; seconds are those of each thread's CPU time.
 * bench_lookup_oiio --quick | [SECONDS [SET]]: of a round; only that set. Quick: one short round of one set. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/thread.h"
#include "plugins/oiio/oiio_texture.h"
#include "textures/texcache.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 1024, FILES = 16, COUNT = 16384, THREADS_MAX = 2, LANES = 16 };
static const double TARGET = 2.0;
static uint32_t round_count = 5; /* set by main, once */

typedef struct FilterCase {
    const char *name;
    OiioFilter theirs;
    TexFilter ours;
    float major_texels, minor_texels;
} FilterCase;

typedef struct Work {
    char name;
    bool one_place, one_file, by_name, at_random;
    float shared; /* of the files that a thread uses, those that all use */
} Work;

typedef struct Bench {
    OiioTextures *theirs;
    TexCache *ours;
    TexId ids[FILES];
    double seconds;
} Bench;

typedef struct Runner {
    const Bench *bench;
    const FilterCase *filter;
    bool by_name;
    uint32_t lanes;     /* 0: OpenImageIO */
    float (*coords)[6]; /* [COUNT] */
    uint32_t *files;    /* [COUNT] */
    double rate;
    float sum;
    bool is_sound; /* each lookup of ours found its texels */
} Runner;

static float unit(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (float)(hash_mix64(*state) >> 40) * 0x1p-24f;
}

/* Coherent walks: steps of a texel, now and then (where there are many files) into another file. */
static void fill(Runner *r, const Work *w, uint32_t thread)
{
    uint64_t state = w->shared == 1.0f ? 1 : thread + 1;
    float s = unit(&state), t = unit(&state);
    uint32_t file = 0;
    for (uint32_t i = 0; i < COUNT; ++i) {
        if (!w->one_place) {
            s = w->at_random ? unit(&state) : s + 0.9f / SIZE;
            t = w->at_random ? unit(&state) : t + 0.05f / SIZE;
        }
        if (!w->one_file && i % 16 == 0) {
            uint32_t half = FILES / 2, k = (uint32_t)(unit(&state) * (float)half);
            bool is_shared = unit(&state) < w->shared;
            file = is_shared || thread == 0 ? k : half + k;
        }
        const float c[6] = {s - floorf(s),
                            t - floorf(t),
                            r->filter->major_texels * 0.8f / SIZE,
                            r->filter->major_texels * 0.6f / SIZE,
                            r->filter->minor_texels * -0.6f / SIZE,
                            r->filter->minor_texels * 0.8f / SIZE};
        memcpy(r->coords[i], c, sizeof c);
        r->files[i] = file;
    }
}

static float run_ours(Runner *r, TexCaller *caller)
{
    TexOptions options = {
        .filter = r->filter->ours, .wrap_s = TEX_WRAP_PERIODIC, .wrap_t = TEX_WRAP_PERIODIC};
    uint32_t n = r->lanes;
    TexRequest request = {.options = &options, .lane_count = n, .lane_mask = (1u << n) - 1};
    float sum = 0.0f, out[4 * LANES], coord[7 * LANES] = {0};
    for (uint32_t i = 0; i < COUNT; i += n) {
        for (uint32_t lane = 0; lane < n; ++lane) {
            for (uint32_t k = 0; k < 6; ++k)
                coord[k * n + lane] = r->coords[i + lane][k];
        }
        request.texture = r->bench->ids[r->files[i]];
        request.coord = coord;
        r->is_sound &= texcache_lookup(caller, &request, out) == 0;
        sum += out[0];
    }
    return sum;
}

/* Returns the CPU time of this thread, which other programs disturb less than wall time. */
static double thread_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(void *data)
{
    Runner *r = data;
    TexThread *thread;
    Waiter *waiter;
    Error err = {0};
    if (texcache_thread_create(r->bench->ours, &thread, &err) != STATUS_OK ||
        waiter_create_for_thread(&waiter, &err) != STATUS_OK)
        return;
    TexCaller caller;
    texcache_caller_init(&caller, thread, waiter);
    r->is_sound = true;
    uint64_t lookups = 0;
    double begin = 0.0, elapsed = 0.0;
    for (uint32_t pass = 0; pass < 2 || elapsed < r->bench->seconds; ++pass) {
        if (pass == 1)
            begin = thread_seconds(); /* the first one warms up */
        r->sum += r->lanes > 0 ? run_ours(r, &caller)
                               : oiio_run(r->bench->theirs, r->filter->theirs, r->by_name, r->files,
                                          (const float(*)[6])r->coords, COUNT);
        if (pass > 0) {
            lookups += COUNT;
            elapsed = thread_seconds() - begin;
        }
    }
    r->rate = (double)lookups / elapsed * 1e-6;
    waiter_destroy_for_thread(waiter);
    texcache_thread_destroy(thread);
}

/* Million lookups a second, all threads together; below 0: it could not be run. */
static double measure(const Bench *bench, const FilterCase *filter, const Work *work,
                      uint32_t lanes, uint32_t threads)
{
    Runner runners[THREADS_MAX];
    Thread *handles[THREADS_MAX];
    Error err = {0};
    double rate = 0.0;
    bool is_sound = true;
    for (uint32_t i = 0; i < threads; ++i) {
        runners[i] = (Runner){.bench = bench,
                              .filter = filter,
                              .by_name = work->by_name,
                              .lanes = lanes,
                              .coords = mem_alloc(COUNT, sizeof(float[6])),
                              .files = MEM_ARRAY(uint32_t, COUNT)};
        fill(&runners[i], work, i);
    }
    for (uint32_t i = 0; i < threads; ++i) {
        if (thread_create("lookup", 0, run, &runners[i], &handles[i], &err) != STATUS_OK)
            return -1.0;
    }
    for (uint32_t i = 0; i < threads; ++i) {
        thread_join(handles[i]);
        rate += runners[i].rate;
        is_sound &= runners[i].is_sound;
        mem_free(runners[i].coords);
        mem_free(runners[i].files);
    }
    return is_sound ? rate : -1.0;
}

static int fail(const Error *err)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    fprintf(stderr, "bench_lookup_oiio: %s\n", error_format(err, text, sizeof text));
    return 1;
}

/* The inputs of both libraries. */
static Status make_files(const char *folder, char paths[FILES][PATH_BYTES], Error *err)
{
    uint8_t *rgba = mem_alloc((size_t)SIZE * SIZE, 4);
    Status status = STATUS_OK;
    for (uint32_t f = 0; f < FILES && status == STATUS_OK; ++f) {
        char name[32];
        snprintf(name, sizeof name, "%02u.tx", f);
        status = path_join(folder, name, paths[f], err);
        for (size_t i = 0; i < (size_t)SIZE * SIZE * 4; ++i)
            rgba[i] = (uint8_t)hash_mix64(i + ((uint64_t)f << 40));
        if (status == STATUS_OK && !oiio_make_texture(paths[f], SIZE, rgba))
            status = error_set_at(err, STATUS_IO, paths[f], "OpenImageIO cannot make it");
    }
    mem_free(rgba);
    return status;
}

static Status open_all(Bench *bench, char paths[FILES][PATH_BYTES], Error *err)
{
    static const char *const command[] = {SORT_BENCH_TEXCACHE, "decode", NULL};
    TexCacheDesc desc = {.size_bytes = sizeof desc, .decoder_command = command};
    const char *names[FILES];
    TRY(texcache_create(&desc, &bench->ours, err));
    for (uint32_t f = 0; f < FILES; ++f) {
        names[f] = paths[f];
        TexOpenDesc what = {
            .size_bytes = sizeof what, .path = paths[f], .color_space = SORT_COLOR_RAW};
        TRY(texcache_open(bench->ours, &what, &bench->ids[f], err));
    }
    bench->theirs = oiio_textures_open(names, FILES, 1024.0f);
    return STATUS_OK;
}

int main(int argc, char **argv)
{
    static const FilterCase filters[] = {
        {"bilinear", OIIO_BILINEAR, TEX_FILTER_BILINEAR, 1.0f, 1.0f},
        {"trilinear, 1.5 texels", OIIO_TRILINEAR, TEX_FILTER_TRILINEAR, 1.5f, 1.5f},
        {"aniso, 1.5 texels round", OIIO_ANISO, TEX_FILTER_ANISO, 1.5f, 1.5f},
        {"aniso 4:1, 1.5 texels", OIIO_ANISO, TEX_FILTER_ANISO, 6.0f, 1.5f},
    };
    static const Work works[] = {
        {'1', true, true, false, false, 1.0f},   {'2', true, true, true, false, 1.0f},
        {'3', false, true, false, false, 1.0f},  {'4', false, true, false, false, 0.0f},
        {'5', false, false, false, false, 1.0f}, {'6', false, false, false, false, 0.0f},
        {'7', false, false, false, false, 0.5f}, {'r', false, true, false, true, 0.0f},
    };
    char folder[PATH_BYTES];
    static char paths[FILES][PATH_BYTES];
    Error err = {0};
    bool is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    Bench bench = {.seconds = is_quick ? 0.0 : argc > 1 ? strtod(argv[1], NULL) : 0.03};
    char only_set = '\0'; /* all of them */
    if (is_quick) {
        only_set = '7';
        round_count = 1;
    } else if (argc > 2) {
        only_set = argv[2][0];
    }
    if (file_make_temp_directory("sort-bench-", folder, &err) != STATUS_OK ||
        make_files(folder, paths, &err) != STATUS_OK || open_all(&bench, paths, &err) != STATUS_OK)
        return fail(&err);
    double least[SORT_COUNT_OF(filters)][THREADS_MAX][2]; /* one lane a call, and LANES */
    char least_set[SORT_COUNT_OF(filters)][THREADS_MAX][2];
    for (size_t f = 0; f < SORT_COUNT_OF(filters); ++f) {
        for (uint32_t i = 0; i < THREADS_MAX; ++i)
            least[f][i][0] = least[f][i][1] = HUGE_VAL;
        printf(
            "%s: million lookups/s\n"
            "set     1 thread: OIIO  1 lane   ratio  16 lanes  ratio    2 threads: OIIO  1 lane   "
            "ratio  16 lanes  ratio\n",
            filters[f].name);
        for (size_t w = 0; w < SORT_COUNT_OF(works); ++w) {
            if (only_set != '\0' && works[w].name != only_set)
                continue;
            printf("  %c ", works[w].name);
            for (uint32_t threads = 1; threads <= THREADS_MAX; ++threads) {
                double theirs = 0.0, one = 0.0, many = 0.0;
                for (uint32_t round = 0; round < round_count; ++round) {
                    theirs = fmax(theirs, measure(&bench, &filters[f], &works[w], 0, threads));
                    one = fmax(one, measure(&bench, &filters[f], &works[w], 1, threads));
                    many = fmax(many, measure(&bench, &filters[f], &works[w], LANES, threads));
                }
                if (theirs <= 0.0 || one <= 0.0 || many <= 0.0)
                    return fail(&(Error){.text = "lookups did not get their texels"});
                printf("%19.2f %7.2f %6.2fx %9.2f %5.2fx ", theirs, one, one / theirs, many,
                       many / theirs);
                (void)fflush(stdout);
                const double ratios[] = {one / theirs, many / theirs};
                for (uint32_t k = 0; k < 2; ++k) {
                    if (ratios[k] < least[f][threads - 1][k]) {
                        least[f][threads - 1][k] = ratios[k];
                        least_set[f][threads - 1][k] = works[w].name;
                    }
                }
            }
            printf("\n");
        }
    }
    printf("\nthe lowest ratio of each filter, and in which set; at least %.1f is promised\n",
           TARGET);
    for (size_t f = 0; f < SORT_COUNT_OF(filters); ++f) {
        for (uint32_t threads = 1; threads <= THREADS_MAX; ++threads) {
            const double *ratio = least[f][threads - 1];
            const char *set = least_set[f][threads - 1];
            printf("%-5s %-24s %u thread%s  1 lane %.2f (%c)  %d lanes %.2f (%c)\n",
                   ratio[0] >= TARGET && ratio[1] >= TARGET ? "ok" : "FALLS", filters[f].name,
                   threads, threads > 1 ? "s" : " ", ratio[0], set[0], LANES, ratio[1], set[1]);
        }
    }
    oiio_textures_close(bench.theirs);
    texcache_destroy(bench.ours);
    return file_remove_tree(folder, &err) == STATUS_OK ? 0 : fail(&err);
}
