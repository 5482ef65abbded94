/* tinyexr writes a whole picture, on one thread, with its data window at (0, 0). So the picture is
 * cut into bands of BAND_ROWS scanlines (a multiple of every block size), each band is written as a
 * small EXR file in memory by whichever thread is free, and the blocks of all bands are put behind
 * one header:
 *
 *   band 0: [header][offsets][block y=0][block y=16] ...   the header, windows patched
 *   band 1: [header][offsets][block y=0][block y=16] ...   blocks only, y moved down
 *   file:   [header][all offsets][all blocks]
 *
 * Besides speed, this bounds the memory for converted pixels to one band a thread, and a crop gets
 * its true data window. Values are converted to half here, since tinyexr does not round ties to
 * even. */
#include "base/image/exr_write.h"
#include "base/alloc.h"
#include "base/cast.h"
#include "base/file.h"
#include "base/half.h"
#include "base/image/exr_header.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>
#include <tinyexr.h>

enum { BAND_ROWS = 64, LONG_NAME_BYTES = 32 };

typedef struct Band {
    char *file; /* allocated by tinyexr */
    size_t size_bytes;
    Status status;
    Error error;
} Band;

typedef struct Job {
    const ExrWriteDesc *desc;
    EXRHeader header;            /* shared by the bands, read only */
    const ExrChannel **channels; /* sorted */
    uint32_t band_count, rows_per_block;
    Band *bands;
} Job;

/* --- what is asked for --- */

static Status check_names(const ExrWriteDesc *desc, const ExrChannel *const *sorted, Error *err)
{
    for (uint32_t i = 0; i < desc->channel_count; ++i) {
        const char *name = sorted[i]->name;
        if (!name || name[0] == '\0' || strlen(name) > EXR_NAME_MAX)
            return error_set(err, STATUS_INVALID, "a channel name must have 1 to %d bytes",
                             EXR_NAME_MAX);
        if (i > 0 && strcmp(sorted[i - 1]->name, name) == 0)
            return error_set(err, STATUS_INVALID, "two channels are called '%s'", name);
    }
    for (uint32_t i = 0; i < desc->metadata_count; ++i) {
        const char *name = desc->metadata[i].name;
        if (!name || name[0] == '\0' || strlen(name) > EXR_NAME_MAX)
            return error_set(err, STATUS_INVALID, "an attribute name must have 1 to %d bytes",
                             EXR_NAME_MAX);
        if (exr_header_is_storage(name))
            return error_set(err, STATUS_INVALID,
                             "the attribute name '%s' has a meaning of "
                             "its own in EXR files",
                             name);
        const char *type = desc->metadata[i].type_name;
        if (desc->metadata[i].type == EXR_ATTRIBUTE_RAW &&
            (!type || type[0] == '\0' || strlen(type) > EXR_NAME_MAX ||
             desc->metadata[i].size_bytes > INT32_MAX))
            return error_set(err, STATUS_INVALID, "the attribute '%s' has no usable type or size",
                             name);
        for (uint32_t j = 0; j < i; ++j)
            if (strcmp(name, desc->metadata[j].name) == 0)
                return error_set(err, STATUS_INVALID, "two attributes are called '%s'", name);
    }
    return STATUS_OK;
}

static Status check_sizes(const ExrWriteDesc *desc, Error *err)
{
    if (desc->width == 0 || desc->height == 0 || desc->width > EXR_SIZE_MAX_PX ||
        desc->height > EXR_SIZE_MAX_PX)
        return error_set(err, STATUS_INVALID, "a picture of %u x %u pixels (at most %d each way)",
                         desc->width, desc->height, EXR_SIZE_MAX_PX);
    bool has_frame = desc->frame_width != 0 || desc->frame_height != 0;
    if (desc->frame_width > EXR_SIZE_MAX_PX || desc->frame_height > EXR_SIZE_MAX_PX ||
        (has_frame && (desc->x > desc->frame_width || desc->y > desc->frame_height ||
                       desc->width > desc->frame_width - desc->x ||
                       desc->height > desc->frame_height - desc->y)) ||
        (!has_frame && (desc->x != 0 || desc->y != 0)))
        return error_set(err, STATUS_INVALID,
                         "a crop of %u x %u pixels at %u, %u lies outside its frame of %u x %u",
                         desc->width, desc->height, desc->x, desc->y, desc->frame_width,
                         desc->frame_height);
    if (desc->channel_count == 0 || desc->channel_count > EXR_CHANNELS_MAX)
        return error_set(err, STATUS_INVALID, "%u channels (1 to %d are possible)",
                         desc->channel_count, EXR_CHANNELS_MAX);
    if (desc->metadata_count > EXR_METADATA_MAX)
        return error_set(err, STATUS_INVALID, "%u attributes (at most %d)", desc->metadata_count,
                         EXR_METADATA_MAX);
    return STATUS_OK;
}

static int compare_channels(const void *a, const void *b)
{
    return strcmp((*(const ExrChannel *const *)a)->name, (*(const ExrChannel *const *)b)->name);
}

/* --- the header that the bands share --- */

static bool is_half(const ExrChannel *channel)
{
    return channel->type == EXR_PIXEL_HALF;
}

static int compression_type(ExrCompression compression, uint32_t *out_rows_per_block)
{
    switch (compression) {
    case EXR_ZIP:
        *out_rows_per_block = 16;
        return TINYEXR_COMPRESSIONTYPE_ZIP;
    case EXR_ZIPS:
        *out_rows_per_block = 1;
        return TINYEXR_COMPRESSIONTYPE_ZIPS;
    case EXR_PIZ:
        *out_rows_per_block = 32;
        return TINYEXR_COMPRESSIONTYPE_PIZ;
    case EXR_RLE:
        *out_rows_per_block = 1;
        return TINYEXR_COMPRESSIONTYPE_RLE;
    case EXR_UNCOMPRESSED:
        *out_rows_per_block = 1;
        return TINYEXR_COMPRESSIONTYPE_NONE;
    }
    UNREACHABLE();
}

_Static_assert(BAND_ROWS % 32 == 0, "a block of scanlines never crosses a band");

static void free_header(Job *job)
{
    EXRHeader *header = &job->header;
    for (int i = 0; i < header->num_custom_attributes; ++i)
        mem_free(header->custom_attributes[i].value);
    mem_free(header->custom_attributes);
    mem_free(header->channels);
    mem_free(header->pixel_types);
}

static Status set_value(EXRAttribute *attribute, const ExrMetadata *m, Error *err)
{
    const struct {
        const char *type;
        const void *bytes;
        size_t size_bytes;
    } values[] = {
        [EXR_ATTRIBUTE_STRING] = {"string", m->value, m->value ? strlen(m->value) : 0},
        [EXR_ATTRIBUTE_INT] = {"int", m->integers, sizeof m->integers[0]},
        [EXR_ATTRIBUTE_RATIONAL] = {"rational", m->integers, sizeof m->integers},
        [EXR_ATTRIBUTE_FLOAT] = {"float", m->floats, sizeof m->floats[0]},
        [EXR_ATTRIBUTE_M44F] = {"m44f", m->floats, sizeof m->floats},
        [EXR_ATTRIBUTE_RAW] = {m->type_name, m->value, m->size_bytes},
    };
    size_t size_bytes = values[m->type].size_bytes;
    attribute->value = mem_alloc(size_bytes + 1, 1);
    if (!attribute->value)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for an EXR header");
    memcpy(attribute->type, values[m->type].type, strlen(values[m->type].type) + 1);
    memcpy(attribute->value, values[m->type].bytes, size_bytes);
    attribute->size = cast_i32((int64_t)size_bytes);
    return STATUS_OK;
}

static Status make_header(Job *job, Error *err)
{
    const ExrWriteDesc *desc = job->desc;
    EXRHeader *header = &job->header;
    InitEXRHeader(header);
    header->compression_type = compression_type(desc->compression, &job->rows_per_block);
    header->channels = MEM_ARRAY(EXRChannelInfo, desc->channel_count);
    header->pixel_types = MEM_ARRAY(int, desc->channel_count);
    header->custom_attributes = MEM_ARRAY(EXRAttribute, desc->metadata_count);
    if (!header->channels || !header->pixel_types || !header->custom_attributes)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for an EXR header");
    header->requested_pixel_types = header->pixel_types;
    header->num_channels = (int)desc->channel_count;
    for (uint32_t i = 0; i < desc->channel_count; ++i) {
        size_t length = strlen(job->channels[i]->name);
        memcpy(header->channels[i].name, job->channels[i]->name, length + 1);
        header->pixel_types[i] =
            is_half(job->channels[i]) ? TINYEXR_PIXELTYPE_HALF : TINYEXR_PIXELTYPE_FLOAT;
        header->long_name |= length >= LONG_NAME_BYTES;
    }
    for (uint32_t i = 0; i < desc->metadata_count; ++i) {
        EXRAttribute *attribute = &header->custom_attributes[i];
        const ExrMetadata *metadata = &desc->metadata[i];
        size_t length = strlen(metadata->name);
        memcpy(attribute->name, metadata->name, length + 1);
        TRY(set_value(attribute, metadata, err));
        ++header->num_custom_attributes;
        header->long_name |= length >= LONG_NAME_BYTES;
    }
    return STATUS_OK;
}

/* --- bands --- */

static uint32_t band_rows(const Job *job, uint32_t band)
{
    uint32_t first = band * BAND_ROWS;
    return job->desc->height - first < BAND_ROWS ? job->desc->height - first : BAND_ROWS;
}

/* Copies one channel of the band, without gaps, in its stored type. `row_floats` has room for one row. */
static void copy_plane(const ExrChannel *channel, uint32_t width, uint32_t first_row, uint32_t rows,
                       float *row_floats, unsigned char *out_plane)
{
    size_t stride = channel->stride ? channel->stride : 1;
    for (uint32_t y = 0; y < rows; ++y) {
        const float *from = channel->data + (size_t)(first_row + y) * width * stride;
        float *row = row_floats;
        if (!is_half(channel))
            row = (float *)out_plane + (size_t)y * width;
        for (uint32_t x = 0; x < width; ++x)
            row[x] = from[x * stride];
        if (is_half(channel))
            half_from_float_array(row, width, (half *)out_plane + (size_t)y * width);
    }
}

static void encode_band(void *data, uint32_t index)
{
    Job *job = data;
    const ExrWriteDesc *desc = job->desc;
    Band *band = &job->bands[index];
    uint32_t rows = band_rows(job, index);
    size_t plane_floats = (size_t)desc->width * rows;
    float *planes =
        mem_realloc(NULL, plane_floats * desc->channel_count + desc->width, sizeof(float));
    unsigned char **images = MEM_ARRAY(unsigned char *, desc->channel_count);
    if (!planes || !images) {
        band->status = error_set(&band->error, STATUS_NO_MEMORY, "out of memory for its pixels");
        mem_free(planes);
        mem_free(images);
        return;
    }
    float *row_floats = planes + plane_floats * desc->channel_count;
    for (uint32_t i = 0; i < desc->channel_count; ++i) {
        images[i] = (unsigned char *)(planes + plane_floats * i);
        copy_plane(job->channels[i], desc->width, index * BAND_ROWS, rows, row_floats, images[i]);
    }
    EXRImage image;
    InitEXRImage(&image);
    image.images = images;
    image.num_channels = (int)desc->channel_count;
    image.width = (int)desc->width;
    image.height = (int)rows;
    const char *message = NULL;
    unsigned char *file = NULL;
    band->size_bytes = SaveEXRImageToMemory(&image, &job->header, &file, &message);
    band->file = (char *)file;
    if (band->size_bytes == 0)
        band->status = error_set(&band->error, STATUS_INTERNAL, "the EXR library refused: %s",
                                 message ? message : "no reason given");
    if (message)
        FreeEXRErrorMessage(message);
    mem_free(planes);
    mem_free(images);
}

/* --- the file --- */

/* Patches the header of the first band, whose windows and pixel aspect are replaced by the true ones, and
 * returns its size. */
static Status patch_header(const Job *job, size_t *out_header_bytes, Error *err)
{
    const ExrWriteDesc *desc = job->desc;
    char *data = job->bands[0].file;
    Str file = {data, job->bands[0].size_bytes};
    bool has_frame = desc->frame_width != 0;
    const int32_t data_window[4] = {cast_i32(desc->x), cast_i32(desc->y),
                                    cast_i32((int64_t)desc->x + desc->width - 1),
                                    cast_i32((int64_t)desc->y + desc->height - 1)};
    const int32_t display_window[4] = {
        0, 0, cast_i32((int64_t)(has_frame ? desc->frame_width : desc->width) - 1),
        cast_i32((int64_t)(has_frame ? desc->frame_height : desc->height) - 1)};
    uint32_t flags;
    size_t offset = 0;
    int patched = 0;
    ExrField field;
    ExrWalk walk = exr_header_begin(file, &flags, &offset) ? EXR_WALK_FIELD : EXR_WALK_BROKEN;
    while (walk == EXR_WALK_FIELD &&
           (walk = exr_header_next(file, &offset, &field)) == EXR_WALK_FIELD) {
        const int32_t *window = strcmp(field.name, "dataWindow") == 0      ? data_window
                                : strcmp(field.name, "displayWindow") == 0 ? display_window
                                                                           : NULL;
        if (window && field.size_bytes == sizeof data_window) {
            memcpy(data + field.value_offset, window, sizeof data_window);
            ++patched;
        }
        if (strcmp(field.name, "pixelAspectRatio") == 0 && desc->pixel_aspect > 0.0f)
            memcpy(data + field.value_offset, &desc->pixel_aspect, sizeof desc->pixel_aspect);
    }
    if (walk != EXR_WALK_END || patched != 2)
        return error_set(err, STATUS_INTERNAL, "the EXR library wrote an unknown header");
    *out_header_bytes = offset;
    return STATUS_OK;
}

/* A failure is kept by the stream and reported by file_replace_commit. */
static void put(FILE *stream, const void *data, size_t size_bytes)
{
    (void)fwrite(data, 1, size_bytes, stream);
}

static uint32_t block_count(const Job *job, uint32_t band)
{
    return (band_rows(job, band) + job->rows_per_block - 1) / job->rows_per_block;
}

/* Returns where a band's blocks begin, which is after its header and its offsets. The header's size is the same
 * in all bands. */
static size_t blocks_offset(const Job *job, uint32_t band, size_t header_bytes)
{
    return header_bytes + (size_t)block_count(job, band) * sizeof(uint64_t);
}

static Status write_parts(const Job *job, size_t header_bytes, FILE *stream, Error *err)
{
    uint64_t total_blocks = 0;
    for (uint32_t i = 0; i < job->band_count; ++i)
        total_blocks += block_count(job, i);
    put(stream, job->bands[0].file, header_bytes);
    /* Writes the offsets: those of each band, moved to where its blocks are placed. */
    uint64_t position = header_bytes + total_blocks * sizeof(uint64_t);
    for (uint32_t i = 0; i < job->band_count; ++i) {
        const Band *band = &job->bands[i];
        size_t first = blocks_offset(job, i, header_bytes);
        for (uint32_t block = 0; block < block_count(job, i); ++block) {
            uint64_t offset;
            int32_t y;
            memcpy(&offset, band->file + header_bytes + block * sizeof offset, sizeof offset);
            if (offset < first || offset > band->size_bytes - sizeof y)
                return error_set(err, STATUS_INTERNAL, "the EXR library wrote a wrong offset");
            memcpy(&y, band->file + offset, sizeof y);
            y += cast_i32((int64_t)job->desc->y + (int64_t)i * BAND_ROWS);
            memcpy(band->file + offset, &y, sizeof y);
            offset += position - first;
            put(stream, &offset, sizeof offset);
        }
        position += band->size_bytes - first;
    }
    for (uint32_t i = 0; i < job->band_count; ++i) {
        size_t first = blocks_offset(job, i, header_bytes);
        put(stream, job->bands[i].file + first, job->bands[i].size_bytes - first);
    }
    return STATUS_OK;
}

static Status write_file(const char *path, Job *job, Error *err)
{
    size_t header_bytes = 0;
    FileReplace file;
    for (uint32_t i = 0; i < job->band_count; ++i)
        if (job->bands[i].status != STATUS_OK) {
            if (err)
                *err = job->bands[i].error;
            return job->bands[i].status;
        }
    TRY(patch_header(job, &header_bytes, err));
    TRY(file_replace_begin(path, &file, err));
    Status status = write_parts(job, header_bytes, file.stream, err);
    if (status == STATUS_OK)
        return file_replace_commit(&file, err);
    file_replace_abandon(&file);
    return status;
}

static Status write_job(const char *path, Job *job, Error *err)
{
    const ExrWriteDesc *desc = job->desc;
    job->band_count = (desc->height + BAND_ROWS - 1) / BAND_ROWS;
    job->bands = MEM_ARRAY(Band, job->band_count);
    job->channels = MEM_ARRAY(const ExrChannel *, desc->channel_count);
    if (!job->bands || !job->channels)
        return error_set(err, STATUS_NO_MEMORY, "out of memory for an EXR file");
    for (uint32_t i = 0; i < desc->channel_count; ++i)
        job->channels[i] = &desc->channels[i];
    qsort(job->channels, desc->channel_count, sizeof(const ExrChannel *), compare_channels);
    TRY(check_names(desc, job->channels, err));
    TRY(make_header(job, err));
    parallel_for(desc->thread_count, job->band_count, encode_band, job);
    return write_file(path, job, err);
}

Status exr_write(const char *path, const ExrWriteDesc *desc, Error *err)
{
    CHECK(desc->size_bytes == sizeof(ExrWriteDesc));
    Job job = {.desc = desc};
    Status status = check_sizes(desc, err);
    if (status == STATUS_OK)
        status = write_job(path, &job, err);
    if (status != STATUS_OK && err && err->path[0] == '\0')
        (void)snprintf(err->path, sizeof err->path, "%s", path);
    free_header(&job);
    if (job.bands)
        for (uint32_t i = 0; i < job.band_count; ++i)
            mem_free(job.bands[i].file); /* from malloc, as tinyexr documents */
    mem_free(job.bands);
    mem_free(job.channels);
    return status;
}
