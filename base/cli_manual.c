#include "base/cli_pages.h"

#include <ctype.h>

void cli_manual_text(const char *text, StrBuf *out)
{
    bool is_line_start = out->size_bytes == 0 || out->data[out->size_bytes - 1] == '\n';
    for (; *text; ++text) {
        if (is_line_start && (*text == '.' || *text == '\''))
            strbuf_append_c(out, "\\&");
        if (*text == '-')
            strbuf_append_c(out, "\\-");
        else if (*text == '\\')
            strbuf_append_c(out, "\\e");
        else if (*text == '\'')
            strbuf_append_c(out, "\\(aq");
        else
            strbuf_append_char(out, *text);
        is_line_start = *text == '\n';
    }
}

static void print_heading(const char *heading, StrBuf *out)
{
    strbuf_append_c(out, ".SS ");
    cli_manual_text(heading, out);
    strbuf_append_char(out, '\n');
}

/* Prints .TP, then "-o, --output FILE" in bold and italics, then the sentence. */
static void print_option(char short_name, const char *name, const char *value_name, StrBuf *out)
{
    strbuf_append_c(out, ".TP\n");
    if (short_name)
        strbuf_printf(out, "\\fB\\-%c\\fR, ", short_name);
    strbuf_append_c(out, "\\fB\\-\\-");
    cli_manual_text(name, out);
    strbuf_append_c(out, "\\fR");
    if (value_name) {
        strbuf_append_c(out, " \\fI");
        cli_manual_text(value_name, out);
        strbuf_append_c(out, "\\fR");
    }
    strbuf_append_char(out, '\n');
}

/* Prints a help sentence with a capital letter and a full stop, which it lacks in the table. */
static void print_sentence(const CliOption *option, StrBuf *out)
{
    const char *help = option->help ? option->help : "";
    const char first[2] = {(char)toupper((unsigned char)help[0]), '\0'};
    cli_manual_text(first, out);
    cli_manual_text(help[0] ? help + 1 : help, out);
    for (uint32_t i = 0; option->choices && option->choices[i]; ++i) {
        strbuf_append_c(out, i ? ", " : ": ");
        strbuf_append_c(out, "\\fB");
        cli_manual_text(option->choices[i], out);
        strbuf_append_c(out, "\\fR");
    }
    strbuf_append_c(out, ".\n");
}

void cli_manual_options(const CliProgram *program, StrBuf *out)
{
    for (uint32_t i = 0; i < program->option_count; ++i) {
        const CliOption *option = &program->options[i];
        if (option->is_hidden)
            continue;
        if (option->group)
            print_heading(option->group, out);
        StrBuf name = {0};
        strbuf_printf(&name, "%s%s", option->has_negation ? "[no-]" : "", option->name);
        print_option(option->short_name, strbuf_text(&name), option->value_name, out);
        print_sentence(option, out);
        strbuf_free(&name);
    }
}

void cli_manual_examples(const CliProgram *program, StrBuf *out)
{
    for (const char *const *example = program->examples; example && example[0]; example += 2) {
        strbuf_append_c(out, ".TP\n\\fB");
        cli_manual_text(example[0], out);
        strbuf_append_c(out, "\\fR\n");
        cli_manual_text(example[1], out);
        strbuf_append_char(out, '\n');
    }
}
