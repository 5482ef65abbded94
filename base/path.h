/* Path names as text, and the containment rule of packages: a name inside a package must not lead
 * out of it. Separator is '/'. Nothing here allocates. */
#ifndef SORT_BASE_PATH_H
#define SORT_BASE_PATH_H

#include "base/error.h"
#include "base/str.h"

enum { PATH_BYTES = 4096 }; /* the longest path with its NUL; longer ones are STATUS_LIMIT */

bool path_is_absolute(const char *path);
/* Joins dir + '/' + name, or copies `name` if it is absolute or dir is "" or NULL. */
Status path_join(const char *dir, const char *name, char out_path[PATH_BYTES],
                 Error *err) SORT_MUST_CHECK;
/* Returns the folder: "a/b" for "a/b/c.exr", "." for "c.exr", "/" for "/c"; a view of `path` or of a literal. */
Str path_dirname(const char *path);
/* Returns the last component: "c.exr" for "a/b/c.exr". */
const char *path_basename(const char *path);
/* Returns the extension: ".gz" for "a/b.c/d.tar.gz"; "" if there is none. A leading dot of the name does not
 * count. */
const char *path_extension(const char *path);
/* Returns the name without folder and extension: "c" for "a/b/c.exr". */
Str path_stem(const char *path);
/* Compares the extension, given with its dot, ignoring ASCII case. */
bool path_has_extension(const char *path, const char *extension);
/* Replaces the extension of a path; `extension` may be "". */
Status path_replace_extension(const char *path, const char *extension, char out_path[PATH_BYTES],
                              Error *err) SORT_MUST_CHECK;

/* Checks a name by its text alone: refuses the empty name, absolute names, "..", backslashes, drive letters
 * ("C:"), control characters and bytes that are not UTF-8. Errors: STATUS_FORMAT with the reason. */
Status path_check_relative(const char *relative, Error *err) SORT_MUST_CHECK;
/* Calls path_check_relative and follows symbolic links; refuses a name that resolves to a place outside `root`
 * (STATUS_FORMAT). STATUS_NOT_FOUND if it does not exist. *out_path is the resolved absolute path. A process
 * that can write into the folder meanwhile can still change it. */
Status path_resolve_inside(const char *root, const char *relative, char out_path[PATH_BYTES],
                           Error *err) SORT_MUST_CHECK;

#endif
