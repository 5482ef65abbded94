/* Runs one file: makes its tables, then runs each of its cases at every optimisation level. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/file.h"
#include "sort/shade/ssl_tables.h"
#include "tools/ssl_kit/group_units.h"
#include "tools/ssl_test/ssl_test.h"
#include <string.h>

enum { SOURCE_MAX_BYTES = 16 << 20 };

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
    TestShot shot = {.run = run, .test_case = test_case, .level = test_levels[level].name};
    SslProgram *program = test_build_case(run, test_case, level, diags, &err);
    bool is_run =
        program && grid_host_create(program, run->tables.globals, run->tables.global_count,
                                    TEST_POINTS, &shot.host, &err) == STATUS_OK;
    if (is_run) {
        shot.program = program;
        shot.info = ssl_program_info(program);
        is_run = test_apply_settings(&shot, &run->expect.cases.data[0]) &&
                 (test_case == &run->expect.cases.data[0] || test_apply_settings(&shot, test_case));
    } else {
        note_failure(run, test_case, &err, diags);
    }
    if (is_run) {
        grid_host_run(shot.host);
        for (uint32_t i = 0; i < test_case->expectations.count; ++i)
            if (is_good[i]) /* one report is enough */
                is_good[i] = test_check_expectation(&shot, &test_case->expectations.data[i]);
        test_check_lanes(&shot);
        test_check_unexpected(&shot);
    }
    grid_host_destroy(shot.host);
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
    for (uint32_t level = 0; level < TEST_LEVELS && is_run; ++level)
        is_run = run_level(run, test_case, level, is_good);
    for (uint32_t i = 0; i < count; ++i)
        if (is_run && is_good[i])
            ++run->file->passed;
        else
            ++run->file->failed;
}

static bool expects_errors(const ExpectFile *expect)
{
    for (uint32_t i = 0; i < expect->diags.count; ++i)
        if (expect->diags.data[i].severity == DIAG_ERROR)
            return true;
    return false;
}

/* Checks the warnings and errors of the source before the first case, and the errors of all groups. */
static void run_diags(TestRun *run)
{
    Error err = {0};
    DiagList *diags = diag_list_create();
    if (!diags)
        return;
    for (uint32_t i = 0; i < run->expect.groups.count && expects_errors(&run->expect); ++i) {
        SslUnit *unit = NULL;
        if (test_link_group(run, &run->expect.groups.data[i], diags, &unit) == STATUS_OK)
            ssl_unit_release(unit);
    }
    if (!run->expect.groups.count || !expects_errors(&run->expect))
        (void)test_build_case(run, &run->expect.cases.data[0], TEST_LEVELS - 1, diags, &err);
    test_check_diags(run, diags);
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
    for (uint32_t i = 0; i < own; ++i)
        rows[i] = run->expect.globals.data[i];
    for (uint32_t i = 0; i < run->tables.global_count; ++i) {
        uint32_t at = 0;
        while (at < own && strcmp(rows[at].name, run->tables.globals[i].name) != 0)
            ++at;
        if (at == own)
            rows[count++] = run->tables.globals[i];
    }
    run->tables.globals = rows;
    run->tables.global_count = count;
    ASSERT(count >= own && count <= SSL_MAX_GLOBALS);
    SslClosureRow *closures = ARENA_ARRAY(run->arena, SslClosureRow,
                                          run->tables.closure_count + run->expect.closures.count);
    memcpy(closures, run->tables.closures, run->tables.closure_count * sizeof *closures);
    for (uint32_t i = 0; i < run->expect.closures.count; ++i)
        closures[run->tables.closure_count++] = run->expect.closures.data[i];
    run->tables.closures = closures;
    if (run->expect.attributes.count > 0) { /* instead of the renderer's */
        run->tables.attributes = run->expect.attributes.data;
        run->tables.attribute_count = run->expect.attributes.count;
    }
    return ssl_context_create(&run->tables, &run->ctx, err);
}

static uint32_t expectation_count(const ExpectFile *expect)
{
    uint32_t count = expect->diags.count;
    for (uint32_t i = 0; i < expect->cases.count; ++i)
        count += expect->cases.data[i].expectations.count;
    return count;
}

static void run_cases(TestRun *run)
{
    uint32_t file = diag_add_source(run->report, run->file->path, run->text);
    expect_parse(run->text, file, run->arena, run->report, &run->expect);
    Error err = {0};
    if (diag_error_count(run->report)) {
        ++run->file->failed;
        return;
    }
    if (expectation_count(&run->expect) == 0) {
        strbuf_printf(&run->file->out, "%s: error: the file expects nothing\n", run->file->path);
        ++run->file->failed;
        return;
    }
    if (make_tables(run, &err) != STATUS_OK) {
        strbuf_printf(&run->file->out, "%s: error: %s\n", run->file->path, err.text);
        ++run->file->failed;
        return;
    }
    run_diags(run);
    for (uint32_t i = 0; i < run->expect.cases.count && !expects_errors(&run->expect); ++i)
        run_case(run, &run->expect.cases.data[i]);
    test_release_builds(run);
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
        ++file->failed;
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
        ++file->failed;
    }
    diag_list_destroy(run.report);
    arena_destroy(run.arena);
    mem_free(text);
}

void test_file_run(TestFile *file)
{
    uint64_t start_ns = clock_now_ns();
    run_file(file);
    file->seconds = clock_seconds_since(start_ns);
}
