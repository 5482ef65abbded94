/* while, for and do as LOOP, which runs its body at least once and then asks go_on:
 *
 *   while (c) body            LOOP { IF c { body; step unless left; again = !left } else { again = false }
 *   for (...; c; step) body          go_on = again }
 *   do body while (c)         LOOP { body; go_on = !left && c }
 *
 * "left" is broke or returned; continue is over when the body is. The loop carries what its condition, body
 * and step may assign, and nothing else. */
#include "ssl/lower/emit.h"

/* Returns the span for messages: the keyword, with the condition if there is one. */
static Span head_span(const Stmt *s)
{
    Span span = {s->span.file, s->span.begin, s->span.begin + 2};
    return s->expr && s->kind != STMT_DO ? span_join(span, s->expr->span) : span;
}

static void lower_body(Emit *m, const Stmt *s)
{
    Sequence body = {&s->body, 1, NULL};
    lower_sequence(m, &body);
}

/* Evaluates `e`, a condition or a step, unless the loop was left. Returns the value of go_on after it. */
static IrValue unless_left(Emit *m, const Expr *e, bool is_condition)
{
    IrValue left = exits_taken(m, EXIT_BREAK | EXIT_RETURN);
    IrValue on = ir_build1(m->b, IR_BNOT, left), value = on;
    bool known;
    IfRegion region;
    if (ir_is_const_bool(m->b, left, &known)) {
        if (!known && e)
            value = is_condition ? lower_scalar(m, e) : (lower_expr(m, e), on);
        return value;
    }
    if (!e)
        return on;
    Collector c = collect_start(m, 0);
    collect_expr(&c, e);
    if (!region_if(m, on, c.set, &region))
        return on;
    value = ir_const_bool(m->b, true);
    if (is_condition)
        value = lower_scalar(m, e);
    else
        lower_expr(m, e);
    region_else(m, &region, &value, 1);
    IrValue no = ir_const_bool(m->b, false);
    region_end(m, &region, &no, &value);
    return value;
}

/* Lowers while and for, which evaluate their condition first. */
static IrValue lower_tested(Emit *m, const Stmt *s, SlotSet carried)
{
    IrValue condition = lower_scalar(m, s->expr), again;
    bool known;
    IfRegion region;
    if (ir_is_const_bool(m->b, condition, &known)) {
        if (!known)
            return condition;
        lower_body(m, s);
        return unless_left(m, s->step, false);
    }
    if (!region_if(m, condition, carried, &region))
        return condition;
    lower_body(m, s);
    again = unless_left(m, s->step, false);
    region_else(m, &region, &again, 1);
    IrValue no = ir_const_bool(m->b, false);
    region_end(m, &region, &no, &again);
    return again;
}

/* Collects the slots that an iteration may assign, except the flags that each iteration resets. */
static SlotSet carried_slots(Emit *m, const Stmt *s)
{
    Collector c = collect_start(m, EXIT_RETURN);
    collect_expr(&c, s->expr);
    collect_stmt(&c, s->body);
    collect_expr(&c, s->step);
    return c.set;
}

void lower_loop(Emit *m, const Stmt *s)
{
    uint32_t mark = m->env.count;
    uint8_t needed = m->needed;
    if (s->init) {
        Sequence init = {&s->init, 1, NULL};
        lower_sequence(m, &init);
    }
    IrValue no = ir_const_bool(m->b, false);
    Value flag = {type_basic(SSL_BOOL), &no};
    LoopFrame frame = {.outer = m->loop};
    frame.broke = slots_allocate(m, flag);
    frame.continued = slots_allocate(m, flag);
    m->loop = &frame;
    SlotSet carried = carried_slots(m, s);
    IrValue *state = ARENA_ARRAY(m->arena, IrValue, carried.count);
    for (uint32_t i = 0; i < carried.count; ++i)
        state[i] = m->env.data[carried.data[i]];

    lower_set_span(m, head_span(s));
    Span span = lower_span(m->lowering, head_span(s));
    uint32_t site = ir_add_fault_site(m->lowering->module, SSL_FAULT_LOOP, span);
    m->lowering->module->fault_sites.data[site].max_trips = s->max_trips;
    ir_loop_begin(m->b, site, state, carried.count, state);
    ++m->region_depth;
    for (uint32_t i = 0; i < carried.count; ++i)
        m->env.data[carried.data[i]] = carried.data[i] == m->returned ? no : state[i];
    m->needed = EXIT_BREAK | EXIT_RETURN;
    IrValue go_on;
    if (s->kind == STMT_DO || !s->expr) {
        lower_body(m, s);
        go_on = unless_left(m, s->kind == STMT_DO ? s->expr : s->step, s->kind == STMT_DO);
    } else {
        go_on = lower_tested(m, s, carried);
    }
    for (uint32_t i = 0; i < carried.count; ++i)
        state[i] = m->env.data[carried.data[i]];
    ir_loop_end(m->b, go_on, state, carried.count, state);
    --m->region_depth;
    for (uint32_t i = 0; i < carried.count; ++i)
        m->env.data[carried.data[i]] = state[i];
    m->needed = needed;
    m->loop = frame.outer;
    slots_forget(m, mark);
}
