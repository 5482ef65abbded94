/* Values only gain bits, so walks over a function reach a fixed point; a loop takes one walk more than its back-edges
 * carry new bits. A callee's record is complete when its caller reads it, with two exceptions: recursive calls, and
 * merged records, to which a later call may add bits. For these the analysis repeats from the entry. */
#include "ssl/passes/lineage.h"
#include "base/check.h"
#include "ssl/ir/ir_clone.h"
#include "ssl/passes/record_map.h"
#include "ssl/ssl_limits.h"
#include <string.h>

typedef ARRAY(IrLineage *) LineageList;

struct IrLineageTable {
    const IrModule *module;
    Arena *arena;
    LineageList records; /* of the entry first */
    RecordMap by_pattern;
    uint64_t visits;
    /* [function]: these have one record, or their patterns need not end. */
    const uint8_t *recursive;
    bool merged, changed; /* changed: a record grew since the last round */
};

typedef struct Walk {
    IrLineageTable *table;
    const IrFunc *func;
    uint8_t *bits;
    bool changed;
} Walk;

static void add(Walk *w, IrValue v, uint8_t bits)
{
    if (ir_kind(ir_type(w->func, v)) != IR_FLOAT || !(bits & ~w->bits[v]))
        return;
    w->bits[v] |= bits;
    w->changed = true;
}

static void walk_region(Walk *w, IrRegionId region);

static void walk_control(Walk *w, const IrInst *inst)
{
    const IrFunc *f = w->func;
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    for (uint32_t r = 0; r < inst->region_count; ++r) {
        IrRegionId region = inst->region_first + r;
        const IrValue *yields = ir_yield_args(f, region) + lead;
        for (uint32_t i = 0; i < ir_region(f, region)->param_count; ++i)
            add(w, ir_region(f, region)->param_first + i,
                w->bits[ir_args(f, inst)[i]] | w->bits[yields[i]]);
        ir_lineage_visit(w->table, ir_region(f, region)->param_count);
        walk_region(w, region);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            add(w, inst->result_first + i, w->bits[yields[i]]);
    }
}

static const IrLineage *lineage_of_call(IrLineageTable *t, const IrFunc *f, const uint8_t *bits,
                                        const IrInst *inst)
{
    uint8_t *params = ARENA_ARRAY(t->arena, uint8_t, inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        params[i] = bits[ir_args(f, inst)[i]];
    return ir_lineage_of(t, (IrFuncId)inst->imm, params);
}

static uint8_t union_of_args(const Walk *w, const IrInst *inst, uint32_t count)
{
    uint8_t bits = 0;
    for (uint32_t i = 0; i < count; ++i)
        bits |= w->bits[ir_args(w->func, inst)[i]];
    return bits;
}

static void walk_inst(Walk *w, const IrInst *inst)
{
    const IrModule *m = w->table->module;
    uint8_t bits = 0;
    switch (inst->op) {
    case IR_IF:
    case IR_LOOP:
        walk_control(w, inst);
        return;
    case IR_CALL: {
        const IrLineage *callee = lineage_of_call(w->table, w->func, w->bits, inst);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            add(w, inst->result_first + i, callee->results[i]);
        return;
    }
    case IR_GLOBAL:
        if (ir_global_shadow(inst->imm) == IR_SHADOW_VALUE &&
            m->globals[ir_global_row(inst->imm)].has_derivs)
            bits = IR_LINEAGE_GLOBAL;
        break;
    case IR_ATTRIBUTE:
        if (ir_global_shadow(inst->imm) == IR_SHADOW_VALUE &&
            m->info.attributes[ir_global_row(inst->imm)].has_derivs)
            bits = IR_LINEAGE_GLOBAL;
        break;
    case IR_DDX:
    case IR_DDY:
        bits = union_of_args(w, inst, 1) ? IR_LINEAGE_SECOND : 0;
        break;
    case IR_DETACH: /* ddx sees through it */
        bits = union_of_args(w, inst, 1);
        break;
    case IR_TEX_AUTO_D: /* only its derivatives are read */
        bits = union_of_args(w, inst, 2) ? IR_LINEAGE_SECOND : 0;
        break;
    case IR_TEX_AUTO:
    case IR_TEX:
        bits = union_of_args(w, inst, 2); /* s and t */
        break;
    default:
        if (ir_op_info((IrOp)inst->op)->flags & IR_FLAG_PARTIALS)
            bits = union_of_args(w, inst, inst->arg_count);
    }
    for (uint32_t i = 0; i < inst->result_count && bits; ++i)
        add(w, inst->result_first + i, bits);
}

static void walk_region(Walk *w, IrRegionId region)
{
    const IrRegion *r = ir_region(w->func, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(w->func, id)->next) {
        ir_lineage_visit(w->table, 1);
        walk_inst(w, ir_inst(w->func, id));
    }
}

static void analyse(IrLineageTable *t, IrLineage *l)
{
    const IrFunc *f = ir_func(t->module, l->func);
    const IrRegion *body = ir_region(f, f->body);
    Walk w = {.table = t, .func = f, .bits = l->values, .changed = true};
    l->is_active = true;
    for (uint32_t i = 0; i < body->param_count; ++i)
        add(&w, body->param_first + i, l->params[i]);
    while (w.changed && !ir_lineage_is_spent(t)) {
        w.changed = false;
        walk_region(&w, f->body);
    }
    for (uint32_t i = 0; i < f->result_count; ++i) {
        uint8_t bits = w.bits[ir_yield_args(f, f->body)[i]];
        t->changed |= l->results[i] != bits;
        l->results[i] = bits;
    }
    l->is_active = false;
}

/* The arguments of a merged record change after it was made, so its key has no pattern. */
static void **find(IrLineageTable *t, IrFuncId func, const uint8_t *params, uint32_t param_count)
{
    bool is_one = t->merged || t->recursive[func];
    return record_map_slot(&t->by_pattern, t->arena, func, params, is_one ? 0 : param_count);
}

const IrLineage *ir_lineage_of(IrLineageTable *t, IrFuncId func, const uint8_t *params)
{
    const IrFunc *f = ir_func(t->module, func);
    uint32_t param_count = ir_region(f, f->body)->param_count;
    void **slot = find(t, func, params, param_count);
    IrLineage *l = *slot;
    const bool is_new = !l;
    if (is_new) {
        l = ARENA_NEW(t->arena, IrLineage);
        l->func = func;
        l->params = ARENA_ARRAY(t->arena, uint8_t, param_count);
        l->values = ARENA_ARRAY(t->arena, uint8_t, f->values.count);
        l->results = ARENA_ARRAY(t->arena, uint8_t, f->result_count);
        *slot = l;
        array_push(t->arena, &t->records, l);
    }
    if (pattern_add(l->params, params, param_count) || is_new) {
        t->changed = true;
        if (!l->is_active) /* else the next round does */
            analyse(t, l);
    }
    return l;
}

IrLineageTable *ir_lineage_compute(const IrModule *m, bool merged)
{
    IrLineageTable *t = ARENA_NEW(m->arena, IrLineageTable);
    *t = (IrLineageTable){.module = m, .arena = m->arena, .merged = merged};
    t->recursive = ir_recursive_funcs(m);
    ir_lineage_of(t, m->entry, NULL);
    bool has_rounds = merged || memchr(t->recursive, 1, m->funcs.count);
    while (has_rounds && t->changed &&
           !ir_lineage_is_spent(t)) { /* results may have grown after a caller used them */
        t->changed = false;
        for (uint32_t i = 0; i < t->records.count; ++i)
            analyse(t, t->records.data[i]);
    }
    return t;
}

void ir_lineage_visit(IrLineageTable *t, uint32_t count)
{
    t->visits += count;
}

uint64_t ir_lineage_visits(const IrLineageTable *t)
{
    return t->visits;
}

bool ir_lineage_is_spent(const IrLineageTable *t)
{
    return t->visits > SSL_MAX_VISITS;
}

const IrLineage *ir_lineage_entry(const IrLineageTable *t)
{
    return t->records.data[0];
}

const IrLineage *ir_lineage_of_call(IrLineageTable *t, const IrLineage *caller, const IrInst *inst)
{
    ASSERT(inst->op == IR_CALL);
    return lineage_of_call(t, ir_func(t->module, caller->func), caller->values, inst);
}
