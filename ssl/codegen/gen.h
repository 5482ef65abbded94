/* The state and the helpers that the generators share. Private to codegen/.
 *
 *   gen_module.c   the function, its loops over blocks and lanes, inputs, results
 *   gen_region.c   IF and LOOP as branches with phis: one lane
 *   gen_mask.c     IF and LOOP as masks: several lanes at once;  gen_unroll.c: LOOPs of few, known turns
 *   gen_together.c IF and LOOP where all lanes go the same way;  gen_uniform.c: what is equal in all lanes
 *   gen_op.c       arithmetic, comparisons, conversions, calls into rt/
 *   gen_array.c    array values in memory;  array_plan.c decides which values share memory
 *   gen_call.c     recursive functions and their calls
 *   gen_texture.c  the texture service
 *   gen_question.c questions to the host
 *
 * IR value v becomes the LLVM value gen->value[v]. Its type is a lane type: i1, i32 or float, or a vector of
 * them if the code computes several lanes at once. Most generators work on both. */
#ifndef SSL_GEN_H
#define SSL_GEN_H

#include "ssl/codegen/array_plan.h"
#include "ssl/codegen/codegen.h"

typedef struct GenCallee GenCallee; /* gen_call.c */

/* What the loops inside a turn of a loop take from the budget, which is the same in each turn. */
enum { GEN_CHARGES_MAX = 8 };
typedef struct GenCharges {
    uint32_t count, turns[GEN_CHARGES_MAX], site[GEN_CHARGES_MAX];
} GenCharges;

typedef struct Gen {
    const IrModule *module;
    const IrFunc *func; /* the function that is being generated */
    const KernelLayout *layout;
    Arena *arena;

    LLVMContextRef context;
    LLVMModuleRef llvm;
    LLVMBuilderRef builder;
    LLVMBuilderRef entry_builder; /* at the end of the entry block: stack slots, uniform loads */
    /* The function that is being generated: first the point, then the kernel. */
    LLVMValueRef function;
    LLVMValueRef point; /* the function that shades `lanes` lanes */
    LLVMTypeRef point_type;
    uint32_t lanes;      /* 1, 4, 8 or 16 */
    uint32_t math_lanes; /* the widest functions of rt_lanes.h that this CPU supports */
    bool has_fma;
    LLVMTypeRef t_bool, t_int, t_float; /* the types of IR values: scalars, or vectors of `lanes` */
    LLVMTypeRef t_i1, t_f32;            /* the types of one lane */
    LLVMTypeRef t_i8, t_i16, t_i32, t_i64, t_ptr, t_void;

    LLVMValueRef *value; /* [values.count]; scalars */
    /* [values.count]; in code of several lanes: what is equal in all of them (uniform.h), and its value as that of one lane. */
    bool *is_uniform;
    LLVMValueRef *uniform;
    bool *
        is_read; /* [values.count]; likewise: an instruction has it as an argument, other than a table */
    IrInstId *twin; /* [insts.count]; for a sin, the cos of the same value nearby, and vice versa */
    bool *is_in_range; /* [insts.count]; BOUNDS that need no test (index_range.h) */
    ArrayPlan *plan;
    /* [values.count]; of an array that is only read, and constant or a parameter: its elements, those of one lane. */
    LLVMValueRef *table;
    LLVMValueRef *module_table; /* [module->tables.count]; read-only memory, NULL until used */
    LLVMValueRef *slot;         /* [plan->slot_count]; stack memory of arrays */
    uint32_t stack_bytes;       /* the size of arrays and their temporaries */
    uint32_t since_border;  /* estimated machine instructions since the last border (gen_border) */
    bool has_border;        /* this function has a border */
    struct GenKnown *known; /* [values.count]; scratch of gen_unroll.c, NULL until used */
    uint32_t unrolled;      /* instructions that unrolled loops have produced */
    uint32_t *
        planned; /* [insts.count] turns for which a loop will be unrolled, as gen_plan_unrolled found; 0: not known */
    GenCharges *
        charges; /* what unrolled loops take from the budget, if the loop around them takes it for them; else NULL */

    LLVMValueRef batch;                            /* const SslBatch * */
    bool is_apart;                                 /* inside the arm of an IF on APART */
    LLVMValueRef params, textures, services, host; /* fields of the batch; NULL until used */
    LLVMValueRef block, lane; /* i32: which block of the batch, which (first) lane of the block */
    LLVMValueRef mask;        /* the lanes that execute the current code; NULL: code of one lane */
    bool mask_is_whole; /* the mask has all live lanes, because control flow has not diverged */
    LLVMValueRef globals, result; /* the globals and the results of the current block */
    LLVMValueRef attributes;      /* the attributes of the current block; NULL until used */
    LLVMValueRef budget, fault;   /* stack slots: t_int back-edges left; t_int fault word */
    LLVMValueRef stack; /* stack slot: i32 bytes left to recursive calls, in code of one lane */
    GenCallee *callees; /* [funcs.count] */
    LLVMValueRef tex_call, tex_coord, tex_result; /* stack slots; NULL until used */
    LLVMValueRef ask_call, ask_args, ask_result;  /* the same of questions */
    /* [values.count], [entry's results]: the first result that is this value, and the next one that is the same, plus 1; 0:
     * none. NULL: this function stores nothing, or all when it ends. */
    uint32_t *first_result, *next_result;
    LLVMValueRef cosine; /* stack slot for a result of rt_sincos; NULL until used */

    unsigned md_invariant_load, md_alias_scope, md_noalias; /* kinds of metadata */
    LLVMValueRef md_empty, scope_input, scope_output;       /* metadata nodes */
} Gen;

/* --- gen_value.c --- */
LLVMValueRef gen_i32(Gen *g, uint32_t x);
LLVMValueRef gen_stack(Gen *g, LLVMTypeRef type, const char *name); /* a slot in the entry block */
LLVMBasicBlockRef gen_block(Gen *g, const char *name);              /* appended to the kernel */
/* Returns base + offset_bytes. */
LLVMValueRef gen_address(LLVMBuilderRef builder, Gen *g, LLVMValueRef base,
                         LLVMValueRef offset_bytes);
LLVMValueRef gen_offset(Gen *g, LLVMValueRef base, uint32_t offset_bytes);
void gen_store_field(Gen *g, LLVMValueRef base, size_t offset_bytes, LLVMValueRef x);
/* Loads from memory that nothing writes while the kernel runs. */
LLVMValueRef gen_load_at(LLVMBuilderRef builder, Gen *g, LLVMTypeRef type, LLVMValueRef ptr,
                         uint32_t align);
LLVMValueRef gen_load_input(Gen *g, LLVMTypeRef type, LLVMValueRef ptr, uint32_t align);
LLVMTypeRef gen_lane_type(const Gen *g, IrKind kind);
/* Records fault `site` in the lanes of `where` that have no earlier fault. Code of one lane passes NULL. */
void gen_fault(Gen *g, uint32_t site, LLVMValueRef where);
/* These return a number or value that is equal in all lanes. */
LLVMValueRef gen_const_int(Gen *g, int32_t x);
LLVMValueRef gen_const_float(Gen *g, float x);
LLVMValueRef gen_splat(Gen *g, LLVMValueRef x);
/* Returns `a` in the lanes where `condition` is true, else `b`. */
LLVMValueRef gen_choose(Gen *g, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b);
/* Memory stores a bool as an int, 0 or 1. These convert between both. */
LLVMValueRef gen_bool_to_int(Gen *g, LLVMValueRef x);
LLVMValueRef gen_int_to_bool(Gen *g, LLVMValueRef x);

/* --- gen_input.c --- */
/* Loads a field of the batch in the entry block. */
LLVMValueRef gen_batch_field(Gen *g, LLVMTypeRef type, size_t offset, uint32_t align);
LLVMValueRef gen_batch_pointer(Gen *g, size_t offset);
/* These load their field on the first call only. */
LLVMValueRef gen_batch_params(Gen *g);
LLVMValueRef gen_batch_textures(Gen *g);
LLVMValueRef gen_batch_services(Gen *g);
LLVMValueRef gen_batch_host(Gen *g);
/* Calls a service of the host for all lanes that are here. service_offset: in SslServices; call: an SslTexCall or SslAskCall, of which
 * this sets the block and the lanes. */
void gen_service(Gen *g, size_t service_offset, LLVMValueRef call);
/* Returns the address of the current lane, or of the first one, in the row at `offset_bytes` of a block. */
LLVMValueRef gen_lane_address(Gen *g, LLVMValueRef block_base, uint32_t offset_bytes);
LLVMValueRef gen_global(Gen *g, const IrInst *inst);
LLVMValueRef gen_attribute(Gen *g, const IrInst *inst);
LLVMValueRef gen_param(Gen *g, const IrInst *inst);
/* Returns the address of a row of a program with rows. */
LLVMValueRef gen_row(Gen *g, SslRowPlace place);

/* --- gen_module.c --- */
/* Starts the body of `function`, whose first parameter is the batch, and moves both builders to its entry block. */
void gen_enter_function(Gen *g, LLVMValueRef function);
/* Resets the state that belongs to one IR function; `f` is generated next. */
void gen_begin_body(Gen *g, const IrFunc *f);
void gen_add_attribute(Gen *g, LLVMValueRef function, const char *name);
/* Stores those results of an instruction of the entry's body that are outputs of the shader. */
void gen_store_outputs(Gen *g, const IrInst *inst);

/* --- gen_region.c --- */
/* Generates the instructions of a region up to its YIELD, and returns the YIELD. */
const IrInst *gen_region(Gen *g, IrRegionId region);
/* Cuts the current basic block by a border, because LLVM's time grows faster than the size of a block. A border is
 * a branch that is never taken, on a condition that LLVM cannot fold (block_count == 0). Both its ways meet
 * again after it: with only one successor, LLVM would sink code there and rejoin the blocks. */
void gen_border(Gen *g);
/* Adds a border before code of about `size` machine instructions if the current block has become long. */
void gen_border_when_due(Gen *g, uint32_t size);
/* Adds a border before the function returns `x` (NULL: nothing), if it has other borders, because LLVM would
 * sink code to the return as well. Returns the value to return in place of `x`. */
LLVMValueRef gen_last_border(Gen *g, LLVMValueRef x);

/* --- gen_mask.c --- */
void gen_if_masked(Gen *g, const IrInst *inst);
void gen_loop_masked(Gen *g, const IrInst *inst);
LLVMValueRef gen_any(Gen *g, LLVMValueRef mask); /* i1 */
/* Stores the lanes of the current mask; other lanes of the memory keep their values. */
void gen_store_masked(Gen *g, LLVMValueRef x, LLVMValueRef ptr, uint32_t align);
uint32_t gen_region_weight(const Gen *g, IrRegionId region);
/* Does gen_array_transfer in the lanes of `mask` only. */
void gen_transfer_under(Gen *g, LLVMValueRef mask, const IrValue *from, IrValue to_first,
                        uint32_t count);
/* Takes one back-edge from the budget of each lane of `go`. A lane without budget gets the fault and leaves the
 * loop. Returns the lanes that continue. */
LLVMValueRef gen_spend(Gen *g, LLVMValueRef go, uint32_t site);
/* Takes `turns` back-edges at once from the lanes of the mask. A lane that has not so many gets the fault, and has none left. */
void gen_spend_all(Gen *g, uint32_t turns, uint32_t site);

/* --- gen_together.c --- */
void gen_if_together(Gen *g, const IrInst *inst);   /* its condition is uniform */
void gen_loop_together(Gen *g, const IrInst *inst); /* whether it goes on is uniform */

/* --- gen_uniform.c --- */
void gen_find_uniform(Gen *g); /* after gen_array_slots */
/* Sets a value that is equal in all lanes to `x`, a value of one lane. */
void gen_set_uniform(Gen *g, IrValue v, LLVMValueRef x);
/* Makes the result of IF or LOOP, or the state of a LOOP, what `from` is. */
void gen_set_same(Gen *g, IrValue to, IrValue from);
void gen_uniform_op(Gen *g,
                    const IrInst *inst); /* an operation without regions, whose result is uniform */
LLVMTypeRef gen_uniform_type(const Gen *g, IrKind kind);

/* --- gen_unroll.c --- */
/* Whether all loops of a region will be generated turn by turn, without faults but for the budget, and stand directly in it; values of region
 * `outer`, which encloses it, are not known yet. The next time these loops are generated they will. Adds what they take from the
 * budget to *turns. */
bool gen_plan_unrolled(Gen *g, IrRegionId outer, IrRegionId region, uint32_t *turns);
bool gen_has_no_loop(const Gen *g, IrRegionId region);
/* Generates a LOOP turn by turn, if it has few turns and their number is known. */
bool gen_loop_unrolled(Gen *g, const IrInst *loop);
void gen_forget_region(Gen *g,
                       IrRegionId region); /* clears its values, so that it can be built again */
/* These return whether the value is a constant that is equal in all lanes, and which. */
bool gen_is_constant_int(const Gen *g, IrValue v, int32_t *out_x);
bool gen_is_constant_bool(const Gen *g, IrValue v, bool *out_x);

/* --- gen_op.c --- */
bool gen_is_in_range(const Gen *g,
                     const IrInst *bounds); /* a BOUNDS whose index is known to be in range */
/* Returns an index that is in range in the lanes of the mask, clamped for the others: they compute what they do not use, and read memory. */
LLVMValueRef gen_keep_inside(Gen *g, const IrInst *bounds, LLVMValueRef index);
void gen_op(Gen *g, const IrInst *inst); /* an operation without regions */
/* Returns the result of an operation of scalars; a, b and c are its arguments, as many as it has. */
LLVMValueRef gen_scalar_op(Gen *g, const IrInst *inst, LLVMValueRef a, LLVMValueRef b,
                           LLVMValueRef c);
void gen_find_twins(Gen *g); /* fills g->twin */
LLVMValueRef gen_intrinsic(Gen *g, const char *name, LLVMTypeRef type, LLVMValueRef *args,
                           uint32_t arg_count);

/* --- gen_array.c --- */
void gen_array_op(Gen *g, const IrInst *inst); /* ARRAY, ARRAY_GET, ARRAY_SET */
LLVMValueRef gen_table(Gen *g, const IrInst *inst, LLVMValueRef index);
/* Returns the element of a table at an index, both of one lane. */
LLVMValueRef gen_table_element(Gen *g, IrValue table, LLVMValueRef index);
void gen_array_slots(Gen *g); /* stack memory for what array_plan asks; tables */
/* Copies from[i] to value to_first + i for all i that are arrays, as if all copies were simultaneous. */
void gen_array_transfer(Gen *g, const IrValue *from, IrValue to_first, uint32_t count);
LLVMValueRef gen_array_address(Gen *g, IrValue array);
void gen_array_load(Gen *g, IrValue array, LLVMValueRef from);
void gen_array_store(Gen *g, IrValue array, LLVMValueRef to);
void gen_array_clear(Gen *g, IrValue array);

/* --- gen_call.c --- */
void gen_callees(Gen *g); /* all functions but the entry */
void gen_call(Gen *g, const IrInst *inst);

/* --- gen_texture.c --- */
void gen_texture(Gen *g, const IrInst *inst); /* TEX, TEX_D, TEX_ADJ */
/* Bit i: lane i is here. */
LLVMValueRef gen_lane_bits(Gen *g);

/* --- gen_question.c --- */
void gen_question(Gen *g, const IrInst *inst); /* ASK */

#endif
