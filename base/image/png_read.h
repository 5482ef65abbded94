/* 8-bit PNG input for our own tools and tests: palette, grey and 16-bit files are converted. */
#ifndef SORT_BASE_IMAGE_PNG_READ_H
#define SORT_BASE_IMAGE_PNG_READ_H

#include "base/error.h"

enum { PNG_SIZE_MAX_PX = 65536 };

/* *out_pixels: [height][width][4] RGBA, owned by the caller (mem_free). Errors: STATUS_NOT_FOUND,
 * STATUS_IO, STATUS_FORMAT, STATUS_LIMIT, STATUS_NO_MEMORY. */
Status png_read(const char *path, uint32_t *out_width, uint32_t *out_height, uint8_t **out_pixels,
                Error *err) SORT_MUST_CHECK;

#endif
