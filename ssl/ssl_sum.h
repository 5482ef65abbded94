/* Exact sums of what a program gives at its points: the gradient of a batch is the sum of the gradients of its points.
 *
 * A number is rounded once, to a multiple of 2^-64, and from there on all is integer addition (base/accum.h). So a sum has the
 * same bits for any order of points and batches, any number of threads with sums of their own that are merged, and any
 * width of kernels. What cannot be summed is refused and leaves the sum as it was; it never becomes part of it.
 *
 * One thread at a time uses a sum. */
#ifndef SSL_SUM_H
#define SSL_SUM_H

#include "ssl/ssl.h"

typedef struct SslSum SslSum;

/* A sum of nothing, of all float numbers of all outputs of a program, which it holds. The caller owns *out_sum. */
Status ssl_sum_create(SslProgram *p, SslSum **out_sum, Error *err) SORT_MUST_CHECK;
void ssl_sum_destroy(SslSum *sum); /* NULL is allowed */
void ssl_sum_clear(SslSum *sum);

/* Adds the results of a batch that the program's kernel has run, at points that are live. STATUS_INVALID, with the first point:
 * a number is infinite or NaN, is 2^31 or more in absolute value, is an adjoint that is not finite, or the point has a fault.
 * STATUS_LIMIT: a sum of more than 2^31 points. */
Status ssl_sum_add(SslSum *sum, const SslBatch *batch, Error *err) SORT_MUST_CHECK;
/* Adds a sum of the same program, or of one with the same outputs. STATUS_LIMIT as above. */
Status ssl_sum_merge(SslSum *sum, const SslSum *other, Error *err) SORT_MUST_CHECK;

/* The sum of a number of an output, rounded once to a double; 0 for bools and ints. */
double ssl_sum_value(const SslSum *sum, uint32_t output, uint32_t number);
uint64_t ssl_sum_points(const SslSum *sum);

#endif
