/* Replaces closure values by scalars, and the closures of the entry's outputs by numbered slots.
 *
 * The shape of a closure value has the terms that it can have (closure_shapes.h). Whether a term is present, its
 * weight and its arguments are ordinary scalars, so each closure value is split into
 *
 *   term 0: present, weight r g b, arguments ...    term 1: present, ...
 *
 * and an array of closures into one such list per element. MAKE gives one term, present and of weight one; ADD
 * joins two lists; SCALE multiplies weights. Where control flow joins, each side is fitted into the shape of
 * the result, and a term that one side lacks is not present. A term beyond a cap goes to the first place of its
 * row that is free at run time. An index of run time selects among all elements of an array.
 *
 * The terms of the entry's closure outputs are the kernel's lobe slots. */
#include "base/check.h"
#include "ssl/ir/ir_arith.h"
#include "ssl/passes/closure_fit.h"
#include "ssl/report.h"
#include <string.h>

/* --- instructions ----------------------------------------------------------------------------- */

static void make_term(IrClone *c, const IrInst *inst)
{
    IrValue *out = closure_new_parts(c, inst->result_first);
    *out++ = ir_const_bool(c->to, true);
    for (uint32_t i = 0; i < 3; ++i)
        *out++ = ir_const_float(c->to, 1.0f);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (!closure_is_one(c, ir_args(c->from, inst)[i]))
            *out++ = c->map[ir_args(c->from, inst)[i]];
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue arg = ir_args(c->from, inst)[i];
        if (!closure_is_one(c, arg))
            continue;
        closure_copy_parts(out, closure_slots_of(c)->parts[arg], closure_value_parts(c, arg));
        out += closure_value_parts(c, arg);
    }
}

static void join_terms(IrClone *c, const IrInst *inst)
{
    IrValue *out = closure_new_parts(c, inst->result_first);
    for (uint32_t i = 0; i < 2; ++i) {
        IrValue arg = ir_args(c->from, inst)[i];
        closure_copy_parts(out, closure_slots_of(c)->parts[arg], closure_value_parts(c, arg));
        out += closure_value_parts(c, arg);
    }
}

/* Scales the terms without parent; the weight of a term covers its descendants. */
static void scale_terms(IrClone *c, const IrInst *inst)
{
    ASSERT(inst->op == IR_CLOSURE_SCALE && inst->arg_count == 4);
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = closure_shape_of(c, inst->result_first);
    IrValue *out = closure_new_parts(c, inst->result_first);
    const IrValue *parts = closure_slots_of(c)->parts[args[0]];
    for (uint32_t i = 0; i < shape->count; ++i) {
        uint32_t count = closure_term_parts(c->module, &shape->terms[i]);
        closure_copy_parts(out, parts, count);
        for (uint32_t k = 0; k < 3 && shape->terms[i].parent < 0; ++k)
            out[WEIGHT + k] = ir_mul(c->to, parts[WEIGHT + k], c->map[args[1 + k]]);
        out += count;
        parts += count;
    }
}

static void select_terms(IrClone *c, const IrInst *inst)
{
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = closure_shape_of(c, inst->result_first);
    uint32_t count = closure_value_parts(c, inst->result_first);
    IrValue *x = ARENA_ARRAY(c->module->arena, IrValue, count);
    IrValue *y = ARENA_ARRAY(c->module->arena, IrValue, count);
    closure_fit_value(c, shape, args[1], x, inst->span);
    closure_fit_value(c, shape, args[2], y, inst->span);
    closure_select_parts(c, c->map[args[0]], x, y, count, closure_new_parts(c, inst->result_first));
}

/* --- arrays ----------------------------------------------------------------------------------- */

static void make_array(IrClone *c, const IrInst *inst)
{
    IrValue array = inst->result_first, *out = closure_new_parts(c, array);
    uint32_t count = closure_shape_parts(c->module, closure_shape_of(c, array));
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        closure_fit_value(c, closure_shape_of(c, array), ir_args(c->from, inst)[i],
                          out + (size_t)i * count, inst->span);
}

static IrValue is_element(IrClone *c, IrValue index, uint32_t element)
{
    return ir_build2(c->to, IR_IEQ, c->map[index], ir_const_int(c->to, (int32_t)element));
}

static void get_element(IrClone *c, const IrInst *inst)
{
    const IrValue *args = ir_args(c->from, inst), *parts = closure_slots_of(c)->parts[args[0]];
    IrValue *out = closure_new_parts(c, inst->result_first);
    uint32_t count = closure_shape_parts(c->module, closure_shape_of(c, args[0]));
    closure_copy_parts(out, parts, count);
    for (uint32_t e = 1; e < closure_elements(c->from, args[0]); ++e)
        closure_select_parts(c, is_element(c, args[1], e), parts + (size_t)e * count, out, count,
                             out);
}

static void set_element(IrClone *c, const IrInst *inst)
{
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = closure_shape_of(c, inst->result_first);
    IrValue *out = closure_new_parts(c, inst->result_first);
    uint32_t count = closure_shape_parts(c->module, shape);
    IrValue *element = ARENA_ARRAY(c->module->arena, IrValue, count);
    closure_fit_value(c, shape, args[0], out, inst->span);
    closure_fit_value(c, shape, args[2], element, inst->span);
    for (uint32_t e = 0; e < closure_elements(c->from, args[0]); ++e) {
        IrValue *old = out + (size_t)e * count;
        closure_select_parts(c, is_element(c, args[1], e), element, old, count, old);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

static void make_call(IrClone *c, const IrInst *inst)
{
    Slots *s = closure_slots_of(c);
    IrModule *m = c->module;
    IrFuncId id = (IrFuncId)inst->imm;
    const IrFunc *callee = ir_func(m, id);
    IrValue param = ir_region(callee, callee->body)->param_first;
    const Shape *results = s->shapes.results[id];
    uint32_t arg_count = 0, result_count = 0;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        arg_count += 1 + closure_elements(callee, param + i) *
                             closure_shape_parts(m, &s->shapes.of[id][param + i]);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        result_count += 1 + closure_elements(c->from, inst->result_first + i) *
                                closure_shape_parts(m, &results[i]);
    IrValue *args = ARENA_ARRAY(m->arena, IrValue, arg_count), *next = args;
    IrValue *values = ARENA_ARRAY(m->arena, IrValue, result_count);
    IrType *types = ARENA_ARRAY(m->arena, IrType, result_count), *type = types;
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue arg = ir_args(c->from, inst)[i];
        const Shape *shape = &s->shapes.of[id][param + i];
        if (!closure_is_one(c, arg)) {
            *next++ = c->map[arg];
            continue;
        }
        closure_fit_value(c, shape, arg, next, inst->span);
        next += (size_t)closure_elements(c->from, arg) * closure_shape_parts(m, shape);
    }
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrType own = ir_type(c->from, inst->result_first + i);
        if (ir_kind(own) == IR_CLOSURE)
            type = closure_part_types(m, &results[i], own, type);
        else
            *type++ = own;
    }
    ir_build_inst(c->to,
                  &(IrNewInst){.op = IR_CALL,
                               .site = inst->site,
                               .imm = inst->imm,
                               .args = args,
                               .types = types,
                               .arg_count = (uint32_t)(next - args),
                               .result_count = (uint32_t)(type - types)},
                  values);
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue v = inst->result_first + i;
        if (!closure_is_one(c, v)) {
            c->map[v] = *values++;
            continue;
        }
        closure_copy_parts(closure_new_parts(c, v), values, closure_value_parts(c, v));
        values += closure_value_parts(c, v);
    }
}

static bool visit(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    bool gives_closure = inst->result_count == 1 && closure_is_one(c, inst->result_first);
    switch (inst->op) {
    case IR_CALL:
        make_call(c, inst);
        return true;
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
    case IR_ARRAY:
    case IR_SELECT:
        if (!gives_closure)
            return false;
        break;
    default:
        break;
    }
    switch (inst->op) {
    case IR_CLOSURE_ZERO:
        closure_new_parts(c, inst->result_first);
        return true;
    case IR_CLOSURE_MAKE:
        make_term(c, inst);
        return true;
    case IR_CLOSURE_ADD:
        join_terms(c, inst);
        return true;
    case IR_CLOSURE_SCALE:
        scale_terms(c, inst);
        return true;
    case IR_SELECT:
        select_terms(c, inst);
        return true;
    case IR_ARRAY:
        make_array(c, inst);
        return true;
    case IR_ARRAY_GET:
        get_element(c, inst);
        return true;
    case IR_ARRAY_SET:
        set_element(c, inst);
        return true;
    default:
        return false;
    }
}

/* --- borders ---------------------------------------------------------------------------------- */

static uint32_t carry_count(IrClone *c, IrValue result)
{
    return closure_is_one(c, result) ? closure_value_parts(c, result) : 1;
}

static void carry(IrClone *c, IrValue result, IrValue source, IrValue *out)
{
    if (closure_is_one(c, result))
        closure_fit_value(c, closure_shape_of(c, result), source, out,
                          ir_inst(c->from, c->from->values.data[result].def)->span);
    else
        *out = c->map[source];
}

/* A loop's parameter and its result have the same shape, because the body passes the parameter on. */
static void receive(IrClone *c, IrValue result, IrValue target, const IrValue *values)
{
    if (!closure_is_one(c, result)) {
        c->map[target] = *values;
        return;
    }
    closure_copy_parts(closure_new_parts(c, target), values, closure_value_parts(c, result));
}

/* --- outputs ---------------------------------------------------------------------------------- */

typedef ARRAY(IrValue) ValueList;

static bool row_is_kept(const IrModule *m, uint32_t row, SslKernelKind kind)
{
    uint32_t flags = m->closures[row].flags;
    return kind == SSL_KERNEL_SHADE ||
           (kind == SSL_KERNEL_OPACITY && (flags & SSL_CLOSURE_TRANSPARENT)) ||
           (kind == SSL_KERNEL_EMISSION && (flags & SSL_CLOSURE_EMISSION));
}

/* Returns whether a term is known at compile time never to be present. */
static bool is_absent(IrBuilder *b, const IrValue *parts)
{
    bool present;
    float w;
    if (ir_is_const_bool(b, parts[PRESENT], &present) && !present)
        return true;
    for (uint32_t k = 0; k < 3; ++k)
        if (!ir_is_const_float(b, parts[WEIGHT + k], &w) || w != 0.0f)
            return false;
    return true;
}

/* Returns an array [term]: the terms that become slots. They are those that the kind keeps, with their ancestors, except
 * terms that are absent or have an absent ancestor. */
static bool *kept_terms(IrClone *c, const Shape *shape, const IrValue *parts, SslKernelKind kind)
{
    const IrModule *m = c->module;
    bool *kept = ARENA_ARRAY(m->arena, bool, shape->count);
    bool *absent = ARENA_ARRAY(m->arena, bool, shape->count);
    for (uint32_t i = 0; i < shape->count; parts += closure_term_parts(m, &shape->terms[i]), ++i) {
        int32_t parent = shape->terms[i].parent;
        absent[i] = is_absent(c->to, parts) || (parent >= 0 && absent[parent]);
    }
    for (uint32_t i = shape->count; i-- > 0;) {
        int32_t parent = shape->terms[i].parent;
        kept[i] = !absent[i] && (kept[i] || row_is_kept(m, shape->terms[i].row, kind));
        if (kept[i] && parent >= 0)
            kept[parent] = true;
    }
    return kept;
}

static Status number_slots(IrClone *c, uint32_t output, IrValue v, SslKernelKind kind,
                           ValueList *results)
{
    ASSERT(output < c->module->outputs.count && ir_is_closure(c->from, v));
    Slots *s = closure_slots_of(c);
    IrModule *m = c->module;
    const Shape *shape = closure_shape_of(c, v);
    const IrValue *parts = s->parts[v];
    const bool *kept = kept_terms(c, shape, parts, kind);
    int32_t *numbers = ARENA_ARRAY(m->arena, int32_t, shape->count);
    for (uint32_t i = 0; i < shape->count; ++i) {
        const Term *t = &shape->terms[i];
        uint32_t count = closure_term_parts(m, t);
        if (kept[i]) {
            numbers[i] = (int32_t)m->slots.count;
            array_push(m->arena, &m->slots,
                       (IrLobeSlot){.closure = t->row,
                                    .output = output,
                                    .parent = t->parent < 0 ? -1 : numbers[t->parent],
                                    .result_first = results->count,
                                    .arg_count = count - ARGS});
            for (uint32_t k = 0; k < count; ++k)
                array_push(m->arena, results, parts[k]);
        }
        parts += count;
    }
    if (m->slots.count <= SSL_MAX_LOBE_SLOTS)
        return STATUS_OK;
    closure_too_many(&s->shapes, c->from->span, SSL_MAX_LOBE_SLOTS, "the closures of one shader");
    return STATUS_SOURCE;
}

static Status collect_results(IrClone *c, SslKernelKind kind, ValueList *results)
{
    IrModule *m = c->module;
    const IrValue *yields = ir_yield_args(c->from, c->from->body);
    IrOutput *outputs = ARENA_ARRAY(m->arena, IrOutput, m->outputs.count);
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *o = &m->outputs.data[i];
        outputs[i] = *o;
        outputs[i].result_first = results->count;
        outputs[i].result_count = 0;
        if (o->type == SSL_CLOSURE || kind != SSL_KERNEL_SHADE)
            continue;
        outputs[i].result_count = o->result_count;
        for (uint32_t k = 0; k < o->result_count; ++k)
            array_push(m->arena, results, c->map[yields[o->result_first + k]]);
    }
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *o = &m->outputs.data[i];
        for (uint32_t k = 0; k < o->result_count && o->type == SSL_CLOSURE; ++k)
            TRY(number_slots(c, i, yields[o->result_first + k], kind, results));
    }
    m->outputs.data = outputs;
    return STATUS_OK;
}

/* --- functions -------------------------------------------------------------------------------- */

static bool has_closures(const IrModule *m)
{
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = m->funcs.data[id];
        for (IrValue v = 1; f && v < f->values.count; ++v)
            if (ir_is_closure(f, v))
                return true;
    }
    return false;
}

/* Starts the copy of a function whose closure parameters are split, and maps them. */
static IrClone begin_func(Slots *s, IrFuncId id)
{
    static const IrCloneHooks hooks = {visit, carry_count, carry, receive};
    IrModule *m = s->shapes.module;
    const IrFunc *f = ir_func(m, id);
    const IrRegion *body = ir_region(f, f->body);
    const Shape *shapes = s->shapes.of[id];
    uint32_t count = 0;
    for (uint32_t i = 0; i < body->param_count; ++i)
        count += 1 + closure_elements(f, body->param_first + i) *
                         closure_shape_parts(m, &shapes[body->param_first + i]);
    IrType *types = ARENA_ARRAY(m->arena, IrType, count), *next = types;
    for (uint32_t i = 0; i < body->param_count; ++i) {
        IrType type = ir_type(f, body->param_first + i);
        if (ir_kind(type) == IR_CLOSURE)
            next = closure_part_types(m, &shapes[body->param_first + i], type, next);
        else
            *next++ = type;
    }
    s->func = id;
    s->parts = ARENA_ARRAY(m->arena, IrValue *, f->values.count);
    IrBuilder *b = ir_build_begin(m, id, f->name, types, (uint32_t)(next - types));
    ir_build_like(b, f);
    IrClone c = ir_clone_begin(m, f, b, &hooks, s);
    uint32_t at = 0;
    for (uint32_t i = 0; i < body->param_count; ++i) {
        IrValue param = body->param_first + i;
        if (!closure_is_one(&c, param)) {
            c.map[param] = ir_build_param(b, at++);
            continue;
        }
        IrValue *parts = closure_new_parts(&c, param);
        for (uint32_t k = 0; k < closure_value_parts(&c, param); ++k)
            parts[k] = ir_build_param(b, at++);
    }
    return c;
}

static void end_callee(IrClone *c)
{
    const Slots *s = closure_slots_of(c);
    ASSERT(s->func != c->module->entry);
    const IrFunc *f = c->from;
    ValueList results = {0};
    for (uint32_t i = 0; i < f->result_count; ++i) {
        IrValue v = ir_yield_args(f, f->body)[i];
        const Shape *shape = &s->shapes.results[s->func][i];
        if (!closure_is_one(c, v)) {
            array_push(c->module->arena, &results, c->map[v]);
            continue;
        }
        uint32_t count = closure_elements(f, v) * closure_shape_parts(c->module, shape);
        IrValue *parts = ARENA_ARRAY(c->module->arena, IrValue, count);
        closure_fit_value(c, shape, v, parts, f->span);
        for (uint32_t k = 0; k < count; ++k)
            array_push(c->module->arena, &results, parts[k]);
    }
    ir_build_end(c->to, results.data, results.count);
}

/* Calls read the old types of their callees, so all functions are rebuilt before any is installed. */
Status ir_closure_slots(IrModule *m, SslKernelKind kind, DiagList *diags)
{
    if (kind == SSL_KERNEL_SHADE && !has_closures(m))
        return STATUS_OK;
    Slots s = {0};
    TRY(closure_shapes_find(&s.shapes, m, diags));
    IrFunc **old = ARENA_ARRAY(m->arena, IrFunc *, m->funcs.count);
    IrFunc **made = ARENA_ARRAY(m->arena, IrFunc *, m->funcs.count);
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        old[id] = m->funcs.data[id];
        if (!old[id])
            continue;
        IrClone c = begin_func(&s, id);
        ir_clone_insts(&c, c.from->body);
        if (id == m->entry) {
            ValueList results = {0};
            TRY(collect_results(&c, kind, &results));
            ir_build_end(c.to, results.data, results.count);
        } else {
            end_callee(&c);
        }
        made[id] = m->funcs.data[id];
        m->funcs.data[id] = old[id];
    }
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        m->funcs.data[id] = made[id];
    if (ir_count_instructions(m) <= SSL_MAX_INSTRUCTIONS)
        return STATUS_OK;
    report(diags, KERNEL_TOO_LARGE, ir_func(m, m->entry)->span,
           arena_printf(m->arena, "%d", SSL_MAX_INSTRUCTIONS));
    return STATUS_SOURCE;
}
