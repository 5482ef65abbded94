/* Open files within a limit, which is no more than half of what the process may still open, and shrinks when the system refuses one. A descriptor stays open between uses until its place is wanted; then
 * the one unused for longest is closed. When a file is opened again, its header must be the one that
 * was there at first; while it is open, whoever reads confirms afterwards that nobody has written to
 * it, or that the header is still the same. So tiles of two files never mix. A file that was renamed
 * or deleted while it is open goes on being read, and that is told once. Any thread; files are opened
 * and examined without the lock. */
#ifndef SORT_TEXTURES_CACHE_DESCRIPTORS_H
#define SORT_TEXTURES_CACHE_DESCRIPTORS_H

#include "base/thread.h"
#include "textures/format/stex_read.h"

typedef struct Descriptor {
    const char *path;        /* borrowed: the texture */
    const StexBrief *header; /* borrowed: the texture; NULL until it was read once */
    int fd;                  /* -1: closed */
    StexStamp stamp;         /* of the open file, when its header was last seen to be the same */
    uint32_t users;
    bool is_opening;
    bool is_detached;                 /* the path does not lead to the open file any more */
    struct Descriptor *older, *newer; /* by last use, while open */
} Descriptor;

typedef struct DescriptorPool {
    Mutex lock;
    Cond changed;
    uint32_t limit, open_count;
    uint64_t opened; /* in all */
    Descriptor *oldest, *newest;
} DescriptorPool;

/* limit: at most so many at once. */
void descriptor_pool_init(DescriptorPool *p, uint32_t limit);
void descriptor_pool_destroy(DescriptorPool *p); /* none is open */

void descriptor_init(Descriptor *d, const char *path);
/* The file, open, until descriptor_release. Waits (the thread, not a fiber) while all places are in
 * use. False: *out_failure says why, and *err (which may be NULL) in full if it was not opened. */
bool descriptor_acquire(DescriptorPool *p, Descriptor *d, int *out_fd, TileFailure *out_failure,
                        Error *err) SORT_MUST_CHECK;
/* After a read, before it is believed and before descriptor_release. False: the content was exchanged,
 * or cannot be examined (*out_failure). *out_is_news: the path leads elsewhere, for the first time. */
bool descriptor_confirm(DescriptorPool *p, Descriptor *d, bool *out_is_news,
                        TileFailure *out_failure) SORT_MUST_CHECK;
void descriptor_release(DescriptorPool *p, Descriptor *d);
/* The next one who acquires it opens the file at the path anew. Waits while it is in use. */
void descriptor_renew(DescriptorPool *p, Descriptor *d);
/* Closes it; nobody uses it. */
void descriptor_close(DescriptorPool *p, Descriptor *d);
void descriptor_pool_counts(DescriptorPool *p, uint64_t *out_opened, uint64_t *out_open_now);

#endif
