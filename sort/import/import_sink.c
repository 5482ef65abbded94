/* The sink's functions run inside an importer's library, so they never jump out: each returns
 * SORT_ERROR_SINK and leaves the reason with the writer, where the first error sticks. */
#include "sort/import/import_sink.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/path.h"
#include "sort/import/import_state.h"
#include "sort/package/package_names.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { DEFAULT_WIDTH_PX = 1280, DEFAULT_HEIGHT_PX = 720 };

#define DEG_PER_RAD 57.2957795130823f

/* --- errors -------------------------------------------------------------------------------- */

static SortResult sink_result(ImportSink *s, Status status, const Error *err)
{
    if (status != STATUS_OK)
        package_writer_fail(s->writer, err);
    return package_writer_status(s->writer, NULL) == STATUS_OK ? SORT_OK : SORT_ERROR_SINK;
}

/* --- instances, cameras, lights ------------------------------------------------------------ */

static mat4 mat4_from(const float values[16])
{
    mat4 m;
    memcpy(m.m, values, sizeof m.m);
    return m;
}

/* Rotation and translation, as a package wants them of cameras and lights. */
static bool is_rigid(const mat4 *m)
{
    const float tolerance = 5e-4f; /* half of the reader's */
    float3 axis[3];
    for (int k = 0; k < 3; ++k)
        axis[k] = f3(m->m[0][k], m->m[1][k], m->m[2][k]);
    for (int k = 0; k < 3; ++k)
        if (!(fabsf(f3_length(axis[k]) - 1.0f) < tolerance) ||
            !(fabsf(f3_dot(axis[k], axis[(k + 1) % 3])) < tolerance))
            return false;
    return mat4_is_finite(*m) && f3_dot(f3_cross(axis[0], axis[1]), axis[2]) > 0.0f;
}

static Status add_instance(ImportSink *s, const SortInstance *i, Error *err)
{
    const char *given = i->name ? i->name : "";
    if (i->mesh >= s->meshes.count)
        return error_set(err, STATUS_FORMAT, "instance '%s' names mesh %u of %u", given, i->mesh,
                         s->meshes.count);
    ImportedInstance instance = {.mesh = i->mesh, .transform = mat4_from(i->transform)};
    mat4 inverse;
    if (!mat4_is_finite(instance.transform) || !mat4_is_affine(instance.transform) ||
        !mat4_inverse(instance.transform, &inverse)) {
        /* a scale of zero is how some files hide things */
        log_warning(s->log, "instance '%s' has a transform without inverse, and is left out",
                    given);
        return STATUS_OK;
    }
    const ImportedMesh *mesh = &s->meshes.data[i->mesh];
    ASSERT(mesh->material < s->materials.count);
    JsonWriter *json = package_writer_begin(s->writer, PACKAGE_INSTANCES, given, NULL);
    json_write_string(json, "mesh", mesh->name);
    import_write_transform(json, &instance.transform);
    json_write_array(json, "materials");
    json_write_string(json, NULL, s->materials.data[mesh->material].name);
    json_write_end(json);
    package_writer_end(s->writer);
    return array_push(s->arena, &s->instances, instance) ? STATUS_OK : import_no_memory(err);
}

static SortResult sink_instance(void *sink, const SortInstance *i)
{
    Error err = {0};
    return sink_result(sink, add_instance(sink, i, &err), &err);
}

/* The picture takes the shape of the first camera that has one. */
static void take_aspect(ImportSink *s, float aspect)
{
    bool is_first = package_writer_count(s->writer, PACKAGE_CAMERAS) == 1;
    if (!is_first || !(aspect > 0.01f && aspect < 100.0f))
        return;
    float longer = DEFAULT_WIDTH_PX;
    s->width_px = (uint32_t)lroundf(aspect >= 1.0f ? longer : longer * aspect);
    s->height_px = (uint32_t)lroundf(aspect >= 1.0f ? longer / aspect : longer);
    ASSERT(s->width_px > 0 && s->height_px > 0);
}

static void add_camera(ImportSink *s, const SortCamera *c)
{
    const char *given = c->name ? c->name : "";
    mat4 transform = mat4_from(c->transform);
    float fov_y_deg = c->fov_y_rad * DEG_PER_RAD;
    bool is_usable = c->is_orthographic ? c->height_m > 1e-9f && c->height_m < 1e9f
                                        : fov_y_deg >= 0.0001f && fov_y_deg <= 179.999f;
    if (!import_is_in_reach(&transform)) {
        log_warning(s->log, "camera '%s' is too far away to see anything, and is left out", given);
        return;
    }
    if (!is_rigid(&transform) || !is_usable) {
        log_warning(s->log, "camera '%s' makes no picture (%g %s), and is left out", given,
                    (double)(c->is_orthographic ? c->height_m : fov_y_deg),
                    c->is_orthographic ? "metres high" : "degrees");
        return;
    }
    JsonWriter *json = package_writer_begin(s->writer, PACKAGE_CAMERAS, given, NULL);
    json_write_string(json, "type", c->is_orthographic ? "orthographic" : "perspective");
    import_write_transform(json, &transform);
    json_write_float(json, c->is_orthographic ? "height_m" : "fov_y_degrees",
                     c->is_orthographic ? c->height_m : fov_y_deg);
    package_writer_end(s->writer);
    take_aspect(s, c->aspect);
}

static SortResult sink_camera(void *sink, const SortCamera *c)
{
    add_camera(sink, c);
    return sink_result(sink, STATUS_OK, NULL);
}

static void write_spot_angles(JsonWriter *json, const SortLight *l)
{
    float outer = clampf(l->outer_angle_rad * DEG_PER_RAD, 0.01f, 90.0f);
    json_write_float(json, "inner_angle_degrees",
                     clampf(l->inner_angle_rad * DEG_PER_RAD, 0.0f, 0.999f * outer));
    json_write_float(json, "outer_angle_degrees", outer);
}

/* Returns the divisor of the light's numbers. */
static float lumens_per_watt(const ImportSink *s, const SortLight *l)
{
    bool has_field = l->size_bytes >= offsetof(SortLight, lumens_per_watt) + sizeof(float);
    float said = has_field ? l->lumens_per_watt : 0.0f;
    if (!(said > 0.0f))
        return 1.0f;
    return s->light_units == IMPORT_LIGHTS_AUTO   ? said
           : s->light_units == IMPORT_LIGHTS_NITS ? 1.0f
                                                  : 683.0f;
}

static Status add_light(ImportSink *s, const SortLight *l, Error *err)
{
    static const struct {
        const char *type, *color_field;
    } rows[] = {[SORT_LIGHT_POINT] = {"point", "intensity"},
                [SORT_LIGHT_SPOT] = {"spot", "intensity"},
                [SORT_LIGHT_DISTANT] = {"distant", "irradiance"}};
    const char *given = l->name ? l->name : "";
    if ((unsigned)l->kind >= SORT_COUNT_OF(rows))
        return error_set(err, STATUS_FORMAT, "light '%s' is of kind %d", given, (int)l->kind);
    mat4 transform = mat4_from(l->transform);
    if (!is_rigid(&transform) || !import_all_finite(l->color, 3) || l->color[0] < 0 ||
        l->color[1] < 0 || l->color[2] < 0) {
        log_warning(s->log, "light '%s' is broken, and is left out", given);
        return STATUS_OK;
    }
    JsonWriter *json = package_writer_begin(s->writer, PACKAGE_LIGHTS, given, NULL);
    json_write_string(json, "type", rows[l->kind].type);
    import_write_transform(json, &transform);
    float color[3], scale = lumens_per_watt(s, l);
    ASSERT(scale > 0.0f);
    for (int i = 0; i < 3; ++i)
        color[i] = l->color[i] / scale;
    json_write_floats(json, rows[l->kind].color_field, color, 3);
    if (l->kind == SORT_LIGHT_SPOT)
        write_spot_angles(json, l);
    package_writer_end(s->writer);
    ImportedLight light = {.name = arena_strndup(s->arena, given, strlen(given)),
                           .is_distant = l->kind == SORT_LIGHT_DISTANT,
                           .brightest = fmaxf(color[0], fmaxf(color[1], color[2])),
                           .position = mat4_point(&transform, f3(0, 0, 0))};
    return light.name && array_push(s->arena, &s->lights, light) ? STATUS_OK
                                                                 : import_no_memory(err);
}

static SortResult sink_light(void *sink, const SortLight *l)
{
    Error err = {0};
    return sink_result(sink, add_light(sink, l, &err), &err);
}

/* --- the sink ------------------------------------------------------------------------------ */

static SortResult sink_mesh(void *sink, const SortMesh *m, uint32_t *out_id)
{
    Error err = {0};
    return sink_result(sink, import_add_mesh(sink, m, out_id, &err), &err);
}

static SortResult sink_material(void *sink, const SortMaterial *m, uint32_t *out_id)
{
    Error err = {0};
    return sink_result(sink, import_add_material(sink, m, out_id, &err), &err);
}

static SortResult sink_missing(void *sink, const char *what, const char *name)
{
    import_note_missing(sink, NULL, what, name, "is not there");
    return sink_result(sink, STATUS_OK, NULL);
}

static void sink_warning(void *sink, const char *text)
{
    log_warning(((ImportSink *)sink)->log, "%s", text);
}

static void sink_credit(void *sink, const char *text)
{
    ImportSink *s = sink;
    char clean[1024];
    package_clean_name(text, clean, sizeof clean - 1);
    const char *copy = arena_strndup(s->arena, clean, strlen(clean));
    Error err = {0};
    if (clean[0] && (!copy || !array_push(s->arena, &s->credits, copy)))
        (void)sink_result(s, import_no_memory(&err), &err);
}

/* --- create and destroy -------------------------------------------------------------------- */

Status import_sink_create(const ImportSinkDesc *desc, ImportSink **out_sink, Error *err)
{
    *out_sink = NULL;
    ImportSink *s = MEM_NEW(ImportSink);
    if (!s)
        return import_no_memory(err);
    s->log = desc->log;
    s->width_px = DEFAULT_WIDTH_PX;
    s->height_px = DEFAULT_HEIGHT_PX;
    s->callbacks = (SortSceneSink){.size_bytes = sizeof s->callbacks,
                                   .sink = s,
                                   .material = sink_material,
                                   .mesh = sink_mesh,
                                   .instance = sink_instance,
                                   .camera = sink_camera,
                                   .light = sink_light,
                                   .warning = sink_warning,
                                   .credit = sink_credit,
                                   .missing = sink_missing};
    s->files = desc->files;
    s->missing = desc->missing;
    s->light_units = desc->light_units;
    s->arena = arena_create(0, 0);
    const PackageWriteDesc package = {.size_bytes = sizeof package, .folder = desc->folder};
    Status status =
        s->arena ? package_writer_create(&package, &s->writer, err) : import_no_memory(err);
    if (status != STATUS_OK) {
        import_sink_destroy(s);
        return status;
    }
    char title[SCENE_NAME_BYTES_MAX + 1];
    package_clean_name(path_basename(desc->source), title, SCENE_NAME_BYTES_MAX);
    json_write_string(package_writer_fields(s->writer), "name", title);
    *out_sink = s;
    return STATUS_OK;
}

void import_sink_destroy(ImportSink *s)
{
    if (!s)
        return;
    package_writer_destroy(s->writer);
    arena_destroy(s->arena);
    mem_free(s);
}

const SortSceneSink *import_sink_callbacks(ImportSink *s)
{
    return &s->callbacks;
}

Status import_sink_status(const ImportSink *s, Error *err)
{
    return package_writer_status(s->writer, err);
}

/* --- finish -------------------------------------------------------------------------------- */

static void write_credits_and_settings(const ImportSink *s)
{
    JsonWriter *json = package_writer_fields(s->writer);
    json_write_array(json, "credits");
    for (uint32_t i = 0; i < s->credits.count; ++i)
        json_write_string(json, NULL, s->credits.data[i]);
    json_write_end(json);
    json_write_object(json, "settings");
    json_write_array(json, "resolution");
    json_write_u64(json, NULL, s->width_px);
    json_write_u64(json, NULL, s->height_px);
    json_write_end(json);
    json_write_end(json);
}

Status import_sink_finish(ImportSink *s, ImportSummary *out_summary, Error *err)
{
    TRY(import_sink_status(s, err));
    if (s->instances.count == 0)
        return error_set(err, STATUS_FORMAT, "there is no geometry to render in the file");
    if (s->missing_count > 0 && s->missing == SCENE_MISSING_ERROR)
        return error_set(
            err, STATUS_NOT_FOUND,
            "%u file%s that the scene names cannot be had; --texture-path DIR allows a "
            "folder more, --missing magenta renders without",
            s->missing_count, s->missing_count == 1 ? "" : "s");
    ImportSummary summary = {
        .missing_count = s->missing_count,
        .mesh_count = s->meshes.count,
        .instance_count = s->instances.count,
        .material_count = s->materials.count,
        .texture_count = s->texture_count,
        .light_count = package_writer_count(s->writer, PACKAGE_LIGHTS),
        .camera_count = package_writer_count(s->writer, PACKAGE_CAMERAS),
        .triangle_count = s->triangle_count,
    };
    write_credits_and_settings(s);
    TRY(import_make_up_camera(s, err));
    import_make_up_light(s);
    import_judge_lights(s);
    TRY(package_writer_finish(s->writer, err));
    summary.has_made_up_camera = s->has_made_up_camera;
    summary.has_made_up_light = s->has_made_up_light;
    if (out_summary)
        *out_summary = summary;
    return STATUS_OK;
}
