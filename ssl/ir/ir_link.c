#include "ssl/ir/ir_link.h"
#include "base/check.h"
#include "ssl/ir/ir_clone.h"
#include <string.h>

typedef struct Part {
    const IrModule *from;
    uint32_t file_base, fault_base, table_base;
    const IrDerivative *
        *derivative; /* [function]: it is this one, which is not built; NULL: it is there */
    const IrDiffFacts **facts; /* [function]; NULL: none */
    bool *
        reads_params; /* [function]: it, or what it calls, reads parameters; in derivatives the entry is not alone */
    bool *
        has_textures; /* [function]: it, or what it calls, looks up textures or attributes, or reads parameters */
    IrFuncId *shared; /* [function]: its number in the linked module; 0: not there yet */
} Part;

typedef struct Origin {
    const void *origin;
    IrFuncId id;
} Origin;

struct IrLink {
    IrModule *module;
    IrBuilder *entry;
    ARRAY(Part) parts;
    ARRAY(Origin) origins;   /* library functions that are there */
    ARRAY(IrFuncId) inlined; /* functions of an instance that read its parameters */
};

/* The offsets that are added to the numbers in one instance's code. */
typedef struct Shift {
    const Part *part;
    uint32_t texture_site_base;
    const uint32_t *attributes; /* [attribute of the part] its slot */
    IrFuncId *own;              /* [function]: copies of this instance alone */
} Shift;

IrLink *ir_link_begin(IrModule *m, const char *name)
{
    IrLink *link = ARENA_NEW(m->arena, IrLink);
    link->module = m;
    m->entry = ir_reserve_func(m);
    link->entry = ir_build_begin(m, m->entry, name, NULL, 0);
    return link;
}

IrBuilder *ir_link_builder(IrLink *link)
{
    return link->entry;
}

/* --- parts ------------------------------------------------------------------------------------ */

static bool reads_params(const Part *part, IrFuncId id)
{
    const IrFunc *f = part->from->funcs.data[id];
    for (IrInstId i = 1; f && i < f->insts.count; ++i) {
        const IrInst *inst = ir_inst(f, i);
        if (inst->op == IR_PARAM || (inst->op == IR_CALL && part->reads_params[inst->imm]))
            return true;
    }
    return false;
}

static bool looks_up(const Part *part, IrFuncId id)
{
    const bool *has_textures = part->has_textures;
    if (part->reads_params[id])
        return true;
    if (part->derivative[id])
        return has_textures[part->derivative[id]->of];
    const IrDiffFacts *facts = part->facts[id];
    if (facts && (has_textures[facts->forward] || has_textures[facts->backward] ||
                  has_textures[facts->substitute]))
        return true;
    const IrFunc *f = part->from->funcs.data[id];
    for (IrInstId i = 1; f && i < f->insts.count; ++i) {
        const IrInst *inst = ir_inst(f, i);
        if (ir_has_texture_site((IrOp)inst->op) || inst->op == IR_ATTRIBUTE ||
            (inst->op == IR_CALL && has_textures[inst->imm]))
            return true;
    }
    return false;
}

/* Sets *out of each function for which `has` is true. Iterates to a fixed point, because a callee may stand before or
 * after its caller. */
static void find_functions(const Part *part, bool (*has)(const Part *, IrFuncId), bool *out)
{
    bool has_changed = true;
    while (has_changed) {
        has_changed = false;
        for (IrFuncId id = 1; id < part->from->funcs.count; ++id) {
            if (out[id] || id == part->from->entry || !has(part, id))
                continue;
            out[id] = true;
            has_changed = true;
        }
    }
}

static Span shift_span(Span span, uint32_t file_base)
{
    if (span.file)
        span.file += file_base;
    return span;
}

uint32_t ir_link_part(IrLink *link, const IrModule *from, uint32_t file_base)
{
    IrModule *m = link->module;
    uint32_t count = from->funcs.count;
    Part part = {.from = from,
                 .file_base = file_base,
                 .fault_base = m->fault_sites.count,
                 .table_base = m->tables.count,
                 .derivative = ARENA_ARRAY(m->arena, const IrDerivative *, count),
                 .facts = ARENA_ARRAY(m->arena, const IrDiffFacts *, count),
                 .reads_params = ARENA_ARRAY(m->arena, bool, count),
                 .has_textures = ARENA_ARRAY(m->arena, bool, count),
                 .shared = ARENA_ARRAY(m->arena, IrFuncId, count)};
    for (uint32_t i = 0; i < from->derivatives.count; ++i)
        part.derivative[from->derivatives.data[i].id] = &from->derivatives.data[i];
    for (uint32_t i = 0; i < from->diff_facts.count; ++i)
        part.facts[from->diff_facts.data[i].func] = &from->diff_facts.data[i];
    find_functions(&part, reads_params, part.reads_params);
    find_functions(&part, looks_up, part.has_textures);
    for (uint32_t i = 0; i < from->tables.count; ++i)
        array_push(m->arena, &m->tables, from->tables.data[i]);
    for (uint32_t i = 0; i < from->fault_sites.count; ++i) {
        IrFaultSite site = from->fault_sites.data[i];
        site.span = shift_span(site.span, file_base);
        array_push(m->arena, &m->fault_sites, site);
    }
    array_push(m->arena, &link->parts, part);
    return link->parts.count - 1;
}

/* --- functions -------------------------------------------------------------------------------- */

static IrFuncId take_function(IrLink *link, const Shift *shift, IrFuncId id);

/* Returns a copy of a function with the numbers of the linked module. It shares all parts that do not change. */
static IrFunc *shifted_copy(IrLink *link, const Shift *shift, const IrFunc *from)
{
    Arena *arena = link->module->arena;
    IrFunc *to = ARENA_NEW(arena, IrFunc);
    *to = *from;
    to->span = shift_span(from->span, shift->part->file_base);
    to->insts.data = ARENA_ARRAY(arena, IrInst, from->insts.count);
    to->insts.capacity = from->insts.count;
    memcpy(to->insts.data, from->insts.data, from->insts.count * sizeof *to->insts.data);
    for (IrInstId i = 1; i < to->insts.count; ++i) {
        IrInst *inst = &to->insts.data[i];
        inst->span = shift_span(inst->span, shift->part->file_base);
        if (ir_has_texture_site((IrOp)inst->op))
            inst->site += shift->texture_site_base;
        else if (inst->op == IR_BOUNDS || inst->op == IR_LOOP || inst->op == IR_CALL)
            inst->site += shift->part->fault_base; /* only calls that recurse look at theirs */
        if (inst->op == IR_ATTRIBUTE)
            inst->imm = ir_global_imm(shift->attributes[ir_global_row(inst->imm)],
                                      ir_global_shadow(inst->imm), ir_global_component(inst->imm));
        if (inst->op == IR_TABLE)
            inst->imm += shift->part->table_base;
        if (inst->op == IR_CALL)
            inst->imm = take_function(link, shift, (IrFuncId)inst->imm);
    }
    return to;
}

static IrFuncId find_origin(const IrLink *link, const void *origin)
{
    for (uint32_t i = 0; origin && i < link->origins.count; ++i)
        if (link->origins.data[i].origin == origin)
            return link->origins.data[i].id;
    return 0;
}

static IrFuncId take_if_any(IrLink *link, const Shift *shift, IrFuncId id)
{
    return id ? take_function(link, shift, id) : 0;
}

/* Adds what the part knows of a function to the linked module, unless a part of the same library function did. */
static void take_facts(IrLink *link, const Shift *shift, const IrDiffFacts *from, IrFuncId taken)
{
    IrModule *m = link->module;
    uint32_t at = 0;
    while (at < m->diff_facts.count && m->diff_facts.data[at].func != taken)
        ++at;
    if (at < m->diff_facts.count)
        return;
    IrDiffFacts facts = *from;
    facts.func = taken;
    facts.span = shift_span(from->span, shift->part->file_base);
    facts.forward = facts.backward = facts.substitute = 0;
    array_push(m->arena, &m->diff_facts, facts);
    facts.forward = take_if_any(link, shift, from->forward); /* which may move the list */
    facts.backward = take_if_any(link, shift, from->backward);
    facts.substitute = take_if_any(link, shift, from->substitute);
    m->diff_facts.data[at] = facts;
}

/* Fills in a function whose id is new. */
static void add_function(IrLink *link, const Shift *shift, IrFuncId id, IrFuncId taken)
{
    IrModule *m = link->module;
    const IrDerivative *derivative = shift->part->derivative[id];
    if (derivative) {
        IrFuncId of = take_function(link, shift, derivative->of);
        array_push(m->arena, &m->derivatives,
                   ((IrDerivative){taken, of, derivative->is_backward, derivative->is_fused}));
        return;
    }
    const IrFunc *from = ir_func(shift->part->from, id);
    if (from->origin && !shift->part->has_textures[id])
        array_push(m->arena, &link->origins, (Origin){from->origin, taken});
    if (shift->part->reads_params[id])
        array_push(m->arena, &link->inlined, taken);
    IrFunc *copy = shifted_copy(link, shift, from);
    m->funcs.data[taken] = copy;
}

/* Returns the id of a part's function in the linked module. The id is assigned before the function is copied, because it
 * may call itself. */
static IrFuncId take_function(IrLink *link, const Shift *shift, IrFuncId id)
{
    const Part *part = shift->part;
    ASSERT(id && id < part->from->funcs.count && (ir_func(part->from, id) || part->derivative[id]));
    const IrFunc *from = ir_func(part->from, id);
    IrFuncId *known = part->has_textures[id] ? &shift->own[id] : &part->shared[id];
    if (*known)
        return *known;
    IrFuncId taken = from && !part->has_textures[id] ? find_origin(link, from->origin) : 0;
    bool is_new = taken == 0;
    if (is_new)
        taken = ir_reserve_func(link->module);
    *known = taken;
    if (is_new)
        add_function(link, shift, id, taken);
    if (part->facts[id])
        take_facts(link, shift, part->facts[id], taken);
    return taken;
}

/* --- instances -------------------------------------------------------------------------------- */

typedef struct Binding {
    const IrLink *link;
    const IrValue *const *inputs;
} Binding;

static bool is_inlined(const IrLink *link, IrFuncId id)
{
    for (uint32_t i = 0; i < link->inlined.count; ++i)
        if (link->inlined.data[i] == id)
            return true;
    return false;
}

static bool bind_input(IrClone *c, IrInstId id)
{
    const IrInst *inst = ir_inst(c->from, id);
    const Binding *bound = c->data;
    if (inst->op == IR_CALL && is_inlined(bound->link, (IrFuncId)inst->imm)) {
        ir_clone_inline(c, id, ir_func(c->module, (IrFuncId)inst->imm), NULL);
        return true;
    }
    if (inst->op != IR_PARAM)
        return false;
    c->map[inst->result_first] =
        bound->inputs[ir_param_index(inst->imm)][ir_param_component(inst->imm)];
    return true;
}

static uint32_t add_texture_sites(IrModule *m, const Part *part, uint32_t texture_base)
{
    uint32_t first = m->texture_sites.count;
    for (uint32_t i = 0; i < part->from->texture_sites.count; ++i) {
        SslTextureSite site = part->from->texture_sites.data[i];
        site.texture += texture_base;
        site.span = shift_span(site.span, part->file_base);
        array_push(m->arena, &m->texture_sites, site);
    }
    return first;
}

void ir_link_instance(IrLink *link, uint32_t part, uint32_t texture_base,
                      const uint32_t *attributes, const IrValue *const *inputs,
                      IrValue *out_results)
{
    ASSERT(part < link->parts.count);
    static const IrCloneHooks hooks = {.visit = bind_input};
    IrModule *m = link->module;
    const IrModule *from = link->parts.data[part].from;
    Shift shift = {.part = &link->parts.data[part],
                   .texture_site_base = add_texture_sites(m, &link->parts.data[part], texture_base),
                   .attributes = attributes,
                   .own = ARENA_ARRAY(m->arena, IrFuncId, from->funcs.count)};
    const IrFunc *entry = shifted_copy(link, &shift, ir_func(from, from->entry));
    Binding bound = {link, inputs};
    IrClone c = ir_clone_begin(m, entry, link->entry, &hooks, &bound);
    ir_clone_insts(&c, entry->body);
    for (uint32_t i = 0; i < link->inlined.count; ++i)
        m->funcs.data[link->inlined.data[i]] = NULL;
    link->inlined.count = 0;
    const IrValue *yields = ir_yield_args(entry, entry->body);
    for (uint32_t i = 0; i < entry->result_count; ++i)
        out_results[i] = c.map[yields[i]];
}

void ir_link_end(IrLink *link, const IrValue *results, uint32_t result_count)
{
    ir_build_end(link->entry, results, result_count);
}
