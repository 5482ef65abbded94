/* The warps: each point lies on its shape, and equal areas of the square become equal measures there. */
#include "sort/sampling/sampler.h"
#include "sort/sampling/turn.h"
#include "sort/sampling/warp.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

#define POINTS (1 << 20)
#define GRID   16

/* A net: far more even than random points, so that cell counts agree with the cells' measures closely. */
static float2 net_point(uint32_t i)
{
    const Sampler sobol = {SAMPLER_SOBOL};
    return sampler_2d(&sobol, sample_key(0, 0, i, 0), 0);
}

/* a, b in [0, 1]: coordinates in which the warp's density is constant. */
static void count_cell(uint32_t *cells, double a, double b)
{
    int x = (int)(a * GRID), y = (int)(b * GRID);
    assert_true(a >= 0.0 && b >= 0.0 && a <= 1.0 && b <= 1.0);
    ++cells[(y < GRID ? y : GRID - 1) * GRID + (x < GRID ? x : GRID - 1)];
}

static void check_even(const uint32_t *cells)
{
    const double expected = (double)POINTS / (GRID * GRID);
    for (uint32_t i = 0; i < GRID * GRID; ++i)
        assert_true(fabs(cells[i] - expected) < 0.02 * expected);
}

static double turn(float x, float y)
{
    double t = atan2((double)y, (double)x) / (2.0 * PI);
    return t < 0.0 ? t + 1.0 : t;
}

static void test_warp_circle_matches_the_library(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= 100000; ++i) {
        float u = (float)i / 100000.0f;
        float2 p = warp_circle(u);
        assert_true(fabs((double)p.x - cos(2.0 * PI * (double)u)) < 3e-7);
        assert_true(fabs((double)p.y - sin(2.0 * PI * (double)u)) < 3e-7);
    }
}

static void test_warp_disk_keeps_area(void **state)
{
    (void)state;
    uint32_t cells[GRID * GRID] = {0};
    for (uint32_t i = 0; i < POINTS; ++i) {
        float2 p = warp_disk(net_point(i));
        double r2 = (double)p.x * (double)p.x + (double)p.y * (double)p.y;
        count_cell(cells, fmin(r2, 1.0), turn(p.x, p.y));
    }
    check_even(cells);
    float2 centre = warp_disk(f2(0.5f, 0.5f));
    assert_true(centre.x == 0.0f && centre.y == 0.0f);
}

static void test_warp_hemisphere_follows_the_cosine(void **state)
{
    (void)state;
    uint32_t cells[GRID * GRID] = {0};
    for (uint32_t i = 0; i < POINTS; ++i) {
        float3 w = warp_hemisphere_cosine(net_point(i));
        assert_true(fabsf(f3_length2(w) - 1.0f) < 1e-6f && w.z >= 0.0f);
        count_cell(cells, 1.0 - (double)w.z * (double)w.z, turn(w.x, w.y));
    }
    check_even(cells);
}

static void test_warp_sphere_is_uniform(void **state)
{
    (void)state;
    uint32_t cells[GRID * GRID] = {0};
    for (uint32_t i = 0; i < POINTS; ++i) {
        float3 w = warp_sphere(net_point(i));
        assert_true(fabsf(f3_length2(w) - 1.0f) < 1e-6f);
        count_cell(cells, 0.5 * (1.0 + (double)w.z), turn(w.x, w.y));
    }
    check_even(cells);
}

/* Down to a star's disk, whose 1 - cos is far below the rounding of cos itself. */
static void test_warp_cone_is_uniform_at_any_angle(void **state)
{
    (void)state;
    static const double angles[] = {1e-5, 0.0046, 0.3, 1.5, 3.1};
    for (uint32_t a = 0; a < SORT_COUNT_OF(angles); ++a) {
        double s = sin(0.5 * angles[a]), one_minus_cos = 2.0 * s * s;
        uint32_t cells[GRID * GRID] = {0};
        for (uint32_t i = 0; i < POINTS; ++i) {
            float3 w = warp_cone(net_point(i), (float)one_minus_cos);
            assert_true(fabsf(f3_length2(w) - 1.0f) < 1e-6f);
            double half = sin(0.5 * atan2(hypot((double)w.x, (double)w.y), (double)w.z));
            count_cell(cells, fmin(2.0 * half * half / one_minus_cos * (1.0 - 1e-6), 1.0),
                       turn(w.x, w.y));
        }
        check_even(cells);
        double solid_angle = 2.0 * PI * one_minus_cos;
        assert_true(fabs((double)warp_cone_pdf((float)one_minus_cos) * solid_angle - 1.0) < 1e-6);
    }
}

static void test_warp_triangle_is_uniform(void **state)
{
    (void)state;
    uint32_t cells[GRID * GRID] = {0};
    for (uint32_t i = 0; i < POINTS; ++i) {
        float2 b = warp_triangle(net_point(i));
        double b0 = 1.0 - (double)b.x - (double)b.y;
        assert_true(b.x >= 0.0f && b.y >= 0.0f && b0 >= -1e-7);
        double s = fmin((double)b.x + (double)b.y, 1.0); /* s^2 and b.x / s are uniform */
        count_cell(cells, s * s, (double)b.x / s);
    }
    check_even(cells);
}

static void test_turn_matches_the_library(void **state)
{
    (void)state;
    for (int i = 0; i <= 40000; ++i) {
        double x = 16.0 * TURN_PI * i / 40000.0;
        Complex unit = turn_unit(x);
        assert_true(fabs(unit.re - cos(x)) < 1e-12 && fabs(unit.im - sin(x)) < 1e-12);
        double wrapped = atan2(sin(x), cos(x)), scale = 1e-3 + i;
        Complex a = {scale * cos(x), scale * sin(x)};
        assert_true(fabs(turn_angle(a) - wrapped) < 1e-12 ||
                    fabs(fabs(turn_angle(a) - wrapped) - 2.0 * TURN_PI) < 1e-12);
    }
    assert_true(turn_angle((Complex){0.0, 0.0}) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_warp_circle_matches_the_library),
        cmocka_unit_test(test_turn_matches_the_library),
        cmocka_unit_test(test_warp_disk_keeps_area),
        cmocka_unit_test(test_warp_hemisphere_follows_the_cosine),
        cmocka_unit_test(test_warp_sphere_is_uniform),
        cmocka_unit_test(test_warp_cone_is_uniform_at_any_angle),
        cmocka_unit_test(test_warp_triangle_is_uniform),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
