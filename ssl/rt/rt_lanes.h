/* The functions of rt_math.inc for several lanes: rt_sin_4, rt_sin_8, rt_sin_16 and so on. Each lane has the same bits as
 * rt_sin. _8 needs a CPU with AVX2, and _16 one with AVX-512 (x86-64-v3 and -v4). */
#ifndef SSL_RT_LANES_H
#define SSL_RT_LANES_H

#if defined(__x86_64__)
#    define RT_HAS_WIDE_LANES 1
#else
#    define RT_HAS_WIDE_LANES 0
#endif

#define RT_MATH1(name, f)                                                                          \
    void rt_##f##_4(const float *restrict x, float *restrict out);                                 \
    void rt_##f##_8(const float *restrict x, float *restrict out);                                 \
    void rt_##f##_16(const float *restrict x, float *restrict out);
#define RT_MATH2(name, f)                                                                          \
    void rt_##f##_4(const float *restrict x, const float *restrict y, float *restrict out);        \
    void rt_##f##_8(const float *restrict x, const float *restrict y, float *restrict out);        \
    void rt_##f##_16(const float *restrict x, const float *restrict y, float *restrict out);
#include "ssl/rt/rt_math.inc"
#undef RT_MATH1
#undef RT_MATH2

void rt_sincos_4(const float *restrict x, float *restrict out_sin, float *restrict out_cos);
void rt_sincos_8(const float *restrict x, float *restrict out_sin, float *restrict out_cos);
void rt_sincos_16(const float *restrict x, float *restrict out_sin, float *restrict out_cos);

#endif
