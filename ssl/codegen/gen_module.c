/* The frame of a kernel, which has two functions:
 *
 *   kernel(batch)    for every block: clear the lobe masks; for every lane, or group of lanes, that has live
 *                    ones:
 *   point(batch, globals, result, block, lane, mask)
 *                    the shader for the lanes from `lane` on; the results of live ones are stored
 *
 * Recursive functions stand before them (gen_call.c). A small point without texture lookups is put inline. Any
 * other stays a function: a call is nothing beside a lookup, and inside a loop the hoisting of all the
 * constants and uniform values of a large shader costs more than it saves, when compiling and when running.
 *
 * While a kernel runs, nothing writes globals, parameters and the batch, and nothing reads results. Loads are therefore
 * marked invariant, and loads and stores are in different alias scopes, so that LLVM may hoist, share and vectorise
 * them like local variables. */
#include "base/cast.h"
#include "base/check.h"
#include "ssl/codegen/gen.h"
#include "ssl/codegen/index_range.h"
#include "ssl/ir/ir_clone.h"
#include "ssl/ssl_limits.h"
#include <stdio.h>
#include <string.h>

enum { POINT_PARAMS = 6 };

/* --- results ---------------------------------------------------------------------------------- */

static void mark_output(Gen *g, LLVMValueRef access, uint32_t align)
{
    LLVMSetAlignment(access, align);
    LLVMSetMetadata(access, g->md_alias_scope, g->scope_output);
    LLVMSetMetadata(access, g->md_noalias, g->scope_input);
}

static void store_result(Gen *g, LLVMValueRef x, LLVMValueRef ptr, uint32_t align)
{
    mark_output(g, LLVMBuildStore(g->builder, x, ptr), align);
}

/* A masked store is one instruction with AVX-512, which has 16 lanes. With fewer lanes, a load, a blend and a store are
 * faster. */
static void store_where(Gen *g, LLVMValueRef x, LLVMValueRef ptr, LLVMValueRef where)
{
    static const char name[] = "llvm.masked.store";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMTypeRef overloads[2] = {LLVMTypeOf(x), LLVMTypeOf(ptr)};
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(g->llvm, id, overloads, 2);
    LLVMTypeRef type = LLVMIntrinsicGetType(g->context, id, overloads, 2);
    LLVMValueRef args[4] = {x, ptr, gen_i32(g, 4 * g->lanes), where};
    LLVMValueRef store = LLVMBuildCall2(g->builder, type, function, args, 4, "");
    LLVMSetMetadata(store, g->md_alias_scope, g->scope_output);
    LLVMSetMetadata(store, g->md_noalias, g->scope_input);
}

/* Stores one number per lane in the lanes of `where`, which is NULL in code of one lane. Other lanes of the memory keep
 * their values. */
static void store_lanes(Gen *g, LLVMValueRef x, LLVMValueRef ptr, LLVMValueRef where)
{
    if (where && g->lanes == SSL_BLOCK) {
        store_where(g, x, ptr, where);
        return;
    }
    if (where) {
        LLVMValueRef old = LLVMBuildLoad2(g->builder, LLVMTypeOf(x), ptr, "");
        mark_output(g, old, 4 * g->lanes);
        x = LLVMBuildSelect(g->builder, where, x, old, "");
    }
    store_result(g, x, ptr, 4 * g->lanes);
}

static void store_value(Gen *g, IrValue v, LLVMValueRef base, uint32_t offset_bytes,
                        LLVMValueRef where)
{
    LLVMValueRef x = g->value[v];
    if (ir_kind(ir_type(g->func, v)) == IR_BOOL)
        x = gen_bool_to_int(g, x);
    gen_border_when_due(g, 4);
    store_lanes(g, x, gen_lane_address(g, base, offset_bytes), where);
}

/* Returns the address of the rows of output `index`, whose number is that of the outputs for the fault words. */
static LLVMValueRef output_rows(Gen *g, uint32_t index)
{
    if (g->layout->rows)
        return gen_row(g, g->layout->rows->outputs[index]);
    bool is_fault = index == g->module->outputs.count;
    return gen_offset(g, g->result,
                      is_fault ? g->layout->fault_offset : g->layout->output_offset[index]);
}

static bool is_stored(const IrOutput *output)
{
    return output->type != SSL_CLOSURE;
}

static void store_output(Gen *g, uint32_t index, uint32_t number, IrValue v)
{
    store_value(g, v, output_rows(g, index), number * KERNEL_LANE_ROW_BYTES, g->mask);
}

/* Outputs are stored as soon as they are there: hundreds of them would be spilled until the end. Rows may be those of inputs, which
 * are read before. */
static void find_results(Gen *g)
{
    const IrModule *m = g->module;
    const IrValue *results = ir_yield_args(g->func, g->func->body);
    if (g->layout->rows)
        return;
    g->first_result = ARENA_ARRAY(g->arena, uint32_t, g->func->values.count);
    g->next_result = ARENA_ARRAY(g->arena, uint32_t, g->func->result_count);
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *output = &m->outputs.data[i];
        for (uint32_t k = 0; k < output->result_count && is_stored(output); ++k) {
            uint32_t result = output->result_first + k;
            g->next_result[result] = g->first_result[results[result]];
            g->first_result[results[result]] = result + 1;
        }
    }
}

/* The output that a result of the entry belongs to. */
static uint32_t output_of(const IrModule *m, uint32_t result)
{
    uint32_t low = 0, high = m->outputs.count; /* it is in [low, high) */
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(m->outputs.data[middle].result_first <= result ? &low : &high) = middle;
    }
    return low;
}

void gen_store_outputs(Gen *g, const IrInst *inst)
{
    const IrModule *m = g->module;
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue v = inst->result_first + i;
        for (uint32_t at = g->first_result[v]; at; at = g->next_result[at - 1]) {
            uint32_t output = output_of(m, at - 1);
            store_output(g, output, at - 1 - m->outputs.data[output].result_first, v);
        }
    }
}

/* Stores the fault words, and the results of the entry that are not stored yet, in the order of its YIELD. */
static void store_results(Gen *g, const IrValue *results)
{
    const IrModule *m = g->module;
    LLVMValueRef fault = LLVMBuildLoad2(g->builder, g->t_int, g->fault, "");
    LLVMValueRef fault_rows = output_rows(g, m->outputs.count);
    store_lanes(g, fault, gen_lane_address(g, fault_rows, 0), g->mask);
    for (uint32_t i = 0; i < m->outputs.count && !g->first_result; ++i) {
        const IrOutput *output = &m->outputs.data[i];
        for (uint32_t j = 0; j < output->result_count && is_stored(output); ++j)
            store_output(g, i, j, results[output->result_first + j]);
    }
}

/* Returns the lanes in which a term is present as bits of a block's mask. */
static LLVMValueRef lobe_bits(Gen *g, LLVMValueRef present)
{
    LLVMValueRef bits = LLVMConstInt(g->t_i16, 1, false);
    if (g->mask) {
        bits =
            LLVMBuildBitCast(g->builder, present, LLVMIntTypeInContext(g->context, g->lanes), "");
        bits = LLVMBuildZExtOrBitCast(g->builder, bits, g->t_i16, "");
    }
    LLVMValueRef lane = LLVMBuildTrunc(g->builder, g->lane, g->t_i16, "");
    return LLVMBuildShl(g->builder, bits, lane, "");
}

/* Stores weight and arguments of one lobe, and its bits in the block's mask, in the lanes where it is present. */
static void store_lobe(Gen *g, const IrLobeSlot *slot, const SslLobeSlot *where,
                       const IrValue *results)
{
    LLVMBasicBlockRef store = gen_block(g, "lobe"), end = gen_block(g, "lobe.end");
    LLVMValueRef present = g->value[results[slot->result_first]];
    if (g->mask)
        present = LLVMBuildAnd(g->builder, g->mask, present, "");
    LLVMBuildCondBr(g->builder, g->mask ? gen_any(g, present) : present, store, end);
    LLVMPositionBuilderAtEnd(g->builder, store);
    for (uint32_t i = 0; i < 3 + slot->arg_count; ++i)
        store_value(g, results[slot->result_first + 1 + i], g->result,
                    where->weight_offset + i * KERNEL_LANE_ROW_BYTES, g->mask ? present : NULL);
    LLVMValueRef mask_ptr = gen_offset(g, g->result, where->mask_offset);
    LLVMValueRef mask = LLVMBuildLoad2(g->builder, g->t_i16, mask_ptr, "");
    LLVMBuildStore(g->builder, LLVMBuildOr(g->builder, mask, lobe_bits(g, present), ""), mask_ptr);
    LLVMBuildBr(g->builder, end);
    LLVMPositionBuilderAtEnd(g->builder, end);
}

/* --- the point -------------------------------------------------------------------------------- */

static void add_attribute(Gen *g, LLVMAttributeIndex index, const char *name, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(g->function, index, LLVMCreateEnumAttribute(g->context, kind, value));
}

static void add_function_attribute(Gen *g, const char *name)
{
    gen_add_attribute(g, g->function, name);
}

static void add_text_attribute(Gen *g, const char *key, const char *value)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(g->context, key, (unsigned)strlen(key),
                                                           value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(g->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

void gen_add_attribute(Gen *g, LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(g->context, kind, 0));
}

void gen_enter_function(Gen *g, LLVMValueRef function)
{
    g->function = function;
    g->batch = LLVMGetParam(g->function, 0);
    add_function_attribute(g, "nounwind");
    static const char *const batch_facts[] = {"noalias", "nocapture", "readonly", "nonnull"};
    for (uint32_t i = 0; i < SORT_COUNT_OF(batch_facts); ++i)
        add_attribute(g, 1, batch_facts[i], 0);
    add_attribute(g, 1, "dereferenceable", sizeof(SslBatch));
    add_attribute(g, 1, "align", _Alignof(SslBatch));
    /* LLVM must not assume when it folds that subnormals are, or are not, flushed. */
    const char *key = "denormal-fp-math", *mode = "dynamic,dynamic";
    add_text_attribute(g, key, mode);
    /* A frame of more than a page is touched page by page, so that none steps over a stack's guard. */
    add_text_attribute(g, "probe-stack", "inline-asm");
    /* Calls of mathematics spill registers, which takes twice as long where these cross a line of the cache. */
    if (g->lanes > 4)
        add_attribute(g, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, "alignstack",
                      (uint64_t)4 * g->lanes);
    LLVMBasicBlockRef entry = gen_block(g, "entry");
    LLVMPositionBuilderAtEnd(g->builder, entry);
    LLVMPositionBuilderAtEnd(g->entry_builder, entry);
}

void gen_begin_body(Gen *g, const IrFunc *f)
{
    g->func = f;
    g->value = ARENA_ARRAY(g->arena, LLVMValueRef, f->values.count);
    g->plan = array_plan_create(f, g->arena);
    g->params = g->textures = g->services = g->host = g->attributes = NULL;
    g->tex_call = g->tex_coord = g->tex_result = NULL;
    g->ask_call = g->ask_args = g->ask_result = NULL;
    g->cosine = NULL;
    g->first_result = g->next_result = NULL;
    g->stack_bytes = 0;
    g->since_border = 0;
    g->has_border = false;
    g->known = NULL;
    g->is_in_range = index_range_find(f, g->arena);
    gen_find_twins(g);
}

/* Generates the function that runs the shader for g->lanes lanes and stores the results. */
static void gen_point(Gen *g)
{
    const IrModule *m = g->module;
    LLVMTypeRef params[POINT_PARAMS] = {g->t_ptr, g->t_ptr, g->t_ptr, g->t_i32, g->t_i32, g->t_i32};
    g->point_type = LLVMFunctionType(g->t_void, params, POINT_PARAMS, false);
    gen_enter_function(g, LLVMAddFunction(g->llvm, "point", g->point_type));
    g->point = g->function;
    LLVMSetLinkage(g->point, LLVMInternalLinkage);
    add_function_attribute(g, codegen_is_inline(m) ? "alwaysinline" : "noinline");
    g->globals = LLVMGetParam(g->point, 1);
    g->result = LLVMGetParam(g->point, 2);
    g->block = LLVMGetParam(g->point, 3);
    g->lane = LLVMGetParam(g->point, 4);
    LLVMValueRef loop_budget = gen_batch_field(g, g->t_i32, offsetof(SslBatch, loop_budget), 4);
    if (g->lanes > 1) {
        LLVMTypeRef bits = LLVMIntTypeInContext(g->context, g->lanes);
        LLVMValueRef live = LLVMBuildTrunc(g->entry_builder, LLVMGetParam(g->point, 5), bits, "");
        g->mask = LLVMBuildBitCast(g->entry_builder, live, g->t_bool, "live");
        g->mask_is_whole = true;
    }
    g->budget = gen_stack(g, g->t_int, "budget");
    g->fault = gen_stack(g, g->t_int, "fault");
    if (codegen_is_recursive(m)) {
        LLVMValueRef bytes = gen_batch_field(g, g->t_i32, offsetof(SslBatch, stack_bytes), 4);
        g->stack = gen_stack(g, g->t_i32, "stack");
        LLVMBuildStore(g->entry_builder, bytes, g->stack);
    }
    gen_array_slots(g);
    gen_find_uniform(g);
    find_results(g);
    LLVMBasicBlockRef body = gen_block(g, "body");

    LLVMPositionBuilderAtEnd(g->builder, body);
    LLVMBuildStore(g->builder, LLVMConstNull(g->t_int), g->fault);
    LLVMBuildStore(g->builder, gen_splat(g, loop_budget), g->budget);
    const IrValue *results = ir_args(g->func, gen_region(g, g->func->body));
    store_results(g, results);
    for (uint32_t i = 0; i < m->slots.count; ++i)
        store_lobe(g, &m->slots.data[i], &g->layout->lobes[i], results);
    (void)gen_last_border(g, NULL);
    LLVMBuildRetVoid(g->builder);
    LLVMBuildBr(g->entry_builder, body); /* the entry is complete */
}

/* --- the kernel ------------------------------------------------------------------------------- */

/* A loop counter that starts at 0 when `before` enters the present block; end_count closes it. */
static LLVMValueRef begin_count(Gen *g, LLVMBasicBlockRef before, const char *name)
{
    LLVMValueRef count = LLVMBuildPhi(g->builder, g->t_i32, name), zero = gen_i32(g, 0);
    LLVMAddIncoming(count, &zero, &before, 1);
    return count;
}

static void end_count(Gen *g, LLVMValueRef count, uint32_t step, LLVMValueRef limit,
                      LLVMBasicBlockRef again, LLVMBasicBlockRef end)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->builder);
    LLVMValueRef next = LLVMBuildAdd(g->builder, count, gen_i32(g, step), "");
    LLVMAddIncoming(count, &next, &here, 1);
    LLVMBuildCondBr(g->builder, LLVMBuildICmp(g->builder, LLVMIntULT, next, limit, ""), again, end);
}

/* Shades the live lanes of one block, g->lanes at once; ends in block `done`. */
static void gen_lanes(Gen *g, LLVMValueRef live, LLVMBasicBlockRef done)
{
    LLVMBasicBlockRef before = LLVMGetInsertBlock(g->builder), lane = gen_block(g, "lane");
    LLVMBasicBlockRef is_there = gen_block(g, "live"), next = gen_block(g, "next");
    LLVMBuildBr(g->builder, lane);
    LLVMPositionBuilderAtEnd(g->builder, lane);
    g->lane = begin_count(g, before, "lane");
    LLVMValueRef mask = LLVMBuildLShr(g->builder, live, g->lane, "");
    mask = LLVMBuildAnd(g->builder, mask, gen_i32(g, (1u << g->lanes) - 1), "");
    LLVMValueRef any = LLVMBuildICmp(g->builder, LLVMIntNE, mask, gen_i32(g, 0), "");
    LLVMBuildCondBr(g->builder, any, is_there, next);

    LLVMPositionBuilderAtEnd(g->builder, is_there);
    LLVMValueRef args[POINT_PARAMS] = {g->batch, g->globals, g->result, g->block, g->lane, mask};
    LLVMBuildCall2(g->builder, g->point_type, g->point, args, POINT_PARAMS, "");
    LLVMBuildBr(g->builder, next);

    LLVMPositionBuilderAtEnd(g->builder, next);
    end_count(g, g->lane, g->lanes, gen_i32(g, SSL_BLOCK), lane, done);
}

static LLVMValueRef block_address(Gen *g, LLVMValueRef base, uint32_t stride_bytes)
{
    LLVMValueRef index = LLVMBuildZExt(g->builder, g->block, g->t_i64, "");
    LLVMValueRef stride = LLVMConstInt(g->t_i64, stride_bytes, false);
    return gen_address(g->builder, g, base, LLVMBuildMul(g->builder, index, stride, ""));
}

static void gen_kernel(Gen *g, const char *symbol)
{
    g->mask = NULL; /* the code below handles whole blocks */
    gen_enter_function(
        g, LLVMAddFunction(g->llvm, symbol, LLVMFunctionType(g->t_void, &g->t_ptr, 1, false)));
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(g->builder);
    LLVMValueRef globals = gen_batch_pointer(g, offsetof(SslBatch, globals));
    LLVMValueRef live_masks = gen_batch_pointer(g, offsetof(SslBatch, live));
    LLVMValueRef results = gen_batch_pointer(g, offsetof(SslBatch, result));
    LLVMValueRef block_count = gen_batch_field(g, g->t_i32, offsetof(SslBatch, block_count), 4);
    LLVMBasicBlockRef block = gen_block(g, "block"), done = gen_block(g, "done");
    LLVMBasicBlockRef end = gen_block(g, "end");
    LLVMBuildCondBr(g->builder,
                    LLVMBuildICmp(g->builder, LLVMIntEQ, block_count, gen_i32(g, 0), ""), end,
                    block);

    LLVMPositionBuilderAtEnd(g->builder, block);
    g->block = begin_count(g, entry, "block");
    g->globals = block_address(g, globals, g->layout->globals.stride_bytes);
    g->result = block_address(g, results, g->layout->result_stride_bytes);
    LLVMValueRef index = LLVMBuildZExt(g->builder, g->block, g->t_i64, "");
    LLVMValueRef live_ptr = LLVMBuildInBoundsGEP2(g->builder, g->t_i16, live_masks, &index, 1, "");
    LLVMValueRef live =
        LLVMBuildZExt(g->builder, gen_load_input(g, g->t_i16, live_ptr, 2), g->t_i32, "");
    for (uint32_t i = 0; i < g->module->slots.count; ++i)
        store_result(g, LLVMConstNull(g->t_i16),
                     gen_offset(g, g->result, g->layout->lobes[i].mask_offset), 2);
    gen_lanes(g, live, done);

    LLVMPositionBuilderAtEnd(g->builder, done);
    end_count(g, g->block, 1, block_count, block, end);
    LLVMPositionBuilderAtEnd(g->builder, end);
    LLVMBuildRetVoid(g->builder);
}

/* --- the module ------------------------------------------------------------------------------- */

static void init_types(Gen *g)
{
    g->t_i8 = LLVMInt8TypeInContext(g->context);
    g->t_i16 = LLVMInt16TypeInContext(g->context);
    g->t_i32 = LLVMInt32TypeInContext(g->context);
    g->t_i64 = LLVMInt64TypeInContext(g->context);
    g->t_ptr = LLVMPointerTypeInContext(g->context, 0);
    g->t_void = LLVMVoidTypeInContext(g->context);
    g->t_i1 = LLVMInt1TypeInContext(g->context);
    g->t_f32 = LLVMFloatTypeInContext(g->context);
    bool is_wide = g->lanes > 1;
    g->t_bool = is_wide ? LLVMVectorType(g->t_i1, g->lanes) : g->t_i1;
    g->t_int = is_wide ? LLVMVectorType(g->t_i32, g->lanes) : g->t_i32;
    g->t_float = is_wide ? LLVMVectorType(g->t_f32, g->lanes) : g->t_f32;
}

static LLVMValueRef alias_scope(Gen *g, const char *name)
{
    LLVMMetadataRef domain_name = LLVMMDStringInContext2(g->context, "ssl", 3);
    LLVMMetadataRef domain = LLVMMDNodeInContext2(g->context, &domain_name, 1);
    LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(g->context, name, strlen(name)), domain};
    LLVMMetadataRef scope = LLVMMDNodeInContext2(g->context, parts, 2);
    return LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, &scope, 1));
}

static void init_metadata(Gen *g)
{
    g->md_invariant_load = LLVMGetMDKindIDInContext(g->context, "invariant.load", 14);
    g->md_alias_scope = LLVMGetMDKindIDInContext(g->context, "alias.scope", 11);
    g->md_noalias = LLVMGetMDKindIDInContext(g->context, "noalias", 7);
    g->md_empty = LLVMMetadataAsValue(g->context, LLVMMDNodeInContext2(g->context, NULL, 0));
    g->scope_input = alias_scope(g, "input");
    g->scope_output = alias_scope(g, "output");
}

bool codegen_is_inline(const IrModule *m)
{
    const IrFunc *f = ir_func(m, m->entry);
    bool is_inline = f->insts.count <= CODEGEN_INLINE_INSTRUCTIONS;
    for (IrInstId id = 1; id < f->insts.count && is_inline; ++id)
        is_inline = !ir_has_texture_site((IrOp)ir_inst(f, id)->op) &&
                    ir_inst(f, id)->op != IR_ASK && ir_inst(f, id)->op != IR_CALL;
    return is_inline;
}

static Status check_stack(const Gen *g, Error *err)
{
    if (g->stack_bytes <= SSL_MAX_ARRAY_BYTES)
        return STATUS_OK;
    return error_set(err, STATUS_LIMIT,
                     "the arrays of shader '%s' take %u bytes of stack; a kernel may take %d",
                     g->module->info.name, g->stack_bytes, SSL_MAX_ARRAY_BYTES);
}

static Status gen_all(Gen *g, const char *symbol, Error *err)
{
    jmp_buf no_memory;
    if (setjmp(no_memory) != 0)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    arena_on_no_memory(g->arena, &no_memory);
    init_types(g);
    init_metadata(g);
    gen_callees(g);
    gen_begin_body(g, ir_func(g->module, g->module->entry));
    gen_point(g);
    gen_kernel(g, symbol);
    return check_stack(g, err);
}

Status codegen_module(const IrModule *m, const KernelLayout *layout, const CodegenDesc *desc,
                      LLVMContextRef context, LLVMModuleRef *out_module, Error *err)
{
    CHECK(desc->lanes == 1 || desc->lanes == 4 || desc->lanes == 8 || desc->lanes == 16);
    CHECK(desc->lanes == 1 || !codegen_is_recursive(m));
    *out_module = NULL;
    Arena *arena = arena_create(0, 0);
    Gen *g = arena ? ARENA_NEW(arena, Gen) : NULL;
    if (!g) {
        arena_destroy(arena);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    *g = (Gen){.module = m,
               .layout = layout,
               .arena = arena,
               .lanes = desc->lanes,
               .math_lanes = desc->math_lanes,
               .has_fma = desc->has_fma,
               .context = context,
               .llvm = LLVMModuleCreateWithNameInContext("ssl", context),
               .builder = LLVMCreateBuilderInContext(context),
               .entry_builder = LLVMCreateBuilderInContext(context)};
    Status status = gen_all(g, desc->symbol, err);
    LLVMDisposeBuilder(g->builder);
    LLVMDisposeBuilder(g->entry_builder);
    if (status == STATUS_OK)
        *out_module = g->llvm;
    else
        LLVMDisposeModule(g->llvm);
    arena_destroy(arena);
    return status;
}
