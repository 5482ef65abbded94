/* Path guiding before a render: passes over a small picture of the scene, of twice as many paths each, teach a field where
 * light comes from. Their samples are not part of the picture. They are a function of the scene, the settings and the size of the
 * render, not of which part of it is rendered, so that all parts of a picture, and renders that go on, have the same field. */
#include "sort/render/render_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "sort/light/scene_bounds.h"

enum {
    /* One path of training for so many of the render, but no more than are worth their time. */
    PATHS_A_TRAINING_PATH = 5,
    TRAINING_PATHS_MAX = 1 << 24,
    TRAINING_PATHS_MIN = 1 << 14,
    PASSES = 6, /* of which the last has half of the paths */
    SIDE_MIN_PX = 16
};

typedef struct Training {
    Render *render;
    WaveShared shared;
    Schedule schedule;
    Film *film; /* of the small picture */
    uint32_t width, height;
} Training;

static bool may_train(void *data, uint64_t job)
{
    Render *r = data;
    SORT_UNUSED(job);
    return !atomic_load(r->options.cancel) && !render_is_stopped(r) && render_may_go_on(r);
}

static uint64_t path_count(const Render *r)
{
    const FilmDesc *frame = film_desc(r->film);
    uint64_t paths = (uint64_t)frame->width * frame->height * r->samples / PATHS_A_TRAINING_PATH;
    return paths < TRAINING_PATHS_MIN   ? TRAINING_PATHS_MIN
           : paths > TRAINING_PATHS_MAX ? TRAINING_PATHS_MAX
                                        : paths;
}

static void choose_size(const Render *r, uint32_t *out_width, uint32_t *out_height)
{
    const FilmDesc *frame = film_desc(r->film);
    double pixels = (double)path_count(r) / ((1 << PASSES) - 1);
    double scale = sqrt(pixels / ((double)frame->width * frame->height));
    double width = frame->width * scale, height = frame->height * scale;
    *out_width = width < SIDE_MIN_PX ? SIDE_MIN_PX : (uint32_t)width;
    *out_height = height < SIDE_MIN_PX ? SIDE_MIN_PX : (uint32_t)height;
}

static Status prepare(Training *t, Render *r, Error *err)
{
    uint32_t samples = (1 << PASSES) - 1;
    *t = (Training){.render = r, .shared = r->shared};
    choose_size(r, &t->width, &t->height);
    FilmDesc desc = {.size_bytes = sizeof desc,
                     .width = t->width,
                     .height = t->height,
                     .has_catchers = film_desc(r->film)->has_catchers};
    desc.identity.nominal_samples = samples;
    schedule_init(&t->schedule, &(ScheduleDesc){.width = t->width,
                                                .height = t->height,
                                                .sample_end = 1,
                                                .pass_samples = SCHEDULE_PASS_SAMPLES});
    t->schedule.may_begin = may_train;
    t->schedule.data = r;
    TRY(film_create(&desc, &t->film, err));
    camera_view_init(r->camera, t->width, t->height, &t->shared.camera);
    t->shared.film = t->film;
    t->shared.skips_done = false;
    t->shared.samples = samples;
    /* Other random numbers than those of the picture, so that the field is independent of its samples. */
    t->shared.seed = (uint32_t)hash_mix64(r->shared.seed + 0x67756964u);
    return STATUS_OK;
}

/* Renders the samples of a pass. */
static Status run_pass(Training *t, uint32_t pass, Error *err)
{
    Render *r = t->render;
    ASSERT(pass < PASSES);
    schedule_take_samples(&t->schedule, (1u << pass) - 1, (2u << pass) - 1);
    r->running = &t->schedule;
    r->running_shared = &t->shared;
    while (t->schedule.next < schedule_job_count(&t->schedule)) {
        TRY(render_run_segment(r, err));
        if (atomic_load(r->options.cancel) || render_is_stopped(r))
            return error_set(err, STATUS_CANCELLED, "cancelled");
        if (!render_may_go_on(r))
            TRY(render_finish_textures(r, err));
    }
    r->stats.guide.training_paths += (uint64_t)t->width * t->height << pass;
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
    float radius_m, radiance;
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

static Status train(Training *t, Error *err)
{
    Render *r = t->render;
    TRY(run_pass(t, 0, err)); /* tells how bright the scene is */
    TRY(first_field(t, err));
    for (uint32_t pass = 1; r->guide && pass < PASSES; ++pass) {
        t->shared.guide = pass > 1 ? r->guide : NULL;
        t->shared.learner = r->guide;
        TRY(run_pass(t, pass, err));
        TRY(learn(t, err));
    }
    return STATUS_OK;
}

Status render_train(Render *r, Error *err)
{
    Training t;
    uint64_t start = clock_now_ns();
    if (r->settings.guiding == SCENE_GUIDING_OFF || !wave_gathers_light(&r->shared))
        return STATUS_OK;
    render_announce(r, "learning where light comes from");
    Status status = prepare(&t, r, err);
    if (status == STATUS_OK)
        status = train(&t, err);
    schedule_destroy(&t.schedule);
    film_destroy(t.film);
    if (status == STATUS_OK)
        r->shared.guide = r->guide;
    r->stats.guide.is_used = r->guide != NULL;
    r->stats.guide.training_s = clock_seconds_since(start);
    return status;
}
