/* An environment that a shader makes: radiance in closed form over a white plane, and what the camera sees. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "render_kit.h"

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

/* What the camera sees may differ from what lights. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_shader_lights_the_scene),
        cmocka_unit_test(test_the_camera_has_a_sky_of_its_own),
        cmocka_unit_test(test_directions_have_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
