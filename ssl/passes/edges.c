/* The copy that edges are added to: instruction by instruction, with neighbours beside the point. An IF whose condition varies
 * becomes one IF for each arm, entered if the point or a neighbour takes it, and choices of what the arms give. A LOOP whose number
 * of turns varies goes on until the last of the five is done; what the others have is held. */
#include "ssl/passes/edges.h"
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/report.h"

typedef ARRAY(IrValue) ValueList;

static Arena *arena_of(const Edges *e)
{
    return e->derive->module->arena;
}

static size_t at(IrValue v, uint32_t n)
{
    return (size_t)v * EDGE_NEIGHBOURS + n;
}

static bool is_discrete(const Edges *e, IrValue v)
{
    return ir_kind(ir_type(e->f, v)) == IR_BOOL || ir_kind(ir_type(e->f, v)) == IR_INT;
}

static void push(Edges *e, ValueList *list, IrValue v)
{
    array_push(arena_of(e), list, v);
}

/* --- borders ---------------------------------------------------------------------------------- */

/* Appends all that belongs to `source`, as much as `border`, the value on the other side, has. */
static void pack(Edges *e, IrValue border, IrValue source, ValueList *list)
{
    IrValue zero = ir_const_float(e->b, 0.0f);
    push(e, list, e->clone->map[source]);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e->varies[border]; ++n)
        push(e, list, edges_there(e, source, n));
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e->jumps[border]; ++n) {
        const EdgeCause *cause = &e->causes[at(source, n)];
        if (!is_discrete(e, border)) {
            IrValue shadow = e->shadows[at(source, n)];
            push(e, list, shadow ? shadow : ir_build_zero(e->b, ir_type(e->f, border)));
            continue;
        }
        push(e, list, cause->cause ? cause->cause : zero);
        push(e, list, cause->cause ? cause->slope : zero);
        push(e, list, cause->cause ? cause->place : zero);
    }
}

/* Gives `target` what pack() made for `border`. Returns how many values that were. */
static uint32_t unpack(Edges *e, IrValue border, IrValue target, const IrValue *values)
{
    const IrValue *next = values;
    e->clone->map[target] = *next++;
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e->varies[border]; ++n)
        e->copies[at(target, n)] = *next++;
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e->jumps[border]; ++n) {
        if (is_discrete(e, border)) {
            e->causes[at(target, n)] = (EdgeCause){next[0], next[1], next[2]};
            next += 3;
        } else {
            e->shadows[at(target, n)] = *next++;
        }
    }
    return (uint32_t)(next - values);
}

/* --- IF --------------------------------------------------------------------------------------- */

/* An arm's values: entered if `any`, else zeros. Afterwards the results of the IF have what the arm gives. */
static void copy_arm(Edges *e, const IrInst *inst, IrRegionId region, IrValue any)
{
    ValueList values = {0}, zeros = {0};
    ir_if_begin(e->b, any);
    ir_clone_insts(e->clone, region);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        pack(e, inst->result_first + i, ir_yield_args(e->f, region)[i], &values);
    ir_if_else(e->b, values.data, values.count);
    for (uint32_t i = 0; i < values.count; ++i)
        push(e, &zeros, ir_build_zero(e->b, ir_build_type(e->b, values.data[i])));
    ir_if_end(e->b, zeros.data, zeros.count, values.data);
    for (uint32_t i = 0, k = 0; i < inst->result_count; ++i)
        k += unpack(e, inst->result_first + i, inst->result_first + i, values.data + k);
}

/* What the results have, in a list for each of them. */
static void keep_results(Edges *e, const IrInst *inst, ValueList *out)
{
    for (uint32_t i = 0; i < inst->result_count; ++i)
        pack(e, inst->result_first + i, inst->result_first + i, out);
}

static IrValue merge(Edges *e, IrValue x, IrValue y)
{
    return x && y ? ir_build2(e->b, IR_BAND, x, y) : x ? x : y;
}

static IrValue any_of(Edges *e, IrValue here, const IrValue *there)
{
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
        here = ir_build2(e->b, IR_BOR, here, there[n]);
    return here;
}

/* Adds what the condition itself does where another side is taken there: the difference of the arms, x - y. If these jump
 * themselves, it is what is here less what is there. */
static void add_jumps(Edges *e, IrValue cond, IrValue result, bool arms_jump, const IrValue *x,
                      const IrValue *y)
{
    IrBuilder *b = e->b;
    IrValue own_cond = e->clone->map[cond], zero = ir_build_zero(b, ir_type(e->f, result));
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        IrValue own = ir_build_detach(b, e->clone->map[result]);
        IrValue jump = ir_each2(b, IR_FSUB, own, edges_there(e, result, n));
        IrValue toggles = edges_differs(e, own_cond, edges_there(e, cond, n));
        if (!arms_jump && !ir_is_array(ir_type(e->f, result)))
            jump = edges_jump(e, own_cond, x[0], x[1 + n], y[0], y[1 + n], jump);
        e->shadows[at(result, n)] = edges_sum(
            e, e->shadows[at(result, n)],
            edges_term(e, &e->causes[at(cond, n)], edges_choose(e, toggles, jump, zero), n));
    }
}

/* Chooses between what the arms gave, x and y. Returns how many values they are. */
static uint32_t choose_result(Edges *e, const IrInst *inst, uint32_t index, const IrValue *x,
                              const IrValue *y)
{
    IrValue cond = ir_args(e->f, inst)[0], result = inst->result_first + index;
    uint32_t count = 1, n;
    e->clone->map[result] = edges_choose(e, e->clone->map[cond], x[0], y[0]);
    for (n = 0; n < EDGE_NEIGHBOURS && e->varies[result]; ++n, ++count)
        e->copies[at(result, n)] = edges_choose(e, edges_there(e, cond, n), x[count], y[count]);
    if (!e->jumps[result])
        return count;
    for (n = 0; n < EDGE_NEIGHBOURS; ++n) {
        if (is_discrete(e, result)) {
            const EdgeCause of_x = {x[count], x[count + 1], x[count + 2]};
            const EdgeCause of_y = {y[count], y[count + 1], y[count + 2]};
            e->causes[at(result, n)] = edges_cause_of_choice(e, cond, of_x, of_y, n);
            count += 3;
        } else {
            e->shadows[at(result, n)] = edges_choose(e, e->clone->map[cond], x[count], y[count]);
            ++count;
        }
    }
    bool arms_jump = e->jumps[ir_yield_args(e->f, inst->region_first)[index]] ||
                     e->jumps[ir_yield_args(e->f, inst->region_first + 1)[index]];
    if (!is_discrete(e, result) && e->jumps[cond])
        add_jumps(e, cond, result, arms_jump, x, y);
    return count;
}

static void copy_if(Edges *e, const IrInst *inst)
{
    IrValue cond = ir_args(e->f, inst)[0], outer_here = e->here;
    IrValue outer_there[EDGE_NEIGHBOURS], conds[1 + EDGE_NEIGHBOURS];
    ValueList values[2] = {0};
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        outer_there[n] = e->there[n];
        conds[1 + n] = edges_there(e, cond, n);
    }
    conds[0] = e->clone->map[cond];
    for (uint32_t arm = 0; arm < 2; ++arm) {
        for (uint32_t n = 0; n <= EDGE_NEIGHBOURS && arm == 1; ++n)
            conds[n] = ir_build1(e->b, IR_BNOT, conds[n]);
        e->here = merge(e, outer_here, conds[0]);
        for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
            e->there[n] = merge(e, outer_there[n], conds[1 + n]);
        copy_arm(e, inst, inst->region_first + arm, any_of(e, conds[0], conds + 1));
        keep_results(e, inst, &values[arm]);
    }
    e->here = outer_here;
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
        e->there[n] = outer_there[n];
    for (uint32_t i = 0, k = 0; i < inst->result_count; ++i)
        k += choose_result(e, inst, i, values[0].data + k, values[1].data + k);
}

/* An IF on a condition that is the same at the neighbours. */
static void copy_common_if(Edges *e, const IrInst *inst)
{
    ValueList values[2] = {0};
    ir_if_begin(e->b, e->clone->map[ir_args(e->f, inst)[0]]);
    for (uint32_t arm = 0; arm < 2; ++arm) {
        IrRegionId region = inst->region_first + arm;
        ir_clone_insts(e->clone, region);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            pack(e, inst->result_first + i, ir_yield_args(e->f, region)[i], &values[arm]);
        if (arm == 0)
            ir_if_else(e->b, values[0].data, values[0].count);
    }
    ASSERT(values[0].count == values[1].count);
    ir_if_end(e->b, values[1].data, values[1].count, values[1].data);
    for (uint32_t i = 0, k = 0; i < inst->result_count; ++i)
        k += unpack(e, inst->result_first + i, inst->result_first + i, values[1].data + k);
}

/* --- LOOP ------------------------------------------------------------------------------------- */

/* A loop whose number of turns is the same at the neighbours. */
static void copy_common_loop(Edges *e, const IrInst *inst)
{
    IrValue param = ir_region(e->f, inst->region_first)->param_first;
    const IrValue *yields = ir_yield_args(e->f, inst->region_first);
    ValueList init = {0}, next = {0};
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        pack(e, param + i, ir_args(e->f, inst)[i], &init);
    IrValue *state = ARENA_ARRAY(arena_of(e), IrValue, init.count);
    ir_loop_begin(e->b, inst->site, init.data, init.count, state);
    for (uint32_t i = 0, k = 0; i < inst->arg_count; ++i)
        k += unpack(e, param + i, param + i, state + k);
    ir_clone_insts(e->clone, inst->region_first);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        pack(e, param + i, yields[1 + i], &next);
    ASSERT(next.count == init.count);
    ir_loop_end(e->b, e->clone->map[yields[0]], next.data, next.count, state);
    for (uint32_t i = 0, k = 0; i < inst->arg_count; ++i)
        k += unpack(e, param + i, inst->result_first + i, state + k);
}

/* The state of a loop whose number of turns varies, beside what its code reads. `held` are what the results will be, as they are
 * when the point or a neighbour is done; `since` are the differences of floats before the turn in
 * which one of the two is done first: what happens from there on is a jump of its own. */
typedef struct Turns {
    IrValue goes[1 + EDGE_NEIGHBOURS];     /* the point and its neighbours go on */
    EdgeCause ends[EDGE_NEIGHBOURS];       /* why one of the two is done first */
    IrValue are_together[EDGE_NEIGHBOURS]; /* both go on, or both are done now */
    ValueList held, since;
} Turns;

static bool has_since(const Edges *e, const IrInst *inst, uint32_t i)
{
    return e->jumps[inst->result_first + i] &&
           ir_type(e->f, inst->result_first + i) == ir_scalar(IR_FLOAT);
}

/* Appends a packed list in which each value is the one of now where its owner goes on (the point, or neighbour n), and jumps are those
 * of now where both went the same way. */
static void hold(Edges *e, IrValue result, const Turns *t, const IrValue *now, const IrValue *held,
                 ValueList *out)
{
    uint32_t per = is_discrete(e, result) ? 3 : 1, k = 0;
    push(e, out, edges_choose(e, t->goes[0], now[k], held[k]));
    ++k;
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e->varies[result]; ++n, ++k)
        push(e, out, edges_choose(e, t->goes[1 + n], now[k], held[k]));
    for (uint32_t n = 0; n < per * EDGE_NEIGHBOURS && e->jumps[result]; ++n, ++k)
        push(e, out, edges_choose(e, t->are_together[n / per], now[k], held[k]));
}

static void pack_turns(Edges *e, const Turns *t, ValueList *list)
{
    for (uint32_t n = 0; n <= EDGE_NEIGHBOURS; ++n)
        push(e, list, t->goes[n]);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        push(e, list, t->ends[n].cause);
        push(e, list, t->ends[n].slope);
    }
    for (uint32_t i = 0; i < t->held.count; ++i)
        push(e, list, t->held.data[i]);
    for (uint32_t i = 0; i < t->since.count; ++i)
        push(e, list, t->since.data[i]);
}

static void unpack_turns(Turns *t, const IrValue *values)
{
    for (uint32_t n = 0; n <= EDGE_NEIGHBOURS; ++n)
        t->goes[n] = *values++;
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n, values += 2)
        t->ends[n] = (EdgeCause){values[0], values[1], t->ends[n].place};
    for (uint32_t i = 0; i < t->held.count; ++i)
        t->held.data[i] = *values++;
    for (uint32_t i = 0; i < t->since.count; ++i)
        t->since.data[i] = *values++;
}

static Turns begin_turns(Edges *e, const IrInst *inst)
{
    Turns t = {0};
    IrValue zero = ir_const_float(e->b, 0.0f), yes = ir_const_bool(e->b, true);
    t.goes[0] = yes; /* who does not come here goes along */
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        t.goes[1 + n] = yes;
        t.ends[n] = (EdgeCause){zero, zero, zero};
    }
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        pack(e, inst->result_first + i, ir_args(e->f, inst)[i], &t.held);
        IrValue init = ir_args(e->f, inst)[i];
        for (uint32_t n = 0; n < EDGE_NEIGHBOURS && has_since(e, inst, i); ++n)
            push(e, &t.since,
                 ir_sub(e->b, ir_build_detach(e->b, e->clone->map[init]), edges_there(e, init, n)));
    }
    return t;
}

/* Finds who parts from the point in this turn, and why. */
static void part(Edges *e, IrValue go_on, Turns *t)
{
    IrBuilder *b = e->b;
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        IrValue differs = edges_differs(e, e->clone->map[go_on], edges_there(e, go_on, n));
        IrValue both = ir_build2(b, IR_BAND, t->goes[0], t->goes[1 + n]);
        IrValue ends = ir_build2(b, IR_BAND, both, differs);
        t->ends[n] = edges_choose_cause(e, ends, e->causes[at(go_on, n)], t->ends[n]);
        t->ends[n].place = ir_const_float(b, 0.5f); /* it does not leave the loop */
        t->are_together[n] = ir_build2(b, IR_BAND, both, ir_build1(b, IR_BNOT, differs));
    }
}

static void end_turn(Edges *e, const IrInst *inst, Turns *t)
{
    IrBuilder *b = e->b;
    const IrValue *yields = ir_yield_args(e->f, inst->region_first);
    ValueList held = {0}, since = {0};
    part(e, yields[0], t);
    for (uint32_t i = 0, k = 0, s = 0; i < inst->arg_count; ++i) {
        ValueList now = {0};
        pack(e, inst->result_first + i, yields[1 + i], &now);
        hold(e, inst->result_first + i, t, now.data, t->held.data + k, &held);
        k += now.count;
        for (uint32_t n = 0; n < EDGE_NEIGHBOURS && has_since(e, inst, i); ++n, ++s) {
            IrValue own = ir_build_detach(b, now.data[0]);
            IrValue apart = ir_sub(b, own, now.data[1 + n]);
            push(e, &since, ir_build_select(b, t->are_together[n], apart, t->since.data[s]));
        }
    }
    t->goes[0] = ir_build2(b, IR_BAND, t->goes[0], e->clone->map[yields[0]]);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
        t->goes[1 + n] = ir_build2(b, IR_BAND, t->goes[1 + n], edges_there(e, yields[0], n));
    t->held = held;
    t->since = since;
}

/* What the turns that only one of the two took have changed is a jump. */
static void add_ends(Edges *e, const IrInst *inst, const Turns *t)
{
    for (uint32_t i = 0, s = 0; i < inst->arg_count; ++i) {
        IrValue result = inst->result_first + i;
        for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e->jumps[result]; ++n) {
            if (is_discrete(
                    e, result)) { /* what did not change within the turns did so by their number */
                EdgeCause *own = &e->causes[at(result, n)];
                IrValue has_own = ir_build2(e->b, IR_FNE, own->slope, ir_const_float(e->b, 0.0f));
                *own = edges_choose_cause(e, has_own, *own, t->ends[n]);
            } else if (has_since(e, inst, i)) {
                IrValue apart = ir_sub(e->b, e->clone->map[result], edges_there(e, result, n));
                apart = ir_sub(e->b, apart, t->since.data[s++]);
                e->shadows[at(result, n)] =
                    edges_sum(e, e->shadows[at(result, n)],
                              edges_term(e, &t->ends[n], ir_build_detach(e->b, apart), n));
            }
        }
    }
}

static void copy_loop(Edges *e, const IrInst *inst, uint32_t turns)
{
    IrModule *m = e->derive->module;
    IrValue param = ir_region(e->f, inst->region_first)->param_first, outer_here = e->here;
    const IrValue *yields = ir_yield_args(e->f, inst->region_first);
    IrValue outer_there[EDGE_NEIGHBOURS], goes[EDGE_NEIGHBOURS];
    ValueList init = {0}, next = {0};
    uint32_t site = ir_add_fault_site(m, SSL_FAULT_LOOP, m->fault_sites.data[inst->site].span);
    m->fault_sites.data[site].max_trips = turns;
    Turns t = begin_turns(e, inst);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        pack(e, param + i, ir_args(e->f, inst)[i], &init);
    uint32_t own = init.count;
    pack_turns(e, &t, &init);
    IrValue *state = ARENA_ARRAY(m->arena, IrValue, init.count);
    ir_loop_begin(e->b, site, init.data, init.count, state);
    for (uint32_t i = 0, k = 0; i < inst->arg_count; ++i)
        k += unpack(e, param + i, param + i, state + k);
    unpack_turns(&t, state + own);
    e->here = merge(e, outer_here, t.goes[0]);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        outer_there[n] = e->there[n];
        e->there[n] = merge(e, outer_there[n], t.goes[1 + n]);
    }
    ir_clone_insts(e->clone, inst->region_first);
    end_turn(e, inst, &t);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        pack(e, param + i, yields[1 + i], &next);
    pack_turns(e, &t, &next);
    ASSERT(next.count == init.count);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
        goes[n] = merge(e, outer_there[n], t.goes[1 + n]);
    ir_loop_end(e->b, any_of(e, merge(e, outer_here, t.goes[0]), goes), next.data, next.count,
                state);
    unpack_turns(&t, state + own);
    e->here = outer_here;
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n)
        e->there[n] = outer_there[n];
    for (uint32_t i = 0, k = 0; i < inst->arg_count; ++i)
        k += unpack(e, inst->result_first + i, inst->result_first + i, t.held.data + k);
    add_ends(e, inst, &t);
}

/* --- the walk --------------------------------------------------------------------------------- */

/* Where there are indices out of range at neighbours, or in an arm that the point does not take, there is no fault. */
static void copy_bounds(Edges *e, const IrInst *inst)
{
    IrValue arg = ir_args(e->f, inst)[0], v = inst->result_first, zero = ir_const_int(e->b, 0);
    IrValue index = e->clone->map[arg], last = ir_const_int(e->b, (int32_t)inst->imm - 1);
    if (e->here && e->varies[arg]) /* else it is the index of whoever comes here */
        index = ir_build_select(e->b, e->here, index, zero);
    e->clone->map[v] = ir_build_bounds(e->b, index, (uint32_t)inst->imm, inst->site);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e->varies[v]; ++n) {
        IrValue least = ir_build2(e->b, IR_IMAX, edges_there(e, arg, n), zero);
        e->copies[at(v, n)] = ir_build2(e->b, IR_IMIN, least, last);
    }
}

/* x + DDX(x) and so on. */
static void step_aside(Edges *e, IrValue v)
{
    IrValue x = e->clone->map[v];
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        IrValue step = ir_build1(e->b, n < 2 ? IR_DDX : IR_DDY, x);
        e->copies[at(v, n)] =
            ir_build_detach(e->b, ir_build2(e->b, n % 2 == 0 ? IR_FADD : IR_FSUB, x, step));
    }
}

static void copy_there(Edges *e, const IrInst *inst)
{
    Arena *arena = arena_of(e);
    IrValue *args = ARENA_ARRAY(arena, IrValue, inst->arg_count);
    IrValue *results = ARENA_ARRAY(arena, IrValue, inst->result_count);
    IrType *types = ARENA_ARRAY(arena, IrType, inst->result_count);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        types[i] = ir_type(e->f, inst->result_first + i);
    for (uint32_t n = 0; n < EDGE_NEIGHBOURS; ++n) {
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            args[i] = edges_there(e, ir_args(e->f, inst)[i], n);
        const IrNewInst copy = {.op = (IrOp)inst->op,
                                .site = inst->site,
                                .imm = inst->imm,
                                .args = args,
                                .types = types,
                                .arg_count = inst->arg_count,
                                .result_count = inst->result_count};
        ir_build_inst(e->b, &copy, results);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            e->copies[at(inst->result_first + i, n)] = results[i];
    }
}

/* The derivative of a lookup by coordinates, and the mixed ones of ddx, are not known, nor are those over edges. */
static void refuse_unknown(Edges *e, const IrInst *inst)
{
    bool is_lookup = ir_has_texture_site((IrOp)inst->op);
    bool jumps = false;
    if (!is_lookup && inst->op != IR_DDX && inst->op != IR_DDY)
        return;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        jumps = jumps || e->jumps[ir_args(e->f, inst)[i]];
    if (!jumps || e->derive->has_failed)
        return;
    Span span = inst->span.end ? inst->span : e->derive->facts->span;
    if (is_lookup)
        report(e->derive->diags, DERIVATIVE_TEXTURE, span, "its coordinates have edges");
    else
        report(e->derive->diags, DERIVATIVE_SCREEN, span, inst->op == IR_DDX ? "ddx" : "ddy");
    report(e->derive->diags, NOTE_WRITE, (Span){0},
           "detach(...) around what it reads, if its edges may be left out");
    e->derive->has_failed = true;
}

static void copy_control(Edges *e, IrInstId id)
{
    const IrInst *inst = ir_inst(e->f, id);
    bool is_loop = inst->op == IR_LOOP;
    IrValue cond = is_loop ? ir_yield_args(e->f, inst->region_first)[0] : ir_args(e->f, inst)[0];
    if (!e->varies[cond]) {
        if (is_loop)
            copy_common_loop(e, inst);
        else
            copy_common_if(e, inst);
    } else if (is_loop) {
        DeriveLoop loop = derive_analyse_loop(e->derive, e->f, e->active, id, false);
        uint32_t given = e->derive->module->fault_sites.data[inst->site].max_trips;
        copy_loop(e, inst, loop.is_bounded && loop.turns < INT32_MAX ? loop.turns : given);
    } else {
        copy_if(e, inst);
    }
}

static bool visit(IrClone *c, IrInstId id)
{
    Edges *e = c->data;
    const IrInst *inst = ir_inst(c->from, id);
    IrValue v = inst->result_first;
    if (inst->op == IR_IF || inst->op == IR_LOOP) {
        IrValue cond =
            inst->op == IR_IF ? ir_args(e->f, inst)[0] : ir_yield_args(e->f, inst->region_first)[0];
        if (!e->varies[cond] && !edges_are_inside(e, inst))
            return false;
        copy_control(e, id);
        return true;
    }
    refuse_unknown(e, inst);
    if (inst->op == IR_BOUNDS)
        copy_bounds(e, inst);
    else
        ir_clone_copy(c, id);
    if (inst->result_count == 0 || !e->varies[v])
        return true;
    if (inst->op == IR_GLOBAL || inst->op == IR_ATTRIBUTE)
        step_aside(e, v);
    else if (inst->op != IR_BOUNDS)
        copy_there(e, inst);
    if (e->jumps[v] && !e->derive->has_failed)
        edges_apply(e, inst);
    return true;
}

const IrFunc *edges_add(Derive *d, const IrFunc *f, const uint8_t *active_params,
                        const uint8_t *varying_params)
{
    static const IrCloneHooks hooks = {.visit = visit};
    IrModule *m = d->module;
    size_t count = f->values.count;
    Edges e = {.derive = d,
               .f = f,
               .active = derive_activity(d, f, active_params, true),
               .varies = ARENA_ARRAY(m->arena, uint8_t, count),
               .jumps = ARENA_ARRAY(m->arena, uint8_t, count),
               .copies = ARENA_ARRAY(m->arena, IrValue, count * EDGE_NEIGHBOURS),
               .shadows = ARENA_ARRAY(m->arena, IrValue, count * EDGE_NEIGHBOURS),
               .causes = ARENA_ARRAY(m->arena, EdgeCause, count * EDGE_NEIGHBOURS)};
    edges_find(&e, varying_params);
    IrFuncId id = ir_reserve_func(m);
    IrClone c = ir_clone_func(m, f, id, &hooks, &e);
    e.clone = &c;
    e.b = c.to;
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        if (e.varies[body->param_first + i])
            step_aside(&e, body->param_first + i);
    ir_clone_insts(&c, f->body);
    ValueList results = {0};
    for (uint32_t i = 0; i < f->result_count; ++i) {
        IrValue v = ir_yield_args(f, f->body)[i], sum = c.map[v];
        for (uint32_t n = 0; n < EDGE_NEIGHBOURS && e.jumps[v] && !is_discrete(&e, v); ++n)
            sum = edges_sum(&e, sum, e.shadows[at(v, n)]);
        push(&e, &results, sum);
    }
    ir_build_end(c.to, results.data, results.count);
    const IrFunc *made = ir_func(m, id);
    m->funcs.data[id] = NULL;
    return d->has_failed ? NULL : made;
}
