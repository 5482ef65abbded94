#include "base/log.h"
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

SORT_PRINTF(3, 0)
static void log_args(const Log *log, LogLevel level, const char *format, va_list args)
{
    if (!log_wants(log, level))
        return;
    char raw[LOG_MESSAGE_MAX], text[LOG_MESSAGE_MAX];
    (void)vsnprintf(raw, sizeof raw, format, args);
    log->write(log->data, level, str_printable(str_from(raw), text, sizeof text));
}

#define LOG_FORWARD(log, level, format)                                                            \
    do {                                                                                           \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        log_args((log), (level), (format), args);                                                  \
        va_end(args);                                                                              \
    } while (0)

void log_message(const Log *log, LogLevel level, const char *format, ...)
{
    LOG_FORWARD(log, level, format);
}

void log_error(const Log *log, const char *format, ...)
{
    LOG_FORWARD(log, LOG_LEVEL_ERROR, format);
}

void log_warning(const Log *log, const char *format, ...)
{
    LOG_FORWARD(log, LOG_LEVEL_WARNING, format);
}

void log_info(const Log *log, const char *format, ...)
{
    LOG_FORWARD(log, LOG_LEVEL_INFO, format);
}

void log_debug(const Log *log, const char *format, ...)
{
    LOG_FORWARD(log, LOG_LEVEL_DEBUG, format);
}

bool log_wants(const Log *log, LogLevel level)
{
    return log && log->write && level <= log->level;
}

const char *log_level_name(LogLevel level)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    return names[level];
}

void log_to_stream(void *data, LogLevel level, const char *text)
{
    FILE *stream = data;
    if (level == LOG_LEVEL_INFO)
        (void)fprintf(stream, "%s\n", text);
    else
        (void)fprintf(stream, "%s: %s\n", log_level_name(level), text);
}
