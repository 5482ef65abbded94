/* The closures of a scene: the built-in ones, and the bsdfs in the sources of its shaders. */
#ifndef SORT_RENDER_SCENE_CLOSURES_H
#define SORT_RENDER_SCENE_CLOSURES_H

#include "sort/bsdf/closure_list.h"
#include "sort/scene/scene.h"

/* Lists them; the scene must outlive the list. *out_list is the caller's (closure_list_destroy). Errors are those of
 * closure_list_create. */
Status scene_closures(const Scene *scene, ClosureList **out_list, Error *err) SORT_MUST_CHECK;

#endif
