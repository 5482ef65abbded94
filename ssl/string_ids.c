#include "ssl/string_ids.h"
#include "base/alloc.h"
#include "base/thread.h"
#include <string.h>

/* A linear list suffices, because shaders compare with a few words only. */
struct StringIds {
    Mutex lock;
    char **texts; /* under lock */
    uint32_t count, capacity;
};

StringIds *string_ids_create(void)
{
    StringIds *ids = MEM_NEW(StringIds);
    if (ids)
        mutex_init(&ids->lock);
    return ids;
}

void string_ids_destroy(StringIds *ids)
{
    if (!ids)
        return;
    for (uint32_t i = 0; i < ids->count; ++i)
        mem_free(ids->texts[i]);
    mem_free(ids->texts);
    mutex_destroy(&ids->lock);
    mem_free(ids);
}

static bool append(StringIds *ids, const char *text)
{
    if (ids->count == ids->capacity) {
        uint32_t capacity = ids->capacity ? 2 * ids->capacity : 64;
        char **texts = mem_realloc(ids->texts, capacity, sizeof *texts);
        if (!texts)
            return false;
        ids->texts = texts;
        ids->capacity = capacity;
    }
    ids->texts[ids->count] = mem_strdup(text);
    return ids->texts[ids->count] && ++ids->count;
}

bool string_ids_find(StringIds *ids, const char *text, int32_t *out_id)
{
    mutex_lock(&ids->lock);
    uint32_t i = 0;
    while (i < ids->count && strcmp(ids->texts[i], text) != 0)
        ++i;
    bool is_found = i < ids->count || append(ids, text);
    mutex_unlock(&ids->lock);
    *out_id = (int32_t)i;
    return is_found;
}
