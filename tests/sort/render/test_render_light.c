/* Light transport against closed forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

static const char white_ssl[] =
    "shader white(color albedo = color(1), out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n";
static const char lamp_ssl[] = "shader lamp(color radiance = color(1), out closure surface)\n"
                               "{\n    surface = make_closure<Emission>(radiance);\n}\n";

static void assert_mean(const float *rgba, uint32_t count, int channel, double expected,
                        double relative)
{
    double mean, error;
    kit_mean(rgba, count, channel, &mean, &error);
    /* Four standard errors: one false alarm in 16,000, and with fixed seeds none at all. */
    if (fabs(mean - expected) > 4 * error + relative * expected)
        fail_msg("mean %g +- %g, expected %g", mean, error, expected);
}

/* A white body that is convex, in a uniform environment, is invisible. */
static void test_render_furnace_is_invisible(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/white.ssl", white_ssl);
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 24);
    kit_write_scene(
        &kit,
        &(KitScene){.width = 48,
                    .height = 48,
                    .samples = 64,
                    .max_depth = 8,
                    .eye = {0, 0, 4},
                    .fov_y_degrees = 35,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}",
                    .materials = "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}",
                    .environment = "{\"color\": [0.5, 1, 2]}"});
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    const double expected[3] = {0.5, 1, 2};
    for (int c = 0; c < 3; ++c) {
        assert_mean(rgba, count, c, expected[c], 1e-4);
        for (uint32_t i = 0; i < count;
             ++i) /* and no pixel strays: the noise of 64 samples is about 3 % */
            if (fabs((double)rgba[4 * i + (uint32_t)c] - expected[c]) > 0.25 * expected[c])
                fail_msg("pixel %u: %g, expected %g", i, (double)rgba[4 * i + (uint32_t)c],
                         expected[c]);
    }
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* With albedo rho the body shows rho L: one reflection, then the environment. */
static void test_render_furnace_darkens_by_albedo(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/white.ssl", white_ssl);
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 24);
    kit_write_scene(
        &kit,
        &(KitScene){.width = 32,
                    .height = 32,
                    .samples = 64,
                    .max_depth = 1,
                    .eye = {0, 0, 4},
                    .fov_y_degrees = 10,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}",
                    .materials = "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\", "
                                 "\"parameters\": {\"albedo\": [0.25, 0.5, 0.75]}}",
                    .environment = "{\"color\": [1, 1, 1]}"});
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    assert_mean(rgba, count, 0, 0.25, 1e-4);
    assert_mean(rgba, count, 1, 0.5, 1e-4);
    assert_mean(rgba, count, 2, 0.75, 1e-4);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* A floor under a square light: E/L = 0.062443 in the middle [numeric references, 8]. The light is an
 * area light, or a mesh that emits. */
static void floor_under_square(bool is_mesh)
{
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/white.ssl", white_ssl);
    kit_write_text(&kit, "shaders/lamp.ssl", lamp_ssl);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-5, 0, 5}, {5, 0, 5}, {5, 0, -5}, {-5, 0, -5}});
    kit_add_quad(&kit, &meshes, "lamp",
                 (const float[4][3]){{-.25f, 1.98f, -.25f},
                                     {.25f, 1.98f, -.25f},
                                     {.25f, 1.98f, .25f},
                                     {-.25f, 1.98f, .25f}});
    KitScene scene = {
        .width = 16,
        .height = 16,
        .samples = 256,
        .max_depth = 1,
        .eye = {1, 1, 1},
        .fov_y_degrees = 0.05f,
        .meshes = strbuf_text(&meshes),
        .instances = is_mesh ? "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}, "
                               "{\"name\": \"l\", \"mesh\": \"lamp\", \"materials\": [\"e\"]}"
                             : "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}",
        .materials = "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\", \"parameters\": "
                     "{\"albedo\": [0.725, 0.71, 0.68]}},"
                     "{\"name\": \"e\", \"shader\": \"shaders/lamp.ssl\", \"parameters\": "
                     "{\"radiance\": [17, 12, 4]}}",
        /* -z of the light turned down. */
        .lights = is_mesh ? NULL
                          : "{\"name\": \"l\", \"type\": \"area_rectangle\", \"radiance\": [17, "
                            "12, 4], \"size\": [0.5, 0.5],"
                            " \"transform\": [1,0,0,0, 0,0,1,1.98, 0,-1,0,0, 0,0,0,1]}"};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    assert_mean(rgba, count, 0, 0.244975, 5e-4);
    assert_mean(rgba, count, 1, 0.169346, 5e-4);
    assert_mean(rgba, count, 2, 0.054063, 5e-4);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* A screen of two triangles of which a hundredth shines, away from where a few points would look; and one that shines
 * from its back alone. Found by light sampling, or by scattering alone: the same. */
static void test_render_narrow_emitters_are_sampled(void **state)
{
    (void)state;
    static const char *const materials[] = {"sign", "behind"};
    for (int k = 0; k < 2; ++k) {
        Kit kit;
        StrBuf meshes = {0};
        kit_begin(&kit);
        kit_write_text(&kit, "shaders/white.ssl", white_ssl);
        kit_write_text(
            &kit, "shaders/narrow.ssl",
            "shader sign(out closure surface)\n{\n"
            "    const float3 uvw = global_value<uvw>;\n"
            "    float bright = 0;\n"
            "    if (abs(uvw.x - 0.71) < 0.05 && abs(uvw.y - 0.22) < 0.05) bright = 100;\n"
            "    surface = make_closure<Emission>(color(bright));\n}\n"
            "shader behind(out closure surface)\n{\n"
            "    float bright = 0;\n"
            "    if (global_value<backfacing>) bright = 1;\n"
            "    surface = make_closure<Emission>(color(bright));\n}\n");
        kit_add_quad(&kit, &meshes, "floor",
                     (const float[4][3]){{-5, 0, 5}, {5, 0, 5}, {5, 0, -5}, {-5, 0, -5}});
        kit_add_quad(&kit, &meshes, "lamp",
                     (const float[4][3]){{-1, 2, 1}, {1, 2, 1}, {1, 2, -1}, {-1, 2, -1}});
        char text[256];
        snprintf(text, sizeof text,
                 "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}, {\"name\": \"e\", "
                 "\"shader\": \"shaders/narrow.ssl\", \"entry\": \"%s\"}",
                 materials[k]);
        KitScene scene = {.width = 16,
                          .height = 16,
                          .samples = 256,
                          .max_depth = 1,
                          .eye = {0, 1, 2},
                          .fov_y_degrees = 0.05f,
                          .meshes = strbuf_text(&meshes),
                          .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": "
                                       "[\"m\"]}, {\"name\": \"l\", \"mesh\": \"lamp\", "
                                       "\"materials\": [\"e\"]}",
                          .materials = text};
        kit_write_scene(&kit, &scene);
        double means[2], errors[2];
        for (int by = 0; by < 2; ++by) {
            RenderOptions options = kit_options(&kit);
            options.strategy = by == 0 ? WAVE_STRATEGY_LIGHTS : WAVE_STRATEGY_BSDFS;
            Render *render = kit_render(&kit, &options);
            uint32_t count;
            float *rgba = kit_pixels(render, &count);
            kit_mean(rgba, count, 0, &means[by], &errors[by]);
            mem_free(rgba);
            render_destroy(render);
        }
        assert_true(means[1] > 0.05);
        if (!(fabs(means[0] - means[1]) < 4 * hypot(errors[0], errors[1]) + 1e-3 * means[1]))
            fail_msg("%s: by lights %g +- %g, by scattering %g +- %g", materials[k], means[0],
                     errors[0], means[1], errors[1]);
        strbuf_free(&meshes);
        kit_end(&kit);
    }
}

/* Lamps of two triangles near a floor and a wall: found by both ways, by light sampling alone and by scattering alone, they bring
 * the same. */
static void test_render_quads_by_each_way(void **state)
{
    (void)state;
    static const char shaders[] =
        "shader plain(out closure surface)\n{\n"
        "    surface = make_closure<Emission>(color(1));\n}\n"
        "shader picture(out closure surface)\n{\n"
        "    const float3 uvw = global_value<uvw>;\n"
        "    surface = make_closure<Emission>(color(2 * uvw.x * uvw.x + uvw.y));\n}\n"
        "shader holes(out closure surface)\n{\n"
        "    const float3 uvw = global_value<uvw>;\n"
        "    const float part = uvw.x > 0.3 ? 0.8 : 0.1;\n"
        "    surface = part * make_closure<Emission>(color(1)) + "
        "(1 - part) * make_closure<Transparent>(color(1));\n}\n"
        "shader one_side(out closure surface)\n{\n"
        "    surface = make_closure<Emission>(color(global_value<backfacing> ? 0 : 1));\n}\n";
    static const char still[] = "", place[] = ", \"transform\": [-0.8,0,0.3,0.1, 0.2,1,0,0.1, "
                                              "0.3,0,0.6,0, 0,0,0,1]";
    static const float flat[4][3] = {
        {-.5f, .6f, -.3f}, {.5f, .6f, -.3f}, {.5f, .6f, .4f}, {-.5f, .6f, .4f}};
    static const float skew[4][3] = {
        {-.5f, .6f, -.3f}, {.5f, .6f, -.3f}, {.1f, .6f, .4f}, {-.8f, .6f, .2f}};
    static const float edge[4][3] = {
        {.2f, .05f, -.4f}, {.2f, .05f, .4f}, {.2f, .7f, .4f}, {.2f, .7f, -.4f}};
    static const float near[4][3] = {
        {-.9f, .2f, -.97f}, {.9f, .2f, -.97f}, {.9f, .8f, -.97f}, {-.9f, .8f, -.97f}};
    static const float on[4][3] = {
        {-.9f, 0, -.99f}, {.9f, 0, -.99f}, {.9f, .3f, -.99f}, {-.9f, .3f, -.99f}};
    const struct {
        const char *material, *place;
        const float (*corners)[3];
    } cases[] = {{"plain", still, flat},    {"plain", place, flat},    {"picture", still, flat},
                 {"picture", place, skew},  {"holes", still, skew},    {"holes", still, edge},
                 {"plain", still, edge},    {"one_side", place, edge}, {"plain", still, near},
                 {"one_side", still, near}, {"plain", still, on}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        Kit kit;
        StrBuf meshes = {0};
        char materials[256], instances[512];
        kit_begin(&kit);
        kit_write_text(&kit, "shaders/white.ssl", white_ssl);
        kit_write_text(&kit, "shaders/quads.ssl", shaders);
        kit_add_quad(&kit, &meshes, "floor",
                     (const float[4][3]){{-2, 0, 2}, {2, 0, 2}, {2, 0, -1}, {-2, 0, -1}});
        kit_add_quad(&kit, &meshes, "wall",
                     (const float[4][3]){{-2, 0, -1}, {2, 0, -1}, {2, 2, -1}, {-2, 2, -1}});
        kit_add_quad(&kit, &meshes, "lamp", cases[k].corners);
        snprintf(materials, sizeof materials,
                 "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}, {\"name\": \"e\", "
                 "\"shader\": \"shaders/quads.ssl\", \"entry\": \"%s\"}",
                 cases[k].material);
        snprintf(instances, sizeof instances,
                 "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}, "
                 "{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": [\"m\"]}, "
                 "{\"name\": \"l\", \"mesh\": \"lamp\", \"materials\": [\"e\"]%s}",
                 cases[k].place);
        kit_write_scene(&kit, &(KitScene){.width = 48,
                                          .height = 32,
                                          .samples = 256,
                                          .max_depth = 2,
                                          .eye = {0, 1, 2.5f},
                                          .target = {0, 0.4f, -0.5f},
                                          .fov_y_degrees = 40,
                                          .meshes = strbuf_text(&meshes),
                                          .instances = instances,
                                          .materials = materials});
        double means[3], errors[3];
        for (int by = 0; by < 3; ++by) {
            RenderOptions options = kit_options(&kit);
            options.strategy = (WaveStrategy)by;
            options.sampler = SAMPLER_INDEPENDENT;
            options.aovs = FILM_AOV_BIT(FILM_AOV_VARIANCE);
            SETTING_SET(options.settings, seed, (uint32_t)by);
            Render *render = kit_render(&kit, &options);
            uint32_t count;
            float *rgba = kit_pixels(render, &count),
                  *variance = kit_aov(render, FILM_AOV_VARIANCE);
            means[by] = errors[by] = 0.0;
            for (uint32_t i = 0; i < count; ++i) {
                means[by] += (double)rgba[4 * i] / count;
                errors[by] += (double)variance[i] / count / count;
            }
            errors[by] = sqrt(errors[by]);
            mem_free(rgba);
            mem_free(variance);
            render_destroy(render);
        }
        assert_true(means[0] > 0.01);
        for (int by = 1; by < 3; ++by)
            if (!(fabs(means[by] - means[0]) < 4 * hypot(errors[0], errors[by]) + 5e-4 * means[0]))
                fail_msg("lamp %zu: %g +- %g, by way %d %g +- %g", k, means[0], errors[0], by,
                         means[by], errors[by]);
        strbuf_free(&meshes);
        kit_end(&kit);
    }
}

static void test_render_floor_under_an_area_light(void **state)
{
    (void)state;
    floor_under_square(false);
}

static void test_render_floor_under_an_emissive_mesh(void **state)
{
    (void)state;
    floor_under_square(true);
}

/* A closed box whose walls reflect rho and emit Le, n reflections: Le (1 - rho^(n+1)) / (1 - rho). */
static void test_render_closed_enclosure(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/wall.ssl",
                   "shader wall(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(0.5), global_value<normal>) + "
                   "make_closure<Emission>(color(1));\n}\n");
    kit_add_sphere(&kit, &meshes, "room", 2.0f, 8);
    kit_write_scene(
        &kit,
        &(KitScene){.width = 24,
                    .height = 24,
                    .samples = 64,
                    .max_depth = 4,
                    .eye = {0, 0, 0},
                    .target = {0, 0, -1},
                    .fov_y_degrees = 90,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"r\", \"mesh\": \"room\", \"materials\": [\"m\"]}",
                    .materials = "{\"name\": \"m\", \"shader\": \"shaders/wall.ssl\"}"});
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    assert_mean(rgba, count, 0, (1 - pow(0.5, 5)) / 0.5, 1e-3);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* A half transparent sheet between floor and light, as the camera and as shadow rays see it. */
static void test_render_alpha_dims_light(void **state)
{
    (void)state;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/white.ssl", white_ssl);
    kit_write_text(&kit, "shaders/gauze.ssl",
                   "shader gauze(float cover = 0.5, out closure surface)\n{\n"
                   "    surface = mix(make_closure<Transparent>(color(1)), "
                   "make_closure<Lambert>(color(0), global_value<normal>), cover);\n}\n");
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-5, 0, 5}, {5, 0, 5}, {5, 0, -5}, {-5, 0, -5}});
    kit_add_quad(&kit, &meshes, "sheet",
                 (const float[4][3]){{-5, 1.5f, 5}, {5, 1.5f, 5}, {5, 1.5f, -5}, {-5, 1.5f, -5}});
    KitScene scene = {
        .width = 16,
        .height = 16,
        .samples = 16,
        .max_depth = 1,
        .eye = {1, 1, 1},
        .fov_y_degrees = 0.05f,
        .meshes = strbuf_text(&meshes),
        .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}, {\"name\": "
                     "\"s\", \"mesh\": \"sheet\", \"materials\": [\"g\"]}",
        .materials = "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}, {\"name\": \"g\", "
                     "\"shader\": \"shaders/gauze.ssl\", \"parameters\": {\"cover\": 0.25}}",
        .lights = "{\"name\": \"l\", \"type\": \"distant\", \"irradiance\": [2, 2, 2], "
                  "\"transform\": [1,0,0,0, 0,0,1,9, 0,-1,0,0, 0,0,0,1]}"};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    assert_mean(rgba, count, 0, 0.75 * 2 / 3.14159265, 1e-4);
    mem_free(rgba);
    render_destroy(render);
    /* From above, half the light again is lost on the way to the camera. */
    scene.eye[1] = 4;
    scene.samples = 1024;
    kit_write_scene(&kit, &scene);
    render = kit_render(&kit, &options);
    rgba = kit_pixels(render, &count);
    assert_mean(rgba, count, 0, 0.75 * 0.75 * 2 / 3.14159265, 2e-3);
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

/* A square light that the camera does not see hangs before the sky: the sky is seen, and with a transparent film
 * nothing at all, while a mirror behind shows both. */
static void test_render_what_the_camera_does_not_see(void **state)
{
    (void)state;
    static const char mirror_ssl[] =
        "shader mirror(out closure surface)\n"
        "{\n    surface = make_closure<Conductor>(color(1), 0.0, global_value<normal>);\n}\n";
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/mirror.ssl", mirror_ssl);
    kit_add_quad(&kit, &meshes, "wall",
                 (const float[4][3]){{-9, -9, -2}, {9, -9, -2}, {9, 9, -2}, {-9, 9, -2}});
    KitScene scene = {.width = 8,
                      .height = 8,
                      .samples = 4,
                      .max_depth = 2,
                      .eye = {0, 0, 4},
                      .fov_y_degrees = 1,
                      .meshes = strbuf_text(&meshes),
                      .materials = "{\"name\": \"m\", \"shader\": \"shaders/mirror.ssl\"}",
                      .lights = "{\"name\": \"l\", \"type\": \"area_rectangle\", \"radiance\": [3, "
                                "3, 3], \"size\": [8, 8], "
                                "\"is_two_sided\": true, \"invisible_to\": [\"camera\"], "
                                "\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}",
                      .environment = "{\"color\": [0.5, 0.5, 0.5]}"};
    RenderOptions options = kit_options(&kit);
    static const struct {
        bool has_wall, has_transparent_film;
        double light, alpha;
    } cases[] = {{false, false, 0.5, 1}, {false, true, 0, 0}, {true, true, 3, 1}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        scene.instances = cases[k].has_wall
                              ? "{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": [\"m\"]}"
                              : NULL;
        scene.has_transparent_film = cases[k].has_transparent_film;
        kit_write_scene(&kit, &scene);
        Render *render = kit_render(&kit, &options);
        uint32_t count;
        float *rgba = kit_pixels(render, &count);
        assert_mean(rgba, count, 0, cases[k].light, 1e-4);
        assert_mean(rgba, count, 3, cases[k].alpha, 1e-4);
        mem_free(rgba);
        render_destroy(render);
    }
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render_furnace_is_invisible),
        cmocka_unit_test(test_render_what_the_camera_does_not_see),
        cmocka_unit_test(test_render_furnace_darkens_by_albedo),
        cmocka_unit_test(test_render_narrow_emitters_are_sampled),
        cmocka_unit_test(test_render_quads_by_each_way),
        cmocka_unit_test(test_render_floor_under_an_area_light),
        cmocka_unit_test(test_render_floor_under_an_emissive_mesh),
        cmocka_unit_test(test_render_closed_enclosure),
        cmocka_unit_test(test_render_alpha_dims_light),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
