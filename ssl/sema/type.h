/* Types of the checked tree. They must be compared by type_same, because arrays are not interned, and color, point,
 * vector and normal are float3 with a tag that only tools read. */
#ifndef SSL_SEMA_TYPE_H
#define SSL_SEMA_TYPE_H

#include "ssl/front/ast.h"

typedef enum TypeKind {
    TYPE_ERROR, /* the type of an expression that was reported; it is compatible with every type */
    TYPE_BASIC,
    TYPE_STRUCT,
    TYPE_ARRAY
} TypeKind;

struct Type {
    TypeKind kind;
    SslType basic;          /* BASIC */
    const StructDecl *decl; /* STRUCT */
    const Type *element;    /* ARRAY */
    uint32_t count;         /* ARRAY; 0: any size, which parameters of the library may have */
    uint32_t scalars;       /* scalars in a value; a closure counts as one */
    uint32_t nesting;       /* STRUCT: the depth of structs inside it, itself included */
    uint32_t leaves;        /* IR values that hold a value; an array has as many as its element */
    uint32_t closures;      /* the number of closures among the scalars */
};

extern const Type type_error;
const Type *type_basic(SslType basic);
/* Makes an array type, whose number of scalars must not exceed SSL_MAX_VALUE_SCALARS. */
const Type *type_array(Arena *arena, const Type *element, uint32_t count);

bool type_same(const Type *a, const Type *b); /* the error type is the same as any */
bool type_is(const Type *t, SslType basic);   /* an exact comparison; false for the error type */
bool type_is_error(const Type *t);
bool type_is_unsized(const Type *t); /* T[] */
/* Returns the number of components: 1 for float, 2 to 4 for vectors, tagged or not, and 0 for all other types. */
uint32_t type_lanes(const Type *t);
const Type *type_of_lanes(uint32_t lanes); /* float, float2, float3, float4 */
bool type_is_number(const Type *t);        /* int or float */
/* Returns the type as source spells it: "float3", "Ray", "float[4]". */
const char *type_text(const Type *t, Arena *arena);

#endif
