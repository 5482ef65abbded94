/* Paths of light that look for caustics: from lights through casters to what the camera sees. Private to the stages.
 *
 *   lens - x0 - x1 - ... - xk - casters, each of which reflects or refracts with little blur or none - lamp
 *
 * The receiver xk scatters the light, and so may others after it; smooth surfaces may lie between them. The camera sees x0, which
 * is xk in most cases. Scattering finds such a path from the one end, if the lamp is a surface, and paths of light (light_paths.h)
 * from the other. Of these densities,
 *
 *   scattering      (pixels / sr) |we . n0| / distance^2  p(wl)
 *   paths of light  q |wl . n0|, times the paths for a sample of each pixel
 *
 * the first has the density p of the lobes at x0, the second that q with which a ray leaves the lamp (caustic_emission.h), which
 * smooth casters keep per area at right angles and solid angle. So do lobes with a blur, nearly: at one and the same surface lobes
 * draw wl per |wl . n| as densely for a viewer at we as they draw we per |we . n| for one at wl. Both strategies are weighted by the
 * power heuristic of these numbers [Veach1997 ch. 9], whether they are the densities or not: both ends compute the same, so that
 * the weights sum to 1. Next to the lens, on small parts of large caustics and where x0 is glossy, scattering takes over. Light that
 * no path from the camera meets is found by paths of light alone.
 *
 * A caster with a blur that is the last one before the lamp may look for it by light sampling besides. Where its lobes draw the lamp
 * with the density p and light sampling with s, both together have p + s: q is multiplied by p / (p + s), and what either of both
 * finds has the same weight.
 *
 * Receivers behind mirrors and glass that the camera sees have walks (caustics.h), and so have all that lie behind what is unknown
 * at the lamp: materials that ask for the path's bounces or length, transparent surfaces, bodies, and ways through surfaces whose
 * normals a material bends, which may be bent otherwise on the other side. */
#ifndef SORT_INTEGRATOR_CAUSTIC_PATHS_H
#define SORT_INTEGRATOR_CAUSTIC_PATHS_H

#include "sort/integrator/light_paths.h"

/* What both ends know of a path. */
typedef struct CausticJoint {
    float3 P, Ng; /* of x0 */
    float time;
    float pdf; /* with which scattering draws wl there */
    /* q |wl . n0|; INFINITY: no path from the camera meets that light. */
    float arrival;
} CausticJoint;

/* Returns whether paths of light look for caustics of this render. */
static inline bool caustic_paths_exist(const Wave *w)
{
    return w->light_paths && w->light_paths->is_for_caustics;
}
/* Returns the most casters on a path behind a receiver at which the camera's path has been scattered `depth` times before, so that
 * no limit of bounces ends it, whatever lobes scatter it. */
uint32_t caustic_paths_room(const Wave *w, uint32_t depth);
bool caustic_paths_cast(const Wave *w, uint32_t instance);
/* Returns whether an instance of this material is a caster by lobes with a blur, too. */
bool caustic_paths_blur(const Wave *w, uint32_t instance, uint32_t material);
bool caustic_paths_light(const Wave *w, uint32_t instance);
/* Returns whether what a material does to a path of light does not depend on what comes before. */
bool caustic_paths_know(const Wave *w, uint32_t material);
/* Returns whether a path of light may be scattered at an instance between the receiver and what the camera sees. */
bool caustic_paths_pass(const Wave *w, uint32_t instance, uint32_t material);
/* Returns whether a path of light may come along wi and be sent to the viewer of a lane, given that it comes from there in the same
 * way. Normals that a material bends may be others on the other side of the surface (bumps are), or for other viewers. flags:
 * SSL_LOBE_* of the lobe. */
bool caustic_paths_return(const Wave *w, const BsdfBlock *block, SurfaceLane surface, float3 wi,
                          uint32_t flags);
/* Returns the weight of what a path of light brings. That of scattering is 1 minus this. */
float caustic_paths_weight(const Wave *w, const CausticJoint *joint);

/* What light of a path of light, as it is splatted, tells of how much scattering and paths of light would vary: sums of such
 * squares over the paths of light of a picture estimate second moments of what one sample brings, over the number of pixels and of
 * samples with a path of light. */
typedef struct CausticNoise {
    float alone, shared; /* of scattering: alone, and beside paths of light */
    float light;
} CausticNoise;

CausticNoise caustic_paths_noise(const Wave *w, const CausticJoint *joint, float light);

/* Sets what is only of caustics in w->light_paths. Error: memory. */
Status caustic_paths_create(Wave *w, Arena *arena, Error *err) SORT_MUST_CHECK;

#endif
