/* A process permanently gives up access to files that it does not need. This is for children that run foreign libraries on
 * untrusted data. It uses Landlock [landlock(7)], Linux 5.13 and later, which needs neither privileges nor other programs.
 * Files that are already open stay usable, in particular the parent's pipes. On newer kernels TCP connections (6.7) and
 * signals to other processes (6.12) are refused as well. No program can be executed.
 *
 * Thread rule: call once, in a process that has no threads yet; threads made later inherit the restrictions. */
#ifndef SORT_BASE_SANDBOX_H
#define SORT_BASE_SANDBOX_H

#include "base/error.h"

typedef struct SandboxDesc {
    size_t size_bytes; /* sizeof(SandboxDesc) */
    const char *const
        *readable; /* folders, or files, with all below; those that are not there are left out */
    uint32_t readable_count;
    const char *writable; /* a folder in which files may be made, written and removed; NULL: none */
    /* a folder in which folders may be made, renamed and removed; NULL: none */
    const char *entries;
} SandboxDesc;

/* Whether this kernel has Landlock. Any thread. */
bool sandbox_is_supported(void);
/* Enters the sandbox. Errors: STATUS_UNSUPPORTED if the kernel has no Landlock; nothing has changed then.
 * STATUS_IO if it has, and refuses; the process should end. */
Status sandbox_enter(const SandboxDesc *desc, Error *err) SORT_MUST_CHECK;

#endif
