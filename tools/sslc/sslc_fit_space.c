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
    const FitSpaceDesc *desc;
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

/* --- textures ----------------------------------------------------------------------------------- */

static const char prefix[] = "textures.";

/* Draws what a texture starts as where it is no picture: the formula that -t names, or the middle of the bounds. */
static Status draw_start(Finder *f, const char *name, double low, double high, SslcPicture *out)
{
    float middle = (float)(0.5 * (low + high));
    GridTexture formula = {.kind = GRID_CONSTANT, .value = {middle, middle, middle, 1}};
    for (uint32_t i = 0; i < f->desc->looks->count; ++i) {
        char own[SSLC_NAME_BYTES];
        const char *text;
        TRY(sslc_split(f->desc->looks->items[i], own, &text, f->err));
        if (strcmp(own, name) == 0)
            TRY(grid_texture_parse(text, &formula, f->err));
    }
    TRY(sslc_picture_create(f->desc->width, f->desc->height, TEX_PICTURE_CHANNELS, out, f->err));
    for (uint32_t y = 0; y < out->height; ++y)
        for (uint32_t x = 0; x < out->width; ++x)
            grid_texture_sample(&formula, ((float)x + 0.5f) / (float)out->width,
                                1 - ((float)y + 0.5f) / (float)out->height,
                                out->numbers + 4 * ((size_t)y * out->width + x));
    return STATUS_OK;
}

static Status check_size(const Finder *f, const char *name, uint32_t width, uint32_t height)
{
    if ((uint64_t)width * height <= FIT_MAX_NUMBERS / TEX_PICTURE_CHANNELS)
        return STATUS_OK;
    return error_set(f->err, STATUS_LIMIT,
                     "texture '%s' has %u x %u texels; at most %d can be fitted", name, width,
                     height, FIT_MAX_NUMBERS / TEX_PICTURE_CHANNELS);
}

/* Returns the picture that a texture is, or makes one of its start. */
static Status find_picture(Finder *f, const char *name, double low, double high, TexPicture **out)
{
    SslcPicture pixels = {0};
    *out = sslc_textures_find(f->desc->textures, name);
    if (*out) {
        const TexPictureLevel level = tex_picture_level(*out, 0);
        return check_size(f, name, level.width, level.height);
    }
    TRY(check_size(f, name, f->desc->width, f->desc->height));
    Status status = draw_start(f, name, low, high, &pixels);
    if (status == STATUS_OK)
        status = sslc_textures_add(f->desc->textures, name, &pixels, out, f->err);
    sslc_picture_free(&pixels);
    return status;
}

static Status add_texture(Finder *f, uint32_t slot, double low, double high)
{
    FitSpace *s = f->space;
    ASSERT(slot < s->unit->texture_count);
    const char *name = s->unit->textures[slot];
    TexPicture *picture;
    for (uint32_t i = 0; i < s->texture_count; ++i)
        if (s->textures[i].slot == slot)
            return error_set(f->err, STATUS_INVALID, "texture '%s' is to be fitted twice", name);
    TRY(check_bounds(f, name, false, low, high));
    TRY(find_picture(f, name, low, high, &picture));
    const TexPictureLevel level = tex_picture_level(picture, 0);
    uint64_t count = (uint64_t)level.width * level.height * TEX_PICTURE_CHANNELS;
    double *start = ARENA_ARRAY(f->arena, double, count);
    const char *long_name = arena_printf(f->arena, "%s%s", prefix, name);
    if (!start || !long_name)
        return error_set(f->err, STATUS_NO_MEMORY, "out of memory");
    for (uint64_t i = 0; i < count; ++i)
        start[i] = (double)tex_picture_texels(picture)[i];
    s->textures[s->texture_count] = (FitTexture){.slot = slot, .picture = picture};
    s->fields[s->texture_count++] = (FitField){.name = long_name,
                                               .low = {low, low, low, 0},
                                               .high = {high, high, high, 1}, /* alpha */
                                               .channel_count = TEX_PICTURE_CHANNELS,
                                               .start = start,
                                               .count = (uint32_t)count};
    return STATUS_OK;
}

/* The bounds of colors that the metadata of a texture say; else 0 and 1. Returns whether metadata do. */
static bool texture_bounds(const SslUnitInfo *unit, uint32_t slot, double *out_low,
                           double *out_high)
{
    SslParamInfo as_param = {0};
    *out_low = 0;
    *out_high = 1;
    if (unit->texture_metadata) {
        as_param.metadata = unit->texture_metadata[slot].items;
        as_param.metadata_count = unit->texture_metadata[slot].count;
    }
    if (!has_bounds(&as_param))
        return false;
    *out_low = number_of(&find_metadata(&as_param, "min")->value);
    *out_high = number_of(&find_metadata(&as_param, "max")->value);
    return true;
}

/* Lists where the numbers of textures are, and where all begin. */
static Status gather_start(Finder *f)
{
    FitSpace *s = f->space;
    s->total = s->count;
    for (uint32_t i = 0; i < s->texture_count; ++i) {
        if (s->fields[i].count > FIT_MAX_NUMBERS - s->total)
            return error_set(f->err, STATUS_LIMIT, "more than %d numbers to fit", FIT_MAX_NUMBERS);
        s->textures[i].first = s->total;
        s->total += s->fields[i].count;
    }
    s->start = ARENA_ARRAY(f->arena, double, s->total);
    if (!s->start)
        return error_set(f->err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < s->count; ++i)
        s->start[i] = s->params[i].start;
    for (uint32_t i = 0; i < s->texture_count; ++i)
        memcpy(s->start + s->textures[i].first, s->fields[i].start,
               s->fields[i].count * sizeof *s->start);
    return STATUS_OK;
}

/* --- names -------------------------------------------------------------------------------------- */

static Status add_named_texture(Finder *f, const char *name, const char *bounds)
{
    uint32_t slot = 0;
    double low, high;
    TRY(sslc_find_texture(f->space->unit, name, &slot, f->err));
    (void)texture_bounds(f->space->unit, slot, &low, &high);
    if (bounds && !parse_bounds(bounds, &low, &high))
        return error_set(f->err, STATUS_INVALID, "'%s' are no bounds like 0.1..2", bounds);
    return add_texture(f, slot, low, high);
}

/* A node of a group may be called textures. */
static bool has_param(const SslUnitInfo *unit, const char *name)
{
    for (uint32_t i = 0; i < unit->param_count; ++i)
        if (strcmp(unit->params[i].name, name) == 0)
            return true;
    return false;
}

/* Who names a texture as if it were a parameter is told how. */
static Status find_named_param(Finder *f, const char *name, uint32_t *out_index)
{
    const SslUnitInfo *unit = f->space->unit;
    bool is_texture = false;
    for (uint32_t i = 0; i < unit->texture_count; ++i)
        is_texture = is_texture || strcmp(unit->textures[i], name) == 0;
    if (is_texture && !has_param(unit, name))
        return error_set(f->err, STATUS_INVALID, "'%s' is a texture: write --fit %s%s", name,
                         prefix, name);
    return sslc_find_param(unit, name, out_index, f->err);
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
    if (strncmp(name, prefix, sizeof prefix - 1) == 0 && !has_param(f->space->unit, name))
        return add_named_texture(f, name + sizeof prefix - 1, equals ? equals + 1 : NULL);
    uint32_t index = 0;
    TRY(find_named_param(f, name, &index));
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

static Status add_by_metadata(Finder *f)
{
    const SslUnitInfo *unit = f->space->unit;
    for (uint32_t i = 0; i < unit->param_count; ++i)
        if (has_bounds(&unit->params[i]) && count_numbers(f, &unit->params[i]))
            TRY(add_param(f, i, number_of(&find_metadata(&unit->params[i], "min")->value),
                          number_of(&find_metadata(&unit->params[i], "max")->value)));
    for (uint32_t i = 0; i < unit->texture_count; ++i) {
        double low, high;
        if (texture_bounds(unit, i, &low, &high))
            TRY(add_texture(f, i, low, high));
    }
    return STATUS_OK;
}

Status fit_space_find(FitSpace *space, const FitSpaceDesc *desc, Error *err)
{
    const SslUnitInfo *unit = desc->unit;
    Arena *arena = desc->arena;
    Finder f = {space, arena, desc->starts, desc, desc->whole, err, FIT_MAX_PARAMS};
    *space = (FitSpace){.unit = unit,
                        .params = ARENA_ARRAY(arena, FitParam, FIT_MAX_PARAMS),
                        .numbers = ARENA_ARRAY(arena, FitNumber, FIT_MAX_PARAMS),
                        .is_fitted = ARENA_ARRAY(arena, bool, unit->param_count + 1),
                        .start_values = ARENA_ARRAY(arena, double *, unit->param_count + 1),
                        .textures = ARENA_ARRAY(arena, FitTexture, unit->texture_count + 1),
                        .fields = ARENA_ARRAY(arena, FitField, unit->texture_count + 1)};
    if (!space->params || !space->numbers || !space->is_fitted || !space->start_values ||
        !space->textures || !space->fields)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < desc->names->count; ++i)
        TRY(add_named(&f, desc->names->items[i]));
    if (desc->names->count == 0)
        TRY(add_by_metadata(&f));
    if (space->count == 0 && space->texture_count == 0)
        return error_set(
            err, STATUS_INVALID,
            "there is no parameter to fit: no float of shader '%s' has min and max in its "
            "metadata; name some, --fit NAME=LOW..HIGH%s",
            unit->name, unit->texture_count ? ", or a texture, --fit textures.NAME" : "");
    return gather_start(&f);
}

Status fit_space_set_textures(const FitSpace *space, const double *x, Error *err)
{
    for (uint32_t i = 0; i < space->texture_count; ++i) {
        const FitTexture *texture = &space->textures[i];
        ASSERT(texture->first + space->fields[i].count <= space->total);
        float *texels = tex_picture_texels(texture->picture);
        for (uint32_t k = 0; k < space->fields[i].count; ++k)
            texels[k] = ssl_flushed((float)x[texture->first + k]);
        TRY(tex_picture_build(texture->picture, err));
    }
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
