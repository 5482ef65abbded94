/* The parser, which turns tokens into a syntax tree. It works by recursive descent with one token of lookahead, and with
 * two for casts and metadata.
 *
 * After an error the parser is "panicking": it reports nothing more until it has found a place to resume, after a ';' or
 * at a '}'. Functions that parse a node always return one; EXPR_ERROR and STMT_ERROR stand for unreadable parts. */
#ifndef SSL_FRONT_PARSE_H
#define SSL_FRONT_PARSE_H

#include "ssl/front/ast.h"
#include "ssl/front/lex.h"

typedef struct ParseInput {
    Str text;          /* the source of the tokens */
    TokenList *tokens; /* the parser may split a `>>` in place */
    uint32_t file;
    bool is_library; /* allows `componentwise` */
} ParseInput;

/* Parses a whole file and appends its declarations to `ast`. Errors are reported to `diags`; the tree has everything
 * that could be read. */
void parse(const ParseInput *input, Names *names, Arena *arena, DiagList *diags, Ast *ast);

/* --- between the parser's files --- */

typedef struct Parser {
    Str text;
    Token *tokens;
    uint32_t at, file;
    /* First token of the current statement or declaration; between two, equals `at`. */
    uint32_t start;
    uint32_t recovered; /* token after a statement of another language that was skipped; 0: none */
    uint32_t nesting;
    bool is_panicking, is_library;
    bool is_foreign;      /* the last error was blamed on a word of another language */
    bool is_end_reported; /* an error at the end of the source was reported; there is only one */
    const char *componentwise; /* the interned word */
    Names *names;
    NameMap struct_names; /* structs that the file declares anywhere; values are not NULL */
    NameMap
        generic_names; /* of structs, functions and methods with type parameters, in the same way */
    NameMap misnamed;  /* reserved words that were used as names; each is reported once */
    Arena *arena;
    DiagList *diags;
    Ast *ast;
} Parser;

static inline const Token *parse_token(const Parser *p)
{
    return &p->tokens[p->at];
}
static inline bool parse_is(const Parser *p, TokenKind kind)
{
    return p->tokens[p->at].kind == kind;
}
/* Returns the kind of the token after the current one; TOKEN_END at the end. */
TokenKind parse_next_kind(const Parser *p);
const Token *parse_advance(Parser *p); /* the token that was current; stays at the end */
bool parse_accept(Parser *p, TokenKind kind);
/* Takes the token, or reports "expected ';' after ..." and panics. */
bool parse_expect(Parser *p, TokenKind kind, const char *where);
/* Expects ';'. After a missing ';' at the end of a line, parsing resumes on the next line without panicking. */
void parse_semicolon(Parser *p, const char *where);
/* Expects the closing bracket of `open`. */
bool parse_close(Parser *p, TokenKind kind, Span open);
/* A name, or NULL with a report; with may_be_keyword any word. A word of the language where a name is given is
 * reported and taken. */
const char *parse_name(Parser *p, const char *where, bool may_be_keyword, Span *out_span);
/* The text of the current token in quotes, for messages. */
const char *parse_describe(const Parser *p);
Span parse_last_span(const Parser *p);   /* of the token before the current one */
bool parse_at_new_line(const Parser *p); /* a line ends between that token and the current one */
/* False, with a report, when too deep. Each true needs a parse_leave. */
bool parse_enter(Parser *p);
void parse_leave(Parser *p);
void parse_recover(Parser *p); /* to after a ';' or to a '}' */

/* parse_habits.c: if a word of another language in the statement so far is to blame, reports it and returns true. */
bool parse_blame_foreign(Parser *p);
/* After a report at the current token, notes what to write in place of `wanted`; TOKEN_END stands for a value. */
void parse_note_habit(Parser *p, TokenKind wanted);

/* True if it was reported as it stands, so that notes may follow. */
#define parse_reports(p, name, span, ...)                                                          \
    (parse_begin_report(p) ? (report((p)->diags, name, (span), __VA_ARGS__), true) : false)
#define parse_report(p, name, span, ...) ((void)parse_reports(p, name, span, __VA_ARGS__))
static inline bool parse_may_report(const Parser *p)
{
    return !p->is_panicking && !parse_is(p, TOKEN_BAD) &&
           !(parse_is(p, TOKEN_END) && p->is_end_reported);
}
static inline bool parse_begin_report(Parser *p)
{
    bool is_reported = parse_may_report(p) && !parse_blame_foreign(p);
    p->is_end_reported = p->is_end_reported || parse_is(p, TOKEN_END);
    p->is_panicking = true;
    return is_reported;
}

Expr *parse_expression(Parser *p);                    /* with commas */
Expr *parse_assignment(Parser *p);                    /* without */
Expr *parse_initialiser(Parser *p);                   /* an assignment expression or {...} */
ExprList parse_arguments(Parser *p, Span *out_close); /* after '(', with the ')' */

Stmt *parse_block(Parser *p); /* at '{' */
Stmt *parse_statement(Parser *p);
VarList parse_params(Parser *p); /* ( ... ) */
/* parse_diff.c: what derivatives add to the grammar. None of its words is reserved. */
/* [Name(argument)] ... before a function or a loop; none is fine. Those of the other place are reported. */
AttributeList parse_attributes(Parser *p, bool is_loop);
bool parse_at_diff_type(const Parser *p); /* diff_pair<T>, differential<T> */
void parse_diff_type(Parser *p, TypeName *name);
bool parse_at_no_diff(const Parser *p); /* the word, before a declaration or an expression */
/* After fwd_diff(f), at the next '(': what is derived; NULL after a report. */
const DiffTarget *parse_diff_target(Parser *p, const Expr *head);
bool parse_is_diff_word(const char *name, bool *out_is_backward); /* fwd_diff, bwd_diff */

/* parse_types.c: types in < >, of which there are parameters, <T : IShape>, and arguments, <float, Pair<int>>. */
/* Takes the '>' that closes a '<', which may be the first half of `>>` or `>=`. */
bool parse_close_angle(Parser *p, const char *where);
/* Notes which names of the file are of structs, and which have type parameters. */
void parse_scan_names(Parser *p, uint32_t token_count);
/* Whether the name at the next token, or the last one, and what follows read as Pair<types> before a name, or as f<types> before a
 * call, and not as comparisons. */
bool parse_at_declared_types(const Parser *p);
bool parse_at_call_types(const Parser *p);
TypeArgs parse_type_args(Parser *p);        /* at '<' */
TypeParamList parse_type_params(Parser *p); /* at '<' */
/* Type parameters are names of types, as those of structs are, from their list to the end of the body. `outer` are those of
 * the struct around; they stay so. */
void parse_name_types(Parser *p, const TypeParamList *params, bool are_types,
                      const TypeParamList *outer);
InterfaceNames parse_accept_interfaces(Parser *p,
                                       TokenKind separator); /* ": Name, Name", possibly none */
/* Whether interface number `index`, from 0, is among those that there may be. Reports the first that is not. */
bool parse_may_have_interface(Parser *p, uint32_t index, Span span);

bool parse_at_bsdf(const Parser *p);
void parse_bsdf(Parser *p);

bool parse_at_type(const Parser *p); /* a declaration's type begins here */
TypeName parse_type_name(Parser *p);
ExprList parse_sizes(Parser *p); /* [a][b], possibly none */
/* `name[size] = init, name ...`, after the type and the first name. */
VarList parse_declarators(Parser *p, VarKind kind, bool is_const, TypeName *type_name);
MetadataList parse_metadata(Parser *p); /* [[ ... ]], possibly none */
bool parse_at_metadata(const Parser *p);
void parse_file(Parser *p); /* declarations up to the end */

#endif
