/* What materials ask the scene: closed forms and quadratures of `occlusion` and `bevel`, and equal bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { SIDE = 4, SAMPLES = 64, PIXELS = SIDE * SIDE };

/* Emission shows the answers: normals as halves, so that none is negative. */
static const char asking_ssl[] =
    "shader near(float distance = 2, int samples = 4, bool only_local = false, bool below = false, "
    "out closure surface)\n{\n"
    "    const normal N = global_value<normal>;\n"
    "    const float clear = ask_host<occlusion>(below ? -N : N, distance, samples, only_local);\n"
    "    surface = make_closure<Emission>(color(clear, 0.5 * clear, 1));\n}\n"
    "shader rounded(float radius = 0.5, int samples = 1024, out closure surface)\n{\n"
    "    const normal N = ask_host<bevel>(global_value<normal>, radius, samples);\n"
    "    surface = make_closure<Emission>(color(0.5) + 0.5 * color(N.x, N.y, N.z));\n}\n"
    "shader matte(out closure surface)\n{\n"
    "    const normal N = ask_host<bevel>(global_value<normal>, 0.3, 3);\n"
    "    const float clear = ask_host<occlusion>(N, 1.5, 5, global_value<uvw>.x > 0.5);\n"
    "    surface = make_closure<Lambert>(color(clear), N);\n}\n"
    "shader glass(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(1));\n}\n";

static const char materials[] =
    "{\"name\": \"near\", \"shader\": \"m.ssl\", \"entry\": \"near\"},"
    "{\"name\": \"once\", \"shader\": \"m.ssl\", \"entry\": \"near\", \"parameters\": "
    "{\"samples\": 1}},"
    "{\"name\": \"local\", \"shader\": \"m.ssl\", \"entry\": \"near\", \"parameters\": "
    "{\"only_local\": true}},"
    "{\"name\": \"below\", \"shader\": \"m.ssl\", \"entry\": \"near\", \"parameters\": {\"below\": "
    "true}},"
    "{\"name\": \"rounded\", \"shader\": \"m.ssl\", \"entry\": \"rounded\"},"
    "{\"name\": \"vast\", \"shader\": \"m.ssl\", \"entry\": \"rounded\", \"parameters\": "
    "{\"radius\": 1e38, \"samples\": 64}},"
    "{\"name\": \"matte\", \"shader\": \"m.ssl\", \"entry\": \"matte\"},"
    "{\"name\": \"glass\", \"shader\": \"m.ssl\", \"entry\": \"glass\"}";

static void assert_near(double value, double wanted, double most)
{
    if (!(fabs(value - wanted) <= most))
        fail_msg("%.6f instead of %.6f +- %.6f", value, wanted, most);
}

static void write_scene(const Kit *kit, uint32_t samples, const char *meshes, const char *instances,
                        const float eye[3], const float target[3])
{
    kit_write_text(kit, "m.ssl", asking_ssl);
    kit_write_scene(kit, &(KitScene){.width = SIDE,
                                     .height = SIDE,
                                     .samples = samples,
                                     .max_depth = 2,
                                     .eye = {eye[0], eye[1], eye[2]},
                                     .target = {target[0], target[1], target[2]},
                                     .fov_y_degrees = 0.05f,
                                     .meshes = meshes,
                                     .instances = instances,
                                     .materials = materials});
}

/* The mean colour of the pixels. */
static void render_mean(Kit *kit, double out_mean[3])
{
    RenderOptions options = kit_options(kit);
    options.sampler = SAMPLER_INDEPENDENT;
    Render *render = kit_render(kit, &options);
    uint32_t count;
    float *values = kit_pixels(render, &count);
    memset(out_mean, 0, 3 * sizeof *out_mean);
    for (int i = 0; i < PIXELS; ++i)
        for (int c = 0; c < 3; ++c)
            out_mean[c] += (double)values[4 * i + c] / PIXELS;
    mem_free(values);
    render_destroy(render);
}

/* A floor of a material at z = 0, which the camera sees from below a roof at z = 1, of one or of two objects. */
static double clear_part(const char *floor, const char *roof, bool is_one)
{
    Kit kit;
    StrBuf meshes = {0}, instances = {0};
    double mean[3];
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-60, -60, 0}, {60, -60, 0}, {60, 60, 0}, {-60, 60, 0}});
    kit_add_quad(&kit, &meshes, "roof",
                 (const float[4][3]){{-60, -60, 1}, {60, -60, 1}, {60, 60, 1}, {-60, 60, 1}});
    /* A mesh of both: its floor hangs from the roof by nothing. */
    kit_add_quads(&kit, &meshes, "both", 2,
                  (const float[8][3]){{-60, -60, 0},
                                      {60, -60, 0},
                                      {60, 60, 0},
                                      {-60, 60, 0},
                                      {-60, -60, 1},
                                      {60, -60, 1},
                                      {60, 60, 1},
                                      {-60, 60, 1}});
    if (is_one)
        strbuf_printf(&instances, "{\"name\": \"b\", \"mesh\": \"both\", \"materials\": [\"%s\"]}",
                      floor);
    else
        strbuf_printf(&instances,
                      "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"%s\"]},"
                      "{\"name\": \"r\", \"mesh\": \"roof\", \"materials\": [\"%s\"]}",
                      floor, roof);
    write_scene(&kit, SAMPLES, strbuf_text(&meshes), strbuf_text(&instances),
                (const float[3]){0, 0, 0.5f}, (const float[3]){0, 0, 0});
    render_mean(&kit, mean);
    strbuf_free(&meshes);
    strbuf_free(&instances);
    kit_end(&kit);
    assert_near(mean[1], 0.5 * mean[0], 1e-6);
    assert_near(mean[2], 1, 1e-6);
    return mean[0];
}

/* Rays at an angle t from the normal reach the roof at the height 1 within 1 / cos t. By the cosine, the part of them that goes
 * further than 2 is a quarter. Each of PIXELS * SAMPLES independent answers is a mean of rays that are clear or not: its error
 * is at most that of one ray, and 5 standard errors are exceeded once in two million tests. */
static void check_quarter(double part, const char *what)
{
    double error = sqrt(0.25 * 0.75 / (PIXELS * SAMPLES));
    if (!(fabs(part - 0.25) <= 5 * error))
        fail_msg("%s: %.4f instead of 0.25 +- %.4f", what, part, error);
}

static void test_occlusion_is_the_part_of_clear_rays(void **state)
{
    (void)state;
    check_quarter(clear_part("once", "near", false), "one ray");
    check_quarter(clear_part("near", "near", false), "four rays");
    check_quarter(clear_part("near", "glass", false),
                  "under glass, which counts as other surfaces do");
    check_quarter(clear_part("local", "", true), "under a part of the same object");
    assert_near(clear_part("local", "near", false), 1, 1e-6); /* another object */
    assert_near(clear_part("below", "near", false), 1, 1e-6); /* nothing is there */
}

/* The normal beside a right edge, at a distance a: of the floor z = 0 at x < 0 and the wall x = 0 at z < 0, weighted by
 * (1 - r / R)^3 over both. Returns the x of the unit mean. */
static double rounded_x(double a, double radius)
{
    enum { STEPS = 2000 };
    double floor = 0, wall = 0, step = 2 * radius / STEPS;
    for (int i = 0; i < STEPS; ++i)
        for (int k = 0; k < STEPS; ++k) {
            double s = -radius + (i + 0.5) * step, t = -radius + (k + 0.5) * step;
            double r = sqrt(s * s + t * t) / radius;
            double r_wall = sqrt(s * s + t * t + a * a) / radius;
            floor += s < a && r < 1 ? pow(1 - r, 3) : 0;
            wall += t < 0 && r_wall < 1 ? pow(1 - r_wall, 3) : 0;
        }
    return wall / hypot(wall, floor);
}

/* A thousand lines are drawn evenly, so that their mean is nearer to the integral than that of as many independent ones: these would
 * have a standard error of some 0.02 in one answer, and of 0.0013 in the mean of 256. */
static void test_bevel_is_the_mean_normal(void **state)
{
    (void)state;
    const double distances[] = {0.05, 0.2, 0.6};
    for (size_t i = 0; i < SORT_COUNT_OF(distances); ++i) {
        float a = (float)distances[i];
        Kit kit;
        StrBuf meshes = {0};
        double mean[3], x = distances[i] < 0.5 ? rounded_x(distances[i], 0.5) : 0;
        kit_begin(&kit);
        kit_add_quads(&kit, &meshes, "edge", 2,
                      (const float[8][3]){{-3, -3, 0},
                                          {0, -3, 0},
                                          {0, 3, 0},
                                          {-3, 3, 0},
                                          {0, -3, 0},
                                          {0, -3, -3},
                                          {0, 3, -3},
                                          {0, 3, 0}});
        /* Another object does not count, wherever it is. */
        kit_add_quad(
            &kit, &meshes, "other",
            (const float[4][3]){
                {-3, -3, -0.05f}, {-0.01f, -3, -0.1f}, {-0.01f, 3, -0.1f}, {-3, 3, -0.05f}});
        write_scene(&kit, 16, strbuf_text(&meshes),
                    "{\"name\": \"e\", \"mesh\": \"edge\", \"materials\": [\"rounded\"]},"
                    "{\"name\": \"o\", \"mesh\": \"other\", \"materials\": [\"glass\"]}",
                    (const float[3]){-a, 0, 2}, (const float[3]){-a, 0, 0});
        render_mean(&kit, mean);
        assert_near(2 * mean[0] - 1, x, 4e-3);
        assert_near(2 * mean[1] - 1, 0, 4e-3);
        assert_near(2 * mean[2] - 1, sqrt(1 - x * x), 4e-3);
        strbuf_free(&meshes);
        kit_end(&kit);
    }
}

/* Embree refuses rays that begin that far away. Lines are so far apart that none meets the floor. */
static void test_bevel_of_a_vast_radius_is_the_normal(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    double mean[3];
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-3, -3, 0}, {3, -3, 0}, {3, 3, 0}, {-3, 3, 0}});
    write_scene(&kit, 1, strbuf_text(&meshes),
                "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"vast\"]}",
                (const float[3]){0, 0, 2}, (const float[3]){0, 0, 0});
    render_mean(&kit, mean);
    assert_near(mean[0], 0.5, 1e-6);
    assert_near(mean[1], 0.5, 1e-6);
    assert_near(mean[2], 1, 1e-6);
    strbuf_free(&meshes);
    kit_end(&kit);
}

static void test_bits_do_not_depend_on_threads_or_waves(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "m.ssl", asking_ssl);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-3, -1, 3}, {3, -1, 3}, {3, -1, -9}, {-3, -1, -9}});
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 6);
    kit_write_scene(
        &kit, &(KitScene){.width = 24,
                          .height = 16,
                          .samples = 2,
                          .max_depth = 3,
                          .eye = {0, 0.5f, 4},
                          .fov_y_degrees = 45,
                          .meshes = strbuf_text(&meshes),
                          .instances =
                              "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"matte\"]},"
                              "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"matte\"]}",
                          .materials = materials,
                          .environment = "{\"color\": [0.3, 0.4, 0.5]}"});
    RenderOptions options = kit_options(&kit);
    kit_assert_equal_bits(&kit, &options);
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occlusion_is_the_part_of_clear_rays),
        cmocka_unit_test(test_bevel_is_the_mean_normal),
        cmocka_unit_test(test_bevel_of_a_vast_radius_is_the_normal),
        cmocka_unit_test(test_bits_do_not_depend_on_threads_or_waves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
