/* Scattering functions in sslc: what `check` proves of them, and their picture. */
#ifndef SORT_TOOLS_SSLC_SSLC_BSDF_H
#define SORT_TOOLS_SSLC_SSLC_BSDF_H

#include "sort/bsdf/proof.h"
#include "tools/sslc/sslc_program.h"

enum { SSLC_BSDFS_MAX = SSL_MAX_CLOSURES };

typedef struct SslcBsdfOptions {
    uint32_t proofs; /* SslcProofs */
    uint32_t seed;
    bool has_report;     /* print what was found of each property */
    const char *picture; /* .png or .exr; NULL: none */
    CliTextList values;  /* NAME=VALUE: arguments of the picture */
} SslcBsdfOptions;

typedef enum SslcProofs { SSLC_PROOFS_NONE, SSLC_PROOFS_FAST, SSLC_PROOFS_FULL } SslcProofs;
extern const char *const sslc_proof_words[]; /* by SslcProofs; NULL ends them */

/* Returns whether a parameter of NAME.prepare is what the view gives, and no argument. */
bool sslc_is_of_view(const char *name);

/* Builds a bsdf of the file that compiles, proves it and draws it. Returns whether all of that holds; else it has been
 * printed. */
bool sslc_prove_bsdf(SslcFile *file, const SslBsdfInfo *info, const SslcBsdfOptions *options);

/* Draws the lobes with these arguments, seen from four directions. */
Status sslc_draw_lobes(const ProofSubject *subject, const float *args, const char *path,
                       Error *err) SORT_MUST_CHECK;

#endif
