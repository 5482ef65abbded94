#include "sort/render/schedule.h"

void schedule_init(Schedule *s, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                   uint32_t sample_begin, uint32_t sample_end, uint32_t pass_samples)
{
    *s = (Schedule){.x = x,
                    .y = y,
                    .width = width,
                    .height = height,
                    .sample_begin = sample_begin,
                    .sample_end = sample_end,
                    .tiles_x = (width + SCHEDULE_TILE - 1) / SCHEDULE_TILE,
                    .tiles_y = (height + SCHEDULE_TILE - 1) / SCHEDULE_TILE};
    mutex_init(&s->lock);
    schedule_resume(s, pass_samples, 0);
}

void schedule_resume(Schedule *s, uint32_t pass_samples, uint64_t job)
{
    s->pass_samples = pass_samples;
    s->pass_count = (s->sample_end - s->sample_begin + pass_samples - 1) / pass_samples;
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

uint64_t schedule_job_count(const Schedule *s)
{
    return (uint64_t)schedule_tile_count(s) * s->pass_count;
}

uint32_t schedule_job_sample(const Schedule *s, uint64_t job)
{
    uint64_t sample = s->sample_begin + job / schedule_tile_count(s) * (uint64_t)s->pass_samples;
    return sample < s->sample_end ? (uint32_t)sample : s->sample_end;
}

/* Job k, whatever its state. Returns the end of its samples. */
static uint32_t job_at(const Schedule *s, uint64_t k, WaveJob *out_job)
{
    uint32_t tiles = schedule_tile_count(s);
    uint32_t pass = (uint32_t)(k / tiles), tile = (uint32_t)(k % tiles);
    if (pass % 2 == 1)
        tile = tiles - 1 - tile;
    uint32_t x = tile % s->tiles_x * SCHEDULE_TILE, y = tile / s->tiles_x * SCHEDULE_TILE;
    *out_job = (WaveJob){
        .x = s->x + x,
        .y = s->y + y,
        .width = s->width - x < SCHEDULE_TILE ? s->width - x : SCHEDULE_TILE,
        .height = s->height - y < SCHEDULE_TILE ? s->height - y : SCHEDULE_TILE,
        .sample = schedule_job_sample(s, k),
    };
    return schedule_job_sample(s, k + tiles);
}

uint64_t schedule_path_count(const Schedule *s, uint64_t jobs)
{
    uint32_t tiles = schedule_tile_count(s);
    uint64_t whole = jobs - jobs % tiles;
    uint64_t count =
        (uint64_t)s->width * s->height * (schedule_job_sample(s, whole) - s->sample_begin);
    for (uint64_t k = whole; k < jobs; ++k) {
        WaveJob job;
        uint32_t end = job_at(s, k, &job);
        count += (uint64_t)job.width * job.height * (end - job.sample);
    }
    return count;
}

bool schedule_take(Schedule *s, WaveJob *out_job, uint32_t *out_end)
{
    mutex_lock(&s->lock);
    bool is_taken =
        s->next < schedule_job_count(s) && (!s->may_begin || s->may_begin(s->data, s->next));
    if (is_taken)
        *out_end = job_at(s, s->next++, out_job);
    mutex_unlock(&s->lock);
    return is_taken;
}
