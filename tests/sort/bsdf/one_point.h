/* Closures at one point, for tests: the blocks of sort/bsdf/bsdf_wide.h with one live lane, by the programs that the renderer
 * runs here. A OnePoint is a value: it may be copied. */
#ifndef SORT_TESTS_SORT_BSDF_ONE_POINT_H
#define SORT_TESTS_SORT_BSDF_ONE_POINT_H

#include "sort/bsdf/bsdf_point.h"
#include "sort/bsdf/closure_table.h"
#include "sort/sampling/sampler.h"

enum { ONE_POINT_TERMS = 24 };

typedef struct OnePoint {
    float3 wo, Ng; /* Ng as given */
    float3 unbent;
    float least_alpha;
    uint32_t init_flags;
    uint64_t serial; /* of what it holds */
    uint32_t term_count;
    struct OnePointTerm {
        uint32_t closure; /* its place in the table */
        Spectrum weight;
        float args[CLOSURE_MAX_SCALARS];
    } terms[ONE_POINT_TERMS];
} OnePoint;

/* wo, Ng: unit; Ng on the outside, where dielectrics say so. flags: BSDF_IMPORTANCE ... */
void one_init(OnePoint *p, float3 wo, float3 Ng, uint32_t flags);
void one_blur(OnePoint *p, float least_alpha);
/* N: the unit shading normal before closures bent theirs. */
void one_shadow_bumps(OnePoint *p, float3 N);
/* Adds weight * closure(args), of the closure of this name; scalar i at args[i * stride]. */
void one_add_closure(OnePoint *p, const char *closure, Spectrum weight, const float *args,
                     uint32_t stride);
/* Returns the factor on the weights of what a layer covers; 1 when the closure is no layer. */
Spectrum one_layer_factor(const OnePoint *p, const char *closure, const float *args,
                          uint32_t stride);
bool one_is_layer(const char *closure);

Spectrum one_eval(const OnePoint *p, float3 wi, float *out_pdf); /* out_pdf may be NULL */
float one_pdf(const OnePoint *p, float3 wi);
bool one_sample(const OnePoint *p, float u_side, float2 u, BsdfSample *out_sample);

/* Draws SSL_BLOCK directions by the samples from `first` on of a pixel. Returns the bits of those that were drawn. */
uint16_t one_samples(const OnePoint *p, const Sampler *sampler, SampleKey pixel, uint32_t first,
                     BsdfSample out_samples[SSL_BLOCK]);

/* Returns the point's block, until another OnePoint is asked for something. */
BsdfPoint one_point(const OnePoint *p);
uint32_t one_lobe_count(const OnePoint *p);
uint32_t one_lobe_flags(const OnePoint *p, uint32_t lobe); /* of the lobes that are there */
uint32_t one_flags(const OnePoint *p);                     /* of all of them, SSL_LOBE_* alone */
uint32_t one_faults(const OnePoint *p);

#endif
