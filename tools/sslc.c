/* sslc: looks at SSL shaders without a renderer.
 *
 *   sslc check FILES               diagnostics
 *   sslc dump --stage ir FILE      a stage of the compile as text
 *   sslc run FILE                  shades a grid                      (sslc_run.c)
 *   sslc bench FILE                compile and run times              (sslc_bench.c)
 *
 * Shaders see the renderer's globals and closures. */
#include "base/alloc.h"
#include "tools/sslc_program.h"
#include <stdio.h>
#include <string.h>

/* --- check ------------------------------------------------------------------------------------ */

/* Compiles one shader and prints its diagnostics, unless they are those of the shader before. */
static bool check_shader(SslcFile *file, const char *shader, StrBuf *last)
{
    SslSource source = {
        .name = file->path, .text = {file->text, file->size_bytes}, .shader = shader};
    /* As far as code, for limits that show only there; unoptimised, for nobody runs it. */
    const SslBuildDesc how = {.size_bytes = sizeof how, .llvm_level = 1};
    Error err = {0};
    SslUnit *unit = NULL;
    SslProgram *program = NULL;
    DiagList *diags = diag_list_create();
    if (!diags)
        return false;
    Status status = ssl_unit_compile(file->ctx, &source, diags, &unit);
    if (status == STATUS_OK)
        status = ssl_program_build(file->ctx, unit, &how, diags, &program, &err);
    else if (status != STATUS_SOURCE)
        (void)error_set_at(&err, status, file->path, "%s", status_name(status));
    StrBuf text = {0};
    diag_print(diags, &text);
    if (strcmp(strbuf_text(&text), strbuf_text(last)) != 0)
        (void)fputs(strbuf_text(&text), stderr);
    strbuf_free(last);
    *last = text;
    if (status != STATUS_OK && status != STATUS_SOURCE)
        (void)sslc_fail(&err);
    ssl_program_release(program);
    ssl_unit_release(unit);
    diag_list_destroy(diags);
    return status == STATUS_OK;
}

/* Names are separated by line ends. */
static bool check_shaders(SslcFile *file, char *names)
{
    StrBuf last = {0};
    bool is_good = true;
    for (char *name = names; *name && is_good;) {
        char *end = strchr(name, '\n');
        if (end)
            *end = '\0';
        is_good = check_shader(file, name, &last);
        name = end ? end + 1 : name + strlen(name);
    }
    strbuf_free(&last);
    return is_good;
}

static bool check_file(const char *path)
{
    SslcFile file = {0};
    StrBuf names = {0};
    bool is_good = sslc_open(path, NULL, &file);
    if (is_good) {
        SslSource source = {.name = path, .text = {file.text, file.size_bytes}};
        Status status = ssl_source_shaders(file.ctx, &source, file.diags, &names);
        /* A source with errors has a list of its own; a source without shaders is checked too. */
        if (status == STATUS_OK && names.size_bytes) {
            is_good = check_shaders(&file, names.data);
        } else {
            SslUnit *unit = NULL;
            if (status == STATUS_OK)
                unit = sslc_compile(&file, NULL);
            else
                sslc_print_diags(file.diags);
            is_good = unit != NULL;
            ssl_unit_release(unit);
        }
    }
    strbuf_free(&names);
    sslc_close(&file);
    return is_good;
}

static int sslc_check(int argc, char **argv)
{
    const CliProgram program = {.name = "sslc check",
                                .usage = "FILE...",
                                .summary = "Compiles every shader of the files and prints what is "
                                           "wrong with them.",
                                .args_min = 1,
                                .args_max = 4096,
                                .args_name = "FILE"};
    CliResult args;
    int code;
    if (!sslc_parse(&program, argc, argv, &args, &code))
        return code;
    bool is_good = true;
    for (uint32_t i = 0; i < args.arg_count; i++)
        is_good &= check_file(args.args[i]);
    return is_good ? SSLC_DONE : SSLC_FAILED;
}

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
            status = ssl_dump(file->ctx, &source, &how, (SslDumpStage)stage, file->diags, out, err);
        ssl_unit_release(unit);
        return status;
    }
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
        Status status = dump_stage(&file, &build, stage, &text, &err);
        (void)fputs(strbuf_text(&text), stdout);
        if (status == STATUS_OK)
            code = SSLC_DONE;
        else if (status != STATUS_SOURCE)
            (void)sslc_fail(&err);
    }
    strbuf_free(&text);
    sslc_close(&file);
    return code;
}

/* --- main ------------------------------------------------------------------------------------- */

static const CliCommand commands[] = {
    {"check", "print what is wrong with shaders", sslc_check},
    {"dump", "print a stage of the compile", sslc_dump},
    {"run", "shade a grid; print a pixel, write a picture", sslc_run},
    {"bench", "measure compile and run times", sslc_bench},
};

int main(int argc, char **argv)
{
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
