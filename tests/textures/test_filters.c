/* T24: the cubic kernels and the stochastic filter. */
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include <math.h>
#include <string.h>

static const TexFilter new_filters[3] = {TEX_FILTER_STOCHASTIC, TEX_FILTER_CATMULL_ROM,
                                         TEX_FILTER_BSPLINE};

static TexId open_picture(Rig *rig, const Picture *p, const char *name)
{
    const char *path = fixture_path(name);
    picture_convert(p, path, NULL);
    return rig_open(rig, path);
}

static uint32_t lookup12(Rig *rig, TexId id, const TexOptions *options, const float coord[7],
                         float random, float out[12])
{
    TexRequest r = {.texture = id,
                    .options = options,
                    .lane_count = 1,
                    .lane_mask = 1,
                    .with_derivs = true,
                    .coord = coord,
                    .random = &random};
    return texcache_lookup(&rig->caller, &r, out);
}

/* --- cubic -------------------------------------------------------------------------------- */

/* The family of [Mitchell1988 eq. 8] as published, in doubles. */
static double kernel(double x, double b, double c)
{
    x = fabs(x);
    if (x < 1)
        return ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + 6 - 2 * b) / 6;
    if (x < 2) {
        return ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x + (-12 * b - 48 * c) * x +
                8 * b + 24 * c) /
               6;
    }
    return 0;
}

static double texel(const Picture *p, int64_t x, int64_t y, const TexOptions *o)
{
    int64_t place[2] = {x, y}, size[2] = {p->info.width, p->info.height};
    for (uint32_t axis = 0; axis < 2; ++axis) {
        int64_t n = size[axis], i = place[axis];
        switch (axis == 0 ? o->wrap_s : o->wrap_t) {
        case TEX_WRAP_CLAMP:
            i = i < 0 ? 0 : i >= n ? n - 1 : i;
            break;
        case TEX_WRAP_MIRROR:
            while (i < 0 || i >= n)
                i = i < 0 ? -1 - i : 2 * n - 1 - i;
            break;
        case TEX_WRAP_BLACK:
            if (i < 0 || i >= n)
                return 0;
            break;
        case TEX_WRAP_FILE:
        case TEX_WRAP_PERIODIC:
            i = (i % n + n) % n;
            break;
        default:
            break;
        }
        place[axis] = i;
    }
    float value;
    memcpy(&value, picture_at(p, (uint32_t)place[0], (uint32_t)place[1]), sizeof value);
    return (double)value;
}

static double cubic_oracle(const Picture *p, double s, double t, const TexOptions *o)
{
    double b = o->filter == TEX_FILTER_BSPLINE ? 1 : 0,
           c = o->filter == TEX_FILTER_BSPLINE ? 0 : 0.5;
    double x = s * p->info.width - 0.5, y = (1 - t) * p->info.height - 0.5, sum = 0;
    int64_t i = (int64_t)floor(x), j = (int64_t)floor(y);
    for (int64_t v = j - 1; v <= j + 2; ++v) {
        for (int64_t u = i - 1; u <= i + 2; ++u)
            sum += kernel(x - (double)u, b, c) * kernel(y - (double)v, b, c) * texel(p, u, v, o);
    }
    return sum;
}

static void test_filters_cubic_agrees_with_the_oracle(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(150, 90, 1, SORT_TEXEL_FLOAT, SORT_COLOR_RAW);
    picture_fill_noise(&p, 5);
    /* Room for three tiles: cubic taps that need four finish too. */
    const char *path = fixture_path("cubic.stex");
    picture_convert(&p, path, NULL);
    TexCacheDesc d = {.io_thread_count = 1,
                      .budget_bytes = budget_for_chunks(1, 1, table_bytes_of(path))};
    Rig rig;
    rig_begin(&rig, &d);
    TexId id = rig_open(&rig, path);
    uint64_t random = 1;
    for (uint32_t i = 0; i < 4000; ++i) {
        TexOptions o = {.filter = new_filters[1 + i % 2],
                        .wrap_s = (TexWrap)(TEX_WRAP_PERIODIC + i / 2 % 4),
                        .wrap_t = (TexWrap)(TEX_WRAP_PERIODIC + i / 8 % 4)};
        float coord[7] = {random_unit(&random) * 4 - 2, random_unit(&random) * 4 - 2}, out[12];
        if (i % 3 == 0) { /* near an edge, and near a corner of tiles */
            coord[0] = (i % 2 ? 1.0f : 64.0f / 150.0f) + 0.02f * (random_unit(&random) - 0.5f);
            coord[1] = 26.0f / 90.0f + 0.02f * (random_unit(&random) - 0.5f);
        }
        assert_int_equal(lookup12(&rig, id, &o, coord, 0, out), 0);
        double s = (double)coord[0], t = (double)coord[1], h = 1e-6;
        assert_float_equal(out[0], (float)cubic_oracle(&p, s, t, &o), 2e-6);
        double ds = (cubic_oracle(&p, s + h, t, &o) - cubic_oracle(&p, s - h, t, &o)) / (2 * h);
        double dt = (cubic_oracle(&p, s, t + h, &o) - cubic_oracle(&p, s, t - h, &o)) / (2 * h);
        assert_float_equal(out[4], (float)ds, 0.02);
        assert_float_equal(out[8], (float)dt, 0.02);
    }
    rig_check_identities(&rig);
    rig_end(&rig);
    picture_free(&p);
}

static void test_filters_cubic_ramp_and_impulse(void **state)
{
    SORT_UNUSED(state);
    const float w = 256.0f, h = 128.0f;
    Picture p = picture_create(256, 128, 1, SORT_TEXEL_FLOAT, SORT_COLOR_RAW);
    for (uint32_t i = 0; i < 256 * 128; ++i) {
        uint32_t x = i % 256, y = i / 256;
        picture_set(&p, x, y, 0, ((float)x + 0.5f) / w + 3.0f * (1.0f - ((float)y + 0.5f) / h));
    }
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "ramp.stex");
    picture_free(&p);
    uint64_t random = 2;
    float out[12];
    for (uint32_t i = 0; i < 500; ++i) {
        TexOptions o = {.filter = new_filters[1 + i % 2]};
        float coord[7] = {0.1f + 0.8f * random_unit(&random),
                          0.1f + 0.8f * random_unit(&random),
                          0.5f / w,
                          0,
                          0,
                          0.9f / h};
        assert_int_equal(lookup12(&rig, id, &o, coord, 0, out), 0);
        assert_float_equal(out[0], coord[0] + 3.0f * coord[1], 4e-6);
        assert_float_equal(out[4], 1, 5e-4);
        assert_float_equal(out[8], 3, 5e-4);
    }
    p = picture_create(9, 9, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_set(&p, 4, 4, 0, 1.0f);
    id = open_picture(&rig, &p, "impulse.stex");
    picture_free(&p);
    TexOptions o = {.filter = TEX_FILTER_CATMULL_ROM};
    assert_false(rig_lookup(&rig, id, &o, 0.5f, 0.5f, out));
    assert_float_equal(out[0], 1, 1e-6);
    o.filter = TEX_FILTER_BSPLINE;
    assert_false(rig_lookup(&rig, id, &o, 0.5f, 0.5f, out));
    assert_float_equal(out[0], 4.0f / 9.0f, 1e-6);
    rig_end(&rig);
}

static void test_filters_cubic_is_aniso_when_minified(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(256, 256, 3, SORT_TEXEL_U8, SORT_COLOR_SRGB);
    picture_fill_noise(&p, 6);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "small.stex");
    uint64_t random = 3;
    for (uint32_t i = 0; i < 300; ++i) {
        float coord[7] = {random_unit(&random), random_unit(&random)}, expected[12], out[12];
        coord[2] = (1.2f + 30.0f * random_unit(&random)) / 256.0f;
        coord[5] = (1.0f + 30.0f * random_unit(&random)) / 256.0f;
        TexOptions aniso = {.filter = TEX_FILTER_ANISO}, o = {.filter = new_filters[1 + i % 2]};
        assert_int_equal(lookup12(&rig, id, &aniso, coord, 0, expected), 0);
        assert_int_equal(lookup12(&rig, id, &o, coord, 0, out), 0);
        assert_memory_equal(out, expected, sizeof out);
    }
    rig_end(&rig);
    picture_free(&p);
}

/* --- all ---------------------------------------------------------------------------------- */

static void test_filters_constant_stays_constant(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(150, 70, 3, SORT_TEXEL_FLOAT, SORT_COLOR_LINEAR);
    const float color[3] = {0.1f, 1.0f / 3.0f, 1e-20f};
    for (uint32_t i = 0; i < 150 * 70 * 3; ++i)
        picture_set(&p, i / 3 % 150, i / 3 / 150, i % 3, color[i % 3]);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "flat.stex");
    uint64_t random = 4;
    for (uint32_t i = 0; i < 2000; ++i) {
        TexOptions o = {.filter = new_filters[i % 3],
                        .wrap_s = (TexWrap)(i / 3 % 4),
                        .wrap_t = (TexWrap)(i / 12 % 4)};
        float coord[7], out[12], width = i % 2 ? 0.2f : 0.0f;
        for (uint32_t k = 0; k < 7; ++k)
            coord[k] = (random_unit(&random) - 0.5f) * (k < 2 ? 8.0f : width);
        assert_int_equal(lookup12(&rig, id, &o, coord, random_unit(&random), out), 0);
        assert_memory_equal(out, color, sizeof color);
        for (uint32_t k = 4; k < 12; ++k)
            assert_true(out[k] == 0.0f);
    }
    rig_end(&rig);
    picture_free(&p);
}

/* --- stochastic --------------------------------------------------------------------------- */

static void test_filters_stochastic_has_the_mean_of_aniso(void **state)
{
    SORT_UNUSED(state);
    enum { STRATA = 1 << 14 };
    Picture p = picture_create(200, 120, 1, SORT_TEXEL_FLOAT, SORT_COLOR_RAW);
    picture_fill_noise(&p, 7);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "mean.stex");
    uint64_t random = 5;
    for (uint32_t i = 0; i < 24; ++i) {
        TexWrap wrap = (TexWrap)(TEX_WRAP_PERIODIC + i % 4);
        TexOptions aniso = {.filter = TEX_FILTER_ANISO, .wrap_s = wrap, .wrap_t = wrap};
        TexOptions o = aniso;
        o.filter = TEX_FILTER_STOCHASTIC;
        float coord[7] = {random_unit(&random) * 1.2f, random_unit(&random) * 1.2f}, out[12];
        coord[2] = (float)(i / 4 % 3) * 4.0f * random_unit(&random) / 200.0f;
        coord[3] = coord[2];
        coord[5] = (float)(i / 4 % 3) * 2.0f * random_unit(&random) / 120.0f;
        double sum = 0;
        for (uint32_t k = 0; k < STRATA; ++k) {
            float u = ((float)k + 0.5f) / STRATA;
            TexRequest r = {.texture = id,
                            .options = &o,
                            .lane_count = 1,
                            .lane_mask = 1,
                            .coord = coord,
                            .random = &u};
            assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
            sum += (double)out[0];
        }
        assert_int_equal(lookup12(&rig, id, &aniso, coord, 0, out), 0);
        /* Each of at most 2 x 16 x 4 texels is missed by one stratum at most. */
        assert_float_equal((float)(sum / STRATA), out[0], 128.0f / STRATA);
    }
    /* Each of two texels is chosen as often as its weight says: the variance is f (1 - f). */
    Picture two = picture_create(2, 1, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_set(&two, 1, 0, 0, 1.0f);
    TexId edge = open_picture(&rig, &two, "two.stex");
    TexOptions o = {.filter = TEX_FILTER_STOCHASTIC, .wrap_s = TEX_WRAP_CLAMP};
    uint32_t ones = 0;
    for (uint32_t k = 0; k < 1000; ++k) {
        float coord[7] = {0.25f + 0.3f * 0.5f, 0.5f}, out[12];
        assert_int_equal(lookup12(&rig, edge, &o, coord, ((float)k + 0.5f) / 1000.0f, out), 0);
        assert_true(out[0] == 0.0f || out[0] == 1.0f);
        assert_float_equal(out[4], 2, 1e-6); /* the slope is that of the whole tap */
        ones += out[0] == 1.0f;
    }
    assert_in_range(ones, 299, 301);
    TexStats stats = rig_stats(&rig);
    assert_int_equal(stats.missing, 0);
    rig_check_identities(&rig);
    rig_end(&rig);
    picture_free(&p);
    picture_free(&two);
}

static void test_filters_stochastic_takes_any_number(void **state)
{
    SORT_UNUSED(state);
    Picture p = picture_create(256, 256, 1, SORT_TEXEL_U8, SORT_COLOR_RAW);
    picture_fill_noise(&p, 8);
    Rig rig;
    rig_begin(&rig, NULL);
    TexId id = open_picture(&rig, &p, "any.stex");
    const float numbers[] = {0.0f, -1.0f, 1.0f, 0x1.fffffep-1f, 2.0f, NAN, INFINITY, -INFINITY};
    TexOptions o = {.filter = TEX_FILTER_STOCHASTIC}, aniso = {.filter = TEX_FILTER_ANISO};
    float out[12], expected[12];
    for (uint32_t i = 0; i < 400; ++i) {
        float coord[7] = {0.3f, 0.7f, (float)(i % 20) / 256.0f, 0, 0, 0.37f * (float)i / 256.0f, 0};
        assert_int_equal(lookup12(&rig, id, &o, coord, numbers[i % SORT_COUNT_OF(numbers)], out),
                         0);
        assert_true(out[0] >= 0.0f && out[0] <= 1.0f);
        /* Without numbers it is the deterministic filter. */
        TexRequest r = {.texture = id,
                        .options = &o,
                        .lane_count = 1,
                        .lane_mask = 1,
                        .with_derivs = true,
                        .coord = coord};
        assert_int_equal(texcache_lookup(&rig.caller, &r, out), 0);
        assert_int_equal(lookup12(&rig, id, &aniso, coord, 0, expected), 0);
        assert_memory_equal(out, expected, sizeof out);
    }
    rig_end(&rig);
    picture_free(&p);
}

static int setup(void **state)
{
    SORT_UNUSED(state);
    fixture_begin();
    return 0;
}

static int teardown(void **state)
{
    SORT_UNUSED(state);
    fixture_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_cubic_agrees_with_the_oracle),
        cmocka_unit_test(test_filters_cubic_ramp_and_impulse),
        cmocka_unit_test(test_filters_cubic_is_aniso_when_minified),
        cmocka_unit_test(test_filters_constant_stays_constant),
        cmocka_unit_test(test_filters_stochastic_has_the_mean_of_aniso),
        cmocka_unit_test(test_filters_stochastic_takes_any_number),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
