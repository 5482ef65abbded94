/* Materials that the tests of sort/bsdf/ run through. */
#ifndef SORT_TESTS_SORT_BSDF_CASES_H
#define SORT_TESTS_SORT_BSDF_CASES_H

#include "tests/sort/bsdf/one_point.h"

typedef struct BsdfCase {
    const char *name;
    uint32_t closure_count;
    struct {
        const char *name;
        float weight;
        float args[CLOSURE_MAX_SCALARS];
    } closures[4];      /* a layer covers all that follow it */
    float alpha;        /* the narrowest lobe's width; 1 for diffuse ones, 0 for deltas */
    float ior;          /* of what refracts; 0: nothing does */
    bool is_lossless;   /* returns all light, within the stated error */
    bool is_reciprocal; /* also with energy compensation */
    float albedo_max;   /* of models that gain light; 0: 1 */
} BsdfCase;

extern const BsdfCase bsdf_cases[];
extern const uint32_t bsdf_case_count;

void bsdf_case_make(const BsdfCase *c, float3 wo, float3 Ng, uint32_t flags, OnePoint *out_bsdf);

/* Directions to look from: cosines from 1 to grazing, several azimuths; above the surface. */
extern const float3 bsdf_directions[];
extern const uint32_t bsdf_direction_count;

#endif
