#include "sort/bsdf/closure_programs.h"

#include "base/check.h"
#include <string.h>

bool closure_programs_fit(const ClosurePrograms *programs)
{
#if defined(__x86_64__)
    if (strcmp(programs->cpu, "x86-64-v4") == 0)
        return __builtin_cpu_supports("x86-64-v4");
    if (strcmp(programs->cpu, "x86-64-v3") == 0)
        return __builtin_cpu_supports("x86-64-v3");
#endif
    return true;
}

const ClosurePrograms *closure_programs_here(void)
{
    const ClosurePrograms *best = NULL;
    for (const ClosurePrograms *p = closure_programs; p->cpu; ++p) /* from narrow to wide */
        if (closure_programs_fit(p))
            best = p;
    ASSERT(best);
    return best;
}
