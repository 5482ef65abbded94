"""SSL Script: a node of the artist's own SSL. Sockets are made of the shader's parameters and outputs, their ranges
and names of its metadata; strings, choices and textures, which are no sockets in Blender, are in the node itself.

Cycles' own Script node cannot hold sockets for another language, so this is a custom group, whose interface the
add-on fills. In Cycles and Eevee it gives black.
"""

from __future__ import annotations

import json
from pathlib import Path

import bpy

from . import blend_path, registration, text_file
from .ssl_source import Described, describe
from .versions import add_group_socket, group_socket_kind, group_sockets, move_group_socket, remove_group_socket

NODE = "SortScriptNode"


def socket_type(kind: str, metadata: dict) -> str | None:
    """None: there is no such socket."""
    if kind == "float":
        return "NodeSocketFloatFactor" if (metadata.get("min"), metadata.get("max")) == (0, 1) else "NodeSocketFloat"
    if kind in ("float3", "point", "vector", "normal"):
        return "NodeSocketVector"
    return {"int": "NodeSocketInt", "bool": "NodeSocketBool", "color": "NodeSocketColor",
            "closure": "NodeSocketShader"}.get(kind)


def choices_of(self: "SortScriptOption", context: bpy.types.Context | None) -> list[tuple[str, str, str, int]]:
    names = self.choices.split("|") if self.choices else [""]
    _kept[self.choices] = [(name, name, "", k) for k, name in enumerate(names)]  # Blender keeps no reference
    return _kept[self.choices]


_kept: dict[str, list] = {}


class SortScriptOption(bpy.types.PropertyGroup):
    """A parameter that is no socket."""
    parameter: bpy.props.StringProperty()
    label: bpy.props.StringProperty()
    kind: bpy.props.EnumProperty(items=[(k, k, "") for k in ("string", "choice", "number", "texture")])
    choices: bpy.props.StringProperty()
    text: bpy.props.StringProperty(name="Text")
    choice: bpy.props.EnumProperty(name="Choice", items=choices_of)
    image: bpy.props.PointerProperty(name="Image", type=bpy.types.Image)

    def field(self) -> str:
        return {"string": "text", "texture": "image"}.get(self.kind, "choice")


def _changed(self: "SortScriptNode", context: bpy.types.Context | None) -> None:
    self.refresh()


class SortScriptNode(bpy.types.ShaderNodeCustomGroup):
    bl_idname = NODE
    bl_label = "SSL Script"
    script: bpy.props.PointerProperty(name="Text", type=bpy.types.Text, update=_changed)
    filepath: bpy.props.StringProperty(name="File", subtype="FILE_PATH", update=_changed)
    mode: bpy.props.EnumProperty(
        name="Source", update=_changed,
        items=[("INTERNAL", "Internal", "A text of this file"), ("EXTERNAL", "External", "A file")])
    entry: bpy.props.StringProperty(name="Shader", update=_changed, description="Which shader of the source; empty: the first")
    options: bpy.props.CollectionProperty(type=SortScriptOption)
    errors: bpy.props.StringProperty()
    names: bpy.props.StringProperty()  # JSON: by side and socket, the parameter or output

    @classmethod
    def poll(cls, tree: bpy.types.NodeTree) -> bool:
        return tree.bl_idname == "ShaderNodeTree"

    def init(self, context: bpy.types.Context) -> None:
        self.node_tree = bpy.data.node_groups.new(".SSL Script", "ShaderNodeTree")
        self.width = 200

    def copy(self, node: "SortScriptNode") -> None:
        if node.node_tree:
            self.node_tree = node.node_tree.copy()

    def free(self) -> None:
        if self.node_tree and self.node_tree.users <= 1:
            bpy.data.node_groups.remove(self.node_tree)

    def draw_label(self) -> str:
        return self.entry or (self.script.name if self.mode == "INTERNAL" and self.script else self.bl_label)

    def draw_buttons(self, context: bpy.types.Context, layout: bpy.types.UILayout) -> None:
        layout.prop(self, "mode", expand=True)
        row = layout.row(align=True)
        if self.mode == "INTERNAL":
            row.template_ID(self, "script", new="text.new", open="text.open")
        else:
            row.prop(self, "filepath", text="")
        row.operator("sort.refresh_script", text="", icon="FILE_REFRESH")
        layout.prop(self, "entry")
        for line in self.errors.splitlines():
            layout.label(text=line, icon="ERROR")
        for option in self.options:
            layout.prop(option, option.field(), text=option.label)

    # --- source ------------------------------------------------------------------------------------------

    def source(self) -> str | None:
        """None: there is none."""
        if self.mode == "INTERNAL":
            return self.script.as_string() if self.script else None
        try:
            return text_file.read(Path(blend_path.absolute(self.filepath, self.id_data)))
        except (OSError, UnicodeDecodeError):
            return None

    def shader(self) -> tuple[dict | None, str]:
        """The shader's description, or what is wrong."""
        source = self.source()
        if source is None:
            return None, f"cannot read '{self.filepath}'" if self.mode == "EXTERNAL" and self.filepath else "no source"
        described: Described = describe(source)
        if described.errors:
            return None, "\n".join(described.errors)
        for shader in described.shaders:
            if self.entry in ("", shader["shader"]):
                return shader, ""
        return None, f"there is no shader '{self.entry}' in it"

    def refresh(self) -> None:
        """Sockets and options from the source. What is wrong is shown; sockets then stay as they are."""
        shader, self.errors = self.shader()
        if shader is None:
            return
        inputs = [p for p in shader["parameters"] if "enum" not in p.get("metadata", {})]
        values = {(s.name, s.bl_idname): _copied(s.default_value) for s in self.inputs if hasattr(s, "default_value")}
        names = {"inputs": self._fit("INPUT", inputs), "outputs": self._fit("OUTPUT", shader["outputs"])}
        for socket in self.inputs:  # Blender 4 makes all of them anew
            if (socket.name, socket.bl_idname) in values:
                socket.default_value = values[socket.name, socket.bl_idname]
        self.names = json.dumps(names)
        self._fit_options(shader)

    def _fit(self, side: str, wanted: list[dict]) -> dict[str, str]:
        """Sockets that stay keep their links and values."""
        names = {}
        for item in wanted:
            kind = socket_type(item["type"], item.get("metadata", {}))
            if kind:
                label = item.get("metadata", {}).get("label", item["name"])
                while label in names:
                    label += "."
                names[label] = item["name"]
                self._fit_one(side, label, kind, item)
        interface = group_sockets(self.node_tree, side)
        for socket in [s for s in interface if s.name not in names]:
            remove_group_socket(self.node_tree, side, socket)
        for place, label in enumerate(names):
            at = next(k for k, s in enumerate(group_sockets(self.node_tree, side)) if s.name == label)
            if at != place:
                move_group_socket(self.node_tree, side, at, place)
        return names

    def _fit_one(self, side: str, label: str, kind: str, item: dict) -> None:
        old = next((s for s in group_sockets(self.node_tree, side) if s.name == label), None)
        if old is not None and group_socket_kind(old) == kind:
            return
        if old is not None:
            remove_group_socket(self.node_tree, side, old)
        new = add_group_socket(self.node_tree, side, label, kind)
        metadata = item.get("metadata", {})
        for bound in ("min", "max"):
            if bound in metadata and hasattr(new, f"{bound}_value"):
                setattr(new, f"{bound}_value", metadata[bound])
        value = item.get("default")
        if side == "INPUT" and value is not None and kind != "NodeSocketShader":
            value = value + [1.0] if kind == "NodeSocketColor" else value
            new.default_value = value
            self.inputs[label].default_value = value

    def _fit_options(self, shader: dict) -> None:
        old = {option.parameter: (option.text, option.choice, option.image) for option in self.options}
        self.options.clear()
        for item in shader["parameters"] + [dict(t, type="texture") for t in shader["textures"]]:
            metadata = item.get("metadata", {})
            if item["type"] not in ("string", "texture") and "enum" not in metadata:
                continue
            option = self.options.add()
            option.parameter, option.label = item["name"], metadata.get("label", item["name"])
            option.choices = metadata.get("enum", "")
            option.kind = "texture" if item["type"] == "texture" else "choice" if item["type"] == "string" and option.choices \
                else "number" if option.choices else "string"
            text, choice, image = old.get(item["name"], (None, None, None))
            default = item.get("default")
            option.text = text if text is not None else str(default or "")
            option.image = image
            names = option.choices.split("|") if option.choices else []
            if names:
                option.choice = choice if choice in names else default if option.kind == "choice" else names[default]


def _copied(value: object) -> object:
    return value if isinstance(value, (bool, int, float, str)) else tuple(value)


class SORT_OT_refresh_script(bpy.types.Operator):
    bl_idname = "sort.refresh_script"
    bl_label = "Read the Source Again"
    bl_description = "Sockets and options from the shader's parameters"

    def execute(self, context: bpy.types.Context) -> set[str]:
        node = getattr(context, "node", None) or getattr(context, "active_node", None)
        if node is None or node.bl_idname != NODE:
            return {"CANCELLED"}
        node.refresh()
        return {"FINISHED"}


def _menu(self: bpy.types.Menu, context: bpy.types.Context) -> None:
    if context.space_data.tree_type == "ShaderNodeTree" and context.scene.render.engine == "SORT":
        self.layout.separator()
        self.layout.operator("node.add_node", text="SSL Script").type = NODE


register, unregister = registration.pair((SortScriptOption, SortScriptNode, SORT_OT_refresh_script),
                                         [(bpy.types.NODE_MT_add, _menu)])
