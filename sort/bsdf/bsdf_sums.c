/* The closures that scatter nothing: they add up to sums of the block. */
#include "base/check.h"
#include "sort/bsdf/bsdf_wide.h"

void bsdf_block_add_sum(BsdfBlock *b, ClosureSum closure, const float *args, const float *weight,
                        uint16_t live)
{
    ASSERT((unsigned)closure < CLOSURE_SUMS);
    if (closure == CLOSURE_VOLUME) /* which surfaces do not see */
        return;
    b->has_emission |= closure == CLOSURE_EMISSION;
    b->has_holdout |= closure == CLOSURE_HOLDOUT;
    for (uint32_t i = 0; i < SSL_BLOCK; ++i) {
        if (!(live >> i & 1))
            continue;
        float3 value = f3(args[i], args[SSL_BLOCK + i], args[2 * SSL_BLOCK + i]);
        float3 w = f3(weight[i], weight[SSL_BLOCK + i], weight[2 * SSL_BLOCK + i]);
        bool is_aov = closure == CLOSURE_AOV;
        float slot = is_aov ? args[3 * SSL_BLOCK + i] : 0.0f;
        if (!f3_is_finite(value) || !f3_is_finite(w) || !isfinite(slot)) {
            b->faults[i] |= BSDF_FAULT_NOT_FINITE;
            continue;
        }
        if (closure == CLOSURE_HOLDOUT)
            value = f3(clampf(value.x, 0.0f, 1.0f), clampf(value.y, 0.0f, 1.0f),
                       clampf(value.z, 0.0f, 1.0f));
        /* Slots are whole numbers; others are rounded down, and what is out of range has no layer. */
        if (is_aov && !(slot >= 0.0f && slot < (float)BSDF_AOVS_MAX))
            continue;
        uint32_t aov = (uint32_t)slot;
        if (is_aov && !(b->aov_slots[i] >> aov & 1)) {
            b->aov_slots[i] |= 1u << aov;
            b->aovs[aov][0][i] = b->aovs[aov][1][i] = b->aovs[aov][2][i] = 0.0f;
        }
        BsdfRow *sum = is_aov                       ? b->aovs[aov]
                       : closure == CLOSURE_HOLDOUT ? b->holdout
                                                    : b->emission;
        sum[0][i] += w.x * value.x;
        sum[1][i] += w.y * value.y;
        sum[2][i] += w.z * value.z;
    }
}
