/* Pictures of sslc: what a fit comes near to, what a shader gives, and textures. */
#ifndef SORT_TOOLS_SSLC_SSLC_PICTURE_H
#define SORT_TOOLS_SSLC_SSLC_PICTURE_H

#include "base/error.h"

typedef struct SslcPicture {
    uint32_t width, height, channels; /* 1, 3, or 4 with alpha */
    float *numbers;                   /* [height][width][channels], linear; owned */
} SslcPicture;

/* All numbers are zero. */
Status sslc_picture_create(uint32_t width, uint32_t height, uint32_t channels, SslcPicture *out,
                           Error *err) SORT_MUST_CHECK;
/* Reads an .exr, or a .png whose colours are sRGB. channels: 4, 3, or 1 for its luminance. width, height: means over the pixels
 * that lie in a new one, if they are not 0. */
Status sslc_picture_read(const char *path, uint32_t channels, uint32_t width, uint32_t height,
                         SslcPicture *out, Error *err) SORT_MUST_CHECK;
void sslc_picture_free(SslcPicture *picture);
/* Whether the name ends in .exr or .png. */
bool sslc_picture_is_name(const char *path);
/* Writes an .exr or .png, by the name. */
Status sslc_picture_write(const char *path, const SslcPicture *picture, Error *err) SORT_MUST_CHECK;

#endif
