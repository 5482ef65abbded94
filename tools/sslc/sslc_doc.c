/* sslc doc: what the shaders of files and folders take, give and read, for people and as JSON. */
#include "base/check.h"
#include "base/json_write.h"
#include "tools/sslc/sslc_bsdf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- values ------------------------------------------------------------------------------------- */

/* The shortest digits that read back as the same float. */
static void put_float(StrBuf *out, double x)
{
    char digits[32];
    for (int precision = 6; precision <= 9; ++precision) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, x);
        if (strtof(digits, NULL) == (float)x)
            break;
    }
    strbuf_append_c(out, digits);
}

/* A value as in source: 0.5, true, (1, 0, 0), "box". */
static void put_value(StrBuf *out, const SslValue *v)
{
    bool is_list = v->type == SSL_STRUCT || v->type == SSL_ARRAY;
    uint32_t count = is_list ? v->count : ssl_type_scalars(v->type);
    if (v->type == SSL_BOOL) {
        strbuf_append_c(out, v->b ? "true" : "false");
    } else if (v->type == SSL_INT) {
        strbuf_printf(out, "%d", v->i);
    } else if (v->type == SSL_STRING) {
        strbuf_printf(out, "\"%s\"", v->s ? v->s : "");
    } else if (count == 0) {
        strbuf_append_c(out, "none");
    } else {
        strbuf_append_c(out, count > 1 ? "(" : "");
        for (uint32_t i = 0; i < count; ++i) {
            strbuf_append_c(out, i ? ", " : "");
            put_float(out, is_list ? v->list[i] : (double)v->f[i]);
        }
        strbuf_append_c(out, count > 1 ? ")" : "");
    }
}

static void json_value(JsonWriter *w, const char *name, const SslValue *v)
{
    bool is_list = v->type == SSL_STRUCT || v->type == SSL_ARRAY;
    uint32_t count = is_list ? v->count : ssl_type_scalars(v->type);
    if (v->type == SSL_BOOL) {
        json_write_bool(w, name, v->b);
    } else if (v->type == SSL_INT) {
        json_write_i64(w, name, v->i);
    } else if (v->type == SSL_STRING) {
        json_write_string(w, name, v->s ? v->s : "");
    } else if (count == 0) {
        json_write_null(w, name);
    } else if (count == 1 && !is_list) {
        json_write_float(w, name, v->f[0]);
    } else {
        json_write_array(w, name);
        for (uint32_t i = 0; i < count; ++i) {
            if (is_list)
                json_write_double(w, NULL, v->list[i]);
            else
                json_write_float(w, NULL, v->f[i]);
        }
        json_write_end(w);
    }
}

/* --- text --------------------------------------------------------------------------------------- */

static void put_metadata(StrBuf *out, const SslMetadata *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        strbuf_printf(out, "%s%s = ", i ? ", " : "", items[i].name);
        put_value(out, &items[i].value);
    }
}

static void put_behind(StrBuf *out, const SslMetadata *items, uint32_t count)
{
    strbuf_append_c(out, count ? "  [" : "");
    put_metadata(out, items, count);
    strbuf_append_c(out, count ? "]\n" : "\n");
}

static void text_of_inputs(StrBuf *out, const SslUnitInfo *unit)
{
    for (uint32_t i = 0; i < unit->param_count; ++i) {
        const SslParamInfo *p = &unit->params[i];
        strbuf_printf(out, "  %s %s %s", i ? "         " : "parameter", /* one heading a list */
                      ssl_value_name(p->type, p->shape), p->name);
        if (p->has_default && p->type != SSL_CLOSURE) {
            strbuf_append_c(out, " = ");
            put_value(out, &p->default_value);
        } else if (p->type != SSL_CLOSURE) {
            strbuf_append_c(out, " (must be set)");
        }
        put_behind(out, p->metadata, p->metadata_count);
    }
    for (uint32_t i = 0; i < unit->texture_count; ++i) {
        const SslMetadataList none = {0};
        const SslMetadataList *list = unit->texture_metadata ? &unit->texture_metadata[i] : &none;
        strbuf_printf(out, "  %s %s", i ? "         " : "texture  ", unit->textures[i]);
        put_behind(out, list->items, list->count);
    }
    for (uint32_t i = 0; i < unit->attribute_count; ++i) {
        const SslAttributeInfo *a = &unit->attributes[i];
        strbuf_printf(out, "  %s %s %s%s", i ? "         " : "attribute", ssl_type_name(a->type),
                      a->name, a->is_declared ? "" : " (the renderer's)");
        put_behind(out, a->metadata, a->metadata_count);
    }
}

static void text_of_shader(StrBuf *out, const SslcFile *file, const SslUnitInfo *unit,
                           const SslProgramInfo *info)
{
    strbuf_printf(out, "%s: shader %s\n", file->path, unit->name);
    if (unit->metadata_count) {
        strbuf_append_c(out, "  ");
        put_metadata(out, unit->metadata, unit->metadata_count);
        strbuf_append_char(out, '\n');
    }
    text_of_inputs(out, unit);
    for (uint32_t i = 0; i < unit->output_count; ++i)
        strbuf_printf(out, "  %s %s %s\n", i ? "         " : "output   ",
                      ssl_value_name(unit->outputs[i].type, unit->outputs[i].shape),
                      unit->outputs[i].name);
    bool is_first = true;
    for (uint32_t i = 0; i < file->tables.global_count; ++i) {
        if (!(info->globals_value >> i & 1))
            continue;
        strbuf_printf(out, "%s %s%s", is_first ? "  reads    " : ",", file->tables.globals[i].name,
                      info->globals_derivs >> i & 1 ? " with derivatives" : "");
        is_first = false;
    }
    strbuf_append_c(out, is_first ? "" : "\n");
    for (uint32_t i = 0; i < info->lobe_count; ++i) {
        ASSERT(info->lobes[i].parent < (int32_t)info->lobe_count);
        const SslLobeSlot *lobe = &info->lobes[i];
        strbuf_printf(out, "%s %s", i ? "," : "  closures ",
                      file->tables.closures[lobe->closure].name);
        if (lobe->parent >= 0)
            strbuf_printf(out, " under %s",
                          file->tables.closures[info->lobes[lobe->parent].closure].name);
    }
    strbuf_append_c(out, info->lobe_count ? "\n" : "");
    strbuf_printf(out, "  %u of %u values carry derivatives, %u texture lookups\n\n",
                  info->values_shadowed, info->values, info->texture_site_count);
}

/* What a shader calls it with, and how it scatters light. `prepare` has the arguments, and more that is no user's. */
static void text_of_bsdf(StrBuf *out, const SslcFile *file, const SslBsdfInfo *bsdf,
                         const SslUnitInfo *prepare)
{
    bool is_first = true;
    strbuf_printf(out, "%s: bsdf %s\n", file->path, bsdf->name);
    if (prepare->metadata_count) {
        strbuf_append_c(out, "  ");
        put_metadata(out, prepare->metadata, prepare->metadata_count);
        strbuf_append_char(out, '\n');
    }
    for (uint32_t i = 0; i < prepare->param_count; ++i) {
        const SslParamInfo *p = &prepare->params[i];
        if (sslc_is_of_view(p->name))
            continue;
        strbuf_printf(out, "  %s %s %s", is_first ? "argument" : "        ", ssl_type_name(p->type),
                      p->name);
        put_behind(out, p->metadata, p->metadata_count);
        is_first = false;
    }
    if (bsdf->is_layer)
        strbuf_printf(out, "  %s closure, the last, which the layer covers\n",
                      is_first ? "argument" : "        ");
    for (uint32_t k = 0; k < bsdf->lobe_count; ++k) {
        strbuf_printf(out, "  %s", k ? "        " : "lobe    ");
        for (uint32_t kind = 1; ssl_lobe_word(kind); kind <<= 1)
            if (bsdf->lobe_flags[k] & kind)
                strbuf_printf(out, " %s", ssl_lobe_word(kind));
        strbuf_append_char(out, '\n');
    }
    strbuf_append_char(out, '\n');
}

/* --- JSON --------------------------------------------------------------------------------------- */

static void json_metadata(JsonWriter *w, const SslMetadata *items, uint32_t count)
{
    if (count == 0)
        return;
    json_write_object(w, "metadata");
    for (uint32_t i = 0; i < count; ++i)
        json_value(w, items[i].name, &items[i].value);
    json_write_end(w);
}

static void json_inputs(JsonWriter *w, const SslUnitInfo *unit)
{
    json_write_array(w, "parameters");
    for (uint32_t i = 0; i < unit->param_count; ++i) {
        const SslParamInfo *p = &unit->params[i];
        json_write_object(w, NULL);
        json_write_string(w, "name", p->name);
        json_write_string(w, "type", ssl_value_name(p->type, p->shape));
        if (p->has_default)
            json_value(w, "default", &p->default_value);
        json_metadata(w, p->metadata, p->metadata_count);
        json_write_end(w);
    }
    json_write_end(w);
    json_write_array(w, "textures");
    for (uint32_t i = 0; i < unit->texture_count; ++i) {
        json_write_object(w, NULL);
        json_write_string(w, "name", unit->textures[i]);
        if (unit->texture_metadata)
            json_metadata(w, unit->texture_metadata[i].items, unit->texture_metadata[i].count);
        json_write_end(w);
    }
    json_write_end(w);
    json_write_array(w, "attributes");
    for (uint32_t i = 0; i < unit->attribute_count; ++i) {
        const SslAttributeInfo *a = &unit->attributes[i];
        json_write_object(w, NULL);
        json_write_string(w, "name", a->name);
        json_write_string(w, "type", ssl_type_name(a->type));
        json_write_bool(w, "declared", a->is_declared);
        json_write_bool(w, "derivatives", a->has_derivs);
        json_metadata(w, a->metadata, a->metadata_count);
        json_write_end(w);
    }
    json_write_end(w);
}

static void json_use(JsonWriter *w, const SslcFile *file, const SslProgramInfo *info)
{
    json_write_array(w, "globals");
    for (uint32_t i = 0; i < file->tables.global_count; ++i) {
        if (!(info->globals_value >> i & 1))
            continue;
        json_write_object(w, NULL);
        json_write_string(w, "name", file->tables.globals[i].name);
        json_write_bool(w, "derivatives", info->globals_derivs >> i & 1);
        json_write_end(w);
    }
    json_write_end(w);
    json_write_array(w, "closures");
    for (uint32_t i = 0; i < info->lobe_count; ++i) {
        const SslLobeSlot *lobe = &info->lobes[i];
        json_write_object(w, NULL);
        json_write_string(w, "name", file->tables.closures[lobe->closure].name);
        if (lobe->parent >= 0)
            json_write_i64(w, "under", lobe->parent); /* index in this list */
        json_write_end(w);
    }
    json_write_end(w);
    json_write_u64(w, "values", info->values);
    json_write_u64(w, "values_with_derivatives", info->values_shadowed);
    json_write_u64(w, "texture_lookups", info->texture_site_count);
}

static void json_of_shader(JsonWriter *w, const SslcFile *file, const SslUnitInfo *unit,
                           const SslProgramInfo *info)
{
    json_write_object(w, NULL);
    json_write_string(w, "file", file->path);
    json_write_string(w, "shader", unit->name);
    json_metadata(w, unit->metadata, unit->metadata_count);
    json_inputs(w, unit);
    json_write_array(w, "outputs");
    for (uint32_t i = 0; i < unit->output_count; ++i) {
        json_write_object(w, NULL);
        json_write_string(w, "name", unit->outputs[i].name);
        json_write_string(w, "type", ssl_value_name(unit->outputs[i].type, unit->outputs[i].shape));
        json_metadata(w, unit->outputs[i].metadata, unit->outputs[i].metadata_count);
        json_write_end(w);
    }
    json_write_end(w);
    json_use(w, file, info);
    json_write_end(w);
}

static void json_of_bsdf(JsonWriter *w, const SslcFile *file, const SslBsdfInfo *bsdf,
                         const SslUnitInfo *prepare)
{
    json_write_object(w, NULL);
    json_write_string(w, "file", file->path);
    json_write_string(w, "bsdf", bsdf->name);
    json_metadata(w, prepare->metadata, prepare->metadata_count);
    json_write_bool(w, "layer", bsdf->is_layer);
    json_write_array(w, "arguments");
    for (uint32_t i = 0; i < prepare->param_count; ++i) {
        const SslParamInfo *p = &prepare->params[i];
        if (sslc_is_of_view(p->name))
            continue;
        json_write_object(w, NULL);
        json_write_string(w, "name", p->name);
        json_write_string(w, "type", ssl_type_name(p->type));
        json_metadata(w, p->metadata, p->metadata_count);
        json_write_end(w);
    }
    json_write_end(w);
    json_write_array(w, "lobes");
    for (uint32_t k = 0; k < bsdf->lobe_count; ++k) {
        json_write_array(w, NULL);
        for (uint32_t kind = 1; ssl_lobe_word(kind); kind <<= 1)
            if (bsdf->lobe_flags[k] & kind)
                json_write_string(w, NULL, ssl_lobe_word(kind));
        json_write_end(w);
    }
    json_write_end(w);
    json_write_end(w);
}

/* --- files -------------------------------------------------------------------------------------- */

typedef struct Doc {
    StrBuf text;
    JsonWriter json;
    bool is_json;
    int code; /* the worst yet */
} Doc;

static bool describe_shader(Doc *doc, SslcFile *file, const char *shader)
{
    const SslcBuildOptions options = {.without_code = true};
    SslUnit *unit = sslc_compile(file, shader);
    SslProgram *program = unit ? sslc_build(file, unit, &options, false) : NULL;
    if (program && doc->is_json)
        json_of_shader(&doc->json, file, ssl_unit_info(unit), ssl_program_info(program));
    else if (program)
        text_of_shader(&doc->text, file, ssl_unit_info(unit), ssl_program_info(program));
    ssl_program_release(program);
    ssl_unit_release(unit);
    return program != NULL;
}

/* Describes the scattering functions of a source; *found: whether there was one that was asked for. */
static bool describe_bsdfs(Doc *doc, SslcFile *file, const SslSource *source, const char *only,
                           bool *found)
{
    static SslBsdfInfo bsdfs[SSLC_BSDFS_MAX];
    uint32_t count;
    Status status = ssl_source_bsdfs(file->ctx, source, file->diags, bsdfs, SSLC_BSDFS_MAX, &count);
    bool is_good = status == STATUS_OK;
    for (uint32_t i = 0; i < count && is_good; ++i) {
        if (only && strcmp(only, bsdfs[i].name) != 0)
            continue;
        char shader[sizeof bsdfs[i].name + 16];
        (void)snprintf(shader, sizeof shader, "%s.prepare", bsdfs[i].name);
        SslUnit *unit = sslc_compile(file, shader);
        *found = true;
        is_good = unit != NULL;
        if (unit && doc->is_json)
            json_of_bsdf(&doc->json, file, &bsdfs[i], ssl_unit_info(unit));
        else if (unit)
            text_of_bsdf(&doc->text, file, &bsdfs[i], ssl_unit_info(unit));
        ssl_unit_release(unit);
    }
    return is_good;
}

static void describe_file(Doc *doc, const char *path, const char *only)
{
    SslcFile file = {0};
    StrBuf names = {0};
    bool is_good = sslc_open(path, NULL, &file);
    if (is_good) {
        const SslSource source = {.name = path, .text = {file.text, file.size_bytes}};
        is_good = ssl_source_shaders(file.ctx, &source, file.diags, &names) == STATUS_OK;
        if (!is_good)
            sslc_print_diags(file.diags);
        bool is_found = false;
        for (char *name = names.data; is_good && name && *name;) {
            char *end = strchr(name, '\n');
            if (end)
                *end = '\0';
            if (!only || strcmp(only, name) == 0) {
                is_found = true;
                is_good = describe_shader(doc, &file, name);
            }
            name = end ? end + 1 : name + strlen(name);
        }
        is_good = is_good && describe_bsdfs(doc, &file, &source, only, &is_found);
        if (is_good && !is_found) {
            Error err = {0};
            (void)error_set_at(&err, STATUS_NOT_FOUND, path, "there is no shader or bsdf%s%s%s",
                               only ? " '" : "", only ? only : "", only ? "'" : "");
            doc->code = tool_fail(&err, only ? TOOL_USAGE : TOOL_FAILED);
        }
    }
    if (!is_good)
        doc->code = TOOL_FAILED;
    strbuf_free(&names);
    sslc_close(&file);
}

static int describe_paths(Doc *doc, const CliResult *args, const char *only)
{
    Arena *arena = arena_create(0, 0);
    SslcPaths paths = {.arena = arena};
    Error err = {0};
    bool is_good = arena != NULL;
    for (uint32_t i = 0; i < args->arg_count && is_good; ++i)
        if (sslc_find_sources(&paths, args->args[i], &err) != STATUS_OK)
            is_good = tool_fail(&err, TOOL_FAILED) == TOOL_DONE;
    for (uint32_t i = 0; i < paths.list.count; ++i)
        describe_file(doc, paths.list.data[i], only);
    arena_destroy(arena);
    return is_good ? doc->code : TOOL_FAILED;
}

int sslc_doc(int argc, char **argv)
{
    Doc doc = {0};
    const char *only = NULL;
    const CliOption options[] = {
        {.name = "json",
         .kind = CLI_FLAG,
         .out = &doc.is_json,
         .help = "print JSON: an array of shaders and scattering functions"},
        {.name = "shader",
         .kind = CLI_TEXT,
         .out = &only,
         .value_name = "NAME",
         .help = "only the shader or the bsdf of this name"},
    };
    const CliProgram program = {
        .name = "sslc doc",
        .usage = "[options] PATH...",
        .summary =
            "Prints the parameters, outputs, textures, attributes and globals of the "
            "shaders of files, and of the .ssl files in folders; and the arguments and lobes of "
            "scattering functions (bsdf).",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 4096, "PATH")};
    CliResult args;
    int code;
    if (!tool_parse(&program, argc, argv, &args, &code))
        return code;
    doc.json = json_writer(&doc.text, JSON_INDENTED);
    if (doc.is_json)
        json_write_array(&doc.json, NULL);
    code = describe_paths(&doc, &args, only);
    if (doc.is_json)
        json_write_end(&doc.json);
    (void)fputs(strbuf_text(&doc.text), stdout);
    strbuf_free(&doc.text);
    return code;
}
