"""The manual page and the completions of every program: check_pages.py BIN

Both have every option that the --help of the program and of each of its commands shows; man has no complaint about the
page; each shell that is here accepts its completions."""

import re
import shutil
import subprocess
import sys

from tool_kit import expect, failures, run

PROGRAMS = ("sort-render", "sslc", "ssl-test", "texcache")


def printed(program, *arguments):
    done = run(program, *arguments, folder=".")
    expect(done.returncode == 0 and not done.stderr, f"{program} {arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def commands_of(manual):
    return re.findall(r'^\.SH "COMMAND (\w+)"$', manual, re.M)


def options_of(program, command):
    return set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", printed(program, *command, "--help"), re.M)) - {"help", "version"}


def check_manual(program, manual):
    if not shutil.which("man"):
        print("no man here: the pages are not rendered")
        return
    shown = subprocess.run(["man", "--warnings", "-l", "-"], input=manual, capture_output=True, text=True)
    expect(shown.returncode == 0 and not shown.stderr, f"{program}: man: {shown.stderr}")
    expect("EXIT STATUS" in shown.stdout, f"{program}: man shows nothing")


def check(program):
    manual = printed(program, "manual")
    commands = commands_of(manual)
    expect({"manual", "completion"} <= set(commands), f"{program}: the manual has the commands {commands}")
    check_manual(program, manual)
    tables = [[command] for command in commands] + ([[]] if program in ("sort-render", "ssl-test") else [])
    wanted = {option for command in tables for option in options_of(program, command)}
    plain = manual.replace("\\-", "-")
    for option in wanted:
        expect(f"\\fB--{option}\\fR" in plain, f"{program}: the manual lacks --{option}")
    for shell in ("bash", "zsh", "fish"):
        text = printed(program, "completion", shell)
        for option in wanted:
            expect((f"-l {option} " if shell == "fish" else f"--{option}") in text, f"{program}: {shell} lacks --{option}")
        if shutil.which(shell):
            syntax = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True)
            expect(syntax.returncode == 0, f"{program}: {shell}: {syntax.stderr}")
    wrong = run(program, "completion", "tcsh", folder=".")
    expect(wrong.returncode == 2 and "tcsh" in wrong.stderr, f"{program}: completion tcsh: {wrong.stderr}")


for name in PROGRAMS:
    check(name)
if failures:
    sys.exit("\n".join(failures))
