/* The kernel ABI: all that compiled SSL code, the host and the compiler share.
 *
 * A kernel shades a batch of points with one material. Points come in blocks of SSL_BLOCK lanes, so
 * that scalar, 4-, 8- and 16-wide code read the same memory:
 *
 *   globals   [block] of rows, each [value ddx ddy][component][16] floats (one 64-byte line each);
 *             offsets by ssl_globals_layout(). Only the rows that SslProgramInfo names are read.
 *             Derivatives are finite.
 *   attributes [block] of SslProgramInfo.attributes_stride_bytes, laid out as SslProgramInfo says; only
 *             what the kernel reads has room in it, and the host fills all of that
 *   result    [block] of result_stride_bytes, laid out as SslProgramInfo says: a fault word per lane,
 *             the outputs, then the lobe slots (closure terms that the compiler numbered).
 *   params    one block of uniform values; textures: host ids by slot.
 *
 * No lane's bits depend on how many lanes or blocks there are, on its position, or on the mask.
 * A kernel allocates nothing, takes no lock, and may wait only inside a service. The thread flushes subnormal
 * numbers to zero (base/thread.h): a host whose threads do not gets other numbers than the language promises. No number
 * that the host gives is subnormal (ssl_flushed): what a kernel only passes on, or picks, no operation flushes. */
#ifndef SSL_KERNEL_H
#define SSL_KERNEL_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SSL_BLOCK = 16, SSL_KERNEL_ABI = 3 };

/* What x is in the language, where a number below the least normal one is a zero: for what hosts put into batches,
 * whatever their thread makes of such numbers. */
static inline float ssl_flushed(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

typedef struct SslHost SslHost; /* the host's own; handed back to every service */

enum { SSL_TEX_WANT_DERIVS = 1 }; /* result holds 12 rows instead of 4 */

/* One texture lookup for lanes [lane_first, lane_first + lane_count) of one block; bit i of lane_mask
 * says that lane lane_first + i is wanted. lane_count is 1, 4, 8 or 16. */
typedef struct SslTexCall {
    uint32_t block, lane_first, lane_count, lane_mask;
    uint32_t texture; /* host id: SslBatch.textures[slot] */
    uint32_t site; /* call site: index into SslProgramInfo.texture_sites, which holds the options */
    uint32_t flags;     /* SSL_TEX_* */
    const float *coord; /* [7][lane_count]: s t ds_dx dt_dx ds_dy dt_dy blur */
    float *
        result; /* [4][lane_count] r g b a; with SSL_TEX_WANT_DERIVS [12]: rgba, d_ds rgba, d_dt rgba */
} SslTexCall;

typedef struct SslServices {
    size_t size_bytes;
    /* May wait (a fiber is parked below the kernel's frame); returns with every wanted lane filled. */
    void (*tex_lookup)(SslHost *host, const SslTexCall *call);
} SslServices;

typedef struct SslBatch {
    const void *globals;    /* [block_count] blocks of the layout's stride; 64-byte aligned */
    const void *attributes; /* the same; NULL if attributes_stride_bytes is 0 */
    const uint16_t
        *live; /* [block_count]; bit i: lane i exists. Other lanes are neither read nor written */
    void *result;             /* [block_count][result_stride_bytes]; 64-byte aligned; caller's */
    const void *params;       /* SslProgramInfo.params_bytes */
    const uint32_t *textures; /* [texture_count] host ids by slot */
    const SslServices *services;
    SslHost *host;
    uint32_t block_count;
    uint32_t loop_budget; /* back-edges and recursive calls that one point may take, all together */
    uint32_t stack_bytes; /* of the stack, for recursive calls: past it a call is a fault */
} SslBatch;

typedef void (*SslKernelFn)(const SslBatch *batch);

#endif
