/* The definitions of a context, a unit and a program. Private to ssl/. */
#ifndef SSL_CONTEXT_H
#define SSL_CONTEXT_H

#include "ssl/ir/ir.h"
#include "ssl/jit/jit.h"
#include "ssl/lower/lower.h"
#include <stdatomic.h>

/* The most memory that one compile may take; beyond it, the compile is out of memory. */
#define SSL_COMPILE_MAX_BYTES ((size_t)1 << 30)

/* Immutable after creation, except for the Jit, which has a lock. Any thread may use it. */
struct SslContext {
    LowerTables tables; /* rows borrowed: host */
    StdLib *lib;
    Jit *jit;
};

/* A source that spans of a unit's IR refer to; warnings of later passes need it. */
typedef struct UnitSource {
    uint32_t file; /* the file number in those spans */
    const char *name;
    Str text;
} UnitSource;

/* A compiled shader or a linked group. Immutable once made, except for its reference count. */
struct SslUnit {
    SslContext *ctx; /* borrowed: outlives units */
    atomic_uint holders;
    Arena *arena; /* owned; has all memory below and the unit itself */
    IrModule *
        lowered; /* with what the source says of derivatives: groups are linked of it, and derivatives are taken of it */
    IrModule
        *module; /* with the derivatives that the source takes; `lowered` itself if it takes none */
    SslFaultInfo *fault; /* [module->fault_sites.count]; filled in while the DiagList exists */
    UnitSource *sources;
    uint32_t source_count;
    uint32_t file_end; /* larger than every file number in its spans */
    SslUnit **parts; /* references to the units that it is made of, which own strings and sources */
    uint32_t part_count;
    bool is_derivative; /* ssl_unit_differentiate made it, or one of its parts */
    uint32_t nesting;   /* depth of groups inside this one; 0 for a shader */
};

struct SslProgram {
    SslUnit *unit; /* a reference */
    atomic_uint holders;
    Arena *arena; /* owned; has everything that `info` points to */
    JitKernel *kernel;
    SslProgramInfo info;
    SslFaultInfo *fault; /* [info.fault_site_count] */
};

/* Completes a linked unit, which has `lowered`, its parts and their sources: builds `module` and `fault`. */
Status unit_complete(SslUnit *unit, DiagList *diags) SORT_MUST_CHECK;
/* Describes a fault site of the unit, or a site that a pass added for a place in the unit's source. */
SslFaultInfo ssl_unit_fault(const SslUnit *unit, const IrFaultSite *site);
/* Appends the diagnostics of passes over a copy of the unit's IR to the host's list, which may differ from the list
 * that the unit was compiled with. It translates spans and adds sources to the list. */
void unit_forward_diags(const SslUnit *unit, const DiagList *from, DiagList *to);

#endif
