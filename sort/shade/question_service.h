/* The answers to what kernels ask the scene (questions.inc), by rays that are traced while the kernel waits. Only for shade.c.
 *
 *   kernel --SslAskCall--> question_answer --> occlusion_answer, bevel_answer: rays of all lanes, in batches
 *
 * A lane's answer depends on its surface, its arguments and its path's sample alone. */
#ifndef SORT_SHADE_QUESTION_SERVICE_H
#define SORT_SHADE_QUESTION_SERVICE_H

#include "sort/accel/accel.h"
#include "sort/sampling/sample_key.h"
#include "sort/shade/texture_service.h"

/* Rays of an answer at once, and the most that a lane may ask for; more count as that. */
enum { QUESTION_RAYS = 256, QUESTION_SAMPLES_MAX = 1024 };

/* Rays from the lanes of a block. */
typedef struct QuestionRays {
    const Scene *scene;
    const Accel *accel;
    ShadowBatch batch; /* its first `count` rays are in use */
    uint32_t count;
    uint8_t lane[QUESTION_RAYS]; /* of the call */
    /* That instance, of rays that meet one object alone, and whether there is nothing more on the way. */
    uint32_t own[QUESTION_RAYS];
    bool is_done[QUESTION_RAYS];
    struct BevelLine *lines; /* [QUESTION_RAYS] */
} QuestionRays;

/* Creates the rays in `arena`. scene, accel: borrowed. Error: memory. */
Status question_rays_create(const Scene *scene, const Accel *accel, Arena *arena,
                            QuestionRays **out_rays, Error *err) SORT_MUST_CHECK;
/* Traces the rays that are not done until each stands at its own instance, whose hit is then in `batch`, or is done. */
void question_rays_meet(QuestionRays *q);

/* The arguments that all questions begin with. */
typedef struct QuestionArgs {
    float3 normal;
    float reach_m;
    uint32_t samples;
} QuestionArgs;

/* Returns the arguments of lane `k`. No samples, hence no rays, where their number or the reach is not above zero. A reach is cut to half
 * of SCENE_REACH_MAX_M, so that rays which begin that far from a surface are ones that the accelerator takes. */
QuestionArgs question_args(const SslAskCall *call, uint32_t k);
/* Adds a ray of lane `k`, from a surface of its own instance, whose fields of `batch.rays` are still to be set. Returns its place. */
uint32_t question_rays_add(QuestionRays *q, uint32_t k, SurfaceLane surface);

/* The surface that lane `k` of a call stands at. */
SurfaceLane question_surface(const SslHost *host, const SslAskCall *call, uint32_t k);
/* Returns the first of the numbers by which a surface's answer draws, from which others follow (question_number). */
float2 question_draw(const SslHost *host, SurfaceLane surface, SampleSlot slot);

/* Returns number `i` of a sequence that fills the unit square evenly, whichever number it begins at: multiples of the powers of
 * 1/g with g^3 = g + 1, without their whole parts [Roberts2018]. */
static inline float2 question_number(float2 first, uint32_t i)
{
    float x = first.x + 0.75487766624669276f * (float)i;
    float y = first.y + 0.56984029099805327f * (float)i;
    return f2(minf(x - floorf(x), 1.0f - RAY_ROUNDING), minf(y - floorf(y), 1.0f - RAY_ROUNDING));
}

void occlusion_answer(const SslHost *host, const SslAskCall *call);
void bevel_answer(const SslHost *host, const SslAskCall *call);

/* SslServices.ask. */
void question_answer(SslHost *host, const SslAskCall *call);

#endif
