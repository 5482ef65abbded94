/* Closure algebra becomes scalars, and those of the entry's outputs numbered slots.
 *
 * Which terms a closure value can have is its shape (closure_shapes.h); whether a term is present, its
 * weight and its arguments are ordinary scalars. So each closure value is taken apart into
 *
 *   term 0: present, weight r g b, arguments ...    term 1: present, ...
 *
 * an array of closures into as many such lists as it has elements. MAKE gives one term, present and of
 * weight one; ADD joins two lists; SCALE multiplies weights; where control flow joins, each side is fitted
 * into the shape of the result, and what one side lacks is "not present". Terms past a cap are put where
 * the first place of their row is free at run time. An element of an array that is named at run time is
 * chosen among all.
 *
 * The terms of the entry's closure outputs are the kernel's lobe slots. */
#include "base/check.h"
#include "ssl/ir/closure_shapes.h"
#include "ssl/report.h"
#include <string.h>

typedef struct Slots {
    ClosureShapes shapes;
    IrFuncId func;   /* that is rebuilt */
    IrValue **parts; /* [value]: scalars of its terms, in the new function */
} Slots;

/* --- what a row is made of -------------------------------------------------------------------- */

static IrKind arg_kind(SslType type)
{
    return type == SSL_BOOL      ? IR_BOOL
           : type == SSL_INT     ? IR_INT
           : type == SSL_CLOSURE ? IR_CLOSURE
                                 : IR_FLOAT;
}

/* Scalar arguments of a row, closures left out; their kinds too when `kinds` is not NULL. */
static uint32_t row_scalars(const IrModule *m, uint32_t row, IrKind *kinds)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->closures[row].arg_count; i++) {
        SslType type = m->closures[row].args[i].type;
        for (uint32_t k = 0; k < ssl_type_scalars(type); k++, count++)
            if (kinds)
                kinds[count] = arg_kind(type);
    }
    return count;
}

enum { PRESENT, WEIGHT, ARGS = 4 }; /* a term's parts */

static uint32_t term_parts(const IrModule *m, const Term *t)
{
    return ARGS + row_scalars(m, t->row, NULL);
}

static uint32_t shape_parts(const IrModule *m, const Shape *shape)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->count; i++)
        count += term_parts(m, &shape->terms[i]);
    return count;
}

/* [term]: its first part. */
static uint32_t *part_offsets(const IrModule *m, const Shape *shape)
{
    uint32_t *offsets = ARENA_ARRAY(m->arena, uint32_t, shape->count);
    for (uint32_t i = 0, at = 0; i < shape->count; at += term_parts(m, &shape->terms[i]), i++)
        offsets[i] = at;
    return offsets;
}

/* Types of the parts of a closure value of type `type`. */
static IrType *part_types(const IrModule *m, const Shape *shape, IrType type, IrType *out)
{
    for (uint32_t e = 0; e < (ir_is_array(type) ? ir_count(type) : 1); e++)
        for (uint32_t i = 0; i < shape->count; i++) {
            IrKind kinds[SSL_MAX_CLOSURE_ARGS * 16];
            uint32_t count = row_scalars(m, shape->terms[i].row, kinds);
            *out++ = ir_scalar(IR_BOOL);
            for (uint32_t k = 0; k < 3; k++)
                *out++ = ir_scalar(IR_FLOAT);
            for (uint32_t k = 0; k < count; k++)
                *out++ = ir_scalar(kinds[k]);
        }
    return out;
}

/* --- parts ------------------------------------------------------------------------------------ */

static Slots *slots_of(IrClone *c)
{
    return c->data;
}

static bool is_closure(IrClone *c, IrValue v)
{
    return ir_is_closure(c->from, v);
}

static const Shape *shape_of(IrClone *c, IrValue v)
{
    return &slots_of(c)->shapes.of[slots_of(c)->func][v];
}

static uint32_t elements_of(const IrFunc *f, IrValue v)
{
    return ir_is_array(ir_type(f, v)) ? ir_count(ir_type(f, v)) : 1;
}

static uint32_t value_parts(IrClone *c, IrValue v)
{
    return elements_of(c->from, v) * shape_parts(c->module, shape_of(c, v));
}

static IrValue *new_parts(IrClone *c, IrValue v)
{
    return slots_of(c)->parts[v] = ARENA_ARRAY(c->module->arena, IrValue, value_parts(c, v));
}

static void copy_parts(IrValue *to, const IrValue *from, uint32_t count)
{
    if (count)
        memcpy(to, from, count * sizeof *to);
}

static void select_parts(IrClone *c, IrValue cond, const IrValue *x, const IrValue *y,
                         uint32_t count, IrValue *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = ir_build_select(c->to, cond, x[i], y[i]);
}

/* The parts of an absent term. */
static void put_absent(IrClone *c, const Term *t, IrValue *out)
{
    IrKind kinds[SSL_MAX_CLOSURE_ARGS * 16];
    uint32_t count = row_scalars(c->module, t->row, kinds);
    out[PRESENT] = ir_const_bool(c->to, false);
    for (uint32_t i = 0; i < 3; i++)
        out[WEIGHT + i] = ir_const_float(c->to, 0.0f);
    for (uint32_t i = 0; i < count; i++)
        out[ARGS + i] = ir_build_zero(c->to, ir_scalar(kinds[i]));
}

/* One closure that has to be fitted into a shape. */
typedef struct Fitting {
    IrClone *c;
    const Shape *to, *from;
    const uint32_t *to_offset, *from_offset;
    const IrValue *source;
    IrValue *out;
} Fitting;

/* Which of the places of the row is the first that is free; their number if none is. */
static IrValue first_free(Fitting *f, uint32_t row, uint32_t *out_count)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < f->to->count; k++)
        count += f->to->terms[k].row == row && f->to->terms[k].parent < 0;
    IrValue free = ir_const_int(f->c->to, (int32_t)count);
    uint32_t number = count;
    for (uint32_t k = f->to->count; k-- > 0;)
        if (f->to->terms[k].row == row && f->to->terms[k].parent < 0)
            free = ir_build_select(f->c->to, f->out[f->to_offset[k] + PRESENT], free,
                                   ir_const_int(f->c->to, (int32_t)--number));
    *out_count = count;
    return free;
}

/* Term `top` of the source, past the cap, with all that stands in it. */
static void put_where_free(Fitting *f, uint32_t top, uint32_t site)
{
    IrBuilder *b = f->c->to;
    const IrModule *m = f->c->module;
    IrValue present = f->source[f->from_offset[top] + PRESENT], zero = ir_const_int(b, 0);
    uint32_t count, number = 0;
    IrValue place = first_free(f, f->from->terms[top].row, &count);
    ir_if_begin(b, present);
    IrValue safe = ir_build_bounds(b, place, count, site);
    ir_if_else(b, &safe, 1);
    ir_if_end(b, &zero, 1, &place);
    for (uint32_t k = 0; k < f->to->count; k++) {
        if (f->to->terms[k].row != f->from->terms[top].row || f->to->terms[k].parent >= 0)
            continue;
        int32_t *places = ARENA_ARRAY(m->arena, int32_t, f->from->count);
        for (uint32_t i = 0; i < f->from->count; i++)
            places[i] = CLOSURE_NO_PLACE;
        closure_places_inside(&slots_of(f->c)->shapes, f->to, k, f->from, top, places);
        IrValue is_here = ir_build2(b, IR_IEQ, place, ir_const_int(b, (int32_t)number++));
        is_here = ir_build2(b, IR_BAND, is_here, present);
        for (uint32_t i = 0; i < f->to->count; i++) { /* what the place had in it goes */
            if (f->to->terms[i].parent != (int32_t)k)
                continue;
            IrValue *stays = &f->out[f->to_offset[i] + PRESENT];
            *stays = ir_build_select(b, is_here, ir_const_bool(b, false), *stays);
        }
        for (uint32_t i = 0; i < f->from->count; i++) {
            if (places[i] == CLOSURE_NO_PLACE)
                continue;
            IrValue *out = f->out + f->to_offset[places[i]];
            select_parts(f->c, is_here, f->source + f->from_offset[i], out,
                         term_parts(m, &f->from->terms[i]), out);
        }
    }
}

/* The parts `source` of shape `from`, put where `to` has them. `span`: of what asks for it. */
static void fit_parts(IrClone *c, const Shape *to, const Shape *from, const IrValue *source,
                      IrValue *out, Span span)
{
    IrModule *m = c->module;
    int32_t *places = ARENA_ARRAY(m->arena, int32_t, from->count);
    Fitting f = {c, to, from, part_offsets(m, to), part_offsets(m, from), source, out};
    closure_places(&slots_of(c)->shapes, to, from, places);
    for (uint32_t i = 0; i < to->count; i++)
        put_absent(c, &to->terms[i], out + f.to_offset[i]);
    for (uint32_t i = 0; i < from->count; i++)
        if (places[i] != CLOSURE_NO_PLACE)
            copy_parts(out + f.to_offset[places[i]], source + f.from_offset[i],
                       term_parts(m, &from->terms[i]));
    uint32_t site = UINT32_MAX;
    for (uint32_t i = 0; i < from->count; i++) {
        bool known, is_there = places[i] == CLOSURE_NO_PLACE && from->terms[i].parent < 0;
        if (!is_there ||
            (ir_is_const_bool(c->to, source[f.from_offset[i] + PRESENT], &known) && !known))
            continue;
        if (site == UINT32_MAX)
            site = ir_add_fault_site(m, SSL_FAULT_CLOSURES, span);
        put_where_free(&f, i, site);
    }
}

/* A whole value, which may be an array. */
static void fit_value(IrClone *c, const Shape *to, IrValue source, IrValue *out, Span span)
{
    const Shape *from = shape_of(c, source);
    uint32_t to_parts = shape_parts(c->module, to), from_parts = shape_parts(c->module, from);
    for (uint32_t e = 0; e < elements_of(c->from, source); e++)
        fit_parts(c, to, from, slots_of(c)->parts[source] + (size_t)e * from_parts,
                  out + (size_t)e * to_parts, span);
}

/* --- instructions ----------------------------------------------------------------------------- */

static void make_term(IrClone *c, const IrInst *inst)
{
    IrValue *out = new_parts(c, inst->result_first);
    *out++ = ir_const_bool(c->to, true);
    for (uint32_t i = 0; i < 3; i++)
        *out++ = ir_const_float(c->to, 1.0f);
    for (uint32_t i = 0; i < inst->arg_count; i++)
        if (!is_closure(c, ir_args(c->from, inst)[i]))
            *out++ = c->map[ir_args(c->from, inst)[i]];
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        IrValue arg = ir_args(c->from, inst)[i];
        if (!is_closure(c, arg))
            continue;
        copy_parts(out, slots_of(c)->parts[arg], value_parts(c, arg));
        out += value_parts(c, arg);
    }
}

static void join_terms(IrClone *c, const IrInst *inst)
{
    IrValue *out = new_parts(c, inst->result_first);
    for (uint32_t i = 0; i < 2; i++) {
        IrValue arg = ir_args(c->from, inst)[i];
        copy_parts(out, slots_of(c)->parts[arg], value_parts(c, arg));
        out += value_parts(c, arg);
    }
}

/* Only terms that stand in no other: a closure's weight covers what is in it. */
static void scale_terms(IrClone *c, const IrInst *inst)
{
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = shape_of(c, inst->result_first);
    IrValue *out = new_parts(c, inst->result_first);
    const IrValue *parts = slots_of(c)->parts[args[0]];
    for (uint32_t i = 0; i < shape->count; i++) {
        uint32_t count = term_parts(c->module, &shape->terms[i]);
        copy_parts(out, parts, count);
        for (uint32_t k = 0; k < 3 && shape->terms[i].parent < 0; k++)
            out[WEIGHT + k] = ir_build2(c->to, IR_FMUL, parts[WEIGHT + k], c->map[args[1 + k]]);
        out += count;
        parts += count;
    }
}

static void select_terms(IrClone *c, const IrInst *inst)
{
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = shape_of(c, inst->result_first);
    uint32_t count = value_parts(c, inst->result_first);
    IrValue *x = ARENA_ARRAY(c->module->arena, IrValue, count);
    IrValue *y = ARENA_ARRAY(c->module->arena, IrValue, count);
    fit_value(c, shape, args[1], x, inst->span);
    fit_value(c, shape, args[2], y, inst->span);
    select_parts(c, c->map[args[0]], x, y, count, new_parts(c, inst->result_first));
}

/* --- arrays ----------------------------------------------------------------------------------- */

static void make_array(IrClone *c, const IrInst *inst)
{
    IrValue array = inst->result_first, *out = new_parts(c, array);
    uint32_t count = shape_parts(c->module, shape_of(c, array));
    for (uint32_t i = 0; i < inst->arg_count; i++)
        fit_value(c, shape_of(c, array), ir_args(c->from, inst)[i], out + (size_t)i * count,
                  inst->span);
}

static IrValue is_element(IrClone *c, IrValue index, uint32_t element)
{
    return ir_build2(c->to, IR_IEQ, c->map[index], ir_const_int(c->to, (int32_t)element));
}

static void get_element(IrClone *c, const IrInst *inst)
{
    const IrValue *args = ir_args(c->from, inst), *parts = slots_of(c)->parts[args[0]];
    IrValue *out = new_parts(c, inst->result_first);
    uint32_t count = shape_parts(c->module, shape_of(c, args[0]));
    copy_parts(out, parts, count);
    for (uint32_t e = 1; e < elements_of(c->from, args[0]); e++)
        select_parts(c, is_element(c, args[1], e), parts + (size_t)e * count, out, count, out);
}

static void set_element(IrClone *c, const IrInst *inst)
{
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = shape_of(c, inst->result_first);
    IrValue *out = new_parts(c, inst->result_first);
    uint32_t count = shape_parts(c->module, shape);
    IrValue *element = ARENA_ARRAY(c->module->arena, IrValue, count);
    fit_value(c, shape, args[0], out, inst->span);
    fit_value(c, shape, args[2], element, inst->span);
    for (uint32_t e = 0; e < elements_of(c->from, args[0]); e++) {
        IrValue *old = out + (size_t)e * count;
        select_parts(c, is_element(c, args[1], e), element, old, count, old);
    }
}

/* --- calls ------------------------------------------------------------------------------------ */

static void make_call(IrClone *c, const IrInst *inst)
{
    Slots *s = slots_of(c);
    IrModule *m = c->module;
    IrFuncId id = (IrFuncId)inst->imm;
    const IrFunc *callee = ir_func(m, id);
    IrValue param = ir_region(callee, callee->body)->param_first;
    const Shape *results = s->shapes.results[id];
    uint32_t arg_count = 0, result_count = 0;
    for (uint32_t i = 0; i < inst->arg_count; i++)
        arg_count +=
            1 + elements_of(callee, param + i) * shape_parts(m, &s->shapes.of[id][param + i]);
    for (uint32_t i = 0; i < inst->result_count; i++)
        result_count +=
            1 + elements_of(c->from, inst->result_first + i) * shape_parts(m, &results[i]);
    IrValue *args = ARENA_ARRAY(m->arena, IrValue, arg_count), *next = args;
    IrValue *values = ARENA_ARRAY(m->arena, IrValue, result_count);
    IrType *types = ARENA_ARRAY(m->arena, IrType, result_count), *type = types;
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        IrValue arg = ir_args(c->from, inst)[i];
        const Shape *shape = &s->shapes.of[id][param + i];
        if (!is_closure(c, arg)) {
            *next++ = c->map[arg];
            continue;
        }
        fit_value(c, shape, arg, next, inst->span);
        next += elements_of(c->from, arg) * shape_parts(m, shape);
    }
    for (uint32_t i = 0; i < inst->result_count; i++) {
        IrType own = ir_type(c->from, inst->result_first + i);
        if (ir_kind(own) == IR_CLOSURE)
            type = part_types(m, &results[i], own, type);
        else
            *type++ = own;
    }
    ir_build_inst(c->to, IR_CALL, inst->imm, inst->site, args, (uint32_t)(next - args), types,
                  (uint32_t)(type - types), values);
    for (uint32_t i = 0; i < inst->result_count; i++) {
        IrValue v = inst->result_first + i;
        if (!is_closure(c, v)) {
            c->map[v] = *values++;
            continue;
        }
        copy_parts(new_parts(c, v), values, value_parts(c, v));
        values += value_parts(c, v);
    }
}

static bool visit(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    bool gives_closure = inst->result_count == 1 && is_closure(c, inst->result_first);
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
    }
    switch (inst->op) {
    case IR_CLOSURE_ZERO:
        new_parts(c, inst->result_first);
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
    }
    return false;
}

/* --- borders ---------------------------------------------------------------------------------- */

static uint32_t carry_count(IrClone *c, IrValue result)
{
    return is_closure(c, result) ? value_parts(c, result) : 1;
}

static void carry(IrClone *c, IrValue result, IrValue source, IrValue *out)
{
    if (is_closure(c, result))
        fit_value(c, shape_of(c, result), source, out,
                  ir_inst(c->from, c->from->values.data[result].def)->span);
    else
        *out = c->map[source];
}

/* A loop's parameter and result have one shape, since the body hands the parameter's on. */
static void receive(IrClone *c, IrValue result, IrValue target, const IrValue *values)
{
    if (!is_closure(c, result)) {
        c->map[target] = *values;
        return;
    }
    copy_parts(new_parts(c, target), values, value_parts(c, result));
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

/* Known when compiling never to be there. */
static bool is_absent(IrBuilder *b, const IrValue *parts)
{
    bool present;
    float w;
    if (ir_is_const_bool(b, parts[PRESENT], &present) && !present)
        return true;
    for (uint32_t k = 0; k < 3; k++)
        if (!ir_is_const_float(b, parts[WEIGHT + k], &w) || w != 0.0f)
            return false;
    return true;
}

/* Which terms become slots: those that the kind keeps, with the terms that they stand in; nothing
 * that is absent, or stands in something absent. */
static bool *kept_terms(IrClone *c, const Shape *shape, const IrValue *parts, SslKernelKind kind)
{
    const IrModule *m = c->module;
    bool *kept = ARENA_ARRAY(m->arena, bool, shape->count);
    bool *absent = ARENA_ARRAY(m->arena, bool, shape->count);
    for (uint32_t i = 0; i < shape->count; parts += term_parts(m, &shape->terms[i]), i++) {
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
    Slots *s = slots_of(c);
    IrModule *m = c->module;
    const Shape *shape = shape_of(c, v);
    const IrValue *parts = s->parts[v];
    const bool *kept = kept_terms(c, shape, parts, kind);
    int32_t *numbers = ARENA_ARRAY(m->arena, int32_t, shape->count);
    for (uint32_t i = 0; i < shape->count; i++) {
        const Term *t = &shape->terms[i];
        uint32_t count = term_parts(m, t);
        if (kept[i]) {
            numbers[i] = (int32_t)m->slots.count;
            array_push(m->arena, &m->slots,
                       (IrLobeSlot){.closure = t->row,
                                    .output = output,
                                    .parent = t->parent < 0 ? -1 : numbers[t->parent],
                                    .result_first = results->count,
                                    .arg_count = count - ARGS});
            for (uint32_t k = 0; k < count; k++)
                array_push(m->arena, results, parts[k]);
        }
        parts += count;
    }
    if (m->slots.count <= IR_MAX_LOBE_SLOTS)
        return STATUS_OK;
    closure_too_many(&s->shapes, c->from->span, IR_MAX_LOBE_SLOTS, "the closures of one shader");
    return STATUS_SOURCE;
}

static Status collect_results(IrClone *c, SslKernelKind kind, ValueList *results)
{
    IrModule *m = c->module;
    const IrValue *yields = ir_yield_args(c->from, c->from->body);
    IrOutput *outputs = ARENA_ARRAY(m->arena, IrOutput, m->outputs.count);
    for (uint32_t i = 0; i < m->outputs.count; i++) {
        const IrOutput *o = &m->outputs.data[i];
        outputs[i] = *o;
        outputs[i].result_first = results->count;
        outputs[i].result_count = 0;
        if (o->type == SSL_CLOSURE || kind != SSL_KERNEL_SHADE)
            continue;
        outputs[i].result_count = o->result_count;
        for (uint32_t k = 0; k < o->result_count; k++)
            array_push(m->arena, results, c->map[yields[o->result_first + k]]);
    }
    for (uint32_t i = 0; i < m->outputs.count; i++) {
        const IrOutput *o = &m->outputs.data[i];
        for (uint32_t k = 0; k < o->result_count && o->type == SSL_CLOSURE; k++)
            TRY(number_slots(c, i, yields[o->result_first + k], kind, results));
    }
    m->outputs.data = outputs;
    return STATUS_OK;
}

/* --- functions -------------------------------------------------------------------------------- */

static bool has_closures(const IrModule *m)
{
    for (IrFuncId id = 1; id < m->funcs.count; id++) {
        const IrFunc *f = m->funcs.data[id];
        for (IrValue v = 1; f && v < f->values.count; v++)
            if (ir_is_closure(f, v))
                return true;
    }
    return false;
}

/* A builder for the function with its closure parameters taken apart, and the map to them. */
static IrClone begin_func(Slots *s, IrFuncId id)
{
    static const IrCloneHooks hooks = {visit, carry_count, carry, receive};
    IrModule *m = s->shapes.module;
    const IrFunc *f = ir_func(m, id);
    const IrRegion *body = ir_region(f, f->body);
    const Shape *shapes = s->shapes.of[id];
    uint32_t count = 0;
    for (uint32_t i = 0; i < body->param_count; i++)
        count += 1 + elements_of(f, body->param_first + i) *
                         shape_parts(m, &shapes[body->param_first + i]);
    IrType *types = ARENA_ARRAY(m->arena, IrType, count), *next = types;
    for (uint32_t i = 0; i < body->param_count; i++) {
        IrType type = ir_type(f, body->param_first + i);
        if (ir_kind(type) == IR_CLOSURE)
            next = part_types(m, &shapes[body->param_first + i], type, next);
        else
            *next++ = type;
    }
    s->func = id;
    s->parts = ARENA_ARRAY(m->arena, IrValue *, f->values.count);
    IrBuilder *b = ir_build_begin(m, id, f->name, types, (uint32_t)(next - types));
    ir_build_like(b, f);
    IrClone c = ir_clone_begin(m, f, b, &hooks, s);
    uint32_t at = 0;
    for (uint32_t i = 0; i < body->param_count; i++) {
        IrValue param = body->param_first + i;
        if (!is_closure(&c, param)) {
            c.map[param] = ir_build_param(b, at++);
            continue;
        }
        IrValue *parts = new_parts(&c, param);
        for (uint32_t k = 0; k < value_parts(&c, param); k++)
            parts[k] = ir_build_param(b, at++);
    }
    return c;
}

static void end_callee(IrClone *c)
{
    const Slots *s = slots_of(c);
    const IrFunc *f = c->from;
    ValueList results = {0};
    for (uint32_t i = 0; i < f->result_count; i++) {
        IrValue v = ir_yield_args(f, f->body)[i];
        const Shape *shape = &s->shapes.results[s->func][i];
        if (!is_closure(c, v)) {
            array_push(c->module->arena, &results, c->map[v]);
            continue;
        }
        uint32_t count = elements_of(f, v) * shape_parts(c->module, shape);
        IrValue *parts = ARENA_ARRAY(c->module->arena, IrValue, count);
        fit_value(c, shape, v, parts, f->span);
        for (uint32_t k = 0; k < count; k++)
            array_push(c->module->arena, &results, parts[k]);
    }
    ir_build_end(c->to, results.data, results.count);
}

/* Calls read the types of callees as they were, so all are taken apart before one is put back. */
Status ir_closure_slots(IrModule *m, SslKernelKind kind, DiagList *diags)
{
    if (kind == SSL_KERNEL_SHADE && !has_closures(m))
        return STATUS_OK;
    Slots s = {0};
    TRY(closure_shapes_find(&s.shapes, m, diags));
    IrFunc **old = ARENA_ARRAY(m->arena, IrFunc *, m->funcs.count);
    IrFunc **made = ARENA_ARRAY(m->arena, IrFunc *, m->funcs.count);
    for (IrFuncId id = 1; id < m->funcs.count; id++) {
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
    for (IrFuncId id = 1; id < m->funcs.count; id++)
        m->funcs.data[id] = made[id];
    if (ir_count_instructions(m) <= IR_MAX_INSTRUCTIONS)
        return STATUS_OK;
    report(diags, KERNEL_TOO_LARGE, ir_func(m, m->entry)->span,
           arena_printf(m->arena, "%d", IR_MAX_INSTRUCTIONS));
    return STATUS_SOURCE;
}
