/* The checker turns a parsed file into a typed tree, or reports diagnostics. It finds all errors of SSL source, so that
 * lowering only asserts.
 *
 *   lex, parse -> file scope: structs, constants, textures, functions' signatures -> bodies -> call graph
 *
 * Names of functions, structs and constants are looked up in the file first, then in the standard library. The order
 * of declarations matters only for structs and constants. */
#ifndef SSL_SEMA_SEMA_H
#define SSL_SEMA_SEMA_H

#include "ssl/sema/builtin.h"
#include "ssl/sema/const_eval.h"
#include "ssl/sema/type.h"

/* The host's tables, whose rows are described in ssl.h. */
typedef struct SemaTables {
    const SslGlobalRow *globals;
    const SslClosureRow *closures;
    const SslAttributeRow *attributes;
    const SslQuestionRow *questions;
    uint32_t global_count, closure_count, attribute_count, question_count;
} SemaTables;

typedef struct SemaSource {
    Str text;
    uint32_t file; /* for spans */
} SemaSource;

/* A set of sources that see one another: a user's file, or the standard library. Read-only once checked. */
typedef struct Module {
    const struct Module *library; /* NULL: this is the library */
    Ast *ast;
    Names names;
    NameMap functions;  /* from names to the first overload, a FuncDecl */
    NameMap structs;    /* from names to StructDecl */
    NameMap interfaces; /* from names to InterfaceDecl */
    NameMap variables;  /* from names to VarDecl: file-scope constants and textures */
    /* Library only: Builtin, the first row of that name; rows of a name are adjacent or found by walking
     * on. */
    NameMap builtin_rows;
    /* Larger than every FuncDecl.id; the library's functions have the lowest ids. */
    uint32_t func_count;
} Module;

/* Parses and checks sources. The module is in `arena`, whose out-of-memory jump must be set. It may be used only if
 * `diags` got no error. */
Module *sema_check(const Module *library, const SemaTables *tables, const SemaSource *sources,
                   uint32_t source_count, Arena *arena, DiagList *diags);
/* Only lexes and parses the sources, after which the names of shaders are valid, but nothing else. */
Module *sema_parse(const Module *library, const SemaSource *sources, uint32_t source_count,
                   Arena *arena, DiagList *diags);
/* Returns the shader called `name`, or the only one if `name` is NULL. If there is none, it reports that at the start of
 * `file` and returns NULL. */
const FuncDecl *sema_find_shader(const Module *m, const char *name, uint32_t file, Arena *arena,
                                 DiagList *diags);

/* Returns the name of a function, with its struct if it is a method: "Sphere.distance". */
const char *sema_func_name(const FuncDecl *f, Arena *arena);
/* instance.c: "f<Sphere>". */
const char *instance_name(const FuncDecl *f, Arena *arena);
/* Returns the signature as source would have it: "float mix(float a, float b, float t)". */
const char *sema_func_text(const FuncDecl *f, Arena *arena);

/* Appends the tree as indented text, a line per node, with types. */
void ast_print(const Ast *ast, StrBuf *out);

#endif
