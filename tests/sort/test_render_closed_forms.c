/* Whole renders against closed forms that need more than one bounce, or an occluder: docs/validation.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "render_kit.h"

static const char ssl[] =
    "shader matte(color albedo = color(0.5), out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n"
    "shader card(color radiance = color(1), out closure surface)\n"
    "{\n    surface = make_closure<Emission>(radiance);\n}\n"
    "shader pane(out closure surface)\n"
    "{\n    surface = make_closure<Dielectric>(1.5, 0, color(1), color(1), "
    "global_value<normal>);\n}\n";

#define MATERIAL(name, entry, parameters)                                                          \
    "{\"name\": \"" name "\", \"shader\": \"shaders/s.ssl\", \"entry\": \"" entry                  \
    "\", \"parameters\": {" parameters "}}"
#define INSTANCE(name, material)                                                                   \
    "{\"name\": \"" name "\", \"mesh\": \"" name "\", \"materials\": [\"" material "\"]}"

/* The mean of all pixels, within four standard errors and `relative` of the expected value. */
static void assert_picture(Kit *kit, const KitScene *scene, const double expected[3],
                           double relative)
{
    kit_write_text(kit, "shaders/s.ssl", ssl);
    kit_write_scene(kit, scene);
    RenderOptions options = kit_options(kit);
    Render *render = kit_render(kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    for (int c = 0; c < 3; ++c) {
        double mean, error;
        kit_mean(rgba, count, c, &mean, &error);
        if (fabs(mean - expected[c]) > 4 * error + relative * expected[c])
            fail_msg("channel %d: %g +- %g, expected %g", c, mean, error, expected[c]);
        assert_true(error <= 0.02 * expected[c]); /* and the mean is known */
    }
    mem_free(rgba);
    render_destroy(render);
}

/* Row 3: intensity I in the middle of a sphere that reflects rho: L = rho I / (pi R^2 (1 - rho)). The
 * sphere is a polyhedron, whose faces are up to 0.1 % nearer. */
static void test_closed_forms_point_light_in_a_sphere(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_add_sphere(&kit, &meshes, "room", 1.0f, 48);
    const KitScene scene = {
        .width = 16,
        .height = 16,
        .samples = 64,
        .max_depth = 24,
        .eye = {0, 0, 0},
        .target = {0.3f, 0.4f, -1},
        .fov_y_degrees = 90,
        .meshes = strbuf_text(&meshes),
        .instances = INSTANCE("room", "wall"),
        .materials = MATERIAL("wall", "matte", "\"albedo\": [0.5, 0.5, 0.5]"),
        .lights = "{\"name\": \"p\", \"type\": \"point\", \"intensity\": [3.14159265, 3.14159265, "
                  "3.14159265], \"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}"};
    assert_picture(&kit, &scene, (const double[3]){1, 1, 1}, 3e-3);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* Row 10: a black sphere of radius R at distance d above a floor takes (R/d)^2 cos(th) of a uniform dome. */
static void test_closed_forms_sphere_under_a_dome(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-5, 0, 5}, {5, 0, 5}, {5, 0, -5}, {-5, 0, -5}});
    kit_add_sphere(&kit, &meshes, "ball", 0.5f, 48);
    const KitScene scene = {
        .width = 16,
        .height = 16,
        .samples = 256,
        .max_depth = 1,
        .eye = {3, 0.3f, 0},
        .fov_y_degrees = 0.02f,
        .meshes = strbuf_text(&meshes),
        .instances = INSTANCE(
            "floor", "white") ", {\"name\": \"ball\", \"mesh\": \"ball\", \"materials\": "
                              "[\"black\"], \"transform\": [1,0,0,0, 0,1,0,1, 0,0,1,0, 0,0,0,1]}",
        .materials = MATERIAL("white", "matte", "\"albedo\": [1, 1, 1]") ", " MATERIAL(
            "black", "matte", "\"albedo\": [0, 0, 0]"),
        .environment = "{\"color\": [1, 2, 4]}"};
    assert_picture(&kit, &scene, (const double[3]){0.75, 1.5, 3}, 2e-3);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* Row 14: a clear pane of index 1.5, with all the reflections inside it: R = 2F/(1+F), T = (1-F)/(1+F). The red
 * card lies behind the pane, the green one behind the camera. */
static void test_closed_forms_lossless_pane(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    const double F = 0.04;
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "front",
                 (const float[4][3]){{-5, -5, .1f}, {5, -5, .1f}, {5, 5, .1f}, {-5, 5, .1f}});
    kit_add_quad(&kit, &meshes, "back",
                 (const float[4][3]){{-5, -5, -.1f}, {-5, 5, -.1f}, {5, 5, -.1f}, {5, -5, -.1f}});
    kit_add_quad(&kit, &meshes, "far",
                 (const float[4][3]){{-9, -9, -2}, {9, -9, -2}, {9, 9, -2}, {-9, 9, -2}});
    kit_add_quad(&kit, &meshes, "near",
                 (const float[4][3]){{-9, -9, 9}, {-9, 9, 9}, {9, 9, 9}, {9, -9, 9}});
    const KitScene scene = {
        .width = 32,
        .height = 32,
        .samples = 256,
        .max_depth = 32,
        .eye = {0, 0, 3},
        .fov_y_degrees = 0.1f,
        .meshes = strbuf_text(&meshes),
        .instances = INSTANCE("front", "glass") ", " INSTANCE("back", "glass") ", " INSTANCE(
            "far", "red") ", " INSTANCE("near", "green"),
        .materials =
            "{\"name\": \"glass\", \"shader\": \"shaders/s.ssl\", \"entry\": \"pane\"}, " MATERIAL(
                "red", "card", "\"radiance\": [1, 0, 1]") ", " MATERIAL("green", "card",
                                                                        "\"radiance\": [0, 1, 1]")};
    assert_picture(&kit, &scene, (const double[3]){(1 - F) / (1 + F), 2 * F / (1 + F), 1}, 1e-3);
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms_point_light_in_a_sphere),
        cmocka_unit_test(test_closed_forms_sphere_under_a_dome),
        cmocka_unit_test(test_closed_forms_lossless_pane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
