/* The inside of an AccelStore, for accel_build.c. Private to sort/accel. */
#ifndef SORT_ACCEL_ACCEL_STORED_H
#define SORT_ACCEL_ACCEL_STORED_H

#include "base/hash.h"
#include "sort/accel/accel_device.h"
#include "sort/accel/accel_store.h"
#include "sort/accel/triangle_pairs.h"
#include "sort/scene/scene.h"

/* The hierarchy of a mesh, where it is defined or moved to world space. */
typedef struct StoredMesh StoredMesh;

AccelDevice *accel_store_device(AccelStore *store);
/* Returns what names the hierarchy of triangles of `mesh`, or of their pairs; with `instance`, moved as it is. */
Hash128 accel_store_key(const SceneMesh *mesh, const SceneInstance *instance, bool in_pairs);
/* Returns the hierarchy, once more in use; NULL: there is none. Any thread, as both below. */
StoredMesh *accel_store_find(AccelStore *store, Hash128 key);
/* Takes a scene that is built of the mesh, roughly or not, and the pairs that it is of, if any, and returns the hierarchy, in use;
 * if there is one of that key by now, it is that one. NULL: no memory; scene and pairs are released. */
StoredMesh *accel_store_add(AccelStore *store, Hash128 key, const SceneMesh *mesh,
                            TrianglePairs *pairs, RTCScene scene, bool is_rough);
RTCScene accel_stored_scene(const StoredMesh *stored);
/* Returns the triangles of a hierarchy that is rough; 0 of any other one, and of NULL. */
uint32_t accel_stored_rough_triangles(const StoredMesh *stored);
/* Puts a scene that is built well, of the same mesh, in the place of a rough one. Takes it. No other thread may use the hierarchy. */
void accel_store_refine(AccelStore *store, StoredMesh *m, RTCScene scene);
/* Returns TrianglePairs.triangles of the hierarchy; NULL: it is of triangles. */
const uint32_t *accel_stored_pairs(const StoredMesh *stored);
/* Ends one use. NULL is fine. */
void accel_store_release(AccelStore *store, StoredMesh *m);

#endif
