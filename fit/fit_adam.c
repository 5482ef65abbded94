/* Adam [Kingma2015], in coordinates from 0 to 1, which it does not leave. Its step shrinks along half a cosine to a hundredth of
 * the first, and begins anew after each hop [Wales1997]. */
#include "fit/fit_method.h"
#include <math.h>
#include <string.h>

#define FIRST_STEP 0.02
#define LAST_PART  0.01
#define BETA1      0.9
#define BETA2      0.999
#define PI         3.141592653589793
/* The part of hops that draw all parameters of a thing; the others draw one of them. */
#define WHOLE_THINGS 0.75
/* The steps of what was not drawn anew, beside those of what was: it has its place. */
#define PLACED_PART 0.1

enum { DRAWS = 64 };

/* What is kept between iterations. */
typedef struct Memory {
    double *m, *v;      /* [count] the moments */
    double *gradient;   /* [count] at the present place */
    double *kept;       /* [count] with hops: the best place in which a round has ended */
    double *kept_value; /* one: its value */
    double *group;      /* one: what was drawn anew; -1: nothing */
} Memory;

static size_t memory_count(uint32_t n)
{
    return 4 * (size_t)n + 2;
}

static Memory memory_of(const Fit *fit)
{
    double *first = fit->memory;
    uint32_t n = fit->count;
    return (Memory){first,
                    first + n,
                    first + 2 * (size_t)n,
                    first + 3 * (size_t)n,
                    first + 4 * (size_t)n,
                    first + 4 * (size_t)n + 1};
}

static Status begin(Fit *fit, Error *err)
{
    Memory memory = memory_of(fit);
    *memory.kept_value = fit->value;
    memcpy(memory.kept, fit->x, fit->count * sizeof *fit->x);
    TRY(fit_evaluate(fit, fit->x, &fit->value, memory.gradient, err));
    fit->has_ended = !isfinite(fit->value);
    return STATUS_OK;
}

/* --- hops --------------------------------------------------------------------------------------- */

/* Draws the parameters of a random thing anew, or only one of them. Returns its group. */
static uint32_t draw_group(Fit *fit, bool has_all, double *x)
{
    const FitParam *params = fit->desc.params;
    uint32_t n = fit->desc.param_count, chosen;
    do
        chosen = (uint32_t)(fit_draw(fit) * n);
    while (params[chosen].group == 0);
    for (uint32_t i = 0; i < n; ++i)
        if (i == chosen || (has_all && params[i].group == params[chosen].group))
            x[i] = fit_draw(fit);
    return params[chosen].group;
}

/* Goes on from the best end of a round; but for the last time, with a thing drawn anew: the best of some draws. */
static Status hop(Fit *fit, bool is_last, Error *err)
{
    Memory memory = memory_of(fit);
    size_t bytes = fit->count * sizeof(double);
    double *trial = memory.m, *found = memory.v, value, lowest = (double)INFINITY;
    if (fit->value < *memory.kept_value) {
        *memory.kept_value = fit->value;
        memcpy(memory.kept, fit->x, bytes);
    }
    memcpy(found, memory.kept, bytes);
    *memory.group = -1;
    bool has_all = fit_draw(fit) < WHOLE_THINGS;
    for (uint32_t i = 0; i < DRAWS && !is_last; ++i) {
        memcpy(trial, memory.kept, bytes);
        uint32_t group = draw_group(fit, has_all, trial);
        TRY(fit_evaluate(fit, trial, &value, NULL, err));
        if (value < lowest) {
            lowest = value;
            *memory.group = group;
            memcpy(found, trial, bytes);
        }
    }
    memcpy(fit->x, found, bytes);
    memset(memory.m, 0, bytes);
    memset(memory.v, 0, bytes);
    return fit_evaluate(fit, fit->x, &fit->value, memory.gradient, err);
}

/* --- steps -------------------------------------------------------------------------------------- */

static Status step(Fit *fit, Error *err)
{
    Memory memory = memory_of(fit);
    double *m = memory.m, *v = memory.v, *gradient = memory.gradient;
    FitRound round = fit_round(fit);
    bool has_hopped = fit->iteration > round.at;
    double first = fit->desc.step > 0 ? fit->desc.step : FIRST_STEP;
    double done = (double)round.at / (double)round.count;
    double rate = first * (LAST_PART + (1 - LAST_PART) * 0.5 * (1 + cos(PI * done)));
    double t = (double)round.at + 1, largest = 0;
    double scale1 = 1 / (1 - pow(BETA1, t)), scale2 = 1 / (1 - pow(BETA2, t));
    if (fit->has_ended)
        return STATUS_OK;
    if (fit->iteration > 0 && round.at == 0)
        return hop(fit, round.is_last, err);
    for (uint32_t i = 0; i < fit->count && isfinite(fit->value); ++i) {
        bool is_param = i < fit->desc.param_count;
        if (!is_param && gradient[i] == 0)
            continue;
        largest = fmax(largest, fabs(gradient[i]));
        m[i] = BETA1 * m[i] + (1 - BETA1) * gradient[i];
        v[i] = BETA2 * v[i] + (1 - BETA2) * gradient[i] * gradient[i];
        double size = sqrt(v[i] * scale2);
        bool is_placed = has_hopped && is_param && fit->desc.params[i].group != *memory.group;
        if (size > 0)
            fit->x[i] =
                fit_clamp(fit->x[i] - (is_placed ? PLACED_PART : 1) * rate * m[i] * scale1 / size);
    }
    fit->has_ended = largest == 0 && fit->desc.hops == 0;
    if (fit->has_ended || largest == 0)
        return STATUS_OK;
    TRY(fit_evaluate(fit, fit->x, &fit->value, gradient, err));
    fit->has_ended = !isfinite(fit->value) && fit->desc.hops == 0;
    return STATUS_OK;
}

const FitMethodInfo fit_method_adam = {"adam", memory_count, begin, step};
