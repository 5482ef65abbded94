/* OpenEXR output: one part, scanlines, any number of named channels, layers by name ("albedo.R").
 * The file appears complete or not at all. Any thread. (Out of memory inside the EXR library ends
 * the process: it is C++ and throws.) */
#ifndef SORT_BASE_IMAGE_EXR_WRITE_H
#define SORT_BASE_IMAGE_EXR_WRITE_H

#include "base/error.h"

typedef enum ExrPixelType { EXR_PIXEL_HALF, EXR_PIXEL_FLOAT } ExrPixelType;

typedef enum ExrCompression {
    EXR_ZIP,  /* 16 scanlines a block, lossless: the default */
    EXR_ZIPS, /* one scanline a block */
    EXR_PIZ,  /* lossless; faster to write and larger on noisy pictures */
    EXR_RLE,
    EXR_UNCOMPRESSED
} ExrCompression;

enum {
    EXR_NAME_MAX = 255, /* bytes, of channels and attributes */
    EXR_CHANNELS_MAX = 1024,
    EXR_METADATA_MAX = 100,
    EXR_SIZE_MAX_PX = 65536
};

/* One channel. Pixel (x, y) of the data window is data[(y * width + x) * stride], so interleaved
 * buffers need no copy: RGB in one array is three channels with stride 3. */
typedef struct ExrChannel {
    const char *name;  /* unique, at most EXR_NAME_MAX bytes; written in sorted order */
    ExrPixelType type; /* stored type; half rounds to nearest, beyond its range becomes infinite */
    const float *data; /* borrowed */
    size_t stride;     /* in floats; 0: 1 */
} ExrChannel;

typedef enum ExrAttributeType {
    EXR_ATTRIBUTE_STRING,   /* value */
    EXR_ATTRIBUTE_INT,      /* integers[0] */
    EXR_ATTRIBUTE_RATIONAL, /* integers[0] / integers[1], which is above 0 */
    EXR_ATTRIBUTE_FLOAT,    /* floats[0] */
    EXR_ATTRIBUTE_M44F,     /* floats: a matrix for points as rows, row by row */
    EXR_ATTRIBUTE_RAW       /* type_name; the bytes value[size_bytes] as the file has them */
} ExrAttributeType;

/* An attribute of the header; names are unique. */
typedef struct ExrMetadata {
    const char *name, *value;
    ExrAttributeType type;
    int32_t integers[2];
    float floats[16];
    const char *type_name;
    size_t size_bytes;
} ExrMetadata;

typedef struct ExrWriteDesc {
    size_t size_bytes;      /* sizeof(ExrWriteDesc) */
    uint32_t width, height; /* of the data window, in pixels */
    /* A crop lies at (x, y) of a frame of frame_width x frame_height (the display window). If all four are 0,
     * the data window is the frame. */
    uint32_t x, y, frame_width, frame_height;
    const ExrChannel *channels;
    uint32_t channel_count;
    const ExrMetadata *metadata;
    uint32_t metadata_count;
    float pixel_aspect; /* width of a pixel over its height; 0: 1 */
    ExrCompression compression;
    /* threads that compress; 0: one for each CPU. The bytes do not depend on it */
    uint32_t thread_count;
} ExrWriteDesc;

/* Errors: STATUS_INVALID (sizes, names), STATUS_IO, STATUS_NO_MEMORY. */
Status exr_write(const char *path, const ExrWriteDesc *desc, Error *err) SORT_MUST_CHECK;

#endif
