#include "sort/light/light_triangle.h"

#include "base/check.h"
#include <string.h>

_Static_assert(sizeof(LightTriangle) == 64, "a triangle is a cache line");

static void store(const TriangleRows *rows, uint32_t k, LightTriangle *out)
{
    for (uint32_t c = 0; c < 3; ++c) {
        out->corner[c] = rows->corner[c][k], out->front[c] = rows->front[c][k];
        out->edge1[c] = rows->edge1[c][k], out->edge2[c] = rows->edge2[c][k];
    }
    out->area2 = rows->area2[k];
    out->error_m = rows->error_m[k];
}

void light_triangles_place(const Scene *scene, uint32_t instance, const uint32_t *triangles,
                           uint32_t count, LightTriangle *out)
{
    const SceneInstance *placed = &scene->instances[instance];
    TriangleRows rows;
    triangle_set_instances(placed, &rows);
    for (uint32_t first = 0; first < count; first += SSL_BLOCK) {
        uint32_t n = count - first < SSL_BLOCK ? count - first : SSL_BLOCK;
        for (uint32_t k = 0; k < n; ++k)
            triangle_gather(&scene->meshes[placed->mesh], triangles[first + k], 0.0f, k, &rows);
        triangle_stand_run(&rows, (uint16_t)((1u << n) - 1u));
        for (uint32_t k = 0; k < n; ++k)
            store(&rows, k, &out[first + k]);
    }
}

void light_triangles_load(const LightTriangle *const from[SSL_BLOCK], uint16_t live,
                          TriangleRows *rows, uint32_t out_instance[SSL_BLOCK],
                          uint32_t out_triangle[SSL_BLOCK])
{
    alignas(64) WideRow triangle, instance;
    for (uint32_t k = 0; k < SSL_BLOCK; k += 4) {
        const float *corner[4], *edge1[4], *edge2[4], *front[4]; /* and the number after each */
        if (!(live >> k & 15))
            continue;
        for (uint32_t i = 0; i < 4; ++i) {
            corner[i] = (const float *)from[k + i];
            edge1[i] = corner[i] + 4, edge2[i] = corner[i] + 8, front[i] = corner[i] + 12;
        }
        wide_turn4(corner, k, rows->corner[0], rows->corner[1], rows->corner[2], rows->area2);
        wide_turn4(edge1, k, rows->edge1[0], rows->edge1[1], rows->edge1[2], rows->error_m);
        wide_turn4(edge2, k, rows->edge2[0], rows->edge2[1], rows->edge2[2], triangle);
        wide_turn4(front, k, rows->front[0], rows->front[1], rows->front[2], instance);
        memcpy(out_triangle + k, triangle + k, 4 * sizeof *out_triangle);
        memcpy(out_instance + k, instance + k, 4 * sizeof *out_instance);
    }
}

void light_triangles_load_moving(const Scene *scene, const uint32_t instance[SSL_BLOCK],
                                 const uint32_t triangle[SSL_BLOCK], const float *time,
                                 uint16_t live, TriangleRows *rows)
{
    WIDE_EACH(k, live)
    {
        SceneInstance moved;
        const SceneInstance *placed = &scene->instances[instance[k]];
        if (placed->key_count > 0) {
            moved = scene_instance_at(placed, time[k]);
            placed = &moved;
        }
        triangle_gather(&scene->meshes[placed->mesh], triangle[k], time[k], k, rows);
        triangle_set_instance(placed, k, rows);
    }
    triangle_stand_run(rows, live);
}
