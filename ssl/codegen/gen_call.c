/* Recursive functions and their calls, in code of one lane. All other functions are inlined in the IR.
 *
 *   {scalar results} f(batch, globals, block, lane, budget, fault, stack, arguments..., array results...)
 *
 * Arrays are passed by address: the callee copies array arguments when it begins, and writes array results into the
 * caller's memory when it ends. `budget`, `fault` and `stack` point to words of the point. A call takes 1 from the
 * budget, and the planned frame of the callee (ir_frame_bytes) from the stack, which it returns. If either does not
 * suffice, the call is a fault: it gives zeros and ends all loops and calls of the point. */
#include "base/check.h"
#include "ssl/codegen/gen.h"
#include <string.h>

enum { P_BATCH, P_GLOBALS, P_BLOCK, P_LANE, P_BUDGET, P_FAULT, P_STACK, P_FIRST };

struct GenCallee {
    LLVMValueRef function;
    LLVMTypeRef type, result_type;
    uint32_t frame_bytes, scalar_results;
};

static bool is_callee(const IrModule *m, IrFuncId id)
{
    return m->funcs.data[id] && id != m->entry;
}

bool codegen_is_recursive(const IrModule *m)
{
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (is_callee(m, id))
            return true;
    return false;
}

/* --- signatures ------------------------------------------------------------------------------- */

static void declare(Gen *g, const IrFunc *f, GenCallee *c)
{
    const IrRegion *body = ir_region(f, f->body);
    LLVMTypeRef *params =
        ARENA_ARRAY(g->arena, LLVMTypeRef, P_FIRST + body->param_count + f->result_count);
    LLVMTypeRef *results = ARENA_ARRAY(g->arena, LLVMTypeRef, f->result_count);
    uint32_t count = P_FIRST;
    for (uint32_t i = 0; i < P_FIRST; ++i)
        params[i] = i == P_BLOCK || i == P_LANE ? g->t_i32 : g->t_ptr;
    for (uint32_t i = 0; i < body->param_count; ++i) {
        IrType type = ir_type(f, body->param_first + i);
        params[count++] = ir_is_array(type) ? g->t_ptr : gen_lane_type(g, ir_kind(type));
    }
    for (uint32_t i = 0; i < f->result_count; ++i) {
        if (ir_is_array(f->result_types[i]))
            params[count++] = g->t_ptr;
        else
            results[c->scalar_results++] = gen_lane_type(g, ir_kind(f->result_types[i]));
    }
    c->result_type = LLVMStructTypeInContext(g->context, results, c->scalar_results, false);
    c->type = LLVMFunctionType(c->result_type, params, count, false);
    c->frame_bytes = ir_frame_bytes(f);
}

/* --- bodies ----------------------------------------------------------------------------------- */

static void take_params(Gen *g, const IrFunc *f)
{
    const IrRegion *body = ir_region(f, f->body);
    for (uint32_t i = 0; i < body->param_count; ++i) {
        LLVMValueRef param = LLVMGetParam(g->function, P_FIRST + i);
        if (ir_is_array(ir_type(f, body->param_first + i)))
            gen_array_load(g, body->param_first + i, param);
        else
            g->value[body->param_first + i] = param;
    }
}

static void give_results(Gen *g, const IrFunc *f, const GenCallee *c, const IrValue *results)
{
    ASSERT(c->function == g->function && f == g->func);
    uint32_t out = P_FIRST + ir_region(f, f->body)->param_count, field = 0;
    LLVMValueRef all = LLVMGetPoison(c->result_type);
    for (uint32_t i = 0; i < f->result_count; ++i) {
        if (ir_is_array(f->result_types[i]))
            gen_array_store(g, results[i], LLVMGetParam(g->function, out++));
        else
            all = LLVMBuildInsertValue(g->builder, all, g->value[results[i]], field++, "");
    }
    LLVMBuildRet(g->builder, gen_last_border(g, all));
}

static void gen_body(Gen *g, IrFuncId id)
{
    const IrFunc *f = ir_func(g->module, id);
    const GenCallee *c = &g->callees[id];
    gen_begin_body(g, f);
    gen_enter_function(g, c->function);
    g->globals = LLVMGetParam(g->function, P_GLOBALS);
    g->block = LLVMGetParam(g->function, P_BLOCK);
    g->lane = LLVMGetParam(g->function, P_LANE);
    g->budget = LLVMGetParam(g->function, P_BUDGET);
    g->fault = LLVMGetParam(g->function, P_FAULT);
    g->stack = LLVMGetParam(g->function, P_STACK);
    gen_array_slots(g);
    LLVMBasicBlockRef body = gen_block(g, "body");
    LLVMPositionBuilderAtEnd(g->builder, body);
    take_params(g, f);
    const IrInst *yield = gen_region(g, f->body);
    give_results(g, f, c, ir_args(f, yield));
    LLVMBuildBr(g->entry_builder, body);
}

static void set_frame_plan(Gen *g, const GenCallee *c)
{
    static const char key[] = GEN_FRAME_PLAN;
    const char *text = arena_printf(g->arena, "%u", c->frame_bytes);
    LLVMAddAttributeAtIndex(
        c->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(g->context, key, sizeof key - 1, text, (unsigned)strlen(text)));
}

void gen_callees(Gen *g)
{
    const IrModule *m = g->module;
    g->callees = ARENA_ARRAY(g->arena, GenCallee, m->funcs.count);
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        if (!is_callee(m, id))
            continue;
        GenCallee *c = &g->callees[id];
        declare(g, ir_func(m, id), c);
        c->function = LLVMAddFunction(
            g->llvm, arena_printf(g->arena, GEN_FUNCTION_PREFIX "%s", ir_func(m, id)->name),
            c->type);
        LLVMSetLinkage(c->function, LLVMInternalLinkage);
        gen_add_attribute(g, c->function, "noinline");
        set_frame_plan(g, c);
    }
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (is_callee(m, id))
            gen_body(g, id);
}

/* --- calls ------------------------------------------------------------------------------------ */

static LLVMValueRef load_word(Gen *g, LLVMValueRef ptr, const char *name)
{
    return LLVMBuildLoad2(g->builder, g->t_i32, ptr, name);
}

static LLVMValueRef emit_call(Gen *g, const IrInst *inst, const GenCallee *c)
{
    const IrFunc *f = ir_func(g->module, (IrFuncId)inst->imm);
    const IrValue *values = ir_args(g->func, inst);
    LLVMValueRef *args =
        ARENA_ARRAY(g->arena, LLVMValueRef, P_FIRST + inst->arg_count + inst->result_count);
    LLVMValueRef fixed[P_FIRST] = {g->batch,  g->globals, g->block, g->lane,
                                   g->budget, g->fault,   g->stack};
    uint32_t count = P_FIRST;
    memcpy(args, fixed, sizeof fixed);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        args[count++] = ir_is_array(ir_type(g->func, values[i])) ? gen_array_address(g, values[i])
                                                                 : g->value[values[i]];
    for (uint32_t i = 0; i < f->result_count; ++i)
        if (ir_is_array(f->result_types[i]))
            args[count++] = gen_array_address(g, inst->result_first + i);
    return LLVMBuildCall2(g->builder, c->type, c->function, args, count, "");
}

void gen_call(Gen *g, const IrInst *inst)
{
    ASSERT(g->lanes == 1 && g->callees[inst->imm].function);
    const GenCallee *c = &g->callees[inst->imm];
    LLVMBasicBlockRef call = gen_block(g, "call"), refuse = gen_block(g, "call.refused");
    LLVMBasicBlockRef end = gen_block(g, "endcall");
    LLVMValueRef frame = gen_i32(g, c->frame_bytes), zero = gen_i32(g, 0);
    LLVMValueRef budget = load_word(g, g->budget, "budget"),
                 stack = load_word(g, g->stack, "stack");
    LLVMValueRef has_budget = LLVMBuildICmp(g->builder, LLVMIntNE, budget, zero, "");
    LLVMValueRef has_stack = LLVMBuildICmp(g->builder, LLVMIntUGE, stack, frame, "");
    LLVMBuildCondBr(g->builder, LLVMBuildAnd(g->builder, has_budget, has_stack, ""), call, refuse);

    LLVMPositionBuilderAtEnd(g->builder, call);
    LLVMBuildStore(g->builder, LLVMBuildSub(g->builder, budget, gen_i32(g, 1), ""), g->budget);
    LLVMBuildStore(g->builder, LLVMBuildSub(g->builder, stack, frame, ""), g->stack);
    LLVMValueRef results = emit_call(g, inst, c);
    LLVMBuildStore(g->builder, stack, g->stack);
    LLVMBuildBr(g->builder, end);

    LLVMPositionBuilderAtEnd(g->builder, refuse);
    gen_fault(g, inst->site, NULL);
    LLVMBuildStore(g->builder, zero, g->budget);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (ir_is_array(ir_type(g->func, inst->result_first + i)))
            gen_array_clear(g, inst->result_first + i);
    LLVMBuildBr(g->builder, end);

    LLVMPositionBuilderAtEnd(g->builder, end);
    LLVMValueRef all = LLVMBuildPhi(g->builder, c->result_type, "");
    LLVMAddIncoming(all, (LLVMValueRef[]){results, LLVMConstNull(c->result_type)},
                    (LLVMBasicBlockRef[]){call, refuse}, 2);
    for (uint32_t i = 0, field = 0; i < inst->result_count; ++i)
        if (!ir_is_array(ir_type(g->func, inst->result_first + i)))
            g->value[inst->result_first + i] = LLVMBuildExtractValue(g->builder, all, field++, "");
}
