/* Resolves the names of a description to indices, with every check that needs no IR. Faulty parts are reported and left
 * out, so that one mistake gives one message. */
#include "ssl/group/group.h"
#include <string.h>

/* --- a node's own values, textures and attributes ------------------------------------------------------------------------ */

/* Describes a value in messages. */
static const char *value_text(const SslValue *value, Arena *arena)
{
    if (value->type == SSL_ARRAY || value->type == SSL_STRUCT)
        return arena_printf(arena, "a list of %u numbers", value->count);
    return group_type_text((GroupType){value->type, NULL}, arena);
}

static void resolve_values(Group *g, GroupNode *node)
{
    for (uint32_t i = 0; i < node->desc->value_count; ++i) {
        const SslGroupValue *value = &node->desc->values[i];
        uint32_t at = group_find_input(node->info, value->param);
        if (at == GROUP_NONE) {
            group_unknown_input(g, node, value->param, value->place);
            continue;
        }
        const SslParamInfo *param = &node->info->params[at];
        if (node->inputs[at].value)
            complain(g, value->place, GROUP_VALUE_TWICE, group_name_of(node), value->param);
        else if (!ssl_value_fits(&value->value, param->type, param->shape))
            complain(g, value->place, GROUP_VALUE, group_name_of(node), value->param,
                     group_type_text(group_param_type(param), g->arena),
                     value_text(&value->value, g->arena));
        node->inputs[at].value = value;
    }
}

static void resolve_textures(Group *g, GroupNode *node)
{
    const SslUnitInfo *info = node->info;
    bool *is_set = ARENA_ARRAY(g->arena, bool, info->texture_count);
    for (uint32_t i = 0; i < info->texture_count; ++i)
        node->textures[i] = info->texture_ids ? info->texture_ids[i] : SSL_TEXTURE_UNBOUND;
    for (uint32_t i = 0; i < node->desc->texture_count; ++i) {
        const SslGroupTexture *texture = &node->desc->textures[i];
        uint32_t at = 0;
        while (at < info->texture_count && strcmp(info->textures[at], texture->texture) != 0)
            ++at;
        if (at == info->texture_count) {
            complain(g, texture->place, GROUP_UNKNOWN_TEXTURE, group_name_of(node), info->name,
                     texture->texture);
            report_suggestion(g->diags, texture->texture, info->textures, info->texture_count);
            continue;
        }
        if (is_set[at])
            complain(g, texture->place, GROUP_VALUE_TWICE, group_name_of(node), texture->texture);
        is_set[at] = true;
        node->textures[at] = texture->id;
    }
}

static void resolve_attributes(Group *g, GroupNode *node)
{
    const SslUnitInfo *info = node->info;
    const char **declared = ARENA_ARRAY(g->arena, const char *, info->attribute_count);
    bool *is_set = ARENA_ARRAY(g->arena, bool, info->attribute_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < info->attribute_count; ++i) {
        node->binds[i] = info->attributes[i].binds;
        if (info->attributes[i].is_declared)
            declared[count++] = info->attributes[i].name;
    }
    for (uint32_t i = 0; i < node->desc->attribute_count; ++i) {
        const SslGroupAttribute *attribute = &node->desc->attributes[i];
        uint32_t at = 0;
        while (at < info->attribute_count &&
               !(info->attributes[at].is_declared &&
                 strcmp(info->attributes[at].name, attribute->attribute) == 0))
            ++at;
        if (at == info->attribute_count) {
            complain(g, attribute->place, GROUP_UNKNOWN_ATTRIBUTE, group_name_of(node), info->name,
                     attribute->attribute);
            report_suggestion(g->diags, attribute->attribute, declared, count);
            continue;
        }
        if (is_set[at])
            complain(g, attribute->place, GROUP_VALUE_TWICE, group_name_of(node),
                     attribute->attribute);
        is_set[at] = true;
        node->binds[at] = attribute->binds;
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

/* Finds the node and input at which a wire ends. Returns GROUP_NONE if it, or the node's unit, was reported. */
static uint32_t resolve_target(Group *g, const SslGroupWire *wire, uint32_t *out_node)
{
    uint32_t node = *out_node = group_find_node(g, wire->to_node, wire->place);
    if (node == GROUP_NONE || !g->nodes[node].unit)
        return GROUP_NONE;
    uint32_t at = group_find_input(g->nodes[node].info, wire->to);
    if (at != GROUP_NONE)
        return at;
    if (group_find_output(g->nodes[node].info, wire->to) != GROUP_NONE)
        complain(g, wire->place, GROUP_INTO_OUTPUT, wire->to_node, wire->to);
    else
        group_unknown_input(g, &g->nodes[node], wire->to, wire->place);
    return GROUP_NONE;
}

static void resolve_node_wire(Group *g, const SslGroupWire *wire, uint32_t to_node, uint32_t to)
{
    uint32_t node = group_find_node(g, wire->from_node, wire->place);
    if (node == GROUP_NONE || !g->nodes[node].unit)
        return;
    uint32_t at = group_find_output(g->nodes[node].info, wire->from);
    if (at == GROUP_NONE) {
        if (group_find_input(g->nodes[node].info, wire->from) != GROUP_NONE)
            complain(g, wire->place, GROUP_FROM_INPUT, wire->from_node, wire->from);
        else
            group_unknown_output(g, &g->nodes[node], wire->from, wire->place);
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
    uint32_t at = group_find_param(g, wire->from);
    if (at == GROUP_NONE) {
        group_unknown_param(g, wire->from, wire->place);
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

static void resolve_wires(Group *g)
{
    for (uint32_t i = 0; i < g->desc->wire_count && !report_is_full(g->diags); ++i) {
        const SslGroupWire *wire = &g->desc->wires[i];
        uint32_t node, input = resolve_target(g, wire, &node);
        if (wire->from_node)
            resolve_node_wire(g, wire, node, input);
        else
            resolve_param_wire(g, wire, node, input);
    }
}

/* --- parameters and outputs ----------------------------------------------------------------------- */

static void resolve_outputs(Group *g)
{
    for (uint32_t i = 0; i < g->desc->output_count; ++i) {
        const SslGroupOutput *desc = &g->desc->outputs[i];
        GroupOutput *output = &g->outputs[i];
        *output = (GroupOutput){.desc = desc, .node = GROUP_NONE, .output = GROUP_NONE};
        if (!desc->node) {
            output->output = group_find_param(g, desc->output);
            if (output->output == GROUP_NONE)
                group_unknown_param(g, desc->output, desc->place);
            else
                output->type = g->params[output->output].type;
            continue;
        }
        uint32_t node = group_find_node(g, desc->node, desc->place);
        if (node == GROUP_NONE || !g->nodes[node].unit)
            continue;
        output->node = node;
        output->output = group_find_output(g->nodes[node].info, desc->output);
        if (output->output == GROUP_NONE)
            group_unknown_output(g, &g->nodes[node], desc->output, desc->place);
        else
            output->type = group_output_type(&g->nodes[node].info->outputs[output->output]);
    }
}

static void check_params(Group *g)
{
    bool *is_output = ARENA_ARRAY(g->arena, bool, g->desc->param_count);
    for (uint32_t i = 0; i < g->desc->output_count; ++i)
        if (!g->outputs[i].desc->node && g->outputs[i].output != GROUP_NONE)
            is_output[g->outputs[i].output] = true;
    for (uint32_t i = 0; i < g->desc->param_count; ++i) {
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

/* --- all ---------------------------------------------------------------------------------------- */

static void check_inputs(Group *g)
{
    for (uint32_t k = 0; k < g->order_count; ++k) {
        const GroupNode *node = &g->nodes[g->order[k]];
        for (uint32_t i = 0; node->unit && i < node->info->param_count; ++i) {
            const SslParamInfo *param = &node->info->params[i];
            const GroupInput *input = &node->inputs[i];
            if (input->node == GROUP_NONE && input->param == GROUP_NONE && !input->value &&
                !param->has_default && param->type != SSL_CLOSURE)
                complain(g, node->desc->place, GROUP_MISSING_INPUT, group_name_of(node),
                         param->name, node->info->name);
        }
    }
}

Status group_resolve(Group *g)
{
    uint32_t errors_before = diag_error_count(g->diags);
    group_index_nodes(g);
    for (uint32_t i = 0; i < g->desc->node_count; ++i) {
        GroupNode *node = &g->nodes[i];
        if (!node->unit)
            continue;
        node->info = ssl_unit_info(node->unit);
        node->inputs = ARENA_ARRAY(g->arena, GroupInput, node->info->param_count);
        node->textures = ARENA_ARRAY(g->arena, uint32_t, node->info->texture_count);
        node->binds = ARENA_ARRAY(g->arena, const char *, node->info->attribute_count);
        for (uint32_t k = 0; k < node->info->param_count; ++k)
            node->inputs[k] = (GroupInput){GROUP_NONE, GROUP_NONE, GROUP_NONE, NULL};
        resolve_values(g, node);
        resolve_textures(g, node);
        resolve_attributes(g, node);
    }
    g->params = ARENA_ARRAY(g->arena, GroupParam, g->desc->param_count);
    for (uint32_t i = 0; i < g->desc->param_count; ++i)
        g->params[i] = (GroupParam){
            &g->desc->params[i], {g->desc->params[i].type, NULL}, GROUP_NONE, GROUP_NONE};
    g->outputs = ARENA_ARRAY(g->arena, GroupOutput, g->desc->output_count);
    resolve_wires(g);
    resolve_outputs(g);
    check_params(g);
    group_find_order(g);
    check_inputs(g);
    return diag_error_count(g->diags) > errors_before ? STATUS_SOURCE : STATUS_OK;
}
