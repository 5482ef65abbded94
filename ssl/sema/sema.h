/* The checker: from a parsed file to a typed tree, or to diagnostics. All errors in SSL source are found
 * here; lowering only asserts.
 *
 *   lex, parse -> file scope: structs, constants, textures, functions' signatures -> bodies -> call graph
 *
 * Names of functions, structs and constants mean the file's own first, then the standard library's; the
 * order of declarations does not matter but for structs and constants. */
#ifndef SSL_SEMA_SEMA_H
#define SSL_SEMA_SEMA_H

#include "ssl/sema/builtin.h"
#include "ssl/sema/const_eval.h"
#include "ssl/sema/type.h"

/* What the host provides; rows as in ssl.h. */
typedef struct SemaTables {
    const SslGlobalRow *globals;
    const SslClosureRow *closures;
    const SslAttributeRow *attributes;
    uint32_t global_count, closure_count, attribute_count;
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
    NameMap functions; /* FuncDecl: the first overload */
    NameMap structs;   /* StructDecl */
    NameMap variables; /* VarDecl: file-scope constants and textures */
    /* Library only: Builtin, the first row of that name; rows of a name are adjacent or found by walking
     * on. */
    NameMap builtin_rows;
    uint32_t func_count; /* FuncDecl.id is below; the library's come first */
} Module;

/* Memory: arena, whose out-of-memory jump is set. The result is usable only if diags got no error. */
Module *sema_check(const Module *library, const SemaTables *tables, const SemaSource *sources,
                   uint32_t source_count, Arena *arena, DiagList *diags);
/* Lexed and parsed only: names of shaders and nothing else can be relied on. */
Module *sema_parse(const Module *library, const SemaSource *sources, uint32_t source_count,
                   Arena *arena, DiagList *diags);
/* The shader that `name` means (NULL: the only one), or NULL with a report at the start of `file`. */
const FuncDecl *sema_find_shader(const Module *m, const char *name, uint32_t file, Arena *arena,
                                 DiagList *diags);

/* "float mix(float a, float b, float t)" */
const char *sema_func_text(const FuncDecl *f, Arena *arena);

/* Indented text, one node a line, with types. */
void ast_print(const Ast *ast, StrBuf *out);

#endif
