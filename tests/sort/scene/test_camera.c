/* Rays and their derivatives against the same mapping in double precision, and the thin lens against
 * its closed forms. */
#include "sort/scene/camera.h"

#include "sort/sampling/sampler.h"
#include "sort/sampling/warp.h"
#include "tests/sort/scene/scene_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define PI 3.14159265358979323846

static SceneCamera test_camera(void)
{
    return (SceneCamera){.name = "camera",
                         .camera_to_world =
                             mat4_look_at(f3(3, 2, 5), f3(0.2f, 0.4f, -1), f3(0, 1, 0)),
                         .fov_y_rad = 0.8f,
                         .aperture_radius_m = 0.3f,
                         .focus_distance_m = 4.0f,
                         .lens_shift = f2(0.1f, -0.2f)};
}

/* --- the mapping in double, written from the definition ------------------------------------- */

typedef struct Double3 {
    double c[3];
} Double3;

/* Unit direction through film (x, y) from a lens point given in metres. */
static Double3 direction_double(const SceneCamera *camera, double width, double height, double x,
                                double y, const double lens[2])
{
    double half_height = tan(0.5 * (double)camera->fov_y_rad);
    double half_width = half_height * width / height;
    double px = (2.0 * x / width - 1.0 + 2.0 * (double)camera->lens_shift.x) * half_width;
    double py = (1.0 - 2.0 * y / height + 2.0 * (double)camera->lens_shift.y) * half_height;
    double f = (double)camera->focus_distance_m;
    double v[3] = {px * f - lens[0], py * f - lens[1], -f};
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    Double3 d;
    for (int k = 0; k < 3; ++k) {
        d.c[k] = 0.0;
        for (int axis = 0; axis < 3; ++axis)
            d.c[k] += (double)camera->camera_to_world.m[k][axis] * v[axis] / length;
    }
    return d;
}

static void assert_near(float3 a, const double b[3], double tolerance)
{
    assert_true(fabs((double)a.x - b[0]) <= tolerance);
    assert_true(fabs((double)a.y - b[1]) <= tolerance);
    assert_true(fabs((double)a.z - b[2]) <= tolerance);
}

static void check_derivatives(float aperture_radius_m)
{
    const uint32_t width = 640, height = 360;
    const double h = 1e-3;
    SceneCamera camera = test_camera();
    camera.aperture_radius_m = aperture_radius_m;
    CameraView view;
    camera_view_init(&camera, width, height, &view);
    uint64_t state = 1;
    for (int i = 0; i < 2000; ++i) {
        float2 film =
            f2((float)width * fixture_random(&state), (float)height * fixture_random(&state));
        float2 u = f2(fixture_random(&state), fixture_random(&state));
        float2 disk = warp_disk(u);
        double lens[2] = {(double)(aperture_radius_m * disk.x),
                          (double)(aperture_radius_m * disk.y)};
        Ray ray;
        RayDiff diff;
        camera_ray(&view, film, u, 0.25f, &ray, &diff);
        assert_true(ray.time == 0.25f && ray.t_min == 0.0f && isinf(ray.t_max));
        assert_true(fabsf(f3_length(ray.direction) - 1.0f) < 1e-6f);

        double x = (double)film.x, y = (double)film.y, w = width, t = height;
        Double3 d = direction_double(&camera, w, t, x, y, lens);
        assert_near(ray.direction, d.c, 1e-6);
        Double3 right = direction_double(&camera, w, t, x + h, y, lens);
        Double3 left = direction_double(&camera, w, t, x - h, y, lens);
        Double3 down = direction_double(&camera, w, t, x, y + h, lens);
        Double3 up = direction_double(&camera, w, t, x, y - h, lens);
        double dx[3], dy[3], size = 0.0;
        for (int k = 0; k < 3; ++k) {
            dx[k] = (right.c[k] - left.c[k]) / (2.0 * h);
            dy[k] = (down.c[k] - up.c[k]) / (2.0 * h);
            size += dx[k] * dx[k];
        }
        /* Relative to the derivative itself: a pixel is about 2e-3 rad. */
        assert_near(diff.dDdx, dx, 2e-5 * sqrt(size));
        assert_near(diff.dDdy, dy, 2e-5 * sqrt(size));
        assert_true(f3_length(diff.dOdx) == 0.0f && f3_length(diff.dOdy) == 0.0f);
    }
}

static void test_camera_pinhole_derivatives(void **state)
{
    (void)state;
    check_derivatives(0.0f);
}

static void test_camera_lens_derivatives(void **state)
{
    (void)state;
    check_derivatives(0.3f);
}

/* Planes of a perspective camera, shells of one that sees all around; the middle of a ray's path between them is where it was. */
static void test_camera_clips(void **state)
{
    (void)state;
    SceneCamera camera = test_camera();
    camera.clip_near_m = 2.0f, camera.clip_far_m = 5.0f;
    for (int is_panorama = 0; is_panorama < 2; ++is_panorama) {
        CameraView view;
        if (is_panorama) {
            camera.kind = SCENE_CAMERA_EQUIRECTANGULAR;
            camera.longitude_rad = f2(-3.0f, 3.0f), camera.latitude_rad = f2(-1.5f, 1.5f);
        }
        camera_view_init(&camera, 64, 36, &view);
        for (int x = 0; x <= 64; x += 8) {
            Ray ray;
            assert_true(camera_ray(&view, f2((float)x, 5.0f), f2(0.5f, 0.5f), 0.5f, &ray, NULL));
            float along = is_panorama ? 1.0f : -f3_dot(ray.direction, view.axis_z);
            assert_true(fabsf(ray.t_min * along - 2.0f) < 1e-5f);
            assert_true(fabsf(ray.t_max * along - 5.0f) < 1e-5f);
        }
    }
}

static void test_camera_frames_the_picture(void **state)
{
    (void)state;
    SceneCamera camera = {.camera_to_world = mat4_identity(),
                          .fov_y_rad = (float)(PI / 2.0),
                          .focus_distance_m = 1.0f};
    CameraView view;
    Ray ray;
    camera_view_init(&camera, 200, 100, &view);
    camera_ray(&view, f2(100, 50), f2(0.9f, 0.1f), 0, &ray, NULL);
    assert_near(ray.direction, (double[]){0, 0, -1}, 1e-6);
    assert_near(ray.origin, (double[]){0, 0, 0}, 0.0);
    /* 90 degrees high and twice as wide: the upper left corner is at (-2, 1, -1). */
    camera_ray(&view, f2(0, 0), f2(0, 0), 0, &ray, NULL);
    const double s = sqrt(6.0);
    assert_near(ray.direction, (double[]){-2 / s, 1 / s, -1 / s}, 1e-6);
    /* Shifted right by half a picture, the window's left edge is in the middle. */
    camera.lens_shift = f2(0.5f, 0.5f);
    camera_view_init(&camera, 200, 100, &view);
    camera_ray(&view, f2(0, 100), f2(0, 0), 0, &ray, NULL);
    assert_near(ray.direction, (double[]){0, 0, -1}, 1e-6);
    camera_ray(&view, f2(100, 50), f2(0, 0), 0, &ray, NULL);
    assert_near(ray.direction, (double[]){2 / s, 1 / s, -1 / s}, 1e-6);
}

static void test_camera_project_inverts_pinhole_rays(void **state)
{
    (void)state;
    SceneCamera camera = test_camera();
    camera.aperture_radius_m = 0.0f;
    CameraView view;
    camera_view_init(&camera, 640, 360, &view);
    uint64_t random = 2;
    for (int i = 0; i < 1000; ++i) {
        float2 film = f2(640.0f * fixture_random(&random), 360.0f * fixture_random(&random));
        Ray ray;
        float2 back;
        camera_ray(&view, film, f2(0, 0), 0, &ray, NULL);
        float3 point = f3_madd(ray.origin, 1.0f + 10.0f * fixture_random(&random), ray.direction);
        assert_true(camera_project(&view, point, &back));
        assert_true(fabsf(back.x - film.x) < 2e-3f && fabsf(back.y - film.y) < 2e-3f);
        assert_false(camera_project(&view, f3_madd(ray.origin, -1.0f, ray.direction), &back));
    }
}

/* Where the rays of one film position meet a plane at a depth along -z of the camera. */
static float3 at_depth(const CameraView *view, const Ray *ray, float depth)
{
    float cosine = -f3_dot(ray->direction, view->axis_z);
    float lens_depth = -f3_dot(f3_sub(ray->origin, view->position), view->axis_z);
    return f3_madd(ray->origin, (depth - lens_depth) / cosine, ray->direction);
}

static void test_camera_rays_meet_in_the_plane_of_focus(void **state)
{
    (void)state;
    SceneCamera camera = test_camera();
    CameraView view;
    camera_view_init(&camera, 640, 360, &view);
    float2 film = f2(123.0f, 45.0f);
    Ray first;
    camera_ray(&view, film, f2(0.5f, 0.5f), 0, &first, NULL);
    float3 meet = at_depth(&view, &first, 4.0f);
    uint64_t random = 3;
    for (int i = 0; i < 500; ++i) {
        Ray ray;
        camera_ray(&view, film, f2(fixture_random(&random), fixture_random(&random)), 0, &ray,
                   NULL);
        assert_true(f3_length(f3_sub(at_depth(&view, &ray, 4.0f), meet)) < 1e-5f);
        assert_true(f3_length(f3_sub(ray.origin, view.position)) <= 0.3f * 1.00001f);
        assert_true(fabsf(f3_dot(f3_sub(ray.origin, view.position), view.axis_z)) < 1e-6f);
    }
}

/* A point out of focus spreads to a uniform disk of diameter c = A f |d - df| / (d (df - f)) on the
 * sensor, A = 2 x aperture radius, for a lens of focal length f focused at df: the sensor is then at
 * f df / (df - f) behind it, which gives the angle of view. */
static void test_camera_circle_of_confusion(void **state)
{
    (void)state;
    const double f = 0.05, df = 2.0, sensor_height = 0.024, aperture = 0.0125;
    const double depths[] = {1.0, 1.5, 3.0, 20.0};
    const uint32_t height = 1000, samples = 1 << 16;
    double sensor_distance = f * df / (df - f);
    SceneCamera camera = {.camera_to_world = mat4_identity(),
                          .fov_y_rad = (float)(2.0 * atan(0.5 * sensor_height / sensor_distance)),
                          .aperture_radius_m = (float)(0.5 * aperture),
                          .focus_distance_m = (float)df};
    CameraView view;
    camera_view_init(&camera, height, height, &view);
    const Sampler sobol = {SAMPLER_SOBOL};
    for (uint32_t i = 0; i < SORT_COUNT_OF(depths); ++i) {
        double d = depths[i];
        double radius_px =
            0.5 * aperture * f * fabs(d - df) / (d * (df - f)) * (double)height / sensor_height;
        float3 point = f3(0.01f, -0.02f, (float)-d);
        float2 centre;
        assert_true(camera_project(&view, point, &centre));
        double farthest = 0.0, sum2 = 0.0, sum_x = 0.0;
        for (uint32_t k = 0; k < samples; ++k) {
            float2 u = sampler_2d(&sobol, sample_key(0, 0, k, 0), SAMPLE_LENS);
            /* From the lens point through the point to the plane of focus, and that on film. */
            float2 disk = warp_disk(u);
            float3 lens = f3(view.lens_radius_m * disk.x, view.lens_radius_m * disk.y, 0);
            float3 focus = f3_madd(lens, (float)(df / d), f3_sub(point, lens));
            float2 film;
            assert_true(camera_project(&view, focus, &film));
            double x = (double)(film.x - centre.x), y = (double)(film.y - centre.y);
            double r2 = x * x + y * y;
            farthest = fmax(farthest, sqrt(r2));
            sum2 += r2;
            sum_x += x;
            /* And the camera does send that ray through the point. */
            Ray ray;
            camera_ray(&view, film, u, 0, &ray, NULL);
            float3 passes = f3_madd(ray.origin, (float)-d / ray.direction.z, ray.direction);
            assert_true(f3_length(f3_sub(passes, point)) < 2e-5f * (float)d);
        }
        assert_true(fabs(farthest - radius_px) < 0.005 * radius_px + 0.01);
        /* Second moment of a uniform disk: R^2 / 2. */
        assert_true(fabs(sum2 / samples - 0.5 * radius_px * radius_px) <
                    0.002 * radius_px * radius_px + 0.01);
        assert_true(fabs(sum_x / samples) < 0.002 * radius_px + 0.01);
    }
}

/* --- the other projections ------------------------------------------------------------------------- */

static SceneCamera projection(SceneCameraKind kind)
{
    SceneCamera camera = test_camera();
    camera.kind = kind;
    camera.height_m = 3.0f;
    camera.longitude_rad = f2(-2.0f, 2.5f);
    camera.latitude_rad = f2(-1.2f, 0.9f);
    camera.fov_rad = 4.0f;
    if (kind == SCENE_CAMERA_EQUIANGULAR) {
        camera.longitude_rad = f2(-1.0f, 0.9f);
        camera.latitude_rad = f2(-0.7f, 0.8f);
    }
    return camera;
}

static SceneCamera fisheye(SceneFisheye mapping)
{
    SceneCamera camera = projection(SCENE_CAMERA_FISHEYE);
    const float window[4] = {-0.9f, 1.1f, -0.6f, 0.5f};
    const float polynomial[5] = {1e-3f, 1.3f, 0.2f, -0.1f, -0.03f};
    camera.fisheye = mapping;
    camera.has_window = mapping != SCENE_FISHEYE_EQUIDISTANT;
    memcpy(camera.window, window, sizeof window);
    memcpy(camera.polynomial, polynomial, sizeof polynomial);
    return camera;
}

/* Origin and unit direction in camera space, from the definitions; false outside the circle. */
static bool projection_double(const SceneCamera *c, double width, double height, double x, double y,
                              const double lens[2], double origin[3], double v[3])
{
    double s = x / width, t = 1.0 - y / height; /* t upward */
    origin[0] = origin[1] = origin[2] = 0.0;
    if (c->kind == SCENE_CAMERA_ORTHOGRAPHIC) {
        double h = (double)c->height_m, w = h * width / height, f = (double)c->focus_distance_m;
        origin[0] = (s - 0.5 + (double)c->lens_shift.x) * w + lens[0];
        origin[1] = (t - 0.5 + (double)c->lens_shift.y) * h + lens[1];
        v[0] = -lens[0], v[1] = -lens[1], v[2] = -f;
    } else if (c->kind == SCENE_CAMERA_EQUIRECTANGULAR) {
        double lon = (double)c->longitude_rad.x * (1 - s) + (double)c->longitude_rad.y * s;
        double lat = (double)c->latitude_rad.x * (1 - t) + (double)c->latitude_rad.y * t;
        v[0] = cos(lat) * sin(lon), v[1] = sin(lat), v[2] = -cos(lat) * cos(lon);
    } else if (c->kind == SCENE_CAMERA_EQUIANGULAR) {
        v[0] = tan((double)c->longitude_rad.x * (1 - s) + (double)c->longitude_rad.y * s);
        v[1] = tan((double)c->latitude_rad.x * (1 - t) + (double)c->latitude_rad.y * t);
        v[2] = -1;
    } else {
        double side = 0.5 * fmin(width, height);
        double dx = (x - 0.5 * width) / side, dy = (0.5 * height - y) / side;
        if (c->has_window) {
            dx = (double)c->window[0] * (1 - s) + (double)c->window[1] * s;
            dy = (double)c->window[2] * (1 - t) + (double)c->window[3] * t;
        }
        double r = sqrt(dx * dx + dy * dy), angle = 0.5 * r * (double)c->fov_rad;
        bool is_inside = r <= 1.0;
        if (c->fisheye == SCENE_FISHEYE_EQUISOLID) {
            /* Areas are solid angles: (1 - cos a) / r^2 is the same everywhere. */
            angle = acos(1.0 - r * r * (1.0 - cos(0.5 * (double)c->fov_rad)));
        } else if (c->fisheye == SCENE_FISHEYE_POLYNOMIAL) {
            angle = 0.0;
            for (int k = 0; k < 5; ++k)
                angle += (double)c->polynomial[k] * pow(r, k);
            is_inside = angle <= 0.5 * (double)c->fov_rad;
        }
        v[0] = r > 0 ? sin(angle) * dx / r : 0, v[1] = r > 0 ? sin(angle) * dy / r : 0;
        v[2] = -cos(angle);
        return is_inside;
    }
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; ++k)
        v[k] /= length;
    return true;
}

static void rotate_double(const SceneCamera *c, const double v[3], double out[3])
{
    for (int k = 0; k < 3; ++k) {
        out[k] = 0.0;
        for (int axis = 0; axis < 3; ++axis)
            out[k] += (double)c->camera_to_world.m[k][axis] * v[axis];
    }
}

/* Central difference of origin (or direction) in world space along film x or y. */
static void difference(const SceneCamera *c, double x, double y, const double lens[2], bool along_y,
                       double origin_d[3], double direction_d[3])
{
    const double h = 1e-3;
    double o[2][3], v[2][3], local_o[3], local_v[3];
    for (int side = 0; side < 2; ++side) {
        double step = side ? h : -h;
        projection_double(c, 640, 360, along_y ? x : x + step, along_y ? y + step : y, lens,
                          o[side], v[side]);
    }
    for (int k = 0; k < 3; ++k) {
        local_o[k] = (o[1][k] - o[0][k]) / (2 * h);
        local_v[k] = (v[1][k] - v[0][k]) / (2 * h);
    }
    rotate_double(c, local_o, origin_d);
    rotate_double(c, local_v, direction_d);
}

static void check_projection(SceneCamera camera)
{
    bool has_lens = camera.kind == SCENE_CAMERA_ORTHOGRAPHIC;
    camera.aperture_radius_m = has_lens ? 0.2f : 0.0f;
    CameraView view;
    camera_view_init(&camera, 640, 360, &view);
    uint64_t state = 3;
    for (int i = 0; i < 2000; ++i) {
        float2 film = f2(640.0f * fixture_random(&state), 360.0f * fixture_random(&state));
        if (i == 0 && !camera.has_window)
            film = f2(320.0f, 180.0f); /* where a fisheye's formula is 0 / 0 */
        float2 u = f2(fixture_random(&state), fixture_random(&state)), disk = warp_disk(u);
        double lens[2] = {(double)(camera.aperture_radius_m * disk.x),
                          (double)(camera.aperture_radius_m * disk.y)};
        double o[3], v[3], origin[3], direction[3], d_origin[3], d_direction[3];
        double x = (double)film.x, y = (double)film.y;
        Ray ray;
        RayDiff diff;
        bool is_seen = camera_ray(&view, film, u, 0, &ray, &diff);
        assert_int_equal(is_seen, projection_double(&camera, 640, 360, x, y, lens, o, v));
        if (!is_seen)
            continue;
        rotate_double(&camera, o, origin);
        rotate_double(&camera, v, direction);
        for (int k = 0; k < 3; ++k)
            origin[k] += (double)camera.camera_to_world.m[k][3];
        assert_near(ray.direction, direction, 2e-6);
        assert_near(ray.origin, origin, 2e-6);
        difference(&camera, x, y, lens, false, d_origin, d_direction);
        assert_near(diff.dOdx, d_origin, 1e-6);
        assert_near(diff.dDdx, d_direction, 1e-6);
        difference(&camera, x, y, lens, true, d_origin, d_direction);
        assert_near(diff.dOdy, d_origin, 1e-6);
        assert_near(diff.dDdy, d_direction, 1e-6);
    }
}

static void test_camera_projections_follow_their_definitions(void **state)
{
    (void)state;
    check_projection(projection(SCENE_CAMERA_ORTHOGRAPHIC));
    check_projection(projection(SCENE_CAMERA_EQUIRECTANGULAR));
    check_projection(projection(SCENE_CAMERA_EQUIANGULAR));
    for (int mapping = 0; mapping <= SCENE_FISHEYE_POLYNOMIAL; ++mapping)
        check_projection(fisheye((SceneFisheye)mapping));
}

static void test_camera_projections_are_inverted(void **state)
{
    (void)state;
    uint64_t random = 4;
    for (int kind = 0; kind <= SCENE_CAMERA_EQUIANGULAR + 2; ++kind) {
        SceneCamera camera = kind <= SCENE_CAMERA_EQUIANGULAR
                                 ? projection((SceneCameraKind)kind)
                                 : fisheye((SceneFisheye)(kind - SCENE_CAMERA_EQUIANGULAR));
        camera.aperture_radius_m = 0.0f;
        CameraView view;
        camera_view_init(&camera, 640, 360, &view);
        for (int i = 0; i < 500; ++i) {
            float2 film = f2(640.0f * fixture_random(&random), 360.0f * fixture_random(&random));
            Ray ray;
            float2 back;
            if (!camera_ray(&view, film, f2(0, 0), 0, &ray, NULL))
                continue;
            float distance = 1.0f + 10.0f * fixture_random(&random);
            float3 point = f3_madd(ray.origin, distance, ray.direction);
            assert_true(camera_project(&view, point, &back));
            assert_true(fabsf(back.x - film.x) < 3e-3f && fabsf(back.y - film.y) < 3e-3f);
            if (kind != SCENE_CAMERA_PERSPECTIVE)
                assert_true(fabsf(camera_distance(&view, 0.5f, point) - distance) <
                            1e-5f * distance);
        }
    }
}

/* Where the ray leaves the lens, in units of the aperture's radius, in the camera's frame. */
static float2 lens_point(const SceneCamera *camera, const CameraView *view, float2 u)
{
    Ray ray;
    RayDiff diff;
    assert_true(camera_ray(view, f2(8, 8), u, 0.5f, &ray, &diff));
    mat4 to_camera;
    assert_true(mat4_inverse(camera->camera_to_world, &to_camera));
    float3 p = f3_scale(mat4_point(&to_camera, ray.origin), 1.0f / camera->aperture_radius_m);
    return f2(p.x, p.y);
}

/* A square aperture whose corners lie on the axes is |x| + |y| <= 1 and filled evenly: E x^2 = E y^2 = 1/6. Turned
 * by 45 degrees it is the box of half side sqrt(1/2); of ratio 2 it is half as wide. */
static void test_camera_aperture_is_a_polygon(void **state)
{
    SORT_UNUSED(state);
    SceneCamera camera = test_camera();
    camera.aperture_blades = 4;
    for (int c = 0; c < 3; ++c) {
        enum { N = 64 };
        CameraView view;
        double squares[2] = {0, 0}, most[2] = {0, 0};
        camera.aperture_rotation_rad = c > 0 ? (float)(PI / 4.0) : 0.0f;
        camera.aperture_ratio = c > 1 ? 2.0f : 0.0f;
        camera_view_init(&camera, 16, 16, &view);
        for (int i = 0; i < N * N; ++i) {
            float2 p = lens_point(&camera, &view,
                                  f2(((float)(i % N) + 0.5f) / N, ((float)(i / N) + 0.5f) / N));
            squares[0] += (double)(p.x * p.x) / (N * N);
            squares[1] += (double)(p.y * p.y) / (N * N);
            most[0] = fmax(most[0], (double)fabsf(p.x));
            most[1] = fmax(most[1], (double)fabsf(p.y));
            if (c == 0)
                assert_true(fabsf(p.x) + fabsf(p.y) < 1.0001f);
        }
        double width = c > 1 ? 0.5 : 1.0, reach = c == 0 ? 1.0 : sqrt(0.5);
        assert_true(fabs(squares[0] - width * width / 6.0) < 1e-3);
        assert_true(fabs(squares[1] - 1.0 / 6.0) < 1e-3);
        assert_true(most[0] <= width * reach + 1e-4 && most[0] > 0.95 * width * reach);
        assert_true(most[1] <= reach + 1e-4 && most[1] > 0.95 * reach);
    }
}

/* Pixels twice as wide as high: the window is twice as wide. */
static void test_camera_pixels_need_not_be_square(void **state)
{
    SORT_UNUSED(state);
    SceneCamera camera = test_camera();
    CameraView square, wide;
    camera_view_init(&camera, 16, 8, &square);
    camera.pixel_aspect = 2.0f;
    camera_view_init(&camera, 16, 8, &wide);
    assert_true(wide.step.x == 2.0f * square.step.x && wide.step.y == square.step.y);
    assert_true(wide.corner.x == 2.0f * square.corner.x && wide.corner.y == square.corner.y);
}

/* The point times the matrix, as OpenEXR has it: a row before the matrix. */
static void apply(const float m[16], float3 p, double out[4])
{
    for (int k = 0; k < 4; ++k)
        out[k] = (double)p.x * (double)m[k] + (double)p.y * (double)m[4 + k] +
                 (double)p.z * (double)m[8 + k] + (double)m[12 + k];
}

/* The matrices of the picture's metadata show points where camera_project does. */
static void test_camera_matrices_show_points_in_their_places(void **state)
{
    (void)state;
    enum { W = 640, H = 360 };
    uint64_t random = 3;
    for (int k = 0; k < 2; ++k) {
        SceneCamera camera = test_camera();
        camera.kind = k == 0 ? SCENE_CAMERA_PERSPECTIVE : SCENE_CAMERA_ORTHOGRAPHIC;
        camera.height_m = 3.0f;
        camera.pixel_aspect = 1.5f;
        CameraView view;
        float to_camera[16], to_picture[16];
        camera_view_init(&camera, W, H, &view);
        assert_true(camera_matrices(&view, W, H, to_camera, to_picture));
        uint32_t seen = 0;
        for (int i = 0; i < 1000; ++i) {
            float3 p = f3(4.0f * fixture_random(&random) - 2.0f, 4.0f * fixture_random(&random) - 2,
                          4.0f * fixture_random(&random) - 3.0f);
            float2 film;
            double at[4], in_camera[4];
            apply(to_camera, p, in_camera);
            apply(to_picture, p, at);
            assert_true(fabs(in_camera[3] - 1.0) < 1e-6);
            float3 axis = f3_sub(p, view.position);
            assert_true(fabs(in_camera[2] - (double)f3_dot(axis, view.axis_z)) < 1e-4);
            if (!camera_project(&view, p, &film))
                continue;
            ++seen;
            assert_true(fabs(0.5 * W * (at[0] / at[3] + 1.0) - (double)film.x) < 0.01);
            assert_true(fabs(0.5 * H * (1.0 - at[1] / at[3]) - (double)film.y) < 0.01);
        }
        assert_true(seen > 900);
    }
    SceneCamera around = test_camera();
    around.kind = SCENE_CAMERA_EQUIRECTANGULAR;
    around.longitude_rad = f2(-3, 3), around.latitude_rad = f2(-1, 1);
    CameraView view;
    float to_camera[16], to_picture[16];
    camera_view_init(&around, W, H, &view);
    assert_false(camera_matrices(&view, W, H, to_camera, to_picture));
    assert_true(to_picture[0] == 0.0f && to_camera[15] == 1.0f);
}

static void assert_same(float3 a, float3 b)
{
    assert_memory_equal(&a, &b, sizeof a);
}

/* Rays of a block have the bits of the single ones, whichever lanes are live. */
static void check_block(const CameraView *view, uint16_t live, uint64_t *random)
{
    CameraRows rows;
    memset(&rows, 0, sizeof rows);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        rows.film_px[0][k] = 640.0f * fixture_random(random);
        rows.film_px[1][k] = 360.0f * fixture_random(random);
        rows.lens_u[0][k] = fixture_random(random), rows.lens_u[1][k] = fixture_random(random);
        rows.time[k] = fixture_random(random);
    }
    uint16_t seen = camera_rays(view, true, live, &rows);
    assert_true((seen & ~live) == 0);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        Ray ray;
        RayDiff diff;
        bool is_seen =
            camera_ray(view, f2(rows.film_px[0][k], rows.film_px[1][k]),
                       f2(rows.lens_u[0][k], rows.lens_u[1][k]), rows.time[k], &ray, &diff);
        if (!(live >> k & 1))
            continue;
        assert_int_equal(seen >> k & 1, is_seen);
        if (!is_seen)
            continue;
        assert_same(wide_get3(rows.origin, k), ray.origin);
        assert_same(wide_get3(rows.direction, k), ray.direction);
        assert_memory_equal(&rows.t_min[k], &ray.t_min, sizeof ray.t_min);
        assert_memory_equal(&rows.t_max[k], &ray.t_max, sizeof ray.t_max);
        assert_same(rows.diff[k].dOdx, diff.dOdx);
        assert_same(rows.diff[k].dOdy, diff.dOdy);
        assert_same(rows.diff[k].dDdx, diff.dDdx);
        assert_same(rows.diff[k].dDdy, diff.dDdy);
        assert_int_equal(rows.diff[k].is_cone, diff.is_cone);
    }
}

static void test_camera_blocks_are_single_rays(void **state)
{
    (void)state;
    static const SceneCameraKind kinds[] = {SCENE_CAMERA_PERSPECTIVE, SCENE_CAMERA_ORTHOGRAPHIC,
                                            SCENE_CAMERA_EQUIRECTANGULAR, SCENE_CAMERA_FISHEYE};
    const uint16_t lives[] = {0xffff, 0x0001, 0x8000, 0x5a5a, 0};
    uint64_t random = 7;
    for (uint32_t i = 0; i < 4 * SORT_COUNT_OF(kinds); ++i) {
        SceneCamera camera = test_camera();
        CameraView view;
        camera.kind = kinds[i / 4];
        camera.aperture_radius_m = i & 1 ? 0.3f : 0.0f;
        camera.clip_near_m = i & 2 ? 0.1f : 0.0f, camera.clip_far_m = i & 2 ? 20.0f : 0.0f;
        camera.fov_rad = 3.0f, camera.height_m = 2.0f;
        camera.longitude_rad = f2(-3, 3), camera.latitude_rad = f2(-1.5f, 1.5f);
        camera_view_init(&camera, 640, 360, &view);
        for (uint32_t k = 0; k < 20; ++k)
            check_block(&view, lives[k % SORT_COUNT_OF(lives)], &random);
    }
}

/* A point of a camera ray is linked to the place of the lens and the film that the ray has; and the square of pixels about the place
 * sees a solid angle of 1 / px_per_sr, by the ray's derivatives. */
static void test_camera_links_invert_rays(void **state)
{
    (void)state;
    SceneCamera camera = test_camera();
    camera.clip_near_m = 0.5f, camera.clip_far_m = 50.0f;
    uint64_t random = 7;
    for (int i = 0; i < 1000; ++i) {
        camera.aperture_radius_m = i % 2 ? 0.3f : 0.0f;
        camera.aperture_blades = i % 4 == 3 ? 5 : 0;
        CameraView view;
        camera_view_init(&camera, 640, 360, &view);
        float2 film = f2(640.0f * fixture_random(&random), 360.0f * fixture_random(&random));
        float2 u = f2(fixture_random(&random), fixture_random(&random));
        float distance = 1.0f + 20.0f * fixture_random(&random);
        Ray ray;
        RayDiff diff;
        CameraLink link;
        assert_true(camera_is_linkable(&view) && camera_ray(&view, film, u, 0.5f, &ray, &diff));
        float3 point = f3_madd(ray.origin, distance, ray.direction);
        assert_true(camera_link(&view, point, u, 0.5f, &link));
        assert_true(f2_length(f2(link.film_px.x - film.x, link.film_px.y - film.y)) < 2e-2f);
        assert_true(f3_length(f3_sub(link.origin, ray.origin)) < 1e-6f);
        assert_true(f3_length(f3_sub(link.direction, ray.direction)) < 1e-5f);
        assert_true(fabsf(link.distance_m - distance) < 1e-5f * distance);
        assert_true(fabsf(link.t_min - ray.t_min) < 1e-4f);
        float sr = f3_length(f3_cross(diff.dDdx, diff.dDdy));
        assert_true(fabsf(link.px_per_sr * sr - 1.0f) < 1e-3f);
        /* What is behind the lens, or outside the clip distances, is not seen. */
        assert_false(camera_link(&view, f3_madd(ray.origin, -2.0f, ray.direction), u, 0, &link));
        assert_false(camera_link(&view, f3_madd(ray.origin, 0.4f, ray.direction), u, 0, &link));
        assert_false(camera_link(&view, f3_madd(ray.origin, 99.0f, ray.direction), u, 0, &link));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_camera_aperture_is_a_polygon),
        cmocka_unit_test(test_camera_blocks_are_single_rays),
        cmocka_unit_test(test_camera_pixels_need_not_be_square),
        cmocka_unit_test(test_camera_pinhole_derivatives),
        cmocka_unit_test(test_camera_lens_derivatives),
        cmocka_unit_test(test_camera_frames_the_picture),
        cmocka_unit_test(test_camera_project_inverts_pinhole_rays),
        cmocka_unit_test(test_camera_rays_meet_in_the_plane_of_focus),
        cmocka_unit_test(test_camera_links_invert_rays),
        cmocka_unit_test(test_camera_clips),
        cmocka_unit_test(test_camera_circle_of_confusion),
        cmocka_unit_test(test_camera_projections_follow_their_definitions),
        cmocka_unit_test(test_camera_projections_are_inverted),
        cmocka_unit_test(test_camera_matrices_show_points_in_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
