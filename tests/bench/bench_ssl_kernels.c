/* Compiled by clang -O3 for this machine where clang is there, whatever compiles the rest. */
#include "tests/bench/bench_ssl_frame.h"

#if defined(__clang__)
const char bench_c_compiler[] = "clang " __clang_version__;
#else
const char bench_c_compiler[] = "gcc " __VERSION__;
#endif

/* --- the post's worked example: value, d/dx and d/dy ------------------------------------------- */

static const char practical_ssl[] =
    "float eval_practical(float x1, float x2) {\n"
    "    const float u = x1 * x2 / (x1 + 1.0);\n"
    "    return (sin(u) + log(1.0 + u) - exp(x2)) * (u - tanh(x2));\n"
    "}\n"
    "shader main(out float o, out float dx, out float dy) {\n"
    "    o = eval_practical(global_value<p>.x, global_value<p>.y);\n"
    "    dx = ddx(o);\n"
    "    dy = ddy(o);\n"
    "}\n";

/* Partials that are not finite count as zero, as in SSL. */
static float finite(float x)
{
    return fabsf(x) <= FLT_MAX ? x : 0.0f;
}

#define PRACTICAL                                                                                  \
    float x1 = G(BENCH_P, 0), x2 = G(BENCH_P, 1);                                                  \
    float v0 = x1 + 1.0f, u = x1 * x2 / v0, inverse = 1.0f / v0, w = 1.0f + u;                     \
    float d_num = finite(inverse), d_den = finite(u * inverse);                                    \
    float sin_u = sinf(u), cos_u = cosf(u), d_log = w >= FLT_MIN ? 1.0f / w : 0.0f;                \
    float exp_x2 = expf(x2), d_exp = finite(exp_x2);                                               \
    float tanh_x2 = tanhf(x2), d_tanh = (1.0f + tanh_x2) * (1.0f - tanh_x2);                       \
    float v8 = sin_u + guarded_log(w) - exp_x2, v9 = u - tanh_x2;                                  \
    for (uint32_t i = 0; i < 2; ++i) {                                                             \
        float d1 = G(i ? BENCH_P_DDY : BENCH_P_DDX, 0), d2 = G(i ? BENCH_P_DDY : BENCH_P_DDX, 1);  \
        float du = (d1 * x2 + x1 * d2) * d_num - d1 * d_den;                                       \
        float d8 = du * cos_u + du * d_log - d2 * d_exp, d9 = du - d2 * d_tanh;                    \
        OUT(1 + i) = d8 * v9 + v8 * d9;                                                            \
    }                                                                                              \
    OUT(0) = v8 * v9;
KERNEL(practical_c, 3, PRACTICAL)

/* --- vectors: arithmetic and square roots only --------------------------------------------------- */

static const char vector_ssl[] =
    "shader main(out float o, out float3 r) {\n"
    "    const float3 p = global_value<p>;\n"
    "    const float3 n = normalize(global_value<N>);\n"
    "    const float3 i = normalize(p - float3(0.5, 2.0, -1.0));\n"
    "    r = i - 2.0 * dot(i, n) * n;\n"
    "    const float k = 1.0 - abs(dot(i, n));\n"
    "    const float k2 = k * k;\n"
    "    o = 0.04 + 0.96 * (k2 * k2 * k) + sqrt(dot(cross(p, n), cross(p, n)));\n"
    "}\n";

#define VECTOR                                                                                     \
    float px = G(BENCH_P, 0), py = G(BENCH_P, 1), pz = G(BENCH_P, 2);                              \
    float nx = G(BENCH_N, 0), ny = G(BENCH_N, 1), nz = G(BENCH_N, 2);                              \
    float n2 = nx * nx + ny * ny + nz * nz, ns = n2 <= 0.0f ? 0.0f : 1.0f / sqrtf(n2);             \
    nx *= ns, ny *= ns, nz *= ns;                                                                  \
    float ix = px - 0.5f, iy = py - 2.0f, iz = pz + 1.0f;                                          \
    float i2 = ix * ix + iy * iy + iz * iz, is = i2 <= 0.0f ? 0.0f : 1.0f / sqrtf(i2);             \
    ix *= is, iy *= is, iz *= is;                                                                  \
    float d = ix * nx + iy * ny + iz * nz, f = 2.0f * d;                                           \
    OUT(1) = ix - f * nx;                                                                          \
    OUT(2) = iy - f * ny;                                                                          \
    OUT(3) = iz - f * nz;                                                                          \
    float k = 1.0f - fabsf(d), k2 = k * k;                                                         \
    float cx = py * nz - pz * ny, cy = pz * nx - px * nz, cz = px * ny - py * nx;                  \
    OUT(0) = 0.04f + 0.96f * (k2 * k2 * k) + guarded_sqrt(cx * cx + cy * cy + cz * cz);
KERNEL(vector_c, 4, VECTOR)

/* --- a fractal of value noise: loops, ints, floor ------------------------------------------------- */

static const char fractal_ssl[] =
    "int scramble(int x) {\n"
    "    x = (x ^ ushr(x, 16)) * 0x7feb352d;\n"
    "    x = (x ^ ushr(x, 15)) * 0x846ca68b;\n"
    "    return x ^ ushr(x, 16);\n"
    "}\n"
    "float cell(int x, int y) { return float(ushr(scramble(x + scramble(y)), 8)) / 16777216.0; }\n"
    "float noise(float x, float y) {\n"
    "    const float fx = floor(x);\n"
    "    const float fy = floor(y);\n"
    "    const int ix = int(fx);\n"
    "    const int iy = int(fy);\n"
    "    const float tx = x - fx;\n"
    "    const float ty = y - fy;\n"
    "    const float sx = tx * tx * (3.0 - 2.0 * tx);\n"
    "    const float sy = ty * ty * (3.0 - 2.0 * ty);\n"
    "    const float a = cell(ix, iy) * (1.0 - sx) + cell(ix + 1, iy) * sx;\n"
    "    const float b = cell(ix, iy + 1) * (1.0 - sx) + cell(ix + 1, iy + 1) * sx;\n"
    "    return a * (1.0 - sy) + b * sy;\n"
    "}\n"
    "shader main(int octaves = 5, out float o) {\n"
    "    float x = global_value<p>.x * 8.0;\n"
    "    float y = global_value<p>.y * 8.0;\n"
    "    float weight = 0.5;\n"
    "    o = 0.0;\n"
    "    for (int i = 0; i < octaves; i++) {\n"
    "        o += weight * noise(x, y);\n"
    "        weight *= 0.5;\n"
    "        x = x * 2.0 + 17.0;\n"
    "        y = y * 2.0 + 5.0;\n"
    "    }\n"
    "}\n";

static uint32_t scramble(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

static float cell(uint32_t x, uint32_t y)
{
    return (float)(int32_t)(scramble(x + scramble(y)) >> 8) / 16777216.0f;
}

static float value_noise(float x, float y)
{
    float fx = floorf(x), fy = floorf(y);
    uint32_t ix = (uint32_t)int_from_float(fx), iy = (uint32_t)int_from_float(fy);
    float tx = x - fx, ty = y - fy;
    float sx = tx * tx * (3.0f - 2.0f * tx), sy = ty * ty * (3.0f - 2.0f * ty);
    float a = cell(ix, iy) * (1.0f - sx) + cell(ix + 1, iy) * sx;
    float b = cell(ix, iy + 1) * (1.0f - sx) + cell(ix + 1, iy + 1) * sx;
    return a * (1.0f - sy) + b * sy;
}

#define FRACTAL                                                                                    \
    int32_t octaves = *(const int32_t *)batch->params;                                             \
    float x = G(BENCH_P, 0) * 8.0f, y = G(BENCH_P, 1) * 8.0f, weight = 0.5f, sum = 0.0f;           \
    for (int32_t i = 0; i < octaves; ++i) {                                                        \
        sum += weight * value_noise(x, y);                                                         \
        weight *= 0.5f;                                                                            \
        x = x * 2.0f + 17.0f;                                                                      \
        y = y * 2.0f + 5.0f;                                                                       \
        if (budget == 0) {                                                                         \
            fault = 1;                                                                             \
            break;                                                                                 \
        }                                                                                          \
        budget--;                                                                                  \
    }                                                                                              \
    OUT(0) = sum;
KERNEL(fractal_c, 1, FRACTAL)

/* --- bricks: branches ------------------------------------------------------------------------------ */

static const char brick_ssl[] =
    "shader main(float mortar = 0.05, float bevel = 0.1, out float3 c) {\n"
    "    float u = global_value<uv>.x * 4.0;\n"
    "    const float v = global_value<uv>.y * 8.0;\n"
    "    const float row = floor(v);\n"
    "    if (row - 2.0 * floor(row * 0.5) > 0.5)\n"
    "        u += 0.5;\n"
    "    const float s = u - floor(u);\n"
    "    const float t = v - row;\n"
    "    const float edge = min(min(s, 1.0 - s), min(t, 1.0 - t));\n"
    "    if (edge < mortar) {\n"
    "        c = float3(0.6, 0.6, 0.55);\n"
    "    } else if (edge < mortar + bevel) {\n"
    "        const float k = (edge - mortar) / bevel;\n"
    "        c = float3(0.7, 0.3, 0.2) * (0.5 + 0.5 * k * k);\n"
    "    } else {\n"
    "        c = float3(0.7, 0.3, 0.2) + 0.1 * pow(s, 2.5);\n"
    "    }\n"
    "}\n";

#define BRICK                                                                                      \
    float mortar = ((const float *)batch->params)[0], bevel = ((const float *)batch->params)[1];   \
    float u = G(BENCH_UV, 0) * 4.0f, v = G(BENCH_UV, 1) * 8.0f, row = floorf(v);                   \
    if (row - 2.0f * floorf(row * 0.5f) > 0.5f)                                                    \
        u += 0.5f;                                                                                 \
    float s = u - floorf(u), t = v - row, r, g, b;                                                 \
    float edge = minimum(minimum(s, 1.0f - s), minimum(t, 1.0f - t));                              \
    if (edge < mortar) {                                                                           \
        r = 0.6f, g = 0.6f, b = 0.55f;                                                             \
    } else if (edge < mortar + bevel) {                                                            \
        float k = (edge - mortar) / bevel, f = 0.5f + 0.5f * k * k;                                \
        r = 0.7f * f, g = 0.3f * f, b = 0.2f * f;                                                  \
    } else {                                                                                       \
        float f = 0.1f * guarded_pow(s, 2.5f);                                                     \
        r = 0.7f + f, g = 0.3f + f, b = 0.2f + f;                                                  \
    }                                                                                              \
    OUT(0) = r;                                                                                    \
    OUT(1) = g;                                                                                    \
    OUT(2) = b;
KERNEL(brick_c, 3, BRICK)

/* --- a colour ramp: an array with an index that only run time knows ------------------------------------ */

static const char ramp_ssl[] =
    "shader main(float scale = 7.0, out float o) {\n"
    "    const float knots[8] = {0.0, 0.1, 0.4, 0.45, 0.5, 0.8, 0.9, 1.0};\n"
    "    const float x = min(max(global_value<uv>.x, 0.0), 1.0) * scale;\n"
    "    const int i = int(x);\n"
    "    const float t = x - float(i);\n"
    "    o = knots[i] * (1.0 - t) + knots[i + 1] * t;\n"
    "}\n";

#define RAMP                                                                                       \
    static const float knots[8] = {0.0f, 0.1f, 0.4f, 0.45f, 0.5f, 0.8f, 0.9f, 1.0f};               \
    float x = minimum(maximum(G(BENCH_UV, 0), 0.0f), 1.0f) * ((const float *)batch->params)[0];    \
    int32_t i = int_from_float(x), j = (int32_t)((uint32_t)i + 1);                                 \
    float t = x - (float)i;                                                                        \
    if ((uint32_t)i >= 8) {                                                                        \
        fault = 1;                                                                                 \
        i = i < 0 ? 0 : 7;                                                                         \
    }                                                                                              \
    if ((uint32_t)j >= 8) {                                                                        \
        fault = fault ? fault : 2;                                                                 \
        j = j < 0 ? 0 : 7;                                                                         \
    }                                                                                              \
    OUT(0) = knots[i] * (1.0f - t) + knots[j] * t;
KERNEL(ramp_c, 1, RAMP)

const BenchKernel bench_kernels[] = {
    {"functions, derivatives", practical_ssl, practical_c, 3},
    {"vectors", vector_ssl, vector_c, 4},
    {"fractal noise, loop", fractal_ssl, fractal_c, 1},
    {"bricks, branches", brick_ssl, brick_c, 3},
    {"ramp, array", ramp_ssl, ramp_c, 1},
    {0},
};
