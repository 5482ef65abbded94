/* OpenEXR input for our own tools and tests (merge, compare): one part, scanlines or one level of
 * tiles, every channel as float. Foreign textures go through the image plugins instead. */
#ifndef SORT_BASE_IMAGE_EXR_READ_H
#define SORT_BASE_IMAGE_EXR_READ_H

#include "base/error.h"

typedef struct ExrImageChannel {
    const char *name;  /* owned by the image */
    bool is_half;      /* as stored */
    const float *data; /* [height * width], rows from the top; owned by the image */
} ExrImageChannel;

typedef struct ExrImageAttribute {
    const char *name, *type; /* owned by the image, as is `value` */
    const char *value;       /* size_bytes as the file has them, and a NUL byte */
    size_t size_bytes;
} ExrImageAttribute;

typedef struct ExrImage {
    uint32_t width, height; /* of the data window */
    int32_t x, y;           /* where it lies in the display window */
    uint32_t frame_width, frame_height;
    uint32_t channel_count;
    ExrImageChannel *channels; /* sorted by name */
    uint32_t metadata_count;
    ExrImageAttribute *metadata; /* in the file's order, without those that say how it is stored */
    float pixel_aspect;          /* width of a pixel over its height */
} ExrImage;

/* Errors: STATUS_NOT_FOUND, STATUS_IO, STATUS_FORMAT (not an EXR file, damaged), STATUS_UNSUPPORTED
 * (several parts, deep data), STATUS_LIMIT, STATUS_NO_MEMORY. On success *out_image is owned by the
 * caller. */
Status exr_read(const char *path, ExrImage **out_image, Error *err) SORT_MUST_CHECK;
void exr_image_destroy(ExrImage *image); /* NULL is fine */
/* NULL when there is no such channel. */
const ExrImageChannel *exr_image_channel(const ExrImage *image, const char *name);
/* NULL when there is no such string attribute. */
const char *exr_image_text(const ExrImage *image, const char *name);

#endif
