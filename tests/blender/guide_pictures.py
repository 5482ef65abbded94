"""The pictures of docs/manual/blender.md: Blender's window with the panels as they are. Where they change (SORT_PICTURED_RENDERER: the path that the preferences
show, such as that of an installation):

    tests/blender/run_blender.py --window --size 1280x800 --blender blender --build build/release tests/blender/guide_pictures.py
"""

import os
import pathlib
import subprocess
import time

import bpy

import blender_scene as kit
import stepping

IMAGES = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "images"
WAIT_S = 120
PROPERTIES_WIDTH = 330  # px


def area(kind):
    return next(a for a in window().screen.areas if a.type == kind)


def window():
    return bpy.context.window_manager.windows[0]


def pause(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        yield


def until(condition):
    end = time.monotonic() + WAIT_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {WAIT_S} s")
        yield


def photograph(name):
    """Of the window as it is, in sRGB."""
    yield from pause(1)
    path = str(kit.FOLDER / "window.png")
    with bpy.context.temp_override(window=window()):
        bpy.ops.screen.screenshot(filepath=path)
    image = bpy.data.images.load(path)
    settings = bpy.context.scene.render.image_settings
    settings.file_format, settings.quality = "JPEG", 82
    transform, bpy.context.scene.view_settings.view_transform = bpy.context.scene.view_settings.view_transform, "Standard"
    image.save_render(str(IMAGES / name), scene=bpy.context.scene)
    bpy.context.scene.view_settings.view_transform = transform
    bpy.data.images.remove(image)


def lay_out():
    """The properties take the whole right side."""
    with bpy.context.temp_override(window=window(), area=area("OUTLINER")):
        bpy.ops.screen.area_close()
    yield from pause(0.5)
    right = area("PROPERTIES")
    x, y = right.x - 1, right.y + right.height // 2
    across = [str(place) for place in (x, x - 60, x + right.width - PROPERTIES_WIDTH)]
    down = str(window().height - y)
    # Blender has to run while the mouse moves.
    drag = subprocess.Popen(["xdotool", "mousemove", across[0], down, "sleep", "0.5", "mousedown", "1", "sleep", "0.5", "mousemove", across[1], down,
                             "sleep", "0.5", "mousemove", across[2], down, "sleep", "0.5", "mouseup", "1"])
    yield from until(lambda: drag.poll() is not None)
    yield from pause(1)


def build():
    scene = bpy.context.scene
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    bpy.ops.mesh.primitive_monkey_add(size=2.2, location=(0, 0, 1.1), rotation=(-0.5, 0, 0.6))
    monkey = bpy.context.object
    monkey.modifiers.new("Subdivision", "SUBSURF").levels = 2
    bpy.ops.object.shade_smooth()
    node = kit.material_of(monkey, "ShaderNodeBsdfPrincipled", Base_Color=(0.8, 0.3, 0.1, 1), Roughness=0.25)
    node.inputs["Clearcoat"].default_value = 0.5
    bpy.ops.mesh.primitive_plane_add(size=14)
    floor = bpy.context.object
    image = bpy.data.images.new("Grid", 2048, 2048)
    image.generated_type = "COLOR_GRID"
    surface = kit.material_of(floor, "ShaderNodeBsdfPrincipled", Roughness=0.5)
    texture = kit.new_node(surface, "ShaderNodeTexImage")
    texture.image = image
    kit.link(texture.outputs["Color"], surface.inputs["Base Color"])
    kit.set_world((0.5, 0.6, 0.75))
    scene.world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.6
    bpy.context.view_layer.objects.active = monkey
    scene.render.resolution_x, scene.render.resolution_y = 1000, 760
    scene.render.resolution_percentage = 80
    scene.sort.samples = 16


def steps():
    preferences = bpy.context.preferences
    preferences.view.show_splash = False
    preferences.view.render_display_type = "NONE"
    yield from pause(1)
    view = area("VIEW_3D")

    view.ui_type = "PREFERENCES"
    preferences.active_section = "ADDONS"
    bpy.context.window_manager.addon_search = "SORT"
    bpy.ops.preferences.addon_expand(module="sort_blender")
    kit.set_renderer(os.environ.get("SORT_PICTURED_RENDERER", str(kit.RENDERER)))
    yield from photograph("blender-install.jpg")
    kit.set_renderer(str(kit.RENDERER))
    view.ui_type = "VIEW_3D"

    yield from lay_out()
    bpy.context.scene.render.engine = "SORT"
    build()
    area("PROPERTIES").spaces[0].context = "RENDER"
    view = area("VIEW_3D")
    view.ui_type = "IMAGE_EDITOR"
    with bpy.context.temp_override(window=window()):
        bpy.ops.render.render("INVOKE_DEFAULT")
    yield from until(lambda: kit.messages().stats is not None and not bpy.app.is_job_running("RENDER"))
    view.spaces[0].image = bpy.data.images["Render Result"]
    yield from pause(0.5)
    with bpy.context.temp_override(window=window(), area=view, region=next(r for r in view.regions if r.type == "WINDOW")):
        bpy.ops.image.view_all(fit_view=True)
    yield from photograph("blender-render.jpg")

    view.ui_type = "VIEW_3D"
    area("PROPERTIES").spaces[0].context = "MATERIAL"
    view.spaces[0].region_3d.view_perspective = "CAMERA"
    bpy.context.scene.sort.preview_samples = 256
    view.spaces[0].shading.type = "RENDERED"
    yield from pause(6)
    yield from photograph("blender-viewport.jpg")


stepping.run(steps, 0.05)
