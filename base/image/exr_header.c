#include "base/image/exr_header.h"
#include "base/compiler.h"

#include <string.h>

bool exr_header_begin(Str file, uint32_t *out_flags, size_t *out_offset)
{
    static const unsigned char magic[5] = {0x76, 0x2f, 0x31, 0x01, 2};
    uint32_t version;
    if (file.size_bytes < 8 || memcmp(file.data, magic, sizeof magic) != 0)
        return false;
    memcpy(&version, file.data + 4, sizeof version);
    *out_flags = version & ~0xffu;
    *out_offset = 8;
    return true;
}

/* Returns the NUL-terminated text at *offset; NULL if it does not end inside the file. */
static const char *read_text(Str file, size_t *offset)
{
    const char *text = file.data + *offset;
    const char *end = memchr(text, '\0', file.size_bytes - *offset);
    if (!end)
        return NULL;
    *offset = (size_t)(end - file.data) + 1;
    return text;
}

ExrWalk exr_header_next(Str file, size_t *offset, ExrField *out_field)
{
    int32_t size_bytes;
    out_field->name = read_text(file, offset);
    if (!out_field->name)
        return EXR_WALK_BROKEN;
    if (out_field->name[0] == '\0')
        return EXR_WALK_END;
    out_field->type = read_text(file, offset);
    if (!out_field->type || file.size_bytes - *offset < sizeof size_bytes)
        return EXR_WALK_BROKEN;
    memcpy(&size_bytes, file.data + *offset, sizeof size_bytes);
    *offset += sizeof size_bytes;
    if (size_bytes < 0 || (size_t)size_bytes > file.size_bytes - *offset)
        return EXR_WALK_BROKEN;
    out_field->value_offset = *offset;
    out_field->size_bytes = (size_t)size_bytes;
    *offset += (size_t)size_bytes;
    return EXR_WALK_FIELD;
}

bool exr_header_is_storage(const char *name)
{
    static const char *const names[] = {"channels",
                                        "chunkCount",
                                        "compression",
                                        "dataWindow",
                                        "displayWindow",
                                        "lineOrder",
                                        "name",
                                        "pixelAspectRatio",
                                        "screenWindowCenter",
                                        "tiles",
                                        "type",
                                        "screenWindowWidth",
                                        "version"};
    for (size_t i = 0; i < SORT_COUNT_OF(names); ++i)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}
