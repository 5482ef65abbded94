"""Every scene of the gallery is sound: made, read, its shaders compiled. check_gallery.py SORT_RENDER"""

import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def main():
    with tempfile.TemporaryDirectory(prefix="sort-gallery-") as folder:
        made = subprocess.run([sys.executable, "-B", str(ROOT / "scenes" / "gallery" / "make.py"), folder],
                              capture_output=True, text=True, check=True).stdout.split()
        failures = 0
        for scene in made:
            check = subprocess.run([sys.argv[1], "--check", scene, "--cache", f"{folder}/cache"],
                                   capture_output=True, text=True)
            name = pathlib.Path(scene).name
            if check.returncode != 0 or "error" in check.stderr:
                failures += 1
                print(f"{name}: exit code {check.returncode}\n{check.stderr}")
        again = subprocess.run([sys.executable, "-B", str(ROOT / "scenes" / "gallery" / "make.py"), folder, "nothing"],
                               capture_output=True, text=True)
        if again.returncode == 0 or "there is no scene 'nothing'" not in again.stderr:
            failures += 1
            print(f"a scene that does not exist: exit code {again.returncode}\n{again.stderr}")
    if len(made) < 7 or failures:
        sys.exit(f"{failures} problem(s) in {len(made)} scenes")


main()
