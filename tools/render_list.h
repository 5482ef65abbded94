/* What sort-render offers, for its --list. */
#ifndef SORT_TOOLS_RENDER_LIST_H
#define SORT_TOOLS_RENDER_LIST_H

#include "base/error.h"
#include <stdio.h>

/* Prints "aovs", "closures", "globals" or "integrators", an entry a line or two. STATUS_INVALID: another word. */
Status print_list(const char *what, FILE *out, Error *err) SORT_MUST_CHECK;

#endif
