/* The canonical hash. A walk from the entry in program order numbers values as it meets them, so that spans, names and
 * the history of passes have no influence. Functions are hashed in the order of their first calls. */
#include "base/check.h"
#include "ssl/ir/ir.h"
#include <string.h>

typedef struct Hasher {
    const IrModule *module;
    HashState state;
    uint32_t *func_number; /* [function]: order of discovery; 0: not seen */
    ARRAY(IrFuncId) found;
    uint32_t *value_number; /* [value] of the present function */
    uint32_t next_value;
} Hasher;

static void put(Hasher *h, uint64_t x)
{
    hash128_update_u64(&h->state, x);
}

static void define(Hasher *h, const IrFunc *f, IrValue first, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        h->value_number[first + i] = ++h->next_value;
        put(h, ir_type(f, first + i));
    }
}

static uint32_t number_func(Hasher *h, IrFuncId id)
{
    ASSERT(id && id < h->module->funcs.count);
    if (!h->func_number[id]) {
        array_push(h->module->arena, &h->found, id);
        h->func_number[id] = h->found.count;
    }
    return h->func_number[id];
}

static void hash_region(Hasher *h, const IrFunc *f, IrRegionId id)
{
    const IrRegion *r = ir_region(f, id);
    put(h, r->param_count);
    define(h, f, r->param_first, r->param_count);
    for (IrInstId i = r->first; i; i = ir_inst(f, i)->next) {
        const IrInst *inst = ir_inst(f, i);
        put(h, (uint64_t)inst->op | (uint64_t)inst->arg_count << 16 |
                   (uint64_t)inst->result_count << 32);
        put(h, inst->op == IR_CALL ? number_func(h, (IrFuncId)inst->imm) : inst->imm);
        put(h, inst->site);
        if (ir_has_texture_site((IrOp)inst->op))
            put(h, h->module->texture_sites.data[inst->site].texture);
        for (uint32_t k = 0; k < inst->arg_count; ++k)
            put(h, h->value_number[ir_args(f, inst)[k]]);
        for (uint32_t k = 0; k < inst->region_count; ++k)
            hash_region(h, f, inst->region_first + k);
        define(h, f, inst->result_first, inst->result_count);
    }
}

static void hash_tables(Hasher *h)
{
    const IrModule *m = h->module;
    put(h, m->global_count);
    for (uint32_t i = 0; i < m->global_count; ++i)
        put(h, (uint64_t)m->globals[i].type << 1 | m->globals[i].has_derivs);
    put(h, m->info.param_count);
    for (uint32_t i = 0; i < m->info.param_count; ++i) {
        const SslParamInfo *p = &m->info.params[i];
        uint32_t scalars = ssl_value_scalars(p->type, p->shape);
        put(h, (uint64_t)p->type << 32 | scalars);
        for (uint32_t k = 0; k < scalars && p->shape; ++k)
            put(h, p->shape->kinds[k]);
    }
    put(h, m->info.attribute_count);
    for (uint32_t i = 0; i < m->info.attribute_count; ++i)
        put(h, m->info.attributes[i].type);
    put(h, m->outputs.count);
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *o = &m->outputs.data[i];
        put(h, (uint64_t)o->type << 32 | o->result_count);
    }
    put(h, m->tables.count);
    for (uint32_t i = 0; i < m->tables.count; ++i) {
        put(h, (uint64_t)m->tables.data[i].kind << 32 | m->tables.data[i].count);
        hash128_update(&h->state, m->tables.data[i].bits,
                       m->tables.data[i].count * sizeof(uint32_t));
    }
    put(h, m->slots.count);
    for (uint32_t i = 0; i < m->slots.count; ++i) {
        const IrLobeSlot *s = &m->slots.data[i];
        const char *closure = m->closures[s->closure].name; /* its place in the table may change */
        hash128_update(&h->state, closure, strlen(closure) + 1);
        put(h, s->output);
        put(h, (uint64_t)(uint32_t)s->parent << 32 | s->arg_count);
    }
}

Hash128 ir_hash(const IrModule *m)
{
    ArenaMark mark = arena_mark(m->arena);
    Hasher h = {.module = m};
    hash128_begin(&h.state);
    hash_tables(&h);
    h.func_number = ARENA_ARRAY(m->arena, uint32_t, m->funcs.count);
    number_func(&h, m->entry);
    for (uint32_t i = 0; i < h.found.count; ++i) {
        const IrFunc *f = m->funcs.data[h.found.data[i]];
        h.value_number = ARENA_ARRAY(m->arena, uint32_t, f->values.count);
        h.next_value = 0;
        hash_region(&h, f, f->body);
    }
    arena_rewind(m->arena, mark);
    return hash128_end(&h.state);
}
