/* The state that the files of the check share: the program's inputs, the interpreter's results, the comparison. */
#ifndef TESTS_SSL_RANDOM_RANDOM_CASE_H
#define TESTS_SSL_RANDOM_RANDOM_CASE_H

#include "tests/ssl/random/random_check.h"
#include "tests/ssl/random/random_source.h"
#include "tests/ssl/random/source_eval.h"
#include "tools/ssl_kit/grid_host.h"

enum { POINTS = 2 * SSL_BLOCK + 3, POINTS_DIFFERENCED = 3 };

typedef struct Input {
    SslValue value[3]; /* value, d/dx, d/dy of a global; a parameter has the first alone */
} Input;

typedef struct Check {
    const RandomHost *host;
    SslContext *ctx; /* the host's, or one that has the source's own closures too */
    SslClosureRow closures[SSL_MAX_CLOSURES]; /* random_tables', then those of the source */
    uint32_t closure_count;
    const Module *module; /* the checked source, for the interpreter */
    Arena *arena;
    uint64_t seed;
    RandomTally *tally;
    StrBuf *report;
    const FuncDecl *shader; /* for the interpreter */
    Input global[SSL_MAX_GLOBALS][POINTS];
    SslValue *param; /* by shader parameter, results not counted */
    uint32_t param_count;
    SourceConstants constants;
    SourcePoint result[POINTS]; /* what the interpreter found */
    bool is_bad;
} Check;

/* It compiled at one level. */
typedef struct Shot {
    Check *check;
    const char *level;
    const SslProgramInfo *info;
    GridHost *grid;
} Shot;

enum { RANDOM_STEPS_MAX = 200000 }; /* loop turns and calls of the interpreter at a point */

/* random_inputs.c */
float random_input(uint64_t *state);
void random_choose_inputs(Check *c);
/* The point, moved by so many pixels in a direction, through the interpreter. */
void random_interpret(Check *c, uint32_t point, uint32_t direction, double shift, SourcePoint *p);
void random_set_inputs(Check *c, SslProgram *program, GridHost *grid);

/* random_compare.c */
bool random_says_enough(Bounded b); /* is it narrow enough to be compared? */
void random_complain(Check *c, const char *level, uint32_t point, const char *what, double found,
                     Bounded expected);
/* Compares a number; true if its bound says enough. */
bool random_compare_number(Check *c, const char *level, uint32_t point, const char *what,
                           double found, Bounded expected);
void random_compare_point(Shot *shot, uint32_t point);
void random_compare_levels(Check *c, const Shot *a, const Shot *b, bool is_strict);
/* Compares the interpreter's derivatives in a direction with central differences of its values. */
void random_compare_differences(Check *c, uint32_t point, uint32_t direction);

/* random_numbers.c */
typedef struct RandomNumbers {
    ARRAY(float) numbers; /* of all outputs but closures, point by point */
    bool faults[POINTS];
} RandomNumbers;
/* Runs a unit. is_flat: globals do not change from pixel to pixel. */
RandomVerdict random_run_numbers(Check *c, const SslUnit *unit, uint32_t lanes, bool is_flat,
                                 RandomNumbers *out);
typedef enum RandomSameness {
    RANDOM_NEAR,  /* ordinary numbers may differ by rounding */
    RANDOM_EQUAL, /* zeros may differ by their sign */
    RANDOM_BITS
} RandomSameness;
/* Compares where neither has a fault; what: what `b` is. */
bool random_same_numbers(Check *c, const char *what, const RandomNumbers *a, const RandomNumbers *b,
                         RandomSameness how);

/* random_filter.c: the shader with [Filtered] before all functions. */
RandomVerdict random_check_filter(Check *c, const SslUnit *unit, const SslSource *source);

/* random_edges.c: gradients over edges of the shader's float outputs by its float parameters. */
RandomVerdict random_check_edges(Check *c, const SslUnit *unit);

/* random_bsdf.c: holds each bsdf of the source against the plain shader that says the same, and that against the interpreter.
 * Appends to the report what does not compile. */
RandomVerdict random_check_bsdfs(Check *c, const SslSource *source, DiagList *diags);

#endif
