/* The parts of Lights; for light_build.c, which makes them, light_sample.c, which samples them, and light.c. */
#ifndef SORT_LIGHT_LIGHT_STATE_H
#define SORT_LIGHT_LIGHT_STATE_H

#include "sort/light/light.h"
#include "sort/light/light_pair.h"
#include "sort/light/light_shape.h"
#include "sort/light/light_tree.h"
#include "sort/light/light_triangle.h"
#include "sort/light/portals.h"

typedef enum SourceKind {
    SOURCE_POINT,
    SOURCE_SPOT,
    SOURCE_SHAPE,
    SOURCE_MESH,
    SOURCE_DISTANT,
    SOURCE_ENVIRONMENT /* DISTANT and ENVIRONMENT are the infinite kinds */
} SourceKind;

typedef struct Source {
    SourceKind kind;
    float probability; /* infinite: of being chosen among these, where they are not weighed */
    float irradiance;  /* infinite: mean over all normals, as luminance, by what is seen of it */
    Spectrum emission; /* SceneLight.emission; of distant lights with an angle and the constant
                        * environment: radiance; MESH: a rough mean of it, for choosing only */
    float3 position, axis; /* axis: unit, from the light backwards (+z of the light) */
    float one_minus_cos;   /* DISTANT: of the half angle; 0: delta */
    bool is_spot;          /* SPOT, and SHAPE of a spot with a radius: */
    SceneFalloff falloff;
    float cos_inner, cos_outer;
    uint32_t light;        /* of Scene.lights, and so of shapes; not of MESH, ENVIRONMENT */
    uint32_t instance;     /* MESH */
    uint32_t material;     /* MESH: of Scene.materials */
    const SceneMesh *mesh; /* MESH: the instance's, borrowed */
    uint32_t first_leaf;   /* local: in the tree; the only one but for MESH */
    bool moves;            /* MESH */
    uint32_t
        leaf_count; /* MESH: a pair of triangles is one (light_pair.h), else one is a triangle or a segment of a curve */
    uint32_t triangle_count; /* MESH: or segments of a curve */
    uint32_t *triangles;     /* MESH: owned, of the instance's mesh, rising; or segments */
    float *areas;            /* MESH: owned, of the triangles, square metres */
    uint32_t *
        leaves; /* MESH: owned, of the triangles, from first_leaf, rising; NULL: there are no pairs */
    uint32_t light_group;                   /* of the scene; 0: none */
    const SceneLightVisibility *visibility; /* borrowed: scene */
} Source;

enum { NO_SOURCE = 0xffffffffu };

/* Returns whether the source's leaves are triangles. */
static inline bool source_is_triangles(const Source *s)
{
    return s->kind == SOURCE_MESH && !s->mesh->curves;
}

/* Returns the leaf of triangle or segment k of a mesh source, from first_leaf. */
static inline uint32_t source_leaf(const Source *s, uint32_t k)
{
    return s->leaves ? s->leaves[k] : k;
}

enum { NO_PAIR = 0xffffffffu };

typedef struct CausticBox {
    float3 lower, upper;
    float radius_m; /* of the sphere around its middle that holds the instance */
} CausticBox;

/* The lights that are looked for through casters of caustics, and where these casters are; empty unless there are lights,
 * casters and receivers. */
typedef struct CausticScene {
    uint32_t *lights;  /* [light_count] of Scene.lights, rising */
    CausticBox *boxes; /* [box_count] of instances */
    uint32_t light_count, box_count;
} CausticScene;

/* What of the environment decides how often it is sampled. */
typedef struct SkyLook {
    float irradiance; /* Source.irradiance */
    float uneven;     /* how much of it counts as what scattering hardly finds, [0, 1] */
    /* The standard deviation of the rest, as irradiance, when one scattered ray looks for it: whether it gets through. */
    float doubt;
    /* The radiance that portals show, as luminance, by what is seen of it through them. */
    float shown;
} SkyLook;

/* Returns what the environment claims of light sampling where other sources bring so much irradiance, as irradiance. For an even
 * sky: with one sample of light and one of scattering, the chance q of sampling the sky adds
 * doubt^2 / (1 + q) + others^2 q / (1 - q) to the variance, which is least for q / (1 - q) = (doubt / others - 1) / 2; half of
 * that is claimed, as share_of_local counts claims double. */
static inline float sky_claim(const SkyLook *sky, float others)
{
    return sky->uneven * sky->irradiance + 0.25f * maxf(sky->doubt - others, 0.0f);
}

/* Returns it at a point to which a sky of radiance 1 brings `through` by way of portals: E of this sky. One scattered ray finds it
 * with the chance v = through / pi, and samples through portals without much noise. The chance q of these leaves the variance E^2 /
 * (q + v) + others^2 / (1 - q), about, which is least for q / (1 - q) = (E - v others) / (others (1 + v)). Without the
 * divisor 1 + v, which is below 2, half of that is claimed. */
static inline float sky_claim_through(const SkyLook *sky, float others, float through)
{
    float brings = sky->shown * through, found = minf(0.318309886f * through, 1.0f) * others;
    return sky->uneven * sky->irradiance + 0.5f * maxf(brings - found, 0.0f);
}

/* sources[]: local ones first, then the infinite ones. Every local source, and every triangle of a mesh source or pair of them,
 * is a leaf of the tree. */
struct Lights {
    const Scene *scene;                  /* borrowed */
    const EnvironmentTable *environment; /* borrowed; may be NULL */
    Source *sources;
    LightTree *tree;       /* NULL: no local source */
    uint32_t *leaf_source; /* [leaf_count] */
    LightTriangle
        *triangles;   /* [leaf_count] of leaves that are triangles; NULL: none is, and no pair */
    LightPair *pairs; /* [pair_count] */
    uint32_t *pair_of_leaf; /* [leaf_count]; NO_PAIR; NULL: there are no pairs */
    SkyLook sky;            /* zeros without an environment */
    float suns_irradiance;  /* by the distant ones */
    Portals *portals;       /* owned; NULL: none, or nothing shines through them */
    float portal_share;     /* of samples of the sky, where a portal is seen */
    float share_min;        /* of the local ones and of the infinite ones, when there are both */
    double *cumulative; /* running sums of the infinite ones' probabilities; ends at exactly 1 */
    LightShape *shapes; /* [scene->light_count], of the kinds that have one */
    uint32_t *source_of_light; /* [scene->light_count]; NO_SOURCE: black */
    uint32_t *lamps; /* [lamp_count] the sources that are lamps (lights_sample_lamps), rising */
    uint32_t lamp_count;
    uint32_t *first_slot; /* [instance_count]: its slots in source_of_slot; NULL: no mesh emits */
    uint32_t *source_of_slot;
    uint32_t count, infinite_first, leaf_count, pair_count;
    bool moves; /* some source of MESH does */
    CausticScene caustics;
};

/* Returns the pair of triangles that a leaf is, or NULL. */
static inline const LightPair *lights_pair(const Lights *lights, uint32_t leaf)
{
    uint32_t pair = lights->pair_of_leaf ? lights->pair_of_leaf[leaf] : (uint32_t)NO_PAIR;
    return pair == NO_PAIR ? NULL : &lights->pairs[pair];
}

/* Returns the interval of `count` that holds u: sums[k] <= u < sums[k + 1], of rising sums. */
static inline uint32_t light_interval(const double *sums, uint32_t count, double u)
{
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (sums[middle] <= u)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Returns a place or an axis of a shape, rounded. */
static inline float3 light_vector(const double v[3])
{
    return f3((float)v[0], (float)v[1], (float)v[2]);
}

/* Returns where an instance is. */
CausticBox caustic_box(const Scene *scene, uint32_t instance);
/* Fills lights->caustics, once the sources are there (caustic_light.c). STATUS_NO_MEMORY. */
Status caustic_scene_build(Lights *lights, Error *err) SORT_MUST_CHECK;

/* Returns whether there are both local and infinite sources, so that one has to choose between them. */
bool lights_have_both(const Lights *lights);
/* Returns whether infinite sources are chosen by what each brings to the point. */
static inline bool lights_weigh_infinite(const Lights *lights)
{
    uint32_t count = lights->count - lights->infinite_first;
    return count > 1 && count <= LIGHTS_WEIGHED_MAX;
}

/* Chances of sources at points: of choosing among the local ones; and, where lights_weigh_infinite(), that of each infinite source
 * among these. */
typedef struct LightChances {
    alignas(64) WideRow local;
    WideRow infinite[LIGHTS_WEIGHED_MAX];
} LightChances;

/* Finds them at points with these normals, to which light comes from these sides. A lane does not depend on the others; those
 * outside of `live` mean nothing. */
void lights_find_chances(const Lights *lights, const WideRow positions[3], const WideRow normals[3],
                         const uint32_t sides[SSL_BLOCK], uint16_t live, LightChances *out);
/* Draws directions to the environment for `lanes`, by u, which is changed, and sets wi, place (pdf: per solid angle) and
 * is_through_portal of these rows. */
void lights_draw_sky(const Lights *lights, const PortalPoints *at, WideRow u[2], uint16_t lanes,
                     LightRows *out);
/* Makes the densities of places in directions, as the table draws them, those with which lights_draw_sky does. groups: by
 * portals_look. drawn: as in portals_density. There are portals. */
void lights_weigh_sky(const Lights *lights, const PortalPoints *at, const PortalGroups *groups,
                      const WideRow directions[3], const PortalDraws *drawn, uint16_t lanes,
                      EnvironmentPlace places[SSL_BLOCK]);
/* Returns the probability of choosing a leaf of the tree at a point. */
float lights_leaf_probability(const Lights *lights, const LightQuery *at, uint32_t leaf);
/* Returns the share of the intensity that a spot sends out at an angle from its axis. */
float source_spot_falloff(const Source *s, float cos_angle);
/* Returns the share of its radiance that a shape sends out in the direction -wi. */
float source_shape_share(const Source *s, const LightShape *shape, float3 wi);

#endif
