/* Binds parameters to constants, and closure parameters without a wire to the null closure, and drops detach, of which only
 * derivatives that are built by now take notice. The builder folds the consequences. Code that a constant switches off disappears, because of an IF with a constant condition only one
 * arm is copied. Dead code is left out. */
#include "base/check.h"
#include "ssl/passes/pass.h"
#include <string.h>

static const SslValue *binding(const SslConstant *constants, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(constants[i].param, name) == 0)
            return &constants[i].value;
    return NULL;
}

static bool bind_read(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    const SslValue *const *bound = c->data;
    if (inst->op == IR_DETACH) {
        c->map[inst->result_first] = c->map[ir_args(c->from, inst)[0]];
        return true;
    }
    if (inst->op == IR_PARAM && ir_type(c->from, inst->result_first) == IR_CLOSURE) {
        c->map[inst->result_first] = ir_build_zero(c->to, IR_CLOSURE);
        return true;
    }
    if (inst->op != IR_PARAM || !bound[ir_param_index(inst->imm)])
        return false;
    const SslValue *value = bound[ir_param_index(inst->imm)];
    IrValue *out = &c->map[inst->result_first];
    switch (ir_kind(ir_type(c->from, inst->result_first))) {
    case IR_BOOL:
        *out = ir_const_bool(c->to, value->b);
        return true;
    case IR_INT:
        *out = ir_const_int(c->to, value->i);
        return true;
    case IR_FLOAT:
        *out = ir_const_float(c->to, value->type == SSL_INT
                                         ? (float)value->i
                                         : ssl_flushed(value->f[ir_param_component(inst->imm)]));
        return true;
    case IR_CLOSURE:
        break;
    }
    return false;
}

void ir_specialise(IrModule *m, const SslConstant *constants, uint32_t count)
{
    ASSERT(constants || count == 0);
    static const IrCloneHooks hooks = {.visit = bind_read};
    const SslValue **bound = ARENA_ARRAY(m->arena, const SslValue *, m->info.param_count);
    for (uint32_t i = 0; i < m->info.param_count; ++i)
        bound[i] = binding(constants, count, m->info.params[i].name);
    ir_rebuild(m, &hooks, bound);
}
