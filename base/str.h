/* Counted strings (borrowed views) and a growable text buffer. */
#ifndef SORT_BASE_STR_H
#define SORT_BASE_STR_H

#include "base/compiler.h"
#include <stdarg.h>

typedef struct Str {
    const char *data; /* borrowed; not NUL-terminated in general */
    size_t size_bytes;
} Str;

#define STR_LIT(literal) ((Str){(literal), sizeof(literal) - 1})
#define STR_ARG(s)       (int)(s).size_bytes, (s).data /* for "%.*s" */

Str str_from(const char *text); /* NULL gives the empty string */
bool str_equal(Str a, Str b);
bool str_equal_c(Str a, const char *b);
bool str_ends_with(Str s, Str suffix);
/* Returns the length in bytes, 1 to 4, of the character that starts at `at` (< size); 0 if the bytes there are
 * not well-formed UTF-8 (cut off, overlong, surrogate, beyond U+10FFFF). */
uint32_t str_utf8_length(Str s, size_t at);
bool str_is_utf8(Str s);
/* Returns whether the text is a letter or '_', followed by letters, digits and '_', all of ASCII. */
bool str_is_identifier(const char *text);
/* Returns whether the character at `at`, of `length` bytes (str_utf8_length), may be printed as it is: see
 * str_printable. */
bool str_is_shown(Str s, size_t at, uint32_t length);
/* Copies text from a file in a form that is safe to print: control characters (C0, DEL, C1), characters that
 * change the direction of writing, and bytes that are not UTF-8 are written as \n, \t or \x1b, byte by byte. No
 * file can thus control a terminal or forge a line of a log. The copy is cut at the end of a character and
 * always NUL-terminated. Returns `out`. */
const char *str_printable(Str text, char *out, size_t out_bytes);

/* Text that grows on the heap. Zero-initialise; strbuf_free at the end. Appends after an
 * allocation failure do nothing and `failed` stays set: check it once, at the end.
 * data is NULL until the first append, NUL-terminated from then on. */
typedef struct StrBuf {
    char *data;
    size_t size_bytes, capacity_bytes;
    bool failed;
} StrBuf;

void strbuf_append(StrBuf *b, Str s);
void strbuf_append_c(StrBuf *b, const char *text);
void strbuf_append_char(StrBuf *b, char c);
void strbuf_append_printable(StrBuf *b, Str s); /* see str_printable */
void strbuf_printf(StrBuf *b, const char *format, ...) SORT_PRINTF(2, 3);
void strbuf_vprintf(StrBuf *b, const char *format, va_list args) SORT_PRINTF(2, 0);
void strbuf_clear(StrBuf *b); /* keeps the memory */
void strbuf_free(StrBuf *b);
const char *strbuf_text(const StrBuf *b); /* never NULL */

/* Returns the candidate nearest to `name` by edit distance, for "did you mean 'x'?"; NULL if none is near
 * (distance at most a third of the name's length, at least 1). */
const char *suggest_nearest(const char *name, const char *const *candidates, size_t count);

#endif
