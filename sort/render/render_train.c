/* Path guiding before a render: passes over a small picture of the scene, of twice as many paths each, teach a field where
 * light comes from. */
#include "sort/render/guide_trial.h"
#include "sort/render/training.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "sort/light/scene_bounds.h"

enum {
    /* Paths of training: one for each pixel of the frame, within limits. What a render learns does not depend on its samples, so that
     * it can go on to more. */
    PATHS_MIN = 1 << 18,
    PATHS_MAX = 1 << 20,
    PASSES = 6, /* of which the last has half of the paths */
    /* Below so many paths a render is not worth a trial. */
    RENDER_PATHS_MIN = 10000000,
    /* The field is judged by the pass that comes to so many paths, if it is not among the first ones. */
    PATHS_TO_JUDGE = 60000,
    JUDGED_PASS_MIN = 2,
    JUDGED_PASS_MAX = 3
};
/* The most of the error that a field may leave. Guided paths take 1.15 to 1.45 times the time of others. */
#define ERROR_LEFT_MAX 0.78
/* The part of a time limit that a field on trial may take to learn. */
#define TIME_MAX 0.5
/* The part by which a field changes the second moment of what scattering finds, by its own records, if it is to have found
 * anything. Where it leaves more than all, rare bright records are in these sums. */
#define MOMENT_CHANGE_MIN 0.001

static uint64_t path_count(const Render *r)
{
    const FilmDesc *frame = film_desc(r->film);
    uint64_t paths = (uint64_t)frame->width * frame->height;
    return paths < PATHS_MIN ? PATHS_MIN : paths > PATHS_MAX ? PATHS_MAX : paths;
}

/* Renders the samples of a pass. */
static Status run_pass(Training *t, uint32_t pass, Error *err)
{
    ASSERT(pass < PASSES);
    TRY(training_run(t, (1u << pass) - 1, (2u << pass) - 1, err));
    t->render->stats.guide.training_paths += (uint64_t)t->width * t->height << pass;
    return STATUS_OK;
}

/* Sets the mean radiance of the small picture so far; 0: it is black. */
static Status mean_radiance(const Training *t, float *out_mean, Error *err)
{
    size_t pixels = (size_t)t->width * t->height;
    float *rgba = MEM_ARRAY(float, 4 * pixels);
    if (!rgba)
        return error_set(err, STATUS_NO_MEMORY, "out of memory learning where light comes from");
    film_resolve(t->film, rgba);
    double sum = 0.0;
    for (size_t i = 0; i < pixels; ++i)
        for (size_t c = 0; c < 3; ++c)
            sum += fabs((double)rgba[4 * i + c]);
    mem_free(rgba);
    *out_mean = (float)(sum / (3.0 * (double)pixels));
    return STATUS_OK;
}

uint64_t render_guide_bytes(const Render *r)
{
    uint64_t bytes = r->options.guiding_memory_bytes;
    return bytes ? bytes : RENDER_GUIDE_BYTES;
}

static Status first_field(const Training *t, Error *err)
{
    Render *r = t->render;
    float3 centre;
    float radius_m, radiance = 0.0f;
    TRY(mean_radiance(t, &radiance, err));
    if (!(radiance > 0.0f && isfinite(radiance)))
        return STATUS_OK;
    scene_bounding_sphere(r->scene, &centre, &radius_m);
    GuideFieldDesc desc = {.size_bytes = sizeof desc,
                           .low = f3_sub(centre, f3_splat(radius_m)),
                           .size = f3_splat(2.0f * radius_m),
                           .radiance = radiance,
                           .memory_bytes = render_guide_bytes(r)};
    return guide_field_create(&desc, &r->guide, err);
}

/* Replaces the field by what the pass has taught it. */
static Status learn(const Training *t, Error *err)
{
    Render *r = t->render;
    GuideField *next;
    ASSERT(r->guide && t->shared.learner == r->guide);
    TRY(guide_field_next(r->guide, &next, err));
    guide_field_destroy(r->guide);
    r->guide = next;
    return STATUS_OK;
}

/* Whether pass `pass` is the one after which SCENE_GUIDING_AUTO decides. Each has twice the paths of the one before. */
static bool is_judged(const Training *t, uint32_t pass)
{
    uint64_t pixels = (uint64_t)t->width * t->height;
    bool is_enough = (pixels << (pass + 1)) - pixels >= PATHS_TO_JUDGE;
    bool was_enough = (pixels << pass) - pixels >= PATHS_TO_JUDGE && pass > JUDGED_PASS_MIN;
    return is_enough && !was_enough && pass >= JUDGED_PASS_MIN && pass <= JUDGED_PASS_MAX;
}

static FilmGuiding decided(const Render *r)
{
    return film_desc(r->film)->identity.guiding;
}

/* Whether there is a field to learn. A render that goes on is guided if it was. */
static bool may_be_guided(const Render *r)
{
    const FilmDesc *frame = film_desc(r->film);
    uint64_t paths = (uint64_t)frame->width * frame->height * r->samples;
    return r->settings.guiding != SCENE_GUIDING_OFF && wave_gathers_light(&r->shared) &&
           decided(r) != FILM_UNGUIDED &&
           (r->settings.guiding == SCENE_GUIDING_ON || decided(r) == FILM_GUIDED ||
            paths >= RENDER_PATHS_MIN);
}

static void give_up(Render *r)
{
    r->stats.guide.field = guide_field_stats(r->guide);
    guide_field_destroy(r->guide);
    r->guide = NULL;
}

/* Gives the field up if it does not pay. */
static Status judge(const Training *t, uint32_t pass, Error *err)
{
    Render *r = t->render;
    GuideStats found = guide_field_stats(r->guide);
    bool has_found = fabs(found.guided - found.unguided) > MOMENT_CHANGE_MIN * found.unguided;
    double *left = &r->stats.guide.error_left;
    if (pass == JUDGED_PASS_MIN && !has_found)
        give_up(r);
    else if (is_judged(t, pass)) {
        TRY(guide_trial(r, r->guide, left, err));
        if (!(*left < ERROR_LEFT_MAX))
            give_up(r);
    }
    return STATUS_OK;
}

/* Whether learning would go past its part of a time limit, by the time that the passes before `pass` took. */
static bool would_be_late(const Render *r, uint32_t pass, uint64_t begin_ns)
{
    const double all = (1u << PASSES) - 1, so_far = (1u << pass) - 1;
    double before_s = (double)(begin_ns - r->start_ns) * 1e-9;
    double limit_s = r->options.time_limit_s;
    return limit_s > 0.0 && pass > 1 &&
           before_s + clock_seconds_since(begin_ns) * all / so_far > TIME_MAX * limit_s;
}

static Status train(Training *t, Error *err)
{
    Render *r = t->render;
    bool is_on_trial = r->settings.guiding == SCENE_GUIDING_AUTO && decided(r) != FILM_GUIDED;
    uint64_t begin_ns = clock_now_ns();
    TRY(run_pass(t, 0, err)); /* tells how bright the scene is */
    TRY(first_field(t, err));
    for (uint32_t pass = 1; r->guide && pass < PASSES; ++pass) {
        if (is_on_trial && would_be_late(r, pass, begin_ns)) {
            r->stats.guide.is_late = true;
            give_up(r);
            break;
        }
        t->shared.guide = pass > 1 ? r->guide : NULL;
        t->shared.learner = r->guide;
        TRY(run_pass(t, pass, err));
        TRY(learn(t, err));
        if (is_on_trial)
            TRY(judge(t, pass, err));
    }
    return STATUS_OK;
}

static Status learn_field(Render *r, Error *err)
{
    Training t;
    uint64_t start = clock_now_ns();
    render_announce(r, "learning where light comes from");
    const uint32_t samples = (1u << PASSES) - 1;
    Status status =
        training_begin(&t, r, (double)path_count(r) / samples, samples, 0, 0x67756964u, err);
    t.shared.caustic_emission = r->shared.caustic_emission;
    if (status == STATUS_OK)
        status = train(&t, err);
    training_end(&t);
    if (status == STATUS_OK)
        r->shared.guide = r->guide;
    r->stats.guide.is_used = r->guide != NULL;
    r->stats.guide.training_s = clock_seconds_since(start);
    return status;
}

Status render_train(Render *r, Error *err)
{
    if (may_be_guided(r))
        TRY(learn_field(r, err));
    ASSERT(!r->guide || may_be_guided(r));
    film_set_guiding(r->film, r->guide ? FILM_GUIDED : FILM_UNGUIDED);
    return STATUS_OK;
}
