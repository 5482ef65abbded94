/* CMA-ES [Hansen2016], with its constants. The distribution moves on the whole space; a place outside of the range from 0 to 1 is
 * evaluated where mirrors at the bounds show it, so that the function is continuous there.
 *
 * Memory: mean, both paths, covariance, its eigenvectors (columns) and the roots of its eigenvalues; the standard deviation; the
 * generation; the generation of the eigenvectors. Then room for one generation: places, and their values. */
#include "base/check.h"
#include "fit/fit_method.h"
#include <math.h>
#include <string.h>

#define FIRST_DEVIATION 0.3
#define LEAST_DEVIATION 1e-12
enum { SWEEPS = 30 };

typedef struct View {
    uint32_t n, lambda, mu;
    double *mean, *path_c, *path_s, *cov, *vectors, *roots, *deviation, *generation, *decomposed;
    double *places, *values, *shown, *old_mean, *work;
} View;

static uint32_t lambda_of(uint32_t n)
{
    return 4 + (uint32_t)(3 * log((double)n));
}

static View view_of(Fit *fit)
{
    View v = {.n = fit->desc.param_count};
    size_t n = v.n;
    v.lambda = lambda_of(v.n);
    v.mu = v.lambda / 2;
    double *at = fit->memory;
    double **parts[] = {&v.mean, &v.path_c, &v.path_s, &v.roots, &v.old_mean, &v.shown, &v.work};
    for (size_t i = 0; i < SORT_COUNT_OF(parts); ++i, at += n)
        *parts[i] = at;
    v.cov = at;
    v.vectors = v.cov + n * n;
    v.places = v.vectors + n * n;
    v.values = v.places + v.lambda * n;
    v.deviation = v.values + v.lambda;
    v.generation = v.deviation + 1;
    v.decomposed = v.generation + 1;
    ASSERT(v.decomposed + 1 == fit->memory + fit->memory_count);
    return v;
}

static size_t memory_count(uint32_t n)
{
    return 7 * (size_t)n + 2 * (size_t)n * n + (size_t)lambda_of(n) * (n + 1) + 3;
}

static Status begin(Fit *fit, Error *err)
{
    SORT_UNUSED(err);
    View v = view_of(fit);
    memcpy(v.mean, fit->x, v.n * sizeof *v.mean);
    for (uint32_t i = 0; i < v.n; ++i)
        v.cov[i * v.n + i] = v.vectors[i * v.n + i] = v.roots[i] = 1;
    *v.deviation = fit->desc.step > 0 ? fit->desc.step : FIRST_DEVIATION;
    return STATUS_OK;
}

/* Where mirrors at 0 and 1 show u. */
static double mirrored(double u)
{
    double turn = fmod(fabs(u), 2);
    return turn <= 1 ? turn : 2 - turn;
}

/* Jacobi's rotations of a symmetric matrix in `work` [Golub2013 alg. 8.5.3]: eigenvalues on its diagonal, eigenvectors in the
 * columns of `vectors`. */
static void rotate(double *work, double *vectors, uint32_t n, uint32_t p, uint32_t q)
{
    double apq = work[p * n + q];
    if (apq == 0)
        return;
    double tau = (work[q * n + q] - work[p * n + p]) / (2 * apq);
    double t = (tau >= 0 ? 1 : -1) / (fabs(tau) + sqrt(1 + tau * tau));
    double c = 1 / sqrt(1 + t * t), s = t * c;
    for (uint32_t k = 0; k < n; ++k) {
        double kp = work[k * n + p], kq = work[k * n + q];
        work[k * n + p] = c * kp - s * kq;
        work[k * n + q] = s * kp + c * kq;
    }
    for (uint32_t k = 0; k < n; ++k) {
        double pk = work[p * n + k], qk = work[q * n + k];
        work[p * n + k] = c * pk - s * qk;
        work[q * n + k] = s * pk + c * qk;
        double vp = vectors[k * n + p], vq = vectors[k * n + q];
        vectors[k * n + p] = c * vp - s * vq;
        vectors[k * n + q] = s * vp + c * vq;
    }
}

/* The covariance is rotated in place and then restored from its eigenvectors, which also keeps it symmetric. */
static void decompose(View *v)
{
    uint32_t n = v->n;
    memset(v->vectors, 0, (size_t)n * n * sizeof *v->vectors);
    for (uint32_t i = 0; i < n; ++i)
        v->vectors[i * n + i] = 1;
    double size = 0;
    for (uint32_t i = 0; i < n; ++i)
        size += v->cov[i * n + i];
    for (uint32_t sweep = 0; sweep < SWEEPS; ++sweep) {
        double off = 0;
        for (uint32_t p = 0; p < n; ++p)
            for (uint32_t q = p + 1; q < n; ++q)
                off += fabs(v->cov[p * n + q]);
        if (off <= 1e-15 * size)
            break;
        for (uint32_t p = 0; p < n; ++p)
            for (uint32_t q = p + 1; q < n; ++q)
                rotate(v->cov, v->vectors, n, p, q);
    }
    for (uint32_t i = 0; i < n; ++i)
        v->roots[i] = sqrt(fmax(v->cov[i * n + i], 1e-20 * size));
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t j = 0; j < n; ++j) {
            double sum = 0;
            for (uint32_t k = 0; k < n; ++k)
                sum += v->vectors[i * n + k] * v->roots[k] * v->roots[k] * v->vectors[j * n + k];
            v->cov[i * n + j] = sum;
        }
}

static Status sample(Fit *fit, View *v, Error *err)
{
    uint32_t n = v->n;
    for (uint32_t k = 0; k < v->lambda; ++k) {
        double *place = v->places + (size_t)k * n;
        memcpy(place, v->mean, n * sizeof *place);
        for (uint32_t j = 0; j < n; ++j) {
            double along = *v->deviation * v->roots[j] * fit_draw_normal(fit);
            for (uint32_t i = 0; i < n; ++i)
                place[i] += along * v->vectors[i * n + j];
        }
        for (uint32_t i = 0; i < n; ++i)
            v->shown[i] = mirrored(place[i]);
        TRY(fit_evaluate(fit, v->shown, &v->values[k], NULL, err));
    }
    return STATUS_OK;
}

/* Sorts the places by value, the lowest first; equal ones stay in order. */
static void sort_places(View *v)
{
    for (uint32_t k = 1; k < v->lambda; ++k)
        for (uint32_t i = k; i > 0 && v->values[i] < v->values[i - 1]; --i) {
            double value = v->values[i];
            v->values[i] = v->values[i - 1];
            v->values[i - 1] = value;
            double *a = v->places + (size_t)i * v->n, *b = a - v->n;
            for (uint32_t j = 0; j < v->n; ++j) {
                double swapped = a[j];
                a[j] = b[j];
                b[j] = swapped;
            }
        }
}

/* The update of mean, paths, covariance and deviation [Hansen2016 fig. 6]. */
static void update(View *v)
{
    uint32_t n = v->n;
    ASSERT(v->mu > 0 && *v->deviation > 0);
    double dim = (double)n, total = 0, squares = 0;
    for (uint32_t k = 0; k < v->mu; ++k)
        total += log((double)v->mu + 0.5) - log((double)k + 1);
    for (uint32_t k = 0; k < v->mu; ++k) {
        double w = (log((double)v->mu + 0.5) - log((double)k + 1)) / total;
        squares += w * w;
    }
    double mueff = 1 / squares;
    double cc = (4 + mueff / dim) / (dim + 4 + 2 * mueff / dim);
    double cs = (mueff + 2) / (dim + mueff + 5);
    double c1 = 2 / ((dim + 1.3) * (dim + 1.3) + mueff);
    double cmu = fmin(1 - c1, 2 * (mueff - 2 + 1 / mueff) / ((dim + 2) * (dim + 2) + mueff));
    double damps = 1 + 2 * fmax(0, sqrt((mueff - 1) / (dim + 1)) - 1) + cs;
    double chi = sqrt(dim) * (1 - 1 / (4 * dim) + 1 / (21 * dim * dim));
    memcpy(v->old_mean, v->mean, n * sizeof *v->mean);
    memset(v->mean, 0, n * sizeof *v->mean);
    for (uint32_t k = 0; k < v->mu; ++k) {
        double w = (log((double)v->mu + 0.5) - log((double)k + 1)) / total;
        for (uint32_t i = 0; i < n; ++i)
            v->mean[i] += w * v->places[(size_t)k * n + i];
    }
    double length = 0;
    for (uint32_t j = 0; j < n; ++j) { /* in the coordinates of the eigenvectors */
        double sum = 0;
        for (uint32_t i = 0; i < n; ++i)
            sum += v->vectors[i * n + j] * (v->mean[i] - v->old_mean[i]) / *v->deviation;
        v->work[j] = sum / v->roots[j];
    }
    for (uint32_t i = 0; i < n; ++i) {
        double sum = 0;
        for (uint32_t j = 0; j < n; ++j)
            sum += v->vectors[i * n + j] * v->work[j];
        v->path_s[i] = (1 - cs) * v->path_s[i] + sqrt(cs * (2 - cs) * mueff) * sum;
        length += v->path_s[i] * v->path_s[i];
    }
    length = sqrt(length);
    double turns = 1 - pow(1 - cs, 2 * (*v->generation + 1));
    double is_short = length / sqrt(turns) / chi < 1.4 + 2 / (dim + 1) ? 1 : 0;
    for (uint32_t i = 0; i < n; ++i)
        v->path_c[i] = (1 - cc) * v->path_c[i] + is_short * sqrt(cc * (2 - cc) * mueff) *
                                                     (v->mean[i] - v->old_mean[i]) / *v->deviation;
    for (uint32_t i = 0; i < n; ++i)
        for (uint32_t j = 0; j < n; ++j) {
            double sum = (1 - c1 - cmu + c1 * (1 - is_short) * cc * (2 - cc)) * v->cov[i * n + j] +
                         c1 * v->path_c[i] * v->path_c[j];
            for (uint32_t k = 0; k < v->mu; ++k) {
                double w = (log((double)v->mu + 0.5) - log((double)k + 1)) / total;
                const double *place = v->places + (size_t)k * n;
                sum += cmu * w * (place[i] - v->old_mean[i]) * (place[j] - v->old_mean[j]) /
                       (*v->deviation * *v->deviation);
            }
            v->cov[i * n + j] = sum;
        }
    *v->deviation *= exp(cs / damps * (length / chi - 1));
    *v->deviation = fmin(*v->deviation, 1); /* wider than the whole range says nothing more */
    *v->generation += 1;
    if (*v->generation - *v->decomposed > 1 / ((c1 + cmu) * dim * 10)) {
        *v->decomposed = *v->generation;
        decompose(v);
    }
}

static Status step(Fit *fit, Error *err)
{
    View v = view_of(fit);
    TRY(sample(fit, &v, err));
    sort_places(&v);
    fit->value = v.values[0];
    for (uint32_t i = 0; i < v.n; ++i)
        fit->x[i] = mirrored(v.places[i]);
    update(&v);
    double largest = 0;
    for (uint32_t i = 0; i < v.n; ++i)
        largest = fmax(largest, v.roots[i]);
    fit->has_ended = *v.deviation * largest < LEAST_DEVIATION;
    return STATUS_OK;
}

const FitMethodInfo fit_method_cma = {"cma", memory_count, begin, step};
