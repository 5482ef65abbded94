/* texcache_explain tells what texcache_lookup does: the texels that it names, by its weights, are the
 * lookup's result, for every filter and wrap. */
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include <math.h>
#include <string.h>

static int group_begin(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    return 0;
}

static int group_end(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

static const char *make_texture(const char *name, uint32_t width, uint32_t height, uint32_t seed)
{
    const char *path = fixture_path(name);
    Picture p = picture_create(width, height, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    picture_fill_noise(&p, seed);
    picture_convert(&p, path, NULL);
    picture_free(&p);
    return path;
}

static void add_texels(const TexExplain *e, const FileImage *image, double out[3])
{
    for (uint32_t i = 0; i < e->texel_count; ++i) {
        const TexExplainTexel *t = &e->texels[i];
        const LevelImage *level = &image->levels[t->level];
        const float *rgba = level->rgba + 4 * ((size_t)t->y * level->width + t->x);
        assert_true(t->x < level->width && t->y < level->height);
        for (uint32_t k = 0; k < 3; ++k)
            out[k] += (double)t->weight * (double)rgba[k];
    }
}

static void test_explain_weights_make_the_result(void **state)
{
    SORT_UNUSED(state);
    const char *path = make_texture("e.stex", 300, 140, 4);
    FileImage image = file_image_load(path);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, path);
    uint64_t random = 12;
    for (uint32_t i = 0; i < 3000; ++i) {
        TexOptions options = {.filter = (TexFilter)(random_u32(&random) % (TEX_FILTER_BSPLINE + 1)),
                              .wrap_s = (TexWrap)(random_u32(&random) % (TEX_WRAP_BLACK + 1)),
                              .wrap_t = (TexWrap)(random_u32(&random) % (TEX_WRAP_BLACK + 1))};
        float coord[7], out[4], number = random_unit(&random);
        float size = exp2f(-12.0f * random_unit(&random));
        for (uint32_t k = 0; k < 6; ++k)
            coord[k] = (k < 2 ? 3.0f : size) * (random_unit(&random) - 0.5f);
        coord[6] = i % 5 == 0 ? 0.01f * random_unit(&random) : 0.0f;
        TexRequest r = {.texture = id,
                        .options = &options,
                        .lane_count = 1,
                        .lane_mask = 1,
                        .coord = coord,
                        .random = i % 3 ? &number : NULL};
        texcache_lookup(&rig.caller, &r, out);
        TexExplain e;
        double sum[3] = {0};
        texcache_explain(rig.cache, &r, 0, &e);
        assert_true(e.has_place && !e.is_bad && e.filter != TEX_FILTER_DEFAULT);
        add_texels(&e, &image, sum);
        for (uint32_t k = 0; k < 3; ++k) {
            if (fabs(sum[k] - (double)out[k]) > 2e-5)
                fail_msg("lookup %u, filter %d: %g told, %g done", i, (int)options.filter, sum[k],
                         (double)out[k]);
        }
    }
    file_image_free(&image);
    rig_end(&rig);
}

/* One step to the right of 8 texels, one of 2 upwards: the ellipse of a pixel. */
static void test_explain_ellipse(void **state)
{
    SORT_UNUSED(state);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, make_texture("f.stex", 256, 128, 5));
    float coord[7] = {0.5f, 0.25f, 8.0f / 256, 0, 0, 2.0f / 128, 0};
    TexRequest r = {.texture = id, .lane_count = 1, .lane_mask = 1, .coord = coord};
    TexExplain e;
    texcache_explain(rig.cache, &r, 0, &e);
    assert_int_equal(e.width, 256);
    assert_float_equal(e.level, 1.0f, 1e-5f);
    assert_int_equal(e.probe_count, 4);
    assert_float_equal(fabsf(e.major[0]), 4.0f / 256, 1e-6f);
    assert_float_equal(e.major[1], 0.0f, 1e-6f);
    assert_float_equal(fabsf(e.minor[1]), 1.0f / 128, 1e-6f);
    assert_float_equal(fabsf(e.probe_step[0]), 2.0f / 256, 1e-6f);
    coord[0] = NAN;
    texcache_explain(rig.cache, &r, 0, &e);
    assert_false(e.has_place);
    assert_int_equal(e.texel_count, 0);
    r.texture.id = 0;
    texcache_explain(rig.cache, &r, 0, &e);
    assert_null(e.name);
    rig_end(&rig);
}

static void test_explain_names_the_file_of_a_set(void **state)
{
    SORT_UNUSED(state);
    make_texture("u.1001.stex", 64, 64, 6);
    make_texture("u.1012.stex", 128, 128, 7);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, fixture_path("u.<UDIM>.stex"));
    float coord[7] = {1.25f, 1.5f};
    TexRequest r = {.texture = id, .lane_count = 1, .lane_mask = 1, .coord = coord};
    TexExplain e;
    texcache_explain(rig.cache, &r, 0, &e);
    assert_non_null(strstr(e.path, "u.1012.stex"));
    assert_float_equal(e.s, 0.25f, 1e-6f);
    coord[0] = 5.5f; /* no such file */
    texcache_explain(rig.cache, &r, 0, &e);
    assert_null(e.name);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_explain_weights_make_the_result),
        cmocka_unit_test(test_explain_ellipse),
        cmocka_unit_test(test_explain_names_the_file_of_a_set),
    };
    return cmocka_run_group_tests(tests, group_begin, group_end);
}
