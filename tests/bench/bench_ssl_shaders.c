/* Five more kernels in SSL and in C; compiled like bench_ssl_kernels.c. */
#include "tests/bench/bench_ssl_frame.h"

/* --- principled: Fresnel, GGX and a blend of terms ------------------------------------------------- */

static const char principled_ssl[] =
    "float schlick(float c) { const float m = 1.0 - clamp(c, 0.0, 1.0);\n"
    "    const float m2 = m * m; return m2 * m2 * m; }\n"
    "shader main(float rough = 0.4, float metal = 0.3, float sheen = 0.2, float coat = 0.5,\n"
    "            out float3 o) {\n"
    "    const float3 n = normalize(global_value<N>);\n"
    "    const float3 v = normalize(global_value<p> - float3(0.5, 0.5, 3.0));\n"
    "    const float3 l = normalize(float3(0.3, 0.8, 0.6) - global_value<p>);\n"
    "    const float3 h = normalize(l - v);\n"
    "    const float nl = max(dot(n, l), 0.0);\n"
    "    const float nv = max(-dot(n, v), 0.001);\n"
    "    const float nh = max(dot(n, h), 0.0);\n"
    "    const float lh = max(dot(l, h), 0.0);\n"
    "    const float a = max(rough * rough, 0.001);\n"
    "    const float a2 = a * a;\n"
    "    const float t = 1.0 + (a2 - 1.0) * nh * nh;\n"
    "    const float d = a2 / (3.14159274 * t * t);\n"
    "    const float g = 1.0 / ((nl + sqrt(a2 + (1.0 - a2) * nl * nl)) *\n"
    "                           (nv + sqrt(a2 + (1.0 - a2) * nv * nv)));\n"
    "    const float fh = schlick(lh);\n"
    "    const float fd90 = 0.5 + 2.0 * lh * lh * rough;\n"
    "    const float fd = (1.0 + (fd90 - 1.0) * schlick(nl)) * (1.0 + (fd90 - 1.0) * "
    "schlick(nv));\n"
    "    const float3 base = float3(global_value<uv>.x, global_value<uv>.y, 0.5);\n"
    "    const float3 f0 = float3(0.04) * (1.0 - metal) + base * metal;\n"
    "    const float3 spec = (f0 + (float3(1.0) - f0) * fh) * (d * g);\n"
    "    const float3 diff = base * (fd * (1.0 - metal) / 3.14159274);\n"
    "    o = (diff + spec + float3(sheen * fh) + float3(coat * 0.25 * d * fh)) * nl;\n"
    "}\n";

static inline float schlick(float c)
{
    c = minimum(maximum(c, 0.0f), 1.0f);
    float m = 1.0f - c, m2 = m * m;
    return m2 * m2 * m;
}

static inline void normalize3(float *x, float *y, float *z)
{
    float d = *x * *x + *y * *y + *z * *z, s = d <= 0.0f ? 0.0f : 1.0f / sqrtf(d);
    *x *= s, *y *= s, *z *= s;
}

#define PRINCIPLED                                                                                 \
    const float *q = (const float *)batch->params;                                                 \
    float rough = q[0], metal = q[1], sheen = q[2], coat = q[3];                                   \
    float px = G(BENCH_P, 0), py = G(BENCH_P, 1), pz = G(BENCH_P, 2);                              \
    float nx = G(BENCH_N, 0), ny = G(BENCH_N, 1), nz = G(BENCH_N, 2);                              \
    float vx = px - 0.5f, vy = py - 0.5f, vz = pz - 3.0f;                                          \
    float lx = 0.3f - px, ly = 0.8f - py, lz = 0.6f - pz;                                          \
    normalize3(&nx, &ny, &nz);                                                                     \
    normalize3(&vx, &vy, &vz);                                                                     \
    normalize3(&lx, &ly, &lz);                                                                     \
    float hx = lx - vx, hy = ly - vy, hz = lz - vz;                                                \
    normalize3(&hx, &hy, &hz);                                                                     \
    float nl = maximum(nx * lx + ny * ly + nz * lz, 0.0f);                                         \
    float nv = maximum(-(nx * vx + ny * vy + nz * vz), 0.001f);                                    \
    float nh = maximum(nx * hx + ny * hy + nz * hz, 0.0f);                                         \
    float lh = maximum(lx * hx + ly * hy + lz * hz, 0.0f);                                         \
    float a = maximum(rough * rough, 0.001f), a2 = a * a;                                          \
    float t = 1.0f + (a2 - 1.0f) * nh * nh, d = a2 / (3.14159274f * t * t);                        \
    float g = 1.0f / ((nl + guarded_sqrt(a2 + (1.0f - a2) * nl * nl)) *                            \
                      (nv + guarded_sqrt(a2 + (1.0f - a2) * nv * nv)));                            \
    float fh = schlick(lh), fd90 = 0.5f + 2.0f * lh * lh * rough;                                  \
    float fd = (1.0f + (fd90 - 1.0f) * schlick(nl)) * (1.0f + (fd90 - 1.0f) * schlick(nv));        \
    float base[3] = {G(BENCH_UV, 0), G(BENCH_UV, 1), 0.5f};                                        \
    for (uint32_t i = 0; i < 3; ++i) {                                                             \
        float f0 = 0.04f * (1.0f - metal) + base[i] * metal;                                       \
        float spec = (f0 + (1.0f - f0) * fh) * (d * g);                                            \
        float diff = base[i] * (fd * (1.0f - metal) / 3.14159274f);                                \
        OUT(i) = (diff + spec + sheen * fh + coat * 0.25f * d * fh) * nl;                          \
    }
KERNEL(principled_c, 3, PRINCIPLED)

/* --- matrices: a product, a point and a normal transformed --------------------------------------------- */

static const char matrix_ssl[] =
    "shader main(float turn = 0.7, out float3 o, out float3 m) {\n"
    "    const float3 p = global_value<p>;\n"
    "    const float3 n = global_value<N>;\n"
    "    const float c = cos(turn * p.x);\n"
    "    const float s = sin(turn * p.x);\n"
    "    const float a[9] = {c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0};\n"
    "    const float b[9] = {1.0, 0.0, 0.25, 0.0, c, -s, 0.0, s, c};\n"
    "    float r[9] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};\n"
    "    for (int i = 0; i < 3; i++)\n"
    "        for (int j = 0; j < 3; j++)\n"
    "            r[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + "
    "j];\n"
    "    o = float3(r[0] * p.x + r[1] * p.y + r[2] * p.z, r[3] * p.x + r[4] * p.y + r[5] * p.z,\n"
    "               r[6] * p.x + r[7] * p.y + r[8] * p.z);\n"
    "    m = normalize(float3(r[0] * n.x + r[1] * n.y + r[2] * n.z,\n"
    "                         r[3] * n.x + r[4] * n.y + r[5] * n.z,\n"
    "                         r[6] * n.x + r[7] * n.y + r[8] * n.z));\n"
    "}\n";

/* A run-time index is checked, as in SSL. */
static inline float at9(const float *x, int32_t i, uint32_t *fault)
{
    if ((uint32_t)i >= 9) {
        *fault = *fault ? *fault : 1;
        i = i < 0 ? 0 : 8;
    }
    return x[i];
}

#define MATRIX                                                                                     \
    float px = G(BENCH_P, 0), py = G(BENCH_P, 1), pz = G(BENCH_P, 2);                              \
    float nx = G(BENCH_N, 0), ny = G(BENCH_N, 1), nz = G(BENCH_N, 2);                              \
    float turn = *(const float *)batch->params, c = cosf(turn * px), s = sinf(turn * px);          \
    const float a[9] = {c, -s, 0, s, c, 0, 0, 0, 1}, b[9] = {1, 0, 0.25f, 0, c, -s, 0, s, c};      \
    float r[9] = {0};                                                                              \
    for (int32_t i = 0; i < 3; ++i) {                                                              \
        for (int32_t j = 0; j < 3; ++j) {                                                          \
            r[3 * i + j] = at9(a, 3 * i, &fault) * at9(b, j, &fault) +                             \
                           at9(a, 3 * i + 1, &fault) * at9(b, 3 + j, &fault) +                     \
                           at9(a, 3 * i + 2, &fault) * at9(b, 6 + j, &fault);                      \
            SPEND(2)                                                                               \
        }                                                                                          \
        SPEND(3)                                                                                   \
    }                                                                                              \
    float mx = r[0] * nx + r[1] * ny + r[2] * nz, my = r[3] * nx + r[4] * ny + r[5] * nz,          \
          mz = r[6] * nx + r[7] * ny + r[8] * nz;                                                  \
    normalize3(&mx, &my, &mz);                                                                     \
    OUT(0) = r[0] * px + r[1] * py + r[2] * pz;                                                    \
    OUT(1) = r[3] * px + r[4] * py + r[5] * pz;                                                    \
    OUT(2) = r[6] * px + r[7] * py + r[8] * pz;                                                    \
    OUT(3) = mx;                                                                                   \
    OUT(4) = my;                                                                                   \
    OUT(5) = mz;
KERNEL(matrix_c, 6, MATRIX)

/* --- a march through a height field: a loop that ends early, at another turn in each lane ----------------- */

static const char march_ssl[] =
    "shader main(int steps = 32, float depth = 0.3, out float o) {\n"
    "    float u = global_value<uv>.x;\n"
    "    float v = global_value<uv>.y;\n"
    "    const float du = global_value<N>.x * 0.02;\n"
    "    const float dv = global_value<N>.y * 0.02;\n"
    "    float ray = 1.0;\n"
    "    int i = 0;\n"
    "    while (i < steps) {\n"
    "        const float a = u * 7.0 - floor(u * 7.0) - 0.5;\n"
    "        const float b = v * 7.0 - floor(v * 7.0) - 0.5;\n"
    "        const float height = sqrt(max(0.25 - a * a - b * b, 0.0)) * 2.0 * (1.0 - depth);\n"
    "        if (ray < height)\n"
    "            break;\n"
    "        ray -= 1.0 / 32.0;\n"
    "        u += du;\n"
    "        v += dv;\n"
    "        i++;\n"
    "    }\n"
    "    o = ray + u * 0.125 + v * 0.25;\n"
    "}\n";

#define MARCH                                                                                      \
    int32_t steps = *(const int32_t *)batch->params;                                               \
    float depth = ((const float *)batch->params)[1], u = G(BENCH_UV, 0), v = G(BENCH_UV, 1);       \
    float du = G(BENCH_N, 0) * 0.02f, dv = G(BENCH_N, 1) * 0.02f, ray = 1.0f;                      \
    for (int32_t i = 0; i < steps; ++i) {                                                          \
        float a = u * 7.0f - floorf(u * 7.0f) - 0.5f, b = v * 7.0f - floorf(v * 7.0f) - 0.5f;      \
        float height = guarded_sqrt(maximum(0.25f - a * a - b * b, 0.0f)) * 2.0f * (1.0f - depth); \
        if (ray < height)                                                                          \
            break;                                                                                 \
        ray -= 1.0f / 32.0f;                                                                       \
        u += du;                                                                                   \
        v += dv;                                                                                   \
        SPEND(1)                                                                                   \
    }                                                                                              \
    OUT(0) = ray + u * 0.125f + v * 0.25f;
KERNEL(march_c, 1, MARCH)

/* --- rays and spheres: structs, the nearest of eight ------------------------------------------------------ */

static const char spheres_ssl[] =
    "struct Hit { float t; float3 n; int which; };\n"
    "Hit nearer(Hit a, Hit b) { if (b.t < a.t) return b; return a; }\n"
    "shader main(float radius = 0.35, out float3 o) {\n"
    "    const float3 from = float3(global_value<uv>.x * 4.0 - 2.0, global_value<uv>.y * 4.0 - "
    "2.0, -4.0);\n"
    "    const float3 d = normalize(global_value<N> - float3(0.5, 0.5, -2.0));\n"
    "    Hit best;\n"
    "    best.t = 1000.0; best.n = float3(0.0); best.which = -1;\n"
    "    for (int i = 0; i < 8; i++) {\n"
    "        const float x = float(i % 4) - 1.5;\n"
    "        const float3 c = float3(x, float(i / 4) - 0.5, x * 0.5);\n"
    "        const float3 oc = from - c;\n"
    "        const float b = dot(oc, d);\n"
    "        const float q = b * b - (dot(oc, oc) - radius * radius);\n"
    "        if (q > 0.0) {\n"
    "            Hit h;\n"
    "            h.t = -b - sqrt(q); h.n = (oc + d * h.t) / radius; h.which = i;\n"
    "            best = nearer(best, h);\n"
    "        }\n"
    "    }\n"
    "    o = best.n * (0.25 + 0.125 * float(best.which));\n"
    "}\n";

typedef struct Hit {
    float t, n[3];
    int32_t which;
} Hit;

#define SPHERES                                                                                    \
    float radius = *(const float *)batch->params;                                                  \
    float fx = G(BENCH_UV, 0) * 4.0f - 2.0f, fy = G(BENCH_UV, 1) * 4.0f - 2.0f, fz = -4.0f;        \
    float dx = G(BENCH_N, 0) - 0.5f, dy = G(BENCH_N, 1) - 0.5f, dz = G(BENCH_N, 2) + 2.0f;         \
    normalize3(&dx, &dy, &dz);                                                                     \
    Hit best = {1000.0f, {0, 0, 0}, -1};                                                           \
    for (int32_t i = 0; i < 8; ++i) {                                                              \
        float x = (float)(i % 4) - 1.5f, ox = fx - x, oy = fy - ((float)(i / 4) - 0.5f),           \
              oz = fz - x * 0.5f;                                                                  \
        float b = ox * dx + oy * dy + oz * dz;                                                     \
        float q = b * b - ((ox * ox + oy * oy + oz * oz) - radius * radius);                       \
        if (q > 0.0f) {                                                                            \
            float t = -b - guarded_sqrt(q);                                                        \
            Hit h = {                                                                              \
                t, {(ox + dx * t) / radius, (oy + dy * t) / radius, (oz + dz * t) / radius}, i};   \
            best = h.t < best.t ? h : best;                                                        \
        }                                                                                          \
        SPEND(1)                                                                                   \
    }                                                                                              \
    for (uint32_t i = 0; i < 3; ++i)                                                               \
        OUT(i) = best.n[i] * (0.25f + 0.125f * (float)best.which);
KERNEL(spheres_c, 3, SPHERES)

/* --- powers and exponentials: tone curve, absorption, waves ------------------------------------------------ */

static const char powers_ssl[] =
    "shader main(float gamma = 2.2, float density = 1.5, out float3 o) {\n"
    "    const float3 p = global_value<p>;\n"
    "    const float wave = 0.5 + 0.5 * sin(p.x * 12.0 + 3.0 * sin(p.y * 5.0));\n"
    "    const float depth = exp(-density * p.z) * wave;\n"
    "    o = float3(pow(depth, 1.0 / gamma), pow(depth * 0.8 + 0.1, gamma),\n"
    "               log2(1.0 + depth) * exp2(-p.y));\n"
    "}\n";

#define POWERS                                                                                     \
    const float *q = (const float *)batch->params;                                                 \
    float px = G(BENCH_P, 0), py = G(BENCH_P, 1), pz = G(BENCH_P, 2);                              \
    float wave = 0.5f + 0.5f * sinf(px * 12.0f + 3.0f * sinf(py * 5.0f));                          \
    float depth = expf(-q[1] * pz) * wave, one = 1.0f + depth;                                     \
    OUT(0) = guarded_pow(depth, 1.0f / q[0]);                                                      \
    OUT(1) = guarded_pow(depth * 0.8f + 0.1f, q[0]);                                               \
    OUT(2) = log2f(one < FLT_MIN ? FLT_MIN : one) * exp2f(-py);
KERNEL(powers_c, 3, POWERS)

const BenchKernel bench_shaders[] = {
    {"principled", principled_ssl, principled_c, 3},
    {"matrices", matrix_ssl, matrix_c, 6},
    {"march, early exit", march_ssl, march_c, 1},
    {"spheres, structs", spheres_ssl, spheres_c, 3},
    {"powers", powers_ssl, powers_c, 3},
    {0},
};
