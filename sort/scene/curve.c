#include "sort/scene/curve.h"

#include "base/check.h"
#include "sort/scene/motion.h"

uint64_t curve_segment_count(SceneCurveBasis basis, uint64_t point_count, uint64_t curve_count)
{
    switch (basis) {
    case SCENE_CURVE_LINEAR:
        return point_count - curve_count;
    case SCENE_CURVE_BEZIER:
        return (point_count - curve_count) / 3;
    default:
        return point_count - 3 * curve_count;
    }
}

bool curve_allows_points(SceneCurveBasis basis, uint32_t point_count)
{
    if (basis == SCENE_CURVE_LINEAR)
        return point_count >= 2;
    return point_count >= 4 && (basis != SCENE_CURVE_BEZIER || point_count % 3 == 1);
}

const char *curve_points_rule(SceneCurveBasis basis)
{
    static const char *const rules[] = {"at least 2", "4, 7, 10 ...", "at least 4", "at least 4"};
    return rules[basis];
}

/* --- evaluation ------------------------------------------------------------------------------------ */

/* Four numbers a point, as they lie in the arrays. */
typedef struct Float4 {
    float v[4];
} Float4;

static Float4 blend(const Float4 p[4], float a, float b, float c, float d)
{
    Float4 out;
    for (int k = 0; k < 4; ++k)
        out.v[k] = a * p[0].v[k] + b * p[1].v[k] + c * p[2].v[k] + d * p[3].v[k];
    return out;
}

static Float4 load(const float *points, uint32_t index)
{
    const float *p = points + (size_t)4 * index;
    return (Float4){{p[0], p[1], p[2], p[3]}};
}

/* Point `index` at `time`, linear between the keys. */
static Float4 load_at(const SceneMesh *mesh, uint32_t index, float time)
{
    const SceneCurves *c = mesh->curves;
    if (mesh->later_count == 0)
        return load(c->points, index);
    MotionTime at = motion_time(mesh->later_count + 1, time);
    Float4 a = load(at.key == 0 ? c->points : c->later[at.key - 1], index),
           b = load(c->later[at.key], index);
    for (int k = 0; k < 4; ++k)
        a.v[k] = (1.0f - at.fraction) * a.v[k] + at.fraction * b.v[k];
    return a;
}

/* Converts a segment's control points to those of a Bezier curve. */
static void to_bezier(SceneCurveBasis basis, Float4 p[4])
{
    const float third = 1.0f / 3.0f, sixth = 1.0f / 6.0f;
    Float4 q[4] = {p[0], p[1], p[2], p[3]};
    if (basis == SCENE_CURVE_B_SPLINE) {
        p[0] = blend(q, sixth, 4.0f * sixth, sixth, 0.0f);
        p[1] = blend(q, 0.0f, 2.0f * third, third, 0.0f);
        p[2] = blend(q, 0.0f, third, 2.0f * third, 0.0f);
        p[3] = blend(q, 0.0f, sixth, 4.0f * sixth, sixth);
    } else if (basis == SCENE_CURVE_CATMULL_ROM) {
        p[0] = q[1];
        p[1] = blend(q, -sixth, 1.0f, sixth, 0.0f);
        p[2] = blend(q, 0.0f, sixth, 1.0f, -sixth);
        p[3] = q[2];
    }
}

static float3 xyz(Float4 p)
{
    return f3(p.v[0], p.v[1], p.v[2]);
}

static void eval_linear(Float4 a, Float4 b, float u, CurvePoint *out)
{
    const float3 zero = {0, 0, 0};
    *out = (CurvePoint){.P = f3_lerp(xyz(a), xyz(b), u),
                        .d1 = f3_sub(xyz(b), xyz(a)),
                        .d2 = zero,
                        .d3 = zero,
                        .r = a.v[3] + u * (b.v[3] - a.v[3]),
                        .r1 = b.v[3] - a.v[3]};
}

void curve_eval(const SceneMesh *mesh, uint32_t segment, float u, float time, CurvePoint *out)
{
    const SceneCurves *c = mesh->curves;
    uint32_t first = c->segments[segment];
    if (c->basis == SCENE_CURVE_LINEAR) {
        eval_linear(load_at(mesh, first, time), load_at(mesh, first + 1, time), u, out);
        return;
    }
    Float4 p[4];
    for (uint32_t k = 0; k < 4; ++k)
        p[k] = load_at(mesh, first + k, time);
    to_bezier(c->basis, p);
    float w = 1.0f - u;
    Float4 at = blend(p, w * w * w, 3 * w * w * u, 3 * w * u * u, u * u * u),
           d1 = blend(p, -3 * w * w, 3 * w * (w - 2 * u), 3 * u * (2 * w - u), 3 * u * u),
           d2 = blend(p, 6 * w, 6 * (u - 2 * w), 6 * (w - 2 * u), 6 * u),
           d3 = blend(p, -6, 18, -18, 6);
    *out = (CurvePoint){.P = xyz(at),
                        .d1 = xyz(d1),
                        .d2 = xyz(d2),
                        .d3 = xyz(d3),
                        .r = at.v[3],
                        .r1 = d1.v[3],
                        .r2 = d2.v[3]};
}

static void set4(float out[4], float a, float b, float c, float d)
{
    out[0] = a, out[1] = b, out[2] = c, out[3] = d;
}

uint32_t curve_weights(SceneCurveBasis basis, float u, float out_weights[4], float out_du[4])
{
    float v = 1.0f - u;
    switch (basis) {
    case SCENE_CURVE_LINEAR:
        set4(out_weights, v, u, 0, 0);
        set4(out_du, -1, 1, 0, 0);
        return 2;
    case SCENE_CURVE_BEZIER:
        set4(out_weights, v * v * v, 3 * v * v * u, 3 * v * u * u, u * u * u);
        set4(out_du, -3 * v * v, 3 * v * (v - 2 * u), 3 * u * (2 * v - u), 3 * u * u);
        return 4;
    case SCENE_CURVE_B_SPLINE:
        set4(out_weights, v * v * v / 6, (4 + u * u * (3 * u - 6)) / 6,
             (4 + v * v * (3 * v - 6)) / 6, u * u * u / 6);
        set4(out_du, -v * v / 2, u * (3 * u - 4) / 2, v * (4 - 3 * v) / 2, u * u / 2);
        return 4;
    case SCENE_CURVE_CATMULL_ROM:
        set4(out_weights, -u * v * v / 2, (2 + u * u * (3 * u - 5)) / 2,
             (2 + v * v * (3 * v - 5)) / 2, -v * u * u / 2);
        set4(out_du, v * (2 * u - v) / 2, u * (9 * u - 10) / 2, v * (10 - 9 * v) / 2,
             u * (u - 2 * v) / 2);
        return 4;
    }
    return 0;
}

uint32_t curve_of_segment(const SceneCurves *curves, uint32_t segment)
{
    ASSERT(segment < curves->segment_count);
    uint32_t low = 0, high = curves->curve_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (curves->first_segment[middle] <= segment)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* --- bounds ------------------------------------------------------------------------------------------ */

/* A Bezier curve stays inside the hull of its control points; circles are at most their largest radius about it. */
static void add_segment(const SceneMesh *mesh, const float *points, uint32_t first, float3 *lower,
                        float3 *upper)
{
    uint32_t count = mesh->curves->basis == SCENE_CURVE_LINEAR ? 2 : 4;
    Float4 p[4] = {0};
    for (uint32_t k = 0; k < count; ++k)
        p[k] = load(points, first + k);
    to_bezier(mesh->curves->basis, p);
    float r = 0.0f;
    for (uint32_t k = 0; k < count; ++k)
        r = maxf(r, p[k].v[3]);
    for (uint32_t k = 0; k < count; ++k) {
        *lower = f3(minf(lower->x, p[k].v[0] - r), minf(lower->y, p[k].v[1] - r),
                    minf(lower->z, p[k].v[2] - r));
        *upper = f3(maxf(upper->x, p[k].v[0] + r), maxf(upper->y, p[k].v[1] + r),
                    maxf(upper->z, p[k].v[2] + r));
    }
}

void curve_segment_bounds(const SceneMesh *mesh, uint32_t segment, float3 *out_lower,
                          float3 *out_upper)
{
    const SceneCurves *c = mesh->curves;
    *out_lower = f3_splat(INFINITY);
    *out_upper = f3_splat(-INFINITY);
    for (uint32_t key = 0; key <= mesh->later_count; ++key)
        add_segment(mesh, key == 0 ? c->points : c->later[key - 1], c->segments[segment], out_lower,
                    out_upper);
}

void curve_bounds(const SceneMesh *mesh, float3 *out_lower, float3 *out_upper)
{
    const SceneCurves *c = mesh->curves;
    *out_lower = f3_splat(INFINITY);
    *out_upper = f3_splat(-INFINITY);
    for (uint32_t key = 0; key <= mesh->later_count; ++key)
        for (uint32_t i = 0; i < c->segment_count; ++i)
            add_segment(mesh, key == 0 ? c->points : c->later[key - 1], c->segments[i], out_lower,
                        out_upper);
}
