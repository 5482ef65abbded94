#include "base/check.h"
#include "ssl/group/group.h"
#include <string.h>

static bool is_number(SslType type)
{
    return type == SSL_INT || type == SSL_FLOAT;
}

static bool is_vector(SslType type)
{
    return type >= SSL_FLOAT2 && type <= SSL_NORMAL;
}

static bool is_triple(SslType type)
{
    return type == SSL_FLOAT3 || (type >= SSL_COLOR && type <= SSL_NORMAL);
}

GroupConversion group_conversion(GroupType from, GroupType to)
{
    bool has_shape = from.type == SSL_STRUCT || from.type == SSL_ARRAY;
    if (from.type == to.type)
        return !has_shape || strcmp(from.shape->key, to.shape->key) == 0 ? GROUP_CONVERT_NOTHING
                                                                         : GROUP_CONVERT_NEVER;
    if (is_triple(from.type) && is_triple(to.type))
        return GROUP_CONVERT_NOTHING;
    if (from.type == SSL_INT && to.type == SSL_FLOAT)
        return GROUP_CONVERT_NUMBER;
    if (is_number(from.type) && is_vector(to.type))
        return GROUP_CONVERT_SPLAT;
    if (is_triple(from.type) && to.type == SSL_FLOAT)
        return from.type == SSL_COLOR ? GROUP_CONVERT_LUMINANCE : GROUP_CONVERT_MEAN;
    return GROUP_CONVERT_NEVER;
}

uint32_t group_type_values(GroupType t)
{
    return t.type == SSL_CLOSURE || t.type == SSL_STRING ? 1 : ssl_value_scalars(t.type, t.shape);
}

IrKind group_type_kind(GroupType t, uint32_t value)
{
    if (t.type == SSL_CLOSURE)
        return IR_CLOSURE;
    if (t.type == SSL_STRING)
        return IR_INT;
    SslType kind = ssl_value_kind(t.type, t.shape, value);
    return kind == SSL_BOOL ? IR_BOOL : kind == SSL_INT ? IR_INT : IR_FLOAT;
}

const char *group_type_text(GroupType t, Arena *arena)
{
    const char *name = ssl_value_name(t.type, t.shape);
    return arena_printf(arena, "%s %s", strchr("aeiou", name[0]) ? "an" : "a", name);
}

/* Computes the operations of the standard library's luminance() in the same order, for equal bits. */
static IrValue luminance(IrBuilder *b, const IrValue rgb[3])
{
    static const float weights[3] = {0.2126f, 0.7152f, 0.0722f};
    IrValue sum = 0;
    for (uint32_t i = 0; i < 3; ++i) {
        IrValue term = ir_build2(b, IR_FMUL, ir_const_float(b, weights[i]), rgb[i]);
        sum = sum ? ir_build2(b, IR_FADD, sum, term) : term;
    }
    return sum;
}

/* Returns (x + y + z) / 3. */
static IrValue mean(IrBuilder *b, const IrValue xyz[3])
{
    IrValue sum = ir_build2(b, IR_FADD, ir_build2(b, IR_FADD, xyz[0], xyz[1]), xyz[2]);
    return ir_build2(b, IR_FDIV, sum, ir_const_float(b, 3.0f));
}

void group_convert(IrBuilder *b, GroupType from, GroupType to, const IrValue *from_values,
                   IrValue *out)
{
    ASSERT(group_conversion(from, to) != GROUP_CONVERT_NEVER);
    uint32_t count = group_type_values(to);
    GroupConversion how = group_conversion(from, to);
    if (how == GROUP_CONVERT_LUMINANCE) {
        out[0] = luminance(b, from_values);
    } else if (how == GROUP_CONVERT_MEAN) {
        out[0] = mean(b, from_values);
    } else if (how == GROUP_CONVERT_NOTHING) {
        memcpy(out, from_values, count * sizeof *out);
    } else {
        IrValue number =
            from.type == SSL_INT ? ir_build1(b, IR_I2F, from_values[0]) : from_values[0];
        for (uint32_t i = 0; i < count; ++i)
            out[i] = number;
    }
}
