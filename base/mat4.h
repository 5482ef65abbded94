/* 4x4 matrices, row-major storage m[row][column], acting on column vectors: p' = M p. So m[0][3],
 * m[1][3], m[2][3] are the translation, and mat4_mul(a, b) applies b first. Right-handed. */
#ifndef SORT_BASE_MAT4_H
#define SORT_BASE_MAT4_H

#include "base/vec.h"

typedef struct mat4 {
    float m[4][4];
} mat4;

mat4 mat4_identity(void);
mat4 mat4_translate(float3 offset);
mat4 mat4_scale(float3 factors);
/* Returns a rotation by angle_rad around `axis` (not zero, need not be unit), counter-clockwise seen from the
 * tip of the axis. */
mat4 mat4_rotate(float3 axis, float angle_rad);
/* Converts a unit quaternion (x, y, z, w). */
mat4 mat4_from_quaternion(float x, float y, float z, float w);
/* Returns translate * rotate * scale, the TRS of glTF. The quaternion is as above, and is normalised here. */
mat4 mat4_trs(float3 translation, const float quaternion[4], float3 scale);
/* Returns a camera-to-world transform: the camera at `eye` looks along -z of its own frame towards `target`,
 * with +y near `up`. If `up` is parallel to the view, another axis is chosen. eye != target. */
mat4 mat4_look_at(float3 eye, float3 target, float3 up);
mat4 mat4_mul(mat4 a, mat4 b);
mat4 mat4_transpose(mat4 a);
/* Inverts a matrix, in double precision. Returns false, with the identity in *out_inverse, if there is no
 * inverse. */
bool mat4_inverse(mat4 a, mat4 *out_inverse);
/* Returns the determinant of the upper left 3x3; if it is negative, the transform mirrors. */
float mat4_determinant3(mat4 a);
/* Returns whether the bottom row is 0 0 0 1. */
bool mat4_is_affine(mat4 a);
bool mat4_is_finite(mat4 a);

/* Transforms a point by an affine matrix, without division by w. */
static inline float3 mat4_point(const mat4 *a, float3 p)
{
    return f3(a->m[0][0] * p.x + a->m[0][1] * p.y + a->m[0][2] * p.z + a->m[0][3],
              a->m[1][0] * p.x + a->m[1][1] * p.y + a->m[1][2] * p.z + a->m[1][3],
              a->m[2][0] * p.x + a->m[2][1] * p.y + a->m[2][2] * p.z + a->m[2][3]);
}

static inline float3 mat4_vector(const mat4 *a, float3 v)
{
    return f3(a->m[0][0] * v.x + a->m[0][1] * v.y + a->m[0][2] * v.z,
              a->m[1][0] * v.x + a->m[1][1] * v.y + a->m[1][2] * v.z,
              a->m[2][0] * v.x + a->m[2][1] * v.y + a->m[2][2] * v.z);
}

/* Transforms a normal. Takes the INVERSE of the transform, whose transpose maps normals. The result is not
 * normalised. */
static inline float3 mat4_normal(const mat4 *inverse, float3 n)
{
    return f3(inverse->m[0][0] * n.x + inverse->m[1][0] * n.y + inverse->m[2][0] * n.z,
              inverse->m[0][1] * n.x + inverse->m[1][1] * n.y + inverse->m[2][1] * n.z,
              inverse->m[0][2] * n.x + inverse->m[1][2] * n.y + inverse->m[2][2] * n.z);
}

/* Transforms a point with division by w, for projections. w must not be 0. */
float3 mat4_project(const mat4 *a, float3 p);

#endif
