/* Curves: straight ones are cylinders and cones; bent ones, tapered and under any transform, agree with a surface
 * that is solved for in double precision, and their derivatives with its differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "sort/scene/curve.h"
#include "sort/shade/hit.h"
#include "tests/sort/accel/tracer.h"
#include "tests/sort/bsdf/one_point.h"
#include "tests/sort/scene/scene_fixture.h"

static const SceneCurveBasis bases[] = {SCENE_CURVE_LINEAR, SCENE_CURVE_BEZIER,
                                        SCENE_CURVE_B_SPLINE, SCENE_CURVE_CATMULL_ROM};

/* --- tracing ---------------------------------------------------------------------------------------- */

static bool trace(Tracer *t, const SceneFixture *f, const Ray *ray, const RayDiff *diff,
                  SurfaceHit *out)
{
    static const RayDiff none;
    ray_batch_set(&t->rays, 0, ray);
    accel_intersect(t->accel, &t->rays, 1, &t->hits);
    if (t->hits.shape[0] == HIT_NONE)
        return false;
    hit_surface(&f->scene,
                &(HitQuery){t->hits.shape[0], t->hits.triangle[0], t->hits.b1[0], t->hits.b2[0],
                            t->hits.t[0], 0, HIT_ALL},
                ray, diff ? diff : &none, out);
    return true;
}

static Ray ray_to(float3 from, float3 to)
{
    return (Ray){.origin = from, .direction = f3_normalize(f3_sub(to, from)), .t_max = INFINITY};
}

static float random_in(uint64_t *state, float low, float high)
{
    return low + (high - low) * fixture_random(state);
}

static void assert_near(double a, double b, double tolerance, const char *what)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%s: %.9g, expected %.9g within %g", what, a, b, tolerance);
}

/* --- numbers of segments and weights ------------------------------------------------------------------ */

static void test_curves_list_their_segments(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        SceneCurveBasis basis;
        uint32_t counts[2], segments, first[4];
    } cases[] = {{SCENE_CURVE_LINEAR, {2, 3}, 3, {0, 2, 3}},
                 {SCENE_CURVE_BEZIER, {4, 7}, 3, {0, 4, 7}},
                 {SCENE_CURVE_B_SPLINE, {5, 4}, 3, {0, 1, 5}},
                 {SCENE_CURVE_CATMULL_ROM, {4, 6}, 4, {0, 4, 5, 6}}};
    float points[4 * 16] = {0};
    for (size_t i = 0; i < SORT_COUNT_OF(cases); ++i) {
        SceneFixture *f = fixture_create();
        fixture_curves(f, cases[i].basis, false, points, cases[i].counts, 2);
        const SceneCurves *c = f->meshes[0].curves;
        assert_int_equal(c->segment_count, cases[i].segments);
        for (uint32_t k = 0; k < c->segment_count; ++k) {
            assert_int_equal(c->segments[k], cases[i].first[k]);
            assert_int_equal(curve_of_segment(c, k), cases[i].first[k] >= cases[i].counts[0]);
        }
        fixture_destroy(f);
    }
    assert_false(curve_allows_points(SCENE_CURVE_LINEAR, 1));
    assert_false(curve_allows_points(SCENE_CURVE_BEZIER, 5));
    assert_false(curve_allows_points(SCENE_CURVE_B_SPLINE, 3));
    assert_true(curve_allows_points(SCENE_CURVE_BEZIER, 10));
}

/* Attributes go by the weights, points by curve_eval: they must be the same basis, and derivatives those of it. */
static void test_curves_weigh_points_as_they_bend(void **state)
{
    SORT_UNUSED(state);
    static const float points[16] = {0, 0,  0, 0.5f,  1, 2, 0, 0.25f,
                                     2, -1, 1, 0.75f, 4, 0, 3, 0.125f};
    static const uint32_t counts[] = {4};
    for (size_t b = 0; b < SORT_COUNT_OF(bases); ++b) {
        SceneFixture *f = fixture_create();
        fixture_curves(f, bases[b], false, points, counts, 1);
        for (float u = 0.0f; u <= 1.0f; u += 0.125f) {
            float w[4], du[4];
            CurvePoint c;
            uint32_t n = curve_weights(bases[b], u, w, du);
            curve_eval(&f->meshes[0], 0, u, 0.0f, &c);
            double sums[2][4] = {{0}}, total = 0.0;
            for (uint32_t k = 0; k < n; ++k) {
                total += (double)w[k];
                for (int i = 0; i < 4; ++i) {
                    sums[0][i] += (double)(w[k] * points[4 * k + (uint32_t)i]);
                    sums[1][i] += (double)(du[k] * points[4 * k + (uint32_t)i]);
                }
            }
            assert_near(total, 1.0, 1e-6, "sum of weights");
            const float values[] = {c.P.x, c.P.y, c.P.z, c.r}, d[] = {c.d1.x, c.d1.y, c.d1.z, c.r1};
            for (int i = 0; i < 4; ++i) {
                assert_near(sums[0][i], (double)values[i], 3e-6, "value");
                assert_near(sums[1][i], (double)d[i], 1e-5, "derivative");
            }
        }
        fixture_destroy(f);
    }
}

/* --- straight ones -------------------------------------------------------------------------------------- */

/* Control points along x from 0 to 3 whose curve is x = 3u in every basis where points lie evenly. */
static void straight(float points[16], SceneCurveBasis basis, float r0, float r1)
{
    /* B-splines and Catmull-Rom run from the second point to the third. */
    bool inner = basis == SCENE_CURVE_B_SPLINE || basis == SCENE_CURVE_CATMULL_ROM;
    for (int k = 0; k < 4; ++k) {
        float s = inner ? (float)(k - 1) : basis == SCENE_CURVE_LINEAR ? (float)k : (float)k / 3.0f;
        const float p[4] = {3.0f * s, 0, 0, r0 + (r1 - r0) * s};
        memcpy(points + 4 * k, p, sizeof p);
    }
}

/* A straight one of radius r along x from 0 to 3, as the only instance. */
static SceneFixture *straight_scene(SceneCurveBasis basis, bool is_ribbon, float r)
{
    static const uint32_t two[] = {2}, four[] = {4};
    SceneFixture *f = fixture_create();
    float points[16];
    straight(points, basis, r, r);
    fixture_curves(f, basis, is_ribbon, points, basis == SCENE_CURVE_LINEAR ? two : four, 1);
    fixture_instance(f, 0, fixture_material(f, "m"), mat4_identity());
    return f;
}

/* A ray at right angles to the axis at height h meets a cylinder of radius r at sqrt(r^2 - h^2). */
static void test_curves_straight_are_cylinders(void **state)
{
    SORT_UNUSED(state);
    const float r = 0.25f;
    for (size_t b = 0; b < SORT_COUNT_OF(bases); ++b) {
        SceneFixture *f = straight_scene(bases[b], false, r);
        Tracer t = tracer_create(&f->scene, NULL, 8);
        for (float x = 0.2f; x < 2.9f; x += 0.3f)
            for (float h = -0.24f; h < 0.25f; h += 0.06f) {
                SurfaceHit hit;
                RayDiff diff = {.dDdx = f3(0.01f, 0, 0), .dDdy = f3(0, -0.01f, 0)};
                Ray ray = ray_to(f3(x, h, 4), f3(x, h, 0));
                assert_true(trace(&t, f, &ray, &diff, &hit));
                double z = sqrt((double)(r * r - h * h));
                assert_near((double)hit.P.z, z, 2e-6 / z, "height");
                assert_near((double)hit.N.y, (double)(h / r), 2e-6 / z, "normal");
                assert_near((double)hit.N.x, 0.0, 2e-6, "normal along");
                assert_near((double)f3_dot(hit.N, hit.Ng), 1.0, 1e-6, "both normals");
                assert_near((double)hit.b1, (double)x / 3.0, 3e-6, "u");
                /* cross(-I, along) = cross(z, x) = y */
                assert_near((double)hit.b2, (double)(h / r), 1e-5, "across");
                assert_near((double)hit.T.x, 1.0, 1e-6, "tangent");
                /* x moves along, y around: dy = t dD, dz = -h/z dy, normal (0, y, z)/r. */
                double m = 0.01 * (4.0 - z), dz = -(double)h / z * -m;
                assert_near((double)hit.dPdx.x, m, 1e-6, "dPdx");
                assert_near((double)hit.dPdy.y, -m, 1e-6, "dPdy.y");
                assert_near((double)hit.dPdy.z, dz, 1e-5 / z, "dPdy.z");
                assert_near((double)hit.dNdy.y, -m / (double)r, 1e-5 / z, "dNdy.y");
                assert_near((double)hit.dNdx.y, 0.0, 1e-6, "dNdx");
                assert_near((double)hit.db1dx, m / 3.0, 1e-6, "du/dx");
                /* The direction of the viewer turns too. */
                assert_near((double)hit.db2dy, -0.04 / (double)r, 1e-5 / z, "across by y");
            }
        SurfaceHit hit;
        Ray inside = ray_to(f3(1.5f, 0, 0), f3(1.5f, 0, 1)),
            above = ray_to(f3(1, r, 4), f3(1, r, 0));
        above.origin.y = above.direction.y = 0.0f, above.origin.y = r * 1.001f;
        assert_false(trace(&t, f, &inside, NULL, &hit));
        assert_false(trace(&t, f, &above, NULL, &hit));
        tracer_destroy(&t);
        fixture_destroy(f);
    }
}

/* The radius falls from r0 to r1 over the length: a cone. A circle of radius r(x) about the axis for the splines;
 * the common tangents of two spheres for the linear basis, whose normals have the slope as their sine. */
static void test_curves_tapered_are_cones(void **state)
{
    SORT_UNUSED(state);
    static const uint32_t two[] = {2}, four[] = {4};
    const double r0 = 0.5, r1 = 0.3, length = 3.0, k = (r1 - r0) / length;
    for (size_t b = 0; b < SORT_COUNT_OF(bases); ++b) {
        bool is_linear = bases[b] == SCENE_CURVE_LINEAR;
        SceneFixture *f = fixture_create();
        float points[16];
        straight(points, bases[b], (float)r0, (float)r1);
        fixture_curves(f, bases[b], false, points, is_linear ? two : four, 1);
        fixture_instance(f, 0, fixture_material(f, "m"), mat4_identity());
        Tracer t = tracer_create(&f->scene, NULL, 8);
        for (float x = 0.3f; x < 2.7f; x += 0.3f) {
            SurfaceHit hit;
            Ray ray = ray_to(f3(x, 0, 4), f3(x, 0, 0));
            assert_true(trace(&t, f, &ray, NULL, &hit));
            double cosine = sqrt(1.0 - k * k);
            double height = is_linear ? (r0 + k * (double)x) / cosine : r0 + k * (double)x;
            double sine = is_linear ? -k : -k / sqrt(1.0 + k * k);
            assert_near((double)hit.P.z, height, 3e-6, "height");
            assert_near((double)hit.N.x, sine, 3e-6, "normal");
            assert_near((double)hit.N.z, sqrt(1.0 - sine * sine), 3e-6, "normal");
        }
        tracer_destroy(&t);
        fixture_destroy(f);
    }
}

/* A linear curve is closed by spheres at its ends and at its joints. */
static void test_curves_linear_have_round_ends(void **state)
{
    SORT_UNUSED(state);
    static const float points[12] = {0, 0, 0, 0.5f, 2, 0, 0, 0.5f, 2, 2, 0, 0.5f};
    static const uint32_t counts[] = {3};
    SceneFixture *f = fixture_create();
    fixture_curves(f, SCENE_CURVE_LINEAR, false, points, counts, 1);
    fixture_instance(f, 0, fixture_material(f, "m"), mat4_identity());
    Tracer t = tracer_create(&f->scene, NULL, 8);
    static const float at[3][2] = {{-0.3f, 0.1f}, {2.2f, -0.2f}, {2.1f, 2.3f}};
    static const float centre[3][2] = {{0, 0}, {2, 0}, {2, 2}};
    for (int i = 0; i < 3; ++i) {
        SurfaceHit hit;
        RayDiff diff = {.dOdx = {0.01f, 0, 0}, .dOdy = {0, -0.01f, 0}};
        Ray ray = ray_to(f3(at[i][0], at[i][1], 4), f3(at[i][0], at[i][1], 0));
        assert_true(trace(&t, f, &ray, &diff, &hit));
        float3 n = f3_scale(f3_sub(hit.P, f3(centre[i][0], centre[i][1], 0)), 2.0f);
        assert_near((double)f3_length(n), 1.0, 1e-5, "radius");
        assert_near((double)f3_length(f3_sub(n, hit.N)), 0.0, 1e-5, "normal");
        assert_near((double)hit.dNdx.x, 0.02, 1e-5, "dN = dP / r");
        assert_near((double)hit.dNdy.y, -0.02, 1e-5, "dN = dP / r");
    }
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* --- bent ones: a solver in double precision -------------------------------------------------------------- */

typedef struct Exact {
    double p[4][4]; /* Bezier control points */
    double to_object[3][4];
} Exact;

typedef struct V3 {
    double v[3];
} V3;

static V3 minus(V3 a, V3 b)
{
    return (V3){{a.v[0] - b.v[0], a.v[1] - b.v[1], a.v[2] - b.v[2]}};
}

static double dot(V3 a, V3 b)
{
    return a.v[0] * b.v[0] + a.v[1] * b.v[1] + a.v[2] * b.v[2];
}

static V3 cross(V3 a, V3 b)
{
    return (V3){{a.v[1] * b.v[2] - a.v[2] * b.v[1], a.v[2] * b.v[0] - a.v[0] * b.v[2],
                 a.v[0] * b.v[1] - a.v[1] * b.v[0]}};
}

static V3 unit(V3 a)
{
    double l = sqrt(dot(a, a));
    return (V3){{a.v[0] / l, a.v[1] / l, a.v[2] / l}};
}

static void at_u(const Exact *e, double u, V3 *out_c, V3 *out_d, double *out_r)
{
    double w = 1 - u, b[4] = {w * w * w, 3 * w * w * u, 3 * w * u * u, u * u * u};
    double d[4] = {-3 * w * w, 3 * w * (w - 2 * u), 3 * u * (2 * w - u), 3 * u * u};
    *out_r = 0;
    for (int i = 0; i < 3; ++i)
        out_c->v[i] = out_d->v[i] = 0;
    for (int k = 0; k < 4; ++k) {
        *out_r += b[k] * e->p[k][3];
        for (int i = 0; i < 3; ++i) {
            out_c->v[i] += b[k] * e->p[k][i];
            out_d->v[i] += d[k] * e->p[k][i];
        }
    }
}

static V3 to_object(const Exact *e, V3 p, double w)
{
    V3 out;
    for (int i = 0; i < 3; ++i)
        out.v[i] = e->to_object[i][0] * p.v[0] + e->to_object[i][1] * p.v[1] +
                   e->to_object[i][2] * p.v[2] + w * e->to_object[i][3];
    return out;
}

/* What makes the point at t of the ray lie on the circle at u: in its plane, at its radius. */
static void residual(const Exact *e, V3 O, V3 D, double u, double t, double out[2])
{
    V3 c, d, x = {{O.v[0] + t * D.v[0], O.v[1] + t * D.v[1], O.v[2] + t * D.v[2]}};
    double r;
    at_u(e, u, &c, &d, &r);
    x = minus(to_object(e, x, 1.0), c);
    out[0] = dot(x, d);
    out[1] = dot(x, x) - r * r;
}

/* Newton's method from a good start. */
static void solve(const Exact *e, V3 O, V3 D, double *u, double *t)
{
    for (int i = 0; i < 12; ++i) {
        const double h = 1e-6;
        double f[2], fu[2], ft[2];
        residual(e, O, D, *u, *t, f);
        residual(e, O, D, *u + h, *t, fu);
        residual(e, O, D, *u, *t + h, ft);
        double a = (fu[0] - f[0]) / h, b = (ft[0] - f[0]) / h, c = (fu[1] - f[1]) / h,
               d = (ft[1] - f[1]) / h, det = a * d - b * c;
        *u -= (d * f[0] - b * f[1]) / det;
        *t -= (a * f[1] - c * f[0]) / det;
    }
}

typedef struct Found {
    V3 P;
    double u, across;
} Found;

static V3 to_v3(float3 a)
{
    return (V3){{(double)a.x, (double)a.y, (double)a.z}};
}

/* The pixel (dx, dy) away. */
static Found find(const Exact *e, const Ray *ray, const RayDiff *diff, double dx, double dy,
                  const SurfaceHit *near, double t)
{
    V3 O = to_v3(ray->origin), D = to_v3(ray->direction), c, d;
    V3 ox = to_v3(diff->dOdx), oy = to_v3(diff->dOdy), x = to_v3(diff->dDdx), y = to_v3(diff->dDdy);
    for (int i = 0; i < 3; ++i) {
        O.v[i] += dx * ox.v[i] + dy * oy.v[i];
        D.v[i] += dx * x.v[i] + dy * y.v[i];
    }
    Found f = {.u = (double)near->b1};
    double r;
    solve(e, O, D, &f.u, &t);
    for (int i = 0; i < 3; ++i)
        f.P.v[i] = O.v[i] + t * D.v[i];
    at_u(e, f.u, &c, &d, &r);
    V3 side = unit(cross(d, to_object(e, D, 0.0)));
    f.across = dot(minus(to_object(e, f.P, 1.0), c), side) / r;
    return f;
}

/* The normal from neighbouring points, on the side of the viewer. */
static V3 normal_at(const Exact *e, const Ray *ray, const RayDiff *diff, double dx, double dy,
                    const SurfaceHit *near, double t)
{
    const double h = 0.01;
    V3 a =
        minus(find(e, ray, diff, dx + h, dy, near, t).P, find(e, ray, diff, dx - h, dy, near, t).P);
    V3 b =
        minus(find(e, ray, diff, dx, dy + h, near, t).P, find(e, ray, diff, dx, dy - h, near, t).P);
    V3 n = unit(cross(a, b));
    return dot(n, to_v3(ray->direction)) < 0 ? n : (V3){{-n.v[0], -n.v[1], -n.v[2]}};
}

static void assert_v3(float3 got, V3 a, V3 b, double scale, double tolerance, const char *what)
{
    const float v[3] = {got.x, got.y, got.z};
    for (int i = 0; i < 3; ++i)
        assert_near((double)v[i], (a.v[i] - b.v[i]) * scale, tolerance, what);
}

static void compare(const Exact *e, const Ray *ray, const RayDiff *diff, const SurfaceHit *hit,
                    double t)
{
    const double h = 0.1;
    const V3 zero = {{0, 0, 0}};
    Found at = find(e, ray, diff, 0, 0, hit, t);
    assert_v3(hit->P, at.P, zero, 1.0, 1e-5, "P");
    assert_near((double)hit->b1, at.u, 1e-4, "u");
    assert_near((double)hit->b2, at.across, 1e-4, "across");
    assert_v3(hit->N, normal_at(e, ray, diff, 0, 0, hit, t), zero, 1.0, 1e-3, "N");
    Found x[2] = {find(e, ray, diff, -h, 0, hit, t), find(e, ray, diff, h, 0, hit, t)},
          y[2] = {find(e, ray, diff, 0, -h, hit, t), find(e, ray, diff, 0, h, hit, t)};
    double step = 1.0 / (2.0 * h);
    assert_v3(hit->dPdx, x[1].P, x[0].P, step, 1e-5, "dPdx");
    assert_v3(hit->dPdy, y[1].P, y[0].P, step, 1e-5, "dPdy");
    assert_near((double)hit->db1dx, (x[1].u - x[0].u) * step, 2e-5, "du/dx");
    assert_near((double)hit->db1dy, (y[1].u - y[0].u) * step, 2e-5, "du/dy");
    assert_near((double)hit->db2dx, (x[1].across - x[0].across) * step, 2e-4, "across by x");
    assert_near((double)hit->db2dy, (y[1].across - y[0].across) * step, 2e-4, "across by y");
    assert_v3(hit->dNdx, normal_at(e, ray, diff, h, 0, hit, t),
              normal_at(e, ray, diff, -h, 0, hit, t), step, 3e-4, "dNdx");
    assert_v3(hit->dNdy, normal_at(e, ray, diff, 0, h, hit, t),
              normal_at(e, ray, diff, 0, -h, hit, t), step, 3e-4, "dNdy");
}

static void set_exact(Exact *e, SceneFixture *f)
{
    const float *p = f->meshes[0].curves->points;
    for (int k = 0; k < 4; ++k)
        for (int i = 0; i < 4; ++i)
            e->p[k][i] = (double)p[4 * k + i];
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 4; ++k)
            e->to_object[i][k] = (double)f->instances[0].world_to_object.m[i][k];
}

static void check_bent(mat4 transform, uint64_t seed)
{
    static const float points[16] = {0, 0,     0,    0.1f,  1, 0.5f, 0.1f, 0.16f,
                                     2, -0.3f, 0.4f, 0.13f, 3, 0.2f, 0,    0.2f};
    static const uint32_t counts[] = {4};
    SceneFixture *f = fixture_create();
    fixture_curves(f, SCENE_CURVE_BEZIER, false, points, counts, 1);
    fixture_instance(f, 0, fixture_material(f, "m"), transform);
    Exact e;
    Tracer t = tracer_create(&f->scene, NULL, 8);
    set_exact(&e, f);
    uint32_t compared = 0;
    for (int i = 0; i < 400; ++i) {
        CurvePoint c;
        curve_eval(&f->meshes[0], 0, random_in(&seed, 0.1f, 0.9f), 0.0f, &c);
        float3 aim = f3_add(c.P, f3(random_in(&seed, -0.1f, 0.1f), random_in(&seed, -0.1f, 0.1f),
                                    random_in(&seed, -0.1f, 0.1f)));
        float3 from = f3_add(aim, f3(random_in(&seed, -2, 2), random_in(&seed, -2, 2), 3));
        Ray ray = ray_to(mat4_point(&transform, from), mat4_point(&transform, aim));
        float3 s, v;
        f3_frame(ray.direction, &s, &v);
        RayDiff diff = {f3_scale(s, 1e-3f), f3_scale(v, 1e-3f), f3_scale(s, 1e-3f),
                        f3_scale(v, 2e-3f), false};
        SurfaceHit hit;
        if (!trace(&t, f, &ray, &diff, &hit) || hit.b1 < 0.02f || hit.b1 > 0.98f ||
            f3_dot(hit.N, ray.direction) > -0.3f)
            continue;
        compare(&e, &ray, &diff, &hit, (double)t.hits.t[0]);
        ++compared;
    }
    assert_true(compared > 100);
    tracer_destroy(&t);
    fixture_destroy(f);
}

static void test_curves_bent_agree_with_differences(void **state)
{
    SORT_UNUSED(state);
    check_bent(mat4_identity(), 1);
    mat4 turned = mat4_mul(mat4_translate(f3(1, -2, 0.5f)), mat4_rotate(f3(1, 2, 3), 1.1f));
    check_bent(turned, 2);
    check_bent(mat4_mul(turned, mat4_scale(f3(0.8f, 1.3f, -1.1f))), 3);
}

/* --- ribbons ------------------------------------------------------------------------------------------------ */

/* Flat in the plane across the ray; the shading normal is the tube's. */
static void test_curves_ribbons_face_the_viewer(void **state)
{
    SORT_UNUSED(state);
    const float r = 0.25f;
    for (size_t b = 0; b < SORT_COUNT_OF(bases); ++b) {
        SceneFixture *f = straight_scene(bases[b], true, r);
        Tracer t = tracer_create(&f->scene, NULL, 8);
        for (int turn = 0; turn < 8; ++turn) {
            float a = 0.785f * (float)turn;
            float3 z = f3(0, cosf(a), sinf(a)),
                   y = f3(0, sinf(a), -cosf(a)); /* cross(z, x) is -y */
            for (float h = -0.24f; h < 0.25f; h += 0.06f) {
                SurfaceHit hit;
                float3 centre = f3_madd(f3(1.2f, 0, 0), h, y);
                RayDiff diff = {.dOdx = {0.01f, 0, 0}, .dOdy = f3_scale(y, 0.01f)};
                Ray ray = ray_to(f3_madd(centre, 4, z), centre);
                assert_true(trace(&t, f, &ray, &diff, &hit));
                assert_near((double)t.hits.t[0], 4.0, 1e-5, "distance");
                assert_near((double)f3_dot(hit.Ng, z), 1.0, 1e-5, "faces");
                assert_near((double)f3_dot(hit.N, y), (double)(h / r), 1e-5, "rounded");
                assert_near((double)fabsf(hit.b2), (double)fabsf(h / r), 1e-5, "across");
                assert_near((double)hit.db1dx, 0.01 / 3.0, 1e-6, "du/dx");
                assert_near((double)f3_dot(hit.dNdy, y), 0.01 / (double)r, 1e-5, "dNdy");
                SurfaceHit again;
                float3 away = f3_normalize(f3_madd(f3_scale(y, h > 0 ? -1.0f : 1.0f), 0.1f, z));
                SurfacePoint point = hit_point(&hit);
                Ray out = {.origin = ray_leave(&point, away), .direction = away, .t_max = INFINITY};
                assert_false(trace(&t, f, &out, NULL, &again));
            }
        }
        tracer_destroy(&t);
        fixture_destroy(f);
    }
}

/* --- what happens at a fibre ------------------------------------------------------------------------------------ */

/* Light that a fibre reflects leaves about the mirror direction of its surface: `across` is the offset that the
 * closure wants, with its sign. */
static void test_curves_reflect_like_their_surface(void **state)
{
    SORT_UNUSED(state);
    static const float points[16] = {0, 0, 0, 0.1f, 1, 0, 0, 0.1f, 2, 0, 0, 0.1f, 3, 0, 0, 0.1f};
    static const uint32_t counts[] = {4};
    SceneFixture *f = fixture_create();
    fixture_curves(f, SCENE_CURVE_BEZIER, false, points, counts, 1);
    fixture_instance(f, 0, fixture_material(f, "m"), mat4_rotate(f3(1, 1, 0), 0.4f));
    Tracer t = tracer_create(&f->scene, NULL, 8);
    for (float h = -0.06f; h < 0.07f; h += 0.03f) {
        SurfaceHit hit;
        const mat4 *m = &f->instances[0].object_to_world;
        Ray ray = ray_to(mat4_point(m, f3(1.2f, h, 4)), mat4_point(m, f3(1.4f, h, 0)));
        assert_true(trace(&t, f, &ray, NULL, &hit));
        /* absorption 1e3: the reflection alone; narrow */
        const float args[] = {1e3f,  1e3f, 1e3f,   0.05f,   0.05f,   0,
                              1.55f, 0,    hit.b2, hit.T.x, hit.T.y, hit.T.z};
        OnePoint bsdf;
        one_init(&bsdf, f3_neg(hit.I), hit.Ng_front, 0);
        one_add_closure(&bsdf, "Hair", spectrum_splat(1.0f), args, 1);
        float3 mirror = f3_madd(hit.I, -2.0f * f3_dot(hit.I, hit.N), hit.N);
        float at = one_eval(&bsdf, mirror, NULL).c[0];
        float3 over = f3_madd(mirror, 0.3f, f3_cross(hit.T, hit.N)),
               under = f3_madd(mirror, -0.3f, f3_cross(hit.T, hit.N));
        assert_true(at > 4.0f * one_eval(&bsdf, f3_normalize(over), NULL).c[0]);
        assert_true(at > 4.0f * one_eval(&bsdf, f3_normalize(under), NULL).c[0]);
    }
    tracer_destroy(&t);
    fixture_destroy(f);
}

/* Points that coincide, and radii of nothing, make no numbers that are none. */
static void test_curves_degenerate_stay_finite(void **state)
{
    SORT_UNUSED(state);
    static const float same[16] = {1, 1, 1, 0.5f, 1, 1, 1, 0.5f, 1, 1, 1, 0.5f, 1, 1, 1, 0.5f};
    static const float ends[16] = {0, 0, 0, 0.3f, 0, 0, 0, 0.3f, 2, 2, 2, 0.0f, 2, 2, 2, 0.0f};
    static const uint32_t counts[] = {4};
    const float *const cases[] = {same, ends};
    for (size_t b = 0; b < SORT_COUNT_OF(bases); ++b)
        for (int c = 0; c < 4; ++c) {
            SceneFixture *f = fixture_create();
            fixture_curves(f, bases[b], c & 1, cases[c >> 1], counts, 1);
            fixture_instance(f, 0, fixture_material(f, "m"), mat4_identity());
            uint64_t seed = 5;
            Tracer t = tracer_create(&f->scene, NULL, 8);
            for (int i = 0; i < 300; ++i) {
                float3 aim = f3_splat(random_in(&seed, -0.3f, 2.2f));
                aim = f3_add(aim,
                             f3(random_in(&seed, -0.3f, 0.3f), random_in(&seed, -0.3f, 0.3f), 0));
                Ray ray = ray_to(f3(4, -3, 5), aim);
                RayDiff diff = {.dDdx = {1e-3f, 0, 0}, .dDdy = {0, 1e-3f, 0}};
                SurfaceHit hit;
                if (!trace(&t, f, &ray, &diff, &hit))
                    continue;
                assert_true(f3_is_finite(hit.P) && f3_is_finite(hit.N) && f3_is_finite(hit.T));
                assert_true(f3_is_finite(hit.dNdx) && f3_is_finite(hit.dTdy));
                assert_true(isfinite(hit.b2) && isfinite(hit.db1dx) && isfinite(hit.db2dy));
                assert_true(f3_dot(hit.Ng, hit.I) < 0.0f);
            }
            tracer_destroy(&t);
            fixture_destroy(f);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_curves_list_their_segments),
        cmocka_unit_test(test_curves_weigh_points_as_they_bend),
        cmocka_unit_test(test_curves_straight_are_cylinders),
        cmocka_unit_test(test_curves_tapered_are_cones),
        cmocka_unit_test(test_curves_linear_have_round_ends),
        cmocka_unit_test(test_curves_bent_agree_with_differences),
        cmocka_unit_test(test_curves_ribbons_face_the_viewer),
        cmocka_unit_test(test_curves_reflect_like_their_surface),
        cmocka_unit_test(test_curves_degenerate_stay_finite),
    };
    accel_thread_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
