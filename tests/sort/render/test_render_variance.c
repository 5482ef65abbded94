/* How much noise there is: multiple importance sampling is near the better of its strategies, and the error falls with
 * the number of samples as it should. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "tests/sort/render/render_kit.h"

enum { WIDTH = 24, HEIGHT = 24, PIXELS = WIDTH * HEIGHT, SAMPLES = 64 };

static const char ssl[] =
    "shader metal(float roughness = 0.4, out closure surface)\n"
    "{\n    surface = make_closure<Conductor>(color(0.9), roughness, global_value<normal>);\n}\n"
    "shader matte(out closure surface)\n"
    "{\n    surface = make_closure<Lambert>(color(0.8), global_value<normal>);\n}\n";

static void write_plate(const Kit *kit, const char *material, const char *lights,
                        const char *environment, float fov_degrees)
{
    StrBuf meshes = {0};
    kit_write_text(kit, "shaders/s.ssl", ssl);
    kit_add_quad(kit, &meshes, "plate",
                 (const float[4][3]){{-4, 0, 4}, {4, 0, 4}, {4, 0, -4}, {-4, 0, -4}});
    kit_write_scene(
        kit,
        &(KitScene){.width = WIDTH,
                    .height = HEIGHT,
                    .samples = 64,
                    .max_depth = 1,
                    .eye = {0, 2, 4},
                    .fov_y_degrees = fov_degrees,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"p\", \"mesh\": \"plate\", \"materials\": [\"m\"]}",
                    .materials = material,
                    .lights = lights,
                    .environment = environment});
    strbuf_free(&meshes);
}

/* Means of all pixels: luminance, and the variance of a pixel's mean. */
typedef struct Noise {
    double mean, variance;
} Noise;

static Noise noise_of(const Kit *kit, WaveStrategy strategy)
{
    RenderOptions options = kit_options(kit);
    options.strategy = strategy;
    options.sampler = SAMPLER_INDEPENDENT;
    SETTING_SET(options.settings, seed, (uint32_t)strategy);
    options.aovs = FILM_AOV_BIT(FILM_AOV_VARIANCE);
    uint32_t count;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count), *variance = kit_aov(render, FILM_AOV_VARIANCE);
    Noise noise = {0};
    for (uint32_t i = 0; i < count; ++i) {
        noise.mean += (double)rgba[4 * i + 1] / count;
        noise.variance += (double)variance[i] / count;
    }
    mem_free(rgba);
    mem_free(variance);
    render_destroy(render);
    return noise;
}

/* Row 20, Veach's plates [Veach1997 fig. 9.2]: spheres of equal power, from a point to a metre, over metal from smooth to
 * rough. The three agree, and the variance of both together is at most that of the better one and a tenth. */
static void test_variance_is_near_the_better_strategy(void **state)
{
    (void)state;
    static const char lights[] =
        "{\"name\": \"a\", \"type\": \"sphere\", \"radiance\": [900, 900, 900], \"radius_m\": "
        "0.0333333, "
        "\"transform\": [1,0,0,-1.5, 0,1,0,2, 0,0,1,-3, 0,0,0,1]}, "
        "{\"name\": \"b\", \"type\": \"sphere\", \"radiance\": [100, 100, 100], \"radius_m\": 0.1, "
        "\"transform\": [1,0,0,-0.5, 0,1,0,2, 0,0,1,-3, 0,0,0,1]}, "
        "{\"name\": \"c\", \"type\": \"sphere\", \"radiance\": [11.111, 11.111, 11.111], "
        "\"radius_m\": 0.3, "
        "\"transform\": [1,0,0,0.5, 0,1,0,2, 0,0,1,-3, 0,0,0,1]}, "
        "{\"name\": \"d\", \"type\": \"sphere\", \"radiance\": [1.2346, 1.2346, 1.2346], "
        "\"radius_m\": 0.9, "
        "\"transform\": [1,0,0,2, 0,1,0,2, 0,0,1,-3, 0,0,0,1]}";
    const double roughness[] = {0.06, 0.12, 0.25, 0.8};
    bool is_light_better[SORT_COUNT_OF(roughness)];
    for (uint32_t k = 0; k < SORT_COUNT_OF(roughness); ++k) {
        Kit kit;
        char material[256];
        kit_begin(&kit);
        snprintf(material, sizeof material,
                 "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"entry\": \"metal\", "
                 "\"parameters\": "
                 "{\"roughness\": %g}}",
                 roughness[k]);
        write_plate(&kit, material, lights, NULL, 40);

        Noise both = noise_of(&kit, WAVE_STRATEGY_MIS),
              light = noise_of(&kit, WAVE_STRATEGY_LIGHTS),
              scatter = noise_of(&kit, WAVE_STRATEGY_BSDFS);
        double least = fmin(light.variance, scatter.variance);
        is_light_better[k] = light.variance < scatter.variance;
        if (both.variance > 1.1 * least)
            fail_msg("roughness %g: variance %g; light sampling %g, scattering %g", roughness[k],
                     both.variance, light.variance, scatter.variance);
        const Noise *others[] = {&light, &scatter};
        for (int i = 0; i < 2; ++i) {
            double error = sqrt((both.variance + others[i]->variance) / PIXELS);
            if (fabs(both.mean - others[i]->mean) > 4.9 * error)
                fail_msg("roughness %g: %g and %g +- %g", roughness[k], both.mean, others[i]->mean,
                         error);
        }
        kit_end(&kit);
    }
    /* Neither is the better one everywhere, or the scene would show nothing. */
    assert_true(!is_light_better[0] && is_light_better[SORT_COUNT_OF(roughness) - 1]);
}

static const char matte[] =
    "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"entry\": \"matte\"}";

/* A matt floor under a point, with and without an open, even sky: scattered rays find the sky without noise, so that it is to add none
 * to the little that the point makes, whose light falls on a pixel unevenly. */
static void test_variance_of_a_lamp_under_an_even_sky(void **state)
{
    (void)state;
    static const char point[] = "{\"name\": \"l\", \"type\": \"point\", \"intensity\": [5, 5, 5], "
                                "\"transform\": [1,0,0,0, 0,1,0,1.5, 0,0,1,0, 0,0,0,1]}";
    Noise noise[2];
    for (int has_sky = 0; has_sky < 2; ++has_sky) {
        Kit kit;
        kit_begin(&kit);
        write_plate(&kit, matte, point, has_sky ? "{\"color\": [0.5, 0.5, 0.5]}" : NULL, 12);
        noise[has_sky] = noise_of(&kit, WAVE_STRATEGY_MIS);
        kit_end(&kit);
    }
    assert_true(noise[1].mean > 1.3 * noise[0].mean); /* the sky is there */
    /* The standard error of the ratio is 1 %. A sky that is chosen once in ten samples adds a ninth of the square of the light. */
    if (noise[1].variance > 1.1 * noise[0].variance)
        fail_msg("variance %g, without the sky %g", noise[1].variance, noise[0].variance);
}

/* clamp: of the light, 0: none. */
static Render *render_with_threshold(const Kit *kit, double threshold, double clamp)
{
    RenderOptions options = kit_options(kit);
    SETTING_SET(options.settings, clamp_direct, (float)clamp);
    options.sampler = SAMPLER_INDEPENDENT;
    options.aovs = FILM_AOV_BIT(FILM_AOV_VARIANCE);
    SETTING_SET(options.settings, light_threshold, (float)threshold);
    return kit_render(kit, &options);
}

/* A matt floor under a point, which every sample finds unblocked. A shadow ray that would bring L, below the threshold T, is traced with the
 * probability L / T and brings T: the mean stays, and the variance of a sample is L T - L^2. Where L is never below T all bits stay. */
static void test_variance_of_a_light_threshold(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    write_plate(&kit, matte,
                "{\"name\": \"l\", \"type\": \"point\", \"intensity\": [5, 5, 5], "
                "\"transform\": [1,0,0,0, 0,1,0,1.5, 0,0,1,0, 0,0,0,1]}",
                NULL, 12);
    Render *plain = render_with_threshold(&kit, 0, 0),
           *bright = render_with_threshold(&kit, 1e-6, 0);
    assert_true(hash128_equal(kit_bits(plain), kit_bits(bright)));
    uint32_t count;
    float *light = kit_pixels(plain, &count);
    for (double threshold = 1; threshold <= 100; threshold *= 10) {
        Render *dim = render_with_threshold(&kit, threshold, 0);
        float *rgba = kit_pixels(dim, &count), *variance = kit_aov(dim, FILM_AOV_VARIANCE);
        double difference = 0, sum = 0, expected = 0;
        for (uint32_t i = 0; i < count; ++i) {
            double l = (double)light[4 * i];
            assert_true(l > 0.1 && l < 1);
            difference += (double)rgba[4 * i] - l;
            sum += (double)variance[i];
            expected += (l * threshold - l * l) / SAMPLES;
        }
        if (fabs(difference) > 4 * sqrt(expected))
            fail_msg("threshold %g: the sum differs by %g, standard error %g", threshold,
                     difference, sqrt(expected));
        if (fabs(sum - expected) > 0.1 * expected)
            fail_msg("threshold %g: variance %g, expected %g", threshold, sum, expected);
        mem_free(rgba);
        mem_free(variance);
        render_destroy(dim);
    }
    /* All light is brighter than this clamp, below which no ray plays. */
    Render *clamped = render_with_threshold(&kit, 0, 0.05),
           *both = render_with_threshold(&kit, 1, 0.05);
    assert_true(hash128_equal(kit_bits(clamped), kit_bits(both)));
    mem_free(light);
    render_destroy(plain);
    render_destroy(bright);
    render_destroy(clamped);
    render_destroy(both);
    kit_end(&kit);
}

/* A point in a closed room, of which paths meet two walls. The two shadow rays of a path play on their own: far below the threshold T the
 * variance of a sample is T times its mean, and more if one number decided over both. */
static void test_variance_of_two_dim_rays(void **state)
{
    (void)state;
    const double threshold = 30;
    enum { MANY = 16 * SAMPLES };
    Kit kit;
    StrBuf meshes = {0};
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/s.ssl", ssl);
    kit_add_sphere(&kit, &meshes, "room", 6.0f, 16);
    kit_write_scene(
        &kit,
        &(KitScene){.width = WIDTH,
                    .height = HEIGHT,
                    .samples = MANY,
                    .max_depth = 2,
                    .eye = {0, 0, 4},
                    .fov_y_degrees = 50,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"r\", \"mesh\": \"room\", \"materials\": [\"m\"]}",
                    .materials = matte,
                    .lights = "{\"name\": \"l\", \"type\": \"point\", \"intensity\": [9, 9, 9], "
                              "\"transform\": [1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]}"});
    uint32_t count;
    Render *plain = render_with_threshold(&kit, 0, 0),
           *dim = render_with_threshold(&kit, threshold, 0);
    float *light = kit_pixels(plain, &count), *variance = kit_aov(dim, FILM_AOV_VARIANCE);
    double sum = 0, expected = 0;
    for (uint32_t i = 0; i < count; ++i) {
        sum += (double)variance[i];
        double l = (double)light[4 * i];
        expected += (l * threshold - l * l) / MANY;
    }
    /* The standard error is 1 %; one number for both gives 1.85 times the variance. */
    if (fabs(sum - expected) > 0.05 * expected)
        fail_msg("variance %g, expected %g", sum, expected);
    mem_free(light);
    mem_free(variance);
    render_destroy(plain);
    render_destroy(dim);
    strbuf_free(&meshes);
    kit_end(&kit);
}

static double error_at(const Kit *kit, SamplerKind sampler, uint32_t samples, const float *truth)
{
    RenderOptions options = kit_options(kit);
    options.sampler = sampler;
    SETTING_SET(options.settings, samples, samples);
    options.filter = PIXEL_FILTER_BOX;
    uint32_t count;
    double sum = 0;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count);
    for (uint32_t i = 0; i < count; ++i)
        sum += pow((double)rgba[4 * i] - (double)truth[4 * i], 2);
    mem_free(rgba);
    render_destroy(render);
    return sqrt(sum / count);
}

/* Row 21: a matt floor under a lamp without shadows, from 4 to 256 samples: as N^-1/2 by independent numbers, and faster
 * by Sobol's, where each pair of numbers alone approaches N^-3/2 and what two pairs do together stays at N^-1/2. */
static void test_error_falls_with_the_samples(void **state)
{
    (void)state;
    Kit kit;
    kit_begin(&kit);
    write_plate(&kit, matte,
                "{\"name\": \"l\", \"type\": \"area_rectangle\", \"radiance\": [5, 5, 5], "
                "\"size\": [2, 1], "
                "\"transform\": [1,0,0,0, 0,0,1,1.5, 0,-1,0,0, 0,0,0,1]}",
                NULL, 12);
    RenderOptions options = kit_options(&kit);
    SETTING_SET(options.settings, samples, 4096);
    options.filter = PIXEL_FILTER_BOX;
    SETTING_SET(options.settings, seed, 99);
    uint32_t count;
    Render *render = kit_render(&kit, &options);
    float *truth = kit_pixels(render, &count);
    render_destroy(render);
    const SamplerKind kinds[] = {SAMPLER_INDEPENDENT, SAMPLER_SOBOL, SAMPLER_BLUE_NOISE};
    for (uint32_t k = 0; k < SORT_COUNT_OF(kinds); ++k) {
        double slope =
            log2(error_at(&kit, kinds[k], 256, truth) / error_at(&kit, kinds[k], 4, truth)) / 6;
        if (kinds[k] == SAMPLER_INDEPENDENT)
            assert_true(slope > -0.55 && slope < -0.45);
        else
            assert_true(slope < -0.7);
    }
    mem_free(truth);
    kit_end(&kit);
}

/* A closed room with a lamp in this half, under a sky: mean and variance. other: the radiance of a second lamp, behind a wall. */
static Noise noise_of_room(const char *sky, double other)
{
    Kit kit;
    StrBuf meshes = {0};
    char lights[512];
    kit_begin(&kit);
    kit_write_text(&kit, "shaders/s.ssl", ssl);
    kit_add_sphere(&kit, &meshes, "room", 6.0f, 16);
    kit_add_quad(&kit, &meshes, "wall",
                 (const float[4][3]){{-9, -9, -1}, {9, -9, -1}, {9, 9, -1}, {-9, 9, -1}});
    snprintf(
        lights, sizeof lights,
        "{\"name\": \"a\", \"type\": \"sphere\", \"radiance\": [9, 9, 9], \"radius_m\": 0.2, "
        "\"transform\": [1,0,0,0, 0,1,0,3, 0,0,1,1, 0,0,0,1]}, "
        "{\"name\": \"b\", \"type\": \"sphere\", \"radiance\": [%g, %g, %g], \"radius_m\": 0.2, "
        "\"transform\": [1,0,0,0, 0,1,0,1, 0,0,1,-2, 0,0,0,1]}",
        other, other, other);
    kit_write_scene(
        &kit,
        &(KitScene){.width = WIDTH,
                    .height = HEIGHT,
                    .samples = SAMPLES,
                    .max_depth = 3,
                    .eye = {0, 0, 4},
                    .fov_y_degrees = 50,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"r\", \"mesh\": \"room\", \"materials\": [\"m\"]}, "
                                 "{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": [\"m\"]}",
                    .materials =
                        "{\"name\": \"m\", \"shader\": \"shaders/s.ssl\", \"entry\": \"matte\"}",
                    .lights = lights,
                    .environment = sky});
    Noise noise = noise_of(&kit, WAVE_STRATEGY_MIS);
    strbuf_free(&meshes);
    kit_end(&kit);
    return noise;
}

/* A sample that chooses a light which cannot be seen is lost. If p are not, the variance of light L grows by (1/p - 1) L^2. By what
 * lights promise it grows by 2.4 L^2 for the sky, and by 26 and more for the lamp behind the wall. The picture stays the same. */
static void test_variance_heeds_which_lights_are_seen(void **state)
{
    (void)state;
    static const struct {
        const char *sky;
        double other, wasted_max;
    } unseen[] = {
        {"{\"color\": [3, 3, 3]}", 0, 1.0}, {NULL, 200, 3.0}, {"{\"color\": [3, 3, 3]}", 200, 4.0}};
    const Noise alone = noise_of_room(NULL, 0);
    for (size_t i = 0; i < SORT_COUNT_OF(unseen); ++i) {
        Noise noise = noise_of_room(unseen[i].sky, unseen[i].other);
        double error = sqrt((alone.variance + noise.variance) / PIXELS);
        double wasted = (noise.variance - alone.variance) / (noise.mean * noise.mean / SAMPLES);
        if (wasted > unseen[i].wasted_max)
            fail_msg("room %zu: the variance grows by %g L^2", i, wasted);
        assert_true(fabs(noise.mean - alone.mean) < 4 * error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variance_is_near_the_better_strategy),
        cmocka_unit_test(test_variance_of_a_lamp_under_an_even_sky),
        cmocka_unit_test(test_variance_heeds_which_lights_are_seen),
        cmocka_unit_test(test_variance_of_a_light_threshold),
        cmocka_unit_test(test_variance_of_two_dim_rays),
        cmocka_unit_test(test_error_falls_with_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
