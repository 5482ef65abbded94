#!/usr/bin/env python3
"""Who may include whom.

Every source belongs to a layer; it may include its own layer and those of lower rank. On top of
that: libraries have faces (outside ssl/ only its public headers are seen), outside libraries have
single owners, fibers are known to few, quoted includes are paths from the repository's root, and
headers do not include each other in circles. Tests are free of ranks and faces.
"""

import posixpath
import re
import sys

import source_tree

# Longest prefix first where one contains another.
LAYERS = [
    ("base/image/", 0.5),
    ("base/", 0),
    ("plugins/sort_plugin.h", 0),
    ("plugins/plugin_check.h", 0),
    ("plugins/denoise_protocol.h", 0),
    ("ssl/rt/", -1),  # the mathematics of kernels, and of all else
    ("ssl/", 1),
    ("textures/", 1),
    ("fit/", 1),
    ("plugins/plugin_host", 2),
    ("sort/wide/", 2.5),
    ("sort/sampling/", 3),
    ("sort/denoise/", 3),
    ("sort/bsdf/", 4),
    ("sort/film/", 4),
    ("sort/guide/", 4),
    ("sort/scene/", 5),
    ("sort/light/", 5.2),
    ("sort/package/", 5.4),
    ("sort/import/", 5.6),
    ("sort/accel/", 6),
    ("sort/shade/", 7),
    ("sort/integrator/", 8),
    ("sort/render/", 9),
    ("tools/", 10),
]

# Inside a layer: the folders that each of its folders sees besides itself and the files of the layer's root.
ROOMS = {
    "ssl/": {
        "front": (),
        "sema": ("front",),
        "ir": (),
        "passes": ("ir",),
        "stdlib": ("front", "sema"),
        "lower": ("front", "sema", "stdlib", "ir"),
        "codegen": ("ir",),
        "jit": ("codegen",),
        "group": ("ir",),
        "api": (),
    },
    "textures/": {
        "format": (),
        "trace": ("format",),
        "convert": ("format",),
        "cache": ("format", "trace", "convert"),
        "filter": ("format", "trace", "cache"),
        "replay": ("format", "trace", "cache"),
        "picture": ("format", "trace", "convert", "cache", "filter"),
        "api": (),
    },
    "tools/": {
        "kit": (),
        "ssl_kit": (),
        "sort_render": ("kit",),
        "sslc": ("kit", "ssl_kit"),
        "ssl_test": ("kit", "ssl_kit"),
        "texcache": ("kit",),
    },
}

# The headers of a library that other folders may include: full matches.
FACES = {
    "ssl/rt/": re.compile(r"ssl/rt/(rt|rt_lanes)\.h|ssl/rt/rt_(math|fused)\.inc"),
    "ssl/": re.compile(r"ssl/(ssl\.h|ssl_group\.h|ssl_kernel\.h|ssl_limits\.h|ssl_sum\.h|ssl_texel_sum\.h|[a-z_]+\.inc)"),
    "fit/": re.compile(r"fit/(fit|picture_loss)\.h"),
    "textures/": re.compile(r"textures/(texcache|converter|tex_trace|tex_replay|tex_live|tex_picture)\.h"),
}

# Headers from outside, and the places that may include them.
OWNERS = [
    (r"embree\d/", ("sort/accel/",)),
    (r"llvm(-c)?/", ("ssl/codegen/", "ssl/jit/")),
    (r"OpenImageIO/", ("plugins/oiio/",)),
    (r"assimp/", ("plugins/assimp/",)),
    (r"(tinyexr|png)\.h", ("base/image/",)),
    (r"pthread\.h", ("base/thread.h",)),
    (r"jansson\.h", ("base/json.c", "plugins/assimp/")),
    (r"zip\.h", ("sort/package/",)),
    (r"zlib\.h", ("textures/", "sort/package/")),
    (r"dlfcn\.h", ("plugins/plugin_host.c", "plugins/oidn/")),
    (r"(threads|ucontext)\.h", ()),
    (r"assert\.h", ()),
]

FIBER_HEADERS = ("base/fiber.h", "base/sched.h")
FIBER_USERS = ("base/", "sort/render/")
PLUGIN_ABI = "plugins/sort_plugin.h"
PLUGIN_CHECK = "plugins/plugin_check.h"  # ASSERT without base/
DENOISE_PROTOCOL = "plugins/denoise_protocol.h"
# Headers for other programs: they stand alone.
PUBLIC = (PLUGIN_ABI, "ssl/api/sort_ssl.h", "textures/api/sort_texcache.h")
PUBLIC_SEES = ("stddef.h", "stdint.h", "stdbool.h")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def layer_of(path):
    """(prefix, rank), or None for tests and for what stands outside the ranks."""
    for prefix, rank in LAYERS:
        if path.startswith(prefix):
            return prefix, rank
    return None


def plugin_folder(path):
    """plugins/<name>/, else None."""
    parts = path.split("/")
    return "/".join(parts[:2]) + "/" if parts[0] == "plugins" and len(parts) > 2 else None


def room_of(path):
    """The folder below a layer's root, else None."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else None


def refuse_own(path, target):
    """Why `path` may not include the repository's file `target`; None if it may."""
    if path.startswith("tests/"):
        return None
    if target.startswith("tests/"):
        return "tests are seen by tests only"
    if target in FIBER_HEADERS and not path.startswith(FIBER_USERS):
        return "only base/ and sort/render/ know of fibers; wait through base/waiter.h"
    plugin = plugin_folder(path)
    if plugin:
        own = target.startswith(plugin) or target in (PLUGIN_ABI, PLUGIN_CHECK, DENOISE_PROTOCOL)
        return None if own else f"a plugin sees its own folder, {PLUGIN_ABI}, {PLUGIN_CHECK} and {DENOISE_PROTOCOL}"
    if plugin_folder(target):
        return "plugins are loaded, not included"
    if path in PUBLIC:
        return "a header for other programs stands alone"
    mine, other = layer_of(path), layer_of(target)
    if not mine or not other:
        return f"{path if not mine else target} stands in no known folder"
    if mine != other:
        if other[1] >= mine[1]:
            return f"{mine[0]} (rank {mine[1]}) may not see {other[0]} (rank {other[1]})"
        face = FACES.get(other[0])
        if face and not face.fullmatch(target):
            return f"not a public header of {other[0]}"
    rooms = ROOMS.get(mine[0], {})
    room, seen = room_of(path), room_of(target)
    if mine == other and room in rooms and seen and seen != room and seen not in rooms[room]:
        return f"{mine[0]}{room} may not see {mine[0]}{seen}"
    return None


def refuse_foreign(path, header):
    if path.startswith("tests/"):
        return None
    if path in PUBLIC and header not in PUBLIC_SEES:
        return "a header for other programs stands alone"
    for pattern, owners in OWNERS:
        if re.match(pattern, header) and not path.startswith(owners):
            return f"its owner is {' or '.join(owners) or 'nobody'}"
    return None


def resolve(path, name, files):
    """The repository's file that "name" means; None when there is none of that name."""
    if name in files:
        return name
    if name.endswith("_rows.h") and name.removesuffix("_rows.h") + ".ssl" in files:  # made by cmake/wide.cmake
        return name.removesuffix("_rows.h") + ".ssl"
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    return beside if path.startswith("tests/") and beside in files else None


def find_circles(graph):
    messages, done = [], set()

    def visit(path, trail):
        if path in trail:
            circle = trail[trail.index(path):] + [path]
            messages.append(f"{path}: includes itself: {' -> '.join(circle)}")
            return
        if path not in done:
            for target in graph.get(path, ()):
                visit(target, trail + [path])
            done.add(path)

    for path in sorted(graph):
        visit(path, [])
    return messages


def check(files):
    messages, graph = [], {}
    for path, text in files.items():
        for match in INCLUDE.finditer(text):
            own, foreign = match.groups()
            target = resolve(path, own, files) if own else None
            if own and not target:
                reason = "no such file from the root of the repository"
            elif own:
                graph.setdefault(path, []).append(target)
                reason = refuse_own(path, target)
            elif foreign in files:
                reason = "a file of this repository is included with quotes"
            else:
                reason = refuse_foreign(path, foreign)
            if reason:
                line = source_tree.line_of(text, match.start())
                messages.append(f"{path}:{line}: includes {own or foreign}: {reason}")
    headers = {path: targets for path, targets in graph.items() if not path.endswith((".c", ".cpp"))}
    return messages + find_circles(headers)


CLEAN = {
    "base/str.h": "#include <stddef.h>\n",
    "base/fiber.h": '#include "base/str.h"\n',
    "base/image/exr_write.h": '#include "base/str.h"\n',
    "base/image/exr_write.c": "#include <tinyexr.h>\n",
    "base/json.c": "#  include <jansson.h>\n",
    "ssl/ssl.h": '#include "base/str.h"\n',
    "ssl/ssl_diag.inc": "",
    "ssl/value.h": "",
    "ssl/rt/rt.h": "",
    "ssl/front/ast.h": '#include "ssl/ssl.h"\n#include "ssl/value.h"\n',
    "ssl/ir/ir.h": '#include "ssl/rt/rt.h"\n',
    "ssl/lower/lower.c": '#include "ssl/front/ast.h"\n#include "ssl/ir/ir.h"\n',
    "ssl/jit/jit.c": "#include <llvm-c/Core.h>\n",
    "textures/texcache.h": f'#include "{PLUGIN_ABI}"\n',
    "textures/cache/slab.h": "",
    "textures/filter/footprint.h": "",
    PLUGIN_ABI: "#include <stddef.h>\n",
    "ssl/api/sort_ssl.h": "#include <stdint.h>\n",
    "plugins/plugin_host.h": f'#include "{PLUGIN_ABI}"\n',
    "plugins/oiio/oiio_shim.h": f'#include "{PLUGIN_ABI}"\n',
    "sort/bsdf/bsdf.h": '#include "ssl/ssl_diag.inc"\n',
    "sort/film/film.h": "",
    "sort/scene/scene.h": '#include "sort/bsdf/bsdf.h"\n#include "textures/texcache.h"\n',
    "sort/render/render.c": '#include "base/fiber.h"\n#include "sort/scene/scene.h"\n',
    "tests/sort/kit.h": "",
    "tests/sort/test_scene.c": '#include "kit.h"\n#include "textures/cache/slab.h"\n#include <pthread.h>\n',
}

BROKEN = [
    ({"base/a.c": '#include "ssl/ssl.h"\n'}, "base/a.c:1: includes ssl/ssl.h: base/ (rank 0) may"),
    ({"base/a.c": '\n#include "base/image/exr_write.h"\n'}, "base/a.c:2:"),
    ({"sort/film/a.c": '#include "sort/bsdf/bsdf.h"\n'}, "may not see sort/bsdf/"),
    ({"sort/bsdf/a.c": '#include "sort/scene/scene.h"\n'}, "(rank 4) may not see sort/scene/"),
    ({"textures/a.c": '#include "ssl/ssl.h"\n'}, "textures/ (rank 1) may not see ssl/"),
    ({"sort/shade/a.c": '#include "ssl/ir/ir.h"\n'}, "not a public header of ssl/"),
    ({"sort/shade/a.c": '#include "textures/cache/slab.h"\n'}, "not a public header of textures/"),
    ({"tools/a.c": '#include "ssl/front/ast.h"\n'}, "not a public header of ssl/"),
    ({"ssl/ir/a.c": '#include "ssl/front/ast.h"\n'}, "ssl/ir may not see ssl/front"),
    ({"ssl/codegen/a.c": '#include "ssl/front/ast.h"\n'}, "ssl/codegen may not see ssl/front"),
    ({"ssl/jit/a.c": '#include "ssl/ir/ir.h"\n'}, "ssl/jit may not see ssl/ir"),
    ({"textures/cache/a.c": '#include "textures/filter/footprint.h"\n'},
     "textures/cache may not see textures/filter"),
    ({"sort/shade/a.c": '#include "base/fiber.h"\n'}, "know of fibers"),
    ({"plugins/oiio/a.c": '#include "base/str.h"\n'}, "a plugin sees its own folder"),
    ({"sort/scene/a.c": '#include "plugins/oiio/oiio_shim.h"\n'}, "loaded, not included"),
    ({"sort/scene/a.c": '#include "tests/sort/kit.h"\n'}, "seen by tests only"),
    ({"sort/scene/a.c": '#include "scene.h"\n'}, "no such file"),
    ({"sort/scene/a.c": "#include <sort/scene/scene.h>\n"}, "included with quotes"),
    ({"sort/a.c": '#include "sort/scene/scene.h"\n'}, "stands in no known folder"),
    ({"sort/scene/a.c": "#include <embree3/rtcore.h>\n"}, "its owner is sort/accel/"),
    ({"ssl/sema/a.c": "#include <llvm-c/Core.h>\n"}, "its owner is ssl/codegen/ or ssl/jit/"),
    ({"sort/film/a.c": "#include <tinyexr.h>\n"}, "its owner is base/image/"),
    ({"base/a.c": "#include <png.h>\n"}, "its owner is base/image/"),
    ({"base/thread.c": "#include <pthread.h>\n"}, "its owner is base/thread.h"),
    ({"sort/scene/a.c": "#include <jansson.h>\n"}, "its owner is base/json.c"),
    ({"textures/a.c": "#include <zip.h>\n"}, "its owner is sort/package/"),
    ({"textures/a.c": "#include <OpenImageIO/imageio.h>\n"}, "its owner is plugins/oiio/"),
    ({"sort/scene/a.c": "#include <assimp/scene.h>\n"}, "its owner is plugins/assimp/"),
    ({"base/a.c": "#include <assert.h>\n"}, "its owner is nobody"),
    ({PLUGIN_ABI: "#include <stdio.h>\n"}, "stands alone"),
    ({"ssl/api/sort_ssl.h": '#include "base/str.h"\n'}, "stands alone"),
    ({"ssl/ir/a.c": '#include "ssl/api/sort_ssl.h"\n'}, "ssl/ir may not see ssl/api"),
    ({"sort/shade/a.c": '#include "ssl/api/sort_ssl.h"\n'}, "not a public header of ssl/"),
    ({"base/x.h": '#include "base/y.h"\n', "base/y.h": '#include "base/x.h"\n'},
     "base/x.h -> base/y.h -> base/x.h"),
]

if __name__ == "__main__":
    sys.exit(source_tree.main(check, lambda: source_tree.read_tree((".c", ".h", ".cpp", ".inc", ".inl", ".ssl")),
                              CLEAN, BROKEN))
