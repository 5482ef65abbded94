/* Arrays of floats that are only read and written at constant indices become their elements, those that are
 * read, in all functions at once: what comes after this, lineage and demand above all, sees each by itself, also
 * where an array crosses an IF, a LOOP or a call. (Within straight code the builder has done the same.)
 *
 * Values that must be split alike are one class: what an IF yields and gives, the states of a loop, arguments and
 * parameters, results and their callers'. One index of run time anywhere, and the class stays whole, as do
 * large arrays. */
#include "base/check.h"
#include "ssl/passes/pass.h"
#include <string.h>

enum { SPLIT_MAX = 64 }; /* elements; one bit each */

typedef struct Split {
    const IrFunc **from;  /* [function] as it was */
    uint32_t *first;      /* [function] its value v is number first + v below */
    uint32_t *parent;     /* union-find */
    uint64_t *read;       /* [root] elements that somebody reads */
    uint8_t *stays_whole; /* [root] */
} Split;

static bool is_candidate(const IrFunc *f, IrValue v)
{
    return ir_is_array(ir_type(f, v)) && ir_kind(ir_type(f, v)) == IR_FLOAT;
}

static uint32_t root_of(const Split *s, uint32_t number)
{
    while (s->parent[number] != number)
        number = s->parent[number] = s->parent[s->parent[number]];
    return number;
}

static void join(Split *s, uint32_t a, uint32_t b)
{
    a = root_of(s, a);
    b = root_of(s, b);
    s->parent[b] = a;
    s->read[a] |= s->read[b];
    s->stays_whole[a] |= s->stays_whole[b];
}

static bool constant_index(const IrFunc *f, IrValue v, uint32_t *out_index)
{
    const IrInst *def = ir_inst(f, f->values.data[v].def);
    *out_index = (uint32_t)def->imm;
    return def->op == IR_CONST_INT;
}

/* --- classes ---------------------------------------------------------------------------------- */

typedef struct Collector {
    Split *split;
    const IrFunc *func;
    uint32_t first;
} Collector;

static void join_values(Collector *k, IrValue a, IrValue b)
{
    if (is_candidate(k->func, a))
        join(k->split, k->first + a, k->first + b);
}

static void note_index(Collector *k, IrValue array, IrValue index, bool is_read)
{
    if (!is_candidate(k->func, array))
        return;
    uint32_t at, root = root_of(k->split, k->first + array);
    if (!constant_index(k->func, index, &at))
        k->split->stays_whole[root] = 1;
    else if (is_read && at < SPLIT_MAX)
        k->split->read[root] |= (uint64_t)1 << at;
}

static void join_call(Collector *k, const IrInst *inst)
{
    ASSERT(k->split->from[inst->imm]);
    const IrFunc *f = k->func, *callee = k->split->from[inst->imm];
    uint32_t first = k->split->first[inst->imm];
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (is_candidate(f, ir_args(f, inst)[i]))
            join(k->split, k->first + ir_args(f, inst)[i],
                 first + ir_region(callee, callee->body)->param_first + i);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        if (is_candidate(f, inst->result_first + i))
            join(k->split, k->first + inst->result_first + i,
                 first + ir_yield_args(callee, callee->body)[i]);
}

static void collect_inst(Collector *k, const IrInst *inst)
{
    const IrFunc *f = k->func;
    const IrValue *args = ir_args(f, inst);
    uint32_t lead = inst->op == IR_LOOP ? 1 : 0;
    if (inst->op == IR_ARRAY_GET) {
        note_index(k, args[0], args[1], true);
    } else if (inst->op == IR_ARRAY_SET) {
        note_index(k, args[0], args[1], false);
        join_values(k, inst->result_first, args[0]);
    } else if (inst->op == IR_CALL) {
        join_call(k, inst);
    }
    for (uint32_t r = 0; r < inst->region_count; ++r)
        for (uint32_t i = 0; i < inst->result_count; ++i)
            join_values(k, inst->result_first + i,
                        ir_yield_args(f, inst->region_first + r)[i + lead]);
    for (uint32_t i = 0; inst->op == IR_LOOP && i < inst->arg_count; ++i) {
        join_values(k, inst->result_first + i, args[i]);
        join_values(k, inst->result_first + i, ir_region(f, inst->region_first)->param_first + i);
    }
}

/* Returns false if there is nothing to split. */
static bool find_classes(const IrModule *m, Split *s)
{
    Arena *arena = m->arena;
    uint32_t count = 0;
    s->from = ARENA_ARRAY(arena, const IrFunc *, m->funcs.count);
    s->first = ARENA_ARRAY(arena, uint32_t, m->funcs.count);
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        s->from[id] = ir_func(m, id);
        s->first[id] = count;
        count += s->from[id] ? s->from[id]->values.count : 0;
    }
    s->parent = ARENA_ARRAY(arena, uint32_t, count);
    s->read = ARENA_ARRAY(arena, uint64_t, count);
    s->stays_whole = ARENA_ARRAY(arena, uint8_t, count);
    for (uint32_t i = 0; i < count; ++i)
        s->parent[i] = i;
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = s->from[id];
        Collector k = {s, f, s->first[id]};
        for (IrValue v = 1; f && v < f->values.count; ++v)
            if (ir_count(ir_type(f, v)) > SPLIT_MAX)
                s->stays_whole[root_of(s, k.first + v)] = 1;
        for (IrInstId i = 1; f && i < f->insts.count; ++i)
            collect_inst(&k, ir_inst(f, i));
    }
    for (uint32_t i = 0; i < count; ++i)
        if (s->parent[i] == i && s->read[i] && !s->stays_whole[i])
            return true;
    return false;
}

/* --- rebuilding ------------------------------------------------------------------------------- */

typedef struct FuncSplit {
    const Split *split;
    IrFuncId id;
    IrValue **elements; /* [value of from] of those that are split: the elements that are read */
} FuncSplit;

static bool is_split(const Split *s, IrFuncId id, IrValue v)
{
    return is_candidate(s->from[id], v) && !s->stays_whole[root_of(s, s->first[id] + v)];
}

static uint64_t elements_of(const Split *s, IrFuncId id, IrValue v)
{
    ASSERT(is_split(s, id, v));
    return s->read[root_of(s, s->first[id] + v)];
}

static uint32_t count_bits(uint64_t bits)
{
    uint32_t count = 0;
    for (; bits; bits &= bits - 1)
        ++count;
    return count;
}

/* Returns the number of values that replace `v`. */
static uint32_t width_of(const Split *s, IrFuncId id, IrValue v)
{
    return is_split(s, id, v) ? count_bits(elements_of(s, id, v)) : 1;
}

/* Returns the position of element `index` among the elements that are read. */
static uint32_t rank_of(uint64_t elements, uint32_t index)
{
    ASSERT(index < SPLIT_MAX);
    return count_bits(elements & (((uint64_t)1 << index) - 1));
}

static uint32_t put_types(const Split *s, IrFuncId id, IrValue v, IrType *out_types)
{
    uint32_t width = width_of(s, id, v);
    for (uint32_t i = 0; i < width; ++i)
        out_types[i] = is_split(s, id, v) ? IR_FLOAT : ir_type(s->from[id], v);
    return width;
}

static uint32_t put_values(IrClone *c, IrValue v, IrValue *out_values)
{
    const FuncSplit *p = c->data;
    uint32_t width = width_of(p->split, p->id, v);
    if (is_split(p->split, p->id, v))
        memcpy(out_values, p->elements[v], width * sizeof *out_values);
    else
        *out_values = c->map[v];
    return width;
}

static uint32_t take_values(IrClone *c, IrValue v, const IrValue *values)
{
    const FuncSplit *p = c->data;
    uint32_t width = width_of(p->split, p->id, v);
    if (is_split(p->split, p->id, v)) {
        p->elements[v] = ARENA_ARRAY(c->module->arena, IrValue, width);
        memcpy(p->elements[v], values, width * sizeof *values);
    } else {
        c->map[v] = *values;
    }
    return width;
}

static uint32_t carry_count(IrClone *c, IrValue result)
{
    const FuncSplit *p = c->data;
    return width_of(p->split, p->id, result);
}

static void carry(IrClone *c, IrValue result, IrValue source, IrValue *out_values)
{
    SORT_UNUSED(result);
    put_values(c, source, out_values);
}

static void receive(IrClone *c, IrValue result, IrValue target, const IrValue *values)
{
    SORT_UNUSED(result);
    take_values(c, target, values);
}

static void make_call(IrClone *c, const IrInst *inst)
{
    const FuncSplit *p = c->data;
    Arena *arena = c->module->arena;
    uint32_t arg_count = 0, result_count = 0, at = 0;
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        arg_count += width_of(p->split, p->id, ir_args(c->from, inst)[i]);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        result_count += width_of(p->split, p->id, inst->result_first + i);
    IrValue *args = ARENA_ARRAY(arena, IrValue, arg_count);
    IrValue *results = ARENA_ARRAY(arena, IrValue, result_count);
    IrType *types = ARENA_ARRAY(arena, IrType, result_count);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        at += put_values(c, ir_args(c->from, inst)[i], args + at);
    at = 0;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        at += put_types(p->split, p->id, inst->result_first + i, types + at);
    ir_build_inst(c->to,
                  &(IrNewInst){.op = IR_CALL,
                               .site = inst->site,
                               .imm = inst->imm,
                               .args = args,
                               .types = types,
                               .arg_count = arg_count,
                               .result_count = result_count},
                  results);
    at = 0;
    for (uint32_t i = 0; i < inst->result_count; ++i)
        at += take_values(c, inst->result_first + i, results + at);
}

static void split_array(IrClone *c, const IrInst *inst)
{
    const FuncSplit *p = c->data;
    uint64_t elements = elements_of(p->split, p->id, inst->result_first);
    IrValue *out = ARENA_ARRAY(c->module->arena, IrValue, count_bits(elements));
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        if (elements >> i & 1)
            out[rank_of(elements, i)] = c->map[ir_args(c->from, inst)[i]];
    p->elements[inst->result_first] = out;
}

static void split_set(IrClone *c, const IrInst *inst)
{
    const FuncSplit *p = c->data;
    const IrValue *args = ir_args(c->from, inst);
    uint64_t elements = elements_of(p->split, p->id, args[0]);
    uint32_t index;
    CHECK(constant_index(c->from, args[1], &index));
    take_values(c, inst->result_first, p->elements[args[0]]);
    if (elements >> index & 1)
        p->elements[inst->result_first][rank_of(elements, index)] = c->map[args[2]];
}

static bool visit(IrClone *c, IrInstId id)
{
    const FuncSplit *p = c->data;
    const IrInst *inst = ir_inst(c->from, id);
    const IrValue *args = ir_args(c->from, inst);
    uint32_t index;
    if (inst->op == IR_CALL) {
        make_call(c, inst);
        return true;
    }
    if (inst->op == IR_ARRAY && is_split(p->split, p->id, inst->result_first)) {
        split_array(c, inst);
        return true;
    }
    if (inst->op == IR_ARRAY_SET && is_split(p->split, p->id, args[0])) {
        split_set(c, inst);
        return true;
    }
    if (inst->op == IR_ARRAY_GET && is_split(p->split, p->id, args[0])) {
        CHECK(constant_index(c->from, args[1], &index));
        uint32_t rank = rank_of(elements_of(p->split, p->id, args[0]), index);
        c->map[inst->result_first] = p->elements[args[0]][rank];
        return true;
    }
    return false;
}

static void rebuild(IrModule *m, const Split *s, IrFuncId id)
{
    static const IrCloneHooks hooks = {visit, carry_count, carry, receive};
    const IrFunc *f = s->from[id];
    const IrRegion *body = ir_region(f, f->body);
    uint32_t count = 0, at = 0;
    for (uint32_t i = 0; i < body->param_count; ++i)
        count += width_of(s, id, body->param_first + i);
    IrType *types = ARENA_ARRAY(m->arena, IrType, count);
    IrValue *params = ARENA_ARRAY(m->arena, IrValue, count);
    for (uint32_t i = 0; i < body->param_count; ++i)
        at += put_types(s, id, body->param_first + i, types + at);
    IrBuilder *b = ir_build_begin(m, id, f->name, types, count);
    ir_build_like(b, f);
    FuncSplit p = {s, id, ARENA_ARRAY(m->arena, IrValue *, f->values.count)};
    IrClone c = ir_clone_begin(m, f, b, &hooks, &p);
    for (uint32_t i = 0; i < count; ++i)
        params[i] = ir_build_param(b, i);
    at = 0;
    for (uint32_t i = 0; i < body->param_count; ++i)
        at += take_values(&c, body->param_first + i, params + at);
    ir_clone_insts(&c, f->body);
    count = at = 0;
    for (uint32_t i = 0; i < f->result_count; ++i)
        count += width_of(s, id, ir_yield_args(f, f->body)[i]);
    IrValue *results = ARENA_ARRAY(m->arena, IrValue, count);
    for (uint32_t i = 0; i < f->result_count; ++i)
        at += put_values(&c, ir_yield_args(f, f->body)[i], results + at);
    ir_build_end(b, results, count);
}

void ir_split_arrays(IrModule *m)
{
    Split s = {0};
    if (!find_classes(m, &s))
        return;
    for (IrFuncId id = 1; id < m->funcs.count; ++id)
        if (s.from[id])
            rebuild(m, &s, id);
}
