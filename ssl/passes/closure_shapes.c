/* Shapes only grow, and the walk over all functions is repeated until none does. A term that a loop or a recursive call
 * still adds after as many rounds as there are states for it to move through is added without end. Then caps are
 * set, which end the growth. */
#include "ssl/passes/closure_shapes.h"
#include "base/cast.h"
#include "base/check.h"
#include "ssl/report.h"
#include <string.h>

/* The first reason only. */
#define REFUSE(s, name, span, ...)                                                                 \
    do {                                                                                           \
        if (!(s)->has_failed)                                                                      \
            report((s)->diags, name, span, __VA_ARGS__);                                           \
        (s)->has_failed = true;                                                                    \
    } while (0)

void closure_too_many(ClosureShapes *s, Span span, int limit, const char *what)
{
    REFUSE(s, TOO_MANY_CLOSURES, span, arena_printf(s->module->arena, "%d", limit), what);
}

/* --- places ----------------------------------------------------------------------------------- */

static uint32_t depth_of(const Shape *shape, int32_t parent)
{
    uint32_t depth = 0;
    for (; parent >= 0; parent = shape->terms[parent].parent)
        ++depth;
    return depth;
}

static void append(ClosureShapes *s, Shape *to, Term t, Span span)
{
    ASSERT(t.row < s->module->closure_count && t.parent < (int32_t)to->count);
    if (to->count == SSL_MAX_CLOSURE_TERMS) {
        closure_too_many(s, span, SSL_MAX_CLOSURE_TERMS, "one closure");
        return;
    }
    if (depth_of(to, t.parent) > SSL_MAX_CLOSURE_DEPTH) {
        REFUSE(s, CLOSURE_GROWS, span, arena_printf(s->module->arena, "%d", SSL_MAX_CLOSURE_DEPTH));
        return;
    }
    Term *terms = ARENA_ARRAY(s->module->arena, Term, to->count + 1);
    if (to->count)
        memcpy(terms, to->terms, to->count * sizeof *terms);
    terms[to->count] = t;
    to->terms = terms;
    ++to->count;
}

/* Returns the first term of `to` that has the row and parent of `t` and is not taken, or CLOSURE_NO_PLACE. */
static int32_t find_place(const Shape *to, Term t, const bool *taken)
{
    for (uint32_t k = 0; k < to->count; ++k)
        if (!taken[k] && to->terms[k].row == t.row && to->terms[k].parent == t.parent)
            return (int32_t)k;
    return CLOSURE_NO_PLACE;
}

static bool is_past_cap(const Shape *to, Term t)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < to->count; ++k)
        count += to->terms[k].row == t.row && to->terms[k].parent < 0;
    return to->cap && t.parent < 0 && count >= to->cap;
}

static bool is_inside(const Shape *shape, uint32_t term, uint32_t top)
{
    ASSERT(term < shape->count && shape->terms[term].parent < (int32_t)term);
    int32_t parent = shape->terms[term].parent;
    while (parent > (int32_t)top)
        parent = shape->terms[parent].parent;
    return parent == (int32_t)top;
}

/* A term of a shape with its descendants. */
typedef struct Branch {
    const Shape *shape;
    uint32_t top;
} Branch;

/* Maps the descendants of one branch to those of another. If `grow` is not NULL, terms that `into` lacks are appended
 * to its shape; otherwise it has them all. */
static void place_inside(ClosureShapes *grow, Branch into, Branch from, Span span, int32_t *places,
                         bool *taken)
{
    const Shape *to = into.shape;
    ASSERT(into.top < to->count && from.top < from.shape->count);
    places[from.top] = (int32_t)into.top;
    for (uint32_t i = from.top + 1; i < from.shape->count; ++i) {
        if (!is_inside(from.shape, i, from.top))
            continue;
        Term t = {from.shape->terms[i].row, places[from.shape->terms[i].parent]};
        places[i] = find_place(to, t, taken);
        if (places[i] == CLOSURE_NO_PLACE) {
            if (!grow || grow->has_failed)
                continue;
            places[i] = (int32_t)to->count;
            append(grow, cast_away_const(to), t, span);
            grow->has_grown = true;
        }
        taken[places[i]] = true;
    }
}

void closure_places_inside(const ClosureShapes *s, const Shape *to, uint32_t to_top,
                           const Shape *from, uint32_t from_top, int32_t *places)
{
    bool *taken = ARENA_ARRAY(s->module->arena, bool, to->count + from->count);
    place_inside(NULL, (Branch){to, to_top}, (Branch){from, from_top}, (Span){0}, places, taken);
}

void closure_places(const ClosureShapes *s, const Shape *to, const Shape *from, int32_t *places)
{
    bool *taken = ARENA_ARRAY(s->module->arena, bool, to->count);
    for (uint32_t i = 0; i < from->count; ++i) {
        Term t = from->terms[i];
        if (t.parent >= 0)
            t.parent = places[t.parent];
        bool is_lost = from->terms[i].parent >= 0 && t.parent == CLOSURE_NO_PLACE;
        places[i] = is_lost ? CLOSURE_NO_PLACE : find_place(to, t, taken);
        CHECK(is_lost || places[i] != CLOSURE_NO_PLACE || is_past_cap(to, t));
        if (places[i] != CLOSURE_NO_PLACE)
            taken[places[i]] = true;
    }
}

/* --- growing ---------------------------------------------------------------------------------- */

/* A term beyond the cap may go to any place of its row, so each place must have room for its descendants. */
static void widen_row(ClosureShapes *s, Shape *to, const Shape *from, uint32_t top, Span span)
{
    int32_t *places = ARENA_ARRAY(s->module->arena, int32_t, from->count);
    for (uint32_t k = 0; k < to->count && !s->has_failed; ++k)
        if (to->terms[k].row == from->terms[top].row && to->terms[k].parent < 0) {
            bool *taken = ARENA_ARRAY(s->module->arena, bool, to->count + from->count);
            place_inside(s, (Branch){to, k}, (Branch){from, top}, span, places, taken);
        }
}

/* Makes room in `to` for all of `from`. */
static void merge(ClosureShapes *s, Shape *to, const Shape *from, Span span)
{
    int32_t *places = ARENA_ARRAY(s->module->arena, int32_t, from->count);
    bool *taken = ARENA_ARRAY(s->module->arena, bool, to->count + from->count);
    for (uint32_t i = 0; i < from->count && !s->has_failed; ++i) {
        Term t = from->terms[i];
        if (t.parent >= 0 && places[t.parent] == CLOSURE_NO_PLACE) {
            places[i] = CLOSURE_NO_PLACE;
            continue;
        }
        t.parent = t.parent < 0 ? -1 : places[t.parent];
        places[i] = find_place(to, t, taken);
        if (places[i] == CLOSURE_NO_PLACE && is_past_cap(to, t)) {
            widen_row(s, to, from, i, span);
            continue;
        }
        if (places[i] == CLOSURE_NO_PLACE) {
            places[i] = (int32_t)to->count;
            append(s, to, t, span);
            s->has_grown = true;
        }
        taken[places[i]] = true;
    }
}

/* Appends the terms of `from` to `to`, as descendants of `parent`. */
static void join(ClosureShapes *s, Shape *to, const Shape *from, int32_t parent, Span span)
{
    ASSERT(parent < (int32_t)to->count);
    int32_t base = (int32_t)to->count;
    for (uint32_t i = 0; i < from->count && !s->has_failed; ++i) {
        Term t = from->terms[i];
        t.parent = t.parent < 0 ? parent : t.parent + base;
        append(s, to, t, span);
    }
}

/* --- the walk --------------------------------------------------------------------------------- */

static const IrFunc *current_func(const ClosureShapes *s)
{
    return ir_func(s->module, s->current);
}

static Shape *shape_of(const ClosureShapes *s, IrValue v)
{
    return &s->of[s->current][v];
}

static void merge_value(ClosureShapes *s, IrValue to, IrValue from, Span span)
{
    if (ir_is_closure(current_func(s), to) && !s->has_failed)
        merge(s, shape_of(s, to), shape_of(s, from), span);
}

static void set_cap(Shape *shape)
{
    if (shape->cap)
        return;
    shape->cap = SSL_MAX_GROWN_CLOSURES;
    for (uint32_t i = 0; i < shape->count; ++i) {
        uint32_t same = 0;
        for (uint32_t k = 0; k < shape->count; ++k)
            same += shape->terms[k].parent < 0 && shape->terms[k].row == shape->terms[i].row;
        shape->cap = same > shape->cap ? same : shape->cap;
    }
}

static void walk_region(ClosureShapes *s, IrRegionId region);

static void walk_once(ClosureShapes *s, const IrInst *inst)
{
    const IrFunc *f = current_func(s);
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    for (uint32_t r = 0; r < inst->region_count; ++r) {
        IrRegionId id = inst->region_first + r;
        const IrRegion *region = ir_region(f, id);
        for (uint32_t i = 0; i < region->param_count; ++i)
            merge_value(s, region->param_first + i, ir_args(f, inst)[i], inst->span);
        walk_region(s, id);
        const IrValue *yields = ir_yield_args(f, id) + lead;
        for (uint32_t i = 0; i < region->param_count; ++i)
            merge_value(s, region->param_first + i, yields[i], inst->span);
        for (uint32_t i = 0; i < inst->result_count && inst->op == IR_IF; ++i)
            merge_value(s, inst->result_first + i, yields[i], inst->span);
    }
}

static void walk_loop(ClosureShapes *s, const IrInst *inst)
{
    ASSERT(inst->op == IR_LOOP && inst->arg_count == inst->result_count);
    IrValue param = ir_region(current_func(s), inst->region_first)->param_first;
    bool has_grown = s->has_grown;
    uint32_t rounds = 0;
    do {
        s->has_grown = false;
        /* Terms that only move between states have settled by then. */
        for (uint32_t i = 0; i < inst->arg_count && rounds == inst->arg_count + 2u; ++i)
            set_cap(shape_of(s, param + i));
        walk_once(s, inst);
        has_grown |= s->has_grown;
        ++rounds;
    } while (s->has_grown && !s->has_failed);
    s->has_grown = has_grown;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        *shape_of(s, inst->result_first + i) = *shape_of(s, param + i);
}

static void walk_call(ClosureShapes *s, const IrInst *inst)
{
    const IrFunc *f = current_func(s);
    IrFuncId id = (IrFuncId)inst->imm;
    const IrFunc *callee = ir_func(s->module, id);
    IrValue param = ir_region(callee, callee->body)->param_first;
    for (uint32_t i = 0; i < inst->arg_count && !s->has_failed; ++i)
        if (ir_is_closure(callee, param + i))
            merge(s, &s->of[id][param + i], shape_of(s, ir_args(f, inst)[i]), inst->span);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        *shape_of(s, inst->result_first + i) = s->results[id][i];
}

/* Computes the shape of a result from the present shapes of the arguments, at each visit. */
static void walk_inst(ClosureShapes *s, const IrInst *inst)
{
    const IrFunc *f = current_func(s);
    const IrValue *args = ir_args(f, inst);
    bool has_grown = s->has_grown;
    Shape shape = {0};
    switch (inst->op) {
    case IR_IF:
        walk_once(s, inst);
        return;
    case IR_LOOP:
        walk_loop(s, inst);
        return;
    case IR_CALL:
        walk_call(s, inst);
        return;
    case IR_SELECT:
        merge_value(s, inst->result_first, args[1], inst->span);
        merge_value(s, inst->result_first, args[2], inst->span);
        return;
    case IR_CLOSURE_MAKE:
        append(s, &shape, (Term){(uint32_t)inst->imm, -1}, inst->span);
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            if (ir_is_closure(f, args[i]))
                join(s, &shape, shape_of(s, args[i]), 0, inst->span);
        break;
    case IR_CLOSURE_ADD:
        join(s, &shape, shape_of(s, args[0]), -1, inst->span);
        join(s, &shape, shape_of(s, args[1]), -1, inst->span);
        break;
    case IR_CLOSURE_SCALE:
    case IR_ARRAY_GET:
        shape = *shape_of(s, args[0]);
        break;
    case IR_ARRAY:
        for (uint32_t i = 0; i < inst->arg_count && ir_is_closure(f, args[i]); ++i)
            merge(s, &shape, shape_of(s, args[i]), inst->span);
        break;
    case IR_ARRAY_SET:
        shape = *shape_of(s, args[0]);
        if (ir_is_closure(f, args[2]))
            merge(s, &shape, shape_of(s, args[2]), inst->span);
        break;
    default:
        return;
    }
    shape.cap = 0;
    s->has_grown = has_grown; /* what follows from it tells */
    *shape_of(s, inst->result_first) = shape;
}

static void walk_region(ClosureShapes *s, IrRegionId region)
{
    const IrFunc *f = current_func(s);
    const IrRegion *r = ir_region(f, region);
    for (IrInstId id = r->first; id != r->last && !s->has_failed; id = ir_inst(f, id)->next)
        walk_inst(s, ir_inst(f, id));
}

static void walk_func(ClosureShapes *s, IrFuncId id)
{
    const IrFunc *f = ir_func(s->module, id);
    s->current = id;
    walk_region(s, f->body);
    for (uint32_t i = 0; i < f->result_count && !s->has_failed; ++i)
        if (ir_kind(f->result_types[i]) == IR_CLOSURE)
            merge(s, &s->results[id][i], shape_of(s, ir_yield_args(f, f->body)[i]), f->span);
}

static void cap_calls(ClosureShapes *s, IrFuncId id)
{
    const IrFunc *f = ir_func(s->module, id);
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i)
        set_cap(&s->of[id][body->param_first + i]);
    for (uint32_t i = 0; i < f->result_count; ++i)
        set_cap(&s->results[id][i]);
}

Status closure_shapes_find(ClosureShapes *s, IrModule *m, DiagList *diags)
{
    *s = (ClosureShapes){.module = m, .diags = diags};
    s->of = ARENA_ARRAY(m->arena, Shape *, m->funcs.count);
    s->results = ARENA_ARRAY(m->arena, Shape *, m->funcs.count);
    uint32_t places = 4;
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = m->funcs.data[id];
        if (!f)
            continue;
        s->of[id] = ARENA_ARRAY(m->arena, Shape, f->values.count);
        s->results[id] = ARENA_ARRAY(m->arena, Shape, f->result_count);
        places += ir_region(f, f->body)->param_count + f->result_count;
    }
    uint32_t rounds = 0;
    do {
        s->has_grown = false;
        for (IrFuncId id = 1; id < m->funcs.count && !s->has_failed; ++id) {
            if (!m->funcs.data[id])
                continue;
            if (rounds == places && id != m->entry)
                cap_calls(s, id);
            walk_func(s, id);
        }
        ++rounds;
    } while (s->has_grown && !s->has_failed);
    return s->has_failed ? STATUS_SOURCE : STATUS_OK;
}
