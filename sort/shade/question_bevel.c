/* The question `bevel`: Cycles' Bevel node.
 *
 * The mean of an object's normals around a point is weighted by a function of the distance that falls to zero at the radius, and
 * sampled by lines along the three axes of a frame, as surfaces around a point are for subsurface scattering [King2013]: a line's axis is
 * drawn, then its place on the disc across by the same weight, and where it meets the object it counts by the power heuristic
 * of the axes. */
#include "sort/shade/question_service.h"

#include "sort/sampling/warp.h"
#include "sort/shade/bevel_line.h"

/* Cycles looks for normals only where rays are that sharp, per steradian. */
#define LEAST_PDF 8.0f

/* The weight of a distance r >= 0, as a share of the radius, by area of the disc and up to a factor. */
static float weight_at(float r)
{
    float left = r < 1.0f ? 1.0f - r : 0.0f;
    return left * left * left;
}

/* Returns the r below which a share u of the disc's weight lies: the root of 10 r^2 - 20 r^3 + 15 r^4 - 4 r^5 = u, by Newton's
 * method where that stays between bounds, else by halving. */
static float draw_distance(float u)
{
    enum { STEPS = 24 };
    const float tolerance = 1e-6f;
    float r = 0.25f, least = 0.0f, most = 1.0f;
    for (int i = 0; i < STEPS; ++i) {
        float left = 1.0f - r;
        float error = r * r * (10.0f + r * (-20.0f + r * (15.0f - 4.0f * r))) - u;
        if (fabsf(error) < tolerance)
            break;
        *(error > 0.0f ? &most : &least) = r;
        float next = r - error / maxf(20.0f * (r * left) * (left * left), FLT_MIN);
        r = next > least && next < most ? next : 0.5f * (least + most);
    }
    return r;
}

/* Draws a line around a point with the frame n, x, y. *out_height: half its length inside the ball, as a share of the radius;
 * *out_across: where it passes, in the same unit. */
static BevelLine draw_line(float2 u, float3 n, float3 x, float3 y, float3 *out_across,
                           float *out_height)
{
    BevelLine line;
    if (u.x < 0.5f)
        line = (BevelLine){.axes = {n, x, y}, .picks = {0.5f, 0.25f, 0.25f}}, u.x *= 2.0f;
    else if (u.x < 0.75f)
        line = (BevelLine){.axes = {x, n, y}, .picks = {0.25f, 0.5f, 0.25f}},
        u.x = 4.0f * (u.x - 0.5f);
    else
        line = (BevelLine){.axes = {y, x, n}, .picks = {0.25f, 0.25f, 0.5f}},
        u.x = 4.0f * (u.x - 0.75f);
    float2 turn = warp_circle(u.x);
    line.r = draw_distance(u.y);
    *out_across = f3_madd(f3_scale(line.axes[1], line.r * turn.x), line.r * turn.y, line.axes[2]);
    *out_height = sqrtf(maxf(1.0f - line.r * line.r, 0.0f));
    return line;
}

/* Returns what a place counts that the ray of a line met. */
static float weigh(const BevelLine *line, float3 Ng, float distance)
{
    float densities[3], squares = 0.0f;
    for (int a = 0; a < 3; ++a) {
        densities[a] = line->picks[a] * fabsf(f3_dot(line->axes[a], Ng));
        squares += densities[a] * densities[a];
    }
    float drawn = weight_at(line->r);
    return squares > 0.0f && drawn > 0.0f ? densities[0] / squares * weight_at(distance) / drawn
                                          : 0.0f;
}

/* Adds the normal that ray `i` has met to its sum. */
static void add_normal(const SslHost *host, const SslAskCall *call, uint32_t i)
{
    QuestionRays *q = host->questions;
    const HitBatch *hits = &q->batch.hits;
    uint32_t k = q->lane[i];
    SurfaceLane from = question_surface(host, call, k);
    Ray ray = ray_batch_get(&q->batch.rays, i);
    const HitQuery query = {.instance = hits->shape[i],
                            .triangle = hits->triangle[i],
                            .b1 = hits->b1[i],
                            .b2 = hits->b2[i],
                            .t = hits->t[i],
                            .parts = HIT_NORMAL};
    SurfaceHit met;
    hit_surface(q->scene, &query, &ray, NULL, &met);
    float distance = f3_length(f3_sub(met.P, surface_vector(from, from.block->P)));
    float weight = weigh(&q->lines[i], met.Ng, distance / question_args(call, k).reach_m);
    float3 front = met.is_backfacing ? f3_neg(met.N) : met.N;
    q->lines[i].sum = f3_madd(q->lines[i].sum, weight, front);
}

/* Adds the normals that the rays meet to the sums of their lanes, and removes the rays. Each has a sum of its own, since it depends on
 * the other lanes which rays are traced together. */
static void trace(const SslHost *host, const SslAskCall *call, float3 *sums)
{
    QuestionRays *q = host->questions;
    bool goes_on = q->count > 0;
    while (goes_on) {
        goes_on = false;
        question_rays_meet(q);
        for (uint32_t i = 0; i < q->count; ++i) {
            if (q->is_done[i])
                continue;
            add_normal(host, call, i);
            ray_batch_pass(&q->batch.rays, &q->batch.hits, i);
            goes_on = true;
        }
    }
    for (uint32_t i = 0; i < q->count; ++i)
        sums[q->lane[i]] = f3_add(sums[q->lane[i]], q->lines[i].sum);
    q->count = 0;
}

static void send(QuestionRays *q, uint32_t lane, SurfaceLane surface, float2 u, float radius_m)
{
    float3 n = surface_vector(surface, surface.block->Ng), x, y, across;
    float height;
    uint32_t i = question_rays_add(q, lane, surface);
    f3_frame(n, &x, &y);
    q->lines[i] = draw_line(u, n, x, y, &across, &height);
    float3 axis = q->lines[i].axes[0];
    float3 begin =
        f3_madd(surface_vector(surface, surface.block->P), radius_m, f3_madd(across, height, axis));
    ray_batch_start(&q->batch.rays, i, begin, f3_neg(axis), 2.0f * height * radius_m,
                    surface.block->time[surface.lane]);
}

/* Returns whether the surface is one whose normals are looked for. */
static bool has_bevel(const QuestionRays *q, SurfaceLane surface)
{
    uint32_t instance = surface_instance(surface);
    return instance != HIT_NO_INSTANCE &&
           !q->scene->meshes[q->scene->instances[instance].mesh].curves &&
           surface.block->history[surface.lane].least_pdf >= LEAST_PDF;
}

void bevel_answer(const SslHost *host, const SslAskCall *call)
{
    QuestionRays *q = host->questions;
    float3 sums[SSL_BLOCK] = {{0}};
    float *result = call->result;
    uint32_t n = call->lane_count;
    q->count = 0;
    for (uint32_t k = 0; k < n; ++k) {
        SurfaceLane surface = question_surface(host, call, k);
        if (!(call->lane_mask >> k & 1u) || !has_bevel(q, surface))
            continue;
        QuestionArgs a = question_args(call, k);
        float2 first = question_draw(host, surface, SAMPLE_BEVEL_UV);
        for (uint32_t i = 0; i < a.samples; ++i) {
            if (q->count == QUESTION_RAYS)
                trace(host, call, sums);
            send(q, k, surface, question_number(first, i), a.reach_m);
        }
    }
    trace(host, call, sums);
    for (uint32_t k = 0; k < n; ++k) {
        bool is_found = f3_length2(sums[k]) > 0.0f;
        float3 normal = is_found ? f3_normalize(sums[k]) : question_args(call, k).normal;
        if (is_found && host->surfaces[call->block].is_backfacing[call->lane_first + k])
            normal = f3_neg(normal);
        result[k] = normal.x, result[n + k] = normal.y, result[2 * n + k] = normal.z;
    }
}
