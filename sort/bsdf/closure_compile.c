/* Compiles the closures (sort/bsdf/closures) when SORT is built, so that no render waits for them.
 *
 *   closure_compile --rows FILE   writes the table of closure_table.h, which says how shaders call them
 *   closure_compile FOLDER        compiles them for each class of CPUs: it writes objects into the FOLDER, one for each program
 *                                 and class, and FOLDER/closure_programs.c, the tables of closure_programs.h that refer to them
 */
#include "base/file.h"
#include "base/str.h"
#include "sort/bsdf/bsdf_program.h"
#include "sort/bsdf/closure_sources.h"
#include "sort/bsdf/closure_table.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct Generator {
    SslContext *ctx;
    const char *folder;
    char suffix[32]; /* the class of CPUs as part of symbols: "x86_64_v3" */
    bool is_first;   /* of the classes: tables of lobes are written once */
    DiagList *diags;
    StrBuf symbols, lobes, defs;
    BsdfBuild *builds[SSL_MAX_CLOSURES]; /* of the first class, whose rows hold for all */
    SslContext *first_ctx;
    uint32_t def_count;
} Generator;

/* --- objects ---------------------------------------------------------------------------------- */

static void symbol_of(const Generator *g, const char *bsdf, BsdfProgram program, StrBuf *out)
{
    strbuf_printf(out, "sort_bsdf_%s_%s_%s", bsdf, bsdf_program_name(program), g->suffix);
}

static Status write_object(Generator *g, const SslSource *source, const BsdfBuild *build,
                           BsdfProgram program, Error *err)
{
    const char *bsdf = bsdf_build_def(build)->name;
    char shader[128], path[512];
    StrBuf symbol = {0}, object = {0};
    SslUnit *unit = NULL;
    snprintf(shader, sizeof shader, "%s.%s", bsdf, bsdf_program_name(program));
    symbol_of(g, bsdf, program, &symbol);
    snprintf(path, sizeof path, "%s/%s.o", g->folder, strbuf_text(&symbol));
    SslSource own = *source;
    own.shader = shader;
    SslBuildDesc how = {.size_bytes = sizeof how,
                        .without_derivatives = true,
                        .rows = bsdf_build_rows(build, program),
                        .symbol = strbuf_text(&symbol)};
    Status status = ssl_unit_compile(g->ctx, &own, g->diags, &unit);
    if (status != STATUS_OK)
        (void)error_set(err, status, "%s does not compile", shader);
    else
        status = ssl_unit_dump(unit, &how, SSL_DUMP_OBJECT, g->diags, &object, err);
    if (status == STATUS_OK)
        status = file_write(path, object.data, object.size_bytes, err);
    strbuf_printf(&g->symbols, "void %s(const SslBatch *);\n", strbuf_text(&symbol));
    ssl_unit_release(unit);
    strbuf_free(&object);
    strbuf_free(&symbol);
    return status;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void print_lobes(Generator *g, const BsdfDef *def)
{
    strbuf_printf(&g->lobes, "static const BsdfLobeDef lobes_%s[] = {", def->name);
    for (uint32_t k = 0; k < def->lobe_count; ++k) {
        const BsdfLobeDef *lobe = &def->lobes[k];
        strbuf_printf(&g->lobes, "{%u, %u, %u, %u}, ", lobe->flags, lobe->albedo, lobe->reflected,
                      lobe->medium);
    }
    strbuf_append_c(&g->lobes, "};\n");
}

static Status print_def(Generator *g, const SslSource *source, const BsdfBuild *build, Error *err)
{
    const BsdfDef *def = bsdf_build_def(build);
    if (g->is_first)
        print_lobes(g, def);
    strbuf_printf(&g->defs, "    {\"%s\", %u, %u, %u, %u, %u, %u, %u, %u, {", def->name,
                  def->arg_rows, def->state_rows, def->frame, def->base_factor, def->roughness,
                  def->place, def->along, def->lobe_count);
    for (int i = 0; i < BSDF_PROGRAMS; ++i) {
        if (!def->programs[i]) {
            strbuf_append_c(&g->defs, "0, ");
            continue;
        }
        TRY(write_object(g, source, build, (BsdfProgram)i, err));
        symbol_of(g, def->name, (BsdfProgram)i, &g->defs);
        strbuf_append_c(&g->defs, ", ");
    }
    strbuf_printf(&g->defs, "}, lobes_%s, {0}},\n", def->name);
    return STATUS_OK;
}

/* The definitions of a class by their places in the table of closures. */
static void print_index(Generator *g)
{
    strbuf_printf(&g->defs, "static const BsdfDef *const index_%s[] = {\n", g->suffix);
    for (uint32_t i = 0; i < g->def_count; ++i)
        strbuf_printf(&g->defs, "    [CLOSURE_SUMS + %u] = &defs_%s[%u],\n", i, g->suffix, i);
    strbuf_append_c(&g->defs, "};\n");
}

static SslSource source_of(const EmbeddedText *text)
{
    return (SslSource){.name = text->name, .text = {text->text, text->size_bytes}};
}

static Status find_bsdf(const Generator *g, const SslSource *source, SslBsdfInfo *out_info,
                        Error *err)
{
    uint32_t count;
    Status status = ssl_source_bsdfs(g->ctx, source, g->diags, out_info, 1, &count);
    if (status != STATUS_OK || count != 1)
        return error_set(err, STATUS_SOURCE, "%s has errors, or no bsdf", source->name);
    return STATUS_OK;
}

static Status compile_source(Generator *g, const EmbeddedText *text, Error *err)
{
    SslBsdfInfo info;
    SslSource source = source_of(text);
    TRY(find_bsdf(g, &source, &info, err));
    if (g->def_count == SSL_MAX_CLOSURES - CLOSURE_SUMS)
        return error_set(err, STATUS_LIMIT, "more than %d closures", SSL_MAX_CLOSURES);
    uint32_t at = g->def_count++;
    if (g->is_first)
        TRY(bsdf_build(g->ctx, &source, &info, 1, g->diags, &g->builds[at], err));
    return print_def(g, &source, g->builds[at], err);
}

static Status compile_class(Generator *g, const char *cpu, Error *err)
{
    SslContextDesc desc = {.size_bytes = sizeof desc, .cpu = cpu};
    g->def_count = 0;
    snprintf(g->suffix, sizeof g->suffix, "%s", cpu);
    for (char *c = g->suffix; *c; ++c)
        *c = isalnum((unsigned char)*c) ? *c : '_';
    TRY(ssl_context_create(&desc, &g->ctx, err));
    strbuf_printf(&g->defs, "static const BsdfDef defs_%s[] = {\n", g->suffix);
    Status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && closure_sources[i].name; ++i)
        status = compile_source(g, &closure_sources[i], err);
    strbuf_append_c(&g->defs, "};\n");
    print_index(g);
    if (g->is_first)
        g->first_ctx = g->ctx;
    else
        ssl_context_destroy(g->ctx);
    return status;
}

static Status compile_all(Generator *g, StrBuf *out_table, Error *err)
{
    const char *const *cpus = ssl_baseline_cpus();
    strbuf_append_c(out_table, "const ClosurePrograms closure_programs[] = {\n");
    for (uint32_t i = 0; cpus[i]; ++i) {
        if (strcmp(cpus[i], "x86-64-v2") == 0) /* as many lanes as x86-64 */
            continue;
        g->is_first = i == 0;
        TRY(compile_class(g, cpus[i], err));
        strbuf_printf(out_table, "    {\"%s\", index_%s},\n", cpus[i], g->suffix);
    }
    strbuf_append_c(out_table, "    {0}};\n");
    for (uint32_t i = 0; i < g->def_count; ++i)
        bsdf_build_destroy(g->builds[i]);
    ssl_context_destroy(g->first_ctx);
    return STATUS_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void print_string(StrBuf *out, const char *text)
{
    strbuf_append_c(out, "\"");
    for (; *text; ++text)
        strbuf_printf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    strbuf_append_c(out, "\"");
}

static Status print_row(const Generator *g, const EmbeddedText *text, Arena *arena, StrBuf *out,
                        Error *err)
{
    SslBsdfInfo info;
    SslClosureRow row;
    SslSource source = source_of(text);
    TRY(find_bsdf(g, &source, &info, err));
    if (ssl_source_closure(g->ctx, &source, info.name, g->diags, arena, &row) != STATUS_OK)
        return error_set(err, STATUS_SOURCE, "%s cannot be described", text->name);
    strbuf_printf(out, "    {\"%s\", (const SslClosureArg[]){", row.name);
    for (uint32_t i = 0; i < row.arg_count; ++i)
        strbuf_printf(out, "{\"%s\", (SslType)%d}, ", row.args[i].name, (int)row.args[i].type);
    strbuf_printf(out, "{0}}, %u, %u,\n     ", row.arg_count, row.flags);
    print_string(out, row.doc);
    strbuf_append_c(out, ",\n     ");
    print_string(out, row.citation);
    strbuf_append_c(out, "},\n");
    return STATUS_OK;
}

static Status write_rows(Generator *g, const char *path, Error *err)
{
    StrBuf out = {0};
    SslContextDesc desc = {.size_bytes = sizeof desc};
    Arena *arena = arena_create(0, 0);
    Status status = arena ? ssl_context_create(&desc, &g->ctx, err) : STATUS_NO_MEMORY;
    strbuf_append_c(&out, "/* Made by sort/bsdf/closure_compile.c. */\n"
                          "#include \"sort/bsdf/closure_table.h\"\n"
                          "#define ARG(type, name) {#name, SSL_##type},\n"
                          "#define CLOSURE_SUM(id, name, flags, args, doc, citation) \\\n"
                          "    static const SslClosureArg args_##id[] = {args};\n"
                          "#include \"sort/bsdf/closure_sums.inc\"\n"
                          "#undef CLOSURE_SUM\n"
                          "#define CLOSURE_SUM(id, name, flags, args, doc, citation) \\\n"
                          "    {#name, args_##id, sizeof args_##id / sizeof *args_##id, "
                          "flags, doc, citation},\n"
                          "const SslClosureRow closure_rows[] = {\n"
                          "#include \"sort/bsdf/closure_sums.inc\"\n");
    uint32_t count = 0;
    for (; status == STATUS_OK && closure_sources[count].name; ++count)
        status = print_row(g, &closure_sources[count], arena, &out, err);
    strbuf_printf(&out, "};\nconst uint32_t closure_count = CLOSURE_SUMS + %u;\n", count);
    if (status == STATUS_OK)
        status = file_write(path, out.data, out.size_bytes, err);
    strbuf_free(&out);
    arena_destroy(arena);
    ssl_context_destroy(g->ctx);
    return status;
}

/* --- the program ------------------------------------------------------------------------------ */

static Status write_programs(Generator *g, Error *err)
{
    StrBuf table = {0}, text = {0};
    char path[512];
    Status status = compile_all(g, &table, err);
    strbuf_append_c(&text, "/* Made by sort/bsdf/closure_compile.c. */\n"
                           "#include \"sort/bsdf/closure_programs.h\"\n");
    StrBuf *const parts[] = {&g->symbols, &g->lobes, &g->defs, &table};
    for (size_t i = 0; i < SORT_COUNT_OF(parts); ++i)
        strbuf_append(&text, (Str){parts[i]->data, parts[i]->size_bytes});
    snprintf(path, sizeof path, "%s/closure_programs.c", g->folder);
    if (status == STATUS_OK)
        status = file_write(path, text.data, text.size_bytes, err);
    for (size_t i = 0; i < SORT_COUNT_OF(parts); ++i)
        strbuf_free(parts[i]);
    strbuf_free(&text);
    return status;
}

int main(int argc, char **argv)
{
    Error err = {0};
    bool is_for_rows = argc == 3 && strcmp(argv[1], "--rows") == 0;
    if (argc != 2 && !is_for_rows) {
        (void)fprintf(stderr,
                      "usage: closure_compile FOLDER\n       closure_compile --rows FILE\n");
        return 2;
    }
    Generator g = {.folder = argv[1], .diags = diag_list_create()};
    Status status = !g.diags      ? STATUS_NO_MEMORY
                    : is_for_rows ? write_rows(&g, argv[2], &err)
                                  : write_programs(&g, &err);
    if (status != STATUS_OK) {
        StrBuf why = {0};
        diag_print(g.diags, &why);
        (void)fprintf(stderr, "%sclosure_compile: %s\n", strbuf_text(&why), err.text);
        strbuf_free(&why);
    }
    diag_list_destroy(g.diags);
    return status == STATUS_OK ? 0 : 1;
}
