/* 8-bit sRGB PNG output, for a quick look; the file appears complete or not at all. Any thread. */
#ifndef SORT_BASE_IMAGE_PNG_WRITE_H
#define SORT_BASE_IMAGE_PNG_WRITE_H

#include "base/error.h"

/* pixels: [height][width][channel_count], rows from the top, already encoded for display (see
 * view_transform.h). channel_count: 3 (RGB) or 4 (RGBA, alpha not premultiplied). */
Status png_write(const char *path, uint32_t width, uint32_t height, uint32_t channel_count,
                 const uint8_t *pixels, Error *err) SORT_MUST_CHECK;

#endif
