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

void triangle_set_each_instance(const Scene *scene, const int32_t *instance, uint32_t count,
                                TriangleRows *rows)
{
    ASSERT(count > 0 && count <= SSL_BLOCK);
    for (uint32_t first = 0; first < count; first += 4) {
        const float *m[3][4], *w[3][4]; /* rows of matrices, by lane */
        WideRow unused;
        for (uint32_t k = 0; k < 4; ++k) {
            uint32_t lane = first + k < count ? first + k : first;
            const SceneInstance *i = &scene->instances[(uint32_t)instance[lane]];
            for (uint32_t c = 0; c < 3; ++c)
                m[c][k] = i->object_to_world.m[c], w[c][k] = i->world_to_object.m[c];
            rows->is_mirrored[first + k] = i->is_mirrored;
        }
        wide_turn4(m[0], first, rows->mx[0], rows->mx[1], rows->mx[2], rows->mo[0]);
        wide_turn4(m[1], first, rows->my[0], rows->my[1], rows->my[2], rows->mo[1]);
        wide_turn4(m[2], first, rows->mz[0], rows->mz[1], rows->mz[2], rows->mo[2]);
        wide_turn4(w[0], first, rows->wx[0], rows->wx[1], rows->wx[2], unused);
        wide_turn4(w[1], first, rows->wy[0], rows->wy[1], rows->wy[2], unused);
        wide_turn4(w[2], first, rows->wz[0], rows->wz[1], rows->wz[2], unused);
    }
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
