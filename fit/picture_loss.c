#include "fit/picture_loss.h"
#include "base/alloc.h"
#include "base/check.h"
#include <math.h>
#include <string.h>

enum { LEVELS_MAX = 20 };

typedef struct Level {
    uint32_t width, height;
    double *differences; /* [height][width][channels]; later their adjoints */
} Level;

struct PictureLoss {
    LossKind kind;
    uint32_t channels, level_count;
    uint32_t finest;     /* of the levels that adjoints count */
    size_t number_count; /* of level 0 */
    float *target;
    Level levels[LEVELS_MAX];
};

static size_t count_of(const PictureLoss *loss, const Level *level)
{
    return (size_t)level->width * level->height * loss->channels;
}

static Status allocate(PictureLoss *loss, const PictureLossDesc *desc, Error *err)
{
    uint32_t width = desc->width, height = desc->height;
    loss->target = MEM_ARRAY(float, loss->number_count);
    bool failed = !loss->target;
    while (loss->level_count < desc->levels && loss->level_count < LEVELS_MAX && !failed) {
        Level *level = &loss->levels[loss->level_count++];
        *level = (Level){width, height, NULL};
        level->differences = MEM_ARRAY(double, count_of(loss, level));
        failed = !level->differences;
        if (width == 1 && height == 1)
            break;
        width = (width + 1) / 2;
        height = (height + 1) / 2;
    }
    return failed ? error_set(err, STATUS_NO_MEMORY, "out of memory") : STATUS_OK;
}

Status picture_loss_create(const PictureLossDesc *desc, PictureLoss **out_loss, Error *err)
{
    CHECK(desc->size_bytes == sizeof *desc);
    *out_loss = NULL;
    if (!desc->width || !desc->height || !desc->channels || !desc->levels)
        return error_set(err, STATUS_INVALID,
                         "a picture of %u x %u numbers of %u channels, %u levels", desc->width,
                         desc->height, desc->channels, desc->levels);
    PictureLoss *loss = MEM_NEW(PictureLoss);
    if (!loss)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    *loss = (PictureLoss){.kind = desc->kind,
                          .channels = desc->channels,
                          .number_count = (size_t)desc->width * desc->height * desc->channels};
    Status status = allocate(loss, desc, err);
    for (size_t i = 0; i < loss->number_count && status == STATUS_OK; ++i) {
        loss->target[i] = desc->target[i];
        if (!isfinite(desc->target[i]))
            status = error_set(err, STATUS_INVALID, "the target is not finite at pixel %zu,%zu",
                               i / desc->channels % desc->width, i / desc->channels / desc->width);
    }
    if (status == STATUS_OK)
        *out_loss = loss;
    else
        picture_loss_destroy(loss);
    return status;
}

void picture_loss_destroy(PictureLoss *loss)
{
    if (!loss)
        return;
    for (uint32_t i = 0; i < loss->level_count; ++i)
        mem_free(loss->levels[i].differences);
    mem_free(loss->target);
    mem_free(loss);
}

uint32_t picture_loss_levels(const PictureLoss *loss)
{
    return loss->level_count;
}

void picture_loss_set_finest(PictureLoss *loss, uint32_t level)
{
    CHECK(level < loss->level_count);
    loss->finest = level;
}

/* --- levels ------------------------------------------------------------------------------------- */

/* Adds numbers of the finer level to the means of the coarser one that they are part of; or, the transpose of that, adjoints of
 * means to those of the numbers. */
static void relate(const PictureLoss *loss, Level *fine, Level *coarse, bool is_transpose)
{
    ASSERT(coarse->width == (fine->width + 1) / 2 && coarse->height == (fine->height + 1) / 2);
    double *number = fine->differences;
    for (uint32_t y = 0; y < fine->height; ++y)
        for (uint32_t x = 0; x < fine->width; ++x) {
            uint32_t columns = (x | 1) < fine->width ? 2 : 1, rows = (y | 1) < fine->height ? 2 : 1;
            double share = 1.0 / (columns * rows);
            double *mean =
                coarse->differences + ((size_t)(y / 2) * coarse->width + x / 2) * loss->channels;
            for (uint32_t c = 0; c < loss->channels; ++c, ++number) {
                if (is_transpose)
                    *number += share * mean[c];
                else
                    mean[c] += share * *number;
            }
        }
}

static void reduce(const PictureLoss *loss, Level *fine, Level *coarse)
{
    memset(coarse->differences, 0, count_of(loss, coarse) * sizeof *coarse->differences);
    relate(loss, fine, coarse, false);
}

/* The loss of one level; its differences become adjoints. */
static double level_value(const PictureLoss *loss, Level *level)
{
    size_t count = count_of(loss, level);
    double weight = 1 / ((double)count * loss->level_count), sum = 0;
    for (size_t i = 0; i < count; ++i) {
        double d = level->differences[i];
        sum += loss->kind == LOSS_L1 ? fabs(d) : d * d;
        level->differences[i] = weight * (loss->kind == LOSS_L2 ? 2 * d
                                          : d > 0               ? 1
                                          : d < 0               ? -1
                                                                : 0);
    }
    return sum * weight;
}

double picture_loss_value(PictureLoss *loss, const float *picture, float *out_adjoint)
{
    for (size_t i = 0; i < loss->number_count; ++i)
        loss->levels[0].differences[i] = (double)picture[i] - (double)loss->target[i];
    for (uint32_t i = 1; i < loss->level_count; ++i)
        reduce(loss, &loss->levels[i - 1], &loss->levels[i]);
    double value = 0;
    for (uint32_t i = 0; i < loss->level_count; ++i)
        value += level_value(loss, &loss->levels[i]);
    if (!out_adjoint)
        return value;
    for (uint32_t i = 0; i < loss->finest; ++i)
        memset(loss->levels[i].differences, 0,
               count_of(loss, &loss->levels[i]) * sizeof *loss->levels[i].differences);
    for (uint32_t i = loss->level_count; i-- > 1;)
        relate(loss, &loss->levels[i - 1], &loss->levels[i], true);
    for (size_t i = 0; i < loss->number_count; ++i)
        out_adjoint[i] = (float)loss->levels[0].differences[i];
    return value;
}
