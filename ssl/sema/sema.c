#include "ssl/sema/sema.h"
#include "base/check.h"
#include "ssl/front/parse.h"
#include "ssl/sema/checker.h"

#include <string.h>

Module *sema_parse(const Module *library, const SemaSource *sources, uint32_t source_count,
                   Arena *arena, DiagList *diags)
{
    Module *m = ARENA_NEW(arena, Module);
    m->library = library;
    m->func_count = library ? library->func_count : 0;
    m->ast = ARENA_NEW(arena, Ast);
    names_init(&m->names, arena, library ? &library->names : NULL);
    name_map_init(&m->functions, arena);
    name_map_init(&m->structs, arena);
    name_map_init(&m->interfaces, arena);
    name_map_init(&m->variables, arena);
    name_map_init(&m->builtin_rows, arena);
    for (uint32_t i = 0; i < source_count; ++i) {
        TokenList tokens = lex(sources[i].text, sources[i].file, &m->names, arena, diags);
        ParseInput input = {.text = sources[i].text,
                            .tokens = &tokens,
                            .file = sources[i].file,
                            .is_library = sources[i].file >= LIBRARY_FILE};
        parse(&input, &m->names, arena, diags, m->ast);
    }
    return m;
}

/* The first row of each builtin name. */
static void name_builtins(Module *m)
{
    ASSERT(!m->library);
    const Builtin **rows = ARENA_ARRAY(m->names.arena, const Builtin *, BUILTIN_COUNT);
    for (size_t i = BUILTIN_COUNT; i-- > 0;) {
        rows[i] = &builtins[i];
        name_map_set(&m->builtin_rows, names_intern(&m->names, str_from(builtins[i].name)),
                     &rows[i]);
    }
}

Module *sema_check(const Module *library, const SemaTables *tables, const SemaSource *sources,
                   uint32_t source_count, Arena *arena, DiagList *diags)
{
    uint32_t errors_before = diag_error_count(diags);
    Module *m = sema_parse(library, sources, source_count, arena, diags);
    Sema s = {.arena = arena,
              .diags = diags,
              .errors_before = errors_before,
              .tables = tables,
              .module = m};
    name_map_init(&s.variables, arena);
    name_map_init(&s.unknown, arena);
    name_map_init(&s.struct_instances, arena);
    if (!library)
        name_builtins(m);
    if (!report_is_full(diags))
        check_file(&s);
    return m;
}

const FuncDecl *sema_find_shader(const Module *m, const char *name, uint32_t file, Arena *arena,
                                 DiagList *diags)
{
    Span start = {file, 0, 0};
    ARRAY(const char *) names = {0};
    const FuncDecl *found = NULL;
    const char *list = "";
    for (uint32_t i = 0; i < m->ast->funcs.count; ++i) {
        const FuncDecl *f = m->ast->funcs.data[i];
        if (!f->is_shader || (f->is_of_bsdf && !name))
            continue;
        if (!name || strcmp(f->name, name) == 0)
            found = f;
        list = arena_printf(arena, "%s%s%s", list, names.count > 0 ? ", " : "", f->name);
        array_push(arena, &names, f->name);
    }
    if (names.count == 0) {
        report(diags, NO_SHADER, start, NULL);
        report(diags, NOTE_WRITE, (Span){0},
               "shader name(out closure surface) { ... }: it is what the host runs");
        return NULL;
    }
    if (name && !found) {
        report(diags, UNKNOWN_SHADER, start, name);
        report_suggestion(diags, name, names.data, names.count);
        report(diags, NOTE_CHOICES, (Span){0}, list);
    } else if (!name && names.count > 1) {
        report(diags, SEVERAL_SHADERS, found->span, NULL);
        report(diags, NOTE_CHOICES, (Span){0}, list);
        return NULL;
    }
    return found;
}
