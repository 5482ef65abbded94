"""Settings of a scene, scene.sort, and of a view layer, view_layer.sort. Those that a package has come from render_settings.py; here are
the others: options of sort-render, and what only Blender uses. cycles_settings.py takes some from Cycles."""

from __future__ import annotations

import bpy

from . import registration, render_settings
from .versions import PATH_OPTIONS

INTEGRATORS = [
    ("path", "Path Tracing", "Light, by path tracing"),
    ("light", "Light Tracing", "Light, by paths that begin at lamps. Pays for caustics: a small lamp through glass or off metal, on a matte surface, has a "
     "twentieth of the noise in a third more time. Elsewhere noisier; shows nothing in mirrors and clear glass. Takes no clamps, Filter Glossy or "
     "bounces by kind, no passes, denoising, adaptive sampling or render region"),
    ("ao", "Ambient Occlusion", "How open each surface is"),
    ("normal", "Normals", "Shading normals as colours"),
    ("uv", "UV", "Texture coordinates as red and green"),
    ("derivative", "Texture Footprint", "Size of a pixel in texture coordinates"),
    ("mip", "Mip Level", "Finest level that textures were read at: 0 red, 1 orange, 2 yellow, 3 green ..."),
    ("wireframe", "Wireframe", "Edges of triangles"),
    ("material", "Materials", "A colour for each material"),
    ("object", "Objects", "A colour for each object"),
]
PIXEL_FILTERS = [("blackman-harris", "Blackman-Harris", "As Cycles' default"), ("gaussian", "Gaussian", ""),
                 ("box", "Box", "")]
TEXTURE_FILTERS = [
    ("aniso", "Anisotropic", "Several probes along the footprint of a pixel: sharp at grazing angles"),
    ("trilinear", "Trilinear", "One probe; blurs at grazing angles"),
    ("bilinear", "Bilinear", ""), ("closest", "Closest", "Texels as squares"),
    ("stochastic", "Stochastic", "One texel by chance; quick, and noisy at few samples"),
    ("catmull-rom", "Catmull-Rom", ""), ("bspline", "B-spline", "")]
MIP_MODES = [("footprint", "By Footprint", "The level that the exact derivatives ask for"),
             ("off", "Off", "Always the finest level: for comparison; reads far more"),
             ("max-of-four", "Largest Derivative", "The level of the larger derivative alone")]
FARM_ENGINES = [
    ("LOCAL", "This Machine", "Processes of this machine, which go on when Blender ends"),
    ("SLURM", "Slurm", "Jobs of the cluster that sbatch submits to. All its nodes must see the folder, and SORT, under the same names")]
FARM_FRAMES = [("CURRENT", "Current Frame", ""), ("RANGE", "Frame Range", "From Start to End of the scene, by Step")]
BAKE_TYPES = [
    ("COMBINED", "Combined", "All light of the surface, or the parts of it that are ticked"),
    ("AO", "Ambient Occlusion", "How open the surface is, within the AO distance of the world"),
    ("POSITION", "Position", "Places in world space"),
    ("NORMAL", "Normal", "Normals with their bumps"),
    ("UV", "UV", "Texture coordinates"),
    ("ROUGHNESS", "Roughness", "Mean roughness of the surface's closures"),
    ("EMIT", "Emit", "The light that the surface emits itself"),
    ("ENVIRONMENT", "Environment", "The environment, in the direction of each place from the origin"),
    ("DIFFUSE", "Diffuse", "Light and colour of diffuse and subsurface reflection"),
    ("GLOSSY", "Glossy", "Light and colour of mirrors and highlights"),
    ("TRANSMISSION", "Transmission", "Light and colour of glass and hair"),
    ("SHADOW", "Shadow", "In Blender 3 how much of the lamps arrives, later what other objects take of all light")]
GUIDING = [
    ("auto", "Automatic", "Where a trial before the picture finds that it pays. The trial takes up to a fiftieth of the time, and small or quick pictures have none"),
    ("on", "On", ""), ("off", "Off", "")]
DENOISERS = [
    ("nfor", "Regression", "SORT's own: the same picture on every machine"),
    ("oidn", "Open Image Denoise", "The library that official builds of Blender bring along, in a process of its own")]


class SortSceneSettings(bpy.types.PropertyGroup):
    use_adaptive: bpy.props.BoolProperty(
        name="Noise Threshold", default=False,
        description="Pixels stop when their error is small; Samples is then the most that any gets. Saves time where parts of the "
                    "picture are clean early")
    adaptive_error: bpy.props.FloatProperty(
        name="Noise Threshold", default=0.01, min=0.0001, max=1.0, precision=4,
        description="Displayed error at which a pixel stops: 0.01 is a clean picture, 0.03 a preview. Half the error takes four times the samples")
    time_limit_s: bpy.props.FloatProperty(
        name="Time Limit", default=0.0, min=0.0, soft_max=86400.0, subtype="TIME", unit="TIME_ABSOLUTE",
        description="No pass over the picture begins that would end later. 0: none")
    keeps_interrupted: bpy.props.BoolProperty(
        name="Go On After Interruptions", default=False,
        description="A final render that is stopped, or that ends with Blender or the machine, goes on at the next F12 if nothing was edited, "
                    "to the same picture. Costs disk space meanwhile, 80 bytes a pixel and more with passes, and little time every two minutes")
    animate_seed: bpy.props.BoolProperty(
        name="Another Seed Each Frame", default=True, description="Noise does not stand still in an animation. Takes no time")
    pixel_filter: bpy.props.EnumProperty(name="Pixel Filter", items=PIXEL_FILTERS, description="How samples are weighted by their distance from the middle of a pixel. All take the same time")
    filter_width: bpy.props.FloatProperty(
        name="Filter Width", default=1.5, min=0.01, max=8.0, subtype="PIXEL",
        description="Width of the pixel filter, measured as Cycles measures it. Wider is softer, with less noise, in the same time")
    integrator: bpy.props.EnumProperty(
        name="Integrator", items=INTEGRATORS, description="Light, or a view that shows mistakes")
    guiding: bpy.props.EnumProperty(
        name="Path Guiding", items=GUIDING, default="auto",
        description="Learn where light comes from before a final picture, and send paths there. Rooms that are lit through a window take a third "
                    "less time for the same noise; where light comes from everywhere it would cost a tenth to four tenths more, for nothing")
    texture_memory_mib: bpy.props.IntProperty(
        name="Memory (MiB)", default=1024, min=1, max=1 << 24, soft_max=65536,
        description="Budget of the texture cache; never exceeded. Textures are paged in from disk. Less memory takes more time, "
                    "never quality: the line below the settings says what the last render used")
    texture_filter: bpy.props.EnumProperty(name="Filter", items=TEXTURE_FILTERS, description="How texels are blended. Anisotropic reads the most texels, Closest and Stochastic the fewest")
    mip_mode: bpy.props.EnumProperty(name="Level", items=MIP_MODES, description="Which of a texture's smaller copies is read. By Footprint needs the least memory without blur")
    mip_bias: bpy.props.FloatProperty(
        name="Level Bias", default=0.0, min=-16.0, max=16.0,
        description="Levels added to the one that the footprint chooses; positive is blurrier and reads less: a quarter of the memory for each level")
    cpu: bpy.props.StringProperty(
        name="CPU Class", default="",
        description="Compile shaders for this CPU, such as x86-64-v3, so that the machines of a farm agree in every "
                    "bit. Empty: this machine's own, the fastest")
    preview_samples: bpy.props.IntProperty(
        name="Viewport Samples", default=32, min=1, max=1 << 16, soft_max=1024,
        description="Paths per pixel in the viewport, after which it rests")

    use_denoising: bpy.props.BoolProperty(
        name="Denoise", default=False,
        description="Remove noise from the finished picture. The noisy one is the pass Noisy Image. Takes seconds after the last sample, and memory "
                    "for its guides; small details may be smoothed")
    use_preview_denoising: bpy.props.BoolProperty(
        name="Denoise Viewport", default=False,
        description="Remove noise in the viewport when all its samples are there, which takes up to seconds of a large one")
    denoiser: bpy.props.EnumProperty(name="Denoiser", items=DENOISERS, description="Open Image Denoise is quicker and smoother; Regression needs at least two samples, and keeps more of what is there")

    bake_type: bpy.props.EnumProperty(name="Bake Type", items=BAKE_TYPES, description="What is baked into the image. Light takes Samples paths a pixel; the others are as quick as a picture of them")

    farm_folder: bpy.props.StringProperty(
        name="Folder", subtype="DIR_PATH", options={"ANIMATABLE"} | PATH_OPTIONS,
        description="The farm: packages, parts, logs. A new folder for each, on a disk that all machines see under one name")
    farm_engine: bpy.props.EnumProperty(name="Render On", items=FARM_ENGINES, description="Who renders the parts")
    farm_frames: bpy.props.EnumProperty(name="Frames", items=FARM_FRAMES, description="Which frames are rendered")
    farm_part_minutes: bpy.props.FloatProperty(
        name="Part (CPU min)", default=10.0, min=0.001, soft_min=1.0, max=100000.0,
        description="CPU time in minutes that a part should take. Shorter parts use more machines at once and cost more beside the samples")
    farm_packs_images: bpy.props.BoolProperty(
        name="Copy Images", default=True,
        description="Each frame's package has all its images. Off: they stay where they are, which all machines must see")
    farm_options: bpy.props.StringProperty(
        name="Options", default="",
        description="Further options of sort-farm submit, such as --partition render --constraint avx2 --memory 24G --time-limit 240")


class SortLayerSettings(bpy.types.PropertyGroup):
    use_pass_albedo: bpy.props.BoolProperty(
        name="Albedo", description="Albedo of the first surface, for denoisers")
    use_pass_samples: bpy.props.BoolProperty(
        name="Sample Count", description="How many samples each pixel got")


_register, _unregister = registration.pair((SortSceneSettings, SortLayerSettings))


def register() -> None:
    SortSceneSettings.__annotations__.update(render_settings.properties())
    _register()
    bpy.types.Scene.sort = bpy.props.PointerProperty(type=SortSceneSettings)
    bpy.types.ViewLayer.sort = bpy.props.PointerProperty(type=SortLayerSettings)


def unregister() -> None:
    del bpy.types.ViewLayer.sort
    del bpy.types.Scene.sort
    _unregister()
