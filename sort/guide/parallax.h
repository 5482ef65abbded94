/* Directions as they are seen from the centre of a region. What light comes from, such as the gap of a door, is in
 * another direction from each place, but in one direction from the centre: that of the point at which a ray meets a
 * sphere around the centre, as large as light is far away. Pure. */
#ifndef SORT_GUIDE_PARALLAX_H
#define SORT_GUIDE_PARALLAX_H

#include "base/vec.h"

typedef struct GuideSphere {
    float3 centre;
    float radius; /* 0: unknown; directions stay as they are */
} GuideSphere;

/* Places further from the centre, in radii, have directions as they are: seen from there, the sphere is no picture of what is
 * around. */
#define PARALLAX_REACH 0.8f

static inline bool parallax_applies(const GuideSphere *s, float3 from_centre)
{
    float reach = PARALLAX_REACH * s->radius;
    return f3_length2(from_centre) < reach * reach;
}

/* Chooses between vectors without a branch, for loops over points. */
static inline float3 parallax_choose(bool first, float3 a, float3 b)
{
    return f3(first ? a.x : b.x, first ? a.y : b.y, first ? a.z : b.z);
}

/* Returns the direction from the centre of where a ray meets the sphere. out_stretch: solid angle from the centre for the solid
 * angle from `at`. */
static inline float3 parallax_enter(const GuideSphere *s, float3 at, float3 direction,
                                    float *out_stretch)
{
    float3 from_centre = f3_sub(at, s->centre);
    bool applies = parallax_applies(s, from_centre);
    float along = f3_dot(from_centre, direction);
    float inside = maxf(s->radius * s->radius - f3_length2(from_centre), 0.0f);
    float root = sqrtf(along * along + inside), t = root - along;
    float3 met = f3_add(from_centre, f3_scale(direction, t));
    /* The ray meets the sphere at the cosine root / radius. */
    float stretch = t * t / (s->radius * root);
    *out_stretch = applies ? stretch : 1.0f;
    return parallax_choose(applies, f3_normalize(met), direction);
}

/* Returns the direction from `at` of the point of the sphere that is in this direction from the centre. */
static inline float3 parallax_leave(const GuideSphere *s, float3 at, float3 direction)
{
    float3 from_centre = f3_sub(at, s->centre);
    float3 to = f3_normalize(f3_sub(f3_scale(direction, s->radius), from_centre));
    return parallax_choose(parallax_applies(s, from_centre), to, direction);
}

#endif
