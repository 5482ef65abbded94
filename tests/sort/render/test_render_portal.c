/* Portals: what lies elsewhere is seen through them, in what colour; light that no shadow ray finds is not lost; equal bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { SIDE = 4 };

static const char portal_ssl[] =
    "shader portal(float3 shift = float3(0), float3 along = float3(0), out closure surface)\n{\n"
    "    const float3 P = global_value<position>;\n"
    "    surface = make_closure<RayPortal>(color(0.5, 0.25, 1), P + shift, along);\n}\n"
    "shader lost(out closure surface)\n{\n"
    "    const float none = log(global_value<position>.x - 1e9) * 1e30 * 1e30;\n"
    "    surface = make_closure<RayPortal>(color(1), float3(none - none), float3(0));\n}\n"
    "shader half_lost(out closure surface)\n{\n"
    "    const float none = log(global_value<position>.x - 1e9) * 1e30 * 1e30;\n"
    "    surface = make_closure<RayPortal>(color(1), float3(0, none - none, 0), float3(0));\n}\n"
    "shader clear(out closure surface)\n{\n"
    "    surface = make_closure<RayPortal>(color(1), global_value<position>, float3(0));\n}\n"
    "shader bent(out closure surface)\n{\n"
    "    const normal N = global_value<normal>;\n"
    "    surface = 0.7 * make_closure<RayPortal>(color(1), global_value<position> + float3(0.3, "
    "0.2, 0),\n"
    "        global_value<I> + 0.5 * N) + 0.2 * make_closure<Conductor>(color(1), 0.2, N);\n}\n"
    "texture2d paint;\n"
    "shader painted(out closure surface)\n{\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    surface = make_closure<Lambert>(texture2d_sample<paint>(uvw.x, uvw.y), "
    "global_value<normal>);\n}\n"
    "shader counts(out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(global_value<portal_depth>, "
    "global_value<transparent_depth>, 1 + global_value<path_depth>));\n}\n"
    "shader pane(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(0.5));\n}\n"
    /* transparent by what a ray has behind it */
    "shader counter(out closure surface)\n{\n"
    "    surface = make_closure<Transparent>(color(0.25 + 0.25 * global_value<portal_depth>, "
    "0.25 + 0.25 * global_value<transparent_depth>, 0.25 + 0.25 * "
    "global_value<diffuse_depth>));\n}\n"
    "shader glow(color radiance = color(1), out closure surface)\n{\n"
    "    surface = make_closure<Emission>(radiance);\n}\n";

#define MATERIAL(entry) "{\"name\": \"" entry "\", \"shader\": \"m.ssl\", \"entry\": \"" entry "\"}"

static void assert_near(double value, double wanted, double most)
{
    if (!(fabs(value - wanted) <= most))
        fail_msg("%.6f instead of %.6f +- %.6f", value, wanted, most);
}

static void render_mean(const Kit *kit, const KitScene *scene, double out_mean[3],
                        double out_error[3])
{
    kit_write_text(kit, "m.ssl", portal_ssl);
    kit_write_matte(kit);
    kit_write_scene(kit, scene);
    RenderOptions options = kit_options(kit);
    options.sampler = SAMPLER_INDEPENDENT;
    Render *render = kit_render(kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    for (int c = 0; c < 3; ++c)
        kit_mean(rgba, count, c, &out_mean[c], &out_error[c]);
    mem_free(rgba);
    render_destroy(render);
}

/* Looks down from 5 m at a spot of no size to speak of. */
static KitScene spot_below(StrBuf *meshes, const char *instances, const char *materials)
{
    return (KitScene){.width = SIDE,
                      .height = SIDE,
                      .samples = 4,
                      .max_depth = 2,
                      .eye = {0.2f, 0.1f, 5},
                      .target = {0.2f, 0.1f, 0},
                      .fov_y_degrees = 0.05f,
                      .meshes = strbuf_text(meshes),
                      .instances = instances,
                      .materials = materials};
}

/* A portal below the camera; green shines behind it, blue above the camera, and red ten metres aside. */
static void look_through(const char *material, double out_mean[3])
{
    Kit kit;
    StrBuf meshes = {0}, materials = {0};
    double error[3];
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "quad",
                 (const float[4][3]){{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}});
    kit_add_quad(&kit, &meshes, "below",
                 (const float[4][3]){{-1, -1, -3}, {1, -1, -3}, {1, 1, -3}, {-1, 1, -3}});
    kit_add_quad(&kit, &meshes, "above",
                 (const float[4][3]){{-1, -1, 8}, {1, -1, 8}, {1, 1, 8}, {-1, 1, 8}});
    kit_add_quad(&kit, &meshes, "aside",
                 (const float[4][3]){{9, -1, -3}, {11, -1, -3}, {11, 1, -3}, {9, 1, -3}});
    strbuf_printf(&materials,
                  "{\"name\": \"m\", \"shader\": \"m.ssl\", %s},"
                  "{\"name\": \"green\", \"shader\": \"m.ssl\", \"entry\": \"glow\", "
                  "\"parameters\": {\"radiance\": [0, 2, 0]}},"
                  "{\"name\": \"blue\", \"shader\": \"m.ssl\", \"entry\": \"glow\", "
                  "\"parameters\": {\"radiance\": [0, 0, 3]}},"
                  "{\"name\": \"red\", \"shader\": \"m.ssl\", \"entry\": \"glow\", "
                  "\"parameters\": {\"radiance\": [4, 0, 0]}}",
                  material);
    KitScene scene =
        spot_below(&meshes,
                   "{\"name\": \"p\", \"mesh\": \"quad\", \"materials\": [\"m\"]},"
                   "{\"name\": \"b\", \"mesh\": \"below\", \"materials\": [\"green\"]},"
                   "{\"name\": \"a\", \"mesh\": \"above\", \"materials\": [\"blue\"]},"
                   "{\"name\": \"s\", \"mesh\": \"aside\", \"materials\": [\"red\"]}",
                   strbuf_text(&materials));
    render_mean(&kit, &scene, out_mean, error);
    strbuf_free(&meshes);
    strbuf_free(&materials);
    kit_end(&kit);
}

static void test_portal_shows_what_lies_elsewhere(void **state)
{
    (void)state;
    static const struct {
        const char *material;
        double mean[3];
    } cases[] = {
        {"\"entry\": \"portal\"", {0, 0.5, 0}},
        {"\"entry\": \"portal\", \"parameters\": {\"shift\": [10, 0, 0]}", {2, 0, 0}},
        {"\"entry\": \"portal\", \"parameters\": {\"along\": [0, 0, 5]}", {0, 0, 3}},
        {"\"entry\": \"portal\", \"parameters\": {\"shift\": [10, 0, -6], \"along\": [0, 0, "
         "1e30]}",
         {2, 0, 0}},
        {"\"entry\": \"portal\", \"parameters\": {\"shift\": [7, 0, -3.01], \"along\": [0, 0, "
         "1e-30]}",
         {0, 0, 0}},
        {"\"entry\": \"portal\", \"parameters\": {\"shift\": [1e30, 0, -1e38]}", {0, 0, 0}},
        {"\"entry\": \"clear\"", {0, 2, 0}},
        {"\"entry\": \"lost\"", {0, 0, 0}},
        {"\"entry\": \"half_lost\"", {0, 0, 0}},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        double mean[3];
        look_through(cases[i].material, mean);
        for (int c = 0; c < 3; ++c)
            assert_near(mean[c], cases[i].mean[c], 1e-6);
    }
}

/* Two portals that lead straight on and two panes above something that shines by what the path has passed. */
static void test_portals_are_counted(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0}, instances = {0};
    double mean[3], error[3];
    static const char *const worn[] = {"clear", "pane", "clear", "pane", "counts"};
    kit_begin(&kit);
    for (int i = 0; i < 5; ++i) {
        char name[8];
        const float z = -(float)i;
        snprintf(name, sizeof name, "q%d", i);
        kit_add_quad(&kit, &meshes, name,
                     (const float[4][3]){{-1, -1, z}, {1, -1, z}, {1, 1, z}, {-1, 1, z}});
        strbuf_printf(&instances, "%s{\"name\": \"%s\", \"mesh\": \"%s\", \"materials\": [\"%s\"]}",
                      i ? "," : "", name, name, worn[i]);
    }
    KitScene scene = spot_below(&meshes, strbuf_text(&instances),
                                MATERIAL("clear") "," MATERIAL("pane") "," MATERIAL("counts"));
    render_mean(&kit, &scene, mean, error);
    const double expected[3] = {0.25 * 2, 0.25 * 4, 0.25};
    for (int c = 0; c < 3; ++c)
        assert_near(mean[c], expected[c], 1e-6);
    strbuf_free(&meshes);
    strbuf_free(&instances);
    kit_end(&kit);
}

/* A floor behind a portal, in the sun, under two sheets that let through what the ray to the sun has behind it, in all: the portal of its
 * path, and the lower sheet before the upper one, but not the scatter that follows at the floor. */
static void test_shadow_rays_count_what_lies_behind_them(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    double mean[3], error[3];
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-9, -9, 0}, {9, -9, 0}, {9, 9, 0}, {-9, 9, 0}});
    kit_add_quad(&kit, &meshes, "near", /* beside the way to the sun */
                 (const float[4][3]){{-1, -1, 1}, {1, -1, 1}, {1, 1, 1}, {-1, 1, 1}});
    kit_add_quad(&kit, &meshes, "low",
                 (const float[4][3]){{-99, -99, 5}, {99, -99, 5}, {99, 99, 5}, {-99, 99, 5}});
    kit_add_quad(&kit, &meshes, "high",
                 (const float[4][3]){{-99, -99, 6}, {99, -99, 6}, {99, 99, 6}, {-99, 99, 6}});
    render_mean(
        &kit,
        &(KitScene){
            .width = SIDE,
            .height = SIDE,
            .samples = 16,
            .max_depth = 2,
            .eye = {0, 0, 2},
            .target = {0, 0, 0},
            .fov_y_degrees = 0.05f,
            .meshes = strbuf_text(&meshes),
            .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"f\"]},"
                         "{\"name\": \"p\", \"mesh\": \"near\", \"materials\": [\"clear\"]},"
                         "{\"name\": \"l\", \"mesh\": \"low\", \"materials\": [\"counter\"]},"
                         "{\"name\": \"h\", \"mesh\": \"high\", \"materials\": [\"counter\"]}",
            .materials = "{\"name\": \"f\", \"shader\": \"shaders/matte.ssl\", "
                         "\"parameters\": {\"albedo\": [1, 1, 1]}}," MATERIAL("clear") "," MATERIAL(
                             "counter"),
            /* 60 degrees from the normal, so that pi of irradiance is half of it on the floor */
            .lights = "{\"name\": \"sun\", \"type\": \"distant\", \"irradiance\": [6.2831853, "
                      "6.2831853, 6.2831853], \"transform\": [0.5,0,0.8660254,0, 0,1,0,0, "
                      "-0.8660254,0,0.5,0, 0,0,0,1]}"},
        mean, error);
    /* portals 1 and 1; transparent 1 (the portal), then 2; diffuse 0 and 0 */
    const double expected[3] = {0.5 * 0.5, 0.5 * 0.75, 0.25 * 0.25};
    for (int c = 0; c < 3; ++c)
        assert_near(mean[c], expected[c], 1e-4);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* A matte floor of albedo 0.8 under a portal that leads straight on, lit from above it. */
static void light_floor(const char *lights, const char *sky, const char *lamp, double out_mean[3],
                        double out_error[3])
{
    Kit kit;
    StrBuf meshes = {0}, instances = {0};
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "lamp",
                 (const float[4][3]){{-1, -1, 2}, {1, -1, 2}, {1, 1, 2}, {-1, 1, 2}});
    strbuf_printf(&instances,
                  "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"f\"]},"
                  "{\"name\": \"p\", \"mesh\": \"portal\", \"materials\": [\"p\"]}%s",
                  lamp);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}});
    kit_add_quad(&kit, &meshes, "portal",
                 (const float[4][3]){{-60, -60, 1}, {60, -60, 1}, {60, 60, 1}, {-60, 60, 1}});
    render_mean(&kit,
                &(KitScene){.width = 16,
                            .height = 16,
                            .samples = 64,
                            .max_depth = 3,
                            .eye = {0, 0, 0.5f},
                            .target = {0, 0, 0},
                            .fov_y_degrees = 5,
                            .meshes = strbuf_text(&meshes),
                            .instances = strbuf_text(&instances),
                            .materials =
                                "{\"name\": \"f\", \"shader\": \"shaders/matte.ssl\", "
                                "\"parameters\": {\"albedo\": [0.8, 0.8, 0.8]}},"
                                "{\"name\": \"p\", \"shader\": \"m.ssl\", \"entry\": \"clear\"},"
                                "{\"name\": \"l\", \"shader\": \"m.ssl\", \"entry\": \"glow\"}",
                            .lights = lights,
                            .environment = sky},
                out_mean, out_error);
    strbuf_free(&instances);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* Shadow rays do not pass it, so a sun is dark. The floor's own rays do, and bring all light of what has a size: the albedo times 1
 * of a sky, and times the form factor of a square of 2 x 2 at the height 2, which is (4/pi) a atan(a) with a = 1 / sqrt(5). */
static void test_portal_brings_light_that_shadow_rays_miss(void **state)
{
    (void)state;
    double mean[3], error[3];
    light_floor(NULL, "{\"color\": [1, 1, 1]}", "", mean, error);
    assert_near(mean[0], 0.8,
                5.0 * error[0] + 1e-5); /* a constant sky has no noise, but rounding */
    light_floor("{\"name\": \"l\", \"type\": \"distant\", \"irradiance\": [3, 3, 3], "
                "\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,9, 0,0,0,1]}",
                NULL, "", mean, error);
    assert_near(mean[0], 0.0, 0.0);
    light_floor(NULL, NULL, ",{\"name\": \"l\", \"mesh\": \"lamp\", \"materials\": [\"l\"]}", mean,
                error);
    const double a = 1.0 / sqrt(5.0);
    assert_near(mean[0], 0.8 * 4.0 / 3.14159265358979 * a * atan(a), 5.0 * error[0]);
}

/* Footprints pass portals too: a texture is behind one that turns rays. */
static void test_portal_has_equal_bits(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    uint8_t pixels[3 * 64 * 64];
    kit_begin(&kit);
    for (uint32_t i = 0; i < sizeof pixels; ++i)
        pixels[i] = (uint8_t)hash_mix64(i);
    kit_write_png(&kit, "paint.png", 64, 64, pixels);
    kit_write_text(&kit, "m.ssl", portal_ssl);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-3, -1, 3}, {3, -1, 3}, {3, -1, -9}, {-3, -1, -9}});
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 16);
    kit_write_scene(
        &kit,
        &(KitScene){.width = 40,
                    .height = 30,
                    .samples = 4,
                    .max_depth = 4,
                    .eye = {0, 0.5f, 4},
                    .fov_y_degrees = 45,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"f\"]},"
                                 "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"b\"]}",
                    .materials = "{\"name\": \"f\", \"shader\": \"m.ssl\", \"entry\": \"painted\", "
                                 "\"textures\": {\"paint\": {\"file\": \"paint.png\"}}},"
                                 "{\"name\": \"b\", \"shader\": \"m.ssl\", \"entry\": \"bent\"}",
                    .environment = "{\"color\": [0.3, 0.4, 0.5]}"});
    RenderOptions options = kit_options(&kit);
    kit_assert_equal_bits(&kit, &options);
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_portal_shows_what_lies_elsewhere),
        cmocka_unit_test(test_portals_are_counted),
        cmocka_unit_test(test_shadow_rays_count_what_lies_behind_them),
        cmocka_unit_test(test_portal_brings_light_that_shadow_rays_miss),
        cmocka_unit_test(test_portal_has_equal_bits),
    };
    return cmocka_run_group_tests_name("sort.render_portal", tests, NULL, NULL);
}
