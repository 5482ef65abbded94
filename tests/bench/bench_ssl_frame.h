/* The frame of the C kernels, and SSL's guards in C. */
#ifndef TESTS_BENCH_SSL_FRAME_H
#define TESTS_BENCH_SSL_FRAME_H

#include "tests/bench/bench_ssl_kernels.h"
#include <float.h>
#include <math.h>

enum { LANES = SSL_BLOCK };

/* The frame of every kernel: `body` computes one lane from g[...] and stores with OUT(i). */
#define KERNEL(function, out_floats, body)                                                         \
    static void function(const SslBatch *batch)                                                    \
    {                                                                                              \
        const size_t stride = 64u * (1u + (out_floats)); /* in bytes, with the fault words */      \
        for (uint32_t block = 0; block < batch->block_count; ++block) {                            \
            const float *restrict globals =                                                        \
                (const float *)batch->globals + (size_t)block * BENCH_GLOBALS_FLOATS;              \
            float *restrict result = (float *)((char *)batch->result + block * stride);            \
            const uint32_t live = batch->live[block];                                              \
            for (uint32_t lane = 0; lane < LANES; ++lane) {                                        \
                if (!(live >> lane & 1))                                                           \
                    continue;                                                                      \
                uint32_t fault = 0, budget = batch->loop_budget;                                   \
                (void)budget;                                                                      \
                body((uint32_t *)result)[lane] = fault;                                            \
            }                                                                                      \
        }                                                                                          \
    }
#define G(at, component) globals[(at) + (component) * LANES + lane]
#define OUT(index)       result[(1 + (index)) * LANES + lane]

static inline float guarded_log(float x)
{
    return logf(x < FLT_MIN ? FLT_MIN : x);
}

static inline float guarded_sqrt(float x)
{
    return x < 0.0f ? 0.0f : sqrtf(x);
}

static inline float guarded_pow(float x, float y)
{
    return x < 0.0f && y == y && y != truncf(y) ? 0.0f : powf(x, y);
}

static inline float minimum(float a, float b)
{
    return b < a ? b : a;
}

static inline float maximum(float a, float b)
{
    return a > b ? a : b;
}

/* The end of a loop's turn: one back-edge of the budget, or the fault. */
#define SPEND(site)                                                                                \
    if (budget == 0) {                                                                             \
        fault = fault ? fault : (site);                                                            \
        break;                                                                                     \
    }                                                                                              \
    budget--;

static inline int32_t int_from_float(float x)
{
    if (!(x > -2147483648.0f))
        return x <= -2147483648.0f ? INT32_MIN : 0;
    return x < 2147483648.0f ? (int32_t)x : INT32_MAX;
}

#endif
