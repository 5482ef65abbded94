/* Texture filters in renders: the stochastic one has the mean of the one it stands for, and draws numbers
 * that belong to the lookup, not to the order in which code runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/stat/ztest.h"
#include "tests/sort/render/render_kit.h"

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
    for (uint32_t seed = 0; seed < SEEDS; ++seed) {
        double smooth[BLOCKS], drawn[BLOCKS];
        SETTING_SET(options.settings, seed, seed);
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

/* --- T18 --------------------------------------------------------------------------------------------- */

#define GROUND(place)                                                                              \
    "texture2d ramp;\ntexture2d paint;\n"                                                          \
    "shader ground(out closure surface)\n{\n"                                                      \
    "    const float3 uvw = global_value<uvw>;\n"                                                  \
    "    const float u = 0.1 + 0.8 * uvw.x;\n    const float v = 0.1 + 0.8 * uvw.y;\n"             \
    "    const color r = texture2d_sample<ramp>(u, v);\n"                                          \
    "    surface = make_closure<Emission>(r + texture2d_sample<paint>(" place "));\n}\n"
static const char direct_ssl[] = GROUND("u, v"), dependent_ssl[] = GROUND("r.x, r.y");

static void write_ground(const Kit *kit)
{
    static uint8_t pixels[256 * 256 * 3]; /* (s, t), as well as bytes can say it */
    StrBuf meshes = {0};
    for (uint32_t y = 0; y < 256; ++y)
        for (uint32_t x = 0; x < 256; ++x) {
            uint8_t *texel = pixels + 3 * (y * 256 + x);
            texel[0] = (uint8_t)x;
            texel[1] = (uint8_t)(255 - y);
        }
    kit_write_png(kit, "textures/ramp.png", 256, 256, pixels);
    kit_add_quad(kit, &meshes, "ground",
                 (const float[4][3]){{-8, 0, 0}, {8, 0, 0}, {8, 0, -16}, {-8, 0, -16}});
    kit_write_scene(
        kit, &(KitScene){
                 .width = 32,
                 .height = 32,
                 .samples = 1,
                 .max_depth = 1,
                 .eye = {0, 2, 2},
                 .target = {0, 0, -5},
                 .fov_y_degrees = 40,
                 .meshes = strbuf_text(&meshes),
                 .instances = "{\"name\": \"g\", \"mesh\": \"ground\", \"materials\": [\"m\"]}",
                 .materials = "{\"name\": \"m\", \"shader\": \"shaders/ground.ssl\", \"textures\": "
                              "{\"paint\": {\"file\": \"textures/paint.png\"}, \"ramp\": "
                              "{\"file\": \"textures/ramp.png\", \"color_space\": \"raw\"}}}"});
    strbuf_free(&meshes);
}

/* How many probes went to each level. */
static void mip_histogram(const Kit *kit, const char *source, uint64_t out[TEX_MAX_LEVELS])
{
    RenderOptions options = kit_options(kit);
    RenderStats stats;
    options.texture_filter = TEX_FILTER_BILINEAR;
    kit_write_text(kit, "shaders/ground.ssl", source);
    Render *render = kit_render(kit, &options);
    render_stats(render, &stats);
    render_destroy(render);
    memcpy(out, stats.textures.mip_probes[0], TEX_MAX_LEVELS * sizeof *out);
}

/* T18: coordinates that come out of a texture, an identity ramp, have the derivatives that went into it. Were
 * they lost, half of all lookups would be in level 0. */
static void test_render_dependent_lookup_keeps_its_levels(void **state)
{
    uint64_t direct[TEX_MAX_LEVELS], dependent[TEX_MAX_LEVELS], total = 0, difference = 0;
    write_ground(*state);
    mip_histogram(*state, direct_ssl, direct);
    mip_histogram(*state, dependent_ssl, dependent);
    for (uint32_t l = 0; l < TEX_MAX_LEVELS; ++l) {
        total += direct[l];
        difference +=
            direct[l] > dependent[l] ? direct[l] - dependent[l] : dependent[l] - direct[l];
    }
    assert_true(total > 2 * 500);
    assert_true(direct[0] * 4 < total); /* or nothing would be proven */
    if (difference * 20 > total)
        fail_msg("%u of %u lookups are in other levels", (unsigned)difference, (unsigned)total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_render_stochastic_filter_has_the_mean_of_aniso),
        cmocka_unit_test(test_render_stochastic_filter_keeps_its_bits),
        cmocka_unit_test(test_render_dependent_lookup_keeps_its_levels),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
