/* The cache under fibers: T6 (8 GB through 64 and 8 MB), T9 (64 fibers, one read), T10 (latency is hidden), T14 (the same image for
 * any budget, threads, fibers, delay), T15 (one lookup larger than the budget), and a stress that
 * evicts constantly while textures come and go. Meant for the sanitizers too. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/sched.h"
#include "base/thread.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/cache/texcache_state.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LANES = 16, TEXTURES = 4 };

/* What fibers work off: batches of lookups, each a pure function of its number. */
typedef struct Job {
    TexCache *cache;
    TexId ids[TEXTURES];
    uint32_t batch_count;
    void (*make_batch)(const struct Job *job, uint32_t batch, TexRequest *out_request,
                       float *out_coord);
    bool touches_first;
    float *image; /* [batch_count][4 or 12][LANES] */
    _Atomic uint32_t next, failures;
} Job;

typedef struct Worker {
    Job *job;
    TexThread *thread;
} Worker;

typedef struct Carrier {
    Job *job;
    TexCaller caller;
} Carrier;

static void *worker_begin(void *data, uint32_t index)
{
    SORT_UNUSED(index);
    Worker *w = MEM_NEW(Worker);
    Error err = {0};
    w->job = data;
    if (texcache_thread_create(w->job->cache, &w->thread, &err) != STATUS_OK)
        return NULL;
    return w;
}

static void worker_end(void *data, void *worker_state)
{
    SORT_UNUSED(data);
    Worker *w = worker_state;
    texcache_thread_destroy(w->thread);
    mem_free(w);
}

static void *fiber_begin(void *data, void *worker_state, Waiter *waiter)
{
    Carrier *c = MEM_NEW(Carrier);
    c->job = data;
    texcache_caller_init(&c->caller, ((Worker *)worker_state)->thread, waiter);
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
    uint32_t batch = atomic_fetch_add(&job->next, 1);
    if (batch >= job->batch_count)
        return false;
    TexRequest r;
    float coord[7 * LANES];
    job->make_batch(job, batch, &r, coord);
    if (job->touches_first)
        texcache_touch(&c->caller, &r);
    if (texcache_lookup(&c->caller, &r, job->image + (size_t)batch * 12 * LANES) != 0)
        atomic_fetch_add(&job->failures, 1);
    return true;
}

/* Runs a job to its end. Returns the time it took. */
static double run_job(Job *job, uint32_t workers, uint32_t fibers)
{
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = workers,
                      .fibers_min = fibers < 2 ? fibers : 2,
                      .fibers_max = fibers,
                      .stack_bytes = 128 * 1024,
                      .data = job,
                      .worker_begin = worker_begin,
                      .fiber_begin = fiber_begin,
                      .fiber_step = fiber_step,
                      .fiber_end = fiber_end,
                      .worker_end = worker_end};
    Sched *s;
    Error err = {0};
    atomic_init(&job->next, 0);
    uint64_t begin = clock_now_ns();
    assert_int_equal(sched_create(&desc, &s, &err), STATUS_OK);
    if (sched_run(s, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    sched_destroy(s);
    return clock_seconds_since(begin);
}

static void create_cache(Job *job, const TexCacheDesc *how)
{
    TexCacheDesc d = *how;
    d.size_bytes = sizeof d;
    Error err = {0};
    if (texcache_create(&d, &job->cache, &err) != STATUS_OK)
        fail_msg("%s", err.text);
}

static TexId open_texture(TexCache *cache, const char *path)
{
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
    TexId id;
    Error err = {0};
    if (texcache_open(cache, &what, &id, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
    return id;
}

static TexStats finish(Job *job)
{
    TexStats stats;
    texcache_stats(job->cache, &stats);
    for (uint32_t i = 0; i < 10000 && stats.loads + stats.constants + stats.failed_tiles <
                                          stats.reads_awaited + stats.reads_ahead;
         ++i) {
        clock_sleep_ns(1000000);
        texcache_stats(job->cache, &stats);
    }
    stats_check_identities(&stats);
    texcache_destroy(job->cache);
    return stats;
}

static const char *const names[TEXTURES] = {"a.stex", "b.stex", "c.stex", "d.stex"};

/* Four textures of different tile sizes; the third is compressed, half of the fourth constant. */
static void make_textures(uint32_t size)
{
    static const struct {
        uint32_t channels;
        SortTexelType type;
    } kinds[TEXTURES] = {
        {3, SORT_TEXEL_U8}, {4, SORT_TEXEL_HALF}, {4, SORT_TEXEL_U8}, {1, SORT_TEXEL_U8}};
    for (uint32_t k = 0; k < TEXTURES; ++k) {
        Picture p =
            picture_create(size, size - 37, kinds[k].channels, kinds[k].type, SORT_COLOR_UNKNOWN);
        picture_fill_noise(&p, k);
        if (k == 3)
            memset(p.texels, 7, (size_t)size * (size / 2));
        TexConvertDesc how = {.compression = k == 2 ? TEX_COMPRESSION_ZLIB : TEX_COMPRESSION_NONE};
        picture_convert(&p, fixture_path(names[k]), &how);
        picture_free(&p);
    }
}

/* Lookups anywhere, with footprints from a fraction of a texel to most of the texture. */
static void random_batch(const Job *job, uint32_t batch, TexRequest *r, float *coord)
{
    static const TexOptions options[4] = {
        {0},
        {.filter = TEX_FILTER_TRILINEAR},
        {.filter = TEX_FILTER_BILINEAR, .wrap_s = TEX_WRAP_MIRROR},
        {.filter = TEX_FILTER_CLOSEST}};
    uint64_t random = batch + 1000;
    *r = (TexRequest){.texture = job->ids[batch % TEXTURES],
                      .options = &options[batch / TEXTURES % 4],
                      .lane_count = LANES,
                      .lane_mask = 0xffff & ~(1u << batch % 31),
                      .with_derivs = batch % 3 == 0,
                      .depth = batch % 5,
                      .coord = coord};
    for (uint32_t i = 0; i < 7 * LANES; ++i) {
        uint32_t lane = i % LANES;
        float scale = 1.0f / (float)(4u << (lane % 9));
        coord[i] = i < 2 * LANES   ? random_unit(&random) * 3 - 1
                   : i < 6 * LANES ? (random_unit(&random) - 0.5f) * scale
                                   : 0.0f;
    }
}

/* All at one place of level 0. */
static void same_place_batch(const Job *job, uint32_t batch, TexRequest *r, float *coord)
{
    SORT_UNUSED(batch);
    *r = (TexRequest){.texture = job->ids[0], .lane_count = LANES, .lane_mask = 1, .coord = coord};
    memset(coord, 0, 7 * LANES * sizeof(float));
    coord[0] = coord[LANES] = 0.31f;
}

/* Batch i in the middle of tile i of level 0, of an image of 16 x 16 tiles. */
static void one_tile_batch(const Job *job, uint32_t batch, TexRequest *r, float *coord)
{
    *r = (TexRequest){.texture = job->ids[0], .lane_count = LANES, .lane_mask = 1, .coord = coord};
    memset(coord, 0, 7 * LANES * sizeof(float));
    coord[0] = ((float)(batch % 16) + 0.52f) / 16.0f;
    coord[LANES] = 1.0f - ((float)(batch / 16) + 0.52f) / 16.0f;
}

/* A long footprint: 16 probes in two levels, across many tiles. */
static void long_batch(const Job *job, uint32_t batch, TexRequest *r, float *coord)
{
    uint64_t random = batch;
    *r = (TexRequest){
        .texture = job->ids[0], .lane_count = LANES, .lane_mask = 0xffff, .coord = coord};
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        coord[lane] = random_unit(&random);
        coord[LANES + lane] = random_unit(&random);
        coord[2 * LANES + lane] = 0.9f * (random_unit(&random) - 0.5f);
        coord[3 * LANES + lane] = 0.9f * (random_unit(&random) - 0.5f);
        coord[4 * LANES + lane] = 0.002f;
        coord[5 * LANES + lane] = coord[6 * LANES + lane] = 0.0f;
    }
}

static float *new_image(uint32_t batch_count)
{
    float *image = mem_alloc(batch_count, 12 * LANES * sizeof(float));
    assert_non_null(image);
    return image;
}

static void test_fibers_that_ask_for_one_tile_share_its_read(void **state)
{
    SORT_UNUSED(state);
    Job job = {.batch_count = 64, .make_batch = same_place_batch, .image = new_image(64)};
    TexCacheDesc d = {.read_delay_us = 400000, .io_thread_count = 4};
    create_cache(&job, &d);
    job.ids[0] = open_texture(job.cache, fixture_path(names[0]));
    double seconds = run_job(&job, 4, 16);
    for (uint32_t i = 1; i < 64; ++i)
        assert_memory_equal(job.image, job.image + (size_t)i * 12 * LANES,
                            12 * LANES * sizeof(float));
    TexStats stats = finish(&job);
    assert_int_equal(stats.loads, 1);
    assert_int_equal(stats.bytes_read, 64 * 64 * 3);
    assert_int_equal(stats.reads_awaited, 1);
    assert_int_equal(stats.coalesced, 63);
    assert_int_equal(stats.waits, 64);
    assert_true(seconds >= 0.4);
    mem_free(job.image);
}

static void test_fibers_hide_latency(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("latency.stex");
    Picture p = picture_create(1024, 1024, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 1);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    /* 256 tiles of 10 ms, eight at a time: 320 ms at best; two threads that block: 1,280 ms. */
    TexCacheDesc d = {.read_delay_us = 10000, .io_thread_count = 8};
    double without = 0, with = 1e9;
    for (uint32_t k = 0; k < 4; ++k) {
        Job job = {.batch_count = 256, .make_batch = one_tile_batch, .image = new_image(256)};
        create_cache(&job, &d);
        job.ids[0] = open_texture(job.cache, path);
        double seconds = run_job(&job, 2, k == 0 ? 1 : 64);
        TexStats stats = finish(&job);
        assert_int_equal(stats.loads, 256);
        mem_free(job.image);
        if (k == 0)
            without = seconds;
        else if (seconds < with)
            with = seconds;
        if (with < without / 3) /* else once more: the machine may be busy */
            break;
    }
    print_message("256 reads of 10 ms: without fibers %.0f ms, with them %.0f ms\n", without * 1e3,
                  with * 1e3);
    assert_true(without >= 1.28);
#if !SORT_ASAN && !SORT_TSAN
    assert_true(with < without / 2);
#endif
}

/* The budget that leaves room for `chunks` beside the tables of all textures. */
static uint64_t tight_budget(uint32_t io_threads, uint32_t chunks, uint32_t workers)
{
    uint64_t tables = workers * (sizeof(TexThread) + sizeof(LookupBlock));
    for (uint32_t k = 0; k < TEXTURES; ++k)
        tables += table_bytes_of(fixture_path(names[k]));
    return budget_for_chunks(io_threads, chunks, tables);
}

static void test_fibers_image_is_the_same_however_it_is_made(void **state)
{
    SORT_UNUSED(state);
    enum { BATCHES = SORT_TSAN ? 150 : 600 };
    static const struct {
        uint32_t workers, fibers, io_threads, chunks, delay_us;
        bool touches_first;
    } ways[] = {{1, 1, 1, 0, 0, false},  {2, 4, 16, 0, 0, true},   {8, 16, 8, 60, 0, false},
                {1, 64, 4, 20, 0, true}, {2, 8, 3, 4, 100, false}, {2, 16, 8, 1, 0, false},
                {8, 8, 1, 1, 0, true},   {3, 5, 2, 2, 300, true}};
    float *reference = new_image(BATCHES);
    for (size_t i = 0; i < SORT_COUNT_OF(ways); ++i) {
        Job job = {.batch_count = BATCHES,
                   .make_batch = random_batch,
                   .touches_first = ways[i].touches_first};
        job.image = i == 0 ? reference : new_image(BATCHES);
        TexCacheDesc d = {.io_thread_count = ways[i].io_threads, .read_delay_us = ways[i].delay_us};
        if (ways[i].chunks > 0)
            d.budget_bytes = tight_budget(ways[i].io_threads, ways[i].chunks, ways[i].workers);
        create_cache(&job, &d);
        for (uint32_t k = 0; k < TEXTURES; ++k)
            job.ids[k] = open_texture(job.cache, fixture_path(names[k]));
        run_job(&job, ways[i].workers, ways[i].fibers);
        assert_int_equal(atomic_load(&job.failures), 0);
        TexStats stats = finish(&job);
        if (ways[i].chunks == 1)
            assert_true(stats.evictions > BATCHES);
        if (i > 0) {
            assert_memory_equal(job.image, reference, BATCHES * 12 * LANES * sizeof(float));
            mem_free(job.image);
        }
    }
    mem_free(reference);
}

static void test_fibers_finish_lookups_larger_than_the_budget(void **state)
{
    SORT_UNUSED(state);
    enum { BATCHES = 20 };
    Job large = {.batch_count = BATCHES, .make_batch = long_batch, .image = new_image(BATCHES)};
    TexCacheDesc d = {.io_thread_count = 4};
    create_cache(&large, &d);
    large.ids[0] = open_texture(large.cache, fixture_path(names[2]));
    run_job(&large, 1, 1);
    finish(&large);

    Job small = {.batch_count = BATCHES, .make_batch = long_batch, .image = new_image(BATCHES)};
    d.budget_bytes = budget_for_chunks(
        4, 1, table_bytes_of(fixture_path(names[2])) + sizeof(TexThread) + sizeof(LookupBlock));
    create_cache(&small, &d);
    small.ids[0] = open_texture(small.cache, fixture_path(names[2]));
    run_job(&small, 2, 8);
    TexStats stats = finish(&small);
    assert_true(stats.resident_tiles <= 3);
    assert_true(stats.loads > 100);
    assert_memory_equal(large.image, small.image, BATCHES * 12 * LANES * sizeof(float));
    mem_free(large.image);
    mem_free(small.image);
}

/* --- T6 ----------------------------------------------------------------------------------- */

/* A texture of 2 GiB and its levels, all tiles of which have the same 16 KiB of payload. */
static void write_virtual_texture(const char *path)
{
    StexHeader h = {.version = STEX_VERSION,
                    .width = 32768,
                    .height = 16384,
                    .channel_count = 4,
                    .texel_type = SORT_TEXEL_U8,
                    .color_space = SORT_COLOR_RAW,
                    .wrap_s = TEX_WRAP_PERIODIC,
                    .wrap_t = TEX_WRAP_PERIODIC};
    assert_true(stex_layout(&h));
    memcpy(h.magic, STEX_MAGIC, sizeof h.magic);
    h.file_bytes = h.data_offset + STEX_TILE_BYTES_MAX;
    uint8_t *bytes = mem_alloc(1, (size_t)h.file_bytes);
    assert_non_null(bytes);
    uint8_t *payload = bytes + h.data_offset;
    for (uint32_t i = 0; i < STEX_TILE_BYTES_MAX; ++i)
        payload[i] = (uint8_t)(i * 7);
    StexTile tile = {.offset = h.data_offset,
                     .stored_bytes = STEX_TILE_BYTES_MAX,
                     .payload_crc = crc32c(0, payload, STEX_TILE_BYTES_MAX)};
    for (uint64_t i = 0; i < h.tile_count; ++i) {
        tile.record_crc = stex_record_crc(&tile, i);
        memcpy(bytes + h.index_offset + i * sizeof tile, &tile, sizeof tile);
    }
    h.tail_crc = crc32c(0, bytes + h.tail_offset, (size_t)h.tail_bytes);
    h.header_crc = stex_header_crc(&h);
    memcpy(bytes, &h, sizeof h);
    Error err = {0};
    assert_int_equal(file_write(path, (const char *)bytes, (size_t)h.file_bytes, &err), STATUS_OK);
    mem_free(bytes);
}

static _Atomic uint64_t most_bytes; /* of the cache, at any sample */

static void sampled_batch(const Job *job, uint32_t batch, TexRequest *r, float *coord)
{
    random_batch(job, batch, r, coord);
    TexStats stats;
    texcache_stats(job->cache, &stats);
    if (stats.bytes_now > atomic_load(&most_bytes))
        atomic_store(&most_bytes, stats.bytes_now);
}

static void test_fibers_take_8_gb_through_a_small_budget(void **state)
{
    SORT_UNUSED(state);
    enum { BATCHES = SORT_TSAN ? 300 : 1000, WORKERS = 2, FIBERS = 16 };
    const uint64_t overhead = (uint64_t)16 << 20;
    /* Under the thread sanitizer there are fewer lookups, which the first budget would hold. */
    static const uint64_t budgets[] = {(uint64_t)(SORT_TSAN ? 16 : 64) << 20, (uint64_t)8 << 20};
    char paths[TEXTURES][64];
    write_virtual_texture(fixture_path("virtual.stex"));
    for (uint32_t k = 0; k < TEXTURES; ++k) {
        snprintf(paths[k], sizeof paths[k], "virtual%u.stex", k);
        assert_int_equal(link(fixture_path("virtual.stex"), fixture_path(paths[k])), 0);
    }
    for (uint32_t b = 0; b < SORT_COUNT_OF(budgets); ++b) {
        Job job = {.batch_count = BATCHES, .make_batch = sampled_batch};
        job.image = new_image(BATCHES);
        TexCacheDesc d = {.budget_bytes = budgets[b]};
        memset(job.image, 0,
               (size_t)BATCHES * 12 * LANES * sizeof(float)); /* resident from now on */
        uint64_t before = resident_bytes();
        create_cache(&job, &d);
        for (uint32_t k = 0; k < TEXTURES; ++k)
            job.ids[k] = open_texture(job.cache, fixture_path(paths[k]));
        atomic_store(&most_bytes, 0);
        run_job(&job, WORKERS, FIBERS);
        uint64_t after = resident_bytes();
        TexStats stats = finish(&job);
        assert_int_equal(atomic_load(&job.failures), 0);
        assert_true(stats.bytes_loaded > budgets[b]);
        assert_true(atomic_load(&most_bytes) <= budgets[b]);
        assert_true(stats.bytes_peak <= budgets[b]);
#if !SORT_ASAN && !SORT_TSAN
        if (after > before + budgets[b] + overhead)
            fail_msg("resident memory grew by %" PRIu64 " bytes", after - before);
#else
        SORT_UNUSED(before);
        SORT_UNUSED(after);
        SORT_UNUSED(overhead);
#endif
        mem_free(job.image);
    }
}

/* --- stress ------------------------------------------------------------------------------- */

typedef struct Disturber {
    TexCache *cache;
    _Atomic bool is_done;
    uint32_t rounds;
} Disturber;

/* Opens, looks up, and closes another texture, and reads the statistics, over and over. */
static void disturb(void *data)
{
    Disturber *d = data;
    Error err = {0};
    Waiter *w;
    if (waiter_create_for_thread(&w, &err) != STATUS_OK)
        return;
    const char *path = fixture_path("other.stex");
    for (; !atomic_load(&d->is_done); ++d->rounds) {
        TexThread *t;
        TexCaller caller;
        TexId id;
        TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
        CHECK(texcache_thread_create(d->cache, &t, &err) == STATUS_OK);
        CHECK(texcache_open(d->cache, &what, &id, &err) == STATUS_OK);
        texcache_caller_init(&caller, t, w);
        uint64_t random = d->rounds;
        for (uint32_t i = 0; i < 10; ++i) {
            float coord[7] = {random_unit(&random), random_unit(&random)}, out[4];
            TexRequest r = {.texture = id, .lane_count = 1, .lane_mask = 1, .coord = coord};
            CHECK(texcache_lookup(&caller, &r, out) == 0);
            if (i == 7)
                texcache_touch(&caller, &r);
        }
        TexStats stats;
        texcache_stats(d->cache, &stats);
        CHECK(stats.bytes_now <= stats.budget_bytes);
        texcache_close(d->cache, id);
        texcache_thread_destroy(t);
    }
    waiter_destroy_for_thread(w);
}

static void test_fibers_stress(void **state)
{
    SORT_UNUSED(state);
    enum { BATCHES = SORT_TSAN ? 1500 : SORT_ASAN ? 4000 : 8000 };
    const char *path = fixture_path("other.stex");
    Picture p = picture_create(400, 300, 3, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    picture_fill_noise(&p, 9);
    picture_convert(&p, path, NULL);
    picture_free(&p);

    Job alone = {.batch_count = BATCHES, .make_batch = random_batch, .image = new_image(BATCHES)};
    TexCacheDesc d = {.io_thread_count = 4};
    create_cache(&alone, &d);
    for (uint32_t k = 0; k < TEXTURES; ++k)
        alone.ids[k] = open_texture(alone.cache, fixture_path(names[k]));
    run_job(&alone, 2, 4);
    finish(&alone);

    Job job = {.batch_count = BATCHES, .make_batch = random_batch, .image = new_image(BATCHES)};
    d.budget_bytes = tight_budget(4, 6, 4 + 1) + table_bytes_of(path);
    d.max_open_files = 2;
    create_cache(&job, &d);
    for (uint32_t k = 0; k < TEXTURES; ++k)
        job.ids[k] = open_texture(job.cache, fixture_path(names[k]));
    Disturber disturber = {.cache = job.cache};
    Thread *thread;
    Error err = {0};
    assert_int_equal(thread_create("disturber", 0, disturb, &disturber, &thread, &err), STATUS_OK);
    run_job(&job, 4, 16);
    atomic_store(&disturber.is_done, true);
    thread_join(thread);
    assert_int_equal(atomic_load(&job.failures), 0);
    assert_memory_equal(job.image, alone.image, (size_t)BATCHES * 12 * LANES * sizeof(float));
    TexStats stats = finish(&job);
    print_message("stress: %llu loads, %llu evictions, %u textures opened\n",
                  (unsigned long long)stats.loads, (unsigned long long)stats.evictions,
                  disturber.rounds);
    assert_true(stats.evictions > BATCHES / 4);
    mem_free(alone.image);
    mem_free(job.image);
}

static int setup(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    make_textures(512);
    return 0;
}

static int teardown(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fibers_that_ask_for_one_tile_share_its_read),
        cmocka_unit_test(test_fibers_hide_latency),
        cmocka_unit_test(test_fibers_image_is_the_same_however_it_is_made),
        cmocka_unit_test(test_fibers_finish_lookups_larger_than_the_budget),
        cmocka_unit_test(test_fibers_take_8_gb_through_a_small_budget),
        cmocka_unit_test(test_fibers_stress),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
