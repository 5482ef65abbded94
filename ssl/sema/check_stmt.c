/* Checks of statements, and the ways in which control leaves them: the union over all paths. Conditions are not
 * evaluated, except for a literal `true` of a loop. */
#include "base/check.h"
#include "ssl/sema/checker.h"
#include "ssl/ssl_limits.h"

static void check_stmt(Sema *s, Stmt *stmt);

void check_local(Sema *s, VarDecl *var)
{
    ASSERT(s->func && var->type);
    bool was_over = s->function_scalars > SSL_MAX_FUNCTION_SCALARS;
    var->index = s->func->local_count++;
    s->function_scalars += var->type->scalars;
    if (!was_over && s->function_scalars > SSL_MAX_FUNCTION_SCALARS)
        report(s->diags, FUNCTION_TOO_LARGE, var->span, s->func->name,
               text_of_number(s, SSL_MAX_FUNCTION_SCALARS));
    if (var->name)
        scope_declare(s, var);
}

static void check_declaration(Sema *s, VarDecl *var)
{
    var->type = check_type(s, var->type_name, &var->sizes, var->init);
    if (!check_variable_type(s, var->type, "a variable", var->type_name->span))
        var->type = &type_error;
    if (var->init) {
        var->init = check_initialiser(s, var->init, var->type);
        var->is_assigned = true;
    } else if (var->is_const) {
        report(s->diags, CONST_UNINITIALISED, var->span, var->name);
    }
    check_local(s, var);
}

bool expr_has_effect(const Expr *e)
{
    for (; e; e = e->a) { /* a sum may be long on its left side */
        if (e->kind == EXPR_ERROR || e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP ||
            (e->kind == EXPR_CALL && e->callee.func))
            return true;
        for (uint32_t i = 0; i < e->args.count; ++i)
            if (expr_has_effect(e->args.items[i]))
                return true;
        if (expr_has_effect(e->b) || expr_has_effect(e->c))
            return true;
    }
    return false;
}

static Expr *check_effect(Sema *s, Expr *e)
{
    e = check_expr(s, e);
    if (!expr_has_effect(e))
        report(s->diags, NO_EFFECT, e->span, NULL);
    return e;
}

static uint8_t check_list(Sema *s, const StmtList *list)
{
    uint8_t exits = EXIT_NEXT;
    bool is_reported = false;
    for (uint32_t i = 0; i < list->count && !report_is_full(s->diags); ++i) {
        Stmt *stmt = list->items[i];
        bool is_reached = exits & EXIT_NEXT;
        check_stmt(s, stmt);
        if (is_reached) {
            exits = (uint8_t)((exits & ~EXIT_NEXT) | stmt->exits);
        } else if (!is_reported && stmt->kind != STMT_EMPTY) {
            report(s->diags, UNREACHABLE, stmt->span, NULL);
            is_reported = true;
        }
    }
    return exits;
}

static void check_block(Sema *s, Stmt *stmt)
{
    scope_open(s);
    ASSERT(!stmt->is_lobe || !s->lobe_level);
    if (stmt->is_lobe)
        s->lobe_level = s->scope_level;
    stmt->exits = check_list(s, &stmt->list);
    if (stmt->is_lobe)
        s->lobe_level = 0;
    scope_close(s);
}

/* A chain of else if may be long, so a loop checks the arms; exits are then computed from the last arm back. */
static void check_if(Sema *s, Stmt *stmt)
{
    ARRAY(Stmt *) arms = {0};
    Stmt *other = stmt;
    for (; other && other->kind == STMT_IF; other = other->other) {
        other->expr = check_condition(s, other->expr);
        check_stmt(s, other->body);
        array_push(s->arena, &arms, other);
    }
    if (other)
        check_stmt(s, other);
    uint8_t exits = other ? other->exits : EXIT_NEXT;
    for (uint32_t i = arms.count; i-- > 0;)
        exits = arms.data[i]->exits = (uint8_t)(exits | arms.data[i]->body->exits);
}

/* for, while and do. */
static void check_loop(Sema *s, Stmt *stmt)
{
    if (stmt->max_iters)
        check_max_iters(s, stmt);
    scope_open(s);
    if (stmt->init)
        check_stmt(s, stmt->init);
    ++s->loop_depth;
    if (stmt->expr && stmt->kind != STMT_DO)
        stmt->expr = check_condition(s, stmt->expr);
    if (stmt->step)
        stmt->step = check_effect(s, stmt->step);
    check_stmt(s, stmt->body);
    if (stmt->kind == STMT_DO)
        stmt->expr = check_condition(s, stmt->expr);
    --s->loop_depth;
    scope_close(s);

    uint8_t body = stmt->body->exits;
    bool is_endless = !stmt->expr || (stmt->expr->kind == EXPR_BOOL && stmt->expr->bool_value);
    bool is_condition_reached = stmt->kind != STMT_DO || (body & (EXIT_NEXT | EXIT_CONTINUE));
    bool is_left = (body & EXIT_BREAK) || (!is_endless && is_condition_reached);
    stmt->exits = (uint8_t)((body & EXIT_RETURN) | (is_left ? EXIT_NEXT : 0));
    if (stmt->exits == 0 && !has_errors(s))
        report(s->diags, ENDLESS_LOOP,
               ((Span){stmt->span.file, stmt->span.begin, stmt->span.begin + 2}), NULL);
}

static void check_return(Sema *s, Stmt *stmt)
{
    ASSERT(s->func && s->func->return_type);
    const Type *wanted = s->func->return_type;
    stmt->exits = EXIT_RETURN;
    if (type_is(wanted, SSL_VOID)) {
        if (stmt->expr) {
            stmt->expr = check_expr(s, stmt->expr);
            if (!type_is_error(stmt->expr->type))
                report(s->diags, RETURN_VALUE_UNWANTED, stmt->expr->span, s->func->name);
            if (!type_is_error(stmt->expr->type) && s->func->is_shader)
                report(
                    s->diags, NOTE_WRITE, (Span){0},
                    "a parameter 'out float name' and assign to it: that is what a shader gives");
        }
        return;
    }
    if (!stmt->expr) {
        report(s->diags, RETURN_VALUE_MISSING, stmt->span, s->func->name, text_of(s, wanted));
        return;
    }
    stmt->expr = coerce(s, check_value(s, stmt->expr), wanted);
}

static void check_jump(Sema *s, Stmt *stmt)
{
    bool is_break = stmt->kind == STMT_BREAK;
    stmt->exits = is_break ? EXIT_BREAK : EXIT_CONTINUE;
    if (s->loop_depth > 0)
        return;
    report(s->diags, OUTSIDE_LOOP, stmt->span, is_break ? "break" : "continue");
    stmt->exits = EXIT_NEXT;
}

static void check_stmt(Sema *s, Stmt *stmt)
{
    stmt->exits = EXIT_NEXT;
    switch (stmt->kind) {
    case STMT_ERROR:
    case STMT_EMPTY:
        break;
    case STMT_BLOCK:
        check_block(s, stmt);
        break;
    case STMT_DECLARE:
        for (uint32_t i = 0; i < stmt->vars.count; ++i)
            check_declaration(s, stmt->vars.items[i]);
        break;
    case STMT_EXPR:
        stmt->expr = check_effect(s, stmt->expr);
        break;
    case STMT_IF:
        check_if(s, stmt);
        break;
    case STMT_WHILE:
    case STMT_DO:
    case STMT_FOR:
        check_loop(s, stmt);
        break;
    case STMT_BREAK:
    case STMT_CONTINUE:
        check_jump(s, stmt);
        break;
    case STMT_RETURN:
        check_return(s, stmt);
        break;
    }
}

void check_body(Sema *s, FuncDecl *func)
{
    s->func = func;
    s->loop_depth = 0;
    s->function_scalars = 0;
    scope_open(s);
    for (uint32_t i = 0; i < func->params.count; ++i)
        check_local(s, func->params.items[i]);
    func->body->exits =
        func->body->kind == STMT_BLOCK ? check_list(s, &func->body->list) : EXIT_RETURN;
    scope_close(s);
    if (!func->is_bad && (func->body->exits & EXIT_NEXT) && !type_is(func->return_type, SSL_VOID) &&
        !type_is_error(func->return_type)) {
        Span end = {func->body->span.file, func->body->span.end - 1, func->body->span.end};
        report(s->diags, MISSING_RETURN, end, func->name, text_of(s, func->return_type));
    }
    for (uint32_t i = 0; i < func->params.count && func->is_shader; ++i) {
        const VarDecl *param = func->params.items[i];
        if (param->direction == DIRECTION_OUT && !param->is_assigned && param->name)
            report(s->diags, OUTPUT_UNASSIGNED, param->span, param->name);
    }
}
