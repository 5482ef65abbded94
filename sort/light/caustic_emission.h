/* Rays of light aimed at casters of caustics, for paths that begin at lights.
 *
 * Either flags tell: casters and receivers of the scene, lamps and an environment with is_caustics_light, and all emissive meshes,
 * which have no such flag; or casters are given, and every surface receives what they throw of every light. Curves neither receive
 * nor shine, and meshes that move do not shine. A light and a caster are drawn together, by what the one sends to the other,
 * nearly; then a place on the light, evenly, and a direction into the cone about the caster's bounding sphere, or a place on the
 * disc that the sphere shows to a light at infinity. Other casters in the way count: the density is the sum over all of them. Many
 * casters are held by few spheres.
 *
 * Immutable once made, and borrows the Lights: any thread. */
#ifndef SORT_LIGHT_CAUSTIC_EMISSION_H
#define SORT_LIGHT_CAUSTIC_EMISSION_H

#include "sort/light/light_emission.h"

typedef struct CausticEmission CausticEmission;

typedef struct CausticEmissionDesc {
    size_t size_bytes; /* sizeof(CausticEmissionDesc) */
    const Lights *lights;
    const bool *casters; /* [instance_count], read only while it is made; NULL: flags tell */
    /* [material_count] casters of these scatter light by all of their lobes; NULL: by those without a blur alone. Copied. */
    const bool *glossy_materials;
    /* [material_count] what these emit depends on the path that meets it: scattering alone finds it. NULL: none. Read only while
     * it is made. */
    const bool *fickle_materials;
} CausticEmissionDesc;

/* On success *out_emission is the caller's, or NULL if there are no such lights, casters or receivers. STATUS_NO_MEMORY. */
Status caustic_emission_create(const CausticEmissionDesc *desc, CausticEmission **out_emission,
                               Error *err) SORT_MUST_CHECK;
void caustic_emission_destroy(CausticEmission *emission); /* NULL is fine */

/* Returns whether an instance throws caustics, and whether it is lit by them. */
bool caustic_emission_casts(const CausticEmission *emission, uint32_t instance);
bool caustic_emission_lights(const CausticEmission *emission, uint32_t instance);
/* Returns whether an instance of this material throws caustics by lobes with a blur, too. */
bool caustic_emission_is_glossy(const CausticEmission *emission, uint32_t instance,
                                uint32_t material);

/* Returns whether there is one. */
bool caustic_emission_has_glossy(const CausticEmission *emission);

/* Lights that are not in Scene.lights; an instance's index is added to CAUSTIC_MESH. */
enum { CAUSTIC_SKY = 0xffffffffu, CAUSTIC_MESH = 0x80000000u };

/* A place of a light, and the direction of light that leaves there, in which rays of paths that scattering finds come. */
typedef struct CausticDeparture {
    uint32_t light; /* of Scene.lights, CAUSTIC_SKY, or CAUSTIC_MESH and an instance */
    float3 place;   /* on its surface, or on a ray from infinity */
    float3 direction;
    uint32_t triangle; /* of a mesh, and its geometric normal */
    float3 normal;
} CausticDeparture;

/* Draws a ray. *out_density: of its departure, or INFINITY if rays do not meet the light. False: nothing leaves there, which counts as
 * a ray. */
bool caustic_emission_sample(const CausticEmission *emission, const LightEmissionDraw *draw,
                             EmittedRay *out_ray, CausticDeparture *out_departure,
                             float *out_density);
/* Returns the lobes' part of the density with which a last caster draws the departure by its lobes or by light sampling. pdf: of the
 * lobes; that of light sampling is that of sampling this light alone, nearly, from distance_m away. 1 for a pdf of INFINITY, of lobes
 * without a blur. */
float caustic_emission_scattered(const CausticEmission *emission, const CausticDeparture *departure,
                                 float distance_m, float pdf);
/* Returns that part times the density with which a departure is drawn, per solid angle and area at right angles to the direction: what
 * paths that bend without being scattered keep. 0: the light is none of those, or nothing is aimed there. */
float caustic_emission_density(const CausticEmission *emission, const CausticDeparture *departure,
                               float distance_m, float pdf);
/* Returns the departure of the light that a lane of `rows` has drawn for a point. */
CausticDeparture caustic_emission_departure(const CausticEmission *emission, const LightRows *rows,
                                            uint32_t lane, float3 point);

#endif
