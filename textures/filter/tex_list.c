/* Lookups by a list of taps. The textures of a material are mostly read at the same coordinates and have the same size, so the
 * list of one lookup, which depends on these alone, serves the next ones too; tiles and texels are each texture's own. */
#include "textures/filter/tex_list.h"
#include "base/bits.h"
#include "base/check.h"
#include "textures/filter/tap_point.h"
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

/* Returns whether the coordinates of the wanted lanes have the bits of those that the list was made for. */
SORT_ALWAYS_INLINE bool has_coordinates(const TapList *list, const float *coord, uint32_t count)
{
    i32x4 difference = {0};
    int32_t rest = 0;
    uint32_t whole = count - count % 4;
    for (uint32_t lane = 0; lane < whole; lane += 4) {
        i32x4 of_lanes = {0};
        for (uint32_t i = 0; i < TAP_COORDINATES; ++i)
            of_lanes |= i32x4_load(coord + (size_t)i * count + lane) ^ list->coord[i][lane / 4];
        difference |= of_lanes & list->is_wanted[lane / 4];
    }
    for (uint32_t lane = whole; lane < count; ++lane)
        for (uint32_t i = 0; i < TAP_COORDINATES; ++i) {
            int32_t a;
            memcpy(&a, &coord[(size_t)i * count + lane], sizeof a);
            rest |= (a ^ list->coord[i][lane / 4][lane % 4]) & list->is_wanted[lane / 4][lane % 4];
        }
    return (difference[0] | difference[1] | difference[2] | difference[3] | rest) == 0;
}

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
    return r->lane_count == 16
               ? has_coordinates(list, r->coord, 16) /* a number that the compiler knows */
               : has_coordinates(list, r->coord, r->lane_count);
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
    for (uint32_t four = 0; four < TEX_MAX_LANES / 4; ++four)
        list->is_wanted[four] = ((i32x4){1, 2, 4, 8} & (int32_t)(lanes >> 4 * four)) != 0;
    for (uint32_t i = 0; i < TAP_COORDINATES; ++i)
        memcpy(list->coord[i], r->coord + (size_t)i * r->lane_count, r->lane_count * sizeof(float));
}

static void add_tap(TapList *list, const Lookup *lk, uint32_t lane, uint32_t level, double s,
                    double v)
{
    ASSERT(list->tap_count < TAP_LIST_MAX);
    ListedTap *tap = &list->taps[list->tap_count];
    TexelTap *blend = &list->blends[list->tap_count++];
    float fraction[2];
    ++list->level_taps[level];
    tap->level = (uint16_t)level;
    tap->lane = (uint16_t)lane;
    tap_at(s, v, &lk->texture->levels[level], &lk->options, tap->texels, fraction);
    blend->fraction_x = fraction[0];
    blend->fraction_y = fraction[1];
}

/* Adds the taps of a lane. Returns false if the list has no room for them. */
static bool add_lane(TapList *list, const Lookup *lk, uint32_t lane, const LanePlace *place)
{
    TapRun *out_run = &list->runs[lane];
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
        add_tap(list, lk, lane, level, s, v);
        if (fraction > 0.0f)
            add_tap(list, lk, lane, level + 1, s, v);
    }
    out_run->probe_count = f->probe_count;
    out_run->fraction = fraction;
    list->first_level = level < list->first_level ? level : list->first_level;
    level += fraction > 0.0f ? 2 : 1;
    list->end_level = level > list->end_level ? level : list->end_level;
    return true;
}

static void make_list(TapList *list, const Lookup *lk, uint32_t lanes)
{
    const TexRequest *r = lk->request;
    const TexLevel *finest = &lk->texture->levels[0];
    bool is_aniso = lk->options.filter == TEX_FILTER_ANISO && lk->options.mip == TEX_MIP_FOOTPRINT;
    FootprintRows footprints;
    note_request(list, lk, lanes);
    list->lanes = list->bad_lanes = list->tap_count = 0;
    memset(list->level_taps, 0, sizeof list->level_taps);
    list->first_level = TEX_MAX_LEVELS;
    list->end_level = 0;
    list->places.tail_count = 0;
    if (is_aniso)
        footprints_of(r->coord + 2 * (size_t)r->lane_count, r->lane_count, finest->width,
                      finest->height, lk->texture->level_count, &lk->options, &footprints);
    for (uint32_t left = lanes; left; left &= left - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(left);
        LanePlace place;
        if (is_aniso) {
            place.has_place = place_coordinates(r, lane, &place.s, &place.v);
            footprint_at(&footprints, lane, &place.footprint);
        } else {
            place_lane(lk, lane, NULL, &place);
        }
        if (!add_lane(list, lk, lane, &place))
            break;
        list->lanes |= 1u << lane;
        bool is_bad = !place.has_place || place.footprint.is_bad;
        list->bad_lanes |= (uint32_t)is_bad << lane;
    }
    ASSERT(list->lanes != 0);
}

/* Returns the thread's list, made for these lanes. It is valid until the lookup waits, since other fibers of the thread use
 * it meanwhile. */
static TapList *list_of(const Lookup *lk, uint32_t lanes)
{
    TapList *list = &lk->thread->taps;
    if (!is_list_of(list, lk, lanes))
        make_list(list, lk, lanes);
    return list;
}

/* --- places -------------------------------------------------------------------------------- */

static void place_taps(TapList *list, const Texture *texture)
{
    TapPlaces *out = &list->places;
    uint16_t latest[TEX_MAX_LEVELS] = {0}; /* the tile of each level that was listed last */
    uint32_t masks[TEX_MAX_LEVELS][2];     /* of columns and rows within a tile of each level */
    out->tile_log2_x = texture->levels[0].tile_log2_x;
    out->tile_log2_y = texture->levels[0].tile_log2_y;
    out->tail_count = texture->tail_count;
    out->tiles[TAP_IN_SEVERAL_TILES].number = UINT32_MAX;
    out->tile_count = 1;
    for (uint32_t i = list->first_level; i < list->end_level; ++i) {
        masks[i][0] = (1u << texture->levels[i].tile_log2_x) - 1;
        masks[i][1] = (1u << texture->levels[i].tile_log2_y) - 1;
    }
    for (uint32_t k = 0; k < list->tap_count; ++k) {
        const ListedTap *tap = &list->taps[k];
        TexelTap *blend = &list->blends[k];
        const TexLevel *level = &texture->levels[tap->level];
        uint32_t x = tap->texels[0], right = tap->texels[1];
        uint32_t y = tap->texels[2], down = tap->texels[3];
        uint32_t mask_x = masks[tap->level][0], mask_y = masks[tap->level][1];
        bool is_in_several = ((x ^ right) & ~mask_x) | ((y ^ down) & ~mask_y);
        uint32_t number = tile_number(level, x, y);
        if (out->tiles[latest[tap->level]].number != number && !is_in_several) {
            latest[tap->level] = (uint16_t)out->tile_count;
            out->tiles[out->tile_count++] = (ListedTile){.number = number, .tap = k};
        }
        blend->tile = is_in_several ? TAP_IN_SEVERAL_TILES : latest[tap->level];
        blend->offset = level->offset + (y & mask_y) * level->row_texels + (x & mask_x);
        blend->right = (int32_t)(right - x);
        blend->down = (int32_t)((down - y) * level->row_texels);
    }
}

/* Computes the places of the list's taps in such a texture, unless they are known. */
static void ensure_places(TapList *list, const Texture *texture)
{
    const TexLevel *finest = &texture->levels[0];
    const TapPlaces *known = &list->places;
    ASSERT(texture->tail_count > 0);
    if (known->tail_count != texture->tail_count || known->tile_log2_x != finest->tile_log2_x ||
        known->tile_log2_y != finest->tile_log2_y)
        place_taps(list, texture);
}

/* --- texels ------------------------------------------------------------------------------- */

/* The tap's values, and the taps that are left because their texels lie in several tiles or in one that is not resident. */
typedef struct Values {
    f32x4 taps[TAP_LIST_MAX];
    uint16_t left[TAP_LIST_MAX];
    uint32_t left_count;
} Values;

static Tap tap_of(const Lookup *lk, const TapList *list, uint32_t i)
{
    const uint32_t *texels = list->taps[i].texels;
    return (Tap){
        .level = &lk->texture->levels[list->taps[i].level],
        .x = {texels[0], texels[1], list->blends[i].fraction_x, 1.0f, 0},
        .y = {texels[2], texels[3], list->blends[i].fraction_y, 1.0f, 0},
    };
}

/* Finds the memory of the list's tiles that are resident, and asks for the texels of the first tap in each. */
static void find_tiles(const Lookup *lk, TapList *list)
{
    const SlabPool *slabs = &lk->cache->slabs;
    const TileEntry *entries = lk->texture->entries;
    const TapPlaces *places = &list->places;
    const uint8_t **out_tiles = list->tiles;
    ptrdiff_t texel_bytes = (ptrdiff_t)lk->texture->texel_bytes;
    out_tiles[TAP_IN_SEVERAL_TILES] = NULL;
    for (uint32_t i = 1; i < places->tile_count; ++i) {
        uint32_t entry = atomic_load(&entries[places->tiles[i].number].word);
        if (SORT_UNLIKELY(entry_tag(entry) != ENTRY_READY)) {
            out_tiles[i] = NULL;
            continue;
        }
        const TexelTap *tap = &list->blends[places->tiles[i].tap];
        const uint8_t *tile = slab_address(slabs, entry_payload(entry));
        const uint8_t *first = tile + tap->offset * texel_bytes;
        slab_mark_used(slabs, entry_payload(entry));
        SORT_PREFETCH(first);
        SORT_PREFETCH(first + tap->down * texel_bytes);
        out_tiles[i] = tile;
    }
}

/* Writes the values of the taps in tiles of one colour, and lists the others that are left. */
static void take_constants(const Lookup *lk, const TapList *list, Values *out)
{
    uint32_t left_count = 0;
    for (uint32_t k = 0; k < out->left_count; ++k) {
        uint32_t i = out->left[k], tile = list->blends[i].tile;
        uint32_t entry =
            tile == TAP_IN_SEVERAL_TILES
                ? entry_make(ENTRY_EMPTY, 0)
                : atomic_load(&lk->texture->entries[list->places.tiles[tile].number].word);
        if (entry_tag(entry) == ENTRY_CONSTANT)
            out->taps[i] = f32x4_load(lk->cache->constants[entry_payload(entry)]);
        else
            out->left[left_count++] = (uint16_t)i;
    }
    out->left_count = left_count;
}

/* Blends the taps whose texels lie in one resident tile, and lists the others. */
static void blend_resident(Lookup *lk, TapList *list, Values *out)
{
    ensure_places(list, lk->texture);
    find_tiles(lk, list);
    out->left_count = lk->texture->blend_taps(&lk->cache->texels, list->tiles, list->blends,
                                              list->tap_count, out->taps, out->left);
    take_constants(lk, list, out);
    lk->tile_requests += list->tap_count - out->left_count;
    lk->tile_hits += list->tap_count - out->left_count;
}

static f32x4 blend_quad(const Tap *tap, float quad[4][4])
{
    return texel_blend4(f32x4_load(quad[0]), f32x4_load(quad[1]), f32x4_load(quad[2]),
                        f32x4_load(quad[3]), tap->x.fraction, tap->y.fraction);
}

/* Fetches those of the taps that are left whose tiles are all resident. */
static void blend_across_tiles(Lookup *lk, const TapList *list, Values *values)
{
    uint32_t left_count = 0;
    for (uint32_t k = 0; k < values->left_count; ++k) {
        float quad[4][4];
        uint32_t i = values->left[k];
        Tap tap = tap_of(lk, list, i);
        if (lookup_fetch_resident(lk, &tap, quad))
            values->taps[i] = blend_quad(&tap, quad);
        else
            values->left[left_count++] = (uint16_t)i;
    }
    values->left_count = left_count;
}

/* Fetches the other taps tile by tile, and waits for tiles. Returns the lanes of which a tile has failed. */
static SORT_NOINLINE uint32_t await_others(Lookup *lk, const TapList *list, Values *values)
{
    uint64_t number = list->number;
    uint32_t failed = 0, wanted = list->wanted;
    bool is_whole = list->lanes == wanted;
    lk->left = is_whole ? values->left : NULL;
    lk->left_count = is_whole ? values->left_count : 0;
    for (uint32_t k = 0; k < values->left_count; ++k) {
        uint32_t i = values->left[k];
        lk->lane = list->taps[i].lane;
        if (failed >> lk->lane & 1u)
            continue;
        float quad[4][4];
        Tap tap = tap_of(lk, list, i);
        if (lookup_fetch_slowly(lk, &tap, quad))
            values->taps[i] = blend_quad(&tap, quad);
        else
            failed |= 1u << lk->lane;
        if (list->number != number) { /* another fiber used the list while this one waited */
            list = list_of(lk, wanted);
            number = list->number;
        }
    }
    return failed;
}

/* --- results ------------------------------------------------------------------------------ */

/* The value of a probe: its tap, or that blended with the next one, which is in the coarser level. */
SORT_ALWAYS_INLINE f32x4 probe_value(const f32x4 *tap, uint32_t level_count, float fraction)
{
    return level_count == 1 ? tap[0] : tap[0] + fraction * (tap[1] - tap[0]);
}

/* The running mean over a lane's probes. */
static f32x4 mean_of_run(const TapRun *run, const f32x4 *taps)
{
    const f32x4 *tap = taps + run->first;
    uint32_t level_count = run->fraction > 0.0f ? 2 : 1;
    f32x4 mean = probe_value(tap, level_count, run->fraction);
    for (uint32_t i = 1; i < run->probe_count; ++i) {
        tap += level_count;
        mean += 1.0f / (float)(i + 1) * (probe_value(tap, level_count, run->fraction) - mean);
    }
    return mean;
}

/* Returns whether all lanes that the list was made for are at the path depth of `lane`. */
static bool is_one_depth(const TapList *list, const TexRequest *r, uint32_t lane)
{
    int32_t difference = 0;
    for (uint32_t i = 0; r->depths && i < r->lane_count; ++i)
        difference |= (int32_t)(r->depths[i] ^ r->depths[lane]) & list->is_wanted[i / 4][i % 4];
    return difference == 0;
}

static _Atomic uint64_t *counters_of(Lookup *lk, uint32_t lane)
{
    const TexRequest *r = lk->request;
    return lookup_mip_counters(lk->thread, r->depths ? r->depths[lane] : r->depth);
}

static void count_probes(Lookup *lk, const TapList *list)
{
    uint32_t first_lane = (uint32_t)__builtin_ctz(list->lanes);
    lk->probes += list->tap_count;
    if (is_one_depth(list, lk->request, first_lane)) {
        _Atomic uint64_t *counters = counters_of(lk, first_lane);
        for (uint32_t i = list->first_level; i < list->end_level; ++i)
            counter_add(&counters[i], list->level_taps[i]);
        return;
    }
    for (uint32_t lanes = list->lanes; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        const TapRun *run = &list->runs[lane];
        if (run->probe_count == 0)
            continue;
        _Atomic uint64_t *counters = counters_of(lk, lane) + list->taps[run->first].level;
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
        TapList *list = list_of(lk, left);
        count_probes(lk, list);
        lk->bad_lanes += bit_count(list->bad_lanes);
        blend_resident(lk, list, &values);
        uint32_t failed = 0;
        if (values.left_count > 0)
            blend_across_tiles(lk, list, &values);
        if (SORT_UNLIKELY(values.left_count > 0)) {
            uint64_t number = list->number;
            failed = await_others(lk, list, &values);
            if (list->number != number) /* as there */
                list = list_of(lk, left);
        }
        missing |= write_runs(lk, list, failed, &values, out_result);
        left &= ~list->lanes;
    }
    return missing;
}
