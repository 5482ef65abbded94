/* Light sources: choosing one for a point, sampling it, and the densities of both.
 *
 * Local sources are found by the tree (light_tree.h), infinite ones by inversion of running sums in double
 * precision. Both keep the order of u.x, and what is left of it after the choice goes on to the source: so stratified
 * pairs stay stratified over lights and on each of them. (A number of its own for the choice would leave each light an
 * arbitrary part of the pairs.) The samplers' 24 bits are too few for millions of triangles: the lower bits come from
 * a hash of both numbers. */
#include "sort/light/light_state.h"

#include "base/check.h"
#include "base/hash.h"
#include "sort/light/curve_light.h"
#include "sort/sampling/warp.h"
#include "sort/scene/triangle.h"

uint32_t lights_count(const Lights *lights)
{
    return lights->count;
}

static uint32_t source_group(const Lights *lights, uint32_t source)
{
    const Source *s = &lights->sources[source];
    if (s->kind == SOURCE_MESH)
        return lights->scene->instances[s->instance].light_group;
    return s->kind == SOURCE_ENVIRONMENT ? lights->scene->environment.light_group
                                         : lights->scene->lights[s->light].light_group;
}

static const SceneLightVisibility *source_visibility(const Lights *lights, uint32_t source)
{
    const Source *s = &lights->sources[source];
    if (s->kind == SOURCE_MESH)
        return &lights->scene->instances[s->instance].light_visibility;
    return s->kind == SOURCE_ENVIRONMENT ? &lights->scene->environment.visibility
                                         : &lights->scene->lights[s->light].visibility;
}

/* Probability of choosing among the local sources at a point: by the irradiance that they promise and that of the infinite
 * ones, which counts double, as it varies more with the direction. Either may lie in shadow, so both keep a fifth, but
 * for local ones that cannot reach the point. */
static float share_of_local(const Lights *lights, float local_irradiance)
{
    if (!(local_irradiance > 0.0f))
        return 0.0f;
    return 0.2f +
           0.6f * (local_irradiance / (local_irradiance + 2.0f * lights->infinite_irradiance));
}

static bool has_both(const Lights *lights)
{
    return lights->tree && lights->infinite_first < lights->count;
}

static float local_probability(const Lights *lights, float3 position, float3 normal)
{
    if (!has_both(lights))
        return lights->tree ? 1.0f : 0.0f;
    return share_of_local(lights, light_tree_irradiance(lights->tree, position, normal));
}

/* Probability of a leaf of the tree at a point. */
static float leaf_probability(const Lights *lights, float3 position, float3 normal, uint32_t leaf)
{
    return local_probability(lights, position, normal) *
           light_tree_probability(lights->tree, position, normal, leaf);
}

float lights_choice_probability(const Lights *lights, uint32_t source, float3 position,
                                float3 normal)
{
    CHECK(source < lights->count);
    const Source *s = &lights->sources[source];
    if (source >= lights->infinite_first)
        return (1.0f - local_probability(lights, position, normal)) * s->probability;
    float sum = 0.0f;
    for (uint32_t k = 0; k < (s->kind == SOURCE_MESH ? s->triangle_count : 1); ++k)
        sum += leaf_probability(lights, position, normal, s->first_leaf + k);
    return sum;
}

/* The coordinate of a point on the source, from what its choice left of the number. */
static float to_unit(double u)
{
    return minf((float)u, 0x1.fffffep-1f);
}

/* The infinite source whose interval of the running sums holds u. */
static uint32_t find_infinite(const Lights *lights, double u, double *out_u_left)
{
    uint32_t low = 0, high = lights->count - lights->infinite_first;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (lights->cumulative[middle] <= u)
            low = middle;
        else
            high = middle;
    }
    double begin = lights->cumulative[low];
    *out_u_left = (u - begin) / (lights->cumulative[low + 1] - begin);
    return lights->infinite_first + low;
}

/* u.x with bits below its 24, drawn from both numbers. */
static double extend_bits(float2 u)
{
    uint64_t x = (uint64_t)(u.x * 0x1p24f) << 32 | (uint64_t)(u.y * 0x1p24f);
    double low = (double)(hash_mix64(x) >> 40) * 0x1p-24;
    double extended = (double)u.x + low * 0x1p-24;
    return extended < 1.0 - 0x1p-53 ? extended : 1.0 - 0x1p-53;
}

/* The share of the intensity that a spot sends out at an angle from its axis. */
static float spot_falloff(const Source *s, float cos_angle)
{
    float ramp = s->cos_inner - s->cos_outer;
    float t = ramp > 0.0f ? clampf((cos_angle - s->cos_outer) / ramp, 0.0f, 1.0f)
                          : (cos_angle >= s->cos_outer ? 1.0f : 0.0f);
    if (s->falloff == SCENE_FALLOFF_SQUARE)
        return t * t;
    float smooth = t * t * (3.0f - 2.0f * t);
    return s->falloff == SCENE_FALLOFF_SMOOTH ? smooth : smooth * fmaxf(cos_angle, 0.0f);
}

/* The share of its radiance that a shape sends out in the direction -wi. */
static float shape_share(const Source *s, const LightShape *shape, float3 wi)
{
    return s->is_spot ? spot_falloff(s, f3_dot(wi, s->axis)) : light_shape_beam(shape, wi);
}

static bool sample_point(const Source *s, float3 position, LightSample *out)
{
    float3 to_light = f3_sub(s->position, position);
    float distance2 = f3_length2(to_light);
    out->distance_m = sqrtf(distance2);
    out->wi = f3_scale(to_light, 1.0f / out->distance_m);
    out->end = (SurfacePoint){.P = s->position};
    out->is_delta = true;
    out->pdf_solid_angle = 1.0f;
    float intensity = s->is_spot ? spot_falloff(s, f3_dot(out->wi, s->axis)) : 1.0f;
    out->radiance = spectrum_scale(s->emission, intensity / distance2);
    return intensity > 0.0f && distance2 > 0.0f && spectrum_is_finite(out->radiance);
}

static bool sample_shape(const Source *s, const LightShape *shape, float3 position, float2 u,
                         LightSample *out)
{
    if (!light_shape_sample(shape, position, u, &out->wi, &out->distance_m, &out->pdf_solid_angle))
        return false;
    out->end = light_shape_point(shape, position, out->wi, out->distance_m);
    out->radiance = spectrum_scale(s->emission, shape_share(s, shape, out->wi));
    return !spectrum_is_black(out->radiance);
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
static float triangle_pdf(float area, float3 wi, float distance_m, float3 ng)
{
    double cosine = fabs((double)f3_dot(wi, ng)) / (double)f3_length(ng);
    double pdf = (double)distance_m * (double)distance_m / (cosine * (double)area);
    return pdf > 0.0 && pdf < 1e30 ? (float)pdf : 0.0f;
}

/* The points that sample a triangle, until it is sampled for all of them. */
typedef struct TriangleBlock {
    TriangleRows rows;
    uint16_t lanes;
    const SceneInstance *instance[SSL_BLOCK]; /* by lane; of those that do not move */
    uint16_t moving;                          /* lanes whose place `rows` have already */
} TriangleBlock;

/* Lets a point sample the source's triangle k. The density of the sample is completed by sample_triangles. */
static void queue_triangle(const Lights *lights, const Source *s, uint32_t k, uint32_t lane,
                           const LightQuery *query, float2 u, TriangleBlock *block,
                           LightSample *out)
{
    const SceneInstance *instance = &lights->scene->instances[s->instance];
    triangle_gather(&lights->scene->meshes[instance->mesh], s->triangles[k], query->time, lane,
                    &block->rows);
    block->instance[lane] = instance;
    if (instance->key_count > 0) {
        SceneInstance moved = scene_instance_at(instance, query->time);
        triangle_set_instance(&moved, lane, &block->rows);
        block->moving = (uint16_t)(block->moving | 1u << lane);
    }
    wide_set3(block->rows.position, lane, query->position);
    block->rows.r[lane] = u.x, block->rows.s[lane] = u.y;
    block->rows.known_area[lane] = s->moves ? 0.0f : s->areas[k];
    block->lanes = (uint16_t)(block->lanes | 1u << lane);
    out->value = LIGHT_VALUE_MESH;
    out->instance = s->instance;
    out->triangle = s->triangles[k];
    out->pdf_solid_angle = 1.0f;
}

/* Sets where the instances stand that do not move. */
static void set_instances(TriangleBlock *block)
{
    uint16_t still = block->lanes & (uint16_t)~block->moving;
    const SceneInstance *first = block->instance[__builtin_ctz(block->lanes)];
    bool is_one = block->moving == 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        is_one = is_one && (!(still >> k & 1) || block->instance[k] == first);
    if (is_one)
        triangle_set_instances(first, &block->rows);
    for (uint32_t k = 0; k < SSL_BLOCK && !is_one; ++k)
        if (still >> k & 1)
            triangle_set_instance(block->instance[k], k, &block->rows);
}

/* Completes the samples on triangles. Returns those that contribute. */
static uint16_t sample_triangles(TriangleBlock *block, LightSample *samples)
{
    TriangleRows *rows = &block->rows;
    uint16_t drawn = 0;
    if (block->lanes == 0)
        return 0;
    set_instances(block);
    triangle_sample_run(rows, block->lanes);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        LightSample *out = &samples[k];
        if (!(block->lanes >> k & 1))
            continue;
        out->wi = wide_get3(rows->wi, k);
        out->distance_m = rows->distance_m[k];
        out->pdf_solid_angle *= rows->pdf[k];
        out->end =
            (SurfacePoint){wide_get3(rows->P, k), wide_get3(rows->Ng_front, k), rows->error_m[k]};
        out->b1 = rows->b1[k], out->b2 = rows->b2[k];
        out->is_backfacing = rows->is_backfacing[k] != 0;
        if (out->pdf_solid_angle > 0.0f)
            drawn = (uint16_t)(drawn | 1u << k);
    }
    return drawn;
}

static bool sample_segment(const Lights *lights, const Source *s, uint32_t k, float3 position,
                           float time, float2 u, LightSample *out)
{
    CurvePlace place;
    if (!curve_light_sample(lights->scene, s->instance, s->triangles[k], time, position, u, &place))
        return false;
    out->wi = place.wi;
    out->distance_m = place.distance_m;
    out->pdf_solid_angle = place.pdf_solid_angle;
    out->value = LIGHT_VALUE_MESH;
    out->instance = s->instance;
    out->triangle = s->triangles[k];
    out->b1 = place.u;
    return true;
}

/* The points that sample the environment, until the memory of its table has come for all of them. */
typedef struct SkyQueue {
    EnvironmentRow rows[SSL_BLOCK];
    uint16_t lanes;
} SkyQueue;

/* Lets a point sample the environment. The sample is completed by sample_skies. */
static void queue_sky(const Lights *lights, const LightQuery *query, uint32_t lane, float2 u,
                      SkyQueue *queue, LightSample *out)
{
    const SkyFacing facing = {query->normal, query->sides};
    environment_begin(&lights->scene->environment, lights->environment, &facing, u,
                      &queue->rows[lane]);
    queue->lanes = (uint16_t)(queue->lanes | 1u << lane);
    out->distance_m = INFINITY;
    out->is_environment = true;
    out->pdf_solid_angle = 1.0f;
}

/* Completes the samples of the environment. Returns those that contribute. */
static uint16_t sample_skies(const Lights *lights, const SkyQueue *queue, LightSample *samples)
{
    const SceneEnvironment *e = &lights->scene->environment;
    bool is_mapped = e->kind != SCENE_ENVIRONMENT_COLOR;
    uint16_t drawn = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        LightSample *out = &samples[k];
        if (!(queue->lanes >> k & 1))
            continue;
        out->wi = environment_finish(e, lights->environment, &queue->rows[k], &out->place);
        out->pdf_solid_angle *= out->place.pdf;
        if (is_mapped)
            out->value = LIGHT_VALUE_ENVIRONMENT;
        else
            out->radiance = lights->sources[out->source].emission;
        if (out->pdf_solid_angle > 0.0f)
            drawn = (uint16_t)(drawn | 1u << k);
    }
    return drawn;
}

/* Samples the leaf of the tree that was picked. */
static bool sample_local(const Lights *lights, const LightQuery *query, uint32_t lane,
                         const LightPick *pick, TriangleBlock *triangles, LightSample *out)
{
    float2 u = f2(to_unit(pick->u), query->u.y);
    ASSERT(pick->leaf < lights->leaf_count && pick->probability > 0.0f);
    out->source = lights->leaf_source[pick->leaf];
    const Source *s = &lights->sources[out->source];
    uint32_t k = pick->leaf - s->first_leaf;
    bool contributes = true;
    switch (s->kind) {
    case SOURCE_POINT:
    case SOURCE_SPOT:
        contributes = sample_point(s, query->position, out);
        break;
    case SOURCE_MESH:
        if (lights->scene->meshes[lights->scene->instances[s->instance].mesh].curves)
            contributes = sample_segment(lights, s, k, query->position, query->time, u, out);
        else
            queue_triangle(lights, s, k, lane, query, u, triangles, out);
        break;
    default:
        contributes = sample_shape(s, &lights->shapes[s->light], query->position, u, out);
        break;
    }
    out->pdf_solid_angle *= pick->probability;
    return contributes;
}

/* Samples an infinite source. ux: what the choice of infinite sources left of the number. */
static bool sample_infinite(const Lights *lights, const LightQuery *query, uint32_t lane, double ux,
                            SkyQueue *skies, LightSample *out)
{
    bool contributes = true;
    out->source = find_infinite(lights, ux, &ux);
    ASSERT(out->source >= lights->infinite_first && out->source < lights->count);
    float2 u = f2(to_unit(ux), query->u.y);
    const Source *s = &lights->sources[out->source];
    if (s->kind == SOURCE_DISTANT)
        contributes = sample_distant(s, u, out);
    else
        queue_sky(lights, query, lane, u, skies, out);
    out->pdf_solid_angle *= s->probability;
    return contributes;
}

/* The points of a call, with what chooses their sources. */
typedef struct ChoiceBlock {
    float3 position[SSL_BLOCK], normal[SSL_BLOCK];
    float p_local[SSL_BLOCK];  /* the probability of local sources */
    double choice[SSL_BLOCK];  /* uniform in [0, 1): below p_local a local one is chosen */
    LightPick pick[SSL_BLOCK]; /* of a local one */
} ChoiceBlock;

/* Chooses between local and infinite sources. Returns the points that take a local one. */
static uint16_t choose_kinds(const Lights *lights, const LightQuery *queries, uint16_t live,
                             ChoiceBlock *block)
{
    bool has_many = lights->count > 1 || lights->leaf_count > 1;
    float irradiance[SSL_BLOCK];
    uint16_t local = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        if (live >> k & 1) {
            float2 u = queries[k].u;
            ASSERT(u.x >= 0.0f && u.x < 1.0f && u.y >= 0.0f && u.y < 1.0f);
            block->position[k] = queries[k].position, block->normal[k] = queries[k].normal;
            block->p_local[k] = lights->tree ? 1.0f : 0.0f;
            block->choice[k] = has_many ? extend_bits(u) : (double)u.x;
        }
    if (has_both(lights))
        light_tree_irradiance_points(lights->tree, block->position, block->normal, live,
                                     irradiance);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        if (live >> k & 1) {
            if (has_both(lights))
                block->p_local[k] = share_of_local(lights, irradiance[k]);
            if (block->choice[k] < (double)block->p_local[k]) {
                local = (uint16_t)(local | 1u << k);
                block->pick[k].u = block->choice[k] / (double)block->p_local[k];
            }
        }
    return local;
}

/* Completes a sample whose direction, or at least source, was drawn. Returns whether it contributes. */
static bool finish_sample(const Lights *lights, float p_kind, LightSample *out)
{
    out->pdf_solid_angle *= p_kind;
    out->light_group = source_group(lights, out->source);
    out->visibility = source_visibility(lights, out->source);
    return out->pdf_solid_angle > 0.0f;
}

uint16_t lights_sample_points(const Lights *lights, const LightQuery *queries, uint16_t live,
                              LightSample *out_samples)
{
    ChoiceBlock block;
    TriangleBlock triangles;
    SkyQueue skies;
    uint16_t drawn = 0, local, found = 0;
    triangles.lanes = triangles.moving = skies.lanes = 0;
    if (lights->count == 0 || live == 0)
        return 0;
    local = choose_kinds(lights, queries, live, &block);
    if (local)
        found =
            light_tree_sample_points(lights->tree, block.position, block.normal, local, block.pick);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        LightSample *out = &out_samples[k];
        bool is_local = local >> k & 1;
        float p = is_local ? block.p_local[k] : 1.0f - block.p_local[k];
        if (!(live >> k & 1) || (is_local && !(found >> k & 1)))
            continue;
        *out = (LightSample){.value = LIGHT_VALUE_KNOWN};
        bool contributes =
            is_local ? sample_local(lights, &queries[k], k, &block.pick[k], &triangles, out)
                     : sample_infinite(lights, &queries[k], k,
                                       (block.choice[k] - (double)block.p_local[k]) /
                                           (1.0 - (double)block.p_local[k]),
                                       &skies, out);
        if (contributes && finish_sample(lights, p, out))
            drawn = (uint16_t)(drawn | 1u << k);
    }
    uint16_t waiting = triangles.lanes | skies.lanes;
    uint16_t completed = sample_triangles(&triangles, out_samples);
    if (skies.lanes)
        completed |= sample_skies(lights, &skies, out_samples);
    return drawn & (completed | (uint16_t)~waiting);
}

bool lights_sample(const Lights *lights, float3 position, float3 normal, float time, float2 u,
                   LightSample *out_sample)
{
    const LightQuery query = {.position = position, .normal = normal, .time = time, .u = u};
    return lights_sample_points(lights, &query, 1, out_sample) != 0;
}

/* --- lights that are met -------------------------------------------------------------------- */

LightHit lights_shape_hit(const Lights *lights, float3 position, float3 normal, uint32_t light,
                          float3 direction, float distance_m)
{
    CHECK(light < lights->scene->light_count);
    uint32_t source = lights->source_of_light[light];
    if (source == NO_SOURCE)
        return (LightHit){.visibility = &lights->scene->lights[light].visibility};
    const Source *s = &lights->sources[source];
    const LightShape *shape = &lights->shapes[light];
    float pdf = light_shape_pdf(shape, position, direction, distance_m);
    if (pdf == 0.0f && light_shape_faces(shape))
        return (LightHit){.is_beside = true,
                          .visibility = &lights->scene->lights[light].visibility};
    if (pdf > 0.0f)
        pdf *= leaf_probability(lights, position, normal, s->first_leaf);
    return (LightHit){.radiance = spectrum_scale(s->emission, shape_share(s, shape, direction)),
                      .pdf_solid_angle = pdf,
                      .light_group = source_group(lights, source),
                      .visibility = source_visibility(lights, source)};
}

/* The place of a triangle in the source's rising list; NO_SOURCE: it has no area. */
static uint32_t find_triangle(const Source *s, uint32_t triangle)
{
    uint32_t low = 0, high = s->triangle_count;
    ASSERT(high > 0); /* a mesh source has a triangle */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (s->triangles[middle] <= triangle)
            low = middle;
        else
            high = middle;
    }
    return s->triangles[low] == triangle ? low : NO_SOURCE;
}

float lights_mesh_pdf(const Lights *lights, float3 position, float3 normal, float time,
                      const MeshLightHit *met)
{
    uint32_t instance = met->instance, triangle = met->triangle;
    CHECK(instance < lights->scene->instance_count);
    if (!lights->first_slot)
        return 0.0f;
    const SceneMesh *mesh = &lights->scene->meshes[lights->scene->instances[instance].mesh];
    uint32_t slot = scene_material_slot(mesh, triangle);
    uint32_t source = lights->source_of_slot[lights->first_slot[instance] + slot];
    if (source == NO_SOURCE)
        return 0.0f;
    const Source *s = &lights->sources[source];
    uint32_t k = find_triangle(s, triangle);
    if (k == NO_SOURCE)
        return 0.0f;
    float pdf;
    if (mesh->curves) {
        const CurvePlace place = {
            .u = met->b1, .wi = met->direction, .distance_m = met->distance_m};
        pdf = curve_light_pdf(lights->scene, instance, triangle, time, position, &place);
    } else {
        float area = s->areas[k];
        if (s->moves) {
            float3 p[3];
            scene_triangle_at(lights->scene, instance, triangle, time, p);
            area = 0.5f * f3_length(f3_cross(f3_sub(p[1], p[0]), f3_sub(p[2], p[0])));
        }
        pdf = triangle_pdf(area, met->direction, met->distance_m, met->ng);
    }
    return pdf > 0.0f ? pdf * leaf_probability(lights, position, normal, s->first_leaf + k) : 0.0f;
}

uint32_t lights_infinite_count(const Lights *lights)
{
    return lights->count - lights->infinite_first;
}

bool lights_infinite_hit(const Lights *lights, const LightQuery *from, uint32_t index,
                         float3 direction, bool wants_density, LightHit *out_hit)
{
    CHECK(index < lights_infinite_count(lights));
    const Source *s = &lights->sources[lights->infinite_first + index];
    *out_hit = (LightHit){.value = LIGHT_VALUE_KNOWN, .radiance = s->emission};
    float pdf = 0.0f;
    if (s->kind == SOURCE_DISTANT) {
        /* 1 - cos of the angle to the axis, accurate for small angles. */
        float one_minus_cos = 0.5f * f3_length2(f3_sub(direction, s->axis));
        if (!(s->one_minus_cos > 0.0f) || one_minus_cos > s->one_minus_cos ||
            lights->scene->lights[s->light].visibility.is_sampled_only)
            return false;
        pdf = warp_cone_pdf(s->one_minus_cos);
    } else {
        const SceneEnvironment *e = &lights->scene->environment;
        bool is_mapped = e->kind != SCENE_ENVIRONMENT_COLOR;
        out_hit->is_environment = true;
        if (wants_density)
            out_hit->place = environment_find(e, lights->environment,
                                              &(SkyFacing){from->normal, from->sides}, direction);
        pdf = out_hit->place.pdf;
        if (is_mapped) {
            out_hit->value = LIGHT_VALUE_ENVIRONMENT;
            out_hit->radiance = spectrum_splat(0.0f);
        }
    }
    out_hit->light_group = source_group(lights, lights->infinite_first + index);
    out_hit->visibility = source_visibility(lights, lights->infinite_first + index);
    if (wants_density)
        out_hit->pdf_solid_angle =
            (1.0f - local_probability(lights, from->position, from->normal)) * s->probability * pdf;
    return true;
}

bool lights_know_sky(const Lights *lights, const EnvironmentPlace *place, float lobe_pdf,
                     Spectrum *out_radiance)
{
    const EnvironmentTable *table = lights->environment;
    if (!table || !environment_table_suffices(table, lobe_pdf))
        return false;
    *out_radiance =
        spectrum_scale(spectrum_from_rgb(environment_table_radiance(table, place->cell)),
                       lights->scene->environment.strength);
    return true;
}

EnvironmentFootprint lights_environment_cell(const Lights *lights, float2 uv)
{
    return environment_cell(lights->environment, uv);
}
