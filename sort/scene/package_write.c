/* The package writer: sink calls to files and records, then scene.json.
 *
 *   DIR.partial/              grows during the import; removed by destroy, or
 *   DIR/                      what it is renamed to by finish
 *
 * The sink's functions run inside an importer's library, so they never jump out: each returns
 * SORT_ERROR_SINK and leaves the reason in writer->error. The first error sticks. */
#include "sort/scene/package_write.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "sort/scene/package_writer.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DEFAULT_WIDTH_PX = 1280, DEFAULT_HEIGHT_PX = 720 };

#define DEG_PER_RAD 57.2957795130823f

/* --- errors -------------------------------------------------------------------------------- */

static SortResult sink_result(PackageWriter *w, Status status, const Error *err)
{
    if (status == STATUS_OK)
        return SORT_OK;
    if (w->error.code == STATUS_OK)
        w->error = *err;
    return SORT_ERROR_SINK;
}

Status package_no_memory(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "out of memory");
}

/* --- files of the package ------------------------------------------------------------------ */

Status package_open_part(const PackageWriter *w, const char *file, FILE **out_stream, Error *err)
{
    char path[PATH_BYTES];
    TRY(path_join(w->partial, file, path, err));
    *out_stream = fopen(path, "wb");
    if (!*out_stream)
        return error_set_at(err, STATUS_IO, path, "cannot be created: %s", strerror(errno));
    return STATUS_OK;
}

Status package_close_part(FILE *stream, const char *file, Error *err)
{
    bool had_error = ferror(stream) != 0;
    if (fclose(stream) != 0 || had_error)
        return error_set_at(err, STATUS_IO, file, "cannot be written: %s", strerror(errno));
    return STATUS_OK;
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
    for (int k = 0; k < 3; k++)
        axis[k] = f3(m->m[0][k], m->m[1][k], m->m[2][k]);
    for (int k = 0; k < 3; k++)
        if (!(fabsf(f3_length(axis[k]) - 1.0f) < tolerance) ||
            !(fabsf(f3_dot(axis[k], axis[(k + 1) % 3])) < tolerance))
            return false;
    return mat4_is_finite(*m) && f3_dot(f3_cross(axis[0], axis[1]), axis[2]) > 0.0f;
}

static Status add_instance(PackageWriter *w, const SortInstance *i, Error *err)
{
    PackageRecords *r = &w->records;
    const char *given = i->name ? i->name : "";
    if (i->mesh >= r->meshes.count)
        return error_set(err, STATUS_FORMAT, "instance '%s' names mesh %u of %u", given, i->mesh,
                         r->meshes.count);
    if (r->instances.count >= PACKAGE_INSTANCES_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d instances", (int)PACKAGE_INSTANCES_MAX);
    PackageInstance record = {.mesh = i->mesh, .transform = mat4_from(i->transform)};
    mat4 inverse;
    if (!mat4_is_finite(record.transform) || !mat4_is_affine(record.transform) ||
        !mat4_inverse(record.transform, &inverse)) {
        /* a scale of zero is how some files hide things */
        log_warning(w->log, "instance '%s' has a transform without inverse, and is left out",
                    given);
        return STATUS_OK;
    }
    record.name = package_unique_name(w, &w->instance_names, given, "instance", r->instances.count);
    if (!record.name || !array_push(w->arena, &r->instances, record))
        return package_no_memory(err);
    return STATUS_OK;
}

static SortResult sink_instance(void *writer, const SortInstance *i)
{
    Error err = {0};
    return sink_result(writer, add_instance(writer, i, &err), &err);
}

/* The picture takes the shape of the first camera that has one. */
static void take_aspect(PackageRecords *r, float aspect)
{
    bool is_first = r->cameras.count == 1;
    if (!is_first || !(aspect > 0.01f && aspect < 100.0f))
        return;
    float longer = DEFAULT_WIDTH_PX;
    r->width_px = (uint32_t)lroundf(aspect >= 1.0f ? longer : longer * aspect);
    r->height_px = (uint32_t)lroundf(aspect >= 1.0f ? longer / aspect : longer);
}

static Status add_camera(PackageWriter *w, const SortCamera *c, Error *err)
{
    PackageRecords *r = &w->records;
    const char *given = c->name ? c->name : "";
    if (r->cameras.count >= PACKAGE_OBJECTS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d cameras", (int)PACKAGE_OBJECTS_MAX);
    PackageCamera record = {.transform = mat4_from(c->transform),
                            .fov_y_deg = c->fov_y_rad * DEG_PER_RAD,
                            .height_m = c->is_orthographic ? c->height_m : 0.0f};
    bool is_usable = c->is_orthographic
                         ? record.height_m > 0 && isfinite(record.height_m)
                         : record.fov_y_deg >= 0.0001f && record.fov_y_deg <= 179.999f;
    if (!is_rigid(&record.transform) || !is_usable) {
        log_warning(w->log, "camera '%s' makes no picture (%g %s), and is left out", given,
                    (double)(c->is_orthographic ? record.height_m : record.fov_y_deg),
                    c->is_orthographic ? "metres high" : "degrees");
        return STATUS_OK;
    }
    record.name = package_unique_name(w, &w->camera_names, given, "camera", r->cameras.count);
    if (!record.name || !array_push(w->arena, &r->cameras, record))
        return package_no_memory(err);
    take_aspect(r, c->aspect);
    return STATUS_OK;
}

static SortResult sink_camera(void *writer, const SortCamera *c)
{
    Error err = {0};
    return sink_result(writer, add_camera(writer, c, &err), &err);
}

static Status add_light(PackageWriter *w, const SortLight *l, Error *err)
{
    static const struct {
        const char *type, *color_field;
    } rows[] = {[SORT_LIGHT_POINT] = {"point", "intensity"},
                [SORT_LIGHT_SPOT] = {"spot", "intensity"},
                [SORT_LIGHT_DISTANT] = {"distant", "irradiance"}};
    PackageRecords *r = &w->records;
    const char *given = l->name ? l->name : "";
    if ((unsigned)l->kind >= SORT_COUNT_OF(rows))
        return error_set(err, STATUS_FORMAT, "light '%s' is of kind %d", given, (int)l->kind);
    if (r->lights.count >= PACKAGE_OBJECTS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d lights", (int)PACKAGE_OBJECTS_MAX);
    PackageLight record = {.type = rows[l->kind].type,
                           .color_field = rows[l->kind].color_field,
                           .transform = mat4_from(l->transform),
                           .color = f3(l->color[0], l->color[1], l->color[2])};
    if (!is_rigid(&record.transform) || !f3_is_finite(record.color) || record.color.x < 0 ||
        record.color.y < 0 || record.color.z < 0) {
        log_warning(w->log, "light '%s' is broken, and is left out", given);
        return STATUS_OK;
    }
    if (l->kind == SORT_LIGHT_SPOT) {
        record.outer_angle_deg = clampf(l->outer_angle_rad * DEG_PER_RAD, 0.01f, 90.0f);
        record.inner_angle_deg =
            clampf(l->inner_angle_rad * DEG_PER_RAD, 0.0f, 0.999f * record.outer_angle_deg);
    }
    record.name = package_unique_name(w, &w->light_names, given, "light", r->lights.count);
    if (!record.name || !array_push(w->arena, &r->lights, record))
        return package_no_memory(err);
    return STATUS_OK;
}

static SortResult sink_light(void *writer, const SortLight *l)
{
    Error err = {0};
    return sink_result(writer, add_light(writer, l, &err), &err);
}

/* --- the sink ------------------------------------------------------------------------------ */

static SortResult sink_mesh(void *writer, const SortMesh *m, uint32_t *out_id)
{
    Error err = {0};
    return sink_result(writer, package_add_mesh(writer, m, out_id, &err), &err);
}

static SortResult sink_material(void *writer, const SortMaterial *m, uint32_t *out_id)
{
    Error err = {0};
    return sink_result(writer, package_add_material(writer, m, out_id, &err), &err);
}

static void sink_warning(void *writer, const char *text)
{
    log_warning(((PackageWriter *)writer)->log, "%s", text);
}

static void sink_credit(void *writer, const char *text)
{
    PackageWriter *w = writer;
    char clean[1024];
    package_clean_name(text, clean, sizeof clean - 1);
    const char *copy = arena_strndup(w->arena, clean, strlen(clean));
    if (clean[0] && (!copy || !array_push(w->arena, &w->records.credits, copy)))
        w->error.code = package_no_memory(&w->error);
}

/* --- create and destroy -------------------------------------------------------------------- */

static Status make_folders(PackageWriter *w, Error *err)
{
    char parent[PATH_BYTES], path[PATH_BYTES];
    Str folder = path_dirname(w->partial);
    snprintf(parent, sizeof parent, "%.*s", STR_ARG(folder));
    TRY(file_make_directories(parent, err));
    if (mkdir(w->partial, 0777) != 0) {
        Status status = error_set_at(err, errno == EEXIST ? STATUS_INVALID : STATUS_IO, w->partial,
                                     "cannot be created: %s", strerror(errno));
        w->partial[0] = '\0'; /* not ours to remove */
        return status;
    }
    TRY(path_join(w->partial, "meshes", path, err));
    TRY(file_make_directories(path, err));
    TRY(path_join(w->partial, "textures", path, err));
    return file_make_directories(path, err);
}

static Status copy_path(const char *from, char out[PATH_BYTES], Error *err)
{
    TRY(path_join(NULL, from, out, err));
    size_t size = strlen(out);
    while (size > 1 && out[size - 1] == '/')
        out[--size] = '\0';
    return STATUS_OK;
}

Status package_partial_folder(const char *folder, char out_path[PATH_BYTES], Error *err)
{
    TRY(copy_path(folder, out_path, err));
    size_t size = strlen(out_path);
    int added = snprintf(out_path + size, PATH_BYTES - size, ".partial");
    if (added < 0 || size + (size_t)added >= PATH_BYTES)
        return error_set_at(err, STATUS_LIMIT, folder, "the path is too long");
    return STATUS_OK;
}

static Status set_paths(PackageWriter *w, const PackageWriteDesc *desc, Error *err)
{
    TRY(copy_path(desc->folder, w->folder, err));
    if (file_exists(w->folder))
        return error_set_at(err, STATUS_INVALID, w->folder, "is there already");
    TRY(package_partial_folder(w->folder, w->partial, err));
    Str folder = path_dirname(desc->source);
    snprintf(w->source_folder, sizeof w->source_folder, "%.*s", STR_ARG(folder));
    char title[PACKAGE_NAME_BYTES_MAX + 1];
    package_clean_name(path_basename(desc->source), title, PACKAGE_NAME_BYTES_MAX);
    w->records.name = arena_strndup(w->arena, title, strlen(title));
    return w->records.name ? STATUS_OK : package_no_memory(err);
}

Status package_writer_create(const PackageWriteDesc *desc, PackageWriter **out_writer, Error *err)
{
    *out_writer = NULL;
    PackageWriter *w = MEM_NEW(PackageWriter);
    if (!w)
        return package_no_memory(err);
    w->log = desc->log;
    w->records.width_px = DEFAULT_WIDTH_PX;
    w->records.height_px = DEFAULT_HEIGHT_PX;
    w->sink = (SortSceneSink){.size_bytes = sizeof w->sink,
                              .sink = w,
                              .material = sink_material,
                              .mesh = sink_mesh,
                              .instance = sink_instance,
                              .camera = sink_camera,
                              .light = sink_light,
                              .warning = sink_warning,
                              .credit = sink_credit};
    w->arena = arena_create(0, 0);
    Status status = w->arena ? set_paths(w, desc, err) : package_no_memory(err);
    if (status == STATUS_OK)
        status = make_folders(w, err);
    else
        w->partial[0] = '\0';
    if (status != STATUS_OK) {
        package_writer_destroy(w);
        return status;
    }
    *out_writer = w;
    return STATUS_OK;
}

void package_writer_destroy(PackageWriter *w)
{
    if (!w)
        return;
    Error ignored;
    if (!w->is_finished && w->partial[0] && file_remove_tree(w->partial, &ignored) != STATUS_OK)
        log_warning(w->log, "%s stays behind: %s", w->partial, ignored.text);
    NameSet *sets[] = {&w->mesh_names, &w->instance_names, &w->material_names, &w->camera_names,
                       &w->light_names};
    for (size_t i = 0; i < SORT_COUNT_OF(sets); i++)
        mem_free(sets[i]->hashes);
    arena_destroy(w->arena);
    mem_free(w);
}

const SortSceneSink *package_writer_sink(PackageWriter *w)
{
    return &w->sink;
}

const Error *package_writer_error(const PackageWriter *w)
{
    return &w->error;
}

/* --- finish -------------------------------------------------------------------------------- */

static Status write_json(const PackageWriter *w, Error *err)
{
    StrBuf text = {0};
    package_records_to_json(&w->records, &text);
    char path[PATH_BYTES];
    Status status =
        text.failed ? package_no_memory(err) : path_join(w->partial, "scene.json", path, err);
    if (status == STATUS_OK)
        status = file_write(path, text.data, text.size_bytes, err);
    strbuf_free(&text);
    return status;
}

Status package_writer_finish(PackageWriter *w, PackageWriteSummary *out_summary, Error *err)
{
    CHECK(!w->is_finished);
    PackageRecords *r = &w->records;
    if (w->error.code != STATUS_OK) {
        if (err)
            *err = w->error;
        return w->error.code;
    }
    if (r->instances.count == 0)
        return error_set(err, STATUS_FORMAT, "there is no geometry to render in the file");
    uint32_t camera_count = r->cameras.count, light_count = r->lights.count;
    TRY(package_make_up_camera(w, err));
    TRY(package_make_up_light(w, err));
    TRY(write_json(w, err));
    if (rename(w->partial, w->folder) != 0)
        return error_set_at(err, STATUS_IO, w->folder, "cannot be created: %s", strerror(errno));
    w->is_finished = true;
    if (out_summary)
        *out_summary = (PackageWriteSummary){.mesh_count = r->meshes.count,
                                             .instance_count = r->instances.count,
                                             .material_count = r->materials.count,
                                             .texture_count = w->texture_count,
                                             .light_count = light_count,
                                             .camera_count = camera_count,
                                             .triangle_count = w->triangle_count,
                                             .has_made_up_camera = w->has_made_up_camera,
                                             .has_made_up_light = w->has_made_up_light};
    return STATUS_OK;
}
