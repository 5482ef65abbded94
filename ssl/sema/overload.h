/* Overload resolution among the functions of one name: the file's, the library's and the builtin ones.
 *
 * A candidate is viable if it takes that many arguments and each converts implicitly. The best needs the
 * fewest conversions; on a tie the file's own function wins over the library's, else the call is
 * ambiguous. A component-wise function, declared for float, also takes vectors: all of one length, with
 * scalars standing for every component. */
#ifndef SSL_SEMA_OVERLOAD_H
#define SSL_SEMA_OVERLOAD_H

#include "ssl/sema/checker.h"

enum { ANY_SIZE = UINT32_MAX };

typedef struct Candidate {
    FuncDecl *func; /* NULL: the candidate is `builtin` */
    const Builtin *builtin;
    /* The rest is set for viable candidates. */
    /* Number of components that the function is applied to; 1 for an ordinary call. */
    uint32_t width;
    uint32_t cost;       /* number of conversions */
    uint32_t array_size; /* size of the arguments for parameters T[]; ANY_SIZE: there are none */
} Candidate;

typedef struct CandidateList {
    Candidate *data;
    uint32_t count, capacity;
} CandidateList;

CandidateList overload_candidates(Sema *s, const char *name);
/* check_method.c */
/* `span` is the call that may need a method of an instance of a struct. */
CandidateList method_candidates(Sema *s, const StructDecl *decl, const char *name, Span span);
/* Returns whether a call is one of a method: a.f(...), or f(...) in another method. */
bool method_is_call(Sema *s, Expr *e);
/* Finds the methods that such a call may mean, and makes its value the first argument. Returns false after a report. */
bool method_resolve(Sema *s, Expr *e, CandidateList *out);
/* instance.c */
/* What a call says about the types of a generic function. */
typedef struct CallTypes {
    const ExprList *args;  /* checked */
    const TypeArgs *named; /* f<float>; NULL: none */
    uint32_t order;        /* the arguments are those of so many derivatives of the function */
    const char *name;
    Span span;
} CallTypes;

/* Puts instances in the place of generic functions. If the call names types, the candidates that have no such types are taken
 * away. Returns false after a report. */
bool instances_for_call(Sema *s, CandidateList *list, const CallTypes *call);
/* Returns whether the candidate is viable, and fills in width, cost and array_size. */
bool overload_match(Candidate *c, const ExprList *args);
/* Returns the best viable candidate, or NULL if there is none or if the call is ambiguous. */
Candidate *overload_choose(CandidateList *list, const ExprList *args, bool *out_is_ambiguous);

uint32_t candidate_param_count(const Candidate *c);
uint32_t
candidate_required_count(const Candidate *c); /* the number of parameters without default */
const Type *candidate_param_type(const Candidate *c, uint32_t index);
bool candidate_is_componentwise(const Candidate *c);
const char *candidate_text(const Candidate *c, Arena *arena);

#endif
