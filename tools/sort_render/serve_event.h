/* What a renderer that stays says: one JSON object a line on standard output (docs/reference/serve.md). */
#ifndef SORT_TOOLS_SORT_RENDER_SERVE_EVENT_H
#define SORT_TOOLS_SORT_RENDER_SERVE_EVENT_H

#include "base/error.h"
#include "base/json_write.h"
#include "tools/sort_render/serve_command.h"

typedef struct ServeEvent {
    StrBuf text;
    JsonWriter json; /* fields may be written between begin and send */
} ServeEvent;

/* Begins an event of this name, of the command with this id (or SERVE_NO_ID). The event stays where it is until it is sent. */
void serve_event_begin(ServeEvent *event, const char *name, int64_t id);
/* Prints the event in one call, so that lines of several threads do not mix; serve_output_lost if that fails. SIGPIPE must be
 * ignored. Any thread. */
void serve_event_send(ServeEvent *event);

/* Ends the program with a message, by errno: standard output cannot be written, so whoever reads events is gone. Any thread. */
_Noreturn void serve_output_lost(void);

/* Sends an event with a field `text`. */
void serve_tell(const char *name, int64_t id, const char *text);
/* Sends an event 'warning' for each line of a text that is not empty. */
void serve_warn_lines(int64_t id, const char *text);
/* Sends an event 'error'. */
void serve_fail(int64_t id, const Error *err);

#endif
