/* Materials: a unit or a group with the material's values, linked. */
#include "sort/shade/material_set.h"
#include <string.h>

static const char *surface_name(const MaterialSet *set, uint32_t m)
{
    const SslGroupNode *node = &set->desc.scene->materials[m].node;
    return node->group ? node->group->name : set->desc.scene->shaders[node->shader_id].name;
}

Status material_error(const MaterialSet *set, uint32_t m, const char *section, const char *name,
                      Error *err, const char *text)
{
    const SceneMaterial *material = &set->desc.scene->materials[m];
    return error_set_at(err, STATUS_FORMAT, "scene.json", "%s%s%s%s%s: %s (material '%s', %s '%s')",
                        material->node.place, *section ? "." : "", section, *name ? "." : "", name,
                        text, material->name, material->node.group ? "group" : "shader",
                        surface_name(set, m));
}

static Status find_node_unit(void *data, const SslGroupNode *node, const SslUnit **out_unit)
{
    const MaterialUnit *unit = material_unit_find(data, node->shader_id, node->entry);
    *out_unit = unit ? unit->unit : NULL;
    return *out_unit ? STATUS_OK : STATUS_NOT_FOUND;
}

/* Which output is the surface: of a shader its only closure, of a group its only output or the one
 * called 'surface'. */
static const char *find_surface(const SslGroupNode *node)
{
    const char *found = NULL;
    if (node->group) {
        const SslGroupDesc *group = node->group;
        for (uint32_t i = 0; i < group->output_count; ++i)
            if (group->output_count == 1 || strcmp(group->outputs[i].name, "surface") == 0)
                found = group->outputs[i].name;
        return found;
    }
    const SslUnitInfo *info = ssl_unit_info(node->unit);
    for (uint32_t i = 0; i < info->output_count; ++i) {
        if (info->outputs[i].type == SSL_CLOSURE && found)
            return NULL;
        if (info->outputs[i].type == SSL_CLOSURE)
            found = info->outputs[i].name;
    }
    return found;
}

/* A material is a group of one node, so that its values, textures, attributes and their mistakes go the way of any
 * node's. The node has no name: parameters keep theirs. */
static Status link_material(MaterialSet *set, uint32_t m, MaterialLink *link)
{
    const SceneMaterial *material = &set->desc.scene->materials[m];
    SslGroupNode node = material->node;
    if (!node.group)
        node.unit = material_unit_find(set, node.shader_id, node.entry)->unit;
    const char *surface = find_surface(&node);
    if (!surface)
        return material_error(set, m, node.group ? "group" : "shader", "", &link->error,
                              node.group ? "it needs an output 'surface', or only one output"
                                         : "it needs exactly one 'out closure'");
    const SslGroupOutput output = {
        .name = "surface", .node = node.name, .output = surface, .place = node.place};
    const SslGroupDesc desc = {.size_bytes = sizeof desc,
                               .name = material->name,
                               .nodes = &node,
                               .outputs = &output,
                               .node_count = 1,
                               .output_count = 1,
                               .place = node.place};
    const SslGroupHost host = {.size_bytes = sizeof host, .find_unit = find_node_unit, .data = set};
    Status status = ssl_group_link(set->desc.context, &desc, &host, link->diags, &link->unit);
    if (status == STATUS_SOURCE)
        return material_error(set, m, "", "", &link->error, "it has errors");
    if (status != STATUS_OK)
        return error_set(&link->error, status, "out of memory compiling shaders");
    if (ssl_unit_info(link->unit)->outputs[0].type != SSL_CLOSURE)
        return material_error(set, m, "group", "outputs.surface", &link->error,
                              "it must be a closure");
    return STATUS_OK;
}

void material_link(void *data, uint32_t index)
{
    MaterialSet *set = data;
    MaterialLink *link = &set->links[index];
    link->diags = diag_list_create();
    link->status =
        link->diags ? link_material(set, index, link)
                    : error_set(&link->error, STATUS_NO_MEMORY, "out of memory compiling shaders");
}

Status material_links_gather(const MaterialSet *set, StrBuf *diagnostics, Error *err)
{
    Status first = STATUS_OK;
    for (uint32_t m = 0; m < set->desc.scene->material_count; ++m) {
        const MaterialLink *link = &set->links[m];
        if (link->diags)
            diag_print(link->diags, diagnostics);
        if (link->status == STATUS_OK || first != STATUS_OK)
            continue;
        first = link->status;
        *err = link->error;
    }
    return first;
}
