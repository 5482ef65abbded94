#include "tools/sort_render/cache_folder.h"

#include "base/temp_folder.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static TempFolder brief;
static char refused[PATH_BYTES]; /* in place of which there is `brief` */
static bool is_told;

static Status usual_folder(char out[PATH_BYTES], Error *err)
{
    const char *base = getenv("XDG_CACHE_HOME");
    if (base && base[0] == '/')
        return path_join(base, "sort", out, err);
    const char *home = getenv("HOME");
    if (home && home[0] == '/')
        return path_join(home, ".cache/sort", out, err);
    /* Anybody may have made it: who uses it looks at its owner first. */
    if (snprintf(out, PATH_BYTES, "/tmp/sort-%lu/cache", (unsigned long)geteuid()) >= PATH_BYTES)
        return error_set(err, STATUS_LIMIT, "the folder of the cache has too long a name");
    return STATUS_OK;
}

/* Whether the folder, or the first one above it that there is, can be written. */
static bool is_writable(const char *folder)
{
    char path[PATH_BYTES];
    struct stat info;
    snprintf(path, sizeof path, "%s", folder);
    while (stat(path, &info) != 0) {
        char *end = strrchr(path, '/');
        if (errno != ENOENT || !end || end == path)
            return errno == ENOENT && access("/", W_OK | X_OK) == 0;
        *end = '\0';
    }
    return S_ISDIR(info.st_mode) && access(path, W_OK | X_OK) == 0;
}

Status cache_folder_find(char out[PATH_BYTES], Error *err)
{
    if (!brief.path[0]) {
        TRY(usual_folder(out, err));
        if (is_writable(out))
            return STATUS_OK;
        snprintf(refused, sizeof refused, "%s", out);
        TRY(temp_folder_create("cache", &brief, err));
    }
    snprintf(out, PATH_BYTES, "%s", brief.path);
    return STATUS_OK;
}

void cache_folder_warn(const Log *log)
{
    if (brief.path[0] && !is_told)
        log_warning(log,
                    "%s: cannot be written: compiled shaders and converted textures are not kept; "
                    "--cache names another folder",
                    refused);
    is_told = true;
}

void cache_folder_end(void)
{
    if (temp_folder_remove(&brief, NULL) != STATUS_OK)
        return; /* the next process that makes one removes it */
}
