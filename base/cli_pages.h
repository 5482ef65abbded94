/* Manual pages and shell completions from the tables of base/cli.h.
 *
 * A page is written program by program: the program itself, then its subcommands, whose names are
 * "PROGRAM COMMAND". A table therefore need only live while its own part is written.
 *
 *   cli_completion_begin(SHELL, "sort-render", commands, 2, out);
 *   cli_completion_add(SHELL, &merge_program, out);      the subcommands first,
 *   cli_completion_add(SHELL, &render_program, out);     the program itself last
 *   cli_completion_end(SHELL, "sort-render", out);
 *
 * An option's table row determines how its value is completed: from `choices`, as a folder (value name DIR), as a
 * file (value name FILE...), or not at all. The `choices` of a CLI_TEXT option are offered, but not enforced. Any
 * thread. */
#ifndef SORT_BASE_CLI_PAGES_H
#define SORT_BASE_CLI_PAGES_H

#include "base/cli.h"

typedef enum CliShell { CLI_SHELL_BASH, CLI_SHELL_ZSH, CLI_SHELL_FISH } CliShell;
/* The names "bash", "zsh", "fish"; NULL-terminated, in the order of CliShell. */
extern const char *const cli_shell_names[];

/* Begins a script. `commands` are the names of the subcommands. */
void cli_completion_begin(CliShell shell, const char *program, const char *const *commands,
                          uint32_t command_count, StrBuf *out);
void cli_completion_add(CliShell shell, const CliProgram *program, StrBuf *out);
void cli_completion_end(CliShell shell, const char *program, StrBuf *out);

/* Writes the options in roff (man macros), under a .SS for each of their groups. */
void cli_manual_options(const CliProgram *program, StrBuf *out);
void cli_manual_examples(const CliProgram *program, StrBuf *out);
/* Escapes text for roff: dashes stay dashes, and no line becomes a request. */
void cli_manual_text(const char *text, StrBuf *out);

#endif
