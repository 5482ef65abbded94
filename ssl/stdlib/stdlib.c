#include "ssl/stdlib/stdlib.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/thread.h"
#include "ssl/report.h"
#include <string.h>

extern const EmbeddedText stdlib_sources[], bsdf_sources[]; /* made by sort_embed */

struct BsdfLibrary {
    Mutex mutex;
    Arena *arena;         /* owned; has the module */
    const Module *module; /* NULL: no source has needed it yet */
};

const EmbeddedText *stdlib_text(uint32_t file)
{
    ASSERT(file >= LIBRARY_FILE && file < LIBRARY_END_FILE);
    return file < LIBRARY_BSDF_FILE ? &stdlib_sources[file - LIBRARY_FILE]
                                    : &bsdf_sources[file - LIBRARY_BSDF_FILE];
}

const char *stdlib_path(uint32_t file, Arena *arena)
{
    return arena_printf(arena, file < LIBRARY_BSDF_FILE ? "stdlib/%s" : "stdlib/bsdf/%s",
                        stdlib_text(file)->name);
}

typedef struct LibraryTexts {
    SemaSource list[LIBRARY_END_FILE - LIBRARY_FILE];
    uint32_t count;
} LibraryTexts;

static void add_texts(LibraryTexts *texts, const EmbeddedText *sources, uint32_t first_file)
{
    for (uint32_t i = 0; sources[i].name; ++i) {
        CHECK(i < LIBRARY_BSDF_FILE - LIBRARY_FILE);
        Str text = {sources[i].text, sources[i].size_bytes};
        texts->list[texts->count++] = (SemaSource){text, first_file + i};
    }
}

/* Checks the texts into the arena. A separate function, so that nothing it changes is read after the jump. */
static Status check_texts(const LibraryTexts *texts, Arena *arena, DiagList *diags,
                          const Module **out_module)
{
    static const SemaTables no_tables = {0};
    jmp_buf no_memory;
    if (setjmp(no_memory))
        return STATUS_NO_MEMORY;
    arena_on_no_memory(arena, &no_memory);
    *out_module = sema_check(NULL, &no_tables, texts->list, texts->count, arena, diags);
    arena_on_no_memory(arena, NULL);
    if (diag_list_failed(diags)) /* a warning was lost: memory ran out, quietly */
        return STATUS_NO_MEMORY;
    return diag_count(diags) > 0 ? STATUS_INTERNAL
                                 : STATUS_OK; /* a warning would be of no use to anybody */
}

Status stdlib_create(StdLib **out_lib, Error *err)
{
    LibraryTexts texts = {.count = 0};
    *out_lib = NULL;
    add_texts(&texts, stdlib_sources, LIBRARY_FILE);
    StdLib *lib = MEM_NEW(StdLib);
    DiagList *diags = diag_list_create();
    if (lib) {
        lib->arena = arena_create(0, 0);
        lib->strings = string_ids_create();
        lib->bsdf = MEM_NEW(BsdfLibrary);
    }
    if (lib && lib->bsdf)
        mutex_init(&lib->bsdf->mutex);
    Status status = lib && diags && lib->arena && lib->strings && lib->bsdf
                        ? check_texts(&texts, lib->arena, diags, &lib->module)
                        : STATUS_NO_MEMORY;
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
    if (lib->bsdf) {
        mutex_destroy(&lib->bsdf->mutex);
        arena_destroy(lib->bsdf->arena);
        mem_free(lib->bsdf);
    }
    string_ids_destroy(lib->strings);
    arena_destroy(lib->arena);
    mem_free(lib);
}

/* --- scattering functions --------------------------------------------------------------------- */

static bool is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns whether the text may define scattering functions: it has the word `bsdf`, and behind it a name or a comment. */
static bool may_define_bsdf(Str text)
{
    static const char word[] = "bsdf";
    const size_t length = sizeof word - 1;
    for (size_t i = 0; i + length < text.size_bytes; ++i) {
        if (memcmp(text.data + i, word, length) != 0 || (i > 0 && is_of_name(text.data[i - 1])))
            continue;
        size_t at = i + length;
        while (at < text.size_bytes && is_space(text.data[at]))
            ++at;
        if (at < text.size_bytes &&
            (text.data[at] == '/' || (at > i + length && is_of_name(text.data[at]))))
            return true;
    }
    return false;
}

/* Under the lock. */
static Status check_bsdf_library(BsdfLibrary *bsdf)
{
    DiagList *diags = diag_list_create();
    const Module *module = NULL;
    LibraryTexts texts = {.count = 0};
    add_texts(&texts, stdlib_sources, LIBRARY_FILE);
    add_texts(&texts, bsdf_sources, LIBRARY_BSDF_FILE);
    bsdf->arena = arena_create(0, 0);
    Status status =
        bsdf->arena && diags ? check_texts(&texts, bsdf->arena, diags, &module) : STATUS_NO_MEMORY;
    CHECK(status != STATUS_INTERNAL); /* every build compiles the closures with it */
    diag_list_destroy(diags);
    if (status == STATUS_OK) {
        bsdf->module = module;
        return STATUS_OK;
    }
    arena_destroy(bsdf->arena);
    bsdf->arena = NULL;
    return status;
}

Status stdlib_module_for(const StdLib *lib, Str source, const Module **out_module)
{
    BsdfLibrary *bsdf = lib->bsdf;
    Status status = STATUS_OK;
    *out_module = lib->module;
    if (!may_define_bsdf(source))
        return STATUS_OK;
    mutex_lock(&bsdf->mutex);
    if (!bsdf->module)
        status = check_bsdf_library(bsdf);
    *out_module = bsdf->module;
    mutex_unlock(&bsdf->mutex);
    return status;
}
