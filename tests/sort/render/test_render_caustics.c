/* Light through glass that walks look for: against closed forms, and against scattering alone, which finds the same light with more
 * noise. */
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
    "shader matte(out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(0.5), global_value<normal>);\n}\n"
    "shader shiny(out closure surface)\n{\n"
    "    surface = 0.5 * make_closure<Lambert>(color(1), global_value<normal>)\n"
    "            + 0.5 * make_closure<Conductor>(color(1), 0.6, global_value<normal>);\n}\n"
    "shader glass(float ior = 1.5, float reflection = 1, out closure surface)\n{\n"
    "    surface = make_closure<Dielectric>(ior, 0, color(reflection), color(1), "
    "global_value<normal>);\n}\n"
    "shader foggy(out closure surface)\n{\n"
    "    surface = 0.5 * make_closure<Dielectric>(1.5, 0, color(1), color(0.9, 1, 0.8), "
    "global_value<normal>)\n"
    "            + 0.3 * make_closure<Transparent>(color(1))\n"
    "            + 0.2 * make_closure<Lambert>(color(1), global_value<normal>);\n}\n"
    "shader two(out closure surface)\n{\n"
    "    surface = 0.5 * make_closure<Dielectric>(1.5, 0, color(1), color(1), "
    "global_value<normal>)\n"
    "            + 0.5 * make_closure<Refraction>(color(1), 1.2, 0, 0, global_value<normal>);\n}\n"
    "shader odd(out closure surface)\n{\n"
    "    float ior = (global_value<ray_kind> & 4) != 0 ? 1.3 : 1.5;\n"
    "    surface = make_closure<Dielectric>(ior, 0, color(1), color(1), "
    "global_value<normal>);\n}\n";

#define MATERIAL(name, entry, parameters)                                                          \
    "{\"name\": \"" name "\", \"shader\": \"m.ssl\", \"entry\": \"" entry                          \
    "\", \"parameters\": {" parameters "}}"
#define MATERIALS                                                                                  \
    MATERIAL("matte", "matte", "")                                                                 \
    ", " MATERIAL("shiny", "shiny", "") ", " MATERIAL("glass", "glass", "") ", " MATERIAL(         \
        "clear", "glass",                                                                          \
        "\"reflection\": 0") ", " MATERIAL("foggy", "foggy",                                       \
                                           "") ", " MATERIAL("two", "two",                         \
                                                             "") ", " MATERIAL("odd", "odd", "")

/* Shines down from y = 3, a bit aside. */
#define DOWN               "\"transform\": [1,0,0,0.3, 0,0,1,3, 0,-1,0,0.2, 0,0,0,1]"
#define UP                 "\"transform\": [1,0,0,0.3, 0,1,0,3, 0,0,1,0.2, 0,0,0,1]"
#define LAMP(type, fields) "\"type\": \"" type "\", \"is_solid\": false, " fields

typedef struct Case {
    const char *what;
    const char *body; /* "slab" or "lens" */
    const char *floor, *glass;
    const char *lamp; /* fields */
    const char *limits;
    uint32_t samples;
} Case;

/* How the camera looks at the floor at (0.15, 0, 0), and where the axis of the lens is. */
typedef struct View {
    float eye_x, lens_x; /* in metres */
    float fov_degrees;
} View;
static const View usual_view = {1.5f, 0, 3}, close_view = {1.5f, 0.1f, 0.3f};

typedef struct Flags {
    bool caster, receiver, light;
} Flags;
static const Flags all_flags = {true, true, true}, no_flags = {false, false, false};

/* A slab of 0.2 m, as two quads. */
static void add_slab(const Kit *kit, StrBuf *meshes)
{
    kit_add_quad(kit, meshes, "top",
                 (const float[4][3]){{-2, 1.2f, 2}, {2, 1.2f, 2}, {2, 1.2f, -2}, {-2, 1.2f, -2}});
    kit_add_quad(kit, meshes, "bottom",
                 (const float[4][3]){{-2, 1, -2}, {2, 1, -2}, {2, 1, 2}, {-2, 1, 2}});
}

/* A unit ball whose vertices are its normals, too. */
static void add_smooth_ball(const Kit *kit, StrBuf *meshes)
{
    StrBuf own = {0};
    kit_add_sphere(kit, &own, "ball", 1.0f, 48);
    const char *text = strbuf_text(&own), *positions = strstr(text, "\"positions\"");
    const char *end = strchr(positions, '}');
    assert_non_null(end);
    strbuf_printf(meshes, ",\n %.*s, \"normals\"%.*s%s", (int)(end + 1 - text), text,
                  (int)(end + 1 - positions - 11), positions + 11, end + 1);
    strbuf_free(&own);
}

static void write_case(const Kit *kit, const Case *c, Flags flags, View view)
{
    StrBuf meshes = {0}, instances = {0}, lights = {0};
    const char *caster = flags.caster ? ", \"is_caustics_caster\": true" : "";
    kit_write_text(kit, "m.ssl", surfaces_ssl);
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-5, 0, 5}, {5, 0, 5}, {5, 0, -5}, {-5, 0, -5}});
    add_slab(kit, &meshes);
    add_smooth_ball(kit, &meshes);
    strbuf_printf(&instances, "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"%s\"]%s}",
                  c->floor, flags.receiver ? ", \"is_caustics_receiver\": true" : "");
    if (strcmp(c->body, "lens") == 0)
        strbuf_printf(&instances,
                      ", {\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"%s\"], "
                      "\"transform\": [0.6,0,0,%g, 0,0.2,0,1, 0,0,0.6,0, 0,0,0,1]%s}",
                      c->glass, (double)view.lens_x, caster);
    else
        for (int k = 0; k < 2; ++k)
            strbuf_printf(&instances,
                          ", {\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"%s\"]%s}",
                          k ? "t" : "s", k ? "top" : "bottom", c->glass, caster);
    strbuf_printf(&lights, "{\"name\": \"l\", %s%s}", c->lamp,
                  flags.light ? ", \"is_caustics_light\": true" : "");
    kit_write_scene(kit, &(KitScene){.width = 8,
                                     .height = 8,
                                     .samples = c->samples,
                                     .max_depth = 12,
                                     .limits = c->limits,
                                     .eye = {view.eye_x, 0.5f, 0.4f},
                                     .target = {0.15f, 0, 0},
                                     .fov_y_degrees = view.fov_degrees,
                                     .meshes = strbuf_text(&meshes),
                                     .instances = strbuf_text(&instances),
                                     .materials = MATERIALS,
                                     .lights = strbuf_text(&lights)});
    strbuf_free(&meshes);
    strbuf_free(&instances);
    strbuf_free(&lights);
}

/* Mean and standard error, of the green channel. */
static void mean_seen(const Case *c, Flags flags, View view, WaveStrategy strategy,
                      double *out_mean, double *out_error)
{
    Kit kit;
    uint32_t count;
    kit_begin(&kit);
    write_case(&kit, c, flags, view);
    RenderOptions options = kit_options(&kit);
    options.strategy = strategy;
    SETTING_SET(options.settings, seed, (uint32_t)strategy + 1 + 10 * (uint32_t)flags.light);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 1, out_mean, out_error);
    mem_free(rgba);
    render_destroy(render);
    kit_end(&kit);
}

static void mean_of(const Case *c, Flags flags, WaveStrategy strategy, double *out_mean,
                    double *out_error)
{
    mean_seen(c, flags, usual_view, strategy, out_mean, out_error);
}

/* What a face of glass lets through, of light that is not polarised. */
static double fresnel_through(double cos_i, double cos_t, double eta)
{
    double rs = (cos_i - eta * cos_t) / (cos_i + eta * cos_t);
    double rp = (eta * cos_i - cos_t) / (eta * cos_i + cos_t);
    return 1 - 0.5 * (rs * rs + rp * rp);
}

/* Two faces of glass that reflect nothing inside let (1 - F)^2 of a beam through, whose cross section stays. A sun without
 * a size is found by walks alone. */
static void test_slab_under_a_sun(void **state)
{
    (void)state;
    static const double cosines[] = {1.0, 0.6};
    for (size_t i = 0; i < 2; ++i) {
        char lamp[512];
        double cos_i = cosines[i], sin_i = sqrt(1 - cos_i * cos_i), mean, error;
        /* x' = (cos, -sin, 0), y' = (0, 0, -1), z' = x' cross y' = (sin, cos, 0) */
        snprintf(lamp, sizeof lamp,
                 "\"type\": \"distant\", \"irradiance\": [4, 4, 4], \"transform\": "
                 "[%.9g,0,%.9g,0, %.9g,0,%.9g,0, 0,-1,0,0, 0,0,0,1]",
                 cos_i, sin_i, -sin_i, cos_i);
        const Case c = {"sun", "slab", "matte", "clear", lamp, NULL, 4};
        mean_of(&c, all_flags, WAVE_STRATEGY_MIS, &mean, &error);
        double cos_t = sqrt(1 - sin_i * sin_i / 2.25);
        double through = fresnel_through(cos_i, cos_t, 1.5);
        double expected = 0.5 / PI * 4 * cos_i * through * through;
        if (fabs(mean - expected) > 2e-4 * expected)
            fail_msg("cosine %g: %.9g, expected %.9g", cos_i, mean, expected);
        mean_of(&c, no_flags, WAVE_STRATEGY_MIS, &mean, &error);
        assert_true(mean == 0); /* or the glass would not be in the way */
    }
}

/* A point above a slab sends the light between two cones onto a ring of the floor. Walks alone find it, with a density that is the
 * area of what a beginning's solid angle becomes: not an even one, as light comes in flatter. */
static void test_slab_under_a_point(void **state)
{
    (void)state;
    const double air = 2.8, slab = 0.2, index = 1.5, intensity = 20; /* metres of height */
    static const double degrees[] = {20, 45, 60};
    for (size_t i = 0; i < 3; ++i) {
        char lamp[512];
        double a = degrees[i] * PI / 180, sin_a = sin(a), cos_a = cos(a), mean, error;
        double sin_b = sin_a / index, cos_b = sqrt(1 - sin_b * sin_b);
        double r = air * sin_a / cos_a + slab * sin_b / cos_b;
        double dr = air / (cos_a * cos_a) + slab / (cos_b * cos_b) * cos_a / (index * cos_b);
        double through = fresnel_through(cos_a, cos_b, index);
        double expected = 0.5 / PI * intensity * through * through * sin_a / (r * dr);
        snprintf(lamp, sizeof lamp,
                 "\"type\": \"point\", \"intensity\": [%g, %g, %g], \"transform\": "
                 "[1,0,0,%.9g, 0,1,0,3, 0,0,1,%.9g, 0,0,0,1]",
                 intensity, intensity, intensity, 0.15 + 0.8 * r, 0.6 * r);
        const Case c = {"point", "slab", "matte", "clear", lamp, NULL, 16};
        mean_seen(&c, all_flags, close_view, WAVE_STRATEGY_MIS, &mean, &error);
        if (fabs(mean - expected) > 1e-3 * expected)
            fail_msg("%g degrees: %.9g, expected %.9g", degrees[i], mean, expected);
    }
}

/* Refracts d, whose second component is along the axis of the lens, at a face with the normal n, against d. Returns what it lets
 * through. */
static double refract(double d[2], const double n[2], double eta)
{
    double cos_i = -(d[0] * n[0] + d[1] * n[1]);
    double cos_t = sqrt(1 - (1 - cos_i * cos_i) / (eta * eta));
    for (int c = 0; c < 2; ++c)
        d[c] = d[c] / eta + (cos_i / eta - cos_t) * n[c];
    return fresnel_through(cos_i, cos_t, eta);
}

/* Follows a ray that falls straight down, r metres from the axis, through the lens of write_case, a spheroid. Returns its distance
 * from the axis on the floor. */
static double fall_through_lens(double r, double *out_through)
{
    const double a2 = 0.36, b2 = 0.04, height = 1; /* squares of half axes */
    double y = sqrt(b2 * (1 - r * r / a2)), p[2] = {r, y}, d[2] = {0, -1};
    double n[2] = {r / a2, y / b2}, length = hypot(n[0], n[1]);
    n[0] /= length, n[1] /= length;
    *out_through = refract(d, n, 1.5);
    double t = -2 * (p[0] * d[0] / a2 + p[1] * d[1] / b2) / (d[0] * d[0] / a2 + d[1] * d[1] / b2);
    p[0] += t * d[0], p[1] += t * d[1];
    n[0] = -p[0] / a2, n[1] = -p[1] / b2, length = hypot(n[0], n[1]);
    n[0] /= length, n[1] /= length;
    *out_through *= refract(d, n, 1 / 1.5);
    return p[0] + (height + p[1]) / -d[1] * d[0];
}

/* A lens gathers the light of a ring on a smaller one. A mesh whose normals are smooth does so, too: to 0.1 %. */
static void test_lens_under_a_sun(void **state)
{
    (void)state;
    const double at = 0.05, step = 1e-5;
    double low = 0, high = 0.2, through, unused, mean, error;
    while (high - low > 1e-12) {
        double middle = 0.5 * (low + high);
        if (fall_through_lens(middle, &through) < at)
            low = middle;
        else
            high = middle;
    }
    double slope =
        (fall_through_lens(low + step, &unused) - fall_through_lens(low - step, &unused)) /
        (2 * step);
    double expected = 0.5 / PI * 4 * through * low / (at * slope);
    const Case c = {
        "sun", "lens", "matte", "clear", "\"type\": \"distant\", \"irradiance\": [4, 4, 4], " DOWN,
        NULL,  16};
    mean_seen(&c, all_flags, close_view, WAVE_STRATEGY_MIS, &mean, &error);
    if (fabs(mean - expected) > 0.01 * expected)
        fail_msg("%.9g +- %.2g, expected %.9g", mean, error, expected);
}

#define SPHERE LAMP("sphere", "\"radiance\": [60, 60, 60], \"radius_m\": 0.3, " UP)
static const Case cases[] = {
    {"slab, sphere", "slab", "matte", "glass", SPHERE, NULL, 400},
    {"lens, sphere", "lens", "matte", "glass", SPHERE, NULL, 400},
    {"lens, rectangle", "lens", "matte", "glass",
     LAMP("area_rectangle", "\"radiance\": [60, 60, 60], \"size\": [0.7, 0.4], " DOWN), NULL, 400},
    {"lens, disk with a spread", "lens", "shiny", "glass",
     LAMP("area_disk",
          "\"radiance\": [60, 60, 60], \"radius_m\": 0.3, \"spread_degrees\": 60, " DOWN),
     NULL, 400},
    {"lens, point with a radius", "lens", "matte", "glass",
     LAMP("point", "\"intensity\": [18, 18, 18], \"radius_m\": 0.4, " UP), NULL, 400},
    {"slab, spot with a radius", "slab", "shiny", "glass",
     LAMP("spot",
          "\"intensity\": [18, 18, 18], \"radius_m\": 0.4, \"outer_angle_degrees\": 30, " DOWN),
     NULL, 400},
    {"lens, sun", "lens", "matte", "glass",
     LAMP("distant", "\"irradiance\": [4, 4, 4], \"angle_degrees\": 30, " DOWN), NULL, 400},
    {"slab of foggy glass", "slab", "matte", "foggy", SPHERE, NULL, 600},
    {"lens with two indices", "lens", "matte", "two", SPHERE, NULL, 600},
    {"glass that is thinner for diffuse rays", "lens", "matte", "odd", SPHERE, NULL, 400},
    {"few bounces", "lens", "matte", "glass", SPHERE, "\"max_transmission\": 2", 400},
    {"no bounces to spare", "slab", "matte", "glass", SPHERE, "\"max_glossy\": 1", 400},
};

/* Without the flags scattering alone finds this light. With them walks find it, weighted against scattering or alone where they
 * find it at all: the means differ by no more than 4.5 standard errors, in 24 comparisons. */
static void test_all_strategies_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const Case *c = &cases[i];
        double expected, known_to;
        mean_of(c, no_flags, WAVE_STRATEGY_MIS, &expected, &known_to);
        if (!(known_to < 0.08 * expected))
            fail_msg("%s: %g is known to %g, which shows nothing", c->what, expected, known_to);
        for (int k = 0; k < 2; ++k) {
            double mean, error;
            mean_of(c, all_flags, (WaveStrategy)k, &mean, &error);
            if (fabs(mean - expected) > 4.5 * hypot(error, known_to))
                fail_msg("%s, strategy %d: %g +- %g, by scattering %g +- %g", c->what, k, mean,
                         error, expected, known_to);
        }
    }
}

/* Where walks find all light there is, little noise is left. */
static void test_noise_goes(void **state)
{
    (void)state;
    const Case c = {"slab", "slab", "matte", "clear", SPHERE, NULL, 128};
    double mean, error, plain, plain_error;
    mean_of(&c, no_flags, WAVE_STRATEGY_MIS, &plain, &plain_error);
    mean_of(&c, all_flags, WAVE_STRATEGY_MIS, &mean, &error);
    if (error > 0.1 * plain_error)
        fail_msg("%g +- %g, without walks %g +- %g", mean, error, plain, plain_error);
}

/* Filter Glossy blurs glass behind diffuse bounces, but not between a receiver and a light that walks find. */
static void test_filter_glossy_leaves_casters_sharp(void **state)
{
    (void)state;
    const Case sharp = {"sharp", "slab", "matte", "clear", SPHERE, NULL, 256};
    Case filtered = sharp;
    filtered.limits = "\"filter_glossy\": 1";
    for (int k = 0; k < 3; ++k) {
        double a, a_error, b, b_error;
        mean_of(&sharp, all_flags, (WaveStrategy)k, &a, &a_error);
        mean_of(&filtered, all_flags, (WaveStrategy)k, &b, &b_error);
        assert_true(fabs(a - b) <= 4.5 * hypot(a_error, b_error) + 1e-5 * a);
    }
}

/* Renders a larger view. */
static Hash128 bits_of(const Case *c, Flags flags, uint32_t threads, uint32_t wave, uint32_t fibers)
{
    Kit kit;
    kit_begin(&kit);
    write_case(&kit, c, flags, (View){2.5f, 0, 3});
    RenderOptions options = kit_options(&kit);
    options.thread_count = threads;
    options.wave_capacity = wave;
    options.fibers_max = fibers;
    Hash128 bits = kit_render_bits(&kit, &options, NULL);
    kit_end(&kit);
    return bits;
}

static bool are_equal(Hash128 a, Hash128 b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void test_bits(void **state)
{
    (void)state;
    const Case c = {"lens, sphere", "lens", "matte", "glass", SPHERE, NULL, 4};
    Hash128 usual = bits_of(&c, all_flags, 1, 0, 0), off = bits_of(&c, no_flags, 1, 0, 0);
    assert_false(are_equal(usual, off));
    assert_true(are_equal(usual, bits_of(&c, all_flags, 2, 8, 3)));
    assert_true(are_equal(usual, bits_of(&c, all_flags, 2, 24, 1)));
    assert_true(are_equal(usual, bits_of(&c, all_flags, 1, 4096, 0)));
    /* Two of the flags do nothing. */
    assert_true(are_equal(off, bits_of(&c, (Flags){true, true, false}, 1, 0, 0)));
    assert_true(are_equal(off, bits_of(&c, (Flags){true, false, true}, 1, 0, 0)));
    assert_true(are_equal(off, bits_of(&c, (Flags){false, true, true}, 1, 0, 0)));
}

/* A path that leaves the scene meets all suns at once, so there are more walks than paths. */
static void test_bits_under_many_suns(void **state)
{
    (void)state;
    static const char sun[] =
        "\"type\": \"distant\", \"irradiance\": [1, 1, 1], \"angle_degrees\": 120, " DOWN;
    StrBuf lamps = {0};
    strbuf_printf(&lamps, "%s", sun);
    for (int k = 0; k < 40; ++k)
        strbuf_printf(&lamps, ", \"is_caustics_light\": true}, {\"name\": \"sun %d\", %s", k, sun);
    const Case c = {"slab, suns", "slab", "matte", "foggy", strbuf_text(&lamps), NULL, 16};
    Hash128 usual = bits_of(&c, all_flags, 1, 0, 0);
    for (uint32_t wave = 8; wave <= 40; wave += 16)
        assert_true(are_equal(usual, bits_of(&c, all_flags, 1, wave, 1)));
    strbuf_free(&lamps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slab_under_a_sun),
        cmocka_unit_test(test_slab_under_a_point),
        cmocka_unit_test(test_lens_under_a_sun),
        cmocka_unit_test(test_all_strategies_agree),
        cmocka_unit_test(test_noise_goes),
        cmocka_unit_test(test_filter_glossy_leaves_casters_sharp),
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_bits_under_many_suns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
