/* Reports of diagnostics by code. ssl/ssl_diag.inc has their texts. */
#ifndef SSL_REPORT_H
#define SSL_REPORT_H

#include "base/arena.h"
#include "base/diag.h"

typedef enum SslDiag {
#define SSL_DIAG(name, code, severity, text) SSL_DIAG_##name,
#include "ssl/ssl_diag.inc"
#undef SSL_DIAG
    SSL_DIAG_COUNT
} SslDiag;

/* The sources of the standard library have file numbers from LIBRARY_FILE on, because they are parsed once and used with
 * many DiagLists. A message in such a source is shown without a place. Those of ssl/stdlib/bsdf stand from
 * LIBRARY_BSDF_FILE on. */
enum {
    LIBRARY_FILE = 1 << 30,
    LIBRARY_BSDF_FILE = LIBRARY_FILE + 64,
    LIBRARY_END_FILE = LIBRARY_FILE + 128
};
static inline bool span_is_library(Span span)
{
    return span.file >= LIBRARY_FILE;
}

/* report(list, NAME, span, arguments...) adds diagnostic SSL_DIAG_NAME. There must be an argument for each {n} of the
 * text, or a single NULL if it has none. */
#define report(list, name, span, ...)                                                              \
    report_args((list), SSL_DIAG_##name, (span), (const char *const[]){__VA_ARGS__},               \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
void report_args(DiagList *list, SslDiag diag, Span span, const char *const *args, size_t count);

/* Returns whether the list has so many errors that it is not worth going on. */
bool report_is_full(const DiagList *list);

/* Adds a note on what SSL has in place of a word of another language. Returns false if `name` is no such word. */
bool report_foreign(DiagList *list, const char *name);
/* Calls report_foreign; if that says nothing, adds "did you mean 'x'?" for the nearest candidate, if one is near. */
void report_suggestion(DiagList *list, const char *name, const char *const *candidates,
                       size_t count);

#endif
