/* The views: what they show is what is known of a wall that faces the camera. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "tests/sort/render/render_kit.h"

enum { SIDE = 32, TEXTURE_PX = 256 };

static const char painted_ssl[] =
    "texture2d paint;\nshader painted(out closure surface)\n{\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    surface = make_closure<Lambert>(texture2d_sample<paint>(uvw.x, uvw.y), "
    "global_value<normal>);\n}\n";

/* A wall of 2 x 2 m, uv from 0 to 1, seen from 1 m; it fills the picture at 90 degrees. With `is_closed` it is one
 * of the walls of a room. */
static void begin(Kit *kit, bool is_closed, float fov_degrees)
{
    static const float front[4][3] = {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}};
    static const float back[4][3] = {{-1, -1, 2}, {-1, 1, 2}, {1, 1, 2}, {1, -1, 2}};
    static const float left[4][3] = {{-1, -1, 0}, {-1, 1, 0}, {-1, 1, 2}, {-1, -1, 2}};
    static const float right[4][3] = {{1, -1, 0}, {1, -1, 2}, {1, 1, 2}, {1, 1, 0}};
    static const float floor[4][3] = {{-1, -1, 0}, {-1, -1, 2}, {1, -1, 2}, {1, -1, 0}};
    static const float ceiling[4][3] = {{-1, 1, 0}, {1, 1, 0}, {1, 1, 2}, {-1, 1, 2}};
    StrBuf meshes = {0}, instances = {0};
    uint8_t *pixels = mem_alloc((size_t)TEXTURE_PX * TEXTURE_PX, 3);
    assert_non_null(pixels);
    for (size_t i = 0; i < (size_t)3 * TEXTURE_PX * TEXTURE_PX; ++i)
        pixels[i] = (uint8_t)hash_mix64(i);
    kit_begin(kit);
    kit_write_text(kit, "shaders/painted.ssl", painted_ssl);
    kit_write_png(kit, "textures/paint.png", TEXTURE_PX, TEXTURE_PX, pixels);
    mem_free(pixels);
    kit_add_quad(kit, &meshes, "wall", front);
    strbuf_printf(&instances, "{\"name\": \"wall\", \"mesh\": \"wall\", \"materials\": [\"m\"]}");
    if (is_closed) {
        static const char *const names[] = {"b", "l", "r", "f", "c"};
        const float(*const others[])[3] = {back, left, right, floor, ceiling};
        for (int i = 0; i < 5; ++i) {
            kit_add_quad(kit, &meshes, names[i], others[i]);
            strbuf_printf(&instances,
                          ", {\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"m\"]}",
                          names[i], names[i]);
        }
    }
    kit_write_scene(
        kit,
        &(KitScene){.width = SIDE,
                    .height = SIDE,
                    .samples = 16,
                    .max_depth = 3,
                    .eye = {0, 0, 1},
                    .fov_y_degrees = fov_degrees,
                    .meshes = strbuf_text(&meshes),
                    .instances = strbuf_text(&instances),
                    .materials = "{\"name\": \"m\", \"shader\": \"shaders/painted.ssl\", "
                                 "\"textures\": {\"paint\": {\"file\": \"textures/paint.png\"}}}",
                    .environment = "{\"color\": [5, 5, 5]}"});
    strbuf_free(&meshes);
    strbuf_free(&instances);
}

static float *show(const Kit *kit, RenderOptions options, WaveView view)
{
    uint32_t count;
    options.view = view;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count);
    assert_int_equal(count, SIDE * SIDE);
    render_destroy(render);
    return rgba;
}

static void test_views_show_geometry(void **state)
{
    (void)state;
    Kit kit;
    begin(&kit, false, 90);
    float *normal = show(&kit, kit_options(&kit), WAVE_VIEW_NORMAL);
    float *uv = show(&kit, kit_options(&kit), WAVE_VIEW_UV);
    float *derivative = show(&kit, kit_options(&kit), WAVE_VIEW_DERIVATIVE);
    for (uint32_t y = 2; y < SIDE - 2; ++y)
        for (uint32_t x = 2; x < SIDE - 2; ++x) {
            size_t at = 4 * (size_t)(y * SIDE + x);
            const float expected[2][3] = {
                {0.5f, 0.5f, 1.0f}, {((float)x + 0.5f) / SIDE, 1 - ((float)y + 0.5f) / SIDE, 0}};
            for (int c = 0; c < 3; ++c) {
                assert_true(fabsf(normal[at + c] - expected[0][c]) < 1e-4f);
                assert_true(fabsf(uv[at + c] - expected[1][c]) < 0.02f);
            }
            /* 1/32 of the texture a pixel in both directions: 2^-5. */
            assert_true(fabsf(derivative[at] - 11.0f / 16) < 1e-3f);
            assert_true(fabsf(derivative[at + 1] - 11.0f / 16) < 1e-3f);
        }
    mem_free(normal);
    mem_free(uv);
    mem_free(derivative);
    kit_end(&kit);
}

/* 8 texels a pixel; the footprint is that of 16 samples, a quarter: 2 texels, level 1, orange. */
static void test_views_show_mip_levels(void **state)
{
    (void)state;
    Kit kit;
    begin(&kit, false, 90);
    RenderOptions options = kit_options(&kit);
    float *rgba = show(&kit, options, WAVE_VIEW_MIP);
    options.mip_bias = 2;
    float *biased = show(&kit, options, WAVE_VIEW_MIP);
    size_t middle = 4 * (size_t)(SIDE / 2 * SIDE + SIDE / 2);
    assert_true(rgba[middle] > 0.9f && fabsf(rgba[middle + 1] - 0.5f) < 0.03f &&
                rgba[middle + 2] < 0.1f);
    /* Level 3: green. */
    assert_true(biased[middle + 1] > 0.7f && biased[middle] < 0.2f && biased[middle + 2] < 0.25f);
    mem_free(rgba);
    mem_free(biased);
    kit_end(&kit);
}

/* Twice as far as the wall reaches: 2 * atan(2). A pixel steps over 4 m / 32, which is 1/16 of the texture or 16 texels;
 * the footprint is that of 16 samples, a quarter, so that the level is 2. Around the wall nothing is known. */
static void test_layers_hold_what_views_show(void **state)
{
    (void)state;
    Kit kit;
    begin(&kit, false, 126.8698976f);
    RenderOptions options = kit_options(&kit);
    options.aovs = FILM_AOV_BIT(FILM_AOV_MIP) | FILM_AOV_BIT(FILM_AOV_DERIVATIVE);
    for (int biased = 0; biased < 2; ++biased) {
        options.mip_bias = 1.5f * (float)biased;
        Render *render = kit_render(&kit, &options);
        float *mip = kit_aov(render, FILM_AOV_MIP);
        float *derivative = kit_aov(render, FILM_AOV_DERIVATIVE);
        for (uint32_t y = 0; y < SIDE; ++y)
            for (uint32_t x = 0; x < SIDE; ++x) {
                size_t at = (size_t)y * SIDE + x;
                uint32_t from_middle_x = x < SIDE / 2 ? SIDE / 2 - 1 - x : x - SIDE / 2;
                uint32_t from_middle_y = y < SIDE / 2 ? SIDE / 2 - 1 - y : y - SIDE / 2;
                uint32_t ring = from_middle_x > from_middle_y ? from_middle_x : from_middle_y;
                if (ring < SIDE / 4 - 2) {
                    assert_true(fabsf(mip[at] - (2.0f + options.mip_bias)) < 1e-3f);
                    assert_true(fabsf(derivative[2 * at] - 0.0625f) < 1e-5f);
                    assert_true(fabsf(derivative[2 * at + 1] - 0.0625f) < 1e-5f);
                } else if (ring > SIDE / 4 + 1) {
                    assert_true(mip[at] == FILM_UNKNOWN);
                    assert_true(derivative[2 * at] == 0.0f && derivative[2 * at + 1] == 0.0f);
                } else if (mip[at] != FILM_UNKNOWN) {
                    /* Samples beside the wall do not count. */
                    assert_true(fabsf(mip[at] - (2.0f + options.mip_bias)) < 1e-3f);
                }
            }
        mem_free(mip);
        mem_free(derivative);
        render_destroy(render);
    }
    kit_end(&kit);
}

/* Layers are looked at, not rendered with: the picture's bits do not depend on them. */
static void test_layers_change_no_picture(void **state)
{
    (void)state;
    Kit kit;
    begin(&kit, true, 90);
    RenderOptions options = kit_options(&kit);
    Hash128 plain = kit_render_bits(&kit, &options, NULL);
    options.aovs = FILM_AOV_BIT(FILM_AOV_MIP) | FILM_AOV_BIT(FILM_AOV_DERIVATIVE);
    Hash128 with_layers = kit_render_bits(&kit, &options, NULL);
    assert_true(hash128_equal(plain, with_layers));
    kit_end(&kit);
}

/* Times are not reproducible, so what can be said is what bounds them: the stages that are measured inside a sample's
 * time, and the clock around the render, of one thread. The paths are those of a picture: their layers have its bits. */
static void test_views_show_cost(void **state)
{
    (void)state;
    Kit kit;
    begin(&kit, false, 126.8698976f);
    RenderOptions options = kit_options(&kit);
    options.thread_count = 1;
    options.aovs = FILM_AOV_BIT(FILM_AOV_DEPTH) | FILM_AOV_BIT(FILM_AOV_MIP);
    Render *picture = kit_render(&kit, &options);
    options.view = WAVE_VIEW_COST;
    uint64_t start_ns = clock_now_ns();
    Render *render = kit_render(&kit, &options);
    double elapsed_ms = clock_seconds_since(start_ns) * 1e3, sum_ms = 0, stages_ms = 0;
    RenderStats stats;
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    render_stats(render, &stats);
    for (uint32_t i = 0; i < count; ++i) {
        assert_true(rgba[4 * i] > 0.0f && rgba[4 * i] == rgba[4 * i + 2]);
        sum_ms += 16.0 * (double)rgba[4 * i];
    }
    for (int s = 0; s < WAVE_STAGE_COMMIT; ++s)
        stages_ms += (double)stats.wave.stage_ns[s] * 1e-6;
    assert_true(sum_ms >= 0.999 * stages_ms && sum_ms <= elapsed_ms);
    for (FilmAov aov = FILM_AOV_DEPTH; aov != FILM_AOV_COUNT; aov = (FilmAov)(aov + 1)) {
        if (!film_aovs_have(options.aovs, aov))
            continue;
        float *timed = kit_aov(render, aov), *untimed = kit_aov(picture, aov);
        assert_memory_equal(timed, untimed, count * sizeof *timed);
        mem_free(timed);
        mem_free(untimed);
    }
    mem_free(rgba);
    render_destroy(render);
    render_destroy(picture);
    kit_end(&kit);
}

static void test_views_show_openness(void **state)
{
    (void)state;
    for (int is_closed = 0; is_closed < 2; ++is_closed) {
        Kit kit;
        begin(&kit, is_closed, 90);
        RenderOptions options = kit_options(&kit);
        SETTING_SET(options.settings, ao_distance_m, 100.0f);
        float *rgba = show(&kit, options, WAVE_VIEW_AO);
        /* No ray from an open wall meets anything, and every ray in a room does. */
        for (uint32_t y = 1; y < SIDE - 1; ++y)
            for (uint32_t x = 1; x < SIDE - 1; ++x)
                assert_true(rgba[4 * (y * SIDE + x)] == (is_closed ? 0.0f : 1.0f));
        mem_free(rgba);
        kit_end(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_show_geometry),
        cmocka_unit_test(test_views_show_mip_levels),
        cmocka_unit_test(test_layers_hold_what_views_show),
        cmocka_unit_test(test_layers_change_no_picture),
        cmocka_unit_test(test_views_show_cost),
        cmocka_unit_test(test_views_show_openness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
