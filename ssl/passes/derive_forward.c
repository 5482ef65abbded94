/* Forward mode for fwd_diff: a copy of a flat function that computes tangents beside each active value, one for each
 * direction. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/derive.h"
#include "ssl/passes/partials.h"
#include "ssl/report.h"

typedef struct Forward {
    Derive *derive;
    const uint8_t *active;
    uint32_t count;    /* of directions */
    IrValue *tangents; /* [value of from][count]; 0: zero */
} Forward;

static Forward *forward_of(IrClone *c)
{
    return c->data;
}

static IrValue *tangents_of(IrClone *c, IrValue v)
{
    return forward_of(c)->tangents + (size_t)v * forward_of(c)->count;
}

static void set_tangent(IrClone *c, IrValue v, uint32_t direction, IrValue tangent)
{
    float x;
    bool is_zero = tangent == 0 || (ir_is_const_float(c->to, tangent, &x) && x == 0.0f);
    tangents_of(c, v)[direction] = is_zero ? 0 : tangent;
}

/* Returns the tangent as a value, which may be of zeros. */
static IrValue tangent_or_zero(IrClone *c, IrValue v, uint32_t direction)
{
    IrValue tangent = tangents_of(c, v)[direction];
    return tangent ? tangent : ir_build_zero(c->to, ir_type(c->from, v));
}

/* --- calls ------------------------------------------------------------------------------------ */

static void call_recursive(IrClone *c, const IrInst *inst, uint32_t direction)
{
    Arena *arena = c->module->arena;
    ARRAY(IrValue) args = {0};
    ARRAY(IrType) types = {0};
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        array_push(arena, &args, c->map[ir_args(c->from, inst)[i]]);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (derive_is_float(ir_type(c->from, ir_args(c->from, inst)[i])))
            array_push(arena, &args, tangent_or_zero(c, ir_args(c->from, inst)[i], direction));
    for (uint32_t i = 0; i < inst->result_count; ++i)
        array_push(arena, &types, ir_type(c->from, inst->result_first + i));
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (derive_is_float(types.data[i]))
            array_push(arena, &types, types.data[i]);
    IrValue *results = ARENA_ARRAY(arena, IrValue, types.count);
    ir_build_call(c->to, derive_recursive(forward_of(c)->derive, (IrFuncId)inst->imm, false),
                  args.data, args.count, types.data, types.count, results);
    uint32_t at = inst->result_count;
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        c->map[inst->result_first + i] = results[i];
        if (derive_is_float(types.data[i]))
            set_tangent(c, inst->result_first + i, direction, results[at++]);
    }
}

/* Calls the function's own derivative, whose parameters are pairs. */
static void call_own(IrClone *c, const IrInst *inst, const IrDiffFacts *facts, uint32_t direction)
{
    Arena *arena = c->module->arena;
    ARRAY(IrValue) args = {0};
    ARRAY(IrType) types = {0};
    const IrValue *arg = ir_args(c->from, inst);
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        const IrPort *port = &facts->ports[i];
        if (port->kind != IR_PORT_IN && port->kind != IR_PORT_INOUT)
            continue;
        ASSERT(arg || port->leaf_count == 0);
        for (uint32_t k = 0; k < port->leaf_count; ++k)
            array_push(arena, &args, c->map[arg[k]]);
        for (uint32_t k = 0; k < port->leaf_count; ++k)
            if (port->active[k])
                array_push(arena, &args, tangent_or_zero(c, arg[k], direction));
        arg += port->leaf_count;
    }
    IrValue v = inst->result_first;
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        const IrPort *port = &facts->ports[(i + facts->port_count - 1) % facts->port_count];
        for (uint32_t pass = 0; pass < 2 && port->kind != IR_PORT_IN; ++pass)
            for (uint32_t k = 0; k < port->leaf_count; ++k)
                if (pass == 0 || port->active[k])
                    array_push(arena, &types, ir_type(c->from, v + k));
        v += port->kind != IR_PORT_IN ? port->leaf_count : 0;
    }
    IrValue *results = ARENA_ARRAY(arena, IrValue, types.count);
    ir_build_call(c->to, facts->forward, args.data, args.count, types.data, types.count, results);
    v = inst->result_first;
    uint32_t at = 0;
    for (uint32_t i = 0; i < facts->port_count; ++i) {
        const IrPort *port = &facts->ports[(i + facts->port_count - 1) % facts->port_count];
        if (port->kind == IR_PORT_IN)
            continue;
        for (uint32_t k = 0; k < port->leaf_count; ++k)
            c->map[v + k] = results[at++];
        for (uint32_t k = 0; k < port->leaf_count; ++k)
            if (port->active[k])
                set_tangent(c, v + k, direction, results[at++]);
        v += port->leaf_count;
    }
}

/* --- borders of IF and LOOP ------------------------------------------------------------------- */

/* An IF's result or a loop's state carries a tangent if it is active on either side of the border. */
static bool has_tangent(IrClone *c, IrValue result)
{
    const uint8_t *active = forward_of(c)->active;
    const IrInst *inst = ir_inst(c->from, c->from->values.data[result].def);
    if (inst->op != IR_LOOP)
        return active[result];
    uint32_t state = result - inst->result_first;
    return active[result] || active[ir_region(c->from, inst->region_first)->param_first + state];
}

static uint32_t carry_count(IrClone *c, IrValue result)
{
    return has_tangent(c, result) ? 1 + forward_of(c)->count : 1;
}

static void carry(IrClone *c, IrValue result, IrValue source, IrValue *out)
{
    out[0] = c->map[source];
    for (uint32_t k = 0; k < forward_of(c)->count && has_tangent(c, result); ++k)
        out[1 + k] = tangent_or_zero(c, source, k);
}

static void receive(IrClone *c, IrValue result, IrValue target, const IrValue *values)
{
    c->map[target] = values[0];
    for (uint32_t k = 0; k < forward_of(c)->count && has_tangent(c, result); ++k)
        set_tangent(c, target, k, values[1 + k]);
}

/* --- the walk --------------------------------------------------------------------------------- */

static void differentiate(IrClone *c, const IrInst *inst)
{
    IrValue small[IR_CLONE_SMALL];
    const IrValue *source = ir_args(c->from, inst), *args = ir_clone_args(c, inst, small);
    IrValue *tangents = ARENA_ARRAY(c->module->arena, IrValue, inst->arg_count);
    for (uint32_t k = 0; k < forward_of(c)->count; ++k) {
        bool has_any = false;
        for (uint32_t i = 0; i < inst->arg_count; ++i) {
            tangents[i] = tangents_of(c, source[i])[k];
            has_any = has_any || tangents[i];
        }
        if (has_any)
            set_tangent(c, inst->result_first, k,
                        ir_tangent_of_any(c->to, (IrOp)inst->op, args, inst->arg_count,
                                          c->map[inst->result_first], tangents,
                                          forward_of(c)->derive->is_for_host));
    }
}

/* d rgba / ds s' + d rgba / dt t': which level and which texels are read has no derivative. */
static void differentiate_lookup(IrClone *c, const IrInst *inst)
{
    const Forward *w = forward_of(c);
    IrValue small[IR_CLONE_SMALL], slopes[2][4];
    const IrValue *source = ir_args(c->from, inst), *coord = ir_clone_args(c, inst, small);
    derive_lookup_slopes(c->to, inst, coord, slopes);
    for (uint32_t k = 0; k < w->count; ++k)
        for (uint32_t i = 0; i < 4; ++i) {
            IrValue sum = 0;
            for (uint32_t axis = 0; axis < 2; ++axis) {
                IrValue tangent = tangents_of(c, source[axis])[k];
                if (!tangent)
                    continue;
                IrValue term = derive_by_coordinate(c->to, coord[axis], slopes[axis][i], tangent,
                                                    w->derive->is_for_host);
                sum = sum ? ir_add(c->to, sum, term) : term;
            }
            set_tangent(c, inst->result_first + i, k, sum);
        }
}

/* Whether ddx of something that is derived, and a lookup at coordinates that are, stand in one function: the former's derivative
 * may need the second one of the latter. */
static void check_second_order(Forward *w, const IrFunc *f)
{
    IrInstId lookup = 0;
    bool has_screen = false;
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        const IrInst *inst = ir_inst(f, i);
        bool is_lookup = inst->op == IR_TEX_AUTO || inst->op == IR_TEX;
        if (is_lookup && w->active[inst->result_first])
            lookup = i;
        if ((inst->op == IR_DDX || inst->op == IR_DDY) && w->active[ir_args(f, inst)[0]])
            has_screen = true;
    }
    if (lookup && has_screen)
        derive_refuse_lookup(w->derive, ir_inst(f, lookup), DERIVE_SECOND_ORDER);
}

/* Returns a site with the options of another, for a texture of tangents: where there is no texel, there is no tangent. */
static uint32_t tangent_site(IrModule *m, uint32_t site, uint32_t texture)
{
    SslTextureSite made = m->texture_sites.data[site];
    made.texture = texture;
    made.has_missing_color = true;
    for (uint32_t i = 0; i < 4; ++i)
        made.missing_color[i] = 0.0f;
    array_push(m->arena, &m->texture_sites, made);
    return m->texture_sites.count - 1;
}

/* The tangent of a lookup by the texels is the lookup of their tangents. */
static void look_up_tangent(IrClone *c, const IrInst *inst)
{
    const Forward *w = forward_of(c);
    const IrValue *source = ir_args(c->from, inst);
    uint32_t coord_count = inst->arg_count - inst->result_count - 4;
    uint32_t slot = c->module->texture_sites.data[inst->site].texture;
    IrValue coord[7], tangents[4];
    ASSERT(w->count == 1 && inst->result_count == 4 && coord_count <= 7);
    for (uint32_t i = 0; i < coord_count; ++i)
        coord[i] = c->map[source[i]];
    uint32_t site = tangent_site(c->module, inst->site, w->derive->tangent_textures[slot] - 1);
    if (coord_count == 3)
        ir_build_tex_auto(c->to, site, coord, tangents);
    else
        ir_build_tex(c->to, site, coord, tangents);
    for (uint32_t i = 0; i < 4; ++i) {
        IrValue by_coordinates = tangents_of(c, source[coord_count + i])[0];
        c->map[inst->result_first + i] = c->map[source[coord_count + i]];
        set_tangent(c, inst->result_first + i, 0,
                    by_coordinates ? ir_add(c->to, tangents[i], by_coordinates) : tangents[i]);
    }
}

static bool visit(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    const Forward *w = forward_of(c);
    switch (inst->op) {
    case IR_IF:
    case IR_LOOP:
        return false;
    case IR_CALL: {
        DeriveCall kind = derive_call_kind(w->derive, (IrFuncId)inst->imm, false);
        if (kind != CALL_RECURSIVE && kind != CALL_OWN)
            return false;
        for (uint32_t k = 0; k < w->count; ++k)
            if (kind == CALL_RECURSIVE)
                call_recursive(c, inst, k);
            else
                call_own(c, inst, derive_facts(w->derive, (IrFuncId)inst->imm), k);
        return true;
    }
    case IR_TEXELS:
        look_up_tangent(c, inst);
        return true;
    case IR_TEX_AUTO:
    case IR_TEX:
        ir_clone_copy(c, id);
        if (w->active[inst->result_first])
            differentiate_lookup(c, inst);
        return true;
    case IR_TEX_AUTO_D:
    case IR_TEX_D:
        if (w->active[inst->result_first])
            derive_refuse_lookup(w->derive, inst, DERIVE_SECOND_ORDER);
        return false;
    default:
        break;
    }
    ir_clone_copy(c, id);
    if (inst->result_count == 1 && w->active[inst->result_first])
        differentiate(c, inst);
    return true;
}

void derive_forward_body(Derive *d, const IrFunc *f, const uint8_t *active, IrBuilder *b,
                         const DeriveForward *io)
{
    static const IrCloneHooks hooks = {visit, carry_count, carry, receive};
    Forward w = {.derive = d,
                 .active = active,
                 .count = io->count,
                 .tangents =
                     ARENA_ARRAY(d->module->arena, IrValue, (size_t)f->values.count * io->count)};
    check_second_order(&w, f);
    IrClone c = ir_clone_begin(d->module, f, b, &hooks, &w);
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i) {
        c.map[body->param_first + i] = io->params[i];
        for (uint32_t k = 0; k < io->count; ++k)
            set_tangent(&c, body->param_first + i, k, io->tangents[i * io->count + k]);
    }
    ir_clone_insts(&c, f->body);
    const IrValue *yields = ir_yield_args(f, f->body);
    for (uint32_t i = 0; i < f->result_count; ++i) {
        io->results[i] = c.map[yields[i]];
        for (uint32_t k = 0; k < io->count; ++k)
            io->derivatives[i * io->count + k] = tangents_of(&c, yields[i])[k];
    }
}
