/* What the commands of sort-render share: exit codes, and where pictures go. */
#ifndef SORT_TOOLS_SORT_RENDER_COMMAND_LINE_H
#define SORT_TOOLS_SORT_RENDER_COMMAND_LINE_H

#include "base/file_claims.h"
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
    uint32_t curve; /* ViewCurve of the PNG */
    double exposure;
    uint32_t exr_type, metadata; /* of command_exr_types, command_metadata_words */
} OutputCommand;
/* NULL-terminated. */
extern const char *const command_exr_types[], *const command_metadata_words[];

/* Sorts `output` into exr or png. */
Status output_command_sort(OutputCommand *output, Error *err) SORT_MUST_CHECK;
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
