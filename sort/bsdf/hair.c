/* Hair and fur, near field [Chiang2015], on the longitudinal function of [DEon2011] and the paths of
 * [Marschner2003]: reflected (R), through (TT), reflected once inside (TRT), and all the rest,
 *
 *   f cos = sum over p of  M_p(theta_i, theta_o) N_p(phi) A_p,
 *
 * where M_p and N_p integrate to 1 and the A_p to 1 less what is absorbed. In the frame x runs along the fibre, z
 * lies in the plane of the fibre and wo, and the ray hits at `offset` of the radius towards y. wi is anywhere on
 * the sphere. Drawn exactly by its density for A_p's average. */
#include "sort/bsdf/bsdf_lobes.h"
#include "sort/bsdf/fresnel.h"

enum { R, TT, TRT, REST, PATHS };

/* --- longitudinal ----------------------------------------------------------------------------- */

/* exp(-x) I0(x), x >= 0 [AbramowitzStegun1964 eq. 9.8.1, 9.8.2]. */
static float scaled_bessel_i0(float x)
{
    if (x < 3.75f) {
        float t = x / 3.75f, t2 = t * t;
        float i0 =
            1.0f + t2 * (3.5156229f +
                         t2 * (3.0899424f +
                               t2 * (1.2067492f +
                                     t2 * (0.2659732f + t2 * (0.0360768f + t2 * 0.0045813f)))));
        return i0 * expf(-x);
    }
    float t = 3.75f / x;
    float p =
        0.39894228f +
        t * (0.01328592f +
             t * (0.00225319f +
                  t * (-0.00157565f +
                       t * (0.00916281f +
                            t * (-0.02057706f +
                                 t * (0.02635537f + t * (-0.01647633f + t * 0.00392377f)))))));
    return p / sqrtf(x);
}

/* M_p [DEon2011 eq. 7] of variance v; the exponentials are joined, so that small v do not overflow. */
static float longitudinal(float sin_i, float cos_i, float sin_o, float cos_o, float v)
{
    float a = cos_i * cos_o / v, b = sin_i * sin_o / v;
    return expf(minf(a - b - 1.0f / v, 0.0f)) * scaled_bessel_i0(a) /
           (v * (1.0f - expf(-2.0f / v)));
}

/* [DEon2013 sec. 3]: the sine of theta_i. */
static float sample_longitudinal(float sin_o, float cos_o, float v, float2 u)
{
    float c = 1.0f + v * logf(maxf(u.x, 1e-7f) + (1.0f - u.x) * expf(-2.0f / v));
    c = clampf(c, -1.0f, 1.0f);
    return clampf(-c * sin_o + sqrtf(1.0f - c * c) * warp_circle(u.y).x * cos_o, -1.0f, 1.0f);
}

/* --- azimuthal ---------------------------------------------------------------------------------- */

static float logistic_cdf(float x, float s)
{
    return 1.0f / (1.0f + expf(-x / s));
}

/* The logistic distribution cut to [-pi, pi] and normalised. x: any angle within three turns. */
static float azimuthal(float x, float s)
{
    x -= 2.0f * SORT_PI * floorf((x + SORT_PI) / (2.0f * SORT_PI));
    float e = expf(-fabsf(x) / s), tail = logistic_cdf(-SORT_PI, s);
    return e / (s * (1.0f + e) * (1.0f + e) * (1.0f - 2.0f * tail));
}

static float sample_azimuthal(float u, float s)
{
    float tail = logistic_cdf(-SORT_PI, s),
          c = tail + clampf(u, 1e-7f, 0.9999999f) * (1.0f - 2.0f * tail);
    return clampf(-s * logf(1.0f / c - 1.0f), -SORT_PI, SORT_PI);
}

/* --- the lobe ------------------------------------------------------------------------------------ */

LobeValue hair_eval(const BsdfLobe *lobe, float3 wi)
{
    float sin_i = clampf(wi.x, -1.0f, 1.0f), cos_i = sqrtf(1.0f - sin_i * sin_i);
    float phi = atan2f(wi.y, wi.z);
    LobeValue value = {spectrum_splat(0.0f), 0.0f};
    for (int p = 0; p < PATHS; ++p) {
        float mn = longitudinal(sin_i, cos_i, p == REST ? lobe->hair.sin_o : lobe->hair.sin_tilt[p],
                                p == REST ? lobe->hair.cos_o : lobe->hair.cos_tilt[p],
                                lobe->hair.v[p == REST ? TRT : p]);
        mn *= p == REST ? SORT_INV_2PI : azimuthal(phi - lobe->hair.turn[p], lobe->hair.s);
        value.f_cos = spectrum_madd(value.f_cos, mn, lobe->hair.attenuation[p]);
        value.pdf += mn * lobe->hair.chance[p];
    }
    value.f_cos = spectrum_mul(value.f_cos, lobe->weight);
    return value;
}

bool hair_sample(const BsdfLobe *lobe, float u_lobe, float2 u, LobeSample *out)
{
    int p = 0;
    while (p < REST && u_lobe >= lobe->hair.chance[p])
        u_lobe -= lobe->hair.chance[p++];
    float rest = clampf(u_lobe / maxf(lobe->hair.chance[p], 1e-12f), 0.0f, 0x1.fffffep-1f);
    float sin_i = sample_longitudinal(p == REST ? lobe->hair.sin_o : lobe->hair.sin_tilt[p],
                                      p == REST ? lobe->hair.cos_o : lobe->hair.cos_tilt[p],
                                      lobe->hair.v[p == REST ? TRT : p], f2(u.x, rest));
    float phi =
        p == REST ? 2.0f * SORT_PI * u.y : lobe->hair.turn[p] + sample_azimuthal(u.y, lobe->hair.s);
    float cos_i = sqrtf(1.0f - sin_i * sin_i);
    out->wi = f3(sin_i, cos_i * sinf(phi), cos_i * cosf(phi));
    out->flags = lobe->flags;
    return true;
}

/* --- what depends on wo ---------------------------------------------------------------------------- */

static float power(float x, int n)
{
    float y = x;
    while (--n > 0)
        y *= x;
    return y;
}

/* Variance of the roughness along the fibre [Chiang2015 eq. 7]. */
static float variance(float roughness)
{
    float b = clampf(roughness, 0.02f, 1.0f);
    float d = 0.726f * b + 0.812f * b * b + 3.7f * power(b, 20);
    return d * d;
}

/* Scale of the logistic distribution around it [Chiang2015 eq. 8]. */
static float logistic_scale(float roughness)
{
    float b = clampf(roughness, 0.02f, 1.0f);
    return 0.626657069f * (0.265f * b + 1.194f * b * b + 5.372f * power(b, 22));
}

static void set_attenuation(BsdfLobe *lobe, float f, Spectrum through)
{
    Spectrum a = spectrum_splat(f);
    lobe->hair.attenuation[R] = a;
    a = spectrum_scale(through, (1.0f - f) * (1.0f - f));
    lobe->hair.attenuation[TT] = a;
    a = spectrum_mul(a, spectrum_scale(through, f));
    lobe->hair.attenuation[TRT] = a;
    SPECTRUM_EACH(i)
    {
        float again = f * through.c[i];
        a.c[i] = again < 1.0f ? a.c[i] * again / (1.0f - again) : 0.0f;
    }
    lobe->hair.attenuation[REST] = a;
    float sum = 0.0f;
    for (int p = 0; p < PATHS; ++p)
        sum += lobe->hair.chance[p] = spectrum_average(lobe->hair.attenuation[p]);
    for (int p = 0; p < PATHS; ++p)
        lobe->hair.chance[p] /= sum;
}

/* The scales of the cuticle tilt the surface by `tilt`: R sees it twice, TT once the other way, TRT four times
 * [Marschner2003 table 1]. */
static void set_tilts(BsdfLobe *lobe, float tilt)
{
    static const float turns[3] = {-2.0f, 1.0f, 4.0f};
    for (int p = 0; p < 3; ++p) {
        float s = sinf(turns[p] * tilt), c = cosf(turns[p] * tilt);
        lobe->hair.sin_tilt[p] = lobe->hair.sin_o * c + lobe->hair.cos_o * s;
        lobe->hair.cos_tilt[p] = fabsf(lobe->hair.cos_o * c - lobe->hair.sin_o * s);
    }
}

BsdfFrame hair_frame(const Bsdf *b, float3 T)
{
    float3 x = T, s, t;
    float length2 = f3_length2(T);
    if (length2 > 1e-20f && length2 < 1e20f) {
        x = f3_scale(x, 1.0f / sqrtf(length2));
    } else {
        f3_frame(b->wo, &s, &t);
        x = s;
    }
    float3 z = f3_madd(b->wo, -f3_dot(b->wo, x), x);
    BsdfFrame frame = {.s = x};
    if (f3_length2(z) > 1e-10f) {
        frame.n = f3_normalize(z);
        frame.t = f3_cross(frame.n, x);
    } else {
        f3_frame(x, &frame.t, &frame.n);
    }
    frame.wo = f3(f3_dot(b->wo, x), f3_dot(b->wo, frame.t), f3_dot(b->wo, frame.n));
    return frame;
}

void hair_add(Bsdf *b, Spectrum weight, const HairArgs *args)
{
    BsdfFrame frame = hair_frame(b, args->T);
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_HAIR,
                                     BSDF_REFLECTION | BSDF_TRANSMISSION | BSDF_GLOSSY, &frame);
    if (!lobe)
        return;
    float eta = clampf(args->ior, 1.05f, 4.0f), h = clampf(args->offset, -0.999f, 0.999f), unused;
    float sin_o = clampf(frame.wo.x, -0.99999f, 0.99999f), cos_o = sqrtf(1.0f - sin_o * sin_o);
    float sin_t = sin_o / eta, cos_t = sqrtf(1.0f - sin_t * sin_t);
    /* The index that a section across the fibre sees [Marschner2003 app. B]. */
    float sin_gamma_t = h * cos_o / sqrtf(eta * eta - sin_o * sin_o);
    float cos_gamma_t = sqrtf(1.0f - sin_gamma_t * sin_gamma_t);
    float gamma_o = asinf(h), gamma_t = asinf(sin_gamma_t);
    lobe->hair.sin_o = sin_o;
    lobe->hair.cos_o = cos_o;
    lobe->hair.s = maxf(logistic_scale(args->radial_roughness), b->least_alpha);
    float v = maxf(variance(args->roughness), b->least_alpha);
    lobe->hair.v[R] =
        maxf(variance(args->roughness * (1.0f - clampf(args->coat, 0.0f, 1.0f))), b->least_alpha);
    lobe->hair.v[TT] = 0.25f * v;
    lobe->hair.v[TRT] = 4.0f * v;
    for (int p = 0; p < 3; ++p)
        lobe->hair.turn[p] = 2.0f * gamma_o - 2.0f * (float)p * gamma_t + (float)p * SORT_PI;
    set_tilts(lobe, clampf(args->tilt, -0.5f, 0.5f));
    Spectrum absorption = spectrum_clamp(spectrum_from_rgb(args->absorption), 0.0f, 1e6f), through;
    SPECTRUM_EACH(i) through.c[i] = expf(-2.0f * absorption.c[i] * cos_gamma_t / cos_t);
    float cos_surface = cos_o * sqrtf(1.0f - h * h);
    set_attenuation(lobe, minf(fresnel_dielectric(cos_surface, eta, &unused), 0.9999f), through);
    Spectrum albedo = spectrum_splat(0.0f);
    for (int p = 0; p < PATHS; ++p)
        albedo = spectrum_add(albedo, lobe->hair.attenuation[p]);
    bsdf_lobe_finish(b, lobe, weight, spectrum_mul(weight, albedo));
}
