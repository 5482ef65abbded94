/* Statements, functions and the shader. */
#include "tests/ssl/random/source_writer.h"

#include <string.h>

enum { TURNS_MAX = 60 };

static void text(Gen *g, const char *s)
{
    strbuf_append_c(g->out, s);
}

const char *writer_new_name(Gen *g)
{
    return arena_printf(g->arena, "v%u", g->next_name++);
}

void writer_add_var(Gen *g, const char *name, GenType t, bool is_writable)
{
    array_push(g->arena, &g->vars, (GenVar){.name = name, .type = t, .is_writable = is_writable});
}

static bool has_var(Gen *g, GenType t)
{
    for (uint32_t i = 0; i < g->vars.count; ++i)
        if (writer_same(g->vars.data[i].type, t))
            return true;
    return false;
}

/* --- simple statements --- */

static void declaration(Gen *g, uint32_t depth)
{
    GenType t = writer_type(g, true);
    bool is_array = t.dims > 0;
    const char *name = writer_new_name(g);
    bool is_constant = g->is_state && writer_pick(g, 2);
    text(g, is_constant ? "const " : "");
    writer_type_name(g, t);
    text(g, name);
    writer_type_sizes(g, t);
    if (is_constant || !writer_one_in(g, 8)) {
        text(g, " = ");
        if (is_array && (!has_var(g, t) || writer_pick(g, 2)))
            writer_literal(g, t);
        else
            writer_expr(g, t, depth);
    }
    if (!is_array && t.base <= GEN_FLOAT && writer_one_in(g, 6)) { /* a second declarator */
        const char *second = writer_new_name(g);
        strbuf_printf(g->out, ", %s = ", second);
        writer_expr(g, t, depth);
        writer_add_var(g, second, t, !is_constant);
    }
    text(g, ";");
    writer_add_var(g, name, t, !is_constant);
}

static void assignment(Gen *g, uint32_t depth)
{
    static const char *const plain[] = {" = ", " += ", " -= ", " *= "};
    static const char *const whole[] = {
        " = ", " += ", " -= ", " *= ", " /= ", " %= ", " &= ", " |= ", " ^= ", " <<= ", " >>= "};
    GenType t = writer_type(g, true);
    if (t.dims > 0 && !has_var(g, t))
        t.dims = 0;
    if (!writer_place(g, t, true, depth)) {
        text(g, ";");
        return;
    }
    if (t.dims > 0 || t.base == GEN_BOOL || t.base >= GEN_STRUCT)
        text(g, " = ");
    else if (t.base == GEN_INT)
        text(g, whole[writer_pick(g, SORT_COUNT_OF(whole))]);
    else
        text(g, plain[writer_pick(g, SORT_COUNT_OF(plain))]);
    writer_expr(g, t, depth);
    text(g, ";");
}

static void closure_statement(Gen *g, uint32_t depth)
{
    GenType t = writer_basic(GEN_CLOSURE);
    if (g->loop_depth > 0 || g->turns > 1 ||
        g->is_pure) { /* sums that grow in a loop are refused */
        text(g, ";");
        return;
    }
    const char *name = writer_new_name(g);
    strbuf_printf(g->out, "closure %s = ", name);
    writer_expr(g, t, depth);
    text(g, ";");
    writer_add_var(g, name, t, false);
}

static void call_statement(Gen *g, uint32_t depth)
{
    static const GenBase results[] = {GEN_VOID, GEN_FLOAT, GEN_FLOAT3, GEN_INT};
    uint32_t start = writer_pick(g, SORT_COUNT_OF(results));
    for (uint32_t i = 0; i < SORT_COUNT_OF(results); ++i)
        if (writer_call(g, writer_basic(results[(start + i) % SORT_COUNT_OF(results)]), depth))
            break;
    text(g, ";");
}

static void leave(Gen *g, uint32_t depth)
{
    if (g->is_state && g->loop_depth == 0) {
        assignment(g, depth);
        return;
    }
    text(g, "if (");
    writer_expr(g, writer_basic(GEN_BOOL), depth);
    text(g, ") ");
    uint32_t which = writer_pick(g, 3);
    if ((which < 2 || g->is_state) && g->loop_depth > 0) {
        text(g, which ? "continue;" : "break;");
        return;
    }
    text(g, "return");
    if (g->result.base != GEN_VOID) {
        text(g, " ");
        writer_expr(g, g->result, depth);
    }
    text(g, ";");
}

/* --- compound statements --- */

static void branch(Gen *g, uint32_t depth)
{
    text(g, "if (");
    writer_expr(g, writer_basic(GEN_BOOL), depth);
    text(g, ") ");
    writer_block(g, 1 + writer_pick(g, 3), depth);
    if (writer_pick(g, 2)) {
        text(g, " else ");
        writer_block(g, 1 + writer_pick(g, 3), depth);
    }
}

static void loop_body(Gen *g, uint32_t turns, uint32_t depth)
{
    uint32_t outer = g->turns;
    g->turns *= turns;
    ++g->loop_depth;
    writer_block(g, 1 + writer_pick(g, 3), depth);
    --g->loop_depth;
    g->turns = outer;
}

/* How far it counts: a constant, or a small number known when it runs. */
static void count_text(Gen *g, uint32_t count, uint32_t depth)
{
    if (writer_pick(g, 2) == 0) {
        strbuf_printf(g->out, "%u", count);
        return;
    }
    text(g, "(");
    writer_expr(g, writer_basic(GEN_INT), depth);
    text(g, " & 3)");
}

static void loop(Gen *g, uint32_t depth)
{
    uint32_t count = 1 + writer_pick(g, 5), vars = g->vars.count;
    const char *name = writer_new_name(g);
    if (g->turns * (count + 2) > TURNS_MAX) {
        text(g, ";");
        return;
    }
    bool has_hint = g->is_differentiable && !writer_one_in(g, 4); /* else a tape has much room */
    const char *hint = has_hint ? "[MaxIters(7)] " : "";
    switch (writer_pick(g, 3)) {
    case 0:
        strbuf_printf(g->out, "%sfor (int %s = 0; %s < ", hint, name, name);
        count_text(g, count, depth);
        strbuf_printf(g->out, writer_pick(g, 2) ? "; ++%s) " : "; %s++) ", name);
        writer_add_var(g, name, writer_basic(GEN_INT), false);
        loop_body(g, count < 3 ? 3 : count, depth);
        break;
    case 1:
        strbuf_printf(g->out, "int %s = 0;", name);
        writer_line(g);
        strbuf_printf(g->out, "%swhile (%s++ < %u", hint, name, count);
        if (writer_pick(g, 2)) {
            text(g, " && ");
            writer_expr(g, writer_basic(GEN_BOOL), depth);
        }
        text(g, ") ");
        writer_add_var(g, name, writer_basic(GEN_INT), false);
        loop_body(g, count, depth);
        return; /* the counter stays in scope */
    case 2:
        strbuf_printf(g->out, "int %s = 0;", name);
        writer_line(g);
        strbuf_printf(g->out, "%sdo ", hint);
        writer_add_var(g, name, writer_basic(GEN_INT), false);
        loop_body(g, count, depth);
        strbuf_printf(g->out, " while (++%s < ", name);
        count_text(g, count, 0);
        text(g, ");");
        return;
    default:
        break;
    }
    g->vars.count = vars;
}

void writer_statement(Gen *g, uint32_t depth)
{
    g->cost += g->turns;
    g->nodes_left = WRITER_NODES;
    switch (writer_pick(g, 14)) {
    default:
        assignment(g, 4);
        break;
    case 4:
    case 5:
    case 6:
    case 7:
        declaration(g, 4);
        break;
    case 8:
        if (depth > 0)
            branch(g, depth - 1);
        else
            declaration(g, 3);
        break;
    case 9:
    case 10:
        if (depth > 0)
            loop(g, depth - 1);
        else
            assignment(g, 3);
        break;
    case 11:
        call_statement(g, 2);
        break;
    case 12:
        leave(g, 3);
        break;
    case 13:
        if (g->is_differentiable)
            writer_gradient(g, 2);
        else
            closure_statement(g, 3);
        break;
    }
}

void writer_block(Gen *g, uint32_t statements, uint32_t depth)
{
    uint32_t vars = g->vars.count;
    text(g, "{");
    ++g->indent;
    for (uint32_t i = 0; i < statements; ++i) {
        writer_line(g);
        writer_statement(g, depth);
    }
    --g->indent;
    writer_line(g);
    text(g, "}");
    g->vars.count = vars;
}

/* --- declarations --- */

void writer_struct(Gen *g)
{
    GenStruct s = {.count = 1 + writer_pick(g, 4)};
    strbuf_printf(g->out, "struct S%u {", g->structs.count);
    for (uint32_t i = 0; i < s.count; ++i) {
        s.member[i] = writer_type(g, true);
        s.is_no_diff[i] = g->detaches && writer_one_in(g, 5);
        text(g, s.is_no_diff[i] ? "\n    no_diff " : "\n    ");
        writer_type_name(g, s.member[i]);
        strbuf_append_char(g->out, "abcd"[i]);
        writer_type_sizes(g, s.member[i]);
        text(g, ";");
    }
    text(g, "\n};\n");
    array_push(g->arena, &g->structs, s);
    /* A constant of the type: something to start from wherever one is needed. */
    GenType t = {.base = (uint8_t)(GEN_STRUCT + g->structs.count - 1)};
    strbuf_printf(g->out, "const S%u k%u = ", g->structs.count - 1, g->structs.count - 1);
    writer_literal(g, t);
    text(g, ";\n");
}

/* The names that are visible at the beginning of a function. */
void writer_begin_function(Gen *g, GenType result)
{
    g->vars.count = 0;
    g->cost = 1;
    g->turns = 1;
    g->loop_depth = 0;
    g->result = result;
    g->is_state = g->takes_derivatives = false;
    for (uint32_t i = 0; i < g->structs.count; ++i)
        array_push(g->arena, &g->vars,
                   ((GenVar){.name = arena_printf(g->arena, "k%u", i),
                             .type = {.base = (uint8_t)(GEN_STRUCT + i)},
                             .is_of_file = true}));
    for (uint32_t i = 0; i < g->tables.count; ++i)
        array_push(g->arena, &g->vars, g->tables.data[i]);
}

/* Does a function of this name take the same types already? */
static bool is_taken(Gen *g, const GenFunc *f)
{
    for (uint32_t i = 0; i < g->funcs.count; ++i) {
        const GenFunc *other = &g->funcs.data[i];
        if (other->name != f->name)
            continue;
        if (other->is_recursive || other->has_default || f->has_default)
            return true;
        bool is_same = other->param_count == f->param_count;
        for (uint32_t k = 0; is_same && k < f->param_count; ++k)
            is_same = writer_same(other->param[k], f->param[k]);
        if (is_same)
            return true;
    }
    return false;
}

static void choose_signature(Gen *g, GenFunc *f)
{
    *f = (GenFunc){.result = writer_type(g, false),
                   .param_count = writer_pick(g, GEN_PARAMS_MAX),
                   .is_pure = g->is_pure};
    uint32_t kind = writer_pick(g, 8);
    if (kind == 7)
        f->result = writer_basic(GEN_VOID);
    else if (kind == 6 && !g->is_pure)
        f->result = writer_basic(GEN_CLOSURE);
    else if (kind == 5 && g->structs.count)
        f->result = (GenType){.base = (uint8_t)(GEN_STRUCT + writer_pick(g, g->structs.count))};
    for (uint32_t i = 0; i < f->param_count; ++i) {
        f->param[i] = writer_type(g, true);
        uint32_t way = writer_pick(g, 5);
        f->direction[i] = way < 3 ? GEN_IN : way == 3 ? GEN_INOUT : GEN_OUT;
        f->is_no_diff[i] = g->detaches && writer_one_in(g, 6);
    }
    uint32_t last = f->param_count - 1;
    f->has_default = f->param_count > 0 && f->direction[last] == GEN_IN &&
                     f->param[last].dims == 0 && f->param[last].base < GEN_MATRIX &&
                     writer_one_in(g, 4);
    f->name = g->funcs.count;
    /* An overload; backward derivatives of some have the same parameters. */
    if (g->funcs.count > 0 && !g->is_differentiable && writer_one_in(g, 3)) {
        f->name = g->funcs.data[writer_pick(g, g->funcs.count)].name;
        if (is_taken(g, f))
            f->name = g->funcs.count;
    }
}

static void marks(Gen *g)
{
    if (!g->is_differentiable)
        return;
    text(g, g->keeps && writer_one_in(g, 2) ? "[PreferCheckpoint] " : "");
    text(g, "[Differentiable]\n");
}

/* R name(all parameters but the first; `first` stands before them) */
static void method_head(Gen *g, const GenFunc *f, const char *name, const char *first)
{
    static const char *const ways[] = {"", "out ", "inout "};
    marks(g);
    writer_type_name(g, f->result);
    strbuf_printf(g->out, "%s(%s", name, first);
    for (uint32_t i = 1; i < f->param_count; ++i) {
        strbuf_printf(g->out, "%s%s%s", i > 1 || first[0] ? ", " : "",
                      f->is_no_diff[i] ? "no_diff " : "", ways[f->direction[i]]);
        writer_type_name(g, f->param[i]);
        strbuf_printf(g->out, "p%u", i);
        writer_type_sizes(g, f->param[i]);
    }
    text(g, ")");
}

/* { return callee first, p1, p2); } */
static void method_body(Gen *g, const GenFunc *f, const char *callee)
{
    strbuf_printf(g->out, "\n{\n    %s%s", f->result.base == GEN_VOID ? "" : "return ", callee);
    for (uint32_t i = 1; i < f->param_count; ++i)
        strbuf_printf(g->out, "%sp%u", callee[strlen(callee) - 1] == '(' && i == 1 ? "" : ", ", i);
    text(g, ");\n}\n");
}

/* A struct of the first argument of a function, whose method calls that function with the others; an interface that it
 * has, and a generic struct and a generic function of that. */
static void method(Gen *g, const GenFunc *f)
{
    uint32_t n = f->number;
    strbuf_printf(g->out, "interface I%u\n{\n", n);
    method_head(g, f, "m", "");
    strbuf_printf(g->out, ";\n}\n\nstruct M%u : I%u\n{\n%s", n, n,
                  f->is_no_diff[0] ? "no_diff " : "");
    writer_type_name(g, f->param[0]);
    text(g, "v;\n");
    method_head(g, f, "m", "");
    method_body(g, f, arena_printf(g->arena, "f%u(v", f->name));
    strbuf_printf(g->out, "};\n\nstruct W%u<T : I%u> : I%u\n{\nT v;\n", n, n, n);
    method_head(g, f, "m", "");
    method_body(g, f, "v.m(");
    text(g, "};\n\n");
    method_head(g, f, arena_printf(g->arena, "g%u<T : I%u>", n, n), "T x");
    method_body(g, f, "x.m(");
    text(g, "\n");
}

static void function(Gen *g)
{
    static const char *const ways[] = {"", "out ", "inout "};
    GenFunc f;
    choose_signature(g, &f);
    writer_begin_function(g, f.result);
    marks(g);
    writer_type_name(g, f.result);
    strbuf_printf(g->out, "f%u(", f.name);
    for (uint32_t i = 0; i < f.param_count; ++i) {
        const char *name = writer_new_name(g);
        strbuf_printf(g->out, "%s%s%s", i ? ", " : "", f.is_no_diff[i] ? "no_diff " : "",
                      ways[f.direction[i]]);
        writer_type_name(g, f.param[i]);
        text(g, name);
        writer_type_sizes(g, f.param[i]);
        if (f.has_default && i + 1 == f.param_count) {
            text(g, " = ");
            writer_literal(g, f.param[i]);
        }
        writer_add_var(g, name, f.param[i], true);
    }
    text(g, ")\n{");
    g->indent = 1;
    uint32_t statements = 1 + writer_pick(g, g->size->statements);
    for (uint32_t i = 0; i < statements; ++i) {
        writer_line(g);
        writer_statement(g, 2);
    }
    if (f.result.base != GEN_VOID) {
        g->nodes_left = WRITER_NODES;
        writer_line(g);
        text(g, "return ");
        writer_expr(g, f.result, 4);
        text(g, ";");
    }
    text(g, "\n}\n\n");
    g->indent = 0;
    f.cost = g->cost;
    f.takes_derivatives = g->takes_derivatives;
    f.number = g->funcs.count;
    f.is_method = f.param_count > 0 && f.direction[0] == GEN_IN && f.param[0].dims == 0 &&
                  !f.has_default && writer_one_in(g, 3);
    if (f.is_method)
        method(g, &f);
    array_push(g->arena, &g->funcs, f);
}

/* T f(T x, inout int calls, int depth): calls itself once or twice until depth is 0. */
static void recursive_function(Gen *g)
{
    static const GenBase bases[] = {GEN_FLOAT, GEN_FLOAT3, GEN_INT, GEN_FLOAT2};
    static const char *const ops[] = {"+", "*", "-"};
    GenType t = writer_basic(bases[writer_pick(g, SORT_COUNT_OF(bases))]);
    GenFunc f = {.name = g->funcs.count,
                 .result = t,
                 .param = {t, writer_basic(GEN_INT), writer_basic(GEN_INT)},
                 .direction = {GEN_IN, GEN_INOUT, GEN_IN},
                 .param_count = 3,
                 .is_recursive = true,
                 .is_pure = g->is_pure};
    const char *x = writer_new_name(g), *calls = writer_new_name(g), *depth = writer_new_name(g),
               *v = writer_new_name(g);
    writer_begin_function(g, t);
    marks(g);
    writer_type_name(g, t);
    strbuf_printf(g->out, "f%u(", f.name);
    writer_type_name(g, t);
    strbuf_printf(g->out, "%s, inout int %s, int %s)\n{", x, calls, depth);
    writer_add_var(g, x, t, true);
    writer_add_var(g, calls, writer_basic(GEN_INT), true);
    writer_add_var(g, depth, writer_basic(GEN_INT), false);
    g->indent = 1;
    g->turns = 4;
    writer_line(g);
    strbuf_printf(g->out, "%s++;", calls);
    writer_line(g);
    strbuf_printf(g->out, "if (%s <= 0)", depth);
    writer_line(g);
    strbuf_printf(g->out, "    return %s;", x);
    writer_line(g);
    writer_statement(g, 1);
    writer_line(g);
    writer_type_name(g, t);
    strbuf_printf(g->out, "%s = ", v);
    g->nodes_left = WRITER_NODES;
    writer_expr(g, t, 3);
    text(g, ";");
    writer_line(g);
    strbuf_printf(g->out, "return f%u(%s, %s, %s - 1)", f.name, v, calls, depth);
    if (writer_pick(g, 3) == 2)
        strbuf_printf(g->out, " %s f%u(%s, %s, %s - 2)", WRITER_ONE_OF(g, ops), f.name, x, calls,
                      depth);
    text(g, ";\n}\n\n");
    g->indent = 0;
    f.cost = 4 * g->cost;
    f.takes_derivatives = g->takes_derivatives;
    array_push(g->arena, &g->funcs, f);
}

static const struct {
    const char *text, *name;
    GenBase base;
    bool is_output;
} shader_params[] = {
    {"float pf = 0.75", "pf", GEN_FLOAT, false},
    {"int pi = 3", "pi", GEN_INT, false},
    {"bool pb = true", "pb", GEN_BOOL, false},
    {"color pc = color(0.25, 0.5, 0.8)", "pc", GEN_FLOAT3, false},
    {"matrix pm = matrix(0.5)", "pm", GEN_MATRIX, false},
    {"out float o0", "o0", GEN_FLOAT, true},
    {"out color o1", "o1", GEN_FLOAT3, true},
    {"out float2 o2", "o2", GEN_FLOAT2, true},
    {"out float4 o3", "o3", GEN_FLOAT4, true},
    {"out int o4", "o4", GEN_INT, true},
    {"out bool o5", "o5", GEN_BOOL, true},
    {"out closure o6", "o6", GEN_CLOSURE, true},
};

static void shader(Gen *g)
{
    writer_begin_function(g, writer_basic(GEN_VOID));
    text(g, g->size->is_fused ? "[Fused] shader random(" : "shader random(");
    for (uint32_t i = 0; i < SORT_COUNT_OF(shader_params); ++i) {
        GenBase base = shader_params[i].base;
        strbuf_printf(g->out, "%s\n    %s", i ? "," : "", shader_params[i].text);
        if (base != GEN_CLOSURE)
            writer_add_var(g, shader_params[i].name, writer_basic(base),
                           shader_params[i].is_output);
    }
    text(g, ")\n{");
    g->indent = 1;
    uint32_t statements = 1 + writer_pick(g, g->size->statements * 2);
    for (uint32_t i = 0; i < statements; ++i) {
        writer_line(g);
        writer_statement(g, 2);
    }
    for (uint32_t i = 0; i < SORT_COUNT_OF(shader_params); ++i) {
        if (!shader_params[i].is_output || writer_pick(g, 4) == 0)
            continue;
        g->nodes_left = WRITER_NODES;
        writer_line(g);
        strbuf_printf(g->out, "%s = ", shader_params[i].name);
        writer_expr(g, writer_basic(shader_params[i].base), 5);
        text(g, ";");
    }
    text(g, "\n}\n");
}

/* A table of numbers: from 32 on they lie in the memory of the object, others in the code. */
static void table(Gen *g)
{
    static const uint8_t sizes[] = {8, 31, 32, 33, 40, 64, 100};
    static const GenBase bases[] = {GEN_FLOAT, GEN_FLOAT, GEN_INT, GEN_FLOAT3};
    GenType t = {.base = (uint8_t)bases[writer_pick(g, SORT_COUNT_OF(bases))],
                 .dims = 1,
                 .dim = {sizes[writer_pick(g, SORT_COUNT_OF(sizes))]}};
    const char *name = arena_printf(g->arena, "t%u", g->tables.count);
    uint32_t start = writer_pick(g, 1000);
    text(g, "const ");
    writer_type_name(g, t);
    strbuf_printf(g->out, "%s[%u] = {", name, t.dim[0]);
    for (uint32_t i = 0; i < t.dim[0]; ++i) {
        uint32_t n = (start + i * 37) % 101;
        strbuf_append_c(g->out, i ? ", " : "");
        if (t.base == GEN_FLOAT3)
            strbuf_printf(g->out, "float3(0.%02u, %u, -%u.5)", n % 100, n % 3, n % 7);
        else
            strbuf_printf(g->out, t.base == GEN_INT ? "%u" : "%u.25", n);
    }
    text(g, "};\n");
    array_push(g->arena, &g->tables, ((GenVar){.name = name, .type = t, .is_of_file = true}));
}

void writer_function(Gen *g)
{
    if (writer_one_in(g, 6))
        recursive_function(g);
    else
        function(g);
}

static void functions(Gen *g, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        writer_function(g);
}

void random_source(Choices *choices, const RandomSize *size, Arena *arena, StrBuf *out)
{
    Gen g = {.choices = choices, .size = size, .arena = arena, .out = out};
    text(&g, "texture2d ta, tb;\n");
    uint32_t structs = writer_pick(&g, 3), count = writer_pick(&g, size->functions + 1);
    uint32_t tables = writer_one_in(&g, 6) ? 1 + writer_pick(&g, 2) : 0;
    uint32_t bsdfs = writer_one_in(&g, 6) ? 1 + writer_pick(&g, 2) : 0;
    for (uint32_t i = 0; i < structs; ++i)
        writer_struct(&g);
    for (uint32_t i = 0; i < tables; ++i)
        table(&g);
    text(&g, "\n");
    g.is_pure = bsdfs > 0;
    functions(&g, g.is_pure ? (count + 1) / 2 : count);
    for (uint32_t i = 0; i < bsdfs; ++i)
        writer_bsdf(&g);
    if (g.is_pure) {
        g.is_pure = false;
        functions(&g, count / 2);
    }
    shader(&g);
}
