"""A farm in a real Slurm: check_farm_slurm.py FOLDER_OF_PROGRAMS

Tasks, a node's daemon and the controller are killed, jobs are put back, cancelled and reach their time limit, the disk is full; a node is
slow, one has another CPU class. The pictures have the bits of single renders. Exit code 77: there is no Slurm here."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time

from farm_kit import (FARM, PATIENCE_S, RENDER, check_samples, children_of, damage, manifest, picture, plan, records, run, run_checks, sequence,
                      single, wait)
from slurm_cluster import Cluster, is_installed

NODES = {"n1": "fast", "n2": "fast", "n3": "old"}
SLOW, OLD = "n2", "n3"


def renderer(folder):
    """A renderer that is slow to start on one node, and on another says that it has a class of its own."""
    path = folder / "renderer"
    path.write_text(f"""#!/bin/sh
case "$1" in
verify|merge|--version) ;;
--list) [ "$SLURMD_NODENAME" != {OLD} ] || {{ echo "native          this machine: other-01234567"; exit; }} ;;
*) [ "$SLURMD_NODENAME" != {SLOW} ] || sleep 1.5
   [ "$SLURMD_NODENAME" != {OLD} ] || set -- "$@" --cpu x86-64-v2 ;;
esac
exec "{RENDER}" "$@"
""")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def environment_of(cluster, folder):
    return {**cluster.environment, "SORT_RENDER": renderer(folder)}


def jobs(cluster, *states):
    """(job, node) of array tasks in these states."""
    lines = cluster.run("squeue", "-h", "-r", "-t", ",".join(states), "-o", "%A %N %j %i").splitlines()
    return [tuple(line.split()) for line in lines]


def processes_of(farm, node=None):
    """[pid] of tasks (sort-farm run) under way."""
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and f"run\0--slurm\0{farm}\0".encode() in open(f"/proc/{name}/cmdline", "rb").read():
                if node is None or f"SLURMD_NODENAME={node}\0".encode() in open(f"/proc/{name}/environ", "rb").read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def is_rendering(pid):
    try:
        return b"\0--partial\0" in open(f"/proc/{pid}/cmdline", "rb").read()
    except OSError:
        return False


def rendering(farm):
    """[(task, renderer)] of processes whose part has a checkpoint."""
    found = []
    for task in processes_of(farm):
        try:
            name = open(f"/proc/{task}/cmdline").read().split("\0")[-2]
            shot, kind, *number = name.split("/")
        except (OSError, IndexError, ValueError):  # it has ended, or is no task: a batch script, a submission
            continue
        if kind == "part" and (farm / f"checkpoints/{shot}/part-{number[0]}.checkpoint").exists():
            found += [(task, child) for child in children_of(task) if is_rendering(child)]
    return found


def until_recorded(farm, act, outcome, spared=()):
    """Does something to a task that renders, again with another if that one was faster, until a record tells of it."""
    def count():
        return sum(1 for record in records(farm) if record["outcome"] == outcome)

    before, end = count(), time.monotonic() + PATIENCE_S
    while count() == before:
        assert time.monotonic() < end, f"no task is recorded as {outcome}"
        found = [pair for pair in rendering(farm) if pair[0] not in spared]
        if found:
            try:
                act(*found[0])
            except ProcessLookupError:
                pass
            time.sleep(1)
        time.sleep(0.02)


def variables_of(task):
    """The environment of a process: SLURM_JOB_ID is its job, SLURMD_NODENAME its node."""
    return dict(word.split("=", 1) for word in open(f"/proc/{task}/environ").read().split("\0") if "=" in word)


def preempt(cluster, farm, spared):
    """Somebody's urgent job takes the node of a task, which leaves a checkpoint and is back in the queue without anybody's help."""
    preempted = []

    def act(task, child):
        job, node = (variables_of(task)[name] for name in ("SLURM_JOB_ID", "SLURMD_NODENAME"))
        cluster.run("sbatch", "--partition=urgent", f"--nodelist={node}", "--output=/dev/null", "--wrap=sleep 1")
        end = time.monotonic() + PATIENCE_S
        while os.path.exists(f"/proc/{task}") and time.monotonic() < end:
            time.sleep(0.05)
        preempted.append(job)

    until_recorded(farm, act, "go_on", spared)
    cluster.wait(lambda: [job for job, *_ in jobs(cluster, "PENDING", "RUNNING") if job == preempted[-1]], "a preempted job is not put back")


class TimeLimit:
    """A task whose renderer stands still, so that its part takes longer than the limit of a minute that its job gets. Slurm itself then
    sends the signal; the renderer goes on when it has come."""

    def __init__(self, cluster, farm):
        wait(lambda: rendering(farm), "no task renders")
        self.task, self.renderer = rendering(farm)[0]
        os.kill(self.renderer, signal.SIGSTOP)
        cluster.run("scontrol", "update", f"jobid={variables_of(self.task)['SLURM_JOB_ID']}", "timelimit=1")
        self.end = time.monotonic() + PATIENCE_S

    def has_come(self):
        status = open(f"/proc/{self.renderer}/status").read()
        return int(status.split("ShdPnd:")[1].split()[0], 16) >> signal.SIGTERM - 1 & 1

    def reach(self, farm):
        name = open(f"/proc/{self.task}/cmdline").read().split("\0")[-2]
        wait(self.has_come, "Slurm sends no signal", max(self.end - time.monotonic(), 1))
        os.kill(self.renderer, signal.SIGCONT)
        wait(lambda: [r for r in records(farm) if r["task"] == name and r["outcome"] == "go_on" and not r["is_idle"]],
             "the task whose time was up has left no checkpoint")


class Disk:
    """A disk of its own for the farm, where one may be mounted; else a folder, which is never full."""

    def __init__(self, folder):
        self.path = folder / "disk"
        self.path.mkdir()
        self.ballast = self.path / "ballast"
        self.is_mounted = os.getuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", self.path],
                                                              capture_output=True).returncode == 0

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if self.is_mounted:
            subprocess.run(["umount", "--lazy", self.path], check=True)

    def fill(self, farm):
        """Leaves room for records, and none for a part, until tasks have failed by that."""
        if not self.is_mounted:
            print("no disk can be mounted here: a full one is not tried")
            return
        room = manifest(farm)["film_bytes"] // 2
        with open(self.ballast, "wb") as ballast:
            def is_missed():
                self.take_all_but(room, ballast)
                return [r for r in records(farm) if r["outcome"] == "failed" and "No space left" in r["message"]]

            wait(is_missed, "nobody misses room")
        self.ballast.unlink()

    def take_all_but(self, room, ballast):
        """Takes what is free now; tasks write and remove checkpoints meanwhile, so that it may be gone, and is worth trying again."""
        free = os.statvfs(self.path)
        spare = free.f_bavail * free.f_bsize - room
        if spare > 0:
            try:
                os.posix_fallocate(ballast.fileno(), os.fstat(ballast.fileno()).st_size, spare)
            except OSError as error:
                assert error.errno == errno.ENOSPC, error


def tend(cluster):
    """What an administrator does after a crash: nodes that Slurm has drained come back, jobs that it holds go on."""
    for node in set(cluster.run("sinfo", "-h", "-N", "-t", "drained,down", "-o", "%N").split()):
        cluster.run("scontrol", "update", f"nodename={node}", "state=resume")
    for line in cluster.run("squeue", "-h", "-r", "-t", "PENDING", "-o", "%A|%r").splitlines():
        job, reason = line.split("|", 1)
        if "held" in reason.lower():
            cluster.run("scontrol", "release", job)


def wait_for_a_job(cluster, otherwise, is_enough=lambda: False):
    """Waits until a job runs, or for what is enough without one."""
    def is_so():
        tend(cluster)
        return jobs(cluster, "RUNNING") or is_enough()

    cluster.wait(is_so, otherwise)


def wait_for_queue(cluster, seconds=PATIENCE_S):
    """Waits until it is empty; a busy machine has the time that it needs, as long as something changes."""
    seen, end = None, time.monotonic()
    while True:
        tend(cluster)
        queue = cluster.run("squeue", "-h", "-r", "-o", "%i %T")
        if cluster.run("sinfo", "-h").strip() and not queue.strip():
            return
        if queue != seen:
            seen, end = queue, time.monotonic() + seconds
        assert time.monotonic() < end, (f"nothing changes in the queue\n{cluster.run('squeue', '-r')}{cluster.run('sinfo', '-N', '-l')}"
                                        f"{cluster.logs()}")
        time.sleep(0.1)


def finish(cluster, farm, env, *options):
    """Submits what is missing until nothing is; a farm that loses a task needs one more, not many."""
    for again in range(4):
        wait_for_queue(cluster)
        done = subprocess.run([FARM, "status", str(farm)], capture_output=True, text=True)
        if done.returncode == 0:
            return again
        run(FARM, "resume", farm, "--slurm", *options, env=env)
    raise AssertionError(f"the farm does not end: {done.stdout}\n{cluster.logs()}")


def whatever_is_killed(folder):
    sequence(folder)
    with Disk(folder) as disk:
        farm = plan(folder, 5000, "--parts", 8, "--fan-in", 3, "--checkpoint-interval", 0.2, "--retries", 5, name="disk/farm")
        faults_of_a_cluster(folder, farm, disk)
        for frame in (1, 2):
            assert picture(folder, frame) == single(folder, frame, 5000), f"frame {frame} differs from a single render"
        check_samples(farm, 5000)


def faults_of_a_cluster(folder, farm, disk):
    with Cluster(NODES) as cluster:
        env = environment_of(cluster, folder)
        options = ["--constraint", "fast"]
        shown = run(FARM, "submit", farm, "--slurm", "--dry-run", *options, env=env).stdout
        assert "--requeue --signal=B:TERM@60" in shown and "--constraint=fast" in shown and "--array=0-7" in shown, shown
        run(FARM, "submit", farm, "--slurm", *options, env=env)
        refused = run(FARM, "submit", farm, "--slurm", *options, env=env, code=2).stderr
        assert "still in the queue" in refused, refused

        limit = TimeLimit(cluster, farm)
        until_recorded(farm, lambda task, child: os.kill(child, signal.SIGKILL), "failed", [limit.task])
        preempt(cluster, farm, [limit.task])
        limit.reach(farm)
        disk.fill(farm)
        wait(lambda: rendering(farm), "no task renders")
        os.kill(rendering(farm)[0][0], signal.SIGKILL)  # the task: its job has failed, and the merges are removed

        cluster.kill("slurmctld")
        time.sleep(1)
        cluster.start_controller()
        wait_for_a_job(cluster, "no job runs after the controller has come back")
        for job in jobs(cluster, "RUNNING")[:1]:
            cluster.run("scontrol", "requeue", job[0])

        cluster.kill("slurmd n1")
        cluster.wait(lambda: "n1" in cluster.run("sinfo", "-h", "-t", "down", "-o", "%N"), "nobody misses a node")
        cluster.start_node("n1")
        wait_for_a_job(cluster, "no job runs after the node has come back", lambda: not cluster.run("squeue", "-h"))
        for job in jobs(cluster, "RUNNING")[:1]:
            cluster.run("scancel", job[0])
        wait_for_queue(cluster)
        first = next(iter(farm.glob("parts/0002/*.part")), None)
        if first:
            damage(first)
        times = finish(cluster, farm, env, *options)
        print(f"submitted {times} times more")
        hosts = {record["host"] for record in records(farm)}
        assert OLD not in hosts and SLOW in hosts, hosts
        outcomes = [record["outcome"] for record in records(farm)]
        assert "go_on" in outcomes and "failed" in outcomes, outcomes


def nodes_of_another_class(folder):
    """Without a constraint, tasks that meet the wrong node say so and go elsewhere; adaptive rounds depend on each other."""
    sequence(folder)
    farm = plan(folder, 48, "--adaptive", 0.06, "--parts", 2, "--retries", 30)
    with Cluster(NODES) as cluster:
        env = environment_of(cluster, folder)
        run(FARM, "submit", farm, "--slurm", env=env)
        finish(cluster, farm, env)
    failed = [record for record in records(farm) if record["outcome"] == "failed"]
    assert all(record["host"] == OLD and "this machine is of 'other-01234567'" in record["message"] for record in failed), failed
    for frame in (1, 2):
        assert picture(folder, frame) == single(folder, frame, 48, "--adaptive", "0.06"), f"frame {frame} differs from a single render"


if not is_installed():
    print("there is no Slurm here")
    sys.exit(77)
run_checks(*(check for check in (whatever_is_killed, nodes_of_another_class) if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
