"""The manual page and the completions, made of the parser, as the other programs make theirs of their tables."""

from __future__ import annotations

import argparse


def _commands(top: argparse.ArgumentParser) -> dict[str, tuple[str, argparse.ArgumentParser]]:
    """Name -> what it does, its parser."""
    action = next(a for a in top._actions if isinstance(a, argparse._SubParsersAction))
    helps = {choice.dest: choice.help for choice in action._choices_actions}
    return {name: (helps[name], parser) for name, parser in action.choices.items()}


def _options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return [a for a in parser._actions if a.option_strings]


def _roff(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def _option_lines(action: argparse.Action) -> list[str]:
    names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in action.option_strings)
    value = action.metavar or ("{" + ",".join(action.choices) + "}" if action.choices else "")
    return [".TP", f"{names} \\fI{_roff(value)}\\fR" if value else names, _roff(action.help or "")]


def manual(top: argparse.ArgumentParser) -> str:
    """The manual page in roff's man macros."""
    from . import __version__
    from .errors import MEANING
    lines = [f'.TH SORT\\-FARM 1 "" "sort {__version__}" "SORT"', ".SH NAME", "sort\\-farm \\- render pictures by many machines",
             ".SH SYNOPSIS"]
    commands = _commands(top)
    for name in commands:
        lines += [f"\\fBsort\\-farm {name}\\fR [\\fIoptions\\fR] ...", ".br"]
    lines += [".SH DESCRIPTION",
              "Cuts pictures into ranges of samples, has them rendered by Slurm, by engines that read the Open Job Description, or by "
              "processes of one machine, and adds the parts to pictures that have the bits of a single render. A farm is a folder "
              "that all machines see; a task whose result is there and whole ends at once, so tasks may be started any number of "
              "times. Words of \\fBplan\\fR behind \\fB\\-\\-\\fR are options of \\fBsort\\-render\\fR (1).", ".SH COMMANDS"]
    for name, (text, parser) in commands.items():
        lines += [f".SS {name}", _roff(text[0].upper() + text[1:]) + "."]
        for action in parser._actions:
            if action.option_strings:
                lines += _option_lines(action)
            elif action.help:
                value = action.metavar or "|".join(action.choices or [action.dest])
                lines += [".TP", f"\\fI{_roff(value)}\\fR", _roff(action.help)]
    lines += [".SH EXIT STATUS"]
    for code, text in MEANING.items():
        lines += [".TP", str(code), _roff(text)]
    lines += [".SH ENVIRONMENT", ".TP", "SORT_RENDER", "The renderer, instead of the one that the manifest names",
              ".SH SEE ALSO", "sort\\-render (1), texcache (1)"]
    return "\n".join(lines) + "\n"


def _bash(commands) -> str:
    cases = "".join(f"    {name}) words=\"{' '.join(n for a in _options(parser) for n in a.option_strings)}\" ;;\n"
                    for name, (_, parser) in commands.items())
    return f"""_sort_farm()
{{
    local words="{' '.join(commands)} --help --version"
    [ "$COMP_CWORD" -gt 1 ] && case "${{COMP_WORDS[1]}}" in
{cases}    esac
    if [ "$COMP_CWORD" -gt 1 ] && [[ "$2" != -* ]]; then
        COMPREPLY=($(compgen -f -- "$2"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$2"))
    fi
}}
complete -o filenames -F _sort_farm sort-farm
"""


def _quoted(text: str) -> str:
    return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", ",")


def _zsh(commands) -> str:
    cases = "".join(f"    {name}) _arguments " + " ".join(
        f"'{n}[{_quoted(a.help or '')}]{':value:_files' if a.nargs != 0 else ''}'" for a in _options(parser)
        for n in a.option_strings) + " '*:file:_files' ;;\n" for name, (_, parser) in commands.items())
    listed = " ".join(f"'{name}:{_quoted(text)}'" for name, (text, _) in commands.items())
    return f"""#compdef sort-farm
local -a commands=({listed})
if (( CURRENT == 2 )); then
    _describe command commands
else
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}    esac
fi
"""


def _fish(commands) -> str:
    lines = []
    for name, (text, parser) in commands.items():
        lines.append(f"complete -c sort-farm -n __fish_use_subcommand -a {name} -d '{_quoted(text)}'")
        for a in _options(parser):
            for n in a.option_strings:
                flag = f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}"
                lines.append(f"complete -c sort-farm -n '__fish_seen_subcommand_from {name}' {flag} "
                             f"{'-r ' if a.nargs != 0 else ''}-d '{_quoted(a.help or '')}'")
    return "\n".join(lines) + "\n"


def completion(top: argparse.ArgumentParser, shell: str) -> str:
    """What the shell reads."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](_commands(top))
