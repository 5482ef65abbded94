#include "sort/scene/motion.h"

#include "base/check.h"
#include "ssl/rt/rt.h"
#include <math.h>

MotionTime motion_time(uint32_t key_count, float time)
{
    ASSERT(key_count >= 2);
    float segments = (float)(key_count - 1), scaled = time * segments;
    float key = fminf(fmaxf(floorf(scaled), 0.0f), segments - 1.0f);
    ASSERT(key >= 0.0f && key < segments);
    return (MotionTime){(uint32_t)key, scaled - key};
}

mat4 motion_linear(const mat4 *keys, uint32_t key_count, float time)
{
    MotionTime at = motion_time(key_count, time);
    const mat4 *a = &keys[at.key], *b = a + 1;
    mat4 m;
    for (int row = 0; row < 4; ++row)
        for (int column = 0; column < 4; ++column)
            m.m[row][column] =
                (1.0f - at.fraction) * a->m[row][column] + at.fraction * b->m[row][column];
    return m;
}

static float3 column(const mat4 *m, int k)
{
    return f3(m->m[0][k], m->m[1][k], m->m[2][k]);
}

/* to from^-1, without the translations. */
static mat4 turn_between(const mat4 *from, const mat4 *to)
{
    mat4 a = *from, b = *to;
    for (int k = 0; k < 3; ++k)
        a.m[k][3] = b.m[k][3] = 0.0f;
    return mat4_mul(b, mat4_transpose(a));
}

float motion_turn_cosine(const mat4 *from, const mat4 *to)
{
    float trace = 0.0f;
    for (int k = 0; k < 3; ++k)
        trace += f3_dot(column(from, k), column(to, k));
    return 0.5f * (trace - 1.0f);
}

mat4 motion_rigid(const mat4 *keys, uint32_t key_count, float time)
{
    MotionTime at = motion_time(key_count, time);
    const mat4 *a = &keys[at.key], *b = a + 1;
    mat4 turn = turn_between(a, b), m = *a;
    float3 p = column(a, 3), q = column(b, 3);
    /* twice the sine times the axis */
    float3 axis =
        f3(turn.m[2][1] - turn.m[1][2], turn.m[0][2] - turn.m[2][0], turn.m[1][0] - turn.m[0][1]);
    float angle = rt_atan2(0.5f * f3_length(axis), motion_turn_cosine(a, b));
    if (f3_length2(axis) > 0.0f && at.fraction > 0.0f) {
        for (int k = 0; k < 3; ++k)
            m.m[k][3] = 0.0f;
        m = mat4_mul(mat4_rotate(axis, angle * at.fraction), m);
    }
    float3 position = f3_add(f3_scale(p, 1.0f - at.fraction), f3_scale(q, at.fraction));
    m.m[0][3] = position.x, m.m[1][3] = position.y, m.m[2][3] = position.z;
    return m;
}

static double determinant(const double c[3][3])
{
    return c[0][0] * (c[1][1] * c[2][2] - c[1][2] * c[2][1]) -
           c[0][1] * (c[1][0] * c[2][2] - c[1][2] * c[2][0]) +
           c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0]);
}

/* The determinant is linear in each column. Coefficient k of Bernstein's is the mean over all ways to
 * take k columns from b and the others from a. */
static void bernstein(const mat4 *a, const mat4 *b, double out[4])
{
    static const int ways[4] = {1, 3, 3, 1};
    for (int k = 0; k < 4; ++k)
        out[k] = 0.0;
    for (int choice = 0; choice < 8; ++choice) {
        double c[3][3];
        int taken = 0;
        for (int k = 0; k < 3; ++k) {
            bool is_b = choice >> k & 1;
            taken += is_b;
            for (int row = 0; row < 3; ++row)
                c[row][k] = (double)(is_b ? b : a)->m[row][k];
        }
        out[taken] += determinant(c) / ways[taken];
    }
}

bool motion_is_invertible(const mat4 *keys, uint32_t key_count)
{
    for (uint32_t i = 0; i + 1 < key_count; ++i) {
        double d[4];
        bernstein(&keys[i], &keys[i + 1], d);
        for (int k = 0; k < 4; ++k)
            if (!(d[k] * d[0] > 0.0) || !isfinite(d[k]))
                return false;
    }
    return true;
}
