#include "sort/light/caustic_emission.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/caustic_light.h"
#include "sort/light/light_leave.h"
#include "sort/light/light_state.h"
#include "sort/light/scene_bounds.h"
#include "sort/sampling/warp.h"
#include <string.h>

/* A density is a sum over the spheres. */
enum { SPHERES_MAX = 64 };

typedef struct Sphere {
    float3 centre;
    float radius_m;
} Sphere;

typedef enum Role { ROLE_CASTER = 1, ROLE_RECEIVER = 2 } Role;

struct CausticEmission {
    const Lights *lights;
    Sphere scene;
    Sphere spheres[SPHERES_MAX];
    uint32_t sphere_count;
    uint8_t *roles; /* [instance_count] Role */
    bool *glossy;   /* [material_count]; NULL: none is */
    bool has_glossy;
    uint32_t *sources; /* [source_count] of Lights.sources, rising */
    uint32_t *indices; /* [Lights.count] in sources; NO_SOURCE: none of them */
    uint32_t source_count;
    uint32_t *first_sum; /* [source_count] of a mesh in `sums` */
    double *sums;  /* by mesh [triangle_count + 1]: running sums of areas, of which the last is 1 */
    double *areas; /* [source_count] of meshes */
    float3 *middles; /* [source_count] of meshes */
    /* [source_count][sphere_count] running sums of the chances of pairs, before each. */
    double *cumulative;
    uint32_t pair_count;
};

/* --- making it ------------------------------------------------------------------------------------- */

/* Boxes [begin, end) of a list that is sorted as it is divided, and the box that holds them. */
typedef struct Cluster {
    uint32_t begin, end;
    CausticBox box;
} Cluster;

static float3 least(float3 a, float3 b)
{
    return f3(minf(a.x, b.x), minf(a.y, b.y), minf(a.z, b.z));
}

static float3 most(float3 a, float3 b)
{
    return f3(maxf(a.x, b.x), maxf(a.y, b.y), maxf(a.z, b.z));
}

static void hold(const CausticBox *boxes, Cluster *c)
{
    c->box = boxes[c->begin];
    for (uint32_t i = c->begin + 1; i < c->end; ++i) {
        c->box.lower = least(c->box.lower, boxes[i].lower);
        c->box.upper = most(c->box.upper, boxes[i].upper);
    }
}

static float along(float3 v, int axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Divides a cluster at the middle of its longest side, into itself and *out_rest. False: all lie on one side. */
static bool divide(CausticBox *boxes, Cluster *c, Cluster *out_rest)
{
    float3 size = f3_sub(c->box.upper, c->box.lower), sum = f3_add(c->box.upper, c->box.lower);
    int axis = size.x >= size.y && size.x >= size.z ? 0 : size.y >= size.z ? 1 : 2;
    uint32_t middle = c->begin;
    for (uint32_t i = c->begin; i < c->end; ++i) {
        if (along(f3_add(boxes[i].upper, boxes[i].lower), axis) >= along(sum, axis))
            continue;
        CausticBox moved = boxes[middle];
        boxes[middle++] = boxes[i];
        boxes[i] = moved;
    }
    if (middle == c->begin || middle == c->end)
        return false;
    *out_rest = (Cluster){.begin = middle, .end = c->end};
    c->end = middle;
    hold(boxes, c);
    hold(boxes, out_rest);
    return true;
}

static float3 middle_of(const CausticBox *box)
{
    return f3_scale(f3_add(box->lower, box->upper), 0.5f);
}

static float size_of(const Cluster *c)
{
    return f3_length(f3_sub(c->box.upper, c->box.lower));
}

/* Boxes and radii are rounded. */
static Sphere sphere_of(const CausticBox *boxes, const Cluster *c)
{
    Sphere s = {.centre = middle_of(&c->box)};
    for (uint32_t i = c->begin; i < c->end; ++i)
        s.radius_m =
            maxf(s.radius_m, f3_length(f3_sub(middle_of(&boxes[i]), s.centre)) + boxes[i].radius_m);
    s.radius_m *= 1.0f + 1e-4f;
    return s;
}

/* Divides the largest cluster as long as there may be more of them, and makes each a sphere. */
static void make_spheres(CausticEmission *e, CausticBox *boxes, uint32_t count)
{
    Cluster clusters[SPHERES_MAX] = {{.end = count}};
    uint32_t n = 1;
    hold(boxes, &clusters[0]);
    for (bool is_divided = true; is_divided && n < SPHERES_MAX;) {
        uint32_t largest = 0;
        for (uint32_t k = 1; k < n; ++k)
            if (size_of(&clusters[k]) > size_of(&clusters[largest]) &&
                clusters[k].end - clusters[k].begin > 1)
                largest = k;
        is_divided = divide(boxes, &clusters[largest], &clusters[n]);
        n += is_divided;
    }
    for (uint32_t k = 0; k < n; ++k)
        e->spheres[k] = sphere_of(boxes, &clusters[k]);
    ASSERT(n >= 1 && n <= SPHERES_MAX);
    e->sphere_count = n;
}

static bool is_infinite(const Source *s)
{
    return s->kind == SOURCE_DISTANT || s->kind == SOURCE_ENVIRONMENT;
}

static const Source *source_at(const CausticEmission *e, uint32_t index)
{
    return &e->lights->sources[e->sources[index]];
}

/* Returns whether rays meet the light. */
static bool is_met(const Source *s)
{
    return !s->visibility->is_sampled_only &&
           (s->kind == SOURCE_SHAPE || s->kind == SOURCE_MESH || s->kind == SOURCE_ENVIRONMENT ||
            (s->kind == SOURCE_DISTANT && s->one_minus_cos > 0.0f));
}

/* Returns whether the emission of a source is by a material of these, which may be NULL. */
static bool is_of(const Scene *scene, const Source *s, const bool *materials)
{
    if (!materials)
        return false;
    if (s->kind == SOURCE_ENVIRONMENT)
        return scene->environment.kind == SCENE_ENVIRONMENT_MATERIAL &&
               materials[scene->environment.material];
    return s->kind == SOURCE_MESH && materials[s->material];
}

/* Returns whether paths of light may begin at a source. Light that nothing blocks comes straight through casters. Which objects a
 * linked light is for, and what blocks it, depends on surfaces that such paths do not know before they end. Without flags nothing
 * is looked for that rays of the camera do not find. */
static bool may_begin_at(const CausticEmission *e, const Source *s, const CausticEmissionDesc *desc)
{
    const Scene *scene = e->lights->scene;
    const SceneLightVisibility *v = s->visibility;
    bool by_flags = !desc->casters;
    if (v->is_shadowless || v->unlit_sets || v->open_sets ||
        is_of(scene, s, desc->fickle_materials))
        return false;
    if (!by_flags && (!is_met(s) || v->invisible_to & SCENE_RAYS_BOUNCED))
        return false;
    if (s->kind == SOURCE_MESH)
        return source_is_triangles(s) && !s->moves && !v->is_sampled_only;
    if (s->kind == SOURCE_ENVIRONMENT)
        return !by_flags || scene->environment.is_caustics_light;
    return !by_flags || scene->lights[s->light].is_caustics_light;
}

static Status list_sources(CausticEmission *e, const CausticEmissionDesc *desc, Error *err)
{
    const Lights *lights = e->lights;
    size_t sums = 1;
    e->sources = MEM_ARRAY(uint32_t, lights->count + 1);
    e->indices = MEM_ARRAY(uint32_t, lights->count + 1);
    e->first_sum = MEM_ARRAY(uint32_t, lights->count + 1);
    e->areas = MEM_ARRAY(double, lights->count + 1);
    e->middles = MEM_ARRAY(float3, lights->count + 1);
    if (!e->sources || !e->indices || !e->first_sum || !e->areas || !e->middles)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of %u lights",
                         lights->count);
    for (uint32_t i = 0; i < lights->count; ++i) {
        const Source *s = &lights->sources[i];
        e->indices[i] = NO_SOURCE;
        if (!may_begin_at(e, s, desc))
            continue;
        e->indices[i] = e->source_count;
        e->first_sum[e->source_count] = (uint32_t)sums;
        e->sources[e->source_count++] = i;
        sums += s->kind == SOURCE_MESH ? s->triangle_count + 1 : 0;
    }
    e->sums = sums < UINT32_MAX ? MEM_ARRAY(double, sums) : NULL;
    if (!e->sums)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of %u lights",
                         lights->count);
    return STATUS_OK;
}

/* Sums the areas of the triangles of a mesh, and finds their middle. */
static void sum_mesh(CausticEmission *e, uint32_t index)
{
    const Source *s = source_at(e, index);
    double *sums = &e->sums[e->first_sum[index]], sum = 0.0, middle[3] = {0.0};
    sums[0] = 0.0;
    for (uint32_t k = 0; k < s->triangle_count; ++k) {
        float3 p[3];
        double area = (double)s->areas[k];
        scene_triangle_at(e->lights->scene, s->instance, s->triangles[k], 0.0f, p);
        float3 at = f3_scale(f3_add(f3_add(p[0], p[1]), p[2]), 1.0f / 3.0f);
        middle[0] += area * (double)at.x;
        middle[1] += area * (double)at.y;
        middle[2] += area * (double)at.z;
        sums[k + 1] = sum += area;
    }
    for (uint32_t k = 1; k <= s->triangle_count; ++k)
        sums[k] /= sum;
    e->areas[index] = sum;
    e->middles[index] =
        f3((float)(middle[0] / sum), (float)(middle[1] / sum), (float)(middle[2] / sum));
}

/* Returns the flux that a source sends to a sphere, nearly. */
static double flux_to(const CausticEmission *e, uint32_t index, const Sphere *to)
{
    const Source *s = source_at(e, index);
    double flux = 0.0, angles = (double)s->one_minus_cos;
    double r2 = (double)to->radius_m * (double)to->radius_m;
    SPECTRUM_EACH(c) flux += fabs((double)s->emission.c[c]);
    if (s->kind == SOURCE_ENVIRONMENT)
        return flux * r2 * 4.0 * (double)SORT_PI;
    if (s->kind == SOURCE_DISTANT)
        return flux * r2 * (angles > 0.0 ? 2.0 * (double)SORT_PI * angles : 1.0);
    float3 from = s->position;
    if (s->kind == SOURCE_SHAPE) {
        const LightShape *shape = &e->lights->shapes[s->light];
        from = light_vector(shape->centre);
        flux *= light_shape_area(shape);
    } else if (s->kind == SOURCE_MESH) {
        from = e->middles[index];
        flux *= e->areas[index];
    }
    double d = (double)f3_length(f3_sub(from, to->centre));
    return flux * (d * d > r2 ? r2 / (d * d) : 1.0);
}

static Status set_chances(CausticEmission *e, Error *err)
{
    size_t pairs = (size_t)e->source_count * e->sphere_count;
    e->cumulative = pairs < UINT32_MAX ? MEM_ARRAY(double, pairs + 1) : NULL;
    if (!e->cumulative)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of %u lights",
                         e->source_count);
    e->pair_count = (uint32_t)pairs;
    double total = 0.0;
    for (uint32_t p = 0; p < e->pair_count; ++p) {
        e->cumulative[p] = total;
        double flux = flux_to(e, p / e->sphere_count, &e->spheres[p % e->sphere_count]);
        total += fmin(1e60, fmax(1e-60, flux));
    }
    for (uint32_t p = 0; p < e->pair_count; ++p)
        e->cumulative[p] /= total;
    e->cumulative[e->pair_count] = 1.0;
    return STATUS_OK;
}

/* Sets what instances do. Returns the number of casters, or 0 if nothing receives. */
static uint32_t set_roles(CausticEmission *e, const bool *casters)
{
    const Scene *scene = e->lights->scene;
    uint32_t caster_count = 0, receiver_count = 0;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        bool casts = casters ? casters[i] : instance->is_caustics_caster;
        bool receives = casters || instance->is_caustics_receiver;
        receives = receives && !scene->meshes[instance->mesh].curves;
        e->roles[i] = (uint8_t)((casts ? ROLE_CASTER : 0) | (receives ? ROLE_RECEIVER : 0));
        caster_count += casts;
        receiver_count += receives;
    }
    return receiver_count > 0 ? caster_count : 0;
}

static Status find_spheres(CausticEmission *e, uint32_t casters, Error *err)
{
    const Scene *scene = e->lights->scene;
    uint32_t count = 0;
    scene_bounding_sphere(scene, &e->scene.centre, &e->scene.radius_m);
    CausticBox *boxes = MEM_ARRAY(CausticBox, casters);
    if (!boxes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u casters of caustics", casters);
    for (uint32_t i = 0; i < scene->instance_count; ++i)
        if (e->roles[i] & ROLE_CASTER)
            boxes[count++] = caustic_box(scene, i);
    make_spheres(e, boxes, count);
    mem_free(boxes);
    return STATUS_OK;
}

static Status make(CausticEmission *e, const CausticEmissionDesc *desc, Error *err)
{
    const Scene *scene = e->lights->scene;
    e->roles = MEM_ARRAY(uint8_t, scene->instance_count + 1);
    e->glossy = desc->glossy_materials ? MEM_ARRAY(bool, scene->material_count + 1) : NULL;
    if (!e->roles || (desc->glossy_materials && !e->glossy))
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of lights");
    if (e->glossy)
        memcpy(e->glossy, desc->glossy_materials, scene->material_count * sizeof *e->glossy);
    for (uint32_t m = 0; e->glossy && m < scene->material_count; ++m)
        e->has_glossy |= e->glossy[m];
    uint32_t count = set_roles(e, desc->casters);
    if (count == 0)
        return STATUS_OK;
    TRY(list_sources(e, desc, err));
    if (e->source_count == 0)
        return STATUS_OK;
    for (uint32_t index = 0; index < e->source_count; ++index)
        if (source_at(e, index)->kind == SOURCE_MESH)
            sum_mesh(e, index);
    TRY(find_spheres(e, count, err));
    return set_chances(e, err);
}

Status caustic_emission_create(const CausticEmissionDesc *desc, CausticEmission **out_emission,
                               Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc && desc->lights);
    *out_emission = NULL;
    CausticEmission *e = MEM_NEW(CausticEmission);
    if (!e)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of lights");
    e->lights = desc->lights;
    Status status = make(e, desc, err);
    if (status != STATUS_OK || e->pair_count == 0) {
        caustic_emission_destroy(e);
        return status;
    }
    *out_emission = e;
    return STATUS_OK;
}

void caustic_emission_destroy(CausticEmission *e)
{
    if (!e)
        return;
    mem_free(e->cumulative);
    mem_free(e->sources);
    mem_free(e->indices);
    mem_free(e->first_sum);
    mem_free(e->sums);
    mem_free(e->areas);
    mem_free(e->middles);
    mem_free(e->roles);
    mem_free(e->glossy);
    mem_free(e);
}

bool caustic_emission_casts(const CausticEmission *e, uint32_t instance)
{
    return e->roles[instance] & ROLE_CASTER;
}

bool caustic_emission_lights(const CausticEmission *e, uint32_t instance)
{
    return e->roles[instance] & ROLE_RECEIVER;
}

bool caustic_emission_is_glossy(const CausticEmission *e, uint32_t instance, uint32_t material)
{
    return e->glossy && e->glossy[material] && e->roles[instance] == (ROLE_CASTER | ROLE_RECEIVER);
}

bool caustic_emission_has_glossy(const CausticEmission *e)
{
    return e->has_glossy;
}

/* --- densities ------------------------------------------------------------------------------------- */

static bool holds(const Sphere *s, float3 place)
{
    return f3_length2(f3_sub(s->centre, place)) <= s->radius_m * s->radius_m;
}

/* Returns 1 - cos of the half angle under which a place outside of the sphere sees it. */
static float one_minus_cos_of(const Sphere *s, float3 place)
{
    float sine2 = s->radius_m * s->radius_m / f3_length2(f3_sub(s->centre, place));
    return sine2 / (1.0f + sqrtf(maxf(1.0f - sine2, 0.0f)));
}

/* Returns whether a line meets the sphere. */
static bool meets(const Sphere *s, float3 place, float3 direction)
{
    return f3_length2(f3_cross(direction, f3_sub(s->centre, place))) <= s->radius_m * s->radius_m;
}

/* Returns the density, per solid angle, of directions from a place that are aimed at the sphere. */
static float aim_pdf(const Sphere *s, float3 place, float3 direction)
{
    if (holds(s, place))
        return SORT_INV_4PI;
    return meets(s, place, direction) && f3_dot(direction, f3_sub(s->centre, place)) > 0.0f
               ? warp_cone_pdf(one_minus_cos_of(s, place))
               : 0.0f;
}

static double chance_of(const CausticEmission *e, uint32_t index, uint32_t sphere)
{
    const double *sums = &e->cumulative[index * e->sphere_count + sphere];
    return sums[1] - sums[0];
}

/* Returns the density, per solid angle, with which a direction to the environment is drawn for no surface. */
static float sky_pdf(const CausticEmission *e, float3 wi)
{
    EnvironmentRays rays = {.sides = {SKY_ALL_AROUND}};
    EnvironmentPlace places[SSL_BLOCK];
    wide_set3(rays.direction, 0, wi);
    environment_find(&e->lights->scene->environment, e->lights->environment, &rays, 1, places);
    return places[0].pdf;
}

/* Returns the sum over the spheres of the chance to draw each with the light, times the density of the departure for each. sky: of the
 * environment, sky_pdf. */
static double density_at(const CausticEmission *e, uint32_t index, const CausticDeparture *d,
                         float sky)
{
    const Source *s = source_at(e, index);
    double sum = 0.0;
    for (uint32_t j = 0; j < e->sphere_count; ++j) {
        const Sphere *sphere = &e->spheres[j];
        double chance = chance_of(e, index, j), pdf = 0.0;
        if (is_infinite(s))
            pdf = meets(sphere, d->place, d->direction)
                      ? (double)(SORT_INV_PI / (sphere->radius_m * sphere->radius_m))
                      : 0.0;
        else if (s->kind == SOURCE_MESH)
            pdf = (double)aim_pdf(sphere, d->place, d->direction) / e->areas[index];
        else if (s->kind != SOURCE_SHAPE)
            pdf = (double)aim_pdf(sphere, s->position, d->direction);
        else
            pdf = (double)caustic_place_pdf(e->lights, d->light, sphere->centre, d->place) *
                  (double)aim_pdf(sphere,
                                  light_shape_faces(&e->lights->shapes[s->light])
                                      ? light_vector(e->lights->shapes[s->light].centre)
                                      : d->place,
                                  d->direction);
        sum += chance * pdf;
    }
    if (s->kind == SOURCE_DISTANT && s->one_minus_cos > 0.0f)
        sum *= (double)warp_cone_pdf(s->one_minus_cos);
    return s->kind == SOURCE_ENVIRONMENT ? sum * (double)sky : sum;
}

/* Returns the cosine of the light's normal at the departure, by which an area at right angles to the direction is smaller; 0 behind
 * a surface that does not shine there. */
static float cosine_at(const CausticEmission *e, const Source *s, const CausticDeparture *d)
{
    if (s->kind == SOURCE_MESH)
        return fabsf(f3_dot(d->normal, d->direction));
    if (s->kind != SOURCE_SHAPE || light_shape_faces(&e->lights->shapes[s->light]))
        return 1.0f;
    const LightShape *shape = &e->lights->shapes[s->light];
    if (shape->kind == SCENE_LIGHT_SPHERE)
        return maxf(
            f3_dot(f3_normalize(f3_sub(d->place, light_vector(shape->centre))), d->direction),
            0.0f);
    float cosine = -f3_dot(light_vector(shape->axis[2]), d->direction);
    return shape->is_two_sided ? fabsf(cosine) : maxf(cosine, 0.0f);
}

/* Returns the light of a source, as CausticDeparture has it. */
static uint32_t light_of(const Source *s)
{
    return s->kind == SOURCE_ENVIRONMENT ? CAUSTIC_SKY
           : s->kind == SOURCE_MESH      ? CAUSTIC_MESH | s->instance
                                         : s->light;
}

/* Returns the source that a departure is from, or NO_SOURCE. */
static uint32_t source_of(const Lights *lights, const CausticDeparture *d)
{
    if (d->light == CAUSTIC_SKY) {
        for (uint32_t i = lights->infinite_first; i < lights->count; ++i)
            if (lights->sources[i].kind == SOURCE_ENVIRONMENT)
                return i;
        return NO_SOURCE;
    }
    if (!(d->light & CAUSTIC_MESH))
        return lights->source_of_light[d->light];
    uint32_t instance = d->light & ~CAUSTIC_MESH;
    if (!lights->first_slot)
        return NO_SOURCE;
    const SceneMesh *mesh = &lights->scene->meshes[lights->scene->instances[instance].mesh];
    return lights
        ->source_of_slot[lights->first_slot[instance] + scene_material_slot(mesh, d->triangle)];
}

static float density_of(const CausticEmission *e, uint32_t index, const CausticDeparture *d,
                        float sky)
{
    float cosine = cosine_at(e, source_at(e, index), d);
    return cosine > 0.0f ? (float)(density_at(e, index, d, sky) / (double)cosine) : 0.0f;
}

/* Returns sky_pdf for a departure from the environment. */
static float sky_of(const CausticEmission *e, uint32_t index, const CausticDeparture *d)
{
    return source_at(e, index)->kind == SOURCE_ENVIRONMENT ? sky_pdf(e, f3_neg(d->direction))
                                                           : 0.0f;
}

/* Returns the area that a light shows to who looks at it head-on, nearly. */
static double area_of(const CausticEmission *e, uint32_t index)
{
    const Source *s = source_at(e, index);
    if (s->kind == SOURCE_MESH)
        return e->areas[index];
    const LightShape *shape = &e->lights->shapes[s->light];
    return light_shape_area(shape) * (shape->kind == SCENE_LIGHT_SPHERE ? 0.25 : 1.0);
}

/* Returns the density, per solid angle, with which a place that the departure reaches after distance_m would draw it if it sampled
 * this light alone, nearly. */
static float sampled_pdf(const CausticEmission *e, uint32_t index, const CausticDeparture *d,
                         float distance_m, float sky)
{
    const Source *s = source_at(e, index);
    if (s->kind == SOURCE_ENVIRONMENT)
        return sky;
    if (s->kind == SOURCE_DISTANT)
        return s->one_minus_cos > 0.0f ? warp_cone_pdf(s->one_minus_cos) : INFINITY;
    if (s->kind != SOURCE_MESH && s->kind != SOURCE_SHAPE)
        return INFINITY;
    bool is_ball =
        s->kind == SOURCE_SHAPE && e->lights->shapes[s->light].kind == SCENE_LIGHT_SPHERE;
    double cosine = is_ball ? 1.0 : (double)cosine_at(e, s, d);
    double distance = (double)distance_m;
    return cosine > 0.0 ? (float)(distance * distance / (area_of(e, index) * cosine)) : 0.0f;
}

/* Returns the index of the source that a departure is from, or NO_SOURCE. */
static uint32_t index_of(const CausticEmission *e, const CausticDeparture *d)
{
    uint32_t source = source_of(e->lights, d);
    return source == NO_SOURCE ? NO_SOURCE : e->indices[source];
}

float caustic_emission_scattered(const CausticEmission *e, const CausticDeparture *d,
                                 float distance_m, float pdf)
{
    uint32_t index = index_of(e, d);
    if (isinf(pdf) || index == NO_SOURCE)
        return 1.0f;
    return pdf / (pdf + sampled_pdf(e, index, d, distance_m, sky_of(e, index, d)));
}

float caustic_emission_density(const CausticEmission *e, const CausticDeparture *d,
                               float distance_m, float pdf)
{
    uint32_t index = index_of(e, d);
    if (index == NO_SOURCE)
        return 0.0f;
    float sky = sky_of(e, index, d), density = density_of(e, index, d, sky);
    if (isinf(pdf) || density == 0.0f)
        return density;
    return density * (pdf / (pdf + sampled_pdf(e, index, d, distance_m, sky)));
}

CausticDeparture caustic_emission_departure(const CausticEmission *e, const LightRows *rows,
                                            uint32_t lane, float3 point)
{
    ASSERT(lane < SSL_BLOCK && rows->source[lane] < e->lights->count);
    const Source *s = &e->lights->sources[rows->source[lane]];
    float3 wi = wide_get3(rows->wi, lane);
    return (CausticDeparture){.light = light_of(s),
                              .place = is_infinite(s) ? point
                                                      : f3_madd(point, rows->distance_m[lane], wi),
                              .direction = f3_neg(wi),
                              .triangle = rows->triangle[lane],
                              .normal = wide_get3(rows->end_n, lane)};
}

/* --- drawing --------------------------------------------------------------------------------------- */

static float3 aim(const Sphere *at, float3 place, float2 u)
{
    if (holds(at, place))
        return warp_sphere(u);
    return light_turn(warp_cone(u, one_minus_cos_of(at, place)),
                      f3_normalize(f3_sub(at->centre, place)));
}

/* Returns a direction to the environment. */
static float3 draw_sky(const CausticEmission *e, float2 u, EmittedRay *ray)
{
    const SceneEnvironment *environment = &e->lights->scene->environment;
    const uint32_t sides[SSL_BLOCK] = {SKY_ALL_AROUND};
    const WideRow normal[3] = {{0.0f}}, draw[2] = {{u.x}, {u.y}};
    EnvironmentPlace places[SSL_BLOCK];
    alignas(64) WideRow direction[3];
    environment_draw(environment, e->lights->environment, normal, sides, draw, 1, direction,
                     places);
    ray->place = places[0];
    if (environment->kind != SCENE_ENVIRONMENT_COLOR)
        ray->value = LIGHT_VALUE_ENVIRONMENT;
    return wide_get3(direction, 0);
}

/* The ray begins outside of the scene. */
static void leave_from_infinity(const CausticEmission *e, const Source *s, const Sphere *at,
                                const LightEmissionDraw *draw, EmittedRay *ray)
{
    float3 wi = s->axis;
    if (s->kind == SOURCE_ENVIRONMENT)
        wi = draw_sky(e, draw->direction, ray);
    else if (s->one_minus_cos > 0.0f)
        wi = light_turn(warp_cone(draw->direction, s->one_minus_cos), s->axis);
    float back = f3_length(f3_sub(at->centre, e->scene.centre)) + e->scene.radius_m;
    float3 P = light_disc_place(at->centre, at->radius_m, wi, draw->place);
    ray->direction = f3_neg(wi);
    ray->from = (SurfacePoint){.P = f3_madd(P, back, wi), .n = ray->direction};
    ray->is_infinite = true;
}

static bool leave_shape(const CausticEmission *e, const Source *s, const Sphere *at,
                        const LightEmissionDraw *draw, EmittedRay *ray)
{
    const LightShape *shape = &e->lights->shapes[s->light];
    float3 P = light_vector(shape->centre), n;
    ray->light = s->light;
    if (light_shape_faces(shape)) { /* the place that it shines on, as seen from far away */
        n = ray->direction = aim(at, P, draw->direction);
        P = light_disc_place(P, (float)shape->radius, n, draw->place);
    } else {
        if (!caustic_place_sample(e->lights, s->light, at->centre, draw->place, &P, &n))
            return false;
        ray->direction = aim(at, P, draw->direction);
        n = f3_dot(n, ray->direction) < 0.0f ? f3_neg(n) : n;
    }
    ray->from = light_rounded_place(P, n, (float)shape->plane_error);
    return true;
}

/* rest: what the choice of the source has left of the number. *out_n: the geometric normal. */
static bool leave_mesh(const CausticEmission *e, uint32_t index, const Sphere *at, double rest,
                       const LightEmissionDraw *draw, EmittedRay *ray, float3 *out_n)
{
    const Source *s = source_at(e, index);
    float3 across;
    ASSERT(source_is_triangles(s) && rest >= 0.0 && rest < 1.0);
    uint32_t k = light_interval(&e->sums[e->first_sum[index]], s->triangle_count, rest);
    float3 P = light_triangle_place(e->lights->scene, s, k, draw, ray, &across);
    float length = f3_length(across);
    if (!(length > 0.0f))
        return false;
    ray->direction = aim(at, P, draw->direction);
    *out_n = f3_scale(across, 1.0f / length);
    float3 n = f3_dot(*out_n, ray->direction) < 0.0f ? f3_neg(*out_n) : *out_n;
    ray->from = light_rounded_place(P, n, 0.0f);
    return true;
}

/* Sets the ray that leaves a source towards a sphere, but for its power. rest: as in leave_mesh; *out_share: of the source's
 * radiance. */
static bool leave(const CausticEmission *e, uint32_t index, const Sphere *at, double rest,
                  const LightEmissionDraw *draw, EmittedRay *ray, float3 *out_n, float *out_share)
{
    const Source *s = source_at(e, index);
    *out_share = 1.0f;
    if (is_infinite(s)) {
        leave_from_infinity(e, s, at, draw, ray);
    } else if (s->kind == SOURCE_MESH) {
        return leave_mesh(e, index, at, rest, draw, ray, out_n);
    } else if (s->kind == SOURCE_SHAPE) {
        if (!leave_shape(e, s, at, draw, ray))
            return false;
        *out_share = source_shape_share(s, &e->lights->shapes[s->light], f3_neg(ray->direction));
    } else {
        ray->direction = aim(at, s->position, draw->direction);
        ray->from = (SurfacePoint){.P = s->position, .n = ray->direction};
        if (s->is_spot)
            *out_share = source_spot_falloff(s, -f3_dot(ray->direction, s->axis));
    }
    return true;
}

bool caustic_emission_sample(const CausticEmission *e, const LightEmissionDraw *draw,
                             EmittedRay *ray, CausticDeparture *out_departure, float *out_density)
{
    uint32_t pair = light_interval(e->cumulative, e->pair_count, draw->choice),
             index = pair / e->sphere_count;
    double begin = e->cumulative[pair], chance = e->cumulative[pair + 1] - begin;
    double rest = chance > 0.0 ? fmin((draw->choice - begin) / chance, 1.0 - 0x1p-53) : 0.0;
    ASSERT(draw->choice >= 0.0 && draw->choice < 1.0 && index < e->source_count);
    const Source *s = source_at(e, index);
    float share;
    *out_departure = (CausticDeparture){.light = light_of(s)};
    *ray = (EmittedRay){.light = LIGHT_EMITTED_BY_NO_SHAPE, .value = LIGHT_VALUE_KNOWN};
    if (!leave(e, index, &e->spheres[pair % e->sphere_count], rest, draw, ray,
               &out_departure->normal, &share))
        return false;
    out_departure->place = ray->from.P;
    out_departure->direction = ray->direction;
    out_departure->triangle = ray->triangle;
    float density = density_of(e, index, out_departure, sky_of(e, index, out_departure));
    if (!(density > 0.0f) || !isfinite(density) || share == 0.0f)
        return false;
    Spectrum emission = ray->value == LIGHT_VALUE_KNOWN ? s->emission : spectrum_splat(1.0f);
    ray->power = spectrum_scale(emission, share / density);
    *out_density = is_met(s) ? density : INFINITY;
    return true;
}
