/* The question `occlusion`: Cycles' Ambient Occlusion node. */
#include "sort/shade/question_service.h"

#include "sort/sampling/warp.h"

/* Adds up the rays that are clear, by lane, and removes all. is_local: rays meet their own instances alone. */
static void trace(QuestionRays *q, bool is_local, uint32_t clear[SSL_BLOCK])
{
    if (is_local)
        question_rays_meet(q);
    else
        (void)accel_occluded(q->accel, &q->batch, q->count);
    for (uint32_t i = 0; i < q->count; ++i)
        clear[q->lane[i]] += is_local ? q->is_done[i] : q->batch.state[i] == SHADOW_CLEAR;
    q->count = 0;
}

static void send(QuestionRays *q, uint32_t lane, SurfaceLane surface, float3 direction,
                 float distance_m)
{
    const SurfacePoint point = {.P = surface_vector(surface, surface.block->P),
                                .n = surface_vector(surface, surface.block->Ng),
                                .error_m = surface.block->error_m[surface.lane]};
    uint32_t i = question_rays_add(q, lane, surface);
    ray_batch_start(&q->batch.rays, i, ray_leave(&point, direction), direction, distance_m,
                    surface.block->time[surface.lane]);
}

/* Returns how many rays answer. */
static uint32_t ray_count(const QuestionArgs *a)
{
    float length2 = f3_length2(a->normal);
    return length2 > 0.0f && length2 < INFINITY ? a->samples : 0;
}

void occlusion_answer(const SslHost *host, const SslAskCall *call)
{
    QuestionRays *q = host->questions;
    float *result = call->result;
    uint32_t clear[SSL_BLOCK] = {0}, sent[SSL_BLOCK] = {0};
    bool is_local = false;
    q->count = 0;
    for (uint32_t k = 0; k < call->lane_count; ++k) {
        if (!(call->lane_mask >> k & 1u))
            continue;
        SurfaceLane surface = question_surface(host, call, k);
        QuestionArgs a = question_args(call, k);
        bool asks_local = ((const int32_t *)call->args)[5 * call->lane_count + k] != 0;
        uint32_t count = ray_count(&a);
        if (count == 0 || surface_instance(surface) == HIT_NO_INSTANCE)
            continue;
        float3 n = f3_normalize(a.normal), x, y;
        f3_frame(n, &x, &y);
        float2 first = question_draw(host, surface, SAMPLE_OCCLUSION_UV);
        if (asks_local != is_local)
            trace(q, is_local, clear);
        is_local = asks_local;
        for (sent[k] = 0; sent[k] < count; ++sent[k]) {
            float3 d = warp_hemisphere_cosine(question_number(first, sent[k]));
            if (q->count == QUESTION_RAYS)
                trace(q, is_local, clear);
            send(q, k, surface, f3_normalize(warp_to_frame(d, x, y, n)), a.reach_m);
        }
    }
    trace(q, is_local, clear);
    for (uint32_t k = 0; k < call->lane_count; ++k)
        result[k] = sent[k] > 0 ? (float)clear[k] / (float)sent[k] : 1.0f;
}
