/* Directions as points of the unit square, by the octahedral map [Cigolle2014]: a direction is scaled onto the octahedron
 * |x| + |y| + |z| = 1, whose upper half is seen from above and whose lower half is folded outwards. It takes no
 * trigonometric functions. Areas change by a factor of up to 5.2, smoothly, for which densities account. Pure. */
#ifndef SORT_GUIDE_SPHERE_SQUARE_H
#define SORT_GUIDE_SPHERE_SQUARE_H

#include "base/vec.h"

/* Returns the point of [0, 1)^2 of a unit direction. */
static inline float2 square_of_direction(float3 d)
{
    const float below_one = 0x1.fffffep-1f;
    float scale = 1.0f / (fabsf(d.x) + fabsf(d.y) + fabsf(d.z));
    float x = d.x * scale, y = d.y * scale;
    float fold_x = copysignf(1.0f - fabsf(y), d.x), fold_y = copysignf(1.0f - fabsf(x), d.y);
    float u = d.z < 0.0f ? fold_x : x, v = d.z < 0.0f ? fold_y : y;
    return f2(clampf(0.5f * u + 0.5f, 0.0f, below_one), clampf(0.5f * v + 0.5f, 0.0f, below_one));
}

/* Returns the unit direction of a point of the square. */
static inline float3 direction_of_square(float2 p)
{
    float x = 2.0f * p.x - 1.0f, y = 2.0f * p.y - 1.0f;
    float z = 1.0f - fabsf(x) - fabsf(y), below = maxf(-z, 0.0f);
    x -= copysignf(below, x);
    y -= copysignf(below, y);
    return f3_normalize(f3(x, y, z));
}

/* Returns the density per steradian of a density of one in the square, at a unit direction. */
static inline float square_density(float3 d)
{
    float length = fabsf(d.x) + fabsf(d.y) + fabsf(d.z);
    return 0.25f / (length * length * length);
}

#endif
