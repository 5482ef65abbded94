#include "sort/light/light_emission.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/light_leave.h"
#include "sort/light/light_state.h"
#include "sort/light/scene_bounds.h"
#include "sort/sampling/warp.h"

/* Local sources, and infinite ones, get at least this share of the rays if there are both: powers are estimates. */
#define LEAST_SHARE 0.1
/* The bounds of the scene are rounded. */
#define DISC_MARGIN (1.0f + 1e-4f)

struct LightEmission {
    const Lights *lights;
    float3 centre; /* of the scene's bounding sphere, and its radius */
    float radius_m;
    double *cumulative;  /* [source count + 1] running sums of the chances of sources; ends at 1 */
    uint8_t *sides;      /* [source count] LIGHT_EMITS_x of mesh sources */
    uint32_t *first_sum; /* [source count] of a mesh source in `sums` */
    double *
        sums; /* by mesh source [triangle count + 1]: running sums of areas, of which the last is 1 */
};

/* --- making it ------------------------------------------------------------------------------------- */

static double brightness(Spectrum emission)
{
    double sum = 0.0;
    SPECTRUM_EACH(c) sum += fabs((double)emission.c[c]);
    return sum / (double)SPECTRUM_CHANNELS;
}

/* The solid angle of a cone, over pi. */
static double cone_over_pi(double cosine)
{
    return 2.0 * (1.0 - cosine);
}

static double power_of_mesh(const Source *s, uint32_t sides)
{
    double area = 0.0;
    for (uint32_t k = 0; k < s->triangle_count; ++k)
        area += (double)s->areas[k];
    bool is_both = sides == (LIGHT_EMITS_FRONT | LIGHT_EMITS_BACK);
    return sides ? brightness(s->emission) * area * (is_both ? 2.0 : 1.0) : 0.0;
}

static double power_of_shape(const Source *s, const LightShape *shape)
{
    double power = brightness(s->emission) * light_shape_area(shape);
    if (light_shape_faces(shape))
        return power * (s->is_spot ? cone_over_pi((double)s->cos_outer) : 4.0);
    return shape->is_two_sided ? 2.0 * power : power;
}

/* Returns the radiant flux of a source over pi, nearly. */
static double power_of(const LightEmission *e, uint32_t source)
{
    const Source *s = &e->lights->sources[source];
    double emission = brightness(s->emission);
    double disc = (double)e->radius_m * (double)e->radius_m;
    switch (s->kind) {
    case SOURCE_POINT:
        return 4.0 * emission;
    case SOURCE_SPOT:
        return emission * cone_over_pi((double)s->cos_outer);
    case SOURCE_SHAPE:
        return power_of_shape(s, &e->lights->shapes[s->light]);
    case SOURCE_MESH:
        return power_of_mesh(s, e->sides[source]);
    case SOURCE_DISTANT: {
        double c = (double)s->one_minus_cos;
        return c > 0.0 ? 2.0 * (double)SORT_PI * c * emission * disc : emission * disc;
    }
    case SOURCE_ENVIRONMENT:
        return 4.0 * (double)SORT_PI * emission * disc;
    }
    return 0.0;
}

/* Sets the chances of sources [first, end), which sum to `share`, by their powers. Those that are nearly black have some, too. */
static void share_out(LightEmission *e, uint32_t first, uint32_t end, double share)
{
    double total = 0.0, running = first > 0 ? e->cumulative[first] : 0.0, begin = running;
    for (uint32_t i = first; i < end; ++i) {
        bool is_dark_mesh = e->lights->sources[i].kind == SOURCE_MESH && e->sides[i] == 0;
        double power = is_dark_mesh ? 0.0 : fmin(1e60, fmax(1e-60, power_of(e, i)));
        e->cumulative[i + 1] = total += power;
    }
    for (uint32_t i = first; i < end; ++i)
        e->cumulative[i + 1] = total > 0.0 ? begin + share * (e->cumulative[i + 1] / total) : begin;
}

static double power_between(const LightEmission *e, uint32_t first, uint32_t end)
{
    double total = 0.0;
    for (uint32_t i = first; i < end; ++i)
        total += fmin(1e60, power_of(e, i));
    return total;
}

static void set_chances(LightEmission *e)
{
    uint32_t count = e->lights->count, middle = e->lights->infinite_first;
    double local = power_between(e, 0, middle), infinite = power_between(e, middle, count);
    double share = middle == 0 ? 0.0 : 1.0;
    if (middle > 0 && middle < count && local + infinite > 0.0)
        share = fmin(fmax(local / (local + infinite), LEAST_SHARE), 1.0 - LEAST_SHARE);
    share_out(e, 0, middle, share);
    share_out(e, middle, count, 1.0 - share);
}

static void sum_areas(LightEmission *e)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < e->lights->count; ++i) {
        const Source *s = &e->lights->sources[i];
        if (s->kind != SOURCE_MESH)
            continue;
        double sum = 0.0, *sums = &e->sums[at];
        e->first_sum[i] = at;
        sums[0] = 0.0;
        for (uint32_t k = 0; k < s->triangle_count; ++k)
            sums[k + 1] = sum += (double)s->areas[k];
        for (uint32_t k = 1; k <= s->triangle_count; ++k)
            sums[k] /= sum;
        at += s->triangle_count + 1;
    }
}

static Status make(LightEmission *e, const LightEmissionDesc *desc, Error *err)
{
    const Lights *lights = desc->lights;
    size_t sums = 1;
    for (uint32_t i = 0; i < lights->count; ++i)
        sums += lights->sources[i].kind == SOURCE_MESH ? lights->sources[i].triangle_count + 1 : 0;
    e->cumulative = MEM_ARRAY(double, lights->count + 1);
    e->sides = MEM_ARRAY(uint8_t, lights->count + 1);
    e->first_sum = MEM_ARRAY(uint32_t, lights->count + 1);
    e->sums = MEM_ARRAY(double, sums);
    if (!e->cumulative || !e->sides || !e->first_sum || !e->sums)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of %u lights",
                         lights->count);
    for (uint32_t i = 0; i < lights->count; ++i) {
        const Source *s = &lights->sources[i];
        bool is_known = s->kind == SOURCE_MESH && desc->material_sides;
        e->sides[i] =
            is_known ? desc->material_sides[s->material] : LIGHT_EMITS_FRONT | LIGHT_EMITS_BACK;
    }
    scene_bounding_sphere(lights->scene, &e->centre, &e->radius_m);
    e->radius_m *= DISC_MARGIN;
    sum_areas(e);
    set_chances(e);
    return STATUS_OK;
}

Status light_emission_create(const LightEmissionDesc *desc, LightEmission **out_emission,
                             Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc && desc->lights);
    *out_emission = NULL;
    LightEmission *e = MEM_NEW(LightEmission);
    if (!e)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the rays of lights");
    e->lights = desc->lights;
    Status status = make(e, desc, err);
    if (status != STATUS_OK) {
        light_emission_destroy(e);
        return status;
    }
    *out_emission = e;
    return STATUS_OK;
}

void light_emission_destroy(LightEmission *e)
{
    if (!e)
        return;
    mem_free(e->cumulative);
    mem_free(e->sides);
    mem_free(e->first_sum);
    mem_free(e->sums);
    mem_free(e);
}

/* --- drawing --------------------------------------------------------------------------------------- */

/* Returns the interval of running sums that holds u; *out_rest: what is left of u, *out_chance the interval's length. */
static uint32_t find(const double *sums, uint32_t count, double u, double *out_rest,
                     double *out_chance)
{
    uint32_t low = light_interval(sums, count, u);
    *out_chance = sums[low + 1] - sums[low];
    *out_rest = *out_chance > 0.0 ? fmin((u - sums[low]) / *out_chance, 1.0 - 0x1p-53) : 0.0;
    return low;
}

/* Sets the power of light that leaves into a solid angle of `weight` times the density of its direction. */
static void set_power(EmittedRay *ray, Spectrum emission, double weight, double chance)
{
    ray->power = spectrum_scale(emission, (float)(weight / chance));
}

static bool sample_point(const Source *s, const LightEmissionDraw *draw, double chance,
                         EmittedRay *ray)
{
    double angles = 4.0 * (double)SORT_PI;
    float share = 1.0f;
    if (s->is_spot) {
        float one_minus_cos = 1.0f - s->cos_outer;
        if (!(one_minus_cos > 0.0f))
            return false;
        ray->direction = light_turn(warp_cone(draw->direction, one_minus_cos), f3_neg(s->axis));
        angles = 1.0 / (double)warp_cone_pdf(one_minus_cos);
        share = source_spot_falloff(s, -f3_dot(ray->direction, s->axis));
    } else {
        ray->direction = warp_sphere(draw->direction);
    }
    ray->from = (SurfacePoint){.P = s->position, .n = ray->direction};
    set_power(ray, s->emission, angles * (double)share, chance);
    return true;
}

/* Disks that face the places that they shine on, as seen from far away; light_emission_reaches knows near ones. */
static bool sample_facing(const Source *s, const LightShape *shape, const LightEmissionDraw *draw,
                          double chance, EmittedRay *ray)
{
    if (!sample_point(s, draw, chance, ray))
        return false;
    float3 P = light_disc_place(light_vector(shape->centre), (float)shape->radius, ray->direction,
                                draw->place);
    ray->from = light_rounded_place(P, ray->direction, 0.0f);
    ray->power = spectrum_scale(ray->power, (float)light_shape_area(shape));
    return true;
}

/* Directions from a surface, about n: by the cosine, or evenly in the cone of a spread. Returns radiant flux over radiance. */
static double send_from_surface(const LightShape *shape, float3 n, float2 u, EmittedRay *ray)
{
    double c = shape ? shape->cot_spread : 0.0, area = shape ? light_shape_area(shape) : 1.0;
    if (c == 0.0) {
        ray->direction = light_turn(warp_hemisphere_cosine(u), n);
        return area * (double)SORT_PI;
    }
    double root = sqrt(1.0 + c * c);
    float one_minus_cos = (float)(1.0 / ((root + c) * root));
    ray->direction = light_turn(warp_cone(u, one_minus_cos), n);
    return area * (double)f3_dot(ray->direction, n) / (double)warp_cone_pdf(one_minus_cos);
}

static bool sample_shape(const Source *s, const LightShape *shape, const LightEmissionDraw *draw,
                         double chance, EmittedRay *ray)
{
    float3 n, P = light_vector(shape->centre);
    double sides = 1.0;
    ray->light = s->light;
    if (light_shape_faces(shape))
        return sample_facing(s, shape, draw, chance, ray);
    if (shape->kind == SCENE_LIGHT_SPHERE) {
        n = warp_sphere(draw->place);
        P = f3_madd(P, (float)shape->radius, n);
    } else {
        float2 at = shape->kind == SCENE_LIGHT_RECTANGLE
                        ? f2(2.0f * draw->place.x - 1.0f, 2.0f * draw->place.y - 1.0f)
                        : warp_disk(draw->place);
        P = f3_madd(f3_madd(P, (float)shape->half_size[0] * at.x, light_vector(shape->axis[0])),
                    (float)shape->half_size[1] * at.y, light_vector(shape->axis[1]));
        bool is_back = shape->is_two_sided && draw->side < 0.5f;
        n = is_back ? light_vector(shape->axis[2]) : f3_neg(light_vector(shape->axis[2]));
        sides = shape->is_two_sided ? 2.0 : 1.0;
    }
    ray->from = light_rounded_place(P, n, (float)shape->plane_error);
    double flux = sides * send_from_surface(shape, n, draw->direction, ray);
    flux *= (double)source_shape_share(s, shape, f3_neg(ray->direction));
    set_power(ray, s->emission, flux, chance);
    return true;
}

/* rest: what the choice of the source has left of the number. */
static bool sample_mesh(const LightEmission *e, uint32_t source, const LightEmissionDraw *draw,
                        double rest, double chance, EmittedRay *ray)
{
    const Source *s = &e->lights->sources[source];
    double unused, part;
    float3 across;
    uint32_t k = find(&e->sums[e->first_sum[source]], s->triangle_count, rest, &unused, &part);
    uint32_t sides = e->sides[source];
    float3 P = light_triangle_place(e->lights->scene, s, k, draw, ray, &across);
    float area2 = f3_length(across);
    if (!(area2 > 0.0f) || !(part > 0.0))
        return false;
    bool is_mirrored = e->lights->scene->instances[s->instance].is_mirrored;
    float3 n = f3_scale(across, (is_mirrored ? -1.0f : 1.0f) / area2);
    bool is_both = sides == (LIGHT_EMITS_FRONT | LIGHT_EMITS_BACK);
    if (sides == LIGHT_EMITS_BACK || (is_both && draw->side < 0.5f))
        n = f3_neg(n);
    ray->from = light_rounded_place(P, n, 0.0f);
    double flux = send_from_surface(NULL, n, draw->direction, ray) * (is_both ? 2.0 : 1.0);
    set_power(ray, spectrum_splat(1.0f), 0.5 * (double)area2 * flux, part * chance);
    return true;
}

/* Sends a ray into the scene from a disc across the direction wi to the source. Returns the area of the disc. */
static double send_from_disc(const LightEmission *e, float3 wi, float2 u, EmittedRay *ray)
{
    float3 P = light_disc_place(f3_madd(e->centre, e->radius_m, wi), e->radius_m, wi, u);
    ray->direction = f3_neg(wi);
    ray->from = (SurfacePoint){.P = P, .n = ray->direction};
    ray->is_infinite = true;
    return (double)SORT_PI * (double)e->radius_m * (double)e->radius_m;
}

static bool sample_distant(const LightEmission *e, const Source *s, const LightEmissionDraw *draw,
                           double chance, EmittedRay *ray)
{
    float3 wi = s->axis;
    double angles = 1.0;
    if (s->one_minus_cos > 0.0f) {
        wi = light_turn(warp_cone(draw->direction, s->one_minus_cos), s->axis);
        angles = 1.0 / (double)warp_cone_pdf(s->one_minus_cos);
    }
    set_power(ray, s->emission, angles * send_from_disc(e, wi, draw->place, ray), chance);
    return true;
}

static bool sample_environment(const LightEmission *e, const Source *s,
                               const LightEmissionDraw *draw, double chance, EmittedRay *ray)
{
    const SceneEnvironment *environment = &e->lights->scene->environment;
    const uint32_t sides[SSL_BLOCK] = {SKY_ALL_AROUND};
    const WideRow normal[3] = {{0.0f}};
    bool is_known = environment->kind == SCENE_ENVIRONMENT_COLOR;
    const WideRow u[2] = {{draw->direction.x}, {draw->direction.y}};
    EnvironmentPlace places[SSL_BLOCK];
    alignas(64) WideRow direction[3];
    environment_draw(environment, e->lights->environment, normal, sides, u, 1, direction, places);
    float3 wi = wide_get3(direction, 0);
    ray->place = places[0];
    if (!(ray->place.pdf > 0.0f))
        return false;
    ray->value = is_known ? LIGHT_VALUE_KNOWN : LIGHT_VALUE_ENVIRONMENT;
    double area = send_from_disc(e, wi, draw->place, ray);
    set_power(ray, is_known ? s->emission : spectrum_splat(1.0f), area,
              chance * (double)ray->place.pdf);
    return true;
}

bool light_emission_sample(const LightEmission *e, const LightEmissionDraw *draw, EmittedRay *ray)
{
    *ray = (EmittedRay){.light = LIGHT_EMITTED_BY_NO_SHAPE};
    if (e->lights->count == 0)
        return false;
    double rest, chance;
    uint32_t source = find(e->cumulative, e->lights->count, draw->choice, &rest, &chance);
    const Source *s = &e->lights->sources[source];
    if (!(chance > 0.0))
        return false;
    switch (s->kind) {
    case SOURCE_POINT:
    case SOURCE_SPOT:
        return sample_point(s, draw, chance, ray);
    case SOURCE_SHAPE:
        return sample_shape(s, &e->lights->shapes[s->light], draw, chance, ray);
    case SOURCE_MESH:
        return sample_mesh(e, source, draw, rest, chance, ray);
    case SOURCE_DISTANT:
        return sample_distant(e, s, draw, chance, ray);
    case SOURCE_ENVIRONMENT:
        return sample_environment(e, s, draw, chance, ray);
    }
    return false;
}

bool light_emission_reaches(const Lights *lights, uint32_t light, float3 place, float3 direction,
                            float distance_m)
{
    const LightShape *shape = &lights->shapes[light];
    const LightQuery from = {.position = place};
    return !light_shape_faces(shape) ||
           light_shape_pdf(shape, &from, f3_neg(direction), distance_m) > 0.0f;
}
