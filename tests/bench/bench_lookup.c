/* Hot texture lookups per second: a 4096 x 4096 RGB texture of 8 bits whose tiles are all in memory,
 * one and two threads, filters of growing cost, coherent and random places, one lane a call as scalar
 * shaders ask and sixteen. Ratios within one run count. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/thread.h"
#include "tests/bench/bench_options.h"
#include "tests/bench/formula_texture.h"
#include <stdio.h>
#include <string.h>

enum { SIZE = 4096, LANES_MAX = 16 };

/* --- one measurement ---------------------------------------------------------------------- */

typedef struct Case {
    const char *name;
    TexFilter filter;
    TexMip mip;
    float major_texels, minor_texels;
} Case;

typedef struct Runner {
    TexCache *cache;
    TexId id;
    const Case *what;
    bool is_random;
    uint32_t lanes;
    double seconds; /* to run for */
    uint64_t seed;
    /* Results. */
    uint64_t lookups;
    double elapsed;
    float sum;
    bool is_sound; /* each lookup found its texels */
} Runner;

static float unit(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (float)(hash_mix64(*state) >> 40) * 0x1p-24f;
}

static void run(void *data)
{
    Runner *r = data;
    TexThread *thread;
    Waiter *waiter;
    Error err = {0};
    if (texcache_thread_create(r->cache, &thread, &err) != STATUS_OK ||
        waiter_create_for_thread(&waiter, &err) != STATUS_OK)
        return;
    TexCaller caller;
    texcache_caller_init(&caller, thread, waiter);
    TexOptions options = {.filter = r->what->filter, .mip = r->what->mip};

    /* Batches made beforehand: coherent ones walk along a line in steps of about a texel. */
    enum { BATCHES = 4096 };
    uint32_t lanes = r->lanes;
    float *coords = MEM_ARRAY(float, (size_t)BATCHES * 7 * lanes);
    uint64_t state = r->seed;
    float s = unit(&state), t = unit(&state);
    for (uint32_t b = 0; b < BATCHES; ++b) {
        float *coord = coords + (size_t)b * 7 * lanes;
        for (uint32_t i = 0; i < lanes; ++i) {
            s = r->is_random ? unit(&state) : s + 0.9f / SIZE;
            t = r->is_random ? unit(&state) : t + 0.05f / SIZE;
            coord[i] = s;
            coord[lanes + i] = t;
            coord[2 * lanes + i] = r->what->major_texels * 0.8f / SIZE;
            coord[3 * lanes + i] = r->what->major_texels * 0.6f / SIZE;
            coord[4 * lanes + i] = r->what->minor_texels * -0.6f / SIZE;
            coord[5 * lanes + i] = r->what->minor_texels * 0.8f / SIZE;
            coord[6 * lanes + i] = 0.0f;
        }
    }
    float out[4 * LANES_MAX];
    uint32_t missing = 0;
    TexRequest request = {
        .texture = r->id, .options = &options, .lane_count = lanes, .lane_mask = (1u << lanes) - 1};
    for (uint32_t pass = 0; pass < 2; ++pass) { /* the first warms up */
        uint64_t begin = clock_now_ns();
        r->lookups = 0;
        double budget = pass == 0 ? 0.0 : r->seconds;
        do {
            for (uint32_t b = 0; b < BATCHES; ++b) {
                request.coord = coords + (size_t)b * 7 * lanes;
                missing |= texcache_lookup(&caller, &request, out);
                r->sum += out[0];
            }
            r->lookups += (uint64_t)BATCHES * lanes;
            r->elapsed = clock_seconds_since(begin);
        } while (r->elapsed < budget);
    }
    r->is_sound = missing == 0;
    mem_free(coords);
    waiter_destroy_for_thread(waiter);
    texcache_thread_destroy(thread);
}

/* Million lookups a second, all threads together; below 0: it could not be run. */
static double measure(const Runner *how, uint32_t threads)
{
    Runner runners[2];
    Thread *handles[2];
    Error err = {0};
    double rate = 0;
    for (uint32_t i = 0; i < threads; ++i) {
        runners[i] = *how;
        runners[i].seed = i + 1;
        if (thread_create("lookup", 0, run, &runners[i], &handles[i], &err) != STATUS_OK)
            return -1.0;
    }
    bool is_sound = true;
    for (uint32_t i = 0; i < threads; ++i) {
        thread_join(handles[i]);
        rate += (double)runners[i].lookups / runners[i].elapsed * 1e-6;
        is_sound &= runners[i].is_sound;
    }
    return is_sound ? rate : -1.0;
}

static int fail(const Error *err)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    fprintf(stderr, "bench_lookup: %s\n", error_format(err, text, sizeof text));
    return 1;
}

int main(int argc, char **argv)
{
    static const Case cases[] = {
        {"closest, level 0", TEX_FILTER_CLOSEST, TEX_MIP_OFF, 1.0f, 1.0f},
        {"bilinear, level 0", TEX_FILTER_BILINEAR, TEX_MIP_OFF, 1.0f, 1.0f},
        {"trilinear, 1.5 texels", TEX_FILTER_TRILINEAR, TEX_MIP_FOOTPRINT, 1.5f, 1.5f},
        {"aniso, 1.5 texels round", TEX_FILTER_ANISO, TEX_MIP_FOOTPRINT, 1.5f, 1.5f},
        {"aniso 8:1, 1.5 texels", TEX_FILTER_ANISO, TEX_MIP_FOOTPRINT, 12.0f, 1.5f},
    };
    char folder[PATH_BYTES], path[PATH_BYTES];
    Error err = {0};
    if (file_make_temp_directory("sort-bench-", folder, &err) != STATUS_OK ||
        path_join(folder, "noise.stex", path, &err) != STATUS_OK ||
        formula_texture_write(path, SIZE, 3, 0, &err) != STATUS_OK)
        return fail(&err);
    TexCacheDesc desc = {.size_bytes = sizeof desc};
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
    Runner runner = {.seconds = bench_is_quick(argc, argv) ? 0.0 : 0.4};
    if (texcache_create(&desc, &runner.cache, &err) != STATUS_OK ||
        texcache_open(runner.cache, &what, &runner.id, &err) != STATUS_OK)
        return fail(&err);

    printf("million lookups/s          lanes   coherent 1T      2T     random 1T      2T\n");
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        for (uint32_t lanes = 1; lanes <= LANES_MAX; lanes *= LANES_MAX) {
            runner.what = &cases[i];
            runner.lanes = lanes;
            double rates[4];
            for (uint32_t k = 0; k < 4; ++k) {
                runner.is_random = k >= 2;
                rates[k] = measure(&runner, 1 + k % 2);
                if (rates[k] < 0.0)
                    return fail(&(Error){.text = "lookups did not get their texels"});
            }
            printf("%-26s %5u   %11.2f %7.2f   %11.2f %7.2f\n", cases[i].name, lanes, rates[0],
                   rates[1], rates[2], rates[3]);
        }
    }
    texcache_destroy(runner.cache);
    return file_remove_tree(folder, &err) == STATUS_OK ? 0 : fail(&err);
}
