/* Every call becomes the callee's body, after the derivative passes: they work on functions, code
 * generation on one. The size is computed before anything is copied, and refused when it is past
 * the limit, since a chain of functions that each call the next twice doubles at every step. */
#include "ssl/ir/pass.h"
#include "ssl/report.h"

static uint64_t inlined_size(const IrModule *m, IrFuncId id, uint64_t *sizes)
{
    if (sizes[id])
        return sizes[id];
    const IrFunc *f = m->funcs.data[id];
    uint64_t size = f->insts.count;
    for (IrInstId i = 1; i < f->insts.count && size <= IR_MAX_INSTRUCTIONS; i++)
        if (ir_inst(f, i)->op == IR_CALL)
            size += inlined_size(m, (IrFuncId)ir_inst(f, i)->imm, sizes);
    return sizes[id] = size;
}

/* Of each function once, however often it is called; c->data: [function]. */
static const uint8_t *live_values(IrClone *c, IrFuncId id)
{
    uint8_t **live = c->data;
    if (!live[id])
        live[id] = ir_live_values(c->module, ir_func(c->module, id));
    return live[id];
}

static bool inline_call(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    if (inst->op != IR_CALL)
        return false;
    const IrFunc *callee = c->module->funcs.data[inst->imm];
    IrClone inner = ir_clone_begin(c->module, callee, c->to, c->hooks, c->data);
    inner.live = live_values(c, (IrFuncId)inst->imm);
    for (uint32_t i = 0; i < inst->arg_count; i++)
        inner.map[ir_region(callee, callee->body)->param_first + i] =
            c->map[ir_args(c->from, inst)[i]];
    ir_clone_insts(&inner, callee->body);
    for (uint32_t i = 0; i < inst->result_count; i++)
        c->map[inst->result_first + i] = inner.map[ir_yield_args(callee, callee->body)[i]];
    return true;
}

Status ir_inline(IrModule *m, DiagList *diags)
{
    static const IrCloneHooks hooks = {.visit = inline_call};
    const IrFunc *f = m->funcs.data[m->entry];
    uint64_t size = inlined_size(m, m->entry, ARENA_ARRAY(m->arena, uint64_t, m->funcs.count));
    if (size > IR_MAX_INSTRUCTIONS) {
        const char *limit = arena_printf(m->arena, "%d", IR_MAX_INSTRUCTIONS);
        report(diags, KERNEL_TOO_LARGE, f->span, limit);
        return STATUS_SOURCE;
    }
    IrClone c =
        ir_clone_func(m, f, m->entry, &hooks, ARENA_ARRAY(m->arena, uint8_t *, m->funcs.count));
    c.live = live_values(&c, m->entry);
    ir_clone_insts(&c, f->body);
    IrValue small[IR_CLONE_SMALL];
    const IrInst *yield = ir_inst(f, ir_region(f, f->body)->last);
    ir_build_end(c.to, ir_clone_args(&c, yield, small), yield->arg_count);
    for (IrFuncId id = 1; id < m->funcs.count; id++)
        if (id != m->entry)
            m->funcs.data[id] = NULL;
    return STATUS_OK;
}
