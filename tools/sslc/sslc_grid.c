#include "tools/sslc/sslc_grid.h"
#include "base/check.h"
#include <stdlib.h>
#include <string.h>

typedef struct Setting {
    const SslcGrid *grid;
    const SslcFile *file;
    SslProgram *program;
    const SslProgramInfo *info;
    GridHost *host;
} Setting;

/* --- options ------------------------------------------------------------------------------------ */

SslcGrid sslc_grid_default(void)
{
    return (SslcGrid){.width = 256, .height = 256, .budget = 1u << 20, .u1 = 1, .v1 = 1};
}

Status sslc_grid_parse_size(const char *text, void *out, Error *err)
{
    SslcGrid *o = out;
    uint32_t size[2];
    if (!cli_parse_numbers(text, "x", size, 2) || !size[0] || !size[1] || size[0] > 16384 ||
        size[1] > 16384)
        return error_set(err, STATUS_INVALID, "'%s' is not a size like 256x256", text);
    o->width = size[0];
    o->height = size[1];
    return STATUS_OK;
}

static Status parse_window(const char *text, void *out, Error *err)
{
    SslcGrid *o = out;
    float numbers[4];
    const char *at = text;
    for (uint32_t i = 0; i < 4; ++i) {
        char *end;
        numbers[i] = strtof(at, &end);
        if (end == at || *end != (i < 3 ? ',' : '\0') || !(numbers[i] > -1e6f && numbers[i] < 1e6f))
            return error_set(err, STATUS_INVALID, "'%s' is not a window like 0,0,2,1.5", text);
        at = end + 1;
    }
    if (!(numbers[0] < numbers[2]) || !(numbers[1] < numbers[3]))
        return error_set(err, STATUS_INVALID,
                         "the window '%s' is empty: give U0,V0,U1,V1 with U0 < U1 and V0 < V1",
                         text);
    o->u0 = numbers[0];
    o->v0 = numbers[1];
    o->u1 = numbers[2];
    o->v1 = numbers[3];
    return STATUS_OK;
}

uint32_t sslc_grid_options(SslcGrid *values, CliOption *options)
{
    /* clang-format off */
    const CliOption shared[] = {
        {.name = "window", .kind = CLI_CUSTOM, .out = values, .parse = parse_window, .value_name = "U0,V0,U1,V1", .help = "part of the plane that the grid covers; 0,0,1,1 by default", .group = "What the shader sees"},
        {.name = "param", .short_name = 'p', .kind = CLI_TEXT_LIST, .out = &values->params, .value_name = "NAME=VALUE", .help = "sets a parameter: 0.5, true, (1 0 0)"},
        {.name = "global", .short_name = 'g', .kind = CLI_TEXT_LIST, .out = &values->globals, .value_name = "NAME=VALUE", .help = "sets a global to one value everywhere"},
        {.name = "texture", .short_name = 't', .kind = CLI_TEXT_LIST, .out = &values->textures, .value_name = "NAME=TEXTURE", .help = "binds a texture: ramp (the default), wave, checker:N, constant:R,G,B,A or picture:FILE (.exr, or .png in sRGB)"},
        {.name = "attribute", .short_name = 'a', .kind = CLI_TEXT_LIST, .out = &values->attributes, .value_name = "NAME=VALUE", .help = "sets an attribute to one value everywhere, or to uv, the grid's coordinates; others are missing"},
        {.name = "loop-budget", .kind = CLI_U32, .out = &values->budget, .value_name = "N", .help = "limit of back-edges per point"},
    };
    /* clang-format on */
    return sslc_append_options(options, shared, SORT_COUNT_OF(shared));
}

/* --- places ------------------------------------------------------------------------------------- */

typedef struct Place {
    float u, v, du_dx, dv_dy;
} Place;

/* The unit square has the coordinates that it had before there were windows, to the bit. */
static Place place_of(const SslcGrid *grid, uint32_t x, uint32_t y)
{
    ASSERT(x < grid->width && y < grid->height);
    float width = grid->u1 - grid->u0, height = grid->v1 - grid->v0;
    return (Place){.u = grid->u0 + ((float)x + 0.5f) / (float)grid->width * width,
                   .v = grid->v1 - ((float)y + 0.5f) / (float)grid->height * height,
                   .du_dx = width / (float)grid->width,
                   .dv_dy = -height / (float)grid->height};
}

/* --- inputs ----------------------------------------------------------------------------------- */

static Status find_global(const Setting *run, const char *name, uint32_t *out_row, Error *err)
{
    const char *names[SSL_MAX_GLOBALS];
    ASSERT(run->file->tables.global_count <= SSL_MAX_GLOBALS);
    for (uint32_t i = 0; i < run->file->tables.global_count; ++i) {
        names[i] = run->file->tables.globals[i].name;
        if (strcmp(names[i], name) == 0) {
            *out_row = i;
            return STATUS_OK;
        }
    }
    const char *nearest = suggest_nearest(name, names, run->file->tables.global_count);
    return error_set(err, STATUS_INVALID, "there is no global '%s'%s%s%s", name,
                     nearest ? "; did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'?" : "");
}

static void set_if_there(Setting *run, const char *name, SslValue value)
{
    uint32_t row;
    if (find_global(run, name, &row, NULL) == STATUS_OK &&
        ssl_type_scalars(run->file->tables.globals[row].type) == ssl_type_scalars(value.type))
        grid_host_set_global(run->host, row, 0, &value);
}

static void set_place(Setting *run, const char *name)
{
    uint32_t row, width = run->grid->width, height = run->grid->height;
    if (find_global(run, name, &row, NULL) != STATUS_OK)
        return;
    for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x) {
            uint32_t point = y * width + x;
            Place at = place_of(run->grid, x, y);
            *grid_host_global(run->host, row, 0, 0, point) = at.u;
            *grid_host_global(run->host, row, 0, 1, point) = at.v;
            *grid_host_global(run->host, row, 1, 0, point) = at.du_dx;
            *grid_host_global(run->host, row, 2, 1, point) = at.dv_dy;
        }
}

static Status set_globals(Setting *run, Error *err)
{
    set_place(run, "uvw");
    set_place(run, "position");
    set_if_there(run, "normal", (SslValue){.type = SSL_NORMAL, .f = {0, 0, 1}});
    set_if_there(run, "gnormal", (SslValue){.type = SSL_NORMAL, .f = {0, 0, 1}});
    set_if_there(run, "I", (SslValue){.type = SSL_VECTOR, .f = {0, 0, -1}});
    set_if_there(run, "tangent", (SslValue){.type = SSL_VECTOR, .f = {1, 0, 0}});
    set_if_there(run, "tangent_sign", (SslValue){.type = SSL_FLOAT, .f = {1}});
    for (uint32_t i = 0; i < run->grid->globals.count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *text;
        uint32_t row = 0;
        SslValue value;
        TRY(sslc_split(run->grid->globals.items[i], name, &text, err));
        TRY(find_global(run, name, &row, err));
        TRY(sslc_parse_value(name, text, run->file->tables.globals[row].type, &value, err));
        grid_host_set_global(run->host, row, 0, &value);
    }
    return STATUS_OK;
}

static Status set_params(Setting *run, Error *err)
{
    for (uint32_t i = 0; i < run->grid->params.count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *text;
        uint32_t param;
        SslValue value;
        TRY(sslc_split(run->grid->params.items[i], name, &text, err));
        TRY(sslc_find_param(run->info->unit, name, &param, err));
        TRY(sslc_parse_value(name, text, run->info->unit->params[param].type, &value, err));
        TRY(ssl_params_set(run->program, grid_host_params(run->host), param, &value, err));
    }
    return STATUS_OK;
}

/* NAME=uv: the coordinates of the grid, with their derivatives; NAME=VALUE: that, everywhere. */
static Status set_attribute(Setting *run, uint32_t slot, const char *text, Error *err)
{
    ASSERT(slot < run->info->unit->attribute_count);
    const SslAttributeInfo *info = &run->info->unit->attributes[slot];
    const SslcGrid *o = run->grid;
    SslValue value;
    grid_host_attribute_exists(run->host, slot, true);
    if (strcmp(text, "uv") != 0) {
        TRY(sslc_parse_value(info->name, text, info->type, &value, err));
        grid_host_set_attribute(run->host, slot, 0, &value);
        return STATUS_OK;
    }
    if (!info->has_derivs)
        return error_set(err, STATUS_INVALID, "attribute '%s' is a %s and cannot be uv", info->name,
                         ssl_type_name(info->type));
    for (uint32_t point = 0; point < o->width * o->height; ++point)
        for (uint32_t i = 0; i < ssl_type_scalars(info->type) && i < 2; ++i) {
            Place place = place_of(o, point % o->width, point / o->width);
            float uv[2] = {place.u, place.v}, step[2] = {place.du_dx, place.dv_dy};
            float *at = grid_host_attribute(run->host, slot, 0, i, point);
            float *along = grid_host_attribute(run->host, slot, 1 + i, i, point);
            if (at)
                *at = uv[i];
            if (along)
                *along = step[i];
        }
    return STATUS_OK;
}

static Status set_attributes(Setting *run, Error *err)
{
    const SslUnitInfo *unit = run->info->unit;
    for (uint32_t i = 0; i < run->grid->attributes.count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *text;
        uint32_t slot = 0;
        TRY(sslc_split(run->grid->attributes.items[i], name, &text, err));
        while (slot < unit->attribute_count && strcmp(unit->attributes[slot].name, name) != 0)
            ++slot;
        if (slot == unit->attribute_count)
            return error_set(err, STATUS_INVALID, "the shader has no attribute '%s'", name);
        TRY(set_attribute(run, slot, text, err));
    }
    return STATUS_OK;
}

static Status set_textures(Setting *run, Error *err)
{
    const SslUnitInfo *unit = run->info->unit;
    for (uint32_t i = 0; i < unit->texture_count && unit->texture_ids; ++i) {
        GridTexture texture;
        if (unit->texture_ids[i] == SSL_TEXTURE_UNBOUND)
            continue;
        ASSERT(unit->texture_ids[i] < run->file->textures.count);
        TRY(grid_texture_parse(run->file->textures.data[unit->texture_ids[i]], &texture, err));
        grid_host_set_texture(run->host, i, &texture);
    }
    for (uint32_t i = 0; i < run->grid->textures.count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *text;
        GridTexture texture;
        uint32_t slot = 0;
        TRY(sslc_split(run->grid->textures.items[i], name, &text, err));
        TRY(sslc_find_texture(unit, name, &slot, err));
        if (sslc_texture_file(text))
            continue;
        TRY(grid_texture_parse(text, &texture, err));
        grid_host_set_texture(run->host, slot, &texture);
    }
    for (uint32_t i = 0; i < unit->texture_count && run->grid->pictures; ++i)
        grid_host_set_picture(run->host, i,
                              sslc_textures_find(run->grid->pictures, unit->textures[i]));
    return STATUS_OK;
}

Status sslc_grid_set(const SslcGrid *grid, const SslcFile *file, SslProgram *program,
                     GridHost *host, Error *err)
{
    Setting run = {grid, file, program, ssl_program_info(program), host};
    TRY(set_globals(&run, err));
    TRY(set_params(&run, err));
    TRY(set_textures(&run, err));
    TRY(set_attributes(&run, err));
    grid_host_set_loop_budget(host, grid->budget);
    return STATUS_OK;
}
