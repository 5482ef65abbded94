/* What is proved of a scattering function that the compiler made (bsdf_program.h), ours or a user's:
 *
 *   finite       values, densities and directions are numbers, and none is negative, on random inputs, many of them grazing
 *   density      directions are drawn with the density that is told: chi-square over cells that follow the lobe
 *   integral     the density integrates to at most 1
 *   energy       no more light comes back than came in
 *   albedo       what lobes tell as their albedo is what comes back under uniform light, within the error that is claimed
 *   reciprocal   exchanging light and viewer changes nothing, in lobes that say so
 *
 * All random numbers follow from a seed, so that a proof that failed fails again. A proof that holds may fail by chance with
 * PROOF_SIGNIFICANCE, over all of its tests together. One thread's. */
#ifndef SORT_BSDF_PROOF_H
#define SORT_BSDF_PROOF_H

#include "sort/bsdf/bsdf_wide.h"

#define PROOF_SIGNIFICANCE 1e-3

/* --- density ---------------------------------------------------------------------------------- */

typedef struct ProofDensity {
    double p_value;
    double integral;           /* of the density over the sphere */
    double expected, observed; /* directions in the cell that differs most */
    float3 worst;              /* a direction in it */
} ProofDensity;

/* Draws `samples` directions of a block whose lanes all hold the same point, and counts them in cells, against the integral
 * of the density over each cell. Deltas and lost samples count as one cell more. Normals of the view are expected at +z or
 * -z, where cells end. */
void proof_density(const BsdfBlock *block, uint32_t samples, uint32_t seed, ProofDensity *out);

/* --- definitions ------------------------------------------------------------------------------ */

typedef struct ProofArg {
    const char *name;
    SslType type;   /* float, color, point, vector or normal */
    float min, max; /* of each number; normals and vectors named N and T are unit vectors */
} ProofArg;

enum { PROOF_ARGS_MAX = 32 };

typedef struct ProofSubject {
    const BsdfDef *def;
    ProofArg args[PROOF_ARGS_MAX];
    uint32_t arg_count;
    float most_light;   /* that may come back of 1 */
    float albedo_error; /* that the albedo may have; INFINITY: nothing is claimed of it */
} ProofSubject;

typedef enum ProofEffort { PROOF_FAST, PROOF_FULL } ProofEffort;

typedef enum ProofProperty {
    PROOF_FINITE,
    PROOF_DENSITY,
    PROOF_INTEGRAL,
    PROOF_ENERGY,
    PROOF_ALBEDO,
    PROOF_RECIPROCAL,
    PROOF_PROPERTIES
} ProofProperty;

enum { PROOF_TEXT_BYTES = 512 };

/* What was found of one property. */
typedef struct ProofFinding {
    bool is_wrong;
    uint64_t tests; /* 0: nothing to prove */
    char what
        [PROOF_TEXT_BYTES]; /* where it is wrong: expected and observed; else how near it came */
    char where[PROOF_TEXT_BYTES]; /* the arguments and wo, as source */
} ProofFinding;

/* Proves all properties, each up to its first failure. Errors: memory. */
Status proof_run(const ProofSubject *subject, ProofEffort effort, uint32_t seed,
                 ProofFinding out[PROOF_PROPERTIES], Error *err) SORT_MUST_CHECK;
/* Returns the property's name: "density". */
const char *proof_name(ProofProperty property);

#endif
