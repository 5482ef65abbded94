#include "sort/light/light_pair.h"

#include "base/check.h"

_Static_assert(sizeof(LightPair) == 128, "a pair is two cache lines");

/* The least one between normals. Both triangles are sampled for what they are, but a leaf of the tree bounds one plane better than two. */
static const float COSINE_MIN = 0.999f;

static bool is_same(float3 a, float3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* Finds an edge that the second triangle goes the other way. out_apex: the corner of each triangle from which the first one goes it. */
static bool share_edge(const float3 first[3], const float3 second[3], uint32_t out_apex[2])
{
    for (uint32_t i = 0; i < 3; ++i) {
        for (uint32_t k = 0; k < 3; ++k) {
            if (!is_same(first[i], second[k]) || !is_same(first[(i + 1) % 3], second[(k + 2) % 3]))
                continue;
            out_apex[0] = i, out_apex[1] = k;
            return true;
        }
    }
    return false;
}

static bool find_apex(const SceneMesh *mesh, const uint32_t triangles[2], float3 out_corners[2][3],
                      uint32_t out_apex[2])
{
    for (uint32_t k = 0; k < 2; ++k)
        scene_mesh_positions_at(mesh, &mesh->indices[3 * (size_t)triangles[k]], 0.5f,
                                out_corners[k]);
    return share_edge(out_corners[0], out_corners[1], out_apex);
}

/* Returns the unit normal in the world, up to its side; no number for a triangle that has none. */
static float3 normal_of(const mat4 *m, const float3 corners[3])
{
    float3 edge1 = mat4_vector(m, f3_sub(corners[1], corners[0]));
    float3 edge2 = mat4_vector(m, f3_sub(corners[2], corners[0]));
    edge1 = f3_scale(edge1, 1.0f / f3_length(edge1));
    edge2 = f3_scale(edge2, 1.0f / f3_length(edge2));
    float3 across = f3_cross(edge1, edge2);
    return f3_scale(across, 1.0f / f3_length(across));
}

bool light_pair_joins(const Scene *scene, uint32_t instance, const uint32_t triangles[2])
{
    const SceneInstance *placed = &scene->instances[instance];
    float3 corners[2][3];
    uint32_t apex[2];
    return find_apex(&scene->meshes[placed->mesh], triangles, corners, apex) &&
           f3_dot(normal_of(&placed->object_to_world, corners[0]),
                  normal_of(&placed->object_to_world, corners[1])) >= COSINE_MIN;
}

/* Turns the corners of a lane so that the apex comes first. */
static void turn(TriangleRows *rows, uint32_t lane, uint32_t apex)
{
    for (uint32_t c = 0; c < 3; ++c) {
        float p[3] = {rows->p0[c][lane], rows->p1[c][lane], rows->p2[c][lane]};
        rows->p0[c][lane] = p[apex];
        rows->p1[c][lane] = p[(apex + 1) % 3];
        rows->p2[c][lane] = p[(apex + 2) % 3];
    }
}

/* rows: of both triangles, from lane `first` on. */
static void store(const TriangleRows *rows, uint32_t first, LightPair *out)
{
    uint32_t second = first + 1;
    for (uint32_t c = 0; c < 3; ++c) {
        out->corner[c] = rows->corner[c][first];
        out->edge1[c] = rows->edge2[c][first];
        out->edge2[c] = rows->edge1[c][first];
        out->edge3[c] = rows->edge1[c][second];
        out->front[c] = rows->front[c][first];
        out->front_b[c] = rows->front[c][second];
    }
    out->area2 = rows->area2[first], out->area2_b = rows->area2[second];
    out->error_m = rows->error_m[first], out->error_b_m = rows->error_m[second];
}

void light_pairs_place(const Scene *scene, uint32_t instance, const uint32_t *triangles,
                       uint32_t count, LightPair *out)
{
    const SceneInstance *placed = &scene->instances[instance];
    const SceneMesh *mesh = &scene->meshes[placed->mesh];
    TriangleRows rows;
    ASSERT(count > 0 && count <= LIGHT_PAIRS_MAX);
    triangle_set_instances(placed, &rows);
    for (uint32_t n = 0; n < count; ++n) {
        const uint32_t *pair = &triangles[2 * (size_t)n];
        float3 corners[2][3];
        uint32_t apex[2];
        bool is_pair = find_apex(mesh, pair, corners, apex);
        ASSERT(is_pair);
        (void)is_pair;
        for (uint32_t k = 0; k < 2; ++k) {
            triangle_gather(mesh, pair[k], 0.0f, 2 * n + k, &rows);
            turn(&rows, 2 * n + k, apex[k]);
        }
        out[n] = (LightPair){.instance = instance,
                             .turn = (float)apex[0],
                             .turn_b = (float)apex[1],
                             .triangle = {pair[0], pair[1]}};
    }
    triangle_stand_run(&rows, (uint16_t)((1u << 2 * count) - 1u));
    for (uint32_t n = 0; n < count; ++n)
        store(&rows, 2 * n, &out[n]);
}

static void fill(WideRow row, float value)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        row[k] = value;
}

static void fill3(WideRow rows[3], const float v[3])
{
    fill(rows[0], v[0]), fill(rows[1], v[1]), fill(rows[2], v[2]);
}

/* Sets one pair for all lanes, in less time. */
static void load_one(const LightPair *p, TriangleRows *rows)
{
    fill3(rows->corner, p->corner), fill(rows->area2, p->area2);
    fill3(rows->edge1, p->edge1), fill(rows->error_m, p->error_m);
    fill3(rows->edge2, p->edge2), fill(rows->area2_b, p->area2_b);
    fill3(rows->edge3, p->edge3), fill(rows->error_b_m, p->error_b_m);
    fill3(rows->front, p->front), fill(rows->turn, p->turn);
    fill3(rows->front_b, p->front_b), fill(rows->turn_b, p->turn_b);
}

/* Sets the lanes [k, k + 4). */
static void load_four(const LightPair *const from[4], uint32_t k, TriangleRows *rows)
{
    const float *vectors[6][4]; /* and the number after each */
    for (uint32_t i = 0; i < 4; ++i)
        for (uint32_t n = 0; n < 6; ++n)
            vectors[n][i] = (const float *)from[i] + 4 * (size_t)n;
    WideRow *v[6] = {rows->corner, rows->edge1, rows->edge2,
                     rows->edge3,  rows->front, rows->front_b};
    float *after[6] = {rows->area2,     rows->error_m, rows->area2_b,
                       rows->error_b_m, rows->turn,    rows->turn_b};
    for (uint32_t n = 0; n < 6; ++n)
        wide_turn4(vectors[n], k, v[n][0], v[n][1], v[n][2], after[n]);
}

void light_pairs_load(const LightPair *const from[SSL_BLOCK], uint16_t live, TriangleRows *rows)
{
    const LightPair *first = from[__builtin_ctz(live)];
    uint32_t other = 0;
    WIDE_EACH(k, live) other |= from[k] != first;
    if (!other) {
        load_one(first, rows);
        return;
    }
    for (uint32_t k = 0; k < SSL_BLOCK; k += 4)
        if (live >> k & 15)
            load_four(&from[k], k, rows);
}
