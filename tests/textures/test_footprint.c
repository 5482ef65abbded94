/* Footprints: T1 and T3 (the perspective plane), T4's blend weight, anisotropy, hostile inputs. */
#include "tests/textures/test_prelude.h"
#include "tests/textures/tex_fixture.h"
#include "textures/filter/footprint.h"
#include <math.h>
#include <string.h>

#define W 1024 /* not an enumerator: it meets floats */
enum { LEVELS = 11 };

static Footprint with_size(const FootprintInput *in, uint32_t width, uint32_t height,
                           uint32_t level_count, TexFilter filter, TexMip mip, float mip_bias)
{
    Footprint f;
    const LookupOptions options = {.filter = filter, .mip = mip, .mip_bias = mip_bias};
    footprint_of(in, width, height, level_count, &options, &f);
    return f;
}

static Footprint of(FootprintInput in, TexFilter filter)
{
    return with_size(&in, W, W, LEVELS, filter, TEX_MIP_FOOTPRINT, 0.0f);
}

/* Derivatives of (u, v) = (x, z) on the plane y = 0 seen from height 1, at image point (sx, -sy), for
 * a pixel of pitch p: exact, by differentiating u = sx / sy, v = 1 / sy. */
static FootprintInput plane(double sx, double sy)
{
    const double p = 1.0 / 256.0;
    return (FootprintInput){.ds_dx = (float)(p / sy),
                            .dt_dx = 0.0f,
                            .ds_dy = (float)(-sx / (sy * sy) * p),
                            .dt_dy = (float)(-1.0 / (sy * sy) * p)};
}

static void test_footprint_of_the_perspective_plane(void **state)
{
    (void)state;
    static const struct {
        double sy, minor_level, aspect;
    } rows[] = {{0.5, 3.0, 2.0}, {0.1, 5.32193, 10.0}};
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        Footprint f = of(plane(0, rows[i].sy), TEX_FILTER_ANISO);
        assert_float_equal(f.level, rows[i].minor_level, 1e-4);
        assert_int_equal(f.probe_count, rows[i].aspect);
        /* The major axis runs along v; the probes cover it end to end. */
        assert_float_equal(f.axis_s, 0, 1e-9);
        double major = 4.0 / (rows[i].sy * rows[i].sy) / W;
        double length = fabs((double)f.axis_v) * f.probe_count;
        assert_float_equal(length, major, (major * 1e-5));
        Footprint isotropic = of(plane(0, rows[i].sy), TEX_FILTER_TRILINEAR);
        assert_float_equal(isotropic.level, (rows[i].minor_level + log2(rows[i].aspect)), 1e-4);
        assert_int_equal(isotropic.probe_count, 1);
    }
    /* Aspect 50 is more than is probed: the minor axis is widened to major / 16 = 625 texels. */
    Footprint f = of(plane(0, 0.02), TEX_FILTER_ANISO);
    assert_float_equal(f.level, log2(10000.0 / 16.0), 1e-4);
    assert_int_equal(f.probe_count, TEX_MAX_PROBES);
}

static void test_footprint_mip_histogram(void **state)
{
    (void)state;
    static const uint32_t expected[LEVELS] = {0, 0, 128, 64, 32, 16, 8, 4, 2, 1, 1};
    uint32_t rows[LEVELS] = {0};
    for (uint32_t j = 0; j < 256; ++j) {
        /* By the minor axis alone: the widening of long ellipses is another matter. */
        FootprintInput in = plane(0.5 / 256.0, (j + 0.5) / 256.0);
        double minor = 4.0 / ((j + 0.5) / 256.0);
        double major = minor / ((j + 0.5) / 256.0);
        Footprint f = of(in, TEX_FILTER_ANISO);
        double level = fmin(fmax(log2(fmax(minor, major / 16)), 0), LEVELS - 1);
        assert_float_equal(f.level, level, 2e-3);
        ++rows[(uint32_t)fmin(floor(log2(1024.0 / (j + 0.5))), LEVELS - 1)];
        if (major <= 16 * minor && minor < 1024)
            assert_int_equal((uint32_t)f.level, (uint32_t)floor(log2(1024.0 / (j + 0.5))));
    }
    for (uint32_t l = 0; l < LEVELS; ++l)
        assert_int_equal(rows[l], expected[l]);
}

static void test_footprint_is_measured_per_axis(void **state)
{
    (void)state;
    /* A long texture: 4096 x 64. A step of 1/512 each way is 8 texels by 1/8. */
    FootprintInput in = {.ds_dx = 1.0f / 512, .dt_dy = 1.0f / 512};
    Footprint f = with_size(&in, 4096, 64, 13, TEX_FILTER_ANISO, TEX_MIP_FOOTPRINT, 0.0f);
    assert_int_equal(f.probe_count, 8);
    assert_float_equal(f.level, 0, 0);
    assert_float_equal(f.axis_s * 8.0f, 1.0 / 512, 1e-9);
    f = with_size(&in, 4096, 64, 13, TEX_FILTER_TRILINEAR, TEX_MIP_FOOTPRINT, 0.0f);
    assert_float_equal(f.level, 3, 1e-6);
}

static void test_footprint_axis_is_turned_with_the_ellipse(void **state)
{
    (void)state;
    for (int degrees = 0; degrees < 180; degrees += 7) {
        float angle = (float)degrees * 0.01745329252f;
        float c = cosf(angle), s = sinf(angle);
        FootprintInput in = {
            .ds_dx = 24 * c / W, .dt_dx = 24 * s / W, .ds_dy = -4 * s / W, .dt_dy = 4 * c / W};
        Footprint f = of(in, TEX_FILTER_ANISO);
        assert_float_equal(f.level, 2, 1e-5);
        assert_int_equal(f.probe_count, 6);
        /* v runs against t; a line has no sign. */
        double along = (double)(f.axis_s * c - f.axis_v * s) * 6 * W;
        double across = (double)(f.axis_s * s + f.axis_v * c) * 6 * W;
        assert_float_equal(fabs(along), 24, 1e-3);
        assert_float_equal(across, 0, 1e-3);
    }
}

static void test_footprint_blur_adds_in_squares(void **state)
{
    (void)state;
    FootprintInput in = {.ds_dx = 3.0f / W, .dt_dy = 3.0f / W, .blur = 4.0f / W};
    Footprint f = of(in, TEX_FILTER_ANISO);
    assert_float_equal(f.level, log2(5), 1e-5);
    assert_int_equal(f.probe_count, 1);
    in = (FootprintInput){.blur = 8.0f / W};
    assert_float_equal(of(in, TEX_FILTER_TRILINEAR).level, 3, 1e-6);
}

/* The level is log2 of the width, to the precision of a float. */
static void test_footprint_level_is_a_logarithm(void **state)
{
    (void)state;
    for (float width = 1.0f; width < 1000.0f; width *= 1.00137f) {
        FootprintInput in = {.ds_dx = width / W, .dt_dy = width / W};
        assert_float_equal(of(in, TEX_FILTER_TRILINEAR).level, log2((double)width), 1.2e-6);
        assert_float_equal(of(in, TEX_FILTER_ANISO).level, log2((double)width), 1.2e-6);
    }
    for (uint32_t level = 0; level < LEVELS; ++level) { /* exactly */
        float width = (float)(1u << level);
        FootprintInput in = {.ds_dx = width / W, .dt_dy = width / W};
        assert_float_equal(of(in, TEX_FILTER_ANISO).level, level, 0);
    }
}

static void test_footprint_modes(void **state)
{
    (void)state;
    FootprintInput in = {.ds_dx = 5.0f / W, .dt_dy = 11.0f / W};
    assert_float_equal(with_size(&in, W, W, LEVELS, TEX_FILTER_ANISO, TEX_MIP_OFF, 2.0f).level, 0,
                       0);
    assert_float_equal(
        with_size(&in, W, W, LEVELS, TEX_FILTER_ANISO, TEX_MIP_MAX_OF_FOUR, 0.0f).level, 3, 0);
    assert_float_equal(of(in, TEX_FILTER_BILINEAR).level, 3, 0); /* log2 11 = 3.46 */
    in.dt_dy = 12.0f / W;
    assert_float_equal(of(in, TEX_FILTER_BILINEAR).level, 4, 0); /* log2 12 = 3.58 */
    assert_float_equal(
        with_size(&in, W, W, LEVELS, TEX_FILTER_TRILINEAR, TEX_MIP_FOOTPRINT, -1.5f).level,
        (log2(12) - 1.5), 1e-5);
}

/* Any bits: numbers of any size, some of which are not finite. */
static float any_float(uint64_t *random)
{
    uint32_t bits = random_u32(random);
    float x;
    if (bits % 4 != 0)
        return (random_unit(random) - 0.5f) * (bits % 3 == 0 ? 0.5f : 0.004f);
    bits = random_u32(random);
    memcpy(&x, &bits, sizeof x);
    return bits % 8 == 0 ? 0.0f : x;
}

static void test_footprint_rows_have_the_bits_of_single_ones(void **state)
{
    (void)state;
    const uint32_t counts[] = {1, 3, 8, 16, TEX_MAX_LANES};
    uint64_t random = 7;
    for (uint32_t round = 0; round < 400; ++round) {
        uint32_t n = counts[round % SORT_COUNT_OF(counts)], width = 1 + random_u32(&random) % 4096,
                 height = 1 + random_u32(&random) % 4096;
        const LookupOptions options = {.filter = TEX_FILTER_ANISO,
                                       .mip = TEX_MIP_FOOTPRINT,
                                       .mip_bias = round % 5 == 0 ? any_float(&random) : 0.0f};
        float derivs[5 * TEX_MAX_LANES];
        FootprintRows rows;
        for (uint32_t i = 0; i < 5 * n; ++i)
            derivs[i] = any_float(&random);
        footprints_of(derivs, n, width, height, 12, &options, &rows);
        for (uint32_t lane = 0; lane < n; ++lane) {
            const FootprintInput in = {derivs[lane], derivs[n + lane], derivs[2 * n + lane],
                                       derivs[3 * n + lane], derivs[4 * n + lane]};
            Footprint one, row;
            footprint_of(&in, width, height, 12, &options, &one);
            footprint_at(&rows, lane, &row);
            assert_memory_equal(&row.level, &one.level, sizeof one.level);
            assert_memory_equal(&row.axis_s, &one.axis_s, sizeof one.axis_s);
            assert_memory_equal(&row.axis_v, &one.axis_v, sizeof one.axis_v);
            assert_int_equal(row.probe_count, one.probe_count);
            assert_int_equal(row.is_bad, one.is_bad);
        }
    }
}

static void test_footprint_survives_anything(void **state)
{
    (void)state;
    static const float values[] = {0.0f, -0.0f,  1e-45f, -1e-30f,  1e-8f,     1.0f, -7.5f,
                                   1e9f, -1e20f, 3e38f,  INFINITY, -INFINITY, NAN};
    enum { N = SORT_COUNT_OF(values) };
    for (size_t i = 0; i < (size_t)N * N * N * N; ++i) {
        FootprintInput in = {values[i % N], values[i / N % N], values[i / N / N % N],
                             values[i / N / N / N], values[(i * 7) % N]};
        bool is_finite = isfinite(in.ds_dx) && isfinite(in.dt_dx) && isfinite(in.ds_dy) &&
                         isfinite(in.dt_dy) && isfinite(in.blur);
        for (int filter = TEX_FILTER_CLOSEST; filter <= TEX_FILTER_ANISO; ++filter) {
            Footprint f = of(in, (TexFilter)filter);
            assert_true(f.level >= 0 && f.level <= LEVELS - 1);
            assert_true(f.probe_count >= 1 && f.probe_count <= TEX_MAX_PROBES);
            assert_true(isfinite(f.axis_s) && isfinite(f.axis_v));
            if (!is_finite) {
                assert_true(f.is_bad);
                assert_float_equal(f.level, LEVELS - 1, 0);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_footprint_of_the_perspective_plane),
        cmocka_unit_test(test_footprint_mip_histogram),
        cmocka_unit_test(test_footprint_is_measured_per_axis),
        cmocka_unit_test(test_footprint_axis_is_turned_with_the_ellipse),
        cmocka_unit_test(test_footprint_blur_adds_in_squares),
        cmocka_unit_test(test_footprint_level_is_a_logarithm),
        cmocka_unit_test(test_footprint_modes),
        cmocka_unit_test(test_footprint_rows_have_the_bits_of_single_ones),
        cmocka_unit_test(test_footprint_survives_anything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
