/* Pictures of points on an object (sort/scene/bake_table.h) against closed forms; bad tables and options. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "sort/scene/bake_table.h"
#include "tests/sort/render/render_kit.h"

enum { WIDTH = 16, HEIGHT = 8, SAMPLES = 64, PIXELS = WIDTH * HEIGHT };

static const char ssl[] =
    "shader show(int what, out closure surface)\n{\n"
    "    const float3 uv = global_value<uvw>;\n"
    "    const point P = global_value<position>;\n"
    "    color c = color(uv.x, uv.y, 0);\n"
    "    if (what == 1) c = color(0.5 * global_value<I> + 0.5);\n"
    "    if (what == 2) c = color(length(ddx(uv)), length(ddy(uv)), abs(ddx(uv).y) + "
    "abs(ddy(uv).x));\n"
    "    if (what == 3) c = color(length(ddx(P)), length(ddy(P)), abs(dot(ddx(P), ddy(P))));\n"
    "    surface = make_closure<Emission>(c);\n}\n"
    "shader rough(int what, out closure surface)\n{\n"
    "    const normal n = global_value<normal>;\n"
    "    surface = make_closure<Lambert>(color(0.5), n) + make_closure<OrenNayar>(color(0.1), 0, "
    "n);\n"
    "    if (what == 1) surface += 0.4 * make_closure<Conductor>(color(0.9), 0.3, n)"
    " + 0.1 * make_closure<OrenNayar>(color(0.5), 0.3, n);\n"
    "    if (what == 2) surface += 0.75 * make_closure<Glossy>(color(0.8), 0, 0, 0, 0, vector(1, "
    "0, 0), n)"
    " + 0.25 * make_closure<Glossy>(color(0.4), 0.1, 0, 0, 0, vector(1, 0, 0), n);\n}\n"
    "shader sky(out closure surface)\n{\n"
    "    surface = make_closure<Emission>(color(0.5 * global_value<I> + 0.5));\n}\n"
    "shader black(out closure surface)\n{\n    surface = make_closure<Lambert>(color(0), "
    "global_value<normal>);\n}\n"
    "shader matte(out closure surface)\n{\n"
    "    surface = make_closure<Lambert>(color(0.75, 0.5, 0.25), global_value<normal>);\n}\n";

/* A square of the side 2 in the plane z = 0, in front of z: turned by a right angle about z, then three times as long along x, then
 * moved to (5, 0, -2). The picture over its texture coordinates is WIDTH x HEIGHT. */
#define PLACE  "[0,-3,0,5, 1,0,0,0, 0,0,1,-2, 0,0,0,1]"
#define EDGE_X 2.0 /* lengths of the square along u and v in the world */
#define EDGE_Y 6.0

/* material: show with what, matte, or empty for the sky alone. The camera is at `eye`. */
static void begin(Kit *kit, const char *entry, int what, const float eye[3], const char *sky)
{
    StrBuf meshes = {0};
    char materials[512];
    kit_begin(kit);
    kit_write_text(kit, "m.ssl", ssl);
    kit_add_quad(kit, &meshes, "q",
                 (const float[4][3]){{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}});
    kit_add_quad(kit, &meshes, "flat", /* its second triangle has no area */
                 (const float[4][3]){{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {1, 1, 0}});
    if (what < 0)
        snprintf(materials, sizeof materials,
                 "{\"name\": \"m\", \"shader\": \"m.ssl\", \"entry\": \"%s\"}, "
                 "{\"name\": \"s\", \"shader\": \"m.ssl\", \"entry\": \"sky\"}",
                 entry);
    else
        snprintf(materials, sizeof materials,
                 "{\"name\": \"m\", \"shader\": \"m.ssl\", \"entry\": \"%s\", \"parameters\": "
                 "{\"what\": %d}}, {\"name\": \"s\", \"shader\": \"m.ssl\", \"entry\": \"sky\"}",
                 entry, what);
    kit_write_scene(
        kit, &(KitScene){.width = WIDTH,
                         .height = HEIGHT,
                         .samples = SAMPLES,
                         .max_depth = 2,
                         .has_transparent_film = true,
                         .eye = {eye[0], eye[1], eye[2]},
                         .target = {5, 0, -2},
                         .fov_y_degrees = 40,
                         .meshes = strbuf_text(&meshes),
                         .instances = "{\"name\": \"q\", \"mesh\": \"q\", \"materials\": [\"m\"], "
                                      "\"transform\": " PLACE "}, "
                                      "{\"name\": \"flat\", \"mesh\": \"flat\", \"materials\": "
                                      "[\"m\"], \"transform\": [1,0,0,-50, 0,1,0,0, 0,0,1,-50, "
                                      "0,0,0,1]}",
                         .materials = materials,
                         .environment = sky});
    strbuf_free(&meshes);
}

#define DARK "{\"color\": [0, 0, 0]}"
static const float above[3] = {5, 0.001f, 7};

static RenderOptions bake_options(const Kit *kit, BakeLook look)
{
    RenderOptions options = kit_options(kit);
    options.bake = (RenderBake){.instance = "q", .look = look};
    return options;
}

/* Texture coordinates of the middle of a pixel. */
static void middle(uint32_t pixel, double out[2])
{
    out[0] = (pixel % WIDTH + 0.5) / WIDTH;
    out[1] = 1 - (pixel / WIDTH + 0.5) / HEIGHT;
}

/* A pixel of which one triangle covers all: the edge between the two is u = v. */
static bool is_whole(uint32_t pixel)
{
    double uv[2];
    middle(pixel, uv);
    return fabs(uv[0] - uv[1]) >= 0.5 / WIDTH + 0.5 / HEIGHT;
}

static void place(const double uv[2], double out[3])
{
    out[0] = 5 - 3 * (2 * uv[1] - 1);
    out[1] = 2 * uv[0] - 1;
    out[2] = -2;
}

static void assert_near(const char *what, uint32_t pixel, double is, double expected, double most)
{
    if (!(fabs(is - expected) <= most))
        fail_msg("%s in pixel %u: %.7g instead of %.7g +- %.2g", what, pixel, is, expected, most);
}

/* --- what is shown ------------------------------------------------------------------------------ */

/* The mean over a pixel that lies within a triangle is the value in its middle; the standard error of a uniform distribution over a
 * pixel is its side over sqrt(12 SAMPLES), and five of them are exceeded once in millions. */
static void test_bake_shows_each_pixels_own_place(void **state)
{
    (void)state;
    Kit kit;
    uint32_t count;
    begin(&kit, "show", 0, above, DARK);
    RenderOptions options = bake_options(&kit, BAKE_FROM_ABOVE);
    options.sampler = SAMPLER_INDEPENDENT;
    options.aovs = FILM_AOV_BIT(FILM_AOV_POSITION) | FILM_AOV_BIT(FILM_AOV_NORMAL) |
                   FILM_AOV_BIT(FILM_AOV_UV) | FILM_AOV_BIT(FILM_AOV_EMISSION);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count), *P = kit_aov(render, FILM_AOV_POSITION),
          *N = kit_aov(render, FILM_AOV_NORMAL), *uv = kit_aov(render, FILM_AOV_UV),
          *glow = kit_aov(render, FILM_AOV_EMISSION);
    assert_int_equal(count, PIXELS);
    for (uint32_t i = 0; i < count; ++i) {
        double at[2], where[3], sides[2] = {1.0 / WIDTH, 1.0 / HEIGHT};
        middle(i, at);
        place(at, where);
        for (int c = 0; c < 2; ++c) { /* beside the edge the mean is within the pixel */
            double most = is_whole(i) ? 5 * sides[c] / sqrt(12.0 * SAMPLES) : 0.5 * sides[c];
            assert_near("uv", i, (double)rgba[4 * i + c], at[c], most);
            assert_near("layer uv", i, (double)uv[2 * i + c], (double)rgba[4 * i + c], 1e-6);
            assert_near("layer emission", i, (double)glow[3 * i + c], (double)rgba[4 * i + c], 0);
            assert_near("place", i, (double)P[3 * i + c], where[c], EDGE_Y * most);
        }
        assert_near("place", i, (double)P[3 * i + 2], -2, 1e-6);
        assert_near("alpha", i, (double)rgba[4 * i + 3], 1, 0);
        assert_near("normal", i, (double)N[3 * i + 2], 1, 1e-6);
    }
    mem_free(rgba);
    mem_free(P);
    mem_free(N);
    mem_free(uv);
    mem_free(glow);
    render_destroy(render);
    kit_end(&kit);
}

/* All pixels have these values. */
static void check_all(const char *entry, int what, BakeLook look, const double expected[3],
                      double most)
{
    Kit kit;
    uint32_t count;
    begin(&kit, entry, what, above, DARK);
    RenderOptions options = bake_options(&kit, look);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    for (uint32_t i = 0; i < count; ++i)
        for (int c = 0; c < 3; ++c)
            assert_near(entry, i, (double)rgba[4 * i + c], expected[c], most);
    mem_free(rgba);
    render_destroy(render);
    kit_end(&kit);
}

/* A footprint is the pixel, whatever the place of the object and whoever looks. */
static void test_bake_has_the_footprint_of_its_pixels(void **state)
{
    (void)state;
    for (uint32_t look = BAKE_FROM_ABOVE; look <= BAKE_FROM_CAMERA; ++look) {
        check_all("show", 2, (BakeLook)look, (const double[3]){1.0 / WIDTH, 1.0 / HEIGHT, 0}, 2e-6);
        check_all("show", 3, (BakeLook)look, (const double[3]){EDGE_X / WIDTH, EDGE_Y / HEIGHT, 0},
                  2e-5);
    }
}

/* Under a sky of 1 a matte surface that nothing hides is as bright as its albedo. */
static void test_bake_of_a_matte_surface_is_its_albedo(void **state)
{
    (void)state;
    const double albedo[3] = {0.75, 0.5, 0.25};
    Kit kit;
    uint32_t count;
    begin(&kit, "matte", -1, above, "{\"color\": [1, 1, 1]}");
    RenderOptions options = bake_options(&kit, BAKE_FROM_ABOVE);
    options.aovs = FILM_AOV_BIT(FILM_AOV_DIFFUSE_COLOR) | FILM_AOV_BIT(FILM_AOV_DIFFUSE_DIRECT) |
                   FILM_AOV_BIT(FILM_AOV_AMBIENT_OCCLUSION);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count), *color = kit_aov(render, FILM_AOV_DIFFUSE_COLOR),
          *open = kit_aov(render, FILM_AOV_AMBIENT_OCCLUSION);
    for (int c = 0; c < 3; ++c) {
        double mean, error;
        kit_mean(rgba, count, c, &mean, &error);
        assert_near("light", 0, mean, albedo[c], 5 * error + 1e-5);
        assert_true(error < 0.01);
        for (uint32_t i = 0; i < count; ++i) {
            assert_near("color", i, (double)color[3 * i + c], albedo[c], 1e-6);
            assert_near("occlusion", i, (double)open[3 * i + c], 1, 1e-6);
        }
    }
    mem_free(rgba);
    mem_free(color);
    mem_free(open);
    render_destroy(render);
    kit_end(&kit);
}

/* Closures without a roughness do not count, the others by their albedo. */
static void test_bake_of_roughness_is_a_mean(void **state)
{
    (void)state;
    static const double expected[] = {(double)FILM_UNKNOWN, 0.3,
                                      0.25 * 0.4 * 0.1 / (0.75 * 0.8 + 0.25 * 0.4)};
    for (int what = 0; what < (int)SORT_COUNT_OF(expected); ++what) {
        Kit kit;
        begin(&kit, "rough", what, above, DARK);
        RenderOptions options = bake_options(&kit, BAKE_FROM_ABOVE);
        options.aovs = FILM_AOV_BIT(FILM_AOV_ROUGHNESS);
        Render *render = kit_render(&kit, &options);
        float *values = kit_aov(render, FILM_AOV_ROUGHNESS);
        for (uint32_t i = 0; i < PIXELS; ++i)
            assert_near("roughness", i, (double)values[i], expected[what], what == 2 ? 2e-4 : 1e-6);
        mem_free(values);
        render_destroy(render);
        kit_end(&kit);
    }
}

/* A baked shadow catcher tells what others take of its light: under a sun, and half a sun without shadows, a third is left below a roof,
 * which lies between the surface and where its rays come from. */
static void test_bake_of_a_shadow_catcher(void **state)
{
    (void)state;
    static const char lights[] =
        "{\"name\": \"a\", \"type\": \"distant\", \"irradiance\": [2, 2, 2], \"transform\": "
        "[1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}, {\"name\": \"b\", \"type\": \"distant\", "
        "\"irradiance\": [1, 1, 1], \"casts_shadows\": false, \"transform\": [1,0,0,0, 0,1,0,0, "
        "0,0,1,0, 0,0,0,1]}";
    static const char instances[] =
        "{\"name\": \"q\", \"mesh\": \"q\", \"materials\": [\"m\"], \"is_shadow_catcher\": true}, "
        "{\"name\": \"roof\", \"mesh\": \"roof\", \"materials\": [\"black\"]}";
    StrBuf meshes = {0};
    Kit kit;
    kit_begin(&kit);
    kit_write_text(&kit, "m.ssl", ssl);
    kit_add_quad(&kit, &meshes, "q",
                 (const float[4][3]){{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}});
    kit_add_quad(&kit, &meshes, "roof",
                 (const float[4][3]){{-1, -9, 0.5}, {0, -9, 0.5}, {0, 9, 0.5}, {-1, 9, 0.5}});
    kit_write_scene(
        &kit,
        &(KitScene){.width = WIDTH,
                    .height = HEIGHT,
                    .samples = 16,
                    .max_depth = 3,
                    .eye = {0, 0.001f, 7},
                    .fov_y_degrees = 40,
                    .meshes = strbuf_text(&meshes),
                    .instances = instances,
                    .lights = lights,
                    .materials =
                        "{\"name\": \"m\", \"shader\": \"m.ssl\", \"entry\": \"matte\"}, "
                        "{\"name\": \"black\", \"shader\": \"m.ssl\", \"entry\": \"black\"}"});
    strbuf_free(&meshes);
    RenderOptions options = bake_options(&kit, BAKE_FROM_ABOVE);
    options.sampler = SAMPLER_INDEPENDENT;
    options.aovs = FILM_AOV_BIT(FILM_AOV_SHADOW_CATCHER) | FILM_AOV_BIT(FILM_AOV_SHADOW);
    Render *render = kit_render(&kit, &options);
    float *kept = kit_aov(render, FILM_AOV_SHADOW_CATCHER),
          *lamps = kit_aov(render, FILM_AOV_SHADOW);
    double below = 0, lit = 0;
    for (uint32_t i = 0; i < PIXELS; ++i) {
        bool is_below = i % WIDTH < WIDTH / 2;
        below += is_below ? (double)kept[3 * i] / (PIXELS / 2) : 0;
        lit += is_below ? (double)lamps[3 * i] / (PIXELS / 2) : 0;
        if (is_below)
            continue;
        assert_near("catcher in the open", i, (double)kept[3 * i], 1, 1e-6);
        assert_near("lamps in the open", i, (double)lamps[3 * i], 1, 1e-6);
    }
    assert_near("catcher below the roof", 0, below, 1.0 / 3, 0.05);
    assert_near("lamps below the roof", 0, lit, 0.5, 5 * 0.5 / sqrt(16.0 * PIXELS / 2));
    kit_assert_equal_bits(&kit, &options);
    mem_free(kept);
    mem_free(lamps);
    render_destroy(render);
    kit_end(&kit);
}

/* --- looks -------------------------------------------------------------------------------------- */

/* Renders what == 1, of the surface or the sky: (direction + 1) / 2. */
static float *directions(BakeLook look, const float eye[3])
{
    Kit kit;
    uint32_t count;
    begin(&kit, "show", 1, eye, "{\"material\": \"s\"}");
    RenderOptions options = bake_options(&kit, look);
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    render_destroy(render);
    kit_end(&kit);
    return rgba;
}

static void expect(const float *rgba, uint32_t pixel, const double direction[3], double most)
{
    double length = sqrt(direction[0] * direction[0] + direction[1] * direction[1] +
                         direction[2] * direction[2]);
    for (int c = 0; c < 3; ++c)
        assert_near("direction", pixel, (double)rgba[4 * pixel + c],
                    0.5 + 0.5 * direction[c] / length, most);
}

static void test_bake_looks_from_above_from_the_camera_and_at_the_sky(void **state)
{
    (void)state;
    const float near_eye[3] = {5, 0.001f, 3}, behind[3] = {5, 0.001f, -2000},
                grazing[3] = {5, 30, -2};
    float *down = directions(BAKE_FROM_ABOVE, near_eye),
          *seen = directions(BAKE_FROM_CAMERA, near_eye),
          *back = directions(BAKE_FROM_CAMERA, behind),
          *low = directions(BAKE_FROM_CAMERA, grazing),
          *sky = directions(BAKE_AT_ENVIRONMENT, near_eye);
    for (uint32_t i = 0; i < PIXELS; ++i) {
        double uv[2], P[3];
        middle(i, uv);
        place(uv, P);
        expect(down, i, (const double[3]){0, 0, -1}, 1e-6);
        expect(back, i, (const double[3]){0, 0, -1}, 0.01); /* turned to the front */
        /* The cosine of what is seen along the surface is raised to 0.2. */
        assert_near("cosine", i, 1 - 2 * (double)low[4 * i + 2], 0.2 / sqrt(1 + 0.2 * 0.2), 1e-3);
        if (!is_whole(i))
            continue;
        /* A pixel is seen at most a sixth of a radian wide: means bend by less than that squared, over 24. */
        expect(seen, i, (const double[3]){P[0] - 5, P[1], P[2] - 3}, 0.02);
        expect(sky, i, P, 0.02);
    }
    mem_free(down);
    mem_free(seen);
    mem_free(back);
    mem_free(low);
    mem_free(sky);
}

/* --- bits --------------------------------------------------------------------------------------- */

static void test_bake_has_equal_bits(void **state)
{
    (void)state;
    Kit kit;
    begin(&kit, "matte", -1, above, "{\"material\": \"s\"}");
    RenderOptions options = bake_options(&kit, BAKE_FROM_CAMERA);
    Hash128 expected = kit_render_bits(&kit, &options, NULL);
    options.thread_count = 1;
    assert_true(hash128_equal(expected, kit_render_bits(&kit, &options, NULL)));
    options.thread_count = 8;
    options.wave_capacity = 8;
    assert_true(hash128_equal(expected, kit_render_bits(&kit, &options, NULL)));
    kit_end(&kit);
}

/* --- tables ------------------------------------------------------------------------------------- */

/* The table of the picture over the texture coordinates of the square, by its two triangles: u = b1 + b2, v = b2 in the first one,
 * u = b1 and v = b1 + b2 in the second. */
static void make_points(BakePoint points[PIXELS])
{
    for (uint32_t i = 0; i < PIXELS; ++i) {
        double uv[2];
        float du = 1.0f / WIDTH, dv = -1.0f / HEIGHT; /* per pixel to the right, and down */
        middle(i, uv);
        if (uv[0] >= uv[1])
            points[i] = (BakePoint){0, (float)(uv[0] - uv[1]), (float)uv[1], du, 0, -dv, dv};
        else
            points[i] = (BakePoint){1, (float)uv[0], (float)(uv[1] - uv[0]), du, -du, 0, dv};
    }
}

static void write_points(const Kit *kit, const char *name, const BakePoint *points, uint32_t width,
                         uint32_t height, size_t bytes, char out_path[PATH_BYTES])
{
    static const char magic[8] = {'S', 'O', 'R', 'T', 'B', 'A', 'K', 'E'};
    char data[16 + PIXELS * sizeof(BakePoint)];
    Error err = {0};
    memcpy(data, magic, sizeof magic);
    memcpy(data + 8, &width, 4);
    memcpy(data + 12, &height, 4);
    memcpy(data + 16, points, PIXELS * sizeof(BakePoint));
    kit_path(kit, name, out_path);
    assert_int_equal(file_write(out_path, data, bytes, &err), STATUS_OK);
}

static void test_bake_takes_tables(void **state)
{
    (void)state;
    Kit kit;
    char path[PATH_BYTES];
    uint32_t count;
    BakePoint points[PIXELS];
    begin(&kit, "show", 0, above, DARK);
    RenderOptions options = bake_options(&kit, BAKE_FROM_ABOVE);
    Render *render = kit_render(&kit, &options);
    float *drawn = kit_pixels(render, &count);
    render_destroy(render);
    make_points(points);
    points[3].triangle = -1;
    write_points(&kit, "points", points, WIDTH, HEIGHT, 16 + sizeof points, path);
    options.bake.points = path;
    render = kit_render(&kit, &options);
    float *given = kit_pixels(render, &count);
    assert_int_equal(count, PIXELS);
    for (uint32_t i = 0; i < count; ++i)
        for (int c = 0; c < 4; ++c)
            assert_near("value", i, (double)given[4 * i + c], i == 3 ? 0 : (double)drawn[4 * i + c],
                        is_whole(i) ? 1e-6 : 0.1);
    mem_free(drawn);
    mem_free(given);
    render_destroy(render);
    kit_end(&kit);
}

/* Triangles without an area have no normal, and none in the picture have no pixels. */
static void test_bake_leaves_out_what_has_no_area(void **state)
{
    (void)state;
    Kit kit;
    uint32_t count;
    begin(&kit, "matte", -1, above, "{\"color\": [1, 1, 1]}");
    RenderOptions options = bake_options(&kit, BAKE_FROM_ABOVE);
    options.bake.instance = "flat";
    Render *render = kit_render(&kit, &options);
    float *rgba = kit_pixels(render, &count);
    for (uint32_t i = 0; i < count; ++i) {
        double uv[2];
        middle(i, uv);
        bool is_there = uv[0] >= uv[1];
        assert_near("alpha", i, (double)rgba[4 * i + 3], is_there ? 1 : 0, 0);
        assert_int_equal(rgba[4 * i] > 0, is_there);
    }
    mem_free(rgba);
    render_destroy(render);
    kit_end(&kit);
}

static void test_bake_refuses_bad_tables(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    char path[PATH_BYTES];
    BakePoint points[PIXELS];
    begin(&kit, "matte", -1, above, DARK);
    make_points(points);
    write_points(&kit, "cut", points, WIDTH, HEIGHT, 16 + sizeof points - 1, path);
    KIT_RUN(&kit, &said, "--bake", "q", "--bake-points", path);
    KIT_ASSERT_SAYS(&said, 1, "cut", "3600 bytes", "3599", NULL);
    write_points(&kit, "short", points, WIDTH, HEIGHT, 12, path);
    KIT_RUN(&kit, &said, "--bake", "q", "--bake-points", path);
    KIT_ASSERT_SAYS(&said, 1, "short", "no table of points", NULL);
    write_points(&kit, "empty", points, 0, HEIGHT, 16, path);
    KIT_RUN(&kit, &said, "--bake", "q", "--bake-points", path);
    KIT_ASSERT_SAYS(&said, 1, "empty", "0 x 8", NULL);
    points[17].b2 = NAN;
    write_points(&kit, "nan", points, WIDTH, HEIGHT, 16 + sizeof points, path);
    KIT_RUN(&kit, &said, "--bake", "q", "--bake-points", path);
    KIT_ASSERT_SAYS(&said, 1, "nan", "pixel 1,1", "not finite", NULL);
    points[5].triangle = 2;
    write_points(&kit, "beyond", points, WIDTH, HEIGHT, 16 + sizeof points, path);
    KIT_RUN(&kit, &said, "--bake", "q", "--bake-points", path);
    KIT_ASSERT_SAYS(&said, 1, "beyond", "pixel 5,0", "triangle 2 of a mesh of 2", NULL);
    KIT_RUN(&kit, &said, "--bake", "q", "--bake-points", "/nowhere");
    KIT_ASSERT_SAYS(&said, 1, "/nowhere", NULL);
    kit_end(&kit);
}

static void test_bake_refuses_what_makes_no_sense(void **state)
{
    (void)state;
    static const struct {
        const char *more[4], *says;
    } rows[] = {
        {{"--bake", "nothing"}, "no object 'nothing'"},
        {{"--bake", "qq"}, "did you mean 'q'?"},
        {{"--bake", "q", "--bake-uv", "1"}, "has 1 uv sets; there is no set 1"},
        {{"--bake", "q", "--bake-udim", "1012"}, "nothing in this tile"},
        {{"--bake-look", "camera"}, "need --bake NAME"},
        {{"--bake", "q", "--pixel-filter", "box"}, "neither --pixel-filter"},
        {{"--bake", "q", "--aov", "vector"}, "layer vector"},
        {{"--bake", "q", "--aov", "depth,mist"}, "layer depth"},
        {{"--bake", "q", "--denoise"}, "do not go together"},
        {{"--bake", "q", "--integrator", "light"}, "--integrator light"},
    };
    Kit kit;
    KitSaid said;
    begin(&kit, "matte", -1, above, DARK);
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        const char *more[5] = {rows[i].more[0], rows[i].more[1], rows[i].more[2], rows[i].more[3]};
        kit_run(&kit, more, &said);
        KIT_ASSERT_SAYS(&said, 2, rows[i].says, NULL);
    }
    kit_end(&kit);
}

/* What the pixels show is part of what a render is. */
static void test_bake_goes_on_with_its_own_samples_alone(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    char checkpoint[PATH_BYTES];
    begin(&kit, "matte", -1, above, DARK);
    kit_path(&kit, "c", checkpoint);
    KIT_RUN(&kit, &said, "--bake", "q", "--samples", "0:8", "--checkpoint", checkpoint,
            "--keep-checkpoint");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RUN(&kit, &said, "--bake", "q", "--checkpoint", checkpoint, "--keep-checkpoint", "--resume",
            "--samples", "0:16");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RUN(&kit, &said, "--bake", "q", "--bake-look", "camera", "--checkpoint", checkpoint,
            "--resume");
    KIT_ASSERT_SAYS(&said, 1, "cannot be resumed", NULL);
    KIT_RUN(&kit, &said, "--checkpoint", checkpoint, "--resume");
    KIT_ASSERT_SAYS(&said, 1, "cannot be resumed", NULL);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bake_shows_each_pixels_own_place),
        cmocka_unit_test(test_bake_has_the_footprint_of_its_pixels),
        cmocka_unit_test(test_bake_of_a_matte_surface_is_its_albedo),
        cmocka_unit_test(test_bake_of_roughness_is_a_mean),
        cmocka_unit_test(test_bake_of_a_shadow_catcher),
        cmocka_unit_test(test_bake_looks_from_above_from_the_camera_and_at_the_sky),
        cmocka_unit_test(test_bake_has_equal_bits),
        cmocka_unit_test(test_bake_takes_tables),
        cmocka_unit_test(test_bake_leaves_out_what_has_no_area),
        cmocka_unit_test(test_bake_refuses_bad_tables),
        cmocka_unit_test(test_bake_refuses_what_makes_no_sense),
        cmocka_unit_test(test_bake_goes_on_with_its_own_samples_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
