/* The copier that all passes share. A pass walks an old function in program order and appends a copy to a
 * builder, which folds on the way. The copier copies each instruction unless a hook does something else:
 *
 *   visit            builds the replacement of an instruction
 *   carry, receive   say how a value crosses the border of an IF or a LOOP: as itself, or as several values
 *                    (a value with its tangents, the slots of a closure), which `receive` takes apart again
 *
 * Copying simplifies. An IF with a constant condition becomes the arm, one with empty arms becomes
 * SELECT, a LOOP that never goes back becomes its body, and loop state that never changes becomes
 * the value that it starts with. */
#ifndef SSL_IR_IR_CLONE_H
#define SSL_IR_IR_CLONE_H

#include "ssl/ir/ir_build.h"

typedef struct IrClone IrClone;

typedef struct IrCloneHooks {
    /* Returns true after it has built and mapped the results, or false to have the instruction copied. */
    bool (*visit)(IrClone *c, IrInstId id);
    /* NULL: each value is carried as itself. `result`: the IF's or LOOP's, names the border that is
     * crossed; `target`: that result, or the loop's parameter of the same state. */
    uint32_t (*carry_count)(IrClone *c, IrValue result);
    void (*carry)(IrClone *c, IrValue result, IrValue source, IrValue *out_values);
    void (*receive)(IrClone *c, IrValue result, IrValue target, const IrValue *values);
} IrCloneHooks;

struct IrClone {
    IrModule *module;
    const IrFunc *from;
    IrBuilder *to;
    IrValue *map; /* [value of from]: its value in `to`; 0: not copied */
    const IrCloneHooks *hooks;
    void *data;
    /* [value of from]; NULL: all. Instructions without a live result are left out. */
    const uint8_t *live;
};

/* Starts a copy of `from` into the open builder `to`. The caller must map the parameters of `from`. `hooks` may
 * be NULL. */
IrClone ir_clone_begin(IrModule *m, const IrFunc *from, IrBuilder *to, const IrCloneHooks *hooks,
                       void *data);
/* Starts a copy of `from` as function `id`, with the same parameters, which it maps. */
IrClone ir_clone_func(IrModule *m, const IrFunc *from, IrFuncId id, const IrCloneHooks *hooks,
                      void *data);
/* Copies everything in the region except its YIELD. */
void ir_clone_insts(IrClone *c, IrRegionId region);
/* Copies all of `from`, whose results become those of `to`, and ends `to`. */
void ir_clone_body(IrClone *c);
/* Copies the body of `callee`, the function that the CALL names or one like it, in place of the CALL. live: as IrClone.live,
 * of the callee. */
void ir_clone_inline(IrClone *c, IrInstId call, const IrFunc *callee, const uint8_t *live);
/* Copies one instruction without calling `visit`. */
void ir_clone_copy(IrClone *c, IrInstId id);
/* Returns the arguments of an instruction as values of `to`, in the arena or in `small`. */
enum { IR_CLONE_SMALL = 16 };
const IrValue *ir_clone_args(IrClone *c, const IrInst *inst, IrValue small[IR_CLONE_SMALL]);
/* Returns the arguments of the YIELD that ends the region, as values of `f`. */
const IrValue *ir_yield_args(const IrFunc *f, IrRegionId region);
/* Returns 0, false or the null closure, or an array of them. */
IrValue ir_build_zero(IrBuilder *b, IrType type);

#endif
