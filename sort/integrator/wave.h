/* Waves: a small batch of paths that go through the stages of path tracing together.
 *
 *   camera -> [ intersect -> walk -> escape -> surface -> shadow -> advance ] until no path is left -> film
 *
 * A wave is one fiber's: its stages are plain sequential functions, and only a texture lookup deep below
 * `surface` and `shadow` may park the fiber. No path sees its neighbours: stages permute, and everything
 * random is a function of (pixel, sample, dimension), so the picture does not depend on the wave's size,
 * order or fiber.
 *
 * Unidirectional path tracing [Kajiya1986] with next-event estimation and multiple importance sampling by
 * the power heuristic [Veach1997 ch. 9], Russian roulette on throughput. */
#ifndef SORT_INTEGRATOR_WAVE_H
#define SORT_INTEGRATOR_WAVE_H

#include "sort/accel/accel.h"
#include "sort/film/film.h"
#include "sort/film/pixel_filter.h"
#include "sort/integrator/view.h"
#include "sort/light/light.h"
#include "sort/sampling/sampler.h"
#include "sort/scene/camera.h"
#include "sort/shade/shade.h"

enum {
    WAVE_CAPACITY_DEFAULT = 1024,
    WAVE_TRANSPARENT_MAX = 128,
    WAVE_ROULETTE_DEPTH = 3,
    WAVE_WALK_MAX = 1024 /* scatters inside a translucent body; then the path ends */
};

/* How light is looked for. One strategy alone is right too, only noisier: tests compare them. Delta lights
 * are always sampled, and what is seen through deltas is always followed. */
typedef enum WaveStrategy {
    WAVE_STRATEGY_MIS = 0,
    WAVE_STRATEGY_LIGHTS, /* light sampling alone */
    WAVE_STRATEGY_BSDFS   /* scattering alone */
} WaveStrategy;

/* What all waves of a render share; immutable but for the film. */
typedef struct WaveShared {
    const Scene *scene;
    const SceneSettings *settings; /* the package's, with what the user says instead */
    const Accel *accel;
    const Lights *lights;
    const MaterialSet *materials;
    CameraView camera;
    PixelFilter filter;
    Sampler sampler;
    uint32_t seed;
    float clamp_direct, clamp_indirect; /* of a light's mean channel; INFINITY: none */
    uint32_t samples;                   /* nominal, a pixel */
    WaveStrategy strategy;
    WaveView view;
    float ao_distance_m; /* of WAVE_VIEW_AO; INFINITY: any */
    Film *film;
    bool skips_done; /* pixels that film_is_done */
    const uint32_t *instance_ids,
        *material_ids; /* for FilmSample.ids, by index; NULL: not wanted */
} WaveShared;

/* Paths gather light, as they do for a picture and to see what that costs; else they end at the first surface. */
static inline bool wave_gathers_light(const WaveShared *s)
{
    return s->view == WAVE_VIEW_NONE || s->view == WAVE_VIEW_COST;
}

/* One sample of each pixel of a rectangle, in frame coordinates; width * height <= the wave's capacity. */
typedef struct WaveJob {
    uint32_t x, y, width, height, sample;
} WaveJob;

typedef enum WaveStage {
    WAVE_STAGE_CAMERA,
    WAVE_STAGE_INTERSECT,
    WAVE_STAGE_WALK,
    WAVE_STAGE_ESCAPE,
    WAVE_STAGE_SURFACE,
    WAVE_STAGE_SHADOW,
    WAVE_STAGE_ADVANCE,
    WAVE_STAGE_COMMIT,
    WAVE_STAGE_COUNT
} WaveStage;
const char *wave_stage_name(WaveStage stage);

typedef struct WaveCounters {
    uint64_t paths, rays, shadow_rays, bsdf_faults;
    uint64_t stage_ns[WAVE_STAGE_COUNT]; /* waits of a parked fiber are in it */
    ShadeCounters shade;
} WaveCounters;

typedef struct Wave Wave;

/* In `arena`. capacity: samples of a job, a multiple of ACCEL_PACKET. `shade` is the wave's own. levels: what `shade` probes
 * with, for WAVE_VIEW_MIP and FILM_AOV_MIP; else NULL. */
Status wave_create(const WaveShared *shared, ShadeContext *shade, LevelWatch *levels,
                   uint32_t capacity, Arena *arena, Wave **out_wave, Error *err) SORT_MUST_CHECK;
/* Traces all paths of the job, then commits them. For WAVE_VIEW_COST the job is one pixel. */
void wave_run(Wave *wave, const WaveJob *job);
WaveCounters wave_counters(const Wave *wave);
void wave_counters_add(WaveCounters *sum, const WaveCounters *counters);

#endif
