/* A diffuse base under a GGX coat. The base gets what the coat does not reflect, in both directions of light
 * (multiscatter.c), so nothing is lost and nothing is gained, at any roughness and reflectance. */
#include "sort/bsdf/bsdf_lobes.h"

void plastic_add(Bsdf *b, Spectrum weight, const PlasticArgs *args)
{
    Spectrum f0 = bsdf_albedo_argument(args->specular);
    /* No real dielectric has less than 0.02; below, the coat fades away [Lagarde2014]. */
    Spectrum f90 = spectrum_splat(minf(50.0f * spectrum_max(f0), 1.0f));
    float alpha = bsdf_facet_alpha(b, args->roughness);
    BsdfFrame frame = bsdf_frame(b, args->N, true);
    if (!spectrum_is_black(f0))
        microfacet_add_schlick(b, weight, alpha, f0, f90, &frame);
    complement_add(b, BSDF_DIFFUSE, weight, alpha, f0, f90, bsdf_albedo_argument(args->albedo),
                   &frame);
}
