/* Demand: which values need which tangents. Backward over a function, from the coordinates of
 * textures (all directions), the operands of ddx and ddy (one), and the results whose tangents the
 * caller wants; only where lineage says that a tangent can differ from zero. Per direction and per
 * value, which in this IR means per component, per struct member, and flow-sensitive; arrays that
 * split_arrays.c left as a whole. */
#ifndef SSL_PASSES_DEMAND_H
#define SSL_PASSES_DEMAND_H

#include "ssl/passes/lineage.h"

typedef enum IrSecond { IR_SECOND_UNKNOWN, IR_SECOND_NONE, IR_SECOND_TAKEN } IrSecond;

/* One function with one pattern of lineage and of results wanted. Masks: bit d = direction d. */
typedef struct IrDemand {
    const IrLineage *lineage;
    uint8_t *wanted;  /* [result] asked for by callers */
    uint8_t *results; /* [result] wanted, where lineage has it: the tangents that are returned */
    uint8_t *params;  /* [parameter] */
    uint8_t *values;  /* [value] */
    bool is_active;   /* being walked: a call in a circle */
    IrFuncId clone;   /* forward.c: the function that carries these tangents; 0: not begun */
    IrSecond second;  /* forward.c */
} IrDemand;

typedef struct IrDemandTable IrDemandTable;

/* Analyses the entry, of which no tangent is wanted, and all that it calls. direction_count <= 8;
 * 0: no derivatives at all. */
IrDemandTable *ir_demand_compute(const IrModule *m, IrLineageTable *lineage, bool merged,
                                 uint32_t direction_count);
IrDemand *ir_demand_entry(const IrDemandTable *t);
/* The record of the callee of call `inst` inside `caller`. */
IrDemand *ir_demand_of_call(IrDemandTable *t, const IrDemand *caller, const IrInst *inst);
/* Tangents that a loop state carries: those asked of its value inside or after. `result`: the
 * LOOP's. */
uint8_t ir_demand_of_state(const IrDemand *d, const IrFunc *f, const IrInst *loop, IrValue result);

#endif
