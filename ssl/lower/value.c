#include "base/check.h"
#include "ssl/lower/emit.h"

#include <string.h>

/* The member that has the leaf, which becomes relative to it. */
static const VarDecl *member_of(const Type *type, uint32_t *leaf)
{
    const VarList *members = &type->decl->members;
    uint32_t i = 0;
    while (*leaf >= members->items[i]->leaf + members->items[i]->type->leaves)
        ++i;
    *leaf -= members->items[i]->leaf;
    return members->items[i];
}

static IrKind kind_of(const Type *type)
{
    ASSERT(type->kind == TYPE_BASIC && type->leaves > 0);
    return type->basic == SSL_BOOL                               ? IR_BOOL
           : type->basic == SSL_INT || type->basic == SSL_STRING ? IR_INT
           : type->basic == SSL_CLOSURE                          ? IR_CLOSURE
                                                                 : IR_FLOAT;
}

IrType leaf_type(const Type *type, uint32_t leaf)
{
    uint32_t count = 0;
    while (type->kind != TYPE_BASIC) {
        if (type->kind == TYPE_STRUCT) {
            type = member_of(type, &leaf)->type;
        } else {
            count = (count == 0 ? 1 : count) * type->count;
            type = type->element;
        }
    }
    return count == 0 ? ir_scalar(kind_of(type)) : ir_array(kind_of(type), count);
}

uint32_t leaf_elements(const Type *type, uint32_t leaf)
{
    uint32_t count = ir_count(leaf_type(type, leaf));
    return count == 0 ? 1 : count;
}

IrType *leaf_types(const Type *type, IrType *out)
{
    for (uint32_t i = 0; i < type->leaves; ++i)
        *out++ = leaf_type(type, i);
    return out;
}

IrValue *value_leaves(Emit *m, const Type *type)
{
    return ARENA_ARRAY(m->arena, IrValue, type->leaves);
}

Value value_detached(Emit *m, Value v)
{
    IrValue *leaf = value_leaves(m, v.type);
    for (uint32_t i = 0; i < v.type->leaves; ++i)
        leaf[i] = ir_kind(leaf_type(v.type, i)) == IR_FLOAT ? ir_build_detach(m->b, v.leaf[i])
                                                            : v.leaf[i];
    return (Value){v.type, leaf};
}

static IrValue scalar_constant(Emit *m, IrKind kind, Scalar s)
{
    switch (kind) {
    case IR_BOOL:
        return ir_const_bool(m->b, s.b);
    case IR_INT:
        return ir_const_int(m->b, s.i);
    case IR_FLOAT:
        return ir_const_float(m->b, s.f);
    case IR_CLOSURE:
        return ir_build_closure_zero(m->b);
    }
    UNREACHABLE();
}

uint32_t leaf_scalar(const Type *type, uint32_t leaf, uint32_t element)
{
    uint32_t at = 0;
    while (type->kind != TYPE_BASIC) {
        if (type->kind == TYPE_STRUCT) {
            const VarDecl *member = member_of(type, &leaf);
            for (uint32_t i = 0; i < member->index; ++i)
                at += type->decl->members.items[i]->type->scalars;
            type = member->type;
        } else {
            uint32_t inner = leaf_elements(type->element, leaf);
            at += element / inner * type->element->scalars;
            element %= inner;
            type = type->element;
        }
    }
    return at + leaf;
}

/* scalars NULL: all zero. */
static Value constant_value(Emit *m, const Type *type, const Scalar *scalars)
{
    IrValue *leaf = value_leaves(m, type);
    for (uint32_t i = 0; i < type->leaves; ++i) {
        IrType ir_type = leaf_type(type, i);
        uint32_t count = leaf_elements(type, i);
        IrValue *element = ARENA_ARRAY(m->arena, IrValue, count);
        for (uint32_t k = 0; k < count; ++k)
            element[k] = scalar_constant(
                m, ir_kind(ir_type), scalars ? scalars[leaf_scalar(type, i, k)] : (Scalar){.i = 0});
        leaf[i] = ir_is_array(ir_type) ? ir_build_array(m->b, ir_kind(ir_type), element, count)
                                       : element[0];
    }
    return (Value){type, leaf};
}

Value value_zero(Emit *m, const Type *type)
{
    return constant_value(m, type, NULL);
}

Value value_string(Emit *m, const char *text)
{
    IrValue *leaf = value_leaves(m, type_basic(SSL_STRING));
    int32_t id;
    if (!string_ids_find(m->lowering->strings, text, &id))
        m->lowering->is_out_of_memory = true;
    leaf[0] = ir_const_int(m->b, id);
    return (Value){type_basic(SSL_STRING), leaf};
}

Value value_constant(Emit *m, const Constant *c)
{
    if (type_is(c->type, SSL_STRING))
        return value_string(m, c->text);
    return constant_value(m, c->type, c->scalars);
}

/* The least number of scalars of a table. Code that chooses among fewer is short. */
enum { TABLE_SCALARS = 32 };

bool value_is_table(const VarDecl *constant)
{
    const Type *type = constant->type;
    bool has_bools = false;
    for (uint32_t i = 0; type->kind == TYPE_ARRAY && i < type->leaves; ++i)
        has_bools = has_bools || ir_kind(leaf_type(type, i)) == IR_BOOL;
    return type->kind == TYPE_ARRAY && type->scalars >= TABLE_SCALARS && !has_bools;
}

static uint32_t table_of(Emit *m, const VarDecl *constant, uint32_t leaf)
{
    IrModule *module = m->lowering->module;
    for (uint32_t i = 0; i < module->tables.count; ++i)
        if (module->tables.data[i].origin == constant && module->tables.data[i].leaf == leaf)
            return i;
    uint32_t count = leaf_elements(constant->type, leaf);
    uint32_t *bits = ARENA_ARRAY(module->arena, uint32_t, count);
    for (uint32_t k = 0; k < count; ++k)
        memcpy(&bits[k], &constant->constant->scalars[leaf_scalar(constant->type, leaf, k)],
               sizeof *bits);
    array_push(module->arena, &module->tables,
               ((IrTable){.kind = ir_kind(leaf_type(constant->type, leaf)),
                          .count = count,
                          .bits = bits,
                          .origin = constant,
                          .leaf = leaf}));
    return module->tables.count - 1;
}

IrValue value_table_element(Emit *m, const VarDecl *constant, uint32_t leaf, IrValue index)
{
    return ir_build_table(m->b, table_of(m, constant, leaf), index);
}

static Value array_from_parts(Emit *m, const Type *type, const Value *parts)
{
    IrValue *leaf = value_leaves(m, type);
    for (uint32_t i = 0; i < type->leaves; ++i) {
        uint32_t inner = leaf_elements(type->element, i), count = inner * type->count;
        bool is_nested = ir_is_array(leaf_type(type->element, i));
        IrValue *element = ARENA_ARRAY(m->arena, IrValue, count);
        for (uint32_t k = 0; k < count; ++k) {
            IrValue part = parts[k / inner].leaf[i];
            IrValue index = is_nested ? ir_const_int(m->b, (int32_t)(k % inner)) : 0;
            element[k] = is_nested ? ir_build2(m->b, IR_ARRAY_GET, part, index) : part;
        }
        leaf[i] = ir_build_array(m->b, ir_kind(leaf_type(type, i)), element, count);
    }
    return (Value){type, leaf};
}

Value value_list(Emit *m, const Type *type, const Value *parts)
{
    if (type->kind == TYPE_ARRAY)
        return array_from_parts(m, type, parts);
    IrValue *leaf = value_leaves(m, type);
    const VarList *members = &type->decl->members;
    for (uint32_t i = 0; i < members->count; ++i)
        for (uint32_t k = 0; k < members->items[i]->type->leaves; ++k)
            leaf[members->items[i]->leaf + k] = parts[i].leaf[k];
    return (Value){type, leaf};
}
