/* Paths of light: light tracing [Arvo1986] [Dutre1993], the adjoint of path tracing. Private to the stages.
 *
 *   path tracing of the emission that the camera sees, then
 *   lamps -> [ lamps on the way -> surface -> shadow (to the lens) -> advance -> intersect ] until no path is left
 *
 * A path begins at a lamp with the power of its ray (light_emission.h). At each surface x it is joined to a point of the lens, and
 * what arrives there is splatted on the film; then it is scattered. With the direction wl back to where the light comes from, and we
 * to where it goes,
 *
 *     splat   sum  += beta  f(we, wl) |cos wl|  |we . Ng| / |wl . Ng|  (pixels / sr) / distance^2
 *     scatter beta *=       f(we, wl) |cos wl|  |we . Ng| / |wl . Ng|  / p(we)     (light_draw.c draws we)
 *
 * f(we, wl) |cos wl| is what path tracing multiplies its throughput by when it comes from we: not f(wl, we). So the surface's kernel
 * runs once towards wl, to draw we, and then once more towards we, to evaluate. Whatever is not symmetric follows, and no closure
 * has to say how: shading normals [Veach1997 sec. 5.3], 1 / eta^2 of refraction [sec. 5.2], layers that dim by the viewer's
 * direction, shaders that look at it. A delta has no f; between the solid angles about wl and we it has the ratio
 * eta^2 |wl . n| / |we . n|, of which n is the lobe's normal.
 *
 * Lamps are surfaces to path tracing, on their bright sides. A path passes them, and is asked on each of its parts whether a ray of
 * path tracing would have, which runs the other way.
 *
 * A path of light has no pixel, so its textures are read at their finest level; what the camera sees, with the footprint of the
 * camera ray that the join is. */
#ifndef SORT_INTEGRATOR_LIGHT_PATHS_H
#define SORT_INTEGRATOR_LIGHT_PATHS_H

#include "sort/bsdf/bsdf_delta.h"
#include "sort/integrator/points.h"
#include "sort/light/caustic_emission.h"

/* The place from which the last part of a path came. */
typedef struct LightTrail {
    SurfacePoint from;
    bool is_infinite; /* EmittedRay.is_infinite, while it has met nothing */
    /* Until the path is scattered: EmittedRay.light and the place on it, and whether it does not shine on the surface that the path
     * has met; the path may pass that, but is not scattered there. */
    uint32_t light;
    float3 place;
    bool is_dark;
    /* If it looks for caustics: the departure, and its density (caustic_emission_density), or INFINITY. */
    CausticDeparture departure;
    float density;
    bool is_spread; /* a receiver has scattered it */
} LightTrail;

/* A direction that was drawn for a path at a surface. */
typedef struct LightScatter {
    float3 wi;
    float pdf;      /* per solid angle; of deltas and transparent closures their chance */
    uint32_t flags; /* SSL_LOBE_*; 0: none was drawn */
} LightScatter;

/* A surface as it is seen from a direction other than that of the path's ray. */
typedef struct LightView {
    uint32_t path;
    float3 wo;        /* unit, from the surface to the viewer */
    float distance_m; /* of the viewer */
    RayDiff diff;     /* of the viewer's ray */
} LightView;

typedef struct LightPaths {
    bool is_under_way;     /* paths are those of light */
    bool has_lamps;        /* some lamp is a surface that stops rays */
    bool has_point_facing; /* some lamp is a disk that faces who looks */
    LightTrail *trails;    /* [capacity] by path, copied with it */
    LightScatter *drawn;   /* [capacity] by path */
    LightView *views;      /* [SHADE_CHUNK] of the kernel's run */
    CameraLink *links;     /* [SHADE_CHUNK] of these */
    float2 *film_px;       /* [capacity] by shadow ray: where its light arrives */
    bool *is_found;        /* [capacity] by shadow ray: WaveCounters.caustics_found counts it */
    float per_pixel;       /* 1 / pixels of the frame */
    uint32_t stride;       /* the samples of one in so many pixels have a path each */
    bool is_for_caustics;  /* caustic_paths.h; then: */
    bool is_trial;         /* WaveShared.caustic_stride is 0 */
    float per_sample;      /* paths of light for one sample of each pixel */
    bool *is_known;        /* [material_count] caustic_paths_know() */
} LightPaths;

/* Sets w->light_paths for WAVE_VIEW_LIGHT, or with WaveShared.caustic_emission. Error: memory. */
Status light_paths_create(Wave *w, Arena *arena, Error *err) SORT_MUST_CHECK;
/* Starts a path for each sample of the job, in place of the camera's, which have ended. */
void light_paths_start(Wave *w);
/* Ends paths that left the scene or whose last part lamps block, and sends those on that met lamps. */
void light_paths_pass_lamps(Wave *w);
/* Draws where the paths of a block of surfaces go, into w->light_paths->drawn. The surfaces, as the light sees them, and the results
 * of their kernel are at `first`; paths: by lane. */
void light_paths_draw(Wave *w, const uint32_t *paths, uint32_t first, uint32_t material);
/* Shades the surfaces that paths met: sends shadow rays to the lens, and scatters. */
void light_paths_shade(Wave *w);
/* Splats the light of clear shadow rays on the film. */
void light_paths_splat(Wave *w);
/* Ends the paths of light. */
void light_paths_finish(Wave *w);

#endif
