/* The integrals behind the albedo tables, in double precision, by a midpoint rule over the visible normals.
 * For the table generator and the tests. */
#ifndef SORT_BSDF_ALBEDO_INTEGRAL_H
#define SORT_BSDF_ALBEDO_INTEGRAL_H

#include "base/compiler.h"

/* steps^2 points. cos_o, alpha > 0. *out_e1: the albedo when every microfacet reflects all; *out_b: the same weighted by
 * (1 - cos)^5. */
void albedo_integral_ggx(double alpha, double cos_o, uint32_t steps, double *out_e1, double *out_b);
/* eta: index beyond over index on wo's side. Reflected plus refracted flux. */
double albedo_integral_dielectric(double alpha, double eta, double cos_o, uint32_t steps);

/* Returns the integral that bsdf_tinted_albedo_rise approximates: the albedo of single scattering, weighted by how far a dielectric's
 * reflectance has risen from its value at normal incidence to 1. eta > 1. */
double albedo_integral_rise(double alpha, double eta, double cos_o, uint32_t steps);
double albedo_mirror_rise(double eta, double cos_o); /* of alpha 0 */

/* The cloth lobe of [Estevez2017]. */
double albedo_integral_sheen(double alpha, double cos_o, uint32_t steps);

#endif
