/* sslc bench: what a shader costs, without derivatives and with: times of the stages of a compile, and
 * nanoseconds a point. The least of several rounds each, on one thread. */
#include "base/check.h"
#include "base/clock.h"
#include "tools/ssl_kit/grid_host.h"
#include "tools/sslc/sslc_program.h"
#include <stdio.h>
#include <string.h>

enum { POINTS = 4096 };

typedef struct BenchOptions {
    SslcBuildOptions build;
    uint32_t rounds;
    double seconds;
} BenchOptions;

/* Columns: derivatives off, on. */
typedef struct BenchColumn {
    double front_ms, total_ms, run_ns;
    SslBuildTimes times; /* each the least */
    uint32_t ir_instructions, values, values_shadowed;
} BenchColumn;

static double least(double a, double b)
{
    return b < a ? b : a;
}

static void keep_least(BenchColumn *column, double front_ms, double total_ms,
                       const SslBuildTimes *times)
{
    column->front_ms = least(column->front_ms, front_ms);
    column->total_ms = least(column->total_ms, total_ms);
    column->times.ir_ms = least(column->times.ir_ms, times->ir_ms);
    column->times.llvm_ir_ms = least(column->times.llvm_ir_ms, times->llvm_ir_ms);
    column->times.optimise_ms = least(column->times.optimise_ms, times->optimise_ms);
    column->times.codegen_ms = least(column->times.codegen_ms, times->codegen_ms);
    column->times.link_ms = least(column->times.link_ms, times->link_ms);
}

/* Values that differ from point to point and stay in [0, 1]. */
static void fill_globals(GridHost *host, const SslContextDesc *tables)
{
    for (uint32_t row = 0; row < tables->global_count; ++row) {
        const SslGlobalRow *global = &tables->globals[row];
        if (global->type == SSL_BOOL || global->type == SSL_INT)
            continue;
        for (uint32_t point = 0; point < POINTS; ++point)
            for (uint32_t i = 0; i < ssl_type_scalars(global->type); ++i)
                for (uint32_t shadow = 0; shadow < (global->has_derivs ? 3u : 1u); ++shadow)
                    *grid_host_global(host, row, shadow, i, point) =
                        (float)((point * 37 + i * 11 + shadow * 5) % 64) / 64.0f;
    }
}

/* Nanoseconds a point, or a negative number. */
static double measure_run(SslcFile *file, SslProgram *program, const BenchOptions *o, Error *err)
{
    GridHost *host;
    if (grid_host_create(program, file->tables.globals, file->tables.global_count, POINTS, &host,
                         err) != STATUS_OK)
        return -1.0;
    fill_globals(host, &file->tables);
    grid_host_run(host);
    double best_s = 1e9;
    uint64_t start_ns = clock_now_ns();
    do {
        uint64_t round_ns = clock_now_ns();
        grid_host_run(host);
        best_s = least(best_s, clock_seconds_since(round_ns));
    } while (clock_seconds_since(start_ns) < o->seconds);
    ASSERT(best_s >= 0.0 && best_s < 1e9);
    grid_host_destroy(host);
    return best_s * 1e9 / (double)POINTS;
}

static bool bench_column(SslcFile *file, const BenchOptions *o, bool with_derivatives,
                         BenchColumn *out)
{
    *out = (BenchColumn){1e9, 1e9, 0, {1e9, 1e9, 1e9, 1e9, 1e9, false}, 0, 0, 0};
    SslcBuildOptions build = o->build;
    ASSERT(o->rounds > 0);
    build.without_derivatives = !with_derivatives;
    for (uint32_t round = 0; round < o->rounds; ++round) {
        uint64_t start_ns = clock_now_ns();
        file->is_quiet = with_derivatives || round > 0; /* the first time all has been said */
        SslUnit *unit = sslc_compile(file, build.shader);
        double front_ms = clock_seconds_since(start_ns) * 1e3;
        SslProgram *program = unit ? sslc_build(file, unit, &build, false) : NULL;
        double total_ms = clock_seconds_since(start_ns) * 1e3;
        ssl_unit_release(unit);
        if (!program)
            return false;
        const SslProgramInfo *info = ssl_program_info(program);
        keep_least(out, front_ms, total_ms, &info->times);
        out->ir_instructions = info->ir_instructions;
        out->values = info->values;
        out->values_shadowed = info->values_shadowed;
        Error err = {0};
        if (round == o->rounds - 1)
            out->run_ns = measure_run(file, program, o, &err);
        ssl_program_release(program);
        if (out->run_ns < 0) {
            (void)tool_fail(&err, TOOL_FAILED);
            return false;
        }
    }
    return true;
}

static void print_row(const char *name, const char *unit, double off, double on)
{
    (void)printf("%-22s %12.3f %12.3f %8.2fx  %s\n", name, off, on, off > 0 ? on / off : 0.0, unit);
}

static double llvm_ms(const BenchColumn *c)
{
    return c->times.llvm_ir_ms + c->times.optimise_ms + c->times.codegen_ms + c->times.link_ms;
}

static void print_table(const BenchColumn *off, const BenchColumn *on)
{
    (void)printf("%-22s %12s %12s %9s\n", "derivatives", "off", "on", "ratio");
    print_row("compile, all", "ms", off->total_ms, on->total_ms);
    print_row("  source to IR", "ms", off->front_ms, on->front_ms);
    print_row("  IR passes", "ms", off->times.ir_ms, on->times.ir_ms);
    print_row("  LLVM, all", "ms", llvm_ms(off), llvm_ms(on));
    print_row("    IR to LLVM", "ms", off->times.llvm_ir_ms, on->times.llvm_ir_ms);
    print_row("    optimise", "ms", off->times.optimise_ms, on->times.optimise_ms);
    print_row("    machine code", "ms", off->times.codegen_ms, on->times.codegen_ms);
    print_row("    link", "ms", off->times.link_ms, on->times.link_ms);
    print_row("run", "ns a point", off->run_ns, on->run_ns);
    (void)printf("%-22s %12u %12u\n", "IR instructions", off->ir_instructions, on->ir_instructions);
    (void)printf("%-22s %5u / %-5u %4u / %-5u\n", "shadowed / values", off->values_shadowed,
                 off->values, on->values_shadowed, on->values);
}

int sslc_bench(int argc, char **argv)
{
    BenchOptions o = {.rounds = 5, .seconds = 0.3};
    CliOption options[SSLC_OPTIONS_MAX] = {
        {.name = "rounds",
         .kind = CLI_U32,
         .out = &o.rounds,
         .min = 1,
         .max = 1000,
         .value_name = "N",
         .help = "number of compilations of each kind, of which the fastest counts"},
        {.name = "seconds",
         .kind = CLI_FLOAT,
         .out = &o.seconds,
         .min = 0.001,
         .max = 60,
         .value_name = "S",
         .help = "run time of each kernel"},
    };
    const CliProgram program = {
        .name = "sslc bench",
        .usage = "[options] FILE",
        .summary =
            "Measures how long a shader takes to compile and to run, without and with derivatives.",
        .options = options,
        .option_count = sslc_build_options(&o.build, options),
        TOOL_ARGS(1, 1, "FILE")};
    CliResult args;
    int code;
    if (!tool_parse(&program, argc, argv, &args, &code))
        return code;
    SslcFile file = {.folders = &o.build.folders};
    BenchColumn off, on;
    bool is_good = sslc_open(args.args[0], o.build.cpu, &file) &&
                   bench_column(&file, &o, false, &off) && bench_column(&file, &o, true, &on);
    if (is_good)
        print_table(&off, &on);
    code = is_good ? TOOL_DONE : file.is_misused ? TOOL_USAGE : TOOL_FAILED;
    sslc_close(&file);
    return code;
}
