/* Storage that misbehaves: T13 (errors that pass, short reads, interruptions), T28 (files exchanged
 * or removed under a render), descriptors that run out, and the order in which reads are made. Faults
 * are injected where all reading goes through: stex_replace_pread(). */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/format/stex_read.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TILES = 4, SIZE = TILES * 64 };

/* What the injected pread does; set before reading begins, counted while it goes on. */
static struct {
    _Atomic uint32_t calls, failures_left;
    uint32_t interrupt_every, bytes_max;
    uint64_t fail_from, fail_to; /* bytes that cannot be read */
    _Atomic bool is_held;        /* reads do not begin */
    uint32_t
        records[256]; /* whose index records were read, each once, one thread after the other */
    _Atomic bool was_read[256];
    _Atomic uint32_t record_count;
} faults;

static ssize_t faulty_pread(int fd, void *out, size_t size_bytes, off_t offset)
{
    uint32_t call = atomic_fetch_add(&faults.calls, 1);
    while (atomic_load(&faults.is_held))
        clock_sleep_ns(100000);
    for (size_t at = 0; offset >= STEX_PAGE_BYTES && at < size_bytes; at += sizeof(StexTile)) {
        uint64_t tile = ((uint64_t)offset + at - STEX_PAGE_BYTES) / sizeof(StexTile);
        if (tile < SORT_COUNT_OF(faults.records) && !atomic_exchange(&faults.was_read[tile], true))
            faults.records[atomic_fetch_add(&faults.record_count, 1)] = (uint32_t)tile;
    }
    if (faults.interrupt_every && call % faults.interrupt_every == 0) {
        errno = EINTR;
        return -1;
    }
    if ((uint64_t)offset + size_bytes > faults.fail_from && (uint64_t)offset < faults.fail_to &&
        atomic_load(&faults.failures_left) > 0) {
        atomic_fetch_sub(&faults.failures_left, 1);
        errno = EIO;
        return -1;
    }
    if (faults.bytes_max && size_bytes > faults.bytes_max)
        size_bytes = 1 + call * 37 % faults.bytes_max;
    return pread(fd, out, size_bytes, offset);
}

static void inject(uint32_t failures, uint64_t from, uint64_t to)
{
    faults.calls = faults.record_count = 0;
    memset(faults.was_read, 0, sizeof faults.was_read);
    faults.failures_left = failures;
    faults.interrupt_every = faults.bytes_max = 0;
    faults.fail_from = from;
    faults.fail_to = to;
    stex_replace_pread(faulty_pread);
}

static const char *noise_file(const char *name, uint32_t seed)
{
    const char *path = fixture_path(name);
    Picture p = picture_create(SIZE, SIZE, 4, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, seed);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    return path;
}

/* A texel of tile (x, y) of level 0. */
static bool lookup_tile(Rig *rig, TexId id, uint32_t x, uint32_t y, float out[4])
{
    return rig_lookup(rig, id, NULL, ((float)x + 0.51f) / TILES, 1.0f - ((float)y + 0.51f) / TILES,
                      out);
}

typedef struct TileImage {
    float rgba[TILES][TILES][4];
    bool is_missing[TILES][TILES];
} TileImage;

static void render(Rig *rig, TexId id, TileImage *out)
{
    for (uint32_t y = 0; y < TILES; ++y) {
        for (uint32_t x = 0; x < TILES; ++x)
            out->is_missing[y][x] = lookup_tile(rig, id, x, y, out->rgba[y][x]);
    }
}

static void render_file(const char *path, TileImage *out)
{
    Rig rig;
    rig_begin(&rig, NULL);
    render(&rig, rig_open(&rig, path), out);
    rig_end(&rig);
}

static StexTile record_of(const char *path, uint32_t tile)
{
    char *bytes;
    size_t size;
    Error err = {0};
    StexTile record;
    assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
    memcpy(&record, bytes + STEX_PAGE_BYTES + tile * sizeof record, sizeof record);
    mem_free(bytes);
    return record;
}

/* --- errors that pass --------------------------------------------------------------------- */

static void test_storage_errors_that_pass_change_nothing(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("passing.stex", 1);
    static TileImage clean, image;
    render_file(path, &clean);
    StexTile record = record_of(path, 5);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    inject(3, record.offset, record.offset + record.stored_bytes);
    render(&rig, id, &image);
    assert_memory_equal(&image, &clean, sizeof clean);
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.retries, 3);
    assert_int_equal(stats.failed_tiles, 0);
    assert_int_equal(stats.recovered_tiles, 0);
    assert_int_equal(stats.missing, 0);
    assert_int_equal(rig.lines.count, 1); /* told once */
    assert_non_null(strstr(rig.lines.last, "Input/output error; trying again"));
    rig_check_identities(&rig);
    rig_end(&rig);
    stex_replace_pread(NULL);
}

static void test_storage_short_and_interrupted_reads_change_nothing(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("stutter.stex", 2);
    static TileImage clean, image;
    render_file(path, &clean);
    inject(0, 0, 0);
    faults.interrupt_every = 3;
    faults.bytes_max = 1000;
    render_file(path, &image);
    stex_replace_pread(NULL);
    assert_memory_equal(&image, &clean, sizeof clean);
    assert_true(faults.calls > 16 * 16);
}

static void test_storage_that_stays_broken_is_asked_again_later(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("later.stex", 3);
    static TileImage clean, image;
    render_file(path, &clean);
    StexTile record = record_of(path, 6); /* (2, 1) */
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    inject(UINT32_MAX, record.offset, record.offset + 1);
    render(&rig, id, &image);
    for (uint32_t i = 0; i < TILES * TILES; ++i) {
        assert_int_equal(image.is_missing[i / TILES][i % TILES], i == 6);
        if (i != 6) {
            assert_memory_equal(image.rgba[i / TILES][i % TILES], clean.rgba[i / TILES][i % TILES],
                                4 * sizeof(float));
        }
    }
    assert_int_equal(rig_stats(&rig).retries, 4);
    assert_int_equal(rig_stats(&rig).failed_tiles, 1);
    assert_non_null(strstr(rig.lines.last, "level 0, tile (2, 1): read error at byte"));
    assert_non_null(strstr(rig.lines.last, "to be tried again after 0.5 s"));

    /* Before its time it is not asked for. */
    uint64_t begin_ns = clock_now_ns();
    float out[4];
    uint32_t calls = faults.calls, early = 0;
    while (clock_now_ns() - begin_ns < 200000000u) {
        assert_true(lookup_tile(&rig, id, 2, 1, out));
        ++early;
    }
    assert_int_equal(faults.calls, calls);
    assert_int_equal(rig_stats(&rig).failed_fast, early);
    /* Afterwards it is, and the pause doubles. */
    while (rig_stats(&rig).failed_tiles < 2 && clock_seconds_since(begin_ns) < 20.0)
        assert_true(lookup_tile(&rig, id, 2, 1, out));
    assert_non_null(strstr(rig.lines.last, "to be tried again after 1 s"));
    /* Mended: the same cache has it after a while. */
    faults.failures_left = 0;
    while (lookup_tile(&rig, id, 2, 1, out) && clock_seconds_since(begin_ns) < 20.0)
        clock_sleep_ns(1000000);
    assert_memory_equal(out, clean.rgba[1][2], sizeof out);
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.recovered_tiles, 1);
    assert_int_equal(stats.failed_tiles, 2);
    assert_int_equal(stats.bytes_unique, stats.bytes_loaded);
    rig_check_identities(&rig);
    rig_end(&rig);
    stex_replace_pread(NULL);
}

static void test_storage_damage_is_not_asked_again(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("rotten.stex", 4);
    StexTile record = record_of(path, 0);
    assert_int_equal(truncate(path, (off_t)record.offset), 0);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    float out[4];
    for (uint32_t i = 0; i < 800; ++i) {
        assert_true(lookup_tile(&rig, id, 0, 0, out));
        clock_sleep_ns(1000000);
    }
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.failed_tiles, 1);
    assert_int_equal(stats.retries, 0);
    assert_int_equal(stats.failed_fast, 799);
    rig_end(&rig);
}

static void test_storage_opening_is_patient_too(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("opening.stex", 5);
    Rig rig;
    rig_begin(&rig, NULL);
    inject(2, 0, 1); /* the header */
    TexId id = rig_open(&rig, path);
    assert_int_equal(rig_stats(&rig).retries, 2);
    float out[4];
    assert_false(lookup_tile(&rig, id, 1, 1, out));

    inject(UINT32_MAX, 0, 1);
    TexOpenDesc what = {.size_bytes = sizeof what, .path = noise_file("closed.stex", 6)};
    Error err = {0};
    assert_int_equal(texcache_open(rig.cache, &what, &id, &err), STATUS_IO);
    assert_non_null(strstr(err.text, "Input/output error"));
    assert_string_equal(err.path, what.path);
    stex_replace_pread(NULL);
    assert_int_equal(texcache_open(rig.cache, &what, &id, &err), STATUS_OK);
    rig_end(&rig);
}

static void test_storage_descriptors_may_run_out_for_a_while(void **state)
{
    SORT_UNUSED(state);
    const char *a = noise_file("fd_a.stex", 7), *b = noise_file("fd_b.stex", 8);
    TexCacheDesc d = {.max_open_files = 1, .io_thread_count = 2};
    static TileImage clean;
    render_file(a, &clean);
    Rig rig;
    rig_begin(&rig, &d);
    TexId id = rig_open(&rig, a);
    rig_open(&rig, b); /* closes the first */
    struct rlimit before, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    float out[4];
    bool is_missing = lookup_tile(&rig, id, 1, 2, out);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(is_missing);
    assert_non_null(strstr(rig.lines.last, "Too many open files; to be tried again"));
    uint64_t begin_ns = clock_now_ns();
    while (lookup_tile(&rig, id, 1, 2, out) && clock_seconds_since(begin_ns) < 20.0)
        clock_sleep_ns(1000000);
    assert_memory_equal(out, clean.rgba[2][1], sizeof out);
    rig_check_identities(&rig);
    rig_end(&rig);
}

/* All tiles of many textures, in turns. The limit comes before the cache, which then knows it, or after it. */
static void look_at_many_textures(bool is_limit_first)
{
    enum { FILES = 500, LEFT = 32 };
    static TexId ids[FILES];
    static float first[FILES][4];
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = LEFT;
    TexCacheDesc d = {.io_thread_count = 3};
    Rig rig;
    if (is_limit_first)
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    rig_begin(&rig, &d);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (uint32_t i = 0; i < FILES; ++i) {
        char name[32];
        snprintf(name, sizeof name, "limit%u.stex", i);
        ids[i] = rig_open(&rig, fixture_path(name));
    }
    for (uint32_t round = 0; round < 4; ++round) {
        for (uint32_t i = 0; i < FILES; ++i) {
            float out[4];
            uint32_t tile = round == 3 ? 0 : round; /* in the last round, what is there already */
            assert_false(lookup_tile(&rig, ids[i], tile, 0, out));
            if (round == 0)
                memcpy(first[i], out, sizeof out);
            else if (round == 3)
                assert_memory_equal(first[i], out, sizeof out);
        }
    }
    /* Something is left for others. */
    FILE *other = fopen("/dev/null", "rb");
    assert_true(other != NULL || !is_limit_first);
    if (other)
        (void)fclose(other);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.failed_tiles, 0);
    assert_int_equal(stats.retries, 0);
    assert_int_equal(rig.lines.count, 0);
    assert_in_range(stats.open_files, 1, LEFT);
    assert_true(stats.file_opens >= 2 * FILES);
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_storage_many_textures_need_few_descriptors(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t i = 0; i < 500; ++i) {
        char name[32];
        snprintf(name, sizeof name, "limit%u.stex", i);
        Picture p = picture_create(200, 70, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
        picture_fill_noise(&p, i);
        picture_convert(&p, fixture_path(name), NULL);
        picture_free(&p);
    }
    look_at_many_textures(true);
    look_at_many_textures(false);
}

/* --- files that are exchanged -------------------------------------------------------------- */

/* Writes over a file's content, keeping the file. */
static void write_over(const char *path, const char *from)
{
    char *bytes;
    size_t size;
    Error err = {0};
    assert_int_equal(file_read(from, 1 << 24, &bytes, &size, &err), STATUS_OK);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    mem_free(bytes);
}

static void test_storage_content_that_is_exchanged_never_mixes(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("over.stex", 9), *other = noise_file("other.stex", 10);
    static TileImage clean;
    render_file(path, &clean);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    float out[4];
    assert_false(lookup_tile(&rig, id, 0, 0, out));
    clock_sleep_ns(20000000); /* time stamps of files are coarse */
    write_over(path, other);
    /* All its tiles are sound, and none of them is this texture's. */
    for (uint32_t i = 1; i < TILES * TILES; ++i)
        assert_true(lookup_tile(&rig, id, i % TILES, i / TILES, out));
    assert_non_null(strstr(rig.lines.last, "replaced on disk"));
    assert_non_null(strstr(rig.lines.last, path));
    assert_false(lookup_tile(&rig, id, 0, 0, out)); /* in memory */
    assert_memory_equal(out, clean.rgba[0][0], sizeof out);
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_storage_touched_file_goes_on(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("touched.stex", 11);
    static TileImage clean, image;
    render_file(path, &clean);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    clock_sleep_ns(20000000);
    write_over(path, path);
    render(&rig, id, &image);
    assert_memory_equal(&image, &clean, sizeof clean);
    assert_int_equal(rig.lines.count, 0);
    rig_end(&rig);
}

static void test_storage_file_renamed_over_is_told_once(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("renamed.stex", 12);
    static TileImage clean, image;
    render_file(path, &clean);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    float out[4];
    assert_false(lookup_tile(&rig, id, 0, 0, out));
    clock_sleep_ns(20000000);
    noise_file("renamed.stex", 13); /* written beside and renamed */
    render(&rig, id, &image);
    assert_memory_equal(&image, &clean, sizeof clean); /* the open file is still the old one */
    assert_int_equal(rig.lines.count, 1);
    assert_non_null(strstr(rig.lines.last, "replaced or removed on disk"));
    rig_end(&rig);
}

/* --- order ----------------------------------------------------------------------------------- */

/* Asks for tiles of level 0, up to 16 at once, in this order. */
static void touch_tiles(Rig *rig, TexId id, uint32_t side, const uint32_t *tiles, uint32_t count)
{
    for (uint32_t begin = 0; begin < count; begin += 16) {
        float coord[7 * 16] = {0};
        uint32_t lanes = count - begin < 16 ? count - begin : 16;
        for (uint32_t i = 0; i < lanes; ++i) {
            uint32_t tile = tiles[begin + i];
            coord[i] = ((float)(tile % side) + 0.51f) / (float)side;
            coord[lanes + i] = 1.0f - ((float)(tile / side) + 0.51f) / (float)side;
        }
        TexRequest r = {
            .texture = id, .lane_count = lanes, .lane_mask = (1u << lanes) - 1, .coord = coord};
        texcache_touch(&rig->caller, &r);
    }
}

static void test_storage_is_read_in_order(void **state)
{
    SORT_UNUSED(state);
    enum { SIDE = 16, COUNT = SIDE * SIDE };
    const char *path = fixture_path("order.stex");
    Picture p = picture_create(SIDE * 64, SIDE * 64, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 14);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    TexCacheDesc d = {.io_thread_count = 1};
    Rig rig;
    rig_begin(&rig, &d);
    TexId id = rig_open(&rig, path);

    uint32_t tiles[COUNT];
    uint64_t random = 5;
    for (uint32_t i = 0; i < COUNT; ++i) {
        uint32_t k = random_u32(&random) % (i + 1);
        tiles[i] = tiles[k];
        tiles[k] = i;
    }
    inject(0, 0, 0);
    faults.is_held = true;
    touch_tiles(&rig, id, SIDE, tiles, 1);
    while (faults.calls == 0) /* the thread has taken a batch of one */
        clock_sleep_ns(100000);
    touch_tiles(&rig, id, SIDE, tiles + 1, COUNT - 1);
    faults.is_held = false;
    rig_check_identities(&rig); /* waits until all is read */
    assert_int_equal(rig_stats(&rig).loads, COUNT);
    assert_int_equal(faults.record_count, COUNT);
    stex_replace_pread(NULL);
    rig_end(&rig);

    /* Sorted runs of 64: nobody waits for more than that. */
    for (uint32_t begin = 1; begin < COUNT; begin += 64) {
        uint32_t end = begin + 64 < COUNT ? begin + 64 : COUNT;
        for (uint32_t i = begin; i < end; ++i) {
            bool is_asked = false;
            for (uint32_t k = begin; k < end; ++k)
                is_asked |= tiles[k] == faults.records[i];
            assert_true(is_asked);
            if (i > begin)
                assert_true(faults.records[i] > faults.records[i - 1]);
        }
    }
}

/* Holds storage until `count` tiles are asked for, by one thread that has taken tile 0 alone. */
static void read_held(Rig *rig, TexId id, uint32_t side, uint32_t count)
{
    uint32_t tiles[64];
    assert_true(count <= SORT_COUNT_OF(tiles));
    for (uint32_t i = 0; i < count; ++i)
        tiles[i] = i;
    faults.is_held = true;
    touch_tiles(rig, id, side, tiles, 1);
    while (faults.calls == 0)
        clock_sleep_ns(100000);
    touch_tiles(rig, id, side, tiles + 1, count - 1);
    faults.is_held = false;
    rig_check_identities(rig); /* waits until all is read */
}

static void test_storage_neighbours_are_read_together(void **state)
{
    SORT_UNUSED(state);
    enum { COUNT = TILES * TILES };
    static TileImage clean, image;
    static const TexCompression compressions[] = {TEX_COMPRESSION_NONE, TEX_COMPRESSION_ZLIB};
    for (uint32_t k = 0; k < SORT_COUNT_OF(compressions); ++k) {
        const char *path = fixture_path("together.stex");
        Picture p = picture_create(SIZE, SIZE, 4, SORT_TEXEL_U8, SORT_COLOR_RAW);
        for (uint32_t y = 0; y < SIZE; ++y) {
            for (uint32_t x = 0; x < SIZE; ++x)
                picture_set(&p, x, y, 1, (float)((x * x + 3 * y) % 97) / 96.0f);
        }
        TexConvertDesc how = {.compression = compressions[k]};
        picture_convert(&p, path, &how);
        picture_free(&p);
        render_file(path, &clean);
        TexCacheDesc d = {.io_thread_count = 1};
        Rig rig;
        rig_begin(&rig, &d);
        TexId id = rig_open(&rig, path);
        inject(0, 0, 0);
        read_held(&rig, id, TILES, COUNT);
        /* Tiles of 16 KiB: 0 by itself, then pairs, 15 by itself, each with a read of records and one of
         * payloads. Between 7 and 8 lies half of level 1, which is too much unless it is compressed. */
        uint32_t reads = compressions[k] == TEX_COMPRESSION_NONE ? 10 : 9;
        assert_int_equal(faults.calls, 2 * reads);
        stex_replace_pread(NULL);
        render(&rig, id, &image);
        assert_memory_equal(&image, &clean, sizeof clean);
        TexStats stats = rig_stats(&rig);
        assert_int_equal(stats.loads, COUNT);
        assert_int_equal(stats.reads_merged, COUNT - reads);
        assert_int_equal(rig.lines.count, 0);
        rig_end(&rig);
    }
}

/* What is wrong with one tile of a run is wrong with that tile only. */
static void test_storage_neighbours_of_a_bad_tile_are_sound(void **state)
{
    SORT_UNUSED(state);
    const char *path = noise_file("bad.stex", 15);
    static TileImage clean, image;
    render_file(path, &clean);
    StexTile record = record_of(path, 6); /* (2, 1) */
    TexCacheDesc d = {.io_thread_count = 1};
    enum { UNREADABLE, DAMAGED_PAYLOAD, DAMAGED_RECORD, CUT, KINDS };
    static const char *const texts[KINDS] = {"Input/output error", "checksum mismatch",
                                             "damaged index record", "truncated"};
    for (uint32_t kind = 0; kind < KINDS; ++kind) {
        char *bytes;
        size_t size;
        Error err = {0};
        assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
        if (kind == DAMAGED_PAYLOAD)
            bytes[record.offset + 100] ^= 1;
        if (kind == DAMAGED_RECORD)
            bytes[STEX_PAGE_BYTES + 6 * sizeof record] ^= 1;
        const char *bad = fixture_path("bad_copy.stex");
        assert_int_equal(file_write(bad, bytes, kind == CUT ? record.offset + 100 : size, &err),
                         STATUS_OK);
        mem_free(bytes);
        Rig rig;
        rig_begin(&rig, &d);
        TexId id = rig_open(&rig, bad);
        inject(kind == UNREADABLE ? UINT32_MAX : 0, record.offset, record.offset + 1);
        read_held(&rig, id, TILES, TILES * TILES);
        render(&rig, id, &image);
        for (uint32_t i = 0; i < TILES * TILES; ++i) {
            StexTile other = record_of(path, i);
            bool is_lost = kind == CUT ? other.offset >= record.offset : i == 6;
            assert_int_equal(image.is_missing[i / TILES][i % TILES], is_lost);
            if (!is_lost) {
                assert_memory_equal(image.rgba[i / TILES][i % TILES],
                                    clean.rgba[i / TILES][i % TILES], 4 * sizeof(float));
            }
        }
        if (!strstr(rig.lines.last, texts[kind]))
            fail_msg("'%s' does not say '%s'", rig.lines.last, texts[kind]);
        rig_check_identities(&rig);
        rig_end(&rig);
        stex_replace_pread(NULL);
    }
}

/* -------------------------------------------------------------------------------------------- */

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
        cmocka_unit_test(test_storage_errors_that_pass_change_nothing),
        cmocka_unit_test(test_storage_short_and_interrupted_reads_change_nothing),
        cmocka_unit_test(test_storage_that_stays_broken_is_asked_again_later),
        cmocka_unit_test(test_storage_damage_is_not_asked_again),
        cmocka_unit_test(test_storage_opening_is_patient_too),
        cmocka_unit_test(test_storage_descriptors_may_run_out_for_a_while),
        cmocka_unit_test(test_storage_many_textures_need_few_descriptors),
        cmocka_unit_test(test_storage_content_that_is_exchanged_never_mixes),
        cmocka_unit_test(test_storage_touched_file_goes_on),
        cmocka_unit_test(test_storage_file_renamed_over_is_told_once),
        cmocka_unit_test(test_storage_is_read_in_order),
        cmocka_unit_test(test_storage_neighbours_are_read_together),
        cmocka_unit_test(test_storage_neighbours_of_a_bad_tile_are_sound),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
