#include "textures/footprint.h"
#include <math.h>

/* Far beyond the coarsest level of the largest texture; its fourth power does not overflow. */
#define FOOTPRINT_TEXELS_MAX 1e9f

/* Not fmaxf and fminf, which are calls on a baseline CPU. A value that is not a number gives `low`. */
static float limit(float x, float low, float high)
{
    return x > low ? (x < high ? x : high) : low;
}

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static float clamp_step(float texels)
{
    return limit(texels, -FOOTPRINT_TEXELS_MAX, FOOTPRINT_TEXELS_MAX);
}

static float clamp_level(float level, uint32_t level_count)
{
    return limit(level, 0.0f, (float)(level_count - 1));
}

Footprint footprint_of(const FootprintInput *in, uint32_t width, uint32_t height,
                       uint32_t level_count, TexFilter filter, TexMip mip, float mip_bias)
{
    Footprint f = {.probe_count = 1};
    if (mip == TEX_MIP_OFF)
        return f;
    /* The sum is not finite if one is not (or if they are absurdly large). */
    float sum = fabsf(in->ds_dx) + fabsf(in->dt_dx) + fabsf(in->ds_dy) + fabsf(in->dt_dy) +
                fabsf(in->blur) + fabsf(mip_bias);
    if (!(sum <= 3e38f)) {
        f.level = (float)(level_count - 1);
        f.is_bad = true;
        return f;
    }
    float w = (float)width, h = (float)height;
    float xs = clamp_step(in->ds_dx * w), xt = clamp_step(in->dt_dx * h);
    float ys = clamp_step(in->ds_dy * w), yt = clamp_step(in->dt_dy * h);
    if (mip == TEX_MIP_MAX_OF_FOUR) {
        float widest = larger(larger(fabsf(xs), fabsf(xt)), larger(fabsf(ys), fabsf(yt)));
        f.level = clamp_level(floorf(log2f(widest) + mip_bias), level_count);
        return f;
    }

    float blur_s = clamp_step(in->blur * w), blur_t = clamp_step(in->blur * h);
    float bs = blur_s * blur_s, bt = blur_t * blur_t;
    float jss = xs * xs + ys * ys, jtt = xt * xt + yt * yt;
    float mss = jss + bs, mtt = jtt + bt, mst = xs * xt + ys * yt;
    float half_gap = 0.5f * (mss - mtt);
    float root = sqrtf(half_gap * half_gap + mst * mst);
    float major2 = 0.5f * (mss + mtt) + root;
    if (!(major2 > 0.0f))
        return f;                    /* a point: level 0 */
    if (filter < TEX_FILTER_ANISO) { /* isotropic; the later ones differ in their probes only */
        float level = clamp_level(0.5f * log2f(major2) + mip_bias, level_count);
        f.level = filter == TEX_FILTER_TRILINEAR ? level : floorf(level + 0.5f);
        return f;
    }

    /* det M = det(J)^2 + bs jtt + bt jss + bs bt: no difference of large numbers. */
    float det_j = xs * yt - xt * ys;
    float det = det_j * det_j + bs * jtt + bt * jss + bs * bt;
    float major = sqrtf(major2);
    float minor = sqrtf(det) / major;
    /* Probes finer than a texel of level 0 see nothing new; more than the most are not taken. */
    minor = larger(larger(minor, 1.0f), major / (float)TEX_MAX_PROBES);
    f.level = clamp_level(log2f(minor) + mip_bias, level_count);
    float aspect = major / minor;
    if (aspect > 1.0625f) { /* below, rounding alone could ask for a second probe */
        f.probe_count = (uint32_t)ceilf(aspect - 0.0625f);
        if (f.probe_count > TEX_MAX_PROBES)
            f.probe_count = TEX_MAX_PROBES;
        /* The eigenvector of the larger eigenvalue, from the row of M - major2 that is not small. */
        float es, et;
        if (half_gap >= 0.0f) {
            es = half_gap + root;
            et = mst;
        } else {
            es = mst;
            et = root - half_gap;
        }
        float step = major / ((float)f.probe_count * sqrtf(es * es + et * et));
        f.axis_s = es * step / w;
        f.axis_v = -et * step / h;
    }
    return f;
}
