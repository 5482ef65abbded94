/* Checks of expressions that refer to the host: globals, closures, questions and textures. */
#include "ssl/sema/checker.h"

#include <string.h>

static const char *joined(Sema *s, const char *const *names, uint32_t count)
{
    const char *text = "";
    for (uint32_t i = 0; i < count; ++i)
        text = arena_printf(s->arena, "%s%s%s", text, i > 0 ? " " : "", names[i]);
    return text;
}

Expr *check_global(Sema *s, Expr *e)
{
    ARRAY(const char *) names = {0};
    for (uint32_t i = 0; i < s->tables->global_count; ++i) {
        const SslGlobalRow *row = &s->tables->globals[i];
        if (strcmp(row->name, e->name) == 0) {
            e->row = i;
            e->type = type_basic(row->type);
            return expr_seal(e);
        }
        array_push(s->arena, &names, row->name);
    }
    report(s->diags, UNKNOWN_GLOBAL, e->name_span, e->name);
    report_suggestion(s->diags, e->name, names.data, names.count);
    report(s->diags, NOTE_CHOICES, (Span){0}, joined(s, names.data, names.count));
    return expr_error(e);
}

static const char *args_text(Sema *s, const SslClosureArg *args, uint32_t count)
{
    const char *text = "";
    for (uint32_t i = 0; i < count; ++i)
        text = arena_printf(s->arena, "%s%s%s %s", text, i > 0 ? ", " : "",
                            ssl_type_name(args[i].type), args[i].name);
    return text;
}

/* What `e` names, and the arguments that it takes. */
typedef struct HostCall {
    const char *name;
    const SslClosureArg *args;
    uint32_t arg_count;
    SslType result;
    const char *what; /* "closure" */
} HostCall;

/* Checks the arguments of a closure or a question. */
static Expr *check_host_args(Sema *s, Expr *e, const HostCall *call)
{
    if (e->args.count != call->arg_count) {
        report(s->diags, CLOSURE_ARITY, e->span, call->what, call->name,
               count_text(s, call->arg_count, "argument"), text_of_number(s, e->args.count));
        report(s->diags, NOTE_CLOSURE_ROW, (Span){0}, args_text(s, call->args, call->arg_count));
        return expr_error(e);
    }
    bool is_good = true;
    for (uint32_t i = 0; i < call->arg_count; ++i) {
        const Type *wanted = type_basic(call->args[i].type);
        Expr *arg = e->args.items[i];
        if (coerce_is_possible(arg->type, wanted)) {
            e->args.items[i] = coerce_wrap(s, arg, wanted);
            continue;
        }
        report(s->diags, BAD_ARGUMENT, arg->span, call->args[i].name, call->name,
               text_of(s, wanted), text_of(s, arg->type));
        coerce_note(s, arg, wanted);
        is_good = false;
    }
    e->type = type_basic(call->result);
    return is_good ? expr_seal(e) : expr_error(e);
}

/* Checks the values of all arguments. Returns whether none has an error. */
static bool check_values(Sema *s, Expr *e)
{
    bool is_good = true;
    for (uint32_t i = 0; i < e->args.count; ++i) {
        e->args.items[i] = check_value(s, e->args.items[i]);
        is_good = is_good && !type_is_error(e->args.items[i]->type);
    }
    return is_good;
}

Expr *check_closure(Sema *s, Expr *e)
{
    ARRAY(const char *) names = {0};
    bool is_good = check_values(s, e);
    for (uint32_t i = 0; i < s->tables->closure_count; ++i) {
        const SslClosureRow *row = &s->tables->closures[i];
        const HostCall call = {row->name, row->args, row->arg_count, SSL_CLOSURE, "closure"};
        if (strcmp(row->name, e->name) == 0) {
            e->row = i;
            return is_good ? check_host_args(s, e, &call) : expr_error(e);
        }
        array_push(s->arena, &names, row->name);
    }
    report(s->diags, UNKNOWN_CLOSURE, e->name_span, e->name);
    report_suggestion(s->diags, e->name, names.data, names.count);
    report(s->diags, NOTE_CHOICES, (Span){0}, joined(s, names.data, names.count));
    return expr_error(e);
}

Expr *check_question(Sema *s, Expr *e)
{
    ARRAY(const char *) names = {0};
    bool is_good = check_values(s, e);
    for (uint32_t i = 0; i < s->tables->question_count; ++i) {
        const SslQuestionRow *row = &s->tables->questions[i];
        const HostCall call = {row->name, row->args, row->arg_count, row->result, "question"};
        if (strcmp(row->name, e->name) == 0) {
            e->row = i;
            return is_good ? check_host_args(s, e, &call) : expr_error(e);
        }
        array_push(s->arena, &names, row->name);
    }
    report(s->diags, UNKNOWN_QUESTION, e->name_span, e->name);
    report_suggestion(s->diags, e->name, names.data, names.count);
    if (names.count > 0)
        report(s->diags, NOTE_CHOICES, (Span){0}, joined(s, names.data, names.count));
    return expr_error(e);
}

/* --- textures --- */

static const char *const wraps[] = {"periodic", "clamp", "mirror", "black"};
static const char *const filters[] = {"closest",    "bilinear",    "trilinear", "aniso",
                                      "stochastic", "catmull-rom", "bspline"};

typedef struct TextureCheck {
    Sema *s;
    TextureCall *call;
    const TextureOption *option;
    Expr *value; /* checked */
} TextureCheck;

static bool report_value(TextureCheck *t, const char *wanted)
{
    report(t->s->diags, OPTION_VALUE, t->value->span, t->option->name, wanted);
    return false;
}

/* Returns the value of an option if it is a constant of the type, else NULL. */
static const Constant *constant_of(TextureCheck *t, SslType type)
{
    const Expr *culprit;
    if (type == SSL_FLOAT && type_is(t->value->type, SSL_INT))
        t->value = coerce_wrap(t->s, t->value, type_basic(SSL_FLOAT));
    return type_same(t->value->type, type_basic(type)) ? const_eval(t->value, t->s->arena, &culprit)
                                                       : NULL;
}

static bool option_choice(TextureCheck *t, const char *const *choices, size_t count,
                          const char **out_choice)
{
    const Constant *c = constant_of(t, SSL_STRING);
    const char *list = "";
    for (size_t i = 0; i < count; ++i) {
        if (c && strcmp(c->text, choices[i]) == 0) {
            *out_choice = choices[i];
            return true;
        }
        list = arena_printf(t->s->arena, "%s%s\"%s\"", list, i > 0 ? ", " : "", choices[i]);
    }
    report_value(t, arena_printf(t->s->arena, "one of %s", list));
    if (c)
        report_suggestion(t->s->diags, c->text, choices, count);
    return false;
}

static bool option_wrap_u(TextureCheck *t)
{
    return option_choice(t, wraps, SORT_COUNT_OF(wraps), &t->call->site.wrap_s);
}

static bool option_wrap_v(TextureCheck *t)
{
    return option_choice(t, wraps, SORT_COUNT_OF(wraps), &t->call->site.wrap_t);
}

static bool option_wrap(TextureCheck *t)
{
    bool is_good = option_wrap_u(t);
    t->call->site.wrap_t = t->call->site.wrap_s;
    return is_good;
}

static bool option_filter(TextureCheck *t)
{
    return option_choice(t, filters, SORT_COUNT_OF(filters), &t->call->site.filter);
}

static bool float_value(TextureCheck *t, Expr **out_value)
{
    if (!type_is_number(t->value->type))
        return report_value(t, "a float");
    *out_value = coerce_wrap(t->s, t->value, type_basic(SSL_FLOAT));
    return true;
}

static bool option_blur(TextureCheck *t)
{
    return float_value(t, &t->call->blur);
}

static bool option_width(TextureCheck *t)
{
    return float_value(t, &t->call->width);
}

static bool option_channel(TextureCheck *t)
{
    const Constant *c = constant_of(t, SSL_INT);
    if (!c || c->scalars[0].i < 0 || c->scalars[0].i > 3)
        return report_value(t, "a constant int from 0 to 3");
    t->call->channel = c->scalars[0].i;
    return true;
}

static bool option_missing(TextureCheck *t)
{
    const Constant *c = constant_of(t, SSL_COLOR);
    if (!c)
        return report_value(t, "a constant color");
    for (uint32_t i = 0; i < 3; ++i)
        t->call->site.missing_color[i] = c->scalars[i].f;
    if (!t->call->site.has_missing_color)
        t->call->site.missing_color[3] = 1.0f;
    t->call->site.has_missing_color = true;
    return true;
}

static bool option_missing_alpha(TextureCheck *t)
{
    const Constant *c = constant_of(t, SSL_FLOAT);
    if (!c)
        return report_value(t, "a constant float");
    t->call->site.missing_color[3] = c->scalars[0].f;
    t->call->site.has_missing_color = true;
    return true;
}

static const struct {
    const char *name;
    bool (*apply)(TextureCheck *t);
} options[] = {{"wrap", option_wrap},
               {"wrap_u", option_wrap_u},
               {"wrap_v", option_wrap_v},
               {"filter", option_filter},
               {"blur", option_blur},
               {"width", option_width},
               {"channel", option_channel},
               {"missing", option_missing},
               {"missing_alpha", option_missing_alpha}};

static bool check_option(TextureCheck *t)
{
    const char *names[SORT_COUNT_OF(options)];
    for (uint32_t i = 0; &t->call->options[i] != t->option; ++i)
        if (t->call->options[i].name == t->option->name) {
            report(t->s->diags, OPTION_TWICE, t->option->span, t->option->name);
            return false;
        }
    t->value = check_value(t->s, t->option->value);
    for (size_t i = 0; i < SORT_COUNT_OF(options); ++i) {
        if (strcmp(options[i].name, t->option->name) == 0)
            return !type_is_error(t->value->type) && options[i].apply(t);
        names[i] = options[i].name;
    }
    report(t->s->diags, UNKNOWN_OPTION, t->option->span, t->option->name);
    if (suggest_nearest(t->option->name, names, SORT_COUNT_OF(options)))
        report_suggestion(t->s->diags, t->option->name, names, SORT_COUNT_OF(options));
    else
        report(t->s->diags, NOTE_CHOICES, (Span){0}, joined(t->s, names, SORT_COUNT_OF(options)));
    return false;
}

/* Finds the slot of the texture that the call names. Returns false after a report. */
static bool find_texture(Sema *s, const Expr *e, uint32_t *out_slot)
{
    ARRAY(const char *) names = {0};
    for (uint32_t i = 0; i < s->module->ast->textures.count; ++i) {
        const char *name = s->module->ast->textures.data[i]->name;
        if (name == e->name) {
            *out_slot = i;
            return true;
        }
        array_push(s->arena, &names, name);
    }
    report(s->diags, UNKNOWN_TEXTURE, e->name_span, e->name);
    if (suggest_nearest(e->name, names.data, names.count))
        report_suggestion(s->diags, e->name, names.data, names.count);
    else
        report(s->diags, NOTE_WRITE, (Span){0},
               arena_printf(s->arena, "'texture2d %s;' at file scope", e->name));
    return false;
}

static bool check_coordinates(Sema *s, Expr *e)
{
    bool is_good = true;
    for (uint32_t i = 0; i < e->args.count; ++i) {
        Expr *arg = check_value(s, e->args.items[i]);
        is_good = is_good && !type_is_error(arg->type);
        e->args.items[i] =
            type_is(arg->type, SSL_INT) ? coerce_wrap(s, arg, type_basic(SSL_FLOAT)) : arg;
    }
    if (!is_good)
        return false;
    Span span = e->span;
    is_good = e->args.count == 2 || e->args.count == 6;
    for (uint32_t i = 0; i < e->args.count && is_good; ++i)
        if (!type_is(e->args.items[i]->type, SSL_FLOAT)) {
            span = e->args.items[i]->span;
            is_good = false;
        }
    if (!is_good)
        report(s->diags, TEXTURE_ARGUMENTS, span, token_kind_text(e->texture->form));
    if (!is_good && e->args.count > 0 && type_lanes(e->args.items[0]->type) > 1)
        report(s->diags, NOTE_WRITE, (Span){0}, "uv.x, uv.y: the coordinates are floats");
    return is_good;
}

Expr *check_texture(Sema *s, Expr *e)
{
    TextureCall *call = e->texture;
    TextureCheck t = {.s = s, .call = call};
    call->channel = -1;
    bool is_good = find_texture(s, e, &call->slot);
    is_good = check_coordinates(s, e) && is_good;
    for (uint32_t i = 0; i < call->option_count; ++i) {
        t.option = &call->options[i];
        is_good = check_option(&t) && is_good;
    }
    if (!is_good)
        return expr_error(e);
    e->type = type_basic(call->form == TOKEN_SAMPLE         ? SSL_COLOR
                         : call->form == TOKEN_SAMPLE_ALPHA ? SSL_FLOAT
                                                            : SSL_FLOAT4);
    return expr_seal(e);
}
