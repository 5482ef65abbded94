/* State and helpers shared by the generators; private to codegen/.
 *
 *   gen_module.c   the function, its loops over blocks and lanes, inputs, results
 *   gen_region.c   IF and LOOP as branches with phis: one lane
 *   gen_mask.c     IF and LOOP as masks: several lanes at once;  gen_unroll.c: LOOPs of few, known turns
 *   gen_op.c       arithmetic, comparisons, conversions, calls into rt/
 *   gen_array.c    array values in memory;  array_plan.c decides which share it
 *   gen_call.c     recursive functions and their calls
 *   gen_texture.c  the texture service
 *
 * The value of IR value v is gen->value[v], of one of the lane types: i1, i32 and float, or vectors of them
 * when the code is for several lanes at once. Most generators need not know which. */
#ifndef SSL_GEN_H
#define SSL_GEN_H

#include "ssl/codegen/array_plan.h"
#include "ssl/codegen/codegen.h"

typedef struct GenCallee GenCallee; /* gen_call.c */

typedef struct Gen {
    const IrModule *module;
    const IrFunc *func; /* that is written */
    const KernelLayout *layout;
    Arena *arena;

    LLVMContextRef context;
    LLVMModuleRef llvm;
    LLVMBuilderRef builder;
    LLVMBuilderRef entry_builder; /* at the end of the entry block: stack slots, uniform loads */
    LLVMValueRef function;        /* the one that is built: the point, then the kernel */
    LLVMValueRef point;           /* shades one lane */
    LLVMTypeRef point_type;
    uint32_t lanes;                     /* 1, 4, 8 or 16 */
    uint32_t math_lanes;                /* that the functions of rt_lanes.h may take on this CPU */
    LLVMTypeRef t_bool, t_int, t_float; /* of the lanes: scalars, or vectors */
    LLVMTypeRef t_i1, t_f32;            /* of one */
    LLVMTypeRef t_i8, t_i16, t_i32, t_i64, t_ptr, t_void;

    LLVMValueRef *value; /* [values.count]; scalars */
    IrInstId *twin;      /* [insts.count]; of a sin the cos of the same value nearby, and back */
    ArrayPlan *plan;
    /* [values.count]; of an array that is constant and only read: its elements. */
    LLVMValueRef *table;
    LLVMValueRef *slot;     /* [plan->slot_count]; stack memory of arrays */
    uint32_t stack_bytes;   /* of arrays and their temporaries */
    uint32_t since_border;  /* machine instructions, about */
    bool has_border;        /* this function has one: gen_border */
    struct GenKnown *known; /* [values.count]; scratch of gen_unroll.c, NULL until used */
    uint32_t unrolled;      /* instructions that loops which were written out have become */

    LLVMValueRef batch;                            /* const SslBatch * */
    LLVMValueRef params, textures, services, host; /* its fields; NULL until used */
    LLVMValueRef block, lane; /* i32: which block of the batch, which (first) lane of the block */
    LLVMValueRef mask;        /* the lanes that are here; NULL: code of one lane */
    bool mask_is_whole;       /* no lane has gone another way: only dead lanes are missing */
    LLVMValueRef globals, result; /* of this block */
    LLVMValueRef attributes;      /* the same; NULL until used */
    LLVMValueRef budget, fault;   /* stack: t_int back-edges left; t_int fault word */
    LLVMValueRef stack;           /* the same: i32 bytes left to recursive calls, of one lane */
    GenCallee *callees;           /* [funcs.count] */
    LLVMValueRef tex_call, tex_coord, tex_result; /* stack; NULL until used */
    LLVMValueRef math[3];                         /* the same: lanes that functions take and give */

    unsigned md_invariant_load, md_alias_scope, md_noalias; /* kinds of metadata */
    LLVMValueRef md_empty, scope_input, scope_output;       /* and nodes */
} Gen;

/* --- gen_value.c --- */
LLVMValueRef gen_i32(Gen *g, uint32_t x);
LLVMValueRef gen_stack(Gen *g, LLVMTypeRef type, const char *name); /* a slot in the entry block */
LLVMBasicBlockRef gen_block(Gen *g, const char *name);              /* appended to the kernel */
/* base + offset bytes */
LLVMValueRef gen_address(LLVMBuilderRef builder, Gen *g, LLVMValueRef base,
                         LLVMValueRef offset_bytes);
LLVMValueRef gen_offset(Gen *g, LLVMValueRef base, uint32_t offset_bytes);
/* A load from memory that nobody writes while the kernel runs. */
LLVMValueRef gen_load_at(LLVMBuilderRef builder, Gen *g, LLVMTypeRef type, LLVMValueRef ptr,
                         uint32_t align);
LLVMValueRef gen_load_input(Gen *g, LLVMTypeRef type, LLVMValueRef ptr, uint32_t align);
LLVMTypeRef gen_lane_type(const Gen *g, IrKind kind);
/* Records fault `site`, in the lanes of `where`, unless an earlier one is there. One lane: NULL. */
void gen_fault(Gen *g, uint32_t site, LLVMValueRef where);
/* The same number or value in all lanes. */
LLVMValueRef gen_const_int(Gen *g, int32_t x);
LLVMValueRef gen_const_float(Gen *g, float x);
LLVMValueRef gen_splat(Gen *g, LLVMValueRef x);
/* `a` where `condition` is true, else `b`. */
LLVMValueRef gen_choose(Gen *g, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b);
/* A bool as a 0 or 1 of type int, and what is stored as int, as a bool. */
LLVMValueRef gen_bool_to_int(Gen *g, LLVMValueRef x);
LLVMValueRef gen_int_to_bool(Gen *g, LLVMValueRef x);

/* --- gen_input.c --- */
/* A field of the batch, loaded in the entry block. */
LLVMValueRef gen_batch_field(Gen *g, LLVMTypeRef type, size_t offset, uint32_t align);
LLVMValueRef gen_batch_pointer(Gen *g, size_t offset);
/* The same, loaded once. */
LLVMValueRef gen_batch_params(Gen *g);
LLVMValueRef gen_batch_textures(Gen *g);
LLVMValueRef gen_batch_services(Gen *g);
LLVMValueRef gen_batch_host(Gen *g);
/* Where the row at `offset_bytes` of a block has the current lane, or the first of them. */
LLVMValueRef gen_lane_address(Gen *g, LLVMValueRef block_base, uint32_t offset_bytes);
LLVMValueRef gen_global(Gen *g, const IrInst *inst);
LLVMValueRef gen_attribute(Gen *g, const IrInst *inst);
LLVMValueRef gen_param(Gen *g, const IrInst *inst);

/* --- gen_module.c --- */
/* Makes `function`, whose first parameter is the batch, the one that is written; the builders stand in its
 * entry block. */
void gen_enter_function(Gen *g, LLVMValueRef function);
/* Forgets the function before: `f` is what is written now. */
void gen_begin_body(Gen *g, const IrFunc *f);
void gen_add_attribute(Gen *g, LLVMValueRef function, const char *name);

/* --- gen_region.c --- */
/* The instructions of a region up to its YIELD, which is returned. */
const IrInst *gen_region(Gen *g, IrRegionId region);
/* What LLVM spends on a block of code grows faster than the block does. So long ones are cut by a branch that is never
 * taken and that LLVM cannot see through: a kernel is called with at least one block. Behind it two ways meet,
 * since LLVM would move what only one successor needs there, and all would be one block again. */
void gen_border(Gen *g);
/* Before code that becomes about `size` machine instructions, once there are many since the last border. */
void gen_border_when_due(Gen *g, uint32_t size);
/* A border before a function returns `x` (NULL: nothing), if it has others, since LLVM moves to the return too what
 * is only needed there. Gives what is to be returned instead. */
LLVMValueRef gen_last_border(Gen *g, LLVMValueRef x);

/* --- gen_mask.c --- */
void gen_if_masked(Gen *g, const IrInst *inst);
void gen_loop_masked(Gen *g, const IrInst *inst);
LLVMValueRef gen_any(Gen *g, LLVMValueRef mask); /* i1 */
/* To memory that outlives the way of a lane: in the lanes that are here. */
void gen_store_masked(Gen *g, LLVMValueRef x, LLVMValueRef ptr, uint32_t align);
uint32_t gen_region_weight(const Gen *g, IrRegionId region);
/* gen_array_transfer in the lanes of `mask`. */
void gen_transfer_under(Gen *g, LLVMValueRef mask, const IrValue *from, IrValue to_first,
                        uint32_t count);
/* Takes one back-edge from the budget of each lane of `go`; a lane that has none left gets the fault and
 * leaves. Returns the lanes that go on. */
LLVMValueRef gen_spend(Gen *g, LLVMValueRef go, uint32_t site);

/* --- gen_unroll.c --- */
uint32_t gen_constant_turns(Gen *g, const IrInst *loop); /* 0: not known, or too many */
void gen_loop_unrolled(Gen *g, const IrInst *inst, uint32_t turns);
void gen_forget_region(Gen *g, IrRegionId region); /* its values, so that it can be built again */
/* The same number in all lanes, known now. */
bool gen_is_constant_int(const Gen *g, IrValue v, int32_t *out_x);
bool gen_is_constant_bool(const Gen *g, IrValue v, bool *out_x);

/* --- gen_op.c --- */
void gen_op(Gen *g, const IrInst *inst); /* an operation without regions */
void gen_find_twins(Gen *g);             /* fills g->twin */
LLVMValueRef gen_intrinsic(Gen *g, const char *name, LLVMTypeRef type, LLVMValueRef *args,
                           uint32_t arg_count);

/* --- gen_array.c --- */
void gen_array_op(Gen *g, const IrInst *inst); /* ARRAY, ARRAY_GET, ARRAY_SET */
void gen_array_slots(Gen *g);                  /* stack memory for what array_plan asks; tables */
/* to[i] = from[i] for those that are arrays, as if at once. */
void gen_array_transfer(Gen *g, const IrValue *from, IrValue to_first, uint32_t count);
LLVMValueRef gen_array_address(Gen *g, IrValue array);
void gen_array_load(Gen *g, IrValue array, LLVMValueRef from);
void gen_array_store(Gen *g, IrValue array, LLVMValueRef to);
void gen_array_clear(Gen *g, IrValue array);

/* --- gen_call.c --- */
void gen_callees(Gen *g); /* all functions but the entry */
void gen_call(Gen *g, const IrInst *inst);

/* --- gen_texture.c --- */
void gen_texture(Gen *g, const IrInst *inst); /* TEX, TEX_D */

#endif
