"""A cluster of Slurm as one user, in a folder of its own, on one machine: munged, slurmctld and a slurmd for each of several nodes.

    with Cluster({"n1": "fast", "n2": "fast", "n3": "old"}) as cluster:
        subprocess.run(["sbatch", ...], env=cluster.environment)

Daemons are the real ones of the distribution. They listen on free ports of the loopback interface, and end with the block."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from farm_kit import PATIENCE_S

SBIN = ("/usr/sbin", "/usr/local/sbin", "/sbin")


def find(program):
    for folder in (*os.environ.get("PATH", "").split(":"), *SBIN):
        if os.access(Path(folder, program), os.X_OK):
            return str(Path(folder, program))
    return None


def is_installed():
    return all(find(program) for program in ("munged", "slurmctld", "slurmd", "sbatch", "scontrol"))


def free_ports(count):
    """Ports that nobody has now; all are held while they are looked for, so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, nodes):
        """nodes: name -> feature. Slurm's files cannot lie in a folder whose name has a space."""
        self.folder = Path(tempfile.mkdtemp(prefix="sort-slurm-"))
        self.nodes = nodes
        self.processes = {}
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    # --- files --------------------------------------------------------------------------------------------

    def _write_files(self):
        user = pwd.getpwuid(os.getuid()).pw_name
        control, *ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool", "munge"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "munge").chmod(0o755)
        key = self.folder / "munge/key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        lines = [
            "ClusterName=test", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={control}", f"SlurmUser={user}", f"SlurmdUser={user}",
            f"AuthInfo=socket={self.folder}/munge/socket,cred_expire=5", f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool/%n", f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd.%n.pid", f"SlurmctldLogFile={self.folder}/slurmctld.log",
            f"SlurmdLogFile={self.folder}/slurmd.%n.log", "AuthType=auth/munge", "CredType=cred/munge", "MpiDefault=none",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none", "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU",
            "SchedulerType=sched/backfill", "SchedulerParameters=bf_interval=1,batch_sched_delay=0,sched_interval=1,sched_min_interval=0",
            "ReturnToService=2", "SlurmdTimeout=8", "SlurmctldTimeout=5", "InactiveLimit=0", "KillWait=5", "MinJobAge=30",
            "MessageTimeout=10", "SlurmdParameters=config_overrides", "JobRequeue=1", "PreemptType=preempt/partition_prio", "PreemptMode=REQUEUE"]
        for (name, feature), port in zip(self.nodes.items(), ports):
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=100 Features={feature}")
        lines.append(f"PartitionName=all Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP")
        lines.append(f"PartitionName=urgent Nodes={','.join(self.nodes)} PriorityTier=9 MaxTime=INFINITE State=UP")  # it preempts the other
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")

    # --- daemons ------------------------------------------------------------------------------------------

    def _start(self, name, command):
        with open(self.folder / f"{name.replace(' ', '-')}.out", "ab") as out:
            self.processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                                                    cwd=self.folder, env=self.environment)

    def start_munged(self):
        m = self.folder / "munge"
        self._start("munged", [find("munged"), "--foreground", "--force", f"--socket={m}/socket", f"--key-file={m}/key",
                               f"--pid-file={m}/pid", f"--log-file={m}/log", f"--seed-file={m}/seed"])
        self.wait(lambda: (m / "socket").exists(), "munged makes no socket")

    def start_controller(self):
        self._start("slurmctld", [find("slurmctld"), "-D", "-f", self.environment["SLURM_CONF"]])

    def start_node(self, name):
        self._start(f"slurmd {name}", [find("slurmd"), "-D", "-N", name, "-f", self.environment["SLURM_CONF"]])

    def kill(self, name):
        """As power does it: SIGKILL to one daemon, and nobody else."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def __enter__(self):
        self._write_files()
        try:
            self.start_munged()
            self.start_controller()
            for name in self.nodes:
                self.start_node(name)
            self.wait(lambda: self.run("sinfo", "-h", "-N", "-p", "all", "-o", "%t").split().count("idle") == len(self.nodes),
                      "the nodes do not come up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *why):
        try:
            self.run("scancel", "--user", pwd.getpwuid(os.getuid()).pw_name)
            self.wait(lambda: not self.run("squeue", "-h").strip(), "", 10)
        except (AssertionError, subprocess.TimeoutExpired):
            pass
        for name in reversed(list(self.processes)):
            process = self.processes.pop(name)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- use ----------------------------------------------------------------------------------------------

    def run(self, *command):
        """Standard output; "" when the controller is away."""
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60).stdout

    def wait(self, is_so, otherwise, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while not is_so():
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            if time.monotonic() > end or dead:
                otherwise += f" ({', '.join(dead)} has ended)" if dead else ""
                raise AssertionError(f"{otherwise}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-600:]}" for path in
                         sorted([*self.folder.glob("*.log"), *self.folder.glob("*.out")]) if path.stat().st_size)
