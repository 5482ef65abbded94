/* sslc check: what is wrong with the shaders of files and folders, and with groups. */
#include "base/file.h"
#include "tools/sslc/sslc_bsdf.h"
#include <stdio.h>
#include <string.h>

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
    Status status = sslc_is_group(file) ? sslc_link(file, diags, &unit)
                                        : ssl_unit_compile(file->ctx, &source, diags, &unit);
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
        (void)tool_fail(&err, TOOL_FAILED);
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

static bool check_group(SslcFile *file)
{
    StrBuf last = {0};
    bool is_good = check_shader(file, NULL, &last);
    strbuf_free(&last);
    return is_good;
}

/* The options of the command. */
typedef struct CheckOptions {
    CliTextList folders;
    SslcPaths paths; /* all files */
    SslcBsdfOptions bsdfs;
} CheckOptions;

/* The scattering functions of a source. */
typedef struct BsdfList {
    SslBsdfInfo items[SSLC_BSDFS_MAX];
    uint32_t count;
} BsdfList;

/* Lists the scattering functions of the source, and adds the shaders that are made of them. */
static Status add_bsdf_shaders(SslcFile *file, const SslSource *source, BsdfList *out,
                               StrBuf *names)
{
    TRY(ssl_source_bsdfs(file->ctx, source, file->diags, out->items, SSLC_BSDFS_MAX, &out->count));
    for (uint32_t i = 0; i < out->count; ++i) {
        const SslBsdfInfo *bsdf = &out->items[i];
        bool has_eval = false;
        for (uint32_t k = 0; k < bsdf->lobe_count; ++k)
            has_eval = has_eval || !(bsdf->lobe_flags[k] & SSL_LOBE_DELTA);
        strbuf_printf(names, "%s.prepare\n", bsdf->name);
        if (has_eval)
            strbuf_printf(names, "%s.eval\n", bsdf->name);
        strbuf_printf(names, "%s.sample\n", bsdf->name);
    }
    return STATUS_OK;
}

static bool prove_all(SslcFile *file, const BsdfList *list, const CheckOptions *options)
{
    bool is_good = true;
    for (uint32_t i = 0; i < list->count; ++i)
        is_good &= sslc_prove_bsdf(file, &list->items[i], &options->bsdfs);
    return is_good;
}

static bool check_file(const char *path, const CheckOptions *options)
{
    SslcFile file = {.folders = &options->folders, .beside = &options->paths};
    StrBuf names = {0};
    static BsdfList bsdfs;
    bool is_good = sslc_open(path, NULL, &file);
    bsdfs.count = 0;
    if (is_good && sslc_is_group(&file)) {
        is_good = check_group(&file);
    } else if (is_good) {
        SslSource source = {.name = path, .text = {file.text, file.size_bytes}};
        Status status = ssl_source_shaders(file.ctx, &source, file.diags, &names);
        if (status == STATUS_OK)
            status = add_bsdf_shaders(&file, &source, &bsdfs, &names);
        /* A source with errors has a list of its own; a source without shaders is checked too. */
        if (status == STATUS_OK && names.size_bytes) {
            is_good = check_shaders(&file, names.data) && prove_all(&file, &bsdfs, options);
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

int sslc_check(int argc, char **argv)
{
    CheckOptions chosen = {.bsdfs = {.proofs = SSLC_PROOFS_FAST, .seed = 1}};
    CliOption options[] = {
        {.name = "include",
         .short_name = 'I',
         .kind = CLI_TEXT_LIST,
         .is_folder = true,
         .out = &chosen.folders,
         .value_name = "FOLDER",
         .help = "folder to search for the units of a group (FILE.json), after the group's own "
                 "folder"},
        {.name = "proofs",
         .kind = CLI_CHOICE,
         .out = &chosen.bsdfs.proofs,
         .choices = sslc_proof_words,
         .value_name = "EFFORT",
         .help = "how thoroughly scattering functions (bsdf) are proved: none, fast or full; "
                 "default fast",
         .group = "Scattering functions"},
        {.name = "report",
         .kind = CLI_FLAG,
         .out = &chosen.bsdfs.has_report,
         .help = "print what was found of each property"},
        {.name = "seed",
         .kind = CLI_U32,
         .out = &chosen.bsdfs.seed,
         .value_name = "N",
         .help = "seed of the random numbers of the proofs; default 1"},
        {.name = "picture",
         .kind = CLI_TEXT,
         .out = &chosen.bsdfs.picture,
         .value_name = "FILE",
         .help = "draw the scattering function, seen from 0, 30, 60 and 80 degrees, as .png or "
                 ".exr"},
        {.name = "value",
         .kind = CLI_TEXT_LIST,
         .out = &chosen.bsdfs.values,
         .value_name = "NAME=VALUE",
         .help = "an argument of the scattering function in the picture; default: the middle of "
                 "its range"}};
    const CliProgram program = {
        .name = "sslc check",
        .usage = "[options] PATH...",
        TOOL_OPTIONS(options),
        .summary =
            "Compiles every shader of the files, and of the .ssl files in folders, or links "
            "groups (FILE.json), and prints errors and warnings. Proves scattering functions "
            "(bsdf): that they are finite, draw by their density and gain no light.",
        TOOL_ARGS(1, 4096, "PATH")};
    CliResult args;
    int code;
    if (!tool_parse(&program, argc, argv, &args, &code))
        return code;
    Error err = {0};
    bool is_good = true;
    chosen.paths.arena = arena_create(0, 0);
    for (uint32_t i = 0; i < args.arg_count && chosen.paths.arena; ++i)
        if (sslc_find_sources(&chosen.paths, args.args[i], &err) != STATUS_OK) {
            (void)tool_fail(&err, TOOL_FAILED);
            is_good = false;
        }
    for (uint32_t i = 0; i < chosen.paths.list.count; ++i)
        is_good &= check_file(chosen.paths.list.data[i], &chosen);
    if (chosen.paths.list.count == 0 && is_good) {
        (void)error_set(&err, STATUS_NOT_FOUND, "there are no .ssl files");
        is_good = tool_fail(&err, TOOL_FAILED) == TOOL_DONE;
    }
    arena_destroy(chosen.paths.arena);
    return is_good ? TOOL_DONE : TOOL_FAILED;
}
