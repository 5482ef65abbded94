#include "tools/ssl_kit/group_units.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/embedded.h"
#include "base/file.h"
#include "base/path.h"
#include "sort/shade/unit_library.h"
#include <string.h>

enum { SOURCE_MAX_BYTES = 16 << 20 };

typedef struct KnownUnit {
    const char *shader, *entry; /* "" for none */
    SslUnit *unit;
    Status status;
} KnownUnit;

struct GroupUnits {
    GroupUnitsDesc desc;
    Arena *arena;
    ARRAY(KnownUnit) known;
};

GroupUnits *group_units_create(const GroupUnitsDesc *desc)
{
    GroupUnits *units = MEM_NEW(GroupUnits);
    if (!units)
        return NULL;
    units->desc = *desc;
    units->arena = arena_create(0, 0);
    if (units->arena)
        return units;
    mem_free(units);
    return NULL;
}

void group_units_destroy(GroupUnits *units)
{
    if (!units)
        return;
    for (uint32_t i = 0; i < units->known.count; ++i)
        ssl_unit_release(units->known.data[i].unit);
    arena_destroy(units->arena);
    mem_free(units);
}

/* The file in the description's folder or a further one; the path that it has. */
static bool find_file(const GroupUnits *units, const char *shader, char out_path[PATH_BYTES])
{
    char folder[PATH_BYTES];
    Str dir = path_dirname(units->desc.path);
    if (dir.size_bytes < sizeof folder) {
        memcpy(folder, dir.data, dir.size_bytes);
        folder[dir.size_bytes] = '\0';
        if (path_join(folder, shader, out_path, NULL) == STATUS_OK && file_exists(out_path))
            return true;
    }
    for (uint32_t i = 0; i < units->desc.folder_count; ++i)
        if (path_join(units->desc.folders[i], shader, out_path, NULL) == STATUS_OK &&
            file_exists(out_path))
            return true;
    return false;
}

/* The only shader, or the one that is called like the file; NULL: let the compiler say. */
static const char *choose_entry(GroupUnits *units, const SslSource *source)
{
    StrBuf names = {0};
    DiagList *diags = diag_list_create();
    Str stem = path_stem(source->name);
    const char *chosen = NULL;
    if (diags && ssl_source_shaders(units->desc.ctx, source, diags, &names) == STATUS_OK)
        for (const char *line = strbuf_text(&names); *line; line += strcspn(line, "\n") + 1)
            if (str_equal((Str){line, strcspn(line, "\n")}, stem))
                chosen = arena_strndup(units->arena, line, strcspn(line, "\n"));
    diag_list_destroy(diags);
    strbuf_free(&names);
    return chosen;
}

static Status compile(GroupUnits *units, SslSource source, SslUnit **out_unit)
{
    if (!source.shader)
        source.shader = choose_entry(units, &source);
    return ssl_unit_compile(units->desc.ctx, &source, units->desc.diags, out_unit);
}

static Status compile_file(GroupUnits *units, const char *shader, const char *entry,
                           SslUnit **out_unit)
{
    char path[PATH_BYTES], *text;
    size_t size_bytes;
    Error err = {0};
    if (!find_file(units, shader, path))
        return STATUS_NOT_FOUND;
    Status status = file_read(path, SOURCE_MAX_BYTES, &text, &size_bytes, &err);
    if (status != STATUS_OK)
        return status;
    status = compile(units, (SslSource){.name = path, .text = {text, size_bytes}, .shader = entry},
                     out_unit);
    mem_free(text);
    return status;
}

static Status compile_unit(GroupUnits *units, const char *shader, const char *entry,
                           SslUnit **out_unit)
{
    static const char prefix[] = "unit:";
    if (!shader && units->desc.text.size_bytes)
        return compile(
            units, (SslSource){.name = units->desc.path, .text = units->desc.text, .shader = entry},
            out_unit);
    if (!shader)
        return STATUS_NOT_FOUND;
    if (strncmp(shader, prefix, sizeof prefix - 1) != 0)
        return compile_file(units, shader, entry, out_unit);
    const EmbeddedText *text = unit_library_find(shader + sizeof prefix - 1);
    if (!text)
        return STATUS_NOT_FOUND;
    return compile(
        units,
        (SslSource){.name = text->name, .text = {text->text, text->size_bytes}, .shader = entry},
        out_unit);
}

Status group_units_find(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    GroupUnits *units = data;
    KnownUnit wanted = {.shader = node->shader ? node->shader : "",
                        .entry = node->entry ? node->entry : ""};
    for (uint32_t i = 0; i < units->known.count; ++i) {
        const KnownUnit *known = &units->known.data[i];
        if (strcmp(known->shader, wanted.shader) == 0 && strcmp(known->entry, wanted.entry) == 0) {
            *out_unit = known->unit;
            return known->status;
        }
    }
    wanted.status = compile_unit(units, node->shader, node->entry, &wanted.unit);
    wanted.shader = arena_strndup(units->arena, wanted.shader, strlen(wanted.shader));
    wanted.entry = arena_strndup(units->arena, wanted.entry, strlen(wanted.entry));
    *out_unit = wanted.unit;
    if (!wanted.shader || !wanted.entry || !array_push(units->arena, &units->known, wanted)) {
        ssl_unit_release(wanted.unit);
        *out_unit = NULL;
        return STATUS_NO_MEMORY;
    }
    return wanted.status;
}
