/* Scattering functions. What each says is written twice: as a `bsdf`, and as functions and a shader that do the same without
 * one, by what docs/reference/bsdf-programs.md says of it. They share only the statements between its braces. */
#include "base/check.h"
#include "ssl/ssl.h"
#include "tests/ssl/random/source_writer.h"
#include <string.h>

enum { LOBES_MAX = 3, LINES_MAX = 8 };

typedef struct Lines {
    const char *text[LINES_MAX];
    uint32_t count;
} Lines;

typedef struct LobeText {
    uint32_t flags; /* SSL_LOBE_* */
    Lines lines;
    const char *eval, *sample; /* what stands in their braces; NULL: there is none */
    bool sets_albedo;
    const GenVar *vars; /* [var_count] that eval and sample see, of the state and the arguments */
    uint32_t var_count;
} LobeText;

typedef struct Form {
    Gen *g;
    uint32_t index; /* of B<index> */
    GenBsdf info;
    const char *arg[GEN_BSDF_ARGS_MAX]; /* names */
    bool is_layer;
    Lines lines;
    LobeText lobe[LOBES_MAX];
    uint32_t lobe_count;
} Form;

static void text(Gen *g, const char *s)
{
    strbuf_append_c(g->out, s);
}

static bool is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* Names that arguments and state may have, though a lobe or sample sets something that is called so. */
static const char *const set_names[] = {"albedo",      "eta",       "weight",
                                        "probability", "reflected", "medium"};

static const char *const set_by_sample[] = {"eta", "weight",
                                            "probability"}; /* the last two of a delta */

/* --- pieces of text --------------------------------------------------------------------------- */

typedef struct Piece {
    StrBuf *outer, text;
} Piece;

static void begin_piece(Gen *g, Piece *p)
{
    *p = (Piece){.outer = g->out};
    g->out = &p->text;
}

static const char *end_piece(Gen *g, Piece *p)
{
    g->out = p->outer;
    const char *copy = arena_strndup(g->arena, strbuf_text(&p->text), p->text.size_bytes);
    strbuf_free(&p->text);
    return copy;
}

static void add_line(Lines *lines, const char *line)
{
    ASSERT(lines->count < LINES_MAX);
    lines->text[lines->count++] = line;
}

static void write_lines(Gen *g, const Lines *lines, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; ++i)
        text(g, lines->text[i]);
}

static void value(Gen *g, GenBase base)
{
    g->nodes_left = WRITER_NODES;
    writer_expr(g, writer_basic(base), 4);
    text(g, ";");
}

/* name = value; */
static void set(Gen *g, const char *name, GenBase base)
{
    writer_line(g);
    strbuf_printf(g->out, "%s = ", name);
    value(g, base);
}

/* The variables that are visible now, to come back to. */
typedef struct Scope {
    GenVar *vars;
    uint32_t count;
} Scope;

static Scope keep_scope(Gen *g)
{
    Scope s = {ARENA_ARRAY(g->arena, GenVar, g->vars.count), g->vars.count};
    for (uint32_t i = 0; i < s.count; ++i)
        s.vars[i] = g->vars.data[i];
    return s;
}

static void restore_scope(Gen *g, const Scope *s)
{
    g->vars.count = 0;
    for (uint32_t i = 0; i < s->count; ++i)
        array_push(g->arena, &g->vars, s->vars[i]);
}

/* Takes away names that mean something else here. */
static void hide(Gen *g, const char *const *names, size_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < g->vars.count; ++i)
        if (!is_in(g->vars.data[i].name, names, count))
            g->vars.data[kept++] = g->vars.data[i];
    g->vars.count = kept;
}

/* --- statements ------------------------------------------------------------------------------- */

static void add_statements(Gen *g, Lines *lines, uint32_t count)
{
    Piece piece;
    for (uint32_t i = 0; i < count; ++i) {
        begin_piece(g, &piece);
        writer_line(g);
        writer_statement(g, 2);
        add_line(lines, end_piece(g, &piece));
    }
}

/* Declares a variable without its own name in its initial value. */
static void add_declaration(Gen *g, Lines *lines, const char *name, bool is_writable)
{
    Piece piece;
    GenType t = writer_basic(writer_pick(g, 2) ? GEN_FLOAT : GEN_FLOAT3);
    begin_piece(g, &piece);
    writer_line(g);
    writer_type_name(g, t);
    hide(g, &name, 1);
    strbuf_printf(g->out, "%s = ", name);
    value(g, (GenBase)t.base);
    add_line(lines, end_piece(g, &piece));
    writer_add_var(g, name, t, is_writable);
}

/* A state of all lobes that has the name of what a lobe or a sample sets. */
static void add_set_name(Gen *g, Lines *lines)
{
    const char *name = WRITER_ONE_OF(g, set_names);
    for (uint32_t i = 0; i < g->vars.count; ++i)
        if (strcmp(g->vars.data[i].name, name) == 0)
            return;
    add_declaration(g, lines, name, false);
}

/* A state of the lobe that hides one of all lobes. */
static void add_shadow(Gen *g, Lines *lines)
{
    const char *name = g->vars.data[writer_pick(g, g->vars.count)].name;
    if (name[0] == 'v')
        add_declaration(g, lines, name, true);
}

/* --- lobes ------------------------------------------------------------------------------------ */

static uint32_t choose_flags(Gen *g)
{
    static const uint32_t kinds[] = {SSL_LOBE_DIFFUSE, SSL_LOBE_GLOSSY, SSL_LOBE_DELTA};
    static const uint32_t sides[] = {SSL_LOBE_REFLECTION, SSL_LOBE_TRANSMISSION,
                                     SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION};
    static const uint32_t inward[] = {SSL_LOBE_TRANSPARENT, SSL_LOBE_SUBSURFACE};
    static const uint32_t seen_as[] = {SSL_LOBE_SEEN_AS_GLOSSY, SSL_LOBE_SEEN_AS_TRANSMISSION};
    uint32_t flags = WRITER_ONE_OF(g, kinds) | WRITER_ONE_OF(g, sides);
    if (writer_one_in(g, 6))
        flags = SSL_LOBE_DELTA | SSL_LOBE_TRANSMISSION | WRITER_ONE_OF(g, inward);
    if (writer_one_in(g, 6))
        flags |= SSL_LOBE_FIBRE;
    if (writer_one_in(g, 4))
        flags |= SSL_LOBE_BENT;
    if (writer_one_in(g, 4))
        flags |= SSL_LOBE_RECIPROCAL;
    if (writer_one_in(g, 5))
        flags |= WRITER_ONE_OF(g, seen_as);
    return flags;
}

static bool is_two_sided(uint32_t flags)
{
    return (flags & SSL_LOBE_REFLECTION) && (flags & SSL_LOBE_TRANSMISSION);
}

/* The statements of eval or sample before those that set what must be set. */
static void member_statements(Gen *g)
{
    uint32_t count = writer_pick(g, 4);
    for (uint32_t i = 0; i < count; ++i) {
        writer_line(g);
        writer_statement(g, 2);
    }
}

/* Begins eval or sample, which may return early and cannot change the state. */
static void begin_member(Gen *g, uint32_t turns)
{
    g->is_state = false;
    g->turns = turns;
    for (uint32_t i = 0; i < g->vars.count; ++i)
        g->vars.data[i].is_writable = false;
}

/* turns: how often it runs. */
static const char *eval_text(Gen *g, bool has_sample, uint32_t turns)
{
    Piece piece;
    begin_piece(g, &piece);
    begin_member(g, turns);
    writer_add_var(g, "wi", writer_basic(GEN_FLOAT3), true);
    writer_add_var(g, "options", writer_basic(GEN_INT), true);
    writer_add_var(g, "f_cos", writer_basic(GEN_FLOAT3), true);
    writer_add_var(g, "pdf", writer_basic(GEN_FLOAT), true);
    member_statements(g);
    set(g, "f_cos", GEN_FLOAT3);
    if (has_sample || writer_pick(g, 2))
        set(g, "pdf", GEN_FLOAT);
    return end_piece(g, &piece);
}

static const char *sample_text(Gen *g, uint32_t flags)
{
    Piece piece;
    bool is_delta = flags & SSL_LOBE_DELTA;
    begin_piece(g, &piece);
    begin_member(g, 1);
    hide(g, set_by_sample, is_delta ? 3 : 1);
    writer_add_var(g, "u", writer_basic(GEN_FLOAT3), true);
    writer_add_var(g, "options", writer_basic(GEN_INT), true);
    writer_add_var(g, "wi", writer_basic(GEN_FLOAT3), true);
    member_statements(g);
    if (!(flags & SSL_LOBE_TRANSPARENT) || writer_pick(g, 2))
        set(g, "wi", GEN_FLOAT3);
    if (writer_pick(g, 2))
        set(g, "eta", GEN_FLOAT);
    if (is_delta)
        set(g, "weight", GEN_FLOAT3);
    if (is_delta && writer_pick(g, 2))
        set(g, "probability", GEN_FLOAT);
    return end_piece(g, &piece);
}

/* What the lobe sets for whoever runs it. */
static void add_results(Gen *g, LobeText *lobe)
{
    Piece piece;
    lobe->sets_albedo = !writer_one_in(g, 3);
    begin_piece(g, &piece);
    if (lobe->sets_albedo)
        set(g, "albedo", GEN_FLOAT3);
    if (is_two_sided(lobe->flags))
        set(g, "reflected", GEN_FLOAT3);
    if (lobe->flags & SSL_LOBE_SUBSURFACE) {
        set(g, "medium.albedo", GEN_FLOAT3);
        set(g, "medium.extinction", GEN_FLOAT3);
        set(g, "medium.g", GEN_FLOAT);
    }
    add_line(&lobe->lines, end_piece(g, &piece));
}

/* Keeps the variables that eval and sample see: state and arguments. Names that the lobe sets mean there what they mean
 * outside of the lobe. */
static void see_state(Gen *g, const Scope *outer, LobeText *lobe)
{
    static const char *const of_prepare[] = {"options", "outside", "blur", "base_factor"};
    hide(g, set_names, SORT_COUNT_OF(set_names));
    for (uint32_t i = 0; i < outer->count; ++i)
        if (is_in(outer->vars[i].name, set_names, SORT_COUNT_OF(set_names)))
            array_push(g->arena, &g->vars, outer->vars[i]);
    hide(g, of_prepare, SORT_COUNT_OF(of_prepare));
    GenVar *vars = ARENA_ARRAY(g->arena, GenVar, g->vars.count);
    for (uint32_t i = 0; i < g->vars.count; ++i)
        if (!g->vars.data[i].is_of_file)
            vars[lobe->var_count++] = g->vars.data[i];
    lobe->vars = vars;
}

static void make_lobe(Gen *g, LobeText *lobe)
{
    static const char *const set_by_lobe[] = {"albedo", "reflected", "medium"};
    const Scope outer = keep_scope(g);
    *lobe = (LobeText){.flags = choose_flags(g)};
    bool is_delta = lobe->flags & SSL_LOBE_DELTA;
    hide(g, set_by_lobe, 1);
    if (is_two_sided(lobe->flags))
        hide(g, set_by_lobe + 1, 1);
    if (lobe->flags & SSL_LOBE_SUBSURFACE)
        hide(g, set_by_lobe + 2, 1);
    for (uint32_t i = 0; i < g->vars.count; ++i) /* the state of all lobes */
        g->vars.data[i].is_writable = strcmp(g->vars.data[i].name, "base_factor") == 0;
    if (writer_one_in(g, 4))
        add_shadow(g, &lobe->lines);
    add_statements(g, &lobe->lines, writer_pick(g, 3));
    add_results(g, lobe);
    see_state(g, &outer, lobe);
    const Scope seen = keep_scope(g);
    bool has_sample = is_delta || writer_pick(g, 3);
    if (!is_delta)
        lobe->eval = eval_text(g, has_sample, lobe->sets_albedo ? 1 : 8);
    restore_scope(g, &seen);
    if (has_sample)
        lobe->sample = sample_text(g, lobe->flags);
    restore_scope(g, &outer);
    g->is_state = true;
    g->turns = 1;
}

/* --- arguments and state ---------------------------------------------------------------------- */

static void choose_arguments(Form *f)
{
    Gen *g = f->g;
    uint32_t count = writer_pick(g, GEN_BSDF_ARGS_MAX);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t kind = writer_pick(g, 8);
        const char *name = kind == 6   ? (i ? "T" : "N")
                           : kind == 7 ? WRITER_ONE_OF(g, set_names)
                                       : writer_new_name(g);
        if (is_in(name, f->arg, i))
            name = writer_new_name(g);
        bool is_direction = name[0] == 'N' || name[0] == 'T';
        f->arg[i] = name;
        f->info.arg[i] = is_direction || writer_pick(g, 2) ? GEN_FLOAT3 : GEN_FLOAT;
        writer_add_var(g, name, writer_basic(f->info.arg[i]), false);
    }
    f->info.arg_count = count;
    f->is_layer = writer_one_in(g, 4);
    if (f->is_layer)
        f->info.arg[f->info.arg_count++] = GEN_CLOSURE;
}

static void make_form(Form *f)
{
    Gen *g = f->g;
    writer_begin_function(g, writer_basic(GEN_VOID));
    g->is_state = true;
    writer_add_var(g, "wo", writer_basic(GEN_FLOAT3), false);
    writer_add_var(g, "options", writer_basic(GEN_INT), false);
    writer_add_var(g, "outside", writer_basic(GEN_BOOL), false);
    writer_add_var(g, "blur", writer_basic(GEN_FLOAT), false);
    choose_arguments(f);
    if (f->is_layer)
        writer_add_var(g, "base_factor", writer_basic(GEN_FLOAT3), true);
    if (writer_one_in(g, 5))
        add_set_name(g, &f->lines);
    add_statements(g, &f->lines, writer_pick(g, 6));
    if (f->is_layer) {
        Piece piece;
        begin_piece(g, &piece);
        set(g, "base_factor", GEN_FLOAT3);
        add_line(&f->lines, end_piece(g, &piece));
    }
    f->lobe_count = 1 + writer_pick(g, LOBES_MAX);
    for (uint32_t k = 0; k < f->lobe_count; ++k)
        make_lobe(g, &f->lobe[k]);
    g->is_state = false;
}

/* --- the bsdf --------------------------------------------------------------------------------- */

static void write_argument(Form *f, uint32_t i)
{
    static const char *const triples[] = {"color", "point", "vector", "normal"};
    Gen *g = f->g;
    bool is_direction = f->arg[i][0] == 'N' || f->arg[i][0] == 'T';
    const char *type = f->info.arg[i] == GEN_FLOAT ? "float"
                       : is_direction              ? triples[2 + writer_pick(g, 2)]
                                                   : WRITER_ONE_OF(g, triples);
    strbuf_printf(g->out, "%s%s %s", i ? ", " : "", type, f->arg[i]);
}

static void write_arguments(Form *f)
{
    Gen *g = f->g;
    uint32_t count = f->info.arg_count - f->is_layer;
    text(g, "(");
    for (uint32_t i = 0; i < count; ++i) {
        write_argument(f, i);
        if (writer_one_in(g, 6))
            text(g, " [[ float min = -0.5, float max = 1.5 ]]");
    }
    if (f->is_layer)
        text(g, count ? ", closure base" : "closure base");
    text(g, ")");
    if (writer_one_in(g, 3))
        text(g, " [[ string doc = \"Made at random.\", float energy = 3 ]]");
}

/* The words in some order. */
static void write_words(Gen *g, uint32_t flags)
{
    uint32_t words = 0;
    while (ssl_lobe_word(1u << words))
        ++words;
    uint32_t start = writer_pick(g, words);
    for (uint32_t i = 0; i < words; ++i) {
        uint32_t flag = 1u << (start + i) % words;
        if (flags & flag)
            strbuf_printf(g->out, " %s", ssl_lobe_word(flag));
    }
}

static void write_member(Gen *g, const char *word, const char *body)
{
    if (body)
        strbuf_printf(g->out, "\n%s {%s\n}", word, body);
}

/* eval and sample stand anywhere between the statements of the lobe. */
static void write_lobe(Gen *g, const LobeText *lobe)
{
    uint32_t eval = writer_pick(g, lobe->lines.count + 1);
    uint32_t sample = writer_pick(g, lobe->lines.count + 1);
    text(g, "\n\n    lobe");
    write_words(g, lobe->flags);
    text(g, "\n    {");
    for (uint32_t i = 0; i <= lobe->lines.count; ++i) {
        /* A choice of 0, the simplest, puts them last. */
        if (i == lobe->lines.count - eval)
            write_member(g, "eval", lobe->eval);
        if (i == lobe->lines.count - sample)
            write_member(g, "sample", lobe->sample);
        if (i < lobe->lines.count)
            text(g, lobe->lines.text[i]);
    }
    text(g, "\n    }");
}

static void write_definition(Form *f)
{
    Gen *g = f->g;
    uint32_t line = 0;
    strbuf_printf(g->out, "bsdf B%u", f->index);
    write_arguments(f);
    text(g, "\n{");
    for (uint32_t k = 0; k < f->lobe_count; ++k) {
        uint32_t late = writer_pick(g, f->lines.count - line + 1);
        for (; line < f->lines.count - late; ++line)
            text(g, f->lines.text[line]);
        write_lobe(g, &f->lobe[k]);
    }
    for (; line < f->lines.count; ++line)
        text(g, f->lines.text[line]);
    text(g, "\n}\n\n");
}

/* --- the plain shader ------------------------------------------------------------------------- */

/* Functions in place of eval and sample; all that they see is a parameter. */
static void write_plain_function(Form *f, uint32_t k, bool is_sample)
{
    Gen *g = f->g;
    const LobeText *lobe = &f->lobe[k];
    strbuf_printf(g->out, "void B%u_%s_%u(%s, int options", f->index, is_sample ? "sample" : "eval",
                  k, is_sample ? "float3 u" : "vector wi");
    for (uint32_t i = 0; i < lobe->var_count; ++i) {
        text(g, ", ");
        writer_type_name(g, lobe->vars[i].type);
        bool is_hidden = is_sample && is_in(lobe->vars[i].name, set_by_sample,
                                            lobe->flags & SSL_LOBE_DELTA ? 3 : 1);
        strbuf_printf(g->out, "%s%s", is_hidden ? "outer_" : "", lobe->vars[i].name);
        writer_type_sizes(g, lobe->vars[i].type);
    }
    text(g, is_sample ? ", out vector wi, inout float eta" : ", out color f_cos, out float pdf");
    if (is_sample && (lobe->flags & SSL_LOBE_DELTA))
        text(g, ", out color weight, inout float probability");
    strbuf_printf(g->out, ")\n{%s\n}\n\n", is_sample ? lobe->sample : lobe->eval);
}

/* The arguments for what is visible, after the first two. */
static void write_seen(Gen *g, const LobeText *lobe)
{
    for (uint32_t i = 0; i < lobe->var_count; ++i) {
        bool is_set = is_in(lobe->vars[i].name, set_names, SORT_COUNT_OF(set_names));
        strbuf_printf(g->out, ", %s%s", is_set ? "outer_" : "", lobe->vars[i].name);
    }
}

static void write_plain_albedo(Form *f, uint32_t k)
{
    Gen *g = f->g;
    const LobeText *lobe = &f->lobe[k];
    if (lobe->sets_albedo) {
        strbuf_printf(g->out, "\n    out_albedo_%u = albedo;", k);
    } else if (!lobe->eval) {
        strbuf_printf(g->out, "\n    out_albedo_%u = color(1);", k);
    } else {
        strbuf_printf(g->out,
                      "\n    for (int i = 0; i < BSDF_ALBEDO_DIRECTIONS; ++i) {"
                      "\n        color f;\n        float p;"
                      "\n        B%u_eval_%u(bsdf_albedo_direction(i, %u), options",
                      f->index, k, lobe->flags);
        write_seen(g, lobe);
        strbuf_printf(g->out,
                      ", f, p);\n        out_albedo_%u += f * bsdf_albedo_weight(%u);\n    }"
                      "\n    out_albedo_%u = bsdf_at_least(out_albedo_%u);",
                      k, lobe->flags, k, k);
    }
}

static void write_plain_eval(Form *f, uint32_t k)
{
    Gen *g = f->g;
    const LobeText *lobe = &f->lobe[k];
    if (!lobe->eval)
        return;
    strbuf_printf(g->out,
                  "\n    if (bsdf_reaches(in_wi, in_Ng, local, %u)) {"
                  "\n        B%u_eval_%u(local, options",
                  lobe->flags, f->index, k);
    write_seen(g, lobe);
    strbuf_printf(g->out, ", out_f_cos_%u, out_pdf_%u);", k, k);
    if (!lobe->sample)
        strbuf_printf(g->out, "\n        out_pdf_%u = bsdf_default_pdf(local, %u);", k,
                      lobe->flags);
    if (lobe->flags & SSL_LOBE_DIFFUSE)
        strbuf_printf(
            g->out,
            "\n        out_f_cos_%u *= bsdf_past_bump(in_unbent, frame.n, in_wi, in_Ng, options);",
            k);
    text(g, "\n    }");
}

static void write_plain_sample(Form *f, uint32_t k)
{
    Gen *g = f->g;
    const LobeText *lobe = &f->lobe[k];
    strbuf_printf(g->out, "\n    vector drawn;\n    out_eta_%u = 1;", k);
    if (lobe->flags & SSL_LOBE_DELTA)
        strbuf_printf(g->out, "\n    out_probability_%u = 1;", k);
    if (lobe->sample) {
        strbuf_printf(g->out, "\n    B%u_sample_%u(in_u, options", f->index, k);
        write_seen(g, lobe);
        strbuf_printf(g->out, ", drawn, out_eta_%u", k);
        if (lobe->flags & SSL_LOBE_DELTA)
            strbuf_printf(g->out, ", out_weight_%u, out_probability_%u", k, k);
        text(g, ");");
    } else {
        strbuf_printf(g->out, "\n    drawn = bsdf_default_sample(in_u, %u);", lobe->flags);
    }
    strbuf_printf(g->out, "\n    out_wi_%u = bsdf_drawn(frame, drawn, in_wo, in_Ng, %u);", k,
                  lobe->flags);
}

static void write_plain_lobe(Form *f, uint32_t k)
{
    Gen *g = f->g;
    const LobeText *lobe = &f->lobe[k];
    bool has_medium = lobe->flags & SSL_LOBE_SUBSURFACE;
    text(g, "\n    {");
    if (lobe->sets_albedo)
        text(g, "\n    color albedo = color(0);");
    if (is_two_sided(lobe->flags))
        text(g, "\n    color reflected = color(0);");
    if (has_medium)
        text(g, "\n    BsdfMedium medium;");
    write_lines(g, &lobe->lines, 0, lobe->lines.count);
    write_plain_albedo(f, k);
    if (is_two_sided(lobe->flags))
        strbuf_printf(g->out, "\n    out_reflected_%u = reflected;", k);
    if (has_medium)
        strbuf_printf(g->out, "\n    out_medium_%u = medium;", k);
    write_plain_eval(f, k);
    write_plain_sample(f, k);
    text(g, "\n    }");
}

static void write_plain_outputs(Form *f)
{
    Gen *g = f->g;
    text(g, ",\n    out BsdfFrame out_frame");
    if (f->is_layer)
        text(g, ", out color out_base_factor");
    for (uint32_t k = 0; k < f->lobe_count; ++k) {
        uint32_t flags = f->lobe[k].flags;
        strbuf_printf(g->out,
                      ",\n    out color out_albedo_%u, out vector out_wi_%u, out float out_eta_%u",
                      k, k, k);
        if (is_two_sided(flags))
            strbuf_printf(g->out, ", out color out_reflected_%u", k);
        if (flags & SSL_LOBE_SUBSURFACE)
            strbuf_printf(g->out, ", out BsdfMedium out_medium_%u", k);
        if (flags & SSL_LOBE_DELTA)
            strbuf_printf(g->out, ", out color out_weight_%u, out float out_probability_%u", k, k);
        else
            strbuf_printf(g->out, ", out color out_f_cos_%u, out float out_pdf_%u", k, k);
    }
}

/* The frame of the lobes, by the words of all of them. */
static void write_plain_frame(Form *f)
{
    Gen *g = f->g;
    bool is_bent = false, is_fibre = false, has_normal = false, has_tangent = false;
    for (uint32_t k = 0; k < f->lobe_count; ++k) {
        uint32_t flags = f->lobe[k].flags;
        is_fibre = is_fibre || (flags & SSL_LOBE_FIBRE);
        is_bent =
            is_bent || (flags & SSL_LOBE_BENT) || (flags & SSL_LOBE_GLOSSY) ||
            ((flags & SSL_LOBE_DELTA) && !(flags & (SSL_LOBE_SUBSURFACE | SSL_LOBE_TRANSPARENT)));
    }
    for (uint32_t i = 0; i < f->info.arg_count - f->is_layer; ++i) {
        has_normal = has_normal || f->arg[i][0] == 'N';
        has_tangent = has_tangent || f->arg[i][0] == 'T';
    }
    if (is_fibre)
        strbuf_printf(g->out, "\n    const BsdfFrame frame = bsdf_fibre_frame(%s, in_wo);",
                      has_tangent ? "T" : "vector(0)");
    else
        strbuf_printf(g->out, "\n    const BsdfFrame frame = %sbsdf_frame(%s, in_wo, in_Ng, %s)%s;",
                      has_tangent ? "bsdf_align(" : "", has_normal ? "N" : "in_Ng",
                      is_bent ? "true" : "false", has_tangent ? ", T)" : "");
}

/* Copies of arguments and state whose names lobes use for something else. */
static void write_outer_names(Form *f)
{
    Gen *g = f->g;
    for (uint32_t i = 0; i < g->vars.count; ++i)
        if (is_in(g->vars.data[i].name, set_names, SORT_COUNT_OF(set_names)))
            strbuf_printf(g->out, "\n    const %s outer_%s = %s;",
                          g->vars.data[i].type.base == GEN_FLOAT ? "float" : "float3",
                          g->vars.data[i].name, g->vars.data[i].name);
}

static void write_plain_shader(Form *f)
{
    Gen *g = f->g;
    strbuf_printf(
        g->out,
        "shader B%u_plain(vector in_wo, normal in_Ng, bool outside, int in_options, float "
        "blur,\n    vector in_wi, vector in_unbent, float3 in_u",
        f->index);
    for (uint32_t i = 0; i < f->info.arg_count - f->is_layer; ++i)
        strbuf_printf(g->out, ", %s %s", f->info.arg[i] == GEN_FLOAT ? "float" : "float3",
                      f->arg[i]);
    write_plain_outputs(f);
    text(g, ")\n{\n    const int options = in_options;");
    write_plain_frame(f);
    text(g, "\n    const vector wo = bsdf_to_local(frame, in_wo);"
            "\n    const vector local = bsdf_to_local(frame, in_wi);"
            "\n    out_frame = frame;");
    if (f->is_layer)
        text(g, "\n    color base_factor = color(1);");
    write_lines(g, &f->lines, 0, f->lines.count);
    write_outer_names(f);
    for (uint32_t k = 0; k < f->lobe_count; ++k)
        write_plain_lobe(f, k);
    text(g, f->is_layer ? "\n    out_base_factor = base_factor;\n}\n\n" : "\n}\n\n");
}

void writer_bsdf(Gen *g)
{
    Form *f = ARENA_NEW(g->arena, Form);
    f->g = g;
    f->index = g->bsdfs.count;
    g->indent = 1;
    make_form(f);
    g->indent = 0;
    write_definition(f);
    for (uint32_t k = 0; k < f->lobe_count; ++k) {
        if (f->lobe[k].eval)
            write_plain_function(f, k, false);
        if (f->lobe[k].sample)
            write_plain_function(f, k, true);
    }
    write_plain_shader(f);
    array_push(g->arena, &g->bsdfs, f->info);
}
