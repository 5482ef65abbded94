/* Names of the entries of scene.json, such as materials and meshes: what the reader accepts and the writer makes. */
#ifndef SORT_PACKAGE_PACKAGE_NAMES_H
#define SORT_PACKAGE_PACKAGE_NAMES_H

#include "base/arena.h"

enum { SCENE_NAME_BYTES_MAX = 255 };

/* Names that a section uses already: open addressing over 64 bits of a hash. Zero-initialise; free `hashes`. */
typedef struct NameSet {
    uint64_t *hashes; /* owned; 0: empty */
    uint32_t count, capacity;
} NameSet;

/* At most `max` bytes of valid UTF-8 without control characters, and a NUL; bad bytes become '_'. */
void package_clean_name(const char *name, char *out, size_t max);
/* `name` made fit for its section: clean, not empty, unique by a number at the end. `ordinal` is the
 * object's number, which makes the search for a free one short. NULL: out of memory. */
const char *package_unique_name(Arena *arena, NameSet *set, const char *name, const char *fallback,
                                uint32_t ordinal);

#endif
