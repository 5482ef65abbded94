#include "sort/bsdf/albedo.h"

#include "base/vec.h"
#include "sort/bsdf/fresnel.h"

/* e1, and b / e1 - (1 - cos)^5: for smooth lobes b follows that power of the cosine, which no table in t
 * could do. */
typedef struct GgxNode {
    float e1, excess;
} GgxNode;

#include "sort/bsdf/albedo_tables.inc"

/* Node below x (in units of nodes) and the fraction past it. */
static inline uint32_t split(float x, uint32_t count, float *out_fraction)
{
    uint32_t i = (uint32_t)clampf(x, 0.0f, (float)count - 2.0f);
    *out_fraction = x - (float)i;
    return i;
}

static inline float lerp(float a, float b, float t)
{
    return a + t * (b - a);
}

/* alpha, cos not both 0. */
static inline float cos_coordinate(float alpha, float cos_w)
{
    return sqrtf(cos_w * (1.0f + alpha) / (cos_w + alpha));
}

AlbedoRow albedo_ggx_row(float alpha)
{
    AlbedoRow row = {.alpha = maxf(alpha, 1e-4f)};
    row.index = split(sqrtf(row.alpha) * (ALBEDO_GGX_ALPHA - 1), ALBEDO_GGX_ALPHA, &row.fraction);
    return row;
}

AlbedoTerms albedo_ggx(AlbedoRow row, float cos_w)
{
    float f;
    uint32_t i = split(cos_coordinate(row.alpha, cos_w) * (ALBEDO_GGX_COS - 1), ALBEDO_GGX_COS, &f);
    const GgxNode *p = &table_ggx[row.index][i], *q = &table_ggx[row.index + 1][i];
    float e1 = lerp(lerp(p[0].e1, p[1].e1, f), lerp(q[0].e1, q[1].e1, f), row.fraction);
    float excess =
        lerp(lerp(p[0].excess, p[1].excess, f), lerp(q[0].excess, q[1].excess, f), row.fraction);
    float m = maxf(1.0f - cos_w, 0.0f), m2 = m * m;
    return (AlbedoTerms){e1, e1 * maxf(m2 * m2 * m + excess, 0.0f)};
}

AlbedoTerms albedo_ggx_average(AlbedoRow row)
{
    const AlbedoTerms *p = &table_ggx_average[row.index];
    return (AlbedoTerms){lerp(p[0].e1, p[1].e1, row.fraction), lerp(p[0].b, p[1].b, row.fraction)};
}

float albedo_dielectric(float alpha, float ior, bool is_inside, float cos_w)
{
    if (ior < 1.0f) {
        ior = 1.0f / ior;
        is_inside = !is_inside;
    }
    float fn, fa, fc;
    uint32_t n = split(sqrtf((ior - 1.0f) / (ior + 1.0f) / 0.6f) * (ALBEDO_DIELECTRIC_IOR - 1),
                       ALBEDO_DIELECTRIC_IOR, &fn);
    uint32_t a = split(sqrtf(alpha) * (ALBEDO_DIELECTRIC_ALPHA - 1), ALBEDO_DIELECTRIC_ALPHA, &fa);
    uint32_t c = split(sqrtf(cos_w) * (ALBEDO_DIELECTRIC_COS - 1), ALBEDO_DIELECTRIC_COS, &fc);
    float e[2];
    for (uint32_t k = 0; k < 2; ++k) {
        const float *p = &table_dielectric[is_inside][n + k][a][c];
        const float *q = &table_dielectric[is_inside][n + k][a + 1][c];
        e[k] = lerp(lerp(p[0], p[1], fc), lerp(q[0], q[1], fc), fa);
    }
    return lerp(e[0], e[1], fn);
}

float albedo_rise(float alpha, float ior, float cos_w, float e1)
{
    float fn, fa, fc, cos_t, e[2];
    alpha = maxf(alpha, 1e-4f);
    uint32_t n = split(sqrtf((ior - 1.0f) / (ior + 1.0f) / 0.6f) * (ALBEDO_RISE_IOR - 1),
                       ALBEDO_RISE_IOR, &fn);
    uint32_t a = split(sqrtf(alpha) * (ALBEDO_RISE_ALPHA - 1), ALBEDO_RISE_ALPHA, &fa);
    uint32_t c = split(cos_coordinate(alpha, cos_w) * (ALBEDO_RISE_COS - 1), ALBEDO_RISE_COS, &fc);
    for (uint32_t k = 0; k < 2; ++k) {
        const float *p = &table_rise[n + k][a][c], *q = &table_rise[n + k][a + 1][c];
        e[k] = lerp(lerp(p[0], p[1], fc), lerp(q[0], q[1], fc), fa);
    }
    float normal = fresnel_dielectric(1.0f, ior, &cos_t);
    float here = (fresnel_dielectric(minf(cos_w, 1.0f), ior, &cos_t) - normal) / (1.0f - normal);
    return e1 * clampf(here + lerp(e[0], e[1], fn), 0.0f, 1.0f);
}

float albedo_sheen(float alpha, float cos_w)
{
    float fa, fc;
    uint32_t a =
        split((sqrtf(alpha) - 0.15f) / 0.85f * (ALBEDO_SHEEN_ALPHA - 1), ALBEDO_SHEEN_ALPHA, &fa);
    uint32_t c = split(sqrtf(cos_w) * (ALBEDO_SHEEN_COS - 1), ALBEDO_SHEEN_COS, &fc);
    const float *p = &table_sheen[a][c], *q = &table_sheen[a + 1][c];
    return lerp(lerp(p[0], p[1], fc), lerp(q[0], q[1], fc), fa);
}
