/* Denoising by Open Image Denoise: a library that is opened in a child process (plugins/oidn/), which may crash or hang.
 *
 * The result is the library's: it may differ between its versions and between machines.
 *
 * Threads: any; the call waits for the child. */
#ifndef SORT_DENOISE_OIDN_CLIENT_H
#define SORT_DENOISE_OIDN_CLIENT_H

#include "base/error.h"

typedef struct OidnInput {
    size_t size_bytes; /* sizeof(OidnInput) */
    uint32_t width, height;
    const float *albedo, *normal; /* [height][width][3]; NULL: none */
    const char *oidn_path;        /* NULL: where it usually is */
    /* Folders to search for the child's program, before those of SORT_PLUGIN_PATH and the one beside this program's. */
    const char *const *plugin_folders;
    uint32_t plugin_folder_count;
    uint32_t thread_count; /* 0: as the library likes */
    uint32_t timeout_ms;   /* 0: two minutes, and half a minute for each million pixels */
} OidnInput;

/* Replaces RGB of the pixels of rgba, [height][width][4]; alpha, and pixels that are not finite, stay. Errors: STATUS_NOT_FOUND (the
 * program), STATUS_UNSUPPORTED (the library is missing or fails; it says why), STATUS_INTERNAL (the child crashed),
 * STATUS_LIMIT (it hung), STATUS_NO_MEMORY. */
Status oidn_denoise(const OidnInput *input, float *rgba, Error *err) SORT_MUST_CHECK;

#endif
