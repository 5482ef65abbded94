/* Reverse mode for bwd_diff. A region is copied, and then its instructions are walked backward:
 *
 *   v = op(a, b)   a_adj += d op / d a * v_adj, for each active argument: ir_tangent of v_adj as the only tangent, since
 *                  the transpose of one row is one column. So the guards are those of forward mode
 *   IF             an IF on the same condition; each arm is copied again and walked back inside it
 *   LOOP           at the region's own level it is copied with its turns counted and with what the walk back needs on a
 *                  tape, an array of one element for each turn. The walk back is a loop from the last turn to the
 *                  first, which copies the body for a turn and walks back through it. Its state are the adjoints of
 *                  the states, and of the values from outside that the body reads. If the number of turns is known, and
 *                  the last one only finds that the condition is false, it is walked back through before the loop, in which the condition
 *                  is true then
 *
 * What KEEP marks in an arm or in a turn is a result of the first copy, or on the tape, and not computed again.
 *
 * Inside IF and LOOP the adjoints of values from outside begin with what they are and come out as results.
 *
 * An adjoint that is exactly zero, because another side was chosen or a factor is zero, adds exactly zero, even where a
 * value is infinite: so what comes on other ways is not lost (ir_tangent_by_paths).
 * [Griewank2008 ch. 3, Radul2023] */
#include "base/cast.h"
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/derive.h"
#include "ssl/passes/partials.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"

#include <string.h>

enum {
    TAPE_SCALARS_MAX = 4096, /* of one loop */
    ADD_UNROLLED_MAX = 16
};

typedef struct Tape {
    DeriveLoop loop;
    IrValue turns;
    IrValue *values; /* [state]: what was saved; 0: nothing */
    IrValue *kept;   /* [loop.kept_count] */
} Tape;

typedef enum Known { KNOWN_NOT, KNOWN_FALSE, KNOWN_TRUE } Known;

typedef struct Reverse {
    Derive *derive;
    IrClone *clone;
    IrBuilder *b;
    const IrFunc *f;
    const uint8_t *active;
    IrValue *adjoints; /* [value of f]; 0: zero */
    Tape **tapes;      /* [instruction of f]; NULL: not taped */
    IrRegionId taping; /* loops of this region are taped */
    uint8_t *known;    /* [value of f]: a bool whose value is known in the copy; see Known */
    IrValue *kept;     /* [value of f]: what KEEP kept where the copy goes on; 0: it is computed */
    bool is_plain;     /* the copy is of a loop in which nothing is kept */
    uint32_t *inside, *seen; /* [value of f]: stamps of find_outer */
    uint32_t stamp;
} Reverse;

typedef ARRAY(IrValue) ValueList;

static void walk_back(Reverse *r, IrRegionId region);

/* --- sums of adjoints ------------------------------------------------------------------------- */

static IrValue add_arrays(Reverse *r, IrValue x, IrValue y)
{
    IrBuilder *b = r->b;
    IrModule *m = r->derive->module;
    uint32_t count = ir_count(ir_build_type(b, x));
    if (count <= ADD_UNROLLED_MAX)
        return ir_each2(b, IR_FADD, x, y);
    uint32_t site = ir_add_fault_site(m, SSL_FAULT_LOOP, r->derive->facts->span);
    m->fault_sites.data[site].max_trips = count;
    IrValue init[2] = {ir_const_int(b, 0), x}, state[2], next[2], result[2];
    ir_loop_begin(b, site, init, 2, state);
    IrValue last = ir_const_int(b, (int32_t)count - 1);
    IrValue at = ir_build2(b, IR_IMIN, state[0], last); /* lanes that are done, too, stay inside */
    IrValue sum =
        ir_add(b, ir_build2(b, IR_ARRAY_GET, state[1], at), ir_build2(b, IR_ARRAY_GET, y, at));
    next[0] = ir_build2(b, IR_IADD, state[0], ir_const_int(b, 1));
    next[1] = ir_build3(b, IR_ARRAY_SET, state[1], at, sum);
    ir_loop_end(b, ir_build2(b, IR_ILT, state[0], last), next, 2, result);
    return result[1];
}

static bool is_zero(Reverse *r, IrValue v)
{
    float x;
    if (!v || (ir_is_const_float(r->b, v, &x) && x == 0.0f))
        return true;
    const IrFunc *f = ir_build_func(r->b);
    const IrInst *inst = ir_inst(f, f->values.data[v].def);
    if (!f->values.data[v].def || inst->op != IR_ARRAY)
        return false;
    const IrValue *elements = ir_args(f, inst);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (elements[i] != elements[0])
            return false;
    return ir_is_const_float(r->b, elements[0], &x) && x == 0.0f;
}

/* Adds to the adjoint of an active value. */
static void add(Reverse *r, IrValue v, IrValue adjoint)
{
    if (!r->active[v] || is_zero(r, adjoint))
        return;
    IrValue old = r->adjoints[v];
    if (is_zero(r, old))
        r->adjoints[v] = adjoint;
    else if (ir_is_array(ir_type(r->f, v)))
        r->adjoints[v] = add_arrays(r, old, adjoint);
    else
        r->adjoints[v] = ir_add(r->b, old, adjoint);
}

/* Returns the adjoint as a value, which may be of zeros. */
static IrValue adjoint_or_zero(Reverse *r, IrValue v)
{
    return r->adjoints[v] ? r->adjoints[v] : ir_build_zero(r->b, ir_type(r->f, v));
}

/* --- single operations ------------------------------------------------------------------------ */

static void back_array(Reverse *r, const IrInst *inst, const IrValue *args, IrValue adjoint)
{
    const IrValue *source = ir_args(r->f, inst);
    IrBuilder *b = r->b;
    if (inst->op == IR_ARRAY) {
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            if (r->active[source[i]])
                add(r, source[i], ir_build2(b, IR_ARRAY_GET, adjoint, ir_const_int(b, (int32_t)i)));
    } else if (inst->op == IR_ARRAY_GET) {
        if (!r->active[source[0]])
            return;
        IrValue old = adjoint_or_zero(r, source[0]);
        IrValue sum = ir_add(b, ir_build2(b, IR_ARRAY_GET, old, args[1]), adjoint);
        r->adjoints[source[0]] = ir_build3(b, IR_ARRAY_SET, old, args[1], sum);
    } else {
        ASSERT(inst->op == IR_ARRAY_SET);
        if (r->active[source[2]])
            add(r, source[2], ir_build2(b, IR_ARRAY_GET, adjoint, args[1]));
        if (r->active[source[0]])
            add(r, source[0],
                ir_build3(b, IR_ARRAY_SET, adjoint, args[1], ir_const_float(b, 0.0f)));
    }
}

static void back_operation(Reverse *r, const IrInst *inst)
{
    IrValue small[IR_CLONE_SMALL], v = inst->result_first, adjoint = r->adjoints[v];
    const IrValue *source = ir_args(r->f, inst), *args = ir_clone_args(r->clone, inst, small);
    if (inst->op == IR_ARRAY || inst->op == IR_ARRAY_GET || inst->op == IR_ARRAY_SET) {
        back_array(r, inst, args, adjoint);
        return;
    }
    IrChoice choice;
    IrValue zero = ir_const_float(r->b, 0.0f);
    if (ir_choice(r->b, (IrOp)inst->op, args, &choice)) {
        add(r, source[choice.if_true], ir_build_select(r->b, choice.cond, adjoint, zero));
        add(r, source[choice.if_false], ir_build_select(r->b, choice.cond, zero, adjoint));
        return;
    }
    ASSERT(inst->arg_count <= 3);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        if (!r->active[source[i]])
            continue;
        IrValue tangents[3] = {0};
        tangents[i] = adjoint;
        add(r, source[i],
            ir_tangent_by_paths(r->b, (IrOp)inst->op, args, r->clone->map[v], tangents,
                                r->derive->is_for_host));
    }
}

static void refuse(Reverse *r, const IrInst *inst)
{
    Derive *d = r->derive;
    Span span = inst->span.end ? inst->span : d->facts->span;
    if (d->has_failed)
        return;
    d->has_failed = true;
    if ((inst->op == IR_DDX || inst->op == IR_DDY) && inst->imm) {
        report(d->diags, DERIVATIVE_SCREEN, span, "the footprint's width in a [Filtered] function");
        report(
            d->diags, NOTE_WRITE, (Span){0},
            d->is_for_host
                ? "no [Filtered] where edges count, or do without edges (sslc fit without --edges)"
                : "fwd_diff, or let the host take it by the shader's parameters (sslc fit, vjp), "
                  "or take it of the function without [Filtered]");
        return;
    }
    report(d->diags, DERIVATIVE_SCREEN, span, inst->op == IR_DDX ? "ddx" : "ddy");
    report(d->diags, NOTE_WRITE, (Span){0},
           "detach(...) around it, if this derivative may be left out");
}

/* --- lookups ---------------------------------------------------------------------------------- */

/* From rgba to s and t: which level and which texels are read has no derivative. */
static void back_lookup(Reverse *r, const IrInst *inst)
{
    IrValue small[IR_CLONE_SMALL], slopes[2][4];
    const IrValue *source = ir_args(r->f, inst);
    const IrValue *coord = ir_clone_args(r->clone, inst, small);
    ASSERT(inst->result_count >= 4);
    for (uint32_t i = 4; i < inst->result_count; ++i)
        if (r->adjoints[inst->result_first + i])
            derive_refuse_lookup(r->derive, inst, DERIVE_SECOND_ORDER);
    derive_lookup_slopes(r->b, inst, coord, slopes);
    for (uint32_t k = 0; k < 2; ++k)
        for (uint32_t i = 0; i < 4; ++i) {
            IrValue adjoint = r->adjoints[inst->result_first + i];
            if (adjoint && r->active[source[k]])
                add(r, source[k],
                    derive_by_coordinate(r->b, coord[k], slopes[k][i], adjoint,
                                         r->derive->is_for_host));
        }
}

/* --- texels ----------------------------------------------------------------------------------- */

/* Hands the adjoints of a lookup to the host; they go on to what is added to all texels. */
static void back_texels(Reverse *r, const IrInst *inst)
{
    enum { COORDS_MAX = 7, RESULTS_MAX = 12, CHANNELS = 4 };
    static const IrType types[CHANNELS] = {IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT};
    const IrValue *source = ir_args(r->f, inst);
    uint32_t coord_count = inst->arg_count - inst->result_count - CHANNELS;
    IrValue args[COORDS_MAX + RESULTS_MAX], results[CHANNELS];
    ASSERT(coord_count <= COORDS_MAX && inst->result_count <= RESULTS_MAX);
    for (uint32_t i = 0; i < coord_count; ++i)
        args[i] = r->clone->map[source[i]];
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        args[coord_count + i] = adjoint_or_zero(r, inst->result_first + i);
        add(r, source[coord_count + i], args[coord_count + i]); /* by the coordinates */
    }
    const IrNewInst made = {.op = IR_TEX_ADJ,
                            .site = inst->site,
                            .args = args,
                            .types = types,
                            .arg_count = coord_count + inst->result_count,
                            .result_count = CHANNELS};
    ir_build_inst(r->b, &made, results);
    for (uint32_t i = 0; i < CHANNELS; ++i)
        add(r, source[coord_count + inst->result_count + i], results[i]);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void back_recursive(Reverse *r, const IrInst *inst)
{
    Arena *arena = r->derive->module->arena;
    const IrValue *source = ir_args(r->f, inst);
    ValueList args = {0};
    ARRAY(IrType) types = {0};
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        array_push(arena, &args, r->clone->map[source[i]]);
        if (derive_is_float(ir_type(r->f, source[i])))
            array_push(arena, &types, ir_type(r->f, source[i]));
    }
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (derive_is_float(ir_type(r->f, inst->result_first + i)))
            array_push(arena, &args, adjoint_or_zero(r, inst->result_first + i));
    IrValue *results = ARENA_ARRAY(arena, IrValue, types.count);
    ir_build_call(r->b, derive_recursive(r->derive, (IrFuncId)inst->imm, true), args.data,
                  args.count, types.data, types.count, results);
    for (uint32_t i = 0, at = 0; i < inst->arg_count; ++i)
        if (derive_is_float(ir_type(r->f, source[i])))
            add(r, source[i], results[at++]);
}

/* Calls the function's own derivative: pairs go in and come out, adjoints of results go in. */
static void back_own(Reverse *r, const IrInst *inst, const IrDiffFacts *facts)
{
    Arena *arena = r->derive->module->arena;
    const IrValue *source = ir_args(r->f, inst);
    ValueList args = {0},
              targets = {0}; /* targets: what each result is the adjoint of; 0: nothing */
    ARRAY(IrType) types = {0};
    IrValue result = inst->result_first + facts->ports[facts->port_count - 1].leaf_count;
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        const IrPort *port = &facts->ports[i];
        bool is_in = port->kind == IR_PORT_IN || port->kind == IR_PORT_INOUT;
        ASSERT(source || !is_in || port->leaf_count == 0);
        IrValue given = port->kind == IR_PORT_RESULT ? inst->result_first : result;
        for (uint32_t k = 0; k < port->leaf_count && is_in; ++k) {
            array_push(arena, &args, r->clone->map[source[k]]);
            if (port->active_count > 0) {
                array_push(arena, &types, ir_type(r->f, source[k]));
                array_push(arena, &targets, 0);
            }
        }
        for (uint32_t k = 0; k < port->leaf_count; ++k) {
            if (!port->active[k])
                continue;
            IrType type = ir_type(r->f, is_in ? source[k] : given + k);
            array_push(arena, &args,
                       port->kind == IR_PORT_IN ? ir_build_zero(r->b, type)
                                                : adjoint_or_zero(r, given + k));
            if (!is_in)
                continue;
            array_push(arena, &types, type);
            array_push(arena, &targets, source[k]);
        }
        source += is_in ? port->leaf_count : 0;
        result += port->kind == IR_PORT_OUT || port->kind == IR_PORT_INOUT ? port->leaf_count : 0;
    }
    IrValue *results = ARENA_ARRAY(arena, IrValue, types.count);
    ir_build_call(r->b, facts->backward, args.data, args.count, types.data, types.count, results);
    for (uint32_t i = 0; i < targets.count; ++i)
        if (targets.data[i])
            add(r, targets.data[i], results[i]);
}

static void back_call(Reverse *r, const IrInst *inst)
{
    DeriveCall kind = derive_call_kind(r->derive, (IrFuncId)inst->imm, true);
    if (kind == CALL_RECURSIVE)
        back_recursive(r, inst);
    else if (kind == CALL_OWN)
        back_own(r, inst, derive_facts(r->derive, (IrFuncId)inst->imm));
}

/* --- values from outside ---------------------------------------------------------------------- */

static void find_in_region(Reverse *r, IrRegionId id, ValueList *out)
{
    const IrFunc *f = r->f;
    const IrRegion *region = ir_region(f, id);
    for (uint32_t i = 0; i < region->param_count; ++i)
        r->inside[region->param_first + i] = r->stamp;
    for (IrInstId at = region->first; at; at = ir_inst(f, at)->next) {
        const IrInst *inst = ir_inst(f, at);
        for (uint32_t i = 0; i < inst->arg_count; ++i) {
            IrValue v = ir_args(f, inst)[i];
            if (!r->active[v] || r->inside[v] == r->stamp || r->seen[v] == r->stamp)
                continue;
            r->seen[v] = r->stamp;
            array_push(r->derive->module->arena, out, v);
        }
        for (uint32_t i = 0; i < inst->region_count; ++i)
            find_in_region(r, inst->region_first + i, out);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            r->inside[inst->result_first + i] = r->stamp;
    }
}

/* Returns the active values from outside that the regions of an instruction read. */
static ValueList find_outer(Reverse *r, const IrInst *inst)
{
    ValueList list = {0};
    ++r->stamp;
    for (uint32_t i = 0; i < inst->region_count; ++i)
        find_in_region(r, inst->region_first + i, &list);
    return list;
}

/* Copies a region's instructions and walks back through them. Before the walk, the adjoints of its last values must be
 * there: the caller gives them between the two. */
static void copy_region(Reverse *r, IrRegionId region)
{
    IrRegionId outer = r->taping;
    if (ir_build_func(r->b)->insts.count > SSL_MAX_INSTRUCTIONS)
        derive_refuse_size(r->derive);
    if (r->derive->has_failed)
        return; /* nor is anything walked back */
    r->taping = region;
    ir_clone_insts(r->clone, region);
    r->taping = outer;
}

/* --- IF --------------------------------------------------------------------------------------- */

static bool is_empty(const Reverse *r, IrRegionId region)
{
    return ir_region(r->f, region)->first == ir_region(r->f, region)->last;
}

static void back_arm(Reverse *r, const IrInst *inst, IrRegionId region)
{
    copy_region(r, region);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        add(r, ir_yield_args(r->f, region)[i], r->adjoints[inst->result_first + i]);
    walk_back(r, region);
}

/* Without instructions in either arm: a choice of what the adjoint is added to. */
static bool back_as_choice(Reverse *r, const IrInst *inst)
{
    const IrValue *x = ir_yield_args(r->f, inst->region_first);
    const IrValue *y = ir_yield_args(r->f, inst->region_first + 1);
    if (!is_empty(r, inst->region_first) || !is_empty(r, inst->region_first + 1))
        return false;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (ir_is_array(ir_type(r->f, inst->result_first + i)))
            return false;
    IrValue cond = r->clone->map[ir_args(r->f, inst)[0]], zero = ir_const_float(r->b, 0.0f);
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue adjoint = r->adjoints[inst->result_first + i];
        if (!adjoint)
            continue;
        add(r, x[i], ir_build_select(r->b, cond, adjoint, zero));
        add(r, y[i], ir_build_select(r->b, cond, zero, adjoint));
    }
    return true;
}

/* Appends what a copied arm has kept, after its results. */
static void push_kept(Reverse *r, const DeriveValues *kept, bool is_copied, ValueList *out)
{
    for (uint32_t i = 0; i < kept->count; ++i) {
        IrValue v = kept->data[i], here = r->kept[v] ? r->kept[v] : r->clone->map[v];
        array_push(r->derive->module->arena, out,
                   is_copied && here ? here : ir_build_zero(r->b, ir_type(r->f, v)));
    }
}

/* Copies an IF with what its arms keep as further results. Returns false, and copies nothing, if there is none. */
static bool copy_keeping(Reverse *r, const IrInst *inst)
{
    Derive *d = r->derive;
    DeriveValues kept[2] = {0};
    IrValue cond = r->clone->map[ir_args(r->f, inst)[0]];
    bool known;
    for (uint32_t arm = 0; arm < 2; ++arm)
        derive_list_kept(d, r->f, inst->region_first + arm, &kept[arm]);
    bool is_all_there = true; /* from an earlier copy */
    for (uint32_t arm = 0; arm < 2; ++arm)
        for (uint32_t i = 0; i < kept[arm].count; ++i) {
            is_all_there = is_all_there && r->kept[kept[arm].data[i]];
            r->clone->map[kept[arm].data[i]] = 0;
        }
    if (is_all_there || ir_is_const_bool(r->b, cond, &known))
        return false;
    ASSERT(kept[0].count + kept[1].count > 0);
    ir_if_begin(r->b, cond);
    IrValue *results = NULL;
    for (uint32_t arm = 0; arm < 2; ++arm) {
        ValueList yields = {0};
        const IrValue *own = ir_yield_args(r->f, inst->region_first + arm);
        ir_clone_insts(r->clone, inst->region_first + arm);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            array_push(d->module->arena, &yields, r->clone->map[own[i]]);
        push_kept(r, &kept[0], arm == 0, &yields);
        push_kept(r, &kept[1], arm == 1, &yields);
        results = ARENA_ARRAY(d->module->arena, IrValue, yields.count);
        if (arm == 0)
            ir_if_else(r->b, yields.data, yields.count);
        else
            ir_if_end(r->b, yields.data, yields.count, results);
    }
    for (uint32_t i = 0; i < inst->result_count; ++i)
        r->clone->map[inst->result_first + i] = results[i];
    for (uint32_t arm = 0, at = inst->result_count; arm < 2; ++arm)
        for (uint32_t i = 0; i < kept[arm].count; ++i)
            r->kept[kept[arm].data[i]] = results[at++];
    return true;
}

static void back_if(Reverse *r, const IrInst *inst)
{
    IrValue cond = r->clone->map[ir_args(r->f, inst)[0]];
    bool known;
    if (ir_is_const_bool(r->b, cond, &known)) {
        back_arm(r, inst, inst->region_first + (known ? 0 : 1));
        return;
    }
    if (back_as_choice(r, inst))
        return;
    Arena *arena = r->derive->module->arena;
    ValueList outer = find_outer(r, inst);
    IrValue *before = ARENA_ARRAY(arena, IrValue, outer.count);
    IrValue *after = ARENA_ARRAY(arena, IrValue, outer.count);
    for (uint32_t i = 0; i < outer.count; ++i)
        before[i] = adjoint_or_zero(r, outer.data[i]);
    ir_if_begin(r->b, cond);
    for (uint32_t arm = 0; arm < 2; ++arm) {
        for (uint32_t i = 0; i < outer.count; ++i)
            r->adjoints[outer.data[i]] = before[i];
        back_arm(r, inst, inst->region_first + arm);
        for (uint32_t i = 0; i < outer.count; ++i)
            after[i] = r->adjoints[outer.data[i]];
        if (arm == 0)
            ir_if_else(r->b, after, outer.count);
    }
    ir_if_end(r->b, after, outer.count, after);
    for (uint32_t i = 0; i < outer.count; ++i)
        r->adjoints[outer.data[i]] = after[i];
}

/* --- LOOP, onward ----------------------------------------------------------------------------- */

static bool is_active_state(const Reverse *r, const IrInst *loop, uint32_t state)
{
    return r->active[loop->result_first + state] ||
           r->active[ir_region(r->f, loop->region_first)->param_first + state];
}

static bool is_active_loop(const Reverse *r, const IrInst *loop)
{
    for (uint32_t i = 0; i < loop->arg_count; ++i)
        if (is_active_state(r, loop, i))
            return true;
    return false;
}

static uint32_t element_count(IrType type)
{
    return ir_is_array(type) ? ir_count(type) : 1;
}

static uint64_t tape_scalars(const Reverse *r, const IrInst *inst, const DeriveLoop *loop)
{
    uint64_t scalars = (uint64_t)loop->turns * loop->kept_count;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (loop->states[i] == STATE_SAVED)
            scalars += (uint64_t)loop->turns * element_count(ir_type(r->f, ir_args(r->f, inst)[i]));
    return scalars;
}

static bool check_tape(Reverse *r, const IrInst *inst, const DeriveLoop *loop)
{
    Derive *d = r->derive;
    uint64_t scalars = tape_scalars(r, inst, loop);
    if (scalars <= TAPE_SCALARS_MAX)
        return true;
    if (!d->has_failed) {
        report(d->diags, TAPE_TOO_LARGE, d->module->fault_sites.data[inst->site].span,
               arena_printf(d->module->arena, "%u", (uint32_t)scalars),
               arena_printf(d->module->arena, "%d", TAPE_SCALARS_MAX));
        report(
            d->diags, NOTE_WRITE, (Span){0},
            "[MaxIters(n)] before the loop, with the most turns that it takes, or smaller arrays");
    }
    d->has_failed = true;
    return false;
}

/* An index that is in range in lanes that are done, too. */
static IrValue clamp_index(Reverse *r, IrValue index, uint32_t count)
{
    IrValue least = ir_build2(r->b, IR_IMAX, index, ir_const_int(r->b, 0));
    return ir_build2(r->b, IR_IMIN, least, ir_const_int(r->b, (int32_t)count - 1));
}

/* Element k of what a turn saved. */
static IrValue tape_index(Reverse *r, IrValue turn, uint32_t count, uint32_t k)
{
    IrValue first = ir_build2(r->b, IR_IMUL, turn, ir_const_int(r->b, (int32_t)count));
    return ir_build2(r->b, IR_IADD, first, ir_const_int(r->b, (int32_t)k));
}

static IrValue save(Reverse *r, IrValue tape, IrValue turn, IrValue state)
{
    IrType type = ir_build_type(r->b, state);
    if (!ir_is_array(type))
        return ir_build3(r->b, IR_ARRAY_SET, tape, turn, state);
    for (uint32_t k = 0; k < ir_count(type); ++k) {
        IrValue element = ir_build2(r->b, IR_ARRAY_GET, state, ir_const_int(r->b, (int32_t)k));
        tape = ir_build3(r->b, IR_ARRAY_SET, tape, tape_index(r, turn, ir_count(type), k), element);
    }
    return tape;
}

static IrValue restore(Reverse *r, IrValue tape, IrValue turn, IrType type)
{
    if (!ir_is_array(type))
        return ir_build2(r->b, IR_ARRAY_GET, tape, turn);
    IrValue *elements = ARENA_ARRAY(r->derive->module->arena, IrValue, ir_count(type));
    for (uint32_t k = 0; k < ir_count(type); ++k)
        elements[k] = ir_build2(r->b, IR_ARRAY_GET, tape, tape_index(r, turn, ir_count(type), k));
    return ir_build_array(r->b, ir_kind(type), elements, ir_count(type));
}

/* Computes again, from here on, what was kept in the region and in all inside. */
static void forget_kept(Reverse *r, IrRegionId region)
{
    const IrRegion *body = ir_region(r->f, region);
    for (IrInstId id = body->first; id != body->last; id = ir_inst(r->f, id)->next) {
        const IrInst *inst = ir_inst(r->f, id);
        if (inst->op == IR_KEEP)
            r->kept[inst->result_first] = r->clone->map[inst->result_first] = 0;
        for (uint32_t i = 0; i < inst->region_count; ++i)
            forget_kept(r, inst->region_first + i);
    }
}

/* Copies a loop so that it counts its turns and saves what the walk back needs. */
static void copy_taped(Reverse *r, IrInstId id)
{
    IrModule *m = r->derive->module;
    const IrInst *inst = ir_inst(r->f, id);
    IrValue param_first = ir_region(r->f, inst->region_first)->param_first;
    Tape *tape = r->tapes[id] = ARENA_NEW(m->arena, Tape);
    const DeriveLoop *loop = &tape->loop;
    tape->loop = derive_analyse_loop(r->derive, r->f, r->active, id, true);
    if (tape_scalars(r, inst, loop) > TAPE_SCALARS_MAX)
        tape->loop = derive_analyse_loop(r->derive, r->f, r->active, id, false);
    tape->values = ARENA_ARRAY(m->arena, IrValue, inst->arg_count);
    tape->kept = ARENA_ARRAY(m->arena, IrValue, loop->kept_count);
    forget_kept(r, inst->region_first);
    if (!check_tape(r, inst, loop))
        tape->loop.turns = 1; /* the module is refused */
    ValueList init = {0}, next = {0};
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        array_push(m->arena, &init, r->clone->map[ir_args(r->f, inst)[i]]);
    array_push(m->arena, &init, ir_const_int(r->b, 0));
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrType type = ir_type(r->f, param_first + i);
        if (loop->states[i] == STATE_SAVED)
            array_push(
                m->arena, &init,
                ir_build_zero(r->b, ir_array(ir_kind(type), loop->turns * element_count(type))));
    }
    for (uint32_t i = 0; i < loop->kept_count; ++i)
        array_push(
            m->arena, &init,
            ir_build_zero(r->b, ir_array(ir_kind(ir_type(r->f, loop->kept[i])), loop->turns)));
    IrValue *state = ARENA_ARRAY(m->arena, IrValue, init.count);
    ir_loop_begin(r->b, inst->site, init.data, init.count, state);
    IrValue turns = state[inst->arg_count];
    IrValue turn = loop->is_bounded
                       ? clamp_index(r, turns, loop->turns)
                       : ir_build_bounds(r->b, turns, loop->turns,
                                         ir_add_fault_site(m, SSL_FAULT_TAPE,
                                                           m->fault_sites.data[inst->site].span));
    ValueList tapes = {0};
    for (uint32_t i = 0, at = inst->arg_count + 1; i < inst->arg_count; ++i) {
        r->clone->map[param_first + i] = state[i];
        if (loop->states[i] == STATE_SAVED)
            array_push(m->arena, &tapes, save(r, state[at++], turn, state[i]));
    }
    ir_clone_insts(r->clone, inst->region_first);
    const DeriveValues kept = {.data = cast_away_const(loop->kept), .count = loop->kept_count};
    ValueList found = {0};
    push_kept(r, &kept, true, &found);
    for (uint32_t i = 0; i < kept.count; ++i) {
        ASSERT(!ir_is_array(ir_build_type(r->b, found.data[i])));
        IrValue so_far = state[init.count - kept.count + i];
        array_push(m->arena, &tapes, save(r, so_far, turn, found.data[i]));
    }
    const IrValue *yields = ir_yield_args(r->f, inst->region_first);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        array_push(m->arena, &next, r->clone->map[yields[1 + i]]);
    array_push(m->arena, &next, ir_build2(r->b, IR_IADD, turns, ir_const_int(r->b, 1)));
    for (uint32_t i = 0; i < tapes.count; ++i)
        array_push(m->arena, &next, tapes.data[i]);
    IrValue *results = ARENA_ARRAY(m->arena, IrValue, next.count);
    ir_loop_end(r->b, r->clone->map[yields[0]], next.data, next.count, results);
    tape->turns = results[inst->arg_count];
    for (uint32_t i = 0, at = inst->arg_count + 1; i < inst->arg_count; ++i) {
        r->clone->map[inst->result_first + i] = results[i];
        if (loop->states[i] == STATE_SAVED)
            tape->values[i] = results[at++];
    }
    for (uint32_t i = 0; i < kept.count; ++i)
        tape->kept[i] = results[next.count - kept.count + i];
}

/* Copies a loop that is not walked back, or not from this copy: nothing in it is kept. The copier may try its body more than once. */
static void copy_plain(Reverse *r, IrInstId id)
{
    bool outer = r->is_plain;
    r->is_plain = true;
    ir_clone_copy(r->clone, id);
    r->is_plain = outer;
}

static bool visit(IrClone *c, IrInstId id)
{
    Reverse *r = c->data;
    const IrInst *inst = ir_inst(c->from, id);
    if (inst->result_count == 1 && r->known[inst->result_first]) {
        c->map[inst->result_first] =
            ir_const_bool(r->b, r->known[inst->result_first] == KNOWN_TRUE);
        return true;
    }
    if (inst->op == IR_TEXELS) { /* what is added is zero */
        derive_pass_texels(c, inst);
        return true;
    }
    if (inst->op == IR_KEEP) {
        IrValue kept = r->is_plain ? 0 : r->kept[inst->result_first];
        c->map[inst->result_first] = kept ? kept : c->map[ir_args(c->from, inst)[0]];
        return true;
    }
    if (inst->op == IR_IF)
        return !r->is_plain && copy_keeping(r, inst);
    if (inst->op != IR_LOOP)
        return false;
    if (inst->parent == r->taping && is_active_loop(r, inst))
        copy_taped(r, id);
    else
        copy_plain(r, id);
    return true;
}

/* --- LOOP, back ------------------------------------------------------------------------------- */

/* The value of a state at the start of a turn. */
static IrValue state_at(Reverse *r, const IrInst *inst, const Tape *tape, uint32_t state,
                        IrValue turn)
{
    IrValue init = r->clone->map[ir_args(r->f, inst)[state]];
    IrType type = ir_type(r->f, ir_args(r->f, inst)[state]);
    switch (tape->loop.states[state]) {
    case STATE_FIXED:
        return init;
    case STATE_STEPS: {
        IrValue way = ir_build2(r->b, IR_IMUL, r->clone->map[tape->loop.steps[state]], turn);
        return ir_build2(r->b, tape->loop.is_down[state] ? IR_ISUB : IR_IADD, init, way);
    }
    case STATE_SAVED:
        return restore(r, tape->values[state], turn, type);
    case STATE_UNREAD:
        break;
    }
    return ir_build_zero(r->b, type);
}

/* What is in a loop is walked back through more than once. */
static void forget_adjoints(Reverse *r, IrRegionId id)
{
    const IrRegion *region = ir_region(r->f, id);
    memset(r->adjoints + region->param_first, 0, region->param_count * sizeof *r->adjoints);
    for (IrInstId at = region->first; at; at = ir_inst(r->f, at)->next) {
        const IrInst *inst = ir_inst(r->f, at);
        memset(r->adjoints + inst->result_first, 0, inst->result_count * sizeof *r->adjoints);
        for (uint32_t i = 0; i < inst->region_count; ++i)
            forget_adjoints(r, inst->region_first + i);
    }
}

/* The walk back through a loop: the values whose adjoints go from turn to turn: the active states `states`, then
 * `outer`; `adjoints` are theirs. */
typedef struct BackLoop {
    IrInstId id;
    const uint32_t *states;
    uint32_t state_count;
    const ValueList *outer;
    IrValue *adjoints;
} BackLoop;

/* Walks back through one turn: `adjoints` are those after it, and become those before it. */
static void back_turn(Reverse *r, const BackLoop *l, IrValue turn, IrValue *adjoints)
{
    const IrInst *inst = ir_inst(r->f, l->id);
    const IrValue *yields = ir_yield_args(r->f, inst->region_first);
    IrValue param_first = ir_region(r->f, inst->region_first)->param_first;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        r->clone->map[param_first + i] = state_at(r, inst, r->tapes[l->id], i, turn);
    for (uint32_t i = 0; i < l->outer->count; ++i)
        r->adjoints[l->outer->data[i]] = adjoints[l->state_count + i];
    forget_adjoints(r, inst->region_first);
    forget_kept(r, inst->region_first);
    const Tape *tape = r->tapes[l->id];
    for (uint32_t i = 0; i < tape->loop.kept_count; ++i)
        r->kept[tape->loop.kept[i]] =
            restore(r, tape->kept[i], turn, ir_type(r->f, tape->loop.kept[i]));
    copy_region(r, inst->region_first);
    for (uint32_t i = 0; i < l->state_count; ++i)
        add(r, yields[1 + l->states[i]], adjoints[i]);
    walk_back(r, inst->region_first);
    for (uint32_t i = 0; i < l->state_count; ++i)
        adjoints[i] = adjoint_or_zero(r, param_first + l->states[i]);
    for (uint32_t i = 0; i < l->outer->count; ++i)
        adjoints[l->state_count + i] = r->adjoints[l->outer->data[i]];
}

/* Walks back through `turns` turns, a number that is known if `is_counted`. */
static void back_turns(Reverse *r, const BackLoop *l, IrValue turns, bool is_counted)
{
    IrModule *m = r->derive->module;
    const IrInst *inst = ir_inst(r->f, l->id);
    const Tape *tape = r->tapes[l->id];
    uint32_t count = 1 + l->state_count + l->outer->count;
    uint32_t site = ir_add_fault_site(m, SSL_FAULT_LOOP, m->fault_sites.data[inst->site].span);
    m->fault_sites.data[site].max_trips =
        tape->loop.turns < INT32_MAX ? tape->loop.turns : m->fault_sites.data[inst->site].max_trips;
    IrValue *state = ARENA_ARRAY(m->arena, IrValue, count);
    state[0] = turns;
    memcpy(state + 1, l->adjoints, (count - 1) * sizeof *state);
    ir_loop_begin(r->b, site, state, count, state);
    IrValue before = ir_build2(r->b, IR_ISUB, state[0], ir_const_int(r->b, 1));
    back_turn(r, l, is_counted ? before : clamp_index(r, before, tape->loop.turns), state + 1);
    state[0] = before;
    ir_loop_end(r->b, ir_build2(r->b, IR_IGT, before, ir_const_int(r->b, 0)), state, count, state);
    memcpy(l->adjoints, state + 1, (count - 1) * sizeof *state);
}

static void build_back_loop(Reverse *r, const BackLoop *l)
{
    const Tape *tape = r->tapes[l->id];
    uint32_t left = tape->loop.counted;
    IrValue goes_on = tape->loop.goes_on;
    if (!left) {
        IrValue room = ir_const_int(r->b, (int32_t)tape->loop.turns);
        back_turns(r, l, ir_build2(r->b, IR_IMIN, tape->turns, room), false);
        return;
    }
    if (goes_on) {
        r->known[goes_on] = KNOWN_FALSE;
        back_turn(r, l, ir_const_int(r->b, (int32_t)--left), l->adjoints);
        r->known[goes_on] = KNOWN_TRUE;
    }
    if (left)
        back_turns(r, l, ir_const_int(r->b, (int32_t)left), true);
    r->known[goes_on] = KNOWN_NOT;
}

static void back_loop(Reverse *r, IrInstId id)
{
    Arena *arena = r->derive->module->arena;
    const IrInst *inst = ir_inst(r->f, id);
    const Tape *tape = r->tapes[id];
    ASSERT(tape);
    ValueList outer = find_outer(r, inst);
    uint32_t *states = ARENA_ARRAY(arena, uint32_t, inst->arg_count), state_count = 0;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (is_active_state(r, inst, i))
            states[state_count++] = i;
    uint32_t count = state_count + outer.count;
    IrValue *adjoints = ARENA_ARRAY(arena, IrValue, count);
    for (uint32_t i = 0; i < state_count; ++i)
        adjoints[i] = adjoint_or_zero(r, inst->result_first + states[i]);
    for (uint32_t i = 0; i < outer.count; ++i)
        adjoints[state_count + i] = adjoint_or_zero(r, outer.data[i]);
    const BackLoop l = {id, states, state_count, &outer, adjoints};
    if (tape->loop.is_bounded) {
        build_back_loop(r, &l);
    } else { /* when the tape was too short, nothing is added: the fault says so */
        IrValue *none = ARENA_ARRAY(arena, IrValue, count);
        for (uint32_t i = 0; i < count; ++i)
            none[i] = i < state_count ? ir_build_zero(r->b, ir_build_type(r->b, adjoints[i]))
                                      : adjoints[i];
        IrValue room = ir_const_int(r->b, (int32_t)tape->loop.turns);
        ir_if_begin(r->b, ir_build2(r->b, IR_ILE, tape->turns, room));
        build_back_loop(r, &l);
        ir_if_else(r->b, adjoints, count);
        ir_if_end(r->b, none, count, adjoints);
    }
    for (uint32_t i = 0; i < outer.count; ++i)
        r->adjoints[outer.data[i]] = adjoints[state_count + i];
    for (uint32_t i = 0; i < state_count; ++i)
        add(r, ir_args(r->f, inst)[states[i]], adjoints[i]);
}

/* --- the walk --------------------------------------------------------------------------------- */

static bool has_adjoint(const Reverse *r, const IrInst *inst)
{
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (r->adjoints[inst->result_first + i])
            return true;
    return false;
}

static void walk_back(Reverse *r, IrRegionId region)
{
    const IrFunc *f = r->f;
    for (IrInstId id = ir_inst(f, ir_region(f, region)->last)->prev; id;
         id = ir_inst(f, id)->prev) {
        const IrInst *inst = ir_inst(f, id);
        if (!has_adjoint(r, inst) || r->derive->has_failed)
            continue;
        ir_build_span(r->b, inst->span);
        switch (inst->op) {
        case IR_IF:
            back_if(r, inst);
            break;
        case IR_LOOP:
            back_loop(r, id);
            break;
        case IR_CALL:
            back_call(r, inst);
            break;
        case IR_TEXELS:
            back_texels(r, inst);
            break;
        case IR_TEX_AUTO:
        case IR_TEX:
        case IR_TEX_D:
            back_lookup(r, inst);
            break;
        case IR_TEX_AUTO_D:
            derive_refuse_lookup(r->derive, inst, DERIVE_SECOND_ORDER);
            break;
        case IR_DDX:
        case IR_DDY:
            refuse(r, inst);
            break;
        default:
            back_operation(r, inst);
        }
    }
}

void derive_reverse_body(Derive *d, const IrFunc *f, const uint8_t *active, IrBuilder *b,
                         const IrValue *params, const IrValue *adjoints, IrValue *out_adjoints)
{
    static const IrCloneHooks hooks = {.visit = visit};
    Arena *arena = d->module->arena;
    Reverse r = {.derive = d,
                 .b = b,
                 .f = f,
                 .active = active,
                 .adjoints = ARENA_ARRAY(arena, IrValue, f->values.count),
                 .tapes = ARENA_ARRAY(arena, Tape *, f->insts.count),
                 .known = ARENA_ARRAY(arena, uint8_t, f->values.count),
                 .kept = ARENA_ARRAY(arena, IrValue, f->values.count),
                 .inside = ARENA_ARRAY(arena, uint32_t, f->values.count),
                 .seen = ARENA_ARRAY(arena, uint32_t, f->values.count)};
    IrClone c = ir_clone_begin(d->module, f, b, &hooks, &r);
    r.clone = &c;
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        c.map[body->param_first + i] = params[i];
    copy_region(&r, f->body);
    for (uint32_t i = 0; i < f->result_count; ++i)
        if (adjoints[i])
            add(&r, ir_yield_args(f, f->body)[i], adjoints[i]);
    walk_back(&r, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        out_adjoints[i] = r.adjoints[body->param_first + i];
}
