/* Light groups: they add up to the picture, each holds its own lights and no others, and files name them. */
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
    "shader matte(out closure surface)\n{\n"
    "    surface = 0.7 * make_closure<Lambert>(color(0.8), global_value<normal>)\n"
    "            + 0.3 * make_closure<Conductor>(color(0.9), 0.2, global_value<normal>);\n}\n"
    "shader panel(out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(0, 2, 0));\n}\n"
    "shader veil(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(0.5)) + make_closure<Emission>(color(0.1, 0, "
    "0));\n}\n";

/* A floor and a ball under a red lamp ("key"), a blue disk ("fill"), a green panel ("panel"), a grey sky (no group),
 * behind a faintly red veil ("key"). */
static void write_lit_scene(const Kit *kit)
{
    StrBuf meshes = {0};
    kit_write_text(kit, "m.ssl", surface_ssl);
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-3, -1, 3}, {3, -1, 3}, {3, -1, -3}, {-3, -1, -3}});
    kit_add_quad(kit, &meshes, "panel",
                 (const float[4][3]){{-2, -1, -1}, {-2, -1, 1}, {-2, 1, 1}, {-2, 1, -1}});
    kit_add_quad(kit, &meshes, "veil",
                 (const float[4][3]){{-1, 0, 3}, {0, 0, 3}, {0, 2, 3}, {-1, 2, 3}});
    kit_add_sphere(kit, &meshes, "ball", 0.8f, 12);
    kit_write_scene(
        kit, &(KitScene){
                 .width = 48,
                 .height = 40,
                 .samples = 64,
                 .max_depth = 4,
                 .eye = {0, 1.0f, 5},
                 .fov_y_degrees = 45,
                 .meshes = strbuf_text(&meshes),
                 .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]},"
                              "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]},"
                              "{\"name\": \"v\", \"mesh\": \"veil\", \"materials\": [\"veil\"], "
                              "\"light_group\": \"key\"},"
                              "{\"name\": \"p\", \"mesh\": \"panel\", \"materials\": [\"panel\"], "
                              "\"light_group\": \"panel\"}",
                 .materials = "{\"name\": \"m\", \"shader\": \"m.ssl\", \"entry\": \"matte\"},"
                              "{\"name\": \"veil\", \"shader\": \"m.ssl\", \"entry\": \"veil\"},"
                              "{\"name\": \"panel\", \"shader\": \"m.ssl\", \"entry\": \"panel\"}",
                 .lights = "{\"name\": \"k\", \"type\": \"point\", \"intensity\": [9, 0, 0], "
                           "\"light_group\": \"key\", "
                           "\"transform\": [1,0,0,2, 0,1,0,3, 0,0,1,1, 0,0,0,1]},"
                           "{\"name\": \"d\", \"type\": \"sphere\", \"radiance\": [0, 0, 30], "
                           "\"radius_m\": 0.2, \"light_group\": \"fill\", "
                           "\"transform\": [1,0,0,1, 0,1,0,2, 0,0,1,-1, 0,0,0,1]}",
                 .environment = "{\"color\": [0.2, 0.2, 0.2]}"});
    strbuf_free(&meshes);
}

/* In the order in which scene.json is read: instances, then lights. */
enum { REST, KEY, PANEL, FILL, GROUPS };

static void test_light_groups_add_up(void **state)
{
    SORT_UNUSED(state);
    Kit kit;
    uint32_t count;
    float *group[GROUPS];
    kit_begin(&kit);
    write_lit_scene(&kit);
    RenderOptions options = kit_options(&kit);
    options.aovs = FILM_LIGHT_GROUPS;
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    /* Groups that the scene does not have are not held. */
    assert_int_equal(film_desc(render_film(render))->aovs, 15 * FILM_AOV_BIT(FILM_AOV_LIGHT_REST));
    for (int g = 0; g < GROUPS; ++g)
        group[g] = kit_aov(render, (FilmAov)(FILM_AOV_LIGHT_REST + g));
    for (uint32_t i = 0; i < count; ++i) {
        float most = 0.0f, sum[3] = {0};
        for (uint32_t c = 0; c < 3; ++c) {
            for (int g = 0; g < GROUPS; ++g)
                sum[c] += group[g][3 * i + c];
            most = fmaxf(most, rgba[4 * i + c]);
        }
        for (uint32_t c = 0; c < 3; ++c)
            if (!(fabsf(sum[c] - rgba[4 * i + c]) <= 4e-6f * (1.0f + most)))
                fail_msg("pixel %u: %g, but the groups sum to %g", i, (double)rgba[4 * i + c],
                         (double)sum[c]);
        /* Each lamp has a colour of its own, which bounces keep. */
        assert_true(group[KEY][3 * i + 1] == 0.0f && group[KEY][3 * i + 2] == 0.0f);
        assert_true(group[PANEL][3 * i] == 0.0f && group[PANEL][3 * i + 2] == 0.0f);
        assert_true(group[FILL][3 * i] == 0.0f && group[FILL][3 * i + 1] == 0.0f);
        assert_true(group[REST][3 * i] == group[REST][3 * i + 1]);
    }
    for (int g = 0; g < GROUPS; ++g) {
        double total = 0.0;
        for (uint32_t i = 0; i < 3 * count; ++i)
            total += (double)group[g][i];
        assert_true(total / count > 0.02); /* none of them is empty */
        mem_free(group[g]);
    }
    mem_free(rgba);
    render_destroy(render);
    kit_end(&kit);
}

static void test_light_groups_have_names_in_files(void **state)
{
    SORT_UNUSED(state);
    static const char *const layers[] = {"Combined_key.R", "Combined_panel.G", "Combined_fill.B",
                                         "light_rest.R", NULL};
    Kit kit;
    KitSaid said;
    kit_begin(&kit);
    write_lit_scene(&kit);
    kit_run(&kit, (const char *[]){"--aov", "light_groups", "--spp", "1", NULL}, &said);
    assert_int_equal(said.exit_code, 0);
    kit_assert_channels(&kit, layers);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_groups_add_up),
        cmocka_unit_test(test_light_groups_have_names_in_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
