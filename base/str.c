#include "base/str.h"
#include "base/alloc.h"
#include "base/cast.h"

#include <stdio.h>
#include <string.h>

Str str_from(const char *text)
{
    return text ? (Str){text, strlen(text)} : (Str){"", 0};
}

bool str_equal(Str a, Str b)
{
    return a.size_bytes == b.size_bytes &&
           (a.size_bytes == 0 || memcmp(a.data, b.data, a.size_bytes) == 0);
}

bool str_equal_c(Str a, const char *b)
{
    return str_equal(a, str_from(b));
}

bool str_ends_with(Str s, Str suffix)
{
    return s.size_bytes >= suffix.size_bytes &&
           str_equal((Str){s.data + (s.size_bytes - suffix.size_bytes), suffix.size_bytes}, suffix);
}

uint32_t str_utf8_length(Str s, size_t at)
{
    const unsigned char *bytes = (const unsigned char *)s.data + at;
    unsigned char lead = bytes[0];
    if (lead < 0x80)
        return 1;
    uint32_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (length == 0 || length > s.size_bytes - at)
        return 0;
    for (uint32_t i = 1; i < length; ++i)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    bool is_overlong = (lead == 0xe0 && bytes[1] < 0xa0) || (lead == 0xf0 && bytes[1] < 0x90);
    bool is_beyond = (lead == 0xed && bytes[1] >= 0xa0) || (lead == 0xf4 && bytes[1] >= 0x90);
    return is_overlong || is_beyond ? 0 : length;
}

bool str_is_identifier(const char *text)
{
    if (*text >= '0' && *text <= '9')
        return false;
    size_t bytes = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return bytes > 0 && text[bytes] == '\0';
}

bool str_is_utf8(Str s)
{
    uint32_t length;
    for (size_t at = 0; at < s.size_bytes; at += length)
        if ((length = str_utf8_length(s, at)) == 0)
            return false;
    return true;
}

/* Ensures room for `more` bytes and the final NUL. */
static bool reserve(StrBuf *b, size_t more)
{
    size_t wanted;
    if (b->failed)
        return false;
    if (!size_add(b->size_bytes, more, &wanted) || !size_add(wanted, 1, &wanted)) {
        b->failed = true;
        return false;
    }
    if (wanted <= b->capacity_bytes)
        return true;
    size_t capacity = b->capacity_bytes < SIZE_MAX / 2 ? b->capacity_bytes * 2 : wanted;
    if (capacity < wanted)
        capacity = wanted;
    if (capacity < 64)
        capacity = 64;
    char *data = mem_realloc(b->data, capacity, 1);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->capacity_bytes = capacity;
    return true;
}

void strbuf_append(StrBuf *b, Str s)
{
    if (!reserve(b, s.size_bytes))
        return;
    if (s.size_bytes > 0)
        memcpy(b->data + b->size_bytes, s.data, s.size_bytes);
    b->size_bytes += s.size_bytes;
    b->data[b->size_bytes] = '\0';
}

void strbuf_append_c(StrBuf *b, const char *text)
{
    strbuf_append(b, str_from(text));
}

void strbuf_append_char(StrBuf *b, char c)
{
    strbuf_append(b, (Str){&c, 1});
}

void strbuf_vprintf(StrBuf *b, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0)
        b->failed = true;
    else if (reserve(b, (size_t)length)) {
        (void)vsnprintf(b->data + b->size_bytes, (size_t)length + 1, format, again);
        b->size_bytes += (size_t)length;
    }
    va_end(again);
}

void strbuf_printf(StrBuf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    strbuf_vprintf(b, format, args);
    va_end(args);
}

void strbuf_clear(StrBuf *b)
{
    b->size_bytes = 0;
    b->failed = false;
    if (b->data)
        b->data[0] = '\0';
}

void strbuf_free(StrBuf *b)
{
    mem_free(b->data);
    *b = (StrBuf){0};
}

const char *strbuf_text(const StrBuf *b)
{
    return b->data ? b->data : "";
}

/* --- what may be shown ----------------------------------------------------------------------- */

static bool is_shown_as_it_is(uint32_t code)
{
    bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    bool turns_lines = code == 0x2028 || code == 0x2029; /* line and paragraph separators */
    bool turns_direction = (code >= 0x200e && code <= 0x200f) ||
                           (code >= 0x202a && code <= 0x202e) ||
                           (code >= 0x2066 && code <= 0x2069) || code == 0x061c;
    return !is_control && !turns_lines && !turns_direction;
}

/* Decodes a well-formed character of `length` bytes. */
static uint32_t code_point(const char *text, uint32_t length)
{
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & lead_bits[length];
    for (uint32_t i = 1; i < length; ++i)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

bool str_is_shown(Str s, size_t at, uint32_t length)
{
    return length > 0 && is_shown_as_it_is(code_point(s.data + at, length));
}

enum { SHOWN_MAX = 4 * 4 + 1 }; /* four bytes, each as \x1b */

/* Writes the printable form of the character at `at`, or of an invalid byte; returns its length in `text`. */
static uint32_t shown_character(Str text, size_t at, char out[SHOWN_MAX])
{
    uint32_t length = str_utf8_length(text, at), size = 0;
    const char *c = text.data + at;
    if (str_is_shown(text, at, length)) {
        memcpy(out, c, length);
        out[length] = '\0';
        return length;
    }
    if (*c == '\n' || *c == '\t') {
        (void)snprintf(out, SHOWN_MAX, *c == '\n' ? "\\n" : "\\t");
        return 1;
    }
    length = length > 0 ? length : 1;
    for (uint32_t i = 0; i < length; ++i, size += 4)
        (void)snprintf(out + size, SHOWN_MAX - size, "\\x%02x", (unsigned)(unsigned char)c[i]);
    return length;
}

const char *str_printable(Str text, char *out, size_t out_bytes)
{
    size_t size = 0;
    char shown[SHOWN_MAX];
    for (size_t at = 0; at < text.size_bytes;) {
        at += shown_character(text, at, shown);
        size_t shown_bytes = strlen(shown);
        if (size + shown_bytes >= out_bytes)
            break;
        memcpy(out + size, shown, shown_bytes);
        size += shown_bytes;
    }
    out[size] = '\0';
    return out;
}

void strbuf_append_printable(StrBuf *b, Str s)
{
    char shown[SHOWN_MAX];
    for (size_t at = 0; at < s.size_bytes;) {
        at += shown_character(s, at, shown);
        strbuf_append_c(b, shown);
    }
}

/* Longer names get no suggestion: three rows of this size live on the stack. */
enum { SUGGEST_NAME_MAX = 63 };

/* Edits (insert, delete, replace, swap neighbours) that turn a into b: the optimal string alignment
 * distance, by rows. Lengths are at most SUGGEST_NAME_MAX. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][SUGGEST_NAME_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; ++j)
        last[j] = j;
    for (size_t i = 1; i <= a_length; ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; ++j) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        size_t *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[b_length];
}

const char *suggest_nearest(const char *name, const char *const *candidates, size_t count)
{
    size_t length = strlen(name);
    if (length > SUGGEST_NAME_MAX)
        return NULL;
    size_t limit = length / 3 > 1 ? length / 3 : 1;
    if (limit >= length) /* a name with every letter replaced is no misspelling */
        return NULL;
    const char *nearest = NULL;
    for (size_t i = 0; i < count; ++i) {
        size_t candidate_length = strlen(candidates[i]);
        if (candidate_length > length + limit || candidate_length + limit < length ||
            candidate_length > SUGGEST_NAME_MAX)
            continue;
        size_t distance = edit_distance(name, length, candidates[i], candidate_length);
        if (distance < limit || (distance == limit && !nearest)) {
            nearest = candidates[i];
            if (distance == 0)
                break;
            limit = distance;
        }
    }
    return nearest;
}
