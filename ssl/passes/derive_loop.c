/* What walking back through a loop needs of it: which states it must find again at each turn, how they are found, and
 * how many turns there can be.
 *
 * A state is saved only if its value at the start of a turn is needed: a sum that grows in a loop is not, because the
 * derivative of an addition does not depend on what is added. An int that grows by the same step in each turn is
 * computed. */
#include "base/check.h"
#include "ssl/passes/derive.h"
#include "ssl/report.h"

typedef struct LoopWalk {
    Derive *derive;
    const IrFunc *func;
    const uint8_t *active;
    const IrInst *loop;
    const IrRegion *body;
    uint8_t *inside; /* [value]: defined in the loop */
    uint8_t *needed; /* [value] */
    uint8_t *kept;   /* [value]: of a KEEP that may be on the tape */
    ARRAY(IrValue) work, truths;
} LoopWalk;

static void need(LoopWalk *w, IrValue v)
{
    if (w->needed[v] || !w->inside[v])
        return;
    w->needed[v] = 1;
    array_push(w->derive->module->arena, &w->work, v);
}

/* --- which values are needed ------------------------------------------------------------------ */

static bool has_active_result(const LoopWalk *w, const IrInst *inst)
{
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (w->active[inst->result_first + i])
            return true;
    return false;
}

/* Needs the values that the rules of one active operation read. */
static void need_for(LoopWalk *w, const IrInst *inst)
{
    const IrValue *args = ir_args(w->func, inst);
    switch (inst->op) {
    case IR_FADD:
    case IR_FSUB:
    case IR_FNEG:
    case IR_ARRAY:
    case IR_DETACH:
        return;
    case IR_FMUL:
    case IR_FMA:
        for (uint32_t i = 0; i < 2; ++i)
            if (w->active[args[1 - i]])
                need(w, args[i]);
        return;
    case IR_SELECT:
        need(w, args[0]);
        return;
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        need(w, args[1]);
        return;
    case IR_IF:
        need(w, args[0]);
        return;
    default:
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            need(w, args[i]);
        for (uint32_t i = 0; i < inst->result_count && inst->op != IR_CALL; ++i)
            need(w, inst->result_first + i);
    }
}

static void walk_region(LoopWalk *w, IrRegionId region, bool marks)
{
    const IrFunc *f = w->func;
    const IrRegion *r = ir_region(f, region);
    for (uint32_t i = 0; i < r->param_count && marks; ++i)
        w->inside[r->param_first + i] = 1;
    for (IrInstId id = r->first; id != r->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        for (uint32_t i = 0; i < inst->result_count && marks; ++i)
            w->inside[inst->result_first + i] = 1;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            walk_region(w, inst->region_first + i, marks);
        if (marks)
            continue;
        if (inst->op == IR_LOOP)
            need(w, ir_yield_args(f, inst->region_first)[0]);
        else if (has_active_result(w, inst))
            need_for(w, inst);
    }
}

/* Needs what computes a needed value again. */
static void need_operands(LoopWalk *w, IrValue v)
{
    const IrFunc *f = w->func;
    const IrValueInfo *info = &f->values.data[v];
    if (!info->def) { /* a state of this loop, or of one inside */
        const IrRegion *r = ir_region(f, info->region);
        if (r == w->body)
            return;
        need(w, ir_args(f, ir_inst(f, r->owner))[v - r->param_first]);
        need(w, ir_yield_args(f, info->region)[1 + v - r->param_first]);
        return;
    }
    const IrInst *inst = ir_inst(f, info->def);
    uint32_t result = v - inst->result_first;
    if (w->kept[v])
        return;
    if (inst->op == IR_LOOP) {
        need(w, ir_args(f, inst)[result]);
        need(w, ir_yield_args(f, inst->region_first)[0]);
        need(w, ir_yield_args(f, inst->region_first)[1 + result]);
        return;
    }
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        need(w, ir_args(f, inst)[i]);
    for (uint32_t i = 0; i < inst->region_count; ++i)
        need(w, ir_yield_args(f, inst->region_first + i)[result]);
}

/* --- what holds when the loop goes on --------------------------------------------------------- */

static const IrInst *def_of(const LoopWalk *w, IrValue v)
{
    IrInstId def = w->func->values.data[v].def;
    return def ? ir_inst(w->func, def) : NULL;
}

static bool is_constant_bool(const LoopWalk *w, IrValue v, bool value)
{
    const IrInst *def = def_of(w, v);
    return def && def->op == IR_CONST_BOOL && (def->imm != 0) == value;
}

/* Collects bools that are true in every turn after which the loop goes on. */
static void find_truths(LoopWalk *w, IrValue v)
{
    const IrInst *def = def_of(w, v);
    array_push(w->derive->module->arena, &w->truths, v);
    if (def && def->op == IR_BAND) {
        find_truths(w, ir_args(w->func, def)[0]);
        find_truths(w, ir_args(w->func, def)[1]);
    } else if (def && def->op == IR_IF) {
        uint32_t result = v - def->result_first;
        if (!is_constant_bool(w, ir_yield_args(w->func, def->region_first + 1)[result], false))
            return;
        find_truths(w, ir_args(w->func, def)[0]);
        find_truths(w, ir_yield_args(w->func, def->region_first)[result]);
    }
}

static bool is_true(const LoopWalk *w, IrValue v)
{
    for (uint32_t i = 0; i < w->truths.count; ++i)
        if (w->truths.data[i] == v)
            return true;
    return false;
}

/* Returns the value that `v` is in a turn after which the loop goes on. */
static IrValue when_it_goes_on(const LoopWalk *w, IrValue v)
{
    const IrInst *def = def_of(w, v);
    while (def && def->op == IR_IF && is_true(w, ir_args(w->func, def)[0])) {
        v = ir_yield_args(w->func, def->region_first)[v - def->result_first];
        def = def_of(w, v);
    }
    return v;
}

/* --- steps and turns -------------------------------------------------------------------------- */

/* Returns whether a state, an int, grows by the same step in each turn. */
static bool find_step(const LoopWalk *w, uint32_t state, DeriveLoop *out)
{
    IrValue param = w->body->param_first + state;
    IrRegionId region = w->loop->region_first;
    const IrInst *def = def_of(w, when_it_goes_on(w, ir_yield_args(w->func, region)[1 + state]));
    if (!def || (def->op != IR_IADD && def->op != IR_ISUB))
        return false; /* which no other type has */
    const IrValue *args = ir_args(w->func, def);
    uint32_t other = args[0] == param ? 1 : 0;
    if (args[1 - other] != param || w->inside[args[other]] || (def->op == IR_ISUB && other == 0))
        return false;
    out->steps[state] = args[other];
    out->is_down[state] = def->op == IR_ISUB;
    return true;
}

static bool constant_int(const LoopWalk *w, IrValue v, int32_t *out)
{
    const IrInst *def = def_of(w, v);
    if (!def || def->op != IR_CONST_INT)
        return false;
    *out = (int32_t)(uint32_t)def->imm;
    return true;
}

static bool compare(IrOp op, int64_t a, int64_t b)
{
    switch (op) {
    case IR_ILT:
        return a < b;
    case IR_ILE:
        return a <= b;
    case IR_IGT:
        return a > b;
    case IR_IGE:
        return a >= b;
    default:
        ASSERT(op == IR_INE);
        return a != b;
    }
}

/* An int that is known in each turn: first + step * turn. */
typedef struct Line {
    int64_t first, step;
} Line;

static bool line_of(const LoopWalk *w, const DeriveLoop *l, IrValue v, Line *out)
{
    int32_t first, step = 0, added = 0;
    int64_t added_by = 0;
    *out = (Line){0};
    if (constant_int(w, v, &first)) {
        out->first = first;
        return true;
    }
    const IrInst *def = def_of(w, v);
    if (def &&
        (def->op == IR_IADD || def->op == IR_ISUB)) { /* the next value, as `do` compares it */
        const IrValue *args = ir_args(w->func, def);
        uint32_t other = def->op == IR_IADD && constant_int(w, args[0], &added) ? 0 : 1;
        if (!constant_int(w, args[other], &added))
            return false;
        v = args[1 - other];
        added_by = def->op == IR_ISUB ? -(int64_t)added : added;
    }
    if (v < w->body->param_first || v >= w->body->param_first + w->body->param_count)
        return false;
    uint32_t state = v - w->body->param_first;
    if (!l->steps[state] || !constant_int(w, ir_args(w->func, w->loop)[state], &first) ||
        !constant_int(w, l->steps[state], &step))
        return false;
    *out = (Line){first + added_by, l->is_down[state] ? -(int64_t)step : step};
    return true;
}

/* Returns the most turns that a condition for going on allows, or 0. */
static uint32_t count_turns(const LoopWalk *w, const DeriveLoop *l, IrValue condition)
{
    const IrInst *def = def_of(w, condition);
    Line a, b;
    if (!def || def->op < IR_INE || def->op > IR_IGE ||
        !line_of(w, l, ir_args(w->func, def)[0], &a) ||
        !line_of(w, l, ir_args(w->func, def)[1], &b))
        return 0;
    for (uint32_t turn = 0; turn < DERIVE_TURNS_COUNTED; ++turn) {
        int64_t x = a.first + a.step * turn, y = b.first + b.step * turn;
        if (x != (int32_t)x || y != (int32_t)y)
            return 0;
        if (!compare((IrOp)def->op, x, y))
            return turn + 1;
    }
    return 0;
}

/* --- the whole -------------------------------------------------------------------------------- */

static DeriveState state_of(LoopWalk *w, uint32_t state, DeriveLoop *l)
{
    IrValue param = w->body->param_first + state;
    IrType type = ir_type(w->func, param);
    bool is_step = type == ir_scalar(IR_INT) && find_step(w, state, l);
    if (ir_yield_args(w->func, w->loop->region_first)[1 + state] == param)
        return STATE_FIXED;
    if (!w->needed[param] || ir_kind(type) == IR_CLOSURE)
        return STATE_UNREAD;
    return is_step ? STATE_STEPS : STATE_SAVED;
}

/* Whether nothing that has a derivative happens in a turn in which `condition` is false. */
static bool is_idle_without(const LoopWalk *w, IrValue condition)
{
    const IrFunc *f = w->func;
    for (IrInstId id = w->body->first; id != w->body->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        if (!has_active_result(w, inst))
            continue;
        if (inst->op != IR_IF || ir_args(f, inst)[0] != condition)
            return false;
        const IrRegion *otherwise = ir_region(f, inst->region_first + 1);
        if (otherwise->first != otherwise->last)
            return false;
    }
    return true;
}

/* A loop that ends by one comparison of counters has a number of turns that is known. */
static void count_exactly(const LoopWalk *w, DeriveLoop *l)
{
    IrValue goes_on = ir_yield_args(w->func, w->loop->region_first)[0];
    if (w->truths.count != 1)
        return;
    l->counted = count_turns(w, l, goes_on);
    if (l->counted && is_idle_without(w, goes_on))
        l->goes_on = goes_on;
}

/* Returns the most turns for which there is room on a tape, and whether there are not more, provably. */
static uint32_t room_for(const LoopWalk *w, const DeriveLoop *l, bool *out_is_bounded)
{
    uint32_t counted = 0, wanted = w->derive->module->fault_sites.data[w->loop->site].max_trips;
    for (uint32_t i = 0; i < w->truths.count; ++i) {
        uint32_t turns = count_turns(w, l, w->truths.data[i]);
        counted = turns && (!counted || turns < counted) ? turns : counted;
    }
    *out_is_bounded = counted > 0;
    return counted ? counted : 1 + (wanted ? wanted : DERIVE_TURNS_DEFAULT);
}

static void find_turns(const LoopWalk *w, DeriveLoop *l)
{
    bool is_taped = l->kept_count > 0;
    for (uint32_t i = 0; i < w->loop->arg_count; ++i)
        is_taped = is_taped || l->states[i] == STATE_SAVED;
    l->turns = INT32_MAX;
    l->is_bounded = true;
    if (is_taped)
        l->turns = room_for(w, l, &l->is_bounded);
}

/* --- what is kept ------------------------------------------------------------------------------ */

void derive_list_kept(Derive *d, const IrFunc *f, IrRegionId region, DeriveValues *out)
{
    const IrRegion *r = ir_region(f, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        if (inst->op == IR_KEEP)
            array_push(d->module->arena, out, inst->result_first);
        for (uint32_t i = 0; i < inst->region_count && inst->op == IR_IF; ++i)
            derive_list_kept(d, f, inst->region_first + i, out);
    }
}

/* A hint does not make a tape necessary that may turn out too short. */
static void find_kept(LoopWalk *w, const DeriveLoop *l, DeriveValues *kept)
{
    bool is_bounded;
    room_for(w, l, &is_bounded);
    if (!is_bounded && w->derive->module->fault_sites.data[w->loop->site].max_trips == 0)
        kept->count = 0;
    for (uint32_t i = 0; i < kept->count; ++i)
        w->kept[kept->data[i]] = 1;
}

static void drop_unneeded(const LoopWalk *w, DeriveValues *kept)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < kept->count; ++i)
        if (w->needed[kept->data[i]])
            kept->data[count++] = kept->data[i];
    kept->count = count;
}

DeriveLoop derive_analyse_loop(Derive *d, const IrFunc *f, const uint8_t *active, IrInstId loop,
                               bool keeps)
{
    Arena *arena = d->module->arena;
    const IrInst *inst = ir_inst(f, loop);
    DeriveLoop l = {.states = ARENA_ARRAY(arena, DeriveState, inst->arg_count),
                    .steps = ARENA_ARRAY(arena, IrValue, inst->arg_count),
                    .is_down = ARENA_ARRAY(arena, bool, inst->arg_count)};
    DeriveValues kept = {0};
    if (keeps)
        derive_list_kept(d, f, inst->region_first, &kept);
    ArenaMark mark = arena_mark(arena);
    LoopWalk w = {.derive = d,
                  .func = f,
                  .active = active,
                  .loop = inst,
                  .body = ir_region(f, inst->region_first),
                  .inside = ARENA_ARRAY(arena, uint8_t, f->values.count),
                  .needed = ARENA_ARRAY(arena, uint8_t, f->values.count),
                  .kept = ARENA_ARRAY(arena, uint8_t, f->values.count)};
    walk_region(&w, inst->region_first, true);
    find_truths(&w, ir_yield_args(f, inst->region_first)[0]);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        find_step(&w, i, &l);
    find_kept(&w, &l, &kept);
    walk_region(&w, inst->region_first, false);
    while (w.work.count)
        need_operands(&w, w.work.data[--w.work.count]);
    drop_unneeded(&w, &kept);
    l.kept = kept.data;
    l.kept_count = kept.count;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        l.states[i] = state_of(&w, i, &l);
    count_exactly(&w, &l);
    find_turns(&w, &l);
    arena_rewind(arena, mark);
    return l;
}
