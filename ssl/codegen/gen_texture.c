/* Texture lookups, and adjoints of them: one call of the host's service for all lanes that are here, with coordinates and results
 * or adjoints on the stack. The kernel's one set of buffers serves all sites, for lookups follow each other. */
#include "base/check.h"
#include "ssl/codegen/gen.h"

enum { COORDS = 7, RESULTS = 4, RESULTS_WITH_DERIVS = 12 };

static void begin_buffers(Gen *g)
{
    if (g->tex_call)
        return;
    g->tex_call = gen_stack(g, LLVMArrayType2(g->t_i64, sizeof(SslTexCall) / 8), "tex_call");
    g->tex_coord = gen_stack(g, LLVMArrayType2(g->t_float, COORDS), "tex_coord");
    g->tex_result = gen_stack(g, LLVMArrayType2(g->t_float, RESULTS_WITH_DERIVS), "tex_result");
}

LLVMValueRef gen_lane_bits(Gen *g)
{
    if (!g->mask)
        return gen_i32(g, 1);
    LLVMTypeRef bits = LLVMIntTypeInContext(g->context, g->lanes);
    return LLVMBuildZExt(g->builder, LLVMBuildBitCast(g->builder, g->mask, bits, ""), g->t_i32, "");
}

/* Stores values as rows of a buffer. */
static void store_rows(Gen *g, const IrValue *values, uint32_t count, LLVMValueRef rows)
{
    for (uint32_t i = 0; i < count; ++i)
        LLVMBuildStore(g->builder, g->value[values[i]], gen_offset(g, rows, 4 * g->lanes * i));
}

/* Calls a service for a site. Twelve rows are with derivatives, four without. */
static void call_service(Gen *g, uint32_t site, uint32_t row_count, size_t service)
{
    uint32_t texture_slot = g->module->texture_sites.data[site].texture;
    LLVMValueRef texture =
        gen_load_input(g, g->t_i32, gen_offset(g, gen_batch_textures(g), 4 * texture_slot), 4);
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, texture), texture);
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, site), gen_i32(g, site));
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, flags),
                    gen_i32(g, row_count == RESULTS_WITH_DERIVS ? SSL_TEX_WANT_DERIVS : 0));
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, coord), g->tex_coord);
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, result), g->tex_result);
    gen_service(g, service, g->tex_call);
}

void gen_texture(Gen *g, const IrInst *inst)
{
    _Static_assert(sizeof(SslTexCall) % 8 == 0, "the call is kept in 64-bit words");
    const IrValue *args = ir_args(g->func, inst);
    begin_buffers(g);
    store_rows(g, args, COORDS, g->tex_coord);
    if (inst->op == IR_TEX_ADJ) {
        uint32_t count = inst->arg_count - COORDS;
        store_rows(g, args + COORDS, count, g->tex_result);
        call_service(g, inst->site, count, offsetof(SslServices, tex_adjoint));
        for (uint32_t i = 0; i < RESULTS; ++i)
            g->value[inst->result_first + i] = g->value[args[COORDS + i]];
        return;
    }
    call_service(g, inst->site, inst->result_count, offsetof(SslServices, tex_lookup));
    for (uint32_t i = 0; i < inst->result_count; ++i)
        g->value[inst->result_first + i] = LLVMBuildLoad2(
            g->builder, g->t_float, gen_offset(g, g->tex_result, 4 * g->lanes * i), "");
}
