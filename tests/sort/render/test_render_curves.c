/* Curves in pictures: furnaces, shadows, attributes, motion, and the same bits whatever renders them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "tests/sort/render/render_kit.h"

enum { HAIRS = 40, POINTS = 6 };

/* A tuft: hairs in a square of side 2 that lean to all sides, as one file of points and one of roots' uv. */
static void write_tuft(const Kit *kit, float radius)
{
    float points[HAIRS * POINTS * 4], uv[HAIRS * 2], later[HAIRS * POINTS * 4];
    uint32_t counts[HAIRS], at = 0;
    for (uint32_t h = 0; h < HAIRS; ++h) {
        float x = -1.0f + 2.0f * ((float)(h % 8) + 0.5f) / 8.0f,
              z = -1.0f + 2.0f * ((float)(h / 8) + 0.5f) / 5.0f;
        float lean_x = (float)(hash_mix64(h) & 255) / 255.0f - 0.5f,
              lean_z = (float)(hash_mix64(h) >> 8 & 255) / 255.0f - 0.5f;
        counts[h] = POINTS;
        uv[2 * h] = 0.5f * (x + 1.0f), uv[2 * h + 1] = 0.5f * (z + 1.0f);
        for (uint32_t k = 0; k < POINTS; ++k, ++at) {
            float s = (float)k / (POINTS - 1);
            const float p[4] = {x + lean_x * s * s, 2.0f * s - 1.0f, z + lean_z * s * s,
                                radius * (1.0f - 0.5f * s)};
            memcpy(points + 4 * at, p, sizeof p);
            memcpy(later + 4 * at, p, sizeof p);
            later[4 * at] += 0.5f * s;
        }
    }
    kit_write(kit, "curves/points.bin", points, sizeof points);
    kit_write(kit, "curves/later.bin", later, sizeof later);
    kit_write(kit, "curves/counts.bin", counts, sizeof counts);
    kit_write(kit, "curves/uv.bin", uv, sizeof uv);
}

/* The entry of `curves` for it; more: further fields, with a comma in front. */
static void add_tuft(StrBuf *out, const char *name, const char *basis, const char *shape,
                     const char *more)
{
    strbuf_printf(
        out,
        "%s{\"name\": \"%s\", \"basis\": \"%s\", \"shape\": \"%s\", \"point_count\": %d, "
        "\"curve_count\": %d, \"points\": {\"file\": \"curves/points.bin\", \"type\": \"float32\", "
        "\"components\": 4, \"count\": %d}, \"point_counts\": {\"file\": \"curves/counts.bin\", "
        "\"type\": \"uint32\", \"components\": 1, \"count\": %d}%s}",
        out->size_bytes ? ", " : "", name, basis, shape, HAIRS * POINTS, HAIRS, HAIRS * POINTS,
        HAIRS, more);
}

static const char white_ssl[] =
    "shader white(out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n"
    "shader fibre(float absorption = 0, float rough = 0.3, out closure surface)\n{\n"
    "    surface = make_closure<Hair>(color(absorption), rough, rough, 0, 1.55, 0.05,\n"
    "        attribute<curve_across>, global_value<tangent>);\n}\n"
    "shader show(out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(attribute<curve_along>, attribute<curve_radius>,\n"
    "        attribute<curve_random>));\n}\n"
    "shader glow(out closure surface)\n{\n"
    "    const float s = attribute<curve_along>;\n"
    "    surface = make_closure<Emission>(color(s * s, 1, 0));\n}\n"
    "shader root(out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(global_value<uvw>.x, global_value<uvw>.y, 0));\n}\n"
    "shader body(out closure surface)\n{\n"
    "    surface = make_closure<Subsurface>(color(1), color(0.1), 0, global_value<normal>);\n}\n";

#define MATERIAL(entry) "{\"name\": \"m\", \"shader\": \"shaders/m.ssl\", \"entry\": \"" entry "\"}"

static KitScene tuft_scene(const Kit *kit, const StrBuf *curves, const char *material)
{
    kit_write_text(kit, "shaders/m.ssl", white_ssl);
    return (KitScene){.width = 48,
                      .height = 48,
                      .samples = 64,
                      .max_depth = 200,
                      .eye = {0.3f, 0.6f, 6},
                      .fov_y_degrees = 28,
                      .curves = curves->data,
                      .instances = "{\"name\": \"t\", \"curves\": \"t\", \"materials\": [\"m\"]}",
                      .materials = material,
                      .environment = "{\"color\": [1, 1, 1]}"};
}

/* --- furnaces ------------------------------------------------------------------------------------------ */

/* Nothing is lost: the environment cannot be told from what stands in it. Returns the mean; the largest distance
 * of a pixel from 1 as well. */
static double furnace(const char *basis, const char *shape, const char *material, float radius,
                      double *out_error)
{
    Kit kit;
    StrBuf curves = {0};
    uint32_t count;
    double mean;
    kit_begin(&kit);
    write_tuft(&kit, radius);
    add_tuft(&curves, "t", basis, shape, "");
    KitScene scene = tuft_scene(&kit, &curves, material);
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 1, &mean, out_error);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&curves);
    kit_end(&kit);
    return mean;
}

/* The middle of a leaning fibre and its sun, both turned about the view by a right angle or not: the mean. */
static double turned_fibre(bool is_turned)
{
    Kit kit;
    uint32_t count;
    double mean, error;
    char light[512];
    /* The sun stands at (0.6, 0, 0.8); columns are its axes. */
    const float sun[2][9] = {{0.8f, 0, 0.6f, 0, 1, 0, -0.6f, 0, 0.8f},
                             {0, -1, 0, 0.8f, 0, 0.6f, -0.6f, 0, 0.8f}};
    const struct {
        float points[2][4];
        uint32_t count;
    } straight = {{{0, -2, -1, 0.05f}, {0, 2, 1, 0.05f}}, 2},
      turned = {{{2, 0, -1, 0.05f}, {-2, 0, 1, 0.05f}}, 2};
    const float *s = sun[is_turned];
    kit_begin(&kit);
    kit_write(&kit, "meshes/fibre.bin", is_turned ? &turned : &straight, sizeof straight);
    kit_write_text(&kit, "shaders/m.ssl", white_ssl);
    snprintf(light, sizeof light,
             "{\"name\": \"sun\", \"type\": \"distant\", \"irradiance\": [3, 3, 3], \"transform\": "
             "[%g,%g,%g,0, %g,%g,%g,0, %g,%g,%g,0, 0,0,0,1]}",
             (double)s[0], (double)s[1], (double)s[2], (double)s[3], (double)s[4], (double)s[5],
             (double)s[6], (double)s[7], (double)s[8]);
    KitScene scene = {
        .width = 32,
        .height = 32,
        .samples = 64,
        .max_depth = 2,
        .eye = {0, 0, 4},
        .fov_y_degrees = 1,
        .curves =
            "{\"name\": \"t\", \"basis\": \"linear\", \"point_count\": 2, \"curve_count\": 1, "
            "\"points\": {\"file\": \"meshes/fibre.bin\", \"type\": \"float32\", "
            "\"components\": 4, \"count\": 2}, \"point_counts\": {\"file\": "
            "\"meshes/fibre.bin\", \"offset_bytes\": 32, \"type\": \"uint32\", "
            "\"components\": 1, \"count\": 1}}",
        .instances = "{\"name\": \"t\", \"curves\": \"t\", \"materials\": [\"m\"]}",
        .materials = MATERIAL("fibre"),
        .lights = light};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 1, &mean, &error);
    mem_free(rgba);
    render_destroy(render);
    kit_end(&kit);
    return mean;
}

/* The frame that the lobes stand in turns with the fibre. */
static void test_render_curves_turn_with_their_light(void **state)
{
    SORT_UNUSED(state);
    double straight = turned_fibre(false), turned = turned_fibre(true);
    assert_true(straight > 1e-3);
    if (!(fabs(turned / straight - 1.0) < 2e-3))
        fail_msg("upright %.6g, turned %.6g", straight, turned);
}

/* Numerical references, row 5. */
static void test_render_curves_lossless_hair_is_invisible(void **state)
{
    SORT_UNUSED(state);
    static const char *const cases[][2] = {
        {"catmull_rom", "round"}, {"linear", "round"}, {"b_spline", "ribbon"}};
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        double error, mean = furnace(cases[i][0], cases[i][1], MATERIAL("fibre"), 0.05f, &error);
        if (!(fabs(mean - 1.0) < 4.0 * error + 5e-4))
            fail_msg("%s %s: mean %g, error %g", cases[i][0], cases[i][1], mean, error);
    }
}

static void test_render_curves_white_tubes_are_invisible(void **state)
{
    SORT_UNUSED(state);
    static const char *const materials[] = {MATERIAL("white"), MATERIAL("body")};
    for (size_t i = 0; i < SORT_COUNT_OF(materials); ++i) {
        double error, mean = furnace("catmull_rom", "round", materials[i], 0.05f, &error);
        if (!(fabs(mean - 1.0) < 4.0 * error + 1e-3))
            fail_msg("material %zu: mean %g, error %g", i, mean, error);
    }
}

/* --- attributes ---------------------------------------------------------------------------------------------- */

static void render_one(const Kit *kit, const KitScene *scene, float **out_rgba, uint32_t *out_count)
{
    kit_write_scene(kit, scene);
    RenderOptions options = kit_options(kit);
    Render *render = kit_render(kit, &options);
    *out_rgba = kit_pixels(render, out_count);
    render_destroy(render);
}

/* What a fibre across the view returns of white light from everywhere, where the ray hits at h of the radius: R, TT,
 * TRT and the rest of a geometric series [Chiang2015 sec. 4]. */
static double fibre_albedo(double h, double absorption, double ior)
{
    double sin_t = h / ior, cosine = sqrt(1 - h * h), cos_t = sqrt(1 - sin_t * sin_t);
    double s = (cosine - ior * cos_t) / (cosine + ior * cos_t);
    double p = (ior * cosine - cos_t) / (ior * cosine + cos_t);
    double f = 0.5 * (s * s + p * p), through = exp(-2 * absorption * cos_t);
    return f + (1 - f) * (1 - f) * through / (1 - f * through);
}

/* A tube that fills the picture from -0.9 to 0.9 of its radius, from afar, under a white sky: the mean of that over h. */
static void test_render_curves_dark_fibre(void **state)
{
    SORT_UNUSED(state);
    const float points[] = {0, -50, 0, 1, 0, 50, 0, 1};
    const uint32_t counts[] = {2};
    const double width = 0.9, absorption = 0.5;
    Kit kit;
    StrBuf curves = {0};
    kit_begin(&kit);
    kit_write(&kit, "p.bin", points, sizeof points);
    kit_write(&kit, "n.bin", counts, sizeof counts);
    strbuf_append_c(
        &curves, "{\"name\": \"t\", \"basis\": \"linear\", \"point_count\": 2, \"curve_count\": 1,"
                 "\"points\": {\"file\": \"p.bin\", \"type\": \"float32\", \"components\": 4, "
                 "\"count\": 2}, \"point_counts\": {\"file\": \"n.bin\", \"type\": \"uint32\", "
                 "\"components\": 1, \"count\": 1}}");
    KitScene scene = tuft_scene(&kit, &curves,
                                "{\"name\": \"m\", \"shader\": \"shaders/m.ssl\", \"entry\": "
                                "\"fibre\", \"parameters\": {\"absorption\": 0.5}}");
    scene.max_depth = 2;
    scene.eye[0] = scene.eye[1] = 0.0f;
    scene.eye[2] = 1000.0f;
    scene.fov_y_degrees = (float)(2 * atan(width / 1000) * 180 / 3.14159265358979);
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t pixels;
    float *rgba = kit_pixels(render, &pixels);
    double mean, error, expected = 0;
    enum { STEPS = 1000 };
    for (int i = 0; i < STEPS; ++i)
        expected += fibre_albedo(width * (2 * (i + 0.5) / STEPS - 1), absorption, 1.55) / STEPS;
    kit_mean(rgba, pixels, 1, &mean, &error);
    if (!(fabs(mean - expected) < 4 * error + 1e-3 * expected) || error > 5e-3)
        fail_msg("mean %g, error %g, expected %g", mean, error, expected);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&curves);
    kit_end(&kit);
}

/* One thick upright curve that fills the picture's width: along grows with height, the radius falls with it. */
static void test_render_curves_have_attributes(void **state)
{
    SORT_UNUSED(state);
    static const float points[16] = {0, -2, 0, 1.5f, 0, -1, 0, 1.0f, 0, 1, 0, 0.5f, 0, 2, 0, 0.25f};
    static const uint32_t counts[] = {4};
    static const float uv[] = {0.25f, 0.75f};
    Kit kit;
    StrBuf curves = {0};
    uint32_t count;
    float *rgba;
    kit_begin(&kit);
    kit_write(&kit, "p.bin", points, sizeof points);
    kit_write(&kit, "n.bin", counts, sizeof counts);
    kit_write(&kit, "uv.bin", uv, sizeof uv);
    strbuf_append_c(
        &curves, "{\"name\": \"t\", \"basis\": \"linear\", \"point_count\": 4, \"curve_count\": 1,"
                 "\"points\": {\"file\": \"p.bin\", \"type\": \"float32\", \"components\": 4, "
                 "\"count\": 4}, \"point_counts\": {\"file\": \"n.bin\", \"type\": \"uint32\", "
                 "\"components\": 1, \"count\": 1}, \"uv\": [{\"file\": \"uv.bin\", \"type\": "
                 "\"float32\", \"components\": 2, \"count\": 1}]}");
    KitScene scene = tuft_scene(&kit, &curves, MATERIAL("show"));
    scene.width = scene.height = 16;
    scene.samples = 4;
    scene.fov_y_degrees = 10;
    scene.eye[0] = scene.eye[1] = 0.0f;
    render_one(&kit, &scene, &rgba, &count);
    for (uint32_t y = 0; y + 1 < 16; ++y) {
        const float *above = rgba + 4 * (16 * y + 8), *below = above + 4 * 16;
        assert_true(above[0] > below[0]);                /* curve_along */
        assert_true(above[1] < below[1]);                /* curve_radius */
        assert_true(fabsf(above[2] - below[2]) < 1e-3f); /* curve_random: of the curve */
        /* The sphere that touches the cone at height 0 has its centre at -0.2 and radius 0.8. */
        if (y == 7) {
            assert_true(fabsf(above[0] + below[0] - 2.0f * 1.4f / 3.0f) < 0.02f);
            assert_true(fabsf(above[1] + below[1] - 1.6f) < 0.02f);
        }
    }
    mem_free(rgba);
    scene.materials = MATERIAL("root");
    render_one(&kit, &scene, &rgba, &count);
    for (uint32_t i = 0; i < count; ++i)
        assert_true(rgba[4 * i] == 0.25f && rgba[4 * i + 1] == 0.75f);
    mem_free(rgba);
    strbuf_free(&curves);
    kit_end(&kit);
}

/* --- light ----------------------------------------------------------------------------------------------------- */

/* Irradiance under the middle of a wire of half length a and radius r that rises from one height to another, for what
 * shines by s^2 and by 1: the mean of the integral of 2 r h^2 / (h^2 + x^2)^2. */
static void glow_irradiance(double r, double a, double low, double high, double out[2])
{
    enum { STEPS = 400 };
    out[0] = out[1] = 0.0;
    for (int i = 0; i < STEPS; ++i)
        for (int k = 0; k < STEPS; ++k) {
            double h = low + (high - low) * ((double)i + 0.5) / STEPS;
            double s = ((double)k + 0.5) / STEPS, x = a * (2.0 * s - 1.0), d2 = h * h + x * x;
            double e = 2.0 * r * h * h / (d2 * d2) * 2.0 * a / STEPS / STEPS;
            out[0] += e * s * s;
            out[1] += e;
        }
}

/* A thin wire over white ground, brighter to one end, that rises: found by sampling it, since one direction in several
 * hundred meets it. */
static void test_render_curves_light_the_ground(void **state)
{
    SORT_UNUSED(state);
    static const float wire[16] = {-3, 0.8f, 0, 0.004f, -1, 0.8f, 0, 0.004f,
                                   1,  0.8f, 0, 0.004f, 3,  0.8f, 0, 0.004f};
    static const float ground[4][3] = {{-9, 0, 9}, {9, 0, 9}, {9, 0, -9}, {-9, 0, -9}};
    static const uint32_t point_count = 4;
    Kit kit;
    StrBuf meshes = {0};
    uint32_t count;
    float *rgba;
    double expected[2];
    glow_irradiance(0.004, 3.0, 0.8, 1.6, expected);
    kit_begin(&kit);
    kit_write(&kit, "p.bin", wire, sizeof wire);
    kit_write(&kit, "n.bin", &point_count, sizeof point_count);
    kit_add_quad(&kit, &meshes, "ground", ground);
    kit_write_text(&kit, "shaders/m.ssl", white_ssl);
    static const char *const bases[] = {"bezier", "linear"};
    for (size_t b = 0; b < SORT_COUNT_OF(bases); ++b) {
        char curves[512];
        snprintf(curves, sizeof curves,
                 "{\"name\": \"wire\", \"basis\": \"%s\", \"point_count\": 4, \"curve_count\": 1, "
                 "\"points\": {\"file\": \"p.bin\", \"type\": \"float32\", \"components\": 4, "
                 "\"count\": 4}, \"point_counts\": {\"file\": \"n.bin\", \"type\": \"uint32\", "
                 "\"components\": 1, \"count\": 1}}",
                 bases[b]);
        KitScene scene = {
            .width = 8,
            .height = 8,
            .samples = 64,
            .max_depth = 2,
            .eye = {0, 0.4f, 2},
            .fov_y_degrees = 1,
            .curves = curves,
            .meshes = strbuf_text(&meshes),
            .materials =
                "{\"name\": \"white\", \"shader\": \"shaders/m.ssl\", \"entry\": \"white\"},"
                "{\"name\": \"glow\", \"shader\": \"shaders/m.ssl\", \"entry\": \"glow\"}",
            .instances =
                "{\"name\": \"g\", \"mesh\": \"ground\", \"materials\": [\"white\"]},"
                "{\"name\": \"w\", \"curves\": \"wire\", \"materials\": [\"glow\"], \"motion\": "
                "[[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], [1,0,0,0, 0,1,0,0.8, 0,0,1,0, 0,0,0,1]]}"};
        render_one(&kit, &scene, &rgba, &count);
        for (int c = 0; c < 2; ++c) {
            double mean, error;
            kit_mean(rgba, count, c, &mean, &error);
            double radiance = expected[c] / 3.14159265358979;
            if (!(fabs(mean - radiance) < 4.0 * error + 0.005 * radiance) ||
                !(error < 0.02 * radiance))
                fail_msg("%s, channel %d: %g +- %g, expected %g", bases[b], c, mean, error,
                         radiance);
        }
        mem_free(rgba);
    }
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* --- bits ------------------------------------------------------------------------------------------------------ */

/* Tubes and ribbons, in place, instanced, stretched and moving, with a lamp whose shadows they throw. */
static void test_render_curves_have_the_same_bits(void **state)
{
    SORT_UNUSED(state);
    Kit kit;
    StrBuf curves = {0};
    char moving[256];
    kit_begin(&kit);
    write_tuft(&kit, 0.05f);
    snprintf(moving, sizeof moving,
             ", \"motion\": [{\"points\": {\"file\": \"curves/later.bin\", \"type\": \"float32\", "
             "\"components\": 4, \"count\": %d}}]",
             HAIRS * POINTS);
    add_tuft(&curves, "t", "catmull_rom", "round", moving);
    add_tuft(&curves, "r", "b_spline", "ribbon", "");
    add_tuft(&curves, "l", "linear", "round", "");
    KitScene scene = tuft_scene(&kit, &curves, MATERIAL("fibre"));
    scene.samples = 8;
    scene.max_depth = 6;
    scene.instances =
        "{\"name\": \"t\", \"curves\": \"t\", \"materials\": [\"m\"]},"
        "{\"name\": \"r\", \"curves\": \"r\", \"materials\": [\"m\"], \"transform\": "
        "[0.5,0.2,0,0.6, 0,1,0,0, 0,0,0.7,1, 0,0,0,1]},"
        "{\"name\": \"l\", \"curves\": \"l\", \"materials\": [\"m\"], \"motion\": "
        "[[1,0,0,-1, 0,1,0,0, 0,0,1,0, 0,0,0,1], [1,0,0,-1, 0,1,0,0.3, 0,0,1,0, 0,0,0,1]]}";
    scene.lights = "{\"name\": \"s\", \"type\": \"sphere\", \"radiance\": [20, 18, 15], "
                   "\"radius_m\": 0.4, \"transform\": [1,0,0,2, 0,1,0,3, 0,0,1,1, 0,0,0,1]}";
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    kit_assert_equal_bits(&kit, &options);
    strbuf_free(&curves);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render_curves_turn_with_their_light),
        cmocka_unit_test(test_render_curves_lossless_hair_is_invisible),
        cmocka_unit_test(test_render_curves_white_tubes_are_invisible),
        cmocka_unit_test(test_render_curves_dark_fibre),
        cmocka_unit_test(test_render_curves_have_attributes),
        cmocka_unit_test(test_render_curves_light_the_ground),
        cmocka_unit_test(test_render_curves_have_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
