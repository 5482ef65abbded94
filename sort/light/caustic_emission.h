/* Rays of light aimed at casters of caustics, for paths that begin at lights with is_caustics_light (caustic_light.h).
 *
 * The environment may be one of the lights. A light and a caster are drawn together, by what the one sends to the other, nearly; then a place on the light, evenly, and a
 * direction into the cone about the caster's bounding sphere, or a place on the disc that the sphere shows to a light at infinity. Other
 * casters in the way count: the density is the sum over all of them. Many casters are held by few spheres.
 *
 * Immutable once made, and borrows the Lights: any thread. */
#ifndef SORT_LIGHT_CAUSTIC_EMISSION_H
#define SORT_LIGHT_CAUSTIC_EMISSION_H

#include "sort/light/light_emission.h"

typedef struct CausticEmission CausticEmission;

/* There must be lights, casters and receivers of caustics. On success *out_emission is the caller's. STATUS_NO_MEMORY. */
Status caustic_emission_create(const Lights *lights, CausticEmission **out_emission,
                               Error *err) SORT_MUST_CHECK;
void caustic_emission_destroy(CausticEmission *emission); /* NULL is fine */

enum { CAUSTIC_SKY = 0xffffffffu };

/* A place of a light, and the direction of light that leaves there, in which rays of paths that scattering finds come. */
typedef struct CausticDeparture {
    uint32_t light; /* of Scene.lights, or CAUSTIC_SKY */
    float3 place;   /* on its surface, or on a ray from infinity */
    float3 direction;
} CausticDeparture;

/* Draws a ray; its value is KNOWN or ENVIRONMENT. *out_light: of Scene.lights, or CAUSTIC_SKY; *out_density: of its departure, or INFINITY if rays do not meet the
 * light. False: nothing leaves there, which counts as a ray. */
bool caustic_emission_sample(const CausticEmission *emission, const LightEmissionDraw *draw,
                             EmittedRay *out_ray, uint32_t *out_light, float *out_density);
/* Returns the density with which a departure is drawn, per solid angle and area at right angles to the direction: what paths that
 * bend without being scattered keep. 0: the light is none of those, or nothing is aimed there. */
float caustic_emission_density(const CausticEmission *emission, const CausticDeparture *departure);

#endif
