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

/* A source that spans of a unit's IR are in, for warnings of passes that run later. */
typedef struct UnitSource {
    uint32_t file; /* of those spans */
    const char *name;
    Str text;
} UnitSource;

/* Immutable after compilation, or after linking: a group of units is a unit. */
struct SslUnit {
    SslContext *ctx; /* borrowed: outlives units */
    atomic_uint holders;
    Arena *arena;        /* owned: all below */
    IrModule *module;    /* as lowered */
    SslFaultInfo *fault; /* [module->fault_sites.count]: places, while the DiagList was at hand */
    UnitSource *sources;
    uint32_t source_count;
    uint32_t file_end; /* every file of its spans is below */
    SslUnit **parts;   /* held, for strings and sources of theirs: a group's units */
    uint32_t part_count;
    uint32_t nesting; /* groups inside one another; a shader's unit has 0 */
};

struct SslProgram {
    SslUnit *unit; /* held */
    atomic_uint holders;
    Arena *arena; /* owned: what info points to */
    JitKernel *kernel;
    SslProgramInfo info;
    SslFaultInfo *fault; /* [info.fault_site_count] */
};

/* Of a fault site of the unit, or of one that a pass made for a place in its source. */
SslFaultInfo ssl_unit_fault(const SslUnit *unit, const IrFaultSite *site);
/* Appends what the passes said of a copy of the unit's IR. The host's list need not be the one that the
 * unit was compiled with: spans are translated, sources added. */
void unit_forward_diags(const SslUnit *unit, const DiagList *from, DiagList *to);

#endif
