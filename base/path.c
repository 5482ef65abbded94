#define _XOPEN_SOURCE 700 /* realpath */
#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(PATH_BYTES >= PATH_MAX, "realpath writes up to PATH_MAX bytes");

bool path_is_absolute(const char *path)
{
    return path[0] == '/';
}

/* Writes the concatenation of three pieces. */
static Status build(Str a, Str b, Str c, char out_path[PATH_BYTES], Error *err)
{
    size_t total = a.size_bytes + b.size_bytes + c.size_bytes;
    if (total >= PATH_BYTES) {
        out_path[0] = '\0';
        return error_set(err, STATUS_LIMIT, "a path of %zu bytes (at most %d)", total,
                         PATH_BYTES - 1);
    }
    char text[PATH_BYTES]; /* the pieces may lie in out_path */
    memcpy(text, a.data, a.size_bytes);
    memcpy(text + a.size_bytes, b.data, b.size_bytes);
    memcpy(text + a.size_bytes + b.size_bytes, c.data, c.size_bytes);
    memcpy(out_path, text, total);
    out_path[total] = '\0';
    return STATUS_OK;
}

Status path_join(const char *dir, const char *name, char out_path[PATH_BYTES], Error *err)
{
    Str folder = str_from(dir);
    if (folder.size_bytes == 0 || path_is_absolute(name))
        return build(str_from(name), STR_LIT(""), STR_LIT(""), out_path, err);
    bool has_separator = folder.data[folder.size_bytes - 1] == '/';
    return build(folder, has_separator ? STR_LIT("") : STR_LIT("/"), str_from(name), out_path, err);
}

Str path_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return STR_LIT(".");
    if (slash == path)
        return STR_LIT("/");
    return (Str){path, (size_t)(slash - path)};
}

const char *path_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *path_extension(const char *path)
{
    const char *name = path_basename(path);
    const char *dot = strrchr(name, '.');
    return dot && dot != name ? dot : name + strlen(name);
}

Str path_stem(const char *path)
{
    const char *name = path_basename(path);
    return (Str){name, (size_t)(path_extension(path) - name)};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool path_has_extension(const char *path, const char *extension)
{
    const char *own = path_extension(path);
    while (*own && lower(*own) == lower(*extension)) {
        ++own;
        ++extension;
    }
    return *own == '\0' && *extension == '\0';
}

Status path_replace_extension(const char *path, const char *extension, char out_path[PATH_BYTES],
                              Error *err)
{
    Str kept = {path, (size_t)(path_extension(path) - path)};
    return build(kept, str_from(extension), STR_LIT(""), out_path, err);
}

Status path_check_relative(const char *relative, Error *err)
{
    const char *reason = NULL;
    if (relative[0] == '\0')
        reason = "it is empty";
    else if (path_is_absolute(relative))
        reason = "it is absolute";
    else if (strchr(relative, '\\'))
        reason = "it has a backslash";
    else if (relative[1] == ':')
        reason = "it names a drive";
    else if (!str_is_utf8(str_from(relative)))
        reason = "it is not UTF-8";
    for (const char *c = relative; !reason && *c; ++c)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            reason = "it has a control character";
    for (const char *part = relative; !reason && part;) {
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || part[2] == '\0'))
            reason = "it goes up with '..'";
        part = strchr(part, '/');
        if (part)
            ++part;
    }
    if (!reason && strlen(relative) >= PATH_BYTES)
        reason = "it is too long";
    if (reason)
        return error_set(err, STATUS_FORMAT, "the path '%.200s' is refused: %s", relative, reason);
    return STATUS_OK;
}

Status path_resolve_inside(const char *root, const char *relative, char out_path[PATH_BYTES],
                           Error *err)
{
    out_path[0] = '\0';
    TRY(path_check_relative(relative, err));
    char joined[PATH_BYTES], real_root[PATH_BYTES], real[PATH_BYTES];
    TRY(path_join(root, relative, joined, err));
    if (!realpath(root, real_root))
        return error_set_at(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO, root, "%s",
                            strerror(errno));
    if (!realpath(joined, real))
        return error_set_at(err, errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_IO,
                            joined, "%s", strerror(errno));
    size_t length = strlen(real_root);
    if (length > 1 && /* "/" contains every path */
        (strncmp(real, real_root, length) != 0 || (real[length] != '/' && real[length] != '\0')))
        return error_set_at(err, STATUS_FORMAT, joined,
                            "refused: a symbolic link leads outside the folder '%s'", root);
    return path_join(NULL, real, out_path, err);
}
