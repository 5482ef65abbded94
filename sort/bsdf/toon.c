/* Cartoon shading [Blender2022]: within a cone about an axis all light counts the same; toward its rim it fades
 * linearly with the angle. Normalised by the solid angle of the whole cone, so f cos is at most 1 over that. The
 * axis is the normal (diffuse) or the mirror direction (glossy). */
#include "sort/bsdf/bsdf_lobes.h"

#define HALF_PI (0.5f * SORT_PI)

/* Angle between unit vectors, accurate for small ones. */
static float angle_between(float3 a, float3 b)
{
    return 2.0f * atan2f(f3_length(f3_sub(a, b)), f3_length(f3_add(a, b)));
}

LobeValue toon_eval(const BsdfLobe *lobe, float3 wi)
{
    float size = lobe->toon.size, smooth = lobe->toon.smooth;
    float angle = angle_between(lobe->toon.axis, wi), rim = minf(size + smooth, HALF_PI);
    if (angle > rim)
        return (LobeValue){spectrum_splat(0.0f), 0.0f};
    float fade = angle < size || smooth == 0.0f ? 1.0f : 1.0f - (angle - size) / smooth;
    float density = warp_cone_pdf(lobe->toon.one_minus_cos);
    return (LobeValue){spectrum_scale(lobe->weight, maxf(fade, 0.0f) * density), density};
}

bool toon_sample(const BsdfLobe *lobe, float2 u, LobeSample *out)
{
    float3 s, t, w = warp_cone(u, lobe->toon.one_minus_cos);
    f3_frame(lobe->toon.axis, &s, &t);
    out->wi = warp_to_frame(w, s, t, lobe->toon.axis);
    return out->wi.z > 0.0f;
}

static void toon_add(Bsdf *b, Spectrum weight, float3 color, float size, float smooth, float3 N,
                     bool is_glossy)
{
    BsdfFrame frame = bsdf_frame(b, N, is_glossy);
    BsdfLobe *lobe = bsdf_lobe_begin(
        b, BSDF_MODEL_TOON, BSDF_REFLECTION | (is_glossy ? BSDF_GLOSSY : BSDF_DIFFUSE), &frame);
    if (!lobe)
        return;
    lobe->toon.axis = is_glossy ? f3(-frame.wo.x, -frame.wo.y, frame.wo.z) : f3(0.0f, 0.0f, 1.0f);
    /* A lobe without width is as narrow as the narrowest rough mirror. */
    lobe->toon.size = maxf(clampf(size, 0.0f, 1.0f) * HALF_PI, BSDF_ALPHA_DELTA);
    lobe->toon.smooth = clampf(smooth, 0.0f, 1.0f) * HALF_PI;
    float half = 0.5f * minf(lobe->toon.size + lobe->toon.smooth, HALF_PI), s = sinf(half);
    lobe->toon.one_minus_cos = 2.0f * s * s;
    Spectrum tint = spectrum_mul(weight, bsdf_albedo_argument(color));
    bsdf_lobe_finish(b, lobe, tint, tint);
}

void toon_diffuse_add(Bsdf *b, Spectrum weight, const ToonDiffuseArgs *args)
{
    toon_add(b, weight, args->tint, args->size, args->smooth, args->N, false);
}

void toon_glossy_add(Bsdf *b, Spectrum weight, const ToonGlossyArgs *args)
{
    toon_add(b, weight, args->tint, args->size, args->smooth, args->N, true);
}
