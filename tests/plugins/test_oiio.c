/* The OpenImageIO decoder on small files whose texels are known by formula: data/make_fixtures.py. */
#include "base/half.h"
#include "plugins/plugin_host.h"
#include "textures/format/stex_format.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct Fixture {
    PluginHost *host;
    const SortImageDecoder *decoder;
    const SortHostApi *api;
    char said[512]; /* the last message */
    bool is_cancelled;
} Fixture;

static Fixture fixture;

static void hear(void *data, SortLogLevel level, const char *plugin, const char *text)
{
    (void)level, (void)plugin;
    snprintf(((Fixture *)data)->said, sizeof fixture.said, "%s", text);
}

static bool is_cancelled(void *data)
{
    return ((Fixture *)data)->is_cancelled;
}

static int set_up(void **state)
{
    (void)state;
    PluginHostDesc desc = {
        .size_bytes = sizeof desc, .data = &fixture, .log = hear, .cancelled = is_cancelled};
    Error err = {0};
    if (plugin_host_create(&desc, &fixture.host, &err) != STATUS_OK ||
        plugin_host_decoder_for(fixture.host, "x.png", &fixture.decoder, &err) != STATUS_OK) {
        print_error("%s\n", err.text);
        return 1;
    }
    fixture.api = plugin_host_decoder_api(fixture.host, fixture.decoder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    plugin_host_destroy(fixture.host);
    return 0;
}

static SortImage *open_fixture(const char *name, SortLevelInfo *out_info)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA_DIR, name);
    fixture.said[0] = '\0';
    SortImage *image = NULL;
    SortFailure why = {{0}};
    if (fixture.decoder->open(fixture.api, path, &image, &why) != SORT_OK)
        fail_msg("%s: %s", name, why.text);
    *out_info = (SortLevelInfo){.size_bytes = sizeof *out_info};
    if (fixture.decoder->level(image, 0, 0, out_info, &why) != SORT_OK)
        fail_msg("%s: %s", name, why.text);
    return image;
}

/* One component as a number; integers as they are. */
static double component(const SortLevelInfo *info, const void *texels, size_t index)
{
    switch (info->type) {
    case SORT_TEXEL_U8:
        return ((const uint8_t *)texels)[index];
    case SORT_TEXEL_U16:
        return ((const uint16_t *)texels)[index];
    case SORT_TEXEL_HALF:
        return (double)half_to_float(((const uint16_t *)texels)[index]);
    case SORT_TEXEL_FLOAT:
        return (double)((const float *)texels)[index];
    }
    return (double)NAN;
}

static double ramp_u8(uint32_t x, uint32_t y, uint32_t c)
{
    return (40 * x + 20 * y + 10 * c) % 256;
}

static double ramp_u16(uint32_t x, uint32_t y, uint32_t c)
{
    return 4000 * x + 2000 * y + 100 * c;
}

static double ramp_half(uint32_t x, uint32_t y, uint32_t c)
{
    return (double)half_to_float(half_from_float((float)(ramp_u16(x, y, c) / 1000)));
}

static double ramp_float(uint32_t x, uint32_t y, uint32_t c)
{
    return ramp_u16(x, y, c) / 1000;
}

typedef double (*Ramp)(uint32_t x, uint32_t y, uint32_t c);

/* Reads a region and compares it with the formula; (ramp_x, ramp_y) is where texel 0,0 of the level
 * lies in the ramp; what lies outside the ramp's 5 x 3 (or width x height) must be zero. */
static void expect_region(SortImage *image, const SortLevelInfo *info, SortRegion region, Ramp ramp,
                          int ramp_x, int ramp_y, int width, int height, double tolerance)
{
    size_t count = (size_t)region.width * region.height * info->channel_count;
    size_t bytes = count * stex_component_bytes(info->type);
    void *texels = malloc(bytes);
    memset(texels, 0xab, bytes);
    SortFailure why = {{0}};
    if (fixture.decoder->read(image, &region, texels, bytes, &why) != SORT_OK)
        fail_msg("%s", why.text);
    for (uint32_t y = 0; y < region.height; ++y)
        for (uint32_t x = 0; x < region.width; ++x)
            for (uint32_t c = 0; c < info->channel_count; ++c) {
                int rx = (int)(region.x + x) + ramp_x, ry = (int)(region.y + y) + ramp_y;
                bool is_inside = rx >= 0 && ry >= 0 && rx < width && ry < height;
                double wanted = is_inside ? ramp((uint32_t)rx, (uint32_t)ry, c) : 0;
                double got = component(info, texels,
                                       ((size_t)y * region.width + x) * info->channel_count + c);
                if (!(fabs(got - wanted) <= tolerance))
                    fail_msg("texel %u,%u channel %u is %g, not %g", region.x + x, region.y + y, c,
                             got, wanted);
            }
    free(texels);
}

typedef struct Facts {
    const char *name;
    SortTexelType type;
    uint32_t channel_count;
    SortColorSpace color_space;
    int32_t alpha_channel;
    bool is_premultiplied;
    const char *format_name;
    Ramp ramp; /* NULL: texels are not known exactly */
    double tolerance;
} Facts;

static void test_oiio_tells_type_channels_colour_and_alpha(void **state)
{
    (void)state;
    static const Facts rows[] = {
        {"rgba_u8.png", SORT_TEXEL_U8, 4, SORT_COLOR_UNKNOWN, 3, false, "png", ramp_u8, 0},
        {"rgb_u8.png", SORT_TEXEL_U8, 3, SORT_COLOR_UNKNOWN, -1, false, "png", ramp_u8, 0},
        {"gray_alpha_u8.png", SORT_TEXEL_U8, 2, SORT_COLOR_UNKNOWN, 1, false, "png", ramp_u8, 0},
        {"gray_u16.png", SORT_TEXEL_U16, 1, SORT_COLOR_UNKNOWN, -1, false, "png", ramp_u16, 0},
        {"rgba_u16.png", SORT_TEXEL_U16, 4, SORT_COLOR_UNKNOWN, 3, false, "png", ramp_u16, 0},
        {"linear_u8.png", SORT_TEXEL_U8, 3, SORT_COLOR_LINEAR, -1, false, "png", ramp_u8, 0},
        {"srgb_u16.png", SORT_TEXEL_U16, 1, SORT_COLOR_SRGB, -1, false, "png", ramp_u16, 0},
        {"gamma_u16.png", SORT_TEXEL_U16, 1, SORT_COLOR_SRGB, -1, false, "png", ramp_u16, 0},
        {"cicp_srgb_u16.png", SORT_TEXEL_U16, 3, SORT_COLOR_SRGB, -1, false, "png", ramp_u16, 0},
        {"cicp_linear_u8.png", SORT_TEXEL_U8, 3, SORT_COLOR_LINEAR, -1, false, "png", ramp_u8, 0},
        {"icc_linear_u8.png", SORT_TEXEL_U8, 1, SORT_COLOR_LINEAR, -1, false, "png", ramp_u8, 0},
        {"icc_gamma_u16.png", SORT_TEXEL_U16, 1, SORT_COLOR_SRGB, -1, false, "png", ramp_u16, 0},
        {"icc_srgb_u16.png", SORT_TEXEL_U16, 1, SORT_COLOR_SRGB, -1, false, "png", ramp_u16, 0},
        {"u16.tif", SORT_TEXEL_U16, 3, SORT_COLOR_SRGB, -1, false, "tiff", ramp_u16, 0},
        {"float.tif", SORT_TEXEL_FLOAT, 3, SORT_COLOR_UNKNOWN, -1, false, "tiff", ramp_float, 2e-6},
        {"int16.tif", SORT_TEXEL_FLOAT, 3, SORT_COLOR_SRGB, -1, false, "tiff", NULL, 0},
        {"half.exr", SORT_TEXEL_HALF, 3, SORT_COLOR_LINEAR, -1, false, "openexr", ramp_half, 0},
        {"rgba.exr", SORT_TEXEL_HALF, 4, SORT_COLOR_LINEAR, 3, true, "openexr", NULL, 0},
        {"float.hdr", SORT_TEXEL_FLOAT, 3, SORT_COLOR_LINEAR, -1, false, "hdr", ramp_float, 0.13},
        {"rgba.tga", SORT_TEXEL_U8, 4, SORT_COLOR_UNKNOWN, 3, false, "targa", NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const Facts *f = &rows[i];
        SortLevelInfo info;
        SortImage *image = open_fixture(f->name, &info);
        bool is_as_told = info.width == 5 && info.height == 3 && info.type == f->type &&
                          info.channel_count == f->channel_count &&
                          info.alpha_channel == f->alpha_channel && info.tile_width == 0 &&
                          info.level_count == 1 && info.subimage_count == 1 &&
                          info.is_premultiplied == f->is_premultiplied &&
                          strcmp(info.format_name, f->format_name) == 0;
        if (!is_as_told || info.color_space != f->color_space)
            fail_msg("%s: %ux%u type %d, %u channels, space %d, alpha %d, premultiplied %d, %s",
                     f->name, info.width, info.height, (int)info.type, info.channel_count,
                     (int)info.color_space, info.alpha_channel, (int)info.is_premultiplied,
                     info.format_name);
        if (f->ramp)
            expect_region(image, &info, (SortRegion){.width = 5, .height = 3}, f->ramp, 0, 0, 5, 3,
                          f->tolerance);
        fixture.decoder->close(image);
    }
}

static void test_oiio_reads_parts_of_rows(void **state)
{
    (void)state;
    SortLevelInfo info;
    SortImage *image = open_fixture("rgba_u8.png", &info);
    for (uint32_t y = 0; y < 3; ++y)
        for (uint32_t x = 0; x < 5; ++x)
            for (uint32_t height = 1; y + height <= 3; ++height)
                for (uint32_t width = 1; x + width <= 5; ++width)
                    expect_region(image, &info,
                                  (SortRegion){.x = x, .y = y, .width = width, .height = height},
                                  ramp_u8, 0, 0, 5, 3, 0);
    fixture.decoder->close(image);
}

static void test_oiio_reads_tiles_across_and_within(void **state)
{
    (void)state;
    SortLevelInfo info;
    SortImage *image = open_fixture("tiled.tx", &info);
    assert_int_equal(info.tile_width, 16);
    assert_int_equal(info.tile_height, 16);
    assert_int_equal(info.width, 40);
    assert_int_equal(info.height, 24);
    assert_int_equal(info.level_count, 6);
    static const SortRegion regions[] = {{.width = 40, .height = 24},
                                         {.x = 16, .y = 16, .width = 16, .height = 8},
                                         {.x = 32, .y = 0, .width = 8, .height = 16},
                                         {.x = 3, .y = 5, .width = 30, .height = 17},
                                         {.x = 39, .y = 23, .width = 1, .height = 1},
                                         {.x = 0, .y = 9, .width = 40, .height = 3}};
    for (size_t i = 0; i < sizeof regions / sizeof regions[0]; ++i)
        expect_region(image, &info, regions[i], ramp_u8, 0, 0, 40, 24, 0);
    fixture.decoder->close(image);
}

static void test_oiio_tells_the_size_of_each_level(void **state)
{
    (void)state;
    static const char *const names[] = {"tiled.tx", "tiled.exr"};
    static const uint32_t sizes[6][2] = {{40, 24}, {20, 12}, {10, 6}, {5, 3}, {2, 1}, {1, 1}};
    for (size_t n = 0; n < 2; ++n) {
        SortLevelInfo info;
        SortImage *image = open_fixture(names[n], &info);
        SortFailure why;
        assert_int_equal(info.level_count, 6);
        for (uint32_t level = 6; level-- > 0;) {
            info.size_bytes = sizeof info;
            assert_int_equal(fixture.decoder->level(image, 0, level, &info, &why), SORT_OK);
            assert_int_equal(info.width, sizes[level][0]);
            assert_int_equal(info.height, sizes[level][1]);
        }
        float texel[4];
        SortRegion last = {.level = 5, .width = 1, .height = 1};
        assert_int_equal(fixture.decoder->read(image, &last, texel, sizeof texel, &why), SORT_OK);
        assert_int_equal(fixture.decoder->level(image, 0, 6, &info, &why), SORT_ERROR_FORMAT);
        assert_string_equal(why.text, "level 6 of 6");
        assert_int_equal(fixture.decoder->level(image, 1, 0, &info, &why), SORT_ERROR_FORMAT);
        fixture.decoder->close(image);
    }
}

static void test_oiio_shows_the_display_window(void **state)
{
    (void)state;
    SortLevelInfo info;
    SortImage *image = open_fixture("window.exr", &info);
    assert_int_equal(info.width, 9);
    assert_int_equal(info.height, 6);
    expect_region(image, &info, (SortRegion){.width = 9, .height = 6}, ramp_half, -2, -1, 5, 3, 0);
    expect_region(image, &info, (SortRegion){.x = 3, .y = 2, .width = 2, .height = 2}, ramp_half,
                  -2, -1, 5, 3, 0);
    expect_region(image, &info, (SortRegion){.x = 0, .y = 5, .width = 9, .height = 1}, ramp_half,
                  -2, -1, 5, 3, 0);
    fixture.decoder->close(image);

    image = open_fixture("overscan.exr", &info);
    assert_int_equal(info.width, 4);
    assert_int_equal(info.height, 4);
    expect_region(image, &info, (SortRegion){.width = 4, .height = 4}, ramp_half, 2, 1, 5, 3, 0);
    fixture.decoder->close(image);
}

static void test_oiio_drops_channels_and_says_so(void **state)
{
    (void)state;
    SortLevelInfo info;
    SortImage *image = open_fixture("channels.exr", &info);
    assert_int_equal(info.channel_count, 3);
    assert_string_equal(fixture.said, "6 channels: only the first 3 are used");
    expect_region(image, &info, (SortRegion){.width = 5, .height = 3}, ramp_half, 0, 0, 5, 3, 0);
    fixture.decoder->close(image);
}

static void test_oiio_tells_subimages(void **state)
{
    (void)state;
    SortLevelInfo info;
    SortImage *image = open_fixture("parts.exr", &info);
    assert_int_equal(info.subimage_count, 2);
    expect_region(image, &info, (SortRegion){.subimage = 1, .width = 5, .height = 3}, ramp_half, 0,
                  0, 5, 3, 0);
    fixture.decoder->close(image);
}

static void test_oiio_refuses_with_words(void **state)
{
    (void)state;
    SortImage *image = NULL;
    SortFailure why = {{0}};
    const SortImageDecoder *d = fixture.decoder;
    assert_int_equal(d->open(fixture.api, TEST_DATA_DIR "/no_such_file.png", &image, &why),
                     SORT_ERROR_OPEN);
    assert_string_equal(why.text, "cannot be opened for reading");
    assert_null(image);
    assert_int_equal(d->open(fixture.api, TEST_DATA_DIR "/text.png", &image, &why),
                     SORT_ERROR_FORMAT);
    assert_non_null(strstr(why.text, "Not a PNG file"));
    assert_null(image);

    SortLevelInfo info;
    uint8_t texels[5 * 3 * 4], halves[5 * 3 * 3 * 2];
    image = open_fixture("truncated.exr", &info);
    SortRegion all = {.width = 5, .height = 3};
    assert_int_equal(d->read(image, &all, halves, sizeof halves, &why), SORT_ERROR_FORMAT);
    assert_true(strlen(why.text) > 5);
    d->close(image);

    image = open_fixture("rgba_u8.png", &info);
    assert_int_equal(d->read(image, &all, texels, sizeof texels - 1, &why), SORT_ERROR_UNSUPPORTED);
    assert_string_equal(why.text, "the region needs 60 bytes, 59 were given");
    SortRegion outside = {.x = 1, .width = 5, .height = 3};
    assert_int_equal(d->read(image, &outside, texels, sizeof texels, &why), SORT_ERROR_UNSUPPORTED);
    SortRegion wrapping = {.x = 2, .width = UINT32_MAX, .height = 1};
    assert_int_equal(d->read(image, &wrapping, texels, sizeof texels, &why),
                     SORT_ERROR_UNSUPPORTED);
    SortLevelInfo unset = {0};
    assert_int_equal(d->level(image, 0, 0, &unset, &why), SORT_ERROR_UNSUPPORTED);
    fixture.is_cancelled = true;
    assert_int_equal(d->read(image, &all, texels, sizeof texels, &why), SORT_ERROR_CANCELLED);
    fixture.is_cancelled = false;
    d->close(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oiio_tells_type_channels_colour_and_alpha),
        cmocka_unit_test(test_oiio_reads_parts_of_rows),
        cmocka_unit_test(test_oiio_reads_tiles_across_and_within),
        cmocka_unit_test(test_oiio_tells_the_size_of_each_level),
        cmocka_unit_test(test_oiio_shows_the_display_window),
        cmocka_unit_test(test_oiio_drops_channels_and_says_so),
        cmocka_unit_test(test_oiio_tells_subimages),
        cmocka_unit_test(test_oiio_refuses_with_words),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
