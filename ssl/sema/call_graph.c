/* Who calls whom: undefined callees, and how deep calls go but for recursion. A walk with its own stack, since a
 * chain of calls may be as long as the source. */
#include "ssl/front/ssl_limits.h"
#include "ssl/sema/checker.h"

enum { UNSEEN, ACTIVE, DONE };

typedef struct Frame {
    FuncDecl *func;
    uint32_t next_call;
} Frame;

typedef struct Walk {
    Sema *s;
    uint8_t *state; /* [func_count] */
    ARRAY(Frame) stack;
} Walk;

static void enter(Walk *w, FuncDecl *f)
{
    Frame frame = {.func = f};
    w->state[f->id] = ACTIVE;
    f->call_depth = 1;
    array_push(w->s->arena, &w->stack, frame);
}

/* One call of the function on top of the stack. */
static void follow(Walk *w, FuncDecl *caller, const struct FuncCall *call)
{
    Sema *s = w->s;
    FuncDecl *callee = NULL;
    if (!call->callee->body) {
        report(s->diags, UNDEFINED_FUNCTION, call->span, call->callee->name);
        report(s->diags, NOTE_DECLARED, call->callee->span, NULL);
        return;
    }
    if (call->callee->is_library != caller->is_library) { /* checked with its own module */
        if (caller->call_depth <= call->callee->call_depth)
            caller->call_depth = call->callee->call_depth + 1;
        return;
    }
    for (FuncDecl *f = name_map_get(&s->module->functions, call->callee->name); f;
         f = f->next_overload)
        if (f == call->callee)
            callee = f;
    if (!callee)
        return;
    if (w->state[callee->id] == UNSEEN)
        enter(w, callee);
    else if (w->state[callee->id] == DONE && caller->call_depth <= callee->call_depth)
        caller->call_depth = callee->call_depth + 1;
}

static void leave(Walk *w, FuncDecl *f)
{
    w->state[f->id] = DONE;
    w->stack.count--;
    if (f->call_depth == SSL_MAX_CALL_DEPTH + 1)
        report(w->s->diags, CALLS_TOO_DEEP, f->span, f->name,
               text_of_number(w->s, SSL_MAX_CALL_DEPTH));
    FuncDecl *caller = w->stack.count > 0 ? w->stack.data[w->stack.count - 1].func : NULL;
    if (caller && caller->call_depth <= f->call_depth)
        caller->call_depth = f->call_depth + 1;
}

void check_call_graph(Sema *s)
{
    Walk w = {.s = s, .state = ARENA_ARRAY(s->arena, uint8_t, s->module->func_count)};
    for (uint32_t i = 0; i < s->module->ast->funcs.count && !report_is_full(s->diags); i++) {
        FuncDecl *f = s->module->ast->funcs.data[i];
        if (!f->body || w.state[f->id] != UNSEEN)
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
}
