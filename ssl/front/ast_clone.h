/* Copies of what was parsed and not checked: an instance of a generic function or struct, a method that an interface asks
 * for. The copy shares nothing that the checker writes to. */
#ifndef SSL_FRONT_AST_CLONE_H
#define SSL_FRONT_AST_CLONE_H

#include "ssl/front/ast.h"

/* Copies the signature, and the body if with_body. The copy has no type parameters. Memory is in `arena`. */
FuncDecl *ast_clone_func(const FuncDecl *f, bool with_body, Arena *arena);
VarList ast_clone_members(const StructDecl *decl, Arena *arena);
TypeArgs ast_clone_type_args(const TypeArgs *args, Arena *arena);

#endif
