/* The list of all functions that SSL's machine code may call: those of rt/, and those that LLVM's code generator adds by
 * itself. Neither generated code nor an object from disk can reach another symbol of the process. */
#ifndef SSL_JIT_SYMBOLS_H
#define SSL_JIT_SYMBOLS_H

#include "base/compiler.h"

typedef struct JitSymbol {
    const char *name;
    void (*address)(void);
} JitSymbol;

/* Static; ends with a NULL name. */
const JitSymbol *jit_symbols(void);

#endif
