/* Writing a package while memory runs out: all of it is written, or nothing is left behind. It is included after the header of cmocka. */
#ifndef SORT_TESTS_FAILED_ALLOCATIONS_H
#define SORT_TESTS_FAILED_ALLOCATIONS_H

#include "base/alloc.h"
#include "base/file.h"
#include <stdio.h>

/* Calls `write`, which writes the package `path`, with each of its allocations failing in turn until none does. */
static inline void assert_survives_failed_allocations(Status (*write)(Error *err), const char *path)
{
    Status status = STATUS_NO_MEMORY;
    char partial[PATH_BYTES];
    uint32_t n = 0;
    assert_true(snprintf(partial, sizeof partial, "%s.partial", path) < (int)sizeof partial);
    while (status == STATUS_NO_MEMORY && n < 1000) {
        Error err = {0};
        mem_fail_nth(++n);
        status = write(&err);
        mem_fail_nth(0);
        if (status != STATUS_OK && status != STATUS_NO_MEMORY)
            fail_msg("allocation %u: %s", n, err.text);
        assert_int_equal(file_exists(path), status == STATUS_OK);
        assert_false(file_exists(partial));
    }
    assert_int_equal(status, STATUS_OK);
    assert_true(n > 10);
}

#endif
