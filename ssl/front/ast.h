/* The syntax tree of one source file. The parser builds it, and the checker (sema/) fills in the fields marked
 * "checked". After that any thread may read it.
 *
 *   Ast -> structs, functions and shaders, textures, attributes, file-scope constants (all are declarations)
 *          functions -> parameters, body of statements -> expressions
 *
 * Every node has the span of its source text. Names are interned. All memory is in one arena. Statements nest at most
 * SSL_MAX_NESTING deep and expressions SSL_MAX_EXPR_DEPTH deep, so walks over the tree may recurse. */
#ifndef SSL_FRONT_AST_H
#define SSL_FRONT_AST_H

#include "base/array.h"
#include "ssl/front/names.h"
#include "ssl/front/token.h"

typedef struct Type Type; /* sema/type.h */
typedef struct Expr Expr;
typedef struct Stmt Stmt;
typedef struct VarDecl VarDecl;
typedef struct FuncDecl FuncDecl;
typedef struct StructDecl StructDecl;
typedef struct Builtin Builtin;   /* sema/builtin.h */
typedef struct Constant Constant; /* sema/const_eval.h */

typedef struct VarList {
    VarDecl **items;
    uint32_t count;
} VarList;

typedef struct ExprList {
    Expr **items;
    uint32_t count;
} ExprList;

typedef struct StmtList {
    Stmt **items;
    uint32_t count;
} StmtList;

typedef struct FuncList {
    FuncDecl **data;
    uint32_t count, capacity;
} FuncList;

/* The name of an interface, where something is said to be one. */
typedef struct InterfaceName {
    const char *name;
    Span span;
} InterfaceName;

typedef struct InterfaceNames {
    InterfaceName *items;
    uint32_t count;
} InterfaceNames;

typedef struct InterfaceList {
    struct InterfaceDecl **data;
    uint32_t count, capacity;
} InterfaceList;

/* The T of f<T : IShape & INamed>. */
typedef struct TypeParam {
    const char *name;
    Span span;
    InterfaceNames interfaces;
} TypeParam;

typedef struct TypeParamList {
    TypeParam *items;
    uint32_t count;
} TypeParamList;

/* What the name of a type stands for inside a function: a type parameter of an instance, or This. */
typedef struct Binding {
    const char *name;
    const Type *type;
    const struct Binding *next;
} Binding;

/* A type that is made of another: diff_pair<T>, differential<T>. */
typedef enum DiffType { DIFF_TYPE_NONE, DIFF_TYPE_PAIR, DIFF_TYPE_DIFFERENTIAL } DiffType;

/* The types in < > after a name: Pair<float3>, f<Disc>. */
typedef struct TypeArgs {
    Span span; /* with the brackets */
    struct TypeName *items;
    uint32_t count;
} TypeArgs;

/* A type as written: `float3`, `Ray`, `Pair<Ray>`, `float[4]`, `diff_pair<float3>`. */
typedef struct TypeName {
    Span span;
    SslType basic; /* when struct_name and inner are NULL */
    const char *struct_name;
    TypeArgs args; /* of struct_name */
    DiffType diff;
    const struct TypeName *inner; /* the T of diff_pair<T>; NULL: an ordinary type */
    bool is_bad;                  /* it was reported */
    ExprList sizes;               /* the sizes of `T[a][b]`, outermost first; NULL stands for [] */
} TypeName;

/* --- expressions --- */
typedef enum ExprKind {
    EXPR_ERROR, /* stands for something that was reported */
    EXPR_BOOL,
    EXPR_INT,
    EXPR_FLOAT,
    EXPR_STRING,
    EXPR_NAME,   /* a variable or constant */
    EXPR_UNARY,  /* op a: - ! ~ */
    EXPR_BINARY, /* a op b: arithmetic, comparison, && ||, comma */
    EXPR_CHOICE, /* a ? b : c */
    EXPR_ASSIGN, /* a op b: = += ... */
    EXPR_STEP,   /* ++a --a a++ a-- */
    EXPR_CALL, /* name(args), a.name(args); the checker makes the a of a method its first argument */
    EXPR_CONSTRUCT, /* type(args), (type)a, Struct(args) */
    EXPR_LIST,      /* {args} */
    EXPR_INDEX,     /* a[b] */
    EXPR_MEMBER,    /* a.name: struct member or swizzle */
    EXPR_GLOBAL,    /* global_value<name> */
    EXPR_ATTRIBUTE, /* attribute<name>, attribute_exists<name>: op says which */
    EXPR_CLOSURE,   /* make_closure<name>(args) */
    EXPR_ASK,       /* ask_host<name>(args) */
    EXPR_TEXTURE,   /* texture2d_sample<name>(args, options) */
    EXPR_DETACH,    /* detach(a), no_diff a: the value without its derivatives */
    EXPR_CONVERT /* added by the checker: converts a to another type (int to float, float to a vector) */
} ExprKind;

typedef struct TextureOption {
    const char *name;
    Span span;
    Expr *value;
} TextureOption;

/* The options of a texture call. The checker evaluates all of them but blur and width, which are expressions. */
typedef struct TextureCall {
    TokenKind form; /* TOKEN_SAMPLE, _ALPHA, _RGBA */
    TextureOption *options;
    uint32_t option_count;
    uint32_t slot;       /* checked: index of the texture2d */
    SslTextureSite site; /* checked: all but `texture`, `channel` and `span` */
    Expr *blur, *width;  /* checked: float; NULL: 0 and 1 */
    int32_t channel;     /* checked: the first channel; -1: the call has no such option */
} TextureCall;

/* What stands before the arguments of fwd_diff(f)(...) and bwd_diff(f)(...). */
typedef struct DiffTarget {
    bool is_backward;
    Span span;         /* fwd_diff(f) */
    const char *owner; /* the S of fwd_diff(S.f); NULL: f is no method */
    Span owner_span;
    const char *name; /* the function; NULL: `inner` is derived */
    Span name_span;
    const TypeArgs *owner_args, *args; /* those of fwd_diff(S<T>.f<U>); NULL: none */
    const struct DiffTarget *inner;
} DiffTarget;

enum { COST_MAX = 10000 };

struct Expr {
    ExprKind kind;
    TokenKind op; /* UNARY, BINARY, ASSIGN, STEP, ATTRIBUTE */
    Span span;
    /* The depth of the subtree; a leaf has 1. A BINARY on the left side of a BINARY does not add to the depth: a + b + c
     * has 2, and walks loop along the left sides. */
    uint16_t depth;
    bool is_prefix;    /* STEP */
    bool is_converted; /* CONSTRUCT: an explicit cast of one value */
    const Type *type;  /* checked */
    uint16_t cost;     /* checked: the cost of evaluating it, in additions, up to COST_MAX */
    /* Checked: it has no effect, cannot fault and ends, so that it may be evaluated speculatively. */
    bool is_total;
    Expr *a, *b, *c;
    ExprList args;
    /* NAME, CALL, MEMBER, GLOBAL, ATTRIBUTE, CLOSURE, ASK, TEXTURE, STRING (its text) */
    const char *name;
    Span name_span;
    TypeArgs *type_args; /* CALL, and NAME in fwd_diff(f<T>): the types that it names; NULL: none */
    TypeName *type_name; /* CONSTRUCT, with a keyword */
    TextureCall *texture;
    const DiffTarget *target; /* CALL of a derivative; NULL: of a function */
    union {
        bool bool_value;
        int32_t int_value;
        float float_value;
        const VarDecl *var; /* checked: NAME */
        uint32_t row;       /* checked: GLOBAL, CLOSURE, ASK: index in the host's table */
        uint32_t member;    /* checked: MEMBER of a struct */
        struct { /* checked: ATTRIBUTE: index of the file's declaration, or of the host's row */
            uint32_t index;
            bool is_declared;
        } attribute;
        struct { /* checked: CALL; one of the two */
            const FuncDecl *func;
            const Builtin *builtin;
            uint32_t width; /* if > 1, the function is applied to each of so many components */
        } callee;
        struct { /* checked: MEMBER of a vector */
            uint8_t lane[4], count;
        } swizzle;
    };
};

/* --- declarations --- */
typedef enum VarKind {
    VAR_LOCAL,
    VAR_PARAM,
    VAR_MEMBER,
    VAR_CONSTANT,
    VAR_TEXTURE,
    VAR_ATTRIBUTE
} VarKind;
typedef enum Direction { DIRECTION_IN, DIRECTION_OUT, DIRECTION_INOUT } Direction;

typedef struct Metadata {
    Span span;
    const char *name;
    TypeName type_name;
    Expr *value;
    SslValue constant; /* checked */
} Metadata;

typedef struct MetadataList {
    Metadata *items;
    uint32_t count;
} MetadataList;

struct VarDecl {
    VarKind kind;
    Direction direction; /* PARAM */
    bool is_const;
    bool is_no_diff;     /* PARAM, MEMBER: it has no derivative */
    Span span;           /* the span of the name */
    const char *name;    /* NULL: a parameter without a name, in a forward declaration */
    TypeName *type_name; /* shared by the declarators of one declaration */
    ExprList sizes;      /* the sizes of `name[a][b]` */
    Expr *init;          /* value or default; may be NULL */
    MetadataList metadata;
    /* checked */
    const Type *type;
    uint32_t index; /* LOCAL, PARAM: dense within the function; MEMBER: index in the struct */
    uint32_t leaf;  /* MEMBER: its first leaf in the struct */
    const Constant *constant; /* CONSTANT; PARAM with a default; ATTRIBUTE */
    bool is_assigned, is_read;
    bool is_given; /* passed to a function that may write it */
    Span first_read;
    uint32_t scope_level; /* used by the checker */
    VarDecl *hidden;      /* used by the checker: the declaration that this one hides */
};

/* A scattering function, `bsdf Name(arguments) { state; lobe ... }`. The parser makes shaders with rows and functions of
 * it (parse_bsdf.c), which are among Ast.funcs; this is what they do not tell. */
typedef struct BsdfLobe {
    Span span;
    uint32_t flags; /* SSL_LOBE_* */
} BsdfLobe;

typedef struct BsdfDecl {
    Span span; /* the span of the name */
    const char *name;
    VarList args;
    MetadataList metadata;
    bool is_layer; /* it has an argument that is a closure */
    ARRAY(BsdfLobe) lobes;
} BsdfDecl;

struct StructDecl {
    Span span;
    const char *name;
    Span end; /* the closing brace */
    TypeParamList
        type_params; /* if any, it is generic: never checked, but copied for each instance */
    VarList members;
    InterfaceNames interfaces;
    FuncList parsed_methods; /* of a generic struct: they are copied with it */
    uint32_t method_count;   /* with those beyond the limit */
    bool is_library;
    /* checked */
    FuncDecl *methods;   /* linked by next_overload, in the order of the source */
    InterfaceList all;   /* the interfaces and all that they include, each once */
    const Type *type;    /* NULL: not complete, or generic */
    StructDecl *generic; /* it is an instance of that */
    StructDecl *first; /* of a generic struct: the instance for unknown types; NULL: not complete */
    const Binding *bindings; /* of an instance: what the names of its type parameters stand for */
    bool is_pair;            /* diff_pair<T>, made by the checker */
    /* It stands for a type parameter, or for its differential, while the generic function or struct itself is checked. Its
     * methods are those of its interfaces. */
    bool is_abstract;
    bool has_unknown;         /* it is abstract, or made of what is */
    const Type *differential; /* of an abstract one; NULL: none is known */
};

/* interface Name : Others { methods without bodies } */
typedef struct InterfaceDecl {
    Span span;
    const char *name;
    InterfaceNames interfaces; /* those that it includes */
    FuncList methods;      /* their first parameter is of type This; never checked, but copied */
    uint32_t method_count; /* with those beyond the limit */
    uint32_t walk;         /* used by the checker: the last walk that has met it */
} InterfaceDecl;

/* [Name], [Name(function)] or [Name(value)] before a function or a loop. */
typedef enum AttributeKind {
#define SSL_ATTRIBUTE(name, text, argument, place) MARK_##name,
#include "ssl/front/attribute.inc"
#undef SSL_ATTRIBUTE
    MARK_COUNT
} AttributeKind;

typedef struct Attribute {
    AttributeKind kind;
    Span span;         /* with the brackets */
    const char *owner; /* the S of S.f; NULL: the function is no method */
    const char *function;
    Span function_span;
    Expr *value;
} Attribute;

typedef struct AttributeList {
    Attribute *items;
    uint32_t count;
} AttributeList;

struct FuncDecl {
    Span span; /* the span of the name */
    const char *name;
    StructDecl *owner; /* it is a method, and its first parameter is `this`; NULL: a function */
    bool is_shader;
    bool is_of_bsdf;       /* a shader that the parser made of a bsdf */
    bool is_componentwise; /* standard library only: declared for float, applied to vectors too */
    bool is_library;
    bool is_sized; /* standard library only: has parameters T[], arrays of any one size */
    bool
        is_bad; /* something in it was reported by the parser, or in the signature if it is generic */
    bool is_no_diff; /* its result has no derivative */
    TypeName return_name;
    VarList params;
    Stmt *body; /* NULL: a forward declaration, or a derivative that the compiler makes */
    MetadataList metadata;
    AttributeList attributes;
    TypeParamList
        type_params; /* if any, it is generic: never checked, but copied for each instance */
    /* checked */
    FuncDecl *generic; /* it is an instance of that, or the method of an instance of its struct */
    bool is_pending;   /* a method of an instance that nothing has called yet: not checked */
    /* A generic function has its instances, the first for unknown types; that one has those that it needs for these types. */
    FuncList instances;
    const Binding *bindings; /* what its type names stand for */
    bool is_abstract;        /* its bindings are unknown types: it is checked, and never lowered */
    const FuncDecl *needed_by; /* an instance: the function whose call made it */
    Span needed_at;            /* that call */
    uint32_t instance_depth;   /* 1 plus that of the instance that asked for it; 0: not generic */
    const Type *return_type;
    bool is_differentiable; /* marked so, or with a derivative of its own */
    bool is_constant;       /* [TreatAsDifferentiable]: its derivative is zero */
    bool is_kept;     /* [PreferCheckpoint]: bwd_diff keeps what it returns from turn to turn */
    bool is_filtered; /* [Filtered]: its choices are means over the footprint */
    bool is_fused;    /* [Fused] of a shader: fused multiply-adds in all that it computes */
    /* The function's own derivatives and its substitute; NULL: there are none. */
    FuncDecl *forward, *backward, *substitute;
    FuncDecl *derivative_of; /* the compiler makes this function of that one */
    bool is_backward;        /* bwd_diff of it, not fwd_diff */
    uint32_t id;             /* dense; the library's functions come first */
    uint32_t local_count; /* the number of parameters and locals; larger than every VarDecl.index */
    FuncDecl *next_overload;
    ARRAY(struct FuncCall {
        FuncDecl *callee;
        Span span;
    })
    calls; /* each callee once, with the first call */
    uint32_t call_depth;
};

/* --- statements --- */
typedef enum StmtKind {
    STMT_ERROR,
    STMT_EMPTY,
    STMT_BLOCK,   /* { list } */
    STMT_DECLARE, /* vars */
    STMT_EXPR,    /* expr; */
    STMT_IF,      /* if (expr) body else other */
    STMT_WHILE,   /* while (expr) body */
    STMT_DO,      /* do body while (expr); */
    STMT_FOR,     /* for (init; expr; step) body */
    STMT_BREAK,
    STMT_CONTINUE,
    STMT_RETURN /* expr may be NULL */
} StmtKind;

/* The ways in which control may leave a statement. BREAK and CONTINUE concern a loop around it. */
enum { EXIT_NEXT = 1, EXIT_BREAK = 2, EXIT_CONTINUE = 4, EXIT_RETURN = 8 };

struct Stmt {
    StmtKind kind;
    uint8_t exits; /* checked: EXIT_* */
    bool is_lobe;  /* BLOCK: the statements of a lobe, which change nothing outside */
    Span span;
    Expr *expr, *step;
    Stmt *init, *body, *other;
    const Attribute *max_iters; /* of a loop; NULL: none */
    uint32_t max_trips;         /* checked: its value; 0: none */
    StmtList list;
    VarList vars;
};

typedef struct Ast {
    ARRAY(StructDecl *) structs;
    ARRAY(InterfaceDecl *) interfaces;
    uint32_t interface_count; /* with those beyond the limit */
    ARRAY(FuncDecl *) funcs;  /* functions and shaders, in order */
    ARRAY(BsdfDecl *) bsdfs;
    ARRAY(VarDecl *) textures;
    ARRAY(VarDecl *) attributes;
    ARRAY(VarDecl *) constants;
} Ast;

static inline Span span_join(Span first, Span last)
{
    return (Span){first.file, first.begin, last.end > first.end ? last.end : first.end};
}

#endif
