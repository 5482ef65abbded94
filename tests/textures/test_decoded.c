/* Files that `maketx` made, read as they are through decoder processes. Arguments of this test: the programs
 * texcache and maketx. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/image/png_write.h"
#include "base/process.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 300, HEIGHT = 173 };

static const char *program, *maketx;
static uint8_t pixels[WIDTH * HEIGHT * 3];

static void run(const char *const *argv)
{
    ProcessDesc desc = {.size_bytes = sizeof desc, .argv = argv};
    ProcessResult result;
    Error err = {0};
    if (process_run(&desc, 60000, &result, &err) != STATUS_OK)
        fail_msg("%s: %s", argv[0], err.text);
    assert_true(result.has_exited && result.exit_code == 0);
    process_result_free(&result);
}

/* A PNG of smooth noise, and what maketx makes of it: TIFF and OpenEXR; what texcache makes of it. */
static int make_files(void **state)
{
    (void)state;
    fixture_begin();
    for (uint32_t y = 0; y < HEIGHT; ++y) {
        for (uint32_t x = 0; x < WIDTH; ++x) {
            for (uint32_t c = 0; c < 3; ++c) {
                float v = sinf((float)(x * (c + 1)) * 0.05f) * cosf((float)(y + 20 * c) * 0.04f);
                pixels[(y * WIDTH + x) * 3 + c] = (uint8_t)(127.0f + 120.0f * v);
            }
        }
    }
    const char *png = fixture_path("wave.png");
    Error err = {0};
    if (png_write(png, WIDTH, HEIGHT, 3, pixels, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    run((const char *const[]){maketx, png, "-o", fixture_path("wave.tx"), NULL});
    run((const char *const[]){maketx, png, "-o", fixture_path("wave.exr"), "-d", "half", NULL});
    const char *even = fixture_path("even.png");
    static uint8_t even_pixels[256 * 128 * 3];
    for (size_t y = 0; y < 128; ++y)
        memcpy(even_pixels + y * 256 * 3, pixels + y * WIDTH * 3, 256 * 3);
    if (png_write(even, 256, 128, 3, even_pixels, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    run((const char *const[]){maketx, even, "-o", fixture_path("even.tx"), NULL});
    run((const char *const[]){program, "make", even, "-o", fixture_path("even.stex"),
                              "--color-space", "raw", "-q", NULL});
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    fixture_end();
    return 0;
}

static void begin(Rig *rig, uint64_t budget_bytes)
{
    static const char *command[3];
    command[0] = program;
    command[1] = "decode";
    TexCacheDesc desc = {.budget_bytes = budget_bytes, .decoder_command = command};
    rig_begin(rig, &desc);
}

static Status try_open(Rig *rig, const char *path, TexId *out_id, Error *err)
{
    TexOpenDesc what = {.size_bytes = sizeof what, .path = path, .color_space = SORT_COLOR_RAW};
    return texcache_open(rig->cache, &what, out_id, err);
}

static TexId open_file(Rig *rig, const char *name)
{
    TexId id;
    Error err = {0};
    if (try_open(rig, fixture_path(name), &id, &err) != STATUS_OK)
        fail_msg("%s: %s", err.path, err.text);
    return id;
}

/* The texel in column x, row y from the top, of a level. True: missing. */
static bool texel(Rig *rig, TexId id, const TexLevelInfo *level, float bias, uint32_t x, uint32_t y,
                  float out[4])
{

    TexOptions options = {.filter = TEX_FILTER_CLOSEST, .mip_bias = bias};
    float size =
        1.0f / (float)WIDTH; /* a footprint of a texel: level 0, to which the bias is added */
    float coord[7] = {((float)x + 0.5f) / (float)level->width,
                      1.0f - ((float)y + 0.5f) / (float)level->height,
                      size,
                      0.0f,
                      0.0f,
                      0.5f / (float)HEIGHT,
                      0.0f};
    TexRequest r = {
        .texture = id, .options = &options, .lane_count = 1, .lane_mask = 1, .coord = coord};
    return texcache_lookup(&rig->caller, &r, out) != 0;
}

static void test_decoded_files_have_their_texels(void **state)
{
    (void)state;
    Rig rig;
    begin(&rig, 0);
    static const char *const names[] = {"wave.tx", "wave.exr"};
    for (uint32_t n = 0; n < 2; ++n) {
        TexId id = open_file(&rig, names[n]);
        TexInfo info;
        Error err = {0};
        assert_int_equal(texcache_info(rig.cache, id, &info, &err), STATUS_OK);
        assert_int_equal(info.width, WIDTH);
        assert_int_equal(info.height, HEIGHT);
        assert_int_equal(info.level_count, 9);
        assert_int_equal(info.channel_count, 3);
        assert_int_equal(info.type, n == 0 ? SORT_TEXEL_U8 : SORT_TEXEL_HALF);
        for (uint32_t y = 0; y < HEIGHT; ++y) {
            for (uint32_t x = 0; x < WIDTH; ++x) {
                float out[4];
                assert_false(texel(&rig, id, &info.levels[0], 0.0f, x, y, out));
                for (uint32_t c = 0; c < 3; ++c) {
                    float expected = (float)pixels[(y * WIDTH + x) * 3 + c] / 255.0f;
                    /* A half has 11 bits. */
                    if (!(fabsf(out[c] - expected) <= (n == 0 ? 0.0f : 0x1p-11f)))
                        fail_msg("%s: texel %u, %u", names[n], x, y);
                }
            }
        }
    }
    assert_int_equal(rig.lines.count, 0);
    rig_check_identities(&rig);
    rig_end(&rig);
}

/* Where sizes are powers of two both programs average areas. */
static void test_decoded_levels_are_like_ours(void **state)
{
    (void)state;
    Rig rig;
    begin(&rig, 0);
    TexId ours = open_file(&rig, "even.stex"), theirs = open_file(&rig, "even.tx");
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_info(rig.cache, ours, &info, &err), STATUS_OK);
    for (uint32_t l = 1; l < info.level_count; ++l) {
        for (uint32_t y = 0; y < info.levels[l].height; ++y) {
            for (uint32_t x = 0; x < info.levels[l].width; ++x) {
                float a[4], b[4];
                texel(&rig, ours, &info.levels[l], (float)l, x, y, a);
                texel(&rig, theirs, &info.levels[l], (float)l, x, y, b);
                for (uint32_t c = 0; c < 3; ++c) {
                    if (!(fabsf(a[c] - b[c]) <= 2.01f / 255.0f))
                        fail_msg("level %u, texel %u, %u: %g and %g", l, x, y, (double)a[c],
                                 (double)b[c]);
                }
            }
        }
    }
    rig_end(&rig);
}

/* Lookups that do not say how to wrap go by what maketx recorded, black where it was not told; so does a
 * conversion. */
static void test_decoded_wrap_is_the_files(void **state)
{
    (void)state;
    const char *png = fixture_path("wave.png");
    run((const char *const[]){maketx, png, "-o", fixture_path("wrap.tx"), "--swrap", "mirror",
                              "--twrap", "clamp", NULL});
    run((const char *const[]){maketx, png, "-o", fixture_path("wrap.exr"), "-d", "half", "--swrap",
                              "mirror", "--twrap", "clamp", NULL});
    run((const char *const[]){program, "make", fixture_path("wrap.tx"), "-o",
                              fixture_path("wrap.stex"), "-q", NULL});
    static const struct {
        const char *name;
        TexWrap s, t;
    } cases[] = {{"wrap.tx", TEX_WRAP_MIRROR, TEX_WRAP_CLAMP},
                 {"wrap.exr", TEX_WRAP_MIRROR, TEX_WRAP_CLAMP},
                 {"wrap.stex", TEX_WRAP_MIRROR, TEX_WRAP_CLAMP},
                 {"wave.tx", TEX_WRAP_BLACK, TEX_WRAP_BLACK}};
    Rig rig;
    begin(&rig, 0);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        TexId id = open_file(&rig, cases[i].name);
        TexInfo info;
        Error err = {0};
        assert_int_equal(texcache_info(rig.cache, id, &info, &err), STATUS_OK);
        if (info.wrap_s != cases[i].s || info.wrap_t != cases[i].t)
            fail_msg("%s: %d, %d", cases[i].name, info.wrap_s, info.wrap_t);
        TexOptions said = {.wrap_s = cases[i].s, .wrap_t = cases[i].t}, unsaid = {0};
        uint64_t seed = 1;
        for (uint32_t k = 0; k < 50; ++k) {
            float s = 4.0f * random_unit(&seed) - 2.0f, t = 4.0f * random_unit(&seed) - 2.0f;
            float a[4], b[4];
            rig_lookup(&rig, id, &unsaid, s, t, a);
            rig_lookup(&rig, id, &said, s, t, b);
            assert_memory_equal(a, b, sizeof a);
        }
    }
    rig_end(&rig);
}

/* Paging does not change what is seen. */
static void test_decoded_results_do_not_depend_on_the_budget(void **state)
{
    (void)state;
    Rig large, small;
    begin(&large, 0);
    begin(&small, budget_for_chunks(16, 2, 256 * 1024));
    TexId a = open_file(&large, "wave.exr"), b = open_file(&small, "wave.exr");
    uint64_t seed = 1;
    for (uint32_t i = 0; i < 600; ++i) {
        float s = random_unit(&seed), t = random_unit(&seed), x[4], y[4];
        rig_lookup(&large, a, NULL, s, t, x);
        rig_lookup(&small, b, NULL, s, t, y);
        assert_memory_equal(x, y, sizeof x);
    }
    assert_true(rig_stats(&small).evictions > 0);
    rig_check_identities(&small);
    rig_end(&large);
    rig_end(&small);
}

static void expect_refused(Rig *rig, const char *path, Status status, const char *part)
{
    TexId id;
    Error err = {0};
    assert_int_equal(try_open(rig, path, &id, &err), status);
    if (!strstr(err.text, part))
        fail_msg("'%s' does not say '%s'", err.text, part);
}

static void test_decoded_refuses_what_has_to_be_converted(void **state)
{
    (void)state;
    Rig rig;
    begin(&rig, 0);
    expect_refused(&rig, fixture_path("wave.png"), STATUS_UNSUPPORTED, "rows");
    const char *flat = fixture_path("flat.tx");
    run((const char *const[]){maketx, "--nomipmap", fixture_path("wave.png"), "-o", flat, NULL});
    expect_refused(&rig, flat, STATUS_UNSUPPORTED, "no mip levels");
    expect_refused(&rig, fixture_path("absent.tx"), STATUS_NOT_FOUND, "No such file");
    expect_refused(&rig, fixture_path("wave.unknown"), STATUS_NOT_FOUND, "No such file");
    Error err = {0};
    const char *junk = fixture_path("junk.tx");
    assert_int_equal(file_write(junk, "no picture", 10, &err), STATUS_OK);
    expect_refused(&rig, junk, STATUS_FORMAT, "");
    rig_end(&rig);
}

/* A file that ends in its middle loses what lies behind; the rest is read as before. */
static void test_decoded_truncated_file_loses_only_what_is_cut(void **state)
{
    (void)state;
    char *bytes;
    size_t size_bytes;
    Error err = {0};
    assert_int_equal(file_read(fixture_path("wave.tx"), 1 << 24, &bytes, &size_bytes, &err),
                     STATUS_OK);
    const char *cut = fixture_path("cut.tx");
    Rig rig;
    begin(&rig, 0);
    /* maketx writes level 0 first and its directory in front: zeros where texels were. */
    memset(bytes + size_bytes / 4, 0xff, size_bytes / 16);
    assert_int_equal(file_write(cut, bytes, size_bytes, &err), STATUS_OK);
    mem_free(bytes);
    TexId whole = open_file(&rig, "wave.tx"), broken = open_file(&rig, "cut.tx");
    TexInfo info;
    assert_int_equal(texcache_info(rig.cache, whole, &info, &err), STATUS_OK);
    uint32_t lost = 0, kept = 0;
    for (uint32_t y = 32; y < HEIGHT; y += 64) {
        for (uint32_t x = 32; x < WIDTH; x += 64) {
            float a[4], b[4];
            assert_false(texel(&rig, whole, &info.levels[0], 0.0f, x, y, a));
            if (texel(&rig, broken, &info.levels[0], 0.0f, x, y, b)) {
                ++lost;
            } else {
                assert_memory_equal(a, b, sizeof a);
                ++kept;
            }
        }
    }
    assert_true(lost > 0 && kept > 0);
    assert_int_equal(rig_stats(&rig).failed_tiles, lost);
    assert_non_null(strstr(rig.lines.first, "cut.tx: level 0, tile ("));
    rig_end(&rig);
}

static void test_decoded_file_that_is_replaced_is_noticed(void **state)
{
    (void)state;
    Error err = {0};
    char *bytes;
    size_t size_bytes;
    const char *path = fixture_path("moving.tx");
    assert_int_equal(file_read(fixture_path("wave.tx"), 1 << 24, &bytes, &size_bytes, &err),
                     STATUS_OK);
    assert_int_equal(file_write(path, bytes, size_bytes, &err), STATUS_OK);
    Rig rig;
    begin(&rig, 0);
    TexId id = open_file(&rig, "moving.tx");
    TexInfo info;
    float out[4];
    assert_int_equal(texcache_info(rig.cache, id, &info, &err), STATUS_OK);
    assert_false(texel(&rig, id, &info.levels[0], 0.0f, 1, 1, out));
    assert_int_equal(file_write(path, bytes, size_bytes, &err), STATUS_OK); /* another file */
    mem_free(bytes);
    assert_false(texel(&rig, id, &info.levels[0], 0.0f, 2, 2, out)); /* in memory */
    assert_true(texel(&rig, id, &info.levels[0], 0.0f, 200, 100, out));
    assert_non_null(strstr(rig.lines.last, "replaced"));
    rig_end(&rig);
}

/* Whatever a decoder process does, the cache goes on. */
static void test_decoded_survives_its_decoders(void **state)
{
    (void)state;
    static const char *const commands[][4] = {{"/does/not/exist"},
                                              {"/bin/false"},
                                              {"/bin/sh", "-c", "kill -9 $$"},
                                              {"/bin/sh", "-c", "head -c 100000 /dev/zero"},
                                              {"/bin/sh", "-c", "yes"}};
    static const char *const texts[] = {"can be started", "exit code 1", "signal 9",
                                        "the decoder process failed", "the decoder process failed"};
    for (uint32_t i = 0; i < 5; ++i) {
        Rig rig;
        TexCacheDesc desc = {.decoder_command = commands[i]};
        rig_begin(&rig, &desc);
        expect_refused(&rig, fixture_path("wave.tx"), STATUS_FORMAT, texts[i]);
        rig_end(&rig);
    }
}

/* A TIFF file of one strip of floats in the order of this machine, which is little-endian. */
static void write_float_tiff(const char *path, uint32_t size_px, const float *texels)
{
    enum { ENTRIES = 10, SHORT = 3, LONG = 4, DATA = 256 };
    const uint32_t entries[ENTRIES][3] = {
        {256, LONG, size_px}, {257, LONG, size_px},
        {258, SHORT, 32}, /* bits */
        {259, SHORT, 1},  /* no compression */
        {262, SHORT, 1},  /* grey, black is 0 */
        {273, LONG, DATA},    {277, SHORT, 1},
        {278, LONG, size_px}, {279, LONG, size_px * size_px * 4},
        {339, SHORT, 3}, /* floats */
    };
    uint8_t head[DATA] = {'I', 'I', 42, 0, 8, 0, 0, 0, ENTRIES};
    for (uint32_t i = 0; i < ENTRIES; ++i) {
        const uint16_t tag[2] = {(uint16_t)entries[i][0], (uint16_t)entries[i][1]};
        const uint32_t value[2] = {1, entries[i][2]};
        memcpy(head + 10 + 12 * i, tag, sizeof tag);
        memcpy(head + 14 + 12 * i, value, sizeof value);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
    assert_int_equal(fwrite(texels, 4, (size_t)size_px * size_px, file), size_px * size_px);
    assert_int_equal(fclose(file), 0);
}

/* The rule of texcache make for texels that are not finite holds for ready-made files too. */
static void test_decoded_texels_are_finite(void **state)
{
    (void)state;
    enum { SIZE = 128 };
    static float texels[SIZE * SIZE];
    for (uint32_t i = 0; i < SIZE * SIZE; ++i)
        texels[i] = 0.5f;
    texels[1 * SIZE + 2] = NAN;
    texels[3 * SIZE + 4] = INFINITY;
    texels[5 * SIZE + 6] = -INFINITY;
    const char *tiff = fixture_path("nan.tif");
    write_float_tiff(tiff, SIZE, texels);
    run((const char *const[]){maketx, tiff, "-o", fixture_path("nan.tx"), NULL});
    Rig rig;
    begin(&rig, 0);
    TexId id = open_file(&rig, "nan.tx");
    TexOptions options = {.filter = TEX_FILTER_CLOSEST};
    static const struct {
        uint32_t x, y;
        float value;
    } cases[] = {{2, 1, 0.5f}, {4, 3, 0.5f}, {6, 5, 0.5f}, {7, 7, 0.5f}};
    float out[4];
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        float s = ((float)cases[i].x + 0.5f) / SIZE, t = 1.0f - ((float)cases[i].y + 0.5f) / SIZE;
        assert_false(rig_lookup(&rig, id, &options, s, t, out));
        assert_true(out[0] == cases[i].value);
    }
    for (uint32_t level = 1; level < 8; ++level) {
        float coord[7] = {2.5f / SIZE, 1.0f - 1.5f / SIZE, 1.0f / SIZE, 0, 0, 1.0f / SIZE, 0};
        options.mip_bias = (float)level;
        TexRequest r = {
            .texture = id, .options = &options, .lane_count = 1, .lane_mask = 1, .coord = coord};
        assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
        assert_true(isfinite(out[0]));
    }
    rig_end(&rig);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    program = argv[1];
    maketx = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decoded_files_have_their_texels),
        cmocka_unit_test(test_decoded_levels_are_like_ours),
        cmocka_unit_test(test_decoded_wrap_is_the_files),
        cmocka_unit_test(test_decoded_results_do_not_depend_on_the_budget),
        cmocka_unit_test(test_decoded_refuses_what_has_to_be_converted),
        cmocka_unit_test(test_decoded_truncated_file_loses_only_what_is_cut),
        cmocka_unit_test(test_decoded_file_that_is_replaced_is_noticed),
        cmocka_unit_test(test_decoded_survives_its_decoders),
        cmocka_unit_test(test_decoded_texels_are_finite),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
