/* How far a picture is from a target, with its derivative by each number of the picture.
 *
 * Differences are looked at in several sizes: level 0 are the pixels, each further level has means of 2 x 2 numbers of the one
 * before (of fewer at odd edges). The loss is the mean over levels of the mean over a level's numbers of |d| or d^2. Coarse levels
 * have slopes where fine ones are flat: a line that is one width beside its place changes a mean of several pixels, but not
 * one of its own pixels. [Burt1983]
 *
 * Sums are doubles, added in one order: equal pictures have equal losses, to the bit. One thread at a time uses a PictureLoss. */
#ifndef FIT_PICTURE_LOSS_H
#define FIT_PICTURE_LOSS_H

#include "base/error.h"

typedef enum LossKind { LOSS_L1, LOSS_L2 } LossKind;

typedef struct PictureLossDesc {
    size_t size_bytes; /* sizeof(PictureLossDesc) */
    LossKind kind;
    uint32_t width, height, channels;
    uint32_t levels;     /* at least 1; those after one of 1 x 1 numbers are left out */
    const float *target; /* [height][width][channels], finite; copied */
} PictureLossDesc;

typedef struct PictureLoss PictureLoss;

/* STATUS_INVALID: an empty picture, no level, or a target that is not finite. The caller owns *out_loss. */
Status picture_loss_create(const PictureLossDesc *desc, PictureLoss **out_loss,
                           Error *err) SORT_MUST_CHECK;
void picture_loss_destroy(PictureLoss *loss); /* NULL is allowed */
uint32_t picture_loss_levels(const PictureLoss *loss);
/* From now on derivatives are those of level `level` and the coarser ones alone, while the loss remains that of all levels, so that
 * it can be compared. At first level is 0. [Yang2022 8.2] has such a loss, too. */
void picture_loss_set_finest(PictureLoss *loss, uint32_t level);

/* Returns the loss of picture[height][width][channels], and writes its derivative by each number (that of the levels that count, see
 * picture_loss_set_finest) to `out_adjoint` unless that is NULL. At differences of zero the slope of |d| is zero. Pictures that are not finite have an infinite or NaN loss. */
double picture_loss_value(PictureLoss *loss, const float *picture, float *out_adjoint);

#endif
