/* Chi-square of drawn directions against their density. The cells are made by halving the sphere, first at the horizon, until
 * each has about as many directions of a first draw as any other: so narrow lobes fill as many cells as wide ones, wherever
 * they are. A second draw is counted. */
#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/stat/chi2.h"
#include "sort/bsdf/proof.h"
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

enum {
    PILOT = 1 << 14,
    LEAF_SAMPLES = 96,
    CELLS_MAX = 512,
    DEPTH_MAX = 13,
    DEPTH_MIN = 2,
    FOLLOW_DEPTH_MAX = 24
};

/* A place on the sphere: the side, the azimuth as a fraction of a turn, and the distance from the pole r with |z| = 1 - r^2,
 * in which all of the hemisphere has dw = 4 pi r dr dturn. */
typedef struct Place {
    double turn, r;
    bool is_below;
} Place;

typedef struct Cell {
    double turn[2], r[2];
    bool is_below;
    Place *places; /* of the first draw */
    uint32_t place_count;
    double expected;
    uint64_t observed;
} Cell;

typedef struct Partition {
    Cell cells[CELLS_MAX + 1]; /* the last: all that is in no cell */
    uint32_t count;
} Partition;

/* --- directions ------------------------------------------------------------------------------- */

static Place place_of(float x, float y, float z)
{
    double across = (double)x * (double)x + (double)y * (double)y;
    double turn = atan2((double)y, (double)x) / (2.0 * PI);
    return (Place){turn < 0.0 ? turn + 1.0 : turn, sqrt(across / (1.0 + fabs((double)z))),
                   z < 0.0f};
}

static float3 direction_of(double turn, double r, bool is_below)
{
    double z = 1.0 - r * r, sine = r * sqrt(fmax(2.0 - r * r, 0.0));
    return f3((float)(sine * cos(2.0 * PI * turn)), (float)(sine * sin(2.0 * PI * turn)),
              (float)(is_below ? -z : z));
}

/* Draws a block of directions by random numbers `index`; returns the lanes that count. */
static uint16_t draw(const BsdfBlock *block, uint32_t index, uint32_t seed, BsdfDrawn *out)
{
    alignas(64) BsdfRow u[3];
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        for (uint32_t k = 0; k < 3; ++k) {
            uint64_t key = ((uint64_t)seed << 40) + ((uint64_t)index * SSL_BLOCK + i) * 3 + k;
            u[k][i] = (float)(hash_mix64(key) >> 40) * 0x1p-24f;
        }
    uint16_t drawn = bsdf_block_sample(block, u, 0xffff, out);
    for (uint32_t i = 0; i < SSL_BLOCK; ++i)
        if (out->flags[i] & SSL_LOBE_DELTA)
            drawn &= (uint16_t)~(1u << i);
    return drawn;
}

/* --- cells ------------------------------------------------------------------------------------ */

static int compare_turns(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

static int compare_radii(const void *a, const void *b)
{
    const Place *x = a, *y = b;
    return (x->r > y->r) - (x->r < y->r);
}

/* Halves the cell by its directions as long as it has many. */
static void divide(Partition *p, const Cell *cell, Place *places, uint32_t count, uint32_t depth)
{
    ASSERT(p->count < CELLS_MAX);
    if (count >= 2 * LEAF_SAMPLES && depth < DEPTH_MAX)
        for (uint32_t attempt = 0; attempt < 2; ++attempt) {
            bool by_turn = ((depth + attempt) & 1) == 0;
            qsort(places, count, sizeof *places, by_turn ? compare_turns : compare_radii);
            const Place *middle = &places[count / 2];
            Cell low = *cell, high = *cell;
            double *limits = by_turn ? low.turn : low.r;
            double at = by_turn ? middle->turn : middle->r, width = limits[1] - limits[0];
            if (!(at > limits[0] + 1e-6 * width && at < limits[1] - 1e-6 * width))
                continue;
            limits[1] = (by_turn ? high.turn : high.r)[0] = at;
            divide(p, &low, places, count / 2, depth + 1);
            divide(p, &high, places + count / 2, count - count / 2, depth + 1);
            return;
        }
    p->cells[p->count] = *cell;
    p->cells[p->count].places = places;
    p->cells[p->count++].place_count = count;
}

static void make_cells(const BsdfBlock *block, uint32_t seed, Partition *p, Place *places)
{
    BsdfDrawn drawn;
    uint32_t counts[2] = {0, 0};
    for (uint32_t k = 0; k < PILOT / SSL_BLOCK; ++k) {
        uint16_t lanes = draw(block, k, seed, &drawn);
        for (uint32_t i = 0; i < SSL_BLOCK; ++i)
            if (lanes >> i & 1) { /* those above from the front, those below from the end */
                Place at = place_of(drawn.wi[0][i], drawn.wi[1][i], drawn.wi[2][i]);
                places[at.is_below ? PILOT - 1 - counts[1]++ : counts[0]++] = at;
            }
    }
    const Cell above = {{0, 1}, {0, 1}, false, NULL, 0, 0, 0},
               below = {{0, 1}, {0, 1}, true, NULL, 0, 0, 0};
    p->count = 0;
    divide(p, &above, places, counts[0], 1);
    divide(p, &below, places + (PILOT - counts[1]), counts[1], 1);
}

static bool is_inside(const Cell *cell, Place at)
{
    return at.is_below == cell->is_below && at.turn >= cell->turn[0] && at.turn < cell->turn[1] &&
           at.r >= cell->r[0] && (at.r < cell->r[1] || cell->r[1] >= 1.0);
}

static void count_samples(const BsdfBlock *block, uint32_t samples, uint32_t seed, Partition *p)
{
    BsdfDrawn drawn;
    for (uint32_t k = 0; k < samples / SSL_BLOCK; ++k) {
        uint16_t lanes = draw(block, k + PILOT / SSL_BLOCK, seed, &drawn);
        for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
            uint32_t c = p->count;
            if (lanes >> i & 1) {
                Place at = place_of(drawn.wi[0][i], drawn.wi[1][i], drawn.wi[2][i]);
                for (c = 0; c < p->count && !is_inside(&p->cells[c], at);)
                    ++c;
            }
            ++p->cells[c].observed;
        }
    }
}

/* --- integrals -------------------------------------------------------------------------------- */

/* A part of a cell, with those directions of the first draw that are in it. */
typedef struct Part {
    double turn[2], r[2];
    bool is_below;
    Place *places;
    uint32_t count;
} Part;

/* Gauss' rule of four points in both directions: one block. */
static double rule(const BsdfBlock *block, const Part *part)
{
    static const double nodes[4] = {0.06943184420297371, 0.33000947820757187, 0.66999052179242813,
                                    0.93056815579702629};
    static const double weights[4] = {0.17392742256872693, 0.32607257743127307, 0.32607257743127307,
                                      0.17392742256872693};
    alignas(64) BsdfRow wi[3], f_cos[3], pdf;
    double slopes[4], sum = 0.0, turns = part->turn[1] - part->turn[0],
                      radii = part->r[1] - part->r[0];
    for (uint32_t k = 0; k < 4; ++k) {
        double at = part->r[0] + radii * nodes[k];
        slopes[k] = 4.0 * PI * at * radii * turns * weights[k];
        for (uint32_t j = 0; j < 4; ++j) {
            float3 w = direction_of(part->turn[0] + turns * nodes[j], at, part->is_below);
            uint32_t lane = k * 4 + j;
            wi[0][lane] = w.x, wi[1][lane] = w.y, wi[2][lane] = w.z;
        }
    }
    bsdf_block_eval(block, wi, 0xffff, f_cos, pdf);
    for (uint32_t lane = 0; lane < SSL_BLOCK; ++lane)
        sum += slopes[lane / 4] * weights[lane % 4] * (double)pdf[lane];
    return sum;
}

/* Whether the directions are so near to one another that points of a rule may miss where they are. */
static bool is_crowded(const Part *part)
{
    double turn[2] = {1.0, 0.0}, r[2] = {1.0, 0.0};
    for (uint32_t i = 0; i < part->count; ++i) {
        turn[0] = fmin(turn[0], part->places[i].turn);
        turn[1] = fmax(turn[1], part->places[i].turn);
        r[0] = fmin(r[0], part->places[i].r);
        r[1] = fmax(r[1], part->places[i].r);
    }
    return part->count > 1 && (turn[1] - turn[0] < 0.4 * (part->turn[1] - part->turn[0]) ||
                               r[1] - r[0] < 0.4 * (part->r[1] - part->r[0]));
}

/* Moves the directions below a limit to the front, and returns how many there are. */
static uint32_t part_places(Place *places, uint32_t count, bool by_turn, double limit)
{
    uint32_t low = 0;
    for (uint32_t i = 0; i < count; ++i)
        if ((by_turn ? places[i].turn : places[i].r) < limit) {
            Place swapped = places[low];
            places[low++] = places[i];
            places[i] = swapped;
        }
    return low;
}

static void quarter(const Part *whole, Part out[4])
{
    double turn = 0.5 * (whole->turn[0] + whole->turn[1]), r = 0.5 * (whole->r[0] + whole->r[1]);
    uint32_t counts[3]; /* of the first half, and of the first quarter of each half */
    counts[0] = part_places(whole->places, whole->count, true, turn);
    counts[1] = part_places(whole->places, counts[0], false, r);
    counts[2] = part_places(whole->places + counts[0], whole->count - counts[0], false, r);
    for (uint32_t k = 0; k < 4; ++k) {
        out[k] = *whole;
        out[k].turn[k < 2 ? 1 : 0] = turn;
        out[k].r[k & 1 ? 0 : 1] = r;
    }
    out[0].count = counts[1];
    out[1].places += counts[1], out[1].count = counts[0] - counts[1];
    out[2].places += counts[0], out[2].count = counts[2];
    out[3].places += counts[0] + counts[2], out[3].count = whole->count - counts[0] - counts[2];
}

static double integrate(const BsdfBlock *block, const Part *part, double whole, uint32_t depth)
{
    const double tolerance = 1e-6;
    Part quarters[4];
    double values[4], sum = 0.0;
    ASSERT(depth <= FOLLOW_DEPTH_MAX && part->count <= PILOT);
    quarter(part, quarters);
    for (uint32_t k = 0; k < 4; ++k)
        sum += values[k] = rule(block, &quarters[k]);
    bool is_exact = depth >= DEPTH_MIN && fabs(sum - whole) <= tolerance;
    /* All points may have missed a narrow lobe. */
    bool is_missed = part->count >= 1 && (is_crowded(part) || sum < 0.3 * part->count / PILOT);
    if ((is_exact || depth >= DEPTH_MAX) && (depth >= FOLLOW_DEPTH_MAX || !is_missed))
        return sum;
    sum = 0.0;
    for (uint32_t k = 0; k < 4; ++k)
        sum += integrate(block, &quarters[k], values[k], depth + 1);
    return sum;
}

static double integrate_cell(const BsdfBlock *block, const Cell *cell)
{
    Part part = {{cell->turn[0], cell->turn[1]},
                 {cell->r[0], cell->r[1]},
                 cell->is_below,
                 cell->places,
                 cell->place_count};
    return integrate(block, &part, rule(block, &part), 0);
}

/* --- the test --------------------------------------------------------------------------------- */

static void note_worst(const Partition *p, const Cell *cell, double *worst, ProofDensity *out)
{
    double d = (double)cell->observed - cell->expected, excess = d * d / fmax(cell->expected, 1.0);
    if (excess <= *worst)
        return;
    *worst = excess;
    out->expected = cell->expected;
    out->observed = (double)cell->observed;
    out->worst = cell == &p->cells[p->count]
                     ? f3(0, 0, 0)
                     : direction_of(0.5 * (cell->turn[0] + cell->turn[1]),
                                    0.5 * (cell->r[0] + cell->r[1]), cell->is_below);
}

static void compare(Partition *p, uint32_t samples, ProofDensity *out)
{
    double expected[CELLS_MAX + 1], worst = -1.0, rest = samples;
    uint64_t observed[CELLS_MAX + 1];
    Cell *others = &p->cells[p->count];
    for (uint32_t c = 0; c < p->count; ++c) {
        Cell *cell = &p->cells[c];
        rest -= cell->expected;
        /* The quadrature may miss a corner of a cell that the edge of a density cuts off; samples do not. */
        if (cell->expected < 0.1) {
            others->observed += cell->observed;
            cell->observed = 0;
            cell->expected = 0.0;
        }
    }
    /* The rest is only as good as the quadrature of all cells, of which the edge of a density may cut many. */
    double slack = 1e-3 * samples, seen = (double)others->observed;
    others->expected = fmax(fmin(fmax(seen, rest - slack), rest + slack), 1.0);
    for (uint32_t c = 0; c <= p->count; ++c) {
        expected[c] = p->cells[c].expected;
        observed[c] = p->cells[c].observed;
        note_worst(p, &p->cells[c], &worst, out);
    }
    out->p_value = chi2_test(observed, expected, p->count + 1).p_value;
}

void proof_density(const BsdfBlock *block, uint32_t samples, uint32_t seed, ProofDensity *out)
{
    static const ProofDensity none;
    Partition *p = MEM_NEW(Partition);
    Place *places = MEM_ARRAY(Place, PILOT);
    CHECK(p && places);
    *out = none;
    memset(p, 0, sizeof *p);
    samples -= samples % SSL_BLOCK;
    make_cells(block, seed, p, places);
    count_samples(block, samples, seed, p);
    for (uint32_t c = 0; c < p->count; ++c) {
        Cell *cell = &p->cells[c];
        double part = integrate_cell(block, cell);
        out->integral += part;
        cell->expected = part * samples;
    }
    compare(p, samples, out);
    mem_free(places);
    mem_free(p);
}
