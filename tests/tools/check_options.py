"""Every option of every program with wrong, missing and extreme values: check_options.py FOLDER_OF_PROGRAMS

No program is ended by a signal. A value that is missing, or is none where --help shows a number or a list of words, is a wrong use (2),
said in words that name the option, before anything is read; the same of an option that is not there."""

import re

from tool_kit import expect, package, run, run_checks

PROGRAMS = ("sort-render", "sslc", "ssl-test", "texcache")
NO_NUMBERS = ("", "x", "nan", "1e999", "1 2")  # each option meets the first and one more
# Values that are text: whatever is given is looked up later.
TEXTS = re.compile(r"^(FILE|DIR|FOLDER|LIST|NAME(?!=)|IMAGE|TEXT)|=")
# Folders that a program makes if they are not there.
MADE = ("cache", "export-package")
OPTION = re.compile(r"^ +(?:-(\w), )?--([a-z-]+)(?: (\S+))?", re.M)


def commands_of(program, folder):
    manual = run(program, "manual", folder=folder).stdout
    names = [name for name in re.findall(r'^\.SH "COMMAND ([\w-]+)"$', manual, re.M) if name not in ("manual", "completion")]
    return [[name] for name in names] + ([[]] if program in ("sort-render", "ssl-test") else [])


def usage(folder, program, arguments, *names):
    done = run(program, *arguments, folder=folder)
    what = f"{program} {' '.join(map(repr, arguments))}: exit code {done.returncode}: {done.stderr.strip()[:200]}"
    expect(done.returncode == 2, what)
    expect(any(name in done.stderr for name in names), f"{what}: does not name {names}")
    expect(len(done.stderr.strip().splitlines()) <= 2, f"{what}: more than a message")


def check_all(folder):
    package(folder / "s")
    tried = 0
    for program in PROGRAMS:
        for command in commands_of(program, folder):
            usage(folder, program, [*command, "--no-such-option"], "--no-such-option")
            shown = run(program, *command, "--help", folder=folder)
            expect(shown.returncode == 0 and not shown.stderr, f"{program} {command} --help: {shown.returncode}: {shown.stderr}")
            for short, name, value in OPTION.findall(shown.stdout):
                option = f"--{name}"
                if not value:
                    usage(folder, program, [*command, f"{option}=1", "s"], option)
                    continue
                tried += 1
                usage(folder, program, [*command, "s", option], option)
                if short:
                    usage(folder, program, [*command, "s", f"-{short}"], f"'-{short}'")
                if value in ("DIR", "FOLDER") and name not in MADE:
                    usage(folder, program, [*command, option, "no folder", "s"], option)
                if TEXTS.search(value):
                    continue
                for wrong in (NO_NUMBERS[0], NO_NUMBERS[1 + tried % (len(NO_NUMBERS) - 1)]):
                    usage(folder, program, [*command, f"{option}={wrong}", "s"], option)
    expect(tried > 60, f"only {tried} options take values")


def check_names(folder):
    """A name of something that a sound file lacks is a wrong use, whatever the program."""
    scene = package(folder / "s")
    source = scene / "shaders/paint.ssl"
    for command in (["run"], ["bench"], ["doc"], ["doc", "--json"]):
        done = run("sslc", *command, "--shader", "pant", source, folder=folder)
        expect(done.returncode == 2 and "pant" in done.stderr, f"sslc {command}: {done.returncode}: {done.stderr}")
    for wrong in (["--camera", "abov"], ["--crop", "0,0,400,1"], ["--cpu", "z80"], ["--samples", "2:9"], ["--aov", "depht"],
                  ["--probe", "24,0"], ["--frame", "1..2"], ["--resume"], ["--spp", "64", "--samples", "0:32", "--adaptive", "0.1"], ["--bake", "flor"]):
        done = run("sort-render", "s", *wrong, *([] if "--probe" in wrong else ["-o", "a.exr"]), "--cache", "cache", folder=folder)
        expect(done.returncode == 2 and not (folder / "a.exr").exists(), f"sort-render {wrong}: {done.returncode}: {done.stderr}")
    source.write_text("shader paint(out closure surface) { surface = nothing; }\n")
    for command in ("run", "bench", "doc"):
        done = run("sslc", command, "--shader", "pant", source, folder=folder)
        expect(done.returncode in (1, 2) and done.stderr, f"sslc {command}, no sound source: {done.returncode}")
        done = run("sslc", command, "--shader", "paint", source, folder=folder)
        expect(done.returncode == 1, f"sslc {command}, a shader that is wrong: {done.returncode}: {done.stderr}")


run_checks(check_all, check_names)
