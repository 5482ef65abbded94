/* What fibers are for: tiles that are not in memory yet, on storage that answers after 1 or 10 ms. Two worker
 * threads look up one tile each step, none twice; with one fiber a worker they block, with more they go on.
 * The ideal is reads in flight / workers: so many times as fast. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sched.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/formula_texture.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

enum { SIZE = 4096, TILES_A_ROW = SIZE / 64, WORKERS = 2, STRIDE = 1597 };

static const double TARGET = 5.0;
enum { DEFAULT_FLIGHT = 16 };

typedef struct Job {
    TexCache *cache;
    TexId id;
    uint32_t tile_count;
    _Atomic uint32_t next;
    _Atomic bool has_failed;
} Job;

typedef struct Carrier {
    Job *job;
    TexCaller caller;
} Carrier;

static void *worker_begin(void *data, uint32_t worker)
{
    TexThread *thread = NULL;
    Error err = {0};
    SORT_UNUSED(worker);
    return texcache_thread_create(((Job *)data)->cache, &thread, &err) == STATUS_OK ? thread : NULL;
}

static void worker_end(void *data, void *worker_state)
{
    SORT_UNUSED(data);
    texcache_thread_destroy(worker_state);
}

static void *fiber_begin(void *data, void *worker_state, Waiter *waiter)
{
    Carrier *c = MEM_NEW(Carrier);
    if (c) {
        c->job = data;
        texcache_caller_init(&c->caller, worker_state, waiter);
    }
    return c;
}

static void fiber_end(void *data, void *fiber_state)
{
    SORT_UNUSED(data);
    mem_free(fiber_state);
}

static bool fiber_step(void *data, void *fiber_state)
{
    Job *job = data;
    Carrier *c = fiber_state;
    uint32_t tile = atomic_fetch_add(&job->next, 1);
    if (tile >= job->tile_count)
        return false;
    tile = tile * STRIDE %
           job->tile_count; /* no neighbours one after the other, which are read together */
    float coord[7] = {((float)(tile % TILES_A_ROW) + 0.5f) / TILES_A_ROW,
                      1.0f - ((float)(tile / TILES_A_ROW) + 0.5f) / TILES_A_ROW};
    float out[4];
    TexRequest r = {.texture = job->id, .lane_count = 1, .lane_mask = 1, .coord = coord};
    if (texcache_lookup(&c->caller, &r, out) != 0)
        atomic_store(&job->has_failed, true);
    return true;
}

/* Seconds; below 0: it could not be run. */
static double measure(const char *path, uint32_t delay_us, uint32_t reads_in_flight,
                      uint32_t fibers, uint32_t tile_count)
{
    Job job = {.tile_count = tile_count};
    Error err = {0};
    TexCacheDesc d = {
        .size_bytes = sizeof d, .read_delay_us = delay_us, .io_thread_count = reads_in_flight};
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = WORKERS,
                      .fibers_min = fibers < 2 ? fibers : 2,
                      .fibers_max = fibers,
                      .stack_bytes = 128 * 1024,
                      .data = &job,
                      .worker_begin = worker_begin,
                      .fiber_begin = fiber_begin,
                      .fiber_step = fiber_step,
                      .fiber_end = fiber_end,
                      .worker_end = worker_end};
    Sched *s = NULL;
    double seconds = -1.0;
    if (texcache_create(&d, &job.cache, &err) == STATUS_OK &&
        texcache_open(job.cache, &what, &job.id, &err) == STATUS_OK &&
        sched_create(&desc, &s, &err) == STATUS_OK) {
        uint64_t begin = clock_now_ns();
        if (sched_run(s, &err) == STATUS_OK && !job.has_failed)
            seconds = clock_seconds_since(begin);
    }
    sched_destroy(s);
    texcache_destroy(job.cache);
    return seconds;
}

int main(int argc, char **argv)
{
    bool is_quick = bench_is_quick(argc, argv);
    static const struct {
        uint32_t delay_us, tile_count;
    } storages[] = {{1000, 2048}, {10000, 512}};
    static const uint32_t flights[] = {8, 16, 32}, fibers[] = {8, 16, 32, 64};
    char folder[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    if (file_make_temp_directory("sort-bench-", folder, &err) != STATUS_OK ||
        path_join(folder, "cold.stex", path, &err) != STATUS_OK ||
        formula_texture_write(path, SIZE, 1, 0, &err) != STATUS_OK) {
        fprintf(stderr, "bench_latency: %s\n", err.text);
        return 1;
    }
    double least[SORT_COUNT_OF(storages)] = {HUGE_VAL, HUGE_VAL};
    printf("%d workers; time with one fiber each, and how many times faster with more\n"
           "a read   tiles  in flight   1 fiber",
           WORKERS);
    for (size_t f = 0; f < SORT_COUNT_OF(fibers); ++f)
        printf("%7u", fibers[f]);
    printf("\n");
    for (size_t s = 0; s < SORT_COUNT_OF(storages); ++s) {
        for (size_t k = 0; k < SORT_COUNT_OF(flights); ++k) {
            uint32_t delay_us = storages[s].delay_us,
                     tiles = storages[s].tile_count / (is_quick ? 32 : 1);
            double blocked = measure(path, delay_us, flights[k], 1, tiles);
            bool has_failed = blocked < 0.0;
            printf("%3u ms %7u %10u %7.0f ms", delay_us / 1000, tiles, flights[k], blocked * 1e3);
            double best = 0.0;
            for (size_t f = 0; f < SORT_COUNT_OF(fibers); ++f) {
                double seconds = measure(path, delay_us, flights[k], fibers[f], tiles);
                double ratio = blocked / seconds;
                has_failed |= seconds < 0.0;
                printf("%6.1fx", ratio);
                best = fmax(best, ratio);
            }
            if (has_failed) {
                fprintf(stderr, "\nbench_latency: lookups did not get their texels\n");
                return 1;
            }
            if (flights[k] >= DEFAULT_FLIGHT)
                least[s] = fmin(least[s], best);
            printf("\n");
            (void)fflush(stdout);
        }
    }
    printf("\nwith %d reads in flight (the default) and more, the best number of fibers; at least "
           "%.0f times is "
           "promised\n",
           DEFAULT_FLIGHT, TARGET);
    for (size_t s = 0; s < SORT_COUNT_OF(storages); ++s) {
        printf("%-5s %3u ms a read: %.1f times as fast\n", least[s] >= TARGET ? "ok" : "FALLS",
               storages[s].delay_us / 1000, least[s]);
    }
    return file_remove_tree(folder, &err) == STATUS_OK ? 0 : 1;
}
