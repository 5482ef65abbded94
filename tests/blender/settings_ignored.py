"""Settings that the add-on neither follows nor warns of, each with the reason; and those that mean something only beside another.
Names are patterns: of the owner as settings_sweep.owners() has it, and of the setting."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import bpy


@dataclass(frozen=True)
class Row:
    owner: str
    names: str
    reason: str = ""
    apply: Callable[[], None] = None
    is_later: bool = False  # of Blender 4 and later

    def matches(self, owner, identifier):
        return bool(re.fullmatch(self.owner, owner) and re.fullmatch(self.names, identifier))

    def __str__(self):
        return f"{self.owner}: {self.names}"


EVALUATED = "Blender evaluates it before the export, which sees what comes of it"
EDITING = "for editing, or for how a viewport draws"
EEVEE = "of Eevee, of grease pencil or of engines long gone"
OUTPUT = "what Blender does with pictures once they are rendered"
OWN = "SORT has a setting of its own"
NOISE = "how Cycles finds the same light: noise, time and memory"
VOLUMES = "of volumes, which are not rendered, and that is said"
FAST_GI = "of Fast GI Approximation, of which is said that it is not there"
CULLING = "of culling, of which is said that it is not there"
ADAPTIVE = "of Adaptive Subdivision, of which is said that it is not there"
PASSES = "of passes; test_addon_passes.py"


def _set(path, value):
    """path: from the scene."""
    def apply():
        *owners, name = path.split(".")
        thing = bpy.context.scene
        for owner in owners:
            thing = getattr(thing, owner)
        setattr(thing, name, value)
    return apply


def _set_light(name, **values):
    def apply():
        for key, value in values.items():
            setattr(bpy.data.objects[name].data, key, value)
    return apply


ONLY_WITH = [
    Row("Camera", "ortho_scale", apply=_set("camera.data.type", "ORTHO")),
    Row("Camera", "sensor_height", apply=_set("camera.data.sensor_fit", "VERTICAL")),
    Row("Camera.*", "latitude_.*|longitude_.*", apply=lambda: _panorama("EQUIRECTANGULAR")),
    Row("Camera.*", "panorama_type|fisheye_(fov|lens)", apply=lambda: _panorama("FISHEYE_EQUISOLID")),
    Row("Camera.*", "fisheye_polynomial_k.", apply=lambda: _panorama("FISHEYE_LENS_POLYNOMIAL")),
    Row("Area light", "size_y", apply=_set_light("Area", shape="RECTANGLE")),
    Row(".* light", "temperature", apply=lambda: [setattr(light, "use_temperature", True) for light in bpy.data.lights]),
    Row("(Point|Spot) light", "use_soft_falloff", apply=lambda: [_set_light(k, shadow_soft_size=0.2)() for k in ("Point", "Spot")]),
    Row("World", "color", apply=_set("world.use_nodes", False)),
    Row("Render", "border_.*", apply=_set("render.use_border", True)),
    Row("Scene, cycles", "film_transparent_glass", apply=_set("render.film_transparent", True)),
    Row("Scene, cycles", "use_(camera|distance)_cull", apply=_set("render.use_simplify", True)),
    Row("Material.*", "diffuse_color", apply=lambda: [setattr(m, "use_nodes", False) for m in bpy.data.materials]),
    Row("Object, cycles", "use_motion_blur", apply=lambda: _slide("Mirror")),
    Row("SORT", "adaptive_error", apply=_set("sort.use_adaptive", True)),
    Row("SORT", "denoiser", apply=_set("sort.use_denoising", True)),
    Row("Render", "use_border", apply=_set("render.border_max_x", 0.5)),
    Row("Render", "threads", apply=_set("render.threads_mode", "FIXED")),
]


def _panorama(kind):
    camera = bpy.context.scene.camera.data
    camera.type = "PANO"
    (camera if hasattr(camera, "panorama_type") else camera.cycles).panorama_type = kind


def _slide(name):
    obj = bpy.data.objects[name]
    for frame, x in ((1, 1.2), (3, 1.8)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)


IGNORED = [
    Row("SORT", "farm_.*", "how a farm is submitted, which is tested with its operators"),
    Row("Object.*", "data|parent|parent_.*|track_axis|up_axis|dimensions|matrix_.*|rotation_(quaternion|axis_angle|mode)|"
        "delta_rotation_quaternion|use_camera_lock_parent|instance_.*|use_instance_.*|show_instancer_for_render|hide_render", EVALUATED),
    Row("Object.*", "lock_.*|empty_.*|show_(empty_.*|instancer_for_viewport|bounds|name|axis|texture_space|wire|all_edges|transparent|"
        "in_front)|display_.*|hide_(viewport|select)|active_.*_index|show_only_shape_key|use_shape_key_edit_mode|use_mesh_mirror_.|"
        "add_rest_position_attribute|pose_library|use_empty_image_alpha", EDITING),
    Row("Object.*", "use_grease_pencil_lights|hide_probe_.*|shadow_terminator_normal_offset", EEVEE),
    Row("Object.*", "use_parent_final_indices|hide_surface_pick|active_selection_set", EDITING, is_later=True),
    Row("Object.*", "use_simulation_cache", EVALUATED, is_later=True),
    Row("Object.*", "pass_index|color|lightgroup", "read where a pass, a material or a light group asks for it; tests of those"),
    Row("Object.*", "visible_volume_scatter", VOLUMES),
    Row("Object of a lamp", "active_material|visible_shadow|is_holdout|is_shadow_catcher", "lamps have no surface"),
    Row("Object that instances", "active_material|shadow_terminator_(shading|geometry)_offset", "an empty has no surface"),
    Row("Object, cycles", "use_(camera|distance)_cull", CULLING),
    Row("Object, cycles", "dicing_rate", ADAPTIVE),
    Row("Object, cycles", "ao_distance", FAST_GI),
    Row("Object of a lamp, cycles|Object that instances, cycles", ".*", "of surfaces and of what moves"),
    Row("Object, cycles", "use_deform_motion", "of meshes that deform; test_addon_motion.py"),
    Row(".*Camera", "passepartout_alpha|display_size|show_.*|lens_unit|angle.*", EDITING),
    Row("DepthOfField", "focus_subtarget", "a bone of the object in focus; test_addon_camera.py"),
    Row("World", "lightgroup", "read where the view layer has such a group; test_addon_layers.py"),
    Row("Mist", "use_mist|intensity|height", EEVEE),
    Row("WorldLighting", "ao_factor|use_ambient_occlusion", FAST_GI),
    Row("World, cycles", "sampling_method|sample_map_resolution", NOISE),
    Row("World, cycles", "homogeneous_volume|volume_.*", VOLUMES),
    Row("World, cycles_visibility", "shadow|scatter", "Cycles' world throws no shadow, and volumes are not rendered, which is said"),
    Row("Scene", "background_set|camera|world", EVALUATED),
    Row("Scene", "frame_(current|start|end|step|preview_.*)|frame_float|frame_subframe|lock_frame.*|use_preview_range|show_.*|sync_mode|"
        "gravity|use_gravity|use_audio.*|audio_.*|grease_pencil|active_clip|use_stamp_note|use_nodes", "of animation, sound, editing and "
        "compositing; the frame is evaluated before the export"),
    Row("Units", ".*", EDITING),
    Row("Render", "fps|fps_base|frame_map_.*|preview_pixel_size|dither_intensity|use_stamp.*|stamp_.*|use_(placeholder|overwrite|"
        "compositing|sequencer.*|file_extension|lock_interface|render_cache|single_layer|persistent_data|freestyle|crop_to_border)|"
        "filepath|metadata_input|sequencer_gl_preview|views_format|line_thickness.*|use_multiview", OUTPUT),
    Row("Render", "bake_.*|use_bake_.*", "of baking"),
    Row("Render", "filter_size|hair_.*|use_high_quality_normals", EEVEE),
    Row("Render", "use_simplify|simplify_.*", EVALUATED),
    Row("Render", "engine", "it is SORT"),
    Row("ViewLayer", "active_.*|use$", EDITING),
    Row("ViewLayer", "use_(freestyle|volumes|ao)", "drawn by Blender; of volumes and Fast GI, which are said not to be there"),
    Row("ViewLayer", "use_pass_combined|pass_cryptomatte_depth|use_pass_cryptomatte_accurate", PASSES),
    Row("ViewLayer, cycles", ".*volume.*", VOLUMES),
    Row("ViewLayer, cycles", "use_denoising|pass_debug_sample_count", "of Cycles' denoisers and its own measurements"),
    Row("ViewLayer, cycles", "denoising_store_passes", PASSES),
    Row("LayerCollection|Collection", "hide_(viewport|select)|color_tag", EDITING),
    Row("Collection", "lineart_.*|use_lineart_.*", EEVEE),
    Row("Collection", "instance_offset", EVALUATED),
    Row("Mesh", "(texture_mesh|uv_layer_.*|texco_mesh|remesh_.*|use_remesh_.*|use_mirror_.*|use_paint_.*)", EDITING),
    Row("Mesh", "use_auto_texspace|auto_texspace|texspace_.*", "read where a material wants Generated coordinates; test_addon_materials.py"),
    Row("Mesh", "auto_smooth_angle", EVALUATED),
    Row("Material.*", "blend_method|shadow_method|alpha_threshold|show_transparent_back|use_(backface_culling|screen_refraction|"
        "sss_translucency)|refraction_depth|line_.*", EEVEE),
    Row("Material.*", "preview_.*|use_preview_world|paint_.*|specular_.*|roughness|metallic", EDITING),
    Row("Material.*", "pass_index", PASSES),
    Row("Material.*, cycles", "sample_as_light", NOISE),
    Row("Material.*, cycles", "homogeneous_volume|volume_.*", VOLUMES),
    Row("Material.*", "displacement_method", "where it shall move vertices, a warning says that it bends normals alone"),
    Row(".* light", "distance|(specular|diffuse|volume)_factor|use_custom_distance|cutoff_distance|falloff_type|.*_attenuation|.*_coefficient|"
        "shadow_(buffer|color|cascade).*|.*contact_shadow.*|use_shadow|use_square|show_cone", EEVEE),
    Row(".* light", "use_nodes", "its node tree; test_addon_lights.py"),
    Row("Sun light", "shadow_soft_size", "a sun has an angle"),
    Row("(Point|Spot|Sun) light, cycles", "is_portal", "of area lights"),
    Row("Area light, cycles", "use_multiple_importance_sampling", NOISE),
    Row("Scene, cycles", "samples|(?!volume).*preview(?!_scrambling).*|sample_offset|time_limit|use_adaptive_sampling|adaptive_.*|use_layer_samples|seed|"
        "use_animated_seed|max_bounces|(diffuse|glossy|transmission)_bounces|blur_glossy|sample_clamp_.*|light_sampling_threshold|min_light_bounces|"
        "pixel_filter_type|filter_width", OWN),
    Row("Scene, cycles", "device|feature_set|shading_system|sampling_pattern|.*scrambling_distance|"
        "direct_light_sampling_type|min_transparent_bounces|(?!volume).*guiding.*|debug_.*|tile_size|use_auto_tile|texture_limit.*", NOISE),
    Row("Scene, cycles", "use_denoising|denois.*", "SORT has a box of its own, which is off"),
    Row("Scene, cycles", "volume_.*", VOLUMES),
    Row("Scene, cycles", "dicing_.*|max_subdivisions|offscreen_dicing_scale", ADAPTIVE),
    Row("Scene, cycles", "film_transparent_roughness", "of Transparent Glass, of which is said that it is not there"),
    Row("SORT|Scene, cycles", "bake_type", "of baking"),
    Row("Scene, cycles", "camera_cull_margin|distance_cull_margin", CULLING),
    Row("Scene, cycles", "rolling_shutter_duration", "of a rolling shutter, of which is said that it is not there"),
    Row("Scene, cycles", "fast_gi_method|ao_bounces.*", FAST_GI),
    Row("Scene, cycles", "transparent_max_bounces", "SORT goes through as many surfaces as there are, to 128"),
    Row("Scene, cycles_curves", "subdivisions", "how finely Cycles splits strands"),
    # --- of Blender 4 and 5 ---
    Row("Camera", "composition_guide_color", EDITING, is_later=True),
    Row("Camera", "central_cylindrical_.*|custom_.*", "of panoramas that end the render with a message", is_later=True),
    Row("World", "use_eevee_finite_volume|probe_resolution|sun_.*|use_sun_.*", EEVEE, is_later=True),
    Row("Scene", "time_jump_.*|annotation", EDITING, is_later=True),
    Row("Scene", "use_custom_simulation_range|simulation_frame_.*", EVALUATED, is_later=True),
    Row("Scene", "compositing_node_group", OUTPUT, is_later=True),
    Row("Render", "ppm_.*|compositor_.*", OUTPUT, is_later=True),
    Row("Render", "use_simplify_normals", EDITING, is_later=True),
    Row("ViewLayer", "use_grease_pencil", "grease pencil is drawn by Blender", is_later=True),
    Row("Collection", "active_exporter_index", EDITING, is_later=True),
    Row("Mesh", "radial_symmetry", EDITING, is_later=True),
    Row("Material.*", "surface_render_method|use_transparency_overlap|use_backface_culling_.*|use_raytrace_refraction|thickness_mode|"
        "use_thickness_from_shadow|volume_intersection_method|max_vertex_displacement", EEVEE, is_later=True),
    Row(".* light", "transmission_factor|shadow_(filter_radius|maximum_resolution|jitter_overblur)|use_shadow_jitter|"
        "use_absolute_resolution", EEVEE, is_later=True),
    Row("Area light", "shadow_soft_size", "an area light has a size", is_later=True),
    Row("Scene, cycles", "use_sample_subset|sample_subset_length", OWN, is_later=True),
    Row("Scene, cycles", "use_light_tree", NOISE, is_later=True),
    Row("ViewLayer, cycles", "pass_render_time", "of Cycles' own measurements", is_later=True),
    Row("Material.*, cycles", "emission_sampling", NOISE, is_later=True),
    Row("Object.*", "visible_raycast", "of the node Raycast, of which is said that it is not there", is_later=True),
    Row("Scene", "allow_preroll|playback_loop_mode", EDITING, is_later=True),
    Row("Render", "anisotropic_filter", EEVEE, is_later=True),
    Row("Render", "save_output", OUTPUT, is_later=True),
    Row("Render", "use_(auto_generate_)?texture_cache", NOISE, is_later=True),
    Row("Scene, cycles", "use_pixel_jitter|texture_resolution.*", NOISE, is_later=True),
    Row("ViewLayer, cycles", "denoising_pass_.*", "of the guides of Cycles' denoisers", is_later=True),
    Row("SORT", "preview_samples|use_preview_denoising", "of viewports"),
    Row("SORT", "animate_seed", "of later frames"),
    Row("SORT", "keeps_interrupted", "of renders that are stopped; test_addon_process.py"),
]
if bpy.app.version >= (5, 0, 0):
    IGNORED += [Row("World", "color|use_nodes", "nodes always count"), Row("Material.*", "diffuse_color|use_nodes", "nodes always count")]
