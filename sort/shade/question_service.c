#include "sort/shade/question_service.h"

#include "base/check.h"
#include "sort/shade/bevel_line.h"
#include "sort/shade/ssl_tables.h"

Status question_rays_create(const Scene *scene, const Accel *accel, Arena *arena,
                            QuestionRays **out_rays, Error *err)
{
    QuestionRays *q = ARENA_NEW(arena, QuestionRays);
    BevelLine *lines = ARENA_ARRAY(arena, BevelLine, QUESTION_RAYS);
    if (!q || !lines)
        return error_set(err, STATUS_NO_MEMORY, "out of memory starting a fiber");
    *q = (QuestionRays){.scene = scene, .accel = accel, .lines = lines};
    TRY(shadow_batch_create(arena, QUESTION_RAYS, &q->batch, err));
    *out_rays = q;
    return STATUS_OK;
}

void question_rays_meet(QuestionRays *q)
{
    uint32_t strays = 1;
    while (strays > 0) {
        strays = 0;
        accel_intersect(q->accel, &q->batch.rays, q->count, &q->batch.hits);
        for (uint32_t i = 0; i < q->count; ++i) {
            if (q->is_done[i])
                continue;
            q->is_done[i] = q->batch.hits.shape[i] == HIT_NONE;
            if (q->is_done[i]) {
                q->batch.rays.t_max[i] = -1.0f;
            } else if (q->batch.hits.shape[i] != q->own[i]) {
                ray_batch_pass(&q->batch.rays, &q->batch.hits, i);
                ++strays;
            }
        }
    }
}

uint32_t question_rays_add(QuestionRays *q, uint32_t k, SurfaceLane surface)
{
    ASSERT(q->count < QUESTION_RAYS);
    uint32_t i = q->count++;
    q->batch.state[i] = SHADOW_QUEUED;
    q->lane[i] = (uint8_t)k;
    q->own[i] = surface_instance(surface);
    q->is_done[i] = false;
    return i;
}

QuestionArgs question_args(const SslAskCall *call, uint32_t k)
{
    uint32_t n = call->lane_count;
    const float *numbers = call->args;
    const int32_t *words = call->args;
    int32_t samples = words[4 * n + k];
    QuestionArgs a = {.normal = f3(numbers[k], numbers[n + k], numbers[2 * n + k]),
                      .reach_m = minf(numbers[3 * n + k], 0.5f * SCENE_REACH_MAX_M)};
    if (numbers[3 * n + k] > 0.0f && samples > 0) /* no number is not */
        a.samples =
            samples < QUESTION_SAMPLES_MAX ? (uint32_t)samples : (uint32_t)QUESTION_SAMPLES_MAX;
    return a;
}

SurfaceLane question_surface(const SslHost *host, const SslAskCall *call, uint32_t k)
{
    return (SurfaceLane){&host->surfaces[call->block], call->lane_first + k};
}

float2 question_draw(const SslHost *host, SurfaceLane surface, SampleSlot slot)
{
    const HitDraw *draw = &surface.block->draw[surface.lane];
    /* Lookups of textures are at lesser sites. */
    uint32_t dimension = draw->crossing == 0
                             ? sample_dimension(draw->event, slot)
                             : draw_dimension(draw, 0x40000000u + (uint32_t)slot, 0);
    return sampler_2d(&host->sampler, draw->key, dimension);
}

void question_answer(SslHost *host, const SslAskCall *call)
{
    bool is_occlusion = call->question == QUESTION_occlusion;
    bool is_traced =
        host->kind == SSL_KERNEL_SHADE || (is_occlusion && host->kind == SSL_KERNEL_EMISSION);
    ASSERT(call->lane_count <= SSL_BLOCK && call->question < QUESTION_COUNT);
    if (!host->questions || !is_traced)
        ssl_tables_answer(host, call);
    else if (is_occlusion)
        occlusion_answer(host, call);
    else
        bevel_answer(host, call);
}
