#define _XOPEN_SOURCE 700 /* realpath */
#include "sort/shade/texture_command.h"

#include "base/array.h"
#include "base/check.h"
#include "base/path.h"
#include "textures/texcache.h"
#include <stdlib.h>
#include <string.h>

typedef struct Folders {
    Arena *arena;
    ARRAY(char *) list;
    bool is_out_of_memory;
} Folders;

/* The folder of a file; one that is not there has none. */
static void add_folder_of(Folders *f, const char *path)
{
    char resolved[PATH_BYTES];
    if (!realpath(path, resolved))
        return;
    Str folder = path_dirname(resolved);
    uint32_t count = f->list.count;
    bool is_last = count > 0 && str_equal(str_from(f->list.data[count - 1]), folder);
    char *copy = is_last ? NULL : arena_strndup(f->arena, folder.data, folder.size_bytes);
    if (!is_last && (!copy || !array_push(f->arena, &f->list, copy)))
        f->is_out_of_memory = true;
}

static void add_set(Folders *f, const char *pattern)
{
    bool is_present[TEX_UDIM_COUNT];
    char path[PATH_BYTES];
    uint32_t count;
    if (texcache_udim_list(pattern, is_present, &count, NULL) != STATUS_OK)
        return;
    for (uint32_t i = 0; i < TEX_UDIM_COUNT; ++i)
        if (is_present[i] && texcache_udim_path(pattern, i, path, sizeof path, NULL) == STATUS_OK)
            add_folder_of(f, path);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void keep_one_of_each(Folders *f)
{
    uint32_t kept = 0;
    if (f->list.count > 0)
        qsort(f->list.data, f->list.count, sizeof *f->list.data, compare_paths);
    for (uint32_t i = 0; i < f->list.count; ++i)
        if (kept == 0 || strcmp(f->list.data[kept - 1], f->list.data[i]) != 0)
            f->list.data[kept++] = f->list.data[i];
    f->list.count = kept;
}

static uint32_t depth_of(const char *path)
{
    uint32_t depth = 0;
    for (const char *c = path; *c; ++c)
        depth += *c == '/' && c[1] != '\0';
    return depth;
}

/* The deepest first: the folders of a package become the package before any that lies outside of it is touched. */
static void widen(Folders *f)
{
    while (f->list.count > TEXTURE_FOLDERS_MAX) {
        uint32_t deepest = 0;
        for (uint32_t i = 0; i < f->list.count; ++i) {
            uint32_t depth = depth_of(f->list.data[i]);
            deepest = depth > deepest ? depth : deepest;
        }
        for (uint32_t i = 0; i < f->list.count; ++i)
            if (depth_of(f->list.data[i]) == deepest)
                f->list.data[i][path_dirname(f->list.data[i]).size_bytes] = '\0';
        keep_one_of_each(f);
    }
}

static Status list_folders(const Scene *scene, Folders *f, Error *err)
{
    for (uint32_t i = 0; i < scene->texture_count; ++i) {
        const SceneTexture *texture = &scene->textures[i];
        if (texture->is_missing)
            continue;
        if (texcache_is_udim(texture->path))
            add_set(f, texture->path);
        else
            add_folder_of(f, texture->path);
    }
    keep_one_of_each(f);
    widen(f);
    return f->is_out_of_memory ? error_set(err, STATUS_NO_MEMORY, "out of memory opening textures")
                               : STATUS_OK;
}

Status texture_command(Arena *arena, const TextureCommandDesc *desc,
                       const char *const **out_command, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc && desc->program && desc->task);
    Folders f = {.arena = arena};
    TRY(list_folders(desc->scene, &f, err));
    const char **argv = ARENA_ARRAY(arena, const char *, 2u * f.list.count + 5u);
    char *writable =
        desc->writable ? arena_strndup(arena, desc->writable, strlen(desc->writable)) : NULL;
    if (!argv || (desc->writable && !writable))
        return error_set(err, STATUS_NO_MEMORY, "out of memory opening textures");
    uint32_t count = 0;
    argv[count++] = desc->program;
    argv[count++] = desc->task;
    for (uint32_t i = 0; i < f.list.count; ++i) {
        argv[count++] = "--readable";
        argv[count++] = f.list.data[i];
    }
    if (writable) {
        argv[count++] = "--writable";
        argv[count++] = writable;
    }
    *out_command = argv;
    return STATUS_OK;
}
