/* Paths of light that look for caustics: from lights of caustics through casters to what the camera sees. Private to the stages.
 *
 *   lens - receiver x - casters, each of which reflects or refracts without a blur - lamp
 *
 * Scattering finds such a path from the one end, if the lamp is a surface, and paths of light (light_paths.h) from the other. Of
 * these densities, both per area and solid angle at x,
 *
 *   scattering      (pixels / sr) |we . n| / distance^2  p(wl)
 *   paths of light  q |wl . n|, times the paths for a sample of each pixel
 *
 * the first has the density p of the surface's lobes, the second that q with which a ray leaves the lamp (caustic_emission.h), which
 * smooth casters keep per area at right angles and solid angle. Both strategies are weighted by the power heuristic [Veach1997
 * ch. 9]. The chances of lobes of casters are nearly the same from both ends, and are left out of both. Next to the lens, on
 * small parts of large caustics and on glossy surfaces scattering takes over. Light that no path from the camera meets is found by
 * paths of light alone.
 *
 * Receivers that are seen in mirrors, through glass or after a bounce have walks (caustics.h). */
#ifndef SORT_INTEGRATOR_CAUSTIC_PATHS_H
#define SORT_INTEGRATOR_CAUSTIC_PATHS_H

#include "sort/integrator/light_paths.h"

/* Where a path that the camera sees comes to the first caster. */
typedef struct CausticJoint {
    float3 P, Ng; /* of the receiver */
    float3 wl;    /* unit, to the caster */
    float time;
    float pdf; /* with which scattering draws wl */
    /* With which a ray of light departs; INFINITY: no path from the camera meets that light. */
    float density;
} CausticJoint;

/* Returns whether paths of light look for caustics of this render. */
static inline bool caustic_paths_exist(const Wave *w)
{
    return w->light_paths && w->light_paths->is_for_caustics;
}
/* Returns the most casters on such a path, so that no limit of bounces ends it, whatever lobe scatters it at the receiver. */
uint32_t caustic_paths_room(const SceneSettings *settings);
/* Returns whether a path of light may go through the caster: its material does not depend on what comes before. */
bool caustic_paths_pass(const Wave *w, uint32_t instance, uint32_t material);
/* Returns whether paths of light bring light to an instance that the camera sees. */
bool caustic_paths_reach(const Wave *w, uint32_t instance);
/* Returns the weight of what a path of light brings. That of scattering is 1 minus this. */
float caustic_paths_weight(const Wave *w, const CausticJoint *joint);

/* Sets what is only of caustics in w->light_paths. Error: memory. */
Status caustic_paths_create(Wave *w, Arena *arena, Error *err) SORT_MUST_CHECK;

#endif
