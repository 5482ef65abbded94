/* Multiple importance sampling weights. Pure. */
#ifndef SORT_SAMPLING_MIS_H
#define SORT_SAMPLING_MIS_H

#include "base/compiler.h"
#include <math.h>

/* Weight of a sample drawn with density pdf that another strategy would draw with density pdf_other;
 * one sample each [Veach1997 sec. 9.2, power 2]. Both in the same measure. An infinite pdf (a delta)
 * takes all; pdf 0 gives 0. No overflow for any finite densities. */
static inline float mis_power(float pdf, float pdf_other)
{
    if (!(pdf > 0.0f))
        return 0.0f;
    if (isinf(pdf))
        return 1.0f;
    float ratio = pdf_other / pdf;
    return 1.0f / (1.0f + ratio * ratio);
}

/* Weight by the balance heuristic [Veach1997 sec. 9.2], with the arguments and limits of mis_power. */
static inline float mis_balance(float pdf, float pdf_other)
{
    if (!(pdf > 0.0f))
        return 0.0f;
    if (isinf(pdf))
        return 1.0f;
    return 1.0f / (1.0f + pdf_other / pdf);
}

#endif
