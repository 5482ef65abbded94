/* Lookups in a cache that has room for everything: where the coordinates point, T4 (levels), T19
 * (constant and hostile coordinates), T23 (wrap), T24 (kernels), and a naive oracle. */
#include "base/alloc.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/format/stex_write.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const TexFilter all_filters[] = {TEX_FILTER_CLOSEST, TEX_FILTER_BILINEAR,
                                        TEX_FILTER_TRILINEAR, TEX_FILTER_ANISO};

static TexId open_picture(Rig *rig, const Picture *p, const char *name, const TexConvertDesc *how)
{
    const char *path = fixture_path(name);
    picture_convert(p, path, how);
    return rig_open(rig, path);
}

/* One lane with everything. */
static uint32_t lookup12(Rig *rig, TexId id, const TexOptions *options, const float coord[7],
                         float out[12])
{
    TexRequest r = {.texture = id,
                    .options = options,
                    .lane_count = 1,
                    .lane_mask = 1,
                    .with_derivs = true,
                    .coord = coord};
    return texcache_lookup(&rig->caller, &r, out);
}

static void test_lookup_t_runs_up(void **state)
{
    SORT_UNUSED(state);
    /* Red is column / 255, green is row from the top / 255. */
    Picture p = picture_create(200, 100, 3, SORT_TEXEL_U8, SORT_COLOR_RAW);
    for (uint32_t y = 0; y < 100; ++y) {
        for (uint32_t x = 0; x < 200; ++x) {
            ((uint8_t *)picture_at(&p, x, y))[0] = (uint8_t)x;
            ((uint8_t *)picture_at(&p, x, y))[1] = (uint8_t)y;
        }
    }
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "up.stex", NULL);
    for (uint32_t row = 0; row < 100; row += 9) {
        for (uint32_t column = 0; column < 200; column += 11) {
            float out[4], s = ((float)column + 0.5f) / 200.0f,
                          t = 1.0f - ((float)row + 0.5f) / 100.0f;
            assert_false(rig_lookup(&rig, id, NULL, s, t, out));
            assert_float_equal(out[0] * 255.0f, column, 1e-3);
            assert_float_equal(out[1] * 255.0f, row, 1e-3);
            assert_true(out[3] == 1.0f);
        }
    }
    /* The bottom edge is t = 0: with clamping, the last row. */
    TexOptions clamp = {.wrap_s = TEX_WRAP_CLAMP, .wrap_t = TEX_WRAP_CLAMP};
    float out[4];
    assert_false(rig_lookup(&rig, id, &clamp, 0.0f, 0.0f, out));
    assert_float_equal(out[1] * 255.0f, 99, 1e-4);
    assert_false(rig_lookup(&rig, id, &clamp, 0.0f, 1.0f, out));
    assert_float_equal(out[1], 0, 1e-6);
    rig_end(&rig);
    picture_free(&p);
}

/* A file whose level k is painted with the value k. */
static const char *paint_levels(uint32_t size, const char *name)
{
    const char *path = fixture_path(name);
    StexHeader format = {.width = size,
                         .height = size,
                         .channel_count = 1,
                         .texel_type = SORT_TEXEL_FLOAT,
                         .color_space = SORT_COLOR_RAW,
                         .wrap_s = TEX_WRAP_PERIODIC,
                         .wrap_t = TEX_WRAP_PERIODIC};
    StexWriter *w;
    Error err = {0};
    assert_int_equal(stex_writer_begin(path, &format, 1, &w, &err), STATUS_OK);
    float *row = mem_alloc(size, sizeof(float));
    const StexHeader *h = stex_writer_header(w);
    for (uint32_t level = 0; level < h->level_count; ++level) {
        for (uint32_t x = 0; x < size; ++x)
            row[x] = (float)level;
        for (uint32_t y = 0; y < h->levels[level].height; ++y)
            assert_int_equal(stex_writer_row(w, level, row, &err), STATUS_OK);
    }
    mem_free(row);
    const float average[4] = {0};
    const uint8_t digest[16] = {0};
    uint64_t constant_tiles, file_bytes;
    assert_int_equal(stex_writer_finish(w, average, digest, "", &constant_tiles, &file_bytes, &err),
                     STATUS_OK);
    return path;
}

static void test_lookup_blends_levels_by_log2(void **state)
{
    SORT_UNUSED(state);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, paint_levels(1024, "painted.stex"));
    for (uint32_t n = 0; n < 10; ++n) {
        for (float f = 0.0f; f < 1.0f; f += 0.0625f) {
            float width = exp2f((float)n + f) / 1024.0f;
            float coord[7] = {0.3f, 0.37f, width, 0, 0, width, 0}, out[12];
            for (int filter = TEX_FILTER_TRILINEAR; filter <= TEX_FILTER_ANISO; ++filter) {
                TexOptions o = {.filter = (TexFilter)filter};
                assert_int_equal(lookup12(&rig, id, &o, coord, out), 0);
                assert_float_equal(out[0], (float)n + f, 1e-5);
                o.mip_bias = 0.5f;
                assert_int_equal(lookup12(&rig, id, &o, coord, out), 0);
                assert_float_equal(out[0], fminf((float)n + f + 0.5f, 10.0f), 1e-5);
            }
        }
    }
    rig_end(&rig);
}

/* Ellipses of any direction and length whose minor axis is 1/256 show the 256-texel level: catches
 * errors of axis, angle and level at once. */
static void test_lookup_level_is_that_of_the_minor_axis(void **state)
{
    SORT_UNUSED(state);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, paint_levels(1024, "painted.stex"));
    for (float aspect = 1.0f; aspect <= 16.0f; aspect += 0.5f) {
        for (int degrees = 0; degrees < 360; degrees += 5) {
            float angle = (float)degrees * 0.01745329252f;
            float c = cosf(angle) / 256.0f, s = sinf(angle) / 256.0f;
            float coord[7] = {0.3f, 0.6f, aspect * c, aspect * s, -s, c, 0}, out[12];
            assert_int_equal(lookup12(&rig, id, NULL, coord, out), 0);
            assert_float_equal(out[0], 2, 1e-5);
        }
    }
    rig_end(&rig);
}

static void test_lookup_every_level_is_the_one_chosen(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(1024, 512, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 11);
    Rig rig;
    rig_begin(&rig, NULL);
    const char *path = fixture_path("levels2.stex");
    picture_convert(&p, path, NULL);
    TexId id = rig_open(&rig, path);
    FileImage image = file_image_load(path);
    for (uint32_t n = 0; n < image.level_count; ++n) {
        TexOptions o = {.filter = TEX_FILTER_TRILINEAR};
        float step = exp2f((float)n);
        float coord[7] = {0.3f, 0.6f, step / 1024.0f, 0, 0, step / 512.0f, 0}, out[12],
              expected[12];
        assert_int_equal(lookup12(&rig, id, &o, coord, out), 0);
        oracle_lookup(&image, coord, &o, expected);
        assert_float_equal(out[0], expected[0], 1e-6);
    }
    TexStats stats = rig_stats(&rig);
    for (uint32_t n = 0; n < image.level_count; ++n)
        assert_int_equal(stats.mip_probes[0][n], 1);
    file_image_free(&image);
    rig_end(&rig);
    picture_free(&p);
}

static void test_lookup_wraps(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(2, 1, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_set(&p, 1, 0, 0, 1.0f);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "wrap.stex", NULL);
    static const struct {
        float s, periodic, mirror, clamp, black;
    } rows[] = {{1.25f, 0, 1, 1, 0},   {1.0f, 0.5f, 1, 1, 0.5f},
                {-0.25f, 1, 0, 0, 0},  {0.5f, 0.5f, 0.5f, 0.5f, 0.5f},
                {0.0f, 0.5f, 0, 0, 0}, {1e6f + 0.25f, 0, 0, 1, 0}};
    static const TexWrap wraps[] = {TEX_WRAP_PERIODIC, TEX_WRAP_MIRROR, TEX_WRAP_CLAMP,
                                    TEX_WRAP_BLACK};
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        const float expected[] = {rows[i].periodic, rows[i].mirror, rows[i].clamp, rows[i].black};
        for (size_t w = 0; w < 4; ++w) {
            TexOptions o = {
                .filter = TEX_FILTER_BILINEAR, .wrap_s = wraps[w], .wrap_t = TEX_WRAP_CLAMP};
            float out[4];
            assert_false(rig_lookup(&rig, id, &o, rows[i].s, 0.5f, out));
            if (out[0] != expected[w])
                fail_msg("s = %g, wrap %zu: %g instead of %g", (double)rows[i].s, w, (double)out[0],
                         (double)expected[w]);
        }
    }
    /* Black is transparent too, on either axis. */
    TexOptions o = {.wrap_s = TEX_WRAP_BLACK, .wrap_t = TEX_WRAP_BLACK};
    float out[4];
    assert_false(rig_lookup(&rig, id, &o, 0.75f, 2.5f, out));
    assert_true(out[0] == 0.0f && out[3] == 0.0f);
    assert_false(rig_lookup(&rig, id, &o, 0.75f, 1.0f, out));
    assert_true(out[0] == 0.5f && out[3] == 0.5f);
    rig_end(&rig);
    picture_free(&p);
}

static void test_lookup_constant_image_is_constant(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(150, 70, 3, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    for (uint32_t i = 0; i < 150 * 70; ++i) {
        picture_set(&p, i % 150, i / 150, 0, 0.1f);
        picture_set(&p, i % 150, i / 150, 1, 1.0f / 3.0f);
        picture_set(&p, i % 150, i / 150, 2, 1e-20f);
    }
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "flat.stex", NULL);
    uint64_t random = 3;
    for (uint32_t i = 0; i < 2000; ++i) {
        TexOptions o = {.filter = all_filters[i % 4],
                        .wrap_s = (TexWrap)(i / 4 % 4),
                        .wrap_t = (TexWrap)(i / 16 % 4)};
        float coord[7], out[12];
        for (uint32_t k = 0; k < 7; ++k)
            coord[k] = k < 2 ? random_unit(&random) * 8 - 4 : random_unit(&random) * 0.2f - 0.1f;
        assert_int_equal(lookup12(&rig, id, &o, coord, out), 0);
        assert_true(out[0] == 0.1f && out[1] == 1.0f / 3.0f && out[2] == 1e-20f && out[3] == 1.0f);
        for (uint32_t k = 4; k < 12; ++k)
            assert_true(out[k] == 0.0f);
    }
    /* Its tiles take no slab. */
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.resident_tiles, 0);
    assert_true(stats.constants > 0);
    rig_end(&rig);
    picture_free(&p);
}

static void test_lookup_ramp_keeps_value_and_slope(void **state)
{
    SORT_UNUSED(state);
    /* f(s, t) = s + 3 t at texel centres. */
    const float w = 256.0f, h = 128.0f;
    Picture p = picture_create(256, 128, 1, SORT_TEXEL_FLOAT, SORT_COLOR_RAW);
    for (uint32_t y = 0; y < 128; ++y) {
        for (uint32_t x = 0; x < 256; ++x)
            picture_set(&p, x, y, 0, ((float)x + 0.5f) / w + 3.0f * (1.0f - ((float)y + 0.5f) / h));
    }
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "ramp.stex", NULL);
    uint64_t random = 4;
    for (uint32_t i = 0; i < 500; ++i) {
        TexOptions o = {.filter = all_filters[1 + i % 3]};
        float width = random_unit(&random) * 8.0f;
        float coord[7] = {0.2f + 0.6f * random_unit(&random),
                          0.2f + 0.6f * random_unit(&random),
                          width / w,
                          0.5f * width / h,
                          -0.2f * width / w,
                          width / h,
                          0};
        float out[12];
        assert_int_equal(lookup12(&rig, id, &o, coord, out), 0);
        assert_float_equal(out[0], coord[0] + 3.0f * coord[1], 4e-6);
        assert_float_equal(out[4], 1, 2e-4);
        assert_float_equal(out[8], 3, 2e-4);
    }
    /* A mirrored ramp runs back. */
    TexOptions mirror = {.wrap_s = TEX_WRAP_MIRROR, .wrap_t = TEX_WRAP_MIRROR};
    float coord[7] = {1.25f, -0.25f}, out[12];
    assert_int_equal(lookup12(&rig, id, &mirror, coord, out), 0);
    assert_float_equal(out[0], 0.75f + 0.75f, 1e-5);
    assert_float_equal(out[4], -1, 1e-3);
    assert_float_equal(out[8], -3, 1e-3);
    rig_end(&rig);
    picture_free(&p);
}

static void test_lookup_impulse(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(9, 9, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_set(&p, 4, 4, 0, 1.0f);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "impulse.stex", NULL);
    for (size_t i = 0; i < 4; ++i) {
        TexOptions o = {.filter = all_filters[i]};
        float out[4];
        assert_false(rig_lookup(&rig, id, &o, 0.5f, 0.5f, out));
        assert_true(out[0] == 1.0f);
        assert_false(rig_lookup(&rig, id, &o, 0.5f + 0.25f / 9.0f, 0.5f, out));
        assert_float_equal(out[0], i == 0 ? 1.0f : 0.75f, 1e-6);
    }
    rig_end(&rig);
    picture_free(&p);
}

static void test_lookup_touches_no_more_tiles_than_it_needs(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(1024, 1024, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 2);
    const char *path = fixture_path("thousand.stex");
    picture_convert(&p, path, NULL);
    static const struct {
        float s;
        uint64_t tiles;
    } rows[] = {{0.51f, 1}, {0.5f, 4}, {0.5f + 0.5f / 1024.0f, 1}};
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        Rig rig;
        rig_begin(&rig, NULL);
        TexId id = rig_open(&rig, path);
        float out[4];
        assert_false(rig_lookup(&rig, id, NULL, rows[i].s, rows[i].s, out));
        TexStats stats = rig_stats(&rig);
        assert_int_equal(stats.resident_tiles, rows[i].tiles);
        assert_int_equal(stats.mip_probes[0][0], 1);
        rig_check_identities(&rig);
        rig_end(&rig);
    }
    picture_free(&p);
}

static void test_lookup_hostile_coordinates(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(100, 100, 4, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    picture_fill_noise(&p, 5);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "hostile.stex", NULL);
    static const float bad[] = {NAN, INFINITY, -INFINITY, 3e38f, -1e9f};
    TexOptions o = {.has_missing_color = true, .missing_color = {0.25f, 0.5f, 0.75f, 1.0f}};
    uint64_t expected_bad = 0;
    for (size_t i = 0; i < SORT_COUNT_OF(bad); ++i) {
        for (uint32_t k = 0; k < 2; ++k) {
            float coord[7] = {0.5f, 0.5f}, out[12];
            coord[k] = bad[i];
            assert_int_equal(lookup12(&rig, id, &o, coord, out), 1);
            assert_memory_equal(out, o.missing_color, sizeof o.missing_color);
            for (uint32_t j = 4; j < 12; ++j)
                assert_true(out[j] == 0.0f);
            ++expected_bad;
        }
    }
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_info(rig.cache, id, &info, &err), STATUS_OK);
    for (size_t i = 0; i < SORT_COUNT_OF(bad); ++i) {
        for (uint32_t k = 2; k < 7; ++k) {
            float coord[7] = {0.5f, 0.5f}, out[12];
            coord[k] = bad[i];
            assert_int_equal(lookup12(&rig, id, &o, coord, out), 0);
            if (k < 6 || !isfinite(bad[i])) { /* the coarsest level, or nearly */
                for (uint32_t c = 0; c < 4; ++c)
                    assert_float_equal(out[c], info.average_rgba[c], 0.1);
            }
            expected_bad += !isfinite(bad[i]);
        }
    }
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.bad_lookups, expected_bad);
    assert_int_equal(stats.missing, 2 * SORT_COUNT_OF(bad));
    rig_check_identities(&rig);

    /* No texture at all. */
    float coord[7] = {0.5f, 0.5f}, out[12];
    static const uint32_t ids[] = {0, 1, 0xffffffffu};
    for (size_t i = 0; i < SORT_COUNT_OF(ids); ++i)
        assert_int_equal(lookup12(&rig, (TexId){ids[i]}, NULL, coord, out), 1);
    assert_true(out[0] == 1.0f && out[1] == 0.0f && out[2] == 1.0f && out[3] == 1.0f);
    rig_end(&rig);
    picture_free(&p);
}

static void test_lookup_agrees_with_the_oracle(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        uint32_t width, height, channels;
        SortTexelType type;
        SortColorSpace color_space;
    } kinds[] = {{300, 200, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB},
                 {257, 131, 4, SORT_TEXEL_U8, SORT_COLOR_SRGB},
                 {1000, 37, 1, SORT_TEXEL_U16, SORT_COLOR_LINEAR},
                 {64, 64, 2, SORT_TEXEL_HALF, SORT_COLOR_LINEAR},
                 {66, 65, 1, SORT_TEXEL_HALF, SORT_COLOR_LINEAR},
                 {65, 31, 3, SORT_TEXEL_HALF, SORT_COLOR_LINEAR},
                 {31, 64, 4, SORT_TEXEL_HALF, SORT_COLOR_LINEAR},
                 {99, 301, 3, SORT_TEXEL_FLOAT, SORT_COLOR_RAW},
                 {129, 128, 4, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR},
                 {1, 1, 4, SORT_TEXEL_U8, SORT_COLOR_SRGB},
                 {70, 1, 1, SORT_TEXEL_U8, SORT_COLOR_RAW}};
    uint64_t random = 8;
    Rig rig;
    rig_begin(&rig, NULL);
    for (size_t k = 0; k < SORT_COUNT_OF(kinds); ++k) {
        Picture p = picture_create(kinds[k].width, kinds[k].height, kinds[k].channels,
                                   kinds[k].type, kinds[k].color_space);
        picture_fill_noise(&p, (uint32_t)k);
        char name[32];
        snprintf(name, sizeof name, "oracle%zu.stex", k);
        const char *path = fixture_path(name);
        TexConvertDesc how = {.compression = k % 2 ? TEX_COMPRESSION_ZLIB : TEX_COMPRESSION_NONE};
        picture_convert(&p, path, &how);
        TexId id = rig_open(&rig, path);
        FileImage image = file_image_load(path);
        for (uint32_t i = 0; i < 4000; ++i) {
            TexOptions o = {.filter = all_filters[i % 3],
                            .wrap_s = (TexWrap)(TEX_WRAP_PERIODIC + i / 3 % 4),
                            .wrap_t = (TexWrap)(TEX_WRAP_PERIODIC + i / 12 % 4),
                            .mip_bias = i % 5 == 0 ? random_unit(&random) * 3 - 1.5f : 0.0f};
            float coord[7];
            float scale = exp2f(random_unit(&random) * 12.0f - 12.0f);
            for (uint32_t j = 0; j < 7; ++j) {
                coord[j] = j < 2 ? random_unit(&random) * 6.0f - 3.0f
                                 : (random_unit(&random) - 0.5f) * scale;
            }
            if (i % 3 != 0)
                coord[6] = 0.0f;
            float out[12], expected[12];
            assert_int_equal(lookup12(&rig, id, &o, coord, out), 0);
            TexRequest plain = {
                .texture = id, .options = &o, .lane_count = 1, .lane_mask = 1, .coord = coord};
            float without_derivs[4];
            assert_int_equal(texcache_lookup(&rig.caller, &plain, without_derivs), 0);
            assert_memory_equal(without_derivs, out, sizeof without_derivs);
            oracle_lookup(&image, coord, &o, expected);
            for (uint32_t j = 0; j < 12; ++j) {
                float tolerance = j < 4 ? 2e-5f : 2e-5f * (float)(kinds[k].width + kinds[k].height);
                if (!(fabsf(out[j] - expected[j]) <= tolerance)) {
                    fail_msg("kind %zu, lookup %u, value %u: %g instead of %g", k, i, j,
                             (double)out[j], (double)expected[j]);
                }
            }
        }
        file_image_free(&image);
        picture_free(&p);
    }
    rig_check_identities(&rig);
    rig_end(&rig);
}

static void test_lookup_aniso_is_the_mean_of_its_probes(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(512, 512, 3, SORT_TEXEL_U8, SORT_COLOR_LINEAR);
    picture_fill_noise(&p, 6);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "aniso.stex", NULL);
    /* 8 texels along s, 2 along t: four probes of level 1, spaced by 2 texels. */
    float coord[7] = {0.41f, 0.23f, 8.0f / 512, 0, 0, 2.0f / 512, 0}, out[12];
    double mean = 0;
    assert_int_equal(lookup12(&rig, id, NULL, coord, out), 0);
    for (int i = 0; i < 4; ++i) {
        float probe[7] = {coord[0] + 2.0f * ((float)i - 1.5f) / 512.0f,
                          coord[1],
                          2.0f / 512,
                          0,
                          0,
                          2.0f / 512,
                          0},
              one[12];
        TexOptions o = {.filter = TEX_FILTER_TRILINEAR};
        assert_int_equal(lookup12(&rig, id, &o, probe, one), 0);
        mean += (double)one[0] / 4;
    }
    assert_float_equal(out[0], mean, 1e-5);
    rig_end(&rig);
    picture_free(&p);
}

static void test_lookup_lanes_do_not_depend_on_each_other(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(400, 300, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    picture_fill_noise(&p, 7);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "lanes.stex", NULL);
    uint64_t random = 10;
    for (uint32_t round = 0; round < 200; ++round) {
        uint32_t lanes = 1 + random_u32(&random) % TEX_MAX_LANES;
        uint32_t mask = random_u32(&random) & (lanes == 32 ? UINT32_MAX : (1u << lanes) - 1);
        float coord[7 * TEX_MAX_LANES], out[12 * TEX_MAX_LANES];
        for (uint32_t i = 0; i < 7 * lanes; ++i)
            coord[i] = (random_unit(&random) - 0.5f) * (i < 2 * lanes ? 4.0f : 0.02f);
        for (uint32_t lane = 1; round % 3 == 0 && lane < lanes; ++lane) {
            uint32_t other = random_u32(&random) %
                             8; /* the number that is not that of the lane before, if any */
            for (uint32_t k = 2; k < 7; ++k)
                if (k != other)
                    coord[k * lanes + lane] = coord[k * lanes + lane - 1];
        }
        if (mask & 1u && round % 4 == 0)
            coord[0] = NAN;
        memset(out, 0x7f, sizeof out);
        TexRequest r = {.texture = id,
                        .lane_count = lanes,
                        .lane_mask = mask,
                        .with_derivs = true,
                        .depth = round,
                        .coord = coord};
        uint32_t missing = texcache_lookup(&rig.caller, &r, out);
        assert_int_equal(missing, mask & 1u && round % 4 == 0 ? 1 : 0);
        for (uint32_t lane = 0; lane < lanes; ++lane) {
            float single[7], alone[12];
            for (uint32_t k = 0; k < 7; ++k)
                single[k] = coord[k * lanes + lane];
            lookup12(&rig, id, NULL, single, alone);
            for (uint32_t k = 0; k < 12; ++k) {
                uint32_t untouched = 0x7f7f7f7fu;
                const void *expected = mask >> lane & 1u ? (const void *)&alone[k] : &untouched;
                assert_memory_equal(&out[k * lanes + lane], expected, sizeof(float));
            }
        }
    }
    rig_end(&rig);
    picture_free(&p);
}

enum { SHARE_LANES = TEX_MAX_LANES, SHARE_TEXTURES = 4 };

/* A lookup without derivatives equals lookups of single lanes with derivatives, which share no taps. */
static void check_shared_lookup(Rig *rig, TexId id, const TexOptions *options, uint32_t mask,
                                const float *coord)
{
    float out[4 * SHARE_LANES];
    memset(out, 0x7f, sizeof out);
    TexRequest r = {.texture = id,
                    .options = options,
                    .lane_count = SHARE_LANES,
                    .lane_mask = mask,
                    .coord = coord};
    assert_int_equal(texcache_lookup(&rig->caller, &r, out), 0);
    for (uint32_t lane = 0; lane < SHARE_LANES; ++lane) {
        float single[7], alone[12];
        for (uint32_t k = 0; k < 7; ++k)
            single[k] = coord[k * SHARE_LANES + lane];
        lookup12(rig, id, options, single, alone);
        for (uint32_t k = 0; k < 4; ++k) {
            uint32_t untouched = 0x7f7f7f7fu;
            const void *expected = mask >> lane & 1u ? (const void *)&alone[k] : &untouched;
            assert_memory_equal(&out[k * SHARE_LANES + lane], expected, sizeof(float));
        }
    }
}

/* Textures of one size share the taps of a lookup at the same coordinates, and of no other: each round changes one thing,
 * and reads textures of equal and of different sizes in any order, with up to 1,024 taps. */
static void test_lookup_shares_taps_only_where_they_are_equal(void **state)
{
    SORT_UNUSED(state);
    Rig rig;
    rig_begin(&rig, NULL);
    const uint32_t sizes[SHARE_TEXTURES][2] = {{300, 200}, {300, 200}, {300, 200}, {200, 300}};
    const uint32_t channels[SHARE_TEXTURES] = {3, 1, 4, 3};
    TexId ids[SHARE_TEXTURES];
    for (uint32_t i = 0; i < SHARE_TEXTURES; ++i) {
        Picture p = picture_create(sizes[i][0], sizes[i][1], channels[i],
                                   i == 2 ? SORT_TEXEL_HALF : SORT_TEXEL_U8,
                                   i == 0 ? SORT_COLOR_SRGB : SORT_COLOR_LINEAR);
        char name[32];
        picture_fill_noise(&p, 20 + i);
        snprintf(name, sizeof name, "shared%u.stex", i);
        ids[i] = open_picture(&rig, &p, name, NULL);
        picture_free(&p);
    }
    const TexFilter filters[] = {TEX_FILTER_ANISO, TEX_FILTER_TRILINEAR, TEX_FILTER_BILINEAR};
    const TexWrap wraps[] = {TEX_WRAP_PERIODIC, TEX_WRAP_CLAMP, TEX_WRAP_MIRROR};
    TexOptions options = {0};
    float coord[7 * SHARE_LANES];
    uint32_t mask = UINT32_MAX;
    uint64_t random = 30;
    for (uint32_t round = 0; round < 150; ++round) {
        uint32_t pick = random_u32(&random);
        if (round % 8 == 0) {
            for (uint32_t i = 0; i < SORT_COUNT_OF(coord); ++i)
                coord[i] = (random_unit(&random) - 0.5f) * (i < 2 * SHARE_LANES ? 4.0f : 0.02f);
            for (uint32_t i = 2 * SHARE_LANES; round % 16 == 0 && i < 4 * SHARE_LANES; ++i)
                coord[i] *= 20.0f; /* long ellipses */
            for (uint32_t i = 0; i < 2 * SHARE_LANES; i += 5)
                coord[i] = roundf(coord[i] * 8.0f) * 0.125f; /* edges, and texels' borders */
        }
        switch (round % 8) {
        case 1:
            mask = pick | 1u;
            break;
        case 2:
        case 3:
            coord[pick % SORT_COUNT_OF(coord)] *= 0.75f;
            break;
        case 4:
            options.filter = filters[pick % SORT_COUNT_OF(filters)];
            break;
        case 5:
            options.wrap_s = wraps[pick % SORT_COUNT_OF(wraps)];
            break;
        case 6:
            options.wrap_t = wraps[pick % SORT_COUNT_OF(wraps)];
            break;
        case 7:
            options.mip_bias = round % 16 == 7 ? 0.5f : 0.0f;
            break;
        default:
            mask = UINT32_MAX;
            break;
        }
        for (uint32_t i = 0; i < 4; ++i)
            check_shared_lookup(&rig, ids[(pick >> 8 >> 2 * i) % SHARE_TEXTURES], &options, mask,
                                coord);
    }
    rig_check_identities(&rig);
    rig_end(&rig);
}

/* Lanes of one request count at depths of their own: the same as one request each. */
static void test_lookup_counts_at_each_lanes_depth(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(256, 256, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    picture_fill_noise(&p, 8);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "depths.stex", NULL);
    uint64_t random = 11;
    for (uint32_t round = 0; round < 100; ++round) {
        enum { LANES = 16 };
        uint32_t depths[LANES], mask = random_u32(&random) & ((1u << LANES) - 1);
        float coord[7 * LANES], out[4 * LANES];
        for (uint32_t i = 0; i < 7 * LANES; ++i)
            coord[i] = random_unit(&random) * (i < 2 * LANES ? 1.0f : 0.1f);
        for (uint32_t i = 0; i < LANES; ++i)
            depths[i] = random_u32(&random) % (TEX_DEPTH_BUCKETS + 2);
        TexRequest r = {.texture = id,
                        .lane_count = LANES,
                        .lane_mask = mask,
                        .depths = depths,
                        .coord = coord};
        TexStats before = rig_stats(&rig);
        texcache_lookup(&rig.caller, &r, out);
        TexStats between = rig_stats(&rig);
        for (uint32_t lane = 0; lane < LANES; ++lane) {
            if (!(mask >> lane & 1u))
                continue;
            TexRequest single = r;
            single.lane_mask = 1u << lane;
            single.depths = NULL;
            single.depth = depths[lane];
            texcache_lookup(&rig.caller, &single, out);
        }
        TexStats after = rig_stats(&rig);
        stats_check_same_mip_probes(&before, &between, &after);
    }
    rig_check_identities(&rig);
    rig_end(&rig);
    picture_free(&p);
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
        cmocka_unit_test(test_lookup_t_runs_up),
        cmocka_unit_test(test_lookup_blends_levels_by_log2),
        cmocka_unit_test(test_lookup_level_is_that_of_the_minor_axis),
        cmocka_unit_test(test_lookup_every_level_is_the_one_chosen),
        cmocka_unit_test(test_lookup_wraps),
        cmocka_unit_test(test_lookup_constant_image_is_constant),
        cmocka_unit_test(test_lookup_ramp_keeps_value_and_slope),
        cmocka_unit_test(test_lookup_impulse),
        cmocka_unit_test(test_lookup_touches_no_more_tiles_than_it_needs),
        cmocka_unit_test(test_lookup_hostile_coordinates),
        cmocka_unit_test(test_lookup_agrees_with_the_oracle),
        cmocka_unit_test(test_lookup_aniso_is_the_mean_of_its_probes),
        cmocka_unit_test(test_lookup_lanes_do_not_depend_on_each_other),
        cmocka_unit_test(test_lookup_shares_taps_only_where_they_are_equal),
        cmocka_unit_test(test_lookup_counts_at_each_lanes_depth),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
