/* Textures in memory whose texels change: lookups beside those of the cache, and that both transposes are transposes. */
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/convert/mip_build.h"
#include "textures/tex_picture.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 45, HEIGHT = 23, LANES = 16, ROWS = 12 };

static TexPicture *new_picture(uint32_t width, uint32_t height)
{
    const TexPictureDesc desc = {.size_bytes = sizeof desc, .width = width, .height = height};
    TexPicture *picture;
    Error err = {0};
    assert_int_equal(tex_picture_create(&desc, &picture, &err), STATUS_OK);
    return picture;
}

static void fill(TexPicture *picture, uint64_t seed)
{
    Error err = {0};
    const TexPictureLevel level = tex_picture_level(picture, 0);
    for (uint32_t i = 0; i < 4 * level.width * level.height; ++i)
        tex_picture_texels(picture)[i] = random_unit(&seed) * 2 - 0.5f;
    assert_int_equal(tex_picture_build(picture, &err), STATUS_OK);
}

/* Points, small and wide footprints, some of them long, and coordinates far outside. */
static void draw_coordinates(float coord[7 * LANES], uint64_t *seed)
{
    for (uint32_t lane = 0; lane < LANES; ++lane) {
        float width = lane % 3 == 0 ? 0.0f : exp2f(-8 * random_unit(seed));
        for (uint32_t i = 0; i < 2; ++i)
            coord[i * LANES + lane] = random_unit(seed) * 3 - 1;
        for (uint32_t i = 2; i < 6; ++i)
            coord[i * LANES + lane] = width * (random_unit(seed) - 0.5f);
        coord[6 * LANES + lane] = lane % 5 == 0 ? 0.05f : 0.0f;
    }
}

typedef struct Way {
    TexWrap wrap;
    TexFilter filter;
} Way;

static Way way_of(uint32_t index)
{
    static const TexFilter filters[] = {TEX_FILTER_ANISO,       TEX_FILTER_CLOSEST,
                                        TEX_FILTER_BILINEAR,    TEX_FILTER_TRILINEAR,
                                        TEX_FILTER_CATMULL_ROM, TEX_FILTER_BSPLINE};
    return (Way){(TexWrap)(TEX_WRAP_PERIODIC + (int)(index % 4)), filters[index / 4 % 6]};
}
enum { WAYS = 24 };

/* One of the cache's files of the same texels has the same results, with derivatives, too. */
static void test_picture_looks_up_as_the_cache(void **state)
{
    (void)state;
    fixture_begin();
    Picture source = picture_create(WIDTH, HEIGHT, 4, SORT_TEXEL_FLOAT, SORT_COLOR_RAW);
    TexPicture *picture = new_picture(WIDTH, HEIGHT);
    uint64_t seed = 5;
    for (uint32_t y = 0; y < HEIGHT; ++y)
        for (uint32_t x = 0; x < WIDTH; ++x) {
            float *texel = tex_picture_texels(picture) + 4 * (y * WIDTH + x);
            for (uint32_t c = 0; c < 4; ++c)
                texel[c] = c == 3 ? 1.0f : random_unit(&seed); /* the converter weighs by alpha */
            memcpy(picture_at(&source, x, y), texel, 16);
        }
    Error err = {0};
    Rig rig;
    assert_int_equal(tex_picture_build(picture, &err), STATUS_OK);
    picture_convert(&source, fixture_path("picture.stex"), NULL);
    rig_begin(&rig, NULL);
    TexId id = rig_open(&rig, fixture_path("picture.stex"));
    float coord[7 * LANES], found[ROWS * LANES], expected[ROWS * LANES];
    for (uint32_t round = 0; round < 10 * WAYS; ++round) {
        Way way = way_of(round);
        TexOptions options = {.wrap_s = way.wrap, .wrap_t = way.wrap, .filter = way.filter};
        draw_coordinates(coord, &seed);
        coord[3] = round % 7 == 0 ? NAN : coord[3]; /* a coordinate that is none */
        const TexRequest request = {.texture = id,
                                    .options = &options,
                                    .lane_count = LANES,
                                    .lane_mask = 0xf7ff,
                                    .with_derivs = round % 2,
                                    .coord = coord};
        memset(found, 0, sizeof found);
        memset(expected, 0, sizeof expected);
        uint32_t missing = texcache_lookup(&rig.caller, &request, expected);
        assert_int_equal(tex_picture_lookup(picture, &request, found), missing);
        for (uint32_t i = 0; i < (round % 2 ? ROWS : 4) * LANES; ++i) {
            float size = i < 4 * LANES ? 1.0f : WIDTH;
            if (!(fabsf(found[i] - expected[i]) <= 4e-6f * size))
                fail_msg("round %u, row %u, lane %u: %.9g and not %.9g", round, i / LANES,
                         i % LANES, (double)found[i], (double)expected[i]);
        }
    }
    rig_end(&rig);
    tex_picture_destroy(picture);
    picture_free(&source);
    fixture_end();
}

static void add_place(void *data, uint64_t place, const float *numbers, uint32_t count)
{
    double *by_place = data;
    for (uint32_t i = 0; i < count; ++i)
        by_place[place + i] += (double)numbers[i];
}

/* <lookup of t, w> = <t, spread of w>, level by level, and by level 0 alone. */
static void test_picture_transposes(void **state)
{
    (void)state;
    TexPicture *picture = new_picture(WIDTH, HEIGHT);
    uint64_t count = tex_picture_places(picture), seed = 9;
    uint64_t first_count = tex_picture_level(picture, 1).place;
    double *by_place = malloc(count * sizeof *by_place);
    assert_non_null(by_place);
    fill(picture, 3);
    float coord[7 * LANES], result[ROWS * LANES], adjoints[ROWS * LANES];
    for (uint32_t round = 0; round < 10 * WAYS; ++round) {
        Way way = way_of(round);
        TexOptions options = {.wrap_s = way.wrap,
                              .wrap_t = way.wrap,
                              .filter = way.filter,
                              .has_missing_color = true};
        draw_coordinates(coord, &seed);
        for (uint32_t i = 0; i < ROWS * LANES; ++i)
            adjoints[i] = (random_unit(&seed) - 0.5f) / (i < 4 * LANES ? 1.0f : WIDTH);
        const TexRequest request = {.options = &options,
                                    .lane_count = LANES,
                                    .lane_mask = 0xbfff,
                                    .with_derivs = round % 2,
                                    .coord = coord};
        memset(by_place, 0, count * sizeof *by_place);
        (void)tex_picture_lookup(picture, &request, result);
        tex_picture_spread(picture, &request, adjoints, add_place, by_place);
        double onward = 0, back = 0, by_first = 0, size = 0;
        for (uint32_t i = 0; i < (round % 2 ? ROWS : 4) * LANES; ++i) {
            bool is_wanted = i % LANES != 14;
            onward += is_wanted ? (double)(adjoints[i] * result[i]) : 0;
            size += is_wanted ? fabs((double)(adjoints[i] * result[i])) : 0;
        }
        for (uint64_t i = 0; i < count; ++i)
            back += by_place[i] * (double)tex_picture_texels(picture)[i];
        tex_picture_pull(picture, by_place);
        for (uint64_t i = 0; i < first_count; ++i)
            by_first += by_place[i] * (double)tex_picture_texels(picture)[i];
        if (!(fabs(onward - back) <= 4e-6 * size && fabs(onward - by_first) <= 4e-6 * size))
            fail_msg("round %u: %.9g, by levels %.9g, by level 0 %.9g", round, onward, back,
                     by_first);
    }
    free(by_place);
    tex_picture_destroy(picture);
}

/* Levels of any size: the transpose of a step, in double. */
static void test_picture_levels_transpose(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, 1},   {2, 1},   {1, 7},  {5, 3},
                                        {16, 16}, {31, 17}, {100, 3}};
    for (uint32_t k = 0; k < SORT_COUNT_OF(sizes); ++k) {
        TexPicture *picture = new_picture(sizes[k][0], sizes[k][1]);
        uint64_t count = tex_picture_places(picture), seed = k;
        double *weights = malloc(count * sizeof *weights), onward = 0, back = 0, size = 0;
        assert_non_null(weights);
        fill(picture, k + 1);
        for (uint64_t i = 0; i < count; ++i) {
            weights[i] = (double)random_unit(&seed) - 0.5;
            onward += weights[i] * (double)tex_picture_texels(picture)[i];
            size += fabs(weights[i]);
        }
        tex_picture_pull(picture, weights);
        uint64_t first = 4 * (uint64_t)sizes[k][0] * sizes[k][1];
        for (uint64_t i = 0; i < first; ++i)
            back += weights[i] * (double)tex_picture_texels(picture)[i];
        assert_true(fabs(onward - back) <= 1e-7 * size);
        free(weights);
        tex_picture_destroy(picture);
    }
}

static void test_picture_refuses_sizes(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{0, 4}, {4, 0}, {TEX_PICTURE_SIZE_MAX + 1, 1}};
    for (uint32_t k = 0; k < SORT_COUNT_OF(sizes); ++k) {
        const TexPictureDesc desc = {
            .size_bytes = sizeof desc, .width = sizes[k][0], .height = sizes[k][1]};
        TexPicture *picture;
        Error err = {0};
        assert_int_equal(tex_picture_create(&desc, &picture, &err), STATUS_INVALID);
        assert_null(picture);
        assert_non_null(strstr(err.text, "are possible"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_picture_looks_up_as_the_cache),
        cmocka_unit_test(test_picture_transposes),
        cmocka_unit_test(test_picture_levels_transpose),
        cmocka_unit_test(test_picture_refuses_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
