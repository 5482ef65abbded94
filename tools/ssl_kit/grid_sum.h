/* Sums of what a program gives at the points of a grid, for one thread: it runs a few blocks at a time, whose results stay in the
 * cache, adds them, and forgets them. All results of a gradient by many parameters would go through memory. */
#ifndef SORT_TOOLS_SSL_KIT_GRID_SUM_H
#define SORT_TOOLS_SSL_KIT_GRID_SUM_H

#include "ssl/ssl_sum.h"
#include "tools/ssl_kit/grid_host.h"

typedef struct GridSum GridSum;

/* `p` is held. blocks_max: of one call of grid_sum_run, as far as more memory makes it faster. STATUS_NO_MEMORY, and the errors of
 * ssl_sum_create. */
Status grid_sum_create(SslProgram *p, uint32_t blocks_max, GridSum **out_sum,
                       Error *err) SORT_MUST_CHECK;
void grid_sum_destroy(GridSum *s); /* NULL is fine */
/* Where the adjoints of lookups go from now on (GridCaller.texels), borrowed; NULL: nowhere. */
void grid_sum_set_texels(GridSum *s, SslTexelSum *const *texels);
/* Runs blocks of a host of the program, and adds what they give. Errors are those of ssl_sum_add and ssl_texel_sum_add; what was added before one
 * remains. Several threads may run blocks of one host, which needs no results and watches GRID_WATCH_NONE. */
Status grid_sum_run(GridSum *s, const GridHost *host, uint32_t first, uint32_t count,
                    Error *err) SORT_MUST_CHECK;
/* The sum, as long as `s` lives. */
SslSum *grid_sum_total(const GridSum *s);

#endif
