/* Computes the result of a request:
 *
 *   footprint (level, probes) -> taps (level, two texels an axis) -> quads of texels -> blends
 *   tex_place.h, footprint.c                                          tex_fetch.h       tex_list.c, tex_sample.c
 *
 * Lookups by the common filters go through a list of all taps (tex_list.c), the others lane by lane.
 * A tap's four texels usually lie in one resident tile, which takes one load of the tile's entry and
 * four of texels. Otherwise the tiles concerned are examined in turn, and the lookup waits for the
 * first missing one, after requesting all tiles that the rest of the request needs (tex_taps.c). */
#include "base/bits.h"
#include "base/check.h"
#include "textures/filter/tex_list.h"
#include "textures/filter/tex_sample.h"
#include <string.h>

static const float default_missing_color[4] = {1.0f, 0.0f, 1.0f, 1.0f};

static const float *missing_color(const TexRequest *r)
{
    return r->options && r->options->has_missing_color ? r->options->missing_color
                                                       : default_missing_color;
}

static void begin_lookup(TexCaller *caller, const TexRequest *r, Lookup *lk)
{
    ASSERT(r->lane_count >= 1 && r->lane_count <= TEX_MAX_LANES);
    TexThread *thread = caller->thread;
    lk->caller = caller;
    lk->thread = thread;
    lk->cache = thread->cache;
    lk->request = r;
    lk->has_asked_ahead = false;
    lk->left = NULL;
    lk->left_count = 0;
    lk->mip_probes = lookup_mip_counters(thread, r->depth);
    lk->probes = lk->tile_requests = lk->tile_hits = lk->bad_lanes = 0;
    lk->texture = texture_of(thread->cache, r->texture);
    if (lk->texture)
        resolve_options(lk->texture, r, &lk->options);
}

static void write_lane(const TexRequest *r, uint32_t lane, const Sample *sample, float *out_result)
{
    uint32_t stride = r->lane_count;
    for (uint32_t i = 0; i < 4; ++i)
        out_result[i * stride + lane] = sample->value[i];
    if (r->with_derivs) {
        for (uint32_t i = 0; i < 4; ++i) {
            out_result[(4 + i) * stride + lane] = sample->d_ds[i];
            out_result[(8 + i) * stride + lane] = -sample->d_dv[i];
        }
    }
}

/* Writes the missing colour, which has no derivatives. */
static void write_missing(const TexRequest *r, uint32_t lane, float *out_result)
{
    const float *color = missing_color(r);
    uint32_t stride = r->lane_count;
    for (uint32_t i = 0; i < 4; ++i)
        out_result[i * stride + lane] = color[i];
    for (uint32_t i = 4; r->with_derivs && i < 12; ++i)
        out_result[i * stride + lane] = 0.0f;
}

static uint32_t live_lanes(const TexRequest *r)
{
    return r->lane_count == 32 ? r->lane_mask : r->lane_mask & ((1u << r->lane_count) - 1);
}

/* Places all live lanes and prefetches their texels. Lanes often have equal footprints, as those of a sky have. */
static void place_lanes(const Lookup *lk, LanePlace *out_places)
{
    const TexRequest *r = lk->request;
    uint32_t known = TEX_MAX_LANES; /* the last lane with a footprint */
    for (uint32_t left = live_lanes(r); left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        bool is_alike = known < TEX_MAX_LANES && have_equal_footprints(r, lane, known);
        place_lane(lk, lane, is_alike ? &out_places[known] : NULL, &out_places[lane]);
        if (!out_places[lane].has_place)
            continue;
        known = lane;
        lookup_prefetch_lane(lk, &out_places[lane]);
    }
}

/* Looks up lane after lane. Returns the lanes without a result. */
static uint32_t lookup_each(Lookup *lk, uint32_t lanes, float *out_result)
{
    const TexRequest *r = lk->request;
    LanePlace places[TEX_MAX_LANES];
    uint32_t missing = 0;
    place_lanes(lk, places);
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        const LanePlace *place = &places[lane];
        lk->lane = lane;
        if (r->depths)
            lk->mip_probes = lookup_mip_counters(lk->thread, r->depths[lane]);
        lk->bad_lanes += !place->has_place || place->footprint.is_bad;
        Sample sample;
        if (place->has_place && lookup_sample_lane(lk, place, &sample))
            write_lane(r, lane, &sample, out_result);
        else
            missing |= 1u << lane;
    }
    return missing;
}

static void count_lookup(const Lookup *lk, uint32_t lanes, uint32_t missing)
{
    ThreadCounters *n = &lk->thread->counters;
    uint32_t lane_count = bit_count(lanes);
    counter_add(&n->lookups, lane_count);
    if (lk->texture)
        counter_add(cache_lookup_counter(lk->thread, lk->texture), lane_count);
    counter_add(&n->bad_lookups, lk->bad_lanes);
    counter_add(&n->missing, bit_count(missing));
    counter_add(&n->probes, lk->probes);
    counter_add(&n->tile_requests, lk->tile_requests);
    counter_add(&n->tile_hits, lk->tile_hits);
}

uint32_t texcache_lookup(TexCaller *caller, const TexRequest *r, float *out_result)
{
    Lookup lk;
    begin_lookup(caller, r, &lk);
    if (SORT_UNLIKELY(lk.texture && lk.texture->udim))
        return udim_lookup(caller, r, lk.texture, out_result);
    uint32_t lanes = live_lanes(r), missing = lanes;
    if (lk.texture) {
        if (SORT_UNLIKELY(lk.thread->trace != NULL))
            cache_record_request(lk.thread, lk.texture, r);
        lookup_enter(&lk);
        missing = lookup_has_list(&lk) ? lookup_by_list(&lk, lanes, out_result)
                                       : lookup_each(&lk, lanes, out_result);
        lookup_leave(&lk);
    }
    for (uint32_t left = missing; left; left &= left - 1)
        write_missing(r, (uint32_t)__builtin_ctz(left), out_result);
    ASSERT(lk.tile_hits <= lk.tile_requests);
    count_lookup(&lk, lanes, missing);
    return missing;
}

void texcache_touch(TexCaller *caller, const TexRequest *r)
{
    Lookup lk;
    begin_lookup(caller, r, &lk);
    if (lk.texture && lk.texture->udim)
        udim_touch(caller, r, lk.texture, false);
    else if (lk.texture)
        lookup_ask_ahead(&lk, 0);
}
