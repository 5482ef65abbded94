/* Demand analysis: which values need which tangents. It walks backward over a function, from the coordinates
 * of textures (all directions), the operands of ddx and ddy (one direction), and the results whose tangents
 * the caller needs, and follows only values whose tangent can differ from zero by the lineage analysis.
 *
 * The result is per direction and per value. In this IR that means per component and per struct member, and
 * sensitive to control flow. An array that split_arrays.c left whole is one value. */
#ifndef SSL_PASSES_DEMAND_H
#define SSL_PASSES_DEMAND_H

#include "ssl/passes/lineage.h"

typedef enum IrSecond { IR_SECOND_UNKNOWN, IR_SECOND_NONE, IR_SECOND_TAKEN } IrSecond;

/* The record of one function for one pattern of lineage and of demanded results. Bit d of a mask stands for
 * direction d. */
typedef struct IrDemand {
    const IrLineage *lineage;
    uint8_t *wanted; /* [result]: demanded by callers */
    /* [result]: demanded and not zero by lineage; the clone returns these tangents. */
    uint8_t *results;
    uint8_t *params; /* [parameter] */
    uint8_t *values; /* [value] */
    bool is_active; /* the walk over this record has not ended; a call that finds it is recursive */
    IrFuncId clone; /* set by forward.c: the function that carries these tangents; 0: not begun */
    IrSecond second; /* set by forward.c */
} IrDemand;

typedef struct IrDemandTable IrDemandTable;

/* Analyses the entry, none of whose results' tangents are demanded, and all functions that it calls.
 * direction_count is at most 8; 0 means no derivatives at all. */
IrDemandTable *ir_demand_compute(const IrModule *m, IrLineageTable *lineage, bool merged,
                                 uint32_t direction_count);
IrDemand *ir_demand_entry(const IrDemandTable *t);
/* Returns the record of the callee of call `inst` inside `caller`. */
IrDemand *ir_demand_of_call(IrDemandTable *t, const IrDemand *caller, const IrInst *inst);
/* Returns the tangents that a loop state carries: those that are demanded of its value inside the loop or after
 * it. `result` is the LOOP's result of that state. */
uint8_t ir_demand_of_state(const IrDemand *d, const IrFunc *f, const IrInst *loop, IrValue result);

#endif
