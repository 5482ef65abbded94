/* Reads of globals, attributes and parameters through the fields of the batch. */
#include "base/check.h"
#include "ssl/codegen/gen.h"

LLVMValueRef gen_batch_field(Gen *g, LLVMTypeRef type, size_t offset, uint32_t align)
{
    LLVMValueRef ptr =
        gen_address(g->entry_builder, g, g->batch, LLVMConstInt(g->t_i64, offset, false));
    return gen_load_at(g->entry_builder, g, type, ptr, align);
}

LLVMValueRef gen_batch_pointer(Gen *g, size_t offset)
{
    return gen_batch_field(g, g->t_ptr, offset, _Alignof(void *));
}

static LLVMValueRef once(Gen *g, LLVMValueRef *cached, size_t offset)
{
    if (!*cached)
        *cached = gen_batch_pointer(g, offset);
    return *cached;
}

/* Tells LLVM that `bytes` at a loaded pointer can be read at any time, so it may hoist loads. */
static LLVMValueRef promise_readable(Gen *g, LLVMValueRef load, uint64_t bytes)
{
    LLVMMetadataRef size = LLVMValueAsMetadata(LLVMConstInt(g->t_i64, bytes, false));
    LLVMMetadataRef node = LLVMMDNodeInContext2(g->context, &size, 1);
    unsigned kind = LLVMGetMDKindIDInContext(g->context, "dereferenceable", 15);
    LLVMSetMetadata(load, kind, LLVMMetadataAsValue(g->context, node));
    return load;
}

LLVMValueRef gen_batch_params(Gen *g)
{
    bool is_new = !g->params;
    LLVMValueRef params = once(g, &g->params, offsetof(SslBatch, params));
    return is_new ? promise_readable(g, params, g->layout->params_bytes) : params;
}

LLVMValueRef gen_batch_textures(Gen *g)
{
    return once(g, &g->textures, offsetof(SslBatch, textures));
}

LLVMValueRef gen_batch_services(Gen *g)
{
    return once(g, &g->services, offsetof(SslBatch, services));
}

LLVMValueRef gen_batch_host(Gen *g)
{
    return once(g, &g->host, offsetof(SslBatch, host));
}

#define IS_IN_ALL_CALLS(field) (offsetof(SslTexCall, field) == offsetof(SslAskCall, field))
_Static_assert(IS_IN_ALL_CALLS(block) && IS_IN_ALL_CALLS(lane_first) &&
                   IS_IN_ALL_CALLS(lane_count) && IS_IN_ALL_CALLS(lane_mask),
               "all calls begin with the block and the lanes");

void gen_service(Gen *g, size_t service_offset, LLVMValueRef call)
{
    LLVMTypeRef params[2] = {g->t_ptr, g->t_ptr};
    LLVMTypeRef type = LLVMFunctionType(g->t_void, params, 2, false);
    LLVMValueRef service = gen_load_input(
        g, g->t_ptr, gen_offset(g, gen_batch_services(g), (uint32_t)service_offset), 8);
    LLVMValueRef args[2] = {gen_batch_host(g), call};
    gen_store_field(g, call, offsetof(SslTexCall, block), g->block);
    gen_store_field(g, call, offsetof(SslTexCall, lane_first), g->lane);
    gen_store_field(g, call, offsetof(SslTexCall, lane_count), gen_i32(g, g->lanes));
    gen_store_field(g, call, offsetof(SslTexCall, lane_mask), gen_lane_bits(g));
    LLVMBuildCall2(g->builder, type, service, args, 2, "");
}

LLVMValueRef gen_lane_address(Gen *g, LLVMValueRef block_base, uint32_t offset_bytes)
{
    LLVMValueRef base = gen_offset(g, block_base, offset_bytes);
    return LLVMBuildInBoundsGEP2(g->builder, g->t_i32, base, &g->lane, 1, "");
}

/* Loads all lanes of a row as the result of `inst`. Bools are stored as ints. */
static LLVMValueRef load_lanes(Gen *g, const IrInst *inst, LLVMValueRef block_base,
                               uint32_t offset_bytes)
{
    IrKind kind = ir_kind(ir_type(g->func, inst->result_first));
    LLVMTypeRef type = kind == IR_BOOL ? g->t_int : gen_lane_type(g, kind);
    LLVMValueRef x =
        gen_load_input(g, type, gen_lane_address(g, block_base, offset_bytes), 4 * g->lanes);
    return kind == IR_BOOL ? gen_int_to_bool(g, x) : x;
}

LLVMValueRef gen_global(Gen *g, const IrInst *inst)
{
    uint32_t row = ir_global_row(inst->imm), shadow = ir_global_shadow(inst->imm);
    const SslGlobalRow *global = &g->module->globals[row];
    CHECK(row < g->module->global_count && (shadow == IR_SHADOW_VALUE || global->has_derivs));
    uint32_t component = shadow * ssl_type_scalars(global->type) + ir_global_component(inst->imm);
    uint32_t offset = 4 * g->layout->globals.offset_floats[row] + component * KERNEL_LANE_ROW_BYTES;
    return load_lanes(g, inst, g->globals, offset);
}

/* Returns the address of the block's attributes, computed in the entry block once per function that reads any. */
static LLVMValueRef attributes_of_block(Gen *g)
{
    if (g->attributes)
        return g->attributes;
    LLVMValueRef all = gen_batch_pointer(g, offsetof(SslBatch, attributes));
    LLVMValueRef index = LLVMBuildZExt(g->entry_builder, g->block, g->t_i64, "");
    LLVMValueRef stride = LLVMConstInt(g->t_i64, g->layout->attributes_stride_bytes, false);
    LLVMValueRef offset = LLVMBuildMul(g->entry_builder, index, stride, "");
    return g->attributes = gen_address(g->entry_builder, g, all, offset);
}

LLVMValueRef gen_attribute(Gen *g, const IrInst *inst)
{
    uint32_t slot = ir_global_row(inst->imm), shadow = ir_global_shadow(inst->imm);
    CHECK(slot < g->module->info.attribute_count);
    const SslAttributeSlot *where = &g->layout->attributes[slot];
    uint32_t scalars = ssl_type_scalars(g->module->info.attributes[slot].type);
    uint32_t row = shadow * scalars + ir_global_component(inst->imm);
    uint32_t offset = shadow == IR_SHADOW_EXISTS
                          ? where->existence_offset_bytes
                          : where->offset_bytes + row * KERNEL_LANE_ROW_BYTES;
    return load_lanes(g, inst, attributes_of_block(g), offset);
}

LLVMValueRef gen_row(Gen *g, SslRowPlace place)
{
    LLVMBuilderRef builder = g->entry_builder;
    LLVMValueRef list = LLVMConstInt(g->t_i64, place.list * sizeof(void *), false);
    LLVMValueRef row = LLVMConstInt(g->t_i64, (uint64_t)place.row * KERNEL_LANE_ROW_BYTES, false);
    LLVMValueRef lists = once(g, &g->params, offsetof(SslBatch, params));
    LLVMValueRef first =
        gen_load_at(builder, g, g->t_ptr, gen_address(builder, g, lists, list), _Alignof(void *));
    return gen_address(builder, g, first, row);
}

LLVMValueRef gen_param(Gen *g, const IrInst *inst)
{
    uint32_t index = ir_param_index(inst->imm);
    CHECK(index < g->module->info.param_count);
    if (g->layout->rows)
        return load_lanes(g, inst, gen_row(g, g->layout->rows->params[index]),
                          ir_param_component(inst->imm) * KERNEL_LANE_ROW_BYTES);
    uint32_t offset = g->layout->param_offset[index] + 4 * ir_param_component(inst->imm);
    IrKind kind = ir_kind(ir_type(g->func, inst->result_first));
    LLVMValueRef ptr = gen_offset(g, gen_batch_params(g), offset);
    LLVMValueRef x =
        gen_splat(g, gen_load_input(g, kind == IR_FLOAT ? g->t_f32 : g->t_i32, ptr, 4));
    return kind == IR_BOOL ? gen_int_to_bool(g, x) : x;
}
