/* The tree as text: "kind detail : type", children indented by two. */
#include "base/check.h"
#include "ssl/sema/sema.h"

static void print_expr(const Expr *e, uint32_t indent, StrBuf *out);
static void print_stmt(const Stmt *s, uint32_t indent, StrBuf *out);

enum { INDENT_MAX = 64 }; /* a long sum is deep, and must not become as wide */

static void begin(uint32_t indent, const char *text, StrBuf *out)
{
    for (uint32_t i = 0; i < indent && i < INDENT_MAX; ++i)
        strbuf_append_c(out, "  ");
    strbuf_append_c(out, text);
}

static void print_type_text(const Type *t, StrBuf *out)
{
    const Type *element = t;
    while (element->kind == TYPE_ARRAY)
        element = element->element;
    strbuf_append_c(out, element->kind == TYPE_STRUCT  ? element->decl->name
                         : element->kind == TYPE_BASIC ? ssl_type_name(element->basic)
                                                       : "?");
    for (; t->kind == TYPE_ARRAY; t = t->element)
        strbuf_printf(out, "[%u]", t->count);
}

static void print_type(const Type *t, StrBuf *out)
{
    if (!t)
        return;
    strbuf_append_c(out, " : ");
    print_type_text(t, out);
}

/* <Pair<float>, int>, as written */
static void print_type_args(const TypeArgs *args, StrBuf *out)
{
    for (uint32_t i = 0; args && i < args->count; ++i) {
        const TypeName *name = &args->items[i];
        strbuf_append_c(out, i > 0 ? ", " : "<");
        for (; name->inner; name = name->inner)
            strbuf_append_c(out, name->diff == DIFF_TYPE_PAIR ? "diff_pair " : "differential ");
        strbuf_append_c(out, name->struct_name ? name->struct_name : ssl_type_name(name->basic));
        print_type_args(&name->args, out);
        for (uint32_t k = 0; k < args->items[i].sizes.count; ++k)
            strbuf_append_c(out, "[]");
        strbuf_append_c(out, i + 1 == args->count ? ">" : "");
    }
}

/* The <T, U> of what is generic, or what they stand for in an instance. */
static void print_type_params(const TypeParamList *params, const Binding *bound, StrBuf *out)
{
    for (uint32_t i = 0; i < params->count; ++i) {
        strbuf_append_c(out, i > 0 ? ", " : "<");
        if (bound)
            print_type_text(bound->type, out);
        else
            strbuf_append_c(out, params->items[i].name);
        bound = bound ? bound->next : NULL;
        strbuf_append_c(out, i + 1 == params->count ? ">" : "");
    }
}

static const char *kind_name(const Expr *e)
{
    static const char *const names[] = {[EXPR_ERROR] = "error",     [EXPR_BOOL] = "bool",
                                        [EXPR_INT] = "int",         [EXPR_FLOAT] = "float",
                                        [EXPR_STRING] = "string",   [EXPR_NAME] = "name",
                                        [EXPR_UNARY] = "unary",     [EXPR_BINARY] = "binary",
                                        [EXPR_CHOICE] = "choice",   [EXPR_ASSIGN] = "assign",
                                        [EXPR_STEP] = "step",       [EXPR_CALL] = "call",
                                        [EXPR_LIST] = "list",       [EXPR_CONSTRUCT] = "construct",
                                        [EXPR_INDEX] = "index",     [EXPR_MEMBER] = "member",
                                        [EXPR_GLOBAL] = "global",   [EXPR_ATTRIBUTE] = "attribute",
                                        [EXPR_CLOSURE] = "closure", [EXPR_TEXTURE] = "texture",
                                        [EXPR_CONVERT] = "convert", [EXPR_DETACH] = "detach",
                                        [EXPR_ASK] = "ask"};
    return names[e->kind];
}

static void print_detail(const Expr *e, StrBuf *out)
{
    switch (e->kind) {
    case EXPR_BOOL:
        strbuf_append_c(out, e->bool_value ? " true" : " false");
        break;
    case EXPR_INT:
        strbuf_printf(out, " %d", e->int_value);
        break;
    case EXPR_FLOAT:
        strbuf_printf(out, " %.9g", (double)e->float_value);
        break;
    case EXPR_UNARY:
    case EXPR_BINARY:
    case EXPR_ASSIGN:
        strbuf_printf(out, " %s", token_kind_text(e->op));
        break;
    case EXPR_STEP:
        strbuf_printf(out, " %s%s", e->is_prefix ? "before " : "after ", token_kind_text(e->op));
        break;
    case EXPR_STRING:
        strbuf_printf(out, " \"%s\"", e->name);
        break;
    case EXPR_TEXTURE:
        strbuf_printf(out, " %s %s", token_kind_text(e->texture->form), e->name);
        break;
    default:
        if (e->name)
            strbuf_printf(out, " %s", e->name);
        print_type_args(e->type_args, out);
    }
}

static void print_expr(const Expr *e, uint32_t indent, StrBuf *out)
{
    begin(indent, kind_name(e), out);
    print_detail(e, out);
    print_type(e->type, out);
    strbuf_append_char(out, '\n');
    const Expr *const children[] = {e->a, e->b, e->c};
    for (size_t i = 0; i < SORT_COUNT_OF(children); ++i)
        if (children[i])
            print_expr(children[i], indent + 1, out);
    for (uint32_t i = 0; i < e->args.count; ++i)
        print_expr(e->args.items[i], indent + 1, out);
    for (uint32_t i = 0; e->texture && i < e->texture->option_count; ++i) {
        begin(indent + 1, "option ", out);
        strbuf_printf(out, "%s\n", e->texture->options[i].name);
        print_expr(e->texture->options[i].value, indent + 2, out);
    }
}

static void print_var(const VarDecl *v, uint32_t indent, StrBuf *out)
{
    static const char *const kinds[] = {"var", "param", "member", "constant", "texture"};
    static const char *const directions[] = {"", " out", " inout"};
    begin(indent, kinds[v->kind], out);
    strbuf_printf(out, "%s%s %s", v->is_const ? " const" : "", directions[v->direction],
                  v->name ? v->name : "-");
    print_type(v->type, out);
    strbuf_append_char(out, '\n');
    if (v->init)
        print_expr(v->init, indent + 1, out);
    for (uint32_t i = 0; i < v->metadata.count; ++i) {
        begin(indent + 1, "metadata ", out);
        strbuf_printf(out, "%s\n", v->metadata.items[i].name);
        print_expr(v->metadata.items[i].value, indent + 2, out);
    }
}

static void print_stmt(const Stmt *s, uint32_t indent, StrBuf *out)
{
    static const char *const names[] = {[STMT_ERROR] = "error",       [STMT_EMPTY] = "empty",
                                        [STMT_BLOCK] = "block",       [STMT_DECLARE] = "declare",
                                        [STMT_EXPR] = "expression",   [STMT_IF] = "if",
                                        [STMT_WHILE] = "while",       [STMT_DO] = "do",
                                        [STMT_FOR] = "for",           [STMT_BREAK] = "break",
                                        [STMT_CONTINUE] = "continue", [STMT_RETURN] = "return"};
    begin(indent, names[s->kind], out);
    strbuf_append_char(out, '\n');
    if (s->init)
        print_stmt(s->init, indent + 1, out);
    if (s->expr)
        print_expr(s->expr, indent + 1, out);
    if (s->step)
        print_expr(s->step, indent + 1, out);
    for (uint32_t i = 0; i < s->vars.count; ++i)
        print_var(s->vars.items[i], indent + 1, out);
    for (uint32_t i = 0; i < s->list.count; ++i)
        print_stmt(s->list.items[i], indent + 1, out);
    if (s->body)
        print_stmt(s->body, indent + 1, out);
    if (s->other)
        print_stmt(s->other, indent + 1, out);
}

static void print_func(const FuncDecl *f, StrBuf *out)
{
    strbuf_printf(out, "%s %s%s%s",
                  f->is_shader ? "shader"
                  : f->owner   ? "method"
                               : "function",
                  f->owner ? f->owner->name : "", f->owner ? "." : "", f->name);
    print_type_params(&f->type_params, NULL, out);
    if (f->generic)
        print_type_params(&f->generic->type_params, f->bindings, out);
    print_type(f->return_type, out);
    strbuf_append_char(out, '\n');
    for (uint32_t i = 0; i < f->params.count; ++i)
        print_var(f->params.items[i], 1, out);
    if (f->body)
        print_stmt(f->body, 1, out);
}

void ast_print(const Ast *ast, StrBuf *out)
{
    for (uint32_t i = 0; i < ast->structs.count; ++i) {
        const StructDecl *decl = ast->structs.data[i];
        strbuf_printf(out, "struct %s", decl->name);
        print_type_params(&decl->type_params, NULL, out);
        strbuf_append_char(out, '\n');
        for (uint32_t k = 0; k < decl->members.count; ++k)
            print_var(decl->members.items[k], 1, out);
    }
    for (uint32_t i = 0; i < ast->textures.count; ++i)
        print_var(ast->textures.data[i], 0, out);
    for (uint32_t i = 0; i < ast->attributes.count; ++i)
        print_var(ast->attributes.data[i], 0, out);
    for (uint32_t i = 0; i < ast->constants.count; ++i)
        print_var(ast->constants.data[i], 0, out);
    for (uint32_t i = 0; i < ast->funcs.count; ++i)
        print_func(ast->funcs.data[i], out);
}
