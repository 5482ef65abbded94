/* Determinism: the picture has the same bits for any number of threads and fibers, any wave size, texture
 * budget and storage delay, and for sample ranges that are merged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "tests/sort/render/render_kit.h"

enum { TEXTURE_PX = 2048 };

static const char glossy_ssl[] =
    "texture2d paint;\ntexture2d gloss;\n"
    "shader glossy(float scale = 3, out closure surface)\n{\n"
    "    const float3 uvw = global_value<uvw>;\n"
    "    const float u = scale * uvw.x + 0.1 * sin(9 * uvw.y);\n"
    "    const color a = texture2d_sample<paint>(u, scale * uvw.y);\n"
    "    const float rough = texture2d_sample<gloss>(uvw.x, u).x;\n"
    "    surface = 0.5 * make_closure<Plastic>(a, color(0.04), rough, global_value<normal>)\n"
    "            + 0.5 * make_closure<Conductor>(a, 0.3, global_value<normal>);\n}\n";

static void write_noise(const Kit *kit, const char *name, uint64_t seed)
{
    uint8_t *pixels = mem_alloc((size_t)TEXTURE_PX * TEXTURE_PX, 3);
    assert_non_null(pixels);
    for (size_t i = 0; i < (size_t)3 * TEXTURE_PX * TEXTURE_PX; ++i)
        pixels[i] = (uint8_t)hash_mix64(seed + i);
    kit_write_png(kit, name, TEXTURE_PX, TEXTURE_PX, pixels);
    mem_free(pixels);
}

static void write_textured_scene(const Kit *kit)
{
    StrBuf meshes = {0};
    kit_write_text(kit, "shaders/glossy.ssl", glossy_ssl);
    write_noise(kit, "textures/paint.png", 1);
    write_noise(kit, "textures/gloss.png", 1u << 30);
    kit_add_quad(kit, &meshes, "floor",
                 (const float[4][3]){{-3, -1, 3}, {3, -1, 3}, {3, -1, -9}, {-3, -1, -9}});
    kit_add_sphere(kit, &meshes, "ball", 1.0f, 16);
    kit_write_scene(
        kit,
        &(KitScene){
            .width = 80,
            .height = 56,
            .samples = 8,
            .max_depth = 4,
            .eye = {0, 0.5f, 4},
            .fov_y_degrees = 45,
            .aperture_radius_m = 0.02f,
            .focus_distance_m = 3,
            .meshes = strbuf_text(&meshes),
            .instances = "{\"name\": \"f\", \"mesh\": \"floor\", \"materials\": [\"m\"]}, "
                         "{\"name\": \"b\", \"mesh\": \"ball\", \"materials\": [\"m\"]}",
            .materials = "{\"name\": \"m\", \"shader\": \"shaders/glossy.ssl\", \"textures\": "
                         "{\"paint\": {\"file\": \"textures/paint.png\"}, \"gloss\": {\"file\": "
                         "\"textures/gloss.png\", \"color_space\": \"raw\"}}}",
            .lights = "{\"name\": \"s\", \"type\": \"sphere\", \"radiance\": [20, 18, 15], "
                      "\"radius_m\": 0.4, \"transform\": [1,0,0,2, 0,1,0,3, 0,0,1,1, 0,0,0,1]}",
            .environment = "{\"color\": [0.3, 0.4, 0.5]}"});
    strbuf_free(&meshes);
}

static void assert_same(Hash128 a, Hash128 b, const char *what)
{
    if (!hash128_equal(a, b))
        fail_msg("the picture differs: %s", what);
}

static int setup(void **state)
{
    static Kit kit;
    kit_begin(&kit);
    write_textured_scene(&kit);
    *state = &kit;
    return 0;
}

static int teardown(void **state)
{
    kit_end(*state);
    return 0;
}

static void test_bits_do_not_depend_on_threads_or_waves(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    options.thread_count = 1;
    Hash128 one = kit_render_bits(kit, &options, NULL);
    options.thread_count = 2;
    assert_same(one, kit_render_bits(kit, &options, NULL), "2 threads");
    options.thread_count = 8;
    assert_same(one, kit_render_bits(kit, &options, NULL), "8 threads");
    options.wave_capacity = 8;
    assert_same(one, kit_render_bits(kit, &options, NULL), "waves of 8 paths");
    options.wave_capacity = 200;
    assert_same(one, kit_render_bits(kit, &options, NULL), "waves of 200 paths");
}

/* The textures hold 2 x 12 MiB and a third more in levels, 32 MiB. */
static void test_bits_do_not_depend_on_texture_memory(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    RenderStats full, small;
    options.sample_end = 2; /* tiles come and go with each */
    Hash128 reference = kit_render_bits(kit, &options, &full);
    options.texture_memory_bytes = (32 << 20) / 15;
    options.thread_count = 4;
    assert_same(reference, kit_render_bits(kit, &options, &small),
                "a fifteenth of the texture memory");
    assert_true(small.textures.evictions > 0); /* or the test would prove nothing */
    assert_int_equal(full.textures.evictions, 0);
    assert_true(small.textures.bytes_peak <= options.texture_memory_bytes);
}

/* Whether a budget holds threads and tables is no matter of timing, and what a refusal advises is enough: for the
 * threads at first, since no texture has been opened yet, and then for all. */
static void test_a_refused_budget_names_one_that_holds(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    options.sample_end = 1;
    Hash128 reference = kit_render_bits(kit, &options, NULL);
    unsigned long long advised;
    char text[2048];
    options.thread_count = 64;
    options.texture_memory_bytes = 2 << 20;
    for (int i = 0; i < 2; ++i) {
        kit_render_error(&options, text);
        assert_non_null(strstr(text, "one more thread does not fit"));
        const char *least = strstr(text, "at least ");
        assert_non_null(least);
        assert_int_equal(sscanf(least, "at least %llu are needed", &advised), 1);
    }
    /* What holds the threads does not hold the tables, too. A texture may be open before the last thread begins, which is refused
     * then. */
    bool is_for_all = false;
    for (int i = 0; i < 4 && !is_for_all; ++i) {
        options.texture_memory_bytes = advised;
        kit_render_error(&options, text);
        const char *of_threads = strstr(text, "at least "),
                   *of_all = strstr(text, "--texture-memory ");
        is_for_all = of_all != NULL;
        assert_non_null(is_for_all ? strstr(text, " textures do not fit;") : of_threads);
        if (is_for_all)
            assert_int_equal(sscanf(of_all, "--texture-memory %lluK holds", &advised), 1);
        else
            assert_int_equal(sscanf(of_threads, "at least %llu are needed", &advised), 1);
    }
    assert_true(is_for_all);
    options.texture_memory_bytes = advised << 10;
    assert_same(reference, kit_render_bits(kit, &options, NULL), "the advised texture memory");
}

static void test_bits_do_not_depend_on_storage_speed_or_fibers(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    RenderStats stats;
    options.sample_end = 2; /* the first one waits for storage */
    Hash128 reference = kit_render_bits(kit, &options, NULL);
    options.texture_delay_us = 2000;
    assert_same(reference, kit_render_bits(kit, &options, &stats), "slow storage");
    assert_true(stats.sched.parks > 0);
    options.fibers_max = 1;
    assert_same(reference, kit_render_bits(kit, &options, NULL), "slow storage without fibers");
}

static void check_ranges_add_up(const Kit *kit, SamplerKind sampler)
{
    Error err = {0};
    RenderOptions options = kit_options(kit);
    uint32_t count;
    options.sampler = sampler;
    Render *whole = kit_render(kit, &options);
    options.sample_end = 3;
    Render *first = kit_render(kit, &options);
    options.sample_begin = 3;
    options.sample_end = 8;
    Render *second = kit_render(kit, &options);
    /* Through files, and in the order that did not happen. */
    char a[PATH_BYTES], b[PATH_BYTES];
    Film *film_a, *film_b;
    assert_int_equal(path_join(kit->folder, "a.part", a, &err), STATUS_OK);
    assert_int_equal(path_join(kit->folder, "b.part", b, &err), STATUS_OK);
    assert_int_equal(film_write_partial(render_film(first), a, &err), STATUS_OK);
    assert_int_equal(film_write_partial(render_film(second), b, &err), STATUS_OK);
    assert_int_equal(film_read_partial(a, &film_a, &err), STATUS_OK);
    assert_int_equal(film_read_partial(b, &film_b, &err), STATUS_OK);
    assert_int_equal(film_merge(film_b, film_a, &err), STATUS_OK);
    float *expected = kit_pixels(whole, &count), *merged = MEM_ARRAY(float, 4 * (size_t)count);
    film_resolve(film_b, merged);
    assert_memory_equal(expected, merged, (size_t)count * 4 * sizeof *merged);
    /* Samples cannot be added twice. */
    assert_int_equal(film_merge(film_b, film_a, &err), STATUS_INVALID);
    mem_free(expected);
    mem_free(merged);
    film_destroy(film_a);
    film_destroy(film_b);
    render_destroy(whole);
    render_destroy(first);
    render_destroy(second);
}

static void test_bits_of_sample_ranges_add_up(void **state)
{
    check_ranges_add_up(*state, SAMPLER_SOBOL);
    check_ranges_add_up(*state, SAMPLER_BLUE_NOISE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_do_not_depend_on_threads_or_waves),
        cmocka_unit_test(test_bits_do_not_depend_on_texture_memory),
        cmocka_unit_test(test_a_refused_budget_names_one_that_holds),
        cmocka_unit_test(test_bits_do_not_depend_on_storage_speed_or_fibers),
        cmocka_unit_test(test_bits_of_sample_ranges_add_up),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
