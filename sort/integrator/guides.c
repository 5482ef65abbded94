/* The guides of denoisers: what a sample shows behind mirrors and glass, too. They are AOVs of their own, so that albedo and
 * normal stay those of the first surface. */
#include "sort/integrator/wave_state.h"

/* Lobes this narrow show pictures as mirrors do: the density of a microfacet lobe of roughness (alpha) 0.02, per steradian. */
#define MIRROR_PDF 200.0f

static bool is_mirror(const BsdfSample *sample)
{
    if (sample->flags & SSL_LOBE_SUBSURFACE)
        return false;
    return sample->flags & SSL_LOBE_DELTA || sample->pdf > MIRROR_PDF;
}

static void store3(float *at, float3 v)
{
    at[0] = v.x, at[1] = v.y, at[2] = v.z;
}

/* Weights of paths are no colours: they may be negative, or above one. */
static Spectrum as_tint(Spectrum weight)
{
    float3 rgb = spectrum_to_rgb(weight);
    return (Spectrum){
        {clampf(rgb.x, 0.0f, 1.0f), clampf(rgb.y, 0.0f, 1.0f), clampf(rgb.z, 0.0f, 1.0f)}};
}

void guides_record_surface(Wave *w, uint32_t i, SurfaceLane surface, BsdfPoint bsdf,
                           const BsdfSample *sample)
{
    const Path *path = &w->paths[i];
    SampleGuide *guide = &w->guides[path->sample];
    ASSERT(!sample || !(sample->flags & SSL_LOBE_TRANSPARENT));
    if (guide->is_met || path->flags & PATH_CAUGHT)
        return;
    const SurfaceBlock *b = surface.block;
    guide->way_m += f3_length(f3_sub(surface_vector(surface, b->P), path->from));
    if (sample && is_mirror(sample) && !(path->flags & PATH_LAST)) {
        guide->tint = spectrum_mul(guide->tint, as_tint(sample->weight));
        return;
    }
    float *aov = wave_sample(w, path->sample)->aov;
    float3 n = bsdf_point_normal(bsdf);
    guide->is_met = true;
    store3(aov + FILM_AT_DENOISING_ALBEDO,
           spectrum_to_rgb(spectrum_mul(guide->tint, bsdf_point_albedo(bsdf))));
    store3(aov + FILM_AT_DENOISING_NORMAL,
           f3_length2(n) > 0.0f ? n : surface_vector(surface, b->N));
    aov[FILM_AT_DENOISING_DEPTH] = guide->way_m;
}

void guides_finish(Wave *w, uint32_t sample_count)
{
    for (uint32_t k = 0; k < sample_count; ++k) {
        const SampleGuide *guide = &w->guides[k];
        float *aov = wave_sample(w, k)->aov;
        if (guide->is_met)
            continue;
        aov[FILM_AT_DENOISING_DEPTH] = FILM_NO_DEPTH;
        /* A mirror shows a light or the sky: its own shape shows in the guides all the same. */
        if (guide->way_m > 0.0f)
            store3(aov + FILM_AT_DENOISING_ALBEDO, spectrum_to_rgb(guide->tint));
    }
}
