/* Lights as ends of paths that surfaces bend on their way (sort/integrator/caustic_walk.h): those with is_caustics_light. Places
 * on them are drawn evenly by area, or by solid angle on distant ones, whatever lies between. Any thread. */
#ifndef SORT_LIGHT_CAUSTIC_LIGHT_H
#define SORT_LIGHT_CAUSTIC_LIGHT_H

#include "sort/light/light.h"

/* What a bent path is to arrive at. */
typedef enum CausticTargetKind {
    CAUSTIC_POINT,    /* a light without a size */
    CAUSTIC_SURFACE,  /* a point of a surface */
    CAUSTIC_FACING,   /* a point of a disk that faces the last place from which the path comes */
    CAUSTIC_DIRECTION /* a direction to a distant light */
} CausticTargetKind;

typedef struct CausticTarget {
    CausticTargetKind kind;
    uint32_t light; /* of Scene.lights */
    float3 place;   /* the point; of a disk that faces the path its middle; the direction */
    float3 normal;  /* SURFACE */
    float2 offset;  /* FACING: from the middle, in the disk's frame */
    /* The density with which it is drawn, per area or solid angle; a probability if is_singular. */
    float pdf;
    bool is_singular; /* a point or a direction that no other is near to */
    bool is_delta;    /* rays do not meet the light */
} CausticTarget;

/* The last part of a bent path: a ray, with derivatives of its origin and direction by two coordinates of where the path began. */
typedef struct CausticEnd {
    float3 origin, direction;
    float3 d_origin[2], d_direction[2];
} CausticEnd;

/* How far a ray is from the target: at its nearest place to a point, t metres on, or in direction. */
typedef struct CausticMiss {
    float t;
    float2 by;      /* in a frame at right angles to the ray */
    float2 by_d[2]; /* its derivatives by the two coordinates */
} CausticMiss;

/* Returns the number of lights that may be drawn, 0 if there are no receivers or no casters: the environment and meshes are not
 * among them. */
uint32_t caustic_light_count(const Lights *lights);
/* Draws a light and a place on it, for a path that begins at `from`. False: there is none, though it counts as a sample. */
bool caustic_target_sample(const Lights *lights, float3 from, float2 u, CausticTarget *out_target);
/* Does so for a light with a shape that does not face who looks, without the choice of the light. *out_normal: unit. */
bool caustic_place_sample(const Lights *lights, uint32_t light, float3 from, float2 u,
                          float3 *out_place, float3 *out_normal);
/* Returns the density of that, per area, and of a place of a shape that faces who looks. */
float caustic_place_pdf(const Lights *lights, uint32_t light, float3 from, float3 place);
/* Finds the target that a ray has met, `t` metres on, with the density with which paths from `from` draw it. False: they do not.
 * light: a shape of Scene.lights. */
bool caustic_target_met(const Lights *lights, uint32_t light, float3 from, const Ray *ray, float t,
                        CausticTarget *out_target);
/* Does so for an infinite source (lights_infinite_hit) that a ray sees. */
bool caustic_target_seen(const Lights *lights, uint32_t index, float3 direction,
                         CausticTarget *out_target);

/* Finds the light of Scene.lights that an infinite source is. False: it is the environment. */
bool caustic_distant_light(const Lights *lights, uint32_t index, uint32_t *out_light);

/* Returns whether some caster may lie between a point and the target. */
bool caustic_target_may_bend(const Lights *lights, const CausticTarget *target, float3 from);
/* Returns the direction from a place to the target as if nothing lay between, and the distance, or INFINITY. */
float3 caustic_target_way(const Lights *lights, const CausticTarget *target, float3 from,
                          float *out_distance_m);
/* Computes by how much a ray misses. False: the target lies behind it. */
bool caustic_target_miss(const Lights *lights, const CausticTarget *target, const CausticEnd *end,
                         CausticMiss *out_miss);
/* Returns the density, per area of the coordinates, with which the beginning of a path is drawn that arrives t metres on. */
float caustic_target_density(const Lights *lights, const CausticTarget *target,
                             const CausticEnd *end, const CausticMiss *miss);
/* Returns the radiance of the target in the direction of a ray that arrives; of a singular one intensity or irradiance, as in
 * LightRows. */
Spectrum caustic_target_radiance(const Lights *lights, const CausticTarget *target,
                                 float3 direction);
const SceneLightVisibility *caustic_target_visibility(const Lights *lights,
                                                      const CausticTarget *target,
                                                      uint32_t *out_light_group);

#endif
