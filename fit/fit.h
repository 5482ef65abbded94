/* Minimises a function of bounded parameters, from several starts, so that it can be stopped and taken up again.
 *
 *   fit_create -> { fit_step ... fit_save } -> fit_best
 *
 * The library knows nothing of what it minimises: a callback gives the value and, where the method wants it, the gradient. It
 * works in coordinates from 0 to 1, the range of each parameter between its bounds, and never asks for a value outside of them.
 * The first start is the one that the caller gives; those after it are drawn between the bounds.
 *
 * Everything is a function of the problem, the options and the values that the callback returns: no clock, no thread and no
 * state of the process has an influence. What fit_save writes is all of the state, so that a fit that was taken up again goes on
 * with the same bits as one that was not interrupted.
 *
 * One thread at a time uses a Fit. */
#ifndef FIT_FIT_H
#define FIT_FIT_H

#include "base/error.h"
#include "base/hash.h"

typedef enum FitMethod {
    FIT_ADAM, /* gradient descent with moments, of fixed length; noise and kinks do no harm [Kingma2015] */
    FIT_LBFGS, /* quasi-Newton with bounds: the quickest for smooth functions [Nocedal2006 ch. 7, Bertsekas1982] */
    FIT_CMA /* evolution strategy: needs no gradient, and gets out of local minima [Hansen2016] */
} FitMethod;

typedef struct FitParam {
    const char *name; /* for messages */
    double low, high; /* finite, as is high - low; low < high */
    double start;     /* from low to high */
    bool is_whole;    /* only whole numbers are tried; FIT_CMA only */
    uint32_t group;   /* of a thing whose parameters FitDesc.hops draws anew together; 0: of none */
} FitParam;

enum { FIT_MAX_CHANNELS = 4 };
/* Many numbers with the same bounds, or with bounds that come in turn, such as the texels of a texture. Every start begins at `start`; numbers whose gradient is
 * exactly zero stay where they are, with their moments, as nothing in the problem touches them. */
typedef struct FitField {
    const char *name; /* for messages */
    double low[FIT_MAX_CHANNELS],
        high[FIT_MAX_CHANNELS]; /* of number i: those of i % channel_count */
    uint32_t channel_count;     /* from 1 */
    const double *start;        /* [count] borrowed */
    uint32_t count;
} FitField;

enum { FIT_MAX_NUMBERS = 1 << 28 }; /* of parameters and fields */
enum { FIT_MAX_PARAMS = 1024, FIT_MAX_STARTS = 100000, FIT_MAX_ITERATIONS = 10000000 };

typedef struct FitDesc {
    size_t size_bytes; /* sizeof(FitDesc) */
    FitMethod method;
    const FitParam *params; /* copied; the names are borrowed */
    uint32_t param_count;   /* at most FIT_MAX_PARAMS; 0 only if there are fields */
    const FitField
        *fields; /* copied; their numbers follow those of params, in order. Not with FIT_CMA */
    uint32_t field_count;
    uint32_t iterations; /* at most, from each start */
    uint32_t starts;     /* 0 is 1 */
    /* FIT_ADAM: so many times in the first four fifths of a start, one thing is drawn anew, the best of 64 draws, and what the iterations
     * until the next hop make of it is kept if it is better; all else takes a tenth of the steps. Less than half of
     * `iterations`; some parameters have groups. 0: never. [Wales1997] */
    uint32_t hops;
    uint64_t seed;
    double
        step; /* FIT_ADAM: the first step, as a part of the range; FIT_CMA: the first deviation. 0: 0.02 and 0.3 */
    /* Tells problems apart: a checkpoint is only taken up by a fit with the same digest. */
    Hash128 problem;
    /* Writes the value at x[], parameters and then fields, and, unless it is NULL, the gradient. A value that is infinite or NaN is a place where
     * the function is not defined. An error ends fit_step, and the fit cannot go on then. */
    Status (*evaluate)(void *data, const double *x, double *out_value, double *out_gradient,
                       Error *err);
    void *data;
} FitDesc;

typedef struct Fit Fit;

/* STATUS_INVALID: what the description has wrong. The caller owns *out_fit. */
Status fit_create(const FitDesc *desc, Fit **out_fit, Error *err) SORT_MUST_CHECK;
void fit_destroy(Fit *fit); /* NULL is allowed */

/* One iteration of the present start; the next start when that has ended. STATUS_INVALID: the function is not finite at the
 * given start, or at 64 starts that were drawn one after the other. */
Status fit_step(Fit *fit, Error *err) SORT_MUST_CHECK;
bool fit_is_done(const Fit *fit);

typedef struct FitProgress {
    uint32_t start, iteration; /* the present start, and how many iterations it has had */
    uint64_t evaluations;
    double value; /* after the last iteration; infinite before the first */
    double best;  /* of all evaluations */
    /* How far the present start is, from 0 to 1; with hops, how far since the last one, and 1 in an iteration that hops: it compares
     * what others have come to. */
    double part;
    bool hops_on; /* another hop is to come in this start */
} FitProgress;
FitProgress fit_progress(const Fit *fit);
/* The parameters of the lowest value so far; the start before the first iteration. They live as long as the fit. */
const double *fit_best(const Fit *fit);
/* The values after each iteration so far, of all starts one after the other; *out_firsts[start] is where a start begins. Both
 * live until the next step. */
const double *fit_history(const Fit *fit, uint32_t *out_count, const uint32_t **out_firsts,
                          uint32_t *out_start_count);

/* Writes a checkpoint to a file of its own, which then takes the place of `path`: at any moment there is a whole one. */
Status fit_save(const Fit *fit, const char *path, Error *err) SORT_MUST_CHECK;
/* Takes up what fit_save wrote, in a fit with an equal description; more starts than before are fine, and more iterations but for
 * FIT_ADAM, whose steps depend on their number. STATUS_FORMAT: the file is damaged or none; STATUS_INVALID: it
 * is one of another problem, method or seed. The fit is as it was then. */
Status fit_load(Fit *fit, const char *path, Error *err) SORT_MUST_CHECK;

#endif
