/* ssl-test: runs .ssl files that say themselves what must come out (docs/ssl-test.md).
 *
 * A file is compiled and run once for each of its cases, without optimisation and with; every point
 * of two blocks gets the same values, so that lanes can be compared too. Files are independent and run
 * on several threads; what they print comes in the order of the names. */
#include "tools/ssl_test.h"
#include "base/cli.h"
#include "base/file.h"
#include "base/thread.h"
#include "tools/start.h"
#include <stdio.h>
#include <string.h>

enum { EXIT_PASSED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct Session {
    Arena *arena;
    ARRAY(TestFile) files;
    CliTextList filters, exclusions;
} Session;

static bool contains_any(const char *path, const CliTextList *texts)
{
    for (uint32_t i = 0; i < texts->count; i++)
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
    test_file_run(&s->files.data[index]);
}

static int finish(Session *s, TestFormat format, bool is_verbose)
{
    uint32_t passed = 0, failed = 0;
    test_report(s->files.data, s->files.count, format, is_verbose);
    for (uint32_t i = 0; i < s->files.count; i++) {
        passed += s->files.data[i].passed;
        failed += s->files.data[i].failed;
        strbuf_free(&s->files.data[i].out);
    }
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
    program_begin("ssl-test");
    Session session = {0};
    bool is_verbose = false;
    uint32_t threads = 0, format = TEST_FORMAT_TEXT;
    static const char *const format_words[] = {"text", "tap", "junit", NULL};
    const CliOption options[] = {
        {.name = "filter",
         .short_name = 'f',
         .kind = CLI_TEXT_LIST,
         .out = &session.filters,
         .value_name = "TEXT",
         .help = "only files whose path contains TEXT; given again: or that"},
        {.name = "exclude",
         .short_name = 'x',
         .kind = CLI_TEXT_LIST,
         .out = &session.exclusions,
         .value_name = "TEXT",
         .help = "no files whose path contains TEXT"},
        {.name = "format",
         .kind = CLI_CHOICE,
         .out = &format,
         .choices = format_words,
         .value_name = "FORMAT",
         .help = "text, tap (TAP 13, a test a file) or junit (XML, a test case a file)"},
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
        code = finish(&session, (TestFormat)format, is_verbose);
    }
    arena_destroy(session.arena);
    return code;
}
