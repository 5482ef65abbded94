#include "sort/scene/triangle.h"

#include "base/check.h"

static void gather_corners(const SceneMesh *mesh, const uint32_t corner[3], float time,
                           uint32_t lane, TriangleRows *rows)
{
    float3 p[3];
    if (SORT_LIKELY(mesh->later_count == 0)) {
        const float *p0 = mesh->positions + 3 * (size_t)corner[0],
                    *p1 = mesh->positions + 3 * (size_t)corner[1],
                    *p2 = mesh->positions + 3 * (size_t)corner[2];
        for (uint32_t c = 0; c < 3; ++c)
            rows->p0[c][lane] = p0[c], rows->p1[c][lane] = p1[c], rows->p2[c][lane] = p2[c];
        return;
    }
    scene_mesh_positions_at(mesh, corner, time, p);
    wide_set3(rows->p0, lane, p[0]);
    wide_set3(rows->p1, lane, p[1]);
    wide_set3(rows->p2, lane, p[2]);
}

void triangle_gather(const SceneInstance *instance, const SceneMesh *mesh, uint32_t triangle,
                     float time, uint32_t lane, TriangleRows *rows)
{
    const float(*m)[4] = instance->object_to_world.m, (*w)[4] = instance->world_to_object.m;
    ASSERT(!mesh->curves && triangle < mesh->triangle_count && lane < SSL_BLOCK);
    gather_corners(mesh, mesh->indices + (size_t)3 * triangle, time, lane, rows);
    for (uint32_t c = 0; c < 3; ++c) {
        rows->mx[c][lane] = m[0][c], rows->my[c][lane] = m[1][c], rows->mz[c][lane] = m[2][c];
        rows->mo[c][lane] = m[c][3];
        rows->wx[c][lane] = w[0][c], rows->wy[c][lane] = w[1][c], rows->wz[c][lane] = w[2][c];
    }
    rows->is_mirrored[lane] = instance->is_mirrored;
}
