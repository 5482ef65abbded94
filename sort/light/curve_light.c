#include "sort/light/curve_light.h"

#include "sort/sampling/warp.h"
#include "sort/scene/curve.h"
#include "ssl/rt/rt.h"

#include <math.h>

/* The cross-section at u, in the object's space, where tubes are round. */
typedef struct Section {
    CurvePoint c;
    float3 T, T_u; /* unit tangent, and its derivative */
    float s;       /* |C'| */
    float3 from;   /* from the point that looks to C */
} Section;

/* A place by its derivatives, in the object's space. */
typedef struct Patch {
    float3 D;              /* from the point that looks */
    float3 by_u, by_angle; /* of the place */
} Patch;

static bool section_init(const SceneMesh *mesh, uint32_t segment, float u, float time,
                         float3 position, Section *x)
{
    curve_eval(mesh, segment, u, time, &x->c);
    x->s = f3_length(x->c.d1);
    if (!(x->s > 0.0f) || !(x->c.r > 0.0f))
        return false;
    x->T = f3_scale(x->c.d1, 1.0f / x->s);
    x->T_u = f3_scale(f3_madd(x->c.d2, -f3_dot(x->T, x->c.d2), x->T), 1.0f / x->s);
    x->from = f3_sub(x->c.P, position);
    return true;
}

/* Towards the point that looks, at right angles to the curve; *out_distance: how far it is from the curve's line. */
static bool facing(const Section *x, float3 *out_e, float *out_distance)
{
    float3 out = f3_madd(f3_neg(x->from), f3_dot(x->from, x->T), x->T);
    *out_distance = f3_length(out);
    *out_e = f3_scale(out, 1.0f / *out_distance);
    return *out_distance > 0.0f;
}

/* Round: e is the direction from the curve to the place; false: it is seen from inside. */
static bool tube_patch(const Section *x, bool is_cone, float3 e, Patch *out)
{
    float3 T = x->T, b = f3_cross(T, e);
    float r = x->c.r, r1 = x->c.r1;
    if (is_cone) {
        /* The normal is that of a sphere about C: n . T = -r' / s. */
        float slope = r1 / x->s, cosine2 = 1.0f - slope * slope;
        if (!(cosine2 > 0.0f))
            return false;
        float cosine = sqrtf(cosine2);
        float3 n = f3_madd(f3_scale(e, cosine), -slope, T);
        out->D = f3_madd(x->from, r, n);
        out->by_u = f3_madd(x->c.d1, r1, n);
        out->by_angle = f3_scale(b, r * cosine);
        return f3_dot(out->D, n) < 0.0f;
    }
    float A = x->s - r * f3_dot(e, x->T_u);
    out->D = f3_madd(x->from, r, e);
    out->by_u = f3_madd(f3_scale(T, A), r1, e);
    out->by_angle = f3_scale(b, r);
    /* Where A is below zero the tube is thicker than its bend is wide, and the surface folds inside. */
    return A > 0.0f && f3_dot(out->D, f3_madd(f3_scale(e, A), -r1, T)) < 0.0f;
}

/* Density in solid angle of the world, of u and of half a turn drawn evenly. */
static float patch_pdf(const Patch *patch, const mat4 *object_to_world, float3 D_world)
{
    float3 a = mat4_vector(object_to_world, patch->by_u),
           b = mat4_vector(object_to_world, patch->by_angle);
    double distance = (double)f3_length(D_world);
    double area = fabs((double)f3_dot(f3_cross(a, b), D_world)) * (double)SORT_PI;
    double pdf = distance * distance * distance / area;
    return pdf > 0.0 && pdf < 1e30 ? (float)pdf : 0.0f;
}

typedef struct Object {
    const SceneMesh *mesh;
    SceneInstance instance; /* at a time */
} Object;

static Object object_at(const Scene *scene, uint32_t instance, float time)
{
    Object o = {.instance = scene->instances[instance]};
    if (o.instance.key_count > 0)
        o.instance = scene_instance_at(&scene->instances[instance], time);
    o.mesh = &scene->meshes[o.instance.mesh];
    return o;
}

bool curve_light_sample(const Scene *scene, uint32_t instance, uint32_t segment, float time,
                        float3 position, float2 u, CurvePlace *out_place)
{
    Object o = object_at(scene, instance, time);
    Section x;
    Patch patch;
    if (!section_init(o.mesh, segment, u.x, time, mat4_point(&o.instance.world_to_object, position),
                      &x))
        return false;
    float3 towards;
    float distance, phi = SORT_PI * (u.y - 0.5f);
    if (!facing(&x, &towards, &distance))
        return false;
    float cosine, sine = rt_sincos(phi, &cosine);
    float3 e = f3_madd(f3_scale(towards, cosine), sine, f3_cross(x.T, towards));
    if (!tube_patch(&x, o.mesh->curves->basis == SCENE_CURVE_LINEAR, e, &patch))
        return false;
    float3 D = mat4_vector(&o.instance.object_to_world, patch.D);
    out_place->u = u.x;
    out_place->distance_m = f3_length(D);
    out_place->wi = f3_scale(D, 1.0f / out_place->distance_m);
    out_place->pdf_solid_angle = patch_pdf(&patch, &o.instance.object_to_world, D);
    return out_place->distance_m > 0.0f && out_place->pdf_solid_angle > 0.0f;
}

float curve_light_pdf(const Scene *scene, uint32_t instance, uint32_t segment, float time,
                      float3 position, const CurvePlace *place)
{
    float u = place->u;
    Object o = object_at(scene, instance, time);
    const mat4 *to_object = &o.instance.world_to_object;
    bool is_cone = o.mesh->curves->basis == SCENE_CURVE_LINEAR;
    Section x;
    Patch patch;
    /* The ends of linear segments are spheres. */
    if (is_cone && !(u > 0.0f && u < 1.0f))
        return 0.0f;
    if (!section_init(o.mesh, segment, u, time, mat4_point(to_object, position), &x))
        return 0.0f;
    float3 towards;
    float distance;
    if (!facing(&x, &towards, &distance))
        return 0.0f;
    /* From C to the place, without what is along the curve. */
    float3 out = f3_sub(f3_scale(mat4_vector(to_object, place->wi), place->distance_m), x.from);
    out = f3_madd(out, -f3_dot(out, x.T), x.T);
    float length = f3_length(out);
    if (!(length > 0.0f) || !(f3_dot(out, towards) > 0.0f) ||
        !tube_patch(&x, is_cone, f3_scale(out, 1.0f / length), &patch))
        return 0.0f;
    return patch_pdf(&patch, &o.instance.object_to_world,
                     mat4_vector(&o.instance.object_to_world, patch.D));
}

float curve_light_area(const Scene *scene, uint32_t instance, uint32_t segment)
{
    enum { PARTS = 4 };
    Object o = object_at(scene, instance, 0.5f);
    const mat4 *m = &o.instance.object_to_world;
    float3 x = mat4_vector(m, f3(1, 0, 0)), y = mat4_vector(m, f3(0, 1, 0)),
           z = mat4_vector(m, f3(0, 0, 1));
    float scale = rt_cbrt(fabsf(f3_dot(f3_cross(x, y), z))), area = 0.0f;
    for (int k = 0; k < PARTS; ++k) {
        CurvePoint c;
        curve_eval(o.mesh, segment, ((float)k + 0.5f) / (float)PARTS, 0.5f, &c);
        area += 2.0f * SORT_PI * c.r * scale * f3_length(mat4_vector(m, c.d1)) / (float)PARTS;
    }
    return area;
}

void curve_light_bounds(const Scene *scene, uint32_t instance, uint32_t segment, float3 *out_lower,
                        float3 *out_upper)
{
    const SceneInstance *it = &scene->instances[instance];
    const SceneMesh *mesh = &scene->meshes[it->mesh];
    const mat4 *keys = it->key_count > 0 ? it->keys : &it->object_to_world;
    float3 lower, upper;
    curve_segment_bounds(mesh, segment, &lower, &upper);
    *out_lower = f3_splat(INFINITY);
    *out_upper = f3_splat(-INFINITY);
    for (uint32_t k = 0; k < (it->key_count > 0 ? it->key_count : 1); ++k)
        for (int c = 0; c < 8; ++c) {
            float3 at =
                mat4_point(&keys[k], f3(c & 1 ? upper.x : lower.x, c & 2 ? upper.y : lower.y,
                                        c & 4 ? upper.z : lower.z));
            *out_lower =
                f3(minf(out_lower->x, at.x), minf(out_lower->y, at.y), minf(out_lower->z, at.z));
            *out_upper =
                f3(maxf(out_upper->x, at.x), maxf(out_upper->y, at.y), maxf(out_upper->z, at.z));
        }
}
