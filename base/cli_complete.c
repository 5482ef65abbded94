#include "base/cli_pages.h"

#include "base/check.h"
#include <string.h>

const char *const cli_shell_names[] = {"bash", "zsh", "fish", NULL};

/* --- what is common ------------------------------------------------------------------------------ */

/* Returns "merge" for "sort-render merge"; NULL for a program without subcommands. */
static const char *command_of(const CliProgram *program)
{
    const char *space = strchr(program->name, ' ');
    return space ? space + 1 : NULL;
}

/* Prints a program's name as a valid name of a shell function. */
static void print_function_name(const char *program, StrBuf *out)
{
    strbuf_append_char(out, '_');
    for (; *program; ++program)
        strbuf_append_char(out, *program == '-' ? '_' : *program);
}

typedef enum ValueKind {
    VALUE_NONE,
    VALUE_CHOICE,
    VALUE_FILE,
    VALUE_FOLDER,
    VALUE_OTHER
} ValueKind;

static ValueKind value_kind(const CliOption *option)
{
    const char *name = option->value_name ? option->value_name : "";
    return option->kind == CLI_FLAG        ? VALUE_NONE
           : option->choices               ? VALUE_CHOICE
           : strcmp(name, "DIR") == 0      ? VALUE_FOLDER
           : strncmp(name, "FILE", 4) == 0 ? VALUE_FILE
                                           : VALUE_OTHER;
}

/* Prints text in single quotes for the given shell. `also` lists characters that need a backslash at this
 * place. */
static void print_quoted(const char *text, const char *also, CliShell shell, StrBuf *out)
{
    for (; *text; ++text) {
        if (*text == '\'')
            strbuf_append_c(out, shell == CLI_SHELL_FISH ? "\\'" : "'\\''");
        else {
            if (strchr(also, *text))
                strbuf_append_char(out, '\\');
            strbuf_append_char(out, *text);
        }
    }
}

static void print_choices(const CliOption *option, StrBuf *out)
{
    for (uint32_t i = 0; option->choices[i]; ++i)
        strbuf_printf(out, "%s%s", i ? " " : "", option->choices[i]);
}

/* --- bash ---------------------------------------------------------------------------------------- */

static void bash_value(const CliOption *option, StrBuf *out)
{
    strbuf_printf(out, "        --%s", option->name);
    if (option->short_name)
        strbuf_printf(out, "|-%c", option->short_name);
    switch (value_kind(option)) {
    case VALUE_CHOICE:
        strbuf_append_c(out, ") COMPREPLY=($(compgen -W '");
        print_choices(option, out);
        strbuf_append_c(out, "' -- \"$cur\")); return ;;\n");
        break;
    case VALUE_FILE:
        strbuf_append_c(out, ") COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
        break;
    case VALUE_FOLDER:
        strbuf_append_c(out, ") COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n");
        break;
    case VALUE_NONE:
    case VALUE_OTHER:
        strbuf_append_c(out, ") return ;;\n");
        break;
    }
}

static void bash_add(const CliProgram *program, StrBuf *out)
{
    const char *command = command_of(program);
    strbuf_printf(out, "    %s)\n        case \"$prev\" in\n", command ? command : "*");
    for (uint32_t i = 0; i < program->option_count; ++i)
        if (!program->options[i].is_hidden && program->options[i].kind != CLI_FLAG)
            bash_value(&program->options[i], out);
    strbuf_append_c(out, "        esac\n        options='--help --version");
    for (uint32_t i = 0; i < program->option_count; ++i) {
        const CliOption *option = &program->options[i];
        if (!option->is_hidden)
            strbuf_printf(out, " --%s", option->name);
        if (!option->is_hidden && option->has_negation)
            strbuf_printf(out, " --no-%s", option->name);
    }
    strbuf_append_c(out, "'\n        ;;\n");
}

static void bash_begin(const char *program, const char *const *commands, uint32_t count,
                       StrBuf *out)
{
    strbuf_printf(out, "# Completions of %s for bash; made by '%s completion bash'.\n", program,
                  program);
    print_function_name(program, out);
    strbuf_append_c(out, "()\n{\n    local cur=\"${COMP_WORDS[COMP_CWORD]}\" "
                         "prev=\"${COMP_WORDS[COMP_CWORD-1]}\" options commands=''\n"
                         "    [ \"$COMP_CWORD\" -eq 1 ] && commands='");
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "%s%s", i ? " " : "", commands[i]);
    strbuf_append_c(out, "'\n    case \"${COMP_WORDS[1]}\" in\n");
}

static void bash_end(const char *program, StrBuf *out)
{
    strbuf_append_c(out, "    esac\n"
                         "    if [[ \"$cur\" == -* ]]; then\n"
                         "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
                         "    else\n"
                         "        COMPREPLY=($(compgen -W \"$commands\" -- \"$cur\") $(compgen -f "
                         "-- \"$cur\"))\n"
                         "    fi\n}\ncomplete -o filenames -F ");
    print_function_name(program, out);
    strbuf_printf(out, " %s\n", program);
}

/* --- zsh ----------------------------------------------------------------------------------------- */

static void zsh_option(const CliOption *option, StrBuf *out)
{
    if (option->short_name)
        strbuf_printf(out, "        '(-%c --%s)'{-%c,--%s}'[", option->short_name, option->name,
                      option->short_name, option->name);
    else
        strbuf_printf(out, "        '%s--%s[", option->kind == CLI_TEXT_LIST ? "*" : "",
                      option->name);
    print_quoted(option->help, "[]:", CLI_SHELL_ZSH, out);
    strbuf_append_char(out, ']');
    ValueKind kind = value_kind(option);
    if (kind != VALUE_NONE) {
        strbuf_append_char(out, ':');
        print_quoted(option->value_name, "[]:", CLI_SHELL_ZSH, out);
        strbuf_append_char(out, ':');
    }
    if (kind == VALUE_CHOICE) {
        strbuf_append_char(out, '(');
        print_choices(option, out);
        strbuf_append_char(out, ')');
    } else if (kind == VALUE_FILE) {
        strbuf_append_c(out, "_files");
    } else if (kind == VALUE_FOLDER) {
        strbuf_append_c(out, "_files -/");
    }
    strbuf_append_c(out, "' \\\n");
}

static void zsh_add(const CliProgram *program, StrBuf *out)
{
    const char *command = command_of(program);
    strbuf_printf(out, "    %s)\n        _arguments \\\n        '--help[print help]' \\\n",
                  command ? command : "*");
    for (uint32_t i = 0; i < program->option_count; ++i)
        if (!program->options[i].is_hidden)
            zsh_option(&program->options[i], out);
    strbuf_printf(out, "        '*:%s:_files'\n        ;;\n",
                  program->args_name ? program->args_name : "FILE");
}

static void zsh_begin(const char *program, const char *const *commands, uint32_t count, StrBuf *out)
{
    strbuf_printf(out, "#compdef %s\n# Completions of %s for zsh; made by '%s completion zsh'.\n",
                  program, program, program);
    print_function_name(program, out);
    strbuf_append_c(out, "()\n{\n    (( CURRENT == 2 )) && compadd");
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, " %s", commands[i]);
    strbuf_append_c(out, "\n    case \"$words[2]\" in\n");
}

static void zsh_end(const char *program, StrBuf *out)
{
    strbuf_append_c(out, "    esac\n}\ncompdef ");
    print_function_name(program, out);
    strbuf_printf(out, " %s\n", program);
}

/* --- fish ---------------------------------------------------------------------------------------- */

static void fish_begin(const char *program, const char *const *commands, uint32_t count,
                       StrBuf *out)
{
    strbuf_printf(out, "# Completions of %s for fish; made by '%s completion fish'.\n", program,
                  program);
    strbuf_printf(out, "complete -c %s -n __fish_use_subcommand -a '", program);
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, "%s%s", i ? " " : "", commands[i]);
    strbuf_append_c(out, "'\n");
    strbuf_append_c(out, "set -l commands");
    for (uint32_t i = 0; i < count; ++i)
        strbuf_printf(out, " %s", commands[i]);
    strbuf_append_char(out, '\n');
}

static void fish_add(const CliProgram *program, StrBuf *out)
{
    const char *command = command_of(program);
    int name_bytes = (int)strcspn(program->name, " ");
    for (uint32_t i = 0; i < program->option_count; ++i) {
        const CliOption *option = &program->options[i];
        if (option->is_hidden)
            continue;
        strbuf_printf(out, "complete -c %.*s -n \"%s%s\" -l %s", name_bytes, program->name,
                      command ? "__fish_seen_subcommand_from "
                              : "not __fish_seen_subcommand_from $commands",
                      command ? command : "", option->name);
        if (option->short_name)
            strbuf_printf(out, " -s %c", option->short_name);
        ValueKind kind = value_kind(option);
        if (kind == VALUE_CHOICE) {
            strbuf_append_c(out, " -x -a '");
            print_choices(option, out);
            strbuf_append_char(out, '\'');
        } else if (kind == VALUE_FOLDER) {
            strbuf_append_c(out, " -x -a '(__fish_complete_directories)'");
        } else if (kind != VALUE_NONE) {
            strbuf_append_c(out, kind == VALUE_FILE ? " -r" : " -x");
        }
        strbuf_append_c(out, " -d '");
        print_quoted(option->help, "\\", CLI_SHELL_FISH, out);
        strbuf_append_c(out, "'\n");
    }
}

/* --- the shells ---------------------------------------------------------------------------------- */

void cli_completion_begin(CliShell shell, const char *program, const char *const *commands,
                          uint32_t command_count, StrBuf *out)
{
    if (shell == CLI_SHELL_BASH)
        bash_begin(program, commands, command_count, out);
    else if (shell == CLI_SHELL_ZSH)
        zsh_begin(program, commands, command_count, out);
    else
        fish_begin(program, commands, command_count, out);
}

void cli_completion_add(CliShell shell, const CliProgram *program, StrBuf *out)
{
    if (shell == CLI_SHELL_BASH)
        bash_add(program, out);
    else if (shell == CLI_SHELL_ZSH)
        zsh_add(program, out);
    else
        fish_add(program, out);
}

void cli_completion_end(CliShell shell, const char *program, StrBuf *out)
{
    if (shell == CLI_SHELL_BASH)
        bash_end(program, out);
    else if (shell == CLI_SHELL_ZSH)
        zsh_end(program, out);
}
