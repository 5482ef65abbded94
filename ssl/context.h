/* What a context, a unit and a program are inside; private to ssl/'s own files. */
#ifndef SSL_CONTEXT_H
#define SSL_CONTEXT_H

#include "ssl/ir/ir.h"
#include "ssl/jit/jit.h"
#include "ssl/lower/lower.h"
#include <stdatomic.h>

/* Memory that one compile may take before it counts as out of memory. */
#define SSL_COMPILE_MAX_BYTES ((size_t)1 << 30)

/* Immutable after creation, but for what Jit guards itself: any thread. */
struct SslContext {
    LowerTables tables; /* rows borrowed: host */
    StdLib *lib;
    Jit *jit;
};

/* Immutable after compilation. */
struct SslUnit {
    SslContext *ctx; /* borrowed: outlives units */
    atomic_uint holders;
    Arena *arena;        /* owned: all below */
    IrModule *module;    /* as lowered */
    SslFaultInfo *fault; /* [module->fault_sites.count]: places, while the DiagList was at hand */
    const char *source_name;
    Str source_text; /* for warnings of passes that run later */
};

struct SslProgram {
    SslUnit *unit; /* held */
    atomic_uint holders;
    Arena *arena; /* owned: what info points to */
    JitKernel *kernel;
    SslProgramInfo info;
    SslFaultInfo *fault; /* [info.fault_site_count] */
};

void ssl_unit_retain(SslUnit *unit);
/* Of a fault site of the unit, or of one that a pass made for a place in its source. */
SslFaultInfo ssl_unit_fault(const SslUnit *unit, const IrFaultSite *site);

#endif
