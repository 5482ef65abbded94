/* Perspective camera with a thin lens. The camera's own space has the lens in the plane z = 0 and
 * looks along -z; the window that the picture shows lies in the plane z = -1. */
#include "sort/scene/camera.h"

#include "base/check.h"
#include "sort/sampling/warp.h"

void camera_view_init(const SceneCamera *camera, uint32_t width_px, uint32_t height_px,
                      CameraView *out_view)
{
    CHECK(width_px > 0 && height_px > 0);
    double height = 2.0 * tan(0.5 * (double)camera->fov_y_rad);
    double width = height * width_px / height_px;
    const mat4 *m = &camera->camera_to_world;
    *out_view = (CameraView){
        .corner = f2((float)(width * ((double)camera->lens_shift.x - 0.5)),
                     (float)(height * ((double)camera->lens_shift.y + 0.5))),
        .step = f2((float)(width / width_px), (float)(-height / height_px)),
        .axis_x = f3(m->m[0][0], m->m[1][0], m->m[2][0]),
        .axis_y = f3(m->m[0][1], m->m[1][1], m->m[2][1]),
        .axis_z = f3(m->m[0][2], m->m[1][2], m->m[2][2]),
        .position = f3(m->m[0][3], m->m[1][3], m->m[2][3]),
        .lens_radius_m = camera->aperture_radius_m,
        .focus_distance_m = camera->focus_distance_m,
    };
}

void camera_ray(const CameraView *view, float2 film_px, float2 lens_u, float time, Ray *out_ray,
                RayDiff *out_diff)
{
    float x = view->corner.x + film_px.x * view->step.x;
    float y = view->corner.y + film_px.y * view->step.y;
    float3 along = f3_sub(f3_madd(f3_scale(view->axis_x, x), y, view->axis_y), view->axis_z);
    float3 along_dx = f3_scale(view->axis_x, view->step.x);
    float3 along_dy = f3_scale(view->axis_y, view->step.y);

    float3 origin = view->position;
    if (view->lens_radius_m > 0.0f) {
        /* All rays of one film position meet in the plane of focus; those of one lens point differ
         * there by the derivative of that meeting point. */
        float2 lens = warp_disk(lens_u);
        float3 offset = f3_madd(f3_scale(view->axis_x, lens.x * view->lens_radius_m),
                                lens.y * view->lens_radius_m, view->axis_y);
        origin = f3_add(origin, offset);
        along = f3_sub(f3_scale(along, view->focus_distance_m), offset);
        along_dx = f3_scale(along_dx, view->focus_distance_m);
        along_dy = f3_scale(along_dy, view->focus_distance_m);
    }

    float inverse_length = 1.0f / f3_length(along);
    float3 direction = f3_scale(along, inverse_length);
    *out_ray = (Ray){
        .origin = origin, .direction = direction, .t_min = 0.0f, .t_max = INFINITY, .time = time};
    if (out_diff) {
        /* d (a/|a|) = (da - (da.d) d) / |a| [Igehy1999 eq. 8]; the origin stays on its lens point. */
        *out_diff = (RayDiff){
            .dDdx = f3_scale(f3_madd(along_dx, -f3_dot(along_dx, direction), direction),
                             inverse_length),
            .dDdy = f3_scale(f3_madd(along_dy, -f3_dot(along_dy, direction), direction),
                             inverse_length),
        };
    }
}

bool camera_project(const CameraView *view, float3 point, float2 *out_film_px)
{
    float3 to_point = f3_sub(point, view->position);
    float depth = -f3_dot(to_point, view->axis_z);
    if (!(depth > 0.0f))
        return false;
    float x = f3_dot(to_point, view->axis_x) / depth, y = f3_dot(to_point, view->axis_y) / depth;
    *out_film_px = f2((x - view->corner.x) / view->step.x, (y - view->corner.y) / view->step.y);
    return isfinite(out_film_px->x) && isfinite(out_film_px->y);
}
