#include "tools/sslc/sslc_picture.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/image/exr_read.h"
#include "base/image/exr_write.h"
#include "base/image/png_read.h"
#include "base/image/png_write.h"
#include "base/image/view_transform.h"
#include "base/path.h"
#include "base/srgb.h"
#include <math.h>

/* Returns the luminance of Rec. 709. */
static float luminance(const float rgba[4])
{
    return 0.2126f * rgba[0] + 0.7152f * rgba[1] + 0.0722f * rgba[2];
}

Status sslc_picture_create(uint32_t width, uint32_t height, uint32_t channels, SslcPicture *out,
                           Error *err)
{
    *out =
        (SslcPicture){width, height, channels, MEM_ARRAY(float, (size_t)width *height *channels)};
    return out->numbers ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "out of memory");
}

static void put(SslcPicture *picture, size_t pixel, const float rgba[4])
{
    ASSERT(picture->channels <= 4);
    for (uint32_t c = 0; c < picture->channels; ++c)
        picture->numbers[pixel * picture->channels + c] =
            picture->channels == 1 ? luminance(rgba) : rgba[c];
}

static Status read_exr(const char *path, uint32_t channels, SslcPicture *out, Error *err)
{
    static const char *const names[3] = {"R", "G", "B"};
    ExrImage *image;
    TRY(exr_read(path, &image, err));
    const ExrImageChannel *grey = exr_image_channel(image, "Y"), *rgb[3];
    const ExrImageChannel *alpha = exr_image_channel(image, "A");
    bool has_colour = true;
    for (uint32_t i = 0; i < 3; ++i) {
        rgb[i] = exr_image_channel(image, names[i]);
        has_colour = has_colour && rgb[i];
    }
    Status status = STATUS_OK;
    if (!has_colour && !grey)
        status = error_set_at(err, STATUS_UNSUPPORTED, path,
                              "the picture has neither the channels R, G and B nor Y");
    if (status == STATUS_OK)
        status = sslc_picture_create(image->width, image->height, channels, out, err);
    for (size_t i = 0; status == STATUS_OK && i < (size_t)image->width * image->height; ++i) {
        float pixel[4] = {0, 0, 0, alpha ? alpha->data[i] : 1.0f};
        for (uint32_t c = 0; c < 3; ++c)
            pixel[c] = has_colour ? rgb[c]->data[i] : grey->data[i];
        put(out, i, pixel);
    }
    exr_image_destroy(image);
    return status;
}

static Status read_png(const char *path, uint32_t channels, SslcPicture *out, Error *err)
{
    uint32_t width, height;
    uint8_t *pixels;
    TRY(png_read(path, &width, &height, &pixels, err));
    Status status = sslc_picture_create(width, height, channels, out, err);
    for (size_t i = 0; status == STATUS_OK && i < (size_t)width * height; ++i) {
        float pixel[4] = {0, 0, 0, (float)pixels[4 * i + 3] / 255.0f};
        for (uint32_t c = 0; c < 3; ++c)
            pixel[c] = srgb_to_linear((float)pixels[4 * i + c] / 255.0f);
        put(out, i, pixel);
    }
    mem_free(pixels);
    return status;
}

/* The mean over a rectangle of pixels, those at its edges by the part that lies in it. */
static float mean_of(const SslcPicture *from, uint32_t channel, const double x[2],
                     const double y[2])
{
    double sum = 0, area = 0;
    ASSERT(channel < from->channels && x[0] < x[1] && y[0] < y[1]);
    for (uint32_t j = (uint32_t)y[0]; j < from->height && (double)j < y[1]; ++j)
        for (uint32_t i = (uint32_t)x[0]; i < from->width && (double)i < x[1]; ++i) {
            double part =
                (fmin(i + 1.0, x[1]) - fmax(i, x[0])) * (fmin(j + 1.0, y[1]) - fmax(j, y[0]));
            size_t pixel = (size_t)j * from->width + i;
            sum += part * (double)from->numbers[pixel * from->channels + channel];
            area += part;
        }
    return (float)(sum / area);
}

static Status resample(SslcPicture *picture, uint32_t width, uint32_t height, const char *path,
                       Error *err)
{
    if (width > picture->width || height > picture->height)
        return error_set_at(err, STATUS_INVALID, path,
                            "the picture has %u x %u pixels, fewer than %u x %u", picture->width,
                            picture->height, width, height);
    SslcPicture made;
    TRY(sslc_picture_create(width, height, picture->channels, &made, err));
    double step_x = (double)picture->width / width, step_y = (double)picture->height / height;
    for (uint32_t y = 0; y < height; ++y)
        for (uint32_t x = 0; x < width; ++x)
            for (uint32_t c = 0; c < made.channels; ++c)
                made.numbers[((size_t)y * width + x) * made.channels + c] =
                    mean_of(picture, c, (double[]){x * step_x, (x + 1) * step_x},
                            (double[]){y * step_y, (y + 1) * step_y});
    sslc_picture_free(picture);
    *picture = made;
    return STATUS_OK;
}

Status sslc_picture_read(const char *path, uint32_t channels, uint32_t width, uint32_t height,
                         SslcPicture *out, Error *err)
{
    *out = (SslcPicture){0};
    if (path_has_extension(path, ".exr"))
        TRY(read_exr(path, channels, out, err));
    else if (path_has_extension(path, ".png"))
        TRY(read_png(path, channels, out, err));
    else
        return error_set_at(err, STATUS_UNSUPPORTED, path,
                            "give a picture that ends in .exr or .png");
    if (width && height && (width != out->width || height != out->height))
        TRY(resample(out, width, height, path, err));
    return STATUS_OK;
}

void sslc_picture_free(SslcPicture *picture)
{
    mem_free(picture->numbers);
    *picture = (SslcPicture){0};
}

bool sslc_picture_is_name(const char *path)
{
    return path_has_extension(path, ".png") || path_has_extension(path, ".exr");
}

/* --- writing ------------------------------------------------------------------------------------ */

static uint8_t alpha_byte(float alpha)
{
    return (uint8_t)(fminf(fmaxf(alpha, 0.0f), 1.0f) * 255.0f + 0.5f);
}

static Status write_png(const char *path, const SslcPicture *picture, Error *err)
{
    const ViewTransform view = {.curve = VIEW_STANDARD};
    size_t count = (size_t)picture->width * picture->height;
    uint32_t bytes = picture->channels == 4 ? 4 : 3; /* of a pixel */
    uint8_t *rgb = MEM_ARRAY(uint8_t, 3 * count), *pixels = MEM_ARRAY(uint8_t, bytes *count);
    float *linear = MEM_ARRAY(float, 3 * count);
    Status status = STATUS_NO_MEMORY;
    if (rgb && pixels && linear) {
        for (size_t i = 0; i < 3 * count; ++i)
            linear[i] =
                picture
                    ->numbers[picture->channels == 1 ? i / 3 : i / 3 * picture->channels + i % 3];
        view_transform_rgb(&view, linear, 3, count, rgb);
        for (size_t i = 0; i < bytes * count; ++i)
            pixels[i] =
                i % bytes < 3 ? rgb[i / bytes * 3 + i % bytes] : alpha_byte(picture->numbers[i]);
        status = png_write(path, picture->width, picture->height, bytes, pixels, err);
    } else {
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    mem_free(rgb);
    mem_free(pixels);
    mem_free(linear);
    return status;
}

static Status write_exr(const char *path, const SslcPicture *picture, Error *err)
{
    static const char *const names[2][4] = {{"Y"}, {"R", "G", "B", "A"}};
    ExrChannel channels[4];
    ASSERT(picture->channels <= 4 && picture->channels != 2);
    for (uint32_t i = 0; i < picture->channels; ++i)
        channels[i] = (ExrChannel){.name = names[picture->channels > 1][i],
                                   .type = EXR_PIXEL_FLOAT,
                                   .data = picture->numbers + i,
                                   .stride = picture->channels};
    const ExrWriteDesc desc = {.size_bytes = sizeof desc,
                               .width = picture->width,
                               .height = picture->height,
                               .channels = channels,
                               .channel_count = picture->channels};
    return exr_write(path, &desc, err);
}

Status sslc_picture_write(const char *path, const SslcPicture *picture, Error *err)
{
    return path_has_extension(path, ".png") ? write_png(path, picture, err)
                                            : write_exr(path, picture, err);
}
