/* The state and the functions that the files of lower/ share. Private to lower/.
 *
 * A value of the language is split into leaves: scalars, and for an array one IR array per scalar of the
 * element (nested arrays become one array, the last index varying fastest). A variable owns consecutive
 * slots, one per leaf. `env` holds the IR value of each slot at the current point of the code, and an
 * assignment changes only env, so that variables are in SSA form from the start.
 *
 * The slots that either arm of an IF may assign become its results; those that the body of a LOOP may
 * assign become its state. A walk over the tree finds both sets beforehand (assigned.c). */
#ifndef SSL_LOWER_EMIT_H
#define SSL_LOWER_EMIT_H

#include "ssl/ir/ir_build.h"
#include "ssl/report.h"
#include "ssl/sema/sema.h"
#include "ssl/ssl_limits.h"
#include "ssl/string_ids.h"

enum { NO_SLOT = UINT32_MAX };

/* A function to lower. A function with parameters T[] has an instance per size of its arguments. */
typedef struct FuncInstance {
    const FuncDecl *func;
    uint32_t array_size; /* 0: the function has no parameter T[] */
    IrFuncId id;
} FuncInstance;

/* The state of lowering a whole module. */
typedef struct Lowering {
    Arena *arena;
    DiagList *diags;
    const SemaTables *tables;
    IrModule *module;
    IrFuncId *func_ids; /* [FuncDecl.id]; 0: not reached yet, or the function has parameters T[] */
    /* The declared attributes, then rows of the host's table in the order of their use. */
    ARRAY(SslAttributeInfo) attributes;
    uint32_t *host_attributes; /* [table row] 1 + slot; 0: not used yet */
    ARRAY(FuncInstance) queue; /* the functions reached so far, lowered in this order */
    uint32_t *library_files;   /* [file number - LIBRARY_FILE] file in diags; 0: not added yet */
    StringIds *strings;
    bool is_of_bsdf; /* the shader is a part of a bsdf */
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

/* The state of lowering one function. */
typedef struct Emit {
    Lowering *lowering;
    Arena *arena;
    IrBuilder *b;
    const FuncDecl *func;
    uint32_t array_size;    /* the size of parameters T[] */
    ARRAY(IrValue) env;     /* [slot] */
    ARRAY(uint32_t) stamps; /* [slot]: equals `stamp` if the current set has the slot already */
    uint32_t stamp;
    uint32_t *slot_of; /* [VarDecl.index]; NO_SLOT: not declared yet */
    uint32_t returned; /* slot: bool */
    uint32_t result;   /* first slot of the return value */
    LoopFrame *loop;   /* innermost */
    uint8_t needed;    /* EXIT_*: the flags that code after the current region reads */
    uint32_t region_depth;
} Emit;

/* --- values (value.c) --- */

typedef struct Value {
    const Type *type;
    const IrValue *leaf; /* [type->leaves] */
} Value;

IrType leaf_type(const Type *type, uint32_t leaf);
uint32_t leaf_elements(const Type *type, uint32_t leaf); /* 1 for a scalar */
/* Returns the index of a leaf's element among the scalars of a value, which are in the order of the source. */
uint32_t leaf_scalar(const Type *type, uint32_t leaf, uint32_t element);
/* Writes the types of all leaves to `out`, and returns the end of the list. */
IrType *leaf_types(const Type *type, IrType *out);
IrValue *value_leaves(Emit *m, const Type *type); /* allocates room for the leaves of one value */
Value value_detached(Emit *m, Value v);           /* its floats have no derivative, to derive.c */
Value value_zero(Emit *m, const Type *type);
Value value_constant(Emit *m, const Constant *c);
Value value_string(Emit *m, const char *text);
/* Returns whether elements of a file-scope constant are read from tables in the object, instead of from values that the
 * code makes: it is a large array. */
bool value_is_table(const VarDecl *constant);
/* Returns an element of one leaf of such a constant, at an index in its range. */
IrValue value_table_element(Emit *m, const VarDecl *constant, uint32_t leaf, IrValue index);
/* Returns a struct or array whose members or elements are `parts`. */
Value value_list(Emit *m, const Type *type, const Value *parts);

/* --- places (place.c): variables and parts of them --- */

enum { PLACE_ALTERNATIVES = 16 };

typedef struct Place {
    const Type *type;
    uint32_t slot; /* the variable's first slot; NO_SLOT: the place is `temporary` */
    const IrValue *temporary;
    uint32_t leaf; /* the first leaf of the place, counted from the slot */
    IrValue index; /* index of an element in the leaves' arrays; 0: the arrays are accessed whole */
    const VarDecl *table; /* the constant whose elements are read from tables; NULL: none */
    bool is_no_diff;      /* what is read has no derivative */
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
IrValue lower_scalar(Emit *m, const Expr *e); /* the type of `e` has one leaf */
Value lower_call(Emit *m, const Expr *e);
Value lower_texture(Emit *m, const Expr *e);
/* Returns the id of a function in the module, and queues the function when it is new. */
IrFuncId lower_func_id(Lowering *l, const FuncDecl *f, uint32_t array_size);
/* Returns the slot of an attribute that the source declares, or of a row of the host's table. */
uint32_t lower_attribute_slot(Lowering *l, uint32_t index, bool is_declared);
void lower_set_span(Emit *m, Span span);
Span lower_span(Lowering *l, Span span); /* translates library spans to file numbers of `diags` */

/* --- derivatives (lower_diff.c) --- */
/* Has derive.c build a derivative as function `id`. */
void lower_derivative(Lowering *l, const FuncDecl *f, IrFuncId id);
/* Notes what derive.c must know of a function, once. */
void lower_diff_facts(Lowering *l, const FuncDecl *f, IrFuncId id);

/* --- regions (region.c) --- */

/* An IF whose results are the slots of a set and some extra values:
 *   region_if(...); then-code; region_else(...); else-code; region_end(...) */
typedef struct IfRegion {
    SlotSet slots;
    const IrValue *before; /* env of the slots before the IF */
    IrValue flags[3];      /* env of the exit flags before the IF */
    uint32_t mark;         /* the number of slots that exist outside the IF */
    uint32_t extra_count;
} IfRegion;

/* Opens the IF. If regions are nested too deep, it reports that, opens nothing and returns false. */
bool region_if(Emit *m, IrValue condition, SlotSet slots, IfRegion *out_region);
void region_else(Emit *m, IfRegion *r, const IrValue *extra, uint32_t extra_count);
void region_end(Emit *m, IfRegion *r, const IrValue *extra, IrValue *out_extra);

/* --- statements (lower_stmt.c, lower_loop.c) --- */

/* The statements that remain: the rest of a block, then those that follow the block. */
typedef struct Sequence {
    Stmt *const *items;
    uint32_t count;
    const struct Sequence *next;
} Sequence;

void lower_sequence(Emit *m, const Sequence *sequence);
void lower_loop(Emit *m, const Stmt *s);
/* Returns a bool value that is true if one of the exits was taken. */
IrValue exits_taken(Emit *m, uint8_t exits);

/* --- chains (lower_chain.c) --- */
bool lower_is_long_if(const Stmt *s);
void lower_if_chain(Emit *m, const Stmt *s);
bool lower_is_long_choice(const Expr *e);
Value lower_choice_chain(Emit *m, const Expr *e);

/* --- slots (assigned.c) --- */
uint32_t slots_allocate(Emit *m, Value initial); /* first slot */
void slots_forget(Emit *m, uint32_t mark); /* frees the slots from `mark` on when a scope ends */
/* Collects the existing slots that some statements and expressions may assign, each once: start, collect ..., then
 * read `set`. It includes the exit flags whose bit is in `flags`. */
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
