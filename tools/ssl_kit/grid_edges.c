#include "tools/ssl_kit/grid_edges.h"
#include "base/check.h"
#include "base/simd.h"

/* At the border there may be an edge outside of the picture. */
static bool is_near(const GridMarks *m, uint32_t point)
{
    uint32_t x = point % m->width, y = point / m->width;
    const uint32_t *mark = &m->marks[point];
    return x == 0 || y == 0 || x + 1 == m->width || y + 1 == m->height || mark[-1] != *mark ||
           mark[1] != *mark || *(mark - m->width) != *mark || mark[m->width] != *mark;
}

static uint32_t list_lanes(const GridMarks *m, uint32_t first, uint32_t count)
{
    uint32_t lanes = 0;
    for (uint32_t lane = 0; lane < count; ++lane)
        lanes |= (uint32_t)is_near(m, first + lane) << lane;
    return lanes;
}

/* The lanes of a block whose points differ from one before, behind, above or below them, which are in the picture. */
static uint32_t list_differing(const uint32_t *mark, size_t width)
{
    uint32_t lanes = 0;
    for (uint32_t i = 0; i < SSL_BLOCK; i += 4) {
        const i32x4 own = i32x4_load(mark + i);
        const i32x4 difference =
            (own ^ i32x4_load(mark + i - 1)) | (own ^ i32x4_load(mark + i + 1)) |
            (own ^ i32x4_load(mark + i - width)) | (own ^ i32x4_load(mark + i + width));
        lanes |= i32x4_sign_bits(difference != 0) << i;
    }
    return lanes;
}

/* The lanes of a block whose points are near an edge. */
static uint32_t near_lanes(const GridMarks *m, uint32_t first, uint32_t count)
{
    uint32_t column = first % m->width, row = first / m->width;
    bool is_inside = count == SSL_BLOCK && row > 0 && row + 1 < m->height && column > 0 &&
                     column + SSL_BLOCK < m->width;
    return is_inside ? list_differing(&m->marks[first], m->width) : list_lanes(m, first, count);
}

uint32_t grid_edges_find(const GridMarks *m, GridHost *host, uint32_t first_block, uint32_t end,
                         uint32_t *out_near)
{
    uint32_t count = 0;
    ASSERT(end <= m->width * m->height);
    for (uint32_t first = first_block * SSL_BLOCK; first < end; first += SSL_BLOCK) {
        uint32_t points = end - first < SSL_BLOCK ? end - first : SSL_BLOCK;
        uint32_t all = (uint32_t)((1u << points) - 1), near = near_lanes(m, first, points);
        grid_host_set_live(host, first / SSL_BLOCK, (uint16_t)(all & ~near));
        for (; near; near &= near - 1)
            out_near[count++] = first + (uint32_t)__builtin_ctz(near);
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
