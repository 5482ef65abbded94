/* Motion over the shutter. Keys lie at even times: the first when the shutter opens (time 0), the last
 * when it closes (time 1).
 *
 *   objects   matrices are interpolated linearly, as Embree does it: points move on straight lines
 *             between keys
 *   cameras   position linearly, rotation at constant speed about one axis
 *
 * Pure functions, any thread. */
#ifndef SORT_SCENE_MOTION_H
#define SORT_SCENE_MOTION_H

#include "base/mat4.h"

/* Keys that turn a camera by 120 degrees or more are refused: the shorter way becomes a guess. */
#define MOTION_TURN_COSINE_MIN (-0.5f)

/* Between keys `key` and `key` + 1. */
typedef struct MotionTime {
    uint32_t key;
    float fraction; /* [0, 1] */
} MotionTime;

/* key_count >= 2; time in [0, 1]. The same segment as Embree's. */
MotionTime motion_time(uint32_t key_count, float time);

/* Element by element between the keys. */
mat4 motion_linear(const mat4 *keys, uint32_t key_count, float time);
/* Keys are rotations and translations; so is the result. */
mat4 motion_rigid(const mat4 *keys, uint32_t key_count, float time);
/* Cosine of the angle between two rotations. */
float motion_turn_cosine(const mat4 *from, const mat4 *to);
/* Whether motion_linear has an inverse at all times, by the signs of the Bernstein coefficients of the
 * determinant, a cubic between two keys: true is certain, false may be too strict. */
bool motion_is_invertible(const mat4 *keys, uint32_t key_count);

#endif
