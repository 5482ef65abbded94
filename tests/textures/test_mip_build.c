/* T25: the mip builder against closed forms and against a direct area average, and the conversion
 * around it: colour spaces, alpha, values that are no numbers. */
#include "base/alloc.h"
#include "base/half.h"
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/convert/mip_build.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct Pyramid {
    uint32_t width[32], height[32], rows[32];
    float *values[32];
    uint32_t channels;
} Pyramid;

static Status keep_row(void *data, uint32_t level, const float *row, Error *err)
{
    SORT_UNUSED(err);
    Pyramid *p = data;
    assert_true(p->rows[level] < p->height[level]);
    size_t count = (size_t)p->width[level] * p->channels;
    memcpy(p->values[level] + p->rows[level]++ * count, row, count * sizeof(float));
    return STATUS_OK;
}

/* All levels of an image of floats, through the builder. Returns the number of levels. */
static uint32_t build(Pyramid *p, uint32_t width, uint32_t height, uint32_t channels,
                      bool is_weighted, const float *image)
{
    *p = (Pyramid){.channels = channels};
    uint32_t count = 0;
    for (uint32_t w = width, h = height;; w = w > 1 ? w / 2 : 1, h = h > 1 ? h / 2 : 1) {
        p->width[count] = w;
        p->height[count] = h;
        p->values[count] = mem_alloc((size_t)w * h * channels, sizeof(float));
        ++count;
        if (w == 1 && h == 1)
            break;
    }
    MipDesc desc = {.width = width,
                    .height = height,
                    .channel_count = channels,
                    .is_alpha_weighted = is_weighted,
                    .emit = keep_row,
                    .data = p};
    MipBuilder *b;
    Error err = {0};
    assert_int_equal(mip_builder_create(&desc, &b, &err), STATUS_OK);
    memcpy(p->values[0], image, (size_t)width * height * channels * sizeof(float));
    for (uint32_t y = 0; y < height; ++y)
        assert_int_equal(mip_builder_push(b, image + (size_t)y * width * channels, &err),
                         STATUS_OK);
    mip_builder_destroy(b);
    for (uint32_t i = 1; i < count; ++i)
        assert_int_equal(p->rows[i], p->height[i]);
    return count;
}

static void pyramid_free(Pyramid *p)
{
    for (uint32_t i = 0; i < 32; ++i)
        mem_free(p->values[i]);
}

static void test_mip_five_texels_weigh_two_two_one(void **state)
{
    SORT_UNUSED(state);
    const float row[5] = {1.0f, 10.0f, 100.0f, 1000.0f, 10000.0f};
    Pyramid p;
    assert_int_equal(build(&p, 5, 1, 1, false, row), 3);
    assert_float_equal(p.values[1][0], (2 * 1.0 + 2 * 10.0 + 100.0) / 5, 1e-4);
    assert_float_equal(p.values[1][1], (100.0 + 2 * 1000.0 + 2 * 10000.0) / 5, 1e-3);
    assert_float_equal(p.values[2][0], 11111.0 / 5, 1e-3);
    pyramid_free(&p);
}

/* Level n + 1 from level n by the definition: overlaps of rectangles. */
static double area_average(const Pyramid *p, uint32_t level, uint32_t x, uint32_t y, uint32_t c)
{
    double w = p->width[level], h = p->height[level];
    double sx = w / p->width[level + 1], sy = h / p->height[level + 1];
    double sum = 0;
    for (uint32_t j = 0; j < p->height[level]; ++j) {
        double oy = fmin(j + 1.0, (y + 1) * sy) - fmax(j, y * sy);
        for (uint32_t i = 0; oy > 0 && i < p->width[level]; ++i) {
            double ox = fmin(i + 1.0, (x + 1) * sx) - fmax(i, x * sx);
            if (ox > 0)
                sum +=
                    ox * oy *
                    (double)p->values[level][((size_t)j * p->width[level] + i) * p->channels + c];
        }
    }
    return sum / (sx * sy);
}

static void test_mip_any_size_is_an_area_average(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t sizes[][3] = {{7, 5, 3},  {64, 64, 1},  {1, 9, 2},
                                        {13, 1, 4}, {37, 101, 3}, {96, 31, 1}};
    uint64_t random = 1;
    for (size_t k = 0; k < SORT_COUNT_OF(sizes); ++k) {
        uint32_t w = sizes[k][0], h = sizes[k][1], channels = sizes[k][2];
        float *image = mem_alloc((size_t)w * h * channels, sizeof(float));
        for (size_t i = 0; i < (size_t)w * h * channels; ++i)
            image[i] = random_unit(&random);
        Pyramid p;
        uint32_t count = build(&p, w, h, channels, false, image);
        for (uint32_t level = 0; level + 1 < count; ++level) {
            for (uint32_t y = 0; y < p.height[level + 1]; ++y) {
                for (uint32_t x = 0; x < p.width[level + 1]; ++x) {
                    for (uint32_t c = 0; c < channels; ++c) {
                        float value = p.values[level + 1]
                                              [((size_t)y * p.width[level + 1] + x) * channels + c];
                        assert_float_equal(value, area_average(&p, level, x, y, c), 1e-6);
                    }
                }
            }
        }
        /* The mean of the image is the one texel at the end. */
        for (uint32_t c = 0; c < channels; ++c) {
            double mean = 0;
            for (size_t i = 0; i < (size_t)w * h; ++i)
                mean += (double)image[i * channels + c] / ((double)w * h);
            assert_float_equal(p.values[count - 1][c], mean, 1e-6);
        }
        pyramid_free(&p);
        mem_free(image);
    }
}

static void test_mip_constant_stays_constant(void **state)
{
    SORT_UNUSED(state);
    enum { W = 61, H = 47 };
    static float image[W * H];
    for (size_t i = 0; i < W * H; ++i)
        image[i] = 0.1f;
    Pyramid p;
    uint32_t count = build(&p, W, H, 1, false, image);
    for (uint32_t level = 0; level < count; ++level) {
        for (size_t i = 0; i < (size_t)p.width[level] * p.height[level]; ++i)
            assert_true(p.values[level][i] == 0.1f);
    }
    pyramid_free(&p);
}

static void test_mip_color_is_weighted_by_coverage(void **state)
{
    SORT_UNUSED(state);
    /* White and opaque beside black and transparent; then transparent throughout. */
    const float image[2][4][4] = {
        {{1, 1, 1, 1}, {0, 0, 0, 0}, {0.2f, 0.4f, 0.6f, 0}, {0.4f, 0.4f, 0.4f, 0}},
        {{0, 0, 0, 0}, {1, 1, 1, 1}, {0.2f, 0.4f, 0.6f, 0}, {0.4f, 0.4f, 0.4f, 0}},
    };
    Pyramid p;
    build(&p, 4, 2, 4, true, &image[0][0][0]);
    for (uint32_t c = 0; c < 3; ++c)
        assert_float_equal(p.values[1][c], 1.0, 0);
    assert_float_equal(p.values[1][3], 0.5, 0);
    assert_float_equal(p.values[1][4], 0.3, 1e-7); /* the plain mean */
    assert_float_equal(p.values[1][6], 0.5, 1e-7);
    assert_float_equal(p.values[1][7], 0.0, 0);
    assert_float_equal(p.values[2][0], 1.0, 0); /* the covered half decides the colour */
    assert_float_equal(p.values[2][3], 0.25, 0);
    pyramid_free(&p);
}

static void test_convert_filters_srgb_in_linear_light(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(64, 64, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    for (uint32_t y = 0; y < 64; ++y) {
        for (uint32_t x = 0; x < 64; ++x)
            memset(picture_at(&p, x, y), (x + y) % 2 ? 255 : 0, 3);
    }
    const char *path = fixture_path("checker.stex");
    picture_convert(&p, path, NULL);
    FileImage image = file_image_load(path);
    /* 188 is the code nearest to linear 0.5. */
    float code188 = powf((188.0f / 255.0f + 0.055f) / 1.055f, 2.4f);
    for (uint32_t l = 1; l < image.level_count; ++l)
        assert_float_equal(image.levels[l].rgba[0], code188, 1e-6);
    file_image_free(&image);
    picture_free(&p);
}

static void test_convert_stores_wide_srgb_linear(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(3, 2, 4, SORT_TEXEL_U16, SORT_COLOR_SRGB);
    for (uint32_t c = 0; c < 4; ++c)
        picture_set(&p, 0, 0, c, 0.5f);
    const char *path = fixture_path("wide.stex");
    picture_convert(&p, path, NULL);
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_file_info(path, &info, &err), STATUS_OK);
    assert_int_equal(info.type, SORT_TEXEL_HALF);
    assert_int_equal(info.color_space, SORT_COLOR_LINEAR);
    FileImage image = file_image_load(path);
    assert_float_equal(image.levels[0].rgba[0], 0.21404, 2e-4);
    assert_float_equal(image.levels[0].rgba[3], 0.5, 2e-4); /* alpha is linear as it is */
    file_image_free(&image);
    picture_free(&p);
}

/* A float picture of 1 everywhere, but for what the caller breaks. */
static Picture ones(uint32_t width, uint32_t height, uint32_t channels)
{
    Picture p = picture_create(width, height, channels, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    for (uint32_t i = 0; i < width * height * channels; ++i)
        picture_set(&p, i / channels % width, i / channels / width, i % channels, 1.0f);
    return p;
}

/* All levels are the one that the picture would have without its broken texels. */
static void expect_ones(Picture *p, uint64_t broken)
{
    const char *path = fixture_path("ones.stex");
    TexConvertReport report = picture_convert(p, path, NULL);
    assert_int_equal(report.non_finite_texels, broken);
    FileImage image = file_image_load(path);
    for (uint32_t l = 0; l < image.level_count; ++l)
        for (uint32_t i = 0; i < image.levels[l].width * image.levels[l].height * 4; ++i)
            assert_float_equal(image.levels[l].rgba[i], 1.0f, 1e-6);
    file_image_free(&image);
    picture_free(p);
}

/* Wherever broken texels lie, on the border between two bands of rows too, alone and in crowds. */
static void test_convert_takes_neighbours_for_non_finite(void **state)
{
    SORT_UNUSED(state);
    static const float broken[] = {NAN, INFINITY, -INFINITY};
    enum { WIDTH = 5, HEIGHT = 130 };
    static const uint32_t rows[] = {0, 1, 62, 63, 64, 65, 127, 128, 129};
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        for (uint32_t x = 0; x < WIDTH; x += WIDTH - 1) {
            Picture p = ones(WIDTH, HEIGHT, 3);
            picture_set(&p, x, rows[i], i % 3, broken[(i + x) % 3]);
            expect_ones(&p, 1);
        }
    }
    Picture crowd = ones(WIDTH, HEIGHT, 1);
    for (uint32_t i = 0; i < WIDTH * 100; ++i) /* what is left begins in the second band */
        picture_set(&crowd, i % WIDTH, i / WIDTH + 1, 0, broken[i % 3]);
    expect_ones(&crowd, (uint64_t)WIDTH * 100);
    Picture corner = ones(WIDTH, HEIGHT, 1);
    for (uint32_t i = 0; i < 3 * WIDTH; ++i)
        picture_set(&corner, i % WIDTH, i / WIDTH, 0, NAN);
    expect_ones(&corner, (uint64_t)3 * WIDTH);

    /* The mean of eight, each channel by itself; the others stay. */
    Picture p = picture_create(3, 3, 3, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    for (uint32_t i = 0; i < 27; ++i)
        picture_set(&p, i / 3 % 3, i / 9, i % 3, (float)(i * i) - 20.0f);
    float mean = 0.0f;
    for (uint32_t i = 0; i < 9; ++i)
        mean += i == 4 ? 0.0f : ((float)(i * 3 * i * 3) - 20.0f) / 8.0f;
    picture_set(&p, 1, 1, 0, INFINITY);
    picture_convert(&p, fixture_path("mean.stex"), NULL);
    FileImage image = file_image_load(fixture_path("mean.stex"));
    const float *middle = image.levels[0].rgba + (size_t)4 * 4;
    assert_float_equal(middle[0], mean, 1e-4);
    assert_true(middle[1] == 13.0f * 13.0f - 20.0f && middle[2] == 14.0f * 14.0f - 20.0f);
    file_image_free(&image);
    picture_free(&p);
}

/* Finite numbers that no average or blend can hold any more. */
static void test_convert_limits_huge_numbers(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(4, 4, 4, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    for (uint32_t i = 0; i < 64; ++i)
        picture_set(&p, i / 4 % 4, i / 16, i % 4, i % 2 ? 3e38f : -3e38f);
    const char *path = fixture_path("huge.stex");
    TexConvertReport report = picture_convert(&p, path, NULL);
    assert_int_equal(report.non_finite_texels, 16);
    FileImage image = file_image_load(path);
    for (uint32_t l = 0; l < image.level_count; ++l)
        for (uint32_t i = 0; i < image.levels[l].width * image.levels[l].height * 4; ++i)
            assert_true(fabsf(image.levels[l].rgba[i]) <= 1e30f);
    file_image_free(&image);
    picture_free(&p);
}

/* 16-bit integers that nobody calls sRGB are heights and the like: every code stays what it is. */
static void test_convert_keeps_wide_integers(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(256, 256, 1, SORT_TEXEL_U16, SORT_COLOR_UNKNOWN);
    for (uint32_t i = 0; i < 65536; ++i)
        *(uint16_t *)picture_at(&p, i % 256, i / 256) = (uint16_t)i;
    const char *path = fixture_path("height.stex");
    picture_convert(&p, path, NULL);
    TexInfo info;
    Error err = {0};
    assert_int_equal(texcache_file_info(path, &info, &err), STATUS_OK);
    assert_int_equal(info.type, SORT_TEXEL_U16);
    assert_int_equal(info.color_space, SORT_COLOR_LINEAR);
    FileImage image = file_image_load(path);
    for (uint32_t i = 0; i < 65536; ++i)
        assert_int_equal(lrintf(image.levels[0].rgba[(size_t)i * 4] * 65535.0f), i);
    file_image_free(&image);
    picture_free(&p);
}

/* A wish for sRGB holds for floats too. */
static void test_convert_decodes_floats_that_are_srgb(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(1, 1, 4, SORT_TEXEL_FLOAT, SORT_COLOR_SRGB);
    for (uint32_t c = 0; c < 4; ++c)
        picture_set(&p, 0, 0, c, 0.5f);
    picture_convert(&p, fixture_path("encoded.stex"), NULL);
    FileImage image = file_image_load(fixture_path("encoded.stex"));
    assert_float_equal(image.levels[0].rgba[0], 0.21404, 1e-4);
    assert_true(image.levels[0].rgba[3] == 0.5f);
    file_image_free(&image);
    picture_free(&p);
}

static void test_mip_negative_alpha_weighs_nothing(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(2, 1, 4, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    static const float texels[2][4] = {{1, 2, 3, 1}, {50, 60, 70, -0.999f}};
    for (uint32_t i = 0; i < 8; ++i)
        picture_set(&p, i / 4, 0, i % 4, texels[i / 4][i % 4]);
    picture_convert(&p, fixture_path("negative.stex"), NULL);
    FileImage image = file_image_load(fixture_path("negative.stex"));
    const float *mean = image.levels[1].rgba;
    assert_true(mean[0] == 1.0f && mean[1] == 2.0f && mean[2] == 3.0f);
    assert_float_equal(mean[3], 0.0005f, 1e-6);
    file_image_free(&image);
    picture_free(&p);
}

static void test_convert_refuses_non_finite(void **state)
{
    SORT_UNUSED(state);
    Picture p = ones(4, 4, 3);
    picture_set(&p, 1, 1, 0, NAN);
    TexConvertDesc refuse = {.non_finite = TEX_NON_FINITE_REFUSE};
    Error err = {0};
    assert_int_equal(picture_try_convert(&p, fixture_path("refused.stex"), &refuse, &err),
                     STATUS_FORMAT);
    assert_non_null(strstr(err.text, "not finite"));
    TexInfo info;
    assert_int_equal(texcache_file_info(fixture_path("refused.stex"), &info, &err),
                     STATUS_NOT_FOUND);
    picture_free(&p);

    /* Without any neighbour. */
    p = picture_create(1, 1, 1, SORT_TEXEL_HALF, SORT_COLOR_LINEAR);
    *(half *)picture_at(&p, 0, 0) = 0x7c00; /* infinity */
    picture_convert(&p, fixture_path("alone.stex"), NULL);
    FileImage image = file_image_load(fixture_path("alone.stex"));
    assert_true(image.levels[0].rgba[0] == 0.0f);
    file_image_free(&image);
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
        cmocka_unit_test(test_mip_five_texels_weigh_two_two_one),
        cmocka_unit_test(test_mip_any_size_is_an_area_average),
        cmocka_unit_test(test_mip_constant_stays_constant),
        cmocka_unit_test(test_mip_color_is_weighted_by_coverage),
        cmocka_unit_test(test_convert_filters_srgb_in_linear_light),
        cmocka_unit_test(test_convert_stores_wide_srgb_linear),
        cmocka_unit_test(test_convert_keeps_wide_integers),
        cmocka_unit_test(test_convert_decodes_floats_that_are_srgb),
        cmocka_unit_test(test_convert_takes_neighbours_for_non_finite),
        cmocka_unit_test(test_convert_limits_huge_numbers),
        cmocka_unit_test(test_convert_refuses_non_finite),
        cmocka_unit_test(test_mip_negative_alpha_weighs_nothing),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
