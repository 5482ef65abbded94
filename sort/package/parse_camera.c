/* The section `cameras`. */
#include "sort/package/scene_parse.h"
#include <float.h>
#include <math.h>

/* [from, to] in degrees, inside [-limit, limit]; without, they are -usual and usual. */
static Status get_angle_range(JsonCursor *object, const char *field, double limit, float usual,
                              float2 *out_rad, Error *err)
{
    const float to_rad = (float)(3.14159265358979323846 / 180.0);
    float range[2] = {-usual, usual};
    JsonCursor c;
    TRY(json_get_any(object, field, JSON_OPTIONAL, &c, err));
    if (json_exists(&c)) {
        TRY(json_as_floats(&c, -limit, limit, 2, range, err));
        if (!(range[1] - range[0] >= 1e-3f))
            return json_fail(&c, err, "must be [from, to] with from < to");
    }
    *out_rad = f2(range[0] * to_rad, range[1] * to_rad);
    return STATUS_OK;
}

/* The widest view of the largest picture, moved as far as these allow, can still be normalised in single precision. */
static const double size_max_m = 1e9, ratio_max = 1e3, shift_max = 1e6, polynomial_max = 1e6;

static Status parse_ratio(JsonCursor *c, const char *field, float *out_value, Error *err)
{
    return json_get_float(c, field, JSON_OPTIONAL, 1.0 / ratio_max, ratio_max, out_value, err);
}

static Status parse_lens(JsonCursor *c, SceneCamera *camera, Error *err)
{
    float shift[2] = {0, 0};
    JsonCursor blades;
    camera->focus_distance_m = 1.0f;
    TRY(json_get_float(c, "aperture_radius_m", JSON_OPTIONAL, 0.0, size_max_m,
                       &camera->aperture_radius_m, err));
    TRY(parse_positive(c, "focus_distance_m", JSON_OPTIONAL, &camera->focus_distance_m, err));
    TRY(json_get_floats(c, "lens_shift", JSON_OPTIONAL, -shift_max, shift_max, 2, shift, err));
    camera->lens_shift = f2(shift[0], shift[1]);
    TRY(parse_ratio(c, "pixel_aspect", &camera->pixel_aspect, err));
    TRY(parse_ratio(c, "aperture_ratio", &camera->aperture_ratio, err));
    TRY(parse_degrees(c, "aperture_rotation_degrees", JSON_OPTIONAL, -360.0, 360.0,
                      &camera->aperture_rotation_rad, err));
    TRY(json_get_any(c, "aperture_blades", JSON_OPTIONAL, &blades, err));
    if (json_exists(&blades)) {
        int64_t count;
        TRY(json_as_int(&blades, 0, 64, &count, err));
        if (count == 1 || count == 2)
            return json_fail(&blades, err, "must be 0, or 3 to 64");
        camera->aperture_blades = (uint32_t)count;
    }
    return STATUS_OK;
}

static Status parse_fisheye(JsonCursor *c, SceneCamera *camera, Error *err)
{
    static const char *const mappings[] = {"equidistant", "equisolid", "polynomial"};
    JsonCursor window;
    uint32_t mapping = 0;
    TRY(parse_degrees(c, "fov_degrees", JSON_REQUIRED, 1e-4, 360.0, &camera->fov_rad, err));
    TRY(json_get_choice(c, "mapping", JSON_OPTIONAL, mappings, SORT_COUNT_OF(mappings), &mapping,
                        err));
    camera->fisheye = (SceneFisheye)mapping;
    if (camera->fisheye == SCENE_FISHEYE_POLYNOMIAL)
        TRY(json_get_floats(c, "polynomial", JSON_REQUIRED, -polynomial_max, polynomial_max, 5,
                            camera->polynomial, err));
    TRY(json_get_any(c, "window", JSON_OPTIONAL, &window, err));
    if (!json_exists(&window))
        return STATUS_OK;
    camera->has_window = true;
    TRY(json_as_floats(&window, -1e6, 1e6, 4, camera->window, err));
    const float *w = camera->window;
    return w[0] < w[1] && w[2] < w[3]
               ? STATUS_OK
               : json_fail(&window, err,
                           "must be [left, right, bottom, top] with left < right, bottom < top");
}

/* Parses the fields of the camera's kind. Limits of angles keep the projection finite. */
static Status parse_projection(JsonCursor *c, SceneCamera *camera, Error *err)
{
    switch (camera->kind) {
    case SCENE_CAMERA_PERSPECTIVE:
        TRY(parse_degrees(c, "fov_y_degrees", JSON_REQUIRED, 1e-4, 179.999, &camera->fov_y_rad,
                          err));
        return parse_lens(c, camera, err);
    case SCENE_CAMERA_ORTHOGRAPHIC:
        TRY(json_get_float(c, "height_m", JSON_REQUIRED, 1.0 / size_max_m, size_max_m,
                           &camera->height_m, err));
        return parse_lens(c, camera, err);
    case SCENE_CAMERA_EQUIRECTANGULAR:
        TRY(get_angle_range(c, "longitude_degrees", 180.0, 180.0f, &camera->longitude_rad, err));
        return get_angle_range(c, "latitude_degrees", 90.0, 90.0f, &camera->latitude_rad, err);
    case SCENE_CAMERA_FISHEYE:
        return parse_fisheye(c, camera, err);
    case SCENE_CAMERA_EQUIANGULAR:
        TRY(get_angle_range(c, "longitude_degrees", 89.0, 45.0f, &camera->longitude_rad, err));
        return get_angle_range(c, "latitude_degrees", 89.0, 45.0f, &camera->latitude_rad, err);
    }
    return STATUS_OK;
}

static Status parse_clip(JsonCursor *c, SceneCamera *camera, Error *err)
{
    JsonCursor field;
    float clip[2] = {0.0f, INFINITY};
    TRY(json_get_any(c, "clip_m", JSON_OPTIONAL, &field, err));
    if (json_exists(&field)) {
        TRY(json_as_floats(&field, 0.0, (double)FLT_MAX, 2, clip, err));
        if (!(clip[0] < clip[1]))
            return json_fail(&field, err, "must be [near, far] with near < far");
    }
    camera->clip_near_m = clip[0], camera->clip_far_m = clip[1];
    return STATUS_OK;
}

/* Returns how far from the camera's place a ray of an orthographic picture may begin, even if the picture is 65536 times as
 * wide as high. */
static double window_m(const SceneCamera *camera)
{
    double aspect = camera->pixel_aspect > 1.0f ? (double)camera->pixel_aspect : 1.0;
    double shift = fmax(fabs((double)camera->lens_shift.x), fabs((double)camera->lens_shift.y));
    return (shift + 0.5) * aspect * (double)camera->height_m * 65536.0;
}

/* Returns the largest coordinate that the camera's place has while the shutter is open. */
static double place_m(const SceneCamera *camera)
{
    double most = 0.0;
    for (uint32_t i = 0; i < camera->key_count || i == 0; ++i) {
        const mat4 *key = camera->key_count > 0 ? &camera->keys[i] : &camera->camera_to_world;
        for (int k = 0; k < 3; ++k)
            most = fmax(most, fabs((double)key->m[k][3]));
    }
    return most;
}

/* Refuses a camera whose rays would begin where they have no precision; Embree aborts there. */
static Status check_reach(JsonCursor *c, const SceneCamera *camera, Error *err)
{
    double window = camera->kind == SCENE_CAMERA_ORTHOGRAPHIC ? window_m(camera) : 0.0;
    if (place_m(camera) + window < (double)SCENE_REACH_MAX_M)
        return STATUS_OK;
    return json_fail(c, err,
                     "the transform, or height_m, lens_shift and pixel_aspect, move the picture "
                     "farther than %g m away",
                     (double)SCENE_REACH_MAX_M);
}

/* How the camera, which is known but for its neighbours, is in the frames before and after. */
static Status parse_camera_neighbours(SceneParser *p, JsonCursor *object, SceneCamera *camera,
                                      Error *err)
{
    JsonCursor fields[2], transform;
    bool has;
    TRY(parse_neighbours(object, fields, &has, err));
    if (!has)
        return STATUS_OK;
    SceneCamera *neighbours = ARENA_ARRAY(p->arena, SceneCamera, 2);
    for (int k = 0; k < 2; ++k) {
        SceneCamera *at = &neighbours[k];
        at->kind = camera->kind;
        TRY(json_as_object(&fields[k], err));
        TRY(parse_transform(&fields[k], JSON_REQUIRED, &transform, &at->camera_to_world, err));
        TRY(parse_rigid(&transform, true, &at->camera_to_world, err));
        TRY(parse_projection(&fields[k], at, err));
        TRY(check_reach(&fields[k], at, err));
        TRY(json_finish(&fields[k], err));
    }
    camera->neighbours = neighbours;
    return STATUS_OK;
}

static Status parse_camera(SceneParser *p, JsonCursor *c, SceneCamera *camera, Error *err)
{
    static const char *const kinds[] = {"perspective", "orthographic", "equirectangular", "fisheye",
                                        "equiangular"};
    uint32_t kind = 0;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->camera_names, &camera->name, err));
    TRY(json_get_choice(c, "type", JSON_OPTIONAL, kinds, SORT_COUNT_OF(kinds), &kind, err));
    camera->kind = (SceneCameraKind)kind;
    TRY(parse_camera_transform(p, c, camera, err));
    TRY(parse_projection(c, camera, err));
    TRY(check_reach(c, camera, err));
    TRY(parse_clip(c, camera, err));
    TRY(parse_camera_neighbours(p, c, camera, err));
    return json_finish(c, err);
}

Status scene_parse_camera(Arena *arena, JsonCursor *c, SceneCamera *out_camera, Error *err)
{
    SceneParser parser = {.arena = arena};
    *out_camera = (SceneCamera){0};
    if (setjmp(parser.no_memory)) {
        arena_on_no_memory(arena, NULL);
        name_index_free(&parser.camera_names);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a camera");
    }
    arena_on_no_memory(arena, &parser.no_memory);
    Status status = parse_camera(&parser, c, out_camera, err);
    arena_on_no_memory(arena, NULL);
    name_index_free(&parser.camera_names);
    return status;
}

Status parse_cameras(SceneParser *p, JsonCursor *root, Error *err)
{
    JsonCursor array;
    uint32_t count;
    TRY(parse_section(root, "cameras", JSON_REQUIRED, SCENE_SECTION_MAX, &array, &count, err));
    if (count == 0)
        return json_fail(&array, err, "there must be a camera");
    SceneCamera *cameras = ARENA_ARRAY(p->arena, SceneCamera, count);
    for (uint32_t i = 0; i < count; ++i) {
        JsonCursor c;
        json_at(&array, i, &c);
        TRY(parse_camera(p, &c, &cameras[i], err));
    }
    p->scene->cameras = cameras;
    p->scene->camera_count = count;
    return STATUS_OK;
}
