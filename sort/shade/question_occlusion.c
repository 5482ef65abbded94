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
    uint32_t i = q->count++;
    ray_batch_start(&q->batch.rays, i, ray_leave(&point, direction), direction, distance_m,
                    surface.block->time[surface.lane]);
    q->batch.state[i] = SHADOW_QUEUED;
    q->lane[i] = (uint8_t)lane;
    q->own[i] = surface_instance(surface);
    q->is_done[i] = false;
}

/* The arguments of a lane. */
typedef struct Asked {
    float3 normal;
    float distance_m;
    uint32_t samples; /* 0: there is nothing to trace */
    bool is_local;
} Asked;

static Asked read_args(const SslAskCall *call, uint32_t k)
{
    uint32_t n = call->lane_count;
    const float *numbers = call->args;
    const int32_t *words = call->args;
    int32_t samples = words[4 * n + k];
    Asked a = {.normal = f3(numbers[k], numbers[n + k], numbers[2 * n + k]),
               .distance_m = numbers[3 * n + k],
               .is_local = words[5 * n + k] != 0};
    float length2 = f3_length2(a.normal);
    bool asks = length2 > 0.0f && length2 < INFINITY && a.distance_m > 0.0f && samples > 0;
    if (asks)
        a.samples =
            samples < QUESTION_SAMPLES_MAX ? (uint32_t)samples : (uint32_t)QUESTION_SAMPLES_MAX;
    return a;
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
        Asked a = read_args(call, k);
        if (a.samples == 0 || surface_instance(surface) == HIT_NO_INSTANCE)
            continue;
        float3 n = f3_normalize(a.normal), x, y;
        f3_frame(n, &x, &y);
        float2 first = question_draw(host, surface, SAMPLE_OCCLUSION_UV);
        if (a.is_local != is_local)
            trace(q, is_local, clear);
        is_local = a.is_local;
        for (sent[k] = 0; sent[k] < a.samples; ++sent[k]) {
            float3 d = warp_hemisphere_cosine(question_number(first, sent[k]));
            if (q->count == QUESTION_RAYS)
                trace(q, is_local, clear);
            send(q, k, surface, f3_normalize(warp_to_frame(d, x, y, n)), a.distance_m);
        }
    }
    trace(q, is_local, clear);
    for (uint32_t k = 0; k < call->lane_count; ++k)
        result[k] = sent[k] > 0 ? (float)clear[k] / (float)sent[k] : 1.0f;
}
