#include "ssl/front/ast_clone.h"
#include "base/check.h"

static Expr *clone_expr(const Expr *e, Arena *arena);
static Stmt *clone_stmt(const Stmt *s, Arena *arena);

static ExprList clone_exprs(const ExprList *list, Arena *arena)
{
    Expr **items = ARENA_ARRAY(arena, Expr *, list->count);
    for (uint32_t i = 0; i < list->count; ++i)
        items[i] = clone_expr(list->items[i], arena);
    return (ExprList){items, list->count};
}

static TypeName clone_type_name(const TypeName *name, Arena *arena);

TypeArgs ast_clone_type_args(const TypeArgs *args, Arena *arena)
{
    TypeArgs copy = {args->span, ARENA_ARRAY(arena, TypeName, args->count), args->count};
    for (uint32_t i = 0; i < args->count; ++i)
        copy.items[i] = clone_type_name(&args->items[i], arena);
    return copy;
}

static TypeName clone_type_name(const TypeName *name, Arena *arena)
{
    TypeName copy = *name;
    copy.sizes = clone_exprs(&name->sizes, arena);
    copy.args = ast_clone_type_args(&name->args, arena);
    if (name->inner) {
        TypeName *inner = ARENA_NEW(arena, TypeName);
        *inner = clone_type_name(name->inner, arena);
        copy.inner = inner;
    }
    return copy;
}

static TypeName *clone_type_name_of(const TypeName *name, Arena *arena)
{
    if (!name)
        return NULL;
    TypeName *copy = ARENA_NEW(arena, TypeName);
    *copy = clone_type_name(name, arena);
    return copy;
}

static TextureCall *clone_texture(const TextureCall *call, Arena *arena)
{
    TextureCall *copy = ARENA_NEW(arena, TextureCall);
    *copy = *call;
    copy->options = ARENA_ARRAY(arena, TextureOption, call->option_count);
    for (uint32_t i = 0; i < call->option_count; ++i) {
        copy->options[i] = call->options[i];
        copy->options[i].value = clone_expr(call->options[i].value, arena);
    }
    return copy;
}

/* Follows the left sides by a loop, because a sum may be long on its left side. */
static Expr *clone_expr(const Expr *e, Arena *arena)
{
    Expr *first = NULL, **place = &first;
    for (; e; e = e->a) {
        ASSERT(!e->type);
        Expr *copy = *place = ARENA_NEW(arena, Expr);
        *copy = *e;
        copy->b = clone_expr(e->b, arena);
        copy->c = clone_expr(e->c, arena);
        copy->args = clone_exprs(&e->args, arena);
        copy->type_name = clone_type_name_of(e->type_name, arena);
        if (e->type_args) {
            copy->type_args = ARENA_NEW(arena, TypeArgs);
            *copy->type_args = ast_clone_type_args(e->type_args, arena);
        }
        copy->texture = e->texture ? clone_texture(e->texture, arena) : NULL;
        place = &copy->a;
    }
    return first;
}

static VarDecl *clone_var(const VarDecl *var, Arena *arena)
{
    VarDecl *copy = ARENA_NEW(arena, VarDecl);
    *copy = *var;
    copy->type_name = clone_type_name_of(var->type_name, arena);
    copy->sizes = clone_exprs(&var->sizes, arena);
    copy->init = clone_expr(var->init, arena);
    return copy;
}

static VarList clone_vars(const VarList *list, Arena *arena)
{
    VarDecl **items = ARENA_ARRAY(arena, VarDecl *, list->count);
    for (uint32_t i = 0; i < list->count; ++i)
        items[i] = clone_var(list->items[i], arena);
    return (VarList){items, list->count};
}

static const Attribute *clone_attribute(const Attribute *a, Arena *arena)
{
    Attribute *copy = ARENA_NEW(arena, Attribute);
    *copy = *a;
    copy->value = clone_expr(a->value, arena);
    return copy;
}

/* Follows a chain of else if by a loop, because it may be long. */
static Stmt *clone_stmt(const Stmt *s, Arena *arena)
{
    Stmt *first = NULL, **place = &first;
    for (; s; s = s->other) {
        Stmt *copy = *place = ARENA_NEW(arena, Stmt);
        *copy = *s;
        copy->expr = clone_expr(s->expr, arena);
        copy->step = clone_expr(s->step, arena);
        copy->init = clone_stmt(s->init, arena);
        copy->body = clone_stmt(s->body, arena);
        copy->max_iters = s->max_iters ? clone_attribute(s->max_iters, arena) : NULL;
        copy->vars = clone_vars(&s->vars, arena);
        copy->list.items = ARENA_ARRAY(arena, Stmt *, s->list.count);
        for (uint32_t i = 0; i < s->list.count; ++i)
            copy->list.items[i] = clone_stmt(s->list.items[i], arena);
        place = &copy->other;
    }
    return first;
}

VarList ast_clone_members(const StructDecl *decl, Arena *arena)
{
    return clone_vars(&decl->members, arena);
}

FuncDecl *ast_clone_func(const FuncDecl *f, bool with_body, Arena *arena)
{
    ASSERT(!f->return_type);
    FuncDecl *copy = ARENA_NEW(arena, FuncDecl);
    *copy = *f;
    copy->type_params = (TypeParamList){0};
    copy->instances = (FuncList){0};
    copy->next_overload = NULL;
    copy->return_name = clone_type_name(&f->return_name, arena);
    copy->params = clone_vars(&f->params, arena);
    copy->body = with_body ? clone_stmt(f->body, arena) : NULL;
    return copy;
}
