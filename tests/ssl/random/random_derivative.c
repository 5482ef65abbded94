/* fwd_diff and bwd_diff of random functions, by the shader that random_derivative_source writes (writer_derivative.c):
 * in double, by the interpreter of IR, and as kernels, whose bits must be the same at every width.
 *
 * How much of a difference is rounding is measured: the two sides are computed again for tangents and weights of other
 * lengths. They are linear in both, so what then differs is rounding of this size. */
#include "base/check.h"
#include "ssl/passes/pass.h"
#include "tests/ssl/oracle/ir_eval.h"
#include "tests/ssl/random/random_check.h"
#include "tests/ssl/random/random_source.h"
#include "tools/ssl_kit/grid_host.h"
#include <math.h>
#include <string.h>

enum { VALUE, SAME, JW, TV, SIZE, OUTPUTS };
enum { GLOBAL_FLOAT = 0, GLOBAL_FLOAT2 = 3, GLOBAL_COLOR = 4, GLOBAL_INT = 5, GLOBAL_BOOL = 6 };
enum { DERIVED_POINTS = 6, SLOPE_STEPS = 2, WIDTHS = 4, POINTS = 2 * SSL_BLOCK + 4 };

/* An evaluation is so far along the tangent, and tangents and weights are so long. */
typedef struct Place {
    double along, tangent, weight;
    int32_t n;
    bool b;
} Place;

typedef struct Derived {
    const RandomHost *host;
    Arena *arena;
    const IrModule *module;
    bool detaches, keeps;
    RandomTally *tally;
    StrBuf *report;
} Derived;

static bool is_ordinary(double x)
{
    return fabs(x) < 1e9;
}

static bool are_ordinary(const double out[OUTPUTS])
{
    for (uint32_t i = 0; i < OUTPUTS; ++i)
        if (!is_ordinary(out[i]))
            return false;
    return true;
}

/* --- in double -------------------------------------------------------------------------------- */

/* What is known beside the outputs. */
typedef struct Beside {
    double slope;       /* the interpreter's own derivative of the value */
    uint64_t decisions; /* EvalResult */
} Beside;

/* Returns false if the program faults there. */
static bool evaluate(Derived *d, const Place *at, double out[OUTPUTS], Beside *beside)
{
    ArenaMark mark = arena_mark(d->arena);
    EvalPoint *point = ARENA_NEW(d->arena, EvalPoint);
    point->mode = EVAL_DUAL;
    point->folds = true;
    point->globals[GLOBAL_FLOAT][0][0] = at->along;
    point->globals[GLOBAL_FLOAT][1][0] = 1;
    point->globals[GLOBAL_FLOAT2][0][0] = at->tangent;
    point->globals[GLOBAL_FLOAT2][0][1] = at->weight;
    point->globals[GLOBAL_COLOR][0][0] = 0.75;
    point->globals[GLOBAL_INT][0][0] = at->n;
    point->globals[GLOBAL_BOOL][0][0] = at->b;
    EvalResult r = ir_eval(d->module, point, d->arena);
    bool is_good = r.fault == 0;
    for (uint32_t i = 0; i < OUTPUTS && is_good; ++i)
        out[i] = r.values[i].elements->v;
    const EvalScalar *value = r.values[VALUE].elements;
    *beside = (Beside){value->d[0], r.decisions};
    arena_rewind(d->arena, mark);
    return is_good;
}

static bool complain(Derived *d, uint32_t point, const char *what, double a, const char *other,
                     double b)
{
    strbuf_printf(d->report, "point %u: %s %.17g, %s %.17g\n", point, what, a, other, b);
    return false;
}

/* Compares with central differences of the value, if two steps agree enough to say something, and the derivative does not
 * change much between them. */
static bool compare_slope(Derived *d, uint32_t point, const Place *at, const double out[OUTPUTS],
                          uint64_t decisions)
{
    static const double steps[SLOPE_STEPS] = {1e-4, 0.5e-4};
    double size = 1 + fabs(out[VALUE]) + out[SIZE];
    double slope[SLOPE_STEPS], bend[SLOPE_STEPS], side[2][OUTPUTS];
    Beside beside;
    bool is_smooth = true;
    for (uint32_t s = 0; s < SLOPE_STEPS && is_smooth; ++s) {
        for (uint32_t k = 0; k < 2 && is_smooth; ++k) {
            Place moved = *at;
            moved.along += k ? steps[s] : -steps[s];
            is_smooth = evaluate(d, &moved, side[k], &beside) && are_ordinary(side[k]) &&
                        beside.decisions == decisions && fabs(side[k][JW] - out[JW]) < 1e-2 * size;
        }
        slope[s] = (side[1][VALUE] - side[0][VALUE]) / (2 * steps[s]);
        bend[s] = fabs(side[1][VALUE] - 2 * out[VALUE] + side[0][VALUE]) / steps[s];
    }
    is_smooth = is_smooth && fabs(slope[0] - slope[1]) < 1e-4 * size &&
                bend[1] <= 0.75 * bend[0] + 1e-7 * size;
    d->tally->slopes += is_smooth;
    d->tally->slopes_skipped += !is_smooth;
    if (!is_smooth || fabs(slope[1] - out[JW]) < 1e-3 * size)
        return true;
    return complain(d, point, "fwd_diff", out[JW], "central differences", slope[1]);
}

static bool check_point(Derived *d, uint32_t point, const Place *at)
{
    const Place longer = {at->along, 1.3 * 0x1p-40, 0.7 * 0x1p-40, at->n, at->b};
    double out[OUTPUTS], other[OUTPUTS];
    Beside beside, ignored;
    if (!evaluate(d, at, out, &beside) || !evaluate(d, &longer, other, &ignored) ||
        !are_ordinary(out) || !are_ordinary(other)) {
        ++d->tally->transposes_skipped;
        return true;
    }
    double scale = 1 + out[SIZE], length = longer.tangent * longer.weight;
    double rounding = fabs(other[JW] / length - out[JW]) + fabs(other[TV] / length - out[TV]);
    /* Where more is inlined more constants may be folded, which the interpreter follows but through loops that leave
     * a constant as it is. In kernels, which compute in float, too, the value has the same bits. */
    bool is_conditioned =
        rounding < 1e-9 * scale && fabs(out[VALUE] - out[SAME]) < 1e-12 * (1 + fabs(out[VALUE]));
    d->tally->transposes += is_conditioned;
    d->tally->transposes_skipped += !is_conditioned;
    /* A constant that is kept is no constant any more, so that what is made of it is not folded in float. */
    double tolerance = d->keeps ? 1e-6 : 1e-12;
    if (is_conditioned && fabs(out[JW] - out[TV]) > tolerance * scale + 100 * rounding)
        return complain(d, point, "fwd_diff", out[JW], "bwd_diff", out[TV]);
    bool is_compared = is_conditioned && !d->detaches && is_ordinary(beside.slope);
    d->tally->duals += is_compared;
    d->tally->duals_skipped += !is_compared;
    if (!is_compared)
        return true;
    if (fabs(out[JW] - beside.slope) > 1e-6 * (scale + fabs(out[VALUE])))
        return complain(d, point, "fwd_diff", out[JW], "dual numbers", beside.slope);
    return compare_slope(d, point, at, out, beside.decisions);
}

static RandomVerdict check_module(Derived *d, Str text, DiagList *diags)
{
    const SslSource source = {.name = "random.ssl", .text = text};
    Error err = {0};
    IrModule *module;
    Status status = lower_shader(d->host->lib, &random_tables, &source, d->arena, diags, &module);
    if (status == STATUS_OK)
        status = ir_derive(module, diags, &err);
    if (status != STATUS_OK)
        return random_refuse(diags, &err, status, d->report);
    d->module = module;
    for (uint32_t i = 0; i < DERIVED_POINTS; ++i) {
        const Place at = {(double)i * 0.37 - 0.9, 1, 1, (int32_t)i, i & 1};
        if (!check_point(d, i, &at))
            return RANDOM_BAD;
    }
    return RANDOM_GOOD;
}

/* --- kernels ---------------------------------------------------------------------------------- */

typedef struct Words {
    uint32_t word[POINTS][OUTPUTS];
    bool faults[POINTS];
} Words;

static float as_float(const Words *w, uint32_t point, uint32_t output)
{
    float x;
    memcpy(&x, &w->word[point][output], sizeof x);
    return x;
}

/* Points come in pairs, of which the second has tangents and weights of other lengths. */
static void set_points(GridHost *grid)
{
    for (uint32_t i = 0; i < POINTS; ++i) {
        uint32_t pair = i / 2;
        int32_t n = (int32_t)(pair % 6), b = (int32_t)(pair & 1);
        *grid_host_global(grid, GLOBAL_FLOAT, 0, 0, i) = (float)pair * 0.125f - 1;
        *grid_host_global(grid, GLOBAL_FLOAT2, 0, 0, i) = i & 1 ? 1.3f : 1;
        *grid_host_global(grid, GLOBAL_FLOAT2, 0, 1, i) = i & 1 ? 0.7f : 1;
        *grid_host_global(grid, GLOBAL_COLOR, 0, 0, i) = 0.75f;
        memcpy(grid_host_global(grid, GLOBAL_INT, 0, 0, i), &n, sizeof n);
        memcpy(grid_host_global(grid, GLOBAL_BOOL, 0, 0, i), &b, sizeof b);
    }
}

static RandomVerdict run_kernel(const Derived *d, const SslUnit *unit, const SslBuildDesc *how,
                                DiagList *diags, Words *out)
{
    Error err = {0};
    SslProgram *program;
    GridHost *grid;
    Status status = ssl_program_build(d->host->ctx, unit, how, diags, &program, &err);
    if (status != STATUS_OK)
        return random_refuse(diags, &err, status, d->report);
    CHECK(grid_host_create(program, random_tables.globals, random_tables.global_count, POINTS,
                           &grid, &err) == STATUS_OK);
    set_points(grid);
    grid_host_run(grid);
    for (uint32_t i = 0; i < POINTS; ++i) {
        out->faults[i] = grid_host_fault(grid, i) != 0;
        for (uint32_t o = 0; o < OUTPUTS; ++o)
            out->word[i][o] = grid_host_word(grid, ssl_program_info(program)->outputs[o], 0, i);
    }
    grid_host_destroy(grid);
    ssl_program_release(program);
    return RANDOM_GOOD;
}

static bool compare_bits(const Derived *d, const Words *a, const Words *b, const char *how)
{
    for (uint32_t i = 0; i < POINTS; ++i)
        for (uint32_t o = 0; o < OUTPUTS; ++o) {
            float x = as_float(a, i, o), y = as_float(b, i, o);
            if (a->word[i][o] == b->word[i][o] || (isnan(x) && isnan(y)))
                continue;
            strbuf_printf(d->report, "point %u: output %u is %.9g with one lane, %.9g %s\n", i, o,
                          (double)x, (double)y, how);
            return false;
        }
    return true;
}

static bool compare_pair(Derived *d, const Words *w, uint32_t point)
{
    double out[2][OUTPUTS], length = (double)1.3f * (double)0.7f;
    bool is_compared = !w->faults[point];
    for (uint32_t i = 0; i < 2; ++i) {
        for (uint32_t o = 0; o < OUTPUTS; ++o)
            out[i][o] = (double)as_float(w, point + i, o);
        is_compared = is_compared && are_ordinary(out[i]);
    }
    if (!w->faults[point] && w->word[point][VALUE] != w->word[point][SAME] &&
        !(out[0][VALUE] == out[0][SAME]) && !(isnan(out[0][VALUE]) && isnan(out[0][SAME])))
        return complain(d, point, "in a kernel the value", out[0][VALUE], "by fwd_diff",
                        out[0][SAME]);
    double scale = 1 + out[0][SIZE];
    double rounding =
        fabs(out[1][JW] / length - out[0][JW]) + fabs(out[1][TV] / length - out[0][TV]);
    is_compared = is_compared && rounding < 1e-4 * scale;
    d->tally->kernel_transposes += is_compared;
    d->tally->kernel_transposes_skipped += !is_compared;
    if (!is_compared || fabs(out[0][JW] - out[0][TV]) <= 1e-4 * scale + 16 * rounding)
        return true;
    return complain(d, point, "in a kernel fwd_diff", out[0][JW], "bwd_diff", out[0][TV]);
}

/* Holds a group of the unit alone, which builds the derivatives that it takes anew, against the unit. */
static RandomVerdict check_group(const Derived *d, const SslUnit *unit, DiagList *diags,
                                 const Words *of_unit)
{
    const SslBuildDesc how = {.size_bytes = sizeof how, .lanes = 8, .llvm_level = 1};
    Words *words = ARENA_NEW(d->arena, Words);
    SslUnit *group;
    RandomVerdict verdict = random_group_of(d->host->ctx, unit, d->report, &group);
    if (verdict == RANDOM_GOOD)
        verdict = run_kernel(d, group, &how, diags, words);
    if (verdict == RANDOM_GOOD && !compare_bits(d, of_unit, words, "as a group"))
        verdict = RANDOM_BAD;
    ssl_unit_release(group);
    return verdict;
}

/* Holds the program against the one without hints of what walking back keeps. */
static RandomVerdict check_hints(const Derived *d, Str text, DiagList *diags, const Words *hinted)
{
    static const char hint[] = "[PreferCheckpoint]";
    const size_t size = sizeof hint - 1;
    const SslBuildDesc how = {.size_bytes = sizeof how, .lanes = 8, .llvm_level = 1};
    char *plain = arena_strndup(d->arena, text.data, text.size_bytes);
    for (char *at = plain; (at = strstr(at, hint)) != NULL;)
        memset(at, ' ', size);
    if (memcmp(plain, text.data, text.size_bytes) == 0)
        return RANDOM_GOOD;
    const SslSource source = {.name = "random.ssl", .text = {plain, text.size_bytes}};
    Words *words = ARENA_NEW(d->arena, Words);
    SslUnit *unit;
    Status status = ssl_unit_compile(d->host->ctx, &source, diags, &unit);
    if (status != STATUS_OK)
        return random_refuse(diags, &(Error){0}, status, d->report);
    RandomVerdict verdict = run_kernel(d, unit, &how, diags, words);
    ssl_unit_release(unit);
    if (verdict == RANDOM_GOOD && !compare_bits(d, hinted, words, "without hints"))
        return RANDOM_BAD;
    return verdict;
}

static RandomVerdict check_kernels(Derived *d, Str text, DiagList *diags)
{
    static const uint32_t lanes[WIDTHS] = {1, 8, 16, 16}, levels[WIDTHS] = {1, 1, 1, 3};
    static const char *const names[WIDTHS] = {"", "with 8", "with 16", "with 16, optimised"};
    const SslSource source = {.name = "random.ssl", .text = text};
    Words *words = ARENA_ARRAY(d->arena, Words, WIDTHS);
    SslUnit *unit;
    Status status = ssl_unit_compile(d->host->ctx, &source, diags, &unit);
    if (status != STATUS_OK)
        return random_refuse(diags, &(Error){0}, status, d->report);
    RandomVerdict verdict = RANDOM_GOOD;
    for (uint32_t i = 0; i < WIDTHS && verdict == RANDOM_GOOD; ++i) {
        const SslBuildDesc how = {
            .size_bytes = sizeof how, .lanes = lanes[i], .llvm_level = levels[i]};
        verdict = run_kernel(d, unit, &how, diags, &words[i]);
        if (verdict == RANDOM_GOOD && !compare_bits(d, &words[0], &words[i], names[i]))
            verdict = RANDOM_BAD;
    }
    if (verdict == RANDOM_GOOD)
        verdict = check_group(d, unit, diags, &words[0]);
    if (verdict == RANDOM_GOOD)
        verdict = check_hints(d, text, diags, &words[0]);
    ssl_unit_release(unit);
    for (uint32_t i = 0; i + 1 < POINTS && verdict == RANDOM_GOOD; i += 2)
        if (!compare_pair(d, &words[0], i))
            verdict = RANDOM_BAD;
    return verdict;
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool has_word(Str text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; i + size <= text.size_bytes; ++i)
        if (memcmp(text.data + i, word, size) == 0)
            return true;
    return false;
}

RandomVerdict random_check_derivatives(const RandomHost *host, Str text, uint64_t seed,
                                       bool is_built, RandomTally *tally, StrBuf *report)
{
    jmp_buf no_memory;
    Arena *volatile arena = arena_create(0, 0);
    DiagList *volatile diags = diag_list_create();
    volatile RandomVerdict verdict = RANDOM_BAD;
    SORT_UNUSED(seed);
    CHECK(arena && diags);
    if (setjmp(no_memory) == 0) {
        arena_on_no_memory(arena, &no_memory);
        Derived *d = ARENA_NEW(arena, Derived);
        *d = (Derived){.host = host,
                       .arena = arena,
                       .detaches = has_word(text, "detach") || has_word(text, "no_diff"),
                       .keeps = has_word(text, "PreferCheckpoint"),
                       .tally = tally,
                       .report = report};
        verdict = check_module(d, text, diags);
        if (verdict == RANDOM_GOOD && is_built)
            verdict = check_kernels(d, text, diags);
    } else {
        strbuf_append_c(report, "out of memory\n");
    }
    ++tally->programs;
    tally->refused += verdict == RANDOM_REFUSED;
    diag_list_destroy(diags);
    arena_destroy(arena);
    return verdict;
}
