/* The functions of rt_math.inc for several lanes: rt_sin_4, rt_sin_8, rt_sin_16 and so on. Each lane has the same bits as
 * rt_sin. Arguments and results are in vector registers, so only code for a CPU that has them can call a function: AVX2 and FMA
 * (x86-64-v3) for _8, and AVX-512 (x86-64-v4) for _16. */
#ifndef SSL_RT_LANES_H
#define SSL_RT_LANES_H

#if defined(__x86_64__)
#    define RT_HAS_WIDE_LANES 1
#else
#    define RT_HAS_WIDE_LANES 0
#endif

/* Whether functions of 16 lanes leave zmm16 to zmm31, k4 to k7 and rsi as they are, as LLVM's convention intel_ocl_bicc expects besides what
 * the usual one does: then kernels need not store and load what they keep across calls. */
#ifndef RT_KEEPS_REGISTERS
#    define RT_KEEPS_REGISTERS 0
#endif

/* Clang passes such vectors only to functions that are declared for the CPU. */
#if RT_HAS_WIDE_LANES && defined(__clang__)
#    define RT_ON_AVX2   __attribute__((target("avx2")))
#    define RT_ON_AVX512 __attribute__((target("avx512f")))
#else
#    define RT_ON_AVX2
#    define RT_ON_AVX512
#endif

typedef float RtLanes4 __attribute__((vector_size(16)));
typedef float RtLanes8 __attribute__((vector_size(32)));
typedef float RtLanes16 __attribute__((vector_size(64)));

#define RT_MATH1(name, f)                                                                          \
    RtLanes4 rt_##f##_4(RtLanes4 x);                                                               \
    RT_ON_AVX2 RtLanes8 rt_##f##_8(RtLanes8 x);                                                    \
    RT_ON_AVX512 RtLanes16 rt_##f##_16(RtLanes16 x);
#define RT_MATH2(name, f)                                                                          \
    RtLanes4 rt_##f##_4(RtLanes4 x, RtLanes4 y);                                                   \
    RT_ON_AVX2 RtLanes8 rt_##f##_8(RtLanes8 x, RtLanes8 y);                                        \
    RT_ON_AVX512 RtLanes16 rt_##f##_16(RtLanes16 x, RtLanes16 y);
#define RT_WITH_FUSED
#include "ssl/rt/rt_math.inc"
#undef RT_WITH_FUSED
#undef RT_MATH1
#undef RT_MATH2

/* Return the sines. */
RtLanes4 rt_sincos_4(RtLanes4 all, float *out_cos);
RT_ON_AVX2 RtLanes8 rt_sincos_8(RtLanes8 all, float *out_cos);
RT_ON_AVX512 RtLanes16 rt_sincos_16(RtLanes16 all, float *out_cos);
RtLanes4 rt_fused_sincos_4(RtLanes4 all, float *out_cos);
RT_ON_AVX2 RtLanes8 rt_fused_sincos_8(RtLanes8 all, float *out_cos);
RT_ON_AVX512 RtLanes16 rt_fused_sincos_16(RtLanes16 all, float *out_cos);

RtLanes4 rt_fma_4(RtLanes4 all_x, RtLanes4 all_y, RtLanes4 all_z);
RT_ON_AVX2 RtLanes8 rt_fma_8(RtLanes8 all_x, RtLanes8 all_y, RtLanes8 all_z);
RT_ON_AVX512 RtLanes16 rt_fma_16(RtLanes16 all_x, RtLanes16 all_y, RtLanes16 all_z);

#endif
