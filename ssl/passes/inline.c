/* Replaces calls by the bodies of their callees, after the derivative passes, which work per function. Only calls of
 * recursive functions stay, and only those functions and the entry remain. Size and nesting are computed before
 * anything is copied, and checked against the limits: in a chain of functions that each call the next one twice,
 * the size doubles at every step. */
#include "ssl/passes/pass.h"
#include "ssl/report.h"

typedef struct Extent {
    uint64_t size;    /* instructions after inlining; 0: not known yet */
    uint32_t nesting; /* depth of regions after inlining */
} Extent;

static uint32_t nesting_at(const IrFunc *f, IrRegionId region)
{
    uint32_t nesting = 1;
    while (ir_region(f, region)->owner) {
        region = ir_inst(f, ir_region(f, region)->owner)->parent;
        ++nesting;
    }
    return nesting;
}

typedef struct Inline {
    const uint8_t *recursive; /* [function] */
    uint8_t **live;           /* [function]: live values, computed once for each function */
} Inline;

/* The cost of compiling each of these, in ordinary instructions. */
enum { LOOKUP_SIZE = 32, LOOP_SIZE = 256, BRANCH_SIZE = 48, ELEMENT_SIZE = 64 };

static uint64_t size_of_costly(const IrFunc *f)
{
    uint64_t size = 0;
    for (IrInstId i = 1; i < f->insts.count; ++i) {
        uint32_t op = ir_inst(f, i)->op;
        if (ir_has_texture_site((IrOp)op) || op == IR_ASK)
            size += LOOKUP_SIZE;
        else if (op == IR_LOOP)
            size += LOOP_SIZE;
        else if (op == IR_IF)
            size += BRANCH_SIZE;
        else if (op == IR_ARRAY_GET || op == IR_ARRAY_SET)
            size += ELEMENT_SIZE;
    }
    return size;
}

/* Computes the size and nesting of a function after inlining. It stops counting beyond a limit. */
static Extent extent_of(const IrModule *m, IrFuncId id, const uint8_t *recursive, Extent *known)
{
    const IrFunc *f = m->funcs.data[id];
    Extent e = known[id];
    if (e.size)
        return e;
    e.size = f->insts.count + size_of_costly(f);
    for (IrRegionId r = 1; r < f->regions.count; ++r) {
        uint32_t nesting = nesting_at(f, r);
        e.nesting = nesting > e.nesting ? nesting : e.nesting;
    }
    for (IrInstId i = 1; i < f->insts.count && e.size <= SSL_MAX_INSTRUCTIONS; ++i) {
        if (ir_inst(f, i)->op != IR_CALL || recursive[ir_inst(f, i)->imm])
            continue;
        Extent callee = extent_of(m, (IrFuncId)ir_inst(f, i)->imm, recursive, known);
        uint32_t nesting = nesting_at(f, ir_inst(f, i)->parent) - 1 + callee.nesting;
        e.size += callee.size;
        e.nesting = nesting > e.nesting ? nesting : e.nesting;
    }
    return known[id] = e;
}

static bool is_kept(const IrModule *m, const uint8_t *recursive, IrFuncId id)
{
    return m->funcs.data[id] && (id == m->entry || recursive[id]);
}

static Extent extent_of_all(const IrModule *m, const uint8_t *recursive)
{
    Extent *known = ARENA_ARRAY(m->arena, Extent, m->funcs.count), all = {0};
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        if (!is_kept(m, recursive, id))
            continue;
        Extent e = extent_of(m, id, recursive, known);
        all.size += e.size;
        all.nesting = e.nesting > all.nesting ? e.nesting : all.nesting;
    }
    return all;
}

static Status check_extent_of(const IrModule *m, const uint8_t *recursive, DiagList *diags)
{
    Extent all = extent_of_all(m, recursive);
    Span span = ir_func(m, m->entry)->span;
    if (all.size > SSL_MAX_INSTRUCTIONS)
        report(diags, KERNEL_TOO_LARGE, span, arena_printf(m->arena, "%d", SSL_MAX_INSTRUCTIONS));
    else if (all.nesting > SSL_MAX_KERNEL_NESTING)
        report(diags, KERNEL_TOO_NESTED, span,
               arena_printf(m->arena, "%d", SSL_MAX_KERNEL_NESTING));
    else
        return STATUS_OK;
    return STATUS_SOURCE;
}

uint64_t ir_expanded_size(const IrModule *m)
{
    return extent_of_all(m, ir_recursive_funcs(m)).size;
}

Status ir_check_extent(const IrModule *m, DiagList *diags)
{
    return check_extent_of(m, ir_recursive_funcs(m), diags);
}

static const uint8_t *live_values(IrClone *c, IrFuncId id)
{
    Inline *in = c->data;
    if (!in->live[id])
        in->live[id] = ir_live_values(c->module, ir_func(c->module, id));
    return in->live[id];
}

static bool inline_call(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    const Inline *in = c->data;
    if (inst->op != IR_CALL || in->recursive[inst->imm])
        return false;
    const IrFunc *callee = c->module->funcs.data[inst->imm];
    ir_clone_inline(c, id, callee, live_values(c, (IrFuncId)inst->imm));
    return true;
}

static void rebuild(IrModule *m, IrFuncId id, Inline *in)
{
    static const IrCloneHooks hooks = {.visit = inline_call};
    const IrFunc *f = m->funcs.data[id];
    IrClone c = ir_clone_func(m, f, id, &hooks, in);
    c.live = live_values(&c, id);
    ir_clone_body(&c);
}

Status ir_inline(IrModule *m, DiagList *diags)
{
    Inline in = {ir_recursive_funcs(m), ARENA_ARRAY(m->arena, uint8_t *, m->funcs.count)};
    TRY(check_extent_of(m, in.recursive, diags));
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (is_kept(m, in.recursive, id))
            rebuild(m, id, &in);
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (!is_kept(m, in.recursive, id))
            m->funcs.data[id] = NULL;
    return STATUS_OK;
}
