/* Scattering functions:
 *
 *   bsdf Name(arguments) [[ metadata ]]
 *   {
 *       statements               the state: what depends on the arguments and on `wo`
 *       lobe glossy reflection
 *       {
 *           statements           more state, and `albedo`
 *           eval { ... }         sets f_cos and pdf for `wi`
 *           sample { ... }       sets wi by the random numbers `u`
 *       }
 *   }
 *
 * They are made into declarations that the rest of the compiler knows already: shaders that a host runs with rows
 * (SslBuildDesc.rows), and functions that these call. Text that is the same for all of them is written as text of
 * the language, lexed and parsed here, so the code below mostly prints.
 *
 *   shader Name.prepare  _wo, _Ng, outside, options, blur, _weight, arguments
 *                        > _frame, _albedo*, _select*, the state that lobes mention
 *   shader Name.eval     _wi, _Ng, _unbent, _frame, _weight, _select*, _f_sum, _pdf_sum, state > _f_cos, _pdf
 *   shader Name.sample   _u, _chosen, _Ng, _wo, _frame, state > _wi, _eta; with a delta also _weight, _probability
 *
 * A state variable x is `_s_x` in these interfaces, and `_sK_x` if lobe K declares it. Whoever runs the shaders passes each
 * row on by its name. */
#include "ssl/front/parse_bsdf.h"
#include "base/check.h"
#include "base/str.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"
#include <string.h>

static bool is_word(const Parser *p, const char *word)
{
    return parse_is(p, TOKEN_NAME) && strcmp(parse_token(p)->text, word) == 0;
}

bool parse_at_bsdf(const Parser *p)
{
    return is_word(p, "bsdf") && parse_next_kind(p) == TOKEN_NAME &&
           !name_map_get(&p->struct_names, parse_token(p)->text);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void report_unknown_word(Parser *p)
{
    const char *words[32], *word = parse_token(p)->text, *nearest;
    uint32_t count = 0;
    for (; ssl_lobe_word(1u << count); ++count)
        words[count] = ssl_lobe_word(1u << count);
    if (!parse_reports(p, LOBE_WORD, parse_token(p)->span, word))
        return;
    nearest = suggest_nearest(word, words, count);
    if (nearest)
        report(p->diags, NOTE_DID_YOU_MEAN, (Span){0}, nearest);
}

static uint32_t parse_lobe_flags(Parser *p)
{
    uint32_t flags = 0;
    while (parse_is(p, TOKEN_NAME)) {
        uint32_t flag = 1;
        while (ssl_lobe_word(flag) && !is_word(p, ssl_lobe_word(flag)))
            flag <<= 1;
        if (!ssl_lobe_word(flag)) {
            report_unknown_word(p);
            return flags;
        }
        if (flags & flag)
            report(p->diags, LOBE_WORD_TWICE, parse_token(p)->span, parse_token(p)->text);
        flags |= flag;
        parse_advance(p);
    }
    return flags;
}

static bool at_member(const Parser *p, const char *word)
{
    return is_word(p, word) && parse_next_kind(p) == TOKEN_OPEN_BRACE;
}

static Stmt *parse_member(Parser *p, Stmt *earlier, Tokens *out_tokens)
{
    Span span = parse_token(p)->span;
    if (earlier)
        report(p->diags, REDECLARED, span, parse_token(p)->text);
    parse_advance(p);
    out_tokens->begin = p->at;
    Stmt *block = parse_block(p);
    out_tokens->end = p->at;
    return block;
}

static bool is_one_bit(uint32_t bits)
{
    return bits != 0 && (bits & (bits - 1)) == 0;
}

/* What is wrong with the words of a lobe beyond its sides and its kind, or NULL. */
static const char *wrong_words(uint32_t flags)
{
    const uint32_t inward = SSL_LOBE_DELTA | SSL_LOBE_TRANSMISSION;
    const uint32_t seen_as = SSL_LOBE_SEEN_AS_GLOSSY | SSL_LOBE_SEEN_AS_TRANSMISSION;
    bool is_inward = (flags & inward) == inward && !(flags & SSL_LOBE_REFLECTION);
    if ((flags & SSL_LOBE_TRANSPARENT) && !is_inward)
        return "a transparent lobe has the words delta and transmission, and not reflection";
    if ((flags & SSL_LOBE_SUBSURFACE) && !is_inward)
        return "a subsurface lobe has the words delta and transmission, and not reflection";
    if ((flags & SSL_LOBE_TRANSPARENT) && (flags & SSL_LOBE_SUBSURFACE))
        return "a lobe is either transparent or subsurface";
    if ((flags & SSL_LOBE_PORTAL) && !(flags & SSL_LOBE_TRANSPARENT))
        return "a portal is a lobe with the word transparent";
    if ((flags & seen_as) == seen_as)
        return "a lobe is seen as one thing: glossy or transmission";
    return NULL;
}

static void check_lobe(const Parser *p, const Lobe *lobe)
{
    bool is_delta = lobe->flags & SSL_LOBE_DELTA;
    const uint32_t kinds = SSL_LOBE_DIFFUSE | SSL_LOBE_GLOSSY | SSL_LOBE_DELTA;
    const char *wrong = wrong_words(lobe->flags);
    if (!(lobe->flags & (SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION)))
        report(p->diags, LOBE_SIDE, lobe->span, NULL);
    if (!is_one_bit(lobe->flags & kinds))
        report(p->diags, LOBE_KIND, lobe->span, NULL);
    else if (wrong)
        report(p->diags, LOBE_MEMBER, lobe->span, wrong);
    if (is_delta && lobe->eval)
        report(p->diags, LOBE_MEMBER, lobe->span, "a delta lobe has no eval: only sample finds it");
    if (is_delta && !lobe->sample)
        report(p->diags, LOBE_MEMBER, lobe->span, "a delta lobe needs sample");
    if (!is_delta && !lobe->eval)
        report(p->diags, LOBE_MEMBER, lobe->span, "a lobe that is not a delta needs eval");
}

/* Whether sample may read the third random number: it has u otherwise than as u.x, u.y or u.xy, or it is left out, and
 * then chooses between two sides by it. */
static bool reads_third(const Bsdf *b, const Lobe *lobe)
{
    static const char *const others[] = {"x", "y", "xy"};
    const uint32_t sides = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    const Token *tokens = b->p->tokens;
    if (!lobe->sample)
        return (lobe->flags & sides) == sides;
    for (uint32_t i = lobe->sample_tokens.begin; i < lobe->sample_tokens.end; ++i) {
        if (tokens[i].kind != TOKEN_NAME || strcmp(tokens[i].text, "u") != 0)
            continue;
        bool is_part = tokens[i + 1].kind == TOKEN_DOT && tokens[i + 2].kind == TOKEN_NAME;
        bool is_other = false;
        for (size_t k = 0; is_part && k < SORT_COUNT_OF(others); ++k)
            is_other = is_other || strcmp(tokens[i + 2].text, others[k]) == 0;
        if (!is_other)
            return true;
    }
    return false;
}

/* lobe words { statements, eval { ... }, sample { ... } } */
static void parse_lobe(Bsdf *b)
{
    Parser *p = b->p;
    Lobe lobe = {.span = parse_advance(p)->span};
    ARRAY(Stmt *) list = {0};
    lobe.all.begin = p->at;
    lobe.flags = parse_lobe_flags(p);
    Span open = parse_token(p)->span;
    if (p->is_panicking || !parse_expect(p, TOKEN_OPEN_BRACE, "after the words of the lobe"))
        return;
    while (!parse_is(p, TOKEN_CLOSE_BRACE) && !parse_is(p, TOKEN_END)) {
        if (at_member(p, "eval"))
            lobe.eval = parse_member(p, lobe.eval, &lobe.eval_tokens);
        else if (at_member(p, "sample"))
            lobe.sample = parse_member(p, lobe.sample, &lobe.sample_tokens);
        else
            array_push(p->arena, &list, parse_statement(p));
    }
    parse_close(p, TOKEN_CLOSE_BRACE, open);
    lobe.all.end = p->at;
    lobe.body = ARENA_NEW(p->arena, Stmt);
    *lobe.body = (Stmt){.kind = STMT_BLOCK, .span = lobe.span, .list = {list.data, list.count}};
    check_lobe(p, &lobe);
    lobe.flags |= reads_third(b, &lobe) ? SSL_LOBE_THIRD : 0;
    array_push(p->arena, &b->lobes, lobe);
}

/* --- the state -------------------------------------------------------------------------------- */

bool bsdf_mentions(const Bsdf *b, Tokens range, const char *name)
{
    ASSERT(range.begin <= range.end);
    for (uint32_t i = range.begin; i < range.end; ++i)
        if (b->p->tokens[i].kind == TOKEN_NAME && strcmp(b->p->tokens[i].text, name) == 0)
            return true;
    return false;
}

/* Whether eval or sample has a variable of this name, which hides an argument or a state that is called so too. */
static bool is_own_name(const char *name, const Lobe *lobe, bool in_sample)
{
    static const char *const of_eval[] = {"wi", "options", "f_cos", "pdf"};
    static const char *const of_sample[] = {"wi", "options", "u", "eta"};
    static const char *const of_delta[] = {"weight", "probability"};
    for (size_t i = 0; i < SORT_COUNT_OF(of_eval); ++i)
        if (strcmp(in_sample ? of_sample[i] : of_eval[i], name) == 0)
            return true;
    for (size_t i = 0; in_sample && (lobe->flags & SSL_LOBE_DELTA) && i < SORT_COUNT_OF(of_delta);
         ++i)
        if (strcmp(of_delta[i], name) == 0)
            return true;
    return false;
}

/* Whether the statements of the lobe declare the name, so that it means nothing else there. */
static bool is_declared_in(const Lobe *lobe, const char *name)
{
    for (uint32_t i = 0; i < lobe->body->list.count; ++i) {
        const Stmt *stmt = lobe->body->list.items[i];
        for (uint32_t k = 0; stmt->kind == STMT_DECLARE && k < stmt->vars.count; ++k)
            if (stmt->vars.items[k]->name && strcmp(stmt->vars.items[k]->name, name) == 0)
                return true;
    }
    return false;
}

static bool is_wanted(const Bsdf *b, const StateVar *var, const Lobe *lobe, bool in_sample)
{
    bool is_visible =
        var->lobe < 0 ? !is_declared_in(lobe, var->name) : &b->lobes.data[var->lobe] == lobe;
    /* The default albedo runs eval, and so does the default density. */
    return is_visible && !is_own_name(var->name, lobe, in_sample) &&
           bsdf_mentions(b, in_sample ? lobe->sample_tokens : lobe->eval_tokens, var->name);
}

static bool is_wanted_anywhere(const Bsdf *b, const StateVar *var)
{
    for (uint32_t k = 0; k < b->lobes.count; ++k)
        if (is_wanted(b, var, &b->lobes.data[k], false) ||
            is_wanted(b, var, &b->lobes.data[k], true))
            return true;
    return false;
}

static const char *source_text(const Parser *p, Span span)
{
    ASSERT(span.end <= p->text.size_bytes && span.begin <= span.end);
    return arena_strndup(p->arena, p->text.data + span.begin, span.end - span.begin);
}

/* Whether there is one of the name already: then the checker tells of the second. */
static bool has_var(const Bsdf *b, const char *name, int lobe)
{
    for (uint32_t i = 0; i < b->vars.count; ++i)
        if (b->vars.data[i].lobe == lobe && strcmp(b->vars.data[i].name, name) == 0)
            return true;
    return false;
}

static bool is_passable(const VarDecl *decl)
{
    SslType basic = decl->type_name->basic;
    return decl->type_name->struct_name ||
           (basic != SSL_STRING && basic != SSL_CLOSURE && basic != SSL_TEXTURE2D);
}

static void add_var(Bsdf *b, const VarDecl *decl, int lobe, bool is_argument)
{
    Parser *p = b->p;
    if (!decl->name || decl->type_name->is_bad || has_var(b, decl->name, lobe))
        return;
    const char *sizes = "";
    for (uint32_t i = 0; i < decl->sizes.count; ++i)
        sizes =
            arena_printf(p->arena, "%s[%s]", sizes,
                         decl->sizes.items[i] ? source_text(p, decl->sizes.items[i]->span) : "");
    StateVar var = {.name = decl->name,
                    .type = source_text(p, decl->type_name->span),
                    .sizes = sizes,
                    .lobe = lobe,
                    .is_argument = is_argument,
                    .span = decl->span};
    if (!is_wanted_anywhere(b, &var))
        return;
    if (!is_passable(decl))
        report(p->diags, BSDF_STATE_TYPE, decl->span, decl->name, var.type);
    if (b->vars.count == SSL_MAX_BSDF_STATE)
        report(p->diags, BSDF_STATE, decl->span, b->name,
               arena_printf(p->arena, "%d", SSL_MAX_BSDF_STATE));
    array_push(p->arena, &b->vars, var);
}

static void add_vars(Bsdf *b, Stmt *const *list, uint32_t count, int lobe)
{
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; list[i]->kind == STMT_DECLARE && k < list[i]->vars.count; ++k)
            add_var(b, list[i]->vars.items[k], lobe, false);
}

static void find_state(Bsdf *b)
{
    StateVar wo = {.name = "wo", .type = "vector", .sizes = "", .lobe = -1, .span = b->span};
    if (is_wanted_anywhere(b, &wo))
        array_push(b->p->arena, &b->vars, wo);
    for (uint32_t i = 0; i < b->args.count; ++i)
        if (b->args.items[i]->type_name->basic != SSL_CLOSURE)
            add_var(b, b->args.items[i], -1, true);
    add_vars(b, b->state.data, b->state.count, -1);
    for (uint32_t k = 0; k < b->lobes.count; ++k)
        add_vars(b, b->lobes.data[k].body->list.items, b->lobes.data[k].body->list.count, (int)k);
}

/* Returns the name of the variable's row. */
static const char *row_name(const Bsdf *b, const StateVar *var)
{
    if (var->is_argument)
        return var->name;
    return var->lobe < 0 ? arena_printf(b->p->arena, "_s_%s", var->name)
                         : arena_printf(b->p->arena, "_s%d_%s", var->lobe, var->name);
}

/* --- writing ---------------------------------------------------------------------------------- */

static const StateVar *var_of_token(const Bsdf *b, const Token *token)
{
    for (uint32_t v = 0; token->kind == TOKEN_NAME && v < b->vars.count; ++v)
        if (strcmp(token->text, b->vars.data[v].name) == 0 ||
            strcmp(token->text, row_name(b, &b->vars.data[v])) == 0)
            return &b->vars.data[v];
    return NULL;
}

/* Gives what passes a state its place in the user's source: its name, and as a parameter also its type and sizes. */
static void place_state(const Bsdf *b, TokenList *own)
{
    const StateVar *var = NULL;
    for (uint32_t i = own->count; i-- > 0;) {
        const StateVar *here = var_of_token(b, &own->data[i]);
        bool is_param = own->data[i].kind != TOKEN_COMMA && own->data[i].kind != TOKEN_OPEN;
        var = here ? here : is_param ? var : NULL;
        if (var)
            own->data[i].span = var->span;
    }
    for (uint32_t i = 1; i < own->count; ++i) /* sizes stand after the name */
        if (own->data[i].kind == TOKEN_OPEN_BRACKET && var_of_token(b, &own->data[i - 1]))
            for (; i < own->count && own->data[i].kind != TOKEN_COMMA &&
                   own->data[i].kind != TOKEN_CLOSE;
                 ++i)
                own->data[i].span = own->data[i - 1].span;
}

/* Names eval or sample of a lobe as a function: so that no user can define or call it, and messages can say it. */
static const char *member_name(const Bsdf *b, const char *member, uint32_t k)
{
    const char *text = arena_printf(b->p->arena, "%s of lobe %u of %s", member, k + 1, b->name);
    return names_intern(b->p->names, str_from(text));
}

/* Replaces _eval_K and _sample_K, which stand for members, by their names. */
static void name_members(const Bsdf *b, TokenList *own)
{
    static const char *const members[] = {"eval", "sample"};
    for (uint32_t i = 0; i < own->count; ++i)
        for (uint32_t m = 0; m < 2 && own->data[i].kind == TOKEN_NAME; ++m)
            for (uint32_t k = 0; k < b->lobes.count; ++k)
                if (strcmp(own->data[i].text, arena_printf(b->p->arena, "_%s_%u", members[m], k)) ==
                    0)
                    own->data[i].text = member_name(b, members[m], k);
}

/* Parses the declaration of `name` that the parser itself wrote. All of it stands at `place` in the user's source. */
static FuncDecl *declare(const Bsdf *b, const char *text, const char *name, Span place)
{
    Parser *p = b->p;
    TokenList own = lex(str_from(text), p->file, p->names, p->arena, p->diags);
    for (uint32_t i = 0; i < own.count; ++i)
        own.data[i].span = place;
    place_state(b, &own);
    name_members(b, &own);
    Token *tokens = p->tokens;
    uint32_t at = p->at, start = p->start, before = p->ast->funcs.count;
    p->tokens = own.data;
    p->at = p->start = 0;
    parse_file(p);
    p->tokens = tokens;
    p->at = at;
    p->start = start;
    if (p->ast->funcs.count != before + 1) /* too many errors */
        return NULL;
    FuncDecl *f = p->ast->funcs.data[before];
    ASSERT(f->body);
    f->span = place;
    f->name = names_intern(p->names, str_from(name));
    return f;
}

static FuncDecl *declare_shader(Bsdf *b, const char *name, const char *text, Span place)
{
    FuncDecl *f = declare(b, text, name, place);
    if (f)
        f->is_of_bsdf = true;
    return f;
}

/* The state that eval or sample of a lobe reads: as parameters of its function, and as arguments of its calls. */
typedef struct Passing {
    const char *params, *args;
} Passing;

/* Whether the statements of a lobe cannot name the state, because they set something that is called so. */
static bool is_hidden_in_lobes(const StateVar *var)
{
    return var->lobe < 0 &&
           (strcmp(var->name, "albedo") == 0 || strcmp(var->name, "reflected") == 0);
}

/* Returns the name of the variable in the statements that `prepare` has of a lobe. */
static const char *name_in_lobe(const Bsdf *b, const StateVar *var)
{
    return is_hidden_in_lobes(var) ? arena_printf(b->p->arena, "_outer_%s", var->name) : var->name;
}

static Passing pass_state(const Bsdf *b, const Lobe *lobe, bool in_sample, bool in_prepare)
{
    Arena *arena = b->p->arena;
    Passing s = {"", ""};
    for (uint32_t i = 0; i < b->vars.count; ++i) {
        const StateVar *var = &b->vars.data[i];
        if (!is_wanted(b, var, lobe, in_sample))
            continue;
        s.params =
            arena_printf(arena, "%s, const %s %s%s", s.params, var->type, var->name, var->sizes);
        s.args = arena_printf(arena, "%s, %s", s.args,
                              in_prepare ? name_in_lobe(b, var) : row_name(b, var));
    }
    return s;
}

/* Returns the state that eval or sample of any lobe reads, as parameters of a shader. */
static const char *state_rows(const Bsdf *b, bool in_sample)
{
    const char *rows = "";
    for (uint32_t i = 0; i < b->vars.count; ++i) {
        const StateVar *var = &b->vars.data[i];
        bool is_read = false;
        for (uint32_t k = 0; k < b->lobes.count; ++k)
            is_read = is_read || is_wanted(b, var, &b->lobes.data[k], in_sample);
        if (is_read)
            rows = arena_printf(b->p->arena, "%s, %s %s%s", rows, var->type, row_name(b, var),
                                var->sizes);
    }
    return rows;
}

/* Declares eval of a lobe as a function. Returns the statements that add the lobe to _f_cos and _pdf. */
static const char *write_eval_of(Bsdf *b, uint32_t k)
{
    const Lobe *lobe = &b->lobes.data[k];
    Arena *arena = b->p->arena;
    Passing state = pass_state(b, lobe, false, false);
    ASSERT(lobe->eval && !(lobe->flags & SSL_LOBE_DELTA));
    FuncDecl *f = declare(
        b,
        arena_printf(arena,
                     "void _eval_%u(vector wi, int options%s, out color f_cos, out float pdf) {}",
                     k, state.params),
        member_name(b, "eval", k), lobe->span);
    if (f)
        f->body = lobe->eval;
    const char *density =
        lobe->sample ? "" : arena_printf(arena, "_p = bsdf_default_pdf(wi, %u);", lobe->flags);
    return arena_printf(
        arena,
        "if (_select_%u > 0 && bsdf_reaches(_wi, _Ng, wi, %u)) { color _f; float _p;"
        "_eval_%u(wi, options%s, _f, _p);%s%s_f_cos += _weight * _f; _pdf += _select_%u * _p; }",
        k, lobe->flags, k, state.args,
        (lobe->flags & (SSL_LOBE_DIFFUSE | SSL_LOBE_FIXED)) == SSL_LOBE_DIFFUSE
            ? "_f *= bsdf_past_bump(_unbent, _frame.n, _wi, _Ng, options);"
            : "",
        density, k);
}

static void write_eval(Bsdf *b)
{
    Arena *arena = b->p->arena;
    const char *lobes = "", *selects = "";
    for (uint32_t k = 0; k < b->lobes.count; ++k) {
        if (!b->lobes.data[k].eval)
            continue;
        lobes = arena_printf(arena, "%s%s", lobes, write_eval_of(b, k));
        selects = arena_printf(arena, "%s, float _select_%u", selects, k);
    }
    if (!lobes[0])
        return;
    declare_shader(
        b, arena_printf(arena, "%s.eval", b->name),
        arena_printf(
            arena,
            "shader _eval(vector _wi, normal _Ng, vector _unbent, BsdfFrame _frame, int options,"
            "color _weight, color _f_sum, float _pdf_sum%s%s, out color _f_cos, out float _pdf) {"
            "const vector wi = bsdf_to_local(_frame, _wi); _f_cos = _f_sum; _pdf = _pdf_sum;%s}",
            selects, state_rows(b, false), lobes),
        b->span);
}

/* Declares sample of a lobe as a function. Returns the statements that draw by the lobe. */
static const char *write_sample_of(Bsdf *b, uint32_t k)
{
    const Lobe *lobe = &b->lobes.data[k];
    Arena *arena = b->p->arena;
    bool is_delta = lobe->flags & SSL_LOBE_DELTA;
    const char *draw = arena_printf(arena, "wi = bsdf_default_sample(_u, %u);", lobe->flags);
    if (lobe->sample) {
        Passing state = pass_state(b, lobe, true, false);
        FuncDecl *f = declare(
            b,
            arena_printf(arena,
                         "void _sample_%u(float3 u, int options%s, out vector wi, inout float eta"
                         "%s) {}",
                         k, state.params,
                         is_delta ? ", out color weight, inout float probability" : ""),
            member_name(b, "sample", k), lobe->span);
        if (f)
            f->body = lobe->sample;
        draw = arena_printf(arena, "_sample_%u(_u, options%s, wi, _eta%s);", k, state.args,
                            is_delta ? ", _weight, _probability" : "");
    }
    return arena_printf(
        arena, "if (_chosen == %u) { vector wi;%s _wi = bsdf_drawn(_frame, wi, _wo, _Ng, %u); }", k,
        draw, lobe->flags);
}

static void write_sample(Bsdf *b)
{
    Arena *arena = b->p->arena;
    const char *lobes = "";
    bool has_delta = false;
    for (uint32_t k = 0; k < b->lobes.count; ++k) {
        lobes = arena_printf(arena, "%s%s", lobes, write_sample_of(b, k));
        has_delta = has_delta || (b->lobes.data[k].flags & SSL_LOBE_DELTA);
    }
    declare_shader(
        b, arena_printf(arena, "%s.sample", b->name),
        arena_printf(arena,
                     "shader _sample(float3 _u, int _chosen, normal _Ng, vector _wo,"
                     "BsdfFrame _frame, int options%s, out vector _wi, out float _eta%s) {"
                     "_eta = 1;%s%s}",
                     state_rows(b, true),
                     has_delta ? ", out color _weight, out float _probability" : "",
                     has_delta ? "_probability = 1;" : "", lobes),
        b->span);
}

VarDecl *bsdf_argument(const Bsdf *b, const char *name)
{
    for (uint32_t i = 0; i < b->args.count; ++i)
        if (b->args.items[i]->name && strcmp(b->args.items[i]->name, name) == 0)
            return b->args.items[i];
    return NULL;
}

/* The frame of directions: z is the normal N, or else z faces the viewer and x runs along a fibre's T, or else z is the
 * geometric normal. */
static const char *frame_text(const Bsdf *b)
{
    bool is_bent = false, is_fibre = false;
    for (uint32_t k = 0; k < b->lobes.count; ++k) {
        uint32_t flags = b->lobes.data[k].flags;
        bool is_plain = flags & (SSL_LOBE_DIFFUSE | SSL_LOBE_SUBSURFACE | SSL_LOBE_TRANSPARENT |
                                 SSL_LOBE_FIXED);
        is_bent = is_bent || !is_plain || (flags & SSL_LOBE_BENT);
        is_fibre = is_fibre || (flags & SSL_LOBE_FIBRE);
    }
    if (is_fibre)
        return bsdf_argument(b, "T") ? "bsdf_fibre_frame(T, _wo)"
                                     : "bsdf_fibre_frame(vector(0), _wo)";
    const char *frame =
        arena_printf(b->p->arena, "bsdf_frame(%s, _wo, _Ng, %s)",
                     bsdf_argument(b, "N") ? "N" : "_Ng", is_bent ? "true" : "false");
    return bsdf_argument(b, "T") ? arena_printf(b->p->arena, "bsdf_align(%s, T)", frame) : frame;
}

static const char *state_outputs(const Bsdf *b)
{
    Arena *arena = b->p->arena;
    const char *outs = "";
    for (uint32_t i = 0; i < b->vars.count; ++i) {
        const StateVar *var = &b->vars.data[i];
        if (!var->is_argument)
            outs = arena_printf(arena, "%s, out %s %s%s", outs, var->type, row_name(b, var),
                                var->sizes);
    }
    for (uint32_t k = 0; k < b->lobes.count; ++k) {
        uint32_t flags = b->lobes.data[k].flags;
        outs = arena_printf(arena, "%s, out color _albedo_%u, out float _select_%u", outs, k, k);
        if ((flags & SSL_LOBE_REFLECTION) && (flags & SSL_LOBE_TRANSMISSION))
            outs = arena_printf(arena, "%s, out color _reflected_%u", outs, k);
        if (flags & SSL_LOBE_SUBSURFACE)
            outs = arena_printf(arena, "%s, out BsdfMedium _medium_%u", outs, k);
    }
    return outs;
}

/* Returns the statements that copy the state of a lobe, or of all lobes (-1), to its rows. */
static const char *state_copies(const Bsdf *b, int lobe)
{
    const char *text = "";
    for (uint32_t i = 0; i < b->vars.count; ++i) {
        const StateVar *var = &b->vars.data[i];
        if (!var->is_argument && var->lobe == lobe)
            text = arena_printf(b->p->arena, "%s%s = %s;", text, row_name(b, var), var->name);
    }
    return text;
}

/* Whether statements of the lobe name its albedo; eval and sample may name an argument that is called so. */
static bool sets_albedo(const Bsdf *b, const Lobe *lobe)
{
    for (uint32_t i = lobe->all.begin; i < lobe->all.end; ++i) {
        const Token *token = &b->p->tokens[i];
        bool is_in_member = (i >= lobe->eval_tokens.begin && i < lobe->eval_tokens.end) ||
                            (i >= lobe->sample_tokens.begin && i < lobe->sample_tokens.end);
        if (!is_in_member && token->kind == TOKEN_NAME && strcmp(token->text, "albedo") == 0 &&
            token[-1].kind != TOKEN_DOT)
            return true;
    }
    return false;
}

/* Whether the albedo of the lobe is a sum of what eval gives. */
static bool sums_albedo(const Bsdf *b, const Lobe *lobe)
{
    return !(lobe->flags & SSL_LOBE_DELTA) && !sets_albedo(b, lobe);
}

/* Returns copies of the state that eval reads while its lobe's albedo is summed, under names that no lobe hides. */
static const char *outer_copies(const Bsdf *b)
{
    const char *text = "";
    for (uint32_t i = 0; i < b->vars.count; ++i) {
        const StateVar *var = &b->vars.data[i];
        bool is_read = false;
        for (uint32_t k = 0; k < b->lobes.count; ++k)
            is_read = is_read || (sums_albedo(b, &b->lobes.data[k]) &&
                                  is_wanted(b, var, &b->lobes.data[k], false));
        if (is_read && is_hidden_in_lobes(var))
            text = arena_printf(b->p->arena, "%sconst %s %s%s = %s;", text, var->type,
                                name_in_lobe(b, var), var->sizes, var->name);
    }
    return text;
}

/* Returns the statements before and after the user's own in a lobe. */
static void lobe_texts(const Bsdf *b, uint32_t k, const char **out_before, const char **out_after)
{
    const Lobe *lobe = &b->lobes.data[k];
    Arena *arena = b->p->arena;
    bool is_two_sided =
        (lobe->flags & SSL_LOBE_REFLECTION) && (lobe->flags & SSL_LOBE_TRANSMISSION);
    const char *albedo = "";
    if (!sets_albedo(b, lobe) && (lobe->flags & SSL_LOBE_DELTA))
        albedo = "albedo = color(1);";
    else if (sums_albedo(b, lobe))
        albedo =
            arena_printf(arena,
                         "for (int _i = 0; _i < BSDF_ALBEDO_DIRECTIONS; ++_i) { color _f; float _p;"
                         "const vector _w = bsdf_albedo_direction(_i, %u);"
                         "_eval_%u(_w, options%s, _f, _p); albedo += _f * bsdf_albedo_weight(%u); }"
                         "albedo = bsdf_at_least(albedo);",
                         lobe->flags, k, pass_state(b, lobe, false, true).args, lobe->flags);
    *out_before = arena_printf(arena, "color albedo = color(0);%s%s",
                               is_two_sided ? "color reflected = color(0);" : "",
                               lobe->flags & SSL_LOBE_SUBSURFACE ? "BsdfMedium medium;" : "");
    *out_after = arena_printf(
        arena, "%s_albedo_%u = albedo; _select_%u = bsdf_select(_weight, albedo);%s%s%s", albedo, k,
        k, is_two_sided ? arena_printf(arena, "_reflected_%u = reflected;", k) : "",
        lobe->flags & SSL_LOBE_SUBSURFACE ? arena_printf(arena, "_medium_%u = medium;", k) : "",
        state_copies(b, (int)k));
}

static void append(Parser *p, StmtList *list, const StmtList *more)
{
    Stmt **items = ARENA_ARRAY(p->arena, Stmt *, list->count + more->count + 1);
    if (list->count > 0)
        memcpy(items, list->items, list->count * sizeof *items);
    if (more->count > 0)
        memcpy(items + list->count, more->items, more->count * sizeof *items);
    *list = (StmtList){items, list->count + more->count};
}

/* Puts the user's statements into a block of the written function, where an empty statement holds their place. */
static void fill(Parser *p, StmtList *list, const StmtList *own)
{
    StmtList whole = {0};
    uint32_t at = 0;
    while (at < list->count && list->items[at]->kind != STMT_EMPTY)
        ++at;
    append(p, &whole, &(StmtList){list->items, at});
    append(p, &whole, own);
    if (at < list->count)
        append(p, &whole, &(StmtList){list->items + at + 1, list->count - at - 1});
    *list = whole;
}

static void write_prepare(Bsdf *b, bool is_layer)
{
    Parser *p = b->p;
    Arena *arena = p->arena;
    const char *lobes = "";
    for (uint32_t k = 0; k < b->lobes.count; ++k) {
        const char *before, *after;
        lobe_texts(b, k, &before, &after);
        lobes = arena_printf(arena, "%s{%s;%s}", lobes, before, after);
    }
    FuncDecl *f = declare_shader(
        b, arena_printf(arena, "%s.prepare", b->name),
        arena_printf(
            arena,
            "shader _prepare(vector _wo, normal _Ng, bool outside, int options, float blur, "
            "color _weight, out BsdfFrame _frame%s%s) {"
            "_frame = %s;%s%s;%s%s%s%s}",
            state_outputs(b), is_layer ? ", out color _base_factor" : "", frame_text(b),
            bsdf_mentions(b, b->tokens, "wo") ? "const vector wo = bsdf_to_local(_frame, _wo);"
                                              : "",
            is_layer ? "color base_factor = color(1);" : "", outer_copies(b), lobes,
            state_copies(b, -1), is_layer ? "_base_factor = base_factor;" : ""),
        b->span);
    if (!f || !f->body)
        return;
    f->metadata = b->metadata;
    uint32_t lobe =
        b->lobes.count; /* from the last: a block that holds one has been filled by then */
    for (uint32_t i = f->body->list.count; i-- > 0 && lobe > 0;)
        if (f->body->list.items[i]->kind == STMT_BLOCK) {
            fill(p, &f->body->list.items[i]->list, &b->lobes.data[--lobe].body->list);
            f->body->list.items[i]->is_lobe = true;
        }
    fill(p, &f->body->list, &(StmtList){b->state.data, b->state.count});
    ARRAY(VarDecl *) params = {0};
    for (uint32_t i = 0; i < f->params.count; ++i)
        array_push(arena, &params, f->params.items[i]);
    for (uint32_t i = 0; i < b->args.count; ++i)
        if (b->args.items[i]->type_name->basic != SSL_CLOSURE)
            array_push(arena, &params, b->args.items[i]);
    f->params = (VarList){params.data, params.count};
}

/* --- the declaration -------------------------------------------------------------------------- */

static bool is_word_at(const Parser *p, uint32_t i, const char *word)
{
    return p->tokens[i].kind == TOKEN_NAME && strcmp(p->tokens[i].text, word) == 0;
}

/* What is wrong with where the token stands, in a lobe and inside so many braces; NULL: nothing. */
static const char *wrong_place(const Parser *p, uint32_t i, uint32_t depth, bool is_in_lobe)
{
    TokenKind before = p->tokens[i - 1].kind, after = p->tokens[i + 1].kind;
    bool begins =
        before == TOKEN_SEMICOLON || before == TOKEN_OPEN_BRACE || before == TOKEN_CLOSE_BRACE;
    bool is_member =
        (is_word_at(p, i, "eval") || is_word_at(p, i, "sample")) && after == TOKEN_OPEN_BRACE;
    if (is_word_at(p, i, "lobe") && (after == TOKEN_OPEN_BRACE || after == TOKEN_NAME) &&
        (depth != 1 || !begins))
        return "a lobe stands in the braces of the bsdf and in no others; where its albedo is "
               "black, there is none";
    if (is_member && (depth != 2 || !is_in_lobe || !begins))
        return "eval and sample stand in the braces of a lobe and in no others";
    return NULL;
}

/* Reports the first lobe, eval or sample that stands where there can be none, and leaves out the whole body. */
static bool skip_misplaced(Parser *p)
{
    uint32_t depth = 1, i = p->at;
    bool is_in_lobe = false;
    const char *wrong = NULL;
    Span place = {0};
    for (; depth > 0 && p->tokens[i].kind != TOKEN_END; ++i) {
        depth += p->tokens[i].kind == TOKEN_OPEN_BRACE;
        depth -= p->tokens[i].kind == TOKEN_CLOSE_BRACE;
        is_in_lobe = is_in_lobe ? depth > 1 || p->tokens[i].kind != TOKEN_CLOSE_BRACE
                                : depth == 1 && is_word_at(p, i, "lobe");
        const char *here = wrong ? NULL : wrong_place(p, i, depth, is_in_lobe);
        if (here) {
            wrong = here;
            place = p->tokens[i].span;
        }
    }
    if (!wrong)
        return false;
    report(p->diags, LOBE_MEMBER, place, wrong);
    p->at = i;
    return true;
}

static void parse_body(Bsdf *b)
{
    Parser *p = b->p;
    Span open = parse_token(p)->span;
    if (!parse_expect(p, TOKEN_OPEN_BRACE, "before the state and the lobes of the bsdf"))
        return;
    b->body.begin = p->at;
    if (skip_misplaced(p))
        return;
    while (!parse_is(p, TOKEN_CLOSE_BRACE) && !parse_is(p, TOKEN_END)) {
        uint32_t before = p->at;
        if (is_word(p, "lobe") &&
            (parse_next_kind(p) == TOKEN_NAME || parse_next_kind(p) == TOKEN_OPEN_BRACE))
            parse_lobe(b);
        else
            array_push(p->arena, &b->state, parse_statement(p));
        if (p->is_panicking)
            parse_recover(p);
        if (p->at == before)
            parse_advance(p);
    }
    parse_close(p, TOKEN_CLOSE_BRACE, open);
}

static BsdfDecl *make_decl(const Bsdf *b)
{
    Arena *arena = b->p->arena;
    BsdfDecl *decl = ARENA_NEW(arena, BsdfDecl);
    *decl = (BsdfDecl){.span = b->span, .name = b->name, .args = b->args, .metadata = b->metadata};
    for (uint32_t i = 0; i < b->args.count; ++i)
        decl->is_layer = decl->is_layer || b->args.items[i]->type_name->basic == SSL_CLOSURE;
    for (uint32_t k = 0; k < b->lobes.count; ++k)
        array_push(arena, &decl->lobes,
                   ((BsdfLobe){b->lobes.data[k].span, b->lobes.data[k].flags}));
    return decl;
}

/* Counts, and a name that another bsdf has. */
static void check_whole(const Bsdf *b, uint32_t errors_before)
{
    const Parser *p = b->p;
    if (b->lobes.count == 0 && diag_error_count(p->diags) == errors_before)
        report(p->diags, BSDF_EMPTY, b->span, b->name);
    if (b->lobes.count > SSL_MAX_BSDF_LOBES)
        report(p->diags, BSDF_LOBES, b->span, b->name,
               arena_printf(p->arena, "%d", SSL_MAX_BSDF_LOBES));
    if (strlen(b->name) >= sizeof((SslBsdfInfo *)0)->name)
        report(p->diags, BSDF_NAME, b->span,
               arena_printf(p->arena, "%zu", sizeof((SslBsdfInfo *)0)->name - 1));
    for (uint32_t i = 0; i < p->ast->bsdfs.count; ++i)
        if (strcmp(p->ast->bsdfs.data[i]->name, b->name) == 0)
            report(p->diags, REDECLARED, b->span, b->name);
}

static void read_definition(Bsdf *b)
{
    Parser *p = b->p;
    b->tokens.begin = p->at;
    parse_advance(p);
    b->name = parse_name(p, "after 'bsdf'", false, &b->span);
    if (!p->is_panicking && parse_at_metadata(p))
        parse_report(p, LOBE_MEMBER, parse_token(p)->span,
                     "metadata of a bsdf stands after its arguments");
    b->args = parse_params(p);
    b->metadata = parse_metadata(p);
    parse_body(b);
    b->tokens.end = b->body.end = p->at;
}

void parse_bsdf(Parser *p)
{
    Bsdf b = {.p = p};
    uint32_t errors_before = diag_error_count(p->diags);
    read_definition(&b);
    if (!b.name || p->is_panicking)
        return;
    check_whole(&b, errors_before);
    if (diag_error_count(p->diags) == errors_before)
        bsdf_check_rules(&b);
    if (diag_error_count(p->diags) == errors_before)
        find_state(&b);
    if (diag_error_count(p->diags) != errors_before)
        return;
    BsdfDecl *decl = make_decl(&b);
    array_push(p->arena, &p->ast->bsdfs, decl);
    write_eval(&b);
    write_sample(&b);
    write_prepare(&b, decl->is_layer);
}
