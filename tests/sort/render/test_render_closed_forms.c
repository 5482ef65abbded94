/* Whole renders against closed forms that need more than one bounce, or an occluder: docs/internals/validation.md. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

static const char ssl[] =
    "shader matte(color albedo = color(0.5), out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n"
    "shader card(color radiance = color(1), out closure surface)\n"
    "{\n    surface = make_closure<Emission>(radiance);\n}\n"
    "shader glow(color albedo = color(0.5), color radiance = color(1), out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>) + "
    "make_closure<Emission>(radiance);\n}\n"
    "shader mirror(out closure surface)\n"
    "{\n    surface = make_closure<Emission>(color(1)) + make_closure<Glossy>(color(0.5), 0, 0, 0, "
    "0, "
    "vector(1, 0, 0), global_value<normal>);\n}\n"
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

/* Row 14: inside a denser body radiance is n^2 times that outside. Seen from the middle of a glass ball under an even
 * sky, with all the reflections inside it. */
static void test_closed_forms_inside_glass(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 24);
    const KitScene scene = {
        .width = 16,
        .height = 16,
        .samples = 64,
        .max_depth = 64,
        .target = {0.3f, 0.4f, -1},
        .fov_y_degrees = 90,
        .meshes = strbuf_text(&meshes),
        .instances = INSTANCE("ball", "glass"),
        .materials = "{\"name\": \"glass\", \"shader\": \"shaders/s.ssl\", \"entry\": \"pane\"}",
        .environment = "{\"color\": [1, 2, 4]}"};
    assert_picture(&kit, &scene, (const double[3]){2.25, 4.5, 9}, 1e-3);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* Row 9: at the foot of a high black wall half of a dome is left, E = pi L / 2. */
static void test_closed_forms_half_a_dome(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{0, 0, 9}, {9, 0, 9}, {9, 0, -9}, {0, 0, -9}});
    kit_add_quad(&kit, &meshes, "wall",
                 (const float[4][3]){{0, 0, 90}, {0, 90, 90}, {0, 90, -90}, {0, 0, -90}});
    const KitScene scene = {.width = 16,
                            .height = 16,
                            .samples = 64,
                            .max_depth = 1,
                            .eye = {1, 1, 0},
                            .target = {0.01f, 0, 0},
                            .fov_y_degrees = 0.01f,
                            .meshes = strbuf_text(&meshes),
                            .instances = INSTANCE("floor", "white") ", " INSTANCE("wall", "black"),
                            .materials =
                                MATERIAL("white", "matte", "\"albedo\": [1, 1, 1]") ", " MATERIAL(
                                    "black", "matte", "\"albedo\": [0, 0, 0]"),
                            .environment = "{\"color\": [1, 2, 4]}"};
    assert_picture(&kit, &scene, (const double[3]){0.5, 1, 2}, 1e-3);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* Row 12: a ball of radius r in a room of radius R, both diffuse: what leaves the ball meets the room (F12 = 1), what
 * leaves the room meets the ball by (r/R)^2, which also holds for polyhedra of one shape. With the ball's emission E:
 * L1 = E + rho1 L2, L2 = rho2 (F21 L1 + (1 - F21) L2). */
static void test_closed_forms_cavity_of_two_patches(void **state)
{
    (void)state;
    const double f21 = 0.25;
    const double rho1[3] = {0.8, 0.5, 0}, rho2[3] = {0.5, 0.75, 0.9}, emitted[3] = {1, 2, 3};
    double ball[3], room[3];
    for (int c = 0; c < 3; ++c) {
        ball[c] = emitted[c] / (1 - rho1[c] * rho2[c] * f21 / (1 - rho2[c] * (1 - f21)));
        room[c] = rho2[c] * f21 * ball[c] / (1 - rho2[c] * (1 - f21));
    }
    for (int of_room = 0; of_room < 2; ++of_room) {
        Kit kit;
        StrBuf meshes = {0};
        kit_begin(&kit);
        kit_add_sphere(&kit, &meshes, "ball", 0.5f, 32);
        kit_add_sphere(&kit, &meshes, "room", 1.0f, 32);
        const KitScene scene = {
            .width = 16,
            .height = 16,
            .samples = 64,
            .max_depth = 100,
            .eye = {0, 0, 0.75f},
            .target = {0, 0, of_room ? 9.0f : -9.0f},
            .fov_y_degrees = 50,
            .meshes = strbuf_text(&meshes),
            .instances = INSTANCE("ball", "lamp") ", " INSTANCE("room", "wall"),
            .materials = MATERIAL(
                "lamp", "glow",
                "\"albedo\": [0.8, 0.5, 0], \"radiance\": [1, 2, 3]") ", " MATERIAL("wall", "matte",
                                                                                    "\"albedo\": "
                                                                                    "[0.5, 0.75, "
                                                                                    "0.9]")};
        assert_picture(&kit, &scene, of_room ? room : ball, 3e-3);
        strbuf_free(&meshes);
        kit_end(&kit);
    }
}

/* A room of mirrors that keep half and shine by 1: n bounces bring 1/2^n, each at most what its clamp says; and what a
 * clamp dims keeps its colour. Few bounces: roulette makes others brighter. */
static void test_closed_forms_clamps(void **state)
{
    (void)state;
    static const struct {
        const char *limits;
        double expected[3];
    } cases[] = {{"\"clamp_direct\": 0", {1.75, 1.75, 1.75}},
                 {"\"clamp_indirect\": 0.2", {1.7, 1.7, 1.7}},
                 {"\"clamp_indirect\": 0.1, \"clamp_direct\": 0.75", {1.35, 1.35, 1.35}}};
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_add_sphere(&kit, &meshes, "room", 1.0f, 8);
    KitScene scene = {.width = 8,
                      .height = 8,
                      .samples = 2,
                      .max_depth = 2,
                      .target = {0.3f, 0.4f, -1},
                      .fov_y_degrees = 60,
                      .meshes = strbuf_text(&meshes),
                      .instances = INSTANCE("room", "mirror"),
                      .materials = MATERIAL("mirror", "mirror", "")};
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        scene.limits = cases[i].limits;
        assert_picture(&kit, &scene, cases[i].expected, 1e-5);
    }
    scene.limits = "\"clamp_direct\": 2";
    scene.max_depth = 1;
    scene.materials = MATERIAL("mirror", "card", "\"radiance\": [9, 0, 3]");
    assert_picture(&kit, &scene, (const double[3]){4.5, 0, 1.5}, 1e-5);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* Paths in that room, one a pixel, which end by roulette have met the first D = roulette_depth surfaces, so no pixel lacks the
 * light of these, 2 - 2^(1 - D), and some have no more; where all surfaces are among them, none differs. */
static void test_closed_forms_roulette_begins_where_it_is_told(void **state)
{
    (void)state;
    enum { SURFACES = 8 };
    static const struct {
        const char *setting;
        int first;
    } cases[] = {{"\"roulette_depth\": 3", 3},
                 {"\"roulette_depth\": 5", 5},
                 {"\"roulette_depth\": 9", SURFACES + 1}};
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/s.ssl", ssl);
    kit_add_sphere(&kit, &meshes, "room", 1.0f, 8);
    KitScene scene = {.width = 32,
                      .height = 32,
                      .samples = 1,
                      .max_depth = SURFACES,
                      .target = {0.3f, 0.4f, -1},
                      .fov_y_degrees = 60,
                      .meshes = strbuf_text(&meshes),
                      .instances = INSTANCE("room", "mirror"),
                      .materials = MATERIAL("mirror", "mirror", "")};
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        double least = HUGE_VAL, most = 0, expected = 2 - pow(2, -cases[i].first + 1);
        uint32_t count;
        scene.limits = cases[i].setting;
        kit_write_scene(&kit, &scene);
        RenderOptions options = kit_options(&kit);
        Render *render = kit_render(&kit, &options);
        float *pixels = kit_pixels(render, &count);
        for (uint32_t k = 0; k < count; ++k) {
            least = fmin(least, (double)pixels[4 * (size_t)k]);
            most = fmax(most, (double)pixels[4 * (size_t)k]);
        }
        assert_float_equal(least, expected, 1e-5);
        if (cases[i].first > SURFACES)
            assert_float_equal(most, expected, 1e-5);
        else
            assert_true(most > expected + 0.01);
        mem_free(pixels);
        render_destroy(render);
    }
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* Row 17: a small lamp of area a at the distance d, focus at f, a round lens of radius r. From each point of the
 * blurred disk a part a / ((d/f - 1)^2 pi r^2) of the lens sees the lamp; from elsewhere none does. The disk's radius
 * in the plane of focus is r (1 - f/d); the lamp's own size makes its rim soft. */
static void test_closed_forms_lamp_out_of_focus(void **state)
{
    (void)state;
    enum { SIDE = 48 };
    const float r = 0.6f, d = 4, focus = 2, half_lamp = 0.08f, fov_deg = 40;
    const double pi = 3.14159265358979, seen = 4.0 * (double)(half_lamp * half_lamp) / (pi * 0.36);
    const double pixel = 2.0 * (double)focus * tan(20.0 * pi / 180.0) / SIDE; /* there */
    const double radius = (double)r * 0.5, rim = (double)half_lamp * 0.5 * sqrt(2.0) + pixel;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/s.ssl", ssl);
    kit_add_quad(&kit, &meshes, "lamp",
                 (const float[4][3]){{-half_lamp, -half_lamp, -d},
                                     {half_lamp, -half_lamp, -d},
                                     {half_lamp, half_lamp, -d},
                                     {-half_lamp, half_lamp, -d}});
    const KitScene scene = {.width = SIDE,
                            .height = SIDE,
                            .samples = 1024,
                            .max_depth = 1,
                            .target = {0, 0, -1},
                            .fov_y_degrees = fov_deg,
                            .aperture_radius_m = r,
                            .focus_distance_m = focus,
                            .meshes = strbuf_text(&meshes),
                            .instances = INSTANCE("lamp", "shine"),
                            .materials = MATERIAL("shine", "card", "\"radiance\": [1, 1, 1]")};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t count, inside[2] = {0};
    float *rgba = kit_pixels(render, &count), *rings[2];
    rings[0] = MEM_ARRAY(float, 4 * (size_t)count);
    rings[1] = MEM_ARRAY(float, 4 * (size_t)count);
    assert_true(rings[0] && rings[1]);
    for (uint32_t i = 0; i < count; ++i) {
        double x = (i % SIDE + 0.5 - 0.5 * SIDE) * pixel, y = (i / SIDE + 0.5 - 0.5 * SIDE) * pixel;
        double distance = sqrt(x * x + y * y);
        if (distance > radius + rim)
            assert_true(rgba[4 * i] == 0.0f);
        if (distance > radius - rim)
            continue;
        uint32_t ring = distance > radius * 0.6;
        memcpy(rings[ring] + (size_t)4 * inside[ring]++, rgba + (size_t)4 * i, sizeof(float[4]));
    }
    for (uint32_t ring = 0; ring < 2; ++ring) {
        double mean, error;
        kit_mean(rings[ring], inside[ring], 0, &mean, &error);
        if (fabs(mean - seen) > 4 * error || error > 0.03 * seen)
            fail_msg("ring %u: %g +- %g, expected %g", ring, mean, error, seen);
        mem_free(rings[ring]);
    }
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_forms_point_light_in_a_sphere),
        cmocka_unit_test(test_closed_forms_sphere_under_a_dome),
        cmocka_unit_test(test_closed_forms_lossless_pane),
        cmocka_unit_test(test_closed_forms_inside_glass),
        cmocka_unit_test(test_closed_forms_half_a_dome),
        cmocka_unit_test(test_closed_forms_cavity_of_two_patches),
        cmocka_unit_test(test_closed_forms_lamp_out_of_focus),
        cmocka_unit_test(test_closed_forms_clamps),
        cmocka_unit_test(test_closed_forms_roulette_begins_where_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
