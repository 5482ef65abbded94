/* wide_compile FILE.ssl FOLDER: compiles the shaders of a file for each class of CPUs, when SORT is built. It writes objects into
 * the FOLDER, and NAME_rows.h and NAME_rows.c there, whose form is described in wide.h. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/str.h"
#include "sort/wide/wide.h"
#include "ssl/ssl.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SOURCE_BYTES_MAX = 1 << 20, VALUES_MAX = 48, MEMBERS_MAX = 2 * VALUES_MAX };

/* A member of the struct of rows. */
typedef struct Member {
    char name[64];
    uint32_t scalars, row;
    bool is_int;
} Member;

typedef struct Generator {
    const char *folder;
    char name[64]; /* of the file, without its suffix */
    SslSource source;
    SslContext *contexts[WIDE_CLASSES];
    DiagList *diags;
    StrBuf rows; /* the name of the struct */
    StrBuf header, prototypes, code;
    Member members[MEMBERS_MAX];
    uint32_t member_count;
} Generator;

/* --- names ------------------------------------------------------------------------------------ */

/* "light_pick" to "LightPickRows". */
static void print_rows_name(StrBuf *out, const char *name)
{
    bool begins = true;
    for (const char *c = name; *c; ++c) {
        if (*c != '_')
            strbuf_printf(out, "%c", begins ? toupper((unsigned char)*c) : *c);
        begins = *c == '_';
    }
    strbuf_append_c(out, "Rows");
}

static void print_symbol(StrBuf *out, const char *shader, const char *cpu)
{
    strbuf_printf(out, "sort_wide_%s_", shader);
    for (const char *c = cpu; *c; ++c)
        strbuf_printf(out, "%c", isalnum((unsigned char)*c) ? *c : '_');
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Adds the rows of a value, unless a shader before has it under this name. Structs and arrays are not passed. */
static Status add_member(Generator *g, const char *name, SslType type, const SslShape *shape,
                         Error *err)
{
    const Member *last = g->member_count ? &g->members[g->member_count - 1] : NULL;
    Member member = {.scalars = ssl_value_scalars(type, shape),
                     .row = last ? last->row + last->scalars : 1, /* faults are the first */
                     .is_int = type == SSL_INT || type == SSL_BOOL};
    (void)snprintf(member.name, sizeof member.name, "%s", name);
    if (shape || strlen(name) >= sizeof member.name)
        return error_set(err, STATUS_INVALID, "'%s' is a struct or an array, or its name is long",
                         name);
    for (uint32_t i = 0; i < g->member_count; ++i)
        if (strcmp(g->members[i].name, name) == 0)
            return g->members[i].scalars == member.scalars && g->members[i].is_int == member.is_int
                       ? STATUS_OK
                       : error_set(err, STATUS_INVALID, "'%s' has two types", name);
    if (g->member_count == SORT_COUNT_OF(g->members))
        return error_set(err, STATUS_LIMIT, "more than %zu values", SORT_COUNT_OF(g->members));
    g->members[g->member_count++] = member;
    return STATUS_OK;
}

static Status add_members(Generator *g, const SslUnitInfo *info, Error *err)
{
    if (info->param_count > VALUES_MAX || info->output_count >= VALUES_MAX)
        return error_set(err, STATUS_LIMIT, "%s passes more than %d values", info->name,
                         VALUES_MAX);
    for (uint32_t i = 0; i < info->param_count; ++i)
        TRY(add_member(g, info->params[i].name, info->params[i].type, info->params[i].shape, err));
    for (uint32_t i = 0; i < info->output_count; ++i)
        TRY(add_member(g, info->outputs[i].name, info->outputs[i].type, info->outputs[i].shape,
                       err));
    return STATUS_OK;
}

static void print_rows(Generator *g)
{
    strbuf_printf(
        &g->header,
        "/* Made of %s.ssl by sort/wide/wide_compile.c. */\n"
        "#ifndef SORT_WIDE_MADE_%s\n#define SORT_WIDE_MADE_%s\n\n"
        "#include \"sort/wide/wide.h\"\n\ntypedef struct {\n    alignas(64) WideInts faults;\n",
        g->name, g->name, g->name);
    for (uint32_t i = 0; i < g->member_count; ++i) {
        const Member *m = &g->members[i];
        strbuf_printf(&g->header, "    %s %s", m->is_int ? "WideInts" : "WideRow", m->name);
        strbuf_printf(&g->header, m->scalars > 1 ? "[%u];\n" : ";\n", m->scalars);
    }
    strbuf_printf(&g->header, "} %s;\n\n%s\n#endif\n", strbuf_text(&g->rows),
                  strbuf_text(&g->prototypes));
}

/* --- programs --------------------------------------------------------------------------------- */

static void print_program(Generator *g, const SslUnitInfo *info)
{
    const char *shader = info->name, *rows = strbuf_text(&g->rows);
    for (uint32_t c = 0; c < WIDE_CLASSES; ++c) {
        strbuf_append_c(&g->code, "void ");
        print_symbol(&g->code, shader, wide_classes[c]);
        strbuf_append_c(&g->code, "(const SslBatch *);\n");
    }
    strbuf_printf(&g->prototypes,
                  "extern const WideProgram %s_program;\n"
                  "static inline void %s_run(%s *rows, uint16_t live)\n{\n"
                  "    wide_run(&%s_program, rows, live);\n}\n\n",
                  shader, shader, rows, shader);
    strbuf_printf(&g->code, "const WideProgram %s_program = {{", shader);
    for (uint32_t c = 0; c < WIDE_CLASSES; ++c) {
        print_symbol(&g->code, shader, wide_classes[c]);
        strbuf_append_c(&g->code, c + 1 < WIDE_CLASSES ? ", " : "}};\n\n");
    }
}

/* --- objects ---------------------------------------------------------------------------------- */

static SslRowPlace place_of(const Generator *g, const char *name)
{
    for (uint32_t i = 0; i < g->member_count; ++i)
        if (strcmp(g->members[i].name, name) == 0)
            return (SslRowPlace){0, (uint16_t)g->members[i].row};
    UNREACHABLE();
}

static Status write_object(Generator *g, const SslUnit *unit, const char *shader, uint32_t class,
                           Error *err)
{
    StrBuf symbol = {0}, path = {0}, object = {0};
    print_symbol(&symbol, shader, wide_classes[class]);
    strbuf_printf(&path, "%s/%s.o", g->folder, strbuf_text(&symbol));
    SslRowPlace params[VALUES_MAX], outputs[VALUES_MAX] = {{0}};
    const SslUnitInfo *info = ssl_unit_info(unit);
    for (uint32_t i = 0; i < info->param_count; ++i)
        params[i] = place_of(g, info->params[i].name);
    for (uint32_t i = 0; i < info->output_count; ++i)
        outputs[i] = place_of(g, info->outputs[i].name);
    outputs[info->output_count] = (SslRowPlace){0, 0};
    SslBuildDesc how = {.size_bytes = sizeof how,
                        .without_derivatives = true,
                        .rows = &(SslRows){params, outputs},
                        .symbol = strbuf_text(&symbol)};
    Status status = ssl_unit_dump(unit, &how, SSL_DUMP_OBJECT, g->diags, &object, err);
    if (status == STATUS_OK)
        status = file_write(strbuf_text(&path), object.data, object.size_bytes, err);
    strbuf_free(&symbol);
    strbuf_free(&path);
    strbuf_free(&object);
    return status;
}

static Status compile_shader(Generator *g, const char *shader, Error *err)
{
    Status status = STATUS_OK;
    SslSource source = g->source;
    source.shader = shader;
    for (uint32_t c = 0; status == STATUS_OK && c < WIDE_CLASSES; ++c) {
        SslUnit *unit = NULL;
        if (ssl_unit_compile(g->contexts[c], &source, g->diags, &unit) != STATUS_OK)
            return error_set(err, STATUS_SOURCE, "%s does not compile", shader);
        if (c == 0) {
            status = add_members(g, ssl_unit_info(unit), err);
            print_program(g, ssl_unit_info(unit));
        }
        if (status == STATUS_OK)
            status = write_object(g, unit, shader, c, err);
        ssl_unit_release(unit);
    }
    return status;
}

static Status compile_all(Generator *g, Error *err)
{
    StrBuf shaders = {0};
    for (uint32_t c = 0; c < WIDE_CLASSES; ++c)
        TRY(ssl_context_create(
            &(SslContextDesc){.size_bytes = sizeof(SslContextDesc), .cpu = wide_classes[c]},
            &g->contexts[c], err));
    Status status = ssl_source_shaders(g->contexts[0], &g->source, g->diags, &shaders);
    if (status != STATUS_OK)
        (void)error_set(err, status, "%s has errors", g->source.name);
    char *next = shaders.data; /* one name a line */
    while (status == STATUS_OK && next && *next) {
        char *end = strchr(next, '\n');
        *end = '\0';
        status = compile_shader(g, next, err);
        next = end + 1;
    }
    strbuf_free(&shaders);
    return status;
}

static Status write_text(const Generator *g, const StrBuf *text, const char *suffix, Error *err)
{
    StrBuf path = {0};
    strbuf_printf(&path, "%s/%s_rows.%s", g->folder, g->name, suffix);
    Status status = file_write(strbuf_text(&path), text->data, text->size_bytes, err);
    strbuf_free(&path);
    return status;
}

static Status generate(Generator *g, Error *err)
{
    print_rows_name(&g->rows, g->name);
    strbuf_printf(&g->code,
                  "/* Made of %s.ssl by sort/wide/wide_compile.c. */\n"
                  "#include \"%s_rows.h\"\n\n",
                  g->name, g->name);
    TRY(compile_all(g, err));
    print_rows(g);
    TRY(write_text(g, &g->header, "h", err));
    return write_text(g, &g->code, "c", err);
}

/* Sets the name to that of the file without its folder and suffix. */
static void name_of(const char *path, char out_name[64])
{
    const char *base = strrchr(path, '/');
    snprintf(out_name, 64, "%s", base ? base + 1 : path);
    out_name[strcspn(out_name, ".")] = '\0';
}

int main(int argc, char **argv)
{
    Error err = {0};
    char *text = NULL;
    size_t size_bytes = 0;
    if (argc != 3) {
        (void)fprintf(stderr, "usage: wide_compile FILE.ssl FOLDER\n");
        return 2;
    }
    Generator g = {.folder = argv[2], .diags = diag_list_create()};
    name_of(argv[1], g.name);
    Status status =
        g.diags ? file_read(argv[1], SOURCE_BYTES_MAX, &text, &size_bytes, &err) : STATUS_NO_MEMORY;
    g.source = (SslSource){.name = argv[1], .text = {text, size_bytes}};
    if (status == STATUS_OK)
        status = generate(&g, &err);
    if (status != STATUS_OK) {
        StrBuf why = {0};
        diag_print(g.diags, &why);
        (void)fprintf(stderr, "%swide_compile: %s\n", strbuf_text(&why), err.text);
        strbuf_free(&why);
    }
    for (uint32_t c = 0; c < WIDE_CLASSES; ++c)
        ssl_context_destroy(g.contexts[c]);
    strbuf_free(&g.rows);
    strbuf_free(&g.header);
    strbuf_free(&g.prototypes);
    strbuf_free(&g.code);
    mem_free(text);
    diag_list_destroy(g.diags);
    return status == STATUS_OK ? 0 : 1;
}
