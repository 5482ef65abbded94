/* The state of a wave; only for the stages in this folder. */
#ifndef SORT_INTEGRATOR_WAVE_STATE_H
#define SORT_INTEGRATOR_WAVE_STATE_H

#include "sort/integrator/wave.h"

enum { PATH_DEAD = 1, PATH_SPECULAR = 2, PATH_SEEN = 4, PATH_LAST = 8 };

/* One path. The ray itself lies in Wave.rays, at the same index. */
typedef struct Path {
    SampleKey key;
    RayDiff diff;
    Spectrum beta; /* throughput: product of weight = f cos / pdf so far */
    float pdf;     /* density of the last scatter; unused while PATH_SPECULAR */
    float
        eta_scale; /* squared product of the indices passed: roulette must not punish refraction */
    float3 from,
        from_n;     /* where the last scatter was, and its normal: what light densities refer to */
    uint32_t depth; /* surface interactions so far, transparent ones not counted */
    uint32_t event; /* the same with them: selects the dimensions of the sampler */
    uint32_t flags; /* PATH_*: DEAD ends in this pass, SPECULAR the last scatter was a delta (or the
                           camera), SEEN the first-surface AOVs are set, LAST only emission counts now */
    FilmSample film; /* radiance and AOVs gathered so far */
} Path;

/* A sample on an emissive mesh whose radiance is still to be evaluated. */
typedef struct MeshLightSample {
    uint32_t path;
    SurfaceHit hit;
} MeshLightSample;

struct Wave {
    const WaveShared *shared;
    ShadeContext *shade;
    uint32_t capacity, count;
    RayBatch rays;
    HitBatch hits;
    ShadowBatch shadow; /* index = path */
    Path *paths;
    SurfaceHit *surfaces; /* of this pass, by path; in the shadow stage: of alpha hits */
    Spectrum *light;      /* what arrives if the shadow ray is clear, by path */
    RayDiff *light_diff;  /* of the shadow ray */
    uint32_t *order;      /* path indices grouped by material */
    uint32_t *bucket;     /* [material_count + 1], for grouping */
    MeshLightSample *mesh_lights;
    uint32_t mesh_light_count;
    WaveCounters counters;
};

void stage_camera(Wave *w, const WaveJob *job);
void stage_escape(Wave *w);
void stage_surface(Wave *w);
void stage_shadow(Wave *w);
void stage_advance(Wave *w);

/* Groups `members` (indices into surfaces) by material, stably, into w->order[0, count). */
void wave_group(Wave *w, const uint32_t *members, uint32_t count);
/* The surfaces of w->order[begin, begin + n) that one kernel call can take: of one material, n at most
 * SHADE_CHUNK, not beyond `end`. Returns n; 0 when begin is end. */
uint32_t wave_chunk(const Wave *w, uint32_t begin, uint32_t end, const SurfaceHit **out_hits);
/* beta * value added to the path's radiance. */
void path_add(Path *path, Spectrum value);

#endif
