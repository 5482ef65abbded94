/* sslc run: a grid (sslc_grid.h), shaded pixel by pixel. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/file_claims.h"
#include "base/image/exr_write.h"
#include "base/image/png_write.h"
#include "base/image/view_transform.h"
#include "base/path.h"
#include "tools/sslc/sslc_grid.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct RunOptions {
    SslcBuildOptions build;
    const char *output, *picture;
    SslcGrid grid;
    struct {
        bool is_given;
        uint32_t x, y;
    } at;
} RunOptions;

typedef struct RunState {
    const RunOptions *options;
    const SslcFile *file;
    SslProgram *program;
    const SslProgramInfo *info;
    GridHost *host;
    SslcTextures textures;
} RunState;

static Status parse_pixel(const char *text, void *out, Error *err)
{
    RunOptions *o = out;
    uint32_t at[2];
    if (!cli_parse_numbers(text, ",", at, 2))
        return error_set(err, STATUS_INVALID, "'%s' is not a pixel like 128,64", text);
    o->at.is_given = true;
    o->at.x = at[0];
    o->at.y = at[1];
    return STATUS_OK;
}

/* --- what is shown ------------------------------------------------------------------------------ */

typedef struct Shown {
    SslType type;
    SslOutputSlot slot;
    uint32_t output, scalars; /* a closure counts as a color: the sum of its lobes' weights */
} Shown;

/* "name", "ddx(name)" or "ddy(name)"; NULL: the first output. */
static Status find_output(const RunState *run, const char *text, Shown *out_shown, Error *err)
{
    const SslUnitInfo *unit = run->info->unit;
    const SslOutputSlot *slots = run->info->outputs;
    Str name = str_from(text ? text : unit->output_count ? unit->outputs[0].name : "");
    bool is_derivative = name.size_bytes > 5 && name.data[name.size_bytes - 1] == ')' &&
                         (strncmp(name.data, "ddx(", 4) == 0 || strncmp(name.data, "ddy(", 4) == 0);
    if (is_derivative) {
        slots = name.data[2] == 'x' ? run->info->outputs_ddx : run->info->outputs_ddy;
        name = (Str){name.data + 4, name.size_bytes - 5};
    }
    for (uint32_t i = 0; i < unit->output_count; ++i) {
        SslType type = unit->outputs[i].type;
        if (!str_equal_c(name, unit->outputs[i].name))
            continue;
        if (is_derivative && slots[i].offset == 0)
            return error_set(err, STATUS_INVALID, "output '%s' is a %s and has no derivatives",
                             unit->outputs[i].name, ssl_type_name(type));
        *out_shown = (Shown){type, slots[i], i, type == SSL_CLOSURE ? 3 : ssl_type_scalars(type)};
        return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID, "the shader has no output '%.*s'", STR_ARG(name));
}

static float closure_weight(const RunState *run, uint32_t output, uint32_t component,
                            uint32_t point)
{
    float sum = 0.0f;
    ASSERT(component < 3 && output < run->info->unit->output_count);
    for (uint32_t i = 0; i < run->info->lobe_count; ++i)
        if (run->info->lobes[i].output == output && run->info->lobes[i].parent < 0 &&
            grid_host_has_lobe(run->host, i, point))
            sum += grid_host_lobe_weight(run->host, i, component, point);
    return sum;
}

static float shown_value(const RunState *run, const Shown *shown, uint32_t component,
                         uint32_t point)
{
    if (shown->type == SSL_CLOSURE)
        return closure_weight(run, shown->output, component, point);
    if (shown->type == SSL_INT || shown->type == SSL_BOOL)
        return (float)(int32_t)grid_host_word(run->host, shown->slot, component, point);
    return grid_host_float(run->host, shown->slot, component, point);
}

/* --- printing a pixel ----------------------------------------------------------------------------- */

static void print_scalars(const RunState *run, const char *name, SslType type, SslOutputSlot slot,
                          uint32_t point)
{
    Shown shown = {.type = type, .slot = slot};
    uint32_t scalars = ssl_type_scalars(type);
    (void)printf("%s = %s", name, scalars > 1 ? "(" : "");
    for (uint32_t i = 0; i < scalars; ++i)
        (void)printf("%s%.9g", i ? " " : "", (double)shown_value(run, &shown, i, point));
    (void)printf("%s\n", scalars > 1 ? ")" : "");
}

static void print_lobe(const RunState *run, uint32_t lobe, uint32_t point)
{
    ASSERT(lobe < run->info->lobe_count);
    const SslLobeSlot *slot = &run->info->lobes[lobe];
    const SslClosureRow *row = &run->file->tables.closures[slot->closure];
    ASSERT(slot->closure < run->file->tables.closure_count);
    (void)printf("%s: %s weight (%.9g %.9g %.9g)", run->info->unit->outputs[slot->output].name,
                 row->name, (double)grid_host_lobe_weight(run->host, lobe, 0, point),
                 (double)grid_host_lobe_weight(run->host, lobe, 1, point),
                 (double)grid_host_lobe_weight(run->host, lobe, 2, point));
    uint32_t at = 0;
    for (uint32_t i = 0; i < row->arg_count; ++i) {
        (void)printf(", %s (", row->args[i].name);
        for (uint32_t j = 0; j < ssl_type_scalars(row->args[i].type); ++j, ++at)
            (void)printf("%s%.9g", j ? " " : "",
                         (double)grid_host_lobe_arg(run->host, lobe, at, point));
        (void)printf(")");
    }
    (void)printf("\n");
}

static void print_lookups(const RunState *run)
{
    uint32_t kept;
    uint64_t count;
    const GridLookup *lookups = grid_host_lookups(run->host, &kept, &count);
    for (uint32_t i = 0; i < kept; ++i) {
        const float *c = lookups[i].coord;
        (void)printf("lookup: %s at (%.9g %.9g) ddx (%.9g %.9g) ddy (%.9g %.9g)\n",
                     run->info->unit->textures[lookups[i].texture], (double)c[0], (double)c[1],
                     (double)c[2], (double)c[3], (double)c[4], (double)c[5]);
    }
}

static void print_point(const RunState *run, uint32_t point)
{
    const SslUnitInfo *unit = run->info->unit;
    for (uint32_t i = 0; i < unit->output_count; ++i) {
        const SslOutputInfo *output = &unit->outputs[i];
        if (output->type == SSL_CLOSURE)
            continue;
        print_scalars(run, output->name, output->type, run->info->outputs[i], point);
        char name[SSLC_NAME_BYTES + 8];
        if (run->info->outputs_ddx[i].offset == 0)
            continue;
        (void)snprintf(name, sizeof name, "ddx(%.*s)", SSLC_NAME_BYTES, output->name);
        print_scalars(run, name, output->type, run->info->outputs_ddx[i], point);
        (void)snprintf(name, sizeof name, "ddy(%.*s)", SSLC_NAME_BYTES, output->name);
        print_scalars(run, name, output->type, run->info->outputs_ddy[i], point);
    }
    for (uint32_t i = 0; i < run->info->lobe_count; ++i)
        if (grid_host_has_lobe(run->host, i, point))
            print_lobe(run, i, point);
    print_lookups(run);
}

/* Points that faulted, by site, on stderr. True if there were any. */
static bool print_faults(const RunState *run, uint32_t point_count)
{
    bool has_fault = false;
    for (uint32_t site = 0; site < run->info->fault_site_count; ++site) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < point_count; ++i)
            count += grid_host_fault(run->host, i) == site + 1;
        if (count == 0)
            continue;
        SslFaultInfo info;
        ssl_fault_describe(run->program, site, &info);
        (void)fprintf(stderr, "%s:%u:%u: %s (%u points)\n", info.source_name, info.line,
                      info.column, info.text, count);
        has_fault = true;
    }
    return has_fault;
}

/* --- pictures --------------------------------------------------------------------------------- */

static Status write_png(const RunOptions *o, const float *values, uint32_t scalars, Error *err)
{
    const ViewTransform view = {.curve = VIEW_STANDARD};
    size_t count = (size_t)o->grid.width * o->grid.height;
    uint8_t *pixels = mem_alloc(count, 3);
    float *rgb = mem_alloc(count, 3 * sizeof *rgb);
    Status status = STATUS_NO_MEMORY;
    if (pixels && rgb) {
        for (size_t i = 0; i < count; ++i)
            for (uint32_t j = 0; j < 3; ++j)
                rgb[3 * i + j] = scalars == 1  ? values[i]
                                 : j < scalars ? values[i * scalars + j]
                                               : 0.0f;
        view_transform_rgb(&view, rgb, 3, count, pixels);
        status = png_write(o->picture, o->grid.width, o->grid.height, 3, pixels, err);
    } else {
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    mem_free(pixels);
    mem_free(rgb);
    return status;
}

static Status write_exr(const RunOptions *o, const float *values, uint32_t scalars, Error *err)
{
    static const char *const few[4][4] = {{"Y"}, {"R", "G"}, {"R", "G", "B"}, {"R", "G", "B", "A"}};
    static const char *const many[16] = {"m00", "m01", "m02", "m03", "m10", "m11", "m12", "m13",
                                         "m20", "m21", "m22", "m23", "m30", "m31", "m32", "m33"};
    ExrChannel channels[16];
    ASSERT(scalars > 0 && scalars <= SORT_COUNT_OF(channels));
    for (uint32_t i = 0; i < scalars; ++i)
        channels[i] = (ExrChannel){.name = scalars <= 4 ? few[scalars - 1][i] : many[i],
                                   .type = EXR_PIXEL_FLOAT,
                                   .data = values + i,
                                   .stride = scalars};
    const ExrWriteDesc desc = {.size_bytes = sizeof desc,
                               .width = o->grid.width,
                               .height = o->grid.height,
                               .channels = channels,
                               .channel_count = scalars};
    return exr_write(o->picture, &desc, err);
}

static Status write_picture(const RunState *run, const Shown *shown, Error *err)
{
    const RunOptions *o = run->options;
    size_t count = (size_t)o->grid.width * o->grid.height;
    bool is_png = path_has_extension(o->picture, ".png");
    float *values = mem_alloc(count, shown->scalars * sizeof *values);
    if (!values)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    ASSERT(count > 0 && shown->scalars > 0);
    for (size_t i = 0; i < count; ++i)
        for (uint32_t j = 0; j < shown->scalars; ++j)
            values[i * shown->scalars + j] = shown_value(run, shown, j, (uint32_t)i);
    Status status = is_png ? write_png(o, values, shown->scalars, err)
                           : write_exr(o, values, shown->scalars, err);
    mem_free(values);
    return status;
}

/* --- the command ------------------------------------------------------------------------------ */

static Status shade(RunState *run, bool *out_has_fault, Error *err)
{
    const RunOptions *o = run->options;
    uint32_t points = o->grid.width * o->grid.height;
    Shown shown;
    TRY(find_output(run, o->output, &shown, err));
    if (o->at.is_given && (o->at.x >= o->grid.width || o->at.y >= o->grid.height))
        return error_set(err, STATUS_INVALID, "pixel %u,%u is outside of %ux%u", o->at.x, o->at.y,
                         o->grid.width, o->grid.height);
    TRY(grid_host_create(run->program, run->file->tables.globals, run->file->tables.global_count,
                         points, &run->host, err));
    TRY(sslc_textures_load(&run->textures, &o->grid.textures, err));
    SslcGrid grid = o->grid;
    grid.pictures = &run->textures;
    TRY(sslc_grid_set(&grid, run->file, run->program, run->host, err));
    uint32_t printed = o->at.is_given ? o->at.y * o->grid.width + o->at.x
                                      : o->grid.height / 2 * o->grid.width + o->grid.width / 2;
    ASSERT(printed < points);
    grid_host_watch(run->host, printed);
    grid_host_run(run->host);
    *out_has_fault = print_faults(run, points);
    if (o->picture)
        TRY(write_picture(run, &shown, err));
    if (o->at.is_given || !o->picture)
        print_point(run, printed);
    return STATUS_OK;
}

/* Checks the picture's name and folder before any work. */
static Status check_picture(const char *path, const RunOptions *o, Error *err)
{
    if (!o->picture)
        return STATUS_OK;
    if (!path_has_extension(o->picture, ".png") && !path_has_extension(o->picture, ".exr"))
        return error_set_at(err, STATUS_INVALID, o->picture,
                            "give a name that ends in .exr or .png");
    TRY(file_check_apart("-o", o->picture, &path, 1, err));
    return file_check_room(o->picture, 0, err);
}

static int run_file(const char *path, const RunOptions *o)
{
    SslcFile file = {.folders = &o->build.folders};
    int code = TOOL_FAILED;
    Error wrong = {0};
    if (check_picture(path, o, &wrong) != STATUS_OK) {
        (void)tool_fail(&wrong, TOOL_FAILED);
        return wrong.code == STATUS_INVALID ? TOOL_USAGE : TOOL_FAILED;
    }
    bool is_open = sslc_open(path, o->build.cpu, &file);
    SslUnit *unit = is_open ? sslc_compile(&file, o->build.shader) : NULL;
    RunState run = {.options = o, .file = &file};
    run.program = unit ? sslc_build(&file, unit, &o->build, true) : NULL;
    if (file.is_misused)
        code = TOOL_USAGE;
    if (run.program) {
        Error err = {0};
        bool has_fault = false;
        run.info = ssl_program_info(run.program);
        if (shade(&run, &has_fault, &err) != STATUS_OK) {
            (void)tool_fail(&err, TOOL_FAILED);
            code = err.code == STATUS_INVALID ? TOOL_USAGE : TOOL_FAILED;
        } else if (!has_fault) {
            code = TOOL_DONE;
        }
    }
    grid_host_destroy(run.host);
    sslc_textures_free(&run.textures);
    ssl_program_release(run.program);
    ssl_unit_release(unit);
    sslc_close(&file);
    return code;
}

static bool parse_run(RunOptions *o, int argc, char **argv, CliResult *args, int *out_code)
{
    /* clang-format off */
    CliOption options[SSLC_OPTIONS_MAX] = {
        {.name = "picture", .short_name = 'o', .kind = CLI_TEXT, .out = &o->picture, .value_name = "FILE", .help = "writes an .exr or .png"},
        {.name = "output", .kind = CLI_TEXT, .out = &o->output, .value_name = "NAME", .help = "value that the picture shows: an output (the default is the first), ddx(output) or ddy(output); for a closure, the sum of its weights"},
        {.name = "at", .kind = CLI_CUSTOM, .out = o, .parse = parse_pixel, .value_name = "X,Y", .help = "prints all results of one pixel, by default of the middle if there is no picture"},
        {.name = "size", .kind = CLI_CUSTOM, .out = &o->grid, .parse = sslc_grid_parse_size, .value_name = "WxH", .help = "size of the grid in pixels; 256x256 by default"},
    };
    /* clang-format on */
    const char *const examples[] = {"sslc run brick.ssl -p scale=4 -o brick.exr",
                                    "the first output as a picture",
                                    "sslc run brick.ssl --output 'ddx(height)' -o slope.exr",
                                    "its derivative",
                                    "sslc run brick.ssl --at 10,20",
                                    "all results of one pixel",
                                    NULL};
    (void)sslc_grid_options(&o->grid, options);
    const CliProgram program = {
        .name = "sslc run",
        .usage = "[options] FILE",
        .summary = "Shades the unit square, or a window of the plane, seen at a right angle. The "
                   "exit code is 1 if a point faults.",
        .options = options,
        .option_count = sslc_build_options(&o->build, options),
        TOOL_ARGS(1, 1, "FILE"),
        .examples = examples};
    return tool_parse(&program, argc, argv, args, out_code);
}

int sslc_run(int argc, char **argv)
{
    RunOptions o = {.grid = sslc_grid_default()};
    CliResult args;
    int code;
    if (!parse_run(&o, argc, argv, &args, &code))
        return code;
    return run_file(args.args[0], &o);
}
