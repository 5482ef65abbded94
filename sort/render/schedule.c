#include "sort/render/schedule.h"

#include "base/check.h"

void schedule_init(Schedule *s, const ScheduleDesc *desc)
{
    ASSERT(desc->width > 0 && desc->height > 0 && desc->pass_samples > 0);
    *s = (Schedule){.x = desc->x,
                    .y = desc->y,
                    .width = desc->width,
                    .height = desc->height,
                    .pass_samples = desc->pass_samples,
                    .tiles_x = (desc->width + SCHEDULE_TILE - 1) / SCHEDULE_TILE,
                    .tiles_y = (desc->height + SCHEDULE_TILE - 1) / SCHEDULE_TILE};
    mutex_init(&s->lock);
    schedule_take_samples(s, desc->sample_begin, desc->sample_end);
}

void schedule_take_samples(Schedule *s, uint32_t sample_begin, uint32_t sample_end)
{
    ASSERT(sample_begin <= sample_end);
    s->sample_begin = sample_begin;
    s->sample_end = sample_end;
    schedule_resume(s, s->pass_samples, SCHEDULE_NEVER, 0, 0);
}

void schedule_resume(Schedule *s, uint32_t pass_samples, uint64_t widened_at, uint32_t wide_samples,
                     uint64_t job)
{
    ASSERT(pass_samples > 0);
    s->pass_samples = pass_samples;
    s->widened_at = widened_at;
    s->wide_samples = wide_samples;
    s->next = job;
}

void schedule_destroy(Schedule *s)
{
    mutex_destroy(&s->lock);
}

uint32_t schedule_tile_count(const Schedule *s)
{
    return s->tiles_x * s->tiles_y;
}

/* The samples of one tile that a job takes. */
typedef struct JobPart {
    uint32_t position; /* in the order of the first pass */
    uint32_t begin, end;
} JobPart;

static uint32_t limited_sample(const Schedule *s, uint64_t sample)
{
    return sample < s->sample_end ? (uint32_t)sample : s->sample_end;
}

/* The first sample of a pass that is not widened. */
static uint32_t pass_sample(const Schedule *s, uint64_t pass)
{
    uint64_t sample = (s->sample_begin / s->pass_samples + pass) * s->pass_samples;
    return pass == 0 ? s->sample_begin : limited_sample(s, sample);
}

static uint64_t pass_count(uint32_t samples, uint32_t pass_samples)
{
    return (samples + (uint64_t)pass_samples - 1) / pass_samples;
}

/* The jobs from the place on where passes are widened. */
typedef struct Widening {
    uint32_t position;       /* how far the pass is that is widened */
    uint32_t begin, old_end; /* its samples without */
    uint32_t end;            /* and with it */
    uint64_t rest_jobs;      /* of that pass, */
    uint64_t catch_up_jobs;  /* for tiles that it has passed already, */
    uint64_t later_jobs;     /* and of later passes */
} Widening;

static Widening widening(const Schedule *s)
{
    uint32_t tiles = schedule_tile_count(s);
    uint64_t pass = s->widened_at / tiles;
    ASSERT(s->widened_at != SCHEDULE_NEVER && s->wide_samples > 0);
    Widening w = {.position = (uint32_t)(s->widened_at % tiles),
                  .begin = pass_sample(s, pass),
                  .old_end = pass_sample(s, pass + 1)};
    w.end = limited_sample(s, (uint64_t)w.begin + s->wide_samples);
    w.rest_jobs = tiles - w.position;
    w.catch_up_jobs = w.old_end < w.end ? w.position : 0;
    w.later_jobs = tiles * pass_count(s->sample_end - w.end, s->wide_samples);
    return w;
}

uint64_t schedule_job_count(const Schedule *s)
{
    if (s->widened_at == SCHEDULE_NEVER)
        return s->sample_begin == s->sample_end
                   ? 0
                   : schedule_tile_count(s) * (pass_count(s->sample_end, s->pass_samples) -
                                               s->sample_begin / s->pass_samples);
    Widening w = widening(s);
    return s->widened_at + w.rest_jobs + w.catch_up_jobs + w.later_jobs;
}

uint32_t schedule_job_sample(const Schedule *s, uint64_t job)
{
    if (job >= schedule_job_count(s))
        return s->sample_end;
    return pass_sample(s, job / schedule_tile_count(s));
}

static JobPart widened_part(const Schedule *s, uint64_t k)
{
    uint32_t tiles = schedule_tile_count(s);
    Widening w = widening(s);
    bool is_back = s->widened_at / tiles % 2 == 1; /* the way of the pass that is widened */
    uint64_t at = k - s->widened_at;
    ASSERT(k >= s->widened_at);
    JobPart part = {.begin = w.begin, .end = w.end};
    if (at < w.rest_jobs) {
        part.position = w.position + (uint32_t)at;
    } else if (at < w.rest_jobs + w.catch_up_jobs) {
        part.position = w.position - 1 - (uint32_t)(at - w.rest_jobs);
        part.begin = w.old_end;
    } else {
        uint64_t later = at - w.rest_jobs - w.catch_up_jobs, pass = later / tiles;
        part.position = (uint32_t)(later % tiles);
        part.begin = limited_sample(s, w.end + pass * s->wide_samples);
        part.end = limited_sample(s, (uint64_t)part.begin + s->wide_samples);
        is_back ^= (pass % 2 == 1) != (w.catch_up_jobs == 0);
    }
    if (is_back)
        part.position = tiles - 1 - part.position;
    return part;
}

static JobPart part_at(const Schedule *s, uint64_t k)
{
    if (k >= s->widened_at)
        return widened_part(s, k);
    uint32_t tiles = schedule_tile_count(s), position = (uint32_t)(k % tiles);
    uint64_t pass = k / tiles;
    return (JobPart){.position = pass % 2 == 1 ? tiles - 1 - position : position,
                     .begin = pass_sample(s, pass),
                     .end = pass_sample(s, pass + 1)};
}

static WaveJob job_at(const Schedule *s, uint64_t k)
{
    JobPart part = part_at(s, k);
    ASSERT(part.position < schedule_tile_count(s) && part.begin < part.end);
    uint32_t x = part.position % s->tiles_x * SCHEDULE_TILE,
             y = part.position / s->tiles_x * SCHEDULE_TILE;
    return (WaveJob){
        .x = s->x + x,
        .y = s->y + y,
        .width = s->width - x < SCHEDULE_TILE ? s->width - x : SCHEDULE_TILE,
        .height = s->height - y < SCHEDULE_TILE ? s->height - y : SCHEDULE_TILE,
        .sample = part.begin,
        .sample_end = part.end,
    };
}

void schedule_widen(Schedule *s)
{
    uint32_t tiles = schedule_tile_count(s);
    uint64_t pass = s->next / tiles;
    if (s->widened_at != SCHEDULE_NEVER || pass_sample(s, pass + 1) >= s->sample_end)
        return;
    uint32_t left = s->sample_end - pass_sample(s, pass);
    s->widened_at = s->next;
    s->wide_samples = left < SCHEDULE_WIDE_PASS_SAMPLES ? left : SCHEDULE_WIDE_PASS_SAMPLES;
}

uint64_t schedule_path_count(const Schedule *s, uint64_t jobs)
{
    if (jobs == schedule_job_count(s))
        return (uint64_t)s->width * s->height * (s->sample_end - s->sample_begin);
    uint64_t count = 0;
    for (uint64_t k = 0; k < jobs; ++k) {
        WaveJob job = job_at(s, k);
        count += wave_job_samples(&job);
    }
    return count;
}

bool schedule_take(Schedule *s, WaveJob *out_job)
{
    mutex_lock(&s->lock);
    bool is_taken =
        s->next < schedule_job_count(s) && (!s->may_begin || s->may_begin(s->data, s->next));
    if (is_taken)
        *out_job = job_at(s, s->next++);
    mutex_unlock(&s->lock);
    return is_taken;
}
