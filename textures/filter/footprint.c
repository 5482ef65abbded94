#include "textures/filter/footprint.h"
#include "base/check.h"
#include <math.h>
#include <string.h>

/* Far beyond the coarsest level of the largest texture; the fourth power of this does not overflow. */
#define FOOTPRINT_TEXELS_MAX 1e9f

/* Clamps without fmaxf and fminf, which are calls on a baseline CPU. NaN gives `low`. */
static float limit(float x, float low, float high)
{
    return x > low ? (x < high ? x : high) : low;
}

static float larger(float a, float b)
{
    return a > b ? a : b;
}

/* log2 of a positive normal number, to 1e-7: exponent e and m in [sqrt 1/2, sqrt 2), then the series of
 * log2 m = 2 / ln 2 artanh t, t = (m - 1) / (m + 1). Exact for powers of two. A third of the price of log2f(). */
static float log2_of(float x)
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

static float clamp_step(float texels)
{
    return limit(texels, -FOOTPRINT_TEXELS_MAX, FOOTPRINT_TEXELS_MAX);
}

static float clamp_level(float level, uint32_t level_count)
{
    return limit(level, 0.0f, (float)(level_count - 1));
}

void footprint_of(const FootprintInput *in, uint32_t width, uint32_t height, uint32_t level_count,
                  TexFilter filter, TexMip mip, float mip_bias, Footprint *f)
{
    ASSERT(width > 0 && height > 0 && level_count >= 1 && level_count <= TEX_MAX_LEVELS);
    ASSERT(filter != TEX_FILTER_DEFAULT);
    *f = (Footprint){.probe_count = 1};
    if (mip == TEX_MIP_OFF)
        return;
    /* The sum is not finite if one of its terms is not (or if they are absurdly large). */
    float sum = fabsf(in->ds_dx) + fabsf(in->dt_dx) + fabsf(in->ds_dy) + fabsf(in->dt_dy) +
                fabsf(in->blur) + fabsf(mip_bias);
    if (!(sum <= 3e38f)) {
        f->level = (float)(level_count - 1);
        f->is_bad = true;
        return;
    }
    float w = (float)width, h = (float)height;
    float xs = clamp_step(in->ds_dx * w), xt = clamp_step(in->dt_dx * h);
    float ys = clamp_step(in->ds_dy * w), yt = clamp_step(in->dt_dy * h);
    if (mip == TEX_MIP_MAX_OF_FOUR) {
        float widest = larger(larger(fabsf(xs), fabsf(xt)), larger(fabsf(ys), fabsf(yt)));
        f->level = clamp_level(floorf(log2f(widest) + mip_bias), level_count);
        return;
    }

    float blur_s = clamp_step(in->blur * w), blur_t = clamp_step(in->blur * h);
    float bs = blur_s * blur_s, bt = blur_t * blur_t;
    float jss = xs * xs + ys * ys, jtt = xt * xt + yt * yt;
    float mss = jss + bs, mtt = jtt + bt, mst = xs * xt + ys * yt;
    float half_gap = 0.5f * (mss - mtt);
    float root = sqrtf(half_gap * half_gap + mst * mst);
    float major2 = 0.5f * (mss + mtt) + root;
    if (!(major2 > 0.0f))
        return; /* a point is looked up in level 0 */
    /* isotropic filters; the later ones differ from ANISO in their probes only */
    if (filter < TEX_FILTER_ANISO) {
        float level = clamp_level(0.5f * log2_of(major2) + mip_bias, level_count);
        f->level = filter == TEX_FILTER_TRILINEAR ? level : (float)(uint32_t)(level + 0.5f);
        return;
    }

    /* det M = det(J)^2 + bs jtt + bt jss + bs bt avoids a difference of large numbers. */
    float det_j = xs * yt - xt * ys;
    float det = det_j * det_j + bs * jtt + bt * jss + bs * bt;
    float major = sqrtf(major2);
    float minor = sqrtf(det) / major;
    /* Probes closer together than a texel of level 0 add nothing, and at most TEX_MAX_PROBES are taken. */
    minor = larger(larger(minor, 1.0f), major / (float)TEX_MAX_PROBES);
    f->level = clamp_level(log2_of(minor) + mip_bias, level_count);
    float aspect = major / minor;
    if (aspect > 1.0625f) { /* below this, rounding alone could produce a second probe */
        float wanted = aspect - 0.0625f;
        f->probe_count = (uint32_t)wanted;
        f->probe_count += (float)f->probe_count < wanted;
        if (f->probe_count > TEX_MAX_PROBES)
            f->probe_count = TEX_MAX_PROBES;
        /* The eigenvector of the larger eigenvalue follows from the row of M - major2 that is not small. */
        float es, et;
        if (half_gap >= 0.0f) {
            es = half_gap + root;
            et = mst;
        } else {
            es = mst;
            et = root - half_gap;
        }
        ASSERT(es * es + et * et > 0.0f);
        float step = major / ((float)f->probe_count * sqrtf(es * es + et * et));
        f->axis_s = es * step / w;
        f->axis_v = -et * step / h;
    }
    ASSERT(f->probe_count >= 1 && f->level >= 0.0f && f->level <= (float)(level_count - 1));
}
