#include "tools/sslc/sslc_program.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/shade/ssl_tables.h"
#include "sort/shade/unit_library.h"
#include "tools/ssl_kit/expect.h"
#include "tools/sslc/sslc_closures.h"
#include <stdio.h>
#include <string.h>

static const char *const level_words[] = {"default", "0", "1", "2", "3", NULL};
static const char *const kind_words[] = {"shade", "opacity", "emission", NULL};

uint32_t sslc_append_options(CliOption *options, const CliOption *more, uint32_t more_count)
{
    uint32_t count = 0;
    while (count < SSLC_OPTIONS_MAX && options[count].name)
        ++count;
    CHECK(count + more_count <= SSLC_OPTIONS_MAX);
    memcpy(options + count, more, more_count * sizeof *more);
    return count + more_count;
}

uint32_t sslc_build_options(SslcBuildOptions *values, CliOption *options)
{
    const CliOption shared[] = {
        {.name = "shader",
         .kind = CLI_TEXT,
         .out = &values->shader,
         .value_name = "NAME",
         .help = "the shader to compile; required if the file has several",
         .group = "How the shader is built"},
        {.name = "constant",
         .kind = CLI_TEXT_LIST,
         .out = &values->constants,
         .value_name = "NAME=VALUE",
         .help = "bakes a bool, int or string parameter into the code"},
        {.name = "bake-switches",
         .kind = CLI_FLAG,
         .out = &values->bake_switches,
         .help = "bakes bools, ints, and floats that are 0 or 1 at their defaults, as the renderer "
                 "does"},
        {.name = "include",
         .short_name = 'I',
         .kind = CLI_TEXT_LIST,
         .is_folder = true,
         .out = &values->folders,
         .value_name = "FOLDER",
         .help =
             "folder to search for the units of a group (FILE.json), after the group's own folder"},
        {.name = "optimise",
         .short_name = 'O',
         .kind = CLI_CHOICE,
         .out = &values->level,
         .choices = level_words,
         .value_name = "LEVEL",
         .help = "level of optimisation, 0 to 3; the default is 2"},
        {.name = "kind",
         .kind = CLI_CHOICE,
         .out = &values->kind,
         .choices = kind_words,
         .value_name = "KIND",
         .help = "entry point: shade (all outputs), opacity or emission"},
        {.name = "cpu",
         .kind = CLI_TEXT,
         .out = &values->cpu,
         .value_name = "NAME",
         .help = "target: native, or a baseline such as x86-64-v3"},
        {.name = "no-derivatives",
         .kind = CLI_FLAG,
         .out = &values->without_derivatives,
         .help = "compile without derivatives: all are zero"},
        {.name = "merged-summaries",
         .kind = CLI_FLAG,
         .out = &values->merged_summaries,
         .help = "generate one derivative variant of each function instead of one per signature"},
    };
    _Static_assert((int)SSLC_CONSTANTS_MAX >= (int)CLI_LIST_MAX, "every --constant has a place");
    return sslc_append_options(options, shared, SORT_COUNT_OF(shared));
}

/* --- talking ---------------------------------------------------------------------------------- */

void sslc_print_diags(const DiagList *diags)
{
    StrBuf text = {0};
    diag_print(diags, &text);
    (void)fputs(strbuf_text(&text), stderr);
    strbuf_free(&text);
}

/* --- files ------------------------------------------------------------------------------------ */

static const char unit_prefix[] = "unit:"; /* as packages and groups name the library's units */

static bool is_unit(const char *path)
{
    return strncmp(path, unit_prefix, sizeof unit_prefix - 1) == 0;
}

static Status read_unit(SslcFile *file, Error *err)
{
    const char *name = file->path + sizeof unit_prefix - 1;
    const EmbeddedText *unit = unit_library_find(name);
    char nearest[256];
    if (!unit && unit_library_suggest(name, nearest))
        return error_set_at(err, STATUS_NOT_FOUND, file->path,
                            "there is no such unit in the library; did you mean 'unit:%s'?",
                            nearest);
    if (!unit)
        return error_set_at(err, STATUS_NOT_FOUND, file->path,
                            "there is no such unit in the library; 'sslc doc unit:' tells of all");
    file->text = mem_strdup(unit->text);
    file->size_bytes = unit->size_bytes;
    return file->text ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
}

bool sslc_open(const char *path, const char *cpu, SslcFile *out_file)
{
    Error err = {0};
    *out_file = (SslcFile){.path = path,
                           .tables = {.size_bytes = sizeof out_file->tables, .cpu = cpu},
                           .folders = out_file->folders,
                           .beside = out_file->beside,
                           .arena = arena_create(4096, 0)};
    ssl_tables_describe(&out_file->tables);
    Status status = is_unit(path) ? read_unit(out_file, &err)
                                  : file_read(path, SSLC_SOURCE_MAX_BYTES, &out_file->text,
                                              &out_file->size_bytes, &err);
    if (status == STATUS_OK && !out_file->arena)
        status = error_set(&err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        status = sslc_list_closures(out_file, &err);
    if (status == STATUS_OK)
        status = ssl_context_create(&out_file->tables, &out_file->ctx, &err);
    if (status == STATUS_OK) {
        out_file->diags = diag_list_create();
        if (!out_file->diags)
            status = error_set(&err, STATUS_NO_MEMORY, "out of memory");
    }
    if (status != STATUS_OK)
        (void)tool_fail(&err, TOOL_FAILED);
    return status == STATUS_OK;
}

void sslc_close(SslcFile *file)
{
    arena_destroy(file->arena);
    diag_list_destroy(file->diags);
    closure_list_destroy(file->closures);
    ssl_context_destroy(file->ctx);
    mem_free(file->text);
    *file = (SslcFile){0};
}

static Status add_all_units(SslcPaths *paths, Error *err)
{
    for (const EmbeddedText *unit = unit_library_all(); unit->name; ++unit) {
        Str name = path_stem(unit->name);
        const char *path =
            arena_printf(paths->arena, "%s%.*s", unit_prefix, (int)name.size_bytes, name.data);
        if (!path || !array_push(paths->arena, &paths->list, path))
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    return STATUS_OK;
}

Status sslc_find_sources(SslcPaths *paths, const char *path, Error *err)
{
    if (strcmp(path, unit_prefix) == 0)
        return add_all_units(paths, err);
    if (!file_is_directory(path)) {
        array_push(paths->arena, &paths->list, path);
        return STATUS_OK;
    }
    const char *const *names;
    uint32_t count;
    TRY(file_list_directory(path, paths->arena, &names, &count, err));
    for (uint32_t i = 0; i < count; ++i) {
        char joined[PATH_BYTES];
        TRY(path_join(path, names[i], joined, err));
        const char *inner = arena_strndup(paths->arena, joined, strlen(joined));
        if (!inner)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        if (file_is_directory(inner) || path_has_extension(inner, ".ssl"))
            TRY(sslc_find_sources(paths, inner, err));
    }
    return STATUS_OK;
}

/* --- building --------------------------------------------------------------------------------- */

/* A source that can be read, without this shader: the command line is wrong, not the source. */
static bool lacks_shader(SslcFile *file, const SslSource *source)
{
    StrBuf names = {0};
    SslSource all = *source;
    all.shader = NULL;
    bool is_listed = ssl_source_shaders(file->ctx, &all, file->diags, &names) == STATUS_OK;
    for (const char *name = strbuf_text(&names); is_listed && *name;) {
        size_t size = strcspn(name, "\n");
        if (strlen(source->shader) == size && strncmp(name, source->shader, size) == 0)
            is_listed = false;
        name += size + (name[size] == '\n');
    }
    strbuf_free(&names);
    return is_listed;
}

SslUnit *sslc_compile(SslcFile *file, const char *shader)
{
    SslSource source = {
        .name = file->path, .text = {file->text, file->size_bytes}, .shader = shader};
    SslUnit *unit;
    Status status = sslc_is_group(file) ? sslc_link(file, file->diags, &unit)
                                        : ssl_unit_compile(file->ctx, &source, file->diags, &unit);
    if (!file->is_quiet || status != STATUS_OK)
        sslc_print_diags(file->diags);
    file->is_misused =
        status == STATUS_SOURCE && shader && !sslc_is_group(file) && lacks_shader(file, &source);
    if (status != STATUS_OK && status != STATUS_SOURCE) {
        Error err = {0};
        (void)error_set_at(&err, status, file->path, "%s", status_name(status));
        (void)tool_fail(&err, TOOL_FAILED);
    }
    return unit;
}

Status sslc_split(const char *text, char name[SSLC_NAME_BYTES], const char **out_value, Error *err)
{
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : 0;
    if (length == 0 || length >= SSLC_NAME_BYTES)
        return error_set(err, STATUS_INVALID, "'%s' is not NAME=VALUE", text);
    memcpy(name, text, length);
    name[length] = '\0';
    *out_value = equals + 1;
    return STATUS_OK;
}

Status sslc_find_param(const SslUnitInfo *unit, const char *name, uint32_t *out_param, Error *err)
{
    const char *names[256];
    uint32_t count = 0;
    for (uint32_t i = 0; i < unit->param_count; ++i) {
        if (strcmp(unit->params[i].name, name) == 0) {
            *out_param = i;
            return STATUS_OK;
        }
        if (count < SORT_COUNT_OF(names))
            names[count++] = unit->params[i].name;
    }
    const char *nearest = suggest_nearest(name, names, count);
    return error_set(err, STATUS_INVALID, "shader '%s' has no parameter '%s'%s%s%s", unit->name,
                     name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'?" : "");
}

Status sslc_parse_value(const char *name, const char *text, SslType type, SslValue *out_value,
                        Error *err)
{
    ExpectNumbers numbers;
    if (type == SSL_STRING) {
        *out_value = (SslValue){.type = SSL_STRING, .s = text};
        return STATUS_OK;
    }
    if (expect_parse_numbers(text, &numbers) && expect_to_value(&numbers, type, out_value))
        return STATUS_OK;
    uint32_t count = ssl_type_scalars(type);
    return error_set(err, STATUS_INVALID, "'%s' is no value for '%s' of type %s%s", text, name,
                     ssl_type_name(type),
                     count > 1 ? ", whose numbers stand in brackets with blanks between them, such "
                                 "as (1 0.5)"
                               : "");
}

Status sslc_describe(const SslUnitInfo *unit, const SslcBuildOptions *options,
                     SslConstant *constants, SslBuildDesc *out_how, Error *err)
{
    *out_how = (SslBuildDesc){.size_bytes = sizeof *out_how,
                              .kind = (SslKernelKind)options->kind,
                              .constants = constants,
                              .constant_count = options->constants.count,
                              .llvm_level = options->level,
                              .bake_switches = options->bake_switches,
                              .without_derivatives = options->without_derivatives,
                              .merged_summaries = options->merged_summaries,
                              .without_code = options->without_code};
    ASSERT(options->constants.count <= SSLC_CONSTANTS_MAX);
    for (uint32_t i = 0; i < options->constants.count; ++i) {
        char name[SSLC_NAME_BYTES];
        const char *value;
        uint32_t param;
        TRY(sslc_split(options->constants.items[i], name, &value, err));
        TRY(sslc_find_param(unit, name, &param, err));
        constants[i].param = unit->params[param].name;
        TRY(sslc_parse_value(name, value, unit->params[param].type, &constants[i].value, err));
    }
    return STATUS_OK;
}

SslProgram *sslc_build(SslcFile *file, const SslUnit *unit, const SslcBuildOptions *options,
                       bool output_derivatives)
{
    Error err = {0};
    SslConstant constants[SSLC_CONSTANTS_MAX];
    SslBuildDesc how;
    DiagList *diags = diag_list_create();
    SslProgram *program = NULL;
    Status status = diags ? sslc_describe(ssl_unit_info(unit), options, constants, &how, &err)
                          : error_set(&err, STATUS_NO_MEMORY, "out of memory");
    file->is_misused = status == STATUS_INVALID;
    if (status == STATUS_OK) {
        how.output_derivatives = output_derivatives;
        status = ssl_program_build(file->ctx, unit, &how, diags, &program, &err);
        if (!file->is_quiet || status != STATUS_OK)
            sslc_print_diags(diags);
    }
    diag_list_destroy(diags);
    if (status != STATUS_OK)
        (void)tool_fail(&err, TOOL_FAILED);
    return program;
}
