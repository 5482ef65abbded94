/* Two tables of running sums, in units of 2^-24. An entry says where its row or cell begins; it ends where the
 * next one begins, the last one at LATTICE.
 *
 *   marginal     [height]          the rows
 *   conditional  [height][width]   the cells of each row
 *   guides       [height + 1][256] for the rows' and the marginal's sums: which entry holds lattice point
 *                                  k 2^16, so that a search begins next to its end [Chen1974]. In a table
 *                                  larger than the caches a plain binary search waits at each step. */
#include "sort/sampling/dist2d.h"

#include "base/alloc.h"
#include "base/cast.h"

#define LATTICE (1u << 24)

enum { GUIDE_COUNT = 256, GUIDE_SHIFT = 24 - 8 };

struct Dist2d {
    uint32_t width, height;
    uint32_t *marginal, *conditional; /* in `tables` */
    uint16_t *guides;                 /* in `tables`; of the rows */
    uint16_t marginal_guide[GUIDE_COUNT];
    uint32_t tables[];
};

static double sum_of(const double *weights, uint32_t count)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < count; ++i)
        sum += weights[i];
    return sum;
}

/* Each positive weight gets one lattice point; the rest is shared out in proportion. No weight is positive:
 * equal shares, which matters only when all rows are like that. */
static void share_lattice(double *weights, uint32_t count, uint32_t *out_begin)
{
    double total = sum_of(weights, count);
    if (!(total > 0.0)) {
        for (uint32_t i = 0; i < count; ++i)
            weights[i] = 1.0;
        total = count;
    }
    uint32_t positive = 0, before = 0;
    for (uint32_t i = 0; i < count; ++i)
        positive += weights[i] > 0.0;
    double share = (double)(LATTICE - positive) / total, sum = 0.0;
    for (uint32_t i = 0; i < count; ++i) {
        out_begin[i] = before + (uint32_t)(sum * share + 0.5);
        sum += weights[i];
        before += weights[i] > 0.0;
    }
}

static void make_guide(const uint32_t *begin, uint32_t count, uint16_t *out_guide)
{
    uint32_t i = 0;
    for (uint32_t k = 0; k < GUIDE_COUNT; ++k) {
        while (i + 1 < count && begin[i + 1] <= k << GUIDE_SHIFT)
            ++i;
        out_guide[k] = (uint16_t)i;
    }
}

static size_t table_bytes(uint32_t width, uint32_t height)
{
    return (height + (size_t)width * height) * sizeof(uint32_t) +
           (size_t)height * GUIDE_COUNT * sizeof(uint16_t);
}

static Status check_weights(const float *weights, uint32_t width, uint32_t height, Error *err)
{
    if (width == 0 || height == 0)
        return error_set(err, STATUS_INVALID, "a 2D distribution of %u x %u cells", width, height);
    if (width > DIST2D_MAX_SIDE || height > DIST2D_MAX_SIDE)
        return error_set(err, STATUS_LIMIT, "a 2D distribution of %u x %u cells; at most %d a side",
                         width, height, DIST2D_MAX_SIDE);
    for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x) {
            float w = weights[(size_t)y * width + x];
            if (!isfinite(w) || w < 0.0f)
                return error_set(err, STATUS_INVALID, "weight (%u, %u) of a 2D distribution is %g",
                                 x, y, (double)w);
        }
    return STATUS_OK;
}

Status dist2d_create(const float *weights, uint32_t width, uint32_t height, Dist2d **out_dist,
                     Error *err)
{
    *out_dist = NULL;
    TRY(check_weights(weights, width, height, err));
    Dist2d *d = mem_alloc(1, sizeof(Dist2d) + table_bytes(width, height));
    double *rows = MEM_ARRAY(double, height), *row = MEM_ARRAY(double, width);
    if (!d || !rows || !row) {
        mem_free(d);
        mem_free(rows);
        mem_free(row);
        return error_set(err, STATUS_NO_MEMORY, "no memory for a 2D distribution of %u x %u cells",
                         width, height);
    }
    d->width = width;
    d->height = height;
    d->marginal = d->tables;
    d->conditional = d->tables + height;
    void *behind = d->conditional + (size_t)width * height;
    d->guides = behind;
    for (uint32_t y = 0; y < height; ++y) {
        for (uint32_t x = 0; x < width; ++x)
            row[x] = (double)weights[(size_t)y * width + x];
        rows[y] = sum_of(row, width);
        share_lattice(row, width, d->conditional + (size_t)y * width);
        make_guide(d->conditional + (size_t)y * width, width, d->guides + (size_t)y * GUIDE_COUNT);
    }
    share_lattice(rows, height, d->marginal);
    make_guide(d->marginal, height, d->marginal_guide);
    mem_free(rows);
    mem_free(row);
    *out_dist = d;
    return STATUS_OK;
}

void dist2d_destroy(Dist2d *d)
{
    mem_free(d);
}

typedef struct Interval {
    uint32_t index, begin, end;
} Interval;

/* The interval that holds lattice point `u`: the last whose begin is not above it. Empty intervals share their
 * begin with the next one, so they are never it. */
static inline Interval find_interval(const uint32_t *begin, uint32_t count, const uint16_t *guide,
                                     uint32_t u)
{
    uint32_t k = u >> GUIDE_SHIFT;
    uint32_t low = guide[k], last = k + 1 < GUIDE_COUNT ? guide[k + 1] : count - 1;
    while (low < last) {
        uint32_t middle = low + (last - low + 1) / 2;
        if (begin[middle] <= u)
            low = middle;
        else
            last = middle - 1;
    }
    return (Interval){low, begin[low], low + 1 < count ? begin[low + 1] : LATTICE};
}

static inline uint32_t to_lattice(float u)
{
    ASSERT(u >= 0.0f && u < 1.0f);
    return (uint32_t)(u * 0x1p24f);
}

static inline uint32_t cell_index(float x, uint32_t count)
{
    return (uint32_t)clampf(x * (float)count, 0.0f, (float)(count - 1));
}

/* The place of lattice point u within its interval, spread over `count` intervals; by a unit in the last place
 * more or less where rounding would put it into the neighbour, so that the density found there is its own. */
static inline float place(Interval in, uint32_t u, uint32_t count)
{
    float inside = ((float)(u - in.begin) + 0.5f) / (float)(in.end - in.begin);
    float x = ((float)in.index + inside) / (float)count;
    uint32_t got = cell_index(x, count);
    x *= got > in.index ? 1.0f - 0x1p-23f : got < in.index ? 1.0f + 0x1p-23f : 1.0f;
    return minf(x, 0x1.fffffep-1f);
}

static inline float density(uint32_t row_points, uint32_t cell_points, const Dist2d *d)
{
    return (float)row_points * 0x1p-24f * (float)d->height * ((float)cell_points * 0x1p-24f) *
           (float)d->width;
}

float2 dist2d_sample(const Dist2d *d, float2 u, float *out_pdf)
{
    uint32_t ux = to_lattice(u.x), uy = to_lattice(u.y);
    Interval row = find_interval(d->marginal, d->height, d->marginal_guide, uy);
    Interval cell = find_interval(d->conditional + (size_t)row.index * d->width, d->width,
                                  d->guides + (size_t)row.index * GUIDE_COUNT, ux);
    *out_pdf = density(row.end - row.begin, cell.end - cell.begin, d);
    return f2(place(cell, ux, d->width), place(row, uy, d->height));
}

float dist2d_pdf(const Dist2d *d, float2 p)
{
    uint32_t x = cell_index(p.x, d->width), y = cell_index(p.y, d->height);
    const uint32_t *row = d->conditional + (size_t)y * d->width;
    uint32_t row_end = y + 1 < d->height ? d->marginal[y + 1] : LATTICE;
    uint32_t cell_end = x + 1 < d->width ? row[x + 1] : LATTICE;
    return density(row_end - d->marginal[y], cell_end - row[x], d);
}

size_t dist2d_size_bytes(const Dist2d *d)
{
    return sizeof(Dist2d) + table_bytes(d->width, d->height);
}
