/* Parsing walks argv once. Arguments that are not options are moved, in their order, to the front of
 * argv, which becomes CliResult.args. */
#include "base/cli.h"

#include "base/check.h"
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- values --- */

Status cli_parse_int(const char *text, int64_t *out_value, Error *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || isspace((unsigned char)text[0]))
        return error_set(err, STATUS_INVALID, "'%s' is not an integer", text);
    if (errno == ERANGE)
        return error_set(err, STATUS_INVALID, "'%s' is out of range", text);
    *out_value = value;
    return STATUS_OK;
}

Status cli_parse_double(const char *text, double *out_value, Error *err)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || isspace((unsigned char)text[0]) || !isfinite(value))
        return error_set(err, STATUS_INVALID, "'%s' is not a number", text);
    *out_value = value;
    return STATUS_OK;
}

bool cli_parse_numbers(const char *text, const char *between, uint32_t *out_numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i) {
        size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > 9)
            return false;
        out_numbers[i] = (uint32_t)strtoul(text, NULL, 10);
        text += digits;
        if (i + 1 < count) {
            if (strncmp(text, between, strlen(between)) != 0)
                return false;
            text += strlen(between);
        }
    }
    return *text == '\0';
}

Status cli_parse_size(const char *text, uint64_t *out_bytes, Error *err)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    double value = isdigit((unsigned char)text[0]) ? strtod(text, &end) : -1;
    if (!end)
        return error_set(err, STATUS_INVALID, "'%s' is not a size such as 512K, 256M or 2G", text);
    uint32_t shift = 0;
    char unit = (char)toupper((unsigned char)*end);
    const char *found = unit ? strchr(units, unit) : NULL;
    if (found) {
        shift = 10u * (uint32_t)(found - units + 1);
        ++end;
        if (end[0] == 'i' && end[1] == 'B') /* KiB ... */
            end += 2;
    } else if (unit == 'B') {
        ++end;
    }
    if (*end != '\0')
        return error_set(err, STATUS_INVALID, "'%s' is not a size such as 512K, 256M or 2G", text);
    double bytes = ldexp(value, (int)shift);
    if (!(bytes < 0x1p63)) /* NaN too */
        return error_set(err, STATUS_INVALID, "'%s' is too large", text);
    *out_bytes = (uint64_t)bytes;
    return STATUS_OK;
}

const char *cli_format_size(uint64_t size_bytes, char out[32])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (size_bytes < 1024) {
        (void)snprintf(out, 32, "%u byte%s", (unsigned)size_bytes, size_bytes == 1 ? "" : "s");
        return out;
    }
    double value = (double)size_bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < SORT_COUNT_OF(units)) {
        value /= 1024;
        ++unit;
    }
    value = round(value * 10) / 10;
    if (value == floor(value))
        (void)snprintf(out, 32, "%.0f %s", value, units[unit]);
    else
        (void)snprintf(out, 32, "%.1f %s", value, units[unit]);
    return out;
}

/* Checks the option's range, or the type's own if none is given. */
static Status check_range(const CliOption *option, double value, double type_min, double type_max,
                          Error *err)
{
    bool has_range = option->min != 0 || option->max != 0;
    double min = has_range ? option->min : type_min;
    double max = has_range ? option->max : type_max;
    if (value >= min && value <= max)
        return STATUS_OK;
    char least[32], most[32];
    if (option->kind == CLI_SIZE) {
        cli_format_size((uint64_t)min, least);
        cli_format_size(max < 0x1p63 ? (uint64_t)max : UINT64_MAX, most);
    } else {
        (void)snprintf(least, sizeof least, "%.15g", min);
        (void)snprintf(most, sizeof most, "%.15g", max);
    }
    bool is_open = max >= type_max;
    if (is_open && value < min)
        return error_set(err, STATUS_INVALID, "must be at least %s", least);
    return error_set(err, STATUS_INVALID, "must be between %s and %s", least, most);
}

static Status set_choice(const CliOption *option, const char *text, Error *err)
{
    uint32_t count = 0;
    for (; option->choices[count]; ++count)
        if (strcmp(option->choices[count], text) == 0) {
            *(uint32_t *)option->out = count;
            return STATUS_OK;
        }
    const char *nearest = suggest_nearest(text, option->choices, count);
    if (nearest)
        return error_set(err, STATUS_INVALID, "unknown value '%s'; did you mean '%s'?", text,
                         nearest);
    StrBuf list = {0};
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(&list, "%s%s", i ? ", " : "", option->choices[i]);
    Status status = error_set(err, STATUS_INVALID, "unknown value '%s'; it is one of: %s", text,
                              strbuf_text(&list));
    strbuf_free(&list);
    return status;
}

static Status set_value(const CliOption *option, const char *text, Error *err)
{
    int64_t integer = 0;
    double real = 0;
    uint64_t bytes = 0;
    switch (option->kind) {
    case CLI_FLAG:
        UNREACHABLE(); /* a flag takes no value */
    case CLI_TEXT:
        *(const char **)option->out = text;
        return STATUS_OK;
    case CLI_TEXT_LIST: {
        CliTextList *list = option->out;
        if (list->count == CLI_LIST_MAX)
            return error_set(err, STATUS_INVALID, "given more than %d times", CLI_LIST_MAX);
        list->items[list->count++] = text;
        return STATUS_OK;
    }
    case CLI_INT:
        TRY(cli_parse_int(text, &integer, err));
        TRY(check_range(option, (double)integer, -0x1p63, 0x1p63, err));
        *(int64_t *)option->out = integer;
        return STATUS_OK;
    case CLI_U32:
        TRY(cli_parse_int(text, &integer, err));
        TRY(check_range(option, (double)integer, 0, UINT32_MAX, err));
        *(uint32_t *)option->out = (uint32_t)integer;
        return STATUS_OK;
    case CLI_FLOAT:
        TRY(cli_parse_double(text, &real, err));
        TRY(check_range(option, real, -DBL_MAX, DBL_MAX, err));
        *(double *)option->out = real;
        return STATUS_OK;
    case CLI_SIZE:
        TRY(cli_parse_size(text, &bytes, err));
        TRY(check_range(option, (double)bytes, 0, 0x1p63, err));
        *(uint64_t *)option->out = bytes;
        return STATUS_OK;
    case CLI_CHOICE:
        return set_choice(option, text, err);
    case CLI_CUSTOM:
        return option->parse(text, option->out, err);
    }
    UNREACHABLE();
}

/* --- the walk --- */

typedef struct Walk {
    const CliProgram *program;
    char **argv;
    int argc, at; /* the next argument */
    CliResult *result;
    Error *err;
} Walk;

enum { NAMES_MAX = 256 };

static Status fail_unknown_long(const Walk *w, Str name)
{
    const char *names[NAMES_MAX] = {"help", "version"};
    size_t count = 2;
    char given[64];
    for (uint32_t i = 0; i < w->program->option_count && count < NAMES_MAX; ++i)
        if (!w->program->options[i].is_hidden)
            names[count++] = w->program->options[i].name;
    (void)snprintf(given, sizeof given, "%.*s", STR_ARG(name));
    const char *nearest = suggest_nearest(given, names, count);
    if (nearest)
        return error_set(w->err, STATUS_INVALID, "unknown option '--%s'; did you mean '--%s'?",
                         given, nearest);
    return error_set(w->err, STATUS_INVALID, "unknown option '--%s'; --help lists them", given);
}

/* value: the text after '=' or after the letter; NULL: the next argument, if a value is needed. */
static Status take_option(Walk *w, const CliOption *option, const char *given, const char *value)
{
    if (option->kind == CLI_FLAG) {
        if (value)
            return error_set(w->err, STATUS_INVALID, "option '%s' takes no value", given);
        *(bool *)option->out = true;
        return STATUS_OK;
    }
    if (!value) {
        if (w->at == w->argc)
            return error_set(w->err, STATUS_INVALID, "option '%s' needs a value%s%s", given,
                             option->value_name ? ": " : "",
                             option->value_name ? option->value_name : "");
        value = w->argv[w->at++];
    }
    if (option->is_folder && !file_is_directory(value))
        return error_set(w->err, STATUS_INVALID, "option '%s': '%s' is no folder", given, value);
    Status status = set_value(option, value, w->err);
    if (status != STATUS_OK && w->err)
        (void)error_prefix(w->err, "option '%s'", given);
    return status;
}

static Status take_long(Walk *w, const char *argument)
{
    const char *equals = strchr(argument, '=');
    Str name = {argument + 2, equals ? (size_t)(equals - argument) - 2 : strlen(argument) - 2};
    const char *value = equals ? equals + 1 : NULL;
    if (str_equal_c(name, "help") || str_equal_c(name, "version")) {
        if (value)
            return error_set(w->err, STATUS_INVALID, "option '--%.*s' takes no value",
                             STR_ARG(name));
        *(str_equal_c(name, "help") ? &w->result->wants_help : &w->result->wants_version) = true;
        return STATUS_OK;
    }
    for (uint32_t i = 0; i < w->program->option_count; ++i) {
        const CliOption *option = &w->program->options[i];
        char given[80];
        if (str_equal_c(name, option->name)) {
            (void)snprintf(given, sizeof given, "--%s", option->name);
            return take_option(w, option, given, value);
        }
        if (option->kind == CLI_FLAG && option->has_negation && name.size_bytes > 3 &&
            memcmp(name.data, "no-", 3) == 0 &&
            str_equal_c((Str){name.data + 3, name.size_bytes - 3}, option->name)) {
            if (value)
                return error_set(w->err, STATUS_INVALID, "option '--no-%s' takes no value",
                                 option->name);
            *(bool *)option->out = false;
            return STATUS_OK;
        }
    }
    return fail_unknown_long(w, name);
}

/* Parses "-v", "-vq", "-o FILE" and "-oFILE". */
static Status take_short(Walk *w, const char *argument)
{
    for (const char *letter = argument + 1; *letter; ++letter) {
        const CliOption *option = NULL;
        for (uint32_t i = 0; i < w->program->option_count && !option; ++i)
            if (w->program->options[i].short_name == *letter)
                option = &w->program->options[i];
        char given[3] = {'-', *letter, '\0'};
        if (!option && *letter == 'h') {
            w->result->wants_help = true;
            return STATUS_OK;
        }
        if (!option)
            return error_set(w->err, STATUS_INVALID, "unknown option '%s'; --help lists them",
                             isprint((unsigned char)*letter) ? given : argument);
        if (option->kind != CLI_FLAG)
            return take_option(w, option, given, letter[1] ? letter + 1 : NULL);
        TRY(take_option(w, option, given, NULL));
    }
    return STATUS_OK;
}

static Status check_arg_count(const CliProgram *program, const CliResult *result, Error *err)
{
    const char *name = program->args_name ? program->args_name : "argument";
    if (result->arg_count < program->args_min)
        return error_set(err, STATUS_INVALID, "%s is missing; usage: %s %s", name, program->name,
                         program->usage);
    if (result->arg_count > program->args_max)
        return error_set(err, STATUS_INVALID, "unexpected argument '%s'; usage: %s %s",
                         result->args[program->args_max], program->name, program->usage);
    return STATUS_OK;
}

Status cli_parse(const CliProgram *program, int argc, char **argv, CliResult *out_result,
                 Error *err)
{
    *out_result = (CliResult){.args = argv + (argc > 0 ? 1 : 0)};
    Walk w = {
        .program = program, .argv = argv, .argc = argc, .at = 1, .result = out_result, .err = err};
    bool is_rest = false; /* after "--" */
    while (w.at < argc) {
        char *argument = argv[w.at++];
        if (is_rest || argument[0] != '-' || argument[1] == '\0')
            out_result->args[out_result->arg_count++] = argument;
        else if (strcmp(argument, "--") == 0)
            is_rest = true;
        else
            TRY(argument[1] == '-' ? take_long(&w, argument) : take_short(&w, argument));
        if (out_result->wants_help || out_result->wants_version)
            return STATUS_OK;
    }
    return check_arg_count(program, out_result, err);
}

/* --- help --- */

enum { HELP_WIDTH = 80, HELP_COLUMN = 30 };

/* Prints the words of `text` from `column` on, broken at HELP_WIDTH, with further lines indented to `indent`. */
static void print_wrapped(StrBuf *out, const char *text, size_t column, size_t indent)
{
    bool is_line_start = true;
    while (*text) {
        size_t length = strcspn(text, " ");
        if (!is_line_start && column + 1 + length > HELP_WIDTH) {
            strbuf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
            is_line_start = true;
        }
        if (!is_line_start) {
            strbuf_append_char(out, ' ');
            ++column;
        }
        strbuf_append(out, (Str){text, length});
        column += length;
        is_line_start = false;
        text += length;
        while (*text == ' ')
            ++text;
    }
    strbuf_append_char(out, '\n');
}

static void print_option(StrBuf *out, char short_name, const char *name, const char *value_name,
                         const char *help)
{
    size_t start = out->size_bytes;
    if (short_name)
        strbuf_printf(out, "  -%c, --%s", short_name, name);
    else
        strbuf_printf(out, "      --%s", name);
    if (value_name)
        strbuf_printf(out, " %s", value_name);
    size_t column = out->size_bytes - start;
    if (column + 2 > HELP_COLUMN) {
        strbuf_append_char(out, '\n');
        column = 0;
    }
    if (out->failed)
        return;
    strbuf_printf(out, "%*s", (int)(HELP_COLUMN - column), "");
    print_wrapped(out, help, HELP_COLUMN, HELP_COLUMN);
}

static void print_table_option(StrBuf *out, const CliOption *option)
{
    StrBuf help = {0}, name = {0};
    strbuf_append_c(&help, option->help ? option->help : "");
    if (option->kind == CLI_CHOICE) {
        for (uint32_t i = 0; option->choices[i]; ++i)
            strbuf_printf(&help, "%s%s", i ? ", " : ": ", option->choices[i]);
    }
    strbuf_printf(&name, "%s%s", option->has_negation ? "[no-]" : "", option->name);
    print_option(out, option->short_name, strbuf_text(&name), option->value_name,
                 strbuf_text(&help));
    strbuf_free(&help);
    strbuf_free(&name);
}

void cli_help(const CliProgram *program, StrBuf *out)
{
    strbuf_printf(out, "Usage: %s %s\n\n", program->name, program->usage);
    if (program->summary)
        print_wrapped(out, program->summary, 0, 0);
    const char *group = NULL;
    strbuf_append_c(out, program->option_count && program->options[0].group ? "" : "\nOptions:\n");
    for (uint32_t i = 0; i < program->option_count; ++i) {
        const CliOption *option = &program->options[i];
        if (option->is_hidden)
            continue;
        if (option->group && (!group || strcmp(group, option->group) != 0)) {
            group = option->group;
            strbuf_printf(out, "\n%s:\n", group);
        }
        print_table_option(out, option);
    }
    if (group)
        strbuf_append_char(out, '\n');
    print_option(out, 'h', "help", NULL, "print this text");
    print_option(out, 0, "version", NULL, "print the version");
    if (program->examples) {
        strbuf_append_c(out, "\nExamples:\n");
        for (const char *const *example = program->examples; example[0]; example += 2)
            strbuf_printf(out, "  %s\n      %s\n", example[0], example[1]);
    }
}

/* --- subcommands --- */

const CliCommand *cli_find_command(const CliCommand *commands, uint32_t count, const char *name,
                                   Error *err)
{
    const char *names[NAMES_MAX];
    uint32_t name_count = count < NAMES_MAX ? count : NAMES_MAX;
    for (uint32_t i = 0; i < count; ++i)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    for (uint32_t i = 0; i < name_count; ++i)
        names[i] = commands[i].name;
    const char *nearest = suggest_nearest(name, names, name_count);
    if (nearest)
        (void)error_set(err, STATUS_INVALID, "unknown command '%.60s'; did you mean '%s'?", name,
                        nearest);
    else
        (void)error_set(err, STATUS_INVALID, "unknown command '%.60s'; --help lists them", name);
    return NULL;
}

void cli_commands_help(const char *program, const char *summary, const CliCommand *commands,
                       uint32_t count, StrBuf *out)
{
    enum { NAME_COLUMNS = 14 };
    strbuf_printf(out, "Usage: %s COMMAND [arguments]\n\n", program);
    print_wrapped(out, summary, 0, 0);
    strbuf_append_c(out, "\nCommands:\n");
    for (uint32_t i = 0; i < count; ++i) {
        strbuf_printf(out, "  %-*s", NAME_COLUMNS - 2, commands[i].name);
        print_wrapped(out, commands[i].summary, NAME_COLUMNS, NAME_COLUMNS);
    }
    strbuf_printf(out, "\n'%s COMMAND --help' explains one of them.\n", program);
}
