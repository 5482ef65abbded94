/* What the files of derive*.c share. fwd_diff(f) and bwd_diff(f) are ordinary functions of IR, built in three steps:
 *
 *   flatten    f with the bodies of all that it calls, but for recursive functions and those with derivatives of their
 *              own: so a derivative needs no context of its callees
 *   activity   which values depend on parameters that have derivatives
 *   forward    a copy that computes tangents beside the values, or
 *   reverse    a copy that computes the values and then walks back, handing adjoints from results to arguments: the
 *              transpose of forward, by the same rules (partials.h)
 *
 * Calls that stay: of a recursive function its derivative is called, with a tangent or adjoint of every float; of a
 * function with a derivative of its own, that one. */
#ifndef SSL_PASSES_DERIVE_H
#define SSL_PASSES_DERIVE_H

#include "ssl/ir/ir_clone.h"
#include "ssl/passes/pass.h"

enum { DERIVE_DIRECTIONS_MAX = 4 };

/* A derivative of a recursive function: forward has a tangent of each float parameter and result after those; backward
 * has an adjoint of each float result after the parameters, and gives one of each float parameter. */
typedef struct RecursiveDerivative {
    IrFuncId of, id;
    bool is_backward;
} RecursiveDerivative;

/* A derivative that has a plain form, and what it was before. */
typedef struct PlainForm {
    IrFuncId id;
    IrFunc *guarded;
} PlainForm;

/* A forward derivative with one direction, of which one with more can be made. */
typedef struct ForwardDerivative {
    IrFuncId id;
    const IrFunc *flat;
    const uint8_t *active;
    const IrDiffFacts *facts;
    /* [parameter], [result] of the derivative: 0, or 1 + that of the flat function whose tangent it is. */
    const uint32_t *tangent_of_param, *tangent_of_result;
    uint32_t param_count, result_count;
    bool is_fused;
    IrFuncId several[DERIVE_DIRECTIONS_MAX + 1]; /* [count of directions]; 0: not made */
} ForwardDerivative;

typedef struct Derive {
    IrModule *module;
    DiagList *diags;
    const uint8_t *recursive; /* [function that was there at the start of the derivative] */
    uint32_t recursive_count;
    ARRAY(RecursiveDerivative)
    recursive_derivatives; /* those from `recursive_done` on are to be built */
    uint32_t recursive_done;
    ARRAY(ForwardDerivative) forward_derivatives;
    ARRAY(PlainForm) plain_forms;
    const IrDiffFacts *facts; /* of the function that is derived, for messages */
    /* [texture]: 1 + the texture of its texels' tangents; 0: these are constant. NULL: of all. Forward, for a host. */
    const uint32_t *tangent_textures;
    bool
        keeps; /* what functions return that ask for it is marked by KEEP when they are flattened to walk back */
    bool is_for_host; /* gradients that overflow stay infinite or NaN, so that the host is told */
    bool has_failed;  /* an error was reported */
} Derive;

/* --- derive.c --- */
/* Notes which functions are recursive, before one is flattened. */
void derive_start(Derive *d);
/* Builds the derivative of a flat function, which `facts` describes, as function `id`. */
void derive_build(Derive *d, IrFuncId id, const IrFunc *f, bool is_backward);

/* Returns what is known of a function, or NULL. */
const IrDiffFacts *derive_facts(const Derive *d, IrFuncId func);
/* Returns the id of the derivative of a recursive function. */
IrFuncId derive_recursive(Derive *d, IrFuncId of, bool is_backward);
bool derive_is_float(IrType type);

/* What a call in a flat function is. */
typedef enum DeriveCall { CALL_INLINED, CALL_RECURSIVE, CALL_OWN, CALL_CONSTANT } DeriveCall;
DeriveCall derive_call_kind(const Derive *d, IrFuncId callee, bool is_backward);

/* --- derive_flat.c --- */
/* Returns a copy of a function that has no calls but those that stay, and is in no module's list. NULL after a report. */
const IrFunc *derive_flatten(Derive *d, IrFuncId func, bool is_backward);
/* Reports that a derivative has too many instructions, once. */
void derive_refuse_size(Derive *d);
/* Returns an array [value of f]: 1 for floats that depend on an active parameter. active_params[parameter of f] */
uint8_t *derive_activity(const Derive *d, const IrFunc *f, const uint8_t *active_params,
                         bool is_backward);

/* Takes from the active values those on which no result of f depends with a derivative, such as what only footprints are made of. */
void derive_keep_used(const Derive *d, const IrFunc *f, uint8_t *active);

/* Builds the derivatives of a lookup's rgba by s and by t. coord: those of the lookup, in the builder. */
void derive_lookup_slopes(IrBuilder *b, const IrInst *lookup, const IrValue *coord,
                          IrValue out_slopes[2][4]);
/* Returns slope * tangent, of a coordinate or of what is looked up, which is zero where the slope is. */
IrValue derive_by_coordinate(IrBuilder *b, IrValue coord, IrValue slope, IrValue tangent,
                             bool keeps_nan);
/* Reports a derivative of a lookup by its coordinates that is not known. */
void derive_refuse_lookup(Derive *d, const IrInst *inst, const char *why);
#define DERIVE_SECOND_ORDER "it is one of second order"

/* --- derive_forward.c --- */
/* Values of a builder: parameters of `f` and their tangents go in, results and their tangents come out; 0: zero. */
typedef struct DeriveForward {
    uint32_t count;                   /* of directions */
    const IrValue *params, *tangents; /* [param], [param][count] */
    IrValue *results, *derivatives;   /* [result], [result][count] */
} DeriveForward;
/* Copies the body of `f` with tangents into a builder. */
void derive_forward_body(Derive *d, const IrFunc *f, const uint8_t *active, IrBuilder *b,
                         const DeriveForward *io);

/* --- derive_plain.c --- */
/* Returns an array [result of a function]: 1 if one of its calls has a reader of the result, or if there is no call. */
uint8_t *derive_used_results(IrModule *m, IrFuncId id);
/* Puts a form without guards before the derivative `id`, which is built, where that pays. used[result]: of the others the bits are
 * unspecified. */
void derive_plain(Derive *d, IrFuncId id, const uint8_t *used);
/* Takes all plain forms out again if the program, with all calls expanded, has got long with them. All derivatives are built. */
void derive_limit_plain(Derive *d);

/* --- derive_merge.c --- */
/* Fills the body of a forward derivative and ends it: its parameters and results, then further tangents of both, as many
 * as `count` - 1 directions need, one direction after the other. */
void derive_forward_function(Derive *d, const ForwardDerivative *made, IrBuilder *b,
                             uint32_t count);
/* Makes one call of calls of a forward derivative that differ in their tangents alone. */
void derive_merge(Derive *d);

/* --- derive_reverse.c --- */
/* Copies the body of `f` and walks back through it: adjoints of f's results (0: zero) come in, those of its parameters
 * go out. */
void derive_reverse_body(Derive *d, const IrFunc *f, const uint8_t *active, IrBuilder *b,
                         const IrValue *params, const IrValue *adjoints, IrValue *out_adjoints);

/* Maps the results of TEXELS to those of the lookup, which they are, as what is added is zero. */
static inline void derive_pass_texels(IrClone *c, const IrInst *inst)
{
    enum { CHANNELS = 4 };
    const IrValue *lookup =
        ir_args(c->from, inst) + inst->arg_count - inst->result_count - CHANNELS;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        c->map[inst->result_first + i] = c->map[lookup[i]];
}

/* --- derive_loop.c --- */
/* A loop as the walk back sees it. A turn is one execution of the body. */
enum { DERIVE_TURNS_DEFAULT = 128, DERIVE_TURNS_COUNTED = 4096 };
typedef enum DeriveState {
    STATE_UNREAD, /* its value is not needed to walk back */
    STATE_FIXED,  /* the value that it starts with */
    STATE_STEPS,  /* the value that it starts with plus `step` for each turn */
    STATE_SAVED   /* on the tape */
} DeriveState;
typedef struct DeriveLoop {
    DeriveState *states; /* [state] */
    IrValue *steps;      /* [state]: a value of f from outside the loop; STATE_STEPS */
    bool *is_down;       /* [state]: the step is subtracted */
    uint32_t turns;      /* the tape has room for so many */
    bool is_bounded;     /* there are not more, provably */
    uint32_t counted;    /* exactly so many turns, known at compile time; 0: not known */
    const IrValue *
        kept; /* [kept_count] those of KEEP in the loop, outside of loops in it, that are on the tape */
    uint32_t kept_count;
    IrValue
        goes_on; /* of f: false in the last turn, true in all others; 0: nothing is known of it, or the last turn has work */
} DeriveLoop;
/* Appends the values of KEEP in a region to a list, but not those in loops. */
typedef ARRAY(IrValue) DeriveValues;
void derive_list_kept(Derive *d, const IrFunc *f, IrRegionId region, DeriveValues *out);
/* keeps: what KEEP marks goes to the tape, if the source says how many turns there are. */
DeriveLoop derive_analyse_loop(Derive *d, const IrFunc *f, const uint8_t *active, IrInstId loop,
                               bool keeps);

/* --- derive_kernel.c --- */
/* Puts the derivative that a host asks for in the place of the module's entry. */
void derive_kernel(Derive *d, const IrKernelDerivative *how);

#endif
