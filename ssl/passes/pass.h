/* The passes, one file each. A pass rebuilds the module's functions; nothing here diagnoses unless
 * it takes a DiagList. What a pass needs to be true beforehand stands with it. */
#ifndef SSL_PASSES_PASS_H
#define SSL_PASSES_PASS_H

#include "ssl/ir/ir_clone.h"
#include "ssl/passes/pipeline.h"
#include "ssl/ssl_limits.h"

enum {
    IR_DIRECTIONS = 2 /* tangents: d/dx, d/dy */
};

/* specialise.c: reads of the parameters named become constants; the rest as ir_rebuild. */
void ir_specialise(IrModule *m, const SslConstant *constants, uint32_t count);

/* split_arrays.c: float arrays without an index of run time become the elements that are read. Before the
 * derivatives, which then are carried by element. */
void ir_split_arrays(IrModule *m);

/* dce.c */
/* [value]: does a result of the function need it? Every result of the function counts as needed. */
uint8_t *ir_live_values(const IrModule *m, const IrFunc *f);
/* Copies every function that the entry reaches without what no result needs, folding; drops the
 * others. */
void ir_rebuild(IrModule *m, const IrCloneHooks *hooks, void *data);
/* The same until it hardly shrinks any more: what one round folds may leave more unneeded. */
void ir_simplify(IrModule *m);
uint32_t ir_count_instructions(const IrModule *m);

/* forward.c: lineage, demand and tangents in every function that the entry reaches. Afterwards no
 * TEX_AUTO, DDX or DDY. Counts float values, as if calls were inlined, and the instructions that were visited
 * for lineage and demand. STATUS_SOURCE: too large, or too much to analyse. */
typedef struct IrDerivativeCounts {
    uint64_t values, shadowed, visits;
} IrDerivativeCounts;
Status ir_forward(IrModule *m, bool without_derivatives, bool merged_summaries, DiagList *diags,
                  IrDerivativeCounts *out_counts) SORT_MUST_CHECK;

/* inline.c: the entry and the recursive functions, without calls of others, which are gone. STATUS_SOURCE:
 * too large. */
Status ir_inline(IrModule *m, DiagList *diags) SORT_MUST_CHECK;
/* STATUS_SOURCE: ir_inline would refuse it, were it now. */
Status ir_check_extent(const IrModule *m, DiagList *diags) SORT_MUST_CHECK;

/* closure_slots.c: closure values become scalars, those of the entry's outputs lobe slots; keeps
 * what `kind` asks for. STATUS_SOURCE: closures that do not fit in numbered slots. */
Status ir_closure_slots(IrModule *m, SslKernelKind kind, DiagList *diags) SORT_MUST_CHECK;

#endif
