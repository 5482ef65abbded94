/* Bilinear taps of one place in several levels, both axes at once, without derivatives and black edges. The results have the bits
 * of make_tap() (tex_place.h), which computes one axis after the other and can do the rest. */
#ifndef SORT_TEXTURES_FILTER_TAP_POINT_H
#define SORT_TEXTURES_FILTER_TAP_POINT_H

#include "textures/cache/texcache_state.h"
#include "textures/filter/footprint.h"
#include "textures/filter/tex_wrap.h"
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

/* The texel with weight 0 is replaced by the other one, since it need not be resident. */
static inline void tap_axis(double x, uint32_t count, TexWrap wrap, uint32_t out_texels[2],
                            float *out_fraction)
{
    AxisTap tap = axis_tap_linear(x, count, wrap);
    ASSERT(tap.outside == 0);
    out_texels[0] = tap.first;
    out_texels[1] = tap.fraction == 0.0f ? tap.first : tap.second;
    *out_fraction = tap.fraction;
}

#if defined(__SSE2__)
/* Both axes are periodic, or both are clamped. */
SORT_ALWAYS_INLINE void tap_both_axes(double s, double v, const TexLevel *level, bool is_periodic,
                                      uint32_t out_texels[4], float out_fraction[2])
{
    ASSERT(s >= -0x1p25 && s <= 0x1p25 && v >= -0x1p25 && v <= 0x1p25);
    __m128d x = _mm_set_pd(v, s);
    __m128i count = _mm_set_epi32(0, 0, (int)level->height, (int)level->width);
    __m128d n = _mm_cvtepi32_pd(count);
    if (is_periodic) { /* inside [0, 1) the whole part is 0 */
        __m128d whole = _mm_cvtepi32_pd(_mm_cvttpd_epi32(x));
        x = _mm_sub_pd(x, _mm_sub_pd(whole, _mm_and_pd(_mm_cmpgt_pd(whole, x), _mm_set1_pd(1.0))));
    }
    __m128d p = _mm_add_pd(_mm_mul_pd(x, n), _mm_set1_pd(0.5));
    if (!is_periodic)
        p = _mm_min_pd(_mm_max_pd(p, _mm_setzero_pd()), n);
    __m128i j = _mm_cvttpd_epi32(p);
    __m128 fraction = _mm_cvtpd_ps(_mm_sub_pd(p, _mm_cvtepi32_pd(j)));
    __m128i is_first = _mm_cmpeq_epi32(j, _mm_setzero_si128()), is_last = _mm_cmpeq_epi32(j, count);
    __m128i first = _mm_add_epi32(j, _mm_set1_epi32(-1)), second;
    if (is_periodic) {
        first = _mm_add_epi32(first, _mm_and_si128(is_first, count));
        second = _mm_andnot_si128(is_last, j);
    } else {
        first = _mm_sub_epi32(first, is_first);
        second = _mm_add_epi32(j, is_last);
    }
    __m128i is_zero = _mm_castps_si128(_mm_cmpeq_ps(fraction, _mm_setzero_ps()));
    second = _mm_or_si128(_mm_and_si128(is_zero, first), _mm_andnot_si128(is_zero, second));
    __m128i texels = _mm_unpacklo_epi32(first, second);
    int64_t both = _mm_cvtsi128_si64(_mm_castps_si128(fraction));
    memcpy(out_texels, &texels, sizeof texels);
    memcpy(out_fraction, &both, sizeof both);
}
#endif

static inline void tap_at(double s, double v, const TexLevel *level, const LookupOptions *o,
                          uint32_t out_texels[4], float out_fraction[2])
{
#if defined(__SSE2__)
    if (o->wrap_s == TEX_WRAP_PERIODIC && o->wrap_t == TEX_WRAP_PERIODIC) {
        tap_both_axes(s, v, level, true, out_texels, out_fraction);
        return;
    }
    if (o->wrap_s == TEX_WRAP_CLAMP && o->wrap_t == TEX_WRAP_CLAMP) {
        tap_both_axes(s, v, level, false, out_texels, out_fraction);
        return;
    }
#endif
    tap_axis(s, level->width, o->wrap_s, &out_texels[0], &out_fraction[0]);
    tap_axis(v, level->height, o->wrap_t, &out_texels[2], &out_fraction[1]);
}

#endif
