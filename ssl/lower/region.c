#include "base/check.h"
#include "ssl/lower/emit.h"

/* Flags that are no result of the region mean nothing outside the arm that set them: each arm, and what
 * follows, starts with what they were before. */
static void save_flags(const Emit *m, IfRegion *r)
{
    r->flags[0] = m->env.data[m->returned];
    r->flags[1] = m->loop ? m->env.data[m->loop->broke] : 0;
    r->flags[2] = m->loop ? m->env.data[m->loop->continued] : 0;
}

static void restore_flags(Emit *m, const IfRegion *r)
{
    m->env.data[m->returned] = r->flags[0];
    if (m->loop) {
        m->env.data[m->loop->broke] = r->flags[1];
        m->env.data[m->loop->continued] = r->flags[2];
    }
}

bool region_if(Emit *m, IrValue condition, SlotSet slots, IfRegion *out_region)
{
    if (m->region_depth == SSL_MAX_REGIONS) {
        if (!m->lowering->has_failed)
            report(m->lowering->diags, CONTROL_TOO_NESTED, lower_span(m->lowering, m->func->span),
                   m->func->name, arena_printf(m->arena, "%d", SSL_MAX_REGIONS));
        m->lowering->has_failed = true;
        return false;
    }
    ++m->region_depth;
    IrValue *before = ARENA_ARRAY(m->arena, IrValue, slots.count);
    for (uint32_t i = 0; i < slots.count; ++i)
        before[i] = m->env.data[slots.data[i]];
    *out_region = (IfRegion){.slots = slots, .before = before, .mark = m->env.count};
    save_flags(m, out_region);
    ir_if_begin(m->b, condition);
    return true;
}

/* Collects the values that the current arm yields. */
static IrValue *arm_results(Emit *m, const IfRegion *r, const IrValue *extra)
{
    IrValue *results = ARENA_ARRAY(m->arena, IrValue, r->slots.count + r->extra_count);
    for (uint32_t i = 0; i < r->slots.count; ++i)
        results[i] = m->env.data[r->slots.data[i]];
    for (uint32_t i = 0; i < r->extra_count; ++i)
        results[r->slots.count + i] = extra[i];
    slots_forget(m, r->mark);
    return results;
}

void region_else(Emit *m, IfRegion *r, const IrValue *extra, uint32_t extra_count)
{
    r->extra_count = extra_count;
    ir_if_else(m->b, arm_results(m, r, extra), r->slots.count + extra_count);
    restore_flags(m, r);
    for (uint32_t i = 0; i < r->slots.count; ++i)
        m->env.data[r->slots.data[i]] = r->before[i];
}

void region_end(Emit *m, IfRegion *r, const IrValue *extra, IrValue *out_extra)
{
    ASSERT(m->region_depth > 0);
    uint32_t count = r->slots.count + r->extra_count;
    IrValue *results = ARENA_ARRAY(m->arena, IrValue, count);
    ir_if_end(m->b, arm_results(m, r, extra), count, results);
    restore_flags(m, r);
    for (uint32_t i = 0; i < r->slots.count; ++i)
        m->env.data[r->slots.data[i]] = results[i];
    for (uint32_t i = 0; i < r->extra_count; ++i)
        out_extra[i] = results[r->slots.count + i];
    --m->region_depth;
}
