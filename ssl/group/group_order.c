/* The order in which nodes are linked: sources before targets. Cycles are reported. */
#include "base/check.h"
#include "ssl/group/group.h"
#include <string.h>

/* A walk against the direction of the wires. It has a stack of its own, because a chain may have all nodes. */
typedef struct Walk {
    uint8_t *state; /* [node] 0: new, 1: on the stack, 2: done */
    uint32_t *next; /* [node] the input to follow next */
    uint32_t *stack;
    uint32_t depth;
} Walk;

static const char *cycle_text(Group *g, const Walk *w, uint32_t node)
{
    enum { SHOWN_MAX = 8 };
    uint32_t first = w->depth, shown = 0;
    while (w->stack[--first] != node)
        ;
    const char *text = g->nodes[node].desc->name;
    for (uint32_t i = first + 1; i < w->depth && shown < SHOWN_MAX; ++i, ++shown)
        text = arena_printf(g->arena, "%s <- %s", text, g->nodes[w->stack[i]].desc->name);
    return arena_printf(g->arena, "%s <- %s%s", text, shown == SHOWN_MAX ? "... <- " : "",
                        g->nodes[node].desc->name);
}

static const char *wire_place(const Group *g, const char *node, const char *input)
{
    for (uint32_t i = 0; i < g->desc->wire_count; ++i) {
        const SslGroupWire *wire = &g->desc->wires[i];
        if (wire->from_node && strcmp(wire->to_node, node) == 0 && strcmp(wire->to, input) == 0)
            return wire->place;
    }
    return NULL;
}

static void step(Group *g, Walk *w, bool is_needed)
{
    ASSERT(w->depth > 0 && w->depth <= g->desc->node_count &&
           w->state[w->stack[w->depth - 1]] == 1);
    uint32_t node = w->stack[w->depth - 1];
    const GroupNode *n = &g->nodes[node];
    if (!n->unit || w->next[node] == n->info->param_count) {
        w->state[node] = 2;
        --w->depth;
        if (is_needed)
            g->order[g->order_count++] = node;
        return;
    }
    uint32_t input = w->next[node]++;
    uint32_t source = n->inputs[input].node;
    if (source == GROUP_NONE || w->state[source] == 2)
        return;
    if (w->state[source] == 1) {
        complain(g, wire_place(g, n->desc->name, n->info->params[input].name), GROUP_CYCLE,
                 cycle_text(g, w, source));
        return;
    }
    w->state[source] = 1;
    w->stack[w->depth++] = source;
}

static void walk_from(Group *g, Walk *w, uint32_t node, bool is_needed)
{
    ASSERT(node == GROUP_NONE || node < g->desc->node_count);
    if (node == GROUP_NONE || w->state[node])
        return;
    w->state[node] = 1;
    w->stack[w->depth++] = node;
    while (w->depth)
        step(g, w, is_needed);
}

/* The walk begins at the outputs. Nodes that it does not reach are then only searched for cycles. */
void group_find_order(Group *g)
{
    uint32_t count = g->desc->node_count;
    Walk w = {.state = ARENA_ARRAY(g->arena, uint8_t, count),
              .next = ARENA_ARRAY(g->arena, uint32_t, count),
              .stack = ARENA_ARRAY(g->arena, uint32_t, count)};
    g->order = ARENA_ARRAY(g->arena, uint32_t, count);
    for (uint32_t i = 0; i < g->desc->output_count; ++i)
        walk_from(g, &w, g->outputs[i].node, true);
    for (uint32_t i = 0; i < count; ++i)
        walk_from(g, &w, i, false);
}
