#include "base/json_span.h"
#include <stdlib.h>
#include <string.h>

typedef struct Scan {
    Str text;
    size_t at;
} Scan;

static char peek(const Scan *s)
{
    return s->at < s->text.size_bytes ? s->text.data[s->at] : '\0';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool ends_value(char c)
{
    return is_blank(c) || c == ',' || c == ':' || c == ']' || c == '}';
}

static void skip_blanks(Scan *s)
{
    while (s->at < s->text.size_bytes && is_blank(peek(s)))
        ++s->at;
}

/* Skips a string. Returns its text without the quotes. */
static Str scan_string(Scan *s)
{
    size_t begin = ++s->at;
    while (s->at < s->text.size_bytes && peek(s) != '"')
        s->at += peek(s) == '\\' ? 2 : 1;
    Str text = {s->text.data + begin, s->at < s->text.size_bytes ? s->at - begin : 0};
    ++s->at;
    return text;
}

/* Skips any value by counting brackets. */
static void skip_value(Scan *s)
{
    size_t depth = 0;
    do {
        skip_blanks(s);
        char c = peek(s);
        if (c == '"') {
            (void)scan_string(s);
        } else if (c == '{' || c == '[') {
            ++depth;
            ++s->at;
        } else if (c == '}' || c == ']') {
            --depth;
            ++s->at;
        } else if (c == ',' || c == ':') {
            ++s->at;
        } else {
            while (s->at < s->text.size_bytes && !ends_value(peek(s)))
                ++s->at;
        }
    } while (depth && s->at < s->text.size_bytes);
}

/* Moves to the value of the path's next field. Returns the rest of the path, or NULL. */
static const char *enter_field(Scan *s, const char *path)
{
    for (++s->at;; ++s->at) {
        skip_blanks(s);
        if (peek(s) != '"')
            return NULL;
        Str key = scan_string(s);
        skip_blanks(s);
        ++s->at; /* ':' */
        skip_blanks(s);
        char after = strlen(path) >= key.size_bytes ? path[key.size_bytes] : 'x';
        if ((after == '\0' || after == '.' || after == '[') &&
            memcmp(path, key.data, key.size_bytes) == 0)
            return path + key.size_bytes;
        skip_value(s);
        skip_blanks(s);
        if (peek(s) != ',')
            return NULL;
    }
}

static const char *enter_element(Scan *s, const char *path)
{
    char *end;
    unsigned long index = strtoul(path, &end, 10);
    if (end == path || *end != ']')
        return NULL;
    for (++s->at;; ++s->at) {
        skip_blanks(s);
        if (peek(s) == ']' || peek(s) == '\0')
            return NULL;
        if (index-- == 0)
            return end + 1;
        skip_value(s);
        skip_blanks(s);
        if (peek(s) != ',')
            return NULL;
    }
}

bool json_find_span(Str text, const char *path, uint32_t *out_begin, uint32_t *out_end)
{
    Scan s = {.text = text};
    skip_blanks(&s);
    while (path && *path) {
        if (*path == '[' && peek(&s) == '[')
            path = enter_element(&s, path + 1);
        else if (*path != '[' && peek(&s) == '{')
            path = enter_field(&s, *path == '.' ? path + 1 : path);
        else
            return false;
    }
    *out_begin = (uint32_t)s.at;
    skip_value(&s);
    size_t end = s.at < text.size_bytes ? s.at : text.size_bytes;
    *out_end = (uint32_t)end;
    return path && *out_begin < end;
}

bool json_next_element(Str text, size_t *at, Str *out_element)
{
    Scan s = {.text = text, .at = *at};
    bool is_first = peek(&s) == '[';
    if (peek(&s) == ']')
        return false;
    ++s.at;
    skip_blanks(&s);
    bool is_end = is_first && peek(&s) == ']';
    size_t begin = s.at;
    if (!is_end)
        skip_value(&s);
    size_t end = s.at < text.size_bytes ? s.at : text.size_bytes;
    skip_blanks(&s);
    bool is_sound = peek(&s) == ']' || (peek(&s) == ',' && !is_end);
    *out_element = (Str){text.data + begin, end - begin};
    *at = is_sound ? s.at : SIZE_MAX;
    return is_sound && !is_end;
}
