#include "base/check.h"
#include "tools/ssl_test/ssl_test.h"
#include <math.h>
#include <string.h>

/* --- numbers as text ---------------------------------------------------------------------------- */

static void print_numbers(StrBuf *out, const double *x, uint32_t count)
{
    if (count != 1)
        strbuf_append_char(out, '(');
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "%s%.9g", i ? " " : "", x[i]);
    if (count != 1)
        strbuf_append_char(out, ')');
}

static bool is_near(double found, double expected, double tolerance)
{
    if (isnan(expected))
        return isnan(found);
    if (expected != trunc(expected) && found == (double)(float)expected)
        return true; /* the very number, which is a float: 0.1 +- 0 */
    return found == expected || fabs(found - expected) <= tolerance;
}

static double default_tolerance(double expected)
{
    return 1e-5 * fmax(1.0, fabs(expected));
}

static double tolerance_of(const Expectation *e, double expected)
{
    return e->has_tolerance ? e->tolerance : default_tolerance(expected);
}

/* One given number stands for all components. */
static double component_of(const ExpectNumbers *numbers, uint32_t i)
{
    ASSERT(numbers->count == 1 || i < numbers->count);
    return numbers->x[numbers->count == 1 ? 0 : i];
}

/* The first component that is not as expected; count: all are. */
static uint32_t first_wrong(const Expectation *e, const ExpectNumbers *expected,
                            const double *found, uint32_t count)
{
    if (expected->count != 1 && expected->count != count)
        return 0;
    for (uint32_t i = 0; i < count; ++i) {
        double x = component_of(expected, i);
        if (!is_near(found[i], x, tolerance_of(e, x)))
            return i;
    }
    return count;
}

static bool are_near(const Expectation *e, const ExpectNumbers *expected, const double *found,
                     uint32_t count)
{
    return first_wrong(e, expected, found, count) == count;
}

/* Says what was found, and how far off its first component is that is wrong. */
static void label_wrong(TestShot *shot, const Expectation *e, const ExpectNumbers *expected,
                        const double *found, uint32_t count, const char *text)
{
    uint32_t at = first_wrong(e, expected, found, count);
    ASSERT(at < count);
    double wanted = component_of(expected, at), off = found[at] - wanted;
    if (!isfinite(off))
        diag_label(shot->run->report, "%s: found %s", shot->level, text);
    else if (count == 1)
        diag_label(shot->run->report, "%s: found %s (off by %.3g, tolerance %.3g)", shot->level,
                   text, off, tolerance_of(e, wanted));
    else
        diag_label(shot->run->report, "%s: found %s (component %u is off by %.3g, tolerance %.3g)",
                   shot->level, text, at, off, tolerance_of(e, wanted));
}

/* Reports `found` at an expectation: what is expected stands on the line that is shown, so the label says
 * what came. */
static void report_numbers(TestShot *shot, const Expectation *e, const char *what,
                           const ExpectNumbers *expected, const double *found, uint32_t count)
{
    StrBuf text = {0};
    print_numbers(&text, found, count);
    diag_add(shot->run->report, DIAG_ERROR, "", e->span, "%s is not as expected", what);
    if (expected->count != 1 && expected->count != count)
        diag_label(shot->run->report, "%s: found %s: %u numbers, not %u", shot->level,
                   strbuf_text(&text), count, expected->count);
    else
        label_wrong(shot, e, expected, found, count, strbuf_text(&text));
    strbuf_free(&text);
}

/* --- checking one expectation -------------------------------------------------------------------- */

static double output_scalar(const TestShot *shot, SslOutputSlot slot, SslType type,
                            uint32_t component)
{
    if (type == SSL_INT || type == SSL_BOOL)
        return (double)(int32_t)grid_host_word(shot->host, slot, component, 0);
    return (double)grid_host_float(shot->host, slot, component, 0);
}

static bool check_output(TestShot *shot, const Expectation *e)
{
    const SslUnitInfo *unit = shot->info->unit;
    uint32_t at = 0;
    while (at < unit->output_count && strcmp(unit->outputs[at].name, e->name) != 0)
        ++at;
    SslType type = at < unit->output_count ? unit->outputs[at].type : SSL_VOID;
    const SslShape *shape = at < unit->output_count ? unit->outputs[at].shape : NULL;
    uint32_t scalars = ssl_value_scalars(type, shape);
    SslOutputSlot slot = {0};
    if (scalars)
        slot = (e->kind == EXPECT_DDX   ? shot->info->outputs_ddx
                : e->kind == EXPECT_DDY ? shot->info->outputs_ddy
                                        : shot->info->outputs)[at];
    if (slot.offset == 0 || (e->component >= 0 && (uint32_t)e->component >= scalars)) {
        diag_add(shot->run->report, DIAG_ERROR, "", e->span, "the shader has no such output");
        return false;
    }
    double found[16];
    uint32_t first = e->component >= 0 ? (uint32_t)e->component : 0;
    uint32_t count = e->component >= 0 ? 1 : scalars < 16 ? scalars : 16;
    for (uint32_t i = 0; i < count; ++i)
        found[i] = output_scalar(shot, slot, ssl_value_kind(type, shape, first + i), first + i);
    if (are_near(e, &e->value, found, count))
        return true;
    report_numbers(shot, e, "the output", &e->value, found, count);
    return false;
}

static uint32_t lobe_scalars(const TestShot *shot, uint32_t lobe)
{
    const SslClosureRow *row = &shot->run->tables.closures[shot->info->lobes[lobe].closure];
    uint32_t scalars = 0;
    for (uint32_t i = 0; i < row->arg_count; ++i)
        scalars += ssl_type_scalars(row->args[i].type);
    return scalars;
}

static const char *lobe_name(const TestShot *shot, uint32_t lobe)
{
    return shot->run->tables.closures[shot->info->lobes[lobe].closure].name;
}

/* The next lobe that is present, or lobe_count. */
static uint32_t next_lobe(TestShot *shot)
{
    while (shot->next_lobe < shot->info->lobe_count &&
           !grid_host_has_lobe(shot->host, shot->next_lobe, 0))
        ++shot->next_lobe;
    return shot->next_lobe < shot->info->lobe_count ? shot->next_lobe++ : shot->next_lobe;
}

static bool check_lobe(TestShot *shot, const Expectation *e, uint32_t lobe)
{
    ASSERT(lobe < shot->info->lobe_count);
    const SslLobeSlot *slot = &shot->info->lobes[lobe];
    ASSERT(slot->parent < (int32_t)shot->info->lobe_count);
    const char *under = slot->parent < 0 ? NULL : lobe_name(shot, (uint32_t)slot->parent);
    if (strcmp(lobe_name(shot, lobe), e->name) != 0 || !under != !e->under ||
        (under && strcmp(under, e->under) != 0)) {
        diag_add(shot->run->report, DIAG_ERROR, "", e->span, "the closure is not as expected");
        diag_label(shot->run->report, "%s: found %s%s%s", shot->level, lobe_name(shot, lobe),
                   under ? " under " : "", under ? under : "");
        return false;
    }
    double weight[3], args[SSL_MAX_CLOSURE_ARGS * 4];
    for (uint32_t i = 0; i < 3; ++i)
        weight[i] = (double)grid_host_lobe_weight(shot->host, lobe, i, 0);
    if (!are_near(e, &e->value, weight, 3)) {
        report_numbers(shot, e, "the closure's weight", &e->value, weight, 3);
        return false;
    }
    uint32_t count = lobe_scalars(shot, lobe);
    ASSERT(count <= SORT_COUNT_OF(args));
    for (uint32_t i = 0; i < count; ++i)
        args[i] = (double)grid_host_lobe_arg(shot->host, lobe, i, 0);
    if (e->args.count && (e->args.count != count || !are_near(e, &e->args, args, count))) {
        report_numbers(shot, e, "the closure's arguments", &e->args, args, count);
        return false;
    }
    return true;
}

static bool check_closure(TestShot *shot, const Expectation *e)
{
    uint32_t lobe = next_lobe(shot);
    bool is_there = lobe < shot->info->lobe_count;
    if (e->name && is_there)
        return check_lobe(shot, e, lobe);
    if (!e->name && !is_there)
        return true;
    diag_add(shot->run->report, DIAG_ERROR, "", e->span, "the closure is not as expected");
    diag_label(shot->run->report, "%s: found %s", shot->level,
               is_there ? lobe_name(shot, lobe) : "no more closures");
    return false;
}

/* Lookups of the first point. */
static const GridLookup *next_lookup(TestShot *shot)
{
    uint32_t kept;
    uint64_t count;
    const GridLookup *lookups = grid_host_lookups(shot->host, &kept, &count);
    while (shot->next_lookup < kept && lookups[shot->next_lookup].point != 0)
        ++shot->next_lookup;
    return shot->next_lookup < kept ? &lookups[shot->next_lookup++] : NULL;
}

static bool check_lookup(TestShot *shot, const Expectation *e)
{
    const GridLookup *lookup = next_lookup(shot);
    if (!e->name && !lookup)
        return true;
    const char *name = lookup ? shot->info->unit->textures[lookup->texture] : "no more lookups";
    if (!e->name || !lookup || strcmp(name, e->name) != 0) {
        diag_add(shot->run->report, DIAG_ERROR, "", e->span, "the lookup is not as expected");
        diag_label(shot->run->report, "%s: found %s", shot->level, name);
        return false;
    }
    static const char *const parts[] = {"the lookup's place", "the lookup's ddx",
                                        "the lookup's ddy"};
    const ExpectNumbers *expected[] = {&e->value, &e->ddx, &e->ddy};
    for (uint32_t i = 0; i < 3; ++i) {
        const float *coord = &lookup->coord[(size_t)2 * i];
        double found[2] = {(double)coord[0], (double)coord[1]};
        if (expected[i]->count && !are_near(e, expected[i], found, 2)) {
            report_numbers(shot, e, parts[i], expected[i], found, 2);
            return false;
        }
    }
    return true;
}

static const char *fault_kind(SslFaultKind kind)
{
    static const char *const names[] = {[SSL_FAULT_INDEX] = "index",
                                        [SSL_FAULT_LOOP] = "loop",
                                        [SSL_FAULT_RECURSION] = "recursion",
                                        [SSL_FAULT_CLOSURES] = "closures",
                                        [SSL_FAULT_TAPE] = "tape"};
    ASSERT((size_t)kind < SORT_COUNT_OF(names) && names[kind]);
    return names[kind];
}

static bool check_fault(TestShot *shot, const Expectation *e)
{
    uint32_t fault = grid_host_fault(shot->host, 0);
    if (!fault) {
        diag_add(shot->run->report, DIAG_ERROR, "", e->span, "there was no fault");
        diag_label(shot->run->report, "%s", shot->level);
        return false;
    }
    SslFaultInfo info;
    ssl_fault_describe(shot->program, fault - 1, &info);
    if (strcmp(e->name, fault_kind(info.kind)) == 0 && e->line == info.line &&
        e->column == info.column)
        return true;
    diag_add(shot->run->report, DIAG_ERROR, "", e->span, "the fault is not as expected");
    diag_label(shot->run->report, "%s: found %s @ %u:%u", shot->level, fault_kind(info.kind),
               info.line, info.column);
    return false;
}

bool test_check_expectation(TestShot *shot, const Expectation *e)
{
    switch (e->kind) {
    case EXPECT_VALUE:
    case EXPECT_DDX:
    case EXPECT_DDY:
        return check_output(shot, e);
    case EXPECT_CLOSURE:
        return check_closure(shot, e);
    case EXPECT_LOOKUP:
        return check_lookup(shot, e);
    case EXPECT_FAULT:
        return check_fault(shot, e);
    case EXPECT_SHADOWED: {
        double found = (double)shot->info->values_shadowed;
        if (found == e->value.x[0])
            return true;
        report_numbers(shot, e, "the number of shadowed values", &e->value, &found, 1);
        return false;
    }
    case EXPECT_ACCEPT:
        return true;
    }
    return false;
}

/* --- checks that every case gets ----------------------------------------------------------------- */

bool test_expects(const ExpectCase *test_case, ExpectKind kind)
{
    for (uint32_t i = 0; i < test_case->expectations.count; ++i)
        if (test_case->expectations.data[i].kind == kind)
            return true;
    return false;
}

static void fail_case(TestShot *shot, const char *what)
{
    TestFile *file = shot->run->file;
    ++file->failed;
    strbuf_printf(&file->out, "%s: error: %s%s%s (%s)\n", file->path, shot->test_case->name,
                  *shot->test_case->name ? ": " : "", what, shot->level);
}

void test_check_lanes(TestShot *shot)
{
    const SslUnitInfo *unit = shot->info->unit;
    for (uint32_t i = 0; i < unit->output_count; ++i)
        for (uint32_t j = 0; j < ssl_type_scalars(unit->outputs[i].type); ++j)
            for (uint32_t point = 1; point < TEST_POINTS; ++point) {
                SslOutputSlot slot = shot->info->outputs[i];
                float x = grid_host_float(shot->host, slot, j, point);
                if (grid_host_word(shot->host, slot, j, point) ==
                        grid_host_word(shot->host, slot, j, 0) ||
                    (isnan(x) && isnan(grid_host_float(shot->host, slot, j, 0))))
                    continue;
                fail_case(shot, "lanes with equal inputs give different results");
                return;
            }
}

void test_check_unexpected(TestShot *shot)
{
    uint32_t fault = grid_host_fault(shot->host, 0);
    if (fault && !test_expects(shot->test_case, EXPECT_FAULT)) {
        SslFaultInfo info;
        ssl_fault_describe(shot->program, fault - 1, &info);
        strbuf_printf(&shot->run->file->out, "%s:%u:%u: %s\n", info.source_name, info.line,
                      info.column, info.text);
        fail_case(shot, "a fault that is not expected");
    }
    if (test_expects(shot->test_case, EXPECT_CLOSURE) && next_lobe(shot) < shot->info->lobe_count)
        fail_case(shot, "more closures than expected");
    if (test_expects(shot->test_case, EXPECT_LOOKUP) && next_lookup(shot))
        fail_case(shot, "more texture lookups than expected");
}
