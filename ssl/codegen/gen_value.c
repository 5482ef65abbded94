/* Small values that all generators make: constants, the same number in all lanes, addresses, loads, faults. */
#include "base/check.h"
#include "ssl/codegen/gen.h"

LLVMValueRef gen_i32(Gen *g, uint32_t x)
{
    return LLVMConstInt(g->t_i32, x, false);
}

LLVMValueRef gen_stack(Gen *g, LLVMTypeRef type, const char *name)
{
    LLVMValueRef slot = LLVMBuildAlloca(g->entry_builder, type, name);
    LLVMSetAlignment(slot, g->lanes > 2 ? 4 * g->lanes : 8);
    return slot;
}

LLVMValueRef gen_splat(Gen *g, LLVMValueRef x)
{
    if (!g->mask)
        return x;
    LLVMValueRef all[SSL_BLOCK];
    if (LLVMIsConstant(x)) {
        for (uint32_t i = 0; i < g->lanes; ++i)
            all[i] = x;
        return LLVMConstVector(all, g->lanes);
    }
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(x), g->lanes);
    LLVMTypeRef index_type = LLVMVectorType(g->t_i32, g->lanes);
    LLVMValueRef first =
        LLVMBuildInsertElement(g->builder, LLVMGetPoison(type), x, gen_i32(g, 0), "");
    return LLVMBuildShuffleVector(g->builder, first, LLVMGetPoison(type), LLVMConstNull(index_type),
                                  "");
}

LLVMValueRef gen_const_int(Gen *g, int32_t x)
{
    return gen_splat(g, gen_i32(g, (uint32_t)x));
}

LLVMValueRef gen_const_float(Gen *g, float x)
{
    return gen_splat(g, LLVMConstReal(g->t_f32, (double)x));
}

LLVMBasicBlockRef gen_block(Gen *g, const char *name)
{
    return LLVMAppendBasicBlockInContext(g->context, g->function, name);
}

LLVMValueRef gen_address(LLVMBuilderRef builder, Gen *g, LLVMValueRef base,
                         LLVMValueRef offset_bytes)
{
    return LLVMBuildInBoundsGEP2(builder, g->t_i8, base, &offset_bytes, 1, "");
}

LLVMValueRef gen_offset(Gen *g, LLVMValueRef base, uint32_t offset_bytes)
{
    return gen_address(g->builder, g, base, LLVMConstInt(g->t_i64, offset_bytes, false));
}

void gen_store_field(Gen *g, LLVMValueRef base, size_t offset_bytes, LLVMValueRef x)
{
    LLVMBuildStore(g->builder, x, gen_offset(g, base, (uint32_t)offset_bytes));
}

LLVMValueRef gen_load_at(LLVMBuilderRef builder, Gen *g, LLVMTypeRef type, LLVMValueRef ptr,
                         uint32_t align)
{
    LLVMValueRef load = LLVMBuildLoad2(builder, type, ptr, "");
    LLVMSetAlignment(load, align);
    LLVMSetMetadata(load, g->md_invariant_load, g->md_empty);
    LLVMSetMetadata(load, g->md_alias_scope, g->scope_input);
    LLVMSetMetadata(load, g->md_noalias, g->scope_output);
    return load;
}

LLVMValueRef gen_load_input(Gen *g, LLVMTypeRef type, LLVMValueRef ptr, uint32_t align)
{
    return gen_load_at(g->builder, g, type, ptr, align);
}

LLVMTypeRef gen_lane_type(const Gen *g, IrKind kind)
{
    CHECK(kind != IR_CLOSURE);
    return kind == IR_BOOL ? g->t_bool : kind == IR_INT ? g->t_int : g->t_float;
}

/* LLVM makes the same of a selection of bools, and of selections in one another that share a side; but before that it
 * proves for each that nothing is poison, and a chain of n of them takes it the square of n. */
LLVMValueRef gen_choose(Gen *g, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b)
{
    LLVMBuilderRef builder = g->builder;
    if (LLVMTypeOf(a) == g->t_bool) {
        LLVMValueRef no = LLVMBuildNot(builder, condition, "");
        return LLVMBuildOr(builder, LLVMBuildAnd(builder, condition, a, ""),
                           LLVMBuildAnd(builder, no, b, ""), "");
    }
    if (LLVMIsASelectInst(b) && LLVMGetOperand(b, 1) == a) {
        condition = LLVMBuildOr(builder, condition, LLVMGetOperand(b, 0), "");
        b = LLVMGetOperand(b, 2);
    } else if (LLVMIsASelectInst(a) && LLVMGetOperand(a, 2) == b) {
        condition = LLVMBuildAnd(builder, condition, LLVMGetOperand(a, 0), "");
        a = LLVMGetOperand(a, 1);
    }
    return LLVMBuildSelect(builder, condition, a, b, "");
}

LLVMValueRef gen_bool_to_int(Gen *g, LLVMValueRef x)
{
    return LLVMBuildZExt(g->builder, x, g->t_int, "");
}

LLVMValueRef gen_int_to_bool(Gen *g, LLVMValueRef x)
{
    return LLVMBuildICmp(g->builder, LLVMIntNE, x, LLVMConstNull(g->t_int), "");
}

void gen_fault(Gen *g, uint32_t site, LLVMValueRef where)
{
    ASSERT(site < g->module->fault_sites.count && (where != NULL) == (g->mask != NULL));
    LLVMValueRef fault = LLVMBuildLoad2(g->builder, g->t_int, g->fault, "");
    LLVMValueRef is_new = LLVMBuildICmp(g->builder, LLVMIntEQ, fault, LLVMConstNull(g->t_int), "");
    if (where)
        is_new = LLVMBuildAnd(g->builder, is_new, where, "");
    LLVMValueRef word = gen_const_int(g, (int32_t)(1 + site));
    LLVMBuildStore(g->builder, LLVMBuildSelect(g->builder, is_new, word, fault, ""), g->fault);
}
