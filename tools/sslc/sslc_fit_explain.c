/* What each number does to the picture: how much of its change the derivative tells. */
#include "base/alloc.h"
#include "base/check.h"
#include "tools/sslc/sslc_fit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The picture is taken along the bounds, from 1/64 of them below the start to 1/64 above, so that an edge passes over some pixels; steps
 * are short, so that what is smooth is nearly straight between two of them. */
enum { STEPS = 32, STEPS_BELOW = STEPS / 2, STEPS_OF_BOUNDS = 1024 };

/* Below this part of a change it counts as none, and above the other as all. */
static const double none_part = 0.02, all_part = 0.98;

/* What a number does around its start. */
typedef struct Effect {
    double change;  /* mean variation of the picture's numbers, for a hundredth of the bounds */
    double missed;  /* which part of it is not the derivative's, 0 to 1 */
    double touched; /* which part of the picture's numbers a step changes, on average, 0 to 1 */
    bool is_flat;   /* the derivative is zero everywhere */
} Effect;

static const char *verdict_of(const Effect *e)
{
    if (e->touched == 0 && e->is_flat)
        return "no effect here";
    if (e->is_flat || e->missed > all_part)
        return "steps: gradients see them with --edges alone";
    if (e->missed > none_part)
        return "smooth, with steps or kinks";
    return "smooth";
}

static Status evaluate(FitShader *shader, const double *x, Error *err)
{
    double loss;
    const char *text;
    TRY(fit_shader_evaluate(shader, x, &loss, NULL, err));
    if (isfinite(loss))
        return STATUS_OK;
    (void)fit_shader_undefined(shader, &text);
    return error_set(err, STATUS_INVALID, "the loss is not finite at the start, or beside it: %s",
                     text);
}

/* Adds the step from `before`, at x[number] - step, to the picture at x[number], and leaves that in `before`. */
static Status add_step(FitShader *shader, double *x, uint32_t number, double step, float *before,
                       Effect *sums, Error *err)
{
    const double end = x[number];
    const SslcPicture *tangent, *now = fit_shader_picture(shader);
    size_t count = (size_t)now->width * now->height * now->channels;
    x[number] = end - step / 2;
    TRY(fit_shader_tangent(shader, x, number, &tangent, err));
    x[number] = end;
    TRY(evaluate(shader, x, err));
    double width = (double)(float)end - (double)(float)(end - step); /* as the shader gets it */
    for (size_t i = 0; i < count; ++i) {
        double difference = (double)now->numbers[i] - (double)before[i];
        sums->change += fabs(difference);
        sums->missed += fabs(difference - width * (double)tangent->numbers[i]);
        sums->touched += difference != 0;
        sums->is_flat = sums->is_flat && tangent->numbers[i] == 0;
    }
    memcpy(before, now->numbers, count * sizeof *before);
    return STATUS_OK;
}

/* x[] is as it was after. */
static Status measure(FitShader *shader, const FitParam *p, double *x, uint32_t number,
                      float *before, Effect *out, Error *err)
{
    const double start = x[number], step = (p->high - p->low) / STEPS_OF_BOUNDS;
    const SslcPicture *now = fit_shader_picture(shader);
    size_t count = (size_t)now->width * now->height * now->channels;
    Effect sums = {.is_flat = true};
    ASSERT(count > 0 && step > 0);
    x[number] = start - STEPS_BELOW * step;
    TRY(evaluate(shader, x, err));
    memcpy(before, now->numbers, count * sizeof *before);
    for (int k = 1 - STEPS_BELOW; k <= STEPS - STEPS_BELOW; ++k) {
        x[number] = start + k * step;
        TRY(add_step(shader, x, number, step, before, &sums, err));
    }
    x[number] = start;
    double terms = (double)count * STEPS;
    *out = (Effect){.change = sums.change / terms * STEPS_OF_BOUNDS / 100,
                    .missed = sums.change > 0 ? fmin(sums.missed / sums.change, 1) : 0,
                    .touched = sums.touched / terms,
                    .is_flat = sums.is_flat};
    return STATUS_OK;
}

Status fit_explain(FitShader *shader, const FitSpace *space, Error *err)
{
    TRY(evaluate(shader, space->start, err));
    const SslcPicture *now = fit_shader_picture(shader);
    float *before = MEM_ARRAY(float, (size_t)now->width * now->height * now->channels);
    double *x = MEM_ARRAY(double, space->total);
    if (!before || !x) {
        mem_free(before);
        mem_free(x);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    memcpy(x, space->start, space->total * sizeof *x);
    (void)printf("%-20s %12s %12s %9s %10s\n", "parameter", "start", "change", "pixels",
                 "by steps");
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < space->count && status == STATUS_OK; ++i) {
        const FitParam *p = &space->params[i];
        Effect e;
        status = measure(shader, p, x, i, before, &e, err);
        if (status == STATUS_OK)
            (void)printf("%-20s %12.6g %12.3g %8.1f%% %9.1f%%  %s\n", p->name, p->start, e.change,
                         e.touched * 100, e.missed * 100, verdict_of(&e));
    }
    mem_free(before);
    mem_free(x);
    return status;
}
