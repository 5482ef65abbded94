#include "sort/light/portals.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/light_shape.h"
#include "sort/light/portal_tree.h"
#include "sort/light/rectangle_light.h"

struct Portals {
    LightShape *shapes; /* [count] owned */
    PortalTree tree;
    uint32_t count;
};

Status portals_create(const ScenePortal *portals, uint32_t count, Portals **out_portals, Error *err)
{
    Portals *made = MEM_NEW(Portals);
    LightShape *shapes = MEM_ARRAY(LightShape, count);
    CHECK(count > 0);
    *out_portals = made;
    if (!made || !shapes) {
        mem_free(made);
        mem_free(shapes);
        *out_portals = NULL;
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u portals", count);
    }
    *made = (Portals){.shapes = shapes, .count = count};
    for (uint32_t i = 0; i < count; ++i) {
        const SceneLight same = {.kind = SCENE_LIGHT_RECTANGLE,
                                 .light_to_world = portals[i].portal_to_world,
                                 .size_x_m = portals[i].size_x_m,
                                 .size_y_m = portals[i].size_y_m};
        light_shape_init(&same, &shapes[i]);
    }
    Status status = portal_tree_init(&made->tree, shapes, count, err);
    if (status != STATUS_OK) {
        portals_destroy(made);
        *out_portals = NULL;
    }
    return status;
}

void portals_destroy(Portals *portals)
{
    if (!portals)
        return;
    portal_tree_free(&portals->tree);
    mem_free(portals->shapes);
    mem_free(portals);
}

static LightQuery query_at(const PortalPoints *at, uint32_t k)
{
    return light_query(wide_get3(at->position, k), wide_get3(at->normal, k), at->sides[k]);
}

/* --- groups --------------------------------------------------------------------------------------- */

/* The groups of one lane. */
typedef struct Cut {
    uint32_t node[PORTAL_GROUPS_MAX], count;
    double weight[PORTAL_GROUPS_MAX];
    double doubt[PORTAL_GROUPS_MAX]; /* how wrong that may be; 0: it is one portal */
} Cut;

static void add_group(const PortalTree *tree, const LightQuery *from, uint32_t index, Cut *cut)
{
    const PortalNode *node = &tree->nodes[index];
    double weight = portal_node_irradiance(node, from);
    if (!(weight > 0.0))
        return;
    cut->node[cut->count] = index;
    cut->weight[cut->count] = weight;
    cut->doubt[cut->count] = portal_node_is_leaf(node) ? 0.0 : portal_node_doubt(node, from);
    ++cut->count;
}

/* Returns the group of most doubt; the count: each is one portal. */
static uint32_t most_doubtful(const Cut *cut)
{
    uint32_t best = cut->count;
    for (uint32_t i = 0; i < cut->count; ++i)
        if (cut->doubt[i] > (best < cut->count ? cut->doubt[best] : 0.0))
            best = i;
    return best;
}

/* Puts the children of groups in their place, but those that bring nothing. */
static void find_groups(const PortalTree *tree, const LightQuery *from, Cut *out)
{
    out->count = 0;
    add_group(tree, from, 0, out);
    while (out->count < PORTAL_GROUPS_MAX) {
        uint32_t group = most_doubtful(out), last = out->count - 1;
        if (group == out->count)
            break;
        uint32_t parted = out->node[group];
        out->node[group] = out->node[last];
        out->weight[group] = out->weight[last];
        out->doubt[group] = out->doubt[last];
        out->count = last;
        add_group(tree, from, parted + 1, out);
        add_group(tree, from, tree->nodes[parted].second, out);
    }
}

/* Rectangles that wait for being weighed, and which groups of which lanes they are. */
typedef struct Gathered {
    RectangleRows rows;
    uint32_t lane[SSL_BLOCK], group[SSL_BLOCK], count;
} Gathered;

static void weigh(Gathered *g, PortalGroups *out)
{
    rectangle_irradiance_run(&g->rows, (uint16_t)((1u << g->count) - 1u));
    for (uint32_t n = 0; n < g->count; ++n)
        out->weight[g->group[n]][g->lane[n]] = g->rows.irradiance[n];
    g->count = 0;
}

/* Gathers a point. */
static void gather(const PortalPoints *at, uint32_t k, const LightShape *shape, Gathered *out)
{
    uint32_t n = out->count++;
    const LightQuery from = query_at(at, k);
    rectangle_set_shape(shape, n, &out->rows);
    rectangle_set_point(&from, n, &out->rows);
    out->lane[n] = k;
}

void portals_look(const Portals *portals, const PortalPoints *at, uint16_t lanes, PortalGroups *out)
{
    const PortalTree *tree = &portals->tree;
    Gathered points = {.count = 0};
    uint32_t most = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out->count[k] = 0, out->irradiance[k] = 0.0f;
    WIDE_EACH(k, lanes)
    {
        const LightQuery from = query_at(at, k);
        Cut cut;
        find_groups(tree, &from, &cut);
        out->count[k] = cut.count;
        most = cut.count > most ? cut.count : most;
        for (uint32_t i = 0; i < cut.count; ++i) {
            out->node[i][k] = cut.node[i];
            out->weight[i][k] = (float)cut.weight[i];
        }
    }
    for (uint32_t i = 0; i < most; ++i)
        WIDE_EACH(k, lanes)
        {
            const PortalNode *node = &tree->nodes[i < out->count[k] ? out->node[i][k] : 0];
            if (i >= out->count[k] || !portal_node_is_leaf(node))
                continue;
            points.group[points.count] = i;
            gather(at, k, &portals->shapes[node->portal], &points);
            if (points.count == SSL_BLOCK)
                weigh(&points, out);
        }
    weigh(&points, out);
    WIDE_EACH(k, lanes)
    for (uint32_t i = 0; i < out->count[k]; ++i)
        out->irradiance[k] += out->weight[i][k];
}

/* Returns the chance of the portal of a leaf at the point of a lane. */
static float chance_of(const Portals *portals, const PortalGroups *groups, const LightQuery *from,
                       uint32_t leaf, uint32_t k)
{
    for (uint32_t i = 0; i < groups->count[k]; ++i) {
        uint32_t node = groups->node[i][k];
        if (leaf >= node && leaf < portals->tree.nodes[node].end)
            return groups->weight[i][k] / groups->irradiance[k] *
                   (float)portal_tree_chance(&portals->tree, node, leaf, from);
    }
    return 0.0f;
}

/* --- drawing -------------------------------------------------------------------------------------- */

/* Chooses a portal for a lane; *u: becomes what the choice leaves of it. The last group that is possible takes what rounding leaves.
 * Returns PORTAL_NONE if the group that is chosen lights the point by none. */
static uint32_t choose(const Portals *portals, const PortalGroups *groups, const LightQuery *from,
                       uint32_t k, float *u)
{
    uint32_t chosen = PORTAL_NODE_NONE;
    float begin = 0.0f, left = 0.0f;
    if (portals->count == 1)
        return 0;
    for (uint32_t i = 0; i < groups->count[k] && !(*u < begin); ++i) {
        float chance = groups->weight[i][k] / groups->irradiance[k];
        if (!(chance > 0.0f))
            continue;
        chosen = groups->node[i][k];
        left = (*u - begin) / chance;
        begin += chance;
    }
    ASSERT(chosen != PORTAL_NODE_NONE);
    double rest = (double)clampf(left, 0.0f, 0x1.fffffep-1f);
    chosen = portal_tree_descend(&portals->tree, chosen, from, &rest);
    *u = minf((float)rest, 0x1.fffffep-1f);
    return chosen == PORTAL_NODE_NONE ? PORTAL_NONE : portals->tree.nodes[chosen].portal;
}

void portals_draw(const Portals *portals, const PortalPoints *at, const PortalGroups *groups,
                  const WideRow u[2], uint16_t lanes, PortalDraws *out_draws)
{
    Gathered points = {.count = 0};
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out_draws->portal[k] = PORTAL_NONE;
    WIDE_EACH(k, lanes)
    {
        const LightQuery from = query_at(at, k);
        float left = u[0][k];
        uint32_t portal = choose(portals, groups, &from, k, &left);
        wide_set3(out_draws->wi, k, f3(0.0f, 0.0f, 1.0f));
        out_draws->pdf[k] = 0.0f;
        if (portal == PORTAL_NONE)
            continue;
        points.rows.r[points.count] = left, points.rows.s[points.count] = u[1][k];
        gather(at, k, &portals->shapes[portal], &points);
        out_draws->portal[k] = portal;
    }
    if (points.count == 0)
        return;
    rectangle_sample_run(&points.rows, (uint16_t)((1u << points.count) - 1u));
    for (uint32_t n = 0; n < points.count; ++n) {
        uint32_t k = points.lane[n];
        if (!points.rows.is_seen[n]) {
            out_draws->portal[k] = PORTAL_NONE;
            continue;
        }
        wide_set3(out_draws->wi, k, wide_get3(points.rows.wi, n));
        out_draws->pdf[k] = points.rows.pdf[n];
    }
}

/* --- densities ------------------------------------------------------------------------------------ */

/* Returns the density with which a portal, once it is chosen, gives a direction; 0: it is not passed. */
static float density_of(const LightShape *shape, const LightQuery *from, float3 direction)
{
    float distance_m;
    float3 ng;
    return light_shape_intersect(shape, from->position, direction, 0.0f, INFINITY, &distance_m, &ng)
               ? light_shape_pdf(shape, from, direction, distance_m)
               : 0.0f;
}

/* Returns the sum over the portals that a ray passes. drawn: the one of which `pdf` is known; PORTAL_NONE: none. */
static float density_at(const Portals *portals, const PortalGroups *groups, const LightQuery *from,
                        float3 direction, uint32_t drawn, float pdf, uint32_t k)
{
    PortalPass pass;
    float sum = 0.0f;
    portal_pass_begin(&pass, &portals->tree, from->position, direction);
    for (uint32_t leaf; (leaf = portal_pass_next(&pass)) != PORTAL_NODE_NONE;) {
        uint32_t portal = portals->tree.nodes[leaf].portal;
        float own = portal == drawn ? pdf : density_of(&portals->shapes[portal], from, direction);
        if (own > 0.0f)
            sum += portals->count == 1 ? own : own * chance_of(portals, groups, from, leaf, k);
    }
    return sum;
}

void portals_density(const Portals *portals, const PortalPoints *at, const PortalGroups *groups,
                     const WideRow directions[3], const PortalDraws *drawn, uint16_t lanes,
                     WideRow out_pdf)
{
    WIDE_EACH(k, lanes)
    {
        const LightQuery from = query_at(at, k);
        out_pdf[k] = groups->irradiance[k] > 0.0f
                         ? density_at(portals, groups, &from, wide_get3(directions, k),
                                      drawn ? drawn->portal[k] : PORTAL_NONE,
                                      drawn ? drawn->pdf[k] : 0.0f, k)
                         : 0.0f;
    }
}
