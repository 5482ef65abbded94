/* How the functions of the public API refuse what a host gives. Errors are the host's, and may be NULL. */
#ifndef SORT_SSL_API_CHECK_H
#define SORT_SSL_API_CHECK_H

#include "base/error.h"
#include "ssl/api/sort_ssl.h"
#include "ssl/ssl.h"
#include <string.h>

/* These return the status that they are given. */
SortSslStatus api_give_error(Status status, const Error *from, SortSslError *err);
SortSslStatus api_refuse(SortSslError *err, Status status, const char *format, ...)
    SORT_PRINTF(3, 4);

SortSslStatus api_refuse_null(SortSslError *err, const char *what);
SortSslStatus api_no_memory(SortSslError *err);
SortSslStatus api_check_index(uint32_t index, uint32_t count, const char *what, SortSslError *err);

/* Checks a host's struct, whose first member is its size in bytes. `least` is the size that its first version had, `ours`
 * the size that this library knows. A later host's struct is refused, because what it asks for would be left out. */
SortSslStatus api_check_size(const void *given, size_t least, size_t ours, const char *type,
                             SortSslError *err);

#define TRY_SSL(expression)                                                                        \
    do {                                                                                           \
        SortSslStatus try_ssl = (expression);                                                      \
        if (try_ssl != SORT_SSL_OK)                                                                \
            return try_ssl;                                                                        \
    } while (0)

/* Copies what the host gave to *own; members that its version does not have stay zero. */
#define TAKE(own, given, type, err) TAKE_FROM(own, given, type, sizeof(type), err)

/* Takes a struct that has grown: `least` is where its first version ended. */
#define TAKE_FROM(own, given, type, least, err)                                                    \
    do {                                                                                           \
        TRY_SSL(api_check_size(given, least, sizeof(type), #type, err));                           \
        memcpy(own, given, (given)->size_bytes);                                                   \
    } while (0)

/* Fills an out struct as far as the host's version has it. `...`: initialisers of all members but the size. */
#define GIVE(out, type, ...)                                                                       \
    do {                                                                                           \
        type give_all = {.size_bytes = (out)->size_bytes, __VA_ARGS__};                            \
        memcpy(out, &give_all, (out)->size_bytes);                                                 \
    } while (0)

#define CHECK_OUT(from, out, type, err)                                                            \
    do {                                                                                           \
        if (!(from) || !(out))                                                                     \
            return api_refuse_null(err, !(from) ? #from : #out);                                   \
        TRY_SSL(api_check_size(out, sizeof(type), sizeof(type), #type, err));                      \
    } while (0)

#endif
