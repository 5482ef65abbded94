/* Masks only grow, so backward walks over a function reach a fixed point. A loop state demands its own next value, which
 * the next walk follows further. A callee is analysed for the demand on a call's results, which gives the demand on its
 * parameters. With merged summaries, the analysis of all functions repeats until no caller adds demand. */
#include "ssl/passes/demand.h"
#include "base/check.h"
#include "ssl/ir/ir_clone.h"
#include "ssl/passes/record_map.h"
#include <string.h>

typedef ARRAY(IrDemand *) DemandList;

struct IrDemandTable {
    const IrModule *module;
    Arena *arena;
    IrLineageTable *lineage;
    DemandList records; /* of the entry first */
    RecordMap by_pattern;
    uint8_t all;              /* every direction */
    const uint8_t *recursive; /* [function]: one record each */
    bool merged, changed;
};

typedef struct Walk {
    IrDemandTable *table;
    const IrFunc *func;
    IrDemand *demand;
    bool changed;
} Walk;

static void want(Walk *w, IrValue v, uint8_t mask)
{
    IrDemand *d = w->demand;
    mask &= w->table->all;
    if (!(d->lineage->values[v] & IR_LINEAGE_GLOBAL) || !(mask & ~d->values[v]))
        return;
    d->values[v] |= mask;
    w->changed = true;
}

static void want_args(Walk *w, const IrInst *inst, uint32_t count, uint8_t mask)
{
    if (mask)
        for (uint32_t i = 0; i < count; ++i)
            want(w, ir_args(w->func, inst)[i], mask);
}

static void walk_region(Walk *w, IrRegionId region);

static void walk_control(Walk *w, const IrInst *inst)
{
    const IrFunc *f = w->func;
    const uint8_t *values = w->demand->values;
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    for (uint32_t r = 0; r < inst->region_count; ++r) {
        IrRegionId region = inst->region_first + r;
        const IrRegion *body = ir_region(f, region);
        const IrValue *yields = ir_yield_args(f, region) + lead;
        for (uint32_t i = 0; i < inst->result_count; ++i)
            want(w, yields[i], values[inst->result_first + i]);
        for (uint32_t i = 0; i < body->param_count; ++i) /* from the walk before */
            want(w, yields[i], values[body->param_first + i]);
        ir_lineage_visit(w->table->lineage, body->param_count);
        walk_region(w, region);
        for (uint32_t i = 0; i < body->param_count; ++i) {
            want(w, yields[i], values[body->param_first + i]);
            want(w, ir_args(f, inst)[i], values[body->param_first + i]);
        }
    }
}

static void walk_inst(Walk *w, const IrInst *inst)
{
    uint8_t mask = 0;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        mask |= w->demand->values[inst->result_first + i];
    switch (inst->op) {
    case IR_IF:
    case IR_LOOP:
        walk_control(w, inst);
        return;
    case IR_CALL: {
        const IrDemand *callee = ir_demand_of_call(w->table, w->demand, inst);
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            want(w, ir_args(w->func, inst)[i], callee->params[i]);
        return;
    }
    case IR_DDX:
        want_args(w, inst, 1, 1);
        return;
    case IR_DDY:
        want_args(w, inst, 1, 2);
        return;
    case IR_TEX_AUTO:
    case IR_TEX_AUTO_D:
        want_args(w, inst, 2, w->table->all);
        return;
    case IR_TEX_ADJ: /* an adjoint's own derivatives are not asked for */
        want_args(w, inst, inst->arg_count == IR_TEX_ADJ_AUTO ? 2 : 0, w->table->all);
        return;
    case IR_TEX:
        want_args(w, inst, 2, mask);
        return;
    default:
        want_args(w, inst, inst->arg_count, mask);
    }
}

static void walk_region(Walk *w, IrRegionId region)
{
    const IrRegion *r = ir_region(w->func, region);
    for (IrInstId id = ir_inst(w->func, r->last)->prev; id; id = ir_inst(w->func, id)->prev) {
        ir_lineage_visit(w->table->lineage, 1);
        walk_inst(w, ir_inst(w->func, id));
    }
}

static void analyse(IrDemandTable *t, IrDemand *d)
{
    const IrFunc *f = ir_func(t->module, d->lineage->func);
    const IrRegion *body = ir_region(f, f->body);
    Walk w = {.table = t, .func = f, .demand = d, .changed = true};
    d->is_active = true;
    for (uint32_t i = 0; i < f->result_count; ++i) {
        want(&w, ir_yield_args(f, f->body)[i], d->wanted[i]);
        d->results[i] =
            d->lineage->results[i] & IR_LINEAGE_GLOBAL ? (uint8_t)(d->wanted[i] & t->all) : 0;
    }
    while (w.changed && !ir_lineage_is_spent(t->lineage)) {
        w.changed = false;
        walk_region(&w, f->body);
    }
    for (uint32_t i = 0; i < body->param_count; ++i) {
        uint8_t mask = d->values[body->param_first + i];
        t->changed |= mask != d->params[i];
        d->params[i] = mask;
    }
    d->is_active = false;
}

static void **find(IrDemandTable *t, const IrLineage *l, const uint8_t *wanted,
                   uint32_t result_count)
{
    if (t->merged || t->recursive[l->func])
        return record_map_slot(&t->by_pattern, t->arena, l->func, NULL, 0);
    return record_map_slot(&t->by_pattern, t->arena, (uintptr_t)l, wanted, result_count);
}

static IrDemand *demand_of(IrDemandTable *t, const IrLineage *l, const uint8_t *wanted)
{
    const IrFunc *f = ir_func(t->module, l->func);
    void **slot = find(t, l, wanted, f->result_count);
    IrDemand *d = *slot;
    const bool is_new = !d;
    if (is_new) {
        d = ARENA_NEW(t->arena, IrDemand);
        d->lineage = l;
        d->wanted = ARENA_ARRAY(t->arena, uint8_t, f->result_count);
        d->results = ARENA_ARRAY(t->arena, uint8_t, f->result_count);
        d->params = ARENA_ARRAY(t->arena, uint8_t, ir_region(f, f->body)->param_count);
        d->values = ARENA_ARRAY(t->arena, uint8_t, f->values.count);
        *slot = d;
        array_push(t->arena, &t->records, d);
    }
    if (pattern_add(d->wanted, wanted, f->result_count) || is_new) {
        t->changed = true;
        if (!d->is_active) /* else the next round does */
            analyse(t, d);
    }
    return d;
}

IrDemandTable *ir_demand_compute(const IrModule *m, IrLineageTable *lineage, bool merged,
                                 uint32_t direction_count)
{
    ASSERT(direction_count <= 8 && lineage);
    CHECK(direction_count <= 8);
    IrDemandTable *t = ARENA_NEW(m->arena, IrDemandTable);
    *t = (IrDemandTable){.module = m,
                         .arena = m->arena,
                         .lineage = lineage,
                         .all = (uint8_t)((1u << direction_count) - 1),
                         .merged = merged};
    t->recursive = ir_recursive_funcs(m);
    const IrFunc *entry = ir_func(m, m->entry);
    demand_of(t, ir_lineage_entry(lineage), ARENA_ARRAY(m->arena, uint8_t, entry->result_count));
    bool has_rounds = merged || memchr(t->recursive, 1, m->funcs.count);
    while (has_rounds && t->changed && !ir_lineage_is_spent(lineage)) {
        t->changed = false;
        for (uint32_t i = 0; i < t->records.count; ++i)
            analyse(t, t->records.data[i]);
    }
    return t;
}

IrDemand *ir_demand_entry(const IrDemandTable *t)
{
    return t->records.data[0];
}

IrDemand *ir_demand_of_call(IrDemandTable *t, const IrDemand *caller, const IrInst *inst)
{
    ASSERT(inst->op == IR_CALL);
    const IrLineage *l = ir_lineage_of_call(t->lineage, caller->lineage, inst);
    uint8_t *wanted = ARENA_ARRAY(t->arena, uint8_t, inst->result_count);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        wanted[i] = caller->values[inst->result_first + i];
    return demand_of(t, l, wanted);
}

uint8_t ir_demand_of_state(const IrDemand *d, const IrFunc *f, const IrInst *loop, IrValue result)
{
    ASSERT(loop->op == IR_LOOP && result >= loop->result_first &&
           result - loop->result_first < loop->result_count);
    uint32_t state = result - loop->result_first;
    return d->values[result] | d->values[ir_region(f, loop->region_first)->param_first + state];
}
