/* Spectra: values of radiance, throughput and reflectance. They have three channels, linear
 * Rec. 709 / sRGB primaries, for now; code that goes through these functions will not notice when the
 * channels become wavelengths. Values, no state. */
#ifndef SORT_BSDF_SPECTRUM_H
#define SORT_BSDF_SPECTRUM_H

#include "base/vec.h"

enum { SPECTRUM_CHANNELS = 3 };

typedef struct Spectrum {
    float c[SPECTRUM_CHANNELS];
} Spectrum;

#define SPECTRUM_EACH(i) for (int i = 0; i < SPECTRUM_CHANNELS; ++i)

static inline Spectrum spectrum_splat(float s)
{
    Spectrum r;
    SPECTRUM_EACH(i) r.c[i] = s;
    return r;
}
static inline Spectrum spectrum_add(Spectrum a, Spectrum b)
{
    SPECTRUM_EACH(i) a.c[i] += b.c[i];
    return a;
}
static inline Spectrum spectrum_sub(Spectrum a, Spectrum b)
{
    SPECTRUM_EACH(i) a.c[i] -= b.c[i];
    return a;
}
static inline Spectrum spectrum_mul(Spectrum a, Spectrum b)
{
    SPECTRUM_EACH(i) a.c[i] *= b.c[i];
    return a;
}
static inline Spectrum spectrum_scale(Spectrum a, float s)
{
    SPECTRUM_EACH(i) a.c[i] *= s;
    return a;
}
/* a + s b */
static inline Spectrum spectrum_madd(Spectrum a, float s, Spectrum b)
{
    SPECTRUM_EACH(i) a.c[i] += s * b.c[i];
    return a;
}
static inline Spectrum spectrum_clamp(Spectrum a, float lo, float hi)
{
    SPECTRUM_EACH(i) a.c[i] = clampf(a.c[i], lo, hi);
    return a;
}
static inline float spectrum_average(Spectrum a)
{
    float sum = 0.0f;
    SPECTRUM_EACH(i) sum += a.c[i];
    return sum * (1.0f / (float)SPECTRUM_CHANNELS);
}
static inline float spectrum_max(Spectrum a)
{
    float m = a.c[0];
    SPECTRUM_EACH(i) m = maxf(m, a.c[i]);
    return m;
}
static inline float spectrum_max_abs(Spectrum a)
{
    float m = 0.0f;
    SPECTRUM_EACH(i) m = maxf(m, fabsf(a.c[i]));
    return m;
}
static inline bool spectrum_is_finite(Spectrum a)
{
    bool finite = true;
    SPECTRUM_EACH(i) finite = finite && isfinite(a.c[i]);
    return finite;
}
static inline bool spectrum_is_black(Spectrum a)
{
    bool black = true;
    SPECTRUM_EACH(i) black = black && a.c[i] == 0.0f;
    return black;
}

/* The borders to colour: shader results and textures come in, the film takes out. */
static inline Spectrum spectrum_from_rgb(float3 rgb)
{
    return (Spectrum){{rgb.x, rgb.y, rgb.z}};
}
static inline float3 spectrum_to_rgb(Spectrum a)
{
    return f3(a.c[0], a.c[1], a.c[2]);
}
/* CIE Y of linear Rec. 709 [ITU-R BT.709-6, table 1 item 3.2]. */
static inline float spectrum_luminance(Spectrum a)
{
    return 0.2126f * a.c[0] + 0.7152f * a.c[1] + 0.0722f * a.c[2];
}

#endif
