/* libpng reports failure by a jump. Variables that change between setjmp and the jump live in a struct, so that
 * they keep their values. */
#include "base/image/png_write.h"
#include "base/file.h"
#include "base/image/png_read.h"

#include <errno.h>
#include <png.h>
#include <string.h>

typedef struct PngWriter {
    png_structp png;
    png_infop info;
    FileReplace file;
    char message[200];
} PngWriter;

static void on_error(png_structp png, png_const_charp message)
{
    PngWriter *w = png_get_error_ptr(png);
    /* libpng says no more than that writing failed. */
    (void)snprintf(w->message, sizeof w->message, "%s",
                   ferror(w->file.stream) ? strerror(errno) : message);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png, (void)message;
}

/* Writes the pixels. Returns false if libpng failed. */
static bool write_pixels(PngWriter *w, uint32_t width, uint32_t height, uint32_t channel_count,
                         const uint8_t *pixels)
{
    if (setjmp(png_jmpbuf(w->png)))
        return false;
    png_init_io(w->png, w->file.stream);
    png_set_IHDR(w->png, w->info, width, height, 8,
                 channel_count == 4 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB_gAMA_and_cHRM(w->png, w->info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(w->png, w->info);
    for (uint32_t y = 0; y < height; ++y)
        png_write_row(w->png, pixels + (size_t)y * width * channel_count);
    png_write_end(w->png, w->info);
    return true;
}

Status png_write(const char *path, uint32_t width, uint32_t height, uint32_t channel_count,
                 const uint8_t *pixels, Error *err)
{
    if (width == 0 || height == 0 || width > PNG_SIZE_MAX_PX || height > PNG_SIZE_MAX_PX ||
        (channel_count != 3 && channel_count != 4))
        return error_set_at(err, STATUS_INVALID, path,
                            "a PNG of %u x %u pixels with %u channels (3 or 4; at most %d pixels "
                            "each way)",
                            width, height, channel_count, PNG_SIZE_MAX_PX);
    PngWriter w = {0};
    TRY(file_replace_begin(path, &w.file, err));
    Status status = STATUS_OK;
    w.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &w, on_error, on_warning);
    w.info = w.png ? png_create_info_struct(w.png) : NULL;
    if (!w.info)
        status = error_set_at(err, STATUS_NO_MEMORY, path, "out of memory");
    else if (!write_pixels(&w, width, height, channel_count, pixels))
        status = error_set_at(err, STATUS_IO, path, "cannot write the PNG: %s", w.message);
    if (w.png)
        png_destroy_write_struct(&w.png, &w.info);
    if (status == STATUS_OK)
        return file_replace_commit(&w.file, err);
    file_replace_abandon(&w.file);
    return status;
}
