/* Emission that differs from place to place or from direction to direction: what shines is looked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { PANELS = 32 };

/* Appends a panel of 0.2 x 0.2 m, 2 m above the ground, that faces it. */
static void add_panel(const Kit *kit, StrBuf *meshes, StrBuf *instances, uint32_t i)
{
    char name[16];
    float x = 0.2f * (float)i - 3.0f;
    const float corners[4][3] = {
        {x, 2, 0.9f}, {x + 0.2f, 2, 0.9f}, {x + 0.2f, 2, 1.1f}, {x, 2, 1.1f}};
    snprintf(name, sizeof name, "p%u", i);
    kit_add_quad(kit, meshes, name, corners);
    strbuf_printf(instances, ", {\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"e\"]}", name,
                  name);
}

/* Renders the ground below some panels of one material. Returns its mean radiance, and the standard error of that. */
static double render_ground(const char *emission, uint32_t first, uint32_t end, double *out_error)
{
    static const float ground[4][3] = {{-50, 0, 50}, {50, 0, 50}, {50, 0, -50}, {-50, 0, -50}};
    Kit kit;
    StrBuf meshes = {0}, instances = {0}, shader = {0};
    uint32_t count;
    double mean;
    kit_begin(&kit);
    strbuf_printf(&shader,
                  "shader glow(out closure surface)\n{\n"
                  "    const point p = global_value<position>;\n"
                  "    const vector I = global_value<I>;\n"
                  "    surface = make_closure<Emission>(color(%s));\n}\n",
                  emission);
    kit_write_text(&kit, "shaders/glow.ssl", strbuf_text(&shader));
    kit_write_text(&kit, "shaders/white.ssl",
                   "shader white(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "q", ground);
    strbuf_printf(&instances, "{\"name\": \"q\", \"mesh\": \"q\", \"materials\": [\"w\"]}");
    for (uint32_t i = first; i < end; ++i)
        add_panel(&kit, &meshes, &instances, i);
    KitScene scene = {.width = 16,
                      .height = 16,
                      .samples = 64,
                      .max_depth = 1,
                      .eye = {0, 3, 0.01f},
                      .target = {0, 0, 0},
                      .fov_y_degrees = 1,
                      .meshes = strbuf_text(&meshes),
                      .instances = strbuf_text(&instances),
                      .materials = "{\"name\": \"w\", \"shader\": \"shaders/white.ssl\"}, "
                                   "{\"name\": \"e\", \"shader\": \"shaders/glow.ssl\"}"};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 0, &mean, out_error);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    strbuf_free(&instances);
    strbuf_free(&shader);
    kit_end(&kit);
    return mean;
}

/* One of 32 panels shines, by its place. The error is a thousandth, as with that one alone; with panels that are all alike it is ten
 * times as large. */
static void test_bright_places_are_found(void **state)
{
    (void)state;
    double error_alone, error;
    double alone = render_ground("50", 15, 16, &error_alone);
    double mean = render_ground("p.x > 0 && p.x < 0.2 ? 50 : 0", 0, PANELS, &error);
    assert_true(alone > 0.1);
    if (fabs(mean - alone) > 5.0 * hypot(error, error_alone))
        fail_msg("%g, not %g +- %g", mean, alone, hypot(error, error_alone));
    if (error > 0.003 * mean)
        fail_msg("the error is %g of %g", error, mean);
}

/* Panels that shine to one side only, and not straight ahead, are lights, too. */
static void test_slanted_light_is_found(void **state)
{
    (void)state;
    double error_alone, error;
    const char *slanted = "abs(I.z) > 0.3 ? 50 : 0";
    double alone = render_ground("50", 15, 16, &error_alone);
    double mean = render_ground(slanted, 15, 16, &error);
    if (fabs(mean - alone) > 5.0 * hypot(error, error_alone))
        fail_msg("%g, not %g +- %g", mean, alone, hypot(error, error_alone));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bright_places_are_found),
        cmocka_unit_test(test_slanted_light_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
