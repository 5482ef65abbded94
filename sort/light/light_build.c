/* Makes the table of light sources and the tree over the local ones. */
#include "sort/light/light_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "sort/light/curve_light.h"
#include "sort/light/scene_bounds.h"
#include "sort/sampling/warp.h"
#include "ssl/rt/rt.h"

/* Memory of an emissive triangle in all tables and in the tree, and of a material slot of an instance. */
enum { EMITTER_BYTES = 284, SLOT_BYTES = sizeof(uint32_t) };

/* What local or infinite sources keep, when there are both: either may lie in shadow. What is seen of them leaves less doubt. */
static const float SHARE_MIN = 0.2f, SHARE_MIN_SEEN = 0.1f;

/* A sky of which this part is brighter than its mean, as of a sunset, counts whole. */
static const double WHOLE_OF_UNEVEN = 2.5; /* its inverse */

static const double pi = 3.14159265358979323846;

/* Returns the brightness for choosing lights. Negative emission counts by its absolute value, since it is as noisy. */
static double brightness(Spectrum emission)
{
    float3 rgb = spectrum_to_rgb(emission);
    return (double)spectrum_luminance(spectrum_from_rgb(f3_abs(rgb)));
}

/* Radiant flux of infinite sources as luminance, up to a common factor: they shine into the scene's disk. */
static double infinite_power(const Source *s, double scene_radius)
{
    double emission = brightness(s->emission);
    double disk = pi * scene_radius * scene_radius;
    if (s->kind == SOURCE_ENVIRONMENT)
        return 4.0 * pi * emission * disk;
    double c = (double)s->one_minus_cos;
    return c > 0.0 ? emission * pi * c * (2.0 - c) * disk : emission * disk;
}

static void init_source_from_light(const SceneLight *light, Spectrum emission, uint32_t index,
                                   Source *out_source)
{
    const mat4 *m = &light->light_to_world;
    *out_source = (Source){.emission = emission,
                           .position = f3(m->m[0][3], m->m[1][3], m->m[2][3]),
                           .axis = f3(m->m[0][2], m->m[1][2], m->m[2][2]),
                           .light = index,
                           .light_group = light->light_group,
                           .visibility = &light->visibility};
    switch (light->kind) {
    case SCENE_LIGHT_POINT:
        out_source->kind = SOURCE_POINT;
        break;
    case SCENE_LIGHT_SPOT:
        out_source->kind = SOURCE_SPOT;
        out_source->is_spot = true;
        out_source->falloff = light->falloff;
        out_source->cos_inner = rt_cos(light->inner_angle_rad);
        out_source->cos_outer = rt_cos(light->outer_angle_rad);
        break;
    case SCENE_LIGHT_DISTANT: {
        out_source->kind = SOURCE_DISTANT;
        float half_sin = rt_sin(0.25f * light->angle_rad);
        out_source->one_minus_cos = 2.0f * half_sin * half_sin;
        if (out_source->one_minus_cos > 0.0f) {
            /* E = pi L sin^2(half angle), facing. */
            float sin_half = rt_sin(0.5f * light->angle_rad);
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
    if (out_source->kind <= SOURCE_SPOT && light_shape_exists(light)) {
        /* Its disk gives the intensity of the point. */
        float r = light->radius_m;
        out_source->kind = SOURCE_SHAPE;
        out_source->emission = spectrum_scale(out_source->emission, SORT_INV_PI / (r * r));
    }
}

static float primitive_area(const Scene *scene, uint32_t instance, uint32_t primitive)
{
    if (scene->meshes[scene->instances[instance].mesh].curves)
        return curve_light_area(scene, instance, primitive);
    float3 p[3];
    scene_triangle(scene, instance, primitive, p);
    return 0.5f * f3_length(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
}

/* Makes pairs of triangles that follow one another. One that could be joined to either neighbour is joined to the one before. */
static Status join_triangles(const Scene *scene, Source *s, Error *err)
{
    uint32_t leaf = 0;
    s->leaf_count = s->triangle_count;
    for (uint32_t k = 0; k + 1 < s->triangle_count && source_is_triangles(s) && !s->moves; ++k) {
        if (!light_pair_joins(scene, s->instance, &s->triangles[k]))
            continue;
        if (!s->leaves)
            s->leaves = MEM_ARRAY(uint32_t, s->triangle_count);
        if (!s->leaves)
            return error_set(err, STATUS_NO_MEMORY, "no memory for %u emissive triangles",
                             s->triangle_count);
        s->leaves[++k] = 1; /* this one has no leaf of its own */
        --s->leaf_count;
    }
    for (uint32_t k = 1; k < s->triangle_count && s->leaves; ++k) {
        leaf += 1 - s->leaves[k];
        s->leaves[k] = leaf;
    }
    return STATUS_OK;
}

/* The triangles, or segments, of one slot of an instance that have an area. Leaves triangle_count 0 if none. */
static Status init_mesh_source(const Scene *scene, uint32_t instance, uint32_t slot,
                               Source *out_source, Error *err)
{
    const SceneMesh *mesh = &scene->meshes[scene->instances[instance].mesh];
    uint32_t count = 0, end = scene_primitive_count(mesh);
    for (uint32_t i = 0; i < end; ++i)
        count += scene_material_slot(mesh, i) == slot;
    *out_source = (Source){.kind = SOURCE_MESH,
                           .instance = instance,
                           .material = scene->instances[instance].materials[slot],
                           .mesh = mesh,
                           .moves = scene_instance_moves(scene, instance),
                           .light_group = scene->instances[instance].light_group,
                           .visibility = &scene->instances[instance].light_visibility};
    if (count == 0)
        return STATUS_OK;
    out_source->triangles = MEM_ARRAY(uint32_t, count);
    out_source->areas = MEM_ARRAY(float, count);
    if (!out_source->triangles || !out_source->areas)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u emissive triangles", count);
    for (uint32_t i = 0; i < end; ++i) {
        if (scene_material_slot(mesh, i) != slot)
            continue;
        float area = primitive_area(scene, instance, i);
        if (!(area > 0.0f) || !isfinite(area))
            continue;
        out_source->triangles[out_source->triangle_count] = i;
        out_source->areas[out_source->triangle_count++] = area;
    }
    return join_triangles(scene, out_source, err);
}

static bool slot_shines(const LightsDesc *desc, const SceneInstance *instance, uint32_t slot)
{
    return desc->material_emission && desc->material_emission[instance->materials[slot]] > 0.0f;
}

/* Returns whether light sampling looks for the emission of a material slot. Of curves only tubes are sampled
 * (curve_light.h). An instance that some bounced rays do not see is left to BSDF sampling alone, with MIS weight 1. */
static bool slot_emits(const LightsDesc *desc, uint32_t instance, uint32_t slot)
{
    const Scene *scene = desc->scene;
    const SceneCurves *curves = scene->meshes[scene->instances[instance].mesh].curves;
    if (curves && curves->is_ribbon)
        return false;
    return !(desc->scene->instances[instance].invisible_to & SCENE_RAYS_BOUNCED) &&
           slot_shines(desc, &desc->scene->instances[instance], slot);
}

/* How many slots there are and how many emit; a slot that emits becomes at most one source. */
static void count_slots(const LightsDesc *desc, size_t *out_slots, size_t *out_emissive)
{
    *out_slots = *out_emissive = 0;
    for (uint32_t i = 0; i < desc->scene->instance_count; ++i) {
        const SceneInstance *instance = &desc->scene->instances[i];
        *out_slots += instance->material_count;
        for (uint32_t k = 0; k < instance->material_count; ++k)
            *out_emissive += slot_emits(desc, i, k);
    }
}

static void add_scene_lights(Lights *lights, const LightsDesc *desc, bool infinite)
{
    for (uint32_t i = 0; i < lights->scene->light_count; ++i) {
        const SceneLight *light = &lights->scene->lights[i];
        if ((light->kind == SCENE_LIGHT_DISTANT) != infinite)
            continue;
        lights->source_of_light[i] = NO_SOURCE;
        if (light_shape_exists(light))
            light_shape_init(light, &lights->shapes[i]);
        Spectrum emission = spectrum_from_rgb(light->emission);
        if (desc->light_factors)
            emission = spectrum_mul(emission, desc->light_factors[i]);
        if (spectrum_max_abs(emission) > 0.0f) {
            init_source_from_light(light, emission, i, &lights->sources[lights->count]);
            lights->source_of_light[i] = lights->count++;
        }
    }
}

/* Copies share triangles, and each copy of one that emits is a light of its own. */
static Status check_emitters(const Scene *scene, uint64_t emitters, uint64_t slots, Error *err)
{
    uint64_t limit = scene->memory_limit_bytes;
    uint64_t bytes = emitters * EMITTER_BYTES + slots * SLOT_BYTES;
    if (limit == 0 || bytes <= limit)
        return STATUS_OK;
    return error_set(err, STATUS_LIMIT,
                     "the emissive triangles and material slots of all instances would take more "
                     "than the %llu MB that a package of this size may take",
                     (unsigned long long)(limit / 1000000u));
}

static Status add_meshes(Lights *lights, const LightsDesc *desc, uint64_t slots, Error *err)
{
    const Scene *scene = lights->scene;
    uint32_t slot_count = 0;
    uint64_t emitters = 0;
    for (uint32_t i = 0; i < scene->instance_count; ++i) {
        const SceneInstance *instance = &scene->instances[i];
        lights->first_slot[i] = slot_count;
        for (uint32_t k = 0; k < instance->material_count; ++k) {
            lights->source_of_slot[slot_count + k] = NO_SOURCE;
            if (!slot_emits(desc, i, k))
                continue;
            Source *s = &lights->sources[lights->count];
            /* Counted first, so that lights_destroy finds what a failure leaves. */
            uint32_t source = lights->count++;
            TRY(init_mesh_source(scene, i, k, s, err));
            emitters += s->triangle_count;
            TRY(check_emitters(scene, emitters, slots, err));
            if (s->triangle_count > 0) {
                lights->source_of_slot[slot_count + k] = source;
            } else {
                mem_free(s->triangles);
                mem_free(s->areas);
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
    else if (e->kind != SCENE_ENVIRONMENT_NONE)
        mean = f3_scale(lights->environment ? environment_table_mean(lights->environment)
                                            : f3_splat(1.0f),
                        e->strength);
    /* A material may show the camera what it does not show to light sampling. */
    if (spectrum_max_abs(spectrum_from_rgb(mean)) > 0.0f || e->kind == SCENE_ENVIRONMENT_MATERIAL)
        lights->sources[lights->count++] = (Source){.kind = SOURCE_ENVIRONMENT,
                                                    .emission = spectrum_from_rgb(mean),
                                                    .light_group = e->light_group,
                                                    .visibility = &e->visibility};
}

/* Lists the sources that are lamps, once all are there. */
static Status list_lamps(Lights *lights, Error *err)
{
    lights->lamps = MEM_ARRAY(uint32_t, (size_t)lights->count + 1);
    if (!lights->lamps)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u light sources", lights->count);
    for (uint32_t i = 0; i < lights->count; ++i) {
        const Source *s = &lights->sources[i];
        bool is_lamp = s->kind == SOURCE_MESH ? lights->scene->instances[s->instance].is_lamp
                                              : s->kind != SOURCE_ENVIRONMENT;
        if (is_lamp)
            lights->lamps[lights->lamp_count++] = i;
    }
    return STATUS_OK;
}

/* Portals tell where to look for the environment, so there are none without it. */
static Status add_portals(Lights *lights, Error *err)
{
    const Scene *scene = lights->scene;
    const Source *last = lights->count > 0 ? &lights->sources[lights->count - 1] : NULL;
    if (scene->portal_count == 0 || !last || last->kind != SOURCE_ENVIRONMENT)
        return STATUS_OK;
    return portals_create(scene->portals, scene->portal_count, &lights->portals, err);
}

/* --- the tree of local sources --------------------------------------------------------------------- */

/* Black in luminance only, or beyond any number: still to be chosen now and then. */
static float usable_power(double power)
{
    return (float)fmin(1e25, fmax(1e-25, power));
}

static LightBounds light_bounds(const Lights *lights, const Source *s)
{
    double emission = brightness(s->emission);
    LightBounds b = {.lower = s->position, .upper = s->position, .axis = f3_neg(s->axis)};
    switch (s->kind) {
    case SOURCE_POINT:
        b.cos_o = -1.0f;
        b.power = usable_power(4.0 * pi * emission);
        return b;
    case SOURCE_SPOT: /* as bright inside its cone as a point light */
        b.cos_o = 1.0f;
        b.cos_e = s->cos_outer;
        b.power = usable_power(4.0 * pi * emission);
        return b;
    default: {
        const LightShape *shape = &lights->shapes[s->light];
        light_shape_bounds(shape, &b.lower, &b.upper);
        b.is_two_sided = shape->is_two_sided;
        b.cos_o =
            shape->kind == SCENE_LIGHT_SPHERE || shape->kind == SCENE_LIGHT_POINT ? -1.0f : 1.0f;
        b.cos_e = s->is_spot ? s->cos_outer : light_shape_cos_spread(shape);
        if (shape->kind == SCENE_LIGHT_SPOT || shape->kind == SCENE_LIGHT_POINT)
            emission *= 4.0; /* it faces every point alike */
        /* As bright as it is ahead. */
        b.power = usable_power(pi * emission * light_shape_area(shape) * shape->spread_scale);
        return b;
    }
    }
}

/* Bounds all places where the triangle is during the shutter: matrices and vertices are means of those of their keys, so a corner
 * lies among all products of a key's matrix and a key's vertex. */
static void bound_motion(const Lights *lights, const Source *s, uint32_t k, LightBounds *b)
{
    const SceneInstance *instance = &lights->scene->instances[s->instance];
    const SceneMesh *mesh = &lights->scene->meshes[instance->mesh];
    const uint32_t *vertices = &mesh->indices[3 * (size_t)s->triangles[k]];
    const mat4 *keys = instance->key_count > 0 ? instance->keys : &instance->object_to_world;
    for (uint32_t shape = 0; shape <= mesh->later_count; ++shape) {
        float3 p[3];
        float time = mesh->later_count > 0 ? (float)shape / (float)mesh->later_count : 0.0f;
        scene_mesh_positions_at(mesh, vertices, time, p);
        for (uint32_t i = 0; i < (instance->key_count > 0 ? instance->key_count : 1); ++i) {
            for (int c = 0; c < 3; ++c) {
                float3 at = mat4_point(&keys[i], p[c]);
                b->lower =
                    f3(fminf(b->lower.x, at.x), fminf(b->lower.y, at.y), fminf(b->lower.z, at.z));
                b->upper =
                    f3(fmaxf(b->upper.x, at.x), fmaxf(b->upper.y, at.y), fmaxf(b->upper.z, at.z));
            }
        }
    }
    b->cos_o = -1.0f; /* it may turn */
}

/* sides: LIGHT_EMITS_x. */
static LightBounds triangle_bounds(const Lights *lights, const Source *s, uint32_t k,
                                   double radiance, uint8_t sides)
{
    float3 p[3];
    const uint8_t both = LIGHT_EMITS_FRONT | LIGHT_EMITS_BACK;
    ASSERT(sides != 0 && (sides & ~both) == 0);
    scene_triangle(lights->scene, s->instance, s->triangles[k], p);
    LightBounds b = {
        .lower = p[0], .upper = p[0], .cos_o = 1.0f, .is_two_sided = (sides & both) == both};
    for (int i = 1; i < 3; ++i) {
        b.lower = f3(fminf(b.lower.x, p[i].x), fminf(b.lower.y, p[i].y), fminf(b.lower.z, p[i].z));
        b.upper = f3(fmaxf(b.upper.x, p[i].x), fmaxf(b.upper.y, p[i].y), fmaxf(b.upper.z, p[i].z));
    }
    b.axis = f3_normalize(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
    /* A mirror turns the front of a triangle over. */
    if ((sides == LIGHT_EMITS_BACK) != lights->scene->instances[s->instance].is_mirrored)
        b.axis = f3_neg(b.axis);
    if (s->moves)
        bound_motion(lights, s, k, &b);
    b.power = usable_power(pi * radiance * (double)s->areas[k]);
    return b;
}

/* A segment shines to all sides. */
static LightBounds segment_bounds(const Lights *lights, const Source *s, uint32_t k,
                                  double radiance)
{
    LightBounds b = {.axis = {0, 0, 1}, .cos_o = -1.0f};
    curve_light_bounds(lights->scene, s->instance, s->triangles[k], &b.lower, &b.upper);
    b.power = usable_power(pi * radiance * (double)s->areas[k]);
    return b;
}

static LightBounds leaf_bounds(const Lights *lights, const Source *s, uint32_t k, double radiance,
                               uint8_t sides)
{
    if (s->kind != SOURCE_MESH)
        return light_bounds(lights, s);
    const Scene *scene = lights->scene;
    return scene->meshes[scene->instances[s->instance].mesh].curves
               ? segment_bounds(lights, s, k, radiance)
               : triangle_bounds(lights, s, k, radiance, sides);
}

/* Adds a triangle in nearly the same plane. */
static void join_bounds(LightBounds *to, const LightBounds *b)
{
    const float rounding = 1e-6f;
    to->lower = f3(fminf(to->lower.x, b->lower.x), fminf(to->lower.y, b->lower.y),
                   fminf(to->lower.z, b->lower.z));
    to->upper = f3(fmaxf(to->upper.x, b->upper.x), fmaxf(to->upper.y, b->upper.y),
                   fmaxf(to->upper.z, b->upper.z));
    if (f3_length(f3_cross(to->axis, b->axis)) > rounding)
        to->cos_o = fminf(f3_dot(to->axis, b->axis), 1.0f);
    to->power = usable_power((double)to->power + (double)b->power);
}

/* Returns the material of a mesh source. */
static uint32_t material_of(const Lights *lights, const Source *s)
{
    const SceneInstance *instance = &lights->scene->instances[s->instance];
    const SceneMesh *mesh = &lights->scene->meshes[instance->mesh];
    return instance->materials[scene_material_slot(mesh, s->triangles[0])];
}

/* Sets what each triangle of a mesh source is expected to emit. */
static void expect_emission(const LightsDesc *desc, const Source *s, uint32_t material, float *out)
{
    for (uint32_t k = 0; k < s->triangle_count; ++k)
        out[k] = desc->material_emission[material];
    if (desc->look)
        desc->look(desc->look_data, s->instance, material, s->triangles, s->triangle_count, out);
}

/* radiances: room for those of the triangles of a source. */
static void fill_leaves(Lights *lights, const LightsDesc *desc, float *radiances,
                        LightBounds *leaves)
{
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < lights->infinite_first; ++i) {
        Source *s = &lights->sources[i];
        s->first_leaf = leaf;
        uint8_t sides = LIGHT_EMITS_FRONT | LIGHT_EMITS_BACK;
        if (s->kind == SOURCE_MESH) {
            uint32_t material = material_of(lights, s);
            sides = desc->material_sides ? desc->material_sides[material] : sides;
            s->emission = spectrum_splat(desc->material_emission[material]);
            expect_emission(desc, s, material, radiances);
        }
        for (uint32_t k = 0; k < (s->kind == SOURCE_MESH ? s->triangle_count : 1); ++k) {
            LightBounds bounds = leaf_bounds(lights, s, k, (double)radiances[k], sides);
            if (k > 0 && source_leaf(s, k) == source_leaf(s, k - 1)) {
                join_bounds(&leaves[leaf - 1], &bounds);
                continue;
            }
            lights->leaf_source[leaf] = i;
            leaves[leaf++] = bounds;
        }
    }
}

/* Returns whether triangle k of a source is the first one of a pair. */
static bool begins_pair(const Source *s, uint32_t k)
{
    return k + 1 < s->triangle_count && source_leaf(s, k + 1) == source_leaf(s, k);
}

/* Places up to LIGHT_PAIRS_MAX pairs from triangle k on, and returns how many. */
static uint32_t place_pairs(Lights *lights, const Source *s, uint32_t k)
{
    uint32_t n = 0;
    for (; n < LIGHT_PAIRS_MAX && begins_pair(s, k + 2 * n); ++n)
        lights->pair_of_leaf[s->first_leaf + source_leaf(s, k + 2 * n)] = lights->pair_count + n;
    light_pairs_place(lights->scene, s->instance, &s->triangles[k], n,
                      &lights->pairs[lights->pair_count]);
    lights->pair_count += n;
    return n;
}

/* Sets the placed triangles and pairs of a mesh source. */
static void place_source(Lights *lights, const Source *s)
{
    LightTriangle *placed = &lights->triangles[s->first_leaf];
    lights->moves |= s->moves;
    for (uint32_t k = 0, n; k < s->triangle_count; k += n) {
        if (begins_pair(s, k)) {
            n = 2 * place_pairs(lights, s, k);
            continue;
        }
        LightTriangle *first = &placed[source_leaf(s, k)];
        for (n = 0; k + n < s->triangle_count && !begins_pair(s, k + n); ++n)
            first[n] = (LightTriangle){.triangle = s->triangles[k + n], .instance = s->instance};
        if (!s->moves)
            light_triangles_place(lights->scene, s->instance, &s->triangles[k], n, first);
    }
}

static Status allocate_pairs(Lights *lights, size_t pairs, Error *err)
{
    lights->pairs = mem_alloc_aligned(pairs * sizeof *lights->pairs, 64);
    lights->pair_of_leaf = MEM_ARRAY(uint32_t, lights->leaf_count);
    if (!lights->pairs || !lights->pair_of_leaf)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu pairs of emissive triangles",
                         pairs);
    for (uint32_t i = 0; i < lights->leaf_count; ++i)
        lights->pair_of_leaf[i] = NO_PAIR;
    return STATUS_OK;
}

/* Places the triangles of all sources, once these have their leaves. */
static Status place_triangles(Lights *lights, Error *err)
{
    bool has_triangles = false;
    size_t pairs = 0;
    for (uint32_t i = 0; i < lights->infinite_first; ++i) {
        const Source *s = &lights->sources[i];
        has_triangles = has_triangles || source_is_triangles(s);
        pairs += s->leaves ? s->triangle_count - s->leaf_count : 0;
    }
    if (!has_triangles)
        return STATUS_OK;
    if (pairs > 0)
        TRY(allocate_pairs(lights, pairs, err));
    lights->triangles = mem_alloc_aligned(lights->leaf_count * sizeof *lights->triangles, 64);
    if (!lights->triangles)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %u emissive triangles",
                         lights->leaf_count);
    for (uint32_t i = 0; i < lights->infinite_first; ++i)
        if (source_is_triangles(&lights->sources[i]))
            place_source(lights, &lights->sources[i]);
    return STATUS_OK;
}

static Status build_tree(Lights *lights, const LightsDesc *desc, Error *err)
{
    size_t count = 0, most = 1;
    for (uint32_t i = 0; i < lights->infinite_first; ++i) {
        const Source *s = &lights->sources[i];
        count += s->kind == SOURCE_MESH ? s->leaf_count : 1;
        most = s->triangle_count > most ? s->triangle_count : most;
    }
    if (count == 0)
        return STATUS_OK;
    if (count >= NO_SOURCE)
        return error_set(err, STATUS_LIMIT, "too many emissive triangles: %zu", count);
    lights->leaf_count = (uint32_t)count;
    lights->leaf_source = MEM_ARRAY(uint32_t, count);
    LightBounds *leaves = MEM_ARRAY(LightBounds, count);
    float *radiances = MEM_ARRAY(float, most);
    Status status = STATUS_NO_MEMORY;
    if (lights->leaf_source && leaves && radiances) {
        fill_leaves(lights, desc, radiances, leaves);
        status = light_tree_create(leaves, lights->leaf_count, &lights->tree, err);
        if (status == STATUS_OK)
            status = place_triangles(lights, err);
    } else {
        (void)error_set(err, status, "no memory for a tree of %zu lights", count);
    }
    mem_free(radiances);
    mem_free(leaves);
    return status;
}

/* Returns the factor of a source that stands for itself. */
static double seen_factor(const LightSight *sight, uint32_t light)
{
    return (double)light_share_factor(light_tally_share_alone(light_sight_tally(sight, light)));
}

/* Sets what decides how often the environment is sampled. sight: NULL: every second ray that looks for it gets through. */
static void look_at_sky(Lights *lights, const LightSight *sight, uint32_t light, const Source *s)
{
    double brighter = lights->environment ? environment_table_unevenness(lights->environment) : 0.0;
    double uneven = fmin(WHOLE_OF_UNEVEN * brighter, 1.0);
    double v = sight ? light_tally_share_alone(light_sight_tally(sight, light)) : 0.5;
    double even =
        (1.0 - uneven) * (double)s->irradiance / (sight ? seen_factor(sight, light) : 1.0);
    lights->sky = (SkyLook){.irradiance = s->irradiance,
                            .uneven = (float)uneven,
                            .doubt = (float)fmin(even * sqrt(v * (1.0 - v)), 1e30)};
}

/* Sets how often the sky is looked for through portals, where one is seen, instead of by its table, which finds suns and what
 * portals do not cover: nearly always of an even sky, and as often as not of one with a sun, but less where rays through portals
 * are stopped, as in a view from outside. With the part f of its light in a small sun, the variance is least for shares of the
 * table and of portals as sqrt(f) to what the rest brings, about. Whole sixteenths, as the choice among infinite sources, one for
 * each at least. */
static void share_with_portals(Lights *lights, const LightSight *sight, const Source *sky)
{
    uint32_t light = lights->leaf_count + lights->count - lights->infinite_first;
    double uneven = (double)lights->sky.uneven;
    double arrives = sight ? light_tally_share_alone(light_sight_tally(sight, light)) : 1.0;
    double factor = sight ? seen_factor(sight, light) : 1.0;
    double share = (1.0 - fmin(sqrt(uneven), 0.5)) * fmin(2.0 * arrives, 1.0);
    lights->portal_share = (float)(fmin(fmax(floor(16.0 * share + 0.5), 1.0), 15.0) / 16.0);
    lights->sky.shown =
        (float)fmin((1.0 - 0.5 * uneven) * factor * brightness(sky->emission), 1e30);
}

/* Infinite sources by the irradiance that they bring, a mean over all normals, and by what is seen of it unless `sight` is NULL. What falls
 * into the scene's disk falls on four times its area of a sphere. */
static void set_probabilities(Lights *lights, const LightSight *sight)
{
    float3 centre;
    float radius;
    double total = 0.0, running = 0.0;
    lights->suns_irradiance = 0.0f;
    uint32_t first = lights->infinite_first, count = lights->count - first;
    scene_bounding_sphere(lights->scene, &centre, &radius);
    double disk = pi * (radius > 0.0f ? (double)radius * (double)radius : 1.0);
    for (uint32_t i = 0; i < count; ++i) {
        double power =
            infinite_power(&lights->sources[first + i], radius > 0.0f ? (double)radius : 1.0);
        double factor = sight ? seen_factor(sight, lights->leaf_count + i) : 1.0;
        Source *s = &lights->sources[first + i];
        s->irradiance = (float)fmin(1e30, fmax(1e-30, 0.25 * factor * power / disk));
        double claimed = (double)s->irradiance;
        if (s->kind == SOURCE_ENVIRONMENT) { /* the last one */
            look_at_sky(lights, sight, lights->leaf_count + i, s);
            claimed = (double)sky_claim(&lights->sky, lights->suns_irradiance);
            if (lights->portals) { /* what they are worth depends on the point */
                share_with_portals(lights, sight, s);
                claimed = (double)s->irradiance;
            }
        } else {
            lights->suns_irradiance = minf(lights->suns_irradiance + s->irradiance, 1e30f);
        }
        total += claimed;
        lights->cumulative[i + 1] = total;
    }
    for (uint32_t i = 0; i < count; ++i) {
        lights->cumulative[i + 1] = i + 1 == count ? 1.0 : lights->cumulative[i + 1] / total;
        double p = lights->cumulative[i + 1] - running;
        running = lights->cumulative[i + 1];
        lights->sources[first + i].probability = (float)p;
    }
}

Status lights_heed(Lights *lights, const LightSight *sight, Error *err)
{
    if (lights->tree)
        TRY(light_tree_heed(lights->tree, sight, err));
    set_probabilities(lights, sight);
    lights->share_min = sight ? SHARE_MIN_SEEN : SHARE_MIN;
    return STATUS_OK;
}

/* --- all -------------------------------------------------------------------------------------------- */

static Status build(Lights *lights, const LightsDesc *desc, Error *err)
{
    const Scene *scene = desc->scene;
    size_t slots, emissive;
    count_slots(desc, &slots, &emissive);
    size_t most = (size_t)scene->light_count + emissive + 1;
    if (most >= NO_SOURCE || slots >= NO_SOURCE)
        return error_set(err, STATUS_LIMIT, "too many light sources: %zu in %zu material slots",
                         most, slots);
    if (emissive > 0)
        TRY(check_emitters(scene, emissive, slots, err)); /* a source is no larger than a leaf */
    lights->sources = MEM_ARRAY(Source, most);
    lights->cumulative = MEM_ARRAY(double, most + 1);
    lights->shapes = MEM_ARRAY(LightShape, (size_t)scene->light_count + 1);
    lights->source_of_light = MEM_ARRAY(uint32_t, (size_t)scene->light_count + 1);
    Status status = STATUS_OK;
    if (!lights->sources || !lights->cumulative || !lights->shapes || !lights->source_of_light)
        status = error_set(err, STATUS_NO_MEMORY, "no memory for %zu light sources", most);
    if (status == STATUS_OK && emissive > 0) {
        lights->first_slot = MEM_ARRAY(uint32_t, scene->instance_count);
        lights->source_of_slot = MEM_ARRAY(uint32_t, slots);
        if (!lights->first_slot || !lights->source_of_slot)
            status = error_set(err, STATUS_NO_MEMORY, "no memory for %zu material slots", slots);
    }
    if (status == STATUS_OK) {
        add_scene_lights(lights, desc, false);
        if (emissive > 0)
            status = add_meshes(lights, desc, slots, err);
    }
    if (status == STATUS_OK) {
        lights->infinite_first = lights->count;
        add_scene_lights(lights, desc, true);
        add_environment(lights);
        status = add_portals(lights, err);
    }
    if (status == STATUS_OK)
        status = list_lamps(lights, err);
    if (status == STATUS_OK)
        status = build_tree(lights, desc, err);
    if (status == STATUS_OK) {
        set_probabilities(lights, NULL);
        status = caustic_scene_build(lights, err);
    }
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
    lights->share_min = SHARE_MIN;
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
        mem_free(lights->sources[i].areas);
        mem_free(lights->sources[i].leaves);
    }
    mem_free(lights->sources);
    light_tree_destroy(lights->tree);
    portals_destroy(lights->portals);
    mem_free(lights->leaf_source);
    mem_free(lights->triangles);
    mem_free(lights->pairs);
    mem_free(lights->pair_of_leaf);
    mem_free(lights->cumulative);
    mem_free(lights->shapes);
    mem_free(lights->source_of_light);
    mem_free(lights->lamps);
    mem_free(lights->first_slot);
    mem_free(lights->source_of_slot);
    mem_free(lights->caustics.lights);
    mem_free(lights->caustics.boxes);
    mem_free(lights);
}
