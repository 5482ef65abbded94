#include "base/check.h"
#include "base/json_write.h"
#include "tools/sslc/sslc_fit.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

typedef struct Finder {
    FitSpace *space;
    Arena *arena;
    const CliTextList *starts;
    bool whole;
    Error *err;
    uint32_t room;
} Finder;

static const SslMetadata *find_metadata(const SslParamInfo *param, const char *name)
{
    for (uint32_t i = 0; i < param->metadata_count; ++i)
        if (strcmp(param->metadata[i].name, name) == 0 &&
            (param->metadata[i].value.type == SSL_FLOAT ||
             param->metadata[i].value.type == SSL_INT))
            return &param->metadata[i];
    return NULL;
}

static double number_of(const SslValue *value)
{
    return value->type == SSL_INT ? (double)value->i : (double)value->f[0];
}

static bool has_bounds(const SslParamInfo *param)
{
    return find_metadata(param, "min") && find_metadata(param, "max");
}

static bool is_fitted_kind(const Finder *f, SslType kind)
{
    return kind == SSL_FLOAT || (f->whole && kind == SSL_INT);
}

static uint32_t count_numbers(const Finder *f, const SslParamInfo *param)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ssl_value_scalars(param->type, param->shape); ++i)
        count += is_fitted_kind(f, ssl_value_kind(param->type, param->shape, i));
    return count;
}

/* The value that a parameter starts with: the last of the command line, else its default. */
static Status find_start(Finder *f, const SslParamInfo *param, double *out)
{
    SslValue value = param->default_value;
    bool is_given = param->has_default;
    for (uint32_t i = 0; i < f->starts->count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *text;
        TRY(sslc_split(f->starts->items[i], name, &text, f->err));
        if (strcmp(name, param->name) != 0)
            continue;
        TRY(sslc_parse_value(name, text, param->type, &value, f->err));
        is_given = true;
    }
    if (!is_given)
        return error_set(f->err, STATUS_INVALID,
                         "parameter '%s' has no default: say where it starts, -p %s=VALUE",
                         param->name, param->name);
    for (uint32_t i = 0; i < ssl_value_scalars(param->type, param->shape); ++i)
        out[i] = param->shape             ? value.list[i]
                 : value.type == SSL_INT  ? (double)value.i
                 : value.type == SSL_BOOL ? (double)value.b
                                          : (double)value.f[i];
    return STATUS_OK;
}

/* Refuses bounds between which there are numbers that the parameter cannot have. */
static Status check_bounds(const Finder *f, const char *name, bool is_int, double low, double high)
{
    double least = is_int ? (double)INT32_MIN : -(double)FLT_MAX;
    double most = is_int ? (double)INT32_MAX : (double)FLT_MAX;
    if (!(low < least || high > most))
        return STATUS_OK;
    return error_set(f->err, STATUS_INVALID,
                     "the bounds of '%s' are %g and %g: %s goes from %g to %g", name, low, high,
                     is_int ? "an int" : "a float", least, most);
}

/* x3, y3 and paint3 are parameters of one thing, group 4. */
static uint32_t group_of(const char *name)
{
    size_t end = strlen(name), first = end;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
        --first;
    return first == end || end - first > 6 ? 0 : 1 + (uint32_t)strtoul(name + first, NULL, 10);
}

static Status add_param(Finder *f, uint32_t index, double low, double high)
{
    FitSpace *s = f->space;
    ASSERT(index < s->unit->param_count);
    const SslParamInfo *param = &s->unit->params[index];
    uint32_t count = ssl_value_scalars(param->type, param->shape);
    if (s->is_fitted[index])
        return error_set(f->err, STATUS_INVALID, "parameter '%s' is to be fitted twice",
                         param->name);
    if (count_numbers(f, param) == 0)
        return error_set(f->err, STATUS_INVALID, "parameter '%s' is of type %s, which %s",
                         param->name, ssl_value_name(param->type, param->shape),
                         param->type == SSL_INT ? "only --method cma fits" : "cannot be fitted");
    s->is_fitted[index] = true;
    s->start_values[index] = ARENA_ARRAY(f->arena, double, count);
    if (!s->start_values[index])
        return error_set(f->err, STATUS_NO_MEMORY, "out of memory");
    TRY(find_start(f, param, s->start_values[index]));
    for (uint32_t i = 0; i < count; ++i) {
        SslType kind = ssl_value_kind(param->type, param->shape, i);
        if (!is_fitted_kind(f, kind))
            continue;
        TRY(check_bounds(f, param->name, kind == SSL_INT, low, high));
        if (s->count == f->room)
            return error_set(f->err, STATUS_LIMIT, "more than %u numbers to fit", f->room);
        const char *name =
            count == 1 ? param->name : arena_printf(f->arena, "%s[%u]", param->name, i);
        if (!name)
            return error_set(f->err, STATUS_NO_MEMORY, "out of memory");
        s->numbers[s->count] = (FitNumber){index, i};
        s->params[s->count++] = (FitParam){.name = name,
                                           .group = group_of(param->name),
                                           .low = low,
                                           .high = high,
                                           .start = s->start_values[index][i],
                                           .is_whole = kind == SSL_INT};
    }
    return STATUS_OK;
}

/* "LOW..HIGH" */
static bool parse_bounds(const char *text, double *out_low, double *out_high)
{
    const char *dots = strstr(text, "..");
    char low[64], *end;
    if (!dots || (size_t)(dots - text) >= sizeof low)
        return false;
    memcpy(low, text, (size_t)(dots - text));
    low[dots - text] = '\0';
    *out_low = strtod(low, &end);
    if (end == low || *end)
        return false;
    *out_high = strtod(dots + 2, &end);
    return end != dots + 2 && !*end;
}

static Status add_named(Finder *f, const char *text)
{
    const char *equals = strchr(text, '=');
    char name[SSLC_NAME_BYTES];
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    if (length == 0 || length >= sizeof name)
        return error_set(f->err, STATUS_INVALID, "'%s' is not NAME or NAME=LOW..HIGH", text);
    memcpy(name, text, length);
    name[length] = '\0';
    uint32_t index = 0;
    TRY(sslc_find_param(f->space->unit, name, &index, f->err));
    const SslParamInfo *param = &f->space->unit->params[index];
    double low, high;
    if (equals) {
        if (!parse_bounds(equals + 1, &low, &high))
            return error_set(f->err, STATUS_INVALID, "'%s' are no bounds like 0.1..2", equals + 1);
        return add_param(f, index, low, high);
    }
    if (!has_bounds(param))
        return error_set(
            f->err, STATUS_INVALID,
            "parameter '%s' has no bounds, since its metadata has no min and max: give "
            "%s=LOW..HIGH",
            name, name);
    low = number_of(&find_metadata(param, "min")->value);
    high = number_of(&find_metadata(param, "max")->value);
    return add_param(f, index, low, high);
}

Status fit_space_find(FitSpace *space, const SslUnitInfo *unit, const CliTextList *names,
                      const CliTextList *starts, bool whole, Arena *arena, Error *err)
{
    Finder f = {space, arena, starts, whole, err, FIT_MAX_PARAMS};
    *space = (FitSpace){.unit = unit,
                        .params = ARENA_ARRAY(arena, FitParam, FIT_MAX_PARAMS),
                        .numbers = ARENA_ARRAY(arena, FitNumber, FIT_MAX_PARAMS),
                        .is_fitted = ARENA_ARRAY(arena, bool, unit->param_count + 1),
                        .start_values = ARENA_ARRAY(arena, double *, unit->param_count + 1)};
    if (!space->params || !space->numbers || !space->is_fitted || !space->start_values)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < names->count; ++i)
        TRY(add_named(&f, names->items[i]));
    for (uint32_t i = 0; i < unit->param_count && names->count == 0; ++i)
        if (has_bounds(&unit->params[i]) && count_numbers(&f, &unit->params[i]))
            TRY(add_param(&f, i, number_of(&find_metadata(&unit->params[i], "min")->value),
                          number_of(&find_metadata(&unit->params[i], "max")->value)));
    if (space->count == 0)
        return error_set(
            err, STATUS_INVALID,
            "there is no parameter to fit: no float of shader '%s' has min and max in its "
            "metadata; name some, --fit NAME=LOW..HIGH",
            unit->name);
    return STATUS_OK;
}

/* --- values ------------------------------------------------------------------------------------- */

enum { NUMBERS_MAX = 4096 }; /* SSL_MAX_VALUE_SCALARS */

/* All numbers of a parameter: those that are fitted from x, the others as they start. */
static uint32_t gather(const FitSpace *space, uint32_t param, const double *x,
                       double out[NUMBERS_MAX])
{
    const SslParamInfo *info = &space->unit->params[param];
    uint32_t count = ssl_value_scalars(info->type, info->shape);
    ASSERT(count <= NUMBERS_MAX);
    memcpy(out, space->start_values[param], count * sizeof *out);
    for (uint32_t i = 0; i < space->count; ++i)
        if (space->numbers[i].param == param)
            out[space->numbers[i].number] = x[i];
    return count;
}

Status fit_space_set(const FitSpace *space, const SslProgram *program, void *block, const double *x,
                     Error *err)
{
    double numbers[NUMBERS_MAX];
    for (uint32_t i = 0; i < space->unit->param_count; ++i) {
        const SslParamInfo *info = &space->unit->params[i];
        if (!space->is_fitted[i])
            continue;
        uint32_t count = gather(space, i, x, numbers);
        SslValue value = {.type = info->type};
        if (info->shape) {
            value.list = numbers;
            value.count = count;
        } else if (info->type == SSL_INT) {
            value.i = (int32_t)numbers[0];
        } else {
            for (uint32_t k = 0; k < count; ++k)
                value.f[k] = ssl_flushed((float)numbers[k]);
        }
        TRY(ssl_params_set(program, block, i, &value, err));
    }
    return STATUS_OK;
}

Status fit_space_set_direction(const FitSpace *space, const SslProgram *program, void *block,
                               uint32_t number, Error *err)
{
    ASSERT(number < space->count);
    const FitNumber *wanted = &space->numbers[number];
    double numbers[NUMBERS_MAX];
    uint32_t at = space->unit->param_count;
    for (uint32_t i = 0; i < space->unit->param_count; ++i) {
        if (!space->is_fitted[i])
            continue;
        const SslParamInfo *info = &ssl_program_info(program)->unit->params[at];
        uint32_t count = ssl_value_scalars(info->type, info->shape);
        SslValue value = {.type = info->type};
        ASSERT(count <= NUMBERS_MAX);
        memset(numbers, 0, count * sizeof *numbers);
        if (i == wanted->param && info->shape)
            numbers[wanted->number] = 1;
        else if (i == wanted->param)
            value.f[wanted->number] = 1;
        if (info->shape) {
            value.list = numbers;
            value.count = count;
        }
        TRY(ssl_params_set(program, block, at++, &value, err));
    }
    return STATUS_OK;
}

void fit_space_print(const FitSpace *space, uint32_t param, const double *x, StrBuf *out)
{
    double numbers[NUMBERS_MAX];
    uint32_t count = gather(space, param, x, numbers);
    strbuf_printf(out, "%s=%s", space->unit->params[param].name, count > 1 ? "(" : "");
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "%s%.9g", i ? " " : "", (double)(float)numbers[i]);
    strbuf_append_c(out, count > 1 ? ")" : "");
}

void fit_space_json(const FitSpace *space, const double *x, StrBuf *out)
{
    double numbers[NUMBERS_MAX];
    JsonWriter w = json_writer(out, JSON_INDENTED);
    json_write_object(&w, NULL);
    for (uint32_t i = 0; i < space->unit->param_count; ++i) {
        if (!space->is_fitted[i])
            continue;
        const char *name = space->unit->params[i].name;
        uint32_t count = gather(space, i, x, numbers);
        if (count > 1)
            json_write_array(&w, name);
        for (uint32_t k = 0; k < count; ++k)
            json_write_double(&w, count > 1 ? NULL : name, (double)(float)numbers[k]);
        if (count > 1)
            json_write_end(&w);
    }
    json_write_end(&w);
    strbuf_append_char(out, '\n');
}
