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
static inline void weigh(const SkyQuad *q, const SkyFacing *facing, float out_w[4])
{
    f32x4 s = f32x4_load(q->s);
    if (facing->sides == SKY_ALL_AROUND) {
        f32x4_store(s, out_w);
        return;
    }
    f32x4 c = f32x4_load(q->moment[0]) * f32x4_splat(facing->normal.x) +
              f32x4_load(q->moment[1]) * f32x4_splat(facing->normal.y) +
              f32x4_load(q->moment[2]) * f32x4_splat(facing->normal.z);
    f32x4 lit = clamped(q, c);
    if (facing->sides != SKY_ABOVE)
        lit = lit + clamped(q, -c);
    f32x4_store(f32x4_splat(COSINE_FLOOR) * s + f32x4_splat(1.0f - COSINE_FLOOR) * lit, out_w);
}

/* Turns a surface so that light from one side comes from SKY_ABOVE. */
static inline SkyFacing turned(const SkyFacing *facing)
{
    return facing->sides == SKY_BELOW ? (SkyFacing){f3_neg(facing->normal), SKY_ABOVE} : *facing;
}

static inline float sum4(const float w[4])
{
    return (w[0] + w[1]) + (w[2] + w[3]);
}

/* Returns whether the second of two things is chosen, and rescales u. */
static inline bool choose(float first, float second, float *u)
{
    float target = *u * (first + second);
    bool is_second = target >= first && second > 0.0f;
    float left = is_second ? target - first : target, part = is_second ? second : first;
    *u = minf(left / part, 0x1.fffffep-1f);
    return is_second;
}

uint32_t sky_tree_sample(const SkyTree *tree, const SkyFacing *facing, float2 *u,
                         float *out_probability)
{
    float w[4], east[4], p;
    const SkyFacing turn = turned(facing);
    ASSERT(u->x >= 0.0f && u->x < 1.0f && u->y >= 0.0f && u->y < 1.0f);
    weigh(&tree->quads[0], &turn, w);
    weigh(&tree->quads[HALF_QUADS], &turn, east);
    p = 1.0f / (sum4(w) + sum4(east));
    uint32_t half = choose(sum4(w), sum4(east), &u->x), row = 0, column = 0;
    if (half)
        for (int k = 0; k < 4; ++k)
            w[k] = east[k];
    for (uint32_t level = 0;; ++level) {
        uint32_t lower = choose(w[0] + w[1], w[2] + w[3], &u->y);
        uint32_t right = choose(w[2 * (size_t)lower], w[2 * lower + 1], &u->x);
        p *= w[2 * (size_t)lower + right];
        row = 2 * row + lower, column = 2 * column + right;
        if (level + 1 == SKY_TREE_LEVELS)
            break;
        uint32_t quad = quads_before(level + 1) + (row << (level + 1)) + column;
        weigh(&tree->quads[(size_t)half * HALF_QUADS + quad], &turn, w);
        p /= sum4(w);
    }
    *out_probability = p;
    return row * SKY_TREE_COLUMNS + half * SKY_TREE_ROWS + column;
}

float sky_tree_probability(const SkyTree *tree, const SkyFacing *facing, uint32_t block)
{
    float w[4], other[4], p;
    const SkyFacing turn = turned(facing);
    ASSERT(block < SKY_TREE_BLOCKS);
    uint32_t row = block / SKY_TREE_COLUMNS, column = block % SKY_TREE_ROWS;
    uint32_t half = block % SKY_TREE_COLUMNS / SKY_TREE_ROWS;
    weigh(&tree->quads[0], &turn, w);
    weigh(&tree->quads[HALF_QUADS], &turn, other);
    p = 1.0f / (sum4(w) + sum4(other));
    for (uint32_t level = 0; level < SKY_TREE_LEVELS; ++level) {
        uint32_t up = SKY_TREE_LEVELS - level;
        uint32_t quad = quads_before(level) + (row >> up << level) + (column >> up);
        if (level > 0 || half == 1)
            weigh(&tree->quads[(size_t)half * HALF_QUADS + quad], &turn, w);
        if (level > 0)
            p /= sum4(w);
        p *= w[2 * (row >> (up - 1) & 1) + (column >> (up - 1) & 1)];
    }
    return p;
}
