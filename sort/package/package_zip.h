/* Zip archives for package.c. The only user of libzip. A libzip handle serves one thread at a time:
 * idle handles wait in a pool, and whoever finds none opens one more. Any thread. */
#ifndef SORT_PACKAGE_PACKAGE_ZIP_H
#define SORT_PACKAGE_PACKAGE_ZIP_H

#include "base/error.h"

typedef struct ZipPool ZipPool;

typedef struct ZipEntry {
    uint64_t index, size_bytes, stored_bytes;
} ZipEntry;

Status zip_pool_open(const char *path, ZipPool **out_pool, Error *err) SORT_MUST_CHECK;
void zip_pool_close(ZipPool *pool); /* NULL is fine */

/* Refuses links, folders, encryption, methods other than stored and deflate, and sizes that deflate
 * cannot reach. STATUS_NOT_FOUND when it is not there. */
Status zip_pool_find(ZipPool *pool, const char *name, ZipEntry *out_entry,
                     Error *err) SORT_MUST_CHECK;
/* The name of an entry as the zip has it, unchecked; NULL behind the last one, and for one that has
 * none. Borrowed until zip_pool_close. */
uint64_t zip_pool_count(const ZipPool *pool);
const char *zip_pool_name(ZipPool *pool, uint64_t index);

/* Inflates the entry from begin to end, in order, giving each piece to `piece`; a status other than
 * OK stops it. Checks the entry's size and CRC. */
typedef Status (*ZipPieceFn)(void *data, const char *bytes, size_t size_bytes, Error *err);
Status zip_pool_read(ZipPool *pool, const ZipEntry *entry, ZipPieceFn piece, void *data,
                     Error *err) SORT_MUST_CHECK;

#endif
