/* The state that the files of the generator share: the text so far, and the names that are visible at its end. */
#ifndef TESTS_SSL_RANDOM_SOURCE_WRITER_H
#define TESTS_SSL_RANDOM_SOURCE_WRITER_H

#include "tests/ssl/random/random_source.h"

typedef enum GenBase {
    GEN_VOID,
    GEN_BOOL,
    GEN_INT,
    GEN_FLOAT, /* .. GEN_FLOAT4: so many floats */
    GEN_FLOAT2,
    GEN_FLOAT3,
    GEN_FLOAT4,
    GEN_MATRIX,
    GEN_CLOSURE,
    GEN_STRUCT /* + index of the struct */
} GenBase;

typedef struct GenType {
    uint8_t base, dims, dim[2];
} GenType;

typedef struct GenVar {
    const char *name;
    GenType type;
    bool is_writable;
    bool is_of_file; /* a constant that every function sees */
} GenVar;

typedef struct GenStruct {
    GenType member[4]; /* names a, b, c, d */
    bool is_no_diff[4];
    uint32_t count;
} GenStruct;

enum { GEN_PARAMS_MAX = 5 };
typedef enum GenDirection { GEN_IN, GEN_OUT, GEN_INOUT } GenDirection;

typedef struct GenFunc {
    uint32_t name; /* f<name>: overloads share it */
    GenType result;
    GenType param[GEN_PARAMS_MAX];
    GenDirection direction[GEN_PARAMS_MAX];
    bool is_no_diff[GEN_PARAMS_MAX];
    uint32_t param_count;
    bool has_default;       /* of the last parameter */
    bool is_recursive;      /* the last parameter, an int, says how deep */
    bool is_pure;           /* it reads nothing of the host, so that a bsdf may call it */
    bool takes_derivatives; /* it, or one that it calls */
    uint32_t cost;          /* about how many statements run in a call */
    bool is_method;         /* M<number>.m calls it, and the generic g<number> calls that */
    uint32_t number;        /* in Gen.funcs */
} GenFunc;

/* B<index>, as shaders call it. */
enum { GEN_BSDF_ARGS_MAX = 6 };
typedef struct GenBsdf {
    GenBase arg[GEN_BSDF_ARGS_MAX];
    uint32_t arg_count;
} GenBsdf;

typedef struct Gen {
    Choices *choices;
    const RandomSize *size;
    Arena *arena;
    StrBuf *out;
    ARRAY(GenVar) vars;
    ARRAY(GenStruct) structs;
    ARRAY(GenFunc) funcs;
    ARRAY(GenVar) tables; /* constants of the file: arrays of numbers */
    ARRAY(GenBsdf) bsdfs;
    uint32_t indent, next_name;
    uint32_t turns;      /* how often what is written now runs in a call of the function, about */
    uint32_t cost;       /* of the function so far */
    uint32_t loop_depth; /* loops that break and continue could be of */
    uint32_t nodes_left; /* of the statement */
    GenType result;      /* of the function; a shader's is void */
    bool is_pure;  /* what is written now is for a bsdf: there are no globals, textures, closures */
    bool is_state; /* it is the state of a bsdf, which cannot return */
    bool is_differentiable; /* all functions are, and are pure; no bsdf is near */
    bool keeps;             /* some functions ask that what they return is kept */
    bool detaches;          /* and may say that a value has no derivative */
    bool takes_derivatives; /* of the function: as in GenFunc */
} Gen;

static inline uint32_t writer_pick(Gen *g, uint32_t count)
{
    return choose(g->choices, count);
}

/* One time in `of`. */
static inline bool writer_one_in(Gen *g, uint32_t of)
{
    return choose(g->choices, of) == of - 1;
}

/* Statements have so many nodes of expressions, at most. */
enum { WRITER_NODES = 14 };

#define WRITER_ONE_OF(g, texts) ((texts)[writer_pick((g), (uint32_t)SORT_COUNT_OF(texts))])

static inline GenType writer_basic(GenBase base)
{
    return (GenType){.base = (uint8_t)base};
}

bool writer_same(GenType a, GenType b);
bool writer_is_vector(GenType t); /* float2 .. float4 */
GenType writer_type(Gen *g, bool allow_aggregate);
/* "float3 ", with the sizes apart: "[2][3]". */
void writer_type_name(Gen *g, GenType t);
void writer_type_sizes(Gen *g, GenType t);
/* Ends a line and begins the next. */
void writer_line(Gen *g);

/* An expression of exactly this type; depth 0: a leaf. */
void writer_expr(Gen *g, GenType t, uint32_t depth);
/* A literal, a global or a part of a variable. */
void writer_leaf(Gen *g, GenType t);
/* A constant of the type, for defaults and lists. */
void writer_literal(Gen *g, GenType t);
/* A part of a variable that has the type: false, and nothing written, when none was found. */
bool writer_place(Gen *g, GenType t, bool is_written, uint32_t depth);
/* f(...) of a function that gives `result`; false: there is none that can be called here. */
bool writer_call(Gen *g, GenType result, uint32_t depth);

/* { statements } */
void writer_block(Gen *g, uint32_t statements, uint32_t depth);
void writer_statement(Gen *g, uint32_t depth);
/* Begins a function: only the constants of the file are visible. */
void writer_begin_function(Gen *g, GenType result);
const char *writer_new_name(Gen *g);
void writer_add_var(Gen *g, const char *name, GenType t, bool is_writable);

/* One function, which is appended to g->funcs. */
void writer_function(Gen *g);
void writer_struct(Gen *g);
/* writer_derivative.c: a derivative of a function, as an expression; false: none fits. */
bool writer_derivative(Gen *g, GenType t, uint32_t depth);
/* writer_derivative.c: a gradient, by statements. */
void writer_gradient(Gen *g, uint32_t depth);

/* A scattering function B<index>, and a shader B<index>_plain that computes all that its programs do (random_bsdf.c). */
void writer_bsdf(Gen *g);

#endif
