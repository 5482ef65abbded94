#include "ssl/ir/ir_arith.h"
#include "base/check.h"

static bool is_op(IrBuilder *b, IrValue v, IrOp op, const IrValue **out_args)
{
    const IrFunc *f = ir_build_func(b);
    const IrInst *inst = ir_inst(f, f->values.data[v].def);
    *out_args = inst->op == op ? ir_args(f, inst) : NULL;
    return *out_args != NULL;
}

static bool is_fused(IrBuilder *b)
{
    return ir_build_module(b)->is_fused && !ir_build_func(b)->is_filtered;
}

IrValue ir_add(IrBuilder *b, IrValue x, IrValue y)
{
    const IrValue *of;
    if (!is_fused(b))
        return ir_build2(b, IR_FADD, x, y);
    if (is_op(b, y, IR_FNEG, &of))
        return ir_sub(b, x, of[0]);
    if (is_op(b, x, IR_FNEG, &of))
        return ir_sub(b, y, of[0]);
    if (is_op(b, y, IR_FMUL, &of))
        return ir_build3(b, IR_FMA, of[0], of[1], x);
    if (is_op(b, x, IR_FMUL, &of))
        return ir_build3(b, IR_FMA, of[0], of[1], y);
    return ir_build2(b, IR_FADD, x, y);
}

IrValue ir_sub(IrBuilder *b, IrValue x, IrValue y)
{
    const IrValue *of, *of_y;
    if (!is_fused(b))
        return ir_build2(b, IR_FSUB, x, y);
    if (is_op(b, y, IR_FNEG, &of))
        return ir_add(b, x, of[0]);
    bool is_product = is_op(b, x, IR_FMUL, &of), is_product_y = is_op(b, y, IR_FMUL, &of_y);
    if (is_product && !is_product_y)
        return ir_build3(b, IR_FMA, of[0], of[1], ir_neg(b, y));
    if (is_product_y && !is_product)
        return ir_build3(b, IR_FMA, ir_neg(b, of_y[0]), of_y[1], x);
    return ir_build2(b, IR_FSUB, x, y);
}

IrValue ir_each2(IrBuilder *b, IrOp op, IrValue x, IrValue y)
{
    IrType type = ir_build_type(b, x);
    ASSERT(type == ir_build_type(b, y) && ir_kind(type) == IR_FLOAT);
    if (!ir_is_array(type))
        return ir_build2(b, op, x, y);
    uint32_t count = ir_count(type);
    IrValue *elements = ARENA_ARRAY(ir_build_module(b)->arena, IrValue, count);
    for (uint32_t i = 0; i < count; ++i) {
        IrValue at = ir_const_int(b, (int32_t)i), of_x = ir_build2(b, IR_ARRAY_GET, x, at);
        elements[i] = ir_build2(b, op, of_x, ir_build2(b, IR_ARRAY_GET, y, at));
    }
    return ir_build_array(b, IR_FLOAT, elements, count);
}
