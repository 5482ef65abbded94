/* Rebuilding with a map: every pass walks an old function in program order and appends its copy to
 * a builder, which folds on the way. The kit copies; a pass says what differs through three hooks:
 *
 *   visit     an instruction that the pass makes itself
 *   carry     how a value crosses the border of an IF or a LOOP: as itself, or as several values
 *             (a value and its tangents, a closure's slots), which `receive` takes apart again
 *
 * Copying simplifies: an IF with a constant condition becomes the arm, one with empty arms becomes
 * SELECT, a LOOP that never goes back becomes its body, and loop state that never changes becomes
 * the value that it starts with. */
#ifndef SSL_IR_IR_CLONE_H
#define SSL_IR_IR_CLONE_H

#include "ssl/ir/ir_build.h"

typedef struct IrClone IrClone;

typedef struct IrCloneHooks {
    /* True: done, results mapped. False: copy it as usual. */
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

/* `to` is open; hooks may be NULL. The parameters of `from` are not mapped yet. */
IrClone ir_clone_begin(IrModule *m, const IrFunc *from, IrBuilder *to, const IrCloneHooks *hooks,
                       void *data);
/* A builder for the copy of `from` under `id` with the same parameters, mapped. */
IrClone ir_clone_func(IrModule *m, const IrFunc *from, IrFuncId id, const IrCloneHooks *hooks,
                      void *data);
/* Everything in the region but its YIELD. */
void ir_clone_insts(IrClone *c, IrRegionId region);
/* One instruction as usual, without asking visit. */
void ir_clone_copy(IrClone *c, IrInstId id);
/* Arguments of an instruction in `to`, in the arena or in `small`. */
enum { IR_CLONE_SMALL = 16 };
const IrValue *ir_clone_args(IrClone *c, const IrInst *inst, IrValue small[IR_CLONE_SMALL]);
/* What the YIELD at the end of the region gives, as values of `from`. */
const IrValue *ir_yield_args(const IrFunc *f, IrRegionId region);
/* 0, false, the empty closure, or an array of them. */
IrValue ir_build_zero(IrBuilder *b, IrType type);

#endif
