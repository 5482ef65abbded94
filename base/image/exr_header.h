/* The header of an EXR file in memory, attribute by attribute. Private to base/image: the writer
 * patches windows through it, the reader refuses what the EXR library would stumble over. */
#ifndef SORT_BASE_IMAGE_EXR_HEADER_H
#define SORT_BASE_IMAGE_EXR_HEADER_H

#include "base/str.h"

enum { EXR_FLAG_TILED = 0x200, EXR_FLAG_DEEP = 0x800, EXR_FLAG_MULTIPART = 0x1000 };

typedef struct ExrField {
    const char *name, *type; /* NUL-terminated inside the file */
    size_t value_offset, size_bytes;
} ExrField;

typedef enum ExrWalk { EXR_WALK_FIELD, EXR_WALK_END, EXR_WALK_BROKEN } ExrWalk;

/* Checks magic number and version; false if this is not an EXR file. Sets the version flags and
 * where the first attribute starts. */
bool exr_header_begin(Str file, uint32_t *out_flags, size_t *out_offset);
/* Reads the attribute at *offset and moves on; at the end *offset is behind the header. */
ExrWalk exr_header_next(Str file, size_t *offset, ExrField *out_field);
/* Returns whether the attribute says how the file is stored, and not what the picture is about. */
bool exr_header_is_storage(const char *name);

#endif
