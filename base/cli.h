/* Command lines from tables: GNU-style options (`--opt value`, `--opt=value`, `-o value`,
 * `-ovalue`, bundled flags `-vq`, `--` ends them, options and arguments in any order), with ranges,
 * sizes such as 256M, help text from the same table, and a suggestion for what was mistyped.
 *
 *   const CliOption options[] = {
 *       {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &output,
 *        .value_name = "FILE", .help = "where the picture goes"},
 *       {.name = "texture-memory", .kind = CLI_SIZE, .out = &budget, .min = 1 << 20,
 *        .value_name = "SIZE", .help = "budget of the texture cache"},
 *   };
 *
 * --help (-h) and --version are always understood; the caller prints. Long names may not be
 * abbreviated. A given option overrides an earlier one of its name, except CLI_TEXT_LIST, which
 * collects. Outputs that are not named on the command line keep the caller's defaults. */
#ifndef SORT_BASE_CLI_H
#define SORT_BASE_CLI_H

#include "base/error.h"
#include "base/str.h"

typedef enum CliKind {
    CLI_FLAG,      /* out: bool *; set to true; `--no-NAME` sets false when has_negation */
    CLI_TEXT,      /* out: const char ** ; borrowed from argv */
    CLI_TEXT_LIST, /* out: CliTextList * */
    CLI_INT,       /* out: int64_t *; min and max as below */
    CLI_U32,       /* out: uint32_t * */
    CLI_FLOAT,     /* out: double *; finite */
    CLI_SIZE,      /* out: uint64_t *; bytes: 1048576, 512K, 256M, 2G, 1T (powers of 1024; 1.5G) */
    CLI_CHOICE,    /* out: uint32_t *; index into `choices` */
    CLI_CUSTOM     /* out: handed to `parse` */
} CliKind;

enum { CLI_LIST_MAX = 64 };
typedef struct CliTextList {
    const char *items[CLI_LIST_MAX]; /* borrowed from argv */
    uint32_t count;
} CliTextList;

typedef struct CliOption {
    const char *name; /* long name without dashes */
    char short_name;  /* 0: none */
    CliKind kind;
    bool has_negation;
    bool is_hidden; /* works, but stays out of the help */
    bool is_folder; /* the value, or each of a list, must be an existing folder */
    void *out;
    double min, max;            /* inclusive, for numbers and sizes; both 0: the type's own range */
    const char *const *choices; /* CLI_CHOICE: NULL-terminated */
    /* CLI_CUSTOM: parses the value. Its error message needs no option name, which is prepended. */
    Status (*parse)(const char *text, void *out, Error *err);
    const char *value_name; /* "N", "FILE": for the help; NULL for flags */
    const char *help;       /* one sentence without full stop; wrapped when printed */
    const char *group;      /* heading in the help; NULL: the same as the previous option's */
} CliOption;

typedef struct CliProgram {
    const char *name;    /* "sort-render", "texcache make" */
    const char *usage;   /* the text after the name: "[options] SCENE -o FILE" */
    const char *summary; /* one or two sentences */
    const CliOption *options;
    uint32_t option_count;
    uint32_t args_min, args_max; /* number of arguments that are not options */
    const char *args_name;       /* "SCENE", for messages */
    /* NULL-terminated pairs of a command and its description; may be NULL */
    const char *const *examples;
} CliProgram;

typedef struct CliResult {
    char **args; /* the arguments that are not options, in order: argv is permuted in place */
    uint32_t arg_count;
    bool wants_help, wants_version; /* if set, nothing else was checked */
} CliResult;

/* Parses argv[1..argc). Errors: STATUS_INVALID with a printable message: "unknown option '--thread'; did you
 * mean '--threads'?". */
Status cli_parse(const CliProgram *program, int argc, char **argv, CliResult *out_result,
                 Error *err) SORT_MUST_CHECK;
/* Appends the text of --help. */
void cli_help(const CliProgram *program, StrBuf *out);

/* A subcommand of a program. */
typedef struct CliCommand {
    const char *name, *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
} CliCommand;
/* Finds a subcommand by name. Returns NULL with STATUS_INVALID in *err (with a suggestion) if there is none. */
const CliCommand *cli_find_command(const CliCommand *commands, uint32_t count, const char *name,
                                   Error *err);
void cli_commands_help(const char *program, const char *summary, const CliCommand *commands,
                       uint32_t count, StrBuf *out);

/* The value parsers, for use elsewhere. They must consume the whole text. */
Status cli_parse_size(const char *text, uint64_t *out_bytes, Error *err) SORT_MUST_CHECK;
Status cli_parse_int(const char *text, int64_t *out_value, Error *err) SORT_MUST_CHECK;
Status cli_parse_double(const char *text, double *out_value, Error *err) SORT_MUST_CHECK;
/* Returns whether the text is `count` numbers of one to nine digits with `between` between them, such as "320,240". */
bool cli_parse_numbers(const char *text, const char *between, uint32_t *out_numbers,
                       uint32_t count) SORT_MUST_CHECK;
/* Formats a size: "3.2 GiB", "512 KiB", "17 bytes". Returns `out`. */
const char *cli_format_size(uint64_t size_bytes, char out[32]);

#endif
