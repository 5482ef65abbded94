#include "sort/shade/attributes_fill.h"

#include "base/check.h"
#include "base/hash.h"
#include "sort/scene/curve.h"
#include "sort/shade/ssl_tables.h"
#include <string.h>

/* Where the values of an attribute lie in one mesh. */
typedef struct Source {
    const float *values; /* [vertex][components]; NULL: the mesh does not have it */
    uint32_t components;
    bool is_per_curve;
} Source;

static Source find_source(const SceneMesh *mesh, const char *name)
{
    for (uint32_t i = 0; i < mesh->attribute_count; ++i)
        if (strcmp(mesh->attributes[i].name, name) == 0)
            return (Source){mesh->attributes[i].values, mesh->attributes[i].components,
                            mesh->attributes[i].is_per_curve};
    bool is_uv = name[0] == 'u' && name[1] == 'v' && name[2] >= '0' && name[2] <= '7' && !name[3];
    uint32_t set = is_uv ? (uint32_t)(name[2] - '0') : SCENE_UV_SETS_MAX;
    if (set < mesh->uv_count)
        return (Source){mesh->uv[set], 2, mesh->curves != NULL};
    return (Source){0};
}

static Source find_object_source(const SceneInstance *instance, const char *name)
{
    for (uint32_t i = 0; i < instance->attribute_count; ++i)
        if (strcmp(instance->attributes[i].name, name) == 0)
            return (Source){.values = instance->attributes[i].values,
                            .components = instance->attributes[i].components};
    return (Source){0};
}

/* Value, ddx and ddy, four components each. */
typedef struct PointValue {
    float v[3][4];
    bool exists;
} PointValue;

static PointValue interpolate_curve(const SceneCurves *curves, const Source *s, SurfaceLane h)
{
    PointValue p = {.exists = true};
    float weights[4] = {1.0f}, du[4] = {0.0f};
    uint32_t count = 1, first;
    if (s->is_per_curve) {
        first = curve_of_segment(curves, surface_triangle(h));
    } else {
        count = curve_weights(curves->basis, h.block->b1[h.lane], weights, du);
        first = curves->segments[surface_triangle(h)];
    }
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < s->components; ++k) {
            float value = s->values[((size_t)first + i) * s->components + k];
            p.v[0][k] += weights[i] * value;
            p.v[1][k] += du[i] * h.block->db1dx[h.lane] * value;
            p.v[2][k] += du[i] * h.block->db1dy[h.lane] * value;
        }
    return p;
}

static PointValue interpolate(const SceneMesh *mesh, const Source *s, SurfaceLane h)
{
    PointValue p = {.exists = true};
    if (mesh->curves)
        return interpolate_curve(mesh->curves, s, h);
    ASSERT(s->components <= 4 && surface_triangle(h) < mesh->triangle_count);
    const uint32_t *corner = mesh->indices + (size_t)3 * surface_triangle(h);
    for (uint32_t k = 0; k < s->components; ++k) {
        float a = s->values[(size_t)corner[0] * s->components + k];
        float b = s->values[(size_t)corner[1] * s->components + k] - a;
        float c = s->values[(size_t)corner[2] * s->components + k] - a;
        p.v[0][k] = a + h.block->b1[h.lane] * b + h.block->b2[h.lane] * c;
        p.v[1][k] = h.block->db1dx[h.lane] * b + h.block->db2dx[h.lane] * c;
        p.v[2][k] = h.block->db1dy[h.lane] * b + h.block->db2dy[h.lane] * c;
    }
    return p;
}

/* Returns a value that the whole object has; its derivatives are zero. */
static PointValue constant(const Source *s)
{
    PointValue p = {.exists = true};
    ASSERT(s->components <= 4);
    memcpy(p.v[0], s->values, s->components * sizeof *s->values);
    return p;
}

static PointValue default_of(const SslAttributeInfo *info)
{
    PointValue p = {.exists = false};
    if (info->type == SSL_BOOL)
        p.v[0][0] = info->default_value.b ? 1.0f : 0.0f;
    else if (info->type == SSL_INT)
        p.v[0][0] = (float)info->default_value.i;
    else
        memcpy(p.v[0], info->default_value.f, ssl_type_scalars(info->type) * sizeof(float));
    return p;
}

static void put3(float *to, float3 v)
{
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

/* The height over each edge is the corner's barycentric weight times the height of the triangle there. */
static float edge_distance(const Scene *scene, SurfaceLane h)
{
    float3 p[3];
    float nearest = INFINITY;
    const float weights[3] = {1.0f - h.block->b1[h.lane] - h.block->b2[h.lane], h.block->b1[h.lane],
                              h.block->b2[h.lane]};
    scene_triangle(scene, surface_instance(h), surface_triangle(h), p);
    float area = f3_length(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
    for (uint32_t k = 0; k < 3; ++k) {
        float edge = f3_length(f3_sub(p[(k + 2) % 3], p[(k + 1) % 3]));
        nearest = fminf(nearest, edge > 0.0f ? weights[k] * area / edge : 0.0f);
    }
    return fmaxf(nearest, 0.0f);
}

static void put1(PointValue *p, float value, float dx, float dy)
{
    p->v[0][0] = value;
    p->v[1][0] = dx;
    p->v[2][0] = dy;
}

/* The radius by its own basis, from the fourth numbers of the points. */
static void put_radius(PointValue *p, const SceneMesh *mesh, SurfaceLane h)
{
    CurvePoint c;
    curve_eval(mesh, surface_triangle(h), h.block->b1[h.lane], 0.0f, &c);
    put1(p, c.r, c.r1 * h.block->db1dx[h.lane], c.r1 * h.block->db1dy[h.lane]);
}

static PointValue curve_value(const Scene *scene, AttributeRow row, SurfaceLane h)
{
    const SceneInstance *instance = &scene->instances[surface_instance(h)];
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    PointValue p = {.exists = mesh->curves != NULL};
    if (!p.exists)
        return p;
    uint32_t curve = curve_of_segment(mesh->curves, surface_triangle(h));
    const uint32_t *first = mesh->curves->first_segment + curve;
    float per_segment = 1.0f / (float)(first[1] - first[0]);
    if (row == ATTRIBUTE_curve_along)
        put1(&p, ((float)(surface_triangle(h) - first[0]) + h.block->b1[h.lane]) * per_segment,
             h.block->db1dx[h.lane] * per_segment, h.block->db1dy[h.lane] * per_segment);
    else if (row == ATTRIBUTE_curve_across)
        put1(&p, h.block->b2[h.lane], h.block->db2dx[h.lane], h.block->db2dy[h.lane]);
    else if (row == ATTRIBUTE_curve_radius)
        put_radius(&p, mesh, h);
    else
        p.v[0][0] = (float)(hash_mix64(hash_mix64(curve + 1u) ^ instance->mesh) >> 40) * 0x1p-24f;
    return p;
}

/* Returns the value of an attribute that the renderer provides (attributes.inc). */
static PointValue own_value(const Scene *scene, const char *name, SurfaceLane h)
{
    PointValue p = {.exists = true};
    if (surface_instance(h) == HIT_NO_INSTANCE) {
        if (strcmp(name, sort_ssl_attributes[ATTRIBUTE_object_position].name) != 0)
            return (PointValue){.exists = false};
        put3(p.v[0], surface_vector(h, h.block->P));
        put3(p.v[1], surface_vector(h, h.block->dPdx));
        put3(p.v[2], surface_vector(h, h.block->dPdy));
        return p;
    }
    const mat4 *to_object = &scene->instances[surface_instance(h)].world_to_object;
    uint32_t row = 0;
    while (row < ATTRIBUTE_COUNT && strcmp(name, sort_ssl_attributes[row].name) != 0)
        ++row;
    bool is_curve = scene->meshes[scene->instances[surface_instance(h)].mesh].curves != NULL;
    switch ((AttributeRow)row) {
    case ATTRIBUTE_edge_distance:
        p.exists = !is_curve;
        p.v[0][0] = is_curve ? 0.0f : edge_distance(scene, h);
        return p;
    case ATTRIBUTE_barycentrics:
        p.exists = !is_curve;
        if (is_curve)
            return p;
        p.v[0][0] = h.block->b1[h.lane], p.v[0][1] = h.block->b2[h.lane];
        p.v[1][0] = h.block->db1dx[h.lane], p.v[1][1] = h.block->db2dx[h.lane];
        p.v[2][0] = h.block->db1dy[h.lane], p.v[2][1] = h.block->db2dy[h.lane];
        return p;
    case ATTRIBUTE_instance_index:
        p.v[0][0] = (float)surface_instance(h);
        return p;
    case ATTRIBUTE_curve_along:
    case ATTRIBUTE_curve_across:
    case ATTRIBUTE_curve_radius:
    case ATTRIBUTE_curve_random:
        return curve_value(scene, (AttributeRow)row, h);
    default:
        put3(p.v[0], mat4_point(to_object, surface_vector(h, h.block->P)));
        put3(p.v[1], mat4_vector(to_object, surface_vector(h, h.block->dPdx)));
        put3(p.v[2], mat4_vector(to_object, surface_vector(h, h.block->dPdy)));
        return p;
    }
}

static void store(const SslAttributeInfo *info, const SslAttributeSlot *slot, const PointValue *p,
                  char *block, uint32_t lane)
{
    uint32_t scalars = ssl_type_scalars(info->type);
    void *first = block + slot->offset_bytes;
    float *out = (float *)first + lane;
    uint32_t shadows = slot->wants_derivs ? 3 : slot->is_used ? 1 : 0;
    for (uint32_t d = 0; d < shadows; ++d)
        for (uint32_t k = 0; k < scalars; ++k) {
            float x = p->v[d][k];
            int32_t word = info->type == SSL_BOOL ? x >= 0.5f : (int32_t)lrintf(x);
            if (info->type == SSL_BOOL || info->type == SSL_INT)
                memcpy(&out[(size_t)(d * scalars + k) * SSL_BLOCK], &word, sizeof word);
            else
                out[(size_t)(d * scalars + k) * SSL_BLOCK] = ssl_flushed(x);
        }
    if (slot->wants_existence) {
        int32_t exists = p->exists;
        memcpy(block + slot->existence_offset_bytes + sizeof exists * lane, &exists, sizeof exists);
    }
}

void attributes_fill(const Scene *scene, const SslProgramInfo *info, const char *const *names,
                     const SurfaceBlock *surfaces, uint32_t count, void *blocks)
{
    const SslUnitInfo *unit = info->unit;
    for (uint32_t a = 0; a < unit->attribute_count; ++a) {
        const SslAttributeSlot *slot = &info->attributes[a];
        const SslAttributeInfo *attribute = &unit->attributes[a];
        const SceneMesh *mesh = NULL; /* of the hit before: neighbours mostly share it */
        Source source = {0};
        if (!slot->is_used && !slot->wants_existence)
            continue;
        for (uint32_t i = 0; i < count; ++i) {
            SurfaceLane surface = {&surfaces[i / SSL_BLOCK], i % SSL_BLOCK};
            bool is_environment = surface_instance(surface) == HIT_NO_INSTANCE;
            const SceneInstance *instance =
                is_environment ? NULL : &scene->instances[surface_instance(surface)];
            const SceneMesh *own = is_environment ? NULL : &scene->meshes[instance->mesh];
            ASSERT(own || is_environment);
            if (own != mesh && attribute->is_declared)
                source = own ? find_source(own, names[a]) : (Source){0};
            mesh = own;
            Source object = !source.values && instance && attribute->is_declared
                                ? find_object_source(instance, names[a])
                                : (Source){0};
            PointValue p = !attribute->is_declared ? own_value(scene, attribute->name, surface)
                           : source.values         ? interpolate(mesh, &source, surface)
                           : object.values         ? constant(&object)
                                                   : default_of(attribute);
            store(attribute, slot, &p,
                  (char *)blocks + (size_t)(i / SSL_BLOCK) * info->attributes_stride_bytes,
                  i % SSL_BLOCK);
        }
    }
}
