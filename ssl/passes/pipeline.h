/* The passes between the lowered IR and code generation, one file each; the order is
 * ir_pipeline's. */
#ifndef SSL_PASSES_PIPELINE_H
#define SSL_PASSES_PIPELINE_H

#include "ssl/ir/ir.h"

typedef struct IrPipelineDesc {
    SslKernelKind kind;
    const SslConstant *constants; /* bound by name; types already checked */
    uint32_t constant_count;
    bool without_derivatives, merged_summaries;
    /* Called after each pass with its name when not NULL, for `sslc dump`. */
    void (*observe)(void *data, const char *pass, const IrModule *m);
    void *observe_data;
} IrPipelineDesc;

typedef struct IrReport {
    uint64_t visits;                  /* of instructions, to find lineage and demand */
    uint32_t values, values_shadowed; /* float values after inlining; those with a tangent */
    uint32_t instructions;
    uint64_t globals_value, globals_derivs; /* bit = row */
} IrReport;

/* specialise -> split_arrays -> lineage, demand, forward (per function, before inlining) -> inline -> fold ->
 * closure_slots -> drop what the kind does not need -> dce; verified after each. Afterwards: the entry
 * and recursive functions, no TEX_AUTO, DDX, DDY or closure operation; slots filled. Programs of
 * other kinds than SHADE keep lobe slots only: their outputs have no results. *m is rebuilt in
 * place, in its arena.
 *
 * Diagnostics: S0601 a second derivative counts as zero (warning); S0602
 * closures in one another without end, S0603 too large after inlining, S0604 too many closures, S0606 too
 * deep after inlining (errors, STATUS_SOURCE). */
Status ir_pipeline(IrModule *m, const IrPipelineDesc *desc, DiagList *diags, IrReport *out_report,
                   Error *err) SORT_MUST_CHECK;

#endif
