#include "sort/shade/unit_library.h"

#include "base/str.h"
#include <stdio.h>
#include <string.h>

extern const EmbeddedText ssl_units[]; /* made by sort_embed */

static bool is_called(const EmbeddedText *unit, const char *name)
{
    size_t length = strlen(name);
    return strncmp(unit->name, name, length) == 0 && strcmp(unit->name + length, ".ssl") == 0;
}

const EmbeddedText *unit_library_all(void)
{
    return ssl_units;
}

const EmbeddedText *unit_library_find(const char *name)
{
    for (const EmbeddedText *unit = ssl_units; unit->name; ++unit)
        if (is_called(unit, name))
            return unit;
    return NULL;
}

const char *unit_library_suggest(const char *name, char out[256])
{
    enum { UNITS_MAX = 512 };
    char file[256];
    const char *candidates[UNITS_MAX];
    size_t count = 0;
    for (const EmbeddedText *unit = ssl_units; unit->name && count < UNITS_MAX; ++unit)
        candidates[count++] = unit->name;
    snprintf(file, sizeof file, "%s.ssl", name);
    const char *nearest = suggest_nearest(file, candidates, count);
    if (!nearest)
        return NULL;
    snprintf(out, 256, "%.*s", (int)(strlen(nearest) - 4), nearest);
    return out;
}
