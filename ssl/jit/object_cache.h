/* Machine code on disk, so that a second start compiles nothing.
 *
 *   <folder>/<32 hex digits of the key>.sslobj = ObjectHeader | object file
 *
 * The key covers all that the code depends on, so a file is never out of date: it is either right
 * or not there. A file that is cut short, altered, made by something else or for another key is taken
 * for absent and replaced. Files are written under another name and renamed, so readers and writers
 * in other threads, processes and machines do not meet. Nothing is ever deleted here.
 *
 * The content is executed. So the folder must be this user's, with nobody else able to write in it or to
 * exchange it (file_make_private_directory), and each file must be this user's too. The check sum finds
 * damage; it is no signature. */
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

/* The object, the caller's (LLVMDisposeMemoryBuffer); NULL when there is none to be used. */
LLVMMemoryBufferRef object_cache_load(const char *folder, Hash128 key);
/* A cache that cannot be written costs time, nothing else: the caller may drop the error. */
Status object_cache_store(const char *folder, Hash128 key, LLVMMemoryBufferRef object,
                          Error *err) SORT_MUST_CHECK;

#endif
