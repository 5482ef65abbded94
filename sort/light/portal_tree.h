/* A binary tree over portals (portals.h), which estimates what an even sky would bring through many of them at once: so one is chosen among
 * hundreds in a time that grows with their logarithm, and a ray finds those that it passes.
 *
 * An estimate is 0 only where no portal of the node is seen from its bright side, or all lie below the horizon. Immutable: any
 * thread. */
#ifndef SORT_LIGHT_PORTAL_TREE_H
#define SORT_LIGHT_PORTAL_TREE_H

#include "base/error.h"
#include "sort/light/light_shape.h"

/* A node has the portals that its two children have, or one. Nodes are in an order in which a subtree is one range: the first child
 * follows its parent. */
typedef struct PortalNode {
    double centre[3], radius; /* of a sphere around the portals, metres */
    double axis[3];           /* unit: about where light comes from, +z of the portals */
    double spread;            /* how far the ends of the portals' axes are from that of `axis` */
    double depth; /* how far they are from the plane across `axis` in the middle, metres */
    double area;  /* of all portals, square metres */
    uint32_t second,
        end;         /* the second child, 0: there are none; the first node behind the subtree */
    uint32_t portal; /* without children: which it is */
} PortalNode;

typedef struct PortalTree {
    PortalNode *nodes; /* [2 count - 1]; owned */
} PortalTree;

/* portals: [count] rectangles, of at least one; only read here. Error: memory. portal_tree_free is for the caller. */
Status portal_tree_init(PortalTree *tree, const LightShape *portals, uint32_t count,
                        Error *err) SORT_MUST_CHECK;
void portal_tree_free(PortalTree *tree);

static inline bool portal_node_is_leaf(const PortalNode *node)
{
    return node->second == 0;
}

/* Returns about what an even sky of radiance 1 brings to the point through all portals of a node. */
double portal_node_irradiance(const PortalNode *node, const LightQuery *at);

/* Returns how much of an estimate that is not 0 may be wrong, for comparing nodes: those around the point are the most doubtful, others
 * by the most that they may bring and how wide they lie. */
double portal_node_doubt(const PortalNode *node, const LightQuery *at);

/* Goes down from a node to one portal, to each child in proportion to its estimate. *u: a number in [0, 1); becomes what is left of it,
 * again uniform. Returns the node of the portal; PORTAL_NODE_NONE: nothing below lights the point. */
uint32_t portal_tree_descend(const PortalTree *tree, uint32_t from, const LightQuery *at,
                             double *u);
enum { PORTAL_NODE_NONE = 0xffffffffu };
/* Returns the chance with which portal_tree_descend goes from a node to that of a portal below it. */
double portal_tree_chance(const PortalTree *tree, uint32_t from, uint32_t leaf,
                          const LightQuery *at);

/* The nodes that a ray has still to look at. */
typedef struct PortalPass {
    const PortalTree *tree;
    double origin[3], direction[3];
    uint32_t todo[64], count;
} PortalPass;

void portal_pass_begin(PortalPass *pass, const PortalTree *tree, float3 origin, float3 direction);
/* Returns the node of a portal that the ray may pass, each once; PORTAL_NODE_NONE: there are no more. */
uint32_t portal_pass_next(PortalPass *pass);

#endif
