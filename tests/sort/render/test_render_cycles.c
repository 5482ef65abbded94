/* What Blender 3.4's Cycles shows of its materials, and what SORT shows of the same: strips of a plane under one sun
 * without extent, so that a strip's radiance is f cos E with E = pi. Made by scripts/cycles_reference.py. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { SETUPS = 8, STRIP_PIXELS = 5, SAMPLES = 64 };

typedef struct Setup {
    float view, light, azimuth; /* degrees, see the script */
} Setup;

static const Setup setups[] = {
#define SETUP(view, light, azimuth) {view, light, azimuth},
#define MATERIAL(name, shader, parameters, ...)
#include "tests/sort/render/cycles_reference.inc"
#undef SETUP
#undef MATERIAL
};
_Static_assert(SORT_COUNT_OF(setups) == SETUPS, "one column a setup");

static const struct {
    const char *name, *shader, *parameters;
    double rgb[SETUPS * 3];
} rows[] = {
#define SETUP(view, light, azimuth)
#define MATERIAL(name, shader, parameters, ...) {name, shader, parameters, {__VA_ARGS__}},
#include "tests/sort/render/cycles_reference.inc"
#undef SETUP
#undef MATERIAL
};
enum { ROWS = SORT_COUNT_OF(rows) };

/* Where the two differ by more than rounding, for known reasons (docs/reference/closures.md): Cycles 3.4 takes the shadowing of
 * the two directions for independent, which shows at grazing angles, and does not squeeze radiance by the square of
 * the index as it enters a denser body. */
static const double microfacet_tolerance[SETUPS] = {0.003, 0.003, 0.003, 0.04,
                                                    0.01,  0.08,  0.003, 0.003};
static const struct {
    const char *name;
    double ior; /* of what refracts; else 0 */
} microfacets[] = {
    {"default", 0},
    {"shiny", 0},
    {"tinted", 0},
    {"metal", 0},
    {"half metal", 0},
    {"brushed", 0},
    {"turned", 0},
    {"clearcoat", 0},
    {"narrow coat", 0},
    {"see-through", 0},
    {"glossy", 0},
    {"glossy beckmann", 0},
    {"glass", 1.5},
    {"frosted", 1.3},
    {"refraction", 1.45},
    {"glass bsdf", 1.5},
    {"refraction beckmann", 1.33},
};

static double tolerance_of(const char *name, uint32_t setup, double *out_scale)
{
    *out_scale = 1.0;
    for (uint32_t i = 0; i < SORT_COUNT_OF(microfacets); ++i) {
        if (strcmp(microfacets[i].name, name) != 0)
            continue;
        double ior = microfacets[i].ior;
        if (ior > 0.0 && setups[setup].light > 90.0f)
            *out_scale = ior * ior;
        return microfacet_tolerance[setup];
    }
    return 0.003;
}

/* Cycles' lamps light a fibre's Transmission from below the surface alone; SORT's from behind the fibre, which is how light
 * that bounces reaches it in both. */
static bool is_above_of_transmission(const char *name, uint32_t setup)
{
    return strcmp(name, "hair transmission") == 0 && setups[setup].light < 90.0f;
}

static float3 direction(float polar_degrees, float azimuth_degrees)
{
    float p = polar_degrees * 0.017453292f, a = azimuth_degrees * 0.017453292f;
    return f3(sinf(p) * cosf(a), sinf(p) * sinf(a), cosf(p));
}

/* Columns right, up, back and the origin. */
static void print_frame(StrBuf *json, float3 right, float3 back, float3 origin)
{
    float3 up = f3_cross(back, right);
    const float rows_of[3][4] = {{right.x, up.x, back.x, origin.x},
                                 {right.y, up.y, back.y, origin.y},
                                 {right.z, up.z, back.z, origin.z}};
    for (int i = 0; i < 12; ++i)
        strbuf_printf(json, "%.9g, ", (double)rows_of[i / 4][i % 4]);
    strbuf_printf(json, "0, 0, 0, 1]");
}

static void print_materials(const Kit *kit, StrBuf *json)
{
    strbuf_printf(json, "\"materials\": [");
    for (uint32_t i = 0; i < ROWS; ++i) {
        char file[64], text[1024];
        bool is_unit = strncmp(rows[i].shader, "unit:", 5) == 0;
        snprintf(file, sizeof file, "shaders/m%u.ssl", i);
        snprintf(
            text, sizeof text,
            "float F(float ior)\n{\n    return fresnel_dielectric(abs(dot(global_value<normal>, "
            "global_value<I>)), ior);\n}\n"
            "shader m(out closure surface)\n{\n    const float3 N = global_value<normal>;\n"
            "    surface = %s;\n}\n",
            rows[i].shader);
        if (!is_unit)
            kit_write_text(kit, file, text);
        strbuf_printf(json, "%s{\"name\": \"%u\", \"shader\": \"%s\", \"parameters\": {%s}}",
                      i ? ",\n  " : "", i, is_unit ? rows[i].shader : file, rows[i].parameters);
    }
    strbuf_printf(json, "],\n ");
}

static void write_scene(const Kit *kit, const StrBuf *meshes, const Setup *setup)
{
    StrBuf json = {0};
    float3 to_eye = direction(setup->view, 270.0f),
           to_sun = direction(setup->light, setup->azimuth), s, t;
    f3_frame(to_sun, &s, &t);
    /* A picture as high as wide pixels would have it: one row of them is enough. */
    strbuf_printf(
        &json,
        "{\"sort_package\": 1,\n \"settings\": {\"resolution\": [%d, 8], \"samples\": %d, "
        "\"max_depth\": 1},\n \"cameras\": [{\"name\": \"c\", \"type\": "
        "\"orthographic\", \"height_m\": %.9g, \"transform\": [",
        STRIP_PIXELS * ROWS, SAMPLES, 8.0 / STRIP_PIXELS);
    print_frame(&json, f3(1, 0, 0), to_eye,
                f3_add(f3(0.5f * ROWS, 0, 0), f3_scale(to_eye, 100.0f)));
    strbuf_printf(&json, "}],\n \"meshes\": [%s],\n ", strbuf_text(meshes));
    print_materials(kit, &json);
    strbuf_printf(&json, "\"instances\": [");
    for (uint32_t i = 0; i < ROWS; ++i)
        strbuf_printf(&json,
                      "%s{\"name\": \"%u\", \"mesh\": \"strip\", \"materials\": [\"%u\"], "
                      "\"transform\": [1, 0, 0, %u, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}",
                      i ? ",\n  " : "", i, i, i);
    strbuf_printf(&json,
                  "],\n \"lights\": [{\"name\": \"sun\", \"type\": \"distant\", \"irradiance\": "
                  "[3.14159265, 3.14159265, 3.14159265], \"transform\": [");
    print_frame(&json, s, to_sun, f3(0, 0, 0));
    strbuf_printf(&json, "}]}\n");
    kit_write_text(kit, "scene.json", strbuf_text(&json));
    strbuf_free(&json);
}

static uint32_t compare(const float *rgba, uint32_t setup)
{
    uint32_t failures = 0;
    for (uint32_t i = 0; i < ROWS; ++i) {
        const float *ours =
            rgba + 4 * (4 * STRIP_PIXELS * ROWS + STRIP_PIXELS * i + STRIP_PIXELS / 2);
        const double *theirs = rows[i].rgb + 3 * setup;
        if (is_above_of_transmission(rows[i].name, setup))
            continue;
        double scale, tolerance = tolerance_of(rows[i].name, setup, &scale);
        for (int c = 0; c < 3; ++c) {
            double value = scale * (double)ours[c];
            if (fabs(value - theirs[c]) <= tolerance * fabs(theirs[c]) + 2e-4)
                continue;
            ++failures;
            print_message("%s, setup %u, channel %d: %g, Cycles %g (%+.2f %%)\n", rows[i].name,
                          setup, c, value, theirs[c], 100.0 * (value / theirs[c] - 1.0));
        }
    }
    return failures;
}

static void test_materials_look_as_in_cycles(void **state)
{
    (void)state;
    static const float corners[4][3] = {{0, -50, 0}, {1, -50, 0}, {1, 50, 0}, {0, 50, 0}};
    Kit kit;
    StrBuf meshes = {0};
    uint32_t failures = 0, count;
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "strip", corners);
    for (uint32_t i = 0; i < SETUPS; ++i) {
        write_scene(&kit, &meshes, &setups[i]);
        RenderOptions options = kit_options(&kit);
        Render *render = kit_render(&kit, &options);
        float *rgba = kit_pixels(render, &count);
        failures += compare(rgba, i);
        mem_free(rgba);
        render_destroy(render);
    }
    strbuf_free(&meshes);
    kit_end(&kit);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_materials_look_as_in_cycles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
