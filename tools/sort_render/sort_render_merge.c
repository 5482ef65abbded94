/* sort-render merge: adds partial results. */
#include "tools/sort_render/render_command.h"

#include "base/file.h"
#include "base/image/view_transform.h"

typedef struct MergeCommand {
    OutputCommand output;
    CliResult args;
} MergeCommand;

static bool parse(MergeCommand *c, int argc, char **argv, int *out_code)
{
    /* One option a line. */
    /* clang-format off */
    const CliOption options[] = {
        {.name = "output", .short_name = 'o', .kind = CLI_TEXT, .out = &c->output.output, .value_name = "FILE.exr", .help = "the picture"},
        {.name = "exr-type", .kind = CLI_CHOICE, .out = &c->output.exr_type, .choices = command_exr_types, .value_name = "TYPE", .help = "number type of the EXR's picture; layers are always float"},
        {.name = "metadata", .kind = CLI_CHOICE, .out = &c->output.metadata, .choices = command_metadata_words, .value_name = "WHAT", .help = "metadata of the EXR: all, or without date, host and render time, so that equal pictures are equal files"},
        {.name = "png", .kind = CLI_TEXT, .out = &c->output.png, .value_name = "FILE.png", .help = "a quick view of the picture"},
        {.name = "denoise", .kind = CLI_FLAG, .out = &c->output.denoises, .help = "also write the picture without its noise; the parts must be of renders with --denoise"},
        OUTPUT_COMMAND_DENOISER_OPTIONS(&c->output),
        {.name = "denoising-data", .kind = CLI_FLAG, .out = &c->output.keeps_denoising_data, .help = "also write what denoisers read as layers"},
        {.name = "partial", .kind = CLI_TEXT, .out = &c->output.partial, .value_name = "FILE", .help = "write the merged exact sums"},
        {.name = "exposure", .kind = CLI_FLOAT, .out = &c->output.exposure, .min = -64, .max = 64, .value_name = "STOPS", .help = "exposure of the PNG"},
        {.name = "view", .kind = CLI_CHOICE, .out = &c->output.curve, .choices = view_curve_names, .value_name = "CURVE", .help = "tone curve of the PNG"},
    };
    /* clang-format on */
    static const char *const examples[] = {"sort-render merge a.part b.part -o out.exr",
                                           "add two sample ranges of one scene, exactly", NULL};
    const CliProgram program = {
        .name = "sort-render merge",
        .usage = "[options] PARTIAL... -o OUT.exr",
        .summary = "Adds partial results (--partial) of disjoint sample ranges. The picture has "
                   "exactly the bits of a single render of all samples.",
        TOOL_OPTIONS(options),
        TOOL_ARGS(1, 4096, "PARTIAL"),
        .examples = examples};
    return tool_parse(&program, argc, argv, &c->args, out_code);
}

/* Adds one partial file to *sum, which is NULL before the first. */
static Status add_part(const char *path, Film **sum, Error *err)
{
    Film *film;
    TRY(film_read_partial(path, &film, err));
    if (!*sum) {
        *sum = film;
        return STATUS_OK;
    }
    Status status = film_merge(*sum, film, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    film_destroy(film);
    return status;
}

/* Checks that the parts exist and that no output replaces one of them. */
static Status check_files(MergeCommand *c, Error *err)
{
    FileClaims claims = {0};
    TRY(output_command_sort(&c->output, err));
    Status status = output_command_claim(&c->output, &claims, err);
    for (uint32_t i = 0; status == STATUS_OK && i < c->args.arg_count; ++i) {
        status = file_claim_input(&claims, "a part", c->args.args[i], err);
        if (status == STATUS_OK && !file_exists(c->args.args[i]))
            status = error_set_at(err, STATUS_NOT_FOUND, c->args.args[i], "there is no such file");
    }
    file_claims_free(&claims);
    return status == STATUS_OK ? output_command_check(&c->output, err) : status;
}

int merge_main(int argc, char **argv)
{
    MergeCommand command = {0};
    int code;
    Error err = {0};
    Film *sum = NULL;
    if (!parse(&command, argc, argv, &code))
        return code;
    if (check_files(&command, &err) != STATUS_OK)
        return tool_fail(&err, EXIT_USAGE);
    Status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < command.args.arg_count; ++i)
        status = add_part(command.args.args[i], &sum, &err);
    if (status == STATUS_OK)
        status = output_command_write(&command.output, sum, &err);
    bool is_damaged = sum && film_shot(sum)->has & FILM_SHOT_DAMAGED;
    film_destroy(sum);
    if (status != STATUS_OK)
        return tool_fail(&err, EXIT_FAILED);
    if (is_damaged)
        fputs(
            "sort-render: parts of the sum were rendered with missing or damaged textures, or with "
            "faults of shaders; 'sort-render verify' tells which\n",
            stderr);
    return is_damaged ? EXIT_DAMAGED : EXIT_DONE;
}
