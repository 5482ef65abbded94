/* The order of derivatives, and their signatures. A derivative of a function is built after all derivatives that the
 * function takes itself, so that those of higher order need nothing of their own. */
#include "ssl/passes/derive.h"
#include "base/check.h"
#include "ssl/passes/partials.h"
#include "ssl/passes/pass.h"
#include "ssl/report.h"

enum { UNSEEN, ACTIVE, DONE };

typedef struct Order {
    Derive *derive;
    uint8_t *state;   /* [derivative] */
    uint8_t *visited; /* [function]: visited by the walk with this stamp */
} Order;

typedef ARRAY(IrValue) ValueList;
typedef ARRAY(IrType) TypeList;

/* --- functions of pairs ----------------------------------------------------------------------- */

/* A port of a function as both its IR and that of its derivative have it. */
typedef struct PortPlace {
    const IrPort *port;
    uint32_t param,
        result;  /* the first parameter and result of the flat function; what `kind` has */
    uint32_t at; /* forward: the first result of the derivative; backward: the first parameter */
} PortPlace;

static bool is_input(const IrPort *port)
{
    return port->kind == IR_PORT_IN || port->kind == IR_PORT_INOUT;
}

/* Finds the ports' parameters and results; the function's result comes first among these. */
static PortPlace *place_ports(Arena *arena, const IrDiffFacts *facts)
{
    PortPlace *places = ARENA_ARRAY(arena, PortPlace, facts->port_count);
    uint32_t param = 0, result = facts->ports[facts->port_count - 1].leaf_count;
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        const IrPort *port = &facts->ports[i];
        bool is_result = port->kind == IR_PORT_RESULT;
        places[i] = (PortPlace){.port = port, .param = param, .result = is_result ? 0 : result};
        param += is_input(port) ? port->leaf_count : 0;
        result += port->kind == IR_PORT_OUT || port->kind == IR_PORT_INOUT ? port->leaf_count : 0;
    }
    return places;
}

static uint8_t *active_params(Arena *arena, const IrDiffFacts *facts, uint32_t param_count)
{
    uint8_t *active = ARENA_ARRAY(arena, uint8_t, param_count);
    uint32_t at = 0;
    for (uint32_t i = 0; i < facts->port_count; ++i)
        for (uint32_t k = 0; k < facts->ports[i].leaf_count && is_input(&facts->ports[i]); ++k)
            active[at++] = facts->ports[i].active[k] && !facts->is_constant;
    ASSERT(at == param_count);
    return active;
}

static IrBuilder *begin(Derive *d, IrFuncId id, const char *word, const TypeList *types)
{
    const char *name = arena_printf(d->module->arena, "%s(%s)", word, d->facts->name);
    IrBuilder *b = ir_build_begin(d->module, id, name, types->data, types->count);
    ir_build_func(b)->span = d->facts->span;
    ir_build_span(b, d->facts->span);
    return b;
}

static IrType param_type(const IrFunc *f, uint32_t param)
{
    return ir_type(f, ir_region(f, f->body)->param_first + param);
}

/* The parameters and the results of a forward derivative, as `ForwardDerivative` has them: those of each port, then their
 * tangents. */
static void list_forward(Arena *arena, const IrDiffFacts *facts, const IrFunc *f,
                         ForwardDerivative *out, TypeList *types)
{
    const PortPlace *places = place_ports(arena, facts);
    ARRAY(uint32_t) params = {0}, results = {0};
    for (uint32_t i = 0; i < facts->port_count; ++i)
        for (uint32_t pass = 0; pass < 2 && is_input(places[i].port); ++pass)
            for (uint32_t k = 0; k < places[i].port->leaf_count; ++k) {
                if (pass == 1 && !places[i].port->active[k])
                    continue;
                array_push(arena, types, param_type(f, places[i].param + k));
                array_push(arena, &params, pass == 1 ? 1 + places[i].param + k : 0);
            }
    for (uint32_t i = 0; i < facts->port_count; ++i) { /* the result stands last and comes first */
        const PortPlace *place = &places[(i + facts->port_count - 1) % facts->port_count];
        for (uint32_t pass = 0; pass < 2 && place->port->kind != IR_PORT_IN; ++pass)
            for (uint32_t k = 0; k < place->port->leaf_count; ++k)
                if (pass == 0 || place->port->active[k])
                    array_push(arena, &results, pass == 1 ? 1 + place->result + k : 0);
    }
    out->tangent_of_param = params.data;
    out->tangent_of_result = results.data;
    out->param_count = params.count;
    out->result_count = results.count;
}

static void build_forward(Derive *d, IrFuncId id, const IrFunc *f)
{
    Arena *arena = d->module->arena;
    uint32_t param_count = ir_region(f, f->body)->param_count;
    TypeList types = {0};
    ForwardDerivative made = {
        .id = id, .flat = f, .facts = d->facts, .is_fused = d->module->is_fused};
    list_forward(arena, d->facts, f, &made, &types);
    made.active = derive_activity(d, f, active_params(arena, d->facts, param_count), false);
    IrBuilder *b = begin(d, id, "fwd_diff", &types);
    derive_forward_function(d, &made, b, 1);
    array_push(arena, &d->forward_derivatives, made);
}

/* Appends the types of a port's parameters in a backward derivative. */
static void add_backward_types(Arena *arena, const IrFunc *f, const PortPlace *place,
                               TypeList *types)
{
    const IrPort *port = place->port;
    for (uint32_t k = 0; k < port->leaf_count && is_input(port); ++k)
        array_push(arena, types, param_type(f, place->param + k));
    for (uint32_t k = 0; k < port->leaf_count; ++k)
        if (port->active[k])
            array_push(arena, types,
                       is_input(port) ? param_type(f, place->param + k)
                                      : f->result_types[place->result + k]);
}

static void build_backward(Derive *d, IrFuncId id, const IrFunc *f)
{
    Arena *arena = d->module->arena;
    const IrDiffFacts *facts = d->facts;
    uint32_t param_count = ir_region(f, f->body)->param_count;
    PortPlace *places = place_ports(arena, facts);
    TypeList types = {0};
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        places[i].at = types.count;
        add_backward_types(arena, f, &places[i], &types);
    }
    IrBuilder *b = begin(d, id, "bwd_diff", &types);
    IrValue *params = ARENA_ARRAY(arena, IrValue, param_count);
    IrValue *adjoints = ARENA_ARRAY(arena, IrValue, f->result_count);
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        uint32_t at = places[i].at;
        const IrPort *port = places[i].port;
        for (uint32_t k = 0; k < port->leaf_count && is_input(port); ++k)
            params[places[i].param + k] = ir_build_param(b, at++);
        for (uint32_t k = 0; k < port->leaf_count && port->kind != IR_PORT_IN; ++k)
            if (port->active[k])
                adjoints[places[i].result + k] = ir_build_param(b, at++);
    }
    IrValue *gradients = ARENA_ARRAY(arena, IrValue, param_count);
    uint8_t *active = derive_activity(d, f, active_params(arena, facts, param_count), true);
    derive_keep_used(d, f, active);
    derive_reverse_body(d, f, active, b, params, adjoints, gradients);
    ValueList out = {0};
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        const PortPlace *place = &places[i];
        if (!is_input(place->port) || place->port->active_count == 0)
            continue;
        for (uint32_t k = 0; k < place->port->leaf_count; ++k)
            array_push(arena, &out, params[place->param + k]);
        for (uint32_t k = 0; k < place->port->leaf_count; ++k) {
            IrValue gradient = gradients[place->param + k];
            if (place->port->active[k])
                array_push(arena, &out,
                           !gradient        ? ir_build_zero(b, param_type(f, place->param + k))
                           : d->is_for_host ? gradient
                                            : ir_finite_all(b, gradient));
        }
    }
    ir_build_end(b, out.data, out.count);
}

/* --- recursive functions ---------------------------------------------------------------------- */

IrFuncId derive_recursive(Derive *d, IrFuncId of, bool is_backward)
{
    for (uint32_t i = 0; i < d->recursive_derivatives.count; ++i)
        if (d->recursive_derivatives.data[i].of == of &&
            d->recursive_derivatives.data[i].is_backward == is_backward)
            return d->recursive_derivatives.data[i].id;
    IrFuncId id = ir_reserve_func(d->module);
    array_push(d->module->arena, &d->recursive_derivatives,
               ((RecursiveDerivative){of, id, is_backward}));
    return id;
}

static void build_recursive(Derive *d, const RecursiveDerivative *made)
{
    Arena *arena = d->module->arena;
    const IrFunc *f = derive_flatten(d, made->of, made->is_backward);
    if (!f)
        return;
    uint32_t param_count = ir_region(f, f->body)->param_count;
    TypeList types = {0};
    uint8_t *is_active = ARENA_ARRAY(arena, uint8_t, param_count);
    for (uint32_t i = 0; i < param_count; ++i) {
        array_push(arena, &types, param_type(f, i));
        is_active[i] = derive_is_float(types.data[i]);
    }
    for (uint32_t i = 0; i < param_count && !made->is_backward; ++i)
        if (is_active[i])
            array_push(arena, &types, types.data[i]);
    for (uint32_t i = 0; i < f->result_count && made->is_backward; ++i)
        if (derive_is_float(f->result_types[i]))
            array_push(arena, &types, f->result_types[i]);
    IrBuilder *b = ir_build_begin(d->module, made->id, f->name, types.data, types.count);
    ir_build_func(b)->span = f->span;
    IrValue *params = ARENA_ARRAY(arena, IrValue, param_count);
    IrValue *tangents = ARENA_ARRAY(arena, IrValue, param_count);
    IrValue *results = ARENA_ARRAY(arena, IrValue, f->result_count);
    IrValue *others = ARENA_ARRAY(arena, IrValue, f->result_count);
    uint32_t at = param_count;
    for (uint32_t i = 0; i < param_count; ++i) {
        params[i] = ir_build_param(b, i);
        if (is_active[i] && !made->is_backward)
            tangents[i] = ir_build_param(b, at++);
    }
    for (uint32_t i = 0; i < f->result_count && made->is_backward; ++i)
        if (derive_is_float(f->result_types[i]))
            others[i] = ir_build_param(b, at++);
    uint8_t *active = derive_activity(d, f, is_active, made->is_backward);
    ValueList out = {0};
    if (made->is_backward) {
        derive_keep_used(d, f, active);
        derive_reverse_body(d, f, active, b, params, others, tangents);
        for (uint32_t i = 0; i < param_count; ++i)
            if (is_active[i])
                array_push(arena, &out,
                           tangents[i] ? tangents[i] : ir_build_zero(b, param_type(f, i)));
    } else {
        const DeriveForward io = {1, params, tangents, results, others};
        derive_forward_body(d, f, active, b, &io);
        for (uint32_t i = 0; i < f->result_count; ++i)
            array_push(arena, &out, results[i]);
        for (uint32_t i = 0; i < f->result_count; ++i)
            if (derive_is_float(f->result_types[i]))
                array_push(arena, &out,
                           others[i] ? others[i] : ir_build_zero(b, f->result_types[i]));
    }
    ir_build_end(b, out.data, out.count);
}

void derive_start(Derive *d)
{
    d->recursive = ir_recursive_funcs(d->module);
    d->recursive_count = d->module->funcs.count;
}

void derive_build(Derive *d, IrFuncId id, const IrFunc *f, bool is_backward)
{
    if (is_backward)
        build_backward(d, id, f);
    else
        build_forward(d, id, f);
    if (!d->has_failed)
        derive_plain(d, id, derive_used_results(d->module, id));
    for (; d->recursive_done < d->recursive_derivatives.count && !d->has_failed;
         ++d->recursive_done) {
        const RecursiveDerivative next = d->recursive_derivatives.data[d->recursive_done];
        build_recursive(d, &next);
    }
}

/* --- the order -------------------------------------------------------------------------------- */

static void make(Order *o, uint32_t derivative);

/* Makes the derivatives that a function, or one that it calls, takes. */
static void make_those_of(Order *o, IrFuncId func)
{
    Derive *d = o->derive;
    const IrModule *m = d->module;
    for (uint32_t i = 0; i < m->derivatives.count; ++i)
        if (m->derivatives.data[i].id == func) {
            make(o, i);
            return;
        }
    if (func >= d->recursive_count || o->visited[func] || !ir_func(m, func) || d->has_failed)
        return;
    o->visited[func] = 1;
    const IrFunc *f = ir_func(m, func);
    for (IrInstId i = 1; i < f->insts.count; ++i)
        if (ir_inst(f, i)->op == IR_CALL)
            make_those_of(o, (IrFuncId)ir_inst(f, i)->imm);
    const IrDiffFacts *facts = derive_facts(d, func);
    IrFuncId others[] = {facts ? facts->forward : 0, facts ? facts->backward : 0,
                         facts ? facts->substitute : 0};
    for (size_t i = 0; i < SORT_COUNT_OF(others); ++i)
        if (others[i])
            make_those_of(o, others[i]);
}

static void make(Order *o, uint32_t derivative)
{
    Derive *d = o->derive;
    IrModule *m = d->module;
    const IrDerivative made = m->derivatives.data[derivative];
    if (o->state[derivative] == DONE || d->has_failed)
        return;
    const IrDiffFacts *facts = derive_facts(d, made.of);
    if (o->state[derivative] == ACTIVE) {
        report(d->diags, DERIVATIVE_OF_ITSELF, facts->span, facts->name);
        d->has_failed = true;
        return;
    }
    o->state[derivative] = ACTIVE;
    uint8_t *visited = o->visited;
    o->visited = ARENA_ARRAY(m->arena, uint8_t, d->recursive_count);
    make_those_of(o, made.of);
    o->visited = visited;
    o->state[derivative] = DONE;
    if (d->has_failed)
        return;
    d->facts = facts;
    derive_start(d);
    const bool is_group_fused = m->is_fused;
    m->is_fused = made.is_fused;
    const IrFunc *f = derive_flatten(d, made.of, made.is_backward);
    if (f)
        derive_build(d, made.id, f, made.is_backward);
    m->is_fused = is_group_fused;
}

static Status derive_all(IrModule *m, const IrKernelDerivative *kernel, DiagList *diags, Error *err)
{
    Derive d = {.module = m, .diags = diags, .recursive_count = m->funcs.count, .keeps = true};
    Order o = {.derive = &d,
               .state = ARENA_ARRAY(m->arena, uint8_t, m->derivatives.count),
               .visited = ARENA_ARRAY(m->arena, uint8_t, m->funcs.count)};
    bool has_derivatives = m->derivatives.count > 0 || kernel;
    for (uint32_t i = 0; i < m->derivatives.count && !d.has_failed; ++i)
        make(&o, i);
    if (kernel && !d.has_failed)
        derive_kernel(&d, kernel);
    if (!d.has_failed)
        derive_merge(&d);
    if (!d.has_failed)
        derive_limit_plain(&d);
    m->derivatives.count = m->diff_facts.count = 0;
    if (d.has_failed)
        return STATUS_SOURCE;
    if (has_derivatives) {
        ir_reach(m, NULL, NULL); /* drops what was lowered for derivatives alone */
        ir_mark_recursion(m);
    }
    if (ir_verify(m, err) != STATUS_OK)
        return error_prefix(err, "after pass %s", "derive");
    return STATUS_OK;
}

Status ir_derive(IrModule *m, DiagList *diags, Error *err)
{
    if (m->derivatives.count == 0)
        return STATUS_OK;
    return derive_all(m, NULL, diags, err);
}

Status ir_derive_kernel(IrModule *m, const IrKernelDerivative *how, DiagList *diags, Error *err)
{
    return derive_all(m, how, diags, err);
}
