/* The program `texcache`: what it prints, what it leaves behind, how it exits. Its path is the first
 * argument of this test. */
#define _GNU_SOURCE /* posix_openpt */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/image/png_read.h"
#include "base/image/png_write.h"
#include "base/json.h"
#include "base/path.h"
#include "base/process.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "tests/textures/texcache_process.h"
#include "textures/format/stex_format.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *write_png(const char *name)
{
    const char *path = fixture_path(name);
    static uint8_t pixels[180 * 120 * 3];
    for (size_t i = 0; i < sizeof pixels; ++i)
        pixels[i] = (uint8_t)(i * i / 99);
    Error err = {0};
    if (png_write(path, 180, 120, 3, pixels, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return path;
}

static void test_texcache_program_makes_and_inspects(void **state)
{
    SORT_UNUSED(state);
    const char *png = write_png("a.png"), *stex = fixture_path("a.stex"),
               *other = fixture_path("b.stex");
    EXPECT(0, "180 x 120, 8 levels", "", "make", png);
    assert_true(file_exists(stex));
    EXPECT(0, "180 x 120, 3 channels of u8, srgb", "", "info", stex);
    EXPECT(0, "", "", "make", png, "-o", other, "--color-space", "raw", "--quiet");
    EXPECT(0, "3 channels of u8, raw", "", "info", other);
    EXPECT(0, "", "", "make", png, "-q", "-o", other, "--wrap=mirror", "--compression=zlib");
    EXPECT(0, "mirror, mirror", "", "info", other);
    EXPECT(0, "compressed (zlib)", "", "info", other);

    ProcessResult result = texcache_run((const char *const[]){"info", "--json", stex, NULL});
    assert_int_equal(result.exit_code, 0);
    JsonDoc *doc;
    JsonCursor root;
    Error err = {0};
    Str text = {result.output.data, result.output.size_bytes};
    uint32_t width = 0;
    if (json_parse("info", text, &doc, &err) != STATUS_OK ||
        json_root_object(doc, &root, &err) != STATUS_OK ||
        json_get_u32(&root, "width", JSON_REQUIRED, 0, 1000, &width, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    assert_int_equal(width, 180);
    json_destroy(doc);
    process_result_free(&result);
}

static void test_texcache_program_refuses_clearly(void **state)
{
    SORT_UNUSED(state);
    const char *png = write_png("c.png"), *stex = fixture_path("c.stex");
    EXPECT(2, "", "unknown command 'mke'; did you mean 'make'?", "mke");
    EXPECT(2, "", "IMAGE is missing", "make");
    EXPECT(2, "", "did you mean '--color-space'?", "make", png, "--colour-space", "raw");
    EXPECT(2, "", "none of file, periodic", "make", png, "--wrap", "round");
    EXPECT(1, "", "cannot be opened", "make", fixture_path("absent.png"));
    EXPECT(1, "", "suffix", "make", "/etc/hostname");
    EXPECT(1, "", "cannot be opened", "info", stex);
    EXPECT(1, "", "not a paged texture", "info", png);
    Error err = {0};
    assert_int_equal(file_write(png, "no picture", 10, &err), STATUS_OK);
    EXPECT(1, "", "c.png", "make", png);
    assert_false(file_exists(stex));
    EXPECT(1, "", "folder", "make", write_png("d.png"), "-o", fixture_path("no/folder/d.stex"));
    EXPECT(0, "Commands:", "", "--help");
    EXPECT(0, "--compression", "", "make", "--help");
}

static void test_texcache_program_makes_many(void **state)
{
    SORT_UNUSED(state);
    const char *a = write_png("m1.png"), *b = write_png("m2.png"), *c = fixture_path("m3.png");
    EXPECT(2, "", "several images", "make", a, b, "-o", fixture_path("m.stex"));
    EXPECT(0, "m2.stex: 180 x 120", "", "make", "--threads", "2", a, b);
    assert_true(file_exists(fixture_path("m1.stex")));
    /* One that cannot be read does not keep the others from being made. */
    Error err = {0};
    assert_int_equal(file_remove(fixture_path("m2.stex"), &err), STATUS_OK);
    EXPECT(1, "m2.stex", "m3.png", "make", a, c, b);
    assert_true(file_exists(fixture_path("m2.stex")));
    uint64_t fast, small;
    EXPECT(0, "", "", "make", a, "--compression", "zlib", "--compression-level", "1");
    assert_int_equal(file_size(fixture_path("m1.stex"), &fast, &err), STATUS_OK);
    EXPECT(0, "", "", "make", a, "--compression", "zlib", "--compression-level", "9");
    assert_int_equal(file_size(fixture_path("m1.stex"), &small, &err), STATUS_OK);
    assert_true(small <= fast);
    EXPECT(0, "", "", "verify", fixture_path("m1.stex"));
}

/* On a terminal: how far all images together are, on a line that is gone at the end. */
static void test_texcache_program_shows_progress(void **state)
{
    SORT_UNUSED(state);
    const char *a = write_png("p1.png"), *b = write_png("p2.png"), *c = fixture_path("p3.png");
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    int inside = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    assert_true(inside >= 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(inside, STDERR_FILENO);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execl(texcache_program, texcache_program, "make", "--threads", "1", a, c, b, (char *)NULL);
        _exit(127);
    }
    close(inside);
    char text[4096];
    size_t bytes = 0;
    ssize_t got;
    /* Until the other end is closed, which is an error or an end. */
    while (bytes < sizeof text - 1 &&
           (got = read(terminal, text + bytes, sizeof text - 1 - bytes)) > 0)
        bytes += (size_t)got;
    text[bytes] = '\0';
    close(terminal);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1); /* there is no p3.png */
    const char *first = strstr(text, "\r 33 %, 1 of 3 images"),
               *second = strstr(text, "\r 66 %, 2 of 3 images"), *end = strstr(text, "p3.png");
    if (!first || !second || !end || !(first < second && second < end))
        fail_msg("shown: '%s'", text);
    /* The line is cleared before the message about the image that failed. */
    const char *cleared = strstr(second, "\r\033[K");
    assert_true(cleared && cleared < end);
}

static ProcessResult run_shell(const char *command)
{
    const char *argv[] = {"/bin/sh", "-c", command, NULL};
    ProcessDesc desc = {.size_bytes = sizeof desc,
                        .argv = argv,
                        .standard_output = PROCESS_CAPTURE,
                        .standard_error = PROCESS_CAPTURE};
    ProcessResult result;
    Error err = {0};
    assert_int_equal(process_run(&desc, 60000, &result, &err), STATUS_OK);
    assert_true(result.has_exited);
    return result;
}

/* A message, and neither the file nor one under a temporary name. The command ends with a list of what is in
 * the folder. */
static void expect_no_room(const char *command, const char *reason)
{
    ProcessResult result = run_shell(command);
    const char *errors = strbuf_text(&result.errors);
    if (result.exit_code != 1 || !strstr(errors, "full.stex") || !strstr(errors, reason) ||
        strbuf_text(&result.output)[0] != '\0')
        fail_msg("exit code %d, errors '%s', left '%s'", result.exit_code, errors,
                 strbuf_text(&result.output));
    process_result_free(&result);
}

/* 100 KiB are needed; there are 32: by a limit on the size of files, and on a disk of that size, which can be
 * had where a process may have mounts of its own. */
static void test_texcache_program_full_disk(void **state)
{
    (void)state;
    const char *png = write_png("full.png");
    char folder[PATH_BYTES], command[4 * PATH_BYTES];
    Error err = {0};
    snprintf(folder, sizeof folder, "%s", fixture_path("small_disk"));
    assert_int_equal(file_make_directories(folder, &err), STATUS_OK);
    snprintf(command, sizeof command,
             "ulimit -f 64; '%s' make '%s' -o '%s/full.stex'; code=$?; ls -A '%s'; exit $code",
             texcache_program, png, folder, folder);
    expect_no_room(command, "File too large");

    ProcessResult result = run_shell("unshare -rm mount -t tmpfs none /mnt");
    bool has_mounts = result.exit_code == 0;
    process_result_free(&result);
    if (!has_mounts) {
        print_message("a full disk is not tested: no disk can be mounted here\n");
        return;
    }
    snprintf(command, sizeof command,
             "unshare -rm sh -c \"mount -t tmpfs -o size=32k none '%s' || exit 9; "
             "'%s' make '%s' -o '%s/full.stex'; code=\\$?; ls -A '%s'; exit \\$code\"",
             folder, texcache_program, png, folder, folder);
    expect_no_room(command, "No space left on device");
}

static void test_texcache_program_makes_sets(void **state)
{
    SORT_UNUSED(state);
    write_png("u.1001.png");
    write_png("u.1013.png");
    const char *pattern = fixture_path("u.<UDIM>.png");
    EXPECT(0, "u.1013.stex: 180 x 120", "", "make", pattern);
    assert_true(file_exists(fixture_path("u.1001.stex")));
    EXPECT(0, "", "", "make", pattern, "-q", "-o", fixture_path("v.<UDIM>.stex"));
    assert_true(file_exists(fixture_path("v.1013.stex")));
    EXPECT(2, "", "<UDIM> must be in its name", "make", pattern, "-o", fixture_path("v.stex"));
    EXPECT(1, "", "no file with a number", "make", fixture_path("w.<UDIM>.png"));
}

/* Changes one byte of a file. */
static void flip(const char *path, uint64_t offset)
{
    char *bytes;
    size_t size;
    Error err = {0};
    assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
    assert_true(offset < size);
    bytes[offset] ^= 0x20;
    assert_int_equal(file_write(path, bytes, size, &err), STATUS_OK);
    mem_free(bytes);
}

static void read_tables(const char *path, StexHeader *out_header, StexTile *out_records,
                        uint32_t record_count)
{
    char *bytes;
    size_t size;
    Error err = {0};
    assert_int_equal(file_read(path, 1 << 24, &bytes, &size, &err), STATUS_OK);
    memcpy(out_header, bytes, sizeof *out_header);
    assert_int_equal(out_header->tile_count, record_count);
    memcpy(out_records, bytes + STEX_PAGE_BYTES, record_count * sizeof *out_records);
    mem_free(bytes);
}

static void test_texcache_program_verifies(void **state)
{
    SORT_UNUSED(state);
    const char *png = write_png("v.png"), *stex = fixture_path("v.stex");
    EXPECT(0, "", "", "make", png, "-q"); /* 3 x 2 tiles, 2 x 1 tiles, tail */
    EXPECT(0, "sound: 8 tiles (0 of one colour)", "", "verify", stex);
    EXPECT(0, "", "", "verify", "-q", stex, stex);
    StexHeader header;
    StexTile records[8];
    read_tables(stex, &header, records, 8);

    char expected[256];
    flip(stex, records[5].offset + 777);
    snprintf(expected, sizeof expected,
             "v.stex: level 0, tile (2, 1): checksum mismatch at byte %" PRIu64
             ": expected 0x%08" PRIx32 ", found 0x",
             records[5].offset, records[5].payload_crc);
    EXPECT(1, expected, "", "verify", stex);
    flip(stex, STEX_PAGE_BYTES + 7 * sizeof(StexTile) + 3);
    snprintf(
        expected, sizeof expected,
        "level 1, tile (1, 0): damaged index record at byte %zu: expected checksum 0x%08" PRIx32,
        STEX_PAGE_BYTES + 7 * sizeof(StexTile), records[7].record_crc);
    EXPECT(1, expected, "", "verify", stex);
    EXPECT(1, "DAMAGED: 2 of 8 tiles", "", "verify", stex);
    flip(stex, header.tail_offset + 1);
    snprintf(expected, sizeof expected,
             "small levels: checksum mismatch at byte %" PRIu64 ": expected 0x%08" PRIx32,
             header.tail_offset, header.tail_crc);
    EXPECT(1, expected, "", "verify", stex);
    /* All of it is found although the tail comes first. */
    EXPECT(1, "DAMAGED: 2 of 8 tiles", "", "verify", stex);

    char *bytes;
    size_t size;
    Error err = {0};
    assert_int_equal(file_read(stex, 1 << 24, &bytes, &size, &err), STATUS_OK);
    assert_int_equal(file_write(stex, bytes, records[5].offset + 10, &err), STATUS_OK);
    snprintf(expected, sizeof expected, "the file has %" PRIu64 " bytes, and should have %" PRIu64,
             records[5].offset + 10, header.file_bytes);
    EXPECT(1, expected, "", "verify", stex);
    EXPECT(1, "level 0, tile (2, 1): the file is truncated", "", "verify", stex);
    bytes[30] ^= 1;
    assert_int_equal(file_write(stex, bytes, size, &err), STATUS_OK);
    EXPECT(1, "has a damaged header", "", "verify", stex);
    mem_free(bytes);
    /* The others are looked at too. */
    EXPECT(0, "", "", "make", png, "-q", "-o", fixture_path("w.stex"));
    EXPECT(1, "w.stex: sound", "", "verify", stex, fixture_path("w.stex"));
    EXPECT(1, "no STEX signature", "", "verify", png);
    EXPECT(1, "cannot be opened", "", "verify", fixture_path("absent.stex"));
    EXPECT(2, "", "FILE is missing", "verify");
}

static void test_texcache_program_views(void **state)
{
    SORT_UNUSED(state);
    const char *png = write_png("p.png"), *stex = fixture_path("p.stex"),
               *out = fixture_path("view.png");
    EXPECT(0, "", "", "make", png, "-q");
    EXPECT(0, "", "", "view", stex, "-o", out);
    uint32_t width, height;
    uint8_t *before, *after;
    Error err = {0};
    assert_int_equal(png_read(png, &width, &height, &before, &err), STATUS_OK);
    assert_int_equal(png_read(out, &width, &height, &after, &err), STATUS_OK);
    assert_int_equal(width, 180);
    assert_int_equal(height, 120);
    assert_memory_equal(before, after, 180 * 120 * 4); /* encoding undoes decoding */
    mem_free(after);

    EXPECT(0, "", "", "view", stex, "-o", out, "--tile", "2,1"); /* at both edges */
    assert_int_equal(png_read(out, &width, &height, &after, &err), STATUS_OK);
    assert_int_equal(width, 180 - 128);
    assert_int_equal(height, 120 - 64);
    for (uint32_t y = 0; y < height; ++y)
        assert_memory_equal(after + y * width * 4, before + ((64 + y) * 180 + 128) * 4, width * 4);
    mem_free(after);

    EXPECT(0, "", "", "view", stex, "-o", out, "--level", "3"); /* in the tail */
    assert_int_equal(png_read(out, &width, &height, &after, &err), STATUS_OK);
    assert_int_equal(width, 22);
    mem_free(after);

    /* Data is shown as it is. */
    EXPECT(0, "", "", "make", png, "-q", "--color-space", "raw", "--compression=zlib");
    EXPECT(0, "", "", "view", stex, "-o", out);
    assert_int_equal(png_read(out, &width, &height, &after, &err), STATUS_OK);
    assert_memory_equal(before, after, 180 * 120 * 4);
    mem_free(after);

    /* What is damaged is magenta, and told. */
    EXPECT(0, "", "", "make", png, "-q");
    StexHeader header;
    StexTile records[8];
    read_tables(stex, &header, records, 8);
    flip(stex, records[1].offset);
    EXPECT(1, "", "1 damaged tile shown", "view", stex, "-o", out);
    assert_int_equal(png_read(out, &width, &height, &after, &err), STATUS_OK);
    for (uint32_t x = 0; x < 180; ++x) {
        const uint8_t magenta[4] = {255, 0, 255, 255};
        assert_memory_equal(after + x * 4, x / 64 == 1 ? magenta : before + x * 4, 4);
    }
    mem_free(after);
    mem_free(before);

    EXPECT(2, "", "-o is missing", "view", stex);
    EXPECT(2, "", "has no level 8; the last is 7", "view", stex, "-o", out, "--level=8");
    EXPECT(2, "", "not of the form X,Y", "view", stex, "-o", out, "--tile", "1x2");
    EXPECT(2, "", "3 x 2 tiles; there is no (3, 0)", "view", stex, "-o", out, "--tile", "3,0");
    EXPECT(1, "", "not a paged texture", "view", png, "-o", out);
}

/* fibers: of all threads, that waited at once; limit: a thread, 0 for none in the file. */
static void write_stats(const char *path, const TexStats *stats, uint32_t fibers, uint32_t limit)
{
    StrBuf text = {0};
    JsonWriter w = json_writer(&text, JSON_INDENTED);
    json_write_object(&w, NULL);
    json_write_u64(&w, "threads", 2);
    json_write_object(&w, "seconds");
    json_write_double(&w, "render", 10.0);
    json_write_end(&w);
    json_write_object(&w, "textures");
    texcache_stats_write(stats, &w);
    json_write_double(&w, "pressure", texcache_stats_pressure(stats));
    json_write_end(&w);
    json_write_object(&w, "fibers");
    json_write_u64(&w, "peak_parked", fibers);
    if (limit > 0)
        json_write_u64(&w, "limit", limit);
    json_write_double(&w, "idle_seconds", 5.0);
    json_write_end(&w);
    json_write_end(&w);
    Error err = {0};
    assert_int_equal(file_write(path, text.data, text.size_bytes, &err), STATUS_OK);
    strbuf_free(&text);
}

static void test_texcache_program_explains_statistics(void **state)
{
    SORT_UNUSED(state);
    /* A real cache: 64 tiles of 4 KiB, thirteen times through room for twelve. */
    const char *stex = fixture_path("s.stex"), *json = fixture_path("s.json");
    Picture p = picture_create(512, 512, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 1);
    picture_convert(&p, stex, NULL);
    picture_free(&p);
    TexCacheDesc d = {.io_thread_count = 1,
                      .budget_bytes = budget_for_chunks(1, 1, table_bytes_of(stex))};
    Rig rig;
    rig_begin(&rig, &d);
    TexId id = rig_open(&rig, stex);
    float out[4];
    for (uint32_t i = 0; i < 13 * 64; ++i) {
        rig_lookup(&rig, id, NULL, ((float)(i % 8) + 0.51f) / 8.0f,
                   ((float)(i / 8 % 8) + 0.51f) / 8.0f, out);
    }
    rig_check_identities(&rig);
    TexStats stats = rig_stats(&rig);
    rig_end(&rig);
    assert_in_range(stats.loads, 600, 13 * 64); /* each pass finds some of the twelve */
    assert_int_equal(stats.evictions, stats.loads - 12);
    write_stats(json, &stats, 0, 0);
    char too_small[128], evicted[128], misses[128];
    snprintf(too_small, sizeof too_small, "Budget too small: each tile was read %.1f times",
             (double)stats.loads / 64.0);
    snprintf(evicted, sizeof evicted, "  tiles evicted              %18d\n", (int)stats.evictions);
    snprintf(misses, sizeof misses, "  misses                     %18d  %9.4f %%\n",
             (int)stats.loads, 100.0 * (double)stats.loads / (13.0 * 64.0));
    EXPECT(0, too_small, "", "stats", json);
    EXPECT(0, evicted, "", "stats", json);
    EXPECT(0, misses, "", "stats", json);
    EXPECT(0, "     0               832 100.0\n", "", "stats", json);
    EXPECT(0, "verdict\nBudget too small", "", "stats", "--brief", json);
    EXPECT(0, "Storage is the bottleneck: threads had nothing to run for 25 %", "", "stats", json);

    TexStats other = stats;
    other.bytes_unique = other.bytes_loaded;
    write_stats(json, &other, 0, 0);
    EXPECT(0, "is right: tiles were evicted, but hardly any was wanted again", "", "stats", json);
    other.bytes_unique = other.bytes_loaded * 2 / 3;
    write_stats(json, &other, 0, 0);
    EXPECT(0, "is tight: each tile was read 1.50 times", "", "stats", json);
    other = stats;
    other.retries = 2;
    write_stats(json, &other, 0, 0);
    EXPECT(0, "Storage faltered: 2 reads", "", "stats", json);
    ++other.failed_tiles;
    --other.loads;
    --other.resident_tiles;
    write_stats(json, &other, 0, 0);
    EXPECT(1, "The picture is not what it should be: 1 reads failed", "", "stats", json);
    other = stats;
    ++other.tile_hits;
    write_stats(json, &other, 0, 0);
    EXPECT(1, "tile_hits + tile_misses == tile_requests, but 833 is not 832", "", "stats", json);

    Error err = {0};
    assert_int_equal(file_write(json, "{\"textures\": {}}", 16, &err), STATUS_OK);
    EXPECT(1, "", "lookups", "stats", json);
    EXPECT(1, "", "s.json", "stats", json);
}

/* Counters that agree with each other, of 100 MiB of tiles. */
static TexStats stats_of_pressure(uint32_t budget_mib, double pressure)
{
    return (TexStats){.lookups = 1,
                      .waits = 1,
                      .budget_bytes = (uint64_t)budget_mib << 20,
                      .bytes_tables = 5 << 19,
                      .bytes_unique = 100 << 20,
                      .bytes_loaded = (uint64_t)(pressure * (100 << 20)),
                      .evictions = 1,
                      .loads = 1,
                      .reads_awaited = 1,
                      .tile_misses = 1,
                      .tile_requests = 1,
                      .wait_latency = {1},
                      .read_latency = {1}};
}

/* Renders of the chess scene with two threads, measured: advice to take fewer fibers names a number with which half was loaded, and
 * is given wherever there is one; nobody is told to take more of them where tiles are loaded again and again. */
static void test_texcache_program_advises_fibers(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        uint32_t budget_mib, fibers_a_thread, waiting;
        double pressure;
        const char *expected;
        uint32_t advised; /* FIBERS of the row that was measured nearest to what is advised */
    } rows[] = {
        {24, 2, 4, 1.89, "A larger budget", 0}, {24, 8, 16, 11.76, "--fibers 2,", 2},
        {24, 24, 48, 19.99, "--fibers 2,", 2},  {24, 64, 56, 21.53, "--fibers 2,", 2},
        {40, 2, 4, 1.11, "--fibers 4)", 0},     {40, 8, 16, 1.40, "Faster storage", 0},
        {40, 24, 36, 2.88, "--fibers 4,", 8},   {40, 64, 56, 7.50, "--fibers 4,", 8},
        {64, 2, 4, 1.01, "--fibers 4)", 0},     {64, 8, 16, 1.03, "--fibers 15)", 0},
    };
    const char *json = fixture_path("advice.json");
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        TexStats s = stats_of_pressure(rows[i].budget_mib, rows[i].pressure);
        write_stats(json, &s, rows[i].waiting, rows[i].fibers_a_thread);
        EXPECT(0, rows[i].expected, "", "stats", "--brief", json);
        for (size_t k = 0; k < SORT_COUNT_OF(rows); ++k) {
            if (rows[k].budget_mib == rows[i].budget_mib &&
                rows[k].fibers_a_thread == rows[i].advised)
                assert_true(rows[k].pressure <= 0.5 * rows[i].pressure);
        }
    }
}

/* Nobody is sent where the render went by itself: however many fibers waited at once in the beginning, the limit at the end
 * is what a fixed number would replace. */
static void test_texcache_program_advice_knows_the_limit(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        double pressure;
        uint32_t waiting, limit;
        const char *expected, *refused;
    } rows[] = {
        {1.89, 12, 2, "A larger budget", "--fibers"}, /* chess, 24 MiB, by trial */
        {1.89, 12, 3, "try --fibers 2,", NULL},       /* the trial came to rest above */
        {1.89, 12, 0, "try --fibers 2,", NULL},       /* a file that says no limit */
        {1.89, 4, 64, "A larger budget", "--fibers"}, /* many were allowed, no more waited */
        {1.0, 4, 2, "--fibers 4)", NULL},
        {1.0, 4, 4, "Faster storage", "--fibers"}, /* four were allowed, two each waited */
    };
    const char *json = fixture_path("limit.json");
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        TexStats s = stats_of_pressure(24, rows[i].pressure);
        write_stats(json, &s, rows[i].waiting, rows[i].limit);
        ProcessResult result = texcache_run((const char *const[]){"stats", "--brief", json, NULL});
        const char *said = strbuf_text(&result.output);
        if (result.exit_code != 0 || !strstr(said, rows[i].expected) ||
            (rows[i].refused && strstr(said, rows[i].refused)))
            fail_msg("row %zu: exit code %d, %s", i, result.exit_code, said);
        process_result_free(&result);
    }
}

/* Writing and reading give back every counter. */
static void test_texcache_statistics_survive_json(void **state)
{
    SORT_UNUSED(state);
    TexStats before, after;
    uint64_t values[sizeof before / sizeof(uint64_t)];
    for (size_t i = 0; i < SORT_COUNT_OF(values); ++i)
        values[i] = i * 1000003u + 1;
    memcpy(&before, values, sizeof before);
    StrBuf text = {0};
    JsonWriter w = json_writer(&text, JSON_ONE_LINE);
    json_write_object(&w, NULL);
    texcache_stats_write(&before, &w);
    json_write_end(&w);
    JsonDoc *doc;
    JsonCursor root;
    Error err = {0};
    Str whole = {text.data, text.size_bytes};
    assert_int_equal(json_parse("stats", whole, &doc, &err), STATUS_OK);
    assert_int_equal(json_root_object(doc, &root, &err), STATUS_OK);
    assert_int_equal(texcache_stats_read(&root, &after, &err), STATUS_OK);
    assert_int_equal(json_finish(&root, &err), STATUS_OK);
    assert_memory_equal(&before, &after, sizeof before);
    json_destroy(doc);
    strbuf_free(&text);
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

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    texcache_program = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texcache_program_makes_and_inspects),
        cmocka_unit_test(test_texcache_program_refuses_clearly),
        cmocka_unit_test(test_texcache_program_makes_many),
        cmocka_unit_test(test_texcache_program_shows_progress),
        cmocka_unit_test(test_texcache_program_full_disk),
        cmocka_unit_test(test_texcache_program_makes_sets),
        cmocka_unit_test(test_texcache_program_verifies),
        cmocka_unit_test(test_texcache_program_views),
        cmocka_unit_test(test_texcache_program_explains_statistics),
        cmocka_unit_test(test_texcache_program_advises_fibers),
        cmocka_unit_test(test_texcache_program_advice_knows_the_limit),
        cmocka_unit_test(test_texcache_statistics_survive_json),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
