/* Smith's Lambda of the cloth lobe, by the paper's fit [Estevez2017 sec. 3]. Pure, header only. */
#ifndef SORT_BSDF_SHEEN_SHADOWING_H
#define SORT_BSDF_SHEEN_SHADOWING_H

#include "base/vec.h"

static inline float sheen_fit(const float *k, float x)
{
    return k[0] / (1.0f + k[1] * powf(x, k[2])) + k[3] * x + k[4];
}

/* alpha in (0, 1], cos_w in [0, 1]. */
static inline float sheen_lambda(float alpha, float cos_w)
{
    static const float narrow[5] = {25.3245f, 3.32435f, 0.16801f, -1.27393f, -4.85967f};
    static const float wide[5] = {21.5473f, 3.82987f, 0.19823f, -1.97760f, -4.32054f};
    float k[5], t = (1.0f - alpha) * (1.0f - alpha);
    for (int i = 0; i < 5; ++i)
        k[i] = (1.0f - t) * wide[i] + t * narrow[i];
    float x = cos_w < 0.5f ? sheen_fit(k, cos_w)
                           : 2.0f * sheen_fit(k, 0.5f) - sheen_fit(k, maxf(1.0f - cos_w, 0.0f));
    return expf(x);
}

#endif
