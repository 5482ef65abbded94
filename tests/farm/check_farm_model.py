"""The model of a farm: check_farm_model.py FOLDER_OF_PROGRAMS

Queues are held against their formulas, and the model against a farm that really runs on this machine. Its tolerances there:
bytes written 15 %, CPU time 30 %, elapsed time 30 % where nobody else uses the machine."""

import dataclasses
import json
import math
import os
import pathlib
import random
import resource
import sys
import time

from farm_kit import FARM, ROOT, plan, run, run_checks, sequence

sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))
from sort_farm import figures, manifest, model, records, simulate  # noqa: E402

QUIET = ["--node-hours", 0, "--failing", 0, "--slow", 0]


def waiting_of(make, arrivals_a_second, service, customers, seed):
    """Mean time of customers in a system, when they come at random; the first tenth, which finds it empty, does not count."""
    clock, rng, times = simulate.Clock(), random.Random(seed), []
    system = make(clock)

    def customer():
        begun = clock.now
        yield system(service(rng))
        times.append(clock.now - begun)

    def arrivals():
        for _ in range(customers):
            yield clock.delay(rng.expovariate(arrivals_a_second))
            simulate.Process(customer())

    simulate.Process(arrivals())
    clock.run()
    assert len(times) == customers
    times = times[customers // 10:]
    return sum(times) / len(times)


def erlang_c(servers, offered):
    """The share of customers of M/M/c that wait."""
    top = offered ** servers / math.factorial(servers) * servers / (servers - offered)
    return top / (sum(offered ** k / math.factorial(k) for k in range(servers)) + top)


def queues_as_in_the_book(_):
    """Closed forms, at several loads. Of 20,000 customers the mean is right within 6 %."""
    for load in (0.3, 0.7):
        for servers in (1, 3):  # M/M/c: Erlang's formula
            rate = load * servers
            found = waiting_of(lambda clock: simulate.Servers(clock, servers).use, rate, lambda rng: rng.expovariate(1.0), 20000, 11)
            expected = 1.0 + erlang_c(servers, rate) / (servers - rate)
            assert abs(found / expected - 1) < 0.06, (load, servers, found, expected)
        found = waiting_of(lambda clock: simulate.Servers(clock).use, load, lambda rng: 1.0, 20000, 12)  # M/D/1: Pollaczek and Khinchine
        expected = 1.0 + load / (2 * (1 - load))
        assert abs(found / expected - 1) < 0.06, (load, found, expected)
        for service in (lambda rng: rng.expovariate(1.0), lambda rng: 1.0):  # shared equally: only the mean of sizes counts
            found = waiting_of(lambda clock: simulate.Pipe(clock, 1.0).move, load, service, 20000, 13)
            assert abs(found * (1 - load) - 1) < 0.06, (load, found, 1 / (1 - load))
    # No flow is faster than its own limit: with four at most at once, M/M/4 in disguise.
    found = waiting_of(lambda clock: simulate.Pipe(clock, 4.0, 1.0).move, 3.0, lambda rng: rng.expovariate(1.0), 20000, 14)
    expected = 1.0 + erlang_c(4, 3.0) / (4 - 3.0)
    assert abs(found / expected - 1) < 0.06, (found, expected)


def paper_farm(parts=64, shots=5, threads=1, **cost):
    """A farm that nobody planned: parts of a hundred seconds."""
    ranges = [[i, i + 1] for i in range(parts)]
    made = [manifest.Shot(f"{i:04}", "scene", "out.exr", None, [], "", ranges, [], 100.0, 0.0, None) for i in range(shots)]
    farm = manifest.Manifest(pathlib.Path("farm"), made, [], parts, None, "cpu", threads, 8, 3, 30.0, 3600.0, False, False, None, "", "", 1000, 100.0)
    nothing = figures.Cost(0.0, 0.0, cost.get("written", 0.0), cost.get("operations", 0.0))
    return farm, figures.Figures("", "", nothing, nothing, nothing, figures.Cost(0, 0, 0, 0), cost.get("film", 0), 0.0, 0)


IDEAL = model.Site(nodes=8, cores=2, storage_rate=math.inf, node_rate=math.inf, operations_rate=1e18, start_rate=1e12, node_hours=0, failing_share=0,
                   slow_share=0)


def by_hand(_):
    """Farms whose answer can be written down, one limit at a time."""
    def seconds(site, farm):
        return model.Model(*farm, site).run().seconds

    change = dataclasses.replace
    assert abs(seconds(IDEAL, paper_farm()) - 5 * 64 * 100 / 16) < 1e-3
    assert abs(seconds(change(IDEAL, nodes=7), paper_farm()) - math.ceil(5 * 64 / 14) * 100) < 1e-3
    assert abs(seconds(change(IDEAL, slow_share=1.0, slowness=4.0), paper_farm()) - 5 * 64 * 100 / 16 * 4) < 1e-3
    tasks = 5 * (64 + 8 + 1)
    assert tasks * 100 <= seconds(change(IDEAL, start_rate=0.01), paper_farm()) <= tasks * 100 + 200  # one after the other
    beats = 8 * 2 * model.BEAT_OPERATIONS / records.BEAT_S
    answer = model.Model(*paper_farm(operations=800.0), change(IDEAL, operations_rate=8.0 + beats)).run()
    assert answer.limit == "names" and abs(answer.alone["names"] - tasks * 100) < 1e-6
    assert tasks * 100 <= answer.seconds < tasks * 100 + 300, answer
    # 1,000 bytes each written once and read once, the last sums too, by a pipe that is busy all the time.
    answer = model.Model(*paper_farm(written=1000.0, film=1000), change(IDEAL, storage_rate=5.0)).run()
    checkpoints = 5 * 64 * 3  # each 30 s of 100
    assert answer.moved_bytes == 1000.0 * (5 * (64 + 8 + 1) + 5 * (64 + 8) + checkpoints), answer
    assert answer.limit == "storage" and answer.alone["storage"] <= answer.seconds < answer.alone["storage"] + 5 * 64 * 100 / 16 + 200


def failures_are_counted(_):
    """Each task is made once however many nodes fail, a seed gives one answer, and what is lost is below a checkpoint's interval each."""
    farm = paper_farm(parts=300, threads=2)
    site = dataclasses.replace(IDEAL, node_hours=1.0, repair_seconds=60.0, failing_share=0.05, nodes=30)
    answer = model.Model(*farm, site).run()
    assert answer == model.Model(*farm, site).run() != model.Model(*farm, dataclasses.replace(site, seed=2)).run()
    calm = model.Model(*farm, IDEAL).run()
    assert answer.tasks == calm.tasks == 5 * (300 + 38 + 5 + 1) and answer.render_seconds == calm.render_seconds == 5 * 300 * 100.0
    assert answer.node_failures > 3 and 30 < answer.task_failures < 140, answer
    interval = 30.0 * 2  # of two threads
    assert 0 < answer.lost_seconds <= (answer.task_failures + answer.node_failures) * interval, answer


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime, usage.ru_oublock * 512


def machine_busy_s():
    """CPU seconds that all processes of the machine have used."""
    fields = [int(word) for word in open("/proc/stat").readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def a_farm_that_runs(folder):
    """Two processes of this machine."""
    sequence(folder)
    farm = plan(folder, 60, "--parts", 5, "--fan-in", 3, "--measure", 1, more=("--size", "64x64"))
    busy, begun, (own, _) = machine_busy_s(), time.monotonic(), used()
    said = run(FARM, "model", farm, "--nodes", 1, "--cores", 2, "--barriers", "--storage", 1000, "--link", 1000, "--starts", 1e6, *QUIET, "--json")
    body = json.loads(said.stdout)
    answer = body["answer"]
    inflation = max(machine_busy_s() - busy - used()[0] + own, 0.0) / os.cpu_count() / (time.monotonic() - begun)  # others' share while it measured
    (cpu_before, bytes_before), busy, begun = used(), machine_busy_s(), time.monotonic()
    run(FARM, "submit", farm, "--local", "-j", 2)
    (cpu, written), wall = used(), time.monotonic() - begun
    cpu, written = cpu - cpu_before, written - bytes_before
    stolen = max(machine_busy_s() - busy - cpu, 0.0) / os.cpu_count()
    predicted_cpu = answer["render_seconds"] + answer["overhead_seconds"]
    print(f"CPU time {predicted_cpu:.2f} s for {cpu:.2f}, elapsed {answer['seconds']:.2f} s for {wall:.2f} of which others had {stolen:.2f}, "
          f"{answer['written_bytes'] / 1e6:.2f} MB for {written / 1e6:.2f}; made {answer['tasks']}")
    assert answer["tasks"] == 2 * (5 + 2 + 1)
    if written:  # memory disks count nothing
        assert abs(answer["written_bytes"] / written - 1) < 0.15
    assert abs(predicted_cpu / cpu - 1) < 0.3
    assert 0.7 * (wall - 1.5 * stolen) < answer["seconds"] < 1.3 * wall / (1 - min(inflation, 0.7))


def refusals(folder):
    sequence(folder, 1)
    farm = plan(folder, 4, "--parts", 2, frames="1")
    assert "samples: 4, and at least 6 are needed" in run(FARM, "model", farm, code=2).stderr
    assert "is neither 0 nor at least an hour" in run(FARM, "model", farm, "--node-hours", 0.1, code=2).stderr
    (farm / "figures.json").write_text('{"part": {}}')
    assert "figures.json: " in run(FARM, "model", farm, code=1).stderr


run_checks(*(check for check in (queues_as_in_the_book, by_hand, failures_are_counted, a_farm_that_runs, refusals)
             if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
