/* Lights that a material multiplies, and lights that take light away, over a white plane: irradiance in closed form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

static const char tint[] =
    "shader tint(out closure surface)\n{\n"
    "    const bool is_seen = (global_value<ray_kind> & 1) != 0;\n"
    "    const float ahead = dot(global_value<I>, global_value<normal>);\n"
    "    surface = make_closure<Emission>(color(is_seen ? 9 : 3, -ahead, -2));\n}\n";

/* Mean radiance of the plane below `lights`, seen from above. */
static void render_plane(const char *lights, double out_rgb[3])
{
    static const float corners[4][3] = {{-50, 0, 50}, {50, 0, 50}, {50, 0, -50}, {-50, 0, -50}};
    Kit kit;
    StrBuf meshes = {0};
    uint32_t count;
    double error;
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/tint.ssl", tint);
    kit_write_text(&kit, "shaders/white.ssl",
                   "shader white(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "q", corners);
    KitScene scene = {.width = 8,
                      .height = 8,
                      .samples = 1024,
                      .max_depth = 1,
                      .eye = {0, 3, 0.01f},
                      .target = {0, 0, 0},
                      .fov_y_degrees = 1,
                      .meshes = strbuf_text(&meshes),
                      .instances = "{\"name\": \"q\", \"mesh\": \"q\", \"materials\": [\"w\"]}",
                      .materials = "{\"name\": \"w\", \"shader\": \"shaders/white.ssl\"}, "
                                   "{\"name\": \"t\", \"shader\": \"shaders/tint.ssl\"}",
                      .lights = lights};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    for (int c = 0; c < 3; ++c)
        kit_mean(rgba, count, c, &out_rgb[c], &error);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

static void check(const char *lights, double red, double green, double blue)
{
    const double expected[3] = {red, green, blue};
    double rgb[3];
    render_plane(lights, rgb);
    for (int c = 0; c < 3; ++c)
        if (fabs(rgb[c] - expected[c]) > 0.01 * fabs(expected[c]) + 1e-4)
            fail_msg("channel %d is %g, expected %g", c, rgb[c], expected[c]);
}

#define DOWN "\"transform\": [1, 0, 0, 0, 0, 0, 1, 2, 0, -1, 0, 0, 0, 0, 0, 1]"
#define PI   3.14159265358979323846

/* What the material emits towards a reflection that looks along the light's axis: (3, 1, -2). */
static void test_a_material_multiplies(void **state)
{
    (void)state;
    check("{\"name\": \"sun\", \"type\": \"distant\", " DOWN
          ", \"irradiance\": [1, 1, 0.5], \"material\": \"t\"}",
          3 / PI, 1 / PI, -1 / PI);
    check("{\"name\": \"soft sun\", \"type\": \"distant\", " DOWN
          ", \"irradiance\": [1, 1, 0.5], \"angle_degrees\": 5, \"material\": \"t\"}",
          3 / PI, 1 / PI, -1 / PI);
    check("{\"name\": \"bulb\", \"type\": \"point\", " DOWN
          ", \"intensity\": [4, 4, 4], \"material\": \"t\"}",
          3 / PI, 1 / PI, -2 / PI);
}

/* Two lamps of which one takes what the other gives. */
static void test_light_below_zero(void **state)
{
    (void)state;
    check("{\"name\": \"a\", \"type\": \"distant\", " DOWN ", \"irradiance\": [2, 2, 2]}, "
          "{\"name\": \"b\", \"type\": \"point\", " DOWN ", \"intensity\": [-4, -6, -12]}",
          1 / PI, 0.5 / PI, -1 / PI);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_material_multiplies),
        cmocka_unit_test(test_light_below_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
