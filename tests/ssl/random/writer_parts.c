/* Leaves of expressions: literals, globals, parts of variables; and calls. */
#include "tests/ssl/random/source_writer.h"

static void text(Gen *g, const char *s)
{
    strbuf_append_c(g->out, s);
}

/* --- leaves ------------------------------------------------------------------------------------ */

void writer_literal(Gen *g, GenType t)
{
    static const char *const floats[] = {"0.5",  "1.0",   "0.0",    "2.0",  "-1.0", "0.25", ".75",
                                         "1.5f", "3.",    "0.1",    "-0.3", "7e-1", "1e-2", "-2.5",
                                         "0.7f", "1.125", "0.3333", "-4.0", "2e0f", "10.0"};
    static const char *const ints[] = {"1",  "0",  "2",    "3",  "-1",   "5",          "7",
                                       "-3", "13", "0x1f", "64", "-128", "0x7fffffff", "1000003"};
    if (t.dims > 0 || t.base >= GEN_STRUCT) {
        text(g, "{");
        uint32_t count = t.dims ? t.dim[0] : g->structs.data[t.base - GEN_STRUCT].count;
        for (uint32_t i = 0; i < count; ++i) {
            GenType inner = t;
            if (t.dims) {
                --inner.dims;
                inner.dim[0] = t.dim[1];
            } else {
                inner = g->structs.data[t.base - GEN_STRUCT].member[i];
            }
            text(g, i ? ", " : "");
            writer_literal(g, inner);
        }
        text(g, "}");
    } else if (t.base == GEN_BOOL) {
        text(g, writer_pick(g, 2) ? "true" : "false");
    } else if (t.base == GEN_INT) {
        text(g, WRITER_ONE_OF(g, ints));
    } else if (t.base == GEN_FLOAT) {
        text(g, WRITER_ONE_OF(g, floats));
    } else if (t.base == GEN_CLOSURE) {
        text(g, "make_closure<Glow>(color(0.5, 0.25, 1))");
    } else if (t.base == GEN_MATRIX || writer_one_in(g, 3)) {
        static const char *const names[] = {"float2", "float3", "float4", "matrix"};
        strbuf_printf(g->out, "%s(%s)", names[t.base - GEN_FLOAT2], WRITER_ONE_OF(g, floats));
    } else {
        uint32_t count = t.base - GEN_FLOAT + 1u;
        strbuf_printf(g->out, "float%u(", count);
        for (uint32_t i = 0; i < count; ++i)
            strbuf_printf(g->out, "%s%s", i ? ", " : "", WRITER_ONE_OF(g, floats));
        text(g, ")");
    }
}

static bool global(Gen *g, GenType t)
{
    static const char *const floats[] = {"gf", "gg", "gp.x", "gv.y", "gp.z", "gc.g"};
    static const char *const triples[] = {"gp", "gc"};
    const char *name = t.base == GEN_FLOAT    ? WRITER_ONE_OF(g, floats)
                       : t.base == GEN_FLOAT2 ? "gv"
                       : t.base == GEN_FLOAT3 ? WRITER_ONE_OF(g, triples)
                       : t.base == GEN_INT    ? "gn"
                       : t.base == GEN_BOOL   ? "gb"
                                              : NULL;
    if (!name || t.dims || g->is_pure)
        return false;
    strbuf_printf(g->out, "global_value<%c%c>%s", name[0], name[1], name + 2);
    return true;
}

void writer_leaf(Gen *g, GenType t)
{
    uint32_t which = writer_pick(g, 5);
    if (which >= 2 && writer_place(g, t, false, 0))
        return;
    if (which == 1 && global(g, t))
        return;
    if ((t.dims == 0 && t.base < GEN_STRUCT) || !writer_place(g, t, false, 0))
        writer_literal(g, t);
}

/* --- variables and their parts ---------------------------------------------------------------- */

/* A number of a variable, of which the compiler does not know the value. */
static const char *unknown_float(Gen *g)
{
    for (uint32_t i = g->vars.count; i-- > 0;)
        if (!g->vars.data[i].is_of_file &&
            writer_same(g->vars.data[i].type, writer_basic(GEN_FLOAT)))
            return g->vars.data[i].name;
    return "0.5";
}

static void index_text(Gen *g, uint32_t count, uint32_t depth)
{
    text(g, "[");
    switch (depth > 0 && g->nodes_left > 4 ? writer_pick(g, 8) : 0) {
    default:
        strbuf_printf(g->out, "%u", writer_pick(g, count));
        break;
    case 4:
    case 5:
        text(g, "clamp(");
        writer_expr(g, writer_basic(GEN_INT), depth - 1);
        strbuf_printf(g->out, ", 0, %u)", count - 1);
        break;
    case 6:
        writer_expr(g, writer_basic(GEN_INT), depth - 1);
        text(g, count == 4 ? " & 3" : " & 1");
        break;
    case 7: /* may be out of range, but no constant */
        if (g->is_pure) {
            strbuf_printf(g->out, "int(%s * 3.0)", unknown_float(g));
            break;
        }
        text(g, "global_value<gn> ^ ");
        writer_expr(g, writer_basic(GEN_INT), depth - 1);
        break;
    }
    text(g, "]");
}

/* Components of a vector of `from`; for writing, none twice. */
static void swizzle_text(Gen *g, uint32_t from, uint32_t count, bool is_written)
{
    const char *letters = writer_one_in(g, 4) ? "rgba" : "xyzw";
    bool is_used[4] = {false};
    text(g, ".");
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t lane = writer_pick(g, from);
        while (is_written && is_used[lane])
            lane = (lane + 1) % from;
        is_used[lane] = true;
        strbuf_append_char(g->out, letters[lane]);
    }
}

/* Can a part of `from` be of type `to`? */
static bool reaches(Gen *g, GenType from, GenType to)
{
    for (;; --from.dims, from.dim[0] = from.dim[1]) {
        if (writer_same(from, to))
            return true;
        if (from.dims == 0)
            break;
    }
    if (from.base >= GEN_STRUCT) {
        const GenStruct *s = &g->structs.data[from.base - GEN_STRUCT];
        for (uint32_t i = 0; i < s->count; ++i)
            if (reaches(g, s->member[i], to))
                return true;
        return false;
    }
    bool is_floats = to.dims == 0 && to.base >= GEN_FLOAT && to.base <= GEN_FLOAT4;
    if (from.base == GEN_MATRIX)
        return is_floats && (to.base == GEN_FLOAT4 || to.base == GEN_FLOAT);
    return is_floats && writer_is_vector(from) && to.base <= from.base;
}

static void descend(Gen *g, GenType from, GenType to, bool is_written, uint32_t depth)
{
    while (!writer_same(from, to)) {
        if (from.dims > 0) {
            index_text(g, from.dim[0], depth);
            --from.dims;
            from.dim[0] = from.dim[1];
        } else if (from.base >= GEN_STRUCT) {
            const GenStruct *s = &g->structs.data[from.base - GEN_STRUCT];
            uint32_t at = writer_pick(g, s->count);
            while (!reaches(g, s->member[at], to))
                at = (at + 1) % s->count;
            strbuf_printf(g->out, ".%c", 'a' + (char)at);
            from = s->member[at];
        } else if (from.base == GEN_MATRIX) {
            index_text(g, 4, depth);
            from.base = GEN_FLOAT4;
        } else if (to.base == GEN_FLOAT && writer_one_in(g, 3)) {
            index_text(g, from.base - GEN_FLOAT + 1u, depth);
            return;
        } else {
            swizzle_text(g, from.base - GEN_FLOAT + 1u, to.base - GEN_FLOAT + 1u, is_written);
            return;
        }
    }
    if (writer_is_vector(to) && writer_one_in(g, 10)) /* all of it, in some order */
        swizzle_text(g, to.base - GEN_FLOAT + 1u, to.base - GEN_FLOAT + 1u, is_written);
}

bool writer_place(Gen *g, GenType t, bool is_written, uint32_t depth)
{
    uint32_t count = g->vars.count, start = count ? count - 1 - writer_pick(g, count) : 0;
    for (uint32_t i = 0; i < count; ++i) {
        const GenVar var = g->vars.data[(start + i) % count];
        if ((is_written && !var.is_writable) || !reaches(g, var.type, t))
            continue;
        text(g, var.name);
        descend(g, var.type, t, is_written, depth);
        return true;
    }
    return false;
}

/* --- calls ------------------------------------------------------------------------------------- */

static bool can_call(Gen *g, const GenFunc *f)
{
    if (f->cost * g->turns > 3000 || g->cost + f->cost > 4000 || (g->is_pure && !f->is_pure))
        return false;
    for (uint32_t i = 0; i < f->param_count; ++i) {
        bool is_found = f->direction[i] == GEN_IN && f->param[i].dims == 0;
        for (uint32_t k = 0; k < g->vars.count && !is_found; ++k)
            is_found = (f->direction[i] == GEN_IN || g->vars.data[k].is_writable) &&
                       reaches(g, g->vars.data[k].type, f->param[i]);
        if (!is_found)
            return false;
    }
    return true;
}

/* The ways in which a function is called that has a method and generic ones like it (writer_stmts.c). */
enum {
    CALL_FUNCTION,   /* f(x, y) */
    CALL_METHOD,     /* M(x).m(y) */
    CALL_OUTER,      /* W<M>(M(x)).m(y) */
    CALL_OUTERMOST,  /* W<W<M>>(W<M>(M(x))).m(y) */
    CALL_GENERIC,    /* g(M(x), y) */
    CALL_NAMED_TYPE, /* g<W<M>>(W<M>(M(x)), y) */
    CALL_WAYS
};

/* What stands before the first argument, and after it. */
static void begin_call(Gen *g, const GenFunc *f, uint32_t way)
{
    uint32_t n = f->number;
    switch (way) {
    case CALL_FUNCTION:
        strbuf_printf(g->out, "f%u(", f->name);
        return;
    case CALL_GENERIC:
        strbuf_printf(g->out, "g%u(", n);
        break;
    case CALL_NAMED_TYPE:
        strbuf_printf(g->out, "g%u<W%u<M%u>>(W%u<M%u>(", n, n, n, n, n);
        break;
    case CALL_OUTERMOST:
        strbuf_printf(g->out, "W%u<W%u<M%u> >(", n, n, n);
        break;
    default:
        break;
    }
    if (way == CALL_OUTER || way == CALL_OUTERMOST)
        strbuf_printf(g->out, "W%u<M%u>(", n, n);
    strbuf_printf(g->out, "M%u(", n);
}

static const char *after_first(uint32_t way)
{
    static const char *const texts[CALL_WAYS] = {
        "", ").m(", ")).m(", "))).m(", ")", "))",
    };
    return texts[way];
}

bool writer_call(Gen *g, GenType result, uint32_t depth)
{
    uint32_t count = g->funcs.count, start = count ? writer_pick(g, count) : 0;
    for (uint32_t k = 0; k < count; ++k) {
        const GenFunc f = g->funcs.data[(start + k) % count];
        if (!writer_same(f.result, result) || !can_call(g, &f))
            continue;
        g->cost += f.cost;
        g->takes_derivatives |= f.takes_derivatives;
        uint32_t way = f.is_method ? writer_pick(g, CALL_WAYS) : CALL_FUNCTION;
        bool is_of_value = way >= CALL_METHOD && way <= CALL_OUTERMOST;
        begin_call(g, &f, way);
        uint32_t args = f.param_count - (f.has_default && writer_pick(g, 2) ? 1 : 0);
        for (uint32_t i = 0; i < args; ++i) {
            text(g, i > (is_of_value ? 1u : 0u) ? ", " : "");
            if (f.is_recursive && i + 1 == f.param_count) {
                text(g, "(");
                writer_expr(g, f.param[i], 1);
                text(g, " & 3)");
            } else if (f.direction[i] != GEN_IN)
                (void)writer_place(g, f.param[i], true, depth);
            else
                writer_expr(g, f.param[i], depth);
            if (i == 0)
                text(g, after_first(way));
        }
        text(g, ")");
        return true;
    }
    return false;
}
