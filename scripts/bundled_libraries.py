"""The shared libraries that programs need besides the C library, and their licences, for a folder that runs on any Linux
whose C library is not older than this machine's."""

import pathlib
import re
import subprocess
import sys

# The GNU C library, which each system has itself: parts of two versions do not work in one process.
C_LIBRARY = re.compile(r"(linux-vdso|ld-linux-x86-64|lib(c|m|mvec|dl|pthread|rt|resolv|util|anl))\.so(\.\d+)?")
RESOLVED = re.compile(r"^\s*(\S+) => (\S+)(?: \(0x[0-9a-f]+\))?$", re.M)
COMMON_LICENCES = pathlib.Path("/usr/share/common-licenses")


def is_of_c_library(name):
    return C_LIBRARY.fullmatch(name) is not None


def needed_by(files):
    """Returns the file of each library that the loader of this machine loads for `files`, by the name it is asked for."""
    found = {}
    for file in files:
        said = subprocess.run(["ldd", file], check=True, capture_output=True, text=True).stdout
        for name, path in RESOLVED.findall(said):
            if path == "not":
                sys.exit(f"{file} needs {name}, which is not on this machine")
            if not is_of_c_library(name):
                found[name] = pathlib.Path(path).resolve()
    return dict(sorted(found.items()))


def packages_of(paths):
    """Returns the Debian package of each file, with its version."""
    names = {name: path for path in paths for name in (str(path), str(path).removeprefix("/usr"))}
    said = subprocess.run(["dpkg-query", "-S", *names], capture_output=True, text=True).stdout  # fails as not all names exist
    found = {}
    for line in said.splitlines():
        package, _, name = line.partition(": ")
        if name in names:
            found[names[name]] = package.partition(", ")[0]
    if missing := [str(path) for path in paths if path not in found]:
        sys.exit(f"no package has {', '.join(missing)}, so its licence is not known")
    said = subprocess.run(["dpkg-query", "-W", "-f", "${binary:Package} ${Version}\n", *sorted(set(found.values()))],
                          check=True, capture_output=True, text=True).stdout
    versions = dict(line.split() for line in said.splitlines())
    return {path: (package.partition(":")[0], versions.get(package) or versions[package.partition(":")[0]])
            for path, package in found.items()}


def notices(libraries):
    """Returns texts by name: a list of `libraries` (of needed_by) with the package each is from, that package's notices, and the
    licences that these refer to."""
    packages = packages_of(set(libraries.values()))
    rows = [f"{name}  {' '.join(packages[path])}" for name, path in libraries.items()]
    texts = {"libraries.txt": "\n".join(["The libraries of this folder, with the Debian package and version that each is from. PACKAGE.txt has",
                                         "its copyright and licences; common/ has licences that it refers to.", "", *rows, ""]).encode()}
    for package, _ in set(packages.values()):
        notice = pathlib.Path("/usr/share/doc", package, "copyright")
        if not notice.is_file():
            sys.exit(f"{notice} is missing, so {package} may not be bundled")
        texts[f"{package}.txt"] = notice.read_bytes()
    for licence in COMMON_LICENCES.iterdir():
        texts[f"common/{licence.name}"] = licence.read_bytes()
    return dict(sorted(texts.items()))
