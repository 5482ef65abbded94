/* Curves that shine: closed forms, and what sampling them finds against what directions by chance find. */
#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "sort/shade/hit.h"
#include "tests/sort/accel/tracer.h"
#include "tests/sort/light/light_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const SceneCurveBasis bases[] = {SCENE_CURVE_LINEAR, SCENE_CURVE_BEZIER,
                                        SCENE_CURVE_B_SPLINE, SCENE_CURVE_CATMULL_ROM};

/* The fixture's instances shine with radiance 1. */
static Lights *shining(SceneFixture *f)
{
    static const float emission[] = {1.0f};
    Lights *lights;
    LightsDesc desc = {
        .size_bytes = sizeof desc, .scene = &f->scene, .material_emission = emission};
    assert_int_equal(lights_create(&desc, &lights, NULL), STATUS_OK);
    return lights;
}

/* --- closed form ---------------------------------------------------------------------------------------- */

/* Under the middle of a thin straight wire of half length a and radius r at the height h, facing it:
 * E = 2 r (a / (h^2 + a^2) + atan(a / h) / h), the integral of 2 r h^2 / (h^2 + x^2)^2; for a tube of any thickness pi r / h
 * as a grows. */
static double wire_irradiance(double r, double a, double h)
{
    return 2.0 * r * (a / (h * h + a * a) + atan(a / h) / h);
}

static void test_light_curves_straight_wire(void **state)
{
    (void)state;
    enum { SAMPLES = 200000 };
    const float r = 0.004f, a = 3.0f;
    const Sampler independent = {SAMPLER_INDEPENDENT};
    for (size_t k = 0; k < SORT_COUNT_OF(bases); ++k) {
        SceneCurveBasis basis = bases[k];
        bool is_inner = basis == SCENE_CURVE_B_SPLINE || basis == SCENE_CURVE_CATMULL_ROM;
        float step = is_inner ? 2.0f * a : 2.0f * a / 3.0f, first = is_inner ? -3.0f * a : -a;
        float points[16];
        uint32_t count = basis == SCENE_CURVE_LINEAR ? 2 : 4;
        for (uint32_t i = 0; i < 4; ++i) {
            const float x = count == 2 ? (i ? a : -a) : first + step * (float)i;
            const float p[4] = {x, 0, 0, r};
            memcpy(points + 4 * i, p, sizeof p);
        }
        SceneFixture *f = fixture_create();
        fixture_curves(f, basis, false, points, &count, 1);
        /* Twice as thick and long, turned and moved. */
        mat4 m = mat4_mul(mat4_translate(f3(5, 1, 2)), mat4_rotate(f3(0, 1, 0), 0.7f));
        fixture_instance(f, 0, fixture_material(f, "m"), mat4_mul(m, mat4_scale(f3(2, 2, 2))));
        Lights *lights = shining(f);
        assert_int_equal(lights_count(lights), 1);
        ZTest z = {0};
        for (uint32_t i = 0; i < SAMPLES; ++i) {
            LightSample s;
            bool is_seen = lights_sample(lights, f3(5, 0, 2), f3(0, 1, 0), 0.5f,
                                         sampler_2d(&independent, sample_key(1, 2, i, 3), 1), &s);
            if (is_seen)
                assert_int_equal(s.value, LIGHT_VALUE_MESH);
            ztest_add(&z, is_seen ? (double)s.wi.y / (double)s.pdf_solid_angle : 0.0);
        }
        double expected = wire_irradiance(2.0 * (double)r, 2.0 * (double)a, 1.0);
        if (ztest_p_value(&z, expected, 2e-4 * expected) < KIT_SIGNIFICANCE)
            fail_msg("basis %d: %.6g, expected %.6g", (int)basis, z.mean, expected);
        assert_true(ztest_standard_error(&z) < 0.01 * expected);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

/* --- strategies -------------------------------------------------------------------------------------------- */

typedef struct Setting {
    SceneFixture *f;
    Lights *lights;
    Tracer tracer;
    float3 position;
    float time;
} Setting;

static bool trace(Setting *s, float3 direction, SurfaceHit *out)
{
    static const RayDiff none;
    Ray ray = {.origin = s->position, .direction = direction, .t_max = INFINITY, .time = s->time};
    ray_batch_set(&s->tracer.rays, 0, &ray);
    const HitBatch *h = &s->tracer.hits;
    accel_intersect(s->tracer.accel, &s->tracer.rays, 1, &s->tracer.hits);
    if (h->shape[0] == HIT_NONE)
        return false;
    hit_surface(&s->f->scene,
                &(HitQuery){h->shape[0], h->triangle[0], h->b1[0], h->b2[0], h->t[0], 0, HIT_ALL},
                &ray, &none, out);
    return true;
}

/* What sampling finds and nothing hides against what all directions of a cone meet: the same irradiance, and a
 * density that is 1 in all, less what is hidden. Returns the share of what is met that sampling never finds. */
static double check_strategies(Setting *s)
{
    enum { SAMPLES = 120000 };
    const float3 normal = {0, 1, 0};
    const LightQuery from = light_query(s->position, normal, SKY_ABOVE);
    const double chance = (double)warp_cone_pdf(0.4f);
    const Sampler independent = {SAMPLER_INDEPENDENT};
    ZTest by_light = {0}, by_chance = {0}, density = {0};
    uint32_t found = 0, met = 0, missed = 0, same = 0;
    for (uint32_t i = 0; i < SAMPLES; ++i) {
        float2 u = sampler_2d(&independent, sample_key(0, 0, i, 17), SAMPLE_PIXEL);
        LightSample l;
        SurfaceHit hit;
        double e = 0.0, p = 0.0;
        if (lights_sample(s->lights, s->position, normal, s->time, u, &l)) {
            assert_true(fabsf(f3_length(l.wi) - 1.0f) < 2e-6f);
            /* As far as shadow rays look. */
            if (trace(s, l.wi, &hit)) {
                float d = f3_length(f3_sub(hit.P, s->position));
                bool is_there = fabsf(d - l.distance_m) < d / 8192.0f;

                found += is_there;
                e = is_there ? (double)maxf(l.wi.y, 0.0f) / (double)l.pdf_solid_angle : 0.0;
                if (is_there && hit.triangle == l.triangle) {
                    float pdf = lights_mesh_pdf(
                        s->lights, &from, s->time,
                        &(MeshLightHit){hit.instance, hit.triangle, hit.b1, hit.b2, l.wi, d});
                    same += fabsf(pdf - l.pdf_solid_angle) < 0.01f * pdf;
                }
            }
        }
        ztest_add(&by_light, e);
        float3 cone = warp_cone(u, 0.4f), d = f3(cone.x, cone.z, cone.y);
        e = 0.0;
        if (trace(s, d, &hit)) {
            float pdf = lights_mesh_pdf(s->lights, &from, s->time,
                                        &(MeshLightHit){hit.instance, hit.triangle, hit.b1, hit.b2,
                                                        d, f3_length(f3_sub(hit.P, s->position))});
            ++met;
            missed += pdf == 0.0f;
            e = pdf > 0.0f ? (double)d.y / chance : 0.0;
            p = (double)pdf / chance;
        }
        ztest_add(&by_chance, e);
        ztest_add(&density, p);
    }
    double useful = (double)found / (double)SAMPLES;
    if (ztest_p_value_two(&by_light, &by_chance) < KIT_SIGNIFICANCE)
        fail_msg("irradiance %.6g +- %.2g by light, %.6g +- %.2g by chance", by_light.mean,
                 ztest_standard_error(&by_light), by_chance.mean, ztest_standard_error(&by_chance));
    if (ztest_p_value(&density, useful, 6e-3) < KIT_SIGNIFICANCE)
        fail_msg("density %.5g +- %.2g, found %.5g", density.mean, ztest_standard_error(&density),
                 useful);
    assert_true(useful > 0.5 && met > 2000);
    assert_true((double)same > 0.95 * (double)found);
    return (double)missed / (double)met;
}

/* A bent and tapered curve over the ground. */
static const float bent[5][4] = {{-1.2f, 1.4f, -0.2f, 0.16f},
                                 {-0.5f, 1.2f, 0.3f, 0.2f},
                                 {0.2f, 1.5f, 0.1f, 0.15f},
                                 {0.9f, 1.3f, -0.3f, 0.1f},
                                 {1.5f, 1.6f, 0.1f, 0.12f}};

static void run(SceneCurveBasis basis, mat4 transform, bool moves)
{
    const uint32_t count = basis == SCENE_CURVE_BEZIER ? 4 : 5;
    Setting s = {.f = fixture_create(), .position = f3(0.1f, 0, 0.2f), .time = 0.25f};
    fixture_curves(s.f, basis, false, &bent[0][0], &count, 1);
    fixture_instance(s.f, 0, fixture_material(s.f, "m"), transform);
    mat4 keys[2] = {transform, mat4_mul(mat4_translate(f3(0.3f, 0.4f, -0.2f)), transform)};
    if (moves)
        assert_true(scene_instance_set_motion(&s.f->instances[0], keys, 2));
    s.lights = shining(s.f);
    s.tracer = tracer_create(&s.f->scene, NULL, 8);
    double missed = check_strategies(&s);
    /* The spheres of linear ones, and the far half of the bend. */
    if (missed > (basis == SCENE_CURVE_LINEAR ? 0.25 : 0.02))
        fail_msg("basis %d: %.3f are never sampled", (int)basis, missed);
    tracer_destroy(&s.tracer);
    lights_destroy(s.lights);
    fixture_destroy(s.f);
}

static void test_light_curves_strategies_agree(void **state)
{
    (void)state;
    for (size_t k = 0; k < SORT_COUNT_OF(bases); ++k)
        run(bases[k], mat4_identity(), false);
}

/* Stretched and mirrored; and while it moves. */
static void test_light_curves_of_instances(void **state)
{
    (void)state;
    mat4 m = mat4_mul(mat4_rotate(f3(0.2f, 1, 0), 0.5f), mat4_scale(f3(-0.9f, 1.2f, 1.6f)));
    run(SCENE_CURVE_CATMULL_ROM, m, false);
    run(SCENE_CURVE_B_SPLINE, m, false);
    run(SCENE_CURVE_LINEAR, m, true);
    run(SCENE_CURVE_BEZIER, m, true);
}

/* Points that coincide and radii of nothing shine nowhere, and do no harm; ribbons are found by chance alone. */
static void test_light_curves_that_are_none(void **state)
{
    (void)state;
    static const float same[16] = {1, 1, 1, 0.5f, 1, 1, 1, 0.5f, 1, 1, 1, 0.5f, 1, 1, 1, 0.5f};
    static const float thin[16] = {0, 1, 0, 0, 1, 1, 0, 0, 2, 1, 0, 0, 3, 1, 0, 0};
    static const float good[16] = {0, 1, 0, 1, 1, 1, 0, 1, 2, 1, 0, 1, 3, 1, 0, 1};
    static const uint32_t count = 4;
    const float *const points[] = {same, thin, good};
    for (size_t k = 0; k < 3 * SORT_COUNT_OF(bases); ++k) {
        SceneFixture *f = fixture_create();
        fixture_curves(f, bases[k / 3], k % 3 == 2, points[k % 3], &count, 1);
        fixture_instance(f, 0, fixture_material(f, "m"), mat4_identity());
        Lights *lights = shining(f);
        LightSample s;
        assert_false(lights_sample(lights, f3(0, 0, 0), f3(0, 1, 0), 0, f2(0.3f, 0.4f), &s));
        assert_true(lights_mesh_pdf(lights, &(LightQuery){.normal = f3(0, 1, 0)}, 0,
                                    &(MeshLightHit){0, 0, 0.5f, 0.0f, f3(0, 1, 0), 1}) == 0.0f);
        lights_destroy(lights);
        fixture_destroy(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_light_curves_straight_wire),
        cmocka_unit_test(test_light_curves_strategies_agree),
        cmocka_unit_test(test_light_curves_of_instances),
        cmocka_unit_test(test_light_curves_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
