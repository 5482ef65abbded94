"""make_model.py FOLDER: an OBJ with a texture: a square whose picture is a PPM, which only the decoder plugin reads."""

import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
(folder / "model.obj").write_text(
    "mtllib model.mtl\nv -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nvn 0 0 1\n"
    "usemtl paint\nf 1/1/1 2/2/1 3/3/1 4/4/1\n")
(folder / "model.mtl").write_text("newmtl paint\nKd 1 1 1\nmap_Kd checks.ppm\n")
pixels = bytes(value for y in range(16) for x in range(16) for value in ((220, 60, 20) if (x ^ y) & 4 else (20, 60, 220)))
(folder / "checks.ppm").write_bytes(b"P6\n16 16\n255\n" + pixels)
