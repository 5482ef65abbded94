/* Several directions at once. Calls of one forward derivative whose values are the same and whose tangents differ become one
 * call of a derivative with several tangents, so that branches and loops run once for all. They must stand in one
 * region, and all tangents must be there at the first call. Recursive functions are left alone: each level would call
 * itself once for each direction. */
#include "base/check.h"
#include "ssl/passes/derive.h"
#include "ssl/passes/partials.h"

#include <string.h>

void derive_forward_function(Derive *d, const ForwardDerivative *made, IrBuilder *b, uint32_t count)
{
    Arena *arena = d->module->arena;
    const IrFunc *f = made->flat;
    uint32_t flat_count = ir_region(f, f->body)->param_count, at = 0, plain = 0;
    IrValue *params = ARENA_ARRAY(arena, IrValue, flat_count);
    IrValue *tangents = ARENA_ARRAY(arena, IrValue, (size_t)flat_count * count);
    IrValue *results = ARENA_ARRAY(arena, IrValue, f->result_count);
    IrValue *derivatives = ARENA_ARRAY(arena, IrValue, (size_t)f->result_count * count);
    for (uint32_t k = 0; k < count; ++k)
        for (uint32_t i = 0; i < made->param_count; ++i) {
            uint32_t of = made->tangent_of_param[i];
            if (of)
                tangents[(of - 1) * count + k] = ir_build_param(b, at++);
            else if (k == 0)
                params[plain++] = ir_build_param(b, at++);
        }
    const DeriveForward io = {count, params, tangents, results, derivatives};
    derive_forward_body(d, f, made->active, b, &io);
    ARRAY(IrValue) out = {0};
    plain = 0;
    for (uint32_t k = 0; k < count; ++k)
        for (uint32_t i = 0; i < made->result_count; ++i) {
            uint32_t of = made->tangent_of_result[i];
            IrValue v = of ? derivatives[(of - 1) * count + k] : 0;
            if (of)
                array_push(arena, &out,
                           v ? ir_finite_all(b, v) : ir_build_zero(b, f->result_types[of - 1]));
            else if (k == 0)
                array_push(arena, &out, results[plain++]);
        }
    ir_build_end(b, out.data, out.count);
}

enum { LOOK_AHEAD = 4096 }; /* instructions between two calls */

typedef struct Merge {
    Derive *derive;
    /* [instruction]: the first call of its group; 0: the call stays as it is */
    const IrInstId *group;
} Merge;

static ForwardDerivative *forward_derivative(const Derive *d, uint64_t id)
{
    for (uint32_t i = 0; i < d->forward_derivatives.count; ++i)
        if (d->forward_derivatives.data[i].id == id)
            return &d->forward_derivatives.data[i];
    return NULL;
}

static bool has_calls(const IrFunc *f)
{
    for (IrInstId i = 1; i < f->insts.count; ++i)
        if (ir_inst(f, i)->op == IR_CALL)
            return true;
    return false;
}

/* --- a derivative with several directions ----------------------------------------------------- */

static IrFuncId with_directions(Derive *d, ForwardDerivative *made, uint32_t count)
{
    if (made->several[count])
        return made->several[count];
    const IrFunc *one = ir_func(d->module, made->id);
    const bool is_group_fused = d->module->is_fused;
    ARRAY(IrType) types = {0};
    for (uint32_t k = 0; k < count; ++k)
        for (uint32_t i = 0; i < made->param_count; ++i)
            if (k == 0 || made->tangent_of_param[i])
                array_push(d->module->arena, &types,
                           ir_type(one, ir_region(one, one->body)->param_first + i));
    IrFuncId id = made->several[count] = ir_reserve_func(d->module);
    IrBuilder *b = ir_build_begin(d->module, id, one->name, types.data, types.count);
    ir_build_func(b)->span = one->span;
    ir_build_span(b, one->span);
    d->facts = made->facts;
    d->module->is_fused = made->is_fused;
    derive_forward_function(d, made, b, count);
    const uint8_t *used = derive_used_results(d->module, made->id);
    uint8_t *used_of_all =
        ARENA_ARRAY(d->module->arena, uint8_t, (size_t)made->result_count *count);
    for (uint32_t k = 0, at = 0; k < count; ++k)
        for (uint32_t i = 0; i < made->result_count; ++i)
            if (k == 0 || made->tangent_of_result[i])
                used_of_all[at++] = used[i];
    derive_plain(d, id, used_of_all);
    d->module->is_fused = is_group_fused;
    return id;
}

/* --- groups of calls -------------------------------------------------------------------------- */

static bool is_there(const IrFunc *f, IrValue v, IrRegionId region, const uint8_t *before)
{
    return f->values.data[v].region != region || !f->values.data[v].def || before[v];
}

/* Whether `next` differs from `first` in its tangents alone, all of which are there at `first`. */
static bool is_like(const IrFunc *f, const ForwardDerivative *made, const IrInst *first,
                    const IrInst *next, const uint8_t *before)
{
    for (uint32_t i = 0; i < first->arg_count; ++i) {
        IrValue v = ir_args(f, next)[i];
        if (!made->tangent_of_param[i] && v != ir_args(f, first)[i])
            return false;
        if (!is_there(f, v, first->parent, before))
            return false;
    }
    return true;
}

static bool find_groups(const Derive *d, const IrFunc *f, IrRegionId region, IrInstId *group,
                        uint8_t *before)
{
    bool has_any = false;
    const IrRegion *r = ir_region(f, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        for (uint32_t i = 0; i < inst->region_count; ++i)
            has_any |= find_groups(d, f, inst->region_first + i, group, before);
        const ForwardDerivative *made =
            inst->op == IR_CALL && !group[id] ? forward_derivative(d, inst->imm) : NULL;
        uint32_t count = 1, ahead = 0;
        made = made && has_calls(made->flat) ? NULL : made;
        for (IrInstId k = inst->next;
             made && k && count < DERIVE_DIRECTIONS_MAX && ahead < LOOK_AHEAD;
             k = ir_inst(f, k)->next, ++ahead) {
            const IrInst *next = ir_inst(f, k);
            if (next->op != IR_CALL || next->imm != inst->imm || group[k] ||
                !is_like(f, made, inst, next, before))
                continue;
            group[id] = group[k] = id;
            has_any = true;
            ++count;
        }
        if (inst->result_count)
            memset(before + inst->result_first, 1, inst->result_count);
    }
    return has_any;
}

/* --- one call of a group ---------------------------------------------------------------------- */

static bool merge_call(IrClone *c, IrInstId id)
{
    const Merge *g = c->data;
    const IrFunc *f = c->from;
    const IrInst *inst = ir_inst(f, id);
    if (!g->group[id])
        return false;
    if (g->group[id] != id)
        return true; /* the first of its group gave the results */
    Arena *arena = c->module->arena;
    ForwardDerivative *made = forward_derivative(g->derive, inst->imm);
    IrInstId calls[DERIVE_DIRECTIONS_MAX];
    uint32_t count = 0;
    for (IrInstId k = id; k; k = ir_inst(f, k)->next)
        if (g->group[k] == id)
            calls[count++] = k;
    ARRAY(IrValue) args = {0};
    ARRAY(IrType) types = {0};
    for (uint32_t k = 0; k < count; ++k) {
        const IrInst *call = ir_inst(f, calls[k]);
        for (uint32_t i = 0; i < call->arg_count; ++i)
            if (k == 0 || made->tangent_of_param[i])
                array_push(arena, &args, c->map[ir_args(f, call)[i]]);
        for (uint32_t i = 0; i < call->result_count; ++i)
            if (k == 0 || made->tangent_of_result[i])
                array_push(arena, &types, ir_type(f, call->result_first + i));
    }
    IrValue *results = ARENA_ARRAY(arena, IrValue, types.count);
    ir_build_call(c->to, with_directions(g->derive, made, count), args.data, args.count, types.data,
                  types.count, results);
    for (uint32_t k = 0, at = 0; k < count; ++k)
        for (uint32_t i = 0; i < inst->result_count; ++i) {
            IrValue to = ir_inst(f, calls[k])->result_first + i;
            c->map[to] = k == 0 || made->tangent_of_result[i] ? results[at++]
                                                              : c->map[inst->result_first + i];
        }
    return true;
}

void derive_merge(Derive *d)
{
    static const IrCloneHooks hooks = {.visit = merge_call};
    IrModule *m = d->module;
    IrFuncId count = m->funcs.count;
    for (IrFuncId id = 1; id < count && !d->has_failed; ++id) {
        const IrFunc *f = m->funcs.data[id];
        if (!f || !has_calls(f))
            continue;
        IrInstId *group = ARENA_ARRAY(m->arena, IrInstId, f->insts.count);
        uint8_t *before = ARENA_ARRAY(m->arena, uint8_t, f->values.count);
        if (!find_groups(d, f, f->body, group, before))
            continue;
        Merge g = {d, group};
        IrClone c = ir_clone_func(m, f, id, &hooks, &g);
        ir_clone_body(&c);
    }
}
