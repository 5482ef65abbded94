/* The frame of all our programs: a table of commands, parsing, messages, and the pages made from the tables.
 *
 *   static const Tool program = {.name = "texcache", .commands = commands, ...};
 *   int main(int argc, char **argv) { return tool_main(&program, argc, argv); }
 *
 *   int texcache_run_make(int argc, char **argv)     a command: describes its options in a table on its stack,
 *   {                                                hands it to tool_parse, and goes on if that says so
 *       ...
 *       if (!tool_parse(&table, argc, argv, &args, &code))
 *           return code;
 *
 * Every program has the commands `manual`, which prints its manual page, and `completion SHELL`, which prints what
 * makes a shell complete its options. They run each command in turn, and tool_parse
 * then adds the command's table to the page instead of parsing by it. A process has one program, and only its main
 * thread may call these functions. */
#ifndef SORT_TOOLS_KIT_TOOL_H
#define SORT_TOOLS_KIT_TOOL_H

#include "base/cli.h"

/* One row of the manual's tables: a name and what it means, without a full stop. */
typedef struct ToolRow {
    const char *name, *meaning;
} ToolRow;

typedef struct Tool {
    const char *name;
    const char *purpose;     /* "render a scene by path tracing": the manual's headline */
    const char *summary;     /* one or two sentences: the help of a program with commands */
    const char *description; /* what the manual says after it, in roff; may be NULL */
    const CliCommand *commands;
    uint32_t command_count;
    /* The program without a command; NULL: there must be one. It may be called with argc 1 to describe itself. */
    int (*run)(int argc, char **argv);
    const ToolRow *exit_codes, *environment; /* `environment` may be NULL */
    uint32_t exit_code_count, environment_count;
    const char *see_also; /* other pages, "texcache (1), sslc (1)" */
} Tool;

/* All programs agree on these; a program's own codes follow them. */
enum { TOOL_DONE = 0, TOOL_FAILED = 1, TOOL_USAGE = 2 };

/* The whole of main: runs the command that argv names and returns its exit code. A write past the limit of a file's
 * size (SIGXFSZ) becomes an error of that write; and standard output that could not be written ends the process with
 * TOOL_FAILED and a message. */
int tool_main(const Tool *program, int argc, char **argv);

/* Initialisers of a CliProgram: its table of options, and how many arguments called `name` it takes. */
#define TOOL_OPTIONS(table)       .options = (table), .option_count = SORT_COUNT_OF(table)
#define TOOL_ARGS(min, max, name) .args_min = (min), .args_max = (max), .args_name = (name)

/* True: the command goes on with *out_args. False: help, the version or a page was printed, or the arguments make no
 * sense, which was said; *out_code is the exit code. */
bool tool_parse(const CliProgram *command, int argc, char **argv, CliResult *out_args,
                int *out_code);

/* Prints "NAME: message" on standard error; returns `code`. */
int tool_fail(const Error *err, int code);

#endif
