/* Lookups by a list of taps. The textures of a material are mostly read at the same coordinates and have the same size, so the
 * list of one lookup, which depends on these alone, serves the next ones too; tiles and texels are each texture's own. */
#include "textures/filter/tex_list.h"
#include "base/check.h"
#include "textures/filter/tex_fetch.h"
#include <string.h>

bool lookup_has_list(const Lookup *lk)
{
    const LookupOptions *o = &lk->options;
    bool is_blended = o->filter == TEX_FILTER_BILINEAR || o->filter == TEX_FILTER_TRILINEAR ||
                      o->filter == TEX_FILTER_ANISO;
    return is_blended && !lk->request->with_derivs && o->wrap_s != TEX_WRAP_BLACK &&
           o->wrap_t != TEX_WRAP_BLACK;
}

_Static_assert(TAP_LIST_MAX >= TAP_LANE_MAX, "the list has room for any lane");

/* --- making the list ---------------------------------------------------------------------- */

/* Returns whether the list was made for these lanes of such a request. Coordinates are compared by their bits. */
static bool is_list_of(const TapList *list, const Lookup *lk, uint32_t lanes)
{
    const LookupOptions *o = &lk->options;
    const TexLevel *finest = &lk->texture->levels[0];
    if (list->number == 0 || list->wanted != lanes || list->width != finest->width ||
        list->height != finest->height || list->level_count != lk->texture->level_count ||
        list->wrap_s != o->wrap_s || list->wrap_t != o->wrap_t || list->filter != o->filter ||
        list->mip != o->mip || list->mip_bias != o->mip_bias)
        return false;
    const TexRequest *r = lk->request;
    uint32_t difference = 0;
    for (uint32_t i = 0; i < 7; ++i) {
        const float *row = r->coord + (size_t)i * r->lane_count;
        for (uint32_t lane = 0; lane < r->lane_count; ++lane) {
            uint32_t a, b;
            memcpy(&a, &row[lane], sizeof a);
            memcpy(&b, &list->coord[i][lane], sizeof b);
            difference |= (a ^ b) & (uint32_t)list->is_wanted[lane];
        }
    }
    return difference == 0;
}

static void note_request(TapList *list, const Lookup *lk, uint32_t lanes)
{
    const LookupOptions *o = &lk->options;
    const TexRequest *r = lk->request;
    ++list->number;
    list->wanted = lanes;
    list->width = lk->texture->levels[0].width;
    list->height = lk->texture->levels[0].height;
    list->level_count = lk->texture->level_count;
    list->wrap_s = o->wrap_s;
    list->wrap_t = o->wrap_t;
    list->filter = o->filter;
    list->mip = o->mip;
    list->mip_bias = o->mip_bias;
    for (uint32_t lane = 0; lane < TEX_MAX_LANES; ++lane)
        list->is_wanted[lane] = -(int32_t)(lanes >> lane & 1u);
    for (uint32_t i = 0; i < 7; ++i)
        memcpy(list->coord[i], r->coord + (size_t)i * r->lane_count, r->lane_count * sizeof(float));
}

static void add_tap(TapList *list, const Lookup *lk, uint32_t level, double s, double v)
{
    ASSERT(list->tap_count < TAP_LIST_MAX);
    Tap tap = make_tap(lk, level, s, v);
    list->taps[list->tap_count++] = (ListedTap){.level = level,
                                                .x = {tap.x.first, tap.x.second},
                                                .y = {tap.y.first, tap.y.second},
                                                .fraction_x = tap.x.fraction,
                                                .fraction_y = tap.y.fraction};
}

/* Adds the taps of a lane. Returns false if the list has no room for them. */
static bool add_lane(TapList *list, const Lookup *lk, const LanePlace *place, TapRun *out_run)
{
    *out_run = (TapRun){.first = list->tap_count};
    if (!place->has_place)
        return true;
    const Footprint *f = &place->footprint;
    uint32_t level = (uint32_t)f->level;
    float fraction = f->level - (float)level;
    if (list->tap_count + (fraction > 0.0f ? 2 : 1) * f->probe_count > TAP_LIST_MAX)
        return false;
    for (uint32_t i = 0; i < f->probe_count; ++i) {
        double s, v;
        probe_place(place, i, &s, &v);
        add_tap(list, lk, level, s, v);
        if (fraction > 0.0f)
            add_tap(list, lk, level + 1, s, v);
    }
    out_run->probe_count = f->probe_count;
    out_run->fraction = fraction;
    return true;
}

static void make_list(TapList *list, const Lookup *lk, uint32_t lanes)
{
    note_request(list, lk, lanes);
    list->lanes = list->bad_lanes = list->tap_count = 0;
    LanePlace places[2];
    uint32_t now = 0,
             known = TEX_MAX_LANES; /* the last lane with a footprint: it is in places[now ^ 1] */
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        bool is_alike = known < TEX_MAX_LANES && have_equal_footprints(lk->request, lane, known);
        LanePlace *place = &places[now];
        place_lane(lk, lane, is_alike ? &places[now ^ 1] : NULL, place);
        if (!add_lane(list, lk, place, &list->runs[lane]))
            break;
        list->lanes |= 1u << lane;
        bool is_bad = !place->has_place || place->footprint.is_bad;
        list->bad_lanes |= (uint32_t)is_bad << lane;
        if (place->has_place) {
            known = lane;
            now ^= 1;
        }
    }
    ASSERT(list->lanes != 0);
}

/* Returns the thread's list, made for these lanes. It is valid until the lookup waits, since other fibers of the thread use
 * it meanwhile. */
static const TapList *list_of(const Lookup *lk, uint32_t lanes)
{
    TapList *list = &lk->thread->taps;
    if (!is_list_of(list, lk, lanes))
        make_list(list, lk, lanes);
    return list;
}

/* --- texels ------------------------------------------------------------------------------- */

enum { TAPS_AT_ONCE = 16 };

/* The tap's values, and the taps that are left because their texels lie in several tiles or in one that is not resident. */
typedef struct Values {
    f32x4 taps[TAP_LIST_MAX];
    uint32_t left[TAP_LIST_MAX / TAPS_AT_ONCE]; /* a bit for each tap */
    uint32_t any_left;
} Values;

static Tap tap_of(const Lookup *lk, const ListedTap *listed)
{
    return (Tap){
        .level = &lk->texture->levels[listed->level],
        .x = {listed->x[0], listed->x[1], listed->fraction_x, 1.0f, 0},
        .y = {listed->y[0], listed->y[1], listed->fraction_y, 1.0f, 0},
    };
}

/* Blends the taps whose texels lie in one resident tile. Their texels are asked for ahead, since all are found before the first
 * is read. */
static void blend_resident(Lookup *lk, const TapList *list, Values *out)
{
    out->any_left = 0;
    for (uint32_t begin = 0; begin < list->tap_count; begin += TAPS_AT_ONCE) {
        TexelTap found[TAPS_AT_ONCE];
        uint32_t count = 0, left = 0;
        uint32_t n = list->tap_count - begin;
        n = n < TAPS_AT_ONCE ? n : TAPS_AT_ONCE;
        for (uint32_t k = 0; k < n; ++k) {
            const float *constant;
            TexelTap *texels = &found[count];
            const ListedTap *tap = &list->taps[begin + k];
            switch (find_texels(lk, &lk->texture->levels[tap->level], tap->x[0], tap->x[1],
                                tap->y[0], tap->y[1], texels->texels, &constant)) {
            case TEXELS_TOGETHER:
                SORT_PREFETCH(texels->texels[0]);
                SORT_PREFETCH(texels->texels[2]);
                texels->fraction_x = tap->fraction_x;
                texels->fraction_y = tap->fraction_y;
                texels->place = begin + k;
                ++count;
                break;
            case TEXELS_CONSTANT:
                out->taps[begin + k] = f32x4_load(constant);
                break;
            case TEXELS_ELSEWHERE:
                left |= 1u << k;
                break;
            }
        }
        lk->texture->blend_taps(&lk->cache->texels, found, count, out->taps);
        out->left[begin / TAPS_AT_ONCE] = left;
        out->any_left |= left;
    }
}

/* Fetches what blend_resident() left, tile by tile, and waits for tiles. Returns the lanes of which a tile has failed. */
static SORT_NOINLINE uint32_t blend_others(Lookup *lk, const TapList *list, Values *values)
{
    uint64_t number = list->number;
    uint32_t failed = 0, wanted = list->wanted;
    for (uint32_t lanes = list->lanes; lanes; lanes &= lanes - 1) {
        lk->lane = (uint32_t)__builtin_ctz(lanes);
        const TapRun run = list->runs[lk->lane];
        uint32_t end = run.first + (run.fraction > 0.0f ? 2 : 1) * run.probe_count;
        for (uint32_t i = run.first; i < end; ++i) {
            if (!(values->left[i / TAPS_AT_ONCE] >> i % TAPS_AT_ONCE & 1u))
                continue;
            float quad[4][4];
            Tap tap = tap_of(lk, &list->taps[i]);
            if (lookup_fetch_slowly(lk, &tap, quad)) {
                values->taps[i] =
                    texel_blend4(f32x4_load(quad[0]), f32x4_load(quad[1]), f32x4_load(quad[2]),
                                 f32x4_load(quad[3]), tap.x.fraction, tap.y.fraction);
            } else {
                failed |= 1u << lk->lane;
                i = end;
            }
            if (list->number != number) { /* another fiber used the list while this one waited */
                list = list_of(lk, wanted);
                number = list->number;
            }
        }
    }
    return failed;
}

/* --- results ------------------------------------------------------------------------------ */

/* The mean over a lane's probes, each blended between its two levels. */
static f32x4 mean_of_run(const TapRun *run, const f32x4 *taps)
{
    const f32x4 *tap = taps + run->first;
    uint32_t level_count = run->fraction > 0.0f ? 2 : 1;
    f32x4 sum = f32x4_splat(0.0f);
    for (uint32_t i = 0; i < run->probe_count; ++i, tap += level_count) {
        f32x4 probe = tap[0];
        if (level_count == 2)
            probe += run->fraction * (tap[1] - probe);
        sum = i == 0 ? probe : sum + 1.0f / (float)(i + 1) * (probe - sum); /* a running mean */
    }
    return sum;
}

static void count_probes(Lookup *lk, const TapList *list)
{
    const TexRequest *r = lk->request;
    lk->probes += list->tap_count;
    for (uint32_t lanes = list->lanes; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        const TapRun *run = &list->runs[lane];
        if (run->probe_count == 0)
            continue;
        _Atomic uint64_t *counters =
            lookup_mip_counters(lk->thread, r->depths ? r->depths[lane] : r->depth) +
            list->taps[run->first].level;
        counter_add(&counters[0], run->probe_count);
        if (run->fraction > 0.0f)
            counter_add(&counters[1], run->probe_count);
    }
}

static uint32_t write_runs(const Lookup *lk, const TapList *list, uint32_t failed,
                           const Values *values, float *out_result)
{
    size_t stride = lk->request->lane_count;
    uint32_t missing = failed;
    for (uint32_t lanes = list->lanes & ~failed; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        const TapRun *run = &list->runs[lane];
        if (run->probe_count == 0) {
            missing |= 1u << lane;
            continue;
        }
        f32x4 mean = mean_of_run(run, values->taps);
        for (uint32_t i = 0; i < 4; ++i)
            out_result[i * stride + lane] = mean[i];
    }
    return missing;
}

uint32_t lookup_by_list(Lookup *lk, uint32_t lanes, float *out_result)
{
    ASSERT(lookup_has_list(lk));
    uint32_t missing = 0;
    Values values;
    for (uint32_t left = lanes; left;) {
        const TapList *list = list_of(lk, left);
        count_probes(lk, list);
        lk->bad_lanes += (uint32_t)__builtin_popcount(list->bad_lanes);
        blend_resident(lk, list, &values);
        uint32_t failed = 0;
        if (SORT_UNLIKELY(values.any_left)) {
            failed = blend_others(lk, list, &values);
            list = list_of(lk, left);
        }
        missing |= write_runs(lk, list, failed, &values, out_result);
        left &= ~list->lanes;
    }
    return missing;
}
