#include "sort/shade/hit_math.h"

#include "base/check.h"
#include "sort/scene/triangle.h"
#include "sort/shade/surface_block.h"
#include <string.h>

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

static void gather_footprint(const RayDiff *diff, uint32_t k, TriangleRows *r)
{
    ASSERT(diff);
    wide_set3(r->dOdx, k, diff->dOdx);
    wide_set3(r->dOdy, k, diff->dOdy);
    wide_set3(r->dDdx, k, diff->dDdx);
    wide_set3(r->dDdy, k, diff->dDdy);
    r->is_cone[k] = diff->is_cone;
}

SORT_ALWAYS_INLINE void gather(const SceneMesh *mesh, const HitRays *rays, uint32_t parts,
                               SurfaceLane surface, TriangleRows *r)
{
    uint32_t k = surface.lane, triangle = surface_triangle(surface);
    const uint32_t *corner = mesh->indices + (size_t)3 * triangle;
    triangle_gather(mesh, triangle, rays->time[k], k, r);
    if (parts & HIT_NORMAL)
        gather_normals(mesh, corner, rays->time[k], k, r);
    if (parts & (HIT_UV | HIT_TANGENT))
        gather_uv(mesh, corner, k, r);
    if (parts & HIT_TANGENT)
        gather_tangents(mesh, corner, k, r);
    if (parts & HIT_FOOTPRINT)
        gather_footprint(rays->diff[k], k, r);
}

/* Gathers all lanes, whose triangles are of one mesh. */
static void gather_all(const SceneMesh *mesh, const HitRays *rays, uint32_t parts,
                       const SurfaceBlock *block, TriangleRows *r)
{
    if (parts == HIT_NORMAL) /* most surfaces without textures: nothing to ask at each lane */
        for (uint32_t k = 0; k < block->count; ++k)
            gather(mesh, rays, HIT_NORMAL, (SurfaceLane){block, k}, r);
    else
        for (uint32_t k = 0; k < block->count; ++k)
            gather(mesh, rays, parts, (SurfaceLane){block, k}, r);
}

/* Copies rows of what rays brought. Attributes that are not asked for are taken as missing. */
static void copy_in(const SurfaceBlock *b, uint32_t parts, TriangleRows *r)
{
    memcpy(r->D, b->I, sizeof r->D);
    memcpy(r->b1, b->b1, sizeof r->b1);
    memcpy(r->b2, b->b2, sizeof r->b2);
    memcpy(r->t, b->length_m, sizeof r->t);
    if (!(parts & HIT_NORMAL))
        memset(r->has_normals, 0, sizeof r->has_normals);
    if (!(parts & HIT_TANGENT))
        memset(r->has_tangents, 0, sizeof r->has_tangents);
}

/* --- hits ------------------------------------------------------------------------------------- */

/* Copies a row in the lanes of triangles; others have their own values already. */
static void copy_row(WideRow out, const WideRow row, uint16_t lanes)
{
    if (SORT_LIKELY(lanes == 0xffff))
        memcpy(out, row, sizeof(WideRow));
    else
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            out[k] = lanes >> k & 1 ? row[k] : out[k];
}

static void copy_rows(WideRow *out, const WideRow *rows, uint32_t count, uint16_t lanes)
{
    for (uint32_t i = 0; i < count; ++i)
        copy_row(out[i], rows[i], lanes);
}

static void copy_derivatives(const TriangleRows *r, uint32_t parts, uint16_t lanes, SurfaceBlock *b)
{
    copy_rows(b->dPdx, r->dPdx, 3, lanes);
    copy_rows(b->dPdy, r->dPdy, 3, lanes);
    copy_rows(b->dIdx, r->dDdx, 3, lanes);
    copy_rows(b->dIdy, r->dDdy, 3, lanes);
    copy_row(b->db1dx, r->db1dx, lanes);
    copy_row(b->db1dy, r->db1dy, lanes);
    copy_row(b->db2dx, r->db2dx, lanes);
    copy_row(b->db2dy, r->db2dy, lanes);
    if (parts & HIT_NORMAL) {
        copy_rows(b->dNdx, r->dNdx, 3, lanes);
        copy_rows(b->dNdy, r->dNdy, 3, lanes);
    }
    if (parts & HIT_UV) {
        copy_row(b->duvdx[0], r->dudx, lanes);
        copy_row(b->duvdx[1], r->dvdx, lanes);
        copy_row(b->duvdy[0], r->dudy, lanes);
        copy_row(b->duvdy[1], r->dvdy, lanes);
    }
    if (parts & HIT_TANGENT) {
        copy_rows(b->dTdx, r->dTdx, 3, lanes);
        copy_rows(b->dTdy, r->dTdy, 3, lanes);
    }
}

static void copy_out(const TriangleRows *r, uint32_t parts, uint16_t lanes, SurfaceBlock *b)
{
    copy_rows(b->P, r->P, 3, lanes);
    copy_row(b->error_m, r->error_m, lanes);
    copy_rows(b->Ng_front, r->Ng_front, 3, lanes);
    copy_rows(b->Ng, r->Ng, 3, lanes);
    if (SORT_LIKELY(lanes == 0xffff))
        memcpy(b->is_backfacing, r->is_backfacing, sizeof b->is_backfacing);
    else
        WIDE_EACH(k, lanes) b->is_backfacing[k] = r->is_backfacing[k];
    if (parts & HIT_NORMAL)
        copy_rows(b->N, r->N, 3, lanes);
    if (parts & HIT_UV) {
        copy_row(b->uv[0], r->u, lanes);
        copy_row(b->uv[1], r->v, lanes);
    }
    if (parts & HIT_TANGENT) {
        copy_rows(b->T, r->T, 3, lanes);
        copy_row(b->tangent_sign, r->tangent_sign, lanes);
    }
    if (parts & HIT_FOOTPRINT)
        copy_derivatives(r, parts, lanes, b);
}

/* Computes a surface on curves. */
static void hit_lane_of_curve(const SceneMesh *mesh, const SceneInstance *instance,
                              const HitRays *rays, uint32_t parts, SurfaceLane surface,
                              SurfaceHit *out_hit)
{
    const SurfaceBlock *b = surface.block;
    uint32_t k = surface.lane;
    Ray ray = {.origin = wide_get3(rays->origin, k),
               .direction = wide_get3(b->I, k),
               .time = rays->time[k]};
    HitQuery query = {.instance = surface_instance(surface),
                      .triangle = surface_triangle(surface),
                      .b1 = b->b1[k],
                      .t = b->length_m[k],
                      .parts = parts};
    *out_hit = (SurfaceHit){.instance = query.instance,
                            .triangle = query.triangle,
                            .depth = surface_depth(surface),
                            .length_m = query.t,
                            .I = ray.direction,
                            .b1 = query.b1,
                            .draw = b->draw[k],
                            .history = b->history[k]};
    if (parts & HIT_FOOTPRINT) {
        ASSERT(rays->diff[k]);
        out_hit->dIdx = rays->diff[k]->dDdx;
        out_hit->dIdy = rays->diff[k]->dDdy;
    }
    hit_curve(mesh, instance, &query, &ray, rays->diff[k], out_hit);
}

/* Returns whether all lanes show one instance, which does not move. */
static bool is_one_place(const Scene *scene, const SurfaceBlock *block)
{
    uint32_t k = 1;
    while (k < block->count && block->instance[k] == block->instance[0])
        ++k;
    return k == block->count && scene->instances[block->instance[0]].key_count == 0;
}

/* Computes a surface on curves, or gathers one on a triangle, with the place of its instance if that moves. Returns whether it
 * is on a triangle. */
static bool begin_lane(const Scene *scene, const HitRays *rays, uint32_t parts, SurfaceLane surface,
                       TriangleRows *rows, SurfaceHit *out_on_curve)
{
    ASSERT(surface_instance(surface) < scene->instance_count);
    const SceneInstance *instance = &scene->instances[surface_instance(surface)];
    SceneInstance moved;
    bool is_moving = instance->key_count > 0;
    if (is_moving) {
        moved = scene_instance_at(instance, rays->time[surface.lane]);
        instance = &moved;
    }
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    ASSERT(surface_triangle(surface) < scene_primitive_count(mesh));
    if (mesh->curves) {
        hit_lane_of_curve(mesh, instance, rays, parts, surface, out_on_curve);
        return false;
    }
    gather(mesh, rays, parts, surface, rows);
    if (is_moving)
        triangle_set_instance(instance, surface.lane, rows);
    return true;
}

/* Gathers triangles, and computes surfaces on curves. Returns the lanes of triangles. */
static uint16_t begin_lanes(const Scene *scene, const HitRays *rays, uint32_t parts,
                            SurfaceBlock *block, TriangleRows *rows)
{
    uint16_t triangles = 0;
    bool is_one = is_one_place(scene, block);
    if (is_one) {
        const SceneInstance *instance = &scene->instances[block->instance[0]];
        const SceneMesh *mesh = &scene->meshes[instance->mesh];
        triangle_set_instances(instance, rows);
        if (SORT_LIKELY(!mesh->curves)) {
            gather_all(mesh, rays, parts, block, rows);
            return (uint16_t)((1u << block->count) - 1u);
        }
    }
    if (!is_one)
        triangle_set_each_instance(scene, block->instance, block->count, rows);
    for (uint32_t k = 0; k < block->count; ++k) {
        SurfaceHit on_curve;
        if (begin_lane(scene, rays, parts, (SurfaceLane){block, k}, rows, &on_curve))
            triangles = (uint16_t)(triangles | 1u << k);
        else
            surface_set(block, k, &on_curve);
    }
    return triangles;
}

void hit_surfaces(const Scene *scene, const HitRays *rays, uint32_t parts, SurfaceBlock *block)
{
    TriangleRows rows;
    uint16_t all = (uint16_t)((1u << block->count) - 1u);
    ASSERT(block->count > 0 && block->count <= SSL_BLOCK);
    ASSERT(!(parts & HIT_TANGENT) || (parts & HIT_NORMAL));
    memcpy(block->time, rays->time, sizeof block->time);
    uint16_t live = begin_lanes(scene, rays, parts, block, &rows);
    if (live == 0)
        return;
    copy_in(block, parts, &rows);
    if (parts & HIT_FOOTPRINT)
        triangle_footprint_run(&rows, live);
    else if (parts & ~(uint32_t)HIT_NORMAL)
        triangle_frame_run(&rows, live);
    else if (parts)
        triangle_normal_run(&rows, live);
    else
        triangle_place_run(&rows, live);
    copy_out(&rows, parts, live == all ? 0xffff : live, block);
}

void hit_surface(const Scene *scene, const HitQuery *query, const Ray *ray, const RayDiff *diff,
                 SurfaceHit *hit)
{
    SurfaceBlock block;
    HitRays rays = {.diff = {diff}};
    SurfaceHit given = {.instance = query->instance,
                        .triangle = query->triangle,
                        .depth = query->depth,
                        .length_m = query->t,
                        .I = ray->direction,
                        .b1 = query->b1,
                        .b2 = query->b2};
    surface_set(&block, 0, &given);
    block.count = 1;
    block.material = hit_material(scene, query->instance, query->triangle);
    wide_set3(rays.origin, 0, ray->origin);
    rays.time[0] = ray->time;
    hit_surfaces(scene, &rays, query->parts, &block);
    *hit = surface_get((SurfaceLane){&block, 0});
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
