"""A renderer that stays, as a test talks to it."""

import json
import os
import subprocess
import threading

from tool_kit import BIN

PATIENCE_S = 60  # between two events; progress is told more often
ENDS = ("done", "stopped", "error")


class Server:
    """with Server(folder) as server: ...; commands get ids by themselves."""

    def __init__(self, folder, env=None):
        self.process = subprocess.Popen([str(BIN / "sort-render"), "serve"], cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
        self.events, self.last_id = [], 0
        self.hello = self.event()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                pipe.close()
            except OSError:
                pass
        self.process.wait()

    def patiently(self, read):
        """What `read` returns; the renderer is killed if that takes too long."""
        alarm = threading.Timer(PATIENCE_S, self.process.kill)
        alarm.start()
        what = read()
        alarm.cancel()
        return what

    def last_words(self):
        """All that the renderer says on standard error until it ends."""
        return self.patiently(self.process.stderr.read).decode()

    def event(self):
        line = self.patiently(self.process.stdout.readline)
        if not line:
            raise OSError(f"the renderer ended with {self.process.wait()}: {self.process.stderr.read().decode()}")
        self.events.append(json.loads(line))
        return self.events[-1]

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, command, **fields):
        self.last_id += 1
        self.write(json.dumps({"command": command, "id": self.last_id, **fields}).encode() + b"\n")
        return self.last_id

    def end_of(self, number):
        while True:
            event = self.event()
            if event["event"] in ENDS and event.get("id") == number:
                return event

    def do(self, command, **fields):
        return self.end_of(self.send(command, **fields))

    def memory_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
