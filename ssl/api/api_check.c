#include "ssl/api/api_check.h"
#include <stdio.h>
#include <string.h>

SortSslStatus api_give_error(Status status, const Error *from, SortSslError *err)
{
    if (status != STATUS_OK && err) {
        err->status = (SortSslStatus)status;
        (void)error_format(from, err->text, sizeof err->text);
    }
    return (SortSslStatus)status;
}

SortSslStatus api_refuse(SortSslError *err, Status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        char text[SORT_SSL_ERROR_BYTES];
        (void)vsnprintf(text, sizeof text, format, args);
        va_end(args);
        err->status = (SortSslStatus)status;
        (void)str_printable(str_from(text), err->text, sizeof err->text);
    }
    return (SortSslStatus)status;
}

SortSslStatus api_refuse_null(SortSslError *err, const char *what)
{
    return api_refuse(err, STATUS_INVALID, "%s is NULL", what);
}

SortSslStatus api_no_memory(SortSslError *err)
{
    return api_refuse(err, STATUS_NO_MEMORY, "out of memory");
}

SortSslStatus api_check_size(const void *given, size_t least, size_t ours, const char *type,
                             SortSslError *err)
{
    size_t size_bytes;
    memcpy(&size_bytes, given, sizeof size_bytes);
    if (size_bytes >= least && size_bytes <= ours)
        return SORT_SSL_OK;
    return api_refuse(err, STATUS_INVALID,
                      "size_bytes of %s is %zu; this library (%s) knows %zu to %zu", type,
                      size_bytes, SORT_VERSION, least, ours);
}

SortSslStatus api_check_index(uint32_t index, uint32_t count, const char *what, SortSslError *err)
{
    if (index < count)
        return SORT_SSL_OK;
    return api_refuse(err, STATUS_INVALID, "there is no %s %u; there are %u", what, index, count);
}
