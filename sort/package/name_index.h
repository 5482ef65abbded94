/* Names to indices, for the sections of a package. The hash is cryptographic, so a package made to
 * collide does not slow loading down. One owner at a time. */
#ifndef SORT_PACKAGE_NAME_INDEX_H
#define SORT_PACKAGE_NAME_INDEX_H

#include "base/error.h"

enum { NAME_INDEX_ABSENT = 0xffffffffu };

/* Zero-initialise before use. */
typedef struct NameIndex {
    const char **names; /* [count] in order of adding; owned array, borrowed names */
    uint32_t *slots;    /* owned; index + 1, 0: free */
    uint32_t count, capacity, slot_count;
} NameIndex;

/* Adds `name` (which must live as long as the index) under the next index. *out_index: that, or the
 * index of an equal name that is there already (*out_is_new tells). STATUS_NO_MEMORY. */
Status name_index_add(NameIndex *names, const char *name, uint32_t *out_index, bool *out_is_new,
                      Error *err) SORT_MUST_CHECK;
/* NAME_INDEX_ABSENT when it is not there. */
uint32_t name_index_find(const NameIndex *names, const char *name);
void name_index_free(NameIndex *names);

#endif
