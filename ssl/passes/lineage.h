/* Lineage analysis: which values can have a non-zero derivative, because they depend on a global with
 * derivatives through differentiable operations. It walks forward over a function. Values that it does not
 * reach have derivative zero, and the demand analysis skips them. */
#ifndef SSL_PASSES_LINEAGE_H
#define SSL_PASSES_LINEAGE_H

#include "ssl/ir/ir.h"

enum {
    /* The value may vary over the screen. */
    IR_LINEAGE_GLOBAL = 1,
    /* The value depends on a ddx or ddy that varies: its derivative is of second order and counts as zero. */
    IR_LINEAGE_SECOND = 2
};

/* The record of one function for one pattern of arguments. */
typedef struct IrLineage {
    IrFuncId func;
    uint8_t *params;  /* [parameter] IR_LINEAGE_* */
    uint8_t *values;  /* [value] */
    uint8_t *results; /* [result] */
    bool is_active; /* the walk over this record has not ended; a call that finds it is recursive */
} IrLineage;

typedef struct IrLineageTable IrLineageTable;

/* Analyses the entry and all functions that it calls. If `merged`, a function has one record, whose arguments
 * are the union over all calls; otherwise it has one record per pattern of arguments. The table is in the
 * module's arena. */
IrLineageTable *ir_lineage_compute(const IrModule *m, bool merged);
/* These three count the work of both analyses, in visits of instructions and of loop states; demand.c adds its
 * own. Beyond SSL_MAX_VISITS the analyses stop unfinished, and the module must be refused. A limit is needed
 * because a loop that moves a value from one variable to the next takes as many walks as it has variables. */
void ir_lineage_visit(IrLineageTable *t, uint32_t count);
uint64_t ir_lineage_visits(const IrLineageTable *t);
bool ir_lineage_is_spent(const IrLineageTable *t);
const IrLineage *ir_lineage_entry(const IrLineageTable *t);
/* Returns the record for a call with these arguments; `params` is copied. */
const IrLineage *ir_lineage_of(IrLineageTable *t, IrFuncId func, const uint8_t *params);
/* Returns the record of the callee of call `inst` inside `caller`. */
const IrLineage *ir_lineage_of_call(IrLineageTable *t, const IrLineage *caller, const IrInst *inst);

#endif
