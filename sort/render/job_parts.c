#include "sort/render/job_parts.h"

#include "base/check.h"
#include "sort/render/schedule.h"

/* The length of a part that begins at x: parts stand at multiples of their size in the frame, as bundles of camera rays do. */
static uint32_t length(uint32_t x, uint32_t size, uint32_t end)
{
    return minu(size - x % size, end - x);
}

void job_parts_begin(JobParts *parts, const WaveJob *job, uint32_t capacity)
{
    uint32_t width = WAVE_BUNDLE_SIDE, height = WAVE_BUNDLE_SIDE;
    uint64_t samples = job->sample_end - job->sample;
    ASSERT(capacity > 0 && job->width > 0 && job->height > 0 && samples > 0);
    while (width > capacity)
        width /= 2;
    if (width * height > capacity)
        height = 1;
    while (height < SCHEDULE_TILE && 2 * samples * width * height <= capacity)
        if (width <= height)
            width *= 2;
        else
            height *= 2;
    *parts = (JobParts){.job = *job,
                        .width = width,
                        .height = height,
                        .samples = capacity / (width * height),
                        .x = job->x,
                        .y = job->y,
                        .sample = job->sample};
}

bool job_parts_next(JobParts *parts, WaveJob *out_part)
{
    const WaveJob *job = &parts->job;
    uint32_t x_end = job->x + job->width, y_end = job->y + job->height;
    if (parts->y == y_end)
        return false;
    *out_part = (WaveJob){.x = parts->x,
                          .y = parts->y,
                          .width = length(parts->x, parts->width, x_end),
                          .height = length(parts->y, parts->height, y_end),
                          .sample = parts->sample};
    parts->sample += minu(parts->samples, job->sample_end - parts->sample);
    out_part->sample_end = parts->sample;
    if (parts->sample < job->sample_end)
        return true;
    parts->sample = job->sample;
    parts->x += out_part->width;
    if (parts->x < x_end)
        return true;
    parts->x = job->x;
    parts->y += out_part->height;
    return true;
}
