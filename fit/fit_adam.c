/* Adam [Kingma2015], in coordinates from 0 to 1, which it does not leave. Its step shrinks along half a cosine to a hundredth of
 * the first. Memory: the first moments, the second, and the gradient at the present place. */
#include "fit/fit_method.h"
#include <math.h>

#define FIRST_STEP 0.02
#define LAST_PART  0.01
#define BETA1      0.9
#define BETA2      0.999
#define PI         3.141592653589793

static size_t memory_count(uint32_t n)
{
    return 3 * (size_t)n; /* m, v, gradient */
}

static Status begin(Fit *fit, Error *err)
{
    uint32_t n = fit->desc.param_count;
    double *gradient = fit->memory + 2 * (size_t)n;
    TRY(fit_evaluate(fit, fit->x, &fit->value, gradient, err));
    fit->has_ended = !isfinite(fit->value);
    return STATUS_OK;
}

static Status step(Fit *fit, Error *err)
{
    uint32_t n = fit->desc.param_count;
    double *m = fit->memory, *v = m + n, *gradient = v + n;
    double first = fit->desc.step > 0 ? fit->desc.step : FIRST_STEP;
    double done = (double)fit->iteration / (double)fit->desc.iterations;
    double rate = first * (LAST_PART + (1 - LAST_PART) * 0.5 * (1 + cos(PI * done)));
    double t = (double)fit->iteration + 1, largest = 0;
    double scale1 = 1 / (1 - pow(BETA1, t)), scale2 = 1 / (1 - pow(BETA2, t));
    if (fit->has_ended)
        return STATUS_OK;
    for (uint32_t i = 0; i < n; ++i) {
        largest = fmax(largest, fabs(gradient[i]));
        m[i] = BETA1 * m[i] + (1 - BETA1) * gradient[i];
        v[i] = BETA2 * v[i] + (1 - BETA2) * gradient[i] * gradient[i];
        double size = sqrt(v[i] * scale2);
        if (size > 0)
            fit->x[i] = fit_clamp(fit->x[i] - rate * m[i] * scale1 / size);
    }
    fit->has_ended = largest == 0;
    if (fit->has_ended)
        return STATUS_OK;
    TRY(fit_evaluate(fit, fit->x, &fit->value, gradient, err));
    fit->has_ended = !isfinite(fit->value);
    return STATUS_OK;
}

const FitMethodInfo fit_method_adam = {"adam", memory_count, begin, step};
