/* What the files of edges*.c share. Edges are where a comparison or a rounding changes between a point and its neighbour. From a
 * flat function they make one with the same parameters and results, whose ordinary derivatives count them:
 *
 *   copies    each value that varies from point to point is computed at four neighbours, too, one pixel away
 *   causes    each bool and int that an edge can change has, for each neighbour, the float whose sign decides it
 *   jumps     each float that an edge can change has, for each neighbour, a number beside it that is zero but whose derivative
 *             is that of its jump: (value here - value there) / (cause here - cause there) times that of the cause.
 *             Jumps pass through operations with secants in place of partials. The jumps of the results are added to them
 *
 * So a jump's derivative is that of the function's mean over the pixel between the two points. An edge is seen along both
 * axes, mostly that in which its cause changes more, and from both sides, half each. [Yang2022] */
#ifndef SSL_PASSES_EDGES_H
#define SSL_PASSES_EDGES_H

#include "ssl/passes/derive.h"

enum { EDGE_NEIGHBOURS = 4 }; /* +x, -x, +y, -y */

/* Why a bool or an int differs at a neighbour. */
typedef struct EdgeCause {
    IrValue cause; /* a float with derivatives; 0: there is none, nor a slope */
    IrValue slope; /* a part of 1 / (cause here - cause there); 0 where nothing changes */
    IrValue place; /* where on the way to the neighbour it changes, 0 to 1 */
} EdgeCause;

typedef struct Edges {
    Derive *derive;
    IrClone *clone;
    IrBuilder *b;
    const IrFunc *f;
    /* [value of f]: it depends on an active parameter, differs at neighbours, is changed by an edge */
    const uint8_t *active;
    uint8_t *varies, *jumps;
    IrValue *copies;   /* [value of f][EDGE_NEIGHBOURS]: those that vary */
    IrValue *shadows;  /* [value of f][EDGE_NEIGHBOURS]: the jumps of floats; 0: zero */
    EdgeCause *causes; /* [value of f][EDGE_NEIGHBOURS] of bools and ints */
    /* Whether the point and its neighbours come by the region that is copied; 0: all do. */
    IrValue here, there[EDGE_NEIGHBOURS];
} Edges;

/* --- edges.c --- */
/* Returns a function with edges in its derivatives, which is in no module's list. varying_params[parameter]: it differs
 * at neighbours, by its DDX and DDY. NULL after a report. */
const IrFunc *edges_add(Derive *d, const IrFunc *f, const uint8_t *active_params,
                        const uint8_t *varying_params);

/* --- edges_mark.c --- */
/* Builds a function that gives the results of `f` and a mark, an int: neighbours with one mark have no edge between them, as edges_add()
 * counts edges. */
IrFuncId edges_mark(Derive *d, const IrFunc *f, const uint8_t *active_params,
                    const uint8_t *varying_params);

/* --- edges_find.c --- */
/* Whether an operation on floats has a result with steps: comparisons, roundings, FMOD. */
bool edges_can_begin(uint32_t op);
/* Fills `varies` and `jumps`. */
void edges_find(Edges *e, const uint8_t *varying_params);
/* Whether the regions of an instruction have or give a value that varies. */
bool edges_are_inside(const Edges *e, const IrInst *inst);

/* --- edges_rules.c --- */
/* The value at a neighbour, without derivatives. */
IrValue edges_there(Edges *e, IrValue v, uint32_t n);
/* Computes the causes or the jumps of an operation's result, which is copied already at the point and at its neighbours. */
void edges_apply(Edges *e, const IrInst *inst);
/* Returns slope * jump as a factor times the cause, whose value is zero; 0: there is no cause. */
IrValue edges_term(Edges *e, const EdgeCause *cause, IrValue jump, uint32_t n);
/* The jump of cond ? x : y where the condition is another one at a neighbour and neither x nor y jumps: the mean of what it is with the
 * arguments of here and those of there, or `otherwise` where that is not finite. */
IrValue edges_jump(Edges *e, IrValue cond, IrValue x, IrValue x_there, IrValue y, IrValue y_there,
                   IrValue otherwise);
/* Returns the sum of two jumps; 0 is zero. */
IrValue edges_sum(Edges *e, IrValue x, IrValue y);
/* Returns a choice of two values of any type, or of two causes. */
IrValue edges_choose(Edges *e, IrValue cond, IrValue x, IrValue y);
EdgeCause edges_choose_cause(Edges *e, IrValue cond, EdgeCause x, EdgeCause y);
/* The cause of cond ? x : y, by the causes of all three; `cond` is of f. */
EdgeCause edges_cause_of_choice(Edges *e, IrValue cond, EdgeCause x, EdgeCause y, uint32_t n);
/* Whether a bool or an int differs at a neighbour. */
IrValue edges_differs(Edges *e, IrValue own, IrValue there);
/* Whether the point and a neighbour both come by; 0: always. */
IrValue edges_both(Edges *e, uint32_t n);

#endif
