/* Errors of the outside world: files, memory, devices, options. A library returns a Status and fills an
 * Error; only programs print it. Errors in SSL source are diagnostics with spans instead: base/diag.h. */
#ifndef SORT_BASE_ERROR_H
#define SORT_BASE_ERROR_H

#include "base/compiler.h"

typedef enum Status {
    STATUS_OK = 0,
    STATUS_INVALID,     /* an option or argument is invalid */
    STATUS_NOT_FOUND,   /* a file, name or symbol does not exist */
    STATUS_IO,          /* the operating system refused or failed */
    STATUS_FORMAT,      /* content violates its format: damaged, truncated, misspelt */
    STATUS_UNSUPPORTED, /* well-formed, but not supported by this build */
    STATUS_LIMIT,       /* a named limit is exceeded */
    STATUS_NO_MEMORY,
    STATUS_SOURCE, /* SSL source was rejected: the DiagList has at least one error */
    STATUS_CANCELLED,
    STATUS_INTERNAL /* a defect of SORT that was caught */
} Status;

enum { ERROR_PATH_MAX = 512, ERROR_TEXT_MAX = 768 };

/* Zero-initialise before use. `path` is empty if no file is concerned; `offset` is a byte offset in that file,
 * and valid only if has_offset. The first place_bytes bytes of `text` are a place in the file and ": ", such as
 * "line 3, column 5: " or "cameras[0].name: "; 0: the text begins with no place. */
typedef struct Error {
    Status code;
    bool has_offset;
    uint32_t place_bytes;
    uint64_t offset;
    char path[ERROR_PATH_MAX];
    char text[ERROR_TEXT_MAX];
} Error;

/* Fill *err (which may be NULL) and return `code`, never STATUS_OK: `return error_set(...)`. Text longer than
 * the buffer is cut at its end. The first form clears path and offset. */
Status error_set(Error *err, Status code, const char *format, ...) SORT_PRINTF(3, 4);
Status error_set_at(Error *err, Status code, const char *path, const char *format, ...)
    SORT_PRINTF(4, 5);
Status error_set_offset(Error *err, Status code, const char *path, uint64_t offset,
                        const char *format, ...) SORT_PRINTF(5, 6);
/* The text is "place: " and what is formatted; only the latter if the place is empty. */
Status error_set_place(Error *err, Status code, const char *path, const char *place,
                       const char *format, ...) SORT_PRINTF(5, 6);
/* These macros tell compilers that the calls return a failure; otherwise variables that are set only on success
 * would look uninitialised. */
#define error_set(...)        error_failed(error_set(__VA_ARGS__))
#define error_set_at(...)     error_failed(error_set_at(__VA_ARGS__))
#define error_set_offset(...) error_failed(error_set_offset(__VA_ARGS__))
#define error_set_place(...)  error_failed(error_set_place(__VA_ARGS__))
SORT_ALWAYS_INLINE Status error_failed(Status code)
{
    if (code == STATUS_OK)
        SORT_UNREACHABLE();
    return code;
}
/* Put "context: " in front of the present text, as an error propagates upwards. Returns err's code
 * (STATUS_INTERNAL if err is NULL; keep your own status if that is possible). */
Status error_prefix(Error *err, const char *format, ...) SORT_PRINTF(2, 3);
/* The error of a part becomes one about `path`; another file that it was about is named in front of the text.
 * Returns err's code (STATUS_INTERNAL when err is NULL). */
Status error_within(Error *err, const char *path);
/* Formats "path (byte 123): text" into `out`, made safe by str_printable: the only way from an Error to a
 * terminal. Always NUL-terminated; returns `out`. */
const char *error_format(const Error *err, char *out, size_t out_bytes);
/* Returns a word for logs and tests: "format", "io" ... */
const char *status_name(Status code);

#define TRY(expression)                                                                            \
    do {                                                                                           \
        Status try_status = (expression);                                                          \
        if (SORT_UNLIKELY(try_status != STATUS_OK))                                                \
            return try_status;                                                                     \
    } while (0)

#endif
