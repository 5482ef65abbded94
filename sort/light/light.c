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
    return lights->leaf_count + (lights->count - lights->infinite_first) +
           (lights->portals ? 1u : 0u);
}

uint32_t lights_sight_index(const Lights *lights, const LightRows *rows, uint32_t lane)
{
    uint32_t source = rows->source[lane], first = lights->infinite_first;
    if (lights->portals && rows->is_environment[lane] && rows->is_through_portal[lane])
        return lights->leaf_count + (lights->count - first);
    return source < first ? rows->leaf[lane] : lights->leaf_count + (source - first);
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
        pdf *= lights_leaf_probability(lights, from, s->first_leaf);
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

/* Sets lane 0 to what is asked about the point that was met. */
static void ask_met(const LightQuery *from, const MeshLightHit *met, TriangleRows *rows)
{
    wide_set3(rows->position, 0, from->position);
    wide_set3(rows->facing, 0, from->normal);
    rows->above[0] = from->sides & SKY_ABOVE ? 1.0f : 0.0f;
    rows->below[0] = from->sides & SKY_BELOW ? 1.0f : 0.0f;
    rows->b1[0] = met->b1, rows->b2[0] = met->b2;
}

/* Returns the density with which the point that was met is drawn on the triangle of a leaf. */
static float triangle_pdf(const Lights *lights, const Source *s, uint32_t leaf,
                          const LightQuery *from, float time, const MeshLightHit *met)
{
    TriangleRows rows;
    const LightTriangle *placed[SSL_BLOCK];
    uint32_t instances[SSL_BLOCK], triangles[SSL_BLOCK];
    for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane)
        placed[lane] = &lights->triangles[leaf];
    light_triangles_load(placed, 1, &rows, instances, triangles);
    if (s->moves)
        light_triangles_load_moving(lights->scene, instances, triangles, &time, 1, &rows);
    ask_met(from, met, &rows);
    triangle_density_run(&rows, 1);
    return rows.pdf[0];
}

/* Returns the density with which the point that was met is drawn on a pair of triangles. */
static float pair_pdf(const LightPair *pair, const LightQuery *from, const MeshLightHit *met)
{
    TriangleRows rows;
    const LightPair *pairs[SSL_BLOCK] = {pair};
    light_pairs_load(pairs, 1, &rows);
    ask_met(from, met, &rows);
    rows.of_second[0] = met->triangle == pair->triangle[1] ? 1.0f : 0.0f;
    triangle_pair_density_run(&rows, 1);
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
    uint32_t leaf = s->first_leaf + source_leaf(s, k);
    float pdf;
    if (mesh->curves) {
        const CurvePlace place = {
            .u = met->b1, .wi = met->direction, .distance_m = met->distance_m};
        pdf = curve_light_pdf(lights->scene, instance, triangle, time, from->position, &place);
    } else {
        const LightPair *pair = lights_pair(lights, leaf);
        pdf = pair ? pair_pdf(pair, from, met) : triangle_pdf(lights, s, leaf, from, time, met);
    }
    return pdf > 0.0f ? pdf * lights_leaf_probability(lights, from, leaf) : 0.0f;
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

/* Returns the lanes in which light sampling may draw the environment. */
static uint16_t lanes_that_draw_sky(const Lights *lights, const LightChances *chances,
                                    uint16_t lanes)
{
    const Source *s = &lights->sources[lights->infinite_first];
    uint32_t count = lights_infinite_count(lights), sky = 0, drawn = 0;
    while (sky < count && s[sky].kind != SOURCE_ENVIRONMENT)
        ++sky;
    if (sky == count)
        return 0;
    bool is_weighed = lights_weigh_infinite(lights);
    WIDE_EACH(k, lanes)
    drawn |=
        (uint32_t)(chances->local[k] < 1.0f && !(is_weighed && chances->infinite[sky][k] == 0.0f))
        << k;
    return (uint16_t)drawn;
}

void lights_find_sky(const Lights *lights, const EnvironmentRays *rays, const WideRow positions[3],
                     uint16_t lanes, LightSky out_skies[SSL_BLOCK])
{
    const SceneEnvironment *e = &lights->scene->environment;
    EnvironmentPlace places[SSL_BLOCK];
    LightChances chances;
    lights_find_chances(lights, positions, rays->normal, rays->sides, lanes, &chances);
    WIDE_EACH(k, lanes)
    {
        out_skies[k].place = (EnvironmentPlace){.pdf = 0.0f};
        out_skies[k].chance = 1.0f - chances.local[k];
        for (uint32_t i = 0; i < lights_infinite_count(lights) && lights_weigh_infinite(lights);
             ++i)
            out_skies[k].chance_of[i] = chances.infinite[i][k];
    }
    /* The place in a map is where its light is looked up; in an even sky it tells the density of light sampling alone. */
    uint16_t asked = e->kind == SCENE_ENVIRONMENT_NONE ? 0 : lanes;
    if (e->kind == SCENE_ENVIRONMENT_COLOR)
        asked = lanes_that_draw_sky(lights, &chances, lanes);
    if (asked)
        environment_find(e, lights->environment, rays, asked, places);
    if (asked && lights->portals) {
        const PortalPoints at = {positions, rays->normal, rays->sides};
        PortalGroups groups;
        portals_look(lights->portals, &at, asked, &groups);
        lights_weigh_sky(lights, &at, &groups, rays->direction, NULL, asked, places);
    }
    WIDE_EACH(k, asked) out_skies[k].place = places[k];
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
