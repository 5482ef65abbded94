/* Closure algebra becomes numbered slots.
 *
 * A closure value is a sum of terms; a term is one CLOSURE_MAKE with a weight. Which terms a value
 * can have is known when compiling (its shape); whether a term is present, its weight and its
 * arguments are ordinary scalars. So each closure value is taken apart into
 *
 *   term 0: present, weight r g b, arguments ...    term 1: present, ...
 *
 * MAKE gives one term, present and of weight one; ADD joins two lists; SCALE multiplies weights;
 * where control flow joins (SELECT, IF, LOOP) the k-th term of each closure row shares one slot
 * with the k-th term of that row from the other side, since only one side runs, and a side without
 * it says "not present". A closure inside a closure (coat over base) is a term with a parent.
 *
 * The terms of the entry's closure outputs are the kernel's lobe slots. A closure that gains a term
 * with each turn of a loop has no such shape and is refused. */
#include "base/check.h"
#include "ssl/ir/pass.h"
#include "ssl/report.h"
#include <string.h>

typedef struct Term {
    uint32_t row;
    int32_t parent; /* term of the same list; -1: none */
} Term;

typedef struct Shape {
    Term *terms;
    uint32_t count;
} Shape;

typedef struct Slots {
    IrModule *module;
    const IrFunc *func; /* with closures */
    Shape *shapes;      /* [value]; of closure values */
    IrValue **parts;    /* [value]: scalars of its terms, in the new function */
    DiagList *diags;
    bool failed, changed;
} Slots;

/* The first reason only. */
#define REFUSE(s, name, span, ...)                                                                 \
    do {                                                                                           \
        if (!(s)->failed)                                                                          \
            report((s)->diags, name, span, __VA_ARGS__);                                           \
        (s)->failed = true;                                                                        \
    } while (0)

static void too_many(Slots *s, Span span, int limit, const char *what)
{
    REFUSE(s, TOO_MANY_CLOSURES, span, arena_printf(s->module->arena, "%d", limit), what);
}

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

/* --- shapes ----------------------------------------------------------------------------------- */

static bool append_shape(Slots *s, Shape *to, const Shape *from, int32_t parent, Span span)
{
    if (to->count + from->count > IR_MAX_CLOSURE_TERMS) {
        too_many(s, span, IR_MAX_CLOSURE_TERMS, "one closure");
        return false;
    }
    Term *terms = ARENA_ARRAY(s->module->arena, Term, to->count + from->count);
    if (to->count)
        memcpy(terms, to->terms, to->count * sizeof *terms);
    for (uint32_t i = 0; i < from->count; i++) {
        Term t = from->terms[i];
        t.parent = t.parent < 0 ? parent : t.parent + (int32_t)to->count;
        terms[to->count + i] = t;
    }
    *to = (Shape){terms, to->count + from->count};
    return true;
}

/* Finds for each term of `from` its place in `to`: the next free term of the same row and parent.
 * Terms without one get a new place when `grow`, else the caller knows that there is none
 * missing. */
static bool place_terms(Slots *s, Shape *to, const Shape *from, bool grow, Span span,
                        uint32_t *places)
{
    bool *taken = ARENA_ARRAY(s->module->arena, bool, to->count + from->count);
    for (uint32_t i = 0; i < from->count; i++) {
        Term t = from->terms[i];
        t.parent = t.parent < 0 ? -1 : (int32_t)places[t.parent];
        uint32_t k = 0;
        while (k < to->count &&
               (taken[k] || to->terms[k].row != t.row || to->terms[k].parent != t.parent))
            k++;
        if (k == to->count) {
            Shape one = {&(Term){t.row, -1}, 1};
            ASSERT(grow);
            if (!grow || !append_shape(s, to, &one, t.parent, span))
                return false;
            s->changed = true;
        }
        taken[k] = true;
        places[i] = k;
    }
    return true;
}

static void merge_shape(Slots *s, IrValue to, IrValue from, Span span)
{
    if (ir_type(s->func, to) != IR_CLOSURE || s->failed)
        return;
    Shape *x = &s->shapes[to], *y = &s->shapes[from];
    place_terms(s, x, y, true, span, ARENA_ARRAY(s->module->arena, uint32_t, y->count));
}

static void find_shapes(Slots *s, IrRegionId region);

static void shape_of_control(Slots *s, const IrInst *inst)
{
    const IrFunc *f = s->func;
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    bool again = true;
    for (uint32_t rounds = 0; again && !s->failed; rounds++) {
        if (rounds >
            inst->arg_count + 2u) { /* what only moves between states has settled by then */
            REFUSE(s, CLOSURE_GROWS, inst->span, NULL);
            return;
        }
        bool changed_before = s->changed;
        s->changed = false;
        for (uint32_t r = 0; r < inst->region_count; r++) {
            IrRegionId id = inst->region_first + r;
            for (uint32_t i = 0; i < ir_region(f, id)->param_count; i++)
                merge_shape(s, ir_region(f, id)->param_first + i, ir_args(f, inst)[i], inst->span);
            find_shapes(s, id);
            const IrValue *yields = ir_yield_args(f, id) + lead;
            for (uint32_t i = 0; i < ir_region(f, id)->param_count; i++)
                merge_shape(s, ir_region(f, id)->param_first + i, yields[i], inst->span);
        }
        again = s->changed && inst->op == IR_LOOP;
        s->changed |= changed_before;
    }
    for (uint32_t r = 0; r < inst->region_count && !s->failed; r++)
        for (uint32_t i = 0; i < inst->result_count; i++)
            merge_shape(s, inst->result_first + i,
                        inst->op == IR_LOOP ? ir_region(f, inst->region_first)->param_first + i
                                            : ir_yield_args(f, inst->region_first + r)[i],
                        inst->span);
}

static void shape_of_inst(Slots *s, const IrInst *inst)
{
    const IrValue *args = ir_args(s->func, inst);
    IrValue v = inst->result_first;
    Shape shape = {0};
    for (uint32_t i = 0; i < inst->result_count; i++)
        if (ir_kind(ir_type(s->func, v + i)) == IR_CLOSURE && ir_is_array(ir_type(s->func, v + i)))
            REFUSE(s, CLOSURE_ARRAY, inst->span, NULL);
    switch (inst->op) {
    case IR_IF:
    case IR_LOOP:
        shape_of_control(s, inst);
        return;
    case IR_CLOSURE_MAKE: {
        Shape self = {&(Term){(uint32_t)inst->imm, -1}, 1};
        append_shape(s, &shape, &self, -1, inst->span);
        for (uint32_t i = 0; i < inst->arg_count; i++)
            if (ir_type(s->func, args[i]) == IR_CLOSURE)
                append_shape(s, &shape, &s->shapes[args[i]], 0, inst->span);
        break;
    }
    case IR_CLOSURE_ADD:
        append_shape(s, &shape, &s->shapes[args[0]], -1, inst->span);
        append_shape(s, &shape, &s->shapes[args[1]], -1, inst->span);
        break;
    case IR_CLOSURE_SCALE:
        shape = s->shapes[args[0]];
        break;
    case IR_SELECT:
        merge_shape(s, v, args[1], inst->span);
        merge_shape(s, v, args[2], inst->span);
        return;
    case IR_CLOSURE_ZERO:
        break;
    default:
        return;
    }
    s->shapes[v] = shape;
}

static void find_shapes(Slots *s, IrRegionId region)
{
    const IrRegion *r = ir_region(s->func, region);
    for (IrInstId id = r->first; id != r->last && !s->failed; id = ir_inst(s->func, id)->next)
        shape_of_inst(s, ir_inst(s->func, id));
}

/* --- parts ------------------------------------------------------------------------------------ */

static Slots *slots_of(IrClone *c)
{
    return c->data;
}

static bool is_closure(IrClone *c, IrValue v)
{
    return ir_type(c->from, v) == IR_CLOSURE;
}

static IrValue *new_parts(IrClone *c, IrValue v)
{
    Slots *s = slots_of(c);
    return s->parts[v] =
               ARENA_ARRAY(c->module->arena, IrValue, shape_parts(c->module, &s->shapes[v]));
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

/* The parts of `source`, put where `shape` has them. */
static void fit_parts(IrClone *c, const Shape *shape, IrValue source, IrValue *out)
{
    Slots *s = slots_of(c);
    const IrModule *m = c->module;
    const Shape *from = &s->shapes[source];
    uint32_t *places = ARENA_ARRAY(c->module->arena, uint32_t, from->count);
    Shape to = *shape;
    CHECK(place_terms(s, &to, from, false, (Span){0}, places));
    uint32_t *offsets = ARENA_ARRAY(c->module->arena, uint32_t, to.count);
    for (uint32_t i = 0, at = 0; i < to.count; at += term_parts(m, &to.terms[i]), i++) {
        offsets[i] = at;
        put_absent(c, &to.terms[i], out + at);
    }
    const IrValue *parts = s->parts[source];
    for (uint32_t i = 0; i < from->count; parts += term_parts(m, &from->terms[i]), i++)
        memcpy(out + offsets[places[i]], parts, term_parts(m, &from->terms[i]) * sizeof *out);
}

static void make_term(IrClone *c, const IrInst *inst)
{
    Slots *s = slots_of(c);
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
        uint32_t count = shape_parts(c->module, &s->shapes[arg]);
        if (count)
            memcpy(out, s->parts[arg], count * sizeof *out);
        out += count;
    }
}

static void join_terms(IrClone *c, const IrInst *inst)
{
    Slots *s = slots_of(c);
    IrValue *out = new_parts(c, inst->result_first);
    for (uint32_t i = 0; i < 2; i++) {
        IrValue arg = ir_args(c->from, inst)[i];
        uint32_t count = shape_parts(c->module, &s->shapes[arg]);
        if (count)
            memcpy(out, s->parts[arg], count * sizeof *out);
        out += count;
    }
}

/* Only terms that stand in no other: a closure's weight covers what is in it. */
static void scale_terms(IrClone *c, const IrInst *inst)
{
    Slots *s = slots_of(c);
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = &s->shapes[inst->result_first];
    IrValue *out = new_parts(c, inst->result_first);
    const IrValue *parts = s->parts[args[0]];
    for (uint32_t i = 0; i < shape->count; i++) {
        uint32_t count = term_parts(c->module, &shape->terms[i]);
        memcpy(out, parts, count * sizeof *out);
        for (uint32_t k = 0; k < 3 && shape->terms[i].parent < 0; k++)
            out[WEIGHT + k] = ir_build2(c->to, IR_FMUL, parts[WEIGHT + k], c->map[args[1 + k]]);
        out += count;
        parts += count;
    }
}

static void select_terms(IrClone *c, const IrInst *inst)
{
    Slots *s = slots_of(c);
    const IrValue *args = ir_args(c->from, inst);
    const Shape *shape = &s->shapes[inst->result_first];
    uint32_t count = shape_parts(c->module, shape);
    IrValue *x = ARENA_ARRAY(c->module->arena, IrValue, count);
    IrValue *y = ARENA_ARRAY(c->module->arena, IrValue, count);
    IrValue *out = new_parts(c, inst->result_first);
    fit_parts(c, shape, args[1], x);
    fit_parts(c, shape, args[2], y);
    for (uint32_t i = 0; i < count; i++)
        out[i] = ir_build_select(c->to, c->map[args[0]], x[i], y[i]);
}

static bool visit(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
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
        if (is_closure(c, inst->result_first)) {
            select_terms(c, inst);
            return true;
        }
    }
    return false;
}

static uint32_t carry_count(IrClone *c, IrValue result)
{
    return is_closure(c, result) ? shape_parts(c->module, &slots_of(c)->shapes[result]) : 1;
}

static void carry(IrClone *c, IrValue result, IrValue source, IrValue *out)
{
    if (is_closure(c, result))
        fit_parts(c, &slots_of(c)->shapes[result], source, out);
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
    uint32_t count = shape_parts(c->module, &slots_of(c)->shapes[result]);
    IrValue *out = new_parts(c, target);
    if (count)
        memcpy(out, values, count * sizeof *out);
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
    const Shape *shape = &s->shapes[v];
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
    too_many(s, s->func->span, IR_MAX_LOBE_SLOTS, "the closures of one shader");
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

static bool has_closures(const IrFunc *f)
{
    for (uint32_t i = 0; i < f->result_count; i++)
        if (f->result_types[i] == IR_CLOSURE)
            return true;
    return false;
}

Status ir_closure_slots(IrModule *m, SslKernelKind kind, DiagList *diags)
{
    static const IrCloneHooks hooks = {visit, carry_count, carry, receive};
    const IrFunc *f = ir_func(m, m->entry);
    if (kind == SSL_KERNEL_SHADE && !has_closures(f))
        return STATUS_OK;
    Slots s = {.module = m, .func = f, .diags = diags};
    s.shapes = ARENA_ARRAY(m->arena, Shape, f->values.count);
    s.parts = ARENA_ARRAY(m->arena, IrValue *, f->values.count);
    find_shapes(&s, f->body);
    if (s.failed)
        return STATUS_SOURCE;
    IrClone c = ir_clone_func(m, f, m->entry, &hooks, &s);
    ir_clone_insts(&c, f->body);
    ValueList results = {0};
    TRY(collect_results(&c, kind, &results));
    ir_build_end(c.to, results.data, results.count);
    return STATUS_OK;
}
