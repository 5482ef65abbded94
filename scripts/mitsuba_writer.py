"""Writes scenes for Mitsuba 3, with the Python's standard library only: binary PLY files and a scene.xml, which
scripts/mitsuba_render.py renders, as does `mitsuba -m llvm_ad_rgb -o OUT.exr scene.xml`."""

from __future__ import annotations

import array
import pathlib
import shutil
import sys

ROULETTE_DEPTH = 3  # SORT's default; Mitsuba's is 5


def numbers(values) -> str:
    return ", ".join(f"{x:.9g}" for x in values)


def rgb(name, values) -> str:
    return f'<rgb name="{name}" value="{numbers(values)}"/>'


def number(name, value) -> str:
    return f'<float name="{name}" value="{value:.9g}"/>'


def string(name, value) -> str:
    return f'<string name="{name}" value="{value}"/>'


def diffuse(*reflectance) -> list[str]:
    return ['<bsdf type="diffuse">', *reflectance, "</bsdf>"]


def emitter(radiance) -> list[str]:
    return ['<emitter type="area">', rgb("radiance", radiance), "</emitter>"]


def write_ply(path: pathlib.Path, arrays: dict) -> None:
    """Flat arrays as those of PackageWriter.add_mesh, as vertices of floats; v runs down, as in Mitsuba's images."""
    columns = [("xyz", 3, arrays["positions"])]
    if "normals" in arrays:
        columns.append((("nx", "ny", "nz"), 3, arrays["normals"]))
    columns.append(("uv", 2, [x if i % 2 == 0 else 1 - x for i, x in enumerate(arrays["uv"][0])]))
    width, count = sum(size for _, size, _ in columns), len(arrays["positions"]) // 3
    vertices, at = array.array("f", bytes(4 * width * count)), 0
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {count}"]
    for names, size, values in columns:
        for k in range(size):
            vertices[at::width] = array.array("f", values[k::size])
            header.append(f"property float {names[k]}")
            at += 1
    corners = array.array("I", arrays["indices"])
    header += [f"element face {len(corners) // 3}", "property list uchar uint vertex_indices", "end_header", ""]
    if sys.byteorder == "big":
        vertices.byteswap()
        corners.byteswap()
    faces = corners.tobytes()
    path.write_bytes("\n".join(header).encode() + vertices.tobytes()
                     + b"".join(b"\3" + faces[i:i + 12] for i in range(0, len(faces), 12)))


class MitsubaWriter:
    """A folder that becomes a scene of the integrator `path`. Transforms are elements, as by matrix() and lookat()."""

    def __init__(self, folder: pathlib.Path, resolution: tuple[int, int], max_depth: int, camera: str, fov_y_degrees: float,
                 hides_emitters: bool = False) -> None:
        """Makes the folder. max_depth: surface interactions of a path; Mitsuba counts the edges of a path, one more. hides_emitters: the
        camera sees no light directly, nor the sky."""
        folder.mkdir(parents=True)
        self.folder, self._meshes = folder, 0
        self._lines = ['<scene version="3.0.0">',
                       *(f'<default name="{name}" value="{side}"/>' for name, side in zip(("width", "height"), resolution)),
                       '<default name="watertight" value="false"/>', f'<default name="roulette_depth" value="{ROULETTE_DEPTH}"/>',
                       '<boolean name="embree_use_robust_intersections" value="$watertight"/>',
                       '<integrator type="path">', f'<integer name="max_depth" value="{max_depth + 1}"/>',
                       '<integer name="rr_depth" value="$roulette_depth"/>',
                       f'<boolean name="hide_emitters" value="{"true" if hides_emitters else "false"}"/>', "</integrator>",
                       '<sensor type="perspective">', string("fov_axis", "y"), f'<float name="fov" value="{fov_y_degrees:g}"/>',
                       self.to_world(camera),
                       '<sampler type="multijitter"><integer name="sample_count" value="64"/></sampler>',
                       '<film type="hdrfilm"><integer name="width" value="$width"/><integer name="height" value="$height"/>',
                       string("pixel_format", "rgb"), string("component_format", "float32"), '<rfilter type="box"/></film>', "</sensor>"]

    @staticmethod
    def to_world(*steps: str) -> str:
        return f'<transform name="to_world">{"".join(steps)}</transform>'

    @staticmethod
    def lookat(origin, target, up) -> str:
        return f'<lookat origin="{numbers(origin)}" target="{numbers(target)}" up="{numbers(up)}"/>'

    @staticmethod
    def matrix(rows) -> str:
        """rows: 4 x 4, for column vectors."""
        return f'<matrix value="{" ".join(f"{x:.9g}" for row in rows for x in row)}"/>'

    def bitmap(self, name: str, file: pathlib.Path) -> str:
        """A texture of an sRGB image file, a copy of which becomes part of the scene."""
        shutil.copyfile(file, self.folder / file.name)
        return f'<texture name="{name}" type="bitmap">{string("filename", file.name)}</texture>'

    def add_mesh(self, arrays: dict, surface: list[str]) -> None:
        """arrays: as for PackageWriter.add_mesh; surface: elements of the shape, a BSDF and perhaps an emitter."""
        name = f"{self._meshes}.ply"
        self._meshes += 1
        write_ply(self.folder / name, arrays)
        flat = [] if "normals" in arrays else ['<boolean name="face_normals" value="true"/>']
        self._lines += ['<shape type="ply">', string("filename", name), *flat, *surface, "</shape>"]

    def add_shape(self, kind: str, to_world: str, surface: list[str]) -> None:
        """A rectangle from -1 to 1 in x and y that faces z, or a sphere of radius 1, and how it is placed."""
        self._lines += [f'<shape type="{kind}">', to_world, *surface, "</shape>"]

    def set_sky(self, file: pathlib.Path, strength: float = 1.0, to_world: str = "") -> None:
        """file: a latitude-longitude map."""
        shutil.copyfile(file, self.folder / file.name)
        self._lines += ['<emitter type="envmap">', string("filename", file.name), number("scale", strength), to_world, "</emitter>"]

    def set_even_sky(self, radiance) -> None:
        self._lines += ['<emitter type="constant">', rgb("radiance", radiance), "</emitter>"]

    def finish(self) -> None:
        (self.folder / "scene.xml").write_text("\n".join([*self._lines, "</scene>", ""]))
