/* sslc: looks at SSL shaders without a renderer.
 *
 *   sslc check PATHS               diagnostics                        (sslc_check.c)
 *   sslc doc PATHS                 parameters, outputs ...            (sslc_doc.c)
 *   sslc dump --stage ir FILE      a stage of the compile as text
 *   sslc run FILE                  shades a grid                      (sslc_run.c)
 *   sslc bench FILE                compile and run times              (sslc_bench.c)
 *   sslc limits                    the limits of the language
 *
 * Shaders see the renderer's globals and closures. */
#include "base/alloc.h"
#include "tools/sslc_program.h"
#include "tools/start.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- dump ------------------------------------------------------------------------------------- */

static const char *const stage_words[] = {"tokens", "ast",      "ir",  "passes", "ir-final",
                                          "llvm",   "llvm-opt", "asm", NULL};

static Status dump_stage(SslcFile *file, const SslcBuildOptions *options, uint32_t stage,
                         StrBuf *out, Error *err)
{
    SslConstant constants[SSLC_CONSTANTS_MAX];
    SslBuildDesc how = {.size_bytes = sizeof how};
    SslSource source = {
        .name = file->path, .text = {file->text, file->size_bytes}, .shader = options->shader};
    if (stage >= SSL_DUMP_IR) { /* constants have types only once the shader is known */
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
         .help = "tokens, ast, ir (as lowered), passes (ir after each), ir-final, llvm, llvm-opt, "
                 "asm"},
    };
    const CliProgram program = {
        .name = "sslc dump",
        .usage = "[options] FILE",
        .summary = "Prints a stage of the compile; by default the IR that code is generated from.",
        .options = options,
        .option_count = sslc_build_options(&build, options, 1),
        .args_min = 1,
        .args_max = 1,
        .args_name = "FILE"};
    CliResult args;
    int code;
    if (!sslc_parse(&program, argc, argv, &args, &code))
        return code;
    SslcFile file = {0};
    StrBuf text = {0};
    Error err = {0};
    code = SSLC_FAILED;
    if (sslc_open(args.args[0], build.cpu, &file)) {
        file.folders = &build.folders;
        Status status = dump_stage(&file, &build, stage, &text, &err);
        (void)fputs(strbuf_text(&text), stdout);
        if (status == STATUS_OK)
            code = SSLC_DONE;
        else if (status != STATUS_SOURCE)
            code = sslc_fail(&err);
        if (status == STATUS_INVALID)
            code = SSLC_USAGE;
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
    const CliProgram program = {.name = "sslc limits",
                                .usage = "",
                                .summary =
                                    "Lists the limits of the language, past which a source is "
                                    "refused.",
                                .args_name = "argument"};
    CliResult args;
    int code;
    if (!sslc_parse(&program, argc, argv, &args, &code))
        return code;
    for (uint32_t i = 0; i < SORT_COUNT_OF(limits); i++)
        (void)printf("%-24s %8" PRIu64 "  %s\n", limits[i].name, limits[i].value, limits[i].text);
    return SSLC_DONE;
}

/* --- main ------------------------------------------------------------------------------------- */

static const CliCommand commands[] = {
    {"check", "print what is wrong with shaders", sslc_check},
    {"doc", "say what shaders take, give and read", sslc_doc},
    {"dump", "print a stage of the compile", sslc_dump},
    {"run", "shade a grid; print a pixel, write a picture", sslc_run},
    {"bench", "measure compile and run times", sslc_bench},
    {"limits", "list the limits of the language", sslc_limits},
};

int main(int argc, char **argv)
{
    program_begin("sslc");
    Error err = {0};
    bool wants_help = argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0;
    if (wants_help) {
        StrBuf text = {0};
        cli_commands_help("sslc", "Checks, prints, runs and measures SSL shaders.", commands,
                          SORT_COUNT_OF(commands), &text);
        (void)fputs(strbuf_text(&text), argc < 2 ? stderr : stdout);
        strbuf_free(&text);
        return argc < 2 ? SSLC_USAGE : SSLC_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("sslc %s\n", SORT_VERSION);
        return SSLC_DONE;
    }
    const CliCommand *command = cli_find_command(commands, SORT_COUNT_OF(commands), argv[1], &err);
    if (!command) {
        (void)sslc_fail(&err);
        return SSLC_USAGE;
    }
    return command->run(argc - 1, argv + 1);
}
