/* Denoising as a user runs it: the layer, its bits over parts, threads and files, and what guides show behind mirrors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/image/exr_read.h"
#include "tests/sort/render/render_kit.h"

typedef struct Paths {
    char a[PATH_BYTES], b[PATH_BYTES], whole[PATH_BYTES], other[PATH_BYTES];
} Paths;

static void begin(Kit *kit, Paths *paths)
{
    kit_begin(kit);
    kit_write_ball(kit, &(KitScene){.width = 80, .height = 50, .samples = 8});
    kit_path(kit, "a.part", paths->a);
    kit_path(kit, "b.part", paths->b);
    kit_path(kit, "out.exr", paths->whole);
    kit_path(kit, "other.exr", paths->other);
}

static ExrImage *read(const char *path)
{
    Error err = {0};
    ExrImage *image;
    assert_int_equal(exr_read(path, &image, &err), STATUS_OK);
    return image;
}

static void assert_same_files(const char *a, const char *b)
{
    Error err = {0};
    char *x, *y;
    size_t x_bytes, y_bytes;
    assert_int_equal(file_read(a, 1 << 24, &x, &x_bytes, &err), STATUS_OK);
    assert_int_equal(file_read(b, 1 << 24, &y, &y_bytes, &err), STATUS_OK);
    assert_int_equal(x_bytes, y_bytes);
    assert_memory_equal(x, y, x_bytes);
    mem_free(x);
    mem_free(y);
}

static const float *channel(const ExrImage *image, const char *name)
{
    const ExrImageChannel *found = exr_image_channel(image, name);
    if (!found)
        fail_msg("there is no channel %s", name);
    return found->data;
}

static void assert_same_channels(const ExrImage *a, const ExrImage *b, const char *const *names)
{
    for (; *names; ++names)
        assert_memory_equal(channel(a, *names), channel(b, *names),
                            sizeof(float) * a->width * a->height);
}

static const char *const denoised[] = {"denoised.R", "denoised.G", "denoised.B", "denoised.A",
                                       NULL};
static const char *const noisy[] = {"R", "G", "B", "A", "albedo.R", "normal.X", "depth.Z", NULL};

/* The layer stands beside the others, which are as they were; its alpha is the picture's. */
static void test_denoise_adds_a_layer(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    KIT_RUN(&kit, &said, "--aov", "albedo,normal,depth", "-o", paths.other);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RUN(&kit, &said, "--aov", "albedo,normal,depth", "--denoise");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    ExrImage *plain = read(paths.other), *with = read(paths.whole);
    assert_same_channels(plain, with, noisy);
    assert_int_equal(with->channel_count, plain->channel_count + 4);
    assert_memory_equal(channel(with, "denoised.A"), channel(with, "A"),
                        sizeof(float) * with->width * with->height);
    assert_memory_not_equal(channel(with, "denoised.R"), channel(with, "R"),
                            sizeof(float) * with->width * with->height);
    exr_image_destroy(plain);
    exr_image_destroy(with);
    kit_end(&kit);
}

/* Parts, threads, a resumed render and a file with the data all give the same bits. */
static void test_denoise_has_the_same_bits(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    KIT_RUN(&kit, &said, "--denoise", "--denoising-data", "--threads", "1");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    ExrImage *whole = read(paths.whole);

    KIT_RENDER(&said, "denoise", paths.whole, "-o", paths.other, "--threads", "3");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_same_files(paths.whole,
                      paths.other); /* and so attributes: of the camera, of the making */

    KIT_RUN(&kit, &said, "--denoise", "--samples", "0:3", "--partial", paths.a);
    KIT_RUN(&kit, &said, "--denoise", "--samples", "3:8", "--partial", paths.b);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "merge", paths.b, paths.a, "--denoise", "-o", paths.other);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    ExrImage *other = read(paths.other);
    assert_same_channels(whole, other, denoised);
    assert_null(exr_image_channel(other, "denoising_odd.R"));
    exr_image_destroy(other);

    KIT_RUN(&kit, &said, "--denoise", "--spp", "5", "--checkpoint", paths.a, "--keep-checkpoint");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RUN(&kit, &said, "--denoise", "--checkpoint", paths.a, "--resume");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    other = read(paths.whole);
    assert_same_channels(whole, other, denoised);
    exr_image_destroy(other);
    exr_image_destroy(whole);
    kit_end(&kit);
}

/* A crop's pixels know less of their surroundings, but the layer lies where the crop does. */
static void test_denoise_takes_crops(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    KIT_RUN(&kit, &said, "--denoise", "--denoising-data", "--crop", "20,10,33,21");
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "denoise", paths.whole, "-o", paths.other);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    assert_same_files(paths.whole, paths.other);
    ExrImage *other = read(paths.other);
    assert_int_equal(other->width, 33);
    assert_int_equal(other->x, 20);
    assert_int_equal(other->frame_width, 80);
    exr_image_destroy(other);
    kit_end(&kit);
}

static void test_denoise_says_what_is_missing(void **state)
{
    (void)state;
    Kit kit;
    Paths paths;
    KitSaid said;
    begin(&kit, &paths);
    KIT_RUN(&kit, &said, "--partial", paths.a);
    KIT_ASSERT_SAYS(&said, 0, NULL);
    KIT_RENDER(&said, "denoise", paths.whole, "-o", paths.other);
    KIT_ASSERT_SAYS(&said, 1, "out.exr", "no channel denoising_albedo.R", "--denoising-data", NULL);
    KIT_RENDER(&said, "merge", paths.a, "-o", paths.other, "--denoise");
    KIT_ASSERT_SAYS(&said, 1, "rendered without --denoise", NULL);
    KIT_RUN(&kit, &said, "--denoise", "--spp", "1", "-o", paths.other);
    KIT_ASSERT_SAYS(&said, 1, "two samples", NULL);
    ExrImage *image = read(paths.other); /* the render is not lost */
    assert_null(exr_image_channel(image, "denoised.R"));
    exr_image_destroy(image);
    KIT_RUN(&kit, &said, "--denoiser", "nfor", "-o", paths.other);
    KIT_ASSERT_SAYS(&said, 2, "--denoiser without --denoise", NULL);
    KIT_RENDER(&said, "merge", paths.a, "-o", paths.other, "--denoiser", "nfor");
    KIT_ASSERT_SAYS(&said, 2, "--denoiser without --denoise", NULL);
    KIT_RENDER(&said, "denoise", paths.whole, "-o", paths.whole);
    KIT_ASSERT_SAYS(&said, 2, "out.exr", NULL);
    kit_end(&kit);
}

/* A floor of glass or metal that shows a white sky, above a red floor: what fills the picture. */
static void write_floors(const Kit *kit, const char *closure)
{
    char shader[256];
    StrBuf meshes = {0};
    static const float top[4][3] = {{-9, 0, 9}, {9, 0, 9}, {9, 0, -9}, {-9, 0, -9}};
    static const float bottom[4][3] = {{-9, -2, 9}, {9, -2, 9}, {9, -2, -9}, {-9, -2, -9}};
    kit_write_matte(kit);
    (void)snprintf(
        shader, sizeof shader,
        "shader top(out closure surface)\n{\n    const vector N = global_value<normal>;\n"
        "    surface = %s;\n}\n",
        closure);
    kit_write_text(kit, "shaders/top.ssl", shader);
    kit_add_quad(kit, &meshes, "top", top);
    kit_add_quad(kit, &meshes, "bottom", bottom);
    kit_write_scene(
        kit,
        &(KitScene){.width = 8,
                    .height = 8,
                    .samples = 16,
                    .max_depth = 6,
                    .eye = {0, 3, 0.1f},
                    .fov_y_degrees = 10,
                    .meshes = strbuf_text(&meshes),
                    .instances = "{\"name\": \"t\", \"mesh\": \"top\", \"materials\": [\"t\"]}, "
                                 "{\"name\": \"b\", \"mesh\": \"bottom\", \"materials\": [\"b\"]}",
                    .materials = "{\"name\": \"t\", \"shader\": \"shaders/top.ssl\"}, "
                                 "{\"name\": \"b\", \"shader\": \"shaders/matte.ssl\"}",
                    .environment = "{\"color\": [1, 1, 1]}"});
    strbuf_free(&meshes);
}

typedef struct Guides {
    double albedo[3], normal_y, depth;
} Guides;

static Guides guides_of(const char *closure)
{
    Kit kit;
    Guides guides = {0};
    kit_begin(&kit);
    write_floors(&kit, closure);
    RenderOptions options = kit_options(&kit);
    options.aovs = FILM_DENOISING_GUIDES | FILM_AOV_BIT(FILM_AOV_DEPTH);
    Render *render = kit_render(&kit, &options);
    float *albedo = kit_aov(render, FILM_AOV_DENOISING_ALBEDO);
    float *normal = kit_aov(render, FILM_AOV_DENOISING_NORMAL);
    float *depth = kit_aov(render, FILM_AOV_DENOISING_DEPTH);
    float *first = kit_aov(render, FILM_AOV_DEPTH);
    for (int i = 0; i < 64; ++i) {
        for (int c = 0; c < 3; ++c)
            guides.albedo[c] += (double)albedo[3 * i + c] / 64.0;
        guides.normal_y += (double)normal[3 * i + 1] / 64.0;
        guides.depth += (double)depth[i] / 64.0;
        assert_float_equal(first[i], 3.0f, 0.1f); /* the layer for users stops at the glass */
    }
    mem_free(albedo);
    mem_free(normal);
    mem_free(depth);
    mem_free(first);
    render_destroy(render);
    kit_end(&kit);
    return guides;
}

/* Through a thin tinted glass without reflection: the floor behind it, times the tint. */
static void test_guides_look_through_glass(void **state)
{
    (void)state;
    Guides g = guides_of("make_closure<Dielectric>(1.0, 0, color(1), color(1, 0.5, 0.25), N)");
    assert_float_equal(g.albedo[0], 0.6, 0.01);
    assert_float_equal(g.albedo[1], 0.25, 0.01);
    assert_float_equal(g.albedo[2], 0.1, 0.01);
    assert_float_equal(g.normal_y, 1.0, 0.01);
    assert_float_equal(g.depth, 5.0, 0.1);
}

/* A mirror shows the sky, which has no surface: its tint is left. */
static void test_guides_look_into_mirrors(void **state)
{
    (void)state;
    Guides g = guides_of("make_closure<Conductor>(color(0.9, 0.5, 0.2), 0, N)");
    assert_float_equal(g.albedo[0], 0.9, 0.01);
    assert_float_equal(g.albedo[2], 0.2, 0.01);
    assert_float_equal(g.normal_y, 0.0, 0.01);
    assert_true(g.depth == 1e10);
}

/* A matte floor is what every guide shows. */
static void test_guides_stop_at_matte_surfaces(void **state)
{
    (void)state;
    Guides g = guides_of("make_closure<Lambert>(color(0.1, 0.2, 0.3), N)");
    for (int c = 0; c < 3; ++c)
        assert_float_equal(g.albedo[c], 0.1f * (float)(c + 1), 0.005);
    assert_float_equal(g.normal_y, 1.0, 0.01);
    assert_float_equal(g.depth, 3.0, 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_denoise_adds_a_layer),
        cmocka_unit_test(test_denoise_has_the_same_bits),
        cmocka_unit_test(test_denoise_takes_crops),
        cmocka_unit_test(test_denoise_says_what_is_missing),
        cmocka_unit_test(test_guides_look_through_glass),
        cmocka_unit_test(test_guides_look_into_mirrors),
        cmocka_unit_test(test_guides_stop_at_matte_surfaces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
