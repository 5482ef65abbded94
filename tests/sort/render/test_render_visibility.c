/* Visibility to rays: instances hidden from some kinds of them, holdouts, and limits by kind of bounce. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

static const char surfaces_ssl[] =
    "shader glow(float r = 0, float g = 0, float b = 0, out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(r, g, b));\n}\n"
    "shader matte(float albedo = 0.5, float glow = 0, out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(albedo), global_value<normal>)\n"
    "            + make_closure<Emission>(color(glow));\n}\n"
    "shader mirror(out closure surface)\n{\n"
    "    surface = make_closure<Conductor>(color(1), 0, global_value<normal>);\n}\n"
    "shader window(out closure surface)\n{\n"
    "    surface = make_closure<Refraction>(color(1), 1.2, 0, 0, global_value<normal>);\n}\n"
    "shader veil(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(0.5));\n}\n";

#define MATERIALS                                                                                  \
    "{\"name\": \"red\", \"shader\": \"m.ssl\", \"entry\": \"glow\", \"parameters\": {\"r\": 1}}," \
    "{\"name\": \"blue\", \"shader\": \"m.ssl\", \"entry\": \"glow\", \"parameters\": {\"b\": "    \
    "1}},"                                                                                         \
    "{\"name\": \"matte\", \"shader\": \"m.ssl\", \"entry\": \"matte\"},"                          \
    "{\"name\": \"room\", \"shader\": \"m.ssl\", \"entry\": \"matte\", \"parameters\": "           \
    "{\"glow\": 1}},"                                                                              \
    "{\"name\": \"mirror\", \"shader\": \"m.ssl\", \"entry\": \"mirror\"},"                        \
    "{\"name\": \"veil\", \"shader\": \"m.ssl\", \"entry\": \"veil\"},"                            \
    "{\"name\": \"window\", \"shader\": \"m.ssl\", \"entry\": \"window\"}"

/* Looks along -z at a small square of the world around (0, 0, 0) from z = 4; "back" is a wall at z = -3, "card" a square
 * at z = -1 and "front" one at z = 1, both around the axis; "left" at x = -2 faces +x; "over" at y = 2 faces down. */
typedef struct Case {
    const char *instances, *lights, *settings;
    uint32_t samples, max_depth;
    const char *camera;
} Case;

static void run(const Case *c, double out_mean[4], double *out_error)
{
    Kit kit;
    StrBuf meshes = {0};
    uint32_t count;
    double errors[4];
    kit_begin(&kit);
    kit_write_text(&kit, "m.ssl", surfaces_ssl);
    kit_add_quad(&kit, &meshes, "back",
                 (const float[4][3]){{-9, -9, -3}, {9, -9, -3}, {9, 9, -3}, {-9, 9, -3}});
    kit_add_quad(&kit, &meshes, "card",
                 (const float[4][3]){{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}});
    kit_add_quad(&kit, &meshes, "front",
                 (const float[4][3]){{-1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {-1, 1, 1}});
    kit_add_quad(&kit, &meshes, "behind",
                 (const float[4][3]){{-9, -9, 5}, {-9, 9, 5}, {9, 9, 5}, {9, -9, 5}});
    kit_add_sphere(&kit, &meshes, "room", 6.0f, 12);
    kit_write_scene(&kit, &(KitScene){.width = 8,
                                      .height = 8,
                                      .samples = c->samples ? c->samples : 4,
                                      .max_depth = c->max_depth ? c->max_depth : 6,
                                      .eye = {0, 0, 4},
                                      .fov_y_degrees = 2,
                                      .meshes = strbuf_text(&meshes),
                                      .instances = c->instances,
                                      .materials = MATERIALS,
                                      .lights = c->lights,
                                      .limits = c->settings,
                                      .camera = c->camera});
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    for (int k = 0; k < 4; ++k)
        kit_mean(rgba, count, k, &out_mean[k], &errors[k]);
    *out_error = errors[0];
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

static void expect(const char *what, const Case *c, double r, double b)
{
    double mean[4], error;
    run(c, mean, &error);
    if (!(fabs(mean[0] - r) < 1e-5 && fabs(mean[2] - b) < 1e-5))
        fail_msg("%s: red %g, blue %g; expected %g, %g", what, mean[0], mean[2], r, b);
}

#define CARD(more) "{\"name\": \"card\", \"mesh\": \"card\", \"materials\": [\"red\"]" more "}"
#define BACK       "{\"name\": \"back\", \"mesh\": \"back\", \"materials\": [\"blue\"]}"
#define FRONT(material)                                                                            \
    "{\"name\": \"front\", \"mesh\": \"front\", \"materials\": [\"" material "\"]}"
#define BEHIND(more)                                                                               \
    "{\"name\": \"behind\", \"mesh\": \"behind\", \"materials\": [\"red\"]" more "}"
#define NOT_TO(kind) ", \"invisible_to\": [\"" kind "\"]"

static void test_visibility_of_the_camera(void **state)
{
    SORT_UNUSED(state);
    expect("seen", &(Case){.instances = CARD("") "," BACK}, 1, 0);
    expect("hidden", &(Case){.instances = CARD(NOT_TO("camera")) "," BACK}, 0, 1);
    expect("hidden behind a veil",
           &(Case){.instances = FRONT("veil") "," CARD(NOT_TO("camera")) "," BACK}, 0, 0.5);
    expect("hidden from others", &(Case){.instances = CARD(NOT_TO("glossy")) "," BACK}, 1, 0);
}

static void test_visibility_of_mirrors_and_windows(void **state)
{
    SORT_UNUSED(state);
    expect("mirrored", &(Case){.instances = FRONT("mirror") "," BEHIND("")}, 1, 0);
    expect("not mirrored", &(Case){.instances = FRONT("mirror") "," BEHIND(NOT_TO("glossy"))}, 0,
           0);
    expect("hidden from diffuse rays",
           &(Case){.instances = FRONT("mirror") "," BEHIND(NOT_TO("diffuse"))}, 1, 0);
    double through = 1.2 * 1.2; /* radiance into a denser body */
    expect("through glass", &(Case){.instances = FRONT("window") "," CARD("") "," BACK},
           1.0 / through, 0);
    expect("not through glass",
           &(Case){.instances = FRONT("window") "," CARD(NOT_TO("transmission")) "," BACK}, 0,
           1.0 / through);
}

/* The card under a lamp beside the camera, with "front" in the lamp's way but not the camera's: it is left out by the
 * camera. */
static void test_visibility_of_shadows(void **state)
{
    SORT_UNUSED(state);
    static const char lamp[] = "{\"name\": \"l\", \"type\": \"point\", \"intensity\": [9, 9, 9], "
                               "\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,2, 0,0,0,1]}";
    static const char card[] = "{\"name\": \"c\", \"mesh\": \"card\", \"materials\": [\"matte\"]}";
    char scene[512];
    double lit = 0.5 * 9.0 / (9.0 * 3.14159265358979), mean[4], error;
    snprintf(scene, sizeof scene,
             "%s,{\"name\": \"f\", \"mesh\": \"front\", \"materials\": "
             "[\"matte\"], \"invisible_to\": [\"camera\"]}",
             card);
    expect("shadow", &(Case){.instances = scene, .lights = lamp, .max_depth = 1}, 0, 0);
    snprintf(scene, sizeof scene,
             "%s,{\"name\": \"f\", \"mesh\": \"front\", \"materials\": "
             "[\"matte\"], \"invisible_to\": [\"camera\", \"shadow\"]}",
             card);
    run(&(Case){.instances = scene, .lights = lamp, .max_depth = 1}, mean, &error);
    assert_true(fabs(mean[0] / lit - 1.0) < 2e-3);
}

/* An emitter that diffuse rays do not see lights nothing diffuse, whoever looks for it; one that glossy rays do
 * not see lights the card as before. */
static void test_visibility_of_emitters(void **state)
{
    SORT_UNUSED(state);
    static const char card[] = "{\"name\": \"c\", \"mesh\": \"card\", \"materials\": [\"matte\"]},";
    char scene[512];
    double all[4], some[4], error, other_error;
    snprintf(scene, sizeof scene, "%s%s", card, BEHIND(NOT_TO("diffuse")));
    expect("lights nothing", &(Case){.instances = scene, .samples = 64}, 0, 0);
    snprintf(scene, sizeof scene, "%s%s", card, BEHIND(""));
    run(&(Case){.instances = scene, .samples = 64}, all, &error);
    snprintf(scene, sizeof scene, "%s%s", card, BEHIND(NOT_TO("glossy")));
    run(&(Case){.instances = scene, .samples = 512}, some, &other_error);
    assert_true(all[0] > 0.2);
    assert_true(fabs(all[0] - some[0]) < 4.5 * (error + other_error));
}

static void test_visibility_of_holdouts(void **state)
{
    SORT_UNUSED(state);
    double mean[4], error;
    run(&(Case){.instances = CARD(", \"is_holdout\": true") "," BACK}, mean, &error);
    for (int k = 0; k < 4; ++k)
        assert_true(mean[k] == 0.0);
    run(&(Case){.instances = FRONT("veil") "," CARD(", \"is_holdout\": true") "," BACK}, mean,
        &error);
    assert_true(fabs(mean[3] - 0.5) < 1e-6 && mean[0] == 0.0);
    /* It is seen in mirrors. */
    expect("mirrored", &(Case){.instances = FRONT("mirror") "," BEHIND(", \"is_holdout\": true")},
           1, 0);
}

/* Numerical references, row 2: an enclosure of albedo 1/2 that glows. */
static void test_visibility_bounces_end_by_kind(void **state)
{
    SORT_UNUSED(state);
    static const char room[] = "{\"name\": \"r\", \"mesh\": \"room\", \"materials\": [\"room\"]}";
    static const struct {
        const char *settings;
        double radiance;
    } cases[] = {{"\"max_diffuse\": 1", 1.5},
                 {"\"max_diffuse\": 2", 1.75},
                 {"\"max_diffuse\": 3, \"max_glossy\": 1, \"max_transmission\": 1", 1.875}};
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        double mean[4], error;
        run(
            &(Case){
                .instances = room, .settings = cases[i].settings, .samples = 256, .max_depth = 20},
            mean, &error);
        if (!(fabs(mean[0] - cases[i].radiance) < 4.5 * error + 1e-4))
            fail_msg("%s: %g +- %g", cases[i].settings, mean[0], error);
    }
    expect("one veil may be passed",
           &(Case){.instances = FRONT("veil") "," CARD(""), .settings = "\"max_transparent\": 1"},
           0.5, 0);
    expect("none may",
           &(Case){.instances = FRONT("veil") "," CARD(""), .settings = "\"max_transparent\": 0"},
           0, 0);
}

/* The camera's clip distances hold through surfaces that let light straight through, as in Cycles, and end where light is
 * scattered. */
static void test_visibility_ends_at_the_clip_distance(void **state)
{
    SORT_UNUSED(state);
    static const char through[] = FRONT("veil") "," CARD("") "," BACK,
                      mirror[] = FRONT("mirror") "," BEHIND("");
    static const struct {
        const char *what, *instances, *camera;
        double red, blue;
    } cases[] = {{"the card lies before it", through, "\"clip_m\": [0, 5.5]", 0.5, 0},
                 {"the card lies behind it", through, "\"clip_m\": [0, 4.5]", 0, 0},
                 {"the veil and the card are too near", through, "\"clip_m\": [5.5, 7.5]", 0, 1},
                 {"the veil is too near", through, "\"clip_m\": [3.5, 4.5]", 0, 0},
                 {"mirrors show what is farther", mirror, "\"clip_m\": [0, 3.5]", 1, 0}};
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        expect(cases[i].what, &(Case){.instances = cases[i].instances, .camera = cases[i].camera},
               cases[i].red, cases[i].blue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_visibility_ends_at_the_clip_distance),
        cmocka_unit_test(test_visibility_of_the_camera),
        cmocka_unit_test(test_visibility_of_mirrors_and_windows),
        cmocka_unit_test(test_visibility_of_shadows),
        cmocka_unit_test(test_visibility_of_emitters),
        cmocka_unit_test(test_visibility_of_holdouts),
        cmocka_unit_test(test_visibility_bounces_end_by_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
