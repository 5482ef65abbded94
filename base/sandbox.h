/* A process gives up, for good, the files that it does not need: for children that run foreign libraries on data from strangers.
 * By Landlock [landlock(7)], Linux 5.13 and later: without privileges, and without other programs. Files that are open already stay
 * usable, pipes of the parent above all. What newer kernels can refuse besides is refused there: connections by TCP (6.7), signals
 * to other processes (6.12). No program can be executed.
 *
 * Thread rule: once, by a process that has no threads yet; those that it makes inherit it. */
#ifndef SORT_BASE_SANDBOX_H
#define SORT_BASE_SANDBOX_H

#include "base/error.h"

typedef struct SandboxDesc {
    size_t size_bytes; /* sizeof(SandboxDesc) */
    const char *const
        *readable; /* folders, or files, with all below; those that are not there are left out */
    uint32_t readable_count;
    const char *writable; /* a folder: files in it are made, written, removed; NULL: none */
    const char *entries;  /* a folder: folders in it are made, renamed and removed; NULL: none */
} SandboxDesc;

/* Whether this kernel has Landlock. Any thread. */
bool sandbox_is_supported(void);
/* STATUS_UNSUPPORTED: this kernel has no Landlock, and nothing has changed. STATUS_IO: it has, and refuses; the process should end. */
Status sandbox_enter(const SandboxDesc *desc, Error *err) SORT_MUST_CHECK;

#endif
