/* A clear layer over any closure: GGX reflection with a dielectric's reflectance at normal incidence and Schlick's
 * Fresnel, so that its albedo E(wo) is known exactly from the tables, and (1 - E(wo)) tint is left to what it
 * covers. */
#include "sort/bsdf/bsdf_lobes.h"

typedef struct CoatFresnel {
    Spectrum f0, f90;
} CoatFresnel;

static CoatFresnel coat_fresnel(const CoatArgs *args)
{
    float ior = clampf(args->ior, 1.0f, 4.0f), r = (ior - 1.0f) / (ior + 1.0f), f0 = r * r;
    /* No real dielectric has less than 0.02; below, the coat fades away [Lagarde2014]. */
    return (CoatFresnel){spectrum_splat(f0), spectrum_splat(minf(50.0f * f0, 1.0f))};
}

void coat_add(Bsdf *b, Spectrum weight, const CoatArgs *args)
{
    CoatFresnel f = coat_fresnel(args);
    float cover = clampf(args->weight, 0.0f, 1.0f);
    if (cover == 0.0f || f.f0.c[0] == 0.0f)
        return;
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    microfacet_add_schlick(b, spectrum_scale(weight, cover), bsdf_facet_alpha(b, args->roughness),
                           f.f0, f.f90, &frame);
}

Spectrum coat_base_factor(const Bsdf *b, const CoatArgs *args)
{
    CoatFresnel f = coat_fresnel(args);
    float cover = clampf(args->weight, 0.0f, 1.0f), alpha = bsdf_facet_alpha(b, args->roughness);
    float cos_o = maxf(bsdf_frame(b, args->N, true).wo.z, 0.0f), m = 1.0f - cos_o;
    AlbedoTerms e = {1.0f, m * m * m * m * m};
    if (alpha >= BSDF_ALPHA_DELTA)
        e = albedo_ggx(albedo_ggx_row(alpha), cos_o);
    float reflected = f.f0.c[0] * (e.e1 - e.b) + f.f90.c[0] * e.b;
    Spectrum through = bsdf_albedo_argument(args->tint);
    return spectrum_lerp(spectrum_splat(1.0f), spectrum_scale(through, 1.0f - reflected), cover);
}
