/* The lobe set: frames, choice of a lobe, sums over lobes. The models are in files of their own. */
#include "sort/bsdf/bsdf.h"

#include "base/check.h"
#include "sort/bsdf/bsdf_lobes.h"
#include <float.h>
#include <string.h>

void bsdf_init(Bsdf *b, float3 wo, float3 Ng, uint32_t flags)
{
    b->wo = wo;
    b->Ng = Ng;
    b->cos_o = f3_dot(wo, Ng);
    b->init_flags = flags;
    b->lobe_count = b->flags = b->faults = b->aov_slots = 0;
    b->select_sum = b->least_alpha = 0.0f;
    b->unbent = f3_splat(0.0f);
    b->emission = b->transparency = b->holdout = spectrum_splat(0.0f);
}

void bsdf_shadow_bumps(Bsdf *b, float3 N)
{
    b->unbent = f3_dot(N, b->Ng) * b->cos_o < 0.0f ? f3_neg(N) : N; /* where wo is */
}

/* --- filling ------------------------------------------------------------------------------- */

static float3 facing_normal(const Bsdf *b)
{
    return b->cos_o < 0.0f ? f3_neg(b->Ng) : b->Ng;
}

/* N on wo's side; bent for mirrors, see bsdf.h. The reflected direction is lifted to `lowest` above the surface,
 * and the normal becomes the half vector [Keller2017 app. A]. A normal near Ng at grazing wo stays as it is. */
static float3 lobe_normal(const Bsdf *b, float3 N, bool is_specular)
{
    float3 Ng = facing_normal(b);
    float length2 = f3_length2(N);
    if (!(length2 > 1e-30f && length2 < 1e30f))
        return Ng;
    float3 n = f3_scale(N, (f3_dot(N, Ng) < 0.0f ? -1.0f : 1.0f) / sqrtf(length2));
    if (!is_specular)
        return n;
    float3 mirrored = f3_sub(f3_scale(n, 2.0f * f3_dot(n, b->wo)), b->wo);
    float height = f3_dot(mirrored, Ng), lowest = minf(0.9f * fabsf(b->cos_o), 0.01f);
    if (height >= lowest)
        return n;
    n = f3_normalize(f3_add(b->wo, f3_normalize(f3_madd(mirrored, lowest - height, Ng))));
    return f3_dot(n, b->wo) > BSDF_COS_MIN ? n : Ng;
}

static inline float3 to_local(const BsdfFrame *frame, float3 w)
{
    return f3(f3_dot(w, frame->s), f3_dot(w, frame->t), f3_dot(w, frame->n));
}

BsdfFrame bsdf_frame(const Bsdf *b, float3 N, bool is_specular)
{
    BsdfFrame frame;
    frame.n = lobe_normal(b, N, is_specular);
    f3_frame(frame.n, &frame.s, &frame.t);
    frame.wo = to_local(&frame, b->wo);
    return frame;
}

BsdfFrame bsdf_frame_align(const Bsdf *b, BsdfFrame frame, float3 T)
{
    float3 s = f3_madd(T, -f3_dot(T, frame.n), frame.n);
    float length2 = f3_length2(s);
    if (!(length2 > 1e-12f * f3_length2(T) && length2 < 1e30f))
        return frame;
    /* Where T is nearly the normal, rounding leaves some of it: twice is enough. */
    s = f3_scale(s, 1.0f / sqrtf(length2));
    frame.s = f3_normalize(f3_madd(s, -f3_dot(s, frame.n), frame.n));
    frame.t = f3_cross(frame.n, frame.s);
    frame.wo = to_local(&frame, b->wo);
    return frame;
}

BsdfLobe *bsdf_lobe_begin(Bsdf *b, BsdfModel model, uint32_t flags, const BsdfFrame *frame)
{
    if (b->lobe_count == BSDF_MAX_LOBES) {
        b->faults |= BSDF_FAULT_FULL;
        return NULL;
    }
    BsdfLobe *lobe = &b->lobes[b->lobe_count];
    memset(lobe, 0, sizeof *lobe);
    lobe->model = model;
    lobe->flags = flags;
    lobe->frame = *frame;
    return lobe;
}

void bsdf_lobe_finish(Bsdf *b, BsdfLobe *lobe, Spectrum weight, Spectrum albedo)
{
    ASSERT(lobe == &b->lobes[b->lobe_count]);
    lobe->weight = weight;
    lobe->albedo = albedo;
    lobe->select = spectrum_average_abs(albedo);
    if (!(lobe->select > 0.0f))
        return;
    b->select_sum += lobe->select;
    b->flags |= lobe->flags;
    ++b->lobe_count;
}

typedef union ClosureArgs {
    float scalars[CLOSURE_MAX_SCALARS];
#define CLOSURE(id, name, flags, args, doc, citation) name##Args name;
#include "sort/bsdf/closures.inc"
#undef CLOSURE
} ClosureArgs;

static bool gather(ClosureId id, Spectrum weight, const float *args, uint32_t stride,
                   ClosureArgs *out_args)
{
    bool is_finite = spectrum_is_finite(weight);
    uint32_t count = closure_table_scalars(id);
    for (uint32_t i = 0; i < count; ++i) {
        out_args->scalars[i] = args[(size_t)i * stride];
        is_finite = is_finite && isfinite(out_args->scalars[i]);
    }
    return is_finite;
}

/* Slots are whole numbers; others are rounded down, and what is out of range has no layer. */
static void add_aov(Bsdf *b, Spectrum weight, const AovArgs *args)
{
    if (!(args->slot >= 0.0f && args->slot < (float)BSDF_AOVS_MAX))
        return;
    uint32_t slot = (uint32_t)args->slot;
    if (!(b->aov_slots >> slot & 1))
        b->aovs[slot] = spectrum_splat(0.0f);
    b->aov_slots |= 1u << slot;
    b->aovs[slot] =
        spectrum_add(b->aovs[slot], spectrum_mul(weight, spectrum_from_rgb(args->value)));
}

void bsdf_add_closure(Bsdf *b, ClosureId id, Spectrum weight, const float *args, uint32_t stride)
{
    ASSERT((unsigned)id < CLOSURE_COUNT);
    ClosureArgs a;
    if (!gather(id, weight, args, stride, &a)) {
        b->faults |= BSDF_FAULT_NOT_FINITE;
        return;
    }
    if (id == CLOSURE_EMISSION) {
        Spectrum radiance = spectrum_from_rgb(a.Emission.radiance);
        b->emission = spectrum_add(b->emission, spectrum_mul(weight, radiance));
        return;
    }
    if (spectrum_is_black(weight))
        return;
    if (id == CLOSURE_TRANSPARENT) {
        transparent_add(b, weight, &a.Transparent);
        return;
    }
    if (id == CLOSURE_HOLDOUT) {
        Spectrum amount = bsdf_albedo_argument(a.Holdout.amount);
        b->holdout = spectrum_add(b->holdout, spectrum_mul(weight, amount));
        return;
    }
    if (id == CLOSURE_AOV) {
        add_aov(b, weight, &a.Aov);
        return;
    }
    if (!(fabsf(b->cos_o) >= BSDF_COS_MIN))
        return;
    switch (id) {
    case CLOSURE_LAMBERT:
        lambert_add(b, weight, &a.Lambert);
        break;
    case CLOSURE_OREN_NAYAR:
        oren_nayar_add(b, weight, &a.OrenNayar);
        break;
    case CLOSURE_TRANSLUCENT:
        translucent_add(b, weight, &a.Translucent);
        break;
    case CLOSURE_CONDUCTOR:
        conductor_add(b, weight, &a.Conductor);
        break;
    case CLOSURE_METAL:
        metal_add(b, weight, &a.Metal);
        break;
    case CLOSURE_BECKMANN_METAL:
        beckmann_metal_add(b, weight, &a.BeckmannMetal);
        break;
    case CLOSURE_DIELECTRIC:
        dielectric_add(b, weight, &a.Dielectric);
        break;
    case CLOSURE_PLASTIC:
        plastic_add(b, weight, &a.Plastic);
        break;
    case CLOSURE_GLOSSY:
        glossy_add(b, weight, &a.Glossy);
        break;
    case CLOSURE_SPECULAR:
        specular_add(b, weight, &a.Specular);
        break;
    case CLOSURE_REFRACTION:
        refraction_add(b, weight, &a.Refraction);
        break;
    case CLOSURE_THIN_DIELECTRIC:
        thin_dielectric_add(b, weight, &a.ThinDielectric);
        break;
    case CLOSURE_CLEARCOAT:
        clearcoat_add(b, weight, &a.Clearcoat);
        break;
    case CLOSURE_COAT:
        coat_add(b, weight, &a.Coat);
        break;
    case CLOSURE_SPECULAR_LAYER:
        specular_layer_add(b, weight, &a.SpecularLayer);
        break;
    case CLOSURE_DISNEY_DIFFUSE:
        disney_diffuse_add(b, weight, &a.DisneyDiffuse);
        break;
    case CLOSURE_DISNEY_RETRO:
        disney_retro_add(b, weight, &a.DisneyRetro);
        break;
    case CLOSURE_DISNEY_SHEEN:
        disney_sheen_add(b, weight, &a.DisneySheen);
        break;
    case CLOSURE_SHEEN:
        sheen_add(b, weight, &a.Sheen);
        break;
    case CLOSURE_VELVET:
        velvet_add(b, weight, &a.Velvet);
        break;
    case CLOSURE_TOON_DIFFUSE:
        toon_diffuse_add(b, weight, &a.ToonDiffuse);
        break;
    case CLOSURE_TOON_GLOSSY:
        toon_glossy_add(b, weight, &a.ToonGlossy);
        break;
    case CLOSURE_HAIR:
        hair_add(b, weight, &a.Hair);
        break;
    case CLOSURE_HAIR_REFLECTION:
        hair_reflection_add(b, weight, &a.HairReflection);
        break;
    case CLOSURE_HAIR_TRANSMISSION:
        hair_transmission_add(b, weight, &a.HairTransmission);
        break;
    case CLOSURE_SUBSURFACE:
        subsurface_add(b, weight, &a.Subsurface);
        break;
    case CLOSURE_VOLUME: /* what surfaces do not see */
        break;
    case CLOSURE_EMISSION:
    case CLOSURE_TRANSPARENT:
    case CLOSURE_HOLDOUT:
    case CLOSURE_AOV:
    case CLOSURE_EON: /* a program alone */
    case CLOSURE_COUNT:
        UNREACHABLE();
    }
}

bool bsdf_is_layer(ClosureId id)
{
    return id == CLOSURE_COAT || id == CLOSURE_SPECULAR_LAYER || id == CLOSURE_SHEEN;
}

Spectrum bsdf_layer_factor(const Bsdf *b, ClosureId id, const float *args, uint32_t stride)
{
    ClosureArgs a;
    Spectrum one = spectrum_splat(1.0f);
    if (!bsdf_is_layer(id))
        return one;
    if (!gather(id, one, args, stride, &a))
        return spectrum_splat(0.0f);
    return id == CLOSURE_COAT             ? coat_base_factor(b, &a.Coat)
           : id == CLOSURE_SPECULAR_LAYER ? specular_layer_base_factor(b, &a.SpecularLayer)
                                          : sheen_base_factor(b, &a.Sheen);
}

/* --- asking -------------------------------------------------------------------------------- */

SORT_ALWAYS_INLINE LobeValue lobe_eval(const BsdfLobe *lobe, float3 wi)
{
    switch (lobe->model) {
    case BSDF_MODEL_LAMBERT:
        return lambert_eval(lobe, wi);
    case BSDF_MODEL_OREN_NAYAR:
        return oren_nayar_eval(lobe, wi);
    case BSDF_MODEL_COMPLEMENT:
        return complement_eval(lobe, wi);
    case BSDF_MODEL_MICROFACET:
        return microfacet_eval(lobe, wi);
    case BSDF_MODEL_DIELECTRIC:
        return dielectric_eval(lobe, wi);
    case BSDF_MODEL_THIN:
        return thin_eval(lobe, wi);
    case BSDF_MODEL_CLEARCOAT:
        return clearcoat_eval(lobe, wi);
    case BSDF_MODEL_DISNEY_DIFFUSE:
        return disney_diffuse_eval(lobe, wi);
    case BSDF_MODEL_DISNEY_SHEEN:
        return disney_sheen_eval(lobe, wi);
    case BSDF_MODEL_SHEEN:
        return sheen_eval(lobe, wi);
    case BSDF_MODEL_VELVET:
        return velvet_eval(lobe, wi);
    case BSDF_MODEL_TOON:
        return toon_eval(lobe, wi);
    case BSDF_MODEL_HAIR:
        return hair_eval(lobe, wi);
    case BSDF_MODEL_HAIR_LOBE:
        return hair_lobe_eval(lobe, wi);
    case BSDF_MODEL_MIRROR:
    case BSDF_MODEL_WINDOW:
    case BSDF_MODEL_PANE:
    case BSDF_MODEL_SUBSURFACE:
    case BSDF_MODEL_TRANSPARENT:
        break;
    }
    UNREACHABLE();
}

static bool lobe_sample(const BsdfLobe *lobe, float u_side, float2 u, LobeSample *out)
{
    switch (lobe->model) {
    case BSDF_MODEL_LAMBERT:
    case BSDF_MODEL_OREN_NAYAR:
    case BSDF_MODEL_DISNEY_DIFFUSE:
    case BSDF_MODEL_DISNEY_SHEEN:
        return lambert_sample(lobe, u, out);
    case BSDF_MODEL_COMPLEMENT:
        return complement_sample(lobe, u, out);
    case BSDF_MODEL_MICROFACET:
        return microfacet_sample(lobe, u, out);
    case BSDF_MODEL_DIELECTRIC:
        return dielectric_sample(lobe, u_side, u, out);
    case BSDF_MODEL_MIRROR:
        return mirror_sample(lobe, out);
    case BSDF_MODEL_WINDOW:
        return window_sample(lobe, u_side, out);
    case BSDF_MODEL_THIN:
        return thin_sample(lobe, u_side, u, out);
    case BSDF_MODEL_PANE:
        return pane_sample(lobe, u_side, out);
    case BSDF_MODEL_CLEARCOAT:
        return clearcoat_sample(lobe, u, out);
    case BSDF_MODEL_SHEEN:
    case BSDF_MODEL_VELVET:
        return uniform_sample(u, out);
    case BSDF_MODEL_TOON:
        return toon_sample(lobe, u, out);
    case BSDF_MODEL_HAIR:
        return hair_sample(lobe, u_side, u, out);
    case BSDF_MODEL_HAIR_LOBE:
        return hair_lobe_sample(lobe, u, out);
    case BSDF_MODEL_SUBSURFACE:
        return subsurface_sample(lobe, u, out);
    case BSDF_MODEL_TRANSPARENT:
        return transparent_sample(lobe, out);
    }
    UNREACHABLE();
}

/* BSDF_REFLECTION or BSDF_TRANSMISSION by the geometric normal; 0 in the surface itself. */
static inline uint32_t geometric_side(const Bsdf *b, float3 wi)
{
    float cos_i = f3_dot(wi, b->Ng);
    if (cos_i == 0.0f)
        return 0;
    return (cos_i > 0.0f) == (b->cos_o > 0.0f) ? BSDF_REFLECTION : BSDF_TRANSMISSION;
}

/* It scatters all around, whatever the side. */
static inline bool is_of_fibre(const BsdfLobe *lobe)
{
    return lobe->model == BSDF_MODEL_HAIR || lobe->model == BSDF_MODEL_HAIR_LOBE;
}

/* What of diffuse light from wi gets past a bump that has the normal n, [Estevez2019, eq. 3 and 4]. */
static float past_bump(float3 unbent, float3 n, float3 wi)
{
    float g = f3_dot(unbent, wi) / (f3_dot(n, wi) * f3_dot(unbent, n));
    return g >= 1.0f ? 1.0f : g > 0.0f ? g * (1.0f + g * (1.0f - g)) : 0.0f;
}

/* Evaluates the lobe for light from wi, which is on this side. Returns false when it brings nothing from there. */
SORT_ALWAYS_INLINE bool lobe_value(const Bsdf *b, const BsdfLobe *lobe, float3 wi, uint32_t side,
                                   LobeValue *out)
{
    if (!(lobe->flags & side) || (lobe->flags & BSDF_DELTA))
        return false;
    float3 local = to_local(&lobe->frame, wi);
    if ((side == BSDF_REFLECTION ? !(local.z > 0.0f) : !(local.z < 0.0f)) && !is_of_fibre(lobe))
        return false;
    *out = lobe_eval(lobe, local);
    if ((lobe->flags & BSDF_DIFFUSE) && f3_dot(b->unbent, lobe->frame.n) < 1.0f - 1e-6f &&
        f3_length2(b->unbent) > 0.0f)
        out->f_cos = spectrum_scale(
            out->f_cos,
            past_bump(side == BSDF_REFLECTION ? b->unbent : f3_neg(b->unbent),
                      side == BSDF_REFLECTION ? lobe->frame.n : f3_neg(lobe->frame.n), wi));
    return true;
}

bool bsdf_lobe_value(const Bsdf *b, const BsdfLobe *lobe, float3 wi, LobeValue *out)
{
    return lobe_value(b, lobe, wi, geometric_side(b, wi), out);
}

Spectrum bsdf_eval(const Bsdf *b, float3 wi, float *out_pdf)
{
    Spectrum f_cos = spectrum_splat(0.0f);
    float pdf = 0.0f;
    uint32_t side = geometric_side(b, wi);
    for (uint32_t i = 0; i < b->lobe_count; ++i) {
        const BsdfLobe *lobe = &b->lobes[i];
        LobeValue value;
        if (!lobe_value(b, lobe, wi, side, &value))
            continue;
        f_cos = spectrum_add(f_cos, value.f_cos);
        pdf += lobe->select * value.pdf;
    }
    if (out_pdf)
        *out_pdf = pdf > 0.0f ? pdf / b->select_sum : 0.0f;
    return f_cos;
}

bool bsdf_is_transmitted(const Bsdf *b, float3 wi)
{
    return geometric_side(b, wi) == BSDF_TRANSMISSION;
}

float bsdf_pdf(const Bsdf *b, float3 wi)
{
    float pdf;
    (void)bsdf_eval(b, wi, &pdf);
    return pdf;
}

/* The lobe that u picks; *out_rest: what is left of u, in [0, 1). */
static const BsdfLobe *choose_lobe(const Bsdf *b, float u, float *out_rest)
{
    if (b->lobe_count == 1)
        return &b->lobes[0];
    float target = u * b->select_sum;
    uint32_t i = 0;
    while (i + 1 < b->lobe_count && target >= b->lobes[i].select) {
        target -= b->lobes[i].select;
        ++i;
    }
    *out_rest = clampf(target / b->lobes[i].select, 0.0f, 0x1.fffffep-1f);
    return &b->lobes[i];
}

bool bsdf_sample(const Bsdf *b, float u_side, float2 u, BsdfSample *out_sample)
{
    if (b->lobe_count == 0)
        return false;
    const BsdfLobe *lobe = choose_lobe(b, u.x, &u.x);
    LobeSample drawn = {.flags = lobe->flags, .eta = 1.0f};
    if (!lobe_sample(lobe, u_side, u, &drawn))
        return false;
    out_sample->wi = warp_to_frame(drawn.wi, lobe->frame.s, lobe->frame.t, lobe->frame.n);
    out_sample->flags = drawn.flags;
    out_sample->eta = drawn.eta;
    out_sample->n = lobe->frame.n;
    if (lobe->flags & BSDF_TRANSPARENT)
        out_sample->wi = f3_neg(b->wo);
    out_sample->lobe = (uint32_t)(lobe - b->lobes);
    uint32_t side = geometric_side(b, out_sample->wi);
    if (!(side & drawn.flags) && !(lobe->flags & BSDF_TRANSPARENT))
        return false;
    if (is_of_fibre(lobe))
        out_sample->flags = side | BSDF_GLOSSY;
    if (lobe->flags & BSDF_DELTA) {
        out_sample->pdf = drawn.probability * lobe->select / b->select_sum;
        out_sample->weight = spectrum_scale(drawn.weight, 1.0f / out_sample->pdf);
        return out_sample->pdf > 0.0f;
    }
    Spectrum f_cos = bsdf_eval(b, out_sample->wi, &out_sample->pdf);
    if (!(out_sample->pdf >= FLT_MIN)) /* of a smaller one the inverse is infinite */
        return false;
    out_sample->weight = spectrum_scale(f_cos, 1.0f / out_sample->pdf);
    return true;
}

float bsdf_pass_chance(const Bsdf *b)
{
    float sum = 0.0f;
    for (uint32_t i = 0; i < b->lobe_count; ++i)
        if (b->lobes[i].flags & BSDF_TRANSPARENT)
            sum += b->lobes[i].select;
    return b->select_sum > 0.0f ? sum / b->select_sum : 0.0f;
}

Spectrum bsdf_albedo(const Bsdf *b)
{
    Spectrum sum = spectrum_splat(0.0f);
    for (uint32_t i = 0; i < b->lobe_count; ++i)
        if (!(b->lobes[i].flags & BSDF_TRANSPARENT))
            sum = spectrum_add(sum, b->lobes[i].albedo);
    return sum;
}

float3 bsdf_normal(const Bsdf *b)
{
    float3 sum = f3_splat(0.0f);
    for (uint32_t i = 0; i < b->lobe_count; ++i)
        if (!(b->lobes[i].flags & BSDF_TRANSPARENT))
            sum = f3_madd(sum, b->lobes[i].select, b->lobes[i].frame.n);
    return f3_normalize(sum);
}
