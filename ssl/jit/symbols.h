/* The closed list of what machine code from SSL may call: rt/, and what LLVM's code generator puts
 * in by itself. No other symbol of the process can be reached, by generated code or by an object
 * from disk. */
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
