"""What scripts/race, scripts/mitsuba-comparison and scripts/bench-peers share: programs that are run and measured, wheels, pictures that
are compared, options."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = range(7, 107)


def fail(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {message}")


def measured(command, **how):
    """(CPU seconds, user and system, of all threads; peak memory in MiB; what it printed) of a program that must end well."""
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        child = subprocess.Popen([str(part) for part in command], stdout=said, stderr=complained, **how)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0), complained.seek(0)
        text = said.read()
        if child.returncode != 0:
            fail(f"{command[0]} failed:\n{text[-2000:]}{complained.read()[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


def run(command, **how):
    return measured(command, **how)[2]


def sort_render(args, package, picture, samples, seed, *options):
    """CPU seconds and peak memory of the whole process. Shaders and textures are kept in OUT/cache."""
    return measured([args.build / "bin" / "sort-render", package, "-o", picture, "--spp", samples, "--seed", seed, "--threads",
                     args.threads, "--cache", args.out / "cache", "--quiet", "--unwatched", *options, *args.sort_options])[:2]


def compare(args, picture, reference, trimmed_percent=1):
    return json.loads(run([args.build / "bin" / "sort-render", "compare", "--json", "--trim", trimmed_percent, picture, reference]))


def wheel_python(name, what):
    """The Python of an environment build/NAME that has the wheels of scripts/NAME-wheels.txt; they are installed the first time."""
    place, pins = ROOT / "build" / name, ROOT / "scripts" / f"{name}-wheels.txt"
    python, stamp = place / "bin" / "python", place / "pins.txt"
    if not stamp.exists() or stamp.read_text() != pins.read_text():
        print(f"Installing {what} as Python modules", flush=True)
        shutil.rmtree(place, ignore_errors=True)
        run([sys.executable, "-m", "venv", place])
        run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "-r", pins])
        shutil.copyfile(pins, stamp)  # the last step, so that what was cut off begins anew
    return python


def find_llvm():
    """The shared library of the LLVM that SORT is built with, which Dr.Jit compiles with."""
    version = re.search(r"^llvm-(\d+)-dev$", (ROOT / "scripts" / "packages.txt").read_text(), re.MULTILINE).group(1)
    config = shutil.which(f"llvm-config-{version}")
    found = run([config, "--libfiles", "--link-shared"]).split() if config else []
    if not found:
        fail(f"there is no llvm-config-{version} that names a shared library; set DRJIT_LIBLLVM_PATH to a libLLVM.so")
    return found[0]


class Mitsuba:
    """Mitsuba 3 with the vectors of the CPU's full width (variant llvm_ad_rgb), of the wheels that are pinned."""

    def __init__(self, args):
        """Installs it, the first time. args: those of parse()."""
        self._python, self._threads = wheel_python("mitsuba", "Mitsuba"), args.threads
        home = args.out / "home"  # where Mitsuba keeps compiled code
        home.mkdir(exist_ok=True)
        self._environment = {"DRJIT_LIBLLVM_PATH": find_llvm(), **os.environ, "HOME": str(home)}

    def render(self, scene_xml, picture, samples, seed, size, **values):
        """CPU seconds and peak memory of the whole process. values: for the defaults of the scene, as `watertight="true"`."""
        return measured([self._python, "-B", ROOT / "scripts" / "mitsuba_render.py", scene_xml, picture, samples, seed, *size,
                         self._threads, *(f"{name}={value}" for name, value in values.items())], env=self._environment)[:2]


def without_start(seconds, samples):
    """CPU seconds of that many samples, from a dictionary of times by samples: without what comes before the first one."""
    return (seconds[samples] - seconds[1]) * samples / (samples - 1)


def size(text):
    width, height = (int(part) for part in text.split("x"))
    return width, height


def add_options(parser, repeats):
    """The options of both scripts. The default of --out is named after the script."""
    parser.add_argument("names", nargs="*", metavar="SCENE", help="of those above; all without names")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, choices=range(1, len(SEEDS) + 1), default=repeats, metavar="N",
                        help="of each render, with other seeds")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / pathlib.Path(sys.argv[0]).name)
    parser.add_argument("--sort-options", type=str.split, default=[], help="further options for sort-render")


def parse(parser, names, is_all=lambda args: True):
    """The arguments, with scenes that are there and places that are made. is_all(args): no name means all names."""
    args = parser.parse_args()
    unknown = [name for name in args.names if name not in names]
    if unknown:
        parser.error(f"there is no scene '{unknown[0]}'; there are {', '.join(names)}")
    if not args.names and is_all(args):
        args.names = list(names)
    args.build, args.out = args.build.resolve(), args.out.resolve()
    if not (args.build / "bin" / "sort-render").exists():
        fail(f"{args.build / 'bin' / 'sort-render'} is not there; scripts/build release makes it")
    args.out.mkdir(parents=True, exist_ok=True)
    return args
