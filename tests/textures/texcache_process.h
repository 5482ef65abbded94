/* The program texcache, run by tests. */
#ifndef SORT_TESTS_TEXTURES_TEXCACHE_PROCESS_H
#define SORT_TESTS_TEXTURES_TEXCACHE_PROCESS_H

#include "base/process.h"

extern const char *texcache_program; /* its path, which main sets */

/* Runs it with up to 7 arguments; the result is to be freed. */
ProcessResult texcache_run(const char *const *arguments);

/* Fails the test unless the program ends with the exit code, and its output and errors have these words. */
void texcache_expect(const char *const *arguments, int exit_code, const char *output,
                     const char *errors);
#define EXPECT(exit_code, output, errors, ...)                                                     \
    texcache_expect((const char *const[]){__VA_ARGS__, NULL, NULL, NULL, NULL, NULL, NULL, NULL},  \
                    exit_code, output, errors)

#endif
