/* What holds for any light transport: strategies agree, shadows are sharp and see the right depth, AOVs
 * belong to the first surface, a cancelled render leans nowhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/stat/ztest.h"
#include "base/thread.h"
#include "tests/sort/render/render_kit.h"

static const char white_ssl[] =
    "shader white(color albedo = color(1), out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(albedo, global_value<normal>);\n}\n";
static const char metal_ssl[] =
    "shader metal(float roughness = 0.4, out closure surface)\n"
    "{\n    surface = make_closure<Conductor>(color(0.9), roughness, global_value<normal>);\n}\n";
/* Lets light through, and bends its normals, so that light comes from both sides and from below the surface's own normal. */
static const char leaf_ssl[] =
    "shader leaf(out closure surface)\n{\n"
    "    const normal bent = normalize(global_value<normal> + vector(0.8, 0, 0.5));\n"
    "    surface = 0.5 * make_closure<Translucent>(color(1), bent) +\n"
    "              0.4 * make_closure<Glossy>(color(1), 0.6, 0, 0, 0, vector(1, 0, 0), bent);\n}\n";
static const char screen_ssl[] =
    "texture2d paint;\nshader screen(out closure surface)\n{\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    surface = make_closure<Emission>(10 * texture2d_sample<paint>(uvw.x, uvw.y));\n}\n";

static const float floor_corners[4][3] = {{-5, 0, 5}, {5, 0, 5}, {5, 0, -5}, {-5, 0, -5}};

typedef struct Stage {
    Kit kit;
    StrBuf meshes;
    KitScene scene;
} Stage;

/* A camera that looks at the origin of a floor, at a spot `field` degrees wide. */
static void begin(Stage *s, float field)
{
    *s = (Stage){.scene = {.width = 16,
                           .height = 16,
                           .samples = 64,
                           .max_depth = 1,
                           .eye = {1, 1, 1},
                           .fov_y_degrees = field}};
    kit_begin(&s->kit);
    kit_write_text(&s->kit, "shaders/white.ssl", white_ssl);
    kit_add_quad(&s->kit, &s->meshes, "floor", floor_corners);
    s->scene.instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}";
    s->scene.materials = "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}";
}

static void write_scene(Stage *s)
{
    s->scene.meshes = strbuf_text(&s->meshes);
    kit_write_scene(&s->kit, &s->scene);
}

static void end(Stage *s)
{
    strbuf_free(&s->meshes);
    kit_end(&s->kit);
}

static void render_means(const Stage *s, const RenderOptions *options, double *out_mean,
                         double *out_error)
{
    uint32_t count;
    Render *render = kit_render(&s->kit, options);
    float *rgba = kit_pixels(render, &count);
    kit_mean(rgba, count, 0, out_mean, out_error);
    mem_free(rgba);
    render_destroy(render);
}

static void assert_near(double mean, double error, double expected, double relative)
{
    if (fabs(mean - expected) > 4 * error + relative * fabs(expected))
        fail_msg("mean %g +- %g, expected %g", mean, error, expected);
}

/* --- strategies ----------------------------------------------------------------------------------- */

/* Pixel by pixel, since pictures are not of one brightness. */
static void assert_equal_means(const float *a, const float *b, uint32_t count, const char *what)
{
    ZTest difference = {0}, level = {0};
    for (uint32_t i = 0; i < count; ++i) {
        ztest_add(&difference, (double)a[4 * i] - (double)b[4 * i]);
        ztest_add(&level, (double)a[4 * i]);
    }
    double error = ztest_standard_error(&difference);
    if (ztest_p_value(&difference, 0.0, 1e-5 * level.mean) < 1e-4)
        fail_msg("%s differ by %g +- %g of %g", what, difference.mean, error, level.mean);
    if (error > 0.03 * level.mean) /* or the test would show nothing */
        fail_msg("%s: too noisy to compare, %g of %g", what, error, level.mean);
}

static void strategies_agree(Stage *s)
{
    static const char *const names[] = {"MIS", "light sampling", "scattering"};
    float *pictures[3];
    uint32_t count;
    write_scene(s);
    for (int k = 0; k < 3; ++k) {
        RenderOptions options = kit_options(&s->kit);
        options.strategy = (WaveStrategy)k;
        SETTING_SET(options.settings, seed, (uint32_t)k);
        Render *render = kit_render(&s->kit, &options);
        pictures[k] = kit_pixels(render, &count);
        render_destroy(render);
    }
    for (int k = 0; k < 3; ++k) {
        char what[64];
        snprintf(what, sizeof what, "%s and %s", names[k], names[(k + 1) % 3]);
        assert_equal_means(pictures[k], pictures[(k + 1) % 3], count, what);
    }
    for (int k = 0; k < 3; ++k)
        mem_free(pictures[k]);
}

/* A dim sky with spots a few texels wide, so that whatever blurs one strategy's lookups more than the other's shows. */
static void write_spotted_sky(const Kit *kit)
{
    enum { WIDTH = 2048, HEIGHT = 1024, SPOTS = 160, SPOT = 10 };
    uint8_t *rgb = mem_alloc((size_t)WIDTH * HEIGHT, 3);
    assert_non_null(rgb);
    memset(rgb, 8, (size_t)WIDTH * HEIGHT * 3);
    for (uint32_t k = 0; k < SPOTS; ++k) {
        uint64_t h = hash_mix64(k);
        uint32_t x = (uint32_t)h % (WIDTH - SPOT), y = (uint32_t)(h >> 32) % (HEIGHT - SPOT);
        for (uint32_t j = 0; j < SPOT; ++j)
            memset(rgb + 3 * ((size_t)(y + j) * WIDTH + x), 255, 3 * SPOT);
    }
    kit_write_png(kit, "textures/sky.png", WIDTH, HEIGHT, rgb);
    mem_free(rgb);
}

static void test_paths_strategies_agree_on_a_sky(void **state)
{
    (void)state;
    Stage s;
    begin(&s, 0.5f);
    s.scene.samples = 1024;
    write_spotted_sky(&s.kit);
    s.scene.environment = "{\"image\": {\"file\": \"textures/sky.png\"}, \"strength\": 20}";
    strategies_agree(&s);
    end(&s);
}

static void test_paths_strategies_agree_on_a_sky_in_metal(void **state)
{
    (void)state;
    Stage s;
    begin(&s, 0.5f);
    s.scene.samples = 1024;
    write_spotted_sky(&s.kit);
    kit_write_text(&s.kit, "shaders/metal.ssl", metal_ssl);
    s.scene.materials = "{\"name\": \"m\", \"shader\": \"shaders/metal.ssl\", "
                        "\"parameters\": {\"roughness\": 0.7}}";
    s.scene.environment = "{\"image\": {\"file\": \"textures/sky.png\"}, \"strength\": 20}";
    strategies_agree(&s);
    end(&s);
}

static void test_paths_strategies_agree_on_a_sky_in_a_leaf(void **state)
{
    (void)state;
    Stage s;
    begin(&s, 0.5f);
    s.scene.samples = 4096;
    write_spotted_sky(&s.kit);
    kit_write_text(&s.kit, "shaders/leaf.ssl", leaf_ssl);
    s.scene.materials = "{\"name\": \"m\", \"shader\": \"shaders/leaf.ssl\"}";
    s.scene.environment = "{\"image\": {\"file\": \"textures/sky.png\"}, \"strength\": 20}";
    strategies_agree(&s);
    end(&s);
}

/* Several kinds at once, seen in metal, with a bounce more: each density includes its light's choice. */
static void test_paths_strategies_agree_on_many_lights(void **state)
{
    (void)state;
    Stage s;
    begin(&s, 30.0f);
    s.scene.samples = 256;
    s.scene.max_depth = 3;
    kit_write_text(&s.kit, "shaders/metal.ssl", metal_ssl);
    kit_add_sphere(&s.kit, &s.meshes, "ball", 0.3f, 8);
    s.scene.instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}, "
                        "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"w\"]}";
    s.scene.materials = "{\"name\": \"m\", \"shader\": \"shaders/metal.ssl\"}, "
                        "{\"name\": \"w\", \"shader\": \"shaders/white.ssl\"}";
    s.scene.lights = "{\"name\": \"s\", \"type\": \"sphere\", \"radiance\": [5, 5, 5], "
                     "\"radius_m\": 0.4, \"transform\": [1,0,0,-1, 0,1,0,1, 0,0,1,0, 0,0,0,1]}, "
                     "{\"name\": \"r\", \"type\": \"area_rectangle\", \"radiance\": [3, 3, 3], "
                     "\"size\": [1, 1], \"transform\": [1,0,0,0, 0,0,1,1.5, 0,-1,0,-1, 0,0,0,1]}, "
                     "{\"name\": \"d\", \"type\": \"distant\", \"irradiance\": [1, 1, 1], "
                     "\"angle_degrees\": 20, \"transform\": [1,0,0,0, 0,0,1,9, 0,-1,0,0, 0,0,0,1]}";
    s.scene.environment = "{\"color\": [0.2, 0.2, 0.2]}";
    strategies_agree(&s);
    end(&s);
}

/* A screen whose halves differ, close to the floor: what is seen of it depends on where one stands. */
static void test_paths_strategies_agree_on_a_textured_mesh(void **state)
{
    (void)state;
    enum { SIDE = 64 };
    static uint8_t rgb[SIDE * SIDE * 3];
    Stage s;
    begin(&s, 40.0f);
    s.scene.samples = 256;
    for (uint32_t y = 0; y < SIDE; ++y)
        memset(rgb + (size_t)3 * y * SIDE, y * SIDE < SIDE * SIDE / 2 ? 255 : 10, 3 * SIDE);
    kit_write_png(&s.kit, "textures/paint.png", SIDE, SIDE, rgb);
    kit_write_text(&s.kit, "shaders/screen.ssl", screen_ssl);
    kit_add_quad(&s.kit, &s.meshes, "screen",
                 (const float[4][3]){
                     {-.5f, .1f, -.4f}, {.5f, .1f, -.4f}, {.5f, .9f, -.4f}, {-.5f, .9f, -.4f}});
    s.scene.instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}, "
                        "{\"name\": \"s\", \"mesh\": \"screen\", \"materials\": [\"e\"]}";
    s.scene.materials = "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}, "
                        "{\"name\": \"e\", \"shader\": \"shaders/screen.ssl\", \"textures\": "
                        "{\"paint\": {\"file\": \"textures/paint.png\"}}}";
    strategies_agree(&s);
    end(&s);
}

/* Negative closures are weighed by their size: the walls of a closed room that return -1/2 of the light. */
static void test_paths_roulette_is_fair_to_negative_light(void **state)
{
    (void)state;
    Stage s;
    double mean, error;
    begin(&s, 90.0f);
    kit_write_text(&s.kit, "shaders/wall.ssl",
                   "shader wall(out closure surface)\n{\n"
                   "    surface = -0.5 * make_closure<Lambert>(color(1), global_value<normal>) + "
                   "make_closure<Emission>(color(1));\n}\n");
    kit_add_sphere(&s.kit, &s.meshes, "room", 2.0f, 8);
    s.scene.max_depth = 12;
    s.scene.samples = 256;
    s.scene.eye[0] = s.scene.eye[1] = 0;
    s.scene.eye[2] = 0.5f;
    s.scene.instances = "{\"name\": \"r\", \"mesh\": \"room\", \"materials\": [\"m\"]}";
    s.scene.materials = "{\"name\": \"m\", \"shader\": \"shaders/wall.ssl\"}";
    write_scene(&s);
    RenderOptions options = kit_options(&s.kit);
    render_means(&s, &options, &mean, &error);
    assert_near(mean, error, (1 - pow(-0.5, 13)) / 1.5, 1e-4);
    end(&s);
}

/* --- shadow rays ------------------------------------------------------------------------------------ */

static const char sunlight[] =
    "{\"name\": \"l\", \"type\": \"distant\", \"irradiance\": [2, 2, 2], "
    "\"transform\": [1,0,0,0, 0,0,1,9, 0,-1,0,0, 0,0,0,1]}";

static void add_sheet(Stage *s, const char *material)
{
    kit_add_quad(&s->kit, &s->meshes, "sheet",
                 (const float[4][3]){{-5, 1.5f, 5}, {5, 1.5f, 5}, {5, 1.5f, -5}, {-5, 1.5f, -5}});
    s->scene.instances =
        "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}, {\"name\": "
        "\"s\", \"mesh\": \"sheet\", \"materials\": [\"s\"]}";
    s->scene.materials = material;
    s->scene.lights = sunlight;
}

/* What a shadow ray meets lies one bounce from where it starts, whatever the path does next. */
static void test_paths_shadow_rays_count_their_depth(void **state)
{
    (void)state;
    Stage s;
    double mean, error;
    begin(&s, 0.05f);
    kit_write_text(
        &s.kit, "shaders/sheet.ssl",
        "shader sheet(out closure surface)\n{\n"
        "    surface = mix(make_closure<Lambert>(color(0), global_value<normal>), "
        "make_closure<Transparent>(color(1)), global_value<path_depth> == 1 ? 1.0 : 0.0);\n}\n");
    add_sheet(&s, "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}, {\"name\": \"s\", "
                  "\"shader\": \"shaders/sheet.ssl\"}");
    s.scene.max_depth = 4;
    write_scene(&s);
    RenderOptions options = kit_options(&s.kit);
    render_means(&s, &options, &mean, &error);
    assert_near(mean, error, 2 / 3.14159265, 1e-4);
    end(&s);
}

/* The sun's shadow of an edge in an alpha texture, 20 cm aside of the floor's middle: it is not blurred,
 * however far the sheet, since the light has no width. */
static void test_paths_a_point_of_light_makes_sharp_shadows(void **state)
{
    (void)state;
    enum { SIDE = 512 };
    uint8_t *rgb = mem_alloc((size_t)SIDE * SIDE, 3);
    Stage s;
    double mean, error;
    assert_non_null(rgb);
    begin(&s, 0.05f);
    s.scene.samples = 1;
    for (uint32_t i = 0; i < (uint32_t)(SIDE * SIDE); ++i)
        memset(rgb + (size_t)3 * i, i % SIDE < SIDE / 2 + 10 ? 255 : 0, 3);
    kit_write_png(&s.kit, "textures/cover.png", SIDE, SIDE, rgb);
    mem_free(rgb);
    kit_write_text(&s.kit, "shaders/leaf.ssl",
                   "texture2d cover;\nshader leaf(out closure surface)\n{\n"
                   "    const float3 uvw = global_value<uvw>;\n"
                   "    surface = mix(make_closure<Lambert>(color(0), global_value<normal>), "
                   "make_closure<Transparent>(color(1)), "
                   "texture2d_sample<cover>(uvw.x, uvw.y).x);\n}\n");
    add_sheet(&s, "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}, {\"name\": \"s\", "
                  "\"shader\": \"shaders/leaf.ssl\", \"textures\": {\"cover\": {\"file\": "
                  "\"textures/cover.png\"}}}");
    write_scene(&s);
    RenderOptions options = kit_options(&s.kit);
    render_means(&s, &options, &mean, &error);
    assert_near(mean, error, 2 / 3.14159265, 1e-4);
    end(&s);
}

/* --- the first surface --------------------------------------------------------------------------------- */

static const char *const first_surfaces = "{\"name\": \"m\", \"shader\": \"shaders/first.ssl\"}";

/* Depth, normal and alpha in the middle of a floor with the given shader; the camera is sqrt(3) away. */
static void render_first_surface(const char *ssl, float *out_depth, float out_normal[3],
                                 double *out_alpha)
{
    Stage s;
    uint32_t count;
    double error;
    begin(&s, 0.05f);
    kit_write_text(&s.kit, "shaders/first.ssl", ssl);
    s.scene.materials = first_surfaces;
    s.scene.samples = 256;
    s.scene.lights = sunlight;
    write_scene(&s);
    RenderOptions options = kit_options(&s.kit);
    options.aovs = FILM_AOV_BIT(FILM_AOV_DEPTH) | FILM_AOV_BIT(FILM_AOV_NORMAL);
    Render *render = kit_render(&s.kit, &options);
    float *rgba = kit_pixels(render, &count), *depth = kit_aov(render, FILM_AOV_DEPTH),
          *normal = kit_aov(render, FILM_AOV_NORMAL);
    kit_mean(rgba, count, 3, out_alpha, &error);
    *out_depth = depth[0];
    memcpy(out_normal, normal, 3 * sizeof *normal);
    mem_free(rgba);
    mem_free(depth);
    mem_free(normal);
    render_destroy(render);
    end(&s);
}

/* A lamp scatters nothing and is a surface all the same. */
static void test_paths_lamps_are_first_surfaces(void **state)
{
    (void)state;
    float depth, normal[3];
    double alpha;
    render_first_surface("shader first(out closure surface)\n"
                         "{\n    surface = make_closure<Emission>(color(1));\n}\n",
                         &depth, normal, &alpha);
    assert_true(fabsf(depth - 1.7320508f) < 5e-3f);
    assert_true(fabsf(normal[1] - 1.0f) < 1e-3f);
    assert_true(alpha == 1.0);
}

/* Directions that are lost below the surface belong to it too: a bump that leans far over. */
static void test_paths_lost_directions_belong_to_the_surface(void **state)
{
    (void)state;
    float depth, normal[3];
    double alpha;
    render_first_surface(
        "shader first(out closure surface)\n"
        "{\n    surface = make_closure<Lambert>(color(1), normalize(float3(1, 0.2, "
        "0)));\n}\n",
        &depth, normal, &alpha);
    assert_true(fabsf(depth - 1.7320508f) < 5e-3f);
    assert_true(fabsf(normal[0] - 0.980581f) < 1e-3f);
}

/* Alpha is what does not come through, also where scattering is drawn less often than it covers. */
static void test_paths_alpha_is_coverage(void **state)
{
    (void)state;
    float depth, normal[3];
    double alpha;
    render_first_surface("shader first(out closure surface)\n{\n"
                         "    surface = mix(make_closure<Transparent>(color(1)), "
                         "make_closure<Lambert>(color(0.2), global_value<normal>), 0.25);\n}\n",
                         &depth, normal, &alpha);
    assert_true(fabs(alpha - 0.25) < 0.01);
    assert_true(fabsf(depth - 1.7320508f) < 0.1f);
}

/* --- cancelling ------------------------------------------------------------------------------------------ */

typedef struct Timer {
    _Atomic bool flag;
} Timer;

static void raise_flag(void *data)
{
    Timer *timer = data;
    clock_sleep_ns(60 * 1000 * 1000);
    atomic_store(&timer->flag, true);
}

/* Half the picture is sky, whose paths end at once; the floor's wait for a slow texture. A wave that is
 * cancelled leaves no sample of either. */
static void test_paths_cancelled_waves_leave_nothing(void **state)
{
    (void)state;
    enum { SIDE = 1024 };
    Stage s;
    begin(&s, 60.0f);
    uint8_t *rgb = mem_alloc((size_t)SIDE * SIDE, 3);
    assert_non_null(rgb);
    for (size_t i = 0; i < (size_t)3 * SIDE * SIDE; ++i)
        rgb[i] = (uint8_t)hash_mix64(i);
    kit_write_png(&s.kit, "textures/paint.png", SIDE, SIDE, rgb);
    mem_free(rgb);
    kit_write_text(&s.kit, "shaders/painted.ssl",
                   "texture2d paint;\nshader painted(out closure surface)\n{\n"
                   "    const float3 uvw = global_value<uvw>;\n"
                   "    surface = make_closure<Lambert>(texture2d_sample<paint>(uvw.x, uvw.y), "
                   "global_value<normal>);\n}\n");
    s.scene.materials = "{\"name\": \"m\", \"shader\": \"shaders/painted.ssl\", \"textures\": "
                        "{\"paint\": {\"file\": \"textures/paint.png\"}}}";
    s.scene.environment = "{\"color\": [1, 1, 1]}";
    s.scene.width = s.scene.height = 32; /* one wave a sample */
    s.scene.eye[0] = 0, s.scene.eye[1] = 0.5f, s.scene.eye[2] = 4;
    s.scene.target[1] = 0.5f;
    s.scene.max_depth = 4;
    s.scene.samples = 1 << 16;
    write_scene(&s);

    Timer timer = {false};
    Thread *thread;
    Render *render;
    Error err = {0};
    StrBuf diagnostics = {0};
    RenderOptions options = kit_options(&s.kit);
    options.cancel = &timer.flag;
    options.texture_delay_us = 20000;
    options.texture_memory_bytes = 2 << 20;
    options.mip = TEX_MIP_OFF;
    options.aovs = FILM_AOV_BIT(FILM_AOV_SAMPLES);
    assert_int_equal(render_create(&options, &render, &diagnostics, &err), STATUS_OK);
    assert_int_equal(thread_create("timer", 0, raise_flag, &timer, &thread, &err), STATUS_OK);
    assert_int_equal(render_run(render, &err), STATUS_CANCELLED);
    thread_join(thread);
    float *samples = kit_aov(render, FILM_AOV_SAMPLES);
    for (uint32_t i = 1; i < 32 * 32; ++i)
        assert_true(samples[i] == samples[0]);
    mem_free(samples);
    strbuf_free(&diagnostics);
    render_destroy(render);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_strategies_agree_on_a_sky),
        cmocka_unit_test(test_paths_strategies_agree_on_a_sky_in_metal),
        cmocka_unit_test(test_paths_strategies_agree_on_a_sky_in_a_leaf),
        cmocka_unit_test(test_paths_strategies_agree_on_many_lights),
        cmocka_unit_test(test_paths_strategies_agree_on_a_textured_mesh),
        cmocka_unit_test(test_paths_roulette_is_fair_to_negative_light),
        cmocka_unit_test(test_paths_shadow_rays_count_their_depth),
        cmocka_unit_test(test_paths_a_point_of_light_makes_sharp_shadows),
        cmocka_unit_test(test_paths_lamps_are_first_surfaces),
        cmocka_unit_test(test_paths_lost_directions_belong_to_the_surface),
        cmocka_unit_test(test_paths_alpha_is_coverage),
        cmocka_unit_test(test_paths_cancelled_waves_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
