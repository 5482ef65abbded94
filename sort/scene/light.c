/* The table of light sources.
 *
 *   sources[]      local ones first, then the infinite ones
 *   cumulative[]   running sums of choice probabilities, [count + 1], ends at exactly 1
 *   mesh sources   own running sums of world-space triangle areas
 *
 * Choice is by inversion of running sums in double precision, not by an alias table: inversion keeps
 * the order of u, so stratified numbers stay stratified over lights, and what is left of u after the
 * choice of a source chooses the triangle. The samplers' 24 bits are too few for millions of
 * triangles: the lower bits come from a hash of all numbers of the sample. */
#include "sort/scene/light.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "sort/sampling/warp.h"
#include "sort/scene/light_shape.h"

typedef enum SourceKind {
    SOURCE_POINT,
    SOURCE_SPOT,
    SOURCE_SHAPE,
    SOURCE_MESH,
    SOURCE_DISTANT,
    SOURCE_ENVIRONMENT /* DISTANT and ENVIRONMENT are the infinite kinds */
} SourceKind;

typedef struct Source {
    SourceKind kind;
    float probability;     /* of being chosen */
    Spectrum emission;     /* SceneLight.emission; of distant lights with an angle and the constant
                        * environment: radiance */
    float3 position, axis; /* axis: unit, from the light backwards (+z of the light) */
    float one_minus_cos;   /* DISTANT: of the half angle; 0: delta */
    float cos_inner, cos_outer; /* SPOT */
    uint32_t shape;             /* SHAPE: index into shapes */
    uint32_t instance;          /* MESH */
    uint32_t triangle_count;    /* MESH */
    uint32_t *triangles;        /* MESH: owned, of the instance's mesh */
    double *cumulative_area;    /* MESH: owned, [triangle_count + 1], square metres */
} Source;

enum { NO_SOURCE = 0xffffffffu };

struct Lights {
    const Scene *scene;                  /* borrowed */
    const EnvironmentTable *environment; /* borrowed; may be NULL */
    Source *sources;
    double *cumulative;
    LightShape *shapes;        /* [scene->light_count], of the kinds that have one */
    uint32_t *source_of_light; /* [scene->light_count]; NO_SOURCE: black */
    uint32_t *first_slot; /* [instance_count]: its slots in source_of_slot; NULL: no mesh emits */
    uint32_t *source_of_slot;
    uint32_t count, infinite_first;
};

/* --- building ------------------------------------------------------------------------------- */

static bool is_infinite(SourceKind kind)
{
    return kind >= SOURCE_DISTANT;
}

/* Radiant flux as luminance, up to a common factor; infinite sources shine into the scene's disk. */
static double source_power(const Lights *lights, const Source *s, double scene_radius,
                           double mesh_radiance)
{
    const double pi = 3.14159265358979323846;
    double emission = (double)spectrum_luminance(s->emission);
    double disk = pi * scene_radius * scene_radius;
    switch (s->kind) {
    case SOURCE_POINT:
        return 4.0 * pi * emission;
    case SOURCE_SPOT: /* the falloff t^2 integrates to a third of its ramp */
        return 2.0 * pi * emission *
               ((1.0 - (double)s->cos_inner) + ((double)s->cos_inner - (double)s->cos_outer) / 3.0);
    case SOURCE_SHAPE: {
        const LightShape *shape = &lights->shapes[s->shape];
        return pi * emission * light_shape_area(shape) * (shape->is_two_sided ? 2.0 : 1.0);
    }
    case SOURCE_MESH:
        return pi * mesh_radiance * s->cumulative_area[s->triangle_count];
    case SOURCE_DISTANT: {
        if (s->one_minus_cos <= 0.0f)
            return emission * disk;
        double c = (double)s->one_minus_cos;
        return emission * pi * c * (2.0 - c) * disk;
    }
    case SOURCE_ENVIRONMENT:
        return 4.0 * pi * emission * disk;
    }
    UNREACHABLE();
}

static void init_source_from_light(const SceneLight *light, uint32_t index, Source *out_source)
{
    const mat4 *m = &light->light_to_world;
    *out_source = (Source){.emission = spectrum_from_rgb(light->emission),
                           .position = f3(m->m[0][3], m->m[1][3], m->m[2][3]),
                           .axis = f3(m->m[0][2], m->m[1][2], m->m[2][2]),
                           .shape = index};
    switch (light->kind) {
    case SCENE_LIGHT_POINT:
        out_source->kind = SOURCE_POINT;
        break;
    case SCENE_LIGHT_SPOT:
        out_source->kind = SOURCE_SPOT;
        out_source->cos_inner = cosf(light->inner_angle_rad);
        out_source->cos_outer = cosf(light->outer_angle_rad);
        break;
    case SCENE_LIGHT_DISTANT: {
        out_source->kind = SOURCE_DISTANT;
        float half_sin = sinf(0.25f * light->angle_rad);
        out_source->one_minus_cos = 2.0f * half_sin * half_sin;
        if (out_source->one_minus_cos > 0.0f) {
            /* E = pi L sin^2(half angle), facing. */
            float sin_half = sinf(0.5f * light->angle_rad);
            out_source->emission =
                spectrum_scale(out_source->emission, SORT_INV_PI / (sin_half * sin_half));
        }
        break;
    }
    case SCENE_LIGHT_RECTANGLE:
    case SCENE_LIGHT_DISK:
    case SCENE_LIGHT_SPHERE:
        out_source->kind = SOURCE_SHAPE;
        break;
    }
}

static uint32_t triangle_slot(const SceneMesh *mesh, uint32_t triangle)
{
    return mesh->material_indices ? mesh->material_indices[triangle] : 0u;
}

/* The triangles of one slot of an instance that have an area. Leaves triangle_count 0 if none. */
static Status init_mesh_source(const Scene *scene, uint32_t instance, uint32_t slot,
                               Source *out_source, Error *err)
{
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    uint32_t count = 0;
    for (uint32_t i = 0; i < mesh->triangle_count; ++i)
        count += triangle_slot(mesh, i) == slot;
    *out_source = (Source){.kind = SOURCE_MESH, .instance = instance};
    if (count == 0)
        return STATUS_OK;
    out_source->triangles = MEM_ARRAY(uint32_t, count);
    out_source->cumulative_area = MEM_ARRAY(double, (size_t)count + 1);
    if (!out_source->triangles || !out_source->cumulative_area)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u emissive triangles", count);
    double total = 0.0;
    for (uint32_t i = 0; i < mesh->triangle_count; ++i) {
        if (triangle_slot(mesh, i) != slot)
            continue;
        float3 p[3];
        scene_triangle(scene, instance, i, p);
        double area = 0.5 * (double)f3_length(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
        if (!(area > 0.0) || !isfinite(area))
            continue;
        total += area;
        out_source->triangles[out_source->triangle_count] = i;
        out_source->cumulative_area[++out_source->triangle_count] = total;
    }
    return STATUS_OK;
}

static bool slot_emits(const LightsDesc *desc, const SceneInstance *instance, uint32_t slot)
{
    return desc->material_emission && desc->material_emission[instance->materials[slot]] > 0.0f;
}

/* How many slots there are and how many emit; a slot that emits becomes at most one source. */
static void count_slots(const LightsDesc *desc, size_t *out_slots, size_t *out_emissive)
{
    *out_slots = *out_emissive = 0;
    for (uint32_t i = 0; i < desc->scene->instance_count; ++i) {
        const SceneInstance *instance = &desc->scene->instances[i];
        *out_slots += instance->material_count;
        for (uint32_t k = 0; k < instance->material_count; ++k)
            *out_emissive += slot_emits(desc, instance, k);
    }
}

static void add_scene_lights(Lights *lights, bool infinite)
{
    for (uint32_t i = 0; i < lights->scene->light_count; ++i) {
        const SceneLight *light = &lights->scene->lights[i];
        if ((light->kind == SCENE_LIGHT_DISTANT) != infinite)
            continue;
        lights->source_of_light[i] = NO_SOURCE;
        if (light_shape_exists(light->kind))
            light_shape_init(light, &lights->shapes[i]);
        if (f3_max_component(light->emission) > 0.0f) {
            init_source_from_light(light, i, &lights->sources[lights->count]);
            lights->source_of_light[i] = lights->count++;
        }
    }
}

static Status add_meshes(Lights *lights, const LightsDesc *desc, Error *err)
{
    const Scene *scene = lights->scene;
    uint32_t slot_count = 0;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        lights->first_slot[i] = slot_count;
        for (uint32_t k = 0; k < instance->material_count; ++k) {
            lights->source_of_slot[slot_count + k] = NO_SOURCE;
            if (!slot_emits(desc, instance, k))
                continue;
            Source *s = &lights->sources[lights->count];
            /* Counted first, so that lights_destroy finds what a failure leaves. */
            uint32_t source = lights->count++;
            TRY(init_mesh_source(scene, i, k, s, err));
            if (s->triangle_count > 0) {
                lights->source_of_slot[slot_count + k] = source;
            } else {
                mem_free(s->triangles);
                mem_free(s->cumulative_area);
                *s = (Source){0};
                --lights->count;
            }
        }
        slot_count += instance->material_count;
    }
    return STATUS_OK;
}

static void add_environment(Lights *lights)
{
    const SceneEnvironment *e = &lights->scene->environment;
    float3 mean = f3(0, 0, 0);
    if (e->kind == SCENE_ENVIRONMENT_COLOR)
        mean = e->radiance;
    else if (e->kind == SCENE_ENVIRONMENT_IMAGE)
        mean = f3_scale(lights->environment ? environment_table_mean(lights->environment)
                                            : f3_splat(1.0f),
                        e->strength);
    if (f3_max_component(mean) > 0.0f)
        lights->sources[lights->count++] =
            (Source){.kind = SOURCE_ENVIRONMENT, .emission = spectrum_from_rgb(mean)};
}

/* Local and infinite sources take one half each when both exist; within, by power. */
static void set_probabilities(Lights *lights, const LightsDesc *desc, double *power)
{
    float3 centre;
    float radius;
    scene_bounding_sphere(lights->scene, &centre, &radius);
    double total[2] = {0, 0};
    uint32_t members[2] = {0, 0};
    for (uint32_t i = 0; i < lights->count; ++i) {
        const Source *s = &lights->sources[i];
        double mesh_radiance = 0.0;
        if (s->kind == SOURCE_MESH) {
            const SceneInstance *instance = &lights->scene->instances[s->instance];
            const SceneMesh *mesh = &lights->scene->meshes[instance->mesh];
            uint32_t slot = triangle_slot(mesh, s->triangles[0]);
            mesh_radiance = (double)desc->material_emission[instance->materials[slot]];
        }
        power[i] = source_power(lights, s, radius > 0.0f ? (double)radius : 1.0, mesh_radiance);
        /* Black in luminance only, or beyond any number: still to be chosen now and then. */
        power[i] = fmin(1e60, fmax(1e-60, power[i]));
        total[is_infinite(s->kind)] += power[i];
        members[is_infinite(s->kind)]++;
    }
    double running = 0.0;
    for (uint32_t i = 0; i < lights->count; ++i) {
        bool infinite = is_infinite(lights->sources[i].kind);
        double share = members[0] && members[1] ? 0.5 : 1.0;
        running += share * power[i] / total[infinite];
        lights->cumulative[i + 1] = i + 1 == lights->count ? 1.0 : fmin(running, 1.0);
        lights->sources[i].probability = (float)(lights->cumulative[i + 1] - lights->cumulative[i]);
    }
}

static Status build(Lights *lights, const LightsDesc *desc, Error *err)
{
    const Scene *scene = desc->scene;
    size_t slots, emissive;
    count_slots(desc, &slots, &emissive);
    size_t most = (size_t)scene->light_count + emissive + 1;
    if (most >= NO_SOURCE || slots >= NO_SOURCE)
        return error_set(err, STATUS_LIMIT, "too many light sources: %zu in %zu material slots",
                         most, slots);
    lights->sources = MEM_ARRAY(Source, most);
    lights->cumulative = MEM_ARRAY(double, most + 1);
    lights->shapes = MEM_ARRAY(LightShape, (size_t)scene->light_count + 1);
    lights->source_of_light = MEM_ARRAY(uint32_t, (size_t)scene->light_count + 1);
    double *power = MEM_ARRAY(double, most);
    Status status = STATUS_OK;
    if (!lights->sources || !lights->cumulative || !lights->shapes || !lights->source_of_light ||
        !power)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for %zu light sources", most);
    if (status == STATUS_OK && emissive > 0) {
        lights->first_slot = MEM_ARRAY(uint32_t, scene->instance_count);
        lights->source_of_slot = MEM_ARRAY(uint32_t, slots);
        if (!lights->first_slot || !lights->source_of_slot)
            status = error_set(err, STATUS_NO_MEMORY, "no memory for %zu material slots", slots);
    }
    if (status == STATUS_OK) {
        add_scene_lights(lights, false);
        if (emissive > 0)
            status = add_meshes(lights, desc, err);
    }
    if (status == STATUS_OK) {
        lights->infinite_first = lights->count;
        add_scene_lights(lights, true);
        add_environment(lights);
        set_probabilities(lights, desc, power);
    }
    mem_free(power);
    return status;
}

Status lights_create(const LightsDesc *desc, Lights **out_lights, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc && desc->scene);
    *out_lights = NULL;
    Lights *lights = MEM_NEW(Lights);
    if (!lights)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the lights");
    lights->scene = desc->scene;
    lights->environment = desc->environment_table;
    Status status = build(lights, desc, err);
    if (status != STATUS_OK) {
        lights_destroy(lights);
        return status;
    }
    *out_lights = lights;
    return STATUS_OK;
}

void lights_destroy(Lights *lights)
{
    if (!lights)
        return;
    for (uint32_t i = 0; i < lights->count; ++i) {
        mem_free(lights->sources[i].triangles);
        mem_free(lights->sources[i].cumulative_area);
    }
    mem_free(lights->sources);
    mem_free(lights->cumulative);
    mem_free(lights->shapes);
    mem_free(lights->source_of_light);
    mem_free(lights->first_slot);
    mem_free(lights->source_of_slot);
    mem_free(lights);
}

uint32_t lights_count(const Lights *lights)
{
    return lights->count;
}

float lights_choice_probability(const Lights *lights, uint32_t source)
{
    CHECK(source < lights->count);
    return lights->sources[source].probability;
}

/* --- sampling ------------------------------------------------------------------------------- */

/* The interval of the running sums that holds `value`; *out_left: where in it, [0, 1). */
static uint32_t find_interval(const double *cumulative, uint32_t count, double value,
                              double *out_left)
{
    uint32_t low = 0, high = count; /* cumulative[low] <= value < cumulative[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (cumulative[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    *out_left = (value - cumulative[low]) / (cumulative[low + 1] - cumulative[low]);
    return low;
}

/* u with bits below its 24, drawn from everything that the sample was given. */
static double extend_bits(float u, float2 uv)
{
    uint64_t x = (uint64_t)((double)u * 4294967296.0) << 32 ^
                 (uint64_t)((double)uv.x * 16777216.0) << 24 ^
                 (uint64_t)((double)uv.y * 16777216.0);
    double low = (double)(hash_mix64(x) >> 40) * 0x1p-24;
    return fmin((double)u + low * 0x1p-24, 1.0 - 0x1p-53);
}

/* Squared ramp between the angles, as in KHR_lights_punctual. */
static float spot_falloff(const Source *s, float cos_angle)
{
    float ramp = s->cos_inner - s->cos_outer;
    float t = ramp > 0.0f ? clampf((cos_angle - s->cos_outer) / ramp, 0.0f, 1.0f)
                          : (cos_angle >= s->cos_outer ? 1.0f : 0.0f);
    return t * t;
}

static bool sample_point(const Source *s, float3 position, LightSample *out)
{
    float3 to_light = f3_sub(s->position, position);
    float distance2 = f3_length2(to_light);
    out->distance_m = sqrtf(distance2);
    out->wi = f3_scale(to_light, 1.0f / out->distance_m);
    out->is_delta = true;
    out->pdf_solid_angle = 1.0f;
    float intensity = s->kind == SOURCE_SPOT ? spot_falloff(s, f3_dot(out->wi, s->axis)) : 1.0f;
    out->radiance = spectrum_scale(s->emission, intensity / distance2);
    return intensity > 0.0f && distance2 > 0.0f && spectrum_is_finite(out->radiance);
}

static bool sample_distant(const Source *s, float2 u, LightSample *out)
{
    out->distance_m = INFINITY;
    out->radiance = s->emission;
    if (s->one_minus_cos > 0.0f) {
        float3 x, y;
        f3_frame(s->axis, &x, &y);
        out->wi = f3_normalize(warp_to_frame(warp_cone(u, s->one_minus_cos), x, y, s->axis));
        out->pdf_solid_angle = warp_cone_pdf(s->one_minus_cos);
    } else {
        out->wi = s->axis;
        out->is_delta = true;
        out->pdf_solid_angle = 1.0f;
    }
    return true;
}

/* Area density to solid angle; 0 edge-on. Triangles emit to both sides as far as sampling goes: the
 * material decides. */
static float mesh_pdf(const Source *s, float3 wi, float distance_m, float3 ng)
{
    double cosine = fabs((double)f3_dot(wi, ng)) / (double)f3_length(ng);
    double pdf =
        (double)distance_m * (double)distance_m / (cosine * s->cumulative_area[s->triangle_count]);
    return pdf > 0.0 && pdf < 1e30 ? (float)pdf : 0.0f;
}

static bool sample_mesh(const Lights *lights, const Source *s, float3 position, double u_triangle,
                        float2 u, LightSample *out)
{
    double left, total = s->cumulative_area[s->triangle_count];
    uint32_t k = find_interval(s->cumulative_area, s->triangle_count, u_triangle * total, &left);
    float2 b = warp_triangle(u);
    float3 p[3];
    scene_triangle(lights->scene, s->instance, s->triangles[k], p);
    float3 e1 = f3_sub(p[1], p[0]), e2 = f3_sub(p[2], p[0]);
    float3 to_point = f3_sub(f3_madd(f3_madd(p[0], b.x, e1), b.y, e2), position);
    out->distance_m = f3_length(to_point);
    if (!(out->distance_m > 0.0f))
        return false;
    out->wi = f3_scale(to_point, 1.0f / out->distance_m);
    out->value = LIGHT_VALUE_MESH;
    out->instance = s->instance;
    out->triangle = s->triangles[k];
    out->b1 = b.x, out->b2 = b.y;
    out->pdf_solid_angle = mesh_pdf(s, out->wi, out->distance_m, f3_cross(e1, e2));
    return out->pdf_solid_angle > 0.0f;
}

static bool sample_environment(const Lights *lights, const Source *s, float2 u, LightSample *out)
{
    const SceneEnvironment *e = &lights->scene->environment;
    out->distance_m = INFINITY;
    bool is_image = e->kind == SCENE_ENVIRONMENT_IMAGE;
    out->wi = environment_sample(e, lights->environment, u, is_image ? &out->map_uv : NULL,
                                 &out->pdf_solid_angle);
    if (is_image)
        out->value = LIGHT_VALUE_ENVIRONMENT;
    else
        out->radiance = s->emission;
    return out->pdf_solid_angle > 0.0f;
}

bool lights_sample(const Lights *lights, float3 position, float3 normal, float u_choice, float2 u,
                   LightSample *out_sample)
{
    SORT_UNUSED(normal); /* power alone decides */
    *out_sample = (LightSample){.value = LIGHT_VALUE_KNOWN};
    if (lights->count == 0)
        return false;
    double left;
    uint32_t index =
        find_interval(lights->cumulative, lights->count, extend_bits(u_choice, u), &left);
    const Source *s = &lights->sources[index];
    out_sample->source = index;
    bool contributes = false;
    switch (s->kind) {
    case SOURCE_POINT:
    case SOURCE_SPOT:
        contributes = sample_point(s, position, out_sample);
        break;
    case SOURCE_SHAPE:
        out_sample->radiance = s->emission;
        contributes = light_shape_sample(&lights->shapes[s->shape], position, u, &out_sample->wi,
                                         &out_sample->distance_m, &out_sample->pdf_solid_angle);
        break;
    case SOURCE_MESH:
        contributes = sample_mesh(lights, s, position, left, u, out_sample);
        break;
    case SOURCE_DISTANT:
        contributes = sample_distant(s, u, out_sample);
        break;
    case SOURCE_ENVIRONMENT:
        contributes = sample_environment(lights, s, u, out_sample);
        break;
    }
    out_sample->pdf_solid_angle *= s->probability;
    return contributes && out_sample->pdf_solid_angle > 0.0f;
}

/* --- lights that are met -------------------------------------------------------------------- */

LightHit lights_shape_hit(const Lights *lights, float3 position, float3 normal, uint32_t light,
                          float distance_m)
{
    SORT_UNUSED(normal);
    CHECK(light < lights->scene->light_count);
    uint32_t source = lights->source_of_light[light];
    if (source == NO_SOURCE)
        return (LightHit){0};
    const Source *s = &lights->sources[source];
    float pdf = light_shape_pdf(&lights->shapes[light], position, distance_m);
    return (LightHit){.radiance = s->emission, .pdf_solid_angle = s->probability * pdf};
}

float lights_mesh_pdf(const Lights *lights, float3 position, float3 normal, uint32_t instance,
                      uint32_t triangle, float3 direction, float distance_m, float3 ng)
{
    SORT_UNUSED(position);
    SORT_UNUSED(normal);
    CHECK(instance < lights->scene->instance_count);
    if (!lights->first_slot)
        return 0.0f;
    const SceneMesh *mesh = &lights->scene->meshes[lights->scene->instances[instance].mesh];
    uint32_t slot = triangle_slot(mesh, triangle);
    uint32_t source = lights->source_of_slot[lights->first_slot[instance] + slot];
    if (source == NO_SOURCE)
        return 0.0f;
    const Source *s = &lights->sources[source];
    return s->probability * mesh_pdf(s, direction, distance_m, ng);
}

uint32_t lights_infinite_count(const Lights *lights)
{
    return lights->count - lights->infinite_first;
}

bool lights_infinite_hit(const Lights *lights, float3 position, float3 normal, uint32_t index,
                         float3 direction, LightValue *out_value, LightHit *out_hit)
{
    SORT_UNUSED(position);
    SORT_UNUSED(normal);
    CHECK(index < lights_infinite_count(lights));
    const Source *s = &lights->sources[lights->infinite_first + index];
    *out_value = LIGHT_VALUE_KNOWN;
    *out_hit = (LightHit){.radiance = s->emission};
    float pdf;
    if (s->kind == SOURCE_DISTANT) {
        /* 1 - cos of the angle to the axis, accurate for small angles. */
        float one_minus_cos = 0.5f * f3_length2(f3_sub(direction, s->axis));
        if (!(s->one_minus_cos > 0.0f) || one_minus_cos > s->one_minus_cos)
            return false;
        pdf = warp_cone_pdf(s->one_minus_cos);
    } else {
        const SceneEnvironment *e = &lights->scene->environment;
        bool is_image = e->kind == SCENE_ENVIRONMENT_IMAGE;
        pdf =
            environment_pdf(e, lights->environment, direction, is_image ? &out_hit->map_uv : NULL);
        if (is_image) {
            *out_value = LIGHT_VALUE_ENVIRONMENT;
            out_hit->radiance = spectrum_splat(0.0f);
        }
    }
    out_hit->pdf_solid_angle = s->probability * pdf;
    return true;
}
