/* The lists that sort-render --list prints. */
#ifndef SORT_TOOLS_SORT_RENDER_RENDER_LIST_H
#define SORT_TOOLS_SORT_RENDER_RENDER_LIST_H

#include "base/cli.h"
#include <stdio.h>

typedef enum RenderList {
    RENDER_LIST_AOVS,
    RENDER_LIST_CLOSURES,
    RENDER_LIST_CPUS,
    RENDER_LIST_FORMATS,
    RENDER_LIST_GLOBALS,
    RENDER_LIST_INTEGRATORS,
    RENDER_LIST_UNITS,
    RENDER_LIST_COUNT
} RenderList;
/* By RenderList; NULL-terminated. */
extern const char *const render_list_names[];

/* Prints each entry in a line or two. `plugin_folders`: of --plugin-path; scene: a package whose own closures are listed too;
 * NULL: none. */
Status render_list_print(RenderList what, const CliTextList *plugin_folders, const char *scene,
                         FILE *out, Error *err) SORT_MUST_CHECK;

#endif
