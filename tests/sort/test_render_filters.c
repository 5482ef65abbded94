/* Texture filters in renders: the stochastic one has the mean of the one it stands for, and draws numbers
 * that belong to the lookup, not to the order in which code runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "render_kit.h"
#include "tests/stat/ztest.h"

enum { TEXTURE_PX = 256, SIDE = 24, BLOCK = 8, BLOCKS = SIDE / BLOCK * (SIDE / BLOCK), SEEDS = 24 };

/* Several lookups of one site a point, and one whose filter the shader names. */
#define SCREEN(filter)                                                                             \
    "texture2d paint;\n"                                                                           \
    "shader screen(out closure surface)\n{\n"                                                      \
    "    const float3 uvw = global_value<uvw>;\n"                                                  \
    "    color sum = texture2d_sample<paint>(2 * uvw.x, uvw.y, filter = \"" filter "\");\n"        \
    "    for (int i = 0; i < 3; ++i)\n"                                                            \
    "        sum += texture2d_sample<paint>(uvw.x + 0.21 * i, 3 * uvw.y);\n"                       \
    "    surface = make_closure<Emission>(sum);\n}\n"
static const char smooth_ssl[] = SCREEN("aniso"), drawn_ssl[] = SCREEN("stochastic");

static int setup(void **state)
{
    static Kit kit;
    kit_begin(&kit);
    uint8_t *pixels = mem_alloc((size_t)TEXTURE_PX * TEXTURE_PX, 3);
    assert_non_null(pixels);
    for (size_t i = 0; i < (size_t)3 * TEXTURE_PX * TEXTURE_PX; ++i)
        pixels[i] = hash_mix64(i / 5) & 1 ? 255 : 20;
    kit_write_png(&kit, "textures/paint.png", TEXTURE_PX, TEXTURE_PX, pixels);
    mem_free(pixels);
    StrBuf meshes = {0};
    kit_add_quad(&kit, &meshes, "wall",
                 (const float[4][3]){{-3, -2, 1}, {3, -2, 1}, {3, 2, -3}, {-3, 2, -3}});
    kit_write_scene(
        &kit, &(KitScene){.width = SIDE,
                          .height = SIDE,
                          .samples = 4,
                          .max_depth = 1,
                          .eye = {0, 0, 4},
                          .fov_y_degrees = 30,
                          .meshes = strbuf_text(&meshes),
                          .instances = "{\"name\": \"w\", \"mesh\": \"wall\", \"materials\": "
                                       "[\"m\"]}",
                          .materials = "{\"name\": \"m\", \"shader\": \"shaders/screen.ssl\", "
                                       "\"textures\": {\"paint\": {\"file\": "
                                       "\"textures/paint.png\", \"color_space\": \"raw\"}}}"});
    strbuf_free(&meshes);
    *state = &kit;
    return 0;
}

static int teardown(void **state)
{
    kit_end(*state);
    return 0;
}

static float *picture(const Kit *kit, RenderOptions options, bool is_drawn)
{
    kit_write_text(kit, "shaders/screen.ssl", is_drawn ? drawn_ssl : smooth_ssl);
    options.texture_filter = is_drawn ? TEX_FILTER_STOCHASTIC : TEX_FILTER_ANISO;
    uint32_t count;
    Render *render = kit_render(kit, &options);
    float *rgba = kit_pixels(render, &count);
    assert_int_equal(count, SIDE * SIDE);
    render_destroy(render);
    return rgba;
}

/* Sums of one channel over blocks of pixels. */
static void block_sums(const float *rgba, double out[BLOCKS])
{
    memset(out, 0, BLOCKS * sizeof *out);
    for (uint32_t y = 0; y < SIDE; ++y)
        for (uint32_t x = 0; x < SIDE; ++x)
            out[y / BLOCK * (SIDE / BLOCK) + x / BLOCK] += (double)rgba[4 * (y * SIDE + x)];
}

/* Both filters with the same samples of the pixels: differences are those of the filter alone. Seeds are
 * fixed, so that the chance of 1e-4 a block was taken once. */
static void test_render_stochastic_filter_has_the_mean_of_aniso(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    ZTest tests[BLOCKS] = {{0}};
    options.has_seed = true;
    for (uint32_t seed = 0; seed < SEEDS; ++seed) {
        double smooth[BLOCKS], drawn[BLOCKS];
        options.seed = seed;
        float *a = picture(kit, options, false), *b = picture(kit, options, true);
        block_sums(a, smooth);
        block_sums(b, drawn);
        for (uint32_t i = 0; i < BLOCKS; ++i)
            ztest_add(&tests[i], drawn[i] - smooth[i]);
        mem_free(a);
        mem_free(b);
    }
    for (uint32_t i = 0; i < BLOCKS; ++i) {
        assert_true(ztest_standard_error(&tests[i]) > 0.0); /* or it was not stochastic */
        double p = ztest_p_value(&tests[i], 0.0, 0.0);
        if (!(p > 1e-4))
            fail_msg("block %u: %g +- %g", i, tests[i].mean, ztest_standard_error(&tests[i]));
    }
}

static void test_render_stochastic_filter_keeps_its_bits(void **state)
{
    const Kit *kit = *state;
    RenderOptions options = kit_options(kit);
    options.thread_count = 1;
    float *one = picture(kit, options, true);
    options.thread_count = 8;
    options.wave_capacity = 8;
    options.fibers_max = 1;
    float *many = picture(kit, options, true);
    assert_memory_equal(one, many, sizeof(float[4]) * SIDE * SIDE);
    mem_free(one);
    mem_free(many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render_stochastic_filter_has_the_mean_of_aniso),
        cmocka_unit_test(test_render_stochastic_filter_keeps_its_bits),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
