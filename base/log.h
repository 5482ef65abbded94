/* Messages for people, at four levels. A library gets a `const Log *` as a parameter; NULL is
 * silent. What happens to a message is the program's choice: it fills the struct with a function
 * of its own or with log_to_stream. There is no global log.
 *
 * Thread rule: `write` may be called from any thread at any time; it must be thread-safe. */
#ifndef SORT_BASE_LOG_H
#define SORT_BASE_LOG_H

#include "base/compiler.h"

typedef enum LogLevel {
    LOG_LEVEL_ERROR,
    LOG_LEVEL_WARNING,
    LOG_LEVEL_INFO,
    LOG_LEVEL_DEBUG
} LogLevel;

enum { LOG_MESSAGE_MAX = 2048 };

typedef struct Log {
    LogLevel level; /* messages above it (less important) are dropped */
    /* text: one message without a line end, valid during the call only. */
    void (*write)(void *data, LogLevel level, const char *text);
    void *data;
} Log;

/* Formats a message and passes it to the log. Text beyond LOG_MESSAGE_MAX bytes is cut. `log` may be NULL. */
void log_message(const Log *log, LogLevel level, const char *format, ...) SORT_PRINTF(3, 4);
void log_error(const Log *log, const char *format, ...) SORT_PRINTF(2, 3);
void log_warning(const Log *log, const char *format, ...) SORT_PRINTF(2, 3);
void log_info(const Log *log, const char *format, ...) SORT_PRINTF(2, 3);
void log_debug(const Log *log, const char *format, ...) SORT_PRINTF(2, 3);
/* Returns whether messages of this level are written; lets callers skip preparing a message that nobody reads. */
bool log_wants(const Log *log, LogLevel level);
/* Returns "error", "warning", "info" or "debug". */
const char *log_level_name(LogLevel level);

/* A `write` for Log: `data` is a FILE *. Writes "warning: text\n" (information without a prefix)
 * in one call, so that lines of several threads do not mix. */
void log_to_stream(void *data, LogLevel level, const char *text);

#endif
