/* Walks: how a path from a surface bends through glass so that it arrives at a given place of a light.
 *
 * A path is traced from the surface through the casters that it meets, which refract it, to the place nearest to the target. Its
 * derivatives by the direction in which it began are carried along as a ray differential [Igehy1999], so that Newton's method
 * finds the direction whose path arrives, and how directions spread on the light. Every traced path is one that scattering could
 * have followed, whatever the casters' shapes; [Hanika2015] moves all vertices on their surfaces at once instead.
 *
 * A walk begins along the straight line to the target. What it finds is a function of its beginning and its target alone: paths
 * that scattering found can so be told from those that walks find (caustics.h). It finds at most one of the paths to a target,
 * and none
 *   - if no caster lies on the straight line, or Newton's method does not converge;
 *   - through surfaces that have no smooth lobe that refracts, or several, whose normals are bent by bumps, or whose materials
 *     depend on what the path was scattered by before;
 *   - if something else lies on the way, alpha surfaces too. */
#ifndef SORT_INTEGRATOR_CAUSTIC_WALK_H
#define SORT_INTEGRATOR_CAUSTIC_WALK_H

#include "sort/integrator/wave_state.h"
#include "sort/light/caustic_light.h"

enum { CAUSTIC_SURFACES_MAX = 6 };

typedef enum CausticState { CAUSTIC_SEARCHING, CAUSTIC_FOUND, CAUSTIC_LOST } CausticState;

/* Where a path stands whose scattering a walk continues. */
typedef struct CausticStart {
    SurfacePoint point;
    uint32_t depth, event, room; /* room: the most surfaces on the way, at least 1 */
    PathHistory history;
} CausticStart;

/* A direction in which a walk begins, with the two at right angles to it that derivatives are by. */
typedef struct CausticAim {
    float3 wi, x, y;
} CausticAim;

typedef struct CausticWalk {
    uint32_t path; /* index in the wave */
    CausticStart start;
    CausticTarget target;
    CausticState state;
    /* The path of the last trace, which is what was found: where it began, the surfaces that it has passed, the product of what
     * they let through, and of the chances with which scattering goes on so. */
    CausticAim aim;
    uint32_t count;
    Spectrum weight;
    float chance;
    float density; /* with which walks draw the direction aim.wi, per solid angle */
    Ray ray;       /* the part that has come to the light */
    /* Newton's method: the best beginning so far, its miss, the step from there, and the fraction of it that was tried. */
    RayDiff diff;
    CausticAim best;
    float best_miss, fraction;
    float2 step;
    uint32_t traces;
    /* The light and how scattering found it, where scattering found the path. */
    bool is_met;
    Spectrum light;
    LightArrival arrival;
    float3 met_wi;
    float met_pdf;
    uint32_t met_count;
} CausticWalk;

/* What walks of a wave work with. */
typedef struct CausticWalker {
    CausticWalk *walks; /* [wave's capacity] */
    uint32_t walk_count;
    uint32_t *active, active_count; /* walks whose rays are under way */
    RayBatch rays;
    HitBatch hits;
    uint8_t *kinds;
    bool *may_bend; /* [material_count] the material may be that of a caster */
} CausticWalker;

Status caustic_walker_create(const Wave *w, Arena *arena, CausticWalker *out_walker,
                             Error *err) SORT_MUST_CHECK;
/* Walks all walks that begin, and sets what each has found. Uses the wave's surfaces, members, order and materials. May wait
 * for textures. */
void caustic_walks_run(Wave *w, CausticWalker *walker);

#endif
