#include "ssl/sema/overload.h"
#include "base/check.h"

static void add_functions(Sema *s, const Module *m, const char *name, CandidateList *list)
{
    for (FuncDecl *f = name_map_get(&m->functions, name); f; f = f->next_overload) {
        Candidate c = {.func = f};
        array_push(s->arena, list, c);
    }
}

CandidateList overload_candidates(Sema *s, const char *name)
{
    CandidateList list = {0};
    const Module *library = s->module->library ? s->module->library : s->module;
    add_functions(s, s->module, name, &list);
    if (library != s->module)
        add_functions(s, library, name, &list);
    const Builtin **first = name_map_get(&library->builtin_rows, name);
    for (const Builtin *row = first ? *first : NULL; row && row < builtins + BUILTIN_COUNT; ++row)
        if (str_equal_c(str_from(row->name), name)) {
            Candidate c = {.builtin = row};
            array_push(s->arena, &list, c);
        }
    return list;
}

uint32_t candidate_param_count(const Candidate *c)
{
    return c->func ? c->func->params.count : builtin_param_count(c->builtin);
}

uint32_t candidate_required_count(const Candidate *c)
{
    uint32_t count = candidate_param_count(c);
    while (c->func && count > 0 && c->func->params.items[count - 1]->init)
        --count;
    return count;
}

const Type *candidate_param_type(const Candidate *c, uint32_t index)
{
    ASSERT(index < candidate_param_count(c));
    return c->func ? c->func->params.items[index]->type
                   : type_basic(builtin_param_type(c->builtin));
}

bool candidate_is_componentwise(const Candidate *c)
{
    return c->func ? c->func->is_componentwise : c->builtin->shape <= BUILTIN_FF_F;
}

const char *candidate_text(const Candidate *c, Arena *arena)
{
    if (c->func)
        return sema_func_text(c->func, arena);
    const char *type = ssl_type_name(builtin_param_type(c->builtin));
    bool is_unary = builtin_param_count(c->builtin) == 1;
    return arena_printf(arena, "%s %s(%s%s%s)", ssl_type_name(builtin_return_type(c->builtin)),
                        c->builtin->name, type, is_unary ? "" : ", ", is_unary ? "" : type);
}

/* Returns the common length of the vectors among the arguments for float parameters, or 0 if lengths differ. */
static uint32_t common_width(const Candidate *c, const ExprList *args)
{
    uint32_t width = 1;
    for (uint32_t i = 0; i < args->count; ++i) {
        uint32_t lanes = type_lanes(args->items[i]->type);
        if (lanes <= 1 || !type_is(candidate_param_type(c, i), SSL_FLOAT))
            continue;
        if (width > 1 && width != lanes)
            return 0;
        width = lanes;
    }
    return width;
}

/* A parameter T[] accepts arrays of T of any size; several such parameters of one call need arrays of equal size. */
static bool match_unsized(Candidate *c, const Type *to, const Type *from)
{
    ASSERT(type_is_unsized(to));
    bool is_first = c->array_size == ANY_SIZE;
    if (from->kind != TYPE_ARRAY || !type_same(from->element, to->element) ||
        (!is_first && c->array_size != from->count))
        return false;
    c->array_size = from->count;
    return true;
}

static bool match_argument(Candidate *c, uint32_t index, const Type *from, uint32_t *cost)
{
    const Type *to = candidate_param_type(c, index);
    if (type_is_unsized(to))
        return match_unsized(c, to, from);
    bool is_written = c->func && c->func->params.items[index]->direction != DIRECTION_IN;
    if (c->width > 1 && type_is(to, SSL_FLOAT) && type_lanes(from) == c->width)
        return true;
    *cost += c->width > 1 && type_is(to, SSL_FLOAT); /* one value for all components */
    if (type_same(from, to))
        return true;
    *cost += 1;
    return !is_written && coerce_is_possible(from, to);
}

bool overload_match(Candidate *c, const ExprList *args)
{
    c->cost = 0;
    c->width = 1;
    c->array_size = ANY_SIZE;
    if (args->count > candidate_param_count(c) || args->count < candidate_required_count(c))
        return false;
    if (candidate_is_componentwise(c))
        c->width = common_width(c, args);
    if (c->width == 0)
        return false;
    for (uint32_t i = 0; i < args->count; ++i)
        if (!match_argument(c, i, args->items[i]->type, &c->cost))
            return false;
    return true;
}

/* Orders equal candidates: functions of the file before instances of generic ones, and these before the library's. */
static int precedence(const FuncDecl *f)
{
    return !f || f->is_library ? 0 : f->generic && f->generic->type_params.count > 0 ? 1 : 2;
}

Candidate *overload_choose(CandidateList *list, const ExprList *args, bool *out_is_ambiguous)
{
    Candidate *best = NULL;
    *out_is_ambiguous = false;
    for (uint32_t i = 0; i < list->count; ++i) {
        Candidate *c = &list->data[i];
        if (!overload_match(c, args))
            continue;
        bool is_tie = best && c->cost == best->cost;
        int order = best ? precedence(c->func) - precedence(best->func) : 0;
        if (!best || c->cost < best->cost || (is_tie && order > 0)) {
            best = c;
            *out_is_ambiguous = false;
        } else if (is_tie && order == 0) {
            *out_is_ambiguous = true;
        }
    }
    return *out_is_ambiguous ? NULL : best;
}
