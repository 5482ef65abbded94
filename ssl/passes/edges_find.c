/* Which values differ at neighbours, and which of them an edge can change. */
#include "base/check.h"
#include "ssl/passes/edges.h"

typedef struct Find {
    Edges *edges;
    bool changed;
} Find;

static void note(Find *w, uint8_t *flags, IrValue v, bool is_set)
{
    if (!is_set || flags[v])
        return;
    flags[v] = 1;
    w->changed = true;
}

static bool is_comparison(uint32_t op)
{
    return op >= IR_FEQ && op <= IR_FGE;
}

bool edges_can_begin(uint32_t op)
{
    return is_comparison(op) || (op >= IR_FLOOR && op <= IR_SIGN) || op == IR_F2I || op == IR_FMOD;
}

/* Operations whose result says nothing of an edge. Bit patterns are read by hashes, which have no edges but noise. */
static bool hides_edges(uint32_t op)
{
    return op == IR_DETACH || op == IR_APART || op == IR_FBITS || op == IR_ISNAN ||
           op == IR_ISINF || op == IR_CALL;
}

static void find_operation(Find *w, const IrInst *inst)
{
    Edges *e = w->edges;
    bool varies = false, jumps = false, is_active = false;
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue v = ir_args(e->f, inst)[i];
        varies = varies || e->varies[v];
        jumps = jumps || e->jumps[v];
        is_active = is_active || e->active[v];
    }
    if (inst->op == IR_GLOBAL || inst->op == IR_ATTRIBUTE)
        varies = ir_global_shadow(inst->imm) == IR_SHADOW_VALUE &&
                 ir_type(e->f, inst->result_first) == ir_scalar(IR_FLOAT);
    jumps = !hides_edges(inst->op) && (jumps || (edges_can_begin(inst->op) && is_active)) && varies;
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        note(w, e->varies, inst->result_first + i, varies);
        note(w, e->jumps, inst->result_first + i, jumps);
    }
}

static void find_region(Find *w, IrRegionId region);

static void find_if(Find *w, const IrInst *inst)
{
    Edges *e = w->edges;
    IrValue cond = ir_args(e->f, inst)[0];
    for (uint32_t k = 0; k < 2; ++k) {
        find_region(w, inst->region_first + k);
        const IrValue *yields = ir_yield_args(e->f, inst->region_first + k);
        for (uint32_t i = 0; i < inst->result_count; ++i) {
            note(w, e->varies, inst->result_first + i, e->varies[yields[i]] || e->varies[cond]);
            note(w, e->jumps, inst->result_first + i, e->jumps[yields[i]] || e->jumps[cond]);
        }
    }
}

/* A state varies if it does before the loop or after a turn. What comes out varies also with the number of turns. */
static void find_loop(Find *w, const IrInst *inst)
{
    Edges *e = w->edges;
    IrValue param = ir_region(e->f, inst->region_first)->param_first;
    const IrValue *yields = ir_yield_args(e->f, inst->region_first);
    find_region(w, inst->region_first);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue init = ir_args(e->f, inst)[i], next = yields[1 + i], out = inst->result_first + i;
        note(w, e->varies, param + i, e->varies[init] || e->varies[next]);
        note(w, e->jumps, param + i, e->jumps[init] || e->jumps[next]);
        note(w, e->varies, out, e->varies[param + i] || e->varies[yields[0]]);
        note(w, e->jumps, out, e->jumps[param + i] || e->jumps[yields[0]]);
    }
}

static void find_region(Find *w, IrRegionId region)
{
    const IrFunc *f = w->edges->f;
    const IrRegion *r = ir_region(f, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        if (inst->op == IR_IF)
            find_if(w, inst);
        else if (inst->op == IR_LOOP)
            find_loop(w, inst);
        else
            find_operation(w, inst);
    }
}

void edges_find(Edges *e, const uint8_t *varying_params)
{
    Find w = {.edges = e};
    const IrRegion *body = ir_region(e->f, e->f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        note(&w, e->varies, body->param_first + i, varying_params[i]);
    do {
        w.changed = false;
        find_region(&w, e->f->body);
    } while (w.changed);
}

static bool is_inside(const Edges *e, IrRegionId region)
{
    const IrRegion *r = ir_region(e->f, region);
    for (uint32_t i = 0; i < r->param_count; ++i)
        if (e->varies[r->param_first + i])
            return true;
    for (IrInstId id = r->first; id != r->last; id = ir_inst(e->f, id)->next) {
        const IrInst *inst = ir_inst(e->f, id);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            if (e->varies[inst->result_first + i])
                return true;
        if (edges_are_inside(e, inst))
            return true;
    }
    return false;
}

bool edges_are_inside(const Edges *e, const IrInst *inst)
{
    /* An arm without instructions may give a value from outside that varies. */
    for (uint32_t i = 0; i < inst->result_count && inst->region_count; ++i)
        if (e->varies[inst->result_first + i])
            return true;
    for (uint32_t i = 0; i < inst->region_count; ++i)
        if (is_inside(e, inst->region_first + i))
            return true;
    return false;
}
