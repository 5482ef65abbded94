/* How much memory a scene takes before its first ray, and how much the size of its files explains.
 *
 * A few bytes of a package can stand for much: one buffer of transforms that a hundred entries share, one list of triangles that a
 * thousand meshes name, one emissive mesh that is copied a million times. What is made of them is estimated, before it is made,
 * and held against the bytes of the package. Private to sort/scene, but for the limit, which the Scene carries. */
#ifndef SORT_PACKAGE_SCENE_SIZE_H
#define SORT_PACKAGE_SCENE_SIZE_H

#include "sort/package/scene_parse.h"

enum {
    /* The memory that any package may take, and */
    SCENE_MEMORY_BYTES = 1 << 30,
    /* the memory that it may take more for each of its bytes. Own arrays need 16 to 20 times their size, hierarchies with them. */
    SCENE_MEMORY_FACTOR = 200,
    /* Measured: an instance is a SceneInstance, a name, and Embree's object and its part of the tree; */
    SCENE_INSTANCE_BYTES = 768,
    /* a triangle or a segment of a curve, at each key of its motion, is part of a hierarchy. */
    SCENE_PRIMITIVE_BYTES = 128
};

/* Refuses a text whose tree of values takes more than the package explains: before it is parsed. */
Status scene_check_text(const Package *package, Str text, Error *err) SORT_MUST_CHECK;
/* After scene_parse and before anything is read or copied: sets Scene.memory_limit_bytes, and refuses what takes more. */
Status scene_check_size(SceneParser *p, uint64_t text_bytes, Error *err) SORT_MUST_CHECK;

#endif
