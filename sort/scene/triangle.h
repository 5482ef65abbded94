/* Triangles as rows of points (sort/wide/wide.h), for the programs of triangle.ssl. */
#ifndef SORT_SCENE_TRIANGLE_H
#define SORT_SCENE_TRIANGLE_H

#include "sort/scene/scene.h"
#include "sort/scene/triangle_rows.h"

/* Sets a lane to the corners of a triangle and the place of its instance. `instance` stands as it does at `time`
 * (scene_instance_at), and has this mesh, of triangles. */
void triangle_gather(const SceneInstance *instance, const SceneMesh *mesh, uint32_t triangle,
                     float time, uint32_t lane, TriangleRows *rows);

#endif
