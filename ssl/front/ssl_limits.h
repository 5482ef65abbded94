/* Every limit of the language, by name. Past one of them the source is refused with a message that
 * states the limit; no input makes the compiler overflow its stack or work without end. */
#ifndef SSL_FRONT_SSL_LIMITS_H
#define SSL_FRONT_SSL_LIMITS_H

enum {
    SSL_MAX_SOURCE_BYTES = 4 << 20,     /* of one source file */
    SSL_MAX_NAME_BYTES = 255,           /* of an identifier */
    SSL_MAX_NUMBER_BYTES = 127,         /* of a numeric literal */
    SSL_MAX_NESTING = 200,              /* brackets, statements, prefixes inside one another */
    SSL_MAX_EXPR_DEPTH = 1000,          /* of an expression's tree: a + b + c is 3 deep */
    SSL_MAX_CALL_DEPTH = 200,           /* functions that call one another in a chain */
    SSL_MAX_PARAMS = 255,               /* of a function or shader; arguments of a call */
    SSL_MAX_VALUE_SCALARS = 4096,       /* of one variable: an array, a struct */
    SSL_MAX_FUNCTION_SCALARS = 1 << 15, /* of all variables of one function */
    SSL_MAX_TEXTURES = 64,              /* file-scope texture2d handles */
    SSL_MAX_ATTRIBUTES = 32,            /* file-scope attributes; and rows of the host's */
    SSL_MAX_STRUCT_NESTING = 16,        /* structs inside one another */
    SSL_MAX_REGIONS = 480,      /* branches and loops inside one another once exits are branches */
    SSL_MAX_ARRAY_NESTING = 8,  /* dimensions of an array */
    SSL_MAX_CLOSURE_ARRAY = 64, /* closures in an array, with those of nested arrays and structs */
    SSL_MAX_GROUP_NESTING = 32, /* groups inside one another */
    SSL_MAX_GROUP_NODES = 4096, /* of one group, those of groups inside it not counted */
    SSL_MAX_GROUP_WIRES = 1 << 16,  /* of one group */
    SSL_MAX_GROUP_PORTS = 4096,     /* parameters of a group, and outputs */
    SSL_MAX_GROUP_PARAMS = 1 << 15, /* that a linked unit has, with those of its nodes */
    SSL_MAX_GROUP_TEXTURES = 4096   /* that a linked unit has */
};

#endif
