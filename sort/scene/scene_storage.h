/* The memory behind a Scene. Private to the loading and the destruction of scenes. */
#ifndef SORT_SCENE_SCENE_STORAGE_H
#define SORT_SCENE_SCENE_STORAGE_H

#include "base/arena.h"
#include "base/temp_folder.h"
#include "sort/scene/array_store.h"

struct SceneStorage {
    Arena *arena;         /* owned; holds the Scene, this struct, all names and sections */
    void **blocks;        /* owned, and each of them, or held in the store: the mesh arrays */
    ArrayStore *arrays;   /* borrowed; NULL: none */
    TempFolder extracted; /* textures of a zip; removed at the end */
    uint32_t block_count;
};

#endif
