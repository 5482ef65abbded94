/* The state of a wave; only for the stages in this folder. */
#ifndef SORT_INTEGRATOR_WAVE_STATE_H
#define SORT_INTEGRATOR_WAVE_STATE_H

#include "sort/integrator/wave.h"
#include <float.h>

typedef enum PathFlags {
    PATH_DEAD = 1, /* ends in this pass */
    PATH_SPECULAR =
        2,         /* the last scatter was a delta, or the camera: light sampling cannot compete */
    PATH_SEEN = 4, /* the first-surface AOVs are final */
    PATH_LAST = 8, /* only emission counts now */
    PATH_INSIDE = 16,  /* walks in a translucent body */
    PATH_LEAVING = 32, /* has met that body's surface from inside */
    /* What a shadow catcher reflects: the path's light is no part of the picture (stage_catch.c). */
    PATH_CAUGHT = 64,
    PATH_ALONE = 128,     /* of these, one that sees catchers and lights alone */
    PATH_AT_CATCHER = 256 /* one that has not left it yet */
} PathFlags;

/* Of a sample at a time: the path itself, and two that it has sent from a shadow catcher. These have two of their own
 * only where it goes on through that, and then they end in the next pass, when it may send two more. */
enum { WAVE_PATHS_OF_A_CATCH = 5 };

/* One path. The ray itself lies in Wave.rays, at the same index. */
typedef struct Path {
    SampleKey key;
    RayDiff diff;
    Spectrum beta;   /* throughput: product of weight = f cos / pdf so far */
    float pdf;       /* density of the last scatter; unused while PATH_SPECULAR */
    float least_pdf; /* of all scatters but deltas; INFINITY: none yet */
    float
        eta_scale; /* squared product of the indices passed: roulette must not punish refraction */
    float3 from, from_n; /* the last scatter and its normal: what light densities refer to */
    Spectrum
        diffuse; /* the share of the last scatter that was diffuse; see Wave.keeps_diffuse_fraction */
    uint32_t depth;      /* surface interactions so far, transparent ones not counted */
    uint32_t event;      /* the same with them: selects the dimensions of the sampler */
    uint32_t flags;      /* PathFlags */
    uint32_t sample;     /* index into Wave.samples */
    PathHistory history; /* what shaders are told of the way here */
    BsdfMedium medium;   /* while PATH_INSIDE; `body` is the instance that holds it */
    uint32_t body;
    uint32_t walk_steps; /* inside it; of camera rays also: lights that they went through */
} Path;

/* What a shadow ray brings, at the path's index as the ray itself. */
typedef struct ShadowLight {
    Spectrum light; /* what arrives if the ray is clear */
    uint32_t light_group;
    RayDiff diff;
    bool is_cone;   /* PathHistory.is_cone of what lies on the way */
    uint32_t depth; /* path_depth of what lies at its other end, and of alpha on the way */
} ShadowLight;

/* A point on an emissive mesh whose radiance is still to be evaluated. */
typedef struct MeshLight {
    uint32_t path;
    bool is_met; /* by the path itself; else light sampling drew it, and a shadow ray decides */
    Spectrum factor;
    SurfaceHit hit;
} MeshLight;

/* How light is shared among the kinds of light passes: by what the surface that the camera sees did with it. */
typedef struct LightKinds {
    Spectrum fraction[BSDF_KINDS];
} LightKinds;

/* Light from the environment image, whose radiance is still to be looked up. */
typedef struct SkyLight {
    uint32_t path;
    bool is_met;      /* as for MeshLight */
    bool is_backdrop; /* what is met: behind a shadow catcher */
    Spectrum factor;
} SkyLight;

enum { WAVE_CROSSING_LIGHT = WAVE_TRANSPARENT_MAX + 1 }; /* the surface that light sampling chose */

static inline HitDraw wave_draw(const Path *path, uint32_t crossing)
{
    return (HitDraw){.key = path->key, .event = path->event, .crossing = crossing};
}

struct Wave {
    const WaveShared *shared;
    ShadeContext *shade;
    LevelWatch *levels; /* NULL but for WAVE_VIEW_MIP and FILM_AOV_MIP */
    WaveJob job;
    uint32_t capacity, count;
    uint32_t spawned_count; /* paths behind the others that join in the next pass */
    FilmAovSet aovs;        /* that the film holds */
    RayBatch rays;
    uint8_t *ray_kinds;          /* [capacity] SceneRays; NULL: every ray sees every instance */
    bool keeps_diffuse_fraction; /* some light is for some bounces only: Path.diffuse is kept */
    HitBatch hits;
    ShadowBatch shadow; /* index = path */
    ShadowLight *lights;
    /* Shares of light that paths meet, by Path.sample: all 0 before their first surface. NULL: the film has no light
     * passes. */
    LightKinds *path_kinds;
    LightKinds *light_kinds; /* of `lights` */
    Path *paths;
    FilmSample *samples;    /* gathered so far, in the job's order of pixels */
    SurfaceHit *surfaces;   /* of this pass, by path; in the shadow stage: of alpha hits */
    uint32_t *order;        /* path indices grouped by material */
    uint32_t *members;      /* path indices that a stage works on */
    uint32_t *bucket;       /* [material_count + 1], for grouping */
    MeshLight *mesh_lights; /* [2 * capacity] */
    SkyLight *sky_lights;   /* [capacity] */
    EnvironmentFootprint *sky_footprints; /* of sky_lights */
    uint32_t *sky_depths;                 /* of the rays from there */
    PathHistory *sky_histories;           /* what lies behind them */
    uint32_t mesh_light_count, sky_light_count;
    WaveCounters counters;
};

/* Of a point, from the camera as it stands at `time` of the shutter. */
static inline float wave_camera_distance(const Wave *w, float time, float3 point)
{
    CameraView view = camera_view_at(&w->shared->camera, time);
    return camera_distance(&view, point);
}

/* How far away a point at `distance` looks. */
static inline float wave_mist(const Wave *w, float distance)
{
    const SceneMist *mist = &w->shared->scene->settings.mist;
    float t = clampf((distance - mist->start_m) / fmaxf(mist->depth_m, FLT_MIN), 0.0f, 1.0f);
    switch (mist->falloff) {
    case SCENE_MIST_LINEAR:
        return t;
    case SCENE_MIST_QUADRATIC:
        return t * t;
    case SCENE_MIST_INVERSE_QUADRATIC:
        return sqrtf(t);
    }
    return t;
}

/* Ends a path that met a surface with what the view shows of it; `point` of the kernel's run. */
void wave_show(Wave *w, uint32_t i, const SurfaceHit *hit, uint32_t point);

void stage_camera(Wave *w);
void stage_walk(Wave *w);
void stage_escape(Wave *w);
void stage_surface(Wave *w);
void stage_shadow(Wave *w);
void stage_advance(Wave *w);

/* Whether the path meets a shadow catcher as one, and not as the surface that it is. */
static inline bool wave_catches(const Wave *w, const Path *path, const SurfaceHit *hit)
{
    return w->shared->scene->instances[hit->instance].is_shadow_catcher &&
           !(path->flags & PATH_SEEN) && film_desc(w->shared->film)->has_catchers;
}
/* Sends two more paths to find what the catcher reflects. is_through: the path goes on through it; else it ends, and
 * the sample gets what is behind. */
void wave_catch(Wave *w, uint32_t path, const Bsdf *bsdf, bool is_through);

/* Whether the pixel gets a sample: the same answer all through a job. */
static inline bool wave_samples_pixel(const WaveShared *s, uint32_t x, uint32_t y)
{
    return !s->skips_done || !film_is_done(s->film, x, y);
}

/* Groups w->members[0, count), indices into surfaces, by material, stably, into w->order. */
void wave_group(Wave *w, uint32_t count);
/* The surfaces of w->order[begin, begin + n) that one kernel call can take: of one material, n at most
 * SHADE_CHUNK, not beyond `end`. Returns n; 0 when begin is end. */
uint32_t wave_chunk(const Wave *w, uint32_t begin, uint32_t end, const SurfaceHit **out_hits);
/* Sends a path that is inside on its next flight; what it meets nearer than t_min is overlooked. */
void wave_walk(Wave *w, uint32_t path, float3 origin, float3 direction, float t_min);
/* Light that arrives at a path. */
typedef struct LightArrival {
    bool is_met;      /* by the path itself; else its shadow ray brings it */
    uint32_t group;   /* its light group; 0: the rest */
    uint32_t bounces; /* on its way to the camera; up to one it is direct, and so clamped */
    uint32_t hidden;  /* of light that is met: wave_hidden_kinds */
} LightArrival;

/* Adds radiance to the path's sample, to its light group's share and to the light passes. */
void wave_add_light(Wave *w, const Path *path, Spectrum radiance, LightArrival how);

/* The same of what the path met, of light with these paths; of what the camera sees also to `at`, FILM_AT_EMISSION or
 * FILM_AT_ENVIRONMENT. */
void wave_add_met(Wave *w, const Path *path, Spectrum radiance, uint32_t light_group,
                  const SceneLightVisibility *visibility, uint32_t at);

/* The same of what lies behind a shadow catcher. */
void wave_add_backdrop(Wave *w, const Path *path, Spectrum radiance, uint32_t light_group,
                       uint32_t at);

/* Light whose radiance is known now, for the shadow ray, which is not needed when there is none. */
void wave_set_shadow_light(Wave *w, uint32_t path, Spectrum light, uint32_t light_group);
/* Light at infinity that the path meets: `factor` of it, for the picture or for what is behind a catcher. */
void wave_meet_infinity(Wave *w, uint32_t path, Spectrum factor, bool is_backdrop);
/* Notes light from the image; wave_evaluate_sky gives all that was noted to whom it belongs. */
void wave_queue_sky(Wave *w, const SkyLight *sky, const EnvironmentFootprint *footprint);
void wave_evaluate_sky(Wave *w);

/* --- light passes (light_kinds.c); while Wave.path_kinds is not NULL ---------------------------- */

/* At a surface that the camera sees: its colours, and the path's shares if it scatters there. sample: NULL, it ends or
 * goes through. */
void kinds_record_surface(Wave *w, const Path *path, const Bsdf *bsdf, const BsdfSample *sample);
/* Of the light that the path's shadow ray brings. */
void kinds_record_light(Wave *w, uint32_t i, const Bsdf *bsdf, const LightSample *light);
void kinds_add_light(Wave *w, const Path *path, float3 rgb, LightArrival how);

/* The part of a scatter for which a light is there. Of what a surface reflects, each lobe counts by its kind,
 * whichever was drawn, so that light sampling and scattering look for the same. */
static inline Spectrum wave_part_of_kinds(uint32_t invisible_to, Spectrum diffuse)
{
    bool has_diffuse = !(invisible_to & SCENE_RAYS_DIFFUSE);
    bool has_glossy = !(invisible_to & SCENE_RAYS_GLOSSY);
    Spectrum part = spectrum_splat(has_glossy ? 1.0f : 0.0f);
    if (has_diffuse != has_glossy)
        part = has_diffuse ? diffuse : spectrum_sub(part, diffuse);
    return part;
}

/* Kinds of bounces that the light is not there for, SCENE_RAYS_DIFFUSE or SCENE_RAYS_GLOSSY, after a bounce of this
 * PathHistory.kind: 0 when that was not one in which each lobe counts by its kind. */
static inline uint32_t wave_hidden_kinds(uint32_t ray_kind, uint32_t invisible_to)
{
    if (ray_kind & (RAY_CAMERA | RAY_TRANSMISSION | RAY_SINGULAR))
        return 0;
    return invisible_to & (uint32_t)(SCENE_RAYS_DIFFUSE | SCENE_RAYS_GLOSSY);
}

/* A surface reached with this many bounces is lit. */
static inline bool wave_light_reaches(const SceneLightVisibility *visibility, uint32_t bounces)
{
    return visibility->bounce_limit == 0 || bounces < visibility->bounce_limit;
}

/* The part of the radiance of a light that the path meets which it sees. */
Spectrum wave_visible_fraction(const Path *path, const SceneLightVisibility *visibility);

/* MIS weight of a light sample whose direction scattering draws with density bsdf_pdf. */
float wave_light_mis_weight(const WaveShared *s, const LightSample *light, float bsdf_pdf);
/* MIS weight of light met by following the path, that light sampling finds with density light_pdf. paths: of the
 * light, or NULL. */
float wave_path_mis_weight(const WaveShared *s, const Path *path, float light_pdf,
                           const SceneLightVisibility *visibility);

#endif
