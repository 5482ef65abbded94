/* Meshes of a package: checked, repaired where that is harmless, and written as they come. */
#include "base/alloc.h"
#include "base/check.h"
#include "sort/scene/package_writer.h"
#include <stdlib.h>
#include <string.h>

enum { VERTICES_MAX = INT32_MAX };

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "arrays are written as they lie in memory");

static Status append_array(FILE *stream, const void *data, const char *type, uint32_t components,
                           uint32_t count, PackageArray *out, uint64_t *offset_bytes)
{
    *out = (PackageArray){
        .type = type, .offset_bytes = *offset_bytes, .components = components, .count = count};
    size_t numbers = (size_t)components * count;
    fwrite(data, sizeof(float), numbers, stream);
    *offset_bytes += numbers * sizeof(float);
    return STATUS_OK;
}

bool package_all_finite(const float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
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
    for (size_t i = 0; i < index_count; i++)
        if (m->indices[i] >= m->vertex_count)
            return error_set(err, STATUS_FORMAT, "mesh '%s': triangle %zu names vertex %u of %u",
                             name, i / 3, m->indices[i], m->vertex_count);
    if (!package_all_finite(m->positions, (size_t)m->vertex_count * 3))
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
    memset(out, 0, (size_t)m->vertex_count * 3 * sizeof *out);
    for (uint32_t t = 0; t < m->triangle_count; t++) {
        const uint32_t *corner = m->indices + 3 * (size_t)t;
        float3 p0 = at3(m->positions, corner[0]);
        float3 n = f3_cross(f3_sub(at3(m->positions, corner[1]), p0),
                            f3_sub(at3(m->positions, corner[2]), p0));
        for (int k = 0; k < 3; k++)
            put3(out, corner[k], f3_add(at3(out, corner[k]), n));
    }
}

/* Unit normals; those that have no direction are taken from the triangles around. *out_normals is
 * owned by the caller. */
static Status repair_normals(PackageWriter *w, const SortMesh *m, const char *name,
                             float **out_normals, Error *err)
{
    float *normals = MEM_ARRAY(float, (size_t)m->vertex_count * 3), *smooth = NULL;
    if (!normals)
        return package_no_memory(err);
    uint32_t repaired = 0;
    for (uint32_t i = 0; i < m->vertex_count; i++) {
        float3 n = at3(m->normals, i);
        float length = f3_length(n);
        if (!(length > 1e-6f) || !isfinite(length)) {
            if (!smooth && !(smooth = MEM_ARRAY(float, (size_t)m->vertex_count * 3))) {
                mem_free(normals);
                return package_no_memory(err);
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
        log_warning(w->log, "mesh '%s': %u broken normals were made anew", name, repaired);
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
        return package_no_memory(err);
    bool is_good = true;
    for (uint32_t i = 0; i < m->vertex_count && is_good; i++) {
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
static const float *finite_or_none(const PackageWriter *w, const SortMesh *m, const float *values,
                                   uint32_t components, const char *mesh, const char *what)
{
    if (!values || package_all_finite(values, (size_t)m->vertex_count * components))
        return values;
    log_warning(w->log, "mesh '%s': its %s are not all finite, and are left out", mesh, what);
    return NULL;
}

static Status write_mesh_file(PackageWriter *w, const SortMesh *m, PackageMesh *record, Error *err)
{
    const float *uv = finite_or_none(w, m, m->uv, 2, record->name, "uv");
    const float *colors = finite_or_none(w, m, m->colors, 4, record->name, "vertex colours");
    float *normals = NULL, *tangents = NULL;
    FILE *stream = NULL;
    Status status = STATUS_OK;
    if (m->normals)
        TRY(repair_normals(w, m, record->name, &normals, err));
    if (m->tangents)
        status = repair_tangents(m, &tangents, err);
    if (status == STATUS_OK && m->tangents && !tangents)
        log_warning(w->log, "mesh '%s': its tangents are broken; they are derived from uv instead",
                    record->name);
    if (status == STATUS_OK)
        status = package_open_part(w, record->file, &stream, err);
    if (status == STATUS_OK) {
        uint64_t offset = 0;
        append_array(stream, m->positions, "float32", 3, m->vertex_count, &record->positions,
                     &offset);
        append_array(stream, m->indices, "uint32", 3, m->triangle_count, &record->indices, &offset);
        if (normals)
            append_array(stream, normals, "float32", 3, m->vertex_count, &record->normals, &offset);
        if (tangents)
            append_array(stream, tangents, "float32", 4, m->vertex_count, &record->tangents,
                         &offset);
        if (uv)
            append_array(stream, uv, "float32", 2, m->vertex_count, &record->uv, &offset);
        if (colors)
            append_array(stream, colors, "float32", 4, m->vertex_count, &record->colors, &offset);
        status = package_close_part(stream, record->file, err);
    }
    mem_free(normals);
    mem_free(tangents);
    return status;
}

/* The vertices that lie farthest along the directions to the points of a 5 x 5 x 5 grid on a cube's
 * surface, at most 15 degrees apart: who sees them sees all of the mesh but for 3 % of its size. */
static void find_outline(const SortMesh *m, float3 out[PACKAGE_OUTLINE])
{
    float3 directions[PACKAGE_OUTLINE];
    float best[PACKAGE_OUTLINE];
    int count = 0;
    for (int x = -2; x <= 2; x++)
        for (int y = -2; y <= 2; y++)
            for (int z = -2; z <= 2; z++)
                if (abs(x) == 2 || abs(y) == 2 || abs(z) == 2)
                    directions[count++] = f3_normalize(f3((float)x, (float)y, (float)z));
    CHECK(count == PACKAGE_OUTLINE);
    for (int i = 0; i < PACKAGE_OUTLINE; i++)
        best[i] = -INFINITY;
    for (uint32_t v = 0; v < m->vertex_count; v++) {
        float3 p = at3(m->positions, v);
        for (int i = 0; i < PACKAGE_OUTLINE; i++) {
            float along = f3_dot(p, directions[i]);
            if (along > best[i]) {
                best[i] = along;
                out[i] = p;
            }
        }
    }
}

Status package_add_mesh(PackageWriter *w, const SortMesh *m, uint32_t *out_id, Error *err)
{
    PackageRecords *r = &w->records;
    if (m->material >= r->materials.count)
        return error_set(err, STATUS_FORMAT, "mesh '%s' names material %u of %u",
                         m->name ? m->name : "", m->material, r->materials.count);
    if (r->meshes.count >= PACKAGE_OBJECTS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d meshes", (int)PACKAGE_OBJECTS_MAX);
    PackageMesh record = {.vertex_count = m->vertex_count,
                          .triangle_count = m->triangle_count,
                          .material = m->material};
    record.name = package_unique_name(w, &w->mesh_names, m->name, "mesh", r->meshes.count);
    if (!record.name)
        return package_no_memory(err);
    TRY(check_mesh(m, record.name, err));
    char slug[PACKAGE_SLUG_MAX + 1];
    package_slug(record.name, slug);
    record.file = arena_printf(w->arena, "meshes/%04u_%s.bin", r->meshes.count, slug);
    if (!record.file)
        return package_no_memory(err);
    find_outline(m, record.outline);
    TRY(write_mesh_file(w, m, &record, err));
    *out_id = r->meshes.count;
    w->triangle_count += m->triangle_count;
    return array_push(w->arena, &r->meshes, record) ? STATUS_OK : package_no_memory(err);
}
