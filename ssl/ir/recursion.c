/* The analysis of recursion. Calls of recursive functions are not inlined, and each has a fault site. Their stack is
 * planned here, from the IR, so that every level of optimisation and the tests' interpreter stop at the same
 * depth. */
#include "ssl/ir/ir_build.h"

typedef struct Edge {
    IrFuncId caller, callee;
} Edge;

typedef ARRAY(Edge) EdgeList;

static EdgeList find_edges(const IrModule *m)
{
    EdgeList edges = {0};
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = m->funcs.data[id];
        for (IrInstId i = 1; f && i < f->insts.count; ++i)
            if (ir_inst(f, i)->op == IR_CALL)
                array_push(m->arena, &edges, (Edge){id, (IrFuncId)ir_inst(f, i)->imm});
    }
    return edges;
}

/* Removes the functions without callers and those without callees until nothing changes. Cycles remain, and the paths
 * from one cycle to another. A chain is at most as long as calls are deep, so few rounds are needed. */
uint8_t *ir_recursive_funcs(const IrModule *m)
{
    EdgeList edges = find_edges(m);
    uint8_t *left = ARENA_ARRAY(m->arena, uint8_t, m->funcs.count);
    uint8_t *calls = ARENA_ARRAY(m->arena, uint8_t, m->funcs.count);
    uint8_t *called = ARENA_ARRAY(m->arena, uint8_t, m->funcs.count);
    bool changed = edges.count > 0;
    for (uint32_t i = 0; i < edges.count; ++i)
        left[edges.data[i].caller] = 1;
    while (changed) {
        changed = false;
        for (IrFuncId id = 1; id < m->funcs.count; ++id)
            calls[id] = called[id] = 0;
        for (uint32_t i = 0; i < edges.count; ++i) {
            Edge e = edges.data[i];
            if (left[e.caller] && left[e.callee])
                calls[e.caller] = called[e.callee] = 1;
        }
        for (IrFuncId id = 1; id < m->funcs.count; ++id) {
            uint8_t stays = left[id] && calls[id] && called[id];
            changed |= left[id] != stays;
            left[id] = stays;
        }
    }
    return left;
}

void ir_mark_recursion(IrModule *m)
{
    const uint8_t *recursive = ir_recursive_funcs(m);
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        IrFunc *f = m->funcs.data[id];
        for (IrInstId i = 1; f && i < f->insts.count; ++i) {
            IrInst *inst = &f->insts.data[i];
            if (inst->op == IR_CALL && recursive[inst->imm])
                inst->site = ir_add_fault_site(m, SSL_FAULT_RECURSION, inst->span);
        }
    }
}

/* The plan has room for the return address, saved registers and the buffers of a texture lookup, and for every value,
 * as code without optimisation needs it. The frames that test_recursion.c measures are a fifth to a half of it. The
 * compiler refuses a kernel with larger frames than planned. */
uint32_t ir_frame_bytes(const IrFunc *f)
{
    enum { FIXED = 256, PER_VALUE = 6, PER_ELEMENT = 4, PER_ARGUMENT = 2 };
    uint64_t bytes = FIXED + PER_ARGUMENT * (uint64_t)f->args.count;
    for (IrValue v = 1; v < f->values.count; ++v)
        bytes += PER_VALUE + PER_ELEMENT * (uint64_t)ir_count(ir_type(f, v));
    bytes = (bytes + 15) / 16 * 16;
    return bytes > INT32_MAX ? INT32_MAX : (uint32_t)bytes;
}
