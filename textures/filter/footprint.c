#include "textures/filter/footprint.h"
#include "base/check.h"
#include "ssl/rt/rt.h"
#include <math.h>
#include <string.h>

/* Far beyond the coarsest level of the largest texture; the fourth power of this does not overflow. */
#define FOOTPRINT_TEXELS_MAX 1e9f

/* Clamps without fmaxf and fminf, which are calls on a baseline CPU. NaN gives `low`. */
SORT_ALWAYS_INLINE float limit(float x, float low, float high)
{
    return x > low ? (x < high ? x : high) : low;
}

SORT_ALWAYS_INLINE float larger(float a, float b)
{
    return a > b ? a : b;
}

/* log2 of a positive normal number, to 1e-7: exponent e and m in [sqrt 1/2, sqrt 2), then the series of
 * log2 m = 2 / ln 2 artanh t, t = (m - 1) / (m + 1). Exact for powers of two. A third of the price of log2f(). */
SORT_ALWAYS_INLINE float log2_of(float x)
{
    ASSERT(x > 0.0f && x <= 3.4e38f);
    const uint32_t sqrt_half = 0x3f3504f3u;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t e = (int32_t)(bits - sqrt_half) >> 23;
    bits -= (uint32_t)e << 23;
    float m;
    memcpy(&m, &bits, sizeof m);
    float t = (m - 1.0f) / (m + 1.0f), t2 = t * t;
    float series =
        t * (2.88539008f + t2 * (0.961796694f + t2 * (0.577078016f + t2 * 0.412198583f)));
    return (float)e + series;
}

SORT_ALWAYS_INLINE float clamp_step(float texels)
{
    return limit(texels, -FOOTPRINT_TEXELS_MAX, FOOTPRINT_TEXELS_MAX);
}

static float clamp_level(float level, uint32_t level_count)
{
    return limit(level, 0.0f, (float)(level_count - 1));
}

/* The pixel's steps in texels of level 0. */
typedef struct Steps {
    float xs, xt, ys, yt;
} Steps;

/* The ellipse that follows from them: what its level and its axes are computed from. */
typedef struct Ellipse {
    float mst, half_gap, root; /* M, as its eigenvalues and eigenvectors need it */
    float major2;              /* the larger eigenvalue */
    float det;                 /* of M */
} Ellipse;

SORT_ALWAYS_INLINE Ellipse ellipse_of(const Steps *j, float blur_s, float blur_t)
{
    Ellipse e;
    float bs = blur_s * blur_s, bt = blur_t * blur_t;
    float jss = j->xs * j->xs + j->ys * j->ys, jtt = j->xt * j->xt + j->yt * j->yt;
    float mss = jss + bs, mtt = jtt + bt;
    e.mst = j->xs * j->xt + j->ys * j->yt;
    e.half_gap = 0.5f * (mss - mtt);
    e.root = sqrtf(e.half_gap * e.half_gap + e.mst * e.mst);
    e.major2 = 0.5f * (mss + mtt) + e.root;
    /* det M = det(J)^2 + bs jtt + bt jss + bs bt avoids a difference of large numbers. */
    float det_j = j->xs * j->yt - j->xt * j->ys;
    e.det = det_j * det_j + bs * jtt + bt * jss + bs * bt;
    return e;
}

/* The sum is not finite if one of its terms is not (or if they are absurdly large). */
SORT_ALWAYS_INLINE bool is_finite(const FootprintInput *in, float mip_bias)
{
    float sum = fabsf(in->ds_dx) + fabsf(in->dt_dx) + fabsf(in->ds_dy) + fabsf(in->dt_dy) +
                fabsf(in->blur) + fabsf(mip_bias);
    return sum <= 3e38f;
}

/* What all lanes of a lookup have in common. */
typedef struct FootprintScale {
    float width, height, last_level, mip_bias;
} FootprintScale;

SORT_ALWAYS_INLINE Ellipse ellipse_at(const FootprintInput *in, const FootprintScale *scale)
{
    float w = scale->width, h = scale->height;
    const Steps j = {clamp_step(in->ds_dx * w), clamp_step(in->dt_dx * h),
                     clamp_step(in->ds_dy * w), clamp_step(in->dt_dy * h)};
    return ellipse_of(&j, clamp_step(in->blur * w), clamp_step(in->blur * h));
}

/* The footprint of the anisotropic filter. It has no branches, so that compilers make vector code of a loop over lanes; clamped steps
 * keep all numbers finite but those of a point, which are replaced. */
SORT_ALWAYS_INLINE Footprint aniso_footprint(const FootprintInput *in, const FootprintScale *scale)
{
    bool is_bad = !is_finite(in, scale->mip_bias);
    Ellipse e = ellipse_at(in, scale);
    bool is_ellipse = e.major2 > 0.0f; /* a point is looked up in level 0 */
    float major = sqrtf(e.major2);
    /* Probes closer together than a texel of level 0 add nothing, and at most TEX_MAX_PROBES are taken. */
    float minor = larger(larger(sqrtf(e.det) / major, 1.0f), major / (float)TEX_MAX_PROBES);
    float level = limit(log2_of(minor) + scale->mip_bias, 0.0f, scale->last_level);
    level = is_ellipse ? level : 0.0f;
    level = is_bad ? scale->last_level : level;
    /* Probes are spread along the major axis. Below this aspect, rounding alone could produce a second one. */
    float aspect = major / minor;
    bool is_single = !(aspect > 1.0625f) | !is_ellipse | is_bad;
    float wanted = is_single ? 1.0f : aspect - 0.0625f;
    int32_t count = (int32_t)wanted;
    count += (float)count < wanted;
    count = count > TEX_MAX_PROBES ? TEX_MAX_PROBES : count;
    /* The eigenvector of the larger eigenvalue follows from the row of M - major2 that is not small. */
    float es = e.half_gap >= 0.0f ? e.half_gap + e.root : e.mst;
    float et = e.half_gap >= 0.0f ? e.mst : e.root - e.half_gap;
    float step = major / ((float)count * sqrtf(es * es + et * et));
    float axis_s = es * step / scale->width, axis_v = -et * step / scale->height;
    return (Footprint){.level = level,
                       .probe_count = (uint32_t)count,
                       .axis_s = is_single ? 0.0f : axis_s,
                       .axis_v = is_single ? 0.0f : axis_v,
                       .is_bad = is_bad};
}

void footprint_of(const FootprintInput *in, uint32_t width, uint32_t height, uint32_t level_count,
                  const LookupOptions *options, Footprint *f)
{
    ASSERT(width > 0 && height > 0 && level_count >= 1 && level_count <= TEX_MAX_LEVELS);
    ASSERT(options->filter != TEX_FILTER_DEFAULT);
    const FootprintScale scale = {(float)width, (float)height, (float)(level_count - 1),
                                  options->mip_bias};
    *f = (Footprint){.probe_count = 1};
    if (options->mip == TEX_MIP_OFF)
        return;
    if (!is_finite(in, options->mip_bias)) {
        f->level = (float)(level_count - 1);
        f->is_bad = true;
        return;
    }
    if (options->mip == TEX_MIP_MAX_OF_FOUR) {
        float w = scale.width, h = scale.height;
        float widest =
            larger(larger(fabsf(clamp_step(in->ds_dx * w)), fabsf(clamp_step(in->dt_dx * h))),
                   larger(fabsf(clamp_step(in->ds_dy * w)), fabsf(clamp_step(in->dt_dy * h))));
        f->level = clamp_level(floorf(rt_log2(widest) + options->mip_bias), level_count);
        return;
    }
    /* isotropic filters; the later ones differ from ANISO in their probes only */
    if (options->filter < TEX_FILTER_ANISO) {
        Ellipse e = ellipse_at(in, &scale);
        if (!(e.major2 > 0.0f))
            return; /* a point is looked up in level 0 */
        float level = clamp_level(0.5f * log2_of(e.major2) + options->mip_bias, level_count);
        bool is_between = options->filter == TEX_FILTER_TRILINEAR;
        f->level = is_between ? level : (float)(uint32_t)(level + 0.5f);
        return;
    }
    *f = aniso_footprint(in, &scale);
    ASSERT(f->probe_count >= 1 && f->level >= 0.0f && f->level <= (float)(level_count - 1));
}

SORT_ALWAYS_INLINE void aniso_rows(const float *restrict derivs, uint32_t stride, uint32_t count,
                                   const FootprintScale *restrict scale,
                                   FootprintRows *restrict out)
{
    for (uint32_t i = 0; i < count; ++i) {
        const FootprintInput in = {derivs[i], derivs[stride + i], derivs[2 * stride + i],
                                   derivs[3 * stride + i], derivs[4 * stride + i]};
        Footprint f = aniso_footprint(&in, scale);
        out->level[i] = f.level;
        out->probe_count[i] = f.probe_count;
        out->axis_s[i] = f.axis_s;
        out->axis_v[i] = f.axis_v;
        out->is_bad[i] = f.is_bad;
    }
}

void footprints_of(const float *derivs, uint32_t count, uint32_t width, uint32_t height,
                   uint32_t level_count, const LookupOptions *options, FootprintRows *out)
{
    const FootprintScale scale = {(float)width, (float)height, (float)(level_count - 1),
                                  options->mip_bias};
    ASSERT(count <= TEX_MAX_LANES);
    if (count == 16) /* a number that the compiler knows */
        aniso_rows(derivs, 16, 16, &scale, out);
    else
        aniso_rows(derivs, count, count, &scale, out);
}
