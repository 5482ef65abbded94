/* Checks that a PLY file is long enough for the elements of its header. Assimp trusts the header: it allocates all
 * elements, and reads those beyond the end of the file as zeros. */
#ifndef SORT_ASSIMP_PLY_CHECK_H
#define SORT_ASSIMP_PLY_CHECK_H

#include "plugins/sort_plugin.h"
#include <stdio.h>

/* Reads the header from the file's beginning. Errors: SORT_ERROR_FORMAT if an element has more entries than the
 * file has bytes for. Headers with other defects are left to Assimp. */
SortResult ply_check(FILE *file, SortFailure *why);

#endif
