/* A camera and a light for files that have none. */
#include "sort/scene/package_writer.h"

#define FOV_Y_DEG   35.0f
#define RAD_PER_DEG 0.01745329251994330f

/* How far a point reaches along one axis of the picture, to either side. */
typedef struct Reach {
    float slope; /* of the border of the view, less a margin */
    float up, down;
} Reach;

static void reach_out(Reach *r, float across, float toward)
{
    r->up = fmaxf(r->up, across + r->slope * toward);
    r->down = fmaxf(r->down, -across + r->slope * toward);
}

/* The nearest camera with a given direction that sees all outlines with a margin of a tenth. In its axes
 * a point (x, y, z) is inside when |x - cx| <= s (d - z), and so for y: s d >= x + s z - cx and
 * s d >= -x + s z + cx. The maxima over all points give d and cx. */
static mat4 frame_outlines(const PackageRecords *r, float aspect)
{
    static const float margin = 0.9f;
    float3 toward = f3_normalize(f3(0.45f, 0.35f, 1.0f));
    mat4 view = mat4_look_at(toward, f3(0, 0, 0), f3(0, 1, 0));
    view.m[0][3] = view.m[1][3] = view.m[2][3] = 0.0f;
    mat4 world_to_view = mat4_transpose(view);
    float slope = margin * tanf(0.5f * FOV_Y_DEG * RAD_PER_DEG);
    float front = -INFINITY;
    Reach x = {slope * aspect, -INFINITY, -INFINITY}, y = {slope, -INFINITY, -INFINITY};
    for (uint32_t i = 0; i < r->instances.count; i++) {
        const PackageInstance *instance = &r->instances.data[i];
        const PackageMesh *mesh = &r->meshes.data[instance->mesh];
        for (int k = 0; k < PACKAGE_OUTLINE; k++) {
            float3 p = mat4_point(&instance->transform, mesh->outline[k]);
            float3 v = mat4_vector(&world_to_view, p);
            front = fmaxf(front, v.z);
            reach_out(&x, v.x, v.z);
            reach_out(&y, v.y, v.z);
        }
    }
    float distance = fmaxf((x.up + x.down) / (2 * x.slope), (y.up + y.down) / (2 * y.slope));
    if (!(distance > front)) /* all is one point */
        distance = front + 1.0f;
    float3 eye = f3(0.5f * (x.up - x.down), 0.5f * (y.up - y.down), distance);
    eye = mat4_vector(&view, eye);
    return mat4_mul(mat4_translate(eye), view);
}

Status package_make_up_camera(PackageWriter *w, Error *err)
{
    PackageRecords *r = &w->records;
    if (r->cameras.count > 0)
        return STATUS_OK;
    PackageCamera camera = {.name = "made up",
                            .transform =
                                frame_outlines(r, (float)r->width_px / (float)r->height_px),
                            .fov_y_deg = FOV_Y_DEG};
    if (!mat4_is_finite(camera.transform))
        return error_set(err, STATUS_FORMAT, "the scene is too large to be framed");
    w->has_made_up_camera = true;
    log_warning(w->log, "the file has no camera; one was made up that frames everything");
    return array_push(w->arena, &r->cameras, camera) ? STATUS_OK : package_no_memory(err);
}

/* A soft environment, and a wide sun from the upper left of the front, so that shapes show. */
Status package_make_up_light(PackageWriter *w, Error *err)
{
    PackageRecords *r = &w->records;
    bool shines = r->lights.count > 0;
    for (uint32_t i = 0; !shines && i < r->instances.count; i++)
        shines = r->materials.data[r->meshes.data[r->instances.data[i].mesh].material].lights_scene;
    if (shines)
        return STATUS_OK;
    r->has_environment = true;
    r->environment_color = f3(0.45f, 0.5f, 0.6f);
    PackageLight sun = {.name = "made up",
                        .type = "distant",
                        .color_field = "irradiance",
                        .transform = mat4_look_at(f3(-0.6f, 1.0f, 0.7f), f3(0, 0, 0), f3(0, 1, 0)),
                        .color = f3(2.2f, 2.1f, 1.9f),
                        .angle_deg = 15};
    w->has_made_up_light = true;
    log_warning(w->log, "nothing lights the scene; a soft sky and a wide sun were made up");
    return array_push(w->arena, &r->lights, sun) ? STATUS_OK : package_no_memory(err);
}
