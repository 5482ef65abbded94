/* Source text to IR: lex, parse, check, lower. The only door to the front end. */
#ifndef SSL_LOWER_LOWER_H
#define SSL_LOWER_LOWER_H

#include "ssl/ir/ir.h"
#include "ssl/stdlib/stdlib.h"

typedef struct LowerTables {
    const SslGlobalRow *globals;
    const SslClosureRow *closures;
    const SslAttributeRow *attributes;
    uint32_t global_count, closure_count, attribute_count;
} LowerTables;

/* One shader of `src` as a verified module in `arena` (which has its out-of-memory jump set). Only the
 * functions that the shader reaches are in it, callees after their callers. The syntax tree is left in the
 * arena too; ir_module_clone sheds it. STATUS_SOURCE: diags holds at least one error more. */
Status lower_shader(const StdLib *lib, const LowerTables *tables, const SslSource *src,
                    Arena *arena, DiagList *diags, IrModule **out_module) SORT_MUST_CHECK;
/* Names of the shaders in order, each followed by '\n'. Only the grammar is checked. */
Status lower_list_shaders(const SslSource *src, Arena *arena, DiagList *diags,
                          StrBuf *out) SORT_MUST_CHECK;
/* Text of the tokens or of the checked AST, for `sslc dump`. */
Status lower_dump_tokens(const SslSource *src, Arena *arena, DiagList *diags,
                         StrBuf *out) SORT_MUST_CHECK;
Status lower_dump_ast(const StdLib *lib, const LowerTables *tables, const SslSource *src,
                      Arena *arena, DiagList *diags, StrBuf *out) SORT_MUST_CHECK;

#endif
