/* The methods of fit/ on functions with known minima, with bounds and without; the same bits from checkpoints as without
 * interruption; and what is refused. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "fit/fit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
// clang-format off
#include <stdarg.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on

enum { PARAMS_MAX = 20 };

typedef struct Function {
    uint32_t count;
    double (*value)(const double *x, uint32_t count, double *gradient);
    double low, high;
    uint64_t evaluations;
    uint64_t fails_at; /* 0: never */
} Function;

static Status evaluate(void *data, const double *x, double *out_value, double *out_gradient,
                       Error *err)
{
    Function *f = data;
    double gradient[PARAMS_MAX] = {0};
    for (uint32_t i = 0; i < f->count; ++i)
        if (!(x[i] >= f->low && x[i] <= f->high))
            fail_msg("%g is outside of %g and %g", x[i], f->low, f->high);
    if (++f->evaluations == f->fails_at)
        return error_set(err, STATUS_IO, "evaluation %llu fails", (unsigned long long)f->fails_at);
    *out_value = f->value(x, f->count, gradient);
    if (out_gradient)
        memcpy(out_gradient, gradient, f->count * sizeof *gradient);
    return STATUS_OK;
}

/* --- functions ----------------------------------------------------------------------------------- */

/* Least at (1, 2, 3 ...) / 10, where it is 0, with curvatures from 1 to 1000. */
static double quadratic(const double *x, uint32_t count, double *gradient)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        double d = x[i] - 0.1 * (i + 1),
               curvature = pow(1000, (double)i / (count > 1 ? count - 1 : 1));
        sum += curvature * d * d;
        gradient[i] = 2 * curvature * d;
    }
    return sum;
}

/* Least at (1, 1, ...), at the end of a bent valley. */
static double rosenbrock(const double *x, uint32_t count, double *gradient)
{
    double sum = 0;
    for (uint32_t i = 0; i + 1 < count; ++i) {
        double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
        sum += 100 * a * a + b * b;
        gradient[i] += -400 * a * x[i] - 2 * b;
        gradient[i + 1] += 200 * a;
    }
    return sum;
}

/* Falls towards a corner: least at the lower bound of even and the upper one of odd parameters, but 0.3 for the last. */
static double corner(const double *x, uint32_t count, double *gradient)
{
    double sum = 0;
    for (uint32_t i = 0; i + 1 < count; ++i) {
        double sign = i % 2 ? -1 : 1;
        sum += sign * x[i] + 0.1 * x[i] * x[i];
        gradient[i] = sign + 0.2 * x[i];
    }
    double d = x[count - 1] - 0.3;
    gradient[count - 1] = 2 * d;
    return sum + d * d;
}

/* Many local minima, a unit from each other; the lowest at 0. */
static double rastrigin(const double *x, uint32_t count, double *gradient)
{
    const double turn = 6.283185307179586;
    double sum = 0;
    for (uint32_t i = 0; i < count; ++i) {
        sum += x[i] * x[i] + 10 * (1 - cos(turn * x[i]));
        gradient[i] = 2 * x[i] + 10 * turn * sin(turn * x[i]);
    }
    return sum;
}

static double undefined_below_half(const double *x, uint32_t count, double *gradient)
{
    return x[0] < 0.5 ? (double)NAN : quadratic(x, count, gradient);
}

static double undefined(const double *x, uint32_t count, double *gradient)
{
    SORT_UNUSED(x);
    SORT_UNUSED(count);
    SORT_UNUSED(gradient);
    return (double)INFINITY;
}

static double whole(const double *x, uint32_t count, double *gradient)
{
    SORT_UNUSED(gradient);
    assert_true(x[0] == floor(x[0]));
    double d = x[0] - 5, e = count > 1 ? x[1] - 0.25 : 0;
    return d * d + e * e;
}

/* --- helpers ------------------------------------------------------------------------------------- */

static const char *const names[PARAMS_MAX] = {"p0",  "p1",  "p2",  "p3",  "p4",  "p5",  "p6",
                                              "p7",  "p8",  "p9",  "p10", "p11", "p12", "p13",
                                              "p14", "p15", "p16", "p17", "p18", "p19"};

typedef struct Setup {
    Function f;
    FitParam params[PARAMS_MAX];
    FitDesc desc;
} Setup;

static void set_up(Setup *s, FitMethod method, double (*value)(const double *, uint32_t, double *),
                   uint32_t count, double low, double high)
{
    *s = (Setup){.f = {.count = count, .value = value, .low = low, .high = high}};
    for (uint32_t i = 0; i < count; ++i)
        s->params[i] = (FitParam){.name = names[i],
                                  .low = low,
                                  .high = high,
                                  .start = low + (high - low) * (0.2 + 0.6 * (i % 3) / 2)};
    s->desc = (FitDesc){.size_bytes = sizeof s->desc,
                        .method = method,
                        .params = s->params,
                        .param_count = count,
                        .iterations = 1000,
                        .starts = 1,
                        .seed = 7,
                        .evaluate = evaluate,
                        .data = &s->f};
}

static Fit *create(Setup *s)
{
    Error err = {0};
    Fit *fit;
    s->desc.params = s->params;
    s->desc.data = &s->f;
    if (fit_create(&s->desc, &fit, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return fit;
}

static void run(Fit *fit)
{
    Error err = {0};
    while (!fit_is_done(fit))
        if (fit_step(fit, &err) != STATUS_OK)
            fail_msg("%s", err.text);
}

static void expect_at(const Fit *fit, uint32_t count, double (*place)(uint32_t), double tolerance)
{
    for (uint32_t i = 0; i < count; ++i)
        if (!(fabs(fit_best(fit)[i] - place(i)) <= tolerance))
            fail_msg("parameter %u is %.9g and not %.9g", i, fit_best(fit)[i], place(i));
}

static double tenths(uint32_t i)
{
    return 0.1 * (i + 1);
}

static double ones(uint32_t i)
{
    SORT_UNUSED(i);
    return 1;
}

/* --- minima ------------------------------------------------------------------------------------- */

static void test_quadratic(void **state)
{
    SORT_UNUSED(state);
    static const double tolerance[] = {[FIT_ADAM] = 1e-3, [FIT_LBFGS] = 1e-8, [FIT_CMA] = 1e-7};
    for (FitMethod method = FIT_ADAM; method <= FIT_CMA; ++method)
        for (uint32_t count = 1; count <= 8; count += 7) {
            Setup s;
            set_up(&s, method, quadratic, count, -1, 2);
            Fit *fit = create(&s);
            run(fit);
            expect_at(fit, count, tenths, tolerance[method]);
            fit_destroy(fit);
        }
}

static void test_rosenbrock(void **state)
{
    SORT_UNUSED(state);
    Setup s;
    set_up(&s, FIT_LBFGS, rosenbrock, 10, -2, 2);
    s.params[0].start = 0.5; /* from -1.2 the way leads to a local minimum near (-1, 1, 1 ...) */
    Fit *fit = create(&s);
    run(fit);
    expect_at(fit, 10, ones, 1e-5);
    assert_true(s.f.evaluations < 1000);
    fit_destroy(fit);
    set_up(&s, FIT_CMA, rosenbrock, 4, -2, 2);
    fit = create(&s);
    run(fit);
    expect_at(fit, 4, ones, 1e-6);
    fit_destroy(fit);
    set_up(&s, FIT_ADAM, rosenbrock, 2, -2, 2);
    s.desc.iterations = 4000;
    fit = create(&s);
    run(fit);
    expect_at(fit, 2, ones, 0.02);
    fit_destroy(fit);
}

static double at_corner(uint32_t i)
{
    return i == 4 ? 0.3 : i % 2 ? 1.5 : -1;
}

static void test_bounds(void **state)
{
    SORT_UNUSED(state);
    for (FitMethod method = FIT_ADAM; method <= FIT_CMA; ++method) {
        Setup s;
        set_up(&s, method, corner, 5, -1, 1.5);
        Fit *fit = create(&s);
        run(fit);
        expect_at(fit, 5, at_corner, method == FIT_ADAM ? 1e-3 : 1e-5);
        fit_destroy(fit);
    }
    Setup s; /* Rosenbrock's valley ends at a bound: x1 = 0.5, x2 = 0.25 */
    set_up(&s, FIT_LBFGS, rosenbrock, 2, -2, 0.5);
    Fit *fit = create(&s);
    run(fit);
    assert_true(fabs(fit_best(fit)[0] - 0.5) < 1e-9 && fabs(fit_best(fit)[1] - 0.25) < 1e-7);
    fit_destroy(fit);
}

/* From 60 random starts gradients find the lowest of 121 minima; from one they do not. CMA-ES does from 10. */
static void test_starts(void **state)
{
    SORT_UNUSED(state);
    Setup s;
    set_up(&s, FIT_LBFGS, rastrigin, 2, -5, 5.5);
    Fit *fit = create(&s);
    run(fit);
    assert_true(fit_progress(fit).best > 0.9);
    fit_destroy(fit);
    s.desc.starts = 60;
    s.desc.seed = 3;
    fit = create(&s);
    run(fit);
    uint32_t count, starts;
    const uint32_t *firsts;
    (void)fit_history(fit, &count, &firsts, &starts);
    assert_int_equal(starts, 60);
    assert_true(firsts[59] > firsts[58] && count > firsts[59]);
    assert_true(fit_progress(fit).best < 1e-9);
    fit_destroy(fit);
    set_up(&s, FIT_CMA, rastrigin, 2, -5, 5.5);
    s.desc.starts = 10;
    s.desc.iterations = 300;
    fit = create(&s);
    run(fit);
    assert_true(fit_progress(fit).best < 1e-9);
    fit_destroy(fit);
}

/* Two pairs, each with 64 minima: descent ends in one beside the start, hops find the lowest of each pair. */
static void test_hops(void **state)
{
    SORT_UNUSED(state);
    for (uint32_t hops = 0; hops <= 20; hops += 20) {
        Setup s;
        set_up(&s, FIT_ADAM, rastrigin, 4, -4.3, 3.8);
        for (uint32_t i = 0; i < 4; ++i)
            s.params[i].group = 1 + i / 2;
        s.desc.hops = hops;
        s.desc.step = 0.005;
        Fit *fit = create(&s);
        double last_part = 0;
        uint32_t rounds = 0;
        while (!fit_is_done(fit)) {
            FitProgress p = fit_progress(fit);
            assert_true(p.part >= 0 && p.part <= 1);
            assert_true(p.hops_on == (hops > 0 && p.iteration < 800)); /* four fifths */
            rounds += p.part == 1 && hops > 0;
            assert_true(hops > 0 || p.part >= last_part);
            last_part = p.part;
            assert_int_equal(fit_step(fit, &(Error){0}), STATUS_OK);
        }
        assert_int_equal(rounds, hops ? hops + 1 : 0); /* and the return to the best at the end */
        assert_true(hops ? fit_progress(fit).best < 1e-4 : fit_progress(fit).best > 5);
        fit_destroy(fit);
    }
}

static void test_whole_numbers(void **state)
{
    SORT_UNUSED(state);
    Setup s;
    set_up(&s, FIT_CMA, whole, 2, 0, 9);
    s.params[0].is_whole = true;
    s.params[0].start = 2;
    Fit *fit = create(&s);
    run(fit);
    assert_true(fit_best(fit)[0] == 5 && fabs(fit_best(fit)[1] - 0.25) < 1e-6);
    fit_destroy(fit);
}

/* --- places where the function is not defined ------------------------------------------------------ */

static void test_undefined(void **state)
{
    SORT_UNUSED(state);
    Error err = {0};
    for (FitMethod method = FIT_ADAM; method <= FIT_CMA; ++method) {
        Setup s;
        set_up(&s, method, undefined_below_half, 3, -1, 2);
        s.params[0].start = 1.5;
        s.desc.starts = 4;
        Fit *fit = create(&s);
        run(fit); /* starts are drawn until the function is defined there */
        assert_true(fit_best(fit)[0] >= 0.5 && fit_best(fit)[0] < 0.6);
        assert_true(isfinite(fit_progress(fit).best));
        fit_destroy(fit);
        s.params[0].start = 0;
        fit = create(&s);
        assert_int_equal(fit_step(fit, &err), STATUS_INVALID);
        assert_non_null(strstr(err.text, "not finite at the start"));
        fit_destroy(fit);
    }
    Setup s;
    set_up(&s, FIT_ADAM, undefined, 2, 0, 1);
    Fit *fit = create(&s);
    assert_int_equal(fit_step(fit, &err), STATUS_INVALID);
    fit_destroy(fit);
}

static void test_errors_pass(void **state)
{
    SORT_UNUSED(state);
    for (FitMethod method = FIT_ADAM; method <= FIT_CMA; ++method)
        for (uint64_t at = 1; at < 12; ++at) {
            Setup s;
            Error err = {0};
            set_up(&s, method, quadratic, 3, -1, 2);
            s.f.fails_at = at;
            Fit *fit = create(&s);
            Status status = STATUS_OK;
            for (uint32_t i = 0; i < 20 && status == STATUS_OK; ++i)
                status = fit_step(fit, &err);
            assert_int_equal(status, STATUS_IO);
            fit_destroy(fit);
        }
}

/* --- checkpoints ------------------------------------------------------------------------------------ */

typedef struct Folder {
    char path[PATH_BYTES], file[PATH_BYTES];
} Folder;

static void make_folder(Folder *folder)
{
    Error err = {0};
    assert_int_equal(file_make_temp_directory("fit", folder->path, &err), STATUS_OK);
    assert_int_equal(path_join(folder->path, "state", folder->file, &err), STATUS_OK);
}

static void remove_folder(const Folder *folder)
{
    assert_int_equal(file_remove_tree(folder->path, &(Error){0}), STATUS_OK);
}

static void assert_same(const Fit *a, const Fit *b, uint32_t params)
{
    uint32_t counts[2], starts[2];
    const uint32_t *firsts[2];
    const double *history = fit_history(a, &counts[0], &firsts[0], &starts[0]);
    const double *other = fit_history(b, &counts[1], &firsts[1], &starts[1]);
    assert_int_equal(counts[0], counts[1]);
    assert_int_equal(starts[0], starts[1]);
    assert_memory_equal(history, other, counts[0] * sizeof *history);
    assert_memory_equal(firsts[0], firsts[1], starts[0] * sizeof **firsts);
    assert_memory_equal(fit_best(a), fit_best(b), params * sizeof(double));
    assert_int_equal(fit_progress(a).evaluations, fit_progress(b).evaluations);
}

/* Each method, and adam with hops, interrupted after each of the first steps and then every few. */
static void test_resume(void **state)
{
    SORT_UNUSED(state);
    Folder folder;
    make_folder(&folder);
    Error err = {0};
    for (uint32_t kind = 0; kind <= 3; ++kind) {
        Setup s;
        set_up(&s, kind < 3 ? (FitMethod)kind : FIT_ADAM, rosenbrock, 5, -2, 2);
        s.params[1].group = s.params[2].group = 1;
        s.desc.hops = kind == 3 ? 4 : 0;
        s.desc.iterations = 30;
        s.desc.starts = 3;
        Fit *whole_fit = create(&s);
        run(whole_fit);
        uint32_t total, starts;
        const uint32_t *firsts;
        (void)fit_history(whole_fit, &total, &firsts, &starts);
        for (uint32_t at = 0; at <= total; at += at < 4 ? 1 : 7) {
            Fit *first = create(&s);
            for (uint32_t i = 0; i < at; ++i)
                assert_int_equal(fit_step(first, &err), STATUS_OK);
            assert_int_equal(fit_save(first, folder.file, &err), STATUS_OK);
            fit_destroy(first);
            Fit *second = create(&s);
            if (fit_load(second, folder.file, &err) != STATUS_OK)
                fail_msg("%s", err.text);
            run(second);
            assert_same(whole_fit, second, 5);
            fit_destroy(second);
        }
        fit_destroy(whole_fit);
    }
    remove_folder(&folder);
}

static void expect(Status status, Status wanted, const Error *err, const char *text)
{
    if (status != wanted || !strstr(err->text, text))
        fail_msg("status %d: '%s', not '%s'", (int)status, err->text, text);
}

static void test_checkpoints_refused(void **state)
{
    SORT_UNUSED(state);
    Folder folder;
    make_folder(&folder);
    Error err = {0};
    Setup s;
    set_up(&s, FIT_ADAM, rosenbrock, 3, -2, 2);
    s.desc.iterations = 10;
    Fit *fit = create(&s);
    for (uint32_t i = 0; i < 4; ++i)
        assert_int_equal(fit_step(fit, &err), STATUS_OK);
    expect(fit_load(fit, folder.file, &err), STATUS_NOT_FOUND, &err, "");
    assert_int_equal(fit_save(fit, folder.file, &err), STATUS_OK);
    fit_destroy(fit);

    char *data;
    size_t size;
    assert_int_equal(file_read(folder.file, 1 << 20, &data, &size, &err), STATUS_OK);
    for (uint32_t change = 0; change < 6; ++change) { /* another fit */
        Setup other = s;
        other.desc.seed += change == 0;
        other.params[1].high += change == 1 ? 1 : 0;
        other.f.high = other.params[1].high;
        other.desc.problem.bytes[3] ^= change == 2;
        other.desc.iterations += change == 3 ? 1 : 0;
        other.desc.method = change == 4 ? FIT_CMA : FIT_ADAM;
        other.params[2].name = change == 5 ? "other" : names[2];
        Fit *wrong = create(&other);
        expect(fit_load(wrong, folder.file, &err), STATUS_INVALID, &err,
               "the checkpoint is one of");
        fit_destroy(wrong);
    }
    for (size_t at = 0; at < size; at += at < 96 ? 1 : 37) { /* damaged, or cut */
        Fit *whole_fit = create(&s);
        data[at] = (char)(data[at] ^ 0x10);
        assert_int_equal(file_write(folder.file, data, size, &err), STATUS_OK);
        assert_int_not_equal(fit_load(whole_fit, folder.file, &err), STATUS_OK);
        data[at] = (char)(data[at] ^ 0x10);
        assert_int_equal(file_write(folder.file, data, at, &err), STATUS_OK);
        expect(fit_load(whole_fit, folder.file, &err), STATUS_FORMAT, &err, "");
        fit_destroy(whole_fit);
    }
    mem_free(data);
    remove_folder(&folder);
}

/* --- what is refused ------------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    SORT_UNUSED(state);
    static const struct {
        FitParam param;
        FitMethod method;
        uint32_t count, iterations, starts;
        double step;
        uint32_t hops;
        const char *text;
    } rows[] = {
        {{"x", 2, 1, 1, false, 0}, FIT_ADAM, 1, 5, 1, 0, 0, "the bounds of 'x' are 2 and 1"},
        {{"x", 1, 1, 1, false, 0}, FIT_ADAM, 1, 5, 1, 0, 0, "the bounds of 'x' are 1 and 1"},
        {{"x", 0, (double)INFINITY, 1, false, 0}, FIT_ADAM, 1, 5, 1, 0, 0, "the bounds of 'x'"},
        {{"x", -1e308, 1e308, 1, false, 0}, FIT_ADAM, 1, 5, 1, 0, 0, "are too far apart"},
        {{"x", 0, 1, 2, false, 0}, FIT_ADAM, 1, 5, 1, 0, 0, "'x' starts at 2, outside"},
        {{"x", 0, 1, (double)NAN, false, 0}, FIT_ADAM, 1, 5, 1, 0, 0, "'x' starts at nan"},
        {{"x", 0, 1, 1, true, 0}, FIT_LBFGS, 1, 5, 1, 0, 0, "only cma does"},
        {{"x", 0, 1, 1, false, 0}, FIT_ADAM, 0, 5, 1, 0, 0, "0 parameters"},
        {{"x", 0, 1, 1, false, 0}, FIT_ADAM, 1, 0, 1, 0, 0, "0 iterations"},
        {{"x", 0, 1, 1, false, 0}, FIT_ADAM, 1, 5, 100001, 0, 0, "100001 starts"},
        {{"x", 0, 1, 1, false, 0}, FIT_ADAM, 1, 5, 1, 2, 0, "a step of 2"},
        {{"x", 0, 1, 1, false, 0}, (FitMethod)3, 1, 5, 1, 0, 0, "3 is no FitMethod"},
        {{"x", 0, 1, 1, false, 0}, FIT_ADAM, 1, 5, 1, 0, 2, "none is in one"},
        {{"x", 0, 1, 1, false, 1}, FIT_CMA, 1, 50, 1, 0, 2, "only the method adam hops"},
        {{"x", 0, 1, 1, false, 1}, FIT_ADAM, 1, 50, 1, 0, 25, "25 hops in 50 iterations"},
    };
    for (size_t i = 0; i < SORT_COUNT_OF(rows); ++i) {
        const FitDesc desc = {.size_bytes = sizeof desc,
                              .method = rows[i].method,
                              .params = &rows[i].param,
                              .param_count = rows[i].count,
                              .iterations = rows[i].iterations,
                              .starts = rows[i].starts,
                              .step = rows[i].step,
                              .hops = rows[i].hops,
                              .evaluate = evaluate};
        Fit *fit;
        Error err = {0};
        expect(fit_create(&desc, &fit, &err), STATUS_INVALID, &err, rows[i].text);
        assert_null(fit);
    }
}

/* --- fields -------------------------------------------------------------------------------------- */

enum { FIELD = 40, FIELD_NUMBERS = 1 + FIELD };

/* Least where the numbers of the field are thirds of their places, times the parameter. Number 7 has no gradient; number 8 has one every
 * other time. */
typedef struct Canvas {
    uint32_t evaluations;
    double seen[FIELD_NUMBERS]; /* at the last gradient */
    bool was_touched;           /* number 8 by the one before */
} Canvas;

static double canvas_target(uint32_t i)
{
    return (i % 4 == 3 ? 1 : -2) * (double)i / (2 * FIELD);
}

static Status evaluate_canvas(void *data, const double *x, double *out_value, double *out_gradient,
                              Error *err)
{
    SORT_UNUSED(err);
    Canvas *canvas = data;
    double difference = x[0] - 0.25;
    *out_value = difference * difference;
    if (out_gradient) {
        double before = canvas->seen[1 + 8];
        assert_true(canvas->evaluations == 0 || canvas->was_touched || x[1 + 8] == before);
        out_gradient[0] = 2 * difference;
        memcpy(canvas->seen, x, sizeof canvas->seen);
        canvas->was_touched = ++canvas->evaluations % 2;
    }
    for (uint32_t i = 0; i < FIELD; ++i) {
        bool is_touched = i != 7 && (i != 8 || canvas->was_touched);
        double own = x[1 + i] - canvas_target(i);
        assert_true(i % 4 == 3 ? x[1 + i] >= 0 && x[1 + i] <= 1
                               : x[1 + i] >= -2 && x[1 + i] <= 0.5);
        *out_value += i == 7 ? 0 : own * own;
        if (out_gradient)
            out_gradient[1 + i] = is_touched ? 2 * own : 0;
    }
    return STATUS_OK;
}

static void describe_canvas(FitDesc *desc, FitParam *param, FitField *field, const double *start,
                            Canvas *canvas, FitMethod method)
{
    *canvas = (Canvas){0};
    *param = (FitParam){.name = "x", .low = -1, .high = 1, .start = 0.9};
    *field = (FitField){.name = "canvas",
                        .low = {-2, -2, -2, 0},
                        .high = {0.5, 0.5, 0.5, 1},
                        .channel_count = 4,
                        .start = start,
                        .count = FIELD};
    *desc = (FitDesc){.size_bytes = sizeof *desc,
                      .method = method,
                      .params = param,
                      .param_count = 1,
                      .fields = field,
                      .field_count = 1,
                      .iterations = 1500,
                      .starts = 1,
                      .evaluate = evaluate_canvas,
                      .data = canvas};
}

static Fit *new_canvas_fit(const FitDesc *desc)
{
    Error err = {0};
    Fit *fit;
    if (fit_create(desc, &fit, &err) != STATUS_OK)
        fail_msg("%s", err.text);
    return fit;
}

/* Bounds by channel; numbers that nothing touches stay, with their moments. */
static void test_fields(void **state)
{
    SORT_UNUSED(state);
    FitDesc desc;
    FitParam param;
    FitField field;
    Canvas canvas;
    double start[FIELD] = {0};
    start[7] = 0.625;
    for (uint32_t starts = 1; starts <= 2; ++starts) {
        describe_canvas(&desc, &param, &field, start, &canvas, FIT_ADAM);
        desc.starts = starts; /* the field begins as before in each */
        Fit *fit = new_canvas_fit(&desc);
        run(fit);
        assert_true(fabs(fit_best(fit)[0] - 0.25) < 1e-3);
        for (uint32_t i = 0; i < FIELD; ++i)
            if (!(fabs(fit_best(fit)[1 + i] - (i == 7 ? 0.625 : canvas_target(i))) < 1e-3))
                fail_msg("number %u is %g", i, fit_best(fit)[1 + i]);
        assert_true(fit_best(fit)[1 + 7] == 0.625);
        fit_destroy(fit);
    }
    /* A field alone; and taken up again. */
    describe_canvas(&desc, &param, &field, start, &canvas, FIT_ADAM);
    desc.iterations = 60;
    Fit *whole = new_canvas_fit(&desc), *part = new_canvas_fit(&desc);
    run(whole);
    Error err = {0};
    canvas = (Canvas){0};
    for (uint32_t i = 0; i < 31; ++i)
        assert_int_equal(fit_step(part, &err), STATUS_OK);
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "/tmp/sort-test-fields.%d", (int)getpid());
    assert_int_equal(fit_save(part, path, &err), STATUS_OK);
    fit_destroy(part);
    part = new_canvas_fit(&desc);
    assert_int_equal(fit_load(part, path, &err), STATUS_OK);
    run(part);
    assert_memory_equal(fit_best(part), fit_best(whole), FIELD_NUMBERS * sizeof(double));
    fit_destroy(part);
    start[3] = 0.5;
    part = new_canvas_fit(&desc);
    expect(fit_load(part, path, &err), STATUS_INVALID, &err, "another fit");
    (void)remove(path);
    fit_destroy(part);
    fit_destroy(whole);
}

static void test_fields_refused(void **state)
{
    SORT_UNUSED(state);
    FitDesc desc;
    FitParam param;
    FitField field;
    Canvas canvas;
    double start[FIELD] = {0};
    Fit *fit;
    Error err = {0};
    describe_canvas(&desc, &param, &field, start, &canvas, FIT_CMA);
    expect(fit_create(&desc, &fit, &err), STATUS_INVALID, &err, "only adam and lbfgs fit them");
    desc.method = FIT_ADAM;
    start[7] = 2;
    expect(fit_create(&desc, &fit, &err), STATUS_INVALID, &err,
           "'canvas' starts at 2 in number 7, outside of its bounds 0 and 1");
    start[7] = 0;
    field.high[1] = -3;
    expect(fit_create(&desc, &fit, &err), STATUS_INVALID, &err, "the bounds of 'canvas'");
    field.channel_count = 5;
    expect(fit_create(&desc, &fit, &err), STATUS_INVALID, &err, "5 channels");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quadratic),      cmocka_unit_test(test_rosenbrock),
        cmocka_unit_test(test_bounds),         cmocka_unit_test(test_starts),
        cmocka_unit_test(test_hops),           cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_undefined),      cmocka_unit_test(test_errors_pass),
        cmocka_unit_test(test_resume),         cmocka_unit_test(test_checkpoints_refused),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_fields),
        cmocka_unit_test(test_fields_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
