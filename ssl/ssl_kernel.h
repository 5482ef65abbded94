/* The kernel ABI: the data and functions that compiled SSL code and the host share.
 *
 * A kernel shades a batch of points with one material. Points come in blocks of SSL_BLOCK lanes, so that
 * code of 1, 4, 8 and 16 lanes reads the same memory:
 *
 *   globals    a block is a list of rows, each [value ddx ddy][component][16] floats (16 floats are a 64-byte
 *              line), at the offsets of ssl_globals_layout(). The kernel reads only the rows that
 *              SslProgramInfo names. Derivatives must be finite.
 *   attributes a block has attributes_stride_bytes, laid out by SslProgramInfo. It holds only the attributes
 *              that the kernel reads, and the host must fill all of them.
 *   result     a block has result_stride_bytes, laid out by SslProgramInfo: a fault word per lane, the
 *              outputs, then the lobe slots (closure terms, which the compiler numbers).
 *   params     one block of values that are equal for all points; in programs with SslBuildDesc.rows, lists of
 *              rows, of which parameters and outputs have one for each scalar.
 *   textures   the host's texture ids by slot.
 *
 * The bits of a lane's result do not depend on the number of lanes or blocks, on the lane's position, or on the
 * mask. A kernel allocates nothing, takes no lock, and waits only inside a service.
 *
 * The calling thread must flush subnormal numbers to zero (base/thread.h), or results differ from what the
 * language promises. The numbers that the host passes must not be subnormal either (ssl_flushed), because no
 * operation flushes a number that a kernel only copies or selects. */
#ifndef SSL_KERNEL_H
#define SSL_KERNEL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SSL_BLOCK = 16, SSL_KERNEL_ABI = 5 };

/* Returns x, or a zero of its sign if x is subnormal: the language has no subnormal numbers. Hosts apply it to
 * the numbers of a batch; it works whether or not the thread flushes subnormals itself. */
static inline float ssl_flushed(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

typedef struct SslHost SslHost; /* defined by the host; the kernel passes it to every service */

enum { SSL_TEX_WANT_DERIVS = 1 }; /* SslTexCall.result has 12 rows instead of 4 */

/* A texture lookup for lanes [lane_first, lane_first + lane_count) of one block. Bit i of lane_mask says that
 * lane lane_first + i needs a result. lane_count is 1, 4, 8 or 16. */
typedef struct SslTexCall {
    uint32_t block, lane_first, lane_count, lane_mask;
    uint32_t texture; /* host id: SslBatch.textures[slot] */
    uint32_t site;    /* index into SslProgramInfo.texture_sites, which holds the call's options */
    uint32_t flags;   /* SSL_TEX_* */
    const float *coord; /* [7][lane_count]: s t ds_dx dt_dx ds_dy dt_dy blur */
    /* [4][lane_count]: r g b a; with SSL_TEX_WANT_DERIVS [12][lane_count]: rgba, d_ds rgba, d_dt rgba.
     * Of tex_adjoint: the adjoints of these, which are only read. */
    float *result;
} SslTexCall;

/* A question that the lanes of lane_mask put to the host (SslQuestionRow); lanes are those of SslTexCall. Rows are of numbers of four
 * bytes: floats, ints, and bools as 0 and 1. */
typedef struct SslAskCall {
    uint32_t block, lane_first, lane_count, lane_mask;
    uint32_t question; /* the row of the host's table */
    const void *args;  /* [scalars of all arguments][lane_count] */
    void *result;      /* [scalars of the answer][lane_count] */
} SslAskCall;

typedef struct SslServices {
    size_t size_bytes; /* sizeof(SslServices) */
    /* Fills the result of every lane in lane_mask. It may park the fiber that runs the kernel. */
    void (*tex_lookup)(SslHost *host, const SslTexCall *call);
    /* Answers a question for every lane in lane_mask: for equal arguments alike. NULL if the context's table has no question. */
    void (*ask)(SslHost *host, const SslAskCall *call);
    /* The transpose of tex_lookup, which derivatives by texels call: adds to the gradient of every texel that a lookup blended the
     * adjoint of the result times the texel's weight in it, for every lane in lane_mask. NULL if no program of the host is one. */
    void (*tex_adjoint)(SslHost *host, const SslTexCall *call);
} SslServices;

/* All memory is the caller's. */
typedef struct SslBatch {
    /* [block_count] blocks of SslGlobalsLayout.stride_bytes; 64-byte aligned. */
    const void *globals;
    /* [block_count][attributes_stride_bytes], 64-byte aligned; NULL if that is 0. */
    const void *attributes;
    /* [block_count]; bit i: lane i exists. Other lanes are neither read nor written. */
    const uint16_t *live;
    /* [block_count][result_stride_bytes]; 64-byte aligned. A program with rows has none. */
    void *result;
    /* [SslProgramInfo.params_bytes]. A program with rows has `void *const *`, the first row of each of the lists that
     * SslBuildDesc.rows names. A row is 64-byte aligned and has [SSL_BLOCK] floats or ints. Lists of values that are
     * neither read nor written may be NULL, and no row that is written is one that is read. */
    const void *params;
    const uint32_t *textures; /* [texture_count] host ids by slot */
    const SslServices *services;
    SslHost *host;
    uint32_t block_count; /* at least 1 */
    uint32_t loop_budget; /* back-edges and recursive calls that one point may take, in total */
    uint32_t stack_bytes; /* stack that recursive calls may use; a call beyond it is a fault */
} SslBatch;

/* Shades the batch. Any thread may call it, with a batch of its own. */
typedef void (*SslKernelFn)(const SslBatch *batch);

#endif
