/* What the files of the lowering share; for lower/ only.
 *
 * A value of the language is taken apart into leaves: scalars, and for arrays one IR array for every
 * scalar of the element (nested arrays are one array, the last index fastest). A variable owns a run of
 * slots, one a leaf; `env` says which IR value each slot has at the point that is being written. Assigning
 * changes env, nothing else: variables are SSA values from the start.
 *
 * An IF makes results of the slots that either arm may assign, a LOOP carries those that its body may
 * assign; both sets are found by a walk over the tree before (assigned.c). */
#ifndef SSL_LOWER_EMIT_H
#define SSL_LOWER_EMIT_H

#include "ssl/ir/ir_build.h"
#include "ssl/report.h"
#include "ssl/sema/sema.h"
#include "ssl/ssl_limits.h"
#include "ssl/string_ids.h"

enum { NO_SLOT = UINT32_MAX };

/* A function, or one that takes arrays of any size, for one size. */
typedef struct FuncInstance {
    const FuncDecl *func;
    uint32_t array_size; /* 0: it has no such parameter */
    IrFuncId id;
} FuncInstance;

/* A whole module being written. */
typedef struct Lowering {
    Arena *arena;
    DiagList *diags;
    const SemaTables *tables;
    IrModule *module;
    IrFuncId *func_ids; /* [FuncDecl.id]; 0: not reached yet, or for arrays of any size */
    ARRAY(SslAttributeInfo)
    attributes;                /* the declared ones, then the host's in the order of their use */
    uint32_t *host_attributes; /* [table row] 1 + slot; 0: not used yet */
    ARRAY(FuncInstance) queue; /* reached, in order; written one after the other */
    uint32_t *library_files;   /* [library source] file in diags; 0: not added yet */
    StringIds *strings;
    bool has_failed; /* a limit was reported */
    bool is_out_of_memory;
} Lowering;

typedef struct LoopFrame {
    uint32_t broke, continued; /* slots: bool */
    struct LoopFrame *outer;
} LoopFrame;

typedef struct SlotSet {
    uint32_t *data;
    uint32_t count, capacity;
} SlotSet;

/* One function being written. */
typedef struct Emit {
    Lowering *lowering;
    Arena *arena;
    IrBuilder *b;
    const FuncDecl *func;
    uint32_t array_size;    /* of the parameters that may have any */
    ARRAY(IrValue) env;     /* [slot] */
    ARRAY(uint32_t) stamps; /* [slot]: of the set that has it already */
    uint32_t stamp;
    uint32_t *slot_of; /* [VarDecl.index]; NO_SLOT: not declared yet */
    uint32_t returned; /* slot: bool */
    uint32_t result;   /* first slot of the return value */
    LoopFrame *loop;   /* innermost */
    uint8_t needed;    /* EXIT_*: flags that code after the current region looks at */
    uint32_t region_depth;
} Emit;

/* --- values (value.c) --- */

typedef struct Value {
    const Type *type;
    const IrValue *leaf; /* [type->leaves] */
} Value;

IrType leaf_type(const Type *type, uint32_t leaf);
uint32_t leaf_elements(const Type *type, uint32_t leaf); /* 1 for a scalar */
/* Where that element of a leaf stands among the numbers of a value in the order of the source. */
uint32_t leaf_scalar(const Type *type, uint32_t leaf, uint32_t element);
/* Types of all leaves, from `out` on; returns the next free place. */
IrType *leaf_types(const Type *type, IrType *out);
IrValue *value_leaves(Emit *m, const Type *type); /* room for the leaves of one value */
Value value_zero(Emit *m, const Type *type);
Value value_constant(Emit *m, const Constant *c);
Value value_string(Emit *m, const char *text);
/* `part` as the index-th element or member goes into `out`, the leaves of an aggregate being made. */
Value value_list(Emit *m, const Type *type, const Value *parts);

/* --- places (place.c): variables and parts of them --- */

enum { PLACE_ALTERNATIVES = 16 };

typedef struct Place {
    const Type *type;
    uint32_t slot; /* NO_SLOT: `temporary` */
    const IrValue *temporary;
    uint32_t leaf; /* first, from the slot on */
    IrValue index; /* element of the leaves' arrays; 0: they are taken whole */
    /* Components of a vector or matrix, if component_count > 0. With several alternatives, `choice` says
     * at run time which one is meant. */
    uint8_t component_count, alternative_count;
    uint8_t lane[PLACE_ALTERNATIVES][4];
    IrValue choice;
} Place;

Place place_of(Emit *m, const Expr *e);
Value place_load(Emit *m, const Place *p);
void place_store(Emit *m, const Place *p, Value v);

/* --- expressions (lower_expr.c, lower_call.c) --- */
Value lower_expr(Emit *m, const Expr *e);
IrValue lower_scalar(Emit *m, const Expr *e); /* of a type with one leaf */
Value lower_call(Emit *m, const Expr *e);
Value lower_texture(Emit *m, const Expr *e);
/* The module's id of a function, which is queued when it is new. */
IrFuncId lower_func_id(Lowering *l, const FuncDecl *f, uint32_t array_size);
/* The slot of a file's declaration, or of a row of the host's table. */
uint32_t lower_attribute_slot(Lowering *l, uint32_t index, bool is_declared);
void lower_set_span(Emit *m, Span span);
Span lower_span(Lowering *l, Span span); /* in files of diags */

/* --- regions (region.c) --- */

/* An IF whose results are the slots of a set and `extra` values:
 *   region_if(...); then-code; region_else(...); else-code; region_end(...) */
typedef struct IfRegion {
    SlotSet slots;
    const IrValue *before; /* env of the slots */
    IrValue flags[3];      /* env of the exits' flags */
    uint32_t mark;         /* slots that exist outside */
    uint32_t extra_count;
} IfRegion;

/* False, after a report, if regions are nested too deep: then nothing was opened. */
bool region_if(Emit *m, IrValue condition, SlotSet slots, IfRegion *out_region);
void region_else(Emit *m, IfRegion *r, const IrValue *extra, uint32_t extra_count);
void region_end(Emit *m, IfRegion *r, const IrValue *extra, IrValue *out_extra);

/* --- statements (lower_stmt.c, lower_loop.c) --- */

/* Statements to come: the rest of a block, then what follows the block. */
typedef struct Sequence {
    Stmt *const *items;
    uint32_t count;
    const struct Sequence *next;
} Sequence;

void lower_sequence(Emit *m, const Sequence *sequence);
void lower_loop(Emit *m, const Stmt *s);
/* True if one of the exits was taken: the flags' OR. */
IrValue exits_taken(Emit *m, uint8_t exits);

/* --- chains (lower_chain.c) --- */
bool lower_is_long_if(const Stmt *s);
void lower_if_chain(Emit *m, const Stmt *s);
bool lower_is_long_choice(const Expr *e);
Value lower_choice_chain(Emit *m, const Expr *e);

/* --- slots (assigned.c) --- */
uint32_t slots_allocate(Emit *m, Value initial); /* first slot */
void slots_forget(Emit *m, uint32_t mark);       /* those from `mark` on: their scope is over */
/* Existing slots that the parts may assign, each once: start, add ..., and take the set. Flags of exits are
 * in it if `flags` has their bit. */
typedef struct Collector {
    Emit *m;
    SlotSet set;
    uint32_t mark, loops;
    uint8_t flags;
} Collector;
Collector collect_start(Emit *m, uint8_t flags);
void collect_expr(Collector *c, const Expr *e); /* NULL is fine; so in collect_stmt */
void collect_stmt(Collector *c, const Stmt *s);
void collect_slot(Collector *c, uint32_t slot);
void collect_sequence(Collector *c, const Sequence *sequence);

#endif
