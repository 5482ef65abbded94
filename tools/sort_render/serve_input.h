/* Standard input of a renderer that stays, read by a thread of its own: commands wait in a queue, and 'stop' acts at once.
 *
 *   standard input --reader--> queue --serve_input_take--> the thread that renders
 *                     '------- stop flag --------------------^
 *
 * The end of the input without 'quit' before it ends the program at once, whatever it does: whoever wrote commands is
 * gone. */
#ifndef SORT_TOOLS_SORT_RENDER_SERVE_INPUT_H
#define SORT_TOOLS_SORT_RENDER_SERVE_INPUT_H

#include "tools/sort_render/serve_command.h"
#include <stdatomic.h>

/* Commands in the queue; more are answered by errors, and those beyond twice as many are dropped. */
enum { SERVE_WAITING_MAX = 1024 };

typedef struct ServeInput ServeInput;

/* Starts to read standard input. The exit code when it ends is EXIT_INTERRUPTED during work. *out_input is the caller's. */
Status serve_input_start(ServeInput **out_input, Error *err) SORT_MUST_CHECK;
/* Waits for the next command, which is the caller's. One of kind RENDER may be stopped already; afterwards *serve_input_stop is set
 * when a 'stop' arrives while it runs, which is until the next call. NULL is never returned: 'quit' is the last one. */
ServeCommand *serve_input_take(ServeInput *input);
const _Atomic bool *serve_input_stop(const ServeInput *input);
/* After serve_input_take has returned 'quit'. */
void serve_input_destroy(ServeInput *input);

#endif
