/* Writes zip files by hand, so that they can lie. For tests. */
#ifndef SORT_TESTS_ZIP_FORGE_H
#define SORT_TESTS_ZIP_FORGE_H

#include "base/compiler.h"

typedef struct ForgeEntry {
    const char *name;
    const void *data; /* inflated content */
    size_t size_bytes;
    bool is_deflated;
    /* Lies; 0: the truth. */
    uint32_t claimed_size; /* inflated size in the headers */
    uint32_t claimed_crc;
    uint16_t method;     /* 12: bzip2 */
    uint16_t flags;      /* 1: encrypted */
    uint16_t unix_mode;  /* 0120777: a symbolic link */
    uint32_t repeats_of; /* 1 + index of the entry whose bytes this one points at */
} ForgeEntry;

/* Replaces `path`. Names are at most 255 bytes. */
void zip_forge(const char *path, const ForgeEntry *entries, uint32_t count);

#endif
