/* Motion over the shutter: interpolation, intersection at a time against brute force in double precision, and
 * shading that is to the bit that of a scene frozen at that time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "sort/scene/camera.h"
#include "sort/scene/motion.h"
#include "sort/shade/hit.h"
#include "tests/sort/accel/tracer.h"
#include "tests/sort/scene/scene_fixture.h"

static const float pi = 3.14159265f;

static void assert_close(float found, float expected, float tolerance)
{
    if (!(fabsf(found - expected) <= tolerance))
        fail_msg("found %.9g, expected %.9g", (double)found, (double)expected);
}

static void assert_matrices_close(mat4 a, mat4 b, float tolerance)
{
    for (int i = 0; i < 16; ++i)
        assert_close(a.m[i / 4][i % 4], b.m[i / 4][i % 4], tolerance);
}

/* --- interpolation ------------------------------------------------------------------------------- */

static void test_motion_passes_through_its_keys(void **unused)
{
    SORT_UNUSED(unused);
    mat4 keys[4];
    for (int i = 0; i < 4; ++i)
        keys[i] = mat4_mul(mat4_translate(f3((float)i, 2, (float)(i * i))),
                           mat4_rotate(f3(1, 2, 3), (float)i));
    for (int i = 0; i < 4; ++i) {
        mat4 linear = motion_linear(keys, 4, (float)i / 3.0f);
        assert_matrices_close(linear, keys[i], 1e-6f);
        assert_matrices_close(motion_rigid(keys, 4, (float)i / 3.0f), keys[i], 2e-6f);
    }
    /* half way on a segment: the mean, element by element */
    mat4 middle = motion_linear(keys, 4, 0.5f);
    for (int i = 0; i < 16; ++i)
        assert_close(middle.m[i / 4][i % 4],
                     0.5f * (keys[1].m[i / 4][i % 4] + keys[2].m[i / 4][i % 4]), 1e-6f);
}

static void test_motion_of_cameras_turns_at_constant_speed(void **unused)
{
    SORT_UNUSED(unused);
    const float3 axis = f3(1, -2, 0.5f);
    mat4 start = mat4_rotate(f3(0, 1, 0), 0.7f);
    mat4 keys[2] = {
        start, mat4_mul(mat4_translate(f3(4, 0, -2)), mat4_mul(mat4_rotate(axis, 1.9f), start))};
    for (int i = 0; i <= 10; ++i) {
        float t = (float)i / 10.0f;
        mat4 expected = mat4_mul(mat4_translate(f3(4 * t, 0, -2 * t)),
                                 mat4_mul(mat4_rotate(axis, 1.9f * t), start));
        assert_matrices_close(motion_rigid(keys, 2, t), expected, 2e-6f);
    }
    assert_close(motion_turn_cosine(&keys[0], &keys[1]), cosf(1.9f), 1e-6f);
}

static mat4 random_key(uint64_t *state)
{
    mat4 m = mat4_rotate(f3(0.1f + fixture_random(state), fixture_random(state), 0.5f),
                         1.5f * fixture_random(state));
    m = mat4_mul(m, mat4_scale(f3(0.5f + fixture_random(state), 0.5f + fixture_random(state),
                                  0.5f + fixture_random(state))));
    return mat4_mul(mat4_translate(f3(fixture_random(state) - 0.5f, fixture_random(state) - 0.5f,
                                      fixture_random(state) - 0.5f)),
                    m);
}

/* A turn by a is flat half way when a = 180 degrees, and certain below 120. */
static void test_motion_refuses_to_flatten_objects(void **unused)
{
    SORT_UNUSED(unused);
    mat4 keys[2] = {mat4_identity()};
    for (int degrees = 0; degrees <= 180; degrees += 10) {
        keys[1] = mat4_rotate(f3(0, 1, 1), (float)degrees * pi / 180.0f);
        assert_int_equal(motion_is_invertible(keys, 2), degrees < 120);
    }
    keys[1] = mat4_scale(f3(-1, 1, 1));
    assert_false(motion_is_invertible(keys, 2));
    uint64_t state = 5;
    uint32_t certain = 0;
    for (int n = 0; n < 200; ++n) {
        keys[0] = random_key(&state), keys[1] = random_key(&state);
        if (!motion_is_invertible(keys, 2))
            continue;
        ++certain;
        for (int i = 0; i <= 50; ++i)
            assert_true(mat4_determinant3(motion_linear(keys, 2, (float)i / 50.0f)) > 0.0f);
    }
    assert_true(certain > 100);
}

/* --- a scene of moving and still things -------------------------------------------------------- */

enum { RAYS = 3000, KEYS = 3, MOVERS = 6, LATER = 2, SHAPE_VERTICES_MAX = 64 };

typedef struct Moving {
    SceneFixture *f;
    mat4 keys[MOVERS][KEYS];
    float shapes[LATER][3 * SHAPE_VERTICES_MAX];
    SceneMeshKey later[LATER];
} Moving;

/* What moves. */
enum { TRANSFORMS = 1, SHAPES = 2 };

static void add_shapes(Moving *m, SceneMesh *mesh, uint64_t *state)
{
    assert_true(mesh->vertex_count <= SHAPE_VERTICES_MAX);
    for (uint32_t k = 0; k < LATER; ++k) {
        for (uint32_t i = 0; i < 3 * mesh->vertex_count; ++i)
            m->shapes[k][i] = mesh->positions[i] + 0.6f * fixture_random(state);
        m->later[k].positions = m->shapes[k];
    }
    mesh->later = m->later;
    mesh->later_count = LATER;
}

/* cells: 300 makes meshes so large that accel does not flatten them. */
static void make_scene(Moving *m, uint32_t cells, uint32_t what)
{
    uint64_t state = 11;
    m->f = fixture_create();
    uint32_t material = fixture_material(m->f, "grey");
    uint32_t grid = fixture_grid(m->f, cells, 0.2f), still = fixture_grid(m->f, 3, 0.1f);
    fixture_instance(m->f, still, material, mat4_translate(f3(0, 0, -1.5f)));
    if (what & SHAPES)
        add_shapes(m, &m->f->meshes[grid], &state);
    for (uint32_t i = 0; i < MOVERS; ++i) {
        uint32_t instance = fixture_instance(m->f, grid, material, random_key(&state));
        if (!(what & TRANSFORMS))
            continue;
        do {
            for (int k = 0; k < KEYS; ++k)
                m->keys[i][k] = random_key(&state);
        } while (!scene_instance_set_motion(&m->f->instances[instance], m->keys[i], KEYS));
    }
}

static Ray random_ray(uint64_t *state)
{
    float3 origin = f3(4 * fixture_random(state) - 2, 4 * fixture_random(state) - 2, 3);
    float3 target =
        f3(2 * fixture_random(state) - 1, 2 * fixture_random(state) - 1, fixture_random(state) - 1);
    return (Ray){.origin = origin,
                 .direction = f3_normalize(f3_sub(target, origin)),
                 .t_max = INFINITY,
                 .time = fixture_random(state)};
}

/* Where the ray meets a triangle's plane as it is at the ray's time, in double [Moeller1997]. False: outside by
 * more than rounding explains. */
static bool meet(const Scene *scene, uint32_t instance, uint32_t triangle, const Ray *ray,
                 double *out_t, double *out_b1, double *out_b2)
{
    float3 c[3];
    double p[3][3], o[3] = {(double)ray->origin.x, (double)ray->origin.y, (double)ray->origin.z};
    double d[3] = {(double)ray->direction.x, (double)ray->direction.y, (double)ray->direction.z};
    scene_triangle_at(scene, instance, triangle, ray->time, c);
    for (int k = 0; k < 3; ++k)
        p[k][0] = (double)c[k].x, p[k][1] = (double)c[k].y, p[k][2] = (double)c[k].z;
    double e1[3], e2[3], s[3];
    for (int k = 0; k < 3; ++k)
        e1[k] = p[1][k] - p[0][k], e2[k] = p[2][k] - p[0][k], s[k] = o[k] - p[0][k];
    double h[3] = {d[1] * e2[2] - d[2] * e2[1], d[2] * e2[0] - d[0] * e2[2],
                   d[0] * e2[1] - d[1] * e2[0]};
    double q[3] = {s[1] * e1[2] - s[2] * e1[1], s[2] * e1[0] - s[0] * e1[2],
                   s[0] * e1[1] - s[1] * e1[0]};
    double a = e1[0] * h[0] + e1[1] * h[1] + e1[2] * h[2];
    if (a == 0.0)
        return false;
    *out_b1 = (s[0] * h[0] + s[1] * h[1] + s[2] * h[2]) / a;
    *out_b2 = (d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / a;
    *out_t = (e2[0] * q[0] + e2[1] * q[1] + e2[2] * q[2]) / a;
    return *out_t > 0.0 && fmin(fmin(*out_b1, *out_b2), 1.0 - *out_b1 - *out_b2) > -1e-4;
}

/* RAYS of them, asked both ways. */
static Tracer trace(const Scene *scene)
{
    Tracer t = tracer_create(scene, NULL, RAYS);
    uint64_t state = 3;
    for (uint32_t i = 0; i < RAYS; ++i) {
        Ray ray = random_ray(&state);
        ray_batch_set(&t.rays, i, &ray);
        ray_batch_set(&t.shadow.rays, i, &ray);
        t.shadow.state[i] = SHADOW_QUEUED;
    }
    accel_intersect(t.accel, &t.rays, RAYS, &t.hits);
    accel_occluded(t.accel, &t.shadow, RAYS);
    return t;
}

static const RayDiff no_diff;

/* What was hit is where the interpolated vertices are; the surface that shading makes of it, too. */
static void check_hit(const Scene *scene, const HitBatch *hits, uint32_t i, const Ray *ray)
{
    double t, b1, b2;
    SurfaceHit surface;
    assert_true(meet(scene, hits->shape[i], hits->triangle[i], ray, &t, &b1, &b2));
    assert_true(fabs((double)hits->t[i] - t) < 4e-6 * (1.0 + t));
    float3 c[3];
    scene_triangle_at(scene, hits->shape[i], hits->triangle[i], ray->time, c);
    float3 e1 = f3_sub(c[1], c[0]), e2 = f3_sub(c[2], c[0]);
    float3 point = f3_madd(f3_madd(c[0], hits->b1[i], e1), hits->b2[i], e2);
    assert_true(f3_length(f3_sub(point, f3_madd(ray->origin, (float)t, ray->direction))) < 2e-5f);
    hit_surface(scene,
                &(HitQuery){hits->shape[i], hits->triangle[i], hits->b1[i], hits->b2[i], hits->t[i],
                            0, HIT_ALL},
                ray, &no_diff, &surface);
    assert_true(f3_length(f3_sub(surface.P, point)) < 1e-6f);
    /* The front is where the object's winding says, mirrored or not. */
    float3 front = f3_normalize(f3_cross(e1, e2));
    front = scene->instances[hits->shape[i]].is_mirrored ? f3_neg(front) : front;
    assert_true(f3_dot(front, surface.Ng_front) > 0.9999f);
}

/* No triangle is nearer than what was hit, or hit where nothing was. */
static void check_nearest(const Scene *scene, const HitBatch *hits, uint32_t i, const Ray *ray)
{
    double nearest = hits->shape[i] == HIT_NONE ? HUGE_VAL : (double)hits->t[i], t, b1, b2;
    for (uint32_t k = 0; k < scene->instance_count; ++k)
        for (uint32_t j = 0; j < scene->meshes[scene->instances[k].mesh].triangle_count; ++j)
            if (meet(scene, k, j, ray, &t, &b1, &b2) && fmin(fmin(b1, b2), 1.0 - b1 - b2) > 1e-4)
                assert_true(t > nearest - 1e-5);
}

static void check_scene(uint32_t cells, uint32_t what, bool is_flattened)
{
    Moving m;
    make_scene(&m, cells, what);
    Tracer t = trace(&m.f->scene);
    AccelStats stats = accel_stats(t.accel);
    assert_int_equal(stats.moving_count, MOVERS);
    assert_int_equal(stats.instanced_count, is_flattened ? 0 : MOVERS);
    uint32_t met = 0;
    for (uint32_t i = 0; i < RAYS; ++i) {
        Ray ray = ray_batch_get(&t.rays, i);
        bool is_hit = t.hits.shape[i] != HIT_NONE;
        assert_int_equal(t.shadow.state[i], is_hit ? SHADOW_BLOCKED : SHADOW_CLEAR);
        if (is_hit)
            check_hit(&m.f->scene, &t.hits, i, &ray);
        if (cells < 10 && i % 4 == 0)
            check_nearest(&m.f->scene, &t.hits, i, &ray);
        met += is_hit && t.hits.shape[i] > 0;
    }
    assert_true(met > RAYS / 4);
    tracer_destroy(&t);
    fixture_destroy(m.f);
}

static void test_motion_hits_are_where_the_vertices_are(void **unused)
{
    SORT_UNUSED(unused);
    check_scene(4, TRANSFORMS, true);
    check_scene(4, SHAPES, true);
}

static void test_motion_hits_of_instances_are_where_the_vertices_are(void **unused)
{
    SORT_UNUSED(unused);
    check_scene(300, TRANSFORMS, false);
    check_scene(4, TRANSFORMS | SHAPES, false);
}

/* Embree may not let a moving ray's result depend on the rays it came with. */
static void test_motion_results_do_not_depend_on_company(void **unused)
{
    SORT_UNUSED(unused);
    Moving m;
    HitBatch alone;
    make_scene(&m, 4, TRANSFORMS);
    Tracer t = trace(&m.f->scene);
    assert_int_equal(hit_batch_create(t.arena, 1, &alone, NULL), STATUS_OK);
    RayBatch one;
    assert_int_equal(ray_batch_create(t.arena, 1, &one, NULL), STATUS_OK);
    for (uint32_t i = 0; i < RAYS; ++i) {
        Ray ray = ray_batch_get(&t.rays, i);
        ray_batch_set(&one, 0, &ray);
        accel_intersect(t.accel, &one, 1, &alone);
        assert_int_equal(alone.shape[0], t.hits.shape[i]);
        if (alone.shape[0] == HIT_NONE)
            continue;
        assert_int_equal(alone.triangle[0], t.hits.triangle[i]);
        assert_memory_equal(&alone.t[0], &t.hits.t[i], sizeof(float));
        assert_memory_equal(&alone.b1[0], &t.hits.b1[i], sizeof(float));
        assert_memory_equal(&alone.b2[0], &t.hits.b2[i], sizeof(float));
    }
    tracer_destroy(&t);
    fixture_destroy(m.f);
}

/* --- derivatives --------------------------------------------------------------------------------- */

/* Camera and object as they stand at one time have derivatives that test_hit.c proves; those of the moving ones
 * at that time are the same bits. */
static void test_motion_derivatives_are_those_of_the_frozen_scene(void **unused)
{
    SORT_UNUSED(unused);
    Moving m;
    uint64_t state = 23;
    make_scene(&m, 4, TRANSFORMS);
    mat4 keys[2] = {mat4_translate(f3(0, 0, 3)),
                    mat4_mul(mat4_translate(f3(0.5f, 0.2f, 3.5f)), mat4_rotate(f3(0, 1, 0), 0.4f))};
    SceneCamera camera = {.camera_to_world = motion_rigid(keys, 2, 0.5f),
                          .keys = keys,
                          .key_count = 2,
                          .fov_y_rad = 0.8f,
                          .aperture_radius_m = 0.05f,
                          .focus_distance_m = 3};
    CameraView moving, still;
    camera_view_init(&camera, 100, 80, &moving);
    float normals[3 * 25];
    for (int i = 0; i < 25; ++i) {
        float3 n =
            f3_normalize(f3(fixture_random(&state) - 0.5f, fixture_random(&state) - 0.5f, 1));
        normals[3 * i] = n.x, normals[3 * i + 1] = n.y, normals[3 * i + 2] = n.z;
    }
    m.f->meshes[m.f->instances[1].mesh].normals = normals;
    uint32_t different = 0;
    for (int n = 0; n < 200; ++n) {
        float time = fixture_random(&state);
        float2 film = f2(100 * fixture_random(&state), 80 * fixture_random(&state));
        float2 lens = f2(fixture_random(&state), fixture_random(&state));
        SceneCamera frozen_camera = camera;
        frozen_camera.camera_to_world = motion_rigid(keys, 2, time);
        frozen_camera.key_count = 0;
        camera_view_init(&frozen_camera, 100, 80, &still);
        Ray ray, frozen_ray;
        RayDiff diff, frozen_diff;
        assert_true(camera_ray(&moving, film, lens, time, &ray, &diff));
        assert_true(camera_ray(&still, film, lens, time, &frozen_ray, &frozen_diff));
        assert_memory_equal(&ray, &frozen_ray, sizeof ray);
        assert_memory_equal(&diff, &frozen_diff, sizeof diff);

        SurfaceHit hit, frozen, middle;
        Scene scene = m.f->scene;
        SceneInstance instances[2] = {[1] = scene_instance_at(&m.f->instances[1], time)};
        assert_int_equal(instances[1].key_count, 0);
        hit_surface(&scene, &(HitQuery){1, 7, 0.25f, 0.5f, 3, 0, HIT_ALL}, &ray, &diff, &hit);
        ray.time = 0.5f;
        hit_surface(&scene, &(HitQuery){1, 7, 0.25f, 0.5f, 3, 0, HIT_ALL}, &ray, &diff, &middle);
        scene.instances = instances;
        hit_surface(&scene, &(HitQuery){1, 7, 0.25f, 0.5f, 3, 0, HIT_ALL}, &frozen_ray,
                    &frozen_diff, &frozen);
        assert_memory_equal(&hit, &frozen, sizeof hit);
        different += memcmp(&hit, &middle, sizeof hit) != 0;
    }
    assert_true(different > 190); /* or nothing moved */
    fixture_destroy(m.f);
}

/* A mesh frozen in its shape of one time has the same hit, normals included. */
static void test_motion_of_shapes_is_that_of_the_frozen_mesh(void **unused)
{
    SORT_UNUSED(unused);
    static const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0},
                       moved[] = {0, 0, 1, 2, 0, 0, 0, 1, 3};
    static const float normals[] = {0, 0, 1, 0, 0.6f, 0.8f, 0, 0, 1},
                       turned[] = {0, 0, 1, 0.6f, 0, 0.8f, 0, -0.6f, 0.8f};
    static const uint32_t indices[] = {0, 1, 2};
    static const RayDiff diff = {{0.1f, 0, 0}, {0, 0.1f, 0}, {0.01f, 0, 0}, {0, 0.01f, 0}, false};
    SceneMeshKey later = {moved, turned};
    uint32_t material = 0;
    SceneMesh mesh = {.vertex_count = 3,
                      .triangle_count = 1,
                      .positions = positions,
                      .normals = normals,
                      .indices = indices,
                      .later = &later,
                      .later_count = 1};
    SceneInstance instance = {.name = "i", .material_count = 1, .materials = &material};
    assert_true(scene_instance_set_transform(&instance, mat4_rotate(f3(1, 1, 0), 0.3f)));
    Scene scene = {.meshes = &mesh, .mesh_count = 1, .instances = &instance, .instance_count = 1};
    for (int i = 0; i <= 4; ++i) {
        float time = (float)i / 4, frozen_positions[9], frozen_normals[9];
        SurfaceHit hit, frozen;
        Ray ray = {.origin = f3(0, 0, 5), .direction = f3(0, 0, -1), .time = time};
        mesh.later_count = 1;
        hit_surface(&scene, &(HitQuery){0, 0, 0.25f, 0.25f, 4, 0, HIT_ALL}, &ray, &diff, &hit);
        for (int k = 0; k < 9; ++k) {
            frozen_positions[k] = (1 - time) * positions[k] + time * moved[k];
            frozen_normals[k] = (1 - time) * normals[k] + time * turned[k];
        }
        SceneMesh still = mesh;
        still.later_count = 0;
        still.positions = frozen_positions;
        still.normals = frozen_normals;
        Scene frozen_scene = scene;
        frozen_scene.meshes = &still;
        hit_surface(&frozen_scene, &(HitQuery){0, 0, 0.25f, 0.25f, 4, 0, HIT_ALL}, &ray, &diff,
                    &frozen);
        assert_memory_equal(&hit, &frozen, sizeof hit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_motion_passes_through_its_keys),
        cmocka_unit_test(test_motion_of_cameras_turns_at_constant_speed),
        cmocka_unit_test(test_motion_refuses_to_flatten_objects),
        cmocka_unit_test(test_motion_hits_are_where_the_vertices_are),
        cmocka_unit_test(test_motion_hits_of_instances_are_where_the_vertices_are),
        cmocka_unit_test(test_motion_results_do_not_depend_on_company),
        cmocka_unit_test(test_motion_derivatives_are_those_of_the_frozen_scene),
        cmocka_unit_test(test_motion_of_shapes_is_that_of_the_frozen_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
