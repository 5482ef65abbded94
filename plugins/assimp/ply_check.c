#include "plugins/assimp/ply_check.h"
#include "plugins/plugin_check.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 512, LINES_MAX = 100000 };

typedef struct Element {
    char name[64];
    uint64_t count;
    uint64_t least_bytes; /* least bytes of one entry */
} Element;

/* Returns the bytes of a property's type [PLY, 1994], under its old or new name; 0 if it is unknown. */
static unsigned type_bytes(const char *type)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"char", 1},  {"uchar", 1},   {"int8", 1},   {"uint8", 1},
                 {"short", 2}, {"ushort", 2},  {"int16", 2},  {"uint16", 2},
                 {"int", 4},   {"uint", 4},    {"int32", 4},  {"uint32", 4},
                 {"float", 4}, {"float32", 4}, {"double", 8}, {"float64", 8}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
        if (strcmp(type, types[i].name) == 0)
            return types[i].bytes;
    return 0;
}

/* Returns the least bytes of a property. A list takes at least its length. As text every value takes a digit
 * and a separator. */
static uint64_t property_bytes(const char *line, bool is_text)
{
    char first[32] = "", second[32] = "";
    if (sscanf(line, "property %31s %31s", first, second) < 2)
        return 0;
    return is_text ? 2 : type_bytes(strcmp(first, "list") == 0 ? second : first);
}

static SortResult check_element(const Element *e, uint64_t *left, SortFailure *why)
{
    /* The last entry of a text needs no separator. */
    if (e->least_bytes > 0 && e->count > (*left + 1) / e->least_bytes) {
        snprintf(why->text, sizeof why->text,
                 "its header claims %llu entries of element '%s', and the file has room for %llu",
                 (unsigned long long)e->count, e->name,
                 (unsigned long long)((*left + 1) / e->least_bytes));
        return SORT_ERROR_FORMAT;
    }
    uint64_t bytes = e->count * e->least_bytes;
    ASSERT(bytes <= *left + 1);
    *left -= bytes < *left ? bytes : *left;
    return SORT_OK;
}

SortResult ply_check(FILE *file, SortFailure *why)
{
    char line[LINE_BYTES], format[32] = "";
    Element elements[32];
    unsigned count = 0;
    bool has_ended = false;
    for (int i = 0; !has_ended && i < LINES_MAX && fgets(line, sizeof line, file); ++i) {
        Element e = {.name = ""};
        char entries[32] = "";
        has_ended = strncmp(line, "end_header", 10) == 0;
        (void)sscanf(line, "format %31s", format);
        if (sscanf(line, "element %63s %31s", e.name, entries) == 2) {
            if (count == sizeof elements / sizeof elements[0])
                return SORT_OK;
            e.count = strtoull(entries, NULL, 10);
            elements[count++] = e;
        } else if (count > 0) {
            elements[count - 1].least_bytes +=
                property_bytes(line, strncmp(format, "binary", 6) != 0);
        }
    }
    long begin = ftell(file);
    if (!has_ended || begin < 0 || fseek(file, 0, SEEK_END) != 0)
        return SORT_OK;
    uint64_t left = (uint64_t)(ftell(file) - begin);
    SortResult result = SORT_OK;
    for (unsigned i = 0; result == SORT_OK && i < count; ++i)
        result = check_element(&elements[i], &left, why);
    return result;
}
