/* Limits of an import's process: time and memory by the bytes of the files that it opens. A file of 200
 * bytes that says it holds 100,000,000 vertices is refused after seconds.
 *
 *   processor time   IMPORT_CPU_S and IMPORT_CPU_S_PER_MB more for each million bytes       SIGXCPU
 *   time             IMPORT_WAIT times as much (a disk may be slow)                          SIGALRM
 *   data             IMPORT_DATA_BYTES and IMPORT_DATA_FACTOR times the bytes, but not more
 *                    than the parent allows                                                  no memory
 *
 * Each is the kernel's to enforce, whatever the importer's library does. */
#ifndef SORT_IMPORT_IMPORT_LIMITS_H
#define SORT_IMPORT_IMPORT_LIMITS_H

#include <stdint.h>

enum {
    IMPORT_CPU_S = 5,
    IMPORT_CPU_S_PER_MB = 2,
    IMPORT_WAIT = 20,
    IMPORT_DATA_BYTES = 1 << 30,
    IMPORT_DATA_FACTOR = 200
};

/* For the whole process, which should import one file and end: none may be set back. Also from then on no core
 * is dumped. `data` is not used; the shape is that of ImportFilesDesc.allow. */
void import_limits_allow(void *data, uint64_t total_bytes);

#endif
