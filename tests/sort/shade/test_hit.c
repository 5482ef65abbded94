/* Hit derivatives: closed forms on a plane (scene S of the texture tests), a mirror, a slab of glass, and
 * central differences on random triangles with vertex normals and tangents. */
#include "base/hash.h"
#include "base/thread.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sort/scene/camera.h"
#include "sort/shade/footprint_ray.h"
#include "sort/shade/hit.h"

/* --- a scene of one mesh ------------------------------------------------------------------------ */

typedef struct OneMesh {
    Scene scene;
    SceneMesh mesh;
    SceneInstance instance;
    uint32_t material;
} OneMesh;

static void one_mesh(OneMesh *o, const float *positions, const float *normals, const float *uv,
                     uint32_t vertices, const uint32_t *indices, uint32_t triangles, mat4 transform)
{
    memset(o, 0, sizeof *o);
    o->mesh = (SceneMesh){.vertex_count = vertices,
                          .triangle_count = triangles,
                          .positions = positions,
                          .normals = normals,
                          .indices = indices,
                          .uv_count = uv ? 1 : 0,
                          .uv = {uv}};
    o->instance = (SceneInstance){.name = "one", .material_count = 1, .materials = &o->material};
    assert_true(scene_instance_set_transform(&o->instance, transform));
    o->scene = (Scene){
        .meshes = &o->mesh, .mesh_count = 1, .instances = &o->instance, .instance_count = 1};
}

static void to_doubles(float3 v, double out_v[3])
{
    out_v[0] = (double)v.x;
    out_v[1] = (double)v.y;
    out_v[2] = (double)v.z;
}

/* Where the ray meets triangle `index`'s plane, as barycentrics and distance, in double. */
static void meet(const OneMesh *o, uint32_t index, const Ray *ray, float *b1, float *b2, float *t)
{
    float3 c[3];
    scene_triangle(&o->scene, 0, index, c);
    double e1[3], e2[3], s[3], d[3];
    to_doubles(f3_sub(c[1], c[0]), e1);
    to_doubles(f3_sub(c[2], c[0]), e2);
    to_doubles(f3_sub(ray->origin, c[0]), s);
    to_doubles(ray->direction, d);
    double h[3] = {d[1] * e2[2] - d[2] * e2[1], d[2] * e2[0] - d[0] * e2[2],
                   d[0] * e2[1] - d[1] * e2[0]};
    double q[3] = {s[1] * e1[2] - s[2] * e1[1], s[2] * e1[0] - s[0] * e1[2],
                   s[0] * e1[1] - s[1] * e1[0]};
    double a = e1[0] * h[0] + e1[1] * h[1] + e1[2] * h[2];
    *b1 = (float)((s[0] * h[0] + s[1] * h[1] + s[2] * h[2]) / a);
    *b2 = (float)((d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / a);
    *t = (float)((e2[0] * q[0] + e2[1] * q[1] + e2[2] * q[2]) / a);
}

/* --- the ground plane: y = 0, eye at height 1, image plane at distance 1, pixel pitch 1/256 ---------- */

enum { PLANE_PX = 512 };
static const float plane_positions[] = {-1e3f, 0, 1e3f,  1e3f,  0, 1e3f,
                                        1e3f,  0, -1e3f, -1e3f, 0, -1e3f};
/* uv = (x, -z): the camera looks along -z, so v grows with distance. */
static const float plane_uv[] = {-1e3f, -1e3f, 1e3f, -1e3f, 1e3f, 1e3f, -1e3f, 1e3f};
static const uint32_t plane_indices[] = {0, 1, 2, 0, 2, 3};

static void plane_scene(OneMesh *o, CameraView *view)
{
    SceneCamera camera = {.camera_to_world = mat4_translate(f3(0, 1, 0)),
                          .fov_y_rad = 2.0f * atanf(1.0f),
                          .focus_distance_m = 1.0f};
    one_mesh(o, plane_positions, NULL, plane_uv, 4, plane_indices, 2, mat4_identity());
    camera_view_init(&camera, PLANE_PX, PLANE_PX, view);
}

/* The hit seen at screen coordinates (sx, sy), sy > 0 below the horizon. */
static SurfaceHit plane_hit(const OneMesh *o, const CameraView *view, float sx, float sy)
{
    Ray ray;
    RayDiff diff;
    SurfaceHit hit;
    float b1, b2, t;
    camera_ray(view, f2((sx + 1.0f) * 256.0f, (sy + 1.0f) * 256.0f), f2(0, 0), 0, &ray, &diff);
    meet(o, 0, &ray, &b1, &b2, &t);
    uint32_t triangle = 0;
    if (b1 < 0 || b2 < 0 || b1 + b2 > 1) {
        triangle = 1;
        meet(o, 1, &ray, &b1, &b2, &t);
    }
    hit_surface(&o->scene, &(HitQuery){0, triangle, b1, b2, t, 0, HIT_ALL}, &ray, &diff, &hit);
    return hit;
}

static void assert_close(double found, double expected, double relative, double absolute)
{
    if (!(fabs(found - expected) <= relative * fabs(expected) + absolute))
        fail_msg("found %.9g, expected %.9g", found, expected);
}

/* T1: u_sx = h/|sy|, v_sx = 0, u_sy = sx h/sy^2, v_sy = h/sy^2, per pixel 1/256 of it. */
static void test_hit_footprint_on_a_plane_is_exact(void **state)
{
    (void)state;
    OneMesh o;
    CameraView view;
    plane_scene(&o, &view);
    const float rows[] = {0.5f, 0.1f, 0.02f}, columns[] = {0.0f, 0.25f, -0.7f};
    for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) {
            double sy = (double)rows[r], sx = (double)columns[c], p = 1.0 / 256.0;
            SurfaceHit hit = plane_hit(&o, &view, columns[c], rows[r]);
            assert_close((double)hit.duvdx.x, p / sy, 1e-5, 0);
            assert_close((double)hit.duvdx.y, 0, 0, 1e-5 * p / sy);
            /* One pixel down moves the point toward the eye: v shrinks, u shrinks toward the axis. */
            assert_close((double)hit.duvdy.x, -sx * p / (sy * sy), 1e-5, 1e-5 * p / (sy * sy));
            assert_close((double)hit.duvdy.y, -p / (sy * sy), 1e-5, 0);
        }
    }
}

/* T2: a difference of one pixel is not the derivative: towards the horizon it is 1/(1 - p/|sy|) of it. */
static void test_hit_derivative_is_not_a_pixel_difference(void **state)
{
    (void)state;
    OneMesh o;
    CameraView view;
    plane_scene(&o, &view);
    const float rows[] = {0.5f, 0.1f, 0.02f};
    const double ratios[] = {1.00787, 1.04065, 1.24272};
    for (int r = 0; r < 3; ++r) {
        SurfaceHit here = plane_hit(&o, &view, 0, rows[r]),
                   above = plane_hit(&o, &view, 0, rows[r] - 1.0f / 256.0f);
        double difference = (double)above.uv.y - (double)here.uv.y;
        assert_close(difference / -(double)here.duvdy.y, ratios[r], 2e-5, 0);
    }
}

/* T3: levels of a 1024-texel texture down the two central columns, floor of log2 of the minor axis. */
static void test_hit_mip_histogram_of_a_plane(void **state)
{
    (void)state;
    OneMesh o;
    CameraView view;
    plane_scene(&o, &view);
    int rows_of_level[16] = {0};
    for (int j = 0; j < 256; ++j) {
        SurfaceHit hit = plane_hit(&o, &view, 0.5f / 256.0f, ((float)j + 0.5f) / 256.0f);
        double minor = 1024.0 * (double)fminf(hypotf(hit.duvdx.x, hit.duvdx.y),
                                              hypotf(hit.duvdy.x, hit.duvdy.y));
        int level = (int)floor(log2(minor) + 1e-4);
        ++rows_of_level[level > 10 ? 10 : level];
    }
    const int expected[11] = {0, 0, 128, 64, 32, 16, 8, 4, 2, 1, 1};
    for (int k = 0; k <= 10; ++k)
        assert_int_equal(rows_of_level[k], expected[k]);
}

/* T20: seen in a flat mirror, the footprint is what the mirrored eye would see. */
static void test_footprint_survives_a_flat_mirror(void **state)
{
    (void)state;
    OneMesh ceiling, ground;
    CameraView view;
    plane_scene(&ground, &view);
    /* The mirror lies at y = 2, so the ground in it is a plane at distance 3 from the eye, upside down. */
    static const float mirror_positions[] = {-1e3f, 2, 1e3f,  -1e3f, 2, -1e3f,
                                             1e3f,  2, -1e3f, 1e3f,  2, 1e3f};
    one_mesh(&ceiling, mirror_positions, NULL, NULL, 4, plane_indices, 2, mat4_identity());
    for (int k = 0; k < 3; ++k) {
        float sy = (const float[]){0.5f, 0.25f, 0.1f}[k], b1, b2, t;
        Ray ray;
        RayDiff diff;
        SurfaceHit mirror, hit;
        camera_ray(&view, f2(256.0f, (1.0f - sy) * 256.0f), f2(0, 0), 0, &ray, &diff);
        meet(&ceiling, 0, &ray, &b1, &b2, &t);
        hit_surface(&ceiling.scene, &(HitQuery){0, 0, b1, b2, t, 0, HIT_ALL}, &ray, &diff, &mirror);
        footprint_reflect(&mirror, mirror.N, &diff);
        Ray next = {.origin = mirror.P,
                    .direction = f3(ray.direction.x, -ray.direction.y, ray.direction.z)};
        meet(&ground, 0, &next, &b1, &b2, &t);
        hit_surface(&ground.scene, &(HitQuery){0, 0, b1, b2, t, 1, HIT_ALL}, &next, &diff, &hit);
        double p = 1.0 / 256.0, height = 1.0 + 2.0;
        assert_close(fabs((double)hit.duvdx.x), height * p / (double)sy, 1e-4, 0);
        assert_close(fabs((double)hit.duvdy.y), height * p / ((double)sy * (double)sy), 1e-4, 0);
    }
}

/* A differential that is turned with its ray has the same lengths and angles, and turns the same way round it. */
static void test_footprint_turns_with_its_ray(void **state)
{
    (void)state;
    const float3 from = f3_normalize(f3(0.3f, -0.8f, 0.2f));
    const float3 to[] = {f3(0.3f, -0.8f, 0.2f), f3(1, 0, 0), f3(-0.2f, 0.7f, -0.4f),
                         f3(-0.3f, 0.8f, -0.2f)};
    const RayDiff before = {.dOdx = f3(0.1f, 0.2f, -0.3f),
                            .dOdy = f3(-0.2f, 0.05f, 0.1f),
                            .dDdx = f3(0.4f, 0.1f, 0.3f),
                            .dDdy = f3(-0.1f, 0.2f, 0.5f)};
    const float3 x = f3_madd(before.dOdx, 2.0f, before.dDdx);
    for (size_t i = 0; i < SORT_COUNT_OF(to); ++i) {
        RayDiff after = before;
        const float3 along = f3_normalize(to[i]);
        footprint_turn(2.0f, from, along, &after);
        assert_close((double)f3_length(after.dOdx), (double)f3_length(x), 1e-5, 0);
        assert_close((double)f3_dot(after.dDdx, along), (double)f3_dot(before.dDdx, from), 0, 1e-5);
        assert_close((double)f3_dot(after.dOdx, after.dDdy), (double)f3_dot(x, before.dDdy), 0,
                     1e-5);
        double round = (double)f3_dot(f3_cross(before.dDdx, before.dDdy), from);
        double turned = (double)f3_dot(f3_cross(after.dDdx, after.dDdy), along);
        assert_close(turned, round, 1e-5, 1e-6);
        if (i == 0)
            assert_true(f3_length(f3_sub(after.dDdx, before.dDdx)) < 1e-6f);
    }
}

/* T20: in and out of flat glass restores direction and differential spread. */
static void test_footprint_survives_a_slab(void **state)
{
    (void)state;
    static const float positions[] = {-10, 0, 10, 10, 0, 10, 10, 0, -10};
    static const uint32_t indices[] = {0, 1, 2};
    OneMesh o;
    one_mesh(&o, positions, NULL, NULL, 3, indices, 1, mat4_identity());
    float3 d = f3_normalize(f3(0.6f, -1.0f, 0.2f));
    Ray ray = {.origin = f3_sub(f3(2, 0, 5), d), .direction = d};
    RayDiff in = {.dDdx = f3_cross(d, f3(0.01f, 0, 0.003f)),
                  .dDdy = f3_cross(d, f3(0, 0.02f, 0.005f))},
            out;
    const float eta = 1.5f;
    for (int pass = 0; pass < 2; ++pass) {
        float b1, b2, t, e = pass == 0 ? eta : 1.0f / eta;
        SurfaceHit hit;
        RayDiff *from = pass == 0 ? &in : &out, next;
        meet(&o, 0, &ray, &b1, &b2, &t);
        hit_surface(&o.scene, &(HitQuery){0, 0, b1, b2, t, 0, HIT_ALL}, &ray, from, &hit);
        float3 n = hit.N;
        float cos_i = -f3_dot(ray.direction, n), k = 1.0f - (1.0f - cos_i * cos_i) / (e * e);
        float3 wi = f3_madd(f3_scale(ray.direction, 1.0f / e), cos_i / e - sqrtf(k), n);
        footprint_refract(&hit, n, wi, e, &next);
        out = next;
        ray = (Ray){.origin = f3_madd(hit.P, -0.5f, wi), .direction = wi};
        out.dOdx = out.dOdy = f3(0, 0, 0);
    }
    assert_close((double)f3_length(f3_sub(out.dDdx, in.dDdx)), 0, 0, 1e-6);
    assert_close((double)f3_length(f3_sub(out.dDdy, in.dDdy)), 0, 0, 1e-6);
}

/* --- central differences on a bent, sheared, mirrored triangle ---------------------------------------- */

static float3 direction_at(double x, double y)
{
    double v[3] = {0.05 + x, -0.1 + y, -1.0}, length = sqrt(v[0] * v[0] + v[1] * v[1] + 1.0);
    return f3((float)(v[0] / length), (float)(v[1] / length), (float)(v[2] / length));
}

static SurfaceHit bent_hit(const OneMesh *o, double x, double y)
{
    Ray ray = {.direction = direction_at(x, y)};
    double v[3] = {0.05 + x, -0.1 + y, -1.0}, l2 = v[0] * v[0] + v[1] * v[1] + 1.0;
    RayDiff diff = {
        .dDdx = f3((float)((l2 - v[0] * v[0]) * pow(l2, -1.5)),
                   (float)(-v[0] * v[1] * pow(l2, -1.5)), (float)(v[0] * pow(l2, -1.5))),
        .dDdy = f3((float)(-v[0] * v[1] * pow(l2, -1.5)),
                   (float)((l2 - v[1] * v[1]) * pow(l2, -1.5)), (float)(v[1] * pow(l2, -1.5)))};
    float b1, b2, t;
    SurfaceHit hit;
    meet(o, 0, &ray, &b1, &b2, &t);
    hit_surface(&o->scene, &(HitQuery){0, 0, b1, b2, t, 0, HIT_ALL}, &ray, &diff, &hit);
    return hit;
}

static void assert_difference(float3 plus, float3 minus, float3 derivative, double h,
                              const char *what)
{
    double found[3];
    to_doubles(derivative, found);
    double expected[3] = {((double)plus.x - (double)minus.x) / (2 * h),
                          ((double)plus.y - (double)minus.y) / (2 * h),
                          ((double)plus.z - (double)minus.z) / (2 * h)};
    for (int k = 0; k < 3; ++k)
        if (fabs(found[k] - expected[k]) > 2e-3 * (1.0 + fabs(expected[k])))
            fail_msg("%s[%d]: %g, by differences %g", what, k, found[k], expected[k]);
}

static void test_hit_derivatives_match_differences(void **state)
{
    (void)state;
    static const float positions[] = {-1, -1, 0.2f, 1.2f, -0.9f, -0.3f, 0.1f, 1.1f, 0.4f};
    static const float normals[] = {-0.6f, 0, 0.8f, 0.48f, -0.36f, 0.8f, 0, 0.6f, 0.8f};
    static const float uv[] = {0.1f, 0.2f, 1.7f, 0.3f, 0.4f, 2.1f};
    static const uint32_t indices[] = {0, 1, 2};
    for (int mirrored = 0; mirrored < 2; ++mirrored) {
        mat4 m = mat4_mul(mat4_translate(f3(0.1f, 0.2f, -3)),
                          mat4_mul(mat4_rotate(f3(1, 2, 3), 0.4f),
                                   mat4_scale(f3(mirrored ? -1.3f : 1.3f, 0.9f, 1.1f))));
        OneMesh o;
        one_mesh(&o, positions, normals, uv, 3, indices, 1, m);
        const double h = 1e-2;
        SurfaceHit at = bent_hit(&o, 0, 0);
        SurfaceHit xp = bent_hit(&o, h, 0), xm = bent_hit(&o, -h, 0), yp = bent_hit(&o, 0, h),
                   ym = bent_hit(&o, 0, -h);
        assert_difference(xp.P, xm.P, at.dPdx, h, "dPdx");
        assert_difference(yp.P, ym.P, at.dPdy, h, "dPdy");
        assert_difference(xp.N, xm.N, at.dNdx, h, "dNdx");
        assert_difference(yp.N, ym.N, at.dNdy, h, "dNdy");
        assert_difference(xp.T, xm.T, at.dTdx, h, "dTdx");
        assert_difference(yp.T, ym.T, at.dTdy, h, "dTdy");
        assert_difference(xp.I, xm.I, at.dIdx, h, "dIdx");
        assert_difference(f3(xp.uv.x, xp.uv.y, 0), f3(xm.uv.x, xm.uv.y, 0),
                          f3(at.duvdx.x, at.duvdx.y, 0), h, "duvdx");
        assert_difference(f3(yp.uv.x, yp.uv.y, 0), f3(ym.uv.x, ym.uv.y, 0),
                          f3(at.duvdy.x, at.duvdy.y, 0), h, "duvdy");
        assert_close((double)f3_dot(at.N, at.T), 0, 0, 1e-6);
        assert_close((double)f3_length(at.T), 1, 1e-6, 0);
        assert_true(f3_dot(at.Ng, at.I) < 0 && f3_dot(at.N, at.Ng) > 0);
    }
}

/* The bitangent that the sign gives runs along increasing v, from either side and mirrored or not. */
static void test_hit_tangent_frame_follows_uv(void **state)
{
    (void)state;
    static const float positions[] = {-1, -1, 0, 1, -1, 0, -1, 1, 0};
    static const float uv[] = {0, 0, 1, 0, 0, 1};
    static const uint32_t front[] = {0, 1, 2}, back[] = {0, 2, 1};
    for (int mirrored = 0; mirrored < 2; ++mirrored) {
        for (int side = 0; side < 2; ++side) {
            OneMesh o;
            one_mesh(
                &o, positions, NULL, uv, 3, side ? back : front, 1,
                mat4_mul(mat4_translate(f3(0, 0, -3)), mat4_scale(f3(mirrored ? -1 : 1, 1, 1))));
            SurfaceHit hit = bent_hit(&o, mirrored ? -0.4 : 0.0, 0);
            float3 bitangent = f3_scale(f3_cross(hit.N, hit.T), hit.tangent_sign);
            assert_true(f3_dot(bitangent, f3(0, 1, 0)) > 0.99f);
            assert_true(f3_dot(hit.T, f3(mirrored ? -1 : 1, 0, 0)) > 0.99f);
            assert_int_equal(hit.is_backfacing, side); /* a mirrored instance keeps its front */
        }
    }
}

/* Tangents of the mesh refer to its normals, also where those disagree with the winding. */
static void test_hit_tangent_frame_follows_the_mesh(void **state)
{
    (void)state;
    static const float positions[] = {-1, -1, 0, 1, -1, 0, -1, 1, 0};
    static const float uv[] = {0, 0, 1, 0, 0, 1};
    static const uint32_t front[] = {0, 1, 2}, back[] = {0, 2, 1};
    for (int k = 0; k < 16; ++k) {
        float n = k & 1 ? -1.0f : 1.0f, w = k & 2 ? -1.0f : 1.0f, scale = k & 4 ? -1.0f : 1.0f;
        const float normals[] = {0, 0, n, 0, 0, n, 0, 0, n};
        const float tangents[] = {1, 0, 0, w, 1, 0, 0, w, 1, 0, 0, w};
        OneMesh o;
        one_mesh(&o, positions, normals, uv, 3, k & 8 ? back : front, 1,
                 mat4_mul(mat4_translate(f3(0, 0, -3)), mat4_scale(f3(scale, 1, 1))));
        o.mesh.tangents = tangents;
        SurfaceHit hit = bent_hit(&o, scale < 0 ? -0.4 : 0.0, 0);
        float3 bitangent = f3_scale(f3_cross(hit.N, hit.T), hit.tangent_sign);
        /* cross((0, 0, n), (1, 0, 0)) w */
        assert_true(f3_dot(bitangent, f3(0, n * w, 0)) > 0.99f);
    }
}

static void test_hit_degenerate_triangle_has_zero_derivatives(void **state)
{
    (void)state;
    static const float positions[] = {0, 0, -2, 1, 0, -2, 2, 0, -2};
    static const uint32_t indices[] = {0, 1, 2};
    OneMesh o;
    one_mesh(&o, positions, NULL, NULL, 3, indices, 1, mat4_identity());
    Ray ray = {.direction = f3(0, 0, -1)};
    RayDiff diff = {.dDdx = f3(0.01f, 0, 0), .dDdy = f3(0, 0.01f, 0)};
    SurfaceHit hit;
    hit_surface(&o.scene, &(HitQuery){0, 0, 0.2f, 0.2f, 2, 0, HIT_ALL}, &ray, &diff, &hit);
    assert_true(f3_is_finite(hit.N) && f3_is_finite(hit.T) && f3_is_finite(hit.dPdx));
    assert_true(hit.duvdx.x == 0.0f && hit.duvdx.y == 0.0f && hit.duvdy.x == 0.0f &&
                hit.duvdy.y == 0.0f);
}

/* T22: after Lambert at normal incidence the full spread is 2 rad a pixel times our share of it. */
static float unit(uint64_t *seed)
{
    return (float)(hash_mix64((*seed)++) >> 40) * 0x1p-24f;
}

/* The normal of the edges that the corners have after rounding, in more digits. */
static void expected_normal(const float *corners, long double out_n[3])
{
    long double a[3], b[3], length = 0.0L;
    for (int c = 0; c < 3; ++c) {
        a[c] = (long double)(corners[3 + c] - corners[c]);
        b[c] = (long double)(corners[6 + c] - corners[c]);
    }
    for (int c = 0; c < 3; ++c) {
        int d = (c + 1) % 3, e = (c + 2) % 3;
        out_n[c] = a[d] * b[e] - a[e] * b[d];
        length += out_n[c] * out_n[c];
    }
    for (int c = 0; c < 3; ++c)
        out_n[c] /= sqrtl(length);
}

/* Triangles of all sizes, and so narrow that single products of their edges lose all digits of the normal. */
static void test_hit_normal_of_narrow_triangles(void **state)
{
    (void)state;
    static const uint32_t indices[] = {0, 1, 2};
    uint64_t seed = 5;
    for (int size = -30; size <= 30; size += 3)
        for (int width = 0; width < 20; width += 2) {
            float corners[9];
            double apart = ldexp(1.0, -width) * pow(10.0, (double)size / 2.0);
            for (int c = 0; c < 3; ++c) {
                double at = pow(10.0, (double)size / 2.0) * (double)unit(&seed);
                corners[c] = 0.0f;
                corners[3 + c] = (float)at;
                corners[6 + c] = (float)(at + apart * (double)unit(&seed));
            }
            OneMesh o;
            SurfaceHit hit;
            long double n[3];
            Ray ray = {.direction = {0, 0, -1}, .t_max = INFINITY};
            one_mesh(&o, corners, NULL, NULL, 3, indices, 1, mat4_identity());
            hit_surface(&o.scene, &(HitQuery){.b1 = 0.3f, .b2 = 0.3f, .t = 1.0f}, &ray, NULL, &hit);
            expected_normal(corners, n);
            assert_close((double)hit.Ng_front.x, (double)n[0], 0, 1e-6);
            assert_close((double)hit.Ng_front.y, (double)n[1], 0, 1e-6);
            assert_close((double)hit.Ng_front.z, (double)n[2], 0, 1e-6);
        }
}

static void test_footprint_spread_after_lambert(void **state)
{
    (void)state;
    SurfaceHit hit = {.P = {0, 0, 0}, .N = {0, 0, 1}, .dPdx = {1e-3f, 0, 0}, .dPdy = {0, 1e-3f, 0}};
    RayDiff diff;
    footprint_scatter(&hit, f3(0, 0, 1), 1.0f / 3.14159265f, 1.0f, &diff);
    /* An eighth of the two radians of a hemisphere, which is also the widest angle. */
    assert_close((double)f3_length(diff.dDdx), 0.25, 1e-5, 0);
    assert_close((double)f3_dot(diff.dDdx, diff.dDdy), 0, 0, 1e-7);
    assert_close((double)f3_length(diff.dOdx), 1e-3, 1e-5, 0);
    /* Never narrower than what came in. */
    hit.dIdx = f3(0.15f, 0, 0);
    footprint_scatter(&hit, f3(0, 0, 1), 1e6f, 1.0f, &diff);
    assert_close((double)f3_length(diff.dDdx), 0.15, 1e-5, 0);
    /* A pixel's samples share what came in; cones do not. */
    footprint_scatter(&hit, f3(0, 0, 1), 1e6f, 0.125f, &diff);
    assert_close((double)f3_length(diff.dDdx), 0.15 / 8, 1e-5, 0);
    assert_close((double)f3_length(diff.dOdx), 1e-3 / 8, 1e-5, 0);
    hit.history.is_cone = true;
    footprint_scatter(&hit, f3(0, 0, 1), 1e6f, 0.125f, &diff);
    assert_close((double)f3_length(diff.dOdx), 1e-3, 1e-5, 0);
    /* But for light that several strategies find, and never as wide as infinite densities are narrow. */
    footprint_cone(f3(0, 0, 1), footprint_width(&hit), INFINITY, &diff);
    assert_close((double)f3_length(diff.dOdx), 1e-3, 1e-5, 0);
    assert_true(f3_length(diff.dDdx) == 0.0f);
}

static bool same3(float3 a, float3 b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool same2(float2 a, float2 b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* What is asked for has the same bits, whatever else is asked for, and derivatives that are not are zero. */
static void test_hit_parts_do_not_depend_on_each_other(void **state)
{
    (void)state;
    const float positions[] = {0, 0, 0, 1, 0.1f, 0, 0.2f, 1, 0.3f};
    const float normals[] = {0.1f, 0.2f, 1, -0.3f, 0, 1, 0, -0.1f, 1};
    const float uv[] = {0, 0, 0.7f, 0.1f, 0.2f, 0.9f};
    const uint32_t indices[] = {0, 1, 2};
    const float3 zero = {0, 0, 0};
    OneMesh o;
    one_mesh(&o, positions, normals, uv, 3, indices, 1, mat4_translate(f3(0.3f, -2, 1)));
    Ray ray = {.origin = {0.6f, -1.7f, 3},
               .direction = f3_normalize(f3(0.1f, 0.05f, -1)),
               .t_max = INFINITY};
    RayDiff diff = {.dDdx = {1e-3f, 0, 2e-4f}, .dDdy = {0, -1e-3f, 1e-4f}};
    SurfaceHit all, hit;
    HitQuery query = {.b1 = 0.3f, .b2 = 0.25f, .t = 2.0f, .parts = HIT_ALL};
    hit_surface(&o.scene, &query, &ray, &diff, &all);
    assert_true(f3_length(all.dNdx) > 0.0f && f3_length(all.dTdx) > 0.0f);
    for (uint32_t parts = 0; parts < HIT_ALL; ++parts) {
        if ((parts & HIT_TANGENT) && !(parts & HIT_NORMAL))
            continue;
        bool is_wide = parts & HIT_FOOTPRINT;
        query.parts = parts;
        hit_surface(&o.scene, &query, &ray, &diff, &hit);
        assert_true(same3(hit.P, all.P) && same3(hit.Ng, all.Ng) && same3(hit.I, all.I));
        assert_true(same3(hit.Ng_front, all.Ng_front) && hit.error_m == all.error_m);
        assert_true(same3(hit.dPdx, is_wide ? all.dPdx : zero));
        assert_true(same3(hit.dIdy, is_wide ? all.dIdy : zero));
        assert_true(hit.db1dx == (is_wide ? all.db1dx : 0.0f));
        if (parts & HIT_NORMAL) {
            assert_true(same3(hit.N, all.N));
            assert_true(!is_wide || same3(hit.dNdx, all.dNdx));
        }
        if (parts & HIT_UV) {
            assert_true(same2(hit.uv, all.uv));
            assert_true(same2(hit.duvdx, is_wide ? all.duvdx : f2(0, 0)));
        }
        if (parts & HIT_TANGENT) {
            assert_true(same3(hit.T, all.T) && hit.tangent_sign == all.tangent_sign);
            assert_true(!is_wide || same3(hit.dTdy, all.dTdy));
        }
    }
}

int main(void)
{
    thread_flush_denormals();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hit_footprint_on_a_plane_is_exact),
        cmocka_unit_test(test_hit_derivative_is_not_a_pixel_difference),
        cmocka_unit_test(test_hit_mip_histogram_of_a_plane),
        cmocka_unit_test(test_footprint_survives_a_flat_mirror),
        cmocka_unit_test(test_footprint_turns_with_its_ray),
        cmocka_unit_test(test_footprint_survives_a_slab),
        cmocka_unit_test(test_hit_derivatives_match_differences),
        cmocka_unit_test(test_hit_tangent_frame_follows_uv),
        cmocka_unit_test(test_hit_tangent_frame_follows_the_mesh),
        cmocka_unit_test(test_hit_degenerate_triangle_has_zero_derivatives),
        cmocka_unit_test(test_hit_normal_of_narrow_triangles),
        cmocka_unit_test(test_footprint_spread_after_lambert),
        cmocka_unit_test(test_hit_parts_do_not_depend_on_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
