/* Fresnel reflectance of smooth interfaces, unpolarised. Cosines are those of the incident direction with
 * the (micro)surface normal, in [0, 1]. Pure, header only. */
#ifndef SORT_BSDF_FRESNEL_H
#define SORT_BSDF_FRESNEL_H

#include "sort/bsdf/spectrum.h"

/* Two dielectrics; eta: index on the far side over index on the near side. *out_cos_t: cosine of the refracted
 * direction, 0 at total reflection (then 1 comes back). [Walter2007 eq. 22, as the two polarisations]. */
static inline float fresnel_dielectric(float cos_i, float eta, float *out_cos_t)
{
    float sin2_t = (1.0f - cos_i * cos_i) / (eta * eta);
    if (sin2_t >= 1.0f) {
        *out_cos_t = 0.0f;
        return 1.0f;
    }
    float cos_t = sqrtf(1.0f - sin2_t);
    *out_cos_t = cos_t;
    float parallel = (eta * cos_i - cos_t) / (eta * cos_i + cos_t);
    float perpendicular = (cos_i - eta * cos_t) / (cos_i + eta * cos_t);
    return 0.5f * (parallel * parallel + perpendicular * perpendicular);
}

/* Vacuum to metal of index eta + i k (not 1 + 0 i), exact [BornWolf1999 sec. 14.2; Lagarde2013 for the
 * form without complex numbers]. */
static inline float fresnel_metal(float cos_i, float eta, float k)
{
    float c2 = cos_i * cos_i, s2 = 1.0f - c2;
    float t0 = eta * eta - k * k - s2;
    float a2_b2 = sqrtf(t0 * t0 + 4.0f * eta * eta * k * k);
    float a = sqrtf(maxf(0.5f * (a2_b2 + t0), 0.0f));
    float t1 = a2_b2 + c2, t2 = 2.0f * a * cos_i;
    float perpendicular = (t1 - t2) / (t1 + t2);
    float t3 = c2 * a2_b2 + s2 * s2, t4 = t2 * s2;
    return 0.5f * perpendicular * (1.0f + (t3 - t4) / (t3 + t4));
}

/* (1 - cos)^5 */
static inline float fresnel_schlick_weight(float cos_i)
{
    float m = clampf(1.0f - cos_i, 0.0f, 1.0f), m2 = m * m;
    return m2 * m2 * m;
}

/* f0 at normal incidence, f90 at grazing [Schlick1994 eq. 15]. */
static inline Spectrum fresnel_schlick(Spectrum f0, Spectrum f90, float cos_i)
{
    return spectrum_lerp(f0, f90, fresnel_schlick_weight(cos_i));
}

/* 2 int F cos dcos of the above. */
static inline Spectrum fresnel_schlick_average(Spectrum f0, Spectrum f90)
{
    return spectrum_lerp(f0, f90, 1.0f / 21.0f);
}

/* From f0 at normal incidence to 1 at grazing, as the reflectance of a dielectric of index eta goes from f_normal,
 * its own at normal incidence, to 1 [Burley2012; Blender2022]. */
static inline Spectrum fresnel_tinted(Spectrum f0, float eta, float f_normal, float cos_i)
{
    float cos_t, f = fresnel_dielectric(cos_i, eta, &cos_t);
    return spectrum_lerp(f0, spectrum_splat(1.0f), maxf((f - f_normal) / (1.0f - f_normal), 0.0f));
}

static inline Spectrum fresnel_metal_spectrum(Spectrum eta, Spectrum k, float cos_i)
{
    Spectrum f;
    SPECTRUM_EACH(i) f.c[i] = fresnel_metal(cos_i, eta.c[i], k.c[i]);
    return f;
}

/* 2 int F cos dcos of the above, by four Gauss-Legendre points: within 1e-3 for k >= 0.5, as metals
 * have. */
Spectrum fresnel_metal_average(Spectrum eta, Spectrum k);

/* Returns the cosine-weighted mean of fresnel_tinted. */
Spectrum fresnel_tinted_average(Spectrum f0, float eta);

#endif
