/* Light passes where it is known what they are: in furnaces, between walls, of lights that are for some bounces only. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/sort/render/passes_kit.h"

/* A plane, or a ball of radius 1, that fills the view, seen at an angle to its normal. */
typedef struct Sample {
    const char *closure;
    double degrees;
    bool is_ball;
    const char *lights, *environment;
} Sample;

static Passes render_sample(Kit *kit, const Sample *s)
{
    StrBuf meshes = {0};
    char text[2048];
    double angle = s->degrees * 3.14159265358979 / 180;
    snprintf(text, sizeof text,
             "shader s(out closure surface)\n{\n    const float3 N = global_value<normal>;\n"
             "    surface = %s;\n}\n",
             s->closure);
    kit_write_text(kit, "m.ssl", text);
    if (s->is_ball)
        kit_add_sphere(kit, &meshes, "it", 1.0f, 48);
    else
        kit_add_quad(kit, &meshes, "it",
                     (const float[4][3]){{-9, -9, 0}, {9, -9, 0}, {9, 9, 0}, {-9, 9, 0}});
    kit_write_scene(
        kit, &(KitScene){.width = 8,
                         .height = 8,
                         .samples = 256,
                         .max_depth = 200,
                         .eye = {5 * (float)sin(angle), 0, 5 * (float)cos(angle)},
                         .fov_y_degrees = 0.5f,
                         .meshes = strbuf_text(&meshes),
                         .instances = "{\"name\": \"i\", \"mesh\": \"it\", \"materials\": [\"m\"]}",
                         .materials = "{\"name\": \"m\", \"shader\": \"m.ssl\"}",
                         .lights = s->lights,
                         .environment = s->environment});
    strbuf_free(&meshes);
    RenderOptions options = kit_options(kit);
    Passes p = passes_render(kit, options);
    passes_assert_sum(&p, s->closure);
    return p;
}

/* Means over the view of all passes, in red, but for light where its colour is 0. */
static void expect_passes(const Sample *sample, const double expected[PASSES], double tolerance)
{
    Kit kit;
    kit_begin(&kit);
    Passes p = render_sample(&kit, sample);
    for (uint32_t k = 0; k < PASSES; ++k) {
        double sum = 0.0;
        for (uint32_t i = 0; i < p.count; ++i)
            sum += (double)p.aov[k][3 * i];
        if (fabs(sum / p.count - expected[k]) > tolerance)
            fail_msg("%s: pass %s is %g, expected %g", sample->closure,
                     film_aov_info(passes_aov(k))->name, sum / p.count, expected[k]);
    }
    passes_free(&p);
    kit_end(&kit);
}

static double fresnel(double degrees, double eta)
{
    double c = cos(degrees * 3.14159265358979 / 180), t = sqrt(1 - (1 - c * c) / (eta * eta));
    double s = (c - eta * t) / (c + eta * t), p = (eta * c - t) / (eta * c + t);
    return 0.5 * (s * s + p * p);
}

#define WHITE_SKY "{\"color\": [1, 1, 1]}"

/* Under a uniform sky of radiance 1, all light is 1 and colours are albedos. Tolerances are at least four
 * standard deviations over seeds. */
static void test_light_passes_in_a_furnace(void **state)
{
    (void)state;
    const double f = fresnel(60, 1.5), sheet = 2 * f / (1 + f);
    const struct {
        const char *closure;
        double degrees;
        bool is_ball;
        double expected[PASSES], tolerance;
    } cases[] = {
        {"make_closure<Lambert>(color(0.6, 0.5, 0), N)", 30, true, {0.6, 1, 0}, 1.4e-3},
        {"make_closure<Translucent>(color(0.6), N)", 30, false, {0.6, 1, 0}, 1.4e-3},
        {"make_closure<Conductor>(color(0.6), 0, N)", 0, true, {0, 0, 0, 0.6, 1, 0}, 1e-4},
        {"make_closure<Conductor>(color(1), 0.6, N)", 60, true, {0, 0, 0, 1, 1, 0}, 5e-3},
        {"make_closure<Velvet>(color(0), 0.6, N) + make_closure<ToonGlossy>(color(0.4), 0.2, 0, N)",
         0,
         true,
         {0, 0, 0, 0.4, 1, 0},
         3e-3},
        {"make_closure<ThinDielectric>(1.5, 0, color(1), color(0.5), N)",
         60,
         false,
         {0, 0, 0, sheet, 1, 0, 0.5 * (1 - sheet), 1, 0},
         5e-3},
        /* Into denser matter radiance is less by the square of the index, for it narrows. */
        {"make_closure<Dielectric>(1.5, 0, color(1), color(1), N)",
         60,
         false,
         {0, 0, 0, f, 1, 0, 1 - f, 1 / 2.25, 0},
         5e-3},
        {"make_closure<Refraction>(color(0.5), 1.5, 0, 0, N)",
         20,
         false,
         {0, 0, 0, 0, 0, 0, 0.5, 1 / 2.25, 0},
         1e-3},
        {"make_closure<Hair>(color(0), 0.4, 0.4, 0, 1.55, 0.05, 0.3, float3(0, 1, 0))",
         0,
         false,
         {0, 0, 0, 0, 0, 0, 1, 1, 0},
         0.02},
        {"make_closure<Subsurface>(color(1), color(0.5, 0.2, 0.1), 0, N)",
         40,
         true,
         {1, 1, 0},
         0.02},
        {"0.25 * make_closure<Transparent>(color(1)) + 0.75 * make_closure<Lambert>(color(0.8), N) "
         "+ "
         "make_closure<Emission>(color(0.5))",
         0,
         false,
         {0.6, 1, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.25},
         1e-2},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        expect_passes(
            &(Sample){cases[i].closure, cases[i].degrees, cases[i].is_ball, NULL, WHITE_SKY},
            cases[i].expected, cases[i].tolerance);
}

/* A coat and its base, which share the light between them. */
static void test_light_passes_share_what_layers_reflect(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    Passes p = render_sample(
        &kit, &(Sample){.closure = "make_closure<Plastic>(color(1), color(0.04), 0.5, N)",
                        .degrees = 60,
                        .environment = WHITE_SKY});
    double diffuse = passes_mean(&p, 0), glossy = passes_mean(&p, 3);
    assert_true(glossy > 0.04 && glossy < 0.12);
    assert_true(fabs(diffuse + glossy - 1) < 1e-3);
    assert_true(fabs(passes_mean(&p, 1) - 1) < 5e-3 && fabs(passes_mean(&p, 4) - 1) < 0.02);
    assert_true(passes_mean(&p, 6) == 0.0 && passes_mean(&p, 7) == 0.0 &&
                passes_mean(&p, 8) == 0.0);
    passes_free(&p);
    kit_end(&kit);
}

/* In a sphere all points light all others alike: of a point light in its middle, E = I / R^2 directly, and E rho + E
 * rho^2 + ... from the walls. What the eye sees in it divided by rho is E / pi. */
static void test_light_passes_between_walls(void **state)
{
    (void)state;
    const double pi = 3.14159265358979;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 48);
    kit_write_text(&kit, "m.ssl",
                   "shader s(out closure surface)\n{\n    surface = make_closure<Lambert>("
                   "color(0.5), global_value<normal>);\n}\n");
    kit_write_scene(
        &kit,
        &(KitScene){.width = 16,
                    .height = 16,
                    .samples = 256,
                    .max_depth = 100,
                    .eye = {0, 0, 0.5f},
                    .fov_y_degrees = 60,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}",
                    .materials = "{\"name\": \"m\", \"shader\": \"m.ssl\"}",
                    .lights = "{\"name\": \"k\", \"type\": \"point\", \"intensity\": [2, 2, 2], "
                              "\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}"});
    Passes p = passes_render(&kit, kit_options(&kit));
    passes_assert_sum(&p, "walls");
    assert_true(fabs(passes_mean(&p, 0) - 0.5) < 1e-6);
    assert_true(fabs(passes_mean(&p, 1) / (2 / pi) - 1) < 0.01);
    assert_true(fabs(passes_mean(&p, 2) / (2 / pi) - 1) < 0.02); /* rho / (1 - rho) = 1 */
    for (uint32_t k = 3; k < PASSES; ++k)
        assert_true(passes_mean(&p, k) == 0.0);
    passes_free(&p);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* --- lights that are for some bounces only -------------------------------------------------------- */

#define LAMP(fields)                                                                               \
    "{\"name\": \"d\", \"type\": \"sphere\", \"radiance\": [9, 9, 9], \"radius_m\": 1" fields      \
    ", \"transform\": [1,0,0,2, 0,1,0,0, 0,0,1,4, 0,0,0,1]}"

/* By light sampling and by scattering alike. */
static void test_light_passes_of_lights_for_some_bounces(void **state)
{
    (void)state;
    static const char mixed[] = "0.5 * make_closure<Lambert>(color(0.8), N) + 0.5 * "
                                "make_closure<Conductor>(color(0.9), 0.6, N)";
    static const struct {
        const char *lamp;
        uint32_t dark;
    } cases[] = {{LAMP(", \"invisible_to\": [\"glossy\"]"), 4},
                 {LAMP(", \"invisible_to\": [\"diffuse\"]"), 1}};
    Kit kit;
    kit_begin(&kit);
    Passes plain =
        render_sample(&kit, &(Sample){.closure = mixed, .degrees = 20, .lights = LAMP("")});
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        Passes p = render_sample(
            &kit, &(Sample){.closure = mixed, .degrees = 20, .lights = cases[i].lamp});
        uint32_t lit = cases[i].dark == 4 ? 1 : 4;
        assert_true(passes_mean(&p, cases[i].dark) == 0.0);
        assert_true(passes_mean(&plain, cases[i].dark) > 0.1);
        assert_true(fabs(passes_mean(&p, lit) / passes_mean(&plain, lit) - 1) < 0.01);
        passes_free(&p);
    }
    passes_free(&plain);
    kit_end(&kit);
}

/* Light that comes out of a body was reflected by it, and diffusely: for passes, and for lights and limits that are
 * for transmission. */
static void test_light_passes_of_bodies(void **state)
{
    (void)state;
    static const char body[] = "make_closure<Subsurface>(color(0.8), color(0.2), 0, N)";
    Kit kit;
    kit_begin(&kit);
    Passes plain =
        render_sample(&kit, &(Sample){body, 0, true, LAMP(", \"is_solid\": false"), NULL});
    Passes through = render_sample(
        &kit, &(Sample){body, 0, true, LAMP(", \"invisible_to\": [\"transmission\"]"), NULL});
    Passes diffuse = render_sample(
        &kit, &(Sample){body, 0, true, LAMP(", \"invisible_to\": [\"diffuse\"]"), NULL});
    assert_true(passes_mean(&plain, 1) > 0.05 && passes_mean(&plain, 7) == 0.0 &&
                passes_mean(&plain, 8) == 0.0);
    assert_memory_equal(through.rgba, plain.rgba, 16 * (size_t)plain.count);
    assert_true(passes_mean(&diffuse, 1) == 0.0);
    passes_free(&diffuse);
    passes_free(&through);
    passes_free(&plain);
    kit_end(&kit);
}

/* --- colours ---------------------------------------------------------------------------------------- */

static void test_light_passes_where_there_is_no_color(void **state)
{
    (void)state;
    FilmDesc d = {.size_bytes = sizeof d,
                  .width = 3,
                  .height = 1,
                  .aovs = FILM_AOV_BIT(FILM_AOV_GLOSSY_INDIRECT)};
    Film *film = NULL;
    Error err = {0};
    assert_int_equal(film_create(&d, &film, &err), STATUS_OK);
    assert_true(film_desc(film)->aovs ==
                (FILM_AOV_BIT(FILM_AOV_GLOSSY_INDIRECT) | FILM_AOV_BIT(FILM_AOV_GLOSSY_COLOR)));
    /* Twice, of colours (0.5, 0.25, 0) and (1, 0.25, 0); once of no colour at all. */
    FilmSample a = {.aov = {[FILM_AT_GLOSSY_COLOR] = 0.5f,
                            [FILM_AT_GLOSSY_COLOR + 1] = 0.25f,
                            [FILM_AT_GLOSSY_INDIRECT] = 3,
                            [FILM_AT_GLOSSY_INDIRECT + 1] = 2}};
    FilmSample b = {.aov = {[FILM_AT_GLOSSY_COLOR] = 1, [FILM_AT_GLOSSY_COLOR + 1] = 0.25f}};
    FilmSample none = {.aov = {[FILM_AT_GLOSSY_INDIRECT] = 1}};
    film_commit(film, 0, 0, &a);
    film_commit(film, 0, 0, &b);
    film_commit(film, 1, 0, &none);
    float found[9];
    film_resolve_aov(film, FILM_AOV_GLOSSY_INDIRECT, found);
    static const float expected[9] = {2, 4, 3};
    assert_memory_equal(found, expected, sizeof found);
    film_destroy(film);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_passes_in_a_furnace),
        cmocka_unit_test(test_light_passes_share_what_layers_reflect),
        cmocka_unit_test(test_light_passes_between_walls),
        cmocka_unit_test(test_light_passes_of_lights_for_some_bounces),
        cmocka_unit_test(test_light_passes_of_bodies),
        cmocka_unit_test(test_light_passes_where_there_is_no_color),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
