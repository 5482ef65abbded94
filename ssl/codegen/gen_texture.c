/* Texture lookups: one call of the host's service for all lanes that are here, with coordinates and results
 * on the stack. The kernel's one set of buffers serves all sites, for lookups follow each other. */
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

void gen_texture(Gen *g, const IrInst *inst)
{
    _Static_assert(sizeof(SslTexCall) % 8 == 0, "the call is kept in 64-bit words");
    bool has_derivs = inst->op == IR_TEX_D;
    uint32_t texture_slot = g->module->texture_sites.data[inst->site].texture;
    const IrValue *args = ir_args(g->func, inst);
    begin_buffers(g);
    for (uint32_t i = 0; i < COORDS; ++i)
        LLVMBuildStore(g->builder, g->value[args[i]],
                       gen_offset(g, g->tex_coord, 4 * g->lanes * i));

    LLVMValueRef texture =
        gen_load_input(g, g->t_i32, gen_offset(g, gen_batch_textures(g), 4 * texture_slot), 4);
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, texture), texture);
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, site), gen_i32(g, inst->site));
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, flags),
                    gen_i32(g, has_derivs ? SSL_TEX_WANT_DERIVS : 0));
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, coord), g->tex_coord);
    gen_store_field(g, g->tex_call, offsetof(SslTexCall, result), g->tex_result);
    gen_service(g, offsetof(SslServices, tex_lookup), g->tex_call);

    for (uint32_t i = 0; i < (has_derivs ? RESULTS_WITH_DERIVS : RESULTS); ++i)
        g->value[inst->result_first + i] = LLVMBuildLoad2(
            g->builder, g->t_float, gen_offset(g, g->tex_result, 4 * g->lanes * i), "");
}
