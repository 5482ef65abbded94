/* Places: a.b[i].xy. Indices out of range are moved to the nearest element, which is a fault. */
#include "tests/ssl/random/source_walk.h"
#include <string.h>

static uint32_t index_of(Walk *w, const Expr *e, uint32_t count)
{
    int32_t i = walk_expr(w, e)->i;
    decide(&w->point->decisions, i, true);
    if (i >= 0 && (uint32_t)i < count)
        return (uint32_t)i;
    w->point->has_fault = true;
    return i < 0 ? 0 : count - 1;
}

static WalkPlace index_place(Walk *w, const Expr *e)
{
    WalkPlace p = walk_place(w, e->a);
    const Type *t = e->a->type;
    if (t->kind == TYPE_ARRAY || type_is(t, SSL_MATRIX)) {
        uint32_t count = t->kind == TYPE_ARRAY ? t->count : 4;
        p.cells += index_of(w, e->b, count) * e->type->scalars;
        p.count = e->type->scalars;
        return p;
    }
    uint32_t lane = index_of(w, e->b, t->scalars);
    p.cells += p.is_swizzle ? p.lane[lane] : lane;
    p.is_swizzle = false;
    p.count = 1;
    return p;
}

static WalkPlace member_place(Walk *w, const Expr *e)
{
    WalkPlace p = walk_place(w, e->a);
    if (e->a->type->kind == TYPE_STRUCT) {
        const VarList *members = &e->a->type->decl->members;
        for (uint32_t i = 0; i < e->member; ++i)
            p.cells += members->items[i]->type->scalars;
        p.count = e->type->scalars;
        return p;
    }
    WalkPlace q = {.cells = p.cells, .is_swizzle = true, .count = e->swizzle.count};
    for (uint32_t i = 0; i < q.count; ++i)
        q.lane[i] = p.is_swizzle ? p.lane[e->swizzle.lane[i]] : e->swizzle.lane[i];
    return q;
}

WalkPlace walk_place(Walk *w, const Expr *e)
{
    if (e->kind == EXPR_INDEX)
        return index_place(w, e);
    if (e->kind == EXPR_MEMBER)
        return member_place(w, e);
    Cell *cells = e->kind != EXPR_NAME           ? walk_expr(w, e)
                  : e->var->kind == VAR_CONSTANT ? walk_constant(w, e->var)
                                                 : w->frame->vars[e->var->index];
    return (WalkPlace){.cells = cells, .count = e->type->scalars};
}

void walk_load(const WalkPlace *p, Cell *out)
{
    for (uint32_t i = 0; i < p->count; ++i)
        out[i] = p->cells[p->is_swizzle ? p->lane[i] : i];
}

void walk_store(const WalkPlace *p, const Cell *in)
{
    for (uint32_t i = 0; i < p->count; ++i)
        p->cells[p->is_swizzle ? p->lane[i] : i] = in[i];
}
