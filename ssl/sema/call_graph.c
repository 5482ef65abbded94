/* Checks of the call graph: undefined callees, the depth of calls without recursion, and recursion without an end. The
 * walk has a stack of its own, because a chain of calls may be as long as the source. */
#include "base/check.h"
#include "ssl/sema/checker.h"
#include "ssl/ssl_limits.h"

enum { UNSEEN, ACTIVE, DONE };

typedef struct Frame {
    FuncDecl *func;
    uint32_t next_call;
    /* The lowest place on the stack that the function or its callees call; UINT32_MAX: none. */
    uint32_t back;
} Frame;

typedef struct Walk {
    Sema *s;
    uint8_t *state; /* [func_count] */
    ARRAY(Frame) stack;
    ARRAY(FuncDecl *) order; /* as they were left: callees first, but for recursion */
    bool *is_recursive;      /* [func_count]: on a circle of calls */
    uint32_t *place;         /* [func_count]: on the stack */
    bool has_recursion;
} Walk;

static void enter(Walk *w, FuncDecl *f)
{
    ASSERT(f->id < w->s->module->func_count && w->state[f->id] != ACTIVE);
    Frame frame = {.func = f, .back = UINT32_MAX};
    w->state[f->id] = ACTIVE;
    w->place[f->id] = w->stack.count;
    f->call_depth = 1;
    array_push(w->s->arena, &w->stack, frame);
}

/* Notes that the function on top of the stack calls one below it, or itself. */
static void reach_back(Walk *w, const FuncDecl *callee)
{
    ASSERT(w->stack.count > 0 && w->state[callee->id] == ACTIVE);
    Frame *top = &w->stack.data[w->stack.count - 1];
    uint32_t place = w->place[callee->id];
    top->back = place < top->back ? place : top->back;
    w->has_recursion = true;
}

/* Follows one call of the function on top of the stack. */
static void follow(Walk *w, FuncDecl *caller, const struct FuncCall *call)
{
    Sema *s = w->s;
    FuncDecl *callee = call->callee;
    if (callee->is_abstract)
        return;
    if (!callee->body) {
        report(s->diags, UNDEFINED_FUNCTION, call->span, callee->name);
        report(s->diags, NOTE_DECLARED, callee->span, NULL);
        return;
    }
    if (callee->is_library != caller->is_library) { /* checked with its own module */
        if (caller->call_depth <= callee->call_depth)
            caller->call_depth = callee->call_depth + 1;
        return;
    }
    if (w->state[callee->id] == UNSEEN)
        enter(w, callee);
    else if (w->state[callee->id] == ACTIVE)
        reach_back(w, callee);
    else if (w->state[callee->id] == DONE && caller->call_depth <= callee->call_depth)
        caller->call_depth = callee->call_depth + 1;
}

static void leave(Walk *w, FuncDecl *f)
{
    ASSERT(w->stack.count > 0 && w->stack.data[w->stack.count - 1].func == f);
    uint32_t back = w->stack.data[w->stack.count - 1].back;
    w->state[f->id] = DONE;
    --w->stack.count;
    array_push(w->s->arena, &w->order, f);
    w->is_recursive[f->id] = back <= w->stack.count;
    if (back < w->stack.count && w->stack.data[w->stack.count - 1].back > back)
        w->stack.data[w->stack.count - 1].back = back;
    if (f->call_depth == SSL_MAX_CALL_DEPTH + 1)
        report(w->s->diags, CALLS_TOO_DEEP, f->span, f->name,
               text_of_number(w->s, SSL_MAX_CALL_DEPTH));
    FuncDecl *caller = w->stack.count > 0 ? w->stack.data[w->stack.count - 1].func : NULL;
    if (caller && caller->call_depth <= f->call_depth)
        caller->call_depth = f->call_depth + 1;
}

/* --- recursion without an end ---
 *
 * A function can end if some path through it has only calls of functions that can end. A function that cannot end
 * recurses for all arguments. */

typedef struct Ends {
    const uint8_t *ends; /* [func_count] */
    uint32_t library_count;
} Ends;

static bool expr_ends(const Ends *t, const Expr *e);

static bool exprs_end(const Ends *t, const ExprList *list)
{
    for (uint32_t i = 0; i < list->count; ++i)
        if (!expr_ends(t, list->items[i]))
            return false;
    return true;
}

/* Returns whether the evaluation of an expression can end. */
static bool expr_ends(const Ends *t, const Expr *e)
{
    for (; e; e = e->a) {
        bool is_lazy =
            e->kind == EXPR_BINARY && (e->op == TOKEN_LOGICAL_AND || e->op == TOKEN_LOGICAL_OR);
        const FuncDecl *callee = e->kind == EXPR_CALL ? e->callee.func : NULL;
        while (callee && callee->derivative_of)
            callee = callee->derivative_of;
        if (callee && callee->id >= t->library_count && !t->ends[callee->id])
            return false;
        if (!exprs_end(t, &e->args))
            return false;
        if (e->kind == EXPR_CHOICE ? !expr_ends(t, e->b) && !expr_ends(t, e->c)
                                   : !is_lazy && (!expr_ends(t, e->b) || !expr_ends(t, e->c)))
            return false;
        if (e->texture && (!expr_ends(t, e->texture->blur) || !expr_ends(t, e->texture->width)))
            return false;
    }
    return true;
}

/* Returns the EXIT_* by which control may leave a statement, on paths that end. */
static uint8_t stmt_ends(const Ends *t, const Stmt *s);

static uint8_t list_ends(const Ends *t, const StmtList *list)
{
    uint8_t exits = EXIT_NEXT;
    for (uint32_t i = 0; i < list->count && (exits & EXIT_NEXT); ++i)
        exits = (uint8_t)((exits & ~EXIT_NEXT) | stmt_ends(t, list->items[i]));
    return exits;
}

/* The body of a loop may run any number of times; that of do runs at least once. */
static uint8_t loop_ends(const Ends *t, const Stmt *s)
{
    if (s->init && !(stmt_ends(t, s->init) & EXIT_NEXT))
        return 0;
    bool is_do = s->kind == STMT_DO;
    if (!is_do && s->expr && !expr_ends(t, s->expr))
        return 0;
    uint8_t body = stmt_ends(t, s->body), exits = body & EXIT_RETURN;
    bool is_past =
        (body & EXIT_BREAK) ||
        (is_do ? (body & (EXIT_NEXT | EXIT_CONTINUE)) && expr_ends(t, s->expr) : s->expr != NULL);
    return (uint8_t)(exits | (is_past ? EXIT_NEXT : 0));
}

static uint8_t stmt_ends(const Ends *t, const Stmt *s)
{
    uint8_t exits = 0;
    switch (s->kind) {
    case STMT_BLOCK:
        return list_ends(t, &s->list);
    case STMT_DECLARE:
        for (uint32_t i = 0; i < s->vars.count; ++i)
            if (!expr_ends(t, s->vars.items[i]->init))
                return 0;
        return EXIT_NEXT;
    case STMT_EXPR:
        return expr_ends(t, s->expr) ? EXIT_NEXT : 0;
    case STMT_RETURN:
        return expr_ends(t, s->expr) ? EXIT_RETURN : 0;
    case STMT_BREAK:
        return EXIT_BREAK;
    case STMT_CONTINUE:
        return EXIT_CONTINUE;
    case STMT_WHILE:
    case STMT_DO:
    case STMT_FOR:
        return loop_ends(t, s);
    case STMT_IF:
        for (; s && s->kind == STMT_IF; s = s->other) {
            if (!expr_ends(t, s->expr))
                return exits;
            exits |= stmt_ends(t, s->body);
        }
        return (uint8_t)(exits | (s ? stmt_ends(t, s) : EXIT_NEXT));
    case STMT_EMPTY:
    case STMT_ERROR:
        break;
    }
    return EXIT_NEXT;
}

enum { ROUNDS_MAX = 16 }; /* a chain of functions that comes in a bad order takes a round each */

static void check_recursion(Walk *w)
{
    Sema *s = w->s;
    uint8_t *ends = ARENA_ARRAY(s->arena, uint8_t, s->module->func_count);
    Ends t = {ends, s->module->library ? s->module->library->func_count : 0};
    bool is_new = true;
    for (uint32_t round = 0; is_new; ++round) {
        is_new = false;
        if (round == ROUNDS_MAX)
            return;
        for (uint32_t i = w->order.count;
             i-- > 0;) { /* mostly callees first, in one direction or the other */
            FuncDecl *f = w->order.data[round % 2 ? i : w->order.count - 1 - i];
            if (!ends[f->id] && stmt_ends(&t, f->body) != 0)
                ends[f->id] = is_new = true;
        }
    }
    for (uint32_t i = 0; i < w->order.count; ++i)
        if (!ends[w->order.data[i]->id] && w->is_recursive[w->order.data[i]->id])
            report(s->diags, ENDLESS_RECURSION, w->order.data[i]->span, w->order.data[i]->name);
}

void check_call_graph(Sema *s)
{
    Walk w = {.s = s,
              .state = ARENA_ARRAY(s->arena, uint8_t, s->module->func_count),
              .is_recursive = ARENA_ARRAY(s->arena, bool, s->module->func_count),
              .place = ARENA_ARRAY(s->arena, uint32_t, s->module->func_count)};
    for (uint32_t i = 0; i < s->module->ast->funcs.count && !report_is_full(s->diags); ++i) {
        FuncDecl *f = s->module->ast->funcs.data[i];
        if (!f->body || f->is_abstract || f->type_params.count > 0 || w.state[f->id] != UNSEEN)
            continue;
        enter(&w, f);
        while (w.stack.count > 0) {
            Frame *top = &w.stack.data[w.stack.count - 1];
            FuncDecl *func = top->func;
            if (top->next_call < func->calls.count)
                follow(&w, func, &func->calls.data[top->next_call++]);
            else
                leave(&w, func);
        }
    }
    if (w.has_recursion && !has_errors(s))
        check_recursion(&w);
}
