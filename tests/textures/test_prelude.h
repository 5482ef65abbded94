/* cmocka and the headers that it wants before it. */
#ifndef SORT_TESTS_TEXTURES_TEST_PRELUDE_H
#define SORT_TESTS_TEXTURES_TEST_PRELUDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
