/* Whether a PLY file can hold what its header says. Assimp believes the header: it makes room for all elements, and
 * reads those beyond the end of the file as zeros. */
#ifndef SORT_ASSIMP_PLY_CHECK_H
#define SORT_ASSIMP_PLY_CHECK_H

#include "plugins/sort_plugin.h"
#include <stdio.h>

/* Reads the header from the file's beginning. SORT_ERROR_FORMAT: an element has more entries than there are bytes for. A header that
 * is broken otherwise is Assimp's to refuse. */
SortResult ply_check(FILE *file, SortFailure *why);

#endif
