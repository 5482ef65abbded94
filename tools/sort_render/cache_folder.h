/* Where compiled shaders and converted textures are kept.
 *
 *   $XDG_CACHE_HOME/sort, else $HOME/.cache/sort, else /tmp/sort-UID/cache; where that cannot be written, as in a home on a
 *   read-only disk, a temporary folder that goes with the process
 *
 * One thread. */
#ifndef SORT_TOOLS_SORT_RENDER_CACHE_FOLDER_H
#define SORT_TOOLS_SORT_RENDER_CACHE_FOLDER_H

#include "base/error.h"
#include "base/log.h"
#include "base/path.h"

/* Returns one folder for all of the process. Errors: those of temp_folder_create. */
Status cache_folder_find(char out[PATH_BYTES], Error *err) SORT_MUST_CHECK;
/* Warns of a temporary one, once. */
void cache_folder_warn(const Log *log);
/* Removes the temporary one, if there is one. */
void cache_folder_end(void);

#endif
