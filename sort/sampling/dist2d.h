/* A piecewise-constant density on the unit square, for environment maps.
 *
 * Inverse marginal and conditional distributions [Pharr2023 app. A], held as whole numbers of 2^-24: the
 * lattice on which the samplers live. So the density that dist2d_pdf reports is exactly the one that
 * dist2d_sample draws from, it sums to 1 without rounding, and every cell of positive weight has a
 * positive chance. 4 bytes a cell and 512 a row. Immutable after creation: any thread. */
#ifndef SORT_SAMPLING_DIST2D_H
#define SORT_SAMPLING_DIST2D_H

#include "base/error.h"
#include "base/vec.h"

enum { DIST2D_MAX_SIDE = 65536 };

typedef struct Dist2d Dist2d;

/* weights: [height][width], row-major, finite, not negative (already times sin(theta) for a
 * latitude-longitude map). All zero is allowed: then the density is uniform. STATUS_INVALID or
 * STATUS_LIMIT otherwise. *out_dist is the caller's: dist2d_destroy. */
Status dist2d_create(const float *weights, uint32_t width, uint32_t height, Dist2d **out_dist,
                     Error *err) SORT_MUST_CHECK;
void dist2d_destroy(Dist2d *d); /* NULL is fine */
/* A point of [0,1)^2: x along a row, y across rows, cell (i, j) covering
 * [i, i+1)/width x [j, j+1)/height. out_pdf: density per unit area of the square. */
float2 dist2d_sample(const Dist2d *d, float2 u, float *out_pdf);
/* Density at p; coordinates outside are clamped to the border cell. */
float dist2d_pdf(const Dist2d *d, float2 p);
size_t dist2d_size_bytes(const Dist2d *d);

#endif
