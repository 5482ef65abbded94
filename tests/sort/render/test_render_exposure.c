/* The exposure of the film: what it multiplies in pictures, and what it leaves alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/image/exr_read.h"
#include "tests/sort/render/passes_kit.h"

static const char layers[] = "light_groups,light_passes,albedo,normal,depth,uv,position,mist,"
                             "variance,samples,mip,derivative";

/* A floor with a light in a group, and an emitter that the camera sees. */
static void write_scene(const Kit *kit, const char *limits)
{
    StrBuf meshes = {0};
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-4, -4, 0}, {4, -4, 0}, {4, 4, 0}, {-4, 4, 0}});
    kit_add_sphere(kit, &meshes, "ball", 0.5f, 12);
    kit_write_text(
        kit, "m.ssl",
        "shader floor(out closure surface) { surface = "
        "make_closure<Plastic>(color(0.7, 0.5, 0.3), color(0.05), 0.3, global_value<normal>); }\n"
        "shader ball(out closure surface) { surface = make_closure<Emission>(color(0.2, "
        "0.4, 0.6)) + make_closure<Dielectric>(1.5, 0.2, color(1), color(1), "
        "global_value<normal>); }\n");
    kit_write_scene(
        kit,
        &(KitScene){.width = 12,
                    .height = 8,
                    .samples = 8,
                    .max_depth = 4,
                    .limits = limits,
                    .eye = {0, -3, 4},
                    .target = {0, 0, 0.2f},
                    .fov_y_degrees = 40,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"f\"]},"
                                 "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"b\"]}",
                    .materials = "{\"name\": \"f\", \"shader\": \"m.ssl\", \"entry\": \"floor\"},"
                                 "{\"name\": \"b\", \"shader\": \"m.ssl\", \"entry\": \"ball\"}",
                    .lights = "{\"name\": \"p\", \"type\": \"point\", \"intensity\": [9, 6, 8], "
                              "\"light_group\": \"key\", \"transform\": "
                              "[1,0,0,2, 0,1,0,-1, 0,0,1,3, 0,0,0,1]}",
                    .environment = "{\"color\": [0.2, 0.3, 0.4]}"});
    strbuf_free(&meshes);
}

static ExrImage *read_picture(const Kit *kit, const char *name)
{
    Error err = {0};
    ExrImage *image;
    char path[PATH_BYTES];
    assert_int_equal(path_join(kit->folder, name, path, &err), STATUS_OK);
    assert_int_equal(exr_read(path, &image, &err), STATUS_OK);
    return image;
}

static ExrImage *render(const Kit *kit, const char *const *more)
{
    KitSaid said;
    kit_run(kit, more, &said);
    assert_int_equal(said.exit_code, 0);
    return read_picture(kit, "out.exr");
}

static bool starts(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

/* The power of the exposure that a channel is multiplied by, from what the manual says of its layer. */
static int power_of(const char *name)
{
    const char *layer_end = strchr(name, '.');
    if (!layer_end)
        return strcmp(name, "A") != 0;
    if (starts(name, "variance."))
        return 2;
    bool is_light = starts(name, "Combined_") || starts(name, "light_") ||
                    starts(name, "emission.") || starts(name, "environment.") ||
                    strstr(name, "_direct.") || strstr(name, "_indirect.");
    return is_light ? 1 : 0;
}

static double sum_of(const ExrImageChannel *channel, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; ++i)
        sum += fabs((double)channel->data[i]);
    return sum;
}

static void assert_exposed(const ExrImage *plain, const ExrImage *exposed, float exposure)
{
    uint32_t count = plain->width * plain->height, lit = 0;
    assert_int_equal(plain->channel_count, exposed->channel_count);
    for (uint32_t c = 0; c < plain->channel_count; ++c) {
        const char *name = plain->channels[c].name;
        int power = power_of(name);
        float gain = power == 2 ? exposure * exposure : power == 1 ? exposure : 1.0f;
        lit += power && sum_of(&plain->channels[c], count) > 0.0;
        for (uint32_t i = 0; i < count; ++i)
            if (plain->channels[c].data[i] * gain != exposed->channels[c].data[i])
                fail_msg("%s, pixel %u: %g times %g is %g", name, i,
                         (double)plain->channels[c].data[i], (double)gain,
                         (double)exposed->channels[c].data[i]);
    }
    assert_true(lit > 20); /* most layers have light in this scene */
}

/* As an option, as the package's setting, in parts and after a stop: exactly, the samples are the same. */
static void test_exposure_multiplies_light_alone(void **state)
{
    (void)state;
    Kit kit;
    KitSaid said;
    char part[PATH_BYTES], merged[PATH_BYTES];
    Error err = {0};
    kit_begin(&kit);
    write_scene(&kit, NULL);
    assert_int_equal(path_join(kit.folder, "a.part", part, &err), STATUS_OK);
    assert_int_equal(path_join(kit.folder, "merged.exr", merged, &err), STATUS_OK);
    ExrImage *plain = render(&kit, (const char *[]){"--aov", layers, "--exr-type", "float", NULL});
    ExrImage *exposed =
        render(&kit, (const char *[]){"--aov", layers, "--exr-type", "float", "--film-exposure",
                                      "2.5", "--partial", part, NULL});
    assert_exposed(plain, exposed, 2.5f);
    assert_string_equal(exr_image_text(plain, "sort/sceneHash"),
                        exr_image_text(exposed, "sort/sceneHash"));
    kit_run_program("sort-render",
                    (const char *[]){"merge", part, "--exr-type", "float", "-o", merged, NULL},
                    &said);
    assert_int_equal(said.exit_code, 0);
    ExrImage *read = read_picture(&kit, "merged.exr");
    assert_exposed(plain, read, 2.5f);
    exr_image_destroy(read);
    write_scene(&kit, "\"film_exposure\": 0.25");
    read = render(&kit, (const char *[]){"--aov", layers, "--exr-type", "float", NULL});
    assert_exposed(plain, read, 0.25f);
    exr_image_destroy(read);
    read = render(&kit, (const char *[]){"--film-exposure", "0", NULL});
    assert_true(sum_of(exr_image_channel(read, "G"), read->width * read->height) == 0.0);
    exr_image_destroy(read);
    exr_image_destroy(exposed);
    exr_image_destroy(plain);
    kit_end(&kit);
}

/* What is too bright for half is kept, and no file is larger for it than one that needs it. */
static void test_pictures_too_bright_for_half_are_float(void **state)
{
    (void)state;
    static const struct {
        const char *exposure;
        bool is_half;
    } cases[] = {{"1", true}, {"1e6", false}};
    Kit kit;
    kit_begin(&kit);
    write_scene(&kit, NULL);
    for (uint32_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        ExrImage *image =
            render(&kit, (const char *[]){"--film-exposure", cases[i].exposure, "--denoise", NULL});
        for (uint32_t c = 0; c < image->channel_count; ++c) {
            const ExrImageChannel *channel = &image->channels[c];
            assert_int_equal(channel->is_half, cases[i].is_half);
            for (uint32_t k = 0; k < image->width * image->height; ++k)
                assert_true(isfinite(channel->data[k]));
        }
        assert_true(exr_image_channel(image, "denoised.R") != NULL);
        exr_image_destroy(image);
    }
    kit_end(&kit);
}

/* Four times the light shows twice the error. */
static void test_adaptive_renders_judge_what_is_shown(void **state)
{
    (void)state;
    static const char *const words[] = {"--adaptive", "0.02", "--film-exposure", "4", "--spp",
                                        "64",         NULL};
    Kit kit;
    kit_begin(&kit);
    write_scene(&kit, NULL);
    ExrImage *a = render(&kit, words);
    ExrImage *b = render(&kit, (const char *[]){"--adaptive", "0.01", "--spp", "64", NULL});
    assert_string_equal(exr_image_text(a, "sort/sceneHash"), exr_image_text(b, "sort/sceneHash"));
    exr_image_destroy(a);
    exr_image_destroy(b);
    kit_end(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exposure_multiplies_light_alone),
        cmocka_unit_test(test_pictures_too_bright_for_half_are_float),
        cmocka_unit_test(test_adaptive_renders_judge_what_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
