#include "tests/bench/bench_ssl_host.h"
#include "base/clock.h"
#include <stdio.h>
#include <stdlib.h>

_Noreturn void bench_die(const char *what, const Error *err, const DiagList *diags)
{
    StrBuf text = {0};
    if (diags)
        diag_print(diags, &text);
    (void)fprintf(stderr, "bench: %s: %s\n%s", what, err ? err->text : "", strbuf_text(&text));
    exit(1);
}

SslContext *bench_context(const SslContextDesc *tables)
{
    SslContext *ctx;
    Error err = {0};
    if (ssl_context_create(tables, &ctx, &err) != STATUS_OK)
        bench_die("context", &err, NULL);
    return ctx;
}

SslUnit *bench_compile_unit(SslContext *ctx, const char *name, const char *source)
{
    DiagList *diags = diag_list_create();
    SslUnit *unit;
    SslSource src = {.name = name, .text = str_from(source)};
    if (ssl_unit_compile(ctx, &src, diags, &unit) != STATUS_OK)
        bench_die(name, NULL, diags);
    diag_list_destroy(diags);
    return unit;
}

SslProgram *bench_build(SslContext *ctx, const SslUnit *unit, const SslBuildDesc *how)
{
    SslProgram *program;
    Error err = {0};
    if (ssl_program_build(ctx, unit, how, NULL, &program, &err) != STATUS_OK)
        bench_die("build", &err, NULL);
    return program;
}

double bench_cpu_seconds(void)
{
    return (double)clock_process_cpu_ns() * 1e-9;
}

double bench_time(void (*run)(void *data), void *data, double seconds)
{
    double start = bench_cpu_seconds(), elapsed;
    uint64_t count = 0, batch = 1;
    do {
        for (uint64_t i = 0; i < batch; ++i)
            run(data);
        count += batch;
        elapsed = bench_cpu_seconds() - start;
        batch = elapsed < 0.1 * seconds ? 2 * batch : batch;
    } while (elapsed < seconds);
    return elapsed / (double)count;
}
