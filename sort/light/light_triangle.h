/* Triangles that emit light, where they stand in the world: what sampling them and the density of doing so read. Private to
 * this folder. */
#ifndef SORT_LIGHT_LIGHT_TRIANGLE_H
#define SORT_LIGHT_LIGHT_TRIANGLE_H

#include "sort/scene/triangle.h"

/* A cache line. The numbers are outputs of triangle_stand (sort/scene/triangle.ssl), undefined where the triangle moves. */
typedef struct LightTriangle {
    alignas(64) float corner[3];
    float area2;
    float edge1[3];
    float error_m;
    float edge2[3];
    uint32_t triangle; /* of the instance's mesh */
    float front[3];
    uint32_t instance;
} LightTriangle;

/* Places `count` triangles of an instance that does not move. The thread flushes subnormal numbers. */
void light_triangles_place(const Scene *scene, uint32_t instance, const uint32_t *triangles,
                           uint32_t count, LightTriangle *out);
/* Sets the rows that triangle_sample and triangle_density read of the triangle, and the names of all lanes. from: by lane; other
 * lanes than those of `live` may be set, too, and from[] there is any triangle. */
void light_triangles_load(const LightTriangle *const from[SSL_BLOCK], uint16_t live,
                          TriangleRows *rows, uint32_t out_instance[SSL_BLOCK],
                          uint32_t out_triangle[SSL_BLOCK]);
/* Sets these rows for the lanes of `live` whose triangles move. time: by lane. */
void light_triangles_load_moving(const Scene *scene, const uint32_t instance[SSL_BLOCK],
                                 const uint32_t triangle[SSL_BLOCK], const float *time,
                                 uint16_t live, TriangleRows *rows);

#endif
