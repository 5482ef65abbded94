/* Live ranges of array values, found by one backward walk over the tree of regions, and the merging of values into
 * slots.
 *
 * Points in time are numbers, which decrease along the backward walk. Every instruction has a point where it reads
 * its arguments and a later one where its results begin. Every region and every IF or LOOP has points where it
 * begins and ends. A live range is a list of closed segments of points, earliest first.
 *
 * IF: the arms are laid out one after the other. A value that is live after the IF is live through each arm; a value
 * that only one arm reads is live in that arm. LOOP: a value from outside that the loop reads is live in all of the
 * loop, because the next turn reads it again. */
#include "ssl/codegen/array_plan.h"
#include "base/check.h"

typedef struct Segment {
    uint32_t first, last;
    struct Segment *next;
} Segment;

typedef ARRAY(IrValue) ValueList;

typedef struct Planner {
    const IrFunc *func;
    Arena *arena;
    uint32_t now;        /* next point to hand out; falls */
    Segment **range;     /* [values.count]; of a class: at its root */
    IrValue *parent;     /* [values.count]; union-find */
    uint32_t *live_at;   /* [values.count]; 1 + index into `live`, or 0 */
    uint32_t *live_end;  /* [values.count]; where the open segment ends */
    uint32_t *loop_mark; /* [values.count]; the last loop after which it was live */
    ValueList live;
    uint32_t loop_count;
} Planner;

static bool is_array_value(const IrFunc *f, IrValue v)
{
    return ir_is_array(ir_type(f, v));
}

/* --- live ranges ------------------------------------------------------------------------------ */

/* Adds a segment at the front of the range, and merges it with segments that it reaches. */
static void add_segment(Planner *p, IrValue v, uint32_t first, uint32_t last)
{
    ASSERT(first <= last);
    Segment *next = p->range[v];
    while (next && next->first <= last + 1) {
        if (next->last > last)
            last = next->last;
        next = next->next;
    }
    Segment *segment = ARENA_NEW(p->arena, Segment);
    *segment = (Segment){first, last, next};
    p->range[v] = segment;
}

static void begin_live(Planner *p, IrValue v, uint32_t end)
{
    if (p->live_at[v])
        return;
    array_push(p->arena, &p->live, v);
    p->live_at[v] = p->live.count;
    p->live_end[v] = end;
}

/* Ends the open segment of v at `point`, where v is defined. */
static void end_live(Planner *p, IrValue v, uint32_t point)
{
    uint32_t at = p->live_at[v];
    if (at == 0) {
        add_segment(p, v, point, point); /* never read, but written */
        return;
    }
    add_segment(p, v, point, p->live_end[v]);
    ASSERT(p->live.data && at <= p->live.count);
    IrValue moved = p->live.data[--p->live.count];
    p->live.data[at - 1] = moved;
    p->live_at[moved] = at;
    p->live_at[v] = 0;
}

/* Splits the open segments of all values that are live at `point`. */
static void cut_live(Planner *p, uint32_t point)
{
    for (uint32_t i = 0; i < p->live.count; ++i) {
        IrValue v = p->live.data[i];
        add_segment(p, v, point, p->live_end[v]);
        p->live_end[v] = point - 1;
    }
}

static ValueList copy_live(Planner *p)
{
    ValueList copy = {0};
    for (uint32_t i = 0; i < p->live.count; ++i)
        array_push(p->arena, &copy, p->live.data[i]);
    return copy;
}

static void replace_live(Planner *p, ValueList values)
{
    for (uint32_t i = 0; i < p->live.count; ++i)
        p->live_at[p->live.data[i]] = 0;
    p->live.count = 0;
    for (uint32_t i = 0; i < values.count; ++i)
        begin_live(p, values.data[i], p->now);
}

static void define_all(Planner *p, IrValue first, uint32_t count, uint32_t point)
{
    for (uint32_t i = 0; i < count; ++i)
        if (is_array_value(p->func, first + i))
            end_live(p, first + i, point);
}

static void use_all(Planner *p, const IrInst *inst, uint32_t point)
{
    const IrValue *args = ir_args(p->func, inst);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (is_array_value(p->func, args[i]))
            begin_live(p, args[i], point);
}

static void walk_region(Planner *p, IrRegionId region);

static void walk_if(Planner *p, const IrInst *inst)
{
    ValueList after = copy_live(p);
    walk_region(p, inst->region_first + 1);
    cut_live(p, p->now--);
    ValueList before_else = copy_live(p);
    replace_live(p, after);
    walk_region(p, inst->region_first);
    cut_live(p, p->now--);
    for (uint32_t i = 0; i < before_else.count; ++i)
        begin_live(p, before_else.data[i], p->now);
}

static void walk_loop(Planner *p, const IrInst *inst)
{
    uint32_t mark = ++p->loop_count;
    uint32_t loop_end = p->now;
    for (uint32_t i = 0; i < p->live.count; ++i)
        p->loop_mark[p->live.data[i]] = mark;
    walk_region(p, inst->region_first);
    uint32_t loop_begin = p->now--;
    const IrRegion *body = ir_region(p->func, inst->region_first);
    define_all(p, body->param_first, body->param_count, loop_begin);
    for (uint32_t i = 0; i < p->live.count; ++i) {
        IrValue v = p->live.data[i];
        if (p->loop_mark[v] != mark)
            p->live_end[v] = loop_end; /* read inside, not after: live until the last turn ends */
    }
    cut_live(p, loop_begin);
}

static void walk_region(Planner *p, IrRegionId region)
{
    const IrFunc *f = p->func;
    for (IrInstId id = ir_region(f, region)->last; id; id = ir_inst(f, id)->prev) {
        const IrInst *inst = ir_inst(f, id);
        uint32_t defined = p->now--;
        define_all(p, inst->result_first, inst->result_count, defined);
        if (inst->region_count) {
            cut_live(p, defined);
            if (inst->op == IR_IF)
                walk_if(p, inst);
            else
                walk_loop(p, inst);
        }
        use_all(p, inst, p->now--);
    }
}

/* --- merging ---------------------------------------------------------------------------------- */

static IrValue find_root(Planner *p, IrValue v)
{
    while (p->parent[v] != v) {
        p->parent[v] = p->parent[p->parent[v]];
        v = p->parent[v];
    }
    return v;
}

static bool ranges_meet(const Segment *a, const Segment *b)
{
    while (a && b) {
        if (a->last < b->first)
            a = a->next;
        else if (b->last < a->first)
            b = b->next;
        else
            return true;
    }
    return false;
}

/* Merges two lists of segments; both are consumed. */
static Segment *merge_ranges(Segment *a, Segment *b)
{
    Segment *head = NULL, **tail = &head, *last = NULL;
    while (a || b) {
        Segment **from = !b || (a && a->first < b->first) ? &a : &b;
        Segment *segment = *from;
        *from = segment->next;
        if (last && last->last + 1 == segment->first) {
            last->last = segment->last;
            continue;
        }
        *tail = last = segment;
        tail = &segment->next;
    }
    *tail = NULL;
    return head;
}

static void try_merge(Planner *p, IrValue a, IrValue b)
{
    ASSERT(ir_is_array(ir_type(p->func, a)) == ir_is_array(ir_type(p->func, b)));
    IrValue root_a = find_root(p, a), root_b = find_root(p, b);
    if (root_a == root_b || ir_type(p->func, a) != ir_type(p->func, b) ||
        ranges_meet(p->range[root_a], p->range[root_b]))
        return;
    p->parent[root_b] = root_a;
    p->range[root_a] = merge_ranges(p->range[root_a], p->range[root_b]);
}

static void merge_loop(Planner *p, const IrInst *inst)
{
    const IrFunc *f = p->func;
    const IrRegion *body = ir_region(f, inst->region_first);
    const IrValue *init = ir_args(f, inst);
    const IrValue *next = ir_args(f, ir_inst(f, body->last)) + 1; /* after go_on */
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue param = body->param_first + i;
        if (!is_array_value(f, param))
            continue;
        try_merge(p, param, next[i]);
        try_merge(p, param, init[i]);
        try_merge(p, inst->result_first + i, next[i]);
    }
}

static void merge_if(Planner *p, const IrInst *inst)
{
    const IrFunc *f = p->func;
    for (uint32_t arm = 0; arm < inst->region_count; ++arm) {
        const IrRegion *region = ir_region(f, inst->region_first + arm);
        const IrValue *yielded = ir_args(f, ir_inst(f, region->last));
        for (uint32_t i = 0; i < inst->result_count; ++i)
            if (is_array_value(f, inst->result_first + i))
                try_merge(p, inst->result_first + i, yielded[i]);
    }
}

/* Loops have precedence, because a copy that remains in a loop is executed every turn. */
static void merge_all(Planner *p)
{
    const IrFunc *f = p->func;
    for (IrInstId id = 1; id < f->insts.count; ++id)
        if (ir_inst(f, id)->op == IR_LOOP)
            merge_loop(p, ir_inst(f, id));
    for (IrInstId id = 1; id < f->insts.count; ++id)
        if (ir_inst(f, id)->op == IR_ARRAY_SET)
            try_merge(p, ir_inst(f, id)->result_first, ir_args(f, ir_inst(f, id))[0]);
    for (IrInstId id = 1; id < f->insts.count; ++id)
        if (ir_inst(f, id)->op == IR_IF)
            merge_if(p, ir_inst(f, id));
}

ArrayPlan *array_plan_create(const IrFunc *f, Arena *arena)
{
    uint32_t count = f->values.count;
    Planner p = {.func = f,
                 .arena = arena,
                 .now = 4 * (f->insts.count + f->regions.count),
                 .range = ARENA_ARRAY(arena, Segment *, count),
                 .parent = ARENA_ARRAY(arena, IrValue, count),
                 .live_at = ARENA_ARRAY(arena, uint32_t, count),
                 .live_end = ARENA_ARRAY(arena, uint32_t, count),
                 .loop_mark = ARENA_ARRAY(arena, uint32_t, count)};
    for (IrValue v = 0; v < count; ++v)
        p.parent[v] = v;

    ArrayPlan *plan = ARENA_NEW(arena, ArrayPlan);
    plan->slot_of = ARENA_ARRAY(arena, uint32_t, count);
    plan->slot_type = ARENA_ARRAY(arena, IrType, count);
    walk_region(&p, f->body);
    const IrRegion *body = ir_region(f, f->body);
    define_all(&p, body->param_first, body->param_count, p.now);
    merge_all(&p);

    uint32_t *slot_of_root = ARENA_ARRAY(arena, uint32_t, count); /* 1 + slot */
    for (IrValue v = 0; v < count; ++v) {
        plan->slot_of[v] = ARRAY_PLAN_NO_SLOT;
        if (v == 0 || !is_array_value(f, v))
            continue;
        IrValue root = find_root(&p, v);
        if (slot_of_root[root] == 0) {
            plan->slot_type[plan->slot_count++] = ir_type(f, v);
            slot_of_root[root] = plan->slot_count;
        }
        plan->slot_of[v] = slot_of_root[root] - 1;
    }
    return plan;
}
