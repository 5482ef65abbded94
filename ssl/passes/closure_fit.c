/* The scalars that closure values become, and the fitting of one list of terms into another. */
#include "ssl/passes/closure_fit.h"
#include "base/check.h"
#include <string.h>

static IrKind arg_kind(SslType type)
{
    return type == SSL_BOOL      ? IR_BOOL
           : type == SSL_INT     ? IR_INT
           : type == SSL_CLOSURE ? IR_CLOSURE
                                 : IR_FLOAT;
}

/* Returns the number of scalar arguments of a row, without closures. Writes their kinds if `kinds` is not NULL. */
static uint32_t row_scalars(const IrModule *m, uint32_t row, IrKind *kinds)
{
    ASSERT(row < m->closure_count && m->closures[row].arg_count <= SSL_MAX_CLOSURE_ARGS);
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->closures[row].arg_count; ++i) {
        SslType type = m->closures[row].args[i].type;
        for (uint32_t k = 0; k < ssl_type_scalars(type); ++k, ++count)
            if (kinds)
                kinds[count] = arg_kind(type);
    }
    return count;
}

uint32_t closure_term_parts(const IrModule *m, const Term *t)
{
    return ARGS + row_scalars(m, t->row, NULL);
}

uint32_t closure_shape_parts(const IrModule *m, const Shape *shape)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shape->count; ++i)
        count += closure_term_parts(m, &shape->terms[i]);
    return count;
}

/* Returns an array [term] with the index of the term's first part. */
static uint32_t *part_offsets(const IrModule *m, const Shape *shape)
{
    uint32_t *offsets = ARENA_ARRAY(m->arena, uint32_t, shape->count);
    for (uint32_t i = 0, at = 0; i < shape->count;
         at += closure_term_parts(m, &shape->terms[i]), ++i)
        offsets[i] = at;
    return offsets;
}

IrType *closure_part_types(const IrModule *m, const Shape *shape, IrType type, IrType *out)
{
    for (uint32_t e = 0; e < (ir_is_array(type) ? ir_count(type) : 1); ++e)
        for (uint32_t i = 0; i < shape->count; ++i) {
            IrKind kinds[SSL_MAX_CLOSURE_ARGS * 16];
            uint32_t count = row_scalars(m, shape->terms[i].row, kinds);
            *out++ = ir_scalar(IR_BOOL);
            for (uint32_t k = 0; k < 3; ++k)
                *out++ = ir_scalar(IR_FLOAT);
            for (uint32_t k = 0; k < count; ++k)
                *out++ = ir_scalar(kinds[k]);
        }
    return out;
}

/* --- parts ------------------------------------------------------------------------------------ */

Slots *closure_slots_of(IrClone *c)
{
    return c->data;
}

bool closure_is_one(IrClone *c, IrValue v)
{
    return ir_is_closure(c->from, v);
}

const Shape *closure_shape_of(IrClone *c, IrValue v)
{
    ASSERT(ir_is_closure(c->from, v));
    return &closure_slots_of(c)->shapes.of[closure_slots_of(c)->func][v];
}

uint32_t closure_elements(const IrFunc *f, IrValue v)
{
    return ir_is_array(ir_type(f, v)) ? ir_count(ir_type(f, v)) : 1;
}

uint32_t closure_value_parts(IrClone *c, IrValue v)
{
    return closure_elements(c->from, v) * closure_shape_parts(c->module, closure_shape_of(c, v));
}

IrValue *closure_new_parts(IrClone *c, IrValue v)
{
    return closure_slots_of(c)->parts[v] =
               ARENA_ARRAY(c->module->arena, IrValue, closure_value_parts(c, v));
}

void closure_copy_parts(IrValue *to, const IrValue *from, uint32_t count)
{
    if (count)
        memcpy(to, from, count * sizeof *to);
}

void closure_select_parts(IrClone *c, IrValue cond, const IrValue *x, const IrValue *y,
                          uint32_t count, IrValue *out)
{
    for (uint32_t i = 0; i < count; ++i)
        out[i] = ir_build_select(c->to, cond, x[i], y[i]);
}

/* Writes the parts of an absent term. */
static void put_absent(IrClone *c, const Term *t, IrValue *out)
{
    IrKind kinds[SSL_MAX_CLOSURE_ARGS * 16];
    uint32_t count = row_scalars(c->module, t->row, kinds);
    out[PRESENT] = ir_const_bool(c->to, false);
    for (uint32_t i = 0; i < 3; ++i)
        out[WEIGHT + i] = ir_const_float(c->to, 0.0f);
    for (uint32_t i = 0; i < count; ++i)
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

/* Returns, as an IR value, the index of the first free place of the row, or the number of places if none is free. */
static IrValue first_free(Fitting *f, uint32_t row, uint32_t *out_count)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < f->to->count; ++k)
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

/* Puts term `top` of the source, which is beyond the cap, and its descendants into the first free place. */
static void put_where_free(Fitting *f, uint32_t top, uint32_t site)
{
    ASSERT(f->from->terms[top].parent < 0 && site < f->c->module->fault_sites.count);
    IrBuilder *b = f->c->to;
    const IrModule *m = f->c->module;
    IrValue present = f->source[f->from_offset[top] + PRESENT], zero = ir_const_int(b, 0);
    uint32_t count, number = 0;
    IrValue place = first_free(f, f->from->terms[top].row, &count);
    ir_if_begin(b, present);
    IrValue safe = ir_build_bounds(b, place, count, site);
    ir_if_else(b, &safe, 1);
    ir_if_end(b, &zero, 1, &place);
    for (uint32_t k = 0; k < f->to->count; ++k) {
        if (f->to->terms[k].row != f->from->terms[top].row || f->to->terms[k].parent >= 0)
            continue;
        int32_t *places = ARENA_ARRAY(m->arena, int32_t, f->from->count);
        for (uint32_t i = 0; i < f->from->count; ++i)
            places[i] = CLOSURE_NO_PLACE;
        closure_places_inside(&closure_slots_of(f->c)->shapes, f->to, k, f->from, top, places);
        IrValue is_here = ir_build2(b, IR_IEQ, place, ir_const_int(b, (int32_t)number++));
        is_here = ir_build2(b, IR_BAND, is_here, present);
        for (uint32_t i = 0; i < f->to->count;
             ++i) { /* replaces the descendants that the place had */
            if (f->to->terms[i].parent != (int32_t)k)
                continue;
            IrValue *stays = &f->out[f->to_offset[i] + PRESENT];
            *stays = ir_build_select(b, is_here, ir_const_bool(b, false), *stays);
        }
        for (uint32_t i = 0; i < f->from->count; ++i) {
            if (places[i] == CLOSURE_NO_PLACE)
                continue;
            IrValue *out = f->out + f->to_offset[places[i]];
            closure_select_parts(f->c, is_here, f->source + f->from_offset[i], out,
                                 closure_term_parts(m, &f->from->terms[i]), out);
        }
    }
}

/* Writes the parts `source` of shape `from` to `out`, in the places of shape `to`. A fault names `span`. */
static void fit_parts(IrClone *c, const Shape *to, const Shape *from, const IrValue *source,
                      IrValue *out, Span span)
{
    IrModule *m = c->module;
    int32_t *places = ARENA_ARRAY(m->arena, int32_t, from->count);
    Fitting f = {c, to, from, part_offsets(m, to), part_offsets(m, from), source, out};
    closure_places(&closure_slots_of(c)->shapes, to, from, places);
    for (uint32_t i = 0; i < to->count; ++i)
        put_absent(c, &to->terms[i], out + f.to_offset[i]);
    for (uint32_t i = 0; i < from->count; ++i)
        if (places[i] != CLOSURE_NO_PLACE)
            closure_copy_parts(out + f.to_offset[places[i]], source + f.from_offset[i],
                               closure_term_parts(m, &from->terms[i]));
    uint32_t site = UINT32_MAX;
    for (uint32_t i = 0; i < from->count; ++i) {
        bool known, is_there = places[i] == CLOSURE_NO_PLACE && from->terms[i].parent < 0;
        if (!is_there ||
            (ir_is_const_bool(c->to, source[f.from_offset[i] + PRESENT], &known) && !known))
            continue;
        if (site == UINT32_MAX)
            site = ir_add_fault_site(m, SSL_FAULT_CLOSURES, span);
        put_where_free(&f, i, site);
    }
}

void closure_fit_value(IrClone *c, const Shape *to, IrValue source, IrValue *out, Span span)
{
    const Shape *from = closure_shape_of(c, source);
    uint32_t to_parts = closure_shape_parts(c->module, to),
             from_parts = closure_shape_parts(c->module, from);
    for (uint32_t e = 0; e < closure_elements(c->from, source); ++e)
        fit_parts(c, to, from, closure_slots_of(c)->parts[source] + (size_t)e * from_parts,
                  out + (size_t)e * to_parts, span);
}
