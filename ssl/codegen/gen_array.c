/* Array values in stack memory, at the places of array_plan.h. LLVM keeps arrays in registers that are only accessed at
 * constant indices. */
#include "base/cast.h"
#include "base/check.h"
#include "ssl/codegen/gen.h"
#include <string.h>

/* Returns the type of one element of all lanes. A bool is a byte, or an int in code of several lanes, because bytes
 * cannot be gathered. */
static LLVMTypeRef element_type(const Gen *g, IrKind kind)
{
    return kind != IR_BOOL ? gen_lane_type(g, kind) : g->mask ? g->t_int : g->t_i8;
}

static LLVMTypeRef element_type_of_one(const Gen *g, IrKind kind)
{
    return kind == IR_FLOAT ? g->t_f32 : kind == IR_BOOL && !g->mask ? g->t_i8 : g->t_i32;
}

static uint32_t element_bytes(const Gen *g, IrKind kind)
{
    ASSERT(kind != IR_CLOSURE);
    return kind == IR_BOOL && !g->mask ? 1 : 4 * g->lanes;
}

static uint32_t element_align(const Gen *g, IrKind kind)
{
    return element_bytes(g, kind);
}

static uint32_t array_bytes(const Gen *g, IrType type)
{
    return ir_count(type) * element_bytes(g, ir_kind(type));
}

static LLVMValueRef new_array(Gen *g, IrType type)
{
    g->stack_bytes += array_bytes(g, type);
    return gen_stack(g, LLVMArrayType2(element_type(g, ir_kind(type)), ir_count(type)), "array");
}

static bool is_constant(const Gen *g, IrValue v)
{
    IrOp op = (IrOp)ir_inst(g->func, g->func->values.data[v].def)->op;
    return op == IR_CONST_INT || op == IR_CONST_BOOL || op == IR_CONST_FLOAT;
}

static LLVMValueRef read_only(Gen *g, LLVMValueRef values)
{
    LLVMValueRef constant = LLVMAddGlobal(g->llvm, LLVMTypeOf(values), "table");
    LLVMSetInitializer(constant, values);
    LLVMSetGlobalConstant(constant, true);
    LLVMSetLinkage(constant, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(constant, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(constant, 4);
    return constant;
}

/* Returns a constant in read-only memory with the elements of one lane, or NULL unless all elements are constants. */
static LLVMValueRef constant_table(Gen *g, const IrInst *inst)
{
    IrKind kind = ir_kind(ir_type(g->func, inst->result_first));
    LLVMTypeRef type = element_type_of_one(g, kind);
    const IrValue *args = ir_args(g->func, inst);
    LLVMValueRef *elements = ARENA_ARRAY(g->arena, LLVMValueRef, inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        if (!is_constant(g, args[i]))
            return NULL;
        const IrInst *element = ir_inst(g->func, g->func->values.data[args[i]].def);
        elements[i] = kind == IR_FLOAT
                          ? LLVMConstReal(type, (double)ir_imm_float(element))
                          : LLVMConstInt(type, (uint64_t)(uint32_t)element->imm, false);
    }
    return read_only(g, LLVMConstArray2(type, elements, inst->arg_count));
}

/* Returns the place of a parameter that is an array, if the elements are all of it in order, or NULL. */
static LLVMValueRef param_table(Gen *g, const IrInst *inst)
{
    const IrValue *args = ir_args(g->func, inst);
    bool is_bool = ir_kind(ir_type(g->func, inst->result_first)) == IR_BOOL;
    if (g->layout->rows || (is_bool && !g->mask))
        return NULL;
    const IrInst *first = ir_inst(g->func, g->func->values.data[args[0]].def);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrInstId def = g->func->values.data[args[i]].def;
        const IrInst *element = ir_inst(g->func, def);
        if (!def || element->op != IR_PARAM || element->imm != first->imm + i)
            return NULL;
    }
    uint32_t offset =
        g->layout->param_offset[ir_param_index(first->imm)] + 4 * ir_param_component(first->imm);
    return gen_address(g->entry_builder, g, gen_batch_params(g),
                       LLVMConstInt(g->t_i64, offset, false));
}

/* Finds arrays of constants, and parameters, that are only read; they need no stack memory. */
static void find_tables(Gen *g)
{
    const IrFunc *f = g->func;
    bool *is_moved = ARENA_ARRAY(g->arena, bool, f->values.count);
    for (IrInstId id = 1; id < f->insts.count; ++id) {
        const IrInst *inst = ir_inst(f, id);
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            is_moved[ir_args(f, inst)[i]] |= inst->op != IR_ARRAY_GET;
    }
    for (IrInstId id = 1; id < f->insts.count; ++id) {
        const IrInst *inst = ir_inst(f, id);
        if (inst->op != IR_ARRAY || is_moved[inst->result_first])
            continue;
        LLVMValueRef *table = &g->table[inst->result_first];
        *table = constant_table(g, inst);
        if (!*table)
            *table = param_table(g, inst);
    }
}

void gen_array_slots(Gen *g)
{
    g->table = ARENA_ARRAY(g->arena, LLVMValueRef, g->func->values.count);
    find_tables(g);
    g->slot = ARENA_ARRAY(g->arena, LLVMValueRef, g->plan->slot_count);
    for (IrValue v = 1; v < g->func->values.count; ++v) {
        uint32_t slot = g->plan->slot_of[v];
        if (slot != ARRAY_PLAN_NO_SLOT && !g->table[v] && !g->slot[slot])
            g->slot[slot] = new_array(g, g->plan->slot_type[slot]);
    }
}

static LLVMValueRef slot_of(const Gen *g, IrValue v)
{
    ASSERT(g->plan->slot_of[v] < g->plan->slot_count);
    return g->slot[g->plan->slot_of[v]];
}

/* Returns the address of an element, at an index that is equal in all lanes. */
static LLVMValueRef element_ptr(Gen *g, IrValue array, LLVMValueRef index)
{
    LLVMTypeRef type = element_type(g, ir_kind(ir_type(g->func, array)));
    return LLVMBuildInBoundsGEP2(g->builder, type, slot_of(g, array), &index, 1, "");
}

/* Returns the addresses of one element per lane, at indices that differ between lanes. */
static LLVMValueRef element_ptrs(Gen *g, IrValue array, LLVMValueRef index)
{
    LLVMTypeRef type = element_type_of_one(g, ir_kind(ir_type(g->func, array)));
    LLVMValueRef base = g->table[array];
    if (!base) {
        LLVMValueRef lane[SSL_BLOCK];
        for (uint32_t i = 0; i < g->lanes; ++i)
            lane[i] = gen_i32(g, i);
        index = LLVMBuildMul(g->builder, index, gen_const_int(g, (int32_t)g->lanes), "");
        index = LLVMBuildAdd(g->builder, index, LLVMConstVector(lane, g->lanes), "");
        base = slot_of(g, array);
    }
    return LLVMBuildInBoundsGEP2(g->builder, type, base, &index, 1, "");
}

/* llvm.masked.gather and llvm.masked.scatter: overloaded on what they move, and on the pointers. */
static LLVMValueRef call_masked(Gen *g, const char *name, LLVMValueRef ptrs, LLVMTypeRef moved,
                                LLVMValueRef *args)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef overloads[2] = {moved, LLVMTypeOf(ptrs)};
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(g->llvm, id, overloads, 2);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->context, id, overloads, 2);
    return LLVMBuildCall2(g->builder, type, function, args, 4, "");
}

static LLVMValueRef gather_from(Gen *g, LLVMValueRef ptrs, LLVMTypeRef type)
{
    LLVMValueRef all = gen_splat(g, LLVMConstInt(g->t_i1, 1, false));
    LLVMValueRef args[4] = {ptrs, gen_i32(g, 4), all, LLVMConstNull(type)};
    return call_masked(g, "llvm.masked.gather", ptrs, type, args);
}

static LLVMValueRef gather(Gen *g, IrValue array, LLVMValueRef index)
{
    return gather_from(g, element_ptrs(g, array, index),
                       element_type(g, ir_kind(ir_type(g->func, array))));
}

static LLVMValueRef table_memory(Gen *g, uint32_t index)
{
    ASSERT(index < g->module->tables.count);
    const IrTable *table = &g->module->tables.data[index];
    if (!g->module_table)
        g->module_table = ARENA_ARRAY(g->arena, LLVMValueRef, g->module->tables.count);
    if (g->module_table[index])
        return g->module_table[index];
    LLVMTypeRef type = element_type_of_one(g, table->kind);
    LLVMValueRef *elements = ARENA_ARRAY(g->arena, LLVMValueRef, table->count);
    for (uint32_t i = 0; i < table->count; ++i) {
        float x;
        memcpy(&x, &table->bits[i], sizeof x);
        elements[i] = table->kind == IR_FLOAT ? LLVMConstReal(type, (double)x)
                                              : LLVMConstInt(type, table->bits[i], false);
    }
    LLVMValueRef values = LLVMConstArray2(type, elements, table->count);
    return g->module_table[index] = read_only(g, values);
}

LLVMValueRef gen_table(Gen *g, const IrInst *inst, LLVMValueRef index)
{
    LLVMValueRef table = table_memory(g, (uint32_t)inst->imm);
    LLVMTypeRef one = element_type_of_one(g, g->module->tables.data[inst->imm].kind);
    int32_t known;
    bool is_known = gen_is_constant_int(g, ir_args(g->func, inst)[0], &known);
    LLVMValueRef at = is_known ? gen_i32(g, (uint32_t)known) : index;
    LLVMValueRef ptr = LLVMBuildInBoundsGEP2(g->builder, one, table, &at, 1, "");
    if (!g->mask || is_known)
        return gen_splat(g, LLVMBuildLoad2(g->builder, one, ptr, ""));
    return gather_from(g, ptr, gen_lane_type(g, g->module->tables.data[inst->imm].kind));
}

static void scatter(Gen *g, IrValue array, LLVMValueRef index, LLVMValueRef x)
{
    ASSERT(g->mask && g->lanes > 1);
    LLVMValueRef ptrs = element_ptrs(g, array, index);
    LLVMValueRef args[4] = {x, ptrs, gen_i32(g, 4), g->mask};
    (void)call_masked(g, "llvm.masked.scatter", ptrs, LLVMTypeOf(x), args);
}

/* A pointer that LLVM does not know to be the same. What it loads in an arm that hardly any point enters would be loaded before, and kept. */
static LLVMValueRef gen_hidden_pointer(Gen *g, LLVMValueRef pointer)
{
    static const char same[] = "=r,0";
    LLVMTypeRef type = LLVMFunctionType(g->t_ptr, &g->t_ptr, 1, false);
    LLVMValueRef hide = LLVMGetInlineAsm(type, "", 0, same, sizeof same - 1, false, false,
                                         LLVMInlineAsmDialectATT, false);
    return LLVMBuildCall2(g->builder, type, hide, &pointer, 1, "");
}

LLVMValueRef gen_table_element(Gen *g, IrValue table, LLVMValueRef index)
{
    LLVMTypeRef type = element_type_of_one(g, ir_kind(ir_type(g->func, table)));
    LLVMValueRef base = g->table[table];
    bool is_constant = LLVMIsConstant(base);
    if (g->is_apart && !is_constant)
        base = gen_hidden_pointer(g, base);
    LLVMValueRef ptr = LLVMBuildInBoundsGEP2(g->builder, type, base, &index, 1, "");
    if (is_constant)
        return LLVMBuildLoad2(g->builder, type, ptr, "");
    return gen_load_input(g, type, ptr, 4);
}

/* The index as that of one lane if it is equal in all, else NULL. */
static LLVMValueRef common_index(Gen *g, IrValue index)
{
    int32_t known;
    if (gen_is_constant_int(g, index, &known))
        return gen_i32(g, (uint32_t)known);
    return !g->mask ? g->value[index] : g->uniform[index];
}

static LLVMValueRef load_element(Gen *g, const IrInst *inst)
{
    IrValue array = ir_args(g->func, inst)[0], index = ir_args(g->func, inst)[1];
    IrKind kind = ir_kind(ir_type(g->func, array));
    LLVMValueRef x, at = common_index(g, index);
    if (!at)
        x = gather(g, array, g->value[index]);
    else if (g->table[array])
        x = gen_splat(g, gen_table_element(g, array, at));
    else
        x = LLVMBuildLoad2(g->builder, element_type(g, kind), element_ptr(g, array, at), "");
    if (kind != IR_BOOL)
        return x;
    return g->mask ? gen_int_to_bool(g, x) : LLVMBuildTrunc(g->builder, x, g->t_bool, "");
}

/* The index is equal in all lanes. */
static void store_element_at(Gen *g, IrValue array, LLVMValueRef index, LLVMValueRef x)
{
    IrKind kind = ir_kind(ir_type(g->func, array));
    if (kind == IR_BOOL)
        x = LLVMBuildZExt(g->builder, x, element_type(g, kind), "");
    gen_store_masked(g, x, element_ptr(g, array, index), element_align(g, kind));
}

static void store_element(Gen *g, IrValue array, IrValue index, LLVMValueRef x)
{
    IrKind kind = ir_kind(ir_type(g->func, array));
    LLVMValueRef at = common_index(g, index);
    if (at) {
        store_element_at(g, array, at, x);
        return;
    }
    if (kind == IR_BOOL)
        x = LLVMBuildZExt(g->builder, x, element_type(g, kind), "");
    scatter(g, array, g->value[index], x);
}

/* Copies an array in the lanes of the mask, by a loop, because arrays may be long. */
static void copy_masked(Gen *g, LLVMValueRef to, LLVMValueRef from, IrType type)
{
    ASSERT(g->mask && ir_count(type) > 0);
    LLVMTypeRef element = element_type(g, ir_kind(type));
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder), loop = gen_block(g, "copy");
    LLVMBasicBlockRef end = gen_block(g, "copy.end");
    LLVMValueRef zero = gen_i32(g, 0);
    LLVMBuildBr(g->builder, loop);
    LLVMPositionBuilderAtEnd(g->builder, loop);
    LLVMValueRef i = LLVMBuildPhi(g->builder, g->t_i32, "i");
    LLVMAddIncoming(i, &zero, &before, 1);
    LLVMValueRef source = LLVMBuildInBoundsGEP2(g->builder, element, from, &i, 1, "");
    LLVMValueRef target = LLVMBuildInBoundsGEP2(g->builder, element, to, &i, 1, "");
    gen_store_masked(g, LLVMBuildLoad2(g->builder, element, source, ""), target,
                     element_align(g, ir_kind(type)));
    LLVMValueRef next = LLVMBuildAdd(g->builder, i, gen_i32(g, 1), "");
    LLVMAddIncoming(i, &next, &loop, 1);
    LLVMBuildCondBr(g->builder,
                    LLVMBuildICmp(g->builder, LLVMIntULT, next, gen_i32(g, ir_count(type)), ""),
                    loop, end);
    LLVMPositionBuilderAtEnd(g->builder, end);
}

static void copy_whole(Gen *g, LLVMValueRef to, LLVMValueRef from, IrType type)
{
    uint32_t align = element_align(g, ir_kind(type));
    LLVMBuildMemCpy(g->builder, to, align, from, align, gen_i32(g, array_bytes(g, type)));
}

static void copy_array(Gen *g, LLVMValueRef to, LLVMValueRef from, IrType type)
{
    if (g->mask && !g->mask_is_whole)
        copy_masked(g, to, from, type);
    else
        copy_whole(g, to, from, type);
}

static void gen_array_make(Gen *g, const IrInst *inst)
{
    IrValue array = inst->result_first;
    const IrValue *args = ir_args(g->func, inst);
    if (g->table[array])
        return;
    LLVMValueRef constant = g->mask ? NULL : constant_table(g, inst);
    if (constant) {
        copy_whole(g, slot_of(g, array), constant, ir_type(g->func, array));
        return;
    }
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        store_element_at(g, array, gen_i32(g, i), g->value[args[i]]);
}

void gen_array_op(Gen *g, const IrInst *inst)
{
    const IrValue *args = ir_args(g->func, inst);
    IrValue result = inst->result_first;
    switch (inst->op) {
    case IR_ARRAY:
        gen_array_make(g, inst);
        return;
    case IR_ARRAY_GET:
        g->value[result] = load_element(g, inst);
        return;
    case IR_ARRAY_SET:
        if (slot_of(g, result) != slot_of(g, args[0]))
            copy_array(g, slot_of(g, result), slot_of(g, args[0]), ir_type(g->func, result));
        store_element(g, result, args[1], g->value[args[2]]);
        return;
    default:
        UNREACHABLE();
    }
}

/* If one copy would overwrite the source of another, all go through temporaries. */
void gen_array_transfer(Gen *g, const IrValue *from, IrValue to_first, uint32_t count)
{
    bool has_hazard = false;
    const uint32_t *slot = g->plan->slot_of;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t j = 0; j < count && slot[to_first + i] != ARRAY_PLAN_NO_SLOT; ++j)
            has_hazard |= i != j && slot[to_first + i] == slot[from[j]] &&
                          slot[to_first + i] != slot[from[i]];
    LLVMValueRef *source = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    for (uint32_t i = 0; i < count; ++i) {
        if (slot[from[i]] == ARRAY_PLAN_NO_SLOT || slot[from[i]] == slot[to_first + i])
            continue;
        source[i] = slot_of(g, from[i]);
        if (has_hazard) {
            LLVMValueRef temporary = new_array(g, ir_type(g->func, from[i]));
            copy_whole(g, temporary, source[i], ir_type(g->func, from[i]));
            source[i] = temporary;
        }
    }
    for (uint32_t i = 0; i < count; ++i)
        if (source[i])
            copy_array(g, slot_of(g, to_first + i), source[i], ir_type(g->func, from[i]));
}

/* --- arrays that cross calls ------------------------------------------------------------------- */

LLVMValueRef gen_array_address(Gen *g, IrValue array)
{
    return slot_of(g, array);
}

void gen_array_load(Gen *g, IrValue array, LLVMValueRef from)
{
    copy_array(g, slot_of(g, array), from, ir_type(g->func, array));
}

void gen_array_store(Gen *g, IrValue array, LLVMValueRef to)
{
    copy_array(g, to, slot_of(g, array), ir_type(g->func, array));
}

void gen_array_clear(Gen *g, IrValue array)
{
    LLVMBuildMemSet(g->builder, slot_of(g, array), LLVMConstNull(g->t_i8),
                    gen_i32(g, array_bytes(g, ir_type(g->func, array))), 4);
}
