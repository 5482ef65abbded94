/* Where renders publish what `texcache watch` shows, when no place is named: a private folder of the user,
 * $XDG_RUNTIME_DIR/sort or /tmp/sort-UID, a file a process. */
#ifndef SORT_TOOLS_KIT_WATCH_FOLDER_H
#define SORT_TOOLS_KIT_WATCH_FOLDER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/path.h"

/* Makes the folder. STATUS_INVALID: it belongs to somebody else, or others may write into it. */
Status watch_folder(char out_path[PATH_BYTES], Error *err) SORT_MUST_CHECK;
/* The file of this process, in the folder. Files that dead renders have left there are removed. */
Status watch_own_file(char out_path[PATH_BYTES], Error *err) SORT_MUST_CHECK;
/* Paths of the files of live renders, in `arena`. */
Status watch_list(Arena *arena, const char *const **out_paths, uint32_t *out_count,
                  Error *err) SORT_MUST_CHECK;

#endif
