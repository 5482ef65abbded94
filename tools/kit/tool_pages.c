#include "tools/kit/tool_pages.h"
#include "base/check.h"

#include <ctype.h>
#include <string.h>

static const char *command_of(const CliProgram *command)
{
    const char *space = strchr(command->name, ' ');
    return space ? space + 1 : NULL;
}

static void add_manual_text(const char *before, const char *text, const char *after, StrBuf *out)
{
    strbuf_append_c(out, before);
    cli_manual_text(text, out);
    strbuf_append_c(out, after);
}

/* A command is a section: how it is called, what it does, its options. */
static void add_command(const CliProgram *command, StrBuf *out)
{
    add_manual_text(".SH \"COMMAND ", command_of(command), "\"\n", out);
    add_manual_text("\\fB", command->name, "\\fR ", out);
    add_manual_text("\\fI", command->usage, "\\fR\n.PP\n", out);
    add_manual_text("", command->summary, "\n", out);
    cli_manual_options(command, out);
}

void tool_page_add(ToolPage *page, const CliProgram *command)
{
    if (page->kind == TOOL_PAGE_COMPLETION) {
        cli_completion_add(page->shell, command, &page->main);
    } else if (page->kind == TOOL_PAGE_EXAMPLES) {
        cli_manual_examples(command, command_of(command) ? &page->commands : &page->main);
    } else {
        add_manual_text(page->synopsis.size_bytes ? ".br\n\\fB" : "\\fB", command->name, "\\fR ",
                        &page->synopsis);
        add_manual_text("\\fI", command->usage, "\\fR\n", &page->synopsis);
        if (command_of(command))
            add_command(command, &page->commands);
        else
            cli_manual_options(command, &page->main);
    }
}

static void append_and_free(StrBuf *text, StrBuf *out)
{
    strbuf_append_c(out, strbuf_text(text));
    strbuf_free(text);
}

static void add_rows(const char *heading, const ToolRow *rows, uint32_t count, StrBuf *out)
{
    strbuf_append_c(out, count ? heading : "");
    for (uint32_t i = 0; i < count; ++i) {
        add_manual_text(".TP\n\\fB", rows[i].name, "\\fR\n", out);
        add_manual_text("", rows[i].meaning, ".\n", out);
    }
}

static void add_head(const Tool *program, StrBuf *out)
{
    strbuf_append_c(out, ".TH ");
    for (const char *c = program->name; *c; ++c)
        strbuf_printf(out, *c == '-' ? "\\-" : "%c", toupper((unsigned char)*c));
    strbuf_append_c(out, " 1 \"\" \"SORT " SORT_VERSION "\" \"User Commands\"\n.SH NAME\n");
    add_manual_text("", program->name, " \\- ", out);
    add_manual_text("", program->purpose, "\n.SH SYNOPSIS\n", out);
}

void tool_manual(const Tool *program, ToolPage *options, ToolPage *examples, StrBuf *out)
{
    add_head(program, out);
    append_and_free(&options->synopsis, out);
    strbuf_append_c(out, ".SH DESCRIPTION\n");
    add_manual_text("", program->summary, "", out);
    if (program->description)
        strbuf_printf(out, "\n.PP\n%s", program->description);
    strbuf_append_c(out, options->main.size_bytes ? "\n.SH OPTIONS\n" : "\n");
    append_and_free(&options->main, out);
    append_and_free(&options->commands, out);
    add_rows(".SH EXIT STATUS\n", program->exit_codes, program->exit_code_count, out);
    add_rows(".SH ENVIRONMENT\n", program->environment, program->environment_count, out);
    if (examples->main.size_bytes || examples->commands.size_bytes)
        strbuf_append_c(out, ".SH EXAMPLES\n");
    append_and_free(&examples->main, out);
    append_and_free(&examples->commands, out);
    add_manual_text(".SH SEE ALSO\n", program->see_also, "\n", out);
}

void tool_completion_begin(const Tool *program, ToolPage *page)
{
    const char *names[64];
    uint32_t count = 0;
    ASSERT(program->command_count + TOOL_PAGE_COMMANDS <= SORT_COUNT_OF(names));
    for (uint32_t i = 0; i < program->command_count; ++i)
        names[count++] = program->commands[i].name;
    for (uint32_t i = 0; i < TOOL_PAGE_COMMANDS; ++i)
        names[count++] = tool_page_commands[i].name;
    cli_completion_begin(page->shell, program->name, names, count, &page->main);
}
