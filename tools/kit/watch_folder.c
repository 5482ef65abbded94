#define _DEFAULT_SOURCE /* lstat */
#include "tools/kit/watch_folder.h"

#include "base/alloc.h"
#include "base/file.h"
#include "textures/tex_live.h"
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Status watch_folder(char out_path[PATH_BYTES], Error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int length = runtime && *runtime == '/'
                     ? snprintf(out_path, PATH_BYTES, "%s/sort", runtime)
                     : snprintf(out_path, PATH_BYTES, "/tmp/sort-%lu", (unsigned long)geteuid());
    if (length < 0 || length >= PATH_BYTES)
        return error_set(err, STATUS_LIMIT, "XDG_RUNTIME_DIR is too long");
    Status status = file_make_private_directory(out_path, err);
    return status == STATUS_OK ? status : error_prefix(err, "renders do not publish there");
}

/* The end of a file's name, behind the number of its process. */
static const char suffix[] = ".watch";

/* Returns whether a file's own process is gone: it may have died before it wrote anything that could be read. */
static bool is_left_behind(const char *name)
{
    char *end;
    unsigned long process = strtoul(name, &end, 10);
    if (end == name || strcmp(end, suffix) != 0 || process == 0 || process > INT32_MAX)
        return false;
    /* An earlier process had the number of this one, which publishes nothing yet. */
    return process == (unsigned long)getpid() || (kill((pid_t)process, 0) != 0 && errno == ESRCH);
}

/* Lists the files of live renders; removes those of dead ones. */
static Status sweep(const char *folder, Arena *arena, const char *const **out_paths,
                    uint32_t *out_count, Error *err)
{
    const char *const *names;
    uint32_t count;
    *out_count = 0;
    TRY(file_list_directory(folder, arena, &names, &count, err));
    const char **paths = ARENA_ARRAY(arena, const char *, count + 1);
    TexLive *live = ARENA_NEW(arena, TexLive);
    if (!paths || !live)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < count; ++i) {
        char path[PATH_BYTES];
        Error ignored = {0};
        if (!str_ends_with(str_from(names[i]), STR_LIT(suffix)) ||
            path_join(folder, names[i], path, &ignored) != STATUS_OK)
            continue;
        bool is_dead = is_left_behind(names[i]);
        if (!is_dead && tex_live_read(path, live, &ignored) != STATUS_OK)
            continue;
        if (is_dead || !tex_live_is_alive(live)) {
            unlink(path);
            continue;
        }
        char *kept = ARENA_ARRAY(arena, char, strlen(path) + 1);
        if (!kept)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        memcpy(kept, path, strlen(path) + 1);
        paths[(*out_count)++] = kept;
    }
    *out_paths = paths;
    return STATUS_OK;
}

Status watch_list(Arena *arena, const char *const **out_paths, uint32_t *out_count, Error *err)
{
    char folder[PATH_BYTES];
    TRY(watch_folder(folder, err));
    return sweep(folder, arena, out_paths, out_count, err);
}

Status watch_own_file(char out_path[PATH_BYTES], Error *err)
{
    char folder[PATH_BYTES], name[64];
    const char *const *paths;
    uint32_t count;
    TRY(watch_folder(folder, err));
    Arena *arena = arena_create(1 << 16, 0);
    if (!arena)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    Status status = sweep(folder, arena, &paths, &count, err);
    arena_destroy(arena);
    TRY(status);
    snprintf(name, sizeof name, "%ld%s", (long)getpid(), suffix);
    return path_join(folder, name, out_path, err);
}
