#include "sort/scene/triangle.h"

#include "base/check.h"

void triangle_gather_moving(const SceneMesh *mesh, uint32_t triangle, float time, uint32_t lane,
                            TriangleRows *rows)
{
    float3 p[3];
    ASSERT(triangle < mesh->triangle_count && lane < SSL_BLOCK);
    scene_mesh_positions_at(mesh, mesh->indices + (size_t)3 * triangle, time, p);
    wide_set3(rows->p0, lane, p[0]);
    wide_set3(rows->p1, lane, p[1]);
    wide_set3(rows->p2, lane, p[2]);
}

void triangle_set_instance(const SceneInstance *instance, uint32_t lane, TriangleRows *rows)
{
    const float(*m)[4] = instance->object_to_world.m, (*w)[4] = instance->world_to_object.m;
    ASSERT(lane < SSL_BLOCK);
    for (uint32_t c = 0; c < 3; ++c) {
        rows->mx[c][lane] = m[0][c], rows->my[c][lane] = m[1][c], rows->mz[c][lane] = m[2][c];
        rows->mo[c][lane] = m[c][3];
        rows->wx[c][lane] = w[0][c], rows->wy[c][lane] = w[1][c], rows->wz[c][lane] = w[2][c];
    }
    rows->is_mirrored[lane] = instance->is_mirrored;
}

static void fill(WideRow row, float value)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = value;
}

void triangle_set_instances(const SceneInstance *instance, TriangleRows *rows)
{
    const float(*m)[4] = instance->object_to_world.m, (*w)[4] = instance->world_to_object.m;
    for (uint32_t c = 0; c < 3; ++c) {
        fill(rows->mx[c], m[0][c]), fill(rows->my[c], m[1][c]), fill(rows->mz[c], m[2][c]);
        fill(rows->mo[c], m[c][3]);
        fill(rows->wx[c], w[0][c]), fill(rows->wy[c], w[1][c]), fill(rows->wz[c], w[2][c]);
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        rows->is_mirrored[k] = instance->is_mirrored;
}
