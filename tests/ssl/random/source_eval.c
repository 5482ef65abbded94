/* Statements and calls. */
#include "tests/ssl/random/source_walk.h"
#include <string.h>

typedef enum Flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_RETURN } Flow;

bool walk_step(Walk *w)
{
    if (w->steps_left == 0 || w->point->decisions.is_doubtful) {
        w->point->decisions.is_doubtful = true;
        return false;
    }
    --w->steps_left;
    return true;
}

Cell *walk_cells(Walk *w, const Type *type)
{
    return ARENA_ARRAY(w->arena, Cell, type->scalars);
}

static bool is_true(Walk *w, const Expr *condition)
{
    bool value = walk_expr(w, condition)->b;
    decide(&w->point->decisions, value ? 1 : 0, true);
    return value;
}

static Flow run(Walk *w, const Stmt *s);

static Flow run_list(Walk *w, const StmtList *list)
{
    for (uint32_t i = 0; i < list->count; ++i) {
        Flow flow = run(w, list->items[i]);
        if (flow != FLOW_NEXT)
            return flow;
    }
    return FLOW_NEXT;
}

static void declare(Walk *w, const VarDecl *var)
{
    w->frame->vars[var->index] = var->init ? walk_expr(w, var->init) : walk_cells(w, var->type);
}

static Flow run_loop(Walk *w, const Stmt *s)
{
    if (s->init)
        run(w, s->init);
    bool is_first = s->kind == STMT_DO;
    for (;;) {
        if (!walk_step(w))
            return FLOW_BREAK;
        if (!is_first && s->expr && !is_true(w, s->expr))
            return FLOW_NEXT;
        is_first = false;
        Flow flow = run(w, s->body);
        if (flow == FLOW_BREAK)
            return FLOW_NEXT;
        if (flow == FLOW_RETURN)
            return flow;
        if (s->step)
            walk_expr(w, s->step);
    }
}

static Flow run(Walk *w, const Stmt *s)
{
    switch (s->kind) {
    case STMT_BLOCK:
        return run_list(w, &s->list);
    case STMT_DECLARE:
        for (uint32_t i = 0; i < s->vars.count; ++i)
            declare(w, s->vars.items[i]);
        return FLOW_NEXT;
    case STMT_EXPR:
        walk_expr(w, s->expr);
        return FLOW_NEXT;
    case STMT_IF:
        if (is_true(w, s->expr))
            return run(w, s->body);
        return s->other ? run(w, s->other) : FLOW_NEXT;
    case STMT_WHILE:
    case STMT_DO:
    case STMT_FOR:
        return run_loop(w, s);
    case STMT_BREAK:
        return FLOW_BREAK;
    case STMT_CONTINUE:
        return FLOW_CONTINUE;
    case STMT_RETURN:
        if (s->expr)
            w->frame->result = walk_expr(w, s->expr);
        return FLOW_RETURN;
    case STMT_EMPTY:
    case STMT_ERROR:
        break;
    }
    return FLOW_NEXT;
}

Cell *walk_call(Walk *w, const FuncDecl *f, Cell **args)
{
    Frame frame = {.func = f,
                   .vars = ARENA_ARRAY(w->arena, Cell *, f->local_count),
                   .result = walk_cells(w, f->return_type)};
    if (!walk_step(w))
        return frame.result;
    for (uint32_t i = 0; i < f->params.count; ++i)
        frame.vars[f->params.items[i]->index] = args[i];
    Frame *caller = w->frame;
    w->frame = &frame;
    run(w, f->body);
    w->frame = caller;
    /* A parameter may be assigned to: what the caller gets back is what the variable holds. */
    return frame.result;
}

void source_eval(const FuncDecl *shader, SourcePoint *point, uint32_t steps, Arena *arena)
{
    point->is_fused = shader->is_fused;
    Walk w = {.point = point, .arena = arena, .steps_left = steps};
    Cell **args = ARENA_ARRAY(arena, Cell *, shader->params.count);
    uint32_t inputs = 0, outputs = 0;
    point->decisions = (Decisions){0};
    point->has_fault = false;
    point->lookups.count = 0;
    if (point->mode == EVAL_RECORD)
        point->tape.count = 0;
    for (uint32_t i = 0; i < shader->params.count; ++i) {
        const VarDecl *param = shader->params.items[i];
        args[i] = walk_cells(&w, param->type);
        if (param->direction == DIRECTION_IN)
            memcpy(args[i], point->params[inputs++], param->type->scalars * sizeof(Cell));
    }
    walk_call(&w, shader, args);
    point->outputs = ARENA_ARRAY(arena, const Cell *, shader->params.count);
    for (uint32_t i = 0; i < shader->params.count; ++i)
        if (shader->params.items[i]->direction == DIRECTION_OUT)
            point->outputs[outputs++] = args[i];
}
