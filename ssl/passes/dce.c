/* Dead code elimination: removes instructions, results of an IF and loop states that no result of the function
 * depends on. Liveness is found backward from the results, so a cycle that nothing reads is never entered. A fault
 * belongs to the computation that may cause it, so dead loops and dead array accesses are removed, too. */
#include "base/check.h"
#include "ssl/passes/pass.h"
#include <string.h>

typedef struct Marker {
    Arena *arena;
    const IrFunc *func;
    uint8_t *live;
    ARRAY(IrValue) work;
} Marker;

static void mark(Marker *k, IrValue v)
{
    ASSERT(v && v < k->func->values.count);
    if (k->live[v])
        return;
    k->live[v] = 1;
    array_push(k->arena, &k->work, v);
}

/* Marks what a loop state depends on: its next value, and whether the loop goes on. */
static void mark_state(Marker *k, IrRegionId body, uint32_t state)
{
    ASSERT(state < ir_region(k->func, body)->param_count);
    const IrValue *yields = ir_yield_args(k->func, body);
    mark(k, yields[0]);
    mark(k, yields[state + 1]);
}

static void mark_param(Marker *k, IrValue v)
{
    const IrFunc *f = k->func;
    IrRegionId region = f->values.data[v].region;
    const IrRegion *r = ir_region(f, region);
    if (!r->owner)
        return; /* a parameter of the function */
    uint32_t state = v - r->param_first;
    mark(k, ir_args(f, ir_inst(f, r->owner))[state]);
    mark_state(k, region, state);
}

static void mark_operands(Marker *k, IrValue v)
{
    const IrFunc *f = k->func;
    if (!f->values.data[v].def) {
        mark_param(k, v);
        return;
    }
    const IrInst *inst = ir_inst(f, f->values.data[v].def);
    uint32_t result = v - inst->result_first;
    if (inst->op == IR_LOOP) {
        mark_state(k, inst->region_first, result);
        if (ir_is_array(ir_type(f, v))) /* no cheap stand-in for the first value */
            mark(k, ir_args(f, inst)[result]);
        return;
    }
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        mark(k, ir_args(f, inst)[i]);
    for (uint32_t i = 0; i < inst->region_count; ++i)
        mark(k, ir_yield_args(f, inst->region_first + i)[result]);
}

uint8_t *ir_live_values(const IrModule *m, const IrFunc *f)
{
    Marker k = {
        .arena = m->arena, .func = f, .live = ARENA_ARRAY(m->arena, uint8_t, f->values.count)};
    for (uint32_t i = 0; i < f->result_count; ++i)
        mark(&k, ir_yield_args(f, f->body)[i]);
    while (k.work.count)
        mark_operands(&k, k.work.data[--k.work.count]);
    return k.live;
}

void ir_reach(IrModule *m, void (*visit)(IrModule *m, IrFuncId id, void *data), void *data)
{
    ASSERT(m->entry && m->entry < m->funcs.count);
    ARRAY(IrFuncId) reached = {0};
    uint8_t *seen = ARENA_ARRAY(m->arena, uint8_t, m->funcs.count);
    array_push(m->arena, &reached, m->entry);
    seen[m->entry] = 1;
    for (uint32_t i = 0; i < reached.count; ++i) {
        if (visit)
            visit(m, reached.data[i], data);
        const IrFunc *f = ir_func(m, reached.data[i]);
        for (IrInstId k = 1; k < f->insts.count; ++k) {
            IrFuncId callee = (IrFuncId)ir_inst(f, k)->imm;
            if (ir_inst(f, k)->op != IR_CALL || seen[callee])
                continue;
            seen[callee] = 1;
            array_push(m->arena, &reached, callee);
        }
    }
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (!seen[id])
            m->funcs.data[id] = NULL;
}

typedef struct Rebuild {
    const IrCloneHooks *hooks;
    void *data;
} Rebuild;

static void rebuild_func(IrModule *m, IrFuncId id, void *data)
{
    const Rebuild *how = data;
    const IrFunc *f = m->funcs.data[id];
    IrClone c = ir_clone_func(m, f, id, how->hooks, how->data);
    c.live = ir_live_values(m, f);
    ir_clone_body(&c);
}

void ir_rebuild(IrModule *m, const IrCloneHooks *hooks, void *data)
{
    Rebuild how = {hooks, data};
    ir_reach(m, rebuild_func, &how);
}

void ir_simplify(IrModule *m)
{
    enum { ROUNDS_MAX = 4, WORTHWHILE = 32 };
    for (uint32_t i = 0, before, after; i < ROUNDS_MAX; ++i) {
        before = ir_count_instructions(m);
        ir_rebuild(m, NULL, NULL);
        after = ir_count_instructions(m);
        if (after + after / WORTHWHILE >= before)
            break;
    }
}

uint32_t ir_count_instructions(const IrModule *m)
{
    uint32_t count = 0;
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (m->funcs.data[id])
            count += m->funcs.data[id]->insts.count - 1;
    return count;
}
