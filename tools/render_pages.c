/* sort-render manual, sort-render completion SHELL: pages made from the tables that the commands parse with. */
#include "base/cli_pages.h"
#include "tools/render_command.h"
#include <stdio.h>
#include <string.h>

static const char *const commands[] = {"merge", "compare", "manual", "completion"};

/* --- completion ---------------------------------------------------------------------------------- */

typedef struct Page {
    CliShell shell;
    StrBuf text;
} Page;

static void add_completion(const CliProgram *program, void *data)
{
    Page *page = data;
    cli_completion_add(page->shell, program, &page->text);
}

/* Prints and frees the page. */
static int print_page(StrBuf *text)
{
    int code = !text->failed && fputs(strbuf_text(text), stdout) >= 0 ? EXIT_DONE : EXIT_FAILED;
    strbuf_free(text);
    return code;
}

int completion_main(int argc, char **argv)
{
    static const char *const examples[] = {
        "sort-render completion bash > ~/.local/share/bash-completion/completions/sort-render",
        "for bash, from the next shell on", NULL};
    const CliProgram program = {.name = "sort-render completion",
                                .usage = "SHELL",
                                .summary = "Prints what makes a shell complete the options of "
                                           "sort-render. SHELL is bash, zsh or fish.",
                                .args_min = 1,
                                .args_max = 1,
                                .args_name = "SHELL",
                                .examples = examples};
    CliResult args;
    int code;
    if (!command_parse(&program, argc, argv, &args, &code))
        return code;
    Page page = {0};
    uint32_t shell = 0;
    while (cli_shell_names[shell] && strcmp(cli_shell_names[shell], args.args[0]) != 0)
        ++shell;
    if (!cli_shell_names[shell]) {
        Error err = {0};
        error_set(&err, STATUS_INVALID, "'%s' is none of bash, zsh and fish", args.args[0]);
        return command_fail(&err, EXIT_USAGE);
    }
    page.shell = (CliShell)shell;
    cli_completion_begin(page.shell, "sort-render", commands, SORT_COUNT_OF(commands), &page.text);
    merge_command_visit(add_completion, &page);
    compare_command_visit(add_completion, &page);
    render_command_visit(add_completion, &page);
    cli_completion_end(page.shell, "sort-render", &page.text);
    return print_page(&page.text);
}

/* --- manual -------------------------------------------------------------------------------------- */

static void add_options(const CliProgram *program, void *data)
{
    cli_manual_options(program, data);
}

static void add_examples(const CliProgram *program, void *data)
{
    cli_manual_examples(program, data);
}

/* A subcommand as one section: what it does, its options. */
static void add_command(const CliProgram *program, void *data)
{
    StrBuf *out = data;
    strbuf_append_c(out, ".SH \"COMMAND ");
    cli_manual_text(strchr(program->name, ' ') + 1, out);
    strbuf_append_c(out, "\"\n\\fB");
    cli_manual_text(program->name, out);
    strbuf_append_c(out, "\\fR \\fI");
    cli_manual_text(program->usage, out);
    strbuf_append_c(out, "\\fR\n.PP\n");
    cli_manual_text(program->summary, out);
    strbuf_append_char(out, '\n');
    cli_manual_options(program, out);
}

static void add_rows(const char *const (*rows)[2], uint32_t count, StrBuf *out)
{
    for (uint32_t i = 0; i < count; ++i) {
        strbuf_append_c(out, ".TP\n\\fB");
        cli_manual_text(rows[i][0], out);
        strbuf_append_c(out, "\\fR\n");
        cli_manual_text(rows[i][1], out);
        strbuf_append_c(out, ".\n");
    }
}

static const char head[] =
    ".TH SORT\\-RENDER 1 \"\" \"SORT " SORT_VERSION "\" \"User Commands\"\n"
    ".SH NAME\nsort\\-render \\- render a scene by path tracing\n"
    ".SH SYNOPSIS\n"
    ".B sort\\-render\n[\\fIoptions\\fR] \\fISCENE\\fR \\fB\\-o\\fR \\fIOUT.exr\\fR\n.br\n"
    ".B sort\\-render merge\n[\\fIoptions\\fR] \\fIPARTIAL\\fR... \\fB\\-o\\fR "
    "\\fIOUT.exr\\fR\n.br\n"
    ".B sort\\-render compare\n[\\fIoptions\\fR] \\fIPICTURE.exr\\fR \\fIREFERENCE.exr\\fR\n.br\n"
    ".B sort\\-render manual\n.br\n"
    ".B sort\\-render completion\n\\fISHELL\\fR\n"
    ".SH DESCRIPTION\n"
    "SCENE is a scene package: a folder with a scene.json, that file itself, or a zip of the "
    "folder; or a "
    "file that the import plugin reads, such as glTF, OBJ, PLY or FBX, which is turned into a "
    "package in "
    "a temporary folder first. A file without a camera or a light gets one, and the program says "
    "so.\n"
    ".PP\n"
    "The picture is the same for any number of threads, any budget of texture memory, and any cut "
    "into "
    "sample ranges that \\fBsort\\-render merge\\fR adds again.\n"
    ".SH OPTIONS\n";

static const char *const environment[][2] = {
    {"XDG_CACHE_HOME",
     "Compiled shaders and converted textures are kept in its folder sort, else in "
     "~/.cache/sort, else in /tmp/sort-UID/cache; --cache overrides them. A folder that other "
     "users can change is refused"},
    {"SORT_PLUGIN_PATH", "Folders with plugins, with colons between, searched after --plugin-path"},
    {"TMPDIR",
     "Where textures of a zip, and packages made of imported files, lie during the render"},
    {"XDG_RUNTIME_DIR", "Where a render publishes its counters for 'texcache watch'"},
};

int manual_main(int argc, char **argv)
{
    static const char *const examples[] = {"sort-render manual | man -l -", "read it", NULL};
    const CliProgram program = {.name = "sort-render manual",
                                .usage = "",
                                .summary = "Prints the manual page of sort-render.",
                                .args_max = 0,
                                .examples = examples};
    static const char *const codes[][2] = {
#define EXIT_CODE(name, value, meaning) {#value, meaning},
#include "tools/exit_codes.inc"
#undef EXIT_CODE
    };
    CliResult args;
    StrBuf text = {0};
    int code;
    if (!command_parse(&program, argc, argv, &args, &code))
        return code;
    strbuf_append_c(&text, head);
    render_command_visit(add_options, &text);
    merge_command_visit(add_command, &text);
    compare_command_visit(add_command, &text);
    strbuf_append_c(&text, ".SH EXIT STATUS\n");
    add_rows(codes, SORT_COUNT_OF(codes), &text);
    strbuf_append_c(&text, ".SH ENVIRONMENT\n");
    add_rows(environment, SORT_COUNT_OF(environment), &text);
    strbuf_append_c(&text, ".SH EXAMPLES\n");
    render_command_visit(add_examples, &text);
    merge_command_visit(add_examples, &text);
    strbuf_append_c(&text, ".SH SEE ALSO\n.BR texcache (1),\n.BR sslc (1),\n.BR ssl\\-test (1)\n");
    return print_page(&text);
}
