/* ssl-test: runs .ssl files that say themselves what must come out (docs/reference/ssl-test.md).
 *
 * A file is compiled and run once for each of its cases, without optimisation and with; every point
 * of two blocks gets the same values, so that lanes can be compared too. Files are independent and run
 * on several threads, each within a limit of time; what they print comes in the order of the names. */
#include "tools/ssl_test/ssl_test.h"
#include "base/check.h"
#include "base/file.h"
#include "tools/kit/tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_SECONDS 120.0

typedef struct Session {
    Arena *arena;
    ARRAY(TestFile) files;
    CliTextList filters, exclusions;
    uint32_t threads;     /* 0: one per CPU */
    uint32_t format;      /* TestFormat */
    double limit_seconds; /* of a file; 0: none */
    bool is_verbose;
} Session;

static bool contains_any(const char *path, const CliTextList *texts)
{
    for (uint32_t i = 0; i < texts->count; ++i)
        if (strstr(path, texts->items[i]))
            return true;
    return false;
}

static bool passes_filters(const Session *s, const char *path)
{
    return (s->filters.count == 0 || contains_any(path, &s->filters)) &&
           !contains_any(path, &s->exclusions);
}

static Status add_path(Session *s, const char *path, bool is_named, Error *err)
{
    if (!file_is_directory(path)) {
        bool is_wanted = is_named || path_has_extension(path, ".ssl");
        if (is_wanted && passes_filters(s, path))
            array_push(s->arena, &s->files, (TestFile){.path = path});
        return STATUS_OK;
    }
    const char *const *names;
    uint32_t count;
    TRY(file_list_directory(path, s->arena, &names, &count, err));
    for (uint32_t i = 0; i < count; ++i) {
        char joined[PATH_BYTES];
        TRY(path_join(path, names[i], joined, err));
        TRY(add_path(s, arena_strndup(s->arena, joined, strlen(joined)), false, err));
    }
    return STATUS_OK;
}

static int finish(Session *s)
{
    uint32_t passed = 0, failed = 0;
    test_report(s->files.data, s->files.count, (TestFormat)s->format, s->is_verbose);
    for (uint32_t i = 0; i < s->files.count; ++i) {
        passed += s->files.data[i].passed;
        failed += s->files.data[i].failed;
        strbuf_free(&s->files.data[i].out);
    }
    return failed || passed == 0 ? TOOL_FAILED : TOOL_DONE;
}

static bool parse(Session *s, int argc, char **argv, CliResult *args, int *out_code)
{
    static const char *const format_words[] = {"text", "tap", "junit", NULL};
    /* clang-format off */
    const CliOption options[] = {
        {.name = "filter", .short_name = 'f', .kind = CLI_TEXT_LIST, .out = &s->filters, .value_name = "TEXT", .help = "only files whose path contains TEXT; if repeated, any of the texts"},
        {.name = "exclude", .short_name = 'x', .kind = CLI_TEXT_LIST, .out = &s->exclusions, .value_name = "TEXT", .help = "no files whose path contains TEXT"},
        {.name = "format", .kind = CLI_CHOICE, .out = &s->format, .choices = format_words, .value_name = "FORMAT", .help = "output format: text, tap (TAP 13, one test per file) or junit (XML, one test case per file)"},
        {.name = "jobs", .short_name = 'j', .kind = CLI_U32, .out = &s->threads, .max = 1024, .value_name = "N", .help = "number of files to run in parallel; 0, the default: one per CPU"},
        {.name = "time-limit", .kind = CLI_FLOAT, .out = &s->limit_seconds, .max = 1e6, .value_name = "SECONDS", .help = "a file that takes longer fails, and the others go on; by default 120, 0: no limit"},
        {.name = "verbose", .short_name = 'v', .kind = CLI_FLAG, .out = &s->is_verbose, .help = "print a line for every file"},
    };
    /* clang-format on */
    const CliProgram program = {.name = "ssl-test",
                                .usage = "[options] PATH...",
                                .summary = "Runs .ssl files, and all such files in folders, and "
                                           "checks the expectations in their comments.",
                                TOOL_OPTIONS(options),
                                TOOL_ARGS(1, 4096, "PATH")};
    return tool_parse(&program, argc, argv, args, out_code);
}

static int run_paths(Session *s, const CliResult *args)
{
    Error err = {0};
    Status status = STATUS_OK;
    s->arena = arena_create(0, 0);
    if (!s->arena)
        status = error_set(&err, STATUS_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < args->arg_count && status == STATUS_OK; ++i)
        status = add_path(s, args->args[i], true, &err);
    if (status != STATUS_OK)
        return tool_fail(&err, TOOL_USAGE);
    uint32_t left;
    status =
        test_run_files(s->files.data, s->files.count, s->threads, s->limit_seconds, &left, &err);
    if (status != STATUS_OK)
        return tool_fail(&err, TOOL_FAILED);
    int code = finish(s);
    if (left == 0)
        return code;
    (void)fflush(stdout);
    _Exit(TOOL_FAILED); /* what is left of threads still runs */
}

static int run(int argc, char **argv)
{
    Session session = {.format = TEST_FORMAT_TEXT, .limit_seconds = LIMIT_SECONDS};
    CliResult args;
    int code;
    if (!parse(&session, argc, argv, &args, &code))
        return code;
    code = run_paths(&session, &args);
    arena_destroy(session.arena);
    return code;
}

static const ToolRow exit_codes[] = {
    {"0", "all expectations were met"},
    {"1", "an expectation was not met, a file took too long, or no file was found"},
    {"2", "the command line makes no sense, or a path is not there"},
};

int main(int argc, char **argv)
{
    static const Tool program = {.name = "ssl-test",
                                 .purpose =
                                     "run SSL files against the expectations in their comments",
                                 .summary = "Runs .ssl files, and all such files in folders, and "
                                            "checks the expectations in their comments.",
                                 .run = run,
                                 .exit_codes = exit_codes,
                                 .exit_code_count = SORT_COUNT_OF(exit_codes),
                                 .see_also = "sslc (1), sort-render (1)"};
    return tool_main(&program, argc, argv);
}
