/* The builder appends instructions to one function, with folding and value numbering.
 *
 *   scopes     the open regions, innermost last; an instruction is appended to the last one
 *   numbering  a hash table of the visible pure instructions; the entries of a region are removed when
 *              the region closes, so a value is never used where it is not defined
 *   constants  a second hash table, from which nothing is removed: constants stand at the start of the
 *              body, each once, and are visible everywhere
 *
 * All memory comes from the module's arena. A builder belongs to one thread. */
#include "ssl/ir/ir_build.h"
#include "base/check.h"
#include "ssl/ir/ir_fold.h"
#include "ssl/ir/ir_numbering.h"
#include <string.h>

typedef struct Scope {
    IrRegionId region;
    IrInstId owner;
    uint32_t entry_mark;        /* the number of numbering entries before the region */
    const IrValue *then_yields; /* in an else region: the results of `then` */
} Scope;

struct IrBuilder {
    IrModule *module;
    IrFunc *func;
    IrFuncId id;
    Span span;
    IrInstId last_constant;
    Numbering numbering, constants;
    ARRAY(Scope) scopes;
    ARRAY(IrValue) yields; /* scratch */
};

/* --- appending -------------------------------------------------------------------------------- */

static Scope *scope_top(IrBuilder *b)
{
    ASSERT(b->scopes.count > 0);
    return &b->scopes.data[b->scopes.count - 1];
}

static IrValue add_value(IrBuilder *b, IrType type, IrInstId def, IrRegionId region)
{
    array_push(b->module->arena, &b->func->values, (IrValueInfo){type, def, region});
    return b->func->values.count - 1;
}

/* Links `id` into `region` after `prev`, or at the start if `prev` is 0. */
static void link_after(IrFunc *f, IrRegionId region, IrInstId prev, IrInstId id)
{
    ASSERT(id && id < f->insts.count && (!prev || f->insts.data[prev].parent == region));
    IrInst *insts = f->insts.data;
    IrRegion *r = &f->regions.data[region];
    IrInstId next = prev ? insts[prev].next : r->first;
    insts[id].prev = prev;
    insts[id].next = next;
    if (prev)
        insts[prev].next = id;
    else
        r->first = id;
    if (next)
        insts[next].prev = id;
    else
        r->last = id;
}

/* Makes an instruction that has no results and no links yet. */
static IrInstId new_inst(IrBuilder *b, const IrNewInst *inst, IrRegionId parent)
{
    IrFunc *f = b->func;
    const IrValue *args = inst->args;
    uint32_t arg_count = inst->arg_count;
    CHECK(arg_count <= UINT16_MAX);
    uint32_t arg_first = f->args.count;
    for (uint32_t i = 0; i < arg_count; ++i)
        ASSERT(args[i] > 0 && args[i] < f->values.count);
    if (arg_count) {
        if (arg_first + arg_count > f->args.capacity)
            array_reserve(b->module->arena, &f->args, arg_first + arg_count);
        memcpy(f->args.data + arg_first, args, arg_count * sizeof *args);
        f->args.count += arg_count;
    }
    array_push(b->module->arena, &f->insts,
               (IrInst){.op = (uint16_t)inst->op,
                        .arg_count = (uint16_t)arg_count,
                        .arg_first = arg_first,
                        .parent = parent,
                        .site = inst->site,
                        .imm = inst->imm,
                        .span = b->span});
    return f->insts.count - 1;
}

static void add_results(IrBuilder *b, IrInstId id, const IrType *types, uint32_t count)
{
    CHECK(count <= UINT16_MAX);
    IrInst *inst = &b->func->insts.data[id];
    inst->result_first = count ? b->func->values.count : 0;
    inst->result_count = (uint16_t)count;
    for (uint32_t i = 0; i < count; ++i)
        add_value(b, types[i], id, inst->parent);
}

static IrInstId append(IrBuilder *b, const IrNewInst *inst)
{
    IrRegionId region = scope_top(b)->region;
    IrInstId id = new_inst(b, inst, region);
    add_results(b, id, inst->types, inst->result_count);
    link_after(b->func, region, b->func->regions.data[region].last, id);
    return id;
}

static bool is_commutative(IrOp op)
{
    switch (op) {
    case IR_FADD:
    case IR_FMUL:
    case IR_FEQ:
    case IR_FNE:
    case IR_IADD:
    case IR_IMUL:
    case IR_IMIN:
    case IR_IMAX:
    case IR_IAND:
    case IR_IOR:
    case IR_IXOR:
    case IR_IEQ:
    case IR_INE:
    case IR_BAND:
    case IR_BOR:
    case IR_BXOR:
        return true;
    default:
        return false;
    }
}

/* Returns the first result of a pure instruction: of an existing equal one, or of a new one. */
static IrValue append_pure(IrBuilder *b, const IrNewInst *given)
{
    IrFunc *f = b->func;
    IrNewInst inst = *given;
    IrValue swapped[2];
    if (is_commutative(inst.op) && inst.args[0] > inst.args[1]) {
        swapped[0] = inst.args[1];
        swapped[1] = inst.args[0];
        inst.args = swapped;
    }
    const IrKey key = {inst.op, inst.types[0], inst.imm, inst.site, inst.arg_count, inst.args};
    uint64_t hash = numbering_hash(&key);
    IrInstId id = numbering_find(&b->numbering, f, &key, hash);
    if (!id) {
        id = append(b, &inst);
        numbering_add(&b->numbering, b->module->arena, hash, id);
    }
    return ir_inst(f, id)->result_first;
}

static IrValue constant(IrBuilder *b, IrOp op, IrKind kind, uint64_t imm)
{
    IrFunc *f = b->func;
    IrType type = ir_scalar(kind);
    const IrKey key = {.op = op, .type = type, .imm = imm};
    uint64_t hash = numbering_hash(&key);
    IrInstId id = numbering_find(&b->constants, f, &key, hash);
    if (!id) {
        id = new_inst(b, &(IrNewInst){.op = op, .imm = imm}, f->body);
        add_results(b, id, &type, 1);
        link_after(f, f->body, b->last_constant, id);
        b->last_constant = id;
        numbering_add(&b->constants, b->module->arena, hash, id);
    }
    return ir_inst(f, id)->result_first;
}

/* --- functions and regions -------------------------------------------------------------------- */

IrFuncId ir_reserve_func(IrModule *m)
{
    array_push(m->arena, &m->funcs, NULL);
    return m->funcs.count - 1;
}

static IrRegionId add_region(IrBuilder *b, IrInstId owner, const IrType *params,
                             uint32_t param_count)
{
    IrFunc *f = b->func;
    IrRegionId id = f->regions.count;
    array_push(b->module->arena, &f->regions,
               (IrRegion){.owner = owner,
                          .param_first = param_count ? f->values.count : 0,
                          .param_count = param_count});
    for (uint32_t i = 0; i < param_count; ++i)
        add_value(b, params[i], 0, id);
    return id;
}

static void open_scope(IrBuilder *b, IrRegionId region, IrInstId owner)
{
    array_push(b->module->arena, &b->scopes,
               (Scope){.region = region, .owner = owner, .entry_mark = b->numbering.entries.count});
}

static void close_scope(IrBuilder *b, const IrValue *yields, uint32_t count)
{
    ASSERT(scope_top(b)->entry_mark <= b->numbering.entries.count);
    append(b, &(IrNewInst){.op = IR_YIELD, .args = yields, .arg_count = count});
    numbering_pop_to(&b->numbering, scope_top(b)->entry_mark);
    --b->scopes.count;
}

IrBuilder *ir_build_begin(IrModule *m, IrFuncId id, const char *name, const IrType *params,
                          uint32_t param_count)
{
    ASSERT(id && id < m->funcs.count);
    IrBuilder *b = ARENA_NEW(m->arena, IrBuilder);
    b->module = m;
    b->id = id;
    b->func = ARENA_NEW(m->arena, IrFunc);
    b->func->name = name;
    array_push(m->arena, &b->func->insts, (IrInst){0});
    array_push(m->arena, &b->func->regions, (IrRegion){0});
    array_push(m->arena, &b->func->values, (IrValueInfo){0});
    b->func->body = add_region(b, 0, params, param_count);
    open_scope(b, b->func->body, 0);
    return b;
}

void ir_build_like(IrBuilder *b, const IrFunc *like)
{
    b->func->span = like->span;
    b->func->is_library = like->is_library;
    Arena *arena = b->module->arena;
    array_reserve(arena, &b->func->insts, like->insts.count);
    array_reserve(arena, &b->func->values, like->values.count);
    array_reserve(arena, &b->func->args, like->args.count);
    array_reserve(arena, &b->func->regions, like->regions.count);
    array_reserve(arena, &b->numbering.entries, like->insts.count / 2 + 1);
}

void ir_build_end(IrBuilder *b, const IrValue *results, uint32_t result_count)
{
    IrFunc *f = b->func;
    ASSERT(b->scopes.count == 1);
    f->result_types = ARENA_ARRAY(b->module->arena, IrType, result_count);
    f->result_count = result_count;
    for (uint32_t i = 0; i < result_count; ++i)
        f->result_types[i] = ir_type(f, results[i]);
    close_scope(b, results, result_count);
    b->module->funcs.data[b->id] = f;
}

IrModule *ir_build_module(IrBuilder *b)
{
    return b->module;
}

IrFunc *ir_build_func(IrBuilder *b)
{
    return b->func;
}

IrValue ir_build_param(IrBuilder *b, uint32_t index)
{
    const IrRegion *body = ir_region(b->func, b->func->body);
    ASSERT(index < body->param_count);
    return body->param_first + index;
}

void ir_build_span(IrBuilder *b, Span span)
{
    b->span = span;
}

IrType ir_build_type(IrBuilder *b, IrValue v)
{
    return ir_type(b->func, v);
}

/* --- constants and inputs --------------------------------------------------------------------- */

IrValue ir_const_bool(IrBuilder *b, bool x)
{
    return constant(b, IR_CONST_BOOL, IR_BOOL, x);
}

IrValue ir_const_int(IrBuilder *b, int32_t x)
{
    return constant(b, IR_CONST_INT, IR_INT, (uint32_t)x);
}

IrValue ir_const_float(IrBuilder *b, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return constant(b, IR_CONST_FLOAT, IR_FLOAT, bits);
}

static const IrInst *constant_inst(IrBuilder *b, IrValue v, IrOp op)
{
    const IrInst *inst = ir_inst(b->func, b->func->values.data[v].def);
    return inst->op == op ? inst : NULL;
}

bool ir_is_const_bool(IrBuilder *b, IrValue v, bool *out_x)
{
    const IrInst *inst = constant_inst(b, v, IR_CONST_BOOL);
    if (inst)
        *out_x = inst->imm != 0;
    return inst != NULL;
}

bool ir_is_const_int(IrBuilder *b, IrValue v, int32_t *out_x)
{
    const IrInst *inst = constant_inst(b, v, IR_CONST_INT);
    if (inst)
        *out_x = (int32_t)(uint32_t)inst->imm;
    return inst != NULL;
}

bool ir_is_const_float(IrBuilder *b, IrValue v, float *out_x)
{
    const IrInst *inst = constant_inst(b, v, IR_CONST_FLOAT);
    if (inst)
        *out_x = ir_imm_float(inst);
    return inst != NULL;
}

IrValue ir_build_global(IrBuilder *b, IrKind kind, uint32_t row, uint32_t shadow,
                        uint32_t component)
{
    IrType type = ir_scalar(kind);
    return append_pure(b, &(IrNewInst){.op = IR_GLOBAL,
                                       .imm = ir_global_imm(row, shadow, component),
                                       .types = &type,
                                       .result_count = 1});
}

IrValue ir_build_attribute(IrBuilder *b, IrKind kind, uint32_t slot, uint32_t shadow,
                           uint32_t component)
{
    IrType type = ir_scalar(kind);
    return append_pure(b, &(IrNewInst){.op = IR_ATTRIBUTE,
                                       .imm = ir_global_imm(slot, shadow, component),
                                       .types = &type,
                                       .result_count = 1});
}

IrValue ir_build_table(IrBuilder *b, uint32_t table, IrValue index)
{
    const IrModule *m = ir_build_module(b);
    IrType type = ir_scalar(m->tables.data[table].kind);
    return append_pure(b, &(IrNewInst){.op = IR_TABLE,
                                       .imm = table,
                                       .args = &index,
                                       .types = &type,
                                       .arg_count = 1,
                                       .result_count = 1});
}

IrValue ir_build_param_read(IrBuilder *b, IrKind kind, uint32_t param, uint32_t component)
{
    IrType type = ir_scalar(kind);
    return append_pure(b, &(IrNewInst){.op = IR_PARAM,
                                       .imm = ir_param_imm(param, component),
                                       .types = &type,
                                       .result_count = 1});
}

/* --- operations ------------------------------------------------------------------------------- */

void ir_build_inst(IrBuilder *b, const IrNewInst *inst, IrValue *out_results)
{
    IrOp op = inst->op;
    uint32_t flags = ir_op_info(op)->flags;
    ASSERT(!(flags & IR_FLAG_REGIONS) && op != IR_YIELD);
    IrValue first;
    if (op == IR_CONST_BOOL || op == IR_CONST_INT || op == IR_CONST_FLOAT) {
        first = constant(b, op, ir_kind(inst->types[0]), inst->imm);
    } else {
        first =
            inst->result_count == 1 ? ir_fold(b, op, inst->imm, inst->args, inst->arg_count) : 0;
        if (!first && (flags & IR_FLAG_PURE))
            first = append_pure(b, inst);
        else if (!first)
            first = ir_inst(b->func, append(b, inst))->result_first;
    }
    for (uint32_t i = 0; i < inst->result_count; ++i)
        out_results[i] = first + i;
}

/* Returns the type of the single result by the signature of `op`. */
static IrType result_type(IrBuilder *b, IrOp op, const IrValue *args)
{
    const char *signature = ir_op_info(op)->signature;
    switch (*(strchr(signature, '>') + 1)) {
    case 'b':
        return IR_BOOL;
    case 'i':
        return IR_INT;
    case 'c':
        return IR_CLOSURE;
    case 'v': /* SELECT, APART */
        return ir_build_type(b, args[op == IR_SELECT ? 1 : 0]);
    case 'a':
        return ir_build_type(b, args[0]);
    case 'e':
        return ir_scalar(ir_kind(ir_build_type(b, args[0])));
    default:
        return IR_FLOAT;
    }
}

static bool has_fused_body(IrOp op)
{
    switch (op) {
#define RT_MATH1(name, f) case IR_##name:
#define RT_MATH2(name, f) case IR_##name:
#include "ssl/rt/rt_fused.inc"
#undef RT_MATH1
#undef RT_MATH2
        return true;
    default:
        return false;
    }
}

static IrValue build_with(IrBuilder *b, IrOp op, uint64_t imm, const IrValue *args,
                          uint32_t arg_count)
{
    IrType type = result_type(b, op, args);
    IrValue result;
    ir_build_inst(b,
                  &(IrNewInst){.op = op,
                               .imm = imm,
                               .args = args,
                               .types = &type,
                               .arg_count = arg_count,
                               .result_count = 1},
                  &result);
    return result;
}

static IrValue build(IrBuilder *b, IrOp op, const IrValue *args, uint32_t arg_count)
{
    uint64_t imm = b->module->is_fused && has_fused_body(op) ? IR_FUSED : 0;
    return build_with(b, op, imm, args, arg_count);
}

IrValue ir_build1(IrBuilder *b, IrOp op, IrValue x)
{
    return build(b, op, (IrValue[2]){x}, 1);
}

IrValue ir_build2(IrBuilder *b, IrOp op, IrValue x, IrValue y)
{
    return build(b, op, (IrValue[]){x, y}, 2);
}

IrValue ir_build3(IrBuilder *b, IrOp op, IrValue x, IrValue y, IrValue z)
{
    return build(b, op, (IrValue[]){x, y, z}, 3);
}

IrValue ir_build_select(IrBuilder *b, IrValue cond, IrValue x, IrValue y)
{
    return ir_build3(b, IR_SELECT, cond, x, y);
}

IrValue ir_build_guard(IrBuilder *b, IrValue cond, IrValue x, IrValue y)
{
    return build_with(b, IR_SELECT, IR_GUARD, (IrValue[]){cond, x, y}, 3);
}

IrValue ir_build_array(IrBuilder *b, IrKind kind, const IrValue *elements, uint32_t count)
{
    IrType type = ir_array(kind, count);
    IrValue result;
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_ARRAY,
                               .args = elements,
                               .types = &type,
                               .arg_count = count,
                               .result_count = 1},
                  &result);
    return result;
}

IrValue ir_build_bounds(IrBuilder *b, IrValue index, uint32_t count, uint32_t fault_site)
{
    IrType type = IR_INT;
    IrValue result;
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_BOUNDS,
                               .site = fault_site,
                               .imm = count,
                               .args = &index,
                               .types = &type,
                               .arg_count = 1,
                               .result_count = 1},
                  &result);
    return result;
}

IrValue ir_build_step(IrBuilder *b, IrOp op, IrValue x)
{
    ASSERT(op == IR_DDX || op == IR_DDY);
    IrType type = ir_build_type(b, x);
    IrValue result;
    ir_build_inst(
        b,
        &(IrNewInst){
            .op = op, .imm = 1, .args = &x, .types = &type, .arg_count = 1, .result_count = 1},
        &result);
    return result;
}

IrValue ir_build_detach(IrBuilder *b, IrValue v)
{
    IrType type = ir_build_type(b, v);
    IrValue result;
    ir_build_inst(
        b,
        &(IrNewInst){
            .op = IR_DETACH, .args = &v, .types = &type, .arg_count = 1, .result_count = 1},
        &result);
    return result;
}

IrValue ir_build_closure(IrBuilder *b, uint32_t row, const IrValue *args, uint32_t arg_count)
{
    IrType type = IR_CLOSURE;
    IrValue result;
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_CLOSURE_MAKE,
                               .imm = row,
                               .args = args,
                               .types = &type,
                               .arg_count = arg_count,
                               .result_count = 1},
                  &result);
    return result;
}

IrValue ir_build_closure_zero(IrBuilder *b)
{
    IrType type = IR_CLOSURE;
    IrValue result;
    ir_build_inst(b, &(IrNewInst){.op = IR_CLOSURE_ZERO, .types = &type, .result_count = 1},
                  &result);
    return result;
}

IrValue ir_build_closure_scale(IrBuilder *b, IrValue closure, IrValue r, IrValue g, IrValue bl)
{
    return build(b, IR_CLOSURE_SCALE, (IrValue[]){closure, r, g, bl}, 4);
}

static const IrType texture_types[12] = {IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT,
                                         IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT,
                                         IR_FLOAT, IR_FLOAT, IR_FLOAT, IR_FLOAT};

void ir_build_tex_auto(IrBuilder *b, uint32_t site, const IrValue coord[3], IrValue out_rgba[4])
{
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_TEX_AUTO,
                               .site = site,
                               .args = coord,
                               .types = texture_types,
                               .arg_count = 3,
                               .result_count = 4},
                  out_rgba);
}

void ir_build_tex_auto_d(IrBuilder *b, uint32_t site, const IrValue coord[3],
                         IrValue out_results[12])
{
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_TEX_AUTO_D,
                               .site = site,
                               .args = coord,
                               .types = texture_types,
                               .arg_count = 3,
                               .result_count = 12},
                  out_results);
}

void ir_build_tex(IrBuilder *b, uint32_t site, const IrValue coord[7], IrValue out_rgba[4])
{
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_TEX,
                               .site = site,
                               .args = coord,
                               .types = texture_types,
                               .arg_count = 7,
                               .result_count = 4},
                  out_rgba);
}

void ir_build_tex_d(IrBuilder *b, uint32_t site, const IrValue coord[7], IrValue out_results[12])
{
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_TEX_D,
                               .site = site,
                               .args = coord,
                               .types = texture_types,
                               .arg_count = 7,
                               .result_count = 12},
                  out_results);
}

void ir_build_ask(IrBuilder *b, uint32_t row, const IrValue *args, uint32_t arg_count,
                  const IrType *result_types, uint32_t result_count, IrValue *out_results)
{
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_ASK,
                               .imm = row,
                               .args = args,
                               .types = result_types,
                               .arg_count = arg_count,
                               .result_count = result_count},
                  out_results);
}

void ir_build_call(IrBuilder *b, IrFuncId callee, const IrValue *args, uint32_t arg_count,
                   const IrType *result_types, uint32_t result_count, IrValue *out_results)
{
    ir_build_inst(b,
                  &(IrNewInst){.op = IR_CALL,
                               .imm = callee,
                               .args = args,
                               .types = result_types,
                               .arg_count = arg_count,
                               .result_count = result_count},
                  out_results);
}

/* --- control ---------------------------------------------------------------------------------- */

void ir_if_begin(IrBuilder *b, IrValue cond)
{
    IrInstId id = append(b, &(IrNewInst){.op = IR_IF, .args = &cond, .arg_count = 1});
    IrRegionId then_region = add_region(b, id, NULL, 0);
    IrRegionId else_region = add_region(b, id, NULL, 0);
    IrInst *inst = &b->func->insts.data[id];
    inst->region_first = then_region;
    inst->region_count = 2;
    open_scope(b, else_region, id);
    open_scope(b, then_region, id);
}

void ir_if_else(IrBuilder *b, const IrValue *then_results, uint32_t count)
{
    IrValue *kept = ARENA_ARRAY(b->module->arena, IrValue, count);
    if (count)
        memcpy(kept, then_results, count * sizeof *kept);
    close_scope(b, then_results, count);
    scope_top(b)->then_yields = kept;
}

/* Returns the result of an IF if it needs no choice: both arms yield it, or it is the condition. Else returns 0. */
static IrValue fold_if_result(IrBuilder *b, IrValue cond, IrValue x, IrValue y)
{
    bool then_bool, else_bool;
    if (x == y)
        return x;
    if (ir_is_const_bool(b, x, &then_bool) && ir_is_const_bool(b, y, &else_bool))
        return then_bool ? cond : ir_build1(b, IR_BNOT, cond);
    return 0;
}

void ir_if_end(IrBuilder *b, const IrValue *else_results, uint32_t count, IrValue *out_results)
{
    IrInstId id = scope_top(b)->owner;
    const IrValue *then_results = scope_top(b)->then_yields;
    close_scope(b, else_results, count);
    IrType *types = ARENA_ARRAY(b->module->arena, IrType, count);
    for (uint32_t i = 0; i < count; ++i)
        types[i] = ir_type(b->func, else_results[i]);
    add_results(b, id, types, count);
    IrValue cond = ir_args(b->func, ir_inst(b->func, id))[0];
    IrValue first = ir_inst(b->func, id)->result_first;
    for (uint32_t i = 0; i < count; ++i) {
        IrValue same = fold_if_result(b, cond, then_results[i], else_results[i]);
        out_results[i] = same ? same : first + i;
    }
}

void ir_loop_begin(IrBuilder *b, uint32_t fault_site, const IrValue *init, uint32_t count,
                   IrValue *out_params)
{
    IrInstId id = append(
        b, &(IrNewInst){.op = IR_LOOP, .site = fault_site, .args = init, .arg_count = count});
    IrType *types = ARENA_ARRAY(b->module->arena, IrType, count);
    for (uint32_t i = 0; i < count; ++i)
        types[i] = ir_type(b->func, init[i]);
    IrRegionId region = add_region(b, id, types, count);
    IrInst *inst = &b->func->insts.data[id];
    inst->region_first = region;
    inst->region_count = 1;
    for (uint32_t i = 0; i < count; ++i)
        out_params[i] = ir_region(b->func, region)->param_first + i;
    open_scope(b, region, id);
}

void ir_loop_end(IrBuilder *b, IrValue go_on, const IrValue *next, uint32_t count,
                 IrValue *out_results)
{
    Arena *arena = b->module->arena;
    IrInstId id = scope_top(b)->owner;
    b->yields.count = 0;
    array_push(arena, &b->yields, go_on);
    IrType *types = ARENA_ARRAY(arena, IrType, count);
    for (uint32_t i = 0; i < count; ++i) {
        array_push(arena, &b->yields, next[i]);
        types[i] = ir_type(b->func, next[i]);
    }
    close_scope(b, b->yields.data, count + 1);
    add_results(b, id, types, count);
    for (uint32_t i = 0; i < count; ++i)
        out_results[i] = ir_inst(b->func, id)->result_first + i;
}

/* --- module tables ---------------------------------------------------------------------------- */

uint32_t ir_add_fault_site(IrModule *m, SslFaultKind kind, Span span)
{
    array_push(m->arena, &m->fault_sites, (IrFaultSite){.kind = kind, .span = span});
    return m->fault_sites.count - 1;
}

uint32_t ir_add_texture_site(IrModule *m, const SslTextureSite *site)
{
    array_push(m->arena, &m->texture_sites, *site);
    return m->texture_sites.count - 1;
}
