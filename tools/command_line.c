#include "tools/command_line.h"

#include "base/file.h"
#include "base/path.h"
#include <stdio.h>

int command_fail(const Error *err, int code)
{
    char text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    fprintf(stderr, "sort-render: %s\n", error_format(err, text, sizeof text));
    return code;
}

bool command_parse(const CliProgram *program, int argc, char **argv, CliResult *out_args,
                   int *out_code)
{
    Error err = {0};
    StrBuf help = {0};
    *out_code = EXIT_DONE;
    if (cli_parse(program, argc, argv, out_args, &err) != STATUS_OK) {
        *out_code = command_fail(&err, EXIT_USAGE);
        return false;
    }
    if (out_args->wants_help) {
        cli_help(program, &help);
        fputs(strbuf_text(&help), stdout);
        strbuf_free(&help);
    } else if (out_args->wants_version) {
        puts("sort-render " SORT_VERSION);
    }
    return !out_args->wants_help && !out_args->wants_version;
}

Status command_check_writable(const char *path, Error *err)
{
    FileReplace file;
    if (!path)
        return STATUS_OK;
    TRY(file_replace_begin(path, &file, err));
    file_replace_abandon(&file);
    return STATUS_OK;
}

/* Which kind of picture -o asks for. */
static Status sort_output(OutputCommand *o, Error *err)
{
    if (!o->output)
        return STATUS_OK;
    if (path_has_extension(o->output, ".exr"))
        o->exr = o->output;
    else if (!path_has_extension(o->output, ".png"))
        return error_set_at(
            err, STATUS_INVALID, o->output,
            "a picture's name ends in .exr (linear, all layers) or in .png (through "
            "the view transform)");
    else if (o->png)
        return error_set(err, STATUS_INVALID, "-o and --png both name a PNG");
    else
        o->png = o->output;
    return STATUS_OK;
}

Status output_command_check(OutputCommand *o, Error *err)
{
    TRY(sort_output(o, err));
    if (!o->exr && !o->png && !o->partial)
        return error_set(err, STATUS_INVALID,
                         "nothing to write: give -o OUT.exr, --png OUT.png or --partial FILE");
    if (o->png && !path_has_extension(o->png, ".png"))
        return error_set_at(err, STATUS_INVALID, o->png, "the name of a PNG ends in .png");
    TRY(command_check_writable(o->exr, err));
    TRY(command_check_writable(o->png, err));
    return command_check_writable(o->partial, err);
}

Status output_command_write(const OutputCommand *o, const Film *film, Error *err)
{
    ViewTransform view = {(ViewCurve)o->curve, (float)o->exposure};
    if (o->exr)
        TRY(render_output_exr(film, o->exr, err));
    if (o->png)
        TRY(render_output_png(film, o->png, &view, err));
    if (o->partial)
        TRY(film_write_partial(film, o->partial, err));
    return STATUS_OK;
}
