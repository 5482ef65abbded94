/* Gradients over edges of a picture, at the price of those without where there is no edge.
 *
 * Three units of one shader are run (SslDerivativeDesc): one that marks edges, at all points of the picture; a gradient without
 * edges, at the points that have no edge beside them; and the gradient with edges at the others, which are copied to a host of
 * their own so that blocks are full. A point's gradient does not depend on its neighbours in a block, so where a point is run
 * makes no difference. The picture's pixels are the points: ddx and ddy of what differs from point to point are the
 * differences to the next pixels. */
#ifndef SORT_TOOLS_SSL_KIT_GRID_EDGES_H
#define SORT_TOOLS_SSL_KIT_GRID_EDGES_H

#include "tools/ssl_kit/grid_host.h"

/* The marks of a picture, row by row. */
typedef struct GridMarks {
    const uint32_t *marks; /* [height][width], of the output "edges()" */
    uint32_t width, height;
} GridMarks;

/* Lists those of a host's points [16 first_block, end) that are on the border of the picture or have another mark than one of their
 * four neighbours. The other points are those that exist in `host` from now on. out_near[end - 16 first_block]. Returns
 * how many were listed. Several threads may look at different blocks. */
uint32_t grid_edges_find(const GridMarks *m, GridHost *host, uint32_t first_block, uint32_t end,
                         uint32_t *out_near);
/* Gives points `first` and so on of a host what the kernel reads of points near[count] of another host of the same program. */
void grid_edges_gather(GridHost *swept, uint32_t first, const GridHost *spread,
                       const uint32_t *near, uint32_t count);
/* Makes points 0 to count - 1 those that exist. Returns how many blocks they take. */
uint32_t grid_edges_keep(GridHost *swept, uint32_t count);

#endif
