/* The writer keeps values bounded, so that few programs overflow: whatever a loop multiplies goes through sin. */
#include "tests/ssl/random/writer_diff.h"
#include "base/hash.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Writer {
    uint64_t state;
    StrBuf *out;
    uint32_t locals, depth, loops, level; /* level: of the function, which calls those below it */
    bool in_loop, detaches, looks_up;
    bool detaches_places; /* of lookups, some */
    uint32_t hints;       /* a bit for each of the next functions */
} Writer;

static uint32_t draw(Writer *w, uint32_t count)
{
    return (uint32_t)(hash_mix64(w->state++) % count);
}

static void text(Writer *w, const char *s)
{
    strbuf_append_c(w->out, s);
}

static void variable(Writer *w);

/* No literal alone: the compiler computes with literals in float, the interpreter in double. */
static void number(Writer *w)
{
    strbuf_printf(w->out, "(%.4f * ", ((double)draw(w, 64) - 32.0) / 16.0);
    variable(w);
    text(w, ")");
}

static void expr(Writer *w, uint32_t depth);

static void variable(Writer *w)
{
    static const char *const names[] = {"a", "b", "c", "d", "s.x", "s.v.y", "s.v.z"};
    uint32_t k = draw(w, 7 + w->locals);
    if (k < 7)
        text(w, names[k]);
    else
        strbuf_printf(w->out, "t%u", k - 7);
}

static void index(Writer *w)
{
    if (w->loops > 0 && draw(w, 2))
        strbuf_printf(w->out, "i%u %% 4", draw(w, w->loops));
    else if (draw(w, 4) == 0)
        text(w, "n % 4");
    else
        strbuf_printf(w->out, "%u", draw(w, 4));
}

static void call1(Writer *w, const char *before, const char *after, uint32_t depth)
{
    text(w, before);
    expr(w, depth - 1);
    text(w, after);
}

static void call2(Writer *w, const char *before, const char *between, const char *after,
                  uint32_t depth)
{
    text(w, before);
    expr(w, depth - 1);
    text(w, between);
    expr(w, depth - 1);
    text(w, after);
}

static void condition(Writer *w)
{
    static const char *const ops[] = {" < ", " > ", " <= "};
    if (w->loops > 0 && draw(w, 2)) {
        strbuf_printf(w->out, "i%u %s %u", draw(w, w->loops), draw(w, 2) ? ">" : "!=", draw(w, 4));
        return;
    }
    expr(w, 1);
    text(w, ops[draw(w, 3)]);
    expr(w, 1);
}

/* A call of a function below this one. */
static void call(Writer *w, uint32_t depth)
{
    switch (draw(w, w->level > 1 ? 6 : 4)) {
    case 0:
        call2(w, "square_sum(", ", ", ")", depth);
        return;
    case 1:
        call2(w, "falling(", ", ", ", n % 4)", depth);
        return;
    case 2:
        call2(w, "own(", ", ", ")", depth);
        return;
    case 3:
        call1(w, w->detaches ? "no_diff plain(" : "cos(", ")", depth);
        return;
    case 4:
        call2(w, "fwd_diff(inner)(diff_pair(", ", 0.5), diff_pair(", ", -0.75)).d", depth);
        return;
    default:
        call2(w, "gradient(", ", ", ")", depth);
    }
}

static void lookup(Writer *w, uint32_t depth)
{
    static const char *const textures[] = {"wood", "stone"};
    static const char *const options[] = {"", ", wrap = \"clamp\"", ", blur = 0.1",
                                          ", filter = \"bilinear\""};
    /* The functions below `f` have derivatives of derivatives taken, and those by coordinates are not there. */
    const char *open = w->level < 2 || (w->detaches_places && draw(w, 2)) ? "detach(" : "(";
    const char *next = w->level < 2 || (w->detaches_places && draw(w, 2)) ? "detach(" : "(";
    strbuf_printf(w->out, "texture2d_sample_rgba<%s>(%s", textures[draw(w, 2)], open);
    expr(w, depth - 1);
    strbuf_printf(w->out, "), %s", next);
    expr(w, depth - 1);
    strbuf_printf(w->out, ")%s).%c", options[draw(w, 4)], "xyzw"[draw(w, 4)]);
}

static void expr(Writer *w, uint32_t depth)
{
    bool may_look_up = w->looks_up && (w->level == 2 || w->detaches_places);
    if (depth > 0 && may_look_up && draw(w, 6) == 0) {
        lookup(w, depth);
        return;
    }
    if (depth == 0) {
        if (draw(w, 5))
            variable(w);
        else
            number(w);
        return;
    }
    switch (draw(w, 27)) {
    case 0:
    case 1:
        call2(w, "(", " + ", ")", depth);
        return;
    case 2:
        call2(w, "(", " - ", ")", depth);
        return;
    case 3:
    case 4:
    case 5:
        call2(w, "(", " * ", ")", depth);
        return;
    case 6:
        call1(w, "sin(", ")", depth);
        return;
    case 7:
        call1(w, "cos(", ")", depth);
        return;
    case 8:
        call1(w, "tanh(", ")", depth);
        return;
    case 9:
        call1(w, "exp(sin(", "))", depth);
        return;
    case 10:
        call1(w, "sqrt(abs(", ") + 0.5)", depth);
        return;
    case 11:
        call2(w, "(", " / (abs(", ") + 1.0))", depth);
        return;
    case 12:
        call2(w, "min(", ", ", ")", depth);
        return;
    case 13:
        call2(w, "max(", ", ", ")", depth);
        return;
    case 14:
        call1(w, "(-", ")", depth);
        return;
    case 15:
        text(w, "(");
        condition(w);
        call2(w, " ? ", " : ", ")", depth);
        return;
    case 16:
        call2(w, "atan2(", ", ", " + 3.0)", depth);
        return;
    case 17:
        call1(w, "log(abs(", ") + 0.25)", depth);
        return;
    case 18:
        call2(w, "pow(abs(", ") + 0.5, sin(", "))", depth);
        return;
    case 19:
    case 20:
        text(w, "r[");
        index(w);
        text(w, "]");
        return;
    case 21:
        call1(w, w->detaches ? "detach(" : "(", ")", depth);
        return;
    case 22:
        call2(w, "mix(", ", ", ", 0.25)", depth);
        return;
    case 23:
        call2(w, "length(float3(", ", 0.5, ", "))", depth);
        return;
    case 24:
        call1(w, "floor(", ")", depth);
        return;
    default:
        if (w->level > 0)
            call(w, depth);
        else
            variable(w);
    }
}

static void indent(Writer *w)
{
    for (uint32_t i = 0; i <= w->depth; ++i)
        text(w, "    ");
}

static void statements(Writer *w, uint32_t count);

static void assignment(Writer *w)
{
    uint32_t kind = draw(w, 5);
    if (kind == 0) {
        text(w, "r[");
        index(w);
        text(w, "]");
    } else {
        variable(w);
    }
    bool is_bounded = w->in_loop || draw(w, 3) == 0;
    text(w, kind == 1 ? " += " : kind == 2 && !w->in_loop ? " *= " : " = ");
    text(w, is_bounded ? "sin(" : "(");
    expr(w, 2 + draw(w, 2));
    text(w, ");\n");
}

static void block(Writer *w, uint32_t count)
{
    uint32_t locals = w->locals;
    text(w, "{\n");
    ++w->depth;
    statements(w, count);
    --w->depth;
    w->locals = locals;
    indent(w);
    text(w, "}\n");
}

static void branch(Writer *w)
{
    text(w, "if (");
    condition(w);
    text(w, ")\n");
    indent(w);
    block(w, 1 + draw(w, 2));
    if (draw(w, 2) == 0)
        return;
    indent(w);
    text(w, "else\n");
    indent(w);
    block(w, 1 + draw(w, 2));
}

/* A loop with a counter, which statements inside may read. */
static void loop(Writer *w)
{
    uint32_t i = w->loops, kind = draw(w, 4);
    bool was_in_loop = w->in_loop;
    if (kind == 0)
        strbuf_printf(w->out, "for (int i%u = 0; i%u < %u; ++i%u)\n", i, i, draw(w, 5), i);
    else if (kind == 1)
        strbuf_printf(w->out, "for (int i%u = %u; i%u > 0; i%u -= 2)\n", i, 1 + draw(w, 6), i, i);
    else if (kind == 2)
        strbuf_printf(w->out, "[MaxIters(6)] for (int i%u = 0; i%u < n; ++i%u)\n", i, i, i);
    else
        strbuf_printf(w->out, "for (int i%u = 0; i%u < 4 && a < 1.25; ++i%u)\n", i, i, i);
    indent(w);
    text(w, "{\n");
    uint32_t locals = w->locals;
    ++w->depth;
    ++w->loops;
    w->in_loop = true;
    statements(w, 1 + draw(w, 2));
    if (draw(w, 3) == 0) {
        indent(w);
        text(w, "if (");
        condition(w);
        text(w, draw(w, 2) ? ") break;\n" : ") continue;\n");
        statements(w, 1);
    }
    w->in_loop = was_in_loop;
    --w->loops;
    --w->depth;
    w->locals = locals;
    indent(w);
    text(w, "}\n");
}

static void declaration(Writer *w)
{
    strbuf_printf(w->out, "float t%u = ", w->locals);
    expr(w, 2);
    text(w, ";\n");
    ++w->locals;
}

static void statements(Writer *w, uint32_t count)
{
    for (uint32_t k = 0; k < count; ++k) {
        indent(w);
        uint32_t kind = draw(w, 12);
        if (kind < 2 && w->depth < 3)
            branch(w);
        else if (kind < 4 && w->depth < 3 && w->loops < 2)
            loop(w);
        else if (kind == 4 && w->depth > 0 && w->depth < 3) {
            text(w, "if (");
            condition(w);
            text(w, ") return ");
            expr(w, 1);
            text(w, ";\n");
        } else if (kind < 7 && w->locals < 6)
            declaration(w);
        else
            assignment(w);
    }
}

/* The body of a function of a, b and n, with locals of all kinds. */
static void body(Writer *w, const char *locals)
{
    w->locals = w->depth = w->loops = 0;
    w->in_loop = false;
    text(w, "{\n");
    text(w, locals);
    text(w, "    Part s = {0.5 * a, float3(a, b, a * b), n};\n");
    statements(w, 2 + draw(w, 4));
    text(w, "    return ");
    expr(w, 3);
    text(w, ";\n}\n\n");
}

/* Each may be marked as one whose results are kept. */
static const char *const fixed[] = {
    "struct Part { float x; float3 v; int k; };\n",
    "[Differentiable] float square_sum(float a, float b) { return sin(a * a + 0.5 * b); }\n",
    "float plain(float a) { return cos(a); }\n",
    "[Differentiable] float falling(float a, float b, int n)\n"
    "{ return n <= 0 ? a * b : 0.5 * a + falling(sin(a) * b, cos(b), n - 1); }\n",
    "diff_pair<float> own_fwd(diff_pair<float> a, diff_pair<float> b)\n"
    "{ return diff_pair(a.p * b.p, a.d * b.p + a.p * b.d); }\n",
    "void own_bwd(inout diff_pair<float> a, inout diff_pair<float> b, float g)\n"
    "{ a.d = g * b.p; b.d = g * a.p; }\n",
    "[ForwardDerivative(own_fwd)] [BackwardDerivative(own_bwd)]\n"
    "float own(float a, float b) { return a * b; }\n\n"};

static void hint(Writer *w)
{
    text(w, w->hints & 1 ? "[PreferCheckpoint] " : "");
    w->hints >>= 1;
}

static const char shader[] =
    "shader main(out float jw, out float jw_size, out float tv, out float value, out float same, "
    "out float twice)\n"
    "{\n"
    "    const float x = global_value<x>;\n"
    "    const int n = global_value<n>;\n"
    "    const float a = %s + %s * x, b = %s + %s * x, c0 = %s + %s * x, q = %s + %s * x;\n"
    "    float r[4] = {q, q * 0.5, 0.25 - q, 1.5 * c0};\n"
    "    float rd[4] = {%s, %s * 0.5, -(%s), 1.5 * (%s)};\n"
    "    const float wy = %s, wc = %s, wd = %s;\n"
    "    float c = c0, d;\n"
    "    const float y = f(a, b, c, d, r, n);\n"
    "    value = y * wy + c * wc + d * wd;\n"
    "    diff_pair<float> pc = diff_pair(c0, %s), pd;\n"
    "    const diff_pair<float> py = fwd_diff(f)(diff_pair(a, %s), diff_pair(b, %s), pc, pd, "
    "diff_pair(r, rd), n);\n"
    "    diff_pair<float> pe = diff_pair(c0, 2 * (%s)), ph;\n"
    "    float r2[4] = {2 * rd[0], 2 * rd[1], 2 * rd[2], 2 * rd[3]};\n"
    "    const diff_pair<float> pz = fwd_diff(f)(diff_pair(a, 2 * (%s)), diff_pair(b, 2 * (%s)), "
    "pe, "
    "ph, diff_pair(r, r2), n);\n"
    "    twice = pz.d * wy + pe.d * wc + ph.d * wd;\n"
    "    same = py.p * wy + pc.p * wc + pd.p * wd;\n"
    "    jw = py.d * wy + pc.d * wc + pd.d * wd;\n"
    "    jw_size = abs(py.d * wy) + abs(pc.d * wc) + abs(pd.d * wd);\n"
    "    diff_pair<float> ga = diff_pair(a), gb = diff_pair(b), gc = diff_pair(c0, wc);\n"
    "    diff_pair<float[4]> gr = diff_pair(r);\n"
    "    bwd_diff(f)(ga, gb, gc, wd, gr, n, wy);\n"
    "    tv = ga.d * (%s) + gb.d * (%s) + gc.d * (%s);\n"
    "    for (int i = 0; i < 4; ++i)\n"
    "        tv += gr.d[i] * rd[i];\n"
    "    jw_size += abs(ga.d) + abs(gb.d) + abs(gc.d);\n"
    "    for (int i = 0; i < 4; ++i)\n"
    "        jw_size += abs(gr.d[i]);\n"
    "}\n";

static void functions(Writer *w)
{
    for (uint32_t i = 0; i < SORT_COUNT_OF(fixed); ++i) {
        if (i > 0)
            hint(w);
        text(w, fixed[i]);
    }
    w->level = 1;
    hint(w);
    text(w, "[Differentiable] float inner(float a, float b)\n");
    body(w,
         "    int n = 2; float c = a - b; float d = 0.25 * a; float r[4] = {a, b, 0.5 * a, b};\n");
    hint(w);
    text(w, "[Differentiable] float gradient(float a, float b)\n"
            "{ diff_pair<float> p = diff_pair(a), q = diff_pair(b); bwd_diff(inner)(p, q, 0.5);\n"
            "  return p.d - 0.5 * q.d; }\n\n");
    w->level = 2;
    text(w, "[Differentiable] float f(float a, float b, inout float c, out float d, float r[4], "
            "no_diff int n)\n");
    body(w, "    d = a * c;\n");
}

void write_texel_program(uint64_t seed, StrBuf *out)
{
    Writer w = {.state = (seed + 1) * 0x9E3779B97F4A7C15u,
                .out = out,
                .looks_up = true,
                .detaches_places = true};
    text(&w, "texture2d wood;\ntexture2d stone;\n");
    functions(&w);
    text(&w,
         "shader main(float k = 0.5, out float y, out float z)\n{\n"
         "    const float x = global_value<x>;\n    const int n = global_value<n>;\n"
         "    float r[4] = {k * x, 0.5 - x, texture2d_sample<wood>(x, 0.3).r, k}, c = x - k, d;\n"
         "    y = f(x, k, c, d, r, n);\n    z = c + d * texture2d_sample<stone>(0.7, x).g;\n}\n");
}

void write_diff_program(uint64_t seed, StrBuf *out)
{
    Writer w = {.state = seed * 0x9E3779B97F4A7C15u, .out = out, .detaches = seed % 4 == 0};
    w.hints = seed % 2 ? (uint32_t)(hash_mix64(seed) >> 32) : 0;
    char numbers[11][16];
    w.looks_up = seed % 3 == 0;
    text(&w, w.looks_up ? "texture2d wood;\ntexture2d stone;\n" : "");
    functions(&w);
    for (uint32_t i = 0; i < 11; ++i)
        snprintf(numbers[i], sizeof numbers[i], "%.4f", ((double)draw(&w, 64) - 32.0) / 16.0);
    enum { A, DA, B, DB, C, DC, Q, DQ, WY, WC, WD };
    strbuf_printf(out, shader, numbers[A], numbers[DA], numbers[B], numbers[DB], numbers[C],
                  numbers[DC], numbers[Q], numbers[DQ], numbers[DQ], numbers[DQ], numbers[DQ],
                  numbers[DC], numbers[WY], numbers[WC], numbers[WD], numbers[DC], numbers[DA],
                  numbers[DB], numbers[DC], numbers[DA], numbers[DB], numbers[DA], numbers[DB],
                  numbers[DC]);
}
