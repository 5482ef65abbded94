#include "sort/render/training.h"

#include "base/check.h"
#include "base/hash.h"
#include <stdlib.h>

enum { SIDE_MIN_PX = 16 };

static bool may_train(void *data, uint64_t job)
{
    Render *r = data;
    SORT_UNUSED(job);
    return !atomic_load(r->options.cancel) && !render_is_stopped(r) && render_may_go_on(r);
}

/* Chooses a picture of the frame's shape; a long one is less long, and has no more pixels for it. */
static void choose_size(Training *t, double pixels)
{
    const FilmDesc *frame = film_desc(t->render->film);
    double most = fmax(pixels / SIDE_MIN_PX, SIDE_MIN_PX);
    double scale = sqrt(pixels / ((double)frame->width * frame->height));
    t->width = (uint32_t)fmin(fmax(frame->width * scale, SIDE_MIN_PX), most);
    t->height = (uint32_t)fmin(fmax(frame->height * scale, SIDE_MIN_PX), most);
}

Status training_begin(Training *t, Render *r, double pixels, uint32_t samples, FilmAovSet aovs,
                      uint64_t seed, Error *err)
{
    *t = (Training){.render = r, .shared = r->shared, .counted = r->stats.wave};
    choose_size(t, pixels);
    FilmDesc desc = {.size_bytes = sizeof desc,
                     .width = t->width,
                     .height = t->height,
                     .has_catchers = film_desc(r->film)->has_catchers,
                     .has_splats = film_desc(r->film)->has_splats,
                     .aovs = aovs};
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
    t->shared.caustic_emission = NULL;
    t->shared.view = WAVE_VIEW_NONE; /* whose jobs have any size */
    t->shared.skips_done = false;
    t->shared.samples = samples;
    /* Other random numbers than those of the picture, so that what is learned is independent of its samples. */
    t->shared.seed = (uint32_t)hash_mix64(r->shared.seed + seed);
    return STATUS_OK;
}

Status training_narrow(Training *t, Error *err)
{
    const PixelFilter *filter = &t->render->shared.filter;
    float part = (float)t->width / (float)film_desc(t->render->film)->width;
    return pixel_filter_init(filter->kind, filter->width_px * minf(part, 1.0f), &t->shared.filter,
                             err);
}

Status training_run(Training *t, uint32_t first, uint32_t end, Error *err)
{
    Render *r = t->render;
    ASSERT(first < end && end <= t->shared.samples);
    schedule_take_samples(&t->schedule, first, end);
    r->running = &t->schedule;
    r->running_shared = &t->shared;
    while (t->schedule.next < schedule_job_count(&t->schedule)) {
        TRY(render_run_segment(r, err));
        if (atomic_load(r->options.cancel) || render_is_stopped(r))
            return error_set(err, STATUS_CANCELLED, "cancelled");
        if (!render_may_go_on(r))
            TRY(render_finish_textures(r, err));
    }
    return STATUS_OK;
}

void training_end(Training *t)
{
    schedule_destroy(&t->schedule);
    film_destroy(t->film);
    t->render->stats.wave = t->counted;
}

int training_by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double training_sum_of_most(double *values, size_t count, size_t worst_part)
{
    double sum = 0.0;
    size_t kept = count - count / worst_part;
    qsort(values, count, sizeof *values, training_by_value);
    for (size_t i = 0; i < kept; ++i)
        sum += values[i];
    return sum;
}
