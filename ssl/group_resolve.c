/* Names of the description to numbers, with every check that needs no IR. What is wrong is reported and
 * left out, so that one mistake gives one message. */
#include "ssl/group.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 255 };

void group_complain(Group *g, const char *place, SslDiag diag, const char *const *args,
                    size_t arg_count)
{
    Span span = {0};
    if (place && g->host->locate)
        span = g->host->locate(g->host->data, place);
    report_args(g->diags, diag, span, args, arg_count);
    if (place && !span.file)
        report(g->diags, NOTE_PLACE, span, place);
}

/* A group of one node may leave its name empty. */
static const char *name_of(const GroupNode *node)
{
    return *node->desc->name ? node->desc->name : node->info->name;
}

static const char *number_text(Group *g, uint32_t number)
{
    return arena_printf(g->arena, "%u", number);
}

/* --- names and limits ------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
    size_t bytes = strlen(name);
    if (bytes == 0 || bytes > NAME_MAX_BYTES)
        return false;
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f || name[i] == '.')
            return false;
    return true;
}

static void check_name(Group *g, const char *name, const char *what, const char *place)
{
    if (!is_name(name))
        complain(g, place, GROUP_NAME, name, what, number_text(g, NAME_MAX_BYTES));
}

typedef struct NamedPlace {
    const char *name, *place;
    uint32_t index;
} NamedPlace;

static int compare_names(const void *a, const void *b)
{
    const NamedPlace *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

/* Sorts them, and reports those that are there twice. */
static void check_unique(Group *g, NamedPlace *names, uint32_t count, const char *what)
{
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (uint32_t i = 1; i < count; i++)
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
    NamedPlace *names = ARENA_ARRAY(g->arena, NamedPlace, desc->node_count);
    for (uint32_t i = 0; i < desc->node_count; i++) {
        if (desc->node_count > 1 || *desc->nodes[i].name)
            check_name(g, desc->nodes[i].name, "a node", desc->nodes[i].place);
        names[i] = (NamedPlace){desc->nodes[i].name, desc->nodes[i].place, i};
    }
    check_unique(g, names, desc->node_count, "nodes");
    names = ARENA_ARRAY(g->arena, NamedPlace, desc->param_count);
    for (uint32_t i = 0; i < desc->param_count; i++) {
        check_name(g, desc->params[i].name, "a parameter", desc->params[i].place);
        names[i] = (NamedPlace){desc->params[i].name, desc->params[i].place, i};
    }
    check_unique(g, names, desc->param_count, "parameters");
    names = ARENA_ARRAY(g->arena, NamedPlace, desc->output_count);
    for (uint32_t i = 0; i < desc->output_count; i++) {
        check_name(g, desc->outputs[i].name, "an output", desc->outputs[i].place);
        names[i] = (NamedPlace){desc->outputs[i].name, desc->outputs[i].place, i};
    }
    check_unique(g, names, desc->output_count, "outputs");
    if (desc->output_count == 0)
        complain(g, desc->place, GROUP_NO_OUTPUT, NULL);
}

/* --- looking up ------------------------------------------------------------------------------- */

static void suggest(Group *g, const char *name, const char *const *candidates, uint32_t count)
{
    report_suggestion(g->diags, name, candidates, count);
}

/* Nodes by name, for bsearch. */
typedef struct NodeIndex {
    NamedPlace *names;
    uint32_t count;
} NodeIndex;

static NodeIndex index_nodes(Group *g)
{
    NodeIndex index = {ARENA_ARRAY(g->arena, NamedPlace, g->desc->node_count), g->desc->node_count};
    for (uint32_t i = 0; i < index.count; i++)
        index.names[i] = (NamedPlace){g->desc->nodes[i].name, NULL, i};
    if (index.count)
        qsort(index.names, index.count, sizeof *index.names, compare_names);
    return index;
}

static uint32_t find_node(Group *g, const NodeIndex *index, const char *name, const char *place)
{
    uint32_t low = 0, high = index->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = strcmp(index->names[middle].name, name);
        if (order == 0)
            return index->names[middle].index;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const char **names = ARENA_ARRAY(g->arena, const char *, index->count);
    for (uint32_t i = 0; i < index->count; i++)
        names[i] = index->names[i].name;
    complain(g, place, GROUP_UNKNOWN_NODE, name);
    suggest(g, name, names, index->count);
    return GROUP_NONE;
}

static uint32_t find_input(const SslUnitInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->param_count; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return i;
    return GROUP_NONE;
}

static uint32_t find_output(const SslUnitInfo *info, const char *name)
{
    for (uint32_t i = 0; i < info->output_count; i++)
        if (strcmp(info->outputs[i].name, name) == 0)
            return i;
    return GROUP_NONE;
}

static uint32_t find_param(const Group *g, const char *name)
{
    for (uint32_t i = 0; i < g->desc->param_count; i++)
        if (strcmp(g->desc->params[i].name, name) == 0)
            return i;
    return GROUP_NONE;
}

static void unknown_input(Group *g, const GroupNode *node, const char *name, const char *place)
{
    const char **names = ARENA_ARRAY(g->arena, const char *, node->info->param_count);
    for (uint32_t i = 0; i < node->info->param_count; i++)
        names[i] = node->info->params[i].name;
    complain(g, place, GROUP_UNKNOWN_INPUT, name_of(node), node->info->name, name);
    suggest(g, name, names, node->info->param_count);
}

static void unknown_output(Group *g, const GroupNode *node, const char *name, const char *place)
{
    const char **names = ARENA_ARRAY(g->arena, const char *, node->info->output_count);
    for (uint32_t i = 0; i < node->info->output_count; i++)
        names[i] = node->info->outputs[i].name;
    complain(g, place, GROUP_UNKNOWN_OUTPUT, name_of(node), node->info->name, name);
    suggest(g, name, names, node->info->output_count);
}

static void unknown_param(Group *g, const char *name, const char *place)
{
    const char **names = ARENA_ARRAY(g->arena, const char *, g->desc->param_count);
    for (uint32_t i = 0; i < g->desc->param_count; i++)
        names[i] = g->desc->params[i].name;
    complain(g, place, GROUP_UNKNOWN_PARAM, name);
    suggest(g, name, names, g->desc->param_count);
}

/* --- a node's own values ------------------------------------------------------------------------ */

/* What a value is, for people. */
static const char *value_text(const SslValue *value, Arena *arena)
{
    if (value->type == SSL_ARRAY || value->type == SSL_STRUCT)
        return arena_printf(arena, "a list of %u numbers", value->count);
    return group_type_text((GroupType){value->type, NULL}, arena);
}

static void resolve_values(Group *g, GroupNode *node)
{
    for (uint32_t i = 0; i < node->desc->value_count; i++) {
        const SslGroupValue *value = &node->desc->values[i];
        uint32_t at = find_input(node->info, value->param);
        if (at == GROUP_NONE) {
            unknown_input(g, node, value->param, value->place);
            continue;
        }
        const SslParamInfo *param = &node->info->params[at];
        if (node->inputs[at].value)
            complain(g, value->place, GROUP_VALUE_TWICE, name_of(node), value->param);
        else if (!ssl_value_fits(&value->value, param->type, param->shape))
            complain(g, value->place, GROUP_VALUE, name_of(node), value->param,
                     group_type_text(group_param_type(param), g->arena),
                     value_text(&value->value, g->arena));
        node->inputs[at].value = value;
    }
}

static void resolve_textures(Group *g, GroupNode *node)
{
    const SslUnitInfo *info = node->info;
    bool *is_set = ARENA_ARRAY(g->arena, bool, info->texture_count);
    for (uint32_t i = 0; i < info->texture_count; i++)
        node->textures[i] = info->texture_ids ? info->texture_ids[i] : SSL_TEXTURE_UNBOUND;
    for (uint32_t i = 0; i < node->desc->texture_count; i++) {
        const SslGroupTexture *texture = &node->desc->textures[i];
        uint32_t at = 0;
        while (at < info->texture_count && strcmp(info->textures[at], texture->texture) != 0)
            at++;
        if (at == info->texture_count) {
            complain(g, texture->place, GROUP_UNKNOWN_TEXTURE, name_of(node), info->name,
                     texture->texture);
            suggest(g, texture->texture, info->textures, info->texture_count);
            continue;
        }
        if (is_set[at])
            complain(g, texture->place, GROUP_VALUE_TWICE, name_of(node), texture->texture);
        is_set[at] = true;
        node->textures[at] = texture->id;
    }
}

/* --- wires ------------------------------------------------------------------------------------ */

static const char *port_text(Group *g, const char *node, const char *port)
{
    return node ? arena_printf(g->arena, "'%s' of node '%s'", port, node)
                : arena_printf(g->arena, "parameter '%s'", port);
}

static void check_wire_type(Group *g, const SslGroupWire *wire, GroupType from, GroupType to)
{
    if (group_conversion(from, to) == GROUP_CONVERT_NEVER)
        complain(g, wire->place, GROUP_WIRE_TYPE, port_text(g, wire->from_node, wire->from),
                 group_type_text(from, g->arena), port_text(g, wire->to_node, wire->to),
                 group_type_text(to, g->arena));
}

/* The node and input where the wire ends; GROUP_NONE after a report, or after one about the unit. */
static uint32_t resolve_target(Group *g, const NodeIndex *index, const SslGroupWire *wire,
                               uint32_t *out_node)
{
    uint32_t node = *out_node = find_node(g, index, wire->to_node, wire->place);
    if (node == GROUP_NONE || !g->nodes[node].unit)
        return GROUP_NONE;
    uint32_t at = find_input(g->nodes[node].info, wire->to);
    if (at != GROUP_NONE)
        return at;
    if (find_output(g->nodes[node].info, wire->to) != GROUP_NONE)
        complain(g, wire->place, GROUP_INTO_OUTPUT, wire->to_node, wire->to);
    else
        unknown_input(g, &g->nodes[node], wire->to, wire->place);
    return GROUP_NONE;
}

static void resolve_node_wire(Group *g, const NodeIndex *index, const SslGroupWire *wire,
                              uint32_t to_node, uint32_t to)
{
    uint32_t node = find_node(g, index, wire->from_node, wire->place);
    if (node == GROUP_NONE || !g->nodes[node].unit)
        return;
    uint32_t at = find_output(g->nodes[node].info, wire->from);
    if (at == GROUP_NONE) {
        if (find_input(g->nodes[node].info, wire->from) != GROUP_NONE)
            complain(g, wire->place, GROUP_FROM_INPUT, wire->from_node, wire->from);
        else
            unknown_output(g, &g->nodes[node], wire->from, wire->place);
        return;
    }
    if (to_node == GROUP_NONE || to == GROUP_NONE)
        return;
    GroupInput *input = &g->nodes[to_node].inputs[to];
    if (input->node != GROUP_NONE) {
        complain(g, wire->place, GROUP_INPUT_TWICE, wire->to_node, wire->to, "wires");
        return;
    }
    input->node = node;
    input->output = at;
    check_wire_type(g, wire, group_output_type(&g->nodes[node].info->outputs[at]),
                    group_param_type(&g->nodes[to_node].info->params[to]));
}

static void resolve_param_wire(Group *g, const SslGroupWire *wire, uint32_t to_node, uint32_t to)
{
    uint32_t at = find_param(g, wire->from);
    if (at == GROUP_NONE) {
        unknown_param(g, wire->from, wire->place);
        return;
    }
    if (to_node == GROUP_NONE || to == GROUP_NONE)
        return;
    GroupInput *input = &g->nodes[to_node].inputs[to];
    if (input->param != GROUP_NONE) {
        complain(g, wire->place, GROUP_INPUT_TWICE, wire->to_node, wire->to,
                 "parameters of the group");
        return;
    }
    input->param = at;
    GroupParam *param = &g->params[at];
    GroupType type = group_param_type(&g->nodes[to_node].info->params[to]);
    if (param->first_node == GROUP_NONE) {
        param->first_node = to_node;
        param->first_input = to;
        if (param->type.type == SSL_VOID)
            param->type = type;
    }
    check_wire_type(g, wire, param->type, type);
}

static void resolve_wires(Group *g, const NodeIndex *index)
{
    for (uint32_t i = 0; i < g->desc->wire_count && !report_is_full(g->diags); i++) {
        const SslGroupWire *wire = &g->desc->wires[i];
        uint32_t node, input = resolve_target(g, index, wire, &node);
        if (wire->from_node)
            resolve_node_wire(g, index, wire, node, input);
        else
            resolve_param_wire(g, wire, node, input);
    }
}

/* --- parameters and outputs ----------------------------------------------------------------------- */

static void resolve_outputs(Group *g, const NodeIndex *index)
{
    for (uint32_t i = 0; i < g->desc->output_count; i++) {
        const SslGroupOutput *desc = &g->desc->outputs[i];
        GroupOutput *output = &g->outputs[i];
        *output = (GroupOutput){.desc = desc, .node = GROUP_NONE, .output = GROUP_NONE};
        if (!desc->node) {
            output->output = find_param(g, desc->output);
            if (output->output == GROUP_NONE)
                unknown_param(g, desc->output, desc->place);
            else
                output->type = g->params[output->output].type;
            continue;
        }
        uint32_t node = find_node(g, index, desc->node, desc->place);
        if (node == GROUP_NONE || !g->nodes[node].unit)
            continue;
        output->node = node;
        output->output = find_output(g->nodes[node].info, desc->output);
        if (output->output == GROUP_NONE)
            unknown_output(g, &g->nodes[node], desc->output, desc->place);
        else
            output->type = group_output_type(&g->nodes[node].info->outputs[output->output]);
    }
}

static void check_params(Group *g)
{
    bool *is_output = ARENA_ARRAY(g->arena, bool, g->desc->param_count);
    for (uint32_t i = 0; i < g->desc->output_count; i++)
        if (!g->outputs[i].desc->node && g->outputs[i].output != GROUP_NONE)
            is_output[g->outputs[i].output] = true;
    for (uint32_t i = 0; i < g->desc->param_count; i++) {
        const GroupParam *param = &g->params[i];
        const SslGroupParam *desc = param->desc;
        if (param->type.type == SSL_VOID)
            complain(g, desc->place, GROUP_PARAM_TYPE, desc->name);
        else if (desc->has_default &&
                 !ssl_value_fits(&desc->default_value, param->type.type, param->type.shape))
            complain(g, desc->place, GROUP_PARAM_VALUE, desc->name,
                     group_type_text(param->type, g->arena),
                     value_text(&desc->default_value, g->arena));
        else if (param->first_node == GROUP_NONE && !is_output[i])
            complain(g, desc->place, GROUP_UNUSED_PARAM, desc->name);
    }
}

/* --- order ------------------------------------------------------------------------------------ */

/* A walk against the wires, by hand: a chain may be as long as there are nodes. */
typedef struct Walk {
    uint8_t *state; /* [node] 0: new, 1: on the way, 2: done */
    uint32_t *next; /* [node] input that is looked at next */
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
    for (uint32_t i = first + 1; i < w->depth && shown < SHOWN_MAX; i++, shown++)
        text = arena_printf(g->arena, "%s <- %s", text, g->nodes[w->stack[i]].desc->name);
    return arena_printf(g->arena, "%s <- %s%s", text, shown == SHOWN_MAX ? "... <- " : "",
                        g->nodes[node].desc->name);
}

static const char *wire_place(const Group *g, const char *node, const char *input)
{
    for (uint32_t i = 0; i < g->desc->wire_count; i++) {
        const SslGroupWire *wire = &g->desc->wires[i];
        if (wire->from_node && strcmp(wire->to_node, node) == 0 && strcmp(wire->to, input) == 0)
            return wire->place;
    }
    return NULL;
}

static void step(Group *g, Walk *w, bool is_needed)
{
    uint32_t node = w->stack[w->depth - 1];
    const GroupNode *n = &g->nodes[node];
    if (!n->unit || w->next[node] == n->info->param_count) {
        w->state[node] = 2;
        w->depth--;
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
    if (node == GROUP_NONE || w->state[node])
        return;
    w->state[node] = 1;
    w->stack[w->depth++] = node;
    while (w->depth)
        step(g, w, is_needed);
}

/* Outputs first: what they do not reach is looked at for circles only. */
static void find_order(Group *g)
{
    uint32_t count = g->desc->node_count;
    Walk w = {.state = ARENA_ARRAY(g->arena, uint8_t, count),
              .next = ARENA_ARRAY(g->arena, uint32_t, count),
              .stack = ARENA_ARRAY(g->arena, uint32_t, count)};
    g->order = ARENA_ARRAY(g->arena, uint32_t, count);
    for (uint32_t i = 0; i < g->desc->output_count; i++)
        walk_from(g, &w, g->outputs[i].node, true);
    for (uint32_t i = 0; i < count; i++)
        walk_from(g, &w, i, false);
}

static void check_inputs(Group *g)
{
    for (uint32_t k = 0; k < g->order_count; k++) {
        const GroupNode *node = &g->nodes[g->order[k]];
        for (uint32_t i = 0; node->unit && i < node->info->param_count; i++) {
            const SslParamInfo *param = &node->info->params[i];
            const GroupInput *input = &node->inputs[i];
            if (input->node == GROUP_NONE && input->param == GROUP_NONE && !input->value &&
                !param->has_default && param->type != SSL_CLOSURE)
                complain(g, node->desc->place, GROUP_MISSING_INPUT, name_of(node), param->name,
                         node->info->name);
        }
    }
}

Status group_resolve(Group *g)
{
    uint32_t errors_before = diag_error_count(g->diags);
    NodeIndex index = index_nodes(g);
    for (uint32_t i = 0; i < g->desc->node_count; i++) {
        GroupNode *node = &g->nodes[i];
        if (!node->unit)
            continue;
        node->info = ssl_unit_info(node->unit);
        node->inputs = ARENA_ARRAY(g->arena, GroupInput, node->info->param_count);
        node->textures = ARENA_ARRAY(g->arena, uint32_t, node->info->texture_count);
        for (uint32_t k = 0; k < node->info->param_count; k++)
            node->inputs[k] = (GroupInput){GROUP_NONE, GROUP_NONE, GROUP_NONE, NULL};
        resolve_values(g, node);
        resolve_textures(g, node);
    }
    g->params = ARENA_ARRAY(g->arena, GroupParam, g->desc->param_count);
    for (uint32_t i = 0; i < g->desc->param_count; i++)
        g->params[i] = (GroupParam){
            &g->desc->params[i], {g->desc->params[i].type, NULL}, GROUP_NONE, GROUP_NONE};
    g->outputs = ARENA_ARRAY(g->arena, GroupOutput, g->desc->output_count);
    resolve_wires(g, &index);
    resolve_outputs(g, &index);
    check_params(g);
    find_order(g);
    check_inputs(g);
    return diag_error_count(g->diags) > errors_before ? STATUS_SOURCE : STATUS_OK;
}
