/* The interface of the front end: it turns source text into IR by lexing, parsing, checking and lowering. */
#ifndef SSL_LOWER_LOWER_H
#define SSL_LOWER_LOWER_H

#include "ssl/ir/ir.h"
#include "ssl/stdlib/stdlib.h"

typedef struct LowerTables {
    const SslGlobalRow *globals;
    const SslClosureRow *closures;
    const SslAttributeRow *attributes;
    const SslQuestionRow *questions;
    uint32_t global_count, closure_count, attribute_count, question_count;
} LowerTables;

/* Compiles one shader of `src` to a verified module in `arena`, whose out-of-memory jump must be set. Derivatives that the
 * source takes are only listed in it, and ir_derive builds them, before anything else reads the module. The module has
 * only the functions that the shader reaches, callees after their callers. The syntax tree stays in the arena
 * too; ir_module_clone makes a copy without it. STATUS_SOURCE: `diags` has at least one error more. */
Status lower_shader(const StdLib *lib, const LowerTables *tables, const SslSource *src,
                    Arena *arena, DiagList *diags, IrModule **out_module) SORT_MUST_CHECK;
/* Lists the scattering functions of a source, at most `room`. In this function and the next two only the grammar is checked. */
Status lower_list_bsdfs(const SslSource *src, Arena *arena, DiagList *diags, SslBsdfInfo *out,
                        uint32_t room, uint32_t *out_count) SORT_MUST_CHECK;
/* Describes a scattering function as a closure, with texts in `keep`; STATUS_NOT_FOUND: the source has none of that name. */
Status lower_bsdf_closure(const SslSource *src, const char *name, Arena *arena, DiagList *diags,
                          Arena *keep, SslClosureRow *out) SORT_MUST_CHECK;
/* Appends the names of the shaders in order, each followed by '\n'. */
Status lower_list_shaders(const SslSource *src, Arena *arena, DiagList *diags,
                          StrBuf *out) SORT_MUST_CHECK;
/* These append the tokens or the checked syntax tree as text, for `sslc dump`. */
Status lower_dump_tokens(const SslSource *src, Arena *arena, DiagList *diags,
                         StrBuf *out) SORT_MUST_CHECK;
Status lower_dump_ast(const StdLib *lib, const LowerTables *tables, const SslSource *src,
                      Arena *arena, DiagList *diags, StrBuf *out) SORT_MUST_CHECK;

#endif
