/* Cameras: film position to ray, with analytic derivatives.
 *
 * Film coordinates are in pixels of the whole picture: x to the right, y DOWN, (0, 0) is the upper
 * left corner, pixel (i, j) has its centre at (i + 1/2, j + 1/2). Everything per pixel in SORT
 * (ray differentials, SSL's ddx and ddy) follows this: d/dx one pixel to the right, d/dy one down. */
#ifndef SORT_SCENE_CAMERA_H
#define SORT_SCENE_CAMERA_H

#include "sort/scene/ray.h"
#include "sort/scene/scene.h"
#include "sort/wide/wide.h"

/* A camera with a picture size; a plain value, any thread. Film (x, y) is the point corner + (x, y) step:
 * of the plane z = -1 (perspective), of the plane z = 0 in metres (orthographic), longitude and latitude in
 * radians (equirectangular, equiangular), or of the plane where the edge of the circle is at distance 1 from
 * the middle (fisheye; with a polynomial: in its units). */
typedef struct CameraView {
    SceneCameraKind kind;
    float2 corner, step;
    float3 axis_x, axis_y, axis_z; /* camera axes in world space; looks along -axis_z */
    float3 position;
    float fov_rad;
    SceneFisheye fisheye;
    float sin_quarter; /* equisolid: sine of a quarter of fov_rad */
    float polynomial[5];
    float lens_radius_m, focus_distance_m;
    uint32_t blades;               /* corners of the aperture; 0: round */
    float cos_turn, sin_turn;      /* of its first corner from the axis to the right */
    float inverse_ratio;           /* the aperture is so much narrower than high */
    float clip_near_m, clip_far_m; /* SceneCamera's; of far, 0 is none too */
    /* The last ones: what is before them is hashed byte by byte. */
    const mat4 *keys; /* borrowed: the SceneCamera's */
    uint32_t
        key_count; /* 0: stands still; else axes and position are of the middle of the shutter */
} CameraView;

/* width_px, height_px: the whole picture, each at least 1. Pixels are square: the vertical angle is
 * the camera's, the horizontal one follows from the picture's shape. */
void camera_view_init(const SceneCamera *camera, uint32_t width_px, uint32_t height_px,
                      CameraView *out_view);

/* The view at `time` in [0, 1] of the shutter: one that stands still. */
CameraView camera_view_at(const CameraView *view, float time);

/* The ray through film position `film_px`, from the lens point that `lens_u` in [0,1)^2 picks
 * (area-preserving; without effect on a pinhole). t_min and t_max by the camera's clip distances, direction unit. False: nothing is
 * seen there (outside a fisheye's circle). A camera that moves is taken as it stands at
 * `time`.
 * *out_diff: at a fixed lens point, [Igehy1999 eq. 8] carried through the thin lens: the ray goes
 * to the point in focus, whose derivative is exact. out_diff may be NULL. */
bool camera_ray(const CameraView *view, float2 film_px, float2 lens_u, float time, Ray *out_ray,
                RayDiff *out_diff);

/* The film positions of a block, and the rays through them, by lane. */
typedef struct CameraRows {
    alignas(64) WideRow film_px[2];
    WideRow lens_u[2], time;
    WideRow origin[3], direction[3], t_min, t_max; /* what camera_rays sets */
    RayDiff diff[SSL_BLOCK];
} CameraRows;

/* Sets the rays of the lanes of `live`, each as camera_ray does. wants_diff: otherwise diff stays. Returns the lanes that see
 * something. */
uint16_t camera_rays(const CameraView *view, bool wants_diff, uint16_t live, CameraRows *rows);

/* Matrices for points as rows (p' = p M), in the middle of the shutter: to the camera's space, and to the place in the
 * picture, where x and y go from -1 to 1, left to right and bottom to top, in front of the camera, and z grows with the
 * distance (1 - 0.01 m / distance; of an orthographic camera the distance). False: what it shows is no projection by a
 * matrix; the second one is then 0. */
bool camera_matrices(const CameraView *view, uint32_t width_px, uint32_t height_px,
                     float out_world_to_camera[16], float out_world_to_picture[16]);

/* Returns how far a point is from where its ray left: the camera's position at `time` in [0, 1] of the shutter, or the plane
 * of an orthographic one. */
float camera_distance(const CameraView *view, float time, float3 point);

/* The way from a point of the lens to a point in world space. */
typedef struct CameraLink {
    float2
        film_px; /* where the point appears through this place of the lens; it may be outside the picture */
    float3 origin;    /* on the lens */
    float3 direction; /* unit, from there to the point */
    float t_min;      /* the camera sees nothing nearer */
    float distance_m; /* of the point */
    float
        px_per_sr; /* the area on the film, in square pixels, of a solid angle about the direction */
    RayDiff diff;  /* of the camera ray */
} CameraLink;

/* Whether camera_link knows the camera: a perspective, with or without a lens. */
bool camera_is_linkable(const CameraView *view);
/* Finds the camera ray that leaves the lens at lens_u, as in camera_ray, and meets the point, at `time` of the shutter. False: there
 * is none, because the point is behind the camera or beyond its clip distances. The camera must be linkable. */
bool camera_link(const CameraView *view, float3 point, float2 lens_u, float time,
                 CameraLink *out_link);

/* Where a point in world space appears through the middle of the lens. False when it is not in
 * front of the camera, or not in its circle. */
bool camera_project(const CameraView *view, float3 point, float2 *out_film_px);

#endif
