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

/* derive.c: builds the derivatives that the source takes, before all other passes, and completes the module that
 * lowering left. STATUS_SOURCE: one of them cannot be built. STATUS_INTERNAL: the result is invalid IR. */
Status ir_derive(IrModule *m, DiagList *diags, Error *err) SORT_MUST_CHECK;

/* filter.c: makes the choices of [Filtered] functions means over the footprint, before all other passes. Warns of
 * functions in which it found nothing to do. STATUS_INTERNAL: the result is invalid IR. */
Status ir_filter(IrModule *m, DiagList *diags, Error *err) SORT_MUST_CHECK;

typedef enum IrInputKind {
    IR_INPUT_PARAM,
    IR_INPUT_GLOBAL,
    IR_INPUT_ATTRIBUTE,
    IR_INPUT_TEXTURE /* four floats, zero: what is added to all texels */
} IrInputKind;
/* A value that the entry reads, with the kinds of its numbers. */
typedef struct IrKernelInput {
    IrInputKind kind;
    uint32_t index; /* of the parameter, row, attribute or texture */
    uint32_t number_count;
    const IrKind *kinds; /* [number_count] */
} IrKernelInput;
/* A derivative of the entry. Forward: the entry's new results are those of `outputs`, then for each direction their tangents.
 * Backward: a number for each of the inputs' own. marks_edges: those of `outputs`, then the mark (edges_mark). */
typedef struct IrKernelDerivative {
    bool is_backward, marks_edges; /* not both */
    bool has_edges;                /* backward: edges count (edges.h) */
    uint32_t direction_count;      /* forward: 1 to DERIVE_DIRECTIONS_MAX */
    const IrKernelInput *inputs;
    uint32_t input_count;
    const uint32_t *outputs; /* rows of IrModule.outputs */
    uint32_t output_count;
    /* What the derivative reads beside the inputs: forward [direction_count][input_count], tangents of the inputs; backward
     * [output_count], adjoints of the outputs. The tangent of a texture is a texture, whose texels are those of the texture's. */
    const IrKernelInput *seeds;
    /* [input_count] 0, or 1 + the parameter by which it is shaken; NULL: none is. noise_pixel: the attribute; noise_seed: the parameter. */
    const uint32_t *noise;
    uint32_t noise_pixel, noise_seed;
    const IrOutput *rows; /* IrModule.outputs afterwards */
    uint32_t row_count;
    bool *out_is_flat; /* [input_count] backward: its derivative is zero whatever the inputs are */
} IrKernelDerivative;
/* derive_kernel.c: does what ir_derive does, and puts a derivative of the entry in the entry's place. The caller has
 * extended `info` by what the derivative reads. */
Status ir_derive_kernel(IrModule *m, const IrKernelDerivative *how, DiagList *diags,
                        Error *err) SORT_MUST_CHECK;

/* specialise.c: replaces reads of the named parameters by constants, drops detach, and rebuilds as ir_rebuild does. */
void ir_specialise(IrModule *m, const SslConstant *constants, uint32_t count);

/* split_arrays.c: replaces each float array that is only accessed at constant indices by those of its elements
 * that are read. It runs before ir_forward, which then carries tangents per element. */
void ir_split_arrays(IrModule *m);

/* dce.c */
/* Returns an array [value]: 1 if a result of the function depends on the value. All results are live. */
uint8_t *ir_live_values(const IrModule *m, const IrFunc *f);
/* Visits the functions that the entry reaches, each before those that it then calls, and drops all others. visit: NULL is
 * allowed. */
void ir_reach(IrModule *m, void (*visit)(IrModule *m, IrFuncId id, void *data), void *data);
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
/* Returns how many instructions the module has with all calls expanded, as SSL_MAX_INSTRUCTIONS counts them. */
uint64_t ir_expanded_size(const IrModule *m);
/* Returns the error that ir_inline would return, without changing the module. */
Status ir_check_extent(const IrModule *m, DiagList *diags) SORT_MUST_CHECK;

/* closure_slots.c: replaces closure values by scalars, and the closures of the entry's outputs by lobe slots. Only
 * the closures of `kind` are kept. STATUS_SOURCE: a closure has too many terms. */
Status ir_closure_slots(IrModule *m, SslKernelKind kind, DiagList *diags) SORT_MUST_CHECK;

#endif
