#include "tools/ssl_kit/grid_edges.h"
#include "base/check.h"

/* At the border there may be an edge outside of the picture. */
static bool is_near(const GridMarks *m, uint32_t point)
{
    uint32_t x = point % m->width, y = point / m->width;
    const uint32_t *mark = &m->marks[point];
    return x == 0 || y == 0 || x + 1 == m->width || y + 1 == m->height || mark[-1] != *mark ||
           mark[1] != *mark || *(mark - m->width) != *mark || mark[m->width] != *mark;
}

uint32_t grid_edges_find(const GridMarks *m, GridHost *host, uint32_t first_block, uint32_t end,
                         uint32_t *out_near)
{
    uint32_t count = 0, live = 0;
    ASSERT(end <= m->width * m->height);
    for (uint32_t point = first_block * SSL_BLOCK; point < end; ++point) {
        bool is_listed = is_near(m, point);
        live |= (uint32_t)!is_listed << point % SSL_BLOCK;
        out_near[count] = point;
        count += is_listed;
        if (point % SSL_BLOCK == SSL_BLOCK - 1 || point + 1 == end) {
            grid_host_set_live(host, point / SSL_BLOCK, (uint16_t)live);
            live = 0;
        }
    }
    return count;
}

void grid_edges_gather(GridHost *swept, uint32_t first, const GridHost *spread,
                       const uint32_t *near, uint32_t count)
{
    for (uint32_t i = 0; i < count; ++i)
        grid_host_copy_point(swept, first + i, spread, near[i]);
}

uint32_t grid_edges_keep(GridHost *swept, uint32_t count)
{
    for (uint32_t block = 0; block < count / SSL_BLOCK; ++block)
        grid_host_set_live(swept, block, UINT16_MAX);
    if (count % SSL_BLOCK)
        grid_host_set_live(swept, count / SSL_BLOCK, (uint16_t)((1u << count % SSL_BLOCK) - 1));
    return (count + SSL_BLOCK - 1) / SSL_BLOCK;
}
