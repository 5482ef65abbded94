/* A command to a renderer that stays: one line of JSON (docs/reference/serve.md). */
#ifndef SORT_TOOLS_SORT_RENDER_SERVE_COMMAND_H
#define SORT_TOOLS_SORT_RENDER_SERVE_COMMAND_H

#include "base/arena.h"
#include "base/json.h"
#include "sort/scene/scene.h"

enum {
    SERVE_PROTOCOL = 1,
    SERVE_LINE_BYTES_MAX = 16 << 20,
    SERVE_OPTIONS_MAX = 256, /* of one command */
    SERVE_NO_ID = -1
};

typedef enum ServeKind {
    SERVE_LOAD,
    SERVE_RENDER,
    SERVE_STOP,
    SERVE_QUIT,
    SERVE_MISTAKE /* a line that is no command */
} ServeKind;

typedef struct ServeCommand {
    ServeKind kind;
    int64_t id;         /* the sender's; SERVE_NO_ID: none */
    JsonDoc *doc;       /* owned; texts below lie in it */
    Arena *arena;       /* owned; what the camera points at lies in it */
    const char *scene;  /* LOAD */
    bool is_edited;     /* LOAD: changes shall be quick */
    const char *pixels; /* RENDER: where floats go; NULL: nowhere */
    const char *options[SERVE_OPTIONS_MAX];
    uint32_t option_count;
    bool has_camera; /* RENDER */
    SceneCamera camera;
    Error error;               /* MISTAKE */
    bool is_stopped;           /* before it began; the input's */
    struct ServeCommand *next; /* the input's */
} ServeCommand;

/* Reads a line, whose text is copied. A line that is no command is one of kind MISTAKE, with the id if it could be read. Returns
 * NULL when there is no memory for either. */
ServeCommand *serve_command_read(Str line);
/* A command of kind MISTAKE with this reason; NULL: no memory. */
ServeCommand *serve_command_mistake(const Error *reason);
void serve_command_destroy(ServeCommand *command); /* NULL is fine */

#endif
