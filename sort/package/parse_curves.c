/* The section `curves`: what scene.json says of them, and, once the arrays are there, the check of those and the
 * list of segments. */
#include "sort/package/scene_parse.h"

#include "base/cast.h"
#include "base/check.h"

#include "sort/scene/curve.h"
#include <math.h>

static Status parse_later_points(SceneParser *p, JsonCursor *c, uint32_t index, SceneCurves *curves,
                                 Error *err)
{
    static const MeshArrayRule rule = {CURVE_LATER_POINTS, "motion.points", ARRAY_FLOAT32, 4,
                                       "points"};
    SceneMesh *mesh = &p->meshes[index];
    JsonCursor array, key, field;
    uint32_t count;
    TRY(parse_later(c, &array, &count, err));
    curves->later = count > 0 ? ARENA_ARRAY(p->arena, const float *, count) : NULL;
    mesh->later_count = count;
    for (uint32_t i = 0; i < count; ++i) {
        json_at(&array, i, &key);
        TRY(json_as_object(&key, err));
        TRY(json_get_any(&key, "points", JSON_REQUIRED, &field, err));
        TRY(parse_array(p, &field, &rule, index, (int32_t)i, mesh->vertex_count, err));
        TRY(json_finish(&key, err));
    }
    return STATUS_OK;
}

static Status parse_entry(SceneParser *p, JsonCursor *c, uint32_t index, Error *err)
{
    static const char *const bases[] = {"linear", "bezier", "b_spline", "catmull_rom"};
    static const char *const shapes[] = {"round", "ribbon"};
    static const MeshArrayRule points = {CURVE_POINTS, "points", ARRAY_FLOAT32, 4, "points"},
                               counts = {CURVE_POINT_COUNTS, "point_counts", ARRAY_UINT32, 1,
                                         "curves"},
                               slots = {MESH_MATERIAL_INDICES, "material_indices", ARRAY_UINT16, 1,
                                        "curves"};
    ASSERT(index >= p->triangle_mesh_count && index < p->scene->mesh_count);
    SceneMesh *mesh = &p->meshes[index];
    SceneCurves *curves = ARENA_NEW(p->arena, SceneCurves);
    JsonCursor field;
    uint32_t basis, shape = 0;
    mesh->curves = curves;
    TRY(json_as_object(c, err));
    TRY(scene_parse_name(p, c, &p->curve_names, &mesh->name, err));
    TRY(json_get_choice(c, "basis", JSON_REQUIRED, bases, SORT_COUNT_OF(bases), &basis, err));
    TRY(json_get_choice(c, "shape", JSON_OPTIONAL, shapes, SORT_COUNT_OF(shapes), &shape, err));
    curves->basis = (SceneCurveBasis)basis;
    curves->is_ribbon = shape == 1;
    TRY(json_get_u32(c, "point_count", JSON_REQUIRED, 1, SCENE_VERTICES_MAX, &mesh->vertex_count,
                     err));
    TRY(json_get_u32(c, "curve_count", JSON_REQUIRED, 1, SCENE_VERTICES_MAX, &curves->curve_count,
                     err));
    TRY(json_get_any(c, "points", JSON_REQUIRED, &field, err));
    TRY(parse_array(p, &field, &points, index, -1, mesh->vertex_count, err));
    TRY(json_get_any(c, "point_counts", JSON_REQUIRED, &field, err));
    TRY(parse_array(p, &field, &counts, index, -1, curves->curve_count, err));
    TRY(json_get_any(c, "material_indices", JSON_OPTIONAL, &field, err));
    if (json_exists(&field))
        TRY(parse_array(p, &field, &slots, index, -1, curves->curve_count, err));
    TRY(parse_uv(p, c, index, "curves", curves->curve_count, err));
    TRY(parse_mesh_attributes(p, c, index, err));
    TRY(parse_later_points(p, c, index, curves, err));
    return json_finish(c, err);
}

Status parse_curves(SceneParser *p, const JsonCursor *array, uint32_t first, Error *err)
{
    for (uint32_t i = 0; first + i < p->scene->mesh_count; ++i) {
        JsonCursor c;
        json_at(array, i, &c);
        TRY(parse_entry(p, &c, first + i, err));
    }
    return STATUS_OK;
}

/* --- once the arrays are there ------------------------------------------------------------------------- */

static Status check_points(const SceneMesh *mesh, uint32_t index, Error *err)
{
    for (uint32_t key = 0; key <= mesh->later_count; ++key) {
        const float *points = key == 0 ? mesh->curves->points : mesh->curves->later[key - 1];
        for (size_t i = 0; i < mesh->vertex_count; ++i) {
            if (points[4 * i + 3] < 0.0f)
                return error_set(err, STATUS_FORMAT,
                                 "curves[%u].%spoints: the radius of point %zu "
                                 "is negative",
                                 index, key > 0 ? "motion." : "", i);
        }
    }
    return STATUS_OK;
}

static Status check_counts(const SceneMesh *mesh, uint32_t index, Error *err)
{
    const SceneCurves *c = mesh->curves;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < c->curve_count; ++i) {
        if (!curve_allows_points(c->basis, c->point_counts[i]))
            return error_set(err, STATUS_FORMAT,
                             "curves[%u].point_counts: curve %u has %u points; this basis needs %s",
                             index, i, c->point_counts[i], curve_points_rule(c->basis));
        sum += c->point_counts[i];
    }
    if (sum != mesh->vertex_count)
        return error_set(err, STATUS_FORMAT,
                         "curves[%u].point_counts: the curves have %llu points together, but there "
                         "are %u",
                         index, (unsigned long long)sum, mesh->vertex_count);
    return STATUS_OK;
}

static void list_segments(const SceneCurves *c, uint32_t *segments, uint32_t *first_segment)
{
    uint32_t stride = c->basis == SCENE_CURVE_BEZIER ? 3 : 1, point = 0, segment = 0;
    for (uint32_t i = 0; i < c->curve_count; ++i) {
        uint32_t count = (uint32_t)curve_segment_count(c->basis, c->point_counts[i], 1);
        first_segment[i] = segment;
        for (uint32_t k = 0; k < count; ++k)
            segments[segment++] = point + k * stride;
        point += c->point_counts[i];
    }
    first_segment[c->curve_count] = segment;
}

Status curves_finish(Arena *arena, SceneMesh *mesh, uint32_t index, Error *err)
{
    SceneCurves *c = cast_away_const(mesh->curves);
    TRY(check_points(mesh, index, err));
    TRY(check_counts(mesh, index, err));
    uint64_t count = curve_segment_count(c->basis, mesh->vertex_count, c->curve_count);
    uint32_t *segments = ARENA_ARRAY(arena, uint32_t, (size_t)count);
    uint32_t *first_segment = ARENA_ARRAY(arena, uint32_t, (size_t)c->curve_count + 1);
    if (!segments || !first_segment)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %llu segments of curves",
                         (unsigned long long)count);
    c->segment_count = (uint32_t)count;
    c->segments = segments;
    c->first_segment = first_segment;
    list_segments(c, segments, first_segment);
    return STATUS_OK;
}
