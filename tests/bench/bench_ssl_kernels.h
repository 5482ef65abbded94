/* Kernels written twice: as SSL source and, by hand, in C with the same ABI, the same guards, bounds
 * checks and loop budget, to see what a compiler of the host's language makes of the same mathematics. */
#ifndef TESTS_BENCH_SSL_KERNELS_H
#define TESTS_BENCH_SSL_KERNELS_H

#include "ssl/ssl_kernel.h"

/* Globals of all of them, in this order; all carry derivatives: p (point), N (normal), uv (float2). In
 * floats from a block's start, value first, one scalar a line of 16. */
enum {
    BENCH_P = 0,
    BENCH_P_DDX = BENCH_P + 3 * SSL_BLOCK,
    BENCH_P_DDY = BENCH_P_DDX + 3 * SSL_BLOCK,
    BENCH_N = BENCH_P_DDY + 3 * SSL_BLOCK,
    BENCH_UV = BENCH_N + 9 * SSL_BLOCK,
    BENCH_UV_DDX = BENCH_UV + 2 * SSL_BLOCK,
    BENCH_UV_DDY = BENCH_UV_DDX + 2 * SSL_BLOCK,
    BENCH_GLOBALS_FLOATS = BENCH_UV_DDY + 2 * SSL_BLOCK
};

typedef struct BenchKernel {
    const char *name;
    const char *ssl; /* source; outputs are scalars, `out_floats` of them in all */
    SslKernelFn c;
    uint32_t out_floats;
} BenchKernel;

extern const BenchKernel bench_kernels[], bench_shaders[]; /* each ends with a NULL name */
extern const char bench_c_compiler[];                      /* what compiled the C side */

#endif
