/* Which paths a light is for: rays that do not see it, bounces after which it is dark, surfaces that stop nothing, light
 * that nothing stops, and light that only sampling finds. Each by every strategy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

#define PI 3.14159265358979323846

static const char surfaces_ssl[] =
    "shader matte(float albedo = 1, out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(albedo), global_value<normal>);\n}\n"
    "shader shiny(float diffuse = 0.5, float metal = 0.5, out closure surface)\n{\n"
    "    surface = diffuse * make_closure<Lambert>(color(1), global_value<normal>)\n"
    "            + metal * make_closure<Conductor>(color(1), 0.5, global_value<normal>);\n}\n"
    "shader thin(out closure surface)\n{\n"
    "    surface = make_closure<Translucent>(color(1), global_value<normal>);\n}\n"
    "shader sheet(out closure surface)\n{\n"
    "    surface = 0.5 * make_closure<Transparent>(color(1));\n}\n"
    "shader mirror(out closure surface)\n{\n"
    "    surface = make_closure<Conductor>(color(1), 0, global_value<normal>);\n}\n"
    "shader lamp(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(1));\n"
    "    if (!global_value<backfacing>)\n"
    "        surface = surface + make_closure<Emission>(color(3));\n}\n";

#define MATERIALS                                                                                  \
    "{\"name\": \"matte\", \"shader\": \"m.ssl\", \"entry\": \"matte\"},"                          \
    "{\"name\": \"half\", \"shader\": \"m.ssl\", \"entry\": \"matte\", \"parameters\": "           \
    "{\"albedo\": 0.5}},"                                                                          \
    "{\"name\": \"shiny\", \"shader\": \"m.ssl\", \"entry\": \"shiny\"},"                          \
    "{\"name\": \"only_diffuse\", \"shader\": \"m.ssl\", \"entry\": \"shiny\", \"parameters\": "   \
    "{\"metal\": 0}},"                                                                             \
    "{\"name\": \"only_metal\", \"shader\": \"m.ssl\", \"entry\": \"shiny\", \"parameters\": "     \
    "{\"diffuse\": 0}},"                                                                           \
    "{\"name\": \"thin\", \"shader\": \"m.ssl\", \"entry\": \"thin\"},"                            \
    "{\"name\": \"sheet\", \"shader\": \"m.ssl\", \"entry\": \"sheet\"},"                          \
    "{\"name\": \"mirror\", \"shader\": \"m.ssl\", \"entry\": \"mirror\"},"                        \
    "{\"name\": \"lamp\", \"shader\": \"m.ssl\", \"entry\": \"lamp\"}"

/* Fields of a lamp of radiance 3, one metre wide, at y = 1 over the floor's middle, shining down; and of one behind it. */
#define LAMP(fields)                                                                               \
    "{\"name\": \"lamp\", \"type\": \"area_rectangle\", \"radiance\": [3, 3, 3], "                 \
    "\"size\": [1, 1], \"transform\": [1,0,0,0, 0,0,1,1, 0,-1,0,0, 0,0,0,1]" fields "}"
#define LAMP_ABOVE                                                                                 \
    ", {\"name\": \"above\", \"type\": \"area_rectangle\", \"radiance\": [5, 5, 5], "              \
    "\"size\": [0.9, 0.9], \"transform\": [1,0,0,0, 0,0,1,1.1, 0,-1,0,0, 0,0,0,1]}"

/* The lamp as a mesh. */
#define GLOW(fields)                                                                               \
    ", {\"name\": \"g\", \"mesh\": \"glow\", \"materials\": [\"lamp\"], \"light\": {" fields "}}"

typedef struct Case {
    const char *floor; /* its material */
    const char *lights;
    const char *glow;   /* GLOW, or NULL */
    bool has_shade;     /* a square of link set 1 between lamp and floor */
    const char *shade;  /* its material; NULL: matte */
    float eye_y, eye_z; /* looking at the floor's middle */
    uint32_t samples, max_depth;
} Case;

static void write_case(const Kit *kit, StrBuf *meshes, const Case *c)
{
    char instances[512], shade[128];
    kit_write_text(kit, "m.ssl", surfaces_ssl);
    kit_add_quad(kit, meshes, "floor",
                 (const float[4][3]){{-5, 0, 5}, {5, 0, 5}, {5, 0, -5}, {-5, 0, -5}});
    kit_add_quad(kit, meshes, "shade",
                 (const float[4][3]){{-1, .5f, 1}, {1, .5f, 1}, {1, .5f, -.3f}, {-1, .5f, -.3f}});
    kit_add_quad(
        kit, meshes, "glow",
        (const float[4][3]){{-.5f, 1, -.5f}, {.5f, 1, -.5f}, {.5f, 1, .5f}, {-.5f, 1, .5f}});
    kit_add_sphere(kit, meshes, "room", 2.0f, 24);
    snprintf(shade, sizeof shade,
             ", {\"name\": \"s\", \"mesh\": \"shade\", \"link_set\": 1, \"materials\": [\"%s\"]}",
             c->shade ? c->shade : "matte");
    if (strcmp(c->floor, "room") == 0)
        snprintf(instances, sizeof instances,
                 "{\"name\": \"r\", \"mesh\": \"room\", \"materials\": [\"half\"]}");
    else
        snprintf(instances, sizeof instances,
                 "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"%s\"]}%s%s", c->floor,
                 c->has_shade ? shade : "", c->glow ? c->glow : "");
    kit_write_scene(kit, &(KitScene){.width = 8,
                                     .height = 8,
                                     .samples = c->samples,
                                     .max_depth = c->max_depth > 0 ? c->max_depth : 1,
                                     .eye = {0, c->eye_y, c->eye_z},
                                     .fov_y_degrees = 0.5f,
                                     .meshes = strbuf_text(meshes),
                                     .instances = instances,
                                     .materials = MATERIALS,
                                     .lights = c->lights});
}

static void mean_of(const Case *c, WaveStrategy strategy, double *out_mean, double *out_error)
{
    Kit kit;
    StrBuf meshes = {0};
    uint32_t count;
    kit_begin(&kit);
    write_case(&kit, &meshes, c);
    RenderOptions options = kit_options(&kit);
    options.strategy = strategy;
    SETTING_SET(options.settings, seed, (uint32_t)strategy + 1);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 0, out_mean, out_error);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* known_to: the standard error of `expected`. */
static void expect_about(const Case *c, double expected, double known_to)
{
    static const char *const names[] = {"MIS", "light sampling", "scattering"};
    for (int k = 0; k < 3; ++k) {
        double mean, error;
        mean_of(c, (WaveStrategy)k, &mean, &error);
        if (fabs(mean - expected) > 4 * hypot(error, known_to) + 2e-3 * expected)
            fail_msg("%s: mean %g +- %g, expected %g", names[k], mean, error, expected);
        assert_true(error <= 0.03 * expected); /* or the test would show nothing */
    }
}

static void expect(const Case *c, double expected)
{
    expect_about(c, expected, 0);
}

static void expect_equal(const Case *c, const char *other_floor)
{
    Case plain = *c;
    double mean, error;
    plain.floor = other_floor;
    plain.lights = LAMP("");
    plain.samples = 1024;
    mean_of(&plain, WAVE_STRATEGY_MIS, &mean, &error);
    assert_true(error < 0.01 * mean);
    expect_about(c, mean, error);
}

/* Irradiance over the radiance, under the middle of a square of half a side a at the height h:
 * 4 a / sqrt(h^2 + a^2) atan(a / sqrt(h^2 + a^2)), from both sides of the corner formula. */
static double square_factor(double a, double h)
{
    double c = sqrt(h * h + a * a);
    return 4.0 * a / c * atan(a / c);
}

/* A surface that reflects in two ways: each lights up by itself, and in all ways by all strategies. */
static void test_light_is_dark_for_some_reflections(void **state)
{
    (void)state;
    Case c = {.floor = "shiny", .eye_y = 1, .eye_z = 3, .samples = 512};
    c.lights = LAMP(", \"invisible_to\": [\"glossy\"]");
    expect_equal(&c, "only_diffuse");
    c.lights = LAMP(", \"invisible_to\": [\"diffuse\"]");
    expect_equal(&c, "only_metal");
    c.lights = LAMP(", \"invisible_to\": [\"transmission\"]");
    expect_equal(&c, "shiny");
    c.lights = LAMP(", \"invisible_to\": [\"diffuse\", \"glossy\"]");
    expect(&c, 0);
    /* From below, through a sheet. */
    c = (Case){.floor = "thin", .eye_y = -2, .eye_z = 1, .samples = 256};
    c.lights = LAMP(", \"invisible_to\": [\"diffuse\", \"glossy\"]");
    expect(&c, 3 * square_factor(0.5, 1) / PI);
    c.lights = LAMP(", \"invisible_to\": [\"transmission\"]");
    expect(&c, 0);
}

/* In a sphere all points light all others alike: a point light in the middle, and k bounces, give
 * I / (pi R^2) (rho + rho^2 + ... + rho^(k + 1)). */
static void test_light_is_dark_after_bounces(void **state)
{
    (void)state;
    const char *lights[] = {
        "\"type\": \"point\", \"intensity\": [2, 2, 2]",
        "\"type\": \"sphere\", \"radius_m\": 0.5, \"radiance\": [2.54648, 2, 2], \"is_solid\": "
        "false"};
    for (int k = 0; k < 2; ++k) {
        for (int most = 0; most < 3; most += 2) {
            char text[512];
            double sum = 0.0;
            for (int i = 0; i <= most; ++i)
                sum += pow(0.5, i + 1);
            snprintf(text, sizeof text,
                     "{\"name\": \"l\", %s, \"max_bounces\": %d, \"transform\": "
                     "[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}",
                     lights[k], most);
            Case c = {.floor = "room", .lights = text, .eye_y = 0.9f, .eye_z = 1.2f};
            c.max_depth = 4;
            c.samples = k == 0 ? 64 : 256;
            double mean, error, expected = 2.0 / (PI * 4.0) * sum;
            for (int strategy = 0; strategy < 3; ++strategy) {
                mean_of(&c, (WaveStrategy)strategy, &mean, &error);
                double seen = k == 1 ? 2.54648 : 0.0; /* the lamp itself, before the wall */
                /* The room is a polyhedron. */
                if (fabs(mean - expected - seen) > 4 * error + 0.015 * expected)
                    fail_msg("lamp %d, strategy %d, %d bounces: %g +- %g, expected %g", k, strategy,
                             most, mean, error, expected + seen);
            }
        }
    }
}

/* A lamp that stops nothing: what lies behind it lights the floor too, and a mirror shows both. */
static void test_light_is_permeable(void **state)
{
    (void)state;
    Case c = {.floor = "matte", .eye_y = 1, .eye_z = 3, .samples = 256};
    c.lights = LAMP("") LAMP_ABOVE;
    double first = 3 * square_factor(0.5, 1) / PI;
    expect(&c, first); /* its back is not there, but its front hides all of the other one */
    c.lights = LAMP(", \"is_solid\": false") LAMP_ABOVE;
    expect(&c, first + 5 * square_factor(0.45, 1.1) / PI);
    c = (Case){.floor = "mirror", .eye_y = 3, .eye_z = 0.01f, .samples = 16};
    c.lights = LAMP("") LAMP_ABOVE;
    expect(&c, 3);
    c.lights = LAMP(", \"is_solid\": false") LAMP_ABOVE;
    expect(&c, 8);
    c.lights = LAMP(", \"is_sampled_only\": true") LAMP_ABOVE;
    expect(&c, 5);
}

/* A square hides the lamp from the floor: from the middle of it, all. A mirror sees what a ray sees. */
static void test_light_without_shadows(void **state)
{
    (void)state;
    Case c = {.floor = "matte", .has_shade = true, .eye_y = 1.2f, .eye_z = 3, .samples = 256};
    c.lights = LAMP("");
    double mean, error;
    mean_of(&c, WAVE_STRATEGY_MIS, &mean, &error);
    assert_true(mean < 0.2 * 3 * square_factor(0.5, 1) / PI);
    c.lights = LAMP(", \"casts_shadows\": false");
    expect(&c, 3 * square_factor(0.5, 1) / PI);
    c.lights = LAMP(", \"casts_shadows\": false, \"is_solid\": false");
    expect(&c, 3 * square_factor(0.5, 1) / PI);
    c.has_shade = false;
    c.lights = LAMP(", \"is_sampled_only\": true");
    expect(&c, 3 * square_factor(0.5, 1) / PI);
    c = (Case){.floor = "mirror", .eye_y = 3, .eye_z = 0.01f, .samples = 16};
    c.lights = LAMP(", \"casts_shadows\": false");
    expect(&c, 3);
}

/* What a mesh emits is for the same paths as a lamp's light, and it does not hide the lamp above. */
static void test_emission_is_for_some_paths(void **state)
{
    (void)state;
    const double first = 3 * square_factor(0.5, 1) / PI, above = 5 * square_factor(0.45, 1.1) / PI;
    Case c = {
        .floor = "matte", .eye_y = 0.8f, .eye_z = 3, .samples = 256, .lights = &LAMP_ABOVE[2]};
    c.glow = GLOW("");
    expect(&c, first + above);
    c.glow = GLOW("\"invisible_to\": [\"diffuse\"]");
    expect(&c, above);
    c.glow = GLOW("\"max_bounces\": 0"); /* of one bounce */
    expect(&c, first + above);
    c.glow = GLOW("\"is_sampled_only\": true");
    expect(&c, first + above);
    c.lights = "";
    c.has_shade = true;
    c.glow = GLOW("\"casts_shadows\": false");
    expect(&c, first);
    c = (Case){
        .floor = "mirror", .eye_y = 3, .eye_z = 0.01f, .samples = 16, .lights = &LAMP_ABOVE[2]};
    c.glow = GLOW("");
    expect(&c, 8);
    c.glow = GLOW("\"invisible_to\": [\"camera\"]");
    expect(&c, 8);
    c.glow = GLOW("\"invisible_to\": [\"glossy\"]");
    expect(&c, 5);
    c.glow = GLOW("\"is_sampled_only\": true");
    expect(&c, 5);
}

/* The floor is of link set 0, the square that hides the lamp from it of 1. */
static void test_light_is_linked(void **state)
{
    (void)state;
    const double lit = 3 * square_factor(0.5, 1) / PI;
    Case c = {.floor = "matte", .eye_y = 1.2f, .eye_z = 3, .samples = 256};
    c.lights = LAMP(", \"unlit_sets\": [0, 63]");
    expect(&c, 0);
    c.lights = LAMP(", \"unlit_sets\": [1]");
    expect(&c, lit);
    c.lights = LAMP(", \"unlit_sets\": [0]") LAMP_ABOVE;
    c.glow = NULL;
    expect(&c, 0); /* which still hides the other one */
    for (int k = 0; k < 2; ++k) {
        c.has_shade = true;
        c.shade = k == 0 ? "matte" : "sheet"; /* found by the search for alpha */
        c.lights = LAMP(", \"open_sets\": [1]");
        expect(&c, lit);
        c.lights = LAMP(", \"open_sets\": [1], \"is_solid\": false");
        expect(&c, lit);
        double mean, error;
        c.lights = LAMP(", \"open_sets\": [2]");
        mean_of(&c, WAVE_STRATEGY_MIS, &mean, &error);
        assert_true(mean < 0.6 * lit);
        c.lights = "";
        c.glow = GLOW("\"open_sets\": [1]");
        expect(&c, lit);
        c.glow = GLOW("\"open_sets\": [1], \"unlit_sets\": [0]");
        expect(&c, 0);
        c.glow = NULL;
    }
    c = (Case){.floor = "mirror", .eye_y = 3, .eye_z = 0.01f, .samples = 16};
    c.lights = LAMP(", \"unlit_sets\": [1]");
    expect(&c, 3);
    c.lights = LAMP(", \"unlit_sets\": [0]");
    expect(&c, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_is_dark_for_some_reflections),
        cmocka_unit_test(test_light_is_dark_after_bounces),
        cmocka_unit_test(test_light_is_permeable),
        cmocka_unit_test(test_light_without_shadows),
        cmocka_unit_test(test_emission_is_for_some_paths),
        cmocka_unit_test(test_light_is_linked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
