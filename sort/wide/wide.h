/* Programs of SSL that the renderer itself runs on blocks of SSL_BLOCK points: what is computed at a point of a path. C
 * moves the data of points into rows and out of them.
 *
 * sort_wide_programs (cmake/wide.cmake) compiles the shaders of FILE.ssl when SORT is built, for each class of CPUs, and makes
 * FILE_rows.h, which has
 *
 *     typedef struct FileRows { ... } FileRows;            rows for each parameter and output of all shaders, by name
 *     extern const WideProgram SHADER_program;             for each shader
 *     void SHADER_run(FileRows *rows, uint16_t live);
 *
 * A run computes the points of the lanes in `live`, which may be any; outputs of other lanes keep their values. Bits
 * depend neither on the class of the CPU nor on the other lanes. Runs write nothing but `rows`: any thread that flushes
 * subnormal numbers (base/thread.h). */
#ifndef SORT_WIDE_WIDE_H
#define SORT_WIDE_WIDE_H

#include "base/vec.h"
#include "ssl/ssl_kernel.h"
#include <stdalign.h>
#if defined(__SSE2__)
#    include <emmintrin.h>
#endif

/* One scalar of each point. */
typedef float WideRow[SSL_BLOCK];
typedef int32_t WideInts[SSL_BLOCK];

static inline void wide_set3(WideRow rows[3], uint32_t lane, float3 v)
{
    rows[0][lane] = v.x, rows[1][lane] = v.y, rows[2][lane] = v.z;
}

static inline float3 wide_get3(const WideRow rows[3], uint32_t lane)
{
    return f3(rows[0][lane], rows[1][lane], rows[2][lane]);
}

/* Sets the lanes [lane, lane + 4) of the rows a, b, c and d to the four numbers at `from[0]` for the first of them, and so on.
 * lane: a multiple of 4. */
static inline void wide_turn4(const float *const from[4], uint32_t lane, float *a, float *b,
                              float *c, float *d)
{
#if defined(__SSE2__)
    __m128 r0 = _mm_loadu_ps(from[0]), r1 = _mm_loadu_ps(from[1]), r2 = _mm_loadu_ps(from[2]),
           r3 = _mm_loadu_ps(from[3]);
    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(a + lane, r0);
    _mm_storeu_ps(b + lane, r1);
    _mm_storeu_ps(c + lane, r2);
    _mm_storeu_ps(d + lane, r3);
#else
    for (uint32_t k = 0; k < 4; ++k) {
        a[lane + k] = from[k][0], b[lane + k] = from[k][1];
        c[lane + k] = from[k][2], d[lane + k] = from[k][3];
    }
#endif
}

/* Runs the statement for each lane k of a set. */
#define WIDE_EACH(k, lanes)                                                                        \
    for (uint32_t left_ = (lanes), k; left_ && (k = (uint32_t)__builtin_ctz(left_), true);         \
         left_ &= left_ - 1)

/* Returns the lanes whose numbers are -1; others are 0. */
static inline uint16_t wide_lanes(const WideInts mask)
{
#if defined(__SSE2__)
    __m128i low = _mm_packs_epi32(_mm_loadu_si128((const void *)&mask[0]),
                                  _mm_loadu_si128((const void *)&mask[4]));
    __m128i high = _mm_packs_epi32(_mm_loadu_si128((const void *)&mask[8]),
                                   _mm_loadu_si128((const void *)&mask[12]));
    return (uint16_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
    uint32_t lanes = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        lanes |= (uint32_t)(mask[k] & 1) << k;
    return (uint16_t)lanes;
#endif
}

/* Returns the lanes in which a number is above zero. */
static inline uint16_t wide_positive(const WideRow row)
{
    WideInts mask;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        mask[k] = -(row[k] > 0.0f);
    return wide_lanes(mask);
}

/* Returns the lanes in which one of three rows is not zero, or no number. */
static inline uint16_t wide_nonzero3(const WideRow rows[3])
{
    WideInts mask;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        mask[k] = -((rows[0][k] != 0.0f) | (rows[1][k] != 0.0f) | (rows[2][k] != 0.0f));
    return wide_lanes(mask);
}

/* The classes of CPUs that programs are compiled for, narrow ones first. */
enum { WIDE_CLASSES = 3 };
extern const char *const wide_classes[WIDE_CLASSES];

typedef struct WideProgram {
    SslKernelFn kernels[WIDE_CLASSES];
} WideProgram;

/* Returns the widest class that this machine runs. */
uint32_t wide_class_here(void);

/* Runs a program on its struct of rows, 64-byte aligned, by the code for this machine. */
void wide_run(const WideProgram *program, void *rows, uint16_t live);
/* Runs the code of a class of CPUs, which this machine must run. */
void wide_run_as(const WideProgram *program, uint32_t cpu_class, void *rows, uint16_t live);

#endif
