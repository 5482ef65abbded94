/* How a surface scatters light at one point: a flat set of weighted lobes, seen from one direction wo.
 *
 *   bsdf_init(&b, wo, Ng, flags)           world space, unit vectors
 *   bsdf_add_closure(&b, id, weight, ...)  once for each closure term that the shader made
 *   bsdf_sample / bsdf_eval / bsdf_pdf     then as often as wanted
 *
 * wo points away from the surface, back along the path; wi points away from it too, to where light comes
 * from. Ng is the geometric normal on the outside (the side that dielectrics call outside); wo may be
 * on either side, closures are two-sided. Whatever is returned as "f cos" includes |cos| between wi and
 * the lobe's own normal, since lobes may have different normals.
 *
 * Shading normals. A lobe's normal is first turned to the side of Ng where wo is. Reflection needs wi and
 * wo on the same side of Ng, transmission on opposite sides, whatever the lobe's normal says
 * [Veach1997 sec. 5.3.2]: no light leaks through, and directions that a lobe draws on the wrong side are
 * lost (bsdf_sample returns false). Microfacet lobes bend their normal towards Ng just enough that the
 * mirror direction stays above the surface [Keller2017 app. A], so that bumps do not turn black.
 *
 * Limits. alpha = roughness^2; below BSDF_ALPHA_DELTA a microfacet lobe is a perfect mirror or window: a
 * delta, which eval and pdf do not see. |ior - 1| < BSDF_IOR_NONE is no interface: light goes straight on.
 * Radiance is carried: refraction scales f by 1/eta^2, eta = index of wi's side over index of wo's side;
 * with BSDF_IMPORTANCE (light tracing) it does not. With
 * |wo . Ng| < BSDF_COS_MIN nothing scatters. No closure returns more light than it gets, but for rounding and
 * the tables of albedo.h (1e-3; Dielectric 1e-2).
 *
 * A Bsdf is plain memory without pointers, owned by its caller. Filling it is one thread's; reading it,
 * any's. */
#ifndef SORT_BSDF_BSDF_H
#define SORT_BSDF_BSDF_H

#include "sort/bsdf/albedo.h"
#include "sort/bsdf/closure_table.h"
#include "sort/bsdf/spectrum.h"

enum { BSDF_MAX_LOBES = 16, BSDF_AOVS_MAX = 8 };

#define BSDF_ALPHA_DELTA 1e-3f
#define BSDF_IOR_NONE    1e-3f
#define BSDF_COS_MIN     1e-6f

/* Flags of bsdf_init. */
enum {
    BSDF_IMPORTANCE = 1, /* importance instead of radiance: refraction without 1/eta^2 */
    BSDF_SINGLE_SCATTER =
        2,         /* microfacet lobes without energy compensation, to compare with theory */
    BSDF_FIBRE = 4 /* nothing walks inside: Subsurface scatters as Lambert does */
};

/* The kind of a lobe or of a sample. */
typedef enum BsdfFlags {
    BSDF_REFLECTION = 1,
    BSDF_TRANSMISSION = 2, /* wi on the other side */
    BSDF_DIFFUSE = 4,
    BSDF_GLOSSY = 8,
    BSDF_DELTA = 16,       /* mirror, smooth glass: found only by bsdf_sample */
    BSDF_TRANSPARENT = 32, /* straight through; with TRANSMISSION | DELTA. Not a bounce */
    BSDF_SUBSURFACE = 64   /* into the medium below, see bsdf_medium; with TRANSMISSION | DELTA */
} BsdfFlags;

/* How light is sorted into passes, by what a lobe does with it; as in Cycles 3 [Blender2022]. What goes through a
 * rough sheet or into a body to come out again is diffuse; hair as a whole is transmission. */
typedef enum BsdfKind {
    BSDF_KIND_DIFFUSE,
    BSDF_KIND_GLOSSY, /* reflected otherwise */
    BSDF_KIND_TRANSMISSION,
    BSDF_KINDS
} BsdfKind;

/* Faults while closures were added; 0: none. */
typedef enum BsdfFaults {
    BSDF_FAULT_FULL = 1,      /* more than BSDF_MAX_LOBES; the term was left out */
    BSDF_FAULT_NOT_FINITE = 2 /* a NaN or infinite weight or argument; the term was left out */
} BsdfFaults;

typedef enum BsdfModel {
    BSDF_MODEL_LAMBERT,
    BSDF_MODEL_OREN_NAYAR,
    BSDF_MODEL_COMPLEMENT, /* shaped so as to return what a microfacet lobe does not */
    BSDF_MODEL_MICROFACET, /* reflection */
    BSDF_MODEL_MIRROR,
    BSDF_MODEL_DIELECTRIC, /* reflection and refraction, or refraction alone */
    BSDF_MODEL_WINDOW,     /* the same, smooth */
    BSDF_MODEL_THIN,       /* a sheet of glass: reflected, or through with the same spread */
    BSDF_MODEL_PANE,       /* the same, smooth */
    BSDF_MODEL_CLEARCOAT,
    BSDF_MODEL_DISNEY_DIFFUSE,
    BSDF_MODEL_DISNEY_SHEEN,
    BSDF_MODEL_SHEEN,
    BSDF_MODEL_VELVET,
    BSDF_MODEL_TOON,
    BSDF_MODEL_HAIR,
    BSDF_MODEL_HAIR_LOBE, /* one lobe alone */
    BSDF_MODEL_SUBSURFACE,
    BSDF_MODEL_TRANSPARENT
} BsdfModel;

/* The Fresnel term of a microfacet lobe. */
typedef enum BsdfFresnel {
    BSDF_FRESNEL_SCHLICK, /* from f0 to f90; both 1: none */
    BSDF_FRESNEL_METAL,   /* exact; f0 and f90 are eta and k */
    BSDF_FRESNEL_TINTED   /* from f0 to 1 as a dielectric of index eta goes from its own */
} BsdfFresnel;

/* The medium inside a translucent body: extinction in 1/m, single-scattering albedo in [0, 1), and the mean cosine of
 * scattering. */
typedef struct BsdfMedium {
    Spectrum sigma_t, albedo;
    float g;
} BsdfMedium;

/* Private to sort/bsdf/, here so that a Bsdf can live anywhere. */
typedef struct BsdfFrame {
    float3 s, t, n; /* n: on the side where wo is */
    float3 wo;      /* in the frame; z > 0 for what depends on it */
} BsdfFrame;

typedef struct BsdfLobe {
    BsdfModel model;
    uint32_t flags; /* BsdfFlags */
    float select;   /* chance of being sampled, times Bsdf.select_sum */
    BsdfFrame frame;
    Spectrum weight; /* the closure's weight, times all that does not depend on wi */
    Spectrum albedo; /* estimate of what goes out to wo under uniform light, weight included */
    union {
        struct {
            float a, b;
        } oren_nayar;
        struct {
            AlbedoRow row;
            bool is_smooth;    /* the lobe it completes is a mirror */
            float width2, log; /* of the sampling density, multiscatter.c; width2 0: the cosine */
            Spectrum f0, f90;  /* of the lobe it completes */
        } complement;
        struct {
            uint32_t kind; /* MicrofacetKind */
            BsdfFresnel fresnel;
            float alpha_x, alpha_y, s_o;
            Spectrum f0, f90; /* see BsdfFresnel */
            float eta,
                f_normal; /* of BSDF_FRESNEL_TINTED: the index, its reflectance at the normal */
        } microfacet;
        struct {
            uint32_t kind;         /* MicrofacetKind */
            bool is_refraction;    /* all goes through, but for total reflection, which is lost */
            float alpha, s_o, eta; /* eta: index across over index on this side */
            float transmission_scale; /* 1/eta^2 for radiance */
            float tint_r, tint_t;     /* averages, for choosing between the two */
            Spectrum reflection, transmission;
        } dielectric;
        struct {
            float alpha, s_o, log; /* log: of alpha^2 */
        } clearcoat;
        struct {
            float roughness, fresnel_o; /* fresnel_o: Schlick's weight of wo */
            bool is_retro;
        } disney;
        struct {
            float exponent; /* 1 / alpha */
            float lambda_o, scale, alpha;
        } sheen;
        struct {
            float inv_sigma2;
        } velvet;
        struct {
            float3 axis;
            float size, smooth, one_minus_cos; /* radians; of the cone that is sampled */
        } toon;
        struct {
            float sin_o, cos_o; /* of wo to the plane across the fibre */
            float s;            /* of the logistic distribution about the fibre */
            float v[3];         /* variance along it, of R, TT, TRT and the rest */
            float turn[3], sin_tilt[3], cos_tilt[3]; /* by R, TT, TRT */
            float chance[4];
            Spectrum attenuation[4];
        } hair;
        struct {
            bool is_transmission;
            float along, radial; /* widths, radians */
            float theta_o;       /* of wo to the plane across the fibre */
            float shift;         /* where the half angle is most likely */
            float low, high;     /* of the Cauchy distribution's integral along the fibre */
            float turn;          /* the same around it, of transmission */
        } hair_lobe;
        BsdfMedium medium;
    };
} BsdfLobe;

typedef struct Bsdf {
    float3 wo, Ng; /* Ng as given */
    float3 unbent; /* see bsdf_shadow_bumps; zero as after bsdf_init */
    uint32_t init_flags;
    uint32_t lobe_count;
    uint32_t flags;  /* union of the lobes' BsdfFlags */
    uint32_t faults; /* BsdfFaults */
    float select_sum;
    float cos_o;       /* wo . Ng */
    float least_alpha; /* see bsdf_blur */
    Spectrum emission;
    Spectrum transparency;
    Spectrum holdout;
    uint32_t aov_slots;           /* bit: slot of aovs that closures gave a value */
    Spectrum aovs[BSDF_AOVS_MAX]; /* of these slots */
    BsdfLobe lobes[BSDF_MAX_LOBES];
} Bsdf;

typedef struct BsdfSample {
    float3 wi;
    Spectrum weight; /* f cos / pdf: what the path's throughput is multiplied by */
    float pdf;       /* per solid angle, over all lobes; with BSDF_DELTA: the lobe's probability */
    float eta;       /* index on wi's side over index on wo's side; 1 unless refracted */
    uint32_t flags;  /* BsdfFlags of the lobe, with REFLECTION or TRANSMISSION as it happened */
    float3 n;        /* the lobe's normal, on the side where wo is */
    uint32_t lobe;   /* for bsdf_medium */
} BsdfSample;

/* wo, Ng: unit. flags: 0 for a path from the camera. */
void bsdf_init(Bsdf *b, float3 wo, float3 Ng, uint32_t flags);
/* N: the unit shading normal before closures bent theirs. Diffuse light then fades to nothing where it would come from below
 * N, instead of ending there at once; each closure's share of light becomes less [Estevez2019]. */
void bsdf_shadow_bumps(Bsdf *b, float3 N);

/* Before closures are added: no microfacet is sharper than least_alpha, [0, 1], and no fibre smoother than a variance
 * of that; 0 as after bsdf_init. Sheen and diffuse closures stay. */
static inline void bsdf_blur(Bsdf *b, float least_alpha)
{
    b->least_alpha = least_alpha;
}

/* Adds weight * closure(args). args: the closure's scalars in the order of its row, scalar i at
 * args[i * stride] (stride 1: packed; SSL_BLOCK: straight from a kernel's result block). What cannot be
 * added is left out and noted in b->faults. Emission and Transparent go here too. Weights may be
 * negative (closure subtraction). */
void bsdf_add_closure(Bsdf *b, ClosureId id, Spectrum weight, const float *args, uint32_t stride);

/* Returns whether the closure is a layer over another one, its last argument (Coat, Sheen). */
bool bsdf_is_layer(ClosureId id);
/* Returns the fraction of the light from below a layer that reaches wo: the factor on the weights of the closures inside.
 * It depends on wo alone, so that what a layer reflects and what it covers add up to at most what comes in
 * [Kulla2017 albedo scaling]. 0 when the arguments are not finite; 1 when id is no layer. */
Spectrum bsdf_layer_factor(const Bsdf *b, ClosureId id, const float *args, uint32_t stride);

/* Sum of the emission closures: radiance towards wo. */
static inline Spectrum bsdf_emission(const Bsdf *b)
{
    return b->emission;
}
/* Sum of the transparent closures: what a shadow ray is multiplied by. */
static inline Spectrum bsdf_transparency(const Bsdf *b)
{
    return b->transparency;
}
/* Sum of the holdout closures: the fraction of the surface that is a hole in the picture. */
static inline Spectrum bsdf_holdout(const Bsdf *b)
{
    return b->holdout;
}
/* The chance that bsdf_sample draws a transparent closure. */
float bsdf_pass_chance(const Bsdf *b);
/* True when light sampling can contribute: there is a lobe that is not a delta. */
static inline bool bsdf_has_smooth(const Bsdf *b)
{
    return (b->flags & (uint32_t)(BSDF_DIFFUSE | BSDF_GLOSSY)) != 0;
}

/* Draws wi. u.x chooses the lobe, u.y and what is left of u.x the direction, so that stratified pairs are stratified in
 * each lobe; u_side chooses within lobes that bsdf_needs_side tells of. All in [0, 1). False: nothing comes from here
 * (no lobes, or the direction is lost): the path ends. */
bool bsdf_sample(const Bsdf *b, float u_side, float2 u, BsdfSample *out_sample);
/* Whether bsdf_sample looks at u_side: a lobe both reflects and refracts, or is a fibre's. */
static inline bool bsdf_needs_side(const Bsdf *b)
{
    const uint32_t both = BSDF_REFLECTION | BSDF_TRANSMISSION;
    return (b->flags & both) == both;
}

/* The medium that a sample with BSDF_SUBSURFACE enters. */
static inline const BsdfMedium *bsdf_medium(const Bsdf *b, const BsdfSample *sample)
{
    return &b->lobes[sample->lobe].medium;
}

/* f cos towards wo of light from wi, and the density with which bsdf_sample draws wi (out_pdf may be
 * NULL). Delta lobes are left out of both. */
Spectrum bsdf_eval(const Bsdf *b, float3 wi, float *out_pdf);
float bsdf_pdf(const Bsdf *b, float3 wi);
/* bsdf_eval by kind of lobe; the sum over the kinds is its value. */
void bsdf_eval_kinds(const Bsdf *b, float3 wi, Spectrum out_f_cos[BSDF_KINDS]);
/* Returns the fractions of the weight of a sample, which is not transparent, that lobes of each kind bring. They sum to 1
 * in each channel, or are 0 where the weight is 0. */
void bsdf_sample_kinds(const Bsdf *b, const BsdfSample *sample, Spectrum out_shares[BSDF_KINDS]);
/* Light from wi is transmitted, not reflected: it comes from the other side of the surface. */
bool bsdf_is_transmitted(const Bsdf *b, float3 wi);

/* For AOVs: albedo (reflected and transmitted, without what passes straight through), mean normal (faces
 * wo; zero when there is no lobe). */
Spectrum bsdf_albedo(const Bsdf *b);
float3 bsdf_normal(const Bsdf *b);
/* The albedo of the lobes of each kind. */
void bsdf_albedo_kinds(const Bsdf *b, Spectrum out_albedo[BSDF_KINDS]);

#endif
