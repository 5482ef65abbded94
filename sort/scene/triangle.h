/* Triangles as rows of points (sort/wide/wide.h), for the programs of triangle.ssl. */
#ifndef SORT_SCENE_TRIANGLE_H
#define SORT_SCENE_TRIANGLE_H

#include "sort/scene/scene.h"
#include "sort/scene/triangle_rows.h"

/* Sets the corners of a lane to those of a triangle of the mesh, at `time`. */
void triangle_gather(const SceneMesh *mesh, uint32_t triangle, float time, uint32_t lane,
                     TriangleRows *rows);
/* Sets where the instance of a lane's triangle stands, which does not move (or was stopped by scene_instance_at). */
void triangle_set_instance(const SceneInstance *instance, uint32_t lane, TriangleRows *rows);
/* Sets it for all lanes, in less time. */
void triangle_set_instances(const SceneInstance *instance, TriangleRows *rows);

#endif
