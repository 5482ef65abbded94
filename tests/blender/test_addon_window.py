"""With a window: a viewport in Rendered mode that follows the scene and the view, F12 that shows its picture while it
renders and is cancelled, a preview of a material. Steps run from a timer, since Blender must draw between them."""

import os
import pathlib
import subprocess
import time

import bpy
import numpy as np

import blender_scene as kit
import stepping

WAIT_S = 60  # for anything
PRESS_S = 4  # after so long without an effect a key is pressed again


def area(kind="VIEW_3D"):
    return next(a for a in bpy.context.window_manager.windows[0].screen.areas if a.type == kind)


def viewports():
    import gc
    from sort_blender.viewport import Viewport
    return [item for item in gc.get_objects() if isinstance(item, Viewport) and item.is_open()]


def picture():
    """Returns the viewport's finished picture; None while there is none."""
    found = viewports()
    if not found or not found[0].status().startswith("Done"):
        return None
    return found[0].picture()


def picture_of(is_right):
    """The viewport's finished picture, if its height and width are right."""
    found = picture()
    return found if found is not None and is_right(found.shape[:2]) else None


def cube_centre(pixels):
    """In parts of the region, of what is bright."""
    y, x = np.nonzero(pixels[..., 0] > 0.12)
    return x.mean() / pixels.shape[1], y.mean() / pixels.shape[0]


def moved_from(before):
    """A finished picture in which the cube is elsewhere."""
    def found():
        now = picture()
        return now if now is not None and np.hypot(*np.subtract(cube_centre(now), cube_centre(before))) > 0.05 else None
    return found


def until(condition):
    """Waits, drawing; the value that is not None or False."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        value = condition()
        if value is not None and value is not False:
            return value
        yield
    found = [(view.status(), view.picture() is not None and cube_centre(view.picture())) for view in viewports()]
    raise AssertionError(f"waited {WAIT_S} s for {condition.__name__}; viewports: {found}")


def pressed(key, condition):
    """`condition`, brought about by a real event of the display in the window below the pointer. What is pressed while
    windows open and close is lost, so more than once if need be."""
    last = time.monotonic() - PRESS_S

    def found():
        nonlocal last
        value = condition()
        if not value and time.monotonic() - last >= PRESS_S:
            subprocess.run(["xdotool", "mousemove", "400", "300", "key", key], check=True)
            last = time.monotonic()
        return value
    return found


def temporary_files():
    return set(os.listdir(bpy.app.tempdir))


def steps():
    from sort_blender import messages
    scene = bpy.context.scene
    print("a scene that is switched to SORT gets the settings that it has for Cycles")
    scene.cycles.max_bounces = 20
    assert not scene.sort.is_property_set("max_depth")
    scene.render.engine = "SORT"
    yield from until(lambda: scene.sort.is_property_set("max_depth"))
    assert scene.sort.max_depth == 21, scene.sort.max_depth
    scene.sort.preview_samples = 2
    bpy.data.materials["Material"].node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = (1, 0, 0, 1)
    region = area().spaces[0].region_3d

    print("a viewport shows the scene")
    area().spaces[0].shading.type = "RENDERED"
    first = yield from until(picture)
    x, y = cube_centre(first)
    assert 0.35 < x < 0.65 and 0.35 < y < 0.65, (x, y)
    view = viewports()[0]

    print("a render region of the view is rendered alone, and is where it was in the whole")
    space = area().spaces[0]
    space.render_border_min_x, space.render_border_min_y, space.render_border_max_x, space.render_border_max_y = 0.2, 0.1, 0.9, 0.8
    space.use_render_border = True
    area().tag_redraw()
    part = yield from until(lambda: picture_of(lambda size: abs(size[1] - 0.7 * first.shape[1]) < 2))
    in_part = cube_centre(part)
    assert np.allclose((0.2 + 0.7 * in_part[0], 0.1 + 0.7 * in_part[1]), (x, y), atol=0.02), (in_part, x, y)

    print("through the camera it is that of the scene, in the camera's frame")
    region.view_perspective = "CAMERA"
    scene.render.use_border = True
    scene.render.border_min_x, scene.render.border_min_y, scene.render.border_max_x, scene.render.border_max_y = 0.25, 0.25, 0.75, 0.75
    area().tag_redraw()
    part = yield from until(lambda: picture_of(lambda size: abs(size[1] / size[0] - 16 / 9) < 0.1))
    assert np.allclose(cube_centre(part), (0.5, 0.45), atol=0.2), cube_centre(part)
    scene.render.use_border = space.use_render_border = False
    region.view_perspective = "PERSP"
    area().tag_redraw()
    yield from until(lambda: picture_of(lambda size: size == first.shape[:2]))

    print("local view shows what is in it")
    for item in scene.objects:
        item.select_set(item.type == "LIGHT")
    bpy.context.view_layer.objects.active = bpy.data.objects["Light"]
    override = {"window": bpy.context.window_manager.windows[0], "area": area(), "region": next(r for r in area().regions if r.type == "WINDOW")}
    with bpy.context.temp_override(**override):
        bpy.ops.view3d.localview(frame_selected=False)
    yield from until(lambda: (now := picture()) is not None and not (now[..., 0] > 0.12).any())
    with bpy.context.temp_override(**override):
        bpy.ops.view3d.localview(frame_selected=False)
    yield from until(lambda: (now := picture()) is not None and (now[..., 0] > 0.12).any())

    print("an object that moves is seen elsewhere, and its mesh is not exported again")
    from sort_blender.export import cache
    made = cache.shared._files
    bpy.data.objects["Cube"].location.z = 2
    second = yield from until(moved_from(first))
    assert cube_centre(second)[1] > y + 0.05, cube_centre(second)
    assert cache.shared._files == made

    print("a view that turns shows another side")
    region.view_location.x += 5
    area().tag_redraw()
    yield from until(moved_from(second))

    print("an error is said in the viewport")
    kit.set_renderer("/nowhere")
    bpy.data.objects["Cube"].location.z = 0
    yield from until(lambda: "there is no such file" in view.status())
    kit.set_renderer(str(kit.RENDERER))
    area().spaces[0].shading.type = "SOLID"
    yield from until(lambda: not viewports())

    print("F12 shows its picture while it renders; Esc ends it and the samples so far stay")
    from sort_blender import engine
    shown = []
    load = engine._load
    engine.UPDATE_INTERVAL_S = 0.1
    engine._load = lambda *rest: (shown.append(1), load(*rest))[1]
    scene.render.resolution_percentage = 10
    scene.sort.samples = 1 << 20
    before = temporary_files()
    area("PROPERTIES").spaces[0].context = "RENDER"
    drawn = []  # what the last render was, whenever the panels were drawn
    bpy.types.SORT_PT_textures.append(lambda panel, context: drawn.append(messages.last()))
    yield from until(lambda: len(drawn) > 0)
    yield from until(pressed("F12", lambda: bpy.app.is_job_running("RENDER")))
    start = time.monotonic()
    yield from until(lambda: len(shown) > 0)
    print(f"first picture after {time.monotonic() - start:.2f} s")
    yield from until(lambda: len(shown) > 2)
    assert kit.renderers_in(pathlib.Path(bpy.app.tempdir))
    start = time.monotonic()
    yield from until(pressed("Escape", lambda: not bpy.app.is_job_running("RENDER")))
    assert time.monotonic() - start < PRESS_S + 5, time.monotonic() - start
    engine._load = load
    assert messages.last().error == "", messages.last().error
    assert not kit.renderers_in(pathlib.Path(bpy.app.tempdir))
    assert temporary_files() - before <= {"sort-last-render.json"}, temporary_files() - before
    bpy.data.images["Render Result"].save_render(str(kit.FOLDER / "part.png"))
    x, y = cube_centre(kit.read_picture(str(kit.FOLDER / "part.png")))
    assert 0.3 < x < 0.7 and 0.3 < y < 0.7, (x, y)

    yield from until(lambda: drawn[-1] is messages.last() and drawn[-1].stats)  # else its button stayed grey
    scene.sort.samples = 1
    old = messages.last()
    yield from until(pressed("F12", lambda: messages.last() is not old))
    yield from until(lambda: drawn[-1] is messages.last() and drawn[-1].stats)
    # closes the window of the picture
    yield from until(pressed("Escape", lambda: len(bpy.context.window_manager.windows) == 1))

    print("a material has a preview")
    material = bpy.data.materials["Material"]  # red; after a render in a thread Blender may refuse changes
    preview = material.preview_ensure()
    with bpy.context.temp_override(id=material):
        bpy.ops.ed.lib_id_generate_preview()

    def reddish():
        if preview.image_size[0] == 0:
            return None
        pixels = np.array(preview.image_pixels_float[:]).reshape(-1, 4)
        return bool((pixels[:, 0] > pixels[:, 1] + 0.2).any()) or None
    yield from until(reddish)


stepping.run(steps, 0.05)
