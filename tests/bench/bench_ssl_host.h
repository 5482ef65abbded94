/* What the benchmarks of SSL share: compiling with no way to fail, and CPU time. */
#ifndef TESTS_BENCH_SSL_HOST_H
#define TESTS_BENCH_SSL_HOST_H

#include "ssl/ssl.h"

/* Prints and ends the program. */
_Noreturn void bench_die(const char *what, const Error *err, const DiagList *diags);
SslContext *bench_context(const SslContextDesc *tables);
SslUnit *bench_compile_unit(SslContext *ctx, const char *name, const char *source);
SslProgram *bench_build(SslContext *ctx, const SslUnit *unit,
                        const SslBuildDesc *how); /* how: may be NULL */

/* CPU time, so that other programs on the machine do not count. The clock may be coarse: measure some
 * tens of milliseconds. */
double bench_cpu_seconds(void);
/* Seconds that one call of `run` takes: the mean over at least `seconds` of them. */
double bench_time(void (*run)(void *data), void *data, double seconds);

#endif
