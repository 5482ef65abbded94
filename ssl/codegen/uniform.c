/* A walk that assumes of the states of loops that they are equal, and walks again after each one that turns out not to be.
 *
 * Lanes that are in a loop together have taken equally many turns, so a state is equal among them if it begins so and the next one
 * is. What a loop leaves behind is equal if all lanes leave together, too: if whether to go on is equal. (A lane whose budget is spent leaves
 * earlier, but its results are unspecified then.) */
#include "ssl/codegen/uniform.h"
#include "base/check.h"
#include "ssl/ir/ir_clone.h"

enum {
    WALKS_MAX = 8
}; /* each takes time proportional to the function, and chains of states may be long */

typedef struct Walk {
    const IrFunc *func;
    const bool *is_table;
    bool *is_equal; /* [values.count] */
    bool are_params_equal, has_changed;
} Walk;

static bool are_args_equal(const Walk *w, const IrInst *inst)
{
    const IrValue *args = ir_args(w->func, inst);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (!w->is_equal[args[i]])
            return false;
    return true;
}

static void walk_region(Walk *w, IrRegionId region);

static void walk_if(Walk *w, const IrInst *inst)
{
    for (uint32_t arm = 0; arm < 2; ++arm)
        walk_region(w, inst->region_first + arm);
    const IrValue *yielded[2] = {ir_yield_args(w->func, inst->region_first),
                                 ir_yield_args(w->func, inst->region_first + 1)};
    bool is_equal = w->is_equal[ir_args(w->func, inst)[0]];
    for (uint32_t i = 0; i < inst->result_count; ++i)
        w->is_equal[inst->result_first + i] =
            is_equal && w->is_equal[yielded[0][i]] && w->is_equal[yielded[1][i]];
}

static void walk_loop(Walk *w, const IrInst *inst)
{
    const IrRegion *body = ir_region(w->func, inst->region_first);
    const IrValue *init = ir_args(w->func, inst);
    for (uint32_t i = 0; i < body->param_count; ++i)
        w->is_equal[body->param_first + i] &= w->is_equal[init[i]];
    walk_region(w, inst->region_first);
    const IrValue *yielded = ir_yield_args(w->func, inst->region_first);
    for (uint32_t i = 0; i < body->param_count; ++i) {
        bool *is_state_equal = &w->is_equal[body->param_first + i];
        w->has_changed |= *is_state_equal && !w->is_equal[yielded[1 + i]];
        *is_state_equal &= w->is_equal[yielded[1 + i]];
        w->is_equal[inst->result_first + i] =
            w->is_equal[yielded[0]] && w->is_equal[yielded[1 + i]];
    }
}

static bool is_result_equal(const Walk *w, const IrInst *inst)
{
    switch ((IrOp)inst->op) {
    case IR_GLOBAL:
    case IR_ATTRIBUTE:
    case IR_TEX:
    case IR_TEX_D:
    case IR_TEX_ADJ:
    case IR_ASK:
    case IR_CALL:
    case IR_ARRAY_SET:
        return false;
    case IR_PARAM:
        return w->are_params_equal;
    case IR_ARRAY:
        return w->is_table[inst->result_first];
    default:
        return are_args_equal(w, inst);
    }
}

static void walk_region(Walk *w, IrRegionId region)
{
    const IrFunc *f = w->func;
    const IrRegion *r = ir_region(f, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        if (inst->op == IR_IF) {
            walk_if(w, inst);
        } else if (inst->op == IR_LOOP) {
            walk_loop(w, inst);
        } else {
            bool is_equal = is_result_equal(w, inst);
            for (uint32_t i = 0; i < inst->result_count; ++i)
                w->is_equal[inst->result_first + i] = is_equal;
        }
    }
}

bool *uniform_find(const IrFunc *f, bool are_params_equal, const bool *is_table, Arena *arena)
{
    Walk w = {.func = f,
              .is_table = is_table,
              .is_equal = ARENA_ARRAY(arena, bool, f->values.count),
              .are_params_equal = are_params_equal};
    for (IrValue v = 0; v < f->values.count; ++v)
        w.is_equal[v] = !f->values.data[v].def && !ir_is_array(ir_type(f, v)); /* states of loops */
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        w.is_equal[body->param_first + i] = false;
    for (uint32_t walks = 1;; ++walks) {
        w.has_changed = false;
        walk_region(&w, f->body);
        if (!w.has_changed)
            return w.is_equal;
        for (IrValue v = 0; v < f->values.count && walks == WALKS_MAX; ++v)
            w.is_equal[v] &= f->values.data[v].def != 0; /* no state is, then */
    }
}
