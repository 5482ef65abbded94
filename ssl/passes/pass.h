/* The passes, one file each. A pass rebuilds the module's functions. Only passes with a DiagList report errors.
 * Preconditions are stated with each pass. */
#ifndef SSL_PASSES_PASS_H
#define SSL_PASSES_PASS_H

#include "ssl/ir/ir_clone.h"
#include "ssl/passes/pipeline.h"
#include "ssl/ssl_limits.h"

enum {
    IR_DIRECTIONS = 2 /* d/dx and d/dy */
};

/* specialise.c: replaces reads of the named parameters by constants, and rebuilds as ir_rebuild does. */
void ir_specialise(IrModule *m, const SslConstant *constants, uint32_t count);

/* split_arrays.c: replaces each float array that is only accessed at constant indices by those of its elements
 * that are read. It runs before ir_forward, which then carries tangents per element. */
void ir_split_arrays(IrModule *m);

/* dce.c */
/* Returns an array [value]: 1 if a result of the function depends on the value. All results are live. */
uint8_t *ir_live_values(const IrModule *m, const IrFunc *f);
/* Copies the live instructions of every function that the entry reaches, folding on the way, and drops all other
 * functions. */
void ir_rebuild(IrModule *m, const IrCloneHooks *hooks, void *data);
/* Repeats ir_rebuild until the module hardly shrinks any more, because folding can make more values dead. */
void ir_simplify(IrModule *m);
uint32_t ir_count_instructions(const IrModule *m);

/* Counts of ir_forward: float values and those with a tangent, as if all calls were inlined, and the visits of
 * the analyses. */
typedef struct IrDerivativeCounts {
    uint64_t values, shadowed, visits;
} IrDerivativeCounts;
/* forward.c: adds tangents to every function that the entry reaches. Afterwards there is no TEX_AUTO, DDX or DDY.
 * STATUS_SOURCE: the program is too large, or takes too many visits to analyse. */
Status ir_forward(IrModule *m, bool without_derivatives, bool merged_summaries, DiagList *diags,
                  IrDerivativeCounts *out_counts) SORT_MUST_CHECK;

/* inline.c: replaces every call of a function that is not recursive by its body; only the entry and the recursive
 * functions remain. STATUS_SOURCE: the result would be too large. */
Status ir_inline(IrModule *m, DiagList *diags) SORT_MUST_CHECK;
/* Returns the error that ir_inline would return, without changing the module. */
Status ir_check_extent(const IrModule *m, DiagList *diags) SORT_MUST_CHECK;

/* closure_slots.c: replaces closure values by scalars, and the closures of the entry's outputs by lobe slots. Only
 * the closures of `kind` are kept. STATUS_SOURCE: a closure has too many terms. */
Status ir_closure_slots(IrModule *m, SslKernelKind kind, DiagList *diags) SORT_MUST_CHECK;

#endif
