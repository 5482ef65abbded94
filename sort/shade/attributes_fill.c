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

static PointValue interpolate_curve(const SceneCurves *curves, const Source *s, const SurfaceHit *h)
{
    PointValue p = {.exists = true};
    float weights[4] = {1.0f}, du[4] = {0.0f};
    uint32_t count = 1, first;
    if (s->is_per_curve) {
        first = curve_of_segment(curves, h->triangle);
    } else {
        count = curve_weights(curves->basis, h->b1, weights, du);
        first = curves->segments[h->triangle];
    }
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < s->components; ++k) {
            float value = s->values[((size_t)first + i) * s->components + k];
            p.v[0][k] += weights[i] * value;
            p.v[1][k] += du[i] * h->db1dx * value;
            p.v[2][k] += du[i] * h->db1dy * value;
        }
    return p;
}

static PointValue interpolate(const SceneMesh *mesh, const Source *s, const SurfaceHit *h)
{
    PointValue p = {.exists = true};
    if (mesh->curves)
        return interpolate_curve(mesh->curves, s, h);
    ASSERT(s->components <= 4 && h->triangle < mesh->triangle_count);
    const uint32_t *corner = mesh->indices + (size_t)3 * h->triangle;
    for (uint32_t k = 0; k < s->components; ++k) {
        float a = s->values[(size_t)corner[0] * s->components + k];
        float b = s->values[(size_t)corner[1] * s->components + k] - a;
        float c = s->values[(size_t)corner[2] * s->components + k] - a;
        p.v[0][k] = a + h->b1 * b + h->b2 * c;
        p.v[1][k] = h->db1dx * b + h->db2dx * c;
        p.v[2][k] = h->db1dy * b + h->db2dy * c;
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
static float edge_distance(const Scene *scene, const SurfaceHit *h)
{
    float3 p[3];
    float nearest = INFINITY;
    const float weights[3] = {1.0f - h->b1 - h->b2, h->b1, h->b2};
    scene_triangle(scene, h->instance, h->triangle, p);
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
static void put_radius(PointValue *p, const SceneMesh *mesh, const SurfaceHit *h)
{
    CurvePoint c;
    curve_eval(mesh, h->triangle, h->b1, 0.0f, &c);
    put1(p, c.r, c.r1 * h->db1dx, c.r1 * h->db1dy);
}

static PointValue curve_value(const Scene *scene, AttributeRow row, const SurfaceHit *h)
{
    const SceneInstance *instance = &scene->instances[h->instance];
    const SceneMesh *mesh = &scene->meshes[instance->mesh];
    PointValue p = {.exists = mesh->curves != NULL};
    if (!p.exists)
        return p;
    uint32_t curve = curve_of_segment(mesh->curves, h->triangle);
    const uint32_t *first = mesh->curves->first_segment + curve;
    float per_segment = 1.0f / (float)(first[1] - first[0]);
    if (row == ATTRIBUTE_curve_along)
        put1(&p, ((float)(h->triangle - first[0]) + h->b1) * per_segment, h->db1dx * per_segment,
             h->db1dy * per_segment);
    else if (row == ATTRIBUTE_curve_across)
        put1(&p, h->b2, h->db2dx, h->db2dy);
    else if (row == ATTRIBUTE_curve_radius)
        put_radius(&p, mesh, h);
    else
        p.v[0][0] = (float)(hash_mix64(hash_mix64(curve + 1u) ^ instance->mesh) >> 40) * 0x1p-24f;
    return p;
}

/* Returns the value of an attribute that the renderer provides (attributes.inc). */
static PointValue own_value(const Scene *scene, const char *name, const SurfaceHit *h)
{
    PointValue p = {.exists = true};
    if (h->instance == HIT_NO_INSTANCE) {
        if (strcmp(name, sort_ssl_attributes[ATTRIBUTE_object_position].name) != 0)
            return (PointValue){.exists = false};
        put3(p.v[0], h->P);
        put3(p.v[1], h->dPdx);
        put3(p.v[2], h->dPdy);
        return p;
    }
    const mat4 *to_object = &scene->instances[h->instance].world_to_object;
    uint32_t row = 0;
    while (row < ATTRIBUTE_COUNT && strcmp(name, sort_ssl_attributes[row].name) != 0)
        ++row;
    bool is_curve = scene->meshes[scene->instances[h->instance].mesh].curves != NULL;
    switch ((AttributeRow)row) {
    case ATTRIBUTE_edge_distance:
        p.exists = !is_curve;
        p.v[0][0] = is_curve ? 0.0f : edge_distance(scene, h);
        return p;
    case ATTRIBUTE_barycentrics:
        p.exists = !is_curve;
        if (is_curve)
            return p;
        p.v[0][0] = h->b1, p.v[0][1] = h->b2;
        p.v[1][0] = h->db1dx, p.v[1][1] = h->db2dx;
        p.v[2][0] = h->db1dy, p.v[2][1] = h->db2dy;
        return p;
    case ATTRIBUTE_instance_index:
        p.v[0][0] = (float)h->instance;
        return p;
    case ATTRIBUTE_curve_along:
    case ATTRIBUTE_curve_across:
    case ATTRIBUTE_curve_radius:
    case ATTRIBUTE_curve_random:
        return curve_value(scene, (AttributeRow)row, h);
    default:
        put3(p.v[0], mat4_point(to_object, h->P));
        put3(p.v[1], mat4_vector(to_object, h->dPdx));
        put3(p.v[2], mat4_vector(to_object, h->dPdy));
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
                     const SurfaceHit *const *hits, uint32_t count, void *blocks)
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
            bool is_environment = hits[i]->instance == HIT_NO_INSTANCE;
            const SceneInstance *instance =
                is_environment ? NULL : &scene->instances[hits[i]->instance];
            const SceneMesh *own = is_environment ? NULL : &scene->meshes[instance->mesh];
            ASSERT(own || is_environment);
            if (own != mesh && attribute->is_declared)
                source = own ? find_source(own, names[a]) : (Source){0};
            mesh = own;
            Source object = !source.values && instance && attribute->is_declared
                                ? find_object_source(instance, names[a])
                                : (Source){0};
            PointValue p = !attribute->is_declared ? own_value(scene, attribute->name, hits[i])
                           : source.values         ? interpolate(mesh, &source, hits[i])
                           : object.values         ? constant(&object)
                                                   : default_of(attribute);
            store(attribute, slot, &p,
                  (char *)blocks + (size_t)(i / SSL_BLOCK) * info->attributes_stride_bytes,
                  i % SSL_BLOCK);
        }
    }
}
