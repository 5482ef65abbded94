/* The summary of a scene that sort-render --check prints. */
#ifndef SORT_TOOLS_SORT_RENDER_RENDER_CHECK_H
#define SORT_TOOLS_SORT_RENDER_RENDER_CHECK_H

#include "sort/scene/scene.h"
#include <stdio.h>

void print_scene(const Scene *scene, FILE *out);

#endif
