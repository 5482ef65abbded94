#include "tools/sort_render/command_line.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/file.h"
#include "base/path.h"
#include "base/str.h"
#include "sort/film/film.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const command_exr_types[] = {"half", "float", NULL};
const char *const command_metadata_words[] = {"all", "picture", NULL};

Status command_check_writable(const char *path, Error *err)
{
    return path && strcmp(path, "-") != 0 ? file_check_room(path, 0, err) : STATUS_OK;
}

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

Status output_command_denoiser(OutputCommand *o, Error *err)
{
    const char *name = o->denoiser_name;
    if (name && !o->denoises)
        return error_set(err, STATUS_INVALID, "--denoiser without --denoise: say both, or neither");
    if (!name || strcmp(name, "nfor") == 0)
        return STATUS_OK;
    o->denoiser.is_oidn = true;
    if (strcmp(name, "oidn") == 0)
        return STATUS_OK;
    o->denoiser.oidn_path = name;
    if (!strchr(name, '/'))
        return error_set(
            err, STATUS_INVALID,
            "--denoiser is nfor, oidn or the path of a libOpenImageDenoise.so, not '%s'", name);
    return file_exists(name)
               ? STATUS_OK
               : error_set_at(err, STATUS_NOT_FOUND, name, "there is no such library");
}

Status output_command_sort(OutputCommand *o, Error *err)
{
    TRY(sort_output(o, err));
    TRY(output_command_denoiser(o, err));
    if (!o->exr && !o->png && !o->partial && !o->pixels)
        return error_set(err, STATUS_INVALID,
                         "nothing to write: give -o OUT.exr, --png OUT.png or --partial FILE");
    if (o->png && !path_has_extension(o->png, ".png"))
        return error_set_at(err, STATUS_INVALID, o->png, "the name of a PNG ends in .png");
    return STATUS_OK;
}

Status output_command_claim(const OutputCommand *o, FileClaims *claims, Error *err)
{
    TRY(file_claim_output(claims, "-o", o->exr, err));
    TRY(file_claim_output(claims, o->png == o->output ? "-o" : "--png", o->png, err));
    TRY(file_claim_output(claims, "pixels", o->pixels, err));
    return file_claim_output(claims, "--partial", o->partial, err);
}

Status output_command_check(const OutputCommand *o, Error *err)
{
    TRY(command_check_writable(o->exr, err));
    TRY(command_check_writable(o->png, err));
    TRY(command_check_writable(o->pixels, err));
    return command_check_writable(o->partial, err);
}

static Status write_all(const OutputCommand *o, const Film *film, const float *denoised, Error *err)
{
    ViewTransform view = {(ViewCurve)o->curve, (float)o->exposure};
    ASSERT(o->exr_type < SORT_COUNT_OF(command_exr_types) - 1);
    ASSERT(o->metadata < SORT_COUNT_OF(command_metadata_words) - 1);
    const RenderExr how = {.is_float = o->exr_type == 1,
                           .is_timeless = o->metadata == 1,
                           .hidden =
                               o->keeps_denoising_data ? 0 : FILM_DENOISING & ~o->denoising_layers,
                           .denoised = denoised};
    Status exr = o->exr ? render_output_exr(film, o->exr, &how, err) : STATUS_OK;
    Error *second = exr == STATUS_OK ? err : NULL;
    Status png = o->png ? render_output_png(film, denoised, o->png, &view, second) : STATUS_OK;
    Error *third = png == STATUS_OK ? second : NULL;
    Status pixels = o->pixels ? render_output_pixels(film, denoised, o->pixels, third) : STATUS_OK;
    Error *fourth = pixels == STATUS_OK ? third : NULL;
    Status partial = o->partial ? film_write_partial(film, o->partial, fourth) : STATUS_OK;
    Status pictures = exr != STATUS_OK ? exr : png != STATUS_OK ? png : pixels;
    return pictures != STATUS_OK ? pictures : partial;
}

Status output_command_write(const OutputCommand *o, const Film *film, Error *err)
{
    float *denoised = NULL;
    Status status = STATUS_OK;
    if (o->denoises && (o->exr || o->png || o->pixels))
        status = render_denoise_film(&o->denoiser, film, &denoised, err);
    /* What was rendered is written all the same. */
    Status written = write_all(o, film, denoised, status == STATUS_OK ? err : NULL);
    mem_free(denoised);
    return status != STATUS_OK ? status : written;
}

/* In a folder of its own, which nobody else can have prepared. */
static Status rescue_to(const char *parent, const char *name, const Film *film,
                        char out_path[PATH_BYTES], Error *err)
{
    char folder[PATH_BYTES];
    TRY(file_make_directory_in(parent, "sort-kept", folder, err));
    Status status = path_join(folder, name, out_path, err);
    if (status == STATUS_OK)
        status = film_write_partial(film, out_path, err);
    if (status != STATUS_OK)
        (void)rmdir(folder);
    return status;
}

void output_command_rescue(const OutputCommand *o, const Film *film)
{
    const char *const parents[] = {file_temp_parent(), "."};
    const char *wanted = o->exr ? o->exr : o->png ? o->png : o->partial;
    char name[300], path[PATH_BYTES], shown[PATH_BYTES], text[ERROR_PATH_MAX + ERROR_TEXT_MAX + 64];
    Str stem = path_stem(wanted);
    int length = stem.size_bytes < 200 ? (int)stem.size_bytes : 200;
    (void)snprintf(name, sizeof name, "%.*s.partial", length, stem.data);
    for (size_t i = 0; i < SORT_COUNT_OF(parents); ++i) {
        Error err = {0};
        if (rescue_to(parents[i], name, film, path, &err) == STATUS_OK) {
            str_printable(str_from(path), shown, sizeof shown);
            fprintf(stderr,
                    "sort-render: the samples are kept in %s: 'sort-render merge' makes the "
                    "picture of them\n",
                    shown);
            return;
        }
        fprintf(stderr, "sort-render: the samples cannot be kept: %s\n",
                error_format(&err, text, sizeof text));
    }
}
