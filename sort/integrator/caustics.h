/* Caustics: light of lamps with is_caustics_light that casters refract on receivers. Private to the stages.
 *
 * Two strategies find it, as with other light. From each point of a receiver a place on such a lamp is drawn, and a walk
 * looks for the path to it through the casters (caustic_walk.h). Paths that are scattered at a receiver, refracted by casters
 * and meet such a lamp find the same light; they repeat the walk to the place that they met. If it leads back to their own
 * beginning, walks find this path with a density that is known, and both strategies are weighted by the power heuristic
 * [Veach1997 ch. 9]; if not, no walk finds the path, and all of its light counts. So nothing is lost where walks fail, and
 * nothing counts twice. Lamps that rays do not meet are found by walks alone.
 *
 * Between a receiver and such a lamp casters are as sharp as their materials are, whatever Filter Glossy blurs elsewhere. */
#ifndef SORT_INTEGRATOR_CAUSTICS_H
#define SORT_INTEGRATOR_CAUSTICS_H

#include "sort/integrator/caustic_walk.h"

/* A path that was scattered at a receiver and, since then, only by casters. */
typedef struct CausticTrail {
    bool is_active;
    bool is_of_light; /* paths of light find it, not walks (caustic_paths.h) */
    /* Paths of light know all that scattered the path so far, of which the first was at x0. */
    bool is_known;
    float3 seen_P, seen_n,
        seen_wi; /* of x0; in which the path was scattered there, and the density of that */
    float seen_pdf;
    uint32_t count; /* surfaces passed */
    CausticStart start;
    float3 wi; /* in which the path was scattered at the receiver */
    float pdf; /* of that direction, times the chances of the lobes since */
    /* If it is of light: the last caster, and the density with which that drew where the path goes; INFINITY: without a blur. */
    float3 last_P;
    float last_pdf;
} CausticTrail;

typedef struct Caustics {
    CausticWalker walker;
    CausticTrail *trails; /* by path */
    uint32_t *rooms;      /* by path: CausticStart.room where it stands; 0: no walk begins there */
    bool *of_light;       /* by path: CausticTrail.is_of_light of one that begins there */
} Caustics;

/* Sets w->caustics if walks or paths of light look for caustics. Error: memory. */
Status caustics_create(Wave *w, Arena *arena, Error *err) SORT_MUST_CHECK;
/* Forgets the trails of all paths. */
void caustics_begin(Wave *w);
/* Follows a path that is about to be scattered; before its state changes. */
void caustics_follow(Wave *w, uint32_t i, const BsdfBlock *block, SurfaceLane surface,
                     const BsdfDrawn *drawn);
/* The path has passed a light. */
void caustics_leave(Wave *w, uint32_t i);
/* The path enters a body. */
void caustics_enter_body(Wave *w, uint32_t i);
/* Returns whether the surface that path i has met is a caster on its way from a receiver. */
bool caustics_is_bent(const Wave *w, uint32_t i, uint32_t instance);
/* Takes light of a lamp's shape that path i met t metres on, or of an infinite source (lights_infinite_hit), if walks
 * may find it too. light: times the path's throughput. Returns false if it is to be added as it is. */
bool caustics_take_met(Wave *w, uint32_t i, uint32_t light_index, float t, Spectrum light,
                       const LightArrival *arrival);
/* Returns the weight of light of the environment that path i sees, or of a mesh that it has met: 1, or less if paths of light look
 * for it. */
float caustics_weight_of_sky(const Wave *w, uint32_t i);
float caustics_weight_of_mesh(const Wave *w, uint32_t i, SurfaceLane surface);
/* Returns the weight of what light sampling brings to the surface of path i: 1, or less where it is a caster for which paths of light
 * look for the same. pdf: with which scattering draws the light's direction. */
float caustics_weight_of_sample(const Wave *w, uint32_t i, const BsdfBlock *block,
                                SurfaceLane surface, const LightRows *lights, float pdf);
bool caustics_take_seen(Wave *w, uint32_t i, uint32_t source, Spectrum light,
                        const LightArrival *arrival);

#endif
