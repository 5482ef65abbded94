/* The state of a wave: its paths, the rays they follow, and the light that is queued for them.
 * Private to the stages in this folder.
 *
 * Arrays that are called "by path" share the index of Wave.paths: rays and hits. A stage works on paths [0, count);
 * stage_advance closes the gaps that ended paths leave. */
#ifndef SORT_INTEGRATOR_WAVE_STATE_H
#define SORT_INTEGRATOR_WAVE_STATE_H

#include "base/check.h"
#include "sort/integrator/wave.h"
#include <float.h>

typedef enum PathFlags {
    /* The path ends in this pass. */
    PATH_DEAD = 1,
    /* The ray comes from the camera or from a delta lobe, so light sampling cannot find what it meets. */
    PATH_SPECULAR = 2,
    /* The first-surface AOVs of the sample are final. */
    PATH_SEEN = 4,
    /* A limit of bounces is reached: only emission counts, and transparent surfaces are still passed. */
    PATH_LAST = 8,
    /* The path walks inside a translucent body (stage_walk.c). */
    PATH_INSIDE = 16,
    /* The walk has reached the body's surface and is about to leave through it. */
    PATH_LEAVING = 32,
    /* The path left a shadow catcher: its light goes to FilmSample.caught instead of the picture (stage_catch.c). */
    PATH_CAUGHT = 64,
    /* Such a path that sees only catchers and lights. */
    PATH_ALONE = 128,
    /* Such a path that still stands on the catcher. */
    PATH_AT_CATCHER = 256
} PathFlags;

/* The most paths that one sample has at a time: itself, and two that look for the light on each of two catchers. The
 * two from a transparent catcher draw the same passage through it as the path, and end in the next pass, while the path
 * may send two more from the next catcher. */
enum { WAVE_PATHS_OF_A_CATCH = 5 };

/* What the flights of a walk inside a body are drawn by (stage_walk.c). */
typedef struct Walk {
    float3 out;     /* unit normal where it entered, outwards */
    Spectrum reach; /* by channel, how far light diffuses there, in free paths: above 1 */
    float cosine;   /* of this flight's direction and `out` */
    /* Density per solid angle with which it scattered into that direction; 0: it came in, and the walk chose nothing. */
    float phase;
} Walk;

typedef struct Path {
    /* The first cache line has what most stages read. */
    alignas(SORT_CACHE_LINE) SampleKey key;
    /* Surfaces and media scattered at so far, with transparent ones: selects the dimensions of the sampler. */
    uint32_t event;
    /* Bounces so far, without transparent surfaces. */
    uint32_t depth;
    /* PathFlags. */
    uint32_t flags;
    /* Index into Wave.samples. */
    uint32_t sample;
    PathHistory history;
    /* Throughput: the product of f cos / pdf over all scatters so far. */
    Spectrum beta;
    /* The squared product of the relative indices of refraction so far. Refraction scales radiance by it, and Russian
     * roulette multiplies it back in, since such a path is worth no less. */
    float eta_scale;
    /* Solid-angle density of the last scatter; undefined while PATH_SPECULAR. */
    float pdf;
    /* Position of the last scatter that was not transparent, shading normal on the side that the path came from, and sides
     * from which light counted: densities of lights refer to them. */
    float3 from, from_n;
    uint32_t from_sides;
    /* The link set of the instance that it scattered at there. */
    uint32_t from_set;
    /* Scatters inside the body; of a camera ray also the lights that it passed through. */
    uint32_t walk_steps;
    /* The fraction of the last scatter that diffuse lobes brought; kept if Wave.keeps_diffuse_fraction. */
    Spectrum diffuse;
    /* The gloss of the last scatter, to which densities of lights refer, too. */
    LightGloss from_gloss;
    /* From here on fields are kept only as long as something reads them (wave_copy_path). While WaveReads.path_footprints:
     * the ray's differential. */
    alignas(SORT_CACHE_LINE) RayDiff diff;
    /* While PATH_INSIDE or PATH_LEAVING: the medium, and the instance whose inside it fills. */
    BsdfMedium medium;
    uint32_t body;
    Walk walk; /* while PATH_INSIDE */
} Path;

/* The light that a shadow ray carries. */
typedef struct ShadowLight {
    /* The path whose light it is. */
    uint32_t path;
    /* Contribution to the path's sample if nothing lies between. */
    Spectrum light;
    uint32_t light_group;
    /* PathHistory.is_cone, as samples of one pixel share the shadow ray's footprint if they share that of the surface; and path
     * depth of the surfaces that the shadow ray meets. */
    bool is_cone;
    uint32_t depth;
    uint32_t event; /* Path.event where the ray begins: the path may have gone on since */
} ShadowLight;

/* The shadow rays of one pass, at most one a path, and what each carries. */
typedef struct ShadowQueue {
    uint32_t count;
    ShadowBatch batch;
    ShadowLight *lights; /* by ray */
    RayDiff *diffs;      /* by ray: the differential, while WaveReads.shadow_footprints */
    uint32_t *sight;     /* by ray: the light of WaveShared.sight; NULL unless that is there */
    /* By ray: of its path where the ray begins; NULL unless kernels of alpha read how often a path was scattered. */
    PathHistory *histories;
    /* By ray: the part of the light that is left by paths of light, which end at alpha surfaces; NULL unless they look for
     * caustics. */
    float *parts;
} ShadowQueue;

/* A point on an emissive mesh. It is queued until the emission kernel of its material has run. */
typedef struct MeshLight {
    uint32_t path;
    /* The path of light begins there: its power is set. */
    bool begins;
    /* True: the path's own ray met it. False: light sampling drew it, and its light waits for this shadow ray. */
    bool is_met;
    uint32_t shadow;
    /* Multiplies the radiance: throughput, BSDF, density and MIS weight. */
    Spectrum factor;
    /* The place, as the ray sees it, and what the kernel draws random numbers by. */
    HitQuery query;
    Ray ray;
    RayDiff diff;
    HitDraw draw;
    PathHistory history;
} MeshLight;

/* What happens to a path at the surface that its ray met. */
typedef enum WaveMeeting {
    MEET_NOTHING,        /* the path met no surface, or has ended */
    MEET_AND_LEAVE_BODY, /* it met the body that it walks through from inside */
    MEET_AND_GLOW,       /* the surface only adds a known emission */
    MEET_AND_SHADE,
    MEET_COUNT
} WaveMeeting;

/* The fractions of a path's light that go to the light passes of each BSDF_KIND. The first surface that the camera
 * sees decides them. */
typedef struct LightKinds {
    Spectrum fraction[BSDF_KINDS];
} LightKinds;

/* The surface that guides of denoisers show of a sample: the first one on its way from the camera that is no mirror. */
typedef struct SampleGuide {
    /* The product of the weights of mirrors and glass on the way, which is in metres. */
    Spectrum tint;
    float way_m;
    bool is_met;
} SampleGuide;

/* The vertices of a path that teach a field of light; further ones do not. */
enum { LESSON_VERTICES = 16 };
typedef struct LessonVertex {
    float3 position, normal, direction;
    float distance_m; /* to the surface that was met next; INFINITY: none was */
    Spectrum beta;    /* throughput after the scatter */
    Spectrum weight;  /* of the scatter: f cos / pdf */
    Spectrum
        light; /* that reached the camera from behind it and before the next vertex; at the end, radiance that arrives */
    /* As in GuideRecord. */
    float pdf, bsdf_pdf, guide_pdf, share;
} LessonVertex;
typedef struct PathLesson {
    uint32_t count, lit; /* light that is found lies behind vertices [0, lit) */
    LessonVertex vertex[LESSON_VERTICES];
} PathLesson;

/* Light from the environment's image or material. It is queued until the radiance is looked up. */
typedef struct SkyLight {
    uint32_t path;
    /* As in MeshLight. */
    bool begins, is_met;
    uint32_t shadow;
    /* The light is part of the backdrop of a shadow catcher. */
    bool is_backdrop;
    Spectrum factor;
} SkyLight;

/* HitDraw.crossing of the point that light sampling chose on a mesh. */
enum { WAVE_CROSSING_LIGHT = WAVE_TRANSPARENT_MAX + 1 };

static inline HitDraw wave_draw(const Path *path, uint32_t crossing)
{
    ASSERT(crossing <= WAVE_CROSSING_LIGHT);
    return (HitDraw){.key = path->key, .event = path->event, .crossing = crossing};
}

/* What paths have to know of the surfaces that they meet, apart from what kernels read, and what they may leave out. */
typedef struct WaveReads {
    /* [material_count] HitParts that shading a surface takes. */
    uint8_t *surface;
    /* HitParts that the film or the view takes of what the camera sees. */
    uint32_t first_surface;
    /* Some kernel, or the sky, looks at the footprints of paths; at those of shadow rays. */
    bool path_footprints, shadow_footprints;
    /* Something moves, so that it matters when a ray is sent. */
    bool time;
    /* The scene's vertices are so many that they have to be asked for before they are read. */
    bool far_vertices;
    /* Lights are chosen by how surfaces reflect them. */
    bool gloss;
    /* The film has shadow catchers; some instance is a hole in the picture; some mesh is one of curves; some instance has a link
     * set other than 0. */
    bool catchers, holdouts, curves, link_sets;
    /* Some light does not shine on all surfaces, casts no shadow, or only shadows of some instances, or is found by light
     * sampling alone. */
    bool special_lights;
    /* Rays of neighbouring pixels meet other parts of the scene. */
    bool apart;
    /* Something is recorded of the surfaces that the camera sees. */
    bool records;
    /* No limit of bounces is reached before this many. */
    uint32_t least_limit;
} WaveReads;

/* A pixel of the frame, and which of its samples it is. */
typedef struct SamplePixel {
    uint32_t x, y, sample;
} SamplePixel;

typedef struct Caustics Caustics;
typedef struct LightPaths LightPaths;

struct Wave {
    const WaveShared *shared;
    ShadeContext *shade;
    /* NULL unless the view is WAVE_VIEW_MIP or the film has FILM_AOV_MIP. */
    LevelWatch *levels;
    WaveJob job;
    /* paths[0, count) are followed; paths[count, count + spawned_count) join them in the next pass. */
    uint32_t capacity, count, spawned_count;
    /* The AOVs that the film holds. */
    FilmAovSet aovs;
    /* The film reads more of samples than radiance and ids. */
    bool keeps_aovs;
    /* Light is added to the radiance of samples alone, and not clamped. */
    bool adds_alone;
    /* Some path may be PATH_INSIDE. */
    bool has_walks;
    WaveReads reads;
    RayBatch rays;
    /* [capacity] by path: the SceneRays that each ray counts as; NULL: every ray sees every instance. */
    uint8_t *ray_kinds;
    /* Path.diffuse is kept, because some light is visible to some kinds of bounces only. */
    bool keeps_diffuse_fraction;
    HitBatch hits;
    /* By path: the hits of those that are PATH_AT_CATCHER, where rays show the points of a table: these come from a place that
     * may lie behind other objects, and would meet those. NULL: other rays meet the catcher again. */
    HitBatch *caught;
    /* The rays to lights. */
    ShadowQueue shadow;
    /* The rays of FILM_AOV_AMBIENT_OCCLUSION, whose light is what they add to it (occlusion.c); NULL: the film has no such
     * layer. */
    ShadowQueue *occlusion;
    /* Those of FILM_AOV_SHADOW (points_sample_lamps), likewise. */
    ShadowQueue *lamp_shadows;
    /* Fractions of light that paths meet, by Path.sample, zero before the first surface; and of `shadow`, by shadow ray.
     * NULL: the film has no light passes. */
    LightKinds *path_kinds, *light_kinds;
    /* By Path.sample; NULL: the film has no guides of denoisers. */
    SampleGuide *guides;
    /* By Path.sample; NULL: nothing is learned. */
    PathLesson *lessons;
    Path *paths;
    /* The samples of the job, and their pixels. */
    unsigned char *samples; /* of sample_bytes each; by wave_sample */
    size_t sample_bytes;
    SamplePixel *pixels;
    uint32_t sample_count;
    /* Path indices: those that the stage works on, and the same grouped by material. */
    uint32_t *members, *order;
    /* By path: the material of the surface that its ray met in this pass; in the shadow stage of the alpha surface on
     * the way. */
    uint32_t *materials;
    /* By path: its WaveMeeting in this pass. */
    uint8_t *meetings;
    /* [SHADE_CHUNK / SSL_BLOCK] the surfaces whose kernel runs. */
    SurfaceBlock *surfaces;
    /* [material_count + 1] counts for the grouping. */
    uint32_t *bucket;
    /* [2 * capacity]: each path may meet one and sample one. */
    MeshLight *mesh_lights;
    /* [capacity] by path: where in the sky the rays end that leave the scene after a scatter. */
    LightSky *skies;
    /* [capacity] each, in parallel: lights, their footprints, the depths of the rays that look at the sky, and the
     * histories of these rays. */
    SkyLight *sky_lights;
    EnvironmentFootprint *sky_footprints;
    uint32_t *sky_depths;
    PathHistory *sky_histories;
    uint32_t mesh_light_count, sky_light_count;
    /* Light that casters bring to receivers (caustics.h); NULL: the scene has none. */
    Caustics *caustics;
    /* Paths that begin at lamps (light_paths.h, caustic_paths.h); NULL: none do. */
    LightPaths *light_paths;
    WaveCounters counters;
};

/* Returns a sample of the job, by Path.sample. Its parts from `caught` on are there while Wave.keeps_aovs. */
static inline FilmSample *wave_sample(const Wave *w, uint32_t sample)
{
    void *there = w->samples + sample * w->sample_bytes;
    return there;
}

/* Returns how much mist lies before a point at `distance` metres: 0 none, 1 all. */
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

/* --- stages, in the order in which wave_run calls them ------------------------------------------ */

void stage_camera(Wave *w);
void stage_walk(Wave *w);
void stage_escape(Wave *w);
void stage_caustics(Wave *w);
void stage_surface(Wave *w);
void stage_shadow(Wave *w);
void stage_advance(Wave *w);

/* Ends a path at a surface with the colour that the view gives it. point: index of the surface in the kernel's run. */
void wave_show(Wave *w, uint32_t i, SurfaceLane surface, uint32_t point);

/* Returns whether a camera path meets this instance as a shadow catcher. Later bounces meet it as an ordinary one. */
static inline bool wave_catches(const Wave *w, const Path *path, uint32_t instance)
{
    return w->reads.catchers && !(path->flags & PATH_SEEN) &&
           w->shared->scene->instances[instance].is_shadow_catcher;
}
/* Spawns the two paths that look for the light which a catcher reflects to path i. is_through: the path itself goes on through
 * the catcher; otherwise it ends there, and the backdrop is added to its sample. */
void wave_catch(Wave *w, uint32_t i, BsdfPoint bsdf, bool is_through);

/* Copies path `from` with its ray to the place of path `to`. */
void wave_copy_path(Wave *w, uint32_t to, uint32_t from);
/* Sorts the path indices w->members[0, count) by w->materials, stably, into w->order. */
void wave_group(Wave *w, uint32_t count);
/* Returns how many of the paths w->order[begin, end), which wave_group has sorted, one kernel call can take: they have one material,
 * and are at most SHADE_CHUNK. 0 when begin is end. end: of the order. */
uint32_t wave_chunk(const Wave *w, uint32_t begin, uint32_t end);
/* Loads what hit_surfaces reads of the hits of `count` <= SSL_BLOCK paths whose rays met meshes. */
void wave_load_hits(const RayBatch *rays, const HitBatch *hits, const uint32_t *paths,
                    uint32_t count, SurfaceBlock *out_surfaces);
/* Loads what it reads of their rays where something moves or is a curve, without the differentials. */
void wave_load_rays(const RayBatch *rays, const uint32_t *paths, uint32_t count, HitRays *out);
/* Computes the surfaces of one material that the rays of `count` <= SSL_BLOCK paths met, as kernels read them. */
void wave_find_surfaces(const Wave *w, const uint32_t *paths, uint32_t count, uint32_t material,
                        uint32_t parts, SurfaceBlock *out_surfaces);
/* Returns the least roughness (alpha) of microfacet lobes where the path stands. After wide scatters sharp reflections are
 * blurred, as in Cycles: they would be noise. */
float wave_least_alpha(const WaveShared *s, const Path *path);
/* Draws how far `count` <= SSL_BLOCK paths get along the rays that enter bodies. They are PATH_INSIDE, and have their medium and
 * the normal of their walk. */
void wave_walk_begin(Wave *w, const uint32_t *paths, uint32_t count);

/* --- guides of denoisers (guides.c); only while Wave.guides is not NULL -------------------------------- */

/* Records a surface that is not transparent where path i goes along `sample`, NULL: nowhere, unless a surface was met. */
void guides_record_surface(Wave *w, uint32_t i, SurfaceLane surface, BsdfPoint bsdf,
                           const BsdfSample *sample);
/* Sets the guides of samples that met no such surface. */
void guides_finish(Wave *w, uint32_t sample_count);

/* --- ambient occlusion (occlusion.c) -------------------------------------------------------------- */

/* Sends a shadow ray of path i from the surface, by the cosine around `normal`, as far as surfaces darken one another. It
 * carries `light`. */
void occlusion_send(Wave *w, ShadowQueue *queue, uint32_t i, const SurfaceHit *hit, float3 normal,
                    Spectrum light);
/* Sends the ray of a surface that the camera sees, directly or through transparent ones; only while Wave.occlusion is not
 * NULL. */
void occlusion_record_surface(Wave *w, uint32_t i, SurfaceLane surface, BsdfPoint bsdf);

/* --- emissive meshes (mesh_lights.c) ------------------------------------------------------------ */

/* Sets the end of the shadow ray to a point that light sampling drew on a curve for a lane of `lights` and path i, which is at
 * `from`; other lights have theirs. */
void wave_find_end(const Wave *w, uint32_t i, float3 from, LightRows *lights, uint32_t lane);
/* Queues a point that light sampling drew for the surface's lane on a mesh, whose radiance takes a kernel. `factor` times that
 * is set later for the shadow ray. */
void wave_send_to_mesh(Wave *w, uint32_t shadow, SurfaceLane surface, const LightRows *lights,
                       Spectrum factor);
/* Adds `factor` times the emission of a surface that the ray of path i met and that light sampling finds with density
 * `pdf`. distance_m: from the last scatter. */
void wave_meet_mesh(Wave *w, uint32_t i, SurfaceLane surface, Spectrum factor, float distance_m,
                    float pdf);
/* Queues the place where path i, which is one of light, begins: its throughput becomes `factor` times the emission along the ray,
 * which looks at the place. */
void wave_begin_at_mesh(Wave *w, uint32_t i, Spectrum factor, const HitQuery *query,
                        const Ray *ray);
/* Evaluates the queued points, adds their light or sets it for shadow rays, and empties the queue. */
void wave_evaluate_meshes(Wave *w);

/* --- adding light ------------------------------------------------------------------------------- */

/* How light reached a path. */
typedef struct LightArrival {
    /* True: the path's own ray met the light. False: its shadow ray brought it. */
    bool is_met;
    /* Light group of the scene; 0: none. */
    uint32_t group;
    /* Bounces between the light and the camera: up to one it is direct light, and clamped as such. */
    uint32_t bounces;
    /* wave_hidden_kinds of light that was met. */
    uint32_t hidden;
    /* The fractions of light that was not met, while Wave.path_kinds is not NULL. */
    const LightKinds *kinds;
} LightArrival;

/* Adds radiance, clamped, to the path's sample, to the light group and to the light passes. */
void wave_add_clamped(Wave *w, const Path *path, Spectrum radiance, LightArrival how);
/* Adds radiance while Wave.adds_alone. */
static inline void wave_add_alone(Wave *w, const Path *path, Spectrum radiance)
{
    float3 rgb = spectrum_to_rgb(radiance);
    float *sum = wave_sample(w, path->sample)->rgb;
    sum[0] += rgb.x, sum[1] += rgb.y, sum[2] += rgb.z;
}
static inline void wave_add_light(Wave *w, const Path *path, Spectrum radiance, LightArrival how)
{
    if (SORT_UNLIKELY(!w->adds_alone)) {
        wave_add_clamped(w, path, radiance, how);
        return;
    }
    wave_add_alone(w, path, radiance);
}

/* Adds radiance of a light that the path's own ray met. What the camera sees directly also goes to the AOV at `at`,
 * FILM_AT_EMISSION or FILM_AT_ENVIRONMENT. */
void wave_add_met(Wave *w, const Path *path, Spectrum radiance, uint32_t light_group,
                  const SceneLightVisibility *visibility, uint32_t at);

/* Adds radiance to the backdrop of the shadow catcher where the path ends. at: as in wave_add_met. */
void wave_add_backdrop(Wave *w, const Path *path, Spectrum radiance, uint32_t light_group,
                       uint32_t at);

/* Returns a place in the queue for a shadow ray of path i as it is now, which is traced unless its light turns out to be black. depth: of
 * the surfaces that it meets. */
static inline uint32_t shadow_queue_add(const Wave *w, ShadowQueue *queue, uint32_t i,
                                        uint32_t depth)
{
    ASSERT(queue->count < queue->batch.capacity);
    const Path *path = &w->paths[i];
    uint32_t shadow = queue->count++;
    queue->lights[shadow].path = i;
    queue->lights[shadow].event = path->event;
    queue->lights[shadow].depth = depth;
    queue->lights[shadow].is_cone = path->history.is_cone;
    if (queue->histories)
        queue->histories[shadow] = path->history;
    if (queue->parts)
        queue->parts[shadow] = 1.0f;
    queue->batch.state[shadow] = SHADOW_QUEUED;
    return shadow;
}
/* Sets the light of a shadow ray once its radiance is known. Cancels the ray when the light is black. */
static inline void shadow_queue_set_light(ShadowQueue *queue, uint32_t shadow, Spectrum light,
                                          uint32_t light_group)
{
    ASSERT(shadow < queue->count);
    queue->lights[shadow].light = light;
    queue->lights[shadow].light_group = light_group;
    if (spectrum_is_black(light))
        queue->batch.state[shadow] = SHADOW_DEAD;
}
/* Adds `factor` times the light at infinity that the ray of path i meets, to the picture or to a catcher's backdrop. Unless
 * the path is PATH_SPECULAR, w->skies[i] is set. */
void wave_meet_infinity(Wave *w, uint32_t i, Spectrum factor, bool is_backdrop);
/* Queues light from the environment. */
void wave_queue_sky(Wave *w, const SkyLight *sky, const EnvironmentFootprint *footprint);
/* Looks up all queued light from the environment, adds it or sets it for shadow rays, and empties the queue. */
void wave_evaluate_sky(Wave *w);

/* --- light passes (light_kinds.c); only while Wave.path_kinds is not NULL ------------------------ */

/* Records the albedo of a surface that the camera sees and, if the path scatters there, its fractions of light.
 * sample: NULL where the path ends or goes straight through. */
void kinds_record_surface(Wave *w, const Path *path, BsdfPoint bsdf, const BsdfSample *sample);
/* Returns the fractions of the light that the path's point gets from wi, which rays of some kinds do not see. */
LightKinds kinds_of_light(const Wave *w, const Path *path, BsdfPoint bsdf, float3 wi,
                          uint32_t invisible_to);
/* Adds light to the passes by the recorded fractions. */
void kinds_add_light(Wave *w, const Path *path, float3 rgb, LightArrival how);

/* --- visibility of lights ----------------------------------------------------------------------- */

/* Returns the fraction of a reflection that sees a light. Each lobe counts by its own kind, whichever lobe was drawn,
 * so that light sampling and BSDF sampling estimate the same integral. diffuse: the fraction of diffuse lobes. */
static inline Spectrum wave_part_of_kinds(uint32_t invisible_to, Spectrum diffuse)
{
    bool has_diffuse = !(invisible_to & SCENE_RAYS_DIFFUSE);
    bool has_glossy = !(invisible_to & SCENE_RAYS_GLOSSY);
    Spectrum part = spectrum_splat(has_glossy ? 1.0f : 0.0f);
    if (has_diffuse != has_glossy)
        part = has_diffuse ? diffuse : spectrum_sub(part, diffuse);
    return part;
}

/* Returns which kinds of lobes do not see the light after a bounce of this PathHistory.kind: SCENE_RAYS_DIFFUSE and
 * SCENE_RAYS_GLOSSY, or 0 unless the bounce was a reflection by lobes that are no deltas. */
static inline uint32_t wave_hidden_kinds(uint32_t ray_kind, uint32_t invisible_to)
{
    if (ray_kind & (RAY_CAMERA | RAY_TRANSMISSION | RAY_SINGULAR))
        return 0;
    return invisible_to & (uint32_t)(SCENE_RAYS_DIFFUSE | SCENE_RAYS_GLOSSY);
}

/* Returns whether the light illuminates a surface of a link set that a path reached with this many bounces. */
static inline bool wave_light_reaches(const SceneLightVisibility *visibility, uint32_t bounces,
                                      uint32_t link_set)
{
    return (visibility->bounce_limit == 0 || bounces < visibility->bounce_limit) &&
           !(visibility->unlit_sets >> link_set & 1);
}

/* Returns the fraction of a light's radiance that is visible to the path whose ray meets it. */
Spectrum wave_visible_fraction(const Path *path, const SceneLightVisibility *visibility);

/* --- multiple importance sampling: weights in [0, 1] -------------------------------------------- *
 * The environment's table is made for the balance heuristic (environment_table.h); other lights have the power heuristic. */

/* Returns the weight of light that the path's ray met and that light sampling finds with density light_pdf per solid
 * angle. visibility: of the light; NULL when light sampling cannot find it. */
float wave_path_mis_weight(const WaveShared *s, const Path *path, float light_pdf,
                           const SceneLightVisibility *visibility, bool is_environment);

#endif
