/* The linker from object files to executable memory, by ORC's LLJIT.
 *
 * Memory is never writable and executable at once. JITLink, which LLJIT uses on the platforms that we build
 * for, maps pages read-write, links, and changes them to read-execute (code) or read-only (constants) before
 * it returns an address. test_jit checks this in the memory map of the process.
 *
 * Any thread may call these functions, and kernels are linked in parallel. Code must not be removed while a
 * thread or a parked fiber executes it; a reference to a program keeps its code. */
#ifndef SSL_JIT_LINKER_H
#define SSL_JIT_LINKER_H

#include "base/error.h"
#include "ssl/jit/target.h"
#include "ssl/ssl_kernel.h"
#include <llvm-c/Orc.h>

typedef struct Linker Linker;

typedef struct LinkedCode {
    SslKernelFn entry;
    LLVMOrcResourceTrackerRef tracker; /* owns the memory of the code */
} LinkedCode;

Status linker_create(const JitTarget *t, Linker **out_linker, Error *err) SORT_MUST_CHECK;
void linker_destroy(Linker *l); /* all code must have been removed; NULL is allowed */
/* Links `object`, which it frees in any case. `symbol` must be unique among the linked code. Errors: the object is
 * damaged, or refers to a symbol that is not in jit/symbols.h. */
Status linker_add(Linker *l, LLVMMemoryBufferRef object, const char *symbol, LinkedCode *out_code,
                  Error *err) SORT_MUST_CHECK;
void linker_remove(Linker *l, LinkedCode *code);

#endif
