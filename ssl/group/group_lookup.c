/* Lookup of nodes and ports by name, and the reports of names that do not exist. */
#include "ssl/group/group.h"
#include <string.h>

/* Returns the node's name, or its unit's name if that is empty, as it may be in a group of one node. */
const char *group_name_of(const GroupNode *node)
{
    return *node->desc->name ? node->desc->name : node->info->name;
}

void group_index_nodes(Group *g)
{
    g->nodes_by_name = ARENA_ARRAY(g->arena, GroupName, g->desc->node_count);
    for (uint32_t i = 0; i < g->desc->node_count; ++i)
        g->nodes_by_name[i] = (GroupName){g->desc->nodes[i].name, NULL, i};
    group_sort_names(g->nodes_by_name, g->desc->node_count);
}

uint32_t group_find_node(Group *g, const char *name, const char *place)
{
    uint32_t low = 0, high = g->desc->node_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(g->nodes_by_name[middle].name, name);
        if (order == 0)
            return g->nodes_by_name[middle].index;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const char **names = ARENA_ARRAY(g->arena, const char *, g->desc->node_count);
    for (uint32_t i = 0; i < g->desc->node_count; ++i)
        names[i] = g->nodes_by_name[i].name;
    complain(g, place, GROUP_UNKNOWN_NODE, name);
    report_suggestion(g->diags, name, names, g->desc->node_count);
    return GROUP_NONE;
}

uint32_t group_find_input(const SslUnitInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->param_count; ++i)
        if (strcmp(info->params[i].name, name) == 0)
            return i;
    return GROUP_NONE;
}

uint32_t group_find_output(const SslUnitInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->output_count; ++i)
        if (strcmp(info->outputs[i].name, name) == 0)
            return i;
    return GROUP_NONE;
}

uint32_t group_find_param(const Group *g, const char *name)
{
    for (uint32_t i = 0; i < g->desc->param_count; ++i)
        if (strcmp(g->desc->params[i].name, name) == 0)
            return i;
    return GROUP_NONE;
}

void group_unknown_input(Group *g, const GroupNode *node, const char *name, const char *place)
{
    const char **names = ARENA_ARRAY(g->arena, const char *, node->info->param_count);
    for (uint32_t i = 0; i < node->info->param_count; ++i)
        names[i] = node->info->params[i].name;
    complain(g, place, GROUP_UNKNOWN_INPUT, group_name_of(node), node->info->name, name);
    report_suggestion(g->diags, name, names, node->info->param_count);
}

void group_unknown_output(Group *g, const GroupNode *node, const char *name, const char *place)
{
    const char **names = ARENA_ARRAY(g->arena, const char *, node->info->output_count);
    for (uint32_t i = 0; i < node->info->output_count; ++i)
        names[i] = node->info->outputs[i].name;
    complain(g, place, GROUP_UNKNOWN_OUTPUT, group_name_of(node), node->info->name, name);
    report_suggestion(g->diags, name, names, node->info->output_count);
}

void group_unknown_param(Group *g, const char *name, const char *place)
{
    const char **names = ARENA_ARRAY(g->arena, const char *, g->desc->param_count);
    for (uint32_t i = 0; i < g->desc->param_count; ++i)
        names[i] = g->desc->params[i].name;
    complain(g, place, GROUP_UNKNOWN_PARAM, name);
    report_suggestion(g->diags, name, names, g->desc->param_count);
}
