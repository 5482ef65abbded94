/* ssl-test: runs .ssl files that say themselves what must come out (docs/ssl-test.md).
 *
 * A file is compiled and run once for each of its cases, without optimisation and with; every point
 * of two blocks gets the same values, so that lanes can be compared too. Files are independent and run
 * on several threads; what they print comes in the order of the names. */
#include "base/alloc.h"
#include "base/cli.h"
#include "base/file.h"
#include "base/thread.h"
#include "sort/shade/ssl_tables.h"
#include "tools/expect.h"
#include "tools/grid_host.h"
#include "tools/group_units.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_PASSED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { POINTS = SSL_BLOCK + 5, SOURCE_MAX_BYTES = 16 << 20 };

static const struct {
    const char *name;
    uint32_t llvm_level; /* as SslBuildDesc */
} levels[] = {{"O0", 1}, {"O2", 3}};

/* One file under test. */
typedef struct TestFile {
    const char *path;
    uint32_t passed, failed;
    StrBuf out; /* what it has to say */
} TestFile;

/* What running one file needs; `report` collects failures with places in the file. */
typedef struct TestRun {
    TestFile *file;
    Str text;
    Arena *arena;
    DiagList *report;
    ExpectFile expect;
    SslContextDesc tables;
    SslContext *ctx;
} TestRun;

/* A case at one level, built and run. */
typedef struct TestShot {
    TestRun *run;
    const ExpectCase *test_case;
    const char *level;
    const SslProgram *program;
    const SslProgramInfo *info;
    GridHost *host;
    uint32_t next_lobe, next_lookup; /* how far the expectations got */
} TestShot;

/* --- numbers as text ---------------------------------------------------------------------------- */

static void print_numbers(StrBuf *out, const double *x, uint32_t count)
{
    if (count != 1)
        strbuf_append_char(out, '(');
    for (uint32_t i = 0; i < count; i++)
        strbuf_printf(out, "%s%.9g", i ? " " : "", x[i]);
    if (count != 1)
        strbuf_append_char(out, ')');
}

/* Reports `found` at an expectation; `expected` is on the line that is shown. */
static void report_numbers(TestShot *shot, const Expectation *e, const char *what, const double *x,
                           uint32_t count)
{
    StrBuf found = {0};
    print_numbers(&found, x, count);
    diag_add(shot->run->report, DIAG_ERROR, "", e->span, "%s is not as expected", what);
    diag_label(shot->run->report, "%s: found %s", shot->level, strbuf_text(&found));
    strbuf_free(&found);
}

static bool is_near(double found, double expected, double tolerance)
{
    if (isnan(expected))
        return isnan(found);
    return found == expected || fabs(found - expected) <= tolerance;
}

static double default_tolerance(double expected)
{
    return 1e-5 * fmax(1.0, fabs(expected));
}

/* One given number stands for all components. */
static bool are_near(const Expectation *e, const ExpectNumbers *expected, const double *found,
                     uint32_t count)
{
    if (expected->count != 1 && expected->count != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        double x = expected->x[expected->count == 1 ? 0 : i];
        if (!is_near(found[i], x, e->has_tolerance ? e->tolerance : default_tolerance(x)))
            return false;
    }
    return true;
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
        at++;
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
    for (uint32_t i = 0; i < count; i++)
        found[i] = output_scalar(shot, slot, ssl_value_kind(type, shape, first + i), first + i);
    if (are_near(e, &e->value, found, count))
        return true;
    report_numbers(shot, e, "the output", found, count);
    return false;
}

static uint32_t lobe_scalars(const TestShot *shot, uint32_t lobe)
{
    const SslClosureRow *row = &shot->run->tables.closures[shot->info->lobes[lobe].closure];
    uint32_t scalars = 0;
    for (uint32_t i = 0; i < row->arg_count; i++)
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
        shot->next_lobe++;
    return shot->next_lobe < shot->info->lobe_count ? shot->next_lobe++ : shot->next_lobe;
}

static bool check_lobe(TestShot *shot, const Expectation *e, uint32_t lobe)
{
    const SslLobeSlot *slot = &shot->info->lobes[lobe];
    const char *under = slot->parent < 0 ? NULL : lobe_name(shot, (uint32_t)slot->parent);
    if (strcmp(lobe_name(shot, lobe), e->name) != 0 || !under != !e->under ||
        (under && strcmp(under, e->under) != 0)) {
        diag_add(shot->run->report, DIAG_ERROR, "", e->span, "the closure is not as expected");
        diag_label(shot->run->report, "%s: found %s%s%s", shot->level, lobe_name(shot, lobe),
                   under ? " under " : "", under ? under : "");
        return false;
    }
    double weight[3], args[SSL_MAX_CLOSURE_ARGS * 4];
    for (uint32_t i = 0; i < 3; i++)
        weight[i] = (double)grid_host_lobe_weight(shot->host, lobe, i, 0);
    if (!are_near(e, &e->value, weight, 3)) {
        report_numbers(shot, e, "the closure's weight", weight, 3);
        return false;
    }
    uint32_t count = lobe_scalars(shot, lobe);
    for (uint32_t i = 0; i < count; i++)
        args[i] = (double)grid_host_lobe_arg(shot->host, lobe, i, 0);
    if (e->args.count && (e->args.count != count || !are_near(e, &e->args, args, count))) {
        report_numbers(shot, e, "the closure's arguments", args, count);
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
        shot->next_lookup++;
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
    for (uint32_t i = 0; i < 3; i++) {
        double found[2] = {(double)lookup->coord[2 * i], (double)lookup->coord[2 * i + 1]};
        if (expected[i]->count && !are_near(e, expected[i], found, 2)) {
            report_numbers(shot, e, parts[i], found, 2);
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
                                        [SSL_FAULT_CLOSURES] = "closures"};
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

static bool check_expectation(TestShot *shot, const Expectation *e)
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
        report_numbers(shot, e, "the number of shadowed values", &found, 1);
        return false;
    }
    case EXPECT_ACCEPT:
        return true;
    }
    return false;
}

/* --- checks that every case gets ----------------------------------------------------------------- */

static bool expects(const ExpectCase *test_case, ExpectKind kind)
{
    for (uint32_t i = 0; i < test_case->expectations.count; i++)
        if (test_case->expectations.data[i].kind == kind)
            return true;
    return false;
}

static void fail_case(TestShot *shot, const char *what)
{
    TestFile *file = shot->run->file;
    file->failed++;
    strbuf_printf(&file->out, "%s: error: %s%s%s (%s)\n", file->path, shot->test_case->name,
                  *shot->test_case->name ? ": " : "", what, shot->level);
}

/* All points have the same inputs: any difference is a defect of code generation. */
static void check_lanes(TestShot *shot)
{
    const SslUnitInfo *unit = shot->info->unit;
    for (uint32_t i = 0; i < unit->output_count; i++)
        for (uint32_t j = 0; j < ssl_type_scalars(unit->outputs[i].type); j++)
            for (uint32_t point = 1; point < POINTS; point++) {
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

static void check_unexpected(TestShot *shot)
{
    uint32_t fault = grid_host_fault(shot->host, 0);
    if (fault && !expects(shot->test_case, EXPECT_FAULT)) {
        SslFaultInfo info;
        ssl_fault_describe(shot->program, fault - 1, &info);
        strbuf_printf(&shot->run->file->out, "%s:%u:%u: %s\n", info.source_name, info.line,
                      info.column, info.text);
        fail_case(shot, "a fault that is not expected");
    }
    if (expects(shot->test_case, EXPECT_CLOSURE) && next_lobe(shot) < shot->info->lobe_count)
        fail_case(shot, "more closures than expected");
    if (expects(shot->test_case, EXPECT_LOOKUP) && next_lookup(shot))
        fail_case(shot, "more texture lookups than expected");
}

/* --- settings --------------------------------------------------------------------------------- */

static bool fail_setting(TestRun *run, const ExpectSetting *setting, const char *what)
{
    diag_add(run->report, DIAG_ERROR, "", setting->span, "%s", what);
    return false;
}

static bool set_global(TestShot *shot, const ExpectSetting *setting)
{
    const SslContextDesc *tables = &shot->run->tables;
    uint32_t row = 0;
    while (row < tables->global_count && strcmp(tables->globals[row].name, setting->name) != 0)
        row++;
    if (row == tables->global_count)
        return fail_setting(shot->run, setting, "there is no such global");
    const ExpectNumbers *parts[] = {&setting->value, &setting->ddx, &setting->ddy};
    for (uint32_t shadow = 0; shadow < 3; shadow++) {
        SslValue value;
        if (!parts[shadow]->count)
            continue;
        if (!expect_to_value(parts[shadow], tables->globals[row].type, &value))
            return fail_setting(shot->run, setting, "the value does not fit the global's type");
        if (shadow && !tables->globals[row].has_derivs)
            return fail_setting(shot->run, setting, "this global has no derivatives");
        grid_host_set_global(shot->host, row, shadow, &value);
    }
    return true;
}

static bool set_attribute(TestShot *shot, const ExpectSetting *setting)
{
    const SslUnitInfo *unit = shot->info->unit;
    uint32_t slot = 0;
    while (slot < unit->attribute_count && strcmp(unit->attributes[slot].name, setting->name) != 0)
        slot++;
    for (uint32_t i = 0; i < shot->run->tables.attribute_count && slot == unit->attribute_count;
         i++)
        if (strcmp(shot->run->tables.attributes[i].name, setting->name) == 0)
            return true; /* the shader does not read it */
    if (slot == unit->attribute_count)
        return fail_setting(shot->run, setting, "the shader has no such attribute");
    const ExpectNumbers *parts[] = {&setting->value, &setting->ddx, &setting->ddy};
    for (uint32_t shadow = 0; shadow < 3; shadow++) {
        SslValue value;
        if (!parts[shadow]->count)
            continue;
        if (!expect_to_value(parts[shadow], unit->attributes[slot].type, &value))
            return fail_setting(shot->run, setting, "the value does not fit the attribute's type");
        if (shadow && !unit->attributes[slot].has_derivs)
            return fail_setting(shot->run, setting, "this attribute has no derivatives");
        grid_host_set_attribute(shot->host, slot, shadow, &value);
    }
    grid_host_attribute_exists(shot->host, slot, true);
    return true;
}

static bool set_param(TestShot *shot, const ExpectSetting *setting)
{
    const SslUnitInfo *unit = shot->info->unit;
    uint32_t at = 0;
    while (at < unit->param_count && strcmp(unit->params[at].name, setting->name) != 0)
        at++;
    SslValue value;
    Error err = {0};
    if (at == unit->param_count)
        return fail_setting(shot->run, setting, "the shader has no such parameter");
    if (!expect_to_value(&setting->value, unit->params[at].type, &value))
        return fail_setting(shot->run, setting, "the value does not fit the parameter's type");
    if (ssl_params_set(shot->program, grid_host_params(shot->host), at, &value, &err) != STATUS_OK)
        return fail_setting(shot->run, setting, err.text);
    return true;
}

static bool set_texture(TestShot *shot, const ExpectSetting *setting)
{
    const SslUnitInfo *unit = shot->info->unit;
    uint32_t at = 0;
    while (at < unit->texture_count && strcmp(unit->textures[at], setting->name) != 0)
        at++;
    GridTexture texture;
    Error err = {0};
    if (at == unit->texture_count)
        return fail_setting(shot->run, setting, "the shader has no such texture");
    if (grid_texture_parse(setting->text, &texture, &err) != STATUS_OK)
        return fail_setting(shot->run, setting, err.text);
    grid_host_set_texture(shot->host, at, &texture);
    return true;
}

/* Those that are applied to a program that is built. */
static bool apply_settings(TestShot *shot, const ExpectCase *from)
{
    bool is_good = true;
    for (uint32_t i = 0; i < from->settings.count; i++) {
        const ExpectSetting *setting = &from->settings.data[i];
        if (setting->kind == EXPECT_SET_GLOBAL)
            is_good &= set_global(shot, setting);
        else if (setting->kind == EXPECT_SET_ATTRIBUTE)
            is_good &= set_attribute(shot, setting);
        else if (setting->kind == EXPECT_SET_PARAM)
            is_good &= set_param(shot, setting);
        else if (setting->kind == EXPECT_SET_TEXTURE)
            is_good &= set_texture(shot, setting);
        else if (setting->kind == EXPECT_SET_BUDGET)
            grid_host_set_loop_budget(shot->host, (uint32_t)setting->value.x[0]);
        else if (setting->kind == EXPECT_SET_STACK)
            grid_host_set_stack(shot->host, (uint32_t)setting->value.x[0]);
    }
    return is_good;
}

/* --- building --------------------------------------------------------------------------------- */

/* The last `shader` or `group` of the file's own and the case's settings. */
static const char *name_of(const TestRun *run, const ExpectCase *test_case, ExpectSettingKind kind)
{
    const char *shader = NULL;
    const ExpectCase *sources[] = {&run->expect.cases.data[0], test_case};
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t i = 0; i < sources[s]->settings.count; i++)
            if (sources[s]->settings.data[i].kind == kind)
                shader = sources[s]->settings.data[i].name;
    return shader;
}

/* Later constants of a name win. Types come from the shader. */
static bool gather_constants(TestRun *run, const ExpectCase *test_case, const SslUnitInfo *unit,
                             SslConstant *out_constants, uint32_t max, uint32_t *out_count)
{
    const ExpectCase *sources[] = {&run->expect.cases.data[0], test_case};
    *out_count = 0;
    for (uint32_t s = 0; s < (test_case == sources[0] ? 1u : 2u); s++)
        for (uint32_t i = 0; i < sources[s]->settings.count; i++) {
            const ExpectSetting *setting = &sources[s]->settings.data[i];
            if (setting->kind != EXPECT_SET_CONSTANT)
                continue;
            uint32_t param = 0, at = 0;
            while (param < unit->param_count &&
                   strcmp(unit->params[param].name, setting->name) != 0)
                param++;
            if (param == unit->param_count)
                return fail_setting(run, setting, "the shader has no such parameter");
            SslValue value = {.type = SSL_STRING, .s = setting->text};
            if (!setting->text &&
                !expect_to_value(&setting->value, unit->params[param].type, &value))
                return fail_setting(run, setting, "the value does not fit the parameter's type");
            while (at < *out_count && strcmp(out_constants[at].param, setting->name) != 0)
                at++;
            if (at == max)
                return fail_setting(run, setting, "too many constants");
            out_constants[at] = (SslConstant){setting->name, value};
            *out_count = at == *out_count ? at + 1 : *out_count;
        }
    return true;
}

enum { CONSTANTS_MAX = 64 };

/* Diagnostics go to `diags`, with places in the file. */
static Status link_group(TestRun *run, const ExpectGroup *group, DiagList *diags,
                         SslUnit **out_unit)
{
    const GroupUnitsDesc desc = {
        .ctx = run->ctx, .diags = diags, .path = run->file->path, .text = run->text};
    const SslGroupText text = {.name = group->name,
                               .json = group->json,
                               .file = diag_add_source(diags, run->file->path, run->text),
                               .offset = group->offset};
    SslGroupFile *file = NULL;
    GroupUnits *units = group_units_create(&desc);
    *out_unit = NULL;
    Status status = units ? ssl_group_file_read(&text, NULL, diags, &file) : STATUS_NO_MEMORY;
    if (status == STATUS_OK)
        status = ssl_group_file_link(run->ctx, file, group_units_find, units, diags, out_unit);
    ssl_group_file_destroy(file);
    group_units_destroy(units);
    return status;
}

/* The shader or group of a case: a group if one is named, or there are some and no shader is named. */
static Status compile_case(TestRun *run, const ExpectCase *test_case, DiagList *diags,
                           SslUnit **out_unit, Error *err)
{
    const char *group = name_of(run, test_case, EXPECT_SET_GROUP);
    SslSource source = {.name = run->file->path,
                        .text = run->text,
                        .shader = name_of(run, test_case, EXPECT_SET_SHADER)};
    if (!group && (source.shader || run->expect.groups.count == 0))
        return ssl_unit_compile(run->ctx, &source, diags, out_unit);
    for (uint32_t i = 0; i < run->expect.groups.count; i++)
        if (!group || strcmp(run->expect.groups.data[i].name, group) == 0)
            return link_group(run, &run->expect.groups.data[i], diags, out_unit);
    return error_set(err, STATUS_NOT_FOUND, "the file has no group '%s'", group);
}

/* Unit and program of a case; diagnostics go to `diags`. NULL: not built, and said why. */
static SslProgram *build_case(TestRun *run, const ExpectCase *test_case, uint32_t llvm_level,
                              DiagList *diags, Error *err)
{
    SslUnit *unit;
    err->code = compile_case(run, test_case, diags, &unit, err);
    if (err->code == STATUS_NOT_FOUND)
        return NULL;
    if (err->code != STATUS_OK) {
        if (err->code != STATUS_SOURCE)
            (void)error_set(err, err->code, "%s", status_name(err->code));
        return NULL;
    }
    SslConstant constants[CONSTANTS_MAX];
    SslBuildDesc how = {.size_bytes = sizeof how,
                        .constants = constants,
                        .llvm_level = llvm_level,
                        .output_derivatives =
                            expects(test_case, EXPECT_DDX) || expects(test_case, EXPECT_DDY)};
    SslProgram *program = NULL;
    if (!gather_constants(run, test_case, ssl_unit_info(unit), constants, CONSTANTS_MAX,
                          &how.constant_count))
        (void)error_set(err, STATUS_INVALID, "the constants do not fit");
    else if (ssl_program_build(run->ctx, unit, &how, diags, &program, err) != STATUS_OK)
        program = NULL;
    ssl_unit_release(unit);
    return program;
}

/* --- diagnostics ------------------------------------------------------------------------------ */

static bool diag_matches(const DiagList *diags, const Diag *diag, const ExpectDiag *expected)
{
    if (diag->severity != expected->severity || strcmp(diag->code, expected->code) != 0 ||
        !strstr(diag->message, expected->message) || diag->span.file == 0)
        return false;
    uint32_t position[4];
    diag_position(diags, diag->span.file, diag->span.begin, &position[0], &position[1]);
    diag_position(diags, diag->span.file, diag->span.end, &position[2], &position[3]);
    return position[0] == expected->first_line && position[1] == expected->first_column &&
           position[2] == expected->last_line && position[3] == expected->last_column;
}

static void describe_diag(const DiagList *diags, const Diag *diag, StrBuf *out)
{
    uint32_t position[4] = {0};
    if (diag->span.file) {
        diag_position(diags, diag->span.file, diag->span.begin, &position[0], &position[1]);
        diag_position(diags, diag->span.file, diag->span.end, &position[2], &position[3]);
    }
    strbuf_printf(out, "  found %s: %s @ %u:%u-%u:%u: %s\n",
                  diag->severity == DIAG_ERROR ? "error" : "warning", diag->code, position[0],
                  position[1], position[2], position[3], diag->message);
}

/* Every diagnostic must be expected, and every expected one must come. */
static void check_diags(TestRun *run, const DiagList *diags)
{
    uint32_t count = diag_count(diags);
    bool *is_matched = ARENA_ARRAY(run->arena, bool, count);
    bool has_missing = false;
    for (uint32_t i = 0; i < run->expect.diags.count; i++) {
        const ExpectDiag *expected = &run->expect.diags.data[i];
        uint32_t at = 0;
        while (at < count &&
               (is_matched[at] || !diag_matches(diags, diag_get(diags, at), expected)))
            at++;
        if (at < count) {
            is_matched[at] = true;
            run->file->passed++;
            continue;
        }
        run->file->failed++;
        has_missing = true;
        diag_add(run->report, DIAG_ERROR, "", expected->span, "this did not come");
    }
    StrBuf others = {0};
    bool has_error = false;
    for (uint32_t i = 0; i < count; i++) {
        const Diag *diag = diag_get(diags, i);
        if (is_matched[i] || diag->severity == DIAG_NOTE)
            continue;
        has_error = true;
        describe_diag(diags, diag, &others);
    }
    if (has_error) {
        if (!has_missing)
            run->file->failed++;
        strbuf_printf(&run->file->out, "%s: error: diagnostics that are not expected\n%s",
                      run->file->path, strbuf_text(&others));
    }
    strbuf_free(&others);
}

/* --- a case ----------------------------------------------------------------------------------- */

static void note_failure(const TestRun *run, const ExpectCase *test_case, const Error *err,
                         const DiagList *diags)
{
    StrBuf *out = &run->file->out;
    diag_print(diags, out);
    if (err->code != STATUS_SOURCE)
        strbuf_printf(out, "%s: error: %s\n", run->file->path, err->text);
    if (*test_case->name)
        strbuf_printf(out, "%s: in case: %s\n", run->file->path, test_case->name);
}

/* is_good[i] stays true if expectation i holds. False: it could not be run. */
static bool run_level(TestRun *run, const ExpectCase *test_case, uint32_t level, bool *is_good)
{
    Error err = {0};
    DiagList *diags = diag_list_create();
    if (!diags)
        return false;
    TestShot shot = {.run = run, .test_case = test_case, .level = levels[level].name};
    SslProgram *program = build_case(run, test_case, levels[level].llvm_level, diags, &err);
    bool is_run =
        program && grid_host_create(program, run->tables.globals, run->tables.global_count, POINTS,
                                    &shot.host, &err) == STATUS_OK;
    if (is_run) {
        shot.program = program;
        shot.info = ssl_program_info(program);
        is_run = apply_settings(&shot, &run->expect.cases.data[0]) &&
                 (test_case == &run->expect.cases.data[0] || apply_settings(&shot, test_case));
    } else {
        note_failure(run, test_case, &err, diags);
    }
    if (is_run) {
        grid_host_run(shot.host);
        for (uint32_t i = 0; i < test_case->expectations.count; i++)
            if (is_good[i]) /* one report is enough */
                is_good[i] = check_expectation(&shot, &test_case->expectations.data[i]);
        check_lanes(&shot);
        check_unexpected(&shot);
    }
    grid_host_destroy(shot.host);
    ssl_program_release(program);
    diag_list_destroy(diags);
    return is_run;
}

static void run_case(TestRun *run, const ExpectCase *test_case)
{
    uint32_t count = test_case->expectations.count;
    if (count == 0)
        return;
    bool *is_good = ARENA_ARRAY(run->arena, bool, count);
    memset(is_good, 1, count);
    bool is_run = true;
    for (uint32_t level = 0; level < SORT_COUNT_OF(levels) && is_run; level++)
        is_run = run_level(run, test_case, level, is_good);
    for (uint32_t i = 0; i < count; i++)
        if (is_run && is_good[i])
            run->file->passed++;
        else
            run->file->failed++;
}

static bool expects_errors(const ExpectFile *expect)
{
    for (uint32_t i = 0; i < expect->diags.count; i++)
        if (expect->diags.data[i].severity == DIAG_ERROR)
            return true;
    return false;
}

/* Warnings and errors, of what stands before the first case; errors of all groups. */
static void run_diags(TestRun *run)
{
    Error err = {0};
    DiagList *diags = diag_list_create();
    if (!diags)
        return;
    for (uint32_t i = 0; i < run->expect.groups.count && expects_errors(&run->expect); i++) {
        SslUnit *unit = NULL;
        if (link_group(run, &run->expect.groups.data[i], diags, &unit) == STATUS_OK)
            ssl_unit_release(unit);
    }
    if (!run->expect.groups.count || !expects_errors(&run->expect))
        ssl_program_release(build_case(run, &run->expect.cases.data[0], 3, diags, &err));
    check_diags(run, diags);
    diag_list_destroy(diags);
}

/* --- a file ----------------------------------------------------------------------------------- */

/* The file's own globals, then the renderer's that it does not declare. */
static Status make_tables(TestRun *run, Error *err)
{
    run->tables = (SslContextDesc){.size_bytes = sizeof run->tables};
    ssl_tables_describe(&run->tables);
    uint32_t own = run->expect.globals.count, count = own;
    if (own + run->tables.global_count > SSL_MAX_GLOBALS)
        return error_set(err, STATUS_LIMIT, "too many globals");
    SslGlobalRow *rows = ARENA_ARRAY(run->arena, SslGlobalRow, own + run->tables.global_count);
    for (uint32_t i = 0; i < own; i++)
        rows[i] = run->expect.globals.data[i];
    for (uint32_t i = 0; i < run->tables.global_count; i++) {
        uint32_t at = 0;
        while (at < own && strcmp(rows[at].name, run->tables.globals[i].name) != 0)
            at++;
        if (at == own)
            rows[count++] = run->tables.globals[i];
    }
    run->tables.globals = rows;
    run->tables.global_count = count;
    SslClosureRow *closures = ARENA_ARRAY(run->arena, SslClosureRow,
                                          run->tables.closure_count + run->expect.closures.count);
    memcpy(closures, run->tables.closures, run->tables.closure_count * sizeof *closures);
    for (uint32_t i = 0; i < run->expect.closures.count; i++)
        closures[run->tables.closure_count++] = run->expect.closures.data[i];
    run->tables.closures = closures;
    run->tables.attributes = run->expect.attributes.data;
    run->tables.attribute_count = run->expect.attributes.count;
    return ssl_context_create(&run->tables, &run->ctx, err);
}

static uint32_t expectation_count(const ExpectFile *expect)
{
    uint32_t count = expect->diags.count;
    for (uint32_t i = 0; i < expect->cases.count; i++)
        count += expect->cases.data[i].expectations.count;
    return count;
}

static void run_cases(TestRun *run)
{
    uint32_t file = diag_add_source(run->report, run->file->path, run->text);
    expect_parse(run->text, file, run->arena, run->report, &run->expect);
    Error err = {0};
    if (diag_error_count(run->report)) {
        run->file->failed++;
        return;
    }
    if (expectation_count(&run->expect) == 0) {
        strbuf_printf(&run->file->out, "%s: error: the file expects nothing\n", run->file->path);
        run->file->failed++;
        return;
    }
    if (make_tables(run, &err) != STATUS_OK) {
        strbuf_printf(&run->file->out, "%s: error: %s\n", run->file->path, err.text);
        run->file->failed++;
        return;
    }
    run_diags(run);
    for (uint32_t i = 0; i < run->expect.cases.count && !expects_errors(&run->expect); i++)
        run_case(run, &run->expect.cases.data[i]);
    ssl_context_destroy(run->ctx);
}

static void run_file(TestFile *file)
{
    Error err = {0};
    char *text = NULL;
    size_t size = 0;
    char message[1024];
    if (file_read(file->path, SOURCE_MAX_BYTES, &text, &size, &err) != STATUS_OK) {
        strbuf_printf(&file->out, "%s\n", error_format(&err, message, sizeof message));
        file->failed++;
        return;
    }
    TestRun run = {.file = file,
                   .text = {text, size},
                   .arena = arena_create(0, 0),
                   .report = diag_list_create()};
    if (run.arena && run.report) {
        run_cases(&run);
        diag_print(run.report, &file->out);
    } else {
        strbuf_printf(&file->out, "%s: error: out of memory\n", file->path);
        file->failed++;
    }
    diag_list_destroy(run.report);
    arena_destroy(run.arena);
    mem_free(text);
}

/* --- the program ------------------------------------------------------------------------------ */

typedef struct Session {
    Arena *arena;
    ARRAY(TestFile) files;
    const char *filter;
} Session;

static Status add_path(Session *s, const char *path, bool is_named, Error *err)
{
    if (!file_is_directory(path)) {
        bool is_wanted = is_named || path_has_extension(path, ".ssl");
        if (is_wanted && (!s->filter || strstr(path, s->filter)))
            array_push(s->arena, &s->files, (TestFile){.path = path});
        return STATUS_OK;
    }
    const char *const *names;
    uint32_t count;
    TRY(file_list_directory(path, s->arena, &names, &count, err));
    for (uint32_t i = 0; i < count; i++) {
        char joined[PATH_BYTES];
        TRY(path_join(path, names[i], joined, err));
        TRY(add_path(s, arena_strndup(s->arena, joined, strlen(joined)), false, err));
    }
    return STATUS_OK;
}

static void run_indexed(void *data, uint32_t index)
{
    Session *s = data;
    run_file(&s->files.data[index]);
}

static int report_all(const Session *s, bool is_verbose)
{
    uint32_t passed = 0, failed = 0;
    for (uint32_t i = 0; i < s->files.count; i++) {
        TestFile *file = &s->files.data[i];
        passed += file->passed;
        failed += file->failed;
        (void)fputs(strbuf_text(&file->out), stdout);
        if (is_verbose || file->failed)
            (void)printf("%s: %u passed, %u failed\n", file->path, file->passed, file->failed);
        strbuf_free(&file->out);
    }
    (void)printf("%u passed, %u failed\n", passed, failed);
    return failed || passed == 0 ? EXIT_FAILED : EXIT_PASSED;
}

static int fail_usage(const Error *err)
{
    char message[1024];
    (void)fprintf(stderr, "ssl-test: %s\n", error_format(err, message, sizeof message));
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    Session session = {0};
    bool is_verbose = false;
    uint32_t threads = 0;
    const CliOption options[] = {
        {.name = "filter",
         .short_name = 'f',
         .kind = CLI_TEXT,
         .out = &session.filter,
         .value_name = "TEXT",
         .help = "only files whose path contains TEXT"},
        {.name = "jobs",
         .short_name = 'j',
         .kind = CLI_U32,
         .out = &threads,
         .max = 1024,
         .value_name = "N",
         .help = "files at once; 0, the default: one a CPU"},
        {.name = "verbose",
         .short_name = 'v',
         .kind = CLI_FLAG,
         .out = &is_verbose,
         .help = "a line for every file"},
    };
    const CliProgram program = {
        .name = "ssl-test",
        .usage = "[options] PATH...",
        .summary =
            "Runs .ssl files and folders of them against the expectations in their comments.",
        .options = options,
        .option_count = SORT_COUNT_OF(options),
        .args_min = 1,
        .args_max = 4096,
        .args_name = "PATH"};
    CliResult args;
    Error err = {0};
    if (cli_parse(&program, argc, argv, &args, &err) != STATUS_OK)
        return fail_usage(&err);
    if (args.wants_help || args.wants_version) {
        StrBuf text = {0};
        if (args.wants_help)
            cli_help(&program, &text);
        else
            strbuf_printf(&text, "ssl-test %s\n", SORT_VERSION);
        (void)fputs(strbuf_text(&text), stdout);
        strbuf_free(&text);
        return EXIT_PASSED;
    }
    session.arena = arena_create(0, 0);
    if (!session.arena) {
        (void)error_set(&err, STATUS_NO_MEMORY, "out of memory");
        return fail_usage(&err);
    }
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < args.arg_count && status == STATUS_OK; i++)
        status = add_path(&session, args.args[i], true, &err);
    int code = EXIT_USAGE;
    if (status != STATUS_OK) {
        code = fail_usage(&err);
    } else {
        parallel_for(threads, session.files.count, run_indexed, &session);
        code = report_all(&session, is_verbose);
    }
    arena_destroy(session.arena);
    return code;
}
