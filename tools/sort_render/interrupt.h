/* SIGINT and SIGTERM are answered at once. While there is nothing to lose (importing, loading, compiling, opening textures)
 * the program ends: its children are killed, its temporary folders removed. While a picture is rendered and written
 * the first signal asks the render to stop, and the next one ends the program.
 *
 * A thread of its own waits for the signals, since the libraries that we call cannot be interrupted. */
#ifndef SORT_TOOLS_SORT_RENDER_INTERRUPT_H
#define SORT_TOOLS_SORT_RENDER_INTERRUPT_H

#include "base/error.h"

/* Starts the thread. Call it once, before any other thread starts. `code` is the exit code when a signal ends the program at
 * once. */
Status interrupt_start(int code, Error *err) SORT_MUST_CHECK;
/* True: from now on the first signal asks to stop; false: it ends the program. */
void interrupt_hold(bool is_rendering);
/* Ends the program at once, from any thread, while others are at work: children are killed, temporary folders removed. */
_Noreturn void interrupt_end(int code);
/* Points to a flag that is true once a signal has asked to stop. */
const _Atomic bool *interrupt_asked(void);

#endif
