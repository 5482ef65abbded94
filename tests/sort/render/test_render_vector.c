/* The layer vector against projections in double precision: objects that move, turn, grow and deform, cameras that move, turn and
 * zoom; motion over the shutter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "tests/sort/render/render_kit.h"

enum { WIDTH = 24, HEIGHT = 16, PIXELS = WIDTH * HEIGHT };
enum { PREVIOUS, HERE, NEXT, FRAMES };
static const char *const names[FRAMES] = {"previous", "transform", "next"};

/* A wall in its plane z = 0, whose points (x, y) are at (x + shear y, y, bend x) in its own space. */
typedef struct Wall {
    double place[3], turn_z_deg, turn_y_deg, scale, shear, bend;
} Wall;

typedef struct Camera {
    double place[3], turn_y_deg, fov_deg;
} Camera;

typedef struct Case {
    const char *what;
    bool has_wall, has_shape, has_camera; /* which of them the package has at the other frames */
    Wall wall[FRAMES];
    Camera camera[FRAMES];
} Case;

static double radians(double degrees)
{
    return degrees * 3.14159265358979323846 / 180.0;
}

/* The affine map of the wall to the world: scale, turn about y, turn about z, place. Rows of 4. */
static void wall_matrix(const Wall *w, const double move[3], double m[12])
{
    double cy = cos(radians(w->turn_y_deg)), sy = sin(radians(w->turn_y_deg));
    double cz = cos(radians(w->turn_z_deg)), sz = sin(radians(w->turn_z_deg)), s = w->scale;
    const double rows[12] = {s * cz * cy, -s * sz, s * cz * sy, w->place[0] + move[0],
                             s * sz * cy, s * cz,  s * sz * sy, w->place[1] + move[1],
                             -s * sy,     0,       s * cy,      w->place[2] + move[2]};
    memcpy(m, rows, sizeof rows);
}

static void camera_matrix(const Camera *c, const double move[3], double m[12])
{
    double co = cos(radians(c->turn_y_deg)), si = sin(radians(c->turn_y_deg));
    const double rows[12] = {co,  0, si, c->place[0] + move[0], 0, 1, 0, c->place[1] + move[1],
                             -si, 0, co, c->place[2] + move[2]};
    memcpy(m, rows, sizeof rows);
}

static void shape_point(const Wall *w, double x, double y, double out[3])
{
    out[0] = x + w->shear * y, out[1] = y, out[2] = w->bend * x;
}

static void add_matrix(StrBuf *json, const double m[12])
{
    strbuf_printf(json, "[");
    for (int i = 0; i < 12; ++i)
        strbuf_printf(json, "%.9g, ", m[i]);
    strbuf_printf(json, "0, 0, 0, 1]");
}

/* Returns the film position of a point, y down. */
static void project(const Camera *c, const double move[3], const double p[3], double film[2])
{
    double m[12], d[3], local[3] = {0};
    camera_matrix(c, move, m);
    for (int k = 0; k < 3; ++k)
        d[k] = p[k] - m[4 * k + 3];
    for (int k = 0; k < 3; ++k)
        for (int r = 0; r < 3; ++r)
            local[k] += m[4 * r + k] * d[r];
    double focal_px = 0.5 * HEIGHT / tan(radians(c->fov_deg) / 2);
    film[0] = WIDTH / 2.0 + focal_px * local[0] / -local[2];
    film[1] = HEIGHT / 2.0 - focal_px * local[1] / -local[2];
}

static void write_case(const Kit *kit, const Case *c, const double move[3])
{
    static const double corners[4][2] = {{-9, -9}, {9, -9}, {9, 9}, {-9, 9}};
    static const uint32_t indices[] = {0, 1, 2, 0, 2, 3};
    float positions[FRAMES][4][3];
    double m[12];
    StrBuf mesh = {0}, instance = {0}, camera = {0}, json = {0};
    for (int f = 0; f < FRAMES; ++f)
        for (int k = 0; k < 4; ++k) {
            double p[3];
            shape_point(&c->wall[c->has_shape ? f : HERE], corners[k][0], corners[k][1], p);
            for (int a = 0; a < 3; ++a)
                positions[f][k][a] = (float)p[a];
        }
    kit_write(kit, "meshes/wall.bin", positions, sizeof positions);
    kit_write(kit, "meshes/indices.bin", indices, sizeof indices);
    for (int f = 0; f < FRAMES; ++f) {
        if (f == HERE || c->has_shape)
            strbuf_printf(&mesh,
                          ", \"%s\": {\"file\": \"meshes/wall.bin\", \"offset_bytes\": %d, "
                          "\"type\": \"float32\", \"components\": 3, \"count\": 4}",
                          f == HERE ? "positions" : names[f], 48 * f);
        if (f == HERE || c->has_wall) {
            wall_matrix(&c->wall[f], move, m);
            strbuf_printf(&instance, ", \"%s\": ", names[f]);
            add_matrix(&instance, m);
        }
        if (f != HERE && !c->has_camera)
            continue;
        camera_matrix(&c->camera[f], move, m);
        strbuf_printf(&camera, ", \"%s\": %s", names[f], f == HERE ? "" : "{\"transform\": ");
        add_matrix(&camera, m);
        strbuf_printf(&camera, ", \"fov_y_degrees\": %.9g%s", c->camera[f].fov_deg,
                      f == HERE ? "" : "}");
    }
    strbuf_printf(
        &json,
        "{\"sort_package\": 1, \"settings\": {\"resolution\": [%d, %d], \"samples\": 2, "
        "\"max_depth\": 2},\n\"cameras\": [{\"name\": \"c\"%s}],\n\"meshes\": [{\"name\": "
        "\"wall\", \"vertex_count\": 4, \"triangle_count\": 2, \"indices\": {\"file\": "
        "\"meshes/indices.bin\", \"type\": \"uint32\", \"components\": 3, \"count\": "
        "2}%s}],\n\"instances\": [{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": "
        "[\"m\"]%s}],\n\"materials\": [{\"name\": \"m\", \"shader\": "
        "\"unit:gltf_pbr\"}], \"environment\": {\"color\": [1, 1, 1]}}",
        WIDTH, HEIGHT, strbuf_text(&camera), strbuf_text(&mesh), strbuf_text(&instance));
    kit_write_text(kit, "scene.json", strbuf_text(&json));
    StrBuf *const all[] = {&mesh, &instance, &camera, &json};
    for (size_t i = 0; i < SORT_COUNT_OF(all); ++i)
        strbuf_free(all[i]);
}

/* Every sample in the middle of its pixel, to a two-hundredth of a pixel. */
static RenderOptions point_options(const Kit *kit)
{
    RenderOptions options = kit_options(kit);
    options.filter = PIXEL_FILTER_BOX;
    options.filter_width_px = 0.01f;
    options.aovs = FILM_AOV_BIT(FILM_AOV_VECTOR);
    return options;
}

/* The wall's point that is seen in the middle of a pixel, in its own coordinates; the wall's plane here is that of z = 0. */
static void find_point(const Case *c, uint32_t x, uint32_t y, double *out_x, double *out_y)
{
    const Wall *w = &c->wall[HERE];
    const Camera *camera = &c->camera[HERE];
    double pixel = 2 * tan(radians(camera->fov_deg) / 2) / HEIGHT;
    double depth = camera->place[2] - w->place[2];
    double dx = camera->place[0] + (x + 0.5 - WIDTH / 2.0) * pixel * depth - w->place[0];
    double dy = camera->place[1] - (y + 0.5 - HEIGHT / 2.0) * pixel * depth - w->place[1];
    double co = cos(radians(w->turn_z_deg)), si = sin(radians(w->turn_z_deg));
    *out_y = (co * dy - si * dx) / w->scale;
    *out_x = (co * dx + si * dy) / w->scale - w->shear * *out_y;
}

static void check_case(const Case *c, const double move[3], double tolerance)
{
    Kit kit;
    kit_begin(&kit);
    write_case(&kit, c, move);
    RenderOptions options = point_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *values = kit_aov(render, FILM_AOV_VECTOR);
    for (uint32_t i = 0; i < PIXELS; ++i) {
        double film[FRAMES][2], x, y;
        find_point(c, i % WIDTH, i / WIDTH, &x, &y);
        for (int f = 0; f < FRAMES; ++f) {
            double local[3], world[3], m[12];
            shape_point(&c->wall[c->has_shape ? f : HERE], x, y, local);
            wall_matrix(&c->wall[c->has_wall ? f : HERE], move, m);
            for (int k = 0; k < 3; ++k)
                world[k] = m[4 * k] * local[0] + m[4 * k + 1] * local[1] + m[4 * k + 2] * local[2] +
                           m[4 * k + 3];
            project(&c->camera[c->has_camera ? f : HERE], move, world, film[f]);
        }
        const double expected[4] = {film[PREVIOUS][0] - film[HERE][0],
                                    film[HERE][1] - film[PREVIOUS][1],
                                    film[HERE][0] - film[NEXT][0], film[NEXT][1] - film[HERE][1]};
        for (int k = 0; k < 4; ++k)
            if (!(fabs((double)values[4 * i + k] - expected[k]) <=
                  tolerance * (1 + fabs(expected[k]))))
                fail_msg("%s, pixel %u, %c: %g instead of %g", c->what, i, "XYZW"[k],
                         (double)values[4 * i + k], expected[k]);
    }
    mem_free(values);
    render_destroy(render);
    kit_end(&kit);
}

#define WALL_HERE   {{0.25, -0.5, -1}, 30, 0, 0.75, 0, 0}
#define CAMERA_HERE {{0.5, 0.25, 4}, 0, 50}
static const Case cases[] = {
    {"moved",
     true,
     false,
     false,
     {{{0.5, -0.25, -1.5}, 30, 0, 0.75, 0, 0}, WALL_HERE, {{-0.5, -0.5, 0.5}, 30, 0, 0.75, 0, 0}},
     {CAMERA_HERE, CAMERA_HERE, CAMERA_HERE}},
    {"turned in its plane, growing",
     true,
     false,
     false,
     {{{0.25, -0.5, -1}, 10, 0, 0.5, 0, 0}, WALL_HERE, {{0.25, -0.5, -1}, 45, 0, 1, 0, 0}},
     {CAMERA_HERE, CAMERA_HERE, CAMERA_HERE}},
    {"turned out of its plane",
     true,
     false,
     false,
     {{{0.25, -0.5, -1}, 30, 12, 0.75, 0, 0}, WALL_HERE, {{0.25, -0.5, -1}, 30, -6, 0.75, 0, 0}},
     {CAMERA_HERE, CAMERA_HERE, CAMERA_HERE}},
    {"deformed",
     false,
     true,
     false,
     {{{0.25, -0.5, -1}, 30, 0, 0.75, 0.25, 0},
      WALL_HERE,
      {{0.25, -0.5, -1}, 30, 0, 0.75, 0, 0.125}},
     {CAMERA_HERE, CAMERA_HERE, CAMERA_HERE}},
    {"a camera that moves",
     false,
     false,
     true,
     {WALL_HERE, WALL_HERE, WALL_HERE},
     {{{0.75, 0, 5}, 0, 50}, CAMERA_HERE, {{0.5, 0.5, 3.5}, 0, 50}}},
    {"a camera that turns and zooms",
     false,
     false,
     true,
     {WALL_HERE, WALL_HERE, WALL_HERE},
     {{{0.5, 0.25, 4}, 8, 60}, CAMERA_HERE, {{0.5, 0.25, 4}, -4, 40}}},
    {"everything",
     true,
     true,
     true,
     {{{0.5, -0.25, -1.5}, 20, 5, 0.7, 0.25, 0.125},
      WALL_HERE,
      {{0, -0.5, -1}, 35, -3, 0.8, -0.1, -0.05}},
     {{{0.75, 0, 5}, 8, 60}, CAMERA_HERE, {{0.5, 0.5, 3.5}, -4, 40}}},
};

static void test_vector_is_the_difference_of_projections(void **state)
{
    (void)state;
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i)
        check_case(&cases[i], (const double[]){0, 0, 0}, 0.004);
    /* Single precision is 0.001 m there, and a pixel 0.3 m. */
    check_case(&cases[SORT_COUNT_OF(cases) - 1], (const double[]){8192, -4096, 16384}, 0.03);
}

/* What nobody moves has exactly no motion, and neither has a place where nothing is. */
static void test_vector_of_what_stands_still(void **state)
{
    (void)state;
    Case still = cases[0];
    still.has_wall = false;
    still.wall[HERE].scale = 0.15; /* it does not fill the picture */
    still.wall[HERE].place[2] = 0.375;
    Kit kit;
    kit_begin(&kit);
    write_case(&kit, &still, (const double[]){7, 5, 3});
    RenderOptions options = point_options(&kit);
    Hash128 bits = kit_render_bits(&kit, &options, NULL);
    Render *render = kit_render(&kit, &options);
    float *values = kit_aov(render, FILM_AOV_VECTOR);
    for (uint32_t i = 0; i < 4 * PIXELS; ++i)
        assert_true(values[i] == 0.0f);
    mem_free(values);
    render_destroy(render);
    /* The picture has the same bits wherever things were. */
    still.has_wall = still.has_shape = still.has_camera = true;
    write_case(&kit, &still, (const double[]){7, 5, 3});
    assert_true(hash128_equal(kit_render_bits(&kit, &options, NULL), bits));
    options.aovs = 0;
    assert_true(hash128_equal(kit_render_bits(&kit, &options, NULL), bits));
    kit_end(&kit);
}

/* Pixels at the edge of a wall that moves by a whole have its motion whole, though it covers them in part. A camera that does not see
 * the wall in the next frame, for it is behind it, tells nothing of that frame. */
static void test_vector_at_edges_and_behind(void **state)
{
    (void)state;
    Case moving = cases[0];
    for (int f = 0; f < FRAMES; ++f)
        moving.wall[f] = (Wall){{0.05 * f, 0, 0}, 10, 0, 0.1, 0, 0};
    moving.wall[NEXT].place[2] = 6;
    Kit kit;
    kit_begin(&kit);
    write_case(&kit, &moving, (const double[]){0, 0, 0});
    RenderOptions options = kit_options(&kit);
    SETTING_SET(options.settings, samples, 32);
    options.aovs = FILM_AOV_BIT(FILM_AOV_VECTOR);
    Render *render = kit_render(&kit, &options);
    float *values = kit_aov(render, FILM_AOV_VECTOR);
    uint32_t some = 0, none = 0;
    double step = -0.05 * HEIGHT / (2 * tan(radians(50) / 2)) / 4;
    for (uint32_t i = 0; i < PIXELS; ++i) {
        const float *v = &values[4 * i];
        none += v[0] == 0.0f;
        some += v[0] != 0.0f;
        assert_true(v[0] == 0.0f || fabs((double)v[0] - step) < 1e-4);
        assert_true(fabsf(v[1]) < 1e-4f && v[2] == 0.0f && v[3] == 0.0f);
    }
    assert_true(none > PIXELS / 4 && some > PIXELS / 8);
    mem_free(values);
    render_destroy(render);
    kit_end(&kit);
}

/* Without other frames the ends of a motion count: at a time t of the shutter the wall has gone t of its way, and 1 - t is
 * before it. Both parts make the whole in every sample; halves of it are their means. */
static void test_vector_over_the_shutter(void **state)
{
    (void)state;
    const double way_px = 5;
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_add_quad(&kit, &meshes, "quad",
                 (const float[4][3]){{-99, -99, 0}, {99, -99, 0}, {99, 99, 0}, {-99, 99, 0}});
    kit_write_scene(&kit,
                    &(KitScene){.width = WIDTH,
                                .height = HEIGHT,
                                .samples = 64,
                                .max_depth = 2,
                                .eye = {0, 0, 5},
                                .fov_y_degrees = 115.989234f, /* a metre a pixel */
                                .meshes = strbuf_text(&meshes),
                                .instances =
                                    "{\"name\": \"q\", \"mesh\": \"quad\", \"materials\": [\"m\"], "
                                    "\"motion\": [[1,0,0,-2, 0,1,0,0, 0,0,1,0, 0,0,0,1], "
                                    "[1,0,0,3, 0,1,0,0, 0,0,1,0, 0,0,0,1]]}",
                                .materials = "{\"name\": \"m\", \"shader\": \"unit:gltf_pbr\"}"});
    RenderOptions options = point_options(&kit);
    Render *render = kit_render(&kit, &options);
    float *values = kit_aov(render, FILM_AOV_VECTOR);
    double mean = 0;
    for (uint32_t i = 0; i < PIXELS; ++i) {
        const float *v = &values[4 * i];
        assert_true(fabs((double)v[0] + (double)v[2] + way_px) < 1e-4);
        assert_true(fabsf(v[1]) < 1e-4f && fabsf(v[3]) < 1e-4f);
        mean += (double)v[0] / PIXELS;
    }
    /* The 24,576 times are evenly distributed: 5 standard errors of their mean. */
    assert_true(fabs(mean + way_px / 2) < 5 * way_px / sqrt(12.0 * 64 * PIXELS));
    mem_free(values);
    render_destroy(render);
    strbuf_free(&meshes);
    kit_end(&kit);
}

static void test_vector_takes_both_frames(void **state)
{
    (void)state;
    static const struct {
        const char *instance, *camera, *says;
    } bad[] = {
        {", \"previous\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]", "",
         "there is no 'next': give both or none"},
        {"",
         ", \"next\": {\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1], \"fov_y_degrees\": 4}",
         "there is no 'previous': give both or none"},
        {", \"previous\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,1,1], \"next\": [1,0,0,0, 0,1,0,0, "
         "0,0,1,0, 0,0,0,1]",
         "", "the last row must be 0 0 0 1"},
        {"", ", \"previous\": {\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}, \"next\": {}",
         "cameras[0].previous: field 'fov_y_degrees' is missing"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(bad); ++i) {
        Kit kit;
        KitSaid said;
        StrBuf json = {0};
        kit_begin(&kit);
        write_case(&kit, &cases[0], (const double[]){0, 0, 0});
        strbuf_printf(
            &json,
            "{\"sort_package\": 1, \"cameras\": [{\"name\": \"c\", \"fov_y_degrees\": 40, "
            "\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]%s}], \"meshes\": "
            "[{\"name\": \"wall\", \"vertex_count\": 4, \"triangle_count\": 2, "
            "\"indices\": {\"file\": \"meshes/indices.bin\", \"type\": \"uint32\", "
            "\"components\": 3, \"count\": 2}, \"positions\": {\"file\": "
            "\"meshes/wall.bin\", \"type\": \"float32\", \"components\": 3, \"count\": "
            "4}}], \"instances\": [{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": "
            "[\"m\"]%s}], \"materials\": [{\"name\": \"m\", \"shader\": "
            "\"unit:gltf_pbr\"}]}",
            bad[i].camera, bad[i].instance);
        kit_write_text(&kit, "scene.json", strbuf_text(&json));
        kit_run(&kit, NULL, &said);
        kit_assert_says(&said, 1, (const char *[]){"scene.json", bad[i].says, NULL});
        strbuf_free(&json);
        kit_end(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vector_is_the_difference_of_projections),
        cmocka_unit_test(test_vector_of_what_stands_still),
        cmocka_unit_test(test_vector_at_edges_and_behind),
        cmocka_unit_test(test_vector_over_the_shutter),
        cmocka_unit_test(test_vector_takes_both_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
