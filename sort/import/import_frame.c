/* A camera and a light for files that have none. */
#include "base/check.h"
#include "sort/import/import_state.h"
#include "ssl/rt/rt.h"

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
    ASSERT(aspect > 0.0f && isfinite(aspect));
    float3 toward = f3_normalize(f3(0.45f, 0.35f, 1.0f));
    mat4 view = mat4_look_at(toward, f3(0, 0, 0), f3(0, 1, 0));
    view.m[0][3] = view.m[1][3] = view.m[2][3] = 0.0f;
    mat4 world_to_view = mat4_transpose(view);
    float slope = margin * rt_tan(0.5f * FOV_Y_DEG * RAD_PER_DEG);
    float front = -INFINITY;
    Reach x = {slope * aspect, -INFINITY, -INFINITY}, y = {slope, -INFINITY, -INFINITY};
    for (uint32_t i = 0; i < s->instances.count; ++i) {
        const ImportedInstance *instance = &s->instances.data[i];
        const ImportedMesh *mesh = &s->meshes.data[instance->mesh];
        for (int k = 0; k < IMPORT_OUTLINE; ++k) {
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
    if (!import_is_in_reach(&transform))
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

static bool has_emission(const ImportSink *s)
{
    bool shines = false;
    for (uint32_t i = 0; !shines && i < s->instances.count; ++i)
        shines = s->materials.data[s->meshes.data[s->instances.data[i].mesh].material].lights_scene;
    return shines;
}

/* The middle of everything's outlines. */
static float3 middle_of_scene(const ImportSink *s)
{
    float3 low = f3(INFINITY, INFINITY, INFINITY), high = f3_scale(low, -1);
    for (uint32_t i = 0; i < s->instances.count; ++i) {
        const ImportedInstance *instance = &s->instances.data[i];
        for (int k = 0; k < IMPORT_OUTLINE; ++k) {
            float3 p = mat4_point(&instance->transform, s->meshes.data[instance->mesh].outline[k]);
            low = f3(fminf(low.x, p.x), fminf(low.y, p.y), fminf(low.z, p.z));
            high = f3(fmaxf(high.x, p.x), fmaxf(high.y, p.y), fmaxf(high.z, p.z));
        }
    }
    return f3_scale(f3_add(low, high), 0.5f);
}

void import_judge_lights(const ImportSink *s)
{
    /* A white wall that gets pi W/m2 is as bright as a picture goes at exposure 0. */
    const float white = 3.14159265f, too_much = 30, too_little = 0.02f;
    const ImportedLight *best = NULL;
    float most = 0;
    float3 middle = middle_of_scene(s);
    for (uint32_t i = 0; i < s->lights.count; ++i) {
        const ImportedLight *l = &s->lights.data[i];
        float3 away = f3_sub(l->position, middle);
        float irradiance = l->is_distant ? l->brightest : l->brightest / f3_dot(away, away);
        if (irradiance > most && irradiance < INFINITY) {
            most = irradiance;
            best = l;
        }
    }
    if (!best || (most < too_much * white && (most > too_little * white || has_emission(s))))
        return;
    log_warning(s->log,
                "light '%s' gives about %.3g W/m2 where the scene is: a picture of it needs "
                "--exposure %.1f, "
                "or other --light-units (%s)",
                best->name, (double)most, (double)-rt_log2(most / white),
                import_light_units_names[s->light_units]);
}

/* A soft environment, and a wide sun from the upper left of the front, so that shapes show. Together they give a
 * white surface that faces the sun a radiance of 0.9, so that nothing but highlights burns out. */
void import_make_up_light(ImportSink *s)
{
    if (package_writer_count(s->writer, PACKAGE_LIGHTS) > 0 || has_emission(s))
        return;
    JsonWriter *json = package_writer_fields(s->writer);
    json_write_object(json, "environment");
    json_write_floats(json, "color", (const float[3]){0.28f, 0.31f, 0.37f}, 3);
    json_write_end(json);
    mat4 transform = mat4_look_at(f3(-0.6f, 1.0f, 0.7f), f3(0, 0, 0), f3(0, 1, 0));
    json = package_writer_begin(s->writer, PACKAGE_LIGHTS, "made up", NULL);
    json_write_string(json, "type", "distant");
    import_write_transform(json, &transform);
    json_write_floats(json, "irradiance", (const float[3]){1.8f, 1.72f, 1.56f}, 3);
    json_write_float(json, "angle_degrees", 15.0f);
    package_writer_end(s->writer);
    s->has_made_up_light = true;
    log_warning(s->log, "nothing lights the scene; a soft sky and a wide sun were made up");
}
