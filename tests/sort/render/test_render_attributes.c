/* Attributes of meshes in a picture: a plane that faces the camera, with values at its corners. Inside a pixel
 * they are linear, so means and derivatives are known in closed form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

static const char shader[] =
    "attribute float heat = 9;\n"
    "attribute float2 second;\n"
    "attribute color tint = color(0.25, 0.5, 0.75), absent = color(0.125);\n"
    "attribute int layer = -2;\n"
    "attribute float3 paint;\n"
    "shader s(int what, out closure surface)\n{\n"
    "    float3 v = float3(0);\n"
    "    if (what == 0) v = float3(attribute<heat>, attribute<second>.x, attribute<layer>);\n"
    "    if (what == 1) v = float3(ddx(attribute<heat>), ddy(attribute<second>.y), "
    "ddy(attribute<heat>));\n"
    "    if (what == 2) v = attribute<tint> + (attribute_exists<tint> ? 1 : 0) * float3(1, 0, 0);\n"
    "    if (what == 3) v = attribute<absent> + (attribute_exists<absent> ? 1 : 0) * float3(1, 0, "
    "0);\n"
    "    if (what == 4) v = float3(ddx(attribute<object_position>.x), attribute<instance_index>, "
    "0);\n"
    "    if (what == 5) v = attribute<paint>;\n"
    "    if (what == 6) v = float3(attribute<barycentrics>, attribute<edge_distance>);\n"
    "    if (what == 7) v = float3(global_value<ray_kind>, global_value<ray_length>, "
    "global_value<diffuse_depth>);\n"
    "    if (what == 8) v = float3(global_value<sample_width>, 0, 0);\n"
    "    surface = make_closure<Emission>(v);\n}\n";

enum { SIZE = 16 };

/* Mean of the three channels. The plane spans -1 .. 1 and fills the view exactly; the instance is scaled by
 * two, and twice as far away. */
static Status render_mean(bool is_node, int what, const char *bindings, double out[3],
                          char message[2048])
{
    Kit kit;
    char text[4096], materials[512];
    static const float data[] = {
        -1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0, /* positions, 12 floats */
        0,  2,  2, 0,                           /* heat: x + 1 */
        0,  0,  1, 0, 1,  4, 0, 4,              /* second uv: x in 0 .. 1, y in 0 .. 4 */
        1,  0,  0, 1, 1,  0, 0, 1, 1, 0,  0, 1, 1, 0, 0, 1, /* Col, 4 components */
        3,  3,  3, 3};                                      /* layer */
    static const uint32_t triangles[] = {0, 1, 2, 0, 2, 3};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/s.ssl", shader);
    kit_write(&kit, "meshes/q.bin", data, sizeof data);
    kit_write(&kit, "meshes/t.bin", triangles, sizeof triangles);
#define FLOATS(offset, components)                                                                 \
    "{\"file\": \"meshes/q.bin\", \"offset_bytes\": " #offset                                      \
    ", \"type\": \"float32\", \"components\": " #components ", \"count\": 4}"
    snprintf(
        text, sizeof text,
        "{\"name\": \"q\", \"vertex_count\": 4, \"triangle_count\": 2, "
        "\"positions\": " FLOATS(
            0,
            3) ", "
               "\"indices\": {\"file\": \"meshes/t.bin\", \"type\": \"uint32\", \"components\": 3, "
               "\"count\": 2}, "
               "\"uv\": [" FLOATS(64, 2) ", " FLOATS(
                   64, 2) "], "
                          "\"attributes\": {\"heat\": " FLOATS(48, 1) ", \"Col\": " FLOATS(
                              96, 4) ", \"layer\": " FLOATS(160, 1) "}}");
    snprintf(
        materials, sizeof materials,
        is_node
            ? "{\"name\": \"m\", \"group\": {\"nodes\": {\"n\": {\"shader\": \"shaders/s.ssl\", "
              "\"parameters\": {\"what\": %d}, \"attributes\": {%s}}}, "
              "\"outputs\": {\"surface\": \"n.surface\"}}}"
            : "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", "
              "\"parameters\": {\"what\": %d}, \"attributes\": {%s}}",
        what, bindings);
    KitScene scene = {.width = SIZE,
                      .height = SIZE,
                      .samples = 16,
                      .max_depth = 1,
                      .eye = {0, 0, 2},
                      .fov_y_degrees = 90,
                      .meshes = text,
                      .instances = "{\"name\": \"q\", \"mesh\": \"q\", \"materials\": [\"m\"], "
                                   "\"attributes\": {\"paint\": [3, 2, 1], \"heat\": 7}, "
                                   "\"transform\": [2,0,0,0, 0,2,0,0, 0,0,2,0, 0,0,0,1]}",
                      .materials = materials};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    if (message) {
        kit_render_error(&options, message);
        kit_end(&kit);
        return STATUS_FORMAT;
    }
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    /* The middle half: no filter reaches past the edge. */
    uint32_t used = 0;
    out[0] = out[1] = out[2] = 0;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t x = i % SIZE, y = i / SIZE;
        if (x < SIZE / 4 || x >= 3 * SIZE / 4 || y < SIZE / 4 || y >= 3 * SIZE / 4)
            continue;
        for (int c = 0; c < 3; ++c)
            out[c] += (double)rgba[4 * i + c];
        ++used;
    }
    for (int c = 0; c < 3; ++c)
        out[c] /= used;
    mem_free(rgba);
    render_destroy(render);
    kit_end(&kit);
    return STATUS_OK;
}

static void check_mean(int what, const double mean[3], double r, double g, double b,
                       double tolerance)
{
    const double expected[3] = {r, g, b};
    for (int c = 0; c < 3; ++c)
        if (!(fabs(mean[c] - expected[c]) <= tolerance))
            fail_msg("%d: channel %d is %g, expected %g", what, c, mean[c], expected[c]);
}

static void expect_mean(int what, const char *bindings, double r, double g, double b,
                        double tolerance)
{
    double mean[3];
    assert_int_equal(render_mean(false, what, bindings, mean, NULL), STATUS_OK);
    check_mean(what, mean, r, g, b, tolerance);
}

static const char bindings[] = "\"second\": \"uv1\", \"tint\": \"Col\"";

static void test_attributes_are_interpolated(void **state)
{
    (void)state;
    expect_mean(0, bindings, 1, 0.5, 3, 0.02);
    expect_mean(2, bindings, 2, 0, 0, 1e-5);
}

/* Sixteen pixels see heat go from 0 to 2 and the second v from 4 down to 0. */
static void test_attributes_have_derivatives(void **state)
{
    (void)state;
    expect_mean(1, bindings, 2.0 / SIZE, -4.0 / SIZE, 0, 1e-5);
    expect_mean(4, bindings, 2.0 / SIZE, 0, 0, 1e-5);
}

static void test_missing_attributes_have_their_defaults(void **state)
{
    (void)state;
    expect_mean(3, bindings, 0.125, 0.125, 0.125, 1e-5);
    expect_mean(0, "\"heat\": \"none\", \"layer\": \"no such thing\"", 9, 0, -2, 1e-5);
}

static void test_nodes_bind_attributes(void **state)
{
    (void)state;
    double mean[3];
    assert_int_equal(render_mean(true, 0, bindings, mean, NULL), STATUS_OK);
    check_mean(0, mean, 1, 0.5, 3, 0.02);
}

/* An attribute of the mesh hides the object's attribute of that name. */
static void test_objects_have_attributes(void **state)
{
    (void)state;
    expect_mean(5, bindings, 3, 2, 1, 1e-5);
    expect_mean(0, bindings, 1, 0.5, 3, 0.02);
    expect_mean(0, "\"layer\": \"paint\", \"second\": \"uv1\"", 1, 0.5, 3, 0.02);
}

/* Over the middle half of a square of side 4 that is cut along its diagonal: by symmetry and by integrals of the
 * smaller of two linear functions. */
static void test_the_renderer_knows_triangles_and_rays(void **state)
{
    (void)state;
    double mean[3];
    assert_int_equal(render_mean(false, 6, bindings, mean, NULL), STATUS_OK);
    assert_true(fabs(mean[0] + mean[1] - 0.5 - 1.0 / 12) < 0.1);
    assert_true(mean[2] > 0.3 && mean[2] < 0.7);
    expect_mean(8, bindings, 0.25, 0, 0, 1e-6); /* the width of one of 16 samples */
    assert_int_equal(render_mean(false, 7, bindings, mean, NULL), STATUS_OK);
    assert_true(fabs(mean[0] - 1) < 1e-5 && fabs(mean[2]) < 1e-5);
    assert_true(mean[1] > 2 && mean[1] < 2.2);
}

static void test_unknown_attributes_are_refused(void **state)
{
    (void)state;
    char message[2048];
    render_mean(false, 0, "\"haet\": \"Col\"", NULL, message);
    assert_non_null(strstr(message, "did you mean 'heat'?"));
    assert_non_null(strstr(message, "materials[0].attributes.haet"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attributes_are_interpolated),
        cmocka_unit_test(test_attributes_have_derivatives),
        cmocka_unit_test(test_missing_attributes_have_their_defaults),
        cmocka_unit_test(test_nodes_bind_attributes),
        cmocka_unit_test(test_objects_have_attributes),
        cmocka_unit_test(test_the_renderer_knows_triangles_and_rays),
        cmocka_unit_test(test_unknown_attributes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
