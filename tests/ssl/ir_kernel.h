/* What tests of code generation share: a module built by hand, one batch of points for it, and
 * running it as machine code and through the interpreter (ir_oracle.h). */
#ifndef TESTS_IR_KERNEL_H
#define TESTS_IR_KERNEL_H

#include "ssl/ir/ir_build.h"
#include "ssl/jit/jit.h"
#include "tests/ssl/ir_oracle.h"

/* Globals of all test modules: f and g are floats with derivatives, p a float3 with derivatives, i an
 * int, b a bool. Parameters: pf (float), pi (int), pc (color), pb (bool). */
enum { ROW_F, ROW_G, ROW_P, ROW_I, ROW_B, ROW_COUNT };
enum { PARAM_F, PARAM_I, PARAM_C, PARAM_B, PARAM_COUNT };
enum {
    CLOSURE_LAMBERT,
    CLOSURE_COAT,
    CLOSURE_COUNT
}; /* (color, normal); (closure weightless: float) */
enum { IR_KERNEL_BLOCKS = 3, IR_KERNEL_TEXTURES = 2 };

typedef struct IrKernel {
    Arena *arena;
    IrModule *module;
    IrBuilder *builder; /* of the entry; open until ir_kernel_end */
} IrKernel;

void ir_kernel_begin(IrKernel *k);
/* Ends the entry with these scalars as outputs "o0", "o1" ... and verifies. */
void ir_kernel_end(IrKernel *k, const IrValue *results, uint32_t count);
/* Ends the entry of a caller that has filled the tables (outputs, slots) itself, and verifies. */
void ir_kernel_end_raw(IrKernel *k, const IrValue *results, uint32_t count);
void ir_kernel_free(IrKernel *k);

/* The batch: value, live masks and results; `seed` chooses the values. */
typedef struct IrBatch {
    KernelLayout layout;
    SslBatch batch;
    SslServices services;
    uint16_t live[IR_KERNEL_BLOCKS];
    uint32_t textures[IR_KERNEL_TEXTURES];
    int32_t params[8];
    void *globals, *result;
    size_t result_bytes;
    uint32_t lookups;
} IrBatch;
void ir_batch_init(IrBatch *b, const IrKernel *k, uint64_t seed);
void ir_batch_free(IrBatch *b);
void ir_batch_clear(IrBatch *b); /* results to a pattern */
float *ir_batch_global(IrBatch *b, uint32_t row, uint32_t shadow, uint32_t component,
                       uint32_t point);
/* Word `row` (of 16 lanes) of output `output` of a point. */
uint32_t ir_batch_output(const IrBatch *b, uint32_t output, uint32_t component, uint32_t point);
float ir_batch_output_float(const IrBatch *b, uint32_t output, uint32_t component, uint32_t point);
uint32_t ir_batch_fault(const IrBatch *b, uint32_t point);

/* Runs as machine code. */
void ir_kernel_run(Jit *jit, const IrKernel *k, IrBatch *b, JitOptions options);
/* Runs with one lane and 16, at O0 and the default, one way more by the seed, and through the interpreter;
 * all bits of all result blocks must agree, but NaN is NaN. */
void ir_kernel_check(Jit *jit, const IrKernel *k, uint64_t seed);
/* Runs the check for the seeds 1 to `seed_count`. */
void ir_kernel_check_seeds(Jit *jit, const IrKernel *k, uint64_t seed_count);

#endif
