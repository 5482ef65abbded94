/* Open files within a limit. A descriptor stays open between uses until its place is wanted; then
 * the one unused for longest is closed. When a file is opened again, its header must be the one that
 * was there at first: tiles of two files never mix. Any thread; opening is done without the lock. */
#ifndef SORT_TEXTURES_DESCRIPTORS_H
#define SORT_TEXTURES_DESCRIPTORS_H

#include "base/thread.h"
#include "textures/stex_read.h"

typedef struct Descriptor {
    const char *path;         /* borrowed: the texture */
    const StexHeader *header; /* borrowed: the texture; NULL until it was read once */
    int fd;                   /* -1: closed */
    uint32_t users;
    bool is_opening;
    struct Descriptor *older, *newer; /* by last use, while open */
} Descriptor;

typedef struct DescriptorPool {
    Mutex lock;
    Cond changed;
    uint32_t limit, open_count;
    uint64_t opened; /* in all */
    Descriptor *oldest, *newest;
} DescriptorPool;

void descriptor_pool_init(DescriptorPool *p, uint32_t limit);
void descriptor_pool_destroy(DescriptorPool *p); /* none is open */

void descriptor_init(Descriptor *d, const char *path);
/* The file, open, until descriptor_release. Waits (the thread, not a fiber) while all places are in
 * use. False: *out_failure says why, and *err (which may be NULL) in full if it was not opened. */
bool descriptor_acquire(DescriptorPool *p, Descriptor *d, int *out_fd, TileFailure *out_failure,
                        Error *err) SORT_MUST_CHECK;
void descriptor_release(DescriptorPool *p, Descriptor *d);
/* Closes it; nobody uses it. */
void descriptor_close(DescriptorPool *p, Descriptor *d);
void descriptor_pool_counts(DescriptorPool *p, uint64_t *out_opened, uint64_t *out_open_now);

#endif
