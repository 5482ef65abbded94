#include "base/alloc.h"
#include "base/check.h"
#include "fit/fit_method.h"
#include <math.h>
#include <string.h>

enum { DRAWS_OF_A_START = 64 };

static const FitMethodInfo *const methods[] = {
    [FIT_ADAM] = &fit_method_adam, [FIT_LBFGS] = &fit_method_lbfgs, [FIT_CMA] = &fit_method_cma};

/* --- life --------------------------------------------------------------------------------------- */

static Status check_param(const FitParam *p, FitMethod method, Error *err)
{
    if (!isfinite(p->low) || !isfinite(p->high) || !(p->low < p->high))
        return error_set(err, STATUS_INVALID,
                         "the bounds of '%s' are %g and %g: give a lower and then a higher one",
                         p->name, p->low, p->high);
    if (!isfinite(p->high - p->low))
        return error_set(err, STATUS_INVALID, "the bounds of '%s', %g and %g, are too far apart",
                         p->name, p->low, p->high);
    if (!(p->start >= p->low && p->start <= p->high))
        return error_set(err, STATUS_INVALID, "'%s' starts at %g, outside of its bounds %g and %g",
                         p->name, p->start, p->low, p->high);
    if (p->is_whole && method != FIT_CMA)
        return error_set(
            err, STATUS_INVALID,
            "'%s' takes whole numbers, and this method needs a gradient: only cma does "
            "without",
            p->name);
    return STATUS_OK;
}

static Status check_field(const FitField *f, FitMethod method, Error *err)
{
    if (f->channel_count == 0 || f->channel_count > FIT_MAX_CHANNELS)
        return error_set(err, STATUS_INVALID, "'%s' has %u channels; 1 to %d are possible", f->name,
                         f->channel_count, FIT_MAX_CHANNELS);
    for (uint32_t c = 0; c < f->channel_count; ++c) {
        const FitParam bounds = {
            .name = f->name, .low = f->low[c], .high = f->high[c], .start = f->low[c]};
        TRY(check_param(&bounds, method, err));
    }
    if (method == FIT_CMA)
        return error_set(err, STATUS_INVALID,
                         "'%s' has %u numbers, which need a gradient: only adam and lbfgs fit them",
                         f->name, f->count);
    for (uint32_t i = 0; i < f->count; ++i) {
        double low = f->low[i % f->channel_count], high = f->high[i % f->channel_count];
        if (!(f->start[i] >= low && f->start[i] <= high))
            return error_set(err, STATUS_INVALID,
                             "'%s' starts at %g in number %u, outside of its bounds %g and %g",
                             f->name, f->start[i], i, low, high);
    }
    return STATUS_OK;
}

static Status check_fields(const FitDesc *desc, Error *err)
{
    uint64_t count = desc->param_count;
    for (uint32_t i = 0; i < desc->field_count; ++i) {
        TRY(check_field(&desc->fields[i], desc->method, err));
        count += desc->fields[i].count;
    }
    return count <= FIT_MAX_NUMBERS
               ? STATUS_OK
               : error_set(err, STATUS_LIMIT, "%llu numbers to fit; at most %d are possible",
                           (unsigned long long)count, FIT_MAX_NUMBERS);
}

static Status check(const FitDesc *desc, Error *err)
{
    if ((uint32_t)desc->method > FIT_CMA)
        return error_set(err, STATUS_INVALID, "%d is no FitMethod", (int)desc->method);
    if ((desc->param_count == 0 && desc->field_count == 0) || desc->param_count > FIT_MAX_PARAMS)
        return error_set(err, STATUS_INVALID, "%u parameters; 1 to %d are possible",
                         desc->param_count, FIT_MAX_PARAMS);
    if (desc->iterations == 0 || desc->iterations > FIT_MAX_ITERATIONS)
        return error_set(err, STATUS_INVALID, "%u iterations; 1 to %d are possible",
                         desc->iterations, FIT_MAX_ITERATIONS);
    if (desc->starts > FIT_MAX_STARTS)
        return error_set(err, STATUS_INVALID, "%u starts; at most %d are possible", desc->starts,
                         FIT_MAX_STARTS);
    if (!(desc->step >= 0 && desc->step <= 1))
        return error_set(err, STATUS_INVALID, "a step of %g; from 0 to 1 is possible", desc->step);
    bool has_group = false;
    for (uint32_t i = 0; i < desc->param_count; ++i) {
        TRY(check_param(&desc->params[i], desc->method, err));
        has_group = has_group || desc->params[i].group;
    }
    TRY(check_fields(desc, err));
    if (desc->hops > 0 && desc->method != FIT_ADAM)
        return error_set(err, STATUS_INVALID, "only the method adam hops");
    if (desc->hops > 0 && !has_group)
        return error_set(err, STATUS_INVALID, "hops need parameters in groups; none is in one");
    if (desc->hops > 0 && desc->hops >= desc->iterations / 2)
        return error_set(err, STATUS_INVALID,
                         "%u hops in %u iterations; less than half as many are possible",
                         desc->hops, desc->iterations);
    return STATUS_OK;
}

static double to_unit(const FitParam *p, double x)
{
    return fit_clamp((x - p->low) / (p->high - p->low));
}

/* The range of number `k` of a field. */
static double field_range(const FitField *f, uint32_t k)
{
    return f->high[k % f->channel_count] - f->low[k % f->channel_count];
}

static double field_to_unit(const FitField *f, uint32_t k, double x)
{
    return fit_clamp((x - f->low[k % f->channel_count]) / field_range(f, k));
}

static double field_from_unit(const FitField *f, uint32_t k, double u)
{
    double low = f->low[k % f->channel_count], high = f->high[k % f->channel_count];
    double x = low + u * (high - low);
    return x < low ? low : x > high ? high : x;
}

static double from_unit(const FitParam *p, double u)
{
    double x = p->low + u * (p->high - p->low);
    if (p->is_whole)
        x = floor(x + 0.5);
    return x < p->low ? p->low : x > p->high ? p->high : x;
}

static void begin_fields(Fit *fit)
{
    for (uint32_t i = 0, at = fit->desc.param_count; i < fit->desc.field_count; ++i)
        for (uint32_t k = 0; k < fit->fields[i].count; ++k)
            fit->x[at++] = field_to_unit(&fit->fields[i], k, fit->fields[i].start[k]);
}

Status fit_create(const FitDesc *desc, Fit **out_fit, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc);
    *out_fit = NULL;
    TRY(check(desc, err));
    uint32_t count = desc->param_count;
    for (uint32_t i = 0; i < desc->field_count; ++i)
        count += desc->fields[i].count;
    Fit *fit = MEM_NEW(Fit);
    if (!fit)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    FitParam *params = MEM_ARRAY(FitParam, desc->param_count);
    *fit = (Fit){.desc = *desc,
                 .method = methods[desc->method],
                 .fields = MEM_ARRAY(FitField, desc->field_count),
                 .count = count,
                 .x = MEM_ARRAY(double, count),
                 .best = MEM_ARRAY(double, count),
                 .scratch = MEM_ARRAY(double, count),
                 .memory_count = methods[desc->method]->memory_count(count),
                 .value = (double)INFINITY,
                 .best_value = (double)INFINITY};
    fit->params = params;
    fit->desc.params = params;
    fit->desc.starts = desc->starts ? desc->starts : 1;
    fit->memory = MEM_ARRAY(double, fit->memory_count);
    fit->firsts = MEM_ARRAY(uint32_t, fit->desc.starts);
    if (!params || !fit->fields || !fit->x || !fit->best || !fit->scratch || !fit->memory ||
        !fit->firsts) {
        fit_destroy(fit);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    if (desc->param_count)
        memcpy(params, desc->params, desc->param_count * sizeof *params);
    if (desc->field_count)
        memcpy(fit->fields, desc->fields, desc->field_count * sizeof *fit->fields);
    fit->desc.fields = fit->fields;
    for (uint32_t i = 0; i < desc->param_count; ++i) {
        fit->x[i] = to_unit(&params[i], params[i].start);
        fit->best[i] = params[i].start;
    }
    begin_fields(fit);
    for (uint32_t i = 0, at = desc->param_count; i < desc->field_count; ++i)
        for (uint32_t k = 0; k < fit->fields[i].count; ++k)
            fit->best[at++] = fit->fields[i].start[k];
    *out_fit = fit;
    return STATUS_OK;
}

void fit_destroy(Fit *fit)
{
    if (!fit)
        return;
    mem_free(fit->params);
    mem_free(fit->fields);
    mem_free(fit->x);
    mem_free(fit->best);
    mem_free(fit->scratch);
    mem_free(fit->memory);
    mem_free(fit->history);
    mem_free(fit->firsts);
    mem_free(fit);
}

/* --- evaluation --------------------------------------------------------------------------------- */

Status fit_evaluate(Fit *fit, const double *u, double *out_value, double *out_gradient, Error *err)
{
    const FitDesc *desc = &fit->desc;
    ASSERT(u && out_value);
    for (uint32_t i = 0; i < desc->param_count; ++i)
        fit->scratch[i] = from_unit(&desc->params[i], u[i]);
    for (uint32_t i = 0, at = desc->param_count; i < desc->field_count; ++i)
        for (uint32_t k = 0; k < fit->fields[i].count; ++k, ++at)
            fit->scratch[at] = field_from_unit(&fit->fields[i], k, u[at]);
    TRY(desc->evaluate(desc->data, fit->scratch, out_value, out_gradient, err));
    ++fit->evaluations;
    bool is_defined = isfinite(*out_value);
    for (uint32_t i = 0; i < desc->param_count && out_gradient; ++i) {
        out_gradient[i] *= desc->params[i].high - desc->params[i].low;
        is_defined = is_defined && isfinite(out_gradient[i]);
    }
    for (uint32_t i = 0, at = desc->param_count; i < desc->field_count && out_gradient; ++i)
        for (uint32_t k = 0; k < fit->fields[i].count; ++k, ++at) {
            out_gradient[at] *= field_range(&fit->fields[i], k);
            is_defined = is_defined && isfinite(out_gradient[at]);
        }
    if (!is_defined) {
        *out_value = (double)INFINITY;
    } else if (*out_value < fit->best_value) {
        fit->best_value = *out_value;
        memcpy(fit->best, fit->scratch, fit->count * sizeof *fit->best);
    }
    return STATUS_OK;
}

/* SplitMix64 [Steele2014] of a counter. */
double fit_draw(Fit *fit)
{
    uint64_t z = fit->desc.seed + 0x9e3779b97f4a7c15u * ++fit->draws;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

double fit_draw_normal(Fit *fit)
{
    double radius = sqrt(-2 * log(1 - fit_draw(fit)));
    return radius * cos(6.283185307179586 * fit_draw(fit));
}

/* --- steps -------------------------------------------------------------------------------------- */

static Status remember(Fit *fit, Error *err)
{
    ASSERT(fit->history_count <= fit->history_room);
    if (fit->history_count == fit->history_room) {
        uint32_t room = fit->history_room ? 2 * fit->history_room : 256;
        double *history = MEM_ARRAY(double, room);
        if (!history)
            return error_set(err, STATUS_NO_MEMORY, "out of memory");
        if (fit->history_count)
            memcpy(history, fit->history, fit->history_count * sizeof *history);
        mem_free(fit->history);
        fit->history = history;
        fit->history_room = room;
    }
    fit->history[fit->history_count++] = fit->value;
    return STATUS_OK;
}

/* Finds a place where the function is defined: the caller's for the first start, else one that is drawn. */
static Status begin_start(Fit *fit, Error *err)
{
    const FitDesc *desc = &fit->desc;
    ASSERT(fit->start < desc->starts);
    for (uint32_t attempt = 0; attempt < DRAWS_OF_A_START; ++attempt) {
        for (uint32_t i = 0; i < desc->param_count && fit->start > 0; ++i)
            fit->x[i] = fit_draw(fit);
        if (fit->start > 0)
            begin_fields(fit);
        TRY(fit_evaluate(fit, fit->x, &fit->value, NULL, err));
        if (!isfinite(fit->value) && fit->start == 0)
            return error_set(err, STATUS_INVALID, "the loss is not finite at the start");
        if (!isfinite(fit->value))
            continue;
        memset(fit->memory, 0, fit->memory_count * sizeof *fit->memory);
        fit->firsts[fit->start] = fit->history_count;
        fit->has_ended = false;
        fit->iteration = 0;
        TRY(fit->method->begin(fit, err));
        fit->has_begun = true;
        return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID, "the loss is not finite at %d starts that were drawn",
                     DRAWS_OF_A_START);
}

Status fit_step(Fit *fit, Error *err)
{
    CHECK(!fit_is_done(fit));
    if (!fit->has_begun)
        TRY(begin_start(fit, err));
    TRY(fit->method->step(fit, err));
    TRY(remember(fit, err));
    ++fit->iteration;
    if (fit->has_ended || fit->iteration >= fit->desc.iterations) {
        fit->has_begun = false;
        ++fit->start;
    }
    return STATUS_OK;
}

FitRound fit_round(const Fit *fit)
{
    uint64_t rounds = (uint64_t)fit->desc.hops + 1, all = fit->desc.iterations;
    uint64_t hopping = fit->desc.hops ? all - all / 5 : 0;
    if (fit->iteration >= hopping)
        return (FitRound){(uint32_t)(fit->iteration - hopping), (uint32_t)(all - hopping), true};
    uint64_t round = fit->iteration * rounds / hopping;
    uint64_t first = (round * hopping + rounds - 1) / rounds;
    uint64_t end = ((round + 1) * hopping + rounds - 1) / rounds;
    return (FitRound){(uint32_t)(fit->iteration - first), (uint32_t)(end - first), false};
}

bool fit_is_done(const Fit *fit)
{
    return fit->start >= fit->desc.starts;
}

FitProgress fit_progress(const Fit *fit)
{
    FitRound round = fit_round(fit);
    bool hops = fit->has_begun && fit->iteration > 0 && round.at == 0;
    return (FitProgress){.start = fit->start,
                         .iteration = fit->has_begun ? fit->iteration : 0,
                         .part = !fit->has_begun ? 0
                                 : hops          ? 1
                                                 : (double)round.at / (double)round.count,
                         .hops_on = !fit_is_done(fit) && !round.is_last,
                         .evaluations = fit->evaluations,
                         .value = fit->value,
                         .best = fit->best_value};
}

const double *fit_best(const Fit *fit)
{
    return fit->best;
}

const double *fit_history(const Fit *fit, uint32_t *out_count, const uint32_t **out_firsts,
                          uint32_t *out_start_count)
{
    *out_count = fit->history_count;
    *out_firsts = fit->firsts;
    *out_start_count = fit->start + (fit->has_begun ? 1 : 0);
    return fit->history;
}
