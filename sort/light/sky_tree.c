#include "sort/light/sky_tree.h"

#include "base/check.h"
#include "base/simd.h"

/* The part of a node's light that counts whatever the cosine. The cosine is a hint: lobes may have other normals than the
 * surface, and the mean direction of a node is not all of its directions. With 0.05 the variance under an open sky is a
 * third higher than with 0.02. */
#define COSINE_FLOOR 0.02f

enum { HALF_QUADS = SKY_TREE_QUADS / 2 };

/* The quads of a half before those of a level. */
static uint32_t quads_before(uint32_t level)
{
    return ((1u << 2 * level) - 1) / 3;
}

/* --- building --------------------------------------------------------------------------------- */

static void set_node(SkyQuad *quad, uint32_t k, const SkyBlock *node, double all)
{
    double s = node->weight / all, length2 = 0.0;
    quad->s[k] = (float)s;
    for (int c = 0; c < 3; ++c) {
        quad->moment[c][k] = (float)(node->moment[c] / all);
        length2 += node->moment[c] * node->moment[c] / (all * all);
    }
    double spread = sqrt(fmax(0.0, s * s - length2));
    quad->spread[k] = (float)spread;
    quad->per_4_spread[k] = quad->spread[k] > 1e-30f ? 0.25f / quad->spread[k] : 0.0f;
}

static SkyBlock sum_of(const SkyBlock *blocks, uint32_t row, uint32_t column, uint32_t side)
{
    SkyBlock sum = {0};
    for (uint32_t j = row; j < row + side; ++j)
        for (uint32_t i = column; i < column + side; ++i) {
            const SkyBlock *b = &blocks[j * SKY_TREE_COLUMNS + i];
            sum.weight += b->weight;
            for (int c = 0; c < 3; ++c)
                sum.moment[c] += b->moment[c];
        }
    return sum;
}

void sky_tree_build(const SkyBlock *blocks, SkyTree *out_tree)
{
    double all = 0.0;
    for (uint32_t i = 0; i < SKY_TREE_BLOCKS; ++i)
        all += blocks[i].weight;
    ASSERT(all > 0.0);
    SkyQuad *quad = out_tree->quads;
    for (uint32_t half = 0; half < 2; ++half)
        for (uint32_t level = 0; level < SKY_TREE_LEVELS; ++level) {
            uint32_t side = SKY_TREE_ROWS >> (level + 1), count = 1u << level;
            for (uint32_t q = 0; q < count * count; ++q, ++quad)
                for (uint32_t k = 0; k < 4; ++k) {
                    uint32_t row = 2 * (q / count) + k / 2, column = 2 * (q % count) + k % 2;
                    SkyBlock node =
                        sum_of(blocks, row * side, half * SKY_TREE_ROWS + column * side, side);
                    set_node(quad, k, &node, all);
                }
        }
    ASSERT(quad == out_tree->quads + SKY_TREE_QUADS);
}

/* --- walking ---------------------------------------------------------------------------------- */

/* The integrals of light times max(cosine, 0) over the nodes of a quad, of which those without max are `c`, where cosines are
 * spread evenly to both sides of their mean. */
static inline f32x4 clamped(const SkyQuad *q, f32x4 c)
{
    f32x4 spread = f32x4_load(q->spread), above = f32x4_max(c + spread, f32x4_splat(0.0f));
    f32x4 crossing = f32x4_min(above, spread + spread);
    return crossing * crossing * f32x4_load(q->per_4_spread) + (above - crossing);
}

/* Weighs the nodes of a quad for a surface whose light comes from SKY_ABOVE, from both sides or from all around. */
static inline f32x4 weigh(const SkyQuad *q, const SkyFacing *facing)
{
    f32x4 s = f32x4_load(q->s);
    if (facing->sides == SKY_ALL_AROUND)
        return s;
    f32x4 c = f32x4_load(q->moment[0]) * f32x4_splat(facing->normal.x) +
              f32x4_load(q->moment[1]) * f32x4_splat(facing->normal.y) +
              f32x4_load(q->moment[2]) * f32x4_splat(facing->normal.z);
    f32x4 lit = clamped(q, c);
    if (facing->sides != SKY_ABOVE)
        lit = lit + clamped(q, -c);
    return f32x4_splat(COSINE_FLOOR) * s + f32x4_splat(1.0f - COSINE_FLOOR) * lit;
}

/* Turns a surface so that light from one side comes from SKY_ABOVE. */
static inline SkyFacing turned(const SkyFacing *facing)
{
    return facing->sides == SKY_BELOW ? (SkyFacing){f3_neg(facing->normal), SKY_ABOVE} : *facing;
}

/* The sums of the upper and of the lower row of a quad. */
typedef struct RowSums {
    float upper, lower;
} RowSums;

static inline RowSums row_sums(f32x4 w)
{
    f32x4 pairs = w + __builtin_shufflevector(w, w, 1, 0, 3, 2);
    return (RowSums){pairs[0], pairs[2]};
}

static inline float sum4(f32x4 w)
{
    RowSums rows = row_sums(w);
    return rows.upper + rows.lower;
}

/* Returns whether the second of two things is chosen, rescales u, and tells the weight of the one chosen. */
static inline bool choose(float first, float second, float *u, float *out_chosen)
{
    float target = *u * (first + second);
    bool is_second = target >= first && second > 0.0f;
    float left = is_second ? target - first : target, part = is_second ? second : first;
    *u = minf(left / part, 0x1.fffffep-1f);
    *out_chosen = part;
    return is_second;
}

/* The first quad of a level of a half. */
static inline const SkyQuad *level_of(const SkyTree *tree, uint32_t half, uint32_t level)
{
    return tree->quads + (size_t)half * HALF_QUADS + quads_before(level);
}

uint32_t sky_tree_sample(const SkyTree *tree, const SkyFacing *facing, float2 *u,
                         float *out_probability)
{
    float nodes[4], chosen;
    const SkyFacing turn = turned(facing);
    ASSERT(u->x >= 0.0f && u->x < 1.0f && u->y >= 0.0f && u->y < 1.0f);
    f32x4 w = weigh(level_of(tree, 0, 0), &turn), east = weigh(level_of(tree, 1, 0), &turn);
    float2 left = *u;
    float sums[2] = {sum4(w), sum4(east)}, p = 1.0f / (sums[0] + sums[1]);
    uint32_t half = choose(sums[0], sums[1], &left.x, &chosen), row = 0, column = 0;
    if (half)
        w = east;
    for (uint32_t level = 0;; ++level) {
        RowSums rows = row_sums(w);
        uint32_t lower = choose(rows.upper, rows.lower, &left.y, &chosen);
        f32x4_store(w, nodes);
        uint32_t right = choose(nodes[2 * (size_t)lower], nodes[2 * lower + 1], &left.x, &chosen);
        p *= chosen;
        row = 2 * row + lower, column = 2 * column + right;
        if (level + 1 == SKY_TREE_LEVELS)
            break;
        w = weigh(level_of(tree, half, level + 1) + (row << (level + 1)) + column, &turn);
        p /= sum4(w);
    }
    *u = left;
    *out_probability = p;
    return row * SKY_TREE_COLUMNS + half * SKY_TREE_ROWS + column;
}

float sky_tree_probability(const SkyTree *tree, const SkyFacing *facing, uint32_t block)
{
    float nodes[4];
    const SkyFacing turn = turned(facing);
    ASSERT(block < SKY_TREE_BLOCKS);
    uint32_t row = block / SKY_TREE_COLUMNS, column = block % SKY_TREE_ROWS;
    uint32_t half = block % SKY_TREE_COLUMNS / SKY_TREE_ROWS;
    f32x4 w = weigh(level_of(tree, 0, 0), &turn), east = weigh(level_of(tree, 1, 0), &turn);
    float p = 1.0f / (sum4(w) + sum4(east));
    if (half)
        w = east;
    for (uint32_t level = 0;; ++level) {
        uint32_t up = SKY_TREE_LEVELS - 1 - level;
        f32x4_store(w, nodes);
        p *= nodes[2 * (row >> up & 1) + (column >> up & 1)];
        if (level + 1 == SKY_TREE_LEVELS)
            return p;
        w = weigh(level_of(tree, half, level + 1) + (row >> up << (level + 1)) + (column >> up),
                  &turn);
        p /= sum4(w);
    }
}
