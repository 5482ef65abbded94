/* Makes a unit from a resolved group. Nodes are emitted in the order in which outputs need them, so that two groups with
 * equal wires become equal IR, in whatever order their descriptions list them. */
#include "base/check.h"
#include "ssl/group/group.h"
#include "ssl/ir/ir_link.h"
#include <string.h>

typedef struct Emit {
    const Group *g;
    SslUnit *unit;
    IrModule *m;
    Arena *arena;
    IrLink *link;
    ARRAY(SslParamInfo) params;
    ARRAY(const char *) textures;
    ARRAY(uint32_t) texture_ids;
    ARRAY(SslAttributeInfo) attributes;
    ARRAY(UnitSource) sources;
    ARRAY(SslUnit *) parts; /* the units; indices equal those of the parts of the link */
    IrValue **results;      /* [node]: the results of its unit's entry */
} Emit;

/* Returns "node.port", or the port's name alone if the node has no name. */
static const char *inner_name(Emit *e, const GroupNode *node, const char *port)
{
    return *node->desc->name ? arena_printf(e->arena, "%s.%s", node->desc->name, port) : port;
}

/* --- parameters ------------------------------------------------------------------------------- */

/* Converts a value to the type of the parameter. */
static SslValue fit_value(Arena *arena, const SslValue *value, GroupType to)
{
    SslValue fitted = *value;
    if (to.type == SSL_FLOAT && value->type == SSL_INT)
        fitted.f[0] = (float)value->i;
    if (to.type == SSL_STRUCT || to.type == SSL_ARRAY) {
        double *list = ARENA_ARRAY(arena, double, to.shape->scalar_count);
        bool is_list = value->type == SSL_STRUCT || value->type == SSL_ARRAY;
        for (uint32_t i = 0; i < to.shape->scalar_count; ++i)
            list[i] = is_list                   ? value->list[i]
                      : value->type == SSL_BOOL ? (double)value->b
                      : value->type == SSL_INT  ? (double)value->i
                                                : (double)value->f[i];
        fitted.list = list;
        fitted.count = to.shape->scalar_count;
    }
    if (to.type == SSL_STRING)
        fitted.s = arena_strndup(arena, value->s, strlen(value->s));
    fitted.type = to.type;
    return fitted;
}

/* Finds the default of an input: the node's own value, else the unit's default. Returns false if it has none. */
static bool input_default(Arena *arena, const GroupNode *node, uint32_t input, SslValue *out)
{
    const SslParamInfo *param = &node->info->params[input];
    if (node->inputs[input].value)
        *out = fit_value(arena, &node->inputs[input].value->value, group_param_type(param));
    else if (param->has_default)
        *out = param->default_value;
    else
        return false;
    return true;
}

static const SslMetadata *copy_metadata(Arena *arena, const SslMetadata *from, uint32_t count)
{
    SslMetadata *to = ARENA_ARRAY(arena, SslMetadata, count);
    for (uint32_t i = 0; i < count; ++i) {
        to[i] = from[i];
        to[i].name = arena_strndup(arena, from[i].name, strlen(from[i].name));
        if (from[i].value.type == SSL_STRING)
            to[i].value.s = arena_strndup(arena, from[i].value.s, strlen(from[i].value.s));
    }
    return to;
}

static void add_group_param(Emit *e, const GroupParam *from)
{
    const SslGroupParam *desc = from->desc;
    SslParamInfo p = {.name = arena_strndup(e->arena, desc->name, strlen(desc->name)),
                      .type = from->type.type,
                      .shape = from->type.shape,
                      .has_default = desc->has_default,
                      .metadata = copy_metadata(e->arena, desc->metadata, desc->metadata_count),
                      .metadata_count = desc->metadata_count};
    if (desc->has_default)
        p.default_value = fit_value(e->arena, &desc->default_value, from->type);
    if (from->first_node != GROUP_NONE) {
        const GroupNode *node = &e->g->nodes[from->first_node];
        const SslParamInfo *target = &node->info->params[from->first_input];
        GroupConversion how = group_conversion(from->type, group_param_type(target));
        if (!p.metadata_count) {
            p.metadata = target->metadata;
            p.metadata_count = target->metadata_count;
        }
        if (!p.has_default && how == GROUP_CONVERT_NOTHING)
            p.has_default = input_default(e->arena, node, from->first_input, &p.default_value);
    }
    array_push(e->arena, &e->params, p);
}

static void read_param(Emit *e, uint32_t param, IrValue *out)
{
    ASSERT(param < e->params.count);
    GroupType type = group_param_type(&e->params.data[param]);
    for (uint32_t i = 0; i < group_type_values(type); ++i)
        out[i] = ir_build_param_read(ir_link_builder(e->link), group_type_kind(type, i), param, i);
}

/* Adds the parameter "node.input" and reads it. */
static void read_own(Emit *e, const GroupNode *node, uint32_t input, IrValue *out)
{
    SslParamInfo p = node->info->params[input];
    p.name = inner_name(e, node, p.name);
    p.has_default = input_default(e->arena, node, input, &p.default_value);
    p.span = (Span){0};
    array_push(e->arena, &e->params, p);
    read_param(e, e->params.count - 1, out);
}

static void read_input(Emit *e, const GroupNode *node, uint32_t input, IrValue *out)
{
    ASSERT(input < node->info->param_count);
    const GroupInput *from = &node->inputs[input];
    IrBuilder *b = ir_link_builder(e->link);
    GroupType to = group_param_type(&node->info->params[input]);
    if (from->node != GROUP_NONE) {
        const GroupNode *source = &e->g->nodes[from->node];
        uint32_t first = source->unit->lowered->outputs.data[from->output].result_first;
        group_convert(b, group_output_type(&source->info->outputs[from->output]), to,
                      e->results[from->node] + first, out);
    } else if (from->param != GROUP_NONE) {
        ASSERT(e->params.data && from->param < e->params.count);
        GroupType type = group_param_type(&e->params.data[from->param]);
        IrValue *values = ARENA_ARRAY(e->arena, IrValue, group_type_values(type));
        read_param(e, from->param, values);
        group_convert(b, type, to, values, out);
    } else {
        read_own(e, node, input, out);
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Returns the index of a unit among the parts of the group, which it may extend. */
static uint32_t part_of(Emit *e, SslUnit *unit)
{
    for (uint32_t i = 0; i < e->parts.count; ++i)
        if (e->parts.data[i] == unit)
            return i;
    uint32_t file_base = e->unit->file_end;
    e->unit->file_end += unit->file_end;
    for (uint32_t i = 0; i < unit->source_count; ++i) {
        UnitSource source = unit->sources[i];
        source.file += file_base;
        array_push(e->arena, &e->sources, source);
    }
    array_push(e->arena, &e->parts, unit);
    return ir_link_part(e->link, unit->lowered, file_base);
}

/* Returns the slot of an attribute. All nodes share the rows of the host's table; a declared attribute is the node's own. */
static uint32_t add_attribute(Emit *e, const GroupNode *node, uint32_t index)
{
    ASSERT(index < node->info->attribute_count);
    const SslAttributeInfo *from = &node->info->attributes[index];
    for (uint32_t i = 0; i < e->attributes.count && !from->is_declared; ++i)
        if (!e->attributes.data[i].is_declared &&
            strcmp(e->attributes.data[i].name, from->name) == 0)
            return i;
    SslAttributeInfo own = *from;
    own.binds = arena_strndup(e->arena, node->binds[index], strlen(node->binds[index]));
    own.name = inner_name(e, node, arena_strndup(e->arena, from->name, strlen(from->name)));
    if (!from->is_declared)
        own.name = own.binds;
    own.metadata = copy_metadata(e->arena, from->metadata, from->metadata_count);
    own.span = (Span){0};
    array_push(e->arena, &e->attributes, own);
    return e->attributes.count - 1;
}

static void emit_node(Emit *e, uint32_t index)
{
    ASSERT(index < e->g->desc->node_count && e->g->nodes[index].unit);
    const GroupNode *node = &e->g->nodes[index];
    uint32_t texture_base = e->textures.count;
    for (uint32_t i = 0; i < node->info->texture_count; ++i) {
        array_push(e->arena, &e->textures, inner_name(e, node, node->info->textures[i]));
        array_push(e->arena, &e->texture_ids, node->textures[i]);
    }
    const IrValue **inputs = ARENA_ARRAY(e->arena, const IrValue *, node->info->param_count);
    for (uint32_t i = 0; i < node->info->param_count; ++i) {
        GroupType type = group_param_type(&node->info->params[i]);
        IrValue *values = ARENA_ARRAY(e->arena, IrValue, group_type_values(type));
        read_input(e, node, i, values);
        inputs[i] = values;
    }
    uint32_t *attributes = ARENA_ARRAY(e->arena, uint32_t, node->info->attribute_count);
    for (uint32_t i = 0; i < node->info->attribute_count; ++i)
        attributes[i] = add_attribute(e, node, i);
    const IrModule *module = node->unit->lowered;
    e->results[index] =
        ARENA_ARRAY(e->arena, IrValue, ir_func(module, module->entry)->result_count);
    ir_link_instance(e->link, part_of(e, node->unit), texture_base, attributes, inputs,
                     e->results[index]);
}

static bool is_too_large(Emit *e, DiagList *diags)
{
    static const Span nowhere = {0};
    const char *what = NULL;
    uint32_t limit = 0;
    if (ir_build_func(ir_link_builder(e->link))->insts.count > SSL_MAX_INSTRUCTIONS) {
        limit = SSL_MAX_INSTRUCTIONS;
        what = "instructions, with those of its nodes";
    } else if (e->params.count > SSL_MAX_GROUP_PARAMS) {
        limit = SSL_MAX_GROUP_PARAMS;
        what = "parameters, with those of its nodes";
    } else if (e->textures.count > SSL_MAX_GROUP_TEXTURES) {
        limit = SSL_MAX_GROUP_TEXTURES;
        what = "textures, with those of its nodes";
    }
    if (what)
        report(diags, GROUP_TOO_LARGE, nowhere, arena_printf(e->arena, "%u", limit), what);
    return what != NULL;
}

/* --- the whole -------------------------------------------------------------------------------- */

static void emit_outputs(Emit *e)
{
    const Group *g = e->g;
    ARRAY(SslOutputInfo) infos = {0};
    ARRAY(IrValue) results = {0};
    for (uint32_t i = 0; i < g->desc->output_count; ++i) {
        const GroupOutput *output = &g->outputs[i];
        const char *name = output->desc->name;
        name = arena_strndup(e->arena, name, strlen(name));
        uint32_t count = group_type_values(output->type);
        array_push(
            e->arena, &infos,
            (SslOutputInfo){.name = name, .type = output->type.type, .shape = output->type.shape});
        array_push(e->arena, &e->m->outputs,
                   (IrOutput){name, output->type.type, results.count, count});
        array_reserve(e->arena, &results, results.count + count);
        IrValue *to = results.data + results.count;
        if (output->node == GROUP_NONE) {
            read_param(e, output->output, to);
        } else {
            const IrModule *module = g->nodes[output->node].unit->lowered;
            memcpy(to, e->results[output->node] + module->outputs.data[output->output].result_first,
                   count * sizeof *to);
        }
        results.count += count;
    }
    ir_link_end(e->link, results.data, results.count);
    e->m->info.outputs = infos.data;
    e->m->info.output_count = infos.count;
}

static void hold_parts(Emit *e)
{
    ASSERT(!e->unit->parts);
    SslUnit *unit = e->unit;
    unit->parts = e->parts.data;
    unit->sources = e->sources.data;
    unit->source_count = e->sources.count;
    e->m->is_fused = e->parts.count > 0;
    for (uint32_t i = 0; i < e->parts.count; ++i) {
        ssl_unit_retain(e->parts.data[i]);
        ++unit->part_count;
        unit->is_derivative = unit->is_derivative || e->parts.data[i]->is_derivative;
        e->m->is_fused = e->m->is_fused && e->parts.data[i]->lowered->is_fused;
        if (unit->nesting <= e->parts.data[i]->nesting)
            unit->nesting = e->parts.data[i]->nesting + 1;
    }
}

Status group_emit(const Group *g, SslUnit *unit)
{
    const LowerTables *tables = &unit->ctx->tables;
    const char *name = g->desc->name ? g->desc->name : "group";
    Emit e = {.g = g, .unit = unit, .arena = unit->arena};
    unit->file_end = 1;
    e.m = unit->lowered = ir_module_create(e.arena);
    e.m->globals = tables->globals;
    e.m->closures = tables->closures;
    e.m->questions = tables->questions;
    e.m->global_count = tables->global_count;
    e.m->closure_count = tables->closure_count;
    e.m->question_count = tables->question_count;
    e.m->info.name = arena_strndup(e.arena, name, strlen(name));
    e.results = ARENA_ARRAY(e.arena, IrValue *, g->desc->node_count);
    e.link = ir_link_begin(e.m, e.m->info.name);
    for (uint32_t i = 0; i < g->desc->param_count; ++i)
        add_group_param(&e, &g->params[i]);
    for (uint32_t i = 0; i < g->order_count; ++i) {
        emit_node(&e, g->order[i]);
        if (is_too_large(&e, g->diags))
            return STATUS_SOURCE;
    }
    emit_outputs(&e);
    e.m->info.params = e.params.data;
    e.m->info.param_count = e.params.count;
    e.m->info.textures = e.textures.data;
    e.m->info.texture_ids = e.texture_ids.data;
    e.m->info.texture_count = e.textures.count;
    e.m->info.attributes = e.attributes.data;
    e.m->info.attribute_count = e.attributes.count;
    hold_parts(&e);
    if (e.m->derivatives.count > 0)
        return STATUS_OK; /* ir_derive completes the module */
    Error err = {0};
    if (ir_verify(e.m, &err) == STATUS_OK)
        return STATUS_OK;
    report(g->diags, INTERNAL, (Span){0}, err.text);
    return STATUS_SOURCE;
}
