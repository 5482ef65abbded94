/* Waves: small batches of paths that go through the stages of path tracing together.
 *
 *   camera -> [ intersect -> walk -> escape -> caustics -> surface -> shadow -> advance ] until no path is left -> film
 *
 * A wave belongs to one fiber. Its stages are sequential functions, and only a texture lookup deep below
 * `escape`, `surface` and `shadow` may park the fiber. Paths do not depend on one another: every random number is a
 * function of (pixel, sample, dimension), so the picture does not depend on the wave's size, order or fiber.
 *
 * Unidirectional path tracing [Kajiya1986] with next-event estimation and multiple importance sampling by
 * the power heuristic, or of the environment by the balance heuristic [Veach1997 ch. 9], Russian roulette on throughput. */
#ifndef SORT_INTEGRATOR_WAVE_H
#define SORT_INTEGRATOR_WAVE_H

#include "sort/accel/accel.h"
#include "sort/film/film.h"
#include "sort/film/pixel_filter.h"
#include "sort/guide/guide_field.h"
#include "sort/integrator/view.h"
#include "sort/light/caustic_emission.h"
#include "sort/sampling/sampler.h"
#include "sort/scene/bake_table.h"
#include "sort/scene/camera.h"
#include "sort/shade/shade.h"

enum {
    WAVE_CAPACITY_DEFAULT = 1024,
    /* Camera rays of squares of so many pixels, at multiples of it in the frame, search the scene together. */
    WAVE_BUNDLE_SIDE = 4,
    WAVE_TRANSPARENT_MAX = 128,
    /* After so many scatters inside a translucent body the path ends. */
    WAVE_WALK_MAX = 1024,
    /* Paths of light that try whether there are caustics are weighted as if the samples of one in so many pixels sent one each. */
    CAUSTIC_STRIDE_TRIED = 8
};

/* How light is found. Each strategy alone is unbiased too, only noisier: tests compare them. Delta lights are always
 * sampled, and light met by rays from delta lobes always counts. */
typedef enum WaveStrategy {
    WAVE_STRATEGY_MIS = 0,
    WAVE_STRATEGY_LIGHTS, /* only light sampling */
    WAVE_STRATEGY_BSDFS   /* only BSDF sampling */
} WaveStrategy;

/* The data that all waves of a render share. Only the film changes. */
typedef struct WaveShared {
    const Scene *scene;
    /* The package's settings with the user's options applied. */
    const SceneSettings *settings;
    const Accel *accel;
    const Lights *lights;
    const MaterialSet *materials;
    const ShadeGlow *glows; /* [material_count] */
    CameraView camera;
    /* What pixels show instead of what the camera sees; NULL: that. Its size is the film's. */
    const BakeTable *bake;
    /* By SceneNeighbour: the camera in the frames before and after; only for FILM_AOV_VECTOR. */
    CameraView neighbours[2];
    PixelFilter filter;
    Sampler sampler;
    uint32_t seed;
    /* Limits of the mean channel of each contribution; INFINITY: none. */
    float clamp_direct, clamp_indirect;
    /* Nominal number of samples per pixel. */
    uint32_t samples;
    WaveStrategy strategy;
    WaveView view;
    /* Rays that leave the lights; not NULL while the view is WAVE_VIEW_LIGHT. */
    const LightEmission *emission;
    /* Those aimed at casters of caustics; NULL: no paths of light look for caustics. */
    const CausticEmission *caustic_emission;
    /* The samples of one in so many pixels send such a path each; 0: each sample does, and in place of all light the film
     * gets what that of caustics tells of noise (CausticNoise). */
    uint32_t caustic_stride;
    /* The distance within which surfaces darken one another in WAVE_VIEW_AO and FILM_AOV_AMBIENT_OCCLUSION; INFINITY: any. */
    float ao_distance_m;
    Film *film;
    /* Pixels for which film_is_done holds get no more samples. */
    bool skips_done;
    /* Borrowed, NULL: none. When it is set, waves end without their samples: the film is of no use then. */
    const _Atomic bool *stop;
    /* The field that directions are drawn by, and the one that paths teach; NULL: none. They may be the same. */
    const GuideField *guide;
    GuideField *learner;
    /* What shadow rays tell of the lights; NULL: nothing. */
    LightSight *sight;
    /* FilmSample.ids by index of the instance and material; NULL: not recorded. */
    const uint32_t *instance_ids, *material_ids;
} WaveShared;

/* Returns whether paths gather light, as they do for the picture, for WAVE_VIEW_COST and for WAVE_VIEW_LIGHT. For other views they
 * end at the first surface. */
static inline bool wave_gathers_light(const WaveShared *s)
{
    return s->view == WAVE_VIEW_NONE || s->view == WAVE_VIEW_COST || s->view == WAVE_VIEW_LIGHT;
}

/* The samples [sample, sample_end) of each pixel of a rectangle in frame coordinates; as many as the wave's capacity at most. */
typedef struct WaveJob {
    uint32_t x, y, width, height;
    uint32_t sample, sample_end;
} WaveJob;

static inline uint64_t wave_job_samples(const WaveJob *job)
{
    return (uint64_t)job->width * job->height * (job->sample_end - job->sample);
}

typedef enum WaveStage {
    WAVE_STAGE_CAMERA,
    WAVE_STAGE_INTERSECT,
    WAVE_STAGE_WALK,
    WAVE_STAGE_ESCAPE,
    WAVE_STAGE_CAUSTICS,
    WAVE_STAGE_SURFACE,
    WAVE_STAGE_SHADOW,
    WAVE_STAGE_ADVANCE,
    WAVE_STAGE_COMMIT,
    WAVE_STAGE_COUNT
} WaveStage;
const char *wave_stage_name(WaveStage stage);

typedef struct WaveCounters {
    uint64_t paths, rays, shadow_rays, bsdf_faults;
    /* Paths of light that look for caustics, and those of them that find light for a pixel which scattering hardly finds. */
    uint64_t caustic_paths, caustics_found;
    /* Wall-clock time, with the waits of a parked fiber. */
    uint64_t stage_ns[WAVE_STAGE_COUNT];
    ShadeCounters shade;
} WaveCounters;

typedef struct Wave Wave;

/* Creates a wave in `arena`, which frees it. shared, shade and levels are borrowed; `shade` serves this wave alone.
 * levels: the probe of `shade`, for WAVE_VIEW_MIP and FILM_AOV_MIP; else NULL. capacity: the most samples of a job, at
 * least 1. Error: memory. */
Status wave_create(const WaveShared *shared, ShadeContext *shade, LevelWatch *levels,
                   uint32_t capacity, Arena *arena, Wave **out_wave, Error *err) SORT_MUST_CHECK;
/* Traces all paths of the job and commits their samples to the film. For WAVE_VIEW_COST the job must be one pixel.
 * Call it on the fiber that owns the wave. */
void wave_run(Wave *wave, const WaveJob *job);
WaveCounters wave_counters(const Wave *wave);
void wave_counters_add(WaveCounters *sum, const WaveCounters *counters);

#endif
