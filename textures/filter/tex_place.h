/* Computes a lane's taps from its coordinates, without reading texels. Private to the files that implement a lookup.
 *
 *   coordinates -> footprint (level, probes) -> taps (level, two texels an axis)
 *
 * The image's rows run downwards, t runs up; internally v = 1 - t is used. */
#ifndef SORT_TEXTURES_FILTER_TEX_PLACE_H
#define SORT_TEXTURES_FILTER_TEX_PLACE_H

#include "textures/cache/texcache_state.h"
#include "textures/filter/footprint.h"
#include "textures/filter/tex_cubic.h"
#include "textures/filter/tex_wrap.h"
#include <math.h>
#include <string.h>

/* Beyond this, the spacing of floats is 2, and a coordinate no longer determines a place inside the texture. */
#define COORDINATE_MAX 16777216.0f

/* A request in progress. */
typedef struct Lookup {
    TexCaller *caller;
    TexThread *thread;
    TexCache *cache;
    Texture *texture;
    const TexRequest *request;
    LookupOptions options;
    uint32_t lane;        /* the current lane */
    bool has_asked_ahead; /* the tiles of the remaining lanes have been requested */
    const uint16_t *left; /* which taps of the thread's list remain; NULL: not known */
    uint32_t left_count;
    _Atomic uint64_t *mip_probes; /* the thread's counters at the lane's path depth; [level] */
    /* Counts of this request, added to the thread's counters at the end. */
    uint32_t probes, tile_requests, tile_hits, bad_lanes;
} Lookup;

/* Returns the thread's counters of probes at a path depth, by level. */
static inline _Atomic uint64_t *lookup_mip_counters(TexThread *thread, uint32_t depth)
{
    return thread->counters.mip_probes[depth < TEX_DEPTH_BUCKETS ? depth : TEX_DEPTH_BUCKETS - 1];
}

/* The structs of a lookup are filled in place, field by field: a copy of fields that were just stored in
 * smaller pieces would stall on store forwarding. */
static inline void resolve_options(const Texture *texture, const TexRequest *r, LookupOptions *out)
{
    static const TexOptions defaults;
    const TexOptions *from = r->options ? r->options : &defaults;
    bool is_default =
        from->filter == TEX_FILTER_DEFAULT || (from->filter == TEX_FILTER_STOCHASTIC && !r->random);
    out->wrap_s = from->wrap_s == TEX_WRAP_FILE ? texture->wrap_s : from->wrap_s;
    out->wrap_t = from->wrap_t == TEX_WRAP_FILE ? texture->wrap_t : from->wrap_t;
    out->filter = is_default ? TEX_FILTER_ANISO : from->filter;
    out->mip = from->mip;
    out->mip_bias = from->mip_bias;
}

typedef struct Tap {
    const TexLevel *level;
    AxisTap x, y;
} Tap;

/* A lane's coordinates and footprint. */
typedef struct LanePlace {
    double s, v;
    Footprint footprint;
    bool has_place; /* s and t are finite and within range */
    /* The first probe, in its finer and its coarser level; set by lookup_prefetch_lane(). */
    Tap taps[2];
} LanePlace;

/* Returns whether the derivatives and the blur of two lanes have the same bits. */
static inline bool have_equal_footprints(const TexRequest *r, uint32_t lane, uint32_t other)
{
    uint32_t difference = 0;
    for (uint32_t i = 2; i < 7; ++i) {
        uint32_t a, b;
        memcpy(&a, &r->coord[i * r->lane_count + lane], sizeof a);
        memcpy(&b, &r->coord[i * r->lane_count + other], sizeof b);
        difference |= a ^ b;
    }
    return difference == 0;
}

/* Returns whether s and t are finite and within range. */
static inline bool place_coordinates(const TexRequest *r, uint32_t lane, double *out_s,
                                     double *out_v)
{
    float s = r->coord[lane], t = r->coord[r->lane_count + lane];
    *out_s = (double)s;
    *out_v = 1.0 - (double)t;
    /* NaN compares false. */
    return fabsf(s) <= COORDINATE_MAX && fabsf(t) <= COORDINATE_MAX;
}

/* alike: the place of a lane with an equal footprint, which is copied; NULL: the footprint is computed. */
static inline void place_lane(const Lookup *lk, uint32_t lane, const LanePlace *alike,
                              LanePlace *out)
{
    const TexRequest *r = lk->request;
    const float *coord = r->coord + lane;
    size_t stride = r->lane_count;
    out->has_place = place_coordinates(r, lane, &out->s, &out->v);
    if (!out->has_place)
        return;
    if (alike) {
        out->footprint = alike->footprint;
        return;
    }
    FootprintInput in = {.ds_dx = coord[2 * stride],
                         .dt_dx = coord[3 * stride],
                         .ds_dy = coord[4 * stride],
                         .dt_dy = coord[5 * stride],
                         .blur = coord[6 * stride]};
    const TexLevel *finest = &lk->texture->levels[0];
    footprint_of(&in, finest->width, finest->height, lk->texture->level_count, &lk->options,
                 &out->footprint);
}

SORT_ALWAYS_INLINE Tap make_tap(const Lookup *lk, uint32_t level, double s, double v)
{
    ASSERT(level < lk->texture->level_count);
    Tap tap = {.level = &lk->texture->levels[level]};
    if (lk->options.filter == TEX_FILTER_CLOSEST) {
        tap.x = axis_tap_closest(s, tap.level->width, lk->options.wrap_s);
        tap.y = axis_tap_closest(v, tap.level->height, lk->options.wrap_t);
        return tap;
    }
    tap.x = axis_tap_linear(s, tap.level->width, lk->options.wrap_s);
    tap.y = axis_tap_linear(v, tap.level->height, lk->options.wrap_t);
    if (!lk->request->with_derivs) { /* a texel with weight 0 need not be resident */
        if (tap.x.fraction == 0.0f)
            tap.x.second = tap.x.first;
        if (tap.y.fraction == 0.0f)
            tap.y.second = tap.y.first;
    }
    return tap;
}

/* Computes the place of probe i. Probes are evenly spaced along the major axis and centred. */
SORT_ALWAYS_INLINE void probe_place(const LanePlace *place, uint32_t i, double *out_s,
                                    double *out_v)
{
    ASSERT(i < place->footprint.probe_count);
    if (place->footprint.probe_count == 1) {
        *out_s = place->s;
        *out_v = place->v;
        return;
    }
    double offset = (double)i - 0.5 * (double)(place->footprint.probe_count - 1);
    *out_s = place->s + offset * (double)place->footprint.axis_s;
    *out_v = place->v + offset * (double)place->footprint.axis_v;
}

static inline uint32_t tile_number(const TexLevel *level, uint32_t x, uint32_t y)
{
    return level->first_tile + (y >> level->tile_log2_y) * level->tiles_x +
           (x >> level->tile_log2_x);
}

/* Returns a texel's place in its tile's memory, in texels. */
static inline uint32_t texel_index(const TexLevel *level, uint32_t x, uint32_t y)
{
    ASSERT(x < level->width && y < level->height);
    uint32_t column = x - (x >> level->tile_log2_x << level->tile_log2_x);
    uint32_t row = y - (y >> level->tile_log2_y << level->tile_log2_y);
    return level->offset + row * level->row_texels + column;
}

/* Returns a texel's offset in bytes from the beginning of its tile. */
static inline size_t texel_offset(const Texture *t, const TexLevel *level, uint32_t x, uint32_t y)
{
    return (size_t)texel_index(level, x, y) * t->texel_bytes;
}

/* Lists the four texels of a tap: left and right of the upper row, then of the lower one. */
static inline void tap_texels(const Tap *tap, uint32_t out_x[4], uint32_t out_y[4])
{
    out_x[0] = out_x[2] = tap->x.first;
    out_x[1] = out_x[3] = tap->x.second;
    out_y[0] = out_y[1] = tap->y.first;
    out_y[2] = out_y[3] = tap->y.second;
}

/* --- cubic taps --------------------------------------------------------------------------- */

/* Returns whether a lane is filtered by a cubic kernel, which is when nothing is minified. */
static inline bool is_cubic(const Lookup *lk, const Footprint *f)
{
    return lk->options.filter >= TEX_FILTER_CATMULL_ROM && f->level == 0.0f && f->probe_count == 1;
}

/* The 4 x 4 texels of level 0 under a cubic kernel, fetched as four quads. */
typedef struct CubicPlace {
    const TexLevel *level;
    CubicTap x, y;
} CubicPlace;

static inline CubicPlace cubic_place(const Lookup *lk, const LanePlace *place)
{
    const TexLevel *level = &lk->texture->levels[0];
    TexFilter filter = lk->options.filter;
    return (CubicPlace){.level = level,
                        .x = cubic_tap(place->s, level->width, lk->options.wrap_s, filter),
                        .y = cubic_tap(place->v, level->height, lk->options.wrap_t, filter)};
}

/* Returns quad k: 0 and 1 are left and right of the upper two rows, 2 and 3 of the lower two. */
static inline Tap cubic_quad(const CubicPlace *c, uint32_t k)
{
    uint32_t i = 2 * (k & 1), j = 2 * (k >> 1);
    return (Tap){.level = c->level,
                 .x = {.first = c->x.texels[i], .second = c->x.texels[i + 1]},
                 .y = {.first = c->y.texels[j], .second = c->y.texels[j + 1]}};
}

/* --- stochastic taps ---------------------------------------------------------------------- */

static inline float below_one(float u)
{
    return u < 1.0f ? u : 0x1.fffffep-1f;
}

/* Returns true with the given probability. *u, uniform in [0, 1), decides and is rescaled to be uniform again. */
static inline bool choose(float *u, float probability)
{
    ASSERT(*u >= 0.0f && *u < 1.0f);
    if (*u < probability) {
        *u = below_one(*u / probability);
        return true;
    }
    *u = below_one((*u - probability) / (1.0f - probability));
    return false;
}

/* Reduces an axis to one of its two texels, chosen by their weights. */
static inline AxisTap choose_texel(AxisTap tap, float *u)
{
    bool is_second = choose(u, tap.fraction);
    bool is_outside = (tap.outside & (is_second ? TAP_SECOND_OUTSIDE : TAP_FIRST_OUTSIDE)) != 0;
    uint32_t texel = is_second ? tap.second : tap.first;
    return (AxisTap){.first = texel,
                     .second = texel,
                     .outside = is_outside ? TAP_FIRST_OUTSIDE | TAP_SECOND_OUTSIDE : 0};
}

/* One of the texels that ANISO would blend, with its probe and level. */
typedef struct StochasticPlace {
    double s, v;
    uint32_t level;
    Tap tap; /* the chosen texel, four times */
} StochasticPlace;

static inline StochasticPlace stochastic_place(const Lookup *lk, uint32_t lane,
                                               const LanePlace *place)
{
    const Footprint *f = &place->footprint;
    StochasticPlace out;
    float u = lk->request->random[lane];
    u = u > 0.0f ? below_one(u) : 0.0f; /* NaN becomes 0 */
    out.level = (uint32_t)f->level;
    out.level += choose(&u, f->level - (float)out.level);
    float scaled = u * (float)f->probe_count;
    uint32_t probe = (uint32_t)scaled;
    u = scaled - (float)probe;
    probe_place(place, probe, &out.s, &out.v);
    out.tap = make_tap(lk, out.level, out.s, out.v);
    out.tap.x = choose_texel(out.tap.x, &u);
    out.tap.y = choose_texel(out.tap.y, &u);
    return out;
}

#endif
