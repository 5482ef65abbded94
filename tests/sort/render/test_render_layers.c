/* Layers of what the camera sees first: emission, the environment, mist, and what shaders give by closure Aov. All have
 * closed forms: a camera far away looks at a wall, at a veil before one half of it, and past both. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

static const char surface_ssl[] =
    "shader wall(out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(0.8), global_value<normal>)\n"
    "            + make_closure<Emission>(color(0, 0.25, 0))\n"
    "            + make_closure<Aov>(color(0.2, 0.4, 0.6), 0.0)\n"
    "            + 0.5 * make_closure<Aov>(color(2, -4, 0), 1.0)\n"
    "            + make_closure<Aov>(color(1), 9.0);\n}\n"
    "shader veil(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(0.5)) + make_closure<Emission>(color(0.1, 0, "
    "0))\n"
    "            + make_closure<Aov>(color(7), 0.0);\n}\n";

/* Columns of the picture, 4 m wide: veil before wall, wall alone, veil before the sky, sky alone. */
enum { WIDTH = 16, HEIGHT = 4, VEILED_WALL = 2, WALL = 6, VEILED_SKY = 10, SKY = 14 };
enum { WALL_M = 105, VEIL_M = 102 }; /* from the camera */

static void begin(Kit *kit, const char *limits)
{
    StrBuf meshes = {0};
    kit_begin(kit);
    kit_write_text(kit, "m.ssl", surface_ssl);
    kit_add_quad(kit, &meshes, "wall",
                 (const float[4][3]){{-3, -1, -5}, {0, -1, -5}, {0, 1, -5}, {-3, 1, -5}});
    kit_add_quad(kit, &meshes, "left",
                 (const float[4][3]){{-3, -1, -2}, {-1, -1, -2}, {-1, 1, -2}, {-3, 1, -2}});
    kit_add_quad(kit, &meshes, "right",
                 (const float[4][3]){{0, -1, -2}, {1, -1, -2}, {1, 1, -2}, {0, 1, -2}});
    kit_write_scene(
        kit, &(KitScene){
                 .width = WIDTH,
                 .height = HEIGHT,
                 .samples = 4,
                 .max_depth = 2,
                 .limits = limits,
                 .eye = {0, 0, 100},
                 .fov_y_degrees = 0.545f, /* 1 m at the wall */
                 .shader_aovs = "\"base\", \"sum\", \"empty\"",
                 .meshes = strbuf_text(&meshes),
                 .instances = "{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": [\"wall\"]},"
                              "{\"name\": \"l\", \"mesh\": \"left\", \"materials\": [\"veil\"]},"
                              "{\"name\": \"r\", \"mesh\": \"right\", \"materials\": [\"veil\"]}",
                 .materials = "{\"name\": \"wall\", \"shader\": \"m.ssl\", \"entry\": \"wall\"},"
                              "{\"name\": \"veil\", \"shader\": \"m.ssl\", \"entry\": \"veil\"}",
                 .environment = "{\"color\": [0.2, 0.2, 0.2]}"});
    strbuf_free(&meshes);
}

/* In the columns. */
typedef struct Expected {
    FilmAov aov;
    double veiled_wall[3], wall[3], veiled_sky[3], sky[3];
} Expected;

static void check_column(const float *values, FilmAov aov, uint32_t column, const double *expected)
{
    const FilmAovInfo *info = film_aov_info(aov);
    const float *at = values + (size_t)(HEIGHT / 2 * WIDTH + column) * info->channel_count;
    for (uint32_t c = 0; c < info->channel_count; ++c)
        if (!(fabs((double)at[c] - expected[c]) < 3e-3))
            fail_msg("%s, column %u, channel %u: %g instead of %g", info->name, column, c,
                     (double)at[c], expected[c]);
}

static void test_what_the_camera_sees_first(void **state)
{
    SORT_UNUSED(state);
    static const Expected rows[] = {
        {FILM_AOV_EMISSION, {0.1, 0.125, 0}, {0, 0.25, 0}, {0.1, 0, 0}, {0, 0, 0}},
        {FILM_AOV_ENVIRONMENT, {0, 0, 0}, {0, 0, 0}, {0.1, 0.1, 0.1}, {0.2, 0.2, 0.2}},
        {FILM_AOV_SHADER_AOV_1, {0.2, 0.4, 0.6}, {0.2, 0.4, 0.6}, {0}, {0}},
        {FILM_AOV_SHADER_AOV_2, {1, -2, 0}, {1, -2, 0}, {0}, {0}},
        {FILM_AOV_SHADER_AOV_3, {0}, {0}, {0}, {0}},
    };
    Kit kit;
    begin(&kit, NULL);
    RenderOptions options = kit_options(&kit);
    options.aovs =
        FILM_AOV_BIT(FILM_AOV_EMISSION) | FILM_AOV_BIT(FILM_AOV_ENVIRONMENT) | FILM_SHADER_AOVS;
    Render *render = kit_render(&kit, &options);
    /* Shader AOVs that the scene does not have are not held. */
    assert_int_equal(film_desc(render_film(render))->aovs & FILM_SHADER_AOVS,
                     7 * FILM_AOV_BIT(FILM_AOV_SHADER_AOV_1));
    for (size_t k = 0; k < SORT_COUNT_OF(rows); ++k) {
        float *values = kit_aov(render, rows[k].aov);
        check_column(values, rows[k].aov, VEILED_WALL, rows[k].veiled_wall);
        check_column(values, rows[k].aov, WALL, rows[k].wall);
        check_column(values, rows[k].aov, VEILED_SKY, rows[k].veiled_sky);
        check_column(values, rows[k].aov, SKY, rows[k].sky);
        mem_free(values);
    }
    render_destroy(render);
    kit_end(&kit);
}

static void test_mist_falls_off(void **state)
{
    SORT_UNUSED(state);
    static const char *const names[] = {"linear", "quadratic", "inverse_quadratic"};
    const double exponents[] = {1.0, 2.0, 0.5}, start = 101.0, depth = 8.0;
    for (size_t k = 0; k < SORT_COUNT_OF(names); ++k) {
        double wall = pow(((double)WALL_M - start) / depth, exponents[k]);
        double veil = pow(((double)VEIL_M - start) / depth, exponents[k]);
        char limits[160];
        Kit kit;
        snprintf(limits, sizeof limits,
                 "\"mist\": {\"start_m\": %g, \"depth_m\": %g, \"falloff\": \"%s\"}", start, depth,
                 names[k]);
        begin(&kit, limits);
        RenderOptions options = kit_options(&kit);
        options.aovs = FILM_AOV_BIT(FILM_AOV_MIST);
        Render *render = kit_render(&kit, &options);
        float *values = kit_aov(render, FILM_AOV_MIST);
        /* What the veil lets through, half, is as far as what lies behind it. */
        check_column(values, FILM_AOV_MIST, VEILED_WALL, &(double){(veil + wall) / 2});
        check_column(values, FILM_AOV_MIST, WALL, &wall);
        check_column(values, FILM_AOV_MIST, VEILED_SKY, &(double){(veil + 1) / 2});
        check_column(values, FILM_AOV_MIST, SKY, &(double){1});
        mem_free(values);
        render_destroy(render);
        kit_end(&kit);
    }
}

static void test_shader_aovs_are_named(void **state)
{
    SORT_UNUSED(state);
    static const char *const bad[][2] = {
        {"\"a.b\"", "shader_aovs[0]: the name of a shader AOV has at most 63 bytes and no dot"},
        {"\"a\", \"a\"", "shader_aovs[1]: there are two shader AOVs 'a'"},
        {"\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"", "shader_aovs"},
    };
    Kit kit;
    KitSaid said;
    begin(&kit, NULL);
    kit_run(&kit, (const char *[]){"--aov", "shader_aovs,mist", NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    kit_assert_channels(&kit,
                        (const char *[]){"AOV_base.R", "AOV_sum.G", "AOV_empty.B", "mist.Z", NULL});
    for (size_t k = 0; k < SORT_COUNT_OF(bad); ++k) {
        kit_write_scene(&kit, &(KitScene){.width = 1,
                                          .height = 1,
                                          .samples = 1,
                                          .max_depth = 1,
                                          .eye = {0, 0, 1},
                                          .fov_y_degrees = 40,
                                          .shader_aovs = bad[k][0]});
        kit_run(&kit, NULL, &said);
        kit_assert_says(&said, 1, (const char *[]){bad[k][1], NULL});
    }
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_the_camera_sees_first),
        cmocka_unit_test(test_mist_falls_off),
        cmocka_unit_test(test_shader_aovs_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
