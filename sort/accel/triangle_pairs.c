#include "sort/accel/triangle_pairs.h"

#include "base/alloc.h"
#include "base/check.h"

/* Whether the edge from corner `turn` of a triangle to its next corner is one of the triangle `next`, which then goes it the
 * other way, from its corner *out_turn on. */
static bool shares_edge(const uint32_t *triangle, const uint32_t *next, uint32_t turn,
                        uint32_t *out_turn)
{
    uint32_t from = triangle[turn], to = triangle[(turn + 1) % 3];
    for (uint32_t k = 0; k < 3; ++k) {
        *out_turn = k;
        if (next[k] == to && next[(k + 1) % 3] == from)
            return true;
    }
    return false;
}

/* Returns whether triangle i and the next one are a pair: they share the edge opposite of the first one's corner *out_turn, and
 * of the next one's corner *out_next_turn. */
static bool is_pair(const SceneMesh *mesh, uint32_t i, uint32_t *out_turn, uint32_t *out_next_turn)
{
    const uint32_t *triangle = mesh->indices + (size_t)3 * i;
    uint32_t edge;
    if (i + 1 >= mesh->triangle_count)
        return false;
    for (uint32_t turn = 0; turn < 3; ++turn) {
        if (!shares_edge(triangle, triangle + 3, (turn + 1) % 3, &edge))
            continue;
        *out_turn = turn, *out_next_turn = (edge + 2) % 3;
        return true;
    }
    return false;
}

/* Adds triangle i as the first of a pair, and the next one if they are one. Returns how many were added. */
static uint32_t add_pair(const SceneMesh *mesh, uint32_t i, TrianglePairs *pairs)
{
    const uint32_t *triangle = mesh->indices + (size_t)3 * i, *next = triangle + 3;
    uint32_t *corners = pairs->corners[pairs->count], *code = &pairs->triangles[pairs->count];
    uint32_t turn, next_turn;
    ++pairs->count;
    if (!is_pair(mesh, i, &turn, &next_turn)) {
        corners[0] = triangle[0], corners[1] = triangle[1];
        corners[2] = corners[3] = triangle[2];
        *code = triangle_pair_code(i, 0, PAIR_ALONE);
        return 1;
    }
    corners[0] = triangle[turn];
    corners[1] = triangle[(turn + 1) % 3];
    corners[2] = next[next_turn];
    corners[3] = triangle[(turn + 2) % 3];
    *code = triangle_pair_code(i, turn, next_turn);
    return 2;
}

void triangle_pairs_estimate(const SceneMesh *mesh, PairCounts *counts)
{
    enum { RUNS = 4, RUN = 64 }; /* triangles that are looked at */
    uint32_t all = mesh->triangle_count, seen = 0, pairs = 0, turn, next_turn;
    counts->triangles += all;
    counts->are_too_many |= all > TRIANGLE_PAIRS_MAX;
    for (uint32_t run = 0; run < RUNS; ++run) {
        uint32_t i = (uint32_t)((uint64_t)all * run / RUNS);
        uint32_t end = i + RUN < all ? i + RUN : all;
        for (; i < end; ++pairs) {
            uint32_t step = is_pair(mesh, i, &turn, &next_turn) ? 2 : 1;
            i += step, seen += step;
        }
    }
    counts->pairs += seen > 0 ? (uint64_t)all * pairs / seen : 0;
}

bool triangle_pairs_pay(const PairCounts *counts)
{
    enum { FEW_TRIANGLES = 1024 };
    return counts->triangles >= FEW_TRIANGLES && !counts->are_too_many &&
           4 * counts->pairs <= 3 * counts->triangles;
}

/* Gives back the memory of pairs that were not found. */
static void shrink(TrianglePairs *pairs)
{
    void *corners = mem_realloc(pairs->corners, pairs->count, sizeof *pairs->corners);
    void *triangles = mem_realloc(pairs->triangles, pairs->count, sizeof *pairs->triangles);
    pairs->corners = corners ? corners : pairs->corners;
    pairs->triangles = triangles ? triangles : pairs->triangles;
}

bool triangle_pairs_find(const SceneMesh *mesh, TrianglePairs *out_pairs)
{
    *out_pairs = (TrianglePairs){0};
    ASSERT(mesh->triangle_count <= TRIANGLE_PAIRS_MAX);
    out_pairs->corners = mem_alloc(mesh->triangle_count, sizeof *out_pairs->corners);
    out_pairs->triangles = MEM_ARRAY(uint32_t, mesh->triangle_count);
    if (mesh->triangle_count > 0 && (!out_pairs->corners || !out_pairs->triangles)) {
        triangle_pairs_free(out_pairs);
        return false;
    }
    for (uint32_t i = 0; i < mesh->triangle_count;)
        i += add_pair(mesh, i, out_pairs);
    shrink(out_pairs);
    return true;
}

void triangle_pairs_free(TrianglePairs *pairs)
{
    mem_free(pairs->corners);
    mem_free(pairs->triangles);
    *pairs = (TrianglePairs){0};
}
