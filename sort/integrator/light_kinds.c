/* Light passes: divides each contribution among diffuse, glossy and transmission, as Cycles does [Blender2022]. The first
 * surface that is not transparent decides, by the fractions that all of its lobes have of the light from that direction
 * and not by the lobe that was drawn: light sampling and BSDF sampling then agree, and there is less noise. */
#include "sort/integrator/wave_state.h"

_Static_assert((int)FILM_LIGHT_KINDS == (int)BSDF_KINDS,
               "a colour, direct and indirect of each kind");
enum { KIND_FLOATS = 9, COLOR = 0, DIRECT = 3, INDIRECT = 6 };

static void add(FilmSample *sample, int kind, int at, Spectrum light)
{
    float3 rgb = spectrum_to_rgb(light);
    float *sum = &sample->aov[FILM_AT_DIFFUSE_COLOR + KIND_FLOATS * kind + at];
    sum[0] += rgb.x;
    sum[1] += rgb.y;
    sum[2] += rgb.z;
}

void kinds_record_surface(Wave *w, const Path *path, BsdfPoint bsdf, const BsdfSample *sample)
{
    Spectrum albedo[BSDF_KINDS];
    bsdf_point_albedo_kinds(bsdf, albedo);
    for (int k = 0; k < BSDF_KINDS; ++k)
        add(wave_sample(w, path->sample), k, COLOR, spectrum_mul(path->beta, albedo[k]));
    if (sample)
        bsdf_point_sample_kinds(bsdf, sample->wi, sample->flags, sample->lobe,
                                w->path_kinds[path->sample].fraction);
}

/* Sets the fractions of hidden kinds to zero, and scales the others to the sum 1. */
static LightKinds without(LightKinds kinds, uint32_t hidden)
{
    if (hidden & SCENE_RAYS_DIFFUSE)
        kinds.fraction[BSDF_KIND_DIFFUSE] = spectrum_splat(0.0f);
    if (hidden & SCENE_RAYS_GLOSSY)
        kinds.fraction[BSDF_KIND_GLOSSY] = kinds.fraction[BSDF_KIND_TRANSMISSION] =
            spectrum_splat(0.0f);
    SPECTRUM_EACH(c)
    {
        float sum = 0.0f;
        for (int k = 0; k < BSDF_KINDS; ++k)
            sum += kinds.fraction[k].c[c];
        for (int k = 0; k < BSDF_KINDS; ++k)
            kinds.fraction[k].c[c] = sum != 0.0f ? kinds.fraction[k].c[c] / sum : 0.0f;
    }
    return kinds;
}

LightKinds kinds_of_light(const Wave *w, const Path *path, BsdfPoint bsdf, float3 wi,
                          uint32_t invisible_to)
{
    LightKinds kinds;
    if (path->flags & PATH_SEEN)
        return w->path_kinds[path->sample];
    bsdf_point_sample_kinds(bsdf, wi, 0, 0, kinds.fraction);
    uint32_t hidden = wave_hidden_kinds(RAY_REFLECTION, invisible_to);
    return hidden && !bsdf_point_is_transmitted(bsdf, wi) ? without(kinds, hidden) : kinds;
}

void kinds_add_light(Wave *w, const Path *path, float3 rgb, LightArrival how)
{
    ASSERT(path < w->paths + w->count);
    LightKinds kinds = how.is_met ? w->path_kinds[path->sample] : *how.kinds;
    if (how.is_met && how.hidden && how.bounces == 1)
        kinds = without(kinds, how.hidden);
    for (int k = 0; k < BSDF_KINDS; ++k)
        add(wave_sample(w, path->sample), k, how.bounces > 1 ? INDIRECT : DIRECT,
            spectrum_mul(kinds.fraction[k], spectrum_from_rgb(rgb)));
}
