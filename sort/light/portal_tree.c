#include "sort/light/portal_tree.h"

#include "base/alloc.h"
#include "base/check.h"

enum {
    /* From this depth on portals are halved, so that no path is longer than 64. */
    BALANCED_DEPTH = 32
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* --- building ------------------------------------------------------------------------------------- */

typedef struct Builder {
    PortalNode *nodes;
    const LightShape *portals;
    uint32_t *order; /* indices of portals, grouped by subtree as it grows */
    uint32_t node_count;
} Builder;

/* Sets a corner; k: [0, 4). */
static void corner_of(const LightShape *s, uint32_t k, double out[3])
{
    double x = k & 1 ? s->half_size[0] : -s->half_size[0];
    double y = k & 2 ? s->half_size[1] : -s->half_size[1];
    for (uint32_t c = 0; c < 3; ++c)
        out[c] = s->centre[c] + x * s->axis[0][c] + y * s->axis[1][c];
}

static double distance(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(dot(d, d));
}

/* Sets the mean axis; portals that face all ways have some one. */
static void set_axis(const Builder *b, uint32_t begin, uint32_t end, PortalNode *node)
{
    double sum[3] = {0};
    for (uint32_t i = begin; i < end; ++i)
        for (uint32_t c = 0; c < 3; ++c)
            sum[c] += b->portals[b->order[i]].axis[2][c];
    double length = sqrt(dot(sum, sum));
    for (uint32_t c = 0; c < 3; ++c)
        node->axis[c] = length > 1e-3 ? sum[c] / length : b->portals[b->order[begin]].axis[2][c];
    for (uint32_t i = begin; i < end; ++i)
        node->spread = fmax(node->spread, distance(node->axis, b->portals[b->order[i]].axis[2]));
}

/* Sets the sphere and the depth. */
static void set_extent(const Builder *b, uint32_t begin, uint32_t end, PortalNode *node)
{
    double lower[3], upper[3], corner[3], low = HUGE_VAL, high = -HUGE_VAL;
    for (uint32_t c = 0; c < 3; ++c)
        lower[c] = HUGE_VAL, upper[c] = -HUGE_VAL;
    for (uint32_t i = 4 * begin; i < 4 * end; ++i) {
        corner_of(&b->portals[b->order[i / 4]], i % 4, corner);
        for (uint32_t c = 0; c < 3; ++c)
            lower[c] = fmin(lower[c], corner[c]), upper[c] = fmax(upper[c], corner[c]);
        low = fmin(low, dot(corner, node->axis)), high = fmax(high, dot(corner, node->axis));
    }
    for (uint32_t c = 0; c < 3; ++c)
        node->centre[c] = 0.5 * (lower[c] + upper[c]);
    /* The middle of the box may lie beside a plane in which all are. */
    double aside = 0.5 * (low + high) - dot(node->centre, node->axis);
    for (uint32_t c = 0; c < 3; ++c)
        node->centre[c] += aside * node->axis[c];
    node->depth = 0.5 * (high - low);
    for (uint32_t i = 4 * begin; i < 4 * end; ++i) {
        corner_of(&b->portals[b->order[i / 4]], i % 4, corner);
        node->radius = fmax(node->radius, distance(node->centre, corner));
    }
}

/* Returns what portals are divided by: a coordinate of the axis, for keys 0 to 2, or of the place. */
static double key_of(const LightShape *s, uint32_t key)
{
    return key < 3 ? s->axis[2][key] : s->centre[key - 3];
}

/* Returns the number of portals of [begin, end), which it partitions, that go to the first child: axes are parted before places, as what
 * faces other ways is seen from elsewhere. */
static uint32_t divide(Builder *b, uint32_t begin, uint32_t end, uint32_t depth)
{
    uint32_t best = 0, first = begin;
    double middle = 0.0, longest = 0.0;
    for (uint32_t key = 0; key < 6; ++key) {
        double low = HUGE_VAL, high = -HUGE_VAL;
        for (uint32_t i = begin; i < end; ++i) {
            double at = key_of(&b->portals[b->order[i]], key);
            low = fmin(low, at), high = fmax(high, at);
        }
        if (key == 3 && longest > 0.2)
            break;
        longest = key == 3 ? 0.0 : longest;
        if (high - low > longest)
            best = key, longest = high - low, middle = 0.5 * (low + high);
    }
    for (uint32_t i = begin; i < end; ++i) {
        uint32_t portal = b->order[i];
        if (key_of(&b->portals[portal], best) <= middle) {
            b->order[i] = b->order[first];
            b->order[first++] = portal;
        }
    }
    bool is_parted = first > begin && first < end && depth < BALANCED_DEPTH;
    return is_parted ? first - begin : (end - begin) / 2;
}

/* Adds the subtree, whose root is the next node. */
static void build(Builder *b, uint32_t begin, uint32_t end, uint32_t depth)
{
    PortalNode *node = &b->nodes[b->node_count++];
    ASSERT(begin < end);
    *node = (PortalNode){.portal = b->order[begin]};
    set_axis(b, begin, end, node);
    set_extent(b, begin, end, node);
    for (uint32_t i = begin; i < end; ++i)
        node->area += light_shape_area(&b->portals[b->order[i]]);
    if (end - begin > 1) {
        uint32_t middle = begin + divide(b, begin, end, depth);
        build(b, begin, middle, depth + 1);
        node->second = b->node_count;
        build(b, middle, end, depth + 1);
    }
    node->end = b->node_count;
}

Status portal_tree_init(PortalTree *tree, const LightShape *portals, uint32_t count, Error *err)
{
    uint32_t *order = MEM_ARRAY(uint32_t, count);
    tree->nodes = MEM_ARRAY(PortalNode, 2 * (size_t)count - 1);
    if (!order || !tree->nodes) {
        mem_free(order);
        portal_tree_free(tree);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a tree of %u portals", count);
    }
    for (uint32_t i = 0; i < count; ++i)
        order[i] = i;
    build(&(Builder){tree->nodes, portals, order, 0}, 0, count, 0);
    mem_free(order);
    return STATUS_OK;
}

void portal_tree_free(PortalTree *tree)
{
    mem_free(tree->nodes);
    tree->nodes = NULL;
}

/* --- choosing ------------------------------------------------------------------------------------- */

/* Chances too low make rare samples that count much, and ones too high cost little, so estimates are generous: cosines count as this at
 * least, as even a grazing portal is chosen now and then, ... */
static const double COSINE_MIN = 0.02;
/* ... as this of nodes that may hold a portal beside the point, ... */
static const double COSINE_AMONG_MIN = 0.5;
static const double AMONG_RADII2 = 1.5; /* whose distance, squared, is below so many radii */
/* ... and distances as this at least. */
static const double NEAR_RADII2 = 0.125;

/* How a point sees a node. */
typedef struct Sight {
    double distance2;
    double height,
        facing; /* of the middle: over the point's plane, before the portals, and over the surface */
    double lift, reach; /* how much more these may be for other portals */
} Sight;

static double sight_facing(const LightQuery *at, double rise)
{
    double above = at->sides & SKY_ABOVE ? rise : -1e300;
    double below = at->sides & SKY_BELOW ? -rise : -1e300;
    return fmax(above, below);
}

static Sight see(const PortalNode *node, const LightQuery *at)
{
    const double normal[3] = {(double)at->normal.x, (double)at->normal.y, (double)at->normal.z};
    const double way[3] = {node->centre[0] - (double)at->position.x,
                           node->centre[1] - (double)at->position.y,
                           node->centre[2] - (double)at->position.z};
    double cosine = dot(normal, node->axis), distance2 = dot(way, way);
    /* Portals lie in a disk, of this depth, about the axis. */
    double across = sqrt(fmax(1.0 - cosine * cosine, 0.0));
    return (Sight){.distance2 = distance2,
                   .height = dot(way, node->axis),
                   .facing = sight_facing(at, dot(way, normal)),
                   .lift = node->depth + node->spread * (sqrt(distance2) + node->radius),
                   .reach = node->radius * across + node->depth * fabs(cosine)};
}

static bool is_among(const PortalNode *node, const Sight *s)
{
    return s->distance2 < AMONG_RADII2 * node->radius * node->radius;
}

static double clamp_cosine(double cosine, double least)
{
    return fmin(fmax(cosine, least), 1.0);
}

double portal_node_irradiance(const PortalNode *node, const LightQuery *at)
{
    const Sight s = see(node, at);
    bool is_everywhere = at->sides == SKY_ALL_AROUND;
    if (!(s.height + s.lift > 0.0) || !(is_everywhere || s.facing + s.reach > 0.0))
        return 0.0;
    double near2 = fmax(fmax(s.distance2, NEAR_RADII2 * node->radius * node->radius), 1e-100);
    double inverse = 1.0 / sqrt(near2), least = is_among(node, &s) ? COSINE_AMONG_MIN : COSINE_MIN;
    double leaving = clamp_cosine((s.height + 0.5 * s.lift) * inverse, least);
    double arriving =
        is_everywhere ? 1.0 : clamp_cosine((s.facing + 0.5 * s.reach) * inverse, least);
    double area = fmax(node->area, 1e-200); /* however thin they are */
    return area * leaving * arriving / near2;
}

double portal_node_doubt(const PortalNode *node, const LightQuery *at)
{
    const Sight s = see(node, at);
    double radius2 = node->radius * node->radius;
    if (is_among(node, &s)) /* the largest first */
        return 1e100 * radius2;
    double gap = sqrt(s.distance2) - node->radius;
    double leaving = fmin((s.height + s.lift) / gap, 1.0);
    double arriving = at->sides == SKY_ALL_AROUND ? 1.0 : fmin((s.facing + s.reach) / gap, 1.0);
    double most = node->area * leaving * arriving / (gap * gap);
    return most * radius2 / s.distance2;
}

/* Sets the estimates of both children. Returns their sum. */
static double weigh_children(const PortalTree *tree, uint32_t index, const LightQuery *at,
                             double out_weights[2])
{
    out_weights[0] = portal_node_irradiance(&tree->nodes[index + 1], at);
    out_weights[1] = portal_node_irradiance(&tree->nodes[tree->nodes[index].second], at);
    return out_weights[0] + out_weights[1];
}

uint32_t portal_tree_descend(const PortalTree *tree, uint32_t from, const LightQuery *at, double *u)
{
    while (!portal_node_is_leaf(&tree->nodes[from])) {
        double weights[2], sum = weigh_children(tree, from, at, weights);
        if (!(sum > 0.0))
            return PORTAL_NODE_NONE;
        double first = weights[0] / sum;
        bool is_first = *u < first;
        *u = is_first ? *u / first : (*u - first) / (1.0 - first);
        *u = *u < 0x1.fffffffffffffp-1 ? *u : 0x1.fffffffffffffp-1;
        from = is_first ? from + 1 : tree->nodes[from].second;
    }
    return from;
}

double portal_tree_chance(const PortalTree *tree, uint32_t from, uint32_t leaf,
                          const LightQuery *at)
{
    double chance = 1.0;
    ASSERT(leaf >= from && leaf < tree->nodes[from].end);
    while (from != leaf) {
        double weights[2], sum = weigh_children(tree, from, at, weights);
        bool is_second = leaf >= tree->nodes[from].second;
        if (!(weights[is_second] > 0.0))
            return 0.0;
        chance *= weights[is_second] / sum;
        from = is_second ? tree->nodes[from].second : from + 1;
    }
    return chance;
}

/* --- rays ----------------------------------------------------------------------------------------- */

void portal_pass_begin(PortalPass *pass, const PortalTree *tree, float3 origin, float3 direction)
{
    pass->tree = tree;
    pass->origin[0] = (double)origin.x, pass->origin[1] = (double)origin.y;
    pass->origin[2] = (double)origin.z;
    pass->direction[0] = (double)direction.x, pass->direction[1] = (double)direction.y;
    pass->direction[2] = (double)direction.z;
    pass->todo[0] = 0;
    pass->count = 1;
}

/* Returns whether the ray may meet the node's sphere, which is made a little larger against rounding. */
static bool meets(const PortalPass *pass, const PortalNode *node)
{
    const double *d = pass->direction;
    const double to[3] = {node->centre[0] - pass->origin[0], node->centre[1] - pass->origin[1],
                          node->centre[2] - pass->origin[2]};
    double distance2 = dot(to, to), most2 = 1.001 * node->radius * node->radius + 1e-12 * distance2;
    const double across[3] = {to[1] * d[2] - to[2] * d[1], to[2] * d[0] - to[0] * d[2],
                              to[0] * d[1] - to[1] * d[0]};
    return (dot(to, d) > 0.0 || distance2 <= most2) && dot(across, across) <= most2 * dot(d, d);
}

uint32_t portal_pass_next(PortalPass *pass)
{
    while (pass->count > 0) {
        uint32_t index = pass->todo[--pass->count];
        const PortalNode *node = &pass->tree->nodes[index];
        if (!meets(pass, node))
            continue;
        if (portal_node_is_leaf(node))
            return index;
        ASSERT(pass->count + 2 <= SORT_COUNT_OF(pass->todo));
        pass->todo[pass->count++] = node->second;
        pass->todo[pass->count++] = index + 1;
    }
    return PORTAL_NODE_NONE;
}
