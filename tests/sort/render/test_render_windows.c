/* Rooms whose windows have portals: means as without, less noise, and nothing changes where no portal is seen. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { SIDE = 24, PIXELS = SIDE * SIDE, SAMPLES = 64 };

/* What stands in or beside the window, which is in the wall at x = 2, from 0.5 to 1.5 of y and from -0.5 to 0.5 of z. */
typedef struct Portal {
    double size[2], place[3], turn; /* turn: degrees about its normal */
    bool is_outward;
} Portal;

typedef struct Portals {
    const char *name;
    Portal portals[2];
} Portals;

static const Portals none = {.name = "none"};
static const Portals window = {"window", {{{1, 1}, {2, 1, 0}, 0, false}}};
static const Portals overlapping = {
    "two that overlap", {{{1, 1}, {2.02, 1, 0}, 0, false}, {{0.5, 0.8}, {2, 1.1, 0.2}, 10, false}}};
static const Portals in_panes = {.name = "one a pane"};
static const Portals partial = {"over a part", {{{1.2, 0.8}, {2, 1, 0}, 0, false}}};
static const Portals others[] = {
    {"turned backward", {{{1, 1}, {2, 1, 0}, 0, true}}},
    {"one of no use beside it", {{{1, 1}, {2, 1, 0}, 0, false}, {{2, 2}, {-3, 1, 1}, 0, true}}},
    {"turned and large", {{{2, 2.5}, {2.1, 1, 0}, 30, false}}},
    {"in the room", {{{1, 1}, {0.5, 1, 0}, 0, false}}},
};

static const char even[] = "{\"color\": [1, 1, 1]}";
static const char sunny[] = "{\"image\": {\"file\": \"textures/sun.png\"}, \"strength\": 20}";
static const char cloudy[] = "{\"image\": {\"file\": \"textures/cloud.png\"}, \"strength\": 1}";

static const char *name_of(const char *sky)
{
    return sky == even ? "even" : sky == sunny ? "sunny" : "cloudy";
}

/* Where a room stands. */
typedef struct Place {
    double scale, x, z;
} Place;

static const Place here = {1, 0, 0};

/* Returns the next portal, if there is one. `in_panes` has one in each of 12 x 12 parts of the window, a little larger than these. */
static bool next_portal(const Portals *portals, int i, Portal *out)
{
    const int n = 12;
    if (portals != &in_panes) {
        *out = portals->portals[i < 2 ? i : 0];
        return i < 2 && out->size[0] > 0;
    }
    double pane = 1.1 / n, y = i / n - 0.5 * (n - 1), z = i % n - 0.5 * (n - 1);
    *out = (Portal){.size = {pane, pane}, .place = {2, 1 + pane * y, pane * z}};
    return i < n * n;
}

static void add_portals(StrBuf *json, const Portals *portals, Place at)
{
    Portal one;
    for (int i = 0; next_portal(portals, i, &one); ++i) {
        const Portal *p = &one;
        /* Light comes in along -z, so z points outward; x and y turn about it. */
        double z = p->is_outward ? -1 : 1, angle = p->turn * 3.14159265358979 / 180;
        double c = cos(angle), s = sin(angle);
        strbuf_printf(json,
                      "%s{\"name\": \"%d\", \"size\": [%.9g, %.9g], "
                      "\"transform\": [0, 0, %.9g, %.9g, %.9g, %.9g, 0, %.9g, %.9g, %.9g, 0, %.9g, "
                      "0, 0, 0, 1]}",
                      i ? ", " : "", i, p->size[0] * at.scale, p->size[1] * at.scale, z,
                      p->place[0] * at.scale + at.x, s, c, p->place[1] * at.scale, -z * c, z * s,
                      p->place[2] * at.scale + at.z);
    }
}

static void add_quads(const Kit *kit, StrBuf *meshes, const char *name, uint32_t count,
                      const float (*corners)[3], Place at)
{
    float placed[4 * 8][3];
    for (uint32_t i = 0; i < 4 * count; ++i) {
        placed[i][0] = (float)((double)corners[i][0] * at.scale + at.x);
        placed[i][1] = (float)((double)corners[i][1] * at.scale);
        placed[i][2] = (float)((double)corners[i][2] * at.scale + at.z);
    }
    kit_add_quads(kit, meshes, name, count, placed);
}

/* A dim sky with something bright in it that shines into the window. */
static void write_sky(const Kit *kit, const char *name, const uint32_t x[2], const uint32_t y[2])
{
    enum { WIDTH = 256, HEIGHT = 128 };
    static uint8_t rgb[3 * WIDTH * HEIGHT];
    memset(rgb, 20, sizeof rgb);
    for (uint32_t row = y[0]; row < y[1]; ++row)
        memset(&rgb[3 * (row * WIDTH + x[0])], 255, 3 * (size_t)(x[1] - x[0]));
    kit_write_png(kit, name, WIDTH, HEIGHT, rgb);
}

/* A sun 6 degrees wide, and a cloud of 45 degrees. */
static void write_skies(const Kit *kit)
{
    write_sky(kit, "textures/sun.png", (const uint32_t[]){62, 66}, (const uint32_t[]){50, 54});
    write_sky(kit, "textures/cloud.png", (const uint32_t[]){48, 80}, (const uint32_t[]){34, 66});
}

static void write_room(const Kit *kit, const Portals *portals, const char *sky, Place at,
                       const char *lights)
{
    static const float walls[20][3] = {
        {-2, 0, 2},  {2, 0, 2},   {2, 0, -2},  {-2, 0, -2}, /* floor */
        {-2, 2, -2}, {2, 2, -2},  {2, 2, 2},   {-2, 2, 2},  /* ceiling */
        {-2, 0, -2}, {2, 0, -2},  {2, 2, -2},  {-2, 2, -2}, /* the others */
        {2, 0, 2},   {-2, 0, 2},  {-2, 2, 2},  {2, 2, 2},
        {-2, 0, 2},  {-2, 0, -2}, {-2, 2, -2}, {-2, 2, 2}};
    static const float around[16][3] = {
        {2, 0, -2},      {2, 0, 2},        {2, 0.5f, 2},     {2, 0.5f, -2},
        {2, 1.5f, -2},   {2, 1.5f, 2},     {2, 2, 2},        {2, 2, -2},
        {2, 0.5f, -2},   {2, 0.5f, -0.5f}, {2, 1.5f, -0.5f}, {2, 1.5f, -2},
        {2, 0.5f, 0.5f}, {2, 0.5f, 2},     {2, 1.5f, 2},     {2, 1.5f, 0.5f}};
    StrBuf meshes = {0}, json = {0};
    kit_write_matte(kit);
    if (sky != even)
        write_skies(kit);
    add_quads(kit, &meshes, "walls", 5, walls, at);
    add_quads(kit, &meshes, "around", 4, around, at);
    add_portals(&json, portals, at);
    KitScene scene = {.width = SIDE,
                      .height = SIDE,
                      .samples = SAMPLES,
                      .max_depth = 3,
                      .eye = {(float)(-1.8 * at.scale + at.x), (float)at.scale, (float)at.z},
                      .target = {(float)(0.5 * at.scale + at.x), (float)(0.6 * at.scale),
                                 (float)(0.3 * at.scale + at.z)},
                      .fov_y_degrees = 70,
                      .meshes = strbuf_text(&meshes),
                      .instances =
                          "{\"name\": \"w\", \"mesh\": \"walls\", \"materials\": [\"m\"]}, "
                          "{\"name\": \"a\", \"mesh\": \"around\", \"materials\": [\"m\"]}",
                      .materials = "{\"name\": \"m\", \"shader\": \"shaders/matte.ssl\"}",
                      .lights = lights,
                      .environment = sky,
                      .portals = portals != &none ? strbuf_text(&json) : NULL};
    kit_write_scene(kit, &scene);
    strbuf_free(&meshes);
    strbuf_free(&json);
}

/* Means of all pixels: of one channel, and of the variance of its pixels' means. */
typedef struct Noise {
    double mean, variance;
} Noise;

static Noise noise_of(const Kit *kit, WaveStrategy strategy, uint32_t seed)
{
    RenderOptions options = kit_options(kit);
    uint32_t count;
    Noise noise = {0};
    options.strategy = strategy;
    options.sampler = SAMPLER_INDEPENDENT;
    options.aovs = FILM_AOV_BIT(FILM_AOV_VARIANCE);
    options.filter = PIXEL_FILTER_BOX;
    SETTING_SET(options.settings, seed, seed);
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count), *variance = kit_aov(render, FILM_AOV_VARIANCE);
    for (uint32_t i = 0; i < count; ++i) {
        noise.mean += (double)rgba[4 * i + 1] / count;
        noise.variance += (double)variance[i] / count;
    }
    mem_free(rgba);
    mem_free(variance);
    render_destroy(render);
    return noise;
}

static Noise noise_of_room(const Portals *portals, const char *sky, Place at, WaveStrategy strategy,
                           uint32_t seed)
{
    Kit kit;
    kit_begin(&kit);
    write_room(&kit, portals, sky, at, NULL);
    Noise noise = noise_of(&kit, strategy, seed);
    kit_end(&kit);
    return noise;
}

/* Fails unless two means are equal, but for noise. */
static void assert_equal(Noise a, Noise b, const char *what, const char *sky)
{
    double error = sqrt((a.variance + b.variance) / PIXELS);
    print_message("%s, %s: %.5g and %.5g +- %.2g, variance %.3g\n", what, name_of(sky), a.mean,
                  b.mean, error, b.variance / a.variance);
    assert_true(a.mean > 0.0 && error < 0.05 * a.mean);
    if (fabs(a.mean - b.mean) > 4.9 * error)
        fail_msg("%s: %g and %g +- %g", what, a.mean, b.mean, error);
}

static void test_windows_keep_means(void **state)
{
    (void)state;
    const char *const skies[] = {even, sunny};
    for (uint32_t k = 0; k < 2; ++k) {
        Noise without = noise_of_room(&none, skies[k], here, WAVE_STRATEGY_MIS, 1);
        assert_equal(without, noise_of_room(&window, skies[k], here, WAVE_STRATEGY_MIS, 2),
                     window.name, skies[k]);
        assert_equal(without, noise_of_room(&overlapping, skies[k], here, WAVE_STRATEGY_MIS, 3),
                     overlapping.name, skies[k]);
        assert_equal(without, noise_of_room(&partial, skies[k], here, WAVE_STRATEGY_MIS, 10),
                     partial.name, skies[k]);
        assert_equal(without, noise_of_room(&in_panes, skies[k], here, WAVE_STRATEGY_MIS, 11),
                     in_panes.name, skies[k]);
        for (uint32_t i = 0; i < SORT_COUNT_OF(others); ++i)
            assert_equal(without,
                         noise_of_room(&others[i], skies[k], here, WAVE_STRATEGY_MIS, 4 + i),
                         others[i].name, skies[k]);
    }
}

static void test_windows_keep_means_anywhere(void **state)
{
    (void)state;
    const Place places[] = {{1e-3, 0, 0}, {1e3, 0, 0}, {1, 1e4, -1e4}};
    Noise without = noise_of_room(&none, sunny, here, WAVE_STRATEGY_MIS, 1);
    for (uint32_t i = 0; i < SORT_COUNT_OF(places); ++i)
        assert_equal(without,
                     noise_of_room(&overlapping, sunny, places[i], WAVE_STRATEGY_MIS, 20 + i),
                     "elsewhere", sunny);
}

/* A sun as small as that of `sunny` is found by scattering so seldom that its mean says nothing; a cloud is found. A portal over a
 * part of the window leaves the rest to the table. */
static void test_windows_strategies_agree(void **state)
{
    (void)state;
    const char *const skies[] = {even, cloudy, sunny};
    for (uint32_t k = 0; k < 3; ++k) {
        Noise both = noise_of_room(&overlapping, skies[k], here, WAVE_STRATEGY_MIS, 31);
        assert_equal(both, noise_of_room(&overlapping, skies[k], here, WAVE_STRATEGY_LIGHTS, 32),
                     "light sampling", skies[k]);
        assert_equal(both, noise_of_room(&partial, skies[k], here, WAVE_STRATEGY_LIGHTS, 33),
                     "light sampling, over a part", skies[k]);
        assert_equal(both, noise_of_room(&in_panes, skies[k], here, WAVE_STRATEGY_LIGHTS, 35),
                     "light sampling, one a pane", skies[k]);
        if (skies[k] != sunny)
            assert_equal(both, noise_of_room(&none, skies[k], here, WAVE_STRATEGY_BSDFS, 34),
                         "scattering", skies[k]);
    }
}

/* Variances beside those without a portal. The bounds are what eight seeds gave, and five of the standard errors of four: 0.651 and
 * 0.848 for the window, 0.781 and 0.931 for a part of it. With fifteen of sixteen samples through portals under a sun, the second
 * and the last would be 1.12 and 1.53. */
static void test_windows_have_less_noise(void **state)
{
    (void)state;
    enum { SEEDS = 4 };
    static const struct {
        const Portals *portals;
        const char *sky;
        double at_most;
    } cases[] = {{&window, even, 0.71},
                 {&window, sunny, 0.89},
                 {&in_panes, even, 0.72},
                 {&partial, even, 0.83},
                 {&partial, sunny, 0.98}};
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        double sum[2] = {0};
        for (uint32_t k = 0; k < SEEDS; ++k) {
            const char *sky = cases[i].sky;
            sum[0] += noise_of_room(&none, sky, here, WAVE_STRATEGY_MIS, 41 + k).variance;
            sum[1] +=
                noise_of_room(cases[i].portals, sky, here, WAVE_STRATEGY_MIS, 61 + k).variance;
        }
        double ratio = sum[1] / sum[0];
        print_message("%s, %s: %.3f of the variance\n", cases[i].portals->name,
                      name_of(cases[i].sky), ratio);
        if (ratio > cases[i].at_most)
            fail_msg("%s, %s: %g of the variance", cases[i].portals->name, name_of(cases[i].sky),
                     ratio);
    }
}

/* A room with a lamp keeps its mean, too: the portal's claim on samples depends on the point. */
static void test_windows_beside_a_lamp(void **state)
{
    (void)state;
    static const char lamp[] = "{\"name\": \"l\", \"type\": \"sphere\", \"radiance\": [3, 3, 3], "
                               "\"radius_m\": 0.1, \"transform\": [1,0,0,0, 0,1,0,1.5, 0,0,1,1, "
                               "0,0,0,1]}";
    Noise noise[2];
    for (uint32_t k = 0; k < 2; ++k) {
        Kit kit;
        kit_begin(&kit);
        write_room(&kit, k ? &window : &none, even, here, lamp);
        noise[k] = noise_of(&kit, WAVE_STRATEGY_MIS, 51 + k);
        kit_end(&kit);
    }
    assert_equal(noise[0], noise[1], "with a lamp", even);
    if (noise[1].variance > noise[0].variance)
        fail_msg("variance %g, without portal %g", noise[1].variance, noise[0].variance);
}

#define PORTAL(size, rows)                                                                         \
    "{\"name\": \"p\", \"size\": [" size "], \"transform\": [" rows ", 0,0,0,1]}"

/* A plane in the open. portals: JSON or NULL. Returns the bits, and the mean of the picture. */
static Hash128 bits_of_plane(const char *portals, Noise *out)
{
    static const float corners[4][3] = {{-4, 0, 4}, {4, 0, 4}, {4, 0, -4}, {-4, 0, -4}};
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/white.ssl",
                   "shader white(out closure surface)\n{\n"
                   "    surface = make_closure<Lambert>(color(1), global_value<normal>);\n}\n");
    kit_add_quad(&kit, &meshes, "q", corners);
    KitScene scene = {.width = SIDE,
                      .height = SIDE,
                      .samples = SAMPLES,
                      .max_depth = 2,
                      .eye = {0, 3, 0.01f},
                      .fov_y_degrees = 20,
                      .meshes = strbuf_text(&meshes),
                      .instances = "{\"name\": \"q\", \"mesh\": \"q\", \"materials\": [\"m\"]}",
                      .materials = "{\"name\": \"m\", \"shader\": \"shaders/white.ssl\"}",
                      .environment = even,
                      .portals = portals};
    kit_write_scene(&kit, &scene);
    RenderOptions options = kit_options(&kit);
    Hash128 bits = kit_render_bits(&kit, &options, NULL);
    *out = noise_of(&kit, WAVE_STRATEGY_MIS, 61);
    strbuf_free(&meshes);
    kit_end(&kit);
    return bits;
}

/* A white plane under a sky of radiance 1 has radiance 1, whatever portal is before it: huge, tiny, in the plane, at the camera.
 * Where it is seen from behind, or below the horizon, all bits stay. */
static void test_windows_in_the_open(void **state)
{
    (void)state;
    Noise noise;
    Hash128 without = bits_of_plane(NULL, &noise);
    const char *const unseen[] = {
        /* below the plane, and the light goes down; the light goes up; above it, and the light goes up */
        PORTAL("2, 2", "1,0,0,0, 0,0,1,-1, 0,-1,0,0"),
        PORTAL("2, 2", "1,0,0,0, 0,0,-1,-1, 0,1,0,0"),
        PORTAL("2, 2", "1,0,0,0, 0,0,-1,1, 0,1,0,0")};
    for (uint32_t i = 0; i < SORT_COUNT_OF(unseen); ++i) {
        Hash128 bits = bits_of_plane(unseen[i], &noise);
        assert_memory_equal(&without, &bits, sizeof without);
    }
    const char *const seen[] = {PORTAL("1, 1", "1,0,0,0, 0,0,1,1, 0,-1,0,0"),
                                PORTAL("1e9, 1e9", "1,0,0,0, 0,0,1,1, 0,-1,0,0"),
                                PORTAL("1e-6, 1e-5", "1,0,0,0, 0,0,1,1, 0,-1,0,0"),
                                PORTAL("1e-30, 1e9", "1,0,0,0, 0,0,1,1, 0,-1,0,0"),
                                PORTAL("1, 1", "1,0,0,0, 0,0,1,0, 0,-1,0,0"),
                                PORTAL("1, 1", "1,0,0,0, 0,0,1,1e-6, 0,-1,0,0"),
                                PORTAL("0.1, 0.1", "1,0,0,0, 0,0,1,2.999, 0,-1,0,0")};
    for (uint32_t i = 0; i < SORT_COUNT_OF(seen); ++i) {
        (void)bits_of_plane(seen[i], &noise);
        double error = sqrt(noise.variance / PIXELS);
        print_message("%s: %.7g +- %.2g\n", seen[i], noise.mean, error);
        if (!(fabs(noise.mean - 1.0) <= 4.9 * error + 1e-5 && error < 0.01))
            fail_msg("radiance %.7g +- %g", noise.mean, error);
    }
}

static void test_windows_have_equal_bits(void **state)
{
    (void)state;
    const Portals *const both[] = {&overlapping, &in_panes};
    for (uint32_t i = 0; i < SORT_COUNT_OF(both); ++i) {
        Kit kit;
        kit_begin(&kit);
        write_room(&kit, both[i], sunny, here, NULL);
        RenderOptions options = kit_options(&kit);
        SETTING_SET(options.settings, samples, 8);
        kit_assert_equal_bits(&kit, &options);
        kit_end(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_keep_means),
        cmocka_unit_test(test_windows_keep_means_anywhere),
        cmocka_unit_test(test_windows_strategies_agree),
        cmocka_unit_test(test_windows_have_less_noise),
        cmocka_unit_test(test_windows_beside_a_lamp),
        cmocka_unit_test(test_windows_in_the_open),
        cmocka_unit_test(test_windows_have_equal_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
