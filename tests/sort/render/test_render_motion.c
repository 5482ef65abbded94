/* Pictures with motion: coverage of moving edges against the closed form, a lamp that moves, bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "tests/sort/render/render_kit.h"

enum { WIDTH = 64, HEIGHT = 8, SPEED_PX = 16, SAMPLES = 256 };

/* A mesh whose right edge goes from x = 20 to 36: its entry in the meshes section. */
static const char *add_stretching_quad(const Kit *kit)
{
    static const float arrays[] = {-50, -50, 0, 20, -50, 0, 20, 50, 0, -50, 50, 0,
                                   -50, -50, 0, 36, -50, 0, 36, 50, 0, -50, 50, 0};
    static const uint32_t indices[] = {0, 1, 2, 0, 2, 3};
    kit_write(kit, "meshes/stretching.bin", arrays, sizeof arrays);
    kit_write(kit, "meshes/indices.bin", indices, sizeof indices);
    return ",\n{\"name\": \"stretching\", \"vertex_count\": 4, \"triangle_count\": 2, "
           "\"positions\": "
           "{\"file\": \"meshes/stretching.bin\", \"type\": \"float32\", \"components\": 3, "
           "\"count\": 4}, \"indices\": {\"file\": \"meshes/indices.bin\", \"type\": \"uint32\", "
           "\"components\": 3, \"count\": 2}, \"motion\": [{\"positions\": {\"file\": "
           "\"meshes/stretching.bin\", \"offset_bytes\": 48, \"type\": \"float32\", "
           "\"components\": 3, "
           "\"count\": 4}}]}";
}

/* An orthographic camera that sees [0, 64] x [0, 8] metres, a pixel a metre, and a quad. */
static void write_scene(const Kit *kit, const char *camera, const char *instances, const char *rest)
{
    StrBuf meshes = {0}, json = {0};
    kit_add_quad(kit, &meshes, "quad",
                 (const float[4][3]){{-50, -50, 0}, {0, -50, 0}, {0, 50, 0}, {-50, 50, 0}});
    strbuf_printf(&meshes, "%s", add_stretching_quad(kit));
    kit_add_quad(kit, &meshes, "quadrant",
                 (const float[4][3]){{0, 0, 0}, {90, 0, 0}, {90, 90, 0}, {0, 90, 0}});
    kit_add_quad(kit, &meshes, "lamp",
                 (const float[4][3]){{-2, -2, 0}, {2, -2, 0}, {2, 2, 0}, {-2, 2, 0}});
    strbuf_printf(&json,
                  "{\"sort_package\": 1, \"settings\": {\"resolution\": [%d, %d], \"samples\": %d, "
                  "\"max_depth\": 2},\n"
                  "\"cameras\": [{\"name\": \"c\", \"type\": \"orthographic\", \"height_m\": %d, "
                  "%s}],\n\"meshes\": [%s],\n\"instances\": [%s],\n"
                  "\"materials\": [{\"name\": \"m\", \"shader\": \"unit:gltf_pbr\"}, "
                  "{\"name\": \"shine\", \"shader\": \"unit:gltf_pbr\", \"parameters\": "
                  "{\"base_color\": [0, 0, 0], \"emission_strength\": 5.0}}, "
                  "{\"name\": \"matt\", \"shader\": \"unit:gltf_pbr\", \"parameters\": "
                  "{\"metallic\": 0.0, \"specular\": 0.0}}]%s}",
                  WIDTH, HEIGHT, SAMPLES, HEIGHT, camera, strbuf_text(&meshes), instances, rest);
    kit_write_text(kit, "scene.json", strbuf_text(&json));
    strbuf_free(&meshes);
    strbuf_free(&json);
}

static const char still_camera[] = "\"transform\": [1,0,0,32, 0,1,0,4, 0,0,1,10, 0,0,0,1]";
static const char sky[] = ", \"environment\": {\"color\": [1, 1, 1]}";

/* Mean alpha by column, of 2048 samples each; independent ones would have a standard deviation of 0.011. */
static void columns(const Kit *kit, double out[WIDTH])
{
    uint32_t count;
    RenderOptions options = kit_options(kit);
    options.filter = PIXEL_FILTER_BOX;
    options.filter_width_px = 1;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count);
    assert_int_equal(count, WIDTH * HEIGHT);
    for (uint32_t x = 0; x < WIDTH; ++x) {
        out[x] = 0;
        for (uint32_t y = 0; y < HEIGHT; ++y)
            out[x] += (double)rgba[4 * (y * WIDTH + x) + 3] / HEIGHT;
    }
    mem_free(rgba);
    render_destroy(render);
}

/* Integral of the share of the shutter in which an edge that goes from `start` to `end` has passed x. */
static double passed_before(double x, double start, double end)
{
    double s = fmin(fmax(x, start), end) - start, length = end - start;
    return fmax(0, fmin(x, start)) + s - s * s / (2 * length);
}

static void expect_ramp(const Kit *kit, double start, double end)
{
    double found[WIDTH], sum = 0;
    columns(kit, found);
    for (int x = 0; x < WIDTH; ++x) {
        double expected = passed_before(x + 1, start, end) - passed_before(x, start, end);
        sum += found[x];
        if (!(fabs(found[x] - expected) < 0.01))
            fail_msg("column %d is covered %.4f, not %.4f", x, found[x], expected);
    }
    /* The coverage in the mean over time, with five standard deviations over seeds. */
    assert_true(fabs(sum - 0.5 * (start + end)) < 0.05);
}

/* numerical-references 18: a ramp as wide as the edge moves. */
static void test_render_motion_edge_gives_a_linear_ramp(void **state)
{
    const Kit *kit = *state;
    write_scene(kit, still_camera,
                "{\"name\": \"q\", \"mesh\": \"quad\", \"materials\": [\"m\"], \"motion\": ["
                "[1,0,0,20, 0,1,0,0, 0,0,1,0, 0,0,0,1], [1,0,0,36, 0,1,0,0, 0,0,1,0, 0,0,0,1]]}",
                "");
    expect_ramp(kit, 20, 20 + SPEED_PX);
}

/* Three keys: a quarter of the way in the first half of the shutter, the rest in the second. */
static void test_render_motion_keys_are_spread_over_the_shutter(void **state)
{
    const Kit *kit = *state;
    double found[WIDTH];
    write_scene(kit, still_camera,
                "{\"name\": \"q\", \"mesh\": \"quad\", \"materials\": [\"m\"], \"motion\": ["
                "[1,0,0,20, 0,1,0,0, 0,0,1,0, 0,0,0,1], [1,0,0,24, 0,1,0,0, 0,0,1,0, 0,0,0,1], "
                "[1,0,0,36, 0,1,0,0, 0,0,1,0, 0,0,0,1]]}",
                "");
    columns(kit, found);
    for (int x = 0; x < WIDTH; ++x) {
        double first = passed_before(x + 1, 20, 24) - passed_before(x, 20, 24);
        double second = passed_before(x + 1, 24, 36) - passed_before(x, 24, 36);
        if (!(fabs(found[x] - 0.5 * (first + second)) < 0.01))
            fail_msg("column %d is covered %.4f, not %.4f", x, found[x], 0.5 * (first + second));
    }
}

static void test_render_motion_of_the_camera_gives_the_same_ramp(void **state)
{
    const Kit *kit = *state;
    write_scene(kit,
                "\"motion\": [[1,0,0,44, 0,1,0,4, 0,0,1,10, 0,0,0,1], "
                "[1,0,0,28, 0,1,0,4, 0,0,1,10, 0,0,0,1]]",
                "{\"name\": \"q\", \"mesh\": \"quad\", \"materials\": [\"m\"], \"transform\": "
                "[1,0,0,32, 0,1,0,0, 0,0,1,0, 0,0,0,1]}",
                "");
    expect_ramp(kit, 20, 20 + SPEED_PX);
}

static void test_render_motion_of_vertices_gives_the_same_ramp(void **state)
{
    const Kit *kit = *state;
    write_scene(kit, still_camera,
                "{\"name\": \"q\", \"mesh\": \"stretching\", \"materials\": [\"m\"]}", "");
    expect_ramp(kit, 20, 20 + SPEED_PX);
}

/* Area of the picture's upper half between its axis to the right and a direction in [0, pi]. */
static double covered(double angle)
{
    const double w = WIDTH / 2, h = HEIGHT / 2, t = tan(fmin(angle, 3.14159265358979 - angle));
    double wedge = w * t < h ? 0.5 * w * w * t : w * h - 0.5 * h * h / t;
    return angle <= 3.14159265358979 / 2 ? wedge : 2 * w * h - wedge;
}

/* A quadrant that turns by 90 degrees about its corner, in keys of 10: what lies in direction a is covered for the
 * share of the shutter that its edges need to come to a. */
static void test_render_motion_quadrant_gives_the_arc_fraction(void **state)
{
    enum { TURN_KEYS = 10 };
    const Kit *kit = *state;
    const float pi = 3.14159265f;
    StrBuf instance = {0};
    strbuf_printf(&instance, "{\"name\": \"q\", \"mesh\": \"quadrant\", \"materials\": [\"m\"], "
                             "\"motion\": [");
    for (int k = 0; k < TURN_KEYS; ++k) {
        float a = 0.5f * pi * (float)k / (TURN_KEYS - 1);
        double c = (double)cosf(a), s = (double)sinf(a);
        strbuf_printf(&instance, "%s[%.9g,%.9g,0,32, %.9g,%.9g,0,4, 0,0,1,0, 0,0,0,1]",
                      k ? ", " : "", c, -s, s, c);
    }
    strbuf_printf(&instance, "]}");
    write_scene(kit, still_camera, strbuf_text(&instance), "");
    strbuf_free(&instance);
    uint32_t count;
    RenderOptions options = kit_options(kit);
    options.filter = PIXEL_FILTER_BOX;
    options.filter_width_px = 1;
    SETTING_SET(options.settings, samples, 1024);
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count);
    double sum = 0;
    for (int y = 0; y < HEIGHT; ++y) {
        for (int x = 0; x < WIDTH; ++x) {
            float dx = (float)x + 0.5f - 32, dy = 4 - (float)y - 0.5f, angle = atan2f(dy, dx);
            double found = (double)rgba[4 * (y * WIDTH + x) + 3];
            sum += found;
            /* where a pixel is narrow seen from the corner, or the arc's end is far */
            bool is_near_end = fabsf(remainderf(angle, 0.5f * pi)) < 0.1f;
            if (dx * dx + dy * dy < 100 || is_near_end)
                continue;
            double share = (double)(angle < 0 ? 0 : angle / (0.5f * pi));
            double expected = share > 1 ? 2 - share : share;
            if (!(fabs(found - expected) < 0.05))
                fail_msg("pixel %d %d is covered %.3f, not %.3f", x, y, found, expected);
        }
    }
    /* a quarter of the upper half on either side at all times: the mean over both */
    double area = 0;
    for (int k = 0; k < 4000; ++k) {
        double a = (double)pi / 2 * (k + 0.5) / 4000, b = a + (double)pi / 2;
        area += (covered(b) - covered(a)) / 4000;
    }
    if (!(fabs(sum - area) < 0.5))
        fail_msg("the sum of alpha is %.3f, not %.3f", sum, area);
    mem_free(rgba);
    render_destroy(render);
}

static double mean_light_by(const Kit *kit, WaveStrategy strategy)
{
    uint32_t count;
    double mean, spread;
    RenderOptions options = kit_options(kit);
    options.strategy = strategy;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 1, &mean, &spread);
    mem_free(rgba);
    render_destroy(render);
    return mean;
}

static double mean_light(const Kit *kit)
{
    return mean_light_by(kit, WAVE_STRATEGY_MIS);
}

/* A lamp behind the camera. With motion keys that are all the same it gives what the still one gives; one that moves fast
 * and turns is found by all strategies alike. */
static void test_render_motion_lamps_light_as_much_as_still_ones(void **state)
{
    const Kit *kit = *state;
    static const char wall[] =
        "{\"name\": \"q\", \"mesh\": \"quad\", \"materials\": [\"matt\"], \"transform\": "
        "[2,0,0,80, 0,2,0,0, 0,0,1,0, 0,0,0,1]}, "
        "{\"name\": \"l\", \"mesh\": \"lamp\", \"materials\": [\"shine\"], ";
    char instances[1024];
    snprintf(instances, sizeof instances, "%s%s}", wall,
             "\"transform\": [8,0,0,32, 0,8,0,4, 0,0,-1,20, 0,0,0,1]");
    write_scene(kit, still_camera, instances, "");
    double still = mean_light(kit);
    snprintf(instances, sizeof instances, "%s%s}", wall,
             "\"motion\": [[8,0,0,32, 0,8,0,4, 0,0,-1,20, 0,0,0,1], "
             "[8,0,0,32, 0,8,0,4, 0,0,-1,20, 0,0,0,1]]");
    write_scene(kit, still_camera, instances, "");
    double moving = mean_light(kit);
    assert_true(still > 0.1);
    if (!(fabs(still - moving) < 0.005 * still))
        fail_msg("still %g, moving %g", still, moving);
    snprintf(instances, sizeof instances, "%s%s}", wall,
             "\"motion\": [[8,0,0,12, 0,8,0,4, 0,0,-1,20, 0,0,0,1], "
             "[5.6,0,5.6,62, 0,8,0,10, 5.6,0,-5.6,8, 0,0,0,1]]");
    write_scene(kit, still_camera, instances, "");
    double by_strategy[3];
    for (int k = 0; k < 3; ++k)
        by_strategy[k] = mean_light_by(kit, (WaveStrategy)k);
    if (!(fabs(by_strategy[0] - still) > 0.03 * still)) /* or it would show nothing */
        fail_msg("still %g, moving %g", still, by_strategy[0]);
    for (int k = 1; k < 3; ++k)
        if (!(fabs(by_strategy[k] - by_strategy[0]) < 0.01 * by_strategy[0]))
            fail_msg("MIS %g, strategy %d %g", by_strategy[0], k, by_strategy[k]);
}

static void test_render_motion_bits_do_not_depend_on_threads_or_waves(void **state)
{
    const Kit *kit = *state;
    write_scene(kit,
                "\"motion\": [[1,0,0,32, 0,1,0,4, 0,0,1,10, 0,0,0,1], "
                "[0.9553365,-0.2955202,0,30, 0.2955202,0.9553365,0,4, 0,0,1,12, 0,0,0,1]]",
                "{\"name\": \"q\", \"mesh\": \"quad\", \"materials\": [\"matt\"], \"transform\": "
                "[2,0,0,80, 0,2,0,0, 0,0,1,0, 0,0,0,1]}, "
                "{\"name\": \"l\", \"mesh\": \"lamp\", \"materials\": [\"m\"], \"motion\": "
                "[[1,0,0,20, 0,1,0,4, 0,0,1,2, 0,0,0,1], [0,-1,0,36, 1,0,0,4, 0,0,1,3, 0,0,0,1]]}",
                sky);
    RenderOptions options = kit_options(kit);
    SETTING_SET(options.settings, samples, 16);
    kit_assert_equal_bits(kit, &options);
}

static int setup(void **state)
{
    static Kit kit;
    kit_begin(&kit);
    *state = &kit;
    return 0;
}

static int teardown(void **state)
{
    kit_end(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render_motion_edge_gives_a_linear_ramp),
        cmocka_unit_test(test_render_motion_keys_are_spread_over_the_shutter),
        cmocka_unit_test(test_render_motion_of_the_camera_gives_the_same_ramp),
        cmocka_unit_test(test_render_motion_of_vertices_gives_the_same_ramp),
        cmocka_unit_test(test_render_motion_quadrant_gives_the_arc_fraction),
        cmocka_unit_test(test_render_motion_lamps_light_as_much_as_still_ones),
        cmocka_unit_test(test_render_motion_bits_do_not_depend_on_threads_or_waves),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
