/* Cameras. A camera's own space has the lens in the plane z = 0 and looks along -z. */
#include "sort/scene/camera.h"

#include "base/check.h"
#include "sort/sampling/turn.h"
#include "sort/sampling/warp.h"
#include "sort/scene/motion.h"
#include "ssl/rt/rt.h"

/* The window that film (0, 0) to (width, height) shows, in the units of CameraView. */
static void set_window(CameraView *view, double left, double top, double width, double height,
                       uint32_t width_px, uint32_t height_px)
{
    view->corner = f2((float)left, (float)top);
    view->step = f2((float)(width / width_px), (float)(-height / height_px));
}

/* A window around the axis, moved by the lens shift. */
static void set_shifted_window(CameraView *view, const SceneCamera *camera, double height,
                               uint32_t width_px, uint32_t height_px)
{
    double aspect = camera->pixel_aspect > 0.0f ? (double)camera->pixel_aspect : 1.0;
    double width = aspect * height * width_px / height_px;
    set_window(view, width * ((double)camera->lens_shift.x - 0.5),
               height * ((double)camera->lens_shift.y + 0.5), width, height, width_px, height_px);
}

static void set_fisheye_window(CameraView *view, const SceneCamera *camera, uint32_t width_px,
                               uint32_t height_px)
{
    uint32_t shorter_px = width_px < height_px ? width_px : height_px;
    double width = 2.0 * width_px / shorter_px, height = 2.0 * height_px / shorter_px;
    double left = -0.5 * width, top = 0.5 * height;
    if (camera->has_window) {
        left = (double)camera->window[0], top = (double)camera->window[3];
        width = (double)camera->window[1] - left, height = top - (double)camera->window[2];
    }
    set_window(view, left, top, width, height, width_px, height_px);
}

static double tangent(double angle)
{
    Complex turn = turn_unit(angle);
    return turn.im / turn.re;
}

static void set_frame(CameraView *view, const mat4 *m)
{
    view->axis_x = f3(m->m[0][0], m->m[1][0], m->m[2][0]);
    view->axis_y = f3(m->m[0][1], m->m[1][1], m->m[2][1]);
    view->axis_z = f3(m->m[0][2], m->m[1][2], m->m[2][2]);
    view->position = f3(m->m[0][3], m->m[1][3], m->m[2][3]);
}

void camera_view_init(const SceneCamera *camera, uint32_t width_px, uint32_t height_px,
                      CameraView *out_view)
{
    CHECK(width_px > 0 && height_px > 0);
    *out_view = (CameraView){
        .kind = camera->kind,
        .fov_rad = camera->fov_rad,
        .fisheye = camera->fisheye,
        .sin_quarter = rt_sin(0.25f * camera->fov_rad),
        .lens_radius_m = camera->aperture_radius_m,
        .focus_distance_m = camera->focus_distance_m,
        .blades = camera->aperture_blades,
        .cos_turn = rt_cos(camera->aperture_rotation_rad),
        .sin_turn = rt_sin(camera->aperture_rotation_rad),
        .clip_near_m = camera->clip_near_m,
        .clip_far_m = camera->clip_far_m,
        .inverse_ratio = camera->aperture_ratio > 0.0f ? 1.0f / camera->aperture_ratio : 1.0f,
        .keys = camera->keys,
        .key_count = camera->key_count,
    };
    for (int k = 0; k < 5; ++k)
        out_view->polynomial[k] = camera->polynomial[k];
    set_frame(out_view, &camera->camera_to_world);
    switch (camera->kind) {
    case SCENE_CAMERA_PERSPECTIVE:
        set_shifted_window(out_view, camera, 2.0 * tangent(0.5 * (double)camera->fov_y_rad),
                           width_px, height_px);
        break;
    case SCENE_CAMERA_ORTHOGRAPHIC:
        set_shifted_window(out_view, camera, (double)camera->height_m, width_px, height_px);
        break;
    case SCENE_CAMERA_EQUIANGULAR:
    case SCENE_CAMERA_EQUIRECTANGULAR: {
        double west = (double)camera->longitude_rad.x, east = (double)camera->longitude_rad.y;
        double south = (double)camera->latitude_rad.x, north = (double)camera->latitude_rad.y;
        set_window(out_view, west, north, east - west, north - south, width_px, height_px);
        break;
    }
    case SCENE_CAMERA_FISHEYE:
        set_fisheye_window(out_view, camera, width_px, height_px);
        break;
    }
}

/* A ray in camera space, not normalised, with its derivatives. */
typedef struct LocalRay {
    float3 origin, along, origin_dx, origin_dy, along_dx, along_dy;
} LocalRay;

static float2 corner(const CameraView *view, uint32_t k)
{
    float angle = 2.0f * SORT_PI * (float)k / (float)view->blades;
    float c, s = rt_sincos(angle, &c);
    return f2(c * view->cos_turn - s * view->sin_turn, s * view->cos_turn + c * view->sin_turn);
}

/* Evenly over the aperture, inside the unit circle: of a polygon, in the triangle that u.x picks. */
static float2 aperture_point(const CameraView *view, float2 u)
{
    float2 p;
    if (view->blades < 3) {
        p = warp_disk(u);
    } else {
        float place = u.x * (float)view->blades;
        uint32_t k = (uint32_t)place < view->blades ? (uint32_t)place : view->blades - 1;
        float2 a = corner(view, k), b = corner(view, k + 1);
        float out = sqrtf(place - (float)k);
        p = f2(out * (a.x + u.y * (b.x - a.x)), out * (a.y + u.y * (b.y - a.y)));
    }
    return f2(p.x * view->inverse_ratio, p.y);
}

/* The lens: all rays of one film position meet in the plane of focus; those of one lens point differ there by
 * the derivative of that meeting point. */
static void bend(const CameraView *view, float2 lens_u, LocalRay *r)
{
    if (!(view->lens_radius_m > 0.0f))
        return;
    float2 lens = aperture_point(view, lens_u);
    float3 offset = f3(lens.x * view->lens_radius_m, lens.y * view->lens_radius_m, 0.0f);
    r->origin = f3_add(r->origin, offset);
    r->along = f3_sub(f3_scale(r->along, view->focus_distance_m), offset);
    r->along_dx = f3_scale(r->along_dx, view->focus_distance_m);
    r->along_dy = f3_scale(r->along_dy, view->focus_distance_m);
}

static void equirectangular_ray(const CameraView *view, float2 angles, LocalRay *r)
{
    float cos_lon, cos_lat;
    float sin_lon = rt_sincos(angles.x, &cos_lon), sin_lat = rt_sincos(angles.y, &cos_lat);
    r->along = f3(cos_lat * sin_lon, sin_lat, -cos_lat * cos_lon);
    r->along_dx = f3_scale(f3(cos_lat * cos_lon, 0.0f, cos_lat * sin_lon), view->step.x);
    r->along_dy = f3_scale(f3(-sin_lat * sin_lon, cos_lat, sin_lat * cos_lon), view->step.y);
}

static void equiangular_ray(const CameraView *view, float2 angles, LocalRay *r)
{
    float x = rt_tan(angles.x), y = rt_tan(angles.y);
    r->along = f3(x, y, -1.0f);
    r->along_dx = f3((1.0f + x * x) * view->step.x, 0.0f, 0.0f);
    r->along_dy = f3(0.0f, (1.0f + y * y) * view->step.y, 0.0f);
}

/* The angle from the axis at distance r from the middle, and its derivative. False: nothing is seen there. */
static bool fisheye_angle(const CameraView *view, float r, float *out_angle, float *out_slope)
{
    const float *k = view->polynomial;
    switch (view->fisheye) {
    case SCENE_FISHEYE_EQUIDISTANT:
        *out_slope = 0.5f * view->fov_rad;
        *out_angle = r * *out_slope;
        return r <= 1.0f;
    case SCENE_FISHEYE_EQUISOLID: {
        float sine = fminf(r * view->sin_quarter, 1.0f);
        *out_angle = 2.0f * rt_asin(sine);
        *out_slope = 2.0f * view->sin_quarter / sqrtf(fmaxf(1.0f - sine * sine, 1e-6f));
        return r <= 1.0f;
    }
    case SCENE_FISHEYE_POLYNOMIAL:
        *out_angle = k[0] + r * (k[1] + r * (k[2] + r * (k[3] + r * k[4])));
        *out_slope = k[1] + r * (2.0f * k[2] + r * (3.0f * k[3] + r * 4.0f * k[4]));
        return fabsf(*out_angle) <= 0.5f * view->fov_rad;
    }
    return false;
}

/* The direction at angle a from the axis is (n sin a, -cos a), where n points from the middle of the window to p, r
 * away. With a' = da/dr, the derivative of n sin a is I sin(a)/r + n n^T (a' cos a - sin(a)/r). */
static bool fisheye_ray(const CameraView *view, float2 p, LocalRay *out)
{
    float r = sqrtf(p.x * p.x + p.y * p.y), angle, slope;
    if (!fisheye_angle(view, r, &angle, &slope))
        return false;
    float2 n = r > 0.0f ? f2(p.x / r, p.y / r) : f2(0.0f, 1.0f);
    float cosine, sine = rt_sincos(angle, &cosine);
    float across = r > 1e-6f ? sine / r : slope;
    float along = slope * cosine - across, ahead = sine * slope;
    out->along = f3(n.x * sine, n.y * sine, -cosine);
    out->along_dx =
        f3_scale(f3(across + n.x * n.x * along, n.y * n.x * along, n.x * ahead), view->step.x);
    out->along_dy =
        f3_scale(f3(n.x * n.y * along, across + n.y * n.y * along, n.y * ahead), view->step.y);
    return true;
}

/* The distance from the middle that has this angle, of those up to the window's farthest corner, where it is the
 * only one. False: there is none. */
static bool fisheye_radius(const CameraView *view, float angle, float *out_r)
{
    float low = 0.0f, high = 1.0f, a, slope;
    if (view->fisheye == SCENE_FISHEYE_EQUIDISTANT)
        *out_r = 2.0f * angle / view->fov_rad;
    else if (view->fisheye == SCENE_FISHEYE_EQUISOLID)
        *out_r = rt_sin(0.5f * angle) / view->sin_quarter;
    if (view->fisheye != SCENE_FISHEYE_POLYNOMIAL)
        return *out_r <= 1.0f;
    while (fisheye_angle(view, high, &a, &slope) && a < angle && high < 1e6f)
        high *= 2.0f;
    for (int k = 0; k < 40; ++k) {
        float middle = 0.5f * (low + high);
        if (fisheye_angle(view, middle, &a, &slope) && a < angle)
            low = middle;
        else
            high = middle;
    }
    *out_r = low;
    return angle <= 0.5f * view->fov_rad && high < 1e6f;
}

static bool local_ray(const CameraView *view, float2 film_px, float2 lens_u, LocalRay *r)
{
    float2 p =
        f2(view->corner.x + film_px.x * view->step.x, view->corner.y + film_px.y * view->step.y);
    *r = (LocalRay){0};
    switch (view->kind) {
    case SCENE_CAMERA_PERSPECTIVE:
        r->along = f3(p.x, p.y, -1.0f);
        r->along_dx = f3(view->step.x, 0.0f, 0.0f);
        r->along_dy = f3(0.0f, view->step.y, 0.0f);
        bend(view, lens_u, r);
        return true;
    case SCENE_CAMERA_ORTHOGRAPHIC:
        r->origin = f3(p.x, p.y, 0.0f);
        r->origin_dx = f3(view->step.x, 0.0f, 0.0f);
        r->origin_dy = f3(0.0f, view->step.y, 0.0f);
        r->along = f3(0.0f, 0.0f, -1.0f);
        bend(view, lens_u, r);
        return true;
    case SCENE_CAMERA_EQUIRECTANGULAR:
        equirectangular_ray(view, p, r);
        return true;
    case SCENE_CAMERA_EQUIANGULAR:
        equiangular_ray(view, p, r);
        return true;
    case SCENE_CAMERA_FISHEYE:
        return fisheye_ray(view, p, r);
    }
    return false;
}

static float3 to_world(const CameraView *view, float3 v)
{
    return f3_madd(f3_madd(f3_scale(view->axis_x, v.x), v.y, view->axis_y), v.z, view->axis_z);
}

/* d (a/|a|) = (da - (da.d) d) / |a| [Igehy1999 eq. 8]. */
static float3 direction_derivative(float3 along_d, float3 direction, float inverse_length)
{
    return f3_scale(f3_madd(along_d, -f3_dot(along_d, direction), direction), inverse_length);
}

CameraView camera_view_at(const CameraView *view, float time)
{
    CameraView at = *view;
    if (view->key_count > 0) {
        mat4 m = motion_rigid(view->keys, view->key_count, time);
        set_frame(&at, &m);
        at.key_count = 0;
    }
    return at;
}

bool camera_ray(const CameraView *view, float2 film_px, float2 lens_u, float time, Ray *out_ray,
                RayDiff *out_diff)
{
    LocalRay r;
    CameraView moved;
    if (view->key_count > 0) {
        moved = camera_view_at(view, time);
        view = &moved;
    }
    if (!local_ray(view, film_px, lens_u, &r))
        return false;
    float3 along = to_world(view, r.along);
    float inverse_length = 1.0f / f3_length(along);
    float3 direction = f3_scale(along, inverse_length);
    bool has_planes =
        view->kind == SCENE_CAMERA_PERSPECTIVE || view->kind == SCENE_CAMERA_ORTHOGRAPHIC;
    float cosine = has_planes ? -f3_dot(direction, view->axis_z) : 1.0f;
    *out_ray = (Ray){.origin = f3_add(view->position, to_world(view, r.origin)),
                     .direction = direction,
                     .t_min = view->clip_near_m / cosine,
                     .t_max = view->clip_far_m > 0.0f ? view->clip_far_m / cosine : INFINITY,
                     .time = time};
    if (out_diff)
        *out_diff = (RayDiff){
            .dOdx = to_world(view, r.origin_dx),
            .dOdy = to_world(view, r.origin_dy),
            .dDdx = direction_derivative(to_world(view, r.along_dx), direction, inverse_length),
            .dDdy = direction_derivative(to_world(view, r.along_dy), direction, inverse_length)};
    return true;
}

/* Places on the lens by lane, and how far away its rays meet; of a pinhole the middle, and 1. */
typedef struct LensRows {
    WideRow x, y;
    float focus;
} LensRows;

static void lens_rows(const CameraView *view, uint16_t live, const CameraRows *r, LensRows *out)
{
    *out = (LensRows){.focus = 1.0f};
    if (!(view->lens_radius_m > 0.0f))
        return;
    out->focus = view->focus_distance_m;
    WIDE_EACH(k, live)
    {
        float2 lens = aperture_point(view, f2(r->lens_u[0][k], r->lens_u[1][k]));
        out->x[k] = lens.x * view->lens_radius_m;
        out->y[k] = lens.y * view->lens_radius_m;
    }
}

/* What bend() makes of a lane's direction. */
static float3 along_of_lane(const CameraView *view, const CameraRows *r, const LensRows *lens,
                            uint32_t k)
{
    float3 at = f3(view->corner.x + r->film_px[0][k] * view->step.x,
                   view->corner.y + r->film_px[1][k] * view->step.y, -1.0f);
    return to_world(view, f3_sub(f3_scale(at, lens->focus), f3(lens->x[k], lens->y[k], 0.0f)));
}

/* The rays of all lanes of a perspective that stands still. */
static void perspective_rays(const CameraView *view, const LensRows *lens, CameraRows *r)
{
    bool has_far = view->clip_far_m > 0.0f;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        float3 along = along_of_lane(view, r, lens, k);
        float inverse_length = 1.0f / f3_length(along);
        float3 direction = f3_scale(along, inverse_length);
        float cosine = -f3_dot(direction, view->axis_z);
        wide_set3(r->origin, k,
                  f3_add(view->position, to_world(view, f3(lens->x[k], lens->y[k], 0.0f))));
        wide_set3(r->direction, k, direction);
        r->t_min[k] = view->clip_near_m / cosine;
        r->t_max[k] = has_far ? view->clip_far_m / cosine : INFINITY;
    }
}

/* The differentials of these rays. */
static void perspective_diffs(const CameraView *view, const LensRows *lens, CameraRows *r)
{
    const float3 still = to_world(view, f3(0, 0, 0));
    const float3 along_dx = to_world(view, f3_scale(f3(view->step.x, 0.0f, 0.0f), lens->focus));
    const float3 along_dy = to_world(view, f3_scale(f3(0.0f, view->step.y, 0.0f), lens->focus));
    WideRow dx[3], dy[3];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        float inverse_length = 1.0f / f3_length(along_of_lane(view, r, lens, k));
        float3 direction = wide_get3(r->direction, k);
        wide_set3(dx, k, direction_derivative(along_dx, direction, inverse_length));
        wide_set3(dy, k, direction_derivative(along_dy, direction, inverse_length));
    }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        r->diff[k] = (RayDiff){
            .dOdx = still, .dOdy = still, .dDdx = wide_get3(dx, k), .dDdy = wide_get3(dy, k)};
}

uint16_t camera_rays(const CameraView *view, bool wants_diff, uint16_t live, CameraRows *r)
{
    uint16_t seen = 0;
    if (view->kind == SCENE_CAMERA_PERSPECTIVE && view->key_count == 0) {
        LensRows lens;
        lens_rows(view, live, r, &lens);
        perspective_rays(view, &lens, r);
        if (wants_diff)
            perspective_diffs(view, &lens, r);
        return live;
    }
    WIDE_EACH(k, live)
    {
        Ray ray;
        if (!camera_ray(view, f2(r->film_px[0][k], r->film_px[1][k]),
                        f2(r->lens_u[0][k], r->lens_u[1][k]), r->time[k], &ray,
                        wants_diff ? &r->diff[k] : NULL))
            continue;
        wide_set3(r->origin, k, ray.origin);
        wide_set3(r->direction, k, ray.direction);
        r->t_min[k] = ray.t_min, r->t_max[k] = ray.t_max;
        seen = (uint16_t)(seen | 1u << k);
    }
    return seen;
}

float camera_distance(const CameraView *view, float time, float3 point)
{
    CameraView moved;
    if (view->key_count > 0) {
        moved = camera_view_at(view, time);
        view = &moved;
    }
    float3 to_point = f3_sub(point, view->position);
    return view->kind == SCENE_CAMERA_ORTHOGRAPHIC ? -f3_dot(to_point, view->axis_z)
                                                   : f3_length(to_point);
}

bool camera_is_linkable(const CameraView *view)
{
    return view->kind == SCENE_CAMERA_PERSPECTIVE;
}

/* With the point at p in camera space and the lens at o, the ray meets the plane of focus, f away, at o + (p - o) f / -p.z; what
 * is there appears at 1 / f of its place (bend). At an angle from the axis a solid angle is cos^3 of the area in the plane z = -1. */
bool camera_link(const CameraView *view, float3 point, float2 lens_u, float time, CameraLink *out)
{
    CameraView moved;
    ASSERT(camera_is_linkable(view));
    if (view->key_count > 0) {
        moved = camera_view_at(view, time);
        view = &moved;
    }
    bool has_lens = view->lens_radius_m > 0.0f;
    float2 lens = has_lens ? aperture_point(view, lens_u) : f2(0.0f, 0.0f);
    float3 o = f3(lens.x * view->lens_radius_m, lens.y * view->lens_radius_m, 0.0f);
    out->origin = f3_add(view->position, to_world(view, o));
    float3 way = f3_sub(point, out->origin);
    float depth = -f3_dot(way, view->axis_z);
    bool is_in_range =
        depth > view->clip_near_m && (!(view->clip_far_m > 0.0f) || depth < view->clip_far_m);
    if (!(depth > 0.0f) || !is_in_range)
        return false;
    float x = f3_dot(way, view->axis_x) / depth, y = f3_dot(way, view->axis_y) / depth;
    if (has_lens) {
        x += o.x / view->focus_distance_m;
        y += o.y / view->focus_distance_m;
    }
    out->film_px = f2((x - view->corner.x) / view->step.x, (y - view->corner.y) / view->step.y);
    out->distance_m = f3_length(way);
    out->direction = f3_scale(way, 1.0f / out->distance_m);
    float cosine = depth / out->distance_m;
    out->px_per_sr = 1.0f / (fabsf(view->step.x * view->step.y) * cosine * cosine * cosine);
    Ray ray;
    bool is_seen = isfinite(out->film_px.x) && isfinite(out->film_px.y) &&
                   camera_ray(view, out->film_px, lens_u, time, &ray, &out->diff);
    out->t_min = is_seen ? ray.t_min : 0.0f;
    return is_seen && isfinite(out->px_per_sr);
}

bool camera_project(const CameraView *view, float3 point, float2 *out_film_px)
{
    float3 d = f3_sub(point, view->position);
    float x = f3_dot(d, view->axis_x), y = f3_dot(d, view->axis_y),
          depth = -f3_dot(d, view->axis_z);
    bool is_seen = depth > 0.0f;
    switch (view->kind) {
    case SCENE_CAMERA_PERSPECTIVE:
        x /= depth, y /= depth;
        break;
    case SCENE_CAMERA_ORTHOGRAPHIC:
        break;
    case SCENE_CAMERA_EQUIANGULAR:
        x = rt_atan(x / depth), y = rt_atan(y / depth);
        break;
    case SCENE_CAMERA_EQUIRECTANGULAR:
        y = rt_atan2(y, sqrtf(x * x + depth * depth));
        x = rt_atan2(x, depth);
        is_seen = true;
        break;
    case SCENE_CAMERA_FISHEYE: {
        float across = sqrtf(x * x + y * y), r = 0.0f;
        is_seen = fisheye_radius(view, rt_atan2(across, depth), &r);
        float scale = across > 0.0f ? r / across : 0.0f;
        x *= scale, y *= scale;
        break;
    }
    }
    *out_film_px = f2((x - view->corner.x) / view->step.x, (y - view->corner.y) / view->step.y);
    return is_seen && isfinite(out_film_px->x) && isfinite(out_film_px->y);
}

bool camera_matrices(const CameraView *view, uint32_t width_px, uint32_t height_px,
                     float out_world_to_camera[16], float out_world_to_picture[16])
{
    const float3 axes[3] = {view->axis_x, view->axis_y, view->axis_z}, at = view->position;
    /* With film = (point - corner) / step, the picture's x is scale.x point + move.x; y is turned upside down. */
    double scale_x = 2.0 / ((double)view->step.x * width_px),
           scale_y = -2.0 / ((double)view->step.y * height_px);
    double move_x = -scale_x * (double)view->corner.x - 1.0,
           move_y = -scale_y * (double)view->corner.y + 1.0;
    bool is_perspective = view->kind == SCENE_CAMERA_PERSPECTIVE;
    double away = is_perspective ? 1.0 : 0.0; /* the point is in the plane z = -1, or anywhere */
    const double project[4][4] = {
        {scale_x, 0, 0, 0},
        {0, scale_y, 0, 0},
        {-move_x * away, -move_y * away, -1, -away},
        {move_x * (1.0 - away), move_y * (1.0 - away), -0.01 * away, 1.0 - away}};
    bool is_projection = is_perspective || view->kind == SCENE_CAMERA_ORTHOGRAPHIC;
    double to_camera[4][4] = {{0}};
    for (int k = 0; k < 3; ++k) {
        to_camera[0][k] = (double)axes[k].x;
        to_camera[1][k] = (double)axes[k].y;
        to_camera[2][k] = (double)axes[k].z;
        to_camera[3][k] = -((double)at.x * (double)axes[k].x + (double)at.y * (double)axes[k].y +
                            (double)at.z * (double)axes[k].z);
    }
    to_camera[3][3] = 1.0;
    for (int i = 0; i < 4; ++i)
        for (int k = 0; k < 4; ++k) {
            double sum = 0.0;
            for (int j = 0; j < 4; ++j)
                sum += to_camera[i][j] * project[j][k];
            /* + 0 makes -0 a plain 0 for who reads it */
            out_world_to_camera[4 * i + k] = (float)to_camera[i][k] + 0.0f;
            out_world_to_picture[4 * i + k] = is_projection ? (float)sum + 0.0f : 0.0f;
        }
    return is_projection;
}
