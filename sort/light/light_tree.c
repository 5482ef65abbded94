#include "sort/light/light_tree.h"

#include "base/alloc.h"
#include "base/check.h"
#include "ssl/rt/rt.h"

enum {
    BUCKETS = 12,
    BALANCED_DEPTH = 32, /* from here on the leaves are halved, so that no path is longer than 64 */
    LEAF_BIT = 1u << 31
};

/* Bounds as choosing reads them. The first child follows its parent. */
typedef struct Node {
    float3 centre; /* of a sphere around the box */
    float radius2;
    float3 axis;
    float cos_o, sin_o, cos_e;
    float power;
    bool is_two_sided;
    uint32_t next; /* the second child; or LEAF_BIT | leaf */
} Node;

struct LightTree {
    Node *nodes;      /* [2 leaf_count - 1] */
    uint64_t *trails; /* [leaf_count]: bit d: the second child at depth d */
    uint32_t leaf_count;
};

static float3 f3_lower(float3 a, float3 b)
{
    return f3(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z));
}

static float3 f3_upper(float3 a, float3 b)
{
    return f3(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z));
}

/* --- bounds --------------------------------------------------------------------------------------- */

static float3 centre_of(const LightBounds *b)
{
    return f3_scale(f3_add(b->lower, b->upper), 0.5f);
}

static float safe_sin(float cosine)
{
    return sqrtf(maxf(1.0f - cosine * cosine, 0.0f));
}

/* The smallest cone around two cones. */
static void unite_cones(const LightBounds *a, const LightBounds *b, float3 *out_axis,
                        float *out_cos_o)
{
    const float pi = 3.14159265f;
    float theta_a = rt_acos(clampf(a->cos_o, -1.0f, 1.0f));
    float theta_b = rt_acos(clampf(b->cos_o, -1.0f, 1.0f));
    float between = rt_acos(clampf(f3_dot(a->axis, b->axis), -1.0f, 1.0f));
    *out_axis = a->axis;
    *out_cos_o = a->cos_o;
    if (fminf(between + theta_b, pi) <= theta_a)
        return;
    *out_axis = b->axis;
    *out_cos_o = b->cos_o;
    if (fminf(between + theta_a, pi) <= theta_b)
        return;
    float theta = 0.5f * (theta_a + between + theta_b);
    float3 across = f3_sub(b->axis, f3_scale(a->axis, f3_dot(a->axis, b->axis)));
    float length = f3_length(across);
    *out_axis = a->axis;
    *out_cos_o = -1.0f;
    if (theta >= pi || !(length > 1e-6f))
        return;
    float turn = theta - theta_a;
    *out_axis =
        f3_normalize(f3_madd(f3_scale(a->axis, rt_cos(turn)), rt_sin(turn) / length, across));
    *out_cos_o = rt_cos(theta);
}

static LightBounds unite(const LightBounds *a, const LightBounds *b)
{
    LightBounds u = {.lower = f3_lower(a->lower, b->lower),
                     .upper = f3_upper(a->upper, b->upper),
                     .cos_e = fminf(a->cos_e, b->cos_e),
                     .power = a->power + b->power,
                     .is_two_sided = a->is_two_sided || b->is_two_sided};
    unite_cones(a, b, &u.axis, &u.cos_o);
    return u;
}

/* cos(max(0, a - b)) for angles in [0, pi]. */
static float cos_difference(float sin_a, float cos_a, float sin_b, float cos_b)
{
    return cos_a > cos_b ? 1.0f : cos_a * cos_b + sin_a * sin_b;
}

static float sin_difference(float sin_a, float cos_a, float sin_b, float cos_b)
{
    return cos_a > cos_b ? 0.0f : sin_a * cos_b - cos_a * sin_b;
}

/* A point near a node's middle, or inside it, is as if it stood this part of the bounding sphere's radius away, squared. The
 * nearest lights bring most, so nodes that hold the point must be worth much more than others: with the whole radius, two
 * thousand small lamps make five times the variance. Below this part it hardly changes. */
static const float NEAR_RADII2 = 0.125f;

/* Returns a bound of the light of a node at a point, up to a common factor: power over squared distance, times the cosines
 * at both ends for the most favourable point and direction in the bounds. */
static float importance(const Node *n, float3 position, float3 normal)
{
    float3 to_point = f3_sub(position, n->centre);
    float distance2 = f3_length2(to_point);
    /* The half angle of the cone from the point around the bounding sphere. */
    bool is_inside = distance2 <= n->radius2;
    float value = n->power / maxf(maxf(distance2, NEAR_RADII2 * n->radius2), 1e-20f);
    if (is_inside)
        return minf(value, 1e30f);
    float sin2_b = n->radius2 / distance2;
    float cos_b = sqrtf(maxf(1.0f - sin2_b, 0.0f)), sin_b = sqrtf(sin2_b);
    float3 wi = f3_scale(to_point, 1.0f / sqrtf(distance2));
    if (n->cos_o > -1.0f) {
        float cos_w = f3_dot(n->axis, wi);
        if (n->is_two_sided)
            cos_w = fabsf(cos_w);
        float sin_w = safe_sin(cos_w);
        float cos_x = cos_difference(sin_w, cos_w, n->sin_o, n->cos_o);
        float sin_x = sin_difference(sin_w, cos_w, n->sin_o, n->cos_o);
        float cos_leaving = cos_difference(sin_x, cos_x, sin_b, cos_b);
        if (cos_leaving < n->cos_e - 1e-5f)
            return 0.0f;
        value *= maxf(cos_leaving, 1e-4f);
    }
    if (f3_length2(normal) > 0.0f) {
        float cos_i = fabsf(f3_dot(wi, normal));
        /* The shading normal is a hint: materials bend it. */
        value *= maxf(cos_difference(safe_sin(cos_i), cos_i, sin_b, cos_b), 0.01f);
    }
    return minf(value, 1e30f);
}

/* --- building --------------------------------------------------------------------------------------- */

typedef struct Builder {
    LightTree *tree;
    const LightBounds *leaves;
    uint32_t *order; /* leaf indices, grouped by subtree as it grows */
    uint32_t node_count;
} Builder;

/* A measure of the directions that the cone covers, and a rim of theta_e around it. */
static float cone_measure(const LightBounds *b)
{
    const float pi = 3.14159265f;
    float theta_o = rt_acos(clampf(b->cos_o, -1.0f, 1.0f));
    float theta_w = fminf(theta_o + rt_acos(clampf(b->cos_e, -1.0f, 1.0f)), pi);
    float sin_o = rt_sin(theta_o);
    return 2.0f * pi * (1.0f - b->cos_o) +
           0.5f * pi *
               (2.0f * theta_w * sin_o - rt_cos(theta_o - 2.0f * theta_w) - 2.0f * theta_o * sin_o +
                b->cos_o);
}

/* Power times spread: what the tree's splits keep small. */
static double cost(const LightBounds *b, float stretch)
{
    float3 d = f3_sub(b->upper, b->lower);
    float area = 2.0f * (d.x * d.y + d.y * d.z + d.z * d.x);
    /* Flat and thin boxes, as of lights in one plane or row, must differ by their length too. */
    float size = area + 1e-3f * f3_length2(d);
    return (double)b->power * (double)cone_measure(b) * (double)(stretch * size);
}

static float component(float3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* The centres of some leaves along an axis. */
typedef struct AxisRange {
    int axis;
    float low, high;
} AxisRange;

typedef struct Split {
    AxisRange range;
    uint32_t bucket; /* the first of the second child; 0: there is no split */
    double cost;
} Split;

static uint32_t bucket_of(const LightBounds *leaf, const AxisRange *r)
{
    float at = component(centre_of(leaf), r->axis);
    float k = (float)BUCKETS * (at - r->low) / (r->high - r->low);
    return k < (float)(BUCKETS - 1) ? (uint32_t)k : BUCKETS - 1;
}

/* The best split along one axis. */
static void try_axis(const Builder *b, const uint32_t *order, uint32_t count,
                     const AxisRange *range, float stretch, Split *best)
{
    LightBounds buckets[BUCKETS], after[BUCKETS];
    bool is_used[BUCKETS] = {false};
    for (uint32_t i = 0; i < count; ++i) {
        const LightBounds *leaf = &b->leaves[order[i]];
        uint32_t k = bucket_of(leaf, range);
        buckets[k] = is_used[k] ? unite(&buckets[k], leaf) : *leaf;
        is_used[k] = true;
    }
    /* The first and the last bucket are never empty. */
    after[BUCKETS - 1] = buckets[BUCKETS - 1];
    for (uint32_t k = BUCKETS - 1; k-- > 0;)
        after[k] = is_used[k] ? unite(&buckets[k], &after[k + 1]) : after[k + 1];
    LightBounds before = buckets[0];
    for (uint32_t k = 1; k < BUCKETS; ++k) {
        double c = cost(&before, stretch) + cost(&after[k], stretch);
        if (best->bucket == 0 || c < best->cost)
            *best = (Split){*range, k, c};
        if (is_used[k])
            before = unite(&before, &buckets[k]);
    }
}

/* Moves leaves of the first child to the front; returns how many. */
static uint32_t partition(const Builder *b, uint32_t *order, uint32_t count, const Split *split)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t leaf = order[i];
        if (bucket_of(&b->leaves[leaf], &split->range) < split->bucket) {
            order[i] = order[first];
            order[first++] = leaf;
        }
    }
    return first;
}

/* Returns the number of leaves of order[0, count), which it partitions, that go to the first child. */
static uint32_t divide(const Builder *b, uint32_t *order, uint32_t count, uint32_t depth)
{
    float3 lower = centre_of(&b->leaves[order[0]]), upper = lower;
    for (uint32_t i = 1; i < count; ++i) {
        float3 c = centre_of(&b->leaves[order[i]]);
        lower = f3_lower(lower, c);
        upper = f3_upper(upper, c);
    }
    float3 extent = f3_sub(upper, lower);
    float longest = f3_max_component(extent);
    Split best = {.bucket = 0};
    for (int axis = 0; axis < 3 && depth < BALANCED_DEPTH; ++axis) {
        const AxisRange range = {axis, component(lower, axis), component(upper, axis)};
        float width = range.high - range.low;
        if (width > 0.0f && isfinite(width))
            try_axis(b, order, count, &range, longest / width, &best);
    }
    if (best.bucket == 0)
        return count / 2;
    return partition(b, order, count, &best);
}

static void set_node(Node *n, const LightBounds *b, uint32_t next)
{
    *n = (Node){.centre = centre_of(b),
                .radius2 = 0.25f * f3_length2(f3_sub(b->upper, b->lower)),
                .axis = b->axis,
                .cos_o = b->cos_o,
                .sin_o = safe_sin(b->cos_o),
                .cos_e = b->cos_e,
                .power = b->power,
                .is_two_sided = b->is_two_sided,
                .next = next};
}

/* Returns the bounds of the subtree, whose root is the next node. */
static LightBounds build(Builder *b, uint32_t begin, uint32_t end, uint32_t depth, uint64_t trail)
{
    ASSERT(begin < end && b->node_count < 2 * b->tree->leaf_count - 1);
    Node *node = &b->tree->nodes[b->node_count++];
    if (end - begin == 1) {
        uint32_t leaf = b->order[begin];
        set_node(node, &b->leaves[leaf], LEAF_BIT | leaf);
        b->tree->trails[leaf] = trail;
        return b->leaves[leaf];
    }
    uint32_t middle = begin + divide(b, b->order + begin, end - begin, depth);
    ASSERT(middle > begin && middle < end);
    LightBounds first = build(b, begin, middle, depth + 1, trail);
    uint32_t next = b->node_count;
    LightBounds second = build(b, middle, end, depth + 1, trail | (uint64_t)1 << depth);
    LightBounds all = unite(&first, &second);
    set_node(node, &all, next);
    return all;
}

Status light_tree_create(const LightBounds *leaves, uint32_t count, LightTree **out_tree,
                         Error *err)
{
    CHECK(count > 0);
    *out_tree = NULL;
    if (count >= LEAF_BIT / 2)
        return error_set(err, STATUS_LIMIT, "too many lights: %u", count);
    LightTree *tree = MEM_NEW(LightTree);
    uint32_t *order = MEM_ARRAY(uint32_t, count);
    if (tree) {
        tree->leaf_count = count;
        tree->nodes = MEM_ARRAY(Node, 2 * (size_t)count - 1);
        tree->trails = MEM_ARRAY(uint64_t, count);
    }
    if (!tree || !order || !tree->nodes || !tree->trails) {
        light_tree_destroy(tree);
        mem_free(order);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a tree of %u lights", count);
    }
    for (uint32_t i = 0; i < count; ++i)
        order[i] = i;
    build(&(Builder){.tree = tree, .leaves = leaves, .order = order}, 0, count, 0, 0);
    mem_free(order);
    *out_tree = tree;
    return STATUS_OK;
}

void light_tree_destroy(LightTree *tree)
{
    if (!tree)
        return;
    mem_free(tree->nodes);
    mem_free(tree->trails);
    mem_free(tree);
}

size_t light_tree_size_bytes(const LightTree *tree)
{
    return (2 * (size_t)tree->leaf_count - 1) * sizeof(Node) + tree->leaf_count * sizeof(uint64_t);
}

/* --- choosing --------------------------------------------------------------------------------------- */

/* What a choice leaves of a number in [0, 1), which rounding does not make 1. */
static double left_of(double u)
{
    return u < 1.0 - 0x1p-53 ? u : 1.0 - 0x1p-53;
}

/* The probability of the first child; below 0: neither lights the point. */
static float first_probability(const LightTree *tree, uint32_t index, float3 position,
                               float3 normal)
{
    float first = importance(&tree->nodes[index + 1], position, normal);
    float second = importance(&tree->nodes[tree->nodes[index].next], position, normal);
    float sum = first + second;
    return sum > 0.0f ? first / sum : -1.0f;
}

bool light_tree_sample(const LightTree *tree, float3 position, float3 normal, double u,
                       uint32_t *out_leaf, float *out_probability, double *out_u_left)
{
    uint32_t index = 0;
    float probability = 1.0f;
    if (tree->leaf_count > 1 && importance(&tree->nodes[0], position, normal) <= 0.0f)
        return false;
    while (!(tree->nodes[index].next & LEAF_BIT)) {
        float p = first_probability(tree, index, position, normal);
        if (p < 0.0f)
            return false;
        if (u < (double)p) {
            u = left_of(u / (double)p);
            probability *= p;
            index += 1;
        } else {
            u = left_of((u - (double)p) / (1.0 - (double)p));
            probability *= 1.0f - p;
            index = tree->nodes[index].next;
        }
    }
    *out_leaf = tree->nodes[index].next & ~(uint32_t)LEAF_BIT;
    *out_probability = probability;
    *out_u_left = u;
    return probability > 0.0f;
}

float light_tree_probability(const LightTree *tree, float3 position, float3 normal, uint32_t leaf)
{
    CHECK(leaf < tree->leaf_count);
    uint64_t trail = tree->trails[leaf];
    uint32_t index = 0;
    float probability = 1.0f;
    if (tree->leaf_count > 1 && importance(&tree->nodes[0], position, normal) <= 0.0f)
        return 0.0f;
    for (; !(tree->nodes[index].next & LEAF_BIT); trail >>= 1) {
        float p = first_probability(tree, index, position, normal);
        if (p < 0.0f)
            return 0.0f;
        probability *= trail & 1 ? 1.0f - p : p;
        index = trail & 1 ? tree->nodes[index].next : index + 1;
    }
    return probability;
}

float light_tree_irradiance(const LightTree *tree, float3 position, float3 normal)
{
    /* The bound is that of a lamp that shines to one side by Lambert's law, whose power is pi area radiance. */
    return importance(&tree->nodes[0], position, normal) * (1.0f / 3.14159265f);
}
