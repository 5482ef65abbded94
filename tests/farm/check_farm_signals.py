"""Requests to end, at any moment: check_farm_signals.py FOLDER_OF_PROGRAMS

Nothing is lost or left behind, whoever hears of it first: the task, the renderer, or both at once as in a terminal."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

from farm_kit import FARM, PATIENCE_S, RENDER, ROOT, children_of, environment, picture, plan, records, run, run_checks, sequence, single, wait


def check_nothing_left(farm):
    left = [path for kind in ("parts", "sums", "running", "pictures") for path in farm.glob(f"{kind}/**/*")
            if path.name.startswith(".") or (kind == "running" and path.is_file())]
    assert not left, left


def in_the_first_moments(folder):
    """While Python starts, imports, reads the manifest, and before the renderer listens, however long that takes today."""
    sequence(folder, 1)
    farm = plan(folder, 64, "--parts", 2, frames="1")
    codes = set()
    for words in (["run", farm, "0001/part/0"], ["submit", farm, "--local"]):
        begun = time.monotonic()
        run(FARM, "tasks", farm)
        start_s = time.monotonic() - begun
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for step in range(5):
                process = subprocess.Popen([FARM, *words], stderr=subprocess.PIPE, text=True)
                time.sleep(start_s * step / 3.5)
                process.send_signal(number)
                said = process.communicate(timeout=PATIENCE_S)[1]
                assert "Traceback" not in said and "Fatal" not in said, said
                assert process.returncode in (0, 4) or (process.returncode == -number and not said), (process.returncode, said)
                assert process.returncode != 4 or "interrupted" in said, said
                codes.add(process.returncode)
    assert 4 in codes, codes
    check_nothing_left(farm)
    run(FARM, "submit", farm, "--local")
    assert picture(folder, 1) == single(folder, 1, 64)


# Runs sort-farm in a child of this process for many of its lines, those at both ends above all, with a signal, or three, when it comes to
# that line. Prints the number of lines, and after which of them the children ended with which code.
AT_ANY_LINE = """
import os, signal, sys
program, *words = sys.argv[1:]
import sort_farm.cli, sort_farm.status  # once, for all children
source = compile(open(program).read(), program, "exec")
ours = (program, os.path.dirname(sort_farm.__file__) + os.sep)
sys.argv = [program, *words]

def run(at, numbers):
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        if not frame.f_code.co_filename.startswith(ours):
            return None
        if event == "line":
            lines += 1
            if at <= lines < at + len(numbers):
                os.kill(os.getpid(), numbers[lines - at])
        return trace

    leave = os._exit
    os._exit = lambda code: (sys.settrace(None), at or os.write(9, str(lines).encode()), leave(code))
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))  # as the shell has it
    sys.settrace(trace)
    exec(source, {"__name__": "__main__", "__file__": program})

def child(at, *numbers):
    pid = os.fork()
    if pid == 0:
        run(at, numbers)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

out, into = os.pipe()
os.dup2(into, 9)
assert child(0) == 5  # of status: work is left
count = int(os.read(out, 99))
os.set_inheritable(9, False)
codes = {}
one, three = (signal.SIGINT,), (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
for at in range(1, count + 1):
    is_end = at < 50 or count - at < 12
    for numbers in (one, three) if is_end else (one, three)[at // 16 % 2:][:1] if at % 16 == 0 else ():
        codes.setdefault(child(at, *numbers), []).append(at)
print(count, {code: at[:20] for code, at in codes.items()}, file=sys.stderr)
sys.exit(0 if set(codes) == {4} else 1)
"""


def at_any_line(folder):
    """Of a command that has nothing to pass a request to: the code is 4 and the word is "interrupted", whatever line it was."""
    sequence(folder, 1)
    farm = plan(folder, 64, "--parts", 2, frames="1")
    done = subprocess.run([sys.executable, "-B", "-c", AT_ANY_LINE, str(ROOT / "tools/sort_farm/sort-farm"), "status", str(farm)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment(PYTHONPATH=str(ROOT / "python")))
    said = done.stderr.splitlines()
    print(said[-1])
    assert done.returncode == 0 and set(said[:-1]) == {"sort-farm: interrupted"}, done.stderr[-2000:]


def started(farm, *words):
    """A command in a group of its own whose renderer has begun to render, and has written no checkpoint yet."""
    process = subprocess.Popen([FARM, *words], stderr=subprocess.PIPE, text=True, start_new_session=True)
    beats = list(farm.glob("running/0001/*"))
    wait(lambda: [path for path in farm.glob("running/0001/*") if path not in beats], "no task begins")
    time.sleep(1)
    assert process.poll() is None, process.stderr.read()
    return process


def held(farm):
    """The samples that the checkpoint holds; the interval is long, so it was written at the end."""
    path = farm / "checkpoints/0001/part-0.checkpoint"
    return json.loads(run(RENDER, "verify", path).stdout)["samples"] if path.exists() else 0


def everybody_hears_it(folder):
    """As Ctrl-C of a terminal and scancel have it. A renderer that is told twice must not give up its checkpoint."""
    samples = 2000  # more than a quick machine takes before it is told
    sequence(folder, 1)
    farm = plan(folder, samples, "--parts", 1, "--checkpoint-interval", 1000, frames="1")
    before = 0
    for number, words in ((signal.SIGINT, ["run", farm, "0001/part/0"]), (signal.SIGTERM, ["submit", farm, "--local"])):
        process = started(farm, *words)
        os.killpg(process.pid, number)
        said = process.communicate(timeout=PATIENCE_S)[1]
        assert process.returncode == 4 and held(farm) > before, (process.returncode, before, held(farm), said)
        before = held(farm)
        assert records(farm)[-1]["outcome"] == "go_on" and records(farm)[-1]["cpu_seconds"] > 0, records(farm)[-1]
    check_nothing_left(farm)
    run(FARM, "submit", farm, "--local")
    assert picture(folder, 1) == single(folder, 1, samples)


def what_nohup_ignores(folder):
    sequence(folder, 1)
    farm = plan(folder, 64, "--parts", 1, frames="1")
    process = subprocess.Popen(["nohup", FARM, "submit", str(farm), "--local"], stderr=subprocess.PIPE, text=True)
    for _ in range(20):
        time.sleep(0.05)
        process.send_signal(signal.SIGHUP)
    assert process.wait(PATIENCE_S) == 0, process.stderr.read()


def while_it_plans(folder):
    """What a plan has begun is removed; the next one works."""
    sequence(folder, 1)
    temporary = folder / "temporary"
    temporary.mkdir()
    for delay in (0.2, 0.5, 0.8):
        process = subprocess.Popen([FARM, "plan", folder / "farm", folder / "scene.0001", "-o", folder / "x.exr", "--spp", "100000"],
                                   stderr=subprocess.PIPE, text=True, env=environment(TMPDIR=str(temporary)))
        time.sleep(delay)
        process.terminate()
        said = process.communicate(timeout=PATIENCE_S)[1]
        assert process.returncode in (4, -signal.SIGTERM) and "Traceback" not in said, (process.returncode, said)
        assert not list(temporary.iterdir()) and not (folder / "farm/manifest.json").exists()
    farm = plan(folder, 8, "--parts", 1, frames="1")
    run(FARM, "submit", farm, "--local")


def a_merge(folder):
    """It is no failure if a merge hears the request too. One that is killed is a failure, even without a word."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 2, frames="1")
    run(FARM, "run", farm, "0001/part/0", "0001/part/1")
    slow = folder / "renderer"
    slow.write_text(f'#!/bin/sh\n[ "$1" != merge ] || sleep 1000\nexec "{RENDER}" "$@"\n')
    slow.chmod(slow.stat().st_mode | stat.S_IXUSR)
    process = subprocess.Popen([FARM, "run", farm, "0001/picture"], stderr=subprocess.PIPE, text=True, start_new_session=True,
                               env=environment(SORT_RENDER=str(slow)))
    wait(lambda: list(farm.glob("running/0001/picture*")), "no merge begins")
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=PATIENCE_S)[1]
    assert process.returncode == 4 and [record["outcome"] for record in records(farm)][-1] == "go_on", (process.returncode, said)
    killing = folder / "killing"
    killing.write_text(f'#!/bin/sh\n[ "$1" != merge ] || kill -9 $$\nexec "{RENDER}" "$@"\n')
    killing.chmod(slow.stat().st_mode)
    said = run(FARM, "run", farm, "0001/picture", code=1, env=environment(SORT_RENDER=str(killing))).stderr
    assert "0001/picture: sort-render merge was killed by signal 9 (out of memory?)" in said, said
    run(FARM, "run", farm, "0001/picture")
    assert picture(folder, 1) == single(folder, 1, 8)


def whoever_is_called(folder):
    """A signal to a whole group ends short calls of the renderer too, which is no failure."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 2, frames="1")
    for called, words in (("--list", ["run", farm, "0001/part/0"]), ("verify", ["run", farm, "0001/part/0"]), ("verify", ["collect", farm]),
                          ("merge", ["collect", farm])):
        fake = script(folder / "fake", f'[ "$1" != {called} ] || {{ kill -TERM $PPID; kill -TERM $$; }}\nexec "{RENDER}" "$@"\n')
        said = run(FARM, *words, code=4, env=environment(SORT_RENDER=str(fake))).stderr
        assert "interrupted" in said, said
        run(FARM, "run", farm, "0001/part/0", "0001/part/1")
    assert "failed" not in [record["outcome"] for record in records(farm)]


def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def never_a_sample(folder):
    """A job whose time is always up before the first sample is put back into the queue some times, not for ever. A controller of
    Slurm that does not answer is asked again."""
    sequence(folder, 1)
    farm = plan(folder, 8, "--parts", 1, "--retries", 3, frames="1")
    loading = script(folder / "renderer", f'case "$1" in verify|merge|--list|--version) exec "{RENDER}" "$@";; esac\nexec sleep 100\n')
    programs = folder / "programs"
    programs.mkdir()
    script(programs / "squeue", f'[ -e "{folder}/away" ] && rm "{folder}/away" && exit 1\necho RUNNING\n')
    script(programs / "scontrol", f'echo "$@" >> "{folder}/said"\n')
    job = environment(SORT_RENDER=str(loading), SLURM_JOB_ID="17", PATH=f"{programs}:{os.environ['PATH']}")
    codes = []
    for attempt in range(3):
        (folder / "away").write_text("")
        process = subprocess.Popen([FARM, "run", "--slurm", farm, "0001/part/0"], stderr=subprocess.PIPE, text=True, env=job)
        wait(lambda: children_of(process.pid), "no renderer starts")
        time.sleep(0.5)
        process.terminate()
        said = process.communicate(timeout=PATIENCE_S)[1]
        codes.append(process.returncode)
    assert codes == [4, 4, 1] and (folder / "said").read_text() == "requeue 17\n" * 2, (codes, said)
    assert "interrupted 3 times before the first sample: the job needs a longer time limit" in said, said
    assert "interrupted 3 times" in run(FARM, "status", farm, code=5).stdout
    run(FARM, "resume", farm, "--local")
    assert picture(folder, 1) == single(folder, 1, 8)


run_checks(*(check for check in (never_a_sample, in_the_first_moments, at_any_line, everybody_hears_it, what_nohup_ignores, while_it_plans, a_merge, whoever_is_called)
             if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
