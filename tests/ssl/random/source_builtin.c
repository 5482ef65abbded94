/* Builtin functions and texture lookups. */
#include "base/check.h"
#include "tests/ssl/random/source_walk.h"
#include <string.h>

/* The derivative of x in a direction, which has none itself. */
static Dual derivative(Walk *w, Dual x, uint32_t direction)
{
    SourcePoint *p = w->point;
    Bounded d = x.d[direction];
    if (p->mode == EVAL_RECORD) {
        array_push(w->arena, &p->tape, d);
    } else if (w->tape_at < p->tape.count) {
        d = p->tape.data[w->tape_at++];
    } else {
        p->decisions.is_doubtful = true;
    }
    return (Dual){.v = d};
}

static Dual float_builtin(Walk *w, const char *name, uint32_t count, Dual x, Dual y)
{
    Dual out = {0};
    bool is_ddx = strcmp(name, "ddx") == 0;
    if (is_ddx || strcmp(name, "ddy") == 0)
        return derivative(w, x, is_ddx ? 0 : 1);
    bool is_known = count == 1 ? dual_function(name, x, &w->point->decisions, &out)
                               : dual_function2(name, x, y, &w->point->decisions, &out);
    CHECK(is_known);
    return out;
}

/* Questions about bits: only exact numbers have an answer. */
static int32_t float_bits(Walk *w, Bounded x)
{
    float f = (float)x.v;
    int32_t bits;
    memcpy(&bits, &f, sizeof bits);
    decide(&w->point->decisions, bits, x.e == 0 && (double)f == x.v);
    return f == 0 ? 0 : bits;
}

static bool is_infinite_or_nan(Walk *w, Bounded x)
{
    decide(&w->point->decisions, 0, bounded_is_known(x));
    return false;
}

static int32_t int_builtin(const char *name, int32_t a, int32_t b)
{
    if (strcmp(name, "min") == 0)
        return a < b ? a : b;
    if (strcmp(name, "max") == 0)
        return a > b ? a : b;
    CHECK(strcmp(name, "ushr") == 0);
    return (int32_t)((uint32_t)a >> ((uint32_t)b % 32));
}

Cell *walk_builtin(Walk *w, const Expr *e)
{
    const Builtin *b = e->callee.builtin;
    const Expr *first = e->args.items[0], *second = e->args.items[e->args.count - 1];
    const Cell *x = walk_expr(w, first), *y = e->args.count > 1 ? walk_expr(w, second) : x;
    Cell *out = walk_cells(w, e->type);
    for (uint32_t i = 0; i < e->type->scalars; ++i) {
        const Cell *p = &x[first->type->scalars == 1 ? 0 : i];
        const Cell *q = &y[second->type->scalars == 1 ? 0 : i];
        if (b->shape == BUILTIN_F_F || b->shape == BUILTIN_FF_F)
            out[i].f = float_builtin(w, b->name, e->args.count, p->f, q->f);
        else if (b->shape == BUILTIN_F_B)
            out[i].b = is_infinite_or_nan(w, p->f.v);
        else if (b->shape == BUILTIN_F_I)
            out[i].i = float_bits(w, p->f.v);
        else
            out[i].i = int_builtin(b->name, p->i, q->i);
    }
    return out;
}

/* --- textures ----------------------------------------------------------------------------------- */

/* s, t, then the footprint: given, or what the coordinates' derivatives say, scaled by `width`. */
static void note_lookup(Walk *w, const Expr *e, const Dual *coord, Dual blur, const Dual *width)
{
    EvalLookup lookup = {.texture = e->texture->slot};
    for (uint32_t i = 0; i < 6; ++i)
        lookup.coord[i] = i < 2 || e->args.count == 6 ? coord[i].v : coord[i % 2].d[i / 2 - 1];
    for (uint32_t i = 2; i < 6 && width; ++i)
        lookup.coord[i] = bounded_mul(lookup.coord[i], width->v);
    lookup.coord[6] = blur.v;
    array_push(w->arena, &w->point->lookups, lookup);
}

Cell *walk_texture(Walk *w, const Expr *e)
{
    const TextureCall *call = e->texture;
    Dual coord[6], rgba[4];
    for (uint32_t i = 0; i < 6; ++i)
        coord[i] = dual_of(0);
    for (uint32_t i = 0; i < e->args.count; ++i)
        coord[i] = walk_expr(w, e->args.items[i])->f;
    Dual blur = call->blur ? walk_expr(w, call->blur)->f : dual_of(0);
    const Cell *width = call->width ? walk_expr(w, call->width) : NULL;
    note_lookup(w, e, coord, blur, width ? &width->f : NULL);
    w->point->texture.sample(w->point->texture.data, call->slot, coord[0], coord[1], rgba);
    Cell *out = walk_cells(w, e->type);
    for (uint32_t i = 0; i < e->type->scalars; ++i) {
        uint32_t own = call->form == TOKEN_SAMPLE_ALPHA ? 3 : i;
        out[i].f = rgba[call->channel >= 0 ? (uint32_t)call->channel : own];
    }
    return out;
}
