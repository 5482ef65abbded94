/* Forward-mode differentiation. A function that carries tangents becomes an ordinary function with additional
 * parameters, results and loop states. DDX and DDY become ordinary values, and texture lookups get their footprint.
 *
 *   f(a, b) -> r      becomes, if lineage and demand require d/dx of a and r,
 *   f(a, b, a_dx) -> r, r_dx
 *
 * A clone is made for each record of the demand table (demand.h): one for every pattern of lineage and demand at a
 * call, or one per function with merged summaries. Maps lead from a value to its copy, and from (value, direction)
 * to its tangent. A tangent that is constant zero is represented by 0, the absence of a tangent, so that zeros
 * vanish without algebra that IEEE arithmetic forbids.
 * [Griewank2008 ch. 3] */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/demand.h"
#include "ssl/passes/partials.h"
#include "ssl/passes/pass.h"
#include "ssl/passes/record_map.h"
#include "ssl/report.h"

typedef struct Forward {
    IrModule *module;
    IrDemandTable *demands;
    DiagList *diags;
    ARRAY(IrDemand *) pending;
    RecordMap warned; /* by span */
} Forward;

typedef struct FuncPass {
    Forward *forward;
    IrDemand *demand;
    IrValue *tangents; /* [value of from][IR_DIRECTIONS]; 0: zero */
} FuncPass;

static FuncPass *pass_of(IrClone *c)
{
    return c->data;
}

static uint8_t demand_of(IrClone *c, IrValue v)
{
    return pass_of(c)->demand->values[v];
}

static IrValue *tangents_of(IrClone *c, IrValue v)
{
    return pass_of(c)->tangents + (size_t)v * IR_DIRECTIONS;
}

static IrValue zero_unless(IrClone *c, IrValue tangent)
{
    return tangent ? tangent : ir_const_float(c->to, 0.0f);
}

static void set_tangent(IrClone *c, IrValue v, uint32_t direction, IrValue tangent)
{
    float x;
    bool is_zero = tangent == 0 || (ir_is_const_float(c->to, tangent, &x) && x == 0.0f);
    tangents_of(c, v)[direction] = is_zero ? 0 : tangent;
}

static bool wants(uint8_t mask, uint32_t direction)
{
    return mask >> direction & 1;
}

static uint32_t count_bits(uint8_t mask)
{
    uint32_t count = 0;
    for (uint32_t d = 0; d < IR_DIRECTIONS; ++d)
        count += wants(mask, d);
    return count;
}

/* --- arithmetic ------------------------------------------------------------------------------- */

static bool has_tangent(IrClone *c, IrValue v, uint8_t mask)
{
    for (uint32_t d = 0; d < IR_DIRECTIONS; ++d)
        if (wants(mask, d) && tangents_of(c, v)[d])
            return true;
    return false;
}

static void apply_chain_rule(IrClone *c, const IrInst *inst, const IrValue *args, IrValue result)
{
    uint8_t mask = demand_of(c, inst->result_first);
    const IrValue *source = ir_args(c->from, inst);
    IrValue tangents[3] = {0};
    ASSERT(inst->arg_count <= SORT_COUNT_OF(tangents));
    for (uint32_t d = 0; d < IR_DIRECTIONS; ++d) {
        if (!wants(mask, d))
            continue;
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            tangents[i] = tangents_of(c, source[i])[d];
        set_tangent(c, inst->result_first, d,
                    ir_tangent(c->to, (IrOp)inst->op, args, result, tangents));
    }
}

static void choose_tangent(IrClone *c, const IrInst *inst, const IrChoice *choice)
{
    IrValue x = ir_args(c->from, inst)[choice->if_true];
    IrValue y = ir_args(c->from, inst)[choice->if_false];
    for (uint32_t d = 0; d < IR_DIRECTIONS; ++d) {
        IrValue tx = tangents_of(c, x)[d], ty = tangents_of(c, y)[d];
        if (!wants(demand_of(c, inst->result_first), d) || (!tx && !ty))
            continue;
        set_tangent(c, inst->result_first, d,
                    ir_build_select(c->to, choice->cond, zero_unless(c, tx), zero_unless(c, ty)));
    }
}

/* Returns the tangent of an array as an array, which is of zeros if there is no tangent. */
static IrValue array_tangent(IrClone *c, IrValue v, uint32_t direction)
{
    IrValue tangent = tangents_of(c, v)[direction];
    return tangent ? tangent : ir_build_zero(c->to, ir_type(c->from, v));
}

static void tangent_of_array_op(IrClone *c, const IrInst *inst, const IrValue *args)
{
    const IrValue *from_args = ir_args(c->from, inst);
    uint8_t mask = demand_of(c, inst->result_first);
    for (uint32_t d = 0; d < IR_DIRECTIONS; ++d) {
        bool any = false;
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            any |= tangents_of(c, from_args[i])[d] != 0;
        if (!wants(mask, d) || !any)
            continue;
        IrValue tangent;
        if (inst->op == IR_ARRAY_GET) {
            tangent = ir_build2(c->to, IR_ARRAY_GET, tangents_of(c, from_args[0])[d], args[1]);
        } else if (inst->op == IR_ARRAY_SET) {
            tangent = ir_build3(c->to, IR_ARRAY_SET, array_tangent(c, from_args[0], d), args[1],
                                zero_unless(c, tangents_of(c, from_args[2])[d]));
        } else {
            IrValue *elements = ARENA_ARRAY(c->module->arena, IrValue, inst->arg_count);
            for (uint32_t i = 0; i < inst->arg_count; ++i)
                elements[i] = zero_unless(c, tangents_of(c, from_args[i])[d]);
            tangent = ir_build_array(c->to, IR_FLOAT, elements, inst->arg_count);
        }
        set_tangent(c, inst->result_first, d, tangent);
    }
}

static void differentiate(IrClone *c, const IrInst *inst)
{
    IrValue small[IR_CLONE_SMALL];
    const IrValue *args = ir_clone_args(c, inst, small);
    IrChoice choice;
    switch (inst->op) {
    case IR_GLOBAL:
        for (uint32_t d = 0; d < IR_DIRECTIONS; ++d)
            if (wants(demand_of(c, inst->result_first), d))
                set_tangent(c, inst->result_first, d,
                            ir_build_global(c->to, IR_FLOAT, ir_global_row(inst->imm),
                                            IR_SHADOW_DDX + d, ir_global_component(inst->imm)));
        return;
    case IR_ATTRIBUTE:
        for (uint32_t d = 0; d < IR_DIRECTIONS; ++d)
            if (wants(demand_of(c, inst->result_first), d))
                set_tangent(c, inst->result_first, d,
                            ir_build_attribute(c->to, IR_FLOAT, ir_global_row(inst->imm),
                                               IR_SHADOW_DDX + d, ir_global_component(inst->imm)));
        return;
    case IR_DETACH:
        for (uint32_t d = 0; d < IR_DIRECTIONS; ++d) {
            IrValue tangent = tangents_of(c, ir_args(c->from, inst)[0])[d];
            if (wants(demand_of(c, inst->result_first), d) && tangent)
                set_tangent(c, inst->result_first, d, ir_build_detach(c->to, tangent));
        }
        return;
    case IR_ARRAY:
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        tangent_of_array_op(c, inst, args);
        return;
    default:
        break;
    }
    if (ir_choice(c->to, (IrOp)inst->op, args, &choice))
        choose_tangent(c, inst, &choice);
    else
        apply_chain_rule(c, inst, args, c->map[inst->result_first]);
}

/* --- textures --------------------------------------------------------------------------------- */

/* Makes seven coordinates of s t blur. */
static void add_footprint(IrClone *c, const IrValue source[3], IrValue coord[7])
{
    for (uint32_t i = 0; i < 2; ++i)
        coord[i] = c->map[source[i]];
    for (uint32_t i = 0; i < 4; ++i) /* ds_dx dt_dx ds_dy dt_dy */
        coord[2 + i] = zero_unless(c, tangents_of(c, source[i & 1])[i >> 1]);
    coord[6] = c->map[source[2]];
}

static void make_lookup(IrClone *c, const IrInst *inst)
{
    const IrValue *source = ir_args(c->from, inst);
    IrValue coord[7], results[12];
    uint8_t mask = 0;
    if (inst->op == IR_TEX_AUTO)
        add_footprint(c, source, coord);
    for (uint32_t i = 0; i < 7 && inst->op == IR_TEX; ++i)
        coord[i] = c->map[source[i]];
    for (uint32_t i = 0; i < 4; ++i)
        mask |= demand_of(c, inst->result_first + i);
    if (has_tangent(c, source[0], mask) || has_tangent(c, source[1], mask))
        ir_build_tex_d(c->to, inst->site, coord, results);
    else
        ir_build_tex(c->to, inst->site, coord, results);
    for (uint32_t i = 0; i < 4; ++i) {
        IrValue v = inst->result_first + i;
        c->map[v] = results[i];
        for (uint32_t d = 0; d < IR_DIRECTIONS; ++d) {
            IrValue sum = 0;
            for (uint32_t k = 0; k < 2; ++k) { /* d_ds s' + d_dt t' */
                IrValue tangent = tangents_of(c, source[k])[d];
                if (!wants(demand_of(c, v), d) || !tangent)
                    continue;
                IrValue term = ir_mul(c->to, results[4 + 4 * k + i], tangent);
                sum = sum ? ir_add(c->to, sum, term) : term;
            }
            set_tangent(c, v, d, sum);
        }
    }
}

/* Gives the derivatives of a lookup by its coordinates the footprint that the lookup has. */
static void make_slopes(IrClone *c, const IrInst *inst)
{
    IrValue coord[7], results[12];
    add_footprint(c, ir_args(c->from, inst), coord);
    ir_build_tex_d(c->to, inst->site, coord, results);
    for (uint32_t i = 0; i < 12; ++i)
        c->map[inst->result_first + i] = results[i];
}

/* Gives an adjoint of a lookup the footprint that the lookup has. */
static void make_adjoint(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    const IrValue *source = ir_args(c->from, inst);
    IrValue args[7 + 4], results[4];
    static const IrType types[4] = {IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT};
    if (inst->arg_count != IR_TEX_ADJ_AUTO) {
        ir_clone_copy(c, id);
        return;
    }
    add_footprint(c, source, args);
    for (uint32_t i = 0; i < 4; ++i)
        args[7 + i] = c->map[source[3 + i]];
    const IrNewInst made = {.op = IR_TEX_ADJ,
                            .site = inst->site,
                            .args = args,
                            .types = types,
                            .arg_count = 11,
                            .result_count = 4};
    ir_build_inst(c->to, &made, results);
    for (uint32_t i = 0; i < 4; ++i)
        c->map[inst->result_first + i] = results[i];
}

/* --- ddx and ddy ------------------------------------------------------------------------------ */

static void warn_second_order(Forward *w, const IrInst *inst)
{
    if (inst->span.end == 0) /* not from the source */
        return;
    void **slot = record_map_slot(&w->warned, w->module->arena, 0, &inst->span, sizeof inst->span);
    if (*slot)
        return;
    *slot = w;
    report(w->diags, SECOND_DERIVATIVE, inst->span, NULL);
}

/* Returns whether the function, or one that it calls, takes a second derivative. */
static bool takes_second_derivative(Forward *w, IrDemand *d)
{
    if (d->second != IR_SECOND_UNKNOWN)
        return d->second == IR_SECOND_TAKEN;
    d->second = IR_SECOND_NONE;
    const IrFunc *f = ir_func(w->module, d->lineage->func);
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        const IrInst *inst = ir_inst(f, i);
        bool is_taken = false;
        if (inst->op == IR_DDX || inst->op == IR_DDY)
            is_taken = d->lineage->values[ir_args(f, inst)[0]] & IR_LINEAGE_SECOND;
        else if (inst->op == IR_CALL)
            is_taken = takes_second_derivative(w, ir_demand_of_call(w->demands, d, inst));
        if (is_taken)
            d->second = IR_SECOND_TAKEN;
    }
    return d->second == IR_SECOND_TAKEN;
}

/* Returns a tangent as a value, with 0 where it is not finite. Intermediate tangents need not be finite. */
static IrValue derivative_of(IrClone *c, IrValue v, uint32_t direction)
{
    ASSERT(direction < IR_DIRECTIONS);
    IrType type = ir_type(c->from, v);
    IrValue tangent = tangents_of(c, v)[direction];
    if (!tangent)
        return ir_build_zero(c->to, type);
    if (!ir_is_array(type))
        return ir_finite(c->to, tangent);
    uint32_t count = ir_count(type);
    IrValue *elements = ARENA_ARRAY(c->module->arena, IrValue, count);
    for (uint32_t i = 0; i < count; ++i)
        elements[i] = ir_finite(
            c->to, ir_build2(c->to, IR_ARRAY_GET, tangent, ir_const_int(c->to, (int32_t)i)));
    return ir_build_array(c->to, IR_FLOAT, elements, count);
}

static void take_derivative(IrClone *c, const IrInst *inst)
{
    FuncPass *p = pass_of(c);
    IrValue operand = ir_args(c->from, inst)[0];
    if (p->demand->lineage->values[operand] & IR_LINEAGE_SECOND && !c->from->is_library)
        warn_second_order(p->forward, inst);
    c->map[inst->result_first] = derivative_of(c, operand, inst->op == IR_DDX ? 0 : 1);
}

/* --- calls ------------------------------------------------------------------------------------ */

static IrFuncId clone_of(Forward *w, IrDemand *d)
{
    if (!d->clone) {
        d->clone = ir_reserve_func(w->module);
        array_push(w->module->arena, &w->pending, d);
    }
    return d->clone;
}

static uint32_t count_tangents(const uint8_t *masks, uint32_t count)
{
    uint32_t tangents = 0;
    for (uint32_t i = 0; i < count; ++i)
        tangents += count_bits(masks[i]);
    return tangents;
}

static void make_call(IrClone *c, const IrInst *inst)
{
    FuncPass *p = pass_of(c);
    Arena *arena = c->module->arena;
    IrDemand *d = ir_demand_of_call(p->forward->demands, p->demand, inst);
    if (!c->from->is_library && ir_func(c->module, d->lineage->func)->is_library &&
        takes_second_derivative(p->forward, d))
        warn_second_order(p->forward, inst);
    uint32_t arg_count = inst->arg_count + count_tangents(d->params, inst->arg_count);
    uint32_t result_count = inst->result_count + count_tangents(d->results, inst->result_count);
    IrValue *args = ARENA_ARRAY(arena, IrValue, arg_count);
    IrValue *results = ARENA_ARRAY(arena, IrValue, result_count);
    IrType *types = ARENA_ARRAY(arena, IrType, result_count);
    uint32_t at = 0;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        args[at++] = c->map[ir_args(c->from, inst)[i]];
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue source = ir_args(c->from, inst)[i];
        for (uint32_t k = 0; k < IR_DIRECTIONS; ++k)
            if (wants(d->params[i], k))
                args[at++] = array_tangent(c, source, k);
    }
    at = 0;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        types[at++] = ir_type(c->from, inst->result_first + i);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        for (uint32_t k = 0; k < IR_DIRECTIONS; ++k)
            if (wants(d->results[i], k))
                types[at++] = types[i];
    ir_build_inst(c->to,
                  &(IrNewInst){.op = IR_CALL,
                               .site = inst->site,
                               .imm = clone_of(p->forward, d),
                               .args = args,
                               .types = types,
                               .arg_count = arg_count,
                               .result_count = result_count},
                  results);
    at = inst->result_count;
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        c->map[inst->result_first + i] = results[i];
        for (uint32_t k = 0; k < IR_DIRECTIONS; ++k)
            if (wants(d->results[i], k))
                set_tangent(c, inst->result_first + i, k, results[at++]);
    }
}

/* --- borders of IF and LOOP ------------------------------------------------------------------- */

static uint8_t mask_of_border(IrClone *c, IrValue result)
{
    const IrInst *inst = ir_inst(c->from, c->from->values.data[result].def);
    return inst->op == IR_LOOP ? ir_demand_of_state(pass_of(c)->demand, c->from, inst, result)
                               : demand_of(c, result);
}

static uint32_t carry_count(IrClone *c, IrValue result)
{
    return 1 + count_bits(mask_of_border(c, result));
}

static void carry(IrClone *c, IrValue result, IrValue source, IrValue *out)
{
    uint8_t mask = mask_of_border(c, result);
    *out++ = c->map[source];
    for (uint32_t d = 0; d < IR_DIRECTIONS; ++d)
        if (wants(mask, d))
            *out++ = array_tangent(c, source, d);
}

static void receive(IrClone *c, IrValue result, IrValue target, const IrValue *values)
{
    uint8_t mask = mask_of_border(c, result);
    c->map[target] = *values++;
    for (uint32_t d = 0; d < IR_DIRECTIONS; ++d)
        if (wants(mask, d))
            set_tangent(c, target, d, *values++);
}

/* --- functions -------------------------------------------------------------------------------- */

static bool visit(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    switch (inst->op) {
    case IR_IF:
    case IR_LOOP:
        return false;
    case IR_CALL:
        make_call(c, inst);
        return true;
    case IR_TEX_AUTO:
    case IR_TEX:
        make_lookup(c, inst);
        return true;
    case IR_TEX_AUTO_D:
        make_slopes(c, inst);
        return true;
    case IR_TEX_ADJ:
        make_adjoint(c, id);
        return true;
    case IR_DDX:
    case IR_DDY:
        take_derivative(c, inst);
        return true;
    default:
        break;
    }
    ir_clone_copy(c, id);
    if (inst->result_count == 1 && demand_of(c, inst->result_first))
        differentiate(c, inst);
    return true;
}

static IrBuilder *begin_clone(Forward *w, const IrFunc *f, const IrDemand *d)
{
    Arena *arena = w->module->arena;
    const IrRegion *body = ir_region(f, f->body);
    uint32_t count = body->param_count + count_tangents(d->params, body->param_count);
    IrType *types = ARENA_ARRAY(arena, IrType, count);
    uint32_t at = body->param_count;
    for (uint32_t i = 0; i < body->param_count; ++i) {
        types[i] = ir_type(f, body->param_first + i);
        for (uint32_t k = 0; k < count_bits(d->params[i]); ++k)
            types[at++] = types[i];
    }
    IrBuilder *b = ir_build_begin(w->module, d->clone, f->name, types, count);
    ir_build_like(b, f);
    return b;
}

static void map_params(IrClone *c, const IrDemand *d)
{
    const IrRegion *body = ir_region(c->from, c->from->body);
    uint32_t at = body->param_count;
    for (uint32_t i = 0; i < body->param_count; ++i) {
        c->map[body->param_first + i] = ir_build_param(c->to, i);
        for (uint32_t k = 0; k < IR_DIRECTIONS; ++k)
            if (wants(d->params[i], k))
                set_tangent(c, body->param_first + i, k, ir_build_param(c->to, at++));
    }
}

static void end_clone(IrClone *c, const IrDemand *d, bool is_entry)
{
    const IrFunc *f = c->from;
    uint32_t count = f->result_count + count_tangents(d->results, f->result_count);
    IrValue *results = ARENA_ARRAY(c->module->arena, IrValue, count);
    const IrValue *yields = ir_yield_args(f, f->body);
    uint32_t at = f->result_count;
    for (uint32_t i = 0; i < f->result_count; ++i) {
        results[i] = c->map[yields[i]];
        for (uint32_t k = 0; k < IR_DIRECTIONS; ++k)
            if (wants(d->results[i], k))
                results[at++] =
                    is_entry ? derivative_of(c, yields[i], k) : array_tangent(c, yields[i], k);
    }
    ir_build_end(c->to, results, count);
}

static void make_clone(Forward *w, IrDemand *d)
{
    static const IrCloneHooks hooks = {visit, carry_count, carry, receive};
    const IrFunc *f = ir_func(w->module, d->lineage->func);
    FuncPass pass = {.forward = w,
                     .demand = d,
                     .tangents = ARENA_ARRAY(w->module->arena, IrValue,
                                             (size_t)f->values.count * IR_DIRECTIONS)};
    IrClone c = ir_clone_begin(w->module, f, begin_clone(w, f, d), &hooks, &pass);
    map_params(&c, d);
    ir_clone_insts(&c, f->body);
    end_clone(&c, d, d == ir_demand_entry(w->demands));
}

/* --- the report ------------------------------------------------------------------------------- */

typedef struct Counted {
    IrDerivativeCounts counts;
    bool done;
} Counted;

/* Counts the values of one clone and of all its calls. memo[clone] has the counts that are known. */
static IrDerivativeCounts count_values(Forward *w, const IrDemand *d, Counted *memo)
{
    if (memo[d->clone].done)
        return memo[d->clone].counts;
    const IrFunc *f = ir_func(w->module, d->lineage->func);
    IrDerivativeCounts counts = {0};
    memo[d->clone].done = true; /* a recursive call counts once */
    for (IrValue v = 1; v < f->values.count; ++v) {
        IrType type = ir_type(f, v);
        uint32_t scalars = ir_is_array(type) ? ir_count(type) : 1;
        if (ir_kind(type) != IR_FLOAT)
            continue;
        counts.values += scalars;
        counts.shadowed += d->values[v] ? scalars : 0;
    }
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        if (ir_inst(f, i)->op != IR_CALL)
            continue;
        IrDerivativeCounts callee =
            count_values(w, ir_demand_of_call(w->demands, d, ir_inst(f, i)), memo);
        counts.values += callee.values;
        counts.shadowed += callee.shadowed;
    }
    memo[d->clone] = (Counted){counts, true};
    return counts;
}

Status ir_forward(IrModule *m, bool without_derivatives, bool merged_summaries, DiagList *diags,
                  IrDerivativeCounts *out_counts)
{
    *out_counts = (IrDerivativeCounts){0};
    TRY(ir_check_extent(m, diags)); /* a module that is too large must not be cloned */
    IrLineageTable *lineage = ir_lineage_compute(m, merged_summaries);
    IrFuncId original_count = m->funcs.count; /* clones come after */
    Forward w = {.module = m, .diags = diags};
    w.demands =
        ir_demand_compute(m, lineage, merged_summaries, without_derivatives ? 0 : IR_DIRECTIONS);
    if (ir_lineage_is_spent(lineage)) {
        report(diags, ANALYSIS_TOO_LONG, ir_func(m, m->entry)->span,
               arena_printf(m->arena, "%d", SSL_MAX_VISITS));
        return STATUS_SOURCE;
    }
    IrDemand *entry = ir_demand_entry(w.demands);
    IrFuncId entry_clone = clone_of(&w, entry);
    while (w.pending.count)
        make_clone(&w, w.pending.data[--w.pending.count]);
    *out_counts = count_values(&w, entry, ARENA_ARRAY(m->arena, Counted, m->funcs.count));
    out_counts->visits = ir_lineage_visits(lineage);
    m->entry = entry_clone;
    for (IrFuncId id = 1; id < original_count; ++id)
        m->funcs.data[id] = NULL;
    return STATUS_OK;
}
