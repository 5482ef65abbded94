/* Light sampling: everything that shines, with a probability for each.
 *
 *   Scene.lights        point and spot, with or without a radius, distant, rectangle, disk and ellipse, sphere
 *   emissive meshes     and curves: one source per (instance, material slot) whose material emits; where it moves, a point on it is
 *                       placed at the time that is asked for
 *   environment         constant, or image with its table; where portals (portals.h) are seen, it is looked for through these too
 *
 * A *source* is one of these. Local sources are chosen by how much light they and the infinite ones bring to the point (when both
 * exist), with a least probability: a far horizon cannot starve a lamp, nor a lamp the sky, unless scattered rays find that anyhow
 * (light_choice.c). Among the infinite ones what each brings to the surface decides, among many their power; among the local ones,
 * whose every triangle, or pair of them (light_pair.h), and segment counts by itself, a tree that knows how much each may bring to the point (light_tree.h). None of
 * that knows what stands between, which lights_heed adds. The densities below include that choice; each is the density of sampling
 * this source alone, which is what MIS of one source's radiance needs.
 * Radiance of meshes and of the environment image is not known here: the sample says what shade has
 * to look up.
 *
 * Geometry: rectangles, disks, spheres, and points and spots with a radius are real surfaces for camera and scattered rays (accel
 * intersects them); a ray ends there. The dark side of a one-sided light is not there at all, for
 * any ray.
 *
 * But for lights_heed Lights is immutable; any thread. It borrows the Scene. */
#ifndef SORT_LIGHT_LIGHT_H
#define SORT_LIGHT_LIGHT_H

#include "sort/bsdf/spectrum.h"
#include "sort/light/environment.h"
#include "sort/light/light_query.h"
#include "sort/light/light_sight.h"
#include "sort/wide/wide.h"

typedef struct Lights Lights;

/* The sides of the surfaces of a material from which light leaves, as bits. */
enum { LIGHT_EMITS_FRONT = 1, LIGHT_EMITS_BACK = 2 };

typedef struct LightsDesc {
    size_t size_bytes; /* sizeof(LightsDesc) */
    const Scene *scene;
    /* [material_count] a rough mean of the luminance of emitted radiance, for choosing only; 0: the
     * material does not emit. NULL: none does. */
    const float *material_emission;
    /* [material_count] LIGHT_EMITS_x: sides that are known to emit; others are not sampled. NULL: both. */
    const uint8_t *material_sides;
    /* Replaces what `count` triangles, or segments, of an instance are expected to emit, for choosing only: out[k] is the emission of
     * their material before. May leave it. NULL: all of a material are alike. Called by lights_create alone. */
    void (*look)(void *data, uint32_t instance, uint32_t material, const uint32_t *triangles,
                 uint32_t count, float *out);
    void *look_data;
    /* [light_count] what the emission of each SceneLight is multiplied by; NULL: 1. */
    const Spectrum *light_factors;
    /* For an environment image; NULL: sampled uniformly. Borrowed. */
    const EnvironmentTable *environment_table;
} LightsDesc;

Status lights_create(const LightsDesc *desc, Lights **out_lights, Error *err) SORT_MUST_CHECK;
void lights_destroy(Lights *lights); /* NULL is fine */
/* Makes sources whose light seldom arrived less likely to be chosen than others, and forgets what it heeded before. sight: of
 * lights_sight_count(); NULL: nothing is known. No other thread may use the lights meanwhile. Error: memory; then nothing has changed. */
Status lights_heed(Lights *lights, const LightSight *sight, Error *err) SORT_MUST_CHECK;
/* Returns the number of lights that a LightSight tells apart: lamps, triangles (a pair is one) and segments that shine, infinite
 * sources, and the sky as it is looked for through portals. */
uint32_t lights_sight_count(const Lights *lights);
/* Returns whether the environment is looked for through portals. */
bool lights_have_portals(const Lights *lights);
/* Returns the number of sources; 0: nothing emits. */
uint32_t lights_count(const Lights *lights);

/* The light contributes (radiance seen along wi) x bsdf x cos / pdf_solid_angle at the reference point; for a delta source, radiance stands for irradiance at normal incidence and
 * pdf_solid_angle is the probability of choosing the source. */
typedef enum LightValue {
    LIGHT_VALUE_KNOWN,       /* `radiance` */
    LIGHT_VALUE_ENVIRONMENT, /* the environment image in direction wi */
    LIGHT_VALUE_MESH         /* the emission of (instance, triangle) at (b1, b2) toward -wi */
} LightValue;

/* Light for the points of a block, by lane. */
typedef struct LightRows {
    alignas(64) WideRow wi[3]; /* unit, from the point to the light */
    WideRow distance_m;        /* INFINITY for distant lights and the environment */
    WideRow pdf;               /* per solid angle, above 0 */
    WideRow end[3], end_n[3],
        end_error_m; /* a SurfacePoint, of lights at a finite distance, but not of curves */
    WideRow radiance[SPECTRUM_CHANNELS]; /* LIGHT_VALUE_KNOWN */
    WideRow b1, b2; /* LIGHT_VALUE_MESH: barycentrics of corners 1 and 2; b1: u of a segment */
    WideInts is_backfacing; /* LIGHT_VALUE_MESH: the back of the triangle is seen */
    LightValue value[SSL_BLOCK];
    bool is_delta[SSL_BLOCK]; /* rays cannot meet it: no MIS */
    bool is_environment[SSL_BLOCK];
    bool is_through_portal[SSL_BLOCK]; /* of the environment; set if there are portals */
    uint32_t instance[SSL_BLOCK],
        triangle[SSL_BLOCK],           /* LIGHT_VALUE_MESH; or a segment of curves */
        material[SSL_BLOCK];           /* LIGHT_VALUE_MESH */
    EnvironmentPlace place[SSL_BLOCK]; /* LIGHT_VALUE_ENVIRONMENT: of wi in the image */
    uint32_t source[SSL_BLOCK];        /* for statistics */
    uint32_t leaf[SSL_BLOCK];          /* of a local source: in the tree */
    uint32_t light_group[SSL_BLOCK];   /* of the scene; 0: none */
    const SceneLightVisibility *visibility[SSL_BLOCK]; /* borrowed: scene */
} LightRows;

static inline Spectrum light_radiance(const LightRows *rows, uint32_t lane)
{
    Spectrum radiance;
    SPECTRUM_EACH(c) radiance.c[c] = rows->radiance[c][lane];
    return radiance;
}

/* The points of a block that light comes to, by lane. */
typedef struct LightQueries {
    const WideRow *position; /* [3] */
    const WideRow *normal;   /* [3] of the surface there, or zero: a hint */
    const uint32_t *sides;   /* SkySides from which light counts there: a hint */
    const LightGloss *gloss; /* likewise, about the normals; NULL: none */
    const float *time;       /* of the shutter, in [0, 1] */
    const WideRow *u;        /* [2] random, in [0, 1)^2 */
} LightQueries;

/* Returns whether LightQuery.gloss makes a difference: there are several lamps to choose from. */
bool lights_heed_gloss(const Lights *lights);
/* Returns the light of a lane, in [0, lights_sight_count()). */
uint32_t lights_sight_index(const Lights *lights, const LightRows *rows, uint32_t lane);
/* Picks a source for each point of `live` with u[0], and a point or direction on it with u[1] and what the choice leaves of
 * u[0]. Returns the points whose samples contribute something; others are black, face away, or nothing shines, and still
 * count as samples. A sample does not depend on the others. */
uint16_t lights_sample_points(const Lights *lights, const LightQueries *queries, uint16_t live,
                              LightRows *out_rows);

/* Picks a lamp for each point of `live`, all with the same probability: a light of Scene.lights that is not black, or an instance that
 * stands for one (SceneInstance.is_lamp). And a point on it, evenly by solid angle or by area, whatever the normal there. Otherwise as
 * lights_sample_points; the radiance of meshes is not asked for. */
uint16_t lights_sample_lamps(const Lights *lights, const LightQueries *queries, uint16_t live,
                             LightRows *out_rows);

/* The fields of LightRows, for one point. */
typedef struct LightSample {
    float3 wi;
    float distance_m, pdf_solid_angle;
    SurfacePoint end;
    bool is_delta, is_environment, is_backfacing;
    LightValue value;
    Spectrum radiance;
    uint32_t instance, triangle;
    float b1, b2;
    uint32_t source;
} LightSample;

/* Samples one light for one point, above the normal unless that is zero. */
bool lights_sample(const Lights *lights, float3 position, float3 normal, float time, float2 u,
                   LightSample *out_sample);

/* --- what a scattered ray that meets a light needs: radiance, and the density with which
 *     lights_sample would have chosen its direction from the point that is asked for -------------------------- */

typedef struct LightHit {
    LightValue value;
    Spectrum radiance;      /* toward the ray's origin */
    float pdf_solid_angle;  /* 0 where light sampling never samples */
    EnvironmentPlace place; /* LIGHT_VALUE_ENVIRONMENT: of the direction in the image */
    uint32_t light_group;   /* of the scene; 0: none */
    const SceneLightVisibility *visibility; /* borrowed: scene */
    /* The ray met the bounding sphere of a disk that faces `position`, but not the disk: it goes on. */
    bool is_beside;
    bool is_environment;
} LightHit;

/* Returns the light of a shape, Scene.lights[light], that a ray met in `direction` at distance_m. */
LightHit lights_shape_hit(const Lights *lights, const LightQuery *from, uint32_t light,
                          float3 direction, float distance_m);
/* A place of an emissive triangle or segment that a ray met in `direction`. */
typedef struct MeshLightHit {
    uint32_t instance, triangle;
    float b1, b2; /* b1: a segment's u */
    float3 direction;
    float distance_m;
} MeshLightHit;
/* Returns the density alone; 0 when the material is not known to emit, and where sampling never gets (curve_light.h). */
float lights_mesh_pdf(const Lights *lights, const LightQuery *from, float time,
                      const MeshLightHit *met);
/* A ray that escapes meets every infinite source in its direction: distant lights with an angle,
 * the constant environment, the environment image. index < lights_infinite_count. */
uint32_t lights_infinite_count(const Lights *lights);
/* So many infinite sources are chosen by what each brings to the point, more by their power. */
enum { LIGHTS_WEIGHED_MAX = 4 };
/* What light sampling, from a ray's origin, has to do with the ray's direction. */
typedef struct LightSky {
    /* Where in the environment it ends; zeros without one, and where an even one is never drawn. */
    EnvironmentPlace place;
    float chance;                        /* the probability of choosing among infinite sources */
    float chance_of[LIGHTS_WEIGHED_MAX]; /* that of each of these, if they are so few */
} LightSky;

/* Finds it for the rays of `lanes`, whose origins are `positions`. */
void lights_find_sky(const Lights *lights, const EnvironmentRays *rays, const WideRow positions[3],
                     uint16_t lanes, LightSky out_skies[SSL_BLOCK]);
/* out_hit->value: KNOWN, or ENVIRONMENT: shade looks the radiance up. sky: of the ray, by lights_find_sky; NULL: pdf_solid_angle and
 * place of *out_hit are to be zero. False: not in this direction. */
bool lights_infinite_hit(const Lights *lights, uint32_t index, float3 direction,
                         const LightSky *sky, LightHit *out_hit);
/* Returns whether a lobe that draws a place of the environment with this density cannot tell more of it than the radiance of
 * the table's cell, in *out_radiance. */
bool lights_know_sky(const Lights *lights, const EnvironmentPlace *place, float lobe_pdf,
                     Spectrum *out_radiance) SORT_MUST_CHECK;
/* Returns the footprint of a cell of the environment's table (environment_cell). */
EnvironmentFootprint lights_environment_cell(const Lights *lights, float2 uv);

/* Probability with which `source` is chosen at a point; sums to 1 over all, or less where the tree promises light
 * that no source brings. For tests and statistics: it takes time in proportion to the triangles of a mesh. */
float lights_choice_probability(const Lights *lights, uint32_t source, float3 position,
                                float3 normal);

#endif
