/* The verifier walks each function in program order and refuses IR that no correct pass makes.
 *
 * A value is visible from its definition to the end of the region that defines it. The walk keeps one byte per
 * value, which is set at the definition and cleared when the region ends. It allocates nothing else and frees
 * these, so it can run after every pass of every build (it takes about a tenth of a pass's time). */
#include "base/check.h"
#include "ssl/ir/ir.h"
#include "ssl/ssl_limits.h"
#include <stdio.h>
#include <string.h>

typedef struct Verifier {
    const IrModule *module;
    const IrFunc *func;
    IrFuncId id;
    uint8_t *visible; /* [value] */
    uint32_t depth;
    Error *err;
} Verifier;

#define FAIL_AT(v, inst, ...) fail_at((v), (IrInstId)(inst), __VA_ARGS__)
#define EXPECT(v, inst, condition, ...)                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return FAIL_AT(v, inst, __VA_ARGS__);                                                  \
    } while (0)

SORT_PRINTF(3, 4)
static Status fail_at(const Verifier *v, IrInstId inst, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *mnemonic = "function";
    if (inst > 0 && inst < v->func->insts.count) {
        IrOp op = (IrOp)ir_inst(v->func, inst)->op;
        mnemonic = op > IR_OP_NONE && op < IR_OP_COUNT ? ir_op_info(op)->mnemonic : "?";
    }
    return error_set(v->err, STATUS_INTERNAL, "IR of '%s': instruction %u (%s): %s",
                     v->func->name ? v->func->name : "?", inst, mnemonic, text);
}

static Status verify_region(Verifier *v, IrRegionId id);

/* --- types ------------------------------------------------------------------------------------ */

static bool matches(char c, IrType type)
{
    switch (c) {
    case 'b':
        return type == IR_BOOL;
    case 'i':
        return type == IR_INT;
    case 'f':
        return type == IR_FLOAT;
    case 'c':
        return type == IR_CLOSURE;
    case 'v':
    case 'e':
        return !ir_is_array(type);
    case 'a':
        return ir_is_array(type);
    default:
        return false;
    }
}

/* Checks the fixed part of the signature, and that all 'v' are one type and 'e' is the array's. */
static Status verify_signature(Verifier *v, IrInstId id)
{
    const IrFunc *f = v->func;
    const IrInst *inst = ir_inst(f, id);
    const char *s = ir_op_info((IrOp)inst->op)->signature;
    IrType any = UINT32_MAX, array = UINT32_MAX;
    const char *types[2] = {s, strchr(s, '>') + 1};
    size_t counts[2] = {(size_t)(types[1] - s - 1), strlen(types[1])};
    size_t actual[2] = {inst->arg_count, inst->result_count};
    for (uint32_t side = 0; side < 2; ++side) {
        if (counts[side] > 0 && types[side][counts[side] - 1] == '*') {
            --counts[side];
            EXPECT(v, id, actual[side] >= counts[side], "too few operands");
        } else {
            EXPECT(v, id, actual[side] == counts[side], "wrong number of %s",
                   side ? "results" : "arguments");
        }
        for (uint32_t i = 0; i < counts[side]; ++i) {
            char c = types[side][i];
            IrType type = ir_type(f, side ? inst->result_first + i : ir_args(f, inst)[i]);
            EXPECT(v, id, matches(c, type), "%s %u has the wrong type",
                   side ? "result" : "argument", i);
            if (c == 'a')
                EXPECT(v, id, array == UINT32_MAX || array == type, "arrays differ in type");
            if (c == 'v')
                EXPECT(v, id, any == UINT32_MAX || any == type, "operands differ in type");
            array = c == 'a' ? type : array;
            any = c == 'v' ? type : any;
            if (c == 'e' && array != UINT32_MAX)
                EXPECT(v, id, ir_scalar(ir_kind(array)) == type, "not the array's element type");
        }
    }
    return STATUS_OK;
}

/* --- operations with tables behind them ------------------------------------------------------- */

static Status verify_input(Verifier *v, IrInstId id)
{
    const IrModule *m = v->module;
    const IrInst *inst = ir_inst(v->func, id);
    IrType type = ir_type(v->func, inst->result_first);
    SslType declared;
    const SslShape *shape = NULL;
    uint32_t component;
    if (inst->op == IR_GLOBAL) {
        uint32_t row = ir_global_row(inst->imm), shadow = ir_global_shadow(inst->imm);
        EXPECT(v, id, row < m->global_count, "no global %u", row);
        EXPECT(v, id, shadow <= IR_SHADOW_DDY, "no shadow %u", shadow);
        EXPECT(v, id, shadow == IR_SHADOW_VALUE || m->globals[row].has_derivs,
               "global '%s' has no derivatives", m->globals[row].name);
        declared = m->globals[row].type;
        component = ir_global_component(inst->imm);
    } else if (inst->op == IR_ATTRIBUTE) {
        uint32_t slot = ir_global_row(inst->imm), shadow = ir_global_shadow(inst->imm);
        EXPECT(v, id, slot < m->info.attribute_count, "no attribute %u", slot);
        const SslAttributeInfo *info = &m->info.attributes[slot];
        EXPECT(v, id, shadow <= IR_SHADOW_EXISTS, "no shadow %u", shadow);
        EXPECT(v, id, shadow == IR_SHADOW_VALUE || shadow == IR_SHADOW_EXISTS || info->has_derivs,
               "attribute '%s' has no derivatives", info->name);
        declared = shadow == IR_SHADOW_EXISTS ? SSL_BOOL : info->type;
        component = ir_global_component(inst->imm);
    } else {
        uint32_t param = ir_param_index(inst->imm);
        EXPECT(v, id, param < m->info.param_count, "no parameter %u", param);
        declared = m->info.params[param].type;
        shape = m->info.params[param].shape;
        component = ir_param_component(inst->imm);
    }
    bool is_whole = declared == SSL_CLOSURE || declared == SSL_STRING;
    EXPECT(v, id, component < (is_whole ? 1 : ssl_value_scalars(declared, shape)),
           "no component %u", component);
    SslType scalar = is_whole ? declared : ssl_value_kind(declared, shape, component);
    IrKind kind = scalar == SSL_BOOL                          ? IR_BOOL
                  : scalar == SSL_INT || scalar == SSL_STRING ? IR_INT
                  : scalar == SSL_CLOSURE                     ? IR_CLOSURE
                                                              : IR_FLOAT;
    EXPECT(v, id, type == ir_scalar(kind), "read as another type than declared");
    return STATUS_OK;
}

/* Returns the kind of a question's scalars of a type. */
static IrKind kind_of_number(SslType type)
{
    return type == SSL_BOOL ? IR_BOOL : type == SSL_INT ? IR_INT : IR_FLOAT;
}

static Status verify_question(Verifier *v, IrInstId id)
{
    const IrModule *m = v->module;
    const IrInst *inst = ir_inst(v->func, id);
    EXPECT(v, id, inst->imm < m->question_count, "no question %u", (unsigned)inst->imm);
    const SslQuestionRow *row = &m->questions[inst->imm];
    uint32_t next = 0;
    for (uint32_t i = 0; i < row->arg_count; ++i)
        for (uint32_t k = 0; k < ssl_type_scalars(row->args[i].type); ++k, ++next)
            EXPECT(v, id,
                   next < inst->arg_count && ir_type(v->func, ir_args(v->func, inst)[next]) ==
                                                 ir_scalar(kind_of_number(row->args[i].type)),
                   "argument '%s' of question '%s'", row->args[i].name, row->name);
    EXPECT(v, id, next == inst->arg_count, "too many arguments for question '%s'", row->name);
    EXPECT(v, id, inst->result_count == ssl_type_scalars(row->result), "results of '%s'",
           row->name);
    for (uint32_t k = 0; k < inst->result_count; ++k)
        EXPECT(v, id,
               ir_type(v->func, inst->result_first + k) == ir_scalar(kind_of_number(row->result)),
               "result of question '%s'", row->name);
    return STATUS_OK;
}

static Status verify_closure(Verifier *v, IrInstId id)
{
    const IrModule *m = v->module;
    const IrInst *inst = ir_inst(v->func, id);
    EXPECT(v, id, inst->imm < m->closure_count, "no closure %u", (unsigned)inst->imm);
    const SslClosureRow *row = &m->closures[inst->imm];
    uint32_t next = 0;
    for (uint32_t i = 0; i < row->arg_count; ++i) {
        SslType type = row->args[i].type;
        IrKind kind = type == SSL_BOOL      ? IR_BOOL
                      : type == SSL_INT     ? IR_INT
                      : type == SSL_CLOSURE ? IR_CLOSURE
                                            : IR_FLOAT;
        uint32_t count = type == SSL_CLOSURE ? 1 : ssl_type_scalars(type);
        for (uint32_t k = 0; k < count; ++k, ++next)
            EXPECT(v, id,
                   next < inst->arg_count &&
                       ir_type(v->func, ir_args(v->func, inst)[next]) == ir_scalar(kind),
                   "argument '%s' of closure '%s'", row->args[i].name, row->name);
    }
    EXPECT(v, id, next == inst->arg_count, "too many arguments for closure '%s'", row->name);
    return STATUS_OK;
}

static Status verify_call(Verifier *v, IrInstId id)
{
    const IrFunc *f = v->func;
    const IrInst *inst = ir_inst(f, id);
    EXPECT(v, id, inst->imm > 0 && inst->imm < v->module->funcs.count, "no such function");
    const IrFunc *callee = v->module->funcs.data[inst->imm];
    EXPECT(v, id, callee != NULL, "the callee was never built");
    const IrRegion *body = ir_region(callee, callee->body);
    EXPECT(v, id,
           inst->arg_count == body->param_count && inst->result_count == callee->result_count,
           "arity differs from '%s'", callee->name);
    for (uint32_t i = 0; i < inst->arg_count; ++i)
        EXPECT(v, id, ir_type(f, ir_args(f, inst)[i]) == ir_type(callee, body->param_first + i),
               "argument %u of '%s'", i, callee->name);
    for (uint32_t i = 0; i < inst->result_count; ++i)
        EXPECT(v, id, ir_type(f, inst->result_first + i) == callee->result_types[i],
               "result %u of '%s'", i, callee->name);
    return STATUS_OK;
}

static Status verify_constant_index(Verifier *v, IrInstId id)
{
    const IrFunc *f = v->func;
    const IrValue *args = ir_args(f, ir_inst(f, id));
    const IrInst *index = ir_inst(f, f->values.data[args[1]].def);
    EXPECT(v, id, index->op != IR_CONST_INT || index->imm < ir_count(ir_type(f, args[0])),
           "constant index out of range");
    return STATUS_OK;
}

static Status verify_tables(Verifier *v, IrInstId id)
{
    const IrModule *m = v->module;
    const IrInst *inst = ir_inst(v->func, id);
    switch (inst->op) {
    case IR_GLOBAL:
    case IR_ATTRIBUTE:
    case IR_PARAM:
        return verify_input(v, id);
    case IR_ARRAY: {
        IrType type = ir_type(v->func, inst->result_first);
        EXPECT(v, id, ir_count(type) == inst->arg_count, "element count");
        for (uint32_t i = 0; i < inst->arg_count; ++i)
            EXPECT(v, id, ir_type(v->func, ir_args(v->func, inst)[i]) == ir_scalar(ir_kind(type)),
                   "element %u", i);
        return STATUS_OK;
    default:
        break;
    }
    case IR_ARRAY_GET:
    case IR_ARRAY_SET:
        return verify_constant_index(v, id);
    case IR_TABLE:
        EXPECT(v, id, inst->imm < m->tables.count, "no table %u", (unsigned)inst->imm);
        EXPECT(v, id,
               ir_type(v->func, inst->result_first) == ir_scalar(m->tables.data[inst->imm].kind),
               "kind of the table");
        return STATUS_OK;
    case IR_BOUNDS:
        EXPECT(v, id, inst->imm > 0 && inst->imm <= INT32_MAX, "bad bound");
        EXPECT(v, id, inst->site < m->fault_sites.count, "no fault site %u", inst->site);
        return STATUS_OK;
    case IR_TEX_AUTO:
    case IR_TEX_AUTO_D:
    case IR_TEX:
    case IR_TEX_D:
    case IR_TEXELS:
    case IR_TEX_ADJ:
        EXPECT(v, id, inst->site < m->texture_sites.count, "no texture site %u", inst->site);
        EXPECT(v, id, m->texture_sites.data[inst->site].texture < m->info.texture_count,
               "no texture %u", m->texture_sites.data[inst->site].texture);
        return STATUS_OK;
    case IR_ASK:
        return verify_question(v, id);
    case IR_CLOSURE_MAKE:
        return verify_closure(v, id);
    case IR_CALL:
        return verify_call(v, id);
    }
    return STATUS_OK;
}

/* --- regions ---------------------------------------------------------------------------------- */

/* The YIELD of region `r` gives `lead` and then as many values as `id` has results, of their
 * types. */
static Status verify_yield(Verifier *v, IrInstId id, IrRegionId region, bool has_go_on)
{
    const IrFunc *f = v->func;
    const IrInst *inst = ir_inst(f, id);
    const IrInst *yield = ir_inst(f, ir_region(f, region)->last);
    uint32_t lead = has_go_on ? 1 : 0;
    EXPECT(v, id, yield->arg_count == inst->result_count + lead, "a region yields %u values",
           yield->arg_count);
    if (has_go_on)
        EXPECT(v, id, ir_type(f, ir_args(f, yield)[0]) == IR_BOOL, "go_on is not bool");
    for (uint32_t i = 0; i < inst->result_count; ++i)
        EXPECT(v, id, ir_type(f, ir_args(f, yield)[i + lead]) == ir_type(f, inst->result_first + i),
               "yielded value %u", i);
    return STATUS_OK;
}

static Status verify_control(Verifier *v, IrInstId id)
{
    const IrFunc *f = v->func;
    const IrInst *inst = ir_inst(f, id);
    uint32_t wanted = inst->op == IR_IF ? 2 : inst->op == IR_LOOP ? 1 : 0;
    EXPECT(v, id, inst->region_count == wanted, "has %u regions", inst->region_count);
    for (uint32_t i = 0; i < wanted; ++i) {
        IrRegionId r = inst->region_first + i;
        EXPECT(v, id, r > 0 && r < f->regions.count && ir_region(f, r)->owner == id,
               "region is not its own");
        const IrRegion *region = ir_region(f, r);
        EXPECT(v, id, region->param_count == (inst->op == IR_LOOP ? inst->arg_count : 0),
               "region parameters");
        for (uint32_t k = 0; k < region->param_count; ++k)
            EXPECT(v, id, ir_type(f, region->param_first + k) == ir_type(f, ir_args(f, inst)[k]),
                   "loop state %u", k);
        TRY(verify_region(v, r));
        TRY(verify_yield(v, id, r, inst->op == IR_LOOP));
    }
    if (inst->op == IR_LOOP) {
        EXPECT(v, id, inst->result_count == inst->arg_count, "loop results");
        EXPECT(v, id, inst->site < v->module->fault_sites.count, "no fault site %u", inst->site);
        for (uint32_t k = 0; k < inst->arg_count; ++k)
            EXPECT(v, id, ir_type(f, inst->result_first + k) == ir_type(f, ir_args(f, inst)[k]),
                   "loop result %u", k);
    }
    return STATUS_OK;
}

static Status verify_inst(Verifier *v, IrInstId id, IrRegionId region)
{
    const IrFunc *f = v->func;
    const IrInst *inst = ir_inst(f, id);
    EXPECT(v, id, inst->op > IR_OP_NONE && inst->op < IR_OP_COUNT, "no such operation");
    EXPECT(v, id, inst->parent == region, "parent region");
    EXPECT(v, id, inst->arg_first + inst->arg_count <= f->args.count, "arguments");
    for (uint32_t i = 0; i < inst->arg_count; ++i) {
        IrValue arg = ir_args(f, inst)[i];
        EXPECT(v, id, arg > 0 && arg < f->values.count && v->visible[arg],
               "argument %u: value %%%u is not defined here", i, arg);
    }
    for (uint32_t i = 0; i < inst->result_count; ++i) {
        IrValue result = inst->result_first + i;
        EXPECT(v, id,
               result > 0 && result < f->values.count && f->values.data[result].def == id &&
                   f->values.data[result].region == region,
               "result %u", i);
    }
    TRY(verify_signature(v, id));
    TRY(verify_tables(v, id));
    TRY(verify_control(v, id));
    for (uint32_t i = 0; i < inst->result_count; ++i)
        v->visible[inst->result_first + i] = 1;
    return STATUS_OK;
}

static Status verify_region(Verifier *v, IrRegionId id)
{
    const IrFunc *f = v->func;
    const IrRegion *r = ir_region(f, id);
    EXPECT(v, 0, ++v->depth <= SSL_MAX_KERNEL_NESTING, "regions nest deeper than %d",
           SSL_MAX_KERNEL_NESTING);
    for (uint32_t i = 0; i < r->param_count; ++i) {
        IrValue param = r->param_first + i;
        EXPECT(v, r->owner,
               param < f->values.count && f->values.data[param].def == 0 &&
                   f->values.data[param].region == id,
               "region parameter %u", i);
        v->visible[param] = 1;
    }
    EXPECT(v, r->owner, r->last != 0 && ir_inst(f, r->last)->op == IR_YIELD,
           "a region does not end in yield");
    IrInstId prev = 0;
    uint32_t count = 0;
    for (IrInstId i = r->first; i; prev = i, i = ir_inst(f, i)->next) {
        EXPECT(v, i, ir_inst(f, i)->prev == prev && ++count < f->insts.count, "links");
        EXPECT(v, i, (ir_inst(f, i)->op == IR_YIELD) == (i == r->last), "yield in the middle");
        TRY(verify_inst(v, i, id));
    }
    EXPECT(v, prev, prev == r->last, "links");
    for (IrInstId i = r->first; i; i = ir_inst(f, i)->next)
        if (ir_inst(f, i)->result_count)
            memset(v->visible + ir_inst(f, i)->result_first, 0, ir_inst(f, i)->result_count);
    if (r->param_count)
        memset(v->visible + r->param_first, 0, r->param_count);
    --v->depth;
    return STATUS_OK;
}

/* --- functions -------------------------------------------------------------------------------- */

static Status verify_func(Verifier *v, IrFuncId id)
{
    const IrModule *m = v->module;
    const IrFunc *f = m->funcs.data[id];
    v->func = f;
    v->id = id;
    v->depth = 0;
    ArenaMark mark = arena_mark(m->arena);
    v->visible = ARENA_ARRAY(m->arena, uint8_t, f->values.count);
    Status status = verify_region(v, f->body);
    arena_rewind(m->arena, mark);
    TRY(status);
    const IrInst *yield = ir_inst(f, ir_region(f, f->body)->last);
    EXPECT(v, 0, yield->arg_count == f->result_count, "result count");
    for (uint32_t i = 0; i < f->result_count; ++i)
        EXPECT(v, 0, ir_type(f, ir_args(f, yield)[i]) == f->result_types[i], "result %u", i);
    return STATUS_OK;
}

/* Calls of recursive functions must have a fault site, and other calls must not. */
static Status verify_recursion(Verifier *v)
{
    const IrModule *m = v->module;
    const uint8_t *recursive = ir_recursive_funcs(m);
    for (IrFuncId id = 1; id < m->funcs.count; ++id) {
        const IrFunc *f = v->func = m->funcs.data[id];
        for (IrInstId i = 1; f && i < f->insts.count; ++i) {
            const IrInst *inst = ir_inst(f, i);
            if (inst->op != IR_CALL || !recursive[inst->imm])
                continue;
            EXPECT(v, i,
                   inst->site < m->fault_sites.count &&
                       m->fault_sites.data[inst->site].kind == SSL_FAULT_RECURSION,
                   "recursion without a fault site");
        }
    }
    return STATUS_OK;
}

static Status verify_entry(Verifier *v)
{
    const IrModule *m = v->module;
    if (m->entry == 0 || m->entry >= m->funcs.count || !m->funcs.data[m->entry])
        return error_set(v->err, STATUS_INTERNAL, "IR: no entry function");
    const IrFunc *f = v->func = m->funcs.data[m->entry];
    EXPECT(v, 0, ir_region(f, f->body)->param_count == 0, "the entry has parameters");
    uint32_t next = 0;
    for (uint32_t i = 0; i < m->outputs.count; ++i) {
        const IrOutput *o = &m->outputs.data[i];
        EXPECT(v, 0, o->result_first == next || o->result_count == 0, "output '%s'", o->name);
        next += o->result_count;
    }
    for (uint32_t i = 0; i < m->slots.count; ++i) {
        const IrLobeSlot *s = &m->slots.data[i];
        EXPECT(v, 0,
               s->result_first == next && s->closure < m->closure_count &&
                   s->output < m->outputs.count && s->parent < (int32_t)i,
               "lobe slot %u", i);
        next += 4 + s->arg_count;
    }
    EXPECT(v, 0, next == f->result_count, "%u results for %u output scalars", f->result_count,
           next);
    return STATUS_OK;
}

Status ir_verify(const IrModule *m, Error *err)
{
    Verifier v = {.module = m, .err = err};
    for (IrFuncId i = 1; i < m->funcs.count; ++i)
        if (m->funcs.data[i])
            TRY(verify_func(&v, i));
    ArenaMark mark = arena_mark(m->arena);
    Status status = verify_recursion(&v);
    arena_rewind(m->arena, mark);
    TRY(status);
    return verify_entry(&v);
}
