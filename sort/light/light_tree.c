#include "sort/light/light_tree.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/light_tree_rows.h"
#include "ssl/rt/rt.h"
#include <string.h>

enum {
    BUCKETS = 12,
    BALANCED_DEPTH = 32, /* from here on the leaves are halved, so that no path is longer than 64 */
    NODES_TO_LEAF_MAX = 2 * 64,
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
    float *powers;    /* [leaf_count]: with which they were made */
    uint32_t leaf_count;
};

static bool is_leaf(const Node *node)
{
    return node->next & LEAF_BIT;
}

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
        tree->powers = MEM_ARRAY(float, count);
    }
    if (!tree || !order || !tree->nodes || !tree->trails || !tree->powers) {
        light_tree_destroy(tree);
        mem_free(order);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a tree of %u lights", count);
    }
    for (uint32_t i = 0; i < count; ++i) {
        order[i] = i;
        tree->powers[i] = leaves[i].power;
    }
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
    mem_free(tree->powers);
    mem_free(tree);
}

/* So many rays are taken from what is known of the lights around. */
static const double RAYS_AROUND = 16.0;

/* Sets the share of rays that arrive from below each node, by its rays and what is expected of its parent's. */
static void set_shares(const LightTree *tree, const LightSight *sight, LightTally *tallies,
                       double *shares)
{
    uint32_t node_count = 2 * tree->leaf_count - 1;
    for (uint32_t i = node_count; i-- > 0;) { /* children before their parent */
        const Node *node = &tree->nodes[i];
        if (is_leaf(node)) {
            tallies[i] = light_sight_tally(sight, node->next & ~(uint32_t)LEAF_BIT);
            continue;
        }
        const LightTally *first = &tallies[i + 1], *second = &tallies[node->next];
        tallies[i] = (LightTally){first->sent + second->sent, first->arrived + second->arrived};
    }
    shares[0] = light_tally_share_alone(tallies[0]);
    for (uint32_t i = 0; i < node_count; ++i) {
        if (is_leaf(&tree->nodes[i]))
            continue;
        uint32_t second = tree->nodes[i].next;
        shares[i + 1] = light_tally_share(tallies[i + 1], shares[i], RAYS_AROUND);
        shares[second] = light_tally_share(tallies[second], shares[i], RAYS_AROUND);
    }
}

/* shares: by node; NULL: all 1. */
static void scale_powers(LightTree *tree, const double *shares)
{
    for (uint32_t i = 2 * tree->leaf_count - 1; i-- > 0;) {
        Node *node = &tree->nodes[i];
        if (is_leaf(node))
            node->power = tree->powers[node->next & ~(uint32_t)LEAF_BIT] *
                          (shares ? light_share_factor(shares[i]) : 1.0f);
        else
            node->power = tree->nodes[i + 1].power + tree->nodes[node->next].power;
    }
}

Status light_tree_heed(LightTree *tree, const LightSight *sight, Error *err)
{
    size_t node_count = 2 * (size_t)tree->leaf_count - 1;
    LightTally *tallies = sight ? MEM_ARRAY(LightTally, node_count) : NULL;
    double *shares = sight ? MEM_ARRAY(double, node_count) : NULL;
    Status status = STATUS_OK;
    if (sight && (!tallies || !shares))
        status = error_set(err, STATUS_NO_MEMORY, "no memory for what is seen of %u lights",
                           tree->leaf_count);
    if (status == STATUS_OK) {
        if (sight)
            set_shares(tree, sight, tallies, shares);
        scale_powers(tree, shares);
    }
    mem_free(tallies);
    mem_free(shares);
    return status;
}

size_t light_tree_size_bytes(const LightTree *tree)
{
    size_t of_leaf = sizeof *tree->trails + sizeof *tree->powers;
    return (2 * (size_t)tree->leaf_count - 1) * sizeof(Node) + tree->leaf_count * of_leaf;
}

/* --- choosing --------------------------------------------------------------------------------------- */

static void gather(const Node *n, uint32_t lane, LightTreeRows *rows)
{
    wide_set3(rows->centre, lane, n->centre);
    rows->radius2[lane] = n->radius2;
    wide_set3(rows->axis, lane, n->axis);
    rows->cos_o[lane] = n->cos_o, rows->sin_o[lane] = n->sin_o, rows->cos_e[lane] = n->cos_e;
    rows->power[lane] = n->power;
    rows->is_two_sided[lane] = n->is_two_sided;
}

static void fill(WideRow row, float value)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = value;
}

static void fill3(WideRow rows[3], float3 v)
{
    fill(rows[0], v.x), fill(rows[1], v.y), fill(rows[2], v.z);
}

/* Sets all lanes to one node. */
static void spread(const Node *n, LightTreeRows *rows)
{
    fill3(rows->centre, n->centre);
    fill(rows->radius2, n->radius2);
    fill3(rows->axis, n->axis);
    fill(rows->cos_o, n->cos_o), fill(rows->sin_o, n->sin_o), fill(rows->cos_e, n->cos_e);
    fill(rows->power, n->power);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        rows->is_two_sided[k] = n->is_two_sided;
}

/* Returns whether the lanes of `live`, which is not empty, have one node. */
static bool is_one_node(const uint32_t nodes[SSL_BLOCK], uint16_t live)
{
    uint32_t first = nodes[__builtin_ctz(live)], other = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        other |= live >> k & 1 ? nodes[k] ^ first : 0;
    return other == 0;
}

static void set_gloss(const LightGloss *gloss, uint32_t lane, LightTreeRows *rows)
{
    for (uint32_t c = 0; c < 3; ++c)
        rows->mirror[c][lane] = (float)gloss->mirror[c] * (1.0f / LIGHT_GLOSS_MIRROR_UNIT);
    rows->alpha[lane] = (float)gloss->alpha * (1.0f / LIGHT_GLOSS_UNIT);
    rows->share[lane] = (float)gloss->share * (1.0f / LIGHT_GLOSS_UNIT);
}

/* gloss: [SSL_BLOCK]; NULL: none. */
static void set_points(const WideRow positions[3], const WideRow normals[3],
                       const LightGloss *gloss, LightTreeRows *rows)
{
    memcpy(rows->position, positions, sizeof rows->position);
    memcpy(rows->N, normals, sizeof rows->N);
    if (!gloss) {
        memset(rows->mirror, 0, sizeof rows->mirror);
        memset(rows->alpha, 0, sizeof rows->alpha);
        memset(rows->share, 0, sizeof rows->share);
        return;
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        set_gloss(&gloss[k], k, rows);
}

/* Sets the importance of one node for the point of each lane. */
static void weigh_one(const LightTree *tree, uint32_t node, uint16_t live, LightTreeRows *rows,
                      WideRow out_importance)
{
    ASSERT(live != 0);
    spread(&tree->nodes[node], rows);
    light_tree_node_run(rows, live);
    memcpy(out_importance, rows->importance, sizeof(WideRow));
}

/* Sets the importance of a node for the point of each lane. */
static void weigh(const LightTree *tree, const uint32_t nodes[SSL_BLOCK], uint16_t live,
                  LightTreeRows *rows, WideRow out_importance)
{
    ASSERT(live != 0);
    WIDE_EACH(k, live) gather(&tree->nodes[nodes[k]], k, rows);
    light_tree_node_run(rows, live);
    memcpy(out_importance, rows->importance, sizeof(WideRow));
}

/* Sets the importances of the children of each lane's node. */
static void weigh_children(const LightTree *tree, const uint32_t nodes[SSL_BLOCK], uint16_t live,
                           LightTreeRows *rows, WideRow out_first, WideRow out_second)
{
    uint32_t child[SSL_BLOCK];
    if (is_one_node(nodes, live)) { /* near the root */
        uint32_t node = nodes[__builtin_ctz(live)];
        weigh_one(tree, node + 1, live, rows, out_first);
        weigh_one(tree, tree->nodes[node].next, live, rows, out_second);
        return;
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        child[k] = nodes[k] + 1;
    weigh(tree, child, live, rows, out_first);
    WIDE_EACH(k, live) child[k] = tree->nodes[nodes[k]].next;
    weigh(tree, child, live, rows, out_second);
}

/* What a choice leaves of a number in [0, 1), which rounding does not make 1. */
static double left_of(double u)
{
    return u < 1.0 - 0x1p-53 ? u : 1.0 - 0x1p-53;
}

/* What is mirrored may be hidden: the other child keeps this chance where a gloss weighs them. */
#define CHANCE_MIN_OF_GLOSS 0x1p-5f

/* Returns the probability p of the first child by the importances of both, without what is too unlikely. */
static float heed_hidden(float p, float first, float second, float share)
{
    bool is_open = share > 0.0f && first > 0.0f && second > 0.0f;
    return is_open ? clampf(p, CHANCE_MIN_OF_GLOSS, 1.0f - CHANCE_MIN_OF_GLOSS) : p;
}

/* The probability of the first child by the importances of both; below 0: neither lights the point. share: of the gloss. */
static float first_probability(float first, float second, float share)
{
    float sum = first + second;
    return sum > 0.0f ? heed_hidden(first / sum, first, second, share) : -1.0f;
}

/* Takes a point one step down, if something below lights it. */
static bool descend(const LightTree *tree, float p, uint32_t lane, uint32_t *node,
                    LightPicks *picks)
{
    double *u = &picks->u[lane];
    if (p < 0.0f)
        return false;
    if (*u < (double)p) {
        *u = left_of(*u / (double)p);
        picks->probability[lane] *= p;
        *node += 1;
    } else {
        *u = left_of((*u - (double)p) / (1.0 - (double)p));
        picks->probability[lane] *= 1.0f - p;
        *node = tree->nodes[*node].next;
    }
    return true;
}

/* Takes all points one step down from the root, as descend does. Returns those that something lights. first, second: the
 * importances of its children. */
static uint16_t descend_from_root(const LightTree *tree, const WideRow first, const WideRow second,
                                  const WideRow share, uint32_t out_node[SSL_BLOCK],
                                  LightPicks *picks)
{
    alignas(64) WideRow sum, p;
    uint32_t far = tree->nodes[0].next;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        sum[k] = first[k] + second[k];
        p[k] = heed_hidden(first[k] / sum[k], first[k], second[k], share[k]);
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        bool is_first = picks->u[k] < (double)p[k];
        out_node[k] = is_first ? 1 : far;
        picks->probability[k] = is_first ? p[k] : 1.0f - p[k];
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        double u = picks->u[k], q = (double)p[k];
        bool is_first = u < q;
        double left = (is_first ? u : u - q) / (is_first ? q : 1.0 - q);
        picks->u[k] = left < 1.0 - 0x1p-53 ? left : 1.0 - 0x1p-53;
    }
    return wide_positive(sum);
}

/* Takes the points of `open` that have come to leaves out of it. Returns them. */
static uint16_t take_leaves(const LightTree *tree, const uint32_t node[SSL_BLOCK], uint16_t *open,
                            LightPicks *picks)
{
    uint16_t found = 0;
    WIDE_EACH(k, *open)
    {
        uint32_t next = tree->nodes[node[k]].next;
        picks->leaf[k] = next & ~(uint32_t)LEAF_BIT;
        found |= (uint16_t)((next >> 31) << k);
    }
    *open &= (uint16_t)~found;
    return found;
}

/* Takes the points of `open` down to leaves. Returns those that found one. */
static uint16_t descend_all(const LightTree *tree, uint16_t open, LightTreeRows *rows,
                            LightPicks *picks)
{
    alignas(64) WideRow first, second;
    uint32_t node[SSL_BLOCK];
    ASSERT(open != 0);
    weigh_one(tree, 1, open, rows, first);
    weigh_one(tree, tree->nodes[0].next, open, rows, second);
    open &= descend_from_root(tree, first, second, rows->share, node, picks);
    uint16_t found = take_leaves(tree, node, &open, picks);
    while (open) {
        weigh_children(tree, node, open, rows, first, second);
        WIDE_EACH(k, open)
        {
            float p = first_probability(first[k], second[k], rows->share[k]);
            if (!descend(tree, p, k, &node[k], picks) || !(picks->probability[k] > 0.0f))
                open = (uint16_t)(open & ~(1u << k));
        }
        found |= take_leaves(tree, node, &open, picks);
    }
    return found;
}

uint16_t light_tree_sample_points(const LightTree *tree, const WideRow positions[3],
                                  const WideRow normals[3], const LightGloss *gloss, uint16_t live,
                                  LightPicks *picks)
{
    LightTreeRows rows;
    if (tree->leaf_count == 1) {
        memset(picks->leaf, 0, sizeof picks->leaf);
        fill(picks->probability, 1.0f);
        return live;
    }
    if (live == 0)
        return 0;
    set_points(positions, normals, gloss, &rows);
    return descend_all(tree, live, &rows, picks);
}

bool light_tree_sample(const LightTree *tree, const LightQuery *at, double u, LightPick *out_pick)
{
    WideRow positions[3] = {{at->position.x}, {at->position.y}, {at->position.z}};
    WideRow normals[3] = {{at->normal.x}, {at->normal.y}, {at->normal.z}};
    const LightGloss gloss[SSL_BLOCK] = {at->gloss};
    LightPicks picks = {.u = {u}};
    ASSERT(u >= 0.0 && u < 1.0);
    bool is_found = light_tree_sample_points(tree, positions, normals, gloss, 1, &picks) != 0;
    *out_pick = (LightPick){picks.u[0], picks.leaf[0], picks.probability[0]};
    return is_found;
}

/* The nodes on the way to a leaf whose importances decide about it: both children of each inner one. */
static uint32_t nodes_to_leaf(const LightTree *tree, uint32_t leaf, uint32_t out_nodes[])
{
    uint64_t trail = tree->trails[leaf];
    uint32_t count = 0, index = 0;
    for (; !is_leaf(&tree->nodes[index]); trail >>= 1) {
        ASSERT(count + 2 <= NODES_TO_LEAF_MAX);
        out_nodes[count++] = index + 1;
        out_nodes[count++] = tree->nodes[index].next;
        index = trail & 1 ? tree->nodes[index].next : index + 1;
    }
    return count;
}

float light_tree_probability(const LightTree *tree, const LightQuery *at, uint32_t leaf)
{
    CHECK(leaf < tree->leaf_count);
    uint32_t nodes[NODES_TO_LEAF_MAX + SSL_BLOCK];
    alignas(64) float weights[NODES_TO_LEAF_MAX + SSL_BLOCK];
    LightTreeRows rows;
    if (tree->leaf_count == 1)
        return 1.0f;
    uint32_t count = nodes_to_leaf(tree, leaf, nodes);
    for (uint32_t k = 0; k < SSL_BLOCK && k < count; ++k) {
        wide_set3(rows.position, k, at->position), wide_set3(rows.N, k, at->normal);
        set_gloss(&at->gloss, k, &rows);
    }
    for (uint32_t done = 0, n; done < count; done += n) {
        n = count - done < SSL_BLOCK ? count - done : SSL_BLOCK;
        weigh(tree, nodes + done, (uint16_t)((1u << n) - 1u), &rows, weights + done);
    }
    float probability = 1.0f;
    uint64_t trail = tree->trails[leaf];
    for (uint32_t i = 0; i < count; i += 2, trail >>= 1) {
        float p = first_probability(weights[i], weights[i + 1], rows.share[0]);
        if (p < 0.0f)
            return 0.0f;
        probability *= trail & 1 ? 1.0f - p : p;
    }
    return probability;
}

/* The bound is that of a lamp that shines to one side by Lambert's law, whose power is pi area radiance. */
#define IRRADIANCE_OF_IMPORTANCE (1.0f / 3.14159265f)

void light_tree_irradiance_points(const LightTree *tree, const WideRow positions[3],
                                  const WideRow normals[3], uint16_t live, WideRow out_irradiance)
{
    LightTreeRows rows;
    set_points(positions, normals, NULL, &rows);
    weigh_one(tree, 0, live, &rows, out_irradiance);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out_irradiance[k] *= IRRADIANCE_OF_IMPORTANCE;
}

float light_tree_irradiance(const LightTree *tree, float3 position, float3 normal)
{
    WideRow positions[3] = {{position.x}, {position.y}, {position.z}};
    WideRow normals[3] = {{normal.x}, {normal.y}, {normal.z}}, irradiance;
    light_tree_irradiance_points(tree, positions, normals, 1, irradiance);
    return irradiance[0];
}
