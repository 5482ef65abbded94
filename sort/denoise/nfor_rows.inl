/* Distances, weighted means and regressions on a tile. nfor_rows.c, nfor_rows_v3.c and nfor_rows_v4.c compile this for each class
 * of CPUs, under the name NFOR_ROWS. Pixels side by side are lanes, which do not meet, and each lane adds in the order of the
 * offsets, so bits are the same in every class. */
#include "base/check.h"
#include "sort/denoise/nfor_tile.h"
#include <string.h>

#if defined(__AVX512DQ__)
enum { PIECE = 16 };
#elif defined(__AVX2__)
enum { PIECE = 8 };
#else
enum { PIECE = 4 };
#endif

typedef float Lanes __attribute__((vector_size(4 * PIECE)));
typedef int32_t LaneMask __attribute__((vector_size(4 * PIECE)));
typedef double Doubles __attribute__((vector_size(8 * PIECE)));

SORT_ALWAYS_INLINE Lanes load(const float *at)
{
    Lanes v;
    memcpy(&v, at, sizeof v);
    return v;
}

SORT_ALWAYS_INLINE void store(float *at, Lanes v)
{
    memcpy(at, &v, sizeof v);
}

SORT_ALWAYS_INLINE Lanes splat(float x)
{
    return x - (Lanes){0};
}

SORT_ALWAYS_INLINE Lanes choose(LaneMask mask, Lanes a, Lanes b)
{
    return (Lanes)(((LaneMask)a & mask) | ((LaneMask)b & ~mask));
}

SORT_ALWAYS_INLINE Lanes least(Lanes a, Lanes b)
{
    return choose(a < b, a, b);
}

SORT_ALWAYS_INLINE Lanes most(Lanes a, Lanes b)
{
    return choose(a > b, a, b);
}

/* --- distances -------------------------------------------------------------------------------- */

/* Returns the squared difference of pixels in terms of their noise, whose own share is taken away [Rousselle2012 eq. 13]. It
 * is bounded, so that sums over patches keep their precision. */
SORT_ALWAYS_INLINE Lanes difference(const NforLook *look, size_t p, size_t q)
{
    Lanes sum = {0};
    for (uint32_t c = 0; c < look->channel_count; ++c) {
        Lanes d = load(look->value[c] + p) - load(look->value[c] + q);
        Lanes at_p = load(look->variance[c] + p), at_q = load(look->variance[c] + q);
        sum += (d * d - (at_p + least(at_p, at_q))) / (at_p + at_q);
    }
    return least(sum, splat(1e5f));
}

static void set_differences(const NforGrid *g, const NforLook *look, size_t at, ptrdiff_t offset,
                            NforScratch *s)
{
    int32_t f = look->patch_radius, rows = NFOR_TILE_HEIGHT + 2 * f;
    int32_t columns = NFOR_TILE_WIDTH + 2 * f;
    for (int32_t r = 0; r < rows; ++r) {
        size_t p = at + (size_t)r * g->stride - (size_t)f * g->stride - (size_t)f;
        for (int32_t c = 0; c < columns; c += PIECE)
            store(&s->squares[r][c],
                  difference(look, p + (size_t)c, (size_t)((ptrdiff_t)(p + (size_t)c) + offset)));
    }
}

/* Sets the distances between the tile's pixels and those at an offset: means over patches. */
static void set_distances(const NforGrid *g, const NforLook *look, size_t at, ptrdiff_t offset,
                          NforScratch *s, float out[NFOR_TILE_HEIGHT][NFOR_TILE_WIDTH])
{
    int32_t side = 2 * look->patch_radius + 1;
    Lanes scale = splat(1.0f / (float)((uint32_t)(side * side) * look->channel_count));
    float column[NFOR_OUT_WIDTH + PIECE];
    set_differences(g, look, at, offset, s);
    for (int32_t r = 0; r < NFOR_TILE_HEIGHT; ++r) {
        for (int32_t c = 0; c < NFOR_TILE_WIDTH + 2 * look->patch_radius; c += PIECE) {
            Lanes sum = load(&s->squares[r][c]);
            for (int32_t k = 1; k < side; ++k)
                sum += load(&s->squares[r + k][c]);
            store(&column[c], sum);
        }
        const float *hole = look->hole + at + (size_t)r * g->stride;
        for (int32_t c = 0; c < NFOR_TILE_WIDTH; c += PIECE) {
            Lanes sum = load(&column[c]);
            for (int32_t k = 1; k < side; ++k)
                sum += load(&column[c + k]);
            sum = most(sum * scale, (Lanes){0});
            store(&out[r][c], sum + load(hole + c) + load(hole + c + offset));
        }
    }
}

/* Returns (1 - x / 8)^8, which is near e^-x and ends at 8. */
SORT_ALWAYS_INLINE Lanes bump(Lanes x, Lanes eighth)
{
    Lanes t = most(1.0f - x * eighth, (Lanes){0});
    t = t * t;
    t = t * t;
    return t * t;
}

/* Returns x / 8 for a bandwidth: distances are in units of the noise. */
static Lanes eighth_of(float bandwidth)
{
    return splat(0.125f / (bandwidth * bandwidth));
}

static bool is_zero(Lanes v)
{
    uint64_t words[sizeof v / 8], any = 0;
    memcpy(words, &v, sizeof v);
    for (size_t i = 0; i < sizeof v / 8; ++i)
        any |= words[i];
    return any == 0;
}

/* --- means ------------------------------------------------------------------------------------ */

static void add_means(const NforGrid *g, const NforMean *f, size_t at, ptrdiff_t offset,
                      NforScratch *s)
{
    Lanes eighth = eighth_of(f->bandwidth);
    for (int32_t r = 0; r < NFOR_TILE_HEIGHT; ++r)
        for (int32_t c = 0; c < NFOR_TILE_WIDTH; c += PIECE) {
            Lanes w = bump(load(&s->distance[0][r][c]), eighth);
            if (is_zero(w))
                continue;
            size_t q = (size_t)((ptrdiff_t)(at + (size_t)r * g->stride + (size_t)c) + offset);
            for (uint32_t k = 0; k < f->look.channel_count; ++k)
                store(&s->sums[k][r][c], load(&s->sums[k][r][c]) + w * load(f->from[k] + q));
            store(&s->sums[3][r][c], load(&s->sums[3][r][c]) + w);
        }
}

/* Pixels that take no part keep their value. */
static void divide_means(const NforGrid *g, const NforMean *f, size_t at, const NforScratch *s)
{
    for (int32_t r = 0; r < NFOR_TILE_HEIGHT; ++r)
        for (int32_t c = 0; c < NFOR_TILE_WIDTH; c += PIECE) {
            size_t p = at + (size_t)r * g->stride + (size_t)c;
            Lanes w = load(&s->sums[3][r][c]);
            LaneMask has_any = w > 0.0f;
            for (uint32_t k = 0; k < f->look.channel_count; ++k)
                store(f->to[k] + p,
                      choose(has_any, load(&s->sums[k][r][c]) / choose(has_any, w, splat(1.0f)),
                             load(f->from[k] + p)));
        }
}

static void mean_of_tile(const NforGrid *g, const NforMean *f, int32_t x, int32_t y,
                         NforScratch *s)
{
    size_t at = nfor_at(g, x, y);
    int32_t radius = f->look.radius;
    ASSERT(f->look.channel_count > 0 && f->look.patch_radius <= NFOR_PATCH_RADIUS);
    ASSERT(f->look.channel_count <= 3 && radius <= NFOR_RADIUS);
    memset(s->sums, 0, sizeof s->sums);
    for (int32_t dy = -radius; dy <= radius; ++dy)
        for (int32_t dx = -radius; dx <= radius; ++dx) {
            ptrdiff_t offset = dy * (ptrdiff_t)g->stride + dx;
            set_distances(g, &f->look, at, offset, s, s->distance[0]);
            add_means(g, f, at, offset, s);
        }
    divide_means(g, f, at, s);
}

/* --- regressions ------------------------------------------------------------------------------ */

enum { MOMENTS = NFOR_TERMS * (NFOR_TERMS + 1) / 2, OFFSETS_AT_ONCE = 4 };

/* The weighted sums of products of terms, by rows of the upper triangle, and of terms and colours, around PIECE pixels. */
typedef struct Moments {
    Lanes term[MOMENTS], color[3][NFOR_TERMS];
} Moments;

/* Terms of the neighbours at one offset. */
typedef struct Neighbours {
    Lanes term[NFOR_TERMS], weighted[NFOR_TERMS], color[3];
} Neighbours;

/* An offset at which some of the pixels have a neighbour that takes part. */
typedef struct Active {
    int32_t dx, dy;
    Lanes weight;
} Active;

/* The guides of the pixels themselves; nearness is relative to the pixel's own. */
typedef struct Centre {
    size_t p;
    Lanes guide[NFOR_GUIDES], inverse_nearness;
} Centre;

SORT_ALWAYS_INLINE void load_terms(const NforGrid *g, const NforRegression *f, const Centre *at,
                                   const Active *active, Neighbours *out)
{
    size_t q = (size_t)((ptrdiff_t)at->p + active->dy * (ptrdiff_t)g->stride + active->dx);
    out->term[0] = splat(1.0f);
    for (uint32_t k = 0; k < NFOR_GUIDES; ++k)
        out->term[1 + k] = load(f->guide[k] + q) - at->guide[k];
    out->term[NFOR_GUIDES] *= at->inverse_nearness;
    out->term[NFOR_GUIDES + 1] = splat((float)active->dx * (1.0f / NFOR_RADIUS));
    out->term[NFOR_GUIDES + 2] = splat((float)active->dy * (1.0f / NFOR_RADIUS));
    for (uint32_t k = 0; k < NFOR_TERMS; ++k)
        out->weighted[k] = out->term[k] * active->weight;
    for (uint32_t c = 0; c < 3; ++c)
        out->color[c] = load(f->color[c] + q);
}

SORT_ALWAYS_INLINE void add_products(const Neighbours n[OFFSETS_AT_ONCE], Moments *m)
{
    Lanes *to = m->term;
    for (uint32_t i = 0; i < NFOR_TERMS; ++i) {
        Lanes a = n[0].weighted[i], b = n[1].weighted[i], c = n[2].weighted[i],
              d = n[3].weighted[i];
        for (uint32_t j = i; j < NFOR_TERMS; ++j, ++to)
            *to = *to + a * n[0].term[j] + b * n[1].term[j] + c * n[2].term[j] + d * n[3].term[j];
        for (uint32_t k = 0; k < 3; ++k)
            m->color[k][i] = m->color[k][i] + a * n[0].color[k] + b * n[1].color[k] +
                             c * n[2].color[k] + d * n[3].color[k];
    }
}

static void add_moments(const NforGrid *g, const NforRegression *f, const Centre *at,
                        const Active *active, uint32_t count, Moments *m)
{
    Neighbours n[OFFSETS_AT_ONCE];
    memset(m, 0, sizeof *m);
    for (uint32_t i = 0; i < count; i += OFFSETS_AT_ONCE) {
        for (uint32_t k = 0; k < OFFSETS_AT_ONCE; ++k) {
            if (i + k < count)
                load_terms(g, f, at, &active[i + k], &n[k]);
            else
                memset(&n[k], 0, sizeof n[k]);
        }
        add_products(n, m);
    }
}

/* Slopes along guides that hardly vary, or vary as others do, are drawn to 0. */
#define RIDGE 1e-5

/* Doubles take more registers than one: functions must not be given them by value. */
#define WIDEN(v) __builtin_convertvector((v), Doubles)

/* Replaces the diagonal by the inverse of its root. Rounding may have made it negative; where a lane has no weights it is 0. */
SORT_ALWAYS_INLINE void invert_root(Doubles *diagonal, const Doubles *ridge)
{
    for (uint32_t k = 0; k < PIECE; ++k) {
        double least_of_all = (*ridge)[k] * 0.01 + 1e-60, d = (*diagonal)[k];
        (*diagonal)[k] = __builtin_sqrt(d > least_of_all ? d : least_of_all);
    }
    *diagonal = 1.0 / *diagonal;
}

/* Cholesky's factor, by rows of the lower triangle; its diagonal is inverted. */
static void factorise(const Moments *m, Doubles lower[NFOR_TERMS][NFOR_TERMS])
{
    Doubles ridge = WIDEN(m->term[0]) * RIDGE;
    const Lanes *from = m->term;
    for (uint32_t i = 0; i < NFOR_TERMS; ++i)
        for (uint32_t j = i; j < NFOR_TERMS; ++j)
            lower[j][i] = WIDEN(*from++);
    for (uint32_t i = 0; i < NFOR_TERMS; ++i) {
        for (uint32_t j = 0; j < i; ++j) {
            Doubles sum = lower[i][j];
            for (uint32_t k = 0; k < j; ++k)
                sum -= lower[i][k] * lower[j][k];
            lower[i][j] = sum * lower[j][j];
        }
        Doubles sum = lower[i][i] + (i > 0 ? ridge : (Doubles){0});
        for (uint32_t k = 0; k < i; ++k)
            sum -= lower[i][k] * lower[i][k];
        invert_root(&sum, &ridge);
        lower[i][i] = sum;
    }
}

/* Sets the coefficients of the terms, for each colour. */
static void solve(const Moments *m, Lanes out[3][NFOR_TERMS])
{
    Doubles lower[NFOR_TERMS][NFOR_TERMS], x[NFOR_TERMS];
    factorise(m, lower);
    for (uint32_t c = 0; c < 3; ++c) {
        for (uint32_t i = 0; i < NFOR_TERMS; ++i) {
            x[i] = WIDEN(m->color[c][i]);
            for (uint32_t k = 0; k < i; ++k)
                x[i] -= lower[i][k] * x[k];
            x[i] *= lower[i][i];
        }
        for (uint32_t i = NFOR_TERMS; i-- > 0;) {
            for (uint32_t k = i + 1; k < NFOR_TERMS; ++k)
                x[i] -= lower[k][i] * x[k];
            x[i] *= lower[i][i];
            out[c][i] = __builtin_convertvector(x[i], Lanes);
        }
    }
}

/* The pixels that are fitted together, whatever the width of registers is: their predictions are added offset by offset. */
enum { BLOCK = 16, PIECES = BLOCK / PIECE };

typedef struct Fit {
    Centre at;
    Lanes term[3][NFOR_TERMS];
    Lanes eighth; /* eighth_of the bandwidth */
} Fit;

/* Adds what the pixels at column c of row r of the tile predict of their neighbours at one offset. */
static void predict(const NforGrid *g, const NforRegression *f, const Fit *fit, int32_t offset,
                    int32_t r, int32_t c, const NforScratch *s,
                    float out[4][NFOR_OUT_HEIGHT][NFOR_OUT_WIDTH])
{
    int32_t dx = offset % NFOR_SIDE - NFOR_RADIUS, dy = offset / NFOR_SIDE - NFOR_RADIUS;
    Lanes w = bump(load(&s->distance[offset][r][c]), fit->eighth);
    if (is_zero(w))
        return;
    size_t q = (size_t)((ptrdiff_t)fit->at.p + dy * (ptrdiff_t)g->stride + dx);
    int32_t row = r + NFOR_RADIUS + dy, column = c + NFOR_RADIUS + dx;
    Lanes x = splat((float)dx * (1.0f / NFOR_RADIUS)), y = splat((float)dy * (1.0f / NFOR_RADIUS));
    Lanes sum[3];
    for (uint32_t k = 0; k < 3; ++k)
        sum[k] = fit->term[k][0] + fit->term[k][NFOR_GUIDES + 1] * x +
                 fit->term[k][NFOR_GUIDES + 2] * y;
    for (uint32_t j = 0; j < NFOR_GUIDES; ++j) {
        Lanes term = load(f->guide[j] + q) - fit->at.guide[j];
        for (uint32_t k = 0; k < 3; ++k)
            sum[k] += fit->term[k][1 + j] * term;
    }
    for (uint32_t k = 0; k < 3; ++k)
        store(&out[k][row][column], load(&out[k][row][column]) + w * sum[k]);
    store(&out[3][row][column], load(&out[3][row][column]) + w);
}

/* Fits the pixels at column c of row r of the tile. */
static void fit_pixels(const NforGrid *g, const NforRegression *f, int32_t r, int32_t c,
                       const NforScratch *s, Fit *fit)
{
    Active active[NFOR_OFFSETS];
    Moments moments;
    uint32_t count = 0;
    for (int32_t i = 0; i < NFOR_OFFSETS; ++i) {
        Lanes w = bump(load(&s->distance[i][r][c]), fit->eighth);
        if (!is_zero(w))
            active[count++] = (Active){i % NFOR_SIDE - NFOR_RADIUS, i / NFOR_SIDE - NFOR_RADIUS, w};
    }
    add_moments(g, f, &fit->at, active, count, &moments);
    solve(&moments, fit->term);
    for (uint32_t k = 0; k < 3; ++k) /* predictions take nearness as it is */
        fit->term[k][NFOR_GUIDES] *= fit->at.inverse_nearness;
}

/* Fits a block of pixels by one bandwidth, and adds what the fits predict. */
static void regress_block(const NforGrid *g, const NforRegression *f, size_t p, int32_t r, int32_t c,
                          uint32_t bandwidth, NforScratch *s)
{
    Fit fits[PIECES];
    for (uint32_t k = 0; k < PIECES; ++k) {
        Fit *fit = &fits[k];
        fit->at.p = p + k * PIECE;
        for (uint32_t j = 0; j < NFOR_GUIDES; ++j)
            fit->at.guide[j] = load(f->guide[j] + fit->at.p);
        fit->at.inverse_nearness = 1.0f / (fit->at.guide[NFOR_GUIDES - 1] + 1e-10f);
        fit->eighth = eighth_of(f->bandwidth[bandwidth]);
        fit_pixels(g, f, r, c + (int32_t)(k * PIECE), s, fit);
    }
    for (int32_t i = 0; i < NFOR_OFFSETS; ++i)
        for (uint32_t k = 0; k < PIECES; ++k)
            predict(g, f, &fits[k], i, r, c + (int32_t)(k * PIECE), s, s->out[bandwidth]);
}

static void regress_tile(const NforGrid *g, const NforRegression *f, int32_t x, int32_t y,
                         NforScratch *s)
{
    size_t at = nfor_at(g, x, y);
    ASSERT(f->look.radius == NFOR_RADIUS && f->look.patch_radius <= NFOR_PATCH_RADIUS);
    memset(s->out, 0, sizeof s->out);
    for (int32_t i = 0; i < NFOR_OFFSETS; ++i)
        set_distances(g, &f->look, at,
                      (i / NFOR_SIDE - NFOR_RADIUS) * (ptrdiff_t)g->stride + i % NFOR_SIDE -
                          NFOR_RADIUS,
                      s, s->distance[i]);
    for (int32_t r = 0; r < NFOR_TILE_HEIGHT; ++r)
        for (int32_t c = 0; c < NFOR_TILE_WIDTH; c += BLOCK)
            for (uint32_t b = 0; b < NFOR_BANDWIDTHS; ++b)
                regress_block(g, f, at + (size_t)r * g->stride + (size_t)c, r, c, b, s);
}

const NforCode NFOR_ROWS = {mean_of_tile, regress_tile};
