/* What a `bsdf` may not have, or lacks, though its grammar is right. All of it is reported at the user's own words: what the
 * parser makes of a definition afterwards (parse_bsdf.c) is then free of errors that only its generated parts would show. */
#include "base/check.h"
#include "base/str.h"
#include "ssl/front/parse_bsdf.h"
#include "ssl/report.h"
#include "ssl/ssl_limits.h"
#include <string.h>

/* Where a name of the form has its meaning. */
enum {
    IN_STATE = 1, /* in statements outside of lobes, and so as the name of an argument */
    IN_LOBE = 2,
    IN_EVAL = 4,
    IN_SAMPLE = 8,
    IN_DELTA_SAMPLE = 16,
    IN_TWO_SIDED = 32, /* in a lobe with two sides */
    IN_BODY = 64,      /* in a lobe with the word subsurface */
    EVERYWHERE = IN_STATE | IN_LOBE | IN_EVAL | IN_SAMPLE | IN_DELTA_SAMPLE
};

static const struct {
    const char *name, *meaning;
    uint32_t places;
} meanings[] = {
    {"wo", "the direction to the viewer", EVERYWHERE},
    {"wi", "the direction that light comes from", EVERYWHERE},
    {"f_cos", "what eval sets", EVERYWHERE},
    {"pdf", "the density that eval sets", EVERYWHERE},
    {"u", "the random numbers of sample", EVERYWHERE & ~IN_EVAL},
    {"options", "the bits of what is asked for", EVERYWHERE},
    {"outside", "the side of the viewer", IN_STATE | IN_LOBE},
    {"blur", "the least alpha of a microfacet", IN_STATE | IN_LOBE},
    {"base_factor", "what a layer lets through", IN_STATE | IN_LOBE},
    {"albedo", "what the lobe sets", IN_LOBE},
    {"reflected", "what the lobe sets", IN_TWO_SIDED},
    {"medium", "what the lobe sets", IN_BODY},
    {"eta", "what sample sets", IN_SAMPLE | IN_DELTA_SAMPLE},
    {"weight", "what sample sets", IN_DELTA_SAMPLE},
    {"probability", "what sample sets", IN_DELTA_SAMPLE},
};

static const char *meaning_of(const char *name, uint32_t place)
{
    for (size_t i = 0; i < SORT_COUNT_OF(meanings); ++i)
        if ((meanings[i].places & place) && strcmp(meanings[i].name, name) == 0)
            return meanings[i].meaning;
    return NULL;
}

/* --- arguments -------------------------------------------------------------------------------- */

static const char *wrong_type(const VarDecl *arg)
{
    static const SslType types[] = {SSL_FLOAT,  SSL_COLOR,  SSL_POINT,
                                    SSL_VECTOR, SSL_NORMAL, SSL_CLOSURE};
    bool is_good = false;
    for (size_t i = 0; i < SORT_COUNT_OF(types); ++i)
        is_good = is_good || (!arg->type_name->struct_name && arg->type_name->basic == types[i]);
    if (!is_good)
        return "must be a float, a color, a point, a vector, a normal or a closure";
    bool is_direction = strcmp(arg->name, "N") == 0 || strcmp(arg->name, "T") == 0;
    if (is_direction && arg->type_name->basic != SSL_NORMAL && arg->type_name->basic != SSL_VECTOR)
        return "is a direction of the lobes' frame: it must be a normal or a vector";
    return NULL;
}

static const char *wrong_argument(const Bsdf *b, uint32_t index)
{
    const VarDecl *arg = b->args.items[index];
    ASSERT(arg->name && arg->type_name); /* others were reported */
    if (arg->direction != DIRECTION_IN)
        return "cannot be out or inout: a bsdf gives nothing back";
    if (arg->sizes.count > 0 || arg->type_name->sizes.count > 0)
        return "cannot be an array";
    if (arg->init)
        return "cannot have a default: make_closure gives all arguments";
    const char *wrong = wrong_type(arg);
    if (wrong)
        return wrong;
    if (arg->type_name->basic == SSL_CLOSURE && index + 1 < b->args.count)
        return "is what a layer covers: there is one, and it stands last";
    return NULL;
}

static void check_argument(const Bsdf *b, uint32_t index)
{
    const Parser *p = b->p;
    const VarDecl *arg = b->args.items[index];
    if (!arg->name || arg->type_name->is_bad)
        return; /* reported */
    const char *wrong = wrong_argument(b, index);
    const char *meaning = meaning_of(arg->name, IN_STATE);
    if (wrong)
        report(p->diags, BSDF_ARGUMENT, arg->span, arg->name, wrong);
    else if (meaning)
        report(p->diags, BSDF_NAME_TAKEN, arg->span, arg->name, meaning);
}

static void check_arguments(const Bsdf *b)
{
    const Parser *p = b->p;
    for (uint32_t i = 0; i < b->args.count; ++i) {
        check_argument(b, i);
        if (!b->args.items[i]->name)
            report(p->diags, EXPECTED, b->args.items[i]->span, "a name", "for the argument",
                   "none");
        for (uint32_t k = 0; k < i; ++k)
            if (b->args.items[i]->name && b->args.items[k]->name &&
                strcmp(b->args.items[k]->name, b->args.items[i]->name) == 0)
                report(p->diags, REDECLARED, b->args.items[i]->span, b->args.items[i]->name);
    }
    if (b->args.count > SSL_MAX_CLOSURE_ARGS)
        report(p->diags, TOO_MANY_PARAMS, b->span,
               arena_printf(p->arena, "%d", SSL_MAX_CLOSURE_ARGS));
}

/* --- names ------------------------------------------------------------------------------------ */

/* Names that the parser makes up begin with '_'. A function of the user may do so too: those are known by other names. */
static void check_underscores(const Bsdf *b)
{
    const Token *tokens = b->p->tokens;
    for (uint32_t i = b->tokens.begin; i < b->tokens.end; ++i)
        if (tokens[i].kind == TOKEN_NAME && tokens[i].text[0] == '_' &&
            tokens[i + 1].kind != TOKEN_OPEN)
            report(b->p->diags, BSDF_UNDERSCORE, tokens[i].span, tokens[i].text);
}

static void check_declared(const Bsdf *b, const StmtList *list, uint32_t place)
{
    for (uint32_t i = 0; i < list->count; ++i)
        for (uint32_t k = 0; list->items[i]->kind == STMT_DECLARE && k < list->items[i]->vars.count;
             ++k) {
            const VarDecl *var = list->items[i]->vars.items[k];
            const char *meaning = var->name ? meaning_of(var->name, place) : NULL;
            if (meaning)
                report(b->p->diags, BSDF_NAME_TAKEN, var->span, var->name, meaning);
        }
}

static bool declares(const StmtList *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; ++i)
        for (uint32_t k = 0; list->items[i]->kind == STMT_DECLARE && k < list->items[i]->vars.count;
             ++k)
            if (list->items[i]->vars.items[k]->name &&
                strcmp(list->items[i]->vars.items[k]->name, name) == 0)
                return true;
    return false;
}

static bool is_in(Tokens range, uint32_t token)
{
    return token >= range.begin && token < range.end;
}

/* Whether what the token names, or a part of it, is assigned to. */
static bool is_assigned_at(const Token *token)
{
    ASSERT(token->kind == TOKEN_NAME); /* a brace or more follow */
    return token[1].kind == TOKEN_ASSIGN ||
           (token[1].kind == TOKEN_DOT && token[2].kind == TOKEN_NAME &&
            token[3].kind == TOKEN_ASSIGN);
}

/* Reports a place that reads `name` before anything was assigned to it there: it must mean the argument or state of that
 * name, which what a lobe or sample sets hides. */
static void check_hidden(const Bsdf *b, const Lobe *lobe, Tokens range, const char *name,
                         const char *meaning)
{
    const Token *tokens = b->p->tokens;
    bool is_assigned = false;
    ASSERT(range.begin > 0 &&
           range.begin <= range.end); /* something stands before: the word of the lobe */
    for (uint32_t i = range.begin; i < range.end; ++i) {
        bool is_member = range.begin == lobe->all.begin &&
                         (is_in(lobe->eval_tokens, i) || is_in(lobe->sample_tokens, i));
        if (is_assigned && tokens[i].kind == TOKEN_SEMICOLON)
            return;
        if (is_member || tokens[i].kind != TOKEN_NAME || strcmp(tokens[i].text, name) != 0 ||
            tokens[i - 1].kind == TOKEN_DOT)
            continue;
        if (!is_assigned_at(&tokens[i])) {
            report(b->p->diags, BSDF_NAME_HIDDEN, tokens[i].span, name, meaning);
            return;
        }
        is_assigned = true;
    }
}

static uint32_t places_of_lobe(const Lobe *lobe)
{
    const uint32_t sides = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    return IN_LOBE | ((lobe->flags & sides) == sides ? IN_TWO_SIDED : 0) |
           (lobe->flags & SSL_LOBE_SUBSURFACE ? IN_BODY : 0);
}

static uint32_t places_of_sample(const Lobe *lobe)
{
    return lobe->flags & SSL_LOBE_DELTA ? IN_DELTA_SAMPLE : IN_SAMPLE;
}

static void check_hidden_names(const Bsdf *b, const Lobe *lobe)
{
    const StmtList state = {b->state.data, b->state.count};
    const uint32_t in_lobe = places_of_lobe(lobe), in_sample = places_of_sample(lobe);
    for (size_t i = 0; i < SORT_COUNT_OF(meanings); ++i) {
        const char *name = meanings[i].name, *meaning = meanings[i].meaning;
        if ((meanings[i].places & IN_STATE) ||
            (!bsdf_argument(b, name) && !declares(&state, name) &&
             !declares(&lobe->body->list, name)))
            continue;
        if (meanings[i].places & in_lobe)
            check_hidden(b, lobe, lobe->all, name, meaning);
        if (lobe->sample && (meanings[i].places & in_sample))
            check_hidden(b, lobe, lobe->sample_tokens, name, meaning);
    }
}

/* --- what is to be set ------------------------------------------------------------------------ */

/* The word `eval` or `sample` before the block. */
static Span member_span(const Bsdf *b, Tokens member)
{
    ASSERT(member.begin > 0 && b->p->tokens[member.begin - 1].kind == TOKEN_NAME);
    return b->p->tokens[member.begin - 1].span;
}

static bool has_argument(const Bsdf *b, const char *name, SslType type)
{
    const VarDecl *arg = bsdf_argument(b, name);
    return arg && !arg->type_name->struct_name && arg->type_name->basic == type;
}

static void check_members(const Bsdf *b, const Lobe *lobe)
{
    DiagList *diags = b->p->diags;
    const uint32_t sides = SSL_LOBE_REFLECTION | SSL_LOBE_TRANSMISSION;
    const uint32_t seen_as = SSL_LOBE_SEEN_AS_GLOSSY | SSL_LOBE_SEEN_AS_TRANSMISSION;
    bool is_delta = lobe->flags & SSL_LOBE_DELTA;
    if (lobe->eval && !bsdf_mentions(b, lobe->eval_tokens, "f_cos"))
        report(diags, LOBE_MEMBER, member_span(b, lobe->eval_tokens), "eval does not set f_cos");
    if (lobe->eval && lobe->sample && !bsdf_mentions(b, lobe->eval_tokens, "pdf"))
        report(diags, LOBE_MEMBER, member_span(b, lobe->eval_tokens),
               "eval does not set pdf, the density with which sample draws wi");
    if (lobe->sample && !(lobe->flags & SSL_LOBE_TRANSPARENT) &&
        !bsdf_mentions(b, lobe->sample_tokens, "wi"))
        report(diags, LOBE_MEMBER, member_span(b, lobe->sample_tokens), "sample does not set wi");
    if (lobe->sample && is_delta && !bsdf_mentions(b, lobe->sample_tokens, "weight"))
        report(diags, LOBE_MEMBER, member_span(b, lobe->sample_tokens),
               "sample of a delta does not set weight");
    if ((lobe->flags & sides) == sides && !(lobe->flags & seen_as) &&
        !bsdf_mentions(b, lobe->all, "reflected"))
        report(diags, LOBE_MEMBER, lobe->span,
               "a lobe with two sides does not set reflected, the part of albedo that it reflects");
    if ((lobe->flags & SSL_LOBE_SUBSURFACE) && !bsdf_mentions(b, lobe->all, "medium"))
        report(diags, LOBE_MEMBER, lobe->span, "a subsurface lobe does not set medium");
    if ((lobe->flags & SSL_LOBE_PORTAL) &&
        !(has_argument(b, "place", SSL_POINT) && has_argument(b, "along", SSL_VECTOR)))
        report(diags, LOBE_MEMBER, lobe->span,
               "a portal leads where the arguments `point place` and `vector along` say");
}

/* Values of a layer's base do not exist: only what comes back through the layer is told. */
static void check_layer(const Bsdf *b)
{
    const VarDecl *base = b->args.count > 0 ? b->args.items[b->args.count - 1] : NULL;
    if (!base || !base->name || base->type_name->basic != SSL_CLOSURE)
        return;
    const Token *tokens = b->p->tokens;
    for (uint32_t i = b->body.begin; i < b->body.end; ++i)
        if (tokens[i].kind == TOKEN_NAME && strcmp(tokens[i].text, base->name) == 0)
            report(b->p->diags, BSDF_BASE, tokens[i].span, base->name);
    if (!bsdf_mentions(b, b->body, "base_factor"))
        report(b->p->diags, LOBE_MEMBER, b->span,
               "a bsdf that covers a closure does not set base_factor, what it lets through");
}

static bool is_in_member(const Bsdf *b, uint32_t token)
{
    for (uint32_t k = 0; k < b->lobes.count; ++k)
        if (is_in(b->lobes.data[k].eval_tokens, token) ||
            is_in(b->lobes.data[k].sample_tokens, token))
            return true;
    return false;
}

/* A return between the statements of the state would leave out all that follow. */
static void check_returns(const Bsdf *b)
{
    for (uint32_t i = b->body.begin; i < b->body.end; ++i)
        if (b->p->tokens[i].kind == TOKEN_RETURN && !is_in_member(b, i))
            report(b->p->diags, LOBE_MEMBER, b->p->tokens[i].span,
                   "only eval and sample of a bsdf can return");
}

void bsdf_check_rules(Bsdf *b)
{
    check_arguments(b);
    check_underscores(b);
    check_declared(b, &(StmtList){b->state.data, b->state.count}, IN_STATE);
    check_layer(b);
    check_returns(b);
    for (uint32_t k = 0; k < b->lobes.count; ++k) {
        const Lobe *lobe = &b->lobes.data[k];
        check_declared(b, &lobe->body->list, IN_STATE | places_of_lobe(lobe));
        if (lobe->eval)
            check_declared(b, &lobe->eval->list, IN_EVAL);
        if (lobe->sample)
            check_declared(b, &lobe->sample->list, places_of_sample(lobe));
        check_members(b, lobe);
        check_hidden_names(b, lobe);
    }
}
