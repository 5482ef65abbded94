"""The command line of sort-render as a user and a shell see it: check_command_line.py SORT_RENDER

Bash completes words and options by the place where they stand (check_pages.py looks at the rest of the pages);
docs/reference/sort-render.md has the exit codes that the manual has; an interrupted render ends with 4 and leaves its picture."""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = sys.argv[1]
failures = []


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
    expect(done.returncode == 0, f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def expect(is_so, otherwise):
    if not is_so:
        failures.append(otherwise)


def check_exit_codes():
    plain = run("manual").replace("\\-", "-")
    codes = re.findall(r"^\| (\d) \| (.*) \|$", (ROOT / "docs" / "reference" / "sort-render.md").read_text(), re.M)
    expect(len(codes) == 5, f"docs/reference/sort-render.md has {len(codes)} exit codes")
    for code, meaning in codes:
        expect(f"\\fB{code}\\fR\n{meaning}.\n" in plain, f"exit code {code}: the manual does not say '{meaning}'")


def completed(words):
    script = f"""source <({PROGRAM} completion bash)
COMP_WORDS=({' '.join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
_sort_render; printf '%s\\n' "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    expect(not done.stderr, f"bash: {done.stderr}")
    return done.stdout.split()


def check_completions():
    expect(completed(["sort-render", "--integ"]) == ["--integrator"], "--integ")
    expect(completed(["sort-render", "x", "--view", "f"]) == ["filmic"], "--view f")
    expect(completed(["sort-render", "merge", "--s"]) == [], "merge has no --s...")
    expect("compare" in completed(["sort-render", "com"]), "com")


def check_lists():
    words = re.search(r"--list WHAT.*?\n\s+-", run("--help").replace("\n" + 30 * " ", " "), re.S).group(0)
    names = re.findall(r"[a-z]+", words.split(":", 1)[1])
    expect(len(names) >= 7, f"--list: {names}")
    for name in names:
        expect(len(run("--list", name).splitlines()) >= 3, f"--list {name} is nearly empty")


def interrupted(folder, *outputs):
    """Starts a long render with these outputs and interrupts it after its first samples; returns what it said."""
    render = subprocess.Popen([PROGRAM, f"{folder}/cornell", *map(str, outputs), "--cache", f"{folder}/cache",
                               "--spp", "65536", "--size", "64x64", "--threads", "1", "--progress", "json", "--unwatched"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in render.stdout:
        if '"event": "progress"' in line or '"event":"progress"' in line:
            break
    time.sleep(0.2)
    render.send_signal(signal.SIGINT)
    _, errors = render.communicate(timeout=120)
    expect(render.returncode == 4, f"interrupted: exit code {render.returncode}: {errors}")
    return errors


def check_interrupt(folder):
    picture, part, checkpoint = (pathlib.Path(folder) / name for name in ("out.exr", "part", "checkpoint"))
    subprocess.run([sys.executable, "-B", str(ROOT / "scenes" / "gallery" / "make.py"), folder, "cornell"], check=True,
                   stdout=subprocess.DEVNULL)
    said = interrupted(folder, "-o", picture, "--partial", part, "--checkpoint", checkpoint)
    expect(picture.exists() and "interrupted; the picture holds" in said and "--resume" in said, f"interrupted: no picture, or no word about it: {said}")
    expect(checkpoint.exists() and not part.exists(), "interrupted: the sums are not in the checkpoint alone")
    checkpoint.unlink()
    said = interrupted(folder, "--partial", part, "--checkpoint", checkpoint)
    expect(checkpoint.exists() and "interrupted; the checkpoint holds" in said, f"interrupted with a checkpoint: {said}")
    said = interrupted(folder, "--partial", part)
    expect(part.exists() and "interrupted; the sums hold" in said and "--resume" not in said, f"interrupted sums: {said}")


check_exit_codes()
check_completions()
check_lists()
with tempfile.TemporaryDirectory(prefix="sort-command-line-") as work:
    check_interrupt(work)
if failures:
    sys.exit("\n".join(failures))
