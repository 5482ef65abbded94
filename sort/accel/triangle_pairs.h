/* The triangles of a mesh as quadrilaterals of Embree, which are two triangles that share an edge. Its hierarchies of
 * quadrilaterals are built in half the time of those of triangles, and are smaller.
 *
 * A pair is two triangles that follow each other in the mesh, as they do where a quadrilateral or a grid was divided, and that
 * have the same winding. A triangle without a partner is a quadrilateral of which two corners are one. Private to sort/accel. */
#ifndef SORT_ACCEL_TRIANGLE_PAIRS_H
#define SORT_ACCEL_TRIANGLE_PAIRS_H

#include "sort/scene/scene.h"

typedef struct TrianglePairs {
    uint32_t (*corners)[4]; /* owned; [count] vertices of quadrilaterals */
    uint32_t *triangles;    /* owned; [count] codes for triangle_of_pair */
    uint32_t count;
} TrianglePairs;

enum { TRIANGLE_PAIRS_MAX = 1 << 28 };

/* Finds the pairs of a mesh, all of its triangles, of which there are at most TRIANGLE_PAIRS_MAX. Free them by
 * triangle_pairs_free. False: no memory. Any thread. */
bool triangle_pairs_find(const SceneMesh *mesh, TrianglePairs *out_pairs) SORT_MUST_CHECK;
void triangle_pairs_free(TrianglePairs *pairs); /* one of zeros is fine */

/* What is known of triangles before their pairs are found. Zeros to begin with. */
typedef struct PairCounts {
    uint64_t triangles;
    uint64_t pairs; /* estimated */
    bool are_too_many;
} PairCounts;

/* Adds a mesh, of which some triangles are looked at. */
void triangle_pairs_estimate(const SceneMesh *mesh, PairCounts *counts);
/* Returns whether a hierarchy of the pairs is better than one of the triangles. Rays in scenes of a few large triangles take
 * longer among pairs (docs/decisions/0171-triangles-in-pairs.md). */
bool triangle_pairs_pay(const PairCounts *counts);

/* TrianglePairs.triangles: the index of the first triangle above two turns of two bits. Corner 0, 1 and 3 of the quadrilateral
 * are the corners of the first triangle from its corner `first turn` on, and 2, 3 and 1 those of the next triangle. */
enum { PAIR_TURN_BITS = 2, PAIR_TURN_MASK = 3, PAIR_ALONE = 3 /* as the second turn */ };

static inline uint32_t triangle_pair_code(uint32_t triangle, uint32_t turn, uint32_t next_turn)
{
    return (triangle << PAIR_TURN_BITS | turn) << PAIR_TURN_BITS | next_turn;
}

/* Returns the triangle that a ray met, of the pair of that code. u, v: where it met the quadrilateral, as Embree has it; they
 * become the barycentrics of the second and third corner of the triangle. Embree's second triangle is where u + v > 1; on the
 * diagonal, the first one is met. */
static inline uint32_t triangle_of_pair(uint32_t code, float *u, float *v)
{
    uint32_t triangle = code >> 2 * PAIR_TURN_BITS, turn = code >> PAIR_TURN_BITS & PAIR_TURN_MASK;
    uint32_t next_turn = code & PAIR_TURN_MASK;
    float b = *u, c = *v;
    if (next_turn != PAIR_ALONE && b + c > 1.0f) {
        b = 1.0f - b, c = 1.0f - c;
        turn = next_turn, ++triangle;
    }
    float a = 1.0f - b - c;
    a = a > 0.0f ? a : 0.0f;
    *u = turn == 0 ? b : turn == 1 ? a : c;
    *v = turn == 0 ? c : turn == 1 ? b : a;
    return triangle;
}

#endif
