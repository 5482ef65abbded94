#include "textures/tex_sample.h"
#include <string.h>

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
    } else if (!tex_fetch_slowly(lk, &tap, quad)) {
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
        if (!tex_fetch_quad(lk, &tap, quad))
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
    if (!tex_fetch_quad(lk, &chosen.tap, quad))
        return false;
    memcpy(out->value, quad[0], sizeof out->value);
    return true;
}

bool tex_sample_lane(Lookup *lk, const LanePlace *place, Sample *out)
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
