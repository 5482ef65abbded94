/* Shows how far a render is, from a thread of its own: a bar that redraws itself on a terminal, or one
 * JSON record a line for programs. */
#ifndef SORT_RENDER_PROGRESS_H
#define SORT_RENDER_PROGRESS_H

#include "sort/render/render.h"
#include <stdio.h>

typedef enum ProgressKind { PROGRESS_NONE, PROGRESS_BAR, PROGRESS_JSON } ProgressKind;

typedef struct Progress Progress;

/* `out` is borrowed. `lost` is called, from any thread, once `out` cannot be written, with errno set: the render of a reader that is
 * gone may have to end. NULL: the render goes on unseen. Call progress_start before render_run,
 * progress_stop after it. */
Status progress_start(const Render *render, ProgressKind kind, FILE *out, void (*lost)(void),
                      Progress **out_progress, Error *err) SORT_MUST_CHECK;
/* Shows the last state and ends. NULL is fine. */
void progress_stop(Progress *progress);

/* A JSON record of an event without more to say, such as {"event": "picture"}. */
void progress_event(FILE *out, const char *event);

/* "preparing" lines before there is a Render: the step that begins. */
void progress_stage(ProgressKind kind, FILE *out, const char *what);

#endif
