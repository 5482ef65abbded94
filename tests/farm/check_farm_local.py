"""A farm of processes: check_farm_local.py FOLDER_OF_PROGRAMS

Whatever happens to tasks and files, the pictures have the bits of single renders, and nothing is lost in silence."""

import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys

from farm_kit import (FARM, PATIENCE_S, RENDER, change_manifest, check_samples, children_of, damage, environment, manifest, picture, plan, records, run, run_checks,
                      sequence, single, wait)


def compare(folder, farm, spp, *options):
    check_samples(farm, spp) if not options else None
    for frame in (1, 2):
        assert picture(folder, frame) == single(folder, frame, spp, *options), f"frame {frame} differs from a single render"


def two_frames_of_eight_ranges(folder):
    sequence(folder)
    farm = plan(folder, 32, "--parts", 8, "--fan-in", 3)
    body = manifest(farm)
    assert [len(shot["ranges"]) for shot in body["shots"]] == [8, 8] and body["shots"][0]["identity"]["width"] == 48
    names = run(FARM, "tasks", farm).stdout.split()
    assert len(names) == 2 * (8 + 3 + 1) and len(set(names)) == len(names), names
    assert "0/8" in run(FARM, "status", farm, code=5).stdout
    assert "8 of 8 parts are missing" in run(FARM, "collect", farm, code=5).stderr
    run(FARM, "submit", farm, "--local", "-j", 2)
    compare(folder, farm, 32)
    assert "finished" in run(FARM, "status", farm).stdout
    count = len(records(farm))
    run(FARM, "submit", farm, "--local")  # everything is there: nothing is made again
    run(FARM, "run", farm, "0001/part/3", "0002/sum/1.0", "0001/picture")
    assert len(records(farm)) == count
    run(FARM, "collect", farm)


def damaged_results(folder):
    """Bits that changed, a file that was cut, parts that changed places: found, told, and rendered again."""
    sequence(folder)
    farm = plan(folder, 16, "--parts", 4)
    run(FARM, "run", farm, *[f"000{frame}/part/{i}" for frame in (1, 2) for i in range(4)])
    parts = [farm / f"parts/0001/{i:06}.part" for i in range(4)]
    damage(parts[0])
    parts[1].write_bytes(parts[1].read_bytes()[:-1])
    a, b = parts[2].read_bytes(), parts[3].read_bytes()
    parts[2].write_bytes(b), parts[3].write_bytes(a)
    other = farm / "parts/0002/000000.part"
    other.write_bytes(a)  # whole, and of another frame
    said = run(FARM, "collect", farm, code=5).stderr
    for word in ("the sums are damaged", "truncated", "[[12, 16]] instead of 8:12", "[[8, 12]] instead of 12:16", "seed is 1, and 2 in the manifest"):
        assert word in said, f"{word}: {said}"
    assert len(list(farm.glob("parts/*/*.damaged"))) == 5
    run(FARM, "resume", farm, "--local")
    compare(folder, farm, 16)
    # A merge that meets damage has the part rendered again by itself; so does a picture that is gone or changed.
    (farm / "pictures/0001.json").unlink()
    damage(parts[0], 5000)
    said = run(FARM, "run", farm, "0001/picture").stderr
    assert "000000.part: the sums are damaged; it is set aside as 000000.part.damaged" in said, said
    damage(folder / "out.0002.exr")
    assert "out.0002.exr: the picture is not the one that was written" in run(FARM, "collect", farm).stderr
    compare(folder, farm, 16)


def start_part(farm, env=None, task="0001/part/0"):
    """Starts a part, and waits until it has written two checkpoints."""
    path = farm / f"checkpoints/{task[:4]}/part-0.checkpoint"

    def version():
        return path.stat().st_mtime_ns if path.exists() else 0

    process = subprocess.Popen([FARM, "run", str(farm), task], stderr=subprocess.PIPE, text=True, env=env)
    for _ in range(2):
        before = version()
        wait(lambda: version() != before or process.poll() is not None, "no checkpoint appears")
        assert process.poll() is None, f"the part ended too early: {process.stderr.read()}"
    return process


def interrupted_and_killed(folder):
    """SIGTERM ends with 4 and a checkpoint; SIGKILL to the renderer, to the task and to both loses an interval at most."""
    sequence(folder)
    farm = plan(folder, 2500, "--parts", 1, "--checkpoint-interval", 0.1, frames="1")
    process = start_part(farm)
    process.terminate()
    assert process.wait(PATIENCE_S) == 4 and list(farm.glob("checkpoints/0001/*")), process.stderr.read()
    assert records(farm)[-1]["outcome"] == "go_on"
    process = start_part(farm)
    os.kill(children_of(process.pid)[-1], signal.SIGKILL)  # as the kernel does that is out of memory
    assert process.wait(PATIENCE_S) == 1
    assert "sort-render was killed by signal 9 (out of memory?); its checkpoint stays" in process.stderr.read()
    process = start_part(farm)
    renderer = children_of(process.pid)[-1]
    process.kill()
    process.wait()
    wait(lambda: not os.path.exists(f"/proc/{renderer}") or "Z" in open(f"/proc/{renderer}/stat").read().rsplit(")")[1][:4],
         "the renderer outlives its task")
    process = start_part(farm)
    for pid in (process.pid, *children_of(process.pid)):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    before = farm.glob("checkpoints/0001/*.checkpoint").__next__()
    held = json.loads(run(RENDER, "verify", before).stdout)["samples"]
    assert held > 0
    run(FARM, "submit", farm, "--local")
    assert picture(folder, 1) == single(folder, 1, 2500)
    check_samples(farm, 2500)


def killed_before_the_name(folder):
    """A part that was finished when its task was killed is read and taken, not rendered; a damaged or another one is not."""
    sequence(folder)
    farm = plan(folder, 16, "--parts", 4)
    run(FARM, "run", farm, *[f"0001/part/{i}" for i in range(3)])
    parts, unread = farm / "parts/0001", farm / "checkpoints/0001"
    assert not list(unread.iterdir()), "a finished part leaves nothing"
    for i, name in enumerate(("part-0.elsewhere-7.part", "part-1.elsewhere-8.part", "part-3.elsewhere-9.part")):
        (parts / f"{i:06}.part").rename(unread / name)  # the last lies under the name of another part
    damage(unread / "part-1.elsewhere-8.part")
    run(FARM, "run", farm, "0001/part/0", "0001/part/1", "0001/part/3")
    spent = {record["task"]: record["cpu_seconds"] for record in sorted(records(farm), key=lambda record: record["begun"])}
    assert spent["0001/part/0"] == 0 and spent["0001/part/1"] > 0 and spent["0001/part/3"] > 0, spent
    assert sorted(path.name for path in unread.iterdir()) == ["part-1.elsewhere-8.part", "part-3.elsewhere-9.part"]
    for path in unread.iterdir():
        os.utime(path, (0, 0))
    # Whoever comes second, at any moment, finds the part that is there.
    (parts / "000002.part").unlink(missing_ok=True)
    rivals = [subprocess.Popen([FARM, "run", str(farm), "0001/part/2"], stderr=subprocess.PIPE, text=True) for _ in range(3)]
    assert [rival.wait(PATIENCE_S) for rival in rivals] == [0, 0, 0], [rival.stderr.read() for rival in rivals]
    run(FARM, "submit", farm, "--local")
    compare(folder, farm, 16)
    run(FARM, "collect", farm)
    assert not list(unread.iterdir()), "collect leaves what nobody takes"


def bad_checkpoints(folder):
    """Damaged, or of another farm: set aside, and the part begins anew."""
    sequence(folder)
    farm = plan(folder, 1200, "--parts", 1, "--checkpoint-interval", 0.1)
    for task in ("0001/part/0", "0002/part/0"):
        process = start_part(farm, task=task)
        process.terminate()
        process.wait(PATIENCE_S)
    first, second = (farm / f"checkpoints/000{frame}/part-0.checkpoint" for frame in (1, 2))
    shutil.copy(second, first)
    damage(second)
    said = run(FARM, "submit", farm, "--local").stderr
    assert "seed is 2" in said and "the sums are damaged" in said and said.count("the checkpoint is set aside") == 2, said
    compare(folder, farm, 1200)


def full_disks(folder):
    """A limit of a file's size, and a disk that is really full where one may be mounted."""
    sequence(folder)
    farm = plan(folder, 16, "--parts", 2, "--retries", 2)

    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 60000))

    done = run(FARM, "submit", farm, "--local", code=1, preexec_fn=small)
    assert "part-0.checkpoint" in done.stderr and "File too large" in done.stderr, done.stderr
    said = run(FARM, "status", farm, code=1).stdout
    assert "0001/part/0: gave up 2 times" in said, said
    run(FARM, "resume", farm, "--local")
    compare(folder, farm, 16)
    if os.getuid() != 0:
        return
    mount = folder / "disk"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(mount)], capture_output=True).returncode != 0:
        print("no disk can be mounted here: only the limit of a file's size was tried")
        return
    try:
        farm = plan(folder, 16, "--parts", 8, name="disk/farm")
        (mount / "ballast").write_bytes(bytes(1400000))
        done = run(FARM, "submit", farm, "--local", code=1)
        assert "No space left" in done.stderr or "no room" in done.stderr or "not enough" in done.stderr, done.stderr
        before = [json.loads(line) for line in run(RENDER, "verify", *farm.glob("parts/*/*.part")).stdout.splitlines()]
        assert before and all(found["samples"] == 48 * 48 * 2 for found in before), "a part that is there is whole"
        (mount / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,size=32m", str(mount)], check=True)
        run(FARM, "resume", farm, "--local")
        compare(folder, farm, 16)
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def rounds(folder):
    """Adaptive sampling: as on one machine, and what no pixel needs is not rendered."""
    sequence(folder)
    farm = plan(folder, 64, "--adaptive", 0.06, "--parts", 3)
    assert manifest(farm)["shots"][0]["rounds"] == [3, 3, 3, 3]
    run(FARM, "submit", farm, "--local", "-j", 2)
    compare(folder, farm, 64, "--adaptive", "0.06")
    taken = json.loads((farm / "pictures/0001.json").read_text())["samples"]
    assert 48 * 48 * 16 < taken < 48 * 48 * 64, taken
    # Good enough after the first round: the others have nothing to do, in any order.
    easy = plan(folder, 64, "--adaptive", 0.9, "--parts", 2, name="easy", more=("--integrator", "normal"))
    run(FARM, "run", easy, "0001/part/5", "0001/sum/4.0", "0001/part/7")
    made = sorted(path.name for path in easy.glob("parts/0001/*"))
    assert made == ["000000.part", "000001.part"], made
    run(FARM, "submit", easy, "--local")
    compare(folder, easy, 64, "--adaptive", "0.9", "--integrator", "normal")
    assert "finished" in run(FARM, "status", easy).stdout


def guided_parts(folder):
    """Each part learns the same field, which is set-up: plans tell it from what samples take."""
    sequence(folder, 1)
    farm = plan(folder, 32, "--parts", 3, "--adaptive", 0.06, frames="1", more=("--guiding", "on"))
    run(FARM, "submit", farm, "--local", "-j", 2)
    assert picture(folder, 1) == single(folder, 1, 32, "--adaptive", "0.06", "--guiding", "on")
    shot = manifest(plan(folder, 256, "--part-seconds", 0.5, name="long", frames="1", more=("--guiding", "on")))["shots"][0]
    assert len(shot["ranges"]) == 1 and shot["setup_seconds"] > 10 * shot["seconds_per_sample"], shot


def how_pictures_are_written(folder):
    """Options of the plan that are not about samples hold for what merges write."""
    sequence(folder)
    farm = plan(folder, 8, "--parts", 3, "--fan-in", 2, frames="1", more=("--denoise", "--denoising-data", "--exr-type=half"))
    run(FARM, "submit", farm, "--local")
    assert picture(folder, 1) == single(folder, 1, 8, "--denoise", "--denoising-data", "--exr-type=half")


def refusals(folder):
    """Each names the file, the place and the reason."""
    sequence(folder)
    farm = plan(folder, 8, "--parts", 2)
    for words, code, says in (
            (["plan", farm, folder / "scene.####", "-o", "x.exr", "--spp", 8], 2, "there is a farm already"),
            (["plan", folder / "b", folder / "none", "-o", "x.exr", "--spp", 8], 2, "none: there is no such file or folder"),
            (["plan", folder / "b", folder / "scene.####", "-o", "x.exr", "--spp", 8, "--frames", "1..2"], 2, "several frames need #"),
            (["plan", folder / "b", folder / "scene.####", "-o", "x.#.exr", "--spp", 8, "--frames", "2..1"], 2, "--frames 2..1"),
            (["plan", folder / "b", folder / "scene.####", "-o", "x.#.exr", "--spp", 8, "--frames", "1..3"], 2, "scene.0003"),
            (["plan", folder / "b", folder / "scene.0001", "-o", "x.exr", "--spp", 8, "--", "--samples", "0:1"], 2, "--samples: the farm"),
            (["plan", folder / "b", folder / "scene.0001", "-o", "x.exr", "--spp", 8, "--", "--nonsense"], 2, "--nonsense"),
            (["plan", folder / "c", folder / "scene.0001", "-o", "x.exr", "--spp", 8, "--camera", "none"], 2, "the scene has no camera 'none'"),
            (["plan", folder / "c", folder / "scene.####", "-o", "x.exr", "--spp", 8], 2, "with --frames, # is the frame number"),
            (["plan", folder / "c", folder / "scene.0001", "-o", "x.exr", "--spp", "many"], 2, "'many' is no whole number"),
            (["plan", folder / "c", folder / "scene.0001", "-o", "x.exr", "--spp", 8, "--adaptive", "nan"], 2, "nan is not between 1e-05 and 1"),
            (["plan", folder / "b", folder / "scene.0001", "-o", folder / "scene.0001/scene.json/x.exr", "--spp", 8], 1,
             "scene.json: the folder cannot be made"),
            (["run", folder, "a"], 2, "manifest.json: there is no such file"),
            (["run", farm, "0009/part/1"], 2, "there is no shot '0009'"),
            (["run", farm, "0001/part/2"], 2, "there is no task '0001/part/2'"),
            (["submit", farm, "--local", "--slurm"], 2, "not allowed with argument"),
            (["submit", farm, "--local", "--partition", "render"], 2, "--partition: an option of --slurm"),
            (["submit", farm, "--slurm", "--time-limit", "2"], 2, "2 is below 3"),
            (["submit", farm], 2, "say where")):
        assert says in run(FARM, *words, code=code, cwd=folder).stderr, f"{words}: {says}"
    assert run(FARM, "submit", farm, "--local", "--unknown", code=2).stderr
    text = (folder / "scene.0001/scene.json").read_text()
    (folder / "scene.0001/scene.json").write_text(text.replace('"seed": 1', '"seed": 5'))
    assert "the package is not the one that was planned" in run(FARM, "run", farm, "0001/part/0", code=1).stderr
    body = manifest(farm)
    change_manifest(farm, cpu="pentium-00000000")
    assert "parts have the class 'pentium-00000000', and this machine is of" in run(FARM, "run", farm, "0002/part/0", code=1).stderr
    change_manifest(farm, cpu="x86-64-v2-00000000", arguments=[*body["arguments"], "--cpu", "x86-64-v2"])
    assert "CPUs of other makers round differently" in run(FARM, "run", farm, "0002/part/0", code=1).stderr
    change_manifest(farm, cpu=body["cpu"], arguments=body["arguments"], renderer="sort-render 9.9.9")
    assert "and the farm was planned with sort-render 9.9.9" in run(FARM, "run", farm, "0002/part/0", code=1).stderr


def hung_renderer(folder):
    """A renderer that traces no ray is stopped; nothing hangs."""
    sequence(folder)
    farm = plan(folder, 8, "--parts", 1, "--stall-limit", 1, "--retries", 1, frames="1")
    fake = folder / "renderer"
    fake.write_text(f'#!/bin/sh\ncase "$1" in verify|merge|--list|--version) exec "{RENDER}" "$@";; esac\nexec sleep 1000\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    said = run(FARM, "submit", farm, "--local", code=1, env=environment(SORT_RENDER=str(fake))).stderr
    assert "0001/part/0: sort-render traced no ray for 1 s and was stopped" in said, said
    run(FARM, "resume", farm, "--local")
    assert picture(folder, 1) == single(folder, 1, 8)


def failures_without_records(folder):
    """Where failures cannot be recorded, as on a full disk, attempts are counted all the same. The renderer fails, and removes the
    records but one."""
    sequence(folder)
    farm = plan(folder, 8, "--parts", 1, frames="1")
    fake = folder / "renderer"
    fake.write_text(f'#!/bin/sh\ncase "$1" in verify|merge|--list|--version) exec "{RENDER}" "$@";; esac\n'
                    f'cd "{farm}/records/0001" 2>/dev/null && ls | tail -n +2 | xargs rm -f\nexit 1\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    run(FARM, "submit", farm, "--local", code=1, env=environment(SORT_RENDER=str(fake)))
    assert len(records(farm)) < 3


def cameras_and_discarded_parts(folder):
    """Two cameras of a scene; parts that a whole sum holds are removed; textures lie on the node's disk."""
    sequence(folder, 1)
    scene = json.loads((folder / "scene.0001/scene.json").read_text())
    scene["cameras"].append({**scene["cameras"][0], "name": "near", "fov_y_degrees": 20})
    (folder / "scene.0001/scene.json").write_text(json.dumps(scene))
    first = scene["cameras"][0]["name"]
    farm = plan(folder, 12, "--parts", 6, "--fan-in", 2, "--discard-parts", "--camera", first, "--camera", "near",
                "--local-cache", folder / "node", frames="1")
    run(FARM, "submit", farm, "--local")
    assert not list(farm.glob("parts/*/*")) and (folder / "node/kernels").is_dir()
    for camera in (first, "near"):
        made = (folder / f"out.0001.{camera}.exr").read_bytes()
        assert made == single(folder, 1, 12, "--camera", camera), camera
    # A sum that is damaged later costs its parts.
    (farm / "pictures/0001-near.json").unlink()
    damage(next(farm.glob("sums/0001-near/*.sum")))
    run(FARM, "submit", farm, "--local")
    assert (folder / "out.0001.near.exr").read_bytes() == made


def pages(folder):
    """Status as HTML and JSON, the manual page and completions."""
    sequence(folder)
    farm = plan(folder, 8, "--parts", 4)
    run(FARM, "run", farm, "0001/part/0", "0001/part/2")
    run(FARM, "status", farm, "--html", folder / "page.html", code=5)
    page = (folder / "page.html").read_text()
    assert "2 / 4" in page and "farm/pictures/0001.preview.png" in page and (farm / "pictures/0001.preview.png").stat().st_size, page
    run(FARM, "submit", farm, "--local")
    body = json.loads(run(FARM, "status", farm, "--json", "--html", folder / "page.html").stdout)
    assert body["exit_code"] == 0 and [shot["parts_there"] for shot in body["shots"]] == [4, 4]
    assert "2 of 2 pictures finished" in (folder / "page.html").read_text()
    assert (farm / "pictures/0002.png").stat().st_size
    manual = run(FARM, "manual").stdout
    assert ".SS resume" in manual and "\\-\\-checkpoint\\-interval" in manual
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-l", "-"], input=manual, capture_output=True, text=True, env=environment(MANWIDTH="100"))
        assert not done.stderr and "sort-farm plan" in done.stdout, done.stderr
    for shell in ("bash", "zsh", "fish"):
        text = run(FARM, "completion", shell).stdout
        assert "checkpoint-interval" in text, shell
        if shutil.which(shell):
            subprocess.run([shell, "-n"], input=text, text=True, check=True)
    assert run(FARM, "--version").stdout.split()[1] == run(RENDER, "--version").stdout.split()[1]


run_checks(*(check for check in (two_frames_of_eight_ranges, damaged_results, interrupted_and_killed, killed_before_the_name, bad_checkpoints, full_disks, rounds,
                                 guided_parts, how_pictures_are_written, refusals, hung_renderer, failures_without_records,
                                 cameras_and_discarded_parts, pages)
             if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
