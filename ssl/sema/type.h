/* Types of the checked tree. Compare with type_same: arrays are not interned, and color, point, vector
 * and normal are float3 with a tag that only tools look at. */
#ifndef SSL_SEMA_TYPE_H
#define SSL_SEMA_TYPE_H

#include "ssl/front/ast.h"

typedef enum TypeKind {
    TYPE_ERROR, /* of an expression that was reported; goes with everything */
    TYPE_BASIC,
    TYPE_STRUCT,
    TYPE_ARRAY
} TypeKind;

struct Type {
    TypeKind kind;
    SslType basic;          /* BASIC */
    const StructDecl *decl; /* STRUCT */
    const Type *element;    /* ARRAY */
    uint32_t count;         /* ARRAY; 0: of any size, as parameters of the library may be */
    uint32_t scalars;       /* numbers (and closures) in a value */
    uint32_t nesting;       /* STRUCT: structs inside it, itself included */
    uint32_t leaves;        /* IR values that hold one: an array has as many as its element */
    uint32_t closures;      /* among the scalars */
};

extern const Type type_error;
const Type *type_basic(SslType basic);
/* scalars must fit SSL_MAX_VALUE_SCALARS. */
const Type *type_array(Arena *arena, const Type *element, uint32_t count);

bool type_same(const Type *a, const Type *b); /* the error type is the same as any */
bool type_is(const Type *t, SslType basic);   /* exactly; false for the error type */
bool type_is_error(const Type *t);
bool type_is_unsized(const Type *t); /* T[] */
/* Floats side by side: 1 for float, 2 .. 4 for vectors, tagged or not; 0: none of these. */
uint32_t type_lanes(const Type *t);
const Type *type_of_lanes(uint32_t lanes); /* float, float2, float3, float4 */
bool type_is_number(const Type *t);        /* int or float */
/* As in source: "float3", "Ray", "float[4]". */
const char *type_text(const Type *t, Arena *arena);

#endif
