/* Array values in stack memory, as array_plan.h placed them. LLVM splits what only constant indices
 * touch into registers again. */
#include "base/cast.h"
#include "base/check.h"
#include "ssl/codegen/gen.h"

/* Bools take a byte. */
static LLVMTypeRef element_type(const Gen *g, IrKind kind)
{
    return kind == IR_BOOL ? g->t_i8 : gen_lane_type(g, kind);
}

static uint32_t element_bytes(IrKind kind)
{
    return kind == IR_BOOL ? 1 : 4;
}

static uint32_t array_bytes(IrType type)
{
    return ir_count(type) * element_bytes(ir_kind(type));
}

static LLVMValueRef new_array(Gen *g, IrType type)
{
    g->stack_bytes += array_bytes(type);
    return gen_stack(g, LLVMArrayType2(element_type(g, ir_kind(type)), ir_count(type)), "array");
}

void gen_array_slots(Gen *g)
{
    g->slot = ARENA_ARRAY(g->arena, LLVMValueRef, g->plan->slot_count);
    for (uint32_t i = 0; i < g->plan->slot_count; i++)
        g->slot[i] = new_array(g, g->plan->slot_type[i]);
}

static LLVMValueRef slot_of(const Gen *g, IrValue v)
{
    return g->slot[g->plan->slot_of[v]];
}

static LLVMValueRef element_ptr(Gen *g, IrValue array, LLVMValueRef index)
{
    LLVMTypeRef type = element_type(g, ir_kind(ir_type(g->func, array)));
    return LLVMBuildInBoundsGEP2(g->builder, type, slot_of(g, array), &index, 1, "");
}

static void store_element(Gen *g, IrValue array, LLVMValueRef index, LLVMValueRef x)
{
    if (ir_kind(ir_type(g->func, array)) == IR_BOOL)
        x = LLVMBuildZExt(g->builder, x, g->t_i8, "");
    LLVMBuildStore(g->builder, x, element_ptr(g, array, index));
}

static void copy_array(Gen *g, LLVMValueRef to, LLVMValueRef from, IrType type)
{
    LLVMBuildMemCpy(g->builder, to, 4, from, 4, gen_i32(g, array_bytes(type)));
}

/* The elements as one constant in read-only memory; NULL unless all are constants. */
static LLVMValueRef constant_array(Gen *g, const IrInst *inst)
{
    IrKind kind = ir_kind(ir_type(g->func, inst->result_first));
    LLVMTypeRef type = element_type(g, kind);
    const IrValue *args = ir_args(g->func, inst);
    LLVMValueRef *elements = ARENA_ARRAY(g->arena, LLVMValueRef, inst->arg_count);
    for (uint32_t i = 0; i < inst->arg_count; i++) {
        LLVMValueRef x = g->value[args[i]];
        if (!LLVMIsConstant(x))
            return NULL;
        elements[i] = kind == IR_BOOL ? LLVMConstInt(type, LLVMConstIntGetZExtValue(x), false) : x;
    }
    LLVMValueRef values = LLVMConstArray2(type, elements, inst->arg_count);
    LLVMValueRef constant = LLVMAddGlobal(g->llvm, LLVMTypeOf(values), "table");
    LLVMSetInitializer(constant, values);
    LLVMSetGlobalConstant(constant, true);
    LLVMSetLinkage(constant, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(constant, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(constant, 4);
    return constant;
}

static void gen_array_make(Gen *g, const IrInst *inst)
{
    IrValue array = inst->result_first;
    const IrValue *args = ir_args(g->func, inst);
    LLVMValueRef constant = constant_array(g, inst);
    if (constant) {
        copy_array(g, slot_of(g, array), constant, ir_type(g->func, array));
        return;
    }
    for (uint32_t i = 0; i < inst->arg_count; i++)
        store_element(g, array, gen_i32(g, i), g->value[args[i]]);
}

void gen_array_op(Gen *g, const IrInst *inst)
{
    const IrValue *args = ir_args(g->func, inst);
    IrValue result = inst->result_first;
    switch (inst->op) {
    case IR_ARRAY:
        gen_array_make(g, inst);
        return;
    case IR_ARRAY_GET: {
        IrKind kind = ir_kind(ir_type(g->func, args[0]));
        LLVMValueRef x = LLVMBuildLoad2(g->builder, element_type(g, kind),
                                        element_ptr(g, args[0], g->value[args[1]]), "");
        g->value[result] = kind == IR_BOOL ? LLVMBuildTrunc(g->builder, x, g->t_bool, "") : x;
        return;
    }
    case IR_ARRAY_SET:
        if (slot_of(g, result) != slot_of(g, args[0]))
            copy_array(g, slot_of(g, result), slot_of(g, args[0]), ir_type(g->func, result));
        store_element(g, result, g->value[args[1]], g->value[args[2]]);
        return;
    default:
        UNREACHABLE();
    }
}

/* When a copy would overwrite what another one still has to read, all go through temporaries. */
void gen_array_transfer(Gen *g, const IrValue *from, IrValue to_first, uint32_t count)
{
    bool has_hazard = false;
    const uint32_t *slot = g->plan->slot_of;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count && slot[to_first + i] != ARRAY_PLAN_NO_SLOT; j++)
            has_hazard |= i != j && slot[to_first + i] == slot[from[j]] &&
                          slot[to_first + i] != slot[from[i]];
    LLVMValueRef *source = ARENA_ARRAY(g->arena, LLVMValueRef, count);
    for (uint32_t i = 0; i < count; i++) {
        if (slot[from[i]] == ARRAY_PLAN_NO_SLOT || slot[from[i]] == slot[to_first + i])
            continue;
        source[i] = slot_of(g, from[i]);
        if (has_hazard) {
            LLVMValueRef temporary = new_array(g, ir_type(g->func, from[i]));
            copy_array(g, temporary, source[i], ir_type(g->func, from[i]));
            source[i] = temporary;
        }
    }
    for (uint32_t i = 0; i < count; i++)
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
                    gen_i32(g, array_bytes(ir_type(g->func, array))), 4);
}
