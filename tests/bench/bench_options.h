/* The command line that all benchmarks have. */
#ifndef SORT_TESTS_BENCH_OPTIONS_H
#define SORT_TESTS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* True for `--quick`: the program is to do each thing once, with little data, which shows in a second that it works;
 * its figures then say nothing. Ends the program with code 2 when there are other arguments. */
static inline bool bench_is_quick(int argc, char **argv)
{
    bool is_quick = argc == 2 && strcmp(argv[1], "--quick") == 0;
    if (argc > 1 && !is_quick) {
        (void)fprintf(stderr, "usage: %s [--quick]\n", argv[0]);
        exit(2);
    }
    return is_quick;
}

#endif
