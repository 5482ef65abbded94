"""The renderer as a process: cancelled, missing, failing, dying; folders of any letters."""

import os
import pathlib
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest
from unittest import mock

import bpy
import blender_scene as kit


def program(name, text):
    """A renderer of the test's own."""
    path = kit.FOLDER / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


class ProcessTest(unittest.TestCase):
    def setUp(self):
        self.scene = kit.empty_scene(samples=4)
        plane = kit.add_plane(size=8)
        kit.material_of(plane, "ShaderNodeEmission", Color=(0.5, 0.25, 1, 1))
        kit.add_camera()
        kit.set_renderer(str(kit.RENDERER))

    def check_failure(self, words):
        with self.assertRaisesRegex(RuntimeError, words):
            bpy.ops.render.render()
        self.assertRegex(kit.messages().error, words)

    def test_renderer_in_a_folder_of_any_letters(self):
        folder = kit.FOLDER / "レンダラー und Öl"
        folder.mkdir()
        (folder / "sort-render").symlink_to(kit.RENDERER)
        kit.set_renderer(str(folder))
        self.assertAlmostEqual(float(kit.render()[24, 24, 1]), 0.25, delta=0.01)
        place = folder / "Bild 一.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(place), copy=True)
        self.scene.render.filepath = str(folder / "Ausgabe ж.exr")
        bpy.ops.render.render(write_still=True)
        self.assertAlmostEqual(float(kit.read_picture(self.scene.render.filepath)[24, 24, 2]), 1, delta=0.01)

    def test_names_of_any_letters(self):
        for name in ("Würfel \"1\"", "立方体", "a/b\\c:d"):
            obj = kit.add_plane(name, location=(0, 0, -1))
            kit.material_of(obj, "ShaderNodeBsdfDiffuse")
        kit.render()
        self.assertEqual(kit.messages().warnings, [])

    def test_missing_renderer(self):
        kit.set_renderer(str(kit.FOLDER / "nowhere"))
        self.check_failure("nowhere: there is no such file.*Preferences")

    def test_scripts_can_tell_that_a_frame_failed(self):
        place = kit.FOLDER / "fails.blend"
        camera, self.scene.camera = self.scene.camera, bpy.data.objects["Plane"]
        bpy.ops.wm.save_as_mainfile(filepath=str(place), copy=True)
        run = subprocess.run([os.environ["SORT_TEST_BLENDER"], "-b", str(place), "-f", "1"],
                             capture_output=True, text=True)
        self.scene.camera = camera
        self.assertIn("an object of type MESH cannot be looked through", run.stdout)
        self.assertEqual(run.returncode, 1)

    def test_no_renderer_at_all(self):
        kit.set_renderer("")
        path, os.environ["PATH"] = os.environ["PATH"], str(kit.FOLDER)
        try:
            self.check_failure("was not found.*Preferences")
        finally:
            os.environ["PATH"] = path

    def test_missing_numpy(self):
        with mock.patch("importlib.util.find_spec", return_value=None):
            self.check_failure("needs numpy.*python3-numpy")

    def test_renderer_that_refuses(self):
        kit.set_renderer(program("refuses", 'echo "sort-render: scene.json: too bad" >&2; exit 1'))
        self.check_failure("SORT: scene.json: too bad|^scene.json: too bad")

    def test_renderer_that_dies(self):
        kit.set_renderer(program("dies", "kill -SEGV $$"))
        self.check_failure("ended by SIGSEGV")

    def test_renderer_killed_in_the_middle(self):
        self.scene.sort.samples = 1 << 20

        def kill():
            while not kit.renderers_in(kit.FOLDER.parent):
                time.sleep(0.05)
            time.sleep(0.5)
            for number in kit.renderers_in(kit.FOLDER.parent):
                os.kill(int(number), signal.SIGKILL)
        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        start = time.monotonic()
        self.check_failure("ended by SIGKILL")
        self.assertLess(time.monotonic() - start, 60)
        killer.join()

    def test_a_cache_that_cannot_be_written_ends_no_render(self):
        """A file where its folder should be, as for root no folder is read-only. Nothing can be gone on with then."""
        from sort_blender import caches
        expected = kit.render()
        self.assertIsNone(caches.environment())
        blocked = kit.FOLDER / "no folder"
        blocked.write_text("")
        self.scene.sort.keeps_interrupted = True
        self.addCleanup(setattr, self.scene.sort, "keeps_interrupted", False)
        with mock.patch.dict(os.environ, XDG_CACHE_HOME=str(blocked)):
            picture = kit.render()
            self.assertEqual(caches.environment()["XDG_CACHE_HOME"], bpy.app.tempdir)
        said = kit.messages().warnings
        self.assertEqual(len(said), 2, said)
        self.assertIn(f"{blocked}/sort: nothing can be kept there", "".join(said))
        self.assertIn("Go On After Interruptions", "".join(said))
        self.assertTrue((picture == expected).all())

    def test_checkpoints_that_cannot_be_written_end_no_render(self):
        """A disk that is full before the first one."""
        self.scene.sort.keeps_interrupted = True
        self.addCleanup(setattr, self.scene.sort, "keeps_interrupted", False)
        expected = kit.render()
        full = kit.FOLDER / "full"
        full.write_text(f"""#!/bin/sh
after=
for word; do
    if [ "$after" = --checkpoint ]; then
        echo "sort-render: $word: has no room for its 4096 bytes: No space left on device" >&2
        exit 1
    fi
    after=$word
done
exec '{kit.RENDERER}' "$@"
""")
        full.chmod(0o755)
        kit.set_renderer(str(full))
        self.addCleanup(kit.set_renderer, str(kit.RENDERER))
        picture = kit.render()
        said = kit.messages().warnings
        self.assertEqual(len(said), 1, said)
        self.assertIn("Go On After Interruptions", said[0])
        self.assertIn("No space left on device", said[0])
        self.assertTrue((picture == expected).all())

    def test_interrupted_renders_go_on(self):
        """To the bits of one that was not interrupted. After an edit they begin anew."""
        from sort_blender import process, resume
        self.scene.sort.samples, self.scene.render.resolution_x, self.scene.render.resolution_y = 512, 160, 160
        self.scene.render.threads_mode, self.scene.render.threads = "FIXED", 1
        self.addCleanup(setattr, self.scene.render, "threads_mode", "AUTO")
        self.scene.sort.keeps_interrupted = True
        self.addCleanup(setattr, self.scene.sort, "keeps_interrupted", False)
        watcher = process.Watcher

        def render(stops=False):
            """The picture, and how much of it was done at each record."""
            done = []

            def watching(on_record, is_cancelled):
                def note(record):
                    done.extend([record["done"]] if record.get("event") == "progress" else [])
                    on_record(record)
                return watcher(on_record=note, is_cancelled=lambda: stops and any(part > 0.2 for part in done))
            with mock.patch.object(process, "Watcher", side_effect=watching):
                picture = kit.render()
            self.assertEqual(kit.messages().warnings, [])
            return picture, done
        with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, XDG_CACHE_HOME=cache):
            place = resume.checkpoint_of(self.scene, bpy.context.view_layer.name)
            expected, _ = render()
            self.assertFalse(place.exists() or resume.is_waiting(self.scene))
            part, done = render(stops=True)
            self.assertLess(max(done), 1)
            self.assertTrue(place.exists() and resume.is_waiting(self.scene))
            self.assertAlmostEqual(float(part[80, 80, 1]), 0.25, delta=0.01)  # what there is of it is shown
            again, done = render()
            self.assertGreater(done[0], 0.15)
            self.assertTrue((again == expected).all())
            self.assertFalse(place.exists())
            render(stops=True)
            self.assertTrue(place.exists())
            bpy.data.objects["Plane"].location.x += 5
            bpy.context.view_layer.update()
            edited, done = render()
            self.assertLess(done[0], 0.15)
            self.assertFalse(place.exists())
            self.assertFalse((edited == expected).all())

    def test_any_error_of_the_addon_is_said(self):
        from sort_blender.export import scene as scene_export
        with mock.patch.object(scene_export, "frame_of", side_effect=ZeroDivisionError("by nothing")):
            self.check_failure("internal error: ZeroDivisionError: by nothing")

    def test_two_blenders_at_once_and_an_animation(self):
        plane = bpy.data.objects["Plane"]
        for frame, x in ((1, 0), (2, 50)):
            plane.location.x = x
            plane.keyframe_insert("location", index=0, frame=frame)
        self.scene.frame_start, self.scene.frame_end = 1, 2
        place = kit.FOLDER / "both.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(place), copy=True)
        children = [subprocess.Popen([os.environ["SORT_TEST_BLENDER"], "-b", str(place), "-E", "SORT", "-o", f"//{name}_", "-a"],
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for name in "ab"]
        said = [child.communicate()[0] for child in children]
        self.assertEqual([child.returncode for child in children], [0, 0], said)
        first, second = (kit.read_picture(str(kit.FOLDER / f"a_000{k}.exr")) for k in (1, 2))
        self.assertAlmostEqual(float(first[24, 24, 1]), 0.25, delta=0.01)
        self.assertEqual(float(second[24, 24, 1]), 0)
        self.assertTrue((kit.read_picture(str(kit.FOLDER / "b_0001.exr")) == first).all())

    def test_why_a_renderer_does_not_start_is_told(self):
        from sort_blender import locate
        from sort_blender.messages import SortError
        old = program("old", "echo \"version 'GLIBC_9' not found\" >&2\nexit 1\n")
        with self.assertRaisesRegex(SortError, "old cannot be run: version 'GLIBC_9' not found"):
            locate.renderer_version(pathlib.Path(old))

    def test_denoisers_that_cannot_be_had_are_told(self):
        from sort_blender import locate
        from sort_blender.job import make_job
        from sort_blender.messages import Report
        settings, layer = self.scene.sort, self.scene.view_layers[0]
        settings.use_denoising, found = True, locate.find_denoiser
        try:
            for denoiser, library, samples, wanted, told in (
                    ("nfor", "", 16, ["--denoiser", "nfor"], ""), ("nfor", "", 1, None, "but one"),
                    ("oidn", "", 16, ["--denoiser", "nfor"], "Open Image Denoise"), ("oidn", "", 1, None, "but one"),
                    ("oidn", "/lib/x.so", 1, ["--denoiser", "/lib/x.so"], "")):
                settings.denoiser, settings.samples, report = denoiser, samples, Report()
                locate.find_denoiser = lambda name, library=library: library if name == "oidn" else name
                options = make_job(self.scene, kit.RENDERER, kit.FOLDER, set(), layer=layer, report=report).arguments()
                at = options.index("--denoise") if "--denoise" in options else None
                self.assertEqual(None if at is None else options[at + 1:at + 3], wanted, (denoiser, samples))
                self.assertIn(told, " ".join(report.warnings))
                self.assertEqual(bool(told), bool(report.warnings), report.warnings)
            settings.denoiser, settings.samples, settings.use_preview_denoising = "nfor", 16, True
            for samples, denoising in ((1, ()), (2, ("--denoise", "--denoiser", "nfor"))):  # of a viewport, its own
                settings.preview_samples = samples
                job = make_job(self.scene, kit.RENDERER, kit.FOLDER, set(), is_preview=True, report=Report())
                self.assertEqual(job.denoising, denoising)
        finally:
            locate.find_denoiser = found
            for name in ("denoiser", "samples", "use_denoising", "preview_samples", "use_preview_denoising"):
                settings.property_unset(name)

    def test_two_renders_at_once_in_one_blender(self):
        from sort_blender import process
        from sort_blender.export.scene import ExportPlan, export_scene
        from sort_blender.job import make_job
        from sort_blender.messages import Report
        done = []

        def run(folder):
            job = make_job(self.scene, kit.RENDERER, folder, set())
            done.append(process.run_render(job, process.Watcher(lambda record: None, lambda: False), Report()))
        folders = [kit.FOLDER / f"at_once_{k}" for k in range(2)]
        for folder in folders:
            folder.mkdir()
            export_scene(bpy.context.evaluated_depsgraph_get(), ExportPlan(folder / "package"), Report())
        threads = [threading.Thread(target=run, args=(folder,)) for folder in folders]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(done, [True, True])
        first, second = (kit.read_picture(str(folder / "picture.exr")) for folder in folders)
        self.assertTrue((first == second).all())

    def test_renderer_that_cannot_run(self):
        path = kit.FOLDER / "garbage"
        path.write_bytes(b"\x7fELF nonsense")
        path.chmod(0o755)
        kit.set_renderer(str(path))
        self.check_failure("garbage cannot be run")

    def test_damaged_picture_is_shown_with_its_message(self):
        kit.set_renderer(program("damaged", f'"{kit.RENDERER}" "$@" && echo "3 texture tiles lost" >&2; exit 3'))
        self.assertAlmostEqual(float(kit.render()[24, 24, 0]), 0.5, delta=0.01)
        self.assertIn("3 texture tiles lost", kit.messages().warnings)

    def test_cancel_ends_the_renderer(self):
        """Ctrl-C in the terminal of another Blender, while it renders."""
        self.scene.sort.samples = 1 << 20
        place = kit.FOLDER / "long.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(place), copy=True)
        child = subprocess.Popen(
            [os.environ["SORT_TEST_BLENDER"], "-b", str(place), "-o", "//long_", "-f", "1"],
            env=dict(os.environ, TMPDIR=str(kit.FOLDER)), stdout=subprocess.PIPE, text=True)
        with child:
            while not kit.renderers_in(kit.FOLDER):
                self.assertIsNone(child.poll())
                time.sleep(0.05)
            time.sleep(1)
            self.assertTrue(kit.renderers_in(kit.FOLDER))
            start = time.monotonic()
            child.send_signal(signal.SIGINT)
            said = child.stdout.read()
        self.assertLess(time.monotonic() - start, 8)
        self.assertNotIn("Error", said)
        self.assertEqual(child.returncode, 1)
        self.assertEqual(kit.renderers_in(kit.FOLDER), [])

    def test_picture_is_shown_while_it_renders(self):
        from sort_blender import engine
        self.scene.sort.samples = 4000
        shown = []
        load = engine._load

        def count(picture, *rest):
            shown.append(picture)
            return load(picture, *rest)
        with mock.patch.object(engine, "is_watched", lambda: True), \
                mock.patch.object(engine, "UPDATE_INTERVAL_S", 0.05), mock.patch.object(engine, "_load", count):
            kit.render()
        self.assertGreater(len(shown), 1)

    def test_cancelled_render_hands_back_its_part(self):
        from sort_blender import process
        from sort_blender.export.scene import ExportPlan, export_scene
        from sort_blender.messages import Report
        self.scene.sort.samples = 1 << 20
        package, picture = kit.FOLDER / "long", kit.FOLDER / "part.exr"
        export_scene(bpy.context.evaluated_depsgraph_get(), ExportPlan(package), Report())
        job = process.RenderJob(
            program=kit.RENDERER, package=package, picture=picture, stats=kit.FOLDER / "stats.json",
            filter_width_px=3, texture_memory_mib=64, texture_folder="", threads=1)
        records = []
        watcher = process.Watcher(
            on_record=records.append,
            is_cancelled=lambda: any(record.get("done", 0) > 0 for record in records))
        self.assertFalse(process.run_render(job, watcher, Report()))
        self.assertAlmostEqual(float(kit.read_picture(str(picture))[24, 24, 1]), 0.25, delta=0.01)

    def test_nothing_stays_behind(self):
        kit.render()  # what the next one links to, and its statistics, stay
        before = set(os.listdir(bpy.app.tempdir))
        kit.render()
        self.assertEqual(set(os.listdir(bpy.app.tempdir)), before)


kit.main()
