#include "ssl/stdlib/stdlib.h"
#include "base/alloc.h"
#include "base/check.h"
#include "ssl/report.h"

/* Checks all texts into lib->arena. A separate function, so that nothing it changes is read after the jump. */
static Status check_sources(StdLib *lib, DiagList *diags)
{
    ASSERT(lib->arena && !lib->module);
    static const SemaTables no_tables = {0};
    jmp_buf no_memory;
    if (setjmp(no_memory))
        return STATUS_NO_MEMORY;
    arena_on_no_memory(lib->arena, &no_memory);
    ARRAY(SemaSource) sources = {0};
    for (uint32_t i = 0; stdlib_sources[i].name; ++i) {
        Str text = {stdlib_sources[i].text, stdlib_sources[i].size_bytes};
        array_push(lib->arena, &sources, (SemaSource){text, LIBRARY_FILE + i});
    }
    lib->module = sema_check(NULL, &no_tables, sources.data, sources.count, lib->arena, diags);
    arena_on_no_memory(lib->arena, NULL);
    if (diag_list_failed(diags)) /* a warning was lost: memory ran out, quietly */
        return STATUS_NO_MEMORY;
    return diag_count(diags) > 0 ? STATUS_INTERNAL
                                 : STATUS_OK; /* a warning would be of no use to anybody */
}

Status stdlib_create(StdLib **out_lib, Error *err)
{
    *out_lib = NULL;
    StdLib *lib = MEM_NEW(StdLib);
    DiagList *diags = diag_list_create();
    if (lib)
        lib->arena = arena_create(0, 0);
    if (lib)
        lib->strings = string_ids_create();
    Status status =
        lib && diags && lib->arena && lib->strings ? check_sources(lib, diags) : STATUS_NO_MEMORY;
    if (status == STATUS_INTERNAL)
        error_set(err, status, "the standard library of SSL is broken: %s",
                  diag_get(diags, 0)->message);
    else if (status != STATUS_OK)
        error_set(err, status, "out of memory for the standard library of SSL");
    diag_list_destroy(diags);
    if (status == STATUS_OK)
        *out_lib = lib;
    else
        stdlib_destroy(lib);
    return status;
}

void stdlib_destroy(StdLib *lib)
{
    if (!lib)
        return;
    string_ids_destroy(lib->strings);
    arena_destroy(lib->arena);
    mem_free(lib);
}
