/* What the renderer and a denoiser's program say to each other, in bytes of this machine's order.
 *
 *   renderer  DenoiseRequest, then RGB of the picture, and of the albedo and the normals if it has them:
 *             float [height][width][3] each
 *   program   DenoiseReply, then RGB of the result if `is_done`
 *
 * A denoiser is a program of its own, because it opens a library that may crash, hang or exit. It reads from its standard
 * input, answers on its standard output, and ends. */
#ifndef SORT_DENOISE_PROTOCOL_H
#define SORT_DENOISE_PROTOCOL_H

#include <stdint.h>

enum {
    DENOISE_MAGIC = 0x314e4453, /* "SDN1" */
    DENOISE_SIDE_MAX = 65535,
    DENOISE_TEXT_BYTES = 400,
    DENOISE_PATH_BYTES = 4096
};

typedef struct DenoiseRequest {
    uint32_t magic, width, height;
    uint32_t thread_count; /* 0: as the library likes */
    uint32_t has_albedo, has_normal;
    char oidn_path[DENOISE_PATH_BYTES]; /* ends with NUL; "": where it usually is */
} DenoiseRequest;

typedef struct DenoiseReply {
    uint32_t magic, is_done;
    char text
        [DENOISE_TEXT_BYTES]; /* the library and its version, or why there is no result; ends with NUL */
} DenoiseReply;

_Static_assert(sizeof(DenoiseRequest) == 24 + DENOISE_PATH_BYTES &&
                   sizeof(DenoiseReply) == 8 + DENOISE_TEXT_BYTES,
               "messages have no padding");

#endif
