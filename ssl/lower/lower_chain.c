/* Chains of many arms, else if or ?:, which would stand one inside the other. They are taken by groups instead, each
 * behind a flag that says that no arm was taken yet, so that a chain is as deep as a group, however long it is:
 *
 *   pending = true
 *   IF a { pending = false; x } else { IF b { pending = false; y } else ... }
 *   IF pending { the next group }
 *   ... */
#include "ssl/lower/emit.h"

enum { ARMS_NESTED = 32 };

typedef struct Arm {
    const Expr *condition; /* NULL: the last else */
    Stmt *const *body;     /* of an if; NULL: of ?: */
    const Expr *value;     /* of ?: */
} Arm;

typedef struct Chain {
    ARRAY(Arm) arms;
    uint32_t pending; /* slot: bool */
    uint32_t result;  /* of ?:, first slot of its value */
    const Type *type; /* of it */
} Chain;

static bool is_long(uint32_t arms)
{
    return arms > ARMS_NESTED;
}

static SlotSet assigned_by(Emit *m, const Chain *chain, uint32_t first, uint32_t end)
{
    Collector c = collect_start(m, m->needed);
    collect_slot(&c, chain->pending);
    for (uint32_t i = 0; chain->type && i < chain->type->leaves; ++i)
        collect_slot(&c, chain->result + i);
    for (uint32_t i = first; i < end; ++i) {
        const Arm *arm = &chain->arms.data[i];
        collect_expr(&c, arm->condition);
        collect_expr(&c, arm->value);
        if (arm->body)
            collect_stmt(&c, *arm->body);
    }
    return c.set;
}

static void lower_arm(Emit *m, const Chain *chain, const Arm *arm)
{
    m->env.data[chain->pending] = ir_const_bool(m->b, false);
    if (arm->body) {
        Sequence body = {arm->body, 1, NULL};
        lower_sequence(m, &body);
        return;
    }
    Value v = lower_expr(m, arm->value);
    for (uint32_t i = 0; i < v.type->leaves; ++i)
        m->env.data[chain->result + i] = v.leaf[i];
}

/* Lowers the arms [first, end), each nested in the one before. */
static void lower_group(Emit *m, const Chain *chain, uint32_t first, uint32_t end)
{
    bool known;
    IfRegion region;
    if (first == end)
        return;
    const Arm *arm = &chain->arms.data[first];
    IrValue condition =
        arm->condition ? lower_scalar(m, arm->condition) : ir_const_bool(m->b, true);
    if (ir_is_const_bool(m->b, condition, &known)) {
        if (known)
            lower_arm(m, chain, arm);
        else
            lower_group(m, chain, first + 1, end);
        return;
    }
    if (!region_if(m, condition, assigned_by(m, chain, first, end), &region))
        return;
    lower_arm(m, chain, arm);
    region_else(m, &region, NULL, 0);
    lower_group(m, chain, first + 1, end);
    region_end(m, &region, NULL, NULL);
}

static void lower_groups(Emit *m, Chain *chain)
{
    bool known;
    for (uint32_t first = 0; first < chain->arms.count; first += ARMS_NESTED) {
        uint32_t left = chain->arms.count - first;
        uint32_t end = first + (left < ARMS_NESTED ? left : ARMS_NESTED);
        IrValue pending = m->env.data[chain->pending];
        IfRegion region;
        if (ir_is_const_bool(m->b, pending, &known)) {
            if (known)
                lower_group(m, chain, first, end);
            continue;
        }
        if (!region_if(m, pending, assigned_by(m, chain, first, end), &region))
            return;
        lower_group(m, chain, first, end);
        region_else(m, &region, NULL, 0);
        region_end(m, &region, NULL, NULL);
    }
}

static void begin(Emit *m, Chain *chain)
{
    IrValue yes = ir_const_bool(m->b, true);
    chain->pending = slots_allocate(m, (Value){type_basic(SSL_BOOL), &yes});
}

bool lower_is_long_if(const Stmt *s)
{
    uint32_t arms = 0;
    for (; s && s->kind == STMT_IF && !is_long(arms); s = s->other)
        ++arms;
    return is_long(arms);
}

void lower_if_chain(Emit *m, const Stmt *s)
{
    Chain chain = {0};
    Stmt *const *other = NULL;
    for (; s && s->kind == STMT_IF; s = *other) {
        Arm arm = {.condition = s->expr, .body = &s->body};
        array_push(m->arena, &chain.arms, arm);
        other = &s->other;
    }
    if (s) {
        Arm last = {.body = other};
        array_push(m->arena, &chain.arms, last);
    }
    begin(m, &chain);
    lower_groups(m, &chain);
}

bool lower_is_long_choice(const Expr *e)
{
    uint32_t arms = 0;
    for (; e->kind == EXPR_CHOICE && !is_long(arms); e = e->c)
        ++arms;
    return is_long(arms);
}

Value lower_choice_chain(Emit *m, const Expr *e)
{
    Chain chain = {.type = e->type};
    IrValue *leaf = value_leaves(m, e->type);
    uint32_t mark = m->env.count;
    for (; e->kind == EXPR_CHOICE; e = e->c) {
        Arm arm = {.condition = e->a, .value = e->b};
        array_push(m->arena, &chain.arms, arm);
    }
    Arm last = {.value = e};
    array_push(m->arena, &chain.arms, last);
    begin(m, &chain);
    chain.result = slots_allocate(m, value_zero(m, chain.type));
    lower_groups(m, &chain);
    for (uint32_t i = 0; i < chain.type->leaves; ++i)
        leaf[i] = m->env.data[chain.result + i];
    slots_forget(m, mark);
    return (Value){chain.type, leaf};
}
