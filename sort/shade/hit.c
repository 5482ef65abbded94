#include "sort/shade/hit_math.h"

#include "base/check.h"
#include "sort/scene/triangle.h"

/* --- rows ------------------------------------------------------------------------------------- */

static void gather_normals(const SceneMesh *mesh, const uint32_t corner[3], float time, uint32_t k,
                           TriangleRows *r)
{
    float3 n[3];
    r->has_normals[k] = mesh->normals != NULL;
    if (!mesh->normals)
        return;
    scene_mesh_normals_at(mesh, corner, time, n);
    wide_set3(r->n0, k, n[0]);
    wide_set3(r->n1, k, n[1]);
    wide_set3(r->n2, k, n[2]);
}

/* Texture coordinates of uv set 0, or the barycentrics. */
static void gather_uv(const SceneMesh *mesh, const uint32_t corner[3], uint32_t k, TriangleRows *r)
{
    static const float barycentrics[6] = {0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 1.0f};
    static const uint32_t all[3] = {0, 1, 2};
    const float *uv = mesh->uv_count > 0 ? mesh->uv[0] : barycentrics;
    const uint32_t *at = mesh->uv_count > 0 ? corner : all;
    const float *c0 = uv + 2 * (size_t)at[0], *c1 = uv + 2 * (size_t)at[1],
                *c2 = uv + 2 * (size_t)at[2];
    r->u0[k] = c0[0], r->v0[k] = c0[1];
    r->u1[k] = c1[0], r->v1[k] = c1[1];
    r->u2[k] = c2[0], r->v2[k] = c2[1];
}

static void gather_tangents(const SceneMesh *mesh, const uint32_t corner[3], uint32_t k,
                            TriangleRows *r)
{
    r->has_tangents[k] = mesh->tangents != NULL;
    if (!mesh->tangents)
        return;
    const float *t[3];
    for (int i = 0; i < 3; ++i)
        t[i] = mesh->tangents + 4 * (size_t)corner[i];
    wide_set3(r->t0, k, f3(t[0][0], t[0][1], t[0][2]));
    wide_set3(r->t1, k, f3(t[1][0], t[1][1], t[1][2]));
    wide_set3(r->t2, k, f3(t[2][0], t[2][1], t[2][2]));
    r->tangent_side[k] = t[0][3];
}

static void gather_footprint(const HitTask *task, uint32_t k, TriangleRows *r)
{
    const RayDiff *diff = task->diff;
    r->t[k] = task->query.t;
    wide_set3(r->dOdx, k, diff->dOdx);
    wide_set3(r->dOdy, k, diff->dOdy);
    wide_set3(r->dDdx, k, diff->dDdx);
    wide_set3(r->dDdy, k, diff->dDdy);
    r->is_cone[k] = diff->is_cone;
}

static void gather(const HitTask *task, const SceneMesh *mesh, const SceneInstance *instance,
                   uint32_t k, TriangleRows *r)
{
    const HitQuery *query = &task->query;
    const uint32_t *corner = mesh->indices + (size_t)3 * query->triangle;
    triangle_gather(instance, mesh, query->triangle, task->ray->time, k, r);
    wide_set3(r->D, k, task->ray->direction);
    r->b1[k] = query->b1, r->b2[k] = query->b2;
    r->has_normals[k] = r->has_tangents[k] = 0;
    if (query->parts & HIT_NORMAL)
        gather_normals(mesh, corner, task->ray->time, k, r);
    if (query->parts & (HIT_UV | HIT_TANGENT))
        gather_uv(mesh, corner, k, r);
    if (query->parts & HIT_TANGENT)
        gather_tangents(mesh, corner, k, r);
    if (query->parts & HIT_FOOTPRINT)
        gather_footprint(task, k, r);
}

static void scatter_derivatives(const TriangleRows *r, uint32_t k, uint32_t parts, SurfaceHit *hit)
{
    hit->dPdx = wide_get3(r->dPdx, k);
    hit->dPdy = wide_get3(r->dPdy, k);
    hit->db1dx = r->db1dx[k], hit->db1dy = r->db1dy[k];
    hit->db2dx = r->db2dx[k], hit->db2dy = r->db2dy[k];
    if (parts & HIT_NORMAL) {
        hit->dNdx = wide_get3(r->dNdx, k);
        hit->dNdy = wide_get3(r->dNdy, k);
    }
    if (parts & HIT_UV) {
        hit->duvdx = f2(r->dudx[k], r->dvdx[k]);
        hit->duvdy = f2(r->dudy[k], r->dvdy[k]);
    }
    if (parts & HIT_TANGENT) {
        hit->dTdx = wide_get3(r->dTdx, k);
        hit->dTdy = wide_get3(r->dTdy, k);
    }
}

static void scatter(const TriangleRows *r, uint32_t k, uint32_t parts, SurfaceHit *hit)
{
    hit->P = wide_get3(r->P, k);
    hit->error_m = r->error_m[k];
    hit->Ng_front = wide_get3(r->Ng_front, k);
    hit->Ng = wide_get3(r->Ng, k);
    hit->is_backfacing = r->is_backfacing[k] != 0;
    if (parts & HIT_NORMAL)
        hit->N = wide_get3(r->N, k);
    if (parts & HIT_UV)
        hit->uv = f2(r->u[k], r->v[k]);
    if (parts & HIT_TANGENT) {
        hit->T = wide_get3(r->T, k);
        hit->tangent_sign = r->tangent_sign[k];
    }
    if (parts & HIT_FOOTPRINT)
        scatter_derivatives(r, k, parts, hit);
}

/* --- hits ------------------------------------------------------------------------------------- */

/* Sets what the ray has brought, and the rest to zero. */
static void begin(const Scene *scene, const HitTask *task)
{
    const HitQuery *query = &task->query;
    *task->out_hit = (SurfaceHit){.instance = query->instance,
                                  .triangle = query->triangle,
                                  .material = hit_material(scene, query->instance, query->triangle),
                                  .depth = query->depth,
                                  .length_m = query->t,
                                  .I = task->ray->direction,
                                  .b1 = query->b1,
                                  .b2 = query->b2};
    if (query->parts & HIT_FOOTPRINT) {
        task->out_hit->dIdx = task->diff->dDdx;
        task->out_hit->dIdy = task->diff->dDdy;
    }
}

/* Computes a hit on curves, or gathers one on a triangle into lane k. Returns whether it is a triangle. */
static bool begin_lane(const Scene *scene, const HitTask *task, uint32_t k, TriangleRows *rows)
{
    const HitQuery *query = &task->query;
    const SceneInstance *instance = &scene->instances[query->instance];
    ASSERT(query->instance < scene->instance_count);
    ASSERT(!(query->parts & HIT_TANGENT) || (query->parts & HIT_NORMAL));
    SceneInstance moved;
    if (instance->key_count > 0) {
        moved = scene_instance_at(instance, task->ray->time);
        instance = &moved;
    }
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    ASSERT(query->triangle < scene_primitive_count(mesh));
    ASSERT(scene_material_slot(mesh, query->triangle) < instance->material_count);
    begin(scene, task);
    if (mesh->curves)
        hit_curve(mesh, instance, query, task->ray, task->diff, task->out_hit);
    else
        gather(task, mesh, instance, k, rows);
    return !mesh->curves;
}

void hit_surfaces(const Scene *scene, const HitTask *tasks, uint32_t count)
{
    TriangleRows rows;
    uint16_t live = 0;
    uint32_t parts = 0;
    ASSERT(count <= SSL_BLOCK);
    for (uint32_t k = 0; k < count; ++k)
        if (begin_lane(scene, &tasks[k], k, &rows)) {
            live = (uint16_t)(live | 1u << k);
            parts |= tasks[k].query.parts;
        }
    if (live == 0)
        return;
    if (parts & HIT_FOOTPRINT)
        triangle_footprint_run(&rows, live);
    else if (parts)
        triangle_frame_run(&rows, live);
    else
        triangle_place_run(&rows, live);
    for (uint32_t k = 0; k < count; ++k)
        if (live >> k & 1)
            scatter(&rows, k, tasks[k].query.parts, tasks[k].out_hit);
}

void hit_surface(const Scene *scene, const HitQuery *query, const Ray *ray, const RayDiff *diff,
                 SurfaceHit *hit)
{
    hit_surfaces(scene, &(HitTask){.query = *query, .ray = ray, .diff = diff, .out_hit = hit}, 1);
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
