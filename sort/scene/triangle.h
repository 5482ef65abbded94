/* Triangles as rows of points (sort/wide/wide.h), for the programs of triangle.ssl. */
#ifndef SORT_SCENE_TRIANGLE_H
#define SORT_SCENE_TRIANGLE_H

#include "sort/scene/scene.h"
#include "sort/scene/triangle_rows.h"

/* Sets the corners of a lane to those of a triangle of a mesh whose vertices move, at `time`. */
void triangle_gather_moving(const SceneMesh *mesh, uint32_t triangle, float time, uint32_t lane,
                            TriangleRows *rows);
/* Sets the corners of a lane to those of a triangle of the mesh, at `time`. */
static inline void triangle_gather(const SceneMesh *mesh, uint32_t triangle, float time,
                                   uint32_t lane, TriangleRows *rows)
{
    const uint32_t *corner = mesh->indices + (size_t)3 * triangle;
    if (SORT_UNLIKELY(mesh->later_count > 0)) {
        triangle_gather_moving(mesh, triangle, time, lane, rows);
        return;
    }
    const float *p0 = mesh->positions + 3 * (size_t)corner[0],
                *p1 = mesh->positions + 3 * (size_t)corner[1],
                *p2 = mesh->positions + 3 * (size_t)corner[2];
    for (uint32_t c = 0; c < 3; ++c)
        rows->p0[c][lane] = p0[c], rows->p1[c][lane] = p1[c], rows->p2[c][lane] = p2[c];
}
/* Sets where the instance of a lane's triangle stands, which does not move (or was stopped by scene_instance_at). */
void triangle_set_instance(const SceneInstance *instance, uint32_t lane, TriangleRows *rows);
/* Sets where the instances of lanes [0, count) stand when nothing moves; instance: by lane. */
void triangle_set_each_instance(const Scene *scene, const int32_t *instance, uint32_t count,
                                TriangleRows *rows);
/* Sets one for all lanes, in less time. */
void triangle_set_instances(const SceneInstance *instance, TriangleRows *rows);

#endif
