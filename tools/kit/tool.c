#include "tools/kit/tool.h"

#include "base/cast.h"
#include "base/check.h"
#include "base/file.h"
#include "tools/kit/tool_pages.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Tool *running; /* the process's own */
static ToolPage *described; /* borrowed; not NULL while tool_parse adds tables to this page */

/* --- messages ---------------------------------------------------------------------------------- */

int tool_fail(const Error *err, int code)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    (void)fprintf(stderr, "%s: %s\n", running->name, error_format(err, text, sizeof text));
    return code;
}

static void check_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    (void)fprintf(stderr, "%s: standard output cannot be written%s%s\n", running->name,
                  errno ? ": " : "", errno ? strerror(errno) : "");
    _Exit(TOOL_FAILED);
}

static void print(FILE *stream, StrBuf *text)
{
    (void)fputs(strbuf_text(text), stream);
    strbuf_free(text);
}

/* --- commands ---------------------------------------------------------------------------------- */

bool tool_parse(const CliProgram *command, int argc, char **argv, CliResult *out_args,
                int *out_code)
{
    Error err = {0};
    StrBuf help = {0};
    *out_code = TOOL_DONE;
    ASSERT(running && argc >= 1);
    if (described) {
        tool_page_add(described, command);
        return false;
    }
    if (cli_parse(command, argc, argv, out_args, &err) != STATUS_OK) {
        *out_code = tool_fail(&err, TOOL_USAGE);
        return false;
    }
    if (out_args->wants_help) {
        cli_help(command, &help);
        print(stdout, &help);
    } else if (out_args->wants_version) {
        (void)printf("%s %s\n", running->name, SORT_VERSION);
    }
    return !out_args->wants_help && !out_args->wants_version;
}

/* Adds the table of each command to the page, and the program's own if it runs without a command. */
static void describe(ToolPage *page)
{
    char *argv[] = {cast_away_const(running->name), NULL};
    ASSERT(!described);
    described = page;
    for (uint32_t i = 0; i < running->command_count; ++i)
        (void)running->commands[i].run(1, argv);
    for (uint32_t i = 0; i < TOOL_PAGE_COMMANDS; ++i)
        (void)tool_page_commands[i].run(1, argv);
    if (running->run)
        (void)running->run(1, argv);
    described = NULL;
}

/* Writes the program's name and the command's to `out`, such as "sslc manual", and returns it. */
static const char *name_with(const char *command, char out[64])
{
    (void)snprintf(out, 64, "%s %s", running->name, command);
    return out;
}

static int run_manual(int argc, char **argv)
{
    char name[64];
    const CliProgram command = {.name = name_with("manual", name),
                                .usage = "",
                                .summary = "Prints the manual page, which 'man -l -' shows."};
    CliResult args;
    int code;
    StrBuf text = {0};
    if (!tool_parse(&command, argc, argv, &args, &code))
        return code;
    ToolPage options = {.kind = TOOL_PAGE_OPTIONS}, examples = {.kind = TOOL_PAGE_EXAMPLES};
    describe(&options);
    describe(&examples);
    tool_manual(running, &options, &examples, &text);
    print(stdout, &text);
    return TOOL_DONE;
}

static int run_completion(int argc, char **argv)
{
    char name[64];
    const CliProgram command = {
        .name = name_with("completion", name),
        .usage = "SHELL",
        .summary = "Prints what makes a shell complete options; SHELL is bash, zsh or fish. For "
                   "bash, put it in "
                   "~/.local/share/bash-completion/completions under the program's name.",
        TOOL_ARGS(1, 1, "SHELL")};
    Error err = {0};
    CliResult args;
    int code;
    uint32_t shell = 0;
    if (!tool_parse(&command, argc, argv, &args, &code))
        return code;
    while (cli_shell_names[shell] && strcmp(cli_shell_names[shell], args.args[0]) != 0)
        ++shell;
    if (!cli_shell_names[shell]) {
        (void)error_set(&err, STATUS_INVALID, "'%s' is none of bash, zsh and fish", args.args[0]);
        return tool_fail(&err, TOOL_USAGE);
    }
    ASSERT(shell <= CLI_SHELL_FISH);
    ToolPage page = {.kind = TOOL_PAGE_COMPLETION, .shell = (CliShell)shell};
    tool_completion_begin(running, &page);
    describe(&page);
    cli_completion_end(page.shell, running->name, &page.main);
    print(stdout, &page.main);
    return TOOL_DONE;
}

const CliCommand tool_page_commands[TOOL_PAGE_COMMANDS] = {
    {"manual", "print the manual page", run_manual},
    {"completion", "print a shell's completion script", run_completion},
};

/* --- main -------------------------------------------------------------------------------------- */

enum { COMMANDS_MAX = 24 };

/* The program's own commands and those that all have; returns their number. */
static uint32_t all_commands(const Tool *program, CliCommand out[COMMANDS_MAX])
{
    CHECK(program->command_count + TOOL_PAGE_COMMANDS <= COMMANDS_MAX);
    if (program->command_count)
        memcpy(out, program->commands, program->command_count * sizeof *out);
    memcpy(out + program->command_count, tool_page_commands, sizeof tool_page_commands);
    return program->command_count + TOOL_PAGE_COMMANDS;
}

static int run_without_command(const CliCommand *commands, uint32_t count, int argc, char **argv)
{
    const char *names[COMMANDS_MAX];
    for (uint32_t i = 0; i < count; ++i)
        names[i] = commands[i].name;
    /* A command that is mistyped would be taken for a file. */
    const char *nearest =
        argc > 1 && argv[1][0] != '-' ? suggest_nearest(argv[1], names, count) : NULL;
    if (!nearest || file_exists(argv[1]))
        return running->run(argc, argv);
    Error err = {0};
    char shown[256];
    (void)error_set(&err, STATUS_INVALID, "there is no command or file '%s'; did you mean '%s'?",
                    str_printable(str_from(argv[1]), shown, sizeof shown), nearest);
    return tool_fail(&err, TOOL_USAGE);
}

static int run_with_command(const CliCommand *commands, uint32_t count, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    bool wants_help = word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
    if (!word || wants_help) {
        StrBuf help = {0};
        cli_commands_help(running->name, running->summary, commands, count, &help);
        print(wants_help ? stdout : stderr, &help);
        return wants_help ? TOOL_DONE : TOOL_USAGE;
    }
    if (strcmp(word, "--version") == 0) {
        (void)printf("%s %s\n", running->name, SORT_VERSION);
        return TOOL_DONE;
    }
    Error err = {0};
    (void)cli_find_command(commands, count, word, &err);
    return tool_fail(&err, TOOL_USAGE);
}

int tool_main(const Tool *program, int argc, char **argv)
{
    CliCommand commands[COMMANDS_MAX];
    ASSERT(!running && (program->run || program->command_count > 0));
    running = program;
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)atexit(check_output);
    uint32_t count = all_commands(program, commands);
    for (uint32_t i = 0; argc > 1 && i < count; ++i)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    return program->run ? run_without_command(commands, count, argc, argv)
                        : run_with_command(commands, count, argc, argv);
}
