/* Checks of the names and limits of a description, for which units need not be known. */
#include "ssl/group/group.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 255 };

static const char *number_text(Group *g, uint32_t number)
{
    return arena_printf(g->arena, "%u", number);
}

static bool is_name(const char *name)
{
    size_t bytes = strlen(name);
    if (bytes == 0 || bytes > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < bytes; ++i)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '.')
            return false;
    return true;
}

static void check_name(Group *g, const char *name, const char *what, const char *place)
{
    if (!is_name(name))
        complain(g, place, GROUP_NAME, name, what, number_text(g, NAME_MAX_BYTES));
}

static int compare_names(const void *a, const void *b)
{
    const GroupName *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

void group_sort_names(GroupName *names, uint32_t count)
{
    if (count)
        qsort(names, count, sizeof *names, compare_names);
}

/* Sorts the names, and reports duplicates. */
static void check_unique(Group *g, GroupName *names, uint32_t count, const char *what)
{
    group_sort_names(names, count);
    for (uint32_t i = 1; i < count; ++i)
        if (strcmp(names[i - 1].name, names[i].name) == 0)
            complain(g, names[i].place, GROUP_NAME_TWICE, what, names[i].name);
}

static bool check_count(Group *g, uint32_t count, uint32_t limit, const char *what)
{
    if (count <= limit)
        return true;
    complain(g, g->desc->place, GROUP_TOO_LARGE, number_text(g, limit), what);
    return false;
}

void group_check_names(Group *g)
{
    const SslGroupDesc *desc = g->desc;
    bool fits = check_count(g, desc->node_count, SSL_MAX_GROUP_NODES, "nodes");
    fits = check_count(g, desc->wire_count, SSL_MAX_GROUP_WIRES, "wires") && fits;
    fits = check_count(g, desc->param_count, SSL_MAX_GROUP_PORTS, "parameters") && fits;
    fits = check_count(g, desc->output_count, SSL_MAX_GROUP_PORTS, "outputs") && fits;
    if (!fits)
        return;
    GroupName *names = ARENA_ARRAY(g->arena, GroupName, desc->node_count);
    for (uint32_t i = 0; i < desc->node_count; ++i) {
        if (desc->node_count > 1 || *desc->nodes[i].name)
            check_name(g, desc->nodes[i].name, "a node", desc->nodes[i].place);
        names[i] = (GroupName){desc->nodes[i].name, desc->nodes[i].place, i};
    }
    check_unique(g, names, desc->node_count, "nodes");
    names = ARENA_ARRAY(g->arena, GroupName, desc->param_count);
    for (uint32_t i = 0; i < desc->param_count; ++i) {
        check_name(g, desc->params[i].name, "a parameter", desc->params[i].place);
        names[i] = (GroupName){desc->params[i].name, desc->params[i].place, i};
    }
    check_unique(g, names, desc->param_count, "parameters");
    names = ARENA_ARRAY(g->arena, GroupName, desc->output_count);
    for (uint32_t i = 0; i < desc->output_count; ++i) {
        check_name(g, desc->outputs[i].name, "an output", desc->outputs[i].place);
        names[i] = (GroupName){desc->outputs[i].name, desc->outputs[i].place, i};
    }
    check_unique(g, names, desc->output_count, "outputs");
    if (desc->output_count == 0)
        complain(g, desc->place, GROUP_NO_OUTPUT, NULL);
}
