#include "tools/start.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program_name = "";

static void check_output(void)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    (void)fprintf(stderr, "%s: standard output cannot be written%s%s\n", program_name,
                  errno ? ": " : "", errno ? strerror(errno) : "");
    _Exit(1);
}

void program_begin(const char *name)
{
    program_name = name;
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)atexit(check_output);
}
