/* The header is walked here before the EXR library sees the file, since that library trusts some of
 * it: an unknown part type ends the process, and more than 128 attributes overrun its array. Pixels
 * are taken in their stored type and converted here. */
#include "base/image/exr_read.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/check.h"
#include "base/file.h"
#include "base/half.h"
#include "base/image/exr_header.h"
#include "base/image/exr_write.h"

#include <stdlib.h>
#include <string.h>
#include <tinyexr.h>

enum { ATTRIBUTES_MAX = 120 };
static const size_t FILE_BYTES_MAX = (size_t)16 << 30;

static Status check_header(const char *path, Str file, Error *err)
{
    uint32_t flags;
    size_t offset, count = 0;
    ExrField field;
    ExrWalk walk;
    if (!exr_header_begin(file, &flags, &offset))
        return error_set_at(err, STATUS_FORMAT, path, "not an EXR file");
    if (flags & (EXR_FLAG_DEEP | EXR_FLAG_MULTIPART))
        return error_set_at(err, STATUS_UNSUPPORTED, path, "%s are not read",
                            flags & EXR_FLAG_DEEP ? "deep pictures" : "files of several parts");
    while ((walk = exr_header_next(file, &offset, &field)) == EXR_WALK_FIELD) {
        if (strcmp(field.name, "type") == 0)
            return error_set_at(err, STATUS_UNSUPPORTED, path,
                                "files with part types are not read");
        if (++count > ATTRIBUTES_MAX)
            return error_set_at(err, STATUS_LIMIT, path, "more than %d attributes", ATTRIBUTES_MAX);
    }
    if (walk == EXR_WALK_BROKEN)
        return error_set_offset(err, STATUS_FORMAT, path, offset, "the header is damaged");
    return STATUS_OK;
}

static Status fail_library(const char *path, int result, const char *message, Error *err)
{
    Status code =
        result == TINYEXR_ERROR_UNSUPPORTED_FORMAT || result == TINYEXR_ERROR_UNSUPPORTED_FEATURE
            ? STATUS_UNSUPPORTED
            : STATUS_FORMAT;
    Status status =
        error_set_at(err, code, path, "%s", message ? message : "the EXR file is damaged");
    if (message)
        FreeEXRErrorMessage(message);
    return status;
}

static Status check_parsed(const char *path, const EXRHeader *header, Error *err)
{
    const EXRBox2i *data = &header->data_window, *frame = &header->display_window;
    int64_t width = (int64_t)data->max_x - data->min_x + 1;
    int64_t height = (int64_t)data->max_y - data->min_y + 1;
    if (width <= 0 || height <= 0 || frame->max_x < frame->min_x || frame->max_y < frame->min_y)
        return error_set_at(err, STATUS_FORMAT, path, "its windows are empty");
    if (width > EXR_SIZE_MAX_PX || height > EXR_SIZE_MAX_PX ||
        header->num_channels > EXR_CHANNELS_MAX)
        return error_set_at(err, STATUS_LIMIT, path, "too large: %jd x %jd pixels, %d channels",
                            (intmax_t)width, (intmax_t)height, header->num_channels);
    for (int i = 0; i < header->num_channels; ++i)
        if (header->channels[i].x_sampling != 1 || header->channels[i].y_sampling != 1)
            return error_set_at(err, STATUS_UNSUPPORTED, path, "channel '%s' is subsampled",
                                header->channels[i].name);
    return STATUS_OK;
}

static void convert(const unsigned char *from, int pixel_type, size_t at, size_t count, float *out)
{
    if (pixel_type == TINYEXR_PIXELTYPE_HALF) {
        half_to_float_array((const half *)from + at, count, out);
    } else if (pixel_type == TINYEXR_PIXELTYPE_FLOAT) {
        memcpy(out, (const float *)from + at, count * sizeof *out);
    } else {
        const uint32_t *values = (const uint32_t *)from + at;
        for (size_t i = 0; i < count; ++i)
            out[i] = (float)values[i];
    }
}

static void copy_channel(const EXRHeader *header, const EXRImage *from, int channel,
                         const ExrImage *image, float *out)
{
    int type = header->pixel_types[channel];
    if (!from->tiles) {
        convert(from->images[channel], type, 0, (size_t)image->width * image->height, out);
        return;
    }
    for (int i = 0; i < from->num_tiles; ++i) {
        const EXRTile *tile = &from->tiles[i];
        size_t x = (size_t)tile->offset_x * (size_t)header->tile_size_x;
        size_t y = (size_t)tile->offset_y * (size_t)header->tile_size_y;
        if (tile->level_x != 0 || tile->level_y != 0 || x >= image->width || y >= image->height)
            continue;
        size_t width =
            image->width - x < (size_t)tile->width ? image->width - x : (size_t)tile->width;
        for (size_t row = 0; row < (size_t)tile->height && y + row < image->height; ++row)
            convert(tile->images[channel], type, row * (size_t)header->tile_size_x, width,
                    out + (y + row) * image->width + x);
    }
}

static int compare_channels(const void *a, const void *b)
{
    return strcmp(((const ExrImageChannel *)a)->name, ((const ExrImageChannel *)b)->name);
}

static Status fill_image(const char *path, const EXRHeader *header, const EXRImage *from,
                         ExrImage *image, Error *err)
{
    size_t pixels = (size_t)image->width * image->height;
    image->channels = MEM_ARRAY(ExrImageChannel, (size_t)header->num_channels);
    bool is_complete = image->channels;
    for (int i = 0; is_complete && i < header->num_channels; ++i) {
        ExrImageChannel *channel = &image->channels[image->channel_count++];
        float *data = MEM_ARRAY(float, pixels);
        channel->name = mem_strdup(header->channels[i].name);
        channel->data = data;
        channel->is_half = header->pixel_types[i] == TINYEXR_PIXELTYPE_HALF;
        is_complete = channel->name && data;
        if (is_complete)
            copy_channel(header, from, i, image, data);
    }
    if (!is_complete)
        return error_set_at(err, STATUS_NO_MEMORY, path, "out of memory for its pixels");
    qsort(image->channels, image->channel_count, sizeof *image->channels, compare_channels);
    return STATUS_OK;
}

/* Takes the attributes from the file itself: the library changes those that are empty. check_header has seen that the header
 * is whole. */
static Status read_attributes(const char *path, Str file, ExrImage *image, Error *err)
{
    uint32_t flags;
    size_t offset;
    ExrField field;
    bool is_complete = (image->metadata = MEM_ARRAY(ExrImageAttribute, ATTRIBUTES_MAX));
    CHECK(exr_header_begin(file, &flags, &offset));
    while (is_complete && exr_header_next(file, &offset, &field) == EXR_WALK_FIELD) {
        if (exr_header_is_storage(field.name))
            continue;
        ASSERT(image->metadata_count < ATTRIBUTES_MAX);
        char *value = mem_alloc(field.size_bytes + 1, 1);
        ExrImageAttribute *to = &image->metadata[image->metadata_count++];
        *to = (ExrImageAttribute){.name = mem_strdup(field.name),
                                  .type = mem_strdup(field.type),
                                  .value = value,
                                  .size_bytes = field.size_bytes};
        is_complete = to->name && to->type && value;
        if (is_complete)
            memcpy(value, file.data + field.value_offset, field.size_bytes);
    }
    return is_complete ? STATUS_OK
                       : error_set_at(err, STATUS_NO_MEMORY, path, "out of memory for its header");
}

static Status decode(const char *path, Str file, EXRHeader *header, EXRImage *pixels,
                     ExrImage *image, Error *err)
{
    EXRVersion version;
    const unsigned char *bytes = (const unsigned char *)file.data;
    const char *message = NULL;
    int result = ParseEXRVersionFromMemory(&version, bytes, file.size_bytes);
    if (result == TINYEXR_SUCCESS)
        result = ParseEXRHeaderFromMemory(header, &version, bytes, file.size_bytes, &message);
    if (result != TINYEXR_SUCCESS)
        return fail_library(path, result, message, err);
    TRY(check_parsed(path, header, err));
    pixels->num_channels =
        header->num_channels; /* or the library would not free all when it fails */
    result = LoadEXRImageFromMemory(pixels, header, bytes, file.size_bytes, &message);
    if (result != TINYEXR_SUCCESS) {
        InitEXRImage(pixels); /* what there was of it is freed, but the pointers are left */
        return fail_library(path, result, message, err);
    }
    const EXRBox2i *data = &header->data_window, *frame = &header->display_window;
    image->width = cast_u32((uint64_t)((int64_t)data->max_x - data->min_x + 1));
    image->height = cast_u32((uint64_t)((int64_t)data->max_y - data->min_y + 1));
    image->x = data->min_x - frame->min_x;
    image->y = data->min_y - frame->min_y;
    image->frame_width = cast_u32((uint64_t)((int64_t)frame->max_x - frame->min_x + 1));
    image->frame_height = cast_u32((uint64_t)((int64_t)frame->max_y - frame->min_y + 1));
    image->pixel_aspect = header->pixel_aspect_ratio;
    TRY(read_attributes(path, file, image, err));
    return fill_image(path, header, pixels, image, err);
}

Status exr_read(const char *path, ExrImage **out_image, Error *err)
{
    *out_image = NULL;
    char *data;
    size_t size_bytes;
    TRY(file_read(path, FILE_BYTES_MAX, &data, &size_bytes, err));
    Str file = {data, size_bytes};
    Status status = check_header(path, file, err);
    ExrImage *image = NULL;
    if (status == STATUS_OK && !(image = MEM_NEW(ExrImage)))
        status = error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    if (status == STATUS_OK) {
        EXRHeader header;
        EXRImage pixels;
        InitEXRHeader(&header);
        InitEXRImage(&pixels);
        status = decode(path, file, &header, &pixels, image, err);
        (void)FreeEXRImage(&pixels);
        (void)FreeEXRHeader(&header);
    }
    mem_free(data);
    if (status != STATUS_OK) {
        exr_image_destroy(image);
        return status;
    }
    *out_image = image;
    return STATUS_OK;
}

/* The image owns these; its users see them as const. */
static void free_const(const void *block)
{
    union {
        const void *seen;
        void *owned;
    } pointer = {.seen = block};
    mem_free(pointer.owned);
}

void exr_image_destroy(ExrImage *image)
{
    if (!image)
        return;
    for (uint32_t i = 0; i < image->channel_count; ++i) {
        free_const(image->channels[i].name);
        free_const(image->channels[i].data);
    }
    for (uint32_t i = 0; i < image->metadata_count; ++i) {
        free_const(image->metadata[i].name);
        free_const(image->metadata[i].type);
        free_const(image->metadata[i].value);
    }
    mem_free(image->channels);
    mem_free(image->metadata);
    mem_free(image);
}

const ExrImageChannel *exr_image_channel(const ExrImage *image, const char *name)
{
    for (uint32_t i = 0; i < image->channel_count; ++i)
        if (strcmp(image->channels[i].name, name) == 0)
            return &image->channels[i];
    return NULL;
}

const char *exr_image_text(const ExrImage *image, const char *name)
{
    for (uint32_t i = 0; i < image->metadata_count; ++i)
        if (strcmp(image->metadata[i].name, name) == 0 &&
            strcmp(image->metadata[i].type, "string") == 0)
            return image->metadata[i].value;
    return NULL;
}
