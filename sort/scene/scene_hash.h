/* A content hash of everything in a Scene that can decide a pixel: so that partial results of different
 * scenes are never added up. Names of files, credits and the sample count are not in it; images are
 * known by name only. */
#ifndef SORT_SCENE_SCENE_HASH_H
#define SORT_SCENE_SCENE_HASH_H

#include "base/hash.h"
#include "sort/scene/scene.h"

Hash128 scene_hash(const Scene *scene);

#endif
