#include "sort/scene/bake_table.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include <math.h>
#include <string.h>

static const char magic[8] = {'S', 'O', 'R', 'T', 'B', 'A', 'K', 'E'};

typedef struct BakeHeader {
    char magic[8];
    uint32_t width, height;
} BakeHeader;

_Static_assert(sizeof(BakeHeader) == 16 && sizeof(BakePoint) == 28, "as in the file");

static Status check_instance(const Scene *scene, uint32_t instance, Error *err)
{
    ASSERT(instance < scene->instance_count);
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    if (!mesh->curves && mesh->triangle_count > 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "object '%s' has no triangles to bake",
                     scene->instances[instance].name);
}

/* --- files -------------------------------------------------------------------------------------- */

static bool is_finite_point(const BakePoint *p)
{
    const float numbers[] = {p->b1, p->b2, p->db1dx, p->db2dx, p->db1dy, p->db2dy};
    for (size_t i = 0; i < SORT_COUNT_OF(numbers); ++i)
        if (!isfinite(numbers[i]))
            return false;
    return true;
}

static Status check_points(const char *path, const BakeTable *t, uint32_t triangle_count,
                           Error *err)
{
    for (size_t i = 0; i < (size_t)t->width * t->height; ++i) {
        const BakePoint *p = &t->points[i];
        if (p->triangle == -1)
            continue;
        uint32_t x = (uint32_t)(i % t->width), y = (uint32_t)(i / t->width);
        if (p->triangle < 0 || (uint32_t)p->triangle >= triangle_count)
            return error_set_at(err, STATUS_FORMAT, path,
                                "pixel %u,%u shows triangle %d of a mesh of %u triangles", x, y,
                                p->triangle, triangle_count);
        if (!is_finite_point(p))
            return error_set_at(err, STATUS_FORMAT, path,
                                "the numbers of pixel %u,%u are not finite", x, y);
    }
    return STATUS_OK;
}

static Status take(const char *path, const char *data, size_t size, uint32_t max_side_px,
                   BakeTable *t, Error *err)
{
    BakeHeader header;
    if (size < sizeof header || memcmp(data, magic, sizeof magic) != 0)
        return error_set_at(err, STATUS_FORMAT, path, "this is no table of points to bake");
    memcpy(&header, data, sizeof header);
    if (header.width == 0 || header.height == 0 || header.width > max_side_px ||
        header.height > max_side_px)
        return error_set_at(err, STATUS_FORMAT, path,
                            "a table of %u x %u pixels; sides go from 1 to %u", header.width,
                            header.height, max_side_px);
    size_t count = (size_t)header.width * header.height;
    if (size != sizeof header + count * sizeof(BakePoint))
        return error_set_at(
            err, STATUS_FORMAT, path, "a table of %u x %u pixels has %zu bytes; this file has %zu",
            header.width, header.height, sizeof header + count * sizeof(BakePoint), size);
    if (!(t->points = MEM_ARRAY(BakePoint, count)))
        return error_set(err, STATUS_NO_MEMORY, "out of memory reading a table of points");
    memcpy(t->points, data + sizeof header, count * sizeof(BakePoint));
    t->width = header.width;
    t->height = header.height;
    return STATUS_OK;
}

Status bake_table_read(const char *path, const Scene *scene, uint32_t instance,
                       uint32_t max_side_px, BakeTable *out_table, Error *err)
{
    char *data;
    size_t size, most = sizeof(BakeHeader) + (size_t)max_side_px * max_side_px * sizeof(BakePoint);
    *out_table = (BakeTable){.instance = instance};
    TRY(check_instance(scene, instance, err));
    TRY(file_read(path, most, &data, &size, err));
    Status status = take(path, data, size, max_side_px, out_table, err);
    mem_free(data);
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    return status == STATUS_OK ? check_points(path, out_table, mesh->triangle_count, err) : status;
}

/* --- texture coordinates ------------------------------------------------------------------------ */

/* A triangle on the film, in pixels. Doubles, so that neighbours agree on which of them a pixel between them belongs to. */
typedef struct FilmTriangle {
    double x[3], y[3];
    double area; /* twice, signed */
} FilmTriangle;

/* Returns twice the signed area of the triangle that a pixel's middle and the edge against corner k make. */
static double part(const FilmTriangle *t, int k, double x, double y)
{
    int a = (k + 1) % 3, b = (k + 2) % 3;
    return (t->x[a] - x) * (t->y[b] - y) - (t->x[b] - x) * (t->y[a] - y);
}

static FilmTriangle place(const BakeTable *table, const SceneMesh *mesh, uint32_t uv_set,
                          const uint32_t tile[2], uint32_t triangle)
{
    FilmTriangle t;
    for (int k = 0; k < 3; ++k) {
        const float *uv = mesh->uv[uv_set] + 2 * (size_t)mesh->indices[3 * (size_t)triangle + k];
        t.x[k] = ((double)uv[0] - tile[0]) * table->width;
        t.y[k] = (1.0 - ((double)uv[1] - tile[1])) * table->height;
    }
    t.area = part(&t, 0, t.x[0], t.y[0]);
    return t;
}

/* The first and the last pixel whose middle may lie between the least and the greatest of three places. False: there is none. */
static bool span(const double at[3], uint32_t size, uint32_t *out_first, uint32_t *out_last)
{
    double low = fmin(fmin(at[0], at[1]), at[2]), high = fmax(fmax(at[0], at[1]), at[2]);
    double first = ceil(low - 0.5), last = floor(high - 0.5);
    if (!(low > -1e9 && high < 1e9) || last < 0.0 || first > (double)size - 1.0 || first > last)
        return false;
    *out_first = first < 0.0 ? 0 : (uint32_t)first;
    *out_last = last > (double)size - 1.0 ? size - 1 : (uint32_t)last;
    return true;
}

static void draw(BakeTable *table, const FilmTriangle *t, uint32_t triangle)
{
    uint32_t x0, x1, y0, y1;
    if (t->area == 0.0 || !span(t->x, table->width, &x0, &x1) ||
        !span(t->y, table->height, &y0, &y1))
        return;
    BakePoint point = {.triangle = (int32_t)triangle,
                       .db1dx = (float)((t->y[2] - t->y[0]) / t->area),
                       .db1dy = (float)((t->x[0] - t->x[2]) / t->area),
                       .db2dx = (float)((t->y[0] - t->y[1]) / t->area),
                       .db2dy = (float)((t->x[1] - t->x[0]) / t->area)};
    for (uint32_t y = y0; y <= y1; ++y)
        for (uint32_t x = x0; x <= x1; ++x) {
            BakePoint *out = &table->points[(size_t)y * table->width + x];
            double b[3];
            for (int k = 0; k < 3; ++k)
                b[k] = part(t, k, x + 0.5, y + 0.5) / t->area;
            if (out->triangle != -1 || b[0] < 0.0 || b[1] < 0.0 || b[2] < 0.0)
                continue;
            point.b1 = (float)b[1], point.b2 = (float)b[2];
            *out = is_finite_point(&point) ? point : *out;
        }
}

Status bake_table_draw(const Scene *scene, uint32_t instance, uint32_t uv_set,
                       const uint32_t tile[2], uint32_t width, uint32_t height,
                       BakeTable *out_table, Error *err)
{
    *out_table = (BakeTable){.width = width, .height = height, .instance = instance};
    TRY(check_instance(scene, instance, err));
    const char *name = scene->instances[instance].name;
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    if (uv_set >= mesh->uv_count)
        return error_set(err, STATUS_INVALID, "object '%s' has %u uv sets; there is no set %u",
                         name, mesh->uv_count, uv_set);
    size_t count = (size_t)width * height, shown = 0;
    if (!(out_table->points = MEM_ARRAY(BakePoint, count)))
        return error_set(err, STATUS_NO_MEMORY, "out of memory making a table of points");
    for (size_t i = 0; i < count; ++i)
        out_table->points[i].triangle = -1;
    for (uint32_t i = 0; i < mesh->triangle_count; ++i) {
        FilmTriangle t = place(out_table, mesh, uv_set, tile, i);
        draw(out_table, &t, i);
    }
    for (size_t i = 0; i < count; ++i)
        shown += out_table->points[i].triangle != -1;
    if (shown == 0)
        return error_set(err, STATUS_INVALID,
                         "no pixel shows object '%s': uv set %u has nothing in this tile", name,
                         uv_set);
    return STATUS_OK;
}

void bake_table_free(BakeTable *table)
{
    mem_free(table->points);
    *table = (BakeTable){0};
}
