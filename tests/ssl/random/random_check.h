/* One program under test: compiled by SORT at O0 and O2, run on many points, and held against the
 * interpreter (values, derivatives, closures, texture lookups) and, through it, central differences. Scattering functions
 * are held against plain shaders that say the same. */
#ifndef TESTS_SSL_RANDOM_RANDOM_CHECK_H
#define TESTS_SSL_RANDOM_RANDOM_CHECK_H

#include "ssl/ssl.h"
#include "ssl/stdlib/stdlib.h"

/* Shared by threads; read-only. */
typedef struct RandomHost {
    SslContext *ctx;
    StdLib *lib; /* the interpreter's own */
} RandomHost;

Status random_host_create(RandomHost *out_host, Error *err) SORT_MUST_CHECK;
void random_host_destroy(RandomHost *host);

/* What was compared, in numbers. Skipped: an ill-conditioned number, or a point where a branch or a jump is
 * within the error bound. */
typedef struct RandomTally {
    uint64_t programs, refused, points, points_skipped;
    uint64_t values, values_skipped;
    uint64_t derivatives, derivatives_skipped, derivatives_nonzero;
    uint64_t differences, differences_skipped; /* of the interpreter with central differences */
    uint64_t closures, lookups;
    uint64_t bsdfs, bsdf_numbers; /* numbers of them with the bits that were expected */
    uint64_t bsdf_points, bsdf_points_skipped; /* of their plain shaders, as `points` */
    /* Derivatives in the language (random_derivative.c) are counted where fwd_diff is held against bwd_diff, in double and
     * in kernels, and against the interpreter of IR by dual numbers and by central differences. */
    uint64_t transposes, transposes_skipped;
    uint64_t kernel_transposes, kernel_transposes_skipped;
    uint64_t duals, duals_skipped;
    uint64_t slopes, slopes_skipped;
    uint64_t filtered;       /* programs with [Filtered] (random_filter.c) */
    uint64_t edge_gradients; /* comparisons of all gradients of a program (random_edges.c) */
} RandomTally;
void random_tally_add(RandomTally *sum, const RandomTally *t);

typedef enum RandomVerdict {
    RANDOM_GOOD,
    RANDOM_REFUSED, /* past a limit of the compiler */
    RANDOM_BAD      /* why is in the report */
} RandomVerdict;

/* `seed` chooses the inputs and how it is built. */
RandomVerdict random_check(const RandomHost *host, Str text, uint64_t seed, RandomTally *tally,
                           StrBuf *report);
/* Checks a source of random_derivative_source; is_built: as kernels, too. */
RandomVerdict random_check_derivatives(const RandomHost *host, Str text, uint64_t seed,
                                       bool is_built, RandomTally *tally, StrBuf *report);
/* random_group.c: links a unit as the only node of a group, whose ports have the unit's names. */
RandomVerdict random_group_of(SslContext *ctx, const SslUnit *unit, StrBuf *report,
                              SslUnit **out_group);
/* The verdict on a source that is refused: only limits are no defect. */
RandomVerdict random_refuse(const DiagList *diags, const Error *err, Status status, StrBuf *report);

#endif
