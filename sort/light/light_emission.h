/* Rays of light as they leave what shines, for paths that begin there [Veach1997 ch. 10].
 *
 * A source is drawn in proportion to its power, a place on it evenly, and a direction by what it sends out: by the cosine from
 * surfaces, evenly into the cone of a spot or a spread. Infinite sources shine from a disc across their direction, as wide as
 * the scene. The rays carry what lights_sample promises the same sources to bring to any point: both count the same light.
 *
 * LightEmission is immutable once made, and borrows the Lights: any thread. */
#ifndef SORT_LIGHT_LIGHT_EMISSION_H
#define SORT_LIGHT_LIGHT_EMISSION_H

#include "sort/light/light.h"

typedef struct LightEmission LightEmission;

typedef struct LightEmissionDesc {
    size_t size_bytes; /* sizeof(LightEmissionDesc) */
    const Lights *lights;
    /* [material_count] LIGHT_EMITS_x: sides that may emit; read only while it is made. NULL: both. */
    const uint8_t *material_sides;
} LightEmissionDesc;

/* On success *out_emission is the caller's. STATUS_NO_MEMORY. */
Status light_emission_create(const LightEmissionDesc *desc, LightEmission **out_emission,
                             Error *err) SORT_MUST_CHECK;
void light_emission_destroy(LightEmission *emission); /* NULL is fine */

/* What a ray is drawn by: random numbers in [0, 1), of which `choice` has all the bits of a double. */
typedef struct LightEmissionDraw {
    double choice;           /* the source, and the triangle of a mesh */
    float2 place, direction; /* on the source; where to */
    float side;              /* of surfaces that shine to both */
    float time;              /* of the shutter */
} LightEmissionDraw;

enum { LIGHT_EMITTED_BY_NO_SHAPE = 0xffffffffu };

typedef struct EmittedRay {
    float3 direction; /* unit */
    /* Where it leaves from: of points n is `direction`, and error_m 0. */
    SurfacePoint from;
    bool is_infinite; /* `from` stands for a place infinitely far away against the direction */
    uint32_t light;   /* a shape of Scene.lights that it leaves, or LIGHT_EMITTED_BY_NO_SHAPE */
    /* Power over the density of the ray; of MESH and ENVIRONMENT it is a factor on radiance that is to be looked up. */
    Spectrum power;
    LightValue value;
    uint32_t instance, triangle; /* MESH */
    float b1, b2;
    EnvironmentPlace place; /* ENVIRONMENT: of the direction against the ray's in the image */
} EmittedRay;

/* Draws a ray. False: nothing leaves there, which counts as a ray. */
bool light_emission_sample(const LightEmission *emission, const LightEmissionDraw *draw,
                           EmittedRay *out_ray);
/* Returns whether the shape that a ray left shines on a place that the ray has met at `distance_m` from there: disks of points
 * and spots with a radius face the place, and so depend on it. */
bool light_emission_reaches(const Lights *lights, uint32_t light, float3 place, float3 direction,
                            float distance_m);

#endif
