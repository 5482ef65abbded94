/* Derivatives that the source takes, as a list: ir_derive builds them of the functions' IR. */
#include "base/check.h"
#include "ssl/lower/emit.h"

#include <string.h>

/* Writes which leaves of a value have derivatives, and returns the end of the list. */
static uint8_t *put_active(const Type *type, bool is_no_diff, uint8_t *out)
{
    if (type->kind == TYPE_STRUCT) {
        for (uint32_t i = 0; i < type->decl->members.count; ++i) {
            const VarDecl *member = type->decl->members.items[i];
            out = put_active(member->type, is_no_diff || member->is_no_diff, out);
        }
        return out;
    }
    if (type->kind == TYPE_ARRAY)
        return put_active(type->element, is_no_diff, out);
    bool is_float = type_lanes(type) > 0 || type_is(type, SSL_MATRIX);
    memset(out, is_float && !is_no_diff, type->leaves);
    return out + type->leaves;
}

static IrPort port_of(Arena *arena, const Type *type, bool is_no_diff, IrPortKind kind)
{
    uint8_t *active = ARENA_ARRAY(arena, uint8_t, type->leaves);
    IrPort port = {.kind = kind, .leaf_count = type->leaves, .active = active};
    put_active(type, is_no_diff, active);
    for (uint32_t i = 0; i < type->leaves; ++i)
        port.active_count += active[i];
    return port;
}

void lower_diff_facts(Lowering *l, const FuncDecl *f, IrFuncId id)
{
    static const IrPortKind kinds[] = {[DIRECTION_IN] = IR_PORT_IN,
                                       [DIRECTION_OUT] = IR_PORT_OUT,
                                       [DIRECTION_INOUT] = IR_PORT_INOUT};
    for (uint32_t i = 0; i < l->module->diff_facts.count; ++i)
        if (l->module->diff_facts.data[i].func == id)
            return;
    uint32_t count = f->params.count + 1;
    IrPort *ports = ARENA_ARRAY(l->arena, IrPort, count);
    for (uint32_t i = 0; i + 1 < count; ++i) {
        const VarDecl *param = f->params.items[i];
        ports[i] = port_of(l->arena, param->type, param->is_no_diff, kinds[param->direction]);
    }
    ports[count - 1] = port_of(l->arena, f->return_type, f->is_no_diff, IR_PORT_RESULT);
    uint32_t at = l->module->diff_facts.count;
    array_push(l->arena, &l->module->diff_facts,
               ((IrDiffFacts){.func = id,
                              .is_constant = f->is_constant,
                              .is_kept = f->is_kept,
                              .ports = ports,
                              .port_count = count,
                              .name = f->name,
                              .span = lower_span(l, f->span)}));
    /* These may add facts of their own, and so move the list. */
    IrFuncId forward = f->forward ? lower_func_id(l, f->forward, 0) : 0;
    IrFuncId backward = f->backward ? lower_func_id(l, f->backward, 0) : 0;
    IrFuncId substitute = f->substitute ? lower_func_id(l, f->substitute, 0) : 0;
    if (f->substitute)
        lower_diff_facts(l, f->substitute, substitute);
    IrDiffFacts *facts = &l->module->diff_facts.data[at];
    ASSERT(facts->func == id);
    facts->forward = forward;
    facts->backward = backward;
    facts->substitute = substitute;
}

void lower_derivative(Lowering *l, const FuncDecl *f, IrFuncId id)
{
    ASSERT(f->derivative_of);
    IrFuncId of = lower_func_id(l, f->derivative_of, 0);
    lower_diff_facts(l, f->derivative_of, of);
    array_push(l->arena, &l->module->derivatives,
               ((IrDerivative){id, of, f->is_backward, l->module->is_fused}));
}
