/* Meshes of a package: checked, repaired where that is harmless, and written as they come. */
#include "base/alloc.h"
#include "base/check.h"
#include "sort/import/import_state.h"
#include "sort/package/package_names.h"
#include <stdlib.h>
#include <string.h>

enum { VERTICES_MAX = INT32_MAX };

bool import_all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (!isfinite(values[i]))
            return false;
    return true;
}

static Status check_mesh(const SortMesh *m, const char *name, Error *err)
{
    if (m->vertex_count == 0 || m->triangle_count == 0 || m->vertex_count > VERTICES_MAX ||
        m->triangle_count > VERTICES_MAX)
        return error_set(err, STATUS_LIMIT, "mesh '%s': %u vertices and %u triangles", name,
                         m->vertex_count, m->triangle_count);
    size_t index_count = (size_t)m->triangle_count * 3;
    for (size_t i = 0; i < index_count; ++i)
        if (m->indices[i] >= m->vertex_count)
            return error_set(err, STATUS_FORMAT, "mesh '%s': triangle %zu names vertex %u of %u",
                             name, i / 3, m->indices[i], m->vertex_count);
    if (!import_all_finite(m->positions, (size_t)m->vertex_count * 3))
        return error_set(err, STATUS_FORMAT, "mesh '%s': a position is not finite", name);
    return STATUS_OK;
}

static float3 at3(const float *values, uint32_t index)
{
    return f3(values[3 * (size_t)index], values[3 * (size_t)index + 1],
              values[3 * (size_t)index + 2]);
}

static void put3(float *values, uint32_t index, float3 v)
{
    values[3 * (size_t)index] = v.x;
    values[3 * (size_t)index + 1] = v.y;
    values[3 * (size_t)index + 2] = v.z;
}

/* Area-weighted vertex normals. */
static void smooth_normals(const SortMesh *m, float *out)
{
    ASSERT(m->vertex_count > 0 && m->vertex_count <= VERTICES_MAX);
    memset(out, 0, (size_t)m->vertex_count * 3 * sizeof *out);
    for (uint32_t t = 0; t < m->triangle_count; ++t) {
        const uint32_t *corner = m->indices + 3 * (size_t)t;
        ASSERT(corner[0] < m->vertex_count && corner[1] < m->vertex_count &&
               corner[2] < m->vertex_count);
        float3 p0 = at3(m->positions, corner[0]);
        float3 n = f3_cross(f3_sub(at3(m->positions, corner[1]), p0),
                            f3_sub(at3(m->positions, corner[2]), p0));
        for (int k = 0; k < 3; ++k)
            put3(out, corner[k], f3_add(at3(out, corner[k]), n));
    }
}

/* Unit normals; those that have no direction are taken from the triangles around. *out_normals is
 * owned by the caller. */
static Status repair_normals(ImportSink *s, const SortMesh *m, const char *name,
                             float **out_normals, Error *err)
{
    float *normals = MEM_ARRAY(float, (size_t)m->vertex_count * 3), *smooth = NULL;
    if (!normals)
        return import_no_memory(err);
    uint32_t repaired = 0;
    for (uint32_t i = 0; i < m->vertex_count; ++i) {
        float3 n = at3(m->normals, i);
        float length = f3_length(n);
        if (!(length > 1e-6f) || !isfinite(length)) {
            if (!smooth && !(smooth = MEM_ARRAY(float, (size_t)m->vertex_count * 3))) {
                mem_free(normals);
                return import_no_memory(err);
            }
            if (repaired++ == 0)
                smooth_normals(m, smooth);
            n = at3(smooth, i);
            length = f3_length(n);
            if (!(length > 1e-30f) || !isfinite(length)) {
                n = f3(0, 1, 0); /* a vertex of degenerate triangles only: never seen */
                length = 1;
            }
        }
        put3(normals, i, f3_scale(n, 1.0f / length));
    }
    if (repaired > 0)
        log_warning(s->log, "mesh '%s': %u broken normals were made anew", name, repaired);
    mem_free(smooth);
    *out_normals = normals;
    return STATUS_OK;
}

/* Unit tangents, and zeros for those that have no direction: the reader makes them from uv. *out_tangents is
 * owned by the caller; NULL when a handedness is neither 1 nor -1. */
static Status repair_tangents(const SortMesh *m, float **out_tangents, Error *err)
{
    float *tangents = MEM_ARRAY(float, (size_t)m->vertex_count * 4);
    if (!tangents)
        return import_no_memory(err);
    bool is_good = true;
    for (uint32_t i = 0; i < m->vertex_count && is_good; ++i) {
        const float *t = m->tangents + 4 * (size_t)i;
        float3 direction = f3(t[0], t[1], t[2]);
        float length = f3_length(direction);
        bool has_direction = length > 1e-6f && isfinite(length);
        direction = has_direction ? f3_scale(direction, 1.0f / length) : f3(0, 0, 0);
        const float unit[4] = {direction.x, direction.y, direction.z, t[3]};
        memcpy(tangents + 4 * (size_t)i, unit, sizeof unit);
        is_good = t[3] == 1.0f || t[3] == -1.0f;
    }
    if (!is_good)
        mem_free(tangents);
    *out_tangents = is_good ? tangents : NULL;
    return STATUS_OK;
}

/* NULL, which is said, when they are not all finite. */
static const float *finite_or_none(const ImportSink *s, const SortMesh *m, const float *values,
                                   uint32_t components, const char *mesh, const char *what)
{
    ASSERT(components >= 2 && components <= 4);
    if (!values || import_all_finite(values, (size_t)m->vertex_count * components))
        return values;
    log_warning(s->log, "mesh '%s': its %s are not all finite, and are left out", mesh, what);
    return NULL;
}

/* Fields and arrays of the open entry. */
static Status write_mesh(ImportSink *s, const SortMesh *m, const char *name, JsonWriter *json,
                         Error *err)
{
    const float *uv = finite_or_none(s, m, m->uv, 2, name, "uv");
    const float *colors = finite_or_none(s, m, m->colors, 4, name, "vertex colours");
    float *normals = NULL, *tangents = NULL;
    if (m->normals)
        TRY(repair_normals(s, m, name, &normals, err));
    Status status = m->tangents ? repair_tangents(m, &tangents, err) : STATUS_OK;
    if (status == STATUS_OK && m->tangents && !tangents)
        log_warning(s->log, "mesh '%s': its tangents are broken; they are derived from uv instead",
                    name);
    PackageWriter *w = s->writer;
    json_write_u64(json, "vertex_count", m->vertex_count);
    json_write_u64(json, "triangle_count", m->triangle_count);
    package_writer_array(w, "positions", PACKAGE_FLOAT32, 3, m->vertex_count, m->positions);
    package_writer_array(w, "indices", PACKAGE_UINT32, 3, m->triangle_count, m->indices);
    if (normals)
        package_writer_array(w, "normals", PACKAGE_FLOAT32, 3, m->vertex_count, normals);
    if (tangents)
        package_writer_array(w, "tangents", PACKAGE_FLOAT32, 4, m->vertex_count, tangents);
    if (uv) {
        json_write_array(json, "uv");
        package_writer_array(w, NULL, PACKAGE_FLOAT32, 2, m->vertex_count, uv);
        json_write_end(json);
    }
    if (colors) {
        json_write_object(json, "attributes"); /* as gltf_pbr.ssl calls it */
        package_writer_array(w, "vertex_color", PACKAGE_FLOAT32, 4, m->vertex_count, colors);
        json_write_end(json);
    }
    mem_free(normals);
    mem_free(tangents);
    return status;
}

/* The vertices that lie farthest along the directions to the points of a 5 x 5 x 5 grid on a cube's
 * surface, at most 15 degrees apart: who sees them sees all of the mesh but for 3 % of its size. */
static void find_outline(const SortMesh *m, float3 out[IMPORT_OUTLINE])
{
    float3 directions[IMPORT_OUTLINE];
    float best[IMPORT_OUTLINE];
    int count = 0;
    for (int x = -2; x <= 2; ++x)
        for (int y = -2; y <= 2; ++y)
            for (int z = -2; z <= 2; ++z)
                if (abs(x) == 2 || abs(y) == 2 || abs(z) == 2)
                    directions[count++] = f3_normalize(f3((float)x, (float)y, (float)z));
    CHECK(count == IMPORT_OUTLINE);
    for (int i = 0; i < IMPORT_OUTLINE; ++i)
        best[i] = -INFINITY;
    for (uint32_t v = 0; v < m->vertex_count; ++v) {
        float3 p = at3(m->positions, v);
        for (int i = 0; i < IMPORT_OUTLINE; ++i) {
            float along = f3_dot(p, directions[i]);
            if (along > best[i]) {
                best[i] = along;
                out[i] = p;
            }
        }
    }
}

Status import_add_mesh(ImportSink *s, const SortMesh *m, uint32_t *out_id, Error *err)
{
    char given[SCENE_NAME_BYTES_MAX + 1];
    package_clean_name(m->name ? m->name : "", given, SCENE_NAME_BYTES_MAX);
    if (m->material >= s->materials.count)
        return error_set(err, STATUS_FORMAT, "mesh '%s' names material %u of %u", given,
                         m->material, s->materials.count);
    TRY(check_mesh(m, given, err));
    ImportedMesh mesh = {.material = m->material};
    JsonWriter *json = package_writer_begin(s->writer, PACKAGE_MESHES, given, &mesh.name);
    Status status = write_mesh(s, m, mesh.name, json, err);
    package_writer_end(s->writer);
    TRY(status);
    ASSERT(mesh.name);
    find_outline(m, mesh.outline);
    *out_id = s->meshes.count;
    s->triangle_count += m->triangle_count;
    return array_push(s->arena, &s->meshes, mesh) ? STATUS_OK : import_no_memory(err);
}
