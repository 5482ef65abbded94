/* sslc: looks at SSL shaders without a renderer.
 *
 *   sslc check PATHS               diagnostics                        (sslc_check.c)
 *   sslc doc PATHS                 parameters, outputs ...            (sslc_doc.c)
 *   sslc dump --stage ir FILE      a stage of the compile as text
 *   sslc run FILE                  shades a grid                      (sslc_run.c)
 *   sslc fit FILE --target PICTURE parameters that give a picture     (sslc_fit.c)
 *   sslc bench FILE                compile and run times              (sslc_bench.c)
 *   sslc limits                    the limits of the language
 *
 * Shaders see the renderer's globals and closures. */
#include "base/alloc.h"
#include "tools/sslc/sslc_program.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- dump ------------------------------------------------------------------------------------- */

static const char *const stage_words[] = {"tokens",   "ast",  "filter",   "ir",  "passes",
                                          "ir-final", "llvm", "llvm-opt", "asm", NULL};

static Status dump_stage(SslcFile *file, const SslcBuildOptions *options, uint32_t stage,
                         StrBuf *out, Error *err)
{
    SslConstant constants[SSLC_CONSTANTS_MAX];
    SslBuildDesc how = {.size_bytes = sizeof how};
    SslSource source = {
        .name = file->path, .text = {file->text, file->size_bytes}, .shader = options->shader};
    if (stage >= SSL_DUMP_FILTER) { /* constants have types only once the shader is known */
        SslUnit *unit = sslc_compile(file, options->shader);
        if (!unit)
            return error_set(err, STATUS_SOURCE, "the source has errors");
        Status status = sslc_describe(ssl_unit_info(unit), options, constants, &how, err);
        if (status == STATUS_OK)
            status = ssl_unit_dump(unit, &how, (SslDumpStage)stage, file->diags, out, err);
        ssl_unit_release(unit);
        return status;
    }
    if (sslc_is_group(file))
        return error_set(err, STATUS_INVALID, "a group has no %s", stage_words[stage]);
    Status status = ssl_dump(file->ctx, &source, &how, (SslDumpStage)stage, file->diags, out, err);
    sslc_print_diags(file->diags);
    return status;
}

static int sslc_dump(int argc, char **argv)
{
    SslcBuildOptions build = {0};
    uint32_t stage = SSL_DUMP_IR_FINAL;
    CliOption options[SSLC_OPTIONS_MAX] = {
        {.name = "stage",
         .short_name = 's',
         .kind = CLI_CHOICE,
         .out = &stage,
         .choices = stage_words,
         .value_name = "STAGE",
         .help = "tokens, ast, filter (what [Filtered] does, and why not), ir (as lowered), "
                 "passes (ir after each), ir-final, llvm, llvm-opt, asm"},
    };
    const CliProgram program = {
        .name = "sslc dump",
        .usage = "[options] FILE",
        .summary =
            "Prints a stage of the compilation; by default the IR from which code is generated.",
        .options = options,
        .option_count = sslc_build_options(&build, options),
        TOOL_ARGS(1, 1, "FILE")};
    CliResult args;
    int code;
    if (!tool_parse(&program, argc, argv, &args, &code))
        return code;
    SslcFile file = {.folders = &build.folders};
    StrBuf text = {0};
    Error err = {0};
    code = TOOL_FAILED;
    if (sslc_open(args.args[0], build.cpu, &file)) {
        Status status = dump_stage(&file, &build, stage, &text, &err);
        (void)fputs(strbuf_text(&text), stdout);
        if (status == STATUS_OK)
            code = TOOL_DONE;
        else if (status != STATUS_SOURCE)
            code = tool_fail(&err, TOOL_FAILED);
        if (status == STATUS_INVALID)
            code = TOOL_USAGE;
    }
    strbuf_free(&text);
    sslc_close(&file);
    return code;
}

/* --- limits ----------------------------------------------------------------------------------- */

static int sslc_limits(int argc, char **argv)
{
    static const struct {
        const char *name, *text;
        uint64_t value;
    } limits[] = {
#define SSL_LIMIT(name, value, text) {#name, text, value},
#include "ssl/ssl_limits.inc"
#undef SSL_LIMIT
    };
    const CliProgram program = {
        .name = "sslc limits",
        .usage = "",
        .summary = "Lists the limits of the language. A source that exceeds one is refused.",
        .args_name = "argument"};
    CliResult args;
    int code;
    if (!tool_parse(&program, argc, argv, &args, &code))
        return code;
    for (uint32_t i = 0; i < SORT_COUNT_OF(limits); ++i)
        (void)printf("%-24s %8" PRIu64 "  %s\n", limits[i].name, limits[i].value, limits[i].text);
    return TOOL_DONE;
}

/* --- main ------------------------------------------------------------------------------------- */

static const CliCommand commands[] = {
    {"check", "print errors and warnings of shaders", sslc_check},
    {"doc", "print the parameters, outputs and inputs of shaders", sslc_doc},
    {"dump", "print a stage of the compilation", sslc_dump},
    {"run", "shade a grid; print a pixel, write a picture", sslc_run},
    {"fit", "find the parameters with which a shader looks like a picture", sslc_fit},
    {"bench", "measure compile and run times", sslc_bench},
    {"limits", "list the limits of the language", sslc_limits},
};

static const ToolRow exit_codes[] = {
    {"0", "done"},
    {"1", "failed: a source has errors, or a file cannot be read or written; the message says "
          "which and why"},
    {"2", "the command line makes no sense, or does not fit the shader"},
};

int main(int argc, char **argv)
{
    static const Tool program = {
        .name = "sslc",
        .purpose = "check, print, run, fit and measure SSL shaders",
        .summary = "Checks, prints, runs, fits and measures SSL shaders.",
        .description =
            "A FILE is a source (.ssl), the description of a group of shaders (.json), or a unit "
            "of the "
            "library (unit:NAME). Shaders see the globals and closures of \\fBsort\\-render\\fR.",
        .commands = commands,
        .command_count = SORT_COUNT_OF(commands),
        .exit_codes = exit_codes,
        .exit_code_count = SORT_COUNT_OF(exit_codes),
        .see_also = "ssl-test (1), sort-render (1), texcache (1)"};
    return tool_main(&program, argc, argv);
}
