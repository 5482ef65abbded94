/* Derivatives of rays on planes and of unit vectors, for curves; triangles have theirs in sort/scene/triangle.ssl. Header
 * only. */
#ifndef SORT_SHADE_HIT_MATH_H
#define SORT_SHADE_HIT_MATH_H

#include "sort/shade/hit.h"

/* d(v/|v|) for unit = v/|v| and dv: (dv - unit (unit . dv)) / |v|. */
static inline float3 normalize_derivative(float3 unit, float inverse_length, float3 dv)
{
    return f3_scale(f3_madd(dv, -f3_dot(unit, dv), unit), inverse_length);
}

/* Normalises *v and its derivatives; a zero vector becomes `fallback` with derivatives zero. */
static inline void normalize_with_derivatives(float3 *v, float3 *dx, float3 *dy, float3 fallback)
{
    float length = f3_length(*v);
    if (!(length > 0.0f)) {
        *v = fallback;
        *dx = *dy = f3(0, 0, 0);
        return;
    }
    float inverse = 1.0f / length;
    *v = f3_scale(*v, inverse);
    *dx = normalize_derivative(*v, inverse, *dx);
    *dy = normalize_derivative(*v, inverse, *dy);
}

/* The ray's differential where it meets the plane: P_x = O_x + t D_x + t_x D [Igehy1999 eq. 10-12]. */
static inline float3 transfer_to_plane(float3 dO, float3 dD, float t, float3 D, float3 n,
                                       float D_dot_n)
{
    float3 moved = f3_madd(dO, t, dD);
    if (fabsf(D_dot_n) < 1e-12f)
        return f3(0, 0, 0);
    return f3_madd(moved, -f3_dot(moved, n) / D_dot_n, D);
}

/* hit->T from V, made orthogonal to the unit normal: V - N (N . V), and its derivative for HIT_FOOTPRINT. */
static inline void set_tangent(float3 V, float3 dVdx, float3 dVdy, uint32_t parts, SurfaceHit *hit)
{
    float s = f3_dot(hit->N, V);
    hit->T = f3_madd(V, -s, hit->N);
    if (parts & HIT_FOOTPRINT) {
        float sx = f3_dot(hit->dNdx, V) + f3_dot(hit->N, dVdx);
        float sy = f3_dot(hit->dNdy, V) + f3_dot(hit->N, dVdy);
        hit->dTdx = f3_sub(dVdx, f3_add(f3_scale(hit->N, sx), f3_scale(hit->dNdx, s)));
        hit->dTdy = f3_sub(dVdy, f3_add(f3_scale(hit->N, sy), f3_scale(hit->dNdy, s)));
    }
    float3 fallback, unused;
    f3_frame(hit->N, &fallback, &unused);
    normalize_with_derivatives(&hit->T, &hit->dTdx, &hit->dTdy, fallback);
}

static inline float3 absolute_vector(const mat4 *m, float3 v)
{
    const float(*a)[4] = m->m;
    return f3(fabsf(a[0][0]) * v.x + fabsf(a[0][1]) * v.y + fabsf(a[0][2]) * v.z,
              fabsf(a[1][0]) * v.x + fabsf(a[1][1]) * v.y + fabsf(a[1][2]) * v.z,
              fabsf(a[2][0]) * v.x + fabsf(a[2][1]) * v.y + fabsf(a[2][2]) * v.z);
}

/* Bounds, by world coordinate, how far rounding moves a point near P on the way to object space and back: rays are
 * transformed to object space to meet an instance, and its vertices from there. */
static inline float3 instance_error(const SceneInstance *instance, float3 P)
{
    const float operations = 8.0f;
    const mat4 *m = &instance->object_to_world;
    float3 size = f3_add(f3_abs(P), f3_abs(f3(m->m[0][3], m->m[1][3], m->m[2][3])));
    float3 there = absolute_vector(&instance->world_to_object, size);
    return f3_scale(absolute_vector(m, there), operations * RAY_ROUNDING);
}

/* hit_surface for a mesh of curves: completes *hit, in which hit_surface has set the ray's part. Curves have all parts,
 * whatever is asked for; without HIT_FOOTPRINT all derivatives are those of a ray without a width. */
void hit_curve(const SceneMesh *mesh, const SceneInstance *instance, const HitQuery *query,
               const Ray *ray, const RayDiff *diff, SurfaceHit *hit);

#endif
