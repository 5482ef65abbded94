/* The state and the functions that the files of the checker share. Private to sema/. */
#ifndef SSL_SEMA_CHECKER_H
#define SSL_SEMA_CHECKER_H

#include "ssl/report.h"
#include "ssl/sema/sema.h"

/* A type made by differential_of or pair_of, or a function made by derivative_of. */
typedef struct MadeType {
    const Type *of, *made;
    DiffType diff;
} MadeType;

typedef struct MadeFunc {
    const FuncDecl *of;
    FuncDecl *made;
    bool is_backward;
} MadeFunc;

typedef struct Sema {
    Arena *arena;
    DiagList *diags;
    uint32_t errors_before; /* those that `diags` has of other sources */
    const SemaTables *tables;
    Module *module;
    NameMap variables;      /* from names to the VarDecl that is visible at this point */
    NameMap unknown;        /* names that were reported as unknown */
    ARRAY(VarDecl *) scope; /* the visible declarations, innermost last */
    uint32_t scope_level;   /* 0: file; 1: parameters and a function's own block */
    FuncDecl *func;         /* the function whose body is being checked */
    uint32_t loop_depth;
    uint32_t lobe_level; /* the scope of the lobe of a bsdf whose statements are checked; 0: none */
    bool is_file_constant; /* the type of a file-scope constant is being checked: it may be large */
    uint32_t function_scalars;
    uint32_t detached; /* the number of detach and no_diff around the expression */
    ARRAY(MadeType) made_types;
    ARRAY(MadeFunc) made_funcs;
    /* [FuncDecl.id], 1 + id of the function that called it last, to list once */
    ARRAY(uint32_t) last_caller;
    const Binding *bindings;  /* what names of types stand for in the function that is checked */
    uint32_t instance_count;  /* of generic functions, for known types */
    uint64_t instance_bytes;  /* the text of these functions */
    bool is_out_of_instances; /* there would be too many; it was reported */
    uint32_t interface_walks; /* over interfaces and what they include */
    NameMap
        struct_instances; /* from the types of instances of generic structs to their StructDecl */
    bool is_at_file;      /* variables of functions are not visible */
    InterfaceDecl *differentiable; /* IDifferentiable, unless the file has its own */
} Sema;

/* Whether something is wrong with the source itself. */
static inline bool has_errors(const Sema *s)
{
    return diag_error_count(s->diags) > s->errors_before;
}

/* Where names are looked up. */
typedef struct Place {
    FuncDecl *func;
    const Binding *bindings;
    bool is_at_file, is_file_constant;
} Place;

#define text_of(s, type)          type_text((type), (s)->arena)
#define text_of_number(s, number) arena_printf((s)->arena, "%u", (uint32_t)(number))

/* scope.c */
void scope_open(Sema *s);
void scope_close(Sema *s);
/* Declares a variable; a name that the scope has already is reported, but declared nevertheless. */
void scope_declare(Sema *s, VarDecl *var);
VarDecl *scope_find(const Sema *s, const char *name); /* NULL: none */
void scope_report_unknown(Sema *s, const char *name, Span span);
/* Returns true the first time only, so that an unknown name is reported once. */
bool sema_is_news(Sema *s, const char *name);

/* check_type.c */
/* Returns the type of a declarator: `name` with the array sizes after the variable. The initialiser gives the size
 * for []. Returns the error type after a report. */
const Type *check_type(Sema *s, const TypeName *name, const ExprList *sizes,
                       const Expr *initialiser);
/* Reports a type that no variable can have; `what` as in "a variable". */
bool check_variable_type(Sema *s, const Type *type, const char *what, Span span);

/* check_method.c; overload.h has what concerns candidates. */
/* A struct of the file or the library, or what a type parameter stands for; NULL: none. */
const StructDecl *find_struct(const Sema *s, const char *name);
StructDecl *find_generic_struct(const Sema *s, const char *name); /* NULL: none */
void check_method_name(Sema *s, const FuncDecl *method);
/* Makes a.name of `name` where a method may leave out `this`. */
bool method_sees_member(Sema *s, Expr *e);
bool method_is_this(const Sema *s, const VarDecl *var); /* of the method that is checked */
void report_no_method(Sema *s, const StructDecl *decl, const char *name, Span span);

/* check_interface.c */
InterfaceDecl *find_interface(const Sema *s, const char *name); /* NULL: none */
void declare_interfaces(Sema *s);                               /* their names alone */
void check_interfaces(Sema *s);                                 /* after the structs */
void check_interface_names(Sema *s, const InterfaceNames *names);
void check_structs_are_interfaces(Sema *s); /* after the signatures of all methods */
bool interface_is_among(const InterfaceList *list, const char *name);
void method_bind_this(Sema *s, FuncDecl *method); /* makes This the struct that has the method */
const Binding *bindings_in(Sema *s, const StructDecl *decl); /* of its methods; NULL: no struct */
const Binding *bind_type(Sema *s, const char *name, const Type *type, const Binding *next);
/* Makes a type that has the methods of these interfaces, and of which nothing else is known. */
const Type *make_unknown_type(Sema *s, const char *name, Span span,
                              const InterfaceNames *interfaces);

/* instance.c; overload.h has what concerns candidates. */
void check_generic(Sema *s, FuncDecl *f); /* a generic function, in place of its signature */
const Type *bound_type(const Sema *s, const char *name); /* NULL: none */
/* A type parameter where the generic function is checked, or made of one. */
bool type_is_unknown(const Type *t);
/* Goes to file scope, where type parameters are what the bindings say, for a copy that is made in the middle of a function. */
Place place_at_file(Sema *s, const Binding *bindings);
void place_return(Sema *s, const Place *place);
/* Checks a list of type parameters, and makes unknown types of them. `outer` are those of the struct around, or NULL. */
const Type **check_type_params(Sema *s, const TypeParamList *params, const TypeParamList *outer);
const Type **check_type_args(Sema *s, const TypeArgs *args); /* NULL after a report */
/* Returns whether a type parameter of `name` can be `type`. With report_at, reports it if not. */
bool check_type_fits(Sema *s, const char *name, const TypeParam *param, const Type *type,
                     const Span *report_at);
/* Reports attributes that name a derivative, which have no place before a generic function. */
void forbid_named_derivatives(Sema *s, FuncDecl *f);
/* Returns false, and reports it, if there are too many instances for one of `f`, they are too long, or it would end a chain that is. */
bool instance_has_room(Sema *s, const FuncDecl *f, Span span);
/* Checks the signature of a copy that the function needs that is being checked; the body has its turn later. */
void instance_begin(Sema *s, FuncDecl *f, Span span);

/* struct_instance.c */
void check_generic_struct(Sema *s, StructDecl *decl);
/* Pair<float>. Returns the error type after a report. */
const Type *check_struct_instance(Sema *s, const char *name, const TypeArgs *args, Span span);
/* Reports the name of a generic struct without types; `after` it, more follows. */
void report_types_missing(Sema *s, const StructDecl *decl, Span span, const char *after);
/* Notes what was reported of the signature of a method for unknown types: it is not made for others. */
void struct_method_is_bad(const FuncDecl *method);
/* Makes the methods of that name which an instance has not needed before. */
void make_methods(Sema *s, const StructDecl *decl, const char *name, Span span);
/* Notes which instance an error is in, and the calls that need it, from the inside out. */
void note_instances(Sema *s, const FuncDecl *instance);

/* check_decl.c */
void check_file(Sema *s);
void check_members(Sema *s, StructDecl *decl); /* and sets the struct's type */
void check_signature(Sema *s, FuncDecl *f);

/* check_stmt.c */
void check_body(Sema *s, FuncDecl *func);
void check_local(Sema *s, VarDecl *var);
bool expr_has_effect(
    const Expr *e); /* a checked expression that writes, or calls a function that may */

/* check_expr.c: each function returns the checked node, which may be a new one. */
Expr *check_expr(Sema *s, Expr *e);
/* Checks an expression whose value is used, and reports void. */
Expr *check_value(Sema *s, Expr *e);
Expr *expr_of_value(Sema *s, Expr *e); /* check_value for an expression that is checked already */
Expr *check_condition(Sema *s, Expr *e);
/* Checks the target of an assignment, and reports whatever is not a variable or a part of one. The variable counts
 * as read only if is_read_too. */
Expr *check_target(Sema *s, Expr *e, bool is_read_too);
/* Reports the change of a variable that is state of all lobes, where the statements of one lobe are checked. */
bool check_is_changeable(Sema *s, const Expr *name, const VarDecl *var);
/* Checks the initialiser of a variable of `type`: {...} or a value. */
Expr *check_initialiser(Sema *s, Expr *e, const Type *type);
/* Evaluates a constant expression; `what` names it in messages, as "an array's size". Returns NULL after a report. */
const Constant *check_constant(Sema *s, const Expr *e, const char *what);
Expr *expr_seal(Expr *e);  /* fills in cost and is_total from the children */
Expr *expr_error(Expr *e); /* turns it into EXPR_ERROR, after a report */

static inline Expr *expr_typed(Expr *e, const Type *type)
{
    e->type = type;
    return expr_seal(e);
}

/* check_operator.c */
Expr *check_binary(Sema *s, Expr *e);
Expr *check_unary(Sema *s, Expr *e);
Expr *check_choice(Sema *s, Expr *e); /* a ? b : c */
Expr *check_assign(Sema *s, Expr *e); /* = and op= */
Expr *check_step(Sema *s, Expr *e);   /* ++ and -- */

/* check_construct.c: type(args), casts, Struct(args) */
Expr *check_construct(Sema *s, Expr *e, const Type *type);

/* check_call.c */
Expr *check_call(Sema *s, Expr *e);
const char *check_argument_types(Sema *s, const ExprList *args); /* "color, float" */

/* check_diff.c: derivatives in the language */
/* The type of derivatives of values of `type`, or NULL if they have none. */
const Type *differential_of(Sema *s, const Type *type);
/* diff_pair<T>, differential<T>. Returns the error type after a report. */
const Type *check_diff_type(Sema *s, const TypeName *name, const Type *inner);
Expr *check_diff_pair(Sema *s, Expr *e); /* diff_pair(value, derivative), a CALL */
/* fwd_diff(f) or bwd_diff(f) as a function, which its callers see like any other. */
FuncDecl *derivative_of(Sema *s, FuncDecl *f, bool is_backward);
void check_diff_attributes(Sema *s); /* of all functions, after their signatures */
void check_func_attributes(Sema *s, FuncDecl *f);
void check_max_iters(Sema *s, Stmt *loop);
/* Reports a call by which a differentiable function loses the derivative of a value. */
void check_keeps_derivative(Sema *s, const Expr *call, const FuncDecl *callee);

/* check_attribute.c */
void check_attributes(Sema *s); /* the declarations */
Expr *check_attribute(Sema *s, Expr *e);

/* check_host.c: globals, closures, questions, textures */
Expr *check_global(Sema *s, Expr *e);
Expr *check_closure(Sema *s, Expr *e);
Expr *check_question(Sema *s, Expr *e);
Expr *check_texture(Sema *s, Expr *e);

/* coerce.c */
/* Converts `e` to `type` by the implicit rules (equal types, and int to float), or reports that it cannot. */
Expr *coerce(Sema *s, Expr *e, const Type *type);
bool coerce_is_possible(const Type *from, const Type *to);
/* Adds a note on what the author may have meant by `e` where `type` is expected. */
void coerce_note(Sema *s, const Expr *e, const Type *type);
/* Wraps `e` in EXPR_CONVERT (int to float, a scalar to a vector) if its type differs. */
Expr *coerce_wrap(Sema *s, Expr *e, const Type *type);

/* call_graph.c */
void check_call_graph(Sema *s);

static inline const char *count_text(Sema *s, uint32_t count, const char *noun)
{
    return arena_printf(s->arena, "%u %s%s", count, noun, count == 1 ? "" : "s");
}

#endif
