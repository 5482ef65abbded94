/* The closures as programs, compiled when SORT was built, for each class of CPUs. All classes give equal bits, so the widest
 * that this machine has is used. Constant data: any thread. */
#ifndef SORT_BSDF_CLOSURE_PROGRAMS_H
#define SORT_BSDF_CLOSURE_PROGRAMS_H

#include "sort/bsdf/bsdf_program.h"
#include "sort/bsdf/closure_table.h"

typedef struct ClosurePrograms {
    const char *cpu;            /* a name of ssl_baseline_cpus */
    const BsdfDef *const *defs; /* [closure_count]; NULL for those of ClosureSum */
} ClosurePrograms;

extern const ClosurePrograms closure_programs[]; /* ends with a cpu that is NULL */

/* Returns whether this machine runs code of a class. */
bool closure_programs_fit(const ClosurePrograms *programs);
/* Returns the programs of the widest class that this machine runs. */
const ClosurePrograms *closure_programs_here(void);

#endif
