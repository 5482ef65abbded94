/* Reads a scene package. */
#ifndef SORT_PACKAGE_SCENE_LOAD_H
#define SORT_PACKAGE_SCENE_LOAD_H

#include "base/arena.h"
#include "base/file_claims.h"
#include "base/json.h"
#include "sort/scene/array_store.h"
#include "sort/scene/scene.h"

typedef struct SceneLoadOptions {
    size_t size_bytes;                /* sizeof(SceneLoadOptions) */
    uint32_t thread_count;            /* for reading arrays; 0: one a CPU */
    uint64_t array_bytes_max;         /* for all mesh arrays together; 0: the machine's memory */
    const char *const *texture_paths; /* folders for textures that the package does not hold */
    uint32_t texture_path_count;
    /* Where textures of a zip are extracted to (created when missing, left there); NULL: a private
     * folder under $TMPDIR that scene_destroy removes. Files of a UDIM set that lie there already
     * become part of it. */
    const char *extract_folder;
    SceneMissing missing; /* what becomes of textures that are not there */
    /* Borrowed; NULL: none. Gets all files that the scene is read from as inputs: STATUS_INVALID when one of them is
     * an output there, before the large ones are read. */
    FileClaims *claims;
    ArrayStore *arrays; /* borrowed, also by the scene: holds its arrays; NULL: none */
    /* Things worth saying that are no errors. Called from the loading thread; NULL: dropped. */
    void (*warn)(void *data, const char *text);
    void *warn_data;
} SceneLoadOptions;

/* Loads the package at `path`: a folder with scene.json, the scene.json itself, or a zip. The format
 * is docs/reference/scene-package.md, and everything in it is checked. options may be NULL. On success
 * *out_scene is owned by the caller (scene_destroy). Errors name file and field: STATUS_NOT_FOUND,
 * STATUS_IO, STATUS_FORMAT, STATUS_LIMIT, STATUS_UNSUPPORTED, STATUS_NO_MEMORY. Any thread. */
Status scene_load(const char *path, const SceneLoadOptions *options, Scene **out_scene,
                  Error *err) SORT_MUST_CHECK;
/* Gives options->claims the files that scene_load would, and reads no more than the description. STATUS_INVALID: one of them
 * is an output there; other errors are those that loading meets. */
Status scene_claim(const char *path, const SceneLoadOptions *options, Error *err) SORT_MUST_CHECK;

/* Parses an entry of the section `cameras` under the cursor, whose document messages name. What it points at lies in `arena`. Errors:
 * STATUS_FORMAT, STATUS_NO_MEMORY. */
Status scene_parse_camera(Arena *arena, JsonCursor *c, SceneCamera *out_camera,
                          Error *err) SORT_MUST_CHECK;

#endif
