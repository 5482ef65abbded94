/* A cache of machine code on disk, so that a second start compiles nothing.
 *
 *   <folder>/<32 hex digits of the key>.sslobj = ObjectHeader | object file
 *
 * The key covers everything that the code depends on, so a file is never out of date. A file that is truncated,
 * altered or made for another key counts as absent and is replaced. Files are written under another name and
 * renamed, so that threads, processes and machines can share a folder. Nothing here deletes a file.
 *
 * The content is executed. Therefore the folder must belong to this user, nobody else may be able to write in it
 * or to replace it (file_make_private_directory), and each file must belong to this user, too. The check sum
 * detects damage; it is no signature. */
#ifndef SSL_JIT_OBJECT_CACHE_H
#define SSL_JIT_OBJECT_CACHE_H

#include "base/error.h"
#include "base/hash.h"
#include <llvm-c/Core.h>

enum { OBJECT_CACHE_MAX_BYTES = 64 << 20 };

typedef struct ObjectHeader {
    char magic[8]; /* "SSLOBJ1\n" */
    uint64_t size_bytes;
    Hash128 key, content;
} ObjectHeader;
_Static_assert(sizeof(ObjectHeader) == 48, "the file starts with exactly these bytes");

/* Returns the object, which is the caller's (LLVMDisposeMemoryBuffer), or NULL if there is no valid file. */
LLVMMemoryBufferRef object_cache_load(const char *folder, Hash128 key);
/* Writes an object. The caller may ignore the error, since a cache that cannot be written costs only time. */
Status object_cache_store(const char *folder, Hash128 key, LLVMMemoryBufferRef object,
                          Error *err) SORT_MUST_CHECK;

#endif
