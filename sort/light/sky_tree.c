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

/* --- walking ---------------------------------------------------------------------------------- *
 * A walk is a chain of divisions, each of which waits for the one before. So four points walk side by side, and all points of
 * a block take a step before one of them takes the next. */

enum { SIDE_BY_SIDE = 4, GROUPS = SSL_BLOCK / SIDE_BY_SIDE };
_Static_assert(GROUPS *SIDE_BY_SIDE == SSL_BLOCK, "groups fill a block");

/* A surface, turned so that light that comes from one side comes from SKY_ABOVE. */
typedef struct Surface {
    f32x4 normal[3]; /* each coordinate four times */
    uint32_t sides;
} Surface;

/* Four points and where they stand: in a half of the map, at a row and a column of a level. */
typedef struct Group {
    Surface surface[SIDE_BY_SIDE];
    f32x4 u[2], p;
    i32x4 half, row, column; /* half: 0 or 1 */
} Group;

static void begin(const SkyFacings *facings, uint32_t first, Group *out)
{
    for (uint32_t k = 0; k < SIDE_BY_SIDE; ++k) {
        float3 n = wide_get3(facings->normal, first + k);
        uint32_t sides = facings->sides[first + k];
        if (sides == SKY_BELOW)
            n = f3_neg(n), sides = SKY_ABOVE;
        out->surface[k] = (Surface){{f32x4_splat(n.x), f32x4_splat(n.y), f32x4_splat(n.z)}, sides};
    }
}

/* The integrals of light times max(cosine, 0) over the nodes of a quad, of which those without max are `c`, where cosines are
 * spread evenly to both sides of their mean. */
static inline f32x4 clamped(const SkyQuad *q, f32x4 c)
{
    f32x4 spread = f32x4_load(q->spread), above = f32x4_max(c + spread, f32x4_splat(0.0f));
    f32x4 crossing = f32x4_min(above, spread + spread);
    return crossing * crossing * f32x4_load(q->per_4_spread) + (above - crossing);
}

/* Weighs the nodes of a quad for a surface whose light comes from SKY_ABOVE, from both sides or from all around. */
static inline f32x4 weigh(const SkyQuad *q, const Surface *surface)
{
    f32x4 s = f32x4_load(q->s);
    if (surface->sides == SKY_ALL_AROUND)
        return s;
    f32x4 c = f32x4_load(q->moment[0]) * surface->normal[0] +
              f32x4_load(q->moment[1]) * surface->normal[1] +
              f32x4_load(q->moment[2]) * surface->normal[2];
    f32x4 lit = clamped(q, c);
    if (surface->sides != SKY_ABOVE)
        lit = lit + clamped(q, -c);
    return f32x4_splat(COSINE_FLOOR) * s + f32x4_splat(1.0f - COSINE_FLOOR) * lit;
}

/* The weights of the four nodes of a quad, of four points each. */
typedef struct Weights {
    f32x4 node[4];
} Weights;

static inline Weights weigh_root(const SkyTree *tree, uint32_t half, const Group *g)
{
    Weights w;
    for (uint32_t k = 0; k < SIDE_BY_SIDE; ++k)
        w.node[k] = weigh(tree->quads + (size_t)half * HALF_QUADS, &g->surface[k]);
    f32x4_transpose(w.node);
    return w;
}

/* Weighs the quads of a level at rows and columns of it. */
static inline Weights weigh_quads(const SkyTree *tree, uint32_t level, i32x4 row, i32x4 column,
                                  const Group *g)
{
    Weights w;
    i32x4 quad =
        (-g->half & HALF_QUADS) + (int32_t)quads_before(level) + (row << (int32_t)level) + column;
    for (uint32_t k = 0; k < SIDE_BY_SIDE; ++k)
        w.node[k] = weigh(&tree->quads[quad[k]], &g->surface[k]);
    f32x4_transpose(w.node);
    return w;
}

static inline f32x4 sum_of_nodes(const Weights *w)
{
    return (w->node[0] + w->node[1]) + (w->node[2] + w->node[3]);
}

/* Returns the weights of the half in which each point is. */
static inline Weights of_half(i32x4 half, const Weights *west, const Weights *east)
{
    Weights w;
    for (uint32_t n = 0; n < 4; ++n)
        w.node[n] = f32x4_select(-half, east->node[n], west->node[n]);
    return w;
}

/* Returns 1 where the second of two things is chosen, rescales u, and tells the weights of those chosen. */
static inline i32x4 choose(f32x4 first, f32x4 second, f32x4 *u, f32x4 *out_chosen)
{
    f32x4 target = *u * (first + second);
    i32x4 is_second = (target >= first) & (second > f32x4_splat(0.0f));
    f32x4 left = f32x4_select(is_second, target - first, target);
    *out_chosen = f32x4_select(is_second, second, first);
    *u = f32x4_min(left / *out_chosen, f32x4_splat(0x1.fffffep-1f));
    return -is_second;
}

/* Chooses one of four nodes for each point. */
static inline void step(const Weights *w, Group *g)
{
    f32x4 chosen;
    i32x4 lower = choose(w->node[0] + w->node[1], w->node[2] + w->node[3], &g->u[1], &chosen);
    i32x4 right = choose(f32x4_select(-lower, w->node[2], w->node[0]),
                         f32x4_select(-lower, w->node[3], w->node[1]), &g->u[0], &chosen);
    g->p *= chosen;
    g->row = 2 * g->row + lower;
    g->column = 2 * g->column + right;
}

/* Begins to draw: chooses halves and their nodes. */
static void draw_root(const SkyTree *tree, Group *g)
{
    f32x4 chosen;
    Weights west = weigh_root(tree, 0, g), east = weigh_root(tree, 1, g);
    f32x4 sums[2] = {sum_of_nodes(&west), sum_of_nodes(&east)};
    g->p = 1.0f / (sums[0] + sums[1]);
    g->half = choose(sums[0], sums[1], &g->u[0], &chosen);
    g->row = g->column = (i32x4){0};
    Weights w = of_half(g->half, &west, &east);
    step(&w, g);
}

static void draw_node(const SkyTree *tree, uint32_t level, Group *g)
{
    Weights w = weigh_quads(tree, level, g->row, g->column, g);
    g->p /= sum_of_nodes(&w);
    step(&w, g);
}

/* Runs the statement for each group n of `lanes`, whose first lane is `first`. */
#define EACH_GROUP(n, first, lanes)                                                                \
    for (uint32_t n = 0, first = 0; n < GROUPS; ++n, first += SIDE_BY_SIDE)                        \
        if ((lanes) >> first & ((1u << SIDE_BY_SIDE) - 1u))

void sky_tree_sample(const SkyTree *tree, const SkyFacings *facings, uint16_t lanes,
                     SkyDraws *draws)
{
    Group groups[GROUPS];
    WIDE_EACH(k, lanes)
    ASSERT(draws->u[0][k] >= 0.0f && draws->u[0][k] < 1.0f && draws->u[1][k] >= 0.0f &&
           draws->u[1][k] < 1.0f);
    EACH_GROUP(n, first, lanes)
    {
        begin(facings, first, &groups[n]);
        groups[n].u[0] = f32x4_load(&draws->u[0][first]);
        groups[n].u[1] = f32x4_load(&draws->u[1][first]);
        draw_root(tree, &groups[n]);
    }
    for (uint32_t level = 1; level < SKY_TREE_LEVELS; ++level)
        EACH_GROUP(n, first, lanes) draw_node(tree, level, &groups[n]);
    EACH_GROUP(n, first, lanes)
    {
        const Group *g = &groups[n];
        i32x4 block = g->row * SKY_TREE_COLUMNS + g->half * SKY_TREE_ROWS + g->column;
        memcpy(&draws->block[first], &block, sizeof block);
        f32x4_store(g->u[0], &draws->u[0][first]);
        f32x4_store(g->u[1], &draws->u[1][first]);
        f32x4_store(g->p, &draws->probability[first]);
    }
}

/* --- probabilities ------------------------------------------------------------------------------ */

/* Multiplies probabilities by the weights of the nodes at rows and columns of the next level. */
static inline void take(const Weights *w, i32x4 row, i32x4 column, Group *g)
{
    i32x4 lower = -(row & 1), right = -(column & 1);
    g->p *= f32x4_select(lower, f32x4_select(right, w->node[3], w->node[2]),
                         f32x4_select(right, w->node[1], w->node[0]));
}

static void take_root(const SkyTree *tree, Group *g)
{
    enum { UP = SKY_TREE_LEVELS - 1 };
    Weights west = weigh_root(tree, 0, g), east = weigh_root(tree, 1, g);
    g->p = 1.0f / (sum_of_nodes(&west) + sum_of_nodes(&east));
    Weights w = of_half(g->half, &west, &east);
    take(&w, g->row >> UP, g->column >> UP, g);
}

static void take_node(const SkyTree *tree, uint32_t level, Group *g)
{
    int32_t up = SKY_TREE_LEVELS - (int32_t)level;
    Weights w = weigh_quads(tree, level, g->row >> up, g->column >> up, g);
    g->p /= sum_of_nodes(&w);
    take(&w, g->row >> (up - 1), g->column >> (up - 1), g);
}

void sky_tree_probability(const SkyTree *tree, const SkyFacings *facings, uint16_t lanes,
                          SkyDraws *draws)
{
    EACH_GROUP(n, first, lanes)
    {
        Group g;
        begin(facings, first, &g);
        /* Lanes that mean nothing may have any block. */
        i32x4 block = i32x4_load(&draws->block[first]) & (SKY_TREE_BLOCKS - 1);
        g.row = block >> (SKY_TREE_LEVELS + 1);
        g.column = block & (SKY_TREE_ROWS - 1);
        g.half = (block >> SKY_TREE_LEVELS) & 1;
        take_root(tree, &g);
        for (uint32_t level = 1; level < SKY_TREE_LEVELS; ++level)
            take_node(tree, level, &g);
        f32x4_store(g.p, &draws->probability[first]);
    }
}
