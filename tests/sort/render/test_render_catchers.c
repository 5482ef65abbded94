/* Shadow catchers: what the picture, its alpha and the pass hold in their place, by closed forms. */
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
    "shader matte(float albedo = 0.5, float glow = 0, out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(albedo), global_value<normal>)\n"
    "            + make_closure<Emission>(color(glow));\n}\n"
    "shader mirror(out closure surface)\n{\n"
    "    surface = make_closure<Conductor>(color(1), 0, global_value<normal>);\n}\n"
    "shader part(out closure surface)\n{\n"
    "    surface = make_closure<Holdout>(color(0.25)) + make_closure<Transparent>(color(0.5))\n"
    "            + make_closure<Lambert>(color(0.125), global_value<normal>);\n}\n"
    "shader half(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(0.5))\n"
    "            + make_closure<Lambert>(color(0.25), global_value<normal>);\n}\n";

#define MATERIALS                                                                                  \
    "{\"name\": \"matte\", \"shader\": \"m.ssl\", \"entry\": \"matte\"},"                          \
    "{\"name\": \"black\", \"shader\": \"m.ssl\", \"entry\": \"matte\", \"parameters\": "          \
    "{\"albedo\": 0}},"                                                                            \
    "{\"name\": \"glow\", \"shader\": \"m.ssl\", \"entry\": \"matte\", \"parameters\": "           \
    "{\"albedo\": 0, \"glow\": 1}},"                                                               \
    "{\"name\": \"mirror\", \"shader\": \"m.ssl\", \"entry\": \"mirror\"},"                        \
    "{\"name\": \"part\", \"shader\": \"m.ssl\", \"entry\": \"part\"},"                            \
    "{\"name\": \"half\", \"shader\": \"m.ssl\", \"entry\": \"half\"}"

#define WIRE                                                                                       \
    "{\"name\": \"wire\", \"basis\": \"linear\", \"point_count\": 2, \"curve_count\": 1, "         \
    "\"points\": "                                                                                 \
    "{\"file\": \"wire.bin\", \"type\": \"float32\", \"components\": 4, \"count\": 2}, "           \
    "\"point_counts\": {\"file\": \"two.bin\", \"type\": \"uint32\", \"components\": 1, "          \
    "\"count\": 1}}"

/* A small square around the origin, seen from (0, 6, 4). "floor" is the plane y = 0, "cellar" y = -1 and "roof" a square of
 * 4 m at y = 2, right above, "ball" a sphere at (0.6, 1, 0) with radius 0.5, "wire" a tube of 6 m along x with the same; the camera sees no ball and no roof. */
typedef struct Case {
    const char *instances, *lights, *environment;
    bool is_opaque; /* film */
    FilmAovSet aovs;
    uint32_t samples;
} Case;

typedef struct Result {
    double mean[4], error[4];
    double pass[3]; /* if asked for */
    double depth;
} Result;

static void write_case(const Kit *kit, const Case *c)
{
    StrBuf meshes = {0};
    kit_write_text(kit, "m.ssl", surfaces_ssl);
    const float *y = (const float[3]){0, -1, 2};
    const char *names[3] = {"floor", "cellar", "roof"};
    for (int k = 0; k < 3; ++k) {
        float s = k == 2 ? 2.0f : 30.0f;
        kit_add_quad(
            kit, &meshes, names[k],
            (const float[4][3]){{-s, y[k], -s}, {-s, y[k], s}, {s, y[k], s}, {s, y[k], -s}});
    }
    kit_add_sphere(kit, &meshes, "ball", 0.5f, 96);
    const float wire[2][4] = {{-3, 0, 0, 0.5f}, {3, 0, 0, 0.5f}};
    const uint32_t two = 2;
    kit_write(kit, "wire.bin", wire, sizeof wire);
    kit_write(kit, "two.bin", &two, sizeof two);
    kit_write_scene(kit, &(KitScene){.width = 8,
                                     .height = 8,
                                     .samples = c->samples ? c->samples : 16,
                                     .max_depth = 6,
                                     .has_transparent_film = !c->is_opaque,
                                     .eye = {0, 6, 4},
                                     .fov_y_degrees = 1,
                                     .meshes = strbuf_text(&meshes),
                                     .curves = WIRE,
                                     .instances = c->instances,
                                     .materials = MATERIALS,
                                     .lights = c->lights,
                                     .environment = c->environment});
    strbuf_free(&meshes);
}

static double mean_of(const float *values, uint32_t count, uint32_t stride)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; ++i)
        sum += (double)values[(size_t)i * stride];
    return sum / count;
}

static Result run(const Case *c)
{
    Kit kit;
    Result result = {0};
    uint32_t count;
    kit_begin(&kit);
    write_case(&kit, c);
    RenderOptions options = kit_options(&kit);
    options.aovs = c->aovs | FILM_AOV_BIT(FILM_AOV_DEPTH);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count), *depth = kit_aov(render, FILM_AOV_DEPTH);
    for (int k = 0; k < 4; ++k)
        kit_mean(rgba, count, k, &result.mean[k], &result.error[k]);
    result.depth = mean_of(depth, count, 1);
    if (film_aovs_have(c->aovs, FILM_AOV_SHADOW_CATCHER)) {
        float *pass = kit_aov(render, FILM_AOV_SHADOW_CATCHER);
        for (uint32_t k = 0; k < 3; ++k)
            result.pass[k] = mean_of(pass + k, count, 3);
        mem_free(pass);
    }
    mem_free(depth);
    mem_free(rgba);
    render_destroy(render);
    kit_end(&kit);
    return result;
}

#define PASS    FILM_AOV_BIT(FILM_AOV_SHADOW_CATCHER)
#define CATCHER ", \"is_shadow_catcher\": true"
#define UNSEEN  ", \"invisible_to\": [\"camera\"]"
#define BALL_AT ", \"transform\": [1,0,0,0.6, 0,1,0,1, 0,0,1,0, 0,0,0,1]"
#define OBJECT(mesh, material, more)                                                               \
    "{\"name\": \"" mesh "\", \"mesh\": \"" mesh "\", \"materials\": [\"" material "\"]" more "}"
#define TUBE(name, material, more)                                                                 \
    "{\"name\": \"" name "\", \"curves\": \"wire\", \"materials\": [\"" material "\"]" more "}"
#define AT_HEIGHT(y) ", \"transform\": [1,0,0,0, 0,1,0," y ", 0,0,1,0, 0,0,0,1]"
#define FLOOR        OBJECT("floor", "matte", CATCHER)
#define ROOF         OBJECT("roof", "black", UNSEEN)
#define WHITE_SKY    "{\"color\": [1, 1, 1]}"
/* Down the y axis, and at the side, from where the roof is not in the way. */
#define DISTANT(name, rgb, matrix)                                                                 \
    "{\"name\": \"" name "\", \"type\": \"distant\", \"irradiance\": " rgb                         \
    ", \"transform\": " matrix "}"
#define DOWN  "[1,0,0,0, 0,0,1,0, 0,-1,0,0, 0,0,0,1]"
#define ASIDE "[0,-0.6,0.8,0, 0,0.8,0.6,0, -1,0,0,0, 0,0,0,1]"

static void check(const char *what, double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%s: %.9g instead of %.9g, more than %g off", what, value, expected, tolerance);
}

static void test_catchers_in_the_sun(void **state)
{
    SORT_UNUSED(state);
    static const char sun[] = DISTANT("sun", "[3, 2, 1]", DOWN);
    Result lit = run(&(Case){.instances = FLOOR, .lights = sun});
    Result dark = run(&(Case){.instances = FLOOR "," ROOF, .lights = sun});
    for (int c = 0; c < 3; ++c)
        assert_true(lit.mean[c] == 0.0 && dark.mean[c] == 0.0);
    assert_true(lit.mean[3] == 0.0 && dark.mean[3] == 1.0);
    check("depth", lit.depth, sqrt(52.0), 0.05);
}

/* Two lights of equal irradiance on the floor; a red and a blue one; one of them hidden. */
static void test_catchers_under_two_lights(void **state)
{
    SORT_UNUSED(state);
    static const char same[] = DISTANT("a", "[3, 3, 3]", DOWN) "," DISTANT("b", "[5, 5, 5]", ASIDE);
    Result half = run(&(Case){.instances = FLOOR "," ROOF, .lights = same, .samples = 64});
    check("half", half.mean[3], 0.5, 4.5 * half.error[3] + 1e-6);
    assert_true(half.error[3] < 0.02);
    static const char two[] = DISTANT("a", "[3, 0, 0]", DOWN) "," DISTANT("b", "[0, 0, 3]", ASIDE);
    Result third = run(&(Case){.instances = FLOOR "," ROOF, .lights = two});
    check("a third", third.mean[3], 1.0 / 3.0, 1e-6);
    Result pass = run(&(Case){.instances = FLOOR "," ROOF, .lights = two, .aovs = PASS});
    for (int c = 0; c < 3; ++c)
        assert_true(pass.pass[c] == (c == 0 ? 0.0 : 1.0));
    assert_true(pass.mean[3] == 0.0);
}

/* Numerical references, row 10. */
static void test_catchers_under_a_dome(void **state)
{
    SORT_UNUSED(state);
    double d2 = 1.0 + 0.36, expected = 0.25 / d2 / sqrt(d2);
    Case c = {.instances = FLOOR "," OBJECT("ball", "black", UNSEEN BALL_AT),
              .environment = WHITE_SKY,
              .samples = 256};
    Result transparent = run(&c);
    assert_true(transparent.error[3] < 0.003);
    /* The ball has corners: it is a little smaller. */
    check("alpha", transparent.mean[3], expected, 4.5 * transparent.error[3] + 0.002 * expected);
    /* Laid over that sky it is the picture with the sky. */
    c.is_opaque = true;
    Result opaque = run(&c);
    check("sky", opaque.mean[1], 1.0 - transparent.mean[3], 1e-6);
    check("opaque", opaque.mean[3], 1.0, 1e-6);
    /* And the pass is what is left. */
    c.aovs = PASS;
    Result pass = run(&c);
    check("pass", pass.pass[1], opaque.mean[1], 1e-6);
    assert_true(pass.mean[1] == 0.0 && fabs(pass.mean[3]) < 1e-6);
}

/* Light that others send to a catcher is in the pass only; catchers take nothing from one another. */
static void test_catchers_are_lit_by_others(void **state)
{
    SORT_UNUSED(state);
    static const char sun[] = DISTANT("sun", "[3, 3, 3]", ASIDE);
    Case c = {.instances = FLOOR "," OBJECT("roof", "glow", UNSEEN), .lights = sun, .samples = 256};
    assert_true(run(&c).mean[3] == 0.0);
    c.aovs = PASS;
    /* A square of side 4 at distance 2, of radiance 1; the sun comes down with a cosine of 0.6. The form factor of a
     * quarter of it, whose corner is right above and whose sides are as long as it is far. */
    double s = sqrt(0.5), quarter = 2.0 * s * atan(s) / 6.283185307179586;
    check("glow", run(&c).pass[1], 1.0 + 3.14159265358979 * 4.0 * quarter / (3.0 * 0.6), 0.02);
    c.instances = FLOOR "," OBJECT("roof", "glow", UNSEEN ", \"light\": {}");
    check("lamp", run(&c).pass[1], 1.0, 1e-6);
    static const char down[] = DISTANT("sun", "[3, 2, 1]", DOWN);
    Result among = run(
        &(Case){.instances = FLOOR "," OBJECT("roof", "matte", UNSEEN CATCHER), .lights = down});
    assert_true(among.mean[3] == 0.0);
}

/* Opaque ones hide what is behind them; others as far as they are opaque. A mirror shows a catcher as it is. */
static void test_catchers_hide_what_is_behind(void **state)
{
    SORT_UNUSED(state);
    static const char sun[] = DISTANT("sun", "[3, 3, 3]", DOWN);
    static const char glow[] = OBJECT("cellar", "glow", "");
    char scene[512];
    snprintf(scene, sizeof scene, "%s,%s", FLOOR, glow);
    Result hidden = run(&(Case){.instances = scene, .lights = sun});
    assert_true(hidden.mean[0] == 0.0 && hidden.mean[3] == 0.0);
    snprintf(scene, sizeof scene, "%s,%s,%s", OBJECT("floor", "half", CATCHER), ROOF, glow);
    Result half = run(&(Case){.instances = scene, .lights = sun, .samples = 256});
    check("half of what is behind", half.mean[0], 0.5, 4.5 * half.error[0]);
    check("half of it and of the shadow", half.mean[3], 1.0, 4.5 * half.error[3] + 1e-6);
    assert_true(half.error[3] < 0.02);
    /* A quarter hole, half transparent, and a quarter of a catcher that is in shadow. */
    snprintf(scene, sizeof scene, "%s,%s,%s", OBJECT("floor", "part", CATCHER), ROOF, glow);
    Result part = run(&(Case){.instances = scene, .lights = sun, .samples = 256});
    check("what is behind a half", part.mean[0], 0.5, 4.5 * part.error[0]);
    check("three quarters", part.mean[3], 0.75, 4.5 * part.error[3]);
    snprintf(scene, sizeof scene, "%s,%s", OBJECT("floor", "mirror", ""),
             OBJECT("roof", "glow", UNSEEN CATCHER));
    Result mirrored = run(&(Case){.instances = scene, .lights = sun});
    check("in a mirror", mirrored.mean[0], 1.0, 1e-5);
    check("in a mirror", mirrored.mean[3], 1.0, 0.0);
    Result holdout = run(
        &(Case){.instances = OBJECT("floor", "matte", CATCHER ", \"is_holdout\": true") "," ROOF,
                .lights = sun});
    assert_true(holdout.mean[3] == 0.0);
}

/* Tubes that are placed are instances to Embree, whose masks are another matter. */
static void test_catchers_that_are_instances(void **state)
{
    SORT_UNUSED(state);
    static const char sun[] = DISTANT("sun", "[3, 2, 1]", DOWN);
    static const char above[] = TUBE("a", "black", UNSEEN AT_HEIGHT("2"));
    static const char catcher[] = TUBE("b", "matte", CATCHER AT_HEIGHT("-0.5"));
    char scene[1024];
    snprintf(scene, sizeof scene, "%s,%s", FLOOR, above);
    assert_true(run(&(Case){.instances = scene, .lights = sun}).mean[3] == 1.0);
    assert_true(run(&(Case){.instances = catcher, .lights = sun}).mean[3] == 0.0);
    snprintf(scene, sizeof scene, "%s,%s", catcher, above);
    assert_true(run(&(Case){.instances = scene, .lights = sun}).mean[3] == 1.0);
    snprintf(scene, sizeof scene, "%s,%s", FLOOR,
             TUBE("c", "black", UNSEEN CATCHER AT_HEIGHT("2")));
    assert_true(run(&(Case){.instances = scene, .lights = sun}).mean[3] == 0.0);
}

/* The roof leaves: its edge is over the middle of the floor after a quarter of the shutter. */
static void test_catchers_of_moving_shadows(void **state)
{
    SORT_UNUSED(state);
    static const char sun[] = DISTANT("sun", "[3, 2, 1]", DOWN);
    static const char leaves[] =
        OBJECT("roof", "black",
               UNSEEN ", \"motion\": [[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], "
                      "[1,0,0,8, 0,1,0,0, 0,0,1,0, 0,0,0,1]]");
    char scene[512];
    snprintf(scene, sizeof scene, "%s,%s", FLOOR, leaves);
    Result r = run(&(Case){.instances = scene, .lights = sun, .samples = 64});
    check("a quarter", r.mean[3], 0.25, 4.5 * r.error[3] + 0.01);
    assert_true(r.error[3] < 0.01);
}

/* All of the picture is black; the noise is that of alpha. */
static void test_catchers_are_sampled_by_their_noise(void **state)
{
    SORT_UNUSED(state);
    Kit kit;
    kit_begin(&kit);
    Case c = {.environment = WHITE_SKY, .samples = 256};
    for (int has_ball = 0; has_ball < 2; ++has_ball) {
        c.instances = has_ball ? FLOOR "," OBJECT("ball", "black", UNSEEN BALL_AT) : FLOOR;
        write_case(&kit, &c);
        RenderOptions options = kit_options(&kit);
        options.adaptive_error = 0.015f;
        options.aovs = FILM_AOV_BIT(FILM_AOV_SAMPLES);
        Render *render = kit_render(&kit, &options);
        float *samples = kit_aov(render, FILM_AOV_SAMPLES);
        double mean = mean_of(samples, 64, 1);
        /* By directions alone s^2 is alpha (1 - alpha) / n, and n 0.13 / (2 0.92 0.015)^2 = 170. */
        if (has_ball)
            assert_true(mean > 60.0 && mean < 256.0);
        else
            assert_true(mean == (double)RENDER_ADAPTIVE_MIN);
        mem_free(samples);
        render_destroy(render);
    }
    kit_end(&kit);
}

/* Threads, waves and ranges of samples, with all that catchers do: through one, on one, in the sky. */
static void write_all(const Kit *kit)
{
    write_case(
        kit, &(Case){.instances = OBJECT("floor", "half", CATCHER) "," OBJECT(
                         "cellar", "matte", CATCHER) "," OBJECT("ball", "matte", BALL_AT) "," ROOF,
                     .lights = DISTANT("sun", "[3, 2, 1]", ASIDE),
                     .environment = WHITE_SKY,
                     .is_opaque = true});
}

static void test_catchers_do_not_depend_on_threads_or_waves(void **state)
{
    SORT_UNUSED(state);
    Kit kit;
    kit_begin(&kit);
    write_all(&kit);
    RenderOptions options = kit_options(&kit);
    options.thread_count = 1;
    Hash128 one = kit_render_bits(&kit, &options, NULL);
    for (uint32_t threads = 2; threads <= 8; threads *= 4) {
        options.thread_count = threads;
        options.wave_capacity = threads == 2 ? 8 : 40;
        assert_true(hash128_equal(one, kit_render_bits(&kit, &options, NULL)));
    }
    kit_end(&kit);
}

static void test_catchers_of_sample_ranges_add_up(void **state)
{
    SORT_UNUSED(state);
    Kit kit;
    Error err = {0};
    char path[PATH_BYTES];
    Film *first;
    kit_begin(&kit);
    write_all(&kit);
    assert_int_equal(path_join(kit.folder, "a.part", path, &err), STATUS_OK);
    RenderOptions options = kit_options(&kit);
    Render *whole = kit_render(&kit, &options);
    options.sample_end = 5;
    Render *part = kit_render(&kit, &options);
    assert_int_equal(film_write_partial(render_film(part), path, &err), STATUS_OK);
    render_destroy(part);
    options.sample_begin = 5, options.sample_end = 16;
    part = kit_render(&kit, &options);
    assert_int_equal(film_read_partial(path, &first, &err), STATUS_OK);
    assert_int_equal(film_merge(render_film(part), first, &err), STATUS_OK);
    assert_true(hash128_equal(kit_bits(whole), kit_bits(part)));
    film_destroy(first);
    render_destroy(whole);
    render_destroy(part);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_catchers_in_the_sun),
        cmocka_unit_test(test_catchers_under_two_lights),
        cmocka_unit_test(test_catchers_under_a_dome),
        cmocka_unit_test(test_catchers_are_lit_by_others),
        cmocka_unit_test(test_catchers_hide_what_is_behind),
        cmocka_unit_test(test_catchers_that_are_instances),
        cmocka_unit_test(test_catchers_of_moving_shadows),
        cmocka_unit_test(test_catchers_are_sampled_by_their_noise),
        cmocka_unit_test(test_catchers_do_not_depend_on_threads_or_waves),
        cmocka_unit_test(test_catchers_of_sample_ranges_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
