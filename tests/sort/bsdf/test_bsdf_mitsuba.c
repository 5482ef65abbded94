/* The shapes of lobes beside Mitsuba 3, whose values scripts/mitsuba_reference.py has stored. */
#include "tests/sort/bsdf/one_point.h"
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef enum RowKind { ROW_VALUE, ROW_GLASS, ROW_HAIR } RowKind;

typedef struct Row {
    RowKind kind;
    double a[5]; /* a value: wi and f cos; else the arguments of the closure, and of wo */
} Row;

static const Row rows[] = {
#define GLASS(roughness, cosine) {ROW_GLASS, {roughness, cosine}},
#define HAIR(along, around, absorption, theta, offset)                                             \
    {ROW_HAIR, {along, around, absorption, theta, offset}},
#define VALUE(x, y, z, value) {ROW_VALUE, {x, y, z, value}},
#include "tests/sort/bsdf/mitsuba_reference.inc"
};

static OnePoint glass(const double a[5])
{
    OnePoint bsdf;
    const float args[] = {1.5f, (float)a[0], 1, 1, 1, 1, 1, 1, 0, 0, 1};
    one_init(&bsdf, f3((float)sqrt(1 - a[1] * a[1]), 0, (float)a[1]), f3(0, 0, 1), 0);
    one_add_closure(&bsdf, "Dielectric", spectrum_splat(1.0f), args, 1);
    return bsdf;
}

static OnePoint hair(const double a[5])
{
    OnePoint bsdf;
    const float dark = (float)a[2];
    const float args[] = {dark,  dark, dark,        (float)a[0], (float)a[1], 0,
                          1.55f, 0,    (float)a[4], 1,           0,           0};
    one_init(&bsdf, f3((float)sin(a[3]), 0, (float)cos(a[3])), f3(0, 0, 1), BSDF_ON_FIBRE);
    one_add_closure(&bsdf, "Hair", spectrum_splat(1.0f), args, 1);
    return bsdf;
}

/* Ratios of our values to theirs over the bright part of a lobe. */
typedef struct Ratios {
    float low, high;
} Ratios;

static Ratios ratios_of(const Row *head, uint32_t *out_count)
{
    OnePoint bsdf = head->kind == ROW_GLASS ? glass(head->a) : hair(head->a);
    Ratios r = {FLT_MAX, 0.0f};
    *out_count = 0;
    for (const Row *row = head + 1; row < rows + SORT_COUNT_OF(rows) && row->kind == ROW_VALUE;
         ++row) {
        float pdf;
        Spectrum f =
            one_eval(&bsdf, f3((float)row->a[0], (float)row->a[1], (float)row->a[2]), &pdf);
        float ratio = f.c[0] / (float)row->a[3];
        r.low = fminf(r.low, ratio), r.high = fmaxf(r.high, ratio);
        ++*out_count;
    }
    return r;
}

/* Where most light scatters once, the lobe is that of single scattering times a factor that gives back what scatters
 * more often: the same for all directions of a lobe. At roughness 0.8 that light has a lobe of its own, which is wider.
 * Mitsuba's loses it: the factor is never below 1. */
static void test_glass_has_the_shape_of_single_scattering(void **unused)
{
    SORT_UNUSED(unused);
    uint32_t lobes = 0, count;
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        if (rows[i].kind != ROW_GLASS)
            continue;
        Ratios r = ratios_of(&rows[i], &count);
        double roughness = rows[i].a[0];
        float allowed = roughness < 0.5 ? 0.02f : roughness < 0.7 ? 0.2f : 0.7f;
        if (r.low < 0.999f || r.high > (1.0f + allowed) * r.low)
            fail_msg("roughness %g, cosine %g: ratios from %g to %g", roughness, rows[i].a[1],
                     (double)r.low, (double)r.high);
        assert_int_equal(count, 24);
        ++lobes;
    }
    assert_int_equal(lobes, 24);
}

/* Mitsuba's modified Bessel function is asymptotic below a variance of 0.1, and 0.3 % off there. */
static void test_hair_is_the_same(void **unused)
{
    SORT_UNUSED(unused);
    uint32_t lobes = 0, count;
    for (uint32_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        if (rows[i].kind != ROW_HAIR)
            continue;
        Ratios r = ratios_of(&rows[i], &count);
        if (r.low < 0.995f || r.high > 1.005f)
            fail_msg("hair %g %g %g: ratios from %g to %g", rows[i].a[0], rows[i].a[1],
                     rows[i].a[2], (double)r.low, (double)r.high);
        assert_int_equal(count, 24);
        ++lobes;
    }
    assert_int_equal(lobes, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_glass_has_the_shape_of_single_scattering),
        cmocka_unit_test(test_hair_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
