"""SORT as a render engine of Blender.

    engine.py       what Blender calls to render: export, run sort-render, hand the picture back
    engine_name.py  the name of the engine, for modules that engine.py imports
    viewport.py     a viewport in Rendered mode
    baking.py       textures of what objects show, for Render Properties > Bake
    passes.py, exr.py    render passes, out of the picture that sort-render wrote
    script_node.py, ssl_source.py    a node of the artist's own SSL, and what its source declares
    material_library.py    the materials that the zip brings, in the asset browser
    operators.py    export of a package, report on textures
    farm.py         frames of the scene to a farm, by sort-farm
    export/         a depsgraph to a scene package (docs/reference/scene-package.md); one module a kind of object
    locate.py       where sort-render is, and what is missing
    process.py      sort-render as a child: progress, cancel, exit codes
    caches.py       where it keeps shaders and textures; resume.py, where interrupted renders lie
    stand_in.py     magenta for materials that the renderer refuses
    messages.py     the warnings of an export and a render
    cycles_settings.py    bounces, clamps and the filter, as the scene has them for Cycles
    render_settings.py    the renderer's settings as properties and in a package, from settings_table.py (scripts/settings-docs writes it)
    versions.py     what differs between versions of Blender
    preferences.py, properties.py, presets.py, panels.py, layer_panels.py, bake_panels.py    what the user sees
    registration.py    classes and menu entries, to Blender and back
"""

bl_info = {
    "name": "SORT Renderer",
    "author": "The SORT authors",
    "version": (0, 1, 0),
    "blender": (3, 4, 0),
    "location": "Properties > Render > Render Engine",
    "description": "Path tracing with paged textures and compiled shaders",
    "category": "Render",
}

from . import bake_panels, cycles_settings, engine, farm, layer_panels, material_library, operators, panels, preferences, presets, properties, script_node  # noqa: E402  (Blender reads bl_info first)

MODULES = (material_library, preferences, properties, engine, cycles_settings, operators, farm, presets, panels, layer_panels, bake_panels, script_node)


def register() -> None:
    for module in MODULES:
        module.register()


def unregister() -> None:
    for module in reversed(MODULES):
        module.unregister()
