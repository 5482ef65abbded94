#include "tools/sort_render/serve_event.h"

#include "base/check.h"
#include "tools/sort_render/command_line.h"
#include "tools/sort_render/interrupt.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 }; /* of a warning; what is longer is cut */

void serve_event_begin(ServeEvent *event, const char *name, int64_t id)
{
    ASSERT(id >= SERVE_NO_ID);
    event->text = (StrBuf){0};
    event->json = json_writer(&event->text, JSON_ONE_LINE);
    json_write_object(&event->json, NULL);
    json_write_string(&event->json, "event", name);
    if (id != SERVE_NO_ID)
        json_write_i64(&event->json, "id", id);
}

void serve_output_lost(void)
{
    Error err = {0};
    (void)error_set(&err, STATUS_IO, "standard output cannot be written: %s", strerror(errno));
    interrupt_end(tool_fail(&err, EXIT_FAILED));
}

void serve_event_send(ServeEvent *event)
{
    json_write_end(&event->json);
    strbuf_append_char(&event->text, '\n');
    if (!event->text.failed)
        (void)fwrite(event->text.data, 1, event->text.size_bytes, stdout);
    if (fflush(stdout) != 0 || ferror(stdout))
        serve_output_lost();
    strbuf_free(&event->text);
}

void serve_tell(const char *name, int64_t id, const char *text)
{
    ServeEvent event;
    serve_event_begin(&event, name, id);
    json_write_string(&event.json, "text", text);
    serve_event_send(&event);
}

void serve_warn_lines(int64_t id, const char *text)
{
    char line[LINE_MAX_BYTES];
    while (*text) {
        size_t bytes = strcspn(text, "\n");
        (void)snprintf(line, sizeof line, "%.*s",
                       (int)(bytes < sizeof line ? bytes : sizeof line - 1), text);
        if (bytes > 0)
            serve_tell("warning", id, line);
        text += bytes + (text[bytes] == '\n');
    }
}

void serve_fail(int64_t id, const Error *err)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    ASSERT(err->code != STATUS_OK);
    serve_tell("error", id, error_format(err, text, sizeof text));
}
