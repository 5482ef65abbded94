/* Object files to executable memory, through ORC's LLJIT.
 *
 * Memory is written first and then made executable, never both at once: JITLink, which LLJIT uses
 * on the platforms that we build for, maps pages read-write, links, and changes them to read-execute
 * (code) or read-only (constants) before anybody gets an address. test_jit checks it in the process's
 * own map.
 *
 * Any thread; kernels are linked side by side. Code must not be removed while a thread or a parked
 * fiber is inside it: who holds a program holds its code. */
#ifndef SSL_JIT_LINKER_H
#define SSL_JIT_LINKER_H

#include "base/error.h"
#include "ssl/jit/target.h"
#include "ssl/ssl_kernel.h"
#include <llvm-c/Orc.h>

typedef struct Linker Linker;

typedef struct LinkedCode {
    SslKernelFn entry;
    LLVMOrcResourceTrackerRef tracker; /* what to free */
} LinkedCode;

Status linker_create(const JitTarget *t, Linker **out_linker, Error *err) SORT_MUST_CHECK;
void linker_destroy(Linker *l); /* NULL is fine; all code removed */
/* Takes `object` over, whatever happens. `symbol` is unique among what is linked. Errors: an object
 * that is damaged, or refers to a symbol that is not in jit/symbols.h. */
Status linker_add(Linker *l, LLVMMemoryBufferRef object, const char *symbol, LinkedCode *out_code,
                  Error *err) SORT_MUST_CHECK;
void linker_remove(Linker *l, LinkedCode *code);

#endif
