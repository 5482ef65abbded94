#include "sort/light/caustic_light.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/light_state.h"
#include "sort/light/scene_bounds.h"
#include "sort/sampling/warp.h"

static const Source *source_of(const Lights *lights, uint32_t light)
{
    ASSERT(lights->source_of_light[light] != NO_SOURCE);
    return &lights->sources[lights->source_of_light[light]];
}

/* --- the scene ------------------------------------------------------------------------------------ */

/* Light that nothing blocks comes straight through casters. Which objects a linked light is for, and what blocks it, depends on
 * surfaces that walks do not know before they end: paths find it. */
static bool is_target(const Lights *lights, uint32_t light)
{
    const SceneLight *l = &lights->scene->lights[light];
    return l->is_caustics_light && lights->source_of_light[light] != NO_SOURCE &&
           !l->visibility.is_shadowless && !l->visibility.unlit_sets && !l->visibility.open_sets;
}

CausticBox caustic_box(const Scene *scene, uint32_t instance)
{
    CausticBox box;
    scene_instance_box(scene, instance, &box.lower, &box.upper);
    box.radius_m =
        scene_instance_radius(scene, instance, f3_scale(f3_add(box.lower, box.upper), 0.5f));
    return box;
}

Status caustic_scene_build(Lights *lights, Error *err)
{
    const Scene *scene = lights->scene;
    CausticScene *out = &lights->caustics;
    uint32_t light_count = 0, casters = 0, receivers = 0;
    for (uint32_t i = 0; i < scene->light_count; ++i)
        light_count += is_target(lights, i);
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        casters += scene->instances[i].is_caustics_caster;
        receivers += scene->instances[i].is_caustics_receiver;
    }
    if (light_count == 0 || casters == 0 || receivers == 0)
        return STATUS_OK;
    out->lights = MEM_ARRAY(uint32_t, light_count + 1);
    out->boxes = MEM_ARRAY(CausticBox, casters);
    if (!out->lights || !out->boxes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u casters of caustics", casters);
    for (uint32_t i = 0; i < scene->light_count; ++i)
        if (is_target(lights, i))
            out->lights[out->light_count++] = i;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        if (scene->instances[i].is_caustics_caster)
            out->boxes[out->box_count++] = caustic_box(scene, i);
    }
    return STATUS_OK;
}

/* --- disks that face the path ---------------------------------------------------------------------- */

/* Seen along n, the frame of the disk of a light: x and y at right angles to n, as the axis `up` gives them. */
typedef struct FacingFrame {
    float3 n, x, y, up;
    float length; /* of up x n */
} FacingFrame;

static FacingFrame facing_frame(const LightShape *shape, float3 n)
{
    FacingFrame f = {.n = n, .up = light_vector(shape->axis[0])};
    if (fabsf(f3_dot(f.up, n)) > 0.9f)
        f.up = light_vector(shape->axis[1]);
    float3 side = f3_cross(f.up, n);
    f.length = f3_length(side);
    f.x = f3_scale(side, 1.0f / f.length);
    f.y = f3_cross(n, f.x);
    return f;
}

/* --- drawing --------------------------------------------------------------------------------------- */

uint32_t caustic_light_count(const Lights *lights)
{
    return lights->caustics.light_count;
}

/* Sets what does not depend on the place. */
static void begin_target(const Lights *lights, uint32_t light, CausticTarget *out)
{
    const SceneLight *l = &lights->scene->lights[light];
    *out = (CausticTarget){.light = light, .is_delta = l->visibility.is_sampled_only};
}

static bool is_lit_half(const LightShape *shape, float3 from, float3 normal)
{
    return f3_dot(f3_sub(from, light_vector(shape->centre)), normal) > 0.0f;
}

/* Returns the density, per area, of a place on the shape with this normal, seen from a point; of a sphere it is the half of it that
 * faces the point. */
static float place_pdf(const LightShape *shape, float3 from, float3 normal)
{
    float area = (float)light_shape_area(shape);
    float used = shape->kind == SCENE_LIGHT_SPHERE ? 0.5f : 1.0f;
    float radius = (float)shape->radius;
    if (shape->kind == SCENE_LIGHT_SPHERE &&
        (!is_lit_half(shape, from, normal) ||
         f3_length2(f3_sub(from, light_vector(shape->centre))) <= radius * radius))
        return 0.0f;
    return 1.0f / (used * area);
}

static bool set_shape_pdf(const Lights *lights, const LightShape *shape, float3 from,
                          CausticTarget *out)
{
    out->pdf = place_pdf(shape, from, out->normal) / (float)lights->caustics.light_count;
    return out->pdf > 0.0f && isfinite(out->pdf);
}

/* Draws a place on a shape. */
static void draw_place(const LightShape *shape, float3 from, float2 u, CausticTarget *out)
{
    float3 centre = light_vector(shape->centre), x = light_vector(shape->axis[0]),
           y = light_vector(shape->axis[1]);
    float2 at = warp_disk(u);
    out->kind = CAUSTIC_SURFACE;
    if (light_shape_faces(shape)) {
        out->kind = CAUSTIC_FACING;
        out->place = centre;
        out->offset = f2((float)shape->radius * at.x, (float)shape->radius * at.y);
    } else if (shape->kind == SCENE_LIGHT_SPHERE) {
        float3 n = f3_normalize(f3_sub(from, centre)), s, t;
        f3_frame(n, &s, &t);
        out->normal = f3_normalize(warp_to_frame(warp_cone(u, 1.0f), s, t, n));
        out->place = f3_madd(centre, (float)shape->radius, out->normal);
    } else {
        if (shape->kind == SCENE_LIGHT_RECTANGLE)
            at = f2(2.0f * u.x - 1.0f, 2.0f * u.y - 1.0f);
        out->normal = light_vector(shape->axis[2]);
        out->place = f3_madd(f3_madd(centre, (float)shape->half_size[0] * at.x, x),
                             (float)shape->half_size[1] * at.y, y);
    }
}

bool caustic_target_sample(const Lights *lights, float3 from, float2 u, CausticTarget *out)
{
    const CausticScene *caustics = &lights->caustics;
    ASSERT(caustics->light_count > 0);
    float place = u.x * (float)caustics->light_count;
    uint32_t index = (uint32_t)place;
    if (index >= caustics->light_count)
        index = caustics->light_count - 1;
    begin_target(lights, caustics->lights[index], out);
    u.x = minf(place - (float)index, 0x1.fffffep-1f);
    const Source *s = source_of(lights, out->light);
    if (s->kind == SOURCE_SHAPE) {
        draw_place(&lights->shapes[out->light], from, u, out);
        return set_shape_pdf(lights, &lights->shapes[out->light], from, out);
    }
    out->kind = s->kind == SOURCE_DISTANT ? CAUSTIC_DIRECTION : CAUSTIC_POINT;
    out->place = s->kind == SOURCE_DISTANT ? s->axis : s->position;
    out->pdf = 1.0f / (float)caustics->light_count;
    out->is_singular = !(s->kind == SOURCE_DISTANT && s->one_minus_cos > 0.0f);
    out->is_delta = out->is_delta || out->is_singular;
    if (!out->is_singular) {
        float3 x, y;
        f3_frame(s->axis, &x, &y);
        out->place = f3_normalize(warp_to_frame(warp_cone(u, s->one_minus_cos), x, y, s->axis));
        out->pdf *= warp_cone_pdf(s->one_minus_cos);
    }
    return true;
}

bool caustic_place_sample(const Lights *lights, uint32_t light, float3 from, float2 u,
                          float3 *out_place, float3 *out_normal)
{
    CausticTarget target = {.light = light};
    const LightShape *shape = &lights->shapes[light];
    ASSERT(!light_shape_faces(shape));
    draw_place(shape, from, u, &target);
    *out_place = target.place;
    *out_normal = target.normal;
    float pdf = place_pdf(shape, from, target.normal);
    return pdf > 0.0f && isfinite(pdf);
}

float caustic_place_pdf(const Lights *lights, uint32_t light, float3 from, float3 place)
{
    const LightShape *shape = &lights->shapes[light];
    return place_pdf(shape, from, f3_normalize(f3_sub(place, light_vector(shape->centre))));
}

static bool is_caustic(const Lights *lights, uint32_t light)
{
    for (uint32_t k = 0; k < lights->caustics.light_count; ++k)
        if (lights->caustics.lights[k] == light)
            return true;
    return false;
}

bool caustic_target_met(const Lights *lights, uint32_t light, float3 from, const Ray *ray, float t,
                        CausticTarget *out)
{
    if (!is_caustic(lights, light))
        return false;
    const LightShape *shape = &lights->shapes[light];
    float3 centre = light_vector(shape->centre), met = f3_madd(ray->origin, t, ray->direction);
    begin_target(lights, light, out);
    out->kind = CAUSTIC_SURFACE;
    out->place = met;
    if (light_shape_faces(shape)) {
        float3 way = f3_sub(centre, ray->origin);
        FacingFrame f = facing_frame(shape, f3_normalize(way));
        float along = f3_dot(way, f.n) / f3_dot(ray->direction, f.n);
        float3 q = f3_sub(f3_madd(ray->origin, along, ray->direction), centre);
        out->kind = CAUSTIC_FACING;
        out->place = centre;
        out->offset = f2(f3_dot(q, f.x), f3_dot(q, f.y));
    } else if (shape->kind == SCENE_LIGHT_SPHERE) {
        out->normal = f3_normalize(f3_sub(met, centre));
    } else {
        out->normal = light_vector(shape->axis[2]);
    }
    return set_shape_pdf(lights, shape, from, out);
}

bool caustic_target_seen(const Lights *lights, uint32_t index, float3 direction, CausticTarget *out)
{
    const Source *s = &lights->sources[lights->infinite_first + index];
    if (s->kind != SOURCE_DISTANT || !is_caustic(lights, s->light))
        return false;
    begin_target(lights, s->light, out);
    out->kind = CAUSTIC_DIRECTION;
    out->place = direction;
    out->pdf = warp_cone_pdf(s->one_minus_cos) / (float)lights->caustics.light_count;
    return true;
}

bool caustic_distant_light(const Lights *lights, uint32_t index, uint32_t *out_light)
{
    const Source *s = &lights->sources[lights->infinite_first + index];
    *out_light = s->light;
    return s->kind == SOURCE_DISTANT;
}

/* --- arriving -------------------------------------------------------------------------------------- */

/* Returns whether the part of a line from its origin to distance t crosses a box. */
static bool crosses(const CausticBox *box, float3 origin, float3 direction, float t)
{
    const float o[3] = {origin.x, origin.y, origin.z};
    const float d[3] = {direction.x, direction.y, direction.z};
    const float lower[3] = {box->lower.x, box->lower.y, box->lower.z};
    const float upper[3] = {box->upper.x, box->upper.y, box->upper.z};
    float begin = 0.0f, end = t;
    for (int c = 0; c < 3; ++c) {
        if (fabsf(d[c]) < 1e-12f) {
            if (o[c] < lower[c] || o[c] > upper[c])
                return false;
            continue;
        }
        float a = (lower[c] - o[c]) / d[c], b = (upper[c] - o[c]) / d[c];
        begin = maxf(begin, minf(a, b));
        end = minf(end, maxf(a, b));
    }
    return begin <= end;
}

bool caustic_target_may_bend(const Lights *lights, const CausticTarget *target, float3 from)
{
    float t;
    float3 way = caustic_target_way(lights, target, from, &t);
    for (uint32_t k = 0; k < lights->caustics.box_count; ++k)
        if (crosses(&lights->caustics.boxes[k], from, way, t))
            return true;
    return false;
}

/* Returns the point that rays from `from` aim at. */
static float3 point_of(const Lights *lights, const CausticTarget *target, float3 from)
{
    if (target->kind != CAUSTIC_FACING)
        return target->place;
    FacingFrame f =
        facing_frame(&lights->shapes[target->light], f3_normalize(f3_sub(target->place, from)));
    return f3_madd(f3_madd(target->place, target->offset.x, f.x), target->offset.y, f.y);
}

float3 caustic_target_way(const Lights *lights, const CausticTarget *target, float3 from,
                          float *out_distance_m)
{
    *out_distance_m = INFINITY;
    if (target->kind == CAUSTIC_DIRECTION)
        return target->place;
    float3 way = f3_sub(point_of(lights, target, from), from);
    *out_distance_m = f3_length(way);
    return f3_scale(way, 1.0f / *out_distance_m);
}

bool caustic_target_miss(const Lights *lights, const CausticTarget *target, const CausticEnd *end,
                         CausticMiss *out)
{
    float3 x, y, d = end->direction, by;
    bool is_infinite = target->kind == CAUSTIC_DIRECTION;
    f3_frame(d, &x, &y);
    out->t = INFINITY;
    if (is_infinite) {
        by = f3_neg(target->place);
        if (f3_dot(d, target->place) <= 0.0f)
            return false;
    } else {
        float3 way = f3_sub(point_of(lights, target, end->origin), end->origin);
        out->t = f3_dot(way, d);
        by = f3_neg(way);
        if (!(out->t > 0.0f))
            return false;
    }
    out->by = f2(f3_dot(by, x), f3_dot(by, y));
    for (int c = 0; c < 2; ++c) {
        float3 moved = is_infinite ? end->d_direction[c]
                                   : f3_madd(end->d_origin[c], out->t, end->d_direction[c]);
        out->by_d[c] = f2(f3_dot(moved, x), f3_dot(moved, y));
    }
    return isfinite(out->by.x) && isfinite(out->by.y);
}

/* Returns the derivative of where a ray meets a disk that faces its origin, in the disk's frame. `at`: where it does. */
static float2 facing_derivative(const FacingFrame *f, float distance, const CausticEnd *end,
                                float2 at, int c)
{
    float3 dO = end->d_origin[c], dD = end->d_direction[c];
    float cosine = f3_dot(end->direction, f->n), t = distance / cosine;
    float along = f3_dot(f->n, dO);
    float3 dn = f3_scale(f3_madd(dO, -along, f->n), -1.0f / distance);
    float dt = (-along - t * (f3_dot(dD, f->n) + f3_dot(end->direction, dn))) / cosine;
    float3 dp = f3_add(f3_madd(dO, dt, end->direction), f3_scale(dD, t));
    /* The frame turns about n. */
    float turn = f3_dot(f3_cross(f->up, dn), f->y) / f->length;
    return f2(f3_dot(dp, f->x) + at.y * turn, f3_dot(dp, f->y) - at.x * turn);
}

float caustic_target_density(const Lights *lights, const CausticTarget *target,
                             const CausticEnd *end, const CausticMiss *miss)
{
    float2 dx = miss->by_d[0], dy = miss->by_d[1];
    float cosine = 1.0f;
    if (target->kind == CAUSTIC_SURFACE)
        cosine = fabsf(f3_dot(end->direction, target->normal));
    if (target->kind == CAUSTIC_FACING) {
        float3 way = f3_sub(target->place, end->origin);
        float distance = f3_length(way);
        FacingFrame f =
            facing_frame(&lights->shapes[target->light], f3_scale(way, 1.0f / distance));
        dx = facing_derivative(&f, distance, end, target->offset, 0);
        dy = facing_derivative(&f, distance, end, target->offset, 1);
    }
    return cosine > 0.0f ? target->pdf * fabsf(dx.x * dy.y - dx.y * dy.x) / cosine : 0.0f;
}

/* Returns whether a ray meets the bright side of a flat shape, and a sphere from outside. */
static bool meets_bright_side(const LightShape *shape, const CausticTarget *target,
                              float3 direction)
{
    if (target->kind != CAUSTIC_SURFACE || shape->is_two_sided)
        return true;
    float cosine = f3_dot(direction, target->normal);
    return shape->kind == SCENE_LIGHT_SPHERE ? cosine < 0.0f : cosine > 0.0f;
}

Spectrum caustic_target_radiance(const Lights *lights, const CausticTarget *target,
                                 float3 direction)
{
    const Source *s = source_of(lights, target->light);
    float share = 1.0f;
    if (s->kind == SOURCE_SHAPE) {
        const LightShape *shape = &lights->shapes[target->light];
        share = meets_bright_side(shape, target, direction)
                    ? source_shape_share(s, shape, direction)
                    : 0.0f;
    } else if (s->is_spot) {
        share = source_spot_falloff(s, f3_dot(direction, s->axis));
    }
    return spectrum_scale(s->emission, share);
}

const SceneLightVisibility *caustic_target_visibility(const Lights *lights,
                                                      const CausticTarget *target,
                                                      uint32_t *out_light_group)
{
    const Source *s = source_of(lights, target->light);
    *out_light_group = s->light_group;
    return s->visibility;
}
