/* The passes between lowering and code generation, in the order that ir_pipeline states. */
#ifndef SSL_PASSES_PIPELINE_H
#define SSL_PASSES_PIPELINE_H

#include "ssl/ir/ir.h"

typedef struct IrPipelineDesc {
    SslKernelKind kind;
    const SslConstant *constants; /* by parameter name; their types have been checked */
    uint32_t constant_count;
    bool without_derivatives, merged_summaries;
    /* If not NULL, called after each pass with the pass's name; `sslc dump` uses it. */
    void (*observe)(void *data, const char *pass, const IrModule *m);
    void *observe_data;
} IrPipelineDesc;

typedef struct IrReport {
    uint64_t visits;                  /* visits of instructions by lineage and demand analysis */
    uint32_t values, values_shadowed; /* float values after inlining, and those with a tangent */
    uint32_t instructions;
    uint64_t globals_value,
        globals_derivs; /* bit i: the value or the derivatives of row i are read */
} IrReport;

/* Runs the passes, with the verifier after each:
 *
 *   ir_pipeline_specialise   specialise -> split_arrays -> lineage, demand, forward (per function, before inlining) ->
 *                            inline -> fold
 *   ir_pipeline_kernel       closure_slots -> drop what the kind does not need -> dce
 *
 * Only the second step depends on the kind, so whoever needs several gives it copies of one module. The module is
 * rebuilt in place, in its arena. Afterwards it has the entry and the recursive functions, no TEX_AUTO, DDX, DDY or
 * closure operation, and its slots are filled. Programs of other kinds than SHADE keep the lobe slots only, and their
 * outputs have no results.
 *
 * Diagnostics: S0601 a second derivative counts as zero (warning). Errors, with STATUS_SOURCE: S0602 closures
 * nested without end, S0603 too large after inlining, S0604 too many closures, S0606 too deep after
 * inlining. STATUS_INTERNAL: a pass built invalid IR. */
Status ir_pipeline(IrModule *m, const IrPipelineDesc *desc, DiagList *diags, IrReport *out_report,
                   Error *err) SORT_MUST_CHECK;
/* The first step. It leaves the rest of *out_report to the second. */
Status ir_pipeline_specialise(IrModule *m, const IrPipelineDesc *desc, DiagList *diags,
                              IrReport *out_report, Error *err) SORT_MUST_CHECK;
/* The second step: reads kind and observe of `desc`, and fills in the report of the first. */
Status ir_pipeline_kernel(IrModule *m, const IrPipelineDesc *desc, DiagList *diags,
                          IrReport *report, Error *err) SORT_MUST_CHECK;

#endif
