/* T27: UDIM sets. */
#include "base/file.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/format/stex_format.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 128 };

static void one_color_file(const char *name, const float rgb[3])
{
    Picture p = picture_create(SIZE, SIZE, 3, SORT_TEXEL_U8, SORT_COLOR_RAW);
    for (uint32_t i = 0; i < SIZE * SIZE * 3; ++i)
        picture_set(&p, i / 3 % SIZE, i / 3 / SIZE, i % 3, rgb[i % 3]);
    picture_convert(&p, fixture_path(name), NULL);
    picture_free(&p);
}

static void noise_file(const char *name, uint32_t seed, uint32_t size)
{
    Picture p = picture_create(size, size, 3, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, seed);
    picture_convert(&p, fixture_path(name), NULL);
    picture_free(&p);
}

static const float red[4] = {1, 0, 0, 1}, green[4] = {0, 1, 0, 1}, blue[4] = {0, 0, 1, 1},
                   white[4] = {1, 1, 1, 1}, magenta[4] = {1, 0, 1, 1};

/* 1001, 1002, 1004 and, in the second row, 1011. */
static const char *make_colors(void)
{
    one_color_file("c.1001.stex", red);
    one_color_file("c.1002.stex", green);
    one_color_file("c.1004.stex", blue);
    one_color_file("c.1011.stex", white);
    one_color_file("c.12345.stex", white); /* names that are no members */
    one_color_file("c.0999.stex", white);
    one_color_file("c.1003.stex.stex", white);
    return fixture_path("c.<UDIM>.stex");
}

static void test_udim_files_are_found_by_number(void **state)
{
    SORT_UNUSED(state);
    const char *pattern = make_colors();
    bool is_present[TEX_UDIM_COUNT];
    uint32_t count;
    Error err = {0};
    assert_int_equal(texcache_udim_list(pattern, is_present, &count, &err), STATUS_OK);
    assert_int_equal(count, 4);
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i)
        assert_int_equal(is_present[i], i == 0 || i == 1 || i == 3 || i == 10);
    assert_true(texcache_is_udim(pattern));
    assert_false(texcache_is_udim("a<UDIM>/b.stex"));
    char path[8];
    assert_int_equal(texcache_udim_path("a<UDIM>b", 12, path, 7, &err), STATUS_OK);
    assert_string_equal(path, "a1013b");
    assert_int_equal(texcache_udim_path("a<UDIM>b", 12, path, 6, &err), STATUS_LIMIT);
    assert_int_equal(texcache_udim_list(fixture_path("none.<UDIM>.stex"), is_present, &count, &err),
                     STATUS_NOT_FOUND);
}

static void test_udim_only_the_absent_file_is_missing(void **state)
{
    SORT_UNUSED(state);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, make_colors());
    static const struct {
        float s, t;
        const float *color;
    } cases[] = {
        {0.5f, 0.5f, red},     {1.5f, 0.5f, green},   {2.5f, 0.5f, magenta}, {2.9f, 0.1f, magenta},
        {3.5f, 0.5f, blue},    {0.5f, 1.5f, white},   {1.5f, 1.5f, magenta}, {0.0f, 0.0f, red},
        {1.0f, 0.5f, green},   {0.5f, 1.0f, white},   {2.0f, 0.5f, green},   {4.0f, 0.5f, blue},
        {3.5f, 1.0f, blue},    {1.0f, 2.0f, white},   {4.0f, 1.0f, blue},    {-0.1f, 0.5f, magenta},
        {0.5f, -1.f, magenta}, {99.f, 0.5f, magenta}, {0.5f, 1e9f, magenta}, {NAN, 0.5f, magenta},
    };
    uint32_t missing = 0;
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        float out[4];
        bool is_missing = rig_lookup(&rig, id, NULL, cases[i].s, cases[i].t, out);
        if (is_missing != (cases[i].color == magenta) ||
            memcmp(out, cases[i].color, sizeof out) != 0)
            fail_msg("(%g, %g): %g %g %g %g", (double)cases[i].s, (double)cases[i].t,
                     (double)out[0], (double)out[1], (double)out[2], (double)out[3]);
        missing += is_missing;
    }
    /* 1003, 1012, and what lies in no file: once each. */
    assert_int_equal(rig.lines.count, 3);
    assert_non_null(strstr(rig.lines.first, "c.<UDIM>.stex: there is no file 1003"));
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.lookups, SORT_COUNT_OF(cases));
    assert_int_equal(stats.missing, missing);
    assert_int_equal(stats.bad_lookups, 1);
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_udim_has_no_seam(void **state)
{
    SORT_UNUSED(state);
    one_color_file("same.1001.stex", white);
    one_color_file("same.1002.stex", white);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, fixture_path("same.<UDIM>.stex"));
    for (uint32_t i = 0; i < 400; ++i) {
        float coord[7] = {0.98f + (float)i * 1e-4f, 0.5f, 0.2f, 0.01f, 0.0f, 0.05f, 0.0f};
        float out[12];
        TexRequest r = {
            .texture = id, .lane_count = 1, .lane_mask = 1, .with_derivs = true, .coord = coord};
        assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
        assert_memory_equal(out, white, sizeof white);
        for (uint32_t k = 4; k < 12; ++k)
            assert_true(out[k] == 0.0f);
    }
    rig_end(&rig);
}

/* A lane's result is that of its file, clamped, whatever the others are. */
static void test_udim_lanes_are_those_of_their_files(void **state)
{
    SORT_UNUSED(state);
    enum { FILES = 5, LANES = 32 };
    static const uint32_t numbers[FILES] = {1001, 1002, 1010, 1011, 1023};
    Rig rig;
    TexCacheDesc d = {.max_open_files = 2};
    rig_begin(&rig, &d);
    TexId ids[FILES];
    for (uint32_t i = 0; i < FILES; ++i) {
        char name[32];
        snprintf(name, sizeof name, "n.%u.stex", numbers[i]);
        noise_file(name, i, 100 + 64 * i);
        ids[i] = rig_open(&rig, fixture_path(name));
    }
    TexId set = rig_open(&rig, fixture_path("n.<UDIM>.stex"));
    uint64_t random = 7;
    for (uint32_t step = 0; step < 200; ++step) {
        float whole[7 * LANES], result[12 * LANES];
        uint32_t files[LANES], depths[LANES], lane_count = 1 + random_u32(&random) % LANES;
        uint32_t mask = random_u32(&random);
        for (uint32_t i = 0; i < lane_count; ++i) {
            files[i] = random_u32(&random) % FILES;
            depths[i] = random_u32(&random) % (TEX_DEPTH_BUCKETS + 2);
            uint32_t index = numbers[files[i]] - 1001;
            whole[i] = (float)(index % 10) + (float)(random_u32(&random) % 1024) / 1024.0f;
            whole[lane_count + i] =
                (float)(index / 10) + (float)(random_u32(&random) % 1024) / 1024.0f;
            for (uint32_t k = 2; k < 7; ++k)
                whole[k * lane_count + i] = 0.05f * random_unit(&random);
        }
        TexOptions options = {.filter = (TexFilter)(step % 5), .mip_bias = 0.5f};
        TexRequest r = {.texture = set,
                        .options = &options,
                        .lane_count = lane_count,
                        .lane_mask = mask,
                        .with_derivs = step % 2 == 0,
                        .depths = depths,
                        .coord = whole};
        TexStats before = rig_stats(&rig);
        assert_int_equal(texcache_lookup(&rig.caller, &r, result), 0);
        TexStats between = rig_stats(&rig);
        uint32_t value_count = r.with_derivs ? 12 : 4;
        options.wrap_s = options.wrap_t = TEX_WRAP_CLAMP;
        for (uint32_t i = 0; i < lane_count; ++i) {
            if (!(mask >> i & 1u))
                continue;
            float coord[7], one[12];
            for (uint32_t k = 0; k < 7; ++k)
                coord[k] = whole[k * lane_count + i];
            coord[0] -= floorf(coord[0]);
            coord[1] -= floorf(coord[1]);
            TexRequest single = r;
            single.texture = ids[files[i]];
            single.lane_count = single.lane_mask = 1;
            single.coord = coord;
            single.depths = NULL;
            single.depth = depths[i];
            assert_int_equal(texcache_lookup(&rig.caller, &single, one), 0);
            for (uint32_t k = 0; k < value_count; ++k)
                assert_true(result[k * lane_count + i] == one[k]);
        }
        TexStats after = rig_stats(&rig);
        stats_check_same_mip_probes(&before, &between, &after);
    }
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_udim_is_opened_and_closed_whole(void **state)
{
    SORT_UNUSED(state);
    const char *pattern = make_colors();
    Rig rig;
    rig_begin(&rig, NULL);
    uint64_t before = rig_stats(&rig).bytes_tables;
    TexId a = rig_open(&rig, pattern), b = rig_open(&rig, pattern);
    assert_int_equal(a.id, b.id);
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_info(rig.cache, a, &info, &err), STATUS_OK);
    assert_int_equal(info.width, SIZE);
    assert_true(fabsf(info.average_rgba[0] - 1.0f) < 1e-6f && info.average_rgba[1] == 0.0f);
    float coord[14] = {0.5f, 3.5f}, out[4];
    TexRequest r = {.texture = a, .lane_count = 2, .lane_mask = 3, .coord = coord};
    texcache_touch(&rig.caller, &r);
    texcache_close(rig.cache, a);
    assert_false(rig_lookup(&rig, b, NULL, 0.5f, 0.5f, out));
    texcache_close(rig.cache, b);
    assert_true(rig_lookup(&rig, b, NULL, 0.5f, 0.5f, out));
    /* The directory's block and the thread's counters stay. */
    assert_int_equal(rig_stats(&rig).bytes_tables - before, 2 * sizeof(void *) * 256);

    /* One broken file, and the set is refused; nothing stays open. */
    assert_int_equal(file_write(fixture_path("c.1002.stex"), "no", 2, &err), STATUS_OK);
    TexOpenDesc what = {.size_bytes = sizeof what, .path = pattern};
    assert_int_equal(texcache_open(rig.cache, &what, &a, &err), STATUS_FORMAT);
    assert_non_null(strstr(err.path, "c.1002.stex"));
    assert_int_equal(rig_stats(&rig).bytes_tables - before, 2 * sizeof(void *) * 256);
    assert_int_equal(rig_stats(&rig).open_files, 0);
    what.path = fixture_path("none.<UDIM>.stex");
    assert_int_equal(texcache_open(rig.cache, &what, &a, &err), STATUS_NOT_FOUND);
    rig_end(&rig);
}

/* Converted sets lie in a cache folder; people know the images they were made of. */
static void test_udim_files_are_told_by_the_sets_name(void **state)
{
    SORT_UNUSED(state);
    Rig rig;
    rig_begin(&rig, NULL);
    TexOpenDesc what = {
        .size_bytes = sizeof what, .path = make_colors(), .name = "/images/skin.<UDIM>.png"};
    TexId id;
    float out[4];
    assert_int_equal(texcache_open(rig.cache, &what, &id, NULL), STATUS_OK);
    assert_true(rig_lookup(&rig, id, NULL, 2.5f, 0.5f, out));
    assert_non_null(strstr(rig.lines.last, "/images/skin.<UDIM>.png: there is no file 1003"));
    TexTextureStats files[8];
    uint32_t count = texcache_texture_stats(rig.cache, files, 8), found = 0;
    assert_true(count >= 3 && count <= 8);
    for (uint32_t i = 0; i < count; ++i)
        found += strcmp(files[i].name, "/images/skin.1004.png") == 0;
    assert_int_equal(found, 1);
    rig_end(&rig);
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
        cmocka_unit_test(test_udim_files_are_found_by_number),
        cmocka_unit_test(test_udim_only_the_absent_file_is_missing),
        cmocka_unit_test(test_udim_has_no_seam),
        cmocka_unit_test(test_udim_lanes_are_those_of_their_files),
        cmocka_unit_test(test_udim_files_are_told_by_the_sets_name),
        cmocka_unit_test(test_udim_is_opened_and_closed_whole),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
