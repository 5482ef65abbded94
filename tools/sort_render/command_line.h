/* What the commands of sort-render share: exit codes, and where pictures go. */
#ifndef SORT_TOOLS_SORT_RENDER_COMMAND_LINE_H
#define SORT_TOOLS_SORT_RENDER_COMMAND_LINE_H

#include "base/file_claims.h"
#include "sort/render/render_denoise.h"
#include "sort/render/render_output.h"
#include "tools/kit/tool.h"

/* Part of the interface. */
enum {
#define EXIT_CODE(name, value, meaning) EXIT_##name = value,
#include "tools/kit/exit_codes.inc"
#undef EXIT_CODE
};

/* Where a film goes; what is NULL is not written. */
typedef struct OutputCommand {
    const char *output; /* -o: a picture of either kind, by its suffix */
    const char *exr, *png, *partial;
    const char *pixels; /* render_output_pixels */
    uint32_t curve;     /* ViewCurve of the PNG */
    double exposure;
    uint32_t exr_type, metadata; /* of command_exr_types, command_metadata_words */
    bool denoises;
    bool keeps_denoising_data;   /* the EXR has all of FILM_DENOISING that the film holds */
    FilmAovSet denoising_layers; /* else it has these of them */
    RenderDenoiser denoiser;
    const char *denoiser_name; /* nfor, oidn, or the path of a library; NULL: nfor */
} OutputCommand;
/* The options of a denoiser, as rows of CliOption. */
/* clang-format off */
#define OUTPUT_COMMAND_DENOISER_OPTIONS(output)                                                                             \
    {.name = "denoiser", .kind = CLI_TEXT, .out = &(output)->denoiser_name, .value_name = "NAME", .help = "nfor, oidn (Open Image Denoise, if it is installed), or the path of a libOpenImageDenoise.so"}, \
    {.name = "denoiser-timeout", .kind = CLI_U32, .out = &(output)->denoiser.timeout_ms, .min = 1, .max = 1e9, .is_hidden = true, .value_name = "MS", .help = "Open Image Denoise is ended after this time"}
/* clang-format on */
/* NULL-terminated. */
extern const char *const command_exr_types[], *const command_metadata_words[];

/* Sorts `output` into exr or png, and denoiser_name into denoiser. */
Status output_command_sort(OutputCommand *output, Error *err) SORT_MUST_CHECK;
/* The latter alone; may be called twice. */
Status output_command_denoiser(OutputCommand *output, Error *err) SORT_MUST_CHECK;
/* Before the work begins, so that none is lost for a mistyped folder or name: the files are nobody else's, and they
 * can be made. */
Status output_command_claim(const OutputCommand *output, FileClaims *claims,
                            Error *err) SORT_MUST_CHECK;
Status output_command_check(const OutputCommand *output, Error *err) SORT_MUST_CHECK;
/* All of them, also when one fails: the first error is told. */
Status output_command_write(const OutputCommand *output, const Film *film,
                            Error *err) SORT_MUST_CHECK;
/* When a picture cannot be written: the exact sums go to a new folder of $TMPDIR, else of the working folder. Says where
 * on standard error, or that they are lost. */
void output_command_rescue(const OutputCommand *output, const Film *film);
/* The file can be made; nothing is. NULL and "-" are fine. */
Status command_check_writable(const char *path, Error *err) SORT_MUST_CHECK;

#endif
