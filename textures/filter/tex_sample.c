#include "textures/filter/tex_sample.h"
#include <string.h>

/* Blends the four texels of a tap, given as linear rgba. */
static void blend_quad(const Tap *tap, float quad[4][4], bool with_derivs, Sample *out)
{
    const AxisTap *x = &tap->x, *y = &tap->y;
    for (uint32_t k = 0; k < 4; ++k) {
        if ((x->outside >> (k & 1) & 1u) || (y->outside >> (k >> 1) & 1u))
            memset(quad[k], 0, sizeof quad[k]);
    }
    f32x4 a = f32x4_load(quad[0]), b = f32x4_load(quad[1]);
    f32x4 c = f32x4_load(quad[2]), d = f32x4_load(quad[3]);
    out->value = texel_blend4(a, b, c, d, x->fraction, y->fraction);
    if (!with_derivs)
        return;
    float scale_s = x->slope_sign * (float)tap->level->width;
    float scale_v = y->slope_sign * (float)tap->level->height;
    f32x4 upper_step = b - a, lower_step = d - c, left_step = c - a, right_step = d - b;
    out->d_ds = (upper_step + y->fraction * (lower_step - upper_step)) * scale_s;
    out->d_dv = (left_step + x->fraction * (right_step - left_step)) * scale_v;
}

/* Samples one bilinear (or closest) tap. Returns false if a tile has failed. */
static bool sample_tap(Lookup *lk, uint32_t level, const Tap *tap, bool with_derivs, Sample *out)
{
    ASSERT(tap->level == &lk->texture->levels[level]);
    counter_add(&lk->mip_probes[level], 1);
    ++lk->probes;
    if (tap->x.outside == 3 || tap->y.outside == 3) {
        *out = (Sample){0};
        return true;
    }
    float quad[4][4];
    if (!lookup_fetch_quad(lk, tap, quad))
        return false;
    blend_quad(tap, quad, with_derivs, out);
    return true;
}

SORT_ALWAYS_INLINE void blend_samples(Sample *a, const Sample *b, float fraction, bool with_derivs)
{
    a->value += fraction * (b->value - a->value);
    if (with_derivs) {
        a->d_ds += fraction * (b->d_ds - a->d_ds);
        a->d_dv += fraction * (b->d_dv - a->d_dv);
    }
}

/* Computes the taps of probe i: in the finer level, and in the coarser one if it counts. */
SORT_ALWAYS_INLINE void probe_taps(const Lookup *lk, const LanePlace *place, uint32_t i,
                                   Tap out_taps[2])
{
    double s, v;
    probe_place(place, i, &s, &v);
    uint32_t fine = (uint32_t)place->footprint.level;
    out_taps[0] = make_tap(lk, fine, s, v);
    if (place->footprint.level > (float)fine)
        out_taps[1] = make_tap(lk, fine + 1, s, v);
}

/* Samples one probe by its taps, in one level or blended between two. */
SORT_ALWAYS_INLINE bool sample_probe(Lookup *lk, const Tap taps[2], float level, bool with_derivs,
                                     Sample *out)
{
    uint32_t fine = (uint32_t)level;
    float fraction = level - (float)fine;
    if (!sample_tap(lk, fine, &taps[0], with_derivs, out))
        return false;
    if (fraction > 0.0f) {
        Sample coarse;
        if (!sample_tap(lk, fine + 1, &taps[1], with_derivs, &coarse))
            return false;
        blend_samples(out, &coarse, fraction, with_derivs);
    }
    return true;
}

static bool sample_cubic(Lookup *lk, const LanePlace *place, Sample *out)
{
    CubicPlace c = cubic_place(lk, place);
    float texels[4][4][4]; /* [row][column][channel] */
    *out = (Sample){0};
    if (c.x.outside == 0xf || c.y.outside == 0xf)
        return true;
    for (uint32_t k = 0; k < 4; ++k) {
        counter_add(&lk->mip_probes[0], 1);
        ++lk->probes;
        Tap tap = cubic_quad(&c, k);
        float quad[4][4];
        if (!lookup_fetch_quad(lk, &tap, quad))
            return false;
        for (uint32_t n = 0; n < 4; ++n) {
            uint32_t column = 2 * (k & 1) + (n & 1), row = 2 * (k >> 1) + (n >> 1);
            bool is_black = (c.x.outside >> column & 1u) || (c.y.outside >> row & 1u);
            for (uint32_t i = 0; i < 4; ++i)
                texels[row][column][i] = is_black ? 0.0f : quad[n][i];
        }
    }
    float width = (float)c.level->width, height = (float)c.level->height;
    for (uint32_t i = 0; i < 4; ++i) {
        /* Differences from one of the texels are summed, so that equal texels give exactly their value. */
        float base = texels[1][1][i], sum = 0.0f, d_ds = 0.0f, d_dv = 0.0f;
        for (uint32_t row = 0; row < 4; ++row) {
            float line = 0.0f, slope = 0.0f;
            for (uint32_t column = 0; column < 4; ++column) {
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

/* Samples one of the texels that ANISO would blend. Derivatives are those of the whole tap that contains it. */
static bool sample_stochastic(Lookup *lk, const LanePlace *place, Sample *out)
{
    StochasticPlace chosen = stochastic_place(lk, lk->lane, place);
    *out = (Sample){0};
    if (lk->request->with_derivs) {
        Tap tap = make_tap(lk, chosen.level, chosen.s, chosen.v);
        if (!sample_tap(lk, chosen.level, &tap, true, out))
            return false;
    }
    counter_add(&lk->mip_probes[chosen.level], 1);
    ++lk->probes;
    if (chosen.tap.x.outside || chosen.tap.y.outside) {
        out->value = f32x4_splat(0.0f);
        return true;
    }
    float quad[4][4];
    if (!lookup_fetch_quad(lk, &chosen.tap, quad))
        return false;
    out->value = f32x4_load(quad[0]);
    return true;
}

SORT_ALWAYS_INLINE bool sample_probes(Lookup *lk, const LanePlace *place, bool with_derivs,
                                      Sample *out)
{
    const Footprint *f = &place->footprint;
    if (!sample_probe(lk, place->taps, f->level, with_derivs, out))
        return false;
    for (uint32_t i = 1; i < f->probe_count; ++i) {
        Tap taps[2];
        probe_taps(lk, place, i, taps);
        Sample probe;
        if (!sample_probe(lk, taps, f->level, with_derivs, &probe))
            return false;
        blend_samples(out, &probe, 1.0f / (float)(i + 1), with_derivs); /* a running mean */
    }
    return true;
}

void lookup_prefetch_lane(const Lookup *lk, LanePlace *place)
{
    const Footprint *f = &place->footprint;
    bool has_coarse = f->level > (float)(uint32_t)f->level;
    for (uint32_t i = 0; i < f->probe_count; ++i) {
        Tap others[2], *taps = i == 0 ? place->taps : others;
        probe_taps(lk, place, i, taps);
        prefetch_texels(lk, &taps[0]);
        if (has_coarse)
            prefetch_texels(lk, &taps[1]);
    }
}

bool lookup_sample_lane(Lookup *lk, const LanePlace *place, Sample *out)
{
    if (SORT_UNLIKELY(lk->options.filter > TEX_FILTER_ANISO)) {
        if (lk->options.filter == TEX_FILTER_STOCHASTIC)
            return sample_stochastic(lk, place, out);
        if (is_cubic(lk, &place->footprint))
            return sample_cubic(lk, place, out);
    }
    return lk->request->with_derivs ? sample_probes(lk, place, true, out)
                                    : sample_probes(lk, place, false, out);
}
