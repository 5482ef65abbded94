/* SIGINT and SIGTERM, answered at once. While there is nothing to lose (importing, loading, compiling, opening textures)
 * the program ends: its children are killed, its temporary folders removed. While a picture is rendered and written
 * the first signal asks the render to stop, and the next one ends the program.
 *
 * A thread of its own waits for them, since no library behind us can be interrupted. */
#ifndef SORT_TOOLS_SORT_RENDER_INTERRUPT_H
#define SORT_TOOLS_SORT_RENDER_INTERRUPT_H

#include "base/error.h"

/* Once, before any other thread. `code`: the exit code of a program that had nothing to lose. */
Status interrupt_start(int code, Error *err) SORT_MUST_CHECK;
/* True: from now on a signal asks to stop. */
void interrupt_hold(bool is_rendering);
/* Whether one has asked. */
const _Atomic bool *interrupt_asked(void);

#endif
