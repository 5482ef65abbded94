/* Pairs of emissive triangles in one plane that share an edge, as quads of meshes are: each is one light (sort/scene/triangle.ssl).
 * Private to this folder. */
#ifndef SORT_LIGHT_LIGHT_PAIR_H
#define SORT_LIGHT_LIGHT_PAIR_H

#include "sort/scene/triangle.h"

/* Two cache lines. The numbers are those that triangle_pair_sample reads. */
typedef struct LightPair {
    alignas(64) float corner[3];
    float area2;
    float edge1[3];
    float error_m;
    float edge2[3];
    float area2_b;
    float edge3[3];
    float error_b_m;
    float front[3];
    float turn;
    float front_b[3];
    float turn_b;
    uint32_t instance;
    uint32_t triangle[2]; /* of the instance's mesh */
} LightPair;

/* So many are placed at once. */
enum { LIGHT_PAIRS_MAX = SSL_BLOCK / 2 };

/* Returns whether two triangles of an instance that does not move share an edge and face the same side of nearly the same plane. */
bool light_pair_joins(const Scene *scene, uint32_t instance, const uint32_t triangles[2]);
/* Places up to LIGHT_PAIRS_MAX pairs of such triangles, which follow one another. The thread flushes subnormal numbers. */
void light_pairs_place(const Scene *scene, uint32_t instance, const uint32_t *triangles,
                       uint32_t count, LightPair *out);
/* Sets the rows that triangle_pair_sample and triangle_pair_density read of the pairs of the lanes of `live`; other lanes may be
 * set, too, and from[] there is any pair. */
void light_pairs_load(const LightPair *const from[SSL_BLOCK], uint16_t live, TriangleRows *rows);

#endif
