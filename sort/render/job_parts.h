/* The parts of a job that fit into a wave, one after the other.
 *
 * Paths that begin near each other meet the same materials, texels and nodes of the scene's hierarchy. So a part is many samples of few
 * pixels in a square, rather than one sample of many pixels (docs/decisions/0152-waves-are-many-samples-of-few-pixels.md). */
#ifndef SORT_RENDER_JOB_PARTS_H
#define SORT_RENDER_JOB_PARTS_H

#include "sort/integrator/wave.h"

typedef struct JobParts {
    WaveJob job;
    uint32_t width, height, samples; /* of a part, at most */
    uint32_t x, y, sample;           /* where the next part begins */
} JobParts;

/* Begins a job, which is not empty. capacity: samples of a part, at most; at least 1. */
void job_parts_begin(JobParts *parts, const WaveJob *job, uint32_t capacity);
/* Takes the next part. Returns false when none is left, as of JobParts of zeros. */
bool job_parts_next(JobParts *parts, WaveJob *out_part);

#endif
