/* Runs the schedule on workers and fibers, a segment at a time: between two segments no sample is under way,
 * the film is what the first k jobs make it, and it may be written down, judged or left. */
#include "sort/render/job_parts.h"
#include "sort/render/render_state.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"

typedef struct FiberState {
    Render *render;
    Arena *arena;
    Wave *wave;
    uint64_t rays_reported;
    JobParts parts; /* of the job under way */
} FiberState;

static void *worker_begin(void *data, uint32_t worker)
{
    const Render *r = data;
    accel_thread_begin();
    return r->threads[worker];
}

/* Makes the workers' states before any of them looks up, so that it is no matter of timing whether they fit into the
 * texture memory. */
static Status create_threads(Render *r, Error *err)
{
    r->threads = MEM_ARRAY(TexThread *, r->options.thread_count);
    if (!r->threads)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < r->options.thread_count; ++i) {
        /* The last refusal says what all of them need. */
        Status made = texcache_thread_create(r->textures, &r->threads[i], err);
        status = made == STATUS_OK ? status : made;
    }
    return status;
}

static void destroy_threads(Render *r)
{
    for (uint32_t i = 0; r->threads && i < r->options.thread_count; ++i)
        texcache_thread_destroy(r->threads[i]);
    mem_free(r->threads);
    r->threads = NULL;
}

/* Makes a fiber's state. Returns NULL when memory is short: the scheduler then continues with fewer fibers, or fails if
 * there is none. */
static void *fiber_begin(void *data, void *worker_state, Waiter *waiter)
{
    Render *r = data;
    Arena *arena = arena_create(1 << 20, 0);
    FiberState *fiber = arena ? ARENA_NEW(arena, FiberState) : NULL;
    ShadeContext *shade = NULL;
    ShadeContextDesc desc = render_shade_desc(r, worker_state, waiter);
    LevelWatch *levels = NULL;
    bool wants_levels = r->shared.view == WAVE_VIEW_MIP ||
                        film_aovs_have(film_desc(r->running_shared->film)->aovs, FILM_AOV_MIP);
    if (fiber && wants_levels) {
        levels = level_watch_create(r->textures, arena);
        desc.probe = levels ? &levels->probe : NULL;
    }
    bool ok = fiber && (levels || !wants_levels) &&
              shade_context_create(&desc, arena, &shade, NULL) == STATUS_OK;
    if (ok) {
        *fiber = (FiberState){.render = r, .arena = arena};
        ok = wave_create(r->running_shared, shade, levels, r->options.wave_capacity, arena,
                         &fiber->wave, NULL) == STATUS_OK;
    }
    if (!ok) {
        arena_destroy(arena);
        return NULL;
    }
    return fiber;
}

bool render_is_stopped(const Render *r)
{
    return r->options.stop && atomic_load(r->options.stop);
}

/* A part of a job, so that the scheduler may let others go on with theirs before the next. */
static bool fiber_step(void *data, void *fiber_state)
{
    Render *r = data;
    FiberState *fiber = fiber_state;
    WaveJob job, part;
    if (render_is_stopped(r))
        return false;
    if (!job_parts_next(&fiber->parts, &part)) {
        if (!schedule_take(r->running, &job))
            return false;
        /* For WAVE_VIEW_COST each sample runs alone. */
        job_parts_begin(&fiber->parts, &job,
                        r->shared.view == WAVE_VIEW_COST ? 1 : r->options.wave_capacity);
        CHECK(job_parts_next(&fiber->parts, &part));
    }
    wave_run(fiber->wave, &part);
    WaveCounters counters = wave_counters(fiber->wave);
    uint64_t rays = counters.rays + counters.shadow_rays;
    ASSERT(rays >= fiber->rays_reported);
    atomic_fetch_add(&r->rays_done, rays - fiber->rays_reported);
    if (r->running == &r->schedule)
        atomic_fetch_add(&r->paths_done, wave_job_samples(&part));
    fiber->rays_reported = rays;
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
    if (r->options.adaptive_error <= 0.0f || r->is_part_of_round ||
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
    ASSERT(job > r->run_begin);
    double passes = (double)(job - r->run_begin) / tiles;
    double pass_s = clock_seconds_since(atomic_load(&r->passes_ns)) / passes;
    return clock_seconds_since(r->start_ns) + pass_s > r->options.time_limit_s;
}

/* Returns whether passes should be widened: more tiles have been read than fit, so that each pass would read them again.
 * Passes that the user watches, or that decide when to stop, stay as they are. */
static bool should_widen(const Render *r)
{
    if (r->options.adaptive_error > 0.0f || r->options.time_limit_s > 0.0 ||
        r->options.wants_short_passes || r->schedule.widened_at != SCHEDULE_NEVER)
        return false;
    TexStats t;
    texcache_stats(r->textures, &t);
    return t.evictions > 0 && t.bytes_unique > t.budget_bytes - t.bytes_tables;
}

/* Schedule.may_begin; called under the schedule's lock. */
static bool may_begin(void *data, uint64_t job)
{
    Render *r = data;
    if (atomic_load(r->options.cancel) || render_is_stopped(r) || !render_may_go_on(r))
        return false;
    if (would_be_late(r, job)) {
        r->is_out_of_time = true;
        return false;
    }
    if (should_widen(r)) {
        schedule_widen(&r->schedule);
        atomic_store(&r->is_wide, true);
    }
    return job == r->segment_begin || (!is_judged_before(r, job) && clock_now_ns() < r->quiet_ns);
}

enum { FIBERS_MOST = 64 };

/* Fibers a worker, to begin with: those that wait hold on to nothing, but all of them come back to the tiles of their
 * waves, and more waves than the texture memory has room for throw out each other's (docs/decisions/0030). */
static uint32_t fibers_by_room(const Render *r)
{
    const uint64_t bytes_of_a_wave = 4 << 20;
    TexStats t;
    texcache_stats(r->textures, &t);
    uint64_t room = (t.budget_bytes - t.bytes_tables) / bytes_of_a_wave / r->options.thread_count;
    return room < FIBERS_MOST ? (uint32_t)room : FIBERS_MOST;
}

/* SchedDesc.fibers_wanted: judged anew at times, by what textures cost. */
static uint32_t fibers_wanted(void *data)
{
    enum { JUDGED_EVERY_NS = 20000000 };
    /* A cancelled render finishes the jobs under way, so few of the long, widened jobs run at once. */
    const uint32_t most_wide = 8;
    Render *r = data;
    uint64_t now_ns = clock_now_ns(), due_ns = atomic_load(&r->fibers_due_ns);
    if (now_ns >= due_ns &&
        atomic_compare_exchange_strong(&r->fibers_due_ns, &due_ns, now_ns + JUDGED_EVERY_NS)) {
        TexStats t;
        texcache_stats(r->textures, &t);
        mutex_lock(&r->stats_lock);
        FiberCost cost = {.loaded = t.bytes_loaded,
                          .unique = t.bytes_unique,
                          .paths = atomic_load(&r->paths_done)};
        uint32_t limit = fiber_limit_watch(&r->fiber_limit, cost, t.budget_bytes - t.bytes_tables);
        if (r->is_wide && limit > most_wide)
            limit = r->fiber_limit.limit = r->fiber_limit.most = most_wide;
        atomic_store(&r->fibers_wanted, limit);
        mutex_unlock(&r->stats_lock);
    }
    return atomic_load_explicit(&r->fibers_wanted, memory_order_relaxed);
}

static uint32_t fibers_max(const Render *r)
{
    if (r->shared.view == WAVE_VIEW_COST)
        return 1; /* the clock of a parked fiber would run on while others work */
    return r->options.fibers_max > 0 ? r->options.fibers_max : FIBERS_MOST;
}

static Status run_workers(Render *r, Error *err)
{
    Sched *sched;
    SchedStats stats;
    SchedDesc desc = {.size_bytes = sizeof desc,
                      .worker_count = r->options.thread_count,
                      .fibers_min = 1,
                      .fibers_max = fibers_max(r),
                      .stack_bytes = SHADE_FIBER_BYTES,
                      .data = r,
                      .worker_begin = worker_begin,
                      .fiber_begin = fiber_begin,
                      .fiber_step = fiber_step,
                      .fiber_end = fiber_end,
                      .fibers_wanted = r->options.fibers_max > 0 ? NULL : fibers_wanted};
    r->segment_begin = r->running->next;
    TRY(sched_create(&desc, &sched, err));
    Status status = sched_run(sched, err);
    sched_stats(sched, &stats);
    sched_stats_add(&r->stats.sched, &stats);
    r->stats.fiber_limit = desc.fibers_wanted && desc.fibers_max > r->fiber_limit.limit
                               ? r->fiber_limit.limit
                               : desc.fibers_max;
    sched_destroy(sched);
    return status;
}

Status render_run_segment(Render *r, Error *err)
{
    Status status = create_threads(r, err);
    if (status == STATUS_OK)
        status = run_workers(r, err);
    destroy_threads(r);
    return status;
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

/* Records the state of a film that holds the first jobs of the schedule. */
static void note_state(Render *r, FilmCheckpoint checkpoint)
{
    FilmShot shot = *film_shot(r->film);
    shot.render_s = r->earlier_s + clock_seconds_since(r->start_ns);
    if (render_has_damage(r))
        shot.has |= FILM_SHOT_DAMAGED;
    film_set_shot(r->film, &shot);
    film_set_checkpoint(r->film, checkpoint);
}

/* Runs the schedule. *out_is_over: there is no need to go on behind it. */
static Status run_schedule(Render *r, bool *out_is_over, Error *err)
{
    const Schedule *s = &r->schedule;
    *out_is_over = is_good_enough(r);
    while (!*out_is_over && s->next < schedule_job_count(s)) {
        TRY(render_run_segment(r, err));
        note_state(r, (FilmCheckpoint){.job = s->next,
                                       .pass_samples = s->pass_samples,
                                       .wide_samples = s->wide_samples,
                                       .widened_at = s->widened_at,
                                       .sample_begin = s->sample_begin,
                                       .sample_end = s->sample_end});
        if (atomic_load(r->options.cancel) || render_is_stopped(r))
            return error_set(err, STATUS_CANCELLED, "cancelled");
        if (!render_may_go_on(r))
            TRY(render_finish_textures(r, err));
        *out_is_over = r->is_out_of_time || is_good_enough(r);
        bool is_done = *out_is_over || s->next == schedule_job_count(s);
        if (!is_done && clock_now_ns() >= r->quiet_ns) {
            TRY(r->options.quiet(r->options.quiet_data, r, err));
            schedule_quiet(r, r->options.quiet_interval_s);
        }
    }
    TRY(render_finish_textures(r, err));
    note_state(r, (FilmCheckpoint){0});
    uint32_t end = schedule_job_sample(s, s->next);
    return end > s->sample_begin ? film_add_range(r->film, (FilmRange){s->sample_begin, end}, err)
                                 : STATUS_OK;
}

/* The schedule, and behind that of a checkpoint of fewer samples the others. */
static Status run_schedules(Render *r, Error *err)
{
    bool is_over;
    double first_s = r->options.quiet_first_s;
    schedule_quiet(r, first_s > 0.0 ? first_s : r->options.quiet_interval_s);
    TRY(run_schedule(r, &is_over, err));
    if (is_over || r->schedule.sample_end == r->sample_end)
        return STATUS_OK;
    r->run_begin -= r->schedule.next; /* passes of this run are counted from there; it may wrap */
    schedule_take_samples(&r->schedule, r->schedule.sample_end, r->sample_end);
    return run_schedule(r, &is_over, err);
}

/* Builds well what is built roughly so far, if rays save more time than that takes. */
static Status refine_accel(Render *r, Error *err)
{
    enum { TRIANGLES_A_PATH = 8 }; /* are built in the time that its rays lose among rough ones */
    uint64_t rough = accel_rough_triangles(r->accel), start_ns = clock_now_ns();
    if (rough == 0 || TRIANGLES_A_PATH * r->path_count < rough)
        return STATUS_OK;
    render_announce(r, "building the acceleration structure");
    Status status = accel_refine(r->accel, r->options.stop, err);
    r->stats.accel_s += clock_seconds_since(start_ns);
    return status;
}

/* Whether there are samples to take: a render that goes on may have them all, or be good enough. */
static bool has_samples_to_take(Render *r)
{
    const Schedule *s = &r->schedule;
    return (s->next < schedule_job_count(s) || s->sample_end < r->sample_end) && !is_good_enough(r);
}

/* Prepares for samples, and learns of the scene what they need. */
static Status prepare(Render *r, Error *err)
{
    TRY(refine_accel(r, err));
    TRY(render_look_for_lights(r, err));
    TRY(render_try_caustics(r, err));
    return render_train(r, err);
}

Status render_run(Render *r, Error *err)
{
    uint64_t cpu_start = clock_process_cpu_ns();
    r->start_ns = clock_now_ns();
    fiber_limit_init(&r->fiber_limit, fibers_by_room(r), FIBERS_MOST);
    atomic_store(&r->fibers_wanted, r->fiber_limit.limit);
    r->schedule.may_begin = may_begin;
    r->schedule.data = r;
    Status status = has_samples_to_take(r) ? prepare(r, err) : STATUS_OK;
    if (status == STATUS_OK) {
        r->running = &r->schedule;
        r->running_shared = &r->shared;
        r->run_begin = r->schedule.next;
        r->paths_before = atomic_load(&r->paths_done);
        atomic_store(&r->passes_ns, clock_now_ns());
        render_announce(r, "rendering");
        status = run_schedules(r, err);
    }
    r->stats.render_s = clock_seconds_since(r->start_ns);
    r->stats.cpu_s = (double)(clock_process_cpu_ns() - cpu_start) * 1e-9;
    return status;
}

static bool has_known_passes(FilmCheckpoint at)
{
    bool is_widened = at.widened_at != SCHEDULE_NEVER;
    return (at.pass_samples == SCHEDULE_PASS_SAMPLES ||
            at.pass_samples == SCHEDULE_SHORT_PASS_SAMPLES) &&
           (!is_widened ||
            (at.wide_samples > at.pass_samples && at.wide_samples <= SCHEDULE_WIDE_PASS_SAMPLES &&
             at.widened_at <= at.job));
}

/* Turns to the place where the film stands; false: it holds samples that are not this render's, and the schedule is of
 * no use. */
static bool turn_to(Schedule *s, const Film *film)
{
    uint32_t range_count, begin = s->sample_begin, end = s->sample_end;
    const FilmRange *ranges = film_ranges(film, &range_count);
    FilmCheckpoint at = film_checkpoint(film);
    if (range_count > 1 || (range_count == 1 && ranges[0].begin != begin))
        return false;
    uint32_t done = range_count == 1 ? ranges[0].end : begin;
    if (done > end)
        return false;
    schedule_take_samples(s, done, end);
    if (at.job == 0)
        return true;
    if (!has_known_passes(at) || at.sample_begin != done || at.sample_end <= done ||
        at.sample_end > end)
        return false;
    bool is_widened = at.widened_at != SCHEDULE_NEVER;
    schedule_take_samples(s, at.sample_begin, at.sample_end);
    schedule_resume(s, at.pass_samples, SCHEDULE_NEVER, 0, at.job);
    if (is_widened && at.widened_at < schedule_job_count(s))
        schedule_resume(s, at.pass_samples, at.widened_at, at.wide_samples, at.job);
    return at.job <= schedule_job_count(s) && is_widened == (s->widened_at != SCHEDULE_NEVER);
}

/* The number of all samples decides how textures are filtered, and the order of blue noise: whether a render of other
 * samples begins with the same ones. */
static Status check_same_samples(const Render *r, const Film *film, Error *err)
{
    uint32_t begun = film_desc(film)->identity.nominal_samples;
    if (begun == r->samples)
        return STATUS_OK;
    if (r->shared.sampler.kind == SAMPLER_BLUE_NOISE)
        return error_set(err, STATUS_INVALID,
                         "it was begun with %u samples per pixel, and blue noise is ordered for "
                         "them: %u do not begin with the same ones",
                         begun, r->samples);
    if (r->scene->texture_count > 0 &&
        shade_footprint_scale(begun) != shade_footprint_scale(r->samples))
        return error_set(err, STATUS_INVALID,
                         "it was begun with %u samples per pixel, and textures are filtered for "
                         "them (below 64): %u do not begin with the same ones. What was begun with "
                         "'--spp %u --samples 0:%u' can go on",
                         begun, r->samples, r->samples, begun);
    return STATUS_OK;
}

Status render_follow(Render *r, Film *judged, Error *err)
{
    uint32_t range_count;
    const FilmRange *ranges = film_ranges(judged, &range_count);
    TRY(film_same_render(r->film, judged, err));
    if (film_checkpoint(judged).job || range_count != 1 || ranges[0].begin != 0)
        return error_set(
            err, STATUS_INVALID,
            "a round follows the merged sums of all samples before it, from the first");
    uint32_t begin = ranges[0].end, end = begin + RENDER_ADAPTIVE_STEP;
    if (begin < RENDER_ADAPTIVE_MIN || (begin - RENDER_ADAPTIVE_MIN) % RENDER_ADAPTIVE_STEP != 0)
        return error_set(
            err, STATUS_INVALID,
            "it ends at sample %u, where adaptive sampling does not judge: rounds end at "
            "multiples of %d",
            begin, RENDER_ADAPTIVE_STEP);
    if (r->sample_begin < begin || r->sample_end > end)
        return error_set(err, STATUS_INVALID,
                         "samples %u:%u are not of the round behind it, which is %u:%u",
                         r->sample_begin, r->sample_end, begin, end);
    (void)film_judge(judged, r->options.adaptive_error);
    film_copy_judgement(r->film, judged);
    film_set_guiding(r->film, film_desc(judged)->identity.guiding);
    r->is_part_of_round = true;
    return STATUS_OK;
}

Status render_resume(Render *r, Film *film, Error *err)
{
    Status status = check_same_samples(r, film, err);
    if (status == STATUS_OK) {
        film_set_nominal_samples(film, r->samples);
        status = film_same_render(r->film, film, err);
    }
    if (status == STATUS_OK && !turn_to(&r->schedule, film))
        status = error_set(err, STATUS_INVALID, "it holds samples that this render does not take");
    if (status != STATUS_OK) {
        film_destroy(film);
        return status;
    }
    FilmShot shot = *film_shot(r->film);
    r->earlier_s = film_shot(film)->render_s;
    shot.has |= film_shot(film)->has & FILM_SHOT_DAMAGED;
    atomic_store(&r->is_wide, r->schedule.widened_at != SCHEDULE_NEVER);
    film_destroy(r->film);
    film_set_shot(film, &shot);
    r->film = r->shared.film = film;
    const Schedule *s = &r->schedule;
    uint64_t earlier = (uint64_t)s->width * s->height * (s->sample_begin - r->sample_begin);
    atomic_store(&r->paths_done, earlier + schedule_path_count(s, s->next));
    return STATUS_OK;
}
