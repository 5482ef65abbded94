#include "base/error.h"
#include "base/check.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* vsnprintf that keeps only whole UTF-8 characters when it cuts. */
SORT_PRINTF(3, 0)
static void format_text(char *out, size_t out_bytes, const char *format, va_list args)
{
    int wanted = vsnprintf(out, out_bytes, format, args);
    if (wanted < 0) {
        out[0] = '\0';
        return;
    }
    if ((size_t)wanted < out_bytes)
        return;
    size_t end = out_bytes - 1;
    size_t start = end; /* start of the last character */
    while (start > 0 && ((unsigned char)out[start - 1] & 0xc0) == 0x80)
        --start;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)out[start - 1];
    size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (start - 1 + length > end)
        out[start - 1] = '\0';
}

SORT_PRINTF(3, 4)
static void print_text(char *out, size_t out_bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    format_text(out, out_bytes, format, args);
    va_end(args);
}

/* error_set() promises not to return STATUS_OK; a caller that passes it is defective, and gets STATUS_INTERNAL. */
static Status failure(Status code)
{
    ASSERT(code != STATUS_OK);
    return code != STATUS_OK ? code : STATUS_INTERNAL;
}

static void begin(Error *err, Status code, const char *path)
{
    err->code = code;
    err->has_offset = false;
    err->place_bytes = 0;
    err->offset = 0;
    err->path[0] = '\0';
    if (path)
        print_text(err->path, sizeof err->path, "%s", path);
}

Status(error_set)(Error *err, Status code, const char *format, ...)
{
    code = failure(code);
    if (err) {
        begin(err, code, NULL);
        va_list args;
        va_start(args, format);
        format_text(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}

Status(error_set_at)(Error *err, Status code, const char *path, const char *format, ...)
{
    code = failure(code);
    if (err) {
        begin(err, code, path);
        va_list args;
        va_start(args, format);
        format_text(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}

Status(error_set_offset)(Error *err, Status code, const char *path, uint64_t offset,
                         const char *format, ...)
{
    code = failure(code);
    if (err) {
        begin(err, code, path);
        err->has_offset = true;
        err->offset = offset;
        va_list args;
        va_start(args, format);
        format_text(err->text, sizeof err->text, format, args);
        va_end(args);
    }
    return code;
}

Status(error_set_place)(Error *err, Status code, const char *path, const char *place,
                        const char *format, ...)
{
    code = failure(code);
    if (err) {
        char text[ERROR_TEXT_MAX];
        begin(err, code, path);
        va_list args;
        va_start(args, format);
        format_text(text, sizeof text, format, args);
        va_end(args);
        print_text(err->text, sizeof err->text, "%s%s%s", place, *place ? ": " : "", text);
        err->place_bytes = *place ? (uint32_t)strlen(place) + 2 : 0;
        ASSERT(err->place_bytes < sizeof err->text);
    }
    return code;
}

Status error_prefix(Error *err, const char *format, ...)
{
    if (!err)
        return STATUS_INTERNAL;
    char prefix[ERROR_TEXT_MAX];
    char old[ERROR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    format_text(prefix, sizeof prefix, format, args);
    va_end(args);
    memcpy(old, err->text, sizeof old);
    print_text(err->text, sizeof err->text, "%s: %s", prefix, old);
    err->place_bytes = 0;
    return err->code;
}

Status error_within(Error *err, const char *path)
{
    if (!err)
        return STATUS_INTERNAL;
    Error part = *err;
    bool is_other = part.path[0] != '\0' && strcmp(part.path, path) != 0;
    return error_set_at(err, part.code, path, "%s%s%s", is_other ? part.path : "",
                        is_other ? ": " : "", part.text);
}

const char *error_format(const Error *err, char *out, size_t out_bytes)
{
    ASSERT(out_bytes > 0);
    char raw[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    if (err->path[0] == '\0')
        print_text(raw, sizeof raw, "%s", err->text);
    else if (err->has_offset && !err->place_bytes)
        print_text(raw, sizeof raw, "%s (byte %" PRIu64 "): %s", err->path, err->offset, err->text);
    else
        print_text(raw, sizeof raw, "%s: %s", err->path, err->text);
    return str_printable(str_from(raw), out, out_bytes);
}

const char *status_name(Status code)
{
    switch (code) {
    case STATUS_OK:
        return "ok";
    case STATUS_INVALID:
        return "invalid";
    case STATUS_NOT_FOUND:
        return "not found";
    case STATUS_IO:
        return "io";
    case STATUS_FORMAT:
        return "format";
    case STATUS_UNSUPPORTED:
        return "unsupported";
    case STATUS_LIMIT:
        return "limit";
    case STATUS_NO_MEMORY:
        return "no memory";
    case STATUS_SOURCE:
        return "source";
    case STATUS_CANCELLED:
        return "cancelled";
    case STATUS_INTERNAL:
        return "internal";
    }
    return "unknown";
}
