/* Small vectors. Plain structs, value semantics, header only. Names follow the literature. */
#ifndef SORT_BASE_VEC_H
#define SORT_BASE_VEC_H

#include "base/compiler.h"
#include <math.h>

typedef struct float2 {
    float x, y;
} float2;
typedef struct float3 {
    float x, y, z;
} float3;

static inline float2 f2(float x, float y)
{
    return (float2){x, y};
}
static inline float f2_length(float2 v)
{
    return sqrtf(v.x * v.x + v.y * v.y);
}
static inline float3 f3(float x, float y, float z)
{
    return (float3){x, y, z};
}
static inline float3 f3_splat(float s)
{
    return (float3){s, s, s};
}
static inline float3 f3_add(float3 a, float3 b)
{
    return f3(a.x + b.x, a.y + b.y, a.z + b.z);
}
static inline float3 f3_sub(float3 a, float3 b)
{
    return f3(a.x - b.x, a.y - b.y, a.z - b.z);
}
static inline float3 f3_mul(float3 a, float3 b)
{
    return f3(a.x * b.x, a.y * b.y, a.z * b.z);
}
static inline float3 f3_scale(float3 a, float s)
{
    return f3(a.x * s, a.y * s, a.z * s);
}
/* Returns a + s b. */
static inline float3 f3_madd(float3 a, float s, float3 b)
{
    return f3(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}
static inline float3 f3_neg(float3 a)
{
    return f3(-a.x, -a.y, -a.z);
}
static inline float f3_dot(float3 a, float3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline float3 f3_cross(float3 a, float3 b)
{
    return f3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
static inline float f3_length2(float3 a)
{
    return f3_dot(a, a);
}
static inline float f3_length(float3 a)
{
    return sqrtf(f3_dot(a, a));
}
/* The zero vector stays zero. */
static inline float3 f3_normalize(float3 a)
{
    float length = f3_length(a);
    return length > 0.0f ? f3_scale(a, 1.0f / length) : f3(0, 0, 0);
}
static inline float3 f3_lerp(float3 a, float3 b, float t)
{
    return f3_add(f3_scale(a, 1.0f - t), f3_scale(b, t));
}
/* One instruction each, while fminf and fmaxf may be calls. If `a` is NaN, the result is `b`. */
static inline float minf(float a, float b)
{
    return a < b ? a : b;
}
static inline float maxf(float a, float b)
{
    return a > b ? a : b;
}
static inline uint32_t minu(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
static inline float f3_max_component(float3 a)
{
    return maxf(a.x, maxf(a.y, a.z));
}
/* Returns the absolute values of the components: |a . b| <= f3_abs(a) . f3_abs(b). */
static inline float3 f3_abs(float3 a)
{
    return f3(fabsf(a.x), fabsf(a.y), fabsf(a.z));
}
static inline bool f3_is_finite(float3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}
/* Returns whether the length is 1 but for rounding; for assertions. */
static inline bool f3_is_unit(float3 a)
{
    return fabsf(f3_length2(a) - 1.0f) < 1e-3f;
}
static inline float clampf(float x, float lo, float hi)
{
    return minf(maxf(x, lo), hi);
}

/* Completes a unit normal to a right-handed orthonormal frame; branchless, continuous except at -z [Duff2017]. */
static inline void f3_frame(float3 n, float3 *out_s, float3 *out_t)
{
    float sign = copysignf(1.0f, n.z);
    float a = -1.0f / (sign + n.z);
    float b = n.x * n.y * a;
    *out_s = f3(1.0f + sign * n.x * n.x * a, sign * b, -sign * n.x);
    *out_t = f3(b, sign + n.y * n.y * a, -n.y);
}

#endif
