/* Blender's Hair BSDF: one lobe of a fibre, spread along it about the cone of the mirror directions by a Cauchy
 * distribution of the half angle, and around it by
 *
 *   reflection     cos(phi / (2 r)) / (4 r),  |phi| <= pi r
 *   transmission   a Cauchy distribution of width r about the far side, |phi - pi| <= pi / 2
 *
 * [Ou2012 sec. 4]. All are cut and normalised, so that a white lobe returns all light. In the frame x runs along the
 * fibre and z lies in the plane of the fibre and wo; phi = 0 is wo's. wi is anywhere on the sphere. */
#include "sort/bsdf/bsdf_lobes.h"

/* Nearer to the fibre's direction than its sine, nothing is scattered: the density in solid angle has a pole there. */
#define COS_AXIS_MIN 1e-4f

static float azimuthal(const BsdfLobe *lobe, float phi)
{
    float r = lobe->hair_lobe.radial;
    if (lobe->hair_lobe.is_transmission) {
        float off = SORT_PI - fabsf(phi);
        return off > 0.5f * SORT_PI ? 0.0f : r / ((off * off + r * r) * lobe->hair_lobe.turn);
    }
    return fabsf(phi) > SORT_PI * r ? 0.0f : maxf(cosf(0.5f * phi / r), 0.0f) / (4.0f * r);
}

LobeValue hair_lobe_eval(const BsdfLobe *lobe, float3 wi)
{
    LobeValue value = {spectrum_splat(0.0f), 0.0f};
    float sin_i = clampf(wi.x, -1.0f, 1.0f), cos_i = sqrtf(wi.y * wi.y + wi.z * wi.z);
    if (cos_i < COS_AXIS_MIN)
        return value;
    float width = lobe->hair_lobe.along;
    float half = 0.5f * (atan2f(sin_i, cos_i) + lobe->hair_lobe.theta_o) - lobe->hair_lobe.shift;
    float range = lobe->hair_lobe.high - lobe->hair_lobe.low;
    float longitudinal = width / (2.0f * (half * half + width * width) * range * cos_i);
    value.pdf = longitudinal * azimuthal(lobe, atan2f(wi.y, wi.z));
    value.f_cos = spectrum_scale(lobe->weight, value.pdf);
    return value;
}

bool hair_lobe_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    float low = lobe->hair_lobe.low, high = lobe->hair_lobe.high, r = lobe->hair_lobe.radial;
    float half = lobe->hair_lobe.shift + lobe->hair_lobe.along * tanf(low + u.x * (high - low));
    float theta = 2.0f * half - lobe->hair_lobe.theta_o, phi;
    if (lobe->hair_lobe.is_transmission)
        phi = SORT_PI + r * tanf((u.y - 0.5f) * lobe->hair_lobe.turn);
    else
        phi = 2.0f * r * asinf(clampf(2.0f * u.y - 1.0f, -1.0f, 1.0f));
    float cos_i = cosf(theta);
    if (cos_i < COS_AXIS_MIN)
        return false;
    out->wi = f3(sinf(theta), cos_i * sinf(phi), cos_i * cosf(phi));
    out->flags = lobe->flags;
    return true;
}

static void add(Bsdf *b, Spectrum weight, const HairReflectionArgs *args, bool is_transmission)
{
    BsdfFrame frame = hair_frame(b, args->T);
    BsdfLobe *lobe = bsdf_lobe_begin(b, BSDF_MODEL_HAIR_LOBE,
                                     BSDF_REFLECTION | BSDF_TRANSMISSION | BSDF_GLOSSY, &frame);
    if (!lobe)
        return;
    float along = clampf(args->roughness, 1e-3f, 1.0f);
    float radial = clampf(args->radial_roughness, 1e-3f, 1.0f);
    float shift = clampf(args->shift, -0.5f * SORT_PI, 0.5f * SORT_PI);
    float theta_o = atan2f(frame.wo.x, sqrtf(frame.wo.y * frame.wo.y + frame.wo.z * frame.wo.z));
    lobe->hair_lobe.is_transmission = is_transmission;
    lobe->hair_lobe.along = along;
    lobe->hair_lobe.radial = radial;
    lobe->hair_lobe.shift = shift;
    lobe->hair_lobe.theta_o = theta_o;
    /* wi from one end of the fibre to the other. */
    lobe->hair_lobe.low = atanf((0.5f * (theta_o - 0.5f * SORT_PI) - shift) / along);
    lobe->hair_lobe.high = atanf((0.5f * (theta_o + 0.5f * SORT_PI) - shift) / along);
    lobe->hair_lobe.turn = 2.0f * atanf(0.5f * SORT_PI / radial);
    Spectrum color = spectrum_mul(weight, bsdf_albedo_argument(args->tint));
    bsdf_lobe_finish(b, lobe, color, color);
}

void hair_reflection_add(Bsdf *b, Spectrum weight, const HairReflectionArgs *args)
{
    add(b, weight, args, false);
}

void hair_transmission_add(Bsdf *b, Spectrum weight, const HairTransmissionArgs *args)
{
    HairReflectionArgs same = {.tint = args->tint,
                               .roughness = args->roughness,
                               .radial_roughness = args->radial_roughness,
                               .shift = args->shift,
                               .T = args->T};
    add(b, weight, &same, true);
}
