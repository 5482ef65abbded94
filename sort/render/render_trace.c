/* Runs the schedule on workers and fibers, a segment at a time: between two segments no sample is under way,
 * the film is what the first k jobs make it, and it may be written down, judged or left. */
#include "sort/render/render_state.h"

#include "base/clock.h"

typedef struct FiberState {
    Render *render;
    Arena *arena;
    Wave *wave;
    uint64_t rays_reported;
} FiberState;

static void keep_first_error(Render *r, const Error *err)
{
    mutex_lock(&r->stats_lock);
    if (r->worker_error.code == STATUS_OK)
        r->worker_error = *err;
    mutex_unlock(&r->stats_lock);
}

static void *worker_begin(void *data, uint32_t worker)
{
    Render *r = data;
    TexThread *thread = NULL;
    Error err = {0};
    SORT_UNUSED(worker);
    accel_thread_begin();
    if (texcache_thread_create(r->textures, &thread, &err) != STATUS_OK)
        keep_first_error(r, &err);
    return thread;
}

static void worker_end(void *data, void *worker_state)
{
    SORT_UNUSED(data);
    texcache_thread_destroy(worker_state);
}

/* Out of memory: the scheduler goes on with fewer fibers, or reports that there is not one. */
static void *fiber_begin(void *data, void *worker_state, Waiter *waiter)
{
    Render *r = data;
    Arena *arena = arena_create(1 << 20, 0);
    FiberState *fiber = arena ? ARENA_NEW(arena, FiberState) : NULL;
    ShadeContext *shade = NULL;
    ShadeContextDesc desc = render_shade_desc(r, worker_state, waiter);
    LevelWatch *levels = NULL;
    bool wants_levels =
        r->shared.what == WAVE_VIEW_MIP || film_aovs_have(film_desc(r->film)->aovs, FILM_AOV_MIP);
    if (fiber && wants_levels) {
        levels = level_watch_create(r->textures, arena);
        desc.probe = levels ? &levels->probe : NULL;
    }
    bool ok = fiber && (levels || !wants_levels) &&
              shade_context_create(&desc, arena, &shade, NULL) == STATUS_OK;
    if (ok) {
        *fiber = (FiberState){.render = r, .arena = arena};
        ok = wave_create(&r->shared, shade, levels, r->options.wave_capacity, arena, &fiber->wave,
                         NULL) == STATUS_OK;
    }
    if (!ok) {
        arena_destroy(arena);
        return NULL;
    }
    return fiber;
}

/* A job larger than a wave goes through it a few rows, or a part of a row, at a time; to see what each sample costs,
 * every one goes alone. */
static void run_job(const Render *r, Wave *wave, const WaveJob *job)
{
    uint32_t capacity = r->shared.what == WAVE_VIEW_COST ? 1 : r->options.wave_capacity;
    uint32_t width = job->width < capacity ? job->width : capacity;
    uint32_t rows = capacity / width < job->height ? capacity / width : job->height;
    for (uint32_t y = 0; y < job->height; y += rows) {
        for (uint32_t x = 0; x < job->width; x += width) {
            WaveJob part = {.x = job->x + x, .y = job->y + y, .sample = job->sample};
            part.width = job->width - x < width ? job->width - x : width;
            part.height = job->height - y < rows ? job->height - y : rows;
            wave_run(wave, &part);
        }
    }
}

static bool fiber_step(void *data, void *fiber_state)
{
    Render *r = data;
    FiberState *fiber = fiber_state;
    WaveJob job;
    uint32_t end;
    if (!schedule_take(&r->schedule, &job, &end))
        return false;
    for (; job.sample < end; ++job.sample) {
        run_job(r, fiber->wave, &job);
        WaveCounters counters = wave_counters(fiber->wave);
        uint64_t rays = counters.rays + counters.shadow_rays;
        atomic_fetch_add(&r->rays_done, rays - fiber->rays_reported);
        atomic_fetch_add(&r->paths_done, (uint64_t)job.width * job.height);
        fiber->rays_reported = rays;
    }
    return true;
}

static void fiber_end(void *data, void *fiber_state)
{
    Render *r = data;
    FiberState *fiber = fiber_state;
    WaveCounters counters = wave_counters(fiber->wave);
    mutex_lock(&r->stats_lock);
    wave_counters_add(&r->stats.wave, &counters);
    mutex_unlock(&r->stats_lock);
    arena_destroy(fiber->arena);
}

/* --- segments --------------------------------------------------------------------------------------- */

/* Whether pixels are judged before this job: after the first RENDER_ADAPTIVE_MIN samples, then after every
 * RENDER_ADAPTIVE_STEP. */
static bool is_judged_before(const Render *r, uint64_t job)
{
    if (r->options.adaptive_error <= 0.0f || job == 0 ||
        job % schedule_tile_count(&r->schedule) != 0)
        return false;
    uint32_t sample = schedule_job_sample(&r->schedule, job);
    return sample >= RENDER_ADAPTIVE_MIN &&
           (sample - RENDER_ADAPTIVE_MIN) % RENDER_ADAPTIVE_STEP == 0;
}

/* Whether one more pass would go past the time limit, judged by those of this run; there is always one. */
static bool would_be_late(const Render *r, uint64_t job)
{
    uint32_t tiles = schedule_tile_count(&r->schedule);
    if (r->options.time_limit_s <= 0.0 || job % tiles != 0 || job == r->run_begin)
        return false;
    double passes = (double)(job - r->run_begin) / tiles;
    double elapsed_s = clock_seconds_since(r->start_ns);
    return elapsed_s + elapsed_s / passes > r->options.time_limit_s;
}

/* More textures have been touched than fit: each pass would read them again. Passes that somebody looks at, or that
 * decide when to stop, stay as they are. */
static bool should_widen(const Render *r)
{
    if (r->options.adaptive_error > 0.0f || r->options.time_limit_s > 0.0 ||
        r->options.wants_short_passes || r->schedule.widened_at != SCHEDULE_NEVER)
        return false;
    TexStats t;
    texcache_stats(r->textures, &t);
    return t.evictions > 0 && t.bytes_unique > t.budget_bytes - t.bytes_tables;
}

/* Under the schedule's lock. */
static bool may_begin(void *data, uint64_t job)
{
    Render *r = data;
    if (atomic_load(r->options.cancel) || texture_store_has_failed(r->store))
        return false;
    if (would_be_late(r, job)) {
        r->is_out_of_time = true;
        return false;
    }
    if (should_widen(r))
        schedule_widen(&r->schedule);
    return job == r->segment_begin || (!is_judged_before(r, job) && clock_now_ns() < r->quiet_ns);
}

/* Fibers a worker: those that wait hold on to nothing, but all of them come back to the tiles of their waves,
 * and more waves than the texture memory has room for throw out each other's (docs/decisions/0030). */
static uint32_t fibers_max(const Render *r)
{
    enum { MOST = 64, LEAST = 2, BYTES_OF_A_WAVE = 2 << 20 };
    TexStats t;
    if (r->shared.what == WAVE_VIEW_COST)
        return 1; /* the clock of a parked fiber would run on while others work */
    if (r->options.fibers_max > 0)
        return r->options.fibers_max;
    texcache_stats(r->textures, &t);
    uint64_t room = (t.budget_bytes - t.bytes_tables) / BYTES_OF_A_WAVE / r->options.thread_count;
    return room < LEAST ? LEAST : room > MOST ? MOST : (uint32_t)room;
}

static Status run_segment(Render *r, Error *err)
{
    Sched *sched;
    SchedStats stats;
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = r->options.thread_count,
                      .fibers_min = 1,
                      .fibers_max = fibers_max(r),
                      .data = r,
                      .worker_begin = worker_begin,
                      .fiber_begin = fiber_begin,
                      .fiber_step = fiber_step,
                      .fiber_end = fiber_end,
                      .worker_end = worker_end};
    r->segment_begin = r->schedule.next;
    TRY(sched_create(&desc, &sched, err));
    Status status = sched_run(sched, err);
    sched_stats(sched, &stats);
    sched_stats_add(&r->stats.sched, &stats);
    sched_destroy(sched);
    if (r->worker_error.code == STATUS_OK)
        return status;
    *err = r->worker_error;
    return r->worker_error.code;
}

static void schedule_quiet(Render *r, double interval_s)
{
    r->quiet_ns = r->options.quiet && interval_s > 0.0
                      ? clock_now_ns() + (uint64_t)(interval_s * 1e9)
                      : UINT64_MAX;
}

/* Judges the pixels where the schedule stands at a judgement. True: all are good enough. */
static bool is_good_enough(Render *r)
{
    return is_judged_before(r, r->schedule.next) &&
           film_judge(r->film, r->options.adaptive_error) == 0;
}

static Status run_segments(Render *r, Error *err)
{
    bool is_done = is_good_enough(r);
    double first_s = r->options.quiet_first_s;
    schedule_quiet(r, first_s > 0.0 ? first_s : r->options.quiet_interval_s);
    while (!is_done) {
        TRY(run_segment(r, err));
        film_set_checkpoint(r->film, (FilmCheckpoint){.job = r->schedule.next,
                                                      .pass_samples = r->schedule.pass_samples,
                                                      .wide_samples = r->schedule.wide_samples,
                                                      .widened_at = r->schedule.widened_at});
        if (atomic_load(r->options.cancel))
            return error_set(err, STATUS_CANCELLED, "cancelled");
        if (texture_store_has_failed(r->store))
            TRY(render_finish_textures(r, err));
        is_done = r->schedule.next == schedule_job_count(&r->schedule) || r->is_out_of_time ||
                  is_good_enough(r);
        if (!is_done && clock_now_ns() >= r->quiet_ns) {
            TRY(r->options.quiet(r->options.quiet_data, r, err));
            schedule_quiet(r, r->options.quiet_interval_s);
        }
    }
    TRY(render_finish_textures(r, err));
    film_set_checkpoint(r->film, (FilmCheckpoint){0});
    uint32_t end = schedule_job_sample(&r->schedule, r->schedule.next);
    return film_add_range(r->film, (FilmRange){r->schedule.sample_begin, end}, err);
}

Status render_run(Render *r, Error *err)
{
    uint64_t cpu_start = clock_process_cpu_ns();
    r->start_ns = clock_now_ns();
    r->run_begin = r->schedule.next;
    r->schedule.may_begin = may_begin;
    r->schedule.data = r;
    render_announce(r, "rendering");
    Status status = run_segments(r, err);
    r->stats.render_s = clock_seconds_since(r->start_ns);
    r->stats.cpu_s = (double)(clock_process_cpu_ns() - cpu_start) * 1e-9;
    return status;
}

/* Turns to the checkpoint's passes and place; false leaves all as it was: they are not this render's. */
static bool turn_to(Schedule *s, FilmCheckpoint at)
{
    uint32_t passes = s->pass_samples;
    if (at.job == 0)
        return true;
    bool is_widened = at.widened_at != SCHEDULE_NEVER;
    if ((at.pass_samples != SCHEDULE_PASS_SAMPLES &&
         at.pass_samples != SCHEDULE_SHORT_PASS_SAMPLES) ||
        (is_widened && (at.wide_samples <= at.pass_samples ||
                        at.wide_samples > SCHEDULE_WIDE_PASS_SAMPLES || at.widened_at > at.job)))
        return false;
    schedule_resume(s, at.pass_samples, SCHEDULE_NEVER, 0, at.job);
    if (is_widened && at.widened_at < schedule_job_count(s))
        schedule_resume(s, at.pass_samples, at.widened_at, at.wide_samples, at.job);
    if (at.job <= schedule_job_count(s) && is_widened == (s->widened_at != SCHEDULE_NEVER))
        return true;
    schedule_resume(s, passes, SCHEDULE_NEVER, 0, 0);
    return false;
}

Status render_resume(Render *r, Film *film, Error *err)
{
    uint32_t range_count;
    FilmCheckpoint at = film_checkpoint(film);
    Status status = film_same_render(r->film, film, err);
    film_ranges(film, &range_count);
    if (status == STATUS_OK && range_count > 0)
        status = error_set(err, STATUS_INVALID, "it holds a finished render, not a checkpoint");
    if (status == STATUS_OK && !turn_to(&r->schedule, at))
        status = error_set(err, STATUS_INVALID, "it holds samples that this render does not take");
    if (status != STATUS_OK) {
        film_destroy(film);
        return status;
    }
    film_destroy(r->film);
    r->film = r->shared.film = film;
    atomic_store(&r->paths_done, schedule_path_count(&r->schedule, at.job));
    return STATUS_OK;
}
