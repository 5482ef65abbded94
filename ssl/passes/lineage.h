/* Lineage: which values can have a non-zero derivative, because they depend on a global that
 * carries derivatives through operations that have one. Forward over a function; whatever it does
 * not reach has derivative zero, and the demand pass never enters it. */
#ifndef SSL_PASSES_LINEAGE_H
#define SSL_PASSES_LINEAGE_H

#include "ssl/ir/ir.h"

enum {
    IR_LINEAGE_GLOBAL = 1, /* may vary over the screen */
    IR_LINEAGE_SECOND =
        2 /* depends on a ddx or ddy that does: its derivative is second order, dropped */
};

/* One function with one pattern of arguments. */
typedef struct IrLineage {
    IrFuncId func;
    uint8_t *params;  /* [parameter] IR_LINEAGE_* */
    uint8_t *values;  /* [value] */
    uint8_t *results; /* [result] */
    bool is_active;   /* being walked: a call in a circle */
} IrLineage;

typedef struct IrLineageTable IrLineageTable;

/* merged: one record a function, its arguments the union over all calls; otherwise one a pattern.
 * The entry and all that it calls are analysed. Memory: the module's arena. */
IrLineageTable *ir_lineage_compute(const IrModule *m, bool merged);
/* Instructions, and values that loops carry, that were visited, with those that demand.c adds. Past SSL_MAX_VISITS the analyses stop,
 * unfinished, and the module must be refused: a loop that moves a value on from one variable to the next needs
 * as many walks as it has variables. */
void ir_lineage_visit(IrLineageTable *t, uint32_t count);
uint64_t ir_lineage_visits(const IrLineageTable *t);
bool ir_lineage_is_spent(const IrLineageTable *t);
const IrLineage *ir_lineage_entry(const IrLineageTable *t);
/* The record for a call with such arguments; params is copied. */
const IrLineage *ir_lineage_of(IrLineageTable *t, IrFuncId func, const uint8_t *params);
/* The record of the callee of call `inst` inside `caller`. */
const IrLineage *ir_lineage_of_call(IrLineageTable *t, const IrLineage *caller, const IrInst *inst);

#endif
