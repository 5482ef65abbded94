"""10,000 parts of one tiny picture: planned, read, merged in a tree and checked within a minute and 500 MiB: check_farm_scale.py
FOLDER_OF_PROGRAMS

One part is rendered. The others are its sums under other numbers of samples, so the whole is known: 10,000 times that part."""

import json
import resource
import shutil
import struct
import sys

from farm_kit import FARM, RENDER, cpu_s, damage, run, run_checks, sequence

PARTS, SECONDS, MEMORY_KIB = 10000, 60, 500 << 10


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def parts_like(part):
    """Yields the part of each sample. A check sum is linear: what a bit of the range changes in it is computed once a bit."""
    header = struct.unpack_from("<I", part, 12)[0]
    body = part[header:-4]
    assert struct.unpack("<2I", body[:8]) == (0, 1) and crc32c(body) == struct.unpack("<I", part[-4:])[0]
    zero = crc32c(bytes(len(body)))
    bits = [crc32c((1 << bit).to_bytes(8, "little") + bytes(len(body) - 8)) ^ zero for bit in range(64)]
    plain = crc32c(bytes(8) + body[8:])
    for sample in range(PARTS):
        sum_of_bits, value = plain, sample | sample + 1 << 32
        for bit in range(64):
            sum_of_bits ^= bits[bit] if value >> bit & 1 else 0
        yield part[:header] + value.to_bytes(8, "little") + body[8:] + struct.pack("<I", sum_of_bits)


def ten_thousand_parts(folder):
    sequence(folder, 1)
    begun = cpu_s()
    farm = folder / "farm"
    run(FARM, "plan", farm, folder / "scene.0001", "-o", folder / "out.exr", "--spp", PARTS, "--parts", PARTS, "--", "--size", "4x4",
        "--exr-type", "float", "--metadata", "picture")
    run(FARM, "run", farm, "shot/part/0")
    parts = farm / "parts/shot"
    for sample, data in enumerate(parts_like((parts / "000000.part").read_bytes())):
        (parts / f"{sample:06}.part").write_bytes(data)
    one = json.loads(run(RENDER, "verify", parts / "000000.part").stdout)
    for sample in (17, 5000):
        damage(parts / f"{sample:06}.part", -30)
    said = run(FARM, "collect", farm, code=5).stderr
    assert "2 of 10000 parts are missing (shot/part/17, shot/part/5000)" in said, said
    run(FARM, "run", farm, "shot/part/17", "shot/part/5000")  # of their own samples: whole parts, which the sum must take
    run(FARM, "collect", farm)
    record = json.loads((farm / "pictures/shot.json").read_text())
    assert record["ranges"] == [[0, PARTS]] and record["samples"] + record["dropped"] == 16 * PARTS, record
    assert one["samples"] == 16
    assert "10000/10000" in run(FARM, "status", farm).stdout
    shutil.rmtree(farm / "records/shot")
    (farm / "records/shot").mkdir()
    for i in range(PARTS):  # an attempt at each part, in which part i took i seconds and each 1,000th failed
        record = {"task": f"shot/part/{i}", "host": "a", "begun": i, "cpu_seconds": i, "outcome": "done" if i % 1000 else "failed", "message": str(i)}
        (farm / f"records/shot/part-{i}.{i}.a.json").write_text(json.dumps(record))
    shot = json.loads(run(FARM, "status", farm, "--json").stdout)["shots"][0]
    assert shot["cpu_seconds"] == PARTS * (PARTS - 1) // 2 and [int(r["message"]) for r in shot["failures"]] == list(range(0, PARTS, 1000)), shot
    used, memory = cpu_s() - begun, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{used:.1f} s of CPU time, {memory / 1024:.0f} MiB at most")
    assert used < SECONDS and memory < MEMORY_KIB, (used, memory)


run_checks(*(check for check in (ten_thousand_parts,) if len(sys.argv) < 3 or check.__name__ in sys.argv[2:]))
