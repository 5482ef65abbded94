/* What sampling draws against the density that it tells, by chi-square over the sphere.
 *
 * Directions are binned by the angle g to an axis and the azimuth about it. The axis is where the lobe peaks
 * and the bins in g grow with the distance from it, so that narrow lobes fill many bins. Narrow reflections are
 * binned by their half vector instead, since at grazing angles they become slits. Reflected and transmitted
 * directions are tested apart; all that does not belong to a test (the other side, deltas, lost samples) makes
 * one further cell. */
#include "base/stat/chi2.h"
#include "tests/sort/bsdf/bsdf_cases.h"

#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PI      3.14159265358979323846
#define ANGLES  16u
#define TURNS   12u
#define CELLS   ((size_t)ANGLES * TURNS)
#define SAMPLES 100000

typedef struct View {
    OnePoint bsdf;
    float3 axis, s, t;
    double scale; /* bins of g grow beyond it */
    bool is_reflection, is_half_vector;
} View;

/* x in [0, 1] to the angle g in [0, pi]: g = scale r / (1 - r), r = x pi / (pi + scale). */
static double angle_of(const View *v, double x, double *out_slope)
{
    double k = PI / (PI + v->scale), r = x * k;
    *out_slope = k * v->scale / ((1.0 - r) * (1.0 - r));
    return v->scale * r / (1.0 - r);
}

static double bin_of_angle(const View *v, double g)
{
    return g / (g + v->scale) * (PI + v->scale) / PI;
}

/* Density over (x, turn). */
static double view_pdf(double x, double turn, void *data)
{
    View *v = data;
    double slope, g = angle_of(v, x, &slope);
    float3 local = f3((float)(sin(g) * cos(2.0 * PI * turn)),
                      (float)(sin(g) * sin(2.0 * PI * turn)), (float)cos(g));
    double jacobian = sin(g) * slope * 2.0 * PI;
    float3 wi = warp_to_frame(local, v->s, v->t, v->axis);
    if (v->is_half_vector) {
        float3 h = wi, wo = v->bsdf.wo;
        float dot_oh = f3_dot(wo, h);
        if (dot_oh <= 0.0f)
            return 0.0;
        wi = f3_sub(f3_scale(h, 2.0f * dot_oh), wo);
        jacobian *= 4.0 * (double)dot_oh;
    }
    if ((wi.z * v->bsdf.wo.z > 0.0f) != v->is_reflection)
        return 0.0;
    return (double)one_pdf(&v->bsdf, wi) * jacobian;
}

static uint32_t cell_of(const View *v, float3 wi)
{
    if (v->is_half_vector)
        wi = f3_normalize(f3_add(v->bsdf.wo, wi));
    float3 c = f3_cross(v->axis, wi); /* atan2: accurate near the axis */
    double g = atan2((double)f3_length(c), (double)f3_dot(v->axis, wi));
    double turn = atan2((double)f3_dot(wi, v->t), (double)f3_dot(wi, v->s)) / (2.0 * PI);
    uint32_t x = (uint32_t)(bin_of_angle(v, g) * ANGLES);
    uint32_t y = (uint32_t)((turn < 0.0 ? turn + 1.0 : turn) * TURNS);
    return (y < TURNS ? y : TURNS - 1) * ANGLES + (x < ANGLES ? x : ANGLES - 1);
}

static void draw(const View *v, uint32_t seed, uint64_t *observed)
{
    Sampler independent = {SAMPLER_INDEPENDENT};
    uint32_t side = v->is_reflection ? SSL_LOBE_REFLECTION : SSL_LOBE_TRANSMISSION;
    _Static_assert(SAMPLES % SSL_BLOCK == 0, "directions are drawn by blocks");
    for (uint32_t i = 0; i < SAMPLES; i += SSL_BLOCK) {
        BsdfSample samples[SSL_BLOCK];
        uint16_t drawn = one_samples(&v->bsdf, &independent, sample_key(0, 0, 0, seed), i, samples);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            uint32_t flags = drawn >> k & 1 ? samples[k].flags : 0;
            bool is_ours = (flags & side) && !(flags & SSL_LOBE_DELTA);
            ++observed[is_ours ? cell_of(v, samples[k].wi) : CELLS];
        }
    }
}

static double compare(View *expecting, const uint64_t *seen_in)
{
    static double expected[CELLS + 1];
    uint64_t observed[CELLS + 1];
    double rest = SAMPLES;
    memcpy(observed, seen_in, sizeof observed);
    for (uint32_t i = 0; i < CELLS; ++i) {
        uint32_t row = i / ANGLES;
        double x = i % ANGLES, y = row;
        double p = chi2_integrate(view_pdf, expecting, x / ANGLES, (x + 1.0) / ANGLES, y / TURNS,
                                  (y + 1.0) / TURNS, 2e-6);
        expected[i] = p * SAMPLES;
        /* The quadrature may miss a corner of a cell that the edge of a density cuts off; samples do not. */
        if (expected[i] < 0.1) {
            observed[CELLS] += observed[i];
            expected[i] = (double)(observed[i] = 0);
        }
        rest -= expected[i];
    }
    /* The density's integral may not exceed 1. */
    if (rest < -2e-4 * SAMPLES) {
        print_message("the density integrates to %.6f\n", 1.0 - rest / SAMPLES);
        return 0.0;
    }
    /* The rest is only as good as the quadrature of all cells, of which the horizon cuts many. */
    double slack = 1e-3 * SAMPLES, seen = (double)observed[CELLS];
    expected[CELLS] = fmax(fmin(fmax(seen, rest - slack), rest + slack), 1.0);
    return chi2_test(observed, expected, CELLS + 1).p_value;
}

/* Where a smooth surface of the first closure's normal would send the light: the peak. */
static float3 peak(const BsdfCase *c, float3 wo, bool is_reflection)
{
    float up = wo.z < 0.0f ? -1.0f : 1.0f;
    if (is_reflection)
        return f3(-wo.x, -wo.y, wo.z);
    float ior = c->ior > 0.0f ? c->ior : 1.0f;
    float eta = wo.z < 0.0f ? 1.0f / ior : ior;
    float2 t = f2(-wo.x / eta, -wo.y / eta);
    float z2 = 1.0f - t.x * t.x - t.y * t.y;
    return z2 > 0.0f ? f3(t.x, t.y, -up * sqrtf(z2)) : f3_normalize(f3(t.x, t.y, 0.0f));
}

static View make_view(const BsdfCase *c, float3 wo, bool is_reflection)
{
    View v = {.is_reflection = is_reflection, .scale = 3.0 * fmax((double)c->alpha, 1e-3)};
    bsdf_case_make(c, wo, f3(0, 0, 1), 0, &v.bsdf);
    v.is_half_vector = is_reflection && c->alpha < 0.05f;
    v.axis = v.is_half_vector ? f3(0, 0, wo.z < 0.0f ? -1.0f : 1.0f) : peak(c, wo, is_reflection);
    f3_frame(v.axis, &v.s, &v.t);
    return v;
}

static double run(const BsdfCase *c, float3 wo, bool is_reflection, uint32_t seed)
{
    uint64_t observed[CELLS + 1] = {0};
    View v = make_view(c, wo, is_reflection);
    draw(&v, seed, observed);
    return compare(&v, observed);
}

/* From below only twice, unless something refracts: closures are two-sided. */
static bool is_wanted(const BsdfCase *c, uint32_t direction, bool is_below, bool is_reflection)
{
    float3 wo = bsdf_directions[direction];
    if (is_below && c->ior == 0.0f && direction % 3 != 2)
        return false;
    wo.z = is_below ? -wo.z : wo.z;
    OnePoint b;
    bsdf_case_make(c, wo, f3(0, 0, 1), 0, &b);
    uint32_t side = is_reflection ? SSL_LOBE_REFLECTION : SSL_LOBE_TRANSMISSION;
    for (uint32_t i = 0; i < one_lobe_count(&b); ++i)
        if ((one_lobe_flags(&b, i) & side) && !(one_lobe_flags(&b, i) & SSL_LOBE_DELTA))
            return true;
    return false;
}

static void test_bsdf_samples_follow_their_density(void **state)
{
    (void)state;
    uint32_t tests = 0, failures = 0;
    for (int counting = 1; counting >= 0; --counting) {
        double significance = counting ? 0.0 : chi2_sidak(0.01, tests);
        for (uint32_t c = 0; c < bsdf_case_count; ++c)
            for (uint32_t d = 0; d < 2 * bsdf_direction_count; ++d)
                for (uint32_t side = 0; side < 2; ++side) {
                    float3 wo = bsdf_directions[d / 2];
                    wo.z = d & 1 ? -wo.z : wo.z;
                    if (!is_wanted(&bsdf_cases[c], d / 2, d & 1, side == 0))
                        continue;
                    if (counting) {
                        ++tests;
                        continue;
                    }
                    double p = run(&bsdf_cases[c], wo, side == 0, c * 100 + d);
                    if (p > significance)
                        continue;
                    ++failures;
                    print_message("%s, wo (%g %g %g), %s: p = %g\n", bsdf_cases[c].name,
                                  (double)wo.x, (double)wo.y, (double)wo.z,
                                  side ? "transmission" : "reflection", p);
                }
    }
    assert_true(tests > 200);
    assert_int_equal(failures, 0);
}

/* The other way round: a density that is off by a little is noticed. */
static void test_bsdf_chi2_notices_a_wrong_density(void **state)
{
    (void)state;
    BsdfCase rough = {0};
    for (uint32_t c = 0; c < bsdf_case_count; ++c)
        if (strcmp(bsdf_cases[c].name, "conductor 0.3") == 0)
            rough = bsdf_cases[c];
    assert_int_equal(rough.closure_count, 1);
    uint64_t observed[CELLS + 1] = {0};
    View drawn = make_view(&rough, bsdf_directions[2], true);
    draw(&drawn, 1, observed);
    rough.closures[0].args[3] += 0.005f;
    View wider = make_view(&rough, bsdf_directions[2], true);
    assert_true(compare(&drawn, observed) > 1e-3);
    assert_true(compare(&wider, observed) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bsdf_samples_follow_their_density),
        cmocka_unit_test(test_bsdf_chi2_notices_a_wrong_density),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
