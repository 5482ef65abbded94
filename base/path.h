/* Path names as text, and the containment rule of packages: a name inside a package must not lead
 * out of it. Separator is '/'. Nothing here allocates. */
#ifndef SORT_BASE_PATH_H
#define SORT_BASE_PATH_H

#include "base/error.h"
#include "base/str.h"

enum { PATH_BYTES = 4096 }; /* the longest path with its NUL; longer ones are STATUS_LIMIT */

bool path_is_absolute(const char *path);
/* dir + '/' + name; `name` alone when it is absolute or dir is "" or NULL. */
Status path_join(const char *dir, const char *name, char out_path[PATH_BYTES],
                 Error *err) SORT_MUST_CHECK;
/* "a/b/c.exr": "a/b"; "c.exr": "."; "/c": "/". A view of `path` or of a literal. */
Str path_dirname(const char *path);
/* "a/b/c.exr": "c.exr". */
const char *path_basename(const char *path);
/* "a/b.c/d.tar.gz": ".gz"; "" when there is none; a leading dot of the name does not count. */
const char *path_extension(const char *path);
/* Name without folder and extension: "a/b/c.exr": "c". */
Str path_stem(const char *path);
/* extension: with its dot; compared without regard to ASCII case. */
bool path_has_extension(const char *path, const char *extension);
/* The path with its extension exchanged; extension may be "". */
Status path_replace_extension(const char *path, const char *extension, char out_path[PATH_BYTES],
                              Error *err) SORT_MUST_CHECK;

/* By text alone: refuses the empty name, absolute names, "..", backslashes, drive letters ("C:"),
 * control characters and bytes that are not UTF-8. Error: STATUS_FORMAT with the reason. */
Status path_check_relative(const char *relative, Error *err) SORT_MUST_CHECK;
/* path_check_relative, then follows symbolic links: refuses a name that resolves to a place outside
 * `root` (STATUS_FORMAT). STATUS_NOT_FOUND when it does not exist. *out_path is the resolved
 * absolute path. Whoever can write into the folder meanwhile can still change it. */
Status path_resolve_inside(const char *root, const char *relative, char out_path[PATH_BYTES],
                           Error *err) SORT_MUST_CHECK;

#endif
