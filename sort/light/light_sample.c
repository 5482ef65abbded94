/* Samples light for the points of a block: chooses a source for each, and a point or a direction on it.
 *
 * Local sources are found by the tree (light_tree.h), infinite ones by inversion of running sums in double
 * precision. Both keep the order of the first random number, and what is left of it after the choice goes on to the source:
 * so stratified pairs stay stratified over lights and on each of them. (A number of its own for the choice would leave each
 * light an arbitrary part of the pairs.) The samplers' 24 bits are too few for millions of triangles: the lower bits come
 * from a hash of both numbers. */
#include "sort/light/light_state.h"

#include "base/bits.h"
#include "base/check.h"
#include "base/hash.h"
#include "sort/light/curve_light.h"
#include "sort/light/rectangle_light.h"
#include "sort/sampling/warp.h"
#include <string.h>

/* --- choosing a source ------------------------------------------------------------------------- */

/* The source that each point has chosen. pick: where the choice came to in the tree, for local sources; what it left of the first
 * random number, and the probability, for all. */
typedef struct Choice {
    const Source *source[SSL_BLOCK];
    LightPicks pick;
} Choice;

/* The first number with bits below its 24, drawn from both numbers. */
static double extend_bits(float2 u)
{
    uint64_t x =
        (uint64_t)(uint32_t)(int32_t)(u.x * 0x1p24f) << 32 | (uint32_t)(int32_t)(u.y * 0x1p24f);
    double low = (double)(int64_t)(hash_mix64(x) >> 40) * 0x1p-24;
    double extended = (double)u.x + low * 0x1p-24;
    return extended < 1.0 - 0x1p-53 ? extended : 1.0 - 0x1p-53;
}

/* Takes the infinite source whose interval of the running sums holds u, by their power. */
static void take_by_power(const Lights *lights, double u, float p_local, uint32_t k, Choice *choice)
{
    uint32_t low = light_interval(lights->cumulative, lights->count - lights->infinite_first, u);
    double begin = lights->cumulative[low];
    const Source *s = &lights->sources[lights->infinite_first + low];
    ASSERT(lights->infinite_first + low < lights->count);
    choice->source[k] = s;
    choice->pick.u[k] = (u - begin) / (lights->cumulative[low + 1] - begin);
    choice->pick.probability[k] = s->probability * (1.0f - p_local);
}

/* Takes the infinite source whose interval of the running sums holds u, by what each brings. */
static void take_weighed(const Lights *lights, const WideRow chances[LIGHTS_WEIGHED_MAX], double u,
                         float p_local, uint32_t k, Choice *choice)
{
    uint32_t i = 0, last = lights->count - lights->infinite_first - 1;
    double begin = 0.0;
    while (i < last && u >= begin + (double)chances[i][k])
        begin += (double)chances[i++][k];
    double left = (u - begin) / (double)chances[i][k];
    choice->source[k] = &lights->sources[lights->infinite_first + i];
    choice->pick.u[k] = left < 1.0 - 0x1p-53 ? left : 1.0 - 0x1p-53;
    choice->pick.probability[k] = chances[i][k] * (1.0f - p_local);
}

/* Takes infinite sources for the points of `lanes`, by numbers u in [0, 1) among these alone. */
static void take_infinite(const Lights *lights, const LightChances *chances,
                          const double u[SSL_BLOCK], uint16_t lanes, Choice *choice)
{
    bool is_weighed = lights_weigh_infinite(lights);
    WIDE_EACH(k, lanes)
    if (is_weighed)
        take_weighed(lights, chances->infinite, u[k], chances->local[k], k, choice);
    else
        take_by_power(lights, u[k], chances->local[k], k, choice);
}

/* Takes the sources that hold the leaves which were picked for the points of `found`. */
static void take_local(const Lights *lights, uint16_t found, Choice *choice)
{
    if (lights->count == 1) {
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            choice->source[k] = lights->sources;
        return;
    }
    WIDE_EACH(k, found)
    {
        ASSERT(choice->pick.leaf[k] < lights->leaf_count && choice->pick.probability[k] > 0.0f);
        choice->source[k] = &lights->sources[lights->leaf_source[choice->pick.leaf[k]]];
    }
}

/* Sets the first number of each point of `live`, as choosing reads it. */
static void draw_numbers(const Lights *lights, const LightQueries *queries, uint16_t live,
                         double out_u[SSL_BLOCK])
{
    if (lights->count == 1 && lights->leaf_count <= 1) {
        for (uint32_t k = 0; k < SSL_BLOCK; ++k) /* of other points, too: a loop of vectors */
            out_u[k] = (double)queries->u[0][k];
        return;
    }
    WIDE_EACH(k, live)
    {
        float2 u = f2(queries->u[0][k], queries->u[1][k]);
        ASSERT(u.x >= 0.0f && u.x < 1.0f && u.y >= 0.0f && u.y < 1.0f);
        out_u[k] = extend_bits(u);
    }
}

/* Chooses between local and infinite sources, and then one of them. As choose_sources. */
static uint16_t choose_of_both(const Lights *lights, const LightQueries *queries,
                               const LightChances *chances, uint16_t live, Choice *out)
{
    LightPicks *pick = &out->pick, tried;
    double among_infinite[SSL_BLOCK];
    uint16_t local = 0;
    WIDE_EACH(k, live)
    {
        double u = pick->u[k], p = (double)chances->local[k];
        if (u < p) {
            local = (uint16_t)(local | 1u << k);
            tried.u[k] = u / p;
        } else {
            among_infinite[k] = (u - p) / (1.0 - p);
        }
    }
    take_infinite(lights, chances, among_infinite, live & ~local, out);
    uint16_t found = light_tree_sample_points(lights->tree, queries->position, queries->normal,
                                              queries->gloss, local, &tried);
    WIDE_EACH(k, found)
    {
        pick->u[k] = tried.u[k], pick->leaf[k] = tried.leaf[k];
        pick->probability[k] = tried.probability[k] * chances->local[k];
    }
    take_local(lights, found, out);
    return (uint16_t)((live & ~local) | found);
}

/* Chooses a source for each point of `live`. Returns the points for which there is one. */
static uint16_t choose_sources(const Lights *lights, const LightQueries *queries, uint16_t live,
                               Choice *out)
{
    LightChances chances;
    draw_numbers(lights, queries, live, out->pick.u);
    if (lights->infinite_first < lights->count)
        lights_find_chances(lights, queries->position, queries->normal, queries->sides, live,
                            &chances);
    if (lights_have_both(lights))
        return choose_of_both(lights, queries, &chances, live, out);
    if (!lights->tree) {
        double u[SSL_BLOCK];
        memcpy(u, out->pick.u, sizeof u);
        take_infinite(lights, &chances, u, live, out);
        return live;
    }
    uint16_t found = light_tree_sample_points(lights->tree, queries->position, queries->normal,
                                              queries->gloss, live, &out->pick);
    take_local(lights, found, out);
    return found;
}

/* The coordinate of a point on the source, from what its choice left of the number. */
static float to_unit(double u)
{
    return minf((float)u, 0x1.fffffep-1f);
}

/* --- all points at once ------------------------------------------------------------------------------ */

/* Sets what programs are asked of the points; the pair of numbers is what the choice left of it. */
static void ask(const LightQueries *queries, const Choice *choice, WideRow position[3],
                WideRow facing[3], float *above, float *below, float *r, float *s)
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        r[k] = to_unit(choice->pick.u[k]);
        above[k] = queries->sides[k] & SKY_ABOVE ? 1.0f : 0.0f;
        below[k] = queries->sides[k] & SKY_BELOW ? 1.0f : 0.0f;
    }
    memcpy(position, queries->position, 3 * sizeof *position);
    memcpy(facing, queries->normal, 3 * sizeof *facing);
    memcpy(s, queries->u[1], sizeof(WideRow));
}

/* Sets those lanes of a row, or all. */
static void put_row(const void *from, uint16_t lanes, bool all, void *to)
{
    if (all)
        memcpy(to, from, sizeof(WideRow));
    else
        WIDE_EACH(k, lanes) memcpy((float *)to + k, (const float *)from + k, sizeof(float));
}

/* --- triangles ----------------------------------------------------------------------------------------- */

static void ask_triangles(const LightQueries *queries, const Choice *choice, TriangleRows *rows)
{
    ask(queries, choice, rows->position, rows->facing, rows->above, rows->below, rows->r, rows->s);
}

/* Sets the lanes of `lanes`, and writes something to the others. */
static void sample_triangles(const Lights *lights, const LightQueries *queries,
                             const Choice *choice, uint16_t lanes, LightRows *out)
{
    TriangleRows rows;
    const LightTriangle *placed[SSL_BLOCK];
    uint32_t moving = 0;
    ASSERT(lanes != 0);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        placed[k] = lights->triangles;
    WIDE_EACH(k, lanes)
    {
        placed[k] = &lights->triangles[choice->pick.leaf[k]];
        out->value[k] = LIGHT_VALUE_MESH;
    }
    WIDE_EACH(k, lights->moves ? lanes : 0) moving |= (uint32_t)choice->source[k]->moves << k;
    light_triangles_load(placed, lanes, &rows, out->instance, out->triangle);
    if (moving)
        light_triangles_load_moving(lights->scene, out->instance, out->triangle, queries->time,
                                    (uint16_t)moving, &rows);
    ask_triangles(queries, choice, &rows);
    triangle_sample_run(&rows, lanes);
    memcpy(out->wi, rows.wi, sizeof out->wi);
    memcpy(out->distance_m, rows.distance_m, sizeof out->distance_m);
    memcpy(out->pdf, rows.pdf, sizeof out->pdf);
    memcpy(out->end, rows.P, sizeof out->end);
    memcpy(out->end_n, rows.front, sizeof out->end_n);
    memcpy(out->end_error_m, rows.error_m, sizeof out->end_error_m);
    memcpy(out->b1, rows.b1, sizeof out->b1);
    memcpy(out->b2, rows.b2, sizeof out->b2);
    memcpy(out->is_backfacing, rows.is_backfacing, sizeof out->is_backfacing);
}

/* Draws points of pairs of triangles. all: other lanes may be written to. */
static void sample_pairs(const Lights *lights, const LightQueries *queries, const Choice *choice,
                         uint16_t lanes, bool all, LightRows *out)
{
    TriangleRows rows;
    const LightPair *pairs[SSL_BLOCK];
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        pairs[k] = lights->pairs;
    WIDE_EACH(k, lanes) pairs[k] = &lights->pairs[lights->pair_of_leaf[choice->pick.leaf[k]]];
    light_pairs_load(pairs, lanes, &rows);
    ask_triangles(queries, choice, &rows);
    triangle_pair_sample_run(&rows, lanes);
    for (uint32_t c = 0; c < 3; ++c) {
        put_row(rows.wi[c], lanes, all, out->wi[c]);
        put_row(rows.P[c], lanes, all, out->end[c]);
        put_row(rows.drawn_front[c], lanes, all, out->end_n[c]);
    }
    put_row(rows.distance_m, lanes, all, out->distance_m);
    put_row(rows.pdf, lanes, all, out->pdf);
    put_row(rows.drawn_error_m, lanes, all, out->end_error_m);
    put_row(rows.b1, lanes, all, out->b1);
    put_row(rows.b2, lanes, all, out->b2);
    put_row(rows.is_backfacing, lanes, all, out->is_backfacing);
    WIDE_EACH(k, lanes)
    {
        out->value[k] = LIGHT_VALUE_MESH;
        out->instance[k] = pairs[k]->instance;
        out->triangle[k] = pairs[k]->triangle[rows.is_second[k]];
    }
}

/* --- other sources ----------------------------------------------------------------------------------- */

static void set_direction(LightRows *out, uint32_t k, float3 wi, float distance_m, float pdf)
{
    wide_set3(out->wi, k, wi);
    out->distance_m[k] = distance_m;
    out->pdf[k] = pdf;
}

static void set_radiance(LightRows *out, uint32_t k, Spectrum radiance)
{
    SPECTRUM_EACH(c) out->radiance[c][k] = radiance.c[c];
}

static void set_end(LightRows *out, uint32_t k, SurfacePoint end)
{
    wide_set3(out->end, k, end.P);
    wide_set3(out->end_n, k, end.n);
    out->end_error_m[k] = end.error_m;
}

static bool sample_point(const Source *s, float3 position, uint32_t k, LightRows *out)
{
    float3 to_light = f3_sub(s->position, position);
    float distance2 = f3_length2(to_light), distance = sqrtf(distance2);
    float3 wi = f3_scale(to_light, 1.0f / distance);
    float intensity = s->is_spot ? source_spot_falloff(s, f3_dot(wi, s->axis)) : 1.0f;
    Spectrum radiance = spectrum_scale(s->emission, intensity / distance2);
    set_direction(out, k, wi, distance, 1.0f);
    set_end(out, k, (SurfacePoint){.P = s->position});
    set_radiance(out, k, radiance);
    out->is_delta[k] = true;
    return intensity > 0.0f && distance2 > 0.0f && spectrum_is_finite(radiance);
}

/* Returns the point of a lane. */
static LightQuery query_at(const LightQueries *queries, uint32_t k)
{
    return light_query(wide_get3(queries->position, k), wide_get3(queries->normal, k),
                       queries->sides[k]);
}

static bool sample_shape(const Source *s, const LightShape *shape, const LightQuery *from, float2 u,
                         uint32_t k, LightRows *out)
{
    float3 wi;
    float distance_m, pdf;
    if (!light_shape_sample(shape, from, u, &wi, &distance_m, &pdf))
        return false;
    Spectrum radiance = spectrum_scale(s->emission, source_shape_share(s, shape, wi));
    set_direction(out, k, wi, distance_m, pdf);
    set_end(out, k, light_shape_point(shape, from->position, wi, distance_m));
    set_radiance(out, k, radiance);
    return !spectrum_is_black(radiance);
}

/* --- rectangles ---------------------------------------------------------------------------------------- */

/* Samples rectangles. all: other lanes may be written to. Returns the lanes that contribute. */
static uint16_t sample_rectangles(const Lights *lights, const LightQueries *queries,
                                  const Choice *choice, uint16_t lanes, bool all, LightRows *out)
{
    RectangleRows rows;
    if (lights->count == 1) {
        rectangle_set_shapes(&lights->shapes[lights->sources[0].light], &rows);
    } else {
        WIDE_EACH(k, lanes)
        rectangle_set_shape(&lights->shapes[choice->source[k]->light], k, &rows);
    }
    ask(queries, choice, rows.position, rows.facing, rows.above, rows.below, rows.r, rows.s);
    rectangle_sample_run(&rows, lanes);
    for (uint32_t c = 0; c < 3; ++c) {
        put_row(rows.wi[c], lanes, all, out->wi[c]);
        put_row(rows.end[c], lanes, all, out->end[c]);
        put_row(rows.z[c], lanes, all, out->end_n[c]);
    }
    put_row(rows.distance_m, lanes, all, out->distance_m);
    put_row(rows.pdf, lanes, all, out->pdf);
    put_row(rows.end_error_m, lanes, all, out->end_error_m);
    if (lights->count == 1) {
        const Spectrum emission = lights->sources[0].emission;
        for (uint32_t c = 0; c < SPECTRUM_CHANNELS; ++c)
            for (uint32_t k = 0; k < SSL_BLOCK; ++k)
                out->radiance[c][k] = emission.c[c] * rows.beam[k];
    } else {
        WIDE_EACH(k, lanes)
        set_radiance(out, k, spectrum_scale(choice->source[k]->emission, rows.beam[k]));
    }
    return lanes & wide_lanes(rows.is_seen) & wide_nonzero3(out->radiance);
}

static bool sample_segment(const Lights *lights, const Source *s, uint32_t part, float3 position,
                           float time, float2 u, uint32_t k, LightRows *out)
{
    CurvePlace place;
    uint32_t segment = s->triangles[part];
    if (!curve_light_sample(lights->scene, s->instance, segment, time, position, u, &place))
        return false;
    set_direction(out, k, place.wi, place.distance_m, place.pdf_solid_angle);
    out->value[k] = LIGHT_VALUE_MESH;
    out->instance[k] = s->instance;
    out->triangle[k] = segment;
    out->b1[k] = place.u, out->b2[k] = 0.0f;
    out->is_backfacing[k] = false;
    return true;
}

static bool sample_distant(const Source *s, float2 u, uint32_t k, LightRows *out)
{
    set_radiance(out, k, s->emission);
    if (s->one_minus_cos > 0.0f) {
        float3 x, y;
        f3_frame(s->axis, &x, &y);
        float3 wi = f3_normalize(warp_to_frame(warp_cone(u, s->one_minus_cos), x, y, s->axis));
        set_direction(out, k, wi, INFINITY, warp_cone_pdf(s->one_minus_cos));
    } else {
        set_direction(out, k, s->axis, INFINITY, 1.0f);
        out->is_delta[k] = true;
    }
    return true;
}

/* Samples the environment. */
static void sample_skies(const Lights *lights, const LightQueries *queries, const Choice *choice,
                         uint16_t lanes, LightRows *out)
{
    bool is_mapped = lights->scene->environment.kind != SCENE_ENVIRONMENT_COLOR;
    const PortalPoints at = {queries->position, queries->normal, queries->sides};
    alignas(64) WideRow u[2] = {{0.0f}};
    WIDE_EACH(k, lanes) u[0][k] = to_unit(choice->pick.u[k]);
    memcpy(u[1], queries->u[1], sizeof u[1]);
    lights_draw_sky(lights, &at, u, lanes, out);
    WIDE_EACH(k, lanes)
    {
        out->distance_m[k] = INFINITY;
        out->pdf[k] = out->place[k].pdf;
        set_radiance(out, k, choice->source[k]->emission);
        out->value[k] = is_mapped ? LIGHT_VALUE_ENVIRONMENT : LIGHT_VALUE_KNOWN;
        out->is_environment[k] = true;
    }
}

/* Samples a source that is neither a triangle nor the environment. Returns whether it contributes. */
static bool sample_other(const Lights *lights, const LightQueries *queries, const Choice *choice,
                         uint32_t k, LightRows *out)
{
    const Source *s = choice->source[k];
    const LightQuery from = query_at(queries, k);
    float3 position = from.position;
    float2 u = f2(to_unit(choice->pick.u[k]), queries->u[1][k]);
    switch (s->kind) {
    case SOURCE_POINT:
    case SOURCE_SPOT:
        return sample_point(s, position, k, out);
    case SOURCE_MESH:
        return sample_segment(lights, s, choice->pick.leaf[k] - s->first_leaf, position,
                              queries->time[k], u, k, out);
    case SOURCE_DISTANT:
        return sample_distant(s, u, k, out);
    case SOURCE_SHAPE:
        return sample_shape(s, &lights->shapes[s->light], &from, u, k, out);
    case SOURCE_ENVIRONMENT:
        break;
    }
    return false;
}

/* --- all of them ------------------------------------------------------------------------------------- */

static bool is_rectangle(const Lights *lights, const Source *s)
{
    return lights->shapes[s->light].kind == SCENE_LIGHT_RECTANGLE;
}

/* Points by the kind of source that they have chosen; those of other kinds are in no set. */
typedef struct Kinds {
    uint16_t triangles, pairs, rectangles, skies;
} Kinds;

/* Takes those that have chosen pairs out of the set of triangles. */
static void sort_pairs(const Lights *lights, const Choice *choice, Kinds *kinds)
{
    uint32_t pairs = 0;
    WIDE_EACH(k, kinds->triangles)
    pairs |= (uint32_t)(lights->pair_of_leaf[choice->pick.leaf[k]] != NO_PAIR) << k;
    kinds->pairs = (uint16_t)pairs;
    kinds->triangles &= (uint16_t)~pairs;
}

/* Adds lanes that have chosen the source to their set. */
static void sort_lanes(const Lights *lights, const Source *s, uint16_t lanes, Kinds *kinds)
{
    if (source_is_triangles(s))
        kinds->triangles |= lanes;
    else if (s->kind == SOURCE_ENVIRONMENT)
        kinds->skies |= lanes;
    else if (s->kind == SOURCE_SHAPE && is_rectangle(lights, s))
        kinds->rectangles |= lanes;
}

/* Sets what the source of a lane says of itself. */
static inline void tell_source(const Lights *lights, const Source *s, uint32_t k, LightRows *out)
{
    out->source[k] = (uint32_t)(s - lights->sources);
    out->light_group[k] = s->light_group;
    out->visibility[k] = s->visibility;
    out->material[k] = s->material;
}

/* Draws points or directions on the sources that the points of `chosen` have chosen. Returns the points whose samples contribute. */
static uint16_t sample_sources(const Lights *lights, const LightQueries *queries,
                               const Choice *choice, uint16_t chosen, LightRows *out)
{
    Kinds kinds = {0};
    uint16_t drawn;
    memcpy(out->leaf, choice->pick.leaf, sizeof out->leaf);
    memset(out->value, 0, sizeof out->value);
    memset(out->is_delta, 0, sizeof out->is_delta);
    memset(out->is_environment, 0, sizeof out->is_environment);
    if (lights->count == 1) {
        const Source *s = lights->sources;
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            tell_source(lights, s, k, out);
        sort_lanes(lights, s, chosen, &kinds);
    } else {
        WIDE_EACH(k, chosen)
        {
            tell_source(lights, choice->source[k], k, out);
            sort_lanes(lights, choice->source[k], (uint16_t)(1u << k), &kinds);
        }
    }
    if (lights->pair_of_leaf)
        sort_pairs(lights, choice, &kinds);
    const uint16_t triangles = kinds.triangles, skies = kinds.skies, rectangles = kinds.rectangles;
    const uint16_t pairs = kinds.pairs;
    drawn = triangles | pairs | skies;
    if (triangles) /* before others, whose lanes it overwrites */
        sample_triangles(lights, queries, choice, triangles, out);
    if (pairs)
        sample_pairs(lights, queries, choice, pairs, triangles == 0, out);
    if (skies)
        sample_skies(lights, queries, choice, skies, out);
    if (rectangles)
        drawn |= sample_rectangles(lights, queries, choice, rectangles, chosen == rectangles, out);
    WIDE_EACH(k, chosen & ~(triangles | pairs | skies | rectangles))
    if (sample_other(lights, queries, choice, k, out))
        drawn = (uint16_t)(drawn | 1u << k);
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out->pdf[k] *= choice->pick.probability[k];
    return drawn & wide_positive(out->pdf);
}

uint16_t lights_sample_points(const Lights *lights, const LightQueries *queries, uint16_t live,
                              LightRows *out)
{
    Choice choice;
    if (lights->count == 0 || live == 0)
        return 0;
    uint16_t chosen = choose_sources(lights, queries, live, &choice);
    return sample_sources(lights, queries, &choice, chosen, out);
}

/* --- lamps --------------------------------------------------------------------------------------------- */

/* Returns the leaf of a source: of a mesh one of its leaves, chosen by area with *u, in which the rest of the number is left. */
static uint32_t leaf_by_area(const Source *s, double *u)
{
    if (s->kind != SOURCE_MESH)
        return s->first_leaf;
    double total = 0.0, begin = 0.0, area = 0.0;
    uint32_t leaf = 0;
    for (uint32_t i = 0; i < s->triangle_count; ++i)
        total += (double)s->areas[i];
    for (uint32_t i = 0; i < s->triangle_count; ++i) {
        if (source_leaf(s, i) != leaf) {
            if (*u * total < begin + area)
                break;
            begin += area;
            area = 0.0, leaf = source_leaf(s, i);
        }
        area += (double)s->areas[i];
    }
    *u = fmin(fmax((*u * total - begin) / area, 0.0), 1.0 - 0x1p-53);
    return s->first_leaf + leaf;
}

uint16_t lights_sample_lamps(const Lights *lights, const LightQueries *queries, uint16_t live,
                             LightRows *out)
{
    Choice choice;
    alignas(64) const WideRow nowhere[3] = {{0}};
    const uint32_t all_around[SSL_BLOCK] = {SKY_ALL_AROUND};
    LightQueries even = *queries;
    even.normal = nowhere, even.sides = all_around;
    if (lights->lamp_count == 0 || live == 0)
        return 0;
    memset(&choice.pick, 0, sizeof choice.pick);
    WIDE_EACH(k, live)
    {
        double u = (double)lights->lamp_count * extend_bits(f2(queries->u[0][k], queries->u[1][k]));
        uint32_t i = (uint32_t)u < lights->lamp_count ? (uint32_t)u : lights->lamp_count - 1;
        const Source *s = &lights->sources[lights->lamps[i]];
        choice.source[k] = s;
        choice.pick.u[k] = u - (double)i;
        choice.pick.leaf[k] = leaf_by_area(s, &choice.pick.u[k]);
        choice.pick.probability[k] = 1.0f / (float)lights->lamp_count;
    }
    return sample_sources(lights, &even, &choice, live, out);
}

static LightSample sample_at(const LightRows *rows, uint32_t k)
{
    return (LightSample){
        .wi = wide_get3(rows->wi, k),
        .distance_m = rows->distance_m[k],
        .pdf_solid_angle = rows->pdf[k],
        .end = {wide_get3(rows->end, k), wide_get3(rows->end_n, k), rows->end_error_m[k]},
        .is_delta = rows->is_delta[k],
        .is_environment = rows->is_environment[k],
        .is_backfacing = rows->is_backfacing[k] != 0,
        .value = rows->value[k],
        .radiance = light_radiance(rows, k),
        .instance = rows->instance[k],
        .triangle = rows->triangle[k],
        .b1 = rows->b1[k],
        .b2 = rows->b2[k],
        .source = rows->source[k]};
}

bool lights_sample(const Lights *lights, float3 position, float3 normal, float time, float2 u,
                   LightSample *out_sample)
{
    LightRows rows = {.wi = {{0}}};
    WideRow positions[3] = {{position.x}, {position.y}, {position.z}};
    WideRow normals[3] = {{normal.x}, {normal.y}, {normal.z}}, us[2] = {{u.x}, {u.y}};
    uint32_t sides[SSL_BLOCK] = {f3_length2(normal) > 0.0f ? SKY_ABOVE : SKY_ALL_AROUND};
    const LightQueries query = {
        .position = positions, .normal = normals, .sides = sides, .time = &time, .u = us};
    bool is_drawn = lights_sample_points(lights, &query, 1, &rows) != 0;
    *out_sample = sample_at(&rows, 0);
    return is_drawn;
}
