/* Lights that rays meet: their radiance, and the density with which light_sample.c samples them. */
#include "sort/light/light_state.h"

#include "base/check.h"
#include "sort/light/curve_light.h"
#include "sort/sampling/warp.h"

uint32_t lights_count(const Lights *lights)
{
    return lights->count;
}

uint32_t lights_sight_count(const Lights *lights)
{
    return lights->leaf_count + (lights->count - lights->infinite_first);
}

uint32_t lights_sight_index(const Lights *lights, const LightRows *rows, uint32_t lane)
{
    uint32_t source = rows->source[lane], first = lights->infinite_first;
    return source < first ? rows->leaf[lane] : lights->leaf_count + (source - first);
}

float lights_share_of_local(const Lights *lights, float local_irradiance)
{
    if (!(local_irradiance > 0.0f))
        return 0.0f;
    return lights->share_min +
           (1.0f - 2.0f * lights->share_min) *
               (local_irradiance / (local_irradiance + 2.0f * lights->infinite_irradiance));
}

/* Sets 4 times the cosine of each normal to the source's direction, and 1, its mean over the sphere, without a normal. */
static void facing(const Source *s, const WideRow normals[3], const uint32_t sides[SSL_BLOCK],
                   WideRow out)
{
    const float horizon = 0.05f;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        float cosine =
            s->axis.x * normals[0][k] + s->axis.y * normals[1][k] + s->axis.z * normals[2][k];
        float above = sides[k] & SKY_ABOVE ? cosine : horizon;
        float below = sides[k] & SKY_BELOW ? -cosine : horizon;
        out[k] = sides[k] == SKY_ALL_AROUND ? 1.0f : 4.0f * maxf(horizon, maxf(above, below));
    }
}

/* Sets how many samples there are for a unit of weight, of light sampling and of scattering together, among sources that have a weight. */
static void samples_per_weight(const Source *sources, uint32_t count,
                               WideRow weights[LIGHTS_WEIGHED_MAX], WideRow out)
{
    alignas(64) WideRow sum = {0}, samples;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        samples[k] = 1.0f;
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
            sum[k] += weights[i][k];
            samples[k] += weights[i][k] > 0.0f ? sources[i].scattered : 0.0f;
        }
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out[k] = samples[k] / sum[k];
}

/* Makes weights the chances in light sampling that give each source samples in proportion to its weight, those of scattering included
 * [Neyman1934]. Sources of which scattering has more than that get 0. */
static void leave_to_scattering(const Source *sources, uint32_t count,
                                WideRow weights[LIGHTS_WEIGHED_MAX])
{
    alignas(64) WideRow samples;
    /* What is left out lowers the samples of the others: another may have enough then, but not all. */
    for (uint32_t pass = 1; pass < count; ++pass) {
        samples_per_weight(sources, count, weights, samples);
        for (uint32_t i = 0; i < count; ++i)
            for (uint32_t k = 0; k < SSL_BLOCK; ++k)
                weights[i][k] =
                    samples[k] * weights[i][k] > sources[i].scattered ? weights[i][k] : 0.0f;
    }
    samples_per_weight(sources, count, weights, samples);
    for (uint32_t i = 0; i < count; ++i)
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            weights[i][k] = maxf(0.0f, samples[k] * weights[i][k] - sources[i].scattered);
}

/* Rounds chances of a lane, which sum to 1, to whole sixteenths, at least one each. Of 16 stratified samples, and of 64, equally many
 * go to a source then in all pixels that look at one plane. */
static void take_sixteenths(WideRow chances[LIGHTS_WEIGHED_MAX], uint32_t count, uint32_t k)
{
    float running = 0.0f, taken = 0.0f;
    for (uint32_t i = 0; i + 1 < count; ++i) {
        float most = 16.0f - (float)(count - 1 - i) - taken;
        running += chances[i][k];
        float sixteenths = floorf(16.0f * running + 0.5f) - taken;
        sixteenths = clampf(sixteenths, 1.0f, most);
        chances[i][k] = sixteenths * 0x1p-4f;
        taken += sixteenths;
    }
    chances[count - 1][k] = (16.0f - taken) * 0x1p-4f;
}

void lights_weigh(const Lights *lights, const WideRow normals[3], const uint32_t sides[SSL_BLOCK],
                  WideRow out_chances[LIGHTS_WEIGHED_MAX])
{
    uint32_t count = lights->count - lights->infinite_first;
    ASSERT(lights_weigh_infinite(lights));
    for (uint32_t i = 0; i < count; ++i) {
        const Source *s = &lights->sources[lights->infinite_first + i];
        float *chances = out_chances[i];
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            chances[k] = 1.0f;
        if (s->kind == SOURCE_DISTANT)
            facing(s, normals, sides, chances);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            chances[k] *= s->probability * s->variation;
    }
    leave_to_scattering(&lights->sources[lights->infinite_first], count, out_chances);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        take_sixteenths(out_chances, count, k);
}

bool lights_have_both(const Lights *lights)
{
    return lights->tree && lights->infinite_first < lights->count;
}

static float local_probability(const Lights *lights, float3 position, float3 normal)
{
    if (!lights_have_both(lights))
        return lights->tree ? 1.0f : 0.0f;
    return lights_share_of_local(lights, light_tree_irradiance(lights->tree, position, normal));
}

/* Probability of a leaf of the tree at a point. */
static float leaf_probability(const Lights *lights, float3 position, float3 normal, uint32_t leaf)
{
    return local_probability(lights, position, normal) *
           light_tree_probability(lights->tree, position, normal, leaf);
}

/* Probability of an infinite source among these at one point. */
static float infinite_probability(const Lights *lights, uint32_t index, float3 normal)
{
    alignas(64) WideRow chances[LIGHTS_WEIGHED_MAX];
    WideRow normals[3] = {{normal.x}, {normal.y}, {normal.z}};
    const uint32_t sides[SSL_BLOCK] = {f3_length2(normal) > 0.0f ? SKY_ABOVE : SKY_ALL_AROUND};
    if (!lights_weigh_infinite(lights))
        return lights->sources[lights->infinite_first + index].probability;
    lights_weigh(lights, normals, sides, chances);
    return chances[index][0];
}

float lights_choice_probability(const Lights *lights, uint32_t source, float3 position,
                                float3 normal)
{
    CHECK(source < lights->count);
    const Source *s = &lights->sources[source];
    if (source >= lights->infinite_first)
        return (1.0f - local_probability(lights, position, normal)) *
               infinite_probability(lights, source - lights->infinite_first, normal);
    float sum = 0.0f;
    for (uint32_t k = 0; k < (s->kind == SOURCE_MESH ? s->triangle_count : 1); ++k)
        sum += leaf_probability(lights, position, normal, s->first_leaf + k);
    return sum;
}

float source_spot_falloff(const Source *s, float cos_angle)
{
    float ramp = s->cos_inner - s->cos_outer;
    float t = ramp > 0.0f ? clampf((cos_angle - s->cos_outer) / ramp, 0.0f, 1.0f)
                          : (cos_angle >= s->cos_outer ? 1.0f : 0.0f);
    if (s->falloff == SCENE_FALLOFF_SQUARE)
        return t * t;
    float smooth = t * t * (3.0f - 2.0f * t);
    return s->falloff == SCENE_FALLOFF_SMOOTH ? smooth : smooth * fmaxf(cos_angle, 0.0f);
}

float source_shape_share(const Source *s, const LightShape *shape, float3 wi)
{
    return s->is_spot ? source_spot_falloff(s, f3_dot(wi, s->axis)) : light_shape_beam(shape, wi);
}

/* --- lights that are met -------------------------------------------------------------------- */

LightHit lights_shape_hit(const Lights *lights, const LightQuery *from, uint32_t light,
                          float3 direction, float distance_m)
{
    CHECK(light < lights->scene->light_count);
    uint32_t source = lights->source_of_light[light];
    if (source == NO_SOURCE)
        return (LightHit){.visibility = &lights->scene->lights[light].visibility};
    const Source *s = &lights->sources[source];
    const LightShape *shape = &lights->shapes[light];
    float pdf = light_shape_pdf(shape, from, direction, distance_m);
    if (pdf == 0.0f && light_shape_faces(shape))
        return (LightHit){.is_beside = true,
                          .visibility = &lights->scene->lights[light].visibility};
    if (pdf > 0.0f)
        pdf *= leaf_probability(lights, from->position, from->normal, s->first_leaf);
    return (LightHit){.radiance =
                          spectrum_scale(s->emission, source_shape_share(s, shape, direction)),
                      .pdf_solid_angle = pdf,
                      .light_group = s->light_group,
                      .visibility = s->visibility};
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

/* Returns the density with which the point that was met is drawn on the source's triangle k. */
static float triangle_pdf(const Lights *lights, const Source *s, uint32_t k, const LightQuery *from,
                          float time, const MeshLightHit *met)
{
    TriangleRows rows;
    const LightTriangle *placed[SSL_BLOCK];
    uint32_t instances[SSL_BLOCK], triangles[SSL_BLOCK];
    for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane)
        placed[lane] = &lights->triangles[s->first_leaf + k];
    light_triangles_load(placed, 1, &rows, instances, triangles);
    if (s->moves)
        light_triangles_load_moving(lights->scene, instances, triangles, &time, 1, &rows);
    wide_set3(rows.position, 0, from->position);
    wide_set3(rows.facing, 0, from->normal);
    rows.above[0] = from->sides & SKY_ABOVE ? 1.0f : 0.0f;
    rows.below[0] = from->sides & SKY_BELOW ? 1.0f : 0.0f;
    rows.b1[0] = met->b1, rows.b2[0] = met->b2;
    triangle_density_run(&rows, 1);
    return rows.pdf[0];
}

float lights_mesh_pdf(const Lights *lights, const LightQuery *from, float time,
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
        pdf = curve_light_pdf(lights->scene, instance, triangle, time, from->position, &place);
    } else {
        pdf = triangle_pdf(lights, s, k, from, time, met);
    }
    return pdf > 0.0f
               ? pdf * leaf_probability(lights, from->position, from->normal, s->first_leaf + k)
               : 0.0f;
}

uint32_t lights_infinite_count(const Lights *lights)
{
    return lights->count - lights->infinite_first;
}

bool lights_infinite_hit(const Lights *lights, uint32_t index, float3 direction,
                         const LightSky *sky, LightHit *out_hit)
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
        out_hit->is_environment = true;
        if (sky)
            out_hit->place = sky->place;
        pdf = out_hit->place.pdf;
        if (lights->scene->environment.kind != SCENE_ENVIRONMENT_COLOR) {
            out_hit->value = LIGHT_VALUE_ENVIRONMENT;
            out_hit->radiance = spectrum_splat(0.0f);
        }
    }
    out_hit->light_group = s->light_group;
    out_hit->visibility = s->visibility;
    if (sky)
        out_hit->pdf_solid_angle =
            sky->chance * pdf *
            (lights_weigh_infinite(lights) ? sky->chance_of[index] : s->probability);
    return true;
}

/* Sets the probabilities of choosing among infinite sources at points. */
static void find_chances(const Lights *lights, const WideRow positions[3], const WideRow normals[3],
                         uint16_t lanes, LightSky out_skies[SSL_BLOCK])
{
    alignas(64) WideRow irradiance;
    if (!lights_have_both(lights)) {
        WIDE_EACH(k, lanes) out_skies[k].chance = lights->tree ? 0.0f : 1.0f;
        return;
    }
    light_tree_irradiance_points(lights->tree, positions, normals, lanes, irradiance);
    WIDE_EACH(k, lanes)
    out_skies[k].chance = 1.0f - lights_share_of_local(lights, irradiance[k]);
}

void lights_find_sky(const Lights *lights, const EnvironmentRays *rays, const WideRow positions[3],
                     uint16_t lanes, LightSky out_skies[SSL_BLOCK])
{
    const SceneEnvironment *e = &lights->scene->environment;
    EnvironmentPlace places[SSL_BLOCK];
    if (e->kind != SCENE_ENVIRONMENT_NONE)
        environment_find(e, lights->environment, rays, lanes, places);
    else
        WIDE_EACH(k, lanes) places[k] = (EnvironmentPlace){.pdf = 0.0f};
    WIDE_EACH(k, lanes) out_skies[k].place = places[k];
    find_chances(lights, positions, rays->normal, lanes, out_skies);
    if (!lights_weigh_infinite(lights))
        return;
    alignas(64) WideRow chances[LIGHTS_WEIGHED_MAX];
    lights_weigh(lights, rays->normal, rays->sides, chances);
    for (uint32_t i = 0; i < lights_infinite_count(lights); ++i)
        WIDE_EACH(k, lanes) out_skies[k].chance_of[i] = chances[i][k];
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
