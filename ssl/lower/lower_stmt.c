/* Statements. break, continue and return set a flag; what may come after one of them in the same list
 * stands under an IF that asks the flags, or, where one arm of an if always leaves, in its other arm:
 *
 *   if (c) return a;          IF c { result = a } else { rest }
 *   rest
 *
 *   if (c) { if (d) break; x }  IF c { IF d { broke = true } else { x } }   results: broke ...
 *   rest                        IF !broke { rest }
 *
 * A flag is a result of a region only if somebody looks at it later (Emit.needed). */
#include "base/check.h"
#include "ssl/lower/emit.h"

static void declare(Emit *m, const VarDecl *var)
{
    Value v = var->init ? lower_expr(m, var->init) : value_zero(m, var->type);
    m->slot_of[var->index] = slots_allocate(m, v);
}

static bool is_empty(const Sequence *s)
{
    for (; s; s = s->next)
        for (uint32_t i = 0; i < s->count; ++i)
            if (s->items[i]->kind != STMT_EMPTY)
                return false;
    return true;
}

IrValue exits_taken(Emit *m, uint8_t exits)
{
    IrValue taken = ir_const_bool(m->b, false);
    if (exits & EXIT_RETURN)
        taken = m->env.data[m->returned];
    if (exits & EXIT_BREAK)
        taken = ir_build2(m->b, IR_BOR, taken, m->env.data[m->loop->broke]);
    if (exits & EXIT_CONTINUE)
        taken = ir_build2(m->b, IR_BOR, taken, m->env.data[m->loop->continued]);
    return taken;
}

/* The rest of a list, unless one of the exits was taken. */
static void lower_guarded(Emit *m, uint8_t exits, const Sequence *rest)
{
    IrValue taken = exits_taken(m, exits);
    IfRegion region;
    bool known;
    if (ir_is_const_bool(m->b, taken, &known)) {
        if (!known)
            lower_sequence(m, rest);
        return;
    }
    Collector c = collect_start(m, m->needed);
    collect_sequence(&c, rest);
    if (!region_if(m, ir_build1(m->b, IR_BNOT, taken), c.set, &region))
        return;
    lower_sequence(m, rest);
    region_else(m, &region, NULL, 0);
    region_end(m, &region, NULL, NULL);
}

/* IF with one list an arm. */
static void lower_arms(Emit *m, IrValue condition, const Sequence *yes, const Sequence *no)
{
    IfRegion region;
    Collector c = collect_start(m, m->needed);
    collect_sequence(&c, yes);
    collect_sequence(&c, no);
    if (!region_if(m, condition, c.set, &region))
        return;
    lower_sequence(m, yes);
    region_else(m, &region, NULL, 0);
    lower_sequence(m, no);
    region_end(m, &region, NULL, NULL);
}

/* As lower_if, of a chain of many arms. */
static bool lower_long_if(Emit *m, const Stmt *s, const Sequence *rest)
{
    uint8_t needed = m->needed;
    m->needed |= s->exits & (uint8_t)~EXIT_NEXT;
    lower_if_chain(m, s);
    m->needed = needed;
    if (s->exits == EXIT_NEXT)
        return false;
    if ((s->exits & EXIT_NEXT) && !is_empty(rest))
        lower_guarded(m, s->exits, rest);
    return true;
}

/* An if and all that follows it. True if `rest` was taken care of. */
static bool lower_if(Emit *m, const Stmt *s, const Sequence *rest)
{
    IrValue condition = lower_scalar(m, s->expr);
    bool known, has_rest = !is_empty(rest);
    bool yes_ends = s->body->exits & EXIT_NEXT;
    bool no_ends = !s->other || (s->other->exits & EXIT_NEXT);
    Sequence yes = {&s->body, 1, NULL}, no = {&s->other, s->other ? 1 : 0, NULL};
    if (ir_is_const_bool(m->b, condition, &known)) {
        Sequence all = known ? yes : no;
        all.next = rest;
        lower_sequence(m, &all);
        return true;
    }
    if (s->exits == EXIT_NEXT || !has_rest || (!yes_ends && !no_ends)) {
        lower_arms(m, condition, &yes, &no);
        return s->exits != EXIT_NEXT;
    }
    if (!yes_ends || !no_ends) {
        if (yes_ends)
            yes.next = rest;
        else
            no.next = rest;
        lower_arms(m, condition, &yes, &no);
        return true;
    }
    uint8_t needed = m->needed;
    m->needed |= s->exits;
    lower_arms(m, condition, &yes, &no);
    m->needed = needed;
    lower_guarded(m, s->exits, rest);
    return true;
}

static void lower_return(Emit *m, const Stmt *s)
{
    if (s->expr) {
        Value v = lower_expr(m, s->expr);
        for (uint32_t i = 0; i < v.type->leaves; ++i)
            m->env.data[m->result + i] = v.leaf[i];
    }
    m->env.data[m->returned] = ir_const_bool(m->b, true);
}

/* One statement without exits, and what follows it is the caller's. */
static void lower_plain(Emit *m, const Stmt *s)
{
    if (s->kind == STMT_EXPR)
        lower_expr(m, s->expr);
    for (uint32_t i = 0; s->kind == STMT_DECLARE && i < s->vars.count; ++i)
        declare(m, s->vars.items[i]);
}

void lower_sequence(Emit *m, const Sequence *sequence)
{
    Sequence *at = ARENA_NEW(m->arena, Sequence);
    if (sequence)
        *at = *sequence;
    for (;;) {
        while (at->count == 0) {
            if (!at->next)
                return;
            *at = *at->next;
        }
        const Stmt *s = at->items[0];
        ++at->items;
        --at->count;
        switch (s->kind) {
        case STMT_BLOCK: {
            Sequence *inner = ARENA_NEW(m->arena, Sequence);
            *inner = (Sequence){s->list.items, s->list.count, at};
            at = inner;
            break;
        }
        case STMT_IF:
            if (lower_is_long_if(s) ? lower_long_if(m, s, at) : lower_if(m, s, at))
                return;
            break;
        case STMT_WHILE:
        case STMT_DO:
        case STMT_FOR:
            lower_loop(m, s);
            if (!(s->exits & EXIT_NEXT))
                return;
            if (s->exits & EXIT_RETURN) {
                if (!is_empty(at))
                    lower_guarded(m, EXIT_RETURN, at);
                return;
            }
            break;
        case STMT_BREAK:
            m->env.data[m->loop->broke] = ir_const_bool(m->b, true);
            return;
        case STMT_CONTINUE:
            m->env.data[m->loop->continued] = ir_const_bool(m->b, true);
            return;
        case STMT_RETURN:
            lower_return(m, s);
            return;
        case STMT_EXPR:
        case STMT_DECLARE:
        case STMT_EMPTY:
            lower_plain(m, s);
            break;
        case STMT_ERROR:
            UNREACHABLE();
        }
    }
}
