/* The parts of Lights; for light_build.c, which makes them, light_sample.c, which samples them, and light.c. */
#ifndef SORT_LIGHT_LIGHT_STATE_H
#define SORT_LIGHT_LIGHT_STATE_H

#include "sort/light/light.h"
#include "sort/light/light_shape.h"
#include "sort/light/light_tree.h"
#include "sort/light/light_triangle.h"

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
    float probability; /* infinite: of being chosen among these */
    float
        variation; /* infinite: how much samples of it vary, relative to its power and to those of a sun */
    float scattered;   /* infinite: of how many samples of it a diffuse ray is worth, in [0, 1] */
    Spectrum emission; /* SceneLight.emission; of distant lights with an angle and the constant
                        * environment: radiance; MESH: a rough mean of it, for choosing only */
    float3 position, axis; /* axis: unit, from the light backwards (+z of the light) */
    float one_minus_cos;   /* DISTANT: of the half angle; 0: delta */
    bool is_spot;          /* SPOT, and SHAPE of a spot with a radius: */
    SceneFalloff falloff;
    float cos_inner, cos_outer;
    uint32_t light;          /* of Scene.lights, and so of shapes; not of MESH, ENVIRONMENT */
    uint32_t instance;       /* MESH */
    uint32_t material;       /* MESH: of Scene.materials */
    const SceneMesh *mesh;   /* MESH: the instance's, borrowed */
    uint32_t first_leaf;     /* local: in the tree; the only one but for MESH */
    bool moves;              /* MESH */
    uint32_t triangle_count; /* MESH: leaves, one a triangle or a segment of a curve */
    uint32_t *triangles;     /* MESH: owned, of the instance's mesh, rising; or segments */
    float *areas;            /* MESH: owned, of the triangles, square metres */
    uint32_t light_group;    /* of the scene; 0: none */
    const SceneLightVisibility *visibility; /* borrowed: scene */
} Source;

enum { NO_SOURCE = 0xffffffffu };

/* Returns whether the source's leaves are triangles. */
static inline bool source_is_triangles(const Source *s)
{
    return s->kind == SOURCE_MESH && !s->mesh->curves;
}

typedef struct CausticBox {
    float3 lower, upper;
} CausticBox;

/* The lights that are looked for through casters of caustics, and where these casters are; empty unless there are lights,
 * casters and receivers. */
typedef struct CausticScene {
    uint32_t *lights;  /* [light_count] of Scene.lights, rising */
    CausticBox *boxes; /* [box_count] of instances */
    uint32_t light_count, box_count;
} CausticScene;

/* sources[]: local ones first, then the infinite ones. Every local source, and every triangle of a mesh source,
 * is a leaf of the tree. */
struct Lights {
    const Scene *scene;                  /* borrowed */
    const EnvironmentTable *environment; /* borrowed; may be NULL */
    Source *sources;
    LightTree *tree;           /* NULL: no local source */
    uint32_t *leaf_source;     /* [leaf_count] */
    LightTriangle *triangles;  /* [leaf_count] of leaves that are triangles; NULL: none is */
    float infinite_irradiance; /* by the infinite ones, mean of all normals, as luminance */
    float share_min;           /* of the local ones and of the infinite ones, when there are both */
    double *cumulative; /* running sums of the infinite ones' probabilities; ends at exactly 1 */
    LightShape *shapes; /* [scene->light_count], of the kinds that have one */
    uint32_t *source_of_light; /* [scene->light_count]; NO_SOURCE: black */
    uint32_t *first_slot; /* [instance_count]: its slots in source_of_slot; NULL: no mesh emits */
    uint32_t *source_of_slot;
    uint32_t count, infinite_first, leaf_count;
    bool moves; /* some source of MESH does */
    CausticScene caustics;
};

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
/* Sets the probability of choosing each of the infinite sources among these at points, where lights_weigh_infinite(): by the
 * irradiance of a surface with this normal that light comes to from these SkySides, more of an uneven sky, less what scattered rays find
 * of the source. A sun at its horizon keeps a twentieth, since materials bend normals. */
void lights_weigh(const Lights *lights, const WideRow normals[3], const uint32_t sides[SSL_BLOCK],
                  WideRow out_chances[LIGHTS_WEIGHED_MAX]);
/* Returns the probability of choosing among the local sources at a point, when there are both kinds, by the irradiance that
 * the local ones promise there and that of the infinite ones, which counts double, as it varies more with the direction.
 * Either may lie in shadow, so both keep lights->share_min, but for local ones that cannot reach the point. */
float lights_share_of_local(const Lights *lights, float local_irradiance);
/* Returns the share of the intensity that a spot sends out at an angle from its axis. */
float source_spot_falloff(const Source *s, float cos_angle);
/* Returns the share of its radiance that a shape sends out in the direction -wi. */
float source_shape_share(const Source *s, const LightShape *shape, float3 wi);

#endif
