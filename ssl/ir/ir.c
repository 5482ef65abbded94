/* The table of operations, and the creation and deep copy of modules. */
#include "ssl/ir/ir.h"
#include "base/check.h"
#include <string.h>

static const IrOpInfo op_table[IR_OP_COUNT] = {
#define P                                       IR_FLAG_PURE
#define E                                       IR_FLAG_EFFECT
#define R                                       IR_FLAG_REGIONS
#define D                                       IR_FLAG_PARTIALS
#define IR_OP(name, mnemonic, signature, flags) [IR_##name] = {#name, mnemonic, signature, flags},
#include "ssl/ir/ir_ops.inc"
#undef IR_OP
#undef P
#undef E
#undef R
#undef D
};

const IrOpInfo *ir_op_info(IrOp op)
{
    ASSERT(op > IR_OP_NONE && op < IR_OP_COUNT);
    return &op_table[op];
}

float ir_imm_float(const IrInst *inst)
{
    uint32_t bits = (uint32_t)inst->imm;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

IrModule *ir_module_create(Arena *arena)
{
    IrModule *m = ARENA_NEW(arena, IrModule);
    m->arena = arena;
    array_push(arena, &m->funcs, NULL);
    return m;
}

/* --- deep copies ------------------------------------------------------------------------------ */

static void *copy_bytes(Arena *arena, const void *data, size_t count, size_t element_bytes)
{
    if (count == 0)
        return NULL;
    void *copy = arena_alloc_array(arena, count, element_bytes, _Alignof(max_align_t));
    memcpy(copy, data, count * element_bytes);
    return copy;
}

static const char *copy_text(Arena *arena, const char *text)
{
    return text ? arena_strndup(arena, text, strlen(text)) : NULL;
}

static SslValue copy_value(Arena *arena, SslValue value)
{
    if (value.type == SSL_STRING)
        value.s = copy_text(arena, value.s);
    else if (value.type == SSL_STRUCT || value.type == SSL_ARRAY)
        value.list = copy_bytes(arena, value.list, value.count, sizeof *value.list);
    return value;
}

static const SslMetadata *copy_metadata(Arena *arena, const SslMetadata *from, uint32_t count)
{
    SslMetadata *to = copy_bytes(arena, from, count, sizeof *to);
    for (uint32_t i = 0; i < count; ++i) {
        to[i].name = copy_text(arena, from[i].name);
        to[i].value = copy_value(arena, from[i].value);
    }
    return to;
}

static const SslShape *copy_shape(Arena *arena, const SslShape *from)
{
    if (!from)
        return NULL;
    SslShape *to = copy_bytes(arena, from, 1, sizeof *from);
    to->name = copy_text(arena, from->name);
    to->key = copy_text(arena, from->key);
    to->kinds = copy_bytes(arena, from->kinds, from->scalar_count, sizeof *from->kinds);
    return to;
}

static SslUnitInfo copy_info(Arena *arena, const SslUnitInfo *from)
{
    SslUnitInfo to = *from;
    to.name = copy_text(arena, from->name);
    SslParamInfo *params = copy_bytes(arena, from->params, from->param_count, sizeof *params);
    for (uint32_t i = 0; i < from->param_count; ++i) {
        const SslParamInfo *p = &from->params[i];
        params[i].name = copy_text(arena, p->name);
        params[i].shape = copy_shape(arena, p->shape);
        params[i].default_value = copy_value(arena, p->default_value);
        params[i].metadata = copy_metadata(arena, p->metadata, p->metadata_count);
    }
    to.params = params;
    SslOutputInfo *outputs = copy_bytes(arena, from->outputs, from->output_count, sizeof *outputs);
    for (uint32_t i = 0; i < from->output_count; ++i) {
        outputs[i].name = copy_text(arena, from->outputs[i].name);
        outputs[i].shape = copy_shape(arena, from->outputs[i].shape);
        outputs[i].metadata = copy_metadata(arena, outputs[i].metadata, outputs[i].metadata_count);
    }
    to.outputs = outputs;
    const char **textures =
        copy_bytes(arena, from->textures, from->texture_count, sizeof *textures);
    for (uint32_t i = 0; i < from->texture_count; ++i)
        textures[i] = copy_text(arena, from->textures[i]);
    to.textures = textures;
    to.texture_ids =
        copy_bytes(arena, from->texture_ids, from->texture_ids ? from->texture_count : 0,
                   sizeof *from->texture_ids);
    SslMetadataList *lists = NULL;
    if (from->texture_metadata)
        lists = copy_bytes(arena, from->texture_metadata, from->texture_count, sizeof *lists);
    for (uint32_t i = 0; lists && i < from->texture_count; ++i)
        lists[i].items = copy_metadata(arena, lists[i].items, lists[i].count);
    to.texture_metadata = lists;
    SslAttributeInfo *attributes =
        copy_bytes(arena, from->attributes, from->attribute_count, sizeof *attributes);
    for (uint32_t i = 0; i < from->attribute_count; ++i) {
        attributes[i].name = copy_text(arena, attributes[i].name);
        attributes[i].binds = copy_text(arena, attributes[i].binds);
        attributes[i].metadata =
            copy_metadata(arena, attributes[i].metadata, attributes[i].metadata_count);
    }
    to.attributes = attributes;
    to.metadata = copy_metadata(arena, from->metadata, from->metadata_count);
    return to;
}

#define COPY_ARRAY(arena, to, from)                                                                \
    ((to)->data = copy_bytes((arena), (from)->data, (from)->count, sizeof *(from)->data),          \
     (to)->count = (to)->capacity = (from)->count)

static IrFunc *copy_func(Arena *arena, const IrFunc *from)
{
    IrFunc *to = ARENA_NEW(arena, IrFunc);
    *to = *from;
    to->name = copy_text(arena, from->name);
    COPY_ARRAY(arena, &to->insts, &from->insts);
    COPY_ARRAY(arena, &to->regions, &from->regions);
    COPY_ARRAY(arena, &to->values, &from->values);
    COPY_ARRAY(arena, &to->args, &from->args);
    to->result_types =
        copy_bytes(arena, from->result_types, from->result_count, sizeof *to->result_types);
    return to;
}

static void copy_diff_facts(Arena *arena, IrDiffFacts *facts)
{
    IrPort *ports = copy_bytes(arena, facts->ports, facts->port_count, sizeof *ports);
    for (uint32_t i = 0; i < facts->port_count; ++i)
        ports[i].active =
            copy_bytes(arena, ports[i].active, ports[i].leaf_count, sizeof *ports[i].active);
    facts->ports = ports;
    facts->name = copy_text(arena, facts->name);
}

IrModule *ir_module_clone(const IrModule *m, Arena *arena)
{
    IrModule *to = ARENA_NEW(arena, IrModule);
    *to = *m;
    to->arena = arena;
    to->info = copy_info(arena, &m->info);
    COPY_ARRAY(arena, &to->funcs, &m->funcs);
    for (uint32_t i = 1; i < m->funcs.count; ++i)
        if (m->funcs.data[i])
            to->funcs.data[i] = copy_func(arena, m->funcs.data[i]);
    COPY_ARRAY(arena, &to->outputs, &m->outputs);
    for (uint32_t i = 0; i < m->outputs.count; ++i)
        to->outputs.data[i].name = copy_text(arena, m->outputs.data[i].name);
    COPY_ARRAY(arena, &to->slots, &m->slots);
    COPY_ARRAY(arena, &to->tables, &m->tables);
    for (uint32_t i = 0; i < m->tables.count; ++i)
        to->tables.data[i].bits =
            copy_bytes(arena, m->tables.data[i].bits, m->tables.data[i].count, sizeof(uint32_t));
    COPY_ARRAY(arena, &to->texture_sites, &m->texture_sites);
    for (uint32_t i = 0; i < m->texture_sites.count; ++i) {
        SslTextureSite *site = &to->texture_sites.data[i];
        site->filter = copy_text(arena, site->filter);
        site->wrap_s = copy_text(arena, site->wrap_s);
        site->wrap_t = copy_text(arena, site->wrap_t);
    }
    COPY_ARRAY(arena, &to->fault_sites, &m->fault_sites);
    COPY_ARRAY(arena, &to->derivatives, &m->derivatives);
    COPY_ARRAY(arena, &to->diff_facts, &m->diff_facts);
    for (uint32_t i = 0; i < m->diff_facts.count; ++i)
        copy_diff_facts(arena, &to->diff_facts.data[i]);
    return to;
}
