#include "sort/shade/hit_math.h"

#include "base/check.h"

/* b0 a0 + b1 a1 + b2 a2 and its derivative, with db0 = -db1 - db2. */
static float3 interpolate(float3 a0, float3 a1, float3 a2, float b1, float b2)
{
    return f3_madd(f3_madd(a0, b1, f3_sub(a1, a0)), b2, f3_sub(a2, a0));
}
static float3 interpolate_derivative(float3 a0, float3 a1, float3 a2, float db1, float db2)
{
    return f3_madd(f3_scale(f3_sub(a1, a0), db1), db2, f3_sub(a2, a0));
}

/* Derivatives of the barycentrics: the edges' Gram system applied to dP [Igehy1999 sec. 3.2]. */
typedef struct BaryDerivatives {
    float b1x, b1y, b2x, b2y;
} BaryDerivatives;

static BaryDerivatives bary_derivatives(float3 e1, float3 e2, float3 dPdx, float3 dPdy)
{
    float E = f3_dot(e1, e1), F = f3_dot(e1, e2), G = f3_dot(e2, e2);
    float det = E * G - F * F;
    if (!(det > 0.0f))
        return (BaryDerivatives){0};
    float inverse = 1.0f / det;
    float x1 = f3_dot(dPdx, e1), x2 = f3_dot(dPdx, e2);
    float y1 = f3_dot(dPdy, e1), y2 = f3_dot(dPdy, e2);
    return (BaryDerivatives){.b1x = (G * x1 - F * x2) * inverse,
                             .b1y = (G * y1 - F * y2) * inverse,
                             .b2x = (E * x2 - F * x1) * inverse,
                             .b2y = (E * y2 - F * y1) * inverse};
}

/* Shading normal from the vertices, unnormalised, in world space; inverse transpose is linear, so the
 * derivatives go the same way. True: it was turned over to be on the viewer's side. */
static bool shading_normal(const SceneMesh *mesh, const SceneInstance *instance,
                           const uint32_t corner[3], float time, const BaryDerivatives *d,
                           uint32_t parts, SurfaceHit *hit)
{
    if (!mesh->normals) {
        hit->N = hit->Ng;
        return hit->is_backfacing;
    }
    float3 n[3];
    scene_mesh_normals_at(mesh, corner, time, n);
    const mat4 *inverse = &instance->world_to_object;
    hit->N = mat4_normal(inverse, interpolate(n[0], n[1], n[2], hit->b1, hit->b2));
    if (parts & HIT_FOOTPRINT) {
        hit->dNdx = mat4_normal(inverse, interpolate_derivative(n[0], n[1], n[2], d->b1x, d->b2x));
        hit->dNdy = mat4_normal(inverse, interpolate_derivative(n[0], n[1], n[2], d->b1y, d->b2y));
    }
    bool is_turned = f3_dot(hit->N, hit->Ng) < 0.0f;
    if (is_turned) {
        hit->N = f3_neg(hit->N);
        hit->dNdx = f3_neg(hit->dNdx);
        hit->dNdy = f3_neg(hit->dNdy);
    }
    normalize_with_derivatives(&hit->N, &hit->dNdx, &hit->dNdy, hit->Ng);
    return is_turned;
}

/* Texture coordinates of uv set 0, or the barycentrics, as differences from the first corner. */
typedef struct UvTriangle {
    float u0, v0, u1, v1, u2, v2;
} UvTriangle;

static UvTriangle uv_triangle(const SceneMesh *mesh, const uint32_t corner[3])
{
    if (mesh->uv_count == 0)
        return (UvTriangle){.u1 = 1.0f, .v2 = 1.0f};
    const float *uv = mesh->uv[0];
    const float *c0 = uv + 2 * (size_t)corner[0], *c1 = uv + 2 * (size_t)corner[1],
                *c2 = uv + 2 * (size_t)corner[2];
    return (UvTriangle){c0[0], c0[1], c1[0] - c0[0], c1[1] - c0[1], c2[0] - c0[0], c2[1] - c0[1]};
}

static void set_uv(const UvTriangle *c, const BaryDerivatives *d, uint32_t parts, SurfaceHit *hit)
{
    float b1 = hit->b1, b2 = hit->b2;
    hit->uv = f2(c->u0 + b1 * c->u1 + b2 * c->u2, c->v0 + b1 * c->v1 + b2 * c->v2);
    if (parts & HIT_FOOTPRINT) {
        hit->duvdx = f2(d->b1x * c->u1 + d->b2x * c->u2, d->b1x * c->v1 + d->b2x * c->v2);
        hit->duvdy = f2(d->b1y * c->u1 + d->b2y * c->u2, d->b1y * c->v1 + d->b2y * c->v2);
    }
}

/* The tangent that follows from the texture coordinates. */
static void set_tangent_of_uv(const UvTriangle *c, float3 e1, float3 e2, uint32_t parts,
                              SurfaceHit *hit)
{
    float3 dPdu = e1, dPdv = e2;
    float det = c->u1 * c->v2 - c->u2 * c->v1;
    if (det != 0.0f) {
        float inverse = 1.0f / det;
        dPdu = f3_scale(f3_madd(f3_scale(e1, c->v2), -c->v1, e2), inverse);
        dPdv = f3_scale(f3_madd(f3_scale(e2, c->u1), -c->u2, e1), inverse);
    }
    set_tangent(dPdu, f3(0, 0, 0), f3(0, 0, 0), parts, hit);
    hit->tangent_sign = f3_dot(f3_cross(hit->N, hit->T), dPdv) < 0.0f ? -1.0f : 1.0f;
}

/* The tangent that the mesh brings. is_turned: the normal is the opposite of the mesh's, which its tangents refer to. */
static void set_tangent_of_mesh(const SceneMesh *mesh, const SceneInstance *instance,
                                const uint32_t corner[3], const BaryDerivatives *d, bool is_turned,
                                uint32_t parts, SurfaceHit *hit)
{
    float3 t[3], dx = {0, 0, 0}, dy = {0, 0, 0};
    ASSERT(mesh->tangents != NULL);
    for (int k = 0; k < 3; ++k) {
        const float *v = mesh->tangents + 4 * (size_t)corner[k];
        t[k] = f3(v[0], v[1], v[2]);
    }
    const mat4 *m = &instance->object_to_world;
    if (parts & HIT_FOOTPRINT) {
        dx = mat4_vector(m, interpolate_derivative(t[0], t[1], t[2], d->b1x, d->b2x));
        dy = mat4_vector(m, interpolate_derivative(t[0], t[1], t[2], d->b1y, d->b2y));
    }
    set_tangent(mat4_vector(m, interpolate(t[0], t[1], t[2], hit->b1, hit->b2)), dx, dy, parts,
                hit);
    float w = mesh->tangents[4 * (size_t)corner[0] + 3];
    hit->tangent_sign = (w < 0.0f) != (instance->is_mirrored != is_turned) ? -1.0f : 1.0f;
}

typedef struct Double3 {
    double x, y, z;
} Double3;

/* Cross product in double precision, in which fourth powers of small and large edges neither under- nor overflow and
 * the normal of a narrow triangle is right. */
static Double3 cross(float3 a, float3 b)
{
    double ax = (double)a.x, ay = (double)a.y, az = (double)a.z;
    double bx = (double)b.x, by = (double)b.y, bz = (double)b.z;
    return (Double3){ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx};
}

/* Bounds the distance between the point p0 + b1 e1 + b2 e2 and the plane that a ray from there meets: the rounding of
 * the point, and that of the plane's normal and of its distance from the ray's origin, which the intersector takes from
 * the corners as the ray sees them [Higham2002 section 3.1]. area2: twice the triangle's area. */
static float triangle_error(float3 p0, float3 e1, float3 e2, float b1, float b2, float3 normal,
                            float area2)
{
    const float operations = 4.0f, least_share = 0x1p-30f;
    float3 along1 = absolute(f3_scale(e1, b1)), along2 = absolute(f3_scale(e2, b2));
    float3 reach = f3_add(along1, along2), n = absolute(normal);
    float3 a1 = absolute(e1), a2 = absolute(e2);
    float3 size = f3(maxf(a1.x, a2.x), maxf(a1.y, a2.y), maxf(a1.z, a2.z));
    float point = f3_dot(n, f3_add(absolute(p0), reach));
    float3 products = f3(size.y * size.z, size.z * size.x, size.x * size.y);
    float lever = area2 > 0.0f ? 2.0f * f3_dot(products, reach) / area2 : 0.0f;
    return operations * RAY_ROUNDING * (point + lever) + least_share * f3_max_component(size);
}

/* A disc as wide as the cone is at distance t, turned as a camera that looks at the plane along -n sees x and y. */
static void disc_on_plane(const RayDiff *diff, float t, float3 n, float3 *dPdx, float3 *dPdy)
{
    float x = f3_length(f3_madd(diff->dOdx, t, diff->dDdx));
    float y = f3_length(f3_madd(diff->dOdy, t, diff->dDdy));
    float width = sqrtf(x * y);
    float3 s, u;
    f3_frame(f3_neg(n), &s, &u);
    *dPdx = f3_scale(s, width);
    *dPdy = f3_scale(u, width);
}

/* Sets the derivatives of P and of the barycentrics. */
static BaryDerivatives set_footprint(float3 e1, float3 e2, float t, const Ray *ray,
                                     const RayDiff *diff, SurfaceHit *hit)
{
    if (diff->is_cone) {
        disc_on_plane(diff, t, hit->Ng, &hit->dPdx, &hit->dPdy);
    } else {
        float D_dot_n = f3_dot(ray->direction, hit->Ng);
        hit->dPdx = transfer_to_plane(diff->dOdx, diff->dDdx, t, ray->direction, hit->Ng, D_dot_n);
        hit->dPdy = transfer_to_plane(diff->dOdy, diff->dDdy, t, ray->direction, hit->Ng, D_dot_n);
    }
    BaryDerivatives d = bary_derivatives(e1, e2, hit->dPdx, hit->dPdy);
    hit->db1dx = d.b1x;
    hit->db1dy = d.b1y;
    hit->db2dx = d.b2x;
    hit->db2dy = d.b2y;
    return d;
}

static void hit_triangle(const SceneMesh *mesh, const SceneInstance *instance,
                         const HitQuery *query, const Ray *ray, const RayDiff *diff,
                         SurfaceHit *hit)
{
    const uint32_t *corner = mesh->indices + (size_t)3 * hit->triangle;
    const mat4 *m = &instance->object_to_world;
    float b1 = hit->b1, b2 = hit->b2;
    uint32_t parts = query->parts;
    float3 p[3];
    scene_mesh_positions_at(mesh, corner, ray->time, p);
    /* Edges come from the object's space: far from the world's origin they would lose their digits. */
    float3 p0 = mat4_point(m, p[0]), e1 = mat4_vector(m, f3_sub(p[1], p[0])),
           e2 = mat4_vector(m, f3_sub(p[2], p[0]));

    hit->P = f3_madd(f3_madd(p0, b1, e1), b2, e2);
    Double3 c = cross(e1, e2);
    double area2 = sqrt(c.x * c.x + c.y * c.y + c.z * c.z), scale = area2 > 0.0 ? 1.0 / area2 : 0.0;
    float3 front = f3((float)(c.x * scale), (float)(c.y * scale), (float)(c.z * scale));
    hit->Ng_front = instance->is_mirrored ? f3_neg(front) : front;
    hit->is_backfacing = f3_dot(hit->Ng_front, ray->direction) > 0.0f;
    hit->Ng = hit->is_backfacing ? f3_neg(hit->Ng_front) : hit->Ng_front;

    hit->error_m = triangle_error(p0, e1, e2, b1, b2, front, (float)area2) +
                   f3_dot(instance_error(instance, hit->P), absolute(front));

    BaryDerivatives d = {0};
    if (parts & HIT_FOOTPRINT)
        d = set_footprint(e1, e2, query->t, ray, diff, hit);
    bool is_turned = hit->is_backfacing;
    if (parts & HIT_NORMAL)
        is_turned = shading_normal(mesh, instance, corner, ray->time, &d, parts, hit);
    UvTriangle uv = {0};
    if (parts & (HIT_UV | HIT_TANGENT))
        uv = uv_triangle(mesh, corner);
    if (parts & HIT_UV)
        set_uv(&uv, &d, parts, hit);
    if ((parts & HIT_TANGENT) && mesh->tangents)
        set_tangent_of_mesh(mesh, instance, corner, &d, is_turned, parts, hit);
    else if (parts & HIT_TANGENT)
        set_tangent_of_uv(&uv, e1, e2, parts, hit);
}

void hit_surface(const Scene *scene, const HitQuery *query, const Ray *ray, const RayDiff *diff,
                 SurfaceHit *hit)
{
    const SceneInstance *instance = &scene->instances[query->instance];
    ASSERT(query->instance < scene->instance_count);
    ASSERT(!(query->parts & HIT_TANGENT) || (query->parts & HIT_NORMAL));
    SceneInstance moved;
    if (instance->key_count > 0) {
        moved = scene_instance_at(instance, ray->time);
        instance = &moved;
    }
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    ASSERT(query->triangle < scene_primitive_count(mesh));
    ASSERT(scene_material_slot(mesh, query->triangle) < instance->material_count);
    *hit = (SurfaceHit){.instance = query->instance,
                        .triangle = query->triangle,
                        .material = hit_material(scene, query->instance, query->triangle),
                        .depth = query->depth,
                        .length_m = query->t,
                        .I = ray->direction,
                        .b1 = query->b1,
                        .b2 = query->b2};
    if (query->parts & HIT_FOOTPRINT) {
        hit->dIdx = diff->dDdx;
        hit->dIdy = diff->dDdy;
    }
    if (mesh->curves)
        hit_curve(mesh, instance, query, ray, diff, hit);
    else
        hit_triangle(mesh, instance, query, ray, diff, hit);
}

void hit_prefetch_indices(const Scene *scene, uint32_t instance, uint32_t triangle)
{
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    if (!mesh->curves)
        SORT_PREFETCH(mesh->indices + (size_t)3 * triangle);
}

void hit_prefetch_vertices(const Scene *scene, uint32_t instance, uint32_t triangle)
{
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    if (mesh->curves)
        return;
    const uint32_t *corner = mesh->indices + (size_t)3 * triangle;
    for (int k = 0; k < 3; ++k) {
        SORT_PREFETCH(mesh->positions + (size_t)3 * corner[k]);
        if (mesh->normals)
            SORT_PREFETCH(mesh->normals + (size_t)3 * corner[k]);
        if (mesh->uv_count > 0)
            SORT_PREFETCH(mesh->uv[0] + (size_t)2 * corner[k]);
    }
}
