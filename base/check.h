/* Programmer errors. ASSERT is compiled out of release builds; CHECK stays and guards API boundaries.
 * Neither is for bad input, for which functions return a Status. Both name the place on stderr and abort. */
#ifndef SORT_BASE_CHECK_H
#define SORT_BASE_CHECK_H

#include "base/compiler.h"

SORT_NORETURN void check_failed(const char *file, int line, const char *condition);

#define CHECK(condition)                                                                           \
    (SORT_LIKELY(condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#if SORT_ASSERTIONS
#    define ASSERT(condition) CHECK(condition)
#else
#    define ASSERT(condition) ((void)sizeof(!(condition)))
#endif
#define UNREACHABLE() check_failed(__FILE__, __LINE__, "unreachable")

#endif
