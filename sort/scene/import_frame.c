/* A camera and a light for files that have none. */
#include "sort/scene/import_state.h"

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
static mat4 frame_outlines(const ImportSink *s, float aspect)
{
    static const float margin = 0.9f;
    float3 toward = f3_normalize(f3(0.45f, 0.35f, 1.0f));
    mat4 view = mat4_look_at(toward, f3(0, 0, 0), f3(0, 1, 0));
    view.m[0][3] = view.m[1][3] = view.m[2][3] = 0.0f;
    mat4 world_to_view = mat4_transpose(view);
    float slope = margin * tanf(0.5f * FOV_Y_DEG * RAD_PER_DEG);
    float front = -INFINITY;
    Reach x = {slope * aspect, -INFINITY, -INFINITY}, y = {slope, -INFINITY, -INFINITY};
    for (uint32_t i = 0; i < s->instances.count; i++) {
        const ImportedInstance *instance = &s->instances.data[i];
        const ImportedMesh *mesh = &s->meshes.data[instance->mesh];
        for (int k = 0; k < IMPORT_OUTLINE; k++) {
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

Status import_make_up_camera(ImportSink *s, Error *err)
{
    if (package_writer_count(s->writer, PACKAGE_CAMERAS) > 0)
        return STATUS_OK;
    mat4 transform = frame_outlines(s, (float)s->width_px / (float)s->height_px);
    if (!mat4_is_finite(transform))
        return error_set(err, STATUS_FORMAT, "the scene is too large to be framed");
    JsonWriter *json = package_writer_begin(s->writer, PACKAGE_CAMERAS, "made up", NULL);
    json_write_string(json, "type", "perspective");
    import_write_transform(json, &transform);
    json_write_float(json, "fov_y_degrees", FOV_Y_DEG);
    package_writer_end(s->writer);
    s->has_made_up_camera = true;
    log_warning(s->log, "the file has no camera; one was made up that frames everything");
    return STATUS_OK;
}

static bool has_light(const ImportSink *s)
{
    bool shines = package_writer_count(s->writer, PACKAGE_LIGHTS) > 0;
    for (uint32_t i = 0; !shines && i < s->instances.count; i++)
        shines = s->materials.data[s->meshes.data[s->instances.data[i].mesh].material].lights_scene;
    return shines;
}

/* A soft environment, and a wide sun from the upper left of the front, so that shapes show. */
void import_make_up_light(ImportSink *s)
{
    if (has_light(s))
        return;
    JsonWriter *json = package_writer_fields(s->writer);
    json_write_object(json, "environment");
    json_write_floats(json, "color", (const float[3]){0.45f, 0.5f, 0.6f}, 3);
    json_write_end(json);
    mat4 transform = mat4_look_at(f3(-0.6f, 1.0f, 0.7f), f3(0, 0, 0), f3(0, 1, 0));
    json = package_writer_begin(s->writer, PACKAGE_LIGHTS, "made up", NULL);
    json_write_string(json, "type", "distant");
    import_write_transform(json, &transform);
    json_write_floats(json, "irradiance", (const float[3]){2.2f, 2.1f, 1.9f}, 3);
    json_write_float(json, "angle_degrees", 15.0f);
    package_writer_end(s->writer);
    s->has_made_up_light = true;
    log_warning(s->log, "nothing lights the scene; a soft sky and a wide sun were made up");
}
