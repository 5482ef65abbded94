"""check_bundle.py BUILD: the renderer that scripts/package-addon bundles loads nothing of the system but the C library. The loader's
own trace shows it; where the kernel lets this user have a root of its own, one with nothing but the C library does too."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import bundled_libraries  # noqa: E402  (its place is known now)

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
SHADER = "shader s(out closure surface) { surface = make_closure<Lambert>(color(0.5), global_value<normal>); }\n"
LOADER = pathlib.Path("/lib64/ld-linux-x86-64.so.2")
MUST_BE_LOADED = ("libLLVM", "libembree", "libOpenImageIO", "libassimp", "sort_plugin_decoder_oiio", "sort_plugin_importer_assimp")


class BundleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory(prefix="sort-bundle-")
        cls.folder = pathlib.Path(cls.work.name)
        package = cls.folder / "an other place"
        subprocess.run([sys.executable, "-B", ROOT / "scripts/package-addon", "--bundle", BUILD, "--no-materials", package], check=True,
                       stdout=subprocess.DEVNULL)
        cls.renderer = package / "sort_blender/renderer"
        subprocess.run([sys.executable, "-B", ROOT / "tests/install/make_model.py", cls.folder / "model"], check=True)
        (cls.folder / "model/s.ssl").write_text(SHADER)

    @classmethod
    def tearDownClass(cls):
        cls.work.cleanup()

    def commands(self, programs, model, out):
        """A model whose texture needs both plugins, each in a process of its own; a shader."""
        yield [f"{programs}/sort-render", f"{model}/model.obj", "-o", f"{out}/model.exr", "--size", "32x32", "--spp", "1", "--missing", "error",
               "--metadata", "picture", "--quiet"]
        yield [f"{programs}/sslc", "check", f"{model}/s.ssl"]

    def loaded_by(self, command):
        """Returns the files of the libraries that the command and its children loaded."""
        traces = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        environment = {"PATH": os.defpath, "HOME": str(traces), "LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(traces / "trace")}
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        found = set()
        for trace in traces.glob("trace.*"):
            found |= {pathlib.Path(line.partition("calling init: ")[2]) for line in trace.read_text(errors="replace").splitlines()
                      if "calling init: " in line}
        return found

    def foreign(self, files):
        return sorted(str(file) for file in files
                      if not bundled_libraries.is_of_c_library(file.name) and self.renderer.resolve() not in file.resolve().parents)

    def test_only_the_c_library_is_of_the_system(self):
        loaded = set()
        for command in self.commands(self.renderer / "bin", self.folder / "model", self.folder):
            loaded |= self.loaded_by(command)
        self.assertEqual(self.foreign(loaded), [])
        for start in MUST_BE_LOADED:
            self.assertTrue(any(file.name.startswith(start) for file in loaded), f"{start} was not loaded")

    def test_a_library_that_is_missing_is_noticed(self):
        hidden = self.renderer / "lib/libjansson.so.4"
        hidden.rename(hidden.with_suffix(".hidden"))
        try:
            loaded = self.loaded_by([self.renderer / "bin/sort-render", "--version"])
        finally:
            hidden.with_suffix(".hidden").rename(hidden)
        self.assertEqual([pathlib.Path(name).name for name in self.foreign(loaded)], ["libjansson.so.4"])

    def test_a_root_with_the_c_library_alone(self):
        root = self.folder / "root"
        for folder in ("proc", "dev", "tmp", "lib64", "out"):
            (root / folder).mkdir(parents=True)
        (root / "dev/null").touch()
        shutil.copy(LOADER, root / "lib64")
        system = pathlib.Path(_c_library()).parent
        (root / system.relative_to("/")).mkdir(parents=True, exist_ok=True)
        for file in system.iterdir():
            if bundled_libraries.is_of_c_library(file.name):
                shutil.copy(file, root / system.relative_to("/"))
        inside = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "--pid", "--fork",
                  "--mount-proc=/proc", f"--root={root}"]
        os.rename(self.folder / "an other place", root / "an other place")
        try:
            programs = "/an other place/sort_blender/renderer/bin"
            shutil.copytree(self.folder / "model", root / "model")
            able = subprocess.run([*inside, f"{programs}/texcache", "--version"], env={}, capture_output=True, text=True)
            if able.returncode and "unshare" in able.stderr:
                self.skipTest(able.stderr.strip())
            for command in self.commands(programs, "/model", "/out"):
                run = subprocess.run([*inside, *command], env={"HOME": "/tmp"}, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
        finally:
            os.rename(root / "an other place", self.folder / "an other place")
        command = next(self.commands(BUILD / "bin", self.folder / "model", self.folder))
        subprocess.run(command, check=True)
        self.assertEqual((root / "out/model.exr").read_bytes(), (self.folder / "model.exr").read_bytes())

    def test_each_library_has_its_notice(self):
        listed = (self.renderer / "licences/libraries.txt").read_text().splitlines()
        rows = dict(line.split()[:2] for line in listed if ".so" in line)
        libraries = {file.name for file in (self.renderer / "lib").iterdir() if file.is_file()}
        self.assertEqual(set(rows), libraries)
        for package in rows.values():
            self.assertTrue((self.renderer / f"licences/{package}.txt").stat().st_size, package)


def _c_library():
    said = subprocess.run(["ldd", BUILD / "bin/sort-render"], check=True, capture_output=True, text=True).stdout
    return next(path for name, path in bundled_libraries.RESOLVED.findall(said) if name == "libc.so.6")


if __name__ == "__main__":
    unittest.main(verbosity=2)
