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
/* By angle_rad around `axis` (need not be unit; not zero), counter-clockwise seen from its tip. */
mat4 mat4_rotate(float3 axis, float angle_rad);
/* From a unit quaternion (x, y, z, w). */
mat4 mat4_from_quaternion(float x, float y, float z, float w);
/* translate * rotate * scale: what glTF calls TRS. Quaternion as above, normalised here. */
mat4 mat4_trs(float3 translation, const float quaternion[4], float3 scale);
/* Camera to world: the camera at `eye` looks along -z of its own frame towards `target`, its +y
 * near `up`. `up` parallel to the view picks another axis. eye != target. */
mat4 mat4_look_at(float3 eye, float3 target, float3 up);
mat4 mat4_mul(mat4 a, mat4 b);
mat4 mat4_transpose(mat4 a);
/* False, with *out the identity, when the matrix has no inverse (computed in double). */
bool mat4_inverse(mat4 a, mat4 *out_inverse);
/* Of the upper left 3x3; negative: the transform mirrors. */
float mat4_determinant3(mat4 a);
/* The bottom row is 0 0 0 1. */
bool mat4_is_affine(mat4 a);
bool mat4_is_finite(mat4 a);

/* Affine only: no division by w. */
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

/* Takes the INVERSE of the transform (its transpose maps normals). Not normalised. */
static inline float3 mat4_normal(const mat4 *inverse, float3 n)
{
    return f3(inverse->m[0][0] * n.x + inverse->m[1][0] * n.y + inverse->m[2][0] * n.z,
              inverse->m[0][1] * n.x + inverse->m[1][1] * n.y + inverse->m[2][1] * n.z,
              inverse->m[0][2] * n.x + inverse->m[1][2] * n.y + inverse->m[2][2] * n.z);
}

/* With the division by w; for projections. w must not be 0. */
float3 mat4_project(const mat4 *a, float3 p);

#endif
