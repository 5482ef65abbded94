/* SSL's typed IR between the checked AST and LLVM: structured SSA in which arrays are values, too.
 *
 *   module -> functions -> body region -> instructions; IF and LOOP own regions; no phi, no memory
 *
 * - Every value is a scalar (bool, int, float, closure) or an array of scalars of fixed length. Lowering
 *   splits vectors, matrices and structs into scalars, and an array of structs into one array per
 *   scalar member. Analyses therefore work per component although they keep only one bit per value.
 * - A region has parameters and ends in YIELD. IF: regions then and else yield the results. LOOP:
 *   one region whose parameters are the loop state; it yields go_on and the next state. Lowering turns
 *   break, continue and return into predicates.
 * - `out` and `inout` parameters are extra results, so nothing aliases.
 * - A region may use the values of the regions around it; its own values are not visible outside.
 * - Functions are built once, in order, by ir_build.h, and never changed: a pass makes a new
 *   function. Instructions are ordered by their links, not by their ids.
 *
 * All memory comes from the module's arena, whose out-of-memory jump must be set: no function below fails
 * for lack of memory. A module may be read by several threads and changed by one. */
#ifndef SSL_IR_IR_H
#define SSL_IR_IR_H

#include "base/array.h"
#include "base/diag.h"
#include "base/hash.h"
#include "ssl/ssl.h"

typedef uint32_t IrValue;    /* dense from 1 within a function; 0: none (a tangent that is zero) */
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
    /* NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): there are four */
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

enum { IR_TEX_ADJ_AUTO = 7 }; /* arguments of a TEX_ADJ with three coordinates */
enum { IR_FUSED = 1 };        /* imm of an operation: the body with fused multiply-adds */
enum { IR_GUARD = 2 };        /* imm of a SELECT: 0 in place of a tangent that is infinite or NaN */
enum { IR_FLAG_PURE = 1, IR_FLAG_EFFECT = 2, IR_FLAG_REGIONS = 4, IR_FLAG_PARTIALS = 8 };
typedef struct IrOpInfo {
    const char *name, *mnemonic, *signature;
    uint32_t flags;
} IrOpInfo;
const IrOpInfo *ir_op_info(IrOp op);
/* Whether the instruction's site is a texture site. */
static inline bool ir_has_texture_site(IrOp op)
{
    return op == IR_TEX_AUTO || op == IR_TEX_AUTO_D || op == IR_TEX || op == IR_TEX_D ||
           op == IR_TEXELS || op == IR_TEX_ADJ;
}

/* What is read of a global or an attribute. EXISTS is for attributes only: whether the point has it. */
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
    uint32_t site; /* index of a texture site or of a fault site, depending on op */
    uint64_t imm;  /* depends on op; a float constant's bit pattern */
    Span span;
} IrInst;

typedef struct IrRegion {
    IrInstId first, last; /* `last` is the YIELD once the region is closed */
    IrInstId owner;       /* the IF or LOOP; 0: the region is a function's body */
    IrValue param_first;
    uint32_t param_count;
} IrRegion;

typedef struct IrValueInfo {
    IrType type;
    IrInstId def;      /* the instruction that defines the value; 0: it is a region parameter */
    IrRegionId region; /* the region that defines the value */
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
    bool is_library; /* a function of the standard library: messages name its callers instead */
    bool
        is_filtered; /* its choices are to become means over the footprint; only ir_filter reads it */
    /* Identifies a library function across modules; NULL for the user's functions. */
    const void *origin;
} IrFunc;

typedef struct IrFaultSite {
    SslFaultKind kind;
    Span span;
    uint32_t max_trips; /* of a loop: [MaxIters], which only derive.c reads; 0: none */
} IrFaultSite;

/* A parameter of a function in the source, or its result, and which of its leaves have derivatives. */
typedef enum IrPortKind { IR_PORT_IN, IR_PORT_OUT, IR_PORT_INOUT, IR_PORT_RESULT } IrPortKind;
typedef struct IrPort {
    IrPortKind kind;
    uint32_t leaf_count, active_count;
    const uint8_t *active; /* [leaf_count] */
} IrPort;

/* What the source says of a function whose derivatives are taken, or that has derivatives of its own. */
typedef struct IrDiffFacts {
    IrFuncId func;
    IrFuncId forward, backward, substitute; /* 0: none */
    bool is_constant;                       /* its derivative is zero */
    bool is_kept;        /* walking back does not compute again what it returns */
    const IrPort *ports; /* the parameters in order, then the result */
    uint32_t port_count;
    const char *name;
    Span span;
} IrDiffFacts;

/* A function that derive.c builds: fwd_diff(of) or bwd_diff(of). */
typedef struct IrDerivative {
    IrFuncId id, of;
    bool is_backward;
    bool is_fused; /* it is of a [Fused] shader, which may be a part of a group that is not */
} IrDerivative;

typedef struct IrOutput {
    const char *name;
    SslType type;
    uint32_t result_first, result_count; /* indices into the entry function's results */
} IrOutput;

/* What ir_filter did with a comparison, or why it did nothing. */
typedef struct IrFilterNote {
    const char *function;
    Span span;
    const char *rule; /* the closed form, or the reason */
    bool is_filtered;
} IrFilterNote;

/* A list of numbers that code reads by index: an array among the file-scope constants. */
typedef struct IrTable {
    IrKind kind; /* IR_INT or IR_FLOAT */
    uint32_t count;
    const uint32_t *bits; /* [count]; arena */
    const void *origin;   /* tells tables of one module apart */
    uint32_t leaf;
} IrTable;

/* A closure term of an output, made by closure_slots.c. The entry's results from result_first on are: present
 * (bool), weight x3, then the arguments. */
typedef struct IrLobeSlot {
    uint32_t closure, output;
    int32_t parent;
    uint32_t result_first, arg_count;
} IrLobeSlot;

typedef struct IrModule {
    Arena *arena;                    /* borrowed; its out-of-memory jump is set while passes run */
    const SslGlobalRow *globals;     /* borrowed: context */
    const SslClosureRow *closures;   /* borrowed: context */
    const SslQuestionRow *questions; /* borrowed: context */
    uint32_t global_count, closure_count, question_count;
    SslUnitInfo info;      /* name, parameters, outputs, textures, metadata; arena */
    ARRAY(IrFunc *) funcs; /* [0] unused; a callee may stand after its caller */
    /* No parameters; results: all outputs' scalars in the order of the source, a closure output as one. */
    IrFuncId entry;
    ARRAY(IrOutput) outputs;
    ARRAY(IrLobeSlot) slots; /* empty until closure_slots */
    ARRAY(IrTable) tables;
    ARRAY(SslTextureSite) texture_sites;
    ARRAY(IrFaultSite) fault_sites;
    /* From lowering to derive.c; empty afterwards. A derivative that is listed has no function yet. */
    ARRAY(IrDerivative) derivatives;
    ARRAY(IrDiffFacts) diff_facts;
    bool
        is_fused; /* [Fused]: what is built from now on has fused multiply-adds (ir_arith.h) and bodies of rt_fused.inc */
    ARRAY(IrFilterNote) filter_notes; /* of [Filtered] functions */
    uint32_t source_file;             /* the file number of the user's source in spans */
} IrModule;

IrModule *ir_module_create(Arena *arena);
/* Returns a deep copy in `arena`, which shares only the borrowed tables with `m`. */
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
/* Returns an array [function], in the module's arena, that is 1 for each function on a cycle of calls or on a
 * path from one cycle to another. */
uint8_t *ir_recursive_funcs(const IrModule *m);
/* Gives the calls of recursive functions their fault sites. To be called once, after all functions are built. */
void ir_mark_recursion(IrModule *m);
/* Returns the stack in bytes that a call of `f` is charged with, an upper bound of its machine code's frame. */
uint32_t ir_frame_bytes(const IrFunc *f);

/* Appends the module as text: a line per instruction, with regions indented. */
void ir_print_module(const IrModule *m, StrBuf *out);
/* Checks types, dominance, the shape of regions, sites, tables and recursive calls. STATUS_INTERNAL names the
 * place of what is wrong, which is a defect of the pass that built it. The module's arena serves as scratch,
 * so one module must not be verified by two threads at once. */
Status ir_verify(const IrModule *m, Error *err) SORT_MUST_CHECK;
/* Hashes everything that generated code depends on. Spans, names, the numbering of values and texture options
 * (which the host finds by site) have no influence. */
Hash128 ir_hash(const IrModule *m);

#endif
