/* From a request to its result, lane by lane:
 *
 *   footprint (level, probes) -> taps (level, two texels an axis) -> quads of texels -> blends
 *
 * A tap's four texels usually lie in one tile that is there: one load of the tile's entry, four of
 * texels. Otherwise each tile concerned is looked at in turn, and the first that is missing is waited
 * for; before that, all tiles that the rest of the request needs and that are not on their way are
 * asked for. What has been copied out of a tile stays copied, and no tile is held during a wait.
 *
 * The image's rows run downwards, t runs up: v = 1 - t is the coordinate used inside. */
#include "base/check.h"
#include "textures/footprint.h"
#include "textures/tex_cubic.h"
#include "textures/tex_taps.h"
#include "textures/tex_wrap.h"
#include <math.h>
#include <string.h>

/* Beyond, a float's spacing is 2: there is no place inside the texture left. */
#define COORDINATE_MAX 16777216.0f

typedef struct Lookup {
    TexCaller *caller;
    TexThread *thread;
    TexCache *cache;
    Texture *texture;
    const TexRequest *request;
    TexOptions options;           /* nothing is left at its default */
    uint32_t lane;                /* under way */
    bool has_asked_ahead;         /* the rest of the request's tiles */
    _Atomic uint64_t *mip_probes; /* the thread's, at this depth; [level] */
    /* Counted here, added to the thread's counters at the end. */
    uint32_t probes, tile_requests, tile_hits;
} Lookup;

typedef struct Tap {
    const TexLevel *level;
    AxisTap x, y;
} Tap;

/* A lane's coordinates. */
typedef struct LanePlace {
    double s, v;
    Footprint footprint;
    bool has_place; /* s and t are numbers within range */
} LanePlace;

static LanePlace place_lane(const Lookup *lk, uint32_t lane)
{
    const TexRequest *r = lk->request;
    const float *coord = r->coord + lane;
    uint32_t stride = r->lane_count;
    LanePlace place = {0};
    float s = coord[0], t = coord[stride];
    /* Not a number compares false. */
    if (!(fabsf(s) <= COORDINATE_MAX && fabsf(t) <= COORDINATE_MAX))
        return place;
    place.has_place = true;
    place.s = (double)s;
    place.v = 1.0 - (double)t;
    FootprintInput in = {.ds_dx = coord[2 * stride],
                         .dt_dx = coord[3 * stride],
                         .ds_dy = coord[4 * stride],
                         .dt_dy = coord[5 * stride],
                         .blur = coord[6 * stride]};
    const TexLevel *finest = &lk->texture->levels[0];
    place.footprint = footprint_of(&in, finest->width, finest->height, lk->texture->level_count,
                                   lk->options.filter, lk->options.mip, lk->options.mip_bias);
    return place;
}

SORT_ALWAYS_INLINE Tap make_tap(const Lookup *lk, uint32_t level, double s, double v)
{
    Tap tap = {.level = &lk->texture->levels[level]};
    if (lk->options.filter == TEX_FILTER_CLOSEST) {
        tap.x = axis_tap_closest(s, tap.level->width, lk->options.wrap_s);
        tap.y = axis_tap_closest(v, tap.level->height, lk->options.wrap_t);
        return tap;
    }
    tap.x = axis_tap_linear(s, tap.level->width, lk->options.wrap_s);
    tap.y = axis_tap_linear(v, tap.level->height, lk->options.wrap_t);
    if (!lk->request->with_derivs) { /* a texel without weight need not be there */
        if (tap.x.fraction == 0.0f)
            tap.x.second = tap.x.first;
        if (tap.y.fraction == 0.0f)
            tap.y.second = tap.y.first;
    }
    return tap;
}

/* The i-th probe's place: evenly spaced along the major axis, centred. */
static void probe_place(const LanePlace *place, uint32_t i, double *out_s, double *out_v)
{
    if (place->footprint.probe_count == 1) {
        *out_s = place->s;
        *out_v = place->v;
        return;
    }
    double offset = (double)i - 0.5 * (double)(place->footprint.probe_count - 1);
    *out_s = place->s + offset * (double)place->footprint.axis_s;
    *out_v = place->v + offset * (double)place->footprint.axis_v;
}

/* --- tiles -------------------------------------------------------------------------------- */

static uint32_t tile_number(const Texture *t, const TexLevel *level, uint32_t x, uint32_t y)
{
    return level->first_tile + (y >> t->tile_log2) * level->tiles_x + (x >> t->tile_log2);
}

static size_t texel_offset(const Texture *t, uint32_t x, uint32_t y)
{
    uint32_t mask = (1u << t->tile_log2) - 1;
    return (size_t)(((y & mask) << t->tile_log2) | (x & mask)) * t->texel_bytes;
}

/* The four texels of a tap: left, right of the upper row, then of the lower one. */
static void tap_texels(const Tap *tap, uint32_t out_x[4], uint32_t out_y[4])
{
    out_x[0] = out_x[2] = tap->x.first;
    out_x[1] = out_x[3] = tap->x.second;
    out_y[0] = out_y[1] = tap->y.first;
    out_y[2] = out_y[3] = tap->y.second;
}

uint32_t tex_tap_tiles(const Texture *texture, const TapTexels *tap, uint32_t out_tiles[4])
{
    const TexLevel *level = &texture->levels[tap->level];
    uint32_t count = 0;
    for (uint32_t k = 0; !level->tail && k < 4; k++) {
        uint32_t tile = tile_number(texture, level, tap->x[k], tap->y[k]);
        uint32_t i = 0;
        while (i < count && out_tiles[i] != tile)
            i++;
        if (i == count)
            out_tiles[count++] = tile;
    }
    return count;
}

/* Gathers tile numbers to be asked for. */
typedef struct TileList {
    const Lookup *lookup;
    uint32_t count;
    uint32_t tiles[128];
} TileList;

static void list_flush(TileList *list)
{
    if (list->count > 0)
        tile_request_ahead(list->lookup->thread, list->lookup->texture, list->tiles, list->count);
    list->count = 0;
}

static void list_add_tap(void *data, const TapTexels *tap)
{
    TileList *list = data;
    const Texture *texture = list->lookup->texture;
    uint32_t tiles[4];
    uint32_t tile_count = tex_tap_tiles(texture, tap, tiles);
    for (uint32_t k = 0; k < tile_count; k++) {
        uint32_t entry =
            atomic_load_explicit(&texture->entries[tiles[k]].word, memory_order_relaxed);
        bool is_listed = list->count > 0 && list->tiles[list->count - 1] == tiles[k];
        if (entry_tag(entry) != ENTRY_EMPTY || is_listed)
            continue;
        if (list->count == SORT_COUNT_OF(list->tiles))
            list_flush(list);
        list->tiles[list->count++] = tiles[k];
    }
}

/* --- cubic taps --------------------------------------------------------------------------- */

/* Whether a lane is blended by a cubic kernel: nothing is minified. */
static bool is_cubic(const Lookup *lk, const Footprint *f)
{
    return lk->options.filter >= TEX_FILTER_CATMULL_ROM && f->level == 0.0f && f->probe_count == 1;
}

/* Four by four texels of level 0, gathered as four quads. */
typedef struct CubicPlace {
    const TexLevel *level;
    CubicTap x, y;
} CubicPlace;

static CubicPlace cubic_place(const Lookup *lk, const LanePlace *place)
{
    const TexLevel *level = &lk->texture->levels[0];
    TexFilter filter = lk->options.filter;
    return (CubicPlace){.level = level,
                        .x = cubic_tap(place->s, level->width, lk->options.wrap_s, filter),
                        .y = cubic_tap(place->v, level->height, lk->options.wrap_t, filter)};
}

/* Quad k of the four: left, right of the upper two rows, then of the lower ones. */
static Tap cubic_quad(const CubicPlace *c, uint32_t k)
{
    uint32_t i = 2 * (k & 1), j = 2 * (k >> 1);
    return (Tap){.level = c->level,
                 .x = {.first = c->x.texels[i], .second = c->x.texels[i + 1]},
                 .y = {.first = c->y.texels[j], .second = c->y.texels[j + 1]}};
}

/* --- stochastic taps ---------------------------------------------------------------------- */

static float below_one(float u)
{
    return u < 1.0f ? u : 0x1.fffffep-1f;
}

/* True with the given probability; *u, uniform in [0, 1), decides and is uniform again. */
static bool choose(float *u, float probability)
{
    if (*u < probability) {
        *u = below_one(*u / probability);
        return true;
    }
    *u = below_one((*u - probability) / (1.0f - probability));
    return false;
}

/* An axis reduced to one of its two texels, by their weights. */
static AxisTap choose_texel(AxisTap tap, float *u)
{
    bool is_second = choose(u, tap.fraction);
    bool is_outside = (tap.outside & (is_second ? TAP_SECOND_OUTSIDE : TAP_FIRST_OUTSIDE)) != 0;
    uint32_t texel = is_second ? tap.second : tap.first;
    return (AxisTap){.first = texel,
                     .second = texel,
                     .outside = is_outside ? TAP_FIRST_OUTSIDE | TAP_SECOND_OUTSIDE : 0};
}

/* One texel of those that ANISO would blend, and the probe and level it is from. */
typedef struct StochasticPlace {
    double s, v;
    uint32_t level;
    Tap tap; /* the texel four times */
} StochasticPlace;

static StochasticPlace stochastic_place(const Lookup *lk, uint32_t lane, const LanePlace *place)
{
    const Footprint *f = &place->footprint;
    StochasticPlace out;
    float u = lk->request->random[lane];
    u = u > 0.0f ? below_one(u) : 0.0f; /* what is no number: 0 */
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

/* --- taps without reading ----------------------------------------------------------------- */

typedef struct Visit {
    const Lookup *lookup;
    void (*visit)(void *data, const TapTexels *tap);
    void *data;
    uint32_t lane;
} Visit;

static void visit_tap(const Visit *v, const Tap *tap, float share)
{
    const AxisTap *x = &tap->x, *y = &tap->y;
    if (x->outside == 3 || y->outside == 3)
        return;
    TapTexels seen = {.lane = v->lane,
                      .level = (uint32_t)(tap->level - v->lookup->texture->levels)};
    tap_texels(tap, seen.x, seen.y);
    for (uint32_t k = 0; k < 4; k++) {
        bool is_outside = (x->outside >> (k & 1) & 1u) || (y->outside >> (k >> 1) & 1u);
        float weight_x = k & 1 ? x->fraction : 1.0f - x->fraction;
        float weight_y = k >> 1 ? y->fraction : 1.0f - y->fraction;
        seen.weights[k] = is_outside ? 0.0f : share * weight_x * weight_y;
    }
    v->visit(v->data, &seen);
}

static void visit_cubic(const Visit *v, const LanePlace *place)
{
    CubicPlace c = cubic_place(v->lookup, place);
    if (c.x.outside == 0xf || c.y.outside == 0xf)
        return;
    for (uint32_t k = 0; k < 4; k++) {
        Tap tap = cubic_quad(&c, k);
        TapTexels seen = {.lane = v->lane, .level = 0};
        tap_texels(&tap, seen.x, seen.y);
        for (uint32_t n = 0; n < 4; n++) {
            uint32_t column = 2 * (k & 1) + (n & 1), row = 2 * (k >> 1) + (n >> 1);
            bool is_black = (c.x.outside >> column & 1u) || (c.y.outside >> row & 1u);
            seen.weights[n] = is_black ? 0.0f : c.x.weights[column] * c.y.weights[row];
        }
        v->visit(v->data, &seen);
    }
}

static void visit_probes(const Visit *v, const LanePlace *place)
{
    const Lookup *lk = v->lookup;
    const Footprint *f = &place->footprint;
    uint32_t level = (uint32_t)f->level;
    float fraction = f->level - (float)level, share = 1.0f / (float)f->probe_count;
    for (uint32_t i = 0; i < f->probe_count; i++) {
        double s, t;
        probe_place(place, i, &s, &t);
        Tap tap = make_tap(lk, level, s, t);
        visit_tap(v, &tap, share * (1.0f - fraction));
        if (fraction > 0.0f) {
            tap = make_tap(lk, level + 1, s, t);
            visit_tap(v, &tap, share * fraction);
        }
    }
}

static void visit_lane(const Visit *v, const LanePlace *place)
{
    const Lookup *lk = v->lookup;
    if (lk->options.filter == TEX_FILTER_STOCHASTIC) {
        StochasticPlace chosen = stochastic_place(lk, v->lane, place);
        if (lk->request->with_derivs) { /* those of the whole tap */
            Tap tap = make_tap(lk, chosen.level, chosen.s, chosen.v);
            visit_tap(v, &tap, 0.0f);
        }
        visit_tap(v, &chosen.tap, 1.0f);
    } else if (is_cubic(lk, &place->footprint)) {
        visit_cubic(v, place);
    } else {
        visit_probes(v, place);
    }
}

static void visit_lanes(const Lookup *lk, uint32_t first_lane,
                        void (*visit)(void *data, const TapTexels *tap), void *data)
{
    Visit v = {.lookup = lk, .visit = visit, .data = data};
    for (v.lane = first_lane; v.lane < lk->request->lane_count; v.lane++) {
        if (!(lk->request->lane_mask >> v.lane & 1u))
            continue;
        LanePlace place = place_lane(lk, v.lane);
        if (place.has_place)
            visit_lane(&v, &place);
    }
}

/* Asks for all tiles that lanes from `first_lane` on need. */
static void ask_ahead(const Lookup *lk, uint32_t first_lane)
{
    TileList list = {.lookup = lk};
    visit_lanes(lk, first_lane, list_add_tap, &list);
    list_flush(&list);
}

static void enter(const Lookup *lk)
{
    epoch_enter(&lk->cache->epochs, &lk->thread->epoch);
}

static void leave(const Lookup *lk)
{
    if (epoch_leave(&lk->cache->epochs, &lk->thread->epoch))
        texcache_wake_sleepers(lk->cache);
}

/* Gets a tile that was not there, waiting if it must: READY with a pin, CONSTANT or FAILED. */
static uint32_t await_tile(Lookup *lk, uint32_t tile)
{
    uint32_t entry;
    leave(lk);
    for (;;) {
        TileJoin join = tile_join(lk->caller, lk->texture, tile, &entry);
        if (join == TILE_RESOLVED)
            break;
        if (!lk->has_asked_ahead) {
            lk->has_asked_ahead = true;
            ask_ahead(lk, lk->lane);
        }
        counter_add(&lk->thread->counters.waits, 1);
        waiter_wait(lk->caller->waiter);
        if (join == TILE_JOINED) {
            entry = tile_resolve(lk->texture, tile);
            break;
        }
    }
    enter(lk);
    return entry;
}

/* Loads texels `mask` of a tap from a tile's memory into the quad. */
static void load_masked(const Lookup *lk, const uint8_t *base, const uint32_t x[4],
                        const uint32_t y[4], uint32_t mask, float quad[4][4])
{
    const Texture *texture = lk->texture;
    const uint8_t *texels[4];
    float loaded[4][4];
    for (uint32_t k = 0; k < 4; k++) /* any texel of the tile will do where none is wanted */
        texels[k] = mask >> k & 1u ? base + texel_offset(texture, x[k], y[k]) : base;
    texture->load_quad(&lk->cache->texels, texels, loaded);
    for (uint32_t k = 0; k < 4; k++) {
        if (mask >> k & 1u)
            memcpy(quad[k], loaded[k], sizeof quad[k]);
    }
}

/* A tap whose texels lie in several tiles, or in one that is not there. False: a tile has failed. */
static bool fetch_slowly(Lookup *lk, const Tap *tap, float quad[4][4])
{
    TexCache *c = lk->cache;
    const Texture *texture = lk->texture;
    uint32_t x[4], y[4], tiles[4];
    tap_texels(tap, x, y);
    for (uint32_t k = 0; k < 4; k++)
        tiles[k] = tile_number(texture, tap->level, x[k], y[k]);
    uint32_t missing = 0xf;
    while (missing) {
        uint32_t tile = tiles[__builtin_ctz(missing)];
        uint32_t mask = 0;
        for (uint32_t k = 0; k < 4; k++)
            mask |= (uint32_t)((missing >> k & 1u) && tiles[k] == tile) << k;
        missing &= ~mask;
        lk->tile_requests++;
        uint32_t entry = atomic_load(&texture->entries[tile].word);
        bool is_there = entry_tag(entry) == ENTRY_READY || entry_tag(entry) == ENTRY_CONSTANT;
        if (is_there)
            lk->tile_hits++;
        else
            entry = await_tile(lk, tile);
        if (entry_tag(entry) == ENTRY_FAILED)
            return false;
        uint32_t payload = entry_payload(entry);
        if (entry_tag(entry) == ENTRY_CONSTANT) {
            for (uint32_t k = 0; k < 4; k++) {
                if (mask >> k & 1u)
                    memcpy(quad[k], c->constants[payload], sizeof quad[k]);
            }
            continue;
        }
        load_masked(lk, slab_address(&c->slabs, payload, texture->tile_bytes), x, y, mask, quad);
        if (is_there)
            slab_mark_used(&c->slabs, payload);
        else
            tile_unpin(c, payload); /* its first use; the mark is for later ones */
    }
    return true;
}

typedef enum TexelPlace {
    TEXELS_TOGETHER, /* in one tile that is there, or in the tail */
    TEXELS_CONSTANT, /* in one tile of one colour */
    TEXELS_ELSEWHERE /* in several tiles, or in one that is not there */
} TexelPlace;

/* Where the four texels of a tap are: pointers to them, or their colour. Pointers hold until the epoch
 * is left. */
SORT_ALWAYS_INLINE TexelPlace find_texels(Lookup *lk, const Tap *tap, const uint8_t *out_texels[4],
                                          const float **out_constant)
{
    const Texture *texture = lk->texture;
    const TexLevel *level = tap->level;
    uint32_t x0 = tap->x.first, x1 = tap->x.second, y0 = tap->y.first, y1 = tap->y.second;
    size_t row_bytes;
    const uint8_t *base = level->tail;
    if (base) {
        row_bytes = (size_t)level->width * texture->texel_bytes;
    } else {
        if (((x0 ^ x1) | (y0 ^ y1)) >> texture->tile_log2)
            return TEXELS_ELSEWHERE;
        uint32_t entry = atomic_load(&texture->entries[tile_number(texture, level, x0, y0)].word);
        if (entry_tag(entry) != ENTRY_READY && entry_tag(entry) != ENTRY_CONSTANT)
            return TEXELS_ELSEWHERE;
        lk->tile_requests++;
        lk->tile_hits++;
        if (entry_tag(entry) == ENTRY_CONSTANT) {
            *out_constant = lk->cache->constants[entry_payload(entry)];
            return TEXELS_CONSTANT;
        }
        slab_mark_used(&lk->cache->slabs, entry_payload(entry));
        base = slab_address(&lk->cache->slabs, entry_payload(entry), texture->tile_bytes);
        uint32_t mask = (1u << texture->tile_log2) - 1;
        x0 &= mask;
        x1 &= mask;
        y0 &= mask;
        y1 &= mask;
        row_bytes = (size_t)texture->texel_bytes << texture->tile_log2;
    }
    const uint8_t *upper = base + y0 * row_bytes, *lower = base + y1 * row_bytes;
    size_t left = (size_t)x0 * texture->texel_bytes, right = (size_t)x1 * texture->texel_bytes;
    out_texels[0] = upper + left;
    out_texels[1] = upper + right;
    out_texels[2] = lower + left;
    out_texels[3] = lower + right;
    return TEXELS_TOGETHER;
}

/* --- filtering ---------------------------------------------------------------------------- */

/* rgba, and its derivatives by s and v. */
typedef struct Sample {
    float value[4], d_ds[4], d_dv[4];
} Sample;

/* The four texels of a tap, as linear rgba, to its sample. */
static void blend_quad(const Lookup *lk, const Tap *tap, float quad[4][4], Sample *out)
{
    const AxisTap *x = &tap->x, *y = &tap->y;
    for (uint32_t k = 0; k < 4; k++) {
        if ((x->outside >> (k & 1) & 1u) || (y->outside >> (k >> 1) & 1u))
            memset(quad[k], 0, sizeof quad[k]);
    }
    for (uint32_t i = 0; i < 4; i++) {
        out->value[i] =
            texel_blend(quad[0][i], quad[1][i], quad[2][i], quad[3][i], x->fraction, y->fraction);
    }
    if (!lk->request->with_derivs)
        return;
    float scale_s = x->slope_sign * (float)tap->level->width;
    float scale_v = y->slope_sign * (float)tap->level->height;
    for (uint32_t i = 0; i < 4; i++) {
        float upper_step = quad[1][i] - quad[0][i], lower_step = quad[3][i] - quad[2][i];
        float left_step = quad[2][i] - quad[0][i], right_step = quad[3][i] - quad[1][i];
        out->d_ds[i] = (upper_step + y->fraction * (lower_step - upper_step)) * scale_s;
        out->d_dv[i] = (left_step + x->fraction * (right_step - left_step)) * scale_v;
    }
}

/* One bilinear (or closest) tap. False: a tile has failed. */
static bool sample_tap(Lookup *lk, uint32_t level, double s, double v, Sample *out)
{
    counter_add(&lk->mip_probes[level], 1);
    lk->probes++;
    Tap tap = make_tap(lk, level, s, v);
    uint32_t outside = tap.x.outside | tap.y.outside;
    if (SORT_UNLIKELY(tap.x.outside == 3 || tap.y.outside == 3)) {
        *out = (Sample){0};
        return true;
    }
    const Texture *texture = lk->texture;
    const uint8_t *texels[4];
    const float *constant = NULL;
    bool is_plain = !outside && !lk->request->with_derivs;
    TexelPlace place = find_texels(lk, &tap, texels, &constant);
    if (place == TEXELS_TOGETHER && is_plain) {
        texture->blend_quad(&lk->cache->texels, texels, tap.x.fraction, tap.y.fraction, out->value);
        return true;
    }
    if (place == TEXELS_CONSTANT && is_plain) {
        memcpy(out->value, constant, sizeof out->value);
        return true;
    }
    float quad[4][4];
    if (place == TEXELS_TOGETHER) {
        texture->load_quad(&lk->cache->texels, texels, quad);
    } else if (place == TEXELS_CONSTANT) {
        for (uint32_t k = 0; k < 4; k++)
            memcpy(quad[k], constant, sizeof quad[k]);
    } else if (!fetch_slowly(lk, &tap, quad)) {
        return false;
    }
    blend_quad(lk, &tap, quad, out);
    return true;
}

static void blend(float *a, const float *b, float fraction)
{
    for (uint32_t i = 0; i < 4; i++)
        a[i] += fraction * (b[i] - a[i]);
}

static void blend_samples(const Lookup *lk, Sample *a, const Sample *b, float fraction)
{
    blend(a->value, b->value, fraction);
    if (lk->request->with_derivs) {
        blend(a->d_ds, b->d_ds, fraction);
        blend(a->d_dv, b->d_dv, fraction);
    }
}

/* One probe, in one level or blended between two. */
static bool sample_probe(Lookup *lk, double s, double v, float level, Sample *out)
{
    uint32_t fine = (uint32_t)level;
    float fraction = level - (float)fine;
    if (!sample_tap(lk, fine, s, v, out))
        return false;
    if (fraction > 0.0f) {
        Sample coarse;
        if (!sample_tap(lk, fine + 1, s, v, &coarse))
            return false;
        blend_samples(lk, out, &coarse, fraction);
    }
    return true;
}

/* The four texels of a tap as linear rgba, black ones not blackened. False: a tile has failed. */
static bool fetch_quad(Lookup *lk, const Tap *tap, float quad[4][4])
{
    const uint8_t *texels[4];
    const float *constant = NULL;
    switch (find_texels(lk, tap, texels, &constant)) {
    case TEXELS_TOGETHER:
        lk->texture->load_quad(&lk->cache->texels, texels, quad);
        return true;
    case TEXELS_CONSTANT:
        for (uint32_t k = 0; k < 4; k++)
            memcpy(quad[k], constant, sizeof quad[k]);
        return true;
    case TEXELS_ELSEWHERE:
        break;
    }
    return fetch_slowly(lk, tap, quad);
}

static bool sample_cubic(Lookup *lk, const LanePlace *place, Sample *out)
{
    CubicPlace c = cubic_place(lk, place);
    float texels[4][4][4]; /* [row][column][channel] */
    *out = (Sample){0};
    if (c.x.outside == 0xf || c.y.outside == 0xf)
        return true;
    for (uint32_t k = 0; k < 4; k++) {
        counter_add(&lk->mip_probes[0], 1);
        lk->probes++;
        Tap tap = cubic_quad(&c, k);
        float quad[4][4];
        if (!fetch_quad(lk, &tap, quad))
            return false;
        for (uint32_t n = 0; n < 4; n++) {
            uint32_t column = 2 * (k & 1) + (n & 1), row = 2 * (k >> 1) + (n >> 1);
            bool is_black = (c.x.outside >> column & 1u) || (c.y.outside >> row & 1u);
            for (uint32_t i = 0; i < 4; i++)
                texels[row][column][i] = is_black ? 0.0f : quad[n][i];
        }
    }
    float width = (float)c.level->width, height = (float)c.level->height;
    for (uint32_t i = 0; i < 4; i++) {
        /* Differences from one of the texels, so that equal texels give themselves. */
        float base = texels[1][1][i], sum = 0.0f, d_ds = 0.0f, d_dv = 0.0f;
        for (uint32_t row = 0; row < 4; row++) {
            float line = 0.0f, slope = 0.0f;
            for (uint32_t column = 0; column < 4; column++) {
                float step = texels[row][column][i] - base;
                line += c.x.weights[column] * step;
                slope += c.x.slopes[column] * step;
            }
            sum += c.y.weights[row] * line;
            d_ds += c.y.weights[row] * slope;
            d_dv += c.y.slopes[row] * line;
        }
        out->value[i] = base + sum;
        out->d_ds[i] = d_ds * width;
        out->d_dv[i] = d_dv * height;
    }
    return true;
}

/* One texel of those that ANISO would blend. Derivatives are those of the whole tap it is from. */
static bool sample_stochastic(Lookup *lk, const LanePlace *place, Sample *out)
{
    StochasticPlace chosen = stochastic_place(lk, lk->lane, place);
    *out = (Sample){0};
    if (lk->request->with_derivs && !sample_tap(lk, chosen.level, chosen.s, chosen.v, out))
        return false;
    counter_add(&lk->mip_probes[chosen.level], 1);
    lk->probes++;
    if (chosen.tap.x.outside || chosen.tap.y.outside) {
        memset(out->value, 0, sizeof out->value);
        return true;
    }
    float quad[4][4];
    if (!fetch_quad(lk, &chosen.tap, quad))
        return false;
    memcpy(out->value, quad[0], sizeof out->value);
    return true;
}

static bool sample_lane(Lookup *lk, const LanePlace *place, Sample *out)
{
    const Footprint *f = &place->footprint;
    if (SORT_UNLIKELY(lk->options.filter > TEX_FILTER_ANISO)) {
        if (lk->options.filter == TEX_FILTER_STOCHASTIC)
            return sample_stochastic(lk, place, out);
        if (is_cubic(lk, f))
            return sample_cubic(lk, place, out);
    }
    for (uint32_t i = 0; i < f->probe_count; i++) {
        double s, v;
        probe_place(place, i, &s, &v);
        if (i == 0) {
            if (!sample_probe(lk, s, v, f->level, out))
                return false;
        } else {
            Sample probe;
            if (!sample_probe(lk, s, v, f->level, &probe))
                return false;
            blend_samples(lk, out, &probe, 1.0f / (float)(i + 1)); /* the mean so far */
        }
    }
    return true;
}

/* --- requests ----------------------------------------------------------------------------- */

static const float default_missing_color[4] = {1.0f, 0.0f, 1.0f, 1.0f};

static const float *missing_color(const TexRequest *r)
{
    return r->options && r->options->has_missing_color ? r->options->missing_color
                                                       : default_missing_color;
}

static TexOptions resolve_options(const Texture *texture, const TexRequest *r)
{
    TexOptions o = r->options ? *r->options : (TexOptions){0};
    if (o.wrap_s == TEX_WRAP_FILE)
        o.wrap_s = texture->wrap_s;
    if (o.wrap_t == TEX_WRAP_FILE)
        o.wrap_t = texture->wrap_t;
    if (o.filter == TEX_FILTER_DEFAULT || (o.filter == TEX_FILTER_STOCHASTIC && !r->random))
        o.filter = TEX_FILTER_ANISO;
    return o;
}

static Lookup begin_lookup(TexCaller *caller, const TexRequest *r)
{
    ASSERT(r->lane_count >= 1 && r->lane_count <= TEX_MAX_LANES);
    Lookup lk = {
        .caller = caller, .thread = caller->thread, .cache = caller->thread->cache, .request = r};
    lk.texture = texture_of(lk.cache, r->texture);
    uint32_t bucket = r->depth < TEX_DEPTH_BUCKETS ? r->depth : TEX_DEPTH_BUCKETS - 1;
    lk.mip_probes = lk.thread->counters.mip_probes[bucket];
    if (lk.texture)
        lk.options = resolve_options(lk.texture, r);
    return lk;
}

void tex_visit_taps(Texture *texture, const TexRequest *r, uint32_t first_lane,
                    void (*visit)(void *data, const TapTexels *tap), void *data)
{
    Lookup lk = {.texture = texture, .request = r, .options = resolve_options(texture, r)};
    visit_lanes(&lk, first_lane, visit, data);
}

static void write_lane(const TexRequest *r, uint32_t lane, const Sample *sample, float *out_result)
{
    uint32_t stride = r->lane_count;
    for (uint32_t i = 0; i < 4; i++)
        out_result[i * stride + lane] = sample->value[i];
    if (r->with_derivs) {
        for (uint32_t i = 0; i < 4; i++) {
            out_result[(4 + i) * stride + lane] = sample->d_ds[i];
            out_result[(8 + i) * stride + lane] = -sample->d_dv[i];
        }
    }
}

static uint32_t live_lanes(const TexRequest *r)
{
    return r->lane_count == 32 ? r->lane_mask : r->lane_mask & ((1u << r->lane_count) - 1);
}

uint32_t texcache_lookup(TexCaller *caller, const TexRequest *r, float *out_result)
{
    Lookup lk = begin_lookup(caller, r);
    if (SORT_UNLIKELY(lk.texture && lk.texture->udim))
        return udim_lookup(caller, r, lk.texture, out_result);
    uint32_t missing = 0, lanes = 0, missing_lanes = 0, bad_lanes = 0;
    if (lk.texture)
        enter(&lk);
    for (uint32_t left = live_lanes(r); left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        lk.lane = lane;
        lanes++;
        Sample sample;
        bool ok = false;
        if (lk.texture) {
            LanePlace place = place_lane(&lk, lane);
            bad_lanes += !place.has_place || place.footprint.is_bad;
            ok = place.has_place && sample_lane(&lk, &place, &sample);
        }
        if (!ok) {
            sample = (Sample){0};
            memcpy(sample.value, missing_color(r), sizeof sample.value);
            missing |= 1u << lane;
            missing_lanes++;
        }
        write_lane(r, lane, &sample, out_result);
    }
    if (lk.texture)
        leave(&lk);
    ThreadCounters *n = &lk.thread->counters;
    counter_add(&n->lookups, lanes);
    counter_add(&n->bad_lookups, bad_lanes);
    counter_add(&n->missing, missing_lanes);
    counter_add(&n->probes, lk.probes);
    counter_add(&n->tile_requests, lk.tile_requests);
    counter_add(&n->tile_hits, lk.tile_hits);
    return missing;
}

void texcache_touch(TexCaller *caller, const TexRequest *r)
{
    Lookup lk = begin_lookup(caller, r);
    if (lk.texture && lk.texture->udim)
        udim_touch(caller, r, lk.texture, false);
    else if (lk.texture)
        ask_ahead(&lk, 0);
}
