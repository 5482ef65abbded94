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

struct CausticEmission {
    const Lights *lights;
    Sphere scene;
    Sphere spheres[SPHERES_MAX];
    uint32_t sphere_count;
    const Source **
        sources; /* [source_count] in the order of CausticScene.lights, with the environment at the end */
    uint32_t source_count;
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

static Status list_sources(CausticEmission *e, Error *err)
{
    const Lights *lights = e->lights;
    const CausticScene *caustics = &lights->caustics;
    e->sources = MEM_ARRAY(const Source *, caustics->light_count + 1);
    if (!e->sources)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of %u lights",
                         caustics->light_count);
    for (uint32_t k = 0; k < caustics->light_count; ++k)
        e->sources[e->source_count++] =
            &lights->sources[lights->source_of_light[caustics->lights[k]]];
    for (uint32_t i = lights->infinite_first; caustics->has_sky && i < lights->count; ++i)
        if (lights->sources[i].kind == SOURCE_ENVIRONMENT)
            e->sources[e->source_count++] = &lights->sources[i];
    return STATUS_OK;
}

/* Returns the flux that a source sends to a sphere, nearly. */
static double flux_to(const CausticEmission *e, const Source *s, const Sphere *to)
{
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
        double flux = flux_to(e, e->sources[p / e->sphere_count], &e->spheres[p % e->sphere_count]);
        total += fmin(1e60, fmax(1e-60, flux));
    }
    for (uint32_t p = 0; p < e->pair_count; ++p)
        e->cumulative[p] /= total;
    e->cumulative[e->pair_count] = 1.0;
    return STATUS_OK;
}

static Status make(CausticEmission *e, Error *err)
{
    const CausticScene *caustics = &e->lights->caustics;
    ASSERT(caustics_exist(e->lights));
    TRY(list_sources(e, err));
    scene_bounding_sphere(e->lights->scene, &e->scene.centre, &e->scene.radius_m);
    CausticBox *boxes = MEM_ARRAY(CausticBox, caustics->box_count);
    if (!boxes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u casters of caustics",
                         caustics->box_count);
    memcpy(boxes, caustics->boxes, caustics->box_count * sizeof *boxes);
    make_spheres(e, boxes, caustics->box_count);
    mem_free(boxes);
    return set_chances(e, err);
}

Status caustic_emission_create(const Lights *lights, CausticEmission **out_emission, Error *err)
{
    *out_emission = NULL;
    CausticEmission *e = MEM_NEW(CausticEmission);
    if (!e)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of lights");
    e->lights = lights;
    Status status = make(e, err);
    if (status != STATUS_OK) {
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
    mem_free(e);
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

/* Returns the sum over the spheres of the chance to draw each with the light, times the density of the departure for each. */
static double density_at(const CausticEmission *e, uint32_t index, const CausticDeparture *d)
{
    const Source *s = e->sources[index];
    double sum = 0.0;
    for (uint32_t j = 0; j < e->sphere_count; ++j) {
        const Sphere *sphere = &e->spheres[j];
        double chance = chance_of(e, index, j), pdf = 0.0;
        if (is_infinite(s))
            pdf = meets(sphere, d->place, d->direction)
                      ? (double)(SORT_INV_PI / (sphere->radius_m * sphere->radius_m))
                      : 0.0;
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
    if (s->kind == SOURCE_ENVIRONMENT && sum > 0.0)
        sum *= (double)sky_pdf(e, f3_neg(d->direction));
    return sum;
}

/* Returns the cosine of the light's normal at the departure, by which an area at right angles to the direction is smaller; 0 behind
 * a surface that does not shine there. */
static float cosine_at(const CausticEmission *e, const Source *s, const CausticDeparture *d)
{
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

static bool find_light(const CausticEmission *e, uint32_t light, uint32_t *out_index)
{
    if (light == CAUSTIC_SKY) {
        *out_index = e->source_count - 1;
        return e->lights->caustics.has_sky;
    }
    for (uint32_t k = 0; k < e->lights->caustics.light_count; ++k)
        if (e->lights->caustics.lights[k] == light) {
            *out_index = k;
            return true;
        }
    return false;
}

static float density_of(const CausticEmission *e, uint32_t index, const CausticDeparture *d)
{
    float cosine = cosine_at(e, e->sources[index], d);
    return cosine > 0.0f ? (float)(density_at(e, index, d) / (double)cosine) : 0.0f;
}

float caustic_emission_density(const CausticEmission *e, const CausticDeparture *d)
{
    uint32_t index;
    return find_light(e, d->light, &index) ? density_of(e, index, d) : 0.0f;
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

/* Returns whether rays meet the light. */
static bool is_met(const Source *s)
{
    return !s->visibility->is_sampled_only &&
           (s->kind == SOURCE_SHAPE || s->kind == SOURCE_ENVIRONMENT ||
            (s->kind == SOURCE_DISTANT && s->one_minus_cos > 0.0f));
}

bool caustic_emission_sample(const CausticEmission *e, const LightEmissionDraw *draw,
                             EmittedRay *ray, uint32_t *out_light, float *out_density)
{
    uint32_t pair = light_interval(e->cumulative, e->pair_count, draw->choice),
             index = pair / e->sphere_count;
    const Sphere *at = &e->spheres[pair % e->sphere_count];
    ASSERT(draw->choice >= 0.0 && draw->choice < 1.0 && index < e->source_count);
    const Source *s = e->sources[index];
    float share = 1.0f;
    *ray = (EmittedRay){.light = LIGHT_EMITTED_BY_NO_SHAPE, .value = LIGHT_VALUE_KNOWN};
    if (is_infinite(s)) {
        leave_from_infinity(e, s, at, draw, ray);
    } else if (s->kind == SOURCE_SHAPE) {
        if (!leave_shape(e, s, at, draw, ray))
            return false;
        share = source_shape_share(s, &e->lights->shapes[s->light], f3_neg(ray->direction));
    } else {
        ray->direction = aim(at, s->position, draw->direction);
        ray->from = (SurfacePoint){.P = s->position, .n = ray->direction};
        if (s->is_spot)
            share = source_spot_falloff(s, -f3_dot(ray->direction, s->axis));
    }
    *out_light = s->kind == SOURCE_ENVIRONMENT ? CAUSTIC_SKY : e->lights->caustics.lights[index];
    float density =
        density_of(e, index, &(CausticDeparture){*out_light, ray->from.P, ray->direction});
    if (!(density > 0.0f) || !isfinite(density) || share == 0.0f)
        return false;
    Spectrum emission = ray->value == LIGHT_VALUE_ENVIRONMENT ? spectrum_splat(1.0f) : s->emission;
    ray->power = spectrum_scale(emission, share / density);
    *out_density = is_met(s) ? density : INFINITY;
    return true;
}
