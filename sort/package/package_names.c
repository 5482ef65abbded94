#include "sort/package/package_names.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/str.h"
#include "sort/package/package_write.h"
#include <string.h>

/* True if it was not there; `*out_failed` when out of memory. */
static bool name_set_add(NameSet *set, const char *name, bool *out_failed)
{
    if (2 * (set->count + 1) > set->capacity) {
        NameSet grown = {.capacity = set->capacity ? 2 * set->capacity : 64};
        grown.hashes = MEM_ARRAY(uint64_t, grown.capacity);
        if (!grown.hashes) {
            *out_failed = true;
            return false;
        }
        for (uint32_t i = 0; i < set->capacity; ++i)
            if (set->hashes[i]) {
                uint32_t at = (uint32_t)set->hashes[i] & (grown.capacity - 1);
                while (grown.hashes[at])
                    at = (at + 1) & (grown.capacity - 1);
                grown.hashes[at] = set->hashes[i];
            }
        grown.count = set->count;
        mem_free(set->hashes);
        *set = grown;
    }
    uint64_t hash = hash128_low64(hash128(name, strlen(name))) | 1;
    uint32_t at = (uint32_t)hash & (set->capacity - 1);
    for (; set->hashes[at]; at = (at + 1) & (set->capacity - 1))
        if (set->hashes[at] == hash)
            return false;
    set->hashes[at] = hash;
    ++set->count;
    return true;
}

void package_clean_name(const char *name, char *out, size_t max)
{
    Str text = str_from(name);
    size_t size = 0;
    for (size_t at = 0; at < text.size_bytes;) {
        uint32_t length = str_utf8_length(text, at);
        bool is_bad = !str_is_shown(text, at, length);
        uint32_t step = length == 0 ? 1 : length;
        if (size + step > max)
            break;
        if (is_bad)
            out[size++] = '_';
        else
            memcpy(out + size, text.data + at, step), size += step;
        at += step;
    }
    ASSERT(size <= max);
    out[size] = '\0';
}

const char *package_unique_name(Arena *arena, NameSet *set, const char *name, const char *fallback,
                                uint32_t ordinal)
{
    char base[SCENE_NAME_BYTES_MAX + 1], text[SCENE_NAME_BYTES_MAX + 32];
    bool failed = false;
    package_clean_name(name, base, SCENE_NAME_BYTES_MAX - 16);
    if (!base[0])
        snprintf(base, sizeof base, "%s", fallback);
    if (name_set_add(set, base, &failed))
        return arena_strndup(arena, base, strlen(base));
    for (uint32_t number = ordinal + 1; !failed; ++number) {
        snprintf(text, sizeof text, "%s %u", base, number);
        if (name_set_add(set, text, &failed))
            return arena_strndup(arena, text, strlen(text));
    }
    return NULL;
}

void package_slug(const char *name, char out[PACKAGE_SLUG_MAX + 1])
{
    size_t size = 0;
    ASSERT(name);
    for (const char *c = name; *c && size < PACKAGE_SLUG_MAX; ++c) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || *c == '-' || *c == '_';
        if (is_plain)
            out[size++] = *c;
        else if (size > 0 && out[size - 1] != '_')
            out[size++] = '_';
    }
    out[size] = '\0';
}
