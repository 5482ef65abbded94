/* SSL's typed IR: structured SSA with value semantics, between the checked AST and LLVM.
 *
 *   module -> functions -> body region -> instructions; IF and LOOP own regions; no phi, no memory
 *
 * - Every value is a scalar (bool, int, float, closure) or a fixed array of scalars. Vectors,
 *   matrices and structs are taken apart when the AST is lowered, an array of structs into one array
 *   a leaf, so analyses keep one bit a value and are per component for nothing.
 * - A region has parameters and ends in YIELD. IF: regions then and else yield the results. LOOP:
 *   one region whose parameters are the loop state; it yields go_on and the next state. break,
 *   continue and return are gone before this level: they became predicates when lowered.
 * - `out` and `inout` parameters are extra results, so nothing aliases.
 * - Values of an enclosing region may be used inside; a region's own values are not seen outside.
 * - Functions are built once, in order, by ir_build.h, and never changed: a pass makes a new
 *   function. The order of instructions is that of the links, not of the ids.
 *
 * All memory is the module's arena, whose out-of-memory jump is set, so no call here fails. */
#ifndef SSL_IR_IR_H
#define SSL_IR_IR_H

#include "base/array.h"
#include "base/diag.h"
#include "base/hash.h"
#include "ssl/ssl.h"

typedef uint32_t IrValue;    /* dense from 1 in its function; 0: none (a tangent that is zero) */
typedef uint32_t IrInstId;   /* dense from 1; 0: none */
typedef uint32_t IrRegionId; /* dense from 1; 0: none */
typedef uint32_t IrFuncId;   /* dense from 1; 0: none */

/* --- types ------------------------------------------------------------------------------------ */
typedef enum IrKind { IR_BOOL, IR_INT, IR_FLOAT, IR_CLOSURE } IrKind;
typedef uint32_t IrType; /* kind in the low 2 bits, element count above; count 0: a scalar */
static inline IrType ir_scalar(IrKind kind)
{
    return (IrType)kind;
}
static inline IrType ir_array(IrKind kind, uint32_t count)
{
    return (IrType)kind | count << 2;
}
static inline IrKind ir_kind(IrType t)
{
    return (IrKind)(t & 3u);
}
static inline uint32_t ir_count(IrType t)
{
    return t >> 2;
}
static inline bool ir_is_array(IrType t)
{
    return ir_count(t) != 0;
}

/* --- operations ------------------------------------------------------------------------------- */
typedef enum IrOp {
    IR_OP_NONE,
#define IR_OP(name, mnemonic, signature, flags) IR_##name,
#include "ssl/ir/ir_ops.inc"
#undef IR_OP
    IR_OP_COUNT
} IrOp;

enum { IR_FLAG_PURE = 1, IR_FLAG_EFFECT = 2, IR_FLAG_REGIONS = 4, IR_FLAG_PARTIALS = 8 };
typedef struct IrOpInfo {
    const char *name, *mnemonic, *signature;
    uint32_t flags;
} IrOpInfo;
const IrOpInfo *ir_op_info(IrOp op);

/* EXISTS: of attributes: does the point have it? */
enum { IR_SHADOW_VALUE = 0, IR_SHADOW_DDX = 1, IR_SHADOW_DDY = 2, IR_SHADOW_EXISTS = 3 };
static inline uint64_t ir_global_imm(uint32_t row, uint32_t shadow, uint32_t component)
{
    return (uint64_t)row << 16 | (uint64_t)shadow << 8 | component;
}
static inline uint32_t ir_global_row(uint64_t imm)
{
    return (uint32_t)(imm >> 16);
}
static inline uint32_t ir_global_shadow(uint64_t imm)
{
    return (uint32_t)(imm >> 8) & 0xffu;
}
static inline uint32_t ir_global_component(uint64_t imm)
{
    return (uint32_t)imm & 0xffu;
}
static inline uint64_t ir_param_imm(uint32_t param, uint32_t component)
{
    return (uint64_t)param << 16 | component;
}
static inline uint32_t ir_param_index(uint64_t imm)
{
    return (uint32_t)(imm >> 16);
}
static inline uint32_t ir_param_component(uint64_t imm)
{
    return (uint32_t)imm & 0xffffu;
}

/* --- containers ------------------------------------------------------------------------------- */
typedef struct IrInst {
    uint16_t op, region_count;
    uint16_t arg_count, result_count;
    uint32_t arg_first;      /* into IrFunc.args */
    IrValue result_first;    /* results are consecutive values */
    IrRegionId region_first; /* regions are consecutive */
    IrRegionId parent;
    IrInstId prev, next;
    uint32_t site; /* texture site, or fault site; 0-based, meaning by op */
    uint64_t imm;  /* float constants: the bit pattern */
    Span span;
} IrInst;

typedef struct IrRegion {
    IrInstId first, last; /* last: YIELD once the region is closed */
    IrInstId owner;       /* 0: a function's body */
    IrValue param_first;
    uint32_t param_count;
} IrRegion;

typedef struct IrValueInfo {
    IrType type;
    IrInstId def;      /* 0: a region parameter */
    IrRegionId region; /* where it is defined */
} IrValueInfo;

typedef struct IrFunc {
    const char *name;
    ARRAY(IrInst) insts;       /* [0] unused */
    ARRAY(IrRegion) regions;   /* [0] unused */
    ARRAY(IrValueInfo) values; /* [0] unused */
    ARRAY(IrValue) args;
    IrRegionId body; /* its parameters are the function's; its YIELD gives the results */
    IrType *result_types;
    uint32_t result_count;
    Span span;
    bool is_library;    /* of the standard library: messages are about its callers */
    const void *origin; /* of a library function: equal in all modules that have it; else NULL */
} IrFunc;

typedef struct IrFaultSite {
    SslFaultKind kind;
    Span span;
} IrFaultSite;

typedef struct IrOutput {
    const char *name;
    SslType type;
    uint32_t result_first, result_count; /* of the entry function */
} IrOutput;

/* Made by closure_slots.c: entry results [result_first] = present (bool), weight x3, then
 * arguments. */
typedef struct IrLobeSlot {
    uint32_t closure, output;
    int32_t parent;
    uint32_t result_first, arg_count;
} IrLobeSlot;

typedef struct IrModule {
    Arena *arena;                  /* borrowed; on_no_memory is set while passes run */
    const SslGlobalRow *globals;   /* borrowed: context */
    const SslClosureRow *closures; /* borrowed: context */
    uint32_t global_count, closure_count;
    SslUnitInfo info;      /* name, parameters, outputs, textures, metadata; arena */
    ARRAY(IrFunc *) funcs; /* [0] unused; a callee may stand after its caller */
    /* No parameters; results: all outputs' scalars in the order of the source, a closure output as one. */
    IrFuncId entry;
    ARRAY(IrOutput) outputs;
    ARRAY(IrLobeSlot) slots; /* empty until closure_slots */
    ARRAY(SslTextureSite) texture_sites;
    ARRAY(IrFaultSite) fault_sites;
    uint32_t source_file; /* the user's source in the DiagList, for spans */
} IrModule;

IrModule *ir_module_create(Arena *arena);
/* A new module in `arena` with deep copies of everything but the borrowed tables. */
IrModule *ir_module_clone(const IrModule *m, Arena *arena);

static inline const IrInst *ir_inst(const IrFunc *f, IrInstId id)
{
    return &f->insts.data[id];
}
static inline const IrRegion *ir_region(const IrFunc *f, IrRegionId id)
{
    return &f->regions.data[id];
}
static inline IrType ir_type(const IrFunc *f, IrValue v)
{
    return f->values.data[v].type;
}
static inline const IrValue *ir_args(const IrFunc *f, const IrInst *inst)
{
    return inst->arg_count ? f->args.data + inst->arg_first : NULL;
}
static inline IrFunc *ir_func(const IrModule *m, IrFuncId id)
{
    return m->funcs.data[id];
}
float ir_imm_float(const IrInst *inst);

/* recursion.c */
/* [function]: 1 if it is on a circle of calls, or leads from one to another. In the arena. */
uint8_t *ir_recursive_funcs(const IrModule *m);
/* Gives the calls of recursive functions their fault sites; once, when all functions are built. */
void ir_mark_recursion(IrModule *m);
/* Stack that a call of `f` is charged with: no less than its machine code takes. */
uint32_t ir_frame_bytes(const IrFunc *f);

/* Text form; one line an instruction, regions indented. */
void ir_print_module(const IrModule *m, StrBuf *out);
/* Types, dominance, region shape, sites, tables, calls in a circle. STATUS_INTERNAL with the place: a
 * defect of who built it. Not thread-safe on one module: uses its arena for scratch. */
Status ir_verify(const IrModule *m, Error *err) SORT_MUST_CHECK;
/* Content hash of all that code generation can see; spans, names, numbering of values and texture
 * options (which the host looks up by site) excluded. */
Hash128 ir_hash(const IrModule *m);

#endif
