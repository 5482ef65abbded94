"""sort-render on scene files of other programs, as a user and a farm meet it: where it is called from, what is missing,
what a file may take, what stays behind.

    check_import.py SORT_RENDER DATA_FOLDER
"""
import base64
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

RENDER, DATA = (os.path.abspath(path) for path in sys.argv[1:3])
SANITIZED = os.environ.get("SORT_SANITIZED") == "1"
checks = 0


def png(rgb):
    """A picture of one colour, 2 x 2."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(rgb) * 2) * 2
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


BUFFER = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<6f", 0, 1, 1, 1, 0, 0) + struct.pack("<3H", 0, 1, 2) + b"\0\0"


def gltf(uri=None, buffer_uri="b.bin", **more):
    """A triangle, with a picture of that name."""
    scene = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2}]}],
        "buffers": [{"byteLength": len(BUFFER)}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 24},
                        {"buffer": 0, "byteOffset": 60, "byteLength": 6}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
                      {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"},
                      {"bufferView": 2, "componentType": 5123, "count": 3, "type": "SCALAR"}],
    }
    if buffer_uri:
        scene["buffers"][0]["uri"] = buffer_uri
    if uri is not None:
        scene["images"] = [{"uri": uri}] if isinstance(uri, str) else [uri]
        scene["textures"] = [{"source": 0}]
        scene["materials"] = [{"name": "paint", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
        scene["meshes"][0]["primitives"][0]["material"] = 0
    scene.update(more)
    return scene


def glb(scene, binary):
    text = json.dumps(scene).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    return (struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(binary)) + struct.pack("<I4s", len(text), b"JSON") + text
            + struct.pack("<I4s", len(binary), b"BIN\0") + binary)


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode() if isinstance(content, str)
                   else json.dumps(content).encode())
    return path


def run(*args, cwd=None, timeout=120, temp=None):
    environment = dict(os.environ, TMPDIR=temp or WORK + "/tmp")
    done = subprocess.run([RENDER, *args, "--cache", WORK + "/cache"], cwd=cwd or WORK, capture_output=True, text=True,
                          errors="surrogateescape", timeout=timeout, env=environment)
    return done.returncode, done.stdout, done.stderr


def expect(condition, *what):
    global checks
    checks += 1
    if not condition:
        print("FAILED:", *what)
        sys.exit(1)


def expect_texture(scene, cwd, *args):
    """Everything that the file names is there, and the picture shows it."""
    code, out, err = run("--check", scene, *args, cwd=cwd)
    expect(code == 0 and "textures     1" in out and "not there" not in err, scene, cwd, code, out, err)


def fresh(name):
    folder = os.path.join(WORK, name)
    os.makedirs(folder)
    put(folder + "/b.bin", BUFFER)
    return folder


# --- textures, from wherever ---------------------------------------------------------------------------------

def test_working_folders():
    folder = fresh("a model/sub")
    put(folder + "/tex/wöod.png", png((255, 0, 0)))
    scene = put(folder + "/model.gltf", gltf("tex/w%C3%B6od.png"))
    os.symlink(WORK + "/a model", WORK + "/link")
    for cwd, name in ((WORK, "a model/sub/model.gltf"), (WORK, "./a model/../a model/sub/model.gltf"), (WORK, scene),
                      (WORK, "link/sub/model.gltf"), (WORK + "/link", "sub/model.gltf"), (folder, "model.gltf"),
                      (folder + "/tex", "../model.gltf"), ("/", scene)):
        expect_texture(name, cwd)


def test_kinds_of_names():
    folder = fresh("names")
    put(folder + "/Tex/My Wood.png", png((0, 255, 0)))
    for uri in ("Tex/My Wood.png", "Tex/My%20Wood.png", "tex/my wood.PNG", "Tex\\My Wood.png", "C:\\art\\Tex\\My Wood.png",
                "Tex/../Tex/My%20Wood.png", "file:///C:/art/Tex/My%20Wood.png",
                "data:image/png;base64," + base64.b64encode(png((1, 2, 3))).decode()):
        expect_texture(put(folder + "/s.gltf", gltf(uri)), WORK)
    picture = png((9, 9, 9))
    scene = gltf({"bufferView": 3, "mimeType": "image/png"}, buffer_uri=None)
    scene["bufferViews"].append({"buffer": 0, "byteOffset": len(BUFFER), "byteLength": len(picture)})
    scene["buffers"][0]["byteLength"] = len(BUFFER) + len(picture)
    expect_texture(put(folder + "/s.glb", glb(scene, BUFFER + picture)), WORK)
    webp = gltf("Tex/My Wood.png", textures=[{"extensions": {"EXT_texture_webp": {"source": 0}}}],
                extensionsRequired=["EXT_texture_webp"], extensionsUsed=["EXT_texture_webp"])
    expect_texture(put(folder + "/s.gltf", webp), WORK)
    code, _, err = run("--check", put(folder + "/s.gltf", gltf("Tex/My Wood.png", textures=[{}])))
    expect(code == 1 and "'paint': texture '(the file names no image)' is not there" in err, err)
    obj = "mtllib Mat\\my.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl m\nf 1/1 2/1 3/1\n"
    put(folder + "/Mat/my.mtl", "newmtl m\nKd 1 1 1\nmap_Kd C:\\art\\Tex\\My Wood.png\n")
    expect_texture(put(folder + "/s.obj", obj), WORK)


def test_missing():
    folder = fresh("missing")
    scene = put(folder + "/s.gltf", gltf("gone.png"))
    picture = WORK + "/missing.png"
    code, _, err = run(scene, "-o", picture, "--spp", "4", "--size", "16x16")
    expect(code == 1 and "'paint': texture 'gone.png' is not there" in err and "--missing magenta" in err, err)
    expect(not os.path.exists(picture), "a picture all the same")
    code, _, err = run(scene, "-o", picture, "--spp", "4", "--size", "16x16", "--missing", "magenta")
    expect(code == 3 and "'gone.png' is not there" in err and "1 texture is not there" in err, code, err)
    code, _, err = run("--check", scene)
    expect(code == 1 and "gone.png" in err, err)
    put(WORK + "/elsewhere/gone.png", png((1, 1, 1)))
    expect_texture(scene, WORK, "--texture-path", WORK + "/elsewhere")
    code, _, err = run("--check", put(folder + "/s.obj", "mtllib none.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"))
    expect(code == 1 and "library of materials 'none.mtl' is not there" in err, code, err)
    # an imported package keeps the name, and so the choice
    package = WORK + "/missing_package"
    code, _, err = run("--import", scene, "--export-package", package)
    expect(code != 0 and not os.path.exists(package), code, err)
    code, _, err = run("--import", scene, "--export-package", package, "--missing", "magenta")
    expect(code == 0, err)
    code, _, err = run("--check", package)
    expect(code == 1 and "--missing magenta" in err, err)
    code, _, err = run("--check", package, "--missing", "magenta")
    expect(code == 0 and "shows magenta" in err, err)
    with zipfile.ZipFile(package + ".zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for top, _, files in os.walk(package):
            for file in files:
                path = os.path.join(top, file)
                archive.write(path, os.path.relpath(path, package))
    code, _, err = run("--check", package + ".zip")
    expect(code == 1 and "no file 'textures/" in err, err)
    code, _, err = run(package + ".zip", "--missing", "magenta", "-o", picture, "--spp", "1", "--size", "8x8")
    expect(code == 3, code, err)


# --- what is none of its business ----------------------------------------------------------------------------

def test_other_peoples_files():
    folder = fresh("leak/model")
    put(WORK + "/leak/secret.png", png((1, 1, 1)))
    os.symlink("../secret.png", folder + "/link.png")
    os.mkfifo(folder + "/pipe.png")
    for uri in ("/etc/passwd", "../secret.png", "%2e%2e/secret.png", "link.png", "/dev/zero", "pipe.png", "file:///etc/passwd",
                "..\\secret.png"):
        scene = put(folder + "/s.gltf", gltf(uri))
        package = WORK + "/leak/package"
        code, _, err = run("--import", scene, "--export-package", package, "--missing", "magenta")
        expect(code == 0 and "is not read" in err, uri, err)
        expect(not os.path.exists(package + "/textures") or not os.listdir(package + "/textures"), uri, "was copied")
        subprocess.run(["rm", "-r", package], check=True)
    for name, text in (("s.gltf", gltf(None, buffer_uri="/etc/passwd")), ("s.gltf", gltf(None, buffer_uri="../../leak/secret.png"))):
        code, _, err = run("--check", put(folder + "/" + name, text))
        expect(code == 1, err)
    put(WORK + "/leak/other.mtl", "newmtl m\nKd 1 0 0\n")
    code, _, err = run("--check", put(folder + "/s.obj", "mtllib ../other.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl m\nf 1 2 3\n"))
    expect(code == 1 and "is not read" in err, err)


# --- what a file may take ------------------------------------------------------------------------------------

def nodes(count, children):
    return gltf(None, nodes=[{"name": "n%d" % i, "mesh": 0, **({"children": c} if (c := children(i)) else {})} for i in range(count)])


def test_limits():
    folder = fresh("limits")
    header = "ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
    cases = [
        ("doubling.gltf", nodes(31, lambda i: [i + 1, i + 1] if i < 30 else None), "'n1' (nodes[1]) is a child of 'n0'"),
        ("shared.gltf", nodes(4, lambda i: {0: [1, 2], 1: [3], 2: [3]}.get(i)), "'n3' (nodes[3]) is a child of"),
        ("ring.gltf", nodes(3, lambda i: [(i + 1) % 3]), "trees"),
        ("below.gltf", nodes(4, lambda i: {1: [2], 2: [3], 3: [1]}.get(i)), "is below itself"),
        ("deep.gltf", nodes(3000, lambda i: [i + 1] if i < 2999 else None), "nested more than 1024 deep"),
        ("twice.gltf", gltf(None, scenes=[{"nodes": [0, 0]}]), "is in a scene twice"),
    ]
    cases += [("claims_%d.ply" % n, header % n, "the file has room for") for n in (50, 3 * 10**6, 10**8, 4 * 10**9)]
    binary = (header % 10**6).replace("ascii", "binary_little_endian")
    cases += [("claims.ply", binary, "the file has room for")]
    if not SANITIZED:
        cases += [("zeros.gltf", dict(gltf(), accessors=[{"componentType": 5126, "count": 10**9, "type": "VEC3"}] * 3), None),
                  ("nodes.dae", collada_doubling(), None)]
    for name, content, words in cases:
        start = time.monotonic()
        code, _, err = run("--check", put(folder + "/" + name, content))
        expect(code == 1 and name in err and (words is None or words in err), name, code, err)
        expect(time.monotonic() - start < 60, name, "took too long")
    expect(run("--check", put(folder + "/deep.gltf", nodes(1000, lambda i: [i + 1] if i < 999 else None)))[0] == 0, "1000 deep")


def collada_doubling():
    library = "".join('<node id="n%d"><instance_node url="#n%d"/><instance_node url="#n%d"/></node>' % (i, i + 1, i + 1) for i in range(30))
    return ('<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><up_axis>Y_UP</up_axis></asset>'
            '<library_nodes>%s<node id="n30"/></library_nodes><library_visual_scenes><visual_scene id="v"><node id="r"><instance_node url="#n0"/></node>'
            '</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#v"/></scene></COLLADA>') % library


# --- what stays ----------------------------------------------------------------------------------------------

def children_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(p) for p in file.read().split()]


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def start_slow_import(temp):
    """An import that takes some seconds, and the child that does it."""
    path = WORK + "/slow.obj"
    if not os.path.exists(path):
        put(path, "".join("v %d %d %d\nf -1 -1 -1\n" % (i, i * 7 % 1009, i * 3 % 997) for i in range(3, 500000)))
    os.makedirs(temp, exist_ok=True)
    process = subprocess.Popen([RENDER, path, "-o", WORK + "/slow.exr", "--cache", WORK + "/cache"], stderr=subprocess.PIPE,
                               env=dict(os.environ, TMPDIR=temp))
    found = []

    def has_child():
        found[:] = [p for p in children_of(process.pid) if os.path.exists("/proc/%d/exe" % p)
                    and b"--import" in open("/proc/%d/cmdline" % p, "rb").read()]
        return bool(found)
    expect(wait_until(has_child), "the import has no process")
    return process, found[0]


def test_signals():
    for number in (signal.SIGTERM, signal.SIGINT):
        temp = WORK + "/tmp%d" % number
        process, child = start_slow_import(temp)
        start = time.monotonic()
        process.send_signal(number)
        code = process.wait(30)
        expect(code == 4 and b"interrupted" in process.stderr.read(), "exit code", code)
        expect(time.monotonic() - start < 2, "took", time.monotonic() - start)
        expect(wait_until(lambda: not alive(child)), "the importer lives on")
        expect(wait_until(lambda: os.listdir(temp) == [], 2), "stays:", os.listdir(temp))


def test_importer_that_crashes():
    """Nodes of Collada that contain each other: Assimp's stack overflows, in its own process."""
    if SANITIZED:
        return
    ring = collada_doubling().replace('url="#n30"', 'url="#n0"')
    for args in ((), ("--export-package", WORK + "/crashed")):
        code, _, err = run("--import" if args else "--check", put(WORK + "/crash/ring.dae", ring), *args)
        expect(code == 1 and "ring.dae: cannot be imported: the importing process failed: killed by signal 11" in err, code, err)
    expect(not [name for name in os.listdir(WORK) if name.startswith("crashed")], os.listdir(WORK))


def test_time_limit():
    """That of the wall clock, whose signal comes after 100 s."""
    process, child = start_slow_import(WORK + "/tmp_time")
    os.kill(child, signal.SIGALRM)
    said = process.stderr.read()
    expect(process.wait(30) == 1 and b"slow.obj: cannot be imported: it takes more time" in said, said)
    expect(os.listdir(WORK + "/tmp_time") == [], os.listdir(WORK + "/tmp_time"))


def test_signals_while_compiling():
    """A shader that takes a while; what had been asked for is not there yet, so nothing is lost."""
    lines = "".join("    x = sin(x * %d.5 + y); y = y * x + %d.25;\n" % (i, i) for i in range(1500))
    put(WORK + "/compile/s.ssl", "shader s(out closure surface)\n{\n    float x = 0.5;\n    float y = 0.25;\n" + lines
        + "    surface = make_closure<Lambert>(color(x, y, x), global_value<normal>);\n}\n")
    put(WORK + "/compile/b.bin", BUFFER)
    put(WORK + "/compile/i.bin", struct.pack("<3I", 0, 1, 2))
    place = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1]
    put(WORK + "/compile/scene.json", {
        "sort_package": 1, "cameras": [{"name": "c", "fov_y_degrees": 40, "transform": place}],
        "materials": [{"name": "m", "shader": "s.ssl"}],
        "meshes": [{"name": "t", "vertex_count": 3, "triangle_count": 1,
                    "positions": {"file": "b.bin", "type": "float32", "components": 3, "count": 3},
                    "indices": {"file": "i.bin", "type": "uint32", "components": 3, "count": 1}}],
        "instances": [{"name": "i", "mesh": "t", "materials": ["m"]}], "lights": []})
    process = subprocess.Popen([RENDER, WORK + "/compile", "-o", WORK + "/compile.exr", "--progress", "json", "--cache", WORK + "/cache_compile"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for line in process.stdout:
        if b"compil" in line:
            break
    else:
        expect(False, "it does not compile", process.stderr.read())
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = process.wait(60)
    expect(code == 4 and time.monotonic() - start < 1 and not os.path.exists(WORK + "/compile.exr"), code,
           time.monotonic() - start, process.stderr.read())


def test_kill():
    temp = WORK + "/tmp_kill"
    process, child = start_slow_import(temp)
    process.kill()
    process.wait()
    expect(wait_until(lambda: not alive(child)), "the importer outlives the renderer")
    expect(len(os.listdir(temp)) == 1, "the test is void", os.listdir(temp))
    run("--check", put(fresh("after") + "/s.gltf", gltf()), temp=temp)
    expect(os.listdir(temp) == [], "the next start leaves", os.listdir(temp))
    # an import alone, and what a user has called so
    package = WORK + "/killed_package"
    argv = [RENDER, "--import", WORK + "/slow.obj", "--export-package", package]
    alone = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    expect(wait_until(lambda: os.path.exists(package + ".partial/.unfinished-sort-package")), "no partial folder")
    code, _, err = run("--import", DATA + "/tri.stl", "--export-package", package)
    expect(code != 0 and "cannot be created" in err, "two writers at once", err)
    writers = children_of(alone.pid)
    alone.kill()
    alone.wait()
    expect(writers and wait_until(lambda: not any(alive(p) for p in writers)), "the importer outlives the program")
    code, _, err = run("--import", DATA + "/tri.stl", "--export-package", package)
    expect(code == 0 and sorted(os.listdir(package)) == ["meshes", "scene.json"], err, os.listdir(package))
    put(WORK + "/mine.partial/work.txt", "mine")
    code, _, err = run("--import", DATA + "/tri.stl", "--export-package", WORK + "/mine")
    expect(code != 0 and os.path.exists(WORK + "/mine.partial/work.txt"), "a folder of the user's is gone")


def test_texts():
    folder = fresh("texts")
    evil = "\x1b]0;owned\x07\x9b31m\u202egnp"
    scene = gltf(evil + ".png")
    scene["materials"][0]["name"] = evil + "\nerror: forged"
    scene["extensionsUsed"] = [evil]
    camera = {"name": "c" + evil[1:3], "fov_y_degrees": 40, "transform": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}
    for content, name in ((scene, "s.gltf"), ({**scene, "extensionsRequired": [evil]}, "r.gltf"), ({evil: 1}, "scene.json"),
                          ({"sort_package": 1, "cameras": [{**camera, "name": "\x9b31m"}]}, "scene.json"),
                          ({"sort_package": 1, "cameras": [{**camera, evil: 1}]}, "scene.json")):
        for more in ([], ["--missing", "magenta"]):
            code, out, err = run("--check", put(folder + "/" + name, content), *more)
            bad = [c for c in out + err if c != "\n" and (ord(c) < 32 or 0x7f <= ord(c) < 0xa0 or c == "\u202e")]
            expect(not bad and "\nerror: forged" not in err and (out + err).strip(), name, repr(out + err))
    expect("\\x1b]0;owned" in err, err)
    # statistics are a file too, and what a library says of a picture
    put(folder + "/x.png", png((1, 2, 3)))
    code, _, err = run(put(folder + "/s.gltf", gltf("x.png")), "-o", WORK + "/o.exr", "--spp", "1", "--size", "8x8", "--stats", WORK + "/stats.json")
    expect(code == 0, err)
    with open(WORK + "/stats.json") as file:
        said = json.load(file)
    with open(WORK + "/stats.json", "w") as file:
        file.write(json.dumps(said).replace("x.png", "x.png\\u001b[31m\\n"))
    done = subprocess.run([os.path.dirname(RENDER) + "/texcache", "stats", WORK + "/stats.json"], capture_output=True, text=True)
    expect(done.returncode == 0 and "\x1b" not in done.stdout and "x.png\\x1b[31m\\n" in done.stdout, done.stdout, done.stderr)


def lights_of(scene, *args):
    package = WORK + "/lights_package"
    subprocess.run(["rm", "-rf", package], check=True)
    code, _, err = run("--import", scene, "--export-package", package, *args)
    expect(code == 0, err)
    with open(package + "/scene.json") as file:
        return json.load(file)["lights"], err


def test_light_units():
    folder = fresh("lights")

    def lit(lux, generator):
        light = {"KHR_lights_punctual": {"lights": [{"type": "directional", "intensity": lux}]}}
        return put(folder + "/s.gltf", gltf(None, asset={"version": "2.0", "generator": generator}, extensions=light,
                                            extensionsUsed=["KHR_lights_punctual"],
                                            nodes=[{"mesh": 0, "extensions": {"KHR_lights_punctual": {"light": 0}}}]))
    blender = "Khronos glTF Blender I/O v3.4.50"
    for lux, generator, args, wanted, warns in (
            (3, "three.js", [], 3, False), (3, blender, [], 3, False), (2049, blender, [], 3, False),
            (100000, "three.js", [], 100000, True), (2049, blender, ["--light-units", "nits"], 2049, True),
            (683, "", ["--light-units", "watts"], 1, False), (3, "", ["--light-units", "watts"], 3 / 683, True)):
        lights, err = lights_of(lit(lux, generator), *args)
        expect(abs(lights[0]["irradiance"][0] - wanted) < 1e-5 * wanted, lux, generator, args, lights)
        expect(("needs --exposure" in err) == warns, lux, generator, args, err)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="check-import-") as WORK:
        WORK = os.path.realpath(WORK)
        os.mkdir(WORK + "/tmp")
        for name, test in sorted(globals().items()):
            if name.startswith("test_"):
                begin = time.monotonic()
                test()
                print("%-28s %.1f s" % (name, time.monotonic() - begin))
        expect(os.listdir(WORK + "/tmp") == [], "temporary folders stay:", os.listdir(WORK + "/tmp"))
    print(checks, "checks passed")
