/* The copy that finds where edges are: beside its results it gives an int, the mark, a hash of what each comparison and each rounding
 * gave that an edge can change, in the order in which they were computed. Neighbours with one mark have no edge between them. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/edges.h"

typedef ARRAY(IrValue) ValueList;

typedef struct Marks {
    Edges edges;
    IrValue mark; /* of what was computed so far */
    uint32_t factor_count;
} Marks;

/* Returns an odd number that differs from those before like a random one: a round of MurmurHash3's finaliser [Appleby2011]. */
static IrValue next_factor(Marks *m)
{
    uint32_t z = 0x9e3779b9u * ++m->factor_count;
    z = (z ^ z >> 16) * 0x85ebca6bu;
    z = (z ^ z >> 13) * 0xc2b2ae35u;
    return ir_const_int(m->edges.b, (int32_t)((z ^ z >> 16) | 1));
}

/* Adds the number times a factor of its own, so that the numbers of a mark do not wait for each other. */
static void add_result(Marks *m, const IrInst *inst)
{
    IrBuilder *b = m->edges.b;
    const IrValue *map = m->edges.clone->map;
    IrValue v = map[inst->result_first], factor = next_factor(m);
    if (inst->op == IR_FMOD) { /* the quotient steps */
        IrValue x = map[ir_args(m->edges.f, inst)[0]], y = map[ir_args(m->edges.f, inst)[1]];
        v = ir_build1(b, IR_ROUND, ir_div(b, ir_sub(b, x, v), y));
    }
    if (ir_build_type(b, v) == ir_scalar(IR_BOOL)) {
        v = ir_build_select(b, v, factor, ir_const_int(b, 0));
    } else {
        v = ir_build_type(b, v) == ir_scalar(IR_FLOAT) ? ir_build1(b, IR_FBITS, v) : v;
        v = ir_build2(b, IR_IMUL, v, factor);
    }
    m->mark = ir_build2(b, IR_IADD, m->mark, v);
}

static void push_mapped(Marks *m, ValueList *list, const IrValue *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        array_push(m->edges.derive->module->arena, list, m->edges.clone->map[values[i]]);
}

static void copy_if(Marks *m, const IrInst *inst)
{
    IrBuilder *b = m->edges.b;
    Arena *arena = m->edges.derive->module->arena;
    IrValue *map = m->edges.clone->map, before = m->mark;
    ValueList given[2] = {0};
    ir_if_begin(b, map[ir_args(m->edges.f, inst)[0]]);
    for (uint32_t arm = 0; arm < 2; ++arm) {
        IrRegionId region = inst->region_first + arm;
        m->mark = before;
        ir_clone_insts(m->edges.clone, region);
        push_mapped(m, &given[arm], ir_yield_args(m->edges.f, region), inst->result_count);
        array_push(arena, &given[arm], m->mark);
        if (arm == 0)
            ir_if_else(b, given[0].data, given[0].count);
    }
    IrValue *results = given[0].data;
    ir_if_end(b, given[1].data, given[1].count, results);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        map[inst->result_first + i] = results[i];
    m->mark = results[inst->result_count];
}

static void copy_loop(Marks *m, const IrInst *inst)
{
    const IrFunc *f = m->edges.f;
    IrBuilder *b = m->edges.b;
    Arena *arena = m->edges.derive->module->arena;
    IrValue *map = m->edges.clone->map, param = ir_region(f, inst->region_first)->param_first;
    const IrValue *yields = ir_yield_args(f, inst->region_first);
    uint32_t count = inst->arg_count;
    ASSERT(ir_region(f, inst->region_first)->param_count == count);
    ValueList init = {0}, next = {0};
    push_mapped(m, &init, ir_args(f, inst), count);
    array_push(arena, &init, m->mark);
    IrValue *state = ARENA_ARRAY(arena, IrValue, init.count);
    ir_loop_begin(b, inst->site, init.data, init.count, state);
    for (uint32_t i = 0; i < count; ++i)
        map[param + i] = state[i];
    /* Turns differ by their order, and loops by how many they have. */
    m->mark = ir_build2(b, IR_IMUL, state[count], next_factor(m));
    m->mark = ir_build2(b, IR_IADD, m->mark, next_factor(m));
    ir_clone_insts(m->edges.clone, inst->region_first);
    push_mapped(m, &next, yields + 1, count);
    array_push(arena, &next, m->mark);
    ir_loop_end(b, map[yields[0]], next.data, next.count, state);
    for (uint32_t i = 0; i < count; ++i)
        map[inst->result_first + i] = state[i];
    m->mark = state[count];
}

static bool visit(IrClone *c, IrInstId id)
{
    Marks *m = c->data;
    const IrInst *inst = ir_inst(c->from, id);
    if (inst->region_count) {
        if (!edges_are_inside(&m->edges, inst))
            return false;
        if (inst->op == IR_IF)
            copy_if(m, inst);
        else
            copy_loop(m, inst);
        return true;
    }
    ir_clone_copy(c, id);
    if (inst->result_count == 1 && m->edges.jumps[inst->result_first] && edges_can_begin(inst->op))
        add_result(m, inst);
    return true;
}

IrFuncId edges_mark(Derive *d, const IrFunc *f, const uint8_t *active_params,
                    const uint8_t *varying_params)
{
    static const IrCloneHooks hooks = {.visit = visit};
    Arena *arena = d->module->arena;
    Marks m = {.edges = {.derive = d,
                         .f = f,
                         .active = derive_activity(d, f, active_params, true),
                         .varies = ARENA_ARRAY(arena, uint8_t, f->values.count),
                         .jumps = ARENA_ARRAY(arena, uint8_t, f->values.count)}};
    ASSERT(m.edges.active);
    edges_find(&m.edges, varying_params);
    IrFuncId id = ir_reserve_func(d->module);
    IrClone c = ir_clone_func(d->module, f, id, &hooks, &m);
    m.edges.clone = &c;
    m.edges.b = c.to;
    m.mark = ir_const_int(c.to, 0);
    ir_clone_insts(&c, f->body);
    ValueList results = {0};
    push_mapped(&m, &results, ir_yield_args(f, f->body), f->result_count);
    array_push(arena, &results, m.mark);
    ir_build_end(c.to, results.data, results.count);
    return id;
}
