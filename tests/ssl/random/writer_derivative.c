/* Derivatives in random programs: fwd_diff and bwd_diff of functions inside others, and a shader that holds those of one
 * function against each other. That shader computes, of all numbers that the function takes and gives,
 *
 *   value   sum of the results, each times a weight w
 *   same    the same by fwd_diff
 *   jw      sum of the results' tangents, each times its weight
 *   tv      sum of the gradients by bwd_diff, each times the tangent v of its argument: equal to jw
 *   size    sum of the absolute values of what jw and tv are sums of
 *
 * An argument is a number plus gf times its tangent, so jw is also d value / d gf. Tangents are scaled by gv.x, weights
 * of derivatives by gv.y: jw and tv are linear in both. */
#include "base/check.h"
#include "tests/ssl/random/source_writer.h"

enum { NUMBERS_MAX = 24 }; /* of a parameter or result of the function that is derived */

static void text(Gen *g, const char *s)
{
    strbuf_append_c(g->out, s);
}

/* --- numbers of a type ------------------------------------------------------------------------ */

/* One scalar of a variable. */
typedef struct Number {
    const char *path; /* ".b[1].x" */
    GenBase base;     /* GEN_BOOL, GEN_INT or GEN_FLOAT */
    bool is_active;   /* it has a derivative */
    float tangent, weight;
} Number;
typedef ARRAY(Number) NumberList;

static float small_number(Gen *g)
{
    return 1.0f - (float)writer_pick(g, 64) / 16.0f;
}

static void list_numbers(Gen *g, GenType t, const char *path, bool is_active, NumberList *out)
{
    GenType inner = t;
    if (t.dims > 0 || t.base == GEN_MATRIX) {
        uint32_t count = t.dims ? t.dim[0] : 4;
        inner = t.dims ? (GenType){t.base, (uint8_t)(t.dims - 1), {t.dim[1]}}
                       : writer_basic(GEN_FLOAT4);
        for (uint32_t i = 0; i < count; ++i)
            list_numbers(g, inner, arena_printf(g->arena, "%s[%u]", path, i), is_active, out);
    } else if (t.base >= GEN_STRUCT) {
        const GenStruct s = g->structs.data[t.base - GEN_STRUCT];
        for (uint32_t i = 0; i < s.count; ++i)
            list_numbers(g, s.member[i], arena_printf(g->arena, "%s.%c", path, 'a' + (char)i),
                         is_active && !s.is_no_diff[i], out);
    } else if (writer_is_vector(t)) {
        for (uint32_t i = 0; i < t.base - GEN_FLOAT + 1u; ++i)
            list_numbers(g, writer_basic(GEN_FLOAT),
                         arena_printf(g->arena, "%s.%c", path, "xyzw"[i]), is_active, out);
    } else {
        bool is_float = t.base == GEN_FLOAT;
        Number n = {.path = path, .base = (GenBase)t.base, .is_active = is_float && is_active};
        n.tangent = is_float ? small_number(g) : 0;
        n.weight = is_float ? small_number(g) : 0;
        array_push(g->arena, out, n);
    }
}

static uint32_t count_active(const NumberList *numbers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < numbers->count; ++i)
        count += numbers->data[i].is_active;
    return count;
}

/* --- derivatives inside functions ------------------------------------------------------------- */

static bool has_differential(GenType t)
{
    return t.dims == 0 && t.base >= GEN_FLOAT && t.base <= GEN_MATRIX;
}

/* A function whose derivative can be called where a value of type `t` is asked for, or NULL: one of few numbers, that
 * takes no derivatives itself. is_result: its result is of the type, and not a parameter. */
static const GenFunc *find_derivable(Gen *g, GenType t, bool is_result, uint32_t *out_param)
{
    uint32_t count = g->funcs.count, start = count ? writer_pick(g, count) : 0;
    for (uint32_t k = 0; k < count; ++k) {
        const GenFunc *f = &g->funcs.data[(start + k) % count];
        bool is_fit = !f->takes_derivatives && has_differential(f->result) &&
                      (g->cost + 4 * f->cost) * g->turns < 1500 &&
                      (!is_result || writer_same(f->result, t));
        bool has_param = is_result;
        for (uint32_t i = 0; i < f->param_count && is_fit; ++i) {
            is_fit =
                f->direction[i] == GEN_IN && f->param[i].dims == 0 && f->param[i].base < GEN_STRUCT;
            if (!has_param && !f->is_no_diff[i] && writer_same(f->param[i], t)) {
                has_param = true;
                *out_param = i;
            }
        }
        if (is_fit && has_param)
            return f;
    }
    return NULL;
}

static void depth_argument(Gen *g, const GenFunc *f)
{
    text(g, "(");
    writer_expr(g, f->param[f->param_count - 1], 1);
    text(g, " & 3)");
}

bool writer_derivative(Gen *g, GenType t, uint32_t depth)
{
    const GenFunc *found = find_derivable(g, t, true, NULL);
    if (!found)
        return false;
    const GenFunc f = *found;
    g->cost += 4 * f.cost;
    g->takes_derivatives = true;
    strbuf_printf(g->out, "fwd_diff(f%u)(", f.name);
    for (uint32_t i = 0; i < f.param_count; ++i) {
        text(g, i ? ", " : "");
        if (f.is_recursive && i + 1 == f.param_count) {
            depth_argument(g, &f);
        } else if (f.is_no_diff[i] || !has_differential(f.param[i])) {
            writer_expr(g, f.param[i], depth);
        } else {
            text(g, "diff_pair(");
            writer_expr(g, f.param[i], depth);
            text(g, ", ");
            writer_expr(g, f.param[i], depth);
            text(g, ")");
        }
    }
    text(g, writer_one_in(g, 4) ? ").p" : ").d");
    return true;
}

void writer_gradient(Gen *g, uint32_t depth)
{
    GenType t = writer_type(g, false);
    uint32_t of = 0;
    const GenFunc *found = has_differential(t) ? find_derivable(g, t, false, &of) : NULL;
    if (!found) {
        text(g, ";");
        return;
    }
    const GenFunc f = *found;
    const char *names[GEN_PARAMS_MAX];
    g->cost += 4 * f.cost;
    g->takes_derivatives = true;
    for (uint32_t i = 0; i < f.param_count; ++i) {
        bool is_pair = !f.is_no_diff[i] && has_differential(f.param[i]);
        names[i] = writer_new_name(g);
        text(g, is_pair ? "diff_pair<" : "");
        writer_type_name(g, f.param[i]);
        strbuf_printf(g->out, is_pair ? "> %s = diff_pair(" : "%s = (", names[i]);
        if (f.is_recursive && i + 1 == f.param_count)
            depth_argument(g, &f);
        else
            writer_expr(g, f.param[i], depth);
        text(g, ");");
        writer_line(g);
    }
    strbuf_printf(g->out, "bwd_diff(f%u)(", f.name);
    for (uint32_t i = 0; i < f.param_count; ++i)
        strbuf_printf(g->out, "%s, ", names[i]);
    writer_expr(g, f.result, depth);
    text(g, ");");
    writer_line(g);
    const char *gradient = writer_new_name(g);
    writer_type_name(g, t);
    strbuf_printf(g->out, "%s = %s.d;", gradient, names[of]);
    writer_add_var(g, gradient, t, true);
}

/* --- the shader ------------------------------------------------------------------------------- */

/* A parameter or the result of the function. */
typedef struct Port {
    GenType type;
    GenDirection direction; /* the result: GEN_OUT */
    bool has_pair;
    NumberList numbers;
} Port;

typedef struct Shader {
    Gen *gen;
    GenFunc func;
    Port ports[GEN_PARAMS_MAX + 1]; /* the result stands last, if there is one */
    uint32_t port_count;
} Shader;

static bool is_result(const Shader *s, uint32_t port)
{
    return port == s->func.param_count;
}

static void add_port(Shader *s, GenType t, GenDirection direction, bool is_no_diff)
{
    Port *port = &s->ports[s->port_count++];
    *port = (Port){.type = t, .direction = direction};
    list_numbers(s->gen, t, "", !is_no_diff, &port->numbers);
    port->has_pair = count_active(&port->numbers) > 0;
}

/* "    diff_pair<float[2]> p3" */
static void declare(Shader *s, const char *of, char letter, uint32_t port)
{
    Gen *g = s->gen;
    strbuf_printf(g->out, "    %s", of);
    writer_type_name(g, s->ports[port].type);
    if (*of)
        writer_type_sizes(g, s->ports[port].type);
    strbuf_printf(g->out, "%s%c%u", *of ? "> " : "", letter, port);
    if (!*of)
        writer_type_sizes(g, s->ports[port].type);
}

static void arguments(Shader *s)
{
    Gen *g = s->gen;
    for (uint32_t i = 0; i < s->func.param_count; ++i) {
        declare(s, "", 'a', i);
        text(g, ";\n");
        for (uint32_t k = 0; k < s->ports[i].numbers.count; ++k) {
            const Number *n = &s->ports[i].numbers.data[k];
            strbuf_printf(g->out, "    a%u%s = ", i, n->path);
            if (s->func.is_recursive && i == 2)
                text(g, "global_value<gn> & 3;\n");
            else if (n->base == GEN_BOOL)
                strbuf_printf(g->out, "global_value<gb> != %s;\n",
                              writer_pick(g, 2) ? "true" : "false");
            else if (n->base == GEN_INT)
                strbuf_printf(g->out, "global_value<gn> + %u;\n", writer_pick(g, 4));
            else if (n->is_active)
                strbuf_printf(g->out, "%.4f + h * %.4f;\n", (double)small_number(g),
                              (double)n->tangent);
            else
                strbuf_printf(g->out, "%.4f * global_value<gc>.x;\n", (double)small_number(g));
        }
    }
}

/* Declares copies of the arguments under a letter. */
static void copies(Shader *s, char letter, bool takes_pairs)
{
    Gen *g = s->gen;
    for (uint32_t i = 0; i < s->func.param_count; ++i) {
        bool is_pair = takes_pairs && s->ports[i].has_pair;
        if (is_pair && letter == 'b' && s->ports[i].direction == GEN_OUT)
            continue; /* an adjoint, not a pair */
        declare(s, is_pair ? "diff_pair<" : "", letter, i);
        strbuf_printf(g->out, is_pair ? " = diff_pair(a%u);\n" : " = a%u;\n", i);
    }
}

static void call(Shader *s, const char *derivative, char letter)
{
    Gen *g = s->gen;
    bool is_backward = letter == 'b', is_first = true;
    strbuf_printf(g->out, *derivative ? "%s(f%u)(" : "%sf%u(", derivative, s->func.name);
    for (uint32_t i = 0; i < s->port_count; ++i) {
        if (is_backward ? s->ports[i].direction == GEN_OUT && !s->ports[i].has_pair
                        : is_result(s, i))
            continue;
        strbuf_printf(g->out, "%s%c%u", is_first ? "" : ", ", letter, i);
        is_first = false;
    }
    text(g, ");\n");
}

/* Calls f or its forward derivative. */
static void call_onward(Shader *s, const char *derivative, char letter)
{
    Gen *g = s->gen;
    if (s->port_count > s->func.param_count) {
        uint32_t result = s->func.param_count;
        declare(s, *derivative && s->ports[result].has_pair ? "diff_pair<" : "", letter, result);
        text(g, " = ");
    } else {
        text(g, "    ");
    }
    call(s, derivative, letter);
}

/* Adds to `sum` all that has derivatives of results or of arguments, each times its weight or tangent. With a scale, its
 * size is added up, too. */
static void add_up(Shader *s, const char *sum, const char *scale, char letter, const char *member)
{
    Gen *g = s->gen;
    bool of_arguments = letter == 'b';
    for (uint32_t i = 0; i < s->port_count; ++i) {
        const Port *port = &s->ports[i];
        const char *of = port->has_pair ? member : "";
        if (port->direction == (of_arguments ? GEN_OUT : GEN_IN))
            continue;
        for (uint32_t k = 0; k < port->numbers.count; ++k) {
            const Number *n = &port->numbers.data[k];
            double factor = (double)(of_arguments ? n->tangent : n->weight);
            if (n->is_active && scale)
                strbuf_printf(g->out,
                              "    size += abs(term = %c%u%s%s * (%s * %.4f)); %s += term;\n",
                              letter, i, of, n->path, scale, factor, sum);
            else if (n->is_active)
                strbuf_printf(g->out, "    %s += %c%u%s%s * %.4f;\n", sum, letter, i, of, n->path,
                              factor);
        }
    }
}

static void forward(Shader *s)
{
    Gen *g = s->gen;
    copies(s, 'p', true);
    for (uint32_t i = 0; i < s->func.param_count; ++i)
        for (uint32_t k = 0; k < s->ports[i].numbers.count; ++k) {
            const Number *n = &s->ports[i].numbers.data[k];
            if (n->is_active && s->ports[i].direction != GEN_OUT)
                strbuf_printf(g->out, "    p%u.d%s = ts * %.4f;\n", i, n->path, (double)n->tangent);
        }
    call_onward(s, "fwd_diff", 'p');
    add_up(s, "jw", "ws", 'p', ".d");
    add_up(s, "same", NULL, 'p', ".p");
}

static void backward(Shader *s)
{
    Gen *g = s->gen;
    copies(s, 'b', true);
    for (uint32_t i = 0; i < s->port_count; ++i) {
        const Port *port = &s->ports[i];
        if (!port->has_pair || port->direction == GEN_IN)
            continue;
        if (port->direction == GEN_OUT) {
            declare(s, "differential<", 'b', i);
            text(g, ";\n");
        }
        for (uint32_t k = 0; k < port->numbers.count; ++k) {
            const Number *n = &port->numbers.data[k];
            if (n->is_active)
                strbuf_printf(g->out, "    b%u%s%s = ws * %.4f;\n", i,
                              port->direction == GEN_OUT ? "" : ".d", n->path, (double)n->weight);
        }
    }
    text(g, "    ");
    call(s, "bwd_diff", 'b');
    add_up(s, "tv", "ts", 'b', ".d");
}

static void shader(Gen *g)
{
    Shader s = {.gen = g, .func = g->funcs.data[g->funcs.count - 1]};
    for (uint32_t i = 0; i < s.func.param_count; ++i)
        add_port(&s, s.func.param[i], s.func.direction[i], s.func.is_no_diff[i]);
    if (s.func.result.base != GEN_VOID)
        add_port(&s, s.func.result, GEN_OUT, false);
    text(g, g->size->is_fused ? "[Fused] " : "");
    text(g, "shader derivative(out float value, out float same, out float jw, out float tv, "
            "out float size)\n{\n"
            "    const float h = global_value<gf>, ts = global_value<gv>.x, "
            "ws = global_value<gv>.y;\n"
            "    float term;\n");
    arguments(&s);
    copies(&s, 'c', false);
    call_onward(&s, "", 'c');
    text(g, "    value = same = jw = tv = size = 0;\n");
    add_up(&s, "value", NULL, 'c', "");
    forward(&s);
    backward(&s);
    text(g, "}\n");
}

/* Is there something to derive, and not too much of it? */
static bool is_worth_it(Gen *g, const GenFunc *f)
{
    bool has_input = false, has_output = false;
    for (uint32_t i = 0; i <= f->param_count; ++i) {
        NumberList numbers = {0};
        bool is_last = i == f->param_count;
        if (is_last && f->result.base == GEN_VOID)
            continue;
        list_numbers(g, is_last ? f->result : f->param[i], "", is_last || !f->is_no_diff[i],
                     &numbers);
        bool is_active = count_active(&numbers) > 0;
        has_input |= is_active && !is_last && f->direction[i] != GEN_OUT;
        has_output |= is_active && (is_last || f->direction[i] != GEN_IN);
        if (numbers.count > NUMBERS_MAX)
            return false;
    }
    return has_input && has_output;
}

void random_derivative_source(Choices *choices, const RandomSize *size, Arena *arena, StrBuf *out)
{
    Gen g = {.choices = choices,
             .size = size,
             .arena = arena,
             .out = out,
             .is_pure = true,
             .is_differentiable = true};
    g.detaches = writer_one_in(&g, 3);
    g.keeps = writer_one_in(&g, 4);
    uint32_t structs = writer_pick(&g, 3), count = 1 + writer_pick(&g, size->functions);
    for (uint32_t i = 0; i < structs; ++i)
        writer_struct(&g);
    text(&g, "\n");
    for (uint32_t i = 0; i < count; ++i)
        writer_function(&g);
    for (uint32_t i = 0; i < 8 && !is_worth_it(&g, &g.funcs.data[g.funcs.count - 1]); ++i)
        writer_function(&g);
    if (is_worth_it(&g, &g.funcs.data[g.funcs.count - 1]))
        shader(&g);
    else /* nothing to derive came of the choices */
        text(&g, "shader derivative(out float value, out float same, out float jw, out float tv, "
                 "out float size)\n{\n    value = same = jw = tv = size = 0;\n}\n");
}
