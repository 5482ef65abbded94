/* An environment that a shader makes: radiance in closed form over a white plane, and what the camera sees. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { SIZE = 16 };

static const char sky[] =
    "shader sky(int what, out closure surface)\n{\n"
    "    const float3 d = global_value<I>;\n"
    "    color c = color(0);\n"
    "    if (what == 0) c = color(max(d.y, 0));\n"
    "    if (what == 1) c = color((global_value<ray_kind> & 1) != 0 ? 0.25 : 1);\n"
    "    if (what == 2) c = color(abs(global_value<position> - d) + length(ddx(d)));\n"
    "    surface = make_closure<Emission>(c);\n}\n";

static double render_mean(int what, bool has_plane)
{
    static const float corners[4][3] = {{-50, 0, 50}, {50, 0, 50}, {50, 0, -50}, {-50, 0, -50}};
    Kit kit;
    StrBuf meshes = {0};
    char materials[512];
    double mean, error;
    uint32_t count;
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/sky.ssl", sky);
    kit_write_text(&kit, "shaders/white.ssl",
                   "shader white(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "q", corners);
    snprintf(materials, sizeof materials,
             "{\"name\": \"w\", \"shader\": \"shaders/white.ssl\"}, "
             "{\"name\": \"s\", \"shader\": \"shaders/sky.ssl\", \"parameters\": {\"what\": %d}}",
             what);
    KitScene scene = {.width = SIZE,
                      .height = SIZE,
                      .samples = 256,
                      .max_depth = 2,
                      .eye = {0, 3, 0.01f},
                      .target = {0, has_plane ? 0.0f : 3.0f, has_plane ? 0.0f : -5.0f},
                      .fov_y_degrees = 20,
                      .meshes = strbuf_text(&meshes),
                      .instances = has_plane ? "{\"name\": \"q\", \"mesh\": \"q\", \"materials\": "
                                               "[\"w\"]}"
                                             : NULL,
                      .materials = materials,
                      .environment = "{\"material\": \"s\"}"};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 0, &mean, &error);
    assert_true(error < 0.01);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
    return mean;
}

/* A sky of radiance cos, on a white plane that lies flat: 1 / pi times the integral of cos^2 is 2 / 3. */
static void test_a_shader_lights_the_scene(void **state)
{
    (void)state;
    assert_true(fabs(render_mean(0, true) - 2.0 / 3) < 0.005);
}

/* The camera may see a background that differs from the environment that lights. */
static void test_the_camera_has_a_sky_of_its_own(void **state)
{
    (void)state;
    assert_true(fabs(render_mean(1, false) - 0.25) < 1e-4);
    assert_true(fabs(render_mean(1, true) - 1) < 0.005);
}

/* The point is the direction, and changes by a pixel's angle. */
static void test_directions_have_derivatives(void **state)
{
    (void)state;
    const double pixel = 20.0 / SIZE * 3.14159265 / 180;
    assert_true(fabs(render_mean(2, false) - pixel) < 0.04 * pixel);
}

/* A picture of a floor that a ball of mirrors throws the sky on, which is black but for a small sun. */
static float *render_caustic(const Kit *kit, TexMip mip, TexFilter filter, float mip_bias,
                             uint32_t *out_count)
{
    RenderOptions options = kit_options(kit);
    options.mip = mip;
    options.texture_filter = filter;
    options.mip_bias = mip_bias;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, out_count);
    render_destroy(render);
    return rgba;
}

static double mean_difference(const float *a, const float *b, uint32_t count)
{
    double difference = 0, sum = 0;
    for (uint32_t i = 0; i < count; ++i)
        difference += fabs((double)a[4 * i] - (double)b[4 * i]), sum += (double)b[4 * i];
    assert_true(sum > 0);
    return difference / sum;
}

/* After a diffuse scatter the footprint is half a radian wide; a mirror behind it shows the sun as sharp as it is all
 * the same. Texels of the image are larger than cells of the importance table, so nothing blurs it at all; and the
 * options for textures hold for the sky. */
static void test_caustics_of_the_sky_are_sharp(void **state)
{
    (void)state;
    enum { WIDTH = 128, HEIGHT = 64 };
    static uint8_t rgb[3 * WIDTH * HEIGHT];
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    for (uint32_t y = 20; y < 22; ++y)
        memset(&rgb[3 * (y * WIDTH + 60)], 255, 3 * 2);
    kit_write_png(&kit, "textures/sky.png", WIDTH, HEIGHT, rgb);
    kit_write_text(&kit, "shaders/s.ssl",
                   "shader white(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n"
                   "shader mirror(out closure surface)\n{\n"
                   "    surface = make_closure<Glossy>(color(1), 0, 0, 0, 0, vector(1, 0, 0), "
                   "global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-4, 0, 4}, {4, 0, 4}, {4, 0, -4}, {-4, 0, -4}});
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 24);
    const KitScene scene = {
        .width = SIZE,
        .height = SIZE,
        .samples = 64,
        .max_depth = 3,
        .eye = {0, 6, 0.01f},
        .fov_y_degrees = 40,
        .meshes = strbuf_text(&meshes),
        .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"white\"]}, "
                     "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"mirror\"], "
                     "\"transform\": [1,0,0,0, 0,1,0,1, 0,0,1,0, 0,0,0,1]}",
        .materials = "{\"name\": \"white\", \"shader\": \"shaders/s.ssl\", \"entry\": \"white\"}, "
                     "{\"name\": \"mirror\", \"shader\": \"shaders/s.ssl\", \"entry\": "
                     "\"mirror\"}",
        .environment = "{\"image\": {\"file\": \"textures/sky.png\"}, \"strength\": 100}"};
    kit_write_scene(&kit, &scene);
    uint32_t count;
    float *plain = render_caustic(&kit, TEX_MIP_FOOTPRINT, TEX_FILTER_DEFAULT, 0, &count);
    float *finest = render_caustic(&kit, TEX_MIP_OFF, TEX_FILTER_DEFAULT, 0, &count);
    float *closest = render_caustic(&kit, TEX_MIP_FOOTPRINT, TEX_FILTER_CLOSEST, 0, &count);
    float *blurred = render_caustic(&kit, TEX_MIP_FOOTPRINT, TEX_FILTER_DEFAULT, 4, &count);
    assert_true(mean_difference(plain, finest, count) < 1e-3);
    assert_true(mean_difference(closest, finest, count) > 0.02);
    assert_true(mean_difference(blurred, finest, count) > 0.1);
    mem_free(plain);
    mem_free(finest);
    mem_free(closest);
    mem_free(blurred);
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_shader_lights_the_scene),
        cmocka_unit_test(test_the_camera_has_a_sky_of_its_own),
        cmocka_unit_test(test_directions_have_derivatives),
        cmocka_unit_test(test_caustics_of_the_sky_are_sharp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
