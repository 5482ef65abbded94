/* Questions to the host: one call of its service for all lanes that are here, with arguments and answer on the stack. */
#include "base/check.h"
#include "ssl/codegen/gen.h"

enum { ARGS_MAX = 4 * SSL_MAX_CLOSURE_ARGS, RESULTS_MAX = 4 };

static LLVMTypeRef scalar_type(const Gen *g, IrValue v)
{
    return ir_type(g->func, v) == ir_scalar(IR_FLOAT) ? g->t_float : g->t_int;
}

static void begin_buffers(Gen *g)
{
    if (g->ask_call)
        return;
    g->ask_call = gen_stack(g, LLVMArrayType2(g->t_i64, sizeof(SslAskCall) / 8), "ask_call");
    g->ask_args = gen_stack(g, LLVMArrayType2(g->t_float, ARGS_MAX), "ask_args");
    g->ask_result = gen_stack(g, LLVMArrayType2(g->t_float, RESULTS_MAX), "ask_result");
}

void gen_question(Gen *g, const IrInst *inst)
{
    _Static_assert(sizeof(SslAskCall) % 8 == 0, "the call is kept in 64-bit words");
    const IrValue *args = ir_args(g->func, inst);
    ASSERT(inst->arg_count <= ARGS_MAX && inst->result_count <= RESULTS_MAX);
    begin_buffers(g);
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        LLVMValueRef x = g->value[args[i]];
        if (ir_type(g->func, args[i]) == ir_scalar(IR_BOOL))
            x = LLVMBuildZExt(g->builder, x, g->t_int, "");
        LLVMBuildStore(g->builder, x, gen_offset(g, g->ask_args, 4 * g->lanes * i));
    }
    gen_store_field(g, g->ask_call, offsetof(SslAskCall, question),
                    gen_i32(g, (uint32_t)inst->imm));
    gen_store_field(g, g->ask_call, offsetof(SslAskCall, args), g->ask_args);
    gen_store_field(g, g->ask_call, offsetof(SslAskCall, result), g->ask_result);
    gen_service(g, offsetof(SslServices, ask), g->ask_call);

    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue result = inst->result_first + i;
        LLVMValueRef x = LLVMBuildLoad2(g->builder, scalar_type(g, result),
                                        gen_offset(g, g->ask_result, 4 * g->lanes * i), "");
        if (ir_type(g->func, result) == ir_scalar(IR_BOOL))
            x = LLVMBuildICmp(g->builder, LLVMIntNE, x, LLVMConstNull(g->t_int), "");
        g->value[result] = x;
    }
}
