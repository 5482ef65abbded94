/* What the files of fit/ share: the state of a fit, and the methods as functions on it. */
#ifndef FIT_FIT_METHOD_H
#define FIT_FIT_METHOD_H

#include "base/array.h"
#include "fit/fit.h"

typedef struct FitMethodInfo {
    const char *name;
    /* How many numbers the method keeps between iterations. */
    size_t (*memory_count)(uint32_t count);
    /* Begins at fit->x, with the memory zero; fit->value is the value there. */
    Status (*begin)(Fit *fit, Error *err);
    /* One iteration, which leaves where it got to in fit->x and fit->value. Sets has_ended when nothing is to be gained. */
    Status (*step)(Fit *fit, Error *err);
} FitMethodInfo;

extern const FitMethodInfo fit_method_adam, fit_method_lbfgs, fit_method_cma;

/* All numbers but those of the description are in the checkpoint. */
struct Fit {
    FitDesc desc;     /* params: those below */
    FitParam *params; /* owned */
    FitField *fields; /* owned */
    uint32_t count;   /* of all numbers */
    const FitMethodInfo *method;
    double *x; /* [count] coordinates from 0 to 1 */
    double value;
    double *best; /* [count] parameters */
    double best_value;
    double *memory; /* [memory_count] the method's own */
    size_t memory_count;
    double *history; /* [history_count] */
    uint32_t history_count, history_room;
    uint32_t *firsts; /* [desc.starts] */
    uint32_t start, iteration;
    bool has_begun; /* the present start */
    bool has_ended;
    uint64_t evaluations;
    uint64_t draws;  /* random numbers that were drawn */
    double *scratch; /* [count] parameters that are evaluated */
};

/* The value at coordinates u[count], and its gradient by them unless that is NULL. Remembers the best. */
Status fit_evaluate(Fit *fit, const double *u, double *out_value, double *out_gradient,
                    Error *err) SORT_MUST_CHECK;
/* Where the present iteration is between two hops: after `at` others of `count`. The last fifth of a start is one round, before which
 * nothing is drawn; without hops, all of a start is. */
typedef struct FitRound {
    uint32_t at, count;
    bool is_last;
} FitRound;
FitRound fit_round(const Fit *fit);
/* The next random number, from 0 to 1, without 1; and one of the normal distribution. */
double fit_draw(Fit *fit);
double fit_draw_normal(Fit *fit);
/* The nearest number from 0 to 1. */
static inline double fit_clamp(double u)
{
    return u < 0 ? 0 : u > 1 ? 1 : u;
}

#endif
