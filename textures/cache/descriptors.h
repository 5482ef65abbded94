/* A pool of open files. Its limit is at most half of the descriptors that the process may still open, and it
 * shrinks when the system refuses one. A descriptor stays open between uses until its place is needed for
 * another file; the file unused for longest is closed first. When a file is opened again, its header must equal
 * the one read at first. While it is open, readers call descriptor_confirm() after each read, which detects
 * that somebody has written to the file; tiles of two contents therefore never mix. A file that was renamed or
 * deleted while it is open remains readable, which is reported once.
 *
 * Thread rule: any thread may call any function. Files are opened and examined without the lock. */
#ifndef SORT_TEXTURES_CACHE_DESCRIPTORS_H
#define SORT_TEXTURES_CACHE_DESCRIPTORS_H

#include "base/thread.h"
#include "textures/format/stex_read.h"

typedef struct Descriptor {
    const char *path;        /* borrowed: the texture */
    const StexBrief *header; /* borrowed: the texture; NULL until it was read once */
    int fd;                  /* -1: closed */
    StexStamp stamp;         /* the state of the open file when its header was last verified */
    uint32_t users;
    bool is_opening;
    bool is_detached;                 /* the path no longer leads to the open file */
    struct Descriptor *older, *newer; /* links of the list by last use, while the file is open */
} Descriptor;

typedef struct DescriptorPool {
    Mutex lock;
    Cond changed;
    uint32_t limit, open_count;
    uint64_t opened; /* opened since descriptor_pool_init() */
    Descriptor *oldest, *newest;
} DescriptorPool;

/* Initialises an empty pool. `limit` is the greatest number of files open at once. */
void descriptor_pool_init(DescriptorPool *p, uint32_t limit);
void descriptor_pool_destroy(DescriptorPool *p); /* none is open */

void descriptor_init(Descriptor *d, const char *path);
/* Opens the file, or finds it open, and holds it until descriptor_release(). The call blocks the thread (not
 * only the fiber) while all places are in use. Returns false on failure: *out_failure holds the reason and, if
 * the file could not be opened, *err (which may be NULL) the full message. */
bool descriptor_acquire(DescriptorPool *p, Descriptor *d, int *out_fd, TileFailure *out_failure,
                        Error *err) SORT_MUST_CHECK;
/* Verifies that what was read belongs to the file that was opened first. Call it after a read and before
 * descriptor_release(). Returns false if the content was exchanged or cannot be examined (*out_failure).
 * *out_is_news becomes true when the path is first found to lead to another file. */
bool descriptor_confirm(DescriptorPool *p, Descriptor *d, bool *out_is_news,
                        TileFailure *out_failure) SORT_MUST_CHECK;
void descriptor_release(DescriptorPool *p, Descriptor *d);
/* Makes the next descriptor_acquire() open the path anew. Waits while the file is in use. */
void descriptor_renew(DescriptorPool *p, Descriptor *d);
/* Closes the file, which nobody may be using. */
void descriptor_close(DescriptorPool *p, Descriptor *d);
void descriptor_pool_counts(DescriptorPool *p, uint64_t *out_opened, uint64_t *out_open_now);

#endif
