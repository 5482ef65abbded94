/* One scene at all scales and far from the origin: the picture stays, for lamps of every kind, near a surface. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { SIDE = 32, BLOCK = 8, BLOCKS = SIDE / BLOCK * (SIDE / BLOCK) };

static const char ssl[] =
    "shader matte(out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(color(0.8), global_value<normal>);\n}\n"
    "shader card(color radiance = color(1), out closure surface)\n"
    "{\n    surface = make_closure<Emission>(radiance);\n}\n"
    "shader glass(out closure surface)\n"
    "{\n    surface = make_closure<Dielectric>(1.5, 0, color(1), color(1), "
    "global_value<normal>);\n}\n";

/* Where the scene stands. */
typedef struct Stand {
    double scale, offset[3];
    double height; /* of the lamp, in units of the scene */
} Stand;

typedef enum Lamp {
    LAMP_POINT,
    LAMP_BULB, /* a point with a radius */
    LAMP_SPOT,
    LAMP_RECTANGLE,
    LAMP_DISK,
    LAMP_SPHERE,
    LAMP_CARD,  /* a mesh that emits */
    LAMP_BALLS, /* small closed meshes that emit */
    LAMP_TUBE,  /* a curve that emits */
    LAMP_SUN,
    LAMP_SKY,
    LAMP_COUNT
} Lamp;
static const char *const lamp_names[] = {"point", "bulb",  "spot", "rectangle", "disk", "sphere",
                                         "card",  "balls", "tube", "sun",       "sky"};

/* A transform that scales and turns -z down. */
static void add_transform(StrBuf *out, const Stand *at, const double p[3], double scale,
                          bool is_down)
{
    double s = scale, t[3];
    for (int k = 0; k < 3; ++k)
        t[k] = at->offset[k] + at->scale * p[k];
    if (is_down)
        strbuf_printf(out, "\"transform\": [%.9g,0,0,%.9g, 0,0,%.9g,%.9g, 0,%.9g,0,%.9g, 0,0,0,1]",
                      s, t[0], s, t[1], -s, t[2]);
    else
        strbuf_printf(out, "\"transform\": [%.9g,0,0,%.9g, 0,%.9g,0,%.9g, 0,0,%.9g,%.9g, 0,0,0,1]",
                      s, t[0], s, t[1], s, t[2]);
}

static void add_instance(StrBuf *out, const Stand *at, const char *mesh, const char *material,
                         const double p[3], double size)
{
    static int number;
    strbuf_printf(out, "%s{\"name\": \"i%d\", \"%s\": \"%s\", \"materials\": [\"%s\"], ",
                  strbuf_text(out)[0] ? ", " : "", number++,
                  strcmp(mesh, "tube") == 0 ? "curves" : "mesh", mesh, material);
    add_transform(out, at, p, at->scale * size, false);
    strbuf_printf(out, "}");
}

/* Lights in radiance stay as they are; intensities grow with the square of the scale. */
static void add_light(StrBuf *out, const Stand *at, Lamp lamp)
{
    const double p[3] = {0, at->height, 0}, s = at->scale, h = at->height;
    double intensity = s * s * h * h;
    switch (lamp) {
    case LAMP_POINT:
    case LAMP_BULB:
    case LAMP_SPOT:
        strbuf_printf(out,
                      "{\"name\": \"l\", \"type\": \"%s\", \"intensity\": [%.9g, %.9g, %.9g], "
                      "\"radius_m\": %.9g, ",
                      lamp == LAMP_SPOT ? "spot" : "point", intensity, intensity, intensity,
                      lamp == LAMP_BULB ? 0.25 * h * s : 0.0);
        if (lamp == LAMP_SPOT)
            strbuf_printf(out, "\"outer_angle_degrees\": 80, ");
        break;
    case LAMP_RECTANGLE:
    case LAMP_DISK:
        strbuf_printf(out,
                      "{\"name\": \"l\", \"type\": \"%s\", \"radiance\": [5, 5, 5], \"size\": "
                      "[%.9g, %.9g], ",
                      lamp == LAMP_DISK ? "area_ellipse" : "area_rectangle", s * 2, s * 0.25);
        break;
    case LAMP_SPHERE:
        strbuf_printf(out,
                      "{\"name\": \"l\", \"type\": \"sphere\", \"radiance\": [5, 5, 5], "
                      "\"radius_m\": %.9g, ",
                      0.75 * h * s);
        break;
    case LAMP_SUN:
        strbuf_printf(out, "{\"name\": \"l\", \"type\": \"distant\", \"irradiance\": [2, 2, 2], "
                           "\"angle_degrees\": 3, ");
        break;
    default:
        return;
    }
    add_transform(out, at, p, 1.0, true);
    strbuf_printf(out, "}");
}

static void add_emitters(StrBuf *out, const Stand *at, Lamp lamp)
{
    double h = at->height;
    if (lamp == LAMP_CARD)
        add_instance(out, at, "card", "light", (const double[3]){0, h, 0}, 1);
    if (lamp == LAMP_TUBE)
        add_instance(out, at, "tube", "light", (const double[3]){0, h, 0}, 1);
    for (int i = 0; i < 16 && lamp == LAMP_BALLS; ++i)
        add_instance(out, at, "ball", "light",
                     (const double[3]){0.5 * (i % 4) - 1, h, 0.5 * (double)(i / 4) - 1}, 0.5 * h);
}

static const char tube_json[] =
    "{\"name\": \"tube\", \"basis\": \"linear\", \"shape\": \"round\", "
    "\"point_count\": 2, \"curve_count\": 1, \"points\": {\"file\": "
    "\"meshes/tube.bin\", \"type\": \"float32\", \"components\": 4, \"count\": 2}, "
    "\"point_counts\": {\"file\": \"meshes/tube.bin\", \"offset_bytes\": 32, "
    "\"type\": \"uint32\", \"components\": 1, \"count\": 1}}";

/* A straight round curve along x, from -half_m to half_m. */
static void add_tube(const Kit *kit, float half_m, float radius_m)
{
    const struct {
        float points[2][4];
        uint32_t count;
    } tube = {{{-half_m, 0, 0, radius_m}, {half_m, 0, 0, radius_m}}, 2};
    kit_write(kit, "meshes/tube.bin", &tube, sizeof tube);
}

/* Means of blocks of pixels. */
static void render_blocks(Lamp lamp, const Stand *at, double out_blocks[BLOCKS])
{
    Kit kit;
    StrBuf meshes = {0}, instances = {0}, lights = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/s.ssl", ssl);
    kit_add_quad(&kit, &meshes, "floor",
                 (const float[4][3]){{-4, 0, 4}, {4, 0, 4}, {4, 0, -4}, {-4, 0, -4}});
    kit_add_quad(
        &kit, &meshes, "card",
        (const float[4][3]){{-1, 0, -.125f}, {1, 0, -.125f}, {1, 0, .125f}, {-1, 0, .125f}});
    kit_add_sphere(&kit, &meshes, "ball", 1.0f, 12);
    add_tube(&kit, 1, 0.03125f);
    add_instance(&instances, at, "floor", "white", (const double[3]){0, 0, 0}, 1);
    add_instance(&instances, at, "ball", "white", (const double[3]){1.5, 0.5, 0}, 0.5);
    add_instance(&instances, at, "ball", "glass", (const double[3]){-1.5, 0.5, 0}, 0.5);
    add_emitters(&instances, at, lamp);
    add_light(&lights, at, lamp);
    KitScene scene = {
        .width = SIDE,
        .height = SIDE,
        .samples = 32,
        .max_depth = 6,
        .fov_y_degrees = 50,
        .meshes = strbuf_text(&meshes),
        .instances = strbuf_text(&instances),
        .curves = tube_json,
        .materials = "{\"name\": \"white\", \"shader\": \"shaders/s.ssl\", \"entry\": \"matte\"}, "
                     "{\"name\": \"glass\", \"shader\": \"shaders/s.ssl\", \"entry\": \"glass\"}, "
                     "{\"name\": \"light\", \"shader\": \"shaders/s.ssl\", \"entry\": \"card\", "
                     "\"parameters\": {\"radiance\": [5, 5, 5]}}",
        .lights = strbuf_text(&lights)[0] ? strbuf_text(&lights) : NULL,
        .environment = lamp == LAMP_SKY ? "{\"color\": [1, 1, 1]}" : NULL};
    const double eye[3] = {1, 2, 4}, target[3] = {0, 0.25, 0};
    for (int k = 0; k < 3; ++k) {
        scene.eye[k] = (float)(at->offset[k] + at->scale * eye[k]);
        scene.target[k] = (float)(at->offset[k] + at->scale * target[k]);
    }
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Render *render = kit_render(&kit, &options);
    uint32_t count;
    float *rgba = kit_pixels(render, &count);
    memset(out_blocks, 0, BLOCKS * sizeof *out_blocks);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t x = i % SIDE / BLOCK, y = i / SIDE / BLOCK;
        out_blocks[y * (SIDE / BLOCK) + x] += fmin((double)rgba[4 * i], 4.0) / (BLOCK * BLOCK);
    }
    mem_free(rgba);
    render_destroy(render);
    strbuf_free(&meshes);
    strbuf_free(&instances);
    strbuf_free(&lights);
    kit_end(&kit);
}

/* Equal random numbers draw equal paths, but where rounding decides. `allowed`: relative, of the mean; blocks may be
 * off by ten times as much. */
static void assert_same_picture(Lamp lamp, const Stand *at, const double expected[BLOCKS],
                                double allowed)
{
    double blocks[BLOCKS], sum = 0, error = 0, worst = 0;
    render_blocks(lamp, at, blocks);
    for (uint32_t i = 0; i < BLOCKS; ++i) {
        sum += expected[i], error += blocks[i] - expected[i];
        worst = fmax(worst, fabs(blocks[i] - expected[i]) / (expected[i] + 0.02));
    }
    assert_true(sum > 0);
    if (fabs(error) > allowed * sum || worst > 10 * allowed)
        fail_msg("%s at scale %g, offset (%g, %g): mean %g, expected %g, worst block off by %g",
                 lamp_names[lamp], at->scale, at->offset[0], at->offset[1], (sum + error) / BLOCKS,
                 sum / BLOCKS, worst);
}

/* Units in the last place at 10^5 m are 8 mm: a lamp of 6 cm over the floor keeps its light while its height is a small
 * number; with all coordinates large, it stands at 4 m. The small balls are no balls there any more. Which of many
 * lamps is drawn depends on how rounding builds the tree over them. */
static void test_scales_and_places(void **state)
{
    (void)state;
    const double near = 0.0625, far = 4;
    for (Lamp lamp = 0; lamp < LAMP_COUNT; ++lamp) {
        double expected[BLOCKS], from_far[BLOCKS], choice = lamp == LAMP_BALLS ? 0.06 : 0.0;
        render_blocks(lamp, &(Stand){1, {0, 0, 0}, near}, expected);
        assert_same_picture(lamp, &(Stand){1e-4, {0, 0, 0}, near}, expected, 1e-4 + choice);
        assert_same_picture(lamp, &(Stand){1e6, {0, 0, 0}, near}, expected, 1e-4 + choice);
        assert_same_picture(lamp, &(Stand){1, {100, 100, -100}, near}, expected, 5e-3 + choice);
        if (lamp == LAMP_BALLS)
            continue;
        /* Rounding takes 5 to 7 % of the light of a sphere of this size, and which pixels see it is left to chance. */
        assert_same_picture(lamp, &(Stand){1, {1e5, 0, -1e5}, near}, expected,
                            lamp == LAMP_SPHERE ? 0.12 : 0.06);
        render_blocks(lamp, &(Stand){1, {0, 0, 0}, far}, from_far);
        assert_same_picture(lamp, &(Stand){1, {1e5, 1e5, -1e5}, far}, from_far, 0.04);
    }
}

/* Shapes that shine and scatter and have no hollows, wherever they stand: nothing is over them, so they show their own light
 * alone, although rounding leaves half of their points behind them. */
static void test_lamps_without_hollows_do_not_light_themselves(void **state)
{
    static const double offsets_m[] = {0, 30, 1e3, 1e5};
    static const char *const shapes[] = {"card", "ball", "tube"};
    Kit kit;
    StrBuf meshes = {0};
    (void)state;
    kit_begin(&kit);
    kit_write_text(
        &kit, "shaders/glow.ssl",
        "shader glow(out closure surface)\n{\n    surface = make_closure<Emission>(color(3))"
        " + make_closure<Lambert>(color(0.8), global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "card",
                 (const float[4][3]){{-9, -9, 0}, {9, -9, 0}, {9, 9, 0}, {-9, 9, 0}});
    kit_add_sphere(&kit, &meshes, "ball", 4.0f, 12);
    add_tube(&kit, 30, 3);
    for (size_t i = 0; i < sizeof offsets_m / sizeof *offsets_m * 3; ++i) {
        const char *shape = shapes[i % 3];
        StrBuf instances = {0};
        uint32_t count;
        double at = offsets_m[i / 3];
        /* Turned by angles of the 3-4-5 and 5-12-13 triangles, so that no coordinate is constant. */
        strbuf_printf(&instances,
                      "{\"name\": \"i\", \"%s\": \"%s\", \"materials\": [\"m\"], \"transform\": "
                      "[0.8,0,0.6,%.9g, %.9g,%.9g,%.9g,%.9g, %.9g,%.9g,%.9g,%.9g, 0,0,0,1]}",
                      strcmp(shape, "tube") == 0 ? "curves" : "mesh", shape, at, 3.0 / 13,
                      12.0 / 13, -4.0 / 13, at / 2, -7.2 / 13, 5.0 / 13, 9.6 / 13, -at);
        kit_write_scene(
            &kit, &(KitScene){.width = SIDE,
                              .height = SIDE,
                              .samples = 8,
                              .max_depth = 3,
                              .eye = {(float)at, (float)(at / 2), (float)(20 - at)},
                              .target = {(float)at, (float)(at / 2), (float)-at},
                              .fov_y_degrees = 5,
                              .meshes = strbuf_text(&meshes),
                              .curves = tube_json,
                              .instances = strbuf_text(&instances),
                              .materials = "{\"name\": \"m\", \"shader\": \"shaders/glow.ssl\"}"});
        RenderOptions options = kit_options(&kit);
        Render *render = kit_render(&kit, &options);
        float *pixels = kit_pixels(render, &count);
        for (uint32_t k = 0; k < 4 * count; ++k)
            if (fabsf(pixels[k] - (k % 4 == 3 ? 1.0f : 3.0f)) > 1e-4f)
                fail_msg("%s at %g m: a pixel has %g", shape, at, (double)pixels[k]);
        mem_free(pixels);
        render_destroy(render);
        strbuf_free(&instances);
    }
    strbuf_free(&meshes);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales_and_places),
        cmocka_unit_test(test_lamps_without_hollows_do_not_light_themselves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
