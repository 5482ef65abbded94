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
    Arena *arena;
    uint64_t seed;
    RandomTally *tally;
    StrBuf *report;
    const FuncDecl *shader; /* for the interpreter */
    Input global[SSL_MAX_GLOBALS][POINTS];
    SslValue *param; /* by shader parameter, results not counted */
    uint32_t param_count;
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

/* random_inputs.c */
void random_choose_inputs(Check *c);
/* The point, moved by so many pixels in a direction, through the interpreter. */
void random_interpret(Check *c, uint32_t point, uint32_t direction, double shift, SourcePoint *p);
void random_set_inputs(Check *c, SslProgram *program, GridHost *grid);

/* random_compare.c */
bool random_says_enough(Bounded b); /* is it narrow enough to be compared? */
void random_complain(Check *c, const char *level, uint32_t point, const char *what, double found,
                     Bounded expected);
void random_compare_point(Shot *shot, uint32_t point);
void random_compare_levels(Check *c, const Shot *a, const Shot *b, bool is_strict);
/* Compares the interpreter's derivatives in a direction with central differences of its values. */
void random_compare_differences(Check *c, uint32_t point, uint32_t direction);

#endif
