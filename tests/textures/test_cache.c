/* The cache under pressure and under attack, with plain threads: T6 (budget), T7 (order), T9 (one
 * read), T11 (damage), T12 (truncation), T15 (working set above the budget), T28 (descriptors), T29
 * (identities), handles. Fibers are in test_fibers.c. */
#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "base/thread.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/format/stex_format.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A noise texture of 16 KiB tiles. */
static const char *noise_file(const char *name, uint32_t width, uint32_t height, uint32_t seed)
{
    const char *path = fixture_path(name);
    Picture p = picture_create(width, height, 4, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, seed);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    return path;
}

/* The centre of tile (x, y) of level 0. */
static bool lookup_tile(Rig *rig, TexId id, uint32_t tiles_x, uint32_t tiles_y, uint32_t x,
                        uint32_t y, float out[4])
{
    float s = ((float)x + 0.51f) / (float)tiles_x, t = 1.0f - ((float)y + 0.51f) / (float)tiles_y;
    return rig_lookup(rig, id, NULL, s, t, out);
}

static void test_cache_refuses_a_budget_that_cannot_work(void **state)
{
    SORT_UNUSED(state);
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 1000, .io_thread_count = 2};
    TexCache *cache;
    Error err = {0};
    assert_int_equal(texcache_create(&d, &cache, &err), STATUS_LIMIT);
    assert_null(cache);
    unsigned long long least = 0;
    assert_int_equal(sscanf(strstr(err.text, "at least "), "at least %llu", &least), 1);
    /* What it says is true: that much works, and a byte less does not. */
    d.budget_bytes = least - 1;
    assert_int_equal(texcache_create(&d, &cache, &err), STATUS_LIMIT);
    d.budget_bytes = least;
    assert_int_equal(texcache_create(&d, &cache, &err), STATUS_OK);
    TexThread *thread;
    assert_int_equal(texcache_thread_create(cache, &thread, &err), STATUS_OK);

    /* A texture whose tables do not fit says what would. */
    const char *path = noise_file("tables.stex", 512, 512, 1);
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
    TexId id;
    assert_int_equal(texcache_open(cache, &what, &id, &err), STATUS_LIMIT);
    assert_string_equal(err.path, path);
    assert_int_equal(sscanf(strstr(err.text, "at least "), "at least %llu", &least), 1);
    texcache_thread_destroy(thread);
    texcache_destroy(cache);

    d.io_thread_count = TEX_MAX_IO_THREADS + 1;
    assert_int_equal(texcache_create(&d, &cache, &err), STATUS_INVALID);
}

/* Many small textures: what stays in memory of each is small, the rest comes and goes, and a budget that is too small is
 * told once for all. */
static void test_cache_many_small_textures_share_a_small_budget(void **state)
{
    SORT_UNUSED(state);
    enum { FILES = 300, SIDE = 128 };
    static TexId ids[FILES];
    static float first[FILES][4];
    for (uint32_t i = 0; i < FILES; ++i) {
        char name[32];
        snprintf(name, sizeof name, "small%u.stex", i);
        noise_file(name, SIDE, SIDE, i);
    }
    TexCacheDesc d = {.size_bytes = sizeof d, .budget_bytes = 1000, .io_thread_count = 2};
    unsigned long long whole = 0;
    TexCache *none;
    Error too_small = {0};
    assert_int_equal(texcache_create(&d, &none, &too_small), STATUS_LIMIT);
    assert_int_equal(sscanf(strstr(too_small.text, "at least "), "at least %llu", &whole), 1);
    d.budget_bytes = whole + (64 << 10);
    for (uint32_t round = 0; round < 3; ++round) {
        Rig rig;
        rig_begin(&rig, &d);
        uint64_t before = rig_stats(&rig).bytes_tables;
        uint32_t refused = 0;
        Error err = {0};
        for (uint32_t i = 0; i < FILES; ++i) {
            char name[32];
            snprintf(name, sizeof name, "small%u.stex", i);
            TexOpenDesc what = {.size_bytes = sizeof what, .path = fixture_path(name)};
            Status status = texcache_open(rig.cache, &what, &ids[i], &err);
            assert_true(status == STATUS_OK || status == STATUS_LIMIT);
            refused += status == STATUS_LIMIT;
        }
        if (round < 2) /* much less than all need, or 48 KiB less */
            assert_true(refused > 0);
        else
            assert_int_equal(refused, 0);
        if (refused > 0) {
            assert_int_equal(sscanf(strstr(err.text, "at least "), "at least %llu", &whole), 1);
            d.budget_bytes = round == 0 ? whole - (48 << 10) : whole;
            rig_end(&rig);
            continue;
        }
        TexStats stats = rig_stats(&rig);
        assert_true(stats.bytes_tables - before < FILES * 950);
        for (uint32_t pass = 0; pass < 2; ++pass) {
            for (uint32_t i = 0; i < FILES; ++i) { /* small levels, and large ones */
                float width = i % 2 ? 0.9f : 0.0f, out[4];
                float coord[7] = {0.3f, 0.6f, width, 0, 0, width, 0};
                TexRequest r = {.texture = ids[i], .lane_count = 1, .lane_mask = 1, .coord = coord};
                assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
                if (pass == 0)
                    memcpy(first[i], out, sizeof out);
                else
                    assert_memory_equal(first[i], out, sizeof out);
            }
        }
        stats = rig_stats(&rig);
        assert_true(stats.evictions > FILES);
        assert_true(stats.bytes_peak <= d.budget_bytes);
        rig_check_identities(&rig);
        rig_end(&rig);
    }
}

static void test_cache_evicts_in_the_documented_order(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("order.stex", 256, 256, 2);
    TexCacheDesc d = {.io_thread_count = 1,
                      .budget_bytes = budget_for_chunks(1, 1, table_bytes_of(path))};
    Rig rig;
    rig_begin(&rig, &d); /* three tiles */
    TexId id = rig_open(&rig, path);
    float out[4];
    static const uint32_t order[][2] = {{0, 0}, {1, 0}, {2, 0}, {0, 0}, {3, 0}}; /* A B C A D */
    for (size_t i = 0; i < SORT_COUNT_OF(order); ++i)
        assert_false(lookup_tile(&rig, id, 4, 4, order[i][0], order[i][1], out));
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.loads, 4);
    assert_int_equal(stats.evictions, 1);
    assert_int_equal(stats.resident_tiles, 3);
    /* A and C are there, B is not. */
    lookup_tile(&rig, id, 4, 4, 0, 0, out);
    lookup_tile(&rig, id, 4, 4, 2, 0, out);
    assert_int_equal(rig_stats(&rig).loads, 4);
    lookup_tile(&rig, id, 4, 4, 1, 0, out);
    stats = rig_stats(&rig);
    assert_int_equal(stats.loads, 5);
    assert_int_equal(stats.bytes_loaded, 5 * 16384);
    assert_int_equal(stats.bytes_unique, 4 * 16384);
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_cache_never_exceeds_its_budget(void **state)
{
    SORT_UNUSED(state);
    /* 40 MB of textures through 4 MB, all sizes of tiles at once. */
    enum { FILES = 8 };
    static const struct {
        uint32_t channels;
        SortTexelType type;
    } kinds[FILES] = {{4, SORT_TEXEL_U8},    {3, SORT_TEXEL_U8},   {1, SORT_TEXEL_U8},
                      {3, SORT_TEXEL_HALF},  {4, SORT_TEXEL_HALF}, {1, SORT_TEXEL_HALF},
                      {3, SORT_TEXEL_FLOAT}, {1, SORT_TEXEL_FLOAT}};
    const uint64_t budget = 4 << 20, overhead = 2 << 20;
    char names[FILES][32];
    for (uint32_t i = 0; i < FILES; ++i) {
        Picture p = picture_create(1024, 768, kinds[i].channels, kinds[i].type, SORT_COLOR_RAW);
        picture_fill_noise(&p, i);
        snprintf(names[i], sizeof names[i], "budget%u.stex", i);
        picture_convert(&p, fixture_path(names[i]), NULL);
        picture_free(&p);
    }
    TexCacheDesc d = {.budget_bytes = budget, .io_thread_count = 4};
    Rig rig;
    uint64_t before = resident_bytes();
    rig_begin(&rig, &d);
    TexId ids[FILES];
    for (uint32_t i = 0; i < FILES; ++i)
        ids[i] = rig_open(&rig, fixture_path(names[i]));
    uint64_t random = 1;
    for (uint32_t step = 0; step < 6000; ++step) {
        float coord[7 * 16] = {0}, out[4 * 16];
        for (uint32_t i = 0; i < 32; ++i)
            coord[i] = random_unit(&random);
        for (uint32_t i = 32; i < 112; ++i)
            coord[i] = random_unit(&random) * 0.003f;
        TexRequest r = {.texture = ids[random_u32(&random) % FILES],
                        .lane_count = 16,
                        .lane_mask = 0xffff,
                        .coord = coord};
        assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
        TexStats stats = rig_stats(&rig);
        assert_true(stats.bytes_now <= budget);
        assert_true(stats.bytes_peak <= budget);
    }
    TexStats stats = rig_stats(&rig);
    assert_true(stats.evictions > 1000);
    assert_true(stats.bytes_peak > budget - (64 << 10)); /* and it is used */
#if !SORT_ASAN && !SORT_TSAN
    uint64_t after = resident_bytes();
    if (after > before + budget + overhead)
        fail_msg("resident memory grew by %" PRIu64 " bytes", after - before);
#else
    SORT_UNUSED(before);
    SORT_UNUSED(overhead);
#endif
    rig_check_identities(&rig);

    /* Opening more squeezes the tiles, closing gives the memory back. */
    uint64_t tables = stats.bytes_tables;
    for (uint32_t i = 0; i < FILES; ++i)
        texcache_close(rig.cache, ids[i]);
    stats = rig_stats(&rig);
    assert_int_equal(stats.resident_tiles, 0);
    assert_true(stats.bytes_tables < tables);
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_cache_tables_squeeze_tiles_out(void **state)
{
    SORT_UNUSED(state);
    const char *big = noise_file("squeeze.stex", 1024, 1024, 3);
    const char *other = noise_file("squeeze2.stex", 512, 512, 4);
    uint64_t tables = table_bytes_of(big) + table_bytes_of(other);
    TexCacheDesc d = {.io_thread_count = 2, .budget_bytes = budget_for_chunks(2, 2, tables)};
    Rig rig;
    rig_begin(&rig, &d);
    TexId id = rig_open(&rig, big);
    float out[4], again[4];
    for (uint32_t i = 0; i < 256; ++i)
        assert_false(lookup_tile(&rig, id, 16, 16, i % 16, i / 16, out));
    uint64_t full = rig_stats(&rig).bytes_now;
    TexId second = rig_open(&rig, other); /* needs what tiles hold */
    TexStats stats = rig_stats(&rig);
    assert_true(stats.bytes_now <= d.budget_bytes && full <= d.budget_bytes);
    assert_false(lookup_tile(&rig, id, 16, 16, 15, 15, again));
    assert_memory_equal(out, again, sizeof out);
    assert_false(lookup_tile(&rig, second, 8, 8, 3, 3, out));
    texcache_close(rig.cache, second);
    assert_false(lookup_tile(&rig, id, 16, 16, 15, 15, again));
    rig_check_identities(&rig);
    rig_end(&rig);
}

/* --- one read however many ask ------------------------------------------------------------ */

enum { ASKERS = 16 };

typedef struct Asker {
    TexCache *cache;
    TexId id;
    float out[4];
    Thread *thread;
} Asker;

static void ask(void *data)
{
    Asker *a = data;
    TexThread *t;
    Waiter *w;
    Error err = {0};
    assert_int_equal(texcache_thread_create(a->cache, &t, &err), STATUS_OK);
    assert_int_equal(waiter_create_for_thread(&w, &err), STATUS_OK);
    TexCaller caller;
    texcache_caller_init(&caller, t, w);
    float coord[7] = {0.13f, 0.77f};
    TexRequest r = {.texture = a->id, .lane_count = 1, .lane_mask = 1, .coord = coord};
    assert_int_equal(texcache_lookup(&caller, &r, a->out), 0);
    waiter_destroy_for_thread(w);
    texcache_thread_destroy(t);
}

static void test_cache_reads_a_tile_once_for_many_threads(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("once.stex", 512, 512, 5);
    TexCacheDesc d = {.read_delay_us = 100000, .io_thread_count = 4};
    Rig rig;
    rig_begin(&rig, &d);
    TexId id = rig_open(&rig, path);
    Asker askers[ASKERS];
    Error err = {0};
    for (uint32_t i = 0; i < ASKERS; ++i) {
        askers[i] = (Asker){.cache = rig.cache, .id = id};
        assert_int_equal(thread_create("asker", 0, ask, &askers[i], &askers[i].thread, &err),
                         STATUS_OK);
    }
    for (uint32_t i = 0; i < ASKERS; ++i) {
        thread_join(askers[i].thread);
        assert_memory_equal(askers[i].out, askers[0].out, sizeof askers[0].out);
    }
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.loads, 1);
    assert_int_equal(stats.bytes_read, 16384);
    assert_int_equal(stats.reads_awaited, 1);
    assert_int_equal(stats.tile_requests, ASKERS);
    assert_int_equal(stats.coalesced + stats.tile_hits, ASKERS - 1);
    rig_check_identities(&rig);
    rig_end(&rig);
}

/* --- damage ------------------------------------------------------------------------------- */

/* Values of 8 x 8 places in each tile of a 512 x 512 texture, all tiles; and which were missing. */
#define GRID 64 /* not an enumerator: it meets floats */
typedef struct GridImage {
    float rgba[GRID][GRID][4];
    bool is_missing[GRID][GRID];
} GridImage;

static void render_grid(Rig *rig, TexId id, GridImage *out)
{
    for (uint32_t y = 0; y < GRID; ++y) {
        for (uint32_t x = 0; x < GRID; ++x) {
            float s = ((float)x + 0.37f) / GRID, t = 1.0f - ((float)y + 0.37f) / GRID;
            out->is_missing[y][x] = rig_lookup(rig, id, NULL, s, t, out->rgba[y][x]);
        }
    }
}

static void test_cache_damage_stays_in_its_tile(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("damaged.stex", 512, 512, 6);
    Rig rig;
    rig_begin(&rig, NULL);
    static GridImage clean, broken;
    TexId id = rig_open(&rig, path);
    render_grid(&rig, id, &clean);
    rig_end(&rig);

    /* One bit of tile (level 0, 3, 5). */
    char *bytes;
    size_t size;
    Error err = {0};
    assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
    StexTile record;
    memcpy(&record, bytes + STEX_PAGE_BYTES + (5 * 8 + 3) * sizeof record, sizeof record);
    bytes[record.offset + 5000] ^= 0x10;
    assert_int_equal(file_write(path, bytes, size, &err), STATUS_OK);
    mem_free(bytes);

    rig_begin(&rig, NULL);
    id = rig_open(&rig, path);
    render_grid(&rig, id, &broken);
    for (uint32_t y = 0; y < GRID; ++y) {
        for (uint32_t x = 0; x < GRID; ++x) {
            bool is_touched = x / 8 == 3 && y / 8 == 5;
            assert_int_equal(broken.is_missing[y][x], is_touched);
            const float magenta[4] = {1, 0, 1, 1};
            assert_memory_equal(broken.rgba[y][x], is_touched ? magenta : clean.rgba[y][x],
                                4 * sizeof(float));
        }
    }
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.failed_tiles, 1);
    assert_int_equal(stats.missing, 64);
    assert_int_equal(stats.failed_fast, 63);
    assert_int_equal(rig.lines.count, 1);
    char expected[128];
    snprintf(expected, sizeof expected,
             "level 0, tile (3, 5): checksum mismatch at byte %" PRIu64 ": expected 0x%08" PRIx32,
             record.offset, record.payload_crc);
    if (!strstr(rig.lines.last, expected) || !strstr(rig.lines.last, path))
        fail_msg("'%s' does not say '%s'", rig.lines.last, expected);
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_cache_damaged_stream_or_index_fails_alone(void **state)
{
    SORT_UNUSED(state);
    const char *path = fixture_path("packed.stex");
    Picture p = picture_create(512, 512, 4, SORT_TEXEL_U8, SORT_COLOR_RAW);
    for (uint32_t i = 0; i < 512 * 512; ++i)
        picture_set(&p, i % 512, i / 512, i % 4, (float)(i % 7) / 7.0f);
    TexConvertDesc how = {.compression = TEX_COMPRESSION_ZLIB};
    picture_convert(&p, path, &how);
    picture_free(&p);
    char *bytes;
    size_t size;
    Error err = {0};
    assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
    StexTile *records = (StexTile *)(void *)(bytes + STEX_PAGE_BYTES);
    assert_true(records[0].flags & STEX_TILE_ZLIB);
    records[1].payload_crc ^= 1; /* breaks the record's own check sum */
    /* A record that is honest about a stream that is none. */
    bytes[records[2].offset] ^= 0x55;
    records[2].payload_crc = crc32c(0, bytes + records[2].offset, records[2].stored_bytes);
    records[2].record_crc = stex_record_crc(&records[2], 2);
    assert_int_equal(file_write(path, bytes, size, &err), STATUS_OK);
    mem_free(bytes);

    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    float out[4];
    assert_false(lookup_tile(&rig, id, 8, 8, 0, 0, out));
    assert_true(lookup_tile(&rig, id, 8, 8, 1, 0, out));
    assert_non_null(strstr(rig.lines.last, "damaged index record"));
    assert_true(lookup_tile(&rig, id, 8, 8, 2, 0, out));
    assert_non_null(strstr(rig.lines.last, "cannot be decompressed"));
    assert_false(lookup_tile(&rig, id, 8, 8, 3, 0, out));
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_cache_truncated_file_loses_only_what_is_cut(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("cut.stex", 512, 512, 7);
    static GridImage clean, cut;
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    render_grid(&rig, id, &clean);
    rig_end(&rig);
    uint64_t size;
    Error err = {0};
    assert_int_equal(file_size(path, &size, &err), STATUS_OK);
    assert_int_equal(truncate(path, (off_t)(size / 2)), 0);
    rig_begin(&rig, NULL);
    id = rig_open(&rig, path);
    assert_non_null(strstr(rig.lines.last, "truncated"));
    render_grid(&rig, id, &cut);
    uint32_t missing = 0;
    for (uint32_t y = 0; y < GRID; ++y) {
        for (uint32_t x = 0; x < GRID; ++x) {
            missing += cut.is_missing[y][x];
            if (!cut.is_missing[y][x])
                assert_memory_equal(cut.rgba[y][x], clean.rgba[y][x], 4 * sizeof(float));
        }
    }
    assert_in_range(missing, GRID * GRID / 4, GRID * GRID * 3 / 4);
    assert_non_null(strstr(rig.lines.first, "truncated"));
    assert_non_null(strstr(rig.lines.last, "more tiles failed"));
    assert_int_equal(rig.lines.count, 1 + 16 + 1);
    rig_check_identities(&rig);
    rig_end(&rig);
}

/* --- handles and descriptors -------------------------------------------------------------- */

static uint32_t count_open_textures(void)
{
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    uint32_t count = 0;
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        char link[64], target[512];
        snprintf(link, sizeof link, "/proc/self/fd/%.20s", e->d_name);
        ssize_t length = readlink(link, target, sizeof target - 1);
        target[length > 0 ? length : 0] = 0;
        count += strstr(target, ".stex") != NULL;
    }
    closedir(d);
    return count;
}

static void test_cache_keeps_few_files_open(void **state)
{
    SORT_UNUSED(state);
    enum { FILES = 30 };
    TexCacheDesc d = {.max_open_files = 4, .io_thread_count = 3};
    Rig rig;
    rig_begin(&rig, &d);
    TexId ids[FILES];
    float first[FILES][4], out[4];
    for (uint32_t i = 0; i < FILES; ++i) {
        char name[32];
        snprintf(name, sizeof name, "many%u.stex", i);
        ids[i] = rig_open(&rig, noise_file(name, 200, 200, i));
        assert_true(count_open_textures() <= 4);
    }
    for (uint32_t tile = 0; tile < 16; ++tile) {
        for (uint32_t i = 0; i < FILES; ++i) {
            assert_false(lookup_tile(&rig, ids[i], 4, 4, tile % 4, tile / 4, out));
            if (tile == 0)
                memcpy(first[i], out, sizeof out);
            assert_true(count_open_textures() <= 4);
        }
    }
    for (uint32_t i = 0; i < FILES; ++i) {
        assert_false(lookup_tile(&rig, ids[i], 4, 4, 0, 0, out));
        assert_memory_equal(first[i], out, sizeof out);
    }
    TexStats stats = rig_stats(&rig);
    assert_true(stats.file_opens > FILES);
    assert_true(stats.open_files <= 4);

    /* Gone or exchanged between two reads: this tile fails, with a reason; nothing is mixed. */
    texcache_close(rig.cache,
                   ids[2]); /* make room, so that all others are closed by the next opens */
    for (uint32_t i = 10; i < 16; ++i)
        lookup_tile(&rig, ids[i], 4, 4, 1, 1, out);
    Error err = {0};
    Rig fresh;
    rig_begin(&fresh, &d);
    ids[2] = rig_open(&fresh, fixture_path("many2.stex"));
    ids[3] = rig_open(&fresh, fixture_path("many3.stex"));
    for (uint32_t i = 20; i < 24; ++i)
        rig_open(&fresh, fixture_path(i == 20   ? "many20.stex"
                                      : i == 21 ? "many21.stex"
                                      : i == 22 ? "many22.stex"
                                                : "many23.stex"));
    assert_int_equal(file_remove(fixture_path("many2.stex"), &err), STATUS_OK);
    noise_file("many3.stex", 200, 200, 99);
    assert_true(lookup_tile(&fresh, ids[2], 4, 4, 0, 0, out));
    assert_non_null(strstr(fresh.lines.last, "cannot be opened again"));
    assert_true(lookup_tile(&fresh, ids[3], 4, 4, 0, 0, out));
    assert_non_null(strstr(fresh.lines.last, "replaced"));
    rig_end(&fresh);
    rig_end(&rig);
}

static void test_cache_handles_are_counted_and_closed(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("handle.stex", 256, 256, 8);
    Rig rig;
    rig_begin(&rig, NULL);
    uint64_t before = rig_stats(&rig).bytes_tables;
    TexId a = rig_open(&rig, path), b = rig_open(&rig, path);
    assert_int_equal(a.id, b.id);
    texcache_retain(rig.cache, a);
    float out[4], again[4];
    assert_false(lookup_tile(&rig, a, 4, 4, 1, 2, out));
    texcache_close(rig.cache, a);
    texcache_close(rig.cache, a);
    assert_false(lookup_tile(&rig, a, 4, 4, 1, 2, again));
    assert_memory_equal(out, again, sizeof out);
    texcache_close(rig.cache, a);
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_info(rig.cache, a, &info, &err), STATUS_NOT_FOUND);
    assert_true(lookup_tile(&rig, a, 4, 4, 1, 2, again)); /* recognised as closed */
    TexId c = rig_open(&rig, path);
    assert_int_not_equal(c.id, a.id);
    assert_true(lookup_tile(&rig, a, 4, 4, 1, 2, again));
    assert_false(lookup_tile(&rig, c, 4, 4, 1, 2, again));
    assert_memory_equal(out, again, sizeof out);
    texcache_close(rig.cache, c);
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.resident_tiles, 0);
    assert_in_range(stats.bytes_tables, before, before + 4096); /* the directory's block stays */
    rig_check_identities(&rig);
    rig_end(&rig);
}

/* Two files of one picture are one texture; a third of another picture is not. */
static void test_cache_shares_files_of_one_picture(void **state)
{
    (void)state;
    Picture p = picture_create(256, 256, 3, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 7);
    picture_convert(&p, fixture_path("one.stex"), NULL);
    TexConvertDesc packed = {.compression = TEX_COMPRESSION_ZLIB};
    picture_convert(&p, fixture_path("two.stex"), &packed);
    TexConvertDesc clamped = {.wrap_s = TEX_WRAP_CLAMP};
    picture_convert(&p, fixture_path("clamped.stex"), &clamped);
    picture_set(&p, 100, 100, 1, 0.25f);
    picture_convert(&p, fixture_path("other.stex"), NULL);
    picture_free(&p);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId one = rig_open(&rig, fixture_path("one.stex"));
    uint64_t bytes = rig_stats(&rig).bytes_tables;
    TexId two = rig_open(&rig, fixture_path("two.stex"));
    assert_int_equal(one.id, two.id);
    assert_int_equal(rig_stats(&rig).bytes_tables, bytes);
    assert_int_not_equal(rig_open(&rig, fixture_path("clamped.stex")).id, one.id);
    assert_int_not_equal(rig_open(&rig, fixture_path("other.stex")).id, one.id);
    float a[4], b[4];
    texcache_close(rig.cache, one);
    assert_false(rig_lookup(&rig, two, NULL, 0.3f, 0.3f, a)); /* one count is left */
    texcache_close(rig.cache, two);
    assert_true(rig_lookup(&rig, two, NULL, 0.3f, 0.3f, b));
    rig_end(&rig);
}

static void test_cache_touch_loads_ahead_and_changes_nothing(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("touch.stex", 512, 512, 9);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    float coord[7 * 4] = {0.1f, 0.4f, 0.6f, 0.9f, 0.1f, 0.4f, 0.6f, 0.9f};
    TexRequest r = {.texture = id, .lane_count = 4, .lane_mask = 0xf, .coord = coord};
    texcache_touch(&rig.caller, &r);
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.reads_ahead, 4);
    assert_int_equal(stats.lookups, 0);
    rig_check_identities(&rig); /* waits until they are read */
    float out[16];
    assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
    stats = rig_stats(&rig);
    assert_int_equal(stats.tile_misses, 0);
    assert_int_equal(stats.loads, 4);
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_cache_survives_any_failed_allocation(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("alloc.stex", 200, 200, 10);
    for (uint64_t n = 1; n < 200; ++n) {
        mem_fail_nth(n);
        TexCacheDesc d = {.size_bytes = sizeof d, .io_thread_count = 2, .budget_bytes = 4 << 20};
        TexCache *cache;
        TexThread *thread = NULL;
        TexId id;
        Error err = {0};
        Status status = texcache_create(&d, &cache, &err);
        if (status == STATUS_OK)
            status = texcache_thread_create(cache, &thread, &err);
        TexOpenDesc what = {.size_bytes = sizeof what, .path = path};
        if (status == STATUS_OK)
            status = texcache_open(cache, &what, &id, &err);
        bool is_done = mem_allocation_count() < n;
        mem_fail_nth(0);
        texcache_thread_destroy(thread);
        texcache_destroy(cache);
        if (is_done) {
            assert_int_equal(status, STATUS_OK);
            return;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
    }
    fail_msg("there is no end to the allocations");
}

static int setup(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
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
        cmocka_unit_test(test_cache_refuses_a_budget_that_cannot_work),
        cmocka_unit_test(test_cache_many_small_textures_share_a_small_budget),
        cmocka_unit_test(test_cache_evicts_in_the_documented_order),
        cmocka_unit_test(test_cache_never_exceeds_its_budget),
        cmocka_unit_test(test_cache_tables_squeeze_tiles_out),
        cmocka_unit_test(test_cache_reads_a_tile_once_for_many_threads),
        cmocka_unit_test(test_cache_damage_stays_in_its_tile),
        cmocka_unit_test(test_cache_damaged_stream_or_index_fails_alone),
        cmocka_unit_test(test_cache_truncated_file_loses_only_what_is_cut),
        cmocka_unit_test(test_cache_keeps_few_files_open),
        cmocka_unit_test(test_cache_handles_are_counted_and_closed),
        cmocka_unit_test(test_cache_shares_files_of_one_picture),
        cmocka_unit_test(test_cache_touch_loads_ahead_and_changes_nothing),
        cmocka_unit_test(test_cache_survives_any_failed_allocation),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
