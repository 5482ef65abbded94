#include "sort/bsdf/bsdf_delta.h"

#include "base/check.h"
#include "sort/wide/wide.h"

#define SAME_RAD 1e-3f
/* The largest number below 1. */
#define LAST 0x1.fffffep-1f

static bool is_same(float3 a, float3 b)
{
    return f3_length2(f3_sub(a, b)) < SAME_RAD * SAME_RAD;
}

/* Sets the random numbers by which sampling chooses a lobe, and within it the first side or the last. before: what lobes before it
 * have of the choice. */
static void aim(const BsdfBlock *b, const BsdfBlockLobe *lobe, const BsdfRow before, bool is_last,
                BsdfRow u[3])
{
    for (uint32_t k = 0; k < SSL_BLOCK; ++k) {
        float all = b->select_sum[k];
        u[0][k] = all > 0.0f ? minf((before[k] + 0.5f * lobe->select[k]) / all, LAST) : 0.0f;
        u[1][k] = 0.5f;
        u[2][k] = is_last ? LAST : 0.0f;
    }
}

static void add(const BsdfDrawn *drawn, uint32_t k, BsdfDelta *sum)
{
    for (int c = 0; c < SPECTRUM_CHANNELS; ++c)
        sum->weight.c[c] += drawn->weight[c][k] * drawn->pdf[k];
    sum->chance += drawn->pdf[k];
    sum->eta = drawn->eta[k];
    sum->n = f3(drawn->n[0][k], drawn->n[1][k], drawn->n[2][k]);
}

/* Adds what one lobe sends along wi. */
static void add_lobe(const BsdfBlock *b, uint32_t l, const BsdfRow before, const BsdfRow wi[3],
                     uint16_t live, BsdfDelta out[SSL_BLOCK])
{
    alignas(64) BsdfRow u[3];
    BsdfDrawn drawn;
    float3 first[SSL_BLOCK];
    uint16_t has_first = 0;
    for (int side = 0; side < 2; ++side) {
        aim(b, &b->lobes[l], before, side == 1, u);
        uint16_t lanes = bsdf_block_sample(b, u, live, &drawn);
        WIDE_EACH(k, lanes)
        {
            float3 along = wide_get3(drawn.wi, k);
            if (drawn.lobe[k] != l || (has_first >> k & 1 && is_same(along, first[k])))
                continue;
            first[k] = along;
            has_first = (uint16_t)(has_first | 1u << k);
            if (is_same(along, wide_get3(wi, k)))
                add(&drawn, k, &out[k]);
        }
    }
}

uint16_t bsdf_block_deltas(const BsdfBlock *b, const BsdfRow wi[3], uint16_t live,
                           BsdfDelta out[SSL_BLOCK])
{
    alignas(64) BsdfRow before = {0};
    uint16_t found = 0;
    for (uint32_t k = 0; k < SSL_BLOCK; ++k)
        out[k] = (BsdfDelta){.eta = 1.0f};
    for (uint32_t l = 0; l < b->lobe_count; ++l) {
        const BsdfBlockLobe *lobe = &b->lobes[l];
        uint16_t lanes = live & lobe->live;
        bool is_delta =
            (lobe->def->flags & (SSL_LOBE_DELTA | SSL_LOBE_TRANSPARENT)) == SSL_LOBE_DELTA;
        if (is_delta && lanes)
            add_lobe(b, l, before, wi, lanes, out);
        for (uint32_t k = 0; k < SSL_BLOCK; ++k)
            before[k] += lobe->live >> k & 1 ? lobe->select[k] : 0.0f;
    }
    WIDE_EACH(k, live)
    if (out[k].chance > 0.0f)
        found = (uint16_t)(found | 1u << k);
    return found;
}
