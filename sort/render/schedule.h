/* In which order pixels and samples are rendered: a list of jobs, of which each is a tile of pixels and a
 * few samples of it. Jobs are handed out in order, and what is handed out is finished; so "the first k jobs"
 * says exactly what a film holds, and a render can pause, be written down and go on at job k.
 *
 * A pass over all tiles goes forth and the next one back, so that what the texture cache holds at the end of
 * one serves the next: a cyclic scan of more than it holds would miss every time.
 *
 * Any thread may take jobs; the rest needs that no job is being taken. */
#ifndef SORT_RENDER_SCHEDULE_H
#define SORT_RENDER_SCHEDULE_H

#include "base/thread.h"
#include "sort/integrator/wave.h"

/* A pass takes many samples of each tile, for the textures that a tile needs are read once a pass when they do not
 * fit together; few where the picture shall grow evenly, or stop in time. */
enum { SCHEDULE_TILE = 32, SCHEDULE_PASS_SAMPLES = 16, SCHEDULE_SHORT_PASS_SAMPLES = 4 };

typedef struct Schedule {
    uint32_t x, y, width, height; /* pixels, in the frame */
    uint32_t sample_begin, sample_end, pass_samples;
    uint32_t tiles_x, tiles_y, pass_count;
    Mutex lock;
    uint64_t next; /* guarded by lock */
    /* Asked before each job, under the lock: false pauses the schedule. */
    bool (*may_begin)(void *data, uint64_t job);
    void *data;
} Schedule;

/* Samples [sample_begin, sample_end) of a rectangle that is not empty, pass_samples a pass. */
void schedule_init(Schedule *s, uint32_t x, uint32_t y, uint32_t width, uint32_t height,
                   uint32_t sample_begin, uint32_t sample_end, uint32_t pass_samples);
/* Of a checkpoint: passes of that size, the first `job` jobs done. */
void schedule_resume(Schedule *s, uint32_t pass_samples, uint64_t job);
void schedule_destroy(Schedule *s);

uint64_t schedule_job_count(const Schedule *s);
uint32_t schedule_tile_count(const Schedule *s);                /* jobs of one pass */
uint64_t schedule_path_count(const Schedule *s, uint64_t jobs); /* in the first `jobs` jobs */
/* The first sample that the job's pass takes; past the last job: sample_end. */
uint32_t schedule_job_sample(const Schedule *s, uint64_t job);

/* The next job: samples [out_job->sample, *out_end) of its rectangle. False: nothing to take now. */
bool schedule_take(Schedule *s, WaveJob *out_job, uint32_t *out_end);

#endif
