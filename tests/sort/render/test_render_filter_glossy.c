/* Filter Glossy: what a path meets after a wide scatter is as if its shader had made it rough, and what the camera sees
 * is not. The first surface is Velvet, which scatters into the hemisphere evenly: p = 1/(2 pi). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

#define PI 3.14159265358979323846

/* Sharp for the camera, of roughness `deep` for what comes later. */
static const char shader_head[] =
    "shader floor_of_velvet(out closure surface)\n"
    "{\n    surface = make_closure<Velvet>(color(1), 1, global_value<normal>);\n}\n"
    "shader thing(float deep = 0, out closure surface)\n{\n"
    "    const normal N = global_value<normal>;\n"
    "    const vector T = vector(1, 0, 0);\n"
    "    const float r = global_value<path_depth> > 0 ? deep : 0.0;\n"
    "    surface = ";

static const char *const closures[] = {
    "make_closure<Conductor>(color(0.9, 0.6, 0.3), r, N)",
    "make_closure<Metal>(color(0.2), color(3), r, 0, T, N)",
    "make_closure<BeckmannMetal>(color(0.2), color(3), r, 0, T, N)",
    "make_closure<Dielectric>(1.5, r, color(1), color(1), N)",
    "make_closure<Plastic>(color(0.5), color(0.04), r, N)",
    "make_closure<Glossy>(color(0.8), r, 0, 1, 0, T, N)",
    "make_closure<Specular>(color(0.1), 1.5, r, 0, 0, T, N)",
    "make_closure<Refraction>(color(1), 1.5, r, 1, N)",
    "make_closure<ThinDielectric>(1.5, r, color(1), color(1), N)",
    "make_closure<Clearcoat>(r, N)",
    "make_closure<Coat>(color(1), 1.5, r, 1, N, make_closure<Lambert>(color(0.5), N))",
};

/* A floor in a room of the closure with a lamp; or the closure's wall seen directly. */
static void write_scene(const Kit *kit, const char *closure, double deep, bool is_direct)
{
    char source[2048], materials[512];
    StrBuf meshes = {0};
    snprintf(source, sizeof source, "%s%s;\n}\n", shader_head, closure);
    kit_write_text(kit, "m.ssl", source);
    snprintf(materials, sizeof materials,
             "{\"name\": \"floor\", \"shader\": \"m.ssl\", \"entry\": \"floor_of_velvet\"},"
             "{\"name\": \"thing\", \"shader\": \"m.ssl\", \"entry\": \"thing\", \"parameters\": "
             "{\"deep\": %.9g}}",
             deep);
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-5, -1, 5}, {5, -1, 5}, {5, -1, -5}, {-5, -1, -5}});
    kit_add_sphere(kit, &meshes, "room", 2.0f, 16);
    kit_write_scene(
        kit, &(KitScene){.width = 8,
                         .height = 8,
                         .samples = 16,
                         .max_depth = is_direct ? 1 : 2,
                         .eye = {0, 0, 0.5f},
                         .target = {0, is_direct ? 2.0f : -2.0f, 0},
                         .fov_y_degrees = 40,
                         .meshes = strbuf_text(&meshes),
                         .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": "
                                      "[\"floor\"]}, {\"name\": \"r\", \"mesh\": \"room\", "
                                      "\"materials\": [\"thing\"]}",
                         .materials = materials,
                         .lights = "{\"name\": \"lamp\", \"type\": \"sphere\", \"radiance\": "
                                   "[9, 9, 9], \"radius_m\": 0.3, \"transform\": "
                                   "[1,0,0,0.5, 0,1,0,0.5, 0,0,1,-0.5, 0,0,0,1]}",
                         .environment = "{\"color\": [0.5, 0.7, 1]}"});
    strbuf_free(&meshes);
}

static float *picture(const Kit *kit, float filter_glossy, uint32_t *out_count)
{
    RenderOptions options = kit_options(kit);
    SETTING_SET(options.settings, filter_glossy, filter_glossy);
    Render *render = kit_render(kit, &options);
    float *pixels = kit_pixels(render, out_count);
    render_destroy(render);
    return pixels;
}

/* Largest and mean difference by the mean. */
static double difference(const float *a, const float *b, uint32_t count)
{
    double sum = 0, off = 0;
    for (uint32_t i = 0; i < 4 * count; ++i) {
        sum += fabs((double)a[i]);
        off += fabs((double)a[i] - (double)b[i]);
    }
    assert_true(sum > 0);
    return off / sum;
}

/* With a setting f, alpha is sqrt(1 - p / f) / 2; none where f is below p. */
static void test_filter_glossy_is_roughness(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    for (size_t i = 0; i < sizeof closures / sizeof closures[0]; ++i) {
        const double settings[] = {1, 0.2, 0.1};
        for (int k = 0; k < 3; ++k) {
            uint32_t count;
            double p = 1 / (2 * PI) / settings[k], alpha = p < 1 ? 0.5 * sqrt(1 - p) : 0;
            write_scene(&kit, closures[i], 0, false);
            float *filtered = picture(&kit, (float)settings[k], &count);
            float *sharp = picture(&kit, 0, &count);
            write_scene(&kit, closures[i], sqrt(alpha), false);
            float *rough = picture(&kit, 0, &count);
            if (difference(filtered, rough, count) > 1e-4)
                fail_msg("%s, setting %g: off by %g", closures[i], settings[k],
                         difference(filtered, rough, count));
            if (k == 0) /* or the test would show nothing */
                assert_true(difference(filtered, sharp, count) > 1e-3);
            mem_free(filtered);
            mem_free(sharp);
            mem_free(rough);
        }
    }
    kit_end(&kit);
}

static void test_filter_glossy_spares_what_the_camera_sees(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    for (size_t i = 0; i < sizeof closures / sizeof closures[0]; ++i) {
        uint32_t count;
        write_scene(&kit, closures[i], 0, true);
        float *filtered = picture(&kit, 1, &count), *sharp = picture(&kit, 0, &count);
        assert_memory_equal(filtered, sharp, 16 * count);
        mem_free(filtered);
        mem_free(sharp);
    }
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_glossy_is_roughness),
        cmocka_unit_test(test_filter_glossy_spares_what_the_camera_sees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
