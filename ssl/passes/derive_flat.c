/* Flattening, activity, and lookups. */
#include "base/check.h"
#include "ssl/passes/derive.h"
#include "ssl/passes/partials.h"
#include "ssl/passes/pass.h"
#include "ssl/report.h"

typedef struct Flatten {
    Derive *derive;
    uint8_t **live; /* [function] */
    bool is_backward, is_too_large;
} Flatten;

const IrDiffFacts *derive_facts(const Derive *d, IrFuncId func)
{
    for (uint32_t i = 0; i < d->module->diff_facts.count; ++i)
        if (d->module->diff_facts.data[i].func == func)
            return &d->module->diff_facts.data[i];
    return NULL;
}

bool derive_is_float(IrType type)
{
    return ir_kind(type) == IR_FLOAT;
}

/* The function whose body stands for that of `func` in derivatives. */
static IrFuncId substitute_of(const Derive *d, IrFuncId func)
{
    for (uint32_t i = 0; i <= d->module->diff_facts.count; ++i) { /* a circle ends, too */
        const IrDiffFacts *facts = derive_facts(d, func);
        if (!facts || !facts->substitute)
            break;
        func = facts->substitute;
    }
    return func;
}

DeriveCall derive_call_kind(const Derive *d, IrFuncId callee, bool is_backward)
{
    const IrDiffFacts *facts = derive_facts(d, callee);
    if (facts && facts->is_constant)
        return CALL_CONSTANT;
    if (facts && (is_backward ? facts->backward : facts->forward))
        return CALL_OWN;
    return callee < d->recursive_count && d->recursive[callee] ? CALL_RECURSIVE : CALL_INLINED;
}

static const uint8_t *live_of(Flatten *t, IrFuncId id)
{
    const IrModule *m = t->derive->module;
    if (!t->live[id])
        t->live[id] = ir_live_values(m, ir_func(m, id));
    return t->live[id];
}

/* A derivative of lower order may have a plain form: its guarded one is derived, in which guards are choices as any other. */
static bool flatten_derivative(IrClone *c, const IrInst *inst)
{
    IrValue result = inst->result_first, x = ir_args(c->from, inst)[0];
    if (inst->op == IR_APART) {
        bool is_question = ir_type(c->from, x) == ir_scalar(IR_BOOL);
        c->map[result] = is_question ? ir_const_bool(c->to, true) : c->map[x];
        return true;
    }
    if (inst->op != IR_SELECT || inst->imm != IR_GUARD)
        return false;
    const IrValue *args = ir_args(c->from, inst);
    c->map[result] = ir_build_select(c->to, c->map[x], c->map[args[1]], c->map[args[2]]);
    return true;
}

/* Marks what a call gave that is not to be computed again. */
static void keep_results(IrClone *c, const IrInst *call)
{
    for (uint32_t i = 0; i < call->result_count; ++i) {
        IrValue *v = &c->map[call->result_first + i];
        if (*v && !ir_is_array(ir_build_type(c->to, *v)) &&
            ir_kind(ir_build_type(c->to, *v)) != IR_CLOSURE)
            *v = ir_build1(c->to, IR_KEEP, *v);
    }
}

static bool flatten(IrClone *c, IrInstId id)
{
    Flatten *t = c->data;
    const IrInst *inst = ir_inst(c->from, id);
    if (inst->op == IR_APART || inst->op == IR_SELECT)
        return flatten_derivative(c, inst);
    if (inst->op != IR_CALL)
        return false;
    IrFuncId func = substitute_of(t->derive, (IrFuncId)inst->imm);
    t->is_too_large |= ir_build_func(c->to)->insts.count > SSL_MAX_INSTRUCTIONS;
    const IrDiffFacts *facts = derive_facts(t->derive, (IrFuncId)inst->imm);
    if (t->is_too_large ||
        derive_call_kind(t->derive, (IrFuncId)inst->imm, t->is_backward) != CALL_INLINED ||
        derive_call_kind(t->derive, func, t->is_backward) != CALL_INLINED)
        ir_clone_copy(c, id);
    else
        ir_clone_inline(c, id, ir_func(c->module, func), live_of(t, func));
    if (t->is_backward && t->derive->keeps && facts && facts->is_kept)
        keep_results(c, inst);
    return true;
}

/* Copies `f` without what no result depends on, into function `id`. */
static const IrFunc *copy(IrModule *m, const IrFunc *f, IrFuncId id, const IrCloneHooks *hooks,
                          void *data)
{
    IrClone c = ir_clone_func(m, f, id, hooks, data);
    c.live = ir_live_values(m, f);
    ir_clone_body(&c);
    return ir_func(m, id);
}

/* Returns the depth of regions in a derivative, where a loop may stand in a branch of its own. */
static uint32_t nesting_of(const IrFunc *f, IrRegionId region)
{
    uint32_t deepest = 0;
    const IrRegion *r = ir_region(f, region);
    for (IrInstId id = r->first; id; id = ir_inst(f, id)->next) {
        const IrInst *inst = ir_inst(f, id);
        for (uint32_t i = 0; i < inst->region_count; ++i) {
            uint32_t own = nesting_of(f, inst->region_first + i) + (inst->op == IR_LOOP ? 1 : 0);
            deepest = own > deepest ? own : deepest;
        }
    }
    return deepest + 1;
}

const IrFunc *derive_flatten(Derive *d, IrFuncId func, bool is_backward)
{
    static const IrCloneHooks hooks = {.visit = flatten};
    IrModule *m = d->module;
    IrFuncId scratch = ir_reserve_func(m);
    Flatten t = {.derive = d,
                 .live = ARENA_ARRAY(m->arena, uint8_t *, m->funcs.count),
                 .is_backward = is_backward};
    const IrFunc *f = copy(m, ir_func(m, substitute_of(d, func)), scratch, &hooks, &t);
    f = copy(m, f, scratch, NULL, NULL); /* what inlining has made constant or dead */
    m->funcs.data[scratch] = NULL;
    if (t.is_too_large)
        derive_refuse_size(d);
    else if (nesting_of(f, f->body) > SSL_MAX_KERNEL_NESTING)
        report(d->diags, KERNEL_TOO_NESTED, d->facts->span,
               arena_printf(m->arena, "%d", SSL_MAX_KERNEL_NESTING));
    else
        return f;
    d->has_failed = true;
    return NULL;
}

void derive_refuse_size(Derive *d)
{
    if (!d->has_failed)
        report(d->diags, KERNEL_TOO_LARGE, d->facts->span,
               arena_printf(d->module->arena, "%d", SSL_MAX_INSTRUCTIONS));
    d->has_failed = true;
}

/* --- lookups ------------------------------------------------------------------------------------ */

void derive_lookup_slopes(IrBuilder *b, const IrInst *lookup, const IrValue *coord,
                          IrValue out_slopes[2][4])
{
    IrValue results[12];
    if (lookup->op == IR_TEX_AUTO)
        ir_build_tex_auto_d(b, lookup->site, coord, results);
    else
        ir_build_tex_d(b, lookup->site, coord, results);
    for (uint32_t i = 0; i < 8; ++i)
        out_slopes[i / 4][i % 4] = results[4 + i];
}

IrValue derive_by_coordinate(IrBuilder *b, IrValue coord, IrValue slope, IrValue tangent,
                             bool keeps_nan)
{
    const IrValue args[2] = {coord, slope}, tangents[2] = {tangent, 0};
    return ir_tangent_by_paths(b, IR_FMUL, args, 0, tangents, keeps_nan);
}

void derive_refuse_lookup(Derive *d, const IrInst *inst, const char *why)
{
    if (d->has_failed)
        return;
    report(d->diags, DERIVATIVE_TEXTURE, inst->span.end ? inst->span : d->facts->span, why);
    report(d->diags, NOTE_WRITE, (Span){0},
           "detach(...) around its coordinates, if this derivative may be left out");
    d->has_failed = true;
}

/* --- activity --------------------------------------------------------------------------------- */

typedef struct Activity {
    const Derive *derive;
    const IrFunc *func;
    uint8_t *active;
    bool is_backward, changed;
} Activity;

static void add(Activity *a, IrValue v, bool is_active)
{
    if (!is_active || a->active[v] || !derive_is_float(ir_type(a->func, v)))
        return;
    a->active[v] = 1;
    a->changed = true;
}

static bool any_active(const Activity *a, const IrInst *inst, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (a->active[ir_args(a->func, inst)[i]])
            return true;
    return false;
}

static void walk_call(Activity *a, const IrInst *inst)
{
    IrFuncId callee = (IrFuncId)inst->imm;
    DeriveCall kind = derive_call_kind(a->derive, callee, a->is_backward);
    if (kind == CALL_CONSTANT || !any_active(a, inst, inst->arg_count))
        return;
    if (kind == CALL_RECURSIVE) {
        for (uint32_t i = 0; i < inst->result_count; ++i)
            add(a, inst->result_first + i, true);
        return;
    }
    const IrDiffFacts *facts = derive_facts(a->derive, callee);
    IrValue v = inst->result_first;
    for (uint32_t i = 0; i < facts->port_count; ++i) { /* the result stands last and comes first */
        const IrPort *port = &facts->ports[(i + facts->port_count - 1) % facts->port_count];
        for (uint32_t k = 0; k < port->leaf_count && port->kind != IR_PORT_IN; ++k)
            add(a, v++, port->active[k]);
    }
}

static void walk_region(Activity *a, IrRegionId region);

static void walk_control(Activity *a, const IrInst *inst)
{
    const IrFunc *f = a->func;
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    for (uint32_t r = 0; r < inst->region_count; ++r) {
        IrRegionId region = inst->region_first + r;
        const IrRegion *body = ir_region(f, region);
        const IrValue *yields = ir_yield_args(f, region) + lead;
        for (uint32_t i = 0; i < body->param_count; ++i)
            add(a, body->param_first + i, a->active[ir_args(f, inst)[i]] || a->active[yields[i]]);
        walk_region(a, region);
        for (uint32_t i = 0; i < inst->result_count; ++i)
            add(a, inst->result_first + i, a->active[yields[i]]);
        /* A state that comes back active is active from the start: the walk repeats. */
        for (uint32_t i = 0; i < body->param_count; ++i)
            add(a, body->param_first + i, a->active[yields[i]]);
    }
}

static void walk_inst(Activity *a, const IrInst *inst)
{
    bool is_active = false;
    switch (inst->op) {
    case IR_IF:
    case IR_LOOP:
        walk_control(a, inst);
        return;
    case IR_CALL:
        walk_call(a, inst);
        return;
    case IR_DDX:
    case IR_DDY:
        is_active = any_active(a, inst, 1);
        break;
    case IR_TEX_AUTO:
    case IR_TEX_AUTO_D:
    case IR_TEX:
    case IR_TEX_D:
        is_active = any_active(a, inst, 2);
        break;
    default:
        if (ir_op_info((IrOp)inst->op)->flags & IR_FLAG_PARTIALS)
            is_active = any_active(a, inst, inst->arg_count);
    }
    for (uint32_t i = 0; i < inst->result_count; ++i)
        add(a, inst->result_first + i, is_active);
}

static void walk_region(Activity *a, IrRegionId region)
{
    const IrRegion *r = ir_region(a->func, region);
    for (IrInstId id = r->first; id != r->last; id = ir_inst(a->func, id)->next)
        walk_inst(a, ir_inst(a->func, id));
}

uint8_t *derive_activity(const Derive *d, const IrFunc *f, const uint8_t *active_params,
                         bool is_backward)
{
    Activity a = {.derive = d,
                  .func = f,
                  .active = ARENA_ARRAY(d->module->arena, uint8_t, f->values.count),
                  .is_backward = is_backward};
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        add(&a, body->param_first + i, active_params[i]);
    do {
        a.changed = false;
        walk_region(&a, f->body);
    } while (a.changed);
    return a.active;
}

/* --- use ---------------------------------------------------------------------------------------- */

typedef struct Use {
    const Derive *derive;
    const IrFunc *func;
    uint8_t *used;
    bool changed;
} Use;

static void use(Use *u, IrValue v)
{
    u->changed = u->changed || !u->used[v];
    u->used[v] = 1;
}

static void use_args(Use *u, const IrInst *inst, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        use(u, ir_args(u->func, inst)[i]);
}

static bool any_used(const Use *u, IrValue first, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        if (u->used[first + i])
            return true;
    return false;
}

static void use_region(Use *u, IrRegionId region);

/* A loop's state is used as a whole: what begins it, at each turn, and what ends it. */
static void use_control(Use *u, const IrInst *inst)
{
    const IrFunc *f = u->func;
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    for (uint32_t r = 0; r < inst->region_count; ++r) {
        IrRegionId region = inst->region_first + r;
        const IrRegion *body = ir_region(f, region);
        const IrValue *yields = ir_yield_args(f, region) + lead;
        for (uint32_t i = 0; i < inst->result_count; ++i)
            if (u->used[inst->result_first + i])
                use(u, yields[i]);
        use_region(u, region);
        for (uint32_t i = 0; i < body->param_count; ++i) {
            if (!u->used[body->param_first + i] && !u->used[yields[i]])
                continue;
            use(u, inst->result_first + i);
            use(u, yields[i]);
            use(u, body->param_first + i);
            use(u, ir_args(f, inst)[i]);
        }
    }
}

/* The coordinates are not used, and of what was looked up and is added only what belongs to a result that is. */
static void use_texels(Use *u, const IrInst *inst)
{
    enum { CHANNELS = 4 };
    const IrValue *added = ir_args(u->func, inst) + inst->arg_count - CHANNELS;
    const IrValue *lookup = added - inst->result_count;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (u->used[inst->result_first + i]) {
            use(u, lookup[i]);
            use(u, added[i % CHANNELS]);
        }
}

static void use_inst(Use *u, const IrInst *inst)
{
    switch (inst->op) {
    case IR_IF:
    case IR_LOOP:
        use_control(u, inst);
        return;
    default:
        break;
    }
    if (!any_used(u, inst->result_first, inst->result_count))
        return;
    switch (inst->op) {
    case IR_CALL:
        if (derive_call_kind(u->derive, (IrFuncId)inst->imm, true) != CALL_CONSTANT)
            use_args(u, inst, inst->arg_count);
        return;
    case IR_DDX:
    case IR_DDY:
        use_args(u, inst, 1);
        return;
    case IR_TEX_AUTO:
    case IR_TEX_AUTO_D:
    case IR_TEX:
    case IR_TEX_D:
        use_args(u, inst, 2);
        return;
    case IR_TEXELS:
        use_texels(u, inst);
        return;
    default:
        if (ir_op_info((IrOp)inst->op)->flags & IR_FLAG_PARTIALS)
            use_args(u, inst, inst->arg_count);
    }
}

static void use_region(Use *u, IrRegionId region)
{
    const IrRegion *r = ir_region(u->func, region);
    for (IrInstId id = ir_inst(u->func, r->last)->prev; id; id = ir_inst(u->func, id)->prev)
        use_inst(u, ir_inst(u->func, id));
}

void derive_keep_used(const Derive *d, const IrFunc *f, uint8_t *active)
{
    Use u = {
        .derive = d, .func = f, .used = ARENA_ARRAY(d->module->arena, uint8_t, f->values.count)};
    for (uint32_t i = 0; i < f->result_count; ++i)
        use(&u, ir_yield_args(f, f->body)[i]);
    do {
        u.changed = false;
        use_region(&u, f->body);
    } while (u.changed);
    for (uint32_t i = 0; i < f->values.count; ++i)
        active[i] = active[i] && u.used[i];
}
