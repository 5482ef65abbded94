/* Closures that need the renderer: walks through translucent bodies, layers as shaders write them, holes in the
 * picture. A sphere fills the view, under a uniform sky of radiance 1. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

static const char sky[] = "{\"color\": [1, 1, 1]}";

typedef struct Picture {
    double mean[4], error[4];
} Picture;

/* The mesh "ball" of the kit, from in front. */
static Picture render_mesh(Kit *kit, const StrBuf *meshes, const char *material, uint32_t samples,
                           uint32_t depth, WaveStrategy strategy)
{
    KitScene scene = {.width = 16,
                      .height = 16,
                      .samples = samples,
                      .max_depth = depth,
                      .eye = {0, 0, 5},
                      .fov_y_degrees = 8,
                      .meshes = strbuf_text(meshes),
                      .instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}",
                      .materials = material,
                      .environment = sky};
    kit_write_scene(kit, &scene);
    RenderOptions options = kit_options(kit);
    options.strategy = strategy;
    Render *render = kit_render(kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    Picture p;
    for (int c = 0; c < 4; ++c)
        kit_mean(rgba, count, c, &p.mean[c], &p.error[c]);
    mem_free(rgba);
    render_destroy(render);
    return p;
}

/* The middle of a sphere of radius 1, smooth enough that flat faces do not matter. */
static Picture render_material(Kit *kit, const char *material, uint32_t samples, uint32_t depth,
                               WaveStrategy strategy)
{
    StrBuf meshes = {0};
    kit_add_sphere(kit, &meshes, "ball", 1.0f, 64);
    Picture p = render_mesh(kit, &meshes, material, samples, depth, strategy);
    strbuf_free(&meshes);
    return p;
}

static Picture render_sphere(const char *closure, uint32_t samples, uint32_t depth,
                             WaveStrategy strategy)
{
    Kit kit;
    char text[2048];
    kit_begin(&kit);
    snprintf(text, sizeof text,
             "shader s(out closure surface)\n{\n    const float3 N = global_value<normal>;\n"
             "    closure none;\n    surface = %s;\n}\n",
             closure);
    kit_write_text(&kit, "shaders/s.ssl", text);
    Picture p = render_material(&kit, "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\"}", samples,
                                depth, strategy);
    kit_end(&kit);
    return p;
}

static Picture render_unit(const char *unit, const char *parameters, uint32_t depth)
{
    Kit kit;
    char text[2048];
    kit_begin(&kit);
    snprintf(text, sizeof text, "{\"name\": \"m\", \"shader\": \"unit:%s\", \"parameters\": {%s}}",
             unit, parameters);
    Picture p = render_material(&kit, text, 64, depth, WAVE_STRATEGY_MIS);
    kit_end(&kit);
    return p;
}

static void assert_channel(const Picture *p, int c, double expected, double tolerance)
{
    if (fabs(p->mean[c] - expected) > tolerance + 4.0 * p->error[c])
        fail_msg("channel %d: %g +- %g, expected %g", c, p->mean[c], p->error[c], expected);
}

/* Nothing is absorbed, so all light that enters leaves again. A few walks are cut at WAVE_WALK_MAX. */
static void test_subsurface_white_furnace(void **state)
{
    (void)state;
    Picture p = render_sphere("make_closure<Subsurface>(color(1), color(0.8, 0.4, 0.2), 0.0, N)",
                              32, 1024, WAVE_STRATEGY_MIS);
    for (int c = 0; c < 3; ++c)
        assert_channel(&p, c, 1.0, 0.004);
    p = render_sphere("make_closure<Subsurface>(color(1), color(0.5), 0.7, N)", 32, 1024,
                      WAVE_STRATEGY_MIS);
    assert_channel(&p, 0, 1.0, 0.004);
}

/* A body that is large against the free paths returns its albedo: the inversion's half-space. Paths of 10 um are shorter
 * than what rays are moved off a surface. */
static void test_subsurface_returns_its_albedo(void **state)
{
    (void)state;
    static const struct {
        double radius_m, anisotropy;
    } bodies[] = {{0.002, 0}, {0.002, 0.6}, {1e-5, 0}};
    for (size_t i = 0; i < SORT_COUNT_OF(bodies); ++i) {
        char text[256];
        snprintf(text, sizeof text,
                 "make_closure<Subsurface>(color(0.8, 0.5, 0.2), color(%g), %g, N)",
                 bodies[i].radius_m, bodies[i].anisotropy);
        Picture p = render_sphere(text, 64, 1, WAVE_STRATEGY_MIS);
        static const double albedo[3] = {0.8, 0.5, 0.2};
        for (int c = 0; c < 3; ++c)
            assert_channel(&p, c, albedo[c], 0.03 * albedo[c]);
    }
}

static void test_subsurface_strategies_agree(void **state)
{
    (void)state;
    const char *closure =
        "make_closure<Subsurface>(color(0.9, 0.6, 0.3), color(0.3, 0.1, 0.05), 0.2, N)";
    Picture mis = render_sphere(closure, 64, 3, WAVE_STRATEGY_MIS);
    Picture lights = render_sphere(closure, 64, 3, WAVE_STRATEGY_LIGHTS);
    Picture scattering = render_sphere(closure, 64, 3, WAVE_STRATEGY_BSDFS);
    for (int c = 0; c < 3; ++c) {
        assert_channel(&mis, c, lights.mean[c], 4.0 * lights.error[c]);
        assert_channel(&mis, c, scattering.mean[c], 4.0 * scattering.error[c]);
        assert_true(mis.error[c] < 0.02);
    }
}

/* EON draws directions in two ways, between which the third random number chooses. */
static void test_rough_diffuse_white_furnace(void **state)
{
    (void)state;
    for (WaveStrategy s = WAVE_STRATEGY_MIS; s <= WAVE_STRATEGY_BSDFS; ++s) {
        Picture p = render_sphere("make_closure<EON>(color(1), 0.8, N)", 256, 4, s);
        for (int c = 0; c < 3; ++c)
            assert_channel(&p, c, 1.0, 4.0 * p.error[c] + 0.002);
    }
}

/* As Subsurface, whether light is refracted into the body or enters diffusely. */
static void test_refracted_subsurface_white_furnace(void **state)
{
    (void)state;
    static const char *const entries[] = {"1.4, 1, 0", "1.5, 0.2, 0", "1.33, 1, 0.5"};
    for (size_t i = 0; i < SORT_COUNT_OF(entries); ++i) {
        char text[256];
        snprintf(text, sizeof text,
                 "make_closure<RefractedSubsurface>(color(1), color(0.8, 0.4, 0.2), 0.0, %s, N)",
                 entries[i]);
        Picture p = render_sphere(text, 32, 1024, WAVE_STRATEGY_MIS);
        for (int c = 0; c < 3; ++c)
            assert_channel(&p, c, 1.0, 0.004);
    }
}

/* A layer takes the light that it reflects from the layers below, and no more. */
static void test_layers_keep_energy(void **state)
{
    (void)state;
    static const char *const closures[] = {
        "make_closure<Coat>(color(1), 1.5, 0.3, 1.0, N, make_closure<Lambert>(color(1), N))",
        "make_closure<Sheen>(color(1), 0.5, N, make_closure<Lambert>(color(1), N))",
        "make_closure<Coat>(color(1), 1.6, 0.1, 0.7, N, make_closure<Sheen>(color(1), 0.7, N, "
        "0.5 * make_closure<Lambert>(color(1), N) + 0.5 * make_closure<Conductor>(color(1), 0.5, "
        "N)))",
    };
    for (int i = 0; i < 3; ++i) {
        Picture p = render_sphere(closures[i], 64, 16, WAVE_STRATEGY_MIS);
        assert_channel(&p, 0, 1.0, 0.005);
    }
    /* Head on a smooth coat of index 1.5 lets 0.96 of what glows below it through. */
    Picture p = render_sphere("make_closure<Coat>(color(0.5, 1, 1), 1.5, 0.0, 1.0, N, "
                              "make_closure<Emission>(color(10)))",
                              16, 1, WAVE_STRATEGY_MIS);
    assert_channel(&p, 0, 4.8, 0.05);
    assert_channel(&p, 1, 9.6, 0.05);
}

static void test_layer_over_nothing(void **state)
{
    (void)state;
    Picture p = render_sphere("make_closure<Coat>(color(1), 1.5, 0.0, 1.0, N, none)", 16, 8,
                              WAVE_STRATEGY_MIS);
    assert_channel(&p, 0, 0.04, 0.002);
}

static void test_holdout_cuts_the_picture(void **state)
{
    (void)state;
    Picture p = render_sphere("make_closure<Holdout>(color(1))", 4, 4, WAVE_STRATEGY_MIS);
    assert_channel(&p, 3, 0.0, 1e-6);
    assert_channel(&p, 0, 0.0, 1e-6);
    p = render_sphere(
        "mix(make_closure<Holdout>(color(1)), make_closure<Lambert>(color(1), N), 0.25)", 64, 16,
        WAVE_STRATEGY_MIS);
    assert_channel(&p, 3, 0.25, 1e-4);
    assert_channel(&p, 0, 0.25, 0.005);
}

/* The units with all their layers, white. */
static void test_units_keep_energy(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"standard_surface",
         "\"base_color\": [1, 1, 1], \"coat\": 0.7, \"sheen\": 0.5, \"metallic\": 0.3"},
        {"standard_surface", "\"base_color\": [1, 1, 1], \"subsurface\": 0.6, "
                             "\"subsurface_scale\": 0.5, \"roughness\": 0.4"},
        {"standard_surface", "\"transmission\": 1, \"thin_walled\": true, \"roughness\": 0.5"},
        {"gltf_pbr", "\"metallic\": 0.5, \"roughness\": 0.3, \"clearcoat\": 1, \"has_sheen\": "
                     "true, \"sheen_color\": [1, 1, 1], "
                     "\"sheen_roughness\": 0.5"},
    };
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        Picture p = render_unit(cases[i][0], cases[i][1], 256);
        for (int c = 0; c < 3; ++c)
            assert_channel(&p, c, 1.0, 0.006);
    }
}

/* Blender's adds reflections to the base: 1 is passed, but not by much. Subsurface
 * returns its colour. */
static void test_principled_energy(void **state)
{
    (void)state;
    Picture p = render_unit("principled_bsdf", "\"base_color\": [1, 1, 1], \"roughness\": 0.5", 64);
    assert_channel(&p, 0, 1.045, 0.02);
    p = render_unit("principled_bsdf",
                    "\"base_color\": [1, 1, 1], \"metallic\": 1, \"multiscatter\": 1, "
                    "\"roughness\": 0.8",
                    64);
    assert_channel(&p, 0, 1.0, 0.005);
    /* Free paths short against the body. */
    p = render_unit("principled_bsdf",
                    "\"base_color\": [0.8, 0.8, 0.8], \"specular\": 0, \"subsurface\": 1, "
                    "\"subsurface_color\": [0.8, 0.8, 0.8], "
                    "\"subsurface_radius\": [0.05, 0.03, 0.02]",
                    1);
    for (int c = 0; c < 3; ++c)
        assert_channel(&p, c, 0.8, 0.03);
}

/* Blender 4's keeps energy in all its layers. */
static void test_principled_4_energy(void **state)
{
    static const char *const cases[] = {
        "\"base_color\": [1, 1, 1]",
        "\"base_color\": [1, 1, 1], \"metallic\": 1, \"roughness\": 0.8",
        "\"base_color\": [1, 1, 1], \"metallic\": 0.5, \"coat_weight\": 1, \"coat_ior\": 1.8",
        "\"base_color\": [1, 1, 1], \"sheen_weight\": 0.5, \"coat_weight\": 0.5",
    };
    (void)state;
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        Picture p = render_unit("principled_bsdf_4", cases[i], 64);
        assert_channel(&p, 0, 1.0, 0.015);
    }
    Picture p = render_unit("principled_bsdf_4",
                            "\"base_color\": [0, 0, 0], \"specular_ior_level\": 0, "
                            "\"emission_color\": [0, 0.5, 0], \"emission_strength\": 0.5, "
                            "\"coat_weight\": 1, \"coat_ior\": 1, \"coat_tint\": [1, 0.5, 1]",
                            16);
    assert_channel(&p, 0, 0.0, 0.01);
    assert_channel(&p, 1, 0.125, 0.01);
}

/* The sky seen through one refraction, smooth or rough: of radiance 1 / index^2, or of 1 where the material keeps radiance. */
static void test_one_pane(void **state)
{
    (void)state;
    static const WaveStrategy strategies[] = {WAVE_STRATEGY_MIS, WAVE_STRATEGY_LIGHTS,
                                              WAVE_STRATEGY_BSDFS};
    static const float corners[4][3] = {{-9, -9, 0}, {9, -9, 0}, {9, 9, 0}, {-9, 9, 0}};
    for (uint32_t i = 0; i < 8; ++i) {
        bool keeps = i & 1, is_rough = i >= 2;
        Kit kit;
        StrBuf meshes = {0};
        char material[256];
        kit_begin(&kit);
        kit_add_quad(&kit, &meshes, "ball", corners);
        snprintf(material, sizeof material,
                 "{\"name\": \"m\", \"shader\": \"unit:refraction_bsdf\", \"keeps_radiance\": %s, "
                 "\"parameters\": {\"roughness\": %g, \"ior\": 1.5}}",
                 keeps ? "true" : "false", is_rough ? 0.3 : 0.0);
        Picture p =
            render_mesh(&kit, &meshes, material, 256, 8, strategies[is_rough ? i / 2 - 1 : 0]);
        assert_channel(&p, 0, keeps ? 1.0 : 1.0 / 2.25, is_rough ? 0.002 : 1e-5);
        strbuf_free(&meshes);
        kit_end(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subsurface_white_furnace),
        cmocka_unit_test(test_subsurface_returns_its_albedo),
        cmocka_unit_test(test_subsurface_strategies_agree),
        cmocka_unit_test(test_rough_diffuse_white_furnace),
        cmocka_unit_test(test_refracted_subsurface_white_furnace),
        cmocka_unit_test(test_layers_keep_energy),
        cmocka_unit_test(test_layer_over_nothing),
        cmocka_unit_test(test_holdout_cuts_the_picture),
        cmocka_unit_test(test_units_keep_energy),
        cmocka_unit_test(test_principled_energy),
        cmocka_unit_test(test_principled_4_energy),
        cmocka_unit_test(test_one_pane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
