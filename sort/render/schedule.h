/* The order in which pixels and samples are rendered: a list of jobs, each of which is a few samples of a tile of pixels.
 * Jobs are handed out in order, and each that was handed out is finished. So "the first k jobs" says exactly what a film
 * holds, and a render can pause, be saved and continue at job k.
 *
 * A pass over all tiles goes forth and the next one back, so that the next pass finds the tiles that the texture cache
 * holds at the end of one: a cyclic scan of more than it holds would miss every time. Where even that reads too much again,
 * the passes are widened in the middle of a render: what is left of the pass under way, and all later ones, take many
 * samples of a tile at once. Which samples are taken does not change, only their order, and sums are exact.
 *
 *   tiles ->   0 1 2 3 4 5 6 7          widened before job 5 of the first pass:
 *   samples    a a a a a B B B          jobs 5 to 7 take the samples of a and those after them, b;
 *              b b b b b                then, from the last of them back, the first five tiles take b
 *
 * Any thread may call schedule_take; the other functions need that no job is being taken. */
#ifndef SORT_RENDER_SCHEDULE_H
#define SORT_RENDER_SCHEDULE_H

#include "base/thread.h"
#include "sort/integrator/wave.h"

/* A pass takes many samples of each tile, for the textures that a tile needs are read once a pass when they do not
 * fit together; few where the picture shall grow evenly, or stop in time. */
enum {
    SCHEDULE_TILE = 32,
    SCHEDULE_PASS_SAMPLES = 16,
    SCHEDULE_SHORT_PASS_SAMPLES = 4,
    /* More would delay a cancelled render, which finishes the jobs under way. */
    SCHEDULE_WIDE_PASS_SAMPLES = 128
};

#define SCHEDULE_NEVER UINT64_MAX

typedef struct Schedule {
    uint32_t x, y, width, height; /* pixels, in the frame */
    uint32_t sample_begin, sample_end, pass_samples;
    uint32_t tiles_x, tiles_y;
    uint64_t widened_at;   /* the first job of widened passes; SCHEDULE_NEVER */
    uint32_t wide_samples; /* a widened pass */
    Mutex lock;
    uint64_t next; /* guarded by lock */
    /* Asked before each job, under the lock: false pauses the schedule. */
    bool (*may_begin)(void *data, uint64_t job);
    void *data;
} Schedule;

/* Samples [sample_begin, sample_end) of a rectangle that is not empty, pass_samples a pass: each pass but the last ends
 * at a multiple of them, so that renders that begin later pause where one from the beginning does. */
typedef struct ScheduleDesc {
    uint32_t x, y, width, height; /* pixels, in the frame */
    uint32_t sample_begin, sample_end, pass_samples;
} ScheduleDesc;
void schedule_init(Schedule *s, const ScheduleDesc *desc);
/* Replaces the sample range, which may be empty, and starts again at the first job. */
void schedule_take_samples(Schedule *s, uint32_t sample_begin, uint32_t sample_end);
/* Continues the schedule of a checkpoint, whose first `job` jobs are done: passes take pass_samples, and wide_samples from
 * job widened_at on (SCHEDULE_NEVER: none). */
void schedule_resume(Schedule *s, uint32_t pass_samples, uint64_t widened_at, uint32_t wide_samples,
                     uint64_t job);
/* Passes become wide with the next job, unless they are or there is no pass after this one. Not while may_begin
 * decides by passes. May be called in may_begin. */
void schedule_widen(Schedule *s);
void schedule_destroy(Schedule *s);

uint64_t schedule_job_count(const Schedule *s);
uint32_t schedule_tile_count(const Schedule *s);                /* jobs of one pass */
uint64_t schedule_path_count(const Schedule *s, uint64_t jobs); /* in the first `jobs` jobs */
/* The first sample that the job's pass takes; past the last job: sample_end. Of passes that are not widened. */
uint32_t schedule_job_sample(const Schedule *s, uint64_t job);

/* Takes the next job. Returns false when none is left or the schedule pauses. Any thread. */
bool schedule_take(Schedule *s, WaveJob *out_job);

#endif
