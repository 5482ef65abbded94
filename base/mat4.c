#include "base/mat4.h"

#include "ssl/rt/rt.h"

mat4 mat4_identity(void)
{
    return (mat4){{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
}

mat4 mat4_translate(float3 offset)
{
    return (mat4){{{1, 0, 0, offset.x}, {0, 1, 0, offset.y}, {0, 0, 1, offset.z}, {0, 0, 0, 1}}};
}

mat4 mat4_scale(float3 factors)
{
    return (mat4){{{factors.x, 0, 0, 0}, {0, factors.y, 0, 0}, {0, 0, factors.z, 0}, {0, 0, 0, 1}}};
}

mat4 mat4_rotate(float3 axis, float angle_rad)
{
    float3 a = f3_normalize(axis);
    float s = rt_sin(0.5f * angle_rad);
    return mat4_from_quaternion(a.x * s, a.y * s, a.z * s, rt_cos(0.5f * angle_rad));
}

mat4 mat4_from_quaternion(float x, float y, float z, float w)
{
    return (mat4){{
        {1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), 0},
        {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), 0},
        {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), 0},
        {0, 0, 0, 1},
    }};
}

mat4 mat4_trs(float3 translation, const float quaternion[4], float3 scale)
{
    float x = quaternion[0], y = quaternion[1], z = quaternion[2], w = quaternion[3];
    float length = sqrtf(x * x + y * y + z * z + w * w);
    float unit = length > 0 ? 1 / length : 0;
    mat4 rotation =
        length > 0 ? mat4_from_quaternion(x * unit, y * unit, z * unit, w * unit) : mat4_identity();
    return mat4_mul(mat4_translate(translation), mat4_mul(rotation, mat4_scale(scale)));
}

mat4 mat4_look_at(float3 eye, float3 target, float3 up)
{
    float3 back = f3_normalize(f3_sub(eye, target));
    float3 right = f3_cross(up, back);
    if (f3_length2(right) < 1e-12f * f3_length2(up) || f3_length2(up) <= 0) {
        float3 other;
        f3_frame(back, &right, &other);
    }
    right = f3_normalize(right);
    float3 above = f3_cross(back, right);
    return (mat4){{
        {right.x, above.x, back.x, eye.x},
        {right.y, above.y, back.y, eye.y},
        {right.z, above.z, back.z, eye.z},
        {0, 0, 0, 1},
    }};
}

mat4 mat4_mul(mat4 a, mat4 b)
{
    mat4 product;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            product.m[i][j] = a.m[i][0] * b.m[0][j] + a.m[i][1] * b.m[1][j] +
                              a.m[i][2] * b.m[2][j] + a.m[i][3] * b.m[3][j];
    return product;
}

mat4 mat4_transpose(mat4 a)
{
    mat4 result;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            result.m[i][j] = a.m[j][i];
    return result;
}

/* Gauss-Jordan with partial pivoting. */
bool mat4_inverse(mat4 a, mat4 *out_inverse)
{
    double rows[4][8];
    *out_inverse = mat4_identity();
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) {
            rows[i][j] = (double)a.m[i][j];
            rows[i][j + 4] = i == j ? 1 : 0;
        }
    for (int column = 0; column < 4; ++column) {
        int pivot = column;
        for (int i = column + 1; i < 4; ++i)
            if (fabs(rows[i][column]) > fabs(rows[pivot][column]))
                pivot = i;
        double largest = rows[pivot][column];
        if (!(fabs(largest) > 0) || !isfinite(largest)) /* the pivot is zero, NaN or infinite */
            return false;
        for (int j = 0; j < 8; ++j) {
            double swapped = rows[pivot][j];
            rows[pivot][j] = rows[column][j];
            rows[column][j] = swapped / largest;
        }
        for (int i = 0; i < 4; ++i) {
            if (i == column)
                continue;
            double factor = rows[i][column];
            for (int j = 0; j < 8; ++j)
                rows[i][j] -= factor * rows[column][j];
        }
    }
    mat4 inverse;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            inverse.m[i][j] = (float)rows[i][j + 4];
    if (!mat4_is_finite(inverse))
        return false;
    *out_inverse = inverse;
    return true;
}

float mat4_determinant3(mat4 a)
{
    float3 x = f3(a.m[0][0], a.m[1][0], a.m[2][0]);
    float3 y = f3(a.m[0][1], a.m[1][1], a.m[2][1]);
    float3 z = f3(a.m[0][2], a.m[1][2], a.m[2][2]);
    return f3_dot(x, f3_cross(y, z));
}

bool mat4_is_affine(mat4 a)
{
    return a.m[3][0] == 0 && a.m[3][1] == 0 && a.m[3][2] == 0 && a.m[3][3] == 1;
}

bool mat4_is_finite(mat4 a)
{
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
            if (!isfinite(a.m[i][j]))
                return false;
    return true;
}

float3 mat4_project(const mat4 *a, float3 p)
{
    float w = a->m[3][0] * p.x + a->m[3][1] * p.y + a->m[3][2] * p.z + a->m[3][3];
    return f3_scale(mat4_point(a, p), 1 / w);
}
