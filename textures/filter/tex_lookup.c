/* Computes the result of a request, lane by lane:
 *
 *   footprint (level, probes) -> taps (level, two texels an axis) -> quads of texels -> blends
 *   tex_place.h, footprint.c                                          tex_fetch.h       tex_sample.c
 *
 * A tap's four texels usually lie in one resident tile, which takes one load of the tile's entry and
 * four of texels. Otherwise the tiles concerned are examined in turn, and the lookup waits for the
 * first missing one, after requesting all tiles that the rest of the request needs (tex_taps.c). */
#include "base/check.h"
#include "textures/filter/tex_sample.h"
#include <string.h>

static const float default_missing_color[4] = {1.0f, 0.0f, 1.0f, 1.0f};

static const float *missing_color(const TexRequest *r)
{
    return r->options && r->options->has_missing_color ? r->options->missing_color
                                                       : default_missing_color;
}

static _Atomic uint64_t *mip_counters(TexThread *thread, uint32_t depth)
{
    return thread->counters.mip_probes[depth < TEX_DEPTH_BUCKETS ? depth : TEX_DEPTH_BUCKETS - 1];
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
    lk->mip_probes = mip_counters(thread, r->depth);
    lk->probes = lk->tile_requests = lk->tile_hits = 0;
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

uint32_t texcache_lookup(TexCaller *caller, const TexRequest *r, float *out_result)
{
    Lookup lk;
    begin_lookup(caller, r, &lk);
    if (SORT_UNLIKELY(lk.texture && lk.texture->udim))
        return udim_lookup(caller, r, lk.texture, out_result);
    uint32_t missing = 0, lanes = 0, missing_lanes = 0, bad_lanes = 0;
    if (lk.texture) {
        if (SORT_UNLIKELY(lk.thread->trace != NULL))
            cache_record_request(lk.thread, lk.texture, r);
        lookup_enter(&lk);
    }
    LanePlace places[TEX_MAX_LANES];
    if (lk.texture)
        place_lanes(&lk, places);
    for (uint32_t left = live_lanes(r); left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        lk.lane = lane;
        ++lanes;
        if (r->depths)
            lk.mip_probes = mip_counters(lk.thread, r->depths[lane]);
        Sample sample;
        bool ok = false;
        if (lk.texture) {
            const LanePlace *place = &places[lane];
            bad_lanes += !place->has_place || place->footprint.is_bad;
            ok = place->has_place && lookup_sample_lane(&lk, place, &sample);
        }
        if (ok) {
            write_lane(r, lane, &sample, out_result);
        } else {
            write_missing(r, lane, out_result);
            missing |= 1u << lane;
            ++missing_lanes;
        }
    }
    if (lk.texture)
        lookup_leave(&lk);
    ASSERT(lk.tile_hits <= lk.tile_requests);
    ThreadCounters *n = &lk.thread->counters;
    counter_add(&n->lookups, lanes);
    if (lk.texture)
        counter_add(cache_lookup_counter(lk.thread, lk.texture), lanes);
    counter_add(&n->bad_lookups, bad_lanes);
    counter_add(&n->missing, missing_lanes);
    counter_add(&n->probes, lk.probes);
    counter_add(&n->tile_requests, lk.tile_requests);
    counter_add(&n->tile_hits, lk.tile_hits);
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
