#include "textures/filter/tex_taps.h"
#include "textures/filter/tex_fetch.h"

uint32_t tap_tiles(const Texture *texture, const TexTap *tap, uint32_t out_tiles[4])
{
    ASSERT(tap->level < texture->level_count);
    const TexLevel *level = &texture->levels[tap->level];
    uint32_t count = 0;
    for (uint32_t k = 0; k < 4; ++k) {
        uint32_t tile = tile_number(level, tap->x[k], tap->y[k]);
        uint32_t i = 0;
        while (i < count && out_tiles[i] != tile)
            ++i;
        if (i == count)
            out_tiles[count++] = tile;
    }
    return count;
}

typedef struct Visit {
    const Lookup *lookup;
    void (*visit)(void *data, const TexTap *tap);
    void *data;
    uint32_t lane;
} Visit;

/* The tap's part of the derivatives of a lane whose value it is `share` of. */
static void add_slopes(const Tap *tap, float share, TexTap *out)
{
    float scale_s = share * tap->x.slope_sign * (float)tap->level->width;
    float scale_v = share * tap->y.slope_sign * (float)tap->level->height;
    for (uint32_t k = 0; k < 4; ++k) {
        bool is_outside = (tap->x.outside >> (k & 1) & 1u) || (tap->y.outside >> (k >> 1) & 1u);
        float weight_x = k & 1 ? tap->x.fraction : 1.0f - tap->x.fraction;
        float weight_y = k >> 1 ? tap->y.fraction : 1.0f - tap->y.fraction;
        out->slopes_s[k] = is_outside ? 0.0f : (k & 1 ? scale_s : -scale_s) * weight_y;
        out->slopes_t[k] = is_outside ? 0.0f : (k >> 1 ? -scale_v : scale_v) * weight_x;
    }
}

/* share: of the tap in the lane's value; slope_share: in its derivatives. */
static void visit_tap(const Visit *v, const Tap *tap, float share, float slope_share)
{
    const AxisTap *x = &tap->x, *y = &tap->y;
    if (x->outside == 3 || y->outside == 3)
        return;
    TexTap seen = {.lane = v->lane, .level = (uint32_t)(tap->level - v->lookup->texture->levels)};
    tap_texels(tap, seen.x, seen.y);
    for (uint32_t k = 0; k < 4; ++k) {
        bool is_outside = (x->outside >> (k & 1) & 1u) || (y->outside >> (k >> 1) & 1u);
        float weight_x = k & 1 ? x->fraction : 1.0f - x->fraction;
        float weight_y = k >> 1 ? y->fraction : 1.0f - y->fraction;
        seen.weights[k] = is_outside ? 0.0f : share * weight_x * weight_y;
    }
    if (v->lookup->request->with_derivs)
        add_slopes(tap, slope_share, &seen);
    v->visit(v->data, &seen);
}

static void visit_cubic(const Visit *v, const LanePlace *place)
{
    CubicPlace c = cubic_place(v->lookup, place);
    if (c.x.outside == 0xf || c.y.outside == 0xf)
        return;
    for (uint32_t k = 0; k < 4; ++k) {
        Tap tap = cubic_quad(&c, k);
        TexTap seen = {.lane = v->lane, .level = 0};
        tap_texels(&tap, seen.x, seen.y);
        for (uint32_t n = 0; n < 4; ++n) {
            uint32_t column = 2 * (k & 1) + (n & 1), row = 2 * (k >> 1) + (n >> 1);
            bool is_black = (c.x.outside >> column & 1u) || (c.y.outside >> row & 1u);
            float width = is_black ? 0.0f : (float)c.level->width;
            float height = is_black ? 0.0f : (float)c.level->height;
            seen.weights[n] = is_black ? 0.0f : c.x.weights[column] * c.y.weights[row];
            seen.slopes_s[n] = width * c.x.slopes[column] * c.y.weights[row];
            seen.slopes_t[n] = -height * c.x.weights[column] * c.y.slopes[row];
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
    const float shares[2] = {share * (1.0f - fraction), share * fraction};
    for (uint32_t i = 0; i < f->probe_count; ++i) {
        double s, t;
        probe_place(place, i, &s, &t);
        for (uint32_t k = 0; k < (fraction > 0.0f ? 2u : 1u); ++k) {
            Tap tap = make_tap(lk, level + k, s, t);
            visit_tap(v, &tap, shares[k], shares[k]);
        }
    }
}

static void visit_lane(const Visit *v, const LanePlace *place)
{
    const Lookup *lk = v->lookup;
    if (lk->options.filter == TEX_FILTER_STOCHASTIC) {
        StochasticPlace chosen = stochastic_place(lk, v->lane, place);
        if (lk->request->with_derivs) { /* derivatives need the whole tap */
            Tap tap = make_tap(lk, chosen.level, chosen.s, chosen.v);
            visit_tap(v, &tap, 0.0f, 1.0f);
        }
        visit_tap(v, &chosen.tap, 1.0f, 0.0f);
    } else if (is_cubic(lk, &place->footprint)) {
        visit_cubic(v, place);
    } else {
        visit_probes(v, place);
    }
}

static void visit_lanes(const Lookup *lk, uint32_t first_lane,
                        void (*visit)(void *data, const TexTap *tap), void *data)
{
    Visit v = {.lookup = lk, .visit = visit, .data = data};
    LanePlace place, alike; /* neighbours often have one footprint */
    uint32_t known = UINT32_MAX;
    for (v.lane = first_lane; v.lane < lk->request->lane_count; ++v.lane) {
        if (!(lk->request->lane_mask >> v.lane & 1u))
            continue;
        bool is_alike = known != UINT32_MAX && have_equal_footprints(lk->request, v.lane, known);
        place_lane(lk, v.lane, is_alike ? &alike : NULL, &place);
        if (!place.has_place)
            continue;
        if (!is_alike)
            alike.footprint = place.footprint;
        known = v.lane;
        visit_lane(&v, &place);
    }
}

void taps_visit(Texture *texture, const TexRequest *r, uint32_t first_lane,
                void (*visit)(void *data, const TexTap *tap), void *data)
{
    Lookup lk = {.texture = texture, .request = r};
    resolve_options(texture, r, &lk.options);
    visit_lanes(&lk, first_lane, visit, data);
}

/* --- asking ahead ------------------------------------------------------------------------- */

/* Tile numbers to be requested. */
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

static void list_add_tap(void *data, const TexTap *tap)
{
    TileList *list = data;
    const Texture *texture = list->lookup->texture;
    uint32_t tiles[4];
    uint32_t tile_count = tap_tiles(texture, tap, tiles);
    for (uint32_t k = 0; k < tile_count; ++k) {
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

static void list_add_left(TileList *list)
{
    const Lookup *lk = list->lookup;
    for (uint32_t k = 0; k < lk->left_count; ++k) {
        const ListedTap *tap = &lk->thread->taps.taps[lk->left[k]];
        uint32_t left = tap->texels[0], right = tap->texels[1];
        uint32_t up = tap->texels[2], down = tap->texels[3];
        TexTap texels = {.lane = tap->lane,
                         .level = tap->level,
                         .x = {left, right, left, right},
                         .y = {up, up, down, down}};
        list_add_tap(list, &texels);
    }
}

void lookup_ask_ahead(const Lookup *lk, uint32_t first_lane)
{
    TileList list = {.lookup = lk};
    if (lk->left)
        list_add_left(&list);
    else
        visit_lanes(lk, first_lane, list_add_tap, &list);
    list_flush(&list);
}
