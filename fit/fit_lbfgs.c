/* L-BFGS with bounds. Coordinates that stand at a bound, and that the gradient pushes against it, are held; the quasi-Newton
 * direction is that of the others, and steps along it are projected [Bertsekas1982]. The direction comes from the last
 * KEPT changes of place and gradient [Nocedal2006 alg. 7.4], with the dot products of the coordinates that are not held.
 *
 * Memory: gradient, direction, place that is tried, its gradient; KEPT changes of place, KEPT of gradient; then the count of
 * changes that were kept, which go round. */
#include "base/check.h"
#include "fit/fit_method.h"
#include <math.h>
#include <string.h>

enum { KEPT = 8, HALVINGS = 40 };
#define SUFFICIENT   1e-4  /* part of the decrease that the slope promises */
#define LEAST_CHANGE 1e-12 /* of the gradient's largest part: smaller is the end */
#define FIRST_MOVE   0.05  /* of the first step, for the coordinate that moves most */

typedef struct View {
    uint32_t n;
    double *gradient, *direction, *tried, *tried_gradient, *places, *gradients, *count;
} View;

static size_t memory_count(uint32_t n)
{
    return (4 + 2 * KEPT) * (size_t)n + 1;
}

static View view_of(Fit *fit)
{
    size_t n = fit->count;
    double *m = fit->memory;
    ASSERT(memory_count((uint32_t)n) == fit->memory_count);
    return (View){
        (uint32_t)n,           m, m + n, m + 2 * n, m + 3 * n, m + 4 * n, m + (4 + KEPT) * n,
        m + (4 + 2 * KEPT) * n};
}

static Status begin(Fit *fit, Error *err)
{
    View v = view_of(fit);
    TRY(fit_evaluate(fit, fit->x, &fit->value, v.gradient, err));
    fit->has_ended = !isfinite(fit->value);
    return STATUS_OK;
}

static bool is_held(const Fit *fit, const View *v, uint32_t i)
{
    return (fit->x[i] <= 0 && v->gradient[i] > 0) || (fit->x[i] >= 1 && v->gradient[i] < 0);
}

static double dot_free(const Fit *fit, const View *v, const double *a, const double *b)
{
    double sum = 0;
    for (uint32_t i = 0; i < v->n; ++i)
        if (!is_held(fit, v, i))
            sum += a[i] * b[i];
    return sum;
}

/* The two loops of the recursion, from the newest change to the oldest and back. */
static void find_direction(const Fit *fit, const View *v)
{
    ASSERT(*v->count >= 0);
    uint32_t count = (uint32_t)*v->count, kept = count < KEPT ? count : KEPT;
    double alpha[KEPT] = {0};
    for (uint32_t i = 0; i < v->n; ++i)
        v->direction[i] = is_held(fit, v, i) ? 0 : -v->gradient[i];
    double scale = 0;
    for (uint32_t k = 0; k < kept; ++k) {
        size_t at = (size_t)((count - 1 - k) % KEPT) * v->n;
        const double *s = v->places + at, *y = v->gradients + at;
        double sy = dot_free(fit, v, s, y), yy = dot_free(fit, v, y, y);
        if (!(sy > 1e-12 * yy))
            continue; /* among the free coordinates this change says nothing of curvature */
        if (scale == 0)
            scale = sy / yy;
        alpha[k] = dot_free(fit, v, s, v->direction) / sy;
        for (uint32_t i = 0; i < v->n; ++i)
            if (!is_held(fit, v, i))
                v->direction[i] -= alpha[k] * y[i];
    }
    for (uint32_t i = 0; i < v->n && scale > 0; ++i)
        v->direction[i] *= scale;
    for (uint32_t k = kept; k-- > 0;) {
        size_t at = (size_t)((count - 1 - k) % KEPT) * v->n;
        const double *s = v->places + at, *y = v->gradients + at;
        double sy = dot_free(fit, v, s, y), yy = dot_free(fit, v, y, y);
        if (!(sy > 1e-12 * yy))
            continue;
        double beta = dot_free(fit, v, y, v->direction) / sy;
        for (uint32_t i = 0; i < v->n; ++i)
            if (!is_held(fit, v, i))
                v->direction[i] += (alpha[k] - beta) * s[i];
    }
}

/* Goes along the direction until the value has fallen enough. *out_found: it has. */
static Status search(Fit *fit, const View *v, double first, bool *out_found, Error *err)
{
    double t = first;
    *out_found = false;
    for (uint32_t i = 0; i < HALVINGS; ++i, t *= 0.5) {
        double promised = 0, value;
        for (uint32_t k = 0; k < v->n; ++k) {
            v->tried[k] = fit_clamp(fit->x[k] + t * v->direction[k]);
            promised += v->gradient[k] * (v->tried[k] - fit->x[k]);
        }
        TRY(fit_evaluate(fit, v->tried, &value, NULL, err));
        if (!isfinite(value) || !(value <= fit->value + SUFFICIENT * promised) || promised >= 0)
            continue;
        TRY(fit_evaluate(fit, v->tried, &value, v->tried_gradient, err));
        *out_found = isfinite(value);
        fit->value = value;
        return STATUS_OK;
    }
    return STATUS_OK;
}

/* Takes what was tried for the new place, and keeps the change if the function curves upwards along it. */
static void move(Fit *fit, const View *v)
{
    size_t at = (size_t)((uint64_t)*v->count % KEPT) * v->n;
    double *s = v->places + at, *y = v->gradients + at, sy = 0, yy = 0;
    double *change = v->direction; /* not needed any more */
    for (uint32_t i = 0; i < v->n; ++i) {
        double ds = v->tried[i] - fit->x[i], dy = v->tried_gradient[i] - v->gradient[i];
        change[i] = ds;
        sy += ds * dy;
        yy += dy * dy;
    }
    if (sy > 1e-12 * yy && yy > 0) {
        for (uint32_t i = 0; i < v->n; ++i)
            y[i] = v->tried_gradient[i] - v->gradient[i];
        memcpy(s, change, v->n * sizeof *s);
        *v->count += 1;
    }
    memcpy(fit->x, v->tried, v->n * sizeof *fit->x);
    memcpy(v->gradient, v->tried_gradient, v->n * sizeof *v->gradient);
}

static Status step(Fit *fit, Error *err)
{
    View v = view_of(fit);
    double largest = 0, before = fit->value;
    for (uint32_t i = 0; i < v.n; ++i)
        if (!is_held(fit, &v, i))
            largest = fmax(largest, fabs(v.gradient[i]));
    fit->has_ended = fit->has_ended || largest == 0;
    if (fit->has_ended)
        return STATUS_OK;
    bool found = false;
    if (*v.count > 0) {
        find_direction(fit, &v);
        TRY(search(fit, &v, 1, &found, err));
    }
    if (!found) { /* at first, and when the changes mislead: steepest descent */
        *v.count = 0;
        find_direction(fit, &v);
        TRY(search(fit, &v, FIRST_MOVE / largest, &found, err));
    }
    if (found)
        move(fit, &v);
    fit->has_ended = !found || before - fit->value <= LEAST_CHANGE * (1e-30 + fabs(before));
    return STATUS_OK;
}

const FitMethodInfo fit_method_lbfgs = {"lbfgs", memory_count, begin, step};
