/* Slots: making them, and finding those that a piece of the tree may assign. */
#include "base/check.h"
#include "ssl/lower/emit.h"

uint32_t slots_allocate(Emit *m, Value initial)
{
    ASSERT(m->env.count == m->stamps.count);
    uint32_t first = m->env.count;
    for (uint32_t i = 0; i < initial.type->leaves; ++i) {
        array_push(m->arena, &m->env, initial.leaf[i]);
        array_push(m->arena, &m->stamps, 0);
    }
    return first;
}

void slots_forget(Emit *m, uint32_t mark)
{
    ASSERT(mark <= m->env.count && m->env.count == m->stamps.count);
    m->env.count = mark;
    m->stamps.count = mark;
}

Collector collect_start(Emit *m, uint8_t flags)
{
    ++m->stamp;
    return (Collector){.m = m, .mark = m->env.count, .flags = flags};
}

static void add_slots(Collector *c, uint32_t first, uint32_t count)
{
    Emit *m = c->m;
    for (uint32_t slot = first; slot < first + count && slot < c->mark; ++slot)
        if (m->stamps.data[slot] != m->stamp) {
            m->stamps.data[slot] = m->stamp;
            array_push(m->arena, &c->set, slot);
        }
}

/* The leaves that writing to `e` may change; a variable that is declared inside has no slots yet. */
static void add_target(Collector *c, const Expr *e)
{
    const Type *type = e->type;
    uint32_t leaf = 0, count = type->leaves;
    for (;; e = e->a) {
        if (e->kind == EXPR_NAME) {
            uint32_t slot = c->m->slot_of[e->var->index];
            if (slot != NO_SLOT)
                add_slots(c, slot + leaf, count);
            return;
        }
        const Type *whole = e->a->type;
        bool is_component = whole->kind == TYPE_BASIC;
        if (e->kind == EXPR_MEMBER && !is_component) {
            leaf += whole->decl->members.items[e->member]->leaf;
        } else if (
            is_component) { /* a component that is known is its own slot; else all may change */
            bool is_one =
                e->kind == EXPR_MEMBER && e->swizzle.count == 1 && count == 1 && leaf == 0;
            leaf = is_one ? e->swizzle.lane[0] : 0;
            count = is_one ? 1 : whole->leaves;
        }
    }
}

static void add_written_arguments(Collector *c, const Expr *e)
{
    const FuncDecl *f = e->callee.func;
    for (uint32_t i = 0; f && i < e->args.count; ++i)
        if (f->params.items[i]->direction != DIRECTION_IN)
            add_target(c, e->args.items[i]);
}

void collect_expr(Collector *c, const Expr *e)
{
    for (; e; e = e->a) { /* a sum may be long on its left side */
        if (e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP)
            add_target(c, e->a);
        if (e->kind == EXPR_CALL)
            add_written_arguments(c, e);
        collect_expr(c, e->b);
        collect_expr(c, e->c);
        for (uint32_t i = 0; i < e->args.count; ++i)
            collect_expr(c, e->args.items[i]);
        if (e->texture) {
            collect_expr(c, e->texture->blur);
            collect_expr(c, e->texture->width);
        }
    }
}

void collect_slot(Collector *c, uint32_t slot)
{
    add_slots(c, slot, 1);
}

static void add_exit(Collector *c, const Stmt *s)
{
    Emit *m = c->m;
    if (s->kind == STMT_RETURN) {
        add_slots(c, m->result, m->func->return_type->leaves);
        if (c->flags & EXIT_RETURN)
            add_slots(c, m->returned, 1);
    } else if (c->loops == 0) { /* else it leaves a loop inside */
        bool is_break = s->kind == STMT_BREAK;
        if (c->flags & (is_break ? EXIT_BREAK : EXIT_CONTINUE))
            add_slots(c, is_break ? m->loop->broke : m->loop->continued, 1);
    }
}

static void collect_but_else(Collector *c, const Stmt *s)
{
    bool is_loop = s->kind == STMT_WHILE || s->kind == STMT_DO || s->kind == STMT_FOR;
    if (s->kind == STMT_RETURN || s->kind == STMT_BREAK || s->kind == STMT_CONTINUE)
        add_exit(c, s);
    collect_stmt(c, s->init);
    c->loops += is_loop;
    collect_expr(c, s->expr);
    collect_expr(c, s->step);
    collect_stmt(c, s->body);
    c->loops -= is_loop;
    for (uint32_t i = 0; i < s->list.count; ++i)
        collect_stmt(c, s->list.items[i]);
    for (uint32_t i = 0; i < s->vars.count; ++i)
        collect_expr(c, s->vars.items[i]->init);
}

void collect_stmt(Collector *c, const Stmt *s)
{
    for (; s; s = s->other) /* a chain of else if may be long */
        collect_but_else(c, s);
}

void collect_sequence(Collector *c, const Sequence *sequence)
{
    for (; sequence; sequence = sequence->next)
        for (uint32_t i = 0; i < sequence->count; ++i)
            collect_stmt(c, sequence->items[i]);
}
