"""Cases of closures: a ball each, under a sun and a grey sky."""

import bpy

import blender_scene as kit
from node_tiles import FIBRES, IS_4, SURFACES, Case, add_curve, inputs_of, is_there, surface

surface("Diffuse BSDF", "ShaderNodeBsdfDiffuse", 0.03, None, Roughness=0.5)
surface("Glossy BSDF", "ShaderNodeBsdfGlossy", 0.04, {"distribution": "GGX"}, Roughness=0.4)
surface("Glossy BSDF, Beckmann", "ShaderNodeBsdfGlossy", 0.03, {"distribution": "BECKMANN"}, Roughness=0.4)
surface("Anisotropic BSDF", "ShaderNodeBsdfAnisotropic", 0.04, {"distribution": "GGX"}, Roughness=0.4, Anisotropy=0.5)
surface("Glass BSDF", "ShaderNodeBsdfGlass", 0.03 if IS_4 else 0.02, {"distribution": "GGX"}, Roughness=0.2)
surface("Refraction BSDF", "ShaderNodeBsdfRefraction", 0.02, {"distribution": "GGX"}, Roughness=0.2)
surface("Translucent BSDF", "ShaderNodeBsdfTranslucent", 0.03)
surface("Transparent BSDF", "ShaderNodeBsdfTransparent", 0.03, None, Color=(0.8, 0.5, 0.2, 1))
surface("Velvet BSDF", "ShaderNodeBsdfVelvet", 0.03, None, Sigma=0.5)
surface("Toon BSDF", "ShaderNodeBsdfToon", 0.03, {"component": "DIFFUSE"})
surface("Emission", "ShaderNodeEmission", 0.01, None, Color=(0.8, 0.5, 0.2, 1))
surface("Background", "ShaderNodeBackground", 0.01, None, Color=(0.8, 0.5, 0.2, 1))
if not IS_4:  # here, since balls are seen in their neighbours
    surface("Principled BSDF, plastic", "ShaderNodeBsdfPrincipled", 0.05, None, Sheen=1.0, Clearcoat=1.0,
            Base_Color=(0.7, 0.3, 0.1, 1))
    surface("Principled BSDF, metal", "ShaderNodeBsdfPrincipled", 0.05, None, Metallic=1.0, Anisotropic=0.7, Roughness=0.4)
surface("Subsurface Scattering", "ShaderNodeSubsurfaceScattering", 0.03, None, Scale=0.1)
surface("Principled Hair BSDF", "ShaderNodeBsdfHairPrincipled", 0.02, None, True, Color=(0.6, 0.4, 0.2, 1), Offset=0.1)


def pair(kind):
    def build(tile):
        a = tile.output("ShaderNodeBsdfDiffuse", 0, None, Color=(0.5, 0.2, 0.1, 1))
        b = tile.output("ShaderNodeBsdfTranslucent", 0, None, Color=(0.1, 0.2, 0.5, 1))
        node = tile.new(f"ShaderNode{kind}Shader")
        sockets = [s for s in node.inputs if s.type == "SHADER"]
        kit.link(a, sockets[0])
        kit.link(b, sockets[1])
        return node.outputs[0]
    SURFACES.append(Case(f"{kind} Shader", f"ShaderNode{kind}Shader", 0.03, build))


for each in ("Mix", "Add"):
    pair(each)


def displaced_by_a_vector(tile):
    wave = tile.output("ShaderNodeTexWave", "Fac", None, Scale=0.3)
    zero = tile.new("ShaderNodeValue").outputs[0]
    output = next(n for n in tile.material.node_tree.nodes if n.type == "OUTPUT_MATERIAL")
    kit.link(tile.output("ShaderNodeVectorDisplacement", 0, {"space": "TANGENT"}, Scale=0.1,
                         Vector=tile.join(zero, wave, zero)), output.inputs["Displacement"])
    return tile.output("ShaderNodeBsdfDiffuse", 0)


SURFACES.append(Case("Vector Displacement as bump", "ShaderNodeVectorDisplacement", 0.04, displaced_by_a_vector))
surface("Hair BSDF", "ShaderNodeBsdfHair", 0.04, None, True, RoughnessU=0.3, RoughnessV=0.5, Offset=-0.1)


def displaced(tile):
    wave = tile.output("ShaderNodeTexWave", "Fac", None, Scale=0.3)
    output = next(n for n in tile.material.node_tree.nodes if n.type == "OUTPUT_MATERIAL")
    kit.link(tile.output("ShaderNodeDisplacement", 0, None, Height=wave, Scale=0.1), output.inputs["Displacement"])
    return tile.output("ShaderNodeBsdfDiffuse", 0)


SURFACES.append(Case("Displacement as bump", "ShaderNodeDisplacement", 0.04, displaced))


def hair_on_a_mesh(tile):
    around = tile.output("ShaderNodeTangent", 0, {"direction_type": "RADIAL", "axis": "Y"})
    return tile.output("ShaderNodeBsdfHair", 0, {"component": "Transmission"}, RoughnessU=0.3, RoughnessV=0.4, Tangent=around)


SURFACES.append(Case("Hair BSDF, transmission", "ShaderNodeBsdfHair", 0.03, hair_on_a_mesh))
surface("Subsurface Scattering, fixed radius", "ShaderNodeSubsurfaceScattering", 0.05 if bpy.app.version < (5, 1, 0) else 0.07, {"falloff": "RANDOM_WALK" if IS_4 else "RANDOM_WALK_FIXED_RADIUS"},
        Color=(0.8, 0.5, 0.2, 1), Scale=2.0, Anisotropy=0.5)
if not IS_4:
    surface("Principled BSDF, subsurface", "ShaderNodeBsdfPrincipled", 0.04, {"subsurface_method": "RANDOM_WALK"}, Subsurface=0.3,
            Subsurface_Color=(0.9, 0.5, 0.2, 1), Specular=0.0)
else:
    PRINCIPLED = "ShaderNodeBsdfPrincipled"
    surface("Principled BSDF, plastic", PRINCIPLED, 0.02, None, Base_Color=(0.7, 0.3, 0.1, 1))
    surface("Principled BSDF, index and tint", PRINCIPLED, 0.02, None, Base_Color=(0.7, 0.3, 0.1, 1), IOR=1.8, Roughness=0.3,
            Specular_IOR_Level=0.8, Specular_Tint=(0.4, 0.7, 1, 1))
    surface("Principled BSDF, coat", PRINCIPLED, 0.02, None, Base_Color=(0.2, 0.3, 0.6, 1), Coat_Weight=0.8, Coat_Roughness=0.2,
            Coat_IOR=1.6, Coat_Tint=(0.9, 0.6, 0.4, 1))
    surface("Principled BSDF, metal", PRINCIPLED, 0.02, None, Metallic=1.0, Roughness=0.4)
    surface("Principled BSDF, brushed metal", PRINCIPLED, 0.03, None, Metallic=1.0, Anisotropic=0.7, Roughness=0.4,
            Anisotropic_Rotation=0.1)
    surface("Principled BSDF, metal with an edge tint", PRINCIPLED, 0.02, None, Metallic=1.0, Roughness=0.4,
            Base_Color=(0.9, 0.7, 0.4, 1), Specular_Tint=(0.8, 0.3, 0.1, 1))
    surface("Principled BSDF, glass", PRINCIPLED, 0.03, None, Transmission_Weight=1.0, Roughness=0.3, Base_Color=(0.9, 0.7, 0.5, 1))
    surface("Principled BSDF, emission and alpha", PRINCIPLED, 0.02, None, Emission_Color=(0.2, 0.5, 0.9, 1), Emission_Strength=0.4,
            Alpha=0.6)
    surface("Principled BSDF, sheen", PRINCIPLED, 0.02, None, Base_Color=(0.1, 0.1, 0.1, 1), Sheen_Weight=1.0, Sheen_Roughness=0.4)
    surface("Principled BSDF, subsurface", PRINCIPLED, 0.04, None, Subsurface_Weight=1.0, Subsurface_Scale=0.1,
            Specular_IOR_Level=0.0)
    if "Diffuse Roughness" in inputs_of(PRINCIPLED):
        surface("Principled BSDF, rough diffuse", PRINCIPLED, 0.02, None, Base_Color=(0.7, 0.6, 0.5, 1), Diffuse_Roughness=0.8)

    surface("Principled BSDF, skin", PRINCIPLED, 0.04, {"subsurface_method": "RANDOM_WALK_SKIN"}, Base_Color=(0.8, 0.5, 0.3, 1),
            Subsurface_Weight=1.0, Subsurface_Scale=0.3)
    surface("Subsurface Scattering, skin", "ShaderNodeSubsurfaceScattering", 0.04, {"falloff": "RANDOM_WALK_SKIN"},
            Color=(0.8, 0.5, 0.3, 1), Scale=0.3)
    surface("Subsurface Scattering, less rough", "ShaderNodeSubsurfaceScattering", 0.04, {"falloff": "RANDOM_WALK"},
            Color=(0.8, 0.5, 0.3, 1), Scale=2.0, Roughness=0.3, IOR=1.6)
    surface("Glass BSDF, Beckmann", "ShaderNodeBsdfGlass", 0.03, {"distribution": "BECKMANN"}, Roughness=0.3)
    surface("Glass BSDF, coloured, without loss", "ShaderNodeBsdfGlass", 0.04, {"distribution": "MULTI_GGX"}, Roughness=0.5,
            Color=(0.9, 0.7, 0.5, 1))
    surface("Principled BSDF, thin film", PRINCIPLED, 0.03, None, Base_Color=(0.1, 0.1, 0.1, 1), IOR=1.8, Roughness=0.3,
            Thin_Film_Thickness=420.0, Thin_Film_IOR=1.33)
    surface("Principled BSDF, thin film on glass", PRINCIPLED, 0.03, None, Transmission_Weight=1.0, Roughness=0.3, IOR=1.5,
            Thin_Film_Thickness=350.0, Thin_Film_IOR=2.0)
    if "Thin Film Thickness" in inputs_of("ShaderNodeBsdfGlass"):
        surface("Glass BSDF, thin film", "ShaderNodeBsdfGlass", 0.03, {"distribution": "MULTI_GGX"}, Roughness=0.2,
                Thin_Film_Thickness=500.0, Thin_Film_IOR=1.8)

METALLIC = "ShaderNodeBsdfMetallic"
surface("Metallic BSDF", METALLIC, 0.03, None, Roughness=0.3)
surface("Metallic BSDF, dark edge", METALLIC, 0.02, {"distribution": "GGX"}, Roughness=0.5, Edge_Tint=(0.3, 0.1, 0.05, 1))
surface("Metallic BSDF, brushed", METALLIC, 0.03, None, Roughness=0.4, Anisotropy=0.6, Rotation=0.2)
surface("Metallic BSDF, physical", METALLIC, 0.03, {"fresnel_type": "PHYSICAL_CONDUCTOR"}, Roughness=0.3)
surface("Metallic BSDF, Beckmann", METALLIC, 0.03, {"distribution": "BECKMANN"}, Roughness=0.3)
if is_there(METALLIC) and "Thin Film Thickness" in inputs_of(METALLIC):
    surface("Metallic BSDF, thin film", METALLIC, 0.02, None, Roughness=0.3, Thin_Film_Thickness=400.0, Thin_Film_IOR=1.5)
    surface("Metallic BSDF, physical, thin film", METALLIC, 0.02, {"fresnel_type": "PHYSICAL_CONDUCTOR"}, Roughness=0.3,
            Thin_Film_Thickness=300.0, Thin_Film_IOR=1.8)
    surface("Principled BSDF, metal with a thin film", PRINCIPLED, 0.02, None, Metallic=1.0, Roughness=0.2,
            Base_Color=(0.9, 0.7, 0.4, 1), Thin_Film_Thickness=350.0)
surface("Sheen BSDF, Ashikhmin", "ShaderNodeBsdfSheen", 0.03, {"distribution": "ASHIKHMIN"}, Roughness=0.5)
surface("Sheen BSDF", "ShaderNodeBsdfSheen", 0.02, None, Roughness=0.5)
surface("Sheen BSDF, coloured and narrow", "ShaderNodeBsdfSheen", 0.02, None, Roughness=0.2, Color=(0.9, 0.4, 0.2, 1))


def random_of_the_camera(tile, node):
    """A Random of 0.8 for camera rays, and 0 for others, which is not folded to a number."""
    seen = tile.output("ShaderNodeLightPath", "Is Camera Ray")
    kit.link(tile.output("ShaderNodeMath", 0, {"operation": "MULTIPLY"}, Value=seen, Value_001=0.8), node.inputs["Random"])


def fibre(name, settings=None, make=None, tolerance=0.015, finish=None, **inputs):
    """Principled Hair by Huang; inputs by their identifiers, since those of this model are hidden until the node is seen."""
    def build(tile):
        node = tile.new(HAIR, {"model": "HUANG", **(settings or {})})
        for each, given in {"Color": (0.6, 0.4, 0.2, 1), "Aspect_Ratio": 1.0, **inputs}.items():
            next(s for s in node.inputs if s.identifier == each.replace("_", " ")).default_value = given
        if finish:
            finish(tile, node)
        return node.outputs[0]
    FIBRES.append(Case(name, HAIR, tolerance, build, True, make))


HAIR = "ShaderNodeBsdfHairPrincipled"
if "Aspect Ratio" in inputs_of(HAIR):  # since 4.0
    fibre("Principled Hair BSDF, Huang")
    fibre("Principled Hair BSDF, Huang, flat", tolerance=0.015 if bpy.app.version < (5, 1, 0) else 0.04, Aspect_Ratio=0.7, Roughness=0.2)
    fibre("Principled Hair BSDF, Huang, melanin", {"parametrization": "MELANIN"}, Melanin=0.4, Melanin_Redness=0.3, Tint=(0.9, 0.8, 0.7, 1),
          finish=random_of_the_camera, Random_Color=0.7, Random_Roughness=0.5)
    fibre("Principled Hair BSDF, Huang, absorption", {"parametrization": "ABSORPTION"}, Absorption_Coefficient=(0.2, 0.5, 1.0), Offset=0.1)
    fibre("Principled Hair BSDF, Huang, smooth", Roughness=0.1, IOR=1.4)
    fibre("Principled Hair BSDF, Huang, rough", tolerance=0.02, Roughness=0.8)
    fibre("Principled Hair BSDF, Huang, reflection", TT_lobe=0.0, TRT_lobe=0.0)
    fibre("Principled Hair BSDF, Huang, transmission", R_lobe=0.0, TRT_lobe=0.0)
    fibre("Principled Hair BSDF, Huang, secondary reflection", R_lobe=0.0, TT_lobe=0.0, Color=(0.9, 0.8, 0.7, 1))
    fibre("Principled Hair BSDF, Huang, flat along normals", make=add_curve, Aspect_Ratio=0.5, Roughness=0.2)
    fibre("Principled Hair BSDF, Huang, flat across normals", make=add_curve, tolerance=0.02, Aspect_Ratio=1.7, Offset=-0.1)
    fibre("Principled Hair BSDF, Huang, black", Color=(0.02, 0.01, 0.005, 1))
