#include "ssl/ir/ir_arith.h"
#include "base/check.h"

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
