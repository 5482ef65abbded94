/* Reporting by code: the texts are in ssl/ssl_diag.inc. */
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

/* Sources of the standard library have file numbers of their own, since one parse of them serves many
 * DiagLists: LIBRARY_FILE + index. A message there is shown without a place. */
enum { LIBRARY_FILE = 1 << 30 };
static inline bool span_is_library(Span span)
{
    return span.file >= LIBRARY_FILE;
}

/* report(list, NAME, span, arguments...): at least as many arguments as the text has {n}; NULL where
 * it has none. */
#define report(list, name, span, ...)                                                              \
    report_args((list), SSL_DIAG_##name, (span), (const char *const[]){__VA_ARGS__},               \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))
void report_args(DiagList *list, SslDiag diag, Span span, const char *const *args, size_t count);

/* True once so many errors were reported that going on only costs time. */
bool report_is_full(const DiagList *list);

/* A note on what SSL has instead of a word of another language. False: it is none. */
bool report_foreign(DiagList *list, const char *name);
/* report_foreign; else "did you mean 'x'?" if a candidate is near. */
void report_suggestion(DiagList *list, const char *name, const char *const *candidates,
                       size_t count);

#endif
